//! The page at `/`, in Chromium: a user with a pointer, or with a keyboard alone.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;

fn numbers(value: &Value) -> [f64; 2] {
    [value[0].as_f64().unwrap(), value[1].as_f64().unwrap()]
}

/// Where a body is, as the service says it.
fn place(service: &Service, world: &str, body: usize) -> [f64; 2] {
    numbers(&service.ask(&format!("{world}/state"))["bodies"][body]["position"])
}

/// Where it is on the screen, and what its name is on the page.
fn on_screen(browser: &mut Browser, body: usize) -> [f64; 2] {
    numbers(&browser.eval(&format!(
        "(() => {{ const b = bodies.get({body}), r = $('canvas').getBoundingClientRect(); \
         return [r.x + r.width / 2 + (b.x - camera.x) * camera.scale, r.y + r.height / 2 - (b.y - camera.y) * camera.scale]; }})()"
    )))
}

/// The pixels of the view.
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

/// Pixels in the colours of dynamic bodies. Words have none of them.
fn painted(pixels: &[[u8; 3]]) -> usize {
    const COLORS: [[u8; 3]; 4] = [[0xf5, 0x85, 0x18], [0x54, 0xa2, 0x4b], [0xb2, 0x79, 0xa2], [0x72, 0xb7, 0xb2]];
    pixels.iter().filter(|pixel| COLORS.contains(pixel)).count()
}

fn choose(browser: &mut Browser, scene: &str, parameters: &str) {
    browser.until("$('catalogue').options.length > 5");
    browser.eval(&format!("$('catalogue').value = {scene:?}; $('catalogue').onchange()"));
    browser.click("#parameters");
    browser.text(parameters);
    browser.click("#create button");
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
    assert_eq!(view(&mut browser, "again"), made, "what stands still is the same picture");

    // The box on top, to the upper right, while it plays; the one below it stays.
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
    // A token that is wrong is told so, and can be typed again.
    browser.until("asking && document.activeElement === $('token')");
    browser.text("fifteen letters");
    browser.key("Enter");
    browser.until("$('wrong').textContent.includes('does not accept') && !$('enter').disabled");
    assert_eq!(browser.eval("sessionStorage.getItem('token')"), Value::Null);
    browser.eval("$('token').value = ''; $('token').focus()");
    browser.text("sixteen letters!");
    browser.key("Enter");
    browser.until("!asking && $('catalogue').options.length > 5 && !$('none').hidden");
    // Kept for this tab, and nowhere else.
    assert_eq!(
        browser.eval("[sessionStorage.length, localStorage.length, document.cookie, $('token').value]"),
        json!([1, 0, "", ""])
    );
    assert!(browser.eval("$('curl').textContent").as_str().unwrap().contains("Bearer TOKEN"));
    browser.errors.clear();

    // A mistake is told with its place, and loses nothing of what was written.
    let wrong = json!({ "version": 1, "bodies": [ { "shapes": [ { "circle": { "radius": -1 } } ] } ] });
    browser.eval("$('scene').focus()");
    browser.text(&wrong.to_string());
    browser.key("Tab");
    assert_eq!(browser.eval("document.activeElement.textContent"), "Create");
    browser.key("Enter");
    browser.until("$('say').textContent.includes('bodies[0].shapes[0].circle.radius')");
    assert_eq!(browser.eval("$('scene').value"), wrong.to_string());
    browser.errors.clear();

    let scene = json!({ "version": 1, "name": "one ball", "bodies": [
        { "type": "static", "shapes": [ { "half_plane": { "normal": [0, 1], "offset": 0 } } ] },
        { "position": [0, 4], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] });
    browser.eval("$('scene').value = ''; $('scene').focus()");
    browser.text(&scene.to_string());
    browser.key("Tab");
    browser.key("Enter");
    browser.until("world && bodies.size === 2");
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
    browser.key("+");
    assert!(browser.eval("camera.scale").as_f64().unwrap() > scale);
    browser.key("f");
    browser.replies = vec!["yes"];
    browser.key("Delete");
    browser.until("!world && !document.querySelector('#worlds button') && !$('none').hidden");
    assert_eq!(service.get(&world).unwrap().status, 404);
    // Another token: the page begins again without the one before.
    browser.click("#forget");
    browser.until("asking && sessionStorage.length === 0");
    browser.errors.retain(|error| !error.contains("401"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Nothing is cut off or covered, on a small screen and on a large one, in dark and in light.
#[test]
fn it_fits_screens() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    choose(&mut browser, "card_house", "");
    browser.click("#play");
    for (width, height, name) in [(1280, 720, "wide"), (390, 844, "phone")] {
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
        // No wider than the screen; the view has room; what can be pressed is inside.
        let found = browser.eval(
            "({ wide: document.documentElement.scrollWidth, view: [$('canvas').clientWidth, $('canvas').clientHeight], \
             outside: [...document.querySelectorAll('main button, main select')].filter(e => { if (!e.offsetParent) return false; const r = e.getBoundingClientRect(); \
             return r.left < 0 || r.right > innerWidth || r.top < 0 || r.bottom > innerHeight || r.height < 24; }).map(e => e.id) })",
        );
        assert!(found["wide"].as_u64() <= Some(u64::from(width)), "{name}: {found}");
        assert_eq!(found["outside"], json!([]), "{name}: {found}");
        assert!(found["view"][0].as_u64() >= Some(360) && found["view"][1].as_u64() >= Some(300), "{name}: {found}");
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The page shows something at once: the newest world that can be drawn, or the one of its address.
#[test]
fn the_newest_world_is_drawn_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let old = service.make(&json!({ "scene": "slope" }));
    // Their order is by the second in which they were made.
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

    // One that is deleted elsewhere makes way for another.
    assert_eq!(service.send("DELETE", &old, &[], b"").unwrap().status, 204);
    browser.until(&format!("drawn && world === '{}'", id(&new)));

    // The newest is damaged: it says so, and is not the one that is opened.
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

/// Without a world the page says how to come by one, and a button makes it.
#[test]
fn what_to_do_without_a_world() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 390, 844);
    browser.until("!$('none').hidden");
    let curl = browser.eval("$('curl').textContent");
    let curl = curl.as_str().unwrap();
    assert!(curl.contains(&service.address) && curl.contains("/v1/worlds") && !curl.contains("Bearer"), "{curl}");
    // The command on the page works as it is.
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
    browser.until("!world && !$('none').hidden");
    browser.click("#choices button");
    browser.until("drawn && bodies.size");
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A world that is made before the first list has come is the one on show, and a list from before it takes nothing away.
#[test]
fn a_world_made_before_the_list_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    service.make(&json!({ "scene": "slope" }));
    let mut browser = Browser::open("about:blank", 1000, 700);
    // The list is asked for at once, and its answer kept until the test lets it go.
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
    browser
        .eval("$('parameters').value = 'base=6'; $('catalogue').value = 'large_pyramid'; $('create').requestSubmit()");
    browser.until("drawn && bodies.size === 22 && $('panel').hidden");
    browser.eval("window.hold = false");
    browser.until("window.lists > 3");
    assert_eq!(
        browser.eval("[bodies.size, drawn, $('panel').hidden, $('say').textContent]"),
        json!([22, true, true, ""])
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A bar moves while a large world is made, comes back from disk, or is loaded.
#[test]
fn opening_shows_a_bar() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open("about:blank", 1000, 700);
    // Answers wait until the test lets them go, so each state can be looked at however fast the machine is.
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
    browser.until("!$('opening').hidden && $('doing').textContent.includes('Making large_pyramid:base=5')");
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
