//! Manifolds of convex polygons of 1 to 8 vertices with a radius around them (discs, capsules, segments, rounded
//! polygons), against each other or against a half plane. Two boxes, and a box and a circle, have their own code in
//! `collide.rs` if their corners are sharp. Twin on the GPU: `shaders/hull.wgsl`, whose functions do the same
//! in the same order.
//!
//! **Cores that overlap** are separated along the face normal with the least penetration, which for convex polygons is
//! the shortest way out; radii add to it. **Cores that are apart**, as rounded shapes at rest always are, are nearest
//! either between a face and a vertex, and then that face has the largest separation and the distance is exact, or
//! between two vertices. All pairs of vertices are compared only if clipping to the face finds nothing as near as that
//! separation. The direction from vertex to vertex is known to the rounding of their positions over their distance.
//! Below a tenth of the slop that is too little, and the difference is not visible: such vertices are separated along
//! the best face, and the ends of two segments, which have no face there, along the bisector of the angle between them.
//! **A link of a chain** has one face. Bodies behind it do not touch it, and normals of other hulls, or between two
//! vertices, count only if they are within the angles at its ends that are its own: at a corner that stands out each of
//! two links has its half, at a straight or hollow one both have none. So a body that slides over meets no corner.
//! Box2D (`b2CollidePolygons`) compares only the vertices of two edges, which misses the nearest pair of slender
//! polygons, and has a separate routine for capsules, whose ends no face normal tells apart; here they are one case.

use glam::Vec2;

use super::{FACE_PREFERENCE, Local, Passing};
use crate::constants::{EDGE_PREFERENCE, LINK_OVERLAP, LINK_SLACK, MIN_CORNER_ANGLE, ROUNDING};
use crate::math::{inv_mul_rotation, inv_rotate, right_perp, rotate};
use crate::types::{BOX, GEOMETRY_MASK, LINK_SHAPE, MAX_VERTICES, POLYGON, ShapeData, VERTEX_COUNT_SHIFT};

/// Core of a shape: the vertices of a convex polygon about its centre, counter-clockwise. One vertex is a disc, two are
/// a capsule or a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hull {
    pub count: usize,
    pub points: [Vec2; MAX_VERTICES as usize],
    pub radius: f32,
    pub bound: f32,
    /// Cosines of the angles from the normal of a link of a chain up to which contacts at its start and at its end are
    /// its own; `None` for other hulls.
    pub link: Option<[f32; 2]>,
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
        let link = (shape.kind & LINK_SHAPE != 0).then(|| vertices[shape.first_vertex as usize + count]);
        Self { count, points, radius: shape.radius, bound: shape.bound, link }
    }

    pub fn disc(radius: f32) -> Self {
        Self { count: 1, points: [Vec2::ZERO; MAX_VERTICES as usize], radius, bound: radius, link: None }
    }

    pub fn next(&self, index: usize) -> usize {
        if index + 1 < self.count { index + 1 } else { 0 }
    }

    fn previous(&self, index: usize) -> usize {
        if index > 0 { index - 1 } else { self.count - 1 }
    }

    /// Returns the vertices.
    pub fn outline(&self) -> &[Vec2] {
        &self.points[..self.count]
    }

    /// Returns direction and length of the edge from a vertex to the next.
    pub fn edge(&self, index: usize) -> (Vec2, f32) {
        edge_of(self.outline(), index)
    }

    /// Returns the outward normal of the edge from a vertex to the next.
    fn normal(&self, index: usize) -> Vec2 {
        right_perp(self.edge(index).0)
    }

    /// Returns the number of faces that touch: a link of a chain has only its first.
    fn faces(&self) -> usize {
        if self.link.is_some() { 1 } else { self.count }
    }

    /// Returns true if contacts may have this normal out of the hull: of a link of a chain, if it is not one of its
    /// neighbor's.
    fn admits(&self, normal: Vec2) -> bool {
        let Some(cosines) = self.link else { return true };
        let (tangent, _) = self.edge(0);
        let cosine = if normal.dot(tangent) < 0.0 { cosines[0] } else { cosines[1] };
        normal.dot(right_perp(tangent)) >= cosine - LINK_SLACK
    }

    /// Returns true if a point is on the side of a link that does not touch.
    pub fn is_behind(&self, point: Vec2) -> bool {
        self.link.is_some() && self.normal(0).dot(point - self.points[0]) < 0.0
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

/// Returns direction and length of the edge of a polygon from a vertex to the next.
#[inline]
pub(crate) fn edge_of(points: &[Vec2], index: usize) -> (Vec2, f32) {
    let edge = points[if index + 1 < points.len() { index + 1 } else { 0 }] - points[index];
    let length = edge.length();
    (edge / length, length)
}

/// Face with the largest separation so far.
struct Best {
    separation: f32,
    face: usize,
    on_b: bool,
    /// Faces along whose normals the hulls do not overlap by more than the slop, as bits: those of A, then those of B.
    near: u32,
}

/// Updates `best` with the separations of `other`, at `at` and rotated by `rel`, along the faces of `hull`. Notes faces
/// with a separation above `near`.
fn separate(hull: &Hull, other: &Hull, at: Vec2, rel: Vec2, on_b: bool, preference: f32, near: f32, best: &mut Best) {
    for face in 0..hull.faces() {
        let normal = hull.normal(face);
        let down = inv_rotate(rel, normal);
        if !other.admits(-down) {
            continue;
        }
        let (_, height) = other.lowest(down);
        let separation = normal.dot(at - hull.points[face]) + height;
        if separation > near {
            best.near |= 1 << (face + if on_b { MAX_VERTICES as usize } else { 0 });
        }
        if separation > best.separation + preference {
            *best = Best { separation, face, on_b, ..*best };
        }
    }
}

/// Two hulls in the frame of the one that has the reference face.
struct Facing<'a> {
    hull: &'a Hull,
    other: &'a Hull,
    /// True if the reference face is on B.
    on_b: bool,
    /// From the centre of A to the centre of B, world axes.
    d: Vec2,
    /// Rotation of the frame.
    turn: Vec2,
    /// Centre of the other hull.
    at: Vec2,
    /// Rotation of the other hull.
    rel: Vec2,
    /// Corner at which the face begins.
    corner: usize,
    tangent: Vec2,
    width: f32,
    normal: Vec2,
}

