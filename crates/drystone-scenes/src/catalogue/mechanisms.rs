//! Scenes of the tutorials on planes, joints, springs, motors and friction; [`super::seeds`] lists their sources.

use glam::Vec2;

use super::seeds::GRAVITY;
use super::{Entry, Parameter, Topic, Values, box2d_scene, real, show};
use drystone::low_level::math::{rotate, rotation};
use drystone::{Body, Filter, Joint, JointKind, Mode, Motor, Scene, Shape, Spring};

/// Returns an empty scene with the tutorials' gravity, downwards.
fn tutorial_scene(values: &Values) -> Scene {
    Scene::default().gravity(0.0, -values.real("gravity"))
}

pub(super) const PARTICLES_IN_A_TURNING_BOX: Entry = Entry {
    name: "particles_in_a_turning_box",
    topic: Topic::Motion,
    summary: "particles of restitution 0 to 1 bounce between four turning planes",
    source: "Physics engines for dummies (Paul Firth): a screen of 2 × 2 m, bounded by four planes, with particles of \
             restitution 0 to 1. They pass through each other, as there; each has a radius of 1 cm, to be seen. The \
             box turns steadily instead of by the mouse. speed=0,gravity=0.1 comes near to his first example.",
    parameters: &[
        Parameter::whole("count", 100, 1, 100_000, "particles"),
        Parameter::real("speed", 0.5, -5.0, 5.0, "speed of the box, rad/s"),
        GRAVITY,
    ],
    steps: 900,
    count: |values| 1 + values.count("count"),
    construct: particles_in_a_turning_box,
};

fn particles_in_a_turning_box(values: &Values) -> Scene {
    let count = values.count("count");
    let mut scene = tutorial_scene(values);
    scene.settings.restitution_threshold = Some(0.0);
    // Particles of 2 cm that touch nothing but the box, of 2 m.
    scene.settings.length_unit = Some(1.0);
    let mut planes = Body::kinematic(0.0, 0.0).angular_velocity(values.real("speed")).id("box");
    for normal in [Vec2::X, Vec2::NEG_Y, Vec2::NEG_X, Vec2::Y] {
        planes = planes.shape(Shape::half_plane(normal, -1.0).friction(0.0).restitution(1.0));
    }
    scene.add(planes);
    // View: the circle through which the corners turn.
    show(&mut scene, [-1.5, -1.5], [1.5, 1.5]);
    // Rows that fill the middle of the box; each particle has a direction of its own.
    let side = (1..=count).find(|side| side * side >= count).unwrap_or(1);
    for index in 0..count {
        let place = Vec2::new(real(index % side) + 0.5, real(index / side) + 0.5) / real(side);
        let at = 1.4 * place - 0.7;
        let velocity = rotation(2.4 * real(index % 1_000));
        // The planes have restitution 1, so that the minimum of the two is the particle's.
        let restitution = if count > 1 { real(index) / real(count - 1) } else { 1.0 };
        let filter = Filter { category: 2, mask: !2, group: 0 };
        let shape = Shape::particle(0.01).friction(0.0).restitution(restitution).filter(filter);
        scene.add(Body::dynamic(at.x, at.y).velocity(velocity.x, velocity.y).shape(shape));
    }
    scene
}

pub(super) const PENDULUM: Entry = Entry {
    name: "pendulum",
    topic: Topic::Joints,
    summary: "a bob swings on a rod; with more bobs it is a double pendulum, or a longer one",
    source: "Ours, as in any textbook: bobs of 1 kg on rods without mass, which do not turn and do not meet. One bob on a \
             rod of length L swings with the period 2π·√(L/g)·(1 + θ²/16 + 11·θ⁴/3072 + …), θ being the largest angle. \
             bobs=2,angle=2 is a double pendulum that swings chaotically.",
    parameters: &[
        Parameter::whole("bobs", 1, 1, 100, "number of bobs in the chain; 2 make a double pendulum"),
        Parameter::real("length", 1.0, 0.05, 100.0, "length of a rod, m"),
        Parameter::real("angle", 0.5, -3.1, 3.1, "initial angle from straight down, rad; 0.5 is 29°"),
        GRAVITY,
    ],
    steps: 900,
    count: |values| 1 + values.count("bobs"),
    construct: pendulum,
};

