//! Worlds far from (0, 0): what happens 10,000 km out is what happens at 0, as positions are sums of two floats.

use drystone::glam::{DVec2, Vec2};
use drystone::{Body, Command, Joint, JointKind, Path, Query, Scene, Shape, World};

use crate::support::on_all;

/// The largest distance at which bodies may be, and a little less: no multiple of what a 32-bit float resolves there.
const FAR: DVec2 = DVec2::new(9_999_000.3, -9_998_000.7);
const STEPS: usize = 240;

/// A stack, a chain of links on a static body, and a lift with a box.
fn scene(at: DVec2) -> Scene {
    let mut scene = Scene::new("far");
    let place = |x: f64, y: f64| at + DVec2::new(x, y);
    scene.add(Body::fixed(0.0, 0.0).position(place(0.0, -0.5)).shape(Shape::half_box(40.0, 0.5)));
    for row in 0..12 {
        scene.add(Body::dynamic(0.0, 0.0).position(place(0.0, 0.5 + f64::from(row))).shape(Shape::half_box(0.5, 0.5)));
    }
    let post = scene.add(Body::fixed(0.0, 0.0).position(place(-20.0, 8.0)).shape(Shape::half_box(0.1, 0.1)));
    let mut last = post;
    for link in 0..5 {
        let x = -20.0 + 0.5 + f64::from(link);
        let next = scene.add(Body::dynamic(0.0, 0.0).position(place(x, 8.0)).shape(Shape::half_box(0.4, 0.1)));
        let start = if link == 0 { Vec2::ZERO } else { Vec2::new(0.5, 0.0) };
        scene.join(Joint::new(JointKind::hinge(), last, next).anchors(start, [-0.5, 0.0]));
        last = next;
    }
    let path = Path { amplitude: Vec2::new(0.0, 1.0), rate: 2.0, ..Path::default() };
    scene.add(
        Body { path: Some(path), ..Body::kinematic(0.0, 0.0) }
            .position(place(30.0, 2.0))
            .shape(Shape::half_box(2.0, 0.1)),
    );
    scene.add(Body::dynamic(0.0, 0.0).position(place(30.0, 2.6)).shape(Shape::half_box(0.5, 0.5)));
    scene
}

/// Returns the positions of all bodies relative to `at`.
fn places(world: &mut World, at: DVec2) -> Vec<DVec2> {
    (0..world.compiled().bodies.len())
        .map(|slot| world.body_id(slot).unwrap())
        .map(|id| world.body(id).unwrap().position_f64() - at)
        .collect()
}

fn largest_difference(one: &[DVec2], other: &[DVec2]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| one.distance(*other)).fold(0.0, f64::max)
}

#[test]
fn a_world_10_000_km_out_does_what_it_does_at_0() {
    for ((backend, mut near), (_, mut far)) in on_all(&scene(DVec2::ZERO)).into_iter().zip(on_all(&scene(FAR))) {
        for _ in 0..STEPS {
            near.step().unwrap();
            far.step().unwrap();
        }
        let (near, far) = (places(&mut near, DVec2::ZERO), places(&mut far, FAR));
        let off = largest_difference(&near, &far);
        assert!(off < 1e-3, "{backend}: {off} m off");
        assert!(near[12].distance(DVec2::new(0.0, 11.5)) < 0.02, "{backend}: the stack stands: {}", near[12]);
    }
}

/// A ball at 200 m/s stops at a wall of 4 cm. The search finds the pair earlier there, so that the rebound differs.
#[test]
fn a_fast_ball_stops_at_a_wall_10_000_km_out() {
    let mut scene = Scene::new("wall").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, 0.0).position(FAR).shape(Shape::half_box(0.02, 5.0)));
    let ball = Body::dynamic(0.0, 0.0).velocity(200.0, 0.0).shape(Shape::circle(0.1));
    let ball = scene.add(ball.position(FAR - DVec2::new(10.0, 0.0)));
    for (backend, mut world) in on_all(&scene) {
        for _ in 0..30 {
            world.step().unwrap();
        }
        let at = world.body(ball).unwrap().position_f64() - FAR;
        assert!(at.x < -0.1, "{backend}: {at}");
    }
}

