//! Scenes of Box2D's benchmarks (`shared/benchmarks.c` at 617d32ab, release sizes), used to compare speed.

use glam::Vec2;

use super::ragdoll::{self, Hinges};
use super::{Entry, Parameter, Topic, Values, box2d_scene, ground, pyramid, pyramid_count, real, show};
use drystone::low_level::math::rotation;
use drystone::{Body, Emitter, Filter, Joint, JointKind, Motor, Path, Scene, Shape};

/// Speed of drums, rad/s: 25° per second.
const DRUM_SPEED: f64 = 25.0 * std::f64::consts::PI / 180.0;
/// A motor torque without practical limit, N·m: Box2D uses the largest f32, this the largest value that a file accepts.
const ANY_TORQUE: f32 = 1e15;

pub(super) const LARGE_PYRAMID: Entry = Entry {
    name: "large_pyramid",
    topic: Topic::Stacks,
    summary: "one pyramid of 1 m boxes, as many rows as the lowest has boxes: deep stacking",
    source: "Box2D large_pyramid. The ground grows with bases above 100. There, drop is 0.",
    parameters: &[
        Parameter::whole("base", 100, 1, 10_000, "boxes in the lowest row; 1413 are a million boxes"),
        Parameter::real("drop", 0.0, 0.0, 100.0, "height above the ground from which the pyramid falls, m"),
    ],
    steps: 500,
    count: |values| 1 + pyramid_count(values.count("base")),
    construct: large_pyramid,
};

fn large_pyramid(values: &Values) -> Scene {
    let base = values.count("base");
    let mut scene = box2d_scene();
    scene.add(ground(real(base).max(100.0)));
    pyramid(&mut scene, base, 0.5, 0.5, [-0.5 * real(base), values.real("drop")]);
    scene
}

pub(super) const MANY_PYRAMIDS: Entry = Entry {
    name: "many_pyramids",
    topic: Topic::Stacks,
    summary: "pyramids of boxes on shelves: many small islands",
    source: "Box2D many_pyramids. Its shelves are segments, as here with segments=1; else boxes 0.5 m thick with their \
             tops on the segments: 0.5 m stay free above the pyramid below.",
    parameters: &[
        Parameter::whole("rows", 20, 1, 900, "number of shelves; 135 with 135 columns make a million boxes"),
        Parameter::whole("columns", 20, 1, 900, "pyramids per shelf"),
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row of a pyramid"),
        Parameter::whole("segments", 0, 0, 1, "1: shelves are segments, as in Box2D; 0: boxes"),
    ],
    steps: 200,
    count: |values| 1 + values.count("rows") * values.count("columns") * pyramid_count(values.count("base")),
    construct: many_pyramids,
};

/// Half the thickness of a shelf, m. The apex below ends 1 m under the top of the next shelf.
const SHELF: f32 = 0.25;

fn many_pyramids(values: &Values) -> Scene {
    let [rows, columns, base] = ["rows", "columns", "base"].map(|name| values.count(name));
    let pitch = real(base + 1);
    let left = -0.5 * pitch * real(columns);
    let mut scene = box2d_scene();
    // A single box per shelf, however wide: with a tile per pyramid, finding the pairs took four times as long.
    let mut shelves = Body::fixed(0.0, 0.0);
    for row in 0..rows {
        let y = real(row) * pitch;
        shelves = shelves.shape(if values.count("segments") == 1 {
            Shape::segment([left, y], [-left, y])
        } else {
            Shape::half_box(-left, SHELF).offset(0.0, y - SHELF)
        });
    }
    scene.add(shelves);
    for row in 0..rows {
        for column in 0..columns {
            let center = left + real(column) * pitch + 1.0;
            pyramid(&mut scene, base, 0.5, 0.5, [center - 0.5, real(row) * pitch]);
        }
    }
    scene
}

pub(super) const SMASH: Entry = Entry {
    name: "smash",
    topic: Topic::Crowds,
    summary: "a heavy block flies into a wall of small boxes, without gravity",
    source: "Box2D smash, where the wall sleeps until it is hit; here it is awake at rest. The wall's boxes touch.",
    parameters: &[
        Parameter::whole("columns", 120, 1, 4_000, "columns of boxes"),
        Parameter::whole("rows", 80, 1, 4_000, "rows of boxes"),
        Parameter::real("speed", 40.0, 0.0, 300.0, "speed of the block, m/s"),
        Parameter::real("density", 8.0, 0.1, 1_000.0, "density of the block, kg/m²; the boxes have 1"),
    ],
    steps: 300,
    count: |values| 1 + values.count("columns") * values.count("rows"),
    construct: smash,
};

