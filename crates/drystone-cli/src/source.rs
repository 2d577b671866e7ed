//! Where a scene comes from: a file, standard input, or the catalogue.

use std::io::Read;
use std::path::{Path, PathBuf};

use drystone::Scene;
use drystone_scenes::SavedWorld;
use drystone_scenes::catalogue::{self, CatalogueError};
use drystone_scenes::file;

use super::failure::{Failure, reason};

/// A scene, and where it came from.
#[derive(Debug)]
pub struct Source {
    /// Checked, if it came from a file; a world checks it in any case.
    pub scene: Scene,
    /// `None` for standard input and the catalogue.
    pub path: Option<PathBuf>,
    /// Steps that show what it is for. None for files.
    pub steps: Option<u64>,
}

/// Reads `-` or a file, or builds a scene of the catalogue.
///
/// A built-in name wins over a file of that name: write `./name` for the file.
///
/// # Errors
/// No such scene, or it is wrong.
pub fn load(name: &str) -> Result<Source, Failure> {
    if name == "-" {
        return Ok(Source { scene: standard_input()?, path: None, steps: None });
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
            Ok(Source { scene, path: None, steps: Some(entry.steps.into()) })
        }
    }
}

/// A scene that is not in the catalogue.
pub fn unknown(error: &CatalogueError) -> Failure {
    let find = "`drystone scenes` lists the built-in scenes, `drystone scenes --find WORD` those about something";
    Failure::usage(error).hint(format!("{find}; scene files end in .json or .ron"))
}

fn looks_like_file(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    path.components().count() > 1
        || path.is_absolute()
        || path.starts_with(".")
        || matches!(extension.as_deref(), Some("json" | "ron"))
}

/// True for a file that is a world that `--save` or the window wrote, with its scene or without. A pipe is not looked at: it can
/// be read once.
pub fn is_saved_world(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut start = [0; 8];
    let begins = |file: std::fs::File| file.take(8).read_exact(&mut start).is_ok();
    is_file && std::fs::File::open(path).is_ok_and(begins) && (&start == b"DRYSNAP\n" || SavedWorld::is_one(&start))
}

fn from_file(path: &Path) -> Result<Source, Failure> {
    let refuse = |why: String| Failure::usage(format_args!("{}: {why}", path.display()));
    match std::fs::metadata(path) {
        Err(e) => return Err(refuse(reason(&e))),
        Ok(metadata) if metadata.is_dir() => return Err(refuse("is a folder, not a scene file".to_owned())),
        Ok(_) => {}
    }
    if is_saved_world(path) {
        return Err(refuse("is a saved world, not a scene file".to_owned()).hint(format!(
            "`drystone run --resume {0}` goes on with it, `drystone view {0}` shows it",
            path.display()
        )));
    }
    let scene = file::read(path).map_err(Failure::from)?;
    Ok(Source { scene, path: Some(path.to_owned()), steps: None })
}

fn standard_input() -> Result<Scene, Failure> {
    let mut text = String::new();
    // One byte more than fits, so that too much is told from just enough.
    let read = std::io::stdin().lock().take(file::MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text);
    read.map_err(|e| Failure::usage(format_args!("standard input: {}", reason(&e))))?;
    file::parse(&text, "standard input").map_err(Failure::from)
}
