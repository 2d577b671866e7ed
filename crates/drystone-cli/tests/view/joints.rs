//! Joints: found under the pointer, selected, changed on their card and removed; with undo, redo and restart.

use serde_json::Value;

use crate::kit::{Yard, pixel_of};
use crate::real_keys::{DELETE, with_hands};

/// A weight of 2 kg on a spring of 100 N/m, drawn from 5 m to 2 m, and a bar on a hinge; g is 10 m/s². At its rest
/// length of 2.8 m the spring pulls with 20 N at 3 m: the weight is in equilibrium.
const HANGING: &str = r#"{ "version": 1, "name": "hanging", "gravity": [0, -10],
    "view": { "min": [-6, -1], "max": [6, 6] },
    "bodies": [
        { "id": "weight", "position": [0, 2], "mass": 2, "fixed_rotation": true,
          "shapes": [ { "box": { "half": [0.4, 0.4] } } ] },
        { "id": "bar", "position": [3, 3], "shapes": [ { "box": { "half": [1, 0.3] } } ] } ],
    "joints": [
        { "type": "spring", "b": "weight", "anchor_a": [0, 5], "rest_length": 2.8, "stiffness": 100, "damping": 8 },
        { "type": "revolute", "b": "bar", "anchor_a": [2.2, 3], "anchor_b": [-0.8, 0] } ] }"#;

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

fn near(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() < by, "{a} is not {b}");
}

fn hanging(backend: &'static str) -> Yard {
    Yard::new(HANGING, backend, &["--no-sleep"])
}

/// A place on the line of a spring.
const SPRING: [f64; 2] = [0.0, 4.0];
/// The pin of the hinge, inside the bar.
const HINGE: [f64; 2] = [2.2, 3.0];

