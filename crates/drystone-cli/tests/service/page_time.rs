//! The page in Chromium: gravity, rewinding, unwatched worlds, and the view of a scene.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;
use crate::page::{numbers, pixel, stand, two_boxes};

fn gravity(service: &Service, world: &str) -> [f64; 2] {
    numbers(&service.ask(world)["gravity"])
}

/// Waits until the service has a gravity within a hundredth of this one.
fn until_gravity(browser: &mut Browser, wanted: [f64; 2]) {
    let [x, y] = wanted;
    browser.until(&format!(
        "!wish && Math.abs(status.gravity[0] - {x}) < 0.01 && Math.abs(status.gravity[1] - {y}) < 0.01"
    ));
}

#[test]
fn gravity_is_turned_by_keys_and_dragged() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    // Three quick presses count as three.
    for _ in 0..3 {
        browser.key("]");
    }
    let side = 9.81 * 0.5_f64.sqrt();
    until_gravity(&mut browser, [side, -side]);
    assert!((gravity(&service, &world)[0] - side).abs() < 0.01);
    browser.key("[");
    until_gravity(&mut browser, [9.81 * 0.5, -9.81 * 0.75_f64.sqrt()]);
    browser.key("\\");
    until_gravity(&mut browser, [0.0, -9.81]);
    browser.until("$('gravity').title.startsWith('Gravity: 9.81 m/s²')");

    // The arrow, dragged to the right and along the rim; close to an axis it snaps to it.
    let dial = browser.eval(
        "(() => { const r = $('gravity').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()",
    );
    let [x, y] = numbers(&dial);
    browser.mouse("mousePressed", [x, y + 8.0]);
    for step in 1..=8 {
        browser.mouse("mouseMoved", [x + 2.0 * f64::from(step), y]);
    }
    browser.mouse("mouseReleased", [x + 16.0, y]);
    browser.until("!wish && status.gravity[0] > 5 && status.gravity[1] === 0");
    browser.picture("gravity");
    let before = numbers(&service.ask(&format!("{world}/state"))["bodies"][2]["position"]);
    service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
    let after = numbers(&service.ask(&format!("{world}/state"))["bodies"][2]["position"]);
    assert!(after[0] > before[0] + 0.5 && (after[1] - before[1]).abs() < 1e-6, "from {before:?} to {after:?}");
    // The middle is zero gravity, and moving without a pressed button changes nothing.
    browser.mouse("mouseMoved", [x - 16.0, y]);
    browser.mouse("mousePressed", [x + 1.0, y]);
    browser.mouse("mouseReleased", [x + 1.0, y]);
    until_gravity(&mut browser, [0.0, 0.0]);
    assert_eq!(browser.eval("$('gravity').title.startsWith('Gravity: none')"), true);
    // A value that comes while the answer to the one before is read is not lost.
    browser.eval(
        "(() => { const own = list; list = async () => { list = own; guard(set_gravity)([3, 0]); await own(); }; \
         guard(set_gravity)([1, 0]); })()",
    );
    until_gravity(&mut browser, [3.0, 0.0]);
    // A restart restores the gravity of the scene.
    browser.key("r");
    browser.until("simulated.step === 0");
    until_gravity(&mut browser, [0.0, -9.81]);
    assert_eq!(browser.eval("$('say').textContent"), "");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn steps_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    browser.key("ArrowLeft");
    browser.until("$('told').textContent === 'the world is at its start'");
    let mut hashes = vec![service.hash(&world)];
    for step in 1..=8 {
        browser.key("ArrowRight");
        browser.until(&format!("simulated.step === {step} && status.step === {step}"));
        hashes.push(service.hash(&world));
    }
    let is_at = |browser: &mut Browser, step: usize| {
        browser.until(&format!(
            "simulated.step === {step} && !going && $('told').textContent === 'rewound to step {step}; steps after {step} are discarded'"
        ));
        assert_eq!((service.ask(&world)["step"].clone(), service.hash(&world)), (json!(step), hashes[step].clone()));
    };
    browser.key("ArrowLeft");
    is_at(&mut browser, 7);
    browser.click("#back");
    is_at(&mut browser, 6);
    // Quick presses all count.
    for _ in 0..3 {
        browser.key("ArrowLeft");
    }
    is_at(&mut browser, 3);
    // A removed body is restored.
    let low = pixel(&mut browser, [0.0, 0.5]);
    browser.mouse("mouseMoved", low);
    browser.key("Delete");
    browser.until("bodies.size === 2");
    browser.key("ArrowLeft");
    browser.until("bodies.size === 3 && shapes.size === 3");
    is_at(&mut browser, 2);
    browser.key("PageUp");
    is_at(&mut browser, 0);
    // A playing world is paused by it.
    browser.key(" ");
    browser.until("status.state === 'playing' && simulated.step > 10");
    browser.key("ArrowLeft");
    browser.until("status.state === 'paused' && !going && $('told').textContent.startsWith('rewound to step ')");
    assert_eq!(browser.eval("$('say').textContent"), "");

    // A body that was held at that step is released.
    browser.key("r");
    browser.until("simulated.step === 0 && status.step === 0");
    let high = pixel(&mut browser, [3.0, 2.0]);
    browser.mouse("mousePressed", high);
    browser.mouse("mouseMoved", [high[0], high[1] - 60.0]);
    browser.until("drag && drag.sent");
    browser.key("ArrowRight");
    browser.until("simulated.step === 1");
    browser.key("ArrowRight");
    browser.until("simulated.step === 2");
    browser.mouse("mouseReleased", [high[0], high[1] - 60.0]);
    browser.until("!drag");
    browser.key("ArrowRight");
    browser.until("simulated.step === 3 && status.joints === 0");
    browser.key("ArrowLeft");
    browser.key("ArrowLeft");
    browser.until("!going && simulated.step === 1");
    browser.key("ArrowRight");
    browser.until("simulated.step === 2 && status.joints === 0");
    assert_eq!(browser.eval("$('say').textContent"), "");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Returns the only world as in the list, which does not count as watching.
