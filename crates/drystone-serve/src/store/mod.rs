//! Where worlds are kept: a folder of atomic, checksummed, versioned files, a bucket of an object store, or memory.
//!
//! ```text
//! STORE/lock                          held while a service uses it
//! STORE/worlds/ID/world               name, time, limits; then the scene, as JSON
//! STORE/worlds/ID/checkpoint-00000007 what a session remembers as JSON; then the snapshot
//! STORE/worlds/ID/log-00000007        what was asked since, a record a change of state
//! STORE/worlds/ID/saved-NAME          a checkpoint with a name
//! STORE/worlds/ID/keys-00000001       older answers to requests with keys: an index; then the answers
//! STORE/deleted/ID                    the key with which a world was deleted, for two days
//! ```
//!
//! That is the folder; how a bucket has it is told in `bucket`. All files are written beside their place, synced and
//! renamed, and the folder synced: they are there as a whole or not at all. A file is `DRYWORLD`, u32 version, u32 length
//! of the first part, the first part, the second, a CRC-32 of all that (little-endian). `log` has the format of a log.
//!
//! # What is missing is noticed
//!
//! A world is made with log 0. A checkpoint and the log that begins with it have the same number and the same head
//! ([`LogHead`]), and the head says how the log before ended. In a folder the log is durable before its checkpoint, and the
//! log before is then closed with the number of the new one. So of the files that are needed none can be missing, or be
//! shorter than the next one says, without a word. What cannot be noticed: a cut at the end of the newest log, and the
//! loss of a checkpoint that the one before, with its logs, can stand in for. Stores of version 1 have no heads: what is
//! missing there is noticed from the next checkpoint on.
//!
//! # Errors of the disk
//!
//! A write that fails, as on a full disk, is taken back: the log is cut to its former length, and that is synced. It has
//! not happened. If it cannot be taken back, or a sync fails, it is in doubt whether what was written is there, and a second
//! sync that works would prove nothing (Linux forgets what it could not write). The log takes no more then
//! ([`Trouble::InDoubt`]). Before the world is opened again [`Store::settle`] writes what can be read of the log to a new
//! file, syncs it, and puts it in the place of the old one.

#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod claim;
#[cfg(feature = "s3")]
mod client;
mod folder;
#[cfg(feature = "s3")]
mod ledger;
mod log;
mod memory;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::config::S3;
use super::op::Key;
pub use log::{Beginning, Closing, Log, LogEnd, LogHead, Tail, closing};

/// Version of files, not of logs. In version 1 worlds began without a log, and checkpoints and logs had no heads.
const VERSION: u32 = 2;
/// Oldest version that is read.
const MIN_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"DRYWORLD";
const HEAD: usize = 16;
/// Returns the id of this build: the version, and hashes of the sources of the solver and of the scenes. Builds of the same
/// id come to the same bits.
fn build_id() -> String {
    format!("{}+{}{}", env!("CARGO_PKG_VERSION"), drystone::FINGERPRINT, drystone_scenes::FINGERPRINT)
}

/// Makes a store that is never on disk.
pub const MEMORY: &str = "memory";
/// Before the name of a bucket.
pub const BUCKET: &str = "s3://";

/// Most notes about deleted worlds.
const MAX_NOTES: usize = 10_000;
/// Notes after which old ones are looked for.
const SWEEP: u64 = 256;
/// Age at which a note goes, s: a day, and another one for clocks that jump.
const NOTE_SECONDS: u64 = 2 * 24 * 3600;

/// Told that another service has taken the store over, and which.
pub type Taken = Box<dyn Fn(String) + Send + Sync>;

/// What to do with the outcome.
pub type Done = Box<dyn FnOnce(io::Result<()>) + Send>;

/// Where worlds are kept.
#[derive(Debug)]
pub struct Store {
    place: Box<dyn Place>,
    /// Of bytes.
    room: Arc<Room>,
    /// Build and device that write here.
    build: String,
    /// Number of notes written about deleted worlds.
    buried: AtomicU64,
}

/// Record of a world that was deleted by a request with a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Key of the request.
    pub key: Key,
    /// Name of the token that asked.
    pub caller: String,
    /// Seconds since 1970.
    pub at: u64,
}

#[derive(Debug)]
struct Room {
    /// 0: no limit.
    quota: u64,
    used: AtomicU64,
}

