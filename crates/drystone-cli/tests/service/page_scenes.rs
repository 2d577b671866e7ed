//! The built-in scenes on the page: groups with pictures, sliders with the number of bodies; and hover texts.

use drystone_scenes::catalogue;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::Service;
use crate::page::{numbers, stand, two_boxes};

/// Returns the picture of a scene as the service sends it.
fn picture(service: &Service, name: &str, dark: bool) -> (png::OutputInfo, Vec<u8>) {
    let answer = service.get(&format!("/v1/scenes/{name}/picture?dark={dark}")).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/png")), "{name}");
    let mut reader = png::Decoder::new(std::io::Cursor::new(answer.body)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info, pixels)
}

/// The list has the groups of the catalogue in their order; each scene is in one of them, with the numbers of the
/// catalogue.
#[test]
fn scenes_are_in_groups() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_BODIES", "3000")]);
    let list = service.ask("/v1/scenes");
    let groups: Vec<&str> = catalogue::Topic::ALL.iter().map(|topic| topic.title()).collect();
    assert_eq!(list["groups"], json!(groups));
    for (entry, told) in catalogue::entries().iter().zip(list["scenes"].as_array().unwrap()) {
        assert_eq!((&told["name"], &told["group"]), (&json!(entry.name), &json!(entry.topic.title())));
    }
    let parameter = |scene: &str, name: &str| {
        let scene = list["scenes"].as_array().unwrap().iter().find(|told| told["name"] == scene).unwrap();
        scene["parameters"].as_array().unwrap().iter().find(|told| told["name"] == name).unwrap().clone()
    };
    assert_eq!(parameter("tumbler", "grid")["logarithmic"], true);
    assert_eq!(parameter("tumbler", "speed")["logarithmic"], false);
    // Sizes are those of scenes that are built.
    for spec in ["tumbler:grid=12", "springs", "large_pyramid:base=90"] {
        let size = service.ask(&format!("/v1/scenes/{spec}/size"));
        let bodies = catalogue::build(spec).unwrap().most_parts().bodies;
        assert_eq!((&size["bodies"], &size["most"]), (&json!(bodies), &json!(3000)), "{spec}");
    }
    for (spec, wanted) in [
        ("tumbler:grid=0", "grid"),
        ("tumblr", "did you mean"),
        ("tumbler:grid=x", "a number"),
        ("tumbler:a", "expected"),
    ] {
        let answer = service.get(&format!("/v1/scenes/{spec}/size")).unwrap();
        let problem = answer.json();
        assert!(answer.status == 422 && problem["detail"].as_str().unwrap().contains(wanted), "{spec}: {problem}");
    }
}

/// Pictures are drawn once and may be kept; clients without a token get none.
#[test]
fn scenes_have_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("TOKEN", "sixteen letters!")]);
    let path = "/v1/scenes/bouncing_ball/picture";
    let (info, light) = picture(&service, "bouncing_ball", false);
    assert_eq!([info.width, info.height], [144, 96]);
    let (_, dark) = picture(&service, "bouncing_ball", true);
    let brightness = |pixels: &[u8]| pixels.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    assert!(brightness(&light) > brightness(&dark));
    let (_, other) = picture(&service, "large_pyramid", false);
    assert_ne!(light, other);
    // A client that has it gets nothing; one that has the other does.
    let answer = service.get(path).unwrap();
    let tag = answer.header("etag").unwrap().to_owned();
    assert!(answer.header("cache-control").unwrap().starts_with("private, max-age="));
    let again = service.send("GET", path, &[("If-None-Match", &tag)], b"").unwrap();
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())));
    let dark = service.send("GET", &format!("{path}?dark=true"), &[("If-None-Match", &tag)], b"").unwrap();
    assert!(dark.status == 200 && dark.header("etag") != Some(&tag));
    // Two clients at a time: the same.
    let ask = || service.get("/v1/scenes/springs/picture").unwrap().body;
    let [a, b] = std::thread::scope(|scope| [scope.spawn(ask), scope.spawn(ask)].map(|thread| thread.join().unwrap()));
    assert!(a == b && a.len() > 500, "{} bytes", a.len());
    for (path, status) in [
        ("/v1/scenes/nothing/picture", 404),
        ("/v1/scenes/bouncing_ball/picture?dark=perhaps", 400),
        ("/v1/scenes/bouncing_ball/picture?size=4000", 400),
    ] {
        assert_eq!(service.get(path).unwrap().status, status, "{path}");
    }
    let stranger = service.send("GET", path, &[("Authorization", "Bearer fifteen letters")], b"").unwrap();
    assert_eq!(stranger.status, 401);
}

