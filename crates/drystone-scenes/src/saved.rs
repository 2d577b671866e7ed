//! A world in one piece: its scene with all settings, what was changed by hand, and the state. What `drystone run --save`
//! and the window write, and what opens there again.
//!
//! Little-endian: 8 bytes `DRYSAVE` and a newline, u32 version, u32 CRC-32 of the directory; the directory, for each of
//! the three sections u64 its length and u32 the CRC-32 of its bytes; then the sections without a gap up to the end of the
//! file: the scene as a JSON scene file, the changes by hand as JSON, and the state as
//! [`Snapshot::to_bytes`](drystone::Snapshot::to_bytes) writes it. Each section has a checksum of its own, so that a damaged
//! file says where. The state alone, which earlier releases wrote, is no such file: [`SavedWorld::is_one`] tells them apart.

mod present;

pub use present::{JointModel, Present};

use std::path::Path;

use crate::file::{self, FileError};
use drystone::low_level::Journal;
use drystone::{Scene, Settings};
use drystone::{Snapshot, SnapshotFileError};
use drystone::{World, WorldError};

/// Version of the format.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"DRYSAVE\n";
/// Sections in their order, as messages call them.
const SECTIONS: [&str; 3] = ["scene", "changes by hand", "state"];
/// Bytes of an entry of the directory.
const ENTRY: usize = 12;
const HEAD: usize = 16 + SECTIONS.len() * ENTRY;
/// Maximum size of a file that is read, bytes: some ten million bodies with their contacts.
const MAX_BYTES: u64 = 8 << 30;

/// A world that was saved: all that it takes to go on, to the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedWorld {
    /// Scene, with the settings that the world ran with.
    pub scene: Scene,
    /// Changes by hand.
    pub journal: Journal,
    /// As [`World::save`] gives it.
    state: Vec<u8>,
}

