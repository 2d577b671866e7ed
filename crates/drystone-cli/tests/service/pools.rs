//! On a device small worlds of one kind step by the same dispatches, with the same results: each reaches the state
//! of a library world that has the device to itself.

use std::path::Path;
use std::time::Duration;

use drystone::low_level::{GpuWorld, state};
use drystone::{AdapterChoice, Body, Context, Shape};
use drystone_scenes::file;
use serde_json::{Value, json};

use crate::client::{Dice, Service};
use crate::connections::figure;
use crate::crash;

fn on_device(store: &Path, settings: &[(&str, &str)]) -> Service {
    Service::on_device(store, &[&[("LIMITS_RATE", "100000")], settings].concat())
}

/// Returns the numbers of steps, of series of dispatches, and of dispatches so far: of one moment, as worlds play.
fn counts(service: &Service) -> [f64; 3] {
    let text = String::from_utf8(service.get("/metrics").unwrap().body).unwrap();
    ["drystone_series_worlds_sum ", "drystone_series_worlds_count ", "drystone_dispatches_total "]
        .map(|name| text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap_or(0.0))
}

fn since(service: &Service, before: [f64; 3]) -> [f64; 3] {
    let now = counts(service);
    [0, 1, 2].map(|at| now[at] - before[at])
}

/// Returns small scenes of one kind, with various sizes and shapes, some with joints, emitters and sleep.
fn scenes(count: u64) -> Vec<Value> {
    let scene = |number: u64| {
        let mut scene = crash::scene();
        scene["name"] = json!(format!("small {number}"));
        let bodies = scene["bodies"].as_array_mut().unwrap();
        for body in 0..3 * number {
            let at = [-4.0 + 1.1 * (body % 8) as f64, 0.5 + 1.05 * (body / 8) as f64 + 0.2 * (number % 5) as f64];
            let shape = match body % 3 {
                0 => json!({ "circle": { "radius": 0.4 } }),
                1 => json!({ "box": { "half": [0.45, 0.4] }, "friction": 0.3 }),
                _ => json!({ "capsule": { "a": [-0.2, 0], "b": [0.2, 0], "radius": 0.25 }, "restitution": 0.3 }),
            };
            bodies.push(json!({ "position": at, "shapes": [shape] }));
        }
        if number % 3 == 1 {
            scene["emitters"] = json!([]);
        }
        if number % 4 == 2 {
            scene["joints"] = json!([]);
        }
        scene["gravity"] = json!([0.1 * number as f64, -9.81]);
        scene
    };
    (0..count).map(scene).collect()
}

/// Returns a scene of turning rods that increasingly obstruct each other: their contacts grow from step to step.
fn rods(count: u32) -> Value {
    let rod = |number: u32| {
        json!({ "position": [0, 0.4 * f64::from(number)], "angular_velocity": 1.5,
            "shapes": [ { "box": { "half": [20, 0.05] } } ] })
    };
    let bodies: Vec<Value> = (0..count).map(rod).collect();
    let settings = json!({ "sleep": true, "events": true, "length_unit": 1 });
    json!({ "version": 1, "name": "rods", "gravity": [0, 0], "settings": settings,
        "bodies": bodies })
}

/// Returns the same world with the device to itself, with the service's settings.
pub fn alone(context: &Context, scene: &Value) -> GpuWorld {
    let mut scene = file::parse(&scene.to_string(), "scene.json").unwrap();
    scene.settings.strict = true;
    GpuWorld::new(context, &scene).unwrap()
}

fn hash(world: &mut GpuWorld) -> String {
    format!("{:016x}", state::hash(&world.snapshot().unwrap()))
}

pub fn device() -> Context {
    Context::new(AdapterChoice::Any).expect("a device, if only a software one")
}

fn play(service: &Service, world: &str) {
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
}

/// Returns the number of steps done by then.
fn pause(service: &Service, world: &str) -> u64 {
    service.tell(&format!("{world}/pause"), &json!({}))["step"].as_u64().unwrap()
}

fn steps_of(service: &Service, world: &str) -> u64 {
    service.ask(world)["step"].as_u64().unwrap()
}

/// Waits for a condition that takes time.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

