//! Shapes that are added to, removed from and changed on a body of a running world: masses, contacts and joints that
//! follow, errors, snapshots and journals, and agreement of all backends.

use std::f32::consts::PI;

use crate::support::changes::{advance, assert_device_follows, assert_repeats, floor};
use crate::support::{Random, alone, cpu, hash_of, on_all, together};
use drystone::low_level::{Alteration, Journal};
use drystone::{Body, BodyId, Command, EventKind, Joint, JointKind, Property, Query, Scene, Shape, World};
use glam::Vec2;

fn square(half: f32) -> Shape {
    Shape::half_box(half, half)
}

/// A bar that spins through space gets a second bar at its side: each of its points keeps its place and its velocity,
/// and mass, centre and moment of inertia are those of both.
#[test]
fn a_body_that_grows_moves_on() {
    let mut scene = Scene::new("space").gravity(0.0, 0.0);
    let first = Shape::half_box(1.0, 0.25);
    let second = Shape::half_box(0.5, 0.5).offset(1.5, 0.5).density(3.0);
    let bar =
        scene.add(Body::dynamic(2.0, 3.0).velocity(4.0, -1.0).angular_velocity(2.0).angle(0.5).shape(first.clone()));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        let before = world.body(bar).unwrap();
        let points = [Vec2::ZERO, Vec2::new(1.0, 0.25), Vec2::new(-1.0, -0.25)];
        let motions =
            |body: &drystone::BodyView| points.map(|at| (body.to_world(at), body.velocity_at(body.to_world(at))));
        let moved = motions(&before);
        world.set_shapes(bar, &[first.clone(), second.clone()]).unwrap();
        let after = world.body(bar).unwrap();
        for ((place, velocity), (was, had)) in motions(&after).into_iter().zip(moved) {
            assert!(place.distance(was) < 1e-5 && velocity.distance(had) < 1e-4, "{name}: {place}, {velocity}");
        }
        assert!((after.angular_velocity() - 2.0).abs() < 1e-6, "{name}");
        // 1 kg at the origin, 3 kg at (1.5, 0.5).
        assert!((after.mass() - 4.0).abs() < 1e-5, "{name}: {} kg", after.mass());
        assert!(after.local_center().distance(Vec2::new(1.125, 0.375)) < 1e-6, "{name}: {}", after.local_center());
        // The moments of both bars about their centres, and 1 · 3 / 4 · d² for the distance of these.
        let inertia = (4.0 + 0.25) / 12.0 + 3.0 * 2.0 / 12.0 + 0.75 * (1.5 * 1.5 + 0.5 * 0.5);
        assert!((after.inertia() - inertia).abs() < 1e-4, "{name}: {}", after.inertia());
        // Without forces the centre of mass goes straight on.
        let expected = after.center() + 0.5 * after.velocity_at(after.center());
        advance(&mut world, 30);
        let end = world.body(bar).unwrap();
        assert!(end.center().distance(expected) < 1e-3, "{name}: {} instead of {expected}", end.center());
        // And back again, where it is now.
        let place = end.position();
        world.set_shapes(bar, std::slice::from_ref(&first)).unwrap();
        let small = world.body(bar).unwrap();
        assert!(small.position().distance(place) < 1e-5 && (small.mass() - 1.0).abs() < 1e-6, "{name}");
        assert!((small.inertia() - before.inertia()).abs() < 1e-6, "{name}");
    }
}

/// A world whose ball gets another shape before the first step moves as one that began with it.
#[test]
fn new_shapes_are_those_of_a_scene() {
    let scene_of = |shape: Shape| {
        let mut scene = floor();
        // Left out, it would follow the size of the ball.
        scene.settings.length_unit = Some(1.0);
        let ball = scene.add(Body::dynamic(0.3, 2.0).angle(0.4).velocity(1.0, 0.0).shape(shape));
        scene.add(Body::dynamic(0.1, 4.0).shape(square(0.5)));
        (scene, ball)
    };
    let (small, ball) = scene_of(Shape::circle(0.5));
    for shape in [Shape::circle(0.4).friction(0.2), Shape::capsule([-0.3, 0.0], [0.3, 0.25], 0.2), square(0.35)] {
        let (large, _) = scene_of(shape.clone());
        // Until shortly after they land: the centre of the capsule is found twice, and rounding grows in impacts.
        let expected = on_all(&large).into_iter().map(|(_, mut world)| {
            advance(&mut world, 40);
            world.snapshot().unwrap().poses
        });
        for ((name, mut world), expected) in on_all(&small).into_iter().zip(expected) {
            let mut still: World = cpu(&small).into();
            advance(&mut still, 40);
            world.set_shapes(ball, std::slice::from_ref(&shape)).unwrap();
            advance(&mut world, 40);
            let poses = world.snapshot().unwrap().poses;
            let off = poses.iter().zip(&expected).map(|(a, b)| Vec2::from(a.position).distance(b.position.into()));
            assert!(off.fold(0.0, f32::max) < 1e-5, "{name}: {poses:?}, {expected:?}");
            assert_ne!(still.snapshot().unwrap().poses, expected, "the shape makes no difference");
        }
    }
}

