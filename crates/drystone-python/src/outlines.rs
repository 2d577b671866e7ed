//! Outlines of shapes in the world, as arrays.

use drystone::Snapshot;
use drystone::low_level::math::rotate;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{
    BOX, CIRCLE, GEOMETRY_MASK, MAX_VERTICES, POLYGON, ShapeData, VACANT, VERTEX_COUNT_SHIFT,
};
use glam::Vec2;
use numpy::PyArray1;
use pyo3::types::{PyAnyMethods, PyDict};
use pyo3::{Bound, PyResult, Python};

use crate::arrays::rows;

/// Outlines of the shapes of a world, without half planes: corners, counter-clockwise, and a radius around them.
#[derive(Debug, Default)]
pub struct OutlineColumns {
    body: Vec<i32>,
    radius: Vec<f32>,
    starts: Vec<i32>,
    points: Vec<f32>,
    centers: Vec<f32>,
}

/// Returns the corners of a shape about its centre; nothing for a half plane.
fn corners(shape: &ShapeData, vertices: &[[f32; 2]]) -> Vec<Vec2> {
    match shape.kind & GEOMETRY_MASK {
        CIRCLE => vec![Vec2::ZERO],
        BOX => {
            let [x, y] = shape.half;
            [[-x, -y], [x, -y], [x, y], [-x, y]].map(Vec2::from).to_vec()
        }
        POLYGON => {
            let count = ((shape.kind >> VERTEX_COUNT_SHIFT) & 0xf).min(MAX_VERTICES) as usize;
            let first = shape.first_vertex as usize;
            vertices.get(first..first + count).unwrap_or(&[]).iter().copied().map(Vec2::from).collect()
        }
        _ => Vec::new(),
    }
}

impl OutlineColumns {
    /// Makes the columns of a world.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "bodies and points are below 2^31")]
    pub fn new(compiled: &Compiled, snapshot: &Snapshot) -> Self {
        let mut columns = Self { starts: vec![0], ..Self::default() };
        for (body, pose) in compiled.bodies.iter().zip(&snapshot.poses) {
            columns.centers.extend(if body.kind == VACANT { [f32::NAN; 2] } else { pose.position });
        }
        for shape in &compiled.shapes {
            let Some(pose) = snapshot.poses.get(shape.body as usize) else { continue };
            let corners = corners(shape, &compiled.vertices);
            if corners.is_empty() {
                continue;
            }
            for corner in corners {
                let on_body = Vec2::from(shape.offset) + rotate(shape.rotation.into(), corner);
                let point = Vec2::from(pose.position) + rotate(pose.rotation.into(), on_body);
                columns.points.extend(point.to_array());
            }
            columns.body.push(shape.body as i32);
            columns.radius.push(shape.radius);
            columns.starts.push((columns.points.len() / 2) as i32);
        }
        columns
    }

    /// Returns the arrays by their names.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        arrays.set_item("body", PyArray1::from_vec(py, self.body))?;
        arrays.set_item("radius", PyArray1::from_vec(py, self.radius))?;
        arrays.set_item("starts", PyArray1::from_vec(py, self.starts))?;
        arrays.set_item("points", rows(py, self.points, 2)?)?;
        arrays.set_item("centers", rows(py, self.centers, 2)?)?;
        Ok(arrays)
    }
}
