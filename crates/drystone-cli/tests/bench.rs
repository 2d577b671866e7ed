//! Tests of `drystone bench`: output, files and exit codes. No test depends on how fast the machine is; only the form
//! of times in the files is checked.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use drystone::low_level::{CpuWorld, state, types};
use drystone_scenes::catalogue;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn drystone(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
    command.current_dir(folder).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").env_remove("FORCE_COLOR");
    command.env("XDG_RUNTIME_DIR", std::env::temp_dir()).env_remove("DRYSTONE_PEERS");
    command
}

fn finished(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("ended by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn bench(folder: &Path, arguments: &str) -> Ran {
    let arguments = format!("bench {arguments}");
    finished(drystone(folder).args(arguments.split_whitespace()).output().expect("starts"))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("temporary folder")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("folder")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("file")).expect("JSON")
}

/// Options for two small scenes.
const TINY: &str = "--scenes large_pyramid --sizes 100 --steps 5 --repeats 3";

/// Checks the fields that every file and every row must have.
fn schema() -> Value {
    let number = json!({ "type": "number", "minimum": 0 });
    let count = json!({ "type": "integer", "minimum": 0 });
    let maybe = |kind: &str| json!({ "type": [kind, "null"] });
    let by_name = json!({ "type": "object", "additionalProperties": number });
    let spread = json!({
        "type": "object", "additionalProperties": false,
        "required": ["mean", "median", "min", "max", "first", "samples"],
        "properties": {
            "mean": number, "median": number, "min": number, "max": number, "first": number,
            "samples": { "type": "array", "items": number, "minItems": 1 }
        }
    });
    let adapter = json!({
        "type": ["object", "null"],
        "required": ["name", "type", "driver"],
        "properties": { "type": { "enum": ["cpu", "discrete", "integrated", "virtual", "other", "none"] } }
    });
    let quality = json!({
        "type": "object",
        "required": ["sink", "drift", "max_penetration", "mean_penetration", "joint_error", "kinetic_energy",
                     "max_speed", "pairs", "touching"]
    });
    let row = json!({
        "type": "object", "additionalProperties": false,
        "required": ["scene", "size", "backend", "ms_per_step", "quality", "stages_ms", "hash"],
        "properties": {
            "scene": { "type": "string" }, "size": count,
            "backend": { "enum": ["gpu", "cpu1", "cpuN", "box2d", "box2dN", "rapier"] },
            "adapter": adapter, "threads": maybe("integer"), "peer": maybe("string"), "version": { "type": "string" },
            "steps": count, "dt": number, "substeps": count, "mode": { "enum": ["soft", "baumgarte", "projection"] },
            "bodies": count, "shapes": count, "joints": count, "contacts": count,
            "colors": { "type": "array", "items": count }, "overflow_contacts": count,
            "dispatches_per_step": maybe("integer"), "device_bytes": maybe("integer"),
            "ms_per_step": spread, "cpu_ms_per_step": { "anyOf": [spread, { "type": "null" }] },
            "stages_ms": by_name,
            "limit": {
                "type": ["object", "null"],
                "required": ["bytes", "ms", "share", "stages_bytes", "stages_share"],
                "properties": { "bytes": count, "ms": number, "share": number, "stages_bytes": by_name,
                                "stages_share": by_name }
            },
            "metrics": maybe("object"), "quality": quality,
            "overflowed_steps": count, "quarantined": count, "repeats_exactly": { "type": "boolean" },
            "hash": { "type": "string", "pattern": "^[0-9a-f]{16}$" }
        }
    });
    json!({
        "type": "object", "additionalProperties": false,
        "required": ["machine", "rows", "skipped"],
        "properties": {
            "machine": {
                "type": "object", "additionalProperties": false,
                "required": ["cpu", "cores", "os", "load", "began", "rustc", "drystone", "avx2", "adapter", "peers",
                             "speeds"],
                "properties": {
                    "cpu": { "type": "string", "minLength": 1 }, "cores": { "type": "integer", "minimum": 1 },
                    "os": { "type": "string" }, "load": maybe("number"), "began": count,
                    "rustc": { "type": "string", "pattern": "^rustc 1" },
                    "drystone": { "type": "string", "pattern": "^[0-9]+[.]" }, "avx2": { "type": "boolean" },
                    "adapter": adapter,
                    "peers": { "type": "array", "items": { "required": ["name", "version"] } },
                    "speeds": { "required": ["copy_gb_s", "dispatch_us"], "properties": { "copy_gb_s": by_name } }
                }
            },
            "rows": { "type": "array", "items": row },
            "skipped": { "type": "array", "items": { "required": ["scene", "backend", "reason"] } }
        }
    })
}

