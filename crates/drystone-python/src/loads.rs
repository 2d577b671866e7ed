//! Constant forces and torques that the caller writes into an array: what has changed there acts from the next step on.

use drystone::Command;
use drystone::low_level::scene::Compiled;
use drystone::low_level::snapshot::Force;
use drystone::low_level::types::VACANT;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::{Py, PyAny, Python};

use crate::call::CallError;

/// Kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Forces at the centres of mass, N.
    Forces,
    /// Torques, N·m.
    Torques,
}

impl LoadKind {
    /// Name of the array.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forces => "forces",
            Self::Torques => "torques",
        }
    }

    /// Number of values of a body.
    pub fn width(self) -> usize {
        match self {
            Self::Forces => 2,
            Self::Torques => 1,
        }
    }

    /// Writes the loads of bodies.
    fn write(self, loads: impl Iterator<Item = Force>, row: &mut [f32]) {
        for (load, values) in loads.zip(row.chunks_exact_mut(self.width())) {
            match self {
                Self::Forces => values.copy_from_slice(&load.force),
                Self::Torques => values[0] = load.torque,
            }
        }
    }

    fn command(self, values: &[f32]) -> Command {
        match self {
            Self::Forces => Command::force([values[0], values[1]]),
            Self::Torques => Command::Torque(values[0]),
        }
    }
}

/// Returns the loads of the bodies of a scene.
pub fn loads_of(compiled: &Compiled) -> impl Iterator<Item = Force> + '_ {
    compiled.bodies.iter().map(|body| if body.kind == VACANT { Force::default() } else { Force::of(body) })
}

/// Change of a load: the world, the body, the command.
#[derive(Clone, Copy, Debug)]
pub struct LoadChange {
    /// Index of the world.
    pub world: usize,
    /// Slot of the body.
    pub body: usize,
    /// Command that brings the change.
    pub command: Command,
}

/// Array of loads, (worlds, bodies) or (worlds, bodies, 2), which the caller writes.
#[derive(Debug)]
pub struct LoadArray {
    kind: LoadKind,
    array: Py<PyArrayDyn<f32>>,
    /// Values that act already.
    acting: Vec<f32>,
    worlds: usize,
    stride: usize,
}

