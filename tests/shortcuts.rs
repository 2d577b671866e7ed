//! What the CPU knows from steps before, and the shorter ways that it takes around stages, leave no trace: the same bits as
//! each stage in full in every step.

mod support;

use std::cell::Cell;

use drystone::low_level::CpuWorld;
use drystone::low_level::types::{BROKEN, JointFrame, JointState};
use drystone::{Body, Command, Joint, JointCommand, JointKind, Scene, Settings, Shape, Snapshot};
use drystone_scenes::catalogue;
use glam::Vec2;
use support::{Random, build, cpu, full_hash, pile};

/// All that a snapshot carries.
fn bits(world: &CpuWorld) -> (u64, Vec<u8>) {
    let snapshot = world.snapshot();
    let joints: [&[u8]; 2] = [
        bytemuck::cast_slice::<JointState, u8>(&snapshot.joint_states),
        bytemuck::cast_slice::<[f32; 2], u8>(&snapshot.joint_impulses),
    ];
    (full_hash(&snapshot), joints.concat())
}

/// Runs a scene with shortcuts on one thread and on three, and without, and compares them after every step. `act` may do
/// something before a step. Returns the first.
fn assert_no_trace(scene: &Scene, steps: u64, act: impl Fn(u64, &mut CpuWorld)) -> CpuWorld {
    let mut plain = cpu(scene).without_shortcuts();
    let mut worlds = [cpu(scene), cpu(scene).with_threads(3).expect("threads").with_sharing_from(0)];
    for step in 0..steps {
        act(step, &mut plain);
        plain.step().unwrap();
        let expected = bits(&plain);
        for world in &mut worlds {
            act(step, world);
            world.step().unwrap();
            assert!(bits(world) == expected, "{}, step {step}, {} threads", scene.name, world.threads());
        }
    }
    let none = plain.shortcuts();
    assert_eq!((none.listed, none.walls, none.joints), (0, 0, 0));
    let [world, _] = worlds;
    world
}

fn nothing(_: u64, _: &mut CpuWorld) {}

/// Every scene of the catalogue, small.
#[test]
fn shortcuts_leave_no_trace() {
    let (mut listed, mut walls, mut joints) = (0, 0, 0);
    for entry in catalogue::entries() {
        let small = match entry.name {
            "large_pyramid" | "far_pyramid" => ":base=12",
            "many_pyramids" => ":rows=2,columns=3,base=4",
            "joint_grid" => ":size=12",
            "smash" => ":columns=14,rows=10",
            "tumbler" => ":grid=12",
            "washer" => ":grid=16",
            "spinner" => ":bodies=120",
            "compounds" => ":columns=5",
            "junkyard" => ":columns=12",
            "rush" => ":count=60",
            "bridge" => ":planks=30",
            _ => "",
        };
        let steps = if small.is_empty() { 60 } else { 100 };
        let done = assert_no_trace(&build(&format!("{}{small}", entry.name)), steps, nothing).shortcuts();
        listed += u64::from(done.listed > done.lists);
        walls += u64::from(done.walls > 0);
        joints += u64::from(done.joints > 0);
    }
    // Else nothing was compared with anything.
    assert!(listed >= 20 && walls >= 20 && joints >= 8, "in {listed}, {walls} and {joints} scenes");
}

/// Shapes of all sizes, long ones among them, in a tight torus of cells, thrown about.
fn jumble(seed: u64) -> Scene {
    let mut random = Random(seed);
    let mut scene = pile(seed, 60);
    scene.name = format!("jumble {seed}");
    for _ in 0..30 {
        let long = random.between(0.5, 6.0);
        let shape = match random.below(3) {
            0 => Shape::capsule([-long, 0.0], [long, 0.0], random.between(0.05, 0.3)),
            1 => Shape::half_box(long, random.between(0.05, 0.4)),
            _ => Shape::circle(0.4 * long),
        };
        let body = Body::dynamic(random.between(-8.0, 8.0), random.between(6.0, 30.0));
        scene.add(body.angle([0.0, 1.5, random.between(-3.0, 3.0)][random.below(3)]).shape(shape.density(0.2)));
    }
    scene
}

#[test]
fn shortcuts_leave_no_trace_among_shapes_of_all_sizes() {
    for seed in 0..6 {
        let done = assert_no_trace(&jumble(seed), 150, nothing).shortcuts();
        assert!(done.listed > 20, "seed {seed}: {done:?}");
    }
}

