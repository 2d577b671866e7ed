//! Motors, limits, ropes, pistons, winches.

use std::f32::consts::TAU;

use drystone::{Body, Joint, JointKind, Motor, Scene, Shape, Spring};

use crate::common::{Backend, between, near};
use crate::joints::{block, point, world};

on_every_backend!(
    a_motor_speeds_up_by_torque_over_inertia,
    a_motor_stalls_at_its_limit,
    limits_count_full_turns,
    a_rope_is_slack_and_then_taut,
    a_piston_stays_between_its_limits,
    a_winch_winds,
    a_slider_holds_its_line_and_angle,
    a_suspension_sags_by_the_weight_over_its_stiffness,
    a_mouse_pulls_and_its_force_is_limited,
    a_motor_joint_drives_to_its_place,
    equal_limits_hold,
    a_wheel_without_a_spring_locks_an_axis,
    a_slider_is_measured_by_its_reaction,
);

fn hinge(limits: Option<[f32; 2]>, motor: Option<Motor>) -> JointKind {
    JointKind::Revolute { reference_angle: None, limits, motor, spring: None }
}

/// 0.5 N·m on 1/6 kg·m²: 3 rad/s², exact except for rounding; then a constant 6 rad/s.
fn a_motor_speeds_up_by_torque_over_inertia(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0));
    scene.join(Joint::to_world(hinge(None, Some(Motor { speed: 6.0, max: 0.5 })), body));
    let mut sim = backend.start(&scene);
    near("after 1 s", sim.advance(60).body(0).angular_velocity, 3.0, 1e-3);
    near("torque", sim.joints()[0].torque, 0.5, 1e-4);
    near("after 3 s", sim.advance(120).body(0).angular_velocity, 6.0, 1e-3);
    near("torque at speed", sim.joints()[0].torque, 0.0, 1e-3);
}

/// A beam of 1 kg and 2 m with its middle 1 m out loads the hinge with 10 N·m: a motor of 9 N·m cannot lift it and one
/// of 11 can.
fn a_motor_stalls_at_its_limit(backend: Backend) {
    for (torque, lifts) in [(9.0, false), (11.0, true)] {
        let mut scene = world(10.0);
        let body = scene.add(Body::dynamic(1.0, 0.0).shape(Shape::half_box(1.0, 0.05).density(5.0)));
        let motor = Some(Motor { speed: 1.0, max: torque });
        scene.join(Joint::to_world(hinge(None, motor), body).anchors([0.0, 0.0], [-1.0, 0.0]));
        let mut sim = backend.start(&scene);
        let angle = sim.advance(30).body(0).angle;
        assert_eq!(angle > 0.0, lifts, "{torque} N·m: {angle} rad");
        if !lifts {
            near("torque", sim.joints()[0].torque, 9.0, 1e-3);
        }
    }
}

/// A motor turns a box by three and a half turns to its limit, and back by as many: angles are counted, not wrapped.
/// The motor presses against the limit, which yields like a spring of 60 Hz: torque over I (2π·60 Hz)², 4.22 mrad.
fn limits_count_full_turns(backend: Backend) {
    let most = 3.5 * TAU;
    for side in [1.0, -1.0] {
        let mut scene = world(0.0);
        let body = scene.add(block(0.0, 0.0));
        let motor = Some(Motor { speed: 8.0 * side, max: 100.0 });
        scene.join(Joint::to_world(hinge(Some([-most, most]), motor), body));
        let mut sim = backend.start(&scene);
        let mut worst = 0.0_f64;
        for _ in 0..220 {
            let angle = f64::from(sim.advance(1).joints()[0].angle);
            worst = worst.max(angle.abs() - f64::from(most));
        }
        let give = 100.0 * 6.0 / (60.0 * std::f64::consts::TAU).powi(2);
        // An angle of 22 rad is known to 1 µrad.
        near("angle", f64::from(side * sim.joints()[0].angle), f64::from(most) + give, 1e-4);
        between("overshoot", worst, 0.0, give + 1e-4);
    }
}

/// A ball on a rope of 2 m starts 1 m below its anchor: it falls freely, then hangs.
fn a_rope_is_slack_and_then_taut(backend: Backend) {
    let mut scene = world(10.0);
    let ball = scene.add(point(0.0, -1.0));
    scene.join(Joint::to_world(JointKind::rope(2.0), ball));
    let mut sim = backend.start(&scene);
    sim.advance(24);
    // Semi-implicit Euler falls further than g t²/2 by g t h/2.
    near("falling", sim.body(0).position[1], -1.0 - 0.8 - 10.0 * 0.4 / 480.0, 1e-4);
    assert_eq!(sim.joints()[0].force, [0.0; 2], "a slack rope pulls");
    let mut lowest = 0.0_f64;
    for _ in 0..200 {
        lowest = lowest.min(f64::from(sim.advance(1).body(0).position[1]));
    }
    between("lowest", lowest, -2.01, -1.99);
    near("hanging", sim.body(0).position[1], -2.0, 1e-3);
    near("tension", sim.joints()[0].force[1], 10.0, 0.01);
}

