//! Building: bodies drawn and joints made with the pointer, bodies selected and changed; undo, redo, restart, clearing
//! and saving of built worlds.

use std::process::Command;

use serde_json::Value;

use crate::kit::{Stage, Yard};

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

fn note(report: &Value) -> String {
    report["note"].as_str().unwrap_or_default().to_owned()
}

fn position(report: &Value, body: usize) -> [f64; 2] {
    serde_json::from_value(report["positions"][body].clone()).unwrap()
}

/// Scene file with a ground and nothing else.
const GROUND: &str = r#"{ "version": 1, "name": "yard", "view": { "min": [-6, -1], "max": [6, 6] }, "bodies": [
    { "id": "ground", "type": "static", "position": [0, -0.5], "shapes": [ { "box": { "half": [20, 0.5] } } ] } ] }"#;

fn yard(backend: &'static str) -> Yard {
    Yard::new(GROUND, backend, &[])
}

fn near(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() < by, "{a} is not {b}");
}

/// A box, a circle and a polygon drawn with the pointer have the drawn place and size and the chosen properties; a
/// click and a corner whose line crosses another add nothing and give the reason.
#[test]
fn bodies_are_drawn_with_the_pointer() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let polygon = [[3.0, 1.0], [5.0, 1.0], [5.0, 2.0], [3.0, 2.0]];
        yard.play(&format!(
            "key 2\nstock dynamic 3 0.4 0.2 2 0.1\n{}report @/box.json\n{}report @/click.json\nkey 3\n{}report @/circle.json\n\
             key 4\n{}{}report @/crossing.json\n{}{}report @/polygon.json\nkey Escape\nreport @/done.json\nstep 30\n\
             report @/later.json\n",
            yard.drag([-4.0, 1.0], [-2.0, 2.0]),
            yard.click([0.0, 4.0]),
            yard.drag([0.0, 2.0], [1.0, 2.0]),
            yard.click(polygon[0]) + &yard.click(polygon[1]) + &yard.click(polygon[2]),
            yard.click([4.0, 0.5]),
            yard.click(polygon[3]),
            yard.click(polygon[0]),
        ));
        let [drawn, click, circle, crossing, polygon, done, later] =
            ["box", "click", "circle", "crossing", "polygon", "done", "later"].map(|name| yard.report(name));
        assert_eq!(number(&yard.start, "there"), 1.0);
        assert_eq!((drawn["tool"].as_str(), number(&drawn, "there")), (Some("box"), 2.0), "{backend}: {drawn}");
        let selected = &drawn["selected"];
        near(number(selected, "mass"), 6.0, 0.2);
        near(number(selected, "density"), 3.0, 1e-6);
        near(number(selected, "friction"), 0.4, 1e-6);
        near(number(selected, "restitution"), 0.2, 1e-6);
        for (body, [x, y]) in [(1, [-3.0, 1.5]), (2, [0.0, 2.0]), (3, [4.0, 1.5])] {
            let [at_x, at_y] = position(&polygon, body);
            near(at_x, x, 0.05);
            near(at_y, y, 0.05);
        }
        assert_eq!(number(&click, "there"), 2.0);
        assert!(note(&click).contains("too small"), "{}", note(&click));
        assert_eq!(number(&circle, "there"), 3.0);
        near(number(&circle["selected"], "mass"), 3.0 * std::f64::consts::PI, 0.3);
        assert_eq!(number(&crossing, "there"), 3.0);
        assert!(note(&crossing).contains("crosses"), "{}", note(&crossing));
        assert_eq!(number(&polygon, "there"), 4.0);
        near(number(&polygon["selected"], "mass"), 6.0, 0.2);
        assert_eq!(done["tool"].as_str(), Some("move"));
        assert_eq!(drawn["camera"], done["camera"], "the view stays while one draws");
        let fell = |body: usize| position(&done, body)[1] - position(&later, body)[1];
        assert!((1..4).all(|body| fell(body) > 0.3), "{backend}: they fall");
    }
}

/// An outline with corners that turn inwards becomes one body: a U stands on its base with the mass of three bars, and
/// a disk drawn in its mouth overlaps nothing and comes to rest inside.
#[test]
fn outlines_that_turn_inwards_are_one_body() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let u = [[-2.0, 0.1], [2.0, 0.1], [2.0, 3.0], [1.0, 3.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, 3.0], [-2.0, 3.0]];
        let clicks: String = u.iter().map(|&at| yard.click(at)).collect();
        yard.play(&format!(
            "key 4\nstock dynamic 2 0.6 0 2 0.1\n{clicks}report @/outline.json\nkey Enter\nsettle\nreport @/made.json\n\
             key 3\n{}report @/inside.json\nstep 200\nreport @/later.json\n",
            yard.drag([0.0, 2.0], [0.5, 2.0]),
        ));
        let [outline, made, inside, later] = ["outline", "made", "inside", "later"].map(|name| yard.report(name));
        assert_eq!((number(&outline, "there"), number(&made, "there")), (1.0, 2.0), "{backend}: {}", note(&made));
        // Bars of 4 × 0.9 m and twice 1 × 2 m.
        near(number(&made["selected"], "mass"), 2.0 * (3.6 + 4.0), 0.6);
        assert_eq!(number(&inside, "there"), 3.0);
        assert!(!note(&inside).contains("overlaps"), "{backend}: its mouth is empty: {}", note(&inside));
        let ([x, y], [_, base]) = (position(&later, 2), position(&later, 1));
        near(x, 0.0, 0.3);
        near(y, 1.5, 0.2);
        assert!((1.0..2.0).contains(&base), "{backend}: the U stands: {base}");
    }
}

