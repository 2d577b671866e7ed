//! Explosions and winds that clients command: those of the library, durable, on each kind of world.

use drystone::{Explosion, Wind, World};
use drystone_scenes::file;
use serde_json::{Value, json};

use crate::client::Service;
use crate::crash::scene;
use crate::pools::{alone, device};
use crate::requests::hash;

fn pushes() -> Value {
    json!({ "commands": [
        { "explode": { "position": [0, 0.5], "radius": 3, "impulse_per_length": 4 } },
        { "wind": { "velocity": [12, 1], "wake": true } },
    ] })
}

/// Gives the same to a world of the library. Returns the numbers of impulses.
fn push(world: &mut World) -> [usize; 2] {
    let explosion =
        Explosion { position: (0.0, 0.5).into(), radius: 3.0, impulse_per_length: 4.0, ..Explosion::default() };
    let wind = Wind { velocity: (12.0, 1.0).into(), wake: true, ..Wind::default() };
    [world.explode(&explosion).unwrap(), world.apply_wind(&wind).unwrap()]
}

#[test]
fn explosions_and_winds_are_those_of_the_library_and_durable() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let (world, plain) = (service.make(&scene()), service.make(&scene()));
    let mut library = World::new(&file::parse(&scene().to_string(), "scene.json").unwrap()).unwrap();
    for _ in 0..100 {
        library.step().unwrap();
    }
    assert_eq!(service.step(&world, 100), hash(&mut library));
    let answer = service.tell(&format!("{world}/commands"), &pushes());
    let [exploded, blown] = push(&mut library);
    assert!(exploded > 1 && blown > 1, "{exploded} and {blown} impulses");
    assert_eq!(answer["results"], json!([{ "pushed": exploded }, { "pushed": blown }]), "{answer}");
    // From the log, before the step in which they act.
    service.kill();
    service = Service::start(folder.path(), &[]);
    for _ in 0..60 {
        library.step().unwrap();
    }
    assert_eq!(service.step(&world, 60), hash(&mut library));
    assert_ne!(service.hash(&world), service.step(&plain, 160), "they moved nothing");
}

#[test]
fn explosions_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&scene());
    for (command, part) in [
        (json!({ "explode": { "position": [0, 0], "radius": -1 } }), "the radius"),
        (json!({ "explode": { "radius": 1 } }), "position"),
        (json!({ "explode": { "position": [0, 0], "power": 1 } }), "power"),
        (json!({ "wind": { "velocity": [0, 1e39] } }), "velocity"),
        (json!({ "wind": { "velocity": [1, 0], "density": -1 } }), "the density of the air"),
    ] {
        let answer = service.post(&format!("{world}/commands"), &json!({ "commands": [command] })).unwrap();
        let problem = answer.json();
        let path = problem["path"].as_str().unwrap_or_default();
        assert!(answer.status == 422 && path.starts_with("commands[0]"), "{problem}");
        assert!(problem.to_string().contains(part), "{problem}");
    }
}

/// A world takes a bounded number of impulses between two steps, and says so.
#[test]
fn explosions_do_not_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&scene());
    let many = |count: usize| {
        let one = json!({ "explode": { "position": [0, 1], "radius": 50, "impulse_per_length": 0.001 } });
        json!({ "commands": vec![one; count] })
    };
    let post = |service: &Service, body: &Value| service.post(&format!("{world}/commands"), body).unwrap();
    let refused = post(&service, &many(17));
    assert_eq!((refused.status, refused.json()["path"].as_str()), (422, Some("commands[16]")), "{refused:?}");
    let refused = (0..2_000).map(|_| post(&service, &many(16))).find(|answer| answer.status != 200);
    let problem = refused.expect("impulses have no end").json();
    assert!(problem["detail"].as_str().unwrap().contains("wait for the next step"), "{problem}");
    // The log is replayed to the same commands.
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(post(&service, &many(1)).status, 422);
    service.step(&world, 1);
    assert_eq!(post(&service, &many(16)).status, 200);
}

/// Worlds that share dispatches on a device get their own.
#[test]
fn explosions_in_one_world_of_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::on_device(folder.path(), &[]);
    let context = device();
    let worlds = [service.make(&scene()), service.make(&scene())];
    let mut alone: [World; 2] = std::array::from_fn(|_| alone(&context, &scene()).into());
    service.tell(&format!("{}/commands", worlds[0]), &pushes());
    push(&mut alone[0]);
    for (world, alone) in worlds.iter().zip(&mut alone) {
        (0..20).for_each(|_| alone.step().unwrap());
        assert_eq!(service.step(world, 20), hash(alone), "{world}");
    }
    assert_ne!(service.hash(&worlds[0]), service.hash(&worlds[1]));
}