fn pendulum(values: &Values) -> Scene {
    let (length, bobs) = (values.real("length"), values.count("bobs"));
    let mut scene = tutorial_scene(values);
    // Rods and bobs do not collide with one another; bodies that a user adds do collide with them.
    let alone = Filter { category: 2, mask: !2, group: 0 };
    let pivot = Shape::circle(0.03 * length).filter(alone);
    scene.add(Body::fixed(0.0, 0.0).id("pivot").shape(pivot));
    let along = rotate(rotation(values.real("angle")), Vec2::new(0.0, -length));
    for bob in 1..=bobs {
        let at = real(bob) * along;
        let mut body =
            Body::dynamic(at.x, at.y).id(format!("bob {bob}")).shape(Shape::circle(0.1 * length).filter(alone));
        body.mass = Some(1.0);
        let index = scene.add(body);
        let rod = JointKind::Distance { length: Some(length), limits: None, motor: None };
        scene.join(Joint::new(rod, index - 1, index));
    }
    // View: the circle through which they may swing.
    let reach = (real(bobs) + 0.2) * length;
    show(&mut scene, [-reach, -reach], [reach, reach]);
    scene
}

pub(super) const ROD_CHAIN: Entry = Entry {
    name: "rod_chain",
    topic: Topic::Joints,
    summary: "circles on rods swing from one that is fixed; rods that share a circle lose energy",
    source: "Physics engines for dummies (Paul Firth), whose circles keep their distance by a constraint between their \
             centres. With links=1 it is a pendulum of period 2π·√(length/gravity), for small swings. It keeps its \
             energy. Rods that share a circle lose some, though nothing damps them, and finer substeps change little: \
             8 lose 7.6 of 12.5 J in 20 s.",
    parameters: &[
        Parameter::whole("links", 8, 1, 10_000, "rods"),
        Parameter::real("length", 0.5, 0.05, 100.0, "length of a rod, m"),
        GRAVITY,
    ],
    steps: 900,
    count: |values| 1 + values.count("links"),
    construct: rod_chain,
};

fn rod_chain(values: &Values) -> Scene {
    let length = values.real("length");
    let mut scene = tutorial_scene(values);
    let circle = Shape::circle(0.3 * length);
    scene.add(Body::fixed(0.0, 0.0).shape(circle.clone()));
    for link in 1..=values.count("links") {
        let index = scene.add(Body::dynamic(real(link) * length, 0.0).shape(circle.clone()));
        let kind = JointKind::Distance { length: Some(length), limits: None, motor: None };
        scene.join(Joint::new(kind, index - 1, index));
    }
    // View: the half circle through which they swing.
    let reach = (real(values.count("links")) + 0.4) * length;
    show(&mut scene, [-reach, -reach], [reach, 0.5 * length]);
    scene
}

pub(super) const NAPHY_BRIDGE: Entry = Entry {
    name: "naphy_bridge",
    topic: Topic::Joints,
    summary: "planks hang on springs between two posts, and boxes fall onto them",
    source: "Physics simulation in 2D space (naphy, 2022): its bridge of bodies and Hooke's springs, and its solver: \
             10 sequential impulses, then positions are corrected by 0.6 of what exceeds a slop of 0.07 (there of \
             larger units, here 7 mm). Sizes and stiffness are ours.",
    parameters: &[
        Parameter::whole("planks", 12, 2, 1_000, "of 1 m"),
        Parameter::whole("boxes", 3, 0, 1_000, "boxes that fall onto the bridge"),
        Parameter::real("stiffness", 2_000.0, 10.0, 100_000.0, "stiffness of each spring, N/m; there are two per gap"),
        Parameter::real("damping", 20.0, 0.0, 1_000.0, "damping of each spring, N·s/m"),
        GRAVITY,
    ],
    steps: 900,
    count: |values| 2 + values.count("planks") + values.count("boxes"),
    construct: naphy_bridge,
};

