//! Intersection of one ray, or one region, with one shape. The GPU has the same functions in `shaders/ray.wgsl`
//! and `shaders/region.wgsl`.
//!
//! A shape is the convex polygon of its core, grown by its radius. **A ray** is clipped to the half planes of the
//! faces, each moved out by the radius; the rest begins at the face where it enters. If the entry is over the face
//! itself, it is the hit. If it is beside the face, the ray is in the spike between two moved faces, where it can only
//! hit the circle of the corner. The two faces of a capsule leave infinite spikes, and a circle is a single corner.
//!
//! **Regions** overlap a shape if the cores do, by separating axes (a segment has those of a box without height), or if
//! the distance of the cores is at most the sum of the radii: the nearest points of two separate polygons are a vertex
//! of one and a point on an edge of the other.

use glam::Vec2;

use crate::constants::FAR;
use crate::math::{cross, inv_rotate, is_finite, mul_rotation, right_perp, rotate};
use crate::scene::Compiled;
use crate::stages::bound::bound_shape;
use crate::stages::collide::hull::{Hull, edge_of};
use crate::stages::pair::{overlap, reaches};
use crate::types::{
    Aabb, DYNAMIC, GEOMETRY_MASK, HALF_PLANE, MAX_VERTICES, NO_SHAPE, Pose, Ray, Region, SENSOR_SHAPE, ShapeData,
};

/// Returns false if a value of the pose is NaN or infinite. Such bodies are quarantined only when the next step begins.
pub fn is_placed(pose: &Pose) -> bool {
    let ([x, y], [cos, sin]) = (pose.position, pose.rotation);
    is_finite(x) && is_finite(y) && is_finite(cos) && is_finite(sin)
}

/// Returns the shapes that a push reaches, with the poses of their bodies: solid ones of dynamic bodies, in one of the
/// categories.
pub fn pushable_shapes<'a>(
    compiled: &'a Compiled,
    poses: &'a [Pose],
    mask: u32,
) -> impl Iterator<Item = (&'a ShapeData, &'a Pose)> {
    compiled.shapes.iter().filter_map(move |shape| {
        let kind = shape.kind & GEOMETRY_MASK;
        let is_solid = kind != NO_SHAPE && kind != HALF_PLANE && shape.kind & SENSOR_SHAPE == 0;
        let (of, pose) = (compiled.bodies.get(shape.body as usize)?, poses.get(shape.body as usize)?);
        let is_pushed = is_solid && of.kind == DYNAMIC && shape.category & mask != 0 && is_placed(pose);
        is_pushed.then_some((shape, pose))
    })
}

/// Returns true if the filter of a query matches a shape ([`crate::stages::pair::may_meet`]).
pub fn sees(category: u32, mask: u32, group: i32, shape: &ShapeData) -> bool {
    if group == shape.group && group != 0 {
        return group > 0;
    }
    mask & shape.category != 0 && shape.mask & category != 0
}

/// Returns true if the part of a ray up to `fraction` comes near the box of a shape. `slack` is more than all rounding.
pub fn is_near(ray: &Ray, fraction: f32, slack: f32, aabb: &Aabb) -> bool {
    let from = Vec2::from(ray.origin);
    let delta = Vec2::from(ray.delta) * fraction;
    let (low, high) = (Vec2::from(aabb.min) - slack, Vec2::from(aabb.max) + slack);
    let end = from + delta;
    if from.x.min(end.x) > high.x || from.x.max(end.x) < low.x {
        return false;
    }
    if from.y.min(end.y) > high.y || from.y.max(end.y) < low.y {
        return false;
    }
    let half = (high - low) * 0.5;
    let arm = from - (low + high) * 0.5;
    cross(delta, arm).abs() <= delta.y.abs() * half.x + delta.x.abs() * half.y
}

/// Returns the vector from the middle of a shape to a point of the world, m.
pub fn from_middle(point: Vec2, shape: &ShapeData, pose: &Pose) -> Vec2 {
    -(pose.vector_from(point) + rotate(pose.rotation.into(), shape.offset.into()))
}

/// Returns the fraction of its length at which a ray enters a shape, and the normal there.
pub fn ray_shape(ray: &Ray, shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose) -> Option<(f32, Vec2)> {
    let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
    let from = inv_rotate(turn, from_middle(ray.origin.into(), shape, pose));
    let delta = inv_rotate(turn, ray.delta.into());
    let (fraction, normal) = if shape.kind & GEOMETRY_MASK == HALF_PLANE {
        ray_half_plane(from, delta)?
    } else {
        let hull = Hull::new(shape, vertices);
        ray_hull(hull.outline(), hull.radius, from, delta)?
    };
    Some((fraction, rotate(turn, normal)))
}

/// Returns the hit of a ray that starts inside: at fraction 0, with the normal against the ray.
fn inside(delta: Vec2) -> (f32, Vec2) {
    let length = delta.length();
    (0.0, if length > 0.0 { -delta / length } else { Vec2::ZERO })
}

/// Intersects a ray with the half plane below the x axis.
fn ray_half_plane(from: Vec2, delta: Vec2) -> Option<(f32, Vec2)> {
    if from.y <= 0.0 {
        return Some(inside(delta));
    }
    // Compared before dividing, as the quotient may overflow.
    if -delta.y < from.y {
        return None;
    }
    Some((from.y / -delta.y, Vec2::Y))
}