/// A click on a body selects it, a drag does not, a click on nothing deselects; none of these counts as a change.
#[test]
fn a_click_selects() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        yard.play(&format!(
            "draw box -1 1 1 3\nselect\nreport @/none.json\n{}frames 3\nreport @/ball.json\n{}frames 3\nreport @/nothing.json\n\
             {}frames 3\nreport @/ground.json\nkey Escape\nframes 2\nreport @/escape.json\n{}frames 3\nreport @/dragged.json\n\
             undo\nundo\nreport @/undone.json\n",
            yard.click([0.0, 2.0]),
            yard.click([4.0, 4.0]),
            yard.click([3.0, -0.5]),
            yard.drag([0.0, 2.0], [0.5, 2.5]),
        ));
        let report = |name: &str| yard.report(name);
        assert!(report("none")["selected"].is_null());
        assert_eq!(report("ball")["selected"]["index"].as_u64(), Some(1), "{backend}: {}", report("ball"));
        assert_eq!(number(&report("ball"), "joints"), 0.0);
        assert_eq!(report("ball")["hash"], report("none")["hash"], "to select is no change");
        assert!(report("nothing")["selected"].is_null());
        assert_eq!(report("ground")["selected"]["name"].as_str(), Some("ground"));
        assert_eq!(report("ground")["selected"]["kind"].as_str(), Some("Static"));
        assert!(report("escape")["selected"].is_null());
        assert!(report("dragged")["selected"].is_null(), "a drag selects nothing");
        assert_eq!(number(&report("undone"), "there"), 1.0, "the drag and the box were undone, and no click");
    }
}

/// Changes of the selected body (mass, type, velocity) change the world, and keep its joints. Undo and redo of all of
/// them give the same bits.
#[test]
fn the_selected_body_is_changed() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        yard.play(
            "draw box -1 3 1 5\ndraw box 2 3 3 4\npick hinge 0 4\npick hinge 2.5 3.5\npick rod -0.5 4.5\npick rod -0.5 5.8\nstep 20\n\
             report @/before.json\nselect 0 4\nreport @/selected.json\nchange density 4\nreport @/dense.json\nchange fixed_rotation on\n\
             change velocity 3 -1\nreport @/fast.json\nchange mass 2\nreport @/heavy.json\n\
             undo\nundo\nundo\nundo\nreport @/undone.json\nredo\nredo\nredo\nredo\nreport @/redone.json\nstep 15\n\
             report @/again.json\nundo\nundo\nundo\nundo\nundo\nreport @/untied.json\n",
        );
        let report = |name: &str| yard.report(name);
        let [before, selected, dense, fast, heavy] = ["before", "selected", "dense", "fast", "heavy"].map(report);
        assert_eq!(number(&before, "joints"), 2.0, "{backend}: {before}");
        near(number(&selected["selected"], "mass"), 4.0, 1e-3);
        near(number(&dense["selected"], "mass"), 16.0, 1e-3);
        assert_eq!((number(&dense, "joints"), number(&dense["selected"], "joints")), (2.0, 2.0), "joints stay");
        assert_eq!(number(&dense, "there"), number(&before, "there"));
        assert_eq!(fast["selected"]["velocity"], serde_json::json!([3.0, -1.0]));
        assert_eq!(fast["selected"]["fixed_rotation"].as_bool(), Some(true));
        near(number(&heavy["selected"], "mass"), 2.0, 1e-3);
        assert_eq!(
            heavy["selected"]["velocity"], fast["selected"]["velocity"],
            "the velocity stays, before a step was done"
        );
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(report);
            ["step", "hash", "there", "joints"].iter().all(|key| a[*key] == b[*key])
        };
        assert!(same("before", "undone"), "{backend}: {} {}", before, report("undone"));
        assert!(same("heavy", "redone"), "{backend}: made again, to the same bits");
        assert!(!same("heavy", "before"), "the comparison can fail");
        near(number(&report("redone")["selected"], "mass"), 2.0, 1e-3);
        // At a later step: the mass is undone in place, the velocity by going back, and the rest at that step.
        let untied = report("untied");
        assert_eq!((number(&untied, "step"), number(&untied, "joints")), (20.0, 1.0), "{backend}: {untied}");
        near(number(&untied["selected"], "mass"), 4.0, 1e-3);
    }
}

