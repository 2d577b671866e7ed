//! Joints on the page in Chromium, undo and redo, and tables with a row per step.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;
use crate::page::{numbers, pixel, stand};
use crate::page_build::{click, keep_files, scene, until_told};

/// Two boxes with a spring between them; the right one is pinned to the world near its upper right corner.
fn tied() -> Value {
    json!({ "version": 1, "name": "tied", "view": { "min": [-6, -2], "max": [6, 5] }, "bodies": [
        { "id": "ground", "type": "static", "position": [0, -0.5], "shapes": [ { "box": { "half": [20, 0.5] } } ] },
        { "id": "left", "position": [-2, 2], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] },
        { "id": "right", "position": [2, 2], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] } ],
      "joints": [
        { "type": "spring", "id": "coil", "a": "left", "b": "right", "stiffness": 50, "damping": 1, "rest_length": 4 },
        { "type": "revolute", "b": "right", "anchor_a": [2.25, 2.25], "anchor_b": [0.25, 0.25] } ] })
}

/// Returns the joints of a body, as the service describes them.
fn joints(service: &Service, world: &str, body: &str) -> Vec<Value> {
    service.ask(&format!("{world}/bodies/{body}"))["joints"].as_array().unwrap().clone()
}

fn set(browser: &mut Browser, field: &str, value: &str, wanted: &str) {
    browser.eval(&format!("tell(''); say(); $('{field}').focus(); $('{field}').select()"));
    if value.is_empty() {
        browser.key("Delete");
    } else {
        browser.text(value);
    }
    browser.key("Enter");
    browser.until(&format!("$('told').textContent === {wanted:?} || $('say').textContent.startsWith({wanted:?})"));
}

