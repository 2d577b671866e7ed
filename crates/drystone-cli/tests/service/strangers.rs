//! Clients without a token, slow clients and disconnected ones take no slot from others.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use crate::client::Service;
use crate::connections::{figure, known, open, rest, until};
use crate::sockets::{connect, next_answer, say};

#[test]
fn idle_strangers_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    // They may stay for long: room for others does not come from a timeout.
    let settings = [
        ("TOKEN", "sixteen letters!"),
        ("LIMITS_CONNECTIONS", "64"),
        ("LIMITS_STRANGER_SECONDS", "1000"),
        ("LIMITS_IDLE_SECONDS", "1000"),
    ];
    let service = Service::start(folder.path(), &settings);
    let mut idle: Vec<TcpStream> = Vec::new();
    for round in 0..3 {
        idle.extend((0..100).map(|_| TcpStream::connect(&service.address).unwrap()));
        let start = Instant::now();
        assert_eq!(service.get("/v1/worlds").unwrap().status, 200, "round {round}");
        assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    }
    assert!(figure(&service, "drystone_strangers_evicted_total") > 200.0);
    // Connections with a token are not closed for strangers.
    let text = format!(
        "GET /v1/scenes HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer sixteen letters!\r\n\r\n",
        service.address
    );
    let mut stays = open(&service, &text);
    stays.read_exact(&mut [0; 16]).unwrap();
    idle.extend((0..100).map(|_| TcpStream::connect(&service.address).unwrap()));
    std::io::Write::write_all(&mut stays, text.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let (said, closed) = rest(&mut stays);
    assert!(closed && said.contains("HTTP/1.1 200"), "{said}");
}

#[test]
fn strangers_have_little_time() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_STRANGER_SECONDS", "1"), ("LIMITS_IDLE_SECONDS", "1000")]);
    let mut known = known(&service);
    // In the middle of a head, silent, and one that repeatedly requests what needs no token.
    let mut strangers =
        ["GET / HTTP/1.1\r\nHost: localhost\r\n", ""].map(|text| (open(&service, text), Instant::now()));
    for (stream, start) in &mut strangers {
        assert!(rest(stream).1, "closed");
        assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    }
    let probe = format!("GET /health/live HTTP/1.1\r\nHost: {}\r\n\r\n", service.address);
    let (mut asking, start) = (open(&service, &probe), Instant::now());
    while std::io::Write::write_all(&mut asking, probe.as_bytes()).is_ok() {
        assert!(start.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(50));
    }
    known.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    assert!(!rest(&mut known).1, "who has asked stays");
}

/// Reads a little of an answer again and again: too slow, and disconnected.
#[test]
fn answers_that_are_taken_too_slowly() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_IDLE_SECONDS", "2"), ("LIMITS_MIN_SPEED", "30000000"), ("LIMITS_RATE", "100000")];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=400" }));
    service.tell(&format!("{world}/step"), &json!({}));
    let path = format!("{world}/state");
    let length = service.get(&path).unwrap().body.len();
    assert!(length > 9_000_000, "more than the system keeps on the way");
    assert_eq!(figure(&service, "drystone_connections_stuck_total"), 0.0, "quick enough");
    let mut slow = open(&service, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", service.address).repeat(10));
    let (mut taken, mut part) = (0, vec![0; 300_000]);
    let start = Instant::now();
    // About 3 MB/s, so it never stalls for as long as allowed.
    until("let go", || {
        taken += slow.read(&mut part).unwrap_or(0);
        std::thread::sleep(Duration::from_millis(100));
        figure(&service, "drystone_connections_stuck_total") == 1.0
    });
    assert!(taken < 10 * length && start.elapsed() >= Duration::from_secs(2), "{taken} of {length}");
}

/// The client of a step has sent another request, and disconnected: the step is cancelled.
#[test]
fn steps_end_though_more_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    let body = r#"{"steps":1000000}"#;
    let text = format!(
        "POST {world}/step HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}\
         GET {world} HTTP/1.1\r\nHost: {host}\r\n\r\n",
        body.len(),
        host = service.address
    );
    let stream = open(&service, &text);
    until("under way", || service.ask(&world)["state"] == "stepping");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(service.ask(&world)["state"], "stepping", "it is there still");
    drop(stream);
    until("noticed", || service.ask(&world)["state"] == "paused");
    // Quick requests before the end are all answered.
    let text = format!("GET {world} HTTP/1.1\r\nHost: {}\r\n\r\n", service.address);
    let mut stream = open(&service, &text.repeat(3));
    let (mut said, mut part) = (String::new(), [0; 4096]);
    while said.matches("HTTP/1.1 200").count() < 3 {
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "{said}");
        said += &String::from_utf8_lossy(&part[..length]);
    }
}

/// More long steps than are executed at the same time: the socket is read throughout, and excess messages are
/// refused.
#[test]
fn a_busy_stream_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    // As many steps as 32 messages request may wait.
    let settings = [
        ("LIMITS_IDLE_SECONDS", "1"),
        ("LIMITS_INBOX", "1000"),
        ("LIMITS_RATE", "100000"),
        ("LIMITS_STEPS", "32000000"),
    ];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    // Without frames, which would count as a sign of life.
    let mut socket = connect(&service, &format!("{world}/stream?rate=0.0001"));
    for id in 0..400 {
        say(&mut socket, &json!({ "id": id, "step": { "steps": 1_000_000, "timeout": 500 } }));
    }
    let (mut pings, mut refused) = (0, 0);
    while pings < 12 {
        // Reading answers them.
        match socket.read().expect("it is open") {
            Message::Ping(_) => pings += 1,
            Message::Text(text) => {
                let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(answer["problem"]["status"], 429, "{answer}");
                assert!(answer["id"].as_u64().unwrap() >= 256, "the first ones wait: {answer}");
                refused += 1;
            }
            _ => {}
        }
    }
    assert!(refused > 50, "{refused}");
    service.tell(&format!("{world}/pause"), &json!({}));
    until("answered", || next_answer(&mut socket)["ok"]["stopped"].is_string());
}
