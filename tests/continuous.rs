//! Continuous collision detection: fast bodies do not tunnel through walls, on every backend, and all other motion is
//! unaffected.
//!
//! Every test of a wall has its negative control: the same world without the stage.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "poses are drawn in f64 and used in f32")]

use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::collide::manifold;
use drystone::low_level::stages::continuous::{Party, SweepMotion, time_of_impact};
use drystone::low_level::step::Stage;
use drystone::low_level::types::Pose;
use drystone::{Body, Scene, Shape};
use glam::{DVec2, Vec2};

use crate::common::{Backend, Sim, between, near};
use crate::shapes::kit::{self, Random, regular, rounded};

on_every_backend!(
    walls_hold,
    walls_hold_far_out,
    sliding_bodies_keep_their_speed,
    tiles_do_not_stop,
    bullets_are_caught,
    balls_bounce,
    slow_bodies_are_left_alone,
    sensors_stop_nothing,
    bullets_meet_bullets,
    fast_walls_take_bullets_along,
    turning_boxes_hold,
    a_setting_leaves_it_out,
);

/// Makes shapes that do not collide with each other.
fn apart(mut shape: Shape) -> Shape {
    shape.filter.group = -1;
    shape
}

/// Returns the projectiles, all about 10 cm in size.
fn shots() -> Vec<Shape> {
    vec![
        Shape::half_box(0.05, 0.05),
        Shape::circle(0.05),
        Shape::particle(0.05),
        Shape::capsule([-0.05, 0.0], [0.05, 0.0], 0.025),
        Shape::polygon(regular(3, 0.06)),
        Shape::polygon(regular(6, 0.05)),
        Shape::rounded_box(0.04, 0.03, 0.01),
        rounded(regular(5, 0.04), 0.01),
        Shape::half_box(0.2, 0.02),
    ]
}

/// Returns walls along y through the origin, 5 cm thick at most, all beyond x = -0.025.
fn ccd_candidates() -> Vec<(&'static str, Shape)> {
    vec![
        ("box", Shape::half_box(0.025, 150.0)),
        ("segment", Shape::segment([0.0, -150.0], [0.0, 150.0])),
        ("polygon", Shape::polygon([[-0.025, -150.0], [0.025, -150.0], [0.01, 150.0], [-0.025, 150.0]])),
        ("capsule", Shape::capsule([0.0, -150.0], [0.0, 150.0], 0.025)),
        ("half plane", Shape::half_plane([-1.0, 0.0], 0.025)),
    ]
}

const COUNT: u16 = 180;

/// Returns a scene with the wall, rotated by `angle` about `center`, and bodies that fly at it at up to 400 m/s.
fn shooting(wall: &Shape, center: Vec2, angle: f32, seed: u64) -> Scene {
    let mut random = Random(seed);
    let turn = Vec2::from_angle(angle);
    let mut scene = Scene::new("shooting").gravity(0.0, 0.0);
    scene.add(Body::fixed(center.x, center.y).angle(angle).shape(wall.clone()));
    let shots = shots();
    for index in 0..COUNT {
        let mut between = |low: f64, high: f64| random.between(low, high) as f32;
        let at = Vec2::new(between(-8.0, -0.3), between(-5.0, 5.0));
        let slope = between(-1.2, 1.2);
        let speed = if index % 4 == 0 { between(20.0, 400.0) } else { 400.0 };
        let velocity = turn.rotate(Vec2::from_angle(slope) * speed);
        let place = center + turn.rotate(at);
        let shape = apart(shots[usize::from(index) % shots.len()].clone());
        let body = Body::dynamic(place.x, place.y).angle(between(-3.1, 3.1)).velocity(velocity.x, velocity.y);
        scene.add(body.angular_velocity(between(-45.0, 45.0)).shape(shape));
    }
    scene
}

