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
mod framing;
#[cfg(feature = "s3")]
mod ledger;
mod log;
mod memory;
mod notes;
mod place;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::config::S3;
use framing::{frame, unframe};
pub use log::{Beginning, Closing, Log, LogEnd, LogHead, Tail, closing};
pub use notes::Tombstone;
use place::Place;
pub use place::Trouble;

/// Returns the id of this build: the version, and hashes of the sources of the solver and of the scenes. Builds of the same
/// id come to the same bits.
fn build_id() -> String {
    format!("{}+{}{}", env!("CARGO_PKG_VERSION"), drystone::FINGERPRINT, drystone_scenes::FINGERPRINT)
}

/// Makes a store that is never on disk.
pub const MEMORY: &str = "memory";
/// Before the name of a bucket.
pub const BUCKET: &str = "s3://";

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

#[derive(Debug)]
struct Room {
    /// 0: no limit.
    quota: u64,
    used: AtomicU64,
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
