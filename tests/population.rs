//! Adding and removing bodies while a world runs: ids, slots, errors, snapshots, and agreement of all backends.

use crate::support::{context, cpu, gpu};
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::bound::bound_shape;
use drystone::low_level::types::{BOX, CIRCLE, GEOMETRY_MASK, NO_SHAPE, OVERLAPS, ROW_COUNT_MASK, VACANT};
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Body, BodyId, Command, Emitter, Joint, JointId, JointKind, Query, Scene, Shape, Snapshot, World};
use glam::Vec2;

fn floor() -> Scene {
    let mut scene = Scene::new("floor").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(50.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).id("first").shape(Shape::half_box(0.5, 0.5)));
    scene
}

fn crate_at(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5))
}

/// Returns a body of every bounded geometry.
fn assortment(x: f32, y: f32) -> Vec<Body> {
    vec![
        crate_at(x, y),
        Body::dynamic(x + 1.2, y).shape(Shape::circle(0.4).restitution(0.5)),
        Body::dynamic(x + 2.4, y).shape(Shape::capsule([-0.3, 0.0], [0.3, 0.0], 0.2)),
        Body::dynamic(x + 3.6, y).shape(Shape::polygon([[-0.4, -0.3], [0.4, -0.3], [0.0, 0.5]])),
        Body::dynamic(x + 4.8, y)
            .shape(Shape::half_box(0.3, 0.1).kinetic_friction(0.2))
            .shape(Shape::half_box(0.1, 0.3).rolling_resistance(0.1)),
        Body::dynamic(x + 6.0, y).shape(Shape::particle(0.2)),
    ]
}

fn worlds(scene: &Scene) -> Vec<(&'static str, World)> {
    vec![
        ("cpu", cpu(scene).into()),
        ("3 threads", cpu(scene).with_threads(3).unwrap().with_sharing_from(0).into()),
        ("gpu", gpu(scene).into()),
    ]
}

fn advance(world: &mut World, steps: usize) {
    (0..steps).for_each(|_| world.step().unwrap());
}

fn hash(world: &mut World) -> u64 {
    state::hash(&world.snapshot().unwrap())
}

fn height(world: &mut World, id: BodyId) -> f32 {
    world.snapshot().unwrap().poses[id.index as usize].position[1]
}

#[test]
fn a_body_that_is_added_falls_and_rests() {
    for (name, mut world) in worlds(&floor()) {
        advance(&mut world, 10);
        let ids = world.add_bodies(&[crate_at(5.0, 3.0), crate_at(5.1, 5.0)]).unwrap();
        assert_eq!(ids, [BodyId { index: 2, generation: 0 }, BodyId { index: 3, generation: 0 }], "{name}");
        advance(&mut world, 240);
        let (low, high) = (height(&mut world, ids[0]), height(&mut world, ids[1]));
        assert!((low - 0.5).abs() < 0.01 && (high - 1.5).abs() < 0.02, "{name}: at {low} m and {high} m");
    }
}

#[test]
fn bodies_on_a_removed_body_fall() {
    for (name, mut world) in worlds(&floor()) {
        let ids = world.add_bodies(&[crate_at(0.0, 1.5)]).unwrap();
        advance(&mut world, 60);
        let before = height(&mut world, ids[0]);
        assert!((before - 1.5).abs() < 0.02, "{name}: {before} m");
        let lower = world.body_id(1).unwrap();
        world.remove_bodies(&[lower]).unwrap();
        advance(&mut world, 120);
        let after = height(&mut world, ids[0]);
        assert!((after - 0.5).abs() < 0.01, "{name}: {after} m");
        let snapshot = world.snapshot().unwrap();
        let bodies = state::body_states(world.compiled(), &snapshot);
        assert_eq!(bodies.len(), 2, "{name}: the removed one is still reported");
        assert!(snapshot.contacts.iter().all(|contact| contact.body_a != 1 && contact.body_b != 1), "{name}");
    }
}

