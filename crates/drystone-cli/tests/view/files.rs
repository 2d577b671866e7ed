//! Files that the window opens, watches and writes, and the choices that it remembers.

use std::fs;
use std::process::Command;

use crate::kit::Stage;

const BALL: &str = r#"{ "version": 1, "name": "one", "bodies": [
    { "type": "static", "shapes": [ { "box": { "half": [9, 1] }, "offset": [0, -1] } ] },
    { "position": [0, 3], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;

#[test]
fn a_file_can_be_dropped_and_a_wrong_one_changes_nothing() {
    let stage = Stage::new();
    fs::write(stage.path("ball.json"), BALL).unwrap();
    fs::write(stage.path("wrong.json"), BALL.replace("0.5", "-0.5")).unwrap();
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "drop_file @/ball.json\nstep 3\nreport @/a.json\ndrop_file @/wrong.json\nreport @/b.json\n",
    );
    let [a, b] = ["a.json", "b.json"].map(|name| stage.report(name));
    assert_eq!((a["scene"].as_str(), a["bodies"].as_u64()), (Some("one"), Some(2)));
    assert_eq!((b["scene"].as_str(), b["step"].as_u64()), (Some("one"), Some(3)), "it goes on");
    let fault = b["fault"].as_str().unwrap();
    assert!(fault.contains("wrong.json:3:") && fault.contains("radius"), "{fault}");
    assert_eq!(fault.matches("wrong.json").count(), 1, "the path once: {fault}");
    assert!(a["fault"].is_null());
}

/// The error in a file is shown until the file is valid, beside other messages; then the file is opened.
#[test]
fn a_mistake_is_told_until_it_is_mended() {
    let stage = Stage::new();
    fs::write(stage.path("ball.json"), BALL).unwrap();
    fs::write(
        stage.path("wrong.json"),
        BALL.replace("\"shapes\": [ { \"circle\"", "\"kind\": 1, \"shapes\": [ { \"circle\""),
    )
    .unwrap();
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "size 700 400\nframes 2\nshot @/good.png\ndrop_file @/wrong.json\nreport @/a.json\nlayer none on\nframes 1\nreport @/late.json\n\
         shot @/told.png\npanel\nframes 2\nshot @/bare.png\npanel\nrewrite @/ball.json @/wrong.json\nframes 2\n\
         report @/mended.json\n",
    );
    let [a, late, mended] = ["a.json", "late.json", "mended.json"].map(|name| stage.report(name));
    let fault = a["fault"].as_str().unwrap();
    assert!(fault.contains("wrong.json:3:") && fault.contains("did you mean `type`?"), "{fault}");
    assert!(late["note"].as_str().is_some_and(|note| note.contains("no layer")), "{late}");
    assert_eq!(late["fault"], a["fault"]);
    assert_eq!((mended["scene"].as_str(), mended["fault"].is_null()), (Some("one"), true), "{mended}");
    // In red, in the panel and, without it, over the picture.
    let reds = |name: &str| stage.shot(name).rgb.iter().filter(|[r, g, b]| *r > 150 && *g < 90 && *b < 90).count();
    let before = reds("good.png");
    assert!(reds("told.png") > before + 100 && reds("bare.png") > before + 100, "{} {before}", reds("told.png"));
}

