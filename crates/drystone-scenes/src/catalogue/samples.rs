//! Scenes of Box2D's samples (`samples/sample_*.cpp` at 617d32ab), one or two for each of its groups that the other
//! scenes do not show: bodies, continuous collision, events, geometry, shapes.

use glam::Vec2;

use super::{Entry, Parameter, Topic, Values, box2d_scene, ground, real, show};
use crate::random::SplitMix;
use drystone::geometry::convex_hull;
use drystone::low_level::math::rotation;
use drystone::low_level::scene::{TimedAction, TimedCommand};
use drystone::{Body, Joint, JointCommand, JointKind, Path, Scene, Shape};

/// Kinds of a body that is let go, by the parameter `shape`.
const SHAPE: Parameter = Parameter::whole("shape", 0, 0, 2, "0 for a circle, 1 for a capsule, 2 for a box");

/// Returns the shape that the parameter `shape` selects of a circle, a capsule and a box.
fn selected(values: &Values, shapes: [Shape; 3]) -> Shape {
    let [circle, capsule, rectangle] = shapes;
    match values.count("shape") {
        0 => circle,
        1 => capsule,
        _ => rectangle,
    }
}

pub(super) const WEEBLE: Entry = Entry {
    name: "weeble",
    topic: Topic::Motion,
    summary: "a capsule with a weight at its foot falls over and rights itself",
    source: "Box2D Bodies/Weeble, which sets a centre of mass 1.5 m below the middle. Here a heavy disc in the foot puts it \
             there, with the same mass, 7.14 kg. It starts at 46° and not at 45°. The sample's button tips it over as angle=2.98 does.",
    parameters: &[Parameter::real("angle", 0.8, -3.1, 3.1, "angle at the start, rad; 0.8 is 46°")],
    steps: 600,
    count: |_| 2,
    construct: weeble,
};

fn weeble(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::segment([-20.0, 0.0], [20.0, 0.0])));
    let capsule = Shape::capsule([0.0, -1.0], [0.0, 1.0], 1.0).density(0.1);
    let weight = Shape::circle(0.25).offset(0.0, -1.65).density(32.7);
    scene.add(Body::dynamic(0.0, 3.0).angle(values.real("angle")).shape(capsule).shape(weight));
    show(&mut scene, [-7.0, -0.5], [7.0, 6.0]);
    scene
}

pub(super) const BOUNCE_HOUSE: Entry = Entry {
    name: "bounce_house",
    topic: Topic::Motion,
    summary: "a body without weight bounces between four walls and keeps its energy",
    source: "Box2D Continuous/Bounce House: a bullet of restitution 1, at 22 m/s.",
    parameters: &[SHAPE],
    steps: 900,
    count: |_| 2,
    construct: bounce_house,
};

fn bounce_house(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    let corners = [[-10.0, -10.0], [10.0, -10.0], [10.0, 10.0], [-10.0, 10.0]];
    let wall = |side: usize| Shape::segment(corners[side], corners[(side + 1) % 4]);
    scene.add((0..4).map(wall).fold(Body::fixed(0.0, 0.0), Body::shape));
    let shape = selected(
        values,
        [Shape::circle(0.5), Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.25), Shape::half_box(2.0, 0.1)],
    );
    let shape = shape.friction(0.0).restitution(1.0);
    scene.add(Body::dynamic(0.0, 0.0).velocity(10.0, 20.0).gravity_scale(0.0).bullet().shape(shape));
    show(&mut scene, [-10.5, -10.5], [10.5, 10.5]);
    scene
}

pub(super) const GHOST_BUMPS: Entry = Entry {
    name: "ghost_bumps",
    topic: Topic::Friction,
    summary: "a body slides down a slope and up another, over joints that it must not feel",
    source: "Box2D Continuous/Ghost Bumps: a valley of nine pieces of 8 m, as a closed chain, or as boxes side by side \
             (chain=0), at the joints of which bodies hop there.",
    parameters: &[
        SHAPE,
        Parameter::whole("chain", 1, 0, 1, "0 for boxes side by side"),
        Parameter::real("friction", 0.2, 0.0, 10.0, "friction of ground and body"),
    ],
    steps: 900,
    count: |_| 2,
    construct: ghost_bumps,
};

