//! Random scenes and queries, and an oracle for them: distances in f64, independent of the library's arithmetic. A ray
//! is followed by steps of the present distance (sphere tracing), not by solving for its entry.

use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{BOX, GEOMETRY_MASK, HALF_PLANE, POLYGON, Pose, VERTEX_COUNT_SHIFT};
use drystone::{Answers, Body, Filter, Geometry, Query, QueryKind, Scene, Shape};
use drystone_scenes::random::SplitMix;
use glam::{DVec2, Vec2};

/// Random scenes and queries.
pub struct Rng(SplitMix);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix(seed))
    }

    fn unit(&mut self) -> f32 {
        self.0.unit()
    }

    fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    fn below(&mut self, count: u64) -> u64 {
        self.0.bits() % count
    }

    fn point(&mut self, low: Vec2, high: Vec2) -> Vec2 {
        Vec2::new(self.range(low.x, high.x), self.range(low.y, high.y))
    }

    fn polygon(&mut self) -> Vec<Vec2> {
        // Points on a circle, in order, one in each sector: convex.
        let count = 3 + self.below(6);
        let start = self.range(0.0, 6.0);
        let size = self.range(0.2, 0.9);
        (0..count)
            .map(|corner| {
                let sector = std::f32::consts::TAU / count as f32;
                size * Vec2::from_angle(start + sector * (corner as f32 + self.range(0.0, 0.7)))
            })
            .collect()
    }

    /// Returns any geometry but a half plane.
    fn geometry(&mut self) -> Geometry {
        let side = Vec2::splat(1.0);
        match self.below(8) {
            0 | 1 => Geometry::Circle { radius: self.range(0.1, 0.8) },
            2 => Geometry::Box { half: self.point(0.1 * side, side), radius: 0.0 },
            3 => Geometry::Box { half: self.point(0.1 * side, side), radius: self.range(0.0, 0.4) },
            4 => Geometry::Capsule {
                a: self.point(-side, -0.1 * side),
                b: self.point(0.1 * side, side),
                radius: self.range(0.05, 0.4),
            },
            5 => Geometry::Segment { a: self.point(-2.0 * side, -0.1 * side), b: self.point(0.1 * side, 2.0 * side) },
            6 => Geometry::Polygon { points: self.polygon(), radius: 0.0 },
            _ => Geometry::Polygon { points: self.polygon(), radius: self.range(0.0, 0.3) },
        }
    }

    fn filter(&mut self) -> Filter {
        match self.below(6) {
            0 => Filter { category: 2, mask: 1, group: 0 },
            1 => Filter { category: 2, mask: 6, group: 0 },
            2 => Filter { category: 1, mask: u32::MAX, group: -1 },
            _ => Filter::default(),
        }
    }

    /// Returns a scene with all geometries, on bodies of one to three shapes of every kind, between two half planes.
    pub fn scene(&mut self, bodies: usize) -> Scene {
        let mut scene = Scene::new("random");
        scene.add(Body::fixed(0.0, -8.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
        let slope = Vec2::new(0.8, 0.6);
        scene.add(Body::kinematic(-14.0, 0.0).shape(Shape::half_plane(slope, 0.0)));
        for index in 0..bodies {
            let at = self.point(Vec2::splat(-10.0), Vec2::splat(10.0));
            let mut body = match self.below(4) {
                0 => Body::fixed(at.x, at.y),
                1 => Body::kinematic(at.x, at.y).angular_velocity(self.range(-2.0, 2.0)),
                _ => Body::dynamic(at.x, at.y).velocity(self.range(-4.0, 4.0), self.range(-4.0, 4.0)),
            };
            body.angle = self.range(-4.0, 4.0);
            for _ in 0..=self.below(3) {
                let geometry = match self.geometry() {
                    // Segments have no mass.
                    Geometry::Segment { .. } if index % 2 == 0 => Geometry::Circle { radius: 0.3 },
                    other => other,
                };
                if matches!(geometry, Geometry::Segment { .. }) {
                    (body.mass, body.inertia) = (Some(1.0), Some(1.0));
                }
                let mut shape = Shape::new(geometry).offset(self.range(-0.5, 0.5), self.range(-0.5, 0.5));
                shape.rotation = self.range(-3.0, 3.0);
                shape.filter = self.filter();
                body = body.shape(shape);
            }
            if body.kind != drystone::BodyType::Dynamic {
                (body.mass, body.inertia) = (None, None);
            }
            scene.add(body);
        }
        scene
    }

    fn ray(&mut self, low: Vec2, high: Vec2) -> Query {
        let from = self.point(low, high);
        let to = match self.below(8) {
            0 => Vec2::new(self.range(low.x, high.x), from.y),
            1 => Vec2::new(from.x, self.range(low.y, high.y)),
            2 => from + self.point(Vec2::splat(-0.5), Vec2::splat(0.5)),
            _ => self.point(low, high),
        };
        Query::ray(from, to)
    }

    /// Returns rays within a box.
    pub fn rays(&mut self, low: Vec2, high: Vec2, count: usize) -> Vec<Query> {
        (0..count).map(|_| self.ray(low, high)).collect()
    }

    /// Returns casts that begin in a box.
    pub fn casts(&mut self, low: Vec2, high: Vec2, count: usize) -> Vec<Query> {
        let cast = |_| {
            let motion = self.point(Vec2::splat(-8.0), Vec2::splat(8.0));
            let cast = Query::cast(self.geometry(), self.point(low, high), self.range(-4.0, 4.0), motion);
            cast.filter(self.filter())
        };
        (0..count).map(cast).collect()
    }

    /// Returns queries of every kind but casts within a box.
    pub fn queries(&mut self, low: Vec2, high: Vec2, count: usize) -> Vec<Query> {
        (0..count)
            .map(|_| {
                let query = match self.below(8) {
                    0..=2 => self.ray(low, high),
                    3 => match self.ray(low, high).kind {
                        QueryKind::Ray { from, to } => Query::ray_all(from, to),
                        _ => unreachable!(),
                    },
                    4 => Query::point(self.point(low, high)),
                    5 => {
                        let corner = self.point(low, high);
                        Query::aabb(corner, corner + self.point(Vec2::ZERO, Vec2::splat(3.0)))
                    }
                    _ => Query::overlap(self.geometry(), self.point(low, high), self.range(-4.0, 4.0)),
                };
                query.filter(self.filter())
            })
            .collect()
    }
}

pub fn is_half_plane(body: &Body) -> bool {
    matches!(body.shapes[0].geometry, Geometry::HalfPlane { .. })
}

/// Returns the corners of a shape at a position, those of one that is smaller by ten tolerances, and its radius. The
/// depth of overlapping cores is unknown; sharp ones within rounding of touching may be either.
fn placed(shape: &Geometry, position: Vec2, angle: f32, tolerance: f64) -> (Vec<DVec2>, Vec<DVec2>, f64) {
    let (points, radius) = match shape.clone() {
        Geometry::Circle { radius } | Geometry::Particle { radius } => (vec![Vec2::ZERO], radius),
        Geometry::Box { half, radius } => {
            let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            (corners.map(|(x, y)| half * Vec2::new(x, y)).into(), radius)
        }
        Geometry::Capsule { a, b, radius } => (vec![a, b], radius),
        Geometry::Segment { a, b } | Geometry::Link { a, b, .. } => (vec![a, b], 0.0),
        Geometry::Polygon { points, radius } => (points, radius),
        Geometry::HalfPlane { .. } => unreachable!("not a region"),
    };
    let rotation = DVec2::from_angle(f64::from(angle));
    let place = |point: &Vec2| position.as_dvec2() + turn(rotation, point.as_dvec2());
    let points: Vec<DVec2> = points.iter().map(place).collect();
    let middle = points.iter().fold(DVec2::ZERO, |sum, point| sum + *point) / points.len() as f64;
    let smaller = points.iter().map(|point| *point + (middle - *point) * (10.0 * tolerance)).collect();
    (points, smaller, f64::from(radius))
}

/// A convex polygon in the world, extended by a radius; or a half plane.
enum Solid {
    Round { points: Vec<DVec2>, radius: f64 },
    Below { normal: DVec2, offset: f64 },
}

fn turn(rotation: DVec2, v: DVec2) -> DVec2 {
    rotation.rotate(v)
}

/// Returns the distance from a point to a segment.
fn to_segment(at: DVec2, a: DVec2, b: DVec2) -> f64 {
    let along = if a == b { 0.0 } else { ((at - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0) };
    at.distance(a + along * (b - a))
}

/// Returns the distance from a point to a convex polygon: 0 inside.
fn to_core(at: DVec2, points: &[DVec2]) -> f64 {
    let edges = || (0..points.len()).map(|index| (points[index], points[(index + 1) % points.len()]));
    if points.len() > 2 && edges().all(|(a, b)| (b - a).perp_dot(at - a) >= 0.0) {
        return 0.0;
    }
    edges().map(|(a, b)| to_segment(at, a, b)).fold(f64::INFINITY, f64::min)
}

/// Returns the depth of a point in a convex polygon: its distance from the boundary; 0 outside.
fn depth(at: DVec2, points: &[DVec2]) -> f64 {
    if to_core(at, points) > 0.0 {
        return 0.0;
    }
    let edges = (0..points.len()).map(|index| (points[index], points[(index + 1) % points.len()]));
    edges.map(|(a, b)| to_segment(at, a, b)).fold(f64::INFINITY, f64::min)
}

fn cross(a: DVec2, b: DVec2, c: DVec2, d: DVec2) -> bool {
    let side = |a: DVec2, b: DVec2, p: DVec2| (b - a).perp_dot(p - a);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// Returns the distance of two convex polygons: 0 if they overlap.
fn between(a: &[DVec2], b: &[DVec2]) -> f64 {
    let edge = |points: &[DVec2], index: usize| (points[index], points[(index + 1) % points.len()]);
    for i in 0..a.len() {
        for j in 0..b.len() {
            let ((p, q), (r, s)) = (edge(a, i), edge(b, j));
            if cross(p, q, r, s) {
                return 0.0;
            }
        }
    }
    let one = a.iter().map(|&point| to_core(point, b)).fold(f64::INFINITY, f64::min);
    let other = b.iter().map(|&point| to_core(point, a)).fold(f64::INFINITY, f64::min);
    one.min(other)
}

impl Solid {
    /// Returns the signed distance of a point, negative inside; a lower bound in absolute value.
    fn distance(&self, at: DVec2) -> f64 {
        match self {
            Self::Round { points, radius } => to_core(at, points) - radius - depth(at, points),
            Self::Below { normal, offset } => normal.dot(at) - offset,
        }
    }

    /// Returns the distance to a convex polygon with a radius. At most 0 if they overlap, but not the depth.
    fn distance_to(&self, other: &[DVec2], other_radius: f64) -> f64 {
        match self {
            Self::Round { points, radius } => between(points, other) - radius - other_radius,
            Self::Below { normal, offset } => {
                other.iter().map(|point| normal.dot(*point)).fold(f64::INFINITY, f64::min) - offset - other_radius
            }
        }
    }

    /// Returns the fraction at which a moving polygon with a radius comes as near as `grazing`, by sphere tracing.
    fn cast(&self, points: &[DVec2], radius: f64, motion: DVec2, grazing: f64) -> Option<f64> {
        let length = motion.length();
        let mut fraction = 0.0;
        loop {
            let here: Vec<DVec2> = points.iter().map(|point| *point + motion * fraction).collect();
            let gap = self.distance_to(&here, radius) - grazing;
            if gap <= 1e-9 {
                return Some(fraction);
            }
            if length == 0.0 {
                return None;
            }
            fraction += gap / length;
            if fraction > 1.0 {
                return None;
            }
        }
    }

    fn bounds(&self) -> (DVec2, DVec2) {
        match self {
            Self::Round { points, radius } => {
                let low = points.iter().fold(DVec2::INFINITY, |low, point| low.min(*point));
                let high = points.iter().fold(DVec2::NEG_INFINITY, |high, point| high.max(*point));
                (low - *radius, high + *radius)
            }
            Self::Below { .. } => (DVec2::NEG_INFINITY, DVec2::INFINITY),
        }
    }

    /// Returns the fraction at which a ray comes as near as `grazing` (negative: as deep), by sphere tracing. Segments
    /// have no depth; a ray crosses them if it passes them by that much.
    fn ray(&self, from: DVec2, to: DVec2, grazing: f64) -> Option<f64> {
        let length = from.distance(to);
        let (low, high) = self.bounds();
        if low.is_finite() && to_segment(0.5 * (low + high), from, to) > 0.5 * low.distance(high) + 1e-3 {
            return None;
        }
        if let Self::Round { points, radius: 0.0 } = self
            && points.len() == 2
            && grazing < 0.0
        {
            let (a, b) = (points[0], points[1]);
            let far = |end: DVec2, a: DVec2, b: DVec2| to_segment(end, a, b) > -grazing;
            let clear = far(a, from, to) && far(b, from, to) && far(from, a, b) && far(to, a, b);
            let (before, after) = ((b - a).perp_dot(from - a), (b - a).perp_dot(to - a));
            return (clear && cross(a, b, from, to)).then(|| before / (before - after));
        }
        let (mut way, mut steps) = (0.0, 0);
        while way <= length && steps < 200_000 {
            let distance = self.distance(if length > 0.0 { from + (to - from) * (way / length) } else { from });
            if distance - grazing <= 1e-9 {
                return Some(if length > 0.0 { way / length } else { 0.0 });
            }
            way += distance - grazing;
            steps += 1;
        }
        None
    }
}

pub struct World {
    solids: Vec<Solid>,
    filters: Vec<Filter>,
}

impl World {
    pub fn new(compiled: &Compiled, poses: &[Pose]) -> Self {
        let wide = |v: [f32; 2]| Vec2::from(v).as_dvec2();
        let solids = compiled.shapes.iter().map(|shape| {
            let pose = &poses[shape.body as usize];
            let rotation = wide(pose.rotation);
            let center = wide(pose.position) + turn(rotation, wide(shape.offset));
            let rotation = turn(rotation, wide(shape.rotation));
            let core: Vec<DVec2> = match shape.kind & GEOMETRY_MASK {
                HALF_PLANE => {
                    let normal = rotation.perp();
                    return Solid::Below { normal, offset: normal.dot(center) };
                }
                BOX => {
                    let half = wide(shape.half);
                    [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| half * DVec2::new(x, y)).into()
                }
                POLYGON => {
                    let first = shape.first_vertex as usize;
                    let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
                    compiled.vertices[first..first + count].iter().map(|&vertex| wide(vertex)).collect()
                }
                _ => vec![DVec2::ZERO],
            };
            let points = core.into_iter().map(|point| center + turn(rotation, point)).collect();
            Solid::Round { points, radius: f64::from(shape.radius) }
        });
        let filter = |shape: &drystone::low_level::types::ShapeData| Filter {
            category: shape.category,
            mask: shape.mask,
            group: shape.group,
        };
        Self { solids: solids.collect(), filters: compiled.shapes.iter().map(filter).collect() }
    }

    fn sees(&self, filter: Filter, shape: usize) -> bool {
        let other = self.filters[shape];
        if filter.group != 0 && filter.group == other.group {
            return filter.group > 0;
        }
        filter.mask & other.category != 0 && other.mask & filter.category != 0
    }

    /// Returns true if an answer is right to within `tolerance` m.
    pub fn confirms(&self, query: &Query, index: usize, answers: &Answers, tolerance: f64) -> bool {
        // Shapes that must be found, and shapes that may be.
        let judge = |must: &dyn Fn(&Solid) -> bool, may: &dyn Fn(&Solid) -> bool, filter: Filter| {
            let found: Vec<usize> = answers.found(index).iter().map(|found| found.shape).collect();
            found.is_sorted_by(|a, b| a < b)
                && (0..self.solids.len()).all(|shape| {
                    let (seen, solid) = (self.sees(filter, shape), &self.solids[shape]);
                    if found.contains(&shape) { seen && may(solid) } else { !(seen && must(solid)) }
                })
        };
        let filter = query.filter;
        match &query.kind {
            QueryKind::Ray { from, to } => {
                let (from, to) = (from.as_dvec2(), to.as_dvec2());
                let first = |grazing: f64| {
                    (0..self.solids.len())
                        .filter(|&shape| self.sees(filter, shape))
                        .filter_map(|shape| self.solids[shape].ray(from, to, grazing))
                        .fold(f64::INFINITY, f64::min)
                };
                // Enlarged shapes are hit earlier, reduced ones later.
                let (early, late) = (first(tolerance), first(-tolerance));
                match answers.hit(index) {
                    None => late == f64::INFINITY,
                    Some(hit) => {
                        let fraction = f64::from(hit.fraction);
                        let solid = &self.solids[hit.shape];
                        let slack = tolerance / from.distance(to).max(1e-3);
                        let point = hit.point.as_dvec2();
                        let on = solid.distance(point);
                        // The outward normal points away from the shape.
                        let start_in = fraction == 0.0;
                        let away = start_in
                            || (solid.distance(point + 1e-3 * hit.normal.as_dvec2()) - 1e-3).abs() < 10.0 * tolerance
                            || on.abs() < tolerance && self.is_corner(hit.shape, point);
                        self.sees(filter, hit.shape)
                            && fraction >= early - slack
                            && (fraction <= late + slack || late.is_infinite())
                            && (if start_in { on <= tolerance } else { on.abs() <= 2.0 * tolerance })
                            && away
                    }
                }
            }
            QueryKind::RayAll { from, to } => {
                let (from, to) = (from.as_dvec2(), to.as_dvec2());
                let slack = tolerance / from.distance(to).max(1e-3);
                let hits = answers.hits(index);
                let is_hit = |shape: usize, solid: &Solid| {
                    let mut own = hits.iter().filter(|hit| hit.shape == shape);
                    let (early, late) = (solid.ray(from, to, tolerance), solid.ray(from, to, -tolerance));
                    match (own.next(), own.next()) {
                        (None, _) => !self.sees(filter, shape) || late.is_none(),
                        (Some(hit), None) => {
                            let fraction = f64::from(hit.fraction);
                            self.sees(filter, shape)
                                && early.is_some_and(|early| fraction >= early - slack)
                                && late.is_none_or(|late| fraction <= late + slack)
                        }
                        _ => false,
                    }
                };
                hits.is_sorted_by_key(|hit| hit.fraction)
                    && self.solids.iter().enumerate().all(|(shape, solid)| is_hit(shape, solid))
            }
            QueryKind::Point { at } => {
                let at = at.as_dvec2();
                judge(&|solid| solid.distance(at) < -tolerance, &|solid| solid.distance(at) < tolerance, filter)
            }
            QueryKind::Aabb { min, max } => {
                let (min, max) = (min.as_dvec2(), max.as_dvec2());
                let meets = |solid: &Solid, slack: f64| match solid {
                    Solid::Below { normal, offset } => {
                        let lowest = DVec2::new(
                            if normal.x > 0.0 { min.x } else { max.x },
                            if normal.y > 0.0 { min.y } else { max.y },
                        );
                        normal.dot(lowest) <= offset + slack
                    }
                    Solid::Round { .. } => {
                        let (low, high) = solid.bounds();
                        (low - slack).cmple(max).all() && (high + slack).cmpge(min).all()
                    }
                };
                judge(&|solid| meets(solid, -tolerance), &|solid| meets(solid, tolerance), filter)
            }
            QueryKind::Cast { shape, position, angle, motion } => {
                let (points, smaller, radius) = placed(shape, *position, *angle, tolerance);
                let motion = motion.as_dvec2();
                let first = |points: &[DVec2], grazing: f64| {
                    (0..self.solids.len())
                        .filter(|&shape| self.sees(filter, shape))
                        .filter_map(|shape| self.solids[shape].cast(points, radius, motion, grazing))
                        .fold(f64::INFINITY, f64::min)
                };
                // Enlarged shapes are met earlier, reduced ones later.
                let (early, late) = (first(&points, tolerance), first(&smaller, 0.0));
                let Some(hit) = answers.hit(index) else { return late == f64::INFINITY };
                let (fraction, depth) = (f64::from(hit.fraction), f64::from(hit.depth));
                let (solid, normal) = (&self.solids[hit.shape], hit.normal.as_dvec2());
                let slack = 2.0 * tolerance / motion.length().max(1e-3);
                let moved = |by: DVec2| points.iter().map(|point| *point + by).collect::<Vec<DVec2>>();
                // A little further out along the normal they are apart by as much, or at a corner by less.
                let out = motion * fraction + normal * (depth + 1e-3);
                let apart = solid.distance_to(&moved(out), radius);
                let is_sharp = radius == 0.0;
                let least = if is_sharp { 0.0 } else { 1e-3 - 20.0 * tolerance };
                self.sees(filter, hit.shape)
                    && (hit.fraction == 0.0 || depth == 0.0)
                    && fraction >= early - slack
                    && (fraction <= late + slack || late.is_infinite())
                    && (least..=1e-3 + 20.0 * tolerance).contains(&apart)
                    && solid.distance(hit.point.as_dvec2()).abs() <= 20.0 * tolerance
            }
            QueryKind::Overlap { shape, position, angle } => {
                let (points, smaller, radius) = placed(shape, *position, *angle, tolerance);
                judge(
                    &|solid| solid.distance_to(&smaller, radius) < if radius > 0.0 { -tolerance } else { 1e-12 },
                    &|solid| solid.distance_to(&points, radius) < tolerance,
                    filter,
                )
            }
        }
    }

    /// Returns true if a point is at a corner, where the normal is that of either side.
    fn is_corner(&self, shape: usize, at: DVec2) -> bool {
        match &self.solids[shape] {
            Solid::Round { points, radius } => *radius < 1e-2 && points.iter().any(|point| point.distance(at) < 2e-3),
            Solid::Below { .. } => false,
        }
    }
}