/// A refused change of a body or a joint, or between two clicks, changes nothing and gives the reason.
#[test]
fn refusals_change_nothing() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let tries = [
            ("pick spring 4 4\npick spring 5 5", "in the air"),
            ("pick weld 0 4\npick weld 0.2 4", "same body"),
            ("pick rod 4 -0.5\npick rod 5 5", "not dynamic"),
            ("pick hinge 20000000 0", "too far out"),
            ("draw box 15000000 0 15000001 1", "too far out"),
            ("draw polygon 0 0 1 0", "3 to 16"),
            ("draw polygon 0 3 2 5 2 3 0 5", "crosses"),
            ("select 0 4\nchange type static", "not dynamic"),
            ("select 0 4\nchange density -1", "density"),
            ("select 3 -0.5\nchange velocity 1 0", "static"),
            ("select\nchange density 2", "no body is selected"),
            ("redo", "nothing to make again"),
        ];
        let lines: String = tries
            .iter()
            .enumerate()
            .map(|(n, (script, _))| format!("{script}\nsettle\nreport @/try{n}.json\ntool move\n"))
            .collect();
        yard.play(&format!(
            "draw box -1 3 1 5\npick hinge 0 4\npick hinge 5 5\nstep 5\nreport @/before.json\n{lines}clear\nsettle\nreport @/cleared.json\n"
        ));
        let before = yard.report("before");
        for (n, (script, expected)) in tries.iter().enumerate() {
            let report = yard.report(&format!("try{n}"));
            assert!(note(&report).contains(expected), "{backend}, {script}: {}", note(&report));
            for key in ["hash", "there", "joints", "step"] {
                assert_eq!(report[key], before[key], "{backend}, {script}: {key}");
            }
        }
        assert_ne!(yard.report("cleared")["there"], before["there"], "the comparison can fail");
    }
}

/// Joints made by two clicks hold: a hinge and a weld at the first click, a rod at its length, and a spring.
#[test]
fn joints_are_made_between_two_clicks() {
    let yard = yard("cpu");
    let make =
        |key: &str, a: [f64; 2], b: [f64; 2]| format!("key {key}\n{}{}key Escape\n", yard.click(a), yard.click(b));
    yard.play(&format!(
        "draw box -5 3 -4 4\ndraw box -3 3 -2 4\ndraw box -1 3 0 4\ndraw box 1 3 2 4\ndraw box 2.2 3 3.2 4\nselect\n{}{}{}{}\
         report @/made.json\nstep 60\nreport @/hung.json\n",
        make("5", [-4.9, 3.9], [-4.1, 3.1]),
        make("7", [-2.5, 3.5], [-2.5, 5.0]),
        make("6", [-0.5, 5.5], [-0.5, 3.5]),
        make("8", [1.9, 3.5], [2.5, 3.5]),
    ));
    let [made, hung] = ["made", "hung"].map(|name| yard.report(name));
    assert_eq!(number(&made, "joints"), 4.0, "{made}");
    let apart = |report: &Value, body: usize, [x, y]: [f64; 2]| {
        let [at_x, at_y] = position(report, body);
        (at_x - x).hypot(at_y - y)
    };
    let pin = [-4.9, 3.9];
    near(apart(&hung, 1, pin), apart(&made, 1, pin), 0.06);
    assert!(apart(&hung, 1, position(&made, 1)) > 0.1, "it swings on the pin");
    near(apart(&hung, 2, [-2.5, 5.0]), 1.5, 0.08);
    near(position(&hung, 2)[1], 3.5, 0.08);
    assert!(
        position(&hung, 3)[1] < position(&made, 3)[1] - 0.02 && position(&hung, 3)[1] > 2.0,
        "it hangs on the spring"
    );
    let [left, right] = [4, 5].map(|body| position(&hung, body));
    near((left[0] - right[0]).hypot(left[1] - right[1]), 1.2, 0.05);
    assert!(left[1] < 1.0, "what is welded falls as one: {left:?}");
}

/// One click of the hinge or the weld joins the two bodies that overlap there: a wheel and a car. A second click there
/// adds nothing, after Z it joins them again; a click on a single body waits for the second one.
#[test]
fn a_click_pins_bodies_that_overlap() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let click = |at: [f64; 2], name: &str| format!("{}report @/{name}.json\n", yard.click(at));
        yard.play(&format!(
            "draw box -2 1 2 2\ndraw circle -1 1.1 -1 1.6\ndraw circle 1 1.1 1 1.6\nselect\nkey 5\n{}{}key Z\nsettle\n{}{}\
             key Escape\nkey Escape\nkey 8\n{}step 30\nreport @/stands.json\n",
            click([-1.0, 1.1], "pinned"),
            click([-1.0, 1.1], "twice"),
            click([-1.0, 1.1], "again"),
            click([0.0, 1.8], "single"),
            click([1.0, 1.1], "welded"),
        ));
        let joints = |name: &str| number(&yard.report(name), "joints");
        assert_eq!(
            ["pinned", "twice", "again", "single", "welded"].map(joints),
            [1.0, 1.0, 1.0, 1.0, 2.0],
            "{backend}"
        );
        let note = |name: &str| note(&yard.report(name));
        assert!(note("pinned").contains("hinge between body 2 and body 1"), "{}", note("pinned"));
        assert!(note("twice").contains("already"), "{}", note("twice"));
        assert!(note("single").contains("now click"), "{}", note("single"));
        assert!(note("welded").contains("weld between body 3 and body 1"), "{}", note("welded"));
        let [pinned, stands] = ["pinned", "stands"].map(|name| yard.report(name));
        for wheel in [2, 3] {
            let apart = |report: &Value| {
                let ([x, y], [car_x, car_y]) = (position(report, wheel), position(report, 1));
                (x - car_x).hypot(y - car_y)
            };
            near(apart(&stands), apart(&pinned), 0.03);
        }
    }
}