/// JavaScript expression: the number of pictures in the gallery that have come, and of its scenes.
const FILLED: &str = "[cards.filter(({ image }) => image.complete && image.naturalWidth === 144).length, cards.length]";

/// The gallery shows all scenes in groups, with pictures in the colours of the page, on all screens; a search finds; a
/// press opens a world of the scene.
#[test]
fn the_gallery_shows_groups_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("TOKEN", "sixteen letters!")]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    browser.until("asking");
    browser.eval("sessionStorage.setItem('token', 'sixteen letters!')");
    browser.errors.clear();
    browser.call("Page.reload", &json!({}));
    browser.until("!$('none').hidden && cards.length > 30");
    // Scenes that are offered without a world have pictures, too.
    browser
        .until("[...$('choices').querySelectorAll('img')].every(image => !image.hidden && image.naturalWidth === 144)");
    browser.picture("none");
    browser.click("#all-scenes");
    browser.until("$('gallery').open && document.activeElement === $('gallery-search')");
    let count = catalogue::entries().len();
    let wanted = json!([count, count]);
    browser.until(&format!("JSON.stringify({FILLED}) === '{wanted}'"));
    let titles = browser.eval("[...document.querySelectorAll('#groups h3')].map(title => title.textContent)");
    assert_eq!(titles, json!(catalogue::Topic::ALL.map(catalogue::Topic::title)));
    // Each scene is under the title of its group; the list of the form has the same groups.
    for list in [
        "[...document.querySelectorAll('#groups section')].map(part => [part.querySelector('h3').textContent, [...part.querySelectorAll('button')].map(card => card.dataset.scene)])",
        "[...document.querySelectorAll('#catalogue optgroup')].map(part => [part.label, [...part.children].map(option => option.value)])",
    ] {
        for group in browser.eval(list).as_array().unwrap() {
            for name in group[1].as_array().unwrap() {
                assert_eq!(catalogue::find(name.as_str().unwrap()).unwrap().topic.title(), group[0]);
            }
        }
    }
    let source = "cards.find(({ scene }) => scene.name === 'springs').image.src";
    let light = browser.eval(source);
    for (width, height) in [(1280, 720), (360, 640)] {
        browser.size(width, height);
        for scheme in ["light", "dark"] {
            browser.scheme(scheme);
            browser.until(&format!("JSON.stringify({FILLED}) === '{wanted}' && cards.every(({{ image }}) => image.dataset.key.endsWith({:?}))", (scheme == "dark").to_string()));
            browser.picture(&format!("gallery-{width}-{scheme}"));
            let fits = browser.eval(
                "(() => { const r = $('gallery').getBoundingClientRect(), bad = [...$('groups').querySelectorAll('button')].filter(card => { const c = card.getBoundingClientRect(); \
                 return c.left < r.left || c.right > r.right || card.scrollWidth > card.clientWidth + 1; }); \
                 return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight && bad.length === 0 && $('groups').scrollHeight > $('groups').clientHeight; })()",
            );
            assert_eq!(fits, true, "{width} × {height}, {scheme}");
        }
    }
    assert_ne!(browser.eval(source), light, "dark pictures on a dark page");
    browser.scheme("light");
    browser.size(1280, 720);

    browser.eval("$('gallery-search').focus()");
    browser.text("pendulum");
    browser.until("cards.filter(({ card }) => !card.hidden).length > 0 && cards.filter(({ card }) => !card.hidden).every(({ scene }) => (scene.name + scene.summary + scene.keywords).toLowerCase().includes('pendulum'))");
    browser.text(" qqq");
    browser.until("!$('no-scene').hidden && [...$('groups').children].every(part => part.hidden)");
    browser.key("Escape");
    browser.eval("$('gallery').open && $('gallery').close()");
    browser.until("!$('gallery').open");
    // Keys of the world do nothing while it is open; O opens it, a press takes a scene.
    browser.eval("$('canvas').focus()");
    browser.key("o");
    browser.until("$('gallery').open && $('gallery-search').value === '' && cards.every(({ card }) => !card.hidden)");
    browser.click("[data-scene=bouncing_ball]");
    browser.until("!$('gallery').open && drawn && status && status.name === 'bouncing_ball' && $('catalogue').value === 'bouncing_ball'");
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Sliders of sizes go by powers and show the number of bodies; they, the text and the created world agree.
#[test]
fn sliders_of_sizes_show_the_number_of_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_BODIES", "20000")]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 900);
    browser.until("!$('none').hidden && catalogue.scenes.length > 30");
    browser.eval("$('catalogue').value = 'tumbler'; $('catalogue').onchange(); $('run').checked = false");
    let shown = |browser: &mut Browser, value: &str| {
        let bodies = catalogue::check(&format!("tumbler:grid={value}")).unwrap();
        let grouped = bodies
            .to_string()
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|part| std::str::from_utf8(part).unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(",");
        browser.until(&format!("$('size').textContent.startsWith('{grouped} bodies')"));
    };
    let usual = catalogue::find("tumbler")
        .unwrap()
        .parameters
        .iter()
        .find(|parameter| parameter.name == "grid")
        .unwrap()
        .default;
    shown(&mut browser, &usual.to_string());
    // Pictures and a size that come late move nothing.
    let moved = browser.eval(
        "(() => { const all = [...document.querySelectorAll('.chosen img, .choices img')], before = all.map(image => image.hidden), size = $('size').textContent; \
         const places = late => { all.forEach(image => image.hidden = late); $('size').textContent = late ? '' : size; \
         return JSON.stringify([...document.querySelectorAll('#create *, #none *:not(img)')].map(e => e.getBoundingClientRect())); }; \
         const apart = places(true) !== places(false); all.forEach((image, i) => image.hidden = before[i]); return [all.length, size !== '', apart]; })()",
    );
    assert_eq!(moved, json!([7, true, false]));
    // Pressed at three tenths of its length, by a real pointer: about 4000^0.3, and not three tenths of 4000.
    let at = browser.eval(
        "(() => { const slider = document.querySelector('#sliders input[data-name=grid]'); slider.scrollIntoView({ block: 'nearest' }); \
         const r = slider.getBoundingClientRect(); return [r.x + 8 + 0.3 * (r.width - 16), r.y + r.height / 2]; })()",
    );
    for kind in ["mousePressed", "mouseReleased"] {
        browser.mouse(kind, numbers(&at));
    }
    browser.until("$('parameters').value.startsWith('grid=')");
    let value = browser.eval("$('parameters').value.split('=')[1]").as_str().unwrap().to_owned();
    let number: f64 = value.parse().unwrap();
    assert!((8.0..20.0).contains(&number), "{value}");
    shown(&mut browser, &value);
    browser.picture("sliders");
    // A key moves it on; text moves the slider; a usual value is no text.
    browser.key("ArrowRight");
    browser.until(&format!("$('parameters').value !== 'grid={value}'"));
    let place = "Number(document.querySelector('#sliders input[data-name=grid]').value)";
    let before = browser.eval(place).as_f64().unwrap();
    browser.eval("$('parameters').value = ''; $('parameters').focus()");
    browser.text("grid=5, speed=0.3");
    shown(&mut browser, "5");
    assert!(browser.eval(place).as_f64().unwrap() < before);
    // Too large for this service, and a mistake: said before anything is created.
    browser.eval("$('parameters').value = ''; $('parameters').focus()");
    browser.text("grid=400");
    browser.until("$('size').classList.contains('bad') && $('size').textContent.includes('at most 20,000')");
    browser.eval("$('parameters').value = ''; $('parameters').focus()");
    browser.text("grid=-3");
    browser.until("$('size').classList.contains('bad') && $('size').textContent.includes('grid')");
    browser.eval("$('parameters').value = ''; $('parameters').focus()");
    browser.text("grid=9");
    shown(&mut browser, "9");
    browser.click("#create .main");
    browser.until("drawn && status");
    let bodies = catalogue::check("tumbler:grid=9").unwrap();
    assert_eq!(browser.eval("status.bodies"), json!(bodies));
    // Places and values fit for all parameters of all scenes, to what a slider can show.
    let apart = browser.eval(
        "catalogue.scenes.flatMap(scene => scene.parameters.map(p => [scene.name, p])).filter(([, p]) => { \
         const back = value_at(p, place_of(p, p.default)), ends = [value_at(p, 0), value_at(p, 1)]; \
         return Math.abs(back - p.default) > 0.005 * Math.max(Math.abs(p.default), p.integer ? 100 : 1e-6) || Math.abs(ends[0] - p.min) > 1e-2 * Math.abs(p.min) || Math.abs(ends[1] - p.max) > 1e-2 * Math.abs(p.max) \
         || (p.logarithmic && p.default > p.min && place_of(p, p.default) < 0.1); }).map(([name, p]) => [name, p])",
    );
    assert_eq!(apart, json!([]));
    browser.errors.retain(|error| !error.contains("422"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// JavaScript function: names of these elements without a hover text of their own that says more than they show.
const WITHOUT_TEXT: &str = "(elements => { const all = elements.map(e => e.closest('[title]')?.title || ''); \
     return elements.filter((e, i) => all[i].trim().length < 8 || all[i] === e.textContent.trim() || all.filter(other => other === all[i]).length > 1).map(e => e.textContent.trim()); })";

/// Layers, counters, figures and parameters of the page say what they are.
#[test]
fn layers_counters_and_figures_have_hover_texts() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, _) = stand(&service, &two_boxes(), 1280, 720);
    browser.click("#more summary");
    browser.click("#measure");
    browser.until("$('metrics').textContent.includes('hash')");
    browser.click("#graph");
    browser.until("!$('graphs').hidden");
    browser.eval("$('catalogue').value = 'tumbler'; $('catalogue').onchange()");
    for (what, elements, least) in [
        ("layers", "[...document.querySelectorAll('.menu label')]", 5),
        ("gravity", "[...document.querySelectorAll('#gravity-numbers label'), $('gravity-open')]", 4),
        ("spring", "[...document.querySelectorAll('#spring-settings label')]", 2),
        (
            "buttons",
            "[...document.querySelectorAll('main > header button, main > header select, .menu button, #palette button, #zoom button')]",
            28,
        ),
        ("counters", "[$('now'), $('rate')]", 2),
        ("figures", "[...$('metrics').children]", 5),
        ("graphs", "[...document.querySelectorAll('#figures figcaption')]", 6),
        ("parameters", "[...document.querySelectorAll('#sliders label')]", 2),
        ("scenes", "cards.map(({ card }) => card)", 30),
    ] {
        let found = browser.eval(&format!("{elements}.length")).as_u64().unwrap();
        assert!(found >= least, "{found} {what}");
        assert_eq!(browser.eval(&format!("{WITHOUT_TEXT}({elements})")), json!([]), "{what}");
    }
    // The control: without its text a layer is found, and so are two with the same one.
    browser.eval("document.querySelector('.menu label').title = ''");
    let names = browser.eval(&format!("{WITHOUT_TEXT}([...document.querySelectorAll('.menu label')])"));
    assert_eq!(names, json!(["Joints"]));
    browser.eval("$('now').title = $('rate').title");
    let names: Value = browser.eval(&format!("{WITHOUT_TEXT}([$('now'), $('rate')]).length"));
    assert_eq!(names, json!(2));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// A form that was sent leaves the keys to the world; what the user did last counts; a link to another world opens it.
#[test]
fn the_form_does_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    let count = |service: &Service| service.ask("/v1/worlds")["worlds"].as_array().unwrap().len();
    // "Run immediately" stays as it is, and Space runs the new world.
    browser.eval("$('run').checked = true");
    browser.click("#empty");
    browser.until("drawn && status?.name === 'new scene'");
    assert_eq!(browser.eval("[$('run').checked, status.state]"), json!([true, "paused"]));
    browser.eval("$('run').checked = false");
    browser.eval("$('catalogue').value = 'slope'; $('catalogue').onchange()");
    browser.click("#create .main");
    browser.until("drawn && status?.name.startsWith('slope') && document.activeElement === $('canvas')");
    browser.key(" ");
    browser.until("status.state === 'playing'");
    assert_eq!(count(&service), 3);
    // A broken text is outranked by a scene chosen after it.
    browser.eval("$('scene').value = '{'; $('scene').oninput()");
    browser.click("#create .main");
    browser.until("$('mistake').textContent.includes('line 1')");
    browser.eval("$('catalogue').value = 'arch'; $('catalogue').onchange()");
    assert_eq!(browser.eval("[$('mistake').textContent, $('scene').value]"), json!(["", "{"]));
    browser.click("#create .main");
    browser.until("drawn && status?.name.startsWith('arch')");
    // Teachers' words find scenes.
    browser.key("o");
    browser.until("$('gallery').open");
    browser.eval("$('gallery-search').focus()");
    browser.text("momentum");
    browser.until("cards.some(({ card, scene }) => !card.hidden && scene.name === 'circle_masses')");
    assert_eq!(browser.eval("cards.find(({ scene }) => scene.name === 'arch').card.hidden"), true);
    browser.click("#gallery-close");
    // The address of another world opens it.
    let id = world.rsplit('/').next().unwrap();
    browser.eval(&format!("location.hash = '{id}'"));
    browser.until(&format!("world === '{id}' && drawn && status?.name === 'two boxes'"));
    browser.errors.retain(|error| !error.contains("422") && !error.contains("400"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The card of a paused world shows a velocity that was set, and takes a decimal comma.
#[test]
fn a_velocity_is_shown_once_it_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (mut browser, world) = stand(&service, &two_boxes(), 1280, 720);
    browser.eval("select(shapes.get(2).id)");
    browser.until("!fields.vx.disabled && fields.vx.value === '0'");
    browser.eval("fields.vx.focus(); fields.vx.select()");
    browser.text("2");
    browser.text(",");
    browser.text("5");
    browser.key("Enter");
    browser.until("$('told').textContent === 'Velocity x changed' || $('told').textContent.includes('changed')");
    browser.until("document.activeElement === $('canvas') && fields.vx.value === '2.5'");
    browser.until("$('card-now').textContent.includes('2.50 m/s')");
    // It is what the world has in its next step; undone, it is gone.
    browser.key("z");
    browser.until("$('told').textContent.startsWith('undone') && fields.vx.value === '0'");
    browser.key("y");
    browser.until("$('told').textContent.startsWith('redone')");
    service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    browser.until("simulated.step === 1 && bodies.get(2).vx === 2.5");
    // Two numbers that are set at once count both, also if the card shows the motion again before they are sent.
    browser.eval("for (const [name, value] of [['vx', 1], ['vy', 3]]) { fields[name].value = value; fields[name].onchange(); } show_motion(true)");
    browser.until("fields.vx.value === '1' && fields.vy.value === '3'");
    service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    browser.until("simulated.step === 2 && bodies.get(2).vx === 1 && Math.abs(bodies.get(2).vy - 3) < 0.2");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The sliders of a scene show the unit of each parameter that has one.
#[test]
fn sliders_show_units() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let mut browser = Browser::open(&format!("http://{}/", service.address), 1280, 720);
    browser.until("$('catalogue').options.length > 5");
    let shown = |browser: &mut Browser, scene: &str| {
        browser.eval(&format!("$('catalogue').value = '{scene}'; $('catalogue').onchange()"));
        browser.eval("Object.fromEntries([...document.querySelectorAll('#sliders label')].map(row => [row.firstChild.textContent, row.lastChild.textContent]))")
    };
    assert_eq!(
        shown(&mut browser, "pendulum"),
        json!({ "bobs": "1", "length": "1 m", "angle": "0.5 rad", "gravity": "9.81 m/s²" })
    );
    assert_eq!(shown(&mut browser, "slope")["tangent"], "0.5");
    // Each fits its place, and the page finds the same units as the catalogue.
    for entry in catalogue::entries() {
        let units = shown(&mut browser, entry.name);
        for parameter in entry.parameters {
            let text = units[parameter.name].as_str().unwrap();
            let wanted = parameter.unit().map_or_else(String::new, |unit| format!(" {unit}"));
            let number = text.strip_suffix(wanted.as_str()).unwrap_or_else(|| panic!("{}: {text}", parameter.name));
            assert!(number.parse::<f64>().is_ok(), "{}: {text}", entry.name);
        }
        let is_cut = "[...document.querySelectorAll('#sliders output')].some(output => output.scrollWidth > output.clientWidth + 1 || output.clientHeight > 22)";
        assert_eq!(browser.eval(is_cut), false, "{}: {units}", entry.name);
    }
    browser.picture("sliders-units");
    assert_eq!(browser.errors, Vec::<String>::new());
}
