//! Determinism of sleeping: the same bits for any number of threads, any capacity, from a snapshot, and with or without
//! skipping steps in which all bodies sleep.

use drystone::low_level::scene::Compiled;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{AdapterChoice, Body, Command, Context, Scene, Shape, Snapshot, World};
use drystone_scenes::catalogue;
use glam::Vec2;

use crate::sleep::{REST, floor, stack};

/// Returns stacks, and boxes that fall between them.
fn scene() -> Scene {
    let mut scene = floor();
    for x in [-6_i8, -3, 0, 3, 6] {
        stack(&mut scene, f32::from(x), 4);
    }
    for index in 0_u8..6 {
        scene.add(Body::dynamic(3.0 * f32::from(index) - 7.5, 3.0).shape(Shape::half_box(0.3, 0.3)));
    }
    scene
}

const STEPS: u64 = 260;

/// Returns hash and number of awake bodies after each step, with some commands on the way.
fn trace(world: &mut World) -> Vec<(u64, u32)> {
    let from = world.steps();
    (from..STEPS)
        .map(|step| {
            ask(world, step);
            world.step().expect("a step");
            let snapshot = world.snapshot().expect("a snapshot");
            (full_hash(&snapshot), snapshot.counters.awake)
        })
        .collect()
}

fn ask(world: &mut World, step: u64) {
    match step {
        130 => world.command(3, Command::Wake).expect("a command"),
        160 => world.command(21, Command::Velocity(Vec2::new(9.0, 3.0))).expect("a command"),
        200 => world.command(19, Command::Velocity(Vec2::new(0.5, 1.0))).expect("a command"),
        240 => world.wake_all(),
        _ => {}
    }
}

