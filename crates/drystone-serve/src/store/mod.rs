//! Store of the worlds: a folder of atomic, checksummed, versioned files, a bucket of an object store, or memory.
//!
//! ```text
//! STORE/lock                          held while a service uses it
//! STORE/worlds/ID/world               name, time, limits; then the scene, as JSON
//! STORE/worlds/ID/checkpoint-00000007 the session's memory as JSON; then the snapshot
//! STORE/worlds/ID/log-00000007        changes of state since then, one per record
//! STORE/worlds/ID/saved-NAME          a checkpoint with a name
//! STORE/worlds/ID/keys-00000001       older answers to requests with keys: an index; then the answers
//! STORE/deleted/ID                    the key with which a world was deleted, for two days
//! ```
//!
//! This is the folder; `bucket` describes the layout of a bucket. All files are written under a temporary name,
//! synced and renamed, and the folder is synced: a file exists completely or not at all. A file is `DRYWORLD`, u32
//! version, u32 length of the first part, the first part, the second part, a CRC-32 of all that (little-endian).
//! `log` describes the logs.
//!
//! # Detection of missing files
//!
//! A world begins with log 0. A checkpoint and the log that begins with it have the same number and the same header
//! ([`LogHead`]), which records how the previous log ended. In a folder the log is durable before its checkpoint,
//! and the previous log is then closed with the number of the new one. So no needed file can be missing, or shorter
//! than the next one says, without detection. Two things cannot be detected: a cut at the end of the newest log, and
//! the loss of a checkpoint that the previous one can replace with its logs. Stores of version 1 have no headers:
//! missing files are detected there from the next checkpoint on.
//!
//! # Errors of the disk
//!
//! A failed write, for example on a full disk, is undone: the log is truncated to its former length, and that is
//! synced. The change has not happened. If it cannot be undone, or a sync fails, the content of the disk is in
//! doubt, and a second successful sync would prove nothing (Linux forgets the pages that it could not write). The
//! log then takes no more records ([`Trouble::InDoubt`]). Before the world is opened again, [`Store::settle`] writes
//! the readable part of the log to a new file, syncs it, and replaces the old one.
//!
//! ```
//! use drystone_serve::config::S3;
//! use drystone_serve::store::Store;
//!
//! let store = Store::open("memory", &S3::default(), 0)?;
//! store.create("w1", b"{}", b"{}")?;
//! assert_eq!(store.worlds()?, ["w1"]);
//! # Ok::<(), std::io::Error>(())
//! ```

mod backend;
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
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::config::S3;
use backend::StoreBackend;
pub use backend::Trouble;
use framing::{frame, unframe};
pub use log::{Beginning, Closing, Log, LogEnd, LogHead, Tail, closing};
pub use notes::Tombstone;

/// Returns the id of this build: the version, and hashes of the sources of the solver and of the scenes. Builds with
/// the same id reproduce the same bits.
fn build_id() -> String {
    format!("{}+{}{}", env!("CARGO_PKG_VERSION"), drystone::FINGERPRINT, drystone_scenes::FINGERPRINT)
}

/// Name of a store that is never on disk.
pub const MEMORY: &str = "memory";
/// Prefix of a bucket's name.
pub const BUCKET: &str = "s3://";

/// Callback for the name of another service that has taken the store over.
pub type FencedCallback = Box<dyn Fn(String) + Send + Sync>;

/// Callback for the result of a job.
pub type WriteCallback = Box<dyn FnOnce(io::Result<()>) + Send>;

/// Store of the worlds.
#[derive(Debug)]
pub struct Store {
    backend: Box<dyn StoreBackend>,
    /// Quota of bytes.
    quota: Arc<StoreQuota>,
    /// Build and device that write here.
    build: String,
    /// Number of notes written about deleted worlds.
    buried: AtomicU64,
}

#[derive(Debug)]
struct StoreQuota {
    /// Largest number of bytes; 0: no limit.
    quota: u64,
    used: AtomicU64,
}

