//! The CPU engine equals the reference bit for bit: eight rows at a time, on several threads, with neighbor lists and
//! other state from earlier steps, and on its shortcuts around stages.

use std::cell::Cell;

use crate::support::{
    Random, assert_equal_to_reference, build, cpu, difference, full_hash, joint_kinds, pile, take_over,
};
use drystone::low_level::CpuWorld;
use drystone::low_level::cpu::schedule::Schedule;
use drystone::low_level::reference::Reference;
use drystone::low_level::step::Stage;
use drystone::low_level::types::{BROKEN, JointFrame, JointState, MASS_MASK};
use drystone::{Body, Command, Joint, JointCommand, JointKind, Mode, Scene, Settings, Shape, Snapshot, World};
use drystone_scenes::catalogue;
use glam::Vec2;

/// Returns all bits of a snapshot.
fn bits(world: &CpuWorld) -> (u64, Vec<u8>) {
    let snapshot = world.snapshot();
    let joints: [&[u8]; 2] = [
        bytemuck::cast_slice::<JointState, u8>(&snapshot.joint_states),
        bytemuck::cast_slice::<[f32; 2], u8>(&snapshot.joint_impulses),
    ];
    (full_hash(&snapshot), joints.concat())
}

/// Runs a scene on one thread and on three beside the reference, and compares them after every step. `act` may change
/// the world before a step. Returns the first world.
fn assert_no_trace(scene: &Scene, steps: u64, act: impl Fn(u64, &mut CpuWorld)) -> CpuWorld {
    let mut worlds = [cpu(scene), cpu(scene).with_threads(3).expect("threads").with_sharing_from(0)];
    assert_equal_to_reference(&scene.name, &mut worlds, steps, act);
    let [world, _] = worlds;
    world
}

fn nothing(_: u64, _: &mut CpuWorld) {}

/// Every scene of the catalogue, reduced in size.
#[test]
fn shortcuts_leave_no_trace() {
    let (mut listed, mut ccd_candidates, mut joints) = (0, 0, 0);
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
        ccd_candidates += u64::from(done.ccd_candidates > 0);
        joints += u64::from(done.joints > 0);
    }
    // Otherwise the shortcuts were not tested.
    assert!(listed >= 20 && ccd_candidates >= 20 && joints >= 8, "in {listed}, {ccd_candidates} and {joints} scenes");
}

/// A heavy block on small stones that a slider and a hinge connect: squeezed bodies count as heavier, for their joints
/// as well.
#[test]
fn joints_of_squeezed_bodies_leave_no_trace() {
    let mut scene = Scene::new("squeezed").gravity(0.0, -10.0);
    scene.settings.sleep = false;
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let stone = |x: f32| Body::dynamic(x, 0.1).shape(Shape::half_box(0.2, 0.1).density(1.0));
    let stones = [-1.0, 0.0, 1.0].map(|x| scene.add(stone(x)));
    scene.add(Body::dynamic(0.0, 1.2).shape(Shape::half_box(2.0, 1.0).density(500.0)));
    scene.join(Joint::new(JointKind::slider([1.0, 0.0]), stones[0], stones[1]).anchors([0.5, 0.0], [-0.5, 0.0]));
    scene.join(Joint::new(JointKind::hinge(), stones[1], stones[2]).anchors([0.5, 0.0], [-0.5, 0.0]).soft(5.0, 0.5));
    let world = assert_no_trace(&scene, 200, nothing);
    assert!(world.shortcuts().joints > 100, "{:?}", world.shortcuts());
    let scaled = world.snapshot().states.iter().filter(|state| state.status & MASS_MASK != 0).count();
    assert_eq!(scaled, 3, "all stones count as heavier");
}

/// Returns shapes of all sizes, long ones among them, thrown about in a small torus of cells.
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