fn naphy_bridge(values: &Values) -> Scene {
    /// Half size of a plank, m.
    const HALF: Vec2 = Vec2::new(0.4, 0.1);
    let planks = values.count("planks");
    let mut scene = tutorial_scene(values);
    let settings = &mut scene.settings;
    settings.mode = Mode::Projection;
    settings.iterations = Some(10);
    settings.baumgarte = 0.6;
    settings.slop = Some(0.007);
    let left = -0.5 * (real(planks) + 1.0);
    // The gap between a post and its neighbouring plank equals that between two planks.
    for at in 0..planks + 2 {
        let x = left + real(at);
        let end = at == 0 || at > planks;
        let body = if end { Body::fixed(x, 0.0) } else { Body::dynamic(x, 0.0) };
        let index = scene.add(body.shape(Shape::half_box(HALF.x, HALF.y)));
        if index > 0 {
            for side in [-1.0, 1.0] {
                let kind = JointKind::spring(values.real("stiffness"), values.real("damping"));
                let corner = |x: f32| [x, side * HALF.y];
                scene.join(Joint::new(kind, index - 1, index).anchors(corner(HALF.x), corner(-HALF.x)).collide());
            }
        }
    }
    let boxes = values.count("boxes");
    for index in 0..boxes {
        // At most one box above a plank; further boxes lie on top of these.
        let (column, row) = (index % planks.div_ceil(2), index / planks.div_ceil(2));
        let x = 1.5 * (real(column) - 0.5 * (real(boxes.min(planks.div_ceil(2))) - 1.0));
        scene.add(Body::dynamic(x, 2.0 + 1.5 * real(row)).shape(Shape::half_box(0.3, 0.3)));
    }
    scene
}

pub(super) const SPRINGS: Entry = Entry {
    name: "springs",
    topic: Topic::Joints,
    summary: "weights bob on springs, each twice as stiff as the one before",
    source: "Physics simulation in 2D space (naphy, 2022): Hooke's law with damping. Each weight of 1 kg starts where \
             its spring is slack: undamped it bobs by gravity/stiffness about that far below, with a period of \
             2π·√(1/stiffness).",
    parameters: &[
        Parameter::whole("count", 5, 1, 12, "weights"),
        Parameter::real("stiffness", 10.0, 1.0, 1_000.0, "stiffness of the first spring, N/m"),
        Parameter::real("damping", 0.0, 0.0, 100.0, "of each, N·s/m"),
        GRAVITY,
    ],
    steps: 600,
    count: |values| values.count("count"),
    construct: springs,
};

fn springs(values: &Values) -> Scene {
    let mut scene = tutorial_scene(values);
    let mut stiffness = values.real("stiffness");
    for index in 0..values.count("count") {
        let x = 1.5 * real(index);
        let mut weight = Body::dynamic(x, -1.0).shape(Shape::half_box(0.25, 0.25));
        weight.mass = Some(1.0);
        let index = scene.add(weight);
        let kind = JointKind::Spring { rest_length: Some(1.0), stiffness, damping: values.real("damping") };
        scene.join(Joint::to_world(kind, index).anchors([x, 0.0], [0.0, 0.0]));
        stiffness *= 2.0;
    }
    // Undamped, the softest spring stretches by twice the weight over its stiffness.
    let fall = 2.0 * values.real("gravity") / values.real("stiffness");
    show(&mut scene, [-0.75, -1.75 - fall], [1.5 * real(values.count("count")) - 0.75, 0.5]);
    scene
}

pub(super) const ROPE_WINCH_PISTON: Entry = Entry {
    name: "rope_winch_piston",
    topic: Topic::Joints,
    summary: "a rope catches a ball, a winch winds one up, a piston lifts a box",
    source: "Physics engines for dummies (Paul Firth) names them as inequality constraints, after LittleBigPlanet: the \
             length between two points is bounded. Sizes are ours.",
    parameters: &[
        Parameter::real("speed", 0.5, 0.01, 10.0, "speed of winch and piston, m/s"),
        Parameter::real("force", 200.0, 0.0, 100_000.0, "maximum force of each, N; their loads weigh about 8 and 25 N"),
        GRAVITY,
    ],
    steps: 600,
    count: |_| 5,
    construct: rope_winch_piston,
};