/// A world created with the bodies equals one that gets them before its first step, to the last bit.
#[test]
fn bodies_added_before_the_first_step_equal_bodies_of_the_scene() {
    let mut whole = floor();
    whole.bodies.extend(assortment(-3.0, 4.0));
    for ((name, mut bare), (_, mut whole)) in worlds(&floor()).into_iter().zip(worlds(&whole)) {
        bare.add_bodies(&assortment(-3.0, 4.0)).unwrap();
        for step in 0..120 {
            advance(&mut bare, 1);
            advance(&mut whole, 1);
            assert_eq!(hash(&mut bare), hash(&mut whole), "{name}, step {step}");
        }
    }
}

#[test]
fn slots_are_reused_with_another_generation() {
    for (name, mut world) in worlds(&floor()) {
        let ids = world.add_bodies(&assortment(-3.0, 2.0)).unwrap();
        advance(&mut world, 5);
        world.remove_bodies(&[ids[1], ids[3]]).unwrap();
        // Not before a step ran without them: its contacts still refer to them.
        let next = world.add_bodies(&[crate_at(20.0, 1.0)]).unwrap()[0];
        assert_eq!((next.index, next.generation), (8, 0), "{name}");
        advance(&mut world, 1);
        let again = world.add_bodies(&[crate_at(24.0, 1.0), crate_at(26.0, 1.0), crate_at(28.0, 1.0)]).unwrap();
        let slots: Vec<_> = again.iter().map(|id| (id.index, id.generation)).collect();
        assert_eq!(slots, [(3, 1), (5, 1), (9, 0)], "{name}");
        assert_eq!(world.body_id(3), Some(again[0]), "{name}");
        // The old id is invalid.
        let error = world.remove_bodies(&[ids[1]]).unwrap_err();
        assert_eq!(error.to_string(), "there is no body 3.0", "{name}");
        advance(&mut world, 60);
        assert!((height(&mut world, again[0]) - 0.5).abs() < 0.01, "{name}");
    }
}

#[test]
fn ten_thousand_at_once() {
    let bodies: Vec<Body> = (0..10_000_u16)
        .map(|index| {
            Body::dynamic(f32::from(index % 100) - 49.5, 1.0 + f32::from(index / 100)).shape(Shape::circle(0.5))
        })
        .collect();
    for (name, mut world) in [("cpu", World::from(cpu(&floor()))), ("gpu", gpu(&floor()).into())] {
        advance(&mut world, 3);
        let ids = world.add_bodies(&bodies).unwrap();
        // The device reports an overflow late. Taking a snapshot waits for the report.
        for _ in 0..3 {
            advance(&mut world, 1);
            world.snapshot().unwrap();
        }
        let snapshot = world.snapshot().unwrap();
        assert_eq!(snapshot.poses.len(), 10_002, "{name}");
        assert!(snapshot.counters.contacts > 10_000, "{name}: {} contacts", snapshot.counters.contacts);
        world.remove_bodies(&ids[..9_990]).unwrap();
        advance(&mut world, 3);
        let snapshot = world.snapshot().unwrap();
        assert!(snapshot.counters.contacts < 50, "{name}: {} contacts", snapshot.counters.contacts);
        assert_eq!(state::body_states(world.compiled(), &snapshot).len(), 12, "{name}");
        // Their slots are reused, the lowest first.
        let again = world.add_bodies(&bodies[..100]).unwrap();
        assert_eq!((again[0].index, again[99].index), (2, 101), "{name}");
    }
}

/// A world that starts empty builds its grid with the first body, and again for one that is far larger.
#[test]
fn an_empty_world_fills() {
    for (name, mut world) in worlds(&Scene::new("void").gravity(0.0, -10.0)) {
        advance(&mut world, 2);
        world.add_bodies(&[crate_at(0.0, 1.0)]).unwrap();
        advance(&mut world, 2);
        let ground = Body::fixed(0.0, -100.0).shape(Shape::half_box(400.0, 100.0));
        world.add_bodies(&[ground]).unwrap();
        advance(&mut world, 120);
        let id = world.body_id(0).unwrap();
        let height = height(&mut world, id);
        assert!((height - 0.5).abs() < 0.01, "{name}: {height} m");
    }
}

