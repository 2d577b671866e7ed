//! Queries of a batch as checked records for both backends, with rays and regions in separate lists.

use std::fmt::Arguments;

use glam::Vec2;

use super::{MAX_QUERIES, MIN_RAY, Query, QueryError};
use crate::constants::REGION_SLACK;
use crate::math::{rotate, rotation};
use crate::scene::{ANGLE, Filter, Geometry, Outline, POSITION, SceneError, check_geometry};
use crate::types::{Ray, Region};

/// Rays and regions of a batch, each with its index among the queries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat {
    pub count: usize,
    pub rays: Vec<Ray>,
    pub ray_places: Vec<usize>,
    pub regions: Vec<Region>,
    pub region_places: Vec<usize>,
}

impl Flat {
    pub fn new(queries: &[Query]) -> Result<Self, QueryError> {
        Self::of(queries.iter().map(|query| (0, query)))
    }

    /// Returns the records of queries about a batch of worlds, each with the index of its world.
    pub fn of<'a>(queries: impl ExactSizeIterator<Item = (u32, &'a Query)>) -> Result<Self, QueryError> {
        if queries.len() > MAX_QUERIES {
            return Err(QueryError {
                index: MAX_QUERIES,
                problem: format!("is one of {}", queries.len()),
                expected: format!("at most {MAX_QUERIES} in a batch"),
            });
        }
        let mut flat = Self { count: queries.len(), ..Self::default() };
        for (index, (world, query)) in queries.enumerate() {
            flat.push(index, world, query).map_err(|error| QueryError {
                index,
                problem: format!("{} {}", error.path, error.problem),
                expected: error.expected,
            })?;
        }
        Ok(flat)
    }

    fn push(&mut self, index: usize, world: u32, query: &Query) -> Result<(), SceneError> {
        let region = match query {
            Query::Ray { from, to, filter } => {
                POSITION.check_pair(*from, format_args!("from"))?;
                POSITION.check_pair(*to, format_args!("to"))?;
                let delta = *to - *from;
                self.rays.push(Ray {
                    origin: (*from).into(),
                    delta: if delta.length() < MIN_RAY { [0.0; 2] } else { delta.into() },
                    category: filter.category,
                    mask: filter.mask,
                    group: filter.group,
                    world,
                });
                self.ray_places.push(index);
                return Ok(());
            }
            Query::Point { at, filter } => {
                POSITION.check_pair(*at, format_args!("at"))?;
                polygon(*at, &[Vec2::ZERO], 0.0, *filter)
            }
            Query::Aabb { min, max, filter } => {
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
                let mut region = Region { points: [[0.0; 2]; 8], ..filtered(*filter) };
                region.points[0] = (*min).into();
                region.points[1] = (*max).into();
                bounded(region, *min, *max)
            }
            Query::Overlap { shape, position, angle, filter } => {
                POSITION.check_pair(*position, format_args!("position"))?;
                ANGLE.check(*angle, format_args!("angle"))?;
                outline(shape, *position, *angle, *filter, format_args!("shape"))?
            }
        };
        self.regions.push(Region { world, ..region });
        self.region_places.push(index);
        Ok(())
    }
}

fn filtered(filter: Filter) -> Region {
    Region { category: filter.category, mask: filter.mask, group: filter.group, ..Region::default() }
}

fn bounded(region: Region, min: Vec2, max: Vec2) -> Region {
    let slack = REGION_SLACK * min.abs().max(max.abs()).max_element();
    Region { min: (min - slack).into(), max: (max + slack).into(), ..region }
}

/// Returns a region: a convex polygon about `center`.
fn polygon(center: Vec2, points: &[Vec2], radius: f32, filter: Filter) -> Region {
    #[allow(clippy::cast_possible_truncation, reason = "at most eight")]
    let count = points.len() as u32;
    let mut region = Region { center: center.into(), radius, count, ..filtered(filter) };
    let (mut low, mut high) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
    for (row, &point) in region.points.iter_mut().zip(points) {
        *row = point.into();
        (low, high) = (low.min(point), high.max(point));
    }
    bounded(region, center + low - radius, center + high + radius)
}

fn outline(
    shape: &Geometry,
    position: Vec2,
    angle: f32,
    filter: Filter,
    path: Arguments<'_>,
) -> Result<Region, SceneError> {
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
    Ok(polygon(position + rotate(turn, middle), &points, outline.radius, filter))
}
