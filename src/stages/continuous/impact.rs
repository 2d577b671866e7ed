//! Time of impact of two shapes that move and turn at constant rates, by conservative advancement (Box2D:
//! `b2TimeOfImpact`).

use glam::Vec2;

use crate::constants::{FAR, MAX_ADVANCES};
use crate::math::{cross_scalar, inv_mul_rotation, inv_rotate, mul_rotation, right_perp, rotate};
use crate::stages::collide::hull::Hull;
use crate::types::{BodyState, GEOMETRY_MASK, HALF_PLANE, Pose, ShapeData};

/// Motion of a body in this step, relative to the start of the swept body.
#[derive(Clone, Copy, Debug)]
pub struct SweepMotion {
    /// Centre of mass at the start, m.
    pub start: Vec2,
    /// Rotation at the start.
    pub rotation: Vec2,
    /// Displacement, m.
    pub moved: Vec2,
    /// Rotation over the step.
    pub turned: Vec2,
}

impl SweepMotion {
    pub(crate) fn new(base: &Pose, pose: &Pose, state: &BodyState) -> Self {
        Self {
            start: base.vector_to(pose),
            rotation: pose.rotation.into(),
            moved: state.delta_position.into(),
            turned: state.delta_rotation.into(),
        }
    }

    /// Returns the rotation since the start after a share of the step.
    pub(crate) fn turn(&self, time: f32) -> Vec2 {
        let turn = Vec2::new(1.0 - time, 0.0) + self.turned * time;
        turn / turn.length()
    }

    /// Returns the largest and smallest angular rate of `turn`, rad per step: interpolation along the chord is not
    /// quite an even turn.
    pub(crate) fn rates(&self) -> (f32, f32) {
        (2.0 * self.turned.y / (1.0 + self.turned.x).max(1e-6), self.turned.y)
    }

    /// Returns how far a point 1 m from the centre of mass moves by rotation, m.
    pub(crate) fn chord(&self) -> f32 {
        (self.turned - Vec2::new(1.0, 0.0)).length()
    }
}

/// A moving shape: a convex polygon with a radius about its vertices, or a half plane.
#[derive(Clone, Copy, Debug)]
pub struct Party {
    pub(crate) hull: Hull,
    is_plane: bool,
    offset: Vec2,
    rotation: Vec2,
    pub(crate) motion: SweepMotion,
}

impl Party {
    /// Creates the moving shape of a body's shape.
    #[must_use]
    pub fn new(shape: &ShapeData, vertices: &[[f32; 2]], motion: SweepMotion) -> Self {
        Self {
            hull: Hull::new(shape, vertices),
            is_plane: shape.kind & GEOMETRY_MASK == HALF_PLANE,
            offset: shape.offset.into(),
            rotation: shape.rotation.into(),
            motion,
        }
    }

    /// Returns the centroid of the vertices as a moving point.
    pub(crate) fn middle(&self) -> Self {
        let mut sum = Vec2::ZERO;
        for &point in &self.hull.points[..self.hull.count] {
            sum += point;
        }
        #[allow(clippy::cast_precision_loss, reason = "at most 8")]
        let middle = sum / self.hull.count as f32;
        Self { hull: Hull::disc(0.0), offset: self.offset + rotate(self.rotation, middle), ..*self }
    }

    /// Returns the distance of the farthest vertex from the centre of mass, m.
    pub(crate) fn arm(&self) -> f32 {
        let reach = |&point: &Vec2| (self.offset + rotate(self.rotation, point)).length();
        self.hull.points[..self.hull.count].iter().map(reach).fold(0.0, f32::max)
    }
}

/// Pose of A in the frame of B's shape after a share of the step, and the rotation of that frame in the world.
pub(crate) struct Placed {
    pub(crate) at: Vec2,
    rel: Vec2,
    frame: Vec2,
}

impl Placed {
    /// Returns place and rotation of B in the frame of A's shape.
    fn of_b(&self) -> (Vec2, Vec2) {
        let back = Vec2::new(self.rel.x, -self.rel.y);
        (rotate(back, -self.at), back)
    }
}

pub(crate) fn place(a: &Party, b: &Party, time: f32) -> Placed {
    let turn_a = mul_rotation(a.motion.turn(time), a.motion.rotation);
    let turn_b = mul_rotation(b.motion.turn(time), b.motion.rotation);
    let center_a = a.motion.start + a.motion.moved * time + rotate(turn_a, a.offset);
    let center_b = b.motion.start + b.motion.moved * time + rotate(turn_b, b.offset);
    let frame = mul_rotation(turn_b, b.rotation);
    Placed {
        at: inv_rotate(frame, center_a - center_b),
        rel: inv_mul_rotation(frame, mul_rotation(turn_a, a.rotation)),
        frame,
    }
}

/// Returns the vector from the nearest point of a segment to a point.
pub(crate) fn from_segment(point: Vec2, start: Vec2, end: Vec2) -> Vec2 {
    let (edge, to) = (end - start, point - start);
    let squared = edge.dot(edge);
    let share = if squared > 0.0 { (to.dot(edge) / squared).clamp(0.0, 1.0) } else { 0.0 };
    to - edge * share
}

