//! Spin, torque, angular momentum and rolling.

use drystone::{Body, Field, Joint, JointKind};
use glam::DVec2;

use super::{EARTH, FRICTION, GRAVITY};
use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::law::{Disturbance, Law, LawFindings, LawParameter, LawValues};
use crate::world::{Lab, LabError, LabWorld, at, brick, disc, f, floor, point, whole, wound};

/// Drag by which spin is lost.
const SLOW: Disturbance = Disturbance {
    what: "angular drag of 0.05/s",
    apply: |scene| scene.bodies.iter_mut().for_each(|body| body.angular_damping = 0.05),
};

const GRAVITY_RANGE: [f64; 2] = [0.1, 1e3];

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "free_spin",
        group: "rotation",
        statement: "A free bar turns by ω t",
        source: "Euler 1765, Theoria motus corporum",
        parameters: &[
            LawParameter::new("spin", 20.0, [-47.0, 47.0], "angular velocity, rad/s"),
            LawParameter::new("seconds", 10.0, [0.1, 600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: SLOW,
        measure: free_spin,
    },
    Law {
        name: "torque",
        group: "rotation",
        statement: "A torque turns a body by τ t² / 2I",
        source: "Euler 1765, Theoria motus corporum",
        parameters: &[
            LawParameter::new("torque", 0.5, [0.01, 5.0], "torque, N·m"),
            LawParameter::new("seconds", 5.0, [0.5, 20.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: SLOW,
        measure: torque,
    },
    Law {
        name: "hinged_bars",
        group: "rotation",
        statement: "Free bars on hinges keep their angular momentum",
        source: "Euler 1736; Landau & Lifshitz, Mechanics, 3rd ed. 1976, §9",
        parameters: &[
            LawParameter::count("bars", 3.0, [2.0, 20.0], "bars"),
            LawParameter::new("spin", 3.0, [0.1, 20.0], "angular velocity, rad/s"),
            LawParameter::count("collide", 0.0, [0.0, 1.0], "1: bars collide that are not joined"),
            LawParameter::new("seconds", 60.0, [1.0, 600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: SLOW,
        measure: hinged_bars,
    },
    Law {
        name: "folding_bars",
        group: "rotation",
        statement: "Free bars on hinges that fold onto each other keep their angular momentum",
        source: "Euler 1736; Landau & Lifshitz, Mechanics, 3rd ed. 1976, §9",
        parameters: &[
            LawParameter::count("bars", 3.0, [2.0, 20.0], "bars"),
            LawParameter::new("spin", 3.0, [0.1, 20.0], "angular velocity, rad/s"),
            LawParameter::count("collide", 1.0, [0.0, 1.0], "1: bars collide that are not joined"),
            LawParameter::new("seconds", 60.0, [1.0, 600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: SLOW,
        measure: hinged_bars,
    },
    Law {
        name: "rolling",
        group: "rotation",
        statement: "A disc rolls down a slope at 2/3 g sin θ",
        source: "Goldstein, Classical Mechanics, 3rd ed. 2002, §2.4",
        parameters: &[
            LawParameter::new("angle", 20.0, [1.0, 60.0], "slope, degrees"),
            LawParameter::new("friction", 0.6, [0.01, 5.0], "coefficient of friction"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: rolling,
    },
    Law {
        name: "slipping",
        group: "rotation",
        statement: "On slopes above tan θ = 3 μ a disc slips, at g (sin θ − μ cos θ)",
        source: "Goldstein, Classical Mechanics, 3rd ed. 2002, §2.4",
        parameters: &[
            LawParameter::new("angle", 50.0, [1.0, 85.0], "slope, degrees"),
            LawParameter::new("friction", 0.2, [0.01, 5.0], "coefficient of friction"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: rolling,
    },
    Law {
        name: "bowling",
        group: "rotation",
        statement: "A disc that slides begins to roll at 2/3 of its speed, after v / 3 μ g",
        source: "Euler 1758; Coriolis 1835, Jeu de billard",
        parameters: &[
            LawParameter::new("speed", 6.0, [0.5, 20.0], "speed, m/s"),
            LawParameter::new("friction", 0.2, [0.02, 2.0], "coefficient of friction"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: FRICTION,
        measure: bowling,
    },
    Law {
        name: "orbit",
        group: "rotation",
        statement: "A body in a central field circles in 2π √(r/a)",
        source: "Newton 1687, book 1, proposition 4",
        parameters: &[
            LawParameter::new("radius", 5.0, [0.5, 50.0], "radius, m"),
            LawParameter::new("acceleration", 4.0, [0.1, 50.0], "acceleration, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "field 5 % stronger",
            apply: |scene| scene.fields.iter_mut().for_each(|field| field.acceleration *= 1.05),
        },
        measure: orbit,
    },
    Law {
        name: "fast_spin",
        group: "rotation",
        statement: "A free disc keeps its spin, however fast",
        source: "Newton 1687, first law; Euler 1765",
        parameters: &[LawParameter::new("spin", 100.0, [1.0, 1e4], "angular velocity, rad/s")],
        quick: Some(&[]),
        disturbance: SLOW,
        measure: fast_spin,
    },
    Law {
        name: "fast_flight",
        group: "rotation",
        statement: "A free disc keeps its speed, however fast",
        source: "Newton 1687, first law",
        parameters: &[LawParameter::new("speed", 600.0, [1.0, 1e4], "speed, m/s")],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "drag of 0.05/s",
            apply: |scene| scene.bodies.iter_mut().for_each(|body| body.linear_damping = 0.05),
        },
        measure: fast_flight,
    },
    Law {
        name: "stated_limits",
        group: "rotation",
        statement: "Bodies below a scene's own limits of speed and spin are not slowed, those above act at them",
        source: "docs/book/src/settings.md, max_speed and max_spin",
        parameters: &[
            LawParameter::new("spin", 150.0, [1.0, 1e4], "largest angular velocity, rad/s"),
            LawParameter::new("speed", 500.0, [1.0, 1e4], "largest speed, m/s"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "limits 5 % lower",
            apply: |scene| {
                let settings = &mut scene.settings;
                settings.max_speed = settings.max_speed.map(|limit| 0.95 * limit);
                settings.max_spin = settings.max_spin.map(|limit| 0.95 * limit);
            },
        },
        measure: stated_limits,
    },
];

/// Returns the angle of a body over time, whole turns counted.
fn turns(world: &mut LabWorld, seconds: f64) -> Result<Vec<[f64; 2]>, LabError> {
    let mut angle = world.body(0)?.angle;
    let mut line = vec![[0.0, angle]];
    let mut spin = world.body(0)?.spin;
    while world.time() < seconds - 0.5 * world.dt {
        let body = world.advance(1)?.body(0)?;
        // Near what the spin before says, so that fast turns are counted too.
        angle = wound(angle + spin * world.dt, body.angle);
        spin = body.spin;
        line.push([world.time(), angle]);
    }
    Ok(line)
}

fn free_spin(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (spin, seconds) = (values.get("spin"), values.get("seconds"));
    let mut scene = lab.scene("free spin", 0.0);
    scene.add(at(0.0, 0.0).angular_velocity(f(spin)).shape(brick(2.0, 0.2)));
    let mut world = lab.start(&scene)?;
    let line = turns(&mut world, seconds)?;
    let (law, turned) = (spin * world.time(), line[line.len() - 1][1]);
    Ok(LawFindings {
        checks: vec![LawCheck::share("angle", "rad", law, turned, 1e-4)],
        figure: LawFigure::new("time, s", "angle less ω t, mrad")
            .expected("law", [[0.0, 0.0], [seconds, 0.0]])
            .measured("measured", line.into_iter().map(|[time, angle]| [time, 1e3 * (angle - spin * time)])),
    })
}

fn torque(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (torque, seconds) = (values.get("torque"), values.get("seconds"));
    let inertia = 2.0 * 1.0 * (2.0 * 2.0 + 1.0) / 12.0;
    let mut scene = lab.scene("torque", 0.0);
    scene.add(at(0.0, 0.0).torque(f(torque)).shape(brick(2.0, 1.0)));
    let mut world = lab.start(&scene)?;
    let line = turns(&mut world, seconds)?;
    let time = world.time();
    let law = |time: f64| 0.5 * torque * time * time / inertia;
    let times = (0..=60).map(|step| seconds * f64::from(step) / 60.0);
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("angular velocity", "rad/s", torque * time / inertia, world.body(0)?.spin, 1e-3),
            LawCheck::share("angle", "rad", law(time), line[line.len() - 1][1], 0.005),
        ],
        figure: LawFigure::new("time, s", "angle, rad")
            .expected("law", times.map(|time| [time, law(time)]))
            .measured("measured", line),
    })
}

fn hinged_bars(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (bars, spin, seconds) = (whole(values.get("bars")), values.get("spin"), values.get("seconds"));
    let mut scene = lab.scene("hinged bars", 0.0);
    for bar in 0..bars {
        let x = bar as f64 - 0.5 * (bars as f64 - 1.0);
        // The first turns, the others hang on.
        let own = if bar == 0 { spin } else { 0.0 };
        let mut shape = brick(1.0, 0.1);
        if values.get("collide") == 0.0 {
            shape.filter.group = -1;
        }
        let body = scene.add(at(x, 0.0).angular_velocity(f(own)).shape(shape));
        if bar > 0 {
            scene.join(Joint::new(JointKind::hinge(), body - 1, body).anchors(point(0.5, 0.0), point(-0.5, 0.0)));
        }
    }
    let mut world = lab.start(&scene)?;
    // The joints make the velocities consistent in the first step, by impulses in pairs.
    let start = world.metrics()?.angular_momentum;
    let mut line = vec![[0.0, 1.0]];
    let every = (world.steps_of(seconds) / 300).max(1);
    while world.time() < seconds - 0.5 * world.dt {
        let now = world.advance(every)?.metrics()?.angular_momentum;
        line.push([world.time(), now / start]);
    }
    Ok(LawFindings {
        checks: vec![LawCheck::near("angular momentum ÷ start", "", 1.0, line[line.len() - 1][1], 0.01)],
        figure: LawFigure::new("time, s", "angular momentum ÷ start")
            .expected("law", [[0.0, 1.0], [seconds, 1.0]])
            .measured("measured", line),
    })
}

fn rolling(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (friction, gravity) = (values.get("friction"), values.get("gravity"));
    let (sin, cos) = values.get("angle").to_radians().sin_cos();
    let law = (2.0 / 3.0 * gravity * sin).max(gravity * (sin - friction * cos));
    let mut scene = lab.scene_along("rolling", gravity * sin, -gravity * cos);
    scene.add(floor(friction));
    scene.add(at(0.0, 0.5).shape(disc(0.5).friction(f(friction))));
    let mut world = lab.start(&scene)?;
    let (mut line, mut early) = (vec![[0.0, 0.0]], f64::NAN);
    while world.time() < 2.0 - 0.5 * world.dt {
        let speed = world.advance(1)?.body(1)?.velocity.x;
        line.push([world.time(), speed]);
        if world.time() < 1.0 + 0.5 * world.dt {
            early = speed;
        }
    }
    let measured = (line[line.len() - 1][1] - early) / 1.0;
    Ok(LawFindings {
        checks: vec![LawCheck::share("acceleration", "m/s²", law, measured, 0.005)],
        figure: LawFigure::new("time, s", "speed, m/s")
            .expected("law", [[0.0, 0.0], [2.0, 2.0 * law]])
            .measured("measured", line),
    })
}

fn bowling(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (speed, friction, gravity) = (values.get("speed"), values.get("friction"), values.get("gravity"));
    let mut scene = lab.scene("bowling", gravity);
    scene.add(floor(friction));
    scene.add(at(0.0, 0.5).velocity(f(speed), 0.0).shape(disc(0.5).friction(f(friction))));
    let mut world = lab.start(&scene)?;
    let law = speed / (3.0 * friction * gravity);
    let (mut line, mut rim, mut begins) = (vec![[0.0, speed]], vec![[0.0, 0.0]], f64::NAN);
    while world.time() < 2.0 * law + 10.0 * world.dt {
        let body = world.advance(1)?.body(1)?;
        let slip = body.velocity.x + 0.5 * body.spin;
        if begins.is_nan() && slip < 1e-3 * speed {
            begins = world.time();
        }
        line.push([world.time(), body.velocity.x]);
        rim.push([world.time(), -0.5 * body.spin]);
    }
    let end = line[line.len() - 1];
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("speed of rolling", "m/s", 2.0 / 3.0 * speed, end[1], 0.005),
            LawCheck::near("time until it rolls", "s", law, begins, 0.02 * law + 1.5 * lab.dt),
        ],
        figure: LawFigure::new("time, s", "speed, m/s")
            .expected("law", [[0.0, speed], [law, 2.0 / 3.0 * speed], [end[0], 2.0 / 3.0 * speed]])
            .measured("centre", line)
            .measured("rim", rim),
    })
}

fn orbit(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (radius, acceleration) = (values.get("radius"), values.get("acceleration"));
    let mut scene = lab.scene("orbit", 0.0);
    scene.fields.push(Field { acceleration: f(acceleration), ..Field::default() });
    let speed = (radius * acceleration).sqrt();
    scene.add(at(radius, 0.0).velocity(0.0, f(speed)).shape(disc(0.1)));
    let mut world = lab.start(&scene)?;
    let law = std::f64::consts::TAU * radius / speed;
    let (mut path, mut angle) = (Vec::new(), 0.0);
    while world.time() < 10.0 * law {
        let DVec2 { x, y } = world.advance(1)?.body(0)?.position;
        angle = wound(angle, y.atan2(x));
        path.push([x, y]);
    }
    let measured = std::f64::consts::TAU * world.time() / angle;
    let distance = path[path.len() - 1][0].hypot(path[path.len() - 1][1]);
    let circle = (0..=90).map(|step| DVec2::from_angle(f64::from(4 * step).to_radians()) * radius);
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("period", "s", law, measured, 2e-3),
            LawCheck::share("distance after ten turns", "m", radius, distance, 0.01),
        ],
        figure: LawFigure::new("x, m", "y, m")
            .expected("circle", circle.map(Into::into))
            .measured("measured", path)
            .with_equal_scales(),
    })
}

/// Runs a body without forces for a second and returns what `of` reads of it over time.
fn alone(
    lab: &Lab<'_>,
    body: Body,
    limits: [Option<f64>; 2],
    of: fn(&crate::world::LabBody) -> f64,
) -> Result<Vec<[f64; 2]>, LabError> {
    let mut scene = lab.scene("alone", 0.0);
    (scene.settings.max_speed, scene.settings.max_spin) = (limits[0].map(f), limits[1].map(f));
    scene.add(body);
    let mut world = lab.start(&scene)?;
    let mut line = vec![[0.0, of(&world.body(0)?)]];
    while world.time() < 1.0 - 0.5 * world.dt {
        let now = of(&world.advance(1)?.body(0)?);
        line.push([world.time(), now]);
    }
    Ok(line)
}

fn fast_spin(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let spin = values.get("spin");
    let body = at(0.0, 0.0).angular_velocity(f(spin)).shape(disc(0.5));
    let line = alone(lab, body, [None, None], |body| body.spin)?;
    Ok(LawFindings {
        checks: vec![LawCheck::share("spin after a second", "rad/s", spin, line[line.len() - 1][1], 1e-3)],
        figure: LawFigure::new("time, s", "spin, rad/s")
            .expected("law", [[0.0, spin], [1.0, spin]])
            .measured("measured", line),
    })
}

fn fast_flight(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let speed = values.get("speed");
    let body = at(0.0, 0.0).velocity(f(speed), 0.0).shape(disc(0.5));
    let line = alone(lab, body, [None, None], |body| body.velocity.x)?;
    Ok(LawFindings {
        checks: vec![LawCheck::share("speed after a second", "m/s", speed, line[line.len() - 1][1], 1e-3)],
        figure: LawFigure::new("time, s", "speed, m/s")
            .expected("law", [[0.0, speed], [1.0, speed]])
            .measured("measured", line),
    })
}

fn stated_limits(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let limits = [values.get("speed"), values.get("spin")];
    let (mut checks, mut points) = (Vec::new(), Vec::new());
    for share in [0.5, 0.99, 1.5, 3.0] {
        let [speed, spin] = limits.map(|limit| share * limit);
        let body = || at(0.0, 0.0).velocity(f(speed), 0.0).angular_velocity(f(spin)).shape(disc(0.5));
        let limited = [Some(limits[0]), Some(limits[1])];
        let speeds = alone(lab, body(), limited, |body| body.velocity.x)?;
        let spins = alone(lab, body(), limited, |body| body.spin)?;
        let [speed_law, spin_law] = [speed.min(limits[0]), spin.min(limits[1])];
        let (speed, spin) = (speeds[speeds.len() - 1][1], spins[spins.len() - 1][1]);
        checks.push(LawCheck::share(format!("speed at {share} limits"), "m/s", speed_law, speed, 1e-3));
        checks.push(LawCheck::share(format!("spin at {share} limits"), "rad/s", spin_law, spin, 1e-3));
        points.push([share, spin / limits[1]]);
    }
    Ok(LawFindings {
        checks,
        figure: LawFigure::new("spin at the start, limits", "spin after a second, limits")
            .expected("law", [[0.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
            .dots("measured", points),
    })
}
