//! Springs and pendulums, against their analytic periods.

use std::f64::consts::{FRAC_PI_2, TAU};

use drystone::{Body, Joint, JointKind, Scene, Shape, Spring};

use crate::common::{Backend, Sim, between, far, near};
use crate::joints::{block, point, world};

on_every_backend!(
    a_spring_swings_at_the_root_of_k_over_m,
    damping_reduces_the_amplitude,
    two_bodies_swing_by_their_reduced_mass,
    hertz_are_hertz,
    a_small_pendulum_swings_at_the_root_of_g_over_l,
    a_swinging_box_is_a_physical_pendulum,
);

/// Returns the mean period of the upward zero crossings of `of` over `steps`, s.
fn period(sim: &mut Sim, steps: usize, of: impl Fn(&mut Sim) -> f64) -> f64 {
    let dt = 1.0 / 60.0;
    let (mut first, mut last, mut count) = (None, 0.0, 0);
    let mut before = of(sim);
    let mut time = 0.0;
    for _ in 0..steps {
        sim.advance(1);
        let now = of(sim);
        if before < 0.0 && now >= 0.0 {
            // The sine is almost straight at its zero: the error is a twentieth of a step at most and not cumulative.
            last = time + dt * before / (before - now);
            match first {
                None => first = Some(last),
                Some(_) => count += 1,
            }
        }
        before = now;
        time += dt;
    }
    assert!(count > 0, "no swing in {steps} steps");
    (last - first.expect("a first crossing")) / f64::from(count)
}

/// Returns one kilogram on a spring of rest length 2 m, pulled out by half a metre.
fn spring(stiffness: f32, damping: f32) -> Scene {
    let mut scene = world(0.0);
    let body = scene.add(point(2.5, 0.0));
    scene.join(Joint::to_world(JointKind::Spring { rest_length: Some(2.0), stiffness, damping }, body));
    scene
}

/// Symplectic Euler oscillates faster by (ωh)²/24: at 2 rad/s and 240 substeps a second by 3·10⁻⁶. 0.1 % covers finding
/// the zero. Without damping nothing is lost: over 100 periods the amplitude, 0.5 m, is the same to 0.2 %: symplectic
/// Euler's orbit is out of round by half of ωh = 0.4 %.
fn a_spring_swings_at_the_root_of_k_over_m(backend: Backend) {
    let mut sim = backend.start(&spring(4.0, 0.0));
    let motion_extents = if backend == Backend::Gpu { 5 } else { 100 };
    let steps = motion_extents * 189;
    let found = period(&mut sim, steps, |sim| f64::from(sim.body(0).position[0]) - 2.0);
    near("period", found, TAU / 2.0, 1e-3 * TAU / 2.0);
    let mut most = 0.0_f64;
    for _ in 0..189 {
        most = most.max(f64::from(sim.advance(1).body(0).position[0]) - 2.0);
    }
    near("amplitude", most, 0.5, 0.002 * 0.5);
}

/// Amplitude e^(−ct/2m): after 10 s with c = 0.2 N·s/m a factor of e⁻¹. The damping is implicit, which takes (h·c/2m)²
/// of the exponent, and symplectic Euler's orbit is out of round by ωh/2: 0.4 % for 2 rad/s.
fn damping_reduces_the_amplitude(backend: Backend) {
    let mut sim = backend.start(&spring(4.0, 0.2));
    sim.advance(600);
    let body = sim.body(0);
    let (x, v) = (f64::from(body.position[0]) - 2.0, f64::from(body.velocity[0]));
    // The energy with the cross term that decays without ripple: v² + ω²x² + (c/m) x v.
    let size = (v * v + 4.0 * x * x + 0.2 * x * v).sqrt();
    near("size after 10 s", size, (-1.0_f64).exp() * 1.0, 0.01 * (-1.0_f64).exp());
}