#[test]
fn small_worlds_share_their_dispatches() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path(), &[]);
    let scenes = scenes(12);
    let largest = service.make(&scenes[11]);
    service.tell(&format!("{largest}/step"), &json!({ "steps": 20 }));
    let before = counts(&service);
    service.tell(&format!("{largest}/step"), &json!({ "steps": 40 }));
    let [steps, series, dispatches] = since(&service, before);
    assert_eq!([steps, series], [40.0, 40.0]);
    let of_one = dispatches / series;
    assert!(of_one > 20.0, "{of_one}");

    let worlds: Vec<_> = scenes.iter().map(|scene| service.make(scene)).collect();
    for world in &worlds {
        play(&service, world);
    }
    until("all of them step", || worlds.iter().all(|world| steps_of(&service, world) > 12));
    let before = counts(&service);
    until("they step together", || since(&service, before)[1] > 25.0);
    let [steps, series, dispatches] = since(&service, before);
    assert!(steps / series > 5.0, "{} worlds a series", steps / series);
    // Worlds an odd number of steps apart cost one more, and stages that only some need run for all.
    assert!(dispatches / series < 1.3 * of_one, "{} a series, {of_one} for the largest alone", dispatches / series);

    let context = device();
    let done: Vec<u64> = worlds.iter().map(|world| pause(&service, world)).collect();
    for ((world, scene), steps) in worlds.iter().zip(&scenes).zip(done) {
        let mut twin = alone(&context, scene);
        (0..steps).for_each(|_| twin.step().unwrap());
        assert_eq!(service.hash(world), hash(&mut twin), "{} after {steps} steps", scene["name"]);
    }
}

/// Negative control: without pools every step of every world has its own dispatches.
#[test]
fn without_pools_nobody_shares() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path(), &[("POOLS", "false")]);
    let worlds: Vec<_> = scenes(4).iter().map(|scene| service.make(scene)).collect();
    for world in &worlds {
        play(&service, world);
    }
    until("all of them step", || worlds.iter().all(|world| steps_of(&service, world) > 20));
    // A playing world is counted in a series before its step is.
    for world in &worlds {
        pause(&service, world);
    }
    let [steps, series, _] = counts(&service);
    assert_eq!(steps, series);
}

/// Worlds are created, deleted and read while others step.
#[test]
fn worlds_come_and_go_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path(), &[]);
    let context = device();
    let scenes = scenes(9);
    let staying: Vec<_> = scenes[..4].iter().map(|scene| service.make(scene)).collect();
    for world in &staying {
        service.tell(&format!("{world}/play"), &json!({ "speed": 0.5 }));
    }
    let mut dice = Dice::new(5);
    for round in 0..3 {
        // More than the initial batch slots, and again in those that have become free.
        let coming: Vec<_> = scenes[4..].iter().map(|scene| (service.make(scene), alone(&context, scene))).collect();
        for (world, mut twin) in coming {
            let steps = 1 + dice.below(12);
            let push = json!({ "impulse": { "body": "c", "impulse": [2, 1 + round] } });
            service.tell(&format!("{world}/commands"), &json!({ "commands": [push] }));
            let impulse = drystone::Command::Impulse { impulse: [2.0, 1.0 + round as f32].into(), point: None };
            twin.command(3, impulse).unwrap();
            service.tell(&format!("{world}/step"), &json!({ "steps": steps }));
            (0..steps).for_each(|_| twin.step().unwrap());
            assert_eq!(service.hash(&world), hash(&mut twin), "{steps} steps in round {round}");
            assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
        }
    }
    let done: Vec<u64> = staying.iter().map(|world| pause(&service, world)).collect();
    for ((world, scene), steps) in staying.iter().zip(&scenes).zip(done) {
        let mut twin = alone(&context, scene);
        (0..steps).for_each(|_| twin.step().unwrap());
        assert_eq!(service.hash(world), hash(&mut twin), "{} after {steps} steps", scene["name"]);
        // Negative control: another push and one more step are another state.
        twin.command(3, drystone::Command::Impulse { impulse: [1.0, 2.0].into(), point: None }).unwrap();
        twin.step().unwrap();
        assert_ne!(service.hash(world), hash(&mut twin));
    }
}