fn assert_valid(results: &Value) {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(results).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_schema_is_one_that_can_fail() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    assert!(!validator.is_valid(&json!({ "machine": {}, "rows": [], "skipped": [] })));
    let mut results = made_up(&[("cpu1", &[1.0, 1.1, 0.9])]);
    results["rows"][0]["backend"] = "metal".into();
    assert!(!validator.is_valid(&results));
}

mod runs {
    use super::*;

    /// A small run on both backends writes all files.
    #[test]
    fn a_pyramid_on_both_backends() {
        let folder = folder();
        let gpu = !drystone::low_level::gpu::adapters().is_empty();
        let backends = if gpu { "cpu1,cpuN,gpu" } else { "cpu1,cpuN" };
        let arguments = "--threads 2 --stages --json a.json --csv a.csv --plot a.png";
        let two = TINY.replace("--sizes 100", "--sizes 100,50");
        let ran = bench(folder.path(), &format!("{two} --backends {backends} {arguments}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(names(folder.path()), ["a.csv", "a.json", "a.png"]);
        assert!(ran.stdout.contains("wrote a.json, a.csv, a.png"), "{}", ran.stdout);

        let results = json_of(&folder.path().join("a.json"));
        assert_valid(&results);
        let rows = results["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), if gpu { 6 } else { 4 });
        // Sizes are in ascending order; 50 is as near to 45 as to 55.
        assert_eq!((&rows[0]["scene"], &rows[0]["size"]), (&"large_pyramid:base=9".into(), &50.into()));
        let last = &rows[rows.len() - 1];
        assert_eq!(
            (&last["scene"], &last["size"], &last["bodies"]),
            (&"large_pyramid:base=14".into(), &100.into(), &106.into())
        );

        // The final state is that of the library after one untimed and five timed steps.
        let mut world = CpuWorld::new(&catalogue::build("large_pyramid:base=14").expect("scene")).expect("world");
        (0..6).for_each(|_| world.step().unwrap());
        let hash = format!("{:016x}", state::hash(&world.snapshot()));
        let of = |backend: &str| {
            rows.iter()
                .find(|row| row["backend"] == backend && row["size"] == 100)
                .unwrap_or_else(|| panic!("{backend}"))
        };
        for backend in ["cpu1", "cpuN"] {
            let row = of(backend);
            assert_eq!(row["hash"], hash, "{backend}");
            assert_eq!(row["steps"], 5);
            assert_eq!(row["ms_per_step"]["samples"].as_array().expect("samples").len(), 3);
            assert_eq!(row["repeats_exactly"], true);
            assert!(row["limit"]["bytes"].as_u64().expect("bytes") > 100_000, "{row}");
            assert!(row["stages_ms"]["solve"].as_f64().expect("ms") > 0.0);
            assert_eq!(row["contacts"], world.counters().touching);
        }
        // The column is the median over the time that memory traffic alone would take; a legend says so.
        let row = of("cpu1");
        let [median, memory] = [&row["ms_per_step"]["median"], &row["limit"]["ms"]].map(|ms| ms.as_f64().expect("ms"));
        let line = ran.stdout.lines().rfind(|line| line.starts_with("cpu1 ") && line.contains(" |")).expect("its row");
        let printed = line.split(" |").nth(1).and_then(|part| part.split_whitespace().nth(1)).expect("a column");
        let printed: f64 = printed.parse().expect("a number, and no share of a limit");
        assert!((printed * memory / median - 1.0).abs() < 0.01, "{line}: {median} ms, {memory} ms");
        let legend = "x memory: median over that, below 1 where data stay in caches";
        assert_eq!(ran.stdout.matches(legend).count(), 1, "once for two tables: {}", ran.stdout);
        assert_eq!(ran.stdout.matches("x memory").count(), 2 * (1 + backends.split(',').count()) + 1, "{}", ran.stdout);
        assert_eq!((&of("cpu1")["threads"], &of("cpuN")["threads"]), (&1.into(), &2.into()));
        if gpu {
            let row = of("gpu");
            assert!(row["dispatches_per_step"].as_u64().expect("count") > 30);
            assert!(row["device_bytes"].as_u64().expect("bytes") > 10_000);
            // Both backends have the same quality, measured in the same way.
            let sink = |row: &Value| row["quality"]["sink"].as_f64().expect("m");
            assert!((sink(row) - sink(of("cpu1"))).abs() < 1e-5, "{row}");
            if row["adapter"]["type"] == "cpu" {
                assert!(ran.stdout.contains("software adapter"), "{}", ran.stdout);
                let bare = ran.stdout.replace("not a GPU", "");
                assert!(!bare.contains("GPU"), "{}", ran.stdout);
            }
            let told = [" is faster than ", " stays slower than "].map(|words| ran.stdout.contains(words));
            assert!(told.contains(&true), "the output names a crossover: {}", ran.stdout);
        }
        let csv = fs::read_to_string(folder.path().join("a.csv")).expect("file");
        assert_eq!(csv.lines().count(), rows.len() + 1);
        // Names may contain commas, and are quoted.
        let columns = |line: &str| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>();
        let header = columns(csv.lines().next().expect("header"));
        assert!(header > 20 && csv.lines().all(|line| columns(line) == header), "{csv}");
        let picture = fs::read(folder.path().join("a.png")).expect("file");
        let decoder = png::Decoder::new(std::io::Cursor::new(&picture));
        let info = decoder.read_info().expect("a PNG");
        assert_eq!((info.info().width, info.info().height), (860, 520));

        // The file is shown again as before, without the lines about written files.
        let again = bench(folder.path(), "--from a.json --stages");
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert!(ran.stdout.starts_with(&again.stdout), "{}\n{}", ran.stdout, again.stdout);
    }

    #[test]
    fn a_scene_file_has_its_own_size() {
        let folder = folder();
        let scene = catalogue::build("vertical_stack:count=3").expect("scene");
        fs::write(folder.path().join("s.json"), drystone_scenes::file::write_json(&scene)).expect("file");
        let ran = bench(folder.path(), "--scenes s.json,slope --backends cpu1 --steps 2 --repeats 1 --json a.json");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let rows = json_of(&folder.path().join("a.json"))["rows"].clone();
        assert_eq!((&rows[0]["size"], &rows[0]["bodies"]), (&3.into(), &4.into()));
        assert_eq!(rows[1]["scene"], "slope");
    }
}

#[test]
fn a_scene_whose_bodies_come_and_go() {
    let folder = folder();
    let ran = bench(
        folder.path(),
        "--scenes rain:rows=3,columns=4,stay=1 --backends cpu1,gpu --steps 130 --repeats 2 --json a.json",
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = json_of(&folder.path().join("a.json"));
    let mut world = CpuWorld::new(&catalogue::build("rain:rows=3,columns=4,stay=1").expect("scene")).expect("world");
    let there = |world: &CpuWorld| world.compiled().bodies.iter().filter(|body| body.kind != types::VACANT).count();
    let before = there(&world);
    (0..131).for_each(|_| world.step().unwrap());
    let now = world.snapshot();
    assert!(there(&world) > before, "no body came");
    for row in file["rows"].as_array().expect("rows") {
        assert_eq!(row["bodies"], there(&world), "those that are there at the end: {row}");
        assert_eq!(row["repeats_exactly"], true);
        assert!(row["quality"]["kinetic_energy"].as_f64().expect("a number") > 1.0, "they fall: {row}");
    }
    assert_eq!(file["rows"][0]["hash"], format!("{:016x}", state::hash(&now)));
}

#[test]
fn many_worlds_side_by_side() {
    let folder = folder();
    let arguments =
        "--scenes large_pyramid:base=3 --backends cpu1,cpuN,gpu --threads 2 --worlds 3,1 --steps 4 --repeats 2";
    let ran = bench(folder.path(), &format!("{arguments} --json a.json"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("worlds × steps per second"), "{}", ran.stdout);
    let file = json_of(&folder.path().join("a.json"));
    assert_eq!(file["rows"], json!([]));
    let rows = file["worlds"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert_eq!((&row["bodies"], &row["all_equal"], &row["steps"]), (&7.into(), &true.into(), &4.into()), "{row}");
        let speed = row["world_steps_per_second"].as_f64().expect("a number");
        let ms = row["ms_per_step"]["median"].as_f64().expect("a number");
        assert!((speed * ms / row["worlds"].as_f64().expect("a number") - 1e3).abs() < 1e-6, "{row}");
        assert_eq!(row["device_bytes"].is_null(), row["backend"] != "gpu", "{row}");
    }
    let again = bench(folder.path(), "--from a.json");
    assert!(ran.stdout.starts_with(&again.stdout), "{}\n{}", ran.stdout, again.stdout);
}

mod mistakes {
    use super::*;

    #[test]
    fn usage() {
        let folder = folder();
        fs::write(folder.path().join("no.json"), "{}").expect("file");
        for (arguments, says) in [
            ("--fast", "unexpected argument '--fast'"),
            ("large_pyramid", "unexpected argument 'large_pyramid'"),
            ("--backends cpu1,metal", "invalid value 'metal'"),
            ("--backends cpun", "invalid value 'cpun'"),
            ("--sizes 0", "expected a whole number from 1 to 20,000,000"),
            ("--sizes 10,x", "invalid value 'x'"),
            ("--sizes -5", "expected a whole number from 1"),
            ("--sizes 100 --scenes arch", "scene arch has only one size"),
            ("--sizes 100 --scenes ./a.json", "there is no scene"),
            ("--sizes 50000 --scenes spinner", "its maximum is 11000"),
            ("--sizes 100 --scenes large_pyramid:base=5", "base of scene large_pyramid is given twice"),
            ("--quality --sizes 100", "cannot be used with"),
            ("--quality --worlds 4", "cannot be used with"),
            ("--worlds 0", "expected a whole number from 1 to 65,535"),
            ("--worlds 4 --csv a.csv", "cannot be used with"),
            ("--worlds 4 --backends cpu1,box2d", "--worlds: box2d runs one world at a time"),
            ("--scenes large_piramid", "did you mean large_pyramid"),
            ("--scenes large_pyramid:top=3", "has no parameter \"top\""),
            ("--steps 0", "expected a whole number from 1 to 1,000,000"),
            ("--repeats 0", "expected a whole number from 1 to 1,000"),
            ("--threads 33", "expected a whole number from 1 to 32"),
            ("--json a.txt", "must end in .json"),
            ("--csv a.json", "must end in .csv"),
            ("--plot a.jpg", "must end in .png"),
            ("--json a.json --compare missing.json", "missing.json: no such file"),
            ("--compare no.json", "no.json: not a file of `drystone bench --json`"),
            ("--from no.json", "no.json: not a file of `drystone bench --json`"),
            ("--from no.json --scenes slope", "cannot be used with"),
            ("--markdown README.md", "--from"),
            ("--peers nowhere --backends box2d", "--peers nowhere: no such program"),
            ("--peers . --backends box2d", "--peers .: no such program"),
        ] {
            let ran = bench(folder.path(), arguments);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments}: {}", ran.stderr);
            assert!(ran.stderr.contains(says), "{arguments} should say {says:?}, but says:\n{}", ran.stderr);
            assert!(!ran.stderr.contains("panicked"));
            assert_eq!(names(folder.path()), ["no.json"], "{arguments}");
        }
    }

    /// `--quality` names the goals that a state misses, and those that it reaches; other scenes have none.
    #[test]
    fn heaps_are_measured_beside_goals() {
        let folder = folder();
        let scenes = "--scenes arch,high_mass_ratio_2,slope";
        let ran =
            bench(folder.path(), &format!("--quality {scenes} --backends cpu1 --steps 30 --json a.json --csv a.csv"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        let tables: Vec<&str> = ran.stdout.split("\n\n").filter(|table| table.contains("deepest mm")).collect();
        let [arch, heavy, slope] = tables[..] else { panic!("three tables:\n{}", ran.stdout) };
        assert!(arch.contains("arch: 22 bodies, 0.517 s, 4 substeps") && arch.contains("  reached\n"), "{arch}");
        assert!(arch.contains("goals: moved m at most 0.200, speed m/s at most 0.0500"), "{arch}");
        // The heavy box is still falling.
        assert!(heavy.contains("  missed: speed m/s\n"), "{heavy}");
        assert!(!slope.contains("goals: ") && !slope.contains("missed") && !slope.contains("reached"), "{slope}");
        let rows = &json_of(&folder.path().join("a.json"))["rows"];
        let moved = rows[1]["quality"]["moved"].as_f64().expect("a number");
        // After 31 steps at 10 m/s².
        assert!((moved - 0.5 * 10.0 * (31.0_f64 / 60.0).powi(2)).abs() < 0.1, "{moved}");
        let csv = fs::read_to_string(folder.path().join("a.csv")).expect("file");
        assert!(csv.lines().next().expect("a head").ends_with("joint_error_m,moved_m,max_speed_m_s"), "{csv}");
    }

    /// A missing engine is reported with the way to get it if it was asked for, and else not mentioned.
    #[test]
    fn no_peers_program() {
        let folder = folder();
        for backends in ["box2d", "cpu1,rapier", "box2dN"] {
            let ran = bench(folder.path(), &format!("{TINY} --backends {backends}"));
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
            assert!(ran.stderr.contains("runs in a separate program, peers, which was not found"), "{}", ran.stderr);
            assert!(ran.stderr.contains("cd benches/peers && cargo build --release"), "{}", ran.stderr);
        }
        let named = drystone(folder.path())
            .args("bench --backends box2d".split(' '))
            .env("DRYSTONE_PEERS", "/nowhere/peers")
            .output();
        let named = finished(named.expect("starts"));
        assert_eq!(named.code, 2);
        assert!(named.stderr.contains("DRYSTONE_PEERS /nowhere/peers: no such program"), "{}", named.stderr);
    }

    #[cfg(unix)]
    #[test]
    fn demanded_gpu_that_is_not_there() {
        let folder = folder();
        let ran = drystone(folder.path())
            .args(format!("bench {TINY} --backends gpu").split(' '))
            .env("VK_DRIVER_FILES", "/nowhere.json")
            .env("VK_ICD_FILENAMES", "/nowhere.json")
            .output();
        let ran = finished(ran.expect("starts"));
        assert_eq!(ran.code, 3, "{}", ran.stderr);
    }
}

/// Programs in place of a peer engine.
#[cfg(unix)]
mod stubs {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    const ABOUT: &str = r#"{"about":{"protocol":1,"engines":[{"name":"box2d","version":"a stub","most_threads":1}]}}"#;

    /// Runs the benchmark with a shell script as the peer program, which has a long time to answer.
    fn with(script: &str, more: &str) -> (Ran, TempDir) {
        with_timeout(script, more, 30)
    }

    fn with_timeout(script: &str, more: &str, seconds: u64) -> (Ran, TempDir) {
        let folder = folder();
        let path = folder.path().join("stub");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        let start = Instant::now();
        // The script was just written by a process with threads: a child of one of them may still have it open for
        // writing.
        let ran = loop {
            let scene = "--scenes large_pyramid:base=2 --steps 5 --repeats 3 --json a.json";
            let ran = bench(folder.path(), &format!("{scene} --peers stub --peers-timeout {seconds} {more}"));
            if !ran.stderr.contains("text file busy") || start.elapsed() > Duration::from_secs(10) {
                break ran;
            }
        };
        assert!(start.elapsed() < Duration::from_mins(1), "it hangs");
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        (ran, folder)
    }

    fn ran(bodies: &str, ms: &str) -> String {
        let times = format!(r#"{{"first_ms":2.0,"ms":{ms},"cpu_ms":null}}"#);
        format!(r#"{{"ran":{{"times":{times},"stages_ms":[["step",0.5]],"bodies":[{bodies}]}}}}"#)
    }

    /// The ground and three boxes, standing as built.
    const STANDING: &str = "[0,-1,1,0,0,0,0],[-0.5,0.5,1,0,0,0,0],[0.5,0.5,1,0,0,0,0],[0,1.5,1,0,0,0,0]";

    #[test]
    fn one_that_answers_is_a_row() {
        let answer = ran(STANDING, "0.5");
        let script =
            format!("read line; echo '{ABOUT}'\nwhile read line; do echo '{{\"alive\":3}}'; echo '{answer}'; done");
        let (ran, folder) = with(&script, "--backends box2d,cpu1");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let results = json_of(&folder.path().join("a.json"));
        assert_valid(&results);
        let row = &results["rows"][0];
        assert_eq!((&row["backend"], &row["peer"]), (&"box2d".into(), &"a stub".into()));
        assert_eq!(row["ms_per_step"]["median"], 0.5);
        assert_eq!(row["ms_per_step"]["first"], 2.0);
        // Contacts found again: two boxes side by side on the ground, and one on both.
        assert_eq!((&row["contacts"], &row["quality"]["touching"]), (&5.into(), &5.into()));
        assert_eq!(row["quality"]["sink"], 0.0);
        assert_eq!((&row["limit"], &row["metrics"]), (&Value::Null, &Value::Null));
        assert_eq!(results["machine"]["peers"][0]["version"], "a stub");
        // It is included by default, on all threads.
        let (ran, folder) = with(&script, "--threads 2");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let rows = json_of(&folder.path().join("a.json"))["rows"].clone();
        let backends: Vec<&str> =
            rows.as_array().expect("rows").iter().filter_map(|row| row["backend"].as_str()).collect();
        assert!(backends.starts_with(&["box2d", "cpu1", "cpuN"]), "{backends:?}");
        // One box sinks, which the quality shows.
        let sunk = STANDING.replace("[0,1.5,", "[0,1.25,");
        let (ran, folder) = with(&script.replace(STANDING, &sunk), "--backends box2d");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(json_of(&folder.path().join("a.json"))["rows"][0]["quality"]["sink"], 0.25);
    }

    #[test]
    fn one_that_refuses_is_left_out() {
        let script =
            format!("read line; echo '{ABOUT}'\nwhile read line; do echo '{{\"refused\":\"no `mode`\"}}'; done");
        let (ran, folder) = with(&script, "--backends box2d,cpu1");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("box2d: left out of large_pyramid:base=2: no `mode`"), "{}", ran.stderr);
        let results = json_of(&folder.path().join("a.json"));
        assert_eq!(results["rows"].as_array().expect("rows").len(), 1);
        assert_eq!(results["skipped"][0]["reason"], "no `mode`");
        let (ran, folder) = with(&script, "--backends box2d");
        assert_eq!(ran.code, 2);
        assert_eq!(names(folder.path()), ["stub"]);
    }

    #[test]
    fn others_are_an_error_and_no_hang() {
        let asked = format!("read line; echo '{ABOUT}'; read line;");
        let more = |rest: &str| format!("{asked} {rest}");
        for (script, says) in [
            ("exec sleep 100".to_owned(), "has reported no progress for 1 s"),
            (more("exec sleep 100"), "has reported no progress for 1 s"),
            (more("while :; do echo '{\"alive\":1}'; sleep 0.1; done"), "has reported no progress for 1 s"),
            ("exit 0".to_owned(), "ended early (exit code 0)"),
            (more("echo 'no such thing' >&2; exit 3"), "ended early (exit code 3); its last message: no such thing"),
            (more("kill -9 $$"), "ended early (signal: 9"),
            (more("exec >&-; exec sleep 100"), "closed its output early"),
            ("echo hello; exec sleep 100".to_owned(), "sent \"hello\", which is not a valid answer"),
            (more("echo '{\"ran\":{}}'; exec sleep 100"), "which is not a valid answer"),
            (more(&format!("echo '{ABOUT}'; exec sleep 100")), "which does not answer the request"),
            (more(&format!("echo '{}'; exec sleep 100", ran(STANDING, "-1"))), "invalid times"),
            (more(&format!("echo '{}'; exec sleep 100", ran("[0,0,1,0,0,0,0]", "1"))), "1 bodies for a scene with 4"),
            (
                more(&format!("echo '{}'; exec sleep 100", ran("[null,0,1,0,0,0,0]", "1"))),
                "which is not a valid answer",
            ),
            (
                format!("echo '{}'; exec sleep 100", ABOUT.replace("\"protocol\":1", "\"protocol\":9")),
                "speaks protocol version 9",
            ),
            (format!("echo '{}'; exec sleep 100", ABOUT.replace("box2d", "havok")), "does not run box2d on 1 thread"),
        ] {
            // A short time only for those that are to run out of it.
            let seconds = if says.ends_with("for 1 s") { 1 } else { 30 };
            let (ran, folder) = with_timeout(&script, "--backends box2d", seconds);
            let expected = if says.starts_with("does not run") { 2 } else { 1 };
            assert_eq!(ran.code, expected, "{script}: {}", ran.stderr);
            assert!(ran.stderr.contains(says), "{script} should make it say {says:?}, but says:\n{}", ran.stderr);
            assert_eq!(names(folder.path()), ["stub"], "{script}");
        }
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let folder = folder();
        fs::write(folder.path().join("text"), "not a program").expect("file");
        let ran = bench(folder.path(), &format!("{TINY} --backends box2d --peers text"));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("text does not start: permission denied"), "{}", ran.stderr);
    }
}

/// File of results with these rows.
fn made_up(rows: &[(&str, &[f64])]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(backend, samples)| {
            let mut sorted = samples.to_vec();
            sorted.sort_by(f64::total_cmp);
            let (min, median, max) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
            json!({
                "scene": "large_pyramid:base=14", "size": 100, "backend": backend, "steps": 5, "substeps": 4,
                "bodies": 106, "stages_ms": {}, "hash": "0123456789abcdef", "quality": {
                    "sink": 0.0, "drift": 0.0, "max_penetration": 0.001, "mean_penetration": 0.001, "joint_error": 0.0,
                    "kinetic_energy": 0.0, "max_speed": 0.0, "pairs": 1, "touching": 1
                },
                "ms_per_step": { "mean": median, "median": median, "min": min, "max": max, "first": 1.0,
                                 "samples": samples }
            })
        })
        .collect();
    json!({ "machine": { "cpu": "made up", "cores": 2 }, "rows": rows })
}

mod compares {
    use super::*;

    fn compared(old: &Value, new: &Value) -> Ran {
        let folder = folder();
        fs::write(folder.path().join("old.json"), old.to_string()).expect("file");
        fs::write(folder.path().join("new.json"), new.to_string()).expect("file");
        bench(folder.path(), "--from new.json --compare old.json")
    }

    #[test]
    fn a_regression_is_found_and_noise_is_not() {
        let old = made_up(&[("cpu1", &[1.0, 1.1, 0.9]), ("gpu", &[2.0, 2.0, 2.1])]);
        let slower = made_up(&[("cpu1", &[1.4, 1.5, 1.3]), ("gpu", &[2.0, 2.0, 2.1])]);
        let ran = compared(&old, &slower);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(ran.stderr, "error: slower than before: large_pyramid:base=14 on cpu1\n");
        assert!(
            ran.stdout.contains("slower: large_pyramid:base=14 of 100 on cpu1: 1.00 -> 1.40 ms (x1.40)"),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("compared 2 rows with the old file: 1 slower"), "{}", ran.stdout);
        // In the other order it is faster, which is no failure.
        let ran = compared(&slower, &old);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.contains("faster: large_pyramid:base=14 of 100 on cpu1"), "{}", ran.stdout);

        let noisy = made_up(&[("cpu1", &[1.15, 1.05, 1.25]), ("gpu", &[2.0, 2.0, 2.1])]);
        let ran = compared(&old, &noisy);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.contains("compared 2 rows with the old file: 0 slower"), "{}", ran.stdout);
    }

    #[test]
    fn what_cannot_be_compared_is_an_error() {
        let old = made_up(&[("cpu1", &[1.0, 1.1, 0.9])]);
        for (new, says) in [
            (made_up(&[("gpu", &[1.0, 1.0, 1.0])]), "no row in common"),
            (made_up(&[("cpu1", &[1.0, 1.0])]), "2 repeats; 3 are needed"),
            (made_up(&[]), "no row in common"),
        ] {
            let ran = compared(&old, &new);
            assert_eq!(ran.code, 2, "{}", ran.stderr);
            assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
        }
        let mut upside_down = old.clone();
        upside_down["rows"][0]["ms_per_step"]["min"] = 3.0.into();
        let ran = compared(&old, &upside_down);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("invalid times"), "{}", ran.stderr);
        let mut elsewhere = old.clone();
        elsewhere["machine"]["cpu"] = "another".into();
        let ran = compared(&old, &elsewhere);
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (0, "warning: --compare: the old file was measured on another machine\n")
        );
    }

    /// A run is compared as well: against its own results with a tenth of the times, everything is slower.
    #[test]
    fn a_run_is_compared_at_its_end() {
        let folder = folder();
        let ran = bench(folder.path(), &format!("{TINY} --backends cpu1 --json a.json"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut fast = json_of(&folder.path().join("a.json"));
        for key in ["ms_per_step", "cpu_ms_per_step"] {
            if let Some(spread) = fast["rows"][0][key].as_object_mut() {
                for name in ["mean", "median", "min", "max", "first"] {
                    spread[name] = json!(1e-6);
                }
            }
        }
        fs::write(folder.path().join("fast.json"), fast.to_string()).expect("file");
        let ran = bench(folder.path(), &format!("{TINY} --backends cpu1 --compare fast.json --json b.json"));
        // A noisy machine may hide even this: then the stated noise is as large as the time.
        let slow = json_of(&folder.path().join("b.json"));
        let row = &slow["rows"][0];
        let key = if row["cpu_ms_per_step"].is_null() { "ms_per_step" } else { "cpu_ms_per_step" };
        let number = |name: &str| row[key][name].as_f64().expect("number");
        let told = number("median") > 0.5 * (number("max") - number("min")) + 1e-6;
        assert_eq!(ran.code, i32::from(told), "{}", ran.stderr);
    }
}

/// Figures of the README and of the book.
mod figures {
    use super::*;

    /// Page of the book with the figures of all machines.
    const PAGE: &str = "docs/book/src/figures.md";

    fn root(path: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    /// Runs `.ci/figures` on copies of the README and of the book's page. Returns both as they are afterwards.
    fn written([readme, page]: [&str; 2]) -> (Ran, [String; 2]) {
        let folder = folder();
        fs::write(folder.path().join("README.md"), readme).expect("file");
        fs::create_dir_all(folder.path().join("docs/book/src")).expect("folder");
        fs::write(folder.path().join(PAGE), page).expect("file");
        let results = folder.path().join("benches/results");
        for machine in fs::read_dir(root("benches/results")).expect("folder") {
            let machine = machine.expect("entry");
            let copy = results.join(machine.file_name());
            fs::create_dir_all(&copy).expect("folder");
            for name in ["bench.json", "bench.png"] {
                let from = machine.path().join(name);
                if from.is_file() {
                    fs::copy(from, copy.join(name)).expect("copied");
                }
            }
        }
        fs::create_dir(folder.path().join(".ci")).expect("folder");
        fs::copy(root(".ci/figures"), folder.path().join(".ci/figures")).expect("copied");
        let output = Command::new("bash")
            .arg(folder.path().join(".ci/figures"))
            .env("DRYSTONE", env!("CARGO_BIN_EXE_drystone"))
            .output();
        let ran = finished(output.expect("starts"));
        let text = |path| fs::read_to_string(folder.path().join(path)).expect("file");
        (ran, [text("README.md"), text(PAGE)])
    }

    /// `.ci/figures` corrects stale and edited figures.
    #[cfg(unix)]
    #[test]
    fn are_those_of_the_results() {
        let committed = ["README.md", PAGE].map(|path| fs::read_to_string(root(path)).expect("file"));
        let [readme, page] = committed.each_ref().map(String::as_str);
        let (ran, fresh) = written([readme, page]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            fresh[0] == readme,
            "the figures of README.md are stale: run .ci/figures. They should read\n{}",
            fresh[0]
        );
        assert!(fresh[1] == page, "the figures of {PAGE} are stale: run .ci/figures. They should read\n{}", fresh[1]);
        let edited = [readme, page].map(|text| text.replacen("---:|", "---:|---:|", 1));
        assert!(edited[0] != readme && edited[1] != page, "there are no figures");
        assert_eq!(written([&edited[0], &edited[1]]).1, committed);
    }

    #[cfg(unix)]
    #[test]
    fn need_their_place() {
        let (ran, [text, _]) = written(["# No marks\n", ""]);
        assert_eq!((ran.code, text.as_str()), (2, "# No marks\n"));
        assert!(ran.stderr.contains("<!-- end of figures -->"), "{}", ran.stderr);
    }
}