/// Returns the maximum distance of each body's centre past the front of the wall, m.
fn deepest(mut sim: Sim, center: Vec2, angle: f32) -> Vec<f32> {
    let turn = Vec2::from_angle(-angle);
    let mut deepest = vec![f32::NEG_INFINITY; usize::from(COUNT)];
    for _ in 0..20 {
        let bodies = sim.advance(1).bodies();
        for (deepest, body) in deepest.iter_mut().zip(&bodies[1..]) {
            let x = turn.rotate(Vec2::from(body.position) - center).x;
            *deepest = deepest.max(x);
        }
    }
    deepest
}

fn walls_hold(backend: Backend) {
    for (index, (name, wall)) in ccd_candidates().into_iter().enumerate() {
        let angle = [0.0, 0.7, -1.9][index % 3];
        let scene = shooting(&wall, Vec2::ZERO, angle, 5 + index as u64);
        for (shot, x) in deepest(backend.start(&scene), Vec2::ZERO, angle).into_iter().enumerate() {
            // The slow ones may not get there.
            let near = if shot % 4 == 0 { -8.0 } else { -0.4 };
            between(&format!("shot {shot} at {name}"), x, near, 0.0);
        }
        let through = deepest(backend.start_without(&scene, Stage::Continuous), Vec2::ZERO, angle);
        let through = through.into_iter().filter(|&x| x > 0.1).count();
        // A half plane has no other side.
        assert!(name == "half plane" || through > usize::from(COUNT) / 2, "{through} pass a {name} unwatched");
    }
}

/// 20 km from the origin positions are rounded to 2 mm.
fn walls_hold_far_out(backend: Backend) {
    let center = Vec2::new(2e4, -2e4);
    for (index, (name, wall)) in ccd_candidates().into_iter().enumerate() {
        let scene = shooting(&wall, center, 0.0, 50 + index as u64);
        for (shot, x) in deepest(backend.start(&scene), center, 0.0).into_iter().enumerate() {
            // The slow ones may not get there.
            let near = if shot % 4 == 0 { -8.0 } else { -0.4 };
            between(&format!("shot {shot} at {name}"), x, near, 0.0);
        }
    }
}

/// Boxes and balls that slide along a floor at 20 to 300 m/s without friction keep their speed and reach the expected
/// distance.
fn slide(backend: Backend, floor: Vec<Body>) {
    let mut scene = Scene::new("slide").gravity(0.0, -10.0);
    for body in floor {
        scene.add(body);
    }
    let first = scene.bodies.len();
    for index in 0..8_u8 {
        let shape = if index % 2 == 0 { Shape::half_box(0.05, 0.05) } else { Shape::circle(0.05) };
        let body = Body::dynamic(-10.0 * f32::from(index), 0.05).velocity(20.0 + 40.0 * f32::from(index), 0.0);
        scene.add(body.shape(apart(shape.friction(0.0))));
    }
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(60).bodies();
    for (index, body) in bodies[first..].iter().enumerate() {
        let speed = 20.0 + 40.0 * index as f64;
        near(&format!("distance of {index}"), body.position[0] + 10.0 * index as f32, speed, 1e-3 * speed);
        near(&format!("height of {index}"), body.position[1], 0.05, 2e-3);
    }
}

fn sliding_bodies_keep_their_speed(backend: Backend) {
    slide(backend, vec![Body::fixed(100.0, -1.0).shape(Shape::half_box(300.0, 1.0))]);
    slide(backend, vec![Body::fixed(100.0, 0.0).shape(Shape::segment([-300.0, 0.0], [300.0, 0.0]))]);
    slide(backend, vec![Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0))]);
}

/// Fast bodies slide over a floor of tiles without catching on the sides between them.
fn tiles_do_not_stop(backend: Backend) {
    let tile = |index: u16| Body::fixed(f32::from(index) - 100.0, -0.5).shape(Shape::half_box(0.5, 0.5));
    slide(backend, (0..450).map(tile).collect());
}

