//! The real binary as a child process, with a minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use drystone_scenes::random::SplitMix;
use serde_json::{Value, json};

/// Service process, ended when dropped.
pub struct Service {
    child: Child,
    pub address: String,
    token: Option<String>,
    log: Arc<Mutex<String>>,
}

/// Response to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Returns the command that starts a service.
pub fn command(store: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(store);
    for (name, value) in settings {
        command.env(format!("DRYSTONE_{name}"), value);
    }
    command
}

impl Service {
    /// Starts a service on the CPU, with settings as environment variables without their prefix.
    pub fn start(store: &Path, settings: &[(&str, &str)]) -> Self {
        let mut command = command(store, settings);
        command.args(["--backend", "cpu"]);
        let token = settings.iter().find(|(name, _)| *name == "TOKEN").map(|(_, token)| (*token).to_owned());
        let mut service = Self::run(command);
        service.token = token;
        service
    }

    /// Starts a service on the device there is, if only a software one, with settings as [`Self::start`] has them.
    pub fn on_device(store: &Path, settings: &[(&str, &str)]) -> Self {
        let mut command = command(store, settings);
        command.args(["--backend", "gpu"]);
        Self::run(command)
    }

    /// Waits until the service listens and its worlds are open.
    pub fn run(command: Command) -> Self {
        let service = Self::listen(command);
        for _ in 0..3000 {
            if service.get("/health/ready").is_ok_and(|answer| answer.status == 200) {
                return service;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the service does not become ready");
    }

    /// Waits until the service listens.
    pub fn listen(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (said, hear) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let written = log.clone();
        // Read to its end, so that the child never blocks on the pipe.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if std::env::var_os("SERVICE_LOG").is_some() {
                    eprintln!("{line}");
                }
                *written.lock().unwrap() += &format!("{line}\n");
                let _ = said.send(line);
            }
        });
        let mut lines = Vec::new();
        let address = loop {
            match hear.recv_timeout(Duration::from_mins(1)) {
                Ok(line) => {
                    if let Some(address) = line.strip_prefix("listening on http://") {
                        break address.to_owned();
                    }
                    lines.push(line);
                }
                Err(error) => panic!("the service did not start: {error}: {}", lines.join("\n")),
            }
        };
        Self { child, address, token: None, log }
    }

    /// Waits until the process ends. Returns the exit code, or None if a signal ended it.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Returns the text that the service has written to stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process without a chance to clean up.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Stops the service with SIGTERM. Returns the exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.child.wait().unwrap().code()
    }

    pub fn get(&self, path: &str) -> std::io::Result<Answer> {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> std::io::Result<Answer> {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub fn post_once(&self, path: &str, body: &Value, key: &str) -> std::io::Result<Answer> {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Sends a GET that must succeed.
    pub fn ask(&self, path: &str) -> Value {
        let answer = self.get(path).unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// Sends a POST that must succeed.
    pub fn tell(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).unwrap();
        assert!(answer.status < 300, "{path} {body}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// Creates a world and returns its path.
    pub fn make(&self, body: &Value) -> String {
        format!("/v1/worlds/{}", self.tell("/v1/worlds", body)["id"].as_str().unwrap())
    }

    /// Returns the hash of a world's state.
    pub fn hash(&self, world: &str) -> String {
        self.ask(&format!("{world}/metrics"))["hash"].as_str().unwrap().to_owned()
    }

    /// Steps a world and returns the hash of its state then.
    pub fn step(&self, world: &str, steps: u64) -> String {
        self.tell(&format!("{world}/step"), &json!({ "steps": steps }));
        self.hash(world)
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> std::io::Result<Answer> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        if !given("Host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        if !given("Authorization")
            && let Some(token) = &self.token
        {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        if !given("Content-Length") {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend(body);
        self.raw(&bytes)
    }

    /// Sends any bytes and ignores the response.
    pub fn spill(&self, bytes: &[u8]) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // The service may have closed the connection before reading everything.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }

    /// Sends any bytes and reads the response.
    pub fn raw(&self, bytes: &[u8]) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        // The service may have answered and closed before reading everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let broken = || std::io::Error::other("no whole answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or_else(broken)?;
        let headers: Vec<(String, String)> =
            lines.filter_map(|line| line.split_once(": ")).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let mut body = answer.split_off(end + 4);
        let find = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        if find("transfer-encoding").is_some() {
            body = unchunked(&body).ok_or_else(broken)?;
        } else if let Some((_, length)) = find("content-length") {
            // Truncated: the service was killed.
            if length.parse() != Ok(body.len()) {
                return Err(broken());
            }
        } else {
            read?;
        }
        Ok(Answer { status, headers, body })
    }
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole.extend(bytes.get(end + 2..end + 2 + length)?);
        bytes = bytes.get(end + 4 + length..)?;
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Random numbers that repeat.
pub struct Dice(SplitMix);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    /// Returns a number from −1 to 1.
    pub fn unit(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}