/// Returns true if along the normal of a face of one of two hulls they are apart by `limit`, m, at each of the poses.
fn a_face_parts(a: &Hull, b: &Hull, poses: &[&Placed], limit: f32) -> bool {
    let parts = |hull: &Hull, other: &Hull, pose: fn(&Placed) -> (Vec2, Vec2)| {
        // A point has no face.
        hull.count > 1
            && (0..hull.count).any(|face| {
                let start = hull.points[face];
                let normal = right_perp(hull.points[hull.next(face)] - start);
                let least = limit * normal.length();
                poses.iter().all(|placed| {
                    let (at, rel) = pose(placed);
                    let (_, lowest) = other.lowest(inv_rotate(rel, normal));
                    normal.dot(at - start) + lowest >= least
                })
            })
    };
    parts(a, b, Placed::of_b) || parts(b, a, |placed| (placed.at, placed.rel))
}

/// Returns true if a face of one shape keeps the two apart for the whole step, but for `slack`. False if they turn so
/// far that start and end do not tell what is in between, and for half planes and links of chains.
pub(crate) fn slides_past(a: &Party, b: &Party, slack: f32) -> bool {
    if b.is_plane || b.hull.link.is_some() {
        return false;
    }
    let apart = (a.motion.start - b.motion.start).length() + (a.motion.moved - b.motion.moved).length();
    let (chord_a, chord_b) = (a.motion.chord(), b.motion.chord());
    if (a.arm() + apart) * (chord_a * chord_a + chord_b * chord_b) > slack {
        return false;
    }
    let limit = a.hull.radius + b.hull.radius - slack;
    a_face_parts(&a.hull, &b.hull, &[&place(a, b, 0.0), &place(a, b, 1.0)], limit)
}

/// Returns true if the cores of two shapes overlap.
pub(crate) fn overlap(a: &Party, b: &Party, placed: &Placed) -> bool {
    // A disc and a segment never overlap without their radii.
    !b.is_plane && a.hull.count + b.hull.count > 3 && !a_face_parts(&a.hull, &b.hull, &[placed], 0.0)
}

/// Returns the distance between two shapes that do not overlap, m, and the direction from A to B in B's frame. The
/// distance to a half plane is negative below it.
pub(crate) fn gap(a: &Party, b: &Party, placed: &Placed) -> (f32, Vec2) {
    let point = |index: usize| placed.at + rotate(placed.rel, a.hull.points[index]);
    let radius = a.hull.radius + b.hull.radius;
    if b.is_plane {
        let mut lowest = FAR;
        for index in 0..a.hull.count {
            lowest = lowest.min(point(index).y);
        }
        return (lowest - radius, Vec2::new(0.0, -1.0));
    }
    let (mut least, mut nearest) = (FAR, Vec2::ZERO);
    for of_a in 0..a.hull.count {
        let (here, next) = (point(of_a), point(a.hull.next(of_a)));
        for of_b in 0..b.hull.count {
            let (corner, next_corner) = (b.hull.points[of_b], b.hull.points[b.hull.next(of_b)]);
            let to_edge = -from_segment(here, corner, next_corner);
            let to_corner = from_segment(corner, here, next);
            for between in [to_edge, to_corner] {
                let squared = between.dot(between);
                if squared < least {
                    (least, nearest) = (squared, between);
                }
            }
        }
    }
    let distance = least.sqrt();
    let direction = if distance > 1e-12 { nearest / distance } else { Vec2::new(0.0, 1.0) };
    (distance - radius, direction)
}

/// Returns the share of the step after which two shapes, further apart than `target` at first, are that near; `limit`
/// if they are not before. Exact to `tolerance`, by which they may be further apart.
#[must_use]
pub fn time_of_impact(a: &Party, b: &Party, target: f32, tolerance: f32, limit: f32) -> f32 {
    let velocity = a.motion.moved - b.motion.moved;
    let (rate_a, _) = a.motion.rates();
    let (rate_b, least_rate_b) = b.motion.rates();
    let apart = (a.motion.start - b.motion.start).length() + velocity.length();
    // Increase of the approach speed of A's centre of mass until the step ends, in B's frame: Coriolis and centrifugal.
    let gain = 2.0 * rate_b.abs() * velocity.length() + rate_b * rate_b * apart;
    // Approach speed due to the rotation of the shapes.
    let spin = (rate_a.abs() + rate_b.abs()) * a.arm() + (rate_b.abs() - least_rate_b.abs()) * apart;
    let mut time = 0.0;
    for _ in 0..MAX_ADVANCES {
        let placed = place(a, b, time);
        let (gap, direction) = gap(a, b, &placed);
        if gap <= target + tolerance {
            return time;
        }
        let between = a.motion.start - b.motion.start + velocity * time;
        let approach = rotate(placed.frame, direction).dot(velocity - cross_scalar(rate_b, between));
        let fastest = approach + spin + gain * (1.0 - time);
        if fastest <= 0.0 {
            return limit;
        }
        time += (gap - target) / fastest;
        if time >= limit {
            return limit;
        }
    }
    time
}
