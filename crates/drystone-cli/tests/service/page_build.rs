//! Building on the page in Chromium: bodies drawn, joined, selected and changed, graphs, arrows, and narrow screens.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;
use crate::connections::until;
use crate::page::{numbers, pixel, stand, two_boxes};

/// Returns the bodies of a world as a scene.
pub fn scene(service: &Service, world: &str) -> Value {
    service.ask(&format!("{world}/scene"))
}

pub fn click(browser: &mut Browser, at: [f64; 2]) {
    browser.mouse("mouseMoved", at);
    browser.mouse("mousePressed", at);
    browser.mouse("mouseReleased", at);
}

pub fn drag(browser: &mut Browser, from: [f64; 2], to: [f64; 2]) {
    browser.mouse("mousePressed", from);
    for step in 1..=4 {
        let share = f64::from(step) / 4.0;
        browser.mouse("mouseMoved", [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share]);
    }
    browser.mouse("mouseReleased", to);
}

pub fn until_told(browser: &mut Browser, text: &str) {
    browser.until(&format!("$('told').textContent.startsWith({text:?})"));
}

/// Records the text of files that the page saves.
pub fn keep_files(browser: &mut Browser) {
    browser.eval(
        "(() => { window.files = []; const real = URL.createObjectURL; \
         URL.createObjectURL = blob => { blob.text().then(text => window.files.push(text)); return real(blob); }; })()",
    );
}

#[test]
fn a_scene_is_had_as_the_world_stands() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&two_boxes());
    let ball = json!({ "id": "ball", "position": [-4, 5], "velocity": [1, 0], "shapes": [ { "circle": { "radius": 0.5 }, "density": 3 } ] });
    let commands = json!([ { "spawn": { "bodies": [ball] } }, { "remove": { "bodies": ["low"] } },
        { "join": { "b": "high", "joint": { "type": "distance", "anchor_a": [3, 6], "anchor_b": [0, 0], "length": 4 } } },
        { "gravity": { "gravity": [0, -5] } } ]);
    service.tell(&format!("{world}/commands"), &json!({ "commands": commands }));
    service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    let now = scene(&service, &world);
    assert_eq!(numbers(&now["gravity"]), [0.0, -5.0]);
    let names: Vec<&Value> = now["bodies"].as_array().unwrap().iter().map(|body| &body["id"]).collect();
    assert_eq!(names, ["ground", "high", "ball"]);
    assert_eq!((now["joints"].as_array().unwrap().len(), &now["joints"][0]["type"]), (1, &json!("distance")));
    assert_eq!(now["bodies"][2]["shapes"][0]["density"], 3.0);
    // A world created from it has the same state; one from the first scene does not.
    let again = service.make(&now);
    let (one, other) = (service.ask(&format!("{world}/state")), service.ask(&format!("{again}/state")));
    for (body, copy) in one["bodies"].as_array().unwrap().iter().zip(other["bodies"].as_array().unwrap()) {
        for key in ["position", "velocity"] {
            let (a, b) = (numbers(&body[key]), numbers(&copy[key]));
            assert!((a[0] - b[0]).hypot(a[1] - b[1]) < 1e-6, "{body} {copy}");
        }
    }
    let fall = numbers(&one["bodies"][2]["position"]);
    assert!(fall[0] > -3.9 && fall[1] < 4.95, "{fall:?}");
    assert_eq!(service.get("/v1/worlds/nothing/scene").unwrap().status, 404);
}

