//! [`WorldError`]: the errors of a world.

use crate::cancel::Cancelled;
use crate::command::CommandError;
use crate::device_error::DeviceError;
use crate::population::PopulationError;
use crate::query::{QueryError, TooManyFound};
use crate::scene::SceneError;
use crate::snapshot::{SnapshotError, SnapshotFileError};
use crate::threads::ThreadsError;

/// Error of a world: it could not be made, changed or stepped.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The scene is not valid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A command was refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Bodies or joints could not be added or removed.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// The snapshot is of another world.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The bytes are not a snapshot of this world.
    #[error(transparent)]
    SnapshotFile(#[from] SnapshotFileError),
    /// A query has a value out of range.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The queries of a batch find more shapes than their bounds allow ([`QueryBounds`](crate::QueryBounds)).
    #[error("the queries up to number {index} find {found} shapes; at most {limit} are allowed")]
    TooManyFound {
        /// Index of the query in the batch.
        index: usize,
        /// Shapes found up to and with that query.
        found: usize,
        /// Shapes allowed.
        limit: usize,
    },
    /// The operating system refused to start threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The device is lost or refused something.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A shader does not compile: a bug of this library or of the driver.
    #[error("{0}")]
    Kernel(String),
    /// The step was given up, or an earlier one was: its [`CancelToken`](crate::CancelToken) was cancelled. The world
    /// cannot be used until a snapshot is restored.
    #[error("the step was cancelled; restore a snapshot to continue")]
    Cancelled,
    /// The step has more contacts than the limit. The world is as before the step, except that its commands have acted:
    /// remove bodies or raise the limit, and step again.
    #[error(
        "the step finds {found} contacts or more, at most {limit} are allowed: too many shapes overlap; move or remove \
         some, or allow more"
    )]
    TooManyContacts {
        /// Contacts found until the search ended.
        found: usize,
        /// Limit of the world ([`World::set_contact_limit`](crate::World::set_contact_limit)).
        limit: usize,
    },
    /// A batch of worlds cannot be made, or a call names no world of it.
    #[error("many worlds: {0}")]
    Many(String),
    /// The world does not fit the device.
    #[error("buffer {buffer} needs {bytes} bytes, the device allows {limit}")]
    TooLarge {
        /// Name of the buffer.
        buffer: &'static str,
        /// Size it needs.
        bytes: u64,
        /// Largest size that the device allows.
        limit: u64,
    },
}

impl From<Cancelled> for WorldError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<TooManyFound> for WorldError {
    fn from(TooManyFound { index, found, limit }: TooManyFound) -> Self {
        Self::TooManyFound { index, found, limit }
    }
}
