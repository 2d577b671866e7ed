//! **bound**: the AABB of every shape, with a margin, in the world.
//!
//! Reads poses, states (quarantine) and shapes; writes aabbs. One thread a shape.

use glam::Vec2;

use crate::math::{mul_rotation, rotate};
use crate::threads::{Rows, Threads};
use crate::types::{Aabb, BodyState, CIRCLE, GEOMETRY_MASK, Params, Pose, QUARANTINED, Shape};

/// An AABB that overlaps nothing.
pub const EMPTY: Aabb = Aabb { min: [1e30, 1e30], max: [-1e30, -1e30] };

/// Fills `aabbs`.
pub fn bound(
    threads: &Threads,
    params: &Params,
    shapes: &[Shape],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    aabbs: &mut [Aabb],
) {
    threads.for_each(aabbs, |index, aabb| {
        let shape = &shapes[index];
        let body = shape.body as usize;
        *aabb = if states.get(body).status & QUARANTINED != 0 {
            EMPTY
        } else {
            bound_shape(shape, &poses[body], params.aabb_margin)
        };
    });
}

/// The AABB of one shape on a body at `pose`, grown by `margin` on each side.
#[inline]
#[must_use]
pub fn bound_shape(shape: &Shape, pose: &Pose, margin: f32) -> Aabb {
    let rotation = Vec2::from(pose.rotation);
    let center = Vec2::from(pose.position) + rotate(rotation, shape.offset.into());
    let reach = if shape.kind & GEOMETRY_MASK == CIRCLE {
        Vec2::splat(shape.radius)
    } else {
        let turn = mul_rotation(rotation, shape.rotation.into()).abs();
        let half = Vec2::from(shape.half);
        Vec2::new(turn.x * half.x + turn.y * half.y, turn.y * half.x + turn.x * half.y)
    } + margin;
    Aabb { min: (center - reach).into(), max: (center + reach).into() }
}