fn rope_winch_piston(values: &Values) -> Scene {
    let (speed, max) = (values.real("speed"), values.real("force"));
    let mut scene = tutorial_scene(values);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(10.0, 0.5)));
    let ball = Shape::circle(0.5);
    let rope = scene.add(Body::dynamic(-4.0, 5.0).id("rope").shape(ball.clone()));
    scene.join(Joint::to_world(JointKind::rope(3.0), rope).id("rope").anchors([-5.5, 5.0], [0.0, 0.0]));
    let winch = scene.add(Body::dynamic(-1.0, 0.5).id("winch").shape(ball));
    let wound =
        JointKind::Distance { length: None, limits: Some([1.0, 4.5]), motor: Some(Motor { speed: -speed, max }) };
    scene.join(Joint::to_world(wound, winch).id("winch").anchors([-1.0, 5.0], [0.0, 0.0]));
    // The head slides vertically; its height above the ground is limited and driven.
    let head = scene.add(Body::dynamic(4.0, 1.0).id("piston").shape(Shape::half_box(0.75, 0.25)));
    scene.join(Joint::to_world(JointKind::slider([0.0, 1.0]), head).anchors([4.0, 1.0], [0.0, 0.0]));
    let pushed = JointKind::Distance { length: None, limits: Some([0.75, 3.0]), motor: Some(Motor { speed, max }) };
    scene.join(Joint::to_world(pushed, head).id("piston").anchors([4.0, 0.0], [0.0, 0.0]));
    scene.add(Body::dynamic(4.0, 1.75).id("load").shape(Shape::half_box(0.5, 0.5)));
    // View: the ball on the rope swings to the left.
    show(&mut scene, [-9.0, -0.5], [6.0, 6.5]);
    scene
}

pub(super) const MOTORS: Entry = Entry {
    name: "motors",
    topic: Topic::Joints,
    summary: "a fan, a lift and a car: motors that turn, slide and drive",
    source: "How to Make a 2D Physics Engine: a bias that depends on time makes objects with prescribed motion, like \
             motors. Sizes are ours; the car's suspension is about Box2D's (4 Hz, damping 0.7).",
    parameters: &[
        Parameter::real(
            "speed",
            5.0,
            -50.0,
            50.0,
            "speed of the fan and, with opposite sign, of the car's wheels, rad/s",
        ),
        Parameter::real("torque", 50.0, 0.0, 10_000.0, "maximum torque of each of these motors, N·m"),
        GRAVITY,
    ],
    steps: 600,
    count: |_| 7,
    construct: motors,
};

fn motors(values: &Values) -> Scene {
    let (speed, torque) = (values.real("speed"), values.real("torque"));
    let mut scene = tutorial_scene(values);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(80.0, 0.5)));
    let fan = scene.add(Body::dynamic(-6.0, 3.0).id("fan").shape(Shape::half_box(2.0, 0.125)));
    let turned = Some(Motor { speed, max: torque });
    let hinge = JointKind::Revolute { reference_angle: None, limits: None, motor: turned, spring: None };
    scene.join(Joint::to_world(hinge, fan).id("fan").anchors([-6.0, 3.0], [0.0, 0.0]));
    // The lift carries a box to the top and holds it there.
    let lift = scene.add(Body::dynamic(0.0, 0.25).id("lift").shape(Shape::half_box(1.0, 0.125)));
    let lifted = JointKind::Prismatic {
        axis: Vec2::Y,
        reference_angle: None,
        limits: Some([0.0, 3.0]),
        motor: Some(Motor { speed: 1.0, max: 500.0 }),
        spring: None,
    };
    scene.join(Joint::to_world(lifted, lift).id("lift").anchors([0.0, 0.25], [0.0, 0.0]));
    scene.add(Body::dynamic(0.0, 0.875).id("load").shape(Shape::half_box(0.5, 0.5)));
    let car = scene.add(Body::dynamic(6.0, 1.0).id("car").shape(Shape::rounded_box(1.2, 0.2, 0.1)));
    for (id, x) in [("rear wheel", -0.9), ("front wheel", 0.9)] {
        let wheel = scene.add(Body::dynamic(6.0 + x, 0.4).id(id).shape(Shape::circle(0.4).friction(1.5)));
        let axle = JointKind::Wheel {
            axis: Vec2::Y,
            limits: Some([-0.2, 0.2]),
            // Clockwise rotation drives to the right.
            motor: Some(Motor { speed: -speed, max: torque }),
            spring: Some(Spring { hertz: 4.0, damping_ratio: 0.7, target: 0.0 }),
        };
        scene.join(Joint::new(axle, car, wheel).id(id).anchors([x, -0.6], [0.0, 0.0]));
    }
    scene
}

