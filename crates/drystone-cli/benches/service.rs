//! Load test of the service, with the real binary, sockets and a store on disk. Run by `.ci/load`.
//!
//! First part (crowd): 200 clients for several minutes, slow ones included; measures the times of requests and the
//! memory of the service at the start, in the middle and at the end. Second part (fairness): 50 small worlds, alone and
//! beside one of 200,000 bodies that plays as fast as possible. The clients share the machine with the service: the
//! load is stated.
//!
//! With `--backend gpu` the second part runs on any device, including software adapters; `--huge SCENE` names the large
//! world. A third part then follows: 50 small worlds that play as fast as possible, with and without shared dispatches,
//! in turns.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
#![allow(missing_docs, reason = "a program")]

#[path = "../tests/service/client.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod client;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use client::{Dice, Service};
use drystone::{AdapterChoice, Context};
use drystone_serve::Device;
use serde_json::{Value, json};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Number of clients of each kind, 200 in all.
const CALLERS: usize = 80;
const VIEWERS: usize = 60;
const SLOW_VIEWERS: usize = 30;
const SLOW_READERS: usize = 20;
const SLOW_WRITERS: usize = 10;
/// Worlds that viewers watch, besides a larger one for slow viewers.
const PLAYING: usize = 20;
/// Small worlds of the second part.
const SMALL: usize = 50;
/// Scene of the large world, 200,028 bodies.
const HUGE: &str = "large_pyramid:base=632";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Test runners start every target once.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("nothing to test; `.ci/load` runs it");
        return;
    }
    let after = |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1);
    let seconds = after("--seconds").map_or(180, |text| text.parse().expect("--seconds takes a number"));
    let out = after("--json").map(PathBuf::from);
    let folder = after("--store").map_or_else(std::env::temp_dir, PathBuf::from);
    let store = tempfile::tempdir_in(folder).expect("a folder for the store");

    let backend = after("--backend").map_or("cpu", String::as_str);
    let huge = after("--huge").map_or(HUGE, String::as_str);

    // The name of a software adapter says so.
    let line = |context| Device::gpu(context, AdapterChoice::Any).line();
    let device = (backend == "gpu").then(|| Context::new(AdapterChoice::Any).map_or_else(|e| e.to_string(), line));

    let load = || System::load_average().ok().map(|load| load.one);
    let begun = load();
    let start_with = |store: &Path, pools: &str| {
        let settings = [("LIMITS_RATE", "1000000"), ("LOG_LEVEL", "warn"), ("POOLS", pools)];
        let mut command = client::command(store, &settings);
        command.args(["--backend", backend]);
        Service::run(command)
    };
    let start = |store: &Path| start_with(store, "true");
    let crowd = (backend == "cpu").then(|| crowd(&start(store.path()), Duration::from_secs(seconds)));
    let store = tempfile::tempdir_in(store.path()).expect("a folder for the store");
    let fairness = fairness(&start(store.path()), huge, Duration::from_secs(seconds.div_ceil(3)));

    let playing = (backend == "gpu").then(|| {
        let long = Duration::from_secs(seconds.div_ceil(12));
        let turn = |pools: &str| {
            let store = tempfile::tempdir_in(store.path()).expect("a folder for the store");
            playing(&start_with(store.path(), pools), long)
        };
        let turns: Vec<_> = (0..3).map(|_| json!({ "apart": turn("false"), "in_a_pool": turn("true") })).collect();
        json!({ "worlds": SMALL, "seconds_each": long.as_secs_f64(), "turns": turns })
    });

    let mut system = System::new().expect("system information");
    system.refresh_cpu_all();
    system.refresh_memory();
    let report = json!({
        "machine": {
            "cpu": system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()),
            "cores": system.cpus().len(),
            "memory_gib": system.total_memory() >> 30,
            "os": System::long_os_version().ok(),
            "load": begun,
        },
        "version": env!("CARGO_PKG_VERSION"),
        "optimised": !cfg!(debug_assertions),
        "backend": backend,
        "device": device,
        "load_after": load(),
        "crowd": crowd,
        "fairness": fairness,
        "playing": playing,
    });
    let text = serde_json::to_string_pretty(&report).expect("plain data");
    println!("{text}");
    table(&report);
    if let Some(out) = out {
        std::fs::write(&out, text + "\n").expect("the report can be written");
    }
}

fn table(report: &Value) {
    println!("\n| requests | count | p50 ms | p99 ms | worst ms |\n|---|---:|---:|---:|---:|");
    let rows = report["crowd"]["requests"].as_object().into_iter().flatten();
    let rows = rows.map(|(name, figures)| (name.clone(), figures));
    let parts = ["alone", "beside_a_huge_world"].map(|part| (format!("50 worlds, {part}"), &report["fairness"][part]));
    for (name, figures) in rows.chain(parts) {
        let cell = |key: &str| figures[key].to_string();
        println!("| {name} | {} | {} | {} | {} |", cell("count"), cell("p50_ms"), cell("p99_ms"), cell("max_ms"));
    }
}