/// A body thrown out and back stays between 1 m and 3 m.
fn a_piston_stays_between_its_limits(backend: Backend) {
    let mut scene = world(0.0);
    let ball = scene.add(point(2.0, 0.0).velocity(5.0, 0.0));
    scene.join(Joint::to_world(JointKind::Distance { length: None, limits: Some([1.0, 3.0]), motor: None }, ball));
    scene.bodies[ball].force = [-20.0, 0.0].into();
    let mut sim = backend.start(&scene);
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for _ in 0..120 {
        let x = f64::from(sim.advance(1).body(0).position[0]);
        (least, most) = (least.min(x), most.max(x));
    }
    between("nearest", least, 0.99, 1.01);
    between("farthest", most, 2.5, 3.01);
    near("held by", sim.joints()[0].force[0], 20.0, 0.05);
}

/// Lifts 1 kg at 0.5 m/s with 20 N, and not at all with 9.
fn a_winch_winds(backend: Backend) {
    for (force, lifts) in [(20.0, true), (9.0, false)] {
        let mut scene = world(10.0);
        let load = scene.add(point(0.0, -3.0));
        let motor = Some(Motor { speed: -0.5, max: force });
        scene.join(Joint::to_world(JointKind::Distance { length: None, limits: None, motor }, load));
        let mut sim = backend.start(&scene);
        sim.advance(120);
        if lifts {
            // Up to speed after 0.05 s at 10 m/s²: 12.5 mm are lost.
            near("lifted to", sim.body(0).position[1], -3.0 + 1.0 - 0.0125, 2e-3);
            near("speed", sim.body(0).velocity[1], 0.5, 1e-3);
        } else {
            // Falls at 1 m/s².
            near("fell to", sim.body(0).position[1], -5.0, 0.01);
        }
    }
}

/// A box on a slope of 30° with an off-centre load slides along the axis only.
fn a_slider_holds_its_line_and_angle(backend: Backend) {
    let mut scene = world(10.0);
    let axis = [3.0_f32.sqrt() / 2.0, 0.5];
    let body = scene.add(block(0.0, 0.0));
    scene.bodies[body].force = [0.0, -5.0].into();
    scene.bodies[body].force_point = Some([0.4, 0.0].into());
    scene.join(Joint::to_world(JointKind::slider(axis), body));
    let mut sim = backend.start(&scene);
    sim.advance(60);
    let found = sim.body(0);
    let [x, y] = found.position;
    let (along, across) = (x * axis[0] + y * axis[1], -x * axis[1] + y * axis[0]);
    // Gravity and force: 15 N along a slope of sin 30° = 7.5 m/s² for 1 s; Euler is g t h/2 ahead.
    near("travel", along, -3.75 - 7.5 / 480.0, 2e-3);
    // Compliance of a rigid joint: force / (m_eff (2π·60 Hz)²), 13 N on 1 kg: 0.1 mm, and gone after relaxing.
    near("off the line", across, 0.0, 2e-4);
    near("angle", found.angle, 0.0, 2e-4);
    near("torque", sim.joints()[0].torque, 2.0, 0.02);
}

/// A chassis of 4 kg on a standing wheel: the suspension of 2 Hz sags by the load over m_eff (2πf)².
fn a_suspension_sags_by_the_weight_over_its_stiffness(backend: Backend) {
    let mut scene = world(10.0);
    let mut chassis = block(0.0, 2.0);
    chassis.mass = Some(4.0);
    chassis.fixed_rotation = true;
    let chassis = scene.add(chassis);
    let post = scene.add(Body::fixed(0.0, 1.0).shape(Shape::circle(0.1)));
    let spring = Spring { hertz: 2.0, damping_ratio: 0.7, target: 0.0 };
    let joint = JointKind::wheel([0.0, 1.0], spring);
    scene.join(Joint::new(joint, post, chassis).anchors([0.0, 1.0], [0.0, 0.0]));
    let mut sim = backend.start(&scene);
    sim.advance(600);
    let stiffness = 4.0 * (2.0 * std::f64::consts::TAU).powi(2);
    near("sag", sim.body(0).position[1], 2.0 - 40.0 / stiffness, 1e-4);
    near("load", sim.joints()[0].force[1], 40.0, 0.01);
}