/// A world that outgrows its pool, by contacts or by added bodies, continues outside of it.
#[test]
fn who_grows_moves_out_and_nobody_notices() {
    let folder = tempfile::tempdir().unwrap();
    let service = on_device(folder.path(), &[]);
    let context = device();
    let small = &scenes(3)[2];
    let beside = service.make(small);
    service.tell(&format!("{beside}/play"), &json!({ "speed": 0.5 }));
    let moved = || figure(&service, "drystone_worlds_outgrown_total");

    let turning = service.make(&rods(70));
    let answer = service.tell(&format!("{turning}/step"), &json!({ "steps": 40 }));
    assert_eq!((&answer["step"], moved()), (&json!(40), 1.0));
    let mut twin = alone(&context, &rods(70));
    (0..40).for_each(|_| twin.step().unwrap());
    assert_eq!(service.hash(&turning), hash(&mut twin));

    let crowded = service.make(&rods(4));
    let mut twin = alone(&context, &rods(4));
    let most = 500;
    let bodies =
        |from: u32, to: u32| (from..to).map(|number| [1.5 * f64::from(number % 30), 3.0 + f64::from(number / 30)]);
    for (from, to) in [(0, most), (most, most + 20)] {
        assert_eq!(moved(), 1.0, "{from} more are not too many");
        let shape = json!({ "circle": { "radius": 0.3 } });
        let spawned: Vec<Value> = bodies(from, to).map(|at| json!({ "position": at, "shapes": [shape] })).collect();
        service.tell(&format!("{crowded}/commands"), &json!({ "commands": [ { "spawn": { "bodies": spawned } } ] }));
        let built: Vec<Body> =
            bodies(from, to).map(|[x, y]| Body::dynamic(x as f32, y as f32).shape(Shape::circle(0.3))).collect();
        twin.add_bodies(&built).unwrap();
        service.tell(&format!("{crowded}/step"), &json!({ "steps": 5 }));
        (0..5).for_each(|_| twin.step().unwrap());
        assert_eq!(service.hash(&crowded), hash(&mut twin), "with {to} more");
    }
    assert_eq!(moved(), 2.0);

    let steps = pause(&service, &beside);
    let mut twin = alone(&context, small);
    (0..steps).for_each(|_| twin.step().unwrap());
    assert_eq!(service.hash(&beside), hash(&mut twin));
    // Negative control: a world that stays small stays in its pool.
    let few = service.make(&rods(10));
    service.tell(&format!("{few}/step"), &json!({ "steps": 40 }));
    assert_eq!(moved(), 2.0);
}

/// A pooled world, in any batch slot and beside any others, is reproduced from its log: after `kill -9` in another
/// pool, in a service without pools, and when a world that had left its pool is reopened small.
#[test]
fn killed_in_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.05")];
    let mut service = on_device(folder.path(), &settings);
    let context = device();
    let mut scenes = scenes(6);
    scenes.push(rods(70));
    let worlds: Vec<_> = scenes.iter().map(|scene| service.make(scene)).collect();
    let mut twins: Vec<_> = scenes.iter().map(|scene| alone(&context, scene)).collect();
    let mut dice = Dice::new(23);
    let push = |dice: &mut Dice| [3.0 * dice.unit() as f32, 4.0 * dice.unit() as f32];
    for round in 0..3 {
        // All at the same time, so that they share time slices.
        let told: Vec<_> = worlds.iter().map(|_| (push(&mut dice), 1 + dice.below(15))).collect();
        std::thread::scope(|scope| {
            for (world, (impulse, steps)) in worlds.iter().zip(&told) {
                let service = &service;
                scope.spawn(move || {
                    let push = json!({ "impulse": { "body": 1, "impulse": impulse } });
                    service.tell(&format!("{world}/commands"), &json!({ "commands": [push] }));
                    service.tell(&format!("{world}/step"), &json!({ "steps": steps }));
                });
            }
        });
        let small = |number: usize| number < 6;
        for (number, (twin, &(impulse, steps))) in twins.iter_mut().zip(&told).enumerate() {
            // The fixed body in the scenes of boxes is their ground, body 0.
            assert!(small(number) || twin.compiled().bodies.len() == 70);
            twin.command(1, drystone::Command::Impulse { impulse: impulse.into(), point: None }).unwrap();
            (0..steps).for_each(|_| twin.step().unwrap());
        }
        service.kill();
        let pools = if round == 1 { "false" } else { "true" };
        service = on_device(folder.path(), &[settings[0], ("POOLS", pools)]);
        let pairs = worlds.iter().zip(&mut twins);
        let differ: Vec<bool> = pairs.map(|(world, twin)| service.hash(world) != hash(twin)).collect();
        assert!(!differ.contains(&true), "round {round}: {differ:?}");
    }
    // Negative control: another push is another state.
    let push = json!({ "impulse": { "body": 1, "impulse": [1, 1] } });
    service.tell(&format!("{}/commands", worlds[0]), &json!({ "commands": [push] }));
    service.tell(&format!("{}/step", worlds[0]), &json!({ "steps": 1 }));
    twins[0].step().unwrap();
    assert_ne!(service.hash(&worlds[0]), hash(&mut twins[0]));
}