#[test]
fn bodies_are_drawn_and_tied_and_all_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["view"] = json!({ "min": [-8, -2], "max": [8, 7] });
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let first = service.hash(&world);

    browser.click("#build");
    browser.click("[data-tool=box]");
    browser.until("tool === 'box' && !$('palette').hidden");
    let (from, to) = (pixel(&mut browser, [-3.0, 4.0]), pixel(&mut browser, [-1.0, 3.0]));
    drag(&mut browser, from, to);
    until_told(&mut browser, "new box: body 3");
    let made = &scene(&service, &world)["bodies"][3];
    let (place, half) = (numbers(&made["position"]), numbers(&made["shapes"][0]["box"]["half"]));
    let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 0.05 && (a[1] - b[1]).abs() < 0.05;
    assert!(near(place, [-2.0, 3.5]) && near(half, [1.0, 0.5]), "{made}");
    // A drag of a few pixels creates nothing.
    drag(&mut browser, from, [from[0] + 2.0, from[1] + 1.0]);
    until_told(&mut browser, "drag from one corner");

    browser.key("3");
    let (middle, rim) = (pixel(&mut browser, [1.0, 4.0]), pixel(&mut browser, [1.5, 4.0]));
    drag(&mut browser, middle, rim);
    until_told(&mut browser, "new circle: body 4");
    let made = &scene(&service, &world)["bodies"][4];
    assert!((made["shapes"][0]["circle"]["radius"].as_f64().unwrap() - 0.5).abs() < 0.05, "{made}");

    // Clockwise works like counter-clockwise; a corner whose line crosses another is refused, and the others stay.
    browser.key("4");
    for at in [[3.0, 4.0], [4.0, 5.0], [5.0, 4.0], [3.5, 5.0]] {
        let at = pixel(&mut browser, at);
        click(&mut browser, at);
    }
    browser.picture("draft");
    browser.until("$('say').textContent.includes('crosses')");
    let is_beside = "(() => { const a = $('say').getBoundingClientRect(), b = $('palette').getBoundingClientRect(); \
         return a.width > 100 && (a.left >= b.right || a.top >= b.bottom); })()";
    assert_eq!(browser.eval(is_beside), true);
    browser.size(390, 844);
    assert_eq!(browser.eval(is_beside), true);
    browser.size(1280, 720);
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!((browser.eval("draft.corners.length"), &service.ask(&world)["bodies"]), (json!(3), &json!(5)));
    let again = pixel(&mut browser, [3.05, 4.0]);
    click(&mut browser, again);
    until_told(&mut browser, "new polygon: body 5");
    assert_eq!(scene(&service, &world)["bodies"][5]["shapes"][0]["polygon"]["points"].as_array().unwrap().len(), 3);
    assert_eq!(browser.eval("$('say').textContent"), "");

    browser.key("Escape");
    browser.key("Escape");
    browser.until("tool === '' && !selected");
    let third = service.hash(&world);
    for (key, from, to, told) in [
        ("6", [-2.0, 3.5], [1.0, 4.0], "spring between body 3 and body 4"),
        ("5", [3.9, 4.3], [3.9, 2.6], "hinge between body 5 and the world"),
        ("7", [1.2, 4.0], [3.0, 2.0], "rod between body 4 and body 2"),
        ("8", [0.0, 0.5], [0.0, -0.3], "weld between body 1 and body 0"),
    ] {
        browser.key(key);
        for at in [from, to] {
            let at = pixel(&mut browser, at);
            click(&mut browser, at);
        }
        until_told(&mut browser, told);
    }
    let kinds = |service: &Service| -> Vec<Value> {
        let joints = service.ask(&format!("{world}/joints"));
        joints["joints"].as_array().unwrap().iter().map(|joint| joint["type"].clone()).collect()
    };
    assert_eq!(kinds(&service), ["spring", "revolute", "distance", "weld"]);
    let pin = service.ask(&format!("{world}/joints"))["joints"][1].clone();
    assert!(pin["a"].is_null() && near(numbers(&pin["anchor_a"]), [3.9, 2.6]), "{pin}");
    browser.picture("built");
    // The world keeps them while it runs.
    service.tell(&format!("{world}/step"), &json!({ "steps": 20 }));
    assert_ne!(service.hash(&world), third);

    // Back to the state before the spring, to the same bits.
    for (left, told) in
        [(3, "undone: new weld"), (2, "undone: new rod"), (1, "undone: new hinge"), (0, "undone: new spring")]
    {
        browser.key_with("z", if left % 2 == 0 { 2 } else { 0 });
        until_told(&mut browser, told);
        assert_eq!(kinds(&service).len(), left);
    }
    assert_eq!(service.hash(&world), third);
    assert_ne!(third, first);
    browser.click("#undo");
    until_told(&mut browser, "undone: new polygon");
    browser.click("#undo");
    until_told(&mut browser, "undone: new circle");
    browser.until("bodies.size === 4 && $('undo').disabled");
    browser.key("z");
    until_told(&mut browser, "there is nothing to undo");
    // Its checkpoints are removed.
    let kept = || service.ask(&format!("{world}/checkpoints"))["checkpoints"].as_array().unwrap().len();
    until("one checkpoint is left", || kept() == 1);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// An outline with corners that turn inwards is one body of convex parts, with the area that was drawn. The empty scene
