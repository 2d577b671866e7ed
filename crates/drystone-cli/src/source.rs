//! Loads the scene named on the command line: from a file, standard input or the catalogue.

use std::io::Read;
use std::path::{Path, PathBuf};

use drystone::Scene;
use drystone_scenes::SavedWorld;
use drystone_scenes::catalogue::{self, CatalogueError};
use drystone_scenes::file;

use super::failure::{Failure, reason};

/// Scene and its origin.
#[derive(Debug)]
pub struct LoadedScene {
    /// The scene, validated if it came from a file; a world validates it in any case.
    pub scene: Scene,
    /// Path of the file; `None` for standard input and the catalogue.
    pub path: Option<PathBuf>,
    /// Recommended number of steps; `None` for files.
    pub steps: Option<u64>,
}

/// Loads a scene from a file, from standard input (`-`) or from the catalogue.
///
/// A built-in name takes precedence over a file with the same name; use `./name` for the file.
///
/// # Errors
/// If the scene is unknown or invalid.
pub fn load(name: &str) -> Result<LoadedScene, Failure> {
    if name == "-" {
        return Ok(LoadedScene { scene: standard_input()?, path: None, steps: None });
    }
    let path = Path::new(name);
    if looks_like_file(path) {
        return from_file(path);
    }
    let base = name.split(':').next().unwrap_or(name).trim();
    match catalogue::find(base) {
        Err(CatalogueError::UnknownScene { .. }) if path.exists() => from_file(path),
        Err(error) => Err(unknown(&error)),
        Ok(entry) => {
            let scene = catalogue::build(name).map_err(|error| {
                Failure::usage(error).hint(format!("`drystone scenes {base}` lists its parameters"))
            })?;
            Ok(LoadedScene { scene, path: None, steps: Some(entry.steps.into()) })
        }
    }
}

/// Returns the failure for a scene that is not in the catalogue.
pub fn unknown(error: &CatalogueError) -> Failure {
    let find = "`drystone scenes` lists the built-in scenes, `drystone scenes --find WORD` those that match a word";
    Failure::usage(error).hint(format!("{find}; scene files end in .json or .ron"))
}

fn looks_like_file(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    path.components().count() > 1
        || path.is_absolute()
        || path.starts_with(".")
        || matches!(extension.as_deref(), Some("json" | "ron"))
}

/// Returns true if the file is a world saved by `--save` or by the window, with or without its scene. Pipes are not
/// inspected, as they can be read only once.
pub fn is_saved_world(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut start = [0; 8];
    let begins = |file: std::fs::File| file.take(8).read_exact(&mut start).is_ok();
    is_file && std::fs::File::open(path).is_ok_and(begins) && (&start == b"DRYSNAP\n" || SavedWorld::is_one(&start))
}

fn from_file(path: &Path) -> Result<LoadedScene, Failure> {
    let refuse = |why: String| Failure::usage(format_args!("{}: {why}", path.display()));
    match std::fs::metadata(path) {
        Err(e) => return Err(refuse(reason(&e))),
        Ok(metadata) if metadata.is_dir() => return Err(refuse("is a folder, not a scene file".to_owned())),
        Ok(_) => {}
    }
    if is_saved_world(path) {
        return Err(refuse("is a saved world, not a scene file".to_owned())
            .hint(format!("`drystone run --resume {0}` continues it, `drystone view {0}` shows it", path.display())));
    }
    let scene = file::read(path).map_err(Failure::from)?;
    Ok(LoadedScene { scene, path: Some(path.to_owned()), steps: None })
}

fn standard_input() -> Result<Scene, Failure> {
    let mut text = String::new();
    // One byte more than allowed, so that a file that is too large is noticed.
    let read = std::io::stdin().lock().take(file::MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text);
    read.map_err(|e| Failure::usage(format_args!("standard input: {}", reason(&e))))?;
    file::parse(&text, "standard input").map_err(Failure::from)
}