/// Pulls a box to its target without gravity; holds 1 kg with 12 N but not with 8.
fn a_mouse_pulls_and_its_force_is_limited(backend: Backend) {
    let mouse = |max_force| {
        let mut scene = world(10.0);
        let body = scene.add(block(0.0, 0.0));
        scene.join(Joint::to_world(JointKind::Mouse { target: [3.0, 4.0].into(), max_force }, body));
        scene
    };
    let mut sim = backend.start(&mouse(1000.0));
    sim.advance(300);
    let [x, y] = sim.body(0).position;
    near("x", x, 3.0, 1e-3);
    // Sags by g / (2π·5 Hz)².
    near("y", y, 4.0 - 10.0 / (10.0 * std::f64::consts::PI).powi(2), 2e-3);
    let mut sim = backend.start(&mouse(8.0));
    sim.advance(120);
    let [fx, fy] = sim.joints()[0].force;
    near("force", fx.hypot(fy), 8.0, 1e-3);
    assert!(sim.body(0).position[1] < -2.0, "held by too small a force");
}

/// To 2 m right of A's origin and a quarter turn; with little force only as fast as that allows.
fn a_motor_joint_drives_to_its_place(backend: Backend) {
    let build = |max_force, max_torque| {
        let mut scene = world(0.0);
        let base = scene.add(Body::fixed(1.0, 1.0).shape(Shape::circle(0.1)));
        let body = scene.add(block(2.0, 1.0));
        let kind = JointKind::Motor { linear_offset: [2.0, 0.0].into(), angular_offset: 1.5, max_force, max_torque };
        scene.join(Joint::new(kind, base, body));
        scene
    };
    let mut sim = backend.start(&build(100.0, 100.0));
    sim.advance(300);
    let body = sim.body(1);
    near("x", body.position[0], 3.0, 1e-3);
    near("y", body.position[1], 1.0, 1e-3);
    near("angle", body.angle, 1.5, 1e-3);
    let mut sim = backend.start(&build(0.5, 0.0));
    sim.advance(60);
    let body = sim.body(1);
    // 0.5 m/s² for 1 s.
    near("slowly, x", body.position[0], 2.25, 5e-3);
    near("no torque", body.angle, 0.0, 1e-6);
}

/// A rope whose limits are equal is a rod, also in compression.
fn equal_limits_hold(backend: Backend) {
    let mut scene: Scene = world(0.0);
    let ball = scene.add(point(2.0, 0.0).velocity(-3.0, 0.0));
    scene.join(Joint::to_world(JointKind::Distance { length: None, limits: Some([2.0, 2.0]), motor: None }, ball));
    let mut sim = backend.start(&scene);
    near("length", sim.advance(60).body(0).position[0], 2.0, 2e-3);
}

/// A wheel without a spring between the world and a body: the body moves along one axis and turns, as if the other were
/// locked.
fn a_wheel_without_a_spring_locks_an_axis(backend: Backend) {
    let mut scene = world(10.0);
    let body = scene.add(block(1.0, 2.0).velocity(3.0, 0.0).angular_velocity(2.0));
    let kind = JointKind::Wheel { axis: [1.0, 0.0].into(), limits: None, motor: None, spring: None };
    scene.join(Joint::to_world(kind, body).anchors([1.0, 2.0], [0.0, 0.0]));
    let mut sim = backend.start(&scene);
    let body = sim.advance(60).body(0);
    near("along the axis", body.position[0], 4.0, 1e-3);
    // Give of a rigid joint: 10 N on 1 kg at 60 Hz is 0.07 mm.
    near("across it", body.position[1], 2.0, 2e-4);
    near("spin", body.angular_velocity, 2.0, 1e-3);
}

/// A motor lifts 1 kg at 0.5 m/s: travel, speed and force of a slider.
fn a_slider_is_measured_by_its_reaction(backend: Backend) {
    let mut scene = world(10.0);
    let body = scene.add(block(0.0, 0.0));
    scene.join(Joint::to_world(JointKind::slider([0.0, 1.0]).motor(0.5, 20.0), body));
    let mut sim = backend.start(&scene);
    let (body, joint) = (sim.advance(60).body(0), sim.joints().remove(0));
    // Up to speed after 0.05 s at 10 m/s²: 12.5 mm are lost.
    near("travel", joint.between[1], 0.4875, 2e-3);
    near("travel of the body", joint.between[1], body.position[1].into(), 1e-6);
    near("speed", body.velocity[1], 0.5, 1e-3);
    near("force of the motor", joint.force[1], 10.0, 0.01);
}
