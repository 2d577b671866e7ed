//! Islands that fall asleep: which bodies, when, and together with which others.

use std::collections::BTreeSet;

use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{
    ASLEEP, BROKEN, DYNAMIC, JOINT_DISABLED, KINEMATIC, POINT_COUNT_MASK, QUIET_SHIFT, WORLD_A,
};
use drystone::{Body, Command, Joint, JointKind, Scene, Shape, Snapshot};
use glam::Vec2;

use crate::common::Backend;
use crate::sleep::{REST, asleep, block, command, floor, poses, settle, sleepers, stack, world};

on_every_backend!(
    the_timer_counts_steps_of_rest,
    a_stack_falls_asleep_and_does_not_move_by_a_bit,
    two_stacks_are_two_islands_and_a_plank_makes_them_one,
    joints_join_islands,
    a_body_that_never_sleeps_keeps_its_island_awake,
    a_platform_that_moves_keeps_awake_and_wakes,
    sleepers_are_whole_components,
);

/// A body without forces falls asleep after exactly [`REST`] steps of rest, and again after each motion.
fn the_timer_counts_steps_of_rest(backend: Backend) {
    let mut scene = world(0.0);
    scene.add(block(0.0, 0.0));
    let mut sim = backend.start(&scene);
    sim.advance(REST - 1);
    assert_eq!(asleep(&mut sim, 0..1), 0, "a step too early");
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..1), 1);
    command(&mut sim, 0, Command::Velocity(Vec2::new(1.0, 0.0)));
    sim.advance(10);
    assert_eq!(asleep(&mut sim, 0..1), 0, "asleep while moving");
    let moving = poses(&mut sim)[0].position[0];
    assert!((moving - 10.0 / 60.0).abs() < 1e-5, "it woke in the step after the command: at {moving} m");
    command(&mut sim, 0, Command::Velocity(Vec2::ZERO));
    sim.advance(REST - 1);
    assert_eq!(asleep(&mut sim, 0..1), 0, "a step too early again");
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..1), 1);
    // 4 cm/s is below the threshold, 2 cm/s above it is not.
    for (speed, sleeps) in [(0.04, 1), (0.07, 0)] {
        command(&mut sim, 0, Command::Velocity(Vec2::new(speed, 0.0)));
        sim.advance(REST + 5);
        assert_eq!(asleep(&mut sim, 0..1), sleeps, "at {speed} m/s");
    }
}

fn a_stack_falls_asleep_and_does_not_move_by_a_bit(backend: Backend) {
    let mut scene = floor();
    // It sinks first.
    scene.settings.initial_loads = false;
    stack(&mut scene, 0.0, 10);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 10, 200);
    assert!(sim.steps() > REST as u64, "asleep after {} steps", sim.steps());
    let before = sim.snapshot();
    sim.advance(1000);
    let after = sim.snapshot();
    assert_eq!(after.poses, before.poses, "it moved in its sleep");
    assert_eq!(after.states, before.states);
    assert_eq!((after.counters.awake, after.counters.contacts), (0, 0), "no body is awake, no contact is solved");
    assert!(after.sleeping.len() >= 10, "its contacts are archived");
    assert_eq!(after.step, before.step + 1000);
    // Negative control: without sleep it never rests to the bit.
    scene.settings.sleep = false;
    let mut awake = backend.start(&scene);
    awake.advance(usize::try_from(before.step).expect("few"));
    let before = poses(&mut awake);
    awake.advance(20);
    assert_ne!(poses(&mut awake), before, "no sleep, and yet it does not move: the test above shows nothing");
}