/// Files of a world: numbers of its checkpoints and logs, each ascending, and names of its named checkpoints.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Checkpoints.
    pub checkpoints: Vec<u64>,
    /// Logs.
    pub logs: Vec<u64>,
    /// Named checkpoints.
    pub saved: Vec<String>,
    /// Other files, including the world's own.
    pub others: Vec<String>,
    /// Files of answers to requests with keys.
    pub keys: Vec<u64>,
}

/// Returns the file name of a checkpoint.
#[must_use]
pub fn checkpoint_name(number: u64) -> String {
    format!("checkpoint-{number:08}")
}

/// Returns the file name of a log.
#[must_use]
pub fn log_name(number: u64) -> String {
    format!("log-{number:08}")
}

/// Returns the file name of answers to requests with keys.
#[must_use]
pub fn keys_name(number: u64) -> String {
    format!("keys-{number:08}")
}

/// Returns the file name of a named checkpoint.
#[must_use]
pub fn saved_name(name: &str) -> String {
    format!("saved-{name}")
}

fn log_number(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.parse().ok()
}

/// File name of a world's properties and scene.
pub const WORLD: &str = "world";

impl StoreQuota {
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
        // Not below 0, even if files were changed from outside.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_sub(bytes)));
    }
}

impl Store {
    /// Opens a folder, creating it if necessary, or `s3://BUCKET/PREFIX`, or `memory`. A quota of 0 means no limit.
    ///
    /// # Errors
    /// The place cannot be created or reached, or another service uses it.
    pub fn open(backend: &str, s3: &S3, quota: u64) -> io::Result<Self> {
        let (backend, used): (Box<dyn StoreBackend>, u64) = if backend == MEMORY {
            (Box::<memory::MemoryStore>::default(), 0)
        } else if let Some(name) = backend.strip_prefix(BUCKET) {
            open_bucket(name, s3)?
        } else {
            let (folder, used) = folder::Folder::open(backend)?;
            (Box::new(folder), used)
        };
        let quota = Arc::new(StoreQuota { quota, used: AtomicU64::new(used) });
        Ok(Self { backend, quota, build: build_id(), buried: AtomicU64::new(0) })
    }

    /// Adds the backend to the build id: another backend computes other bits.
    pub fn set_backend(&mut self, backend: &str) {
        self.build = format!("{} {backend}", build_id());
    }

    /// Returns the build that logs and checkpoints are written by.
    #[must_use]
    pub fn build(&self) -> &str {
        &self.build
    }

