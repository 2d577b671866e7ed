//! Queries of a batch as checked records for both backends, with rays and regions in separate lists.

use std::fmt::Arguments;

use glam::Vec2;

use super::{MAX_QUERIES, MIN_RAY, Query, QueryError, QueryKind};
use crate::constants::REGION_SLACK;
use crate::math::{rotate, rotation};
use crate::population::BodyId;
use crate::scene::{ANGLE, Filter, Geometry, Outline, POSITION, SceneError, check_geometry};
use crate::types::{FINDS_HITS, NONE, Ray, Region, SOLID_ONLY};

/// Rays, casts and regions of a batch, each with its index among the queries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat {
    pub count: usize,
    pub rays: Vec<Ray>,
    pub ray_places: Vec<usize>,
    pub casts: Vec<Region>,
    pub cast_places: Vec<usize>,
    pub regions: Vec<Region>,
    pub region_places: Vec<usize>,
}

impl Flat {
    /// Returns the records of queries about one world.
    pub fn new(queries: &[Query], contains: impl Fn(BodyId) -> bool) -> Result<Self, QueryError> {
        Self::of(queries.iter().map(|query| (0, query)), |_, body| contains(body))
    }

    /// Returns the records of queries about a batch of worlds, each with the index of its world. `contains` returns
    /// true if a world has a body.
    pub fn of<'a>(
        queries: impl ExactSizeIterator<Item = (u32, &'a Query)>,
        contains: impl Fn(u32, BodyId) -> bool,
    ) -> Result<Self, QueryError> {
        if queries.len() > MAX_QUERIES {
            return Err(QueryError {
                index: MAX_QUERIES,
                problem: format!("is one of {}", queries.len()),
                expected: format!("at most {MAX_QUERIES} in a batch"),
            });
        }
        let mut flat = Self { count: queries.len(), ..Self::default() };
        for (index, (world, query)) in queries.enumerate() {
            if let Some(body) = query.ignore.filter(|&body| !contains(world, body)) {
                return Err(QueryError {
                    index,
                    problem: format!("ignores body {body}, which does not exist"),
                    expected: "the id of a body of the world".to_owned(),
                });
            }
            flat.push(index, world, query).map_err(|error| QueryError {
                index,
                problem: format!("{} {}", error.path, error.problem),
                expected: error.expected,
            })?;
        }
        Ok(flat)
    }

    fn push(&mut self, index: usize, world: u32, query: &Query) -> Result<(), SceneError> {
        let ignore = query.ignore.map_or(NONE, |body| body.index);
        let flags = if query.solid { SOLID_ONLY } else { 0 };
        let Filter { category, mask, group } = query.filter;
        let region = match &query.kind {
            QueryKind::Ray { from, to } => {
                let delta = way(*from, *to)?;
                let origin = (*from).into();
                self.rays.push(Ray { origin, delta, category, mask, group, world, ignore, flags, pad: [0; 2] });
                self.ray_places.push(index);
                return Ok(());
            }
            QueryKind::RayAll { from, to } => {
                let delta = way(*from, *to)?;
                Region { delta, flags: FINDS_HITS, ..polygon(*from, &[Vec2::ZERO], 0.0) }
            }
            QueryKind::Point { at } => {
                POSITION.check_pair(*at, format_args!("at"))?;
                polygon(*at, &[Vec2::ZERO], 0.0)
            }
            QueryKind::Aabb { min, max } => {
                POSITION.check_pair(*min, format_args!("min"))?;
                POSITION.check_pair(*max, format_args!("max"))?;
                for axis in 0..2 {
                    if min[axis] > max[axis] {
                        let problem = format!("is {}, above max[{axis}], which is {}", min[axis], max[axis]);
                        return Err(SceneError::new(
                            format!("min[{axis}]"),
                            problem,
                            "a low corner below the high one",
                        ));
                    }
                }
                let mut region = Region::default();
                region.points[0] = (*min).into();
                region.points[1] = (*max).into();
                bounded(region, *min, *max)
            }
            QueryKind::Cast { shape, position, angle, motion } => {
                POSITION.check_pair(*position, format_args!("position"))?;
                ANGLE.check(*angle, format_args!("angle"))?;
                POSITION.check_pair(*motion, format_args!("motion"))?;
                let region = outline(shape, *position, *angle, format_args!("shape"))?;
                let delta = if motion.length() < MIN_RAY { [0.0; 2] } else { (*motion).into() };
                self.casts.push(Region { category, mask, group, world, delta, ignore, flags, ..region });
                self.cast_places.push(index);
                return Ok(());
            }
            QueryKind::Overlap { shape, position, angle } => {
                POSITION.check_pair(*position, format_args!("position"))?;
                ANGLE.check(*angle, format_args!("angle"))?;
                outline(shape, *position, *angle, format_args!("shape"))?
            }
        };
        let flags = flags | region.flags;
        self.regions.push(Region { category, mask, group, world, ignore, flags, ..region });
        self.region_places.push(index);
        Ok(())
    }
}

/// Returns the way of a ray from its start to its end, m.
fn way(from: Vec2, to: Vec2) -> Result<[f32; 2], SceneError> {
    POSITION.check_pair(from, format_args!("from"))?;
    POSITION.check_pair(to, format_args!("to"))?;
    let delta = to - from;
    Ok(if delta.length() < MIN_RAY { [0.0; 2] } else { delta.into() })
}

fn bounded(region: Region, min: Vec2, max: Vec2) -> Region {
    let slack = REGION_SLACK * min.abs().max(max.abs()).max_element();
    Region { min: (min - slack).into(), max: (max + slack).into(), ..region }
}

/// Returns a region: a convex polygon about `center`.
fn polygon(center: Vec2, points: &[Vec2], radius: f32) -> Region {
    #[allow(clippy::cast_possible_truncation, reason = "at most eight")]
    let count = points.len() as u32;
    let mut region = Region { center: center.into(), radius, count, ..Region::default() };
    let (mut low, mut high) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
    for (row, &point) in region.points.iter_mut().zip(points) {
        *row = point.into();
        (low, high) = (low.min(point), high.max(point));
    }
    bounded(region, center + low - radius, center + high + radius)
}

fn outline(shape: &Geometry, position: Vec2, angle: f32, path: Arguments<'_>) -> Result<Region, SceneError> {
    if matches!(shape, Geometry::HalfPlane { .. }) {
        return Err(SceneError::new(path.to_string(), "is a half plane", "a shape that ends somewhere"));
    }
    check_geometry(shape, path)?;
    let outline = Outline::of(shape);
    let turn = rotation(angle);
    let (low, high) = outline
        .points
        .iter()
        .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), &point| (low.min(point), high.max(point)));
    // Points are from its middle, so that no digits are lost if its origin is far away.
    let middle = 0.5 * (low + high);
    let points: Vec<Vec2> = outline.points.iter().map(|&point| rotate(turn, point - middle)).collect();
    Ok(polygon(position + rotate(turn, middle), &points, outline.radius))
}
