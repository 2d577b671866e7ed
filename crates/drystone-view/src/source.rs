//! Origin of a scene: an entry of the catalogue with parameters, a file that is watched for changes, or a scene given
//! by the caller.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use drystone::Scene;
use drystone_scenes::catalogue::{self, Entry};
use drystone_scenes::file;
use drystone_scenes::saved::{SavedWorld, SavedWorldError};

/// Origin of a scene, from which it can be opened again.
#[derive(Clone, Debug)]
pub(crate) enum SceneSource {
    /// Entry of the catalogue, with values for all its parameters.
    Catalogue { entry: &'static Entry, values: Vec<f64> },
    /// File, with the time of its last known change.
    File { path: PathBuf, changed: Option<SystemTime> },
    /// Scene given by the program that opened the window.
    Given(Arc<Scene>),
}

impl SceneSource {
    /// Reads the name of a catalogue scene, a spec with parameters, or a path.
    ///
    /// # Errors
    /// If there is no such scene, parameter or file, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, String> {
        let base = text.split(':').next().unwrap_or(text).trim();
        if let Some(entry) = catalogue::entries().iter().find(|entry| entry.name == base) {
            let mut values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
            let list = text.split_once(':').map_or("", |(_, list)| list);
            for part in list.split(',').filter(|part| !part.trim().is_empty()) {
                let place = part.split_once('=').and_then(|(name, value)| {
                    let index = entry.parameters.iter().position(|parameter| parameter.name == name.trim())?;
                    Some((index, value.trim().parse::<f64>().ok()?))
                });
                if let Some((index, value)) = place {
                    values[index] = value;
                }
            }
            // Reports unknown parameters and values out of range.
            catalogue::check(text).map_err(|error| error.to_string())?;
            return Ok(Self::Catalogue { entry, values });
        }
        let path = Path::new(text);
        if path.exists() {
            return Ok(Self::File { path: path.to_owned(), changed: changed(path) });
        }
        let looks_like_file = path.components().count() > 1 || path.extension().is_some();
        match catalogue::find(base) {
            _ if looks_like_file => Err(format!("{text}: there is no such file")),
            Err(error) => Err(error.to_string()),
            Ok(_) => Err(format!("{text}: no such scene")),
        }
    }

    /// Builds the scene.
    ///
    /// # Errors
    /// The first error, with its place in a file.
    pub fn build(&self) -> Result<Scene, String> {
        match self {
            Self::Catalogue { entry, values } => {
                let given: Vec<(&str, f64)> =
                    entry.parameters.iter().zip(values).map(|(parameter, &value)| (parameter.name, value)).collect();
                entry.build(&given).map_err(|error| error.to_string())
            }
            Self::File { path, .. } => {
                let mut scene = file::read(path).map_err(|error| error.to_string())?;
                if scene.name.is_empty() {
                    scene.name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                }
                Ok(scene)
            }
            Self::Given(scene) => Ok((**scene).clone()),
        }
    }

    /// Reads the saved world in the file; `None` if it is a scene.
    ///
    /// # Errors
    /// Error of the file, with the path.
    pub fn saved_world(&self) -> Result<Option<SavedWorld>, String> {
        let Self::File { path, .. } = self else { return Ok(None) };
        if !is_saved_world(path) {
            return Ok(None);
        }
        SavedWorld::read(path).map(Some).map_err(|error| {
            let remedy = match error {
                SavedWorldError::OnlyState => "; continue it with `drystone run SCENE --resume`",
                _ => "",
            };
            format!("{}: {error}{remedy}", path.display())
        })
    }

    /// Short name: of a file its name without the folder.
    pub fn title(&self) -> String {
        match self {
            Self::Catalogue { .. } | Self::Given(_) => self.spec(),
            Self::File { path, .. } => {
                path.file_name().map_or_else(|| "file".to_owned(), |name| name.to_string_lossy().into_owned())
            }
        }
    }

    /// Text that opens the scene again: spec or path.
    pub fn spec(&self) -> String {
        match self {
            Self::Catalogue { entry, values } => {
                let differs: Vec<String> = entry
                    .parameters
                    .iter()
                    .zip(values)
                    .filter(|(parameter, value)| parameter.default != **value)
                    .map(|(parameter, value)| format!("{}={value}", parameter.name))
                    .collect();
                let list = differs.join(",");
                if list.is_empty() { entry.name.to_owned() } else { format!("{}:{list}", entry.name) }
            }
            Self::File { path, .. } => path.display().to_string(),
            Self::Given(scene) => scene.name.clone(),
        }
    }

    /// Returns true if the file has changed since the last call.
    pub fn has_changed(&mut self) -> bool {
        let Self::File { path, changed: known } = self else { return false };
        let now = changed(path);
        let differs = now.is_some() && now != *known;
        if differs {
            *known = now;
        }
        differs
    }
}

/// Returns true for a file with the magic number of a saved world or a state. A pipe is not read: that can be done only
/// once.
fn is_saved_world(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut start = [0; 8];
    let reads = |file: std::fs::File| file.take(8).read_exact(&mut start).is_ok();
    is_file && std::fs::File::open(path).is_ok_and(reads) && (&start == b"DRYSNAP\n" || SavedWorld::is_one(&start))
}

/// Time of the last change of a file; `None` for a pipe, which can be read only once.
fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_comes_back_as_it_was_given() {
        for spec in ["large_pyramid", "large_pyramid:base=20", "vertical_stack:count=15,friction=0.3"] {
            let source = SceneSource::parse(spec).unwrap();
            assert_eq!(source.spec(), spec);
            assert_eq!(source.build().unwrap().name, spec);
        }
        for (wrong, why) in [
            ("large_pyramit", "large_pyramit"),
            ("large_pyramid:base=-1", "-1"),
            ("large_pyramid:bse=3", "bse"),
            ("nowhere.json", "no such file"),
            ("no/where", "no such file"),
        ] {
            let error = SceneSource::parse(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_file_is_opened_anew_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let text = r#"{ "version": 1, "bodies": [ { "shapes": [ { "circle": { "radius": 1 } } ] } ] }"#;
        std::fs::write(&path, text).unwrap();
        let mut source = SceneSource::parse(path.to_str().unwrap()).unwrap();
        assert_eq!(source.build().unwrap().name, "a.json");
        assert!(!source.has_changed());
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(source.has_changed());
        assert!(!source.has_changed(), "once");
    }
}
