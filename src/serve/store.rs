//! Where worlds are kept: a folder of atomic, checksummed, versioned files, or memory.
//!
//! ```text
//! STORE/lock                          held while a service uses it
//! STORE/worlds/ID/world               name, time, limits; then the scene, as JSON
//! STORE/worlds/ID/checkpoint-00000007 what a session remembers as JSON; then the snapshot
//! STORE/worlds/ID/log-00000007        what was asked since, a record a change of state
//! STORE/worlds/ID/saved-NAME          a checkpoint with a name
//! ```
//!
//! All but logs are written beside their place, synced and renamed, and the folder synced: they are there as a whole or
//! not at all. A file is `DRYWORLD`, u32 version, u32 length of the first part, the first part, the second, a CRC-32 of
//! all that (little-endian). A log is a row of u32 length, u32 CRC-32, JSON; it is read up to the first record that is
//! not whole, which is one that nobody was told of.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Of all files.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"DRYWORLD";
const HEAD: usize = 16;
/// A record that claims to be longer is none.
const LONGEST_RECORD: u32 = 1 << 30;
/// Makes a store that is never on disk.
const MEMORY: &str = "memory";

/// Where worlds are kept.
#[derive(Debug)]
pub struct Store {
    place: Place,
    /// 0: no limit.
    quota: u64,
    used: AtomicU64,
}

#[derive(Debug)]
enum Place {
    Folder {
        root: PathBuf,
        // Unlocked when the store is dropped, or the process ends in whatever way.
        _lock: File,
        /// Open logs, and how long each is as far as it is whole.
        logs: Mutex<HashMap<(String, u64), (File, u64)>>,
    },
    Memory(Mutex<BTreeMap<(String, String), Vec<u8>>>),
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

/// The file of a world's scene.
pub const WORLD: &str = "world";

fn full(quota: u64) -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, format!("the store may hold {quota} bytes (limits.store_bytes)"))
}

