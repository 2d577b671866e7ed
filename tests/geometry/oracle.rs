//! Brute force in f64 from the model of a shape: support, signed distance of points, motion in small steps.

use drystone::geometry::ShapeSweep;
use drystone::{Geometry, Shape};
use glam::DVec2;

use crate::support::highest;

/// A convex polygon in the world with a radius about it, or a half plane.
#[derive(Clone, Debug)]
pub enum Solid {
    Round { points: Vec<DVec2>, radius: f64 },
    Below { normal: DVec2, offset: f64 },
}

/// Returns the distance from a point to a segment.
fn to_segment(at: DVec2, a: DVec2, b: DVec2) -> f64 {
    let along = if a == b { 0.0 } else { ((at - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0) };
    at.distance(a + along * (b - a))
}

impl Solid {
    pub fn new(shape: &Shape, at: DVec2, angle: f64) -> Self {
        let turn = DVec2::from_angle(f64::from(shape.rotation));
        let (frame, offset) = (DVec2::from_angle(angle), shape.offset.as_dvec2());
        let place = |point: DVec2| at + frame.rotate(offset + turn.rotate(point));
        let (points, radius) = match &shape.geometry {
            Geometry::Circle { radius } | Geometry::Particle { radius } => (vec![DVec2::ZERO], *radius),
            Geometry::Box { half, radius } => {
                let corners: [[f64; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
                (corners.map(|corner| half.as_dvec2() * DVec2::from(corner)).into(), *radius)
            }
            Geometry::Capsule { a, b, radius } => (vec![a.as_dvec2(), b.as_dvec2()], *radius),
            Geometry::Segment { a, b } | Geometry::Link { a, b, .. } => (vec![a.as_dvec2(), b.as_dvec2()], 0.0),
            Geometry::Polygon { points, radius } => (points.iter().map(|point| point.as_dvec2()).collect(), *radius),
            Geometry::HalfPlane { normal, offset } => {
                let normal = normal.as_dvec2();
                let surface = place(normal * f64::from(*offset));
                let normal = frame.rotate(turn.rotate(normal)).normalize();
                return Self::Below { normal, offset: normal.dot(surface) };
            }
        };
        Self::Round { points: points.into_iter().map(place).collect(), radius: f64::from(radius) }
    }

    /// Returns the largest extent along a direction of length 1.
    pub fn support(&self, u: DVec2) -> f64 {
        match self {
            Self::Round { points, radius } => {
                points.iter().map(|p| p.dot(u)).fold(f64::NEG_INFINITY, f64::max) + radius
            }
            Self::Below { normal, offset } if normal.dot(u) > 1.0 - 1e-9 => *offset,
            Self::Below { .. } => f64::INFINITY,
        }
    }

    /// Returns the separation of another shape along a direction from this one to it.
    pub fn along(&self, other: &Self, u: DVec2) -> f64 {
        // Along the normal of a half plane; directions of f32 are off by 1e-7.
        let is_along = |normal: DVec2| u.normalize().dot(normal) > 1.0 - 1e-11;
        match (self, other) {
            (Self::Below { normal, offset }, _) if is_along(*normal) => -other.support(-*normal) - offset,
            (_, Self::Below { normal, offset }) if is_along(-*normal) => -self.support(-*normal) - offset,
            _ => -other.support(-u) - self.support(u),
        }
    }

    /// Returns the signed distance of a point, negative inside.
    pub fn distance(&self, at: DVec2) -> f64 {
        let (points, radius) = match self {
            Self::Round { points, radius } => (points, radius),
            Self::Below { normal, offset } => return normal.dot(at) - offset,
        };
        let edges = || (0..points.len()).map(|index| (points[index], points[(index + 1) % points.len()]));
        let rim = edges().map(|(a, b)| to_segment(at, a, b)).fold(f64::INFINITY, f64::min);
        let is_inside = points.len() > 2 && edges().all(|(a, b)| (b - a).perp_dot(at - a) >= 0.0);
        if is_inside { -rim - radius } else { rim - radius }
    }

    /// Returns the fraction at which a ray comes as near as `grazing` (negative: as deep), by sphere tracing. A shape
    /// without area has no depth: for it only rays that cross the middle of it count as deep.
    pub fn ray(&self, from: DVec2, to: DVec2, grazing: f64) -> Option<f64> {
        if let Self::Round { points, radius: 0.0 } = self
            && points.len() == 2
            && grazing < 0.0
        {
            let (a, b) = (points[0], points[1]);
            let (before, after) = ((b - a).perp_dot(from - a), (b - a).perp_dot(to - a));
            let fraction = before / (before - after);
            let at = from.lerp(to, fraction);
            let is_crossed = before * after < 0.0 && at.distance(a).min(at.distance(b)) > -1e2 * grazing;
            return (is_crossed && to_segment(at, a, b) < 1e-9).then_some(fraction);
        }
        let (length, mut way) = (from.distance(to), 0.0);
        while way <= length {
            let distance = self.distance(from + (to - from) * (way / length)) - grazing;
            if distance <= 1e-9 {
                return Some(way / length);
            }
            way += distance.max(1e-6);
        }
        None
    }
}

/// Returns the largest separation of two shapes over all directions, and its direction: the distance if they are apart,
/// minus the depth if they overlap. Searches 360 directions, and around the best of them.
pub fn separation(a: &Solid, b: &Solid) -> (f64, DVec2) {
    const COUNT: usize = 360;
    if let Solid::Below { normal, .. } = a {
        return (a.along(b, *normal), *normal);
    }
    if let Solid::Below { normal, .. } = b {
        return (a.along(b, -*normal), -*normal);
    }
    let at = |angle: f64| a.along(b, DVec2::from_angle(angle));
    let step = std::f64::consts::TAU / COUNT as f64;
    let samples: Vec<f64> = (0..COUNT).map(|index| at(step * index as f64)).collect();
    let is_peak = |index: usize| {
        samples[index] >= samples[(index + 1) % COUNT] && samples[index] >= samples[(index + COUNT - 1) % COUNT]
    };
    let mut peaks: Vec<usize> = (0..COUNT).filter(|&index| is_peak(index)).collect();
    peaks.sort_by(|&one, &other| samples[other].total_cmp(&samples[one]));
    let mut best = (f64::NEG_INFINITY, DVec2::X);
    for &peak in peaks.iter().take(8) {
        let angle = highest(at, step * (peak as f64 - 1.0), step * (peak as f64 + 1.0));
        if at(angle) > best.0 {
            best = (at(angle), DVec2::from_angle(angle));
        }
    }
    best
}

/// A shape in motion.
pub struct Course<'a> {
    shape: &'a Shape,
    center: DVec2,
    local: DVec2,
    angle: f64,
    velocity: DVec2,
    spin: f64,
}

impl<'a> Course<'a> {
    pub fn new(shape: &'a Shape, at: DVec2, angle: f64, sweep: &ShapeSweep) -> Self {
        let local = sweep.center.as_dvec2();
        let center = at + DVec2::from_angle(angle).rotate(local);
        let (velocity, spin) = (sweep.velocity.as_dvec2(), f64::from(sweep.angular_velocity));
        Self { shape, center, local, angle, velocity, spin }
    }

    pub fn at(&self, time: f64) -> Solid {
        let angle = self.angle + self.spin * time;
        let center = self.center + self.velocity * time;
        Solid::new(self.shape, center - DVec2::from_angle(angle).rotate(self.local), angle)
    }

    /// Returns a bound on the speed of any point of the shape within 20 m.
    fn fastest(&self) -> f64 {
        let reach = match self.at(0.0) {
            Solid::Round { points, radius } => {
                points.iter().map(|point| point.distance(self.center)).fold(0.0, f64::max) + radius
            }
            Solid::Below { .. } => 20.0,
        };
        self.velocity.length() + self.spin.abs() * reach
    }
}

/// Returns the first time at which two shapes overlap by more than `-deep`, in steps no longer than it takes to get
/// there.
pub fn first_overlap(a: &Course, b: &Course, max_time: f64, deep: f64) -> Option<f64> {
    let fastest = a.fastest() + b.fastest() + 1e-9;
    let mut time = 0.0;
    while time <= max_time {
        let (here, _) = separation(&a.at(time), &b.at(time));
        if here <= deep {
            return Some(time);
        }
        time += (here - deep).max(2e-4) / fastest;
    }
    None
}

/// Returns area, centre and second moment about it of a shape, summed over a raster of 400 x 400 points.
pub fn raster(solid: &Solid) -> (f64, DVec2, f64) {
    const COUNT: usize = 400;
    let low = -DVec2::new(solid.support(DVec2::NEG_X), solid.support(DVec2::NEG_Y));
    let high = DVec2::new(solid.support(DVec2::X), solid.support(DVec2::Y));
    let cell = (high - low) / COUNT as f64;
    let cells = (0..COUNT).flat_map(|x| (0..COUNT).map(move |y| DVec2::new(x as f64 + 0.5, y as f64 + 0.5)));
    let inside: Vec<DVec2> =
        cells.map(|place| low + place * cell).filter(|&point| solid.distance(point) <= 0.0).collect();
    let (count, each) = (inside.len() as f64, cell.x * cell.y);
    let center = inside.iter().sum::<DVec2>() / count.max(1.0);
    (count * each, center, inside.iter().map(|point| point.distance_squared(center)).sum::<f64>() * each)
}
