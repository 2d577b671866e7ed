//! Long jobs run in the background while the window responds: opening a large scene, moving it to the other backend,
//! going back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::kit::Stage;

const BALL: &str = r#"{ "version": 1, "name": "slow", "bodies": [
    { "position": [0, 3], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;

fn number(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// Slow file: a pipe, whose reader waits until something is written to it.
fn slow_file(stage: &Stage) -> PathBuf {
    let path = stage.path("slow.json");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

/// Writes to the slow file as soon as the window has written a report.
fn feed(path: &Path, after: &Path) -> std::thread::JoinHandle<()> {
    let (path, after) = (path.to_owned(), after.to_owned());
    std::thread::spawn(move || {
        while !after.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(path, BALL).expect("the window reads it");
    })
}

/// While a scene is read, the scene before it runs, is drawn and can be changed; then the new one replaces it.
#[test]
fn a_scene_stays_while_another_is_opened() {
    let stage = Stage::new();
    let fed = feed(&slow_file(&stage), &stage.path("meanwhile.json"));
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 800 500\nstep 3\nlive\nreport @/before.json\ndrop_file @/slow.json\nframes 5\nkey ArrowRight\nframes 30\n\
         drop 0 9\nframes 5\nshot @/meanwhile.png\nreport @/meanwhile.json\nopened\nframes 3\nreport @/after.json\n",
    );
    fed.join().unwrap();
    let [before, meanwhile, after] = ["before", "meanwhile", "after"].map(|name| stage.report(&format!("{name}.json")));
    assert!(before["opening"].is_null());
    assert!(meanwhile["opening"].as_str().is_some_and(|spec| spec.ends_with("slow.json")), "{meanwhile}");
    assert_eq!(meanwhile["scene"], before["scene"]);
    assert_eq!(number(&meanwhile, "step"), 4, "it does a step");
    assert_eq!(number(&meanwhile, "there"), number(&before, "there") + 1, "and the other lines of the script act");
    assert!(number(&meanwhile, "meanwhile") >= 40, "{meanwhile}");
    assert!(stage.shot("meanwhile.png").colors() > 20);
    assert_eq!((after["scene"].as_str(), number(&after, "there")), (Some("slow"), 1));
    assert!(after["opening"].is_null(), "{after}");
    assert_eq!(after["note"].as_str(), Some("opened slow.json · Z brings the world before it back"));
}

/// Escape cancels an opening: the present scene stays although the file is read later.
#[test]
fn opening_can_be_cancelled() {
    let stage = Stage::new();
    let fed = feed(&slow_file(&stage), &stage.path("cancelled.json"));
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "step 3\nlive\ndrop_file @/slow.json\nframes 3\nreport @/opening.json\nkey Escape\nreport @/cancelled.json\nleft_off\n\
         frames 3\nreport @/after.json\n",
    );
    fed.join().unwrap();
    let [opening, cancelled, after] =
        ["opening", "cancelled", "after"].map(|name| stage.report(&format!("{name}.json")));
    assert!(opening["opening"].is_string() && cancelled["opening"].is_null());
    assert!(cancelled["note"].as_str().is_some_and(|note| note.contains("slow.json")), "{cancelled}");
    assert_eq!((&after["scene"], &after["hash"]), (&opening["scene"], &opening["hash"]));
}

/// The later of two requested scenes is opened, also if the earlier one is read last.
#[test]
fn the_newest_scene_is_opened() {
    let stage = Stage::new();
    let fed = feed(&slow_file(&stage), &stage.path("newest.json"));
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "live\ndrop_file @/slow.json\nframes 3\nopen circle_stack\nopened\nreport @/newest.json\nleft_off\nframes 3\n\
         report @/after.json\n",
    );
    fed.join().unwrap();
    let [newest, after] = ["newest.json", "after.json"].map(|name| stage.report(name));
    assert_eq!((newest["scene"].as_str(), after["scene"].as_str()), (Some("circle_stack"), Some("circle_stack")));
}

/// An error in a scene is shown when it is found; the scene before it stays.
#[test]
fn a_scene_that_cannot_be_opened_changes_nothing() {
    let stage = Stage::new();
    fs::write(stage.path("wrong.json"), BALL.replace("0.5", "-0.5")).unwrap();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "step 3\nreport @/a.json\nlive\ndrop_file @/wrong.json\nopened\nframes 1\nreport @/b.json\n",
    );
    let [a, b] = ["a.json", "b.json"].map(|name| stage.report(name));
    assert_eq!((&a["scene"], &a["hash"]), (&b["scene"], &b["hash"]));
    assert!(b["fault"].as_str().is_some_and(|note| note.contains("wrong.json") && note.contains("radius")), "{b}");
}