/// A world saved after changes is resumed without its scene file, in the window and by the command, to the same bits on
/// either backend; saved as a scene, it starts with the state of the world.
#[test]
fn what_is_kept_after_changes_opens_again() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["rod_chain", "--backend", backend, "--paused", "--fresh"],
            "size 800 500\nframes 2\nfolder @\nstep 12\ndrop_count 4\ndrop 1 9\nstep 8\ngravity 1 -6\nstep 5\nremove 0 0\nsettle\n\
             explode 0 3\nsettle\nsetting sleep off\nstep 10\nshoot 0 4\nstate\nsave_scene\nreport @/kept.json\nstep 100\n\
             report @/later.json\n",
        );
        let [kept, later] = ["kept.json", "later.json"].map(|name| stage.report(name));
        assert_eq!(kept["step"].as_u64(), Some(35));
        let at = |extension: &str| stage.path(&format!("drystone-rod_chain-35.{extension}"));
        let snap = at("snap").display().to_string();
        let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
            .args(["run", "--backend", backend, "--hash", "--steps", "100", "--resume", &snap])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let hash = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert_eq!(later["hash"].as_str(), Some(&*hash), "{backend}");
        // In a window it goes on, back to the step at which it was saved, and is saved again with new changes.
        stage.play(
            &[&snap, "--backend", backend, "--paused", "--fresh"],
            "size 800 500\nframes 2\nfolder @\nreport @/opened.json\nstep 100\nreport @/on.json\nseek 40\nseek 35\nreport @/back.json\n\
             drop 1 12\nstep 5\nstate\nreport @/again.json\nstep 20\nreport @/beyond.json\nundo\nreport @/undone.json\n\
             open vertical_stack:count=2\ndrop_file @/drystone-rod_chain-40.snap\nopened\nreport @/second.json\nstep 20\n\
             report @/end.json\nrestart\nopened\nreport @/restarted.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        assert_eq!(
            (&report("opened")["hash"], &report("opened")["gravity"]),
            (&kept["hash"], &kept["gravity"]),
            "{backend}"
        );
        assert_eq!((&report("on")["hash"], &report("back")["hash"]), (&later["hash"], &kept["hash"]), "{backend}");
        // The dropped body is removed, and the step stays.
        assert_eq!(
            (&report("undone")["there"], report("undone")["step"].as_u64()),
            (&kept["there"], Some(60)),
            "{backend}"
        );
        assert_eq!(report("second")["hash"], report("again")["hash"], "{backend}");
        assert_eq!(report("end")["hash"], report("beyond")["hash"], "{backend}");
        assert_eq!(report("restarted")["hash"], report("again")["hash"], "{backend}: back to what was kept");
        assert_ne!(report("again")["hash"], kept["hash"]);
        // Saved as a scene.
        let scene = at("json").display().to_string();
        stage.play(
            &[&scene, "--backend", backend, "--paused", "--no-sleep", "--fresh"],
            "frames 2\nreport @/scene.json\n",
        );
        let scene = report("scene");
        assert_eq!(
            (&scene["there"], &scene["gravity"], &scene["joints"]),
            (&kept["there"], &kept["gravity"], &kept["joints"])
        );
        assert_eq!(scene["step"].as_u64(), Some(0));
    }
}