fn smash(values: &Values) -> Scene {
    const SIDE: f32 = 0.4;
    let rows = values.count("rows");
    let mut scene = box2d_scene().gravity(0.0, 0.0);
    let block = Shape::half_box(4.0, 4.0).density(values.real("density"));
    scene.add(Body::dynamic(-20.0, 0.0).velocity(values.real("speed"), 0.0).shape(block));
    for column in 0..values.count("columns") {
        for row in 0..rows {
            let x = real(column) * SIDE + 30.0;
            let y = (real(row) - 0.5 * real(rows)) * SIDE;
            scene.add(Body::dynamic(x, y).shape(Shape::half_box(0.5 * SIDE, 0.5 * SIDE)));
        }
    }
    scene
}

pub(super) const TUMBLER: Entry = Entry {
    name: "tumbler",
    topic: Topic::Crowds,
    summary: "small boxes in a turning drum: contacts that never rest",
    source: "Box2D tumbler, whose drum is dynamic (density 50) on a motor of 1e8 N·m, strong enough to turn as if \
             nothing were inside: motor=1. Else the drum is kinematic. Its half width is 0.2·grid + 1 m: 10 m at 45.",
    parameters: &[
        Parameter::whole("grid", 45, 1, 4_000, "boxes per side of a square grid; 1000 make a million boxes"),
        Parameter::real("speed", DRUM_SPEED, -5.0, 5.0, "speed of the drum, rad/s; the default is 25° per second"),
        Parameter::whole("motor", 0, 0, 1, "1: the drum is dynamic and a motor turns it, as in Box2D; 0: kinematic"),
    ],
    steps: 750,
    count: |values| 1 + values.count("grid") * values.count("grid"),
    construct: tumbler,
};

fn tumbler(values: &Values) -> Scene {
    let grid = values.count("grid");
    let half = 0.2 * real(grid) + 1.0;
    let mut scene = box2d_scene();
    let speed = values.real("speed");
    let driven = values.count("motor") == 1;
    let mut drum = if driven { Body::dynamic(0.0, 10.0) } else { Body::kinematic(0.0, 10.0).angular_velocity(speed) };
    for side in [1.0, -1.0] {
        drum = drum.shape(Shape::half_box(0.5, half).offset(side * half, 0.0).density(50.0));
    }
    for side in [1.0, -1.0] {
        drum = drum.shape(Shape::half_box(half, 0.5).offset(0.0, side * half).density(50.0));
    }
    let drum = scene.add(drum);
    if driven {
        scene.join(turned_by(speed, 1e8, drum).anchors([0.0, 10.0], [0.0, 0.0]));
    }
    // View: the circle through which the corners turn.
    let reach = Vec2::splat(1.45 * (half + 0.5));
    show(&mut scene, Vec2::new(0.0, 10.0) - reach, Vec2::new(0.0, 10.0) + reach);
    let corner = Vec2::new(-0.2 * real(grid), -0.2 * real(grid) + 10.0);
    for row in 0..grid {
        for column in 0..grid {
            let at = corner + 0.4 * Vec2::new(real(column), real(row));
            scene.add(Body::dynamic(at.x, at.y).shape(Shape::half_box(0.125, 0.125)));
        }
    }
    scene
}

/// Returns a hinge in the world with a motor; its anchors are at the origins unless moved.
fn turned_by(speed: f32, max: f32, body: usize) -> Joint {
    let motor = Some(Motor { speed, max });
    Joint::to_world(JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None }, body)
}

pub(super) const JOINT_GRID: Entry = Entry {
    name: "joint_grid",
    topic: Topic::Joints,
    summary: "a cloth of circles on hinges hangs from a few of them",
    source: "Box2D joint_grid. solver2d's Joint Grid is the same at twice the gravity. Circles do not \
             touch each other. Box2D also joins the seven that hold it to each other, which does nothing and is \
             refused here: 19,794 joints at its size, not 19,800.",
    parameters: &[Parameter::whole("size", 100, 1, 1_400, "circles per side of a square grid")],
    steps: 500,
    count: |values| values.count("size") * values.count("size"),
    construct: joint_grid,
};

