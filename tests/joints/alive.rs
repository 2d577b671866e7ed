//! Joints that are added, removed, broken and commanded while the world runs.

use drystone::low_level::snapshot::Lineage;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{
    AdapterChoice, Body, Command, Context, Joint, JointCommand, JointId, JointKind, Motor, Scene, Shape, Snapshot,
    Spring, World, WorldError,
};
use glam::Vec2;

use crate::common::{Backend, between, far, near};
use crate::joints::{block, point, world};

on_every_backend!(
    added_joints_equal_joints_of_the_scene,
    lengths_and_angles_are_those_of_the_bodies,
    other_joints_keep_their_impulses,
    thousands_are_added_and_removed,
    indices_come_back_with_another_generation,
    invalid_joints_are_rejected,
    joints_go_with_their_body,
    a_broken_joint_lets_its_bodies_touch,
    bodies_touch_when_joints_go_or_are_switched_off,
    a_mouse_drags_a_body,
    motors_limits_and_springs_obey,
    an_offset_counts_full_turns,
    unsuitable_joint_commands_are_rejected,
    goals_survive_snapshots,
    joints_of_a_run_survive_snapshots,
    an_event_of_a_joint_that_is_gone,
);

fn positions(world: &mut World) -> Vec<[f32; 2]> {
    world.snapshot().expect("a snapshot").poses.iter().map(|pose| pose.position).collect()
}

fn place(world: &mut World, body: usize) -> Vec2 {
    positions(world)[body].into()
}

fn advance(world: &mut World, steps: usize) {
    (0..steps).for_each(|_| world.step().expect("a step"));
}

fn bodies_only(snapshot: &Snapshot) -> (&[drystone::low_level::types::Pose], &[drystone::low_level::types::BodyState]) {
    (&snapshot.poses, &snapshot.states)
}

/// Returns ten blocks in a row, and a joint from each to the next.
fn row() -> (Scene, Vec<Joint>) {
    let mut scene = world(10.0);
    let ceiling = scene.add(Body::fixed(-2.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    let mut before = ceiling;
    let mut joints = Vec::new();
    for index in 0..10_u8 {
        let body = scene.add(block(f32::from(index) * 2.0, 0.0));
        let kind = match index % 5 {
            0 => JointKind::hinge(),
            1 => JointKind::rod(),
            2 => JointKind::weld(),
            3 => JointKind::spring(200.0, 3.0),
            _ => JointKind::slider([1.0, 0.0]),
        };
        joints.push(Joint::new(kind, before, body).anchors([1.0, 0.0], [-1.0, 0.25]));
        before = body;
    }
    joints.push(Joint::to_world(JointKind::Mouse { target: Vec2::new(18.0, 3.0), max_force: 50.0 }, before));
    (scene, joints)
}

fn added_joints_equal_joints_of_the_scene(backend: Backend) {
    let (bare, joints) = row();
    let mut whole = bare.clone();
    for joint in &joints {
        whole.join(joint.clone());
    }
    let mut untied = backend.start(&bare);
    let (mut bare, mut whole) = (backend.start(&bare), backend.start(&whole));
    let ids = bare.world().add_joints(&joints).expect("joints");
    let wanted: Vec<JointId> = (0..11).map(|index| JointId { index, generation: 0 }).collect();
    assert_eq!(ids, wanted);
    for step in 0..90 {
        let (one, other) = (bare.advance(1).snapshot(), whole.advance(1).snapshot());
        assert_eq!(bodies_only(&one), bodies_only(&other), "step {step}");
    }
    let (one, other) = (bare.joints(), whole.joints());
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.force, other.force);
    }
    far("without joints", untied.advance(90).body(10).position[1], bare.body(10).position[1].into(), 1.0);
}

