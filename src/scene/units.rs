//! Units of a scene: the sizes of its bodies and the time in which they fall by their size, from which all lengths,
//! speeds and frequencies of the solver follow.
//!
//! Two worlds of which one is the other times a length, and whose gravities and steps fit, look the same in their own
//! units (Froude's similarity): lengths go with the unit of length `L`, times with `√(L/g)`, speeds with `√(Lg)`.

use glam::Vec2;

use super::{Body, BodyType, Geometry, Outline, Scene};
use crate::constants::{DEFAULT_DT, DEFAULT_GRAVITY, USUAL_GRAVITIES, USUAL_SIZES};

/// Most batches of an emitter that count for the typical size of the shapes of a scene.
const MAX_COUNTED_BATCHES: u64 = 1000;

/// Units of length and time of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// Unit of length, m ([`Settings::length_unit`](crate::Settings::length_unit)).
    pub length: f32,
    /// Unit of time, s: 1 for a length unit of 1 m and gravities from 0.98 to 98 m/s², and `√(L g₀ / (L₀ g))` for
    /// others.
    pub time: f32,
    /// Unit of time, s, of the largest of gravity and `g₀`: weaker gravity does not make it longer.
    short_time: f32,
}

impl Default for Units {
    fn default() -> Self {
        Self { length: 1.0, time: 1.0, short_time: 1.0 }
    }
}

impl Units {
    /// Returns the units of a scene: those of its settings, or from its dynamic shapes and its gravity.
    #[must_use]
    pub fn of(scene: &Scene) -> Self {
        let length = scene.settings.length_unit.unwrap_or_else(|| unit_of(typical_size(scene)));
        let strongest = scene.fields.iter().map(|field| field.acceleration.abs()).fold(0.0, f32::max);
        let gravity = scene.gravity.as_dvec2().length().max(f64::from(strongest)) / f64::from(DEFAULT_GRAVITY);
        let [weak, strong] = USUAL_GRAVITIES;
        // Without gravity the size alone sets the units, as no body falls.
        let ratio = if gravity == 0.0 || (weak * 0.999..=strong * 1.001).contains(&gravity) { 1.0 } else { gravity };
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let time = |ratio: f64| (f64::from(length) / ratio).sqrt() as f32;
        Self { length, time: time(ratio), short_time: time(ratio.max(1.0)) }
    }

    /// Returns the unit of speed, m/s.
    #[must_use]
    pub fn speed(&self) -> f32 {
        self.length / self.time
    }

    /// Returns the unit of a limit of speed, m/s: weak gravity does not lower it.
    #[must_use]
    pub(super) fn limit_speed(&self) -> f32 {
        self.length / self.short_time
    }

    /// Returns the factor for the default frequency of mouse joints. At least 1: weak gravity and large bodies leave
    /// them as stiff as they are.
    #[must_use]
    pub(super) fn stiffness(&self) -> f32 {
        if self.time < 1.0 { 1.0 / self.time } else { 1.0 }
    }

    /// Returns the length of a step that fits the units, s: 1/60, halved until it is at most 1/60 of the unit of time.
    /// A body that falls from rest falls by less than 0.3 % of the unit of length in it.
    #[must_use]
    pub fn fitting_dt(&self) -> f32 {
        let mut share = 1.0;
        while share > self.time && share > 1e-6 {
            share *= 0.5;
        }
        DEFAULT_DT * share
    }
}

/// Returns the unit of length for bodies of this size: 1 m for the usual ones, else the nearest power of 2. Powers of 2
/// lose no digits, and scenes of nearly the same sizes have the same unit.
fn unit_of(size: Option<f64>) -> f32 {
    let [small, large] = USUAL_SIZES;
    let Some(size) = size.filter(|size| !(small * 0.999..=large * 1.001).contains(size)) else { return 1.0 };
    let mut unit = 1.0_f32;
    while size < f64::from(unit) * std::f64::consts::FRAC_1_SQRT_2 && unit > 1e-6 {
        unit *= 0.5;
    }
    while size >= f64::from(unit) * std::f64::consts::SQRT_2 && unit < 1e6 {
        unit *= 2.0;
    }
    unit
}

/// Returns the median size of the dynamic shapes of a scene and its emitters, m; sensors do not count.
fn typical_size(scene: &Scene) -> Option<f64> {
    let mut sizes: Vec<f64> = scene.bodies.iter().flat_map(sizes).collect();
    for emitter in &scene.emitters {
        let batches = emitter.max_batches().map_or(MAX_COUNTED_BATCHES, |most| most.min(MAX_COUNTED_BATCHES));
        let batch: Vec<f64> = emitter.bodies.iter().flat_map(self::sizes).collect();
        for _ in 0..batches {
            sizes.extend_from_slice(&batch);
        }
    }
    let middle = sizes.len().checked_sub(1)? / 2;
    Some(*sizes.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Returns the sizes of the shapes of a dynamic body.
fn sizes(body: &Body) -> impl Iterator<Item = f64> + '_ {
    let counted = body.kind == BodyType::Dynamic;
    body.shapes.iter().filter(move |shape| counted && !shape.sensor).map(|shape| size(&shape.geometry))
}

/// Returns the size of a shape, m: the longer side of its bounding box.
fn size(geometry: &Geometry) -> f64 {
    let outline = Outline::of(geometry);
    let (low, high) = outline
        .points
        .iter()
        .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), &point| (low.min(point), high.max(point)));
    f64::from((high - low).max_element()) + 2.0 * f64::from(outline.radius)
}
