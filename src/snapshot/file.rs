//! Snapshots as bytes, for files, checkpoints and other processes.
//!
//! Little-endian: 8 bytes `DRYSNAP` and a newline, u32 version, u32 number of sections, u64 fingerprint of the world
//! ([`Compiled::fingerprint`](crate::scene::Compiled::fingerprint)), u64 steps done; then the sections, each 4 bytes of
//! name, u32 bytes of an element, u64 elements, the elements; then a CRC-32 of all that came before. Nothing is read
//! beyond its checksum, and what is not known is refused: a snapshot is continued to the last bit or not at all.

use bytemuck::{AnyBitPattern, NoUninit};

use super::{Snapshot, SnapshotError};
use crate::types::Counters;

/// Version of the format, raised with every change of its meaning. 2: bodies sleep. 3: impulses of joints at a point
/// are in A's frame, and joints come and go. 4: manifolds are a table of their own. 5: contacts have a preload. 6: each
/// point of a contact has one. 7: goals of rows have a second coordinate. 8: positions are sums of two floats.
const VERSION: u32 = 8;
/// Oldest version that is read.
const OLDEST: u32 = 4;
/// Bytes at the end of a manifold that version 4 does not have; there they are zero.
const PRELOAD: usize = 16;
/// Bytes at the end of a row's goal that versions before 7 do not have; there they are zero.
const GOAL_Y: usize = 4;
/// Bytes at the end of a pose, and of a command, that versions before 8 do not have; there they are zero.
const LOW: usize = 16;
const MAGIC: [u8; 8] = *b"DRYSNAP\n";
/// Name of the last section, which only worlds have whose timed commands wait for conditions.
const TIMED_STARTS: [u8; 4] = *b"time";
const HEAD: usize = 32;
const SECTION_HEAD: usize = 16;
const CHECKSUM: usize = 4;
/// Largest number of steps: the integers that a 64-bit float, and so JSON, holds exactly. At 60 a second it is 4.7
/// million years.
const MAX_STEPS: u64 = 1 << 53;

/// Error of bytes that are not a snapshot of this world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFileError {
    /// Not a snapshot, or cut off before its first section.
    #[error("this is not a snapshot: expected the bytes DRYSNAP at its start and at least {HEAD} of them")]
    NotASnapshot,
    /// Written by a release with another version of the format.
    #[error("the snapshot has version {found}; expected {OLDEST} to {VERSION}, those that this release reads")]
    Version {
        /// Version in the bytes.
        found: u32,
    },
    /// Damaged: a part is missing or was changed.
    #[error("the snapshot is damaged: its checksum is {found:08x}, expected {expected:08x}")]
    Damaged {
        /// Checksum of the bytes.
        found: u32,
        /// Checksum stored at the end.
        expected: u32,
    },
    /// The sections are not those of this release.
    #[error("the snapshot has {found} at byte {at}; expected {expected}")]
    Section {
        /// Section found.
        found: String,
        /// Position in the bytes.
        at: usize,
        /// Section expected.
        expected: String,
    },
    /// The number of steps is out of range.
    #[error("the snapshot is of step {found}; expected at most {MAX_STEPS}")]
    Steps {
        /// Number of steps in the bytes.
        found: u64,
    },
    /// Taken of another scene, or with other settings.
    #[error("the snapshot was taken of another world, {found:016x}; expected {expected:016x}")]
    OtherWorld {
        /// Fingerprint in the bytes.
        found: u64,
        /// Fingerprint of this world.
        expected: u64,
    },
    /// The tables do not fit this world.
    #[error(transparent)]
    Content(#[from] SnapshotError),
}

/// Lists the tables of a snapshot: name in the bytes and field.
macro_rules! sections {
    ($visit:ident) => {
        $visit! {
            b"pose" poses, b"stat" states, b"pair" pair_starts, b"cont" contacts, b"mani" manifolds,
            b"forc" forces, b"vaca" vacated, b"cmds" commands,
            b"jsta" joint_states, b"jimp" joint_impulses, b"jgoa" joint_goals, b"rgoa" row_goals,
            b"isla" islands, b"slps" sleeping_starts, b"slpc" sleeping,
        }
    };
}

