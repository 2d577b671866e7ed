//! Kinematic bodies on paths: their positions, and their effect on other bodies.

use drystone::low_level::state;
use drystone::{Body, Path, Scene, Shape};
use glam::Vec2;

use crate::common::{Backend, near};

on_every_backend!(
    a_body_is_where_its_path_says,
    a_path_survives_snapshots,
    a_platform_carries_bodies_on_it,
    a_path_that_is_added_begins_with_the_world,
    invalid_paths_are_rejected,
);

const PATH: Path = Path { amplitude: Vec2::new(2.0, 1.0), turn: 0.75, rate: 3.0, phase: 0.5 };

fn led() -> Scene {
    let mut scene = Scene::new("led").gravity(0.0, -10.0);
    scene.add(Body::kinematic(5.0, -3.0).angle(0.25).path(PATH).shape(Shape::half_box(0.5, 0.5).offset(1.0, 0.0)));
    scene
}

/// Evaluates the formula in double precision.
fn place(steps: u32) -> (f64, f64, f64) {
    let swing = (3.0 * f64::from(steps) * f64::from(1.0_f32 / 60.0) + 0.5).sin();
    (5.0 + 2.0 * swing, -3.0 + swing, 0.25 + 0.75 * swing)
}

fn a_body_is_where_its_path_says(backend: Backend) {
    let mut sim = backend.start(&led());
    let mut steps = 0;
    for advance in [0, 1, 1, 30, 200, 1_000] {
        sim.advance(advance as usize);
        steps += advance;
        let (x, y, angle) = place(steps);
        let body = sim.body(0);
        // A step covers the whole distance by its velocity: rounding, and the sine's.
        near("x", body.position[0], x, 1e-4);
        near("y", body.position[1], y, 1e-4);
        near("angle", body.angle, angle, 1e-4);
    }
    // Negative control: a step earlier the position was different.
    assert!((place(steps).0 - place(steps - 1).0).abs() > 1e-3);
}

fn a_path_survives_snapshots(backend: Backend) {
    let mut sim = backend.start(&led());
    let bytes = sim.advance(20).world().save().expect("bytes");
    let straight = state::hash(&sim.advance(50).snapshot());
    let mut other = backend.start(&led());
    other.advance(3).world().load(&bytes).expect("the same scene");
    assert_eq!(state::hash(&other.advance(50).snapshot()), straight);
    let mut another = led();
    another.bodies[0].path = Some(Path { rate: 2.0, ..PATH });
    assert!(backend.start(&another).world().load(&bytes).is_err(), "another path is another world");
}

/// Friction 1 holds a box on a tray that oscillates with up to 4 m/s²; friction 0.05 does not.
fn a_platform_carries_bodies_on_it(backend: Backend) {
    let run = |friction: f32| {
        let mut scene = Scene::new("tray").gravity(0.0, -10.0);
        let path = Path { amplitude: Vec2::new(1.0, 0.0), rate: 2.0, ..Path::default() };
        let tray = Shape::half_box(5.0, 0.5).friction(friction);
        scene.add(Body::kinematic(0.0, -0.5).path(path).shape(tray));
        scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5).friction(friction)));
        let mut sim = backend.start(&scene);
        sim.advance(150);
        let bodies = sim.bodies();
        (bodies[1].velocity[0], bodies[0].velocity[0])
    };
    let (carried, tray) = run(1.0);
    near("it moves as the tray does", carried, tray.into(), 0.15);
    let (slipping, tray) = run(0.05);
    assert!((slipping - tray).abs() > 0.3, "without friction it slips: {slipping} and {tray} m/s");
}

fn a_path_that_is_added_begins_with_the_world(backend: Backend) {
    let mut sim = backend.start(&Scene::new("later").gravity(0.0, 0.0));
    sim.advance(40);
    let body = led().bodies.swap_remove(0);
    let id = sim.world().add_bodies(&[body]).expect("a body")[0];
    for steps in [40, 41, 60] {
        while sim.steps() < u64::from(steps) {
            sim.advance(1);
        }
        near("x", sim.body(0).position[0], place(steps).0, 1e-4);
    }
    sim.world().remove_bodies(&[id]).expect("it exists");
    sim.advance(2);
    assert!(sim.world().compiled().paths.is_empty());
    assert!(sim.bodies().is_empty());
}

fn invalid_paths_are_rejected(backend: Backend) {
    let mut sim = backend.start(&led());
    let crate_on = |path: Path| Body::kinematic(0.0, 0.0).path(path).shape(Shape::circle(1.0));
    for (body, says) in [
        (
            Body::dynamic(0.0, 0.0).path(PATH).shape(Shape::circle(1.0)),
            "bodies[0].path: is given to a body that is not",
        ),
        (crate_on(PATH).velocity(1.0, 0.0), "bodies[0].path: is given beside a velocity"),
        (crate_on(Path { rate: f32::NAN, ..PATH }), "bodies[0].path.rate: is not a number"),
        (crate_on(Path { amplitude: Vec2::new(0.0, 2e5), ..PATH }), "bodies[0].path.amplitude[1]: is 200000"),
        (crate_on(Path { phase: 1e6, ..PATH }), "bodies[0].path.phase: is 1000000"),
    ] {
        let error = sim.world().add_bodies(std::slice::from_ref(&body)).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
        let mut scene = led();
        scene.bodies[0] = body;
        let error = scene.check().expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}