/// End of the edge of the other hull that lies over the face.
#[derive(Clone, Copy)]
struct End {
    vertex: usize,
    /// Distance from the start of the face, along it.
    along: f32,
    /// Height over the face.
    across: f32,
}

impl<'a> Facing<'a> {
    fn new(hulls: [&'a Hull; 2], turns: [Vec2; 2], [d_a, d_b]: [Vec2; 2], between: Vec2, d: Vec2, best: &Best) -> Self {
        let (on_b, corner) = (best.on_b, best.face);
        let [own, far] = if on_b { [1, 0] } else { [0, 1] };
        let (at, rel) = if on_b { (d_b, Vec2::new(between.x, -between.y)) } else { (d_a, between) };
        let (tangent, width) = hulls[own].edge(corner);
        let normal = right_perp(tangent);
        Self { hull: hulls[own], other: hulls[far], on_b, d, turn: turns[own], at, rel, corner, tangent, width, normal }
    }

    fn vertex(&self, index: usize) -> Vec2 {
        self.at + rotate(self.rel, self.other.points[index])
    }

    /// Returns the ends of the edge that most faces the reference face, the one nearer to the start of the face first.
    fn incident(&self, up: Vec2) -> [End; 2] {
        let from = self.hull.points[self.corner];
        let end = |vertex: usize| {
            let point = self.vertex(vertex) - from;
            End { vertex, along: point.dot(self.tangent), across: point.dot(self.normal) }
        };
        let first = self.other.lowest_edge(up);
        let (low, high) = (end(self.other.next(first)), end(first));
        if low.along > high.along { [high, low] } else { [low, high] }
    }

    /// Writes a point between a corner of this hull and a vertex of the other, on `core`, with the height of the other
    /// core over it along `normal`. It is halfway between the two surfaces.
    fn put(&self, local: &mut Local, corner: usize, vertex: usize, core: Vec2, normal: Vec2, across: f32) {
        let point = rotate(self.turn, core + normal * (0.5 * (self.hull.radius - self.other.radius + across)));
        let (of_a, of_b) = if self.on_b { (vertex, corner) } else { (corner, vertex) };
        let index = local.count as usize;
        local.points[index] = if self.on_b { point + self.d } else { point };
        local.separations[index] = across - (self.hull.radius + self.other.radius);
        #[allow(clippy::cast_possible_truncation, reason = "below 64")]
        let feature = (8 * of_a + of_b) as u32;
        local.features[index] = feature;
        local.count += 1;
    }

    /// Returns a manifold without points, with a normal of this hull.
    fn along(&self, normal: Vec2) -> Local {
        Local { normal: rotate(self.turn, if self.on_b { -normal } else { normal }), ..Local::default() }
    }

    /// Clips the edge to the width of the face. Returns the manifold and the least height; infinite if the edge lies
    /// beside the face.
    fn clip(&self, [low, high]: [End; 2], radius: f32, speculative_distance: f32) -> (Local, f32) {
        let (mut local, mut nearest) = (self.along(self.normal), f32::INFINITY);
        let from = self.hull.points[self.corner];
        let span = high.along - low.along;
        for end in 0..2 {
            if !self.reaches([low, high]) {
                break;
            }
            let End { vertex, mut along, mut across } = if end == 0 { low } else { high };
            let limit = if end == 0 { 0.0 } else { self.width };
            let outside = if end == 0 { along < limit } else { along > limit };
            if outside && span > 0.0 {
                let share = (limit - low.along) / span;
                along = limit;
                across = low.across + (high.across - low.across) * share;
            }
            nearest = nearest.min(across);
            if across - radius > speculative_distance {
                continue;
            }
            let corner = if end == 0 { self.corner } else { self.hull.next(self.corner) };
            self.put(&mut local, corner, vertex, from + self.tangent * along, self.normal, across);
        }
        (local, nearest)
    }

    /// Returns true unless the edge lies beside the face.
    fn reaches(&self, [low, high]: [End; 2]) -> bool {
        high.along >= 0.0 && low.along <= self.width
    }

    /// Returns the manifold of an edge beside the face. The preferred face is not the best one, and the deepest vertex
    /// lies beside it; far beside it, if an edge continues almost where the face ends. Then the other end of that edge
    /// is as deep, and near.
    fn deepest_beside(&self, [low, high]: [End; 2], up: Vec2, separation: f32, preference: f32) -> Local {
        let (mut vertex, mut across) = (self.other.lowest(up).0, separation);
        let near = if high.along < 0.0 { high } else { low };
        if near.across <= across + preference {
            (vertex, across) = (near.vertex, near.across);
        }
        let mut local = self.along(self.normal);
        self.put(&mut local, self.corner, vertex, self.vertex(vertex) - self.normal * across, self.normal, across);
        local
    }

    /// Returns the corner of this hull and the vertex of the other that are nearest, the way from the one to the other,
    /// and their distance.
    fn nearest_vertices(&self) -> (usize, usize, Vec2, f32) {
        let (mut corner, mut vertex, mut gap, mut least) = (0, 0, Vec2::ZERO, f32::INFINITY);
        for of_other in 0..self.other.count {
            let point = self.vertex(of_other);
            for of_hull in 0..self.hull.count {
                let here = point - self.hull.points[of_hull];
                let squared = here.dot(here);
                if squared < least {
                    (corner, vertex, gap, least) = (of_hull, of_other, here, squared);
                }
            }
        }
        (corner, vertex, gap, least.sqrt())
    }

    /// Returns the direction in which vertices are separated that are too near to tell.
    fn bisector(&self, corner: usize, vertex: usize) -> Vec2 {
        if self.hull.count == 2 && self.other.count == 2 {
            let apart = rotate(self.rel, self.other.edge(vertex).0) - self.hull.edge(corner).0;
            let length = apart.length();
            // Parallel segments side by side are nearest elsewhere, unless one is as short as the gap.
            if length > MIN_CORNER_ANGLE {
                return apart / length;
            }
        }
        self.normal
    }

    /// Returns the manifold. `separation` is that along the face; faces of the other hull are not better by more than
    /// `preference`.
    fn touch(&self, separation: f32, preference: f32, speculative_distance: f32) -> Local {
        let radius = self.hull.radius + self.other.radius;
        let up = inv_rotate(self.rel, self.normal);
        let ends = self.incident(up);
        let (local, nearest) = self.clip(ends, radius, speculative_distance);
        if nearest <= separation + preference {
            return local;
        }
        if separation < -ROUNDING * (self.hull.bound + self.other.bound) {
            let is_done = self.reaches(ends) || self.hull.link.or(self.other.link).is_some();
            return if is_done { local } else { self.deepest_beside(ends, up, separation, preference) };
        }
        // Apart, and nearest at two vertices.
        let (corner, vertex, gap, distance) = self.nearest_vertices();
        if distance + preference >= nearest {
            return local;
        }
        if distance - radius > speculative_distance {
            return Local { count: 0, ..local };
        }
        let is_own = self.hull.admits(gap / distance) && self.other.admits(inv_rotate(self.rel, -gap / distance));
        if distance > preference && !is_own {
            return local;
        }
        let (towards, across) = if distance > preference {
            (gap / distance, distance)
        } else {
            let towards = self.bisector(corner, vertex);
            (towards, gap.dot(towards))
        };
        let mut local = Local { at_corner: true, ..self.along(towards) };
        self.put(&mut local, corner, vertex, self.hull.points[corner], towards, across);
        local
    }
}

/// Returns the manifold of two hulls with at least two vertices each, `d` from the centre of A to the centre of B. Of
/// two faces that are equally good that of A is the reference, or of B if `b_first`.
pub(super) fn hulls(
    hulls: [&Hull; 2],
    turns: [Vec2; 2],
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
    b_first: bool,
    passing: Option<Passing>,
) -> Local {
    let ([a, b], [turn_a, turn_b]) = (hulls, turns);
    let between = inv_mul_rotation(turn_a, turn_b);
    let back = Vec2::new(between.x, -between.y);
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, -d);
    let radius = a.radius + b.radius;
    let slack = linear_slop.min(0.1 * a.bound.min(b.bound));
    let preference = FACE_PREFERENCE * slack;
    if a.is_behind(d_a) || b.is_behind(d_b) {
        return Local::default();
    }
    let mut best = Best { separation: -1e30, face: 0, on_b: b.link.is_some(), near: 0 };
    for on_b in [b_first, !b_first] {
        let (hull, other, at, rel) = if on_b { (b, a, d_b, back) } else { (a, b, d_a, between) };
        separate(hull, other, at, rel, on_b, preference, radius - slack, &mut best);
    }
    if best.separation - radius > speculative_distance {
        return Local::default();
    }
    let pair = Facing::new(hulls, turns, [d_a, d_b], between, d, &best);
    let mut local = pair.touch(best.separation, preference, speculative_distance);
    if let Some(passing) = passing
        && local.count > 0
        && a.link.or(b.link).is_none()
    {
        local.passes = passes_by_one_of(best.near, &passing, hulls, turns, d, &local, slack);
    }
    local
}

