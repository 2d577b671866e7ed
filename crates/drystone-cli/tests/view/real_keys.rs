//! Real keys and pointer events of the display (XTEST) instead of a script's: they go through the server, winit and
//! egui to the window.

use std::time::{Duration, Instant};

use serde_json::Value;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT,
    MOTION_NOTIFY_EVENT, MapState, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use crate::kit::{Ended, Stage};

/// Longest wait for an expected event.
const PATIENCE: Duration = Duration::from_mins(1);

const TAB: u32 = 0xff09;
const ENTER: u32 = 0xff0d;
const ESCAPE: u32 = 0xff1b;
pub const DELETE: u32 = 0xffff;
const RIGHT: u32 = 0xff53;
const SPACE: u32 = 0x20;
const CONTROL: u32 = 0xffe3;

/// Keyboard and pointer of a display.
pub struct Hands<'a> {
    stage: &'a Stage,
    connection: RustConnection,
    root: Window,
    asked: u32,
}

impl<'a> Hands<'a> {
    /// Waits for the window, and gives it the focus.
    fn new(stage: &'a Stage) -> Self {
        stage.wait_for("ready.json");
        let (connection, screen) = x11rb::connect(Some(&stage.display_name())).expect("the display");
        let root = connection.setup().roots[screen].root;
        let this = Self { stage, connection, root, asked: 0 };
        this.connection
            .set_input_focus(InputFocus::PARENT, this.window(), x11rb::CURRENT_TIME)
            .unwrap()
            .check()
            .unwrap();
        this
    }

    /// The only window that is shown.
    fn window(&self) -> Window {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
            let is_shown = |window: &Window| {
                let attributes = self.connection.get_window_attributes(*window).unwrap().reply();
                attributes.is_ok_and(|attributes| attributes.map_state == MapState::VIEWABLE)
            };
            if let Some(window) = tree.children.into_iter().rev().find(is_shown) {
                return window;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no window is shown");
    }

    fn send(&self, kind: u8, detail: u8, [x, y]: [i16; 2]) {
        self.connection
            .xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0)
            .unwrap()
            .check()
            .unwrap();
    }

    /// Presses and releases the key that has this symbol.
    pub fn key(&self, symbol: u32) {
        let code = self.code(symbol);
        self.send(KEY_PRESS_EVENT, code, [0, 0]);
        self.send(KEY_RELEASE_EVENT, code, [0, 0]);
    }

    /// Presses and releases the key of a letter or sign while Ctrl is down.
    pub fn with_control(&self, letter: char) {
        let control = self.code(CONTROL);
        self.send(KEY_PRESS_EVENT, control, [0, 0]);
        self.letter(letter);
        self.send(KEY_RELEASE_EVENT, control, [0, 0]);
    }

    /// Code of the key that has this symbol.
    fn code(&self, symbol: u32) -> u8 {
        let setup = self.connection.setup();
        let (first, count) = (setup.min_keycode, setup.max_keycode - setup.min_keycode + 1);
        let mapping = self.connection.get_keyboard_mapping(first, count).unwrap().reply().unwrap();
        let each = usize::from(mapping.keysyms_per_keycode);
        let place = mapping.keysyms.chunks(each).position(|symbols| symbols.first() == Some(&symbol));
        first + u8::try_from(place.expect("the keyboard has the key")).unwrap()
    }

    pub fn letter(&self, letter: char) {
        self.key(u32::from(letter));
    }

    pub fn place(&self, at: [i16; 2]) {
        self.send(MOTION_NOTIFY_EVENT, 0, at);
    }

    pub fn button(&self, down: bool) {
        self.send(if down { BUTTON_PRESS_EVENT } else { BUTTON_RELEASE_EVENT }, 1, [0, 0]);
    }

    /// Waits until the window has got all events so far, and returns its report.
    pub fn report(&mut self) -> Value {
        self.asked += 1;
        // The server has sent all events before the file is written.
        self.connection.get_input_focus().unwrap().reply().unwrap();
        std::fs::write(self.stage.path(&format!("go{}", self.asked)), "").unwrap();
        self.stage.wait_for(&format!("done{}", self.asked));
        self.stage.report(&format!("{}.json", self.asked))
    }
}

/// Script that takes input of the display, and writes a number of reports on request.
fn listening(reports: u32) -> String {
    let each = |n: u32| format!("await @/go{n}\nreport @/{n}.json\nframes 2\nrewrite @/{n}.json @/done{n}\n");
    let lines: String = (1..=reports).map(each).collect();
    // The first report shows that frames are drawn.
    format!(
        "size 720 400\nplace 0 0\nframes 4\nhear on\nreport @/report.json\nframes 2\nrewrite @/report.json @/ready.json\n{lines}"
    )
}