/// A click within 8 points of a spring selects it, one further away does not; a click on the sign of a hinge inside a
/// body selects the hinge, one beside it the body; a second click there the body as well. The hover text says what
/// the joint is and pulls with.
#[test]
fn a_click_selects_a_joint() {
    for backend in ["cpu", "gpu"] {
        let hanging = hanging(backend);
        let look = |name: &str, at: [f64; 2], beside: f64| {
            let at = hanging.px_beside(at, beside);
            format!(
                "move {at}\nframes 14\nreport @/{name}_over.json\nclick {at}\nsettle\nframes 6\nreport @/{name}.json\n"
            )
        };
        hanging.play(&format!(
            "step 240\n{}{}{}{}{}{}{}",
            look("on", SPRING, 0.0),
            look("beside", SPRING, 14.0),
            look("far", SPRING, 30.0),
            look("weight", [0.0, 2.0], 0.0),
            look("pin", HINGE, 0.0),
            look("again", HINGE, 0.0),
            look("bar", [1.2, 3.0], 0.0),
        ));
        let told = |name: &str| {
            let report = hanging.report(&format!("{name}_over"));
            report["told_joint"]
                .as_array()
                .map(|lines| lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n"))
        };
        let selected = |name: &str| {
            let report = hanging.report(name);
            let body = report["selected"]["name"].as_str().map(str::to_owned);
            (report["selected_joint"]["kind"].as_str().map(str::to_owned), body)
        };
        let of = |joint: Option<&str>, body: Option<&str>| (joint.map(str::to_owned), body.map(str::to_owned));
        assert_eq!(selected("on"), of(Some("spring"), None), "{backend}");
        let text = told("on").expect("a hover text");
        assert!(text.starts_with("spring, joint 0\nbetween the world and weight\n"), "{backend}: {text}");
        // The weight rests: the spring pulls with 20 N at a length of 3 m. 2 kg on 100 N/m swing at 1.125 Hz.
        for part in ["force 20.0 N", "length 3.00 m", "swings at 1.13 Hz"] {
            assert!(text.contains(part), "{backend}: no {part}: {text}");
        }
        let on = hanging.report("on");
        near(number(&on["selected_joint"], "length"), 3.0, 0.01);
        near(on["selected_joint"]["force"][1].as_f64().unwrap(), 20.0, 0.1);
        // The second click on the selected spring means a body, and there is none.
        assert_eq!((told("far"), selected("far")), (None, of(None, None)), "{backend}: the control");
        assert_eq!(selected("weight"), of(None, Some("weight")), "{backend}: the end of a spring leaves a body alone");
        assert_eq!(selected("pin"), of(Some("hinge"), None), "{backend}");
        assert!(told("pin").is_some_and(|text| text.contains("hinge") && text.contains("bar")), "{:?}", told("pin"));
        assert_eq!(selected("again"), of(None, Some("bar")), "{backend}: a second click means the body");
        assert_eq!(selected("bar"), of(None, Some("bar")), "{backend}");
    }
}

/// Delete removes the joint under the pointer, and the selected one where the pointer is over nothing; Z brings it
/// back, to the same bits at the same step, and Y removes it again.
#[test]
fn delete_removes_a_joint() {
    for backend in ["cpu", "gpu"] {
        let hanging = hanging(backend);
        let (spring, air) = (hanging.px(SPRING), hanging.px([4.5, 0.0]));
        hanging.play(&format!(
            "step 20\nreport @/before.json\nmove {spring}\nframes 9\nkey Delete\nsettle\nreport @/gone.json\nkey Z\nsettle\n\
             report @/back.json\nkey Y\nsettle\nreport @/again.json\nstep 30\nreport @/falls.json\nkey Z\nsettle\n\
             report @/later.json\nclick {spring}\nsettle\nframes 4\nreport @/chosen.json\nmove {air}\nframes 9\nkey Delete\nsettle\n\
             report @/air.json\nkey R\nframes 3\nsettle\nreport @/restart.json\n"
        ));
        let report = |name: &str| hanging.report(name);
        let joints = |name: &str| number(&report(name), "joints");
        let note = |name: &str| report(name)["note"].as_str().unwrap_or_default().to_owned();
        assert_eq!(["before", "gone", "back", "again"].map(joints), [2.0, 1.0, 2.0, 1.0], "{backend}");
        assert!(note("gone").contains("removed the spring between the world and weight"), "{}", note("gone"));
        assert_eq!(report("back")["hash"], report("before")["hash"], "{backend}");
        assert_ne!(report("gone")["hash"], report("before")["hash"], "the comparison can fail");
        assert_eq!(number(&report("falls"), "there"), number(&report("before"), "there"), "the body stays");
        let height = |name: &str| report(name)["positions"][0][1].as_f64().unwrap();
        assert!(height("falls") < height("before") - 0.5, "{backend}: without the spring it falls");
        assert_eq!(joints("later"), 2.0, "{backend}: undone at a later step: {}", note("later"));
        assert_eq!(report("chosen")["selected_joint"]["kind"].as_str(), Some("spring"), "{backend}");
        assert_eq!(joints("air"), 1.0, "{backend}: the selected one: {}", note("air"));
        assert_eq!((joints("restart"), number(&report("restart"), "step")), (1.0, 0.0), "{}", note("restart"));
        assert!(note("restart").contains("1 joint stays removed"), "{}", note("restart"));
    }
}

/// A stiffness typed on the card of a spring changes where the weight hangs: by Hooke's law at 1.7 m for 40 N/m. Undo
/// gives it the old one, redo and a restart keep the new one, also in the copy on the other backend.
#[test]
fn the_card_changes_a_spring() {
    for backend in ["cpu", "gpu"] {
        let hanging = hanging(backend);
        let spring = hanging.px(SPRING);
        let [x, y] = STIFFNESS;
        hanging.play(&format!(
            "step 30\nclick {spring}\nsettle\nframes 9\nshot @/card.png\nreport @/selected.json\nclick {x} {y}\nframes 2\ntext 40\n\
             key Enter\nframes 3\nsettle\nframes 9\nreport @/soft.json\nkey Z\nsettle\nframes 3\nreport @/undone.json\nkey Y\nsettle\n\
             frames 3\nreport @/redone.json\ntwin\nframes 2\nsettle\nstep 600\nreport @/hangs.json\nkey Z\nsettle\nframes 3\n\
             report @/later.json\nkey Y\nsettle\nframes 3\ntwin\nkey R\nframes 3\nsettle\nframes 3\nreport @/restart.json\n"
        ));
        let report = |name: &str| hanging.report(name);
        let stiffness = |name: &str| report(name)["selected_joint"]["spring"]["stiffness"].as_f64();
        assert_eq!(stiffness("selected"), Some(100.0), "{backend}");
        assert_eq!(stiffness("soft"), Some(40.0), "{backend}: {}", report("soft"));
        assert_eq!((stiffness("undone"), stiffness("redone")), (Some(100.0), Some(40.0)), "{backend}");
        assert_eq!(report("undone")["hash"], report("selected")["hash"], "{backend}");
        let height = |name: &str| report(name)["positions"][0][1].as_f64().unwrap();
        near(height("selected"), 2.0, 0.01);
        // 5 m − 2.8 m − 20 N / 40 N/m.
        near(height("hangs"), 1.7, 0.01);
        assert_eq!(stiffness("later"), Some(100.0), "{backend}: undone at a later step");
        assert!(report("hangs")["twin"].is_string(), "{backend}: there was a copy");
        assert_eq!((stiffness("restart"), number(&report("restart"), "step")), (Some(40.0), 0.0), "{backend}");
        assert_eq!(number(&report("restart"), "joints"), 2.0);
    }
}

/// A joint that is changed while a lower number is free takes that number: the selection follows it, and the message
/// names both.
#[test]
fn a_changed_joint_is_followed_to_its_new_number() {
    for backend in ["cpu", "gpu"] {
        let mut hanging = hanging(backend);
        let mut scene: Value = serde_json::from_str(HANGING).unwrap();
        scene["joints"].as_array_mut().unwrap().reverse();
        std::fs::write(hanging.stage.path("yard.json"), scene.to_string()).unwrap();
        hanging.play("report @/start.json\n");
        hanging.start = hanging.report("start");
        let (spring, hinge) = (hanging.px(SPRING), hanging.px(HINGE));
        let [x, y] = STIFFNESS;
        let set =
            |value: u32| format!("click {x} {y}\nframes 2\ntext {value}\nkey Enter\nframes 3\nsettle\nframes 9\n");
        hanging.play(&format!(
            "step 3\nmove {hinge}\nframes 14\nkey Delete\nsettle\nclick {spring}\nsettle\nframes 9\nreport @/selected.json\n{}\
             report @/changed.json\n{}report @/again.json\nkey Z\nsettle\nframes 9\nreport @/undone.json\n",
            set(40),
            set(70),
        ));
        let joint = |name: &str| {
            let selected = hanging.report(name)["selected_joint"].clone();
            (selected["index"].as_u64(), selected["spring"]["stiffness"].as_f64())
        };
        let note = |name: &str| hanging.report(name)["note"].as_str().unwrap_or_default().to_owned();
        assert_eq!(joint("selected"), (Some(1), Some(100.0)), "{backend}: {}", note("selected"));
        assert_eq!(joint("changed"), (Some(0), Some(40.0)), "{backend}");
        assert!(note("changed").starts_with("spring 1 is spring 0 now"), "{}", note("changed"));
        assert_eq!(joint("again"), (Some(0), Some(70.0)), "{backend}: with no lower number free it keeps its own");
        assert_eq!(joint("undone"), (Some(0), Some(40.0)), "{backend}");
    }
}

/// Place of the field for the stiffness on the card of a spring, px.
const STIFFNESS: [u32; 2] = [170, 177];

/// The pointer of the display selects a spring, and the keyboard removes and restores it.
#[test]
fn hands_select_and_remove_a_joint() {
    with_hands(&["springs:count=1", "--backend", "cpu", "--paused", "--fresh"], 6, |_, hands| {
        let first = hands.report();
        let positions: Vec<[f64; 2]> = serde_json::from_value(first["positions"].clone()).unwrap();
        let joints = first["joints"].as_u64().unwrap();
        // The spring is drawn from its fixed end straight down to the weight.
        let [x, y] = positions[positions.len() - 1];
        #[allow(clippy::cast_possible_truncation, reason = "a pixel of a small window")]
        let at = pixel_of(&first, [x, y + 0.6]).map(|side| side.round() as i16);
        hands.place(at);
        hands.report();
        hands.button(true);
        hands.report();
        hands.button(false);
        let selected = hands.report();
        assert_eq!(selected["selected_joint"]["kind"].as_str(), Some("spring"), "{selected}");
        hands.key(DELETE);
        let removed = hands.report();
        assert_eq!(removed["joints"].as_u64(), Some(joints - 1), "{removed}");
        hands.with_control('z');
        let back = hands.report();
        assert_eq!((back["joints"].as_u64(), &back["hash"]), (Some(joints), &first["hash"]));
    });
}
