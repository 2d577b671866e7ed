//! Store in memory, whose worlds end with the process.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Beginning, StoreBackend, WORLD, WriteCallback, log_name};

/// Pseudo id of a world under which notes about deleted worlds are stored. No id is empty.
const NOTES: &str = "";

/// Files by world and name.
type Files = BTreeMap<(String, String), Vec<u8>>;

/// Store in the memory of this process.
#[derive(Debug, Default)]
pub(super) struct MemoryStore(Mutex<Files>);

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreBackend for MemoryStore {
    fn worlds(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().keys().filter(|(id, name)| name == WORLD && id != NOTES).map(|(id, _)| id.clone()).collect())
    }

    fn names(&self, id: &str) -> io::Result<Vec<String>> {
        Ok(self.lock().keys().filter(|(world, _)| world == id).map(|(_, name)| name.clone()).collect())
    }

    fn create(&self, id: &str, bytes: Vec<u8>, log: Vec<u8>) -> io::Result<()> {
        self.write(id, &log_name(0), log)?;
        self.write(id, WORLD, bytes).map(|_| ())
    }

    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64> {
        let old = self.lock().insert((id.to_owned(), name.to_owned()), bytes);
        Ok(old.map_or(0, |old| old.len() as u64))
    }

    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>> {
        let found = self.lock().get(&(id.to_owned(), name.to_owned())).cloned();
        found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn begin(&self, id: &str, beginning: &Beginning) -> io::Result<bool> {
        let mut files = self.lock();
        let key = |log: u64| (id.to_owned(), log_name(log));
        if files.contains_key(&key(beginning.log)) {
            return Ok(false);
        }
        files.insert(key(beginning.log), beginning.bytes.clone());
        if let Some(closing) = &beginning.close
            && let Some(log) = files.get_mut(&key(closing.log))
        {
            log.truncate(usize::try_from(closing.at).unwrap_or(usize::MAX));
            log.extend(&closing.row);
        }
        Ok(true)
    }

    fn append(&self, id: &str, log: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.lock();
        let file = files.entry((id.to_owned(), log_name(log))).or_default();
        file.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        file.extend(bytes);
        Ok(())
    }

    fn append_later(&self, id: &str, log: u64, bytes: Vec<u8>, done: WriteCallback) {
        self.lock().entry((id.to_owned(), log_name(log))).or_default().extend(bytes);
        done(Ok(()));
    }

    fn remove(&self, id: &str, name: &str) -> io::Result<u64> {
        let old = self.lock().remove(&(id.to_owned(), name.to_owned()));
        Ok(old.map_or(0, |old| old.len() as u64))
    }

    fn write_note(&self, id: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.write(NOTES, id, bytes).map(drop)
    }

    fn note(&self, id: &str) -> io::Result<Vec<u8>> {
        self.read(NOTES, id)
    }

    fn notes(&self) -> io::Result<Vec<String>> {
        self.names(NOTES)
    }

    fn remove_note(&self, id: &str) -> io::Result<()> {
        self.remove(NOTES, id).map(drop)
    }

    fn delete(&self, id: &str) -> io::Result<u64> {
        let mut gone = 0;
        self.lock().retain(|(world, _), bytes| {
            if world == id {
                gone += bytes.len() as u64;
            }
            world != id
        });
        Ok(gone)
    }
}
