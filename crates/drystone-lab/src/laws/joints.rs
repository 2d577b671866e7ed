//! Pendulums, springs, chains, motors and sliders.

use std::f64::consts::TAU;

use drystone::{Joint, JointKind, Motor, Scene, Shape};
use glam::DVec2;

use super::{DRAG, EARTH, GRAVITY};
use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::law::{Disturbance, Law, LawFindings, LawParameter, LawValues};
use crate::world::{Lab, LabBody, LabError, LabWorld, at, brick, disc, f, point, whole};

const STIFFER: Disturbance = Disturbance {
    what: "springs 5 % stiffer",
    apply: |scene| {
        for joint in &mut scene.joints {
            if let JointKind::Spring { stiffness, .. } = &mut joint.kind {
                *stiffness *= 1.05;
            }
        }
    },
};

const GRAVITY_RANGE: [f64; 2] = [0.01, 1e3];

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "pendulum_small",
        group: "joints",
        statement: "A small pendulum swings in 2π √(L/g)",
        source: "Huygens 1673, Horologium oscillatorium",
        parameters: &[
            LawParameter::new("length", 1.0, [0.1, 100.0], "length of the rod, m"),
            LawParameter::new("amplitude", 3.0, [0.5, 10.0], "amplitude, degrees"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: pendulum,
    },
    Law {
        name: "pendulum_large",
        group: "joints",
        statement: "A pendulum swings in 4 √(L/g) K(sin θ/2), the complete elliptic integral",
        source: "Landau & Lifshitz, Mechanics, 3rd ed. 1976, §11",
        parameters: &[
            LawParameter::new("length", 1.0, [0.1, 100.0], "length of the rod, m"),
            LawParameter::new("amplitude", 120.0, [10.0, 175.0], "amplitude, degrees"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: pendulum,
    },
    Law {
        name: "bar_pendulum",
        group: "joints",
        statement: "A bar on a hinge swings in 4 √(I / m g r) K(sin θ/2)",
        source: "Huygens 1673, Horologium oscillatorium, part 4",
        parameters: &[
            LawParameter::new("length", 2.0, [0.2, 100.0], "length of the bar, m"),
            LawParameter::new("amplitude", 30.0, [1.0, 170.0], "amplitude, degrees"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: bar_pendulum,
    },
    Law {
        name: "pendulum_tension",
        group: "joints",
        statement: "A rod pulls with m g (3 − 2 cos θ) as the pendulum passes its lowest point",
        source: "Huygens 1673, De vi centrifuga",
        parameters: &[
            LawParameter::new("length", 1.0, [0.1, 100.0], "length of the rod, m"),
            LawParameter::new("amplitude", 90.0, [5.0, 170.0], "amplitude, degrees"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: pendulum_tension,
    },
    Law {
        name: "pendulum_energy",
        group: "joints",
        statement: "A pendulum keeps its energy",
        source: "Huygens 1673, Horologium oscillatorium",
        parameters: &[
            LawParameter::new("length", 1.0, [0.1, 100.0], "length of the bar, m"),
            LawParameter::new("amplitude", 60.0, [5.0, 170.0], "amplitude, degrees"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 60.0, [1.0, 3600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: DRAG,
        measure: pendulum_energy,
    },
    Law {
        name: "double_pendulum",
        group: "joints",
        statement: "Two hinged bars follow Lagrange's equations, at first order in the step, down to 0.1 mm",
        source: "Lagrange 1788; integrated by Runge & Kutta's method (Kutta 1901)",
        parameters: &[
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 1.0, [0.1, 5.0], "time, s"),
            LawParameter::count("levels", 4.0, [2.0, 5.0], "lengths of the step, each a quarter of the one before"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: double_pendulum,
    },
    Law {
        name: "double_pendulum_energy",
        group: "joints",
        statement: "Two hinged bars keep their energy",
        source: "Lagrange 1788",
        parameters: &[
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 30.0, [1.0, 600.0], "time, s"),
            LawParameter::new("dt", 1.0 / 960.0, [1e-5, 1.0], "length of a step, s"),
        ],
        quick: Some(&[]),
        disturbance: DRAG,
        measure: double_pendulum_energy,
    },
    Law {
        name: "soft_hinge",
        group: "joints",
        statement: "A soft hinge of f Hz sags by g / (2πf)²",
        source: "Hooke 1678; Catto 2011, Soft Constraints, GDC",
        parameters: &[LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²")],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: soft_hinge,
    },
    Law {
        name: "stiff_hinge",
        group: "joints",
        statement: "Hinges above 60 Hz sag by g / (2πf)² too, where the step is fine enough",
        source: "Hooke 1678; Catto 2011, Soft Constraints, GDC",
        parameters: &[
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("dt", 1.0 / 960.0, [1e-5, 1.0], "length of a step, s"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: stiff_hinge,
    },
    Law {
        name: "spring",
        group: "joints",
        statement: "Two masses on a spring swing in 2π √(μ/k) of their reduced mass μ",
        source: "Landau & Lifshitz, Mechanics, 3rd ed. 1976, §21",
        parameters: &[
            LawParameter::new("stiffness", 12.0, [0.1, 500.0], "stiffness, N/m"),
            LawParameter::new("ratio", 3.0, [0.01, 100.0], "mass of one by the other, which is 1 kg"),
        ],
        quick: Some(&[]),
        disturbance: STIFFER,
        measure: spring,
    },
    Law {
        name: "damped_spring",
        group: "joints",
        statement: "A damped spring loses its amplitude by exp(−c t / 2m)",
        source: "Landau & Lifshitz, Mechanics, 3rd ed. 1976, §25",
        parameters: &[
            LawParameter::new("stiffness", 4.0, [0.1, 500.0], "stiffness, N/m"),
            LawParameter::new("damping", 0.2, [0.0, 2.0], "damping, N·s/m"),
            LawParameter::new("seconds", 10.0, [1.0, 100.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: DRAG,
        measure: damped_spring,
    },
    Law {
        name: "heavy_end",
        group: "joints",
        statement: "A light chain with a heavy end that swings makes no energy, and hardly stretches",
        source: "Lagrange 1788; bounds: energy + 1 % of M g L, stretch 2 %",
        parameters: &[
            LawParameter::count("links", 5.0, [1.0, 200.0], "links of 1 m and 1 kg"),
            LawParameter::new("ratio", 3000.0, [1.0, 1e5], "mass of the end, kg"),
            LawParameter::new("seconds", 15.0, [1.0, 60.0], "time, s"),
            LawParameter::new("stretch", 0.02, [1e-4, 1.0], "bound of the stretch"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "hinges of 5 Hz",
            apply: |scene| scene.joints.iter_mut().for_each(|joint| joint.hertz = Some(5.0)),
        },
        measure: heavy_end,
    },
    Law {
        name: "heavy_end_long",
        group: "joints",
        statement: "A chain of 50 light links with a heavy end makes no energy, and hardly stretches",
        source: "Lagrange 1788; bounds: energy + 1 % of M g L, stretch 5 %",
        parameters: &[
            LawParameter::count("links", 50.0, [1.0, 200.0], "links of 1 m and 1 kg"),
            LawParameter::new("ratio", 300.0, [1.0, 1e5], "mass of the end, kg"),
            LawParameter::new("seconds", 8.0, [1.0, 60.0], "time, s"),
            LawParameter::new("stretch", 0.05, [1e-4, 1.0], "bound of the stretch"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "hinges of 2 Hz",
            apply: |scene| scene.joints.iter_mut().for_each(|joint| joint.hertz = Some(2.0)),
        },
        measure: heavy_end,
    },
    Law {
        name: "moderate_end",
        group: "joints",
        statement: "A chain whose end is 20 times as heavy as a link makes no energy, and hardly stretches",
        source: "Lagrange 1788; bounds: energy + 1 % of M g L, stretch 2 %",
        parameters: &[
            LawParameter::count("links", 5.0, [1.0, 200.0], "links of 1 m and 1 kg"),
            LawParameter::new("ratio", 20.0, [1.0, 1e5], "mass of the end, kg"),
            LawParameter::new("seconds", 15.0, [1.0, 60.0], "time, s"),
            LawParameter::new("stretch", 0.02, [1e-4, 1.0], "bound of the stretch"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "hinges of 5 Hz",
            apply: |scene| scene.joints.iter_mut().for_each(|joint| joint.hertz = Some(5.0)),
        },
        measure: heavy_end,
    },
    Law {
        name: "catenary",
        group: "joints",
        statement: "A hanging chain is a catenary",
        source: "Leibniz, Huygens & Johann Bernoulli 1691, Acta Eruditorum",
        parameters: &[
            LawParameter::count("links", 40.0, [8.0, 200.0], "links of 0.5 m"),
            LawParameter::new("span", 0.7, [0.2, 0.95], "distance of the ends by the length"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "gravity 10 % aslant",
            apply: |scene| scene.gravity.x = 0.1 * scene.gravity.y,
        },
        measure: catenary,
    },
    Law {
        name: "motor",
        group: "joints",
        statement: "A motor speeds a rotor up by τ / I until it has its speed",
        source: "Euler 1765, Theoria motus corporum",
        parameters: &[
            LawParameter::new("torque", 2.0, [0.01, 1e4], "largest torque, N·m"),
            LawParameter::new("speed", 12.0, [0.5, 40.0], "speed, rad/s"),
            LawParameter::new("length", 2.0, [0.2, 20.0], "length of the rotor, m"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "motor 5 % weaker",
            apply: |scene| {
                for joint in &mut scene.joints {
                    if let JointKind::Revolute { motor: Some(motor), .. } = &mut joint.kind {
                        motor.max *= 0.95;
                    }
                }
            },
        },
        measure: motor,
    },
    Law {
        name: "slider",
        group: "joints",
        statement: "A body on a slider falls along it at g sin α, and stops at its limit",
        source: "Galilei 1638, Discorsi, third day",
        parameters: &[
            LawParameter::new("angle", 40.0, [5.0, 90.0], "angle of the axis below the horizontal, degrees"),
            LawParameter::new("travel", 5.0, [0.5, 50.0], "upper limit, m"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: slider,
    },
];

/// Returns the arithmetic–geometric mean (Gauss 1799), by which `K(k) = π / 2 agm(1, √(1 − k²))`.
fn arithmetic_geometric_mean(mut a: f64, mut b: f64) -> f64 {
    while (a - b).abs() > 1e-15 * a {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    a
}

/// Returns the period of a pendulum of the reduced length `length` with this amplitude, rad.
fn period_of(length: f64, gravity: f64, amplitude: f64) -> f64 {
    TAU * (length / gravity).sqrt() / arithmetic_geometric_mean(1.0, (0.5 * amplitude).cos())
}

/// Returns the mean period of a quantity over `count` swings, s, by its upward zero crossings, and its course.
fn swings(
    world: &mut LabWorld,
    count: usize,
    expected: f64,
    mut of: impl FnMut(&mut LabWorld) -> Result<f64, LabError>,
) -> Result<(f64, Vec<[f64; 2]>), LabError> {
    let (mut crossings, mut line) = (Vec::new(), Vec::new());
    let mut before = of(world)?;
    while crossings.len() <= count && world.time() < 2.0 * (count as f64 + 1.0) * expected {
        let now = of(world.advance(1)?)?;
        if before < 0.0 && now >= 0.0 {
            crossings.push(world.time() - world.dt * now / (now - before));
        }
        line.push([world.time(), now]);
        before = now;
    }
    let period = match crossings[..] {
        [first, .., last] => (last - first) / (crossings.len() - 1) as f64,
        _ => f64::NAN,
    };
    Ok((period, line))
}

/// Returns a ball on a rod that starts at rest at this angle from the lowest point, rad.
fn ball_on_rod(lab: &Lab<'_>, length: f64, amplitude: f64, gravity: f64) -> Result<LabWorld, LabError> {
    let mut scene = lab.scene("pendulum", gravity);
    let (sin, cos) = amplitude.sin_cos();
    let ball = scene.add(at(length * sin, -length * cos).shape(disc(0.1 * length)).fixed_rotation());
    scene.join(Joint::to_world(JointKind::rod(), ball));
    lab.start(&scene)
}

/// Returns the angle of a body from the lowest point below the origin, rad.
fn from_lowest(body: &LabBody) -> f64 {
    body.position.x.atan2(-body.position.y)
}

fn period_findings(law: f64, measured: f64, line: &[[f64; 2]], amplitude: f64) -> LawFindings {
    let degrees = line.iter().take_while(|point| point[0] < 3.0 * law).map(|&[time, angle]| [time, angle.to_degrees()]);
    let turns = (0..=6).map(|half| [0.5 * law * f64::from(half), if half % 2 == 0 { amplitude } else { -amplitude }]);
    LawFindings {
        checks: vec![LawCheck::share("period", "s", law, measured, 1e-3)],
        figure: LawFigure::new("time, s", "angle, degrees")
            .measured("measured", degrees)
            .dots("turning points of the law", turns),
    }
}

fn pendulum(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (length, gravity, degrees) = (values.get("length"), values.get("gravity"), values.get("amplitude"));
    let law = period_of(length, gravity, degrees.to_radians());
    let mut world = ball_on_rod(lab, length, degrees.to_radians(), gravity)?;
    let (period, line) = swings(&mut world, 5, law, |world| Ok(from_lowest(&world.body(0)?)))?;
    Ok(period_findings(law, period, &line, degrees))
}

/// Returns a bar that hangs by a hinge at its end and starts at rest at this angle from the vertical, rad, and its
/// moment of inertia about the hinge by mass, m².
fn hanging_bar(lab: &Lab<'_>, length: f64, amplitude: f64, gravity: f64) -> Result<(LabWorld, f64), LabError> {
    let width = 0.1 * length;
    let mut scene = lab.scene("bar pendulum", gravity);
    let (sin, cos) = amplitude.sin_cos();
    let bar = at(0.5 * length * sin, -0.5 * length * cos).angle(f(amplitude));
    let bar = scene.add(bar.shape(brick(width, length)));
    let hinge = Joint::to_world(JointKind::hinge(), bar).anchors([0.0, 0.0], point(0.0, 0.5 * length));
    scene.join(hinge);
    let inertia = (length * length + width * width) / 12.0 + 0.25 * length * length;
    Ok((lab.start(&scene)?, inertia))
}

fn bar_pendulum(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (length, gravity, degrees) = (values.get("length"), values.get("gravity"), values.get("amplitude"));
    let (mut world, inertia) = hanging_bar(lab, length, degrees.to_radians(), gravity)?;
    let law = period_of(inertia / (0.5 * length), gravity, degrees.to_radians());
    let (period, line) = swings(&mut world, 5, law, |world| Ok(from_lowest(&world.body(0)?)))?;
    Ok(period_findings(law, period, &line, degrees))
}

fn pendulum_tension(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (length, gravity, degrees) = (values.get("length"), values.get("gravity"), values.get("amplitude"));
    let mut world = ball_on_rod(lab, length, degrees.to_radians(), gravity)?;
    let mass = world.mass(0)?[0];
    let cosine = degrees.to_radians().cos();
    let law = |angle: f64| mass * gravity * (3.0 * angle.cos() - 2.0 * cosine);
    let half = 0.5 * period_of(length, gravity, degrees.to_radians());
    let (mut points, mut lowest) = (Vec::new(), [f64::INFINITY, f64::NAN]);
    while world.time() < half {
        world.advance(1)?;
        let angle = from_lowest(&world.body(0)?);
        let force = world.world.joint_reactions()?.first().map_or([0.0; 2], |reaction| reaction.force);
        let force = f64::from(force[0]).hypot(f64::from(force[1]));
        points.push([angle.to_degrees(), force]);
        if angle.abs() < lowest[0] {
            lowest = [angle.abs(), force];
        }
    }
    let angles = (-50..=50).map(|step| degrees * f64::from(step) / 50.0);
    Ok(LawFindings {
        checks: vec![LawCheck::share("force at the lowest point", "N", law(lowest[0]), lowest[1], 0.01)],
        figure: LawFigure::new("angle, degrees", "force of the rod, N")
            .expected("law", angles.map(|angle| [angle, law(angle.to_radians()).abs()]))
            .dots("measured", points),
    })
}

fn pendulum_energy(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (length, gravity) = (values.get("length"), values.get("gravity"));
    let amplitude = values.get("amplitude").to_radians();
    let (mut world, inertia) = hanging_bar(lab, length, amplitude, gravity)?;
    let most = gravity * 0.5 * length * (1.0 - amplitude.cos());
    let own = inertia - 0.25 * length * length;
    let energy = |body: &LabBody| {
        let lifted = gravity * (body.position.y + 0.5 * length);
        (0.5 * body.velocity.length_squared() + 0.5 * own * body.spin * body.spin + lifted) / most
    };
    keeps_energy(&mut world, values.get("seconds"), [0.99, 1.01], |world| Ok(energy(&world.body(0)?)))
}

/// Checks that an energy, which is 1 at the start, stays within bounds; the last swings are averaged.
fn keeps_energy(
    world: &mut LabWorld,
    seconds: f64,
    bounds: [f64; 2],
    mut energy: impl FnMut(&mut LabWorld) -> Result<f64, LabError>,
) -> Result<LawFindings, LabError> {
    let mut line = vec![[0.0, energy(world)?]];
    while world.time() < seconds - 0.5 * world.dt {
        let now = energy(world.advance(1)?)?;
        line.push([world.time(), now]);
    }
    let late: Vec<f64> = line.iter().filter(|point| point[0] > 0.9 * seconds).map(|point| point[1]).collect();
    let kept = late.iter().sum::<f64>() / late.len() as f64;
    let highest = line.iter().map(|point| point[1]).fold(f64::NEG_INFINITY, f64::max);
    let every = (line.len() / 600).max(1);
    Ok(LawFindings {
        checks: vec![
            LawCheck::between("energy kept", "", 1.0, kept, bounds),
            LawCheck::between("highest energy ÷ start", "", 1.0, highest, bounds),
        ],
        figure: LawFigure::new("time, s", "energy ÷ energy at the start")
            .expected("law", [[0.0, 1.0], [seconds, 1.0]])
            .measured("measured", line.into_iter().step_by(every)),
    })
}

/// Length and width of the bars of a double pendulum, m.
const BAR: [f64; 2] = [1.0, 0.05];

/// Moment of inertia of such a bar about its centre by mass, m².
const BAR_INERTIA: f64 = (BAR[0] * BAR[0] + BAR[1] * BAR[1]) / 12.0;

/// Starts two bars that lie level on each other's ends.
fn two_bars(lab: &Lab<'_>, gravity: f64) -> Result<LabWorld, LabError> {
    let mut scene = lab.scene("double pendulum", gravity);
    let half = 0.5 * BAR[0];
    let shape = || brick(BAR[0], BAR[1]);
    let first = scene.add(at(half, 0.0).shape(shape()));
    let second = scene.add(at(3.0 * half, 0.0).shape(shape()));
    scene.join(Joint::to_world(JointKind::hinge(), first).anchors([0.0, 0.0], point(-half, 0.0)));
    scene.join(Joint::new(JointKind::hinge(), first, second).anchors(point(half, 0.0), point(-half, 0.0)));
    lab.start(&scene)
}

/// Derivatives of angles from the vertical and angular velocities of two equal bars by Lagrange's equations.
fn lagrange([a, b, u, v]: [f64; 4], gravity: f64) -> [f64; 4] {
    let (length, half) = (BAR[0], 0.5 * BAR[0]);
    let (sin, cos) = (a - b).sin_cos();
    let m = [BAR_INERTIA + half * half + length * length, length * half * cos, BAR_INERTIA + half * half];
    let right = [
        -length * half * sin * v * v - (half + length) * gravity * a.sin(),
        length * half * sin * u * u - half * gravity * b.sin(),
    ];
    let determinant = m[0] * m[2] - m[1] * m[1];
    let first = (m[2] * right[0] - m[1] * right[1]) / determinant;
    let second = (m[0] * right[1] - m[1] * right[0]) / determinant;
    [u, v, first, second]
}

/// Returns angles and angular velocities after a time, by Runge and Kutta's method of fourth order.
fn runge_kutta(mut state: [f64; 4], gravity: f64, seconds: f64) -> [f64; 4] {
    const STEPS: usize = 40_000;
    let h = seconds / STEPS as f64;
    let plus = |state: [f64; 4], rate: [f64; 4], factor: f64| {
        [0, 1, 2, 3].map(|index: usize| state[index] + factor * rate[index])
    };
    for _ in 0..STEPS {
        let first = lagrange(state, gravity);
        let second = lagrange(plus(state, first, 0.5 * h), gravity);
        let third = lagrange(plus(state, second, 0.5 * h), gravity);
        let fourth = lagrange(plus(state, third, h), gravity);
        for index in 0..4 {
            state[index] += h / 6.0 * (first[index] + 2.0 * second[index] + 2.0 * third[index] + fourth[index]);
        }
    }
    state
}

/// Returns the free end of the second bar.
fn tip(world: &LabWorld) -> Result<DVec2, LabError> {
    let body = world.body(1)?;
    Ok(body.position + DVec2::from_angle(body.angle) * 0.5 * BAR[0])
}

fn double_pendulum(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (gravity, seconds) = (values.get("gravity"), values.get("seconds"));
    let level = std::f64::consts::FRAC_PI_2;
    let [a, b, ..] = runge_kutta([level, level, 0.0, 0.0], gravity, seconds);
    let law = (DVec2::new(a.sin(), -a.cos()) + DVec2::new(b.sin(), -b.cos())) * BAR[0];
    let mut points = Vec::new();
    for index in 0..whole(values.get("levels")) {
        let lab = lab.with_dt(lab.dt / 4_f64.powf(index as f64));
        let mut world = two_bars(&lab, gravity)?;
        let off = (tip(world.run_to(seconds)?)? - law).length();
        points.push([lab.dt, 1e3 * off]);
    }
    let [first, last] = [points[0], points[points.len() - 1]];
    let order = (first[1] / last[1]).ln() / (first[0] / last[0]).ln();
    Ok(LawFindings {
        checks: vec![
            LawCheck::at_most("distance of the tip at the shortest step", "mm", last[1], 0.1),
            LawCheck::between("order of convergence", "", 1.0, order, [0.9, 4.0]),
        ],
        figure: LawFigure::new("step, s", "distance of the tip from Lagrange's, mm")
            .logarithmic(true, true)
            .expected("first order", [first, [last[0], first[1] * last[0] / first[0]]])
            .dots("measured", points),
    })
}

fn double_pendulum_energy(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let gravity = values.get("gravity");
    let mut world = two_bars(lab, gravity)?;
    // By m g · 2L, above the lowest place: 1 at the start.
    let lowest = -2.0 * BAR[0];
    let energy = |body: &LabBody| {
        0.5 * body.velocity.length_squared() + 0.5 * BAR_INERTIA * body.spin * body.spin + gravity * body.position.y
    };
    keeps_energy(&mut world, values.get("seconds"), [0.995, 1.005], |world| {
        let own = energy(&world.body(0)?) + energy(&world.body(1)?);
        Ok(1.0 - own / (gravity * lowest))
    })
}

fn sag(lab: &Lab<'_>, gravity: f64, frequencies: &[f64]) -> Result<LawFindings, LabError> {
    let (mut checks, mut points) = (Vec::new(), Vec::new());
    let law = |hertz: f64| gravity / (TAU * hertz).powi(2);
    for &hertz in frequencies {
        let mut scene = lab.scene("soft hinge", gravity);
        let body = scene.add(at(0.0, 0.0).shape(brick(1.0, 1.0)));
        scene.join(Joint::to_world(JointKind::hinge(), body).soft(f(hertz), 1.0));
        let mut world = lab.start(&scene)?;
        let measured = -world.run_to(3.0 + 20.0 / hertz)?.body(0)?.position.y;
        points.push([hertz, 1e3 * measured]);
        checks.push(LawCheck::share(format!("sag at {hertz} Hz"), "m", law(hertz), measured, 0.01));
    }
    let ends = [frequencies[0], frequencies[frequencies.len() - 1]];
    let line = (0..=40).map(|step| ends[0] * (ends[1] / ends[0]).powf(f64::from(step) / 40.0));
    Ok(LawFindings {
        checks,
        figure: LawFigure::new("frequency, Hz", "sag, mm")
            .logarithmic(true, true)
            .expected("law", line.map(|hertz| [hertz, 1e3 * law(hertz)]))
            .dots("measured", points),
    })
}

fn soft_hinge(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    sag(lab, values.get("gravity"), &[1.0, 3.0, 10.0, 30.0, 59.0, 60.0])
}

fn stiff_hinge(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    sag(lab, values.get("gravity"), &[30.0, 60.0, 120.0, 300.0, 600.0])
}

fn spring(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (stiffness, ratio) = (values.get("stiffness"), values.get("ratio"));
    let mut scene = lab.scene("spring", 0.0);
    let light = scene.add(at(0.0, 0.0).shape(disc(0.2)).mass(1.0));
    let heavy = scene.add(at(3.0, 0.0).shape(disc(0.2)).mass(f(ratio)));
    let kind = JointKind::Spring { rest_length: Some(2.0), stiffness: f(stiffness), damping: 0.0 };
    scene.join(Joint::new(kind, light, heavy));
    let law = TAU * (ratio / (1.0 + ratio) / stiffness).sqrt();
    let mut world = lab.start(&scene)?;
    let (period, line) =
        swings(&mut world, 10, law, |world| Ok((world.body(1)?.position - world.body(0)?.position).x - 2.0))?;
    let tops = (0..=3).map(|turn| [law * f64::from(turn), 1.0]);
    Ok(LawFindings {
        checks: vec![LawCheck::share("period", "s", law, period, 1e-3)],
        figure: LawFigure::new("time, s", "length of the spring less its rest length, m")
            .measured("measured", line.into_iter().take_while(|point| point[0] < 3.2 * law))
            .dots("turning points of the law", tops),
    })
}

fn damped_spring(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (stiffness, damping, seconds) = (values.get("stiffness"), values.get("damping"), values.get("seconds"));
    let mut scene = lab.scene("damped spring", 0.0);
    let ball = scene.add(at(2.5, 0.0).shape(disc(0.2)).mass(1.0));
    let kind = JointKind::Spring { rest_length: Some(2.0), stiffness: f(stiffness), damping: f(damping) };
    scene.join(Joint::to_world(kind, ball));
    let mut world = lab.start(&scene)?;
    let mut line = Vec::new();
    while world.time() < seconds - 0.5 * world.dt {
        let body = world.advance(1)?.body(0)?;
        line.push([world.time(), body.position.x - 2.0]);
    }
    let body = world.body(0)?;
    let (x, v) = (body.position.x - 2.0, body.velocity.x);
    // The energy with the cross term that decays without ripple.
    let size = ((v * v + stiffness * x * x + damping * x * v) / stiffness).sqrt();
    let law = |time: f64| 0.5 * (-0.5 * damping * time).exp();
    let every = |step: u32| seconds * f64::from(step) / 60.0;
    Ok(LawFindings {
        checks: vec![LawCheck::share("amplitude at the end", "m", law(seconds), size, 0.01)],
        figure: LawFigure::new("time, s", "displacement, m")
            .expected("envelope of the law", (0..=60).map(every).map(|time| [time, law(time)]))
            .measured("measured", line),
    })
}

/// Gravity of the chains with heavy ends, m/s².
const CHAIN_GRAVITY: f64 = 10.0;

/// Returns a chain of links of 1 m and 1 kg that lies level, hinged to the origin, with a ball at its end.
fn chain(lab: &Lab<'_>, links: usize, ball: f64) -> Scene {
    let mut scene = lab.scene("heavy end", CHAIN_GRAVITY);
    for link in 0..links {
        let body = scene.add(at(link as f64 + 0.5, 0.0).shape(brick(1.0, 0.2)).mass(1.0));
        scene.join(match link {
            0 => Joint::to_world(JointKind::hinge(), body).anchors([0.0, 0.0], [-0.5, 0.0]),
            _ => Joint::new(JointKind::hinge(), body - 1, body).anchors([0.5, 0.0], [-0.5, 0.0]),
        });
    }
    let body = scene.add(at(links as f64, 0.0).shape(disc(0.5)).mass(f(ball)));
    scene.join(Joint::new(JointKind::hinge(), body - 1, body).anchors([0.5, 0.0], [0.0, 0.0]));
    scene
}

fn heavy_end(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (links, ratio, seconds) = (whole(values.get("links")), values.get("ratio"), values.get("seconds"));
    let length = links as f64;
    let mut world = lab.start(&chain(lab, links, ratio))?;
    let (mut stretches, mut energies) = (Vec::new(), Vec::new());
    while world.time() < seconds - 0.5 * world.dt {
        let bodies = world.advance(1)?.bodies(0)?;
        let (mut before, mut apart, mut energy) = (DVec2::ZERO, 0.0, 0.0);
        for (index, body) in bodies.iter().enumerate() {
            let is_ball = index == links;
            let half = DVec2::from_angle(body.angle) * 0.5;
            apart += (body.position - if is_ball { DVec2::ZERO } else { half } - before).length();
            before = body.position + half;
            let [mass, inertia] = if is_ball { [ratio, 0.125 * ratio] } else { [1.0, 1.04 / 12.0] };
            energy += 0.5 * mass * body.velocity.length_squared() + 0.5 * inertia * body.spin * body.spin;
            energy += mass * CHAIN_GRAVITY * body.position.y;
        }
        stretches.push([world.time(), 100.0 * apart / length]);
        energies.push([world.time(), 100.0 * energy / (ratio * CHAIN_GRAVITY * length)]);
    }
    let most = |line: &[[f64; 2]]| line.iter().map(|point| point[1]).fold(f64::NEG_INFINITY, f64::max) / 100.0;
    Ok(LawFindings {
        checks: vec![
            LawCheck::at_most("stretch by the length", "", most(&stretches), values.get("stretch")),
            LawCheck::at_most("energy gained by M g L", "", most(&energies), 0.01),
        ],
        figure: LawFigure::new("time, s", "%")
            .measured("stretch, % of the length", stretches)
            .measured("energy above the start, % of M g L", energies),
    })
}

fn catenary(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    const LINK: f64 = 0.5;
    let (links, gravity) = (whole(values.get("links")), values.get("gravity"));
    let length = LINK * links as f64;
    let span = values.get("span") * length;
    // 2 a sinh(span / 2a) = length.
    let (mut low, mut high) = (1e-3 * span, 1e3 * span);
    for _ in 0..200 {
        let a = (low * high).sqrt();
        if 2.0 * a * (0.5 * span / a).sinh() > length { low = a } else { high = a }
    }
    let a = low;
    let law = |x: f64| a * ((x / a).cosh() - (0.5 * span / a).cosh());
    let mut scene = lab.scene("catenary", gravity);
    // Hung up as a V, which is near enough.
    let depth = (0.25 * (length * length - span * span)).sqrt();
    for link in 0..links {
        let along = (link as f64 + 0.5) / links as f64;
        let down = if along < 0.5 { -1.0 } else { 1.0 };
        let place = [span * (along - 0.5), -2.0 * depth * along.min(1.0 - along)];
        let angle = (2.0 * down * depth / span).atan();
        let body = at(place[0], place[1]).angle(f(angle)).damping(f(0.5 * (gravity / length).sqrt()), 0.0);
        let body = scene.add(body.shape(brick(LINK, 0.1)));
        let [left, right] = [point(-0.5 * LINK, 0.0), point(0.5 * LINK, 0.0)];
        scene.join(match link {
            0 => Joint::to_world(JointKind::hinge(), body).anchors(point(-0.5 * span, 0.0), left),
            _ => Joint::new(JointKind::hinge(), body - 1, body).anchors(right, left),
        });
        if link + 1 == links {
            scene.join(Joint::to_world(JointKind::hinge(), body).anchors(point(0.5 * span, 0.0), right));
        }
    }
    let mut world = lab.start(&scene)?;
    let bodies = world.run_to(30.0 * (length / gravity).sqrt())?.bodies(0)?;
    let off = |body: &LabBody| (body.position.y - law(body.position.x)).abs();
    let worst = bodies.iter().map(off).fold(0.0, f64::max);
    let lowest = bodies.iter().map(|body| body.position.y).fold(f64::INFINITY, f64::min);
    let ideal = (0..=60).map(|step| span * (f64::from(step) / 60.0 - 0.5)).map(|x| [x, law(x)]);
    Ok(LawFindings {
        checks: vec![
            LawCheck::at_most("largest distance from the catenary by its length", "", worst / length, 0.005),
            LawCheck::share("lowest point", "m", law(0.0), lowest, 0.01),
        ],
        figure: LawFigure::new("x, m", "y, m")
            .expected("catenary", ideal)
            .dots("middles of links", bodies.iter().map(|body| body.position.into()))
            .with_equal_scales(),
    })
}

fn motor(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (torque, speed, length) = (values.get("torque"), values.get("speed"), values.get("length"));
    let width = 0.2 * length;
    let inertia = length * width * (length * length + width * width) / 12.0;
    let mut scene = lab.scene("motor", 0.0);
    let rotor = scene.add(at(0.0, 0.0).shape(brick(length, width)));
    let motor = Some(Motor { speed: f(speed), max: f(torque) });
    let kind = JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
    scene.join(Joint::to_world(kind, rotor));
    let mut world = lab.start(&scene)?;
    let reached = speed * inertia / torque;
    let half = world.run_to(0.5 * reached)?.body(0)?.spin;
    let law = |time: f64| (torque * time / inertia).min(speed);
    let at_half = law(world.time());
    let mut line = vec![[0.0, 0.0], [world.time(), half]];
    while world.time() < 1.5 * reached + 10.0 * world.dt {
        let spin = world.advance(1)?.body(0)?.spin;
        line.push([world.time(), spin]);
    }
    let end = line[line.len() - 1];
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("speed on the way", "rad/s", at_half, half, 0.005),
            LawCheck::share("speed at the end", "rad/s", speed, end[1], 0.001),
        ],
        figure: LawFigure::new("time, s", "angular velocity, rad/s")
            .expected("law", [[0.0, 0.0], [reached, speed], [end[0], speed]])
            .measured("measured", line),
    })
}

fn slider(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (travel, gravity) = (values.get("travel"), values.get("gravity"));
    let (sin, cos) = values.get("angle").to_radians().sin_cos();
    let mut scene = lab.scene("slider", gravity);
    let body = scene.add(at(0.0, 0.0).shape(Shape::half_box(0.2, 0.2)));
    scene.join(Joint::to_world(JointKind::slider(point(cos, -sin)).limits(-1.0, f(travel)), body));
    let mut world = lab.start(&scene)?;
    let arrival = (2.0 * travel / (gravity * sin)).sqrt();
    let along = |body: LabBody| body.position.dot(DVec2::new(cos, -sin));
    let (mut line, mut sideways, mut midway) = (vec![[0.0, 0.0]], 0.0_f64, [f64::NAN; 2]);
    while world.time() < arrival + 3.0 {
        let body = world.advance(1)?.body(0)?;
        sideways = sideways.max(body.position.dot(DVec2::new(sin, cos)).abs());
        line.push([world.time(), along(body)]);
        if world.time() < 0.7 * arrival {
            midway = [world.time(), along(body)];
        }
    }
    let end = line[line.len() - 1];
    let law = |time: f64| (0.5 * gravity * sin * time * time).min(travel);
    let times = (0..=60).map(|step| end[0] * f64::from(step) / 60.0);
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("way until 0.7 of the time", "m", law(midway[0]), midway[1], 0.01),
            LawCheck::share("place at the limit", "m", travel, end[1], 0.002),
            LawCheck::at_most("distance from the axis", "m", sideways, 0.005),
        ],
        figure: LawFigure::new("time, s", "way, m")
            .expected("law", times.map(|time| [time, law(time)]))
            .measured("measured", line),
    })
}