pub(super) const GEARS: Entry = Entry {
    name: "gears",
    topic: Topic::Joints,
    summary: "a motor drives four gear wheels and, by a belt, a paddle that stirs balls",
    source: "Ours; Box2D 2.4 has gear joints, from version 3 on it has none. Wheels do not touch: joints keep their turns \
             in the ratio of their teeth.",
    parameters: &[
        Parameter::real("speed", 6.0, -40.0, 40.0, "speed of the first wheel, rad/s"),
        Parameter::real("torque", 200.0, 0.0, 10_000.0, "maximum torque of the motor, N·m"),
        Parameter::whole("balls", 60, 0, 200, "balls in the trough"),
    ],
    steps: 600,
    count: |values| 6 + values.count("balls"),
    construct: gears,
};

/// Teeth by the radius of a wheel, 1/m.
const TEETH: f32 = 20.0;

/// Returns a gear wheel of `teeth` at a place, with a tooth or a gap to its left and right.
fn gear_wheel(teeth: u64, at: Vec2, gap: bool) -> Body {
    let radius = real(teeth) / TEETH;
    let pitch = std::f32::consts::TAU / real(teeth);
    let wheel = Body::dynamic(at.x, at.y).angle(if gap { 0.5 * pitch } else { 0.0 });
    (0..teeth).map(|tooth| rotation(pitch * real(tooth))).fold(
        wheel.shape(Shape::circle(radius - 0.1)),
        |wheel, turn| {
            let corner = |x: f32, y: f32| rotate(turn, Vec2::new(radius + x, y));
            wheel.shape(Shape::polygon([
                corner(-0.14, -0.09),
                corner(0.08, -0.04),
                corner(0.08, 0.04),
                corner(-0.14, 0.09),
            ]))
        },
    )
}

fn gears(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    // A trough: the paddle stirs what is in it.
    let trough = Body::fixed(0.0, 0.0).shape(Shape::half_box(80.0, 0.5).offset(0.0, -0.5));
    let wall = |x: f32| Shape::half_box(0.1, 1.6).offset(x, 1.6);
    scene.add(trough.shape(wall(3.5)).shape(wall(6.7)));
    let motor = Some(Motor { speed: values.real("speed"), max: values.real("torque") });
    let axle = |motor| JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
    let (mut x, mut last): (f32, Option<(u64, usize)>) = (-3.5, None);
    for (index, teeth) in [10, 20, 14, 28_u64].into_iter().enumerate() {
        if let Some((before, _)) = last {
            x += real(before + teeth) / TEETH;
        }
        let at = Vec2::new(x, 4.0);
        let wheel = scene.add(gear_wheel(teeth, at, index % 2 == 1).id(format!("wheel {}", index + 1)));
        scene.join(Joint::to_world(axle(motor.filter(|_| index == 0)), wheel).anchors(at, [0.0, 0.0]));
        if let Some((before, other)) = last {
            scene.join(Joint::new(JointKind::Gear { ratio: -real(before) / real(teeth) }, other, wheel));
        }
        last = Some((teeth, wheel));
    }
    let at = Vec2::new(5.1, 1.4);
    let paddle = Body::dynamic(at.x, at.y).id("paddle").shape(Shape::half_box(1.2, 0.08));
    let paddle = scene.add(paddle.shape(Shape::half_box(0.08, 1.2)));
    scene.join(Joint::to_world(axle(None), paddle).anchors(at, [0.0, 0.0]));
    if let Some((_, wheel)) = last {
        // The belt gives, so that a ball that is caught does not stop the wheels at once.
        scene.join(Joint::new(JointKind::Gear { ratio: 1.0 }, wheel, paddle).id("belt").soft(6.0, 0.5));
    }
    for index in 0..values.count("balls") {
        let (column, row) = (real(index % 8), real(index / 8));
        let ball = Shape::circle(0.15).friction(0.3);
        scene.add(Body::dynamic(3.9 + 0.34 * column + 0.02 * row.rem_euclid(2.0), 2.9 + 0.34 * row).shape(ball));
    }
    // View: the balls begin above the trough.
    show(&mut scene, [-4.5, -0.5], [8.0, 6.0]);
    scene
}

