//! Box2D's benchmarks (`shared/benchmarks.c` at 617d32ab, release sizes): the scenes that speed is compared on.

use glam::Vec2;

use super::{Entry, Parameter, Values, box2d_scene, ground, pyramid, pyramid_count, real};
use crate::scene::{Body, Scene, Shape};

pub(super) const LARGE_PYRAMID: Entry = Entry {
    name: "large_pyramid",
    summary: "one pyramid of 1 m boxes, 100 wide and 100 high: deep stacking",
    source: "Box2D large_pyramid. The ground grows with bases above 100.",
    parameters: &[Parameter::whole("base", 100, 1, 10_000, "boxes in the lowest row; 1413 are a million boxes")],
    steps: 500,
    count: |values| 1 + pyramid_count(values.count("base")),
    construct: large_pyramid,
};

fn large_pyramid(values: &Values) -> Scene {
    let base = values.count("base");
    let mut scene = box2d_scene();
    scene.add(ground(real(base).max(100.0)));
    pyramid(&mut scene, base, 0.5, 0.5, [-0.5 * real(base), 0.0]);
    scene
}

pub(super) const MANY_PYRAMIDS: Entry = Entry {
    name: "many_pyramids",
    summary: "20 × 20 pyramids of 55 boxes on shelves: many small islands",
    source: "Box2D many_pyramids. Its shelves are segments, here boxes 0.5 m thick with their tops on the segments: \
             0.5 m stay free above the pyramid below.",
    parameters: &[
        Parameter::whole("rows", 20, 1, 900, "shelves; 135 of 135 columns are a million boxes"),
        Parameter::whole("columns", 20, 1, 900, "pyramids on a shelf"),
        Parameter::whole("base", 10, 1, 100, "boxes in the lowest row of a pyramid"),
    ],
    steps: 200,
    count: |values| 1 + values.count("rows") * values.count("columns") * pyramid_count(values.count("base")),
    construct: many_pyramids,
};

/// Half the thickness of a shelf, m. The apex below ends 1 m under the next shelf's top.
const SHELF: f32 = 0.25;

fn many_pyramids(values: &Values) -> Scene {
    let [rows, columns, base] = ["rows", "columns", "base"].map(|name| values.count(name));
    let pitch = real(base + 1);
    let left = -0.5 * pitch * real(columns);
    let mut scene = box2d_scene();
    // One box a shelf, however wide: cut into a tile for each pyramid, finding the pairs took four times as long.
    let mut shelves = Body::fixed(0.0, 0.0);
    for row in 0..rows {
        shelves = shelves.shape(Shape::half_box(-left, SHELF).offset(0.0, real(row) * pitch - SHELF));
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
    summary: "a heavy block flies into a wall of 9600 small boxes, without gravity",
    source: "Box2D smash, whose wall is asleep until it is hit; here it is at rest. The wall's boxes touch.",
    parameters: &[
        Parameter::whole("columns", 120, 1, 4_000, "boxes from left to right"),
        Parameter::whole("rows", 80, 1, 4_000, "boxes from below to above"),
        Parameter::real("speed", 40.0, 0.0, 300.0, "of the block, m/s"),
        Parameter::real("density", 8.0, 0.1, 1_000.0, "of the block, kg/m²; the boxes have 1"),
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
    summary: "a turning drum with 2025 small boxes: contacts that never rest",
    source: "Box2D tumbler, whose drum is dynamic (density 50) on a motor strong enough to turn as if nothing were \
             inside. Here the drum is kinematic until there are motors. Its half width is 0.2·grid + 1 m: 10 m at 45.",
    parameters: &[
        Parameter::whole("grid", 45, 1, 4_000, "boxes in a row and rows; 1000 are a million boxes"),
        Parameter::real("speed", 25.0 * std::f64::consts::PI / 180.0, -5.0, 5.0, "of the drum, rad/s; 25° a second"),
    ],
    steps: 750,
    count: |values| 1 + values.count("grid") * values.count("grid"),
    construct: tumbler,
};

fn tumbler(values: &Values) -> Scene {
    let grid = values.count("grid");
    let half = 0.2 * real(grid) + 1.0;
    let mut scene = box2d_scene();
    let mut drum = Body::kinematic(0.0, 10.0).angular_velocity(values.real("speed"));
    for side in [1.0, -1.0] {
        drum = drum.shape(Shape::half_box(0.5, half).offset(side * half, 0.0).density(50.0));
    }
    for side in [1.0, -1.0] {
        drum = drum.shape(Shape::half_box(half, 0.5).offset(0.0, side * half).density(50.0));
    }
    scene.add(drum);
    let corner = Vec2::new(-0.2 * real(grid), -0.2 * real(grid) + 10.0);
    for row in 0..grid {
        for column in 0..grid {
            let at = corner + 0.4 * Vec2::new(real(column), real(row));
            scene.add(Body::dynamic(at.x, at.y).shape(Shape::half_box(0.125, 0.125)));
        }
    }
    scene
}
