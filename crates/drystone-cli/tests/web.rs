//! Exported pages in Chromium, on its software adapter for WebGPU (SwiftShader): a second compiler and validator of all
//! kernels, and a recorder of steps in JavaScript beside that of the library.

#![allow(clippy::cast_possible_truncation, reason = "numbers of JSON that were f32, and base64")]
#![cfg(all(feature = "serve", unix))]

#[path = "service/browser.rs"]
#[allow(dead_code, reason = "shared with the tests of the service, which use more of it")]
mod browser;
#[path = "service/client.rs"]
#[allow(dead_code, reason = "shared with the tests of the service, which use more of it")]
mod client;
#[path = "web/pull.rs"]
mod pull;
#[path = "web/rules.rs"]
mod rules;
#[path = "web/run_here.rs"]
mod run_here;
#[path = "web/timed.rs"]
mod timed;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use browser::{Browser, WEBGPU};
use drystone::low_level::gpu::recipe::RecipeDispatch;
use drystone::low_level::gpu::shader::{Composer, SHADERS};
use drystone::low_level::types::{Contact, Counters, Pose};
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, Scene};
use drystone_draw::recipe::DrawRecipe;
use drystone_scenes::catalogue;
use drystone_web::traffic::{self, RowCounts};
use drystone_web::{WebPage, bench_page, gallery};
use serde_json::Value;

/// A page served on loopback: a secure context, as WebGPU needs.
struct Served {
    address: String,
}

impl Served {
    fn new(html: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                answer(stream, &html);
            }
        });
        Self { address }
    }
}

fn answer(mut stream: TcpStream, html: &str) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\ncontent-length: ";
    let _ = stream.write_all(format!("{head}{}\r\n\r\n{html}", html.len()).as_bytes());
}

/// A page that is open and paused at its start.
struct OpenPage {
    page: WebPage,
    browser: Browser,
}