/// Bullets are stopped by floating plates; as many other bodies pass them.
fn bullets_are_caught(backend: Backend) {
    let mut random = Random(3);
    let mut scene = Scene::new("bullets").gravity(0.0, 0.0);
    for index in 0..20_u8 {
        let y = 3.0 * f32::from(index);
        let bullet = index % 2 == 0;
        let plate = Shape::half_box(0.02, 1.0).density(1000.0);
        scene.add(Body::dynamic(5.0, y).velocity(random.between(-30.0, 30.0) as f32, 0.0).shape(plate));
        let x = random.between(-3.0, 0.0) as f32;
        let shape = if index % 4 < 2 { Shape::circle(0.03) } else { Shape::half_box(0.03, 0.02) };
        let mut body = Body::dynamic(x, y).velocity(random.between(250.0, 400.0) as f32, 0.0).shape(shape);
        body.bullet = bullet;
        scene.add(body);
    }
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(10).bodies();
    let mut passed = [0, 0];
    for (index, pair) in bodies.chunks_exact(2).enumerate() {
        passed[index % 2] += u32::from(pair[1].position[0] > pair[0].position[0]);
    }
    assert_eq!(passed[0], 0, "bullets that passed a plate");
    assert!(passed[1] >= 5, "only {} of ten others passed a plate: nothing is tested", passed[1]);
}

/// A ball with 100 m/s and restitution 1 bounces off a thin wall with the same speed.
fn balls_bounce(backend: Backend) {
    for (name, wall) in ccd_candidates() {
        let mut scene = Scene::new("bounce").gravity(0.0, 0.0);
        scene.settings.restitution_mix = drystone::Mixing::Max;
        scene.add(Body::fixed(0.0, 0.0).shape(wall.restitution(1.0)));
        for index in 0..10_u8 {
            let body = Body::dynamic(-3.0 - 0.17 * f32::from(index), f32::from(index)).velocity(100.0, 0.0);
            scene.add(body.shape(Shape::circle(0.05).restitution(1.0)));
        }
        let mut sim = backend.start(&scene);
        for (index, body) in sim.advance(10).bodies()[1..].iter().enumerate() {
            near(&format!("speed of {index} from {name}"), body.velocity[0], -100.0, 0.1);
            between(&format!("place of {index} before {name}"), body.position[0], -20.0, -1.0);
        }
    }
}

/// Balls fly through a sensor without effect, some with a thin sensor of their own far ahead of them, and stop at the
/// wall behind it, which their own sensors passed long before.
fn sensors_stop_nothing(backend: Backend) {
    const COUNT: u8 = 16;
    let wall = Shape::half_box(0.025, 50.0);
    let scene = |sensor: bool| {
        let mut scene = Scene::new("sensors").gravity(0.0, 0.0);
        scene.add(Body::fixed(0.0, 0.0).shape(Shape { sensor, ..wall.clone() }));
        scene.add(Body::fixed(20.0, 0.0).shape(wall.clone()));
        for index in 0..COUNT {
            let y = 2.0 * f32::from(index) - 16.0;
            let mut body = Body::dynamic(-1.0 - 0.37 * f32::from(index), y).velocity(390.0, 0.0);
            body = body.shape(Shape::circle(0.05));
            if index % 2 == 1 {
                body = body.shape(Shape::half_box(5.0, 0.005).offset(5.0, 0.0).density(1e-3).sensor());
            }
            scene.add(body);
        }
        scene
    };
    let mut sim = backend.start(&scene(true));
    for (index, body) in sim.advance(1).bodies()[2..].iter().enumerate() {
        near(&format!("ball {index} through the sensor"), body.position[0], 5.5 - 0.37 * index as f64, 1e-3);
    }
    for (index, body) in sim.advance(9).bodies()[2..].iter().enumerate() {
        between(&format!("ball {index} at the wall"), body.position[0], 19.5, 20.0);
    }
    for (index, body) in backend.start(&scene(false)).advance(10).bodies()[2..].iter().enumerate() {
        between(&format!("ball {index} at what is no sensor"), body.position[0], -0.5, 0.0);
    }
    let bodies = backend.start_without(&scene(true), Stage::Continuous).advance(10).bodies();
    let passed = bodies[2..].iter().filter(|body| body.position[0] > 20.0).count();
    assert!(passed > usize::from(COUNT) / 2, "only {passed} pass the wall unwatched");
}

