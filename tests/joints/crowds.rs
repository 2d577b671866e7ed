//! Many joints: chains, bridges, hubs.

use drystone::{Body, Joint, JointKind, Motor, Scene, Shape};

use crate::common::{Backend, Sim, between, near};
use crate::joints::{block, point, world};

on_every_backend!(
    a_hub_of_forty_holds_them_all,
    a_bridge_stands,
    a_light_chain_holds_a_heavy_ball,
    a_taut_chain_makes_no_energy
);

fn worst_gap(sim: &mut Sim) -> f64 {
    sim.joints().iter().map(|joint| f64::from(joint.between[0].hypot(joint.between[1]))).fold(0.0, f64::max)
}

/// Forty joints on one body: more than there are colors, so that nine go to the overflow.
fn a_hub_of_forty_holds_them_all(backend: Backend) {
    let mut scene = world(10.0);
    let mut hub = Body::dynamic(0.0, 0.0).shape(Shape::circle(1.0));
    hub.mass = Some(40.0);
    let hub = scene.add(hub);
    scene.join(Joint::to_world(JointKind::weld(), hub));
    for index in 0_u8..40 {
        let (sin, cos) = (f32::from(index) * 0.157).sin_cos();
        let arm = scene.add(point(2.0 * cos, 2.0 * sin));
        scene.join(Joint::new(JointKind::hinge(), hub, arm).anchors([2.0 * cos, 2.0 * sin], [0.0, 0.0]));
    }
    let mut sim = backend.start(&scene);
    sim.advance(300);
    between("gap", worst_gap(&mut sim), 0.0, 0.01);
    near("weight", sim.joints()[0].force[1], 800.0, 4.0);
}

/// Returns 160 planks of 0.5 m between two banks, with a ball on them.
pub fn bridge(planks: u8) -> Scene {
    let mut scene = world(10.0);
    let mut last = None;
    for index in 0..planks {
        let plank =
            Body::dynamic(0.5 * f32::from(index) + 0.25, 0.0).shape(Shape::half_box(0.25, 0.0625).density(20.0));
        let plank = scene.add(plank);
        let joint = last
            .map_or_else(|| Joint::to_world(JointKind::hinge(), plank), |a| Joint::new(JointKind::hinge(), a, plank));
        scene.join(joint.anchors([if last.is_some() { 0.25 } else { 0.0 }, 0.0], [-0.25, 0.0]));
        last = Some(plank);
    }
    let end = 0.5 * f32::from(planks);
    if let Some(last) = last {
        scene.join(Joint::to_world(JointKind::hinge(), last).anchors([end, 0.0], [0.25, 0.0]));
    }
    scene.add(Body::dynamic(0.5 * end, 1.0).shape(Shape::circle(0.5)));
    scene
}

/// In 20 s no gap is wider than Box2D's, 63 mm, by more than a thirtieth.
fn a_bridge_stands(backend: Backend) {
    let mut sim = backend.start(&bridge(160));
    let steps = if backend == Backend::Gpu { 120 } else { 1200 };
    let gap = (0..steps).map(|_| worst_gap(sim.advance(1))).fold(0.0, f64::max);
    println!("gap {gap} m, {:?}", sim.metrics());
    between("gap", gap, 0.0, 0.065);
}

/// Ten links of 1 kg carry 400 kg.
fn a_light_chain_holds_a_heavy_ball(backend: Backend) {
    let mut scene = world(10.0);
    let mut last = None;
    for index in 0_u8..10 {
        let link = scene.add(block(0.0, -f32::from(index) - 0.5));
        let joint =
            last.map_or_else(|| Joint::to_world(JointKind::hinge(), link), |a| Joint::new(JointKind::hinge(), a, link));
        scene.join(joint.anchors([0.0, if last.is_some() { -0.5 } else { 0.0 }], [0.0, 0.5]));
        last = Some(link);
    }
    let mut ball = Body::dynamic(0.0, -11.0).shape(Shape::circle(1.0));
    ball.mass = Some(400.0);
    let ball = scene.add(ball);
    scene.join(Joint::new(JointKind::hinge(), last.expect("links"), ball).anchors([0.0, -0.5], [0.0, 1.0]));
    let mut sim = backend.start(&scene);
    // It bounces on the elasticity of its joints, so that the load is right on average: over 8 bounces of 1.7 s, with
    // what is left of the first, within 3 %.
    let (mut gap, mut load) = (0.0_f64, 0.0);
    for _ in 0..800 {
        gap = gap.max(worst_gap(sim.advance(1)));
        load += f64::from(sim.joints()[0].force[1]) / 800.0;
    }
    println!("gap {gap} m, ball at {} m of −11, top carries {load} N of 4100", sim.body(ball).position[1]);
    // Box2D's maximum is 109.7 mm too.
    between("gap", gap, 0.0, 0.111);
    near("load at the top", load, 4100.0, 123.0);
}

/// Returns the first fault of a chain of links of 22 kg with a ball of 6,283 kg per metre of radius squared, released
/// from a horizontal position. The energy, which damping only reduces, must not grow; the ball falls by its own length
/// and the chain's at most; the gap must not exceed Box2D's with 4 substeps (366 mm) by more than a hundredth.
fn whips(sim: &mut Sim, steps: usize, height: f64, gap: f64) -> Option<String> {
    let energy = |sim: &mut Sim| {
        let metrics = sim.metrics();
        (metrics.kinetic_energy + metrics.potential_energy, metrics.max_speed)
    };
    let (start, _) = energy(sim);
    for step in 1..=steps {
        let (now, speed) = energy(sim.advance(1));
        let apart = worst_gap(sim);
        if now > start + 1e-6 * start.abs() || speed * speed > 2.0 * 10.0 * height || apart > gap {
            return Some(format!("step {step}: {start} J become {now} J, {speed} m/s, {apart} m apart"));
        }
    }
    None
}

/// Accumulated impulses kept in the world's frame while A is pushed at B's anchor go wrong here within five seconds.
fn a_taut_chain_makes_no_energy(backend: Backend) {
    let mut scene = drystone_scenes::catalogue::build("ball_and_chain:radius=10").expect("a scene");
    assert_eq!(scene.settings.substep_count(), 4);
    let steps = if backend == Backend::Gpu { 400 } else { 1_200 };
    assert_eq!(whips(&mut backend.start(&scene), steps, 50.0, 0.37), None);
    // Negative control: a motor that turns the first link makes energy.
    let motor = Some(Motor { speed: 20.0, max: 1e6 });
    scene.joints[0].kind = JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
    assert_ne!(whips(&mut backend.start(&scene), steps, 50.0, 0.37), None);
}
