//! The page in Chromium: scene files, kept states, bodies that stay the same when they are changed, and help.

use std::path::Path;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;
use crate::page::{numbers, pixel, stand, two_boxes};
use crate::page_build::{click, keep_files, until_told};

/// Chooses a file with the button of the form.
fn choose_file(browser: &mut Browser, path: &Path) {
    browser.call("Page.setInterceptFileChooserDialog", &json!({ "enabled": true }));
    browser.click("#open-file");
    let input = json!({ "expression": "document.querySelector('#file')" });
    let object = browser.call("Runtime.evaluate", &input)["result"]["objectId"].clone();
    browser.call("DOM.setFileInputFiles", &json!({ "objectId": object, "files": [path] }));
}

/// Drops a file on the world.
fn drop_file(browser: &mut Browser, path: &Path) {
    let data = json!({ "items": [], "files": [path], "dragOperationsMask": 1 });
    for kind in ["dragEnter", "dragOver", "drop"] {
        browser.call("Input.dispatchDragEvent", &json!({ "type": kind, "x": 700, "y": 400, "data": data }));
        if kind == "dragOver" {
            browser.until("document.body.classList.contains('drop')");
            browser.picture("drop");
        }
    }
    browser.until("!document.body.classList.contains('drop')");
}

#[test]
fn a_scene_file_is_chosen_or_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("store"), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    browser.eval("$('run').checked = false");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut scene = two_boxes();
    scene["name"] = json!("chosen");
    scene["bodies"].as_array_mut().unwrap().pop();
    let good = file("chosen.json", &scene.to_string());
    choose_file(&mut browser, &good);
    browser.until("drawn && status?.name === 'chosen' && bodies.size === 2 && status.state === 'paused'");
    // The page opens the files that it saved itself.
    keep_files(&mut browser);
    browser.eval("$('canvas').focus()");
    browser.key("j");
    browser.until("window.files.length === 1");
    let saved = browser.eval("window.files[0]").as_str().unwrap().to_owned();
    let saved = file("saved.json", &saved.replace("chosen", "saved and opened"));
    drop_file(&mut browser, &saved);
    browser.until("drawn && status?.name === 'saved and opened' && bodies.size === 2");
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 3);

    // A mistake is shown beside the text, with its line; the world stays.
    let broken = file("broken.json", "{ \"version\": 1,\n  \"bodies\": [ { \"kind\": \"static\" } ] }\n");
    drop_file(&mut browser, &broken);
    browser.until("$('mistake').textContent.startsWith('broken.json: line 2, column 17: bodies[0].kind')");
    assert_eq!(browser.eval("$('scene').value.slice($('scene').selectionStart).startsWith('\"kind\"')"), true);
    assert_eq!(browser.eval("status.name"), "saved and opened");
    let text = browser.eval("$('mistake').textContent");
    assert!(text.as_str().unwrap().contains("type"), "{text}");
    for (name, content, wanted) in [
        ("world.snap", "DRYSTONE", "world.snap is not opened: the page opens scene files as JSON"),
        ("hello.json", "hello", "hello.json: line 1, column 1"),
    ] {
        let path = file(name, content);
        drop_file(&mut browser, &path);
        browser.until(&format!(
            "$('say').textContent.startsWith({wanted:?}) || $('mistake').textContent.startsWith({wanted:?})"
        ));
    }
    // A good one ends the message.
    drop_file(&mut browser, &good);
    browser
        .until("drawn && status?.name === 'chosen' && $('mistake').textContent === '' && $('say').textContent === ''");
    assert_eq!(service.ask(&world)["bodies"], 3);
    browser.errors.retain(|error| !error.contains("422") && !error.contains("400"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A scene saved after a removal has its bodies in other slots; they keep their colours.
#[test]
fn colors_outlive_saving() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("store"), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 1280, 720);
    browser.eval("$('run').checked = false");
    let low = pixel(&mut browser, [0.0, 0.5]);
    browser.mouse("mouseMoved", low);
    browser.key("Delete");
    browser.until("bodies.size === 2");
    let color_of = |browser: &mut Browser, slot: u32| {
        browser.until(&format!("bodies.get({slot})?.color !== undefined"));
        browser.eval(&format!("bodies.get({slot}).color"))
    };
    let before = color_of(&mut browser, 2);
    keep_files(&mut browser);
    browser.key("j");
    browser.until("window.files.length === 1");
    let path = folder.path().join("saved.json");
    let saved = browser.eval("window.files[0]").as_str().unwrap().replace("two boxes", "saved");
    std::fs::write(&path, saved).unwrap();
    drop_file(&mut browser, &path);
    browser.until("drawn && status?.name === 'saved' && bodies.size === 2 && bodies.has(1)");
    assert_eq!(color_of(&mut browser, 1), before);
    // Negative control: the slot alone gives another colour.
    assert_ne!(browser.eval("color_of({ slot: 1, generation: 0 })"), before);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn kept_states_are_gone_back_to() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    let steps = |browser: &mut Browser, to: u64| {
        browser.key("PageDown");
        browser.until(&format!("simulated.step === {to} && status.step === {to}"));
    };
    browser.eval("$('canvas').focus()");
    browser.click("#more summary");
    browser.click("#kept-menu");
    browser.until("$('kept').open && $('none-kept').offsetParent && !$('kept-list').children.length");
    browser.click("#kept .main");
    browser.until("!$('kept').open");
    steps(&mut browser, 60);
    browser.key("k");
    until_told(&mut browser, "state kept as step-60");
    let kept = service.hash(&world);
    steps(&mut browser, 120);
    let high = pixel(&mut browser, [3.0, 0.5]);
    browser.mouse("mouseMoved", high);
    browser.key("Delete");
    browser.until("bodies.size === 2");
    let later = service.hash(&world);
    browser.click("#more summary");
    browser.click("#kept-menu");
    browser.until("$('kept').open && $('kept-list').children.length === 1");
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.picture(&format!("kept-{scheme}"));
    }
    browser.click("#kept-list button");
    until_told(&mut browser, "back at step-60");
    browser.until("!$('kept').open && simulated.step === 60 && bodies.size === 3 && shapes.size === 3");
    assert_eq!(service.hash(&world), kept);
    browser.key("z");
    until_told(&mut browser, "undone: going back to step-60");
    assert_eq!(service.hash(&world), later);
    browser.key("y");
    until_told(&mut browser, "redone: going back to step-60");
    assert_eq!(service.hash(&world), kept);
    browser.click("#more summary");
    browser.click("#kept-menu");
    browser.until("$('kept').open && $('kept-list').children.length === 1");
    browser.click("#kept-list button:last-child");
    browser.until("$('kept-list').children.length === 0 && $('none-kept').offsetParent");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// An undo begins another history: steps go back to where it begins, and a message says so.
