//! Arrays that the caller keeps while their content follows the world.
//!
//! An array has a base, which only this module writes, and a read-only view of it, which the caller gets, the same
//! object each time. The solver keeps centres of mass, eight bodies at a time, so the origins that users read are
//! computed in any case: into these arrays, without allocation, when a call that changes the world ends. Both happens
//! while the interpreter lock is held, so no Python code sees half of a step.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::types::PyAnyMethods;
use pyo3::{Bound, Py, PyAny, PyResult, Python};

use crate::call::CallError;
use crate::columns::{BodyColumns, Column, ColumnChoice};

/// Array with a read-only view.
#[derive(Debug)]
struct ViewedArray<T> {
    base: Py<PyArrayDyn<T>>,
    view: Py<PyAny>,
    shape: Vec<usize>,
}

impl<T: Element + Copy> ViewedArray<T> {
    fn new(py: Python<'_>, shape: Vec<usize>) -> PyResult<Self> {
        let base = PyArrayDyn::<T>::zeros(py, shape.clone(), false);
        // A class of the package, for consumers that cannot be shown read-only memory.
        let class = py.import("drystone._arrays")?.getattr("StateArray")?;
        let view = base.call_method1("view", (class,))?;
        view.call_method1("setflags", (false,))?;
        Ok(Self { base: base.unbind(), view: view.unbind(), shape })
    }

    fn write(&self, py: Python<'_>, values: &[T]) -> PyResult<()> {
        let mut base = self.base.bind(py).try_readwrite()?;
        base.as_slice_mut()?.copy_from_slice(values);
        Ok(())
    }
}

#[derive(Debug)]
enum AnyArray {
    Float(ViewedArray<f32>),
    Flag(ViewedArray<bool>),
}

/// Arrays of the columns that the caller has asked for so far.
#[derive(Debug, Default)]
pub struct ColumnArrays {
    arrays: [Option<AnyArray>; Column::COUNT],
}

impl ColumnArrays {
    /// Returns the columns that have an array.
    pub fn choice(&self) -> ColumnChoice {
        std::array::from_fn(|column| self.arrays[column].is_some())
    }

    /// Returns the view of a column, if there is one.
    pub fn view(&self, py: Python<'_>, column: Column) -> Option<Py<PyAny>> {
        self.arrays[column as usize].as_ref().map(|array| match array {
            AnyArray::Float(array) => array.view.clone_ref(py),
            AnyArray::Flag(array) => array.view.clone_ref(py),
        })
    }

    /// Makes the array of a column and returns its view. `shape` is that of the bodies.
    ///
    /// # Errors
    /// The interpreter has no memory.
    pub fn open(
        &mut self,
        py: Python<'_>,
        column: Column,
        shape: &[usize],
        values: &BodyColumns,
    ) -> Result<Py<PyAny>, CallError> {
        let shape = shape_of(column, shape);
        let array = if column == Column::Awake {
            AnyArray::Flag(ViewedArray::new(py, shape)?)
        } else {
            AnyArray::Float(ViewedArray::new(py, shape)?)
        };
        write(py, &array, column, values)?;
        self.arrays[column as usize] = Some(array);
        self.view(py, column).ok_or(CallError::Broken)
    }

    /// Writes the values of all columns that have an array. Arrays of another shape are replaced.
    ///
    /// # Errors
    /// The interpreter has no memory.
    pub fn write(&mut self, py: Python<'_>, shape: &[usize], values: &BodyColumns) -> Result<(), CallError> {
        for column in [Column::Positions, Column::Angles, Column::Velocities, Column::AngularVelocities, Column::Awake]
        {
            let wanted = shape_of(column, shape);
            match &self.arrays[column as usize] {
                None => {}
                Some(
                    AnyArray::Float(ViewedArray { shape: have, .. }) | AnyArray::Flag(ViewedArray { shape: have, .. }),
                ) if *have != wanted => {
                    self.open(py, column, shape, values)?;
                }
                Some(array) => write(py, array, column, values)?,
            }
        }
        Ok(())
    }
}

fn write(py: Python<'_>, array: &AnyArray, column: Column, values: &BodyColumns) -> PyResult<()> {
    match array {
        AnyArray::Float(array) => array.write(py, values.floats(column)),
        AnyArray::Flag(array) => array.write(py, values.awake()),
    }
}

/// Returns the shape of a column for bodies of a shape: (bodies) or (worlds, bodies).
fn shape_of(column: Column, bodies: &[usize]) -> Vec<usize> {
    let mut shape = bodies.to_vec();
    if column.width() > 1 {
        shape.push(column.width());
    }
    shape
}

/// Returns an array of rows of `width` values.
///
/// # Errors
/// The values are no whole number of rows.
pub fn rows<T: Element>(py: Python<'_>, values: Vec<T>, width: usize) -> PyResult<Bound<'_, PyAny>> {
    let count = values.len() / width;
    Ok(PyArray1::from_vec(py, values).reshape([count, width])?.into_any())
}
