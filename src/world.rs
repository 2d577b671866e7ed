//! One world, whichever backend steps it.

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
}