#[test]
fn steps_go_back_to_where_the_history_begins() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    let steps = |browser: &mut Browser, to: u64| {
        browser.key("ArrowRight");
        browser.until(&format!("simulated.step === {to} && status.step === {to}"));
    };
    browser.key("PageDown");
    browser.until("simulated.step === 60 && status.step === 60");
    let low = pixel(&mut browser, [0.0, 0.5]);
    browser.mouse("mouseMoved", low);
    browser.key("Delete");
    browser.until("bodies.size === 2");
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    let start = service.hash(&world);
    for step in 61..=63 {
        steps(&mut browser, step);
    }
    // A minute back is more than there is.
    browser.key("PageUp");
    until_told(&mut browser, "rewound to step 60");
    assert_eq!(service.hash(&world), start);
    browser.key("ArrowLeft");
    browser
        .until("$('say').textContent.startsWith('The history begins at step 60, with the last undo or restart: Z, R')");
    browser.errors.retain(|error| !error.contains("422"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A world that ran before the page was opened is restarted by its history.
#[test]
fn a_world_that_ran_is_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&two_boxes());
    let start = service.hash(&world);
    service.tell(&format!("{world}/step"), &json!({ "steps": 50 }));
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    browser.until("drawn && status?.step === 50 && camera.fitted");
    browser.click("#restart");
    until_told(&mut browser, "restarted");
    browser.until("simulated.step === 0");
    assert_eq!(service.hash(&world), start);
    browser.errors.retain(|error| !error.contains("404"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A changed body keeps its id, its name, its colour, its graphs and the numbers of its joints, also in another tab.
#[test]
fn a_changed_body_stays_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["joints"] = json!([
        { "type": "distance", "a": "low", "b": "high", "anchor_a": [0, 0], "anchor_b": [0, 0] },
        { "type": "spring", "b": "high", "anchor_a": [3, 6], "anchor_b": [0, 0], "stiffness": 5, "rest_length": 4 } ]);
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let id = world.rsplit('/').next().unwrap();
    let mut other = Browser::open(&format!("http://{}/#{id}", service.address), 1000, 700);
    other.until("drawn && shapes.size === 3 && joints.length === 2");
    let high = pixel(&mut browser, [3.0, 2.0]);
    click(&mut browser, high);
    browser.until("selected?.id === '2.0' && fields.density.value === '1'");
    browser.key("w");
    browser.until("graphs_shown && samples.body.length > 0");
    let color = browser.eval("color_of(selected_body())");
    let set = |browser: &mut Browser, field: &str, value: &str, wanted: &str| {
        browser.eval(&format!("tell(''); $('card-{field}').focus(); $('card-{field}').select()"));
        browser.text(value);
        browser.key("Enter");
        until_told(browser, wanted);
        let now = browser.eval(
            "[selected.id, $('card-title').textContent, color_of(selected_body()), $('card-joints').textContent, notes_of('body')]",
        );
        let joints = "2 joints: rod 0 to body 1, spring 1 to the world";
        assert_eq!(now, json!(["2.0", "Body 2 (high)", color, joints, []]), "{field}");
    };
    set(&mut browser, "density", "3", "density changed");
    browser.key("PageDown");
    browser.until("simulated.step === 60 && samples.body.at(-1)[STEP] === 60");
    set(&mut browser, "friction", "0.1", "friction changed");
    set(&mut browser, "restitution", "0.25", "restitution changed");
    other.until("Math.abs(shapes.get(2).mass - 3) < 1e-5 && simulated.step === 60");
    assert_eq!(
        other.eval("joints.map(joint => [joint.id.split('.')[0], joint.type])"),
        json!([["0", "distance"], ["1", "spring"]])
    );
    browser.picture("same-body");
    // Made again after more steps, it is changed where it is then.
    browser.eval("tell('')");
    browser.key("z");
    until_told(&mut browser, "undone: restitution of body 2");
    browser.key("PageDown");
    browser.until("simulated.step === 120 && status.step === 120");
    let there = service.ask(&format!("{world}/state"))["bodies"][2]["position"].clone();
    browser.key("y");
    until_told(&mut browser, "redone: restitution of body 2");
    let now = service.ask(&format!("{world}/bodies/high"));
    let near = |a: &Value, b: &Value| {
        let (a, b) = (numbers(a), numbers(b));
        (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-5
    };
    assert!(near(&now["body"]["position"], &there) && now["id"] == "2.0", "{now} {there}");
    assert_eq!(now["body"]["shapes"][0]["restitution"], 0.25);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// On a phone with open graphs the card of a joint or a body shows its title and motion, and the world is seen; all of
/// its numbers are a tap away.
#[test]
fn a_phone_shows_world_graphs_and_card() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["joints"] = json!([ { "type": "spring", "b": "high", "anchor_a": [3, 5], "anchor_b": [0, 0], "stiffness": 5, "rest_length": 3 } ]);
    let (mut browser, _) = stand(&service, &start, 360, 640);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    let tap = |browser: &mut Browser, at: [f64; 2]| {
        browser.touch("touchStart", &[at]);
        browser.touch("touchEnd", &[]);
    };
    browser.tap("#graph");
    browser.until("graphs_shown");
    // Share of the picture above the card, and whether the middle of what is selected is in it.
    let free =
        "($('card').getBoundingClientRect().top - $('canvas').getBoundingClientRect().top) / $('canvas').clientHeight";
    for (what, at) in [("joint", [3.0, 3.5]), ("body", [3.0, 2.0])] {
        let place = pixel(&mut browser, at);
        tap(&mut browser, place);
        browser.until(&format!("!$('card').hidden && Boolean(selected_joint) === {}", what == "joint"));
        browser
            .until("follow_bodies.area === [$('canvas').clientWidth, $('canvas').clientHeight, ...covered()].join()");
        let share = browser.eval(free).as_f64().unwrap();
        assert!(share > 0.6, "{what}: {share} of the picture");
        let place = pixel(&mut browser, at);
        let top = browser.eval("$('card').getBoundingClientRect().top").as_f64().unwrap();
        assert!(place[1] < top, "{what}: {place:?} above {top}");
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.picture(&format!("phone-graphs-{what}-{scheme}"));
        }
        // All numbers, and back.
        browser.tap("#card-fold");
        browser.until(&format!("!$('card').classList.contains('folded') && {free} < {share}"));
        assert!(browser.eval(free).as_f64().unwrap() > 0.2, "{what}");
        browser.tap("#card-fold");
        browser.until("$('card').classList.contains('folded')");
    }
    // Without graphs there is room for all of it.
    browser.tap("#graphs-close");
    browser.until("!graphs_shown && !$('card').classList.contains('folded') && $('card-density').offsetParent");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Messages and help name what the user has: keys, or buttons on a touch screen.
#[test]
fn help_is_for_fingers_or_keys() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 390, 844);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    browser.tap("#more summary");
    browser.until("$('more').open");
    browser.tap("#keys");
    browser.until("$('help').open && $('help-title').textContent === 'Fingers and buttons'");
    browser.picture("help-touch");
    let words = browser.eval("[...$('key-list').querySelectorAll('dt')].map(term => term.textContent)");
    for wanted in ["Two fingers", "Restart", "Fit", "Drop", "Shoot", "Explode", "Undo", "Save scene (JSON)"] {
        assert!(words.as_array().unwrap().contains(&json!(wanted)), "{wanted}: {words}");
    }
    let keys = "[...$('key-list').querySelectorAll('dd')].filter(text => / \\((Space|[A-Z0-9])\\)/.test(text.textContent)).length";
    assert_eq!(browser.eval(keys), 0);
    browser.tap("#help .main");
    browser.until("!$('help').open");
    let high = pixel(&mut browser, [3.0, 2.0]);
    browser.touch("touchStart", &[high]);
    browser.touch("touchEnd", &[]);
    browser.until("selected?.id === '2.0' && !$('card').hidden");
    browser.tap("#card-remove");
    until_told(&mut browser, "removed dynamic body 2 (high); Build, Undo brings it back");
    browser.tap("#build");
    browser.until("!$('undo').disabled");
    browser.tap("#undo");
    until_told(&mut browser, "undone: a body removed");
    browser.key("?");
    browser.until("$('help').open && $('help-title').textContent === 'Keys' && $('key-list').children.length > 30");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// However many bodies are dropped, none is in another one, dropped or there before.
#[test]
fn dropped_bodies_are_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    for count in [1, 100, 10_000] {
        let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
        browser.eval(&format!("$('count').value = '{count}'"));
        browser.click("[data-tool=drop]");
        // Onto the lower box.
        let at = pixel(&mut browser, [0.0, 0.7]);
        click(&mut browser, at);
        until_told(&mut browser, &format!("dropped {count} of {count}"));
        let state = service.ask(&format!("{world}/state"));
        let mut places: Vec<[f64; 2]> =
            state["bodies"].as_array().unwrap().iter().skip(1).map(|body| numbers(&body["position"])).collect();
        assert_eq!(places.len(), count + 2);
        places.sort_by(|a, b| a[0].total_cmp(&b[0]));
        for (i, a) in places.iter().enumerate() {
            // All are a metre wide and high, and not turned.
            for b in places[i + 1..].iter().take_while(|b| b[0] - a[0] < 1.0) {
                assert!((b[1] - a[1]).abs() >= 1.0, "of {count}: {a:?} and {b:?}");
            }
        }
        service.send("DELETE", &world, &[], b"").unwrap();
    }
}

/// A restart keeps what was built, changed and removed, also after a reload of the page; what was dropped goes. It can
/// be undone.
#[test]
fn a_restart_keeps_what_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["view"] = json!({ "min": [-8, -2], "max": [8, 7] });
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let press = |browser: &mut Browser, at: [f64; 2]| {
        let at = pixel(browser, at);
        click(browser, at);
    };
    let draw = |browser: &mut Browser, from: [f64; 2], to: [f64; 2], wanted: &str| {
        browser.eval("tell('')");
        browser.key("2");
        let (from, to) = (pixel(browser, from), pixel(browser, to));
        crate::page_build::drag(browser, from, to);
        until_told(browser, wanted);
        browser.key("Escape");
        browser.key("Escape");
    };
    // At the start, and later: among dropped bodies, of which one is tied to it.
    draw(&mut browser, [-6.0, 3.0], [-5.0, 2.0], "new box: body 3");
    browser.key("PageDown");
    browser.until("simulated.step === 60 && status.step === 60");
    let above = pixel(&mut browser, [0.0, 4.0]);
    browser.mouse("mouseMoved", above);
    browser.eval("$('count').value = '1'");
    browser.key("d");
    until_told(&mut browser, "dropped 1 of 1");
    draw(&mut browser, [4.0, 6.0], [6.0, 5.0], "new box: body 5");
    for (ends, wanted) in [
        ([[-5.5, 0.5], [-5.5, 4.0]], "spring between body 3 and the world"),
        ([[5.0, 5.5], [0.0, 4.0]], "spring between body 5 and body 4"),
        ([[5.0, 5.5], [5.0, 6.8]], "spring between body 5 and the world"),
    ] {
        browser.eval("tell('')");
        browser.key("6");
        for at in ends {
            press(&mut browser, at);
        }
        until_told(&mut browser, wanted);
        browser.key("Escape");
    }
    press(&mut browser, [3.0, 0.5]);
    browser.until("selected?.id === '2.0' && fields.density.value === '1'");
    browser.eval("tell(''); $('card-density').focus(); $('card-density').select()");
    browser.text("7");
    browser.key("Enter");
    until_told(&mut browser, "density changed");
    browser.eval("$('canvas').focus()");
    let before = service.hash(&world);
    browser.key("r");
    until_told(&mut browser, "restarted; one change is left out, of bodies that were dropped or shot");
    let is_built = |service: &Service| {
        let scene = service.ask(&format!("{world}/scene"));
        let (bodies, joints) = (scene["bodies"].as_array().unwrap(), scene["joints"].as_array().unwrap());
        assert_eq!((bodies.len(), joints.len(), &service.ask(&world)["step"]), (5, 2, &json!(0)), "{scene}");
        assert_eq!(bodies[2]["shapes"][0]["density"], 7.0);
        for (body, wanted) in [(2, [3.0, 2.0]), (3, [-5.5, 2.5]), (4, [5.0, 5.5])] {
            let at = numbers(&bodies[body]["position"]);
            assert!((at[0] - wanted[0]).hypot(at[1] - wanted[1]) < 0.1, "{body}: {at:?}");
        }
        assert_eq!((&joints[0]["b"], &joints[1]["b"]), (&json!(3), &json!(4)), "{scene}");
    };
    is_built(&service);
    assert_eq!(browser.eval("selected.id"), "2.0");
    browser.key("z");
    until_told(&mut browser, "undone: restart");
    assert_eq!(service.hash(&world), before);
    // After a reload.
    browser.call("Page.reload", &json!({}));
    browser.until("drawn && status?.step === 60 && camera.fitted && bodies.size === 6");
    browser.key("r");
    until_told(&mut browser, "restarted; one change is left out");
    is_built(&service);
    browser.errors.retain(|error| !error.contains("422"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A proxy may refuse streams although it passes requests: the page says so, and goes on once it does not.
#[test]
fn a_stream_that_does_not_open_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    service.make(&two_boxes());
    let mut browser = Browser::open("about:blank", 1000, 700);
    let refused = "window.refuse = true; const Real = window.WebSocket; \
        window.WebSocket = function (url, protocols) { return new Real(window.refuse ? url.replace('/stream', '/nothing') : url, protocols); };";
    browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": refused }));
    browser.call("Page.navigate", &json!({ "url": format!("http://{}/", service.address) }));
    browser.until("$('doing').textContent.includes('a proxy on the way may refuse WebSocket connections')");
    browser.picture("no-stream");
    browser.eval("window.refuse = false");
    browser.until("drawn && $('panel').hidden && bodies.size === 3");
    browser.errors.retain(|error| !error.contains("WebSocket"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Errors go when what they are about is mended, left, or of another world; confirmations go after some seconds.
#[test]
fn messages_end_with_what_they_tell() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    let is_silent = "$('say').textContent === ''";
    let low = pixel(&mut browser, [0.0, 0.5]);
    let wrong_friction = |browser: &mut Browser| {
        browser.eval("$('card-friction').focus(); $('card-friction').select()");
        browser.text("-1");
        browser.key("Enter");
        browser.until("$('say').textContent.startsWith('friction: -1 is not valid')");
    };
    // A field: its error ends with the next letter in it, or when another body is selected, or none.
    click(&mut browser, low);
    browser.until("selected && fields.friction.value && !fields.friction.disabled");
    wrong_friction(&mut browser);
    browser.eval("$('card-friction').focus(); $('card-friction').select()");
    browser.eval("new Promise(done => setTimeout(done, 300))");
    assert_eq!(browser.eval(is_silent), false, "it stays until something is typed");
    browser.text("0.5");
    browser.until(is_silent);
    browser.key("Enter");
    until_told(&mut browser, "friction changed");
    wrong_friction(&mut browser);
    browser.key("Escape");
    browser.until(&format!("!selected && {is_silent}"));
    // A drawing: the error of a corner ends with the drawing.
    browser.key("4");
    let corners = [[1.0, 1.5], [2.0, 1.5], [2.0, 2.0], [1.5, 1.2]];
    for at in corners {
        let at = pixel(&mut browser, at);
        click(&mut browser, at);
    }
    browser.until("$('say').textContent.startsWith('The outline crosses')");
    browser.key("Escape");
    browser.until(&format!("!draft && {is_silent}"));
    browser.key("Escape");
    // Gravity by numbers: the error ends when they are closed.
    browser.click("#gravity-open");
    browser.text("-3");
    browser.key("Enter");
    browser.until("$('say').textContent.startsWith('gravity: -3 is not valid')");
    browser.click("#gravity-close");
    browser.until(is_silent);
    // The form: the mistake ends when the text is changed.
    browser.eval("$('scene').focus()");
    browser.text("{ \"version\": 1, \"bodies\": [ { \"kind\": 1 } ] }");
    browser.click("#create .main");
    browser.until("$('mistake').textContent !== ''");
    browser.eval("$('scene').focus(); $('scene').select()");
    browser.text("{");
    browser.until("$('mistake').textContent === ''");
    // Another world: what was said of this one ends.
    let high = pixel(&mut browser, [3.0, 2.0]);
    click(&mut browser, high);
    browser.until("selected && fields.friction.value && !fields.friction.disabled");
    wrong_friction(&mut browser);
    service.make(&two_boxes());
    browser.until("document.querySelectorAll('#worlds button').length === 2");
    browser.click("#worlds button[aria-current=false]");
    browser.until(&format!("drawn && !world.endsWith('{}') && {is_silent}", world.rsplit('/').next().unwrap()));
    // A confirmation is there, and is gone after some seconds.
    browser.eval("$('canvas').focus()");
    browser.key("k");
    until_told(&mut browser, "state kept as step-0");
    browser.until("$('told').textContent === ''");
    // Another client deletes the displayed world: the page says so, and not for ever.
    let shown = browser.eval("world").as_str().unwrap().to_owned();
    service.send("DELETE", &format!("/v1/worlds/{shown}"), &[], b"").unwrap();
    until_told(&mut browser, "the displayed world was deleted by another client");
    browser.until(&format!("$('told').textContent === '' && {is_silent}"));
    browser.errors.retain(|error| !error.contains("422") && !error.contains("404"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Going back says that later steps are discarded, before and after it is done; so does an undo.
#[test]
fn going_back_says_what_is_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    assert!(browser.eval("$('back').title").as_str().unwrap().contains("the steps after it are discarded"));
    browser.eval("$('canvas').focus()");
    let low = pixel(&mut browser, [0.0, 0.5]);
    browser.mouse("mouseMoved", low);
    browser.key("Delete");
    until_told(&mut browser, "removed dynamic body");
    // At the same step nothing is discarded, and nothing is said.
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    assert_eq!(browser.eval("$('told').textContent"), "undone: a body removed");
    browser.key("Delete");
    until_told(&mut browser, "removed dynamic body");
    browser.key("PageDown");
    browser.until("simulated.step === 60 && status.step === 60");
    browser.key("ArrowLeft");
    until_told(&mut browser, "rewound to step 59; steps after 59 are discarded");
    browser.key("z");
    until_told(&mut browser, "undone: a body removed; steps after 0 are discarded");
    assert_eq!(service.ask(&world)["step"], 0);
    assert_eq!(browser.errors, Vec::<String>::new());
}
