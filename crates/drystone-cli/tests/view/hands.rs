//! Keys and the panel, by scripted keys and a pointer at the places where buttons and bodies are seen.

use serde_json::Value;

use crate::kit::Stage;

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

fn gravity(report: &Value) -> [f64; 2] {
    serde_json::from_value(report["gravity"].clone()).unwrap()
}

/// Each key does what the list of keys says: run, stop, step, go back, slow down, tilt, drop and remove.
#[test]
fn keys_do_what_they_say() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 2\nkey ArrowRight\nkey ArrowRight\nkey ArrowRight\nsettle\nreport @/stepped.json\n\
         key ArrowLeft\nsettle\nreport @/back.json\nkey Space\nframes 10\nkey Space\nreport @/ran.json\nkey Minus\n\
         key Minus\nkey CloseBracket\nreport @/tilted.json\nkey Backslash\nkey Equals\nreport @/reset.json\n\
         move 300 200\nframes 2\nkey D\nsettle\nreport @/dropped.json\nkey R\nreport @/restarted.json\nkey B\nsettle\n\
         report @/moved.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    assert_eq!((number(&report("stepped"), "step"), number(&report("back"), "step")), (3.0, 2.0));
    let ran = number(&report("ran"), "step");
    assert!((8.0..=14.0).contains(&ran), "ten frames of 1/60 s and those that the keys take: step {ran}");
    assert_eq!(number(&report("back"), "speed"), 1.0);
    assert_eq!(number(&report("tilted"), "speed"), 0.25);
    let [x, y] = gravity(&report("tilted"));
    let [x0, y0] = gravity(&report("ran"));
    assert!(x0 == 0.0 && x > 2.0 && (x.hypot(y) - y0.abs()).abs() < 1e-4, "15° to the right: {x}, {y}");
    assert_eq!(gravity(&report("reset")), [x0, y0]);
    assert_eq!(number(&report("reset"), "speed"), 0.5);
    assert_eq!(number(&report("dropped"), "there"), number(&report("reset"), "there") + 1.0);
    assert_eq!(number(&report("restarted"), "step"), 0.0);
    assert_eq!(number(&report("restarted"), "there"), number(&report("reset"), "there"));
    assert_eq!(
        (report("restarted")["backend"].as_str(), report("moved")["backend"].as_str()),
        (Some("cpu"), Some("gpu"))
    );
}

/// Tab hides the panel and shows it again without moving the focus: keys work after it as before.
#[test]
fn keys_work_whatever_has_the_focus() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 2\nkey ArrowRight\nkey ArrowRight\nsettle\nshot @/panel.png\nkey Tab\nshot @/bare.png\n\
         key ArrowRight\nsettle\nreport @/stepped.json\nkey Space\nframes 10\nkey Space\nreport @/ran.json\nkey Tab\n\
         frames 2\nshot @/again.png\nkey ArrowLeft\nsettle\nreport @/back.json\n",
    );
    let step = |name: &str| number(&stage.report(&format!("{name}.json")), "step");
    assert_eq!(step("stepped"), 3.0);
    assert!(step("ran") > 8.0, "Space runs, and restarts nothing: step {}", step("ran"));
    assert_eq!(step("back"), step("ran") - 1.0);
    let unlike = |a: &str, b: &str| stage.shot(a).unlike(&stage.shot(b)).share;
    assert!(unlike("panel.png", "bare.png") > 0.1, "the panel is gone");
    assert!(unlike("panel.png", "again.png") < 0.1, "the panel is back");
}