#[test]
fn invalid_bodies_are_rejected_and_change_nothing() {
    for (name, mut world) in worlds(&floor()) {
        advance(&mut world, 3);
        let before = world.snapshot().unwrap();
        let mut message = |bodies: &[Body]| world.add_bodies(bodies).unwrap_err().to_string();
        let flat = crate_at(0.0, 9.0);
        let wrong = Body::dynamic(f32::NAN, 0.0).shape(Shape::circle(1.0));
        assert!(message(&[flat.clone(), wrong]).starts_with("bodies[1].position"), "{name}");
        let plane = Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], -9.0));
        let many = message(&vec![plane; 17]);
        assert!(
            many.contains("bodies[16].shapes[0]: is one half plane too many; expected at most 16"),
            "{name}: {many}"
        );
        assert!(
            message(&[flat.clone().id("first")]).contains("bodies[0].id: is \"first\", as another body's"),
            "{name}"
        );
        assert!(message(&[flat.clone().id("x"), flat.id("x")]).contains("bodies[1].id"), "{name}");
        let ghost = BodyId { index: 77, generation: 0 };
        assert_eq!(world.remove_bodies(&[ghost]).unwrap_err().to_string(), "there is no body 77.0", "{name}");
        let first = world.body_id(1).unwrap();
        let error = world.remove_bodies(&[first, first]).unwrap_err();
        assert_eq!(error.to_string(), "body 1.0 is given twice", "{name}");
        assert_eq!(world.snapshot().unwrap(), before, "{name}");
        assert_eq!(world.body_id(2), None, "{name}");
    }
}

/// Next to a half plane of the scene, a tilted and a flat one are added, hold falling bodies, slow and fast, and are
/// removed.
#[test]
fn half_planes_are_added_and_removed() {
    let mut scene = Scene::new("planes").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([1.0, 0.0], -20.0)));
    scene.add(crate_at(0.0, 0.5));
    scene.add(Body::dynamic(5.0, 30.0).velocity(0.0, -300.0).shape(Shape::circle(0.05)));
    for (name, mut world) in worlds(&scene) {
        let planes = [
            Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)),
            Body::fixed(0.0, 0.0).shape(Shape::half_plane([-0.8, 0.6], -16.0)),
        ];
        let ids = world.add_bodies(&planes).unwrap();
        let boxes = world.add_bodies(&assortment(-12.0, 2.0)).unwrap();
        advance(&mut world, 120);
        let snapshot = world.snapshot().unwrap();
        for body in [1, 2].into_iter().chain(boxes.iter().map(|id| id.index as usize)) {
            let [x, y] = snapshot.poses[body].position;
            assert!(y > 0.0 && y < 1.2 && x > -20.0, "{name}: body {body} is at {x}, {y}");
        }
        let down = |world: &mut World| {
            let (from, to) = (Vec2::new(12.0, 5.0), Vec2::new(12.0, -95.0));
            let ray = Query::ray(from, to);
            world.query(&[ray]).unwrap().hit(0).map(|hit| hit.point.y)
        };
        assert!(down(&mut world).is_some_and(|y| y.abs() < 1e-3), "{name}: the flat one is met");
        world.remove_bodies(&ids[..1]).unwrap();
        advance(&mut world, 60);
        assert_eq!(world.compiled().params.late_plane_count, 1, "{name}");
        // They fall to the slope, whose surface at x = 0 is at y = −26.7, far below.
        let fallen = height(&mut world, boxes[0]);
        assert!((fallen - 0.5 + 5.0).abs() < 0.4, "{name}: at {fallen} m after a second's fall");
        assert!(down(&mut world).is_some_and(|y| y < -5.0), "{name}: the slope is met below");
        // Others reuse their slots, up to the maximum number.
        let again = world.add_bodies(&vec![Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], -60.0)); 15]);
        assert_eq!(again.unwrap().len(), 15, "{name}");
        advance(&mut world, 10);
    }
}