impl Snapshot {
    /// Returns the snapshot as bytes, for worlds with this fingerprint.
    #[must_use]
    pub fn to_bytes(&self, world: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let has_starts = !self.timed_starts.is_empty();
        let mut sections = 2 + u32::from(has_starts);
        macro_rules! count {
            ($($tag:literal $field:ident,)*) => { $( let _ = &self.$field; sections += 1; )* };
        }
        sections!(count);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(sections.to_le_bytes());
        bytes.extend(world.to_le_bytes());
        bytes.extend(self.step.to_le_bytes());
        put(&mut bytes, *b"coun", &[self.counters]);
        put(&mut bytes, *b"popu", &[self.population]);
        macro_rules! put_all {
            ($($tag:literal $field:ident,)*) => { $( put(&mut bytes, *$tag, &self.$field); )* };
        }
        sections!(put_all);
        if has_starts {
            put(&mut bytes, TIMED_STARTS, &self.timed_starts);
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// Returns the number of steps in these bytes, without checking the rest.
    ///
    /// # Errors
    /// The bytes are not a snapshot, or the number is out of range.
    pub fn step_of(bytes: &[u8]) -> Result<u64, SnapshotFileError> {
        if bytes.len() < HEAD + CHECKSUM || bytes[..8] != MAGIC {
            return Err(SnapshotFileError::NotASnapshot);
        }
        let found = u64_at(bytes, 24);
        if found > MAX_STEPS { Err(SnapshotFileError::Steps { found }) } else { Ok(found) }
    }

    /// Returns the snapshot that [`Self::to_bytes`] wrote. A world checks that it fits when it restores it.
    ///
    /// # Errors
    /// The bytes are not a snapshot, of another version or another world, damaged or cut off.
    pub fn from_bytes(bytes: &[u8], world: u64) -> Result<Self, SnapshotFileError> {
        if bytes.len() < HEAD + CHECKSUM || bytes[..8] != MAGIC {
            return Err(SnapshotFileError::NotASnapshot);
        }
        let version = u32_at(bytes, 8);
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(SnapshotFileError::Version { found: version });
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        let (found, expected) = (crc32fast::hash(content), u32_at(checksum, 0));
        if found != expected {
            return Err(SnapshotFileError::Damaged { found, expected });
        }
        let found = u64_at(content, 16);
        if found != world {
            return Err(SnapshotFileError::OtherWorld { found, expected: world });
        }
        let mut reader = Reader { bytes: content, at: HEAD, version };
        let mut snapshot = Self { step: Self::step_of(bytes)?, ..Self::default() };
        let counters: Vec<Counters> = reader.take(*b"coun")?;
        snapshot.counters = *counters.first().ok_or_else(|| reader.wrong("no counters", "one"))?;
        let population: Vec<u64> = reader.take(*b"popu")?;
        snapshot.population = *population.first().ok_or_else(|| reader.wrong("no population", "one"))?;
        macro_rules! take_all {
            ($($tag:literal $field:ident,)*) => { $( snapshot.$field = reader.take(*$tag)?; )* };
        }
        sections!(take_all);
        if version < 6 {
            // One preload was that of both points.
            let manifolds = snapshot.manifolds.iter_mut();
            for manifold in manifolds.chain(snapshot.sleeping.iter_mut().map(|sleeping| &mut sleeping.manifold)) {
                manifold.preloads[1] = manifold.preloads[0];
            }
        }
        if content[reader.at..].starts_with(&TIMED_STARTS) {
            snapshot.timed_starts = reader.take(TIMED_STARTS)?;
        }
        if reader.at != content.len() {
            return Err(reader.wrong(&format!("{} more bytes", content.len() - reader.at), "the end"));
        }
        Ok(snapshot)
    }
}

fn put<T: NoUninit>(bytes: &mut Vec<u8>, tag: [u8; 4], elements: &[T]) {
    #[allow(clippy::cast_possible_truncation, reason = "the size of a struct")]
    let size = size_of::<T>() as u32;
    bytes.extend(tag);
    bytes.extend(size.to_le_bytes());
    bytes.extend((elements.len() as u64).to_le_bytes());
    bytes.extend_from_slice(bytemuck::cast_slice(elements));
}

/// Reads a number; the caller has checked the length.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u32,
}

impl Reader<'_> {
    fn wrong(&self, found: &str, expected: &str) -> SnapshotFileError {
        SnapshotFileError::Section { found: found.to_owned(), at: self.at, expected: expected.to_owned() }
    }

    fn take<T: AnyBitPattern>(&mut self, tag: [u8; 4]) -> Result<Vec<T>, SnapshotFileError> {
        let name = String::from_utf8_lossy(&tag).into_owned();
        let rest = &self.bytes[self.at..];
        if rest.len() < SECTION_HEAD || rest[..4] != tag {
            let found = String::from_utf8_lossy(&rest[..rest.len().min(4)]).into_owned();
            return Err(self.wrong(&format!("section {found:?}"), &format!("section {name:?}")));
        }
        let (size, count) = (u32_at(rest, 4), u64_at(rest, 8));
        let missing = match &tag {
            b"mani" | b"slpc" if self.version == 4 => PRELOAD,
            b"rgoa" if self.version < 7 => GOAL_Y,
            b"pose" | b"cmds" if self.version < 8 => LOW,
            _ => 0,
        };
        if size as usize + missing != size_of::<T>() {
            let expected = format!("{} bytes", size_of::<T>() - missing);
            return Err(self.wrong(&format!("elements of {size} bytes in section {name:?}"), &expected));
        }
        let room = (rest.len() - SECTION_HEAD) as u64 / u64::from(size.max(1));
        let length = usize::try_from(count).ok().filter(|_| count <= room).map(|count| count * size as usize);
        let Some(length) = length else {
            return Err(self.wrong(&format!("{count} elements in section {name:?}"), &format!("at most {room}")));
        };
        let data = &rest[SECTION_HEAD..SECTION_HEAD + length];
        self.at += SECTION_HEAD + length;
        if missing == 0 {
            return Ok(data.chunks_exact(size as usize).map(bytemuck::pod_read_unaligned).collect());
        }
        let mut row = vec![0; size_of::<T>()];
        let read = |bytes: &[u8]| {
            row[..bytes.len()].copy_from_slice(bytes);
            bytemuck::pod_read_unaligned(&row)
        };
        Ok(data.chunks_exact(size as usize).map(read).collect())
    }
}
