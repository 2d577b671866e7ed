//! Explosions: impulses on bodies within their radius, equal on every backend, and without lasting effect.

use crate::common::{Backend, near};
use drystone::{Body, Explosion, Filter, Scene, Shape, Snapshot, WorldError};
use glam::Vec2;

const BACKENDS: [Backend; 3] = [Backend::Cpu1, Backend::Cpu3, Backend::Gpu];

fn weightless(bodies: Vec<Body>) -> Scene {
    let mut scene = Scene::new("burst").gravity(0.0, 0.0);
    for body in bodies {
        scene.add(body);
    }
    scene
}

/// Returns the number of shapes pushed, and the state after an explosion and one step.
fn after(backend: Backend, scene: &Scene, explosion: &Explosion) -> (usize, Snapshot) {
    let mut world = backend.world(scene);
    world.step().unwrap();
    let before = world.snapshot().unwrap().poses.len();
    let pushed = world.explode(explosion).unwrap();
    world.step().unwrap();
    let snapshot = world.snapshot().unwrap();
    assert_eq!(snapshot.poses.len(), before, "nothing is left behind");
    (pushed, snapshot)
}

fn velocity(snapshot: &Snapshot, body: usize) -> Vec2 {
    snapshot.states[body].velocity.into()
}

/// Returns a disc of 1 kg.
fn disc(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::circle(0.5).density(1.0 / (0.25 * std::f32::consts::PI)))
}

/// The impulse is impulse per length × width × falloff, directed away from the centre.
#[test]
fn a_push_falls_off_with_the_distance_to_the_surface() {
    let distances = [2.5, 5.4, 6.5, 8.5, 10.4, 10.6, 40.0];
    // In different directions, so that no two bodies collide.
    let way = |body: usize| Vec2::from_angle([0.3, 1.2, 2.1, 3.0, 3.9, 4.8, 5.7][body]);
    let places = distances.iter().enumerate().map(|(body, &distance)| distance * way(body));
    let scene = weightless(places.map(|at| disc(at.x, at.y)).collect());
    let explosion = Explosion { radius: 5.0, falloff: 5.0, impulse_per_length: 3.0, ..Explosion::default() };
    for backend in BACKENDS {
        let (pushed, snapshot) = after(backend, &scene, &explosion);
        assert_eq!(pushed, 5, "those whose surface is within 10 m");
        for (body, distance) in distances.into_iter().enumerate() {
            let share = ((10.0_f32 - (distance - 0.5)) / 5.0).clamp(0.0, 1.0);
            let velocity = velocity(&snapshot, body);
            let want = 3.0 * 1.0 * f64::from(share);
            near(&format!("{backend:?}, at {distance} m"), velocity.dot(way(body)), want, 1e-5);
            near("straight away", velocity.dot(way(body).perp()), 0.0, 1e-5);
        }
        // The body out of reach has not moved by a bit.
        assert_eq!(velocity(&snapshot, 6), Vec2::ZERO);
        assert_eq!(snapshot.poses[6].position, scene.bodies[6].position.to_array());
        // With a falloff distance of zero, the impulse is either full or absent.
        let (pushed, snapshot) = after(backend, &scene, &Explosion { falloff: 0.0, ..explosion });
        assert_eq!(pushed, 2);
        near("full within", velocity(&snapshot, 1).length(), 3.0, 1e-5);
        assert_eq!(velocity(&snapshot, 2), Vec2::ZERO);
    }
}

