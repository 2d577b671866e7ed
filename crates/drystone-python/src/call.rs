//! Calls from Python: work without the interpreter lock, Ctrl-C between steps, errors as exceptions of
//! `drystone.errors`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use drystone::{CommandError, PopulationError, SceneError, WorldError};
use drystone_draw::DrawError;
use drystone_scenes::SavedWorldError;
use drystone_scenes::file::FileError;
use pyo3::{PyErr, PyResult, Python};

/// Exceptions of the package.
mod exceptions {
    pyo3::import_exception!(drystone.errors, ArgumentError);
    pyo3::import_exception!(drystone.errors, DeviceError);
    pyo3::import_exception!(drystone.errors, Error);
    pyo3::import_exception!(drystone.errors, InternalError);
    pyo3::import_exception!(drystone.errors, MissingError);
    pyo3::import_exception!(drystone.errors, PendingError);
    pyo3::import_exception!(drystone.errors, SceneError);
    pyo3::import_exception!(drystone.errors, SnapshotError);
    pyo3::import_exception!(drystone.errors, StepError);
}

/// Time between two checks for Ctrl-C. A single step is never interrupted: its world would be of no step.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Error of a call.
#[derive(Debug)]
pub enum CallError {
    /// An argument is not valid: its name, the problem, the expectation.
    Argument(String, String, String),
    /// The scene is not valid: path of the value, problem, expectation.
    Scene(String, String, String),
    /// There is no such body or joint, or no longer.
    Missing(String),
    /// Bytes are not a saved world, or not of this world.
    Snapshot(String),
    /// There is no device, or it is lost or refused something.
    Device(String),
    /// A step failed.
    Step(String),
    /// A step of the batch is under way.
    Pending,
    /// The solver panicked now, or in an earlier call with this world.
    Broken,
    /// Another error.
    Other(String),
    /// Exception of the interpreter.
    Raised(PyErr),
}

impl CallError {
    /// Returns the error of an argument.
    pub fn argument(name: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Argument(name.into(), problem.into(), expected.into())
    }

    /// Returns the error of an argument whose message may say itself what is expected.
    pub fn explained(name: &str, message: &str, expected: &str) -> Self {
        let (problem, expected) = message.split_once("; expected ").unwrap_or((message, expected));
        Self::argument(name, problem, expected)
    }
}

impl From<CallError> for PyErr {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Argument(name, problem, expected) => {
                exceptions::ArgumentError::new_err((name, problem, expected))
            }
            CallError::Scene(path, problem, expected) => exceptions::SceneError::new_err((path, problem, expected)),
            CallError::Missing(text) => exceptions::MissingError::new_err((text,)),
            CallError::Snapshot(text) => exceptions::SnapshotError::new_err((text,)),
            CallError::Device(text) => exceptions::DeviceError::new_err((text,)),
            CallError::Step(text) => exceptions::StepError::new_err((text,)),
            CallError::Pending => exceptions::PendingError::new_err(("a step is under way; call wait() first",)),
            CallError::Broken => exceptions::InternalError::new_err((
                "the solver failed by a mistake of its own, and this world cannot be used any more; please report it",
            )),
            CallError::Other(text) => exceptions::Error::new_err((text,)),
            CallError::Raised(error) => error,
        }
    }
}

impl From<PyErr> for CallError {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<SceneError> for CallError {
    fn from(SceneError { path, problem, expected }: SceneError) -> Self {
        Self::Scene(path, problem, expected)
    }
}

impl From<FileError> for CallError {
    fn from(FileError { path, problem, expected, .. }: FileError) -> Self {
        Self::Scene(path, problem, expected)
    }
}

impl From<CommandError> for CallError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::NoBody { .. } | CommandError::Gone(_) | CommandError::NoJoint(_) => {
                Self::Missing(error.to_string())
            }
            CommandError::Value { what, value, limit } => {
                let name = what.strip_prefix("the ").unwrap_or(what).replace(' ', "_");
                Self::argument(name, format!("is {value}"), format!("a number {limit}"))
            }
            CommandError::Kind { body, found, expected } => {
                Self::argument("body", format!("{body} is {found}"), format!("a body that is {expected}"))
            }
            CommandError::JointKind { joint, found, expected } => {
                Self::argument("joint", format!("{joint} is of type {found}"), expected)
            }
            CommandError::Joint(SceneError { path, problem, expected }) => Self::Argument(path, problem, expected),
        }
    }
}

