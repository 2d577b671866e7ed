//! Velocity joints, and springs whose force has a range.

use drystone::low_level::scene::check::has_spring;
use drystone::{Body, Joint, JointCommand, JointKind, Scene, Shape, Spring};
use glam::Vec2;

use crate::common::{Backend, near};
use crate::joints::{block, point, world};

on_every_backend!(
    a_velocity_joint_drives_with_limited_force,
    a_velocity_joint_is_friction_in_all_directions,
    an_axis_leaves_the_other_one_free,
    a_velocity_is_relative_to_a_body_that_turns,
    velocities_are_commanded_and_survive_snapshots,
    a_bungee_cord_only_pulls,
    a_spring_pushes_and_pulls_within_its_range,
    springs_with_a_range_keep_their_energy,
    a_leg_carries_a_walker,
);

/// Returns a joint that drives along an axis alone, without torque.
fn along(axis: Vec2, velocity: Vec2, max_force: f32) -> JointKind {
    JointKind::Velocity { axis: Some(axis), velocity, angular_velocity: 0.0, max_force, max_torque: 0.0 }
}

/// 2 N on 1 kg towards (3, 4) m/s: 2 m/s² in that direction, then a constant 5 m/s; 0.5 N·m on 1/6 kg·m²: 3 rad/s².
fn a_velocity_joint_drives_with_limited_force(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0));
    scene.join(Joint::to_world(JointKind::velocity([3.0, 4.0], 6.0, 2.0, 0.5), body));
    let mut sim = backend.start(&scene);
    let now = sim.advance(60).body(0);
    near("x after 1 s", now.velocity[0], 1.2, 1e-3);
    near("y after 1 s", now.velocity[1], 1.6, 1e-3);
    near("spin after 1 s", now.angular_velocity, 3.0, 1e-3);
    let [x, y] = sim.joints()[0].force;
    near("force", x.hypot(y), 2.0, 1e-3);
    let now = sim.advance(120).body(0);
    near("x after 3 s", now.velocity[0], 3.0, 1e-3);
    near("y after 3 s", now.velocity[1], 4.0, 1e-3);
    near("spin after 3 s", now.angular_velocity, 6.0, 1e-3);
    near("force at speed", sim.joints()[0].force[0], 0.0, 1e-3);
}

/// Seen from above: a puck at 5 m/s under 2 N on 1 kg stops on its line after v²/2a = 6.25 m. Negative control: limits
/// along x and y apart bend its way.
fn a_velocity_joint_is_friction_in_all_directions(backend: Backend) {
    let stop = |joints: &[JointKind]| {
        let mut scene = world(0.0);
        let body = scene.add(point(0.0, 0.0).velocity(3.0, 4.0));
        for kind in joints {
            scene.join(Joint::to_world(kind.clone(), body));
        }
        let now = backend.start(&scene).advance(180).body(0);
        near("it stands", now.velocity[0].hypot(now.velocity[1]), 0.0, 1e-4);
        now.position
    };
    let [x, y] = stop(&[JointKind::velocity([0.0, 0.0], 0.0, 2.0, 0.0)]);
    // A substep's way, h v/2, is lost.
    near("way", x.hypot(y), 6.25, 0.5 * 5.0 / 240.0 + 1e-3);
    near("direction", y / x, 4.0 / 3.0, 1e-4);
    let [x, y] = stop(&[along(Vec2::X, Vec2::ZERO, 2.0), along(Vec2::Y, Vec2::ZERO, 2.0)]);
    near("along x", x, 9.0 / 4.0, 0.02);
    near("along y", y, 16.0 / 4.0, 0.02);
}

/// A walker: driven sideways, falls freely, and turns freely.
fn an_axis_leaves_the_other_one_free(backend: Backend) {
    let mut scene = world(10.0);
    let body = scene.add(block(0.0, 0.0).angular_velocity(2.0));
    scene.join(Joint::to_world(along(Vec2::X, Vec2::new(1.5, 7.0), 1000.0), body));
    let mut free = world(10.0);
    free.add(block(0.0, 0.0).angular_velocity(2.0));
    let driven = backend.start(&scene).advance(60).body(0);
    let falling = backend.start(&free).advance(60).body(0);
    near("sideways", driven.velocity[0], 1.5, 1e-4);
    near("down", driven.velocity[1], falling.velocity[1].into(), 1e-4);
    near("spin", driven.angular_velocity, 2.0, 1e-4);
}

