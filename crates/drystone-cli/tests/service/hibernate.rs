//! Idle worlds leave memory and return to the same bits. A service with many worlds answers immediately.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Service, command};
use crate::crash::scene;

fn wait_until_on_disk(service: &Service, world: &str) -> Value {
    let start = Instant::now();
    loop {
        let status = service.ask(world);
        if status["in_memory"] == false && status["state"] == "paused" {
            return status;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{status}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_world_that_was_put_to_disk_comes_back_the_same() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = [("HIBERNATE_SECONDS", "0.05")];
    let mut service = Service::start(folder.path(), &settings);
    let twin = Service::start(calm.path(), &[]);
    let (world, other) = (service.make(&scene()), twin.make(&scene()));
    let ball = json!({ "position": [0.2, 9], "shapes": [ { "circle": { "radius": 0.3 } } ] });
    let mut hashes = std::collections::BTreeSet::new();
    for round in 0..5 {
        let push = json!({ "impulse": { "body": "a", "impulse": [round, 4] } });
        let grab = json!({ "mouse": { "pointer": "p", "body": "c", "target": [round, 3], "max_force": 200 } });
        let commands = json!({ "commands": [push, { "spawn": { "bodies": [ball] } }, grab] });
        for (path, body) in [("step", json!({ "steps": 40 })), ("commands", commands), ("step", json!({ "steps": 7 }))]
        {
            let key = format!("{path} {body} {round}").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let key = &key[..key.len().min(100)];
            let answer = service.post_once(&format!("{world}/{path}"), &body, key).unwrap();
            assert_eq!(answer.json(), twin.tell(&format!("{other}/{path}"), &body), "round {round}");
            let status = wait_until_on_disk(&service, &world);
            // A retried request is recognized, and executed once.
            let again = service.post_once(&format!("{world}/{path}"), &body, key).unwrap();
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{again:?}");
            assert_eq!(again.json(), answer.json());
            for key in ["step", "time", "bodies", "joints", "alterations", "state"] {
                assert_eq!(status[key], twin.ask(&other)[key], "{key}");
            }
        }
        assert_eq!(service.hash(&world), twin.hash(&other), "round {round}");
        hashes.insert(service.hash(&world));
        wait_until_on_disk(&service, &world);
        if round == 3 {
            service.kill();
            service = Service::start(folder.path(), &settings);
        }
    }
    assert_eq!(hashes.len(), 5, "a world that does not move shows nothing");
    // Events that were not read yet are preserved, with their numbers.
    service.tell(&format!("{world}/step"), &json!({ "steps": 60 }));
    let before = service.ask(&format!("{world}/events"));
    assert!(!before["events"].as_array().unwrap().is_empty(), "{before}");
    wait_until_on_disk(&service, &world);
    assert_eq!(service.ask(&format!("{world}/events")), before);
    // A viewer keeps the world in memory, and a playing world stays there.
    service.tell(&format!("{world}/play"), &json!({}));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(service.ask(&world)["in_memory"], true);
    service.tell(&format!("{world}/pause"), &json!({}));
    let mut stream = crate::sockets::connect(&service, &format!("{world}/stream"));
    // It may have been on disk by then: its first frame shows that it is back.
    while !stream.read().unwrap().is_binary() {}
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(service.ask(&world)["in_memory"], true);
    drop(stream);
    wait_until_on_disk(&service, &world);
}

/// A playing world continues when there is memory for it, also after a restart without enough.
#[test]
fn a_world_that_has_no_memory_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let roomy = [("LIMITS_BODIES", "60"), ("LIMITS_RESIDENT_BODIES", "200")];
    let mut service = Service::start(folder.path(), &roomy);
    let worlds = [(); 2].map(|()| service.make(&json!({ "scene": "large_pyramid:base=10" })));
    for world in &worlds {
        service.tell(&format!("{world}/play"), &json!({}));
    }
    service.kill();
    service = Service::start(folder.path(), &[("LIMITS_BODIES", "60"), ("LIMITS_RESIDENT_BODIES", "100")]);
    let playing = |service: &Service| worlds.iter().position(|world| service.ask(world)["state"] == "playing");
    let (first, start) = (playing(&service).unwrap(), Instant::now());
    let other = &worlds[1 - first];
    while !service.ask(other)["problem"].as_str().unwrap_or_default().contains("limits.resident_bodies") {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", service.ask(other));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(service.ask(other)["in_memory"], false);
    service.tell(&format!("{}/pause", worlds[first]), &json!({}));
    while service.ask(other)["state"] != "playing" {
        assert!(start.elapsed() < Duration::from_mins(2), "{}", service.ask(other));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(service.ask(other)["problem"], Value::Null);
}

#[test]
fn memory_goes_to_worlds_that_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BODIES", "60"), ("LIMITS_RESIDENT_BODIES", "120")];
    let mut service = Service::start(folder.path(), &settings);
    let make = |service: &Service| service.make(&json!({ "scene": "large_pyramid:base=10" }));
    let worlds: Vec<String> = (0..6).map(|_| make(&service)).collect();
    let in_memory = |service: &Service| worlds.iter().filter(|world| service.ask(world)["in_memory"] == true).count();
    assert!(in_memory(&service) <= 2);
    for round in 1..=2 {
        for world in &worlds {
            service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
            assert!(in_memory(&service) <= 2);
        }
        let hashes: std::collections::BTreeSet<_> = worlds.iter().map(|world| service.hash(world)).collect();
        assert_eq!(hashes.len(), 1, "the same scene, the same steps");
        assert!(worlds.iter().all(|world| service.ask(world)["step"] == 10 * round));
        service.kill();
        service = Service::start(folder.path(), &settings);
    }
    // None is idle: a request for one more world in memory is refused.
    for world in &worlds[..2] {
        service.tell(&format!("{world}/play"), &json!({}));
    }
    let refused = service.post(&format!("{}/step", worlds[2]), &json!({})).unwrap();
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.resident_bodies"), "{refused:?}");
    service.tell(&format!("{}/pause", worlds[0]), &json!({}));
    service.tell(&format!("{}/step", worlds[2]), &json!({}));
}

#[test]
fn bodies_of_all_worlds_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BODIES", "60"), ("LIMITS_RESIDENT_BODIES", "200"), ("LIMITS_TOTAL_BODIES", "120")];
    let mut service = Service::start(folder.path(), &settings);
    let pyramid = json!({ "scene": "large_pyramid:base=10" });
    let worlds = [service.make(&pyramid), service.make(&pyramid)];
    let refused = |service: &Service| {
        let answer = service.post("/v1/worlds", &pyramid).unwrap();
        assert_eq!(answer.status, 429, "{answer:?}");
        assert!(answer.header("retry-after").is_some());
        assert!(answer.json()["detail"].as_str().unwrap().contains("limits.total_bodies"), "{answer:?}");
    };
    refused(&service);
    // Bodies count after a restart, and those added at run time.
    service.kill();
    service = Service::start(folder.path(), &settings);
    refused(&service);
    let ball = json!({ "position": [0, 20], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    let spawn = |count: usize| json!({ "commands": [ { "spawn": { "bodies": vec![ball.clone(); count] } } ] });
    let commands = format!("{}/commands", worlds[0]);
    service.tell(&commands, &spawn(4));
    let answer = service.post(&format!("{}/commands", worlds[1]), &spawn(4)).unwrap();
    assert_eq!(answer.status, 200, "116 and 4 are 120: {answer:?}");
    let answer = service.post(&commands, &spawn(1)).unwrap();
    assert!([422, 429].contains(&answer.status), "{answer:?}");
    assert_eq!(service.send("DELETE", &worlds[0], &[], b"").unwrap().status, 204);
    service.make(&pyramid);
}

/// A service with many worlds listens before it has read them, and reports its progress.
#[test]
fn a_service_with_many_worlds_answers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        [("LIMITS_WORLDS", "1000"), ("LIMITS_RATE", "100000"), ("WORKERS", "2"), ("CHECKPOINT_SECONDS", "1000")];
    let mut service = Service::start(folder.path(), &settings);
    let worlds: Vec<String> = (0..400).map(|_| service.make(&scene())).collect();
    service.tell(&format!("{}/step", worlds[7]), &json!({ "steps": 30 }));
    let hash = service.hash(&worlds[7]);
    // One has steps to repeat, for as long as they took: the service is not ready before.
    let long = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    service.tell(&format!("{long}/step"), &json!({ "steps": 1_000_000, "timeout": 3 }));
    service.kill();
    let mut command = command(folder.path(), &settings);
    command.args(["--backend", "cpu"]);
    let service = Service::listen(command);
    let start = Instant::now();
    assert_eq!(service.get("/health/live").unwrap().status, 200);
    let (mut unready, mut starting) = (0, 0);
    loop {
        let ready = service.get("/health/ready").unwrap();
        let last = service.get(&worlds[399]).unwrap();
        if last.status != 200 {
            assert_eq!((last.status, &last.json()["type"]), (503, &json!("urn:drystone:starting")), "{last:?}");
            assert!(last.header("retry-after").is_some());
            starting += 1;
        }
        if ready.status == 200 {
            break;
        }
        unready += 1;
        assert!(start.elapsed() < Duration::from_mins(1));
    }
    eprintln!("400 worlds: ready after {:?}, {unready} times not ready, {starting} times starting", start.elapsed());
    assert!(unready > 0, "it was asked before it was ready");
    assert_eq!(service.hash(&worlds[7]), hash);
    let listed = service.ask("/v1/worlds?limit=1000");
    let listed = listed["worlds"].as_array().unwrap();
    assert_eq!(listed.len(), 401);
    assert!(listed.iter().all(|world| world["state"] == "paused"));
    assert_eq!(listed.iter().filter(|world| world["step"] == 30).count(), 1);
}