/// is shown at its own view, as large as the palette leaves room for; the palette and its text are not part of a drag.
#[test]
fn an_outline_that_turns_inwards_is_one_body() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 1280, 720);
    browser.click("#empty");
    browser.until("drawn && bodies.size === 1 && camera.given && !$('palette').hidden");
    let is_shown = "(() => { const c = $('canvas').getBoundingClientRect(), p = $('palette').getBoundingClientRect(), \
         x = c.x + c.width / 2 + (-8 - camera.x) * camera.scale, y = c.y + c.height / 2 - (7.5 - camera.y) * camera.scale; \
         return x >= p.right - 3 && y >= c.y - 1 && 16 * camera.scale > 0.6 * c.width; })()";
    browser.until(is_shown);
    let name = browser.eval("world").as_str().unwrap().to_owned();
    let world = format!("/v1/worlds/{name}");
    browser.key("4");
    let outline = [[-2.0, 1.0], [2.0, 1.0], [2.0, 4.0], [1.0, 4.0], [1.0, 2.0], [-1.0, 2.0], [-1.0, 4.0], [-2.0, 4.0]];
    for at in outline {
        let at = pixel(&mut browser, at);
        click(&mut browser, at);
    }
    browser.picture("outline");
    browser.key("Enter");
    until_told(&mut browser, "new polygon: body 1");
    browser.picture("u");
    let made = scene(&service, &world);
    let shapes = made["bodies"][1]["shapes"].as_array().unwrap();
    let area = |shape: &Value| -> f64 {
        let points: Vec<[f64; 2]> = shape["polygon"]["points"].as_array().unwrap().iter().map(numbers).collect();
        let next = points.iter().cycle().skip(1);
        points.iter().zip(next).map(|(a, b)| (a[0] * b[1] - a[1] * b[0]) / 2.0).sum()
    };
    let total: f64 = shapes.iter().map(area).sum();
    assert!(shapes.len() == 3 && (total - 8.0).abs() < 0.2, "not 12 m², as its hull has: {total} of {made}");
    assert_eq!(made["bodies"].as_array().unwrap().len(), 2);

    // A drag that begins on the palette selects no text.
    let place = "(() => { const r = document.querySelector('[data-tool=rod]').getBoundingClientRect(); return [r.x + 4, r.y + 4]; })()";
    let from = numbers(&browser.eval(place));
    drag(&mut browser, from, [from[0] - 60.0, from[1] + 45.0]);
    assert_eq!(browser.eval("getSelection().toString()"), "");
}

