//! The page at `/` in Chromium, with a pointer or with a keyboard alone.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;

pub fn numbers(value: &Value) -> [f64; 2] {
    [value[0].as_f64().unwrap(), value[1].as_f64().unwrap()]
}

/// Returns a body's position according to the service.
fn place(service: &Service, world: &str, body: usize) -> [f64; 2] {
    numbers(&service.ask(&format!("{world}/state"))["bodies"][body]["position"])
}

/// Returns a body's position on the screen.
fn on_screen(browser: &mut Browser, body: usize) -> [f64; 2] {
    numbers(&browser.eval(&format!(
        "(() => {{ const b = bodies.get({body}), r = $('canvas').getBoundingClientRect(); \
         return [r.x + r.width / 2 + (b.x - camera.x) * camera.scale, r.y + r.height / 2 - (b.y - camera.y) * camera.scale]; }})()"
    )))
}

/// Returns the pixels of the view.
fn view(browser: &mut Browser, name: &str) -> Vec<[u8; 3]> {
    let rectangle = browser.eval("(() => { const r = $('canvas').getBoundingClientRect(); return [r.x, r.y, r.right, r.bottom].map(Math.round); })()");
    let edge = |index: usize| rectangle[index].as_u64().unwrap() as usize;
    let (info, pixels) = browser.picture(name);
    let bytes = pixels.len() / (info.width * info.height) as usize;
    let pixel = |x: usize, y: usize| {
        let at = (y * info.width as usize + x) * bytes;
        [pixels[at], pixels[at + 1], pixels[at + 2]]
    };
    (edge(1)..edge(3)).flat_map(|y| (edge(0)..edge(2)).map(move |x| pixel(x, y))).collect()
}

fn colors(pixels: &[[u8; 3]]) -> usize {
    pixels.iter().collect::<HashSet<_>>().len()
}

/// Counts pixels in the colours of dynamic bodies. Text has none of them.
fn painted(pixels: &[[u8; 3]]) -> usize {
    const COLORS: [[u8; 3]; 4] = [[0xf5, 0x85, 0x18], [0x54, 0xa2, 0x4b], [0xb2, 0x79, 0xa2], [0x72, 0xb7, 0xb2]];
    pixels.iter().filter(|pixel| COLORS.contains(pixel)).count()
}

fn choose(browser: &mut Browser, scene: &str, parameters: &str) {
    browser.until("$('catalogue').options.length > 5");
    browser.eval(&format!("$('catalogue').value = {scene:?}; $('catalogue').onchange(); $('run').checked = false"));
    browser.click("#parameters");
    browser.text(parameters);
    browser.click("#create .main");
    browser.until("world && bodies.size && shapes.size === bodies.size");
}