/// Returns true if two hulls pass by one of these faces ([`Best::near`]).
fn passes_by_one_of(
    mut faces: u32,
    passing: &Passing,
    hulls: [&Hull; 2],
    turns: [Vec2; 2],
    d: Vec2,
    local: &Local,
    slack: f32,
) -> bool {
    while faces != 0 {
        let bit = faces.trailing_zeros() as usize;
        faces &= faces - 1;
        let on_b = bit >= MAX_VERTICES as usize;
        let ([own, far], to_other) = if on_b { ([1, 0], -d) } else { ([0, 1], d) };
        let face = bit % MAX_VERTICES as usize;
        let (hull, normal) = (hulls[own], hulls[own].normal(face));
        let world = rotate(turns[own], normal);
        let out = if on_b { -world } else { world };
        let gap = || {
            let (_, height) = hulls[far].lowest(inv_rotate(turns[far], world));
            let cores = normal.dot(inv_rotate(turns[own], to_other) - hull.points[face]) + height;
            cores - (hull.radius + hulls[far].radius)
        };
        if passing.by(out, gap, local, slack) {
            return true;
        }
    }
    false
}

/// Returns the manifold of a hull with at least two vertices, rotated by `turn`, and a disc at `d` from its centre.
pub(super) fn hull_circle(
    hull: &Hull,
    turn: Vec2,
    radius: f32,
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
    passing: Option<Passing>,
) -> Local {
    let center = inv_rotate(turn, d);
    let slack = linear_slop.min(0.1 * radius);
    if hull.is_behind(center) {
        return Local::default();
    }
    // The first of faces that are equally near but for rounding.
    let (mut face, mut height, least) = (0, -1e30, ROUNDING * (center.x.abs() + center.y.abs()));
    for index in 0..hull.faces() {
        let here = hull.normal(index).dot(center - hull.points[index]);
        if here > height + least {
            (face, height) = (index, here);
        }
    }
    let (tangent, width) = hull.edge(face);
    let along = tangent.dot(center - hull.points[face]);
    let mut normal = right_perp(tangent);
    let mut distance = height;
    let mut at_corner = false;
    // Beside the highest face the nearest point is a vertex. A centre inside is always above it.
    let over = if hull.link.is_some() { LINK_OVERLAP * radius } else { 0.0 };
    if along < -over || along > width + over {
        let (mut gap, mut least) = (Vec2::ZERO, f32::INFINITY);
        for index in 0..hull.count {
            let here = center - hull.points[index];
            let squared = here.dot(here);
            if squared < least {
                (gap, least) = (here, squared);
            }
        }
        distance = least.sqrt();
        if distance > FACE_PREFERENCE * slack {
            normal = gap / distance;
            at_corner = true;
        }
        if !hull.admits(normal) {
            return Local::default();
        }
    }
    let separation = distance - hull.radius - radius;
    if separation > speculative_distance {
        return Local::default();
    }
    let surface = center - normal * distance;
    let point = rotate(turn, surface + normal * (hull.radius + 0.5 * separation));
    let mut local = Local { at_corner, ..Local::of_point(rotate(turn, normal), point, separation) };
    if let Some(passing) = passing
        && hull.link.is_none()
    {
        local.passes = (0..hull.count).any(|face| {
            let gap = hull.normal(face).dot(center - hull.points[face]) - hull.radius - radius;
            gap > -slack && passing.by(rotate(turn, hull.normal(face)), || gap, &local, slack)
        });
    }
    local
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
