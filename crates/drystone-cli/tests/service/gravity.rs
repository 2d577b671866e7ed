//! Gravity set while a world runs is durable, belongs to one world, and is the same after a restart.

use drystone::World;
use serde_json::{Value, json};

use crate::client::Service;
use crate::crash::scene;
use crate::pools::{alone, device};
use crate::requests::hash;

fn set(gravity: &Value) -> Value {
    json!({ "commands": [ { "gravity": gravity } ] })
}

#[test]
fn gravity_is_durable() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut service = Service::start(folder.path(), &[]);
    let twin = Service::start(calm.path(), &[]);
    let (world, other, plain) = (service.make(&scene()), twin.make(&scene()), twin.make(&scene()));
    for (service, world) in [(&service, &world), (&twin, &other), (&twin, &plain)] {
        assert_eq!(service.ask(world)["gravity"].to_string(), "[0.0,-9.8100004196167]");
        service.step(world, 200);
    }
    let side = set(&json!({ "gravity": [4, -1.5] }));
    for (service, world) in [(&service, &world), (&twin, &other)] {
        service.tell(&format!("{world}/commands"), &side);
        assert_eq!(service.ask(world)["gravity"], json!([4.0, -1.5]));
    }
    // From the log.
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(service.ask(&world)["gravity"], json!([4.0, -1.5]));
    let now = service.step(&world, 60);
    assert_eq!(now, twin.step(&other, 60));
    assert_ne!(now, twin.step(&plain, 60), "what sleeps or stands goes to the side");
    // From a checkpoint, without replay.
    let keep = json!({ "name": "aside" });
    service.tell(&format!("{world}/checkpoint"), &keep);
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    assert_eq!((service.hash(&world), service.ask(&world)["gravity"].clone()), (now.clone(), json!([4.0, -1.5])));
    assert_eq!(service.step(&world, 30), twin.step(&other, 30));

    // As in the scene again; named checkpoints have their own gravity.
    for (service, world) in [(&service, &world), (&twin, &other)] {
        service.tell(&format!("{world}/commands"), &set(&json!({})));
        assert_eq!(service.ask(world)["gravity"].to_string(), "[0.0,-9.8100004196167]");
    }
    assert_eq!(service.step(&world, 30), twin.step(&other, 30));
    service.tell(&format!("{world}/restore"), &json!({ "name": "aside" }));
    assert_eq!((service.hash(&world), service.ask(&world)["gravity"].clone()), (now, json!([4.0, -1.5])));
}

#[test]
fn gravity_out_of_range_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&scene());
    for (gravity, path) in [
        (json!([0, 1e16]), "commands[0].gravity.gravity[1]"),
        (json!([-1e39, 0]), "commands[0].gravity.gravity[0]"),
        (json!([0]), "commands[0].gravity.gravity"),
        (json!("down"), "commands[0].gravity.gravity"),
    ] {
        let answer = service.post(&format!("{world}/commands"), &set(&json!({ "gravity": gravity }))).unwrap();
        let problem = answer.json();
        assert_eq!((answer.status, problem["path"].as_str()), (422, Some(path)), "{problem}");
    }
    let answer = service.post(&format!("{world}/commands"), &set(&json!({ "body": 1 }))).unwrap();
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(service.ask(&world)["gravity"].to_string(), "[0.0,-9.8100004196167]");
}

/// Worlds that share dispatches on a device each have their own gravity.
#[test]
fn gravity_of_one_world_of_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::on_device(folder.path(), &[]);
    let context = device();
    let worlds = [service.make(&scene()), service.make(&scene())];
    let mut alone: [World; 2] = std::array::from_fn(|_| alone(&context, &scene()).into());
    for round in 0..2 {
        if round == 1 {
            service.tell(&format!("{}/commands", worlds[0]), &set(&json!({ "gravity": [5, 2] })));
            alone[0].set_gravity(glam::Vec2::new(5.0, 2.0)).unwrap();
        }
        std::thread::scope(|scope| {
            for world in &worlds {
                scope.spawn(|| service.step(world, 20));
            }
        });
        for (world, alone) in worlds.iter().zip(&mut alone) {
            for _ in 0..20 {
                alone.step().unwrap();
            }
            assert_eq!(service.hash(world), hash(alone), "round {round}, {world}");
        }
    }
    assert_ne!(service.hash(&worlds[0]), service.hash(&worlds[1]));
}
