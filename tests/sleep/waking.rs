//! Waking: what wakes an island, and the state in which its bodies wake.

use drystone::{Body, BodyId, Command, EventKind, Property, Scene, Shape, World};
use glam::Vec2;

use crate::common::{Backend, Sim, between, near};
use crate::sleep::{asleep, block, command, floor, momentum, poses, settle, sleepers, speed, stack, world};

on_every_backend!(
    a_ball_wakes_the_island_it_hits_in_the_same_step,
    waking_bodies_have_kept_their_impulses,
    sensors_neither_join_nor_wake_and_keep_their_overlaps,
    sleeping_and_waking_report_no_events,
    teleports_and_forces_wake,
    a_static_body_that_is_moved_wakes_what_it_touches,
    a_static_body_that_goes_wakes_what_touched_it,
    all_bodies_are_kept_awake_and_let_sleep_again,
    a_body_has_a_speed_of_its_own_below_which_it_sleeps,
);

/// Returns four boxes side by side in the air, and a ball that flies at them.
fn row(sleep: bool) -> Scene {
    let mut scene = world(0.0);
    scene.settings.sleep = sleep;
    for index in 0_u8..4 {
        scene.add(block(f32::from(index), 0.0));
    }
    let mut ball = Body::dynamic(-6.4, 0.0).velocity(10.0, 0.0).shape(Shape::circle(0.4));
    // It is far away for the first second.
    ball.position.x -= 10.0;
    scene.add(ball);
    scene
}

fn a_ball_wakes_the_island_it_hits_in_the_same_step(backend: Backend) {
    let mut sim = backend.start(&row(true));
    let mut twin = backend.start(&row(false));
    settle(&mut sim, 4, 60);
    twin.advance(usize::try_from(sim.steps()).expect("few"));
    let before = momentum(&mut sim);
    let still = poses(&mut sim)[..4].to_vec();
    for step in 0..200 {
        assert!(step < 199, "the ball never came");
        assert_eq!(asleep(&mut sim, 0..4), 4, "awake before anything touched them");
        assert_eq!(poses(&mut sim)[..4], still[..]);
        sim.advance(1);
        twin.advance(1);
        let woken = sim.snapshot().counters.woken;
        if woken > 0 {
            assert_eq!((woken, asleep(&mut sim, 0..4)), (4, 0), "the island wakes as a whole");
            break;
        }
    }
    // In this very step, and in those that follow: no box acted as a fixed wall.
    for step in 0..20 {
        near("momentum", momentum(&mut sim), before, 1e-5 * before);
        let (ours, theirs) = (sim.snapshot(), twin.snapshot());
        for (index, (a, b)) in ours.states.iter().zip(&theirs.states).enumerate() {
            let off = (Vec2::from(a.velocity) - Vec2::from(b.velocity)).length();
            assert!(off < 2e-3, "{step} steps after the hit body {index} is {off} m/s off the one that never slept");
        }
        if step == 0 {
            let last = ours.states[3].velocity[0].abs() + ours.states[4].velocity[0];
            assert!(last < 9.9, "negative control: the ball has not hit anything yet");
        }
        sim.advance(1);
        twin.advance(1);
    }
    assert!(speed(&sim.snapshot()) > 1.0);
}

/// A stack of ten that wakes continues like one that never slept: it sinks by the remaining amount, without a jolt.
fn waking_bodies_have_kept_their_impulses(backend: Backend) {
    let mut scene = floor();
    stack(&mut scene, 0.0, 10);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 10, 200);
    scene.settings.sleep = false;
    let mut twin = backend.start(&scene);
    twin.advance(usize::try_from(sim.steps()).expect("few"));
    let start = f64::from(poses(&mut twin)[10].position[1]);
    let mut twin_speed = 0.0_f64;
    for _ in 0..10 {
        twin.advance(1);
        twin_speed = twin_speed.max(speed(&twin.snapshot()));
    }
    let twin_sunk = start - f64::from(poses(&mut twin)[10].position[1]);
    sim.advance(20);
    let rest = sim.snapshot();
    let sunk = |sim: &mut Sim| f64::from(rest.poses[10].position[1] - poses(sim)[10].position[1]);
    let worst = |sim: &mut Sim| {
        let mut worst = 0.0_f64;
        command(sim, 5, Command::Wake);
        for _ in 0..10 {
            sim.advance(1);
            worst = worst.max(speed(&sim.snapshot()));
        }
        worst
    };
    let jolt = worst(&mut sim);
    assert!(sim.snapshot().counters.awake == 10, "they are awake for at least half a second");
    println!("speed {jolt}, its twin's {twin_speed}; sunk {}, its twin {twin_sunk}", sunk(&mut sim));
    between("speed after waking", jolt, 0.0, twin_speed + 0.01);
    near("sunk", sunk(&mut sim), twin_sunk, 5e-4);
    // Negative control: with its impulses cleared it jolts.
    let mut bare = rest.clone();
    for put_by in &mut bare.sleeping {
        put_by.manifold.points = Default::default();
        put_by.contact.flags = 0;
    }
    sim.world().restore(&bare).expect("a snapshot of this world");
    let without = worst(&mut sim);
    assert!(without > 3.0 * jolt && without > 0.05, "a stack without impulses jolts by {without} m/s, with by {jolt}");
}

