//! **bound**: computes the world AABB of every shape, with a margin.
//!
//! Reads poses, states (quarantine, sleep), shapes and vertices; writes aabbs and, in the counters, the levels that
//! have an awake shape. Visits one shape after the other. A half plane has no box: its row stores its surface in a form
//! that overlaps nothing ([`Aabb`]).

use glam::Vec2;

use crate::constants::FAR_MARGIN;
use crate::math::{mul_rotation, rotate};
use crate::types::{
    ASLEEP, AWAKE_HALF_PLANE, Aabb, BodyState, CIRCLE, GEOMETRY_MASK, HALF_PLANE, HALF_PLANE_ROW, NO_SHAPE, POLYGON,
    Params, Pose, QUARANTINED, SLEEP, ShapeData, VERTEX_COUNT_SHIFT,
};

/// An AABB that overlaps nothing.
pub const EMPTY: Aabb = Aabb { min: [1e30, 1e30], max: [-1e30, -1e30] };

/// Fills `aabbs`, and returns the grid levels that have an awake shape ([`level_bits`]); 0 if sleeping is off.
pub fn bound(
    params: &Params,
    shapes: &[ShapeData],
    vertices: &[[f32; 2]],
    poses: &[Pose],
    states: &[BodyState],
    aabbs: &mut [Aabb],
) -> u32 {
    let mut awake_levels = 0;
    for (shape, aabb) in shapes.iter().zip(aabbs) {
        let status = states[shape.body as usize].status;
        if shape.kind & GEOMETRY_MASK == NO_SHAPE || status & QUARANTINED != 0 {
            *aabb = EMPTY;
            continue;
        }
        if params.switches & SLEEP != 0 && status & ASLEEP == 0 {
            awake_levels |= level_bits(params, shape);
        }
        let pose = &poses[shape.body as usize];
        *aabb = bound_shape(shape, vertices, pose, margin_at(params, pose));
    }
    awake_levels
}

/// Returns the margin of the AABBs of a body's shapes, m: more where coordinates are so large that they are rounded.
#[inline]
#[must_use]
pub fn margin_at(params: &Params, pose: &Pose) -> Vec2 {
    params.aabb_margin + Vec2::from(pose.position).abs() * FAR_MARGIN
}

/// Returns the levels on which a shape may lie in a step, as bits: its own and its bands. Half planes have a bit of
/// their own.
#[inline]
#[must_use]
pub fn level_bits(params: &Params, shape: &ShapeData) -> u32 {
    if shape.kind & GEOMETRY_MASK == HALF_PLANE {
        return AWAKE_HALF_PLANE;
    }
    let bands = params.levels[shape.level as usize].bands;
    ((2 << bands) - 1) << shape.level
}

/// Returns the AABB of one shape on a body at `pose`, grown by `margin` on each side. For a half plane: its surface.
#[inline]
#[must_use]
pub fn bound_shape(shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose, margin: Vec2) -> Aabb {
    let rotation = Vec2::from(pose.rotation);
    let center = Vec2::from(pose.position) + rotate(rotation, shape.offset.into());
    let reach = match shape.kind & GEOMETRY_MASK {
        CIRCLE => Vec2::splat(shape.radius),
        POLYGON => {
            let turn = mul_rotation(rotation, shape.rotation.into());
            let count = (shape.kind >> VERTEX_COUNT_SHIFT) & 0xf;
            let (mut low, mut high) = (Vec2::splat(1e30), Vec2::splat(-1e30));
            for &vertex in &vertices[shape.first_vertex as usize..(shape.first_vertex + count) as usize] {
                let point = rotate(turn, vertex.into());
                low = low.min(point);
                high = high.max(point);
            }
            let rim = margin + shape.radius;
            return Aabb { min: (center + low - rim).into(), max: (center + high + rim).into() };
        }
        HALF_PLANE => {
            let turn = mul_rotation(rotation, shape.rotation.into());
            let normal = Vec2::new(-turn.y, turn.x);
            return Aabb {
                min: [HALF_PLANE_ROW as f32, normal.dot(center) + margin.max_element()],
                max: normal.into(),
            };
        }
        _ => {
            let turn = mul_rotation(rotation, shape.rotation.into()).abs();
            let half = Vec2::from(shape.half);
            Vec2::new(turn.x * half.x + turn.y * half.y, turn.y * half.x + turn.x * half.y) + shape.radius
        }
    } + margin;
    Aabb { min: (center - reach).into(), max: (center + reach).into() }
}
