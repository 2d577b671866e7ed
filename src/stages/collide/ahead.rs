//! Motion of a pair in the step that begins: where the two meet, and which face they pass by.

use glam::Vec2;

use super::{Local, Touch, manifold_in_motion};
use crate::constants::{PASSING_MOTION, PASSING_SHARE, SAME_FACE, SWEPT};
use crate::math::{cross_scalar, smaller};
use crate::types::{BodyMotion, CIRCLE, FIXED_A, FIXED_B, GEOMETRY_MASK, Params, Pose, ShapeData};

/// Returns the least separation of the points, m; [`f32::MAX`] without points.
pub(super) fn lowest(touch: &Touch) -> f32 {
    touch.points[..touch.count as usize].iter().fold(f32::MAX, |gap, point| smaller(gap, point.separation))
}

/// Returns the contact points of a pair that is apart now and meets within the step, and the motion of B relative to A
/// until then, m. The points are those of the time at which they meet: a body that passes by a corner gets none.
pub(super) fn touch_ahead(
    params: &Params,
    [shape_a, shape_b]: [&ShapeData; 2],
    vertices: &[[f32; 2]],
    [pose_a, pose_b]: [&Pose; 2],
    passing: Passing,
) -> Option<(Touch, Vec2)> {
    let (distance, slop) = (params.speculative_distance, params.linear_slop);
    let reach = passing.moved.length();
    if reach <= distance {
        return None;
    }
    let now = manifold_in_motion(shape_a, shape_b, vertices, pose_a, pose_b, reach + distance, slop, || Some(passing));
    let gap = lowest(&now);
    let closing = passing.closing(now.normal);
    if gap - closing > distance {
        return None;
    }
    let ahead = passing.moved * smaller(gap / closing, 1.0);
    let rest = Passing { moved: passing.moved - ahead, ..passing };
    let then = Pose { low: (Vec2::from(pose_b.low) + ahead).into(), ..*pose_b };
    let then = manifold_in_motion(shape_a, shape_b, vertices, pose_a, &then, distance, slop, || Some(rest));
    if then.count == 0 {
        return None;
    }
    let are_round = [shape_a, shape_b].iter().all(|shape| shape.kind & GEOMETRY_MASK == CIRCLE);
    // The impact of two discs finds its normal from where they are now.
    Some(if are_round { (now, Vec2::ZERO) } else { (then, ahead) })
}

/// Motion of a pair in the step, which decides whether it passes by a face: if they overlap along the normal of a face
/// by no more than the slop, now and at the end of the step, then that face is all that they can meet. A contact with
/// another normal is one with the corner of the next tile of a floor, and would stop a body that slides there (a
/// ghost collision).
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing<'a> {
    /// Motion of B relative to A, m.
    moved: Vec2,
    shapes: [&'a ShapeData; 2],
    motions: [&'a BodyMotion; 2],
}

impl<'a> Passing<'a> {
    /// Returns the motion of a pair of shapes, whose bodies have these motions; `between` is from A's centre of mass to
    /// that of B. If one is static or kinematic, the motion is that at the centre of the other.
    #[inline]
    pub(super) fn new(flags: u32, shapes: [&'a ShapeData; 2], motions: [&'a BodyMotion; 2], between: Vec2) -> Self {
        let [a, b] = motions;
        let turning = match flags & (FIXED_A | FIXED_B) {
            0 => 0.0,
            fixed if fixed & FIXED_B != 0 => b.turned,
            _ => a.turned,
        };
        let moved = Vec2::from(b.moved) - Vec2::from(a.moved) - cross_scalar(turning, between);
        Self { moved, shapes, motions }
    }

    /// Returns the motion of A relative to B.
    pub(super) fn reversed(self) -> Self {
        Self { moved: -self.moved, ..self }
    }

    /// Returns by how much the pair comes nearer along a direction from A to B, m.
    pub(super) fn closing(&self, direction: Vec2) -> f32 {
        -self.moved.dot(direction)
    }

    /// Returns true if the pair passes by a face whose normal from A to B is `face`, and the points are elsewhere. The
    /// two are `gap` apart along that normal, m: more than `-slack`, as overlaps of up to `slack` count as none.
    ///
    /// Points are elsewhere if they are on no face almost parallel to it, and if the pair moves towards them and not
    /// towards the face, or if these are points of a corner that hardly overlaps along its other face either.
    #[inline]
    pub(super) fn by(&self, face: Vec2, gap: impl FnOnce() -> f32, local: &Local, slack: f32) -> bool {
        let cosine = face.dot(local.normal);
        let (onto, closing) = (self.closing(face), self.closing(local.normal));
        let lowest = local.separations[..local.count as usize].iter().copied().fold(f32::MAX, smaller);
        let is_on_face = !local.at_corner && cosine > SAME_FACE;
        let is_corner = lowest > -slack && cosine.abs() < PASSING_SHARE;
        let is_ahead = closing > PASSING_MOTION * slack && onto <= PASSING_SHARE * closing;
        !is_on_face && (is_ahead || is_corner) && gap() + slack >= onto + self.turned()
    }

    /// Returns a bound on the motion of any point by rotation, m.
    fn turned(&self) -> f32 {
        let [a, b] = self.motions.map(|motion| motion.turned.abs());
        let [swing_a, swing_b] = self.shapes.map(swing);
        a * swing_a + b * swing_b
    }
}

/// Returns the distance of the farthest point of a shape from its body's centre of mass, m; 0 for a disc about it,
/// which looks the same however it turns.
#[inline]
fn swing(shape: &ShapeData) -> f32 {
    if shape.is_centred_disc() { 0.0 } else { Vec2::from(shape.offset).length() + shape.bound }
}

/// Returns true if the continuous stage sweeps one of two bodies, which therefore does not look ahead.
#[inline]
pub(super) fn is_swept(motions: [&BodyMotion; 2]) -> bool {
    motions.iter().any(|motion| motion.extent == SWEPT)
}
