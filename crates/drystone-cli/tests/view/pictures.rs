//! Pictures of the window compared with references, and the pointer in the picture: pulling, zooming, moving the view.

use crate::kit::{Stage, assert_as_kept, is_alike, pixel_of};

fn at(report: &serde_json::Value, body: usize) -> [f64; 2] {
    serde_json::from_value(report["positions"][body].clone()).unwrap()
}

/// The box at the top of a stack is grabbed, pulled aside and let go.
fn drags(backend: &str) {
    let stage = Stage::new();
    let arguments = ["vertical_stack:count=5", "--backend", backend, "--fresh"];
    let start = "size 960 600\nframes 20\nreport @/a.json\n";
    stage.play(&arguments, start);
    let before = stage.report("a.json");
    let top = (0..before["positions"].as_array().unwrap().len())
        .max_by(|&a, &b| at(&before, a)[1].total_cmp(&at(&before, b)[1]))
        .unwrap();
    let [x, y] = pixel_of(&before, at(&before, top));
    let (to_x, to_y) = (x - 150.0, y - 60.0);
    stage.play(
        &arguments,
        &format!("{start}drag {x} {y} {to_x} {to_y} 30\nreport @/b.json\nframes 100\nreport @/c.json\n"),
    );
    let [b, c] = ["b.json", "c.json"].map(|name| stage.report(name));
    let [from, pulled, fell] = [&before, &b, &c].map(|report| at(report, top));
    let hand = pixel_of(&b, pulled);
    assert!((hand[0] - to_x).hypot(hand[1] - to_y) < 40.0, "it hangs on the hand: {hand:?}, not {to_x}, {to_y}");
    assert!(pulled[1] > from[1] - 0.2 && pulled[0] < from[0] - 1.0, "{from:?} → {pulled:?}");
    assert!(fell[1] < pulled[1] - 1.0, "it falls when it is let go of: {pulled:?} → {fell:?}");
    assert_eq!(c["joints"].as_u64(), before["joints"].as_u64(), "the hand is gone");
    // Without the pull nothing moves.
    stage.play(&arguments, &format!("{start}frames 36\nreport @/still.json\n"));
    let still = at(&stage.report("still.json"), top);
    assert!((still[0] - from[0]).hypot(still[1] - from[1]) < 0.1, "{from:?} → {still:?}");
}

#[test]
fn a_body_can_be_dragged_on_the_cpu() {
    drags("cpu");
}

#[test]
fn a_body_can_be_dragged_on_the_device() {
    drags("gpu");
}

/// The wheel zooms at the pointer, a drag beside bodies moves the view, and F shows all bodies again.
#[test]
fn the_view_follows_the_hand() {
    let stage = Stage::new();
    stage.play(
        &["vertical_stack:count=5", "--backend", "cpu", "--paused", "--fresh"],
        "size 960 600\nframes 2\nkey F\nsettle\nreport @/a.json\nmove 200 120\nwheel 3\nframes 20\nreport @/b.json\n\
         drag 60 60 160 90 5\nreport @/c.json\nkey F\nsettle\nreport @/d.json\n",
    );
    let [a, b, c, d] = ["a.json", "b.json", "c.json", "d.json"].map(|name| stage.report(name));
    let scale = |report: &serde_json::Value| report["camera"]["metres_per_pixel"].as_f64().unwrap();
    assert!(scale(&b) < 0.95 * scale(&a), "closer: {} → {}", scale(&a), scale(&b));
    let place = [0.0, 0.0];
    let (from, to) = (pixel_of(&a, place), pixel_of(&b, place));
    let factor = scale(&a) / scale(&b);
    for (axis, hand) in [200.0, 120.0].into_iter().enumerate() {
        assert!(
            (to[axis] - (hand + (from[axis] - hand) * factor)).abs() < 0.5,
            "what is under the pointer stays there"
        );
    }
    let moved = pixel_of(&c, place);
    assert!((moved[0] - to[0] - 100.0).abs() < 12.0 && (moved[1] - to[1] - 30.0).abs() < 8.0, "{to:?} → {moved:?}");
    assert!((scale(&d) / scale(&a) - 1.0).abs() < 0.05, "all of it is seen again");
}

/// The window looks like its references: light and dark, with the list of keys, and with layers.
#[test]
fn it_looks_as_it_did() {
    let stage = Stage::new();
    stage.play(
        &["large_pyramid:base=12", "--backend", "cpu", "--paused", "--no-sleep", "--fresh"],
        "size 1280 720\nstep 30\nframes 4\nshot @/light.png\ndark\nframes 4\nshot @/dark.png\nkeys\nframes 4\n\
         shot @/keys.png\n",
    );
    for name in ["light.png", "dark.png", "keys.png"] {
        assert_as_kept(&stage, name);
    }
    // The comparison can fail, and not only between light and dark.
    let [light, dark, keys] = ["light.png", "dark.png", "keys.png"].map(|name| stage.shot(name));
    assert!(!is_alike(&light.unlike(&dark)) && !is_alike(&dark.unlike(&keys)));
    assert_eq!(light.size, [1280, 720]);
}

/// Both backends show the same picture of the same state.
#[test]
fn backends_look_alike() {
    let stage = Stage::new();
    stage.play(
        &["large_pyramid:base=8", "--backend", "cpu", "--paused", "--fresh"],
        "size 800 500\npanel\nlayer contacts on\nstep 20\nframes 2\nshot @/cpu.png\nbackend gpu\nframes 2\n\
         shot @/gpu.png\nstep 200\nframes 2\nshot @/later.png\n",
    );
    let [cpu, gpu] = ["cpu.png", "gpu.png"].map(|name| stage.shot(name));
    let world = |picture: &crate::kit::Picture| crate::kit::Picture {
        size: [picture.size[0], 400],
        rgb: picture.rgb[picture.size[0] * 50..picture.size[0] * 450].to_vec(),
    };
    assert!(is_alike(&world(&cpu).unlike(&world(&gpu))), "{:?}", world(&cpu).unlike(&world(&gpu)));
}