/// Intersects a ray with a convex polygon that has a radius around it.
pub fn ray_hull(points: &[Vec2], radius: f32, from: Vec2, delta: Vec2) -> Option<(f32, Vec2)> {
    if points.len() == 1 {
        return ray_corner(points[0], radius, from, delta);
    }
    // Corners without a radius belong to their faces. Those of a segment do not: its two faces are parallel.
    let sharp = radius == 0.0 && points.len() > 2;
    let (mut entry, mut exit) = (-1.0, 1.0);
    let (mut face, mut highest) = (0, -FAR);
    for index in 0..points.len() {
        let normal = right_perp(edge_of(points, index).0);
        let height = normal.dot(from - points[index]) - radius;
        let rate = normal.dot(delta);
        if height > 0.0 {
            if -rate < height {
                return None;
            }
            let fraction = height / -rate;
            if fraction > entry {
                (entry, face) = (fraction, index);
            }
        } else {
            if rate > 0.0 && points.len() > 2 {
                exit = (height / -rate).min(exit);
            }
            if entry < 0.0 && height > highest {
                (highest, face) = (height, index);
            }
        }
    }
    let (tangent, width) = edge_of(points, face);
    if entry < 0.0 {
        // The ray starts inside the shape, or in a spike.
        let along = tangent.dot(from - points[face]);
        if sharp || (along >= 0.0 && along <= width) {
            return Some(inside(delta));
        }
        let (mut corner, mut least) = (0, FAR);
        for (index, &point) in points.iter().enumerate() {
            let arm = from - point;
            let squared = arm.dot(arm);
            if squared < least {
                (corner, least) = (index, squared);
            }
        }
        return ray_corner(points[corner], radius, from, delta);
    }
    if entry > exit {
        return None;
    }
    let along = tangent.dot(from + delta * entry - points[face]);
    if sharp || (along >= 0.0 && along <= width) {
        return Some((entry, right_perp(tangent)));
    }
    let corner = if along < 0.0 { face } else { (face + 1) % points.len() };
    ray_corner(points[corner], radius, from, delta)
}

/// Intersects a ray with the circle at a corner.
fn ray_corner(corner: Vec2, radius: f32, from: Vec2, delta: Vec2) -> Option<(f32, Vec2)> {
    let arm = from - corner;
    if arm.dot(arm) <= radius * radius {
        return Some(inside(delta));
    }
    let squared = delta.dot(delta);
    let towards = -arm.dot(delta);
    if towards <= 0.0 {
        return None;
    }
    // Fraction at which the ray is nearest to the corner, and how far before that it enters the circle. The cross
    // product of a ray along an axis is exact, also where products and sums are fused.
    let nearest = towards / squared;
    let miss = cross(arm, delta);
    let rest = radius * radius - miss * miss / squared;
    if rest < 0.0 {
        return None;
    }
    let fraction = (nearest - (rest / squared).sqrt()).max(0.0);
    if fraction > 1.0 {
        return None;
    }
    let out = arm + delta * fraction;
    let length = out.length();
    Some((fraction, if radius > 0.0 && length > 0.0 { out / length } else { inside(delta).1 }))
}

/// Returns true if a region reaches a shape. A common boundary is enough.
pub fn region_shape(region: &Region, shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose) -> bool {
    let half_plane = shape.kind & GEOMETRY_MASK == HALF_PLANE;
    if region.count == 0 {
        let bounds = bound_shape(shape, vertices, pose, Vec2::ZERO);
        let region = Aabb { min: region.points[0], max: region.points[1] };
        return if half_plane { reaches(&region, &bounds) } else { overlap(&region, &bounds) };
    }
    let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
    // From here on in the shape's frame.
    let at = inv_rotate(turn, from_middle(region.center.into(), shape, pose));
    let count = region.count as usize;
    let mut points = [Vec2::ZERO; MAX_VERTICES as usize];
    for (point, &vertex) in points.iter_mut().zip(&region.points[..count]) {
        *point = at + inv_rotate(turn, vertex.into());
    }
    let points = &points[..count];
    if half_plane {
        return points.iter().any(|point| point.y <= region.radius);
    }
    let hull = Hull::new(shape, vertices);
    let own = &hull.points[..hull.count];
    let radius = hull.radius + region.radius;
    let apart = gap(own, points).max(gap(points, own));
    if apart > radius {
        return false;
    }
    // Two single points have no axes.
    if apart <= 0.0 && apart > -FAR {
        return true;
    }
    radius > 0.0 && (near(own, points, radius * radius) || near(points, own, radius * radius))
}

/// Returns the largest distance of the second polygon in front of a face of the first.
fn gap(hull: &[Vec2], other: &[Vec2]) -> f32 {
    let mut gap = -FAR;
    if hull.len() < 2 {
        return gap;
    }
    for index in 0..hull.len() {
        let next = hull[if index + 1 < hull.len() { index + 1 } else { 0 }];
        let edge = next - hull[index];
        let tangent = edge / edge.length();
        let normal = right_perp(tangent);
        let (mut height, mut beyond) = (FAR, FAR);
        for &point in other {
            height = height.min(normal.dot(point - hull[index]));
            beyond = beyond.min(tangent.dot(point - next));
        }
        gap = gap.max(height);
        if hull.len() == 2 {
            gap = gap.max(beyond);
        }
    }
    gap
}

/// Returns true if a vertex of the second polygon is at most this distance (squared) from an edge of the first.
fn near(hull: &[Vec2], other: &[Vec2], squared: f32) -> bool {
    (0..hull.len()).any(|index| {
        let edge = hull[if index + 1 < hull.len() { index + 1 } else { 0 }] - hull[index];
        let length = edge.dot(edge);
        other.iter().any(|&point| {
            let mut arm = point - hull[index];
            if length > 0.0 {
                arm -= edge * (arm.dot(edge) / length).clamp(0.0, 1.0);
            }
            arm.dot(arm) <= squared
        })
    })
}