fn lengths_and_angles_are_those_of_the_bodies(backend: Backend) {
    let mut scene = world(0.0);
    let hub = scene.add(block(0.0, 0.0));
    let rim = scene.add(point(3.0, 0.0).velocity(0.0, 1.5));
    let blade = scene.add(block(0.0, 5.0).angular_velocity(2.0));
    let mut sim = backend.start(&scene);
    sim.advance(30);
    let (before, turned) = (sim.body(rim).position, sim.body(blade).angle);
    let distance = Vec2::from(before).distance(sim.body(hub).position.into());
    far("it has moved", distance, 3.0, 0.05);
    far("it has turned", turned, 0.0, 0.5);
    let joints = [
        Joint::new(JointKind::rod(), hub, rim),
        Joint::to_world(JointKind::weld(), blade).anchors([0.0, 5.0], [0.0, 0.0]),
        Joint::new(JointKind::rod(), hub, blade).anchors([0.0, 0.0], [0.0, 0.0]),
    ];
    sim.world().add_joints(&joints[..2]).expect("joints");
    sim.advance(90);
    let now = Vec2::from(sim.body(rim).position).distance(sim.body(hub).position.into());
    near("the rod is as long as they were apart", now, distance.into(), 2e-3);
    near("the weld holds the angle", sim.body(blade).angle, turned.into(), 2e-2);
    near("and it is the reference angle", sim.joints()[1].angle, 0.0, 2e-2);
    far("they moved on", sim.body(rim).position[1], before[1].into(), 0.2);
}

/// A chain hangs and swings to the last bit as if alone, while other joints beside it are added and removed.
fn other_joints_keep_their_impulses(backend: Backend) {
    let mut scene = world(10.0);
    let mut above = scene.add(Body::fixed(0.0, 0.0).shape(Shape::circle(0.1)));
    for index in 1..12_u8 {
        let link = scene.add(block(f32::from(index), 0.0));
        scene.join(Joint::new(JointKind::hinge(), above, link).anchors([0.5, 0.0], [-0.5, 0.0]));
        above = link;
    }
    let first = scene.bodies.len();
    for index in 0..300_u16 {
        scene.add(point(f32::from(index) * 2.0, 1000.0));
    }
    let chain = |sim: &mut crate::common::Sim| sim.snapshot().poses[..first].to_vec();
    let drag = |body: usize| Joint::to_world(JointKind::Mouse { target: Vec2::ZERO, max_force: 10.0 }, body);
    let (mut alone, mut busy, mut forgot) = (backend.start(&scene), backend.start(&scene), backend.start(&scene));
    for step in 0..60_usize {
        match step {
            // A single joint, removed again at once; then one that stays for a while.
            10 => {
                let ids = busy.world().add_joints(&[drag(first)]).expect("a joint");
                busy.world().remove_joints(&ids).expect("it exists");
            }
            15 | 25 => {
                busy.world().add_joints(&[drag(first + step)]).expect("a joint");
            }
            // More joints than the capacity.
            30 => {
                let joints: Vec<Joint> = (0..290).map(|index| drag(first + index)).collect();
                busy.world().add_joints(&joints).expect("joints");
            }
            40 => {
                let ids: Vec<JointId> = (11..200).filter_map(|index| busy.world().joint_id(index)).collect();
                busy.world().remove_joints(&ids).expect("they exist");
                let mut snapshot = forgot.snapshot();
                snapshot.joint_impulses.fill([0.0; 2]);
                forgot.world().restore(&snapshot).expect("a snapshot of this world");
            }
            _ => {}
        }
        for sim in [&mut alone, &mut busy, &mut forgot] {
            sim.advance(1);
        }
        assert_eq!(chain(&mut alone), chain(&mut busy), "step {step}");
    }
    assert_ne!(chain(&mut alone), chain(&mut forgot), "the impulses of joints have no effect here");
}

fn thousands_are_added_and_removed(backend: Backend) {
    let mut scene = world(10.0);
    for index in 0..2_500_u16 {
        scene.add(point(f32::from(index % 50) * 3.0, f32::from(index / 50) * 3.0));
    }
    let mut sim = backend.start(&scene);
    sim.advance(2);
    let mut joints = Vec::new();
    for body in 0..2_500_usize {
        if body % 50 > 0 {
            joints.push(Joint::new(JointKind::rod(), body - 1, body));
        }
        if body >= 2_450 {
            let [x, y] = sim.body(body).position;
            joints.push(Joint::to_world(JointKind::hinge(), body).anchors([x, y], [0.0, 0.0]));
        } else {
            joints.push(Joint::new(JointKind::rod(), body + 50, body));
        }
    }
    assert_eq!(joints.len(), 4_950);
    let started = Vec2::from(sim.body(0).position);
    let ids = sim.world().add_joints(&joints).expect("joints");
    sim.advance(3);
    let fallen = started.y - sim.body(0).position[1];
    // 5 steps of fall and the give of the sheet: far less than what the top hinges would leave without the rods.
    between("held by its neighbours", fallen, -0.05, 0.05);
    assert_eq!(sim.joints().len(), 4_950);
    let hash = state::hash(&sim.snapshot());
    let mut again = backend.start(&scene);
    again.advance(2).world().add_joints(&joints).expect("joints");
    assert_eq!(state::hash(&again.advance(3).snapshot()), hash, "it repeats");
    if backend == Backend::Cpu3 {
        let mut one = Backend::Cpu1.start(&scene);
        one.advance(2).world().add_joints(&joints).expect("joints");
        assert_eq!(state::hash(&one.advance(3).snapshot()), hash, "threads leave no trace");
    }
    sim.world().remove_joints(&ids).expect("they exist");
    let before = sim.body(1_200);
    sim.advance(30);
    let wanted = before.velocity[1] * 0.5 - 0.5 * 10.0 * 0.25;
    near("free fall", sim.body(1_200).position[1] - before.position[1], wanted.into(), 0.05);
    assert!(sim.joints().is_empty());
    assert_eq!(sim.world().compiled().joints.count(), 0);
}

