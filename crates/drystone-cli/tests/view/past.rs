//! History of a world: exact steps back, changes of backend and settings, comparison of two backends, and the bytes
//! that are read back from the device.

use serde_json::Value;

use crate::kit::Stage;

/// Positions of bodies, m.
fn positions(report: &Value) -> Vec<[f64; 2]> {
    serde_json::from_value(report["positions"].clone()).expect("positions")
}

fn number(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// Seeks back and forth over drops, a shot and changes of gravity give the same bits.
fn goes_back(backend: &str) {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=6", "--backend", backend, "--paused", "--fresh"],
        "size 800 500\nstep 21\nreport @/a.json\nstep 4\ndrop_count 5\ndrop 0 9\nstep 20\nexplode 2 2\nstep 20\n\
         gravity 3 -9\nstep 30\nreport @/b.json\nseek 21\nreport @/a2.json\nstep 1\nreport @/c.json\nseek 95\n\
         report @/b2.json\nseek 40\nreport @/d.json\nseek 95\nseek 40\nreport @/d2.json\nseek 0\nreport @/start.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let hash = |name: &str| report(name)["hash"].clone();
    assert_eq!((number(&report("a"), "step"), number(&report("b"), "step")), (21, 95));
    assert_eq!(number(&report("b"), "furthest"), 95);
    assert!(number(&report("b"), "there") > number(&report("a"), "there"), "something was dropped");
    assert_eq!(hash("a"), hash("a2"), "21 is 21");
    assert_eq!(hash("b"), hash("b2"), "and 95 is 95, with all that was done on the way");
    assert_eq!(hash("d"), hash("d2"));
    assert_eq!(number(&report("start"), "step"), 0);
    assert_eq!(
        number(&report("a2"), "there"),
        number(&report("a"), "there"),
        "what was dropped later is not there yet"
    );
    // The comparison can fail.
    let all = ["a", "b", "c", "d"].map(hash);
    assert!(all.iter().enumerate().all(|(i, one)| all[..i].iter().all(|other| other != one)), "{all:?}");
}

#[test]
fn steps_back_are_exact_on_the_cpu() {
    goes_back("cpu");
}

#[test]
fn steps_back_are_exact_on_the_device() {
    goes_back("gpu");
}

/// A change after a step back replaces what had happened after that step.
#[test]
fn another_future_replaces_the_first() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "step 30\ndrop 0 8\nstep 10\nreport @/first.json\nseek 30\ndrop 3 8\nstep 10\nreport @/second.json\n\
         seek 30\nseek 40\nreport @/again.json\n",
    );
    let [first, second, again] = ["first.json", "second.json", "again.json"].map(|name| stage.report(name));
    assert_ne!(first["hash"], second["hash"]);
    assert_eq!(second["hash"], again["hash"]);
    assert_eq!(number(&first, "there"), number(&second, "there"));
}

/// A change in the past says that the steps after it are discarded, with what it says itself; a change at the last step
/// says nothing of the kind.
#[test]
fn a_change_in_the_past_says_what_it_discards() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=4", "--backend", backend, "--paused", "--fresh"],
            "step 30\ndrop 0 8\nsettle\nreport @/last.json\nstep 10\nseek 35\nreport @/back.json\nremove 0 0.5\nsettle\nframes 1\n\
             report @/removed.json\nstep 20\nseek 50\ngravity 0 -3\nsettle\nframes 1\nreport @/gravity.json\ngravity 0 -4\nsettle\nstep 8\nreport @/on.json\n\
             seek 55\nsetting substeps 8\nframes 2\nreport @/setting.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let note = |name: &str| report(name)["note"].as_str().unwrap_or_default().to_owned();
        for name in ["last", "back"] {
            assert!(!note(name).contains("discarded"), "{backend}, {name}: {}", note(name));
        }
        let removed = note("removed");
        assert!(
            removed.starts_with("removed body ") && removed.ends_with(" · steps after 35 are discarded"),
            "{removed}"
        );
        assert_eq!(number(&report("removed"), "furthest"), 35);
        assert_eq!(note("gravity"), "steps after 50 are discarded: the world was changed there", "{backend}");
        assert_eq!((number(&report("gravity"), "furthest"), number(&report("on"), "furthest")), (50, 58));
        assert!(
            note("setting").ends_with("steps after 55 are discarded: the world was changed there"),
            "{}",
            note("setting")
        );
    }
}