/// Durations of requests of one kind, ms.
#[derive(Clone, Default)]
struct RequestTimes(Arc<Mutex<Vec<f64>>>);

impl RequestTimes {
    fn add(&self, since: Instant) {
        self.0.lock().unwrap().push(1e3 * since.elapsed().as_secs_f64());
    }

    fn figures(&self) -> Value {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap());
        all.sort_by(f64::total_cmp);
        let rounded = |ms: f64| (ms * 100.0).round() / 100.0;
        let at = |part: f64| {
            let place = (part * all.len() as f64).ceil() as usize;
            all.get(place.max(1) - 1).map(|ms| rounded(*ms))
        };
        json!({ "count": all.len(), "p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99), "max_ms": at(1.0) })
    }
}

/// Persistent connection.
struct Http {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Http {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the service listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_mins(2))).expect("a socket");
        Self { stream: BufReader::new(stream), address: address.to_owned() }
    }

    fn text(&self, method: &str, path: &str, body: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
    }

    /// Sends a request; returns the status and the length of the body, which is not read yet.
    fn begin(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, usize)> {
        let text = self.text(method, path, body);
        self.stream.get_mut().write_all(text.as_bytes())?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
            } else if let Some((name, value)) = line.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap_or(0);
                }
            } else if line.trim().is_empty() {
                return Ok((status, length));
            }
        }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<u16> {
        let (status, length) = self.begin(method, path, body)?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(status)
    }
}

/// Counters shared by all clients.
#[derive(Clone, Default)]
struct LoadTally {
    over: Arc<AtomicBool>,
    statuses: Arc<Mutex<BTreeMap<u16, u64>>>,
    frames: Arc<AtomicU64>,
    slow_bytes: Arc<AtomicU64>,
    /// Connections closed before their client wanted that.
    let_go: Arc<AtomicU64>,
}

impl LoadTally {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn count(&self, status: u16) {
        *self.statuses.lock().unwrap().entry(status).or_default() += 1;
    }