#[test]
fn a_joint_is_selected_changed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &tied(), 1280, 720);
    let first = service.hash(&world);
    let marked = "(() => { collect($('canvas').width, $('canvas').height, 1); \
         return [...Array(count).keys()].filter(n => words[n * STRIDE + 8] === SELECTED).length; })()";
    assert_eq!(browser.eval(marked), 0);
    let press = |browser: &mut Browser, at: [f64; 2]| {
        let at = pixel(browser, at);
        click(browser, at);
    };
    press(&mut browser, [0.0, 2.0]);
    browser.until("selected_joint && !$('card').hidden && $('joint-stiffness').value === '50'");
    assert_eq!(browser.eval("$('card-title').textContent"), "Spring 0 (coil)");
    assert_eq!(browser.eval("$('card-ends').textContent"), "between body 1 and body 2");
    assert!(browser.eval(marked).as_u64().unwrap() > 0, "it is highlighted");
    assert_eq!(service.hash(&world), first, "a click changes nothing");
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.picture(&format!("joint-{scheme}"));
    }

    set(&mut browser, "joint-stiffness", "80", "stiffness changed");
    let [coil, pin] = &joints(&service, &world, "right")[..] else { panic!("two joints") };
    let (coil, pin) = if coil["joint"]["type"] == "spring" { (coil, pin) } else { (pin, coil) };
    assert_eq!((&coil["joint"]["stiffness"], &coil["joint"]["damping"]), (&json!(80.0), &json!(1.0)), "{coil}");
    assert_eq!((&pin["id"], &coil["joint"]["id"]), (&json!("1.0"), &json!("coil")), "the other one is as it was");
    set(&mut browser, "joint-stiffness", "-5", "stiffness: -5 is not valid");
    assert_eq!(browser.eval("$('joint-stiffness').value"), "80");
    browser.key("z");
    until_told(&mut browser, "undone: stiffness of spring 0");
    let stiffness = |service: &Service| joints(service, &world, "left")[0]["joint"]["stiffness"].clone();
    assert_eq!((stiffness(&service), service.hash(&world)), (json!(50.0), first.clone()));
    browser.key("y");
    until_told(&mut browser, "redone: stiffness of spring 0");
    assert_eq!(stiffness(&service), json!(80.0));

    // From a body to its joints, and back, by links.
    press(&mut browser, [-2.0, 2.0]);
    browser.until(
        "selected?.id === '1.0' && !selected_joint && !$('card-more').hidden && $('card-joints').textContent === 'Joint: spring 0 to body 2'",
    );
    browser.click("#card-joints .link");
    browser.until("!selected && selected_joint && $('joint-stiffness').value === '80'");
    browser.click("#card-ends .link:last-child");
    browser.until("selected?.id === '2.0' && $('card-joints').textContent.includes('hinge 1 to the world')");

    // The pin is on a body, which is selected beside it.
    press(&mut browser, [2.25, 2.25]);
    browser.until("shown_joint()?.type === 'revolute' && $('joint-limits-0')");
    press(&mut browser, [1.8, 1.8]);
    browser.until("selected?.id === '2.0' && !selected_joint");
    press(&mut browser, [2.25, 2.25]);
    browser.until("shown_joint()?.type === 'revolute' && $('joint-limits-0')");
    let hinge = |service: &Service| {
        joints(service, &world, "right").into_iter().find(|joint| joint["joint"]["type"] == "revolute").unwrap()["joint"].clone()
    };
    set(&mut browser, "joint-limits-0", "-0.5", "lower limit changed");
    let limits = numbers(&hinge(&service)["limits"]);
    assert!((limits[0] + 0.5).abs() < 1e-6 && (limits[1] - std::f64::consts::PI).abs() < 1e-6, "{limits:?}");
    set(&mut browser, "joint-motor-speed", "2", "motor speed changed");
    set(&mut browser, "joint-motor-max", "7", "motor torque changed");
    assert_eq!(hinge(&service)["motor"], json!({ "speed": 2.0, "max": 7.0 }));
    set(&mut browser, "joint-limits-1", "", "upper limit changed");
    assert!(hinge(&service).get("limits").is_none() && hinge(&service).get("motor").is_some());
    browser.click("#joint-enabled");
    until_told(&mut browser, "switch changed");
    assert_eq!(hinge(&service)["enabled"], false);

    // Removed by its button and by the key, and back.
    let count = |service: &Service| service.ask(&world)["joints"].as_u64().unwrap();
    browser.click("#joint-remove");
    until_told(&mut browser, "removed hinge 1 between the world and body 2");
    browser.until("!selected_joint && $('card').hidden");
    assert_eq!(count(&service), 1);
    browser.key_with("z", 2);
    until_told(&mut browser, "undone: a joint removed");
    assert_eq!(count(&service), 2);
    let over = pixel(&mut browser, [0.0, 2.0]);
    browser.mouse("mouseMoved", over);
    browser.until("$('canvas').dataset.over === 'joint'");
    browser.key("Delete");
    until_told(&mut browser, "removed spring 0 between body 1 and body 2");
    assert_eq!(count(&service), 1);
    browser.key("z");
    until_told(&mut browser, "undone: a joint removed");
    // A selected one is removed while the pointer is elsewhere; Esc deselects.
    press(&mut browser, [0.0, 2.0]);
    browser.until("shown_joint()?.type === 'spring'");
    let empty = pixel(&mut browser, [0.0, 4.0]);
    browser.mouse("mouseMoved", empty);
    browser.key("Delete");
    until_told(&mut browser, "removed spring 0");
    browser.key("z");
    until_told(&mut browser, "undone: a joint removed");
    press(&mut browser, [0.0, 2.0]);
    browser.until("shown_joint()?.type === 'spring'");
    browser.key("Escape");
    browser.until("!selected_joint && $('card').hidden");

    // A finger is broader than a pointer: 12 px beside the spring it still means it.
    let [x, y] = pixel(&mut browser, [0.0, 2.0]);
    click(&mut browser, [x, y - 14.0]);
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(browser.eval("selected_joint"), Value::Null);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    browser.touch("touchStart", &[[x, y - 14.0]]);
    browser.touch("touchEnd", &[]);
    browser.until("shown_joint()?.type === 'spring'");
    for (width, height) in [(360, 640), (768, 1024), (1280, 720), (2560, 1440)] {
        browser.size(width, height);
        browser
            .until("follow_bodies.area === [$('canvas').clientWidth, $('canvas').clientHeight, ...covered()].join()");
        // All of the card can be reached, and it is within the window.
        let fits = "(() => { const c = $('card').getBoundingClientRect(); return c.left >= 0 && c.right <= innerWidth && c.bottom <= innerHeight && \
             [...$('card').querySelectorAll('input, button')].filter(e => e.offsetParent).every(e => { e.scrollIntoView({ block: 'nearest' }); \
             const r = e.getBoundingClientRect(), c = $('card').getBoundingClientRect(); return r.top >= c.top - 1 && r.bottom <= c.bottom + 1 && r.right <= c.right; }); })()";
        assert_eq!(browser.eval(fits), true, "{width} × {height}");
        browser.picture(&format!("joint-{width}"));
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The numbers of a spring are those typed before it is drawn; without them they follow from the masses.
#[test]
fn a_spring_has_the_stiffness_that_was_typed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut start = tied();
    start["joints"] = json!([]);
    let (mut browser, world) = stand(&service, &start, 1280, 720);
    let draw = |browser: &mut Browser| {
        browser.eval("tell('')");
        for at in [[-2.0, 2.0], [2.0, 2.0]] {
            let at = pixel(browser, at);
            click(browser, at);
        }
        until_told(browser, "spring between body 1 and body 2");
    };
    browser.key("6");
    browser.until("!$('spring-settings').hidden");
    draw(&mut browser);
    browser.click("#spring-stiffness");
    browser.text("123");
    browser.key("Enter");
    browser.click("#spring-damping");
    browser.text("0");
    browser.key("Enter");
    browser.until("document.activeElement === $('canvas')");
    browser.picture("spring-settings");
    draw(&mut browser);
    let made = scene(&service, &world)["joints"].clone();
    // Half a kilogram of reduced mass, twice a second: m ω².
    let usual = 0.5 * (2.0 * std::f64::consts::PI * 2.0_f64).powi(2);
    assert!((made[0]["stiffness"].as_f64().unwrap() - usual).abs() < 1e-3 * usual, "{made}");
    assert!((made[0]["damping"].as_f64().unwrap() - 0.2 * (0.5 * usual).sqrt()).abs() < 1e-3, "{made}");
    assert_eq!((&made[1]["stiffness"], made[1].get("damping").is_none_or(|it| it == 0.0)), (&json!(123.0), true));
    // A wrong number draws nothing.
    browser.eval("$('spring-stiffness').value = '-1'");
    for at in [[-2.0, 2.0], [2.0, 2.0]] {
        let at = pixel(&mut browser, at);
        click(&mut browser, at);
    }
    browser.until("$('say').textContent.startsWith('stiffness: -1 is not valid')");
    assert_eq!(service.ask(&world)["joints"], 2);
    browser.key("1");
    browser.until("$('spring-settings').hidden");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Undone changes are made again, to the same bits, by key, by other keys and by the button; a new change ends that.
#[test]
fn what_was_undone_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &tied(), 1280, 720);
    let hash = || service.hash(&world);
    assert_eq!(browser.eval("$('redo').disabled"), true);
    browser.key("y");
    until_told(&mut browser, "there is nothing to redo");
    let start = hash();
    let at = pixel(&mut browser, [0.0, 3.5]);
    browser.mouse("mouseMoved", at);
    browser.key("d");
    until_told(&mut browser, "dropped 10 of 10");
    let dropped = hash();
    browser.eval("tell('')");
    let left = pixel(&mut browser, [-2.0, 2.0]);
    browser.mouse("mouseMoved", left);
    browser.key("Delete");
    until_told(&mut browser, "removed dynamic body 1");
    let removed = hash();
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    browser.key("z");
    until_told(&mut browser, "undone: bodies dropped");
    assert_eq!(hash(), start);
    browser.key_with("y", 2);
    until_told(&mut browser, "redone: bodies dropped");
    assert_eq!(hash(), dropped);
    browser.key_with("Z", 10);
    until_told(&mut browser, "redone: a body removed");
    assert_eq!(hash(), removed);
    browser.until("$('redo').disabled");
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    assert_eq!(hash(), dropped);
    browser.key("y");
    until_told(&mut browser, "redone: a body removed");
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    browser.click("#build");
    browser.click("#redo");
    until_told(&mut browser, "redone: a body removed");
    assert_eq!(hash(), removed);
    // Gravity, too: all values of one drag of the dial are one change.
    browser.key("z");
    until_told(&mut browser, "undone: a body removed");
    browser.eval("tell('')");
    for _ in 0..3 {
        browser.key("]");
    }
    until_told(&mut browser, "gravity");
    browser.until("!wish && status.gravity[0] > 6.5");
    browser.eval("tell('')");
    browser.key("y");
    until_told(&mut browser, "there is nothing to redo");
    browser.key("z");
    until_told(&mut browser, "undone: gravity changed");
    assert_eq!(numbers(&service.ask(&world)["gravity"])[0], 0.0);
    browser.key("y");
    until_told(&mut browser, "redone: gravity changed");
    assert!(numbers(&service.ask(&world)["gravity"])[0] > 6.5);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Tables of a world that plays have a row for each step, at any speed, and say where rows are missing.
