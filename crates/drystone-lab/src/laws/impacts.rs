//! Impacts: restitution, several bodies at once, gases, and friction at an impact.

use drystone::{Body, Scene, Shape};
use glam::DVec2;

use super::{EARTH, FRICTION, GRAVITY, RESTITUTION};
use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::law::{Disturbance, Law, LawFindings, LawParameter, LawValues};
use crate::world::{Lab, LabBody, LabError, LabWorld, at, brick, disc, f, floor, whole};

/// Radius of discs, m.
const RADIUS: f64 = 0.5;

/// Restitution in a law in which nothing may bounce.
const BOUNCY: Disturbance = Disturbance {
    what: "restitution 0.05",
    apply: |scene| {
        scene.settings.restitution_threshold = Some(0.0);
        super::shapes(scene, |shape| shape.material.restitution = 0.05);
    },
};

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "restitution",
        group: "impacts",
        statement: "Two discs part with e times the speed at which they meet, and keep their momentum",
        source: "Newton 1687, scholium to the laws",
        parameters: &[
            LawParameter::new("e", 0.5, [0.0, 1.0], "restitution"),
            LawParameter::new("ratio", 3.0, [1e-3, 1e3], "mass of the disc at rest by that of the other"),
            LawParameter::new("speed", 2.0, [0.1, 100.0], "speed of the moving disc, m/s"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: restitution,
    },
    Law {
        name: "cradle",
        group: "impacts",
        statement: "Of a row of discs that touch, only the last one leaves, with the speed of the first",
        source: "Herrmann & Seitz 1982, Am. J. Phys. 50:977",
        parameters: &[
            LawParameter::count("discs", 5.0, [2.0, 50.0], "discs"),
            LawParameter::new("gap", 0.0, [0.0, 1.0], "gap between discs, m"),
            LawParameter::new("speed", 2.0, [0.1, 100.0], "speed of the first, m/s"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: cradle,
    },
    Law {
        name: "one_on_two",
        group: "impacts",
        statement: "One disc that hits two at once keeps the energy of all",
        source: "Newton 1687; Chatterjee & Ruina 1998, J. Appl. Mech. 65:894",
        parameters: &[LawParameter::new("speed", 3.0, [0.1, 100.0], "speed, m/s")],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: one_on_two,
    },
    Law {
        name: "break",
        group: "impacts",
        statement: "A break of fifteen elastic discs keeps its energy",
        source: "Newton 1687, e = 1",
        parameters: &[
            LawParameter::new("gap", 0.0, [0.0, 1.0], "gap between discs, radii"),
            LawParameter::new("speed", 8.0, [0.1, 100.0], "speed of the cue disc, m/s"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: break_of_fifteen,
    },
    Law {
        name: "gas",
        group: "impacts",
        statement: "A gas of elastic discs keeps its energy",
        source: "Clausius 1857, kinetic theory",
        parameters: &[
            LawParameter::count("side", 10.0, [3.0, 40.0], "root of the number of discs"),
            LawParameter::new("densest", 0.44, [0.05, 0.6], "area fraction of the densest of three gases"),
            LawParameter::new("seconds", 60.0, [1.0, 600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: gas,
    },
    Law {
        name: "maxwell",
        group: "impacts",
        statement: "Speeds of a gas become Maxwell's: ⟨v⁴⟩ = 2 ⟨v²⟩² in two dimensions",
        source: "Maxwell 1860, Phil. Mag. 19:19",
        parameters: &[
            LawParameter::count("side", 20.0, [5.0, 40.0], "root of the number of discs"),
            LawParameter::new("fraction", 0.25, [0.05, 0.5], "area fraction"),
            LawParameter::new("seconds", 60.0, [10.0, 600.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "no impacts",
            apply: |scene| super::shapes(scene, |shape| shape.filter.group = -1),
        },
        measure: maxwell,
    },
    Law {
        name: "equipartition",
        group: "impacts",
        statement: "Heavy and light discs of a gas come to the same mean energy",
        source: "Maxwell 1860, Phil. Mag. 20:21",
        parameters: &[
            LawParameter::count("side", 20.0, [6.0, 40.0], "root of the number of discs"),
            LawParameter::new("ratio", 10.0, [1.0, 100.0], "ratio of masses"),
            LawParameter::new("fraction", 0.3, [0.05, 0.5], "area fraction"),
            LawParameter::new("seconds", 100.0, [10.0, 600.0], "time, s"),
        ],
        quick: None,
        disturbance: Disturbance {
            what: "no impacts",
            apply: |scene| super::shapes(scene, |shape| shape.filter.group = -1),
        },
        measure: equipartition,
    },
    Law {
        name: "oblique",
        group: "impacts",
        statement: "An oblique impact takes μ (1 + e) vₙ of the tangential speed, until the disc rolls at 2/3 of it",
        source: "Walton 1993, Particulate Two-Phase Flow, ch. 25",
        parameters: &[
            LawParameter::new("e", 0.8, [0.0, 1.0], "restitution"),
            LawParameter::new("friction", 0.1, [0.0, 1.0], "coefficient of friction"),
            LawParameter::new("speed", 3.0, [0.5, 50.0], "speed, m/s"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: oblique,
    },
    Law {
        name: "elastic_bounces",
        group: "impacts",
        statement: "An elastic ball comes back to its height, again and again",
        source: "Newton 1687, e = 1",
        parameters: &[
            LawParameter::new("height", 2.0, [0.1, 100.0], "height of fall, m"),
            LawParameter::count("bounces", 10.0, [1.0, 200.0], "bounces"),
            LawParameter::new("gravity", EARTH, [0.01, 1e3], "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: elastic_bounces,
    },
    Law {
        name: "bounces",
        group: "impacts",
        statement: "Heights of a bouncing ball fall by e² each time",
        source: "Newton 1687; Bernstein 1977, Am. J. Phys. 45:41",
        parameters: &[
            LawParameter::new("e", 0.5, [0.1, 1.0], "restitution"),
            LawParameter::new("height", 5.0, [0.1, 100.0], "height of fall, m"),
            LawParameter::count("bounces", 3.0, [1.0, 20.0], "bounces"),
            LawParameter::new("gravity", EARTH, [0.01, 1e3], "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: RESTITUTION,
        measure: bounces,
    },
    Law {
        name: "dead_impact",
        group: "impacts",
        statement: "A box without restitution does not rebound",
        source: "Newton 1687, e = 0",
        parameters: &[LawParameter::new("speed", 5.0, [0.5, 50.0], "speed of the impact, m/s")],
        quick: Some(&[]),
        disturbance: BOUNCY,
        measure: dead_impact,
    },
    Law {
        name: "impact_depth",
        group: "impacts",
        statement: "A fast ball does not enter the floor",
        source: "Newton 1687, rigid bodies",
        parameters: &[
            LawParameter::new("speed", 10.0, [0.1, 100.0], "speed of the impact, m/s"),
            LawParameter::new("radius", 0.5, [0.01, 10.0], "radius, m"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "a floor that can move, for which the ball does not look ahead",
            apply: |scene| {
                let heavy = Shape::half_box(50.0, 50.0).density(1e6);
                scene.bodies[0] = Body::dynamic(0.0, -50.0).shape(heavy);
            },
        },
        measure: impact_depth,
    },
    Law {
        name: "line_of_centres",
        group: "impacts",
        statement: "A struck disc leaves along the line of centres, also where nothing bounces",
        source: "Wallis 1671; Newton 1687",
        parameters: &[
            LawParameter::new("offset", 0.5, [0.0, 0.9], "distance of the path from the other's centre, diameters"),
            LawParameter::new("speed", 3.0, [0.1, 50.0], "speed, m/s"),
            LawParameter::new("e", 0.0, [0.0, 1.0], "restitution"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance { what: "path 1 % farther off", apply: |scene| scene.bodies[0].position.y *= 1.01 },
        measure: line_of_centres,
    },
    Law {
        name: "sliding_stop",
        group: "impacts",
        statement: "A sliding block stops after v² / (2 μ g)",
        source: "Coulomb 1785",
        parameters: &[
            LawParameter::new("friction", 0.4, [0.02, 2.0], "coefficient of friction"),
            LawParameter::new("speed", 4.0, [0.5, 30.0], "speed, m/s"),
            LawParameter::new("gravity", EARTH, [0.1, 1e3], "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: FRICTION,
        measure: sliding_stop,
    },
    Law {
        name: "free_fall",
        group: "impacts",
        statement: "A thrown body comes down at v² sin 2α / g",
        source: "Galilei 1638, Discorsi, fourth day",
        parameters: &[
            LawParameter::new("speed", 20.0, [1.0, 100.0], "speed, m/s"),
            LawParameter::new("angle", 50.0, [5.0, 85.0], "angle of the throw, degrees"),
            LawParameter::new("gravity", EARTH, [0.1, 1e3], "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: free_fall,
    },
];

/// Returns a scene without gravity in which impacts of any speed bounce.
fn elastic(lab: &Lab<'_>, name: &str) -> Scene {
    let mut scene = lab.scene(name, 0.0);
    scene.settings.restitution_threshold = Some(0.0);
    scene
}

fn smooth(restitution: f64) -> Shape {
    disc(RADIUS).friction(0.0).restitution(f(restitution))
}

fn moving(x: f64, y: f64, speed: f64) -> Body {
    at(x, y).velocity(f(speed), 0.0)
}

fn kinetic(world: &mut LabWorld) -> Result<f64, LabError> {
    Ok(world.metrics()?.kinetic_energy)
}

fn restitution(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (e, ratio, speed) = (values.get("e"), values.get("ratio"), values.get("speed"));
    let mut scene = elastic(lab, "two discs");
    scene.add(moving(-2.0, 0.0, speed).shape(smooth(e)));
    scene.add(at(0.0, 0.0).shape(smooth(e).density(f(ratio))));
    let mut world = lab.start(&scene)?;
    let mut lines = [Vec::new(), Vec::new()];
    let end = 3.0 / speed;
    while world.time() < end {
        let bodies = world.advance(1)?.bodies(0)?;
        for (line, body) in lines.iter_mut().zip(&bodies) {
            line.push([world.time(), body.velocity.x]);
        }
    }
    let bodies = world.bodies(0)?;
    let impulse = (1.0 + e) * speed * ratio / (1.0 + ratio);
    let law = [speed - impulse, impulse / ratio];
    let mut figure = LawFigure::new("time, s", "velocity, m/s");
    for ((line, law), name) in lines.into_iter().zip(law).zip(["moving disc", "disc at rest"]) {
        figure = figure.expected("", [[0.0, law], [end, law]]).measured(name, line);
    }
    let check =
        |index: usize, what: &str| LawCheck::near(what, "m/s", law[index], bodies[index].velocity.x, 1e-3 * speed);
    Ok(LawFindings { checks: vec![check(0, "moving disc afterwards"), check(1, "disc at rest afterwards")], figure })
}

fn cradle(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (count, gap, speed) = (whole(values.get("discs")), values.get("gap"), values.get("speed"));
    let mut scene = elastic(lab, "cradle");
    scene.add(moving(-1.5, 0.0, speed).shape(smooth(1.0)));
    for index in 0..count - 1 {
        scene.add(at((1.0 + gap) * index as f64, 0.0).shape(smooth(1.0)));
    }
    let mut world = lab.start(&scene)?;
    let bodies = world.run_to((1.5 + gap * count as f64) / speed + 0.5)?.bodies(0)?;
    let law = |index: usize| if index + 1 == count { speed } else { 0.0 };
    let check = |(index, body): (usize, &LabBody)| {
        LawCheck::near(format!("velocity of disc {}", index + 1), "m/s", law(index), body.velocity.x, 0.01 * speed)
    };
    let mut checks: Vec<LawCheck> = bodies.iter().enumerate().map(check).collect();
    checks.reverse();
    Ok(LawFindings {
        checks,
        figure: LawFigure::new("disc", "velocity afterwards, m/s")
            .expected("law", (0..count).map(|index| [index as f64 + 1.0, law(index)]))
            .dots("measured", bodies.iter().enumerate().map(|(index, body)| [index as f64 + 1.0, body.velocity.x])),
    })
}

/// Runs a scene and returns its energy by that of its start, over time, and its last momentum by its first.
fn energy_kept(lab: &Lab<'_>, scene: &Scene, seconds: f64) -> Result<(Vec<[f64; 2]>, f64), LabError> {
    let mut world = lab.start(scene)?;
    let start = world.metrics()?;
    let mut line = vec![[0.0, 1.0]];
    let every = (world.steps_of(seconds) / 100).max(1);
    while world.time() < seconds - 0.5 * world.dt {
        let energy = kinetic(world.advance(every)?)?;
        line.push([world.time(), energy / start.kinetic_energy]);
    }
    Ok((line, world.metrics()?.momentum[0] / start.momentum[0]))
}

fn last(line: &[[f64; 2]]) -> f64 {
    line.last().map_or(f64::NAN, |point| point[1])
}

fn highest(line: &[[f64; 2]]) -> f64 {
    line.iter().map(|point| point[1]).fold(f64::NEG_INFINITY, f64::max)
}

fn one_on_two(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let speed = values.get("speed");
    let mut scene = elastic(lab, "one on two");
    scene.add(moving(-2.0, 0.0, speed).shape(smooth(1.0)));
    for y in [-RADIUS, RADIUS] {
        scene.add(at(0.0, y).shape(smooth(1.0)));
    }
    let (line, momentum) = energy_kept(lab, &scene, 4.0 / speed)?;
    Ok(LawFindings {
        checks: vec![
            LawCheck::near("energy afterwards ÷ before", "", 1.0, last(&line), 1e-3),
            LawCheck::near("momentum afterwards ÷ before", "", 1.0, momentum, 1e-4),
        ],
        figure: energy_figure(&[("measured", line)]),
    })
}

fn energy_figure(lines: &[(&str, Vec<[f64; 2]>)]) -> LawFigure {
    let end = lines.iter().filter_map(|(_, line)| line.last()).map(|point| point[0]).fold(0.0, f64::max);
    let figure = LawFigure::new("time, s", "energy ÷ energy at the start").expected("e = 1", [[0.0, 1.0], [end, 1.0]]);
    lines.iter().fold(figure, |figure, (name, line)| figure.measured(*name, line.iter().copied()))
}

fn break_of_fifteen(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (gap, speed) = (values.get("gap"), values.get("speed"));
    let mut scene = elastic(lab, "break");
    scene.add(moving(-3.0, 0.02, speed).shape(smooth(1.0)));
    for row in 0..5 {
        for place in 0..=row {
            let x = 0.75_f64.sqrt() * (1.0 + gap) * f64::from(row);
            scene.add(at(x, (1.0 + gap) * (f64::from(place) - 0.5 * f64::from(row))).shape(smooth(1.0)));
        }
    }
    let (line, momentum) = energy_kept(lab, &scene, 16.0 / speed)?;
    Ok(LawFindings {
        checks: vec![
            LawCheck::between("energy afterwards ÷ before", "", 1.0, last(&line), [0.99, 1.001]),
            LawCheck::between("highest energy ÷ before", "", 1.0, highest(&line), [0.99, 1.001]),
            LawCheck::near("momentum afterwards ÷ before", "", 1.0, momentum, 1e-4),
        ],
        figure: energy_figure(&[("measured", line)]),
    })
}

/// Returns a gas of `side`² elastic discs in a box, all at 2 m/s, with this area fraction. Each second disc is `ratio`
/// times as heavy.
fn gas_of(lab: &Lab<'_>, side: usize, fraction: f64, ratio: f64) -> Scene {
    let mut scene = elastic(lab, "gas");
    let pitch = (std::f64::consts::PI * RADIUS * RADIUS / fraction).sqrt();
    let half = 0.5 * pitch * side as f64;
    for index in 0..side * side {
        let (column, row) = (index % side, index / side);
        let place = |cell: usize| pitch * (cell as f64 + 0.5) - half;
        // The golden angle: no two directions are alike.
        let velocity = DVec2::from_angle(2.399_963_229_728_653 * index as f64) * 2.0;
        let shape = smooth(1.0).density(if (column + row) % 2 == 1 { f(ratio) } else { 1.0 });
        scene.add(at(place(column), place(row)).velocity(f(velocity.x), f(velocity.y)).shape(shape));
    }
    for (normal, offset) in [([0.0, 1.0], -half), ([0.0, -1.0], -half), ([1.0, 0.0], -half), ([-1.0, 0.0], -half)] {
        let wall = Shape::half_plane(normal, f(offset)).restitution(1.0).friction(0.0);
        scene.add(Body::fixed(0.0, 0.0).shape(wall));
    }
    scene
}

fn gas(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (side, densest) = (whole(values.get("side")), values.get("densest"));
    let (mut checks, mut lines) = (Vec::new(), Vec::new());
    for share in [1.0, 0.25 / 0.44, 0.25] {
        let fraction = share * densest;
        let (line, _) = energy_kept(lab, &gas_of(lab, side, fraction, 1.0), values.get("seconds"))?;
        let what = format!("energy kept at area fraction {fraction:.2}");
        checks.push(LawCheck::between(what, "", 1.0, last(&line), [0.95, 1.001]));
        checks.push(LawCheck::between("highest energy ÷ start", "", 1.0, highest(&line), [0.95, 1.001]));
        lines.push((format!("area fraction {fraction:.2}"), line));
    }
    let lines: Vec<(&str, Vec<[f64; 2]>)> = lines.iter().map(|(name, line)| (name.as_str(), line.clone())).collect();
    Ok(LawFindings { checks, figure: energy_figure(&lines) })
}

fn maxwell(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (side, seconds) = (whole(values.get("side")), values.get("seconds"));
    let mut world = lab.start(&gas_of(lab, side, values.get("fraction"), 1.0))?;
    world.run_to(0.25 * seconds)?;
    let mut squares = Vec::new();
    let every = (world.steps_of(0.75 * seconds) / 60).max(1);
    while world.time() < seconds {
        let mut bodies = world.advance(every)?.bodies(0)?;
        bodies.truncate(side * side);
        squares.extend(bodies.iter().map(|body| body.velocity.length_squared()));
    }
    let count = squares.len() as f64;
    let second = squares.iter().sum::<f64>() / count;
    let fourth = squares.iter().map(|square| square * square).sum::<f64>() / count;
    squares.sort_by(f64::total_cmp);
    let every = (squares.len() / 60).max(1);
    let points = squares.iter().enumerate().step_by(every).map(|(index, square)| [square.sqrt(), index as f64 / count]);
    let law = |speed: f64| 1.0 - (-speed * speed / second).exp();
    let points: Vec<[f64; 2]> = points.collect();
    // Largest distance of the distributions (Kolmogorov 1933).
    let apart = points.iter().map(|point| (point[1] - law(point[0])).abs()).fold(0.0, f64::max);
    Ok(LawFindings {
        checks: vec![
            LawCheck::near("⟨v⁴⟩ ÷ ⟨v²⟩²", "", 2.0, fourth / (second * second), 0.1),
            LawCheck::at_most("largest distance of the distributions", "", apart, 0.02),
        ],
        figure: LawFigure::new("speed, m/s", "share of slower discs")
            .expected("Maxwell", (0..=100).map(|step| 0.06 * f64::from(step)).map(|speed| [speed, law(speed)]))
            .dots("measured", points),
    })
}

fn equipartition(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (side, ratio, seconds) = (whole(values.get("side")), values.get("ratio"), values.get("seconds"));
    let mut world = lab.start(&gas_of(lab, side, values.get("fraction"), ratio))?;
    let (mut sums, mut line) = ([0.0; 2], Vec::new());
    let every = (world.steps_of(seconds) / 200).max(1);
    while world.time() < seconds {
        let bodies = world.advance(every)?.bodies(0)?;
        let mut now = [0.0; 2];
        for (index, body) in bodies.iter().take(side * side).enumerate() {
            let heavy = (index % side + index / side) % 2 == 1;
            now[usize::from(heavy)] += body.velocity.length_squared() * if heavy { ratio } else { 1.0 };
        }
        line.push([world.time(), now[1] / now[0]]);
        if world.time() > 0.4 * seconds {
            sums = [sums[0] + now[0], sums[1] + now[1]];
        }
    }
    // A board of odd side has a light disc more.
    let cells = (side * side) as f64;
    let [light, heavy] = [(0.5 * cells).ceil(), (0.5 * cells).floor()];
    Ok(LawFindings {
        checks: vec![LawCheck::near("energy of heavy ÷ light discs", "", 1.0, sums[1] / sums[0] * light / heavy, 0.1)],
        figure: LawFigure::new("time, s", "energy of heavy ÷ light discs")
            .expected("equipartition", [[0.0, 1.0], [seconds, 1.0]])
            .measured("measured", line),
    })
}

fn oblique(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (e, friction, speed) = (values.get("e"), values.get("friction"), values.get("speed"));
    let law = |angle: f64| {
        let (sin, cos) = angle.to_radians().sin_cos();
        (speed * (sin - friction * (1.0 + e) * cos)).max(2.0 / 3.0 * speed * sin)
    };
    let (mut checks, mut points) = (Vec::new(), Vec::new());
    for angle in [10.0, 25.0, 40.0, 55.0, 70.0, 80.0_f64] {
        let mut scene = elastic(lab, "oblique impact");
        let surface = |shape: Shape| shape.restitution(f(e)).friction(f(friction));
        scene.add(Body::fixed(0.0, 0.0).shape(surface(Shape::half_plane([0.0, 1.0], 0.0))));
        let (sin, cos) = angle.to_radians().sin_cos();
        let ball = at(0.0, RADIUS + 1.0).velocity(f(speed * sin), f(-speed * cos));
        scene.add(ball.shape(surface(disc(RADIUS))));
        let mut world = lab.start(&scene)?;
        let body = world.run_to(1.0 / (speed * cos) + 0.25)?.body(1)?;
        points.push([angle, body.velocity.x]);
        let what = format!("tangential speed at {angle}°");
        checks.push(LawCheck::near(what, "m/s", law(angle), body.velocity.x, 2e-3 * speed));
        checks.push(LawCheck::near("normal speed", "m/s", e * speed * cos, body.velocity.y, 2e-3 * speed));
    }
    Ok(LawFindings {
        checks,
        figure: LawFigure::new("angle from the normal, degrees", "tangential speed afterwards, m/s")
            .expected("law", (0..=89).map(f64::from).map(|angle| [angle, law(angle)]))
            .dots("measured", points),
    })
}

/// Returns a ball that falls, and the heights of its lowest point over time, with the highest of each flight.
fn heights(lab: &Lab<'_>, values: &LawValues, e: f64) -> Result<(Vec<[f64; 2]>, Vec<f64>), LabError> {
    let (height, gravity) = (values.get("height"), values.get("gravity"));
    let mut scene = lab.scene("bouncing ball", gravity);
    scene.settings.restitution_threshold = Some(0.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).restitution(f(e))));
    scene.add(at(0.0, RADIUS + height).shape(disc(RADIUS).restitution(f(e))));
    let mut world = lab.start(&scene)?;
    let (mut line, mut tops) = (vec![[0.0, height]], Vec::new());
    let (mut rising, mut top) = (false, 0.0_f64);
    let wanted = whole(values.get("bounces"));
    let most = 3.0 * (wanted as f64 + 1.0) * (8.0 * height / gravity).sqrt();
    while tops.len() < wanted && world.time() < most {
        let body = world.advance(1)?.body(1)?;
        line.push([world.time(), body.position.y - RADIUS]);
        if body.velocity.y > 0.0 {
            (rising, top) = (true, top.max(body.position.y - RADIUS));
        } else if rising {
            // The highest point between two steps.
            tops.push(top.max(body.position.y - RADIUS));
            (rising, top) = (false, 0.0);
        }
    }
    Ok((line, tops))
}

fn elastic_bounces(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let height = values.get("height");
    let (line, tops) = heights(lab, values, 1.0)?;
    let end = line.last().map_or(0.0, |point| point[0]);
    let bound = 1e-3 * height * values.get("bounces");
    let highest = tops.iter().copied().fold(0.0, f64::max);
    Ok(LawFindings {
        checks: vec![
            LawCheck::near("height of the last bounce", "m", height, tops.last().copied().unwrap_or(0.0), bound),
            LawCheck::near("highest bounce", "m", height, highest, 1e-3 * height),
        ],
        figure: LawFigure::new("time, s", "height, m")
            .expected("height of fall", [[0.0, height], [end, height]])
            .measured("measured", line),
    })
}

fn bounces(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (e, height, gravity) = (values.get("e"), values.get("height"), values.get("gravity"));
    let (line, tops) = heights(lab, values, e)?;
    let law = |bounce: usize| height * e.powf(2.0 * (bounce as f64 + 1.0));
    let check = |bounce: usize| {
        let top = tops.get(bounce).copied().unwrap_or(f64::NAN);
        LawCheck::share(format!("height of bounce {}", bounce + 1), "m", law(bounce), top, 0.02)
    };
    let bounces = whole(values.get("bounces"));
    // Highest points of the ideal ball: after the fall, half flights of e, e², ….
    let fall = (2.0 * height / gravity).sqrt();
    let mut now = fall;
    let mut ideal = vec![[0.0, height]];
    for bounce in 0..bounces {
        let flight = fall * e.powf(bounce as f64 + 1.0);
        ideal.push([now + flight, law(bounce)]);
        now += 2.0 * flight;
    }
    Ok(LawFindings {
        checks: (0..bounces).map(check).collect(),
        figure: LawFigure::new("time, s", "height, m")
            .measured("measured", line)
            .dots("highest points of the law", ideal),
    })
}

fn dead_impact(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let speed = values.get("speed");
    let mut scene = lab.scene("dead impact", EARTH);
    scene.add(floor(0.6));
    scene.add(at(0.0, 1.0).velocity(0.0, f(-speed)).shape(brick(1.0, 1.0)));
    let mut world = lab.start(&scene)?;
    let mut line = Vec::new();
    while world.time() < 0.5 / speed + 0.5 {
        let velocity = world.advance(1)?.body(1)?.velocity.y;
        line.push([world.time(), velocity / speed]);
    }
    let rebound = highest(&line).max(0.0);
    Ok(LawFindings {
        checks: vec![LawCheck::at_most("rebound by the speed", "", rebound, 5e-4)],
        figure: LawFigure::new("time, s", "velocity by the speed of the impact")
            .expected("rest", [[0.0, 0.0], [0.5 / speed + 0.5, 0.0]])
            .measured("measured", line),
    })
}

fn impact_depth(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (speed, radius) = (values.get("speed"), values.get("radius"));
    let (mut deepest, mut points) = (0.0_f64, Vec::new());
    // Steps find the ball at other heights: ten of them.
    for phase in 0..10 {
        let mut scene = lab.scene("impact depth", 0.0);
        scene.add(floor(0.6));
        let gap = 0.5 * radius + speed * lab.dt * f64::from(phase) / 10.0;
        scene.add(at(0.0, radius + gap).velocity(0.0, f(-speed)).shape(disc(radius)));
        let mut world = lab.start(&scene)?;
        let mut depth = 0.0_f64;
        for _ in 0..world.steps_of(2.0 * gap / speed).max(1) + 10 {
            depth = depth.max((radius - world.advance(1)?.body(1)?.position.y) / radius);
        }
        deepest = deepest.max(depth);
        points.push([f64::from(phase) / 10.0, 100.0 * depth]);
    }
    Ok(LawFindings {
        checks: vec![LawCheck::at_most("deepest point by the radius", "", deepest, 0.02)],
        figure: LawFigure::new("time of the touch, steps", "depth, % of the radius")
            .expected("bound", [[0.0, 2.0], [1.0, 2.0]])
            .dots("measured", points),
    })
}

fn line_of_centres(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (offset, speed, e) = (values.get("offset"), values.get("speed"), values.get("e"));
    let mut scene = lab.scene("line of centres", 0.0);
    if e > 0.0 {
        scene.settings.restitution_threshold = Some(0.0);
    }
    scene.add(moving(-2.0, offset, speed).shape(smooth(e)));
    scene.add(at(0.0, 0.0).shape(smooth(e)));
    let mut world = lab.start(&scene)?;
    let mut paths = [Vec::new(), Vec::new()];
    while world.time() < 4.0 / speed {
        let bodies = world.advance(1)?.bodies(0)?;
        for (path, body) in paths.iter_mut().zip(&bodies) {
            path.push(body.position.into());
        }
    }
    let velocity = world.body(1)?.velocity;
    let (law, direction) = (-offset.asin(), velocity.to_angle());
    let along = DVec2::from_angle(law);
    let struck = 0.5 * (1.0 + e) * speed * law.cos();
    let [first, second] = paths;
    Ok(LawFindings {
        checks: vec![
            LawCheck::near("direction", "rad", law, direction, 5e-4),
            LawCheck::share("speed of the struck disc", "m/s", struck, velocity.length(), 5e-3),
        ],
        figure: LawFigure::new("x, m", "y, m")
            .expected("line of centres", [(-along * 0.5).into(), (along * 2.0).into()])
            .measured("moving disc", first)
            .measured("struck disc", second)
            .with_equal_scales(),
    })
}

fn sliding_stop(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (friction, speed, gravity) = (values.get("friction"), values.get("speed"), values.get("gravity"));
    let law = speed * speed / (2.0 * friction * gravity);
    let time = speed / (friction * gravity);
    let mut scene = lab.scene("sliding stop", gravity);
    scene.add(floor(friction));
    scene.add(moving(0.0, 0.2, speed).shape(brick(2.0, 0.4).friction(f(friction))));
    let mut world = lab.start(&scene)?;
    let mut line = vec![[0.0, 0.0]];
    while world.time() < 1.3 * time + 0.2 {
        let body = world.advance(1)?.body(1)?;
        line.push([world.time(), body.position.x]);
    }
    let ideal = (0..=50).map(|step| time * f64::from(step) / 50.0);
    let ideal = ideal.map(|now| [now, speed * now - 0.5 * friction * gravity * now * now]).chain([[1.3 * time, law]]);
    let stopped = last(&line);
    Ok(LawFindings {
        checks: vec![LawCheck::share("distance", "m", law, stopped, 0.02)],
        figure: LawFigure::new("time, s", "distance, m").expected("law", ideal).measured("measured", line),
    })
}

fn free_fall(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (speed, gravity) = (values.get("speed"), values.get("gravity"));
    let (sin, cos) = values.get("angle").to_radians().sin_cos();
    let law = 2.0 * speed * speed * sin * cos / gravity;
    let mut scene = lab.scene("throw", gravity);
    scene.add(at(0.0, 0.0).velocity(f(speed * cos), f(speed * sin)).shape(disc(0.1)));
    let mut world = lab.start(&scene)?;
    let mut path = vec![[0.0, 0.0]];
    let mut range = f64::NAN;
    while world.time() < 3.0 * speed * sin / gravity {
        let [before_x, before_y]: [f64; 2] = path[path.len() - 1];
        let DVec2 { x, y } = world.advance(1)?.body(0)?.position;
        path.push([x, y]);
        if y < 0.0 {
            range = before_x + (x - before_x) * before_y / (before_y - y);
            break;
        }
    }
    let ideal = (0..=60).map(|step| law * f64::from(step) / 60.0);
    let ideal = ideal.map(|x| [x, x * sin / cos - 0.5 * gravity * (x / (speed * cos)).powi(2)]);
    Ok(LawFindings {
        checks: vec![LawCheck::share("range", "m", law, range, 0.005)],
        figure: LawFigure::new("x, m", "y, m").expected("parabola", ideal).measured("measured", path),
    })
}
