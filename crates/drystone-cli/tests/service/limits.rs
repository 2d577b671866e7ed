//! Requests beyond a limit are refused with its name, and requests within it work.

use serde_json::{Value, json};

use crate::client::{Answer, Service};

fn service(settings: &[(&str, &str)]) -> (tempfile::TempDir, Service) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), settings);
    (folder, service)
}

/// Expects a refusal for a limit, with this path and text.
fn beyond(answer: &Answer, path: &str, says: &str) {
    let problem = answer.json();
    assert_eq!((answer.status, &problem["path"]), (422, &json!(path)), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
}

/// Returns a scene of balls in a row, each joined to the previous one.
fn chain(joints: usize) -> Value {
    let ball = |x: usize| json!({ "position": [x, 5], "shapes": [ { "circle": { "radius": 0.3 } } ] });
    let tie = |a: usize| json!({ "type": "distance", "a": a, "b": a + 1, "anchor_a": [0, 0], "anchor_b": [0, 0] });
    let (bodies, joints): (Vec<_>, Vec<_>) = ((0..=joints).map(ball).collect(), (0..joints).map(tie).collect());
    json!({ "version": 1, "bodies": bodies, "joints": joints })
}

#[test]
fn joints_of_a_world() {
    let (_folder, service) = service(&[("LIMITS_JOINTS", "3")]);
    beyond(&service.post("/v1/worlds", &chain(4)).unwrap(), "joints", "at most 3");
    let world = service.make(&chain(2));
    let commands = format!("{world}/commands");
    let join = json!({ "join": { "a": 0, "b": 2, "joint": { "type": "weld" } } });
    let grab = json!({ "mouse": { "pointer": "p", "body": 1, "target": [0, 9] } });
    let both = json!({ "commands": [join, grab] });
    beyond(&service.post(&commands, &both).unwrap(), "commands", "4 joints; at most 3");
    assert_eq!(service.ask(&world)["joints"], 2, "none of them was done");
    service.tell(&commands, &json!({ "commands": [join] }));
    beyond(&service.post(&commands, &json!({ "commands": [grab] })).unwrap(), "commands", "at most 3");
    // One is removed, and another may be added; removing adds none.
    service.tell(&commands, &json!({ "commands": [ { "unjoin": { "joints": [0] } } ] }));
    service.tell(&commands, &json!({ "commands": [grab] }));
    service.tell(&commands, &json!({ "commands": [ { "release": { "pointer": "p" } } ] }));
    assert_eq!(service.ask(&world)["joints"], 2);
}

#[test]
fn queries_of_a_request() {
    let (_folder, service) = service(&[("LIMITS_QUERIES", "2")]);
    let path = format!("{}/query", service.make(&json!({ "scene": "slope" })));
    let ask = |count: usize| json!({ "queries": vec![json!({ "point": { "at": [0, 0] } }); count] });
    beyond(&service.post(&path, &ask(3)).unwrap(), "queries", "at most 2");
    assert_eq!(service.tell(&path, &ask(2))["answers"].as_array().unwrap().len(), 2);
}

#[test]
fn alterations_of_a_world() {
    let (folder, mut service) = service(&[("LIMITS_ALTERATIONS", "4")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let commands = format!("{world}/commands");
    let ball = json!({ "position": [0, 20], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    let spawn = |count: usize| json!({ "commands": [ { "spawn": { "bodies": vec![ball.clone(); count] } } ] });
    beyond(&service.post(&commands, &spawn(5)).unwrap(), "commands", "at run time; at most 4");
    service.tell(&commands, &spawn(2));
    service.tell(&commands, &json!({ "commands": [ { "remove": { "bodies": [1] } } ] }));
    let counted = service.ask(&world)["alterations"].as_u64().unwrap();
    let mut refused = None;
    for _ in counted..=4 {
        let answer = service.post(&commands, &spawn(1)).unwrap();
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    beyond(&refused.expect("the limit is reached"), "commands", "at run time; at most 4");
    // A command that changes nothing does not count, and the world continues; a restart forgets none.
    let push = json!({ "commands": [ { "impulse": { "body": 2, "impulse": [1, 1] } } ] });
    service.tell(&commands, &push);
    service.tell(&format!("{world}/step"), &json!({ "steps": 5 }));
    let hash = service.hash(&world);
    service.kill();
    service = Service::start(folder.path(), &[("LIMITS_ALTERATIONS", "4")]);
    assert_eq!(service.hash(&world), hash);
    beyond(&service.post(&commands, &spawn(1)).unwrap(), "commands", "at run time; at most 4");
}

#[test]
fn checkpoints_of_a_world() {
    let (_folder, service) = service(&[("LIMITS_CHECKPOINTS", "2")]);
    let scene = json!({ "scene": "large_pyramid:base=3" });
    let (world, other) = (service.make(&scene), service.make(&scene));
    let keep =
        |world: &str, name: &str| service.post(&format!("{world}/checkpoint"), &json!({ "name": name })).unwrap();
    for name in ["one", "two"] {
        assert_eq!(keep(&world, name).status, 200);
    }
    let refused = keep(&world, "three");
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.json()["detail"].as_str().unwrap().contains("2 checkpoints already"), "{refused:?}");
    // An existing name is overwritten, another world has its own, and a deleted checkpoint makes room.
    service.tell(&format!("{world}/step"), &json!({ "steps": 5 }));
    assert_eq!(keep(&world, "two").status, 200);
    assert_eq!(keep(&other, "three").status, 200);
    assert_eq!(service.send("DELETE", &format!("{world}/checkpoints/one"), &[], b"").unwrap().status, 204);
    assert_eq!(keep(&world, "three").status, 200);
    assert_eq!(service.ask(&format!("{world}/checkpoints"))["checkpoints"], json!(["three", "two"]));
}

#[test]
fn seconds_for_steps() {
    let (_folder, service) = service(&[("LIMITS_STEP_SECONDS", "3")]);
    let path = format!("{}/step", service.make(&json!({ "scene": "large_pyramid:base=40" })));
    let refused = service.post(&path, &json!({ "timeout": 3.5 })).unwrap();
    beyond(&refused, "timeout", "up to 3");
    // Without a timeout from the client, too.
    let answer = service.tell(&path, &json!({ "steps": 1_000_000 }));
    assert_eq!(answer["stopped"], "the deadline has passed");
    assert!((1..1_000_000).contains(&answer["steps"].as_u64().unwrap()), "{answer}");
    assert_eq!(service.tell(&path, &json!({ "timeout": 3 }))["stopped"], Value::Null);
}