/// Bodies are teleported, added and removed, joints disabled and enabled, and worlds restored.
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
                world.command(body, Command::Teleport { position: position.into(), angle: 1.0 }).expect("a body");
            }
            8 => drop(world.add_bodies(&[Body::dynamic(0.1, 14.0).shape(Shape::circle(0.5))]).expect("a good body")),
            14 => {
                if let Some(id) = world.body_id(body) {
                    world.remove_bodies(&[id]).expect("it exists");
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
    assert!(done.listed > 20 && done.ccd_candidates > 100 && done.joints > 20, "{done:?}");
}

/// Rods to the world, which disable no collisions; one of them breaks under its ball.
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
fn few_moving_walls_are_found_as_in_the_grid() {
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
    assert!(
        stopped.get() > 60 && done.shortcuts().ccd_candidates == 90,
        "{} stops, {:?}",
        stopped.get(),
        done.shortcuts()
    );
}

/// Negative control: the comparison fails if a neighbor list is used beyond its validity.
#[test]
fn an_outdated_neighbor_list_is_detected() {
    let scene = pile(4, 80);
    let (mut blind, mut reference) = (cpu(&scene).with_blind_list(), Reference::new(&scene).expect("a scene"));
    let differs = (0..120).any(|_| {
        take_over(&mut reference, &mut blind);
        reference.step();
        blind.step().unwrap();
        difference(&reference.tables(), &blind.tables()).is_some()
    });
    assert_eq!(blind.shortcuts().lists, 1);
    assert!(differs);
}

/// Joint frames are up to date when they are read.
#[test]
fn joint_frames_are_up_to_date() {
    let scene = build("joint_grid:size=6");
    let settings = Settings { substeps: Some(2), ..scene.settings };
    let scene = Scene { settings, ..scene };
    let (mut world, mut reference) = (cpu(&scene), Reference::new(&scene).expect("a scene"));
    (0..20).for_each(|_| {
        world.step().unwrap();
        reference.step();
    });
    assert!(world.shortcuts().joints > 10);
    let (frames, expected) = (world.joint_frames(), reference.tables().joint_frames);
    assert!(bytemuck::cast_slice::<JointFrame, u8>(&frames) == bytemuck::cast_slice::<JointFrame, u8>(&expected));
}

/// The reference runs on its own and reaches the same state as the engine.
#[test]
fn the_reference_alone_reaches_the_same_state() {
    for spec in ["card_house", "smash:columns=12,rows=8", "ragdoll", "bouncing_ball", "conveyor", "junkyard:columns=6"]
    {
        let scene = build(spec);
        let (mut world, mut reference) = (cpu(&scene), Reference::new(&scene).expect("a scene"));
        for step in 0..60 {
            world.step().unwrap();
            reference.step();
            assert_eq!(difference(&reference.tables(), &world.tables()), None, "{spec}, step {step}");
        }
        // Negative control: after one more step the state differs.
        reference.step();
        assert!(difference(&reference.tables(), &world.tables()).is_some(), "{spec}");
    }
}

/// Returns a scene with shapes of all sizes and kinds, joints, fast bodies and bullets, moving walls, sensors, sleep.
fn everything(mode: Mode) -> Scene {
    let mut scene = jumble(3);
    let settings = Settings { mode, sleep: mode == Mode::Soft, events: true, ..scene.settings };
    scene = Scene { settings, ..scene };
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.28, 0.96], -0.5)));
    scene.add(Body::fixed(2.0, 2.0).shape(Shape::circle(1.5).sensor()));
    let paddle = Body::kinematic(0.0, 5.0).angular_velocity(9.0);
    scene.add(paddle.shape(Shape::half_box(2.5, 0.05).restitution(0.6)));
    let mut random = Random(17);
    for index in 0..30 {
        let mut body = Body::dynamic(random.between(-6.0, 6.0), random.between(8.0, 20.0));
        body.bullet = index % 3 == 0;
        let body = body.velocity(random.between(-90.0, 90.0), random.between(-90.0, 0.0)).angular_velocity(9.0);
        let shape = match index % 4 {
            0 => Shape::circle(0.1).rolling_resistance(0.2),
            1 => Shape::half_box(0.2, 0.05).tangent_speed(1.0),
            2 => Shape::polygon([[-0.2, -0.1], [0.2, -0.1], [0.0, 0.2]]).friction(0.9).kinetic_friction(0.4),
            _ => Shape::rounded_box(0.1, 0.1, 0.05).restitution(0.7),
        };
        scene.add(body.shape(shape));
    }
    let last = scene.bodies.len() - 1;
    for (index, kind) in joint_kinds().into_iter().enumerate() {
        let joint = Joint::new(kind, last - 2 * index, last - 2 * index - 1).anchors([0.1, 0.0], [-0.1, 0.05]);
        scene.join(if index == 0 { joint.break_force(30.0) } else { joint });
    }
    scene
}

