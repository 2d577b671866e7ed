//! Free motion: gravity, rotation, damping, kinematic bodies. The integrator's own equation, and the law it approaches.

use drystone::{Body, Scene, Shape};

use crate::common::{Backend, far, near};

on_every_backend!(
    ballistics,
    spin_is_kept,
    fast_bodies_turn_by_their_spin,
    discs_spin_without_limit,
    damping,
    gravity_scale,
    kinematic_motion,
);

/// Number of substeps in a second at the defaults.
const N: i32 = 240;
const H: f64 = 1.0 / 240.0;

fn thrown() -> Scene {
    let mut scene = Scene::new("thrown").gravity(0.0, -10.0);
    scene.add(Body::dynamic(0.0, 0.0).velocity(3.0, 5.0).angular_velocity(2.0).shape(Shape::circle(0.5)));
    scene
}

fn ballistics(backend: Backend) {
    let body = backend.start(&thrown()).advance(60).body(0);
    // Semi-implicit Euler: y = v t − g h² (1 + 2 + … + n) = 5 − 10 · (1 + h)/2. Box2D has the same (3.0000, −0.020833).
    // 240 substeps round values up to 5 by at most 2.4e-7 each, in both directions.
    near("x", body.position[0], 3.0, 1e-5);
    near("y", body.position[1], -0.020_833_3, 1e-5);
    near("v_y", body.velocity[1], -5.0, 1e-5);
    near("angle", body.angle, 2.0, 1e-5);
    // A first-order step turns by atan(ω h).
    far("angle of the first order", body.angle, f64::from(N) * (2.0 * H).atan(), 2e-5);

    // The parabola is at 0; the method is g·h·t/2 below, so twice the substeps halve it.
    let mut fine = thrown();
    fine.settings.substeps = Some(8);
    let y = backend.start(&fine).advance(60).body(0).position[1];
    near("error of the parabola with 8 substeps", y, -0.020_833_3 / 2.0, 1e-5);

    let mut weaker = thrown();
    weaker.gravity.y = -9.999;
    far("y under other gravity", backend.start(&weaker).advance(60).body(0).position[1], -0.020_833_3, 1e-5);
}

/// A free box conserves its angular momentum: ω to the last bit, as nothing is added to it, and a unit rotation.
fn spin_is_kept(backend: Backend) {
    let mut scene = Scene::new("spin").gravity(0.0, 0.0);
    scene.add(Body::dynamic(1.0, 2.0).angular_velocity(7.0).velocity(0.25, 0.0).shape(Shape::half_box(1.0, 0.1)));
    let mut sim = backend.start(&scene);
    let before = sim.metrics();
    let after = sim.advance(300).metrics();
    // The orbital part m·(r × v) rounds with the position: 1.25 m of drift in 300 additions.
    near("angular momentum", after.angular_momentum, before.angular_momentum, 1e-5 * before.angular_momentum.abs());
    let snapshot = sim.snapshot();
    near("spin", snapshot.states[0].angular_velocity, 7.0, 0.0);
    let [c, s] = snapshot.poses[0].rotation.map(f64::from);
    near("length of the rotation", c.hypot(s), 1.0, 1e-6);
}

/// A body turns by its spin times the time, also at 45 rad/s, where a first-order step is 1.2 % short.
fn fast_bodies_turn_by_their_spin(backend: Backend) {
    for spin in [-45.0_f32, 5.0, 20.0] {
        let mut scene = Scene::new("spin").gravity(0.0, 0.0);
        scene.add(Body::dynamic(0.0, 0.0).angular_velocity(spin).shape(Shape::half_box(0.5, 0.25)));
        let angle = backend.start(&scene).advance(60).body(0).angle;
        let off = |expected: f64| (f64::from(angle) - expected).sin().abs();
        // 240 products of unit vectors.
        near(&format!("angle off at {spin} rad/s"), off(f64::from(spin)), 0.0, 5e-5);
        let first_order = f64::from(N) * (f64::from(spin) * H).atan();
        far(&format!("angle off the first order at {spin} rad/s"), off(first_order), 0.0, 5e-4);
    }
}

