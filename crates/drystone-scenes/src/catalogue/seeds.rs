//! The tutorials on which this project is based: the scene for each of their ideas, and the files that compute and test
//! it. Scenes are names of the [catalogue](super); files are relative to `src` and `tests` of the solver, except
//! `catalogue.rs`, a test of this crate.
//!
//! **Small 2D physics engine** (XMAMan, SmallSI):
//!
//! | section | scene | in `src` | in `tests` |
//! |---|---|---|---|
//! | A single box; a thruster | `thruster` | `stages/integrate_velocities.rs` | `physics/bodies.rs` |
//! | Collision detection | `small_si` | `stages/collide.rs` | `twins.rs` |
//! | Derivation of the constraint impulse | `small_si`, `slope` | `stages/prepare.rs` | `physics/motion.rs` |
//! | Using the constraint impulse in code | `bouncing_ball`, `slope` | `stages/solve.rs` | `physics/impacts.rs` |
//! | Accumulated impulse, warm start | `vertical_stack` | `stages/warm_start.rs` | `physics/modes.rs` |
//! | Position correction | `overlap_recovery` | `stages/project.rs` | `physics/modes.rs` |
//! | Note on gravity | `circle_stack` | `stages/integrate_velocities.rs` | `physics/rest.rs` |
//! | The TimeStep method | `small_si` | `step.rs`, `cpu.rs` | `determinism.rs` |
//!
//! **Understanding Constraint Solver in Physics Engine** (Kevin):
//!
//! | section | scene | in `src` | in `tests` |
//! |---|---|---|---|
//! | Penetration constraint, Lagrangian multiplier | `vertical_stack` | `stages/prepare.rs` | `physics/rest.rs` |
//! | Baumgarte stabilization | `small_si`, `overlap_recovery` | `stages/solve.rs` | `physics/modes.rs` |
//! | Sequential impulse | `large_pyramid` | `stages/solve.rs` | `physics/scenes.rs` |
//! | Restitution | `bouncing_ball` | `stages/restitution.rs` | `physics/impacts.rs` |
//! | General step: hinges, springs by the same recipe | `bridge`, `springs` | `scene/joint_rows.rs` | `joints/swinging.rs` |
//!
//! **Physics engines for dummies** (Paul Firth):
//!
//! | section | scene | in `src` | in `tests` |
//! |---|---|---|---|
//! | Particles, turning planes | `particles_in_a_turning_box` | `scene/compile.rs` | `catalogue.rs` |
//! | Gravity and a coefficient of restitution | `bouncing_ball` | `stages/restitution.rs` | `physics/impacts.rs` |
//! | Masses: circles that collide | `circle_masses` | `stages/solve.rs` | `physics/impacts.rs` |
//! | Penetration and speculative contacts | `circle_stack` | `stages/collide.rs` | `physics/rest.rs` |
//! | Software engineering: bodies, contacts, one loop | `large_pyramid` | `world.rs`, `step.rs` | `determinism.rs` |
//! | Inequality constraints: winch, piston, string | `rope_winch_piston` | `scene/joint_rows.rs` | `joints/moving.rs` |
//! | Equality constraints; distance constraint | `rod_chain`, `pendulum` | `scene/joint_rows.rs` | `joints/swinging.rs` |
//!
//! **Physics simulation in 2D space** (naphy, 14 February 2022):
//!
//! | section | scene | in `src` | in `tests` |
//! |---|---|---|---|
//! | Physical quantities, shape and body | `circle_masses` | `scene/model.rs`, `scene/compile.rs` | `physics/mass.rs` |
//! | Differential equations | `thruster` | `stages/integrate_positions.rs` | `physics/motion.rs` |
//! | Collision detection, arbiters | `small_si` | `stages/collide.rs` | `twins.rs` |
//! | Constraints, sequential impulses | `vertical_stack` | `stages/solve.rs` | `physics/rest.rs` |
//! | Friction, static and kinetic | `static_and_kinetic`, `friction_ramp` | `stages/solve.rs` | `physics/motion.rs` |
//! | Springs | `springs`, `naphy_bridge` | `scene/joint_rows.rs` | `joints/swinging.rs` |
//! | Spatial indexing (a grid, not a quadtree) | `many_pyramids` | `stages/bin.rs`, `stages/pair.rs` | `twins.rs` |
//! | Dealing with numerical errors | `overlap_recovery`, `far_pyramid` | `stages/project.rs` | `physics/modes.rs` |
//! | Examples: instability, bridge | `high_mass_ratio_1`, `naphy_bridge` | `scene/joint_rows.rs` | `joints/crowds.rs` |
//!
//! **How to Make a 2D Physics Engine – Collisions**:
//!
//! | section | scene | in `src` | in `tests` |
//! |---|---|---|---|
//! | A bias against drift: Baumgarte stabilisation | `small_si` | `stages/solve.rs` | `physics/modes.rs` |
//! | Prescribed motion: motors | `motors`, `tumbler`, `conveyor` | `scene/joint_rows.rs` | `joints/moving.rs` |
//! | Contact constraints with rotation | `domino` | `stages/prepare.rs` | `physics/scenes.rs` |
//! | The smaller of two restitutions | `circle_masses` | `stages/restitution.rs` | `physics/impacts.rs` |