/// Bodies that are put elsewhere, come and go, joints that are switched off and on again, and worlds that are set back.
#[test]
fn shortcuts_leave_no_trace_when_the_world_is_changed() {
    let mut scene = pile(4, 80);
    for index in 0..6 {
        let link = |x: f32| Body::dynamic(x, 20.0).shape(Shape::half_box(0.4, 0.1));
        let (a, b) = (scene.add(link(index as f32 - 3.0)), scene.add(link(index as f32 - 2.2)));
        scene.join(Joint::new(JointKind::hinge(), a, b).anchors([0.4, 0.0], [-0.4, 0.0]));
    }
    let act = |step: u64, world: &mut CpuWorld| {
        let mut random = Random(step);
        let body = 1 + random.below(60);
        match step % 23 {
            2 => {
                let position = Vec2::new(random.between(-3.0, 3.0), random.between(2.0, 12.0));
                world.command(body, Command::Teleport { position, angle: 1.0 }).expect("a body");
            }
            8 => drop(world.add_bodies(&[Body::dynamic(0.1, 14.0).shape(Shape::circle(0.5))]).expect("a good body")),
            14 => {
                if let Some(id) = world.body_id(body) {
                    world.remove_bodies(&[id]).expect("it is there");
                }
            }
            19 if step > 60 => {
                let joint = world.joint_id(random.below(6)).expect("a joint");
                world.command_joint(joint, JointCommand::Enable(random.below(2) == 0)).expect("it can be");
            }
            _ => {}
        }
    };
    let done = assert_no_trace(&scene, 240, act).shortcuts();
    assert!(done.listed > 20 && done.walls > 100 && done.joints > 20, "{done:?}");
}

/// Rods to the world, which keep nobody apart, of which one breaks under its ball.
#[test]
fn joints_that_break_are_watched() {
    let mut scene = Scene::new("rods").gravity(0.0, -10.0);
    for (x, force) in [(0.0, f32::MAX), (4.0, 20.0)] {
        let ball = scene.add(Body::dynamic(x + 1.0, 0.0).shape(Shape::circle(0.5)));
        let rod = Joint::to_world(JointKind::rod(), ball).anchors([x, 0.0], [0.0, 0.0]);
        scene.join(if force < f32::MAX { rod.break_force(force) } else { rod });
    }
    let world = assert_no_trace(&scene, 90, nothing);
    let broken = world.snapshot().joint_states.iter().filter(|state| state.status & BROKEN != 0).count();
    assert_eq!((broken, world.shortcuts().joints), (1, 0));
    let world = assert_no_trace(&Scene { joints: vec![scene.joints[0].clone()], ..scene }, 90, nothing);
    assert_eq!(world.shortcuts().joints, 89);
}

#[test]
fn shortcuts_leave_no_trace_after_a_restore() {
    for spec in ["joint_grid:size=10", "compounds:columns=5", "tumbler:grid=12"] {
        let scene = build(spec);
        let mut world = cpu(&scene);
        let kept: Vec<Snapshot> = (0..3)
            .map(|_| {
                (0..25).for_each(|_| world.step().unwrap());
                world.snapshot()
            })
            .collect();
        let end = bits(&world);
        for snapshot in kept.iter().rev() {
            world.restore(snapshot).expect("its own");
            (snapshot.step..75).for_each(|_| world.step().unwrap());
            assert!(bits(&world) == end, "{spec} from step {}", snapshot.step);
        }
    }
}

/// Moving walls, and one that turns fast.
#[test]
fn few_walls_that_move_are_met_as_in_the_grid() {
    let mut scene = Scene::new("paddles").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for (x, spin) in [(-3.0, 9.0), (3.0, -14.0)] {
        let paddle = Body::kinematic(x, 4.0).angular_velocity(spin);
        scene.add(paddle.shape(Shape::half_box(2.5, 0.05)).shape(Shape::capsule([0.0, -2.0], [0.0, 2.0], 0.04)));
    }
    let mut random = Random(9);
    for index in 0..120 {
        let at = [random.between(-6.0, 6.0), 6.0 + 0.2 * index as f32];
        let body = Body::dynamic(at[0], at[1]).velocity(random.between(-40.0, 40.0), random.between(-60.0, 0.0));
        scene.add(body.shape([Shape::circle(0.12), Shape::half_box(0.2, 0.08)][random.below(2)].clone()));
    }
    let stopped = Cell::new(0);
    let done = assert_no_trace(&scene, 90, |_, world| stopped.set(stopped.get() + world.counters().continuous));
    assert!(stopped.get() > 60 && done.shortcuts().walls == 90, "{} stops, {:?}", stopped.get(), done.shortcuts());
}

/// The comparison fails where a list is used for longer than it does.
#[test]
fn a_list_that_is_not_made_anew_is_noticed() {
    let scene = pile(4, 80);
    let (mut blind, mut plain) = (cpu(&scene).with_blind_list(), cpu(&scene).without_shortcuts());
    (0..120).for_each(|_| {
        blind.step().unwrap();
        plain.step().unwrap();
    });
    assert_eq!(blind.shortcuts().lists, 1);
    assert!(bits(&blind) != bits(&plain));
}

/// Frames are where they belong when somebody asks.
#[test]
fn frames_of_joints_are_handed_over() {
    let scene = build("joint_grid:size=6");
    let settings = Settings { substeps: Some(2), ..scene.settings };
    let scene = Scene { settings, ..scene };
    let (mut world, mut plain) = (cpu(&scene), cpu(&scene).without_shortcuts());
    (0..20).for_each(|_| {
        world.step().unwrap();
        plain.step().unwrap();
    });
    assert!(world.shortcuts().joints > 10);
    let (frames, expected) = (world.joint_frames(), plain.joint_frames());
    assert!(bytemuck::cast_slice::<JointFrame, u8>(&frames) == bytemuck::cast_slice::<JointFrame, u8>(&expected));
}
