//! Shapes as sprites: projection to pixels and analytic coverage. Twin on the GPU: `shaders/shapes.wgsl`, function by
//! function; `cover` is in `view.wgsl`.

use glam::Vec2;

use super::Rgb;
use super::palette::{color_index, fill_color, mix};
use super::view::View;
use drystone::low_level::math::{is_finite, rotate};
use drystone::low_level::types::{
    BOX, BodyData, CIRCLE, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, KINEMATIC_SHAPE, MAX_VERTICES, POLYGON, Pose,
    ShapeData, UPRIGHT_SHAPE, VERTEX_COUNT_SHIFT,
};

/// Returns the covered share of a pixel at `distance` from the middle of a stripe of half width `half`: a box filter.
#[inline]
pub(crate) fn cover(distance: f32, half: f32) -> f32 {
    ((distance + 0.5).min(half) - (distance - 0.5).max(-half)).clamp(0.0, 1.0)
}

/// Half width of a shape without thickness of its own, px.
const LINE: f32 = 0.75;

/// Method of measuring the distance to an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutlineMetric {
    /// A box with sharp corners, from its two half widths.
    Box,
    /// A circle, or a shape too small to be told from one.
    Circle,
    /// A polygon, a capsule or a rounded box, from the distance to its core.
    Hull,
    /// The half plane below a line.
    HalfPlane,
}

/// The core of a rounded shape: vertices, px, y up, counter-clockwise.
#[derive(Clone, Copy, Debug)]
struct SpriteHull {
    count: usize,
    points: [Vec2; MAX_VERTICES as usize],
}

impl SpriteHull {
    /// Reads the core's vertices; `None` if they do not exist.
    fn new(shape: &ShapeData, vertices: &[[f32; 2]], scale: f32) -> Option<Self> {
        let mut points = [Vec2::ZERO; MAX_VERTICES as usize];
        if shape.kind & GEOMETRY_MASK == BOX {
            let [x, y] = shape.half;
            for (point, corner) in points.iter_mut().zip([[-x, -y], [x, -y], [x, y], [-x, y]]) {
                *point = Vec2::from(corner) * scale;
            }
            return Some(Self { count: 4, points });
        }
        let count = ((shape.kind >> VERTEX_COUNT_SHIFT) & 0xf) as usize;
        let first = shape.first_vertex as usize;
        let own = vertices.get(first..first.checked_add(count)?)?;
        if own.is_empty() || own.len() > points.len() {
            return None;
        }
        for (point, &vertex) in points.iter_mut().zip(own) {
            *point = Vec2::from(vertex) * scale;
        }
        Some(Self { count, points })
    }

    /// Returns the signed distance from a point to the edge of the core, px, negative inside.
    fn distance(&self, p: Vec2) -> f32 {
        let mut squared = 1e30_f32;
        let mut inside = self.count > 2;
        for index in 0..self.count {
            let from = self.points[index];
            let edge = self.points[if index + 1 < self.count { index + 1 } else { 0 }] - from;
            let away = p - from;
            let share = (away.dot(edge) / edge.dot(edge).max(1e-20)).clamp(0.0, 1.0);
            let gap = away - edge * share;
            squared = squared.min(gap.dot(gap));
            inside = inside && edge.x * away.y - edge.y * away.x >= 0.0;
        }
        if inside { -squared.sqrt() } else { squared.sqrt() }
    }
}

/// A shape projected onto the picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sprite {
    /// Position, px, y down.
    center: Vec2,
    /// Cosine and sine of the rotation, counter-clockwise with y up.
    axis: Vec2,
    /// Half widths, px, at least half a pixel. A circle's radius twice; for a hull its rounding radius twice.
    half: Vec2,
    /// Outline width, px.
    outline: f32,
    opacity: f32,
    form: OutlineMetric,
    hull: Option<SpriteHull>,
    /// Strength of the radius line or tick.
    detail: f32,
    fill: Rgb,
    /// First pixel that may be covered.
    pub low: [u32; 2],
    /// End of the covered range, exclusive.
    pub high: [u32; 2],
}

/// Tables that shapes are drawn with.
#[derive(Clone, Copy)]
pub(crate) struct SpriteInputs<'a> {
    pub poses: &'a [Pose],
    pub vertices: &'a [[f32; 2]],
    /// All bodies, or none if their colours follow their indices.
    pub bodies: &'a [BodyData],
}