/// Bullets that fly at each other collide; as many other bodies pass each other.
fn bullets_meet_bullets(backend: Backend) {
    let mut random = Random(8);
    let mut scene = Scene::new("duels").gravity(0.0, 0.0);
    for index in 0..20_u8 {
        let shape = if index % 4 < 2 { Shape::circle(0.03) } else { Shape::half_box(0.03, 0.02) };
        for side in [-1.0, 1.0] {
            let mut between = |low: f64, high: f64| random.between(low, high) as f32;
            let body = Body::dynamic(side * between(1.0, 8.0), f32::from(index));
            let mut body = body.velocity(-side * between(100.0, 390.0), 0.0).shape(shape.clone());
            body.bullet = index % 2 == 0;
            scene.add(body);
        }
    }
    let passed = |mut sim: Sim| {
        let bodies = sim.advance(12).bodies();
        let mut passed = [0, 0];
        for (index, pair) in bodies.chunks_exact(2).enumerate() {
            passed[index % 2] += u32::from(pair[0].position[0] > pair[1].position[0]);
        }
        passed
    };
    let [bullets, others] = passed(backend.start(&scene));
    assert_eq!(bullets, 0, "bullets that passed each other");
    assert!(others >= 5, "only {others} of ten others passed each other: nothing is tested");
    let [bullets, _] = passed(backend.start_without(&scene, Stage::Continuous));
    assert!(bullets >= 5, "only {bullets} of ten bullets passed each other unwatched");
}

/// A wall that moves 7 m per step carries a slow bullet along. It jumps over most other bodies, as
/// [`drystone::BodyType::Kinematic`] documents.
fn fast_walls_take_bullets_along(backend: Backend) {
    let mut random = Random(11);
    let mut scene = Scene::new("fast walls").gravity(0.0, 0.0);
    for index in 0..20_u8 {
        let mut between = |low: f64, high: f64| random.between(low, high) as f32;
        let y = 3.0 * f32::from(index);
        let wall = Body::kinematic(between(-9.0, -0.5), y).velocity(between(200.0, 390.0), 0.0);
        scene.add(wall.shape(Shape::half_box(0.02, 1.0)));
        let shape = if index % 4 < 2 { Shape::circle(0.05) } else { Shape::half_box(0.05, 0.05) };
        let mut body = Body::dynamic(0.0, y).velocity(between(-1.0, 1.0), 0.0).shape(shape);
        body.bullet = index % 2 == 0;
        scene.add(body);
    }
    let passed = |mut sim: Sim| {
        let bodies = sim.advance(12).bodies();
        let mut passed = [0, 0];
        for (index, pair) in bodies.chunks_exact(2).enumerate() {
            passed[index % 2] += u32::from(pair[0].position[0] > pair[1].position[0]);
        }
        passed
    };
    let [bullets, others] = passed(backend.start(&scene));
    assert_eq!(bullets, 0, "bullets that a wall passed");
    assert!(others >= 5, "only {others} of ten others: nothing is tested");
    let [bullets, _] = passed(backend.start_without(&scene, Stage::Continuous));
    assert!(bullets >= 5, "only {bullets} of ten bullets unwatched");
}

/// Sensor shapes do not change the extents by which continuous collision detection selects fast bodies.
#[test]
fn sensors_do_not_change_the_extents_of_a_body() {
    let feeler = Shape::half_box(5.0, 0.001);
    let size = |more: Option<Shape>| {
        let mut scene = Scene::new("feeler");
        let body = Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.4));
        scene.add(match more {
            Some(shape) => body.shape(shape),
            None => body,
        });
        let compiled = Compiled::new(&scene).expect("valid");
        let ccd_body = compiled.ccd_bodies[0];
        assert_eq!([ccd_body.extent, ccd_body.min_extent], [compiled.bodies[0].extent, compiled.bodies[0].min_extent]);
        [ccd_body.extent, ccd_body.min_extent]
    };
    let plain = size(None);
    assert_eq!(size(Some(feeler.clone().sensor())), plain);
    let solid = size(Some(feeler));
    assert!(solid[0] > 4.9 && solid[1] < 0.01, "{solid:?}");
}

