//! Small worlds on a device share time slices without any effect on their results.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Service;
use crate::crash::scene;

fn on_device(store: &Path) -> Service {
    Service::on_device(store, &[("LIMITS_RATE", "100000")])
}

/// Returns the numbers of steps and of submissions so far.
fn submitted(service: &Service) -> [f64; 2] {
    let text = String::from_utf8(service.get("/metrics").unwrap().body).unwrap();
    ["sum", "count"].map(|what| {
        let name = format!("drystone_batch_worlds_{what} ");
        text.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0.0)
    })
}

fn since(service: &Service, before: [f64; 2]) -> [f64; 2] {
    let now = submitted(service);
    [now[0] - before[0], now[1] - before[1]]
}

/// Returns scenes with nothing in common (contacts, joints, sleep, events, emitters), and some with everything.
fn scenes() -> Vec<(Value, Value)> {
    let of = |name: &str| json!({ "scene": name });
    vec![
        (scene(), json!("c")),
        (of("large_pyramid:base=3"), json!(2)),
        (of("large_pyramid:base=3"), json!(2)),
        (of("card_house"), json!(3)),
        (of("rod_chain"), json!(2)),
        (scene(), json!("a")),
    ]
}

/// Runs a client's script on one world. Returns all answers.
fn script(service: &Service, world: &str, body: &Value) -> Vec<Value> {
    let mut told = Vec::new();
    for round in 0..4 {
        told.push(service.tell(&format!("{world}/step"), &json!({ "steps": 15 })));
        let push = json!({ "impulse": { "body": body, "impulse": [0.5 - f64::from(round % 2), 0.4] } });
        told.push(service.tell(&format!("{world}/commands"), &json!({ "commands": [push] })));
    }
    told.push(json!(service.hash(world)));
    told
}

#[test]
fn small_worlds_step_together() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path());
    let before = submitted(&service);
    let alone: Vec<_> = scenes().iter().map(|(scene, body)| script(&service, &service.make(scene), body)).collect();
    // Negative control: one after the other, each has its own submissions.
    let [steps, submissions] = since(&service, before);
    assert_eq!(steps, submissions);
    assert!(submissions > 100.0, "{submissions}");

    let worlds: Vec<_> = scenes().into_iter().map(|(scene, body)| (service.make(&scene), body)).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let service = &service;
        let clients: Vec<_> =
            worlds.iter().map(|(world, body)| scope.spawn(move || script(service, world, body))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(together, alone, "the same answers, and the same bits");

    // How often the time slices coincide depends on the machine, so quick worlds play until they do.
    let before = submitted(&service);
    let ball = json!({ "scene": "bouncing_ball" });
    let worlds: Vec<_> = (0..4).map(|_| service.make(&ball)).collect();
    for world in &worlds {
        service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    }
    let met = (0..3000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let [steps, submissions] = since(&service, before);
        steps >= submissions + 20.0
    });
    assert!(met, "{:?}", since(&service, before));
    for world in &worlds {
        service.tell(&format!("{world}/pause"), &json!({}));
        let twin = service.make(&ball);
        service.tell(&format!("{twin}/step"), &json!({ "steps": service.ask(world)["step"] }));
        assert_eq!(service.hash(world), service.hash(&twin));
    }
}

/// Beside a world that uses all the time it gets, a small one has half of the device: time is shared, not the number
/// of steps.
#[test]
fn a_large_world_leaves_a_small_one_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path());
    let small = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let large = service.make(&json!({ "scene": "large_pyramid:base=150" }));
    service.tell(&format!("{small}/step"), &json!({ "steps": 5 }));
    service.tell(&format!("{large}/play"), &json!({ "speed": "max" }));
    let steps = || service.ask(&large)["step"].as_u64().unwrap();
    while steps() < 3 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = steps();
    service.tell(&format!("{small}/step"), &json!({ "steps": 300 }));
    let meanwhile = steps() - before;
    // With alternating steps there would be one per few; by time a large step leaves room for hundreds of small
    // ones.
    assert!(meanwhile <= 30, "{meanwhile} large steps in the time of 300 small ones");
}