/// On a turntable at 0.5 rad/s a body with velocity 0 is carried around; with 1 m/s outwards, it moves along a turning
/// radius.
fn a_velocity_is_relative_to_a_body_that_turns(backend: Backend) {
    let build = |outwards: f32| {
        let mut scene = world(0.0);
        let mut table = Body::kinematic(0.0, 0.0).angular_velocity(0.5);
        table.shapes.push(Shape::circle(0.1).sensor());
        let table = scene.add(table);
        let body = scene.add(block(2.0, 0.0));
        scene.join(Joint::new(JointKind::velocity([outwards, 0.0], 0.0, 1e6, 1e6), table, body));
        scene
    };
    for outwards in [0.0_f32, 1.0] {
        let now = backend.start(&build(outwards)).advance(60).body(1);
        let [x, y] = now.position;
        near("radius", x.hypot(y), f64::from(2.0 + outwards), 0.01);
        near("angle of its place", y.atan2(x), 0.5, 5e-3);
        near("spin", now.angular_velocity, 0.5, 1e-3);
    }
}

fn velocities_are_commanded_and_survive_snapshots(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0));
    scene.join(Joint::to_world(JointKind::velocity([1.0, 2.0], 0.0, 1e3, 1e3), body));
    let slow = scene.add(point(5.0, 0.0));
    scene.join(Joint::to_world(along(Vec2::new(0.6, 0.8), Vec2::ZERO, 1e3), slow));
    let mut sim = backend.start(&scene);
    sim.advance(10);
    near("as in the scene", sim.body(0).velocity[1], 2.0, 1e-4);
    let world = sim.world();
    let joints = [world.joint_id(0).unwrap(), world.joint_id(1).unwrap()];
    let told = JointCommand::Velocity { linear: Vec2::new(-3.0, 0.5), angular: 1.5 };
    world.command_joint(joints[0], told).unwrap();
    // Only the part along the axis counts: 5 m/s · 0.8.
    world.command_joint(joints[1], JointCommand::Velocity { linear: Vec2::new(0.0, 5.0), angular: 0.0 }).unwrap();
    sim.advance(1);
    let snapshot = sim.world().snapshot().unwrap();
    let fingerprint = sim.world().compiled().fingerprint();
    let read = drystone::Snapshot::from_bytes(&snapshot.to_bytes(fingerprint), fingerprint).unwrap();
    assert_eq!(read, snapshot);
    for (restored, mut sim) in [(false, sim), (true, backend.start(&scene))] {
        if restored {
            sim.world().restore(&read).unwrap();
        }
        sim.advance(10);
        let (first, second) = (sim.body(0), sim.body(1));
        near("x", first.velocity[0], -3.0, 1e-4);
        near("y", first.velocity[1], 0.5, 1e-4);
        near("spin", first.angular_velocity, 1.5, 1e-4);
        near("along the axis, x", second.velocity[0], 2.4, 1e-4);
        near("along the axis, y", second.velocity[1], 3.2, 1e-4);
    }
    let mut sim = backend.start(&scene);
    for (command, says) in [
        (JointCommand::Motor { speed: 1.0, max: 1.0 }, "is of type velocity; expected a joint with a motor"),
        (JointCommand::Velocity { linear: Vec2::NAN, angular: 0.0 }, ".velocity[0]: is not a number"),
        (JointCommand::Velocity { linear: Vec2::ZERO, angular: f32::INFINITY }, ".angular_velocity: is"),
    ] {
        let error = sim.world().command_joint(joints[0], command).expect_err(says).to_string();
        assert!(error.contains(says), "{error}, expected {says}");
    }
}

/// A ball falls 2 m freely, is caught by a cord of 2 m and 40 N/m with at most 1e15 N, and comes up again; above the
/// cord's length nothing pushes it. Negative control: without the range it is pushed down from the start.
fn a_bungee_cord_only_pulls(backend: Backend) {
    let build = |range: Option<[f32; 2]>| {
        let mut scene = world(10.0);
        let ball = scene.add(point(0.0, -1.0));
        let cord = JointKind::Spring { rest_length: Some(2.0), stiffness: 40.0, damping: 0.0 };
        let mut joint = Joint::to_world(cord, ball);
        joint.spring_range = range;
        scene.join(joint);
        scene
    };
    let mut sim = backend.start(&build(Some([-1e15, 0.0])));
    near("free fall", sim.advance(24).body(0).position[1], -1.0 - 0.5 * 10.0 * 0.4 * 0.4, 0.01);
    let mut lowest = 0.0_f32;
    for _ in 0..90 {
        lowest = lowest.min(sim.advance(1).body(0).position[1]);
    }
    // m g (1 + s) = k s²/2 with s beyond the length.
    let stretch = (10.0 + (100.0_f64 + 2.0 * 40.0 * 10.0).sqrt()) / 40.0;
    near("lowest", lowest, -2.0 - stretch, 0.02);
    let pushed = backend.start(&build(None)).advance(24).body(0);
    assert!(pushed.position[1] < -2.5, "a spring pushes: {:?}", pushed.position);
}

