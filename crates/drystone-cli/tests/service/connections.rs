//! Slow, silent, too many or stubborn clients neither lock others out nor keep the service from stopping.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use crate::client::{Service, command};
use crate::sockets::{Socket, connect, say};

/// Opens a connection and sends a text.
pub fn open(service: &Service, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&service.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn head(service: &Service, request: &str, length: usize) -> String {
    format!(
        "POST {request} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n",
        service.address
    )
}

/// Opens a connection that has sent a valid request and stays open.
pub fn known(service: &Service) -> TcpStream {
    let mut stream = None;
    // A connection that has ended may keep its slot for a moment.
    until("there is a place", || {
        stream = answered(service);
        stream.is_some()
    });
    stream.unwrap()
}

/// Opens a connection and reads an answer; `None` if all places are taken.
fn answered(service: &Service) -> Option<TcpStream> {
    let text = format!("GET /v1/scenes HTTP/1.1\r\nHost: {}\r\n\r\n", service.address);
    let mut stream = open(service, &text);
    let (mut read, mut part) = (Vec::new(), [0; 4096]);
    while !read.ends_with(b"]}]}") {
        let length = stream.read(&mut part).unwrap();
        if length == 0 {
            let said = String::from_utf8_lossy(&read);
            assert!(said.starts_with("HTTP/1.1 503"), "{said}");
            return None;
        }
        read.extend(&part[..length]);
    }
    Some(stream)
}

/// Returns the remaining bytes, and true if the service has closed the connection.
pub fn rest(stream: &mut TcpStream) -> (String, bool) {
    let mut bytes = Vec::new();
    let closed = match stream.read_to_end(&mut bytes) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    (String::from_utf8_lossy(&bytes).into_owned(), closed)
}

pub fn figure(service: &Service, name: &str) -> f64 {
    let text = String::from_utf8(service.get("/metrics").unwrap().body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or(0.0)
}

/// Repeats a check until it holds.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !so() {
        assert!(Instant::now() < end, "never {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn silent_clients_are_let_go_and_others_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_CONNECTIONS", "2"), ("LIMITS_IDLE_SECONDS", "5")]);
    // One in the middle of a head, one silent; both have sent a request before.
    let mut silent = ["GET / HTTP/1.1\r\nHost: localhost\r\n", ""].map(|text| {
        let mut stream = known(&service);
        stream.write_all(text.as_bytes()).unwrap();
        (stream, Instant::now())
    });
    until("full", || {
        let answer = service.get("/v1/worlds").unwrap();
        (answer.status == 503).then(|| assert!(answer.header("retry-after").is_some())).is_some()
    });
    assert_eq!(service.get("/health/live").unwrap().status, 200, "health checks still get an answer");
    for (stream, _) in &mut silent {
        assert!(rest(stream).1, "closed, not forgotten");
    }
    until("free again", || service.get("/v1/worlds").unwrap().status == 200);
    drop(service);
    // Without the limit they stay.
    let service = Service::start(folder.path(), &[("LIMITS_IDLE_SECONDS", "3600")]);
    let mut stream = known(&service);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    assert!(!rest(&mut stream).1, "the limit is what closes them");
}

#[test]
fn a_body_has_to_come_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let send = |service: &Service| {
        let world = service.make(&json!({ "scene": "slope" }));
        let body = r#"{ "steps": 1 }"#;
        let mut stream = open(service, &head(service, &format!("{world}/step"), body.len()));
        for byte in body.bytes() {
            std::thread::sleep(Duration::from_millis(100));
            // The service may have closed the connection.
            let _ = stream.write_all(&[byte]);
        }
        rest(&mut stream).0
    };
    let service = Service::start(folder.path(), &[("LIMITS_BODY_SECONDS", "0.5")]);
    let answer = send(&service);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("limits.body_seconds"), "{answer}");
    drop(service);
    let service = Service::start(folder.path(), &[]);
    let answer = send(&service);
    assert!(answer.starts_with("HTTP/1.1 200"), "slow is no mistake: {answer}");
}

