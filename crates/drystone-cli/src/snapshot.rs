//! Saved worlds: reads `--resume`, writes `--save` and `--save-scene`.

use std::fs;
use std::path::Path;

use drystone::low_level::Journal;
use drystone::{Scene, World, WorldError};
use drystone_scenes::SavedWorld;
use drystone_scenes::saved::SavedWorldError;

use super::console;
use super::failure::{Failure, reason};
use super::report::count;

/// Content of a `--resume` file.
#[derive(Debug)]
pub enum Resumed {
    /// World with its scene.
    World(Box<SavedWorld>),
    /// State without its scene, as earlier releases wrote it.
    State(Vec<u8>),
}

impl Resumed {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file is missing, not a regular file, damaged, of another release or not a saved world.
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

    /// Returns the scene in the file.
    ///
    /// # Errors
    /// If the file contains none.
    pub fn scene(&self, path: &Path) -> Result<Scene, Failure> {
        match self {
            Self::World(saved) => Ok(saved.scene.clone()),
            Self::State(_) => Err(Failure::usage(format_args!(
                "--resume {}: is not a saved world, or a state without its scene, as written by earlier releases",
                path.display()
            ))
            .hint("a state needs its scene and settings: `drystone run SCENE --resume FILE`")),
        }
    }

    /// Checks that a scene describes the saved world.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, scene: &Scene, path: &Path) -> Result<(), Failure> {
        let Self::World(saved) = self else { return Ok(()) };
        let Some(difference) = saved.difference(scene) else { return Ok(()) };
        let path = path.display();
        Err(Failure::usage(format_args!("--resume {path}: saved from another world: {difference}")).hint(format!(
            "`drystone run --resume {path}`, without a scene and settings, continues with those in the file"
        )))
    }

    /// Returns the changes by hand before the world was saved.
    pub fn journal(&self) -> Journal {
        match self {
            Self::World(saved) => saved.journal.clone(),
            Self::State(_) => Journal::default(),
        }
    }

    /// Restores the saved state in a world.
    ///
    /// # Errors
    /// If the file is damaged, of another release or of another world, or the device is lost.
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
                        .hint("it can only continue with the scene, parameters and settings of the run that saved it"),
                }
            }
            other => Failure::from(other),
        })
    }
}

/// State of `--start-from`.
#[derive(Debug)]
pub struct StartState {
    saved: SavedWorld,
    shown: String,
}

impl StartState {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file is missing, damaged, of another release or not a saved world.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let saved =
            SavedWorld::read(path).map_err(|error| Failure::usage(format_args!("--start-from {shown}: {error}")))?;
        Ok(Self { saved, shown })
    }

    /// Gives a new world the positions, velocities and impulses of the state.
    ///
    /// # Errors
    /// If bodies or joints do not match and `partial` is false, or the device is lost.
    pub fn start(&self, world: &mut World, partial: bool, quiet: bool) -> Result<(), Failure> {
        let taken = self.saved.start(world, partial).map_err(|error| match error {
            SavedWorldError::Unmatched(_) => Failure::usage(format_args!("--start-from {}: {error}", self.shown))
                .hint("give bodies and joints ids, by which they are matched; --partial takes what matches"),
            SavedWorldError::World(error) => Failure::from(*error),
            error => Failure::usage(format_args!("--start-from {}: {error}", self.shown)),
        })?;
        if !quiet {
            let [bodies, contacts, joints] =
                [(taken.bodies, "body"), (taken.contacts, "contact"), (taken.joints, "joint")]
                    .map(|(found, noun)| count(found as u64, noun));
            console::note(&format!("starting from {}: {bodies}, {contacts} and {joints} as there", self.shown));
            for unmatched in &taken.unmatched {
                console::note(unmatched);
            }
        }
        Ok(())
    }
}

/// Serialises a world with its scene; without it if the scene is too large as text.
///
/// # Errors
/// If the device is lost, or the world was changed by hand and is too large.
pub fn bytes(scene: &Scene, journal: &Journal, world: &mut World) -> Result<Vec<u8>, Failure> {
    let saved = SavedWorld::new(scene, journal.clone(), world)?;
    match saved.to_bytes() {
        Ok(bytes) => Ok(bytes),
        Err(_) if journal.is_empty() => Ok(world.save()?),
        Err(error) => Err(Failure::usage(format_args!("--save: {error}"))),
    }
}

/// Returns a scene that starts in the current state of a world.
///
/// # Errors
/// If the device is lost, or a body exceeds the limits of a scene.
pub fn scene_now(scene: &Scene, journal: &Journal, world: &mut World) -> Result<Scene, Failure> {
    let saved = SavedWorld::new(scene, journal.clone(), world)?;
    saved.to_scene().map_err(|error| Failure::usage(format_args!("--save-scene: {error}")))
}
