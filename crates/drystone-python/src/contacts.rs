//! Contact points as arrays.

use drystone::Snapshot;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::contact_points;
use numpy::PyArray1;
use pyo3::types::{PyAnyMethods, PyDict};
use pyo3::{Bound, PyResult, Python};

use crate::arrays::rows;

/// Contact points of one world or of all worlds of a batch, a row each.
#[derive(Debug, Default)]
pub struct ContactColumns {
    world: Vec<i32>,
    bodies: Vec<i32>,
    position: Vec<f32>,
    normal: Vec<f32>,
    separation: Vec<f32>,
    normal_impulse: Vec<f32>,
    tangent_impulse: Vec<f32>,
    force: Vec<f32>,
}

impl ContactColumns {
    /// Appends the contact points of a world.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "bodies and worlds are below 2^31")]
    pub fn push_world(&mut self, world: usize, compiled: &Compiled, snapshot: &Snapshot) {
        for contact in contact_points(compiled, snapshot) {
            self.world.push(world as i32);
            self.bodies.extend(contact.bodies.map(|body| body as i32));
            self.position.extend(contact.position);
            self.normal.extend(contact.normal);
            self.separation.push(contact.separation);
            self.normal_impulse.push(contact.normal_impulse);
            self.tangent_impulse.push(contact.tangent_impulse);
            self.force.extend(contact.force);
        }
    }

    /// Returns the arrays by their names.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        arrays.set_item("world", PyArray1::from_vec(py, self.world))?;
        arrays.set_item("bodies", rows(py, self.bodies, 2)?)?;
        arrays.set_item("position", rows(py, self.position, 2)?)?;
        arrays.set_item("normal", rows(py, self.normal, 2)?)?;
        arrays.set_item("separation", PyArray1::from_vec(py, self.separation))?;
        arrays.set_item("normal_impulse", PyArray1::from_vec(py, self.normal_impulse))?;
        arrays.set_item("tangent_impulse", PyArray1::from_vec(py, self.tangent_impulse))?;
        arrays.set_item("force", rows(py, self.force, 2)?)?;
        Ok(arrays)
    }
}
