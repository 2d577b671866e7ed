//! Contact hooks: a program's own rule about contacts, on the CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone::low_level::types::{Contact, Manifold};
use drystone::{Body, EventKind, Scene, Shape, World};

use crate::common::near;
use crate::support::{cpu, full_hash, pile};

fn floor() -> Scene {
    let mut scene = Scene::new("hook").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    scene
}

/// A hook that refuses nothing leaves no trace, on one thread and on three; one that refuses some contacts does, to the
/// same bits on any number of threads.
#[test]
fn a_hook_changes_what_it_refuses_and_nothing_else() {
    let scene = pile(7, 60);
    let run = |threads: usize, hook: Option<fn(&Contact, &Manifold) -> bool>| {
        let world = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(0);
        let mut world = match hook {
            Some(hook) => world.with_contact_hook(hook),
            None => world,
        };
        for _ in 0..120 {
            world.step().unwrap();
        }
        full_hash(&world.snapshot())
    };
    let plain = run(1, None);
    assert_eq!((run(1, Some(|_, _| true)), run(3, Some(|_, _| true))), (plain, plain));
    let some: fn(&Contact, &Manifold) -> bool = |contact, _| (contact.shape_a + contact.shape_b) % 5 != 0;
    assert_ne!(run(1, Some(some)), plain);
    assert_eq!(run(3, Some(some)), run(1, Some(some)));
}

/// Bodies that pass through each other fall as if alone, to the bit, and without an event; the others land.
#[test]
fn refused_contacts_are_no_contacts() {
    let mut scene = floor();
    scene.settings.events = true;
    scene.settings.continuous = false;
    let [ghost, ball] = [0.0, 5.0].map(|x| scene.add(Body::dynamic(x, 1.0).shape(Shape::half_box(0.5, 0.5))));
    let mut alone = floor();
    alone.bodies[0].position.y = -1000.0;
    alone.settings = scene.settings;
    alone.add(scene.bodies[ghost].clone());
    let ghost_index = u32::try_from(ghost).unwrap();
    let mut world: World = cpu(&scene)
        .with_contact_hook(move |contact, _| contact.body_b != ghost_index && contact.body_a != ghost_index)
        .into();
    let mut alone: World = cpu(&alone).into();
    for _ in 0..60 {
        world.step().unwrap();
        alone.step().unwrap();
        assert_eq!(world.body(ghost).unwrap().position(), alone.body(1).unwrap().position());
    }
    near("the other one lands", world.body(ball).unwrap().position().y, 0.5, 0.01);
    let begun = world.take_events().unwrap().into_iter().filter(|event| event.kind == EventKind::Begin).count();
    assert_eq!(begun, 1);
}

/// A ghost wakes no body: refused contacts are none for sleep either.
#[test]
fn refused_contacts_wake_nothing() {
    let mut scene = floor();
    scene.settings.sleep = true;
    let sleeper = scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    let ghost = scene.add(Body::dynamic(-9.0, 0.6).gravity_scale(0.0).velocity(4.0, 0.0).shape(Shape::circle(0.5)));
    let index = u32::try_from(ghost).unwrap();
    let awake = |refuses: bool| {
        let hook =
            move |contact: &Contact, _: &Manifold| !(refuses && [contact.body_a, contact.body_b].contains(&index));
        let mut world: World = cpu(&scene).with_contact_hook(hook).into();
        let mut awake = 0;
        for step in 0..240 {
            world.step().unwrap();
            awake += usize::from(step > 60 && world.body(sleeper).unwrap().is_awake());
        }
        (awake, world.body(ghost).unwrap().position().x)
    };
    let (steps, x) = awake(true);
    assert_eq!(steps, 0);
    near("it has passed", x, 7.0, 0.01);
    assert!(awake(false).0 > 10, "without the rule it wakes the box");
}

/// A platform that is solid from above alone, as the hook sees the normal: a ball jumps through it and lands on it.
#[test]
fn a_hook_sees_the_normal_and_the_points() {
    let mut scene = Scene::new("platform").gravity(0.0, -10.0);
    scene.settings.continuous = false;
    scene.add(Body::fixed(0.0, 2.0).shape(Shape::half_box(2.0, 0.1)));
    let ball = scene.add(Body::dynamic(0.0, 0.0).velocity(0.0, 9.0).shape(Shape::circle(0.25)));
    let run = |rule: fn(&Contact, &Manifold) -> bool| {
        let mut world: World = cpu(&scene).with_contact_hook(rule).into();
        let mut highest = 0.0_f32;
        for _ in 0..240 {
            world.step().unwrap();
            highest = highest.max(world.body(ball).unwrap().position().y);
        }
        (highest, world.body(ball).unwrap().position().y)
    };
    // From A to B: up where the platform is A. A ball that has come from below is deep in it.
    let (highest, last) = run(|contact, manifold| {
        let up = if contact.body_a == 0 { manifold.normal[1] } else { -manifold.normal[1] };
        up > 0.5 && manifold.points[0].separation > -0.05
    });
    assert!(highest > 3.5, "{highest}");
    near("it lands on the platform", last, 2.35, 0.01);
    let (highest, _) = run(|_, _| true);
    assert!(highest < 2.0, "without the rule it hits the platform: {highest}");
}

/// A contact that was refused for a while is there again, also of a box that has not moved: nothing of it is cached.
#[test]
fn a_contact_returns_when_the_hook_allows_it() {
    let mut scene = floor().gravity(0.0, 0.0);
    scene.settings.sleep = false;
    scene.add(Body::dynamic(0.0, 0.495).shape(Shape::half_box(0.5, 0.5)));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let mut world = cpu(&scene).with_contact_hook(move |_, _| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        !(10..20).contains(&call)
    });
    let mut touching = Vec::new();
    for _ in 0..30 {
        world.step().unwrap();
        touching.push(world.snapshot().counters.touching);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 30, "once a step");
    assert!(touching[..10].iter().all(|&count| count == 1), "{touching:?}");
    assert!(touching[10..20].iter().all(|&count| count == 0), "{touching:?}");
    assert!(touching[20..].iter().all(|&count| count == 1), "{touching:?}");
}
