//! Gears: two bodies whose turns are in a ratio.

use std::f32::consts::{PI, TAU};

use drystone::{Joint, JointCommand, JointKind, Mode, Motor, Scene, Shape};

use crate::common::{Backend, Sim, near};
use crate::joints::{block, world};

on_every_backend!(
    a_gear_shares_a_torque,
    turns_keep_their_ratio,
    fast_discs_keep_their_ratio,
    a_row_of_gears_shares_a_torque,
    a_clutch_joins_what_turns,
    a_belt_swings,
    gears_are_added_changed_and_restored,
);

/// Returns two blocks of 1/6 kg·m² on axles, the first with a motor, and a gear between them.
fn pair(kind: JointKind, motor: Option<Motor>) -> Scene {
    let mut scene = world(0.0);
    let (a, b) = (scene.add(block(0.0, 0.0)), scene.add(block(3.0, 0.0).angle(0.4)));
    let axle = JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
    scene.join(Joint::to_world(axle, a));
    scene.join(Joint::to_world(JointKind::hinge(), b).anchors([3.0, 0.0], [0.0, 0.0]));
    scene.join(Joint::new(kind, a, b));
    scene
}

/// Advances by steps, and returns by how much A and B have turned, rad, full turns counted.
fn turned(sim: &mut Sim, steps: usize) -> [f32; 2] {
    let mut sum = [0.0_f64; 2];
    let mut last = [sim.body(0).angle, sim.body(1).angle];
    for _ in 0..steps {
        sim.advance(1);
        for (body, last) in last.iter_mut().enumerate() {
            let now = sim.body(body).angle;
            sum[body] += f64::from((now - *last + PI).rem_euclid(TAU) - PI);
            *last = now;
        }
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let rounded = sum.map(|angle| angle as f32);
    rounded
}

/// 0.5 N·m on A, which B follows at −2: both together have I + 4 I, so A gains 0.6 rad/s², and the gear turns B by
/// 0.2 N·m.
fn a_gear_shares_a_torque(backend: Backend) {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let mut scene = pair(JointKind::Gear { ratio: -2.0 }, Some(Motor { speed: 100.0, max: 0.5 }));
        scene.settings.mode = mode;
        let mut sim = backend.start(&scene);
        sim.advance(60);
        let name = format!("{mode:?}: ");
        near(&(name.clone() + "A"), sim.body(0).angular_velocity, 0.6, 2e-3);
        near(&(name.clone() + "B"), sim.body(1).angular_velocity, -1.2, 4e-3);
        near(&(name + "torque"), sim.joints()[2].torque, -0.2, 2e-3);
    }
}

/// At 30 rad/s for 5 s. The last ratio has no whole number of turns that repeats. Negative control: without the gear B
/// stays.
fn turns_keep_their_ratio(backend: Backend) {
    for (ratio, is_on) in [(-1.0, true), (1.0, true), (-0.713, true), (-0.713, false)] {
        let mut scene = pair(JointKind::Gear { ratio }, Some(Motor { speed: 30.0, max: 100.0 }));
        scene.joints[2].enabled = is_on;
        let [a, b] = turned(&mut backend.start(&scene), 300);
        near("A, after a tenth of a second of start", a, 148.5, 1.0);
        near("B", b, if is_on { f64::from(ratio * a) } else { 0.0 }, 2e-3);
    }
}

/// Only discs come near to half a turn a step: A turns by 3 rad. A turn counted wrongly would show as an angle, which
/// the gear then drives back.
fn fast_discs_keep_their_ratio(backend: Backend) {
    let motor = Some(Motor { speed: 180.0, max: 1e3 });
    let mut scene = pair(JointKind::Gear { ratio: -0.25 }, motor);
    for body in &mut scene.bodies {
        body.shapes = vec![Shape::circle(0.5)];
    }
    let mut sim = backend.start(&scene);
    for _ in 0..6 {
        sim.advance(20);
        near("ahead", sim.joints()[2].angle, 0.0, 2e-3);
    }
    near("A", sim.body(0).angular_velocity, 180.0, 0.1);
    near("B", sim.body(1).angular_velocity, -45.0, 0.1);
    near("the motor rests", sim.joints()[0].torque, 0.0, 0.5);
}