fn build(spec: &str) -> Scene {
    catalogue::build(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

impl OpenPage {
    fn new(scene: &Scene) -> Self {
        let page = WebPage::new(scene).unwrap();
        let served = Served::new(page.html().to_owned());
        let browser = Browser::open_with(&WEBGPU, &format!("{}?paused", served.address), 1000, 700);
        let mut open = Self { page, browser };
        open.browser.until("window.drystone");
        open.browser.eval("drystone.ready.then(() => true)");
        open
    }

    fn step(&mut self, count: u32) {
        // In pieces: the connection to the browser waits a bounded time.
        for first in (0..count).step_by(20) {
            self.browser.eval(&format!("drystone.step({}).then(() => true)", (count - first).min(20)));
        }
    }

    fn poses(&mut self) -> Vec<[f32; 4]> {
        let rows = self.browser.eval("drystone.poses().then((all) => Array.from(all))");
        let numbers: Vec<f32> = rows.as_array().unwrap().iter().map(|n| n.as_f64().unwrap() as f32).collect();
        numbers.chunks_exact(4).map(|row| row.try_into().unwrap()).collect()
    }

    /// Returns the first rows of a table.
    fn rows<T: bytemuck::Pod>(&mut self, table: &str, count: usize) -> Vec<T> {
        let text = self.browser.eval(&format!("drystone.table({table:?})"));
        let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
        let mut rows = vec![T::zeroed(); count];
        bytemuck::cast_slice_mut(&mut rows).copy_from_slice(&bytes[..count * size_of::<T>()]);
        rows
    }

    fn counters(&mut self) -> Counters {
        self.rows("counters", 1)[0]
    }

    /// Fails if the page has reported an error.
    fn check(&mut self) {
        let errors = self.browser.eval("drystone.errors");
        assert_eq!(errors, Value::Array(Vec::new()));
        assert_eq!(self.browser.errors, [""; 0]);
    }
}

/// Largest distance between poses, m.
fn apart(one: &[[f32; 4]], other: &[Pose]) -> f32 {
    assert!(one.len() <= other.len());
    let away = |(a, b): (&[f32; 4], &Pose)| (a[0] - b.position[0]).hypot(a[1] - b.position[1]);
    one.iter().zip(other).map(away).fold(0.0, f32::max)
}

/// Counts, orders and colours of the first step are equal to the bit; poses differ by rounding.
#[test]
fn first_step_is_the_native_one() {
    let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
    let mut any_touching = false;
    for spec in ["large_pyramid:base=12", "joint_grid:size=6", "tumbler:grid=6"] {
        let mut open = OpenPage::new(&build(spec));
        let compiled = open.page.recipe().compiled().clone();
        let mut native = GpuWorld::from_compiled(&context, compiled, None).unwrap();
        let before = open.counters();
        for steps in [1, 59] {
            open.step(steps);
            (0..steps).for_each(|_| native.step().unwrap());
            let (expected, found) = (native.tables().unwrap(), open.counters());
            let tolerance = if steps == 1 { 1e-6 } else { 2e-3 };
            let away = apart(&open.poses(), &expected.poses);
            assert!(away < tolerance, "{spec} after {steps} steps: {away} m");
            if steps > 1 {
                continue;
            }
            assert_eq!(found.pairs_found, expected.counters.pairs_found, "{spec}");
            assert_eq!(found.touching, expected.counters.touching, "{spec}");
            assert_eq!(found.color_starts, expected.counters.color_starts, "{spec}");
            let pairs = |contacts: &[Contact]| -> Vec<_> {
                contacts.iter().map(|contact| (contact.shape_a, contact.shape_b, contact.color)).collect()
            };
            let contacts: Vec<Contact> = open.rows("contacts", expected.contacts.len());
            assert_eq!(pairs(&contacts), pairs(&expected.contacts), "{spec}");
            let slots: Vec<u32> = open.rows("slots", expected.slots.len());
            assert_eq!(slots, expected.slots, "{spec}");
            // Negative control: before the step there was nothing of this.
            let has_touching = expected.counters.touching > 0;
            assert_eq!(before.color_starts != found.color_starts, has_touching, "{spec}");
            any_touching |= has_touching;
        }
        open.check();
    }
    assert!(any_touching, "some worlds have contacts");
}

/// The recorder of the page chooses as that of the library, for any counts of a past step.
#[test]
fn the_page_records_as_the_library() {
    let mut open = OpenPage::new(&build("large_pyramid:base=12"));
    let mut cases: Vec<(Option<Counters>, u32)> = vec![(None, 256), (None, 4096), (None, 1 << 20)];
    for (contacts, uncolored) in [(10, 0), (600, 0), (3000, 2000), (30_000, 2049), (500_000, 100_000)] {
        let mut counters = Counters { pairs_found: contacts, uncolored, ..Counters::default() };
        for color in 0..32 {
            // Falling sizes, and an overflow.
            let size = if color == 23 { contacts / 50 } else { contacts / (color + 4) };
            counters.color_starts[color as usize + 1] = counters.color_starts[color as usize] + size;
        }
        cases.push((Some(counters), 1 << 20));
        cases.push((Some(Counters { overflow_bits: 1, ..counters }), 2048));
    }
    let mut kinds = HashSet::new();
    for (counters, capacity) in cases {
        for (software, fuses) in [(true, true), (false, true), (false, false)] {
            let known = counters.map_or("null".to_owned(), |counters| {
                format!("new Uint32Array({:?})", bytemuck::cast_slice::<_, u32>(&[counters]))
            });
            let list = open.browser.eval(&format!(
                "(() => {{ const r = drystone.world.recorder, before = [r.software, r.canRun]; \
                 r.software = {software}; r.canRun = () => {fuses}; \
                 const list = r.dispatches({known}, {capacity}); [r.software, r.canRun] = before; \
                 return list.map((d) => [d.kernel, d.threads, d.sweep]); }})()"
            ));
            let expected = open.page.recipe().dispatches(counters.as_ref(), capacity, software, fuses);
            let json = |dispatch: &RecipeDispatch| {
                let sweep = dispatch.sweep.map(|s| [s.first_color, s.end_color, s.flags, s.round]);
                serde_json::json!([dispatch.kernel, dispatch.threads, sweep])
            };
            let expected: Vec<Value> = expected.iter().map(json).collect();
            assert_eq!(list.as_array().unwrap(), &expected, "{counters:?} {capacity} {software} {fuses}");
            kinds.insert(expected.len());
        }
    }
    assert!(kinds.len() > 5, "the cases differ: {kinds:?}");
}

/// A pyramid stands, where the reference of the library has it.
#[test]
fn a_pyramid_stands() {
    let scene = build("large_pyramid:base=30");
    let mut open = OpenPage::new(&scene);
    let mut world = CpuWorld::new(&scene).unwrap();
    let start = world.poses().to_vec();
    open.step(300);
    (0..300).for_each(|_| world.step().unwrap());
    let poses = open.poses();
    assert_eq!(poses.len(), scene.bodies.len());
    let away = apart(&poses, world.poses());
    assert!(away < 2e-3, "{away} m");
    let sunk = apart(&poses, &start);
    assert!(sunk < 0.1, "it stands: {sunk} m");
    open.check();
    open.browser.picture("web-pyramid");
}

/// A world that outgrows its contact tables says so and goes on, as natively.
#[test]
fn tables_grow() {
    let mut open = OpenPage::new(&build("large_pyramid:base=12"));
    open.browser.eval(
        "(() => { const w = drystone.world; w.capacity = 40; w.makeTables((t) => t.per !== null); \
         w.data.contents = w.data.contents.filter((c) => !/contacts|manifolds|pair_starts|counters/.test(c.table)); \
         return drystone.restart().then(() => true); })()",
    );
    open.step(10);
    let counters = open.browser.eval("drystone.counters()");
    assert!(counters["contact_capacity"].as_u64().unwrap() >= 1024, "{counters}");
    let overflowed = counters["overflowed_steps"].as_array().unwrap();
    assert!(!overflowed.is_empty() && overflowed.len() < 5, "{counters}");
    open.step(50);
    let counters = open.browser.eval("drystone.counters()");
    assert!(counters["touching"].as_u64().unwrap() > 100, "{counters}");
    assert!(counters["overflowed_steps"].as_array().unwrap().len() < 5, "{counters}");
    open.check();
}

/// Steps of a world in which all bodies sleep are counted and dispatch nothing, until something wakes them.
#[test]
fn sleeping_worlds_cost_nothing() {
    let mut scene = build("vertical_stack:count=3");
    scene.settings.sleep = true;
    let mut open = OpenPage::new(&scene);
    open.step(100);
    let counters = open.browser.eval("drystone.counters()");
    assert_eq!((&counters["awake"], &counters["dispatches"], &counters["steps"]), (&0.into(), &0.into(), &100.into()));
    open.browser.eval("drystone.command({ kind: 'gravity', value: [3, -10] })");
    open.step(1);
    let counters = open.browser.eval("drystone.counters()");
    assert!(counters["awake"].as_u64().unwrap() >= 3 && counters["dispatches"].as_u64().unwrap() > 10, "{counters}");
    open.check();
}

/// A drag moves a box, a dropped ball falls, gravity turns, and a restart takes all of it back.
#[test]
fn visitors_act() {
    let mut open = OpenPage::new(&build("large_pyramid:base=6"));
    let start = open.poses();
    let top = start.iter().enumerate().skip(1).max_by(|a, b| a.1[1].total_cmp(&b.1[1])).unwrap().0;
    let pixel = |browser: &mut Browser, x: f32, y: f32| {
        let at = browser.eval(&format!(
            "(() => {{ const p = drystone.picture, c = p.canvas, [x, y] = p.pixel({x}, {y}); \
             return [x * c.clientWidth / c.width, y * c.clientHeight / c.height]; }})()"
        ));
        [at[0].as_f64().unwrap(), at[1].as_f64().unwrap()]
    };
    open.browser.until("drystone.picture.canvas.width > 300");
    let [x, y, ..] = start[top];
    let from = pixel(&mut open.browser, x, y);
    let to = pixel(&mut open.browser, x + 3.0, y + 1.0);
    open.browser.mouse("mousePressed", from);
    open.browser.until("drystone.world.held");
    open.browser.mouse("mouseMoved", to);
    open.step(60);
    let dragged = open.poses();
    assert!((dragged[top][0] - x - 3.0).abs() < 0.3, "{:?} from {x}", dragged[top]);
    assert!((dragged[1][0] - start[1][0]).abs() < 0.1, "the others stay");
    open.browser.mouse("mouseReleased", to);
    open.browser.until("!drystone.world.held");

    let slot = open.browser.eval("drystone.add('ball', [-8, 9])");
    assert_eq!(slot, start.len());
    open.step(10);
    let fell = open.poses();
    assert_eq!(fell.len(), start.len() + 1);
    assert!(fell[start.len()][1] < 8.95, "{:?}", fell[start.len()]);

    open.browser.eval("drystone.command({ kind: 'gravity', value: [0, 10] })");
    open.step(60);
    assert!(open.poses()[1][1] > start[1][1] + 1.0, "gravity points up");

    open.browser.eval("drystone.restart().then(() => true)");
    assert_eq!(open.poses(), start);
    let refused =
        open.browser.eval("(() => { try { drystone.command({ kind: 'jump' }); } catch (e) { return e.message; } })()");
    assert!(refused.as_str().unwrap().contains("there is no command jump"), "{refused}");
    open.check();
}

/// Two fingers zoom, keys choose the tool and the theme, and each shows in the picture.
#[test]
fn fingers_and_keys_work() {
    let mut open = OpenPage::new(&build("large_pyramid:base=6"));
    open.browser.until("drystone.picture.canvas.width > 300");
    let before = open.browser.eval("drystone.picture.metresPerPixel").as_f64().unwrap();
    open.browser.touch("touchStart", &[[300.0, 60.0], [400.0, 60.0]]);
    open.browser.touch("touchMove", &[[250.0, 60.0], [450.0, 60.0]]);
    open.browser.touch("touchEnd", &[]);
    open.browser.until(&format!("Math.abs({before} / drystone.picture.metresPerPixel - 2) < 0.1"));
    open.browser.key("f");
    open.browser.until(&format!("drystone.picture.metresPerPixel === {before}"));
    open.browser.key("3");
    open.browser.until("drystone.control.tool === 'ball'");

    open.browser.scheme("light");
    until_shown(&mut open.browser, "web-light", |sky, colors| sky.iter().all(|channel| *channel > 200) && colors > 20);
    open.browser.key("d");
    until_shown(&mut open.browser, "web-dark", |sky, _| sky.iter().all(|channel| *channel < 60));
    open.check();
}

/// Takes pictures until one is as it should be, by the colour of a pixel of the sky and the number of colours.
fn until_shown(browser: &mut Browser, name: &str, is_right: impl Fn([u8; 3], usize) -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let (info, bytes) = browser.picture(name);
        let depth = bytes.len() / (info.width * info.height) as usize;
        let colors = bytes.chunks_exact(depth).collect::<HashSet<_>>().len();
        let sky = [bytes[0], bytes[1], bytes[2]];
        if is_right(sky, colors) {
            return;
        }
        assert!(Instant::now() < end, "{name}: {sky:?}, {colors} colours");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Polygons and capsules, whose kernel is the largest, move as in the library.
#[test]
fn polygons_and_capsules_move() {
    let mut moved = 0.0_f32;
    for spec in ["arch", "confined:grid=4,capsules=1"] {
        let scene = build(spec);
        let mut open = OpenPage::new(&scene);
        let mut world = CpuWorld::new(&scene).unwrap();
        let start = world.poses().to_vec();
        open.step(60);
        (0..60).for_each(|_| world.step().unwrap());
        let poses = open.poses();
        let away = apart(&poses, world.poses());
        assert!(away < 2e-3, "{spec}: {away} m");
        moved = moved.max(apart(&poses, &start));
        open.check();
    }
    assert!(moved > 4e-3, "something moves: {moved} m");
}

/// Six of twelve scenes run 300 steps.
#[test]
fn the_first_half_of_the_gallery_runs() {
    run_300_steps(&gallery::SCENES[..6]);
}

/// The other six scenes run 300 steps.
#[test]
fn the_second_half_of_the_gallery_runs() {
    run_300_steps(&gallery::SCENES[6..]);
}

fn run_300_steps(specs: &[&str]) {
    assert_eq!(specs.len(), 6);
    for spec in specs {
        let scene = build(spec);
        let mut open = OpenPage::new(&scene);
        open.step(300);
        let poses = open.poses();
        assert_eq!(poses.len(), scene.bodies.len(), "{spec}");
        assert!(poses.iter().flatten().all(|number| number.is_finite()), "{spec}");
        let counters = open.browser.eval("drystone.counters()");
        assert_eq!(counters["steps"], 300, "{spec}");
        assert_eq!(counters["quarantined"], 0, "{spec}");
        open.check();
    }
}

/// Tint accepts the module of every stage, and all that draw. Those for many worlds are left out: pages run one world,
/// and there the world is a private variable, so that for Tint nothing that is read of its tables is uniform, as
/// barriers in loops have to be.
#[test]
fn tint_compiles_all_modules() {
    let mut open = OpenPage::new(&build("vertical_stack"));
    let draw = DrawRecipe::new(open.page.recipe().compiled()).unwrap();
    let mut texts: Vec<(String, String)> =
        draw.shaders.iter().map(|(name, text)| (format!("draw/{name}"), text.clone())).collect();
    for shader in SHADERS {
        let composed = Composer::SOLVER.compose(shader.name).unwrap();
        texts.push((shader.name.to_owned(), composed.text().to_owned()));
    }
    assert!(texts.len() > 35, "{}", texts.len());
    let mut errors = |text: &str| {
        let code = serde_json::to_string(text).unwrap();
        open.browser.eval(&format!(
            "(async () => {{ const d = drystone.world.device; d.pushErrorScope('validation'); \
             const info = await d.createShaderModule({{ code: {code} }}).getCompilationInfo(); await d.popErrorScope(); \
             return info.messages.filter((m) => m.type === 'error').map((m) => `${{m.lineNum}}: ${{m.message}}`); }})()"
        ))
    };
    for (name, text) in &texts {
        assert_eq!(errors(text), Value::Array(Vec::new()), "{name}");
    }
    // Negative control.
    let broken = texts[0].1.clone() + "\nfn broken() -> u32 { return 0.5; }\n";
    assert_ne!(errors(&broken), Value::Array(Vec::new()));
}

/// Without WebGPU the page says what to do.
#[test]
fn browsers_without_webgpu_get_a_message() {
    let page = WebPage::new(&build("vertical_stack")).unwrap().described("", "vertical_stack").unwrap();
    let served = Served::new(page.html().to_owned());
    let mut browser = Browser::open_with(
        &["--disable-gpu", "--disable-features=WebGPU", "--disable-blink-features=WebGPU"],
        &served.address,
        800,
        600,
    );
    browser.until("!document.getElementById('message').hidden");
    let text = browser.eval("document.getElementById('message').innerText");
    let text = text.as_str().unwrap();
    assert!(text.contains("WebGPU") && text.contains("drystone view vertical_stack"), "{text}");
}

/// Measurements of the page are rows of `drystone bench`.
#[test]
fn pages_measure() {
    let mut open = OpenPage::new(&build("vertical_stack"));
    let start = open.poses();
    let result = open.browser.eval("drystone.bench(10, 3)");
    let samples = result["rows"][0]["ms_per_step"]["samples"].as_array().unwrap();
    assert!(samples.len() == 3 && samples.iter().all(|ms| ms.as_f64().unwrap() > 0.0), "{samples:?}");
    assert_eq!(open.poses(), start, "the world is at its start again");
    let limit = &result["rows"][0]["limit"];
    let stages = limit["stages_bytes"].as_object().unwrap();
    let sum: u64 = stages.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert!(limit["bytes"] == sum && stages["solve"].as_u64().unwrap() > 0, "{limit}");
    assert!(limit["ms"].as_f64().unwrap() > 0.0 && limit["share"].as_f64().unwrap() > 0.0, "{limit}");
    // By the counts of a past step as `drystone bench` has it.
    let recipe = open.page.recipe();
    let plan: Vec<_> = recipe.lines().iter().map(|line| line.stage).collect();
    let pairs = 10;
    let counts = RowCounts::of(recipe.compiled(), pairs, pairs - 3);
    let expected: u64 = traffic::bytes(&plan, &counts).iter().map(|(_, bytes)| bytes).sum();
    let moved = open.browser.eval(&format!(
        "(() => {{ const w = drystone.world, at = w.data.counters, before = w.known; w.known = new Uint32Array(at.size / 4); \
         w.known[at.contacts] = {pairs}; w.known[at.color_starts + w.recorder.rules.color_count] = {pairs} - 3; \
         const bytes = w.moved().bytes; w.known = before; return bytes; }})()"
    ));
    assert_eq!(moved, expected);
    assert_ne!(limit["bytes"], expected, "the bytes follow the counts");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.json"), result.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
    let output = command.args(["bench", "--from", "page.json"]).current_dir(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("vertical_stack") && said.contains("software adapter"), "{said}");
    assert!(said.contains("copies (read and written): gpu") && said.contains("x memory"), "{said}");
    open.check();
}

/// A page that measures several worlds writes one file, and draws a curve.
#[test]
fn bench_pages_measure_all_worlds() {
    let worlds = ["large_pyramid:base=3", "large_pyramid:base=6"];
    let pages: Vec<WebPage> =
        worlds.iter().map(|spec| WebPage::new(&build(spec)).unwrap().described("", spec).unwrap()).collect();
    let served = Served::new(bench_page(&pages).unwrap());
    let mut browser = Browser::open_with(&WEBGPU, &served.address, 900, 700);
    browser.until("window.drystone && !document.getElementById('start').disabled");
    let result = browser.eval("drystone.bench(5, 2)");
    let rows = result["rows"].as_array().unwrap();
    let found: Vec<_> =
        rows.iter().map(|row| (row["scene"].as_str().unwrap(), row["bodies"].as_u64().unwrap())).collect();
    assert_eq!(found, [("large_pyramid:base=3", 7), ("large_pyramid:base=6", 22)]);
    assert_eq!(browser.eval("document.querySelectorAll('#rows tr').length"), 2);
    let model =
        browser.eval("[...document.querySelectorAll('#rows tr')].map((row) => Number(row.cells[6].textContent))");
    let ms: Vec<f64> = rows.iter().map(|row| row["limit"]["ms"].as_f64().unwrap()).collect();
    for (shown, ms) in model.as_array().unwrap().iter().zip(&ms) {
        assert!((shown.as_f64().unwrap() - ms).abs() < 1e-3 && *ms > 0.0, "{model} {ms}");
    }
    let said = browser.eval("document.getElementById('model').textContent");
    assert!(said.as_str().unwrap().contains("measured here"), "{said}");
    // The curve of another device is by assumed numbers, and says so.
    let curves = browser.eval("curvesOf(JSON.parse(JSON.stringify(drystone.results.rows))).map(({ name }) => name)");
    assert!(curves[0] == "model, this device" && curves[1].as_str().unwrap().contains("assumed"), "{curves}");
    assert_eq!(browser.eval("drystone.errors"), Value::Array(Vec::new()));
    browser.picture("web-bench");
}

/// The command writes a page, a gallery, and finds a page with other kernels stale.
#[test]
fn the_command_exports() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_drystone")).args(arguments).current_dir(&folder).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, said) = run(&["export", "vertical_stack", "--web", "page.html"]);
    assert_eq!(code, Some(0), "{said}");
    let path: PathBuf = folder.path().join("page.html");
    let (code, said) = run(&["export", "--check", "page.html"]);
    assert_eq!(code, Some(0), "{said}");
    let html = std::fs::read_to_string(&path).unwrap();
    let stamp = drystone_web::stamp_of(&html).unwrap().to_owned();
    std::fs::write(&path, html.replacen(&stamp, "0.1.0-0000000000000000", 1)).unwrap();
    let (code, said) = run(&["export", "--check", "page.html"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("export the page again"), "{said}");
    let (code, said) = run(&["export", "rain", "--web", "rain.html"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("emitters[0] adds bodies"), "{said}");
}