fn indices_come_back_with_another_generation(backend: Backend) {
    let (scene, joints) = row();
    let mut sim = backend.start(&scene);
    let world = sim.world();
    let ids = world.add_joints(&joints).expect("joints");
    advance(world, 2);
    world.remove_joints(&[ids[3], ids[7]]).expect("they exist");
    assert_eq!((world.joint_id(3), world.joint_id(4)), (None, Some(ids[4])));
    let again = world.add_joints(&[joints[7].clone(), joints[3].clone(), joints[0].clone()]).expect("joints");
    let indices: Vec<_> = again.iter().map(|id| (id.index, id.generation)).collect();
    assert_eq!(indices, [(3, 1), (7, 1), (11, 0)]);
    let error = world.remove_joints(&[ids[3]]).expect_err("it is gone").to_string();
    assert_eq!(error, "there is no joint 3.0");
    let error = world.command_joint(ids[7], JointCommand::Enable(false)).expect_err("it is gone").to_string();
    assert_eq!(error, "there is no joint 7.0");
    advance(world, 2);
    assert_eq!(world.joint_reactions().expect("a snapshot").len(), 12);
}

fn invalid_joints_are_rejected(backend: Backend) {
    let (mut scene, joints) = row();
    scene.join(joints[0].clone().id("first"));
    let mut sim = backend.start(&scene);
    let world = sim.world();
    advance(world, 3);
    let gone = world.body_id(6).expect("a body");
    world.remove_bodies(&[gone]).expect("it exists");
    advance(world, 2);
    let before = world.snapshot().expect("a snapshot");
    let good = Joint::new(JointKind::rod(), 1, 2);
    let mut refused = |wrong: Joint, says: &str| {
        let error = world.add_joints(&[good.clone(), wrong]).expect_err(says).to_string();
        assert!(error.contains(says), "{error}, expected {says}");
    };
    refused(Joint::new(JointKind::rod(), 1, 77), "joints[1].b: is 77, and there is no such body");
    refused(Joint::new(JointKind::rod(), 6, 1), "joints[1].a: is 6, and there is no such body");
    refused(Joint::new(JointKind::rod(), 2, 2), "joints[1].b: is the same body as a");
    refused(Joint::to_world(JointKind::hinge(), 0), "joints[1]: joins a body that is not dynamic to the world");
    refused(good.clone().break_force(-1.0), "joints[1].break_force: is -1");
    refused(good.clone().anchors([f32::NAN, 0.0], [0.0, 0.0]), "joints[1].anchor_a[0]: is not a number");
    refused(good.clone().id("first"), "joints[1].id: is \"first\", as another joint's");
    refused(Joint::new(JointKind::slider([3.0, 0.0]), 1, 2), "joints[1].axis: has length 3");
    let error = world.add_joints(&[good.clone().id("x"), good.clone().id("x")]).expect_err("two").to_string();
    assert!(error.contains("joints[1].id: is \"x\", as joints[0].id is"), "{error}");
    let first = world.joint_id(0).expect("a joint");
    let error = world.remove_joints(&[first, first]).expect_err("twice").to_string();
    assert_eq!(error, "joint 0.0 is given twice");
    let ghost = JointId { index: 99, generation: 0 };
    assert_eq!(world.remove_joints(&[first, ghost]).expect_err("no such").to_string(), "there is no joint 99.0");
    assert_eq!(world.snapshot().expect("a snapshot"), before, "something has changed");
}

