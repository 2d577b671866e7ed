//! Store in a local folder. Data and file names are synced before they are acknowledged.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Beginning, Closing, StoreBackend, Trouble, WORLD, WriteCallback, log, log_name};
use crate::lock;

/// Logs by world and number. Each has its own lock, so that a slow disk delays only writers of the same log.
type Logs = HashMap<(String, u64), Arc<Mutex<LogFile>>>;

/// Log that is being written.
#[derive(Debug, Default)]
struct LogFile {
    /// None before the first write.
    file: Option<File>,
    length: u64,
    /// Number of durable bytes.
    synced: u64,
    /// Set if the content beyond `synced` is unknown. Nothing is written until [`Folder::settle`].
    in_doubt: bool,
}

/// Store in a folder, locked by this process.
#[derive(Debug)]
pub(super) struct Folder {
    worlds: PathBuf,
    /// Folder of the notes about deleted worlds.
    deleted: PathBuf,
    // Released when the store is dropped or the process ends in any way.
    _lock: File,
    logs: Mutex<Logs>,
}

fn in_doubt(what: &str, error: &io::Error) -> io::Error {
    Trouble::InDoubt(format!("{what}: {error}")).into()
}

impl LogFile {
    /// Opens an existing log.
    fn open(&mut self, place: &Path) -> io::Result<()> {
        if self.in_doubt {
            return Err(Trouble::InDoubt(format!("{}: an earlier write failed", place.display())).into());
        }
        if self.file.is_none() {
            let file = OpenOptions::new().read(true).write(true).open(place)?;
            // It was synced when the world was opened.
            self.length = file.metadata()?.len();
            self.synced = self.length;
            self.file = Some(file);
        }
        Ok(())
    }

    /// Writes bytes at position `at`, which becomes the end of the previous content: all of them or none.
    fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::Error::other("the log is not open")) };
        if self.length < at {
            let detail = format!("the log has {} bytes, and had {at}", self.length);
            return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
        }
        // Left over from a torn append.
        if self.length > at {
            file.set_len(at)?;
            self.length = at;
            self.synced = self.synced.min(at);
        }
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        if let Err(error) = written {
            // Part of the bytes may be there, and may be read after a power failure, unless the truncation is
            // durable.
            if let Err(worse) = file.set_len(at).and_then(|()| file.sync_all()) {
                self.in_doubt = true;
                return Err(in_doubt(&error.to_string(), &worse));
            }
            self.synced = at;
            return Err(error);
        }
        self.length = at + bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if self.in_doubt {
            return Err(Trouble::InDoubt("an earlier write of the log failed".to_owned()).into());
        }
        if let Err(error) = file.sync_data() {
            self.in_doubt = true;
            return Err(in_doubt("the disk did not sync the log", &error));
        }
        self.synced = self.length;
        Ok(())
    }
}

impl Folder {
    /// Opens the folder. Also returns the bytes in it.
    pub fn open(place: &str) -> io::Result<(Self, u64)> {
        let root = PathBuf::from(place);
        let worlds = root.join("worlds");
        create_folders(&worlds)?;
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
                // Half created or half deleted when a service ended.
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
        // A service that was killed may have created all this without syncing it.
        sync_folder(&worlds)?;
        sync_folder(&root)?;
        match sync_folder(root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))) {
            // Created by another user, for this service.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
        Ok((Self { worlds, deleted: root.join("deleted"), _lock: lock, logs: Mutex::default() }, used))
    }

    fn log(&self, id: &str, log: u64) -> Arc<Mutex<LogFile>> {
        lock(&self.logs).entry((id.to_owned(), log)).or_default().clone()
    }

    fn path(&self, id: &str, log: u64) -> PathBuf {
        self.worlds.join(id).join(log_name(log))
    }

    /// Appends the closing row of a log and syncs it.
    fn close(&self, id: &str, closing: &Closing) -> io::Result<()> {
        {
            let log = self.log(id, closing.log);
            let mut log = lock(&log);
            log.open(&self.path(id, closing.log))?;
            log.put(closing.at, &closing.row)?;
            log.sync()?;
        }
        self.close_log(id, closing.log);
        Ok(())
    }

    /// Copies the readable part of a log in doubt to a new file and replaces the log by it: the old file's content
    /// on the disk cannot be known.
    fn rewrite(&self, id: &str, number: u64, log: &mut LogFile) -> io::Result<()> {
        let (folder, name) = (self.worlds.join(id), log_name(number));
        let damaged =
            |detail: String| io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: {detail}"));
        let bytes = match fs::read(folder.join(&name)) {
            Ok(bytes) => bytes,
            // The rename that would have created the log failed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && log.synced == 0 => {
                *log = LogFile::default();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let whole = log::read(id, number, &bytes).map_err(damaged)?;
        if whole.tail.bytes < log.synced {
            return Err(damaged(format!("{} of {} bytes can be read", whole.tail.bytes, log.synced)));
        }
        let temporary = folder.join(format!(".{name}.tmp"));
        write_synced(&temporary, &bytes)?;
        fs::rename(&temporary, folder.join(&name))?;
        sync_folder(&folder)?;
        *log = LogFile::default();
        Ok(())
    }
}

