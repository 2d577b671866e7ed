//! One world, whichever backend steps it.

use crate::gpu::DeviceError;
use crate::scene::SceneError;
use crate::snapshot::SnapshotError;

/// Why a world could not be made or stepped.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The scene is not valid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The snapshot is of another world.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The operating system refused to start threads.
    #[error("no threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The device is lost or refused something.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A shader does not compile: a mistake of ours, or of the driver.
    #[error("{0}")]
    Kernel(String),
    /// The world does not fit the device.
    #[error("buffer {buffer} needs {bytes} bytes, the device allows {limit}")]
    TooLarge {
        /// Which buffer.
        buffer: &'static str,
        /// Its size.
        bytes: u64,
        /// What the device allows.
        limit: u64,
    },
}