#[test]
fn every_feature_equals_the_reference() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        for (warm_start, accumulate, relax) in [(true, true, true), (false, true, true), (true, false, false)] {
            let scene = everything(mode);
            let settings = Settings { warm_start, accumulate, relax, ..scene.settings };
            let scene = Scene { name: format!("{mode:?} {warm_start} {accumulate} {relax}"), settings, ..scene };
            assert_no_trace(&scene, 40, nothing);
        }
    }
    // Each stage of the engine by itself, on the tables left by the stages before.
    for mode in [Mode::Soft, Mode::Projection] {
        let scene = everything(mode);
        let (mut world, mut reference) = (cpu(&scene), Reference::new(&scene).expect("a scene"));
        for step in 0..20 {
            take_over(&mut reference, &mut world);
            reference.begin_step();
            world.begin_step();
            for op in world.plan().to_vec() {
                reference.run(op);
                world.run(op).unwrap();
                let (expected, found) = (reference.tables(), world.tables());
                assert_eq!(difference(&expected, &found), None, "{mode:?}, step {step}, {}", op.stage.name());
                assert_eq!(expected.events, found.events, "{mode:?}, step {step}, {}", op.stage.name());
            }
            reference.end_step();
            world.end_step();
        }
    }
}

/// All contacts in the overflow, which is solved in order.
#[test]
fn the_overflow_equals_the_reference() {
    let mut worlds = [cpu(&pile(5, 80)).with_forced_overflow()];
    assert_equal_to_reference("overflow", &mut worlds, 60, nothing);
}

/// Negative control: a reference that leaves out any one stage differs from the engine.
#[test]
fn a_reference_without_a_stage_is_detected() {
    for stage in Stage::ALL {
        let mode = if matches!(stage, Stage::Project | Stage::ProjectJoints) { Mode::Projection } else { Mode::Soft };
        let mut scene = everything(mode);
        // A flat floor, on which a body falls asleep.
        scene.add(Body::dynamic(30.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
        scene.add(Body::fixed(30.0, -0.5).shape(Shape::half_box(3.0, 0.5)));
        scene.add(Body::dynamic(34.0, 0.2).velocity(-1.5, 0.0).shape(Shape::circle(0.5)));
        scene.gravity = Vec2::new(0.0, -10.0);
        let mut world = cpu(&scene);
        let mut reference = Reference::new(&scene).expect("a scene").without(stage);
        let differs = (0..150).any(|step| {
            if stage == Stage::Command && step == 3 {
                world.command(1, Command::Velocity([3.0, 4.0].into())).expect("a body");
            }
            world.step().unwrap();
            reference.step();
            let (expected, found) = (reference.tables(), world.tables());
            // Events are drained by the engine; the reference without the stage has none.
            let events = stage == Stage::CollectEvents && !world.take_events().is_empty() && expected.events.is_empty();
            events || difference(&expected, &found).is_some()
        });
        assert!(differs, "{} is not missed", stage.name());
    }
}

/// Profiled steps have the times of all stages and the same bits; other steps have no times. With each schedule.
#[test]
fn stages_are_timed_in_profiled_steps() {
    let scene = catalogue::build("many_pyramids:rows=2,columns=3,base=4").expect("a scene");
    for schedule in [Schedule::Serial, Schedule::IslandBatches, Schedule::WorkerTeam] {
        let new = || match schedule {
            Schedule::Serial => cpu(&scene).with_island_batches_of(0),
            Schedule::IslandBatches => cpu(&scene).with_island_batches_of(8),
            Schedule::WorkerTeam => {
                let world = cpu(&scene).with_island_batches_of(0);
                world.with_threads(2).expect("threads").with_sharing_from(0)
            }
        };
        let (mut plain, mut profiled) = (new(), new());
        for _ in 0..10 {
            plain.step().expect("a step");
            profiled.step_profiled().expect("a step");
        }
        assert_eq!((plain.schedule(), profiled.schedule()), (schedule, schedule));
        assert_eq!(bits(&plain), bits(&profiled), "{schedule:?}");
        for (stage, ms) in profiled.stage_ms() {
            let runs = profiled.plan().iter().any(|op| op.stage == *stage);
            assert_eq!(*ms > 0.0, runs, "{schedule:?}: {stage:?} took {ms} ms");
        }
        assert!(plain.stage_ms().iter().all(|(_, ms)| *ms == 0.0), "{schedule:?}");
    }
}

/// The mean is over the profiled steps alone.
#[test]
fn stage_times_are_means_of_profiled_steps() {
    let mut world = World::new(&catalogue::build("vertical_stack").expect("a scene")).expect("a world");
    let total = |world: &World| world.stage_ms().iter().map(|(_, ms)| ms).sum::<f64>();
    world.step().expect("a step");
    assert!(world.stage_ms().is_empty());
    world.step_profiled().expect("a step");
    let first = total(&world);
    (0..20).for_each(|_| world.step().expect("a step"));
    assert_eq!(total(&world), first);
}