/// A box that rests gets higher by less than its contacts would notice: it rises, however little it has moved.
#[test]
fn a_resting_body_rises() {
    let mut scene = floor();
    let lower = scene.add(Body::dynamic(0.0, 0.5).shape(square(0.5)));
    let upper = scene.add(Body::dynamic(0.0, 1.5).shape(square(0.5)));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 60);
        // Twice between two steps: the slots of the last step are not used again.
        for half in [0.45, 0.52] {
            world.set_shapes(lower, &[Shape::half_box(0.5, half)]).unwrap();
        }
        advance(&mut world, 120);
        let [low, high] = [lower, upper].map(|body| world.body(body).unwrap().position().y);
        assert!((low - 0.52).abs() < 6e-3 && (high - 1.54).abs() < 0.012, "{name}: {low}, {high}");
    }
}

/// A part that moves the centre of mass by less than a contact would notice leaves a resting box where it is.
#[test]
fn a_resting_body_with_another_centre_stays() {
    let mut scene = floor();
    let body = scene.add(Body::dynamic(0.0, 0.5).shape(square(0.5)));
    let load = scene.add(Body::dynamic(0.0, 1.5).shape(square(0.5)));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 60);
        let heights = |world: &World| [body, load].map(|body| world.body(body).unwrap().position().y);
        let before = heights(&world);
        // 0.1 kg at 0.39 m beside 1 kg: the centre moves by 0.035 m, and the contacts are renewed after 0.05 m.
        world.set_shapes(body, &[square(0.5), square(0.1).offset(0.0, 0.39).density(2.5)]).unwrap();
        let shift = world.body(body).unwrap().local_center().y;
        assert!(shift > 0.03 && shift < 0.05, "{name}: {shift}");
        for step in 0..60 {
            advance(&mut world, 1);
            let off = heights(&world).iter().zip(before).map(|(y, was)| (y - was).abs()).fold(0.0, f32::max);
            assert!(off < 1e-3, "{name}: {off} m off after {step} steps");
        }
    }
}

/// A hole opens in a static floor on which a sleeping pile lies, and closes again. While it only grows, what sleeps
/// elsewhere sleeps on.
#[test]
fn a_floor_opens_and_closes() {
    let mut scene = Scene::new("trapdoor").gravity(0.0, -10.0);
    scene.settings.sleep = true;
    let slab = |x: f32| Shape::half_box(2.0, 0.5).offset(x, 0.0);
    let slabs = [slab(-4.0), slab(0.0), slab(4.0)];
    let floor = scene.add(Body::fixed(0.0, -0.5).shapes(slabs.clone()));
    let pile = [0.5, 1.5].map(|y| scene.add(Body::dynamic(0.0, y).shape(square(0.5))));
    let aside = scene.add(Body::dynamic(4.0, 0.5).shape(square(0.5)));
    scene.add(Body::fixed(20.0, -0.5).shape(square(0.5)));
    let away = scene.add(Body::dynamic(20.0, 0.5).shape(square(0.5)));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 90);
        let awake = |world: &World| [pile[1], away].map(|body| world.body(body).unwrap().is_awake());
        assert_eq!(awake(&world), [false, false], "{name}");
        let more = slabs.iter().cloned().chain([square(0.25).offset(-4.0, 2.0)]);
        world.set_shapes(floor, &more.collect::<Vec<_>>()).unwrap();
        advance(&mut world, 1);
        assert_eq!(awake(&world), [true, false], "{name}");
        advance(&mut world, 90);
        assert_eq!(awake(&world), [false, false], "{name}");
        let places = world.compiled().shapes.len();
        world.set_shapes(floor, &[slabs[0].clone(), slabs[2].clone()]).unwrap();
        advance(&mut world, 45);
        for &body in &pile {
            let y = world.body(body).unwrap().position().y;
            assert!(y < -1.0, "{name}: {y}");
        }
        assert!((world.body(aside).unwrap().position().y - 0.5).abs() < 1e-3, "{name}");
        // In another order: the slabs that stay keep their slots, and so their contacts.
        world.set_shapes(floor, &[slabs[2].clone(), slabs[1].clone(), slabs[0].clone()]).unwrap();
        assert_eq!(world.compiled().shapes.len(), places, "{name}");
        let ray = Query::ray([0.0, 2.0], [0.0, -3.0]);
        let hit = world.query(&[ray]).unwrap().hit(0).unwrap();
        assert!((hit.body, hit.point[1].abs() < 1e-5) == (floor, true), "{name}: {hit:?}");
        advance(&mut world, 120);
        assert!((world.body(aside).unwrap().position().y - 0.5).abs() < 1e-3, "{name}");
    }
}