#[test]
fn commands_and_joints_of_a_removed_body_are_removed() {
    let mut scene = floor();
    let bob = scene.add(Body::dynamic(10.0, 5.0).shape(Shape::circle(0.2)));
    let other = scene.add(Body::dynamic(12.0, 5.0).shape(Shape::circle(0.2)));
    scene.join(Joint::new(JointKind::rod(), bob, other));
    scene.join(Joint::to_world(JointKind::hinge(), bob).anchors([10.0, 5.0], [0.0, 0.0]));
    for (name, mut world) in worlds(&scene) {
        advance(&mut world, 30);
        assert!(height(&mut world, BodyId { index: 2, generation: 0 }) > 4.9, "{name}: the hinge holds");
        world.command(bob, Command::AngularVelocity(3.0)).unwrap();
        let id = world.body_id(bob).unwrap();
        world.remove_bodies(&[id]).unwrap();
        assert!(world.command(bob, Command::AngularVelocity(3.0)).is_err(), "{name}");
        advance(&mut world, 1);
        // Another body reuses the slot and is not connected.
        world.add_bodies(&[Body::dynamic(10.0, 9.0).shape(Shape::circle(0.2))]).unwrap();
        advance(&mut world, 240);
        let snapshot = world.snapshot().unwrap();
        for body in [bob, other] {
            let pose = snapshot.poses[body].position;
            assert!((pose[1] - 0.2).abs() < 0.01, "{name}: body {body} hangs at {pose:?}");
        }
    }
}

#[test]
fn runs_with_additions_repeat_and_continue_from_snapshots() {
    fn drive(world: &mut World, from: usize, to: usize) {
        for step in from..to {
            if step % 7 == 0 {
                world.add_bodies(&assortment(f32::from(u8::try_from(step).unwrap()) / 8.0 - 5.0, 6.0)).unwrap();
            }
            if step % 10 == 9 {
                let ids: Vec<BodyId> = (step / 3..step / 2).filter_map(|slot| world.body_id(slot + 2)).collect();
                world.remove_bodies(&ids).unwrap();
            }
            world.step().unwrap();
        }
    }
    for ((name, mut first), (_, mut second)) in worlds(&floor()).into_iter().zip(worlds(&floor())) {
        drive(&mut first, 0, 90);
        drive(&mut second, 0, 50);
        let (middle, bytes) = (second.snapshot().unwrap(), second.save().unwrap());
        drive(&mut second, 50, 90);
        let end = hash(&mut second);
        assert_eq!(hash(&mut first), end, "{name}");
        // Bytes do not describe bodies added by calls: a different history counts as a different world.
        assert!(first.load(&bytes).is_err(), "{name}");
        // A snapshot includes them.
        first.restore(&middle).unwrap();
        assert_ne!(hash(&mut first), end, "{name}");
        drive(&mut first, 50, 90);
        assert_eq!(hash(&mut first), end, "{name}: gone back");
        let mut third = match name {
            "gpu" => World::from(gpu(&floor())),
            _ => cpu(&floor()).into(),
        };
        drive(&mut third, 0, 50);
        third.restore(&middle).unwrap();
        let bytes = third.save().unwrap();
        third.load(&bytes).unwrap();
        drive(&mut third, 50, 90);
        assert_eq!(hash(&mut first), hash(&mut third), "{name}: continued");
    }
}

