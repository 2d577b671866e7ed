//! Heaps of bodies of many sizes, and bodies that carry many others.

use drystone::{Body, Scene, Shape};

use super::{Entry, Parameter, Topic, Values, box2d_scene, show};
use crate::random::SplitMix;

/// Side or diameter of the smallest body, m.
const SMALLEST: f32 = 0.25;
/// Distance between the bodies of the start, m.
const GAP: f32 = 0.02;

pub(super) const MIXED_SIZES: Entry = Entry {
    name: "mixed_sizes",
    topic: Topic::Crowds,
    summary: "boxes and circles of many sizes fall into a bin",
    source: "Written for heaps in which small bodies carry large ones. Logarithms of sizes are spread evenly from \
             0.25 m to ratio times as much, half of the bodies are boxes, and the bin is about as high as wide when they \
             rest, or aspect times as wide. Circles resist rolling a little: without that a few roll on for minutes \
             (the book's chapter on heaps has figures).",
    parameters: &[
        Parameter::whole("bodies", 1_500, 1, 1_000_000, "boxes and circles"),
        Parameter::real("ratio", 8.0, 1.0, 32.0, "size of the largest body by that of the smallest"),
        Parameter::whole("seed", 1, 0, 20, "start of the sequence of random numbers"),
        Parameter::real("rolling", 0.01, 0.0, 1.0, "rolling resistance of the circles"),
        Parameter::real("aspect", 1.0, 0.1, 100.0, "width of the bin by the height of the heap"),
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
    // A square, or as many side by side as `aspect`, holds them with a fifth of it empty.
    let aspect = values.real("aspect");
    let half = (0.5 * (1.25 * area * aspect).sqrt()).max(widest);
    let (mut left, mut bottom, mut tallest) = (-half, 0.0, 0.0_f32);
    let mut placed = Vec::new();
    for (size, is_box, angle, width) in bodies {
        if left + width > half {
            (left, bottom, tallest) = (-half, bottom + tallest, 0.0);
        }
        let shape = if is_box {
            Shape::half_box(0.5 * size, 0.5 * size)
        } else {
            Shape::circle(0.5 * size).rolling_resistance(values.real("rolling"))
        };
        placed.push(Body::dynamic(left + 0.5 * width, bottom + 0.5 * width).angle(angle).shape(shape));
        left += width;
        tallest = tallest.max(width);
    }
    let top = bottom + tallest;
    let mut scene = box2d_scene();
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
    show(&mut scene, [-half - 1.0, -1.0], [half + 1.0, 2.4 * half / aspect]);
    scene
}

/// Side of a box on the plate, and distance from one to the next, m.
const LOAD: f32 = 0.5;
const LOAD_PITCH: f32 = 0.6;

pub(super) const LOADED_PLATE: Entry = Entry {
    name: "loaded_plate",
    topic: Topic::Crowds,
    summary: "boxes fall onto one plate, which has a contact with each",
    source: "Written for hubs: the plate has more contacts than there are colours, and those beyond are split. With \
             fixed=1 the plate is static and has no contact to split: the same picture, to compare times with.",
    parameters: &[
        Parameter::whole("boxes", 1_000, 1, 1_000_000, "boxes on the plate"),
        Parameter::real("thickness", 0.5, 0.05, 10.0, "thickness of the plate in m"),
        Parameter::whole("fixed", 0, 0, 1, "1 for a plate that does not move"),
    ],
    steps: 300,
    count: |values| 2 + values.count("boxes"),
    construct: loaded_plate,
};

fn loaded_plate(values: &Values) -> Scene {
    let (count, thickness) = (values.count("boxes"), values.real("thickness"));
    let mut scene = box2d_scene();
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    #[allow(clippy::cast_precision_loss, reason = "at most a million")]
    let width = LOAD_PITCH * count as f32;
    let middle = 0.5 * thickness;
    let plate = if values.count("fixed") == 1 { Body::fixed(0.0, middle) } else { Body::dynamic(0.0, middle) };
    scene.add(plate.shape(Shape::half_box(0.5 * width, middle)));
    for index in 0..count {
        #[allow(clippy::cast_precision_loss, reason = "at most a million")]
        let x = LOAD_PITCH * (index as f32 + 0.5) - 0.5 * width;
        // They land one after the other.
        #[allow(clippy::cast_precision_loss, reason = "at most 16")]
        let drop = 0.05 * (index % 17) as f32;
        let half = 0.5 * LOAD;
        scene.add(Body::dynamic(x, thickness + half + drop).shape(Shape::half_box(half, half)));
    }
    let shown = (0.5 * width + 1.0).min(12.0);
    show(&mut scene, [-shown, -1.0], [shown, thickness + 3.0]);
    scene
}