/// No contact of a disc depends on its angle, so it spins as fast as it likes; a box and a disc off its centre of mass
/// are slowed to a quarter of π a step. On the ground friction μ g speeds a disc up and slows its spin by 2 μ g / r,
/// until it rolls at ω r / 3 (Euler 1758), however far it turns in a step.
fn discs_spin_without_limit(backend: Backend) {
    let mut scene = Scene::new("spin").gravity(0.0, 0.0);
    let disc = || Shape::circle(0.5);
    scene.add(Body::dynamic(0.0, 0.0).angular_velocity(-5000.0).shape(disc()));
    scene.add(Body::dynamic(3.0, 0.0).angular_velocity(100.0).shape(Shape::half_box(0.5, 0.5)));
    let pair = [disc().offset(-0.5, 0.0), disc().offset(0.5, 0.0)];
    scene.add(pair.into_iter().fold(Body::dynamic(6.0, 0.0).angular_velocity(100.0), Body::shape));
    let bodies = backend.start(&scene).advance(60).bodies();
    near("spin of a disc", bodies[0].angular_velocity, -5000.0, 0.1);
    let limit = 60.0 * std::f64::consts::FRAC_PI_4;
    near("spin of a box", bodies[1].angular_velocity, limit, 1e-3);
    near("spin of two discs", bodies[2].angular_velocity, limit, 1e-3);

    let wheel = |shape: Shape| {
        let mut scene = Scene::new("wheel").gravity(0.0, -10.0);
        scene.settings.max_spin = Some(1e4);
        scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
        scene.add(Body::dynamic(0.0, 0.5).angular_velocity(-300.0).shape(shape.friction(1.0)));
        scene
    };
    let mut sim = backend.start(&wheel(disc()));
    let early = sim.advance(60).body(1);
    // sqrt(0.6 · 1), the friction of both.
    let law = 10.0 * 0.6_f64.sqrt();
    near("speed after a second", early.velocity[0], law, 0.002 * law);
    near("spin after a second", early.angular_velocity, -300.0 + 4.0 * law, 0.05);
    let rolling = sim.advance(1140).body(1);
    near("speed at the end", rolling.velocity[0], 50.0, 0.1);
    near("spin at the end", rolling.angular_velocity, -100.0, 0.2);

    // A polygon of eight corners is no disc: its corners leave the ground as it turns.
    let corner = |index: u8| {
        let (sin, cos) = (f32::from(index) * std::f32::consts::FRAC_PI_4).sin_cos();
        [0.5 * cos, 0.5 * sin]
    };
    let octagon = Shape::polygon((0..8).map(corner).collect::<Vec<_>>());
    let early = backend.start(&wheel(octagon)).advance(60).body(1);
    far("speed of a polygon", early.velocity[0], law, 0.01 * law);
}

/// `v ← v / (1 + h·c)`: after n substeps v₀ (1 + h·c)⁻ⁿ, which tends to v₀ e^(−c·t).
fn damping(backend: Backend) {
    let mut scene = Scene::new("damping").gravity(0.0, 0.0);
    let mut body = Body::dynamic(0.0, 0.0).velocity(4.0, -3.0).angular_velocity(2.0).shape(Shape::half_box(0.5, 0.5));
    body.linear_damping = 0.8;
    body.angular_damping = 3.0;
    scene.add(body);
    let body = backend.start(&scene).advance(60).body(0);
    let left = |c: f64| (1.0 + H * c).powi(-N);
    // 240 divisions and multiplications: 240 · 1.2e-7 relative at most.
    near("v_x", body.velocity[0], 4.0 * left(0.8), 4.0 * 3e-5);
    near("v_y", body.velocity[1], -3.0 * left(0.8), 3.0 * 3e-5);
    near("spin", body.angular_velocity, 2.0 * left(3.0), 2.0 * 3e-5);
    // First order: e^(−c·t) is c²·h·t/2 of it below.
    near("v_x by the law", body.velocity[0], 4.0 * (-0.8_f64).exp(), 4.0 * left(0.8) * 0.64 * H / 2.0 * 1.1);
    far("v_x undamped", body.velocity[0], 4.0, 1.0);
}

/// Bodies fall at their gravity scale times g, and nothing else.
fn gravity_scale(backend: Backend) {
    let mut scene = Scene::new("gravity scale").gravity(2.0, -10.0);
    let scales = [1.0_f32, 0.5, 0.0, -2.0];
    for (index, scale) in scales.into_iter().enumerate() {
        let mut body = Body::dynamic(5.0 * index as f32, 0.0).shape(Shape::circle(0.5));
        body.gravity_scale = scale;
        scene.add(body);
    }
    let bodies = backend.start(&scene).advance(30).bodies();
    for (body, scale) in bodies.iter().zip(scales.map(f64::from)) {
        // Half a second in 120 additions of values up to 10.
        near("v_x", body.velocity[0], scale, 2e-5);
        near("v_y", body.velocity[1], -5.0 * scale, 2e-5);
    }
}

/// A kinematic body moves with its velocity alone: no gravity, no force, no damping, no effect of obstacles.
fn kinematic_motion(backend: Backend) {
    let mut scene = Scene::new("kinematic").gravity(0.0, -10.0);
    let mut platform = Body::kinematic(0.0, 0.0).velocity(1.5, 0.5).shape(Shape::half_box(1.0, 0.25));
    platform.force = glam::Vec2::new(100.0, 100.0);
    platform.torque = 50.0;
    platform.linear_damping = 5.0;
    scene.add(platform);
    // A heavy ball in its path, and a box that lies on it.
    let ball = Body::dynamic(2.6, 0.5).shape(Shape::circle(0.5).density(1000.0).friction(0.0));
    scene.add(Body { gravity_scale: 0.0, ..ball });
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.25, 0.25).friction(10.0)));
    // A rotating one, far away.
    scene.add(Body::kinematic(50.0, 0.0).angular_velocity(1.0).shape(Shape::half_box(1.0, 0.25)));
    let bodies = backend.start(&scene).advance(60).bodies();
    // 60 additions of about 0.02 m to values up to 1.5: 60 · 6e-8.
    near("x", bodies[0].position[0], 1.5, 1e-5);
    near("y", bodies[0].position[1], 0.5, 1e-5);
    near("angle", bodies[0].angle, 0.0, 0.0);
    near("v_x", bodies[0].velocity[0], 1.5, 0.0);
    near("angle of the other", bodies[3].angle, f64::from(N) * H.atan(), 1e-5);
    // It pushed the ball along, whose left side is at the body's right side, except for a soft contact's millimetres.
    near("x of the ball", bodies[1].position[0], 3.0, 0.01);
    near("v_x of the ball", bodies[1].velocity[0], 1.5, 0.01);
    near("y of the passenger", bodies[2].position[1], 1.0, 1e-3);
}
