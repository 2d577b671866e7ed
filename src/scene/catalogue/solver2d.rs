//! solver2d's samples (`samples/collection` at d178a568): the scenes that solvers are judged on.

use super::{Entry, Parameter, Values, box2d_scene, ground, ground_line, pyramid, pyramid_count, real};
use crate::scene::{Body, Scene, Shape};

pub(super) const VERTICAL_STACK: Entry = Entry {
    name: "vertical_stack",
    summary: "a column of 1 m boxes: does it stand, and how far does it sink?",
    source: "Box2D's reference stack: aligned, touching, friction 0.6; it sinks 0.033, 0.135, 0.866 m at 10, 20, 50 \
             boxes. solver2d's Vertical Stack is count=15,jitter=0.01,pitch=1.1,friction=0.3.",
    parameters: &[
        Parameter::whole("count", 10, 1, 1_000, "boxes"),
        Parameter::real("jitter", 0.0, 0.0, 0.4, "how far even boxes are moved to the left and odd ones right, m"),
        Parameter::real("pitch", 1.0, 1.0, 10.0, "distance from box to box, m; above 1 they fall first"),
        Parameter::real("friction", 0.6, 0.0, 10.0, "of the boxes; the ground has 0.6"),
    ],
    steps: 1_200,
    count: |values| 1 + values.count("count"),
    construct: vertical_stack,
};

fn vertical_stack(values: &Values) -> Scene {
    let [jitter, pitch, friction] = ["jitter", "pitch", "friction"].map(|name| values.real(name));
    let mut scene = box2d_scene();
    scene.add(ground(100.0));
    for i in 0..values.count("count") {
        let x = if i % 2 == 0 { -jitter } else { jitter };
        let y = pitch * (real(i) + 0.5);
        scene.add(Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5).friction(friction)));
    }
    scene
}

pub(super) const CARD_HOUSE: Entry = Entry {
    name: "card_house",
    summary: "five storeys of thin cards that only friction holds",
    source: "solver2d Card House (after PEEL). Cards are 2 mm thick. As there, the lowest start 1.7 mm inside the \
             ground, and flat neighbours share 5 cm of their length.",
    parameters: &[
        Parameter::whole("levels", 5, 1, 20, "storeys"),
        Parameter::real("friction", 0.7, 0.0, 10.0, "of cards and ground"),
    ],
    steps: 600,
    count: |values| 1 + values.count("levels") * (3 * values.count("levels") + 1) / 2,
    construct: card_house,
};

fn card_house(values: &Values) -> Scene {
    const LEAN: f32 = 25.0 * std::f32::consts::PI / 180.0;
    let friction = values.real("friction");
    let levels = values.count("levels");
    let card = |x, y, angle| Body::dynamic(x, y).angle(angle).shape(Shape::half_box(0.001, 0.2).friction(friction));
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, -2.0).shape(Shape::half_box(40.0, 2.0).friction(friction)));
    for level in 0..levels {
        let tents = levels - level;
        let y = 0.18 + 0.37 * real(level);
        for tent in 0..tents {
            let x = 0.175 * real(level) + 0.35 * real(tent);
            if tent + 1 < tents {
                scene.add(card(x + 0.25, y + 0.185, std::f32::consts::FRAC_PI_2));
            }
            scene.add(card(x, y, -LEAN));
            scene.add(card(x + 0.175, y, LEAN));
        }
    }
    scene
}

pub(super) const DOMINO: Entry = Entry {
    name: "domino",
    summary: "a row of dominoes; the first is knocked over",
    source: "solver2d Double Domino: the impulse acts at the first one's top edge, here as its starting velocity.",
    parameters: &[
        Parameter::whole("count", 15, 1, 1_000, "dominoes, 1 m apart"),
        Parameter::real("impulse", 0.2, 0.0, 1.0, "on the first, N·s"),
    ],
    steps: 600,
    count: |values| 1 + values.count("count"),
    construct: domino,
};