/// A bob on a hinge gets heavier on one side: the hinge holds it at the same point, and it swings about it.
#[test]
fn joints_hold_a_body_where_they_did() {
    let mut scene = Scene::new("sign").gravity(0.0, -10.0);
    let bob = scene.add(Body::dynamic(0.0, -1.0).shape(square(0.25)));
    let other = scene.add(Body::dynamic(1.0, -1.0).shape(square(0.25)));
    scene.join(Joint::to_world(JointKind::hinge(), bob).anchors([0.0, 0.0], [0.0, 1.0]));
    scene.join(Joint::new(JointKind::weld(), bob, other).anchors([0.5, 0.0], [-0.5, 0.0]));
    for (name, mut world) in on_all(&scene) {
        // A joint by hand, measured in its first step.
        let rod = Joint::to_world(JointKind::rod(), other).anchors([3.0, -1.0], [0.0, 0.0]);
        world.add_joints(&[rod]).unwrap();
        advance(&mut world, 60);
        let loaded = [square(0.25), square(0.25).offset(0.0, -2.0).density(20.0)];
        world.set_shapes(bob, &loaded).unwrap();
        world.set_shapes(other, &[square(0.25), square(0.1).offset(0.3, 0.3)]).unwrap();
        for step in 0..120 {
            advance(&mut world, 1);
            let [held, welded] = [bob, other].map(|body| world.body(body).unwrap());
            let pin = held.to_world(Vec2::new(0.0, 1.0)).length();
            let seam = held.to_world(Vec2::new(0.5, 0.0)).distance(welded.to_world(Vec2::new(-0.5, 0.0)));
            let length = welded.position().distance(Vec2::new(3.0, -1.0));
            assert!(pin < 2e-3 && seam < 5e-3 && (length - 2.0).abs() < 0.1, "{name}, {step}: {pin}, {seam}, {length}");
        }
    }
}

/// Mass and constant force of a description stay, and so do commands for the next step.
#[test]
fn what_was_given_stays() {
    let mut scene = Scene::new("space").gravity(0.0, 0.0);
    let given = scene.add(Body::dynamic(0.0, 0.0).mass(5.0).shape(square(0.5)));
    let set = scene.add(Body::dynamic(5.0, 0.0).shape(square(0.5)));
    let pushed = scene.add(Body::dynamic(10.0, 0.0).shape(square(0.5)).force_at([3.0, 0.0], [0.0, 0.5]));
    let put = scene.add(Body::dynamic(15.0, 0.0).shape(square(0.5)));
    let wider = [square(0.5), square(0.5).offset(0.0, 1.0)];
    for (name, mut world) in on_all(&scene) {
        world.set(set, Property::Mass(7.0)).unwrap();
        world.command(put, Command::teleport([15.0, 5.0], PI / 2.0)).unwrap();
        for body in [given, set, pushed, put] {
            world.set_shapes(body, &wider).unwrap();
        }
        let mass = |body: usize| world.body(body).unwrap().mass();
        assert!((mass(given) - 5.0).abs() < 1e-6 && (mass(set) - 7.0).abs() < 1e-6, "{name}");
        assert!((mass(pushed) - 2.0).abs() < 1e-6, "{name}");
        advance(&mut world, 60);
        // At the new centre of mass, so that nothing turns it: 3 N on 2 kg.
        let body = world.body(pushed).unwrap();
        assert!((body.velocity().x - 1.5).abs() < 1e-3 && body.angular_velocity().abs() < 1e-4, "{name}: {body:?}");
        let body = world.body(put).unwrap();
        assert!(body.position().distance(Vec2::new(15.0, 5.0)) < 1e-4, "{name}: {}", body.position());
    }
}