pub(super) const PULLEYS: Entry = Entry {
    name: "pulleys",
    topic: Topic::Joints,
    summary: "an Atwood machine, a block and tackle, and a slack rope that lifts its weight with a jerk",
    source: "Ours; Box2D 2.4 has pulley joints, from version 3 on it has none. The accelerations are those of textbooks: \
             (m₁ − m₂) g/(m₁ + m₂) for the first pair. A rope pulls and never pushes: where a weight lands, the other \
             flies on.",
    parameters: &[
        Parameter::real("heavy", 3.0, 0.1, 100.0, "mass of the heavier weights, kg"),
        Parameter::real("light", 2.0, 0.1, 100.0, "mass of the lighter weights, kg"),
        Parameter::real("ratio", 2.0, 0.1, 10.0, "ratio of the block and tackle"),
    ],
    steps: 600,
    count: |_| 7,
    construct: pulleys,
};

fn pulleys(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    let (heavy, light) = (values.real("heavy"), values.real("light"));
    let wheel = |x: f32| Shape::circle(0.15).offset(x, 7.0);
    let ground = Body::fixed(0.0, 0.0).shape(Shape::half_box(80.0, 0.5).offset(0.0, -0.5));
    scene.add([-6.0, -4.0, -1.0, 1.0, 4.0, 6.0].into_iter().map(wheel).fold(ground, Body::shape));
    // The middle of the pair, and height and mass of each weight.
    let mut pair = |name: &str, x: f32, [a, b]: [[f32; 2]; 2], ratio: f32, slack: f32| {
        let ends = [(a, "left", x - 1.0), (b, "right", x + 1.0)].map(|([y, mass], side, x)| {
            let half = 0.2 * mass.cbrt();
            let weight = Body::dynamic(x, y).mass(mass).id(format!("{name}, {side}"));
            (scene.add(weight.shape(Shape::half_box(half, half).friction(0.6))), half, 7.0 - y - half)
        });
        let [(a, top_a, side_a), (b, top_b, side_b)] = ends;
        let (ground_a, ground_b) = (Vec2::new(x - 1.0, 7.0), Vec2::new(x + 1.0, 7.0));
        let length = Some(side_a + ratio * side_b + slack);
        let rope = Joint::new(JointKind::Pulley { ground_a, ground_b, ratio, length }, a, b).id(name);
        scene.join(rope.anchors([0.0, top_a], [0.0, top_b]).collide());
    };
    pair("Atwood machine", -5.0, [[4.0, heavy], [1.0, light]], 1.0, 0.0);
    // The lighter weight lifts the heavier one.
    pair("block and tackle", 0.0, [[4.0, light], [0.4, heavy]], values.real("ratio"), 0.0);
    pair("slack rope", 5.0, [[4.0, heavy], [0.3, light]], 1.0, 1.5);
    // View: the wheels, and the weights on the ground.
    show(&mut scene, [-7.5, -0.5], [7.5, 7.5]);
    scene
}

