//! Momentum and angular momentum of closed systems, and drag.

use drystone::{Scene, Shape};

use super::DRAG;
use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::law::{Disturbance, Law, LawFindings, LawParameter, LawValues};
use crate::world::{Lab, LabError, at, brick, disc, f, whole};

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "momentum",
        group: "conservation",
        statement: "Bodies that collide keep their momentum",
        source: "Newton 1687, corollary 3",
        parameters: PARAMETERS,
        quick: Some(&[]),
        disturbance: DRAG,
        measure: momentum,
    },
    Law {
        name: "angular_momentum",
        group: "conservation",
        statement: "Bodies that collide keep their angular momentum",
        source: "Euler 1746; Landau & Lifshitz, Mechanics, 3rd ed. 1976, §9",
        parameters: PARAMETERS,
        quick: Some(&[]),
        disturbance: DRAG,
        measure: angular_momentum,
    },
    Law {
        name: "drag",
        group: "conservation",
        statement: "Drag takes speed by exp(−c t)",
        source: "Newton 1687, book 2, proposition 2",
        parameters: &[
            LawParameter::new("drag", 0.5, [0.01, 10.0], "coefficient, 1/s"),
            LawParameter::new("seconds", 3.0, [0.5, 30.0], "time, s"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "drag 5 % stronger",
            apply: |scene| scene.bodies.iter_mut().for_each(|body| body.linear_damping *= 1.05),
        },
        measure: drag,
    },
];

const PARAMETERS: &[LawParameter] = &[
    LawParameter::count("side", 6.0, [2.0, 20.0], "root of the number of bodies of each of two clouds"),
    LawParameter::new("e", 0.5, [0.0, 1.0], "restitution"),
    LawParameter::new("seconds", 5.0, [1.0, 60.0], "time, s"),
];

/// Returns two clouds of boxes and discs with friction that fly into each other; the left one is heavier.
fn clouds(lab: &Lab<'_>, side: usize, e: f64) -> Scene {
    let mut scene = lab.scene("clouds", 0.0);
    let shape = |odd: bool| if odd { brick(1.0, 0.8) } else { disc(0.5) };
    let width = 1.3 * side as f64;
    for column in 0..side {
        for row in 0..side {
            let (x, y) = (1.3 * column as f64, 1.3 * row as f64 + 0.1 * column as f64);
            let surface = |shape: Shape| shape.restitution(f(e));
            let left = surface(shape((column + row) % 2 == 0).density(3.0));
            scene.add(at(x - width - 1.0, y).velocity(4.0, 0.3).angular_velocity(1.0).shape(left));
            let right = surface(shape(column % 2 == 0));
            scene.add(at(x + 1.0, y + 0.4).velocity(-3.0, 0.0).angular_velocity(-2.0).shape(right));
        }
    }
    scene
}

fn momentum(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    conserved(lab, values, 1e-4, "momentum", |metrics| metrics.momentum[0])
}

fn angular_momentum(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    conserved(lab, values, 5e-3, "angular momentum", |metrics| metrics.angular_momentum)
}

fn conserved(
    lab: &Lab<'_>,
    values: &LawValues,
    bound: f64,
    what: &str,
    of: impl Fn(&drystone::low_level::state::Metrics) -> f64,
) -> Result<LawFindings, LabError> {
    let seconds = values.get("seconds");
    let mut world = lab.start(&clouds(lab, whole(values.get("side")), values.get("e")))?;
    let first = world.metrics()?;
    let (mut line, mut energy) = (vec![[0.0, 1.0]], vec![[0.0, 1.0]]);
    let every = (world.steps_of(seconds) / 100).max(1);
    while world.time() < seconds - 0.5 * world.dt {
        let now = world.advance(every)?.metrics()?;
        line.push([world.time(), of(&now) / of(&first)]);
        energy.push([world.time(), now.kinetic_energy / first.kinetic_energy]);
    }
    let measured = line[line.len() - 1][1];
    Ok(LawFindings {
        checks: vec![LawCheck::near(format!("{what} ÷ start"), "", 1.0, measured, bound)],
        figure: LawFigure::new("time, s", "share of the start")
            .expected("law", [[0.0, 1.0], [seconds, 1.0]])
            .measured(what, line)
            .measured("energy, which impacts take", energy),
    })
}

fn drag(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (drag, seconds) = (values.get("drag"), values.get("seconds"));
    let mut scene = lab.scene("drag", 0.0);
    scene.add(at(0.0, 0.0).velocity(10.0, 0.0).damping(f(drag), 0.0).shape(disc(0.5)));
    let mut world = lab.start(&scene)?;
    let mut line = vec![[0.0, 10.0]];
    while world.time() < seconds - 0.5 * world.dt {
        let speed = world.advance(1)?.body(0)?.velocity.x;
        line.push([world.time(), speed]);
    }
    let law = |time: f64| 10.0 * (-drag * time).exp();
    let times = (0..=60).map(|step| seconds * f64::from(step) / 60.0);
    let end = line[line.len() - 1];
    Ok(LawFindings {
        checks: vec![LawCheck::share("speed at the end", "m/s", law(end[0]), end[1], 0.005)],
        figure: LawFigure::new("time, s", "speed, m/s")
            .expected("law", times.map(|time| [time, law(time)]))
            .measured("measured", line),
    })
}