#[test]
fn tables_have_a_row_for_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    // Twice a second, so that the kinetic energy repeats every quarter of one.
    let scene = json!({ "version": 1, "view": { "min": [-2, -3], "max": [2, 1] }, "bodies": [
        { "position": [0, -1], "mass": 1, "shapes": [ { "circle": { "radius": 0.2 } } ] } ],
        "joints": [ { "type": "spring", "b": 0, "rest_length": 1, "stiffness": 157.913_67 } ] });
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    keep_files(&mut browser);
    let at = pixel(&mut browser, [0.0, -1.0]);
    browser.mouse("mouseMoved", at);
    browser.key("w");
    browser.until("samples.energies.length === 1 && samples.body.length === 1");
    browser.eval("$('speed').value = '4'");
    browser.key(" ");
    browser.until("simulated.step > 400");
    browser.key(" ");
    browser.until("status.state === 'paused' && samples.energies.at(-1)[STEP] === simulated.step && samples.body.at(-1)[STEP] === simulated.step");
    let save = |browser: &mut Browser, button: &str| -> String {
        browser.eval("window.files = []");
        // It is enabled with the first painting.
        browser.until(&format!("!document.querySelector('{button}').disabled"));
        browser.click(button);
        browser.until("window.files.length === 1");
        browser.eval("window.files[0]").as_str().unwrap().to_owned()
    };
    let rows = |text: &str| -> Vec<Vec<f64>> {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()).collect()
    };
    for button in ["#csv-energies", "#csv-body"] {
        let text = save(&mut browser, button);
        assert!(text.starts_with("step,time_s,"), "complete: {}", &text[..80]);
        let rows = rows(&text);
        assert!(rows.len() > 400);
        for (step, row) in rows.iter().enumerate() {
            assert_eq!((row[0], row[1]), (step as f64, step as f64 / 60.0), "{button}");
        }
        // Numbers have no more digits than 32 bits need.
        let digits = |cell: &str| {
            let number = cell.split('e').next().unwrap().trim_start_matches(['-', '0', '.']);
            number.bytes().filter(u8::is_ascii_digit).count()
        };
        let longest = text.lines().skip(1).flat_map(|line| line.split(',').skip(2)).map(digits).max();
        assert!(longest.unwrap() <= 9, "{text}");
    }
    // The energy repeats every quarter of a second, which one sample in 0.2 s cannot show.
    let energies = rows(&save(&mut browser, "#csv-energies"));
    let crest = |step: usize| energies[step][2] > energies[step - 1][2] && energies[step][2] >= energies[step + 1][2];
    let crests: Vec<usize> = (1..energies.len() - 1).filter(|&step| crest(step)).collect();
    let period = (crests[20] - crests[0]) as f64 / 20.0 / 60.0;
    assert!((period - 0.25).abs() < 0.005, "{period} s");
    let seldom: Vec<&Vec<f64>> = energies.iter().step_by(12).collect();
    let coarse = (1..seldom.len() - 1).filter(|&i| seldom[i][2] > seldom[i - 1][2] && seldom[i][2] >= seldom[i + 1][2]);
    assert!(coarse.count() < crests.len() * 3 / 4, "the control");
    browser.picture("graphs-played");
    let color = browser.eval("selected_body().color");
    // The rows of a body that is changed while the world plays go on.
    browser.key(" ");
    browser.until("status.state === 'playing'");
    browser.eval("tell(''); $('card-friction').focus(); $('card-friction').select()");
    browser.text("0.25");
    browser.key("Enter");
    until_told(&mut browser, "friction changed");
    let changed = browser.eval("simulated.step").as_u64().unwrap();
    browser.until("selected_body() && looks(selected_body()) && selected_body().color !== undefined");
    assert_eq!(browser.eval("selected_body().color"), color, "it keeps its colour");
    browser.until(&format!("simulated.step > {}", changed + 60));
    browser.key(" ");
    browser.until("status.state === 'paused' && samples.body.at(-1)[STEP] === simulated.step");
    assert_eq!(browser.eval("[notes_of('body'), selected.id]"), json!([[], "0.0"]));

    // Another page comes late: its table says where it begins. Steps while the graphs are closed are missing.
    let id = world.rsplit('/').next().unwrap();
    let mut late = Browser::open(&format!("http://{}/#{id}", service.address), 1280, 720);
    late.until("drawn && status && camera.fitted");
    keep_files(&mut late);
    late.key("ArrowRight");
    late.until("status.step > 400 && simulated.step === status.step");
    late.click("#graph");
    late.until("samples.energies.length > 400");
    // As if the page had not been served for a while.
    let lost = "(() => { const rows = samples.energies, at = [20, 100, 149].map(i => rows[i][STEP]); \
         rows.splice(100, 50); rows.splice(0, 20); return at; })()";
    let lost = late.eval(lost);
    let text = save(&mut late, "#csv-energies");
    let head: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(head[0], format!("# begins at step {}: rows are recorded while the graphs are shown", lost[0]));
    assert_eq!(head[1], format!("# not recorded: steps {} to {}", lost[1], lost[2]));
    assert!(head[2].starts_with("step,time_s,"), "{head:?}");
    // The line is not drawn across the gap.
    let parts = "(() => { let moves = 0, lines = 0; const c = { moveTo() { moves++; }, lineTo() { lines++; } }; \
         trace_line(c, samples.energies, 2, time => 1000 * time, value => value); return [moves, lines > 100]; })()";
    assert_eq!(late.eval(parts), json!([2, true]));
    assert_eq!(browser.errors, Vec::<String>::new());
    assert_eq!(late.errors, Vec::<String>::new());
}