pub(super) const STATIC_AND_KINETIC: Entry = Entry {
    name: "static_and_kinetic",
    topic: Topic::Friction,
    summary: "two blocks on a slope between two coefficients of friction: one rests, the other starts with a push and keeps sliding",
    source: "Physics simulation in 2D space (naphy, 2022): static and kinetic friction. On a slope whose tangent is \
             between the two, a block at rest stays, and one that slides accelerates by g·(sin − kinetic·cos). His \
             rule, as ours: within the static cone a contact sticks, beyond it the kinetic force acts.",
    parameters: &[
        Parameter::real("static", 0.6, 0.0, 10.0, "static friction coefficient of blocks and slope"),
        Parameter::real("ratio", 0.5, 0.0, 1.0, "ratio of the kinetic coefficient to the static one"),
        Parameter::real("tangent", 0.5, 0.0, 2.0, "rise over run; the slope falls to the left"),
        Parameter::real("push", 1.0, 0.0, 20.0, "initial speed of the lower block, down the slope, m/s"),
        GRAVITY,
    ],
    steps: 180,
    count: |_| 3,
    construct: static_and_kinetic,
};

fn static_and_kinetic(values: &Values) -> Scene {
    let friction = values.real("static");
    let kinetic = (values.real("ratio") * friction).min(friction);
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let angle = values.get("tangent").atan() as f32;
    let turn = rotation(angle);
    let rough = |shape: Shape| shape.friction(friction).kinetic_friction(kinetic);
    let mut scene = tutorial_scene(values);
    let slab = rotate(turn, Vec2::new(0.0, -1.0));
    scene.add(Body::fixed(slab.x, slab.y).angle(angle).shape(rough(Shape::half_box(100.0, 1.0))));
    for (id, along, speed) in [("resting", 2.0, 0.0), ("pushed", -2.0, values.real("push"))] {
        let at = rotate(turn, Vec2::new(along, 0.5));
        let velocity = rotate(turn, Vec2::new(-speed, 0.0));
        let block = Body::dynamic(at.x, at.y).angle(angle).velocity(velocity.x, velocity.y).id(id);
        scene.add(block.shape(rough(Shape::half_box(0.5, 0.5))));
    }
    scene
}

pub(super) const CONVEYOR: Entry = Entry {
    name: "conveyor",
    topic: Topic::Friction,
    summary: "boxes ride down a stack of belts, one to the right, the next to the left",
    source: "Drystone: friction against a moving surface, like Box2D's tangent speed.",
    parameters: &[
        Parameter::real("speed", 2.0, 0.0, 20.0, "speed of the belts, m/s"),
        Parameter::whole("boxes", 6, 1, 1_000, "boxes dropped one above the other"),
        Parameter::whole("belts", 3, 1, 100, "number of belts, one below the other"),
        GRAVITY,
    ],
    steps: 900,
    count: |values| 1 + values.count("belts") + values.count("boxes"),
    construct: conveyor,
};

fn conveyor(values: &Values) -> Scene {
    /// Half size of a belt, m.
    const HALF: [f32; 2] = [4.0, 0.25];
    const DROP: f32 = 2.0;
    let mut scene = tutorial_scene(values);
    let belts = values.count("belts");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    for belt in 0..belts {
        // From the top: to the right, to the left, …; each belt is shifted by 2 m towards the end of the one above.
        let direction = if belt % 2 == 0 { 1.0 } else { -1.0 };
        let y = DROP * real(belts - belt);
        let shape = Shape::half_box(HALF[0], HALF[1]).tangent_speed(direction * values.real("speed"));
        scene.add(Body::fixed(-2.0 * direction, y).shape(shape));
    }
    for index in 0..values.count("boxes") {
        let y = DROP * real(belts) + HALF[1] + 0.5 + 1.5 * real(index);
        scene.add(Body::dynamic(-4.0, y).shape(Shape::half_box(0.3, 0.3)));
    }
    scene
}
