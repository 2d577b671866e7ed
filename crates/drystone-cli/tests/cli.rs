//! Tests of the `drystone` command: output, files and exit codes. No test depends on times.

mod bench;
mod build_paths;
mod lab;
mod messages;
mod saved_worlds;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use drystone::low_level::{CpuWorld, state};
use drystone::{Snapshot, World};
use drystone_scenes::{catalogue, file};
use npyz::npz::NpzArchive;
use serde_json::Value;
use tempfile::TempDir;

fn drystone(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
    command.current_dir(folder).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE").env_remove("FORCE_COLOR");
    // Without it, some Vulkan drivers write to standard error.
    command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    command
}

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn finished(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("ended by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs the command with arguments as they would be typed.
fn run_in(folder: &Path, arguments: &str) -> Ran {
    finished(drystone(folder).args(arguments.split_whitespace()).output().expect("starts"))
}

/// Runs a command that has to succeed.
fn succeed_in(folder: &Path, arguments: &str) -> Ran {
    let ran = run_in(folder, arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran
}

fn run(arguments: &str) -> Ran {
    run_in(&std::env::temp_dir(), arguments)
}

/// Files of a folder, with hidden ones.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("folder")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("temporary folder")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("file")).expect("JSON")
}

/// Snapshot of a scene after some steps, by the library.
fn simulated(spec: &str, steps: u64) -> Snapshot {
    let mut world = CpuWorld::new(&catalogue::build(spec).expect("scene")).expect("world");
    for _ in 0..steps {
        world.step().unwrap();
    }
    world.snapshot()
}

fn hash(spec: &str, steps: u64) -> String {
    format!("{:016x}", state::hash(&simulated(spec, steps)))
}

mod help {
    use super::*;

    fn shown(arguments: &str) -> String {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        ran.stdout
    }

    #[test]
    fn nothing_to_do() {
        insta::assert_snapshot!(shown(""));
    }

    #[test]
    fn all_commands() {
        let text = shown("--help");
        assert_eq!(text.contains("serve"), cfg!(feature = "serve"));
        // A build with the service lists one more command.
        let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with("  serve ")).collect();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn one_command() {
        insta::assert_snapshot!("run", shown("run --help"));
        insta::assert_snapshot!("validate", shown("validate --help"));
        insta::assert_snapshot!("scenes", shown("scenes --help"));
        insta::assert_snapshot!("info", shown("info --help"));
        insta::assert_snapshot!("bench", shown("bench --help"));
        insta::assert_snapshot!("lab", shown("lab --help"));
    }

    #[test]
    fn by_word_as_by_option() {
        assert_eq!(shown("help"), shown("--help"));
        assert_eq!(shown("help run"), shown("run --help"));
        assert_ne!(shown("help run"), shown("help bench"));
        let ran = run("help fly");
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("unrecognized subcommand 'fly'"), "{}", ran.stderr);
    }

    /// Texts are wrapped only at the width of the terminal: no line is half as long as the one before without a reason.
    #[cfg(feature = "serve")]
    #[test]
    fn paragraphs_fill_their_lines() {
        let ragged = |text: &str| {
            let (mut lines, mut ragged) = (text.lines().peekable(), Vec::new());
            while let Some(line) = lines.next() {
                let Some(next) = lines.peek().filter(|next| !next.is_empty() && !next.starts_with(' ')) else {
                    continue;
                };
                let word = next.split(' ').next().unwrap_or("");
                if !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':') && line.len() + word.len() < 98 {
                    ragged.push(line.to_owned());
                }
            }
            ragged
        };
        let text = shown("serve --help");
        let (_, below) = text.split_once("Print help").expect("options");
        // The line with the form of a token is short on purpose.
        let ragged_here: Vec<String> = ragged(below).into_iter().filter(|line| !line.starts_with("A token")).collect();
        assert_eq!(ragged_here, [""; 0], "{below}");
        assert_eq!(
            ragged("Settings come from the file,\nover the one\nbefore, and so on."),
            ["Settings come from the file,", "over the one"]
        );
    }

    #[test]
    fn version() {
        assert_eq!(shown("--version"), format!("drystone {}\n", env!("CARGO_PKG_VERSION")));
    }
}

mod mistakes {
    use super::*;

    /// Checks for exit code 2, no output and this error.
    fn refused(folder: &Path, arguments: &str, says: &str) -> String {
        let before = names(folder);
        let ran = run_in(folder, arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{arguments} should say {says:?}, but says:\n{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("RUST_BACKTRACE"));
        assert_eq!(names(folder), before, "{arguments}: nothing may be left");
        ran.stderr
    }

    #[test]
    fn usage() {
        let folder = folder();
        for (arguments, says) in [
            ("fly", "unrecognized subcommand 'fly'"),
            ("run", "<SCENE>"),
            ("run slope --fast", "unexpected argument '--fast'"),
            ("run slope smash", "unexpected argument 'smash'"),
            ("run slope --backend metal", "invalid value 'metal'"),
            (
                "run slope --steps -5",
                "invalid value '-5' for '--steps <N>': expected a whole number from 0 to 1,000,000,000",
            ),
            ("run slope --steps 1.5", "expected a whole number"),
            ("run slope --steps 2 --seconds 1", "cannot be used with"),
            ("run slope --seconds 0", "must be more than 0"),
            ("run slope --seconds nan", "must be more than 0"),
            ("run slope --seconds -1", "must be more than 0"),
            ("run slope --seconds 1e300", "steps exceed the limit"),
            ("run slope --substeps 0", "expected a whole number from 1 to 64"),
            ("run slope --substeps 65", "expected a whole number from 1 to 64"),
            ("run slope --threads 0", "expected a whole number from 1 to 1,024"),
            ("run slope --mode hard", "invalid value 'hard'"),
            ("run slope --every 2", "--trace"),
            ("run slope --trace a.npz --every 0", "expected a whole number from 1"),
            ("run slope --size 10x10", "16 to 4096"),
            ("run slope --size 640", "WIDTHxHEIGHT"),
            ("run slope --hash=12", "16 hex digits"),
            ("run slope --hash --json -", "standard output"),
            ("scenes --write a.json", "NAME"),
            ("info now", "unexpected argument"),
            ("validate slope --steps 0", "expected a whole number from 1 to 1,000,000"),
            ("validate slope --json a.txt", "must end in .json"),
            ("validate slope --backend cpu", "unexpected argument '--backend'"),
        ] {
            refused(folder.path(), arguments, says);
        }
        if cfg!(feature = "view") {
            refused(folder.path(), "view slope --size 10x10", "\"10\" is not a number from 360 to 8192");
            refused(folder.path(), "view slope --threads -2", "expected a whole number from 1 to 256");
        }
    }

    /// The message says what helps, and the service wrote nothing.
    #[cfg(feature = "serve")]
    #[test]
    fn a_taken_address() {
        let folder = folder();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
        let address = listener.local_addr().expect("address");
        let ran = run_in(folder.path(), &format!("serve --backend cpu --listen {address} --store memory"));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error: cannot listen on {address}: ")), "{}", ran.stderr);
        assert!(ran.stderr.contains("`--listen 127.0.0.1:0` takes a free one"), "{}", ran.stderr);
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn commands_to_come() {
        let folder = folder();
        if !cfg!(feature = "serve") {
            refused(folder.path(), "serve", "error: this build has no `drystone serve`");
        }
    }

    #[test]
    fn scenes() {
        let folder = folder();
        fs::create_dir(folder.path().join("folder.json")).expect("folder");
        fs::write(folder.path().join("image.json"), [0xff, 0xd8, 0xff, 0xe0]).expect("file");
        for (arguments, says) in [
            ("run nonsense", "there is no scene \"nonsense\""),
            ("run large_piramid", "did you mean large_pyramid"),
            ("run large_pyramid:base", "expected name:key=value"),
            ("run large_pyramid:top=3", "has no parameter \"top\""),
            ("run large_pyramid:base=0", "expected 1 to 10000"),
            ("run missing.json", "missing.json: no such file"),
            ("run ./missing", "missing: no such file"),
            ("run folder.json", "is a folder"),
            ("run image.json", "UTF-8"),
            ("scenes nonsense", "there is no scene \"nonsense\""),
            ("scenes --find nonsense", "no scene matches \"nonsense\""),
            ("scenes slope --find box", "cannot be used with"),
            ("run pendelum", "did you mean pendulum, "),
            ("run swing", "did you mean "),
            ("scenes slope:x=1", "has no parameter \"x\""),
            ("scenes slope:x=1 --write a.json", "has no parameter \"x\""),
        ] {
            refused(folder.path(), arguments, says);
        }
    }

    #[test]
    fn scene_file() {
        let folder = folder();
        let text = r#"{
  "version": 1,
  "bodies": [
    { "type": "static", "shapes": [ { "box": { "half": [50, -1] } } ] }
  ]
}
"#;
        fs::write(folder.path().join("bad.json"), text).expect("file");
        insta::assert_snapshot!("value", refused(folder.path(), "run bad.json", "bodies[0]"));

        let unknown = text.replace("-1", "1").replace("\"type\"", "\"typ\"");
        fs::write(folder.path().join("bad.json"), &unknown).expect("file");
        insta::assert_snapshot!("key", refused(folder.path(), "run bad.json", "typ"));

        fs::write(folder.path().join("bad.json"), text.replace(": 1", "; 1")).expect("file");
        insta::assert_snapshot!("syntax", refused(folder.path(), "run bad.json", "bad.json"));

        // A long line is not printed, but its place is.
        let long = text.replace(['\n', ' '], "").replace("\"version\":1", &format!("\"version\":1{}", " ".repeat(200)));
        fs::write(folder.path().join("bad.json"), &long).expect("file");
        let line = file::parse(&long, "bad.json").expect_err("bad").to_string();
        assert!(line.contains("bad.json:1:2"), "{line}");
        assert_eq!(refused(folder.path(), "run bad.json", ""), format!("error: {line}\n"));

        // Control characters of a file must not reach the terminal.
        fs::write(folder.path().join("bad.json"), text.replace("static", "\u{1b}[2Jstatic")).expect("file");
        let shown = refused(folder.path(), "run bad.json", "bad.json:4");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }

    #[test]
    fn standard_input() {
        let mut child = drystone(&std::env::temp_dir())
            .args(["run", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        child.stdin.take().expect("piped").write_all(b"{ \"version\": 2, \"bodies\": [] }").expect("written");
        let ran = finished(child.wait_with_output().expect("ends"));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("standard input:1:"), "{}", ran.stderr);
    }

    #[test]
    fn outputs() {
        let folder = folder();
        fs::create_dir(folder.path().join("taken.json")).expect("folder");
        fs::write(folder.path().join("scene.json"), file::write_json(&catalogue::build("slope").expect("scene")))
            .expect("file");
        // A million steps of a large scene: a check made after the run would never come.
        for (arguments, says) in [
            ("--json report.txt", "--json report.txt: the file name must end in .json"),
            ("--json report", "must end in .json"),
            ("--state a.csv", "--state a.csv: the file name must end in .json or .npz"),
            ("--trace a.json", "must end in .npz"),
            ("--picture a.jpg", "must end in .png"),
            ("--movie a.mp4", "must end in .gif"),
            ("--json missing/a.json", "--json missing/a.json: cannot use its folder: no such file"),
            ("--json taken.json", "is not a regular file"),
            ("--json a.json --state a.json", "--json and --state name the same file, a.json"),
            ("--json a.json --state ./a.json", "name the same file"),
            ("--trace a.npz", "the limit is 16 GiB"),
            ("--layers joints", "require --picture or --movie"),
            ("--dark --state a.json", "require --picture or --movie"),
            ("--picture a.png --layers joints,bones", "possible values: grid, search_cells, wires, sleep"),
            ("--picture a.png --coloring difference", "possible values: body, speed"),
            ("--view -1,-1,1,1", "require --picture or --movie"),
            ("--picture a.png --layers forces --arrows 20", "expected a number from 0.1 to 10"),
            ("--picture a.png --arrows 2", "--layers"),
            ("--picture a.png --view 1,2,3", "expected LEFT,BOTTOM,RIGHT,TOP in metres"),
            ("--picture a.png --view 5,0,1,4", "view.max[0] is 1; expected at least 0.00001 m more than view.min[0]"),
            ("--picture a.png --view 0,0,nan,4", "is not a number"),
        ] {
            refused(folder.path(), &format!("run large_pyramid --steps 1000000 {arguments}"), says);
        }
        refused(folder.path(), "run scene.json --json ./scene.json", "is the scene itself");
        refused(folder.path(), "scenes slope --write a.txt", "must end in .json or .ron");
        refused(folder.path(), "scenes slope --write missing/a.json", "no such file");
    }

    #[cfg(unix)]
    #[test]
    fn unwritable_folder() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).expect("folder");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("permissions");
        let root = File::create(closed.join("probe")).is_ok();
        if root {
            // The root user can write everywhere except into /proc.
            refused(folder.path(), "run slope --json /proc/a.json", "cannot create files in its folder");
        } else {
            refused(folder.path(), "run slope --json closed/a.json", "cannot create files in its folder: permission");
        }
    }
}

