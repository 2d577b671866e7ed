//! Casts of rays and shapes, and moves of characters, from and into arrays.

use drystone::{Answers, BodyId, Filter, Geometry, Moved, Mover, Query, RayHit};
use glam::Vec2;
use numpy::PyArray1;
use pyo3::types::{PyAnyMethods, PyDict};
use pyo3::{Bound, PyResult, Python};

use crate::arrays::rows;

/// Returns the queries of rays, four numbers each: start and end, m.
pub fn queries(rays: &[f32], filter: Filter) -> impl Iterator<Item = Query> + '_ {
    rays.chunks_exact(4).map(move |ray| Query::ray([ray[0], ray[1]], [ray[2], ray[3]]).filter(filter))
}

/// Returns queries for all hits of rays, four numbers each: start and end, m.
pub fn queries_for_all(rays: &[f32], filter: Filter) -> impl Iterator<Item = Query> + '_ {
    rays.chunks_exact(4).map(move |ray| Query::ray_all([ray[0], ray[1]], [ray[2], ray[3]]).filter(filter))
}

/// Returns the queries of casts, five numbers each: position, m, angle, rad, and motion, m.
pub fn casts<'a>(shape: &'a Geometry, casts: &'a [f32], filter: Filter) -> impl Iterator<Item = Query> + 'a {
    casts
        .chunks_exact(5)
        .map(move |cast| Query::cast(shape.clone(), [cast[0], cast[1]], cast[2], [cast[3], cast[4]]).filter(filter))
}

/// Returns queries that do not meet a body, if there is one.
pub fn ignoring(queries: impl Iterator<Item = Query>, body: Option<BodyId>) -> Vec<Query> {
    queries.map(|query| Query { ignore: body, ..query }).collect()
}

/// Hits of rays or casts, a row each.
#[derive(Debug, Default)]
pub struct HitColumns {
    body: Vec<i32>,
    shape: Vec<i32>,
    fraction: Vec<f32>,
    point: Vec<f32>,
    normal: Vec<f32>,
    depth: Vec<f32>,
}

impl HitColumns {
    /// Makes the columns of rays. A ray that hits nothing ends at its end: body and shape −1, fraction 1, normal 0.
    pub fn of_rays(rays: &[f32], answers: &Answers) -> Self {
        let ends = rays.chunks_exact(4).map(|ray| [ray[2], ray[3]]);
        Self::first(ends, answers)
    }

    /// Makes the columns of casts. A cast that meets nothing has the end of its shape's origin as its point.
    pub fn of_casts(casts: &[f32], answers: &Answers) -> Self {
        let ends = casts.chunks_exact(5).map(|cast| [cast[0] + cast[3], cast[1] + cast[4]]);
        Self::first(ends, answers)
    }

    fn first(ends: impl Iterator<Item = [f32; 2]>, answers: &Answers) -> Self {
        let mut columns = Self::default();
        for (index, end) in ends.enumerate() {
            columns.push(answers.hit(index).as_ref(), end);
        }
        columns
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "bodies and shapes are below 2^31")]
    fn push(&mut self, hit: Option<&RayHit>, end: [f32; 2]) {
        self.body.push(hit.map_or(-1, |hit| hit.body as i32));
        self.shape.push(hit.map_or(-1, |hit| hit.shape as i32));
        self.fraction.push(hit.map_or(1.0, |hit| hit.fraction));
        self.point.extend(hit.map_or(end, |hit| hit.point.into()));
        self.normal.extend(hit.map_or([0.0; 2], |hit| hit.normal.into()));
        self.depth.push(hit.map_or(0.0, |hit| hit.depth));
    }

    /// Returns the arrays by their names.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        arrays.set_item("body", PyArray1::from_vec(py, self.body))?;
        arrays.set_item("shape", PyArray1::from_vec(py, self.shape))?;
        arrays.set_item("fraction", PyArray1::from_vec(py, self.fraction))?;
        arrays.set_item("point", rows(py, self.point, 2)?)?;
        arrays.set_item("normal", rows(py, self.normal, 2)?)?;
        arrays.set_item("depth", PyArray1::from_vec(py, self.depth))?;
        Ok(arrays)
    }
}

/// All hits of rays, a row each, with the ray.
#[derive(Debug, Default)]
pub struct AllHitColumns {
    ray: Vec<i32>,
    hits: HitColumns,
}

impl AllHitColumns {
    /// Makes the columns.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 2^22 rays")]
    pub fn new(answers: &Answers) -> Self {
        let mut columns = Self::default();
        for ray in 0..answers.len() {
            for hit in answers.hits(ray) {
                columns.ray.push(ray as i32);
                columns.hits.push(Some(hit), [0.0; 2]);
            }
        }
        columns
    }

    /// Returns the arrays by their names.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = self.hits.into_dict(py)?;
        arrays.set_item("ray", PyArray1::from_vec(py, self.ray))?;
        Ok(arrays)
    }
}

/// Gait of characters: direction up, steepest ground, highest step, snapping distance, skin.
pub type Gait = ([f32; 2], f32, f32, f32, f32);

/// Returns movers, four numbers each: position and motion, m.
pub fn movers(shape: &Geometry, moves: &[f32], gait: Gait, filter: Filter) -> Vec<Mover> {
    let ([x, y], max_slope, step_height, snap, skin) = gait;
    let mover = |row: &[f32]| Mover {
        position: Vec2::new(row[0], row[1]),
        motion: Vec2::new(row[2], row[3]),
        up: Vec2::new(x, y),
        max_slope,
        step_height,
        snap,
        skin,
        filter,
        ..Mover::new(shape.clone(), [0.0; 2])
    };
    moves.chunks_exact(4).map(mover).collect()
}

/// Moved characters, a row each.
#[derive(Debug, Default)]
pub struct MovedColumns {
    position: Vec<f32>,
    ground: Vec<i32>,
    normal: Vec<f32>,
    hits: Vec<i32>,
}

impl MovedColumns {
    /// Makes the columns. Without ground its body is −1 and its normal 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "bodies are below 2^31")]
    pub fn new(all: &[Moved]) -> Self {
        let mut columns = Self::default();
        for Moved { position, ground, hits } in all {
            columns.position.extend(position.to_array());
            columns.ground.push(ground.map_or(-1, |hit| hit.body as i32));
            columns.normal.extend(ground.map_or([0.0; 2], |hit| hit.normal.into()));
            columns.hits.push(hits.len() as i32);
        }
        columns
    }

    /// Returns the arrays by their names.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        arrays.set_item("positions", rows(py, self.position, 2)?)?;
        arrays.set_item("ground", PyArray1::from_vec(py, self.ground))?;
        arrays.set_item("ground_normals", rows(py, self.normal, 2)?)?;
        arrays.set_item("hits", PyArray1::from_vec(py, self.hits))?;
        Ok(arrays)
    }
}
