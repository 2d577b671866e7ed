//! Manifolds of convex polygons of 1 to 8 vertices with a radius around them (discs, capsules, segments, rounded
//! polygons), against each other or against a half plane. Two boxes, and a box and a circle, have their own code in
//! `collide.rs` if their corners are sharp. Twin on the GPU: `shaders/hull.wgsl`, function by function.
//!
//! **Cores that overlap** are separated along the face normal with the least penetration, which for convex polygons is
//! the shortest way out; radii add to it. **Cores that are apart**, as rounded shapes at rest always are, are nearest
//! either between a face and a vertex, and then that face has the largest separation and the distance is exact, or
//! between two vertices. All pairs of vertices are compared only if clipping to the face finds nothing as near as that
//! separation. The direction from vertex to vertex is known to the rounding of their positions over their distance.
//! Below a tenth of the slop that is too little, and the difference is not visible: such vertices are separated along
//! the best face, and the ends of two segments, which have no face there, along the bisector of the angle between them.
//! Box2D (`b2CollidePolygons`) compares only the vertices of two edges, which misses the nearest pair of slender
//! polygons, and has a separate routine for capsules, whose ends no face normal tells apart; here they are one case.

use glam::Vec2;

use super::{FACE_PREFERENCE, Local};
use crate::constants::{EDGE_PREFERENCE, MIN_CORNER_ANGLE, ROUNDING};
use crate::math::{inv_mul_rotation, inv_rotate, right_perp, rotate};
use crate::types::{BOX, GEOMETRY_MASK, MAX_VERTICES, POLYGON, ShapeData, VERTEX_COUNT_SHIFT};

/// Core of a shape: the vertices of a convex polygon about its centre, counter-clockwise. One vertex is a disc, two are
/// a capsule or a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hull {
    pub count: usize,
    pub points: [Vec2; MAX_VERTICES as usize],
    pub radius: f32,
    pub bound: f32,
}

impl Hull {
    pub fn new(shape: &ShapeData, vertices: &[[f32; 2]]) -> Self {
        let mut points = [Vec2::ZERO; MAX_VERTICES as usize];
        let count = match shape.kind & GEOMETRY_MASK {
            BOX => {
                let [x, y] = shape.half;
                points[..4].copy_from_slice(&[Vec2::new(-x, -y), Vec2::new(x, -y), Vec2::new(x, y), Vec2::new(-x, y)]);
                4
            }
            POLYGON => {
                let count = ((shape.kind >> VERTEX_COUNT_SHIFT) & 0xf) as usize;
                let first = shape.first_vertex as usize;
                for (point, &vertex) in points.iter_mut().zip(&vertices[first..first + count]) {
                    *point = vertex.into();
                }
                count
            }
            _ => 1,
        };
        Self { count, points, radius: shape.radius, bound: shape.bound }
    }

    pub fn disc(radius: f32) -> Self {
        Self { count: 1, points: [Vec2::ZERO; MAX_VERTICES as usize], radius, bound: radius }
    }

    pub fn next(&self, index: usize) -> usize {
        if index + 1 < self.count { index + 1 } else { 0 }
    }

    fn previous(&self, index: usize) -> usize {
        if index > 0 { index - 1 } else { self.count - 1 }
    }

    /// Returns direction and length of the edge from a vertex to the next.
    pub fn edge(&self, index: usize) -> (Vec2, f32) {
        let edge = self.points[self.next(index)] - self.points[index];
        let length = edge.length();
        (edge / length, length)
    }

    /// Returns the outward normal of the edge from a vertex to the next.
    fn normal(&self, index: usize) -> Vec2 {
        right_perp(self.edge(index).0)
    }

    /// Returns the lowest vertex along `up` and its height; of several, the first.
    pub fn lowest(&self, up: Vec2) -> (usize, f32) {
        let (mut lowest, mut height) = (0, up.dot(self.points[0]));
        for index in 1..self.count {
            let here = up.dot(self.points[index]);
            if here < height {
                (lowest, height) = (index, here);
            }
        }
        (lowest, height)
    }

    /// Returns the edge at the lowest vertex that faces down `up` most squarely, by the index of its first vertex.
    fn lowest_edge(&self, up: Vec2) -> usize {
        let (after, _) = self.lowest(up);
        let before = self.previous(after);
        if up.dot(self.normal(before)) < up.dot(self.normal(after)) - EDGE_PREFERENCE { before } else { after }
    }
}

/// Face with the largest separation so far.
struct Best {
    separation: f32,
    face: usize,
    on_b: bool,
}

