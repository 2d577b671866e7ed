//! A service killed at any moment has lost nothing that it acknowledged, and reaches the same bits as an
//! uninterrupted one.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Dice, Service};

/// Rounds in the suite; more with `SERVICE_ROUNDS`.
const ROUNDS: u64 = 6;
/// Setting for kills at random moments, which may hit a slow step of the same world twice: the world is not to
/// blame.
pub const OUTSIDE: (&str, &str) = ("RETRY_FAILED", "true");

pub fn scene() -> Value {
    json!({ "version": 1, "name": "crash", "settings": { "sleep": true, "events": true },
        "bodies": [
            { "type": "static", "shapes": [ { "box": { "half": [50, 1] }, "offset": [0, -1] } ] },
            { "id": "a", "position": [0, 0.5], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] },
            { "id": "b", "position": [0.1, 1.5], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] },
            { "id": "c", "position": [0, 2.6], "shapes": [ { "circle": { "radius": 0.5 } } ] } ],
        "joints": [ { "type": "distance", "a": "b", "b": "c", "anchor_a": [0, 0], "anchor_b": [0, 0] } ],
        "emitters": [ { "every": 37, "keep": 5, "bodies": [ { "position": [3, 6], "shapes": [ { "circle": { "radius": 0.3 } } ] } ] } ] })
}

/// Random client, with what it knows about the world.
struct Player {
    dice: Dice,
    spawned: Vec<String>,
    named: u64,
    held: bool,
}

impl Player {
    fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), spawned: Vec::new(), named: 0, held: false }
    }

    fn next(&mut self) -> (&'static str, Value) {
        let dice = &mut self.dice;
        let some = ["a", "b", "c"][dice.below(3) as usize];
        let push = [3.0 * dice.unit(), 5.0 * dice.unit()];
        let at = [4.0 * dice.unit(), 4.0 + dice.unit()];
        let one = |command: Value| ("commands", json!({ "commands": [command] }));
        match dice.below(10) {
            0..4 => ("step", json!({ "steps": 1 + dice.below(30) })),
            4 => one(json!({ "impulse": { "body": some, "impulse": push } })),
            5 if dice.below(3) == 0 => one(json!({ "explode": { "position": at, "radius": 1, "falloff": 2 } })),
            5 if dice.below(3) == 0 => one(json!({ "wind": { "velocity": push, "wake": true } })),
            5 => one(json!({ "teleport": { "body": some, "position": at, "angle": dice.unit() } })),
            6 => {
                self.named += 1;
                let body = json!({ "id": format!("new {}", self.named), "position": at,
                    "shapes": [ { "polygon": { "points": [[-0.4, -0.3], [0.4, -0.3], [0, 0.5]] } } ] });
                let other = json!({ "position": [at[0] + 1.0, at[1]], "shapes": [ { "circle": { "radius": 0.2 } } ] });
                let tie = json!({ "type": "spring", "a": 0, "b": 1, "anchor_a": [0, 0], "anchor_b": [0, 0],
                    "stiffness": 40, "damping": 1 });
                one(json!({ "spawn": { "bodies": [body, other], "joints": [tie] } }))
            }
            7 if !self.spawned.is_empty() => {
                let place = dice.below(self.spawned.len() as u64) as usize;
                let gone = self.spawned.remove(place);
                one(json!({ "remove": { "bodies": [gone] } }))
            }
            8 if self.held => {
                self.held = false;
                one(json!({ "release": { "pointer": "p" } }))
            }
            // Refused halfway, which must also be reproduced.
            9 if dice.below(3) == 0 => (
                "commands",
                json!({ "commands": [ { "impulse": { "body": "c", "impulse": push } }, { "wake": { "body": "nobody" } } ] }),
            ),
            _ => {
                self.held = true;
                one(json!({ "mouse": { "pointer": "p", "body": "c", "target": at, "max_force": 200 } }))
            }
        }
    }

    fn learn(&mut self, answer: &Value) {
        for id in answer["results"][0]["bodies"].as_array().into_iter().flatten() {
            self.spawned.push(id.as_str().unwrap().to_owned());
        }
    }
}

/// Kills services in rounds: both states must stay equal, and each acknowledged request be executed once, with
/// retries by key.
pub fn rounds(count: u64, seed: u64, start: impl Fn(&Path) -> Service) {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let twin = start(calm.path());
    let mut service = start(folder.path());
    let world = service.make(&scene());
    let other = twin.make(&scene());
    let mut player = Player::new(seed);
    let (mut asked, mut cut, mut hashes) = (0_u64, 0, std::collections::BTreeSet::new());
    for round in 0..count {
        let wait = Duration::from_millis(player.dice.below(120));
        let pid = service.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(wait);
            assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
        });
        let mut killer = Some(killer);
        loop {
            let (what, body) = player.next();
            asked += 1;
            let (path, key) = (format!("{world}/{what}"), format!("request-{asked}"));
            let answer = match service.post_once(&path, &body, &key) {
                Ok(answer) => answer,
                Err(_) => {
                    killer.take().expect("only the killer ends it").join().unwrap();
                    service.kill();
                    cut += 1;
                    service = start(folder.path());
                    service.post_once(&path, &body, &key).unwrap()
                }
            };
            let expected = twin.post(&format!("{other}/{what}"), &body).unwrap();
            assert_eq!(answer.status, expected.status, "round {round}, {what} {body}: {answer:?}");
            assert_eq!(answer.json(), expected.json(), "round {round}, {what} {body}");
            player.learn(&answer.json());
            if killer.is_none() {
                break;
            }
        }
        let (found, expected) = (service.hash(&world), twin.hash(&other));
        assert_eq!(found, expected, "round {round} after {asked} requests");
        hashes.insert(found);
    }
    assert_eq!(cut, count);
    assert!(hashes.len() as u64 > count / 2, "a world that does not move shows nothing: {hashes:?}");
    eprintln!("{asked} requests in {count} rounds, each ended by SIGKILL; step {}", service.ask(&world)["step"]);
}

