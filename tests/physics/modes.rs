//! Solver modes and switches: each mode holds a stack and recovers from an overlap, and each switch has its documented
//! effect.

use drystone::low_level::state::Metrics;
use drystone::{Body, Mode, Scene, Settings, Shape};
use drystone_scenes::catalogue;

use crate::common::{Backend, between, near};

on_every_backend!(
    modes_hold_a_stack,
    modes_recover_an_overlap,
    no_correction_leaves_the_penetration,
    no_correction_keeps_perfect_bounces,
    clamping_increments_is_wrong,
    cold_start_sinks,
    relax_takes_the_bias_out,
);

/// Runs a stack with changed settings and returns its metrics.
fn stack(backend: Backend, count: u32, steps: usize, set: impl Fn(&mut Settings)) -> Metrics {
    let mut scene = catalogue::build(&format!("vertical_stack:count={count}")).expect("a scene");
    set(&mut scene.settings);
    let metrics = backend.start(&scene).advance(steps).metrics();
    println!("{:?}: {metrics:?}", scene.settings);
    metrics
}

/// The classic modes leave each of five contacts at most one slop (5 mm) deep, and stand. Within the slop neither
/// corrects, so that the two behave alike here.
fn modes_hold_a_stack(backend: Backend) {
    for mode in [Mode::Baumgarte, Mode::Projection] {
        let metrics = stack(backend, 5, 600, |settings| settings.mode = mode);
        between(&format!("{mode:?}: sink"), metrics.top_sink, -0.001, 5.0 * 0.006);
        between(&format!("{mode:?}: lean"), metrics.top_lean, 0.0, 0.01);
        between(&format!("{mode:?}: speed"), metrics.max_speed, 0.0, 0.02);
        between(&format!("{mode:?}: penetration"), metrics.max_penetration, 0.0, 0.006);
    }
}

/// Returns a box that starts inside the ground.
fn sunken(depth: f32) -> Scene {
    let mut scene = Scene::new("sunken").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    scene.add(Body::dynamic(0.0, 0.5 - depth).shape(Shape::half_box(0.5, 0.5)));
    scene
}

/// Baumgarte and projection stop at the slop, as s ← s + β·(slop − s) does; the soft mode at its compliance.
fn modes_recover_an_overlap(backend: Backend) {
    for (mode, left) in [(Mode::Soft, 1.25 * 10.0 / 142_122.0), (Mode::Baumgarte, 0.005), (Mode::Projection, 0.005)] {
        let mut scene = sunken(0.1);
        scene.settings.mode = mode;
        let mut sim = backend.start(&scene);
        // No push-out may throw the box into the air.
        let mut highest = f64::MIN;
        for _ in 0..60 {
            highest = highest.max(sim.advance(1).body(1).position[1].into());
        }
        println!("{mode:?}: highest {highest}");
        let body = sim.advance(240).body(1);
        // 0.1·0.8ⁿ is gone after 300 steps; the rest is rounding.
        near(&format!("{mode:?}: penetration left"), 0.5 - f64::from(body.position[1]), left, 2e-4);
        near(&format!("{mode:?}: speed"), body.velocity[1], 0.0, 1e-3);
    }
}

/// Without correction a penetration stays constant in any mode; it does not grow either.
fn no_correction_leaves_the_penetration(backend: Backend) {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let mut scene = sunken(0.1);
        scene.settings.mode = mode;
        scene.settings.correct_position = false;
        let body = backend.start(&scene).advance(120).body(1);
        near(&format!("{mode:?}: penetration"), 0.5 - f64::from(body.position[1]), 0.1, 1e-3);
    }
}

/// An elastic ball in the tutorial's mode without correction keeps its height.
///
/// Semi-implicit Euler conserves v²/2 + g·y − g·h·v/2. Turning the −v of the substep into v would lose h·v a bounce,
/// 0.1 m of 2 m at one substep; turning the velocity at the time of the poses loses nothing.
fn no_correction_keeps_perfect_bounces(backend: Backend) {
    for substeps in [1, 4] {
        let mut scene = catalogue::build("bouncing_ball:restitution=1,height=2,gravity=10").expect("a scene");
        scene.settings.mode = Mode::Baumgarte;
        scene.settings.substeps = Some(substeps);
        scene.settings.correct_position = false;
        let mut sim = backend.start(&scene);
        let (mut heights, mut speed) = (vec![2.0], -1.0);
        while heights.len() < 10 && sim.steps() < 10 * 76 {
            let ball = sim.advance(1).body(1);
            if speed > 0.0 && ball.velocity[1] <= 0.0 {
                heights.push(f64::from(ball.position[1]) - 0.5);
            }
            speed = ball.velocity[1];
        }
        println!("{heights:?}");
        assert_eq!(heights.len(), 10, "nine bounces in 12 s: {heights:?}");
        // The top is seen at the first step that ends falling: up to g·dt² too low.
        for height in &heights[1..] {
            between(&format!("height, {substeps} substeps"), *height, 2.0 - 10.0 / 3600.0 - 1e-4, 2.0 + 1e-4);
        }
    }
}

/// Clamping each increment never reduces an impulse: overshoot remains.
fn clamping_increments_is_wrong(backend: Backend) {
    let metrics = |accumulate| {
        // Impulses of the start that fit leave nothing to clamp.
        stack(backend, 5, 300, |settings| (settings.accumulate, settings.initial_loads) = (accumulate, false))
    };
    let (right, wrong) = (metrics(true), metrics(false));
    let error = |m: &Metrics| (m.top_sink - 0.0075).abs() + m.top_lean;
    assert!(error(&wrong) > 5.0 * error(&right), "wrong {wrong:?}, right {right:?}");
}

/// Without the last step's impulses every substep starts from zero, and a stack sinks deeper.
fn cold_start_sinks(backend: Backend) {
    let sink = |warm_start| stack(backend, 10, 300, |settings| settings.warm_start = warm_start).top_sink;
    let (warm, cold) = (sink(true), sink(false));
    assert!(cold > 2.0 * warm, "sinks {cold} m cold and {warm} m warm");
}

/// The bias leaves bodies with the push-out velocity, up to 3 m/s, unless a sweep without bias removes it.
fn relax_takes_the_bias_out(backend: Backend) {
    let highest = |relax| {
        let mut scene = sunken(0.2);
        scene.settings.relax = relax;
        let mut sim = backend.start(&scene);
        (0..60).map(|_| f64::from(sim.advance(1).body(1).position[1])).fold(f64::MIN, f64::max)
    };
    let (with, without) = (highest(true), highest(false));
    println!("with {with}, without {without}");
    between("highest with relax", with, 0.49, 0.501);
    assert!(without > 0.55, "without relax the box jumps: {without}");
}