/// Clear removes all dynamic bodies and Z restores them; a new scene has only its ground.
#[test]
fn a_world_is_cleared_and_begun() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 900 600\nstep 8\nreport @/a.json\nclear\nsettle\nreport @/cleared.json\nclear\nsettle\nreport @/twice.json\nundo\n\
         report @/back.json\nnew\nopened\nframes 2\nreport @/new.json\ndraw circle 0 3 0.5 3\nreport @/drawn.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    assert_eq!(number(&report("cleared"), "there"), number(&report("a"), "there") - 4.0);
    assert!(note(&report("cleared")).contains("removed 4 bodies"), "{}", note(&report("cleared")));
    assert!(note(&report("twice")).contains("no dynamic body"), "{}", note(&report("twice")));
    assert_eq!(report("back")["hash"], report("a")["hash"]);
    assert_eq!((number(&report("new"), "there"), number(&report("new"), "step")), (1.0, 0.0));
    assert_eq!(number(&report("drawn"), "there"), 2.0);
}

/// A built world is saved as a scene, which runs in another window and by `drystone run`.
#[test]
fn what_was_built_is_saved_and_runs() {
    let yard = yard("cpu");
    yard.play(
        "draw box -1 3 1 4\ndraw circle 3 3 3.5 3\npick spring 0.5 3.5\npick spring 3 3\nselect 3 3\nchange density 5\n\
         change velocity 0 4\nreport @/built.json\nkey J\nframes 2\nreport @/saved.json\nstep 40\nreport @/here.json\n",
    );
    let file = yard.stage.path("drystone-yard-0.json");
    let written = std::fs::read_to_string(&file).unwrap();
    let scene: Value = serde_json::from_str(&written).unwrap();
    let ball = scene["bodies"].as_array().unwrap().iter().find(|body| body["velocity"].is_array()).unwrap();
    assert_eq!(ball["velocity"], serde_json::json!([0.0, 4.0]), "a velocity given just before is in the file");
    yard.stage.play(
        &[file.to_str().unwrap(), "--backend", "cpu", "--paused", "--fresh"],
        "size 900 600\nreport @/opened.json\nstep 40\nreport @/there.json\n",
    );
    let [built, opened, here, there] = ["built", "opened", "here", "there"].map(|name| yard.report(name));
    for key in ["there", "joints"] {
        assert_eq!(built[key], opened[key], "{key}");
    }
    // Compared by heights, as the changed ball is the last body in the file.
    let heights = |report: &Value| {
        let mut all: Vec<f64> =
            report["positions"].as_array().unwrap().iter().map(|at| at[1].as_f64().unwrap()).collect();
        all.sort_by(f64::total_cmp);
        all.retain(|height| *height != 0.0);
        all
    };
    let (here, there) = (heights(&here), heights(&there));
    assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() < 0.02), "{here:?} {there:?}");
    assert!(there.iter().any(|height| *height > 3.0), "the ball was thrown up: {there:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
        .args(["run", file.to_str().unwrap(), "--backend", "cpu", "--steps", "40", "--hash"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A state saved after changes is resumed to the same bits, and a copy on the other backend gets all changes.
#[test]
fn changes_are_kept_and_both_worlds_get_them() {
    let yard = yard("cpu");
    yard.play(
        "draw box -1 3 1 4\npick rod 0.5 3.5\npick rod 0.5 5.5\nselect 0 3.5\nchange density 5\nstep 10\nstate\nframes 2\nstep 10\n\
         report @/on.json\ntwin\nframes 2\nselect 0.2 3.5\nchange mass 3\nreport @/both.json\nundo\nredo\nreport @/again.json\n",
    );
    let kept = yard.stage.path("drystone-yard-10.snap");
    yard.stage.play(
        &[kept.to_str().unwrap(), "--backend", "cpu", "--paused", "--fresh"],
        "size 900 600\nstep 10\nreport @/resumed.json\n",
    );
    let [on, both, again, resumed] = ["on", "both", "again", "resumed"].map(|name| yard.report(name));
    assert_eq!((&on["hash"], &on["step"]), (&resumed["hash"], &resumed["step"]));
    assert_eq!(both["hash"], both["twin"], "both were changed alike");
    assert_eq!((&both["hash"], &both["twin"]), (&again["hash"], &again["twin"]));
    near(number(&both["selected"], "mass"), 3.0, 1e-3);
}

/// A density typed on the card changes the body.
#[test]
fn the_card_changes_the_body() {
    let yard = yard("cpu");
    yard.play("draw box -1 3 1 5\nframes 3\nshot @/card.png\nreport @/a.json\nclick 170 112\ntext 8\nkey Enter\nframes 3\nreport @/b.json\n");
    let [a, b] = ["a", "b"].map(|name| yard.report(name));
    near(number(&a["selected"], "mass"), 4.0, 1e-3);
    near(number(&b["selected"], "density"), 8.0, 1e-3);
    near(number(&b["selected"], "mass"), 32.0, 1e-2);
}

/// Density and mass on the card follow each other, whichever is typed; undone, both have their old values.
#[test]
fn density_and_mass_follow_each_other() {
    let yard = yard("cpu");
    yard.play(
        "draw box -1 3 1 5\nframes 3\nshot @/card.png\nclick 170 132\ntext 2\nkey Enter\nframes 3\nreport @/mass.json\nshot @/mass.png\n\
         click 170 112\ntext 8\nkey Enter\nframes 3\nreport @/density.json\nundo\nreport @/undone.json\nkey J\nframes 2\n",
    );
    let values = |name: &str| ["mass", "density"].map(|key| number(&yard.report(name)["selected"], key));
    assert_eq!(values("mass"), [2.0, 0.5]);
    assert_eq!(values("density"), [32.0, 8.0]);
    assert_eq!(values("undone"), [2.0, 0.5]);
    // The saved scene has that mass, and the card shows the same values.
    let file = yard.stage.path("drystone-yard-0.json");
    yard.stage.play(
        &[file.to_str().unwrap(), "--backend", "cpu", "--paused", "--fresh"],
        "size 900 600\nselect 0 4\nreport @/opened.json\n",
    );
    assert_eq!(values("opened"), [2.0, 0.5]);
}

/// A body drawn into another is red while it is drawn, and the message names the other; one that only touches is not.
/// Two bodies that cannot move do not count as overlapping.
#[test]
fn overlaps_are_shown_before_the_drop_and_named_after_it() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let begin = |from: [f64; 2], to: [f64; 2]| {
            format!("move {}\nframes 1\ndown\nframes 1\nmove {}\nframes 6\n", yard.px(from), yard.px(to))
        };
        yard.play(&format!(
            "key 2\n{}report @/free.json\nshot @/free.png\nmove {}\nframes 6\nreport @/deep.json\nshot @/deep.png\nup\nframes 1\n\
             settle\nreport @/dropped.json\ndraw box -4 0 -3 1\nreport @/touches.json\nstock static 1 0.6 0 2 0.1\n{}\
             report @/fixed.json\nmove {}\nframes 6\nreport @/both.json\nkey Escape\nframes 6\nreport @/gone.json\n",
            begin([-1.0, 2.0], [1.0, 1.0]),
            yard.px([1.0, -0.3]),
            begin([3.0, 1.0], [2.0, -0.3]),
            yard.px([0.5, -0.3]),
        ));
        let report = |name: &str| yard.report(name);
        let overlaps = |name: &str| report(name)["overlaps"].as_str().map(str::to_owned);
        assert_eq!(overlaps("free"), None, "{backend}");
        assert_eq!(overlaps("deep").as_deref(), Some("ground"), "{backend}");
        assert_eq!(number(&report("dropped"), "there"), 2.0, "it is made all the same");
        let said = note(&report("dropped"));
        assert!(said.contains("overlaps ground") && said.contains("Z takes it back"), "{backend}: {said}");
        let said = note(&report("touches"));
        assert!(said.contains("drawn") && !said.contains("overlaps"), "{backend}: {said}");
        assert_eq!(overlaps("fixed"), None, "{backend}: static in static");
        assert_eq!(overlaps("both").as_deref(), Some("body 1"), "{backend}: but not in a body that moves");
        assert_eq!(overlaps("gone"), None);
        // The ghost is red where it overlaps.
        let red = |name: &str| {
            let picture = yard.stage.shot(name);
            picture.rgb.iter().filter(|[r, g, b]| *r > 150 && *g < 60 && *b < 60).count()
        };
        assert!(red("deep.png") > red("free.png") + 200, "{backend}: {} {}", red("deep.png"), red("free.png"));
    }
}

/// A new scene begins paused and says so, also where the world before it ran; Space runs it.
#[test]
fn a_new_scene_begins_paused() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--fresh"],
        "size 900 600\nrun 5\nreport @/before.json\nnew\nopened\nframes 30\nreport @/new.json\nkey Space\nframes 10\n\
         report @/runs.json\n",
    );
    let [before, new, runs] = ["before.json", "new.json", "runs.json"].map(|name| stage.report(name));
    assert_eq!(before["playing"].as_bool(), Some(true));
    assert_eq!((new["playing"].as_bool(), number(&new, "step")), (Some(false), 0.0));
    assert!(note(&new).contains("paused") && note(&new).contains("Space"), "{}", note(&new));
    assert!(runs["playing"].as_bool() == Some(true) && number(&runs, "step") > 0.0);
}