/// The stage does not change a single bit while no body is fast.
fn slow_bodies_are_left_alone(backend: Backend) {
    for spec in ["large_pyramid:base=12", "card_house", "circle_stack"] {
        let scene = drystone_scenes::catalogue::build(spec).expect("a scene");
        let mut with = backend.start(&scene);
        let mut without = backend.start_without(&scene, Stage::Continuous);
        let (with, without) = (with.advance(60).snapshot(), without.advance(60).snapshot());
        assert_eq!(drystone::low_level::state::hash(&with), drystone::low_level::state::hash(&without), "{spec}");
        assert_eq!(with.counters.continuous, 0, "{spec}");
    }
}

/// Returns a turning box, 4 m in half size, made of half planes, thin boxes or segments on one kinematic body.
fn turning_box(ccd_candidates: &str, speed: f32) -> Scene {
    let mut random = Random(99);
    let mut scene = Scene::new("turning box").gravity(0.0, -10.0);
    scene.settings.restitution_mix = drystone::Mixing::Max;
    let mut drum = Body::kinematic(0.0, 0.0).angular_velocity(speed);
    for index in 0..4_u8 {
        let angle = std::f32::consts::FRAC_PI_2 * f32::from(index);
        let wall = match ccd_candidates {
            "half planes" => Shape::half_plane([0.0, 1.0], -4.0),
            "thin boxes" => Shape::half_box(4.05, 0.025).offset(0.0, -4.0),
            _ => Shape::segment([-4.1, -4.0], [4.1, -4.0]),
        };
        // Rotates the offset only; the shape's own rotation is set separately.
        let offset = Vec2::from_angle(angle).rotate(wall.offset);
        drum = drum.shape(Shape { offset, rotation: angle, ..wall }.restitution(1.0));
    }
    scene.add(drum);
    for index in 0..300_u16 {
        let at = [0.36 * f32::from(index % 20) - 3.42, 0.4 * f32::from(index / 20) - 2.9];
        let velocity = Vec2::from_angle(random.between(-3.2, 3.2) as f32) * 20.0;
        let body = Body::dynamic(at[0], at[1]).velocity(velocity.x, velocity.y);
        scene.add(body.shape(Shape::particle(0.08).restitution(1.0)));
    }
    scene
}

/// Runs steps of 1/60 s, a hundred at a time, and returns the number of particles outside at the end.
fn escaped(sim: &mut Sim, steps: usize) -> usize {
    let bodies = sim.advance(steps).bodies();
    let turn = Vec2::from_angle(-bodies[0].angle);
    let outside = |at: [f32; 2]| turn.rotate(Vec2::from(at)).abs().max_element() > 4.0;
    bodies[1..].iter().filter(|body| outside(body.position)).count()
}

fn hold(backend: Backend, steps: usize) {
    for ccd_candidates in ["half planes", "thin boxes", "segments"] {
        let mut sim = backend.start(&turning_box(ccd_candidates, 0.5));
        for done in 0..steps / 600 {
            assert_eq!(escaped(&mut sim, 600), 0, "got out of {ccd_candidates} in {} s", 10 * (done + 1));
        }
        let energy = sim.metrics().kinetic_energy;
        println!("{ccd_candidates}: kinetic energy {energy} J after {steps} steps");
    }
}

/// Two minutes on one thread, 10 s on the other backends, which are equal or slower.
fn turning_boxes_hold(backend: Backend) {
    hold(backend, if backend == Backend::Cpu1 { 7200 } else { 600 });
    for ccd_candidates in ["thin boxes", "segments"] {
        let mut sim = backend.start_without(&turning_box(ccd_candidates, 0.5), Stage::Continuous);
        assert!(escaped(&mut sim, 600) > 10, "{ccd_candidates} hold also unwatched: nothing is tested");
    }
}