/// The body or joint under the pointer is named beside it; a finger, which hides it, gets no text.
#[test]
fn what_is_under_the_pointer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &tied(), 1280, 720);
    for (at, text) in [
        ([-2.0, 2.0], "body 1 (left), dynamic, 1 kg\nat -2.00, 2.00 m, 0.0°"),
        ([0.0, 2.0], "spring 0 (coil)\nbody 1 and body 2, 4.00 m long"),
        ([2.25, 2.25], "hinge 1\nthe world and body 2, turned by 0.00 rad"),
        ([5.9, -0.5], "body 0 (ground), static\nat 0.00, -0.50 m, 0.0°"),
    ] {
        let place = pixel(&mut browser, at);
        browser.mouse("mouseMoved", place);
        browser.until(&format!("!$('hover').hidden && $('hover').textContent === {text:?}"));
        let fits = "(() => { const r = $('hover').getBoundingClientRect(), c = $('canvas').getBoundingClientRect(); \
             return r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom; })()";
        assert_eq!(browser.eval(fits), true, "{text}");
    }
    browser.picture("hover");
    let empty = pixel(&mut browser, [0.0, 4.0]);
    browser.mouse("mouseMoved", empty);
    browser.until("$('hover').hidden");
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    let left = pixel(&mut browser, [-2.0, 2.0]);
    browser.touch("touchStart", &[left]);
    browser.touch("touchEnd", &[]);
    browser.until("selected?.id === '1.0'");
    browser.eval("new Promise(done => setTimeout(done, 2 * HOVER_EVERY))");
    assert_eq!(browser.eval("$('hover').hidden"), true);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A joint that is changed while a lower number is free takes that number: the selection follows it, and the message