impl StoreBackend for Folder {
    fn worlds(&self) -> io::Result<Vec<String>> {
        names(&self.worlds)
    }

    fn names(&self, id: &str) -> io::Result<Vec<String>> {
        names(&self.worlds.join(id))
    }

    fn create(&self, id: &str, bytes: Vec<u8>, log: Vec<u8>) -> io::Result<()> {
        let (place, temporary) = (self.worlds.join(id), self.worlds.join(format!(".new-{id}")));
        fs::create_dir(&temporary)?;
        let written = write_synced(&temporary.join(WORLD), &bytes)
            .and_then(|()| write_synced(&temporary.join(log_name(0)), &log))
            .and_then(|()| sync_folder(&temporary))
            .and_then(|()| fs::rename(&temporary, &place));
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&temporary);
            return Err(error);
        }
        sync_folder(&self.worlds).map_err(|error| in_doubt("the disk did not sync the folder of worlds", &error))
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
        sync_folder(&folder).map_err(|error| in_doubt("the disk did not sync the folder of the world", &error))?;
        Ok(replaced)
    }

    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.worlds.join(id).join(name))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn begin(&self, id: &str, beginning: &Beginning) -> io::Result<bool> {
        let log = self.log(id, beginning.log);
        let mut log = lock(&log);
        let (folder, name) = (self.worlds.join(id), log_name(beginning.log));
        let place = folder.join(&name);
        if log.in_doubt {
            log.open(&place)?;
        }
        if log.file.is_some() {
            return Ok(false);
        }
        if place.exists() {
            return Err(io::Error::other(format!("{name} of world {id} is there already")));
        }
        let temporary = folder.join(format!(".{name}.tmp"));
        let made = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&temporary);
        let written = made.and_then(|mut file| {
            file.write_all(&beginning.bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &place)?;
            Ok(file)
        });
        let file = match written {
            Ok(file) => file,
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
        };
        let length = beginning.bytes.len() as u64;
        *log = LogFile { file: Some(file), length, synced: 0, in_doubt: false };
        // From here on the log may exist, and would then be the newest.
        if let Err(error) = sync_folder(&folder) {
            log.in_doubt = true;
            return Err(in_doubt("the disk did not sync the folder of the world", &error));
        }
        log.synced = length;
        if let Some(closing) = &beginning.close
            && let Err(error) = self.close(id, closing)
        {
            log.in_doubt = true;
            return Err(in_doubt("the previous log could not be closed", &error));
        }
        Ok(true)
    }

    fn append(&self, id: &str, log: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.path(id, log);
        let log = self.log(id, log);
        let mut log = lock(&log);
        log.open(&place)?;
        log.put(at, bytes)
    }

    fn sync(&self, id: &str, log: u64) -> io::Result<()> {
        let log = self.log(id, log);
        lock(&log).sync()
    }

    fn sync_names(&self, id: &str) -> io::Result<()> {
        sync_folder(&self.worlds.join(id))
    }

    fn settle(&self, id: &str, newest: Option<u64>) -> io::Result<()> {
        let open: Vec<_> = {
            let logs = lock(&self.logs);
            logs.iter().filter(|((world, _), _)| world == id).map(|((_, number), log)| (*number, log.clone())).collect()
        };
        for (number, log) in open {
            let mut log = lock(&log);
            if log.in_doubt {
                self.rewrite(id, number, &mut log)?;
            }
        }
        if let Some(newest) = newest {
            let log = self.log(id, newest);
            let mut log = lock(&log);
            match File::open(self.path(id, newest)) {
                Ok(file) => {
                    if let Err(error) = file.sync_all() {
                        log.in_doubt = true;
                        return Err(in_doubt("the disk did not sync the log", &error));
                    }
                }
                // The reader reports the missing log.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        sync_folder(&self.worlds.join(id))
    }

    fn seal(&self, id: &str, closing: &Closing) -> io::Result<()> {
        self.close(id, closing)
    }

    fn close_log(&self, id: &str, log: u64) {
        lock(&self.logs).remove(&(id.to_owned(), log));
    }

    fn append_later(&self, _: &str, _: u64, _: Vec<u8>, done: WriteCallback) {
        done(Err(io::Error::new(io::ErrorKind::Unsupported, "a folder has threads of its own")));
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

    fn write_note(&self, id: &str, bytes: Vec<u8>) -> io::Result<()> {
        if !self.deleted.is_dir() {
            fs::create_dir_all(&self.deleted)?;
            sync_folder(self.deleted.parent().unwrap_or(&self.deleted))?;
        }
        let (place, temporary) = (self.deleted.join(id), self.deleted.join(format!(".{id}.tmp")));
        write_synced(&temporary, &bytes)?;
        fs::rename(&temporary, &place)?;
        sync_folder(&self.deleted)
    }

    fn note(&self, id: &str) -> io::Result<Vec<u8>> {
        fs::read(self.deleted.join(id))
    }

    fn notes(&self) -> io::Result<Vec<String>> {
        names(&self.deleted)
    }

    fn remove_note(&self, id: &str) -> io::Result<()> {
        match fs::remove_file(self.deleted.join(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn delete(&self, id: &str) -> io::Result<u64> {
        lock(&self.logs).retain(|(world, _), _| world != id);
        let (place, gone) = (self.worlds.join(id), self.worlds.join(format!(".gone-{id}")));
        let bytes_of = |folder: &Path| {
            fs::read_dir(folder)?.try_fold(0, |bytes, entry| Ok::<_, io::Error>(bytes + entry?.metadata()?.len()))
        };
        let bytes = match bytes_of(&place) {
            Ok(bytes) => {
                fs::rename(&place, &gone)?;
                bytes
            }
            // Renamed by an earlier attempt, which may not have been synced.
            Err(error) if error.kind() == io::ErrorKind::NotFound => bytes_of(&gone).unwrap_or(0),
            Err(error) => return Err(error),
        };
        sync_folder(&self.worlds).map_err(|error| in_doubt("the disk did not sync the folder of worlds", &error))?;
        // Remains are removed the next time the store is opened.
        let _ = fs::remove_dir_all(&gone);
        Ok(bytes)
    }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Creates a folder and its parents, durably.
fn create_folders(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        create_folders(above)?;
    }
    match fs::create_dir(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        Err(error) => return Err(error),
    }
    sync_folder(above.unwrap_or(Path::new(".")))
}

fn write_synced(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    // On other systems folders cannot be opened, and need not be.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_gone_once_its_folder_was_renamed() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _) = Folder::open(&root.path().display().to_string()).unwrap();
        // The state after a sync that failed.
        let gone = folder.worlds.join(".gone-w1");
        fs::create_dir(&gone).unwrap();
        fs::write(gone.join(WORLD), [0; 10]).unwrap();
        assert_eq!(folder.delete("w1").unwrap(), 10);
        assert!(!gone.exists());
        assert_eq!(folder.delete("w1").unwrap(), 0);
    }
}
