//! Slow steps and slow frames: the window responds, clicks count, and the world is the same to the bit.

use std::process::Command;

use crate::kit::Stage;

fn number(report: &serde_json::Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// Hash of a scene after a number of steps, by the command.
fn hash(scene: &str, backend: &str, steps: u64) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
        .args(["run", scene, "--backend", backend, "--hash", "--steps", &steps.to_string()])
        .env("NODEVICE_SELECT", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// During a long step on the CPU many frames are drawn, keys work, and actions on the world are done after the step. A
/// script that waits for each step sees as many frames as steps: the count can fail.
#[test]
fn frames_do_not_wait_for_a_step() {
    let stage = Stage::new();
    // A few thousand sweeps per step.
    stage.play(
        &["large_pyramid:base=40", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
        "size 480 320\nsetting substeps 64\nsetting iterations 64\nreport @/a.json\nlive\ntoggle\nframes 3\n\
         shot @/light.png\nkey L\ndrop 0 60\nshot @/dark.png\nframes 40\ntoggle\nreport @/b.json\n",
    );
    let [a, b] = ["a.json", "b.json"].map(|name| stage.report(name));
    let [frames, steps] = ["frames", "step"].map(|key| number(&b, key) - number(&a, key));
    assert!(steps >= 1 && frames >= 4 * steps, "{frames} frames, {steps} steps");
    assert_eq!(number(&b, "there"), number(&a, "there") + 1, "what was asked was done between two steps");
    let brightness = |name: &str| {
        let rgb = stage.shot(name).rgb;
        rgb.iter().flatten().map(|&c| u64::from(c)).sum::<u64>() / (3 * rgb.len() as u64)
    };
    assert!(brightness("light.png") > 150 && brightness("dark.png") < 100, "night fell at once");
    stage.play(
        &["large_pyramid:base=40", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
        "size 480 320\nreport @/a.json\ntoggle\nframes 20\ntoggle\nreport @/b.json\n",
    );
    let [a, b] = ["a.json", "b.json"].map(|name| stage.report(name));
    let [frames, steps] = ["frames", "step"].map(|key| number(&b, key) - number(&a, key));
    assert!(steps + 4 >= frames, "{frames} frames, {steps} steps");
}

/// Clicks on checkboxes and bodies act at the place of the press, however slow the frames are: with press, release and
/// further movement in one frame, and with a frame of 1.5 s between press and release.
#[test]
fn clicks_count_however_slow_the_frames_are() {
    let stage = Stage::new();
    // The checkbox "dark", and one of a layer.
    let (dark, layer) = ("1151 460", "980 414");
    stage.play(
        &["large_pyramid:base=40", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
        &format!(
            "size 1280 720\nsetting substeps 64\nsetting iterations 64\nframes 3\nreport @/first.json\nshot @/light.png\nlive\n\
             toggle\nframes 3\nmove {layer}\ndown\nup\nmove 400 60\nframes 3\nreport @/one.json\n\
             move {dark}\ndown\nup\nmove 400 60\nframes 3\nshot @/dark.png\n\
             frame_time 1.5\nframes 1\nmove {layer}\ndown\nframes 1\nup\nmove 400 60\nframes 3\nreport @/long.json\n\
             frame_time 0.02\ntoggle\nsettle\nreport @/end.json\n"
        ),
    );
    let layers = |name: &str| stage.report(name)["layers"].as_array().unwrap().len();
    let first = layers("first.json");
    assert_eq!(layers("one.json").abs_diff(first), 1, "a click in one frame: {}", stage.report("one.json")["layers"]);
    assert_eq!(layers("long.json"), first, "a click over a long frame: {}", stage.report("long.json")["layers"]);
    let brightness = |name: &str| {
        let rgb = stage.shot(name).rgb;
        rgb.iter().flatten().map(|&c| u64::from(c)).sum::<u64>() / (3 * rgb.len() as u64)
    };
    assert!(brightness("light.png") > 150 && brightness("dark.png") < 100, "night fell");
    // A click on a body in one frame.
    stage.play(
        &["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"],
        "size 900 500\nreport @/where.json\n",
    );
    let report = stage.report("where.json");
    let positions: Vec<[f64; 2]> = serde_json::from_value(report["positions"].clone()).unwrap();
    let camera = |key: &str, side: usize| report["camera"][key][side].as_f64().unwrap();
    let scale = report["camera"]["metres_per_pixel"].as_f64().unwrap();
    let [x, y] = positions[positions.len() - 1];
    let x = camera("origin", 0) + camera("size", 0) / 2.0 + (x - camera("center", 0)) / scale;
    let y = camera("origin", 1) + camera("size", 1) / 2.0 - (y - camera("center", 1)) / scale;
    stage.play(
        &["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"],
        &format!("size 900 500\nmove {x} {y}\ndown\nup\nmove 100 60\nframes 4\nsettle\nreport @/selected.json\n"),
    );
    let selected = stage.report("selected.json")["selected"]["index"].as_u64();
    assert_eq!(selected, Some(positions.len() as u64 - 1));
}

/// The world is that of the command, to the bit, however frames and steps interleave: on the CPU, on the device, and on
/// a software adapter that gets long steps in parts.
#[test]
fn slow_frames_change_nothing() {
    for (scene, backend) in
        [("vertical_stack:count=8", "cpu"), ("vertical_stack:count=8", "gpu"), ("large_pyramid:base=140", "gpu")]
    {
        let stage = Stage::new();
        stage.play(
            &[scene, "--backend", backend, "--no-sleep", "--fresh"],
            "size 480 320\nlive\nspeed 2\nframes 12\nmove 200 150\nframes 12\npause\nreport @/a.json\n",
        );
        let report = stage.report("a.json");
        let steps = number(&report, "step");
        assert!(steps >= 2, "{scene} on {backend}: {report}");
        assert_eq!(report["hash"].as_str(), Some(hash(scene, backend, steps).as_str()), "{scene} on {backend}");
        assert_ne!(report["hash"].as_str(), Some(hash(scene, backend, steps - 1).as_str()));
    }
}
