//! Bodies at rest: loads, friction, toppling, arches, and the same at every size.

use drystone::{Body, Shape};
use glam::DVec2;

use super::{EARTH, FRICTION, GRAVITY, SOFT_CONTACTS, widen};
use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::law::{Disturbance, Law, LawFindings, LawParameter, LawValues};
use crate::world::{Lab, LabBody, LabError, LabWorld, at, brick, f, floor, last_that_holds, point, whole};

const GRAVITY_RANGE: [f64; 2] = [1e-3, 1e4];

/// Share of a body's size by which bodies at rest may overlap: the slop that the settings document.
const SLOP: f64 = 0.0051;

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "column",
        group: "statics",
        statement: "Rigid boxes in a column do not give way under any load",
        source: "Euler 1765, rigid bodies",
        parameters: &[
            LawParameter::count("boxes", 20.0, [1.0, 200.0], "boxes on each other"),
            LawParameter::new("size", 1.0, [1e-3, 1e3], "side of a box, m"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 15.0, [0.1, 600.0], "time to come to rest, s"),
        ],
        quick: Some(&[]),
        disturbance: SOFT_CONTACTS,
        measure: column,
    },
    Law {
        name: "weight",
        group: "statics",
        statement: "Each contact of a column carries the weight above it",
        source: "Newton 1687, third law",
        parameters: &[
            LawParameter::count("boxes", 10.0, [1.0, 100.0], "boxes on each other"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 15.0, [0.1, 600.0], "time to come to rest, s"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: weight,
    },
    Law {
        name: "friction_angle",
        group: "statics",
        statement: "A block on a slope holds up to tan θ = μ",
        source: "Coulomb 1785",
        parameters: &[
            LawParameter::new("friction", 0.5, [0.02, 3.0], "coefficient of friction"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: FRICTION,
        measure: friction_angle,
    },
    Law {
        name: "incline",
        group: "statics",
        statement: "A sliding block accelerates at g (sin θ − μ cos θ)",
        source: "Coulomb 1785",
        parameters: &[
            LawParameter::new("angle", 30.0, [0.0, 85.0], "slope, degrees"),
            LawParameter::new("friction", 0.3, [0.0, 3.0], "coefficient of friction"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: GRAVITY,
        measure: incline,
    },
    Law {
        name: "topple",
        group: "statics",
        statement: "A block on a rough slope topples at tan θ = width ÷ height",
        source: "Hibbeler, Statics, 14th ed. 2016, ch. 8",
        parameters: &[
            LawParameter::new("width", 0.5, [0.1, 2.0], "width of a block that is 1 m high, m"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance { what: "block 5 % wider", apply: |scene| widen(scene, 1.05) },
        measure: topple,
    },
    Law {
        name: "ladder",
        group: "statics",
        statement: "A ladder slips below the angle at which both ends are at their limit of friction",
        source: "Hibbeler, Statics, 14th ed. 2016, ch. 8",
        parameters: &[
            LawParameter::new("floor", 0.5, [0.1, 1.5], "friction on the floor"),
            LawParameter::new("wall", 0.3, [0.0, 1.5], "friction on the wall"),
            LawParameter::new("length", 4.0, [0.5, 40.0], "length, m"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
        ],
        quick: Some(&[]),
        disturbance: FRICTION,
        measure: ladder,
    },
    Law {
        name: "overhang",
        group: "statics",
        statement: "Blocks overhang a table by the harmonic series, L/2 (1 + 1/2 + … + 1/n)",
        source: "Hall 2005, Am. J. Phys. 73:1107",
        parameters: &[
            LawParameter::count("blocks", 12.0, [1.0, 40.0], "blocks"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 6.0, [1.0, 60.0], "time that it must stand, s"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "block on top 20 % heavier",
            apply: |scene| {
                if let Some(shape) = scene.bodies.last_mut().and_then(|body| body.shapes.last_mut()) {
                    shape.density *= 1.2;
                }
            },
        },
        measure: overhang,
    },
    Law {
        name: "arch",
        group: "statics",
        statement: "A semicircular arch stands from a thickness of 0.1075 radii on",
        source: "Milankovitch 1907; Heyman 1969, Int. J. Solids Struct. 5:241",
        parameters: &[
            LawParameter::new("radius", 1.0, [0.1, 1000.0], "mean radius, m"),
            LawParameter::count("stones", 25.0, [7.0, 61.0], "stones"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 10.0, [1.0, 60.0], "time that it must stand, times √(radius / 1 m), s"),
        ],
        quick: Some(&[]),
        disturbance: Disturbance {
            what: "gravity 10 % aslant",
            apply: |scene| scene.gravity.x = 0.1 * scene.gravity.y,
        },
        measure: arch,
    },
    Law {
        name: "mass_ratio_300",
        group: "statics",
        statement: "A light box carries one that is 300 times as heavy without giving way",
        source: "Euler 1765, rigid bodies",
        parameters: &[
            LawParameter::new("ratio", 300.0, [1.0, 1e5], "mass of the upper box by that of the lower"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 15.0, [0.1, 600.0], "time to come to rest, s"),
        ],
        quick: Some(&[]),
        disturbance: SOFT_CONTACTS,
        measure: mass_ratio,
    },
    Law {
        name: "mass_ratio_1000",
        group: "statics",
        statement: "A light box carries one that is 1000 times as heavy without giving way",
        source: "Euler 1765, rigid bodies",
        parameters: &[
            LawParameter::new("ratio", 1000.0, [1.0, 1e5], "mass of the upper box by that of the lower"),
            LawParameter::new("gravity", EARTH, GRAVITY_RANGE, "gravity, m/s²"),
            LawParameter::new("seconds", 15.0, [0.1, 600.0], "time to come to rest, s"),
        ],
        quick: Some(&[]),
        disturbance: SOFT_CONTACTS,
        measure: mass_ratio,
    },
    Law {
        name: "sizes",
        group: "statics",
        statement: "Stacks of 1 cm to 100 m look alike in their own units",
        source: "Froude 1874, similarity",
        parameters: &[
            LawParameter::count("boxes", 10.0, [1.0, 50.0], "boxes on each other"),
            LawParameter::new("factor", 100.0, [1.0, 1e4], "largest and smallest box by one of 1 m"),
        ],
        quick: Some(&[]),
        disturbance: SOFT_CONTACTS,
        measure: sizes,
    },
    Law {
        name: "gravities",
        group: "statics",
        statement: "Stacks under 0.01 to 100 g look alike in their own units",
        source: "Froude 1874, similarity",
        parameters: &[
            LawParameter::count("boxes", 10.0, [1.0, 50.0], "boxes on each other"),
            LawParameter::new("factor", 100.0, [1.0, 1e4], "largest and smallest gravity by that of the earth"),
        ],
        quick: Some(&[]),
        disturbance: SOFT_CONTACTS,
        measure: gravities,
    },
];

/// Starts a stack of boxes of this size; box 0 is the ground.
fn stack(lab: &Lab<'_>, boxes: usize, size: f64, gravity: f64) -> Result<LabWorld, LabError> {
    let mut scene = lab.scene("column", gravity);
    scene.add(floor(0.6));
    for row in 0..boxes {
        scene.add(at(0.0, size * (row as f64 + 0.5)).shape(brick(size, size)));
    }
    lab.start(&scene)
}

/// Returns the overlap of each box with the one below it, in sizes of a box.
fn overlaps(world: &mut LabWorld, size: f64) -> Result<Vec<f64>, LabError> {
    let mut below = -0.5;
    let overlap = |body: &LabBody| {
        let height = body.position.y / size;
        let overlap = 1.0 - (height - below);
        below = height;
        overlap
    };
    Ok(world.bodies(1)?.iter().map(overlap).collect())
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn column(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (boxes, size) = (whole(values.get("boxes")), values.get("size"));
    let mut world = stack(lab, boxes, size, values.get("gravity"))?;
    let overlaps = overlaps(world.run_to(values.get("seconds"))?, size)?;
    let load = |index: usize| (boxes - index) as f64;
    let points = overlaps.iter().enumerate().map(|(index, overlap)| [load(index), 100.0 * overlap]);
    Ok(LawFindings {
        checks: vec![LawCheck::at_most("deepest overlap by the size", "", largest(&overlaps), SLOP)],
        figure: LawFigure::new("load, weights of a box", "overlap, % of a box")
            .expected("slop", [[1.0, 0.5], [boxes as f64, 0.5]])
            .dots("measured", points),
    })
}

fn weight(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (boxes, gravity) = (whole(values.get("boxes")), values.get("gravity"));
    let mut world = stack(lab, boxes, 1.0, gravity)?;
    let mut forces = vec![0.0; boxes];
    for contact in world.run_to(values.get("seconds"))?.contacts()? {
        let upper = contact.bodies[0].max(contact.bodies[1]) as usize;
        forces[upper - 1] += f64::from(contact.force[1]).abs();
    }
    // Boxes of 1 kg.
    let law = |index: usize| (boxes - index) as f64 * gravity;
    let worst = |index: &usize| (forces[*index] / law(*index) - 1.0).abs();
    let index = (0..boxes).max_by(|a, b| worst(a).total_cmp(&worst(b))).unwrap_or(0);
    Ok(LawFindings {
        checks: vec![
            LawCheck::share("force on the ground", "N", law(0), forces[0], 0.01),
            LawCheck::share("force that is farthest off", "N", law(index), forces[index], 0.01),
        ],
        figure: LawFigure::new("boxes above the contact", "force, N")
            .expected("weight", [[0.0, 0.0], [boxes as f64, law(0)]])
            .dots("measured", (0..boxes).map(|index| [(boxes - index) as f64, forces[index]])),
    })
}

/// Starts a block on a floor under gravity that is tilted by an angle, which is a slope.
fn on_slope(
    lab: &Lab<'_>,
    angle: f64,
    gravity: f64,
    friction: f64,
    shape: Shape,
    y: f64,
) -> Result<LabWorld, LabError> {
    let (sin, cos) = angle.sin_cos();
    let mut scene = lab.scene_along("slope", gravity * sin, -gravity * cos);
    scene.add(floor(friction));
    scene.add(at(0.0, y).shape(shape.friction(f(friction))));
    lab.start(&scene)
}

fn friction_angle(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (friction, gravity) = (values.get("friction"), values.get("gravity"));
    let law = friction.atan();
    // Times and speeds follow gravity, so that the block is seen to slide under a weak one too.
    let unit = (EARTH / gravity).sqrt();
    let mut tried = Vec::new();
    let measured = last_that_holds([0.6 * law, (1.5 * law).min(1.5)], 14, |angle| {
        let mut world = on_slope(lab, angle, gravity, friction, brick(2.0, 0.4), 0.2)?;
        let speed = world.run_to(3.0 * unit)?.body(1)?.velocity.x;
        tried.push([angle.to_degrees(), speed]);
        Ok(speed < 0.01 / unit)
    })?;
    tried.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (last, top) = (tried[tried.len() - 1], law.to_degrees());
    Ok(LawFindings {
        checks: vec![LawCheck::near("angle", "°", law.to_degrees(), measured.to_degrees(), 0.1)],
        figure: LawFigure::new("slope, degrees", "speed after 3 s, m/s")
            .expected("μ", [[tried[0][0], 0.0], [top, 0.0], last])
            .dots("measured", tried),
    })
}

fn incline(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (friction, gravity) = (values.get("friction"), values.get("gravity"));
    let angle = values.get("angle").to_radians();
    let law = (gravity * (angle.sin() - friction * angle.cos())).max(0.0);
    let mut world = on_slope(lab, angle, gravity, friction, brick(2.0, 0.4), 0.2)?;
    let mut line = Vec::new();
    let mut speed_at = |seconds: f64| -> Result<f64, LabError> {
        while world.time() < seconds - 0.5 * world.dt {
            let body = world.advance(1)?.body(1)?;
            line.push([world.time(), body.velocity.x]);
        }
        Ok(world.body(1)?.velocity.x)
    };
    let speeds = [speed_at(0.5)?, speed_at(1.5)?];
    Ok(LawFindings {
        checks: vec![LawCheck::near(
            "acceleration",
            "m/s²",
            law,
            speeds[1] - speeds[0],
            0.005 * law.max(0.2 * gravity),
        )],
        figure: LawFigure::new("time, s", "speed, m/s")
            .expected("law", [[0.0, 0.0], [1.5, 1.5 * law]])
            .measured("measured", line),
    })
}

fn topple(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (width, gravity) = (values.get("width"), values.get("gravity"));
    let law = width.atan();
    let unit = (EARTH / gravity).sqrt();
    let mut tried = Vec::new();
    let measured = last_that_holds([0.7 * law, 1.3 * law], 12, |angle| {
        let mut world = on_slope(lab, angle, gravity, 5.0, brick(width, 1.0), 0.5)?;
        let turned = world.run_to(5.0 * unit)?.body(1)?.angle.abs();
        tried.push([angle.to_degrees(), turned.to_degrees()]);
        Ok(turned < 0.05)
    })?;
    let (measured, law) = (measured.to_degrees(), law.to_degrees());
    Ok(LawFindings {
        checks: vec![LawCheck::near("angle", "°", law, measured, 0.15)],
        figure: LawFigure::new("slope, degrees", "turned after 5 s, degrees")
            .expected("width ÷ height", [[0.7 * law, 0.0], [law, 0.0], [law, 90.0], [1.3 * law, 90.0]])
            .dots("measured", tried),
    })
}

/// Radius of a ladder's ends, m.
const LADDER_RADIUS: f64 = 0.02;

/// Returns the least angle of a ladder: `N₂ = μ₁ N₁`, `N₁ + μ₂ N₂ = W`, and the moments about its foot vanish.
fn ladder_angle(floor: f64, wall: f64, length: f64) -> f64 {
    let moment = |angle: f64| {
        let (sin, cos) = angle.sin_cos();
        let normal = floor / (1.0 + floor * wall);
        0.5 * length * cos - normal * (LADDER_RADIUS + length * sin) - wall * normal * (length * cos + LADDER_RADIUS)
    };
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if moment(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

fn ladder(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (on_floor, on_wall) = (values.get("floor"), values.get("wall"));
    let (length, gravity) = (values.get("length"), values.get("gravity"));
    let law = ladder_angle(on_floor, on_wall, length);
    let unit = (EARTH / gravity).sqrt();
    let mut tried = Vec::new();
    let slips_above = last_that_holds([1.4 * law, 0.6 * law], 13, |angle| {
        let (sin, cos) = angle.sin_cos();
        let mut scene = lab.scene("ladder", gravity);
        // Coefficients are mixed by the root of their product.
        scene.add(floor(on_floor * on_floor));
        let side = length * cos + LADDER_RADIUS;
        let wall = Shape::half_plane([-1.0, 0.0], f(-side)).friction(f(on_wall * on_wall));
        scene.add(Body::fixed(0.0, 0.0).shape(wall));
        let half = f(0.5 * length);
        let shape = Shape::capsule([-half, 0.0], [half, 0.0], f(LADDER_RADIUS)).friction(1.0);
        let ladder = at(0.5 * length * cos, LADDER_RADIUS + 0.5 * length * sin).angle(f(angle));
        scene.add(ladder.shape(shape));
        let mut world = lab.start(&scene)?;
        let start = world.body(2)?.position;
        let moved = (world.run_to(3.0 * unit)?.body(2)?.position - start).length();
        tried.push([angle.to_degrees(), moved]);
        Ok(moved < 5e-3 * length)
    })?;
    tried.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (law, measured) = (law.to_degrees(), slips_above.to_degrees());
    let most = largest(&tried.iter().map(|point| point[1]).collect::<Vec<_>>());
    Ok(LawFindings {
        checks: vec![LawCheck::near("least angle", "°", law, measured, 0.1)],
        figure: LawFigure::new("angle of the ladder, degrees", "slipped in 3 s, m")
            .expected("law", [[law, 0.0], [law, most]])
            .dots("measured", tried),
    })
}

fn overhang(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    const LENGTH: f64 = 2.0;
    const HEIGHT: f64 = 0.5;
    let (blocks, gravity) = (whole(values.get("blocks")), values.get("gravity"));
    let harmonic: f64 = (1..=blocks).map(|index| 0.5 * LENGTH / index as f64).sum();
    let unit = (EARTH / gravity).sqrt();
    let mut held: Vec<LabBody> = Vec::new();
    let share = last_that_holds([0.5, 1.2], 10, |share| {
        let mut scene = lab.scene("overhang", gravity);
        scene.add(Body::fixed(-10.0, -0.5).shape(Shape::half_box(10.0, 0.5).friction(1.0)));
        let mut edge = 0.0;
        for row in 0..blocks {
            edge += share * 0.5 * LENGTH / (blocks - row) as f64;
            let body = at(edge - 0.5 * LENGTH, HEIGHT * (row as f64 + 0.5));
            scene.add(body.shape(brick(LENGTH, HEIGHT).friction(1.0)));
        }
        let mut world = lab.start(&scene)?;
        let bodies = world.run_to(values.get("seconds") * unit)?.bodies(1)?;
        let stands = bodies.iter().enumerate().all(|(row, body)| {
            body.angle.abs() < 0.1 && (body.position.y - HEIGHT * (row as f64 + 0.5)).abs() < 0.5 * HEIGHT
        });
        if stands {
            held = bodies;
        }
        Ok(stands)
    })?;
    let mut figure = LawFigure::new("distance from the edge, m", "height, m").with_equal_scales();
    figure = figure.expected("harmonic series", [[harmonic, 0.0], [harmonic, HEIGHT * blocks as f64]]);
    let outlines = held.iter().flat_map(|body| outline(body, 0.5 * LENGTH, 0.5 * HEIGHT));
    figure = figure.measured("as far as it stands", outlines);
    Ok(LawFindings { checks: vec![LawCheck::near("overhang by the harmonic one", "", 1.0, share, 0.02)], figure })
}

/// Returns the outline of a box, beginning and ending at its middle, so that several can be joined.
fn outline(body: &LabBody, half_width: f64, half_height: f64) -> Vec<[f64; 2]> {
    let turn = DVec2::from_angle(body.angle);
    let corners = [[0.0, -1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [0.0, -1.0], [0.0, 1.0]];
    let place = |[x, y]: [f64; 2]| (body.position + turn.rotate(DVec2::new(x * half_width, y * half_height))).into();
    corners.map(place).to_vec()
}

fn arch(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let (radius, stones, gravity) = (values.get("radius"), whole(values.get("stones")), values.get("gravity"));
    let unit = (radius * EARTH / gravity).sqrt();
    let mut tried = Vec::new();
    let falls_below = last_that_holds([0.25, 0.05], 9, |share| {
        let mut scene = lab.scene("arch", gravity);
        scene.add(floor(4.0));
        let [inner, outer] = [-0.5, 0.5].map(|side| radius * (1.0 + side * share));
        let along = |stone: usize| std::f64::consts::PI * stone as f64 / stones as f64;
        for stone in 0..stones {
            let middle = DVec2::from_angle(0.5 * (along(stone) + along(stone + 1))) * radius;
            let corner = |r: f64, angle: f64| {
                let corner = DVec2::from_angle(angle) * r - middle;
                point(corner.x, corner.y)
            };
            let (a, b) = (along(stone), along(stone + 1));
            let corners = [corner(inner, a), corner(outer, a), corner(outer, b), corner(inner, b)];
            scene.add(at(middle.x, middle.y).shape(Shape::polygon(corners).friction(4.0)));
        }
        let crown = stones / 2 + 1;
        let mut world = lab.start(&scene)?;
        let start = world.body(crown)?.position.y;
        let sunk = (start - world.run_to(values.get("seconds") * unit)?.body(crown)?.position.y) / radius;
        tried.push([share, sunk]);
        Ok(sunk < 0.05)
    })?;
    Ok(LawFindings {
        checks: vec![LawCheck::share("least thickness by the radius", "", 0.1075, falls_below, 0.03)],
        figure: LawFigure::new("thickness by the radius", "crown has sunk, radii")
            .expected("law", [[0.1075, 0.0], [0.1075, 1.0]])
            .dots("measured", tried),
    })
}

fn mass_ratio(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let ratio = values.get("ratio");
    let mut scene = lab.scene("mass ratio", values.get("gravity"));
    scene.add(floor(0.6));
    scene.add(at(0.0, 0.5).shape(brick(1.0, 1.0)));
    scene.add(at(0.0, 1.5).shape(brick(1.0, 1.0).density(f(ratio))));
    let mut world = lab.start(&scene)?;
    let mut lines = [Vec::new(), Vec::new()];
    let steps = world.steps_of(values.get("seconds"));
    let every = (steps / 200).max(1);
    while world.time() < values.get("seconds") - 0.5 * world.dt {
        let overlaps = overlaps(world.advance(every)?, 1.0)?;
        for (line, overlap) in lines.iter_mut().zip(overlaps) {
            line.push([world.time(), 1e3 * overlap]);
        }
    }
    let overlaps = overlaps(&mut world, 1.0)?;
    let [below, above] = lines;
    Ok(LawFindings {
        checks: vec![LawCheck::at_most("deepest overlap by the size", "", largest(&overlaps), SLOP)],
        figure: LawFigure::new("time, s", "overlap, mm")
            .expected("slop", [[0.0, 5.0], [values.get("seconds"), 5.0]])
            .measured("light box and ground", below)
            .measured("heavy and light box", above),
    })
}

/// Measures stacks of these sizes, m, under these gravities, m/s², for five units of time each, in steps of the same
/// share of it.
fn alike(lab: &Lab<'_>, boxes: usize, cases: &[[f64; 2]], axis: &str, of: usize) -> Result<LawFindings, LabError> {
    let (mut checks, mut points) = (Vec::new(), Vec::new());
    for &case in cases {
        let [size, gravity] = case;
        let unit = (size * EARTH / gravity).sqrt();
        let lab = lab.with_dt(lab.dt * unit);
        let mut world = stack(&lab, boxes, size, gravity)?;
        let overlaps = overlaps(world.run_to(10.0 * unit)?, size)?;
        let what = format!("{} {}: overlap by the size", crate::check::short(case[of]), ["m", "m/s²"][of]);
        points.push([case[of], 100.0 * largest(&overlaps)]);
        checks.push(LawCheck::at_most(what, "", largest(&overlaps), 0.01));
    }
    let ends = [cases[0][of], cases[cases.len() - 1][of]];
    Ok(LawFindings {
        checks,
        figure: LawFigure::new(axis, "deepest overlap, % of a box")
            .logarithmic(true, false)
            .expected("bound", ends.map(|end| [end, 1.0]))
            .dots("measured", points),
    })
}

/// Returns five factors from `1 / factor` to `factor`.
fn factors(factor: f64) -> [f64; 5] {
    [-1.0, -0.5, 0.0, 0.5, 1.0].map(|power| factor.powf(power))
}

fn sizes(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let cases = factors(values.get("factor")).map(|factor| [factor, EARTH]);
    alike(lab, whole(values.get("boxes")), &cases, "side of a box, m", 0)
}

fn gravities(lab: &Lab<'_>, values: &LawValues) -> Result<LawFindings, LabError> {
    let cases = factors(values.get("factor")).map(|factor| [1.0, factor * EARTH]);
    alike(lab, whole(values.get("boxes")), &cases, "gravity, m/s²", 1)
}