fn joint_grid(values: &Values) -> Scene {
    const HINGE: JointKind = JointKind::Revolute { reference_angle: None, limits: None, motor: None, spring: None };
    let size = values.count("size");
    let circle = Shape::circle(0.4).filter(Filter { category: 2, mask: !2, group: 0 });
    let mut scene = box2d_scene();
    for column in 0..size {
        for row in 0..size {
            let held = row == 0 && column.abs_diff(size / 2) <= 3;
            let (x, y) = (real(column), -real(row));
            let body = if held { Body::fixed(x, y) } else { Body::dynamic(x, y) };
            let index = scene.add(body.shape(circle.clone()));
            // Two held circles need no hinge between them, and may not have one.
            let mut join = |other: usize, to_other: [f32; 2]| {
                let moves = |body: usize| scene.bodies[body].kind == drystone::BodyType::Dynamic;
                if moves(other) || moves(index) {
                    let anchor = Vec2::from(to_other);
                    scene.join(Joint::new(HINGE, other, index).anchors(-anchor, anchor));
                }
            };
            if row > 0 {
                join(index - 1, [0.0, 0.5]);
            }
            if column > 0 {
                let column_before = usize::try_from(size).unwrap_or(0);
                join(index - column_before, [-0.5, 0.0]);
            }
        }
    }
    scene
}

pub(super) const WASHER: Entry = Entry {
    name: "washer",
    topic: Topic::Crowds,
    summary: "a round drum with paddles turns small boxes",
    source: "Box2D washer, whose drum is kinematic and creeps, too. The drum grows with grids above 90. Hit events are \
             not reported.",
    parameters: &[
        Parameter::whole("grid", 90, 1, 2_000, "boxes per side of a square grid"),
        Parameter::real("speed", DRUM_SPEED, -5.0, 5.0, "speed of the drum, rad/s; the default is 25° per second"),
    ],
    steps: 500,
    count: |values| 1 + values.count("grid") * values.count("grid"),
    construct: washer,
};

fn washer(values: &Values) -> Scene {
    const HALF: f32 = 0.1;
    /// Angle of each of the drum's 36 pieces, with an overlap of 1° into each neighbour.
    const PIECE: f32 = std::f32::consts::PI / 18.0;
    const LAP: f32 = 0.1 * PIECE;
    let grid = values.count("grid");
    let scale = (real(grid) / 90.0).max(1.0);
    let [paddle, inner, outer] = [14.0, 16.0, 18.0].map(|radius| radius * scale);
    let sector = |from: f32, to: f32, near: f32, far: f32| {
        let [from, to] = [from, to].map(rotation);
        Shape::polygon([near * from, far * from, far * to, near * to])
    };
    let mut drum = Body::kinematic(0.0, 10.0).velocity(0.001, -0.002).angular_velocity(values.real("speed"));
    for piece in 0..36 {
        let from = PIECE * real(piece);
        drum = drum.shape(sector(from - LAP, from + PIECE + LAP, inner, outer));
        if piece % 9 == 0 {
            drum = drum.shape(sector(from, from + PIECE, paddle, inner));
        }
    }
    let mut scene = box2d_scene();
    scene.add(drum);
    let corner = Vec2::new(0.0, 10.0) - 1.1 * HALF * real(grid);
    for row in 0..grid {
        for column in 0..grid {
            let at = corner + 2.1 * HALF * Vec2::new(real(column), real(row));
            scene.add(Body::dynamic(at.x, at.y).shape(Shape::half_box(HALF, HALF)));
        }
    }
    scene
}

pub(super) const SPINNER: Entry = Entry {
    name: "spinner",
    topic: Topic::Crowds,
    summary: "a bar stirs capsules, circles and boxes in a round vessel",
    source: "Box2D spinner (of 3.2; it had half as many bodies before). The vessel's 360 segments are solid from both \
             sides, Box2D's chain from the inside only and smooth at its corners. The bar's tip strikes at 100 m/s. \
             Bodies begin in each other, as in Box2D, and as many as there press six capsules through the vessel in \
             20 s.",
    parameters: &[
        Parameter::whole("bodies", 6_076, 0, 11_000, "number of stirred bodies; 11,000 fill the vessel"),
        Parameter::real("speed", 5.0, -20.0, 20.0, "speed of the bar, rad/s"),
    ],
    steps: 500,
    count: |values| 2 + values.count("bodies"),
    construct: spinner,
};

