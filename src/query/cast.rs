//! Shape casts: the first shape that a moving shape, which does not turn, meets. The GPU has the same functions in
//! `shaders/query.wgsl`.
//!
//! A shape that moves past another meets it when its centre enters their Minkowski sum: the polygon of all differences
//! of their points. So a cast is a ray against that polygon, with the sum of both radii around it. The sum of two
//! convex polygons has the edges of both, in the order of their directions.

use glam::Vec2;

use super::narrow::{from_middle, ray_hull};
use crate::constants::{FAR, PARALLEL};
use crate::math::{cross, inv_rotate, mul_rotation, right_perp, rotate};
use crate::stages::collide::hull::{Hull, edge_of};
use crate::types::{GEOMETRY_MASK, HALF_PLANE, MAX_VERTICES, Pose, Ray, Region, ShapeData};

/// Most vertices of a sum.
const MAX_DIFFERENCE: usize = 2 * MAX_VERTICES as usize;

/// Meeting of a cast and a shape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    /// Share of the motion after which they touch.
    pub fraction: f32,
    /// Unit normal out of the shape, world axes.
    pub normal: Vec2,
    /// Point on the surface of the shape, m.
    pub point: Vec2,
    /// If they overlap at the start, the way out along the normal, m; else 0.
    pub depth: f32,
}

/// Returns the meeting of a cast with a shape. `ray` is the motion, `region` the shape that moves.
pub fn cast_shape(ray: &Ray, region: &Region, shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose) -> Option<Met> {
    let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
    let between = from_middle(region.center.into(), shape, pose);
    // From here on in the shape's frame.
    let from = inv_rotate(turn, between);
    let delta = inv_rotate(turn, ray.delta.into());
    let count = region.count as usize;
    let mut moving = [Vec2::ZERO; MAX_VERTICES as usize];
    for (point, &vertex) in moving.iter_mut().zip(&region.points[..count]) {
        *point = inv_rotate(turn, vertex.into());
    }
    let moving = &moving[..count];
    let met = if shape.kind & GEOMETRY_MASK == HALF_PLANE {
        cast_half_plane(moving, region.radius, from, delta)
    } else {
        cast_hull(&Hull::new(shape, vertices), moving, region.radius, from, delta)
    }?;
    Some(Met {
        normal: rotate(turn, met.normal),
        point: Vec2::from(region.center) + (rotate(turn, met.point) - between),
        ..met
    })
}

/// Returns the meeting with the half plane below the x axis.
fn cast_half_plane(moving: &[Vec2], radius: f32, from: Vec2, delta: Vec2) -> Option<Met> {
    let lowest = lowest_along(moving, Vec2::Y);
    let height = from.y + lowest.y - radius;
    if height <= 0.0 {
        let point = Vec2::new(from.x + lowest.x, 0.0);
        return Some(Met { fraction: 0.0, normal: Vec2::Y, point, depth: -height });
    }
    // Compared before dividing, as the quotient may overflow.
    if -delta.y < height {
        return None;
    }
    let fraction = height / -delta.y;
    let point = Vec2::new(from.x + lowest.x + delta.x * fraction, 0.0);
    Some(Met { fraction, normal: Vec2::Y, point, depth: 0.0 })
}

fn cast_hull(hull: &Hull, moving: &[Vec2], radius: f32, from: Vec2, delta: Vec2) -> Option<Met> {
    let own = hull.outline();
    let (sum, count) = difference(own, moving);
    let sum = &sum[..count];
    let radii = hull.radius + radius;
    let (fraction, normal, depth) = match way_out(sum, radii, from) {
        Some((normal, depth)) => (0.0, normal, depth),
        None => {
            let (fraction, normal) = ray_hull(sum, radii, from, delta)?;
            (fraction, normal, 0.0)
        }
    };
    // They touch there: after the way to the shape, or out of it.
    let at = from + delta * fraction + normal * depth;
    Some(Met { fraction, normal, point: nearest_on(own, moving, at) + normal * hull.radius, depth })
}

/// Returns the vertex that is lowest along a direction; of several, the first.
fn lowest_along(points: &[Vec2], up: Vec2) -> Vec2 {
    let (mut lowest, mut height) = (points[0], up.dot(points[0]));
    for &point in &points[1..] {
        let here = up.dot(point);
        if here < height {
            (lowest, height) = (point, here);
        }
    }
    lowest
}

