//! Elastic energy: with it, the total energy of an undamped oscillation is constant.

use std::f64::consts::TAU;

use drystone::{Body, Joint, JointKind, Scene, Spring};

use crate::common::{Backend, between, near};
use crate::joints::{block, point, world};

on_every_backend!(a_weight_on_a_spring_keeps_its_energy, every_spring_returns_its_energy);

/// Length of a substep, s.
const H: f64 = 1.0 / 240.0;

/// A kilogram released at the rest length of a spring of 40 N/m oscillates by `m g / k` = 0.25 m about its equilibrium.
/// Symplectic Euler conserves `E − ½ h k y v` exactly, with `y` from the equilibrium: so `E` is off by `½ h k · A² ω /
/// 2` at most, 0.016 J of 1.25 J. Kinetic and potential energy alone vary by `2 m² g² / k` = 5 J.
fn a_weight_on_a_spring_keeps_its_energy(backend: Backend) {
    let (g, k) = (10.0_f64, 40.0_f64);
    let mut scene = world(10.0);
    let body = scene.add(point(0.0, -2.0));
    scene.join(Joint::to_world(JointKind::Spring { rest_length: Some(2.0), stiffness: 40.0, damping: 0.0 }, body));
    let mut sim = backend.start(&scene);
    let first = sim.metrics();
    near("elastic at the rest length", first.elastic_energy, 0.0, 1e-9);
    near("total at the start", first.total_energy, -20.0, 1e-6);
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    let seconds = if backend == Backend::Gpu { 1 } else { 10 };
    for _ in 0..60 * seconds {
        let found = sim.advance(1).metrics();
        let body = sim.body(0);
        let (y, v) = (f64::from(body.position[1]) + 2.0 + g / k, f64::from(body.velocity[1]));
        near("elastic", found.elastic_energy, 0.5 * k * (g / k - y).powi(2), 1e-4);
        near("what the scheme keeps", found.total_energy - 0.5 * H * k * y * v, -20.0, 1e-3);
        near("total", found.total_energy, -20.0, 0.5 * H * k * (g / k).powi(2) * k.sqrt() / 2.0 + 1e-3);
        let without = found.kinetic_energy + found.potential_energy;
        (low, high) = (low.min(without), high.max(without));
    }
    near("swing of kinetic and potential energy alone", high - low, 2.0 * g * g / k, 0.02);
}

/// Returns weightless scenes in which a spring of 1 Hz is stretched: a description, the scene, and its initial energy.
fn drawn() -> Vec<(&'static str, Scene, f64)> {
    let square = TAU * TAU;
    let soft = Spring { hertz: 1.0, damping_ratio: 0.0, target: 0.0 };
    let spring = Some(soft);
    #[allow(clippy::cast_possible_truncation, reason = "a spring's figures")]
    let (stiffness, weak) = (square as f32, (0.1 * square) as f32);
    let one = |body: Body, joint: &dyn Fn(usize) -> Joint| {
        let mut scene = world(0.0);
        let body = scene.add(body);
        scene.join(joint(body));
        scene
    };
    let rod = |length| JointKind::Distance { length: Some(length), limits: None, motor: None };
    let hinge = JointKind::Revolute { reference_angle: Some(0.0), limits: None, motor: None, spring };
    let slider =
        JointKind::Prismatic { axis: [1.0, 0.0].into(), reference_angle: None, limits: None, motor: None, spring };
    let wheel = JointKind::wheel([1.0, 0.0], soft);
    let weld = JointKind::Weld { reference_angle: Some(0.0), angular_hertz: None, angular_damping_ratio: None };
    let mouse = |max_force| JointKind::Mouse { target: [0.0, 0.0].into(), max_force };
    let hooke = JointKind::Spring { rest_length: Some(2.0), stiffness, damping: 0.0 };
    let turning = 0.5 * square * 0.25 / 6.0;
    let moving = 0.5 * square * 0.25;
    let mut pair = world(0.0);
    let (left, right) = (pair.add(point(0.0, 0.0)), pair.add(point(1.5, 0.0)));
    pair.join(Joint::new(rod(1.0), left, right).soft(1.0, 0.0));
    vec![
        ("spring", one(point(2.5, 0.0), &|body| Joint::to_world(hooke.clone(), body)), moving),
        ("soft rod", one(point(2.5, 0.0), &|body| Joint::to_world(rod(2.0), body).soft(1.0, 0.0)), moving),
        // Two bodies of one kilogram oscillate like half a kilogram.
        ("soft rod between two bodies", pair, 0.5 * moving),
        ("slider", one(point(0.5, 0.0), &|body| Joint::to_world(slider.clone(), body)), moving),
        ("wheel", one(point(0.5, 0.0), &|body| Joint::to_world(wheel.clone(), body)), moving),
        ("hinge", one(block(0.0, 0.0).angle(0.5), &|body| Joint::to_world(hinge.clone(), body)), turning),
        ("weld, drawn", one(point(0.3, 0.4), &|body| Joint::to_world(weld.clone(), body).soft(1.0, 0.0)), moving),
        (
            "weld, turned",
            one(block(0.0, 0.0).angle(0.5), &|body| Joint::to_world(weld.clone(), body).soft(1.0, 0.0)),
            turning,
        ),
        ("mouse", one(point(0.5, 0.0), &|body| Joint::to_world(mouse(1e3), body).soft(1.0, 0.0)), moving),
        // Beyond a tenth of a metre the force is constant.
        (
            "weak mouse",
            one(point(0.5, 0.0), &|body| Joint::to_world(mouse(weak), body).soft(1.0, 0.0)),
            square * 0.1 * 0.45,
        ),
    ]
}

/// Symplectic Euler is off by ωh/2 of the energy at most, 1.3 %; a weak mouse joint by less.
fn every_spring_returns_its_energy(backend: Backend) {
    for (what, scene, stored) in drawn() {
        let mut sim = backend.start(&scene);
        let first = sim.metrics();
        near(&format!("{what}: at the start"), first.elastic_energy, stored, 1e-4 * stored);
        let mut fastest = 0.0_f64;
        let steps = if backend == Backend::Gpu { 40 } else { 180 };
        for _ in 0..steps {
            let found = sim.advance(1).metrics();
            near(&format!("{what}: total"), found.total_energy, stored, 1.05 * 0.5 * TAU * H * stored);
            fastest = fastest.max(found.kinetic_energy);
        }
        // Negative control: without elastic energy all of it would come from nothing.
        between(&format!("{what}: kinetic energy at most"), fastest, 0.97 * stored, 1.02 * stored);
    }
}

/// A spring stiffer than the solver's limit stores the energy of the limited stiffness; a disabled one stores none.
#[test]
fn stored_energy_matches_the_limited_stiffness() {
    let mut scene = world(0.0);
    let body = scene.add(point(2.001, 0.0));
    let stiff = JointKind::Spring { rest_length: Some(2.0), stiffness: 1e9, damping: 0.0 };
    scene.join(Joint::to_world(stiff, body));
    let felt = 2.0 / (H * H);
    let stretch = f64::from(2.001_f32) - 2.0;
    let found = Backend::Cpu1.start(&scene).metrics().elastic_energy;
    near("a stiff spring", found, 0.5 * felt * stretch * stretch, 1e-4);
    scene.joints[0].enabled = false;
    near("one that is off", Backend::Cpu1.start(&scene).metrics().elastic_energy, 0.0, 0.0);
}
