//! Lines and signs of joints. Twin on the GPU: `shaders/marks.wgsl`, form by form.

use std::f32::consts::FRAC_1_SQRT_2;

use glam::Vec2;

use super::Rgb;
use super::palette::{mix, rgb};
use super::view::View;

/// Width of the rim, px.
const RIM: f32 = 1.0;
/// Opacity of the rim.
const RIM_OPACITY: f32 = 0.6;
/// Minimum and maximum number of turns of a spring.
const TURNS: [f32; 2] = [3.0, 12.0];

/// Shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkShape {
    Line,
    Dashes,
    /// A spring, as wide as the sign.
    Zigzag,
    // All following forms lie at the first point; the second gives their upward direction.
    Disc,
    Ring,
    Square,
    Frame,
    Cross,
}

/// A mark on the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    form: MarkShape,
    /// Start, px, y down.
    a: Vec2,
    /// Unit vector to the other end.
    along: Vec2,
    /// Length, px.
    length: f32,
    color: Rgb,
    opacity: f32,
    /// Half width of the line, px.
    half_width: f32,
    /// Size of the sign, px.
    size: f32,
    /// First pixel that may be covered.
    pub low: [u32; 2],
    /// End of the covered range, exclusive.
    pub high: [u32; 2],
}

impl Mark {
    /// Creates a mark; `None` if it is outside the picture, not finite or invisible.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the picture")]
    pub fn new(
        view: &View,
        form: MarkShape,
        a: Vec2,
        b: Vec2,
        [half_width, size]: [f32; 2],
        color: [f32; 4],
    ) -> Option<Self> {
        let is_square = matches!(form, MarkShape::Square | MarkShape::Frame);
        let reach = half_width.max(if is_square { 1.5 * size } else { size }) + RIM + 1.0;
        let picture = Vec2::from(view.size);
        let (low, high) = (a.min(b) - reach, a.max(b) + reach);
        let outside = high.cmplt(Vec2::ZERO).any() || low.cmpgt(picture).any();
        if color[3] <= 0.0 || !a.is_finite() || !b.is_finite() || !reach.is_finite() || outside {
            return None;
        }
        let line = b - a;
        let length = line.length();
        let along = if length > 0.0 { line / length } else { Vec2::X };
        let (low, high) = (low.floor().clamp(Vec2::ZERO, picture), high.ceil().clamp(Vec2::ZERO, picture));
        Some(Self {
            form,
            a,
            along,
            length,
            color: rgb(color),
            opacity: color[3],
            half_width,
            size,
            low: [low.x as u32, low.y as u32],
            high: [high.x as u32, high.y as u32],
        })
    }

    /// Returns colour and opacity at the middle of a pixel; `None` outside of the mark.
    #[inline]
    pub fn shade(&self, view: &View, pixel: Vec2) -> Option<(Rgb, f32)> {
        let away = pixel - self.a;
        let p = Vec2::new(away.dot(self.along), self.along.x * away.y - self.along.y * away.x);
        let distance = self.distance(view, p);
        // A line thinner than a pixel is paler instead.
        let filled = matches!(self.form, MarkShape::Disc | MarkShape::Square);
        let thin = if filled { 1.0 } else { (2.0 * self.half_width).min(1.0) };
        let core = (0.5 - distance).clamp(0.0, 1.0) * thin;
        let room = (view.length / 24.0).clamp(0.2, 1.0);
        let rim = (0.5 + RIM - distance).clamp(0.0, 1.0) * RIM_OPACITY * room * thin;
        let alpha = core + rim * (1.0 - core);
        (alpha > 0.0).then(|| (mix(rgb(view.background), self.color, core / alpha), alpha * self.opacity))
    }

    /// Returns the distance of a pixel from the mark, px, negative inside. Rings and frames count as filled.
    pub fn away(&self, view: &View, pixel: Vec2) -> f32 {
        let away = pixel - self.a;
        let p = Vec2::new(away.dot(self.along), self.along.x * away.y - self.along.y * away.x);
        match self.form {
            MarkShape::Ring => p.length() - self.size,
            MarkShape::Frame => p.abs().max_element() - self.size,
            // Also between the turns of a spring and the dashes of a line.
            MarkShape::Zigzag => self.segment_distance(p) - self.size,
            MarkShape::Dashes => self.segment_distance(p) - self.half_width,
            _ => self.distance(view, p),
        }
    }

    /// Returns true for signs, false for lines.
    pub fn is_sign(&self) -> bool {
        !matches!(self.form, MarkShape::Line | MarkShape::Dashes | MarkShape::Zigzag)
    }

    fn segment_distance(&self, p: Vec2) -> f32 {
        Vec2::new(p.x - p.x.clamp(0.0, self.length), p.y).length()
    }

    /// Returns the signed distance to the outline, px, negative inside. `p` is given along the line and across it.
    fn distance(&self, view: &View, p: Vec2) -> f32 {
        let (half_width, size) = (self.half_width, self.size);
        match self.form {
            MarkShape::Line => self.segment_distance(p) - half_width,
            MarkShape::Dashes => {
                let period = 8.0 * half_width;
                let middle = ((p.x / period).floor() + 0.5) * period;
                let from_middle = (p.x - middle).abs() - 0.25 * period;
                let dash = Vec2::new(from_middle.max(0.0), p.y).length() - half_width;
                dash.max(self.segment_distance(p) - half_width)
            }
            MarkShape::Zigzag => {
                let turns = spring_turns(view);
                let period = (self.length - 2.0 * size).max(0.1) / turns;
                let t = (p.x - size) / period;
                let shifted = t.clamp(0.0, turns) + 0.25;
                let wave = size * ((shifted - shifted.floor() - 0.5).abs() * 4.0 - 1.0);
                let slope = 4.0 * size / period;
                let mut distance = (p.y - wave).abs() / (1.0 + slope * slope).sqrt();
                if t <= 0.0 || t >= turns {
                    distance = self.segment_distance(p);
                }
                distance.max(self.segment_distance(p) - size) - half_width
            }
            MarkShape::Disc => p.length() - size,
            MarkShape::Ring => (p.length() - size).abs() - half_width,
            MarkShape::Square => p.abs().max_element() - size,
            MarkShape::Frame => (p.abs().max_element() - size).abs() - half_width,
            MarkShape::Cross => {
                let q = p.abs();
                let diagonal = (q.x - q.y).abs() * FRAC_1_SQRT_2;
                (diagonal - half_width).max((q.x + q.y) * FRAC_1_SQRT_2 - size)
            }
        }
    }
}

/// Returns the size of a joint's signs, px.
pub(super) fn sign_size(view: &View) -> f32 {
    (0.16 * view.length).clamp(2.0 * view.unit, 6.5 * view.unit)
}

/// Returns the number of turns of every spring. Depends on the zoom alone, so a stretched spring keeps its turns.
fn spring_turns(view: &View) -> f32 {
    (view.length / (2.4 * sign_size(view))).round().clamp(TURNS[0], TURNS[1])
}