fn joints_go_with_their_body(backend: Backend) {
    let (scene, joints) = row();
    let mut sim = backend.start(&scene);
    let world = sim.world();
    let ids = world.add_joints(&joints).expect("joints");
    advance(world, 5);
    world.command_joint(ids[10], JointCommand::Target(Vec2::ZERO)).expect("a mouse joint");
    let last = world.body_id(10).expect("a body");
    world.remove_bodies(&[last]).expect("it exists");
    assert_eq!((world.joint_id(9), world.joint_id(10)), (None, None));
    assert_eq!(world.joint_id(8), Some(ids[8]));
    advance(world, 1);
    // A new body in its slot is not connected, and collides with its neighbour.
    let beside = place(world, 9);
    let newcomer = world.add_bodies(&[block(beside.x + 0.3, beside.y)]).expect("a body")[0];
    assert_eq!(newcomer.index, 10);
    advance(world, 30);
    let apart = place(world, 9).distance(place(world, 10));
    assert!(apart > 0.6, "they overlap, {apart} m apart");
    assert_eq!(world.joint_reactions().expect("a snapshot").len(), 9);
}

/// A force of 100 N on one of two blocks: the weld carries half of it. Pressed blocks show whether they collide.
const PRESS: Command = Command::Force { force: Vec2::new(-100.0, 0.0), point: None };

/// Returns two blocks that overlap by half, welded.
fn overlapping(limit: Option<f32>) -> Scene {
    let mut scene = world(0.0);
    let a = scene.add(block(0.0, 0.0));
    let b = scene.add(block(0.5, 0.0));
    let mut weld = Joint::new(JointKind::weld(), a, b).anchors([0.25, 0.0], [-0.25, 0.0]);
    weld.break_force = limit;
    scene.join(weld);
    scene
}

fn apart(world: &mut World) -> f32 {
    let positions = positions(world);
    Vec2::from(positions[0]).distance(positions[1].into())
}

fn a_broken_joint_lets_its_bodies_touch(backend: Backend) {
    let pull = |scene: &Scene| {
        let mut sim = backend.start(scene);
        sim.advance(20);
        near("welded, they may overlap", apart(sim.world()), 0.5, 1e-3);
        sim.world().command(1, PRESS).expect("a body");
        sim
    };
    let mut held = pull(&overlapping(None));
    held.advance(60);
    near("it does not break", apart(held.world()), 0.5, 2e-2);
    let mut sim = pull(&overlapping(Some(20.0)));
    let before = {
        let world = sim.world();
        world.snapshot().expect("a snapshot")
    };
    sim.advance(60);
    assert!(sim.joints()[0].broken);
    assert!(apart(sim.world()) > 0.95, "they overlap, {} m apart", apart(sim.world()));
    // Back to the time before it broke.
    sim.world().restore(&before).expect("a snapshot of this world");
    let rest = Command::Force { force: Vec2::ZERO, point: None };
    sim.world().command(1, rest).expect("a body");
    sim.advance(60);
    assert!(!sim.joints()[0].broken);
    near("it holds, and keeps them apart from touching", apart(sim.world()), 0.5, 2e-2);
}

fn bodies_touch_when_joints_go_or_are_switched_off(backend: Backend) {
    let scene = overlapping(None);
    let mut sim = backend.start(&scene);
    let weld = sim.world().joint_id(0).expect("a joint");
    sim.advance(20);
    near("welded", apart(sim.world()), 0.5, 1e-3);
    sim.world().command_joint(weld, JointCommand::Enable(false)).expect("a joint");
    sim.advance(60);
    assert!(apart(sim.world()) > 0.95, "switched off: {} m apart", apart(sim.world()));
    // Enabled again, it pulls them together without a contact.
    sim.world().command_joint(weld, JointCommand::Enable(true)).expect("a joint");
    sim.advance(120);
    near("on again", apart(sim.world()), 0.5, 2e-2);
    // Two joints disable the collision twice.
    let again = Joint::new(JointKind::weld(), 1, 0).anchors([-0.25, 0.0], [0.25, 0.0]);
    let second = sim.world().add_joints(&[again]).expect("a joint");
    sim.world().remove_joints(&[weld]).expect("it exists");
    sim.advance(30);
    near("the other still holds", apart(sim.world()), 0.5, 2e-2);
    sim.world().remove_joints(&second).expect("it exists");
    sim.advance(60);
    assert!(apart(sim.world()) > 0.95, "removed: {} m apart", apart(sim.world()));
}