use glam::Vec2;

use super::{Entry, Parameter, Topic, Values, real};
use drystone::low_level::math::{rotate, rotation};
use drystone::{Body, Mode, Scene, Shape};

/// Gravity of the tutorials; Box2D's is 10.
pub(super) const GRAVITY: Parameter = Parameter::real("gravity", 9.81, 0.1, 100.0, "downwards, m/s²");

pub(super) const SMALL_SI: Entry = Entry {
    name: "small_si",
    topic: Topic::Stacks,
    summary: "boxes slide down two chutes and a kicker towards a tower, solved as in the tutorial",
    source: "SmallSI (XMAMan): its kind of room at 0.02 m a pixel, with its settings: sequential impulses, 10 \
             iterations, Baumgarte 0.2, 1 pixel of slop, no warm start, restitution 0.5 by the smaller. Box sizes and \
             masses are about its own, places are ours. It bounds friction by g·μ·dt, not by the load; the \
             coefficients here give about the same bound for these masses.",
    parameters: &[
        Parameter::whole("boxes", 6, 0, 9, "boxes on the upper chute"),
        Parameter::whole("tower", 5, 0, 50, "boxes in the tower"),
        Parameter::real("restitution", 0.5, 0.0, 1.0, "of everything"),
    ],
    steps: 900,
    count: |values| 6 + values.count("boxes") + values.count("tower"),
    construct: small_si,
};

fn small_si(values: &Values) -> Scene {
    /// Half the thickness of chutes, floor and walls, m.
    const PLANK: f32 = 0.15;
    /// Half size of a small box, m.
    const SMALL: [f32; 2] = [0.37, 0.385];
    /// Half size of a tower box, m.
    const LARGE: f32 = 0.69;
    /// Density, kg/m²: SmallSI's 10⁻⁴ per square pixel.
    const DENSITY: f32 = 0.25;
    const SMOOTH: f32 = 0.04;
    const ROUGH: f32 = 0.4;
    let restitution = values.real("restitution");
    let mut scene = Scene::default();
    let settings = &mut scene.settings;
    settings.mode = Mode::Baumgarte;
    settings.iterations = Some(10);
    settings.warm_start = false;
    settings.slop = Some(0.02);
    settings.restitution_threshold = Some(0.0);
    let upper = (Vec2::new(-4.3, 8.6), -0.33);
    for ((center, angle), half_width, friction) in [
        ((Vec2::new(0.0, -PLANK), 0.0), 9.0, ROUGH),
        ((Vec2::new(-8.85, 5.5), std::f32::consts::FRAC_PI_2), 5.5, SMOOTH),
        ((Vec2::new(8.85, 5.5), std::f32::consts::FRAC_PI_2), 5.5, SMOOTH),
        (upper, 4.5, SMOOTH),
        ((Vec2::new(-1.6, 4.4), 0.28), 4.2, SMOOTH),
        ((Vec2::new(-7.2, 1.6), -0.73), 1.5, SMOOTH),
    ] {
        let plank = Shape::half_box(half_width, PLANK).friction(friction).restitution(restitution);
        scene.add(Body::fixed(center.x, center.y).angle(angle).shape(plank));
    }
    for i in 0..values.count("boxes") {
        let on_chute = Vec2::new(-3.8 + 0.9 * real(i), PLANK + SMALL[1]);
        let at = upper.0 + rotate(rotation(upper.1), on_chute);
        let shape = Shape::half_box(SMALL[0], SMALL[1]).density(DENSITY).friction(SMOOTH).restitution(restitution);
        scene.add(Body::dynamic(at.x, at.y).angle(upper.1).shape(shape));
    }
    for i in 0..values.count("tower") {
        // A crooked tower: each box is shifted by up to a fifth of its width.
        let x = 5.0 + [0.0, 0.3, -0.25, 0.2, -0.15][usize::try_from(i % 5).unwrap_or(0)];
        let shape = Shape::half_box(LARGE, LARGE).density(DENSITY).friction(ROUGH).restitution(restitution);
        scene.add(Body::dynamic(x, LARGE * (2.0 * real(i) + 1.0)).shape(shape));
    }
    scene
}