/// A file of an earlier release, a damaged one and one of another kind give an error each, and the world stays.
#[test]
fn files_that_cannot_go_on_say_why() {
    let stage = Stage::new();
    let scene = drystone_scenes::catalogue::build("vertical_stack:count=2").unwrap();
    let mut world = drystone::World::from(drystone::low_level::CpuWorld::new(&scene).unwrap());
    fs::write(stage.path("old.snap"), world.save().unwrap()).unwrap();
    let saved = drystone_scenes::SavedWorld::new(&scene, drystone::low_level::Journal::default(), &mut world).unwrap();
    let bytes = saved.to_bytes().unwrap();
    fs::write(stage.path("cut.snap"), &bytes[..bytes.len() - 9]).unwrap();
    fs::write(stage.path("good.snap"), &bytes).unwrap();
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "step 2\ndrop_file @/old.snap\nopened\nreport @/old.json\ndrop_file @/cut.snap\nopened\nreport @/cut.json\n\
         rewrite @/good.snap @/cut.snap\nopened\nreport @/good.json\n",
    );
    let [old, cut, good] = ["old.json", "cut.json", "good.json"].map(|name| stage.report(name));
    for (report, expected) in [(&old, "old.snap: holds a state and no scene"), (&cut, "it is truncated in its state")] {
        let fault = report["fault"].as_str().unwrap();
        assert!(fault.contains(expected), "{fault}");
        assert_eq!((report["scene"].as_str(), report["step"].as_u64()), (Some("arch"), Some(2)));
    }
    assert_eq!((good["scene"].as_str(), good["fault"].is_null()), (Some("vertical_stack:count=2"), true));
    for (name, expected) in [("old.snap", "run SCENE --resume"), ("none.snap", "none.snap")] {
        let ended = stage.play_anyhow(&[stage.path(name).to_str().unwrap(), "--fresh"], "");
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

#[test]
fn what_is_written_can_be_read() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4,pitch=1.5", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
        "size 800 500\nfolder @\nrecord\nstep 12\nrecord\npicture\nstate\nreport @/a.json\nframes 3\n",
    );
    let written = |extension: &str| {
        let mut found: Vec<_> = fs::read_dir(stage.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("drystone-")))
            .filter(|path| path.extension().is_some_and(|e| e == extension))
            .collect();
        assert_eq!(found.len(), 1, "{extension}: {found:?}");
        found.remove(0)
    };
    let picture = crate::kit::Picture::read(&written("png"));
    assert!(picture.colors() > 20 && picture.size[0] < 800, "without the panel");
    let gif = fs::read(written("gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a") && gif.ends_with(&[0x3b]) && gif.len() > 1000);
    // The saved state is resumed by the command to the same bits.
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
            .args(["run", "vertical_stack:count=4,pitch=1.5", "--backend", "cpu", "--hash"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let state = written("snap");
    let resumed = run(&["--steps", "5", "--resume", state.to_str().unwrap()]);
    assert_eq!(resumed, run(&["--steps", "17"]));
    assert_ne!(resumed, run(&["--steps", "16"]));
    assert_eq!(stage.report("a.json")["hash"].as_str(), Some(run(&["--steps", "12"]).as_str()));
}

/// The buttons of the panel write the same files as the keys; a click beside them writes none.
#[test]
fn buttons_write_files() {
    let files = |clicks: &str| {
        let stage = Stage::new();
        stage.play(
            &["large_pyramid:base=4,drop=1", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
            &format!("size 1280 800\nfolder @\nframes 2\nstep 6\nclick 986 626\nframes 2\n{clicks}"),
        );
        let mut written: Vec<(String, Vec<u8>)> = fs::read_dir(stage.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
            .filter(|(name, _)| name.starts_with("drystone-"))
            .map(|(name, path)| (name.replace("drystone-large_pyramid_base_4_drop_1-", ""), fs::read(path).unwrap()))
            .collect();
        written.sort();
        written
    };
    let [picture, record, state, csv, trace] = BUTTONS.map(|[x, y]| format!("click {x} {y}\nframes 2\n"));
    let written = files(&format!("{picture}{state}{csv}{trace}{record}step 6\n{record}{picture}"));
    let names: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["12.png", "6.csv", "6.gif", "6.png", "6.snap", "6.trace.json"]);
    let content = |name: &str| &written.iter().find(|(known, _)| known == name).unwrap().1;
    assert!(content("6.png").starts_with(b"\x89PNG") && content("6.png") != content("12.png"));
    assert!(content("6.gif").starts_with(b"GIF89a") && content("6.gif").ends_with(&[0x3b]));
    let csv = String::from_utf8(content("6.csv").clone()).unwrap();
    assert!(csv.starts_with("step,total_ms") && csv.lines().count() == 7, "{csv}");
    let trace: serde_json::Value = serde_json::from_slice(content("6.trace.json")).unwrap();
    assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
    let stage = Stage::new();
    fs::write(stage.path("six.snap"), content("6.snap")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
        .args(["run", "large_pyramid:base=4,drop=1", "--backend", "cpu", "--steps", "6", "--resume"])
        .args([stage.path("six.snap")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A place without a button.
    assert_eq!(files("click 1240 626\nclick 1240 672\nframes 2\n"), []);
}

/// Places of the buttons picture, record GIF, state, times as CSV and times as trace, px.
const BUTTONS: [[u32; 2]; 5] = [[1001, 672], [1075, 672], [1145, 672], [1017, 695], [1117, 695]];

/// The path in Files is that of the file: with the end of its kind, relative to the folder; what is there already is
/// replaced only by a second save; a path that cannot be written is named with the reason. The keys take it as well.
#[test]
fn files_are_saved_under_a_given_path() {
    let stage = Stage::new();
    let path = |name: &str| stage.path(name);
    fs::write(path("taken.snap"), "taken").unwrap();
    let typed = |text: &str| {
        format!(
            "click 1140 649\nframes 2\nkey End\n{}text {text}\nframes 2\nkey Enter\nframes 2\n",
            "key Backspace\n".repeat(14)
        )
    };
    let [picture, _, state, ..] = BUTTONS.map(|[x, y]| format!("click {x} {y}\nframes 3\nsettle\n"));
    let script = format!(
        "size 1280 800\nfolder @\nframes 2\nclick 986 626\nframes 20\n{}{picture}report @/first.json\nstep 3\n{picture}report @/there.json\n\
         rewrite @/first.png @/before.png\n{picture}report @/again.json\n{}key K\nframes 3\nsettle\nreport @/key.json\n{}{state}report @/ended.json\n\
         {}{state}report @/no_folder.json\n{}{state}report @/folder.json\nshot @/shot.png\n",
        typed("first"),
        typed("taken"),
        typed("first.png"),
        typed("none/a"),
        typed("sub/"),
    );
    fs::create_dir(path("sub")).unwrap();
    stage.play(&["large_pyramid:base=4,drop=1", "--backend", "cpu", "--paused", "--fresh"], &script);
    let note = |name: &str| stage.report(&format!("{name}.json"))["note"].as_str().unwrap_or_default().to_owned();
    let whole = |name: &str| path(name).display().to_string();
    assert_eq!(stage.report("first.json")["save_path"].as_str(), Some("first"));
    assert_eq!(note("first"), format!("wrote {}", whole("first.png")));
    assert_eq!(
        note("there"),
        format!("{} is there already, and was not replaced: save once more to replace it", whole("first.png"))
    );
    assert_eq!(note("again"), format!("replaced {}", whole("first.png")));
    let [before, after] = ["before.png", "first.png"].map(|name| fs::read(path(name)).unwrap());
    assert!(before != after && after.starts_with(b"\x89PNG"), "the first save stayed until the second one");
    assert!(note("key").starts_with(&format!("{} is there already", whole("taken.snap"))), "{}", note("key"));
    assert_eq!(fs::read(path("taken.snap")).unwrap(), b"taken");
    assert!(note("ended").contains("would be .snap, and not .png"), "{}", note("ended"));
    assert_eq!(
        note("no_folder"),
        format!("{} was not written: there is no folder {}", whole("none/a.snap"), whole("none"))
    );
    let in_folder = path("sub/drystone-large_pyramid_base_4_drop_1-3.snap");
    assert_eq!(note("folder"), format!("wrote {}", in_folder.display()));
    assert!(in_folder.exists() && !path("none").exists());
}

/// A message about a scene that cannot be opened ends when another one is opened.
#[test]
fn messages_end_with_another_scene() {
    let stage = Stage::new();
    fs::write(stage.path("broken.json"), "{ \"version\": 1, \"bodies\": 3 }").unwrap();
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "frames 2\nopen tumblr\nframes 2\nreport @/wrong.json\nopen vertical_stack:count=2\nopened\nframes 2\nreport @/right.json\n\
         open @/broken.json\nopened\nframes 2\nreport @/fault.json\nopen tumblr\nframes 2\nreport @/stays.json\nparameter 0 3\nopened\nframes 2\n\
         report @/mended.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let note = |name: &str| report(name)["note"].as_str().unwrap_or_default().to_owned();
    assert!(note("wrong").contains("did you mean tumbler?"), "{}", note("wrong"));
    assert_eq!(note("right"), "");
    assert!(report("fault")["fault"].as_str().is_some_and(|fault| fault.contains("bodies")), "{}", report("fault"));
    assert!(report("stays")["fault"].is_string(), "the file is as broken as before");
    assert_eq!((report("mended")["fault"].is_null(), note("mended")), (true, String::new()));
}

#[test]
fn choices_are_remembered() {
    let stage = Stage::new();
    let kept = stage.path("config/drystone/view.json");
    stage.play(&["arch", "--backend", "cpu", "--paused"], "frames 2\ndark\nlayer aabbs on\nframes 2\n");
    let first: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(first["dark"], serde_json::json!(true));
    assert!(first["layers"].as_array().unwrap().iter().any(|layer| layer == "aabbs"));
    assert_eq!(first["recent"][0], "arch");
    stage.play(&["circle_stack", "--backend", "cpu", "--paused"], "frames 2\ndark\nframes 2\n");
    let second: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(second["dark"], serde_json::json!(false), "it was dark, and was made light");
    assert_eq!(second["layers"], first["layers"]);
    assert_eq!(second["recent"], serde_json::json!(["circle_stack", "arch"]));
    stage.play(&["arch", "--backend", "cpu", "--paused", "--fresh"], "frames 2\ndark\nframes 2\n");
    let third: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(third, second, "what is tried out is not kept");
}

/// A scene is reopened when its file changes; an invalid file changes nothing until it is valid again.
#[test]
fn a_changed_file_is_opened_anew() {
    let stage = Stage::new();
    fs::write(stage.path("scene.json"), BALL).unwrap();
    fs::write(stage.path("two.json"), BALL.replace("\"one\"", "\"two\"")).unwrap();
    fs::write(stage.path("wrong.json"), BALL.replace("circle", "cicrle")).unwrap();
    let scene = stage.path("scene.json");
    stage.play(
        &[scene.to_str().unwrap(), "--backend", "cpu", "--paused", "--fresh"],
        "step 5\nreport @/a.json\nrewrite @/wrong.json @/scene.json\nreport @/b.json\nrewrite @/two.json @/scene.json\n\
         report @/c.json\n",
    );
    let [a, b, c] = ["a.json", "b.json", "c.json"].map(|name| stage.report(name));
    assert_eq!((a["scene"].as_str(), a["step"].as_u64()), (Some("one"), Some(5)));
    assert_eq!((b["scene"].as_str(), b["step"].as_u64()), (Some("one"), Some(5)), "it goes on");
    assert!(b["fault"].as_str().unwrap().contains("cicrle"), "{b}");
    assert!(c["fault"].is_null());
    assert_eq!((c["scene"].as_str(), c["step"].as_u64()), (Some("two"), Some(0)));
}

/// The times of stages are written as a table and as a trace, on both backends, also if the panel's plots were never
/// opened.
#[test]
fn measurements_are_written() {
    for (backend, least) in [("cpu", 30), ("gpu", 2)] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=4", "--backend", backend, "--paused", "--no-sleep", "--fresh"],
            "size 640 400\nfolder @\nstep 30\nstep 30\ncsv\ntrace\nreport @/a.json\nframes 3\n",
        );
        let csv = fs::read_to_string(stage.path("drystone-vertical_stack_count_4-60.csv")).unwrap();
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len() as u64, 1 + stage.report("a.json")["samples"].as_u64().unwrap());
        assert!(rows.len() > least, "{backend}: {} rows", rows.len());
        let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
        let of = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
        let sum = |name: &str| rows[1..].iter().map(|row| of(row, name)).sum::<f64>();
        assert!(sum("solve_ms") > 0.0 && sum("collide_ms") > 0.0 && sum("total_ms") > sum("solve_ms"));
        let steps: Vec<f64> = rows[1..].iter().map(|row| of(row, "step")).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]) && steps.iter().all(|&step| step <= 60.0), "{steps:?}");
        let trace = fs::read_to_string(stage.path("drystone-vertical_stack_count_4-60.trace.json")).unwrap();
        let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of_steps = events.iter().filter(|event| event["cat"] == "step").count();
        assert_eq!(of_steps, rows.len() - 1);
        assert!(events.iter().any(|event| event["name"] == "solve") && events.iter().all(|event| event["ph"] == "X"));
    }
}