/// A target moves at 60 Hz around a circle: the body follows, and the step needs no readback from the device.
fn a_mouse_drags_a_body(backend: Backend) {
    let mut scene = world(10.0);
    scene.add(Body::fixed(0.0, -5.0).shape(Shape::half_box(50.0, 0.5)));
    let body = scene.add(block(2.0, 0.0));
    let mut sim = backend.start(&scene);
    sim.advance(3);
    let target = |step: u16| 2.0 * Vec2::from_angle(f32::from(step) / 60.0);
    let kind = JointKind::Mouse { target: target(0), max_force: 1000.0 };
    let mouse = sim.world().add_joints(&[Joint::to_world(kind, body)]).expect("a joint")[0];
    let mut off: f32 = 0.0;
    for step in 0..240 {
        sim.world().command_joint(mouse, JointCommand::Target(target(step))).expect("a mouse joint");
        sim.advance(1);
        if step > 60 {
            off = off.max(Vec2::from(sim.body(body).position).distance(target(step)));
        }
    }
    // A spring of 5 Hz under a weight of 10 N/kg sags by 10/(2π·5)² = 1 cm, and lags behind 2 m/s by its damping:
    // 2ζ/ω·v = 9 cm.
    between("it lags behind", off, 0.02, 0.15);
    sim.world().remove_joints(&[mouse]).expect("it exists");
    let before = sim.body(body).position[1];
    sim.advance(30);
    far("let go, it falls", sim.body(body).position[1], before.into(), 0.5);
}

fn motors_limits_and_springs_obey(backend: Backend) {
    let mut scene = world(0.0);
    let ground = scene.add(Body::fixed(0.0, -50.0).shape(Shape::circle(0.5)));
    let wheel = scene.add(block(0.0, 0.0));
    let slider = scene.add(block(10.0, 0.0));
    let bob = scene.add(point(20.0, 0.0));
    let sprung = scene.add(block(30.0, 0.0));
    let rod = scene.add(point(43.0, 0.0));
    let motor = |kind: JointKind| match kind {
        JointKind::Revolute { .. } => JointKind::Revolute {
            reference_angle: Some(0.0),
            limits: None,
            motor: Some(Motor { speed: 0.0, max: 0.0 }),
            spring: None,
        },
        other => other,
    };
    scene.join(Joint::to_world(motor(JointKind::hinge()), wheel));
    scene.join(
        Joint::to_world(
            JointKind::Prismatic {
                axis: Vec2::X,
                reference_angle: None,
                limits: Some([-1.0, 1.0]),
                motor: Some(Motor { speed: 1.0, max: 100.0 }),
                spring: None,
            },
            slider,
        )
        .anchors([10.0, 0.0], [0.0, 0.0]),
    );
    scene.join(
        Joint::to_world(JointKind::Spring { rest_length: Some(1.0), stiffness: 100.0, damping: 30.0 }, bob)
            .anchors([20.0, 1.0], [0.0, 0.0]),
    );
    scene.join(
        Joint::to_world(
            JointKind::Revolute {
                reference_angle: None,
                limits: None,
                motor: None,
                spring: Some(Spring { hertz: 2.0, damping_ratio: 1.0, target: 0.0 }),
            },
            sprung,
        )
        .anchors([30.0, 0.0], [0.0, 0.0]),
    );
    scene.join(Joint::new(JointKind::rod(), ground, rod).anchors([40.0, 50.0], [0.0, 0.0]));
    let mut sim = backend.start(&scene);
    let id = |sim: &mut crate::common::Sim, index| sim.world().joint_id(index).expect("a joint");
    sim.advance(120);
    near("a motor without force", sim.body(wheel).angular_velocity, 0.0, 1e-6);
    near("up to its limit", sim.body(slider).position[0], 11.0, 0.01);
    near("at rest length", sim.body(bob).position[1], 0.0, 0.01);
    for (index, command) in [
        (0, JointCommand::Motor { speed: 2.0, max: 50.0 }),
        (1, JointCommand::Limits([-3.0, 2.5])),
        (2, JointCommand::Length(0.25)),
        (3, JointCommand::SpringTarget(0.75)),
        (4, JointCommand::Length(5.0)),
    ] {
        let joint = id(&mut sim, index);
        sim.world().command_joint(joint, command).expect("it has one");
    }
    sim.advance(300);
    near("the motor turns", sim.body(wheel).angular_velocity, 2.0, 1e-3);
    near("up to its new limit", sim.body(slider).position[0], 12.5, 0.01);
    near("at its new length", sim.body(bob).position[1], 0.75, 0.01);
    near("at its new angle", sim.body(sprung).angle, 0.75, 0.01);
    near("as long as commanded", sim.body(rod).position[0], 45.0, 0.01);
    // The last command of a step counts.
    let slider_joint = id(&mut sim, 1);
    for speed in [5.0, -1.0] {
        let command = JointCommand::Motor { speed, max: 100.0 };
        sim.world().command_joint(slider_joint, command).expect("it has one");
    }
    sim.advance(480);
    near("back to the other limit", sim.body(slider).position[0], 7.0, 0.01);
}