/// A contact of a shape that goes ends; one of a shape that stays goes on, also if it has another number.
#[test]
fn events_tell_what_ended() {
    let mut scene = floor();
    scene.settings.events = true;
    let feet = [-1.0, 1.0].map(|x| Shape::half_box(0.2, 0.5).offset(x, 0.0));
    let table = scene.add(Body::dynamic(0.0, 0.5).shapes(feet.clone()));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 10);
        assert_eq!(world.take_events().unwrap().len(), 2, "{name}");
        world.set_shapes(table, &feet[1..]).unwrap();
        advance(&mut world, 5);
        let events = world.take_events().unwrap();
        let ended: Vec<_> = events.iter().filter(|event| event.kind == EventKind::End).collect();
        assert!(ended.len() == 1 && ended[0].bodies.contains(&1), "{name}: {events:?}");
        assert!(events.iter().all(|event| event.kind != EventKind::Begin), "{name}: {events:?}");
    }
}

/// Changes over time of the shapes of the bodies of a heap.
fn drive(world: &mut World, steps: std::ops::Range<usize>, journal: &mut Journal) {
    for step in steps {
        if step % 5 == 0 {
            let mut random = Random(step as u64);
            let id = world.body_id(1 + random.below(12)).unwrap();
            let share = random.between(0.0, 1.0);
            let wedge = [[-0.4, -0.4], [0.4, -0.4], [0.0, 0.3 + 0.2 * share]];
            let all = [
                Shape::circle(0.3 + 0.2 * share),
                square(0.3).offset(0.3 * share, 0.0).density(1.0 + share),
                Shape::polygon(wedge).friction(share),
                Shape::capsule([-0.3, 0.0], [0.3, 0.1], 0.1),
            ];
            let (first, count) = (random.below(4), 1 + random.below(3));
            let shapes: Vec<Shape> = (0..count).map(|turn| all[(first + turn) % 4].clone()).collect();
            world.set_shapes(id, &shapes).unwrap();
            journal.push(world.steps(), Alteration::SetShapes(id, shapes));
        }
        world.step().unwrap();
    }
}

fn heap(sleep: bool) -> Scene {
    let mut scene = floor();
    scene.settings.sleep = sleep;
    for row in 0..4_u8 {
        for column in 0..3_u8 {
            let (x, y) = (f32::from(column) * 1.1, 0.6 + 1.1 * f32::from(row));
            scene.add(Body::dynamic(x, y).shape(if row % 2 == 0 { square(0.4) } else { Shape::circle(0.4) }));
        }
    }
    scene.join(Joint::new(JointKind::hinge(), 1, 2).anchors([0.55, 0.0], [-0.55, 0.0]));
    scene.join(Joint::new(JointKind::rod(), 5, 6));
    scene
}

#[test]
fn changes_repeat_and_continue() {
    for sleep in [false, true] {
        assert_repeats(&heap(sleep), 62, 160, drive);
    }
}

#[test]
fn the_device_follows_the_cpu() {
    assert_device_follows(&heap(false), 1e-3, 0.05, drive);
}