fn two_stacks_are_two_islands_and_a_plank_makes_them_one(backend: Backend) {
    let roots = |snapshot: &Snapshot| snapshot.islands.clone();
    let mut scene = floor();
    stack(&mut scene, -3.0, 3);
    stack(&mut scene, 3.0, 3);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 6, 300);
    assert_eq!(roots(&sim.snapshot()), [0, 1, 1, 1, 4, 4, 4]);
    command(&mut sim, 5, Command::Wake);
    sim.advance(1);
    assert_eq!(sleepers(&mut sim), [false, true, true, true, false, false, false]);
    assert_eq!(sim.snapshot().counters.woken, 3);

    scene.add(Body::dynamic(0.0, 3.1).shape(Shape::half_box(3.5, 0.1)));
    let mut sim = backend.start(&scene);
    settle(&mut sim, 7, 300);
    assert_eq!(roots(&sim.snapshot()), [0, 1, 1, 1, 1, 1, 1, 1]);
    command(&mut sim, 5, Command::Wake);
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..8), 0, "the plank joins them");
}

/// A chain that hangs in the air is one island; two bodies connected only to the same static one are two.
fn joints_join_islands(backend: Backend) {
    let mut scene = world(0.0);
    let anchor = scene.add(Body::fixed(0.0, 10.0).shape(Shape::circle(0.1)));
    for index in 0_u8..5 {
        scene.add(block(2.0 * f32::from(index), 0.0));
    }
    for index in 1..3 {
        scene.join(Joint::new(JointKind::rod(), index, index + 1));
    }
    scene.join(Joint::new(JointKind::rope(20.0), anchor, 4));
    scene.join(Joint::new(JointKind::rope(20.0), anchor, 5));
    let mut sim = backend.start(&scene);
    settle(&mut sim, 5, 60);
    assert_eq!(sim.snapshot().islands, [0, 1, 1, 1, 4, 5]);
    command(&mut sim, 3, Command::Wake);
    sim.advance(1);
    assert_eq!(sleepers(&mut sim), [false, false, false, false, true, true]);
}

fn a_body_that_never_sleeps_keeps_its_island_awake(backend: Backend) {
    let mut scene = floor();
    stack(&mut scene, 0.0, 3);
    stack(&mut scene, 5.0, 3);
    scene.bodies[2].can_sleep = false;
    let mut sim = backend.start(&scene);
    settle(&mut sim, 3, 300);
    sim.advance(60);
    assert_eq!(sleepers(&mut sim), [false, false, false, false, true, true, true]);
    assert_eq!(sim.snapshot().counters.awake, 3);
}

fn a_platform_that_moves_keeps_awake_and_wakes(backend: Backend) {
    let mut scene = floor();
    let platform = scene.add(Body::kinematic(0.0, 1.0).velocity(0.01, 0.0).shape(Shape::half_box(2.0, 0.1)));
    let load = scene.add(block(0.0, 1.6));
    let mut sim = backend.start(&scene);
    sim.advance(120);
    assert_eq!(asleep(&mut sim, load..load + 1), 0, "slower than the threshold, but it moves");
    command(&mut sim, platform, Command::Velocity(Vec2::ZERO));
    settle(&mut sim, 1, 60);
    sim.advance(20);
    assert_eq!(sim.snapshot().counters.awake, 0);
    command(&mut sim, platform, Command::Velocity(Vec2::new(0.0, 0.01)));
    sim.advance(1);
    assert_eq!(asleep(&mut sim, load..load + 1), 0, "it lies on what moves");
    let height = poses(&mut sim)[load].position[1];
    sim.advance(60);
    let risen = poses(&mut sim)[load].position[1] - height;
    assert!((risen - 0.01).abs() < 1e-3, "carried up by {risen} m");
}

