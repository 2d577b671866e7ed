//! Small windows, windows over the world, and fingers.

use serde_json::Value;

use crate::kit::{Picture, Stage};

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// Size of the part of the window that shows the world, px.
fn world(report: &Value) -> [u64; 2] {
    serde_json::from_value(report["camera"]["size"].clone()).unwrap()
}

/// Smallest and largest column and row in which two pictures differ.
fn changed(a: &Picture, b: &Picture) -> [[usize; 2]; 2] {
    assert_eq!(a.size, b.size);
    let places = (0..a.rgb.len()).filter(|&at| a.rgb[at] != b.rgb[at]).map(|at| [at % a.size[0], at / a.size[0]]);
    places.fold([[usize::MAX; 2], [0; 2]], |[low, high], at| {
        [[0, 1].map(|side| low[side].min(at[side])), [0, 1].map(|side| high[side].max(at[side]))]
    })
}

/// A narrow window folds its panel. Unfolded by Tab or the button, the panel lies over the picture, which keeps its
/// size; a wide window again has the choice made in the wide one.
#[test]
fn a_narrow_window_folds_its_panel() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 1000 500\nreport @/wide.json\nsize 640 400\nreport @/narrow.json\nshot @/narrow.png\nkey Tab\nreport @/over.json\n\
         shot @/over.png\nclick 578 383\nreport @/folded.json\nclick 578 383\nreport @/unfolded.json\nsize 1000 500\nreport @/again.json\n\
         key Tab\nreport @/hidden.json\nsize 640 400\nkey Tab\nreport @/shown.json\nsize 1000 500\nreport @/still.json\nsize 699 400\n\
         report @/refolded.json\nsize 360 300\nreport @/least.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let shows = |name: &str| report(name)["panel"].as_bool().unwrap();
    let shown =
        ["wide", "narrow", "over", "folded", "unfolded", "again", "hidden", "shown", "still", "refolded", "least"];
    assert_eq!(shown.map(shows), [true, false, true, false, true, true, false, true, false, false, false], "{shown:?}");
    assert_eq!((world(&report("wide"))[0], world(&report("narrow"))[0]), (666, 640));
    assert_eq!(world(&report("over")), world(&report("narrow")), "it lies over the world");
    // The panel takes the right of the picture; at the left the view is fitted again.
    let (narrow, over) = (stage.shot("narrow.png"), stage.shot("over.png"));
    let changed_in = |columns: std::ops::Range<usize>| {
        let inside: Vec<usize> = (0..640 * 360).filter(|at| columns.contains(&(at % 640))).collect();
        inside.iter().filter(|&&at| narrow.rgb[at] != over.rgb[at]).count() as f64 / inside.len() as f64
    };
    let [left, right] = [changed_in(0..300), changed_in(312..636)];
    assert!(right > 0.9 && left < 0.6, "{left} of the left, {right} of the right");
    // Its buttons work there, and a press between them does not reach the world behind it.
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 640 400\nkey Tab\nreport @/still.json\ndrag 590 187 560 230 4\nframes 2\nreport @/dragged.json\nclick 389 40\n\
         report @/list.json\nkey Escape\nframes 3\nkey Tab\ndrag 590 187 560 230 4\nframes 2\nreport @/moved.json\n",
    );
    assert_eq!(report("dragged")["camera"], report("still")["camera"]);
    assert_eq!((report("still")["typing"].as_bool(), report("list")["typing"].as_bool()), (Some(false), Some(true)));
    assert_ne!(report("moved")["camera"], report("still")["camera"], "without it the view moves");
    let [width, height] = world(&report("least"));
    assert!(width == 360 && height >= 230, "there is a world to see: {width} × {height}");
}

/// The buttons and the slider of the bar work in the smallest window.
#[test]
fn the_bar_of_the_smallest_window_works() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 360 300\nclick 117 261\nsettle\nclick 117 261\nsettle\nreport @/two.json\nclick 54 261\nsettle\nreport @/back.json\n\
         step 30\nclick 155 284\nsettle\nreport @/first.json\nclick 87 261\nframes 10\nreport @/runs.json\nclick 87 261\n\
         click 341 261\nreport @/keys.json\nclick 341 261\nclick 303 261\nreport @/panel.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let step = |name: &str| report(name)["step"].as_u64().unwrap();
    assert_eq!((step("two"), step("back"), step("first")), (2, 1, 0));
    assert_eq!(report("runs")["playing"].as_bool(), Some(true));
    assert_eq!((report("keys")["keys"].as_bool(), report("keys")["panel"].as_bool()), (Some(true), Some(false)));
    assert_eq!((report("panel")["keys"].as_bool(), report("panel")["panel"].as_bool()), (Some(false), Some(true)));
}

