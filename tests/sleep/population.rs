//! Adding and removing bodies while others sleep.

use drystone::{Body, EventKind, Shape};
use drystone_scenes::catalogue;

use crate::common::Backend;
use crate::sleep::{asleep, block, floor, poses, settle, sleepers, stack};

on_every_backend!(
    bodies_fall_when_the_ground_is_removed,
    bodies_fall_when_the_box_below_is_removed,
    new_bodies_wake_bodies_they_fall_on,
);

fn bodies_fall_when_the_ground_is_removed(backend: Backend) {
    let mut scene = floor();
    stack(&mut scene, 0.0, 3);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 3, 200);
    sim.advance(10);
    let before = poses(&mut sim)[1].position[1];
    let ground = sim.world().body_id(0).expect("the floor");
    sim.world().remove_bodies(&[ground]).expect("it exists");
    sim.advance(30);
    assert_eq!(asleep(&mut sim, 0..4), 0);
    let fallen = before - poses(&mut sim)[1].position[1];
    assert!((fallen - 1.25).abs() < 0.1, "in half a second it falls 1.25 m, not {fallen}");
}

fn bodies_fall_when_the_box_below_is_removed(backend: Backend) {
    let mut scene = floor();
    scene.settings.events = true;
    stack(&mut scene, 0.0, 3);
    stack(&mut scene, 5.0, 2);
    let mut sim = backend.start(&scene);
    settle(&mut sim, 5, 200);
    sim.advance(10);
    sim.world().wait().expect("the device");
    sim.world().take_events().expect("events");
    let lowest = sim.world().body_id(1).expect("a box");
    sim.world().remove_bodies(&[lowest]).expect("it exists");
    // No body has woken yet: the snapshot has to include the bodies about to wake.
    let between = sim.snapshot();
    sim.advance(1);
    assert_eq!(sleepers(&mut sim), [false, false, false, false, true, true], "the other stack sleeps on");
    let after = sim.snapshot();
    sim.world().restore(&between).expect("a snapshot of this world");
    sim.advance(1);
    assert_eq!(sim.snapshot(), after, "restored between removal and step");
    sim.world().wait().expect("the device");
    let events = sim.world().take_events().expect("events");
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::End; 2], "its contacts with the floor and the box above end, reported once");
    settle(&mut sim, 4, 200);
    let heights = poses(&mut sim);
    assert!((heights[2].position[1] - 0.5).abs() < 0.01 && (heights[3].position[1] - 1.5).abs() < 0.02);
    // The slot is reused, and the new body is unrelated to the one that slept there.
    let again = sim.world().add_bodies(&[block(10.0, 0.5)]).expect("a box")[0];
    assert_eq!((again.index, again.generation), (1, 1));
    sim.advance(5);
    assert_eq!(sleepers(&mut sim), [false, false, true, true, true, true]);
    settle(&mut sim, 5, 60);
    // The last body of an island, alone on the floor: the end of its contact is reported too.
    sim.advance(10);
    sim.world().wait().expect("the device");
    sim.world().take_events().expect("events");
    sim.world().remove_bodies(&[again]).expect("it exists");
    sim.advance(1);
    sim.world().wait().expect("the device");
    let kinds: Vec<_> = sim.world().take_events().expect("events").iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::End]);
    assert_eq!(asleep(&mut sim, 0..6), 4);
}

fn new_bodies_wake_bodies_they_fall_on(backend: Backend) {
    let mut scene = catalogue::build("large_pyramid:base=6").expect("a pyramid");
    scene.settings.sleep = true;
    let mut sim = backend.start(&scene);
    settle(&mut sim, 21, 300);
    sim.advance(10);
    let many = if backend == Backend::Gpu { 300_u16 } else { 3000 };
    let rain: Vec<Body> = (0..many)
        .map(|index| {
            let (column, row) = (f32::from(index % 50), f32::from(index / 50));
            Body::dynamic(column * 0.5 - 12.5, 12.0 + 0.5 * row).shape(Shape::circle(0.2))
        })
        .collect();
    sim.world().add_bodies(&rain).expect("they fit");
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..22), 21, "nothing has touched them yet");
    sim.advance(70);
    assert_eq!(asleep(&mut sim, 0..22), 0, "woken by what fell on them");
    // A body that never moves, placed into a sleeping one, wakes it too.
    let mut sim = backend.start(&scene);
    settle(&mut sim, 21, 300);
    sim.advance(10);
    let far = Body::fixed(200.0, 50.0).shape(Shape::circle(0.2));
    sim.world().add_bodies(&[far]).expect("it fits");
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..22), 21);
    let at = poses(&mut sim)[1].position;
    sim.world().add_bodies(&[Body::fixed(at[0], at[1] + 0.4).shape(Shape::circle(0.2))]).expect("it fits");
    sim.advance(1);
    assert_eq!(asleep(&mut sim, 0..22), 0);
}