/// 1 kg on a spring that would hold it, but pulls with 6 N only, falls with 4 m/s²; and so on one that pushes with 6 N
/// only, from below. The springs of a slider and a hinge have ranges as well.
fn a_spring_pushes_and_pulls_within_its_range(backend: Backend) {
    let spring = Some(Spring { hertz: 5.0, damping_ratio: 1.0, target: 0.0 });
    let slider = |axis: [f32; 2]| JointKind::Prismatic {
        axis: axis.into(),
        reference_angle: None,
        limits: None,
        motor: None,
        spring,
    };
    let cases = [
        (
            "pulls",
            JointKind::Spring { rest_length: Some(1.0), stiffness: 1000.0, damping: 0.0 },
            [0.0, 2.0],
            [-6.0, 0.0],
        ),
        (
            "pushes",
            JointKind::Spring { rest_length: Some(6.0), stiffness: 1000.0, damping: 0.0 },
            [0.0, -5.0],
            [0.0, 6.0],
        ),
        ("a soft rod", JointKind::rod().length(1.0), [0.0, 2.0], [-6.0, 0.0]),
        ("a slider upwards", slider([0.0, 1.0]), [0.0, 1.0], [-1.0, 6.0]),
        ("a slider downwards", slider([0.0, -1.0]), [0.0, 1.0], [-6.0, 1.0]),
    ];
    for (what, kind, anchor, [low, high]) in cases {
        let mut scene = world(10.0);
        let body = scene.add(point(0.0, 0.0));
        let mut joint = Joint::to_world(kind.clone(), body).anchors(anchor, [0.0, 0.0]).spring_range(low, high);
        if matches!(kind, JointKind::Distance { .. }) {
            joint.hertz = Some(5.0);
        }
        assert!(has_spring(&joint), "{what}");
        scene.join(joint);
        let mut sim = backend.start(&scene);
        near(what, sim.advance(30).body(0).velocity[1], -2.0, 0.02);
        near(what, sim.joints()[0].force[1], 6.0, 1e-3);
    }
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0).angle(1.0));
    let kind = JointKind::Revolute { reference_angle: Some(0.0), limits: None, motor: None, spring };
    scene.join(Joint::to_world(kind, body).spring_range(-0.5, 0.1));
    // 0.5 N·m on 1/6 kg·m².
    near("a hinge", backend.start(&scene).advance(20).body(0).angular_velocity, -1.0, 1e-3);
}

/// A walker of 1 kg on a soft leg of 1.5 m hovers above the ground, rises with the leg's length, is not pulled down
/// with more than 2 N, and sinks if the leg is too weak.
fn a_leg_carries_a_walker(backend: Backend) {
    let build = |height: f32, compression: f32| {
        let mut scene = world(10.0);
        let walker = scene.add(point(0.0, height));
        let leg = Joint::to_world(JointKind::rod().length(1.5), walker);
        scene.join(leg.soft(2.0, 0.7).spring_range(-2.0, compression));
        scene
    };
    let mut sim = backend.start(&build(1.5, 100.0));
    let sag = 10.0 / (2.0 * std::f64::consts::TAU).powi(2);
    near("it hovers", sim.advance(180).body(0).position[1], 1.5 - sag, 1e-3);
    let reaction = sim.joints().remove(0);
    near("length", reaction.between[1], 1.5 - sag, 1e-3);
    near("force", reaction.force[1], 10.0, 0.01);
    let leg = sim.world().joint_id(0).unwrap();
    sim.world().command_joint(leg, JointCommand::Length(1.8)).unwrap();
    near("it rises", sim.advance(180).body(0).position[1], 1.8 - sag, 1e-3);
    // 10 m/s² of gravity and 2 m/s² of the leg.
    near("a fall", backend.start(&build(5.0, 100.0)).advance(15).body(0).velocity[1], -3.0, 0.01);
    near("a weak leg", backend.start(&build(1.2, 4.0)).advance(15).body(0).velocity[1], -1.5, 0.01);
}

/// A bungee cord and a spring of limited force give back what they took.
fn springs_with_a_range_keep_their_energy(backend: Backend) {
    for (what, start, range, stored) in [
        // 5 N at most beyond an eighth of a metre: 5 (1 − 1/16).
        ("limited pull", 3.0_f32, [-5.0, 1e15], 5.0 * (1.0 - 0.0625)),
        ("only pulls", 3.0, [-1e15, 0.0], 20.0),
        ("no push", 1.0, [-1e15, 0.0], 0.0),
        ("limited push", 1.0, [-1e15, 5.0], 5.0 * (1.0 - 0.0625)),
    ] {
        let mut scene: Scene = world(0.0);
        let ball = scene.add(point(start, 0.0));
        let spring = JointKind::Spring { rest_length: Some(2.0), stiffness: 40.0, damping: 0.0 };
        scene.join(Joint::to_world(spring, ball).spring_range(range[0], range[1]));
        let mut sim = backend.start(&scene);
        near(&format!("{what}: at the start"), sim.metrics().elastic_energy, stored, 1e-4 * stored);
        for _ in 0..30 {
            // Symplectic Euler is off by ωh/2 of the energy.
            near(&format!("{what}: total"), sim.advance(1).metrics().total_energy, stored, 0.02 * stored + 1e-9);
        }
    }
}