/// Slots of shapes are used again: by the body while it lives, and by others after it was removed.
#[test]
fn slots_do_not_run_out() {
    let mut scene = floor();
    let body = scene.add(Body::dynamic(0.0, 0.5).shape(square(0.5)));
    for (name, mut world) in on_all(&scene) {
        let many: Vec<Shape> = (0..6_u8).map(|at| square(0.1).offset(0.2 * f32::from(at), 0.0)).collect();
        for turn in 0..20_usize {
            world.set_shapes(body, &many[..=turn * 5 % 6]).unwrap();
            advance(&mut world, 1);
        }
        // Those of one step are free in the next but one.
        assert!(world.compiled().shapes.len() <= 1 + 2 * 6, "{name}: {}", world.compiled().shapes.len());
        let slots = world.compiled().shapes.len();
        world.set_shapes(body, &many[..2]).unwrap();
        world.remove_bodies(&[body.into()]).unwrap();
        advance(&mut world, 2);
        let six: Vec<Body> = (0..6_u8).map(|x| Body::dynamic(f32::from(x), 3.0).shape(square(0.4))).collect();
        world.add_bodies(&six).unwrap();
        advance(&mut world, 60);
        assert_eq!(world.compiled().shapes.len(), slots.max(7), "{name}");
        for id in world.bodies().skip(1) {
            let y = world.body(id).unwrap().position().y;
            assert!((y - 0.4).abs() < 0.01, "{name}: {y}");
        }
    }
}

/// Half planes keep their slots, which come before all others; shapes beside them change.
#[test]
fn half_planes_stay() {
    let plane = Shape::half_plane([0.0, 1.0], 0.0);
    let mut scene = Scene::new("plane").gravity(0.0, -10.0);
    let ground = scene.add(Body::fixed(0.0, 0.0).shapes([square(1.0), plane.clone()]));
    let ball = scene.add(Body::dynamic(0.0, 1.5).shape(Shape::circle(0.5)));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 20);
        let step = Shape::half_box(1.0, 0.5);
        world.set_shapes(ground, &[step.clone(), plane.clone(), square(0.25).offset(9.0, 0.0)]).unwrap();
        advance(&mut world, 90);
        let y = world.body(ball).unwrap().position().y;
        assert!((y - 1.0).abs() < 0.01, "{name}: {y}");
        let error = world.set_shapes(ground, &[step]).unwrap_err().to_string();
        assert_eq!(error, "shapes: has 0 half planes, and the body has 1; expected as many half planes as before");
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_and_change_nothing() {
    let mut scene = floor();
    let ball = scene.add(Body::dynamic(0.0, 3.0).shape(Shape::circle(0.5)));
    let chain: Vec<Shape> = Shape::chain([[0.0, 0.0], [1.0, 0.0], [2.0, 0.5]]);
    for (name, mut world) in on_all(&scene) {
        let before = hash_of(&mut world);
        for (shapes, expected) in [
            (vec![], "shapes: is empty or missing; expected at least one shape"),
            (vec![Shape::circle(0.5), Shape::circle(-1.0)], "shapes[1].circle.radius: is -1; expected a length"),
            (vec![square(0.5).density(f32::NAN)], "shapes[0].density: is not a number"),
            (vec![square(0.5).density(0.0)], "shapes[0].density: is 0; expected a density"),
            (vec![Shape::half_plane([0.0, 1.0], 0.0)], "shapes[0].half_plane: "),
            (chain.clone(), "shapes[0].link: "),
            (vec![Shape::particle(0.5), square(0.5)], "shapes"),
        ] {
            let error = world.set_shapes(ball, &shapes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{name}: {error}");
        }
        let gone = BodyId { index: 1, generation: 3 };
        assert_eq!(world.set_shapes(gone, &[square(0.5)]).unwrap_err().to_string(), "there is no body 1.3");
        let nobody = BodyId { index: 99, generation: 0 };
        assert_eq!(world.set_shapes(nobody, &[square(0.5)]).unwrap_err().to_string(), "there is no body 99.0");
        assert_eq!(hash_of(&mut world), before, "{name}");
    }
}

/// Worlds of a batch are as alone.
#[test]
fn a_batch_has_the_bits_of_single_worlds() {
    let scene = heap(true);
    let shapes = [square(0.4), Shape::circle(0.3).offset(0.4, 0.0)];
    for backend in ["cpu", "gpu"] {
        let (mut batch, mut alone) = (together(backend, &vec![scene.clone(); 3]), alone(backend, &scene));
        for step in 0..60 {
            if step == 20 {
                batch.set_shapes(1, 4.into(), &shapes).unwrap();
                alone.set_shapes(4, &shapes).unwrap();
            }
            batch.step().unwrap();
            alone.step().unwrap();
        }
        let hashes = batch.hashes().unwrap();
        assert_eq!(hashes[1], hash_of(&mut alone));
        assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1], "{hashes:?}");
    }
}