fn ghost_bumps(values: &Values) -> Scene {
    /// Half length and half height of a piece of the ground, m.
    const HALF: Vec2 = Vec2::new(4.0, 0.25);
    let friction = values.real("friction");
    let slope = rotation(std::f32::consts::FRAC_PI_4);
    // The upper side, from the right to the left: a slope of three pieces, three in the valley, a slope.
    let along = 2.0 * HALF.x * slope;
    let foot = Vec2::new(3.0 * HALF.x, HALF.y);
    let right = (0..=3_u8).rev().map(|piece| foot + f32::from(piece) * along);
    let valley = [1.0, -1.0].map(|x| Vec2::new(x * HALF.x, HALF.y));
    let left = right.clone().rev().map(|at| Vec2::new(-at.x, at.y));
    let top: Vec<Vec2> = right.chain(valley).chain(left).collect();
    let mut scene = box2d_scene();
    scene.add(if values.count("chain") == 1 {
        // The lower side comes back half a metre below, measured across each piece.
        let bend = 2.0 * HALF.y * (std::f32::consts::FRAC_PI_8).tan();
        let below = |at: &Vec2| match at.x.abs() {
            x if x < foot.x => Vec2::new(at.x, -HALF.y),
            x if x == foot.x => Vec2::new(at.x + bend.copysign(at.x), -HALF.y),
            _ => *at + 2.0 * HALF.y * Vec2::new(slope.y.copysign(at.x), -slope.x),
        };
        let bottom: Vec<Vec2> = top.iter().rev().map(below).collect();
        let links = Shape::chain_loop(top.into_iter().chain(bottom));
        Body::fixed(0.0, 0.0).shapes(links.into_iter().map(|link| link.friction(friction)))
    } else {
        let piece = |ends: &[Vec2]| {
            let (middle, along) = (ends[0].midpoint(ends[1]), (ends[0] - ends[1]).normalize());
            let at = middle - HALF.y * along.perp();
            Shape::half_box(HALF.x, HALF.y).offset(at.x, at.y).rotation(along.to_angle()).friction(friction)
        };
        top.windows(2).map(piece).fold(Body::fixed(0.0, 0.0), Body::shape)
    });
    let shape = selected(
        values,
        [Shape::circle(0.5), Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.25), Shape::half_box(0.5, 0.5)],
    );
    scene.add(Body::dynamic(-28.0, 18.0).shape(shape.friction(friction)));
    show(&mut scene, [-31.0, -1.0], [31.0, 20.0]);
    scene
}

pub(super) const PINBALL: Entry = Entry {
    name: "pinball",
    topic: Topic::Joints,
    summary: "flippers throw a ball up between bumpers and turning crosses",
    source: "Box2D Continuous/Pinball. There a key moves the flippers; here the scene's timeline does, every half second \
             for a quarter of a second. Its bumpers give 1.5 times the speed back, these give all of it.",
    parameters: &[Parameter::whole("balls", 1, 1, 100, "balls, side by side")],
    steps: 600,
    count: |values| 7 + values.count("balls"),
    construct: pinball,
};

