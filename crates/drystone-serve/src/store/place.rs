//! Differences between a folder, a bucket and memory, and the troubles that they have.

use std::fmt;
use std::io;

use super::{Beginning, Closing, Done, Taken};

/// Operations that differ between a folder, a bucket and memory. Ids and names are checked before.
pub(super) trait Place: fmt::Debug + Send + Sync {
    /// Ids of the worlds, in any order.
    fn worlds(&self) -> io::Result<Vec<String>>;

    /// Names of the files of a world, logs included, in any order.
    fn names(&self, id: &str) -> io::Result<Vec<String>>;

    /// Makes a world with its file [`WORLD`](super::WORLD), and where it is not remote its first log, as a whole or not at all.
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
    /// It is not known whether it was written. The world's [`Store::take`](super::Store::take) and [`Store::settle`](super::Store::settle) find out.
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