impl LoadArray {
    /// Makes an array with the loads of the scenes.
    ///
    /// # Errors
    /// The interpreter has no memory.
    pub fn new<'a>(
        py: Python<'_>,
        kind: LoadKind,
        scenes: impl ExactSizeIterator<Item = Option<&'a Compiled>>,
        stride: usize,
    ) -> Result<Self, CallError> {
        let worlds = scenes.len();
        let mut acting = vec![0.0; worlds * stride * kind.width()];
        for (compiled, row) in scenes.zip(acting.chunks_exact_mut((stride * kind.width()).max(1))) {
            if let Some(compiled) = compiled {
                kind.write(loads_of(compiled), row);
            }
        }
        let mut shape = vec![worlds, stride];
        if kind.width() > 1 {
            shape.push(kind.width());
        }
        let array = PyArrayDyn::<f32>::zeros(py, shape, false);
        let made = Self { kind, array: array.unbind(), acting, worlds, stride };
        made.write(py)?;
        Ok(made)
    }

    /// Returns the array.
    pub fn array(&self, py: Python<'_>) -> Py<PyAny> {
        self.array.clone_ref(py).into_any()
    }

    /// Returns true if the array has room for worlds of this many bodies.
    pub fn fits(&self, stride: usize) -> bool {
        self.stride >= stride
    }

    /// Returns an array for larger worlds with the values of this one.
    ///
    /// # Errors
    /// The caller has changed the shape of the array.
    pub fn grown(&self, py: Python<'_>, stride: usize) -> Result<Self, CallError> {
        let given = self.read(py)?;
        let (old, new) = (self.stride * self.kind.width(), stride * self.kind.width());
        let widen = |values: &[f32]| {
            let mut wide = vec![0.0; self.worlds * new];
            for (from, to) in values.chunks_exact(old.max(1)).zip(wide.chunks_exact_mut(new.max(1))) {
                to[..old].copy_from_slice(from);
            }
            wide
        };
        let mut grown = Self::new(py, self.kind, (0..self.worlds).map(|_| None), stride)?;
        grown.acting = widen(&given);
        grown.write(py)?;
        grown.acting = widen(&self.acting);
        Ok(grown)
    }

    /// Returns the changes since the last call of [`Self::accept`].
    ///
    /// # Errors
    /// A value is not finite, or the caller has changed the shape of the array.
    pub fn changes(&self, py: Python<'_>) -> Result<Vec<LoadChange>, CallError> {
        let array = self.array.bind(py).try_readonly().map_err(|error| self.misused(&error.to_string()))?;
        let given = array.as_slice().map_err(|error| self.misused(&error.to_string()))?;
        if given.len() != self.acting.len() {
            return Err(self.misused("has another shape"));
        }
        let mut changes = Vec::new();
        if given == self.acting {
            return Ok(changes);
        }
        let width = self.kind.width();
        for (place, (values, acting)) in given.chunks_exact(width).zip(self.acting.chunks_exact(width)).enumerate() {
            if values == acting {
                continue;
            }
            let (world, body) = (place / self.stride, place % self.stride);
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                let name = format!("{}[{world}, {body}]", self.kind.name());
                return Err(CallError::argument(name, format!("is {value}"), "a finite number"));
            }
            changes.push(LoadChange { world, body, command: self.kind.command(values) });
        }
        Ok(changes)
    }

    /// Marks a change as acting.
    pub fn accept(&mut self, change: &LoadChange) {
        let width = self.kind.width();
        let at = (change.world * self.stride + change.body) * width;
        match change.command {
            Command::Force { force, .. } => self.acting[at..at + width].copy_from_slice(&force.to_array()),
            Command::Torque(torque) => self.acting[at] = torque,
            _ => {}
        }
    }

    /// Gives a world the loads that act already, as after a reset.
    ///
    /// # Errors
    /// The caller has changed the shape of the array.
    pub fn reset(&mut self, py: Python<'_>, world: usize, loads: impl Iterator<Item = Force>) -> Result<(), CallError> {
        let width = self.stride * self.kind.width();
        let row = &mut self.acting[world * width..(world + 1) * width];
        row.fill(0.0);
        self.kind.write(loads, row);
        let mut array = self.array.bind(py).try_readwrite().map_err(|error| self.misused(&error.to_string()))?;
        let given = array.as_slice_mut().map_err(|error| self.misused(&error.to_string()))?;
        if given.len() != self.acting.len() {
            return Err(self.misused("has another shape"));
        }
        given[world * width..(world + 1) * width].copy_from_slice(&self.acting[world * width..(world + 1) * width]);
        Ok(())
    }

    /// Gives the row of a body that was added or removed the load that acts there.
    ///
    /// # Errors
    /// The caller has changed the shape of the array.
    pub fn set(&mut self, py: Python<'_>, world: usize, body: usize, load: Force) -> Result<(), CallError> {
        let width = self.kind.width();
        let place = (world * self.stride + body) * width;
        let mut array = self.array.bind(py).try_readwrite().map_err(|error| self.misused(&error.to_string()))?;
        let given = array.as_slice_mut().map_err(|error| self.misused(&error.to_string()))?;
        for values in [given, &mut self.acting[..]] {
            if let Some(row) = values.get_mut(place..place + width) {
                self.kind.write(std::iter::once(load), row);
            }
        }
        Ok(())
    }

    /// Returns the error of a command that a body does not take.
    pub fn refused(&self, change: &LoadChange, error: CallError) -> CallError {
        let name = format!("{}[{}, {}]", self.kind.name(), change.world, change.body);
        match error {
            CallError::Missing(text) => CallError::argument(name, text, "0 where there is no body"),
            CallError::Argument(_, problem, expected) => CallError::argument(name, format!("body {problem}"), expected),
            error => error,
        }
    }

    fn misused(&self, problem: &str) -> CallError {
        let expected = format!("the array of {} as it was given, with other values", self.kind.name());
        CallError::argument(self.kind.name(), problem, expected)
    }

    fn read(&self, py: Python<'_>) -> Result<Vec<f32>, CallError> {
        let array = self.array.bind(py);
        if array.len() != self.acting.len() {
            return Err(self.misused("has another shape"));
        }
        Ok(array.try_readonly().map_err(|error| self.misused(&error.to_string()))?.as_array().iter().copied().collect())
    }

    fn write(&self, py: Python<'_>) -> Result<(), CallError> {
        let mut array = self.array.bind(py).try_readwrite().map_err(|error| self.misused(&error.to_string()))?;
        array.as_slice_mut().map_err(|error| self.misused(&error.to_string()))?.copy_from_slice(&self.acting);
        Ok(())
    }
}
