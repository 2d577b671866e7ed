//! Manifolds of two boxes, and of a box and a circle, if their corners are sharp.

use glam::Vec2;

use super::{FACE_PREFERENCE, Local, Passing};
use crate::constants::ROUNDING;
use crate::math::{inv_mul_rotation, inv_rotate, rotate};

/// Returns the manifold of a box rotated by `turn` and a circle at `d` from its centre.
pub(super) fn box_circle(
    half: Vec2,
    turn: Vec2,
    radius: f32,
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
    passing: Option<Passing>,
) -> Local {
    let center = inv_rotate(turn, d);
    let nearest = center.clamp(-half, half);
    let gap = center - nearest;
    let distance = gap.length();
    let slack = linear_slop.min(0.1 * radius);
    let is_outside = distance > FACE_PREFERENCE * slack;
    let (normal, surface, separation) = if is_outside {
        (gap / distance, nearest, distance - radius)
    } else {
        // The centre is inside, or too near to a corner to tell its direction: push out through the nearest face.
        let depth = half - center.abs();
        if depth.x < depth.y - ROUNDING * half.y {
            let side = side_of(center.x);
            (Vec2::new(side, 0.0), Vec2::new(side * half.x, center.y), -depth.x - radius)
        } else {
            let side = side_of(center.y);
            (Vec2::new(0.0, side), Vec2::new(center.x, side * half.y), -depth.y - radius)
        }
    };
    if separation > speculative_distance {
        return Local::default();
    }
    let point = rotate(turn, surface + normal * (0.5 * separation));
    let mut local = Local { at_corner: is_outside, ..Local::of_point(rotate(turn, normal), point, separation) };
    if let Some(passing) = passing {
        let above = center.abs() - half - Vec2::splat(radius);
        local.passes = passes_by_one_of(&passing, turn, center, above, &local, slack);
    }
    local
}

/// Returns true if a pair passes by a face of a box rotated by `turn`. The other shape is at `at` in its frame; `gaps`
/// are those along the axes, m.
#[inline]
fn passes_by_one_of(passing: &Passing, turn: Vec2, at: Vec2, gaps: Vec2, local: &Local, slack: f32) -> bool {
    (0..2).any(|axis| {
        let gap = gaps[axis];
        gap > -slack && passing.by(rotate(turn, AXES[axis] * side_of(at[axis])), || gap, local, slack)
    })
}

/// Normals of a box's faces, but for their sides.
const AXES: [Vec2; 2] = [Vec2::X, Vec2::Y];

/// Returns the direction of a coordinate.
#[inline]
fn side_of(coordinate: f32) -> f32 {
    if coordinate < 0.0 { -1.0 } else { 1.0 }
}

/// Returns the index of a box's vertex, counter-clockwise from the lower left.
fn vertex(right: bool, upper: bool) -> u32 {
    if upper { if right { 2 } else { 3 } } else { u32::from(right) }
}

/// Axis with the largest separation of two boxes.
struct BestAxis {
    separation: f32,
    axis: usize,
    on_b: bool,
}

impl BestAxis {
    /// Returns the best of the axes of A and B, with their separations. Ties go to A, or to B if it is first.
    #[inline]
    fn of(along_a: Vec2, along_b: Vec2, preference: f32, b_first: bool) -> Self {
        let [first, second] = if b_first { [along_b, along_a] } else { [along_a, along_b] };
        let mut best = Self { separation: first.x, axis: 0, on_b: b_first };
        for (separation, axis, on_b) in [(first.y, 1, b_first), (second.x, 0, !b_first), (second.y, 1, !b_first)] {
            if separation > best.separation + preference {
                best = Self { separation, axis, on_b };
            }
        }
        best
    }
}

/// Two boxes in the frame of the one that has the reference face.
struct FacingBoxes {
    half: Vec2,
    other: Vec2,
    /// True if the reference face is on B.
    on_b: bool,
    /// From the centre of A to the centre of B, world axes.
    d: Vec2,
    /// Rotation of the frame.
    turn: Vec2,
    /// Centre of the other box.
    at: Vec2,
    /// Rotation of the other box.
    rel: Vec2,
    /// Axis of the face's normal.
    axis: usize,
    /// Direction of the normal along it.
    side: f32,
}

impl FacingBoxes {
    /// Returns the point at these places along the normal's axis and along the face.
    #[inline]
    fn point(&self, across: f32, along: f32) -> Vec2 {
        let mut point = Vec2::ZERO;
        point[self.axis] = across;
        point[1 - self.axis] = along;
        point
    }

    /// Returns the ends of the incident face, with their vertices: the face whose normal is most antiparallel to the
    /// reference normal.
    #[inline]
    fn incident(&self) -> ([Vec2; 2], [u32; 2]) {
        let facing = inv_rotate(self.rel, self.point(self.side, 0.0));
        let face = usize::from(facing.y.abs() > facing.x.abs());
        let face_side = if facing[face] > 0.0 { -1.0 } else { 1.0 };
        let mut ends = [Vec2::ZERO; 2];
        let mut vertices = [0; 2];
        for (end, sign) in [-1.0_f32, 1.0].into_iter().enumerate() {
            let mut corner = Vec2::ZERO;
            corner[face] = face_side * self.other[face];
            corner[1 - face] = sign * self.other[1 - face];
            vertices[end] = vertex(corner.x > 0.0, corner.y > 0.0);
            ends[end] = self.at + rotate(self.rel, corner);
        }
        if ends[0][1 - self.axis] > ends[1][1 - self.axis] {
            ends.swap(0, 1);
            vertices.swap(0, 1);
        }
        (ends, vertices)
    }