/// Undo takes back the last change and nothing else, beside any other checkpoints: those of the user leave it room; if
/// other pages have taken all of it, its own oldest one makes room; and a change that could not be kept is not passed
/// by without a word.
#[test]
fn undo_takes_back_the_last_change_alone() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut scene = two_boxes();
    scene["view"] = json!({ "min": [-8, -2], "max": [8, 7] });
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    let bodies = || service.ask(&world)["bodies"].as_u64().unwrap();
    // The page does not wait until a checkpoint that it no longer needs is removed.
    let until_kept = |wanted: usize| {
        until("that many checkpoints for undo are left", || {
            let kept = service.ask(&format!("{world}/checkpoints"))["checkpoints"].clone();
            kept.as_array().unwrap().iter().filter(|name| name.as_str().unwrap().starts_with("undo-")).count() == wanted
        });
    };
    let fill = |prefix: &str| {
        let save = |n: u32| service.post(&format!("{world}/checkpoint"), &json!({ "name": format!("{prefix}-{n}") }));
        let made = (0..20).map(|n| save(n).unwrap()).take_while(|answer| answer.status == 200).count();
        // One more than there may be, and why it is refused.
        let refused = save(20).unwrap();
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(refused.status == 422 && detail.contains("16 checkpoints"), "{detail}");
        made
    };
    let draw = |browser: &mut Browser, x: f64| {
        let (from, to) = (pixel(browser, [x, 4.0]), pixel(browser, [x + 0.8, 3.2]));
        browser.eval("tell('')");
        drag(browser, from, to);
        browser.until("$('told').textContent.startsWith('new box: body')");
    };
    let told = |browser: &mut Browser| browser.eval("$('told').textContent").as_str().unwrap().to_owned();
    let undo = |browser: &mut Browser, wanted: &str| {
        browser.eval("tell('')");
        browser.key("z");
        browser.until(&format!("$('told').textContent.includes({wanted:?})"));
    };

    // All checkpoints of the user are taken.
    assert_eq!(fill("mine"), 16);
    let start = service.hash(&world);
    browser.key("2");
    draw(&mut browser, -3.0);
    assert!(!told(&mut browser).contains("cannot"), "{}", told(&mut browser));
    let first = service.hash(&world);
    draw(&mut browser, -1.0);
    undo(&mut browser, "undone: new box");
    assert_eq!((service.hash(&world), bodies()), (first.clone(), 4));
    undo(&mut browser, "undone: new box");
    assert_eq!((service.hash(&world), bodies()), (start.clone(), 3));
    undo(&mut browser, "there is nothing to undo");

    // Other pages take what is left for undo after the first change: the second one has the place of the first.
    draw(&mut browser, -3.0);
    until_kept(1);
    assert_eq!(fill("undo-zzzzzzz"), 15, "the page has one");
    draw(&mut browser, -1.0);
    assert!(!told(&mut browser).contains("cannot"), "{}", told(&mut browser));
    undo(&mut browser, "undone: new box");
    assert_eq!((service.hash(&world), bodies()), (first.clone(), 4), "the first change stays");
    undo(&mut browser, "there is nothing to undo");

    // No place at all, and the page has none: the change is made, and the page says that it stays.
    until_kept(15);
    assert_eq!(fill("undo-zzzzzz"), 1);
    draw(&mut browser, -1.0);
    browser.until("$('told').textContent.includes('this cannot be undone: the world has 16 checkpoints')");
    let second = service.hash(&world);
    undo(&mut browser, "new box cannot be undone");
    assert_eq!((service.hash(&world), bodies()), (second.clone(), 5));
    // Checkpoints that pages have left behind long ago make room.
    service.send("DELETE", &format!("{world}/checkpoints/undo-zzzzzzz-0"), &[], b"").unwrap();
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "undo-sotk3k-old-0" }));
    draw(&mut browser, 3.0);
    undo(&mut browser, "undone: new box");
    assert_eq!((service.hash(&world), bodies()), (second, 5));
    let kept = service.ask(&format!("{world}/checkpoints"));
    assert!(!kept.to_string().contains("-old-"), "{kept}");

    // The store fails after a change that was kept: the first press says so, the second takes back both.
    browser.eval(
        "(() => { const real = window.fetch; window.fetch = (path, options) => window.full && path.endsWith('/checkpoint') \
         ? Promise.resolve(new Response(JSON.stringify({ detail: 'the store is full' }), { status: 507 })) : real(path, options); })()",
    );
    let before = service.hash(&world);
    draw(&mut browser, 3.0);
    browser.eval("window.full = true");
    draw(&mut browser, 5.0);
    let both = service.hash(&world);
    undo(&mut browser, "new box cannot be undone: the store is full; once more undoes it together with new box");
    assert_eq!((service.hash(&world), bodies()), (both, 7));
    undo(&mut browser, "undone: new box and new box");
    assert_eq!((service.hash(&world), bodies()), (before, 5));
    browser.errors.retain(|error| !error.contains("422"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The view of a scene stays whole when graphs take a part of the picture; without the graphs it is as before.
#[test]
fn graphs_leave_the_view_whole() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["view"] = json!({ "min": [-8, -2], "max": [8, 7] });
    let (mut browser, _) = stand(&service, &start, 1280, 720);
    let is_whole = "camera.y + $('canvas').clientHeight / 2 / camera.scale >= 7 - 1e-6 && \
         camera.y - $('canvas').clientHeight / 2 / camera.scale <= -2 + 1e-6";
    browser.until(is_whole);
    let (scale, height) = (browser.eval("camera.scale"), browser.eval("$('canvas').clientHeight"));
    browser.click("#graph");
    browser.until(&format!("$('canvas').clientHeight < 0.8 * {height} && {is_whole}"));
    browser.picture("graphs-whole");
    browser.click("#graphs-close");
    browser.until(&format!("$('canvas').clientHeight === {height} && camera.scale === {scale}"));
    // A view that the user has taken stays.
    browser.key(".");
    let taken = browser.eval("camera.scale");
    browser.click("#graph");
    browser.until(&format!("$('canvas').clientHeight < 0.8 * {height}"));
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(browser.eval("camera.scale"), taken);
}

#[test]
fn a_body_is_selected_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["joints"] =
        json!([ { "type": "distance", "a": "low", "b": "high", "anchor_a": [0, 0], "anchor_b": [0, 0] } ]);
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let first = service.hash(&world);
    let high = pixel(&mut browser, [3.0, 2.0]);
    click(&mut browser, high);
    browser.until("selected && selected.id === '2.0' && !$('card').hidden && fields.density.value === '1'");
    assert_eq!(service.hash(&world), first, "a click pulls nothing");
    browser.picture("card");
    let set = |browser: &mut Browser, field: &str, value: &str| {
        // The fields of a card are disabled until its numbers are there.
        browser.until(&format!("!$('card-{field}').disabled"));
        browser.eval(&format!("$('card-{field}').focus(), $('card-{field}').select()"));
        browser.text(value);
        browser.key("Enter");
    };
    // A value out of range changes nothing.
    set(&mut browser, "restitution", "7");
    browser.until("$('say').textContent.startsWith('restitution: 7 is not valid') && fields.restitution.value === '0'");
    assert_eq!(service.hash(&world), first);
    set(&mut browser, "density", "4");
    until_told(&mut browser, "density changed");
    set(&mut browser, "restitution", "0.5");
    until_told(&mut browser, "restitution changed");
    set(&mut browser, "friction", "0.25");
    until_told(&mut browser, "friction changed");
    set(&mut browser, "vy", "3");
    until_told(&mut browser, "velocity changed");
    browser.click("#card-fixed_rotation");
    until_told(&mut browser, "lock of rotation changed");
    let now = scene(&service, &world);
    let body = now["bodies"].as_array().unwrap().iter().find(|body| body["id"] == "high").unwrap();
    let shape = &body["shapes"][0];
    let close = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-6;
    assert!(
        close(&shape["density"], 4.0) && close(&shape["restitution"], 0.5) && close(&shape["friction"], 0.25),
        "{body}"
    );
    assert_eq!((&body["fixed_rotation"], numbers(&body["velocity"])), (&json!(true), [0.0, 3.0]));
    let low = now["bodies"].as_array().unwrap().iter().find(|body| body["id"] == "low").unwrap();
    assert!(low["shapes"][0].get("density").is_none_or(|density| density == 1), "{low}");
    // The new body is still joined, and still selected; its mass is shown, and its motion by arrow keys.
    let joints = service.ask(&format!("{world}/joints"));
    let selected = browser.eval("selected.id");
    assert_eq!((joints["joints"].as_array().unwrap().len(), &joints["joints"][0]["b"]), (1, &selected), "{joints}");
    browser.until("$('card-now').textContent.startsWith('4 kg')");
    // Static by the list, chosen with a key.
    browser.eval("$('card-type').focus()");
    browser.key("s");
    until_told(&mut browser, "type changed");
    browser.until("fields.type.value === 'static' && fields.vx.disabled");
    service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    let place = service.ask(&format!("{world}/state"));
    let place = place["bodies"].as_array().unwrap().iter().find(|body| body["name"] == "high").unwrap();
    assert_eq!(numbers(&place["position"]), [3.0, 2.0]);
    // A click on empty space deselects.
    let empty = pixel(&mut browser, [1.2, 2.2]);
    click(&mut browser, empty);
    browser.until("!selected && $('card').hidden");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A body whose mass is given in the scene has a field for its mass: a change sets it, and its inertia with it.
#[test]
fn a_given_mass_is_shown_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["bodies"][2]["mass"] = json!(6);
    start["bodies"][2]["inertia"] = json!(0.5);
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let high = pixel(&mut browser, [3.0, 2.0]);
    click(&mut browser, high);
    browser.until("selected && fields.density.value === '6' && $('card-density-label').textContent === 'Mass, kg'");
    let set = |browser: &mut Browser, value: &str, wanted: &str| {
        browser.eval("tell(''); fields.density.focus(); fields.density.select()");
        browser.text(value);
        browser.key("Enter");
        until_told(browser, wanted);
    };
    set(&mut browser, "12", "mass changed");
    let body = |service: &Service| {
        scene(service, &world)["bodies"].as_array().unwrap().iter().find(|body| body["id"] == "high").unwrap().clone()
    };
    assert_eq!((&body(&service)["mass"], &body(&service)["inertia"]), (&json!(12.0), &json!(1.0)));
    browser.until("$('card-now').textContent.startsWith('12 kg')");
    // And back to what it was.
    set(&mut browser, "6", "mass changed");
    assert_eq!((&body(&service)["mass"], &body(&service)["inertia"]), (&json!(6.0), &json!(0.5)));
    // A body without a given mass has a density: the square metre of the other box.
    let low = pixel(&mut browser, [0.0, 0.5]);
    click(&mut browser, low);
    browser.until("selected && selected.id === '1.0' && $('card-density-label').textContent.startsWith('Density') && fields.density.value === '1'");
    set(&mut browser, "2.5", "density changed");
    browser.until("$('card-now').textContent.startsWith('2.5 kg')");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Gravity by its number: the direction stays.
#[test]
fn gravity_is_set_by_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["gravity"] = json!([3, -4]);
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let gravity = || numbers(&service.ask(&world)["gravity"]);
    browser.click("#gravity-open");
    browser.until("$('gravity-size').value === '5' && $('gravity-x').value === '3' && $('gravity-y').value === '-4'");
    let set = |browser: &mut Browser, value: &str| {
        browser.eval("tell(''); $('gravity-size').focus(); $('gravity-size').select()");
        browser.text(value);
        browser.key("Enter");
    };
    set(&mut browser, "1.62");
    until_told(&mut browser, "gravity 1.62 m/s²");
    let [x, y] = gravity();
    assert!((x - 0.6 * 1.62).abs() < 1e-6 && (y + 0.8 * 1.62).abs() < 1e-6, "{x} {y}");
    set(&mut browser, "0");
    until_told(&mut browser, "gravity 0.00 m/s²");
    assert_eq!(gravity(), [0.0, 0.0]);
    set(&mut browser, "9.81");
    until_told(&mut browser, "gravity 9.81 m/s²");
    assert!((gravity()[1] + 9.81).abs() < 1e-6 && gravity()[0] == 0.0);
    set(&mut browser, "-3");
    browser.until("$('say').textContent.startsWith('gravity: -3 is not valid')");
    assert!((gravity()[1] + 9.81).abs() < 1e-6);
    // Its components, one by one.
    browser.eval("tell(''); $('gravity-x').focus(); $('gravity-x').select()");
    browser.text("-2.5");
    browser.key("Enter");
    until_told(&mut browser, "gravity 10.12 m/s²");
    assert!((gravity()[0] + 2.5).abs() < 1e-6 && (gravity()[1] + 9.81).abs() < 1e-6);
    browser.picture("gravity-numbers");
    // From the menu, too, where the dial is covered; Esc closes the numbers.
    browser.key("Escape");
    browser.until("$('gravity-numbers').hidden");
    browser.click("#more summary");
    browser.click("#gravity-menu");
    browser.until("!$('gravity-numbers').hidden && document.activeElement === $('gravity-size')");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A ball in free fall, in graphs, arrows and tables.
#[test]
fn graphs_and_arrows_show_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let scene = json!({ "version": 1, "name": "fall", "gravity": [0, -10], "view": { "min": [-30, -20], "max": [30, 20] }, "bodies": [
        { "id": "ball", "position": [0, 15], "velocity": [3, 0], "shapes": [ { "circle": { "radius": 1 }, "density": 2 } ] } ] });
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    keep_files(&mut browser);
    let at = pixel(&mut browser, [0.0, 15.0]);
    browser.mouse("mouseMoved", at);
    browser.key("w");
    browser.until("graphs_shown && selected.id === '0.0' && !$('graphs').hidden && wanted.format === 'full'");
    browser.key("v");
    for _ in 0..30 {
        let steps = browser.eval("simulated.step").as_u64().unwrap();
        browser.key("ArrowRight");
        browser.until(&format!("simulated.step === {} && samples.body.at(-1)?.[STEP] === simulated.step", steps + 1));
    }
    // Half a second: v = (3, −5) m/s, a = (0, −10) m/s², F = m a with m = 2π kg.
    let last = browser.eval("samples.body.at(-1)");
    let value = |index: usize| last[index].as_f64().unwrap();
    assert!((value(5) - 3.0).abs() < 1e-3 && (value(6) + 5.0).abs() < 1e-3, "{last}");
    assert!((value(9) + 10.0).abs() < 0.05 && (value(11) + 20.0 * std::f64::consts::PI).abs() < 0.5, "{last}");
    assert!((value(3) - (15.0 - 1.25)).abs() < 0.1 && value(0) == 0.5, "{last}");
    browser.until("samples.energies.length > 1 && samples.energies.at(-1)[STEP] === simulated.step");
    let energies = browser.eval("samples.energies.at(-1)");
    let metrics = service.ask(&format!("{world}/metrics"))["metrics"].clone();
    assert_eq!((&energies[2], &energies[5]), (&metrics["kinetic_energy"], &metrics["total_energy"]));
    browser.until("figures[2].canvas.getAttribute('aria-label').includes('speed 5.8')");
    browser.picture("graphs");

    // The arrow has the length given by its scale.
    let ratio = browser.eval(
        "(() => { collect($('canvas').width, $('canvas').height, 1); const n = [...Array(count).keys()].find(n => words[n * STRIDE + 8] === rgba(ARROWS[0].color)); \
         const px = 2 * instances[n * STRIDE + 4], bar = $('arrow-scales').querySelector('i').getBoundingClientRect().width, size = parseFloat($('arrow-scales').textContent.match(/velocity ([\\d.]+)/)[1]); \
         return px / bar * size; })()",
    );
    let speed = 34.0_f64.sqrt();
    assert!((ratio.as_f64().unwrap() / speed - 1.0).abs() < 0.02, "{ratio} m/s, and not {speed}");
    browser.key("v");
    browser.until("!layers.velocities && $('arrow-scales').textContent === ''");

    // Tables have a header with units and a row per sample.
    browser.click("#csv-body");
    browser.click("#csv-energies");
    browser.until("window.files.length === 2");
    let files = browser.eval("window.files.sort((a, b) => b.length - a.length)");
    let body: Vec<&str> = files[0].as_str().unwrap().lines().collect();
    assert!(body[0].starts_with("step,time_s,x_m,y_m,angle_rad,vx_m_per_s,vy_m_per_s"), "{}", body[0]);
    // The first acceleration is not known: its cells are empty, and not 0.
    let cells: Vec<&str> = body[1].split(',').collect();
    assert!(cells[8..12].iter().all(|cell| cell.is_empty()) && !cells[5].is_empty(), "{}", body[1]);
    assert!(body[2].split(',').all(|cell| !cell.is_empty()), "{}", body[2]);
    assert!(body.len() >= 31 && body.last().unwrap().split(',').count() == body[0].split(',').count());
    assert!(
        files[1]
            .as_str()
            .unwrap()
            .starts_with("step,time_s,kinetic_energy_J,potential_energy_J,elastic_energy_J,total_energy_J\n")
    );
    // A rewind removes the samples of discarded steps.
    browser.key("ArrowLeft");
    browser.until("simulated.step === 29 && !going");
    browser.key("ArrowRight");
    browser.until("simulated.step === 30 && samples.body.at(-1)[STEP] === 30");
    assert_eq!(browser.eval("samples.body.every((row, i, all) => !i || row[0] > all[i - 1][0])"), true);

    // The saved file is a scene.
    browser.key("j");
    browser.until("window.files.length === 3");
    let text = browser.eval("window.files.find(text => text.startsWith('{'))");
    let saved: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert!((numbers(&saved["bodies"][0]["velocity"])[1] + 5.0).abs() < 1e-3, "{saved}");
    service.make(&saved);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The arch fills the picture: only the near side of its ground, which is twenty times as long, is shown.
#[test]
fn what_stands_on_a_long_ground_is_large() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let share = "(() => { const all = [...bodies.values()].filter(isDynamic).map(body => bounds(body, looks(body))).reduce(join_boxes); \
         return Math.max((all[3] - all[1]) * camera.scale / $('canvas').clientHeight, (all[2] - all[0]) * camera.scale / $('canvas').clientWidth); })()";
    for (width, height, name) in [(1280, 720, "wide"), (390, 844, "phone")] {
        let (mut browser, world) = stand(&service, &json!({ "scene": "arch" }), width, height);
        let found = browser.eval(share).as_f64().unwrap();
        browser.picture(&format!("arch-{name}"));
        assert!((0.6..=0.9).contains(&found), "{name}: {found} of the picture");
        // The control: its size in a picture of the whole ground.
        let whole = browser.eval("$('canvas').clientWidth / 200 / camera.scale").as_f64().unwrap();
        assert!(found * whole < 0.5, "{name}: {found} {whole}");
        service.send("DELETE", &world, &[], b"").unwrap();
    }
}