impl Store {
    /// Opens a folder, and makes it if it is not there; or `memory`. A quota of 0 is none.
    ///
    /// # Errors
    /// If it cannot be made or another service uses it.
    pub fn open(place: &str, quota: u64) -> io::Result<Self> {
        if place == MEMORY {
            return Ok(Self { place: Place::Memory(Mutex::default()), quota, used: AtomicU64::new(0) });
        }
        let root = PathBuf::from(place);
        fs::create_dir_all(root.join("worlds"))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(root.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::other("another service uses it"),
            fs::TryLockError::Error(error) => error,
        })?;
        let mut used = 0;
        for world in fs::read_dir(root.join("worlds"))? {
            let world = world?;
            let name = world.file_name();
            if name.to_string_lossy().starts_with('.') {
                // Half made or half deleted when a service ended.
                let _ = fs::remove_dir_all(world.path());
                continue;
            }
            for file in fs::read_dir(world.path())? {
                let file = file?;
                if file.file_name().to_string_lossy().starts_with('.') {
                    let _ = fs::remove_file(file.path());
                } else {
                    used += file.metadata()?.len();
                }
            }
        }
        let place = Place::Folder { root, _lock: lock, logs: Mutex::default() };
        Ok(Self { place, quota, used: AtomicU64::new(used) })
    }

    /// Bytes in it.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let fits = |used: u64| {
            let sum = used.saturating_add(bytes);
            (self.quota == 0 || sum <= self.quota).then_some(sum)
        };
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(full(self.quota)),
        }
    }

    fn release(&self, bytes: u64) {
        // Never below 0, should somebody have changed files by hand.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_sub(bytes)));
    }

    /// Ids of the worlds, in their order.
    ///
    /// # Errors
    /// The file system's.
    pub fn worlds(&self) -> io::Result<Vec<String>> {
        let mut ids = match &self.place {
            Place::Folder { root, .. } => {
                let mut ids = Vec::new();
                for entry in fs::read_dir(root.join("worlds"))? {
                    let name = entry?.file_name().to_string_lossy().into_owned();
                    if is_id(&name) {
                        ids.push(name);
                    }
                }
                ids
            }
            Place::Memory(files) => {
                let files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.keys().filter(|(_, name)| name == WORLD).map(|(id, _)| id.clone()).collect()
            }
        };
        ids.sort();
        Ok(ids)
    }

    /// What there is of a world.
    ///
    /// # Errors
    /// The file system's.
    pub fn list(&self, id: &str) -> io::Result<Listing> {
        let names: Vec<String> = match &self.place {
            Place::Folder { root, .. } => {
                let mut names = Vec::new();
                for entry in fs::read_dir(folder(root, id)?)? {
                    names.push(entry?.file_name().to_string_lossy().into_owned());
                }
                names
            }
            Place::Memory(files) => {
                let files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.keys().filter(|(world, _)| world == id).map(|(_, name)| name.clone()).collect()
            }
        };
        let mut listing = Listing::default();
        for name in names {
            if let Some(number) = name.strip_prefix("checkpoint-").and_then(|n| n.parse().ok()) {
                listing.checkpoints.push(number);
            } else if let Some(number) = name.strip_prefix("log-").and_then(|n| n.parse().ok()) {
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
    /// The file system's, or beyond the quota.
    pub fn create(&self, id: &str, facts: &[u8], scene: &[u8]) -> io::Result<()> {
        let bytes = frame(facts, scene)?;
        self.reserve(bytes.len() as u64)?;
        let made = match &self.place {
            Place::Folder { root, .. } => (|| {
                let (place, temporary) = (folder(root, id)?, root.join("worlds").join(format!(".new-{id}")));
                fs::create_dir(&temporary)?;
                let written = write_synced(&temporary.join(WORLD), &bytes)
                    .and_then(|()| sync_folder(&temporary))
                    .and_then(|()| fs::rename(&temporary, &place));
                if let Err(error) = written {
                    let _ = fs::remove_dir_all(&temporary);
                    return Err(error);
                }
                sync_folder(&root.join("worlds"))
            })(),
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.insert((id.to_owned(), WORLD.to_owned()), bytes.clone());
                Ok(())
            }
        };
        if made.is_err() {
            self.release(bytes.len() as u64);
        }
        made
    }

    /// Writes a file of two parts: as a whole or not at all.
    ///
    /// # Errors
    /// The file system's, or beyond the quota.
    pub fn write(&self, id: &str, name: &str, first: &[u8], second: &[u8]) -> io::Result<()> {
        let bytes = frame(first, second)?;
        let length = bytes.len() as u64;
        self.reserve(length)?;
        let mut replaced = 0;
        let written = match &self.place {
            Place::Folder { root, .. } => (|| {
                let folder = folder(root, id)?;
                let (place, temporary) = (folder.join(name), folder.join(format!(".{name}.tmp")));
                replaced = fs::metadata(&place).map_or(0, |metadata| metadata.len());
                let written = write_synced(&temporary, &bytes).and_then(|()| fs::rename(&temporary, &place));
                if let Err(error) = written {
                    let _ = fs::remove_file(&temporary);
                    return Err(error);
                }
                sync_folder(&folder)
            })(),
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                let old = files.insert((id.to_owned(), name.to_owned()), bytes);
                replaced = old.map_or(0, |old| old.len() as u64);
                Ok(())
            }
        };
        self.release(if written.is_ok() { replaced } else { length });
        written
    }

    /// Reads a file of two parts.
    ///
    /// # Errors
    /// The file system's; `InvalidData` if it is damaged.
    pub fn read(&self, id: &str, name: &str) -> io::Result<(Vec<u8>, Vec<u8>)> {
        unframe(self.bytes(id, name)?)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: {problem}")))
    }

    fn bytes(&self, id: &str, name: &str) -> io::Result<Vec<u8>> {
        match &self.place {
            Place::Folder { root, .. } => {
                let mut bytes = Vec::new();
                File::open(folder(root, id)?.join(name))?.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            Place::Memory(files) => {
                let files = files.lock().unwrap_or_else(PoisonError::into_inner);
                let found = files.get(&(id.to_owned(), name.to_owned()));
                found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            }
        }
    }

    /// Puts records behind those of a log, as a whole or not at all; they are durable after [`Self::sync`].
    ///
    /// # Errors
    /// The file system's, or beyond the quota.
    pub fn append(&self, id: &str, log: u64, records: &[Vec<u8>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for record in records {
            let length = u32::try_from(record.len()).ok().filter(|length| *length < LONGEST_RECORD);
            let length = length.ok_or_else(|| io::Error::other("a record is longer than a log takes"))?;
            bytes.extend(length.to_le_bytes());
            bytes.extend(crc32fast::hash(record).to_le_bytes());
            bytes.extend(record);
        }
        let length = bytes.len() as u64;
        self.reserve(length)?;
        let appended = match &self.place {
            Place::Folder { root, logs, .. } => {
                let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
                append_to(root, &mut logs, id, log, &bytes)
            }
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.entry((id.to_owned(), log_name(log))).or_default().extend(&bytes);
                Ok(())
            }
        };
        if appended.is_err() {
            self.release(length);
        }
        appended
    }

    /// Waits until what was appended is on the disk. If that fails, what of it is there is not known: the log takes no
    /// more.
    ///
    /// # Errors
    /// The file system's.
    pub fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        let Place::Folder { logs, .. } = &self.place else { return Ok(()) };
        let file = {
            let logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((file, _)) = logs.get(&(id.to_owned(), log)) else { return Ok(()) };
            file.try_clone()?
        };
        file.sync_data()
    }

    /// Takes what was appended last away again, as far as that can be.
    pub fn take_back(&self, id: &str, log: u64, records: &[Vec<u8>]) {
        let bytes: u64 = records.iter().map(|record| record.len() as u64 + 8).sum();
        if let Place::Folder { logs, .. } = &self.place {
            let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((file, length)) = logs.get_mut(&(id.to_owned(), log)) {
                *length = length.saturating_sub(bytes);
                let _ = file.set_len(*length);
            }
        }
        self.release(bytes);
    }

    /// The records of a log, as far as they are whole. None if there is no log.
    ///
    /// # Errors
    /// The file system's.
    pub fn records(&self, id: &str, log: u64) -> io::Result<Vec<Vec<u8>>> {
        match self.bytes(id, &log_name(log)) {
            Ok(bytes) => Ok(whole_records(&bytes).0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// No more of a log is written.
    pub fn close_log(&self, id: &str, log: u64) {
        if let Place::Folder { logs, .. } = &self.place {
            logs.lock().unwrap_or_else(PoisonError::into_inner).remove(&(id.to_owned(), log));
        }
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(&self, id: &str, name: &str) -> io::Result<()> {
        match &self.place {
            Place::Folder { root, .. } => {
                let place = folder(root, id)?.join(name);
                let length = fs::metadata(&place).map_or(0, |metadata| metadata.len());
                match fs::remove_file(&place) {
                    Ok(()) => self.release(length),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(old) = files.remove(&(id.to_owned(), name.to_owned())) {
                    self.release(old.len() as u64);
                }
                Ok(())
            }
        }
    }

    /// Removes a world and all that is kept of it: as a whole or not at all.
    ///
    /// # Errors
    /// The file system's.
    pub fn delete(&self, id: &str) -> io::Result<()> {
        match &self.place {
            Place::Folder { root, logs, .. } => {
                logs.lock().unwrap_or_else(PoisonError::into_inner).retain(|(world, _), _| world != id);
                let (place, gone) = (folder(root, id)?, root.join("worlds").join(format!(".gone-{id}")));
                let mut bytes = 0;
                for entry in fs::read_dir(&place)? {
                    bytes += entry?.metadata()?.len();
                }
                fs::rename(&place, &gone)?;
                sync_folder(&root.join("worlds"))?;
                self.release(bytes);
                // What is left over is removed when the store is next opened.
                let _ = fs::remove_dir_all(&gone);
                Ok(())
            }
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.retain(|(world, _), bytes| {
                    if world == id {
                        self.release(bytes.len() as u64);
                    }
                    world != id
                });
                Ok(())
            }
        }
    }
}

/// Only such names ever become part of a path.
#[must_use]
pub fn is_id(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn folder(root: &Path, id: &str) -> io::Result<PathBuf> {
    if is_id(id) {
        Ok(root.join("worlds").join(id))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no id of a world"))
    }
}

fn write_synced(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and need not be.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn append_to(
    root: &Path,
    logs: &mut HashMap<(String, u64), (File, u64)>,
    id: &str,
    log: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let key = (id.to_owned(), log);
    if !logs.contains_key(&key) {
        let folder = folder(root, id)?;
        let place = folder.join(log_name(log));
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(place)?;
        let mut old = Vec::new();
        file.read_to_end(&mut old)?;
        // What is not whole was never told of.
        let whole = whole_records(&old).1;
        file.set_len(whole)?;
        sync_folder(&folder)?;
        logs.insert(key.clone(), (file, whole));
    }
    let Some((file, length)) = logs.get_mut(&key) else { return Err(io::Error::other("the log is gone")) };
    // Also after a write that failed half way.
    file.set_len(*length)?;
    file.seek(SeekFrom::Start(*length))?;
    if let Err(error) = file.write_all(bytes) {
        let _ = file.set_len(*length);
        return Err(error);
    }
    *length += bytes.len() as u64;
    Ok(())
}

/// The whole records, and the bytes that they take.
fn whole_records(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let (mut records, mut at) = (Vec::new(), 0);
    while let Some(head) = bytes.get(at..at + 8) {
        let word = |from: usize| u32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
        let (length, checksum) = (word(0), word(4));
        let Some(record) = bytes.get(at + 8..at + 8 + length as usize).filter(|_| length < LONGEST_RECORD) else {
            break;
        };
        if crc32fast::hash(record) != checksum {
            break;
        }
        records.push(record.to_vec());
        at += 8 + length as usize;
    }
    (records, at as u64)
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
    use super::*;

    fn stores() -> (tempfile::TempDir, [Store; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let stores = [Store::open(&folder.path().display().to_string(), 0), Store::open(MEMORY, 0)];
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
            let store = Store::open(&folder.path().display().to_string(), 0).unwrap();
            let expected = usize::from(length >= 13);
            assert_eq!(store.records("w1", 1).unwrap().len(), expected, "{length} bytes");
            // The next one takes the place of the torn one.
            store.append("w1", 1, &[b"third".to_vec()]).unwrap();
            assert_eq!(store.records("w1", 1).unwrap().last().unwrap(), b"third");
        }
    }

    #[test]
    fn a_full_store_says_so_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().display().to_string(), 200).unwrap();
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
        assert!(Store::open(&place, 0).is_err());
        for id in ["", "..", "a/b", "A", "a.b", ".new"] {
            assert!(!is_id(id) && store.create(id, b"", b"").is_err() && store.list(id).is_err(), "{id}");
        }
        drop(store);
        assert!(Store::open(&place, 0).is_ok());
    }
}
