//! Heaps of bodies of many sizes.

use drystone::{Body, Scene, Shape};

use super::{Entry, Parameter, Topic, Values, box2d_scene, show};
use crate::random::SplitMix;

/// Side or diameter of the smallest body, m.
const SMALLEST: f32 = 0.25;
/// Distance between the bodies of the start, m.
const GAP: f32 = 0.02;
/// Substeps: with fewer, small bodies are pressed into the large ones that they carry.
const SUBSTEPS: u32 = 16;

pub(super) const MIXED_SIZES: Entry = Entry {
    name: "mixed_sizes",
    topic: Topic::Crowds,
    summary: "boxes and circles of many sizes fall into a bin",
    source: "Written for heaps in which small bodies carry large ones. Logarithms of sizes are spread evenly from \
             0.25 m to ratio times as much, half of the bodies are boxes, and the bin is about as high as wide when they \
             rest. 16 substeps: with 4 small bodies are pressed into large ones (the book's chapter on heaps has \
             figures).",
    parameters: &[
        Parameter::whole("bodies", 1_500, 1, 1_000_000, "boxes and circles"),
        Parameter::real("ratio", 8.0, 1.0, 32.0, "size of the largest body by that of the smallest"),
        Parameter::whole("seed", 1, 0, 20, "start of the sequence of random numbers"),
    ],
    steps: 900,
    count: |values| 1 + values.count("bodies"),
    construct: mixed_sizes,
};

fn mixed_sizes(values: &Values) -> Scene {
    let (count, ratio) = (values.count("bodies"), values.real("ratio"));
    let mut dice = SplitMix(values.count("seed"));
    let mut bodies = Vec::new();
    let (mut widest, mut area) = (0.0_f32, 0.0);
    for _ in 0..count {
        let size = SMALLEST * ratio.powf(dice.unit());
        let (is_box, angle) = (dice.unit() < 0.5, dice.unit() * std::f32::consts::FRAC_PI_2);
        let width = GAP + if is_box { size * (angle.sin() + angle.cos()) } else { size };
        widest = widest.max(width);
        area += size * size;
        bodies.push((size, is_box, angle, width));
    }
    // A square holds them with a fifth of it empty.
    let half = (0.5 * (1.25 * area).sqrt()).max(widest);
    let (mut left, mut bottom, mut tallest) = (-half, 0.0, 0.0_f32);
    let mut placed = Vec::new();
    for (size, is_box, angle, width) in bodies {
        if left + width > half {
            (left, bottom, tallest) = (-half, bottom + tallest, 0.0);
        }
        let shape = if is_box { Shape::half_box(0.5 * size, 0.5 * size) } else { Shape::circle(0.5 * size) };
        placed.push(Body::dynamic(left + 0.5 * width, bottom + 0.5 * width).angle(angle).shape(shape));
        left += width;
        tallest = tallest.max(width);
    }
    let top = bottom + tallest;
    let mut scene = box2d_scene();
    scene.settings.substeps = Some(SUBSTEPS);
    let wall = |side: f32| Shape::half_box(0.5, 0.5 * top + 0.5).offset(side * (half + 0.5), 0.5 * top - 0.5);
    scene.add(
        Body::fixed(0.0, 0.0)
            .shape(Shape::half_box(half + 1.0, 0.5).offset(0.0, -0.5))
            .shape(wall(-1.0))
            .shape(wall(1.0)),
    );
    for body in placed {
        scene.add(body);
    }
    show(&mut scene, [-half - 1.0, -1.0], [half + 1.0, 2.4 * half]);
    scene
}