/// A restart puts built bodies back to where they were built, with joints and changes, and the world runs to the same
/// bits again; dropped bodies are gone. Jointed bodies begin where they were when the joint was made.
#[test]
fn a_restart_keeps_what_was_built() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        yard.play(
            "draw box -1 3 1 4\ndraw circle 3 3 3.5 3\npick spring 0.5 3.5\npick spring 3 3\nselect 3 3\nchange density 5\n\
             change name ball\nselect\nreport @/built.json\nstep 30\nreport @/ran.json\ndrop_count 3\ndrop 0 5\nsettle\nstep 20\n\
             report @/dropped.json\nkey R\nopened\nframes 2\nreport @/restarted.json\nstep 30\nreport @/again.json\nseek 0\n\
             report @/sought.json\ndraw box -5 1 -4 2\nstep 9\nreport @/more.json\nseek 0\nstep 30\nkey R\nopened\nframes 2\n\
             report @/twice.json\nundo\nreport @/undone.json\n",
        );
        let report = |name: &str| yard.report(name);
        let [built, ran, dropped, restarted, again] = ["built", "ran", "dropped", "restarted", "again"].map(report);
        assert_eq!(number(&dropped, "there"), number(&built, "there") + 3.0, "{backend}");
        assert_eq!(number(&restarted, "step"), 0.0);
        assert_eq!(restarted["hash"], built["hash"], "{backend}: {restarted}");
        assert_eq!(again["hash"], ran["hash"], "{backend}: it runs as it did");
        assert_ne!(ran["hash"], dropped["hash"], "the comparison can fail");
        assert!(note(&restarted).contains("2 built bodies, 1 joint kept"), "{}", note(&restarted));
        // They exist at the start, together with bodies that are built next.
        assert_eq!((number(&report("sought"), "step"), &report("sought")["hash"]), (0.0, &built["hash"]), "{backend}");
        assert_eq!(number(&report("more"), "there"), number(&built, "there") + 1.0);
        assert_eq!(number(&report("twice"), "there"), number(&built, "there") + 1.0);
        assert_eq!((number(&report("undone"), "there"), number(&report("undone"), "step")), (3.0, 0.0), "{backend}");
    }
    let yard = yard("cpu");
    yard.play(
        "draw box -1 3 1 4\ndraw box 2 3 3 4\nselect\nreport @/built.json\nstep 90\nreport @/fallen.json\npick hinge -0.5 0.5\n\
         pick hinge 0.5 0.5\nstep 20\nreport @/nailed.json\nkey R\nopened\nframes 2\nreport @/restarted.json\n",
    );
    let [built, fallen, nailed, restarted] = ["built", "fallen", "nailed", "restarted"].map(|name| yard.report(name));
    assert!(position(&built, 1)[1] > position(&fallen, 1)[1] + 2.0);
    assert_eq!((number(&nailed, "joints"), number(&restarted, "joints")), (1.0, 1.0), "{}", note(&nailed));
    near(position(&restarted, 1)[1], position(&fallen, 1)[1], 1e-4);
    assert_eq!(position(&restarted, 2), position(&built, 2), "what has no joint begins where it was drawn");
}