fn spinner(values: &Values) -> Scene {
    const SEGMENTS: u64 = 360;
    const COLUMNS: u64 = 92;
    let mut scene = box2d_scene();
    let point = |index: u64| {
        let angle = -std::f32::consts::TAU * real(index % SEGMENTS) / real(SEGMENTS);
        40.0 * rotation(angle) + Vec2::new(0.0, 32.0)
    };
    let mut vessel = Body::fixed(0.0, 0.0);
    for index in 0..SEGMENTS {
        vessel = vessel.shape(Shape::segment(point(index), point(index + 1)).friction(0.1));
    }
    scene.add(vessel);
    let bar = scene.add(Body::dynamic(0.0, 12.0).shape(Shape::rounded_box(0.4, 20.0, 0.2).friction(0.0)));
    scene.join(turned_by(values.real("speed"), ANY_TORQUE, bar).anchors([0.0, 12.0], [0.0, 0.0]));
    let kinds = [Shape::capsule([-0.25, 0.0], [0.25, 0.0], 0.25), Shape::circle(0.35), Shape::half_box(0.35, 0.35)]
        .map(|shape| shape.density(0.25).friction(0.1).restitution(0.1));
    for (index, kind) in (0..values.count("bodies")).zip(kinds.iter().cycle()) {
        let (x, y) = (-23.0 + 0.5 * real(index % COLUMNS), 2.0 + 0.5 * real(index / COLUMNS));
        scene.add(Body::dynamic(x, y).shape(kind.clone()));
    }
    scene
}

/// Returns a vessel of 1 m tiles: a floor from −`half` to `half` at y = 0, and a wall of `height` tiles at each end.
fn tiled_vessel(half: u64, height: u64) -> Body {
    let mut vessel = Body::fixed(0.0, 0.0);
    for tile in 0..=2 * half {
        vessel = vessel.shape(Shape::half_box(0.55, 0.5).offset(real(tile) - real(half), 0.0));
    }
    for x in [-real(half), real(half)] {
        for tile in 1..=height {
            vessel = vessel.shape(Shape::half_box(0.5, 0.55).offset(x, real(tile)));
        }
    }
    vessel
}

pub(super) const COMPOUNDS: Entry = Entry {
    name: "compounds",
    topic: Topic::Crowds,
    summary: "hooks of two triangles each fall into a heap and interlock",
    source: "Box2D compounds.",
    parameters: &[
        Parameter::whole("columns", 20, 1, 39, "columns of hooks"),
        Parameter::whole("rows", 150, 1, 20_000, "rows of hooks"),
    ],
    steps: 500,
    count: |values| 1 + values.count("columns") * values.count("rows"),
    construct: compounds,
};

fn compounds(values: &Values) -> Scene {
    let [columns, rows] = ["columns", "rows"].map(|name| values.count(name));
    let mut scene = box2d_scene();
    scene.add(tiled_vessel(40, 100).shape(Shape::segment([-800.0, -80.0], [800.0, -80.0])));
    let left = Shape::polygon([[-1.0, 0.0], [0.5, 1.0], [0.0, 2.0]]).friction(0.5);
    let right = Shape::polygon([[1.0, 0.0], [0.0, 2.0], [-0.5, 1.0]]).friction(0.5);
    let mut side = 0.25;
    for column in 0..columns {
        let x = 2.0 * real(column) - (real(columns) - 1.0);
        for row in 0..rows {
            let y = 2.25 * real(row) + 0.575 + 5.0;
            scene.add(Body::dynamic(x + side, y).shape(left.clone()).shape(right.clone()));
            side = -side;
        }
    }
    scene
}

pub(super) const JUNKYARD: Entry = Entry {
    name: "junkyard",
    topic: Topic::Crowds,
    summary: "crooked pentagons fall into a yard, and a block pushes through them",
    source: "Box2D junkyard, where the block oscillates by 60·sin(0.2·t) m.",
    parameters: &[
        Parameter::whole("columns", 200, 1, 200, "columns of pentagons"),
        Parameter::whole("rows", 40, 1, 5_000, "rows of pentagons"),
        Parameter::real("swing", 60.0, 0.0, 75.0, "amplitude of the block's motion, m"),
    ],
    steps: 800,
    count: |values| 2 + values.count("columns") * values.count("rows"),
    construct: junkyard,
};