fn an_offset_counts_full_turns(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0));
    let kind =
        JointKind::Motor { linear_offset: Vec2::new(0.0, 0.0), angular_offset: 0.0, max_force: 1e4, max_torque: 1e3 };
    scene.join(Joint::to_world(kind, body).soft(1.0, 1.0));
    let mut sim = backend.start(&scene);
    let joint = sim.world().joint_id(0).expect("a joint");
    sim.advance(10);
    let turn = 3.0 * std::f32::consts::TAU;
    let offset = JointCommand::Offset { linear: Vec2::new(2.0, -1.0), angular: turn };
    sim.world().command_joint(joint, offset).expect("a motor joint");
    let mut turned = 0.0;
    for _ in 0..300 {
        sim.advance(1);
        turned += sim.body(body).angular_velocity / 60.0;
    }
    near("three times round", turned, turn.into(), 0.2);
    near("there", sim.body(body).position[0], 2.0, 0.02);
    near("and there", sim.body(body).position[1], -1.0, 0.02);
    near("nothing is left", sim.joints()[0].angle, 0.0, 0.02);
}

fn unsuitable_joint_commands_are_rejected(backend: Backend) {
    let (scene, joints) = row();
    let mut sim = backend.start(&scene);
    let world = sim.world();
    let ids = world.add_joints(&joints).expect("joints");
    let before = world.snapshot().expect("a snapshot");
    for (index, command, says) in [
        (
            0,
            JointCommand::Motor { speed: 1.0, max: 1.0 },
            "joint 0.0 is of type revolute; expected a joint with a motor",
        ),
        (0, JointCommand::Limits([0.0, 1.0]), "expected a joint with limits that leave something free"),
        (0, JointCommand::Target(Vec2::ZERO), "expected a mouse joint"),
        (0, JointCommand::Offset { linear: Vec2::ZERO, angular: 0.0 }, "expected a motor joint"),
        (0, JointCommand::Length(1.0), "expected a rod, a spring or a pulley"),
        (4, JointCommand::SpringTarget(1.0), "expected a hinge, a slider or a wheel with a spring"),
        (1, JointCommand::Length(0.0), "joint 1.0.length: is 0; expected a length"),
        (3, JointCommand::Length(f32::NAN), "joint 3.0.rest_length: is not a number"),
        (10, JointCommand::Target(Vec2::new(0.0, 1e9)), "joint 10.0.target[1]: is 1e9"),
        (0, JointCommand::Motor { speed: 1.0, max: -1.0 }, "joint 0.0.motor.max: is -1"),
        (0, JointCommand::Limits([2.0, 1.0]), "joint 0.0.limits: is [2, 1], upside down"),
    ] {
        let error = world.command_joint(ids[index], command).expect_err(says).to_string();
        assert!(error.contains(says), "{error}, expected {says}");
    }
    assert_eq!(world.snapshot().expect("a snapshot"), before);
}