fn domino(values: &Values) -> Scene {
    // Half sizes; at density 1 the mass is 0.25 kg and the inertia m·(w² + h²)/12 = m·(half²)/3.
    const HALF: [f32; 2] = [0.125, 0.5];
    const MASS: f32 = 4.0 * HALF[0] * HALF[1];
    const INERTIA: f32 = MASS * (HALF[0] * HALF[0] + HALF[1] * HALF[1]) / 3.0;
    let count = values.count("count");
    let impulse = values.real("impulse");
    let mut scene = box2d_scene();
    scene.add(ground(real(count).max(100.0)));
    for i in 0..count {
        let mut domino = Body::dynamic(real(i) - 0.5 * real(count), HALF[1]).shape(Shape::half_box(HALF[0], HALF[1]));
        if i == 0 {
            // To the right at the top: turns clockwise.
            domino = domino.velocity(impulse / MASS, 0.0).angular_velocity(-HALF[1] * impulse / INERTIA);
        }
        scene.add(domino);
    }
    scene
}

pub(super) const HIGH_MASS_RATIO_1: Entry = Entry {
    name: "high_mass_ratio_1",
    summary: "three pyramids, on which boxes of 100, 200 and 300 times the density fall",
    source: "solver2d High Mass Ratio 1. The ground segment is a box.",
    parameters: &[
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row"),
        Parameter::real("density", 100.0, 1.0, 10_000.0, "of the first apex, kg/m²; the others have 2 and 3 times it"),
    ],
    steps: 600,
    count: |values| 1 + 3 * pyramid_count(values.count("base")),
    construct: high_mass_ratio_1,
};

fn high_mass_ratio_1(values: &Values) -> Scene {
    let base = values.count("base");
    let mut scene = box2d_scene();
    let half_width = (7.0 * real(base)).max(66.0);
    scene.add(Body::fixed(0.0, 0.0).shape(ground_line(half_width).friction(0.5)));
    for pyramid in 0..3 {
        let offset = -2.0 * real(base) + 2.0 * real(base + 1) * real(pyramid);
        for row in 0..base {
            let count = base - row;
            let apex = count == 1;
            let y = 1.0 + 2.0 * real(row) + if apex { 2.0 } else { 0.0 };
            let density = if apex { real(pyramid + 1) * values.real("density") } else { 1.0 };
            for i in 0..count {
                let x = 2.0 * (real(i) - 0.5 * real(count)) + offset;
                scene.add(Body::dynamic(x, y).shape(Shape::half_box(1.0, 1.0).density(density).friction(0.5)));
            }
        }
    }
    scene
}

const BIG_BOX_DENSITY: &[Parameter] =
    &[Parameter::real("density", 1.0, 0.01, 10_000.0, "of the large box, kg/m²; at 1 it is 400 times as heavy")];

pub(super) const HIGH_MASS_RATIO_2: Entry = Entry {
    name: "high_mass_ratio_2",
    summary: "a 20 m box falls on two 1 m boxes",
    source: "solver2d High Mass Ratio 2. The ground segment is a box 1 m thick.",
    parameters: BIG_BOX_DENSITY,
    steps: 600,
    count: |_| 4,
    construct: |values| big_box(values, Body::fixed(0.0, 0.0).shape(ground_line(20.0))),
};

pub(super) const HIGH_MASS_RATIO_3: Entry = Entry {
    name: "high_mass_ratio_3",
    summary: "a 20 m box falls on two 1 m boxes, on thick ground",
    source: "solver2d High Mass Ratio 3.",
    parameters: BIG_BOX_DENSITY,
    steps: 600,
    count: |_| 4,
    construct: |values| big_box(values, Body::fixed(0.0, -2.0).shape(Shape::half_box(40.0, 2.0))),
};