pub(super) const THRUSTER: Entry = Entry {
    name: "thruster",
    topic: Topic::Motion,
    summary: "a box in the air, pushed up at a point off its centre",
    source: "SmallSI's thruster, in metres: a 1 m box of 1 kg, free. The force always points up and its point turns \
             with the box, which swings like a pendulum: ½·I·ω² = force·arm·sin(angle). At the default the force \
             carries the weight, and the centre stays where it is.",
    parameters: &[
        Parameter::real("force", 9.81, -1_000.0, 1_000.0, "upwards, N"),
        Parameter::real("arm", 0.25, -0.5, 0.5, "offset of the force to the right of the centre, m"),
        GRAVITY,
    ],
    steps: 300,
    count: |_| 1,
    construct: thruster,
};

fn thruster(values: &Values) -> Scene {
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    let mut body = Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5));
    body.force = Vec2::new(0.0, values.real("force"));
    body.force_point = Some(Vec2::new(values.real("arm"), 0.0));
    scene.add(body);
    scene
}

pub(super) const CIRCLE_MASSES: Entry = Entry {
    name: "circle_masses",
    topic: Topic::Motion,
    summary: "two circles meet head-on, of different mass",
    source: "Physics engines for dummies (Paul Firth): the impulse is (1 + e)·v·m_a·m_b/(m_a + m_b), shared by \
             the masses. No gravity, no friction; every impact bounces, however slow.",
    parameters: &[
        Parameter::real("mass_a", 1.0, 0.001, 1_000.0, "mass of the left circle, kg"),
        Parameter::real("mass_b", 0.5, 0.001, 1_000.0, "mass of the right circle, kg"),
        Parameter::real("velocity_a", 2.0, -20.0, 20.0, "velocity of the left circle, to the right, m/s"),
        Parameter::real("velocity_b", -1.0, -20.0, 20.0, "velocity of the right circle, to the right, m/s"),
        Parameter::real("restitution", 1.0, 0.0, 1.0, "of both"),
    ],
    steps: 180,
    count: |_| 2,
    construct: circle_masses,
};

fn circle_masses(values: &Values) -> Scene {
    let mut scene = Scene::default().gravity(0.0, 0.0);
    scene.settings.restitution_threshold = Some(0.0);
    let shape = Shape::circle(0.5).friction(0.0).restitution(values.real("restitution"));
    for (id, x, mass, velocity) in [("a", -2.0, "mass_a", "velocity_a"), ("b", 2.0, "mass_b", "velocity_b")] {
        let mut body = Body::dynamic(x, 0.0).id(id).velocity(values.real(velocity), 0.0).shape(shape.clone());
        body.mass = Some(values.real(mass));
        scene.add(body);
    }
    scene
}

pub(super) const BOUNCING_BALL: Entry = Entry {
    name: "bouncing_ball",
    topic: Topic::Motion,
    summary: "a ball falls and bounces",
    source: "SmallSI's jumping ball. It should rise to restitution² of the drop; Box2D's rises to 0.517, 2.304, 5.287, \
             9.466 m at 0.25, 0.5, 0.75, 1 and gravity=10. Ball and ground have the same restitution: any mixing will \
             do.",
    parameters: &[
        Parameter::real("restitution", 1.0, 0.0, 1.0, "restitution of ball and ground"),
        Parameter::real("height", 9.5, 0.0, 1_000.0, "initial height of the ball's lowest point above the ground, m"),
        GRAVITY,
    ],
    steps: 600,
    count: |_| 2,
    construct: bouncing_ball,
};

