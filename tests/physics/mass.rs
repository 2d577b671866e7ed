//! Mass, inertia and the effect of forces: Newton's and Euler's second laws, and the work of a force.

use drystone::{Body, Scene, Shape};
use glam::Vec2;

use crate::common::{Backend, far, near};

on_every_backend!(box_inertia, circle_inertia, compound_inertia, given_mass, force_at_a_point, thruster_swings);

/// Returns the angular velocity after a torque of 1 N·m for a second, and the speed after a force of 1 N: 1/inertia and
/// 1/mass.
fn responses(backend: Backend, body: Body) -> (f64, f64) {
    let mut scene = Scene::new("response").gravity(0.0, 0.0);
    scene.add(Body { torque: 1.0, ..body.clone() });
    // A force at the centre of mass: no rotation.
    scene.add(Body { force: Vec2::new(1.0, 0.0), position: body.position + Vec2::new(0.0, 100.0), ..body });
    let bodies = backend.start(&scene).advance(60).bodies();
    near("spin by a central force", bodies[1].angular_velocity, 0.0, 0.0);
    near("speed by a torque", f64::from(bodies[0].velocity[0]).hypot(f64::from(bodies[0].velocity[1])), 0.0, 0.0);
    (f64::from(bodies[0].angular_velocity), f64::from(bodies[1].velocity[0]))
}

/// Relative tolerance of 240 additions of equal amounts: at most 240 roundings of 6e-8, which partly cancel.
const ROUNDING: f64 = 1e-5;

fn box_inertia(backend: Backend) {
    // Half sizes 0.5 × 1.5, density 2: m = 6 kg, I = m (w² + h²)/12 = 6 · (1 + 9)/12 = 5 kg·m².
    let (spin, speed) = responses(backend, Body::dynamic(3.0, 1.0).shape(Shape::half_box(0.5, 1.5).density(2.0)));
    near("1/m", speed, 1.0 / 6.0, ROUNDING / 6.0);
    near("1/I", spin, 1.0 / 5.0, ROUNDING / 5.0);
    far("1/I of a square of that mass", spin, 1.0 / 3.0, ROUNDING);
}

fn circle_inertia(backend: Backend) {
    // m = ρ π r², I = m r²/2.
    let (r, density) = (0.8_f64, 1.25);
    let m = density * std::f64::consts::PI * r * r;
    let (spin, speed) = responses(backend, Body::dynamic(0.0, 0.0).shape(Shape::circle(0.8).density(1.25)));
    near("1/m", speed, 1.0 / m, ROUNDING / m);
    near("1/I", spin, 2.0 / (m * r * r), ROUNDING * 2.0 / (m * r * r));
}

fn compound_inertia(backend: Backend) {
    // A hammer: a 2 × 0.2 m handle about the origin, a rotated 0.6 × 1 m head at (1.3, 0.1), a disc at (−1, 0.3).
    let hammer = Body::dynamic(-2.0, 0.5)
        .angle(0.4)
        .shape(Shape::half_box(1.0, 0.1))
        .shape(Shape::half_box(0.3, 0.5).density(3.0).offset(1.3, 0.1).rotation(0.7))
        .shape(Shape::circle(0.2).density(2.0).offset(-1.0, 0.3));
    // By hand: own inertias, then Steiner: I = Σ (I_i + m_i |r_i − c|²). A shape's rotation has no effect.
    let disc = 2.0 * std::f64::consts::PI * 0.04;
    let parts = [
        (0.4, (4.0 + 0.04) / 12.0, [0.0, 0.0]),
        (1.8, (0.36 + 1.0) / 12.0, [1.3, 0.1]),
        (disc, 0.04 / 2.0, [-1.0, 0.3]),
    ];
    let mass: f64 = parts.iter().map(|(m, ..)| m).sum();
    let center = [0, 1].map(|k| parts.iter().map(|(m, _, r)| m * r[k]).sum::<f64>() / mass);
    let inertia: f64 =
        parts.iter().map(|(m, own, r)| m * (own + (r[0] - center[0]).powi(2) + (r[1] - center[1]).powi(2))).sum();
    let (spin, speed) = responses(backend, hammer.clone());
    near("1/m", speed, 1.0 / mass, ROUNDING / mass);
    near("1/I", spin, 1.0 / inertia, ROUNDING / inertia);
    let about_origin = inertia + mass * (center[0].powi(2) + center[1].powi(2));
    far("1/I about the body's origin", spin, 1.0 / about_origin, ROUNDING / about_origin);

    // It rotates about its centre of mass: that stays in place while the origin circles it.
    let mut scene = Scene::new("turning").gravity(0.0, 0.0);
    scene.add(hammer.clone().angular_velocity(2.0));
    let mut sim = backend.start(&scene);
    let turned = sim.advance(60).body(0);
    let of_mass = |angle: f64, x: f64, y: f64| {
        let (s, c) = angle.sin_cos();
        [x + c * center[0] - s * center[1], y + s * center[0] + c * center[1]]
    };
    let was = of_mass(0.4, -2.0, 0.5);
    let is = of_mass(turned.angle.into(), turned.position[0].into(), turned.position[1].into());
    near("x of the centre", is[0], was[0], 1e-5);
    near("y of the centre", is[1], was[1], 1e-5);
    assert!((turned.position[0] + 2.0).abs() > 0.1, "the origin moves: {:?}", turned.position);
}