/// Without the setting a step is that without the stage, to the same bits, and particles get through the walls.
fn a_setting_leaves_it_out(backend: Backend) {
    let mut scene = turning_box("thin boxes", 0.5);
    let positions = |sim: &mut Sim| sim.advance(90).bodies().iter().map(|body| body.position).collect::<Vec<_>>();
    let [on, without] =
        [backend.start(&scene), backend.start_without(&scene, Stage::Continuous)].map(|mut sim| positions(&mut sim));
    scene.settings.continuous = false;
    let mut off = backend.start(&scene);
    assert_eq!(positions(&mut off), without);
    assert_ne!(without, on);
    assert!(escaped(&mut off, 90) > 0);
}

#[test]
#[ignore = "takes minutes"]
fn turning_boxes_hold_for_ten_minutes_on_the_cpu() {
    hold(Backend::Cpu1, 36_000);
}

#[test]
#[ignore = "takes an hour on a software adapter"]
fn turning_boxes_hold_for_ten_minutes_on_the_gpu() {
    hold(Backend::Gpu, 36_000);
}

/// The bar throws bodies end first at the vessel, too: capsules once got stuck between two of its segments, and then
/// escaped.
#[test]
fn no_body_leaves_the_spinner() {
    for speed in ["4.9", "5", "5.2"] {
        let scene = drystone_scenes::catalogue::build(&format!("spinner:bodies=800,speed={speed}")).expect("a scene");
        let center = Vec2::new(0.0, 32.0);
        let left = |stage: Option<Stage>| {
            let mut world = drystone::low_level::CpuWorld::new(&scene).expect("a world");
            if let Some(stage) = stage {
                world = world.without(stage);
            }
            for _ in 0..300 {
                world.step().unwrap();
            }
            let poses = world.snapshot().poses;
            poses[1..].iter().filter(|pose| Vec2::from(pose.position).distance(center) > 40.0).count()
        };
        assert_eq!(left(None), 0, "at {speed} rad/s");
        assert!(left(Some(Stage::Continuous)) > 10, "all stay inside also unwatched: nothing is tested");
    }
}

/// Returns the vertices of a shape in f64 at a fraction of the step, in the world: the same motion as the solver's,
/// computed independently.
fn outline_at(scene: &Compiled, shape: usize, motion: &SweepMotion, time: f64) -> Vec<DVec2> {
    let turn = |q: Vec2| DVec2::new(f64::from(q.x), f64::from(q.y)).normalize();
    let shape = &scene.shapes[shape];
    let count = (shape.kind >> drystone::low_level::types::VERTEX_COUNT_SHIFT & 0xf) as usize;
    let points: Vec<DVec2> = match shape.kind & drystone::low_level::types::GEOMETRY_MASK {
        drystone::low_level::types::CIRCLE => vec![DVec2::ZERO],
        drystone::low_level::types::BOX => {
            let half = Vec2::from(shape.half).as_dvec2();
            [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|c| DVec2::from(c) * half).into()
        }
        _ => scene.vertices[shape.first_vertex as usize..][..count].iter().map(|&v| Vec2::from(v).as_dvec2()).collect(),
    };
    let turned = (DVec2::new(1.0, 0.0) * (1.0 - time) + turn(motion.turned) * time).normalize();
    let body = turned.rotate(turn(motion.rotation));
    let center = motion.start.as_dvec2() + motion.moved.as_dvec2() * time;
    let place = |p: DVec2| body.rotate(Vec2::from(shape.offset).as_dvec2() + turn(shape.rotation.into()).rotate(p));
    points.into_iter().map(|point| center + place(point)).collect()
}