/// Returns a hash of everything except the step and the overflow bits, which depend on the capacity.
fn full_hash(snapshot: &Snapshot) -> u64 {
    let lists = [
        bytemuck::cast_slice::<_, u8>(&snapshot.sleeping),
        bytemuck::cast_slice(&snapshot.islands),
        bytemuck::cast_slice(&snapshot.contacts),
        bytemuck::cast_slice(&snapshot.manifolds),
    ];
    lists
        .concat()
        .iter()
        .fold(state::hash(snapshot), |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn gpu(scene: &Scene, capacity: Option<u32>) -> GpuWorld {
    let context = Context::new(AdapterChoice::Any).expect("an adapter, a software one will do");
    GpuWorld::from_compiled(&context, Compiled::new(scene).expect("a scene"), capacity).expect("a world")
}

fn cpu(scene: &Scene) -> CpuWorld {
    CpuWorld::new(scene).expect("a scene")
}

fn assert_same(what: &str, ours: &[(u64, u32)], theirs: &[(u64, u32)]) {
    let differs = ours.iter().zip(theirs).position(|(a, b)| a != b);
    assert_eq!((differs, ours.len()), (None, theirs.len()), "{what}: first step that differs");
}

#[test]
fn cpu_runs_agree() {
    let scene = scene();
    let first = trace(&mut cpu(&scene).into());
    assert!(first.iter().any(|&(_, awake)| awake == 0), "they never all sleep: {first:?}");
    assert!(first.windows(2).any(|pair| pair[0].1 == 0 && pair[1].1 > 0), "no body wakes");
    assert_same("again", &trace(&mut cpu(&scene).into()), &first);
    for threads in [2, 3] {
        let shared = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(0);
        assert_same("threads", &trace(&mut shared.into()), &first);
    }
    assert_same("every step run", &trace(&mut cpu(&scene).without_rest().into()), &first);
    let mut other = scene.clone();
    other.settings.sleep = false;
    let control = trace(&mut cpu(&other).into());
    assert!(control.iter().zip(&first).any(|(a, b)| a != b), "sleep changes nothing");
}

#[test]
fn gpu_runs_agree() {
    let scene = scene();
    let first = trace(&mut gpu(&scene, None).into());
    assert!(first.windows(2).any(|pair| pair[0].1 == 0 && pair[1].1 > 0), "they never all sleep, or never wake");
    assert_same("every step run", &trace(&mut gpu(&scene, None).without_rest().into()), &first);
    let mut strict = scene.clone();
    strict.settings.strict = true;
    assert_same("strict, from one contact on", &trace(&mut gpu(&strict, Some(1)).into()), &first);
    assert_same("100,000 fit", &trace(&mut gpu(&scene, Some(100_000)).into()), &first);
    // Without snapshots, so that steps are in flight while others are recorded.
    let mut blind: World = gpu(&scene, None).into();
    for step in 0..STEPS {
        ask(&mut blind, step);
        blind.step().expect("a step");
    }
    let last = full_hash(&blind.snapshot().expect("a snapshot"));
    assert_eq!(Some(last), first.last().map(|row| row.0), "a run without looking");
}

#[test]
fn a_snapshot_of_sleepers_continues_to_the_last_bit() {
    let scene = scene();
    let worlds: [[World; 2]; 2] =
        [[cpu(&scene).into(), cpu(&scene).into()], [gpu(&scene, None).into(), gpu(&scene, Some(4)).into()]];
    for [mut first, mut second] in worlds {
        for step in 0..190 {
            ask(&mut first, step);
            first.step().expect("a step");
        }
        let snapshot = first.snapshot().expect("a snapshot");
        assert!(snapshot.sleeping.len() > 20, "too few bodies sleep: {:?}", snapshot.counters);
        let bytes = first.save().expect("bytes");
        second.load(&bytes).expect("a snapshot of this world");
        assert_eq!(second.save().expect("bytes"), bytes);
        let rest = trace(&mut first);
        assert_same("restored", &trace(&mut second), &rest);
        // Negative control: archived contacts matter once the bodies wake.
        let mut bare = snapshot;
        (bare.sleeping, bare.sleeping_starts) = (Vec::new(), Vec::new());
        second.restore(&bare).expect("a snapshot of this world");
        assert!(trace(&mut second).iter().zip(&rest).any(|(a, b)| a != b), "the archived contacts have no effect");
        let mut wrong = bare.clone();
        for island in [1_000_000, 5] {
            // Out of range, or not a root.
            wrong.islands[5] = 3;
            wrong.islands[3] = island;
            second.restore(&wrong).expect_err("no island");
        }
    }
}

/// While contacts do not fit, no body falls asleep and the steps are reported; the world grows, and then they do.
#[test]
fn a_world_that_outgrows_its_buffers_sleeps_later() {
    let mut scene = scene();
    // Loads at the start would make room for the contacts.
    scene.settings.initial_loads = false;
    let mut world: World = gpu(&scene, Some(2)).into();
    (0..REST + 5).for_each(|_| world.step().expect("a step"));
    assert!(!world.overflowed_steps().is_empty(), "two contacts were enough");
    (0..200).for_each(|_| world.step().expect("a step"));
    let snapshot = world.snapshot().expect("a snapshot");
    assert_eq!((snapshot.counters.awake, snapshot.counters.overflow_bits), (0, 0));
    assert!(snapshot.counters.sleeping_contacts as usize == snapshot.sleeping.len() && snapshot.sleeping.len() > 20);
}

/// A sleeping catalogue scene wakes on the other backend as on its own, within rounding.
#[test]
fn sleepers_move_between_backends() {
    let mut scene = catalogue::build("large_pyramid:base=8").expect("a pyramid");
    scene.settings.sleep = true;
    let mut here: World = cpu(&scene).into();
    let mut there: World = gpu(&scene, None).into();
    while here.steps() < 30 || here.snapshot().expect("a snapshot").counters.awake > 0 {
        here.step().expect("a step");
        assert!(here.steps() < 300, "the pyramid does not fall asleep");
    }
    there.restore(&here.snapshot().expect("a snapshot")).expect("a snapshot of this world");
    for world in [&mut here, &mut there] {
        (0..20).for_each(|_| world.step().expect("a step"));
        world.command(5, Command::Wake).expect("a command");
        (0..3).for_each(|_| world.step().expect("a step"));
    }
    let (here, there) = (here.snapshot().expect("a snapshot"), there.snapshot().expect("a snapshot"));
    assert_eq!(here.counters.awake, 36);
    assert_eq!(there.counters.awake, 36);
    for (a, b) in here.poses.iter().zip(&there.poses) {
        assert!((Vec2::from(a.position) - Vec2::from(b.position)).length() < 1e-4);
    }
}
