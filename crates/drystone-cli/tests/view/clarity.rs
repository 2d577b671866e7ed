//! Clear pictures in windows of every size: tools and panels do not cover the scene, texts are about what is shown.

use serde_json::Value;

use crate::kit::{Picture, Stage};

fn number(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {report}"))
}

/// Lowest and highest column of the centres of bodies above the ground, px of the window.
fn columns(report: &Value) -> [f64; 2] {
    let at: Vec<[f64; 2]> = serde_json::from_value(report["positions"].clone()).unwrap();
    let scale = number(report, "/camera/metres_per_pixel");
    let middle = number(report, "/camera/origin/0") + number(report, "/camera/size/0") / 2.0;
    let column = |x: f64| middle + (x - number(report, "/camera/center/0")) / scale;
    let all = at.iter().filter(|at| at[1] > 0.0).map(|at| column(at[0]));
    all.fold([f64::MAX, f64::MIN], |[low, high], x| [low.min(x), high.max(x)])
}

/// Returns true if all bodies are in the part of the picture that nothing covers.
fn is_free(report: &Value) -> bool {
    let [low, high] = columns(report);
    let from = number(report, "/camera/origin/0");
    let to = from + number(report, "/camera/size/0");
    low > from + number(report, "/covered/left") && high < to - number(report, "/covered/right")
}

/// The view is fitted beside the tools, beside an unfolded panel, and after F beside a card. Without these it has the
/// whole picture again. A view that the user has moved stays.
#[test]
fn the_view_is_fitted_beside_what_lies_over_it() {
    for (width, height) in [(360, 640), (640, 400), (1280, 720)] {
        let stage = Stage::new();
        stage.play(
            &["large_pyramid:base=10", "--backend", "cpu", "--paused", "--fresh"],
            &format!(
                "size {width} {height}\nframes 4\nreport @/plain.json\nkey Tab\nframes 4\nreport @/panel.json\nkey Tab\nframes 4\n\
                 report @/again.json\ntool box\nframes 4\nreport @/card.json\nkey F\nsettle\nframes 4\nreport @/beside.json\n\
                 tool move\nframes 4\nreport @/gone.json\ndrag 250 90 30 90 5\nframes 4\nreport @/moved.json\nkey Tab\nframes 4\n\
                 report @/stays.json\n"
            ),
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let size = format!("{width} × {height}");
        // In the narrowest window the panel leaves too little, and the view is not fitted beside it.
        for name in
            ["plain", "panel", "again", "card", "beside", "gone"].iter().filter(|&&n| width > 360 || n != "panel")
        {
            assert!(is_free(&report(name)), "{size}, {name}: {:?} {}", columns(&report(name)), report(name)["covered"]);
        }
        assert!(number(&report("plain"), "/covered/left") >= 40.0);
        assert_eq!(report("again")["camera"], report("plain")["camera"], "{size}");
        assert_eq!(report("card")["camera"], report("plain")["camera"], "{size}: a card alone moves nothing");
        assert_eq!(report("gone")["camera"], report("plain")["camera"], "{size}");
        let beside = number(&report("beside"), "/covered/left") > number(&report("plain"), "/covered/left") + 150.0;
        assert_eq!(beside, width == 1280, "{size}: only a large window has its card unfolded");
        if width == 640 {
            assert!(number(&report("panel"), "/covered/right") > 300.0, "the panel lies over the picture");
            assert_ne!(report("panel")["camera"], report("plain")["camera"]);
        }
        assert!(!is_free(&report("moved")), "{size}: the user may put bodies anywhere");
        if width < 700 {
            assert_eq!(report("moved")["camera"], report("stays")["camera"], "{size}: the user has the camera");
        }
    }
}

/// Smallest and largest column and row in which two pictures differ, to the right of a column.
fn changed(a: &Picture, b: &Picture, left: usize) -> [[usize; 2]; 2] {
    let places = (0..a.rgb.len()).filter(|&at| a.rgb[at] != b.rgb[at]).map(|at| [at % a.size[0], at / a.size[0]]);
    places.filter(|at| at[0] >= left).fold([[usize::MAX; 2], [0; 2]], |[low, high], at| {
        [[0, 1].map(|side| low[side].min(at[side])), [0, 1].map(|side| high[side].max(at[side]))]
    })
}

/// In the smallest window the card of a tool is a line, which a button unfolds and folds.
#[test]
fn the_card_of_a_small_window_is_a_line() {
    let stage = Stage::new();
    stage.play(
        &["large_pyramid:base=6", "--backend", "cpu", "--paused", "--fresh"],
        "size 360 300\nframes 4\nshot @/bare.png\ntool box\nframes 4\nshot @/line.png\nclick 94 26\nframes 4\nshot @/open.png\n\
         click 94 26\nframes 4\nshot @/shut.png\nsize 1280 720\nframes 4\nreport @/wide.json\n",
    );
    let [bare, line, open, shut] = ["bare", "line", "open", "shut"].map(|name| stage.shot(&format!("{name}.png")));
    let [low, high] = changed(&bare, &line, 75);
    assert!(low[1] >= 4 && high[1] < 60 && high[0] < 230, "a line at the top: {low:?} {high:?}");
    let [_, high] = changed(&bare, &open, 75);
    assert!(high[1] > 150, "unfolded: {high:?}");
    let [_, high] = changed(&bare, &shut, 75);
    assert!(high[1] < 60, "folded again: {high:?}");
}

/// The text about the body under the pointer disappears as soon as the pointer leaves the body, before the next query
/// is answered; over the same body it stays.
#[test]
fn nothing_is_told_of_a_body_that_the_pointer_has_left() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["large_pyramid:base=6", "--backend", backend, "--paused", "--fresh"],
            "size 1280 720\nstep 10\nframes 3\nreport @/where.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let at: Vec<[f64; 2]> = serde_json::from_value(report("where")["positions"].clone()).unwrap();
        let pixel = |[x, y]: [f64; 2]| {
            let read = |key: &str, side: usize| number(&report("where"), &format!("/camera/{key}/{side}"));
            let scale = number(&report("where"), "/camera/metres_per_pixel");
            [
                read("origin", 0) + read("size", 0) / 2.0 + (x - read("center", 0)) / scale,
                read("origin", 1) + read("size", 1) / 2.0 - (y - read("center", 1)) / scale,
            ]
        };
        // The topmost body, and one beside the first of a row.
        let top = (0..at.len()).max_by(|&a, &b| at[a][1].total_cmp(&at[b][1])).unwrap();
        let other =
            (0..at.len()).filter(|&body| at[body][1] > 0.0).min_by(|&a, &b| at[a][1].total_cmp(&at[b][1])).unwrap();
        let ([x, y], [to_x, to_y]) = (pixel(at[top]), pixel(at[other]));
        stage.play(
            &["large_pyramid:base=6", "--backend", backend, "--paused", "--fresh"],
            &format!(
                "size 1280 720\nstep 10\nframes 3\nmove {x} {y}\nframes 20\nreport @/on.json\nmove {} {}\nreport @/still_on.json\n\
                 move {to_x} {to_y}\nreport @/elsewhere.json\nframes 20\nreport @/later.json\nmove 700 60\nreport @/off.json\n",
                x + 4.0,
                y + 3.0
            ),
        );
        let told = |name: &str| report(name)["told"].as_u64();
        let [top, other] = [top, other].map(|body| u64::try_from(body).ok());
        assert_eq!((told("on"), told("still_on")), (top, top), "{backend}");
        assert_ne!(told("elsewhere"), top, "{backend}: the one that was left");
        assert_eq!(told("later"), other, "{backend}");
        assert_eq!(told("off"), None, "{backend}: nothing is there");
        // The last answer is still known; it is not shown.
        assert_eq!(report("off")["over"].as_u64(), other, "{backend}");
    }
}