/// Returns the distance of two convex outlines, 0 if they overlap.
fn distance(a: &[DVec2], b: &[DVec2]) -> f64 {
    let inside = |points: &[DVec2], at: DVec2| {
        points.len() > 2
            && (0..points.len()).all(|i| (points[(i + 1) % points.len()] - points[i]).perp_dot(at - points[i]) >= 0.0)
    };
    if inside(a, b[0]) || inside(b, a[0]) {
        return 0.0;
    }
    let edges = |points: &[DVec2]| -> Vec<(DVec2, DVec2)> {
        (0..points.len()).map(|i| (points[i], points[(i + 1) % points.len()])).collect()
    };
    let to_edge = |p: DVec2, (s, e): (DVec2, DVec2)| {
        let edge = e - s;
        let squared = edge.length_squared();
        let share = if squared > 0.0 { ((p - s).dot(edge) / squared).clamp(0.0, 1.0) } else { 0.0 };
        (p - s - edge * share).length()
    };
    let mut least = f64::INFINITY;
    for &of_a in &edges(a) {
        for &of_b in &edges(b) {
            let (side_1, side_2) =
                ((of_a.1 - of_a.0).perp_dot(of_b.0 - of_a.0), (of_a.1 - of_a.0).perp_dot(of_b.1 - of_a.0));
            let (side_3, side_4) =
                ((of_b.1 - of_b.0).perp_dot(of_a.0 - of_b.0), (of_b.1 - of_b.0).perp_dot(of_a.1 - of_b.0));
            if side_1 * side_2 < 0.0 && side_3 * side_4 < 0.0 {
                return 0.0;
            }
            for distance in [to_edge(of_a.0, of_b), to_edge(of_b.0, of_a)] {
                least = least.min(distance);
            }
        }
    }
    least
}

/// Compares the time of impact with the first of 2000 samples at which the shapes are at target distance, for random
/// motions of every pair of shapes. Before it, they are never nearer.
#[test]
fn times_of_impact_are_those_of_an_oracle() {
    const TARGET: f32 = 0.005;
    const TOLERANCE: f32 = 5e-5;
    const SAMPLES: u32 = 2000;
    let shapes = kit::shapes();
    let mut random = Random(17);
    // Counted separately for walls at rest, and walls that move and turn.
    let (mut hits, mut early) = ([0, 0], [0, 0]);
    for index in 0..3000_usize {
        let moves = usize::from(index % 2 == 1);
        let mut scene = Scene::new("pair");
        let picks = [index / 2 % shapes.len(), index / 2 / shapes.len() % shapes.len()];
        for pick in picks {
            scene.add(Body::fixed(0.0, 0.0).shape(shapes[pick].1.clone()));
        }
        let compiled = Compiled::new(&scene).expect("valid");
        let mut motion = |far: f64| {
            let mut between = |low: f64, high: f64| random.between(low, high) as f32;
            let from = Vec2::from_angle(between(-3.2, 3.2));
            SweepMotion {
                start: from * between(0.0, far),
                rotation: Vec2::from_angle(between(-3.2, 3.2)),
                moved: Vec2::from_angle(between(-0.4, 0.4)).rotate(from) * between(-8.0, 0.0),
                turned: Vec2::from_angle(between(-0.8, 0.8)),
            }
        };
        let mut motions = [motion(6.0), motion(0.0)];
        if moves == 0 {
            (motions[1].moved, motions[1].turned) = (Vec2::ZERO, Vec2::X);
        }
        let radius = f64::from(compiled.shapes[0].radius) + f64::from(compiled.shapes[1].radius);
        let gap = |time: f64| {
            let outline = |which: usize| outline_at(&compiled, which, &motions[which], time);
            distance(&outline(0), &outline(1)) - radius
        };
        if gap(0.0) <= 2.0 * f64::from(TARGET) {
            continue;
        }
        let party = |which: usize| Party::new(&compiled.shapes[which], &compiled.vertices, motions[which]);
        let time = time_of_impact(&party(0), &party(1), TARGET, TOLERANCE, 1.0);
        let name = format!("{index}: {} and {}", shapes[picks[0]].0, shapes[picks[1]].0);
        let near = |time: f64| gap(time) <= f64::from(TARGET);
        let first = (0..=SAMPLES).map(|n| f64::from(n) / f64::from(SAMPLES)).find(|&time| near(time));
        // Two samples are up to 8 m·2/4000 of motion apart; f32 rounds at 1e-5 m here.
        let slack = 1.5 / f64::from(SAMPLES);
        if let Some(first) = first {
            assert!(f64::from(time) <= first + slack, "{name}: {time}, but they meet at {first}");
            hits[moves] += 1;
        }
        if time < 1.0 {
            let there = gap(f64::from(time));
            assert!(there > f64::from(TARGET) - 2e-5, "{name}: {there} m apart at {time}");
            // If the iterations run out, the result is before the impact.
            early[moves] += u32::from(there > f64::from(TARGET + TOLERANCE) + 2e-5);
        }
    }
    println!("{hits:?} hits, {early:?} stopped early");
    assert!(hits[0] > 300 && hits[1] > 300, "only {hits:?} met: little is tested");
    // Walls that fly 8 m and turn 45° in a step are beyond reasonable use.
    assert!(early[0] * 100 < hits[0] && early[1] * 5 < hits[1], "{early:?} of {hits:?} ran out of advances");
}