fn bouncing_ball(values: &Values) -> Scene {
    let restitution = values.real("restitution");
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0).restitution(restitution)));
    let ball = Shape::circle(0.5).restitution(restitution);
    scene.add(Body::dynamic(0.0, values.real("height") + 0.5).id("ball").shape(ball));
    scene
}

pub(super) const SLOPE: Entry = Entry {
    name: "slope",
    topic: Topic::Friction,
    summary: "a box on a slope: rests if friction exceeds the slope's tangent, else slides",
    source: "SmallSI's cube on a slope. It slides ½·g·(sin − friction·cos)·t²; Box2D's box slides 5.394, 1.825, 0.401, \
             0.0007 m in 2 s at 0.2, 0.4, 0.48, 0.52 and gravity=10.",
    parameters: &[
        Parameter::real("friction", 0.6, 0.0, 10.0, "friction of box and slope"),
        Parameter::real("tangent", 0.5, 0.0, 2.0, "rise over run; the slope falls to the left"),
        GRAVITY,
    ],
    steps: 120,
    count: |_| 2,
    construct: slope,
};

fn slope(values: &Values) -> Scene {
    let friction = values.real("friction");
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let angle = values.get("tangent").atan() as f32;
    let turn = rotation(angle);
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    // The surface passes through the origin; the slope is 100 m long and the box starts at its middle.
    let slab = rotate(turn, Vec2::new(0.0, -1.0));
    scene.add(Body::fixed(slab.x, slab.y).angle(angle).shape(Shape::half_box(50.0, 1.0).friction(friction)));
    let at = rotate(turn, Vec2::new(0.0, 0.5));
    scene.add(Body::dynamic(at.x, at.y).angle(angle).id("box").shape(Shape::half_box(0.5, 0.5).friction(friction)));
    scene
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::catalogue;

    /// Returns the section of each row, and the quoted names in its other three cells: scenes, sources, tests.
    fn rows(text: &str) -> Vec<(&str, [Vec<&str>; 3])> {
        let rows = text.lines().filter_map(|line| line.strip_prefix("//! | "));
        let rows = rows.filter(|row| !row.starts_with("section |"));
        rows.map(|row| {
            let cells: Vec<&str> = row.split(" | ").collect();
            let quoted = |cell: usize| -> Vec<&str> { cells[cell].split('`').skip(1).step_by(2).collect() };
            (cells[0], [1, 2, 3].map(quoted))
        })
        .collect()
    }

    /// Returns the names in the table that do not exist.
    fn missing(text: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let is_there = |kind: usize, name: &str| match kind {
            0 => catalogue::find(name).is_ok(),
            1 => root.join("src").join(name).is_file(),
            _ => ["tests", "crates/drystone-scenes/tests"].iter().any(|tests| root.join(tests).join(name).is_file()),
        };
        let cells = rows(text).into_iter().flat_map(|(_, cells)| cells.into_iter().enumerate());
        let names = cells.flat_map(|(kind, names)| names.into_iter().map(move |name| (kind, name)));
        names.filter(|(kind, name)| !is_there(*kind, name)).map(|(_, name)| name.to_owned()).collect()
    }

    #[test]
    fn names_in_the_table_exist() {
        let text = include_str!("seeds.rs");
        let rows = rows(text);
        assert_eq!(rows.len(), 33, "sections of the five tutorials");
        for (section, cells) in &rows {
            assert!(cells.iter().all(|names| !names.is_empty()), "{section}: {cells:?}");
        }
        assert_eq!(missing(text), Vec::<String>::new());
        // Negative control: missing names are found.
        let wrong = "//! | a | `slope`, `no_such_scene` | `no_such_file.rs` | `catalogue.rs`, `no_such_test.rs` |";
        assert_eq!(missing(wrong), ["no_such_scene", "no_such_file.rs", "no_such_test.rs"]);
    }

    #[test]
    fn every_scene_of_a_tutorial_is_in_the_table() {
        let rows = rows(include_str!("seeds.rs"));
        let named: Vec<&str> = rows.into_iter().flat_map(|(_, [scenes, ..])| scenes).collect();
        let first = catalogue::entries().iter().position(|entry| entry.name == "small_si").expect("a scene");
        for entry in &catalogue::entries()[first..] {
            assert!(named.contains(&entry.name), "{} is in no table", entry.name);
        }
    }
}