/// A large answer that is not read takes memory, which other requests lack; then its connection is closed.
#[test]
fn answers_that_nobody_takes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        ("LIMITS_IDLE_SECONDS", "10"),
        ("LIMITS_BYTES", "1000000"),
        ("LIMITS_MEMORY_BYTES", "26000000"),
        ("LIMITS_RATE", "100000"),
    ];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=400" }));
    let path = format!("{world}/state");
    // Numbers of full length: more than the system buffers.
    service.tell(&format!("{world}/step"), &json!({}));
    assert!(service.get(&path).unwrap().body.len() > 9_000_000);
    assert_eq!(figure(&service, "drystone_connections_stuck_total"), 0.0);
    let mut stuck = open(&service, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", service.address));
    stuck.read_exact(&mut [0; 9]).unwrap();
    let refused = service.get(&path).unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.memory_bytes"));
    until("given up", || figure(&service, "drystone_connections_stuck_total") == 1.0);
    until("free again", || service.get(&path).unwrap().status == 200);
    assert!(rest(&mut stuck).1);
}

#[test]
fn streams_are_connections_too() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_CONNECTIONS", "2"), ("LIMITS_IDLE_SECONDS", "100")]);
    let world = service.make(&json!({ "scene": "slope" }));
    let stream = connect(&service, &format!("{world}/stream"));
    // A connection that has ended may keep its slot for a moment.
    until("one place is left", || service.get(&world).unwrap().status == 200);
    let idle = known(&service);
    until("full", || service.get(&world).unwrap().status == 503);
    drop(stream);
    until("free again", || service.get(&world).unwrap().status == 200);
    drop(idle);
}

#[test]
fn a_stream_ends_with_its_world() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "slope" }));
    let mut socket = connect(&service, &format!("{world}/stream"));
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    // From the answer on the world is unknown.
    assert_eq!(service.get(&world).unwrap().status, 404);
    assert_eq!(service.ask("/v1/worlds")["worlds"], json!([]));
    let reason = loop {
        if let Message::Close(frame) = socket.read().unwrap() {
            break frame.unwrap().reason.to_string();
        }
    };
    assert_eq!(reason, "the world was deleted");
    until("left", || figure(&service, "drystone_streams") == 0.0);
}

/// A stream that answers pings stays, one that does not is closed, though neither world moves.
#[test]
fn a_stream_that_says_nothing_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_IDLE_SECONDS", "1")]);
    let world = service.make(&json!({ "scene": "slope" }));
    let path = format!("{world}/stream");
    let (_deaf, mut awake) = (connect(&service, &path), connect(&service, &path));
    // Each is counted just after its first message.
    until("both counted", || figure(&service, "drystone_streams") == 2.0);
    let mut pings = 0;
    while pings < 10 {
        // Reading answers the pings.
        pings += u32::from(matches!(awake.read().unwrap(), Message::Ping(_)));
    }
    assert_eq!(figure(&service, "drystone_streams"), 1.0);
    say(&mut awake, &json!({ "id": 1, "step": {} }));
    until("answered", || matches!(awake.read().unwrap(), Message::Text(text) if text.contains("\"ok\"")));
}

/// Streams hold memory for their frames even if these are not read. A stream without memory gets a close code to
/// retry later.
#[test]
fn a_stream_without_memory_is_told_to_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BYTES", "1000000"), ("LIMITS_MEMORY_BYTES", "2000000"), ("LIMITS_IDLE_SECONDS", "600")];
    let service = Service::start(folder.path(), &settings);
    // 5,051 bodies, about 1 MB per stream.
    let world = service.make(&json!({ "scene": "large_pyramid:base=100" }));
    let path = format!("{world}/stream");
    let first = |socket: &mut Socket| loop {
        match socket.read().unwrap() {
            Message::Binary(bytes) => break Ok(bytes.len()),
            Message::Close(frame) => break Err(frame.map(|frame| (u16::from(frame.code), frame.reason.to_string()))),
            _ => {}
        }
    };
    let mut held: Vec<_> = (0..2).map(|_| connect(&service, &path)).collect();
    for socket in &mut held {
        assert!(first(socket).unwrap() > 50_000);
    }
    // From now on these two read nothing.
    for _ in 0..3 {
        let refused = first(&mut connect(&service, &path)).unwrap_err().expect("it says why");
        assert_eq!(refused, (1013, "no memory for this stream at the moment".to_owned()));
    }
    // A small world takes none, and the existing streams continue.
    let small = service.make(&json!({ "scene": "slope" }));
    first(&mut connect(&service, &format!("{small}/stream"))).unwrap();
    service.tell(&format!("{world}/step"), &json!({}));
    first(&mut held[1]).unwrap();
    drop(held.remove(0));
    until("free again", || first(&mut connect(&service, &path)).is_ok());
}