mod scenes {
    use super::*;

    /// Gravity is said where no parameter sets it.
    #[test]
    fn gravity_is_said() {
        for (scene, expected) in
            [("arch", Some("  gravity 10 m/s² downwards")), ("smash", Some("  gravity none")), ("pendulum", None)]
        {
            let said = run(&format!("scenes {scene}")).stdout;
            let line = said.lines().find(|line| line.starts_with("  gravity") && !line.contains("0.1 to 100"));
            assert_eq!(line, expected, "{said}");
        }
    }

    #[test]
    fn lists_them_all() {
        let ran = run("scenes");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        for entry in catalogue::entries() {
            let line = ran.stdout.lines().find(|line| line.split(' ').next() == Some(entry.name));
            assert!(line.is_some_and(|line| line.ends_with(entry.summary)), "{}", entry.name);
        }
        for (name, _) in catalogue::waiting() {
            assert!(ran.stdout.contains(name), "{name}");
        }
        // Each scene is below the heading of its topic.
        let heads = catalogue::Topic::ALL.map(|topic| ran.stdout.find(&format!("\n{}\n", topic.title())).unwrap());
        assert!(heads.is_sorted(), "{heads:?}");
        for entry in catalogue::entries() {
            let at = ran.stdout.find(&format!("\n{} ", entry.name)).unwrap();
            let above = heads.iter().rposition(|&head| head < at).unwrap();
            assert_eq!(catalogue::Topic::ALL[above], entry.topic, "{}", entry.name);
        }
    }

    #[test]
    fn finds_some() {
        let ran = run("scenes --find pendulum");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let names: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(names[1] == "pendulum" && names.contains(&"rod_chain"), "{}", ran.stdout);
        assert!(!names.contains(&"tumbler") && run("scenes").stdout.contains("\ntumbler "), "{}", ran.stdout);
    }

    /// Only the hint names the alternatives.
    #[test]
    fn an_unknown_one_is_told_with_one_remedy() {
        let ran = run("run zzzz");
        assert_eq!(ran.code, 2);
        assert_eq!(ran.stderr.lines().next(), Some("error: there is no scene \"zzzz\""));
        assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("`drystone scenes` lists the built-in scenes"), "{}", ran.stderr);
    }

    #[test]
    fn explains_one() {
        for entry in catalogue::entries() {
            let ran = run(&format!("scenes {}", entry.name));
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
            for parameter in entry.parameters {
                let row = ran.stdout.lines().find(|line| line.starts_with(&format!("  {} ", parameter.name)));
                let row = row.unwrap_or_else(|| panic!("{}: {}", entry.name, parameter.name));
                assert!(row.ends_with(&parameter.description()), "{}: {row}", entry.name);
                let unit = parameter.unit().map_or_else(String::new, |unit| format!("  {unit} "));
                assert!(row.contains(&unit), "{}: no{unit}: {row}", entry.name);
            }
            assert!(ran.stdout.contains(entry.source));
        }
    }

    /// The list of a scene's parameters has a column with the unit, once in each row.
    #[test]
    fn parameters_have_their_unit() {
        let ran = run("scenes pendulum");
        let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
        let row = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).unwrap().join(" ");
        assert_eq!(row("parameter"), "parameter default range unit meaning");
        assert_eq!(row("length"), "length 1 0.05 to 100 m length of a rod");
        assert_eq!(row("angle"), "angle 0.5 -3.1 to 3.1 rad initial angle from straight down; 0.5 is 29°");
        assert_eq!(row("bobs"), "bobs 1 1 to 100, whole number of bobs in the chain; 2 make a double pendulum");
    }

    #[test]
    fn writes_one() {
        let folder = folder();
        for name in ["a.json", "a.ron"] {
            let ran = run_in(folder.path(), &format!("scenes large_pyramid:base=5 --write {name}"));
            assert_eq!((ran.code, ran.stdout), (0, format!("wrote {name}: 16 bodies\n")));
            let scene = file::read(&folder.path().join(name)).expect("a scene");
            assert_eq!(scene, catalogue::build("large_pyramid:base=5").expect("scene"));
        }
        assert_eq!(names(folder.path()), ["a.json", "a.ron"]);
    }
}

mod info {
    use super::*;