    /// Returns the bytes in the store.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.quota.used.load(Ordering::Relaxed)
    }

    /// Returns true for a store behind a network: worlds must be claimed, and records go to [`Self::append_later`].
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.backend.is_remote()
    }

    /// Registers a callback for the name of another service that has taken the store over.
    pub fn when_taken(&self, tell: FencedCallback) {
        self.backend.when_taken(tell);
    }

    /// Releases the store for the next service, once nothing more is written.
    pub fn leave(&self) {
        self.backend.leave();
    }

    /// Claims a world: afterwards no other service writes to it, and the files for opening it are read ahead. Does
    /// nothing where the store is not [remote](Self::is_remote). `done` is called by any thread.
    pub fn take(&self, id: &str, done: WriteCallback) {
        match checked(id) {
            Ok(()) => self.backend.take(id, done),
            Err(error) => done(Err(error)),
        }
    }

    /// Returns the ids of the worlds, sorted.
    ///
    /// # Errors
    /// The place's error.
    pub fn worlds(&self) -> io::Result<Vec<String>> {
        let mut ids = self.backend.worlds()?;
        ids.retain(|id| is_id(id));
        ids.sort();
        Ok(ids)
    }

    /// Lists the files of a world.
    ///
    /// # Errors
    /// The place's error.
    pub fn list(&self, id: &str) -> io::Result<Listing> {
        checked(id)?;
        let mut listing = Listing::default();
        for name in self.backend.names(id)? {
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

    /// Creates a world with its scene: completely or not at all.
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn create(&self, id: &str, facts: &[u8], scene: &[u8]) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(facts, scene)?;
        let log = if self.is_remote() { Vec::new() } else { LogEnd::new(self.first_head(id))?.beginning()?.bytes };
        let length = (bytes.len() + log.len()) as u64;
        self.quota.reserve(length)?;
        let made = self.backend.create(id, bytes, log);
        if made.is_err() {
            self.quota.release(length);
        }
        made
    }

    /// Returns the header of a world's first log.
    #[must_use]
    pub fn first_head(&self, id: &str) -> LogHead {
        LogHead { world: id.to_owned(), build: self.build.clone(), ..LogHead::default() }
    }

    /// Writes a file of two parts: completely or not at all.
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn write(&self, id: &str, name: &str, first: &[u8], second: &[u8]) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(first, second)?;
        let length = bytes.len() as u64;
        self.quota.reserve(length)?;
        let written = self.backend.write(id, name, bytes);
        self.quota.release(*written.as_ref().unwrap_or(&length));
        written.map(|_| ())
    }

    /// Reads a file of two parts.
    ///
    /// # Errors
    /// The place's error; `InvalidData` if the file is damaged.
    pub fn read(&self, id: &str, name: &str) -> io::Result<(Vec<u8>, Vec<u8>)> {
        self.read_versioned(id, name).map(|(_, first, second)| (first, second))
    }

    /// Reads a file of two parts, and its version.
    ///
    /// # Errors
    /// The place's error; `InvalidData` if the file is damaged.
    pub fn read_versioned(&self, id: &str, name: &str) -> io::Result<(u32, Vec<u8>, Vec<u8>)> {
        checked(id)?;
        let bytes = self.backend.read(id, name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), format!("{name} of world {id} is missing")),
            _ => error,
        })?;
        unframe(bytes).map_err(|problem| damaged(id, name, &problem))
    }

    /// Begins a log in the store, if it does not exist yet, and closes the previous one.
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn begin(&self, id: &str, end: &LogEnd) -> io::Result<()> {
        checked(id)?;
        // In a remote store a log begins with its first records.
        if end.is_begun() || self.is_remote() {
            return Ok(());
        }
        let beginning = end.beginning()?;
        let last = beginning.close.as_ref().map_or(0, |closing| closing.row.len());
        let length = (beginning.bytes.len() + last) as u64;
        self.quota.reserve(length)?;
        let begun = self.backend.begin(id, &beginning);
        if !matches!(begun, Ok(true)) {
            self.quota.release(length);
        }
        if begun.is_ok() {
            end.set_begun();
        }
        begun.map(|_| ())
    }

    /// Begins a log even in a store where logs begin with their first records: then without any. Waits for the
    /// result.
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn begin_now(&self, id: &str, end: &LogEnd) -> io::Result<()> {
        if end.is_begun() || !self.is_remote() {
            return self.begin(id, end);
        }
        checked(id)?;
        let bytes = end.beginning()?.bytes;
        let length = bytes.len() as u64;
        self.quota.reserve(length)?;
        let begun = self.backend.append(id, end.number(), 0, &bytes);
        match &begun {
            Ok(()) => end.set_begun(),
            Err(_) => self.quota.release(length),
        }
        begun
    }

    /// Appends rows to a log, beginning it if necessary: all of them or none. They are durable after [`Self::sync`].
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn append(&self, id: &str, end: &LogEnd, rows: &[u8]) -> io::Result<()> {
        self.begin(id, end)?;
        let length = rows.len() as u64;
        self.quota.reserve(length)?;
        let appended = self.backend.append(id, end.number(), end.bytes(), rows);
        if appended.is_err() {
            self.quota.release(length);
        }
        appended
    }

    /// Appends and syncs on another thread, in the order of the world's records, and calls `done` there.
    pub fn append_later(&self, id: &str, end: &LogEnd, rows: Vec<u8>, done: WriteCallback) {
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
        if let Err(error) = self.quota.reserve(length) {
            return done(Err(error));
        }
        let (quota, begun) = (self.quota.clone(), end.clone());
        let told = Box::new(move |outcome: io::Result<()>| {
            match outcome {
                Ok(()) => begun.set_begun(),
                Err(_) => quota.release(length),
            }
            done(outcome);
        });
        self.backend.append_later(id, end.number(), bytes, told);
    }

    /// Waits until the appended rows are durable. After a failure their state is unknown: the log takes no more
    /// records until [`Self::settle`].
    ///
    /// # Errors
    /// The place's error.
    pub fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        self.backend.sync(id, log)
    }

    /// Makes the readable files of a world durable before it is opened: a service that was killed may have left
    /// files unsynced, and a disk may have failed to sync.
    ///
    /// # Errors
    /// The place's error.
    pub fn settle(&self, id: &str, newest: Option<u64>) -> io::Result<()> {
        checked(id)?;
        self.backend.settle(id, newest)
    }

    /// Closes a log whose successor was begun just before the service ended.
    ///
    /// # Errors
    /// The place's error, or the quota is exceeded.
    pub fn seal(&self, id: &str, closing: &Closing) -> io::Result<()> {
        checked(id)?;
        let length = closing.row.len() as u64;
        self.quota.reserve(length)?;
        let sealed = self.backend.seal(id, closing);
        if sealed.is_err() {
            self.quota.release(length);
        }
        sealed
    }

    /// Reads a log. None if it does not exist.
    ///
    /// # Errors
    /// The place's error; `InvalidData` if the log is damaged.
    pub fn log(&self, id: &str, log: u64) -> io::Result<Option<Log>> {
        checked(id)?;
        match self.backend.read(id, &log_name(log)) {
            // A fence has no records.
            Ok(bytes) if bytes.is_empty() && self.is_remote() => Ok(None),
            Ok(bytes) => log::read(id, log, &bytes).map(Some).map_err(|problem| damaged(id, &log_name(log), &problem)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the file of a log that is complete.
    pub fn close_log(&self, id: &str, log: u64) {
        self.backend.close_log(id, log);
    }

    /// Removes files that are not needed any more, as far as possible. It is harmless if some come back after a
    /// power failure.
    pub fn prune(&self, id: &str, names: &[String]) {
        if checked(id).is_err() {
            return;
        }
        for name in names {
            if let Ok(bytes) = self.backend.remove(id, name) {
                self.quota.release(bytes);
            }
        }
    }

    /// Removes a file durably, if it exists.
    ///
    /// # Errors
    /// The place's error.
    pub fn remove(&self, id: &str, name: &str) -> io::Result<()> {
        checked(id)?;
        self.quota.release(self.backend.remove(id, name)?);
        self.backend.sync_names(id)
    }

    /// Removes a world with all its files: completely or not at all.
    ///
    /// # Errors
    /// The place's error.
    pub fn delete(&self, id: &str) -> io::Result<()> {
        checked(id)?;
        self.quota.release(self.backend.delete(id)?);
        Ok(())
    }
}

/// Returns true for a valid id of a world. Only valid ids become part of a path.
#[must_use]
pub fn is_id(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn checked(id: &str) -> io::Result<()> {
    if is_id(id) { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not the id of a world")) }
}

#[cfg(feature = "s3")]
fn open_bucket(name: &str, s3: &S3) -> io::Result<(Box<dyn StoreBackend>, u64)> {
    let (bucket, used) = bucket::Bucket::open(name, s3)?;
    Ok((Box::new(bucket), used))
}

#[cfg(not(feature = "s3"))]
fn open_bucket(_: &str, _: &S3) -> io::Result<(Box<dyn StoreBackend>, u64)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this drystone was built without the feature `s3`"))
}

fn damaged(id: &str, name: &str, problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: {problem}"))
}