/// Messages of a stream count as requests for the rate.
#[test]
fn a_stream_is_no_way_round_the_rate() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_RATE", "10")]);
    let world = service.make(&json!({ "scene": "slope" }));
    let mut socket = connect(&service, &format!("{world}/stream?rate=1"));
    let (mut done, mut refused) = (0, 0);
    for id in 0..40 {
        say(&mut socket, &json!({ "id": id, "commands": [ { "wake_all": {} } ] }));
    }
    while done + refused < 40 {
        if let Message::Text(text) = socket.read().unwrap() {
            let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
            if answer["problem"]["status"] == 429 { refused += 1 } else { done += 1 }
        }
    }
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}

#[test]
fn a_token_has_its_own_share() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("serve.toml");
    let text = "[[tokens]]\nname = 'small'\ntoken = 'token-of-the-small'\nworlds = 1\nsockets = 0\n\
                [[tokens]]\nname = 'large'\ntoken = 'token-of-the-large'\n";
    std::fs::write(&config, text).unwrap();
    let start = || {
        let mut command = command(&folder.path().join("store"), &[]);
        command.args(["--backend", "cpu", "--config"]).arg(&config);
        Service::run(command)
    };
    let service = start();
    let make = |service: &Service, token: &str| {
        let bearer = format!("Bearer token-of-the-{token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        service.send("POST", "/v1/worlds", &headers, br#"{"scene":"slope"}"#).unwrap()
    };
    assert_eq!(make(&service, "small").status, 201);
    let refused = make(&service, "small");
    assert_eq!((refused.status, refused.header("retry-after").is_some()), (429, true));
    assert!(refused.json()["detail"].as_str().unwrap().contains("of this token"), "{refused:?}");
    assert_eq!(make(&service, "large").status, 201);
    drop(service);
    let service = start();
    assert_eq!(make(&service, "small").status, 429, "it is known after a restart, too");
    make(&service, "large");
    let upgrade = |token: &str| {
        let bearer = format!("Bearer token-of-the-{token}");
        let listed = service.send("GET", "/v1/worlds", &[("Authorization", bearer.as_str())], b"").unwrap().json();
        let world = listed["worlds"][0]["id"].as_str().unwrap();
        let protocols = format!("drystone.v1, bearer.token-of-the-{token}");
        let text = format!(
            "GET /v1/worlds/{world}/stream HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: {protocols}\r\n\r\n",
            service.address
        );
        let (mut stream, mut start) = (open(&service, &text), [0; 12]);
        stream.read_exact(&mut start).unwrap();
        String::from_utf8_lossy(&start).into_owned()
    };
    assert_eq!((upgrade("small").as_str(), upgrade("large").as_str()), ("HTTP/1.1 429", "HTTP/1.1 101"));
}

/// SIGTERM ends the process despite stubborn clients, and acknowledged changes survive.
#[test]
fn stopped_among_clients_that_do_not_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[("LIMITS_RATE", "100000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=150" }));
    let ask = format!("GET {world}/state HTTP/1.1\r\nHost: {}\r\n\r\n", service.address).repeat(30);
    let texts = [String::new(), "GET / HTTP/1.1\r\n".to_owned(), head(&service, &format!("{world}/step"), 10), ask];
    let clients: Vec<TcpStream> = texts.iter().map(|text| open(&service, text)).collect();
    let mut polite = connect(&service, &format!("{world}/stream"));
    let rude = connect(&service, &format!("{world}/stream?rate=200&format=full"));
    service.tell(&format!("{world}/step"), &json!({ "steps": 3 }));
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    until("on its way", || service.ask(&world)["step"].as_u64().unwrap() > 6);
    let start = Instant::now();
    assert_eq!(service.stop(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(30), "a promise: {:?}", start.elapsed());
    let reason = loop {
        match polite.read() {
            Ok(Message::Close(frame)) => break frame.unwrap().reason.to_string(),
            Ok(_) => {}
            Err(error) => panic!("no good-bye: {error}"),
        }
    };
    assert_eq!(reason, "the service is stopping");
    drop((clients, rude));
    let service = Service::start(folder.path(), &[]);
    let status = service.ask(&world);
    assert!(status["state"] == "playing" && status["step"].as_u64().unwrap() > 6, "{status}");
}