fn goals_survive_snapshots(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0));
    let hinge = JointKind::Revolute {
        reference_angle: None,
        limits: None,
        motor: Some(Motor { speed: 1.0, max: 10.0 }),
        spring: None,
    };
    scene.join(Joint::to_world(hinge, body));
    scene.join(Joint::to_world(JointKind::Mouse { target: Vec2::ZERO, max_force: 10.0 }, body));
    let (mut sim, mut other) = (backend.start(&scene), backend.start(&scene));
    let world = sim.world();
    let ids = [world.joint_id(0).expect("a joint"), world.joint_id(1).expect("a joint")];
    world.command_joint(ids[0], JointCommand::Motor { speed: -4.0, max: 10.0 }).expect("a motor");
    advance(world, 5);
    world.command_joint(ids[1], JointCommand::Target(Vec2::new(3.0, 1.0))).expect("a mouse");
    // One command is applied, the other pending.
    let bytes = world.save().expect("bytes");
    advance(world, 90);
    let wanted = world.snapshot().expect("a snapshot");
    near("turns as commanded", sim.body(body).angular_velocity, -4.0, 0.05);
    let late = other.world();
    late.load(&bytes).expect("the same scene");
    advance(late, 90);
    assert_eq!(bodies_only(&late.snapshot().expect("a snapshot")), bodies_only(&wanted));
    // The same in the original world.
    let world = sim.world();
    world.load(&bytes).expect("its own");
    advance(world, 90);
    assert_eq!(bodies_only(&world.snapshot().expect("a snapshot")), bodies_only(&wanted));
    // Negative control: without its goals the world behaves differently.
    let mut snapshot = Snapshot::from_bytes(&bytes, late.compiled().fingerprint()).expect("a snapshot");
    let told = snapshot.clone();
    snapshot.row_goals[0].goal = 1.0;
    late.restore(&snapshot).expect("a snapshot of this world");
    advance(late, 90);
    assert_ne!(bodies_only(&late.snapshot().expect("a snapshot")), bodies_only(&wanted));
    // Invalid goals are rejected.
    let mut wrong = told.clone();
    wrong.row_goals[0].goal = f32::NAN;
    assert!(late.restore(&wrong).is_err());
    let mut wrong = told.clone();
    wrong.joint_goals[0].flags = 1;
    assert!(late.restore(&wrong).is_err());
    let mut wrong = told;
    wrong.commands[0].body = 2;
    assert!(late.restore(&wrong).is_err());
}

fn joints_of_a_run_survive_snapshots(backend: Backend) {
    let (scene, joints) = row();
    let drive = |world: &mut World, from: usize, to: usize| {
        for step in from..to {
            if step % 8 == 0 {
                world.add_joints(&joints[step / 8..step / 8 + 3]).expect("joints");
            }
            if step % 8 == 5 {
                let index = step / 8 * 2;
                let ids: Vec<JointId> = [index, index + 1].iter().filter_map(|&at| world.joint_id(at)).collect();
                world.remove_joints(&ids).expect("they exist");
            }
            world.step().expect("a step");
        }
    };
    let mut sims = [backend.start(&scene), backend.start(&scene), backend.start(&scene)];
    let [first, second, third] = &mut sims;
    drive(first.world(), 0, 60);
    // Between an addition and the step in which its length is measured.
    drive(second.world(), 0, 24);
    second.world().add_joints(&[Joint::new(JointKind::rod(), 2, 5).break_force(1e9)]).expect("a joint");
    drive(third.world(), 0, 24);
    third.world().add_joints(&[Joint::new(JointKind::rod(), 2, 5).break_force(1e9)]).expect("a joint");
    let bytes = second.world().save().expect("bytes");
    drive(second.world(), 25, 60);
    advance(third.world(), 3);
    third.world().load(&bytes).expect("the same history");
    drive(third.world(), 25, 60);
    let (second, third) = (second.world().snapshot().expect("one"), third.world().snapshot().expect("one"));
    assert_eq!(state::hash(&second), state::hash(&third));
    assert_ne!(state::hash(&second), state::hash(&first.world().snapshot().expect("one")));
    let untold = Snapshot { lineage: Lineage::default(), ..second };
    let error = first.world().restore(&untold).expect_err("another history");
    assert!(matches!(error, WorldError::Snapshot(_)), "{error}");
}

/// On the GPU events arrive late: a break is reported with the id of the joint that broke, not of a later one with the
/// same index.
fn an_event_of_a_joint_that_is_gone(backend: Backend) {
    let mut scene = world(10.0);
    scene.settings.events = true;
    for x in [0.0, 5.0, 10.0] {
        scene.add(block(x, 0.0));
    }
    let mut sim = backend.start(&scene);
    let world = sim.world();
    let weak = Joint::to_world(JointKind::hinge(), 1).anchors([5.0, 0.0], [0.0, 0.0]).break_force(1.0);
    let old = world.add_joints(&[weak]).expect("a joint")[0];
    advance(world, 3);
    world.remove_joints(&[old]).expect("it exists");
    let new = world.add_joints(&[Joint::new(JointKind::rod(), 0, 2)]).expect("a joint")[0];
    assert_eq!((new.index, new.generation), (0, 1));
    advance(world, 3);
    world.wait().expect("the device");
    let events = world.take_events().expect("the device");
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!((events[0].joint, events[0].bodies), (Some(old), [drystone::low_level::types::NONE, 1]));
}