fn listed(service: &Service) -> Value {
    service.ask("/v1/worlds")["worlds"][0].clone()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never: {what}");
}

#[test]
fn a_world_that_nobody_watches_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&two_boxes());
    // Without the setting it plays on.
    service.tell(&format!("{world}/play"), &json!({ "speed": 4 }));
    wait_for("it plays on", || listed(&service)["time"].as_f64().unwrap() > 3.0);
    assert_eq!(listed(&service)["state"], "playing");
    service.tell(&format!("{world}/play"), &json!({ "speed": 4, "unwatched": 0.2 }));
    wait_for("it pauses", || listed(&service)["state"] == "paused");
    assert_eq!(listed(&service)["unwatched"], 0.2);
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!((&listed(&service)["state"], &listed(&service)["unwatched"]), (&json!("paused"), &json!(0.2)));
    for wrong in [json!(-1), json!(1e10)] {
        let answer = service.post(&format!("{world}/play"), &json!({ "unwatched": wrong })).unwrap();
        assert_eq!((answer.status, answer.json()["path"].as_str()), (422, Some("unwatched")));
    }

    // The page shows the reason, and Space plays on.
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    browser.until("drawn && $('told').textContent === 'paused: no viewers; Space plays on'");
    browser.until("$('worlds').textContent.includes('paused: no viewers') && $('rate').textContent.startsWith('paused: no viewers')");
    browser.picture("unwatched");
    browser.key(" ");
    browser.until("status.state === 'playing' && !$('worlds').textContent.includes('no viewers')");
    // A stream counts as a viewer.
    service.tell(&format!("{world}/play"), &json!({ "speed": 4, "unwatched": 0.2 }));
    let time = browser.eval("simulated.time").as_f64().unwrap();
    browser.until(&format!("simulated.time > {time} + 4"));
    assert_eq!(listed(&service)["state"], "playing");
    // Until the page is closed.
    drop(browser);
    wait_for("it pauses", || listed(&service)["unwatched"] == 0.2);
}

#[test]
fn the_service_may_say_for_how_long_nobody_has_to_watch() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("PAUSE_UNWATCHED_SECONDS", "0.2")]);
    let world = service.make(&two_boxes());
    service.tell(&format!("{world}/play"), &json!({ "speed": "max", "unwatched": 0 }));
    wait_for("it plays on", || listed(&service)["time"].as_f64().unwrap() > 5.0);
    assert_eq!(listed(&service)["state"], "playing");
    service.tell(&format!("{world}/play"), &json!({}));
    wait_for("it pauses", || listed(&service)["state"] == "paused");
    // Requested steps are done even without a viewer.
    let before = service.ask(&world)["step"].as_u64().unwrap();
    service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    let status = service.ask(&world);
    assert_eq!((&status["step"], status.get("unwatched")), (&json!(before + 10), None));
}

#[test]
fn the_view_of_a_scene_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut scene = two_boxes();
    scene["view"] = json!({ "min": [-6, -3], "max": [10, 7] });
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    assert_eq!(service.ask(&format!("{world}/bodies"))["view"], json!({ "min": [-6.0, -3.0], "max": [10.0, 7.0] }));
    let at_view = "Math.abs(camera.x - 2) < 1e-6 && Math.abs(camera.y - 2) < 1e-6 && \
         Math.abs(camera.scale - Math.min($('canvas').clientWidth / 16, $('canvas').clientHeight / 10)) < 1e-6";
    assert_eq!(browser.eval(at_view), true, "{}", browser.eval("camera"));
    // The view stays while bodies move.
    browser.key("PageDown");
    browser.until("simulated.step === 60");
    assert_eq!(browser.eval(at_view), true, "{}", browser.eval("camera"));
    // Moved by the user, and restored by F.
    browser.key(".");
    assert_eq!(browser.eval(at_view), false);
    browser.key("f");
    assert_eq!(browser.eval(at_view), true);

    // If the bodies are not in the scene's view, they are framed.
    scene["view"] = json!({ "min": [-6, 20], "max": [10, 30] });
    let (mut browser, _) = stand(&service, &scene, 1280, 720);
    browser.until("world && scene_view && scene_view.min[1] === 20");
    assert_eq!(browser.eval("[camera.given, camera.y < 10]"), json!([false, true]));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The timeline offers the steps to which the world can go back: those since the last undo, and all after a restart.
