//! A folder on a disk of this machine. What was acknowledged was synced before.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Place, WORLD, log_name, whole_records};

/// Open logs, and how long each is as far as it is whole.
type Logs = HashMap<(String, u64), (File, u64)>;

/// A folder, locked.
#[derive(Debug)]
pub(super) struct Folder {
    worlds: PathBuf,
    // Unlocked when the store is dropped, or the process ends in whatever way.
    _lock: File,
    logs: Mutex<Logs>,
}

impl Folder {
    /// The folder, and the bytes in it.
    pub fn open(place: &str) -> io::Result<(Self, u64)> {
        let root = PathBuf::from(place);
        let worlds = root.join("worlds");
        fs::create_dir_all(&worlds)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(root.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::other("another service uses it"),
            fs::TryLockError::Error(error) => error,
        })?;
        let mut used = 0;
        for world in fs::read_dir(&worlds)? {
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
        Ok((Self { worlds, _lock: lock, logs: Mutex::default() }, used))
    }

    fn logs(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place for Folder {
    fn worlds(&self) -> io::Result<Vec<String>> {
        names(&self.worlds)
    }

    fn names(&self, id: &str) -> io::Result<Vec<String>> {
        names(&self.worlds.join(id))
    }

    fn create(&self, id: &str, bytes: Vec<u8>) -> io::Result<()> {
        let (place, temporary) = (self.worlds.join(id), self.worlds.join(format!(".new-{id}")));
        fs::create_dir(&temporary)?;
        let written = write_synced(&temporary.join(WORLD), &bytes)
            .and_then(|()| sync_folder(&temporary))
            .and_then(|()| fs::rename(&temporary, &place));
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&temporary);
            return Err(error);
        }
        sync_folder(&self.worlds)
    }

    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64> {
        let folder = self.worlds.join(id);
        let (place, temporary) = (folder.join(name), folder.join(format!(".{name}.tmp")));
        let replaced = fs::metadata(&place).map_or(0, |metadata| metadata.len());
        let written = write_synced(&temporary, &bytes).and_then(|()| fs::rename(&temporary, &place));
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        sync_folder(&folder)?;
        Ok(replaced)
    }

    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.worlds.join(id).join(name))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&self, id: &str, log: u64, bytes: Vec<u8>) -> io::Result<()> {
        let mut logs = self.logs();
        let key = (id.to_owned(), log);
        if !logs.contains_key(&key) {
            let folder = self.worlds.join(id);
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
        if let Err(error) = file.write_all(&bytes) {
            let _ = file.set_len(*length);
            return Err(error);
        }
        *length += bytes.len() as u64;
        Ok(())
    }

    fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        let file = {
            let logs = self.logs();
            let Some((file, _)) = logs.get(&(id.to_owned(), log)) else { return Ok(()) };
            file.try_clone()?
        };
        file.sync_data()
    }

    fn take_back(&self, id: &str, log: u64, bytes: u64) {
        if let Some((file, length)) = self.logs().get_mut(&(id.to_owned(), log)) {
            *length = length.saturating_sub(bytes);
            let _ = file.set_len(*length);
        }
    }

    fn close_log(&self, id: &str, log: u64) {
        self.logs().remove(&(id.to_owned(), log));
    }

    fn remove(&self, id: &str, name: &str) -> io::Result<u64> {
        let place = self.worlds.join(id).join(name);
        let length = fs::metadata(&place).map_or(0, |metadata| metadata.len());
        match fs::remove_file(&place) {
            Ok(()) => Ok(length),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, id: &str) -> io::Result<u64> {
        self.logs().retain(|(world, _), _| world != id);
        let (place, gone) = (self.worlds.join(id), self.worlds.join(format!(".gone-{id}")));
        let mut bytes = 0;
        for entry in fs::read_dir(&place)? {
            bytes += entry?.metadata()?.len();
        }
        fs::rename(&place, &gone)?;
        sync_folder(&self.worlds)?;
        // What is left over is removed when the store is next opened.
        let _ = fs::remove_dir_all(&gone);
        Ok(bytes)
    }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
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