fn junkyard(values: &Values) -> Scene {
    const RADIUS: f32 = 0.25;
    /// Box2D's angle between consecutive corners, rad; a golden angle would be π·(3 − √5).
    const STEP: f32 = std::f32::consts::PI * 1.236_068;
    let [columns, rows] = ["columns", "rows"].map(|name| values.count(name));
    let mut scene = box2d_scene();
    scene.add(tiled_vessel(80, 50));
    // Sorted by angle: 0°, 85°, 170°, 222° and 307°.
    let pentagon = Shape::polygon([0, 2, 4, 1, 3].map(|corner| RADIUS * rotation(STEP * real(corner))));
    let mut side = -0.1;
    for column in 0..columns {
        let x = 1.5 * (2.0 * real(column) - real(columns)) * RADIUS;
        for row in 0..rows {
            let y = 4.0 * real(row) * RADIUS + 15.0;
            scene.add(Body::dynamic(x + side, y).shape(pentagon.clone()));
            side = -side;
        }
    }
    let block = Shape::half_box(2.0, 4.0).offset(0.0, 4.0);
    let path = Path { amplitude: Vec2::new(values.real("swing"), 0.0), rate: 0.2, ..Path::default() };
    scene.add(Body::kinematic(0.0, 0.0).path(path).shape(block));
    scene
}

pub(super) const RAIN: Entry = Entry {
    name: "rain",
    topic: Topic::Crowds,
    summary: "ragdolls rain onto floors, column by column; when all columns are full the oldest ragdolls are removed",
    source: "Box2D rain: every 8 steps one column of 25 ragdolls comes, from left to right; when all 40 are there, its \
             old ones go as the new ones come, 320 steps later. With fewer columns, or a shorter delay, there is a pause \
             between two rounds, so that ragdolls still stay that long: in 170 steps they fall to their floor.",
    parameters: &[
        Parameter::whole("rows", 5, 1, 20, "floors"),
        Parameter::whole("columns", 40, 1, 40, "groups of ragdolls above a floor"),
        Parameter::whole("group", 5, 1, 5, "ragdolls in a group, half a metre apart"),
        Parameter::whole("delay", 8, 1, 1_000, "steps between two columns"),
        Parameter::whole("stay", 320, 1, 10_000, "steps that ragdolls stay at least"),
    ],
    steps: 1_000,
    count: |values| 1 + values.count("rows") * values.count("columns") * values.count("group") * ragdoll::BONES,
    construct: rain,
};

fn rain(values: &Values) -> Scene {
    const TILE: f32 = 0.5;
    const TILES: u64 = 500;
    const SPAN: f32 = TILE * TILES as f32;
    const FLOOR: f32 = 45.0;
    let [rows, columns, group, delay] = ["rows", "columns", "group", "delay"].map(|name| values.count(name));
    let round = (columns * delay).max(values.count("stay"));
    let mut scene = box2d_scene();
    let mut floors = Body::fixed(0.0, 0.0);
    for row in 0..rows {
        for tile in 0..=TILES {
            let at = Vec2::new(TILE * real(tile) - 0.5 * SPAN, FLOOR * real(row));
            floors = floors.shape(Shape::half_box(0.5 * TILE, 0.5 * TILE).offset(at.x, at.y));
        }
    }
    scene.add(floors);
    let hinges = Hinges { friction_torque: 0.05, hertz: 5.0, damping_ratio: 0.5 };
    for column in 0..columns {
        let left = -0.5 * SPAN + SPAN / real(columns) * (real(column) + 0.5);
        let steps = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let mut drop = Emitter::default().start(steps(column * delay)).every(steps(round)).keep(1);
        for row in 0..rows {
            for (index, number) in (0..group).zip(1..) {
                let at = Vec2::new(left + 0.5 * real(index), 40.0 + FLOOR * real(row));
                ragdoll::add((&mut drop.bodies, &mut drop.joints), at, number, hinges, false);
            }
        }
        scene.emit(drop);
    }
    scene
}