fn pinball(values: &Values) -> Scene {
    /// Speed of a flipper on its way up and down, rad/s, and its largest torque, N·m.
    const UP: f32 = 20.0;
    const DOWN: f32 = 10.0;
    const TORQUE: f32 = 1_000.0;
    let mut scene = box2d_scene();
    let walls = [[-8.0, 6.0], [-8.0, 20.0], [8.0, 20.0], [8.0, 6.0], [0.0, -2.0]];
    scene.add(Body::fixed(0.0, 0.0).shapes(Shape::chain_loop(walls)));
    let mut flippers = Vec::new();
    for side in [-1.0, 1.0] {
        let flipper = scene.add(Body::dynamic(2.0 * side, 0.0).sleepless().shape(Shape::half_box(1.75, 0.2)));
        let (low, high) = (-30.0_f32.to_radians(), 5.0_f32.to_radians());
        let hinge = JointKind::hinge().motor(DOWN * side, TORQUE);
        let hinge = if side < 0.0 { hinge.limits(low, high) } else { hinge.limits(-high, -low) };
        flippers.push(scene.join(Joint::to_world(hinge, flipper).anchors([2.0 * side, 0.0], [0.0, 0.0])));
    }
    for at in [[-4.0, 17.0], [4.0, 8.0]] {
        let cross = Body::dynamic(at[0], at[1]).shape(Shape::half_box(1.5, 0.125)).shape(Shape::half_box(0.125, 1.5));
        let cross = scene.add(cross);
        // A motor at rest with a little torque, as friction of the bearing.
        scene.join(Joint::to_world(JointKind::hinge().motor(0.0, 0.1), cross).anchors(at, [0.0, 0.0]));
    }
    for [x, y] in [[-4.0, 8.0], [4.0, 17.0]] {
        scene.add(Body::fixed(x, y).shape(Shape::circle(1.0).restitution(1.0)));
    }
    for ball in 0..values.count("balls") {
        let x = 1.0 + 0.5 * real(ball % 12) * if ball % 2 == 0 { 1.0 } else { -1.0 };
        scene.add(Body::dynamic(x, 15.0 + 0.5 * real(ball / 12)).bullet().shape(Shape::circle(0.2)));
    }
    for half_second in 1..=100_u8 {
        let time = 0.5 * f64::from(half_second);
        for (&flipper, side) in flippers.iter().zip([-1.0, 1.0]) {
            let motor = |speed: f32| JointCommand::Motor { speed, max: TORQUE };
            let mut give = |time, speed| {
                scene.timeline.push(TimedCommand::at(time, TimedAction::Joint(flipper, motor(speed))));
            };
            give(time, -UP * side);
            give(time + 0.25, DOWN * side);
        }
    }
    scene
}

pub(super) const SENSOR_FUNNEL: Entry = Entry {
    name: "sensor_funnel",
    topic: Topic::Crowds,
    summary: "soft rings fall past three turning bars into a spout with a sensor",
    source: "Box2D Events/Sensor Funnel with its donuts: rings of seven capsules, joined by springy welds. There one comes \
             every half second and goes when the sensor sees it; here all are there at the start, the sensor's events \
             are switched on, and the rings stay.",
    parameters: &[Parameter::whole("rings", 24, 1, 36, "rings of seven bodies")],
    steps: 900,
    count: |values| 4 + 7 * values.count("rings"),
    construct: sensor_funnel,
};

fn sensor_funnel(values: &Values) -> Scene {
    /// The right side of the funnel, from its top to its bottom, m.
    const SIDE: [[f32; 2]; 10] = [
        [16.867, 31.089],
        [16.867, 17.198],
        [8.268, 11.906],
        [16.867, 11.906],
        [16.867, -0.661],
        [8.268, -5.953],
        [16.867, -5.953],
        [16.867, -13.229],
        [3.638, -23.151],
        [3.638, -31.089],
    ];
    let mut scene = box2d_scene();
    scene.settings.events = true;
    let left = SIDE.iter().rev().map(|&[x, y]| [-x, y]);
    let walls = Shape::chain_loop(SIDE.into_iter().chain(left)).into_iter().map(|link| link.friction(0.2));
    let sensor = Shape::half_box(4.0, 1.0).offset(0.0, -30.5).sensor();
    scene.add(Body::fixed(0.0, 0.0).shapes(walls).shape(sensor));
    for (y, speed) in [(14.0, 2.0), (0.0, -2.0), (-14.0, 2.0)] {
        let bar = scene.add(Body::dynamic(0.0, y).shape(Shape::half_box(6.0, 0.5).friction(0.1).restitution(1.0)));
        scene.join(Joint::to_world(JointKind::hinge().motor(speed, 200.0), bar).anchors([0.0, y], [0.0, 0.0]));
    }
    for ring in 0..values.count("rings") {
        let column = [-15.0, 15.0, -11.5, 11.5, -8.0, 8.0, -4.5, 4.5, 0.0][(ring % 9) as usize];
        add_ring(&mut scene, Vec2::new(column, 29.0 - 3.0 * real(ring / 9)));
    }
    scene
}