/// The host assigns the same slots on both backends, and the counts of the stages agree.
#[test]
fn both_backends_assign_the_same_joint_slots() {
    let (scene, joints) = row();
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    let mut host = CpuWorld::new(&scene).expect("a scene");
    let mut device = GpuWorld::new(&context, &scene).expect("a scene");
    for round in 0..10_usize {
        let some = &joints[round % 4..round % 4 + 5];
        assert_eq!(host.add_joints(some).expect("joints"), device.add_joints(some).expect("joints"));
        let ids: Vec<JointId> = (round..round + 3).filter_map(|index| host.joint_id(index)).collect();
        host.remove_joints(&ids).expect("they exist");
        device.remove_joints(&ids).expect("they exist");
        for _ in 0..3 {
            host.step().unwrap();
            device.step().expect("a step");
        }
        let (host_now, device_now) = (host.snapshot(), device.snapshot().expect("a snapshot"));
        assert_eq!(host_now.population, device_now.population);
        assert_eq!(host_now.counters.contacts, device_now.counters.contacts);
        let flags = |snapshot: &Snapshot| snapshot.joint_goals.iter().map(|goal| goal.flags).collect::<Vec<_>>();
        assert_eq!(flags(&host_now), flags(&device_now));
        assert_eq!(host.compiled().joints.starts, device.compiled().joints.starts);
        assert_eq!(host.compiled().fingerprint(), device.compiled().fingerprint());
    }
}

/// A step that is repeated after a buffer overflow measures and applies commands once.
#[test]
fn strict_steps_with_new_joints_are_the_same_at_any_capacity() {
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    let mut scene = world(10.0);
    scene.settings.strict = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 0.5)));
    for index in 0..60_u8 {
        scene.add(block(f32::from(index % 10) * 1.01 - 5.0, f32::from(index / 10) * 1.01));
    }
    let run = |capacity: u32| {
        let compiled = drystone::low_level::scene::Compiled::new(&scene).expect("a scene");
        let mut world = GpuWorld::from_compiled(&context, compiled, Some(capacity)).expect("a world");
        let motor = JointKind::Motor {
            linear_offset: Vec2::new(0.0, 8.0),
            angular_offset: 0.0,
            max_force: 500.0,
            max_torque: 10.0,
        };
        let joints = [Joint::new(JointKind::rod(), 55, 20), Joint::to_world(motor, 30)];
        let ids = world.add_joints(&joints).expect("joints");
        let turn = JointCommand::Offset { linear: Vec2::new(1.0, 9.0), angular: 0.5 };
        world.command_joint(ids[1], turn).expect("a motor joint");
        for _ in 0..20 {
            world.step().expect("a step");
        }
        (state::hash(&world.snapshot().expect("a snapshot")), world.contact_capacity())
    };
    let ((small, grown), (large, _)) = (run(16), run(4096));
    assert!(grown > 16, "nothing was run again");
    assert_eq!(small, large);
}

/// Negative control of [`a_broken_joint_lets_its_bodies_touch`] on the device: without its kernel the bodies do not
/// collide.
#[test]
fn without_its_kernel_bodies_stay_apart() {
    use drystone::low_level::gpu::kernel::Patch;
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    let patch = Patch {
        shader: "pair",
        from: "let parted = (joints[place].flags & JOINT_DISABLED) != 0u || (joint_states[place].status & BROKEN) != 0u;",
        to: "let parted = false;",
    };
    let scene = overlapping(Some(20.0));
    let touches = |patches: &[Patch]| {
        let mut world = World::from(GpuWorld::patched(&context, &scene, patches).expect("a world"));
        world.command(1, PRESS).expect("a body");
        advance(&mut world, 20);
        assert!(world.joint_reactions().expect("a snapshot")[0].broken);
        !world.snapshot().expect("a snapshot").contacts.is_empty()
    };
    assert_eq!([touches(&[]), touches(&[patch])], [true, false]);
}