/// The card shows what an undo has brought back.
#[test]
fn the_timeline_follows_undo_and_restart() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 1280, 720);
    let steps = |browser: &mut Browser, to: u64| {
        for _ in 0..3 {
            browser.key("ArrowRight");
        }
        browser.until(&format!("simulated.step === {to} && status.step === {to}"));
    };
    steps(&mut browser, 3);
    let range = "[$('timeline').min, $('timeline').value, $('timeline').disabled].join()";
    browser.until(&format!("{range} === '0,3,false'"));
    browser.eval("select('1.0')");
    browser.until("$('card-density').value === '1' && !$('card-density').disabled");
    browser.eval("$('card-density').focus(); $('card-density').select()");
    browser.text("7");
    browser.key("Enter");
    browser.until("$('told').textContent === 'density changed'");
    browser.key("z");
    browser.until("$('told').textContent.startsWith('undone: density') && $('card-density').value === '1'");
    browser.until(&format!("{range} === '3,3,true'"));
    steps(&mut browser, 6);
    browser.until(&format!("{range} === '3,6,false'"));
    browser.key("r");
    browser.until("$('told').textContent.startsWith('restarted') && simulated.step === 0");
    steps(&mut browser, 3);
    browser.until(&format!("{range} === '0,3,false'"));
    // The instruction of a tool ends with the tool.
    browser.key("6");
    browser.until("tool && $('told').textContent.includes('to end the tool')");
    browser.key("Escape");
    browser.until("!tool && $('told').textContent === ''");
    assert_eq!(browser.eval("$('say').textContent"), "");
    // Two checkpoints at once are refused; the page waits and writes the second one again.
    browser.errors.retain(|error| !error.contains("429"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The slider below the world goes back to any step so far, to the same bits, also in a playing world. It names the
/// step while it is dragged, and says what is discarded.
#[test]
fn the_timeline_goes_back_to_any_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    for (width, height) in [(1280, 720), (360, 640)] {
        let (mut browser, world) = stand(&service, &two_boxes(), width, height);
        browser.until("$('timeline').disabled && !$('timeline-label').classList.contains('absent')");
        let mut hashes = vec![service.hash(&world)];
        for step in 1..=20 {
            browser.key("ArrowRight");
            browser.until(&format!("simulated.step === {step} && status.step === {step}"));
            hashes.push(service.hash(&world));
        }
        browser.until("$('timeline').max === '20' && $('timeline').value === '20' && !$('timeline').disabled");
        let at = |browser: &mut Browser, share: f64| {
            numbers(&browser.eval(&format!(
                "(() => {{ const r = $('timeline').getBoundingClientRect(); return [r.x + 8 + {share} * (r.width - 16), r.y + r.height / 2]; }})()"
            )))
        };
        let to = at(&mut browser, 0.35);
        browser.mouse("mousePressed", to);
        browser.until(
            "$('told').textContent === 'back to step ' + $('timeline').value && Number($('timeline').value) < 15",
        );
        assert_eq!(browser.eval("simulated.step"), 20, "nothing happens before it is let go");
        browser.picture(&format!("timeline-{width}"));
        let wanted = browser.eval("Number($('timeline').value)").as_u64().unwrap();
        browser.mouse("mouseReleased", to);
        let told = format!("rewound to step {wanted}; steps after {wanted} are discarded");
        browser.until(&format!("simulated.step === {wanted} && $('told').textContent === '{told}'"));
        assert_eq!(
            (service.ask(&world)["step"].clone(), service.hash(&world)),
            (json!(wanted), hashes[wanted as usize].clone())
        );
        assert!((4..12).contains(&wanted), "{wanted}");
        // Keys are those of the world at once; a playing world is paused by the slider.
        assert_eq!(browser.eval("document.activeElement.id"), "canvas");
        browser.key(" ");
        browser.until("status.state === 'playing' && simulated.step > 60");
        let start = at(&mut browser, 0.0);
        browser.mouse("mousePressed", start);
        browser.mouse("mouseReleased", start);
        browser.until("status.state === 'paused' && simulated.step === 0 && !going");
        assert_eq!(service.hash(&world), hashes[0]);
        assert_eq!(browser.eval("$('say').textContent"), "");
        assert_eq!(browser.errors, Vec::<String>::new());
    }
}