/// Removed bodies stay removed after a restart; a scene opened by its name has no changes, and Z returns to the world
/// before it, with its changes and at its step. Y goes to the opened scene again.
#[test]
fn another_scene_is_opened_and_the_one_before_comes_back() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=3", "--backend", backend, "--paused", "--fresh"],
            "size 900 600\nframes 2\nreport @/first.json\nremove 0 -0.5\nsettle\nclear\nsettle\nkey R\nopened\nframes 2\nreport @/removed.json\n\
             draw box 2 3 3 4\nstep 10\nreport @/edited.json\nopen vertical_stack:count=3\nopened\nframes 2\nreport @/opened.json\nkey Z\n\
             frames 3\nsettle\nreport @/back.json\nkey Y\nframes 3\nsettle\nreport @/left.json\nkey Z\nframes 3\nsettle\nnew\nopened\nframes 2\n\
             report @/new.json\ndraw circle 0 3 0.5 3\nkey Z\nframes 3\nreport @/empty.json\nkey Z\nframes 3\nsettle\nreport @/again.json\nkey Z\n\
             frames 2\nreport @/undone.json\nstep 5\nreport @/steps.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(report);
            ["step", "hash", "there", "scene"].iter().all(|key| a[*key] == b[*key])
        };
        assert_eq!((number(&report("first"), "there"), number(&report("removed"), "there")), (4.0, 0.0), "{backend}");
        assert!(note(&report("removed")).contains("4 bodies stay removed"), "{}", note(&report("removed")));
        assert_eq!((number(&report("edited"), "there"), number(&report("edited"), "step")), (1.0, 10.0));
        assert!(same("opened", "first") && !same("opened", "edited"), "{backend}: {}", report("opened"));
        assert!(note(&report("opened")).contains("Z brings"), "{}", note(&report("opened")));
        assert!(same("back", "edited") && same("left", "opened"), "{backend}: {} {}", report("back"), report("left"));
        assert_eq!(report("new")["scene"].as_str(), Some("new scene"));
        assert!(same("empty", "new"), "Z takes back what was built there first");
        assert!(same("again", "edited"), "{backend}: then it goes back: {}", report("again"));
        assert_eq!((number(&report("undone"), "there"), number(&report("undone"), "step")), (0.0, 10.0), "{backend}");
        assert_eq!(number(&report("steps"), "step"), 15.0, "it goes on");
    }
}