/// names both.
#[test]
fn a_changed_joint_is_followed_to_its_new_number() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut scene = tied();
    scene["joints"].as_array_mut().unwrap().reverse();
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    let pin = pixel(&mut browser, [2.25, 2.25]);
    click(&mut browser, pin);
    browser.until("selected_joint?.id === '0.0'");
    browser.key("Delete");
    until_told(&mut browser, "removed hinge 0");
    browser.until("joints.length === 1");
    let coil = pixel(&mut browser, [0.0, 2.0]);
    click(&mut browser, coil);
    browser.until("selected_joint?.id === '1.0' && $('joint-stiffness')?.value === '50'");
    set(&mut browser, "joint-stiffness", "80", "stiffness changed; spring 1 is spring 0 now, the lowest free number");
    browser.until("selected_joint?.id === '0.1' && $('card-title').textContent === 'Spring 0 (coil)'");
    assert_eq!(joints(&service, &world, "left")[0]["id"], "0.1");
    // With no lower number free it keeps its own, and nothing is said of it.
    set(&mut browser, "joint-stiffness", "90", "stiffness changed");
    assert_eq!(browser.eval("$('told').textContent"), "stiffness changed");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Energies are drawn as they have changed since the start of the graph: 10 kJ of potential energy do not hide a fall.