impl From<WorldError> for CallError {
    fn from(error: WorldError) -> Self {
        let text = error.to_string();
        match error {
            WorldError::Command(error) => error.into(),
            WorldError::Scene(error) | WorldError::Population(PopulationError::Value(error)) => error.into(),
            WorldError::Population(PopulationError::Gone(_) | PopulationError::NoJoint(_)) => Self::Missing(text),
            WorldError::Population(_) => Self::Argument("ids".to_owned(), text, "each id once".to_owned()),
            WorldError::Query(error) => Self::Argument(format!("rays[{}]", error.index), error.problem, error.expected),
            WorldError::Snapshot(_) | WorldError::SnapshotFile(_) => Self::Snapshot(text),
            WorldError::Device(_) | WorldError::TooLarge { .. } => Self::Device(text),
            WorldError::Cancelled | WorldError::TooManyContacts { .. } => Self::Step(text),
            _ => Self::Other(text),
        }
    }
}

impl From<SavedWorldError> for CallError {
    fn from(error: SavedWorldError) -> Self {
        match error {
            SavedWorldError::World(error) => (*error).into(),
            error => Self::Snapshot(error.to_string()),
        }
    }
}

impl From<DrawError> for CallError {
    fn from(error: DrawError) -> Self {
        match error {
            DrawError::Size { width, height, limit } => {
                Self::argument("size", format!("is ({width}, {height})"), format!("1 to {limit} pixels a side"))
            }
            error => Self::Other(error.to_string()),
        }
    }
}

/// Locks what a world is made of.
///
/// # Errors
/// An earlier call panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, CallError> {
    mutex.lock().map_err(|_| CallError::Broken)
}

/// Runs work of the solver without the interpreter lock. A panic becomes an error.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CallError> + Send) -> Result<T, CallError> {
    py.detach(|| guarded(work))
}

/// Runs work of the solver. A panic becomes an error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(CallError::Broken))
}

/// Calls `step` a number of times without the interpreter lock, and looks for Ctrl-C in between.
///
/// # Errors
/// The first error of `step`; `KeyboardInterrupt`, or what else a handler of a signal raises. The steps before are
/// done.
pub fn repeat(
    py: Python<'_>,
    count: u64,
    mut step: impl FnMut() -> Result<(), CallError> + Send,
) -> Result<(), CallError> {
    let mut left = count;
    while left > 0 {
        left = detached(py, || {
            let start = Instant::now();
            loop {
                step()?;
                left -= 1;
                if left == 0 || start.elapsed() >= SIGNAL_INTERVAL {
                    return Ok(left);
                }
            }
        })?;
        py.check_signals()?;
    }
    Ok(())
}

/// Waits for `poll` to return something, and looks for Ctrl-C in between: then it calls `stop` and waits on.
///
/// # Errors
/// The exception that a signal handler raised, beside the result of `poll`.
pub fn wait_for<T: Send>(
    py: Python<'_>,
    poll: impl Fn(Duration) -> Option<T> + Send + Sync,
    stop: impl Fn(),
) -> (T, PyResult<()>) {
    let mut signals = Ok(());
    loop {
        if let Some(found) = py.detach(|| poll(SIGNAL_INTERVAL)) {
            return (found, signals);
        }
        if let Err(error) = py.check_signals() {
            stop();
            signals = Err(error);
        }
    }
}