fn big_box(values: &Values, ground: Body) -> Scene {
    let mut scene = box2d_scene();
    scene.add(ground);
    for x in [-9.0, 9.0] {
        scene.add(Body::dynamic(x, 0.5).shape(Shape::half_box(0.5, 0.5)));
    }
    scene.add(Body::dynamic(0.0, 26.0).shape(Shape::half_box(10.0, 10.0).density(values.real("density"))));
    scene
}

pub(super) const FRICTION_RAMP: Entry = Entry {
    name: "friction_ramp",
    summary: "five boxes from rough to smooth slide down a zigzag of ramps",
    source: "solver2d Friction Ramp: boxes of friction 0.75, 0.5, 0.35, 0.1, 0. The ground segment is a box, and the \
             last one slides off its end.",
    parameters: &[Parameter::real("friction", 0.2, 0.0, 10.0, "of ramps and ground")],
    steps: 600,
    count: |_| 6,
    construct: friction_ramp,
};

fn friction_ramp(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    let mut ramps = Body::fixed(0.0, 0.0).shape(ground_line(40.0));
    for [half_width, half_height, x, y, angle] in [
        [13.0, 0.25, -4.0, 22.0, -0.25],
        [0.25, 1.0, 10.5, 19.0, 0.0],
        [13.0, 0.25, 4.0, 14.0, 0.25],
        [0.25, 1.0, -10.5, 11.0, 0.0],
        [13.0, 0.25, -4.0, 6.0, -0.25],
    ] {
        ramps = ramps.shape(Shape::half_box(half_width, half_height).offset(x, y).rotation(angle));
    }
    for shape in &mut ramps.shapes {
        shape.material.friction = values.real("friction");
    }
    scene.add(ramps);
    for (x, friction) in [(-15.0, 0.75), (-11.0, 0.5), (-7.0, 0.35), (-3.0, 0.1), (1.0, 0.0)] {
        scene.add(Body::dynamic(x, 28.0).shape(Shape::half_box(0.5, 0.5).density(25.0).friction(friction)));
    }
    scene
}

pub(super) const OVERLAP_RECOVERY: Entry = Entry {
    name: "overlap_recovery",
    summary: "boxes that start a quarter inside each other: do they come apart gently?",
    source: "solver2d Overlap Recovery. The ground segment is a box.",
    parameters: &[
        Parameter::whole("base", 4, 1, 40, "boxes in the lowest row"),
        Parameter::real("overlap", 0.25, 0.0, 0.9, "share of a box that its neighbour covers"),
    ],
    steps: 300,
    count: |values| 1 + pyramid_count(values.count("base")),
    construct: overlap_recovery,
};

fn overlap_recovery(values: &Values) -> Scene {
    const HALF: f32 = 0.5;
    let base = values.count("base");
    let shift = (1.0 - values.real("overlap")) * HALF;
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(ground_line(40.0)));
    for row in 0..base {
        let y = HALF + 2.0 * shift * real(row);
        for column in 0..base - row {
            let x = shift * (real(row) - real(base)) + 2.0 * shift * real(column);
            scene.add(Body::dynamic(x, y).shape(Shape::half_box(HALF, HALF)));
        }
    }
    scene
}

pub(super) const CIRCLE_STACK: Entry = Entry {
    name: "circle_stack",
    summary: "circles of 2 m fall onto each other, exactly aligned",
    source: "solver2d Circle Stack. The ground segment is a box.",
    parameters: &[
        Parameter::whole("count", 10, 1, 1_000, "circles"),
        Parameter::real("pitch", 3.0, 2.0, 20.0, "distance from circle to circle, m; at 2 they touch"),
    ],
    steps: 600,
    count: |values| 1 + values.count("count"),
    construct: circle_stack,
};

fn circle_stack(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(ground_line(40.0)));
    for i in 0..values.count("count") {
        scene.add(Body::dynamic(0.0, 4.0 + values.real("pitch") * real(i)).shape(Shape::circle(1.0)));
    }
    scene
}