    fn lost(&self) {
        if self.goes_on() {
            self.let_go.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn caller(address: &str, world: &str, seed: u64, tally: &LoadTally, times: &[RequestTimes; 4]) {
    let (mut http, mut dice) = (Http::open(address), Dice::new(seed));
    while tally.goes_on() {
        let kind = [0, 0, 0, 0, 0, 1, 1, 2, 2, 3][dice.below(10) as usize];
        let (method, path, body) = match kind {
            0 => ("POST", format!("{world}/step"), format!("{{\"steps\":{}}}", 1 + dice.below(5))),
            1 => {
                let push = json!({ "impulse": { "body": 1 + dice.below(9), "impulse": [dice.unit(), dice.unit()] } });
                ("POST", format!("{world}/commands"), json!({ "commands": [push] }).to_string())
            }
            2 => ("GET", format!("{world}/state"), String::new()),
            _ => ("GET", world.to_owned(), String::new()),
        };
        let begun = Instant::now();
        match http.ask(method, &path, &body) {
            Ok(status) => {
                times[kind].add(begun);
                tally.count(status);
            }
            Err(_) => {
                tally.lost();
                http = Http::open(address);
            }
        }
        thread::sleep(Duration::from_millis(20 + dice.below(80)));
    }
}

/// Opens a WebSocket, sufficient for a client that only reads.
fn stream(address: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: drystone.v1\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the service listens");
    stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a socket");
    stream
}

/// Reads everything that arrives.
fn viewer(address: &str, path: &str, tally: &LoadTally) {
    let mut socket = stream(address, path);
    let mut buffer = vec![0; 64 << 10];
    while tally.goes_on() {
        match socket.read(&mut buffer) {
            Ok(0) => return tally.lost(),
            // Frames start with these letters.
            Ok(count) => {
                let frames = buffer[..count].windows(4).filter(|four| four == b"DRYF").count();
                tally.frames.fetch_add(frames as u64, Ordering::Relaxed);
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => return tally.lost(),
        }
    }
}

/// Reads 20 kB per second of a stream that provides far more.
fn slow_viewer(address: &str, path: &str, tally: &LoadTally) {
    let mut socket = stream(address, path);
    let mut buffer = vec![0; 2 << 10];
    while tally.goes_on() {
        match socket.read(&mut buffer) {
            Ok(0) => {
                tally.lost();
                socket = stream(address, path);
            }
            Ok(count) => drop(tally.slow_bytes.fetch_add(count as u64, Ordering::Relaxed)),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => {
                tally.lost();
                socket = stream(address, path);
            }
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Requests a large state and reads it at 20 kB per second.
fn slow_reader(address: &str, path: &str, tally: &LoadTally) {
    let mut buffer = vec![0; 1 << 10];
    while tally.goes_on() {
        let mut http = Http::open(address);
        let Ok((status, mut length)) = http.begin("GET", path, "") else {
            tally.lost();
            continue;
        };
        tally.count(status);
        while length > 0 && tally.goes_on() {
            match http.stream.read(&mut buffer) {
                Ok(count @ 1..) => {
                    tally.slow_bytes.fetch_add(count as u64, Ordering::Relaxed);
                    length = length.saturating_sub(count);
                }
                _ => {
                    tally.lost();
                    break;
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Sends a request byte by byte.
fn slow_writer(address: &str, path: &str, tally: &LoadTally) {
    while tally.goes_on() {
        let mut http = Http::open(address);
        let text = http.text("POST", path, r#"{"steps":1}"#);
        for byte in text.bytes() {
            if !tally.goes_on() {
                return;
            }
            if http.stream.get_mut().write_all(&[byte]).is_err() {
                tally.lost();
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let mut line = String::new();
        match http.stream.read_line(&mut line) {
            Ok(count) if count > 0 => {
                tally.count(line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0));
            }
            _ => tally.lost(),
        }
    }
}

/// Returns the memory of the service, MiB.
fn memory(system: &mut System, pid: Pid) -> f64 {
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, what);
    let bytes = system.process(pid).map_or(0, sysinfo::Process::memory);
    (bytes as f64 / f64::from(1 << 20) * 10.0).round() / 10.0
}

fn crowd(service: &Service, long: Duration) -> Value {
    let worlds = |count: usize, scene: &str| -> Vec<String> {
        (0..count).map(|_| service.make(&json!({ "scene": scene }))).collect()
    };
    let small = worlds(CALLERS, "large_pyramid:base=4");
    let playing = worlds(PLAYING, "large_pyramid:base=6");
    let large = service.make(&json!({ "scene": "large_pyramid:base=40" }));
    for world in playing.iter().chain([&large]) {
        service.tell(&format!("{world}/play"), &json!({}));
    }
    let (mut system, pid) = (System::new().expect("a system"), Pid::from_u32(service.pid()));
    let before = memory(&mut system, pid);
    let (tally, times): (_, [RequestTimes; 4]) =
        (LoadTally::default(), std::array::from_fn(|_| RequestTimes::default()));
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    let mut start = |client: Box<dyn FnOnce(String, LoadTally) + Send>| {
        let (address, tally) = (service.address.clone(), tally.clone());
        let stack = thread::Builder::new().stack_size(256 << 10);
        clients.push(stack.spawn(move || client(address, tally)).expect("a thread"));
    };
    for (seed, world) in small.iter().cloned().enumerate() {
        let times = times.clone();
        start(Box::new(move |address, tally| caller(&address, &world, seed as u64, &tally, &times)));
    }
    for world in playing.iter().cycle().take(VIEWERS) {
        let path = format!("{world}/stream?rate=30");
        start(Box::new(move |address, tally| viewer(&address, &path, &tally)));
    }
    for _ in 0..SLOW_VIEWERS {
        let path = format!("{large}/stream?rate=60&format=full");
        start(Box::new(move |address, tally| slow_viewer(&address, &path, &tally)));
    }
    for _ in 0..SLOW_READERS {
        let path = format!("{large}/state");
        start(Box::new(move |address, tally| slow_reader(&address, &path, &tally)));
    }
    for world in small.iter().take(SLOW_WRITERS) {
        let path = format!("{world}/step");
        start(Box::new(move |address, tally| slow_writer(&address, &path, &tally)));
    }
    let (begun, mut samples) = (Instant::now(), Vec::new());
    while begun.elapsed() < long {
        thread::sleep(Duration::from_millis(500));
        samples.push(memory(&mut system, pid));
    }
    tally.over.store(true, Ordering::Relaxed);
    let count = clients.len();
    for client in clients {
        client.join().expect("no client fails");
    }
    thread::sleep(Duration::from_secs(2));
    let after = memory(&mut system, pid);
    let mean = |part: &[f64]| (part.iter().sum::<f64>() / part.len().max(1) as f64 * 10.0).round() / 10.0;
    let third = samples.len() / 3;
    let most = samples.iter().copied().fold(0.0, f64::max);
    let [steps, commands, states, statuses]: [Value; 4] = times.map(|times| times.figures());
    json!({
        "clients": count,
        "of_them_slow": SLOW_VIEWERS + SLOW_READERS + SLOW_WRITERS,
        "worlds": small.len() + playing.len() + 1,
        "seconds": long.as_secs(),
        "requests": { "step": steps, "command": commands, "state": states, "status": statuses },
        "statuses": *tally.statuses.lock().unwrap(),
        "frames_read": tally.frames.load(Ordering::Relaxed),
        "bytes_read_by_the_slow": tally.slow_bytes.load(Ordering::Relaxed),
        "connections_let_go": tally.let_go.load(Ordering::Relaxed),
        "memory_mib": {
            "before": before,
            "first_third": mean(&samples[..third]),
            "middle_third": mean(&samples[third..2 * third]),
            "last_third": mean(&samples[2 * third..]),
            "most": most,
            "after": after,
        },
    })
}

fn fairness(service: &Service, huge: &str, long: Duration) -> Value {
    let small: Vec<String> = (0..SMALL).map(|_| service.make(&json!({ "scene": "large_pyramid:base=4" }))).collect();
    let measure = || {
        let (tally, times) = (LoadTally::default(), RequestTimes::default());
        let clients: Vec<_> = small
            .iter()
            .cloned()
            .enumerate()
            .map(|(number, world)| {
                let (address, tally, times) = (service.address.clone(), tally.clone(), times.clone());
                thread::spawn(move || {
                    let (mut http, mut dice) = (Http::open(&address), Dice::new(number as u64));
                    while tally.goes_on() {
                        let begun = Instant::now();
                        let status = http.ask("POST", &format!("{world}/step"), "{}").expect("the service answers");
                        times.add(begun);
                        tally.count(status);
                        thread::sleep(Duration::from_millis(50 + dice.below(100)));
                    }
                })
            })
            .collect();
        thread::sleep(long);
        tally.over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("no client fails");
        }
        let mut figures = times.figures();
        figures["statuses"] = json!(*tally.statuses.lock().unwrap());
        figures
    };
    let alone = measure();
    let submitted = submitted(service);
    let huge = service.make(&json!({ "scene": huge }));
    service.tell(&format!("{huge}/play"), &json!({ "speed": "max" }));
    let beside = measure();
    let status = service.ask(&huge);
    json!({
        "worlds": SMALL,
        "seconds_each": long.as_secs(),
        "alone": alone,
        "worlds_a_submission_alone": submitted,
        "beside_a_huge_world": beside,
        "huge_world": { "bodies": status["bodies"], "steps": status["step"], "ms_per_step": status["ms_per_step"] },
    })
}

/// Measures small worlds that play as fast as possible, slightly different from each other.
fn playing(service: &Service, long: Duration) -> Value {
    let names = ["steps_total", "series_worlds_sum", "series_worlds_count", "batch_worlds_count", "dispatches_total"];
    let now = || names.map(|name| counter(service, &format!("drystone_{name}")).unwrap_or(0.0));
    let worlds: Vec<String> = (0..SMALL)
        .map(|world| service.make(&json!({ "scene": format!("large_pyramid:base={}", 2 + world % 5) })))
        .collect();
    for world in &worlds {
        service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    }
    // Waits until kernels are compiled, tables created, and worlds removed from a pool for that are back.
    while worlds.iter().any(|world| service.ask(world)["step"].as_u64() < Some(50)) {
        thread::sleep(Duration::from_millis(100));
    }
    let (begun, before) = (Instant::now(), now());
    thread::sleep(long);
    let (seconds, after) = (begun.elapsed().as_secs_f64(), now());
    let [steps, in_series, series, submissions, dispatches] = [0, 1, 2, 3, 4].map(|at| after[at] - before[at]);
    let done: Vec<u64> = worlds.iter().filter_map(|world| service.ask(world)["step"].as_u64()).collect();
    let rounded = |figure: f64| (figure * 100.0).round() / 100.0;
    json!({
        "steps_a_second": rounded(steps / seconds),
        "worlds_a_series": rounded(in_series / series),
        "worlds_a_submission": rounded(in_series / submissions),
        "dispatches_a_step": rounded(dispatches / in_series),
        "steps_of_a_world": { "least": done.iter().min(), "most": done.iter().max() },
    })
}

/// Returns the mean number of worlds that stepped together on a device so far; `None` on the CPU.
fn submitted(service: &Service) -> Option<f64> {
    let [worlds, count] = ["sum", "count"].map(|what| counter(service, &format!("drystone_batch_worlds_{what}")));
    Some((worlds? / count? * 100.0).round() / 100.0)
}

/// Returns a counter of the service by its name.
fn counter(service: &Service, name: &str) -> Option<f64> {
    let text = String::from_utf8(service.get("/metrics").ok()?.body).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