/// On the smallest phone the bar leaves two thirds of the screen, the list of keys begins at its beginning, and a body
/// that was tapped is not behind its card.
#[test]
fn a_small_phone_shows_what_is_selected() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 360, 640);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    assert_eq!(browser.eval("document.querySelector('main > header').offsetHeight < 145"), true);
    // Upright and across, all of the menu can be reached: what is below the edge is scrolled to.
    for (width, height) in [(360, 640), (640, 360)] {
        browser.size(width, height);
        browser.click("#more summary");
        let reached = "[...document.querySelectorAll('.menu > *:not([hidden])')].every(entry => { entry.scrollIntoView({ block: 'nearest' }); const r = entry.getBoundingClientRect(); \
             return r.width > 24 && r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight + 1; })";
        browser.until("$('more').open");
        assert_eq!(browser.eval(reached), true, "{width} × {height}");
        browser.click("#more summary");
        browser.until("!$('more').open && !document.querySelector('#measure').offsetParent");
    }
    browser.size(360, 640);
    browser.until("follow_bodies.area === [$('canvas').clientWidth, $('canvas').clientHeight, ...covered()].join()");
    let middle = "(() => { const b = [...bodies.values()].find(isDynamic), r = $('canvas').getBoundingClientRect(), [x, y] = pixel_of([b.x, b.y]); return [r.x + x, r.y + y]; })()";
    let at = numbers(&browser.eval(middle));
    browser.touch("touchStart", &[at]);
    browser.touch("touchEnd", &[]);
    browser.until(&format!(
        "!$('card').hidden && {middle}[1] < $('card').getBoundingClientRect().top && {middle}[1] > $('canvas').getBoundingClientRect().top"
    ));
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.picture(&format!("small-card-{scheme}"));
    }
    browser.key("?");
    browser.until("$('help').open && $('help').scrollHeight > $('help').clientHeight");
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(browser.eval("$('help').scrollTop"), json!(0));
}