/// Checks the sleep states against connected components, and returns the first contradiction.
fn check(compiled: &Compiled, snapshot: &Snapshot, with_joints: bool) -> Result<(), String> {
    let count = compiled.bodies.len();
    let mut edges = vec![BTreeSet::new(); count];
    let mut tie = |a: u32, b: u32| {
        edges[a as usize].insert(b as usize);
        edges[b as usize].insert(a as usize);
    };
    for contact in snapshot.contacts.iter().chain(snapshot.sleeping.iter().map(|put_by| &put_by.contact)) {
        if contact.flags & POINT_COUNT_MASK != 0 {
            tie(contact.body_a, contact.body_b);
        }
    }
    for (joint, state) in compiled.joints.joints.iter().zip(&snapshot.joint_states).filter(|_| with_joints) {
        if joint.flags & (WORLD_A | JOINT_DISABLED) == 0 && state.status & BROKEN == 0 {
            tie(joint.body_a, joint.body_b);
        }
    }
    let sleeps = |body: usize| snapshot.states[body].status & ASLEEP != 0;
    let is_dynamic = |body: usize| compiled.bodies[body].kind == DYNAMIC;
    let mut seen = vec![false; count];
    for start in (0..count).filter(|&body| is_dynamic(body)) {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let (mut members, mut next, mut pushed) = (vec![start], 0, false);
        while let Some(&body) = members.get(next) {
            next += 1;
            for &other in &edges[body] {
                pushed |= compiled.bodies[other].kind == KINEMATIC && !sleeps(other);
                if is_dynamic(other) && !std::mem::replace(&mut seen[other], true) {
                    members.push(other);
                }
            }
        }
        let number = members.iter().filter(|&&body| sleeps(body)).count();
        if number != 0 && number != members.len() {
            return Err(format!("of {members:?} only {number} sleep"));
        }
        if number != 0 && members.iter().any(|&body| snapshot.islands[body] as usize != start) {
            return Err(format!("the root of {members:?} is not {start}"));
        }
        let ready = members.iter().all(|&body| {
            snapshot.states[body].status >> QUIET_SHIFT >= compiled.params.sleep_steps
                && compiled.bodies[body].can_sleep != 0
        });
        if number != 0 && (pushed || members.iter().any(|&body| compiled.bodies[body].can_sleep == 0)) {
            return Err(format!("{members:?} sleep beside what never does"));
        }
        if number == 0 && ready && !pushed {
            return Err(format!("{members:?} are quiet and awake"));
        }
    }
    Ok(())
}

/// Returns boxes and balls that fall into a bin at random, some of them connected, and one that never sleeps.
fn random(seed: u32) -> Scene {
    let mut state = seed;
    let mut next = |most: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).expect("16 bits")) / 65_536.0 * f32::from(u8::try_from(most).expect("few"))
    };
    let mut scene = floor();
    scene.add(Body::kinematic(-12.0, 0.5).velocity(0.02, 0.0).shape(Shape::half_box(0.3, 0.5)));
    for index in 0_u8..24 {
        let (x, y) = (next(16) - 8.0, 0.6 + next(3));
        let shape = if index % 3 == 0 { Shape::circle(0.3) } else { Shape::half_box(0.4, 0.3) };
        let mut body = Body::dynamic(x, y).angle(next(3)).shape(shape.rolling_resistance(0.2));
        body.can_sleep = index != 7;
        scene.add(body);
    }
    for index in [4, 9, 14, 19] {
        scene.join(Joint::new(JointKind::rope(6.0), index, index + 1));
    }
    scene
}

fn sleepers_are_whole_components(backend: Backend) {
    let mut seen = BTreeSet::new();
    let mut without_joints = 0;
    for seed in 1..4 {
        let scene = random(seed);
        let mut sim = backend.start(&scene);
        for step in 0..70 {
            sim.advance(if step < 20 { 1 } else { 6 });
            if step == 50 {
                command(&mut sim, 5, Command::Velocity(Vec2::new(3.0, 2.0)));
            }
            let snapshot = sim.snapshot();
            let compiled = sim.world().compiled();
            if let Err(problem) = check(compiled, &snapshot, true) {
                panic!("seed {seed}, step {}: {problem}", snapshot.step);
            }
            without_joints += usize::from(check(compiled, &snapshot, false).is_err());
            seen.insert(asleep(&mut sim, 0..26));
            // Negative control: a single body of an island that sleeps or wakes is detected.
            let mut wrong = snapshot.clone();
            let island = snapshot.islands.iter().enumerate().find(|&(index, &root)| root as usize != index);
            if let Some((member, _)) = island {
                wrong.states[member].status ^= ASLEEP;
                check(sim.world().compiled(), &wrong, true).expect_err("half an island sleeps");
            }
        }
    }
    assert!(seen.contains(&0) && seen.len() > 5, "how many slept: {seen:?}");
    assert!(without_joints > 0, "the ropes tied nothing together");
}
