//! Where worlds are kept: a folder of atomic, checksummed, versioned files, a bucket of an object store, or memory.
//!
//! ```text
//! STORE/lock                          held while a service uses it
//! STORE/worlds/ID/world               name, time, limits; then the scene, as JSON
//! STORE/worlds/ID/checkpoint-00000007 what a session remembers as JSON; then the snapshot
//! STORE/worlds/ID/log-00000007        what was asked since, a record a change of state
//! STORE/worlds/ID/saved-NAME          a checkpoint with a name
//! ```
//!
//! That is the folder; how a bucket has it is told in `bucket`. All but logs are written beside their place, synced and
//! renamed, and the folder synced: they are there as a whole or not at all. A file is `DRYWORLD`, u32 version, u32 length
//! of the first part, the first part, the second, a CRC-32 of all that (little-endian). A log is a row of u32 length, u32
//! CRC-32, JSON; the highest bit of a length is set where an append began. One is only begun when the one before is
//! durable: what is not whole and has no such beginning after it is of the last append, which nobody was told of, and is
//! left out. Elsewhere the log is damaged, and that is said.

#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod client;
mod folder;
#[cfg(feature = "s3")]
mod ledger;
mod memory;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::config::S3;

/// Of all files.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"DRYWORLD";
const HEAD: usize = 16;
/// A record that claims to be longer is none.
const LONGEST_RECORD: u32 = 1 << 30;
/// Of the length of a record: it is the first of those that were appended together.
const FIRST: u32 = 1 << 31;
/// Makes a store that is never on disk.
const MEMORY: &str = "memory";
/// Before the name of a bucket.
pub const BUCKET: &str = "s3://";

/// What to do with the outcome.
pub type Done = Box<dyn FnOnce(io::Result<()>) + Send>;

/// Where worlds are kept.
#[derive(Debug)]
pub struct Store {
    place: Box<dyn Place>,
    /// Of bytes.
    room: Arc<Room>,
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

    /// Makes a world with its file [`WORLD`], as a whole or not at all.
    fn create(&self, id: &str, bytes: Vec<u8>) -> io::Result<()>;

    /// Writes a file, as a whole or not at all. Bytes of the one that it replaces.
    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64>;

    /// A whole file, or a log.
    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>>;

    /// Puts bytes behind those of a log, as a whole or not at all.
    fn append(&self, id: &str, log: u64, bytes: Vec<u8>) -> io::Result<()>;

    /// Waits until what was appended is durable.
    fn sync(&self, _id: &str, _log: u64) -> io::Result<()> {
        Ok(())
    }

    /// Takes the last bytes of a log away again.
    fn take_back(&self, _id: &str, _log: u64, _bytes: u64) {}

    /// No more of a log is written.
    fn close_log(&self, _id: &str, _log: u64) {}

    /// Removes a file or a log, if it is there. Bytes of it.
    fn remove(&self, id: &str, name: &str) -> io::Result<u64>;

    /// Removes a world, as a whole or not at all. Bytes of it.
    fn delete(&self, id: &str) -> io::Result<u64>;

    /// Behind a network: what takes long is done by others.
    fn is_remote(&self) -> bool {
        false
    }

    /// Makes a world ours, and reads what opening it takes.
    fn take(&self, _id: &str, done: Done) {
        done(Ok(()));
    }

    /// As [`Self::append`] and [`Self::sync`], by another thread.
    fn append_later(&self, id: &str, log: u64, bytes: Vec<u8>, done: Done) {
        done(self.append(id, log, bytes).and_then(|()| self.sync(id, log)));
    }
}