#[test]
fn on_a_phone_the_list_is_a_drawer() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let old = service.make(&json!({ "scene": "slope" }));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let (mut browser, world) = stand(&service, &two_boxes(), 390, 844);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    // The whole picture and its controls without scrolling.
    let is_whole = "document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth && \
         $('facts').getBoundingClientRect().bottom <= innerHeight + 1 && $('canvas').clientHeight > 400";
    assert_eq!(browser.eval(is_whole), true);
    let is_open =
        "getComputedStyle($('side')).visibility === 'visible' && $('side').getBoundingClientRect().left === 0";
    // While it slides out it still covers the button.
    let is_closed = "getComputedStyle($('side')).visibility === 'hidden'";
    assert_eq!(browser.eval(is_closed), true);
    browser.tap("#lists");
    browser.until(is_open);
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.picture(&format!("drawer-{scheme}"));
    }
    assert_eq!(
        browser.eval("[document.activeElement.id, $('lists').getAttribute('aria-expanded')]"),
        json!(["side-close", "true"])
    );
    browser.tap("#worlds li:last-child button");
    let id = old.rsplit('/').next().unwrap();
    browser.until(&format!("world === '{id}' && drawn && {is_closed}"));
    // A key closes it, and a press beside it.
    browser.tap("#lists");
    browser.until(is_open);
    browser.key("Escape");
    browser.until(&format!("{is_closed} && document.activeElement.id === 'lists'"));
    browser.tap("#lists");
    browser.until(is_open);
    browser.touch("touchStart", &[[380.0, 500.0]]);
    browser.touch("touchEnd", &[]);
    browser.until(is_closed);

    // Fingers can build as well.
    let own = world.rsplit('/').next().unwrap();
    browser.eval(&format!("open_world('{own}')"));
    browser.until(&format!("world === '{own}' && drawn && camera.fitted && $('panel').hidden && status"));
    browser.tap("#build");
    browser.tap("[data-tool=box]");
    browser.until("tool === 'box'");
    let from = [120.0, 420.0];
    browser.touch("touchStart", &[from]);
    for share in [0.3, 0.7, 1.0] {
        browser.touch("touchMove", &[[from[0] + 60.0 * share, from[1] + 50.0 * share]]);
    }
    browser.touch("touchEnd", &[]);
    until_told(&mut browser, "new box: body 3");
    browser.until("bodies.size === 4 && shapes.size === 4");
    // Chromium takes a tap right after a swipe for its end, and makes no click of it.
    std::thread::sleep(std::time::Duration::from_millis(600));
    browser.tap("[data-tool=box]");
    browser.until("tool === '' && bodies.size === 4");
    // The view makes room for the card.
    let middle = "(() => { const b = [...bodies.values()].at(-1), r = $('canvas').getBoundingClientRect(), [x, y] = pixel_of([b.x, b.y]); return [r.x + x, r.y + y]; })()";
    browser.until(&format!(
        "follow_bodies.area === [$('canvas').clientWidth, $('canvas').clientHeight, ...covered()].join() && {middle}[1] < $('card').getBoundingClientRect().top"
    ));
    let at = numbers(&browser.eval(middle));
    browser.touch("touchStart", &[at]);
    browser.touch("touchEnd", &[]);
    browser.until("selected && selected.id === '3.0' && !$('card').hidden && !$('card-more').hidden && fields.density.value === '1'");
    let fits = "(() => { const r = $('card').getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight && r.height < 0.5 * innerHeight; })()";
    assert_eq!(browser.eval(fits), true);
    browser.picture("phone-card");
    assert_eq!(browser.eval(is_whole), true);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// One press where two bodies overlap joins them; a second one adds nothing. Two presses on one body nail it.
