//! Files that a run goes on from: `--save` and `--resume`, and `--save-scene`.

use std::fs;
use std::path::Path;

use drystone::low_level::Journal;
use drystone::{Scene, World, WorldError};
use drystone_scenes::SavedWorld;

use super::failure::{Failure, reason};

/// Saved world or state that `--resume` goes on from.
#[derive(Debug)]
pub enum Resumed {
    /// A world with its scene.
    World(Box<SavedWorld>),
    /// A state alone, as earlier releases wrote it: it needs its scene.
    State(Vec<u8>),
}

impl Resumed {
    /// Reads the file.
    ///
    /// # Errors
    /// It is not there, not a regular file, no saved world, damaged or of another release.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refuse = |why: &str| Failure::usage(format_args!("--resume {}: {why}", path.display()));
        match fs::metadata(path) {
            Err(error) => return Err(refuse(&reason(&error))),
            Ok(metadata) if !metadata.is_file() => return Err(refuse("is not a regular file")),
            Ok(_) => {}
        }
        let bytes = fs::read(path).map_err(|error| refuse(&reason(&error)))?;
        if !SavedWorld::is_one(&bytes) {
            return Ok(Self::State(bytes));
        }
        let saved = SavedWorld::from_bytes(&bytes).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self::World(Box::new(saved)))
    }

    /// Scene in the file.
    ///
    /// # Errors
    /// There is none.
    pub fn scene(&self, path: &Path) -> Result<Scene, Failure> {
        match self {
            Self::World(saved) => Ok(saved.scene.clone()),
            Self::State(_) => Err(Failure::usage(format_args!(
                "--resume {}: is not a saved world, or a state without its scene, as earlier releases wrote it",
                path.display()
            ))
            .hint("a state needs its scene and settings: `drystone run SCENE --resume FILE`")),
        }
    }

    /// Checks that the world to come, of this scene, is the one that was saved.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, scene: &Scene, path: &Path) -> Result<(), Failure> {
        let Self::World(saved) = self else { return Ok(()) };
        let Some(difference) = saved.difference(scene) else { return Ok(()) };
        let path = path.display();
        Err(Failure::usage(format_args!("--resume {path}: it is of another world: {difference}")).hint(format!(
            "`drystone run --resume {path}`, without a scene and settings, goes on with those in the file"
        )))
    }

    /// Changes by hand before it was saved.
    pub fn journal(&self) -> Journal {
        match self {
            Self::World(saved) => saved.journal.clone(),
            Self::State(_) => Journal::default(),
        }
    }

    /// Takes the world to where the file was written.
    ///
    /// # Errors
    /// The file is damaged, of another release or of another world; or the device is lost.
    pub fn resume(&self, world: &mut World, path: &Path) -> Result<(), Failure> {
        let resumed = match self {
            Self::World(saved) => saved.resume(world),
            Self::State(bytes) => world.load(bytes),
        };
        resumed.map_err(|error| match error {
            WorldError::SnapshotFile(_) | WorldError::Snapshot(_) | WorldError::Population(_) => {
                let failure = Failure::usage(format_args!("--resume {}: {error}", path.display()));
                match self {
                    Self::World(_) => failure,
                    Self::State(_) => failure
                        .hint("it goes on with the scene, its parameters and the settings of the run that saved it"),
                }
            }
            other => Failure::from(other),
        })
    }
}

/// A world as the bytes of a file: with its scene, or, where that is too large as text, the state alone.
///
/// # Errors
/// The device is lost, or the world was changed by hand and is too large.
pub fn bytes(scene: &Scene, journal: &Journal, world: &mut World) -> Result<Vec<u8>, Failure> {
    let saved = SavedWorld::new(scene, journal.clone(), world)?;
    match saved.to_bytes() {
        Ok(bytes) => Ok(bytes),
        Err(_) if journal.is_empty() => Ok(world.save()?),
        Err(error) => Err(Failure::usage(format_args!("--save: {error}"))),
    }
}

/// The scene that a world has become.
///
/// # Errors
/// The device is lost, or a body is out of the range of a scene.
pub fn scene_now(scene: &Scene, journal: &Journal, world: &mut World) -> Result<Scene, Failure> {
    let saved = SavedWorld::new(scene, journal.clone(), world)?;
    saved.to_scene().map_err(|error| Failure::usage(format_args!("--save-scene: {error}")))
}