/// Bodies, joints, ids, gravity and pending commands are restored, and the run continues to the same bits.
#[test]
fn a_restore_undoes_additions_and_removals() {
    fn add(world: &mut World) -> (Vec<BodyId>, Vec<JointId>) {
        let ids = world.add_bodies(&assortment(-3.0, 3.0)).unwrap();
        let rod = (Some(ids[0]), ids[1], Joint::new(JointKind::rod(), 0, 1));
        let joints = world.add_joints_between(&[rod]).unwrap();
        world.command(ids[2].index as usize, Command::Velocity(Vec2::new(3.0, 1.0))).unwrap();
        advance(world, 12);
        (ids, joints)
    }
    fn remove(world: &mut World, (ids, joints): &(Vec<BodyId>, Vec<JointId>)) -> Vec<BodyId> {
        world.remove_joints(joints).unwrap();
        world.remove_bodies(&ids[3..5]).unwrap();
        world.set_gravity(Vec2::new(2.0, -4.0)).unwrap();
        advance(world, 7);
        let newcomers = world.add_bodies(&[crate_at(0.0, 4.0), crate_at(0.0, 5.2)]).unwrap();
        advance(world, 9);
        newcomers
    }
    let mut rain = floor();
    rain.emit(Emitter::new([Body::dynamic(0.2, 7.0).shape(Shape::circle(0.2))]).every(5).keep(3));
    let mut sleepy = floor();
    sleepy.settings.sleep = true;
    for scene in [floor(), rain, sleepy] {
        for (name, mut world) in worlds(&scene) {
            advance(&mut world, 10);
            let bare = world.snapshot().unwrap();
            let came = add(&mut world);
            let full = world.snapshot().unwrap();
            let late = remove(&mut world, &came);
            let end = world.snapshot().unwrap();
            assert!(full.poses.len() > bare.poses.len() && end.population != full.population, "{name}");

            world.restore(&full).unwrap();
            assert_eq!(world.snapshot().unwrap(), full, "{name}: {}", scene.name);
            assert_eq!(world.compiled().params.gravity, [0.0, -10.0], "{name}");
            assert_eq!(world.body_id(came.0[3].index as usize), Some(came.0[3]), "{name}");
            assert_eq!(world.joint_id(came.1[0].index as usize), Some(came.1[0]), "{name}");
            assert_eq!(remove(&mut world, &came), late, "{name}: newcomers have the same ids again");
            assert_eq!(world.snapshot().unwrap(), end, "{name}: {}", scene.name);

            world.restore(&bare).unwrap();
            assert_eq!(world.snapshot().unwrap(), bare, "{name}");
            assert_eq!(world.body_id(came.0[0].index as usize), None, "{name}");
            assert!(world.remove_bodies(&came.0).is_err(), "{name}: they have not come yet");
            assert_eq!(add(&mut world), came, "{name}");
            assert_eq!(world.snapshot().unwrap(), full, "{name}: {}", scene.name);
            // Forward again over the undone changes, and in a world without them.
            world.restore(&end).unwrap();
            assert_eq!(world.snapshot().unwrap(), end, "{name}");
            let mut other = if name == "gpu" { World::from(gpu(&scene)) } else { cpu(&scene).into() };
            other.restore(&full).unwrap();
            remove(&mut other, &came);
            assert_eq!(other.snapshot().unwrap(), end, "{name}: elsewhere");

            // Negative control: a different change gives a different result.
            world.restore(&bare).unwrap();
            advance(&mut world, 12);
            assert_ne!(hash(&mut world), state::hash(&full), "{name}");
            world.restore(&full).unwrap();
            advance(&mut world, 16);
            assert_ne!(hash(&mut world), state::hash(&end), "{name}");
        }
    }
}

/// Scenes with equal numbers of bodies, shapes and contacts, but different ones; or with a different gravity.
#[test]
fn the_snapshot_of_another_scene_is_rejected() {
    let mut heavy = floor();
    heavy.bodies[1].shapes[0] = Shape::circle(0.5).density(50.0);
    let light = floor().gravity(0.0, -1.6);
    for ((name, mut world), others) in
        worlds(&floor()).into_iter().zip([worlds(&heavy), worlds(&light), worlds(&heavy)])
    {
        advance(&mut world, 5);
        let before = world.snapshot().unwrap();
        for (_, mut other) in others {
            advance(&mut other, 3);
            let foreign = other.snapshot().unwrap();
            assert_eq!(foreign.poses.len(), before.poses.len(), "nothing but the scene tells them apart");
            let error = world.restore(&foreign).unwrap_err();
            assert!(error.to_string().contains("taken of another world"), "{name}: {error}");
            assert_eq!(world.snapshot().unwrap(), before, "{name}");
        }
        // Negative control: a snapshot of the same scene is accepted after any changes, on any backend.
        for (_, mut other) in worlds(&floor()) {
            other.set_gravity(Vec2::new(1.0, -3.0)).unwrap();
            advance(&mut other, 3);
            world.restore(&other.snapshot().unwrap()).unwrap();
            assert_eq!((world.steps(), world.compiled().params.gravity), (3, [1.0, -3.0]), "{name}");
        }
    }
}