/// The oracle of the test above agrees with the manifolds of `collide` for bodies at rest.
#[test]
fn the_oracle_agrees_with_collide() {
    let mut scene = Scene::new("pair");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(0.5, 0.3)));
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::capsule([-0.6, 0.0], [0.6, 0.0], 0.2)));
    let compiled = Compiled::new(&scene).expect("valid");
    let still = |start: Vec2| SweepMotion { start, rotation: Vec2::X, moved: Vec2::ZERO, turned: Vec2::X };
    for (y, want) in [(0.505, 0.005), (0.51, 0.01)] {
        let motions = [still(Vec2::ZERO), still(Vec2::new(0.3, y))];
        let gap =
            distance(&outline_at(&compiled, 0, &motions[0], 0.0), &outline_at(&compiled, 1, &motions[1], 0.0)) - 0.2;
        near("distance", gap, want, 1e-6);
        let pose = Pose { position: [0.3, y], rotation: [1.0, 0.0], ..Pose::default() };
        let [a, b] = [&compiled.shapes[0], &compiled.shapes[1]];
        let found = manifold(a, b, &compiled.vertices, &Pose::default(), &pose, 0.02, 0.005);
        near("separation", found.points[0].separation, gap, 1e-6);
    }
}

/// Bodies added later are covered too, also if their shapes reuse vacated slots.
#[test]
fn added_bodies_are_swept() {
    let mut scene = Scene::new("newcomers").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(0.025, 5.0)));
    scene.add(Body::dynamic(-30.0, 0.0).shape(Shape::circle(0.1)));
    scene.add(Body::dynamic(-30.0, 9.0).shape(Shape::circle(0.1)));
    for (backend, swept) in [(Backend::Cpu1, true), (Backend::Cpu1, false), (Backend::Gpu, true)] {
        scene.settings.continuous = swept;
        let mut world: drystone::World = match backend {
            Backend::Gpu => {
                let context = drystone::Context::new(drystone::AdapterChoice::Any).expect("an adapter");
                drystone::low_level::GpuWorld::new(&context, &scene).expect("a world").into()
            }
            _ => drystone::low_level::CpuWorld::new(&scene).expect("a world").into(),
        };
        world.step().expect("a step");
        let first = world.body_id(1).expect("it exists");
        world.remove_bodies(&[first]).expect("it exists");
        world.step().expect("a step");
        // One shape reuses the vacated slot, the other is appended: they are not adjacent.
        let shapes = [Shape::circle(0.05).offset(0.0, 0.1), Shape::half_box(0.05, 0.05).offset(0.0, -0.1)];
        let [one, other] = shapes;
        let body = Body::dynamic(-3.0, 0.0).velocity(390.0, 0.0).shape(one).shape(other);
        let [id] = world.add_bodies(&[body]).expect("it is valid")[..] else { panic!("one body") };
        for _ in 0..6 {
            world.step().expect("a step");
        }
        let at = world.snapshot().expect("a snapshot").poses[id.index as usize].position[0];
        // The asymmetric body spins off the wall, at up to 6 of its 390 m/s. Without sweeps it is 36 m behind it.
        let [low, high] = if swept { [-1.0, 0.0] } else { [30.0, 40.0] };
        between(&format!("newcomer on {backend:?}, swept {swept}"), at, low, high);
    }
}
