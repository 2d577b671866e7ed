//! Worlds that are forgotten at the end.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Place, WORLD, log_name};

/// Files by world and name.
type Files = BTreeMap<(String, String), Vec<u8>>;

/// The memory of this process.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Files>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place for Memory {
    fn worlds(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().keys().filter(|(_, name)| name == WORLD).map(|(id, _)| id.clone()).collect())
    }

    fn names(&self, id: &str) -> io::Result<Vec<String>> {
        Ok(self.lock().keys().filter(|(world, _)| world == id).map(|(_, name)| name.clone()).collect())
    }

    fn create(&self, id: &str, bytes: Vec<u8>) -> io::Result<()> {
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

    fn append(&self, id: &str, log: u64, bytes: Vec<u8>) -> io::Result<()> {
        self.lock().entry((id.to_owned(), log_name(log))).or_default().extend(bytes);
        Ok(())
    }

    fn remove(&self, id: &str, name: &str) -> io::Result<u64> {
        let old = self.lock().remove(&(id.to_owned(), name.to_owned()));
        Ok(old.map_or(0, |old| old.len() as u64))
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