/// What differs between a folder, a bucket and memory. Ids and names have been looked at before.
trait Place: fmt::Debug + Send + Sync {
    /// Ids of the worlds, in any order.
    fn worlds(&self) -> io::Result<Vec<String>>;

    /// Names of the files of a world, logs included, in any order.
    fn names(&self, id: &str) -> io::Result<Vec<String>>;

    /// Makes a world with its file [`WORLD`], and where it is not remote its first log, as a whole or not at all.
    fn create(&self, id: &str, bytes: Vec<u8>, log: Vec<u8>) -> io::Result<()>;

    /// Writes a file, as a whole or not at all. Bytes of the one that it replaces.
    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64>;

    /// A whole file, or a log.
    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>>;

    /// Makes a log, durable with its name, and closes the one before. Does nothing, and returns false, if the log was begun
    /// before.
    fn begin(&self, id: &str, beginning: &Beginning) -> io::Result<bool>;

    /// Puts bytes at the end of a log, `at`, as a whole or not at all.
    fn append(&self, id: &str, log: u64, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until what was appended is durable.
    fn sync(&self, _id: &str, _log: u64) -> io::Result<()> {
        Ok(())
    }

    /// Makes the names of a world's files durable as they are.
    fn sync_names(&self, _id: &str) -> io::Result<()> {
        Ok(())
    }

    /// Makes durable what can be read of a world that is about to be opened; `newest` is its newest log.
    fn settle(&self, _id: &str, _newest: Option<u64>) -> io::Result<()> {
        Ok(())
    }

    /// Closes a log whose successor was begun just before the service ended.
    fn seal(&self, _id: &str, _closing: &Closing) -> io::Result<()> {
        Ok(())
    }

    /// No more of a log is written.
    fn close_log(&self, _id: &str, _log: u64) {}

    /// Removes a file or a log, if it is there. Bytes of it.
    fn remove(&self, id: &str, name: &str) -> io::Result<u64>;

    /// Removes a world, as a whole or not at all. Bytes of it.
    fn delete(&self, id: &str) -> io::Result<u64>;

    /// Writes a note about a world that is being deleted, as a whole or not at all.
    fn write_note(&self, id: &str, bytes: Vec<u8>) -> io::Result<()>;

    /// The note about a world that was deleted.
    fn note(&self, id: &str) -> io::Result<Vec<u8>>;

    /// Ids of worlds about which there is a note.
    fn notes(&self) -> io::Result<Vec<String>>;

    /// Removes a note, if it is there.
    fn remove_note(&self, id: &str) -> io::Result<()>;

    /// Behind a network: what takes long is done by others.
    fn is_remote(&self) -> bool {
        false
    }

    /// Calls this once another service has taken the place over.
    fn when_taken(&self, _tell: Taken) {}

    /// Leaves the place: another service may come at once.
    fn leave(&self) {}

    /// Makes a world ours, and reads what opening it takes.
    fn take(&self, _id: &str, done: Done) {
        done(Ok(()));
    }

    /// Appends and syncs, by another thread. A log begins with its first append.
    fn append_later(&self, id: &str, log: u64, bytes: Vec<u8>, done: Done);
}

/// Failure of a store that is not here, or of a disk. Wrapped in an [`io::Error`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum Trouble {
    /// The store cannot be reached. Nothing was to be written.
    #[error("{0}")]
    Away(String),
    /// It is not known whether it was written. The world's [`Store::take`] and [`Store::settle`] find out.
    #[error("{0}; whether it was written is not known yet")]
    InDoubt(String),
    /// Another service has made the world its own.
    #[error("{0}")]
    Taken(String),
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        Self::other(trouble)
    }
}

impl Trouble {
    /// The trouble inside of an error.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Numbers of the checkpoints and logs of a world, each ascending, and names of checkpoints that have one.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Checkpoints.
    pub checkpoints: Vec<u64>,
    /// Logs.
    pub logs: Vec<u64>,
    /// By name.
    pub saved: Vec<String>,
    /// Other files, the world's own included.
    pub others: Vec<String>,
    /// Files of answers to requests with keys.
    pub keys: Vec<u64>,
}

/// The name of a checkpoint's file.
#[must_use]
pub fn checkpoint_name(number: u64) -> String {
    format!("checkpoint-{number:08}")
}

/// The name of a log's file.
#[must_use]
pub fn log_name(number: u64) -> String {
    format!("log-{number:08}")
}

/// Name of a file of answers to requests with keys.
#[must_use]
pub fn keys_name(number: u64) -> String {
    format!("keys-{number:08}")
}

