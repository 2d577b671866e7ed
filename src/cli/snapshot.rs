//! Files that a run goes on from: `--save` and `--resume`.

use std::fs;
use std::path::Path;

use drystone::{World, WorldError};

use super::failure::{Failure, reason};

/// Reads the file; what is in it shows when the world is there.
///
/// # Errors
/// It is not there, not a file, or cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let refuse = |why: &str| Failure::usage(format_args!("--resume {}: {why}", path.display()));
    match fs::metadata(path) {
        Err(error) => return Err(refuse(&reason(&error))),
        Ok(metadata) if !metadata.is_file() => return Err(refuse("is not a regular file")),
        Ok(_) => {}
    }
    fs::read(path).map_err(|error| refuse(&reason(&error)))
}

/// Takes the world to where the file was written.
///
/// # Errors
/// The file is damaged, of another release or of another world; or the device is lost.
pub fn resume(world: &mut World, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    world.load(bytes).map_err(|error| match error {
        WorldError::SnapshotFile(_) | WorldError::Snapshot(_) => {
            Failure::usage(format_args!("--resume {}: {error}", path.display()))
                .hint("it goes on with the scene, its parameters and the settings of the run that saved it")
        }
        other => Failure::from(other),
    })
}
