//! Worlds that are changed while they run.

use std::ops::Range;

use super::{alone, hash_of, on_all};
use drystone::low_level::Journal;
use drystone::{Body, Scene, Shape, World};

/// Runs some steps of a world, with changes before some of them, which it adds to the journal.
pub type Drive = fn(&mut World, Range<usize>, &mut Journal);

/// Returns a wide floor whose surface is at 0.
pub fn floor() -> Scene {
    let mut scene = Scene::new("floor").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(50.0, 0.5)));
    scene
}

pub fn advance(world: &mut World, steps: usize) {
    (0..steps).for_each(|_| world.step().unwrap());
}

/// Runs with changes repeat, continue from a snapshot taken before step `middle`, and from bytes with a journal;
/// threads do not matter.
pub fn assert_repeats(scene: &Scene, middle: usize, end: usize, drive: Drive) {
    let mut hashes = Vec::new();
    for (name, mut world) in on_all(scene) {
        let name = format!("{name}, sleep {}", scene.settings.sleep);
        let mut journal = Journal::default();
        drive(&mut world, 0..middle, &mut journal);
        let (snapshot, bytes) = (world.snapshot().unwrap(), world.save().unwrap());
        let early = journal.clone();
        drive(&mut world, middle..end, &mut journal);
        let last = hash_of(&mut world);
        assert_eq!(world.bodies().count(), scene.bodies.len(), "{name}");
        world.restore(&snapshot).unwrap();
        drive(&mut world, middle..end, &mut Journal::default());
        assert_eq!(hash_of(&mut world), last, "{name}: from a snapshot");
        let mut fresh = alone(if matches!(world, World::Cpu(_)) { "cpu" } else { "gpu" }, scene);
        assert!(fresh.load(&bytes).is_err(), "{name}: bytes of another population");
        fresh.load_with(&bytes, &early).unwrap();
        drive(&mut fresh, middle..end, &mut Journal::default());
        assert_eq!(hash_of(&mut fresh), last, "{name}: from bytes");
        hashes.push((name, last));
    }
    assert_eq!(hashes[0].1, hashes[1].1, "{hashes:?}");
}

/// After 40 steps with changes the device has the bodies at most `within` from where the CPU has them, m. Without the
/// changes one is further than `moved` from there, m.
pub fn assert_device_follows(scene: &Scene, within: f32, moved: f32, drive: Drive) {
    let places = |world: &World| world.bodies().map(|id| world.body(id).unwrap().position()).collect::<Vec<_>>();
    let ends: Vec<_> = on_all(scene)
        .into_iter()
        .map(|(_, mut world)| {
            drive(&mut world, 0..40, &mut Journal::default());
            places(&world)
        })
        .collect();
    let farthest = |others: &[glam::Vec2]| ends[0].iter().zip(others).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    let apart = farthest(&ends[2]);
    assert!(apart < within, "{apart} m apart");
    let mut still = alone("cpu", scene);
    advance(&mut still, 40);
    let found = farthest(&places(&still));
    assert!(found > moved, "{found} m, and {apart} m apart");
}