/// Frames go on while a large scene is opened, moved, copied and sent back. A script that waits for each job sees no
/// frames during it: the count can fail.
#[test]
fn frames_go_on_while_worlds_are_made() {
    let meanwhile = |live: &str| {
        let stage = Stage::new();
        stage.play(
            &["slope", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
            &format!(
                "size 480 320\nreport @/start.json\n{live}open large_pyramid:base=800\nopened\nreport @/opened.json\n\
                 open large_pyramid:base=60\nopened\nstep 9\nreport @/nine.json\nseek 8\nreport @/back.json\n\
                 backend gpu\nframes 1\nsettle\nreport @/moved.json\ntwin\nframes 1\nsettle\nreport @/twin.json\n"
            ),
        );
        let reports: Vec<Value> = ["start", "opened", "nine", "back", "moved", "twin"]
            .map(|name| stage.report(&format!("{name}.json")))
            .into();
        assert_eq!(number(&reports[1], "bodies"), 320_401);
        assert_eq!((number(&reports[2], "step"), number(&reports[3], "step")), (9, 8));
        assert_eq!((&reports[4]["hash"], reports[4]["backend"].as_str()), (&reports[3]["hash"], Some("gpu")));
        assert_eq!(reports[5]["twin"], reports[3]["hash"]);
        reports.windows(2).map(|pair| number(&pair[1], "meanwhile") - number(&pair[0], "meanwhile")).collect::<Vec<_>>()
    };
    let live = meanwhile("live\n");
    // Frames during the opening, during going back, which is quick, during the move to a device that must compile its
    // kernels, and during the copy.
    assert!(live[0] >= 3 && live[2] >= 1 && live[3] >= 3 && live[4] >= 1, "{live:?}");
    assert_eq!(meanwhile(""), [0; 5]);
}

/// A move to the other backend can be cancelled or reversed; then the world is as it was, with its history.
#[test]
fn moving_can_be_cancelled() {
    for cancel in ["key Escape", "backend cpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
            &format!(
                "size 480 320\nstep 20\nreport @/a.json\nlive\nbackend gpu\nframes 2\n{cancel}\nframes 1\nsettle\nreport @/b.json\nseek 3\n\
                 report @/c.json\nbackend gpu\nframes 1\nsettle\nreport @/d.json\n"
            ),
        );
        let [a, b, c, d] = ["a.json", "b.json", "c.json", "d.json"].map(|name| stage.report(name));
        assert_eq!((b["backend"].as_str(), &b["hash"]), (Some("cpu"), &a["hash"]), "{cancel}");
        assert!(number(&b, "meanwhile") > number(&a, "meanwhile"), "{cancel}: it was on its way");
        assert_eq!(number(&c, "step"), 3, "{cancel}: the way back is still there");
        assert_eq!(d["backend"].as_str(), Some("gpu"), "{cancel}: without that it goes over");
    }
}

/// A window closes at once while a scene is opened, also if a file never ends or the device is at work.
#[test]
fn a_window_can_be_closed_while_a_scene_is_opened() {
    let stage = Stage::new();
    slow_file(&stage);
    for (backend, scene) in [("cpu", "@/slow.json"), ("gpu", "@/slow.json"), ("gpu", "large_pyramid:base=300")] {
        stage.play(
            &["vertical_stack:count=4", "--backend", backend, "--fresh"],
            &format!("size 480 320\nlive\nopen {scene}\nframes 2\nreport @/a.json\nclose\nstep 1000000\n"),
        );
        let report = stage.report("a.json");
        assert!(report["opening"].is_string(), "{scene} on {backend}: {report}");
    }
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--fresh"],
        "size 480 320\nlive\nbackend gpu\nframes 2\nclose\nstep 1000000\n",
    );
}

/// A scene is opened on a new device when the old one is lost during the opening.
#[test]
fn a_device_can_be_lost_while_a_scene_is_opened() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "gpu", "--paused", "--fresh"],
        "size 480 320\nstep 2\nlive\nopen large_pyramid:base=300\nframes 1\nreport @/a.json\nlose_device\nopened\n\
         frames 2\nreport @/b.json\nstep 1\nreport @/c.json\n",
    );
    let [a, b, c] = ["a.json", "b.json", "c.json"].map(|name| stage.report(name));
    assert!(a["opening"].is_string(), "{a}");
    assert_eq!((b["scene"].as_str(), b["backend"].as_str()), (Some("large_pyramid:base=300"), Some("gpu")));
    assert_eq!((number(&b, "step"), number(&c, "step")), (0, 1));
}

/// A world arrives on a new device when the old one is lost while the world moves to it or goes back on it.
#[test]
fn a_device_can_be_lost_while_a_world_is_away() {
    for (backend, away) in [("cpu", "backend gpu"), ("gpu", "backend cpu"), ("gpu", "twin")] {
        let stage = Stage::new();
        stage.play(
            &["large_pyramid:base=30", "--backend", backend, "--paused", "--fresh"],
            &format!(
                "size 480 320\nstep 5\nreport @/a.json\nlive\n{away}\nframes 1\nlose_device\nsettle\nframes 2\n\
                 report @/b.json\nstep 2\nreport @/c.json\n"
            ),
        );
        let [a, b, c] = ["a.json", "b.json", "c.json"].map(|name| stage.report(name));
        assert_eq!((number(&b, "step"), &b["hash"]), (5, &a["hash"]), "{away} from {backend}");
        assert_eq!(number(&c, "step"), 7);
    }
}

/// The window opens in the size given on the command line, not in its last size.
#[test]
fn the_command_line_sets_the_size() {
    let stage = Stage::new();
    for (size, expected) in [("700x450", [700, 450]), ("500x400", [500, 400])] {
        stage.play(&["slope", "--backend", "cpu", "--paused", "--size", size], "frames 4\nshot @/a.png\n");
        assert_eq!(stage.shot("a.png").size, expected);
    }
}