/// Returns `SERVICE_ROUNDS`, or the default.
pub fn count(usual: u64) -> u64 {
    std::env::var("SERVICE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn killed_at_any_moment() {
    // Checkpoints all the time, so that kills hit them too.
    rounds(count(ROUNDS), 7, |store| Service::start(store, &[("CHECKPOINT_SECONDS", "0.01"), OUTSIDE]));
}

#[test]
fn killed_on_a_device() {
    rounds(1, 11, |store| Service::on_device(store, &[("CHECKPOINT_SECONDS", "0.2"), OUTSIDE]));
}

/// While a world plays, commands take effect between any two steps: the answer says between which.
#[test]
fn killed_while_it_plays() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.05"), OUTSIDE];
    let mut service = Service::start(folder.path(), &settings);
    let world = service.make(&scene());
    let mut done: Vec<(u64, Value)> = Vec::new();
    service.tell(&format!("{world}/play"), &json!({ "speed": 20 }));
    let mut dice = Dice::new(3);
    for _ in 0..3 {
        for _ in 0..8 {
            std::thread::sleep(Duration::from_millis(dice.below(30)));
            let push = json!({ "impulse": { "body": "c", "impulse": [dice.unit(), 2.0 * dice.unit()] } });
            let body = json!({ "commands": [push] });
            let answer = service.tell(&format!("{world}/commands"), &body);
            done.push((answer["step"].as_u64().unwrap(), body));
        }
        service.kill();
        service = Service::start(folder.path(), &settings);
        assert_eq!(service.ask(&world)["state"], "playing");
    }
    let last = service.tell(&format!("{world}/pause"), &json!({}))["step"].as_u64().unwrap();
    // The same commands without a kill, and without playing.
    let twin = service.make(&scene());
    let mut steps = 0;
    for (at, body) in done.iter().chain([&(last, json!({ "commands": [ { "wake_all": {} } ] }))]) {
        if *at > steps {
            service.tell(&format!("{twin}/step"), &json!({ "steps": at - steps }));
            steps = *at;
        }
        if steps < last {
            service.tell(&format!("{twin}/commands"), body);
        }
    }
    assert_eq!(service.ask(&twin)["step"], last);
    assert_eq!(service.hash(&world), service.hash(&twin), "{done:?}");
    service.tell(&format!("{twin}/step"), &json!({}));
    assert_ne!(service.hash(&world), service.hash(&twin), "another step is another state");
}

/// Requests in progress continue after SIGTERM, which ends the process in order.
#[test]
fn stopped_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=12" }));
    let twin = service.make(&json!({ "scene": "large_pyramid:base=12" }));
    let path = format!("{world}/step");
    // As many steps as take some seconds here: the signal comes in the middle.
    let (probe, begun) = (service.make(&json!({ "scene": "large_pyramid:base=12" })), std::time::Instant::now());
    service.tell(&format!("{probe}/step"), &json!({ "steps": 200 }));
    let steps = (200 * 5_000_000 / begun.elapsed().as_micros() as u64).clamp(20_000, 1_000_000);
    let body = json!({ "steps": steps });
    let address = service.address.clone();
    let waiting = std::thread::spawn({
        let (path, body) = (path.clone(), body.clone());
        move || {
            let client = format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Idempotency-Key: long\r\nContent-Length: {}\r\n\r\n{body}",
                body.to_string().len()
            );
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            std::io::Write::write_all(&mut stream, client.as_bytes()).unwrap();
            let mut answer = String::new();
            let _ = std::io::Read::read_to_string(&mut stream, &mut answer);
            answer
        }
    });
    while service.ask(&world)["step"].as_u64().unwrap() < 20 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let start = std::time::Instant::now();
    assert_eq!(service.stop(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(30), "a promise: {:?}", start.elapsed());
    let answer = waiting.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.to_lowercase().contains("retry-after"), "{answer}");
    let service = Service::start(folder.path(), &[]);
    // A retry with the same key waits for the same steps, or gets their answer.
    let answer = loop {
        let answer = service.post_once(&path, &body, "long").unwrap();
        if answer.status != 409 {
            break answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((answer.status, answer.json()["steps"].as_u64()), (200, Some(steps)));
    service.tell(&format!("{twin}/step"), &body);
    assert_eq!(service.hash(&world), service.hash(&twin));
}