impl Sprite {
    /// Projects a shape; `None` if it is outside the picture, not finite, or has no body.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the picture")]
    pub(crate) fn new(view: &View, shape: &ShapeData, world: &SpriteInputs<'_>) -> Option<Self> {
        let SpriteInputs { poses, vertices, bodies } = *world;
        let pose = poses.get(shape.body as usize)?;
        let all_finite = |row: &[f32]| row.iter().all(|&v| is_finite(v));
        if !(all_finite(&pose.position)
            && all_finite(&pose.rotation)
            && all_finite(&shape.offset)
            && all_finite(&shape.rotation)
            && all_finite(&shape.half)
            && all_finite(&[shape.radius, shape.bound]))
        {
            return None;
        }
        let scale = view.pixels_per_metre;
        let size = Vec2::from(view.size);
        let rotation = Vec2::from(pose.rotation);
        // The camera is subtracted before the offset is added: keeps float precision far from the origin.
        let from_camera = pose.vector_from(view.center.into());
        let place = (from_camera + rotate(rotation, shape.offset.into())) * scale;
        let center = 0.5 * size + Vec2::new(place.x, -place.y);
        let axis = rotate(rotation, shape.rotation.into());
        let geometry = shape.kind & GEOMETRY_MASK;
        let rounded = geometry == POLYGON || (geometry == BOX && shape.radius > 0.0);
        let form = match geometry {
            HALF_PLANE => OutlineMetric::HalfPlane,
            // A shape smaller than a pixel is a dot.
            _ if rounded && shape.bound * scale >= 1.0 => OutlineMetric::Hull,
            BOX if !rounded => OutlineMetric::Box,
            _ => OutlineMetric::Circle,
        };
        let hull = if form == OutlineMetric::Hull { Some(SpriteHull::new(shape, vertices, scale)?) } else { None };
        let half = match form {
            OutlineMetric::Box => Vec2::from(shape.half) * scale,
            OutlineMetric::Circle if geometry != CIRCLE => Vec2::splat(shape.bound * scale),
            _ => Vec2::splat(shape.radius * scale),
        };
        // A zoom that overflows draws nothing instead of something wrong.
        if !(all_finite(&center.to_array()) && all_finite(&half.to_array())) {
            return None;
        }
        let half = half.max(Vec2::ZERO);
        // Dots are never thinner than a pixel, and paler instead. The opacity is the square root of the covered share,
        // since shapes that tile a pixel are painted over each other: with the share itself a third of the background
        // would shine through.
        let mut thick = half.max(Vec2::splat(0.5));
        let mut shown = (half.x / thick.x) * (half.y / thick.y);
        let mut thinnest = thick.x.min(thick.y);
        if let Some(hull) = &hull {
            // A polygon has an area, a line needs a width.
            thick = if hull.count > 2 { half } else { half.max(Vec2::splat(LINE)) };
            shown = 1.0;
            thinnest = (thick.x - hull.distance(Vec2::ZERO)).max(0.5);
        } else if form == OutlineMetric::HalfPlane {
            shown = 1.0;
            thinnest = 1e3;
        }
        let outline = view.outline.min(0.3 * thinnest);
        // A shape that never turns needs no mark.
        let moves = shape.kind & (FIXED_SHAPE | KINEMATIC_SHAPE) != FIXED_SHAPE && form != OutlineMetric::HalfPlane;
        let turns = moves && shape.kind & UPRIGHT_SHAPE == 0;
        let detail = if turns { ((thinnest - 4.0) / 6.0).clamp(0.0, 1.0) } else { 0.0 };

        let a = axis.abs();
        // Distance from the centre within which a pixel can be covered. Kept tight, since for shapes smaller than a
        // pixel the cost is the number of pixels.
        let full = thick + (0.5 * outline + 0.51);
        let reach = match form {
            OutlineMetric::Box => Vec2::new(a.x * full.x + a.y * full.y, a.y * full.x + a.x * full.y),
            OutlineMetric::Circle | OutlineMetric::HalfPlane => full,
            OutlineMetric::Hull => Vec2::splat(shape.bound * scale + LINE + 0.5 * outline + 1.0),
        };
        let mut low = (center - reach - 0.5).ceil().clamp(Vec2::ZERO, size);
        let mut high = (center + reach + 0.5).floor().clamp(Vec2::ZERO, size);
        if form == OutlineMetric::HalfPlane {
            (low, high) = (Vec2::ZERO, size);
        }
        if !(low.x < high.x && low.y < high.y) {
            return None;
        }
        Some(Self {
            center,
            axis,
            half: thick,
            outline,
            opacity: shown.sqrt(),
            form,
            hull,
            detail,
            fill: fill_color(view, color_index(shape.body, bodies), shape.kind),
            low: [low.x as u32, low.y as u32],
            high: [high.x as u32, high.y as u32],
        })
    }

    /// Returns colour and opacity at the middle of a pixel; `None` outside of the shape.
    #[inline]
    pub(crate) fn shade(&self, view: &View, pixel: Vec2) -> Option<(Rgb, f32)> {
        let away = pixel - self.center;
        // Rotated back into the shape's own frame, y up.
        let q = self.axis;
        let p = Vec2::new(q.x * away.x - q.y * away.y, -q.y * away.x - q.x * away.y);
        let pen = 0.5 * self.outline;
        let (outer, inner, mark);
        if self.form == OutlineMetric::Box {
            let d = p.abs();
            outer = cover(d.x, self.half.x + pen) * cover(d.y, self.half.y + pen);
            if outer <= 0.0 {
                return None;
            }
            inner = cover(d.x, self.half.x - pen) * cover(d.y, self.half.y - pen);
            // A tick on the side that faced +x at rotation zero.
            let length = (0.4 * self.half.x).min(self.half.y);
            mark = cover(p.y, pen) * (p.x - self.half.x + length + 0.5).clamp(0.0, 1.0) * self.detail;
        } else {
            let r = match &self.hull {
                Some(hull) => hull.distance(p),
                None if self.form == OutlineMetric::HalfPlane => p.y + self.half.x,
                None => p.length(),
            };
            outer = (self.half.x + pen + 0.5 - r).clamp(0.0, 1.0);
            if outer <= 0.0 {
                return None;
            }
            inner = (self.half.x - pen + 0.5 - r).clamp(0.0, 1.0);
            // A radius line, which shows the rotation.
            mark = cover(p.y, pen) * (p.x + 0.5).clamp(0.0, 1.0) * self.detail;
        }
        let [_, _, shade, mark_opacity] = view.tuning;
        let line = self.fill.map(|c| c * shade);
        let body = mix(self.fill, line, mark * mark_opacity);
        Some((mix(line, body, inner / outer), outer * self.opacity))
    }
}