/// The layer "forces" shows the joint force and the weight of a hanging body in the colours of the legend.
#[test]
fn forces_of_joints_and_weights_are_shown() {
    let hanging = r#"{ "version": 1, "name": "hanging", "bodies": [
        { "id": "top", "type": "static", "position": [0, 3], "shapes": [ { "box": { "half": [0.2, 0.1] } } ] },
        { "id": "bob", "position": [0, 0], "shapes": [ { "circle": { "radius": 0.5 } } ] } ],
        "joints": [ { "type": "distance", "a": 0, "b": 1 } ] }"#;
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        std::fs::write(stage.path("hanging.json"), hanging).unwrap();
        let path = stage.path("hanging.json").display().to_string();
        stage.play(
            &[&path, "--backend", backend, "--paused", "--no-sleep", "--fresh"],
            "size 640 400\nstep 60\nframes 3\nshot @/without.png\nlayer forces on\nframes 3\nshot @/with.png\n",
        );
        let [without, with] = ["without.png", "with.png"].map(|name| stage.shot(name));
        // Colours of joint forces and weights in light mode.
        for color in [[0xa8, 0x1d, 0x9c], [0x2a, 0x2a, 0x33]] {
            // An arrow at the body, smooth at its edges, and one in the legend at the lower right.
            let count = |picture: &Picture, unlike: u8, is_there: fn(usize, usize) -> bool| {
                let pixels = (0..picture.rgb.len()).filter(|at| is_there(at % 640, at / 640));
                pixels.filter(|&at| (0..3).all(|c| picture.rgb[at][c].abs_diff(color[c]) <= unlike)).count()
            };
            let [shown, before] =
                [&with, &without].map(|picture| count(picture, 40, |x, y| (240..440).contains(&x) && y < 340));
            assert!(shown > before + 12, "{backend}: {color:?}: {shown} pixels, {before} without");
            let [shown, before] =
                [&with, &without].map(|picture| count(picture, 0, |x, y| x > 440 && (250..366).contains(&y)));
            assert!(shown > 20 && before == 0, "{backend}: {color:?}: {shown} pixels in the legend, {before} without");
        }
    }
}

/// Pictures of scenes are kept for the next session; damaged files are replaced; a fresh window keeps none.
#[test]
fn pictures_of_scenes_are_kept_from_one_time_to_the_next() {
    let stage = Stage::new();
    let script = "size 1280 720\nframes 3\nclick 1027 39\nframes 1\nthumbs 3\nreport @/some.json\nclick 300 300\n";
    let open = |arguments: &[&str]| {
        stage.play(&[&["vertical_stack:count=1", "--backend", "cpu", "--paused"], arguments].concat(), script);
        let report = stage.report("some.json");
        assert!(number(&report, "/thumbs") >= 3.0);
        number(&report, "/thumbs_kept")
    };
    let folder = stage.path("cache/drystone/scenes");
    let files = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!((open(&["--fresh"]), files()), (0.0, 0), "a fresh window keeps nothing");
    assert_eq!(open(&[]), 0.0);
    assert!(files() >= 3, "{} files", files());
    assert!(open(&[]) >= 3.0, "they were kept");
    for file in std::fs::read_dir(&folder).unwrap() {
        std::fs::write(file.unwrap().path(), "no picture").unwrap();
    }
    assert_eq!(open(&[]), 0.0, "damaged ones are drawn again");
    assert!(open(&[]) >= 3.0, "and kept again");
}
