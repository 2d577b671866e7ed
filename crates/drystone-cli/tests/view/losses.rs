//! Losses: a window without a size, moved to another screen, with its surface or device lost; and starts without a
//! display.

use crate::kit::{Stage, end};

/// The window and its world go on after a resize to nothing and back, on a finer screen, and after the loss of the
/// surface and the device.
#[test]
fn a_window_survives_what_happens_to_it() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=5", "--backend", "gpu", "--paused", "--fresh"],
        "size 800 500\nstep 20\nreport @/before.json\nminimize\nsize 640 480\nframes 3\nscale 2\nframes 3\nscale 1\n\
         lose_surface\nframes 3\nstep 5\nreport @/surface.json\nlose_device\nreport @/device.json\nstep 5\nsize 700 500\n\
         report @/after.json\nshot @/after.png\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    assert_eq!(report("before")["size"], serde_json::json!([800, 500]));
    assert_eq!(report("surface")["size"], serde_json::json!([640, 480]));
    assert_eq!((report("surface")["step"].as_u64(), report("device")["step"].as_u64()), (Some(25), Some(25)));
    assert_eq!(
        report("surface")["hash"],
        report("device")["hash"],
        "what was lost is computed again, to the same bits"
    );
    assert!(report("device")["note"].as_str().is_some_and(|note| note.contains("lost")), "{}", report("device"));
    assert_ne!(report("before")["hash"], report("surface")["hash"]);
    assert_eq!(report("after")["step"].as_u64(), Some(30));
    assert!(stage.shot("after.png").colors() > 20);
}

/// On a screen of finer pixels and back the world keeps its size in the picture, and its bits.
#[test]
fn a_window_goes_from_screen_to_screen() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=5", "--backend", "gpu", "--paused", "--fresh"],
        "size 800 500\npanel\nstep 5\nreport @/before.json\nplace 300 200\nscale 2\nsize 1600 1000\nframes 3\n\
         report @/fine.json\nshot @/fine.png\nplace 0 0\nscale 1\nsize 800 500\nframes 3\nreport @/after.json\nstep 1\n\
         report @/end.json\n",
    );
    let [before, fine, after, end] =
        ["before", "fine", "after", "end"].map(|name| stage.report(&format!("{name}.json")));
    let scale = |report: &serde_json::Value| report["camera"]["metres_per_pixel"].as_f64().unwrap();
    assert_eq!((&fine["size"], fine["scale"].as_f64()), (&serde_json::json!([1600, 1000]), Some(2.0)));
    assert!((scale(&fine) * 2.0 / scale(&before) - 1.0).abs() < 1e-6, "{} → {}", scale(&before), scale(&fine));
    assert_eq!(fine["camera"]["center"], before["camera"]["center"]);
    assert_eq!(after["camera"], before["camera"]);
    assert_eq!((&fine["hash"], &after["hash"]), (&before["hash"], &before["hash"]));
    assert_ne!(end["hash"], before["hash"]);
    assert!(stage.shot("fine.png").colors() > 20);
}

/// The loss of the device that draws does not change a world on the CPU.
#[test]
fn a_lost_device_is_nothing_to_the_cpu() {
    let stage = Stage::new();
    stage.play(
        &["circle_stack", "--backend", "cpu", "--paused", "--fresh"],
        "step 10\nreport @/a.json\nlose_device\nreport @/b.json\nclose\nstep 1000000\n",
    );
    let [a, b] = ["a.json", "b.json"].map(|name| stage.report(name));
    assert_eq!(a["hash"], b["hash"]);
}

#[test]
fn without_a_display_it_says_so() {
    let stage = Stage::new();
    let mut command = stage.command(&["arch", "--fresh"]);
    command.env_remove("DISPLAY").env_remove("WAYLAND_SOCKET");
    let ended = end(&mut command);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("no window") && ended.stderr.contains("--picture"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("bug in"), "{}", ended.stderr);
    // A display without a server: the error has no source location of winit.
    let mut command = stage.command(&["arch", "--fresh"]);
    let ended = end(command.env("DISPLAY", ":54321"));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("no window") && !ended.stderr.contains(".rs"), "{}", ended.stderr);
}

#[test]
fn without_an_adapter_it_says_so() {
    let stage = Stage::new();
    let mut command = stage.command(&["arch", "--fresh"]);
    command.env("VK_DRIVER_FILES", "/nowhere.json").env("VK_ICD_FILENAMES", "/nowhere.json");
    let ended = end(&mut command);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("adapter"), "{}", ended.stderr);
}

#[test]
fn a_scene_that_is_wrong_opens_no_window() {
    let stage = Stage::new();
    for scene in ["arhc", "arch:n=1", "nowhere.json"] {
        let ended = end(&mut stage.command(&[scene, "--fresh"]));
        assert_eq!(ended.code, Some(2), "{scene}: {}", ended.stderr);
    }
    let ended = stage.play_anyhow(&["arch", "--fresh"], "fly away\n");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("line 1"), "{}", ended.stderr);
}
