//! Loads at the start: bodies that rest on each other when a world begins stay where they are and press with their
//! weight, and others begin as without the setting.

use drystone::low_level::CpuWorld;
use drystone::low_level::reference::Reference;
use drystone::low_level::state::hash;
use drystone::{Body, Scene, Shape};

use crate::common::{Backend, Sim, far, moved, near};

on_every_backend!(
    stacks_stay,
    a_pyramid_stays,
    an_arch_stays,
    what_falls_falls,
    a_crowd_begins_without_loads,
    a_restored_start_begins_alike,
);

const GRAVITY: f32 = 10.0;

fn ground(name: &str) -> Scene {
    let mut scene = Scene::new(name).gravity(0.0, -GRAVITY);
    scene.settings.initial_loads = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0)));
    scene
}

/// Twenty boxes on each other; beside them a box under one of 100 times its mass, and a wall of three rows.
fn stacks() -> Scene {
    let mut scene = ground("stacks");
    let mut place = |x: f32, y: f32, density: f32| {
        scene.add(Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5).density(density)));
    };
    for row in 0..20_u8 {
        place(-8.0, 0.5 + f32::from(row), 1.0);
    }
    place(-4.0, 0.5, 1.0);
    place(-4.0, 1.5, 100.0);
    for row in 0..3_u8 {
        for column in 0..4 - row {
            place(2.0 + 0.5 * f32::from(row) + f32::from(column), 0.5 + f32::from(row), 1.0);
        }
    }
    scene
}

/// Relative error of the force on the ground.
fn ground_error(sim: &mut Sim) -> f64 {
    sim.metrics().ground_impulse_ratio.expect("a weight").abs()
}

/// From the first step on nothing moves, and the ground carries the weight of all. Without the setting the heavy box
/// sinks by centimetres, and the ground carries a small part at first.
fn stacks_stay(backend: Backend) {
    let scene = stacks();
    let mut sim = backend.start(&scene);
    sim.advance(1);
    near("force on the ground after a step, relative", ground_error(&mut sim), 0.0, 1e-3);
    near("motion in two seconds", moved(&scene, sim.advance(120)), 0.0, 1e-3);

    let mut unloaded = scene;
    unloaded.settings.initial_loads = false;
    let mut sim = backend.start(&unloaded);
    sim.advance(1);
    far("force on the ground without loads, relative", ground_error(&mut sim), 0.0, 0.3);
    far("motion without loads", moved(&unloaded, sim.advance(120)), 0.0, 0.02);
}

/// The loads of a pyramid are exact: boxes at its sides press on one edge of those below them only.
fn a_pyramid_stays(backend: Backend) {
    let rows = if backend == Backend::Gpu { 24 } else { 60 };
    let mut scene = drystone_scenes::catalogue::build(&format!("large_pyramid:base={rows}")).expect("a scene");
    near("motion in two seconds", moved(&scene, backend.start(&scene).advance(120)), 0.0, 1e-5);
    scene.settings.initial_loads = false;
    far("motion without loads", moved(&scene, backend.start(&scene).advance(120)), 0.0, 0.01);
}

/// A semicircle of eleven stones, of 0.3 of its radius: the thrust is found by sweeps.
fn an_arch_stays(backend: Backend) {
    let mut scene = ground("arch");
    let corner = |radius: f32, stone: u8| {
        let (sin, cos) = (std::f32::consts::PI * f32::from(stone) / 11.0).sin_cos();
        glam::Vec2::new(radius * cos, radius * sin)
    };
    for stone in 0..11 {
        let corners = [corner(3.0, stone), corner(4.0, stone), corner(4.0, stone + 1), corner(3.0, stone + 1)];
        let middle = corners.iter().sum::<glam::Vec2>() / 4.0;
        let outline = corners.map(|corner| corner - middle);
        scene.add(Body::dynamic(middle.x, middle.y).shape(Shape::polygon(outline)));
    }
    near("motion of the arch", moved(&scene, backend.start(&scene).advance(60)), 0.0, 0.01);
    scene.settings.initial_loads = false;
    far("motion without loads", moved(&scene, backend.start(&scene).advance(60)), 0.0, 0.015);
}

/// A pair in the air, a box that moves and one that hangs on a rod are as without the setting, to the last bit.
fn what_falls_falls(backend: Backend) {
    let mut scene = ground("falling");
    for (y, speed) in [(5.0, 0.0), (6.0, 0.0)] {
        scene.add(Body::dynamic(0.0, y).velocity(speed, 0.0).shape(Shape::half_box(0.5, 0.5)));
    }
    scene.add(Body::dynamic(-5.0, 0.5).velocity(3.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    let mut without = scene.clone();
    without.settings.initial_loads = false;
    let [with, without] = [scene, without].map(|scene| backend.start(&scene).advance(30).bodies());
    for (with, without) in with.iter().zip(&without).take(3) {
        assert_eq!((with.position, with.velocity), (without.position, without.velocity));
    }
    near("free fall", f64::from(with[1].velocity[1]), -5.0, 1e-3);
}

/// Bodies in the same place are no heap. To search their pairs for loads would take long, and so they begin as without
/// the setting, to the last bit.
fn a_crowd_begins_without_loads(backend: Backend) {
    let mut scene = ground("crowd");
    for _ in 0..200 {
        scene.add(Body::dynamic(0.0, 0.4).shape(Shape::circle(0.5)));
    }
    let after_a_step = |scene: &Scene| {
        [true, false].map(|loads| {
            let mut scene = scene.clone();
            scene.settings.initial_loads = loads;
            hash(&backend.start(&scene).advance(1).snapshot())
        })
    };
    let [with, without] = after_a_step(&scene);
    assert_eq!(with, without);
    // Negative control: fewer are given loads.
    scene.bodies.truncate(4);
    let [with, without] = after_a_step(&scene);
    assert_ne!(with, without);
}

/// Back at its start, a world begins again with its loads, and so does one into which bodies were put before its first
/// step.
fn a_restored_start_begins_alike(backend: Backend) {
    let scene = stacks();
    let mut sim = backend.start(&scene);
    let start = sim.snapshot();
    sim.advance(5);
    let first = hash(&sim.snapshot());
    sim.world().restore(&start).expect("its own start");
    sim.advance(5);
    assert_eq!(hash(&sim.snapshot()), first);

    let mut parts = scene.clone();
    let last = parts.bodies.pop().expect("a box");
    let mut sim = backend.start(&parts);
    sim.world().add_bodies(&[last]).expect("room");
    sim.advance(60);
    near("motion with a box added before the first step", moved(&scene, &mut sim), 0.0, 1e-3);
}

/// The CPU engine begins as the reference does, on any number of threads.
#[test]
fn the_engine_begins_as_the_reference() {
    let scene = stacks();
    let mut reference = Reference::new(&scene).expect("a scene");
    let mut engines = [1, 3].map(|threads| {
        let engine = CpuWorld::new(&scene).expect("a scene").with_threads(threads).expect("threads");
        engine.with_sharing_from(1)
    });
    for step in 0..10 {
        reference.step();
        for engine in &mut engines {
            engine.step().expect("a step");
            let (one, other) = (reference.tables(), engine.tables());
            assert_eq!((one.poses, one.manifolds), (other.poses, other.manifolds), "step {step}");
        }
    }
}