pub(super) const CONFINED: Entry = Entry {
    name: "confined",
    summary: "more circles than fit into a box, without gravity: pressure without a way out",
    source: "solver2d Confined: 625 circles of 1 m, whose areas add up to 1.26 times the room. Its walls are capsules \
             of radius 0.5, here boxes with the same faces; its gravity acts on nobody, here it is 0.",
    parameters: &[Parameter::whole("grid", 25, 1, 40, "circles in a row and rows; up to 18 start without overlap")],
    steps: 300,
    count: |values| 1 + values.count("grid") * values.count("grid"),
    construct: confined,
};

fn confined(values: &Values) -> Scene {
    let grid = values.count("grid");
    let pitch = 18.0 / real(grid);
    let mut scene = box2d_scene().gravity(0.0, 0.0);
    let floor = Shape::half_box(11.0, 0.5);
    let wall = Shape::half_box(0.5, 10.75);
    scene.add(
        Body::fixed(0.0, 0.0)
            .shape(floor.clone())
            .shape(wall.clone().offset(-10.5, 10.25))
            .shape(wall.offset(10.5, 10.25))
            .shape(floor.offset(0.0, 20.5)),
    );
    for column in 0..grid {
        for row in 0..grid {
            let (x, y) = (-8.75 + real(column) * pitch, 1.5 + real(row) * pitch);
            scene.add(Body::dynamic(x, y).shape(Shape::circle(0.5)));
        }
    }
    scene
}

const ORIGIN: &str = "m; at 90 km an f32 has steps of 8 mm";

pub(super) const FAR_PYRAMID: Entry = Entry {
    name: "far_pyramid",
    summary: "a pyramid falls together 120 km from the origin, where coordinates are 8 mm apart",
    source: "solver2d Far Pyramid, at (100 km, −80 km). Positions end at 100 km here, so x is 90 km: its floats are as \
             coarse (2⁻⁷ m).",
    parameters: &[
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row"),
        Parameter::real("x", 90_000.0, -99_000.0, 99_000.0, ORIGIN),
        Parameter::real("y", -80_000.0, -99_000.0, 99_000.0, ORIGIN),
    ],
    steps: 500,
    count: |values| 1 + pyramid_count(values.count("base")),
    construct: far_pyramid,
};

fn far_pyramid(values: &Values) -> Scene {
    let base = values.count("base");
    let mut scene = box2d_scene();
    scene.add(ground(100.0));
    pyramid(&mut scene, base, 0.5, 0.625, [-0.5 * real(base), 0.5]);
    move_all(scene, values)
}

pub(super) const FAR_STACK: Entry = Entry {
    name: "far_stack",
    summary: "a plank on a ball and a box, with two boxes on it, 47 km from the origin",
    source: "solver2d Far Stack. Rounding the positions puts the plank 1.2 mm into the box below it.",
    parameters: &[
        Parameter::real("x", 40_000.0, -99_000.0, 99_000.0, "m; at 40 km an f32 has steps of 4 mm"),
        Parameter::real("y", -25_000.0, -99_000.0, 99_000.0, "m; at 25 km an f32 has steps of 2 mm"),
    ],
    steps: 500,
    count: |_| 6,
    construct: far_stack,
};

fn far_stack(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    scene.add(ground(10.0));
    for (x, y, shape) in [
        (1.875, 0.125, Shape::circle(0.1)),
        (-1.875, 0.15, Shape::half_box(0.1, 0.125)),
        (0.0, 0.325, Shape::half_box(2.0, 0.05)),
        (-0.5, 0.9, Shape::half_box(0.25, 0.25)),
        (-0.55, 1.7, Shape::half_box(0.5, 0.5)),
    ] {
        scene.add(Body::dynamic(x, y).shape(shape));
    }
    move_all(scene, values)
}

/// Moves every body by the entry's `x` and `y`.
fn move_all(mut scene: Scene, values: &Values) -> Scene {
    for body in &mut scene.bodies {
        body.position.x += values.real("x");
        body.position.y += values.real("y");
    }
    scene
}
