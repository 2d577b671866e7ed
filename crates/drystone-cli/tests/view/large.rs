//! Large windows and wide panels: the size of texts, the width of the panel, graphs that stay in place; and what the
//! panel says about drops, gravity and files.

use serde_json::Value;

use crate::kit::Stage;
use crate::real_keys::with_hands;

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("no {key} in {report}"))
}

fn note(report: &Value) -> String {
    report["note"].as_str().unwrap_or_default().to_owned()
}

/// Texts are half as large again in a window of 1440 lines, and as large as usual in small ones; a screen with a scale
/// of its own has its size.
#[test]
fn texts_grow_with_the_window() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 4\nreport @/usual.json\nsize 1600 1440\nframes 6\nreport @/large.json\nscale 2\nframes 4\n\
         report @/sharp.json\nscale 1\nsize 640 400\nframes 6\nreport @/small.json\n",
    );
    let scale = |name: &str| number(&stage.report(name), "scale");
    assert_eq!(["usual.json", "large.json", "sharp.json", "small.json"].map(scale), [1.0, 1.5, 2.0, 1.0]);
}

/// Ctrl + and Ctrl − change the size of texts, Ctrl 0 resets it; the plain keys still change the speed.
#[test]
fn keys_change_the_size_of_texts() {
    with_hands(&["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"], 5, |_, hands| {
        let scale = |report: &Value| number(report, "scale");
        assert_eq!(scale(&hands.report()), 1.0);
        (0..3).for_each(|_| hands.with_control('='));
        let large = hands.report();
        assert!((scale(&large) - 1.3).abs() < 1e-4, "{}", scale(&large));
        assert_eq!(number(&large, "speed"), 1.0, "the speed is another key's");
        hands.with_control('-');
        assert!((scale(&hands.report()) - 1.2).abs() < 1e-4);
        hands.with_control('0');
        assert_eq!(scale(&hands.report()), 1.0);
        hands.letter('-');
        assert_eq!(number(&hands.report(), "speed"), 0.5);
    });
}

/// The panel is made wider by its left edge, which leaves the view alone; a drag beside the edge moves the view. The
/// width is remembered.
#[test]
fn the_edge_of_the_panel_makes_it_wider() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 4\nreport @/a.json\ndrag 950 300 850 320 6\nframes 3\nreport @/b.json\nprefs @/prefs.json\n\
         drag 700 300 650 300 4\nframes 3\nreport @/c.json\n",
    );
    let [a, b, c] = ["a.json", "b.json", "c.json"].map(|name| stage.report(name));
    let world = |report: &Value| report["camera"]["size"][0].as_f64().unwrap();
    // The edge goes where the pointer is.
    assert!((world(&a) - 950.0).abs() < 8.0 && (world(&b) - 850.0).abs() < 2.0, "{} and {}", world(&a), world(&b));
    let wider = number(&b, "panel_width") - number(&a, "panel_width");
    assert!((wider - (world(&a) - world(&b))).abs() < 2.0, "{wider}");
    assert_eq!(world(&c), world(&b));
    assert_ne!(c["camera"]["center"], b["camera"]["center"], "the control: beside the edge the view moves");
    let prefs: Value = serde_json::from_str(&std::fs::read_to_string(stage.path("prefs.json")).unwrap()).unwrap();
    assert_eq!(prefs["panel_width"], b["panel_width"]);
}

