//! On a device small worlds step together, and none of them can tell.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Service, command};
use crate::crash::scene;

fn on_device(store: &Path) -> Service {
    let mut command = command(store, &[("LIMITS_RATE", "100000")]);
    command.args(["--backend", "gpu"]);
    Service::run(command)
}

/// Steps that were submitted so far, and submissions.
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

/// Worlds that have nothing in common: contacts, joints, sleep, events, emitters; and some that have all.
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

/// What a client does with one, and all that it was told.
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
    // Negative control: one after the other, each has submissions of its own.
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

    // How often they meet depends on the machine, so some that are quick play until they have.
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

/// Beside a world that takes all it gets, a small one has half of the device: its steps are not counted by that one's.
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
    // Turn about it would be one for every few; by time there are some hundred small steps in a large one.
    assert!(meanwhile <= 30, "{meanwhile} large steps in the time of 300 small ones");
}