/// 1 kg and 3 kg oscillate like 0.75 kg, and their centre of mass stays in place.
fn two_bodies_swing_by_their_reduced_mass(backend: Backend) {
    let mut scene = world(0.0);
    let light = scene.add(point(0.0, 0.0));
    let mut heavy = point(3.0, 0.0);
    heavy.mass = Some(3.0);
    let heavy = scene.add(heavy);
    scene.join(Joint::new(JointKind::Spring { rest_length: Some(2.0), stiffness: 12.0, damping: 0.0 }, light, heavy));
    let mut sim = backend.start(&scene);
    let apart = |sim: &mut Sim| {
        let bodies = sim.bodies();
        f64::from(bodies[1].position[0] - bodies[0].position[0]) - 2.0
    };
    let found = period(&mut sim, 600, apart);
    near("period", found, TAU / 4.0, 1e-3 * TAU / 4.0);
    let bodies = sim.bodies();
    let center = (f64::from(bodies[0].position[0]) + 3.0 * f64::from(bodies[1].position[0])) / 4.0;
    near("centre", center, 2.25, 1e-4);
}

/// A hinge's spring of 2 Hz swings a box at 2 Hz, for any inertia; without damping the amplitude is constant.
fn hertz_are_hertz(backend: Backend) {
    for density in [0.01, 1.0, 100.0] {
        let mut scene = world(0.0);
        let mut body = block(0.0, 0.0).angle(0.3);
        body.shapes[0].density = density;
        let body = scene.add(body);
        let spring = Some(Spring { hertz: 2.0, damping_ratio: 0.0, target: 0.0 });
        scene.join(Joint::to_world(
            JointKind::Revolute { reference_angle: Some(0.0), limits: None, motor: None, spring },
            body,
        ));
        let mut sim = backend.start(&scene);
        let found = period(&mut sim, 300, |sim| f64::from(sim.body(0).angle));
        near("period", found, 0.5, 1e-3 * 0.5);
        let mut most = 0.0_f64;
        for _ in 0..30 {
            most = most.max(f64::from(sim.advance(1).body(0).angle));
        }
        // Sampled every 30th of a period; out of round by half of ωh = 5 %.
        between("amplitude", most, 0.3 * 0.97, 0.3 * 1.03);
    }
}

/// 2π√(L/g), longer by θ²/16 for an amplitude of θ = 0.05: 1.6·10⁻⁴.
fn a_small_pendulum_swings_at_the_root_of_g_over_l(backend: Backend) {
    for rod in [true, false] {
        let mut scene = world(10.0);
        let (sin, cos) = 0.05_f32.sin_cos();
        let bob = scene.add(point(2.0 * sin, -2.0 * cos));
        if rod {
            scene.join(Joint::to_world(JointKind::rod(), bob));
        } else {
            // A hinge far from the centre of a body with almost no inertia is equivalent.
            scene.bodies[bob].fixed_rotation = false;
            scene.bodies[bob].inertia = Some(1e-3);
            scene.bodies[bob].angle = 0.05;
            scene.join(Joint::to_world(JointKind::hinge(), bob).anchors([0.0, 0.0], [0.0, 2.0]));
        }
        let found = period(&mut backend.start(&scene), 900, |sim| f64::from(sim.body(0).position[0]));
        let inertia = if rod { 0.0 } else { 1e-3 / 4.0 };
        let want = TAU * (0.2_f64 * (1.0 + inertia)).sqrt();
        near("period", found, want, 1e-3 * want);
        far("period of another gravity", found, TAU * (2.0_f64 / 9.81).sqrt(), 1e-3 * want);
    }
}

