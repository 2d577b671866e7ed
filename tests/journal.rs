//! Journals: a snapshot of a world edited at run time (bodies and joints added and removed) continues in a fresh world
//! that replays the edits.

use crate::common::Backend;
use drystone::low_level::{Alteration, Journal, state};
use drystone::{Body, BodyId, Emitter, Joint, JointKind, Scene, Shape, World, WorldError};

on_every_backend!(a_snapshot_continues_in_a_fresh_world, a_snapshot_needs_the_journal, a_body_is_replaced_in_its_slot);

fn scene() -> Scene {
    let mut scene = Scene::new("journal");
    scene.settings.sleep = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    for row in 0..4_u8 {
        scene.add(Body::dynamic(0.0, 0.5 + f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
    }
    let rain = Body::dynamic(4.0, 5.0).shape(Shape::circle(0.25));
    scene.emit(Emitter::new([rain]).every(7).keep(3));
    scene
}

fn world(backend: Backend) -> World {
    backend.start(&scene()).world
}

fn steps(world: &mut World, count: usize) {
    (0..count).for_each(|_| world.step().unwrap());
}

fn hash(world: &mut World) -> u64 {
    state::hash(&world.snapshot().unwrap())
}

/// Adds and removes bodies and joints, between steps and several before one, and returns the journal.
fn busy(world: &mut World) -> Journal {
    let mut journal = Journal::default();
    let ball = |x: f32| Body::dynamic(x, 8.0).shape(Shape::circle(0.4));
    let wedge = Body::dynamic(1.0, 9.0).shape(Shape::polygon([[-0.5_f32, -0.3], [0.5, -0.3], [0.0, 0.4]]));
    steps(world, 5);
    let bodies = vec![ball(-1.0), wedge, ball(2.0)];
    let ids = world.add_bodies(&bodies).unwrap();
    journal.push(5, Alteration::AddBodies(bodies));
    let tie = vec![(Some(ids[0]), ids[2], Joint::new(JointKind::weld(), 0, 1))];
    let joints = world.add_joints_between(&tie).unwrap();
    journal.push(5, Alteration::AddJointsBetween(tie));
    steps(world, 9);
    let gone = vec![ids[1], BodyId { index: 2, generation: 0 }];
    world.remove_bodies(&gone).unwrap();
    journal.push(14, Alteration::RemoveBodies(gone));
    steps(world, 6);
    let late = vec![ball(0.5)];
    world.add_bodies(&late).unwrap();
    journal.push(20, Alteration::AddBodies(late));
    world.remove_joints(&joints).unwrap();
    journal.push(20, Alteration::RemoveJoints(joints));
    steps(world, 11);
    // No step follows: the slot is not free yet.
    let last = vec![ids[0]];
    world.remove_bodies(&last).unwrap();
    journal.push(31, Alteration::RemoveBodies(last));
    journal
}

fn a_snapshot_continues_in_a_fresh_world(backend: Backend) {
    let mut first = world(backend);
    let journal = busy(&mut first);
    let bytes = first.save().unwrap();
    let mut second = world(backend);
    second.load_with(&bytes, &journal).unwrap();
    assert_eq!(hash(&mut first), hash(&mut second));
    for world in [&mut first, &mut second] {
        steps(world, 3);
        world.add_bodies(&[Body::dynamic(0.0, 12.0).shape(Shape::half_box(0.3, 0.6))]).unwrap();
        // Until it lands; then it bounces a little.
        steps(world, 27);
    }
    assert_eq!(hash(&mut first), hash(&mut second));
    assert_eq!(first.body_id(2), second.body_id(2), "slots and generations are the same too");
    assert_ne!(
        hash(&mut first),
        state::hash(&{
            steps(&mut second, 1);
            second.snapshot().unwrap()
        })
    );
}

fn a_snapshot_needs_the_journal(backend: Backend) {
    let mut first = world(backend);
    let journal = busy(&mut first);
    let bytes = first.save().unwrap();
    assert!(world(backend).load(&bytes).is_err(), "it does not say what the newcomers are made of");
    let mut short = Journal::default();
    journal.entries()[..4].iter().for_each(|(at, what)| short.push(*at, what.clone()));
    assert!(world(backend).load_with(&bytes, &short).is_err());
    let mut disordered = Journal::default();
    journal.entries().iter().rev().for_each(|(at, what)| disordered.push(*at, what.clone()));
    assert!(world(backend).load_with(&bytes, &disordered).is_err());
    let mut used = world(backend);
    steps(&mut used, 1);
    assert!(matches!(used.load_with(&bytes, &journal), Err(WorldError::Snapshot(_))));
}

/// A body of a sleeping pile gets another description: it keeps its id, its joints are removed, the pile wakes and
/// follows it; and a saved world continues from there, to the same bits.
fn a_body_is_replaced_in_its_slot(backend: Backend) {
    let mut first = world(backend);
    let mut journal = Journal::default();
    steps(&mut first, 200);
    let lowest = first.body_id(1).unwrap();
    let tie = vec![(None, lowest, Joint::to_world(JointKind::weld(), 0).anchors([0.0, 0.5], [0.0, 0.0]))];
    first.add_joints_between(&tie).unwrap();
    journal.push(200, Alteration::AddJointsBetween(tie));
    let slots = first.compiled().bodies.len();
    // Moved to the side, and static: the body on top of it falls.
    let aside = Body::fixed(-9.0, 3.0).id("aside").shape(Shape::half_box(0.5, 0.5).density(4.0));
    first.replace_body(lowest, &aside).unwrap();
    journal.push(200, Alteration::ReplaceBody(lowest, Box::new(aside.clone())));
    assert_eq!((first.body_id(1), first.compiled().bodies.len()), (Some(lowest), slots));
    assert_eq!(first.compiled().joints.count(), 0);
    let bytes = first.save().unwrap();
    let mut second = world(backend);
    second.load_with(&bytes, &journal).unwrap();
    let mut other = world(backend);
    steps(&mut other, 227);
    for world in [&mut first, &mut second] {
        // Until it lands; then it bounces a little.
        steps(world, 27);
    }
    assert_eq!(hash(&mut first), hash(&mut second));
    assert_ne!(hash(&mut first), hash(&mut other));
    let height = |world: &mut World, body: usize| world.snapshot().unwrap().poses[body].position[1];
    let heights = [height(&mut other, 4), height(&mut first, 4)];
    assert!(heights[0] > 3.4 && heights[1] < 2.6, "the pile came down by a box: {heights:?}");
    assert_eq!(first.snapshot().unwrap().poses[1].position, [-9.0, 3.0]);
    // A rejected replacement changes nothing.
    let before = hash(&mut first);
    let [plane, again] = [Body::fixed(0.0, 9.0).shape(Shape::half_plane([0.0, 1.0], 0.0)), aside];
    let gone = BodyId { index: 1, generation: 7 };
    let second_box = first.body_id(2).unwrap();
    for (id, body, why) in
        [(lowest, &plane, "half planes"), (gone, &again, "no body"), (second_box, &again, "another body's")]
    {
        let error = first.replace_body(id, body).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(hash(&mut first), before);
}
