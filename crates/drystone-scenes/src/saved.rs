//! Saved worlds: one file with the scene and its settings, the journal of edits, and the state. Written by `drystone
//! run --save` and the window, and resumed by both.
//!
//! Little-endian layout: 8 bytes `DRYSAVE` and a newline, u32 version, u32 CRC-32 of the directory; the directory, for
//! each of the three sections its length (u64) and the CRC-32 of its bytes (u32); then the sections without gaps up to
//! the end of the file: the scene as a JSON scene file, the edits as JSON, and the state as written by
//! [`Snapshot::to_bytes`](drystone::Snapshot::to_bytes). Each section has its own checksum, so that the error for a
//! damaged file names the section. A bare state, as written by earlier releases, is a different format:
//! [`SavedWorld::is_one`] distinguishes them.
//!
//! ```
//! use drystone::low_level::Journal;
//! use drystone::{Body, Scene, Shape, World};
//! use drystone_scenes::saved::SavedWorld;
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let mut world = World::new(&scene)?;
//! world.step()?;
//! let bytes = SavedWorld::new(&scene, Journal::default(), &mut world)?.to_bytes()?;
//!
//! let saved = SavedWorld::from_bytes(&bytes)?;
//! let mut later = World::new(&saved.scene)?;
//! saved.resume(&mut later)?;
//! assert_eq!(later.steps(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod present;
mod start;

pub use present::{JointModel, Present};
pub use start::TakenState;

use std::path::Path;

use crate::file::{self, FileError};
use drystone::low_level::Journal;
use drystone::low_level::scene::Units;
use drystone::{Scene, Settings};
use drystone::{Snapshot, SnapshotFileError};
use drystone::{World, WorldError};

/// Version of the format. 2: length unit and step of small bodies follow their size. Version 1 is read too.
const VERSION: u32 = 2;
const MAGIC: [u8; 8] = *b"DRYSAVE\n";
/// Names of the sections in their order, for messages.
const SECTIONS: [&str; 3] = ["scene", "edits", "state"];
/// Size of an entry of the directory, bytes.
const ENTRY: usize = 12;
const HEAD: usize = 16 + SECTIONS.len() * ENTRY;
/// Maximum size of a file, bytes: about ten million bodies with their contacts.
const MAX_BYTES: u64 = 8 << 30;

/// A saved world: everything needed to continue to the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedWorld {
    /// Scene, with the settings of the world.
    pub scene: Scene,
    /// Journal of edits.
    pub journal: Journal,
    /// State as returned by [`World::save`].
    state: Vec<u8>,
}