/// A graph that is switched off at the end of the panel leaves the rest where it is: the buttons beside the pressed one
/// stay under the pointer. Scrolling up ends the blank.
#[test]
fn a_graph_that_goes_moves_nothing() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 980\nframes 4\nwatch 0 0.5\nframes 4\nstep 30\nframes 4\nmove 1100 500\nwheel -40\nframes 30\n\
         shot @/a.png\nreport @/a.json\nmove 1042 108\nframes 3\nclick 1042 108\nmove 1100 500\nframes 30\nshot @/b.png\nreport @/b.json\nwheel 40\n\
         frames 30\nwheel -60\nframes 40\nreport @/c.json\n",
    );
    let seen_to = |name: &str| number(&stage.report(name), "panel_seen_to");
    assert!(seen_to("a.json") > 990.0, "it is scrolled: {}", seen_to("a.json"));
    assert_eq!(seen_to("a.json"), seen_to("b.json"));
    let [a, b] = ["a.png", "b.png"].map(|name| stage.shot(name));
    let row = |picture: &crate::kit::Picture, xs: std::ops::Range<usize>| -> Vec<[u8; 3]> {
        (96..140).flat_map(|y| xs.clone().map(move |x| y * 1280 + x)).map(|at| picture.rgb[at]).collect()
    };
    assert!(row(&a, 1110..1260) == row(&b, 1110..1260), "the buttons beside it stay");
    assert!(row(&a, 1020..1070) != row(&b, 1020..1070), "the pressed one is off");
    // The control: without the blank the end of the panel is higher.
    assert!(seen_to("c.json") < seen_to("a.json") - 80.0, "{} and {}", seen_to("c.json"), seen_to("a.json"));
}

/// Bodies that are dropped have the size of the scene's median body at any zoom, and also after others were dropped.
#[test]
fn dropped_bodies_have_one_size_at_any_zoom() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"],
        "size 1280 720\nframes 3\nreport @/a.json\nmove 700 100\nwheel 8\nframes 30\ndrop_count 10\nkey D\nsettle\n\
         report @/b.json\nwheel -16\nframes 40\ndrop_count 1000\nkey D\nsettle\nreport @/c.json\nnew\nopened\nframes 3\n\
         report @/new.json\nmove 500 200\nwheel 9\nframes 30\nreport @/zoomed.json\n",
    );
    let [a, b, c, new, zoomed] =
        ["a.json", "b.json", "c.json", "new.json", "zoomed.json"].map(|name| stage.report(name));
    let scale = |report: &Value| number(&report["camera"], "metres_per_pixel");
    assert!(scale(&b) < 0.8 * scale(&a) && scale(&c) > 1.5 * scale(&b), "the zoom differs");
    // Boxes of the stack are 1 m wide.
    assert_eq!([&a, &b, &c].map(|report| number(report, "drop_size")), [1.0; 3]);
    assert_eq!((number(&b, "there") - number(&a, "there"), number(&c, "there") - number(&b, "there")), (10.0, 1000.0));
    assert!(scale(&zoomed) < 0.8 * scale(&new));
    assert_eq!(number(&new, "drop_size"), number(&zoomed, "drop_size"), "also without a dynamic body");
}

/// A drag while the world is paused says what to do; one while the world runs and a click say nothing.
#[test]
fn a_paused_drag_says_what_to_do() {
    let stage = Stage::new();
    let after = |begin: &str| {
        let script = format!("size 1280 720\nframes 4\n{begin}drag 470 330 600 250 6\nframes 1\nreport @/after.json\n");
        stage.play(&["large_pyramid:base=12", "--backend", "cpu", "--paused", "--fresh"], &script);
        note(&stage.report("after.json"))
    };
    let paused = after("");
    assert!(paused.contains("paused: a pulled body moves when time runs"), "{paused}");
    assert_eq!(after("toggle\nframes 3\n"), "", "the control: while it runs there is nothing to say");
    let click = "size 1280 720\nframes 4\nclick 470 330\nframes 3\nreport @/click.json\n";
    stage.play(&["large_pyramid:base=12", "--backend", "cpu", "--paused", "--fresh"], click);
    assert_eq!(note(&stage.report("click.json")), "", "a click pulls nothing");
}

/// A file whose path is typed into the field beside the list of scenes is opened by Enter or by the button; without a
/// path the button says what is missing.
#[test]
fn a_path_in_the_panel_opens_a_file() {
    let stage = Stage::new();
    let scene = r#"{ "version": 1, "name": "typed", "bodies": [ { "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;
    std::fs::write(stage.path("typed.json"), scene).unwrap();
    for (name, opens) in [("enter", "key Enter"), ("button", OPEN)] {
        stage.play(
            &["arch", "--backend", "cpu", "--paused", "--fresh"],
            &format!(
                "size 1280 720\nframes 3\nfolder @\n{OPEN}\nframes 2\nreport @/empty.json\nclick 1150 39\nframes 2\n\
                 text @/typed.json\nframes 2\nreport @/typing.json\n{opens}\nopened\nframes 3\nreport @/{name}.json\n"
            ),
        );
        assert!(note(&stage.report("empty.json")).contains("write the path"), "{}", note(&stage.report("empty.json")));
        let typing = stage.report("typing.json");
        assert!(typing["path"].as_str().unwrap().ends_with("typed.json") && typing["scene"] == "arch", "{typing}");
        assert_eq!(stage.report(&format!("{name}.json"))["scene"].as_str(), Some("typed"), "{name}");
    }
}