#[test]
fn the_graph_of_energies_begins_at_zero() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let scene = json!({ "version": 1, "view": { "min": [-2, 995], "max": [2, 1001] }, "bodies": [
        { "position": [0, 1000], "mass": 1, "shapes": [ { "circle": { "radius": 0.2 } } ] } ] });
    let (mut browser, _) = stand(&service, &scene, 1280, 720);
    browser.click("#graph");
    browser.until("samples.energies.length === 1");
    browser.key("PageDown");
    browser.until("simulated.step === 60 && samples.energies.length === 61");
    browser.until("figures[0].canvas.getAttribute('aria-label').includes('at 1.00 s')");
    assert_eq!(
        browser.eval("figures[0].figure.innerText.split('\\n')[0].startsWith('Energy, potential since step 0, J')"),
        true
    );
    let label = browser.eval("figures[0].canvas.getAttribute('aria-label')").as_str().unwrap().to_owned();
    let value = |name: &str| -> f64 {
        let rest = label.split(&format!("{name} ")).last().unwrap();
        rest.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{name}: {label}"))
    };
    // It falls for a second: g²/2 each.
    let fallen = 9.81_f64.powi(2) / 2.0;
    assert!((value("kinetic") - fallen).abs() < 1.0 && (value("potential") + fallen).abs() < 2.0, "{label}");
    assert!(value("total").abs() < 1.0, "{label}");
    assert!(browser.eval("samples.energies[0][3]").as_f64().unwrap() > 9000.0, "the control: it is far from its zero");
    // The line of kinetic energy spans the upper half of the plot.
    let heights = "(() => { const { width, height } = figures[0].canvas, { data } = figures[0].canvas.getContext('2d').getImageData(0, 0, width, height), rows = []; \
         for (let i = 0; i < data.length; i += 4) if (data[i] === 0x4c && data[i + 1] === 0x78 && data[i + 2] === 0xa8) rows.push(Math.floor(i / 4 / width)); \
         return (Math.max(...rows) - Math.min(...rows)) / height; })()";
    let span = browser.eval(heights).as_f64().unwrap();
    assert!(span > 0.3, "{span}");
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.picture(&format!("energies-{scheme}"));
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Texts beside the pointer stay inside a narrow screen, at all its edges and however long they are.
#[test]
fn hover_texts_stay_inside_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let long = "the_upper_left_stone_of_the_small_tower_beside_the_gate_in_the_second_row";
    let body = |x: f64, y: f64, id: &str| json!({ "id": id, "type": "static", "position": [x, y], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] });
    let scene = json!({ "version": 1, "view": { "min": [-3, -4], "max": [3, 4] }, "bodies": [
        body(-2.5, 3.0, &format!("{long}_a")), body(2.5, 3.0, &format!("{long}_b")), body(-2.5, -1.0, &format!("{long}_c")),
        body(2.5, -0.6, &format!("{long}_d")), body(0.0, 0.0, "middle") ] });
    let (mut browser, _) = stand(&service, &scene, 360, 640);
    for (n, at) in [[-2.5, 3.0], [2.5, 3.0], [-2.5, -1.0], [2.5, -0.6], [0.0, 0.0]].into_iter().enumerate() {
        let place = pixel(&mut browser, at);
        browser.mouse("mouseMoved", place);
        browser.until(&format!("!$('hover').hidden && $('hover').textContent.startsWith('body {n} ')"));
        let edges = browser.eval(
            "(() => { const r = $('hover').getBoundingClientRect(), c = $('canvas').getBoundingClientRect(); \
             return [r.left - c.left, c.right - r.right, r.top - c.top, c.bottom - r.bottom]; })()",
        );
        let edges: Vec<f64> = serde_json::from_value(edges).unwrap();
        assert!(edges.iter().all(|&edge| edge >= -0.01), "body {n}: {edges:?}");
        let over = browser.eval(&format!(
            "(() => {{ const r = $('hover').getBoundingClientRect(); \
             return r.left < {0} && {0} < r.right && r.top < {1} && {1} < r.bottom; }})()",
            place[0], place[1]
        ));
        assert_eq!(over, false, "body {n}: the text is beside the pointer");
        browser.picture(&format!("hover-narrow-{n}"));
    }
    // The control: in one line it is wider than the screen.
    let corner = pixel(&mut browser, [2.5, 3.0]);
    browser.mouse("mouseMoved", corner);
    browser.until("$('hover').textContent.startsWith('body 1 ')");
    browser.eval("$('hover').style.cssText += '; white-space: pre; max-width: none'");
    assert!(browser.eval("$('hover').offsetWidth").as_f64().unwrap() > 360.0);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The card of a selected body or joint is beside it: at the other side of a wide picture, at the other end of a narrow