/// Five wheels of one size turn against their neighbours: a motor of 1 N·m on five inertias of 1/6 kg·m².
fn a_row_of_gears_shares_a_torque(backend: Backend) {
    let mut scene = world(0.0);
    let motor = Some(Motor { speed: 100.0, max: 1.0 });
    for index in 0_u8..5 {
        let x = 2.0 * f32::from(index);
        let wheel = scene.add(block(x, 0.0));
        let motor = motor.filter(|_| index == 0);
        let axle = JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
        scene.join(Joint::to_world(axle, wheel).anchors([x, 0.0], [0.0, 0.0]));
        if index > 0 {
            scene.join(Joint::new(JointKind::Gear { ratio: -1.0 }, wheel - 1, wheel));
        }
    }
    let mut sim = backend.start(&scene);
    sim.advance(120);
    for index in 0..5 {
        let sign = if index % 2 == 0 { 1.0 } else { -1.0 };
        near(&format!("wheel {index}"), sim.body(index).angular_velocity, sign * 2.4, 0.02);
    }
}

/// A turns at 6 rad/s and B stands when the clutch closes, after a second of free turning: both go on with the speed at
/// which the impulse is shared, `I ω / (I + ρ² I)`, and from the angles that they have.
fn a_clutch_joins_what_turns(backend: Backend) {
    // After a second A is ahead by almost a turn. With a ratio of 1 the two could be turned back to where they began.
    for (ratio, speed) in [(0.5, 4.8), (1.0, 3.0)] {
        let mut scene = pair(JointKind::Gear { ratio }, None);
        scene.bodies[0].angular_velocity = 6.0;
        scene.joints[2].enabled = false;
        let mut sim = backend.start(&scene);
        let [a, b] = turned(&mut sim, 60);
        near("A, free", a, 6.0, 1e-3);
        near("B, free", b, 0.0, 1e-4);
        let gear = sim.world().joint_id(2).unwrap();
        sim.world().command_joint(gear, JointCommand::Enable(true)).unwrap();
        let [a, b] = turned(&mut sim, 30);
        near("A has not been turned back", a, 0.5 * speed, 0.05);
        near("B has not been turned back", b, 0.5 * speed * f64::from(ratio), 0.05);
        near("A", sim.body(0).angular_velocity, speed, 2e-3);
        near("B", sim.body(1).angular_velocity, speed * f64::from(ratio), 2e-3);
        let [a, b] = turned(&mut sim, 60);
        near("together", b, f64::from(ratio * a), 1e-3);
    }
}

/// A belt of 2 Hz: two wheels that turn against each other swing by it with this period, and come back.
fn a_belt_swings(backend: Backend) {
    let mut scene = pair(JointKind::Gear { ratio: 1.0 }, None);
    scene.joints[2] = scene.joints[2].clone().soft(2.0, 0.0);
    (scene.bodies[0].angular_velocity, scene.bodies[1].angular_velocity) = (1.0, -1.0);
    let mut sim = backend.start(&scene);
    sim.advance(15);
    near("half a swing: turned around", sim.body(0).angular_velocity, -1.0, 0.02);
    sim.advance(15);
    near("a whole swing", sim.body(0).angular_velocity, 1.0, 0.04);
    // With a ratio the mass on the spring is that of both, and the frequency stays.
    let mut scene = pair(JointKind::Gear { ratio: -3.0 }, None);
    scene.joints[2] = scene.joints[2].clone().soft(2.0, 0.0);
    (scene.bodies[0].angular_velocity, scene.bodies[1].angular_velocity) = (3.0, 1.0);
    let mut sim = backend.start(&scene);
    sim.advance(15);
    near("half a swing of A", sim.body(0).angular_velocity, -3.0, 0.06);
    near("half a swing of B", sim.body(1).angular_velocity, -1.0, 0.02);
}

/// A gear that comes later begins from the angles of its bodies; another ratio too. A restored world goes on to the
/// bit.
fn gears_are_added_changed_and_restored(backend: Backend) {
    let mut scene = pair(JointKind::Gear { ratio: -2.5 }, Some(Motor { speed: 4.0, max: 50.0 }));
    let gear = scene.joints.pop().unwrap();
    let mut sim = backend.start(&scene);
    turned(&mut sim, 40);
    let id = sim.world().add_joints(std::slice::from_ref(&gear)).unwrap()[0];
    sim.advance(1);
    let [a, b] = turned(&mut sim, 60);
    near("added", b, f64::from(-2.5 * a), 2e-2);
    let snapshot = sim.world().snapshot().unwrap();
    let first = turned(&mut sim, 60);
    let end = sim.world().snapshot().unwrap();
    sim.world().restore(&snapshot).unwrap();
    assert_eq!(turned(&mut sim, 60), first);
    assert_eq!(sim.world().snapshot().unwrap(), end);

    sim.world().replace_joint(id, &Joint { kind: JointKind::Gear { ratio: 1.5 }, ..gear }).unwrap();
    sim.advance(20);
    let [a, b] = turned(&mut sim, 60);
    near("changed", b, f64::from(1.5 * a), 2e-3);
    near("A goes on", a, 4.0, 1e-2);
}