/// Error of a file that is not a saved world, or cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum SavedWorldError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The file is larger than any saved world.
    #[error("has {bytes} bytes; expected at most {MAX_BYTES}")]
    TooLarge {
        /// Size of the file.
        bytes: u64,
    },
    /// The file has another format.
    #[error("is not a saved world: expected the bytes DRYSAVE at its start")]
    NotASavedWorld,
    /// The file holds a bare state without its scene, as earlier releases saved it.
    #[error("holds a state and no scene, as earlier releases wrote it")]
    OnlyState,
    /// The file was written by a newer release.
    #[error("has version {found}; expected 1 or {VERSION}, which this release reads")]
    Version {
        /// Version in the file.
        found: u32,
    },
    /// The file is truncated, or longer than its directory says.
    #[error("has {found} bytes; expected {expected}: {} its {part}", if found < expected { "it is truncated in" } else { "extra bytes follow" })]
    Length {
        /// Bytes of the file.
        found: u64,
        /// Bytes according to its directory.
        expected: u64,
        /// The truncated section, or the last one.
        part: &'static str,
    },
    /// A section does not match its checksum.
    #[error("is damaged in its {part}, bytes {from} to {to}: the checksum is {found:08x}, expected {expected:08x}")]
    Damaged {
        /// Name of the section.
        part: &'static str,
        /// Offset of the section's first byte in the file.
        from: u64,
        /// Offset of the section's last byte in the file.
        to: u64,
        /// Checksum of the bytes.
        found: u32,
        /// Checksum in the directory.
        expected: u32,
    },
    /// The scene or the journal cannot be parsed.
    #[error(transparent)]
    Text(#[from] FileError),
    /// The scene or the journal is larger as text than a scene file may be.
    #[error("the {part} takes {bytes} bytes as text; expected at most {}", file::MAX_FILE_BYTES)]
    TooLargeAsText {
        /// Name of the section.
        part: &'static str,
        /// Size of the text, bytes.
        bytes: usize,
    },
    /// Bodies or joints are not the same in the state and in the scene that starts from it.
    #[error("the state and the scene do not match: {0}")]
    Unmatched(String),
    /// The sections are inconsistent.
    #[error(transparent)]
    World(#[from] Box<WorldError>),
}

impl From<WorldError> for SavedWorldError {
    fn from(error: WorldError) -> Self {
        Self::World(Box::new(error))
    }
}

impl From<SnapshotFileError> for SavedWorldError {
    fn from(error: SnapshotFileError) -> Self {
        WorldError::from(error).into()
    }
}

impl SavedWorld {
    /// Saves a world that was built from a scene and edited as the journal says.
    ///
    /// # Errors
    /// The device is lost.
    pub fn new(scene: &Scene, journal: Journal, world: &mut World) -> Result<Self, WorldError> {
        Ok(Self { scene: scene.clone(), journal, state: world.save()? })
    }

    /// Assembles a saved world from its scene, the journal of edits, and the state returned by [`World::save`]. Their
    /// consistency is checked on use.
    #[must_use]
    pub fn from_parts(scene: Scene, journal: Journal, state: Vec<u8>) -> Self {
        Self { scene, journal, state }
    }

    /// Returns true if the bytes begin like a saved world.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Returns the number of steps that the world has done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        Snapshot::step_of(&self.state).unwrap_or_default()
    }

    /// Encodes the world as bytes of a file.
    ///
    /// # Errors
    /// The scene or the journal is larger as text than [`file::MAX_FILE_BYTES`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedWorldError> {
        let (scene, journal) = (file::write_json(&self.scene), file::write_journal(&self.journal));
        for (part, text) in SECTIONS.into_iter().zip([&scene, &journal]) {
            if text.len() > file::MAX_FILE_BYTES {
                return Err(SavedWorldError::TooLargeAsText { part, bytes: text.len() });
            }
        }
        let sections = [scene.as_bytes(), journal.as_bytes(), &self.state];
        let mut directory = Vec::with_capacity(HEAD - 16);
        for section in sections {
            directory.extend((section.len() as u64).to_le_bytes());
            directory.extend(crc32fast::hash(section).to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(HEAD + sections.iter().map(|section| section.len()).sum::<usize>());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc32fast::hash(&directory).to_le_bytes());
        bytes.extend(directory);
        for section in sections {
            bytes.extend_from_slice(section);
        }
        Ok(bytes)
    }

    /// Decodes the output of [`Self::to_bytes`]. All checksums are verified before any part is used.
    ///
    /// # Errors
    /// The bytes have another format or version, or are truncated or damaged; the error names the section.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedWorldError> {
        if !Self::is_one(bytes) {
            let is_state = Snapshot::step_of(bytes).is_ok();
            return Err(if is_state { SavedWorldError::OnlyState } else { SavedWorldError::NotASavedWorld });
        }
        let found = bytes.len() as u64;
        if bytes.len() < HEAD {
            return Err(SavedWorldError::Length { found, expected: HEAD as u64, part: "directory" });
        }
        let version = u32_at(bytes, 8);
        if !(1..=VERSION).contains(&version) {
            return Err(SavedWorldError::Version { found: version });
        }
        intact(&bytes[16..HEAD], u32_at(bytes, 12), "directory", 16)?;
        let mut at = HEAD as u64;
        let mut sections = [&bytes[..0]; SECTIONS.len()];
        for (index, (part, section)) in SECTIONS.into_iter().zip(&mut sections).enumerate() {
            let entry = 16 + index * ENTRY;
            let length = u64::from_le_bytes(std::array::from_fn(|byte| bytes[entry + byte]));
            let end = at.saturating_add(length);
            let Some(there) = range(at, end).and_then(|range| bytes.get(range)) else {
                return Err(SavedWorldError::Length { found, expected: end, part });
            };
            intact(there, u32_at(bytes, entry + 8), part, at)?;
            *section = there;
            at = end;
        }
        if at != found {
            return Err(SavedWorldError::Length { found, expected: at, part: SECTIONS[2] });
        }
        let [scene, journal, state] = sections;
        let mut scene = file::parse(text(scene, SECTIONS[0])?, "its scene (.json)")?;
        if version == 1 {
            in_metres(&mut scene, text(sections[0], SECTIONS[0])?);
        }
        let journal = file::parse_journal(text(journal, SECTIONS[1])?, "its edits")?;
        Snapshot::step_of(state)?;
        Ok(Self { scene, journal, state: state.to_vec() })
    }

    /// Reads a file written by [`Self::to_bytes`].
    ///
    /// # Errors
    /// The file cannot be read; and those of [`Self::from_bytes`].
    pub fn read(path: &Path) -> Result<Self, SavedWorldError> {
        Self::from_bytes(&read_bytes(path)?)
    }

    /// Brings a world to the saved state. The world must be as built from [`Self::scene`], without any step done.
    ///
    /// # Errors
    /// The world is a different one, or the sections are inconsistent; the world is then unusable.
    pub fn resume(&self, world: &mut World) -> Result<(), WorldError> {
        world.load_with(&self.state, &self.journal)
    }

    /// Describes the first difference from a scene because of which this world cannot continue; `None` if they agree.
    /// Names are ignored.
    #[must_use]
    pub fn difference(&self, scene: &Scene) -> Option<String> {
        let (given, saved) = (scene, &self.scene);
        if let Some(difference) = difference_of_settings(&given.settings, &saved.settings) {
            return Some(difference);
        }
        if given.gravity != saved.gravity {
            return Some(format!("gravity is {}, but {} in the saved world", given.gravity, saved.gravity));
        }
        let lists = [
            ("materials", given.materials.len(), saved.materials.len()),
            ("pairs of materials", given.material_pairs.len(), saved.material_pairs.len()),
            ("bodies", given.bodies.len(), saved.bodies.len()),
            ("joints", given.joints.len(), saved.joints.len()),
            ("fields", given.fields.len(), saved.fields.len()),
            ("emitters", given.emitters.len(), saved.emitters.len()),
            ("timed commands", given.timeline.len(), saved.timeline.len()),
        ];
        if let Some((what, given, saved)) = lists.into_iter().find(|(_, given, saved)| given != saved) {
            return Some(format!("the scene has {given} {what}, the saved one {saved}"));
        }
        let first = |what: &str, differs: Option<usize>| differs.map(|index| format!("{what}[{index}] differs"));
        first("materials", unequal(&given.materials, &saved.materials))
            .or_else(|| first("material_pairs", unequal(&given.material_pairs, &saved.material_pairs)))
            .or_else(|| first("bodies", unequal(&given.bodies, &saved.bodies)))
            .or_else(|| first("joints", unequal(&given.joints, &saved.joints)))
            .or_else(|| first("fields", unequal(&given.fields, &saved.fields)))
            .or_else(|| first("emitters", unequal(&given.emitters, &saved.emitters)))
            .or_else(|| first("timeline", unequal(&given.timeline, &saved.timeline)))
    }
}