fn given_mass(backend: Backend) {
    let body = |mass, inertia| Body { mass, inertia, ..Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5)) };
    // 1 kg and 1/6 kg·m² from its shape; a given mass scales the inertia too.
    let (spin, speed) = responses(backend, body(Some(4.0), None));
    near("1/m given", speed, 0.25, ROUNDING);
    near("1/I scaled", spin, 1.5, 1.5 * ROUNDING);
    let (spin, speed) = responses(backend, body(None, Some(0.5)));
    near("1/m", speed, 1.0, ROUNDING);
    near("1/I given", spin, 2.0, 2.0 * ROUNDING);
}

/// Returns work over energy, minus 1, of a constant force that acts for 2 s at a point off the centre of a free box.
fn work_error(backend: Backend, substeps: u32) -> f64 {
    let force = Vec2::new(3.0, -1.0);
    let point = Vec2::new(0.4, 0.3);
    let mut scene = Scene::new("push").gravity(0.0, 0.0);
    scene.settings.substeps = Some(substeps);
    let mut body = Body::dynamic(1.0, 2.0).shape(Shape::half_box(0.5, 0.4).density(2.0));
    body.force = force;
    body.force_point = Some(point);
    scene.add(body);
    let mut sim = backend.start(&scene);
    let end = sim.advance(120).body(0);
    // v = F t/m for any point: m = 1.6 kg. 480 and more additions.
    near("v_x", end.velocity[0], 3.0 * 2.0 / 1.6, 1e-4);
    near("v_y", end.velocity[1], -2.0 / 1.6, 1e-4);
    // The work of a constant force follows from the displacement of its point.
    let turned = Vec2::from_angle(end.angle).rotate(point) + Vec2::from(end.position);
    let work = f64::from(force.dot(turned - (Vec2::new(1.0, 2.0) + point)));
    work / sim.metrics().kinetic_energy - 1.0
}

/// Work of the force = kinetic energy gained. The error of semi-implicit Euler is O(h): about 0.3 % of the energy at 4
/// substeps, and a quarter of that at four times as many.
fn force_at_a_point(backend: Backend) {
    let (coarse, fine) = (work_error(backend, 4), work_error(backend, 16));
    near("work over energy, 4 substeps", coarse, 0.0, 0.01);
    near("error of 16 substeps over that of 4", fine / coarse, 0.25, 0.05);
}

/// A force that always points up, fixed to a box, swings it like a pendulum: ½ I ω² = F·arm·sin(angle).
fn thruster_swings(backend: Backend) {
    let mut sim = backend.build("thruster:force=9.81,arm=0.25");
    // Up to the horizontal, where it is fastest: angle 90° after about a quarter of the period.
    let (mut best, mut at) = (0.0_f64, 0.0_f64);
    for _ in 0..60 {
        let body = sim.advance(1).body(0);
        if f64::from(body.angular_velocity) > best {
            (best, at) = (body.angular_velocity.into(), body.angle.into());
        }
    }
    // I = 1/6: ω² = 12 · 9.81 · 0.25. Near its maximum ω hardly changes, so that sampling costs nothing; the error of
    // the method is O(h·ω) = 2 %.
    let want = (12.0_f64 * 9.81 * 0.25).sqrt();
    near("fastest spin", best, want, 0.02 * want);
    near("where", at, std::f64::consts::FRAC_PI_2, 0.1);
    // The force carries the weight, so the centre stays.
    let body = sim.body(0);
    near("y", body.position[1], 0.0, 1e-4);
}