/// Adds a ring of seven capsules, which springy welds hold together.
fn add_ring(scene: &mut Scene, middle: Vec2) {
    const SIDES: u8 = 7;
    let turn = std::f32::consts::TAU / f32::from(SIDES);
    let half = 0.5 * turn;
    let first = scene.bodies.len();
    for side in 0..SIDES {
        let angle = turn * f32::from(side);
        let at = middle + rotation(angle);
        let capsule = Shape::capsule([0.0, -half], [0.0, half], 0.25).friction(0.3);
        scene.add(Body::dynamic(at.x, at.y).angle(angle).shape(capsule));
    }
    for side in 0..usize::from(SIDES) {
        let before = first + (side + usize::from(SIDES) - 1) % usize::from(SIDES);
        let weld = JointKind::weld().angular_soft(5.0, 0.0);
        scene.join(Joint::new(weld, before, first + side).anchors([0.0, half], [0.0, -half]));
    }
}

pub(super) const CONVEX_HULL: Entry = Entry {
    name: "convex_hull",
    topic: Topic::Crowds,
    summary: "convex hulls of eight random points each fall into a bin",
    source: "Box2D Geometry/Convex Hull, which draws the hull of random points that are moved onto a square, so that some \
             are in line. Here the hulls are bodies of about a metre and fall.",
    parameters: &[
        Parameter::whole("bodies", 100, 1, 100_000, "hulls"),
        Parameter::whole("seed", 1, 0, 1_000, "start of the sequence of random numbers"),
    ],
    steps: 600,
    count: |values| 1 + values.count("bodies"),
    construct: convex_hulls,
};

fn convex_hulls(values: &Values) -> Scene {
    const PITCH: f32 = 1.6;
    let count = values.count("bodies");
    let columns = (0..=count).find(|side| side * side >= count).unwrap_or(1).max(4);
    let width = PITCH * real(columns);
    let height = PITCH * real(count.div_ceil(columns));
    let mut dice = SplitMix(values.count("seed"));
    let mut scene = box2d_scene();
    let wall = |x: f32| Shape::half_box(0.5, 0.5 * height + 0.5).offset(x, 0.5 * height - 0.5);
    let floor = Shape::half_box(0.5 * width + 1.0, 0.5).offset(0.0, -0.5);
    scene.add(Body::fixed(0.0, 0.0).shape(floor).shape(wall(-0.5 * width - 0.5)).shape(wall(0.5 * width + 0.5)));
    for index in 0..count {
        // Some draws have no area, or less than a body needs.
        let hull = loop {
            let mut point = || Vec2::new(dice.unit() - 0.5, dice.unit() - 0.5) * 1.75;
            let points: Vec<Vec2> = (0..8).map(|_| point().clamp(Vec2::splat(-0.7), Vec2::splat(0.7))).collect();
            let hull = convex_hull(&points).map(blunted).unwrap_or_default();
            if area(&hull) > 0.3 {
                break hull;
            }
        };
        let (x, y) = (real(index % columns) + 0.5 - 0.5 * real(columns), real(index / columns) + 0.5);
        scene.add(Body::dynamic(PITCH * x, PITCH * y).shape(Shape::polygon(hull).friction(0.6)));
    }
    scene
}

/// Returns a convex polygon without the corners that stand out by less than 2 cm, which Box2D leaves out too.
fn blunted(mut corners: Vec<Vec2>) -> Vec<Vec2> {
    let stands_out = |corners: &[Vec2], at: usize| {
        let [before, after] = [corners.len() - 1, 1].map(|step| corners[(at + step) % corners.len()]);
        (corners[at] - before).perp_dot((after - before).normalize_or_zero()) > 0.02
    };
    while let Some(at) = (0..corners.len()).find(|&at| !stands_out(&corners, at)) {
        corners.remove(at);
    }
    corners
}

/// Returns the area of a polygon, m².
fn area(corners: &[Vec2]) -> f32 {
    let after = corners.iter().cycle().skip(1);
    corners.iter().zip(after).map(|(a, b)| 0.5 * a.perp_dot(*b)).sum()
}