/// The button beside the field for a path.
const OPEN: &str = "click 1242 39";

/// Bodies keep their colours when the scene is saved and opened again, drawn ones and those of the catalogue, also
/// after bodies before them were removed, and when the opened scene is saved once more.
#[test]
fn colours_outlive_saving() {
    for (begin, file, [x, y], of_the_scene, removed) in [
        ("new\nopened\n", "drystone-new_scene-0", [0.0, 3.0], &[][..], vec![[-4.5, 3.5]]),
        (
            "",
            "drystone-vertical_stack_count_3-0",
            [0.0, 6.0],
            &[[0.0, 1.5], [0.0, 2.5]][..],
            vec![[-4.5, 6.5], [0.0, 0.5]],
        ),
    ] {
        let stage = Stage::new();
        let shown = "layer outlines off\nlayer joints off\nkey Tab\nframes 4\n";
        let boxes = format!("draw box {} {y} {} {}\n", x - 5.0, x - 4.0, y + 1.0)
            + &format!("draw box {} {y} {} {}\n", x - 3.0, x - 2.0, y + 1.0);
        let circle = format!("draw circle {} {y} {} {y}\n", x + 3.0, x + 3.5);
        let remove: String = removed.iter().map(|[x, y]| format!("remove {x} {y}\nsettle\n")).collect();
        let looks = |name: &str| format!("{shown}frames 3\nshot @/{name}.png\nreport @/{name}.json\n");
        stage.play(
            &["vertical_stack:count=3", "--backend", "cpu", "--paused", "--fresh"],
            &format!(
                "size 1280 720\nframes 3\nfolder @\n{begin}frames 2\n{boxes}{circle}{remove}select\nkey J\nframes 2\n{}",
                looks("before")
            ),
        );
        for (name, again, next) in [("after", "", "key J\nframes 2\n"), ("last", "-2", "")] {
            let path = stage.path(&format!("{file}{again}.json"));
            stage.play(
                &[path.to_str().unwrap(), "--backend", "cpu", "--paused", "--fresh"],
                &format!("size 1280 720\nframes 3\nfolder @\n{next}{}", looks(name)),
            );
        }
        let places = [[x - 2.5, y + 0.5], [x + 3.0, y]].into_iter().chain(of_the_scene.iter().copied());
        let colors = |name: &str| -> Vec<[u8; 3]> {
            let (report, shot) = (stage.report(&format!("{name}.json")), stage.shot(&format!("{name}.png")));
            let camera = &report["camera"];
            let read = |key: &str, index: usize| camera[key][index].as_f64().unwrap();
            let scale = number(camera, "metres_per_pixel");
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a pixel of the picture")]
            let color = |[x, y]: [f64; 2]| {
                let across = read("origin", 0) + read("size", 0) / 2.0 + (x - 0.2 - read("center", 0)) / scale;
                let down = read("origin", 1) + read("size", 1) / 2.0 - (y - 0.1 - read("center", 1)) / scale;
                shot.rgb[down as usize * shot.size[0] + across as usize]
            };
            places.clone().map(color).collect()
        };
        let before = colors("before");
        assert_eq!(before, colors("after"), "{file}");
        assert_eq!(before, colors("last"), "{file}");
        let different: std::collections::HashSet<_> = before.iter().collect();
        assert!(before.len() >= 2 && different.len() == before.len(), "the control: each has its own: {before:?}");
        let there = |name: &str| number(&stage.report(&format!("{name}.json")), "there");
        assert_eq!((there("before"), there("after")), (there("last"), there("last")), "the removed ones stay removed");
    }
}