/// The name of the file of a checkpoint with a name.
#[must_use]
pub fn saved_name(name: &str) -> String {
    format!("saved-{name}")
}

fn log_number(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.parse().ok()
}

/// The file of a world's scene.
pub const WORLD: &str = "world";

impl Room {
    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let fits = |used: u64| {
            let sum = used.saturating_add(bytes);
            (self.quota == 0 || sum <= self.quota).then_some(sum)
        };
        let reserved = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        reserved.map(|_| ()).map_err(|_| {
            let quota = self.quota;
            io::Error::new(io::ErrorKind::StorageFull, format!("the store may hold {quota} bytes (limits.store_bytes)"))
        })
    }

    fn release(&self, bytes: u64) {
        // Never below 0, should somebody have changed files by hand.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_sub(bytes)));
    }
}

impl Store {
    /// Opens a folder, and makes it if it is not there; or `s3://BUCKET/PREFIX`; or `memory`. A quota of 0 is none.
    ///
    /// # Errors
    /// If it cannot be made or reached, or another service uses the folder.
    pub fn open(place: &str, s3: &S3, quota: u64) -> io::Result<Self> {
        let (place, used): (Box<dyn Place>, u64) = if place == MEMORY {
            (Box::<memory::Memory>::default(), 0)
        } else if let Some(name) = place.strip_prefix(BUCKET) {
            open_bucket(name, s3)?
        } else {
            let (folder, used) = folder::Folder::open(place)?;
            (Box::new(folder), used)
        };
        let room = Arc::new(Room { quota, used: AtomicU64::new(used) });
        Ok(Self { place, room, build: build_id(), buried: AtomicU64::new(0) })
    }

    /// Sets what is part of the build beside the program: worlds come to other bits on another backend.
    pub fn set_backend(&mut self, backend: &str) {
        self.build = format!("{} {backend}", build_id());
    }

    /// Build that logs and checkpoints are written by.
    #[must_use]
    pub fn build(&self) -> &str {
        &self.build
    }