/// What is wrong with a store that is not here. It is inside of an [`io::Error`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum Trouble {
    /// The store cannot be reached. Nothing was to be written.
    #[error("{0}")]
    Away(String),
    /// It is not known whether it was written. The world's [`Store::take`] settles that.
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
        Ok(Self { place, room: Arc::new(Room { quota, used: AtomicU64::new(used) }) })
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
            } else if let Some(saved) = name.strip_prefix("saved-") {
                listing.saved.push(saved.to_owned());
            }
        }
        listing.checkpoints.sort_unstable();
        listing.logs.sort_unstable();
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
        let length = bytes.len() as u64;
        self.room.reserve(length)?;
        let made = self.place.create(id, bytes);
        if made.is_err() {
            self.room.release(length);
        }
        made
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
        checked(id)?;
        unframe(self.place.read(id, name)?)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: {problem}")))
    }

    /// Puts records behind those of a log, as a whole or not at all; they are durable after [`Self::sync`].
    ///
    /// # Errors
    /// The place's, or beyond the quota.
    pub fn append(&self, id: &str, log: u64, records: &[Vec<u8>]) -> io::Result<()> {
        checked(id)?;
        let bytes = row(records)?;
        let length = bytes.len() as u64;
        self.room.reserve(length)?;
        let appended = self.place.append(id, log, bytes);
        if appended.is_err() {
            self.room.release(length);
        }
        appended
    }

    /// Appends and syncs, by another thread, in the order in which a world's records come. `done` is called there.
    pub fn append_later(&self, id: &str, log: u64, records: &[Vec<u8>], done: Done) {
        let bytes = match checked(id).and_then(|()| row(records)) {
            Ok(bytes) => bytes,
            Err(error) => return done(Err(error)),
        };
        let length = bytes.len() as u64;
        if let Err(error) = self.room.reserve(length) {
            return done(Err(error));
        }
        let room = self.room.clone();
        let told = Box::new(move |outcome: io::Result<()>| {
            if outcome.is_err() {
                room.release(length);
            }
            done(outcome);
        });
        self.place.append_later(id, log, bytes, told);
    }

    /// Waits until what was appended is on the disk. If that fails, what of it is there is not known: the log takes no
    /// more.
    ///
    /// # Errors
    /// The place's.
    pub fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        self.place.sync(id, log)
    }

    /// Takes what was appended last away again, as far as that can be.
    pub fn take_back(&self, id: &str, log: u64, records: &[Vec<u8>]) {
        let bytes: u64 = records.iter().map(|record| record.len() as u64 + 8).sum();
        self.place.take_back(id, log, bytes);
        self.room.release(bytes);
    }

    /// The records of a log, without those of a last append that was not ended. None if there is no log.
    ///
    /// # Errors
    /// The place's; `InvalidData` if it is damaged.
    pub fn records(&self, id: &str, log: u64) -> io::Result<Vec<Vec<u8>>> {
        checked(id)?;
        match self.place.read(id, &log_name(log)) {
            Ok(bytes) => {
                let (records, whole) = whole_records(&bytes);
                if let Some(later) = begins_after(&bytes, whole) {
                    let detail = format!(
                        "{} of world {id} is damaged between bytes {whole} and {later}: what was acknowledged is missing",
                        log_name(log)
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
                }
                Ok(records)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// No more of a log is written.
    pub fn close_log(&self, id: &str, log: u64) {
        self.place.close_log(id, log);
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// The place's.
    pub fn remove(&self, id: &str, name: &str) -> io::Result<()> {
        checked(id)?;
        self.room.release(self.place.remove(id, name)?);
        Ok(())
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

/// Records as they are in a log.
fn row(records: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for record in records {
        let length = u32::try_from(record.len()).ok().filter(|length| *length < LONGEST_RECORD);
        let length = length.ok_or_else(|| io::Error::other("a record is longer than a log takes"))?;
        let mark = if bytes.is_empty() { FIRST } else { 0 };
        bytes.extend((length | mark).to_le_bytes());
        bytes.extend(crc32fast::hash(record).to_le_bytes());
        bytes.extend(record);
    }
    Ok(bytes)
}

/// The whole records up to the first that is not, and the bytes that they take.
fn whole_records(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let (mut records, mut at) = (Vec::new(), 0);
    while let Some((record, _)) = whole_record(bytes, at) {
        records.push(record.to_vec());
        at += 8 + record.len();
    }
    (records, at as u64)
}

/// The record that begins there, if it is whole, and whether an append begins with it. None is empty: zeros are what is
/// left of one that was not written.
fn whole_record(bytes: &[u8], at: usize) -> Option<(&[u8], bool)> {
    let head = bytes.get(at..at + 8)?;
    let word = |from: usize| u32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
    let (length, checksum) = (word(0) & !FIRST, word(4));
    let record = bytes.get(at + 8..at + 8 + length as usize).filter(|_| (1..LONGEST_RECORD).contains(&length))?;
    (crc32fast::hash(record) == checksum).then_some((record, word(0) & FIRST != 0))
}

/// Where a later append begins, if what is at `broken` is not of the last one.
fn begins_after(bytes: &[u8], broken: u64) -> Option<usize> {
    let from = usize::try_from(broken).ok()?;
    // The mark is looked at first: few bytes have it, and a checksum is long to compute.
    let marked = |at: &usize| bytes.get(at + 3).is_some_and(|byte| byte & 0x80 != 0);
    (from..bytes.len()).filter(marked).find(|&at| whole_record(bytes, at).is_some())
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

fn unframe(bytes: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>), String> {
    if bytes.len() < HEAD + 4 || bytes[..8] != MAGIC {
        return Err(format!("{} bytes that are no file of a world", bytes.len()));
    }
    let word = |from: usize| u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
    if word(8) != VERSION {
        return Err(format!("version {}; expected {VERSION}", word(8)));
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
    Ok((first, second))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open(place: &str) -> io::Result<Store> {
        Store::open(place, &S3::default(), 0)
    }

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let stores = [open(&folder.path().display().to_string()), open(MEMORY)];
        (folder, stores.map(Result::unwrap))
    }

    #[test]
    fn what_is_written_reads_back() {
        let (_folder, stores) = stores();
        for store in stores {
            store.create("w1", b"facts", b"scene").unwrap();
            assert_eq!(store.read("w1", WORLD).unwrap(), (b"facts".to_vec(), b"scene".to_vec()));
            store.write("w1", &checkpoint_name(3), b"one", b"two").unwrap();
            store.append("w1", 3, &[b"a".to_vec(), b"bc".to_vec()]).unwrap();
            store.append("w1", 3, &[b"d".to_vec()]).unwrap();
            store.sync("w1", 3).unwrap();
            assert_eq!(store.records("w1", 3).unwrap(), [b"a".to_vec(), b"bc".to_vec(), b"d".to_vec()]);
            store.take_back("w1", 3, &[b"d".to_vec()]);
            let listing = store.list("w1").unwrap();
            assert_eq!((listing.checkpoints, listing.logs), (vec![3], vec![3]));
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
        store.append("w1", 1, &[b"first".to_vec(), b"second".to_vec()]).unwrap();
        let place = folder.path().join("worlds/w1/log-00000001");
        let whole = fs::read(&place).unwrap();
        drop(store);
        for length in 0..whole.len() {
            fs::write(&place, &whole[..length]).unwrap();
            let store = open(&folder.path().display().to_string()).unwrap();
            let expected = usize::from(length >= 13);
            assert_eq!(store.records("w1", 1).unwrap().len(), expected, "{length} bytes");
            // The next one takes the place of the torn one.
            store.append("w1", 1, &[b"third".to_vec()]).unwrap();
            assert_eq!(store.records("w1", 1).unwrap().last().unwrap(), b"third");
        }
    }

    #[test]
    fn a_log_that_is_damaged_says_so() {
        let (folder, [store, _]) = stores();
        store.create("w1", b"", b"").unwrap();
        for text in [&b"first"[..], b"second", b"third"] {
            store.append("w1", 1, &[text.to_vec(), b"and more".to_vec()]).unwrap();
        }
        let place = folder.path().join("worlds/w1/log-00000001");
        let whole = fs::read(&place).unwrap();
        let last = whole.len() - (16 + 5 + 8);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&place, &bytes).unwrap();
            match store.records("w1", 1) {
                // Of the last append nobody was told, perhaps.
                Ok(records) => assert!(at >= last && (4..6).contains(&records.len()), "byte {at}: {records:?}"),
                Err(error) => {
                    assert!(at < last && error.kind() == io::ErrorKind::InvalidData, "byte {at}: {error}");
                }
            }
        }
        // Room that was made and not written.
        fs::write(&place, [&whole[..], &[0; 4096]].concat()).unwrap();
        assert_eq!(store.records("w1", 1).unwrap().len(), 6);
    }

    #[test]
    fn a_full_store_says_so_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().display().to_string(), &S3::default(), 200).unwrap();
        store.create("w1", b"facts", b"scene").unwrap();
        let used = store.used();
        for error in [
            store.append("w1", 1, &[vec![0; 200]]).unwrap_err(),
            store.write("w1", "saved-a", &[0; 200], b"").unwrap_err(),
            store.create("w2", &[0; 200], b"").unwrap_err(),
        ] {
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!((store.used(), store.worlds().unwrap().len()), (used, 1));
        store.append("w1", 1, &[vec![0; 20]]).unwrap();
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