/// Returns the vertex with which an outline starts that goes around by the direction of its edges: the lowest one, of
/// several the first from the left.
fn first_of(points: &[Vec2], sign: f32) -> usize {
    let mut first = 0;
    for index in 1..points.len() {
        let (here, best) = (points[index] * sign, points[first] * sign);
        if here.y < best.y || (here.y == best.y && here.x < best.x) {
            first = index;
        }
    }
    first
}

/// Returns the Minkowski sum of a polygon and another one reflected at its origin, counter-clockwise, and the number of
/// its vertices.
fn difference(own: &[Vec2], moving: &[Vec2]) -> ([Vec2; MAX_DIFFERENCE], usize) {
    let (first, other_first) = (first_of(own, 1.0), first_of(moving, -1.0));
    let edges = |points: &[Vec2]| if points.len() > 1 { points.len() } else { 0 };
    let (count, other_count) = (edges(own), edges(moving));
    let at = |index: usize| own[(first + index) % own.len()];
    let other_at = |index: usize| -moving[(other_first + index) % moving.len()];
    let mut sum = [Vec2::ZERO; MAX_DIFFERENCE];
    let (mut index, mut other, mut size) = (0, 0, 0);
    while index < count || other < other_count || size == 0 {
        sum[size] = at(index) + other_at(other);
        size += 1;
        if count + other_count == 0 {
            break;
        }
        let (edge, other_edge) = (at(index + 1) - at(index), other_at(other + 1) - other_at(other));
        let (turn, along) = (cross(edge, other_edge), edge.dot(other_edge));
        let are_parallel = along > 0.0 && turn.abs() <= PARALLEL * along;
        let takes_own = index < count && (other == other_count || are_parallel || turn > 0.0);
        let takes_other = other < other_count && (index == count || are_parallel || turn <= 0.0);
        index += usize::from(takes_own);
        other += usize::from(takes_other);
    }
    (sum, size)
}

/// Returns the shortest way out of a polygon with a radius, as its direction and length; `None` if the point is not
/// inside.
fn way_out(points: &[Vec2], radius: f32, from: Vec2) -> Option<(Vec2, f32)> {
    let mut nearest = (Vec2::ZERO, FAR);
    let (mut normal, mut highest) = (Vec2::Y, -FAR);
    for (index, &point) in points.iter().enumerate() {
        let arm = from - point;
        if arm.dot(arm) < nearest.1 {
            nearest = (arm, arm.dot(arm));
        }
        if points.len() > 1 {
            let (tangent, length) = edge_of(points, index);
            let height = right_perp(tangent).dot(arm);
            if height > highest {
                (normal, highest) = (right_perp(tangent), height);
            }
            let along = tangent.dot(arm);
            if along >= 0.0 && along <= length && height >= 0.0 && height * height < nearest.1 {
                nearest = (right_perp(tangent) * height, height * height);
            }
        }
    }
    if points.len() > 2 && highest <= 0.0 {
        return Some((normal, radius - highest));
    }
    let distance = nearest.1.sqrt();
    if distance > radius || radius == 0.0 {
        return None;
    }
    let out = if distance > 0.0 { nearest.0 / distance } else { normal };
    Some((out, radius - distance))
}

/// Returns the point of a polygon that is nearest to another one at a position, which it does not overlap.
fn nearest_on(own: &[Vec2], moving: &[Vec2], at: Vec2) -> Vec2 {
    let (mut nearest, mut least) = (own[0], FAR);
    for (index, &start) in own.iter().enumerate() {
        let edge = own[if index + 1 < own.len() { index + 1 } else { 0 }] - start;
        for &point in moving {
            let here = start + edge * share_along(at + point - start, edge);
            let arm = at + point - here;
            if arm.dot(arm) < least {
                (nearest, least) = (here, arm.dot(arm));
            }
        }
    }
    for (index, &start) in moving.iter().enumerate() {
        let edge = moving[if index + 1 < moving.len() { index + 1 } else { 0 }] - start;
        for &point in own {
            let arm = point - at - start;
            let arm = arm - edge * share_along(arm, edge);
            if arm.dot(arm) < least {
                (nearest, least) = (point, arm.dot(arm));
            }
        }
    }
    nearest
}

/// Returns the share of an edge at which a point is nearest to it.
fn share_along(arm: Vec2, edge: Vec2) -> f32 {
    let squared = edge.dot(edge);
    if squared > 0.0 { (arm.dot(edge) / squared).clamp(0.0, 1.0) } else { 0.0 }
}