/// Updates `best` with the separations of `other`, at `at` and rotated by `rel`, along the faces of `hull`.
fn separate(hull: &Hull, other: &Hull, at: Vec2, rel: Vec2, on_b: bool, preference: f32, best: &mut Best) {
    for face in 0..hull.count {
        let normal = hull.normal(face);
        let (_, height) = other.lowest(inv_rotate(rel, normal));
        let separation = normal.dot(at - hull.points[face]) + height;
        if separation > best.separation + preference {
            *best = Best { separation, face, on_b };
        }
    }
}

/// Returns the manifold of two hulls with at least two vertices each, `d` from the centre of A to the centre of B.
pub(super) fn hulls(
    a: &Hull,
    b: &Hull,
    turn_a: Vec2,
    turn_b: Vec2,
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
) -> Local {
    let between = inv_mul_rotation(turn_a, turn_b);
    let back = Vec2::new(between.x, -between.y);
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, -d);
    let radius = a.radius + b.radius;
    let preference = FACE_PREFERENCE * linear_slop.min(0.1 * a.bound.min(b.bound));
    let mut best = Best { separation: -1e30, face: 0, on_b: false };
    separate(a, b, d_a, between, false, preference, &mut best);
    separate(b, a, d_b, back, true, preference, &mut best);
    if best.separation - radius > speculative_distance {
        return Local::default();
    }

    // From here on in the frame of the reference hull; the other hull is at `at`, rotated by `rel`.
    let on_b = best.on_b;
    let (hull, other, turn_ref, at, rel) = if on_b { (b, a, turn_b, d_b, back) } else { (a, b, turn_a, d_a, between) };
    let low_corner = best.face;
    let high_corner = hull.next(low_corner);
    let from = hull.points[low_corner];
    let (tangent, width) = hull.edge(low_corner);
    let normal = right_perp(tangent);

    let up = inv_rotate(rel, normal);
    let first = other.lowest_edge(up);
    let (mut low_vertex, mut high_vertex) = (other.next(first), first);
    let low = at + rotate(rel, other.points[low_vertex]) - from;
    let high = at + rotate(rel, other.points[high_vertex]) - from;
    let (mut low_along, mut low_across) = (low.dot(tangent), low.dot(normal));
    let (mut high_along, mut high_across) = (high.dot(tangent), high.dot(normal));
    if low_along > high_along {
        std::mem::swap(&mut low_along, &mut high_along);
        std::mem::swap(&mut low_across, &mut high_across);
        std::mem::swap(&mut low_vertex, &mut high_vertex);
    }

    let feature = |corner: usize, vertex: usize| {
        let (of_a, of_b) = if on_b { (vertex, corner) } else { (corner, vertex) };
        #[allow(clippy::cast_possible_truncation, reason = "below 64")]
        let feature = (8 * of_a + of_b) as u32;
        feature
    };
    // Halfway between the two surfaces; `across` is the height of the other core over this one.
    let middle = |core: Vec2, normal: Vec2, across: f32| {
        let point = rotate(turn_ref, core + normal * (0.5 * (hull.radius - other.radius + across)));
        if on_b { point + d } else { point }
    };
    let out = |normal: Vec2| rotate(turn_ref, if on_b { -normal } else { normal });

    let mut local = Local { normal: out(normal), ..Local::default() };
    let mut nearest = f32::INFINITY;
    let span = high_along - low_along;
    let reaches = high_along >= 0.0 && low_along <= width;
    for end in 0..2 {
        if !reaches {
            break;
        }
        let (mut along, mut across) = if end == 0 { (low_along, low_across) } else { (high_along, high_across) };
        let limit = if end == 0 { 0.0 } else { width };
        let outside = if end == 0 { along < limit } else { along > limit };
        if outside && span > 0.0 {
            let share = (limit - low_along) / span;
            along = limit;
            across = low_across + (high_across - low_across) * share;
        }
        nearest = nearest.min(across);
        let separation = across - radius;
        if separation > speculative_distance {
            continue;
        }
        let index = local.count as usize;
        local.points[index] = middle(from + tangent * along, normal, across);
        local.separations[index] = separation;
        local.features[index] =
            if end == 0 { feature(low_corner, low_vertex) } else { feature(high_corner, high_vertex) };
        local.count += 1;
    }
    if nearest <= best.separation + preference {
        return local;
    }

    if best.separation < -ROUNDING * (a.bound + b.bound) {
        if !reaches {
            // The preferred face is not the best one, and the deepest vertex lies beside it; far beside it, if an edge
            // continues almost where the face ends. Then the other end of that edge is as deep, and near.
            let (mut vertex, mut across) = (other.lowest(up).0, best.separation);
            let (near, near_across) =
                if high_along < 0.0 { (high_vertex, high_across) } else { (low_vertex, low_across) };
            if near_across <= across + preference {
                (vertex, across) = (near, near_across);
            }
            let point = at + rotate(rel, other.points[vertex]);
            local.points[0] = middle(point - normal * across, normal, across);
            local.separations[0] = across - radius;
            local.features[0] = feature(low_corner, vertex);
            local.count = 1;
        }
        return local;
    }

    // Apart, and nearest at two vertices.
    let (mut corner, mut vertex, mut gap, mut least) = (0, 0, Vec2::ZERO, f32::INFINITY);
    for of_other in 0..other.count {
        let point = at + rotate(rel, other.points[of_other]);
        for of_hull in 0..hull.count {
            let here = point - hull.points[of_hull];
            let squared = here.dot(here);
            if squared < least {
                (corner, vertex, gap, least) = (of_hull, of_other, here, squared);
            }
        }
    }
    let distance = least.sqrt();
    if distance + preference >= nearest {
        return local;
    }
    local.count = 0;
    if distance - radius > speculative_distance {
        return local;
    }
    let (mut towards, mut across) = (normal, distance);
    if distance > preference {
        towards = gap / distance;
    } else {
        if hull.count == 2 && other.count == 2 {
            let apart = rotate(rel, other.edge(vertex).0) - hull.edge(corner).0;
            let length = apart.length();
            // Parallel segments side by side are nearest elsewhere, unless one is as short as the gap.
            if length > MIN_CORNER_ANGLE {
                towards = apart / length;
            }
        }
        across = gap.dot(towards);
    }
    local.normal = out(towards);
    local.count = 1;
    local.points[0] = middle(hull.points[corner], towards, across);
    local.separations[0] = across - radius;
    local.features[0] = feature(corner, vertex);
    local
}