/// A world keeps its state when it moves to the other backend or to other settings.
#[test]
fn a_running_world_moves() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=6", "--backend", "cpu", "--paused", "--fresh"],
        "step 20\ndrop 0 9\nstep 10\nreport @/cpu.json\nbackend gpu\nframes 2\nreport @/gpu.json\nstep 10\n\
         setting substeps 8\nframes 2\nsetting sleep off\nframes 2\nreport @/settings.json\nsetting sleep on\nstep 5\n\
         backend cpu\nstep 60\nreport @/end.json\n",
    );
    let [cpu, gpu, settings, end] =
        ["cpu.json", "gpu.json", "settings.json", "end.json"].map(|name| stage.report(name));
    assert_eq!((cpu["backend"].as_str(), gpu["backend"].as_str()), (Some("cpu"), Some("gpu")));
    assert_eq!((number(&cpu, "step"), number(&gpu, "step")), (30, 30));
    assert_eq!(cpu["hash"], gpu["hash"], "the state is carried over to the bit");
    assert_eq!((number(&settings, "substeps"), settings["sleep"].as_bool()), (8, Some(false)));
    assert_eq!(number(&settings, "step"), 40);
    assert_eq!((end["backend"].as_str(), number(&end, "step")), (Some("cpu"), 105));
    assert_eq!(number(&end, "there"), number(&cpu, "there"));
    // It stands on either backend: nothing fell through the ground, and nothing flew off.
    assert!(positions(&end).iter().all(|p| p[1] > -2.0 && p[1] < 12.0 && p[0].abs() < 60.0), "{end}");
}

/// Frames are drawn from the buffers of the solver: only counters come back from the device in each step, and they have
/// the same size for large and small worlds.
#[test]
fn nothing_is_read_back_on_the_way_to_the_screen() {
    let sent = |base: u32| {
        let stage = Stage::new();
        let scene = format!("large_pyramid:base={base}");
        stage.play(
            &[&scene, "--backend", "gpu", "--fresh"],
            "frames 5\npause\nframes 3\nstep 10\nframes 10\nreport @/a.json\nreport @/b.json\n",
        );
        [stage.report("a.json"), stage.report("b.json")]
    };
    let [small, _] = sent(4);
    let [large, after] = sent(30);
    assert!(number(&large, "frames") > 20 && number(&large, "bodies") > 400);
    for report in [&small, &large] {
        // Except the poses for the camera, in every fourth frame while bodies move.
        let (sent, a_look) = (number(report, "sent_otherwise"), 32 * number(report, "bodies"));
        assert!(sent % a_look == 0 && sent / a_look <= number(report, "frames") / 4 + 1, "{report}");
        assert!(number(report, "sent_by_steps") > 0);
    }
    let a_step = |report: &Value| number(report, "sent_by_steps") / number(report, "step");
    assert_eq!(a_step(&small), a_step(&large));
    // The snapshot of the first report is counted: it has more than the poses.
    let more = number(&after, "sent_otherwise") - number(&large, "sent_otherwise");
    assert!(more > 32 * number(&after, "bodies"), "{after}");
}

/// A world and its copy begin with the same state, and both get every change.
#[test]
fn both_backends_run_side_by_side() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=5,pitch=1.5", "--backend", "cpu", "--paused", "--fresh"],
        "size 900 500\nstep 10\ntwin\nframes 2\nreport @/a.json\ndrop 1 8\nstep 40\nreport @/b.json\nseek 10\n\
         report @/c.json\nframes 2\nshot @/twin.png\ntwin\nframes 2\nreport @/d.json\n",
    );
    let [a, b, c, d] = ["a.json", "b.json", "c.json", "d.json"].map(|name| stage.report(name));
    assert_eq!(a["hash"], a["twin"], "they begin alike");
    assert_ne!(b["hash"], b["twin"], "and part, by the last digits");
    assert_eq!((&c["hash"], &c["twin"]), (&a["hash"], &a["twin"]), "both go back");
    assert!(d["twin"].is_null());
    assert!(stage.shot("twin.png").colors() > 20);
}

/// Undo of a removal keeps the gravity that was set before, and shows it; the message of the removal says where the
/// body was, and not where the pointer was.
#[test]
fn gravity_stays_when_a_removal_is_undone() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=1", "--backend", backend, "--paused", "--fresh"],
            "size 800 600\nframes 3\nreport @/start.json\ngravity 0 -3.7\nreport @/set.json\nremove 0.2 0.3\nsettle\nreport @/removed.json\n\
             undo\nframes 2\nreport @/back.json\nstep 1\nreport @/on.json\nback 1\nundo\nframes 2\nreport @/first.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let gravity = |name: &str| -> [f64; 2] { serde_json::from_value(report(name)["gravity"].clone()).unwrap() };
        let of_scene = gravity("start");
        let near = |name: &str, wanted: f64| {
            assert!((gravity(name)[1] - wanted).abs() < 1e-6, "{backend}, {name}: {:?}", gravity(name));
        };
        for name in ["set", "removed", "back", "on"] {
            near(name, -3.7);
        }
        assert!(of_scene[1] < -9.0, "{of_scene:?}");
        near("first", of_scene[1]);
        let bodies = |name: &str| report(name)["there"].as_u64().unwrap();
        assert_eq!((bodies("removed") + 1, bodies("back")), (bodies("start"), bodies("start")), "{backend}");
        let at: Vec<[f64; 2]> = serde_json::from_value(report("set")["positions"].clone()).unwrap();
        let note = report("removed")["note"].as_str().unwrap().to_owned();
        let place = |[x, y]: [f64; 2]| format!("at {x:.2}, {y:.2} m");
        assert!(at.iter().any(|&at| note.contains(&place(at))) && !note.contains(&place([0.2, 0.3])), "{note} {at:?}");
    }
}