/// Each event of the executed steps is reported once, however often the world was restored.
#[test]
fn events_of_an_abandoned_future_are_dropped() {
    let mut scene = floor();
    scene.settings.events = true;
    for x in 0..4_u8 {
        scene.add(crate_at(2.0 * f32::from(x) + 2.0, 0.8 + 0.3 * f32::from(x)));
    }
    for ((name, mut world), (_, mut straight)) in worlds(&scene).into_iter().zip(worlds(&scene)) {
        advance(&mut straight, 60);
        straight.wait().unwrap();
        let expected = straight.take_events().unwrap();
        advance(&mut world, 20);
        let kept = world.snapshot().unwrap();
        advance(&mut world, 30);
        world.wait().unwrap();
        // A world with more events to report.
        world.add_bodies(&[crate_at(-4.0, 0.6)]).unwrap();
        advance(&mut world, 10);
        world.restore(&kept).unwrap();
        advance(&mut world, 40);
        world.wait().unwrap();
        let events = world.take_events().unwrap();
        assert!(events.iter().any(|event| event.step < 20) && events.iter().any(|event| event.step >= 20), "{name}");
        assert_eq!(events, expected, "{name}");
        // Negative control: events that were not read before the restore are reported again.
        world.restore(&kept).unwrap();
        advance(&mut world, 40);
        world.wait().unwrap();
        let again = world.take_events().unwrap();
        let later: Vec<_> = expected.iter().copied().filter(|event| event.step >= 20).collect();
        assert_eq!(again, later, "{name}");
    }
}

/// A snapshot between a removal and the next step keeps the slot reserved, as it was then.
#[test]
fn a_just_vacated_slot_stays_reserved_after_a_restore() {
    for (name, mut world) in worlds(&floor()) {
        world.add_bodies(&assortment(-3.0, 2.0)).unwrap();
        advance(&mut world, 5);
        let id = world.body_id(3).unwrap();
        world.remove_bodies(&[id]).unwrap();
        let snapshot: Snapshot = world.snapshot().unwrap();
        assert_eq!(snapshot.vacated, [3], "{name}");
        advance(&mut world, 5);
        world.restore(&snapshot).unwrap();
        assert_eq!(world.add_bodies(&[crate_at(20.0, 1.0)]).unwrap()[0].index, 8, "{name}");
        advance(&mut world, 1);
        assert_eq!(world.add_bodies(&[crate_at(22.0, 1.0)]).unwrap()[0].index, 3, "{name}");
    }
}

/// CPU and GPU assign the same slots and agree on all counts, step by step.
#[test]
fn both_backends_assign_the_same_body_slots() {
    let mut host = CpuWorld::new(&floor()).unwrap();
    let mut device = GpuWorld::from_compiled(context(), Compiled::new(&floor()).unwrap(), Some(64)).unwrap();
    for round in 0..12_u8 {
        let bodies = assortment(f32::from(round) - 6.0, 5.0);
        assert_eq!(host.add_bodies(&bodies).unwrap(), device.add_bodies(&bodies).unwrap());
        if round % 3 == 2 {
            let ids: Vec<BodyId> = (4..4 + usize::from(round)).filter_map(|slot| host.body_id(slot)).collect();
            host.remove_bodies(&ids).unwrap();
            device.remove_bodies(&ids).unwrap();
        }
        for _ in 0..8 {
            host.step().unwrap();
            device.step().unwrap();
        }
        let (host_now, device_now) = (host.snapshot(), device.snapshot().unwrap());
        assert_eq!(host.compiled().shapes, device.compiled().shapes);
        assert_eq!(host.compiled().vertices, device.compiled().vertices);
        let status = |snapshot: &Snapshot| snapshot.states.iter().map(|state| state.status).collect::<Vec<_>>();
        assert_eq!(status(&host_now), status(&device_now));
        assert_eq!(host_now.population, device_now.population);
    }
    let compiled = device.compiled();
    let empty = compiled.bodies.iter().filter(|body| body.kind == VACANT).count();
    assert!(empty > 0, "no slot is empty, so nothing was tested");
    assert!(compiled.shapes.iter().filter(|shape| shape.kind & 0xff == NO_SHAPE).count() >= empty);
}