/// Returns the manifold of a hull with at least two vertices, rotated by `turn`, and a disc at `d` from its centre.
pub(super) fn hull_circle(
    hull: &Hull,
    turn: Vec2,
    radius: f32,
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
) -> Local {
    let center = inv_rotate(turn, d);
    let (mut face, mut height) = (0, -1e30);
    for index in 0..hull.count {
        let here = hull.normal(index).dot(center - hull.points[index]);
        if here > height {
            (face, height) = (index, here);
        }
    }
    let (tangent, width) = hull.edge(face);
    let along = tangent.dot(center - hull.points[face]);
    let mut normal = right_perp(tangent);
    let mut distance = height;
    // Beside the highest face the nearest point is a vertex. A centre inside is always above it.
    if along < 0.0 || along > width {
        let (mut gap, mut least) = (Vec2::ZERO, f32::INFINITY);
        for index in 0..hull.count {
            let here = center - hull.points[index];
            let squared = here.dot(here);
            if squared < least {
                (gap, least) = (here, squared);
            }
        }
        distance = least.sqrt();
        if distance > FACE_PREFERENCE * linear_slop.min(0.1 * radius) {
            normal = gap / distance;
        }
    }
    let separation = distance - hull.radius - radius;
    if separation > speculative_distance {
        return Local::default();
    }
    let surface = center - normal * distance;
    Local {
        normal: rotate(turn, normal),
        count: 1,
        points: [rotate(turn, surface + normal * (hull.radius + 0.5 * separation)), Vec2::ZERO],
        separations: [separation, 0.0],
        features: [0; 2],
    }
}

/// Returns the manifold of a hull rotated by `turn` and the half plane below a line through a point at `d` from its
/// centre. `normal` points out of the half plane.
pub(super) fn hull_half_plane(hull: &Hull, turn: Vec2, normal: Vec2, d: Vec2, speculative_distance: f32) -> Local {
    let up = inv_rotate(turn, normal);
    let height = -normal.dot(d) - hull.radius;
    let mut local = Local { normal: -normal, ..Local::default() };
    let first = if hull.count > 1 { hull.lowest_edge(up) } else { 0 };
    for vertex in [first, hull.next(first)].into_iter().take(hull.count) {
        let separation = height + up.dot(hull.points[vertex]);
        if separation > speculative_distance {
            continue;
        }
        let index = local.count as usize;
        local.points[index] = rotate(turn, hull.points[vertex]) - normal * (hull.radius + 0.5 * separation);
        local.separations[index] = separation;
        #[allow(clippy::cast_possible_truncation, reason = "below 64")]
        let feature = (8 * vertex) as u32;
        local.features[index] = feature;
        local.count += 1;
    }
    local
}
