//! Scenes of solver2d's samples (`samples/collection` at d178a568), used to judge the quality of solvers.

use glam::Vec2;

use super::ragdoll::{self, Hinges};
use super::{Entry, Parameter, Topic, Values, box2d_scene, ground, ground_line, pyramid, pyramid_count, real, show};
use drystone::low_level::math::rotation;
use drystone::low_level::types::split_position;
use drystone::{Body, Field, Joint, JointKind, Scene, Shape};

pub(super) const VERTICAL_STACK: Entry = Entry {
    name: "vertical_stack",
    topic: Topic::Stacks,
    summary: "a column of 1 m boxes: does it stand, and how far does it sink?",
    source: "Box2D's reference stack: aligned, touching, friction 0.6; it sinks 0.033, 0.135, 0.866 m at 10, 20, 50 \
             boxes. solver2d's Vertical Stack is count=15,jitter=0.01,pitch=1.1,friction=0.3.",
    parameters: &[
        Parameter::whole("count", 10, 1, 1_000, "boxes"),
        Parameter::real("jitter", 0.0, 0.0, 0.4, "shift of even boxes to the left and odd ones to the right, m"),
        Parameter::real("pitch", 1.0, 1.0, 10.0, "distance between box centres, m; above 1 the boxes fall first"),
        Parameter::real("friction", 0.6, 0.0, 10.0, "friction of the boxes; the ground has 0.6"),
        Parameter::real("top", 1.0, 0.001, 10_000.0, "mass of the highest box by that of each other"),
    ],
    steps: 1_200,
    count: |values| 1 + values.count("count"),
    construct: vertical_stack,
};

fn vertical_stack(values: &Values) -> Scene {
    let [jitter, pitch, friction] = ["jitter", "pitch", "friction"].map(|name| values.real(name));
    let mut scene = box2d_scene();
    scene.add(ground(100.0));
    let count = values.count("count");
    for i in 0..count {
        let x = if i % 2 == 0 { -jitter } else { jitter };
        let y = pitch * (real(i) + 0.5);
        let density = if i + 1 == count { values.real("top") } else { 1.0 };
        scene.add(Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5).friction(friction).density(density)));
    }
    scene
}

pub(super) const CARD_HOUSE: Entry = Entry {
    name: "card_house",
    topic: Topic::Stacks,
    summary: "storeys of thin cards that only friction holds",
    source: "solver2d Card House (after PEEL). Cards are 2 mm thick. As there, the lowest start 1.7 mm inside the \
             ground, and flat neighbours share 5 cm of their length.",
    parameters: &[
        Parameter::whole("levels", 5, 1, 20, "storeys"),
        Parameter::real("friction", 0.7, 0.0, 10.0, "friction of cards and ground"),
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
    topic: Topic::Stacks,
    summary: "a row of dominoes; the first is knocked over",
    source: "solver2d Double Domino: the impulse acts at the first one's top edge; here it is the initial velocity.",
    parameters: &[
        Parameter::whole("count", 15, 1, 1_000, "dominoes, 1 m apart"),
        Parameter::real("impulse", 0.2, 0.0, 1.0, "impulse on the first domino, N·s"),
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
            // An impulse to the right at the top turns it clockwise.
            domino = domino.velocity(impulse / MASS, 0.0).angular_velocity(-HALF[1] * impulse / INERTIA);
        }
        scene.add(domino);
    }
    scene
}