    /// Clips the incident face to the width of the reference face.
    #[inline]
    fn clip(&self, [low, high]: [Vec2; 2]) -> [Vec2; 2] {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let span = high[tangent_axis] - low[tangent_axis];
        let cut = |end: Vec2, limit: f32| {
            if span <= 0.0 {
                return end;
            }
            let share = (limit - low[tangent_axis]) / span;
            self.point(low[axis] + (high[axis] - low[axis]) * share, limit)
        };
        [
            if low[tangent_axis] < -width { cut(low, -width) } else { low },
            if high[tangent_axis] > width { cut(high, width) } else { high },
        ]
    }

    /// Writes a point between the upper or lower corner of the face and a vertex of the other box.
    #[inline]
    fn put(&self, local: &mut Local, upper: bool, other: u32, middle: Vec2, separation: f32) {
        let corner = self.point(self.side, if upper { 1.0 } else { -1.0 });
        let corner = vertex(corner.x > 0.0, corner.y > 0.0);
        let middle = rotate(self.turn, middle);
        let index = local.count as usize;
        local.points[index] = if self.on_b { middle + self.d } else { middle };
        local.separations[index] = separation;
        local.features[index] = if self.on_b { 4 * other + corner } else { 4 * corner + other };
        local.count += 1;
    }

    /// Returns the manifold of the clipped face, and the least separation; infinite if there is no point.
    #[inline]
    fn over_face(&self, ends: [Vec2; 2], vertices: [u32; 2], speculative_distance: f32) -> (Local, f32) {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let reaches = ends[1][tangent_axis] >= -width && ends[0][tangent_axis] <= width;
        let normal = self.point(self.side, 0.0);
        let out = rotate(self.turn, if self.on_b { -normal } else { normal });
        let (mut local, mut nearest) = (Local { normal: out, ..Local::default() }, f32::INFINITY);
        for (end, clipped) in self.clip(ends).into_iter().enumerate() {
            let separation = self.side * clipped[axis] - self.half[axis];
            if !reaches || separation > speculative_distance {
                continue;
            }
            nearest = nearest.min(separation);
            // Halfway between the two surfaces.
            self.put(&mut local, end == 1, vertices[end], clipped - normal * (0.5 * separation), separation);
        }
        (local, nearest)
    }

    /// Returns the manifold of two corners beside the reference face, if they are nearer than `nearest`.
    #[inline]
    fn between_corners(
        &self,
        ends: [Vec2; 2],
        vertices: [u32; 2],
        mut nearest: f32,
        preference: f32,
        speculative_distance: f32,
    ) -> Option<Local> {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let mut found = None;
        for end in 0..2 {
            let along = ends[end][tangent_axis];
            let at_corner = self.point(self.side * self.half[axis], along.clamp(-width, width));
            let gap = ends[end] - at_corner;
            let distance = gap.length();
            if along.abs() <= width || distance > speculative_distance || distance + preference >= nearest {
                continue;
            }
            nearest = distance;
            let out = rotate(self.turn, gap / distance);
            let mut local = Local { normal: if self.on_b { -out } else { out }, at_corner: true, ..Local::default() };
            self.put(&mut local, along > 0.0, vertices[end], at_corner + gap * 0.5, distance);
            found = Some(local);
        }
        found
    }
}

/// Returns the manifold of two boxes, `d` from the centre of A to the centre of B.
pub(super) fn boxes(
    [half_a, half_b]: [Vec2; 2],
    [turn_a, turn_b]: [Vec2; 2],
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
    b_first: bool,
    passing: Option<Passing>,
) -> Local {
    let between = inv_mul_rotation(turn_a, turn_b);
    let turn = between.abs();
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, d);
    // Separation along the axes of A, then of B.
    let reach_b = Vec2::new(turn.x * half_b.x + turn.y * half_b.y, turn.y * half_b.x + turn.x * half_b.y);
    let reach_a = Vec2::new(turn.x * half_a.x + turn.y * half_a.y, turn.y * half_a.x + turn.x * half_a.y);
    let along_a = d_a.abs() - (half_a + reach_b);
    let along_b = d_b.abs() - (half_b + reach_a);

    let thinnest = half_a.x.min(half_a.y).min(half_b.x.min(half_b.y));
    let slack = linear_slop.min(0.1 * thinnest);
    let preference = FACE_PREFERENCE * slack;
    let best = BestAxis::of(along_a, along_b, preference, b_first);
    if best.separation > speculative_distance {
        return Local::default();
    }

    let BestAxis { axis, on_b, .. } = best;
    let (half, other, turn, at, rel) = if on_b {
        (half_b, half_a, turn_b, -d_b, Vec2::new(between.x, -between.y))
    } else {
        (half_a, half_b, turn_a, d_a, between)
    };
    let side = side_of(at[axis]);
    let pair = FacingBoxes { half, other, on_b, d, turn, at, rel, axis, side };
    let (ends, vertices) = pair.incident();
    let (mut local, nearest) = pair.over_face(ends, vertices, speculative_distance);
    // Boxes that are apart may be nearest at two corners, beside the reference face: there clipping finds nothing, or
    // only points that are further off. Example: two cards that lean on each other.
    if best.separation > preference
        && let Some(corners) = pair.between_corners(ends, vertices, nearest, preference, speculative_distance)
    {
        local = corners;
    }
    if let Some(passing) = passing {
        local.passes = passes_by_one_of(&passing, turn_a, d_a, along_a, &local, slack)
            || passes_by_one_of(&passing, turn_b, d_b, along_b, &local, slack);
    }
    local
}