/// Gives a scene of version 1 the length unit and the step that it was saved with: 1 m, and 1/60 s if it says none.
fn in_metres(scene: &mut Scene, text: &str) {
    if Units::of(scene) == Units::default() {
        return;
    }
    scene.settings.length_unit = Some(1.0);
    let keys: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    if keys["settings"]["dt"].is_null() {
        scene.settings.dt = Settings::default().dt;
    }
}

/// Reads a file of at most [`MAX_BYTES`].
///
/// # Errors
/// The file cannot be read, is no regular file, or is larger.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, SavedWorldError> {
    let metadata = std::fs::metadata(path).map_err(SavedWorldError::Unreadable)?;
    if !metadata.is_file() {
        return Err(SavedWorldError::Unreadable(std::io::Error::other("is not a regular file")));
    }
    if metadata.len() > MAX_BYTES {
        return Err(SavedWorldError::TooLarge { bytes: metadata.len() });
    }
    std::fs::read(path).map_err(SavedWorldError::Unreadable)
}

fn unequal<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b)
}

fn difference_of_settings(given: &Settings, saved: &Settings) -> Option<String> {
    if given == saved {
        return None;
    }
    // Compared in the form of a scene file, so that no setting is forgotten.
    let written = |settings: &Settings| {
        let text = file::write_json(&Scene { settings: *settings, ..Scene::default() });
        let mut scene: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        scene.get_mut("settings").and_then(serde_json::Value::as_object_mut).map(std::mem::take).unwrap_or_default()
    };
    let (given, saved) = (written(given), written(saved));
    let name = given.keys().chain(saved.keys()).find(|name| given.get(*name) != saved.get(*name))?;
    let show = |value: Option<&serde_json::Value>| value.map_or("at its default".to_owned(), ToString::to_string);
    Some(format!("settings.{name} is {}, but {} in the saved world", show(given.get(name)), show(saved.get(name))))
}

fn range(from: u64, to: u64) -> Option<std::ops::Range<usize>> {
    Some(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
}

fn intact(bytes: &[u8], expected: u32, part: &'static str, from: u64) -> Result<(), SavedWorldError> {
    let found = crc32fast::hash(bytes);
    if found == expected {
        return Ok(());
    }
    let to = from + (bytes.len() as u64).saturating_sub(1);
    Err(SavedWorldError::Damaged { part, from, to, found, expected })
}

fn text<'a>(bytes: &'a [u8], part: &str) -> Result<&'a str, SavedWorldError> {
    let wrong = |_| SavedWorldError::Unreadable(std::io::Error::other(format!("its {part} is not UTF-8")));
    std::str::from_utf8(bytes).map_err(wrong)
}

/// Reads a u32. The caller has checked the length.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}