    #[test]
    fn says_what_would_be_used() {
        let ran = run("info");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("--backend auto"), "{}", ran.stdout);
        assert!(ran.stdout.contains("thread"), "{}", ran.stdout);
    }

    #[test]
    fn a_closed_pipe_is_no_bug() {
        let mut child = drystone(&std::env::temp_dir())
            .arg("scenes")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let ran = finished(child.wait_with_output().expect("ends"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    }
}

mod runs {
    use super::*;

    const SCENE: &str = "large_pyramid:base=6";

    fn floats(npz: &mut NpzArchive<std::io::BufReader<File>>, name: &str) -> (Vec<u64>, Vec<f32>) {
        let array = npz.by_name(name).expect("archive").unwrap_or_else(|| panic!("{name}"));
        (array.shape().to_vec(), array.into_vec().expect("f32"))
    }

    #[test]
    fn summary() {
        let ran = run(&format!("run {SCENE} --backend cpu --threads 2 --steps 20"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(ran.stderr, "running on cpu, 2 threads: as asked\n");
        for line in [
            "large_pyramid:base=6",
            "  backend      cpu, 2 threads",
            "  solver       soft, 4 substeps",
            "  bodies       22 with 22 shapes",
            &format!("  hash         {}", hash(SCENE, 20)),
        ] {
            assert!(ran.stdout.lines().any(|l| l == line), "{line:?} in\n{}", ran.stdout);
        }
        for row in ["contacts", "simulated", "ms per step", "penetration", "energy", "fastest"] {
            assert!(ran.stdout.contains(&format!("\n  {row} ")), "{row} in\n{}", ran.stdout);
        }
    }

    #[test]
    fn report_counts_joints() {
        let folder = folder();
        let ran = run_in(folder.path(), "run bridge:planks=5 --backend cpu --steps 1 --json a.json");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(json(&folder.path().join("a.json"))["joints"], 6);
    }

    #[test]
    fn report() {
        let folder = folder();
        let arguments = format!("run {SCENE} --backend cpu --steps 20 --json a.json");
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.ends_with("  wrote        a.json\n"), "{}", ran.stdout);
        assert_eq!(names(folder.path()), ["a.json"]);

        let report = json(&folder.path().join("a.json"));
        let last = simulated(SCENE, 20);
        assert_eq!(report["scene"], SCENE);
        assert_eq!(report["backend"], "cpu");
        assert_eq!(report["adapter"]["type"], "none");
        assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(report["steps"], 20);
        assert_eq!(report["substeps"], 4);
        assert_eq!(report["mode"], "soft");
        assert_eq!(report["bodies"], 22);
        assert_eq!(report["shapes"], 22);
        assert_eq!(report["joints"], 0);
        assert_eq!(report["contacts"], last.counters.touching);
        assert!(last.counters.touching > 20, "a pyramid touches itself");
        let colors: u64 = report["colors"].as_array().expect("array").iter().map(|n| n.as_u64().expect("count")).sum();
        assert_eq!(colors, u64::from(last.counters.touching), "every contact has a colour");
        assert_eq!(report["overflow_contacts"], 0);
        assert_eq!(report["overflows"], Value::Array(Vec::new()));
        assert_eq!(report["quarantined"], 0);
        assert_eq!(report["hash"], hash(SCENE, 20));
        assert!((report["dt"].as_f64().expect("number") - 1.0 / 60.0).abs() < 1e-6);
        for key in ["mean", "median", "min", "max", "first"] {
            assert!(report["ms_per_step"][key].as_f64().is_some_and(|ms| ms > 0.0), "{key}");
        }
        assert!(report["stages_ms"]["solve"].as_f64().is_some_and(|ms| ms > 0.0));
        let metrics = &report["metrics"];
        for key in [
            "max_penetration",
            "mean_penetration",
            "kinetic_energy",
            "potential_energy",
            "angular_momentum",
            "max_speed",
            "ground_impulse_ratio",
            "complementarity",
            "cone_violation",
            "joint_error",
            "joint_angle_error",
            "elastic_energy",
            "total_energy",
        ] {
            assert!(metrics[key].is_f64(), "{key}: {}", metrics[key]);
        }
        assert_eq!(metrics["momentum"].as_array().map(Vec::len), Some(2));
        assert!(report.get("dispatches_per_step").is_some());
    }

    #[test]
    fn report_on_standard_output() {
        let ran = run(&format!("run {SCENE} --backend cpu --steps 3 --json -"));
        assert_eq!(ran.code, 0);
        let report: Value = serde_json::from_str(&ran.stdout).expect("nothing but JSON");
        assert_eq!(report["hash"], hash(SCENE, 3));
        assert!(ran.stderr.contains("penetration"), "the summary moves to standard error");
        let quiet = run(&format!("run {SCENE} --backend cpu --steps 3 --json - --quiet"));
        assert_eq!(quiet.stderr, "");
    }

    #[test]
    fn wide_registers_change_no_bit() {
        let hash = |spec: &str, steps: u32, simd: &str| {
            let arguments = format!("run {spec} --backend cpu --threads 1 --steps {steps} --hash");
            let ran = drystone(&std::env::temp_dir())
                .args(arguments.split_whitespace())
                .env("DRYSTONE_SIMD", simd)
                .output()
                .expect("starts");
            let ran = finished(ran);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            ran.stdout
        };
        // Boxes; joints of one row and of several, limits, motors and springs; rolling, sliding and bouncing; trees of
        // hinges.
        let specs = ["large_pyramid:base=12", "joint_grid:size=9", "ragdoll", "card_house", "spinner:bodies=90"];
        for spec in specs.into_iter().chain(["ball_and_chain"]) {
            assert_eq!(hash(spec, 40, ""), hash(spec, 40, "off"), "{spec}");
            assert_ne!(hash(spec, 40, ""), hash(spec, 41, "off"), "{spec}");
        }
    }

    #[test]
    fn hashes() {
        let expected = hash(SCENE, 10);
        for threads in [1, 2, 5] {
            let ran = run(&format!("run {SCENE} --backend cpu --threads {threads} --steps 10 --hash"));
            assert_eq!((ran.code, ran.stdout), (0, format!("{expected}\n")));
        }
        let same = run(&format!("run {SCENE} --backend cpu --steps 10 --hash={expected} -q"));
        assert_eq!((same.code, same.stderr.as_str()), (0, ""));
        let folder = folder();
        let arguments = format!("run {SCENE} --backend cpu --steps 11 --hash={expected} -q --json a.json");
        let other = run_in(folder.path(), &arguments);
        assert_eq!(other.code, 1);
        assert_eq!(other.stdout.trim(), hash(SCENE, 11));
        assert!(other.stderr.contains(&format!("not {expected}")), "{}", other.stderr);
        assert_eq!(names(folder.path()), ["a.json"], "a failed check still writes what was asked for");
    }

    #[test]
    fn states() {
        let folder = folder();
        let scene = "card_house:levels=2";
        for name in ["a.json", "a.npz"] {
            let ran = run_in(folder.path(), &format!("run {scene} --backend cpu --steps 15 --state {name}"));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        let compiled = CpuWorld::new(&catalogue::build(scene).expect("scene")).expect("world").compiled().clone();
        let expected = state::body_states(&compiled, &simulated(scene, 15));
        assert!(expected.iter().any(|body| body.angle != 0.0 && body.angular_velocity != 0.0));

        let bodies = json(&folder.path().join("a.json"));
        // Compared as text, in which an f32 is shortest.
        let text = serde_json::to_string(&expected).expect("JSON");
        assert_eq!(bodies, serde_json::from_str::<Value>(&text).expect("JSON"));

        let mut npz = NpzArchive::open(folder.path().join("a.npz")).expect("archive");
        let n = expected.len() as u64;
        let position: Vec<f32> = expected.iter().flat_map(|b| b.position).collect();
        assert_eq!(floats(&mut npz, "position"), (vec![n, 2], position));
        assert_eq!(floats(&mut npz, "angle"), (vec![n], expected.iter().map(|b| b.angle).collect()));
        let velocity: Vec<f32> = expected.iter().flat_map(|b| b.velocity).collect();
        assert_eq!(floats(&mut npz, "velocity"), (vec![n, 2], velocity));
        let spins = expected.iter().map(|b| b.angular_velocity).collect();
        assert_eq!(floats(&mut npz, "angular_velocity"), (vec![n], spins));
    }

    #[test]
    fn traces() {
        let folder = folder();
        let ran = run_in(folder.path(), "run thruster --backend cpu --steps 10 --trace t.npz --every 4 --state s.npz");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(names(folder.path()), ["s.npz", "t.npz"]);
        let mut npz = NpzArchive::open(folder.path().join("t.npz")).expect("archive");
        assert_eq!(npz.by_name("step").expect("archive").expect("array").into_vec::<u64>().expect("u64"), [0, 4, 8]);
        let times = npz.by_name("time").expect("archive").expect("array").into_vec::<f64>().expect("f64");
        assert_eq!(times, [0.0, 4.0 / 60.0, 8.0 / 60.0], "bit by bit");
        let [mass] = floats(&mut npz, "mass").1[..] else { panic!("one body") };
        let scene = catalogue::build("thruster").expect("scene");
        assert_eq!(mass, CpuWorld::new(&scene).expect("world").compiled().mass[0].mass);
        let (shape, positions) = floats(&mut npz, "position");
        assert_eq!(shape, [3, 1, 2]);
        for (frame, step) in [0, 4, 8].into_iter().enumerate() {
            // The frame of the thruster is at its centre of mass.
            assert_eq!(positions[2 * frame..2 * frame + 2], simulated("thruster", step).poses[0].position, "{step}");
        }
    }

    /// Rows of vacant slots are NaN; the last state has only existing bodies, by their slots.
    /// A ball falls through a sensor onto a floor, comes to rest and falls asleep: by the laws of free fall.
    #[test]
    fn events() {
        const SCENE: &str = r#"{ "version": 1, "gravity": [0, -10], "settings": { "sleep": true }, "bodies": [
            { "id": "floor", "type": "static", "shapes": [{ "half_plane": { "normal": [0, 1] } }] },
            { "id": "gate", "type": "static", "position": [0, 4], "shapes": [{ "box": { "half": [1, 0.1] }, "sensor": true }] },
            { "id": "ball", "position": [0, 6], "shapes": [{ "circle": { "radius": 0.5 }, "friction": 0 }] }] }"#;
        let folder = folder();
        fs::write(folder.path().join("a.json"), SCENE).expect("writable");
        for backend in ["cpu", "gpu"] {
            let run = format!("run a.json --backend {backend} --steps 180 --csv events=e.csv -q --hash");
            let hash = succeed_in(folder.path(), &run).stdout;
            let text = fs::read_to_string(folder.path().join("e.csv")).expect("a table");
            let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
            let column = |name: &str| rows[0].iter().position(|column| *column == name).expect("a column");
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
            let kinds: Vec<&str> = rows[1..].iter().map(|row| row[column("kind")]).collect();
            assert_eq!(kinds, ["sensor_begin", "sensor_end", "begin", "sleep"], "{text}");
            let number = |row: usize, name: &str| rows[row][column(name)].parse::<f64>().expect("a number");
            // It meets the gate after 1.4 m of fall, leaves it after 2.6 m and lands after 5.5 m, at √(2gh).
            for (row, height) in [(1, 1.4_f64), (2, 2.6), (3, 5.5)] {
                let expected = (2.0 * height / 10.0).sqrt();
                assert!((number(row, "time_s") - expected).abs() < 0.035, "{text}");
                assert_eq!(number(row, "time_s"), number(row, "step") / 60.0, "bit by bit");
            }
            assert!((number(3, "approach_speed_m_per_s") - 110.0_f64.sqrt()).abs() < 0.2, "{text}");
            assert!([rows[3][column("id_a")], rows[3][column("id_b")]].contains(&"ball"), "{text}");
            assert_eq!((rows[4][column("id_a")], rows[4][column("body_a")]), ("ball", "2"));
            // Asking for events changes nothing.
            let silent = run.replace("--csv events=e.csv ", "");
            assert_eq!(succeed_in(folder.path(), &silent).stdout, hash);
        }
    }

    /// The load on the ground and the reaction of a hinge are weights, and the energies of a fall add up.
    #[test]
    fn tables() {
        const SCENE: &str = r#"{ "version": 1, "gravity": [0, -10], "bodies": [
            { "type": "static", "shapes": [{ "half_plane": { "normal": [0, 1] } }] },
            { "id": "box, low", "type": "dynamic", "mass": 2, "position": [0, 0.5], "shapes": [{ "box": { "half": [0.5, 0.5] } }] },
            { "type": "dynamic", "mass": 1, "position": [0, 1.5], "shapes": [{ "box": { "half": [0.5, 0.5] } }] },
            { "id": "lamp", "type": "dynamic", "mass": 3, "position": [9, 4], "shapes": [{ "circle": { "radius": 0.5 } }] },
            { "type": "dynamic", "mass": 4, "position": [20, 50], "shapes": [{ "circle": { "radius": 0.5 } }] }],
            "joints": [{ "id": "hook", "type": "revolute", "b": "lamp", "anchor_a": [9, 6], "anchor_b": [0, 2] }] }"#;
        let folder = folder();
        fs::write(folder.path().join("a.json"), SCENE).expect("writable");
        let tables = "--csv contacts=c.csv --csv joints=j.csv --csv energies=e.csv";
        succeed_in(folder.path(), &format!("run a.json --backend cpu --steps 120 --every 60 {tables}"));
        let rows = |name: &str| -> Vec<Vec<String>> {
            let text = fs::read_to_string(folder.path().join(name)).expect(name);
            let cells = |line: &str| line.replace("\"box, low\"", "low").split(',').map(str::to_owned).collect();
            text.lines().map(cells).collect()
        };
        let number = |cell: &String| cell.parse::<f64>().unwrap_or_else(|_| panic!("{cell}"));
        let contacts = rows("c.csv");
        let column = |name: &str| contacts[0].iter().position(|column| column == name).expect("a column");
        let mut loads = std::collections::BTreeMap::new();
        for row in contacts[1..].iter().filter(|row| row[0] == "120") {
            let ends = [&row[column("body_a")], &row[column("body_b")]].map(String::as_str);
            let (upper, sign) = if ends[0] < ends[1] { (ends[1], 1.0) } else { (ends[0], -1.0) };
            *loads.entry(upper.to_owned()).or_insert(0.0) += sign * number(&row[column("force_y_N")]);
            assert!(row[column("id_a")] == "low" || row[column("id_b")] == "low", "{row:?}");
        }
        assert_eq!(loads.len(), 2, "{loads:?}");
        assert!((loads["1"] - 30.0).abs() < 0.3 && (loads["2"] - 10.0).abs() < 0.1, "{loads:?}");
        let hook = rows("j.csv").pop().expect("a row");
        assert_eq!((&*hook[0], &*hook[2], &*hook[3]), ("120", "0", "hook"));
        assert!((number(&hook[1]) - 2.0).abs() < 1e-6, "{hook:?}");
        assert!(number(&hook[4]).abs() < 0.03 && (number(&hook[5]) - 30.0).abs() < 0.3, "{hook:?}");
        let energies = rows("e.csv");
        assert_eq!(energies.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["step", "0", "60", "120"]);
        for row in &energies[1..] {
            let [kinetic, potential, elastic, total] = [2, 3, 4, 5].map(|column| number(&row[column]));
            assert!((kinetic + potential + elastic - total).abs() < 1e-9 * total);
            // The falling disc has the energy of its fall; the rest hangs or lies.
            let fallen = 0.5 * 4.0 * (10.0 * number(&row[1])).powi(2);
            assert!((kinetic - fallen).abs() < 0.002 * fallen + 0.01, "{row:?}");
        }
    }

    #[test]
    fn diverged_runs_are_failures() {
        let folder = folder();
        // Without clamping of sums, a stack gains energy without end.
        let diverges = r#"{ "version": 1, "settings": { "accumulate": false, "relax": false, "initial_loads": false }, "bodies": [
            { "type": "static", "shapes": [{ "half_plane": { "normal": [0, 1] } }] }, BOXES] }"#;
        let one = |y: u32| {
            format!(
                r#"{{ "type": "dynamic", "position": [0, {y}.5], "shapes": [{{ "box": {{ "half": [0.5, 0.5] }} }}] }}"#
            )
        };
        let boxes: Vec<String> = (0..10).map(one).collect();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writable");
        file("diverges.json", &diverges.replace("BOXES", &boxes.join(",")));
        let all_is_well = diverges
            .replace(r#""accumulate": false, "relax": false, "initial_loads": false"#, "")
            .replace("BOXES", &boxes.join(","));
        file("well.json", &all_is_well);
        succeed_in(folder.path(), "run well.json --backend cpu --steps 120");
        let ran = run_in(folder.path(), "run diverges.json --backend cpu --steps 120 --json a.json");
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("diverged"), "{}", ran.stderr);
        let report: Value = json(&folder.path().join("a.json"));
        assert!(report["diverged"]["kinetic"].as_f64() > report["diverged"]["explained"].as_f64(), "{report}");
        succeed_in(folder.path(), "run diverges.json --backend cpu --steps 120 --allow-lost");
    }

    /// A box in the air that turns at more than a quarter of π a step. A disc may.
    #[test]
    fn limits_that_act_are_told() {
        let folder = folder();
        let scene_of = |shape: &str, settings: &str, spin: u32| {
            let text = format!(
                r#"{{ "version": 1, "settings": {{ {settings} }}, "bodies": [{{ "type": "dynamic",
                "angular_velocity": {spin}, "shapes": [{{ {shape} }}] }}] }}"#
            );
            fs::write(folder.path().join("a.json"), text).expect("writable");
            let ran = succeed_in(folder.path(), "run a.json --backend cpu --steps 10 --json b.json --state s.json");
            let spin = json(&folder.path().join("s.json"))[0]["angular_velocity"].as_f64().expect("a number");
            (ran.stderr.contains("1 body at the limit"), json(&folder.path().join("b.json"))["at_limit"].clone(), spin)
        };
        let scene = |settings: &str, spin: u32| scene_of(r#""box": { "half": [0.5, 0.5] }"#, settings, spin);
        let disc = |settings: &str| scene_of(r#""circle": { "radius": 0.5 }"#, settings, 5000);
        let (told, count, spin) = disc("");
        assert!(!told && count == 0 && (spin - 5000.0).abs() < 1e-2, "{told} {count} {spin}");
        let (told, count, spin) = disc(r#""max_spin": 200"#);
        assert!(told && count == 1 && (spin - 200.0).abs() < 1e-3, "{told} {count} {spin}");
        let (told, count, spin) = scene("", 100);
        assert!(told && count == 1 && (spin - 47.124).abs() < 0.01, "{told} {count} {spin}");
        let (told, count, spin) = scene(r#""max_spin": 200"#, 100);
        assert!(!told && count == 0 && (spin - 100.0).abs() < 1e-3, "{told} {count} {spin}");
        let (told, count, spin) = scene(r#""max_spin": 10"#, 100);
        assert!(told && count == 1 && (spin - 10.0).abs() < 1e-3, "{told} {count} {spin}");
        assert!(!scene("", 40).0);
    }

    #[test]
    fn too_long_steps_for_small_bodies_are_told() {
        let folder = folder();
        let scene = |settings: &str| {
            let body = r#"{ "type": "dynamic", "shapes": [{ "box": { "half": [0.005, 0.005] } }] }"#;
            let text = format!(r#"{{ "version": 1, "settings": {{ {settings} }}, "bodies": [{body}] }}"#);
            fs::write(folder.path().join("a.json"), text).expect("writable");
            succeed_in(folder.path(), "run a.json --backend cpu --steps 1 --json b.json")
        };
        let told = scene(r#""dt": 0.016666668"#);
        assert!(told.stderr.contains("steps of 1.04 ms fit"), "{}", told.stderr);
        assert!(told.stdout.contains("length unit  7.81 mm"), "{}", told.stdout);
        let report: Value = json(&folder.path().join("b.json"));
        assert_eq!(report["length_unit"], 0.007_812_5);
        assert!(!scene("").stderr.contains("steps of"));
        let metres = scene(r#""length_unit": 1, "dt": 0.016666668"#);
        assert!(!metres.stderr.contains("steps of") && !metres.stdout.contains("length unit"), "{}", metres.stderr);
    }

    #[test]
    fn bodies_that_come_and_go() {
        let folder = folder();
        let scene = "rain:rows=1,columns=2,group=1,delay=2,stay=1";
        let arguments = "--steps 7 --trace t.npz --state s.npz --json a.json --picture p.png";
        let ran = run_in(folder.path(), &format!("run {scene} --backend cpu {arguments}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut npz = NpzArchive::open(folder.path().join("t.npz")).expect("archive");
        let (shape, angles) = floats(&mut npz, "angle");
        // The ground, two ragdolls, and slots for one that replaces another.
        assert_eq!(shape, [8, 34]);
        let there: Vec<String> = angles
            .chunks(34)
            .map(|frame| [0, 1, 12, 23].map(|slot| if frame[slot].is_nan() { '-' } else { 'x' }).iter().collect())
            .collect();
        assert_eq!(there, ["x---", "xx--", "xx--", "xxx-", "xxx-", "x-xx", "x-xx", "xx-x"]);
        let mut npz = NpzArchive::open(folder.path().join("s.npz")).expect("archive");
        let index = npz.by_name("body_index").expect("archive").expect("array").into_vec::<u32>().expect("u32");
        assert_eq!(index, (0..12).chain(23..34).collect::<Vec<_>>());
        assert!(npz.by_name("asleep").expect("archive").is_none(), "nothing sleeps in it");
        assert_eq!(floats(&mut npz, "angle").0, [23]);
        let report = json(&folder.path().join("a.json"));
        assert_eq!((&report["bodies"], &report["joints"]), (&23.into(), &20.into()));
        // 501 tiles, and 13 shapes per ragdoll.
        assert_eq!(report["shapes"], 501 + 2 * 13);
    }

    #[test]
    fn who_sleeps_is_told() {
        let folder = folder();
        let text = r#"{ "version": 1, "settings": { "sleep": true }, "bodies": [
            { "type": "static", "shapes": [ { "box": { "half": [50, 1] }, "offset": [0, -1] } ] },
            { "position": [0, 0.5], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] },
            { "position": [5, 90], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;
        fs::write(folder.path().join("a.json"), text).expect("file");
        for name in ["s.npz", "s.json"] {
            let ran = run_in(folder.path(), &format!("run a.json --backend cpu --steps 120 --state {name}"));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        let mut npz = NpzArchive::open(folder.path().join("s.npz")).expect("archive");
        let asleep = npz.by_name("asleep").expect("archive").expect("array").into_vec::<bool>().expect("bool");
        assert_eq!(asleep, [false, true, false]);
        let bodies = json(&folder.path().join("s.json"));
        let told: Vec<Option<bool>> =
            bodies.as_array().expect("bodies").iter().map(|body| body.get("asleep").and_then(Value::as_bool)).collect();
        assert_eq!(told, [None, Some(true), None]);
    }

    #[test]
    fn pictures() {
        let folder = folder();
        let arguments =
            format!("run {SCENE},drop=5 --backend cpu --seconds 0.5 --size 320x200 --picture p.png --movie m.gif");
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("m.gif, p.png"), "{}", ran.stdout);

        let decoder =
            png::Decoder::new(std::io::BufReader::new(File::open(folder.path().join("p.png")).expect("file")));
        let mut picture = decoder.read_info().expect("PNG");
        let mut pixels = vec![0; picture.output_buffer_size().expect("fits")];
        let frame = picture.next_frame(&mut pixels).expect("PNG");
        assert_eq!((frame.width, frame.height), (320, 200));
        assert!(pixels.iter().any(|&byte| byte != pixels[0]), "something is drawn");

        let mut movie =
            gif::DecodeOptions::new().read_info(File::open(folder.path().join("m.gif")).expect("file")).expect("GIF");
        assert_eq!((movie.width(), movie.height()), (320, 200));
        let (mut frames, mut hundredths) = (0, 0);
        while let Some(frame) = movie.read_next_frame().expect("GIF") {
            frames += 1;
            hundredths += frame.delay;
        }
        // Frames that equal the one before are merged with it.
        assert!((2..=13).contains(&frames), "{frames}");
        assert!((49..=52).contains(&hundredths), "{hundredths}");
    }

    /// The ragdoll is visible in every frame of its movie, and moves in nearly all of them until it lies; without a
    /// given view the movie shows the whole run.
    #[test]
    fn movies_frame_the_whole_run() {
        let folder = folder();
        let mut scene = catalogue::build("ragdoll").expect("scene");
        assert!(scene.view.take().is_some());
        fs::write(folder.path().join("doll.json"), file::write_json(&scene)).expect("file");
        // Colours of the ground and the background, without the ragdoll.
        let blank = |arguments: &str| {
            let ran = run_in(
                folder.path(),
                &format!("run {arguments} --backend cpu --seconds 2 --size 320x200 --movie m.gif"),
            );
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            let mut options = gif::DecodeOptions::new();
            options.set_color_output(gif::ColorOutput::RGBA);
            let mut movie = options.read_info(File::open(folder.path().join("m.gif")).expect("file")).expect("GIF");
            let mut screen = vec![0; 320 * 200 * 4];
            let (mut frames, mut without) = (0, 0);
            while let Some(frame) = movie.read_next_frame().expect("GIF") {
                for (index, pixel) in frame.buffer.chunks_exact(4).enumerate().filter(|(_, pixel)| pixel[3] != 0) {
                    let (left, width) = (usize::from(frame.left), usize::from(frame.width));
                    let at = 4 * ((usize::from(frame.top) + index / width) * 320 + left + index % width);
                    screen[at..at + 4].copy_from_slice(pixel);
                }
                frames += 1;
                // Colours of the ragdoll are far from grey.
                let colored = |p: &[u8]| p[..3].iter().max().zip(p[..3].iter().min()).is_some_and(|(a, b)| a - b > 60);
                without += usize::from(screen.chunks_exact(4).filter(|pixel| colored(pixel)).count() < 40);
            }
            (frames, without)
        };
        for arguments in ["ragdoll", "doll.json"] {
            let (frames, without) = blank(arguments);
            assert!(frames > 30 && without == 0, "{arguments}: {without} of {frames} frames have no doll");
        }
        let (frames, without) = blank("ragdoll --view 50,0,60,6");
        assert_eq!(frames, without, "and a view beside it shows none");
    }

    /// Layers look the same on both backends.
    #[test]
    fn pictures_with_layers() {
        let folder = folder();
        let picture = |arguments: &str| {
            let arguments = format!("run {SCENE} --steps 30 --size 320x200 --quiet --picture p.png {arguments}");
            let ran = run_in(folder.path(), &arguments);
            assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
            let file = std::io::BufReader::new(File::open(folder.path().join("p.png")).expect("file"));
            let mut reader = png::Decoder::new(file).read_info().expect("PNG");
            let mut pixels = vec![0; reader.output_buffer_size().expect("fits")];
            reader.next_frame(&mut pixels).expect("PNG");
            pixels
        };
        let mean =
            |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64;
        let plain = picture("--backend cpu");
        let layers = "--layers contacts,normals,aabbs,grid --coloring graph_color";
        let [on_cpu, on_gpu] = ["cpu", "gpu"].map(|backend| picture(&format!("{layers} --backend {backend}")));
        assert!(mean(&on_cpu, &on_gpu) < 0.1, "{}", mean(&on_cpu, &on_gpu));
        assert!(mean(&on_cpu, &plain) > 0.5, "{}", mean(&on_cpu, &plain));
        assert!(mean(&plain, &picture("--backend cpu --dark")) > 50.0);
        // Arrows keep their length with a factor of 1, and cover more of the picture the larger it is.
        let arrows = |factor: &str| picture(&format!("--backend cpu --layers forces {factor}"));
        let [tiny, usual, long] = ["--arrows 0.1", "", "--arrows 4"].map(arrows);
        assert_eq!(usual, arrows("--arrows 1"));
        assert!(mean(&tiny, &usual) > 0.05 && mean(&tiny, &long) > 1.2 * mean(&tiny, &usual));
        // Joints are drawn unless they are switched off, on any backend.
        let jointed = |arguments: &str| {
            let arguments = format!("run springs --steps 30 --size 320x200 --quiet --picture p.png {arguments}");
            let ran = run_in(folder.path(), &arguments);
            assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
            fs::read(folder.path().join("p.png")).expect("file")
        };
        let [on_cpu, named] = ["", "--layers joints"].map(|more| jointed(&format!("--backend cpu {more}")));
        assert_eq!(on_cpu, named);
        assert_ne!(on_cpu, jointed("--backend cpu --no-joints"));
    }

    #[test]
    fn overrides_and_lengths() {
        let report = |arguments: &str| -> Value {
            let ran = run(&format!("run {arguments} --backend cpu --json - --quiet"));
            assert_eq!(ran.code, 0, "{arguments}: {}", ran.stderr);
            serde_json::from_str(&ran.stdout).expect("JSON")
        };
        let modes = report("slope --steps 2 --mode baumgarte --substeps 7");
        assert_eq!((&modes["mode"], &modes["substeps"]), (&"baumgarte".into(), &7.into()));
        assert_eq!(report("slope --steps 2 --mode projection")["mode"], "projection");
        assert_eq!(report("slope --seconds 0.25")["steps"], 15);
        let suggested = catalogue::find("slope").expect("entry").steps;
        assert_eq!(report("slope")["steps"], suggested);
        let none = report("slope --steps 0");
        assert_eq!((&none["steps"], &none["ms_per_step"]["mean"]), (&0.into(), &Value::Null));
    }

    #[test]
    fn files_and_standard_input() {
        let folder = folder();
        let text = file::write_json(&catalogue::build(SCENE).expect("scene"));
        fs::write(folder.path().join("a.json"), &text).expect("file");
        let expected = format!("{}\n", hash(SCENE, 5));
        let from_file = run_in(folder.path(), "run a.json --backend cpu --steps 5 --hash -q");
        assert_eq!(from_file.stdout, expected, "{}", from_file.stderr);

        let mut child = drystone(folder.path())
            .args(["run", "-", "--backend", "cpu", "--steps", "5", "--hash"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
        assert_eq!(finished(child.wait_with_output().expect("ends")).stdout, expected);
    }
}

/// Files that `--save` writes and `--resume` continues.
mod resuming {
    use super::*;

    /// Scenes with contacts, with joints and with both; and one in which bodies come and go: when the run is cut, the
    /// second ragdoll has come, and the first has gone and come again.
    const SCENES: [&str; 3] =
        ["large_pyramid:base=5", "ball_and_chain:links=6,radius=1", "rain:rows=1,columns=2,group=1,delay=9,stay=1"];

    fn hash_of(folder: &Path, arguments: &str) -> String {
        let ran = run_in(folder, &format!("run {arguments} --hash -q"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments}");
        ran.stdout.trim().to_owned()
    }

    #[test]
    fn goes_on_to_the_same_bits() {
        let folder = folder();
        for backend in ["cpu", "gpu"] {
            // The last one only on the CPU: a start takes seconds on a software adapter, and tests of the library cover
            // it.
            for scene in if backend == "gpu" { &SCENES[..2] } else { &SCENES[..] } {
                let with =
                    |arguments: &str| hash_of(folder.path(), &format!("{scene} --backend {backend} {arguments}"));
                let whole = with("--steps 40");
                assert_eq!(with("--steps 25 --save a.snap"), with("--steps 25"), "saving changes nothing");
                assert_eq!(with("--resume a.snap --steps 15"), whole, "{scene} on {backend}");
                assert_ne!(with("--resume a.snap --steps 14"), whole);
                assert_ne!(with("--steps 15"), whole);
                // From a file to the same file, twice.
                with("--resume a.snap --steps 5 --save a.snap");
                assert_eq!(with("--resume a.snap --steps 10"), whole, "{scene} on {backend}, in three parts");
            }
        }
        assert_eq!(names(folder.path()), ["a.snap"]);
    }

    /// Command and library read each other's files.
    #[test]
    fn is_the_saved_world_of_the_library() {
        let folder = folder();
        let scene = catalogue::build(SCENES[0]).expect("scene");
        let mut world: World = CpuWorld::new(&scene).expect("world").into();
        (0..25).for_each(|_| world.step().expect("a step"));
        let saved = drystone_scenes::SavedWorld::new(&scene, drystone::low_level::Journal::default(), &mut world)
            .expect("a world");
        hash_of(folder.path(), &format!("{} --backend cpu --steps 25 --save a.snap", SCENES[0]));
        assert_eq!(fs::read(folder.path().join("a.snap")).expect("file"), saved.to_bytes().expect("bytes"));
    }

    #[test]
    fn reports_count_from_there() {
        let folder = folder();
        let scene = SCENES[1];
        let first = run_in(folder.path(), &format!("run {scene} --backend cpu --steps 25 --save a.snap"));
        assert!(first.stdout.ends_with("  wrote        a.snap\n"), "{}", first.stdout);
        let arguments = "--steps 4 --every 2 --json a.json --trace a.npz --movie a.gif";
        let ran = run_in(folder.path(), &format!("run {scene} --backend cpu --resume a.snap {arguments}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("  simulated    after 25 steps before, 0.0667 s, 4 steps of"), "{}", ran.stdout);
        let report = json(&folder.path().join("a.json"));
        assert_eq!((&report["steps"], &report["steps_before"]), (&4.into(), &25.into()));
        assert_eq!(report["hash"], hash(scene, 29));
        // Times of stages are those of this run only: their sum is at most the time of a step.
        let stages = report["stages_ms"].as_object().expect("stages").values().filter_map(Value::as_f64).sum::<f64>();
        let steps = report["wall_seconds"].as_f64().expect("seconds") * 1e3 / 4.0;
        assert!(stages > 0.3 * steps && stages < steps, "{stages} of {steps} ms");
        let mut npz = NpzArchive::open(folder.path().join("a.npz")).expect("archive");
        assert_eq!(npz.by_name("step").expect("archive").expect("array").into_vec::<u64>().expect("u64"), [25, 27, 29]);
    }

    /// The error names the file and what was expected, and nothing is written.
    /// Files of version 1: a pyramid of boxes of 1 m, and two boxes of 1 cm in metres, as there was no length unit.
    #[test]
    fn continues_files_of_the_first_version() {
        let folder = folder();
        for (name, steps, dt) in [("pyramid", 30, 1.0 / 60.0), ("small", 10, 1.0 / 60.0)] {
            let file = format!("{}/tests/saved/{name}-v1.snap", env!("CARGO_MANIFEST_DIR"));
            succeed_in(folder.path(), &format!("run --resume {file} --steps 5 --backend cpu --json a.json"));
            let report = json(&folder.path().join("a.json"));
            assert_eq!(
                (report["steps_before"].as_u64(), report["length_unit"].as_f64()),
                (Some(steps), Some(1.0)),
                "{name}"
            );
            assert!((report["dt"].as_f64().expect("a number") - dt).abs() < 1e-6, "{name}");
        }
    }

    #[test]
    fn refuses_what_is_no_such_file() {
        let folder = folder();
        let scene = SCENES[0];
        hash_of(folder.path(), &format!("{scene} --backend cpu --steps 3 --save a.snap"));
        let bytes = fs::read(folder.path().join("a.snap")).expect("file");
        fs::write(folder.path().join("short.snap"), &bytes[..bytes.len() - 1]).expect("file");
        fs::write(folder.path().join("text.snap"), "{}").expect("file");
        fs::create_dir(folder.path().join("folder.snap")).expect("folder");
        let before = names(folder.path());
        for (arguments, says) in [
            (format!("{scene} --resume missing.snap"), "--resume missing.snap: no such file"),
            (format!("{scene} --resume folder.snap"), "--resume folder.snap: is not a regular file"),
            (format!("{scene} --resume text.snap"), "--resume text.snap: this is not a snapshot: expected the bytes"),
            (format!("{scene} --resume short.snap"), "--resume short.snap: has "),
            (
                "large_pyramid:base=6 --resume a.snap".to_owned(),
                "--resume a.snap: saved from another world: the scene has 22 bodies, the saved one 16",
            ),
            (
                format!("{scene} --substeps 5 --resume a.snap"),
                "settings.substeps is 5, but at its default in the saved world",
            ),
            (format!("{scene} --save a.json"), "--save a.json: the file name must end in .snap"),
            (format!("{scene} --save b.snap --trace b.snap"), "must end in .npz"),
        ] {
            let ran = run_in(folder.path(), &format!("run {arguments} --backend cpu --json b.json"));
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments}: {}", ran.stderr);
            assert!(ran.stderr.contains(says), "{arguments}: {}", ran.stderr);
        }
        assert_eq!(names(folder.path()), before);
        let other = run_in(folder.path(), "run large_pyramid:base=6 --resume a.snap --backend cpu");
        assert!(
            other.stderr.contains("without a scene and settings") && other.stderr.contains("hint: "),
            "{}",
            other.stderr
        );
    }
}

/// Runs that start from the state of another.
mod start_from {
    use super::*;

    /// A stack with and without a wall beside it, on a floor that may be tilted by its gravity.
    fn scene(gravity: [f64; 2], friction: f64, wall: bool) -> String {
        let boxes: Vec<String> = (0..3)
            .map(|row| {
                format!(
                    r#"{{ "id": "box {row}", "position": [0, {row}.5], "shapes": [{{ "box": {{ "half": [0.5, 0.5] }}, "friction": {friction} }}] }}"#
                )
            })
            .collect();
        let wall = if wall {
            r#"{ "id": "wall", "type": "static", "position": [3, 1], "shapes": [{ "box": { "half": [0.5, 1] } }] },"#
        } else {
            ""
        };
        format!(
            r#"{{ "version": 1, "gravity": [{}, {}], "bodies": [ {wall}
            {{ "id": "floor", "type": "static", "shapes": [{{ "half_plane": {{ "normal": [0, 1] }}, "friction": {friction} }}] }},
            {} ] }}"#,
            gravity[0],
            gravity[1],
            boxes.join(",")
        )
    }

    #[test]
    fn a_settled_stack_goes_on() {
        let folder = folder();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writable");
        file("a.json", &scene([0.0, -10.0], 0.6, true));
        for backend in ["cpu", "gpu"] {
            let run = |arguments: &str| {
                succeed_in(folder.path(), &format!("run {arguments} --backend {backend} -q --hash")).stdout
            };
            run("a.json --steps 100 --save a.snap");
            // In the same scene to the same bits.
            let on = run("--resume a.snap --steps 40");
            assert_eq!(run("a.json --start-from a.snap --steps 40"), on, "{backend}");
            // The control: from the scene itself it is another state.
            assert_ne!(run("a.json --steps 40"), on, "{backend}");
        }
    }

    /// On a slope with less friction the whole stack slides at g·(sin − μ·cos). It would topple on a slope of 1 : 3.
    #[test]
    fn with_other_friction_it_slides_by_formula() {
        let folder = folder();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writable");
        file("a.json", &scene([2.5, -10.0], 0.6, true));
        file("b.json", &scene([2.5, -10.0], 0.1, false));
        succeed_in(folder.path(), "run a.json --backend cpu --steps 200 --save a.snap -q");
        // The wall is in the state alone.
        let refused = run_in(folder.path(), "run b.json --start-from a.snap --backend cpu --steps 60");
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("body \"wall\" of the state is not in the scene"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--partial"), "{}", refused.stderr);
        for (friction, expected) in [(0.1, 1.5), (0.6, 0.0)] {
            file("b.json", &scene([2.5, -10.0], friction, false));
            let run = "run b.json --start-from a.snap --partial --backend cpu --steps 30 --state s.json -q";
            succeed_in(folder.path(), run);
            let state = json(&folder.path().join("s.json"));
            let bottom = state.as_array().expect("bodies").iter().find(|body| body["id"] == "box 0").expect("a box");
            // a = 2.5 − μ·10 for 0.5 s.
            let speed = bottom["velocity"][0].as_f64().expect("a number");
            assert!((speed - 0.5 * expected).abs() < 0.02, "{speed}, expected {}", 0.5 * expected);
            let y = bottom["position"][1].as_f64().expect("a number");
            assert!((y - 0.5).abs() < 0.01, "no jump: {y}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        let folder = folder();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writable");
        file("a.json", &scene([0.0, -10.0], 0.6, true));
        file("b.json", &scene([0.0, -10.0], 0.6, true).replace("box 2", "crate"));
        succeed_in(folder.path(), "run a.json --backend cpu --steps 5 --save a.snap -q");
        for (arguments, says) in [
            ("b.json --start-from a.snap", "body \"crate\" is not in the state; body \"box 2\" of the state is not"),
            ("a.json --start-from a.json", "is not a saved world"),
            ("a.json --start-from missing.snap", "cannot be read"),
            ("a.json --partial", "--start-from"),
            ("a.json --start-from a.snap --worlds 3", "cannot be used with"),
        ] {
            let ran = run_in(folder.path(), &format!("run {arguments} --backend cpu --steps 1"));
            assert_eq!(ran.code, 2, "{arguments}: {}", ran.stderr);
            assert!(ran.stderr.contains(says), "{arguments}: {}", ran.stderr);
        }
    }
}

/// Commands with a time in a scene file.
mod timelines {
    use super::*;

    /// The example of the book and of `examples/`: in one run, and resumed in the middle of a ramp.
    #[test]
    fn the_example_runs_and_resumes() {
        let folder = folder();
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tilting_table.json");
        // On both backends in tests/timeline.rs, in one process: a software adapter compiles for minutes here.
        let run = |arguments: &str| {
            let ran = succeed_in(folder.path(), &format!("run {arguments} --backend cpu -q --hash"));
            ran.stdout.trim().to_owned()
        };
        let whole = run(&format!("{example} --steps 300 --state whole.json"));
        run(&format!("{example} --steps 140 --save half.snap --save-scene half.json"));
        assert_eq!(run("--resume half.snap --steps 160"), whole);
        // As a scene the rest of the ramp goes on.
        run("half.json --steps 160 --state later.json");
        let last = |name: &str| {
            let state = json(&folder.path().join(name));
            let bodies = state.as_array().expect("bodies").clone();
            assert!(!bodies.iter().any(|body| body["id"] == "gate"), "{name}: the gate was removed");
            let ball = bodies.iter().find(|body| body["id"] == "ball").expect("a ball").clone();
            [0, 1].map(|axis| ball["position"][axis].as_f64().expect("a number"))
        };
        let (a, b) = (last("whole.json"), last("later.json"));
        assert!((a[0] - b[0]).abs() < 0.05 && a[0] > 3.0, "{a:?} {b:?}");
    }
}

/// Report of the time at which a world came to rest.
mod rest {
    use super::*;

    fn time(arguments: &str) -> Value {
        let ran = run(&format!("run {arguments} --steps 60 --json - -q"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        report["metrics"]["time_to_rest"].clone()
    }

    /// A box dropped from 5 cm lands after 0.1 s and rests; one on a slope that is too steep does not.
    #[test]
    fn is_told() {
        let drop = "vertical_stack:count=2,pitch=1.05";
        let cpu = time(&format!("{drop} --backend cpu"));
        let seconds = cpu.as_f64().expect("a time");
        assert!((0.05..0.4).contains(&seconds), "{seconds}");
        assert_eq!(time("slope:friction=0.1 --backend cpu"), Value::Null);
        // Before the first step all speeds are 0, which says nothing.
        let ran = run("run arch --steps 0 --backend cpu --json - ");
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(report["metrics"]["time_to_rest"], Value::Null);
        assert!(!ran.stderr.contains("at rest"), "{}", ran.stderr);
        // On a GPU the check after every step is made only on request.
        assert_eq!(time(&format!("{drop} --backend gpu")), Value::Null);
        let gpu = time(&format!("{drop} --backend gpu --rest")).as_f64().expect("a time");
        assert!((gpu - seconds).abs() < 0.04, "{gpu} {seconds}");
    }
}

mod backends {
    use super::*;

    #[test]
    fn a_software_adapter_is_no_gpu() {
        let adapters = drystone::low_level::gpu::adapters();
        let Some(software) = adapters.iter().map(wgpu::Adapter::get_info).find(drystone::low_level::gpu::is_software)
        else {
            // `without_any_adapter` tests the other case.
            return;
        };
        if adapters.len() > 1 {
            return; // `gpu` takes the better one.
        }
        let folder = folder();
        let ran = run_in(folder.path(), "run large_pyramid:base=6 --backend gpu --steps 30 --threads 2 --json a.json");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let says = format!("software adapter {}, not a GPU", software.name);
        assert!(ran.stderr.contains(&format!("running on {says}: as asked")), "{}", ran.stderr);
        assert!(ran.stderr.contains("warning: --threads"), "{}", ran.stderr);
        assert!(ran.stdout.contains(&says), "{}", ran.stdout);
        let report = json(&folder.path().join("a.json"));
        assert_eq!(report["backend"], "gpu");
        assert_eq!(report["adapter"]["type"], "cpu");
        assert_eq!(report["adapter"]["name"], software.name);
        assert!(report["dispatches_per_step"].as_u64().is_some_and(|n| n > 10), "{report}");
        assert!(report["stages_ms"]["solve"].as_f64().is_some_and(|ms| ms > 0.0), "{report}");
        // Both backends agree about a pyramid at rest.
        assert_eq!(report["contacts"], simulated("large_pyramid:base=6", 30).counters.touching);
        let again = run("run large_pyramid:base=6 --backend gpu --steps 30 --hash -q");
        assert_eq!(report["hash"], again.stdout.trim(), "profiling and another process change nothing");

        let auto = run("run slope --steps 2");
        assert!(auto.stderr.contains(&format!("running on cpu, {}", threads())), "{}", auto.stderr);
        assert!(auto.stderr.contains(&format!("no hardware GPU adapter; found: {} (software)", software.name)));
    }

    /// Runs with a Vulkan loader that finds no driver. On other systems adapters cannot be hidden.
    #[cfg(target_os = "linux")]
    #[test]
    fn without_any_adapter() {
        let hidden = |arguments: &str| {
            let mut command = drystone(&std::env::temp_dir());
            command.env("VK_DRIVER_FILES", "/none.json").env("VK_ICD_FILENAMES", "/none.json");
            finished(command.args(arguments.split(' ')).output().expect("starts"))
        };
        let demanded = hidden("run slope --backend gpu");
        assert_eq!((demanded.code, demanded.stdout.as_str()), (3, ""));
        assert!(demanded.stderr.contains("found: none"), "{}", demanded.stderr);
        let auto = hidden("run slope --steps 2");
        assert_eq!(auto.code, 0);
        assert!(auto.stderr.contains("no hardware GPU adapter; found: none"), "{}", auto.stderr);
        let info = hidden("info");
        assert_eq!(info.code, 0);
        assert!(info.stdout.contains("no adapter was found"), "{}", info.stdout);
    }

    fn threads() -> String {
        let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        format!("{count} thread{}", if count == 1 { "" } else { "s" })
    }
}

mod validates {
    use super::*;

    const SCENE: &str = "large_pyramid:base=4";

    #[test]
    fn agree_and_differ() {
        let demanded = run(&format!("validate {SCENE} --steps 12"));
        if drystone::low_level::gpu::adapters().is_empty() {
            assert_eq!(demanded.code, 3, "{}", demanded.stderr);
            return;
        }
        assert_eq!(demanded.code, 0, "{}{}", demanded.stdout, demanded.stderr);
        assert!(demanded.stdout.ends_with("\nCPU and GPU agree\n"), "{}", demanded.stdout);
        for row in ["quarantine", "collide", "solve", "one step", "kinetic energy, average"] {
            assert!(demanded.stdout.contains(&format!("\n  {row} ")), "{row} in\n{}", demanded.stdout);
        }

        let folder = folder();
        let faulty = run_in(folder.path(), &format!("validate {SCENE} --steps 12 --leave-out collide --json a.json"));
        assert_eq!(faulty.code, 1, "{}", faulty.stderr);
        assert!(faulty.stdout.ends_with("\nCPU and GPU differ\n"), "{}", faulty.stdout);
        assert!(faulty.stderr.contains("differ first in stage collide of step 1, in contacts["), "{}", faulty.stderr);
        let report = json(&folder.path().join("a.json"));
        assert_eq!(report["passed"], false);
        assert_eq!(report["first_failure"], "collide");
        assert_eq!(report["first_difference"]["table"], "contacts");
        assert_eq!(report["scene"], SCENE);
        assert!(report["adapter"]["name"].is_string());

        let quiet = run(&format!("validate {SCENE} --steps 5 --json - --quiet"));
        assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
        let report: Value = serde_json::from_str(&quiet.stdout).expect("JSON");
        assert_eq!((&report["passed"], &report["first_failure"]), (&Value::Bool(true), &Value::Null));
    }
}

/// Full disk, imitated by a limit on the size of files.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_half() {
    let folder = folder();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run large_pyramid:base=30 --backend cpu --steps 5 -q \
                  --json a.json --state s.json";
    let mut command = Command::new("bash");
    command.current_dir(folder.path()).args(["-c", script, env!("CARGO_BIN_EXE_drystone")]);
    let ran = finished(command.output().expect("bash"));
    assert_eq!((ran.code, ran.stdout.as_str()), (74, ""));
    assert_eq!(ran.stderr, "error: cannot write s.json: file too large\n");
    assert_eq!(names(folder.path()), [""; 0], "not even the report, which was small enough");
}

#[cfg(unix)]
mod signals {
    use std::time::{Duration, Instant};

    use super::*;

    /// Starts a run that would never end, and waits until its temporary files exist.
    fn started(folder: &Path) -> std::process::Child {
        let child = drystone(folder)
            .args("run large_pyramid:base=30 --backend cpu --steps 100000000".split(' '))
            .args("--every 1000000 --json a.json --state s.npz --trace t.npz --picture p.png --movie m.gif".split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let deadline = Instant::now() + Duration::from_mins(1);
        while names(folder).iter().filter(|name| name.starts_with(".drystone-")).count() < 5 {
            assert!(Instant::now() < deadline, "no temporary files: {:?}", names(folder));
            std::thread::sleep(Duration::from_millis(10));
        }
        // Time for the run to get into its loop.
        std::thread::sleep(Duration::from_millis(300));
        child
    }

    fn send(signal: &str, child: &std::process::Child) {
        let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(status.success());
    }

    #[test]
    fn stop_without_a_trace() {
        for signal in ["-INT", "-TERM"] {
            let folder = folder();
            let child = started(folder.path());
            send(signal, &child);
            let ran = finished(child.wait_with_output().expect("ends"));
            assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{}", ran.stderr);
            assert!(ran.stderr.contains("stopped: after step"), "{}", ran.stderr);
            assert_eq!(names(folder.path()), [""; 0], "{signal}");
        }
    }

    #[test]
    fn keep_the_files_of_before() {
        let folder = folder();
        fs::write(folder.path().join("a.json"), "old").expect("file");
        let child = started(folder.path());
        send("-INT", &child);
        assert_eq!(finished(child.wait_with_output().expect("ends")).code, 130);
        assert_eq!(names(folder.path()), ["a.json"]);
        assert_eq!(fs::read_to_string(folder.path().join("a.json")).expect("file"), "old");
    }

    #[test]
    fn twice_exits_at_once() {
        let folder = folder();
        // A step of this scene takes long enough for the second signal to come within it.
        let child = drystone(folder.path())
            .args("run large_pyramid:base=600 --backend cpu --threads 1 --steps 1000 --json a.json".split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let deadline = Instant::now() + Duration::from_mins(1);
        while names(folder.path()).is_empty() {
            assert!(Instant::now() < deadline, "no temporary file");
            std::thread::sleep(Duration::from_millis(10));
        }
        send("-INT", &child);
        std::thread::sleep(Duration::from_millis(50));
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
        let ran = finished(child.wait_with_output().expect("ends"));
        assert_eq!((ran.code, ran.stdout.as_str()), (130, ""));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

mod many_worlds {
    use super::*;

    const SCENE: &str = "run large_pyramid:base=4 --steps 12 --every 6 --worlds 3";

    fn shape(npz: &mut NpzArchive<std::io::BufReader<File>>, name: &str) -> Vec<u64> {
        npz.by_name(name).expect("archive").unwrap_or_else(|| panic!("{name}")).shape().to_vec()
    }

    #[test]
    fn each_to_the_bits_of_one_alone() {
        for backend in ["cpu", "gpu"] {
            let alone = run(&format!("run large_pyramid:base=4 --steps 12 --backend {backend} --hash -q"));
            let hash = alone.stdout.trim();
            let ran = run(&format!("{} --backend {backend} --hash={hash} -q", SCENE.replace(" --every 6", "")));
            assert_eq!((ran.code, ran.stdout), (0, format!("{hash}\n").repeat(3)), "{}", ran.stderr);
            let other =
                run(&format!("{} --backend {backend} --hash={hash} --nudge 0.01 -q", SCENE.replace(" --every 6", "")));
            assert_eq!(other.code, 1);
            assert!(other.stderr.contains("the hash of world 1 is"), "{}", other.stderr);
            let lines: std::collections::HashSet<&str> = other.stdout.lines().collect();
            assert_eq!(lines.len(), 3, "all differ: {}", other.stdout);
            assert!(lines.contains(hash), "world 0 is as it was");
        }
    }

    #[test]
    fn reports_states_and_traces_have_an_axis_for_them() {
        let folder = folder();
        let files = "--json a.json --state s.npz --trace t.npz";
        let ran = run_in(folder.path(), &format!("{SCENE} --backend cpu --threads 2 --nudge 0.01 --seed 3 {files}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("worlds × steps per second"), "{}", ran.stdout);
        assert_eq!(names(folder.path()), ["a.json", "s.npz", "t.npz"]);
        let report = json(&folder.path().join("a.json"));
        assert_eq!((&report["worlds"], &report["steps"], &report["seed"]), (&3.into(), &12.into(), &3.into()));
        assert_eq!(report["hashes"][0], hash("large_pyramid:base=4", 12));
        assert_eq!(report["hashes"].as_array().expect("a list").len(), 3);
        assert!(report["world_steps_per_second"].as_f64().expect("a number") > 0.0);
        let open = |name: &str| NpzArchive::open(folder.path().join(name)).expect("archive");
        let (mut state, mut trace) = (open("s.npz"), open("t.npz"));
        assert_eq!(shape(&mut state, "position"), [3, 11, 2]);
        assert_eq!(shape(&mut state, "angle"), [3, 11]);
        assert_eq!(shape(&mut trace, "position"), [3, 3, 11, 2]);
        assert_eq!(shape(&mut trace, "angular_velocity"), [3, 3, 11]);
        let floats = |npz: &mut NpzArchive<std::io::BufReader<File>>| -> Vec<f32> {
            npz.by_name("position").expect("archive").expect("array").into_vec().expect("f32")
        };
        let (last, all) = (floats(&mut state), floats(&mut trace));
        assert_eq!(last, all[all.len() - last.len()..], "the trace ends with the state");
        let snapshot = simulated("large_pyramid:base=4", 12);
        assert_eq!(last[2..4], snapshot.poses[1].position, "world 0 comes first");
        let ran = run_in(folder.path(), &format!("{SCENE} --backend cpu --state s.json"));
        assert_eq!(ran.code, 2, "--every without --trace: {}", ran.stderr);
        let ran = run_in(folder.path(), "run slope --worlds 2 --steps 2 --backend cpu --state s.json");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let state = json(&folder.path().join("s.json"));
        assert_eq!(state[0], state[1]);
        assert_eq!(state.as_array().expect("a list").len(), 2);
        assert!(state[0][0]["position"].is_array());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (arguments, says) in [
            ("--worlds 0", "expected a whole number from 1 to 65,535"),
            ("--worlds 65536", "expected a whole number from 1 to 65,535"),
            ("--worlds 2 --picture a.png", "cannot be used with"),
            ("--worlds 2 --save a.snap", "cannot be used with"),
            ("--nudge 0.1", "--worlds"),
            ("--worlds 2 --seed 1", "--nudge"),
            ("--worlds 2 --nudge -1", "must be at least 0"),
            ("--worlds 2 --nudge inf", "must be at least 0"),
        ] {
            let ran = run(&format!("run slope --steps 1 {arguments}"));
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments}");
            assert!(ran.stderr.contains(says), "{arguments} should say {says:?}, but says:\n{}", ran.stderr);
        }
    }
}