/// A square of side 1 hung at a corner: 2π√(I/(m g r)) with I = 1/6 + 1/2 and r = √½.
fn a_swinging_box_is_a_physical_pendulum(backend: Backend) {
    let mut scene = world(10.0);
    let tilt = std::f32::consts::FRAC_PI_4 + 0.05;
    let (sin, cos) = 0.05_f32.sin_cos();
    let reach = 0.5_f32.sqrt();
    let body = scene.add(block(reach * sin, -reach * cos).angle(tilt));
    scene.join(Joint::to_world(JointKind::hinge(), body).anchors([0.0, 0.0], [0.5, 0.5]));
    let found = period(&mut backend.start(&scene), 900, |sim| f64::from(sim.body(0).position[0]));
    let want = TAU * ((1.0 / 6.0 + 0.5) / (10.0 * 0.5_f64.sqrt())).sqrt();
    near("period", found, want, 1e-3 * want);
}

/// Runs a pendulum of 2 m, released from the horizontal, for ten minutes; returns its energy and the drift of its rod.
fn ten_minutes(kind: JointKind) -> (f64, f64) {
    let mut scene = world(10.0);
    let bob = scene.add(point(2.0, 0.0));
    scene.join(Joint::to_world(kind, bob));
    if matches!(scene.joints[0].kind, JointKind::Revolute { .. }) {
        scene.bodies[bob].fixed_rotation = false;
        scene.bodies[bob].inertia = Some(0.01);
        scene.joints[0].anchor_b = [-2.0, 0.0].into();
    }
    let mut sim = Backend::Cpu1.start(&scene);
    let mut worst = 0.0_f64;
    let mut most = f64::MIN;
    for step in 0..36_000 {
        sim.advance(1);
        let body = sim.body(0);
        let [x, y] = body.position.map(f64::from);
        worst = worst.max((x.hypot(y) - 2.0).abs());
        if step > 35_400 {
            let [u, v] = body.velocity.map(f64::from);
            let spin = f64::from(body.angular_velocity);
            let inertia = f64::from(scene.bodies[bob].inertia.unwrap_or(0.0));
            most = most.max(0.5 * (u * u + v * v + inertia * spin * spin) + 10.0 * y);
        }
    }
    (most, worst)
}

#[test]
fn a_pendulum_keeps_its_energy_and_its_rod() {
    for (what, kind) in [("rod", JointKind::rod()), ("hinge", JointKind::hinge())] {
        let (energy, drift) = ten_minutes(kind);
        println!("{what}: energy {energy} J of 20 J above the lowest, drift {drift} m");
        between(&format!("{what}: energy"), energy, -2.0, 0.2);
        between(&format!("{what}: drift"), drift, 0.0, 0.005);
    }
}

/// The spring is stable for any stiffness and step, also in a chain of bodies of very different mass. Checked along the
/// chain: transversally a light body vibrates by the tension, which no single-spring scheme covers.
#[test]
fn stiff_springs_do_not_explode() {
    for stiffness in [1e2, 1e4, 1e6, 1e9] {
        for mass in [1e-3, 1.0, 1e3] {
            let mut scene = world(0.0);
            let mut last = None;
            for link in 0_u8..5 {
                let mut body = point(f32::from(link) + 1.0, 0.0);
                body.mass = Some(if link % 2 == 0 { 1.0 } else { mass });
                let body = scene.add(body);
                let kind = JointKind::Spring { rest_length: Some(0.8), stiffness, damping: 0.0 };
                scene.join(
                    last.map_or_else(|| Joint::to_world(kind.clone(), body), |a| Joint::new(kind.clone(), a, body)),
                );
                last = Some(body);
            }
            let mut sim = Backend::Cpu1.start(&scene);
            let energies = |sim: &mut Sim| {
                let metrics = sim.metrics();
                let elastic: f64 = sim
                    .joints()
                    .iter()
                    .enumerate()
                    .map(|(index, joint)| {
                        let inverse_mass = if index == 0 { 1.0 } else { 1.0 + 1.0 / f64::from(mass) };
                        let felt = f64::from(stiffness).min(2.0 * 240.0_f64.powi(2) / inverse_mass);
                        let stretched = f64::from(joint.between[0].hypot(joint.between[1])) - 0.8;
                        0.5 * felt * stretched.powi(2)
                    })
                    .sum();
                (metrics.kinetic_energy + elastic, metrics.potential_energy)
            };
            let (own, place) = energies(&mut sim);
            sim.advance(1200);
            let (own_after, place_after) = energies(&mut sim);
            // A symplectic spring conserves its energy to half of ωh, at most a quarter.
            let gained = (own_after + place_after) - (own + place);
            println!("k {stiffness} m {mass}: gained {gained} J, has {own_after}, had {own}");
            between(&format!("k {stiffness}, m {mass}"), gained, f64::MIN, 0.25 * own.max(own_after));
        }
    }
}

