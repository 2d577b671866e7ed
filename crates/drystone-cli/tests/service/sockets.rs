//! Streams: frames, commands over the same socket, slow clients.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::client::Service;
use crate::connections::{figure, until};

pub type Socket = WebSocket<TcpStream>;

pub fn connect(service: &Service, path: &str) -> Socket {
    let mut request = format!("ws://{}{path}", service.address).into_client_request().unwrap();
    request.headers_mut().insert("Sec-WebSocket-Protocol", "drystone.v1".parse().unwrap());
    let stream = TcpStream::connect(&service.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    tungstenite::client::client(request, stream).unwrap().0
}

struct Frame {
    all: bool,
    sequence: u32,
    dropped: u32,
    step: u64,
    counts: [u32; 3],
    bytes: Vec<u8>,
}

fn frame(bytes: &[u8]) -> Frame {
    assert_eq!(&bytes[..4], b"DRYF");
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    Frame {
        all: bytes[6] & 1 != 0,
        sequence: u32_at(8),
        dropped: u32_at(12),
        step: u64::from_le_bytes(bytes[16..24].try_into().unwrap()),
        counts: [u32_at(32), u32_at(36), u32_at(40)],
        bytes: bytes.to_vec(),
    }
}

fn next_frame(socket: &mut Socket) -> Frame {
    loop {
        if let Message::Binary(bytes) = socket.read().unwrap() {
            return frame(&bytes);
        }
    }
}

pub fn next_answer(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(text.as_str()).unwrap();
        }
    }
}

/// Reads an answer and a frame, in any order. A frame with the earlier settings may be in transit: the first frame
/// with the new settings has all bodies.
fn answer_and_frame(socket: &mut Socket) -> (Value, Frame) {
    let (mut answer, mut last) = (None, None);
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => answer = Some(serde_json::from_str(text.as_str()).unwrap()),
            Message::Binary(bytes) => last = Some(frame(&bytes)).filter(|frame| frame.all).or(last),
            _ => {}
        }
        if let (Some(_), Some(_)) = (&answer, &last) {
            return answer.zip(last).unwrap();
        }
    }
}

pub fn say(socket: &mut Socket, message: &Value) {
    socket.send(Message::Text(message.to_string().into())).unwrap();
}

#[test]
fn frames_and_commands_over_one_socket() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "version": 1, "gravity": [0, 0], "bodies": [
        { "position": [0, 0], "velocity": [1, 0], "shapes": [ { "circle": { "radius": 0.5 } } ] },
        { "position": [50, 0], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }));
    let mut socket = connect(&service, &format!("{world}/stream?rate=200"));
    let first = next_frame(&mut socket);
    assert_eq!((first.all, first.sequence, first.step, first.counts), (true, 0, 0, [2, 0, 0]));
    say(&mut socket, &json!({ "id": "go", "step": { "steps": 60 } }));
    // Frames and the answer arrive in any order.
    let (mut x, mut last, mut done) = (0.0, first.sequence, None);
    let mut step = 0;
    while step < 60 || done.is_none() {
        match socket.read().unwrap() {
            Message::Text(text) => done = Some(serde_json::from_str::<Value>(text.as_str()).unwrap()),
            Message::Binary(bytes) => {
                let next = frame(&bytes);
                // Only the moving body is in the frame.
                assert_eq!((next.all, next.counts, next.sequence), (false, [0, 1, 0], last + 1));
                x += f64::from(i16::from_le_bytes(next.bytes[68..70].try_into().unwrap())) / 1024.0;
                (last, step) = (next.sequence, next.step);
            }
            _ => {}
        }
    }
    let done = done.unwrap();
    assert_eq!((&done["id"], &done["ok"]["steps"]), (&json!("go"), &json!(60)));
    let state = service.ask(&format!("{world}/state"));
    let expected = state["bodies"][0]["position"][0].as_f64().unwrap();
    assert!((x - expected).abs() < 0.001, "{x} of {expected} m");
    say(&mut socket, &json!({ "id": 1, "stream": { "format": "full", "rate": 100, "region": [40, -10, 60, 10] } }));
    let (answer, all) = answer_and_frame(&mut socket);
    assert_eq!((answer, all.counts), (json!({ "id": 1, "ok": {} }), [1, 0, 0]));
    say(&mut socket, &json!({ "id": 2, "commands": [ { "teleport": { "body": 0, "position": [50, 5] } } ] }));
    assert_eq!(next_answer(&mut socket), json!({ "id": 2, "ok": { "step": 60, "results": [{}] } }));
    say(&mut socket, &json!({ "id": 3, "commands": [ { "wake": { "body": "nobody" } } ] }));
    let refused = next_answer(&mut socket);
    assert_eq!((&refused["id"], &refused["problem"]["path"]), (&json!(3), &json!("commands[0].wake.body")));
    say(&mut socket, &json!({ "id": 4, "steps": 1 }));
    assert_eq!(next_answer(&mut socket)["problem"]["status"], 422);
    // Executed once with one key.
    let push = json!({ "id": 5, "key": "k", "commands": [ { "impulse": { "body": 0, "impulse": [1, 0] } } ] });
    say(&mut socket, &push);
    say(&mut socket, &push);
    let answers = [next_answer(&mut socket), next_answer(&mut socket)];
    assert!(answers[0]["ok"].is_object());
    assert!(answers[1]["ok"] == answers[0]["ok"] || answers[1]["problem"]["status"] == 409, "{answers:?}");
}