#[test]
fn a_world_is_made_dragged_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    browser.until("document.readyState === 'complete' && !$('none').hidden");
    let empty = view(&mut browser, "empty");
    choose(&mut browser, "large_pyramid", "base=6");
    let world = format!("/v1/worlds/{}", browser.eval("world").as_str().unwrap());
    assert_eq!(service.ask(&world)["bodies"], 22);
    browser.until("camera.fitted");
    let made = view(&mut browser, "made");
    assert!(painted(&made) > 1000 && painted(&empty) == 0, "{} and {}", painted(&made), painted(&empty));
    assert_eq!(view(&mut browser, "again"), made, "a paused world gives the same picture");

    // The box on top, to the upper right, while the world plays; the one below it stays.
    let (top, low) = (21, 1);
    let (before, below) = (place(&service, &world, top), place(&service, &world, low));
    browser.click("#play");
    browser.until("status && status.state === 'playing'");
    let from = on_screen(&mut browser, top);
    browser.mouse("mousePressed", from);
    for step in 1..=10 {
        let by = f64::from(step) * 9.0;
        browser.mouse("mouseMoved", [from[0] + by, from[1] - by / 2.0]);
    }
    let scale = browser.eval("camera.scale").as_f64().unwrap();
    let wanted = [before[0] + 90.0 / scale, before[1] + 45.0 / scale];
    let away = |at: [f64; 2], from: [f64; 2]| (at[0] - from[0]).hypot(at[1] - from[1]);
    browser
        .until(&format!("Math.hypot(bodies.get({top}).x - {}, bodies.get({top}).y - {}) < 0.5", wanted[0], wanted[1]));
    let after = view(&mut browser, "dragged");
    let held = place(&service, &world, top);
    assert!(away(held, wanted) < 0.5 && away(held, before) > 1.0, "from {before:?} to {wanted:?}: {held:?}");
    assert!(away(place(&service, &world, low), below) < 0.2);
    let changed = made.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(changed > 500, "{changed} pixels are others");
    browser.mouse("mouseReleased", [from[0] + 90.0, from[1] - 45.0]);
    browser.until(&format!("bodies.get({top}).y < {}", wanted[1] - 1.0));

    browser.click("#play");
    browser.until("status.state === 'paused'");
    let step = service.ask(&world)["step"].as_u64().unwrap();
    browser.click("#step");
    browser.until(&format!("simulated.step === {}", step + 1));
    browser.click("#more summary");
    browser.click("#measure");
    browser.until("$('metrics').textContent.includes('hash')");
    let hash = service.hash(&world);
    assert!(browser.eval("$('metrics').textContent").as_str().unwrap().contains(&hash));
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn a_keyboard_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("TOKEN", "sixteen letters!")]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1000, 700);
    // A wrong token is reported, and can be typed again.
    browser.until("asking && document.activeElement === $('token')");
    browser.text("fifteen letters");
    browser.key("Enter");
    browser.until("$('wrong').textContent.includes('does not accept') && !$('enter').disabled");
    assert_eq!(browser.eval("sessionStorage.getItem('token')"), Value::Null);
    browser.eval("$('token').value = ''; $('token').focus()");
    browser.text("sixteen letters!");
    browser.key("Enter");
    browser.until("!asking && $('catalogue').options.length > 5 && !$('none').hidden");
    // Stored for this tab only.
    assert_eq!(
        browser.eval("[sessionStorage.length, localStorage.length, document.cookie, $('token').value]"),
        json!([1, 0, "", ""])
    );
    assert!(browser.eval("$('curl').textContent").as_str().unwrap().contains("Bearer TOKEN"));
    browser.errors.clear();

    // A mistake is reported with its position, and the written text stays.
    let wrong = json!({ "version": 1, "bodies": [ { "shapes": [ { "circle": { "radius": -1 } } ] } ] });
    browser.eval("$('scene').focus()");
    browser.text(&wrong.to_string());
    browser.key("Tab");
    assert_eq!(browser.eval("document.activeElement.id"), "run");
    browser.key(" ");
    browser.key("Tab");
    assert_eq!(browser.eval("document.activeElement.textContent"), "Create");
    browser.key("Enter");
    browser.until("$('mistake').textContent.includes('bodies[0].shapes[0].circle.radius')");
    assert_eq!(browser.eval("$('scene').value"), wrong.to_string());
    browser.errors.clear();

    let scene = json!({ "version": 1, "name": "one ball", "bodies": [
        { "type": "static", "shapes": [ { "half_plane": { "normal": [0, 1], "offset": 0 } } ] },
        { "position": [0, 4], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] });
    browser.eval("$('scene').value = ''; $('scene').focus()");
    browser.text(&scene.to_string());
    browser.key("Tab");
    browser.key("Tab");
    browser.key("Enter");
    browser.until("world && bodies.size === 2 && $('panel').hidden");
    let id = browser.eval("world").as_str().unwrap().to_owned();
    let world = format!("/v1/worlds/{id}");

    browser.eval("$('canvas').focus()");
    browser.until("status");
    browser.key("ArrowRight");
    browser.until("simulated.step === 1");
    browser.key(" ");
    browser.until("status.state === 'playing' && simulated.step > 20");
    browser.key(" ");
    browser.until("status.state === 'paused'");
    assert!(place(&service, &world, 1)[1] < 4.0);
    let scale = browser.eval("camera.scale").as_f64().unwrap();
    browser.key(".");
    assert!(browser.eval("camera.scale").as_f64().unwrap() > scale);
    browser.key("f");
    browser.replies = vec!["yes"];
    browser.key_with("Delete", 8);
    browser.until("!world && !document.querySelector('#worlds button') && !$('none').hidden");
    assert_eq!(service.get(&world).unwrap().status, 404);
    // Another token: the page reloads without the previous one.
    browser.click("#more summary");
    browser.click("#forget");
    browser.until("asking && sessionStorage.length === 0");
    browser.errors.retain(|error| !error.contains("401"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// No control is cut off or covered, on small and large screens, in dark and in light.
#[test]
fn it_fits_screens() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    choose(&mut browser, "card_house", "");
    browser.click("#play");
    for (width, height, name) in [(1280, 720, "wide"), (2560, 1440, "large"), (390, 844, "phone"), (360, 640, "small")]
    {
        browser.size(width, height);
        browser.eval("fit()");
        let mut seen = Vec::new();
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            let pixels = view(&mut browser, &format!("{name}-{scheme}"));
            let brightness = |[r, g, b]: [u8; 3]| u32::from(r) + u32::from(g) + u32::from(b);
            let sum: u32 = pixels.iter().map(|&pixel| brightness(pixel) / 3).sum();
            seen.push(sum / pixels.len() as u32);
            assert!(colors(&pixels) > 10, "{name} {scheme}");
        }
        assert!(seen[0] > 180 && seen[1] < 90, "{name}: as bright as {seen:?}");
        // Not wider than the screen, also with long numbers; the view has room; all controls are inside.
        let found = browser.eval(
            "$('now').textContent = 'step 10,000,000,000, 166,666,666.67 s, 1,000,000 bodies', \
             $('rate').textContent = '100 frames/s, 100 left out, 100.25 ms a step on the CPU', \
             ({ wide: document.documentElement.scrollWidth, view: [$('canvas').clientWidth, $('canvas').clientHeight], \
             outside: [...document.querySelectorAll('main button, main select')].filter(e => { if (!e.offsetParent) return false; const r = e.getBoundingClientRect(); \
             return r.left < 0 || r.right > innerWidth || r.top < 0 || r.bottom > innerHeight || r.height < 24; }).map(e => e.id) })",
        );
        assert!(found["wide"].as_u64() <= Some(u64::from(width)), "{name}: {found}");
        assert_eq!(found["outside"], json!([]), "{name}: {found}");
        assert!(found["view"][0].as_u64() >= Some(340) && found["view"][1].as_u64() >= Some(300), "{name}: {found}");
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The page immediately shows the newest world that can be drawn, or the one in its address.
#[test]
fn the_newest_world_is_drawn_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let old = service.make(&json!({ "scene": "slope" }));
    // They are ordered by the second of their creation.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let new = service.make(&json!({ "scene": "large_pyramid:base=6" }));
    let id = |world: &str| world.rsplit('/').next().unwrap().to_owned();
    let page = format!("http://{}/", service.address);
    let mut browser = Browser::open(&page, 1280, 720);
    browser.until("drawn && bodies.size === 22 && camera.fitted");
    assert_eq!(
        browser.eval("[world, $('panel').hidden, location.hash]"),
        json!([id(&new), true, format!("#{}", id(&new))])
    );
    let pixels = view(&mut browser, "newest");
    assert!(painted(&pixels) > 1000, "{}", painted(&pixels));
    browser.call("Page.navigate", &json!({ "url": "about:blank" }));
    browser.call("Page.navigate", &json!({ "url": format!("{page}#{}", id(&old)) }));
    browser.until(&format!("drawn && world === '{}' && bodies.size < 22", id(&old)));

    // A world deleted elsewhere is replaced by another.
    assert_eq!(service.send("DELETE", &old, &[], b"").unwrap().status, 204);
    browser.until(&format!("drawn && world === '{}'", id(&new)));

    // The newest one is damaged: the list says so, and it is not opened.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let broken = service.make(&json!({ "scene": "card_house" }));
    for _ in 0..3 {
        service.tell(&format!("{broken}/step"), &json!({ "steps": 1 }));
    }
    service.kill();
    let log = folder.path().join("worlds").join(id(&broken)).join("log-00000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let service = Service::start(folder.path(), &[]);
    browser.call("Page.navigate", &json!({ "url": format!("http://{}/", service.address) }));
    browser.until(&format!("drawn && world === '{}' && document.querySelector('#worlds .bad')", id(&new)));
    browser.click("#worlds li:first-child button");
    browser.until("!$('failed').hidden && $('reason').textContent.includes('damaged')");
    assert!(browser.eval("$('play').disabled && $('step').disabled && !$('remove').disabled").as_bool().unwrap());
    browser.errors.retain(|error| !error.contains("ERR_CONNECTION") && !error.contains("WebSocket"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Without a world the page explains how to create one, and a button does it.
#[test]
fn what_to_do_without_a_world() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 390, 844);
    browser.until("!$('none').hidden");
    let curl = browser.eval("$('curl').textContent");
    let curl = curl.as_str().unwrap();
    assert!(curl.contains(&service.address) && curl.contains("/v1/worlds") && !curl.contains("Bearer"), "{curl}");
    // The command on the page works unchanged.
    let quoted: Vec<&str> = curl.split('\'').collect();
    let body: Value = serde_json::from_str(quoted[3]).unwrap();
    assert_eq!(quoted[1].to_lowercase(), "content-type: application/json");
    let made = service.make(&body);
    assert_eq!(service.send("DELETE", &made, &[], b"").unwrap().status, 204);
    let scenes = browser.eval("[...document.querySelectorAll('#choices button')].map(b => b.textContent)");
    for scene in scenes.as_array().unwrap() {
        let made = service.make(&json!({ "scene": scene }));
        assert_eq!(service.send("DELETE", &made, &[], b"").unwrap().status, 204, "{scene}");
    }
    // A list requested before the last deletion may arrive late.
    let lists = browser.eval("asked");
    browser.until(&format!("applied > {lists} && !world && !busy && !$('none').hidden"));
    browser.click("#choices button");
    browser.until("drawn && bodies.size");
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1);
    // The page may have opened one of those deleted meanwhile.
    browser.errors.retain(|error| !error.contains("404") && !error.contains("WebSocket"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A world created before the first list arrives is displayed, and an earlier list does not remove it.
#[test]
fn a_world_made_before_the_list_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    service.make(&json!({ "scene": "slope" }));
    let mut browser = Browser::open("about:blank", 1000, 700);
    // The list is requested immediately, and its answer held until the test releases it.
    let held = "const real = window.fetch; window.hold = true; window.lists = 0; \
        window.fetch = async (path, options = {}) => { \
          const answer = await real(path, options); \
          if (!path.startsWith('/v1/worlds?')) return answer; \
          const json = await answer.json(); \
          if (window.lists++ === 0) while (window.hold) await new Promise(go => setTimeout(go, 10)); \
          return new Response(JSON.stringify(json)); };";
    browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": held }));
    browser.call("Page.navigate", &json!({ "url": format!("http://{}/", service.address) }));
    browser.until("window.lists === 1");
    browser.eval("$('run').checked = false; $('parameters').value = 'base=6'; $('catalogue').value = 'large_pyramid'; $('create').requestSubmit()");
    browser.until("drawn && bodies.size === 22 && $('panel').hidden");
    browser.eval("window.hold = false");
    browser.until("window.lists > 3");
    assert_eq!(
        browser.eval("[bodies.size, drawn, $('panel').hidden, $('say').textContent]"),
        json!([22, true, true, ""])
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A progress bar moves while a large world is created, returns from disk, or is loaded.
#[test]
fn opening_shows_a_bar() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open("about:blank", 1000, 700);
    // Answers wait until the test releases them, so that each state can be checked on any machine.
    let held = "const real = window.fetch; window.hold = {}; window.starting = false; \
        const gate = async name => { while (window.hold[name]) await new Promise(go => setTimeout(go, 10)); }; \
        window.fetch = async (path, options = {}) => { \
          await gate(path.endsWith('/bodies') ? 'bodies' : options.method); \
          const answer = await real(path, options); \
          if (!window.starting || !path.startsWith('/v1/worlds?')) return answer; \
          const json = await answer.json(); \
          for (const w of json.worlds) { w.state = 'starting'; w.step = 77; } \
          return new Response(JSON.stringify(json)); };";
    browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": held }));
    browser.call("Page.navigate", &json!({ "url": format!("http://{}/", service.address) }));
    browser.until("!$('none').hidden");

    browser.eval("window.hold.POST = true; $('parameters').value = 'base=5'; $('create').requestSubmit()");
    browser.until("!$('opening').hidden && $('doing').textContent.includes('Creating large_pyramid:base=5')");
    assert!(browser.eval("$('progress').getBoundingClientRect().width > 100").as_bool().unwrap());
    let pixels = view(&mut browser, "opening");
    assert!(colors(&pixels) > 10 && painted(&pixels) == 0);
    browser.eval("window.starting = true; window.hold.bodies = true; window.hold.POST = false");
    browser.until("$('doing').textContent.includes('Opening') && $('doing').textContent.includes('step 77')");
    browser.eval("window.starting = false");
    browser.until("$('doing').textContent.includes('Loading 16 bodies')");
    assert_eq!(browser.eval("[$('panel').hidden, drawn]"), json!([false, false]));
    browser.eval("window.hold.bodies = false");
    browser.until("drawn && $('panel').hidden");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Opens a scene that is paused.
pub fn stand(service: &Service, scene: &Value, width: u32, height: u32) -> (Browser, String) {
    let world = service.make(scene);
    let mut browser = Browser::open(&format!("http://{}/", service.address), width, height);
    browser.until(
        "drawn && camera.fitted && !goal && $('panel').hidden && status && status.state === 'paused' \
         && catalogue.scenes.length",
    );
    (browser, world)
}

/// Returns the screen position of a point in the world, once the view fits beside what covers the picture.
pub fn pixel(browser: &mut Browser, at: [f64; 2]) -> [f64; 2] {
    browser.until(
        "!camera.follows || !camera.fitted || pointers.size || \
         follow_bodies.area === [$('canvas').clientWidth, $('canvas').clientHeight, ...covered()].join()",
    );
    numbers(&browser.eval(&format!(
        "(() => {{ const r = $('canvas').getBoundingClientRect(), [x, y] = pixel_of([{}, {}]); return [r.x + x, r.y + y]; }})()",
        at[0], at[1]
    )))
}

/// JavaScript expression: true once all dynamic bodies are in view.
const ALL_IN_VIEW: &str = "[...bodies.values()].filter(isDynamic).every(b => { const [x, y] = pixel_of([b.x, b.y]); \
     return x > 0 && y > 0 && x < $('canvas').clientWidth && y < $('canvas').clientHeight; })";

/// Returns a scene with a box on the ground, and one a metre above it.
pub fn two_boxes() -> Value {
    let shape = json!([{ "box": { "half": [0.5, 0.5] } }]);
    json!({ "version": 1, "name": "two boxes", "bodies": [
        { "id": "ground", "type": "static", "shapes": [ { "box": { "half": [20, 1] }, "offset": [0, -1] } ] },
        { "id": "low", "position": [0, 0.5], "shapes": shape },
        { "id": "high", "position": [3, 2], "shapes": shape } ] })
}

/// A body that falls past the ground leaves the picture; F frames it again.
#[test]
fn the_view_stays_when_a_body_falls_out() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut scene = two_boxes();
    scene["bodies"][2]["position"] = json!([21.5, 2]);
    scene["bodies"][0]["shapes"][0]["box"]["half"] = json!([20, 1]);
    let (mut browser, _) = stand(&service, &scene, 1280, 720);
    assert_eq!(browser.eval(ALL_IN_VIEW), true);
    let start = browser.eval("camera.scale").as_f64().unwrap();
    browser.key(" ");
    browser.until("bodies.get(2).y < -100");
    browser.key(" ");
    browser.until("status.state === 'paused' && !goal");
    let later = browser.eval("[camera.scale, $('lost').hidden]");
    assert!(later[0].as_f64().unwrap() > 0.5 * start, "{start} px/m at the start, then {later}");
    assert_eq!(later[1], true);
    browser.key("f");
    browser.until(ALL_IN_VIEW);
    assert!(browser.eval("camera.scale").as_f64().unwrap() < 0.2 * start);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn the_view_follows_what_moves_until_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    // One of them slides out of the first picture.
    let mut scene = two_boxes();
    scene["bodies"][0]["shapes"][0]["box"]["half"] = json!([200, 1]);
    scene["bodies"][2]["velocity"] = json!([25, 0]);
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    let start = browser.eval("[camera.x, camera.y, camera.scale]");
    assert_eq!(browser.eval(ALL_IN_VIEW), true);
    browser.key(" ");
    browser.until(&format!("simulated.time > 2 && {ALL_IN_VIEW}"));
    assert_eq!(browser.eval("[$('lost').hidden, camera.follows]"), json!([true, true]));
    assert_ne!(browser.eval("[camera.x, camera.y, camera.scale]"), start);
    browser.key(" ");
    browser.until("status.state === 'paused'");

    // After zooming and panning by the user it stays, and reports that nothing is in view.
    browser.wheel([800.0, 300.0], -100.0);
    browser.until("!camera.follows");
    for _ in 0..60 {
        browser.key_with("ArrowRight", 8);
    }
    browser.until("!$('lost').hidden && $('lost').textContent.includes('Nothing in view: F')");
    let away = browser.eval("[camera.x, camera.y, camera.scale]");
    let step = service.ask(&world)["step"].as_u64().unwrap();
    browser.key("ArrowRight");
    browser.until(&format!("simulated.step === {}", step + 1));
    assert_eq!(browser.eval("[camera.x, camera.y, camera.scale]"), away);
    browser.click("#lost");
    browser.until(&format!("$('lost').hidden && camera.follows && {ALL_IN_VIEW}"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The drum of the tumbler turns: its corners stay in the picture. The ground of a heap is in it as well.
#[test]
fn what_carries_and_turns_is_framed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &json!({ "scene": "tumbler:grid=5" }), 1280, 720);
    let swept = "(() => { const drum = [...bodies.values()].find(b => b.spin), corner = p => Math.hypot(Math.abs(p.x) + p.a, Math.abs(p.y) + p.b), \
        reach = Math.max(...looks(drum).parts.map(corner)); \
        return pixel_of([drum.x, drum.y - reach])[1] <= $('canvas').clientHeight && pixel_of([drum.x, drum.y + reach])[1] >= 0; })()";
    assert_eq!(browser.eval(swept), true);
    let (mut browser, _) = stand(&service, &two_boxes(), 360, 640);
    let ground = pixel(&mut browser, [0.0, 0.0]);
    let bottom = browser.eval("$('canvas').getBoundingClientRect().bottom").as_f64().unwrap();
    assert!(ground[1] < bottom - 5.0, "{ground:?} of {bottom}");
}

/// Counts pixels in the colour of joints.
fn joint_pixels(browser: &mut Browser, name: &str) -> usize {
    view(browser, name).iter().filter(|pixel| **pixel == [0x9b, 0x59, 0xd0]).count()
}

#[test]
fn joints_are_drawn_until_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &json!({ "scene": "springs" }), 1280, 720);
    let count = service.ask(&world)["joints"].as_u64().unwrap();
    browser.until(&format!("joints.length === {count}"));
    let drawn = joint_pixels(&mut browser, "joints");
    assert!(drawn > 200, "{drawn}");
    // A spring has the same number of coils at any length.
    assert!(browser.eval("(collect(1280, 720, 1), Array.from({ length: count }, (_, n) => n).filter(n => instances[n * STRIDE + 10] === ZIGZAG && instances[n * STRIDE + 7] === COILS).length)").as_u64() > Some(0));
    browser.key("i");
    browser.until("!layers.joints");
    browser.until("painted.key.includes('false')");
    assert_eq!(joint_pixels(&mut browser, "no-joints"), 0);
    browser.key("i");
    let ids: Vec<Value> = service.ask(&format!("{world}/joints"))["joints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|joint| joint["id"].clone())
        .collect();
    service.tell(&format!("{world}/commands"), &json!({ "commands": [ { "unjoin": { "joints": ids } } ] }));
    browser.until("layers.joints && joints.length === 0");
    browser.until("instances.subarray(0, count * STRIDE).every((kind, i) => i % STRIDE !== 10 || kind !== ZIGZAG)");
    assert_eq!(joint_pixels(&mut browser, "joints-gone"), 0);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A broken joint is not drawn any more, though it is in the service's list.
#[test]
fn a_broken_joint_disappears() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let scene = json!({ "version": 1, "bodies": [ { "position": [0, 5], "shapes": [ { "box": { "half": [0.5, 0.5] }, "density": 10 } ] } ],
        "joints": [ { "type": "distance", "b": 0, "anchor_a": [0, 8], "anchor_b": [0, 0], "break_force": 20 } ] });
    let (mut browser, world) = stand(&service, &scene, 1280, 720);
    browser.until("joints.length === 1");
    browser.key(" ");
    browser.until("simulated.step > 5 && joints.length === 0");
    let told = service.ask(&format!("{world}/joints"));
    assert_eq!((&told["joints"][0]["broken"], &told["joints"][0]["breakable"]), (&json!(true), &json!(true)), "{told}");
}

#[test]
fn colours_stay_when_bodies_come() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1000, 700);
    let colors = "JSON.stringify([1, 2].map(slot => color_of(bodies.get(slot))))";
    let before = browser.eval(colors);
    let ball = json!({ "position": [-4, 5], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    service.tell(&format!("{world}/commands"), &json!({ "commands": [ { "spawn": { "bodies": [ball] } } ] }));
    browser.until("bodies.size === 4 && shapes.size === 4");
    assert_eq!(browser.eval(colors), before);
    assert!(
        browser
            .eval("new Set(Array.from({ length: 64 }, (_, slot) => color_of({ slot, generation: 0 }))).size")
            .as_u64()
            > Some(6)
    );
}

/// On a phone: two fingers zoom around their middle, buttons zoom, a finger beside a body grabs it, mistakes are in
/// view.
#[test]
fn fingers_do_all() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 360, 640);
    browser.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    let box_ = browser
        .eval("(() => { const r = $('canvas').getBoundingClientRect(); return [r.x + r.width / 2, r.y + 60]; })()");
    let [x, y] = numbers(&box_);
    let scale = browser.eval("camera.scale").as_f64().unwrap();
    let under = format!(
        "(() => {{ const r = $('canvas').getBoundingClientRect(); return world_at({x} - r.x, {y} - r.y); }})()"
    );
    let before = numbers(&browser.eval(&under));
    browser.touch("touchStart", &[[x - 20.0, y]]);
    browser.touch("touchStart", &[[x - 20.0, y], [x + 20.0, y]]);
    for by in [30.0, 45.0, 60.0] {
        browser.touch("touchMove", &[[x - by, y], [x + by, y]]);
    }
    browser.touch("touchEnd", &[]);
    browser.until(&format!("camera.scale > {}", 2.5 * scale));
    assert!(browser.eval("camera.scale").as_f64().unwrap() < 3.5 * scale);
    let after = numbers(&browser.eval(&under));
    assert!((after[0] - before[0]).hypot(after[1] - before[1]) * scale < 3.0, "{before:?} {after:?}");
    let grown = browser.eval("camera.scale").as_f64().unwrap();
    browser.click("#wider");
    browser.until(&format!("camera.scale < {}", 0.8 * grown));
    browser.click("#closer");
    browser.until(&format!("camera.scale > {}", 0.99 * grown));
    browser.click("#fit");

    // 12 px beside the box: close enough for a finger. It pulls once the world runs.
    let at = pixel(&mut browser, [3.0, 2.5]);
    browser.touch("touchStart", &[[at[0], at[1] - 12.0]]);
    browser.until("drag && drag.id === '2.0' && $('told').textContent === 'paused: Play runs'");
    browser.touch("touchEnd", &[]);
    browser.until("!drag");

    browser.click("#lists");
    browser.until("$('side').getBoundingClientRect().left === 0");
    browser.eval("$('scene').value = '{ \"version\": 1, \"bodies\": [ { \"kind\": 1 } ] }'");
    browser.click("#create .main");
    browser.until("$('mistake').textContent.includes('bodies[0].kind')");
    let told = browser.eval("$('mistake').textContent");
    assert_eq!(told.as_str().unwrap().matches("bodies[0].kind").count(), 1, "{told}");
    let inside = "(() => { const r = $('mistake').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight + 1 && r.height > 10; })()";
    browser.until(inside);
    browser.picture("mistake");
    assert!(browser.eval("document.documentElement.scrollWidth").as_u64() <= Some(360));
}

/// Thin bodies: a position beside them is close enough, and the pointer shows it.
#[test]
fn a_thin_body_is_grabbed_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &json!({ "scene": "bridge" }), 1280, 720);
    let middle = browser.eval("(() => { const b = [...bodies.values()].filter(isDynamic)[20]; return [b.x, b.y]; })()");
    let at = pixel(&mut browser, numbers(&middle));
    browser.mouse("mouseMoved", [at[0], at[1] - 40.0]);
    browser.until("hovered && $('canvas').dataset.over === ''");
    browser.mouse("mouseMoved", [at[0], at[1] - 6.0]);
    browser.until("$('canvas').dataset.over === 'body' && getComputedStyle($('canvas')).cursor === 'grab'");
    let camera = browser.eval("[camera.x, camera.y]");
    browser.mouse("mousePressed", [at[0], at[1] - 6.0]);
    browser.until("$('told').textContent === 'paused: Space runs'");
    browser.until("drag && drag.sent");
    browser.mouse("mouseMoved", [at[0], at[1] - 60.0]);
    browser.until("drag.target[1] > drag.body.y");
    assert_eq!(browser.eval("[camera.x, camera.y]"), camera, "the body is held, not the view");
    browser.picture("band");
    let held = browser.eval("drag.body.y").as_f64().unwrap();
    browser.key(" ");
    browser.until(&format!("drag && drag.body.y > {held} + 0.2 || bodies.get(drag.body.slot).y > {held} + 0.2"));
    browser.mouse("mouseReleased", [at[0], at[1] - 60.0]);
    browser.until("!drag && $('canvas').dataset.over !== 'held'");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Keys that the window and the page share do the same.
#[test]
fn keys_are_those_of_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    let page = browser.eval("KEYS.map(([, shown, meaning]) => [shown, meaning])");
    let mut shared = 0;
    for line in include_str!("../../../drystone-view/src/action.rs")
        .lines()
        .filter(|line| line.trim_start().starts_with("key(egui::"))
    {
        let quoted: Vec<&str> = line.split('"').collect();
        let (shown, meaning) = (quoted[1].replace("\\\\", "\\"), quoted[3]);
        if let Some(own) = page.as_array().unwrap().iter().find(|key| key[0] == shown.as_str()) {
            shared += 1;
            let first = |text: &str| text.split([' ', ',', ':']).next().unwrap().to_owned();
            assert_eq!(first(own[1].as_str().unwrap()), first(meaning), "{shown}");
        }
    }
    assert!(shared >= 14, "{shared}");

    // The list of keys opens and closes by its own key.
    browser.key("?");
    browser.until("$('help').open && $('key-list').children.length > 30");
    browser.picture("keys");
    browser.key("?");
    browser.until("!$('help').open");

    // The body under the pointer at the moment of the key press; the message names it.
    let low = pixel(&mut browser, [0.0, 0.5]);
    let ground = pixel(&mut browser, [1.5, -0.2]);
    browser.mouse("mouseMoved", ground);
    browser.mouse("mouseMoved", low);
    browser.key("Delete");
    browser.until("bodies.size === 2 && $('told').textContent.includes('removed dynamic body 1 (low)')");
    assert_eq!(service.ask(&world)["bodies"], 2);
    // Stepping a playing world pauses it, without an error.
    browser.key(" ");
    browser.until("status.state === 'playing' && simulated.step > 3");
    browser.key("ArrowRight");
    browser.until("status.state === 'paused'");
    assert_eq!(browser.eval("$('say').textContent"), "");
    // Back to the start; a removed body stays removed, as in the window, until the removal is undone.
    browser.key("r");
    browser.until("simulated.step === 0 && bodies.size === 2 && $('told').textContent === 'restarted'");
    assert_eq!(browser.eval("$('say').textContent"), "");
    assert_eq!(service.ask(&world)["step"], 0);
    browser.key("z");
    browser.until("$('told').textContent === 'undone: restart' && simulated.step > 3");
    browser.key("z");
    browser.until("simulated.step === 0 && bodies.size === 3 && shapes.size === 3");
    browser.key("=");
    browser.until("$('speed').value === '4'");
    browser.key("-");
    browser.until("$('speed').value === '1'");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn tools_drop_shoot_and_explode() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    // A hundred bodies onto the box, without overlaps.
    browser.eval("$('count').value = '100'");
    browser.click("[data-tool=drop]");
    browser.until("tool === 'drop' && getComputedStyle($('canvas')).cursor === 'crosshair'");
    let at = pixel(&mut browser, [0.0, 0.7]);
    browser.mouse("mousePressed", at);
    browser.mouse("mouseReleased", at);
    browser.until("bodies.size === 103 && shapes.size === 103 && $('told').textContent === 'dropped 100 of 100'");
    service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    let deepest = service.ask(&format!("{world}/metrics"))["metrics"]["max_penetration"].as_f64().unwrap();
    assert!(deepest < 0.006, "{deepest} m");
    browser.key("Escape");
    browser.until("tool === ''");

    let fastest =
        |service: &Service| service.ask(&format!("{world}/metrics"))["metrics"]["max_speed"].as_f64().unwrap();
    let slow = fastest(&service);
    browser.mouse("mouseMoved", at);
    browser.key("x");
    browser.until("$('told').textContent.startsWith('pushed ')");
    service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    assert!(fastest(&service) > slow + 1.0);
    browser.key("s");
    browser.until("bodies.size === 104");
    service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    assert!(fastest(&service) > 9.0);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The 2D canvas and WebGL show the same. With software WebGL, as here, the page chooses the 2D canvas.
#[test]
fn webgl_and_canvas_show_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let ready = "drawn && camera.fitted && $('panel').hidden && status && painted.key";
    for scene in ["springs", "large_pyramid:base=6", "bridge"] {
        let world = service.make(&json!({ "scene": scene }));
        let page =
            |draw: &str| format!("http://{}/?draw={draw}#{}", service.address, world.rsplit('/').next().unwrap());
        let mut browser = Browser::open(&page("webgl"), 1000, 700);
        browser.until(&format!("webgl && !webgl.lost && {ready}"));
        let first = view(&mut browser, "webgl");
        // A lost context is restored, and so is the picture.
        browser.eval("window.lose = webgl.gl.getExtension('WEBGL_lose_context'); lose.loseContext()");
        browser.until("webgl.lost");
        browser.eval("lose.restoreContext()");
        browser.until("!webgl.lost && painted.key");
        assert_eq!(painted(&view(&mut browser, "webgl-again")), painted(&first));
        for other in ["2d", "auto"] {
            browser.call("Page.navigate", &json!({ "url": "about:blank" }));
            browser.call("Page.navigate", &json!({ "url": page(other) }));
            browser.until(&format!("webgl === null && {ready}"));
        }
        let second = view(&mut browser, "canvas-2d");
        let (one, two) = (painted(&first) as f64, painted(&second) as f64);
        assert!((one - two).abs() <= 0.06 * one.max(two) + 200.0, "{scene}: {one} and {two} pixels");
        let far = |a: &[u8; 3], b: &[u8; 3]| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 90);
        let differ = first.iter().zip(&second).filter(|(a, b)| far(a, b)).count();
        assert!(differ < first.len() / 100, "{scene}: {differ} pixels are others");
        browser.errors.retain(|error| !error.contains("WebGL"));
        assert_eq!(browser.errors, Vec::<String>::new());
    }
}

/// The message of a lost connection disappears when the service answers again.
#[test]
fn a_lost_connection_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 1000, 700);
    browser.call("Network.enable", &json!({}));
    let network =
        |offline: bool| json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
    browser.call("Network.emulateNetworkConditions", &network(true));
    browser.key("ArrowRight");
    browser.until(
        "$('say').textContent === AWAY && $('rate').textContent.includes('connection lost') && $('play').disabled",
    );
    browser.call("Network.emulateNetworkConditions", &network(false));
    browser.until("$('say').textContent === '' && !$('rate').textContent.includes('lost') && !$('play').disabled");
}