pub(super) const HIGH_MASS_RATIO_1: Entry = Entry {
    name: "high_mass_ratio_1",
    topic: Topic::Stacks,
    summary: "denser and denser boxes fall onto three pyramids",
    source: "solver2d High Mass Ratio 1. The ground segment is a box.",
    parameters: &[
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row"),
        Parameter::real(
            "density",
            100.0,
            1.0,
            10_000.0,
            "density of the first apex, kg/m²; the others have 2 and 3 times as much",
        ),
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

const BIG_BOX_DENSITY: &[Parameter] = &[Parameter::real(
    "density",
    1.0,
    0.01,
    10_000.0,
    "density of the large box, kg/m²; at 1 it has 400 times the mass",
)];

pub(super) const HIGH_MASS_RATIO_2: Entry = Entry {
    name: "high_mass_ratio_2",
    topic: Topic::Stacks,
    summary: "a 20 m box falls on two 1 m boxes",
    source: "solver2d High Mass Ratio 2. The ground segment is a box 1 m thick.",
    parameters: BIG_BOX_DENSITY,
    steps: 600,
    count: |_| 4,
    construct: |values| big_box(values, Body::fixed(0.0, 0.0).shape(ground_line(20.0))),
};

pub(super) const HIGH_MASS_RATIO_3: Entry = Entry {
    name: "high_mass_ratio_3",
    topic: Topic::Stacks,
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
    topic: Topic::Friction,
    summary: "five boxes from rough to smooth slide down a zigzag of ramps",
    source: "solver2d Friction Ramp: boxes of friction 0.75, 0.5, 0.35, 0.1, 0. The ground segment is a box, and the \
             last one slides off its end.",
    parameters: &[Parameter::real("friction", 0.2, 0.0, 10.0, "friction of ramps and ground")],
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
    // View: down to where they come to rest.
    show(&mut scene, [-20.0, -1.0], [20.0, 30.0]);
    scene
}

pub(super) const OVERLAP_RECOVERY: Entry = Entry {
    name: "overlap_recovery",
    topic: Topic::Stacks,
    summary: "boxes that start inside each other: do they come apart gently?",
    source: "solver2d Overlap Recovery. The ground segment is a box.",
    parameters: &[
        Parameter::whole("base", 4, 1, 40, "boxes in the lowest row"),
        Parameter::real("overlap", 0.25, 0.0, 0.9, "overlap of neighbouring boxes, as a share of a box"),
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
    topic: Topic::Stacks,
    summary: "circles of 2 m fall onto each other, exactly aligned",
    source: "solver2d Circle Stack. The ground segment is a box.",
    parameters: &[
        Parameter::whole("count", 10, 1, 1_000, "circles"),
        Parameter::real("pitch", 3.0, 2.0, 20.0, "distance between circle centres, m; at 2 they touch"),
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
    topic: Topic::Stacks,
    summary: "circles in a closed box, without gravity: too many of them build up pressure that cannot relax",
    source: "solver2d Confined: 625 circles of 1 m, whose areas add up to 1.26 times the room. Its walls are capsules \
             of radius 0.5, as here with capsules=1; else boxes with the same faces. Its gravity acts on no body, here \
             it is 0.",
    parameters: &[
        Parameter::whole("grid", 25, 1, 40, "circles per side of a square grid; up to 18 start without overlap"),
        Parameter::whole("capsules", 0, 0, 1, "1: walls are capsules, as in solver2d; 0: boxes"),
    ],
    steps: 300,
    count: |values| 1 + values.count("grid") * values.count("grid"),
    construct: confined,
};

fn confined(values: &Values) -> Scene {
    let grid = values.count("grid");
    let pitch = 18.0 / real(grid);
    let mut scene = box2d_scene().gravity(0.0, 0.0);
    let walls = if values.count("capsules") == 1 {
        let corners = [[-10.5, 0.0], [10.5, 0.0], [10.5, 20.5], [-10.5, 20.5]];
        [[0, 1], [0, 3], [1, 2], [3, 2]].map(|[from, to]| Shape::capsule(corners[from], corners[to], 0.5))
    } else {
        let floor = Shape::half_box(11.0, 0.5);
        let wall = Shape::half_box(0.5, 10.75);
        [floor.clone(), wall.clone().offset(-10.5, 10.25), wall.offset(10.5, 10.25), floor.offset(0.0, 20.5)]
    };
    scene.add(walls.into_iter().fold(Body::fixed(0.0, 0.0), Body::shape));
    for column in 0..grid {
        for row in 0..grid {
            let (x, y) = (-8.75 + real(column) * pitch, 1.5 + real(row) * pitch);
            scene.add(Body::dynamic(x, y).shape(Shape::circle(0.5)));
        }
    }
    scene
}

pub(super) const ARCH: Entry = Entry {
    name: "arch",
    topic: Topic::Stacks,
    summary: "an arch of 17 stones carries four slabs",
    source: "solver2d Arch.",
    parameters: &[Parameter::real("friction", 0.6, 0.0, 10.0, "friction of stones, slabs and ground")],
    steps: 600,
    count: |_| 22,
    construct: arch,
};

/// Inner and outer corners of the right half of the arch, from the ground to the keystone, in quarter metres.
const ARCH_CORNERS: [[[f32; 2]; 2]; 9] = [
    [[16.0, 0.0], [24.0, 0.0]],
    [[14.938_037, 5.133_601], [22.336_195, 6.022_998_5]],
    [[13.798_718, 10.249_281], [20.549_368, 12.009_643]],
    [[12.562_53, 15.341_07], [18.608_547, 17.947_033]],
    [[11.200_41, 20.398_565], [16.467_693, 23.813_679]],
    [[9.665_212, 25.403_7], [14.053_25, 29.570_793]],
    [[7.871_799_5, 30.317_934], [11.235_51, 35.137_756]],
    [[5.635_199_5, 35.038_208], [7.752_568, 40.304_51]],
    [[2.405_938, 39.095_54], [3.016_931_5, 44.288_918]],
];

fn arch(values: &Values) -> Scene {
    let friction = values.real("friction");
    let corners = ARCH_CORNERS.map(|pair| pair.map(|corner| 0.25 * Vec2::from(corner)));
    let mirrored = |corner: Vec2| Vec2::new(-corner.x, corner.y);
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::segment([-100.0, 0.0], [100.0, 0.0]).friction(friction)));
    // Stones are defined by their corners; all have the origin of the arch.
    let mut stone =
        |corners: [Vec2; 4]| scene.add(Body::dynamic(0.0, 0.0).shape(Shape::polygon(corners).friction(friction)));
    let sides = corners.windows(2).map(|pair| (pair[0], pair[1]));
    for ([inner, outer], [next_inner, next_outer]) in sides.clone() {
        stone([inner, outer, next_outer, next_inner]);
    }
    for ([inner, outer], [next_inner, next_outer]) in sides {
        stone([outer, inner, next_inner, next_outer].map(mirrored));
    }
    let [inner, outer] = corners[8];
    stone([inner, outer, mirrored(outer), mirrored(inner)]);
    for slab in 0..4 {
        let shape = Shape::half_box(2.0, 0.5).friction(friction);
        scene.add(Body::dynamic(0.0, 0.5 + outer.y + real(slab)).shape(shape));
    }
    scene
}

/// Damping of all bodies on a chain, 1/s.
const CHAIN_DAMPING: f32 = 0.1;

fn chained(mut body: Body, shape: Shape) -> Body {
    body.linear_damping = CHAIN_DAMPING;
    body.angular_damping = CHAIN_DAMPING;
    body.shape(shape.density(20.0))
}

pub(super) const RUSH: Entry = Entry {
    name: "rush",
    topic: Topic::Crowds,
    summary: "circles are attracted to a fixed one and press on each other",
    source: "solver2d Rush: a force of 1000 N on each towards the origin, none within 0.1 m of it, no gravity. There it is \
             recomputed in each step, here in each substep.",
    parameters: &[
        Parameter::whole("count", 400, 0, 100_000, "number of circles, on a spiral"),
        Parameter::real("force", 1_000.0, -100_000.0, 100_000.0, "on each, N"),
    ],
    steps: 600,
    count: |values| 1 + values.count("count"),
    construct: rush,
};

fn rush(values: &Values) -> Scene {
    let circle = Shape::circle(0.5).friction(0.2).density(100.0);
    let mut scene = box2d_scene();
    scene.fields.push(Field { force: values.real("force"), core: 0.1, ..Field::default() });
    scene.add(Body::fixed(0.0, 0.0).shape(circle.clone()));
    for i in 0..values.count("count") {
        let at = (5.0 + 0.05 * real(i)) * rotation(0.2 * real(i));
        let mut body = Body::dynamic(at.x, at.y).shape(circle.clone());
        body.gravity_scale = 0.0;
        scene.add(body);
    }
    scene
}

pub(super) const BRIDGE: Entry = Entry {
    name: "bridge",
    topic: Topic::Joints,
    summary: "planks on hinges span a gap",
    source: "solver2d Bridge.",
    parameters: &[Parameter::whole("planks", 160, 1, 50_000, "of 1 m")],
    steps: 600,
    count: |values| values.count("planks"),
    construct: bridge,
};

fn bridge(values: &Values) -> Scene {
    const HEIGHT: f32 = 20.0;
    let planks = values.count("planks");
    let left = -0.5 * real(planks);
    let mut scene = box2d_scene();
    let mut before = None;
    for plank in 0..planks {
        let body = chained(Body::dynamic(left + 0.5 + real(plank), HEIGHT), Shape::half_box(0.5, 0.125));
        let index = scene.add(body);
        let joint = match before {
            Some(before) => Joint::new(JointKind::hinge(), before, index).anchors([0.5, 0.0], [-0.5, 0.0]),
            None => Joint::to_world(JointKind::hinge(), index).anchors([left, HEIGHT], [-0.5, 0.0]),
        };
        scene.join(joint);
        before = Some(index);
    }
    let last = scene.bodies.len() - 1;
    scene.join(Joint::to_world(JointKind::hinge(), last).anchors([-left, HEIGHT], [0.5, 0.0]));
    scene
}

pub(super) const BALL_AND_CHAIN: Entry = Entry {
    name: "ball_and_chain",
    topic: Topic::Joints,
    summary: "a chain swings a ball at its end",
    source: "solver2d Ball & Chain, whose ball weighs as much as 672 links. Box2D's own ball has half the radius, and \
             hinges with friction.",
    parameters: &[
        Parameter::whole("links", 40, 1, 10_000, "of 1 m"),
        Parameter::real("radius", 8.0, 0.1, 100.0, "radius of the ball, m"),
    ],
    steps: 1_200,
    count: |values| values.count("links") + 1,
    construct: ball_and_chain,
};

fn ball_and_chain(values: &Values) -> Scene {
    let links = values.count("links");
    let radius = values.real("radius");
    let height = 0.5 * real(links);
    let mut scene = box2d_scene();
    for link in 0..links {
        let shape = Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.125);
        scene.add(chained(Body::dynamic(0.5 + real(link), height), shape));
    }
    scene.add(chained(Body::dynamic(real(links) + radius, height), Shape::circle(radius)));
    scene.join(Joint::to_world(JointKind::hinge(), 0).anchors([0.0, height], [-0.5, 0.0]));
    for link in 1..scene.bodies.len() {
        let reach = if link + 1 == scene.bodies.len() { radius } else { 0.5 };
        scene.join(Joint::new(JointKind::hinge(), link - 1, link).anchors([0.5, 0.0], [-reach, 0.0]));
    }
    // View: the half circle through which it swings; at its lowest the chain stretches.
    let length = real(links) + 2.0 * radius;
    show(&mut scene, [-length, height - 1.3 * length], [length, height + 1.3 * radius]);
    scene
}

pub(super) const RAGDOLL: Entry = Entry {
    name: "ragdoll",
    topic: Topic::Joints,
    summary: "a ragdoll falls onto its feet, then over",
    source: "solver2d Ragdoll: its ground and its height, with Box2D's ragdoll, which came of its own. All densities \
             are 1 kg/m², so that its torso weighs 74 g: with others, and friction_torque in proportion, it moves the same.",
    parameters: &[
        Parameter::real(
            "friction_torque",
            0.03,
            0.0,
            10.0,
            "friction torque of the hips, N·m; other joints have a fraction of it",
        ),
        Parameter::real("hertz", 5.0, 0.0, 60.0, "frequency of the springs in its joints, Hz; 0 is limp"),
        Parameter::real("damping_ratio", 0.5, 0.0, 10.0, "damping ratio of these springs; 1 is critical"),
    ],
    steps: 600,
    count: |_| 1 + ragdoll::BONES,
    construct: ragdoll,
};

fn ragdoll(values: &Values) -> Scene {
    let [friction_torque, hertz, damping_ratio] =
        ["friction_torque", "hertz", "damping_ratio"].map(|name| values.real(name));
    let mut scene = box2d_scene();
    scene.add(ground(20.0));
    let hinges = Hinges { friction_torque, hertz, damping_ratio };
    ragdoll::add((&mut scene.bodies, &mut scene.joints), Vec2::new(0.0, 4.0), 1, hinges, true);
    // View: from the initial position down to the ground.
    show(&mut scene, [-4.0, -0.4], [4.0, 6.0]);
    scene
}

const ORIGIN: &str = "position, m; at 100 km an f32 has steps of 8 mm, at 10,000 km of 1 m";

pub(super) const FAR_PYRAMID: Entry = Entry {
    name: "far_pyramid",
    topic: Topic::Stacks,
    summary: "a pyramid settles far from the origin as it does there, though a 32-bit float is coarse so far out",
    source: "solver2d Far Pyramid.",
    parameters: &[
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row"),
        Parameter::real("x", 100_000.0, -9.99e6, 9.99e6, ORIGIN),
        Parameter::real("y", -80_000.0, -9.99e6, 9.99e6, ORIGIN),
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
    topic: Topic::Stacks,
    summary: "a plank on a ball and a box, with two boxes on it, far from the origin",
    source: "solver2d Far Stack. There, rounding the positions puts the plank 1.2 mm into the box below it; here they \
             are not rounded.",
    parameters: &[
        Parameter::real("x", 40_000.0, -9.99e6, 9.99e6, ORIGIN),
        Parameter::real("y", -25_000.0, -9.99e6, 9.99e6, ORIGIN),
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
    let by = Vec2::new(values.real("x"), values.real("y")).as_dvec2();
    for body in &mut scene.bodies {
        [body.position, body.position_low] = split_position(body.position.as_dvec2() + by);
    }
    scene
}
