//! Mass scaling: squeezed bodies carry what they must, press with their true weight, and are bodies of true mass where
//! nothing squeezes them.

use drystone::low_level::types::MASS_MASK;
use drystone::{Body, Scene, Shape};
use glam::DVec2;

use crate::common::{Backend, Sim, between, far, near};

on_every_backend!(
    a_light_box_carries_a_thousand_times_its_mass,
    forces_at_rest_are_those_of_true_masses,
    what_meets_keeps_its_momentum,
    an_impact_on_a_row_hardly_changes_momentum,
    a_heap_of_many_sizes_stays_apart,
);

fn ground(name: &str) -> Scene {
    let mut scene = Scene::new(name);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0)));
    scene
}

/// Number of bodies that count with more than their mass.
fn scaled(sim: &mut Sim) -> usize {
    sim.snapshot().states.iter().filter(|state| state.status & MASS_MASK != 0).count()
}

fn momentum(sim: &mut Sim) -> DVec2 {
    sim.metrics().momentum.into()
}

/// A box of 1,000 times the mass, dropped by 5 cm, stands on a light one. Without the setting it slides off.
fn a_light_box_carries_a_thousand_times_its_mass(backend: Backend) {
    let mut scene = ground("a thousand times");
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene.add(Body::dynamic(0.0, 1.55).shape(Shape::half_box(0.5, 0.5).density(1_000.0)));
    let mut sim = backend.start(&scene);
    near("height of the heavy box", sim.advance(300).body(2).position[1], 1.5, 0.01);
    near("overlap", sim.metrics().max_penetration, 0.0, 0.01);
    near("its speed", sim.metrics().max_speed, 0.0, 1e-3);

    scene.settings.mass_scaling = false;
    far("height without the setting", backend.start(&scene).advance(300).body(2).position[1], 1.5, 0.2);
}

/// A stack of 30 boxes that begins without loads: its lower half is scaled, and the ground carries the weight of all.
fn forces_at_rest_are_those_of_true_masses(backend: Backend) {
    let mut scene = ground("stack");
    for row in 0..30_u8 {
        scene.add(Body::dynamic(0.0, 0.5 + f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
    }
    scene.settings.initial_loads = false;
    let mut sim = backend.start(&scene);
    sim.advance(600);
    between("scaled bodies", scaled(&mut sim) as f64, 10.0, 25.0);
    near("force on the ground, relative error", sim.metrics().ground_impulse_ratio.expect("a weight"), 0.0, 1e-3);
    // Control: without the setting none is scaled.
    scene.settings.mass_scaling = false;
    assert_eq!(scaled(backend.start(&scene).advance(600)), 0);
}

/// Two boxes meet in flight, one of 200 times the mass.
fn what_meets_keeps_its_momentum(backend: Backend) {
    let mut scene = Scene::new("two").gravity(0.0, 0.0);
    scene.add(Body::dynamic(-2.0, 0.1).velocity(8.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    scene.add(Body::dynamic(0.0, 0.0).velocity(-0.5, 0.0).shape(Shape::half_box(0.5, 0.5).density(200.0)));
    let mut sim = backend.start(&scene);
    let before = momentum(&mut sim);
    let speed = sim.body(0).velocity[0];
    let after = momentum(sim.advance(60));
    far("speed of the light box", sim.body(0).velocity[0], f64::from(speed), 1.0);
    near("momentum, kg m/s", (after - before).length(), 0.0, 1e-4 * before.length());
    assert_eq!(scaled(&mut sim), 0);
}

/// A box flies into a row of eleven, which is squeezed for some steps. Without gravity that is no load.
fn an_impact_on_a_row_hardly_changes_momentum(backend: Backend) {
    let mut scene = Scene::new("row").gravity(0.0, 0.0);
    scene.add(Body::dynamic(-3.0, 0.0).velocity(10.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    for place in 0..11_u8 {
        scene.add(Body::dynamic(f32::from(place), 0.0).shape(Shape::half_box(0.5, 0.5)));
    }
    let change = |scene: &Scene| {
        let mut sim = backend.start(scene);
        let before = momentum(&mut sim);
        (momentum(sim.advance(120)) - before).length() / before.length()
    };
    near("relative change of momentum", change(&scene), 0.0, 3e-4);
    scene.settings.mass_scaling = false;
    near("without the setting", change(&scene), 0.0, 1e-5);
}

/// Stones of 0.25 to 2 m fall into a bin: no overlap is deeper than 2 cm. Without the setting small ones are
/// pressed into large ones.
fn a_heap_of_many_sizes_stays_apart(backend: Backend) {
    let mut scene = drystone_scenes::catalogue::build("mixed_sizes:bodies=300").expect("a scene");
    let deepest = |scene: &Scene| backend.start(scene).advance(600).metrics().max_penetration;
    near("deepest overlap", deepest(&scene), 0.0, 0.02);
    if backend == Backend::Cpu1 {
        scene.settings.mass_scaling = false;
        far("without the setting", deepest(&scene), 0.0, 0.03);
    }
}