/// A file that claims 2^52 steps opens, moves to the other backend and goes on; one that claims more is refused.
/// Neither takes time for each of the steps.
#[test]
fn many_steps_that_a_file_claims_take_no_time() {
    let stage = Stage::new();
    let scene = drystone_scenes::catalogue::build("vertical_stack:count=2").unwrap();
    let mut world = drystone::World::from(drystone::low_level::CpuWorld::new(&scene).unwrap());
    world.step().unwrap();
    let late = vec![drystone::Body::dynamic(5.0, 9.0).shape(drystone::Shape::circle(0.5))];
    world.add_bodies(&late).unwrap();
    let mut journal = drystone::low_level::Journal::default();
    journal.push(1, drystone::low_level::Alteration::AddBodies(late));
    world.step().unwrap();
    let bytes = drystone_scenes::SavedWorld::new(&scene, journal, &mut world).unwrap().to_bytes().unwrap();
    for (name, steps) in [("far", 1_u64 << 52), ("beyond", 1 << 62)] {
        let mut bytes = bytes.clone();
        let length = |part: usize| u64::from_le_bytes(bytes[16 + 12 * part..][..8].try_into().unwrap());
        let state = usize::try_from(52 + length(0) + length(1)).unwrap();
        let end = bytes.len() - 4;
        bytes[state + 24..][..8].copy_from_slice(&steps.to_le_bytes());
        for (at, range) in [(end, state..end), (48, state..end + 4), (12, 16..52)] {
            let seal = crc32fast::hash(&bytes[range]);
            bytes[at..at + 4].copy_from_slice(&seal.to_le_bytes());
        }
        fs::write(stage.path(&format!("{name}.snap")), bytes).unwrap();
    }
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "size 800 500\ndrop_file @/far.snap\nopened\nreport @/far.json\nbackend gpu\nsettle\nstep 1\nbackend cpu\nsettle\n\
         report @/moved.json\ntwin\nsettle\nstep 1\nback 1\nreport @/twin.json\ndrop_file @/beyond.snap\nopened\nreport @/beyond.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let steps = |name: &str| report(name)["step"].as_u64().unwrap();
    assert_eq!((steps("far"), steps("moved"), steps("twin")), (1 << 52, (1 << 52) + 1, (1 << 52) + 1));
    assert_eq!(report("moved")["there"], report("far")["there"]);
    let fault = report("beyond")["fault"].as_str().unwrap_or_default().to_owned();
    assert!(fault.contains("is of step 4611686018427387904; expected at most"), "{}", report("beyond"));
}