pub(super) const ROLLING_RESISTANCE: Entry = Entry {
    name: "rolling_resistance",
    topic: Topic::Friction,
    summary: "balls roll on shelves, each with more resistance than the one below",
    source: "Box2D Shapes/Rolling Resistance; lift=5 and lift=-5 are its keys 2 and 3. On level shelves a ball with the \
             resistance c rolls v²/(4/3·c·g) far: 93.75 m at 0.02.",
    parameters: &[
        Parameter::whole("shelves", 20, 1, 1_000, "shelves, each with a ball"),
        Parameter::real("step", 0.02, 0.0, 1.0, "resistance by which a ball exceeds the one below"),
        Parameter::real("lift", 0.0, -5.0, 5.0, "height by which the right end of a shelf is above its left end, m"),
    ],
    steps: 900,
    count: |values| 1 + values.count("shelves"),
    construct: rolling_resistance,
};

fn rolling_resistance(values: &Values) -> Scene {
    let (shelves, lift) = (values.count("shelves"), values.real("lift"));
    let mut scene = box2d_scene();
    let shelf = |index: u64| Shape::segment([-40.0, 2.0 * real(index)], [40.0, 2.0 * real(index) + lift]);
    scene.add((0..shelves).map(shelf).fold(Body::fixed(0.0, 0.0), Body::shape));
    for index in 0..shelves {
        let ball = Shape::circle(0.5).rolling_resistance(values.real("step") * real(index));
        let body = Body::dynamic(-39.5, 2.0 * real(index) + 0.75).velocity(5.0, 0.0).angular_velocity(-10.0);
        scene.add(body.shape(ball));
    }
    show(&mut scene, [-41.0, -1.0 + lift.min(0.0)], [41.0, 2.0 * real(shelves) + lift.max(0.0)]);
    scene
}

pub(super) const RESTITUTION: Entry = Entry {
    name: "restitution",
    topic: Topic::Motion,
    summary: "bodies from dull to elastic fall side by side",
    source: "Box2D Shapes/Restitution: circles, or boxes (shape=2), fall by 39.5 m onto a segment. One of restitution e \
             comes back to e² of that.",
    parameters: &[Parameter::whole("count", 40, 2, 1_000, "bodies"), SHAPE],
    steps: 900,
    count: |values| 1 + values.count("count"),
    construct: restitution,
};

fn restitution(values: &Values) -> Scene {
    let count = values.count("count");
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::segment([-real(count), 0.0], [real(count), 0.0])));
    let shape = selected(
        values,
        [Shape::circle(0.5), Shape::capsule([-0.25, 0.0], [0.25, 0.0], 0.25), Shape::half_box(0.5, 0.5)],
    );
    for index in 0..count {
        let restitution = real(index) / real(count - 1);
        let body = Body::dynamic(2.0 * real(index) - real(count - 1), 40.0);
        scene.add(body.shape(shape.clone().restitution(restitution)));
    }
    show(&mut scene, [-real(count), -1.0], [real(count), 41.0]);
    scene
}

pub(super) const PLATFORMER: Entry = Entry {
    name: "platformer",
    topic: Topic::Motion,
    summary: "balls jump through platforms from below, land on them, and one carries boxes",
    source: "Box2D Events/Platformer: a platform that bodies pass from below and a moving one. A key makes the player jump \
             there; here balls are thrown up under three platforms, and the fourth carries boxes to and fro.",
    parameters: &[Parameter::real("speed", 13.0, 0.0, 50.0, "upward speed of the balls, m/s")],
    steps: 600,
    count: |_| 10,
    construct: platformer,
};

fn platformer(values: &Values) -> Scene {
    let mut scene = box2d_scene();
    scene.add(ground(20.0));
    // From the right to the left, so that bodies touch it from above.
    let platform = |y: f32| Shape::chain([[2.5, y], [-2.5, y]]).into_iter().map(Shape::one_way).collect::<Vec<_>>();
    for (x, y) in [(-12.0, 3.0), (-5.0, 5.0), (2.0, 7.0)] {
        scene.add(Body::fixed(x, 0.0).shapes(platform(y)));
        scene.add(Body::dynamic(x, 0.5).velocity(0.0, values.real("speed")).shape(Shape::circle(0.5)));
    }
    let to_and_fro = Path { amplitude: Vec2::new(3.0, 0.0), turn: 0.0, rate: 1.0, phase: 0.0 };
    scene.add(Body::kinematic(11.0, 3.0).path(to_and_fro).shapes(platform(0.0)));
    for x in [10.0, 12.0] {
        // At the speed of the platform.
        scene.add(Body::dynamic(x, 3.5).velocity(3.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    }
    scene
}