/// A viewer never sees a state older than the answers it has got.
#[test]
fn a_new_stream_begins_with_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    for steps in [5, 10] {
        // One frame per hour: it stays the newest while the world continues.
        drop((next_frame(&mut connect(&service, &format!("{world}/stream?rate=0.001"))), steps));
        service.tell(&format!("{world}/step"), &json!({ "steps": 5 }));
        assert_eq!(next_frame(&mut connect(&service, &format!("{world}/stream?rate=0.001"))).step, steps);
    }
}

/// A client that does not read delays no one else, and then gets the newest frame and the number of skipped ones.
#[test]
fn slow_clients_miss_frames() {
    let folder = tempfile::tempdir().unwrap();
    // A client that is blocked is not let go within this test.
    let service = Service::start(folder.path(), &[("LIMITS_IDLE_SECONDS", "600")]);
    // Frames of 200 kB: more than the system buffers.
    let world = service.make(&json!({ "scene": "large_pyramid:base=100" }));
    let mut slow = connect(&service, &format!("{world}/stream?rate=50&format=full"));
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    assert_eq!(next_frame(&mut slow).dropped, 0);
    let mut quick = connect(&service, &format!("{world}/stream?rate=20&format=delta"));
    // Until the slow one has been blocked for a while: that many frames are more than any buffer.
    let mut seen = next_frame(&mut quick);
    while figure(&service, "drystone_frames_total") < 250.0 {
        let next = next_frame(&mut quick);
        assert!(next.sequence == seen.sequence + 1 && next.step >= seen.step);
        seen = next;
    }
    let now = service.ask(&world)["step"].as_u64().unwrap();
    assert!(seen.step > 0 && now >= seen.step);
    let (mut frames, mut last) = (0_u32, 0);
    let last = loop {
        let next = next_frame(&mut slow);
        assert!(next.step >= last, "never back in time");
        last = next.step;
        frames += 1;
        if next.step >= now {
            break next;
        }
        assert!(frames < 10_000);
    };
    assert!(last.dropped > 0, "it did not read, and missed nothing in {} frames", last.sequence);
    service.tell(&format!("{world}/pause"), &json!({}));
}

#[test]
fn streams_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_SOCKETS", "1"), ("TOKEN", "sixteen-letters-")]);
    let world = service.make(&json!({ "scene": "slope" }));
    let path = format!("{world}/stream");
    let open = |protocols: &str| {
        let mut request = format!("ws://{}{path}", service.address).into_client_request().unwrap();
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocols.parse().unwrap());
        tungstenite::client::client(request, TcpStream::connect(&service.address).unwrap()).map(|(socket, _)| socket)
    };
    assert!(open("drystone.v1").is_err(), "no token");
    let mut first = open("drystone.v1, bearer.sixteen-letters-").unwrap();
    assert!(open("drystone.v1, bearer.sixteen-letters-").is_err(), "one too many");
    first.close(None).unwrap();
    drop(first);
    until("free again", || open("drystone.v1, bearer.sixteen-letters-").is_ok());
}