pub fn with_hands(arguments: &[&str], reports: u32, hands: impl FnOnce(&Stage, &mut Hands<'_>)) {
    let stage = Stage::new();
    let child = stage.begin(arguments, &listening(reports));
    let mut at_display = Hands::new(&stage);
    hands(&stage, &mut at_display);
    assert_eq!(at_display.asked, reports, "the script has as many");
    let Ended { code, stderr } = child.end();
    assert_eq!(code, Some(0), "{stderr}");
}

fn step(report: &Value) -> u64 {
    report["step"].as_u64().expect("a step")
}

/// Tab hides the panel and shows it again; Space, N and the arrows do what they say before and after, also when a
/// button of the panel was pressed before. In a text field they are letters.
#[test]
fn keys_work_whatever_has_the_focus_and_are_letters_in_a_text_field() {
    with_hands(&["vertical_stack:count=4", "--backend", "cpu", "--paused", "--fresh"], 9, |_, hands| {
        hands.place([150, 200]);
        let wide = |report: &Value| report["camera"]["size"][0].as_u64().unwrap();
        let first = hands.report();
        hands.key(TAB);
        let bare = hands.report();
        assert!(wide(&bare) > wide(&first) + 300, "the panel is gone");
        hands.key(RIGHT);
        hands.letter('n');
        let stepped = hands.report();
        assert_eq!(step(&stepped), 1);
        assert!(stepped["layers"].as_array().unwrap().iter().any(|layer| layer == "contacts"), "{stepped}");
        hands.key(SPACE);
        let running = hands.report();
        assert_eq!(
            (running["playing"].as_bool(), step(&running) >= 1),
            (Some(true), true),
            "Space runs, and restarts nothing"
        );
        hands.key(SPACE);
        hands.key(TAB);
        let back = hands.report();
        assert_eq!((back["playing"].as_bool(), wide(&back)), (Some(false), wide(&first)), "the panel is back");
        assert!(step(&back) >= step(&running));
        // A button of the panel: the one that opens the list of scenes, which is closed again.
        hands.place([430, 39]);
        hands.button(true);
        hands.button(false);
        assert_eq!(hands.report()["typing"].as_bool(), Some(true), "the field of the list has the focus");
        for letter in "rain".chars() {
            hands.letter(letter);
        }
        hands.key(SPACE);
        let typed = hands.report();
        assert_eq!((typed["search"].as_str(), typed["playing"].as_bool()), (Some("rain "), Some(false)), "{typed}");
        assert_eq!(step(&typed), step(&back), "R is a letter there, and restarts nothing");
        hands.key(ESCAPE);
        let closed = hands.report();
        assert_eq!(closed["typing"].as_bool(), Some(false));
        hands.key(RIGHT);
        assert_eq!(step(&hands.report()), step(&back) + 1, "and is a key again");
    });
}

/// Delete removes the body under the pointer at the time of the key, also if the pointer has just arrived; Z restores
/// it.
#[test]
fn delete_removes_what_is_under_the_pointer_when_the_key_comes() {
    with_hands(&["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"], 4, |_, hands| {
        let first = hands.report();
        let pixel = |report: &Value, point: [f64; 2]| {
            let number = |value: &Value| value.as_f64().unwrap();
            let camera = &report["camera"];
            let scale = number(&camera["metres_per_pixel"]);
            let [width, height] = [0, 1].map(|side| number(&camera["size"][side]));
            let x = number(&camera["origin"][0]) + width / 2.0 + (point[0] - number(&camera["center"][0])) / scale;
            let y = number(&camera["origin"][1]) + height / 2.0 - (point[1] - number(&camera["center"][1])) / scale;
            #[allow(clippy::cast_possible_truncation, reason = "a pixel of a small window")]
            let whole = [x, y].map(|value| value.round() as i16);
            whole
        };
        let positions: Vec<[f64; 2]> = serde_json::from_value(first["positions"].clone()).unwrap();
        let (there, shapes) = (first["there"].as_u64().unwrap(), first["shapes"].as_u64().unwrap());
        let moving = positions.len() - 1;
        let [x, y] = positions[moving];
        // On the ground, beside the box; then to the box and Delete at once.
        hands.place(pixel(&first, [x + 1.0, -0.2]));
        assert_eq!(hands.report()["over"].as_u64(), Some(0), "the ground is under the pointer");
        hands.place(pixel(&first, [x, y]));
        hands.key(DELETE);
        let removed = hands.report();
        let note = removed["note"].as_str().unwrap_or_default();
        assert!(
            note.contains(&format!("removed body {moving}, dynamic")) && note.contains("Z brings it back"),
            "{note}"
        );
        assert_eq!((removed["there"].as_u64(), removed["shapes"].as_u64()), (Some(there - 1), Some(shapes - 1)));
        hands.letter('z');
        let undone = hands.report();
        assert_eq!((undone["there"].as_u64(), &undone["hash"]), (Some(there), &first["hash"]));
    });
}

/// Each press of a key counts, however fast they come; and the title of the window names the scene.
#[test]
fn fast_presses_count_each_and_the_title_names_the_scene() {
    with_hands(&["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"], 2, |_, hands| {
        let angle = |report: &Value| {
            let [x, y]: [f64; 2] = serde_json::from_value(report["gravity"].clone()).unwrap();
            x.atan2(-y).to_degrees()
        };
        assert_eq!(angle(&hands.report()), 0.0);
        (0..3).for_each(|_| hands.letter(']'));
        let tilted = angle(&hands.report());
        assert!((tilted - 45.0).abs() < 0.01, "three times 15°: {tilted}°");
        let atom = |name: &[u8]| hands.connection.intern_atom(false, name).unwrap().reply().unwrap().atom;
        let (title, text) = (atom(b"_NET_WM_NAME"), atom(b"UTF8_STRING"));
        let property = hands.connection.get_property(false, hands.window(), title, text, 0, 256).unwrap();
        let title = String::from_utf8(property.reply().unwrap().value).unwrap();
        assert_eq!(title, "vertical_stack:count=1 – Drystone");
    });
}

/// Draws with the active tool from one place to another; returns a report from before the press and one from the end.
fn draw(hands: &mut Hands<'_>, from: [i16; 2], to: [i16; 2]) -> [Value; 2] {
    hands.place(from);
    let over = hands.report();
    hands.button(true);
    hands.report();
    hands.place(to);
    hands.report();
    hands.button(false);
    [over, hands.report()]
}

/// The pointer of the display draws a box and selects by clicks; keys with Ctrl undo and redo.
#[test]
fn hands_draw_select_and_undo() {
    with_hands(&["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"], 10, |_, hands| {
        let there = |report: &Value| report["there"].as_u64().unwrap();
        hands.key(TAB);
        hands.letter('2');
        let first = hands.report();
        let [over, drawn] = draw(hands, [400, 60], [460, 100]);
        assert_eq!((over["tool"].as_str(), over["cursor"].as_str()), (Some("box"), Some("Crosshair")));
        assert_eq!(there(&drawn), there(&first) + 1, "{drawn}");
        let index = drawn["selected"]["index"].clone();
        assert!(index.is_number(), "what was drawn is selected");
        hands.key(ESCAPE);
        hands.key(ESCAPE);
        let free = hands.report();
        assert_eq!((free["tool"].as_str(), free["selected"].is_null()), (Some("move"), true));
        hands.place([430, 80]);
        hands.report();
        hands.button(true);
        hands.report();
        hands.button(false);
        assert_eq!(hands.report()["selected"]["index"], index, "a click selects it");
        hands.with_control('z');
        hands.with_control('y');
        hands.with_control('z');
        let undone = hands.report();
        assert_eq!((there(&undone), &undone["hash"]), (there(&first), &first["hash"]), "{undone}");
    });
}

/// A box drawn with the pointer is named on its card and kept by a restart (R); Z removes it.
#[test]
fn what_hands_built_outlives_a_restart() {
    with_hands(&["vertical_stack:count=1", "--backend", "cpu", "--paused", "--fresh"], 10, |_, hands| {
        let there = |report: &Value| report["there"].as_u64().unwrap();
        hands.key(TAB);
        hands.letter('2');
        let first = hands.report();
        let [_, drawn] = draw(hands, [400, 60], [460, 100]);
        assert_eq!(there(&drawn), there(&first) + 1);
        // In a low window the card is a line until it is unfolded. Its first field is the name.
        hands.place([99, 27]);
        hands.button(true);
        hands.button(false);
        hands.report();
        hands.place([120, 49]);
        hands.button(true);
        hands.button(false);
        hands.report();
        for letter in "crate".chars() {
            hands.letter(letter);
        }
        hands.key(ENTER);
        let named = hands.report();
        assert_eq!((named["selected"]["name"].as_str(), step(&named)), (Some("crate"), 0), "{named}");
        hands.place([600, 200]);
        (0..4).for_each(|_| hands.key(RIGHT));
        hands.letter('d');
        (0..2).for_each(|_| hands.key(RIGHT));
        hands.letter('r');
        let restarted = hands.report();
        assert_eq!(
            (there(&restarted), step(&restarted), &restarted["hash"]),
            (there(&drawn), 0, &drawn["hash"]),
            "{restarted}"
        );
        assert_eq!(restarted["selected"]["name"].as_str(), Some("crate"), "it is still selected");
        hands.letter('z');
        hands.letter('z');
        let undone = hands.report();
        assert_eq!((there(&undone), &undone["hash"]), (there(&first), &first["hash"]), "{undone}");
    });
}
