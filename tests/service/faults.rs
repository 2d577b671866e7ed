//! What goes wrong outside: full disks, damaged files, strangers, too much at once. It is told, and the rest works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::client::{Service, command};

fn files(store: &Path, world: &str, prefix: &str) -> Vec<PathBuf> {
    let folder = store.join("worlds").join(world.rsplit('/').next().unwrap());
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
        .collect();
    found.sort();
    found
}

/// Turns a bit of a file over, another one each time.
fn spoil(file: &Path, bit: u8) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1 << bit;
    fs::write(file, bytes).unwrap();
}

fn push(body: u32) -> serde_json::Value {
    json!({ "commands": [ { "impulse": { "body": body, "impulse": [0.5, 1] } } ] })
}

#[test]
fn a_damaged_checkpoint_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.01")];
    let mut service = Service::start(folder.path(), &settings);
    let (world, other) = (
        service.make(&json!({ "scene": "large_pyramid:base=10" })),
        service.make(&json!({ "scene": "large_pyramid:base=4" })),
    );
    let spawn = json!({ "commands": [ { "spawn": { "bodies": [ { "position": [0, 20], "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] });
    service.tell(&format!("{world}/commands"), &spawn);
    for round in 0..6 {
        service.tell(&format!("{world}/step"), &json!({ "steps": 300 }));
        service.tell(&format!("{world}/commands"), &push(round + 1));
    }
    let hash = service.hash(&world);
    let two = |service: &mut Service| {
        service.kill();
        let found = files(folder.path(), &world, "checkpoint-");
        assert!(found.len() >= 2, "{found:?}");
        found
    };
    let found = two(&mut service);
    spoil(found.last().unwrap(), 6);
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.hash(&world), hash, "from the older one, and two logs");

    service.kill();
    for file in files(folder.path(), &world, "checkpoint-") {
        spoil(&file, 3);
    }
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.ask(&world)["state"], "failed");
    let answer = service.get(&format!("{world}/state")).unwrap();
    assert_eq!((answer.status, answer.json()["type"].as_str()), (500, Some("urn:drystone:damaged")));
    assert!(answer.json()["detail"].as_str().unwrap().contains("checksum"));
    assert_eq!(service.tell(&format!("{other}/step"), &json!({}))["step"], 1, "the other world works");
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    assert_eq!(service.get(&world).unwrap().status, 404);
}

#[test]
fn a_full_store_refuses_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[("LIMITS_STORE_BYTES", "12000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let other = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let path = format!("{world}/commands");
    let mut done = 0;
    let refused = loop {
        let answer = service.post(&path, &push(1 + done % 6)).unwrap();
        if answer.status != 200 {
            break answer;
        }
        done += 1;
        assert!(done < 1000, "the store never fills");
    };
    assert_eq!((refused.status, refused.json()["type"].as_str()), (507, Some("urn:drystone:store")));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(service.ask(&format!("{world}/state"))["step"], 0, "asking still works");
    assert_eq!(service.post("/v1/worlds", &json!({ "scene": "slope" })).unwrap().status, 507);
    assert_eq!(service.send("DELETE", &other, &[], b"").unwrap().status, 204);
    service.tell(&path, &push(1));
    service.tell(&format!("{world}/step"), &json!({ "steps": 5 }));
    let hash = service.hash(&world);
    service.kill();
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash, "what was refused has not happened, what was not has");
    // The same with what was done, in a world of its own.
    let twin = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    for index in 0..done {
        service.tell(&format!("{twin}/commands"), &push(1 + index % 6));
    }
    service.tell(&format!("{twin}/commands"), &push(1));
    service.tell(&format!("{twin}/step"), &json!({ "steps": 5 }));
    assert_eq!(service.hash(&twin), hash);
}

/// The operating system's own error: no file may be larger than 8 KiB, as on a disk that is full, or read-only.
#[test]
fn a_disk_that_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let plain = command(folder.path(), &[]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", "8"]).arg(plain.get_program());
    limited.args(plain.get_args()).args(["--backend", "cpu"]);
    let mut service = Service::run(limited);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let path = format!("{world}/commands");
    let mut done = 0;
    let refused = loop {
        let answer = service.post(&path, &push(1 + done % 6)).unwrap();
        if answer.status != 200 {
            break answer;
        }
        done += 1;
        assert!(done < 1000, "the disk never fills");
    };
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(service.post("/v1/worlds", &json!({ "scene": "large_pyramid:base=40" })).unwrap().status, 507);
    assert_eq!(service.ask(&format!("{world}/state"))["step"], 0);
    let hash = service.hash(&world);
    service.kill();
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash);
    service.tell(&path, &push(1));
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1, "nothing half made is left");
}

fn fails(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).args(["--backend", "cpu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_store_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(fails(command(&file, &[])).contains("error: store "));
    let store = folder.path().join("store");
    let _service = Service::start(&store, &[]);
    assert!(fails(command(&store, &[])).contains("another service uses it"));
}

#[test]
fn strangers_stay_outside() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = command(&folder.path().join("a"), &[]);
    open.args(["--listen", "0.0.0.0:0"]);
    let said = {
        // A later --listen is a second one; settings by the environment are not.
        let mut open = Command::new(env!("CARGO_BIN_EXE_drystone"));
        open.args(["serve", "--listen", "0.0.0.0:0", "--store", "memory"]);
        fails(open)
    };
    assert!(said.contains("no loopback address: give a token"), "{said}");
    drop(open);
    let token = "correct-horse-battery";
    let service = Service::start(folder.path(), &[("TOKEN", token)]);
    let status = |value: &str| service.send("GET", "/v1/worlds", &[("Authorization", value)], b"").unwrap().status;
    assert_eq!(status(&format!("Bearer {token}")), 200);
    for wrong in ["", "Bearer", "Bearer x", &format!("Basic {token}"), &format!("Bearer {token}x")] {
        assert_eq!(status(wrong), 401, "{wrong}");
    }
    let none = [("Authorization", "")];
    for (path, expected) in [("/health/live", 200), ("/", 200), ("/api/openapi.json", 200), ("/metrics", 401)] {
        assert_eq!(service.send("GET", path, &none, b"").unwrap().status, expected, "{path}");
    }
}

#[test]
fn too_much_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_RATE", "20"), ("LIMITS_SOCKETS", "1"), ("LIMITS_INBOX", "3")];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=4" }));
    let answers: Vec<_> = (0..60).map(|_| service.get(&world).unwrap()).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(!refused.is_empty() && refused.len() < 60);
    assert_eq!(refused[0].header("retry-after"), Some("1"));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(service.get(&world).unwrap().status, 200);
}

/// A client that has gone, or a time that is over, ends the steps.
#[test]
fn steps_end_with_whom_they_are_for() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    let path = format!("{world}/step");
    let answer = service.tell(&path, &json!({ "steps": 1_000_000, "timeout": 0.2 }));
    assert_eq!(answer["stopped"], "the deadline has passed");
    assert!((1..1_000_000).contains(&answer["steps"].as_u64().unwrap()));
    let body = json!({ "steps": 1_000_000 }).to_string();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(&service.address).unwrap();
    std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
    while service.ask(&world)["state"] != "stepping" {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stream);
    for _ in 0..1000 {
        if service.ask(&world)["state"] == "paused" {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let status = service.ask(&world);
    assert_eq!((&status["state"], &status["steps_to_go"]), (&json!("paused"), &json!(0)));
    // Small ones come in between.
    let small = service.make(&json!({ "scene": "slope" }));
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    assert_eq!(service.post(&path, &json!({})).unwrap().status, 409);
    assert_eq!(service.tell(&format!("{small}/step"), &json!({ "steps": 10 }))["steps"], 10);
    assert_eq!(service.tell(&format!("{world}/pause"), &json!({}))["playing"], false);
}