fn sensors_neither_join_nor_wake_and_keep_their_overlaps(backend: Backend) {
    let mut scene = floor();
    scene.settings.events = true;
    let still = scene.add(block(0.0, 0.5));
    scene.add(Body::fixed(0.0, 0.6).shape(Shape::half_box(1.0, 0.4).sensor()));
    // A sensor that is carried past, and noticed by both.
    let probe = scene.add(Body::kinematic(-20.0, 0.5).velocity(8.0, 0.0).shape(Shape::circle(0.3).sensor()));
    let mut sim = backend.start(&scene);
    settle(&mut sim, 1, 60);
    sim.world().wait().expect("the device");
    let begun: Vec<_> = sim.world().take_events().expect("events").iter().map(|event| event.kind).collect();
    assert_eq!(begun, [EventKind::SensorBegin, EventKind::Begin]);
    sim.advance(200);
    assert_eq!(asleep(&mut sim, still..still + 1), 1, "the probe woke it");
    sim.world().wait().expect("the device");
    let passed: Vec<_> = sim
        .world()
        .take_events()
        .expect("events")
        .iter()
        .map(|event| (event.kind, event.bodies.contains(&3)))
        .collect();
    let [begin, end] = [(EventKind::SensorBegin, true), (EventKind::SensorEnd, true)];
    assert_eq!(passed, [begin, begin, end, end]);
    // The probe is stopped on it and set going again: the overlap has lasted throughout.
    let at = Command::Teleport { position: Vec2::new(0.2, 0.5).into(), angle: 0.0 };
    command(&mut sim, probe, at);
    command(&mut sim, probe, Command::Velocity(Vec2::ZERO));
    sim.advance(80);
    command(&mut sim, probe, Command::Velocity(Vec2::new(0.1, 0.0)));
    sim.advance(2);
    sim.world().wait().expect("the device");
    let kinds: Vec<_> = sim.world().take_events().expect("events").iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::SensorBegin; 2]);
}

/// Returns three shelves, the first three bodies, each with a stack of two boxes.
fn shelves() -> Scene {
    let mut scene = world(10.0);
    for x in [0.0, 10.0, 20.0] {
        scene.add(Body::fixed(x, 0.0).shape(Shape::half_box(2.0, 0.5)));
    }
    for x in [0.0, 10.0, 20.0] {
        stack(&mut scene, x, 2);
    }
    for block in &mut scene.bodies[3..] {
        block.position.y += 0.5;
    }
    scene
}

/// Bodies that lay on it wake and fall, bodies that it meets wake, and all others stay asleep.
fn a_static_body_that_is_moved_wakes_what_it_touches(backend: Backend) {
    let mut sim = backend.start(&shelves());
    settle(&mut sim, 6, 120);
    let move_to = |sim: &mut Sim, x: f32, y: f32| {
        command(sim, 0, Command::Teleport { position: Vec2::new(x, y).into(), angle: 0.0 });
        sim.advance(1);
        [asleep(sim, 3..5), asleep(sim, 5..7), asleep(sim, 7..9)]
    };
    assert_eq!(move_to(&mut sim, 0.0, -30.0), [0, 2, 2], "the first stack has lost its shelf");
    sim.advance(60);
    assert!(poses(&mut sim)[3].position[1] < -3.0, "it hangs in the air");
    // Beside the second stack, and then against it.
    assert_eq!(move_to(&mut sim, 13.0, 2.5)[1..], [2, 2]);
    assert_eq!(move_to(&mut sim, 12.49, 2.5)[1..], [0, 2], "the second stack was touched");
}

/// Removing a static body or one of its shapes, or putting another body in its place, wakes what lies on it alone.
fn a_static_body_that_goes_wakes_what_touched_it(backend: Backend) {
    type Change = fn(&mut World, BodyId);
    let changes: [(&str, Change); 4] = [
        ("remove", |world, shelf| world.remove_bodies(&[shelf]).unwrap()),
        ("remove and add", |world, shelf| {
            world.remove_bodies(&[shelf]).unwrap();
            world.add_bodies(&[Body::dynamic(-40.0, 0.0).shape(Shape::circle(0.5))]).unwrap();
        }),
        ("replace", |world, shelf| {
            world.replace_body(shelf, &Body::fixed(-40.0, 0.0).shape(Shape::half_box(1.0, 0.5))).unwrap();
        }),
        ("take a shape", |world, shelf| {
            world.set_shapes(shelf, &[Shape::half_box(0.1, 0.1).offset(0.0, -9.0)]).unwrap();
        }),
    ];
    for (what, change) in changes {
        let mut sim = backend.start(&shelves());
        settle(&mut sim, 6, 120);
        let id = sim.world().body_id(0).unwrap();
        change(sim.world(), id);
        sim.advance(1);
        let asleep = [asleep(&mut sim, 3..5), asleep(&mut sim, 5..7), asleep(&mut sim, 7..9)];
        assert_eq!(asleep, [0, 2, 2], "{what}: the first stack has lost its shelf");
        sim.advance(60);
        assert!(poses(&mut sim)[3].position[1] < -3.0, "{what}: it hangs in the air");
    }
}