/// Negative control: without the low parts, the same world falls apart.
#[test]
fn without_the_low_parts_a_far_world_falls_apart() {
    for ((backend, mut near), (_, mut far)) in on_all(&scene(DVec2::ZERO)).into_iter().zip(on_all(&scene(FAR))) {
        for _ in 0..STEPS / 4 {
            near.step().unwrap();
            far.step().unwrap();
            let mut snapshot = far.snapshot().unwrap();
            snapshot.poses.iter_mut().for_each(|pose| pose.low = [0.0; 2]);
            far.restore(&snapshot).unwrap();
        }
        let off = largest_difference(&places(&mut near, DVec2::ZERO), &places(&mut far, FAR));
        assert!(off > 0.2, "{backend}: only {off} m off");
    }
}

/// A motion of a millionth of what a 32-bit float resolves adds up.
#[test]
fn slow_bodies_move_however_far_out_they_are() {
    for (at, speed) in [(100.0, 1e-5), (1e5, 1e-3), (1e7, 1e-4)] {
        let mut scene = Scene::new("slow").gravity(0.0, 0.0);
        scene.add(Body::dynamic(at, -at).velocity(speed, -speed).shape(Shape::circle(0.5)));
        for (backend, mut world) in on_all(&scene) {
            for _ in 0..600 {
                world.step().unwrap();
            }
            let moved = places(&mut world, DVec2::new(f64::from(at), -f64::from(at)))[0];
            let expected = DVec2::new(1.0, -1.0) * 10.0 * f64::from(speed);
            assert!(moved.distance(expected) < 0.01 * expected.length(), "{backend}, {at} m out: {moved}");
        }
    }
}

#[test]
fn teleports_and_targets_are_exact_far_out() {
    let mut scene = Scene::new("teleports").gravity(0.0, 0.0);
    let ball = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5).offset(0.3, 0.0)));
    let hand = scene.add(Body::kinematic(0.0, 0.0).position(FAR).shape(Shape::half_box(0.5, 0.5)));
    for (backend, mut world) in on_all(&scene) {
        let there = FAR + DVec2::new(8.125, 0.001);
        world.command(ball, Command::teleport(there, 0.4)).unwrap();
        world.command(hand, Command::target(FAR + DVec2::new(0.001, 0.0), 0.0)).unwrap();
        world.step().unwrap();
        let [ball, hand] = [ball, hand].map(|body| world.body(body).unwrap().position_f64());
        assert!(ball.distance(there) < 1e-6, "{backend}: {}", ball - there);
        assert!((hand - FAR).distance(DVec2::new(0.001, 0.0)) < 1e-6, "{backend}: {}", hand - FAR);
    }
}

/// Rays begin at 32-bit points, and end exactly.
#[test]
fn a_ray_meets_a_far_body_where_it_is() {
    let at = DVec2::new(9_999_000.3, 0.0);
    let mut scene = Scene::new("ray").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, 0.0).position(at).shape(Shape::half_box(0.25, 0.25)));
    for (backend, mut world) in on_all(&scene) {
        world.step().unwrap();
        let from = Vec2::new(9_998_990.0, 0.0);
        let answers = world.query(&[Query::ray(from, from + Vec2::new(20.0, 0.0))]).unwrap();
        let hit = answers.hit(0).expect("a hit");
        let distance = 20.0 * f64::from(hit.fraction);
        assert!((distance - 10.05).abs() < 1e-4, "{backend}: {distance}");
    }
}

/// Joints without a length of their own get that of their bodies, to the last digit also far out. In 32 bits places
/// there are 1 m apart.
#[test]
fn joints_measure_their_length_far_out() {
    let scene = |at: DVec2| {
        let mut scene = Scene::new("rods").gravity(0.0, 0.0);
        let ball = |scene: &mut Scene, x: f64| {
            scene.add(Body::dynamic(0.0, 0.0).position(at + DVec2::new(x, 0.3)).shape(Shape::circle(0.2)))
        };
        let [a, b, c, d] = [0.1, 1.7, 5.2, 8.5].map(|x| ball(&mut scene, x));
        scene.join(Joint::new(JointKind::Distance { length: None, limits: None, motor: None }, a, b));
        scene.join(Joint::new(JointKind::Spring { rest_length: None, stiffness: 100.0, damping: 0.0 }, c, d));
        scene
    };
    for ((backend, mut near), (_, mut far)) in on_all(&scene(DVec2::ZERO)).into_iter().zip(on_all(&scene(FAR))) {
        for _ in 0..60 {
            near.step().unwrap();
            far.step().unwrap();
        }
        let off = largest_difference(&places(&mut near, DVec2::ZERO), &places(&mut far, FAR));
        assert!(off < 1e-5, "{backend}: {off} m");
    }
}
