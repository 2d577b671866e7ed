//! The command `replace`: a body with another description, and the same id.

use serde_json::{Value, json};

use crate::client::{Service, command};
use crate::page::two_boxes;

/// Two boxes with a rod between them.
fn tied() -> Value {
    let mut scene = two_boxes();
    scene["joints"] =
        json!([ { "type": "distance", "a": "low", "b": "high", "anchor_a": [0, 0], "anchor_b": [0, 0] } ]);
    scene
}

/// Replaces the upper box by a heavier one where it is now, with its joint.
fn heavier(service: &Service, world: &str) {
    let found = service.ask(&format!("{world}/bodies/high"));
    let (mut body, tie) = (found["body"].clone(), &found["joints"][0]);
    body["shapes"][0]["density"] = json!(5);
    let join = json!({ "a": tie["a"], "b": tie["b"], "joint": tie["joint"] });
    let commands = json!([ { "replace": { "body": "high", "with": body } }, { "join": join } ]);
    service.tell(&format!("{world}/commands"), &json!({ "commands": commands }));
}

#[test]
fn a_replaced_body_keeps_its_id() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut service, twin) = (Service::start(folder.path(), &[]), Service::start(calm.path(), &[]));
    let (world, other, plain) = (service.make(&tied()), twin.make(&tied()), twin.make(&tied()));
    for (service, world) in [(&service, &world), (&twin, &other), (&twin, &plain)] {
        service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    }
    let before = service.ask(&format!("{world}/state"))["bodies"][2].clone();
    heavier(&service, &world);
    heavier(&twin, &other);
    let mass = |service: &Service, world: &str| {
        let bodies = service.ask(&format!("{world}/bodies"));
        let high = bodies["bodies"].as_array().unwrap().iter().find(|body| body["name"] == "high").unwrap().clone();
        assert_eq!(high["id"], "2.0", "{high}");
        high["mass"].as_f64().unwrap()
    };
    assert!((mass(&service, &world) - 5.0).abs() < 1e-5);
    let after = service.ask(&format!("{world}/state"))["bodies"][2].clone();
    assert_eq!((&after["position"], &after["id"]), (&before["position"], &json!("2.0")));
    assert_eq!(service.ask(&world)["joints"], 1);
    // From the log, from a checkpoint, and to the same bits as without a crash.
    service.kill();
    service = Service::start(folder.path(), &[]);
    let step = |service: &Service, world: &str| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 40 }));
        service.hash(world)
    };
    assert!((mass(&service, &world) - 5.0).abs() < 1e-5);
    assert_eq!(step(&service, &world), step(&twin, &other));
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    let now = step(&service, &world);
    assert_eq!(now, step(&twin, &other));
    assert_ne!(now, step(&twin, &plain), "the mass counts");
    // As a scene, and rewound to before it.
    let scene = service.ask(&format!("{world}/scene"));
    assert_eq!(scene["bodies"][2]["shapes"][0]["density"], 5.0, "{scene}");
}

#[test]
fn what_cannot_be_replaced_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&tied());
    let first = service.hash(&world);
    let shape = json!([{ "box": { "half": [0.5, 0.5] }, "density": -1 }]);
    for (body, with, path) in [
        ("high", json!({ "shapes": shape }), "commands[0].replace.with.shapes[0].density"),
        ("high", json!({ "shape": 1 }), "commands[0].replace.with.shape"),
        ("high", json!({ "id": "low", "shapes": [{ "box": { "half": [0.5, 0.5] } }] }), "commands[0].replace.with.id"),
        ("highest", json!({ "shapes": [] }), "commands[0].replace.body"),
    ] {
        let commands = json!({ "commands": [ { "replace": { "body": body, "with": with } } ] });
        let answer = service.post(&format!("{world}/commands"), &commands).unwrap();
        let problem = answer.json();
        assert_eq!((answer.status, problem["path"].as_str()), (422, Some(path)), "{problem}");
    }
    // Another kind of shape would need another body.
    let circle = json!({ "shapes": [{ "circle": { "radius": 0.5 } }] });
    let commands = json!({ "commands": [ { "replace": { "body": "high", "with": circle } } ] });
    let answer = service.post(&format!("{world}/commands"), &commands).unwrap();
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!((service.hash(&world), &service.ask(&world)["joints"]), (first, &json!(1)));
}

/// In a pool of small worlds on a device, too; the other worlds of the pool stay as they are.
#[test]
fn a_body_of_a_pool_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), &[]);
    command.args(["--backend", "gpu"]);
    let service = Service::run(command);
    let worlds = [0; 3].map(|_| service.make(&tied()));
    heavier(&service, &worlds[1]);
    let hashes = worlds.each_ref().map(|world| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
        service.hash(world)
    });
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(service.ask(&format!("{}/bodies/high", worlds[1]))["id"], "2.0");
}