fn sleeping_and_waking_report_no_events(backend: Backend) {
    let mut scene = floor();
    scene.settings.events = true;
    stack(&mut scene, 0.0, 2);
    let mut sim = backend.start(&scene);
    let kinds = |sim: &mut Sim| {
        sim.world().wait().expect("the device");
        sim.world().take_events().expect("events").iter().map(|event| event.kind).collect::<Vec<_>>()
    };
    settle(&mut sim, 2, 100);
    assert_eq!(kinds(&mut sim), [EventKind::Begin; 2]);
    sim.advance(10);
    command(&mut sim, 1, Command::Wake);
    sim.advance(5);
    assert_eq!(asleep(&mut sim, 0..3), 0);
    assert_eq!(kinds(&mut sim), [] as [EventKind; 0], "nothing began or ceased");
    settle(&mut sim, 2, 100);
    sim.advance(10);
    // Negative control: a sleeping body that is lifted off ends its contact, in that step.
    command(&mut sim, 2, Command::Teleport { position: Vec2::new(0.0, 9.0).into(), angle: 0.0 });
    sim.advance(1);
    assert_eq!(kinds(&mut sim), [EventKind::End]);
}

fn teleports_and_forces_wake(backend: Backend) {
    let mut scene = floor();
    stack(&mut scene, 0.0, 2);
    stack(&mut scene, 4.0, 1);
    let wall = scene.add(Body::fixed(20.0, 5.0).shape(Shape::half_box(0.2, 0.2)));
    let mut sim = backend.start(&scene);
    let push = Command::Force { force: Vec2::new(20.0, 0.0), point: None };
    let elsewhere = Command::Teleport { position: Vec2::new(30.0, 5.0).into(), angle: 0.0 };
    for (body, asked, awake) in [
        (3, push, [true, true, false]),
        (3, Command::Force { force: Vec2::ZERO, point: None }, [true, true, false]),
        (2, Command::Impulse { impulse: Vec2::new(0.0, 0.1), point: None }, [false, false, true]),
        // It touches no body.
        (wall, elsewhere, [true, true, true]),
    ] {
        if asked != (Command::Force { force: Vec2::ZERO, point: None }) {
            settle(&mut sim, 3, 400);
        }
        sim.advance(15);
        command(&mut sim, body, asked);
        sim.advance(1);
        assert_eq!(sleepers(&mut sim)[1..4], awake, "{asked:?}");
    }
    settle(&mut sim, 3, 400);
    sim.world().wake_all();
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..4), 0);
}

/// A disc drifts at 0.1 m/s: it sleeps only if that counts as rest, for this body or by a property set later.
fn a_body_has_a_speed_of_its_own_below_which_it_sleeps(backend: Backend) {
    let build = |speed: Option<f32>| {
        let mut scene = Scene::new("slow").gravity(0.0, 0.0);
        let body = Body::dynamic(0.0, 0.0).velocity(0.1, 0.0).shape(Shape::circle(0.5));
        scene.add(speed.map_or(body.clone(), |speed| body.sleep_speed(speed)));
        scene.settings.sleep = true;
        scene
    };
    for (speed, count) in [(None, 0), (Some(0.2), 1), (Some(0.01), 0)] {
        let mut sim = backend.start(&build(speed));
        sim.advance(40);
        assert_eq!(asleep(&mut sim, 0..1), count, "{speed:?}");
    }
    let mut sim = backend.start(&build(None));
    let body = sim.world().body_id(0).expect("a body");
    sim.world().set(body, Property::SleepSpeed(0.11)).expect("a property");
    sim.advance(40);
    assert_eq!(asleep(&mut sim, 0..1), 1, "set while it runs");
    let error = sim.world().set(body, Property::SleepSpeed(0.0)).expect_err("no speed").to_string();
    assert!(error.contains("sleep_speed: is 0; expected"), "{error}");
}

fn all_bodies_are_kept_awake_and_let_sleep_again(backend: Backend) {
    let mut scene = floor();
    stack(&mut scene, 0.0, 2);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 2, 400);
    for (can_sleep, count) in [(false, 0), (true, 2)] {
        let bodies = sim.world().bodies().map(|body| (body, Property::CanSleep(can_sleep)));
        let all: Vec<_> = bodies.collect();
        sim.world().set_all(&all).expect("properties");
        sim.advance(200);
        assert_eq!(asleep(&mut sim, 1..3), count, "may sleep: {can_sleep}");
    }
}