/// A file that is no saved world, or none that can go on.
#[derive(Debug, thiserror::Error)]
pub enum SavedWorldError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The file is larger than any world.
    #[error("has {bytes} bytes; expected at most {MAX_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// Another kind of file.
    #[error("is not a saved world: expected the bytes DRYSAVE at its start")]
    NotASavedWorld,
    /// A state without its scene, as earlier releases saved it.
    #[error("holds a state and no scene, as earlier releases wrote it")]
    OnlyState,
    /// A newer release wrote it.
    #[error("has version {found}; expected {VERSION}, the one this release reads")]
    Version {
        /// Version that it states.
        found: u32,
    },
    /// Cut off, or longer than it says.
    #[error("has {found} bytes; expected {expected}: {} its {part}", if found < expected { "it is cut off in" } else { "there is more behind" })]
    Length {
        /// Bytes of the file.
        found: u64,
        /// Bytes by its directory.
        expected: u64,
        /// The part that is incomplete, or the last one.
        part: &'static str,
    },
    /// Bytes were changed.
    #[error("is damaged in its {part}, bytes {from} to {to}: the checksum is {found:08x}, expected {expected:08x}")]
    Damaged {
        /// The part with the changed bytes.
        part: &'static str,
        /// Its first byte in the file.
        from: u64,
        /// Its last byte in the file.
        to: u64,
        /// Checksum of the bytes.
        found: u32,
        /// Checksum that the file says.
        expected: u32,
    },
    /// The scene or the changes cannot be read.
    #[error(transparent)]
    Text(#[from] FileError),
    /// The scene is larger as text than a scene file may be.
    #[error("the {part} takes {bytes} bytes as text; expected at most {}", file::MAX_FILE_BYTES)]
    TooLargeAsText {
        /// The part.
        part: &'static str,
        /// Its size.
        bytes: usize,
    },
    /// The parts do not fit one another.
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
    /// Saves a world that was made of a scene and changed by hand as the journal says.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn new(scene: &Scene, journal: Journal, world: &mut World) -> Result<Self, WorldError> {
        Ok(Self { scene: scene.clone(), journal, state: world.save()? })
    }

    /// Puts a world together of its scene, the changes by hand, and its state as [`World::save`] gives it. Whether they
    /// fit together shows when it is used.
    #[must_use]
    pub fn from_parts(scene: Scene, journal: Journal, state: Vec<u8>) -> Self {
        Self { scene, journal, state }
    }

    /// Returns true if bytes begin as a saved world does.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Steps that the world had done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        Snapshot::step_of(&self.state).unwrap_or_default()
    }

    /// The world as bytes, for a file.
    ///
    /// # Errors
    /// If the scene or the journal is larger as text than [`file::MAX_FILE_BYTES`].
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

    /// Reads what [`Self::to_bytes`] wrote. Nothing of it is used before all checksums are right.
    ///
    /// # Errors
    /// If it is something else, of another version, cut off or damaged, with the part that is.
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
        if version != VERSION {
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
        let scene = file::parse(text(scene, SECTIONS[0])?, "the scene in it (.json)")?;
        let journal = file::parse_journal(text(journal, SECTIONS[1])?, "the changes in it")?;
        Snapshot::step_of(state)?;
        Ok(Self { scene, journal, state: state.to_vec() })
    }

    /// Reads a file that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, and as [`Self::from_bytes`].
    pub fn read(path: &Path) -> Result<Self, SavedWorldError> {
        Self::from_bytes(&read_bytes(path)?)
    }

    /// Takes a world to where this one was saved. The world is as [`Self::scene`] made it and has done no step.
    ///
    /// # Errors
    /// If the world is another one, or the parts do not fit; then the world is of no use.
    pub fn resume(&self, world: &mut World) -> Result<(), WorldError> {
        world.load_with(&self.state, &self.journal)
    }

    /// The first difference from a scene by which this world cannot go on, in words; `None` where they agree. Names do not
    /// count.
    #[must_use]
    pub fn difference(&self, scene: &Scene) -> Option<String> {
        let (given, saved) = (scene, &self.scene);
        if let Some(difference) = difference_of_settings(&given.settings, &saved.settings) {
            return Some(difference);
        }
        if given.gravity != saved.gravity {
            return Some(format!("gravity is {}, in the saved world {}", given.gravity, saved.gravity));
        }
        let lists = [
            ("bodies", given.bodies.len(), saved.bodies.len()),
            ("joints", given.joints.len(), saved.joints.len()),
            ("fields", given.fields.len(), saved.fields.len()),
            ("emitters", given.emitters.len(), saved.emitters.len()),
        ];
        if let Some((what, given, saved)) = lists.into_iter().find(|(_, given, saved)| given != saved) {
            return Some(format!("the scene has {given} {what}, the saved one {saved}"));
        }
        let first = |what: &str, differs: Option<usize>| differs.map(|index| format!("{what}[{index}] is another one"));
        first("bodies", unequal(&given.bodies, &saved.bodies))
            .or_else(|| first("joints", unequal(&given.joints, &saved.joints)))
            .or_else(|| first("fields", unequal(&given.fields, &saved.fields)))
            .or_else(|| first("emitters", unequal(&given.emitters, &saved.emitters)))
    }
}

/// Reads a file of at most [`MAX_BYTES`].
///
/// # Errors
/// If it cannot be read, is no regular file, or is larger.
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
    // As a scene file has them, so that none is forgotten.
    let written = |settings: &Settings| {
        let text = file::write_json(&Scene { settings: *settings, ..Scene::default() });
        let mut scene: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        scene.get_mut("settings").and_then(serde_json::Value::as_object_mut).map(std::mem::take).unwrap_or_default()
    };
    let (given, saved) = (written(given), written(saved));
    let name = given.keys().chain(saved.keys()).find(|name| given.get(*name) != saved.get(*name))?;
    let show = |value: Option<&serde_json::Value>| value.map_or("at its default".to_owned(), ToString::to_string);
    Some(format!("settings.{name} is {}, in the saved world {}", show(given.get(name)), show(saved.get(name))))
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

/// The caller has seen that the bytes are there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}