/// one, where the user has the view.
#[test]
fn the_card_leaves_what_it_is_about_free() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let free = "(() => { const c = $('card').getBoundingClientRect(), v = $('canvas').getBoundingClientRect(), b = selected_box(); \
         return !$('card').hidden && c.left >= v.left && c.right <= v.right && c.top >= v.top && c.bottom <= v.bottom && \
         (b.right + v.left <= c.left || b.left + v.left >= c.right || b.bottom + v.top <= c.top || b.top + v.top >= c.bottom); })()";
    for (width, height) in [(1280, 720), (2560, 1440), (360, 640)] {
        let (mut browser, _) = stand(&service, &tied(), width, height);
        let is_wide = width > 700;
        // Right and left, or below and above.
        let sides = if is_wide { ["left", "right"] } else { ["top", "bottom"] };
        // The joint is at the right, or at the lower end, as the first body.
        for (side, body, joint) in [(sides[0], "2", false), (sides[1], "1", false), (sides[0], "1", true)] {
            // As a user moves the view: the body is where the card was.
            let place = if is_wide {
                if side == "left" { [0.93, 0.2] } else { [0.07, 0.2] }
            } else if side == "top" {
                [0.5, 0.8]
            } else {
                [0.5, 0.2]
            };
            let at = if joint {
                "ends_of(joints.find(joint => joint.type === 'revolute')).b".to_owned()
            } else {
                format!("(b => [b.x, b.y])(bodies.get({body}))")
            };
            browser.eval(&format!(
                "(() => {{ const [x, y] = pixel_of({at}), {{ clientWidth: w, clientHeight: h }} = $('canvas'); \
                 pan({} * w - x, {} * h - y); }})()",
                place[0], place[1]
            ));
            let press = browser.eval(&format!("(() => {{ const [x, y] = pixel_of({at}), r = $('canvas').getBoundingClientRect(); return [r.x + x, r.y + y]; }})()"));
            click(&mut browser, numbers(&press));
            let is_selected = if joint {
                "selected_joint && $('joint-hertz')".to_owned()
            } else {
                format!("selected?.id === '{body}.0' && fields.friction.value")
            };
            browser.until(&is_selected);
            browser.until(&format!("$('card').dataset.at === '{side}' && {free}"));
            browser.picture(&format!("card-{width}-{side}-{body}-{joint}"));
            browser.key("Escape");
            browser.until("$('card').hidden");
        }
        assert_eq!(browser.errors, Vec::<String>::new());
    }
}