/// A ring of bodies flies apart evenly: its momentum stays zero, and all speeds are equal. Negative control: with a
/// body missing on one side the sum differs.
#[test]
fn a_ring_flies_apart_evenly() {
    let ring = |count: u8| {
        let at = |index: u8| 4.0 * Vec2::from_angle(std::f32::consts::TAU * f32::from(index) / 12.0);
        weightless((0..count).map(|index| disc(at(index).x, at(index).y)).collect())
    };
    let explosion = Explosion { impulse_per_length: 5.0, ..Explosion::default() };
    for backend in BACKENDS {
        let momentum = |count: u8| {
            let (pushed, snapshot) = after(backend, &ring(count), &explosion);
            assert_eq!(pushed, usize::from(count));
            for body in 0..usize::from(count) {
                near("each alike", velocity(&snapshot, body).length(), 5.0, 1e-4);
            }
            (0..usize::from(count)).map(|body| velocity(&snapshot, body)).sum::<Vec2>()
        };
        let (whole, part) = (momentum(12), momentum(11));
        assert!(whole.length() < 1e-4, "{whole}");
        assert!((part.length() - 5.0).abs() < 1e-3, "{part}");
    }
}

/// A long side receives more impulse than a short one, and an impulse off the centre rotates the body.
#[test]
fn width_counts_and_an_off_centre_push_rotates() {
    let plank = |x: f32, y: f32| Body::dynamic(x, y).shape(Shape::half_box(2.0, 0.25).density(0.5));
    let explosion = Explosion { impulse_per_length: 1.0, ..Explosion::default() };
    for backend in BACKENDS {
        // Below the middle of the long side, to the left of the short one, and below its right end.
        let (_, snapshot) = after(backend, &weightless(vec![plank(0.0, 3.0), plank(5.0, 0.0)]), &explosion);
        near("4 m wide, 1 kg", velocity(&snapshot, 0).y, 4.0, 1e-4);
        near("through the middle", snapshot.states[0].angular_velocity, 0.0, 1e-4);
        near("0.5 m wide", velocity(&snapshot, 1).x, 0.5, 1e-4);
        let (_, snapshot) = after(backend, &weightless(vec![plank(-1.5, 3.0)]), &explosion);
        // r × J / I, with r = (1.5, −0.25), J = (0, 4), I = (4² + 0.5²)/12.
        near("turned", snapshot.states[0].angular_velocity, 6.0 / (16.25 / 12.0), 1e-3);
    }
}

#[test]
fn fixed_bodies_and_other_categories_stay_and_sleepers_wake() {
    let apart = Filter { category: 2, ..Filter::default() };
    let mut scene = weightless(vec![
        disc(2.0, 0.0),
        Body::fixed(-3.0, 0.0).shape(Shape::half_box(0.5, 0.5)),
        Body::kinematic(0.0, 3.0).shape(Shape::half_box(0.5, 0.5)),
        Body::dynamic(0.0, -3.0).shape(Shape::circle(0.5).filter(apart)),
    ]);
    scene.settings.sleep = true;
    let explosion = Explosion { mask: 1, ..Explosion::default() };
    for backend in BACKENDS {
        let mut world = backend.world(&scene);
        for _ in 0..60 {
            world.step().unwrap();
        }
        let asleep = world.snapshot().unwrap();
        assert_eq!(asleep.counters.awake, 0, "all sleep");
        assert_eq!(world.explode(&explosion).unwrap(), 1);
        world.step().unwrap();
        let snapshot = world.snapshot().unwrap();
        assert!(velocity(&snapshot, 0).x > 1.0 && snapshot.counters.awake > 0);
        for body in 1..4 {
            assert_eq!(snapshot.poses[body], asleep.poses[body]);
        }
        // An explosion at a body's centre has a direction too, and invalid parameters are rejected.
        assert_eq!(world.explode(&Explosion { position: Vec2::new(0.0, -3.0), ..Explosion::default() }).unwrap(), 2);
        let wrong = world.explode(&Explosion { radius: f32::NAN, ..Explosion::default() });
        assert!(matches!(wrong, Err(WorldError::Command(_))), "{wrong:?}");
        world.step().unwrap();
        assert!(world.snapshot().unwrap().states.iter().all(|state| state.velocity.iter().all(|v| v.is_finite())));
    }
}