/// A scene is searched and opened with the return key; its slider builds it again; ten thousand bodies are dropped.
#[test]
fn scenes_are_found_and_sliders_build_them() {
    let stage = Stage::new();
    stage.play(
        &["arch", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 2\nclick 990 39\nframes 2\ntext large_py\nframes 2\nshot @/found.png\nkey Enter\nframes 3\n\
         report @/found.json\nclick 990 39\nframes 2\nkey Escape\nframes 2\nparameter 0 8\nframes 2\nreport @/small.json\n\
         drag 1083 95 1086 95 4\nframes 3\nreport @/slid.json\nshot @/slid.png\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    assert_eq!(report("found")["scene"].as_str(), Some("large_pyramid"));
    assert_eq!(
        (report("small")["scene"].as_str(), number(&report("small"), "bodies")),
        (Some("large_pyramid:base=8"), 37.0)
    );
    let slid = report("slid")["scene"].as_str().unwrap().to_owned();
    assert!(slid.starts_with("large_pyramid:base=") && slid != "large_pyramid:base=8", "{slid}");
    stage.play(
        &["slope", "--backend", "cpu", "--paused", "--fresh"],
        "size 640 400\nreport @/a.json\ndrop_count 100\ndrop 0 40\nsettle\nreport @/b.json\ndrop_count 10000\ndrop_kind particle\n\
         drop 0 400\nsettle\nreport @/c.json\nstep 1\nreport @/d.json\n",
    );
    let there = |name: &str| number(&report(name), "there");
    assert_eq!((there("b") - there("a"), there("c") - there("b")), (100.0, 10_000.0));
    assert_eq!(number(&report("d"), "step"), 1.0);
}

/// An explosion pushes near bodies and adds none, on both backends; and it is replayed like any other change.
#[test]
fn an_explosion_pushes_and_is_gone() {
    let hashes = ["cpu", "gpu"].map(|backend| {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=5", "--backend", backend, "--paused", "--no-sleep", "--fresh"],
            "size 800 500\nframes 2\nstep 5\nreport @/a.json\nexplode 0.2 0.5\nsettle\nstep 20\nreport @/b.json\nseek 5\n\
             report @/c.json\nseek 25\nreport @/d.json\nrestart\nstep 25\nreport @/quiet.json\n",
        );
        let [a, b, c, d, quiet] = ["a", "b", "c", "d", "quiet"].map(|name| stage.report(&format!("{name}.json")));
        assert_eq!(number(&a, "there"), number(&b, "there"), "nothing is left behind");
        assert_eq!((&a["hash"], &b["hash"]), (&c["hash"], &d["hash"]), "{backend}");
        assert_ne!(b["hash"], quiet["hash"]);
        let moved = |report: &Value| {
            let at: Vec<[f64; 2]> = serde_json::from_value(report["positions"].clone()).unwrap();
            at.iter().map(|p| p[0].abs()).fold(0.0, f64::max)
        };
        assert!(moved(&b) > moved(&quiet) + 0.5, "{backend}: {} m, {} m without", moved(&b), moved(&quiet));
        b["hash"].clone()
    });
    assert!(hashes.iter().all(Value::is_string));
}

/// The text about the body under the pointer is shown, and follows the body.
#[test]
fn the_body_under_the_pointer_is_told_of() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["large_pyramid:base=12", "--backend", backend, "--paused", "--fresh"],
            "size 1280 720\nstep 10\nframes 2\nmove 40 40\nframes 14\nshot @/none.png\nreport @/none.json\nmove 470 590\n\
             frames 30\nshot @/one.png\nreport @/one.json\n",
        );
        let [none, one] = ["none.json", "one.json"].map(|name| stage.report(name));
        assert!(none["over"].is_null(), "{backend}: {none}");
        assert!(one["over"].is_u64(), "{backend}: {one}");
        let unlike = stage.shot("none.png").unlike(&stage.shot("one.png"));
        assert!(unlike.share > 0.002, "{backend}: a plate and an outline: {unlike:?}");
    }
}