/// Angles and angular velocities of two bars of 1 m and 0.1 m that swing from the horizontal, after `time` seconds, by
/// Lagrange's equations (Runge-Kutta, 50,000 steps).
fn double_pendulum(gravity: f64, time: f64) -> [f64; 4] {
    let inertia = 1.01 / 12.0 + 0.25;
    let rates = |[a, b, u, v]: [f64; 4]| {
        let (sin, cos) = (a - b).sin_cos();
        let (m_aa, m_ab, m_bb) = (inertia + 1.0, 0.5 * cos, inertia);
        let f_a = -0.5 * sin * v * v - 1.5 * gravity * a.sin();
        let f_b = 0.5 * sin * u * u - 0.5 * gravity * b.sin();
        let determinant = m_aa * m_bb - m_ab * m_ab;
        [u, v, (m_bb * f_a - m_ab * f_b) / determinant, (m_aa * f_b - m_ab * f_a) / determinant]
    };
    let count: u32 = 50_000;
    let step = time / f64::from(count);
    let mut state = [FRAC_PI_2, FRAC_PI_2, 0.0, 0.0];
    let add = |x: [f64; 4], y: [f64; 4], s: f64| std::array::from_fn(|at| x[at] + s * y[at]);
    for _ in 0..count {
        let k1 = rates(state);
        let k2 = rates(add(state, k1, 0.5 * step));
        let k3 = rates(add(state, k2, 0.5 * step));
        let k4 = rates(add(state, k3, step));
        state = std::array::from_fn(|at| state[at] + step / 6.0 * (k1[at] + 2.0 * k2[at] + 2.0 * k3[at] + k4[at]));
    }
    state
}

/// A double pendulum of bars follows Lagrange's equations at first order: four times the substeps, a quarter of the
/// error of its tip after a second.
#[test]
fn a_double_pendulum_converges_to_the_equations_of_motion() {
    let [a, b, ..] = double_pendulum(10.0, 1.0);
    let tip = [a.sin() + b.sin(), -a.cos() - b.cos()];
    let mut errors = Vec::new();
    for substeps in [4, 16, 64] {
        let mut scene = world(10.0);
        scene.settings.substeps = Some(substeps);
        let bars = [0.5, 1.5].map(|x| scene.add(Body::dynamic(x, 0.0).shape(Shape::half_box(0.5, 0.05).density(10.0))));
        scene.join(Joint::to_world(JointKind::hinge(), bars[0]).anchors([0.0, 0.0], [-0.5, 0.0]));
        scene.join(Joint::new(JointKind::hinge(), bars[0], bars[1]).anchors([0.5, 0.0], [-0.5, 0.0]));
        let body = Backend::Cpu1.start(&scene).advance(60).body(1);
        let (sin, cos) = f64::from(body.angle).sin_cos();
        let found = [f64::from(body.position[0]) + 0.5 * cos, f64::from(body.position[1]) + 0.5 * sin];
        errors.push((found[0] - tip[0]).hypot(found[1] - tip[1]));
    }
    for pair in errors.windows(2) {
        between("error with four times the substeps", pair[1] / pair[0], 0.15, 0.4);
    }
    // At 60 Hz, however fine the step, it is above 2 mm.
    between("error with 64 substeps", errors[2], 0.0, 1e-3);
}
