//! A headless Chromium, controlled by its own protocol (Chrome DevTools).

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Options by which Chromium computes on its own software adapter, SwiftShader, through WebGPU.
#[allow(dead_code, reason = "for tests of exported pages alone")]
pub const WEBGPU: [&str; 3] =
    ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];

/// Chromium with one page, ended when dropped.
pub struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    sent: u64,
    /// JavaScript errors of the page.
    pub errors: Vec<String>,
    /// Answers to the next dialogs of the page (prompt, confirm).
    pub replies: Vec<&'static str>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    pub fn open(url: &str, width: u32, height: u32) -> Self {
        Self::open_with(&["--disable-gpu"], url, width, height)
    }

    /// Opens a page in a browser with options of its own.
    pub fn open_with(options: &[&str], url: &str, width: u32, height: u32) -> Self {
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new(program)
            // Its sandbox does not work for root, and the page is trusted.
            .args(["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run"])
            .args(options)
            .args(["--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("chromium: `.ci/setup tests` installs it; CHROMIUM names another");
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = said.find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned));
        let address = address.expect("chromium says where it listens");
        // Read to its end, so that the browser never blocks on the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let host = address.strip_prefix("ws://").unwrap().split('/').next().unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(4))).unwrap();
        let socket = tungstenite::client::client(&address, stream).unwrap().0;
        let (errors, replies) = (Vec::new(), Vec::new());
        let mut browser = Self { child, socket, session: None, sent: 0, errors, replies, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        browser.session = Some(session);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.size(width, height);
        browser.call("Page.navigate", &json!({ "url": url }));
        browser
    }

    /// Waits for another tab whose address begins with a text, and goes on with that one.
    #[allow(dead_code, reason = "for tests of exported pages alone")]
    pub fn follow(&mut self, address: &str) {
        self.session = None;
        let end = Instant::now() + Duration::from_mins(3);
        let target = loop {
            let targets = self.call("Target.getTargets", &json!({}));
            let mut pages = targets["targetInfos"].as_array().unwrap().iter();
            let found = pages.find(|page| page["url"].as_str().unwrap().starts_with(address));
            if let Some(found) = found {
                break found["targetId"].clone();
            }
            assert!(Instant::now() < end, "no tab at {address}: {targets}");
            std::thread::sleep(Duration::from_millis(30));
        };
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call("Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        self.session = Some(session);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// `dark` or `light`.
    pub fn scheme(&mut self, scheme: &str) {
        let features = json!({ "features": [ { "name": "prefers-color-scheme", "value": scheme } ] });
        self.call("Emulation.setEmulatedMedia", &features);
    }

    /// Sends a request to the browser and returns its answer.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    /// Sends a request that the browser may refuse: a page that is being left answers nothing.
    fn try_call(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        let id = self.send(method, parameters);
        loop {
            let mut message = self.next();
            if message["id"] == id {
                let error = message["error"].take();
                return if error.is_null() { Ok(message["result"].take()) } else { Err(error) };
            }
        }
    }

    fn send(&mut self, method: &str, parameters: &Value) -> u64 {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        self.sent
    }

    fn next(&mut self) -> Value {
        let text = loop {
            if let Message::Text(text) = self.socket.read().expect("the browser answers") {
                break text;
            }
        };
        let message: Value = serde_json::from_str(text.as_str()).unwrap();
        let inside = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.errors.push(inside["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if inside["entry"]["level"] == "error" => {
                self.errors.push(inside["entry"].to_string());
            }
            Some("Page.javascriptDialogOpening") => {
                assert!(!self.replies.is_empty(), "unexpected dialog: {}", inside["message"]);
                let reply = self.replies.remove(0);
                self.send("Page.handleJavaScriptDialog", &json!({ "accept": true, "promptText": reply }));
            }
            _ => {}
        }
        message
    }

    /// Returns the value of an expression.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let end = Instant::now() + Duration::from_mins(3);
        // The page may not be loaded yet, or be replaced by another one during the request.
        let asked = format!("(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()");
        let asked = json!({ "expression": asked, "returnByValue": true });
        while !self.try_call("Runtime.evaluate", &asked).is_ok_and(|answer| answer["result"]["value"] == true) {
            if Instant::now() >= end {
                let page = self.eval("document.body.innerText");
                panic!("never: {expression}; {:?}; {page}", self.errors);
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    pub fn mouse(&mut self, kind: &str, at: [f64; 2]) {
        let buttons = u8::from(kind != "mouseReleased");
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let clicks = u8::from(kind != "mouseMoved");
        let event =
            json!({ "type": kind, "x": at[0], "y": at[1], "button": button, "buttons": buttons, "clickCount": clicks });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Returns the middle of the element that a selector finds, once it rests there and nothing covers it: a page that
    /// still loads may move it between the look and the press.
    fn resting(&mut self, selector: &str) -> [f64; 2] {
        let middle = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{ block: 'nearest' }}); \
             const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2; \
             return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null; }})()"
        );
        let end = Instant::now() + Duration::from_mins(1);
        let mut before = Value::Null;
        loop {
            let place = self.eval(&middle);
            if place == before && !place.is_null() {
                return [place[0].as_f64().unwrap(), place[1].as_f64().unwrap()];
            }
            assert!(Instant::now() < end, "{selector} is covered or moves: {before}, {place}");
            before = place;
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Clicks the middle of the element that a selector finds.
    pub fn click(&mut self, selector: &str) {
        let at = self.resting(selector);
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    /// Taps the middle of the element that a selector finds.
    pub fn tap(&mut self, selector: &str) {
        let at = self.resting(selector);
        self.touch("touchStart", &[at]);
        self.touch("touchEnd", &[]);
    }

    /// Touches the screen at these points; `touchStart`, `touchMove` or `touchEnd`.
    pub fn touch(&mut self, kind: &str, at: &[[f64; 2]]) {
        let points: Vec<Value> =
            at.iter().enumerate().map(|(id, [x, y])| json!({ "id": id, "x": x, "y": y })).collect();
        self.call("Input.dispatchTouchEvent", &json!({ "type": kind, "touchPoints": points }));
    }

    /// Turns the wheel.
    pub fn wheel(&mut self, at: [f64; 2], by: f64) {
        let event = json!({ "type": "mouseWheel", "x": at[0], "y": at[1], "deltaX": 0, "deltaY": by });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Presses a key, with the text that it produces.
    pub fn key(&mut self, key: &str) {
        self.key_with(key, 0);
    }

    /// Presses a key while others are down: 1 Alt, 2 Control, 4 Meta, 8 Shift.
    pub fn key_with(&mut self, key: &str, modifiers: u8) {
        let text = if key.chars().count() == 1 {
            key
        } else if key == "Enter" {
            "\r"
        } else {
            ""
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Delete" => 46,
            "ArrowRight" => 39,
            "Escape" => 27,
            "PageDown" => 34,
            _ => 0,
        };
        let event = |kind: &str| json!({ "type": kind, "key": key, "text": text, "modifiers": modifiers, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &event(down));
        self.call("Input.dispatchKeyEvent", &event("keyUp"));
    }

    pub fn text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Takes a screenshot, also to a file: RGB or RGBA, and the bytes of the pixels.
    pub fn picture(&mut self, name: &str) -> (png::OutputInfo, Vec<u8>) {
        let shot = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = base64(shot["data"].as_str().unwrap());
        std::fs::write(format!("{}/page-{name}.png", env!("CARGO_TARGET_TMPDIR")), &bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info, pixels)
    }
}

fn base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