/// A changed body keeps its id, its slot, its graph and its joints, and can be named.
#[test]
fn a_changed_body_stays_the_same_body() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        yard.play(
            "draw box -1 3 1 5\ndraw box 2 3 3 4\npick rod 0.5 4\npick rod 2.5 3.5\nwatch 0 4\nstep 10\nselect 0 4\nreport @/before.json\n\
             change density 4\nchange friction 0.1\nchange type kinematic\nchange type dynamic\nreport @/changed.json\nchange name crate\n\
             step 10\nsettle\nreport @/after.json\nchange type static\nstep 10\nreport @/static.json\nstate\nframes 2\nkey J\nframes 2\n\
             settle\nstep 5\nreport @/on.json\n",
        );
        let [before, changed, after, fixed, on] =
            ["before", "changed", "after", "static", "on"].map(|name| yard.report(name));
        for key in ["index", "generation"] {
            assert_eq!(before["selected"][key], changed["selected"][key], "{backend}: {key}");
        }
        for key in ["bodies", "there", "joints", "shapes"] {
            assert_eq!(before[key], changed[key], "{backend}: {key}");
        }
        near(number(&changed["selected"], "mass"), 16.0, 1e-3);
        assert_ne!(before["selected"]["density"], changed["selected"]["density"]);
        assert_eq!(
            after["watched"],
            serde_json::json!([["crate", 21]]),
            "{backend}: the graph goes on, under its name"
        );
        assert_eq!(after["selected"]["name"].as_str(), Some("crate"));
        assert!(position(&fixed, 1)[1] > 3.0, "{backend}: it stands in the air: {fixed}");
        let scene: Value =
            serde_json::from_str(&std::fs::read_to_string(yard.stage.path("drystone-yard-30.json")).unwrap()).unwrap();
        assert_eq!(scene["bodies"][1]["id"].as_str(), Some("crate"));
        let kept = yard.stage.path("drystone-yard-30.snap");
        yard.stage.play(
            &[kept.to_str().unwrap(), "--backend", backend, "--paused", "--fresh"],
            "size 900 600\nstep 5\nreport @/resumed.json\n",
        );
        assert_eq!(on["hash"], yard.report("resumed")["hash"], "{backend}: what was kept goes on to the same bits");
    }
}

/// Z undoes a change at the present step: a body is removed, a removed one comes back with its joint, a property gets
/// its old value. A push is undone by going back to the step before it, and the message says so.
#[test]
fn undo_keeps_the_time_where_it_can() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        yard.play(
            "draw box -1 0 1 1\nselect\nstep 20\nundo\nreport @/gone.json\nkey Y\nframes 2\nreport @/redone.json\ndraw box 3 3 4 4\n\
             pick hinge 3.2 3.5\npick hinge 3.8 3.5\nstep 7\nreport @/hung.json\nremove 3.5 3.5\nsettle\nreport @/removed.json\nstep 13\nundo\n\
             report @/brought.json\nstep 30\nreport @/hangs.json\nundo\nreport @/untied.json\nstep 40\nreport @/fell.json\n",
        );
        let report = |name: &str| yard.report(name);
        let state = |name: &str| {
            (number(&report(name), "step"), number(&report(name), "there"), number(&report(name), "joints"))
        };
        assert_eq!((state("gone"), state("redone")), ((20.0, 1.0, 0.0), (20.0, 2.0, 0.0)), "{backend}");
        assert!(note(&report("gone")).contains("1 new body · the time goes on"), "{}", note(&report("gone")));
        assert_eq!((state("hung"), state("removed")), ((27.0, 3.0, 1.0), (27.0, 2.0, 0.0)), "{backend}");
        assert_eq!(state("brought"), (40.0, 3.0, 1.0), "{backend}: {}", report("brought"));
        let lowest = |name: &str| {
            let places = report(name)["positions"].as_array().unwrap().clone();
            let heights = places.iter().map(|at| [at[0].as_f64().unwrap(), at[1].as_f64().unwrap()]);
            heights.filter(|at| at[0] > 1.2).map(|at| at[1]).fold(f64::INFINITY, f64::min)
        };
        near(lowest("brought"), lowest("hung"), 1e-4);
        assert!(lowest("hangs") > 3.0 && lowest("hangs").is_finite(), "{backend}: it still hangs");
        assert_eq!(state("untied"), (70.0, 3.0, 0.0), "{backend}");
        assert!(lowest("fell") < 2.5, "{backend}: the joint is gone");
        yard.play(
            "draw box -1 0 1 1\nstep 20\nselect 0 0.5\nchange density 3\nstep 5\nreport @/dense.json\nundo\nreport @/light.json\nredo\n\
             report @/dense_again.json\nexplode 0.3 0.3\nsettle\nstep 5\nundo\nreport @/unpushed.json\n",
        );
        let mass = |name: &str| number(&report(name)["selected"], "mass");
        near(mass("dense"), 6.0, 1e-3);
        near(mass("light"), 2.0, 1e-3);
        near(mass("dense_again"), 6.0, 1e-3);
        assert_eq!((number(&report("light"), "step"), number(&report("unpushed"), "step")), (25.0, 25.0), "{backend}");
        assert_eq!(
            report("unpushed")["hash"],
            report("dense_again")["hash"],
            "{backend}: before the push, to the same bits"
        );
        assert!(note(&report("unpushed")).contains("back at step 25"), "{}", note(&report("unpushed")));
    }
}