/// Shapes, joints, contacts, overlaps, names and bounds are found in the tables of a world by the slot of a body.
#[test]
fn tables_name_what_belongs_to_a_body() {
    let mut scene = floor();
    let arm = scene.add(Body::dynamic(5.0, 3.0).shape(Shape::circle(0.2)).shape(Shape::half_box(0.1, 0.4)));
    let hinge = JointKind::hinge().motor(0.0, 5.0).limits(-1.0, 1.0);
    scene.join(Joint::to_world(hinge, arm).anchors([5.0, 3.0], [0.0, 0.0]));
    let gate = scene.add(Body::fixed(0.0, 0.5).shape(Shape::half_box(2.0, 1.0).sensor()));
    for (name, mut world) in worlds(&scene) {
        advance(&mut world, 5);
        let snapshot = world.snapshot().unwrap();
        let compiled = world.compiled();
        let own = compiled.shapes.iter().filter(|shape| shape.body as usize == arm);
        assert_eq!(own.map(|shape| shape.kind & GEOMETRY_MASK).collect::<Vec<_>>(), [CIRCLE, BOX], "{name}");
        let body = compiled.bodies[arm];
        assert_eq!((body.can_sleep, body.gravity_scale, body.linear_damping), (1, 1.0, 0.0), "{name}");
        assert_eq!((world.find("first"), compiled.ids[1].as_deref()), (world.body_id(1), Some("first")), "{name}");

        let joints: Vec<_> = compiled.joints.joints.iter().filter(|joint| joint.body_b as usize == arm).collect();
        assert_eq!((joints.len(), joints[0].kind_name(), joints[0].id), (1, "revolute", 0), "{name}");
        let rows = &compiled.joints.rows[joints[0].first_row as usize..][..(joints[0].flags & ROW_COUNT_MASK) as usize];
        let goals: Vec<f32> = rows.iter().map(|row| row.goal).collect();
        assert_eq!(goals, [0.0, -1.0, 1.0, 0.0], "{name}: motor, limits, anchors");

        let points = state::contact_points(compiled, &snapshot);
        assert!(points.len() == 2 && points.iter().all(|point| point.bodies.contains(&1)), "{name}: {points:?}");
        let overlaps = snapshot.contacts.iter().filter(|contact| contact.flags & OVERLAPS != 0);
        let overlaps: Vec<_> =
            overlaps.map(|contact| [contact.body_a, contact.body_b].map(|body| body as usize)).collect();
        assert!(overlaps.iter().any(|pair| pair.contains(&1) && pair.contains(&gate)), "{name}: {overlaps:?}");

        let boxes = compiled.shapes.iter().map(|shape| {
            let bounds = bound_shape(shape, &compiled.vertices, &snapshot.poses[shape.body as usize], Vec2::ZERO);
            (Vec2::from(bounds.min), Vec2::from(bounds.max))
        });
        let (low, high) = boxes.reduce(|all, own| (all.0.min(own.0), all.1.max(own.1))).unwrap();
        assert!(low.distance(Vec2::new(-50.0, -1.0)) < 1e-4, "{name}: {low}");
        assert!(high.distance(Vec2::new(50.0, 3.4)) < 1e-3, "{name}: {high}");
    }
}