/// A plank of a few centimetres is grabbed from beside it within reach, and not from further away; while the world is
/// paused a band shows that it is held.
#[test]
fn thin_bodies_are_grabbed_from_beside_them() {
    let plank = r#"{ "version": 1, "name": "plank", "bodies": [
        { "type": "static", "shapes": [ { "box": { "half": [9, 1] }, "offset": [0, -3] } ] },
        { "position": [0, 0], "shapes": [ { "box": { "half": [4, 0.01] } } ] } ] }"#;
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        std::fs::write(stage.path("plank.json"), plank).unwrap();
        let path = stage.path("plank.json");
        let play = |script: &str| {
            let script = format!("size 560 360\nframes 3\n{script}");
            stage.play(&[path.to_str().unwrap(), "--backend", backend, "--paused", "--fresh"], &script);
        };
        play("report @/where.json\n");
        let camera = &stage.report("where.json")["camera"];
        let scale = number(camera, "metres_per_pixel");
        let side = |key: &str, index: usize| camera[key][index].as_f64().unwrap();
        let x = side("origin", 0) + side("size", 0) / 2.0 - side("center", 0) / scale;
        let y = side("origin", 1) + side("size", 1) / 2.0 + side("center", 1) / scale;
        let drag = |away: f64, name: &str| {
            let (from, to) = (y - away, y - away - 40.0);
            format!(
                "move {x} {from}\nframes 9\nreport @/{name}_before.json\nshot @/{name}_before.png\ndown left\nframes 2\nsettle\n\
                 move {x} {to}\nframes 9\nsettle\nreport @/{name}_held.json\nshot @/{name}_held.png\nup left\nframes 2\nsettle\n"
            )
        };
        play(&format!("{}report @/after.json\n{}", drag(6.0, "near"), drag(12.0, "far")));
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let (before, held) = (report("near_before"), report("near_held"));
        assert_eq!((before["over"].as_u64(), before["cursor"].as_str()), (Some(1), Some("Grab")), "{backend}");
        assert_eq!(number(&held, "joints"), 1.0, "{backend}: it is held");
        assert_eq!(held["camera"], before["camera"], "{backend}: the view stays");
        assert_eq!(held["cursor"].as_str(), Some("Grabbing"));
        let unlike = stage.shot("near_before.png").unlike(&stage.shot("near_held.png"));
        assert!(unlike.share > 0.001, "{backend}: a band and what to do: {unlike:?}");
        assert_eq!(number(&report("after"), "joints"), 0.0, "{backend}: it is let go of");
        let (before, moved) = (report("far_before"), report("far_held"));
        assert_eq!((before["over"].as_u64(), number(&moved, "joints")), (None, 0.0), "{backend}: too far from it");
        assert_ne!(moved["camera"], before["camera"], "{backend}: the view moves");
    }
}

/// Delete removes the static body under the pointer although a dynamic one is near, and says so; Z restores it to the
/// same bits. Changes of gravity and drops are undone at the present step, and time goes on.
#[test]
fn undo_takes_back_the_last_change() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=3", "--backend", backend, "--paused", "--fresh"],
            "size 800 500\nframes 2\nstep 11\nreport @/a.json\nstep 10\nreport @/b.json\ndrop 0 8\nstep 9\nreport @/c.json\ngravity 1 -9\n\
             gravity 2 -9\nstep 3\nundo\nreport @/c_again.json\nundo\nreport @/b_again.json\nstep 9\nreport @/plain.json\nremove 0 -0.5\n\
             settle\nreport @/gone.json\nkey Z\nsettle\nreport @/there.json\nkey Z\nsettle\nreport @/nothing.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(report);
            ["step", "hash", "there", "gravity"].iter().all(|key| a[*key] == b[*key])
        };
        let state = |name: &str| {
            let report = report(name);
            ["step", "there", "gravity"].map(|key| report[key].clone())
        };
        let [mut c, mut b] = ["c", "b"].map(state);
        (c[0], b[0]) = (33.into(), 33.into());
        assert_eq!(state("c_again"), c, "{backend}: the gravity of before, now");
        assert_eq!(state("b_again"), b, "{backend}: what was dropped is gone, now");
        assert!(state("c") != b && !same("plain", "c"));
        let note = |name: &str| report(name)["note"].as_str().unwrap_or_default().to_owned();
        assert!(note("gone").contains("removed") && note("gone").contains("static"), "{}", note("gone"));
        assert_eq!(number(&report("gone"), "there"), number(&report("plain"), "there") - 1.0);
        assert!(same("there", "plain"), "{backend}");
        assert!(note("nothing").contains("nothing to undo"), "{}", note("nothing"));
    }
}