#[test]
fn bodies_that_overlap_are_pinned_by_one_press() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = two_boxes();
    start["view"] = json!({ "min": [-8, -2], "max": [8, 7] });
    let bodies = start["bodies"].as_array_mut().unwrap();
    bodies.push(json!({ "id": "wheel", "position": [0.3, 0.4], "shapes": [ { "circle": { "radius": 0.4 } } ] }));
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let joints = |service: &Service| -> Vec<Value> {
        service.ask(&format!("{world}/joints"))["joints"].as_array().unwrap().clone()
    };
    browser.eval("$('canvas').focus()");
    browser.key("5");
    browser.until("tool === 'hinge'");
    let over = pixel(&mut browser, [0.3, 0.4]);
    click(&mut browser, over);
    until_told(&mut browser, "hinge between body 3 and body 1");
    let pins = joints(&service);
    let place = |pin: &Value| numbers(&pin["anchor_b"]).map(|x| (20.0 * x).round() / 20.0);
    assert_eq!((pins.len(), &pins[0]["type"]), (1, &json!("revolute")));
    // In the frame of body 1, at (0, 0.5), or of body 3, at (0.3, 0.4).
    let wanted = if pins[0]["b"] == "1.0" { [0.3, -0.1] } else { [0.0, 0.0] };
    assert_eq!(place(&pins[0]), wanted, "{}", pins[0]);
    click(&mut browser, over);
    until_told(&mut browser, "there is a hinge here already");
    assert_eq!(joints(&service).len(), 1);
    // Where one body is alone, two presses nail it to the world.
    let alone = pixel(&mut browser, [3.0, 2.0]);
    click(&mut browser, alone);
    until_told(&mut browser, "hinge: body 2; now the other end");
    click(&mut browser, alone);
    until_told(&mut browser, "hinge between body 2 and the world");
    // A weld on one body is refused.
    browser.key("8");
    for _ in 0..2 {
        click(&mut browser, alone);
    }
    browser.until("$('say').textContent.startsWith('Both ends are on the same body')");
    assert_eq!(joints(&service).len(), 2);
    browser.until("joints.length === 2");
    for left in [1, 0] {
        browser.key("z");
        browser.until(&format!("joints.length === {left} && !making"));
        assert_eq!(joints(&service).len(), left);
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}
