//! The camera of the window: it follows bodies until the user moves it, and shows the view that a scene gives.

use serde_json::Value;

use crate::kit::Stage;

/// Scene file with a ball that falls without end.
const FALLING: &str = r#"{ "version": 1, "gravity": [0, -5], "bodies": [
    { "position": [0, 0], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;

fn number(report: &Value, key: &str, index: usize) -> f64 {
    report["camera"][key][index].as_f64().unwrap()
}

/// Returns true if the first body is in the part of the window that shows the world.
fn is_seen(report: &Value) -> bool {
    let scale = report["camera"]["metres_per_pixel"].as_f64().unwrap();
    (0..2).all(|axis| {
        let away = report["positions"][0][axis].as_f64().unwrap() - number(report, "center", axis);
        away.abs() < 0.5 * scale * number(report, "size", axis)
    })
}

fn follows(backend: &str) {
    let stage = Stage::new();
    std::fs::write(stage.path("falling.json"), FALLING).unwrap();
    let path = stage.path("falling.json").display().to_string();
    // The camera follows the ball until the user moves it; after F it follows again.
    stage.play(
        &[&path, "--backend", backend, "--fresh"],
        "size 900 600\npause\nframes 2\nreport @/start.json\ntoggle\nrun 40\nreport @/falls.json\nrun 60\n\
         report @/far.json\npause\ndrag 60 60 160 90 5\nreport @/mine.json\ntoggle\nrun 60\nframes 8\n\
         report @/left.json\npause\nframes 10\nshot @/left.png\nkey F\nsettle\nframes 10\nreport @/back.json\n\
         shot @/back.png\n",
    );
    let [start, falls, far, mine, left, back] =
        ["start", "falls", "far", "mine", "left", "back"].map(|name| stage.report(&format!("{name}.json")));
    for (name, report) in [("start", &start), ("falls", &falls), ("far", &far), ("back", &back)] {
        assert!(is_seen(report), "{name}: {report}");
        assert_eq!((&report["follows"], &report["blank"]), (&true.into(), &false.into()), "{name}");
    }
    assert!(number(&far, "center", 1) < number(&start, "center", 1) - 3.0, "it moved: {far}");
    assert_eq!(mine["follows"], false);
    assert_eq!(mine["camera"]["center"], left["camera"]["center"], "the user has the camera");
    assert!(!is_seen(&left) && left["blank"] == true, "{left}");
}

#[test]
fn the_camera_follows_on_the_cpu() {
    follows("cpu");
}

#[test]
fn the_camera_follows_on_the_device() {
    follows("gpu");
}

/// A scene that gives a view is shown in that view at all times and in windows of any size; a scene without one stays
/// in the picture as well.
#[test]
fn scenes_stay_in_the_window() {
    let stage = Stage::new();
    stage.play(
        &["ragdoll", "--backend", "cpu", "--fresh"],
        "size 1000 600\npause\nframes 2\nshot @/start.png\ntoggle\nrun 200\nreport @/end.json\nshot @/end.png\n\
         size 700 500\nframes 4\nreport @/small.json\nshot @/small.png\nopen tumbler:grid=8\nopened\nrun 60\n\
         report @/drum.json\nshot @/drum.png\n",
    );
    let [end, small, drum] = ["end.json", "small.json", "drum.json"].map(|name| stage.report(name));
    for report in [&end, &small, &drum] {
        assert_eq!((&report["follows"], &report["blank"]), (&true.into(), &false.into()), "{report}");
    }
    let wide = |report: &Value| number(report, "size", 0) * report["camera"]["metres_per_pixel"].as_f64().unwrap();
    assert!(wide(&end) >= 7.99 && wide(&small) >= 7.99, "all of the view: {end} {small}");
    // Corners of the drum turn about (0, 10).
    let high = number(&drum, "size", 1) * drum["camera"]["metres_per_pixel"].as_f64().unwrap();
    assert!(high > 2.0 * 1.415 * 3.1, "{drum}");
}

/// A view that was fitted to bodies outside of the view of the scene is fitted again in a window of another size.
#[test]
fn a_fit_survives_another_size() {
    let stage = Stage::new();
    let scene = r#"{ "version": 1, "view": { "min": [-2, -1], "max": [2, 2] }, "bodies": [
        { "position": [20, 0], "shapes": [ { "circle": { "radius": 0.5 } } ] },
        { "type": "static", "shapes": [ { "box": { "half": [30, 0.5] }, "offset": [0, -1] } ] } ] }"#;
    std::fs::write(stage.path("outside.json"), scene).unwrap();
    let path = stage.path("outside.json").display().to_string();
    stage.play(
        &[&path, "--backend", "cpu", "--paused", "--fresh"],
        "size 900 600\nframes 2\nreport @/start.json\nkey F\nsettle\nframes 4\nreport @/fitted.json\nstep 5\nsize 700 500\n\
         settle\nframes 8\nreport @/smaller.json\nkey Tab\nsettle\nframes 8\nreport @/panel.json\n",
    );
    assert!(!is_seen(&stage.report("start.json")), "negative control: the scene's own view");
    for name in ["fitted", "smaller", "panel"] {
        let report = stage.report(&format!("{name}.json"));
        assert!(is_seen(&report), "{name}: {report}");
    }
}