/// The list of keys fits the picture of any window, scrolls to its last line, and is closed by its button, by Esc and
/// by the key that opens it.
#[test]
fn the_list_of_keys_fits_any_window() {
    let stage = Stage::new();
    for (width, height) in [(360, 300), (640, 400), (700, 500), (1280, 720)] {
        stage.play(
            &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
            &format!(
                "size {width} {height}\nframes 4\nreport @/bare.json\nshot @/bare.png\nkey Questionmark\nframes 2\nreport @/open.json\n\
                 shot @/top.png\nmove 150 120\nwheel -60\nframes 30\nshot @/end.png\nkey Escape\nreport @/esc.json\n\
                 key Questionmark\nkey Questionmark\nreport @/key.json\nkey Questionmark\n"
            ),
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let open = |name: &str| report(name)["keys"].as_bool().unwrap();
        assert_eq!(["bare", "open", "esc", "key"].map(open), [false, true, false, false], "{width} × {height}");
        let [bare, top, end] = ["bare", "top", "end"].map(|name| stage.shot(&format!("{name}.png")));
        let [low, high] = changed(&bare, &top);
        let size = world(&report("bare")).map(|side| usize::try_from(side).unwrap());
        assert!(low[0] > 0 && low[1] > 0, "{width} × {height}: {low:?} {high:?} in {size:?}");
        // With its shadow, which reaches over the panel beside it.
        assert!(high[0] < size[0] + 16, "{width} × {height}: {low:?} {high:?} in {size:?}");
        let scrolled = changed(&top, &end);
        let is_scrolled = scrolled[0][0] < size[0] && scrolled[1][1] > scrolled[0][1] + 40;
        assert_eq!(is_scrolled, height < 700, "{width} × {height}: only a list that is too high scrolls");
    }
    // Its button, at the place where it is in a window of this size.
    stage.play(
        &["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"],
        "size 360 300\nkey Questionmark\nframes 2\nreport @/open.json\nclick 333 33\nreport @/closed.json\n",
    );
    let open = |name: &str| stage.report(name)["keys"].as_bool();
    assert_eq!((open("open.json"), open("closed.json")), (Some(true), Some(false)));
}

/// Keys that act at the pointer (D, S, X, Delete) do nothing while it is over the list of keys.
#[test]
fn keys_over_a_window_leave_the_world_alone() {
    let stage = Stage::new();
    let play = |script: &str| {
        let script = format!("size 900 500\n{script}frames 2\nkey D\nsettle\nstep 4\nreport @/end.json\n");
        stage.play(&["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"], &script);
        stage.report("end.json")
    };
    let all = "key Delete\nsettle\nreport @/delete.json\nkey S\nsettle\nkey X\nsettle\n";
    // At the end a body is dropped at the same place beside the list.
    let over = play(&format!("keys\nmove 283 240\nframes 9\n{all}key D\nsettle\nmove 40 30\n"));
    let note = stage.report("delete.json")["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("the pointer is not over the world"), "{note}");
    let nothing = play("move 40 30\n");
    assert_eq!((&over["hash"], &over["there"]), (&nothing["hash"], &nothing["there"]), "only what was asked beside it");
    assert_eq!(number(&nothing, "there"), 5.0, "the ground, three boxes, and the one that was dropped");
    let bare = play(&format!("move 283 240\nframes 9\n{all}move 40 30\n"));
    let note = stage.report("delete.json")["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("removed body"), "{note}");
    assert_eq!(number(&bare, "there"), 5.0, "one less, and one that was shot");
    let pushed = play("move 283 240\nframes 9\nkey X\nsettle\nmove 40 30\n");
    assert_eq!(pushed["there"], nothing["there"]);
    assert_ne!(pushed["hash"], nothing["hash"], "the explosion pushed");
}

/// A finger grabs a body 12 points away, a mouse does not; at 20 points neither does.
#[test]
fn a_finger_reaches_further_than_a_mouse() {
    let plank = r#"{ "version": 1, "name": "plank", "bodies": [
        { "type": "static", "shapes": [ { "box": { "half": [9, 1] }, "offset": [0, -3] } ] },
        { "position": [0, 0], "shapes": [ { "box": { "half": [4, 0.01] } } ] } ] }"#;
    let stage = Stage::new();
    std::fs::write(stage.path("plank.json"), plank).unwrap();
    let path = stage.path("plank.json");
    for backend in ["cpu", "gpu"] {
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
        let press = |finger: bool, away: f64| {
            let [from, to] = [y - away, y - away - 40.0];
            play(&if finger {
                format!(
                    "touch down {x} {from}\nframes 2\nsettle\ntouch move {x} {to}\nframes 2\nsettle\nreport @/held.json\n\
                     touch up {x} {to}\nframes 2\nsettle\nreport @/after.json\n"
                )
            } else {
                format!(
                    "move {x} {from}\ndown left\nframes 2\nsettle\nmove {x} {to}\nframes 2\nsettle\nreport @/held.json\nup left\n\
                     frames 2\nsettle\nreport @/after.json\n"
                )
            });
            let [held, after] = ["held.json", "after.json"].map(|name| stage.report(name));
            assert_eq!(number(&after, "joints"), 0.0, "{backend}: it is let go of");
            let holds = number(&held, "joints") == 1.0;
            assert_eq!(held["camera"] == *camera, holds, "{backend}: what takes hold of nothing moves the view");
            holds
        };
        let held = [(true, 12.0), (false, 12.0), (true, 6.0), (false, 6.0), (true, 20.0), (false, 20.0)];
        let held = held.map(|(finger, away)| press(finger, away));
        assert_eq!(held, [true, false, true, true, false, false], "{backend}");
    }
}

/// A view kept for drawing shows the same part of the world in a window of any size, and as it was when the old size is
/// back; one that the user has moved keeps its middle and its scale. The scale bar is as in a window opened in that
/// size.
#[test]
fn the_view_follows_a_resize() {
    let stage = Stage::new();
    let arguments = ["large_pyramid:base=10", "--backend", "cpu", "--paused", "--fresh"];
    stage.play(
        &arguments,
        "size 640 400\nframes 3\nreport @/fresh.json\nshot @/fresh.png\nsize 1280 800\ntool box\ndraw box -9 8 -8 9\nreport @/wide.json\n\
         size 640 400\nframes 3\nreport @/small.json\nsize 400 600\nframes 3\nreport @/high.json\nsize 1280 800\nframes 3\n\
         report @/again.json\ndrag 900 100 800 160 4\n",
    );
    stage.play(
        &arguments,
        "size 1280 800\nframes 3\nsize 640 400\nframes 3\nreport @/resized.json\nshot @/resized.png\nmove 300 100\nwheel 3\nframes 30\n\
         report @/moved.json\nsize 1280 800\nframes 3\nreport @/stays.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let camera = |name: &str| {
        let report = report(name);
        let read = |key: &str, side: usize| report["camera"][key][side].as_f64().unwrap();
        let scale = number(&report["camera"], "metres_per_pixel");
        let covered = number(&report["covered"], "left");
        ([read("center", 0), read("center", 1)], [read("size", 0), read("size", 1)], scale, covered)
    };
    // Edges of the free part of the picture, m.
    let free = |name: &str| {
        let ([x, y], [width, height], scale, covered) = camera(name);
        [
            x + (covered - width / 2.0) * scale,
            x + width / 2.0 * scale,
            y - height / 2.0 * scale,
            y + height / 2.0 * scale,
        ]
    };
    let [left, right, bottom, top] = free("wide");
    for name in ["small", "high"] {
        let now = free(name);
        let is_within =
            now[0] <= left + 0.01 && now[1] >= right - 0.01 && now[2] <= bottom + 0.01 && now[3] >= top - 0.01;
        assert!(is_within, "{name}: {now:?} of {:?}", free("wide"));
        let is_tight = (now[0] - left).abs() < 0.01 || (now[3] - top).abs() < 0.01;
        assert!(is_tight, "{name}: no closer than it need be: {now:?} of {:?}", free("wide"));
    }
    assert!((camera("again").2 / camera("wide").2 - 1.0).abs() < 1e-3, "{:?} {:?}", camera("again"), camera("wide"));
    assert_eq!(
        (camera("moved").0, camera("moved").2),
        (camera("stays").0, camera("stays").2),
        "the user has the camera"
    );
    // At the lower left is the scale bar.
    let bar = |name: &str| {
        let picture = stage.shot(name);
        let rows = (320..360).flat_map(move |y| (0..150).map(move |x| y * 640 + x));
        rows.map(|at| picture.rgb[at]).collect::<Vec<_>>()
    };
    assert_eq!(report("resized")["camera"], report("fresh")["camera"]);
    assert!(bar("resized.png") == bar("fresh.png"), "the scale bar is as in a window of this size");
}

/// The list of scenes shows their pictures in light or dark colours; only those in sight are drawn, in the background.
#[test]
fn the_list_of_scenes_has_pictures() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 3\nreport @/shut.json\nclick 1027 39\nframes 1\nshot @/empty.png\nreport @/open.json\nthumbs 3\n\
         frames 2\nreport @/some.json\nshot @/light.png\ndark\nframes 3\nshot @/dark.png\nthumbs 7\nframes 40\nreport @/seven.json\n",
    );
    let report = |name: &str| stage.report(&format!("{name}.json"));
    let drawn = |name: &str| number(&report(name), "thumbs");
    assert_eq!(drawn("shut"), 0.0, "nothing is drawn before the list is open");
    assert!(
        drawn("some") >= 3.0 && drawn("seven") >= 7.0 && drawn("seven") < 20.0,
        "those in sight: {}",
        drawn("seven")
    );
    // The pictures are at the left of the list; beside them is text.
    let [empty, light, dark] = ["empty", "light", "dark"].map(|name| stage.shot(&format!("{name}.png")));
    let colors = |picture: &Picture| {
        let inside =
            |at: &usize| (742..812).contains(&(at % picture.size[0])) && (100..300).contains(&(at / picture.size[0]));
        let all = (0..picture.rgb.len()).filter(inside).map(|at| picture.rgb[at]);
        all.collect::<std::collections::HashSet<_>>().len()
    };
    assert!(colors(&light) > colors(&empty) + 50, "{} {}", colors(&light), colors(&empty));
    assert!(colors(&dark) > 50);
}