/// A hinge holds a body at the fixed one of two points, in either order of clicks; two clicks on one body pin it to the
/// world there.
#[test]
fn a_hinge_turns_about_the_fixed_point() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let clicks = |a: [f64; 2], b: [f64; 2]| format!("key 5\n{}{}key Escape\n", yard.click(a), yard.click(b));
        yard.play(&format!(
            "draw box -4 3 -3 4\ndraw box 0 3 1 4\ndraw box 4 3 5 4\nselect\n{}{}{}report @/made.json\nstep 25\nreport @/swung.json\n\
             key 5\n{}report @/first.json\n",
            clicks([-5.0, 4.5], [-3.5, 3.5]),
            clicks([0.5, 3.5], [-1.0, 4.5]),
            clicks([4.1, 3.5], [4.9, 3.5]),
            yard.click([-5.0, 5.5]),
        ));
        let [made, swung] = ["made", "swung"].map(|name| yard.report(name));
        assert_eq!(number(&made, "joints"), 3.0, "{backend}: {}", note(&made));
        for (body, [x, y]) in [(1, [-5.0, 4.5]), (2, [-1.0, 4.5]), (3, [4.1, 3.5])] {
            let apart = |report: &Value| (position(report, body)[0] - x).hypot(position(report, body)[1] - y);
            near(apart(&swung), apart(&made), 0.05);
            let moved = (position(&swung, body)[0] - position(&made, body)[0])
                .hypot(position(&swung, body)[1] - position(&made, body)[1]);
            assert!(moved > 0.1, "{backend}: body {body} swings: {moved} m");
        }
        assert!(
            note(&yard.report("first")).contains("now click the body that swings"),
            "{}",
            note(&yard.report("first"))
        );
    }
}

/// A number that a body cannot have changes nothing, and the row of the card says what was expected, until the field is
/// used again; a number of more digits than are shown stays when its field is left.
#[test]
fn numbers_out_of_range_are_refused_with_a_reason() {
    for backend in ["cpu", "gpu"] {
        let yard = yard(backend);
        let [x, y] = MASS;
        let typed =
            |text: &str| format!("click {x} {y}\nframes 2\ntext {text}\nkey Enter\nframes 4\nsettle\nframes 3\n");
        yard.play(&format!(
            "draw box -1 3 1 5\nframes 3\nreport @/start.json\n{}report @/zero.json\nshot @/zero.png\nclick {x} {y}\nframes 2\nreport @/again.json\n\
             text 3\nkey Enter\nframes 4\nsettle\nframes 3\nreport @/three.json\n{}report @/word.json\nselect\nframes 3\nreport @/none.json\nselect 0 4\n\
             change mass 1.23456\nsettle\nframes 4\nclick {x} {y}\nframes 2\nkey Enter\nframes 4\nreport @/left.json\n",
            typed("0"),
            typed("heavy"),
        ));
        let mass = |name: &str| number(&yard.report(name)["selected"], "mass");
        let refusal = |name: &str| yard.report(name)["refusal"].as_str().map(str::to_owned);
        let expected = "expected 1e-6 to 1e9 kg";
        assert_eq!((mass("zero"), yard.report("zero")["hash"].clone()), (4.0, yard.report("start")["hash"].clone()));
        assert_eq!(refusal("zero"), Some(format!("mass: not changed: 0 is out of range; {expected}")), "{backend}");
        assert_eq!(refusal("again"), None, "{backend}: it ends when the field is used again");
        assert_eq!((mass("three"), refusal("three")), (3.0, None), "{backend}");
        assert_eq!(mass("word"), 3.0);
        assert_eq!(
            refusal("word"),
            Some(format!("mass: not changed: “heavy” is not a number; {expected}")),
            "{backend}"
        );
        assert_eq!(refusal("none"), None, "{backend}: there is no card");
        assert!((mass("left") - 1.23456).abs() < 1e-6, "{backend}: {}", mass("left"));
    }
}

/// Place of the field for the mass on the card of a dynamic body, px.
const MASS: [u32; 2] = [170, 131];