    /// Bytes in it.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.room.used.load(Ordering::Relaxed)
    }

    /// Whether it is behind a network, so that worlds are to be taken and records given to [`Self::append_later`].
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.place.is_remote()
    }

    /// Calls this, with the name of the other, once another service has taken the store over.
    pub fn when_taken(&self, tell: Taken) {
        self.place.when_taken(tell);
    }

    /// Leaves the store to the next service, once nothing more is written.
    pub fn leave(&self) {
        self.place.leave();
    }

    /// Makes a world ours: after this no other service writes to it, and what opening it takes is at hand. Where it is
    /// not [remote](Self::is_remote) there is nothing to do. `done` is called by any thread.
    pub fn take(&self, id: &str, done: Done) {
        match checked(id) {
            Ok(()) => self.place.take(id, done),
            Err(error) => done(Err(error)),
        }
    }

    /// Ids of the worlds, in their order.
    ///
    /// # Errors
    /// The place's.
    pub fn worlds(&self) -> io::Result<Vec<String>> {
        let mut ids = self.place.worlds()?;
        ids.retain(|id| is_id(id));
        ids.sort();
        Ok(ids)
    }

    /// What there is of a world.
    ///
    /// # Errors
    /// The place's.
    pub fn list(&self, id: &str) -> io::Result<Listing> {
        checked(id)?;
        let mut listing = Listing::default();
        for name in self.place.names(id)? {
            if let Some(number) = name.strip_prefix("checkpoint-").and_then(|n| n.parse().ok()) {
                listing.checkpoints.push(number);
            } else if let Some(number) = log_number(&name) {
                listing.logs.push(number);
            } else if let Some(number) = name.strip_prefix("keys-").and_then(|number| number.parse().ok()) {
                listing.keys.push(number);
            } else if let Some(saved) = name.strip_prefix("saved-") {
                listing.saved.push(saved.to_owned());
            } else {
                listing.others.push(name);
            }
        }
        listing.checkpoints.sort_unstable();
        listing.logs.sort_unstable();
        listing.keys.sort_unstable();
        listing.saved.sort_unstable();
        Ok(listing)
    }

    /// Makes a world with its scene: as a whole or not at all.
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn create(&self, id: &str, facts: &[u8], scene: &[u8]) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(facts, scene)?;
        let log = if self.is_remote() { Vec::new() } else { LogEnd::new(self.first_head(id))?.beginning()?.bytes };
        let length = (bytes.len() + log.len()) as u64;
        self.room.reserve(length)?;
        let made = self.place.create(id, bytes, log);
        if made.is_err() {
            self.room.release(length);
        }
        made
    }

    /// Head of the first log of a world.
    #[must_use]
    pub fn first_head(&self, id: &str) -> LogHead {
        LogHead { world: id.to_owned(), build: self.build.clone(), ..LogHead::default() }
    }

    /// Writes a file of two parts: as a whole or not at all.
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn write(&self, id: &str, name: &str, first: &[u8], second: &[u8]) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(first, second)?;
        let length = bytes.len() as u64;
        self.room.reserve(length)?;
        let written = self.place.write(id, name, bytes);
        self.room.release(*written.as_ref().unwrap_or(&length));
        written.map(|_| ())
    }

    /// Reads a file of two parts.
    ///
    /// # Errors
    /// The place's; `InvalidData` if it is damaged.
    pub fn read(&self, id: &str, name: &str) -> io::Result<(Vec<u8>, Vec<u8>)> {
        self.read_versioned(id, name).map(|(_, first, second)| (first, second))
    }

    /// Reads a file of two parts, and its version.
    ///
    /// # Errors
    /// The place's; `InvalidData` if it is damaged.
    pub fn read_versioned(&self, id: &str, name: &str) -> io::Result<(u32, Vec<u8>, Vec<u8>)> {
        checked(id)?;
        let bytes = self.place.read(id, name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), format!("{name} of world {id} is missing")),
            _ => error,
        })?;
        unframe(bytes).map_err(|problem| damaged(id, name, &problem))
    }

    /// Puts a log into the store, if it is not there yet, and closes the one before.
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn begin(&self, id: &str, end: &LogEnd) -> io::Result<()> {
        checked(id)?;
        // There it begins with the first records.
        if end.is_begun() || self.is_remote() {
            return Ok(());
        }
        let beginning = end.beginning()?;
        let last = beginning.close.as_ref().map_or(0, |closing| closing.row.len());
        let length = (beginning.bytes.len() + last) as u64;
        self.room.reserve(length)?;
        let begun = self.place.begin(id, &beginning);
        if !matches!(begun, Ok(true)) {
            self.room.release(length);
        }
        if begun.is_ok() {
            end.set_begun();
        }
        begun.map(|_| ())
    }

    /// Puts a log into the store, also where logs begin with their first records: then it begins without any. Waits for it.
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn begin_now(&self, id: &str, end: &LogEnd) -> io::Result<()> {
        if end.is_begun() || !self.is_remote() {
            return self.begin(id, end);
        }
        checked(id)?;
        let bytes = end.beginning()?.bytes;
        let length = bytes.len() as u64;
        self.room.reserve(length)?;
        let begun = self.place.append(id, end.number(), 0, &bytes);
        match &begun {
            Ok(()) => end.set_begun(),
            Err(_) => self.room.release(length),
        }
        begun
    }

    /// Puts rows at the end of a log, which is begun first if it has to be: as a whole or not at all. They are durable
    /// after [`Self::sync`].
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn append(&self, id: &str, end: &LogEnd, rows: &[u8]) -> io::Result<()> {
        self.begin(id, end)?;
        let length = rows.len() as u64;
        self.room.reserve(length)?;
        let appended = self.place.append(id, end.number(), end.bytes(), rows);
        if appended.is_err() {
            self.room.release(length);
        }
        appended
    }

    /// Appends and syncs, by another thread, in the order in which a world's records come. `done` is called there.
    pub fn append_later(&self, id: &str, end: &LogEnd, rows: Vec<u8>, done: Done) {
        let whole = checked(id).and_then(|()| {
            let mut bytes = if end.is_begun() { Vec::new() } else { end.beginning()?.bytes };
            bytes.extend(rows);
            Ok(bytes)
        });
        let bytes = match whole {
            Ok(bytes) => bytes,
            Err(error) => return done(Err(error)),
        };
        let length = bytes.len() as u64;
        if let Err(error) = self.room.reserve(length) {
            return done(Err(error));
        }
        let (room, begun) = (self.room.clone(), end.clone());
        let told = Box::new(move |outcome: io::Result<()>| {
            match outcome {
                Ok(()) => begun.set_begun(),
                Err(_) => room.release(length),
            }
            done(outcome);
        });
        self.place.append_later(id, end.number(), bytes, told);
    }

    /// Waits until what was appended is on the disk. If that fails, what of it is there is not known: the log takes no
    /// more until [`Self::settle`].
    ///
    /// # Errors
    /// The place's.
    pub fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        self.place.sync(id, log)
    }

    /// Makes durable what can be read of a world that is about to be opened: a service that was killed may have left what
    /// is written and not synced, and a disk may have failed to sync it.
    ///
    /// # Errors
    /// The place's.
    pub fn settle(&self, id: &str, newest: Option<u64>) -> io::Result<()> {
        checked(id)?;
        self.place.settle(id, newest)
    }

    /// Closes a log whose successor was begun just before the service ended.
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn seal(&self, id: &str, closing: &Closing) -> io::Result<()> {
        checked(id)?;
        let length = closing.row.len() as u64;
        self.room.reserve(length)?;
        let sealed = self.place.seal(id, closing);
        if sealed.is_err() {
            self.room.release(length);
        }
        sealed
    }

    /// Reads a log. None if it is not there, or has not begun yet.
    ///
    /// # Errors
    /// The place's; `InvalidData` if it is damaged.
    pub fn log(&self, id: &str, log: u64) -> io::Result<Option<Log>> {
        checked(id)?;
        match self.place.read(id, &log_name(log)) {
            // A part that makes the world ours has no records.
            Ok(bytes) if bytes.is_empty() && self.is_remote() => Ok(None),
            Ok(bytes) => log::read(id, log, &bytes).map(Some).map_err(|problem| damaged(id, &log_name(log), &problem)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets go of a log that is not written any more.
    pub fn close_log(&self, id: &str, log: u64) {
        self.place.close_log(id, log);
    }

    /// Removes files that are not needed any more, as far as that works. Should some come back after a power cut, nothing
    /// is wrong with that.
    pub fn prune(&self, id: &str, names: &[String]) {
        if checked(id).is_err() {
            return;
        }
        for name in names {
            if let Ok(bytes) = self.place.remove(id, name) {
                self.room.release(bytes);
            }
        }
    }

    /// Removes a file, if it is there, for good.
    ///
    /// # Errors
    /// The place's.
    pub fn remove(&self, id: &str, name: &str) -> io::Result<()> {
        checked(id)?;
        self.room.release(self.place.remove(id, name)?);
        self.place.sync_names(id)
    }

    /// Writes down with which key a world is deleted. Notes that are older than two days go, and the oldest of more than
    /// 10,000.
    ///
    /// # Errors
    /// The place's.
    pub fn bury(&self, id: &str, tombstone: &Tombstone) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(&serde_json::to_vec(tombstone)?, &[])?;
        self.place.write_note(id, bytes)?;
        if self.buried.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP) {
            // Notes that cannot be removed stay.
            let _ = self.sweep(tombstone.at);
        }
        Ok(())
    }

    fn sweep(&self, now: u64) -> io::Result<()> {
        let mut there = Vec::new();
        for id in self.place.notes()?.into_iter().filter(|id| is_id(id)) {
            let note = self.tombstone(&id).ok().flatten();
            let (at, caller) = note.map_or((0, String::new()), |note| (note.at.min(now), note.caller));
            there.push(Note { at, caller, id });
        }
        for id in excess(there, now, MAX_NOTES) {
            self.place.remove_note(&id)?;
        }
        Ok(())
    }

    /// With which key a world was deleted, if it was not long ago.
    ///
    /// # Errors
    /// The place's; `InvalidData` if the note is damaged.
    pub fn tombstone(&self, id: &str) -> io::Result<Option<Tombstone>> {
        checked(id)?;
        let bytes = match self.place.note(id) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |problem: String| io::Error::new(io::ErrorKind::InvalidData, format!("deleted/{id}: {problem}"));
        let (_, note, _) = unframe(bytes).map_err(damaged)?;
        serde_json::from_slice(&note).map(Some).map_err(|error| damaged(error.to_string()))
    }

    /// Removes a world and all that is kept of it: as a whole or not at all.
    ///
    /// # Errors
    /// The place's.
    pub fn delete(&self, id: &str) -> io::Result<()> {
        checked(id)?;
        self.room.release(self.place.delete(id)?);
        Ok(())
    }
}

/// Note of a deleted world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Note {
    at: u64,
    caller: String,
    id: String,
}

/// Returns the ids of notes that are to go: old ones, and beyond `most` the oldest of the callers that have the most.
fn excess(mut there: Vec<Note>, now: u64, most: usize) -> Vec<String> {
    there.sort_unstable();
    let (old, kept): (Vec<Note>, Vec<Note>) = there.into_iter().partition(|note| note.at + NOTE_SECONDS <= now);
    let mut gone: Vec<String> = old.into_iter().map(|note| note.id).collect();
    let mut too_many = kept.len().saturating_sub(most);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for note in &kept {
        *counts.entry(note.caller.clone()).or_default() += 1;
    }
    // All callers keep as many as this, or what they have.
    let mut level = counts.values().copied().max().unwrap_or_default();
    while counts.values().map(|count| count.saturating_sub(level)).sum::<usize>() < too_many {
        level -= 1;
    }
    for note in kept {
        if let Some(count) = counts.get_mut(&note.caller)
            && *count > level
            && too_many > 0
        {
            *count -= 1;
            too_many -= 1;
            gone.push(note.id);
        }
    }
    gone
}

/// Only such names ever become part of a path.
#[must_use]
pub fn is_id(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn checked(id: &str) -> io::Result<()> {
    if is_id(id) { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no id of a world")) }
}

#[cfg(feature = "s3")]
fn open_bucket(name: &str, s3: &S3) -> io::Result<(Box<dyn Place>, u64)> {
    let (bucket, used) = bucket::Bucket::open(name, s3)?;
    Ok((Box::new(bucket), used))
}

#[cfg(not(feature = "s3"))]
fn open_bucket(_: &str, _: &S3) -> io::Result<(Box<dyn Place>, u64)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this drystone was built without the feature `s3`"))
}

fn damaged(id: &str, name: &str, problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: {problem}"))
}

fn frame(first: &[u8], second: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(first.len()).map_err(|_| io::Error::other("the file would be too large"))?;
    let mut bytes = Vec::with_capacity(HEAD + first.len() + second.len() + 4);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(first);
    bytes.extend(second);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Version and parts of a file.
fn unframe(bytes: Vec<u8>) -> Result<(u32, Vec<u8>, Vec<u8>), String> {
    if bytes.len() < HEAD + 4 || bytes[..8] != MAGIC {
        return Err(format!("{} bytes that are no file of a world", bytes.len()));
    }
    let word = |from: usize| u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
    let version = word(8);
    if !(MIN_VERSION..=VERSION).contains(&version) {
        return Err(format!("version {version}; this build reads {MIN_VERSION} to {VERSION}"));
    }
    let end = bytes.len() - 4;
    let (found, expected) = (crc32fast::hash(&bytes[..end]), word(end));
    if found != expected {
        return Err(format!("the checksum is {found:08x}, expected {expected:08x}"));
    }
    let middle = HEAD + word(12) as usize;
    if middle > end {
        return Err("its first part is longer than all of it".to_owned());
    }
    let mut first = bytes;
    first.truncate(end);
    let second = first.split_off(middle);
    first.drain(..HEAD);
    Ok((version, first, second))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open(place: &str) -> io::Result<Store> {
        Store::open(place, &S3::default(), 0)
    }

    #[test]
    fn notes_of_the_one_with_the_most_go_first() {
        let note = |at, caller: &str, id: &str| Note { at, caller: caller.to_owned(), id: id.to_owned() };
        let now = 10 * NOTE_SECONDS;
        let mut there = vec![note(now - 9, "few", "a"), note(1, "few", "old")];
        there.extend((0..6).map(|number| note(now - 6 + number, "many", &format!("m{number}"))));
        assert_eq!(excess(there.clone(), now, 10), ["old"]);
        assert_eq!(excess(there.clone(), now, 4), ["old", "m0", "m1", "m2"]);
        assert_eq!(excess(there, now, 1), ["old", "a", "m0", "m1", "m2", "m3", "m4"]);
    }

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let stores = [open(&folder.path().display().to_string()), open(MEMORY)];
        (folder, stores.map(Result::unwrap))
    }

    /// First log of a world that was just made.
    fn first_log(store: &Store, id: &str) -> LogEnd {
        LogEnd::of(&store.log(id, 0).unwrap().unwrap()).unwrap()
    }

    fn append(store: &Store, id: &str, end: &LogEnd, records: &[&[u8]]) -> LogEnd {
        let (rows, grown) = end.grow(&records.iter().map(|record| record.to_vec()).collect::<Vec<_>>()).unwrap();
        store.append(id, end, &rows).unwrap();
        store.sync(id, end.number()).unwrap();
        grown
    }

    fn next(store: &Store, end: &LogEnd) -> LogEnd {
        let head = LogHead { log: end.number() + 1, before: end.last(), ..end.head().clone() };
        let end = LogEnd::new(head).unwrap();
        store.begin(&end.head().world, &end).unwrap();
        end
    }

    fn records(store: &Store, id: &str, log: u64) -> io::Result<Vec<Vec<u8>>> {
        store.log(id, log).map(|log| log.map(|log| log.records).unwrap_or_default())
    }

    #[test]
    fn what_is_written_reads_back() {
        let (_folder, stores) = stores();
        for store in stores {
            store.create("w1", b"facts", b"scene").unwrap();
            assert_eq!(store.read("w1", WORLD).unwrap(), (b"facts".to_vec(), b"scene".to_vec()));
            store.write("w1", &checkpoint_name(1), b"one", b"two").unwrap();
            store.write("w1", "keys-1", b"one", b"two").unwrap();
            let mut end = first_log(&store, "w1");
            end = append(&store, "w1", &end, &[b"a", b"bc"]);
            end = append(&store, "w1", &end, &[b"d"]);
            let log = store.log("w1", 0).unwrap().unwrap();
            assert_eq!(log.records, [b"a".to_vec(), b"bc".to_vec(), b"d".to_vec()]);
            assert_eq!((Some(log.tail), log.next), (end.last(), None));
            let second = next(&store, &end);
            store.begin("w1", &second).unwrap();
            let (first, log) = (store.log("w1", 0).unwrap().unwrap(), store.log("w1", 1).unwrap().unwrap());
            assert_eq!((first.next, first.tail, log.tail), (Some(1), end.last().unwrap(), second.last().unwrap()));
            assert_eq!(log.head.unwrap().before, end.last());
            let listing = store.list("w1").unwrap();
            assert_eq!((listing.checkpoints, listing.logs), (vec![1], vec![0, 1]));
            assert_eq!((listing.keys, listing.others), (vec![1], vec![WORLD.to_owned()]));
            assert_eq!(store.worlds().unwrap(), ["w1"]);
            store.delete("w1").unwrap();
            assert!(store.worlds().unwrap().is_empty());
            assert_eq!(store.used(), 0);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"facts", b"scene").unwrap();
        let place = folder.path().join("worlds/w1/world");
        let whole = fs::read(&place).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&place, &bytes).unwrap();
            assert_eq!(store.read("w1", WORLD).unwrap_err().kind(), io::ErrorKind::InvalidData, "byte {at}");
            fs::write(&place, &whole[..at]).unwrap();
            assert!(store.read("w1", WORLD).is_err(), "{at} bytes");
        }
        fs::write(&place, &whole).unwrap();
        assert!(store.read("w1", WORLD).is_ok());
    }

    #[test]
    fn a_log_ends_where_it_is_torn() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"", b"").unwrap();
        let end = first_log(&store, "w1");
        let head = usize::try_from(end.bytes()).unwrap();
        append(&store, "w1", &end, &[b"first", b"second"]);
        let place = folder.path().join("worlds/w1/log-00000000");
        let whole = fs::read(&place).unwrap();
        drop(store);
        for length in 0..whole.len() {
            fs::write(&place, &whole[..length]).unwrap();
            let store = open(&folder.path().display().to_string()).unwrap();
            if length < head {
                // Less than a head is never there: the log was made with it.
                let log = store.log("w1", 0);
                assert!(log.is_err() || log.unwrap().unwrap().head.is_none(), "{length} bytes");
                continue;
            }
            let log = store.log("w1", 0).unwrap().unwrap();
            assert_eq!(log.records.len(), usize::from(length >= head + 12 + 5), "{length} bytes");
            // The next one takes the place of the torn one.
            append(&store, "w1", &LogEnd::of(&log).unwrap(), &[b"third"]);
            assert_eq!(records(&store, "w1", 0).unwrap().last().unwrap(), b"third");
        }
    }

    #[test]
    fn a_log_that_is_damaged_says_so() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"", b"").unwrap();
        let mut end = first_log(&store, "w1");
        let head = usize::try_from(end.bytes()).unwrap();
        for text in [&b"first"[..], b"second", b"third"] {
            end = append(&store, "w1", &end, &[text, b"and more"]);
        }
        let place = folder.path().join("worlds/w1/log-00000000");
        let whole = fs::read(&place).unwrap();
        let last = whole.len() - (24 + 5 + 8);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&place, &bytes).unwrap();
            match records(&store, "w1", 0) {
                // Of the last append nobody was told, perhaps.
                Ok(records) => assert!(at >= last && (4..6).contains(&records.len()), "byte {at}: {records:?}"),
                Err(error) => {
                    assert!(at < last && error.kind() == io::ErrorKind::InvalidData, "byte {at}: {error}");
                }
            }
        }
        // Rows of their own: one taken out, two in another order, one of another log.
        let (first, second) = (&whole[head..head + 12 + 5], &whole[head + 12 + 5..head + 24 + 13]);
        let rest = &whole[head + 24 + 13..];
        for rows in [[second, rest].concat(), [first, rest].concat(), [second, first, rest].concat()] {
            fs::write(&place, [&whole[..head], &rows].concat()).unwrap();
            assert_eq!(records(&store, "w1", 0).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        fs::write(folder.path().join("worlds/w1/log-00000001"), &whole).unwrap();
        assert_eq!(records(&store, "w1", 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
        // Room that was made and not written.
        fs::write(&place, [&whole[..], &[0; 4096]].concat()).unwrap();
        assert_eq!(records(&store, "w1", 0).unwrap().len(), 6);
    }

    /// Time in proportion to the bytes: in a torn record of such text every other byte looks like the beginning of a row.
    #[test]
    fn a_torn_record_is_read_quickly() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"", b"").unwrap();
        let end = first_log(&store, "w1");
        let text = "\u{100}".repeat(20 << 20);
        let (rows, _) = end.grow(&[text.into_bytes()]).unwrap();
        let place = folder.path().join("worlds/w1/log-00000000");
        let mut bytes = fs::read(&place).unwrap();
        let head = bytes.len();
        bytes.extend(&rows[..rows.len() - 1]);
        fs::write(&place, &bytes).unwrap();
        let start = std::time::Instant::now();
        assert!(records(&store, "w1", 0).unwrap().is_empty());
        // The same in version 1, where that is not told from damage.
        fs::write(&place, &bytes[head + 4..]).unwrap();
        let _ = records(&store, "w1", 0);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    /// As stores of version 1 have them.
    #[test]
    fn logs_of_version_1_are_read() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"", b"").unwrap();
        let mut bytes = Vec::new();
        for (text, first) in [(&b"first"[..], true), (b"second", false), (b"third", true)] {
            let mark = u32::from(first) << 31;
            bytes.extend((u32::try_from(text.len()).unwrap() | mark).to_le_bytes());
            bytes.extend(crc32fast::hash(text).to_le_bytes());
            bytes.extend(text);
        }
        let place = folder.path().join("worlds/w1/log-00000000");
        fs::write(&place, &bytes).unwrap();
        let log = store.log("w1", 0).unwrap().unwrap();
        assert!(log.head.is_none() && LogEnd::of(&log).is_none());
        assert_eq!(log.records, [b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
        fs::write(&place, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(records(&store, "w1", 0).unwrap().len(), 2);
        bytes[9] ^= 1;
        fs::write(&place, &bytes).unwrap();
        assert!(store.log("w1", 0).is_err());
    }

    #[test]
    fn a_full_store_says_so_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().display().to_string(), &S3::default(), 400).unwrap();
        store.create("w1", b"facts", b"scene").unwrap();
        let used = store.used();
        let end = first_log(&store, "w1");
        for error in [
            store.append("w1", &end, &end.grow(&[vec![0; 400]]).unwrap().0).unwrap_err(),
            store.write("w1", "saved-a", &[0; 400], b"").unwrap_err(),
            store.create("w2", &[0; 400], b"").unwrap_err(),
        ] {
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!((store.used(), store.worlds().unwrap().len()), (used, 1));
        append(&store, "w1", &end, &[&[1; 20]]);
    }

    #[test]
    fn one_service_a_folder_and_no_other_names() {
        let (folder, [store, _]) = stores();
        let place = folder.path().display().to_string();
        assert!(open(&place).is_err());
        for id in ["", "..", "a/b", "A", "a.b", ".new"] {
            assert!(!is_id(id) && store.create(id, b"", b"").is_err() && store.list(id).is_err(), "{id}");
        }
        drop(store);
        assert!(open(&place).is_ok());
    }
}
