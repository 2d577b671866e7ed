//! Interface of the places where a store can be (folder, bucket, memory), and their failures.

use std::fmt;
use std::io;

use super::{Beginning, Closing, FencedCallback, WriteCallback};

/// Operations of a folder, a bucket or memory. Ids and names have been checked.
pub(super) trait StoreBackend: fmt::Debug + Send + Sync {
    /// Returns the ids of the worlds, in any order.
    fn worlds(&self) -> io::Result<Vec<String>>;

    /// Returns the names of a world's files, including logs, in any order.
    fn names(&self, id: &str) -> io::Result<Vec<String>>;

    /// Creates a world with its file [`WORLD`](super::WORLD), and its first log unless remote: completely or not at
    /// all.
    fn create(&self, id: &str, bytes: Vec<u8>, log: Vec<u8>) -> io::Result<()>;

    /// Writes a file, completely or not at all. Returns the bytes of the replaced file.
    fn write(&self, id: &str, name: &str, bytes: Vec<u8>) -> io::Result<u64>;

    /// Reads a complete file or log.
    fn read(&self, id: &str, name: &str) -> io::Result<Vec<u8>>;

    /// Creates a log, durable with its name, and closes the previous one. Returns false, and does nothing, if the
    /// log has begun already.
    fn begin(&self, id: &str, beginning: &Beginning) -> io::Result<bool>;

    /// Writes bytes at the end `at` of a log, all of them or none.
    fn append(&self, id: &str, log: u64, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until the appended bytes are durable.
    fn sync(&self, _id: &str, _log: u64) -> io::Result<()> {
        Ok(())
    }

    /// Makes the names of a world's files durable.
    fn sync_names(&self, _id: &str) -> io::Result<()> {
        Ok(())
    }

    /// Makes the readable files of a world durable before it is opened; `newest` is its newest log.
    fn settle(&self, _id: &str, _newest: Option<u64>) -> io::Result<()> {
        Ok(())
    }

    /// Closes a log whose successor was begun just before the service ended.
    fn seal(&self, _id: &str, _closing: &Closing) -> io::Result<()> {
        Ok(())
    }

    /// Closes the file of a log that is complete.
    fn close_log(&self, _id: &str, _log: u64) {}

    /// Removes a file or a log, if it exists. Returns its bytes.
    fn remove(&self, id: &str, name: &str) -> io::Result<u64>;

    /// Removes a world, completely or not at all. Returns its bytes.
    fn delete(&self, id: &str) -> io::Result<u64>;

    /// Writes a note about a world that is being deleted, completely or not at all.
    fn write_note(&self, id: &str, bytes: Vec<u8>) -> io::Result<()>;

    /// Reads the note about a deleted world.
    fn note(&self, id: &str) -> io::Result<Vec<u8>>;

    /// Returns the ids of the worlds with a note.
    fn notes(&self) -> io::Result<Vec<String>>;

    /// Removes a note, if it exists.
    fn remove_note(&self, id: &str) -> io::Result<()>;

    /// Returns true for a place behind a network, whose slow operations run on other threads.
    fn is_remote(&self) -> bool {
        false
    }

    /// Registers a callback for another service that has taken the place over.
    fn when_taken(&self, _tell: FencedCallback) {}

    /// Releases the place for the next service.
    fn leave(&self) {}

    /// Claims a world and reads ahead the files for opening it.
    fn take(&self, _id: &str, done: WriteCallback) {
        done(Ok(()));
    }

    /// Appends and syncs on another thread. A log begins with its first append.
    fn append_later(&self, id: &str, log: u64, bytes: Vec<u8>, done: WriteCallback);
}

/// Failure of a remote store or of a disk. Wrapped in an [`io::Error`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum Trouble {
    /// The store cannot be reached. Nothing was written.
    #[error("{0}")]
    Away(String),
    /// It is unknown whether the data was written. [`Store::take`](super::Store::take) and
    /// [`Store::settle`](super::Store::settle) find out.
    #[error("{0}; it is not known yet whether the data was written")]
    InDoubt(String),
    /// Another service has claimed the world.
    #[error("{0}")]
    Taken(String),
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        Self::other(trouble)
    }
}

impl Trouble {
    /// Returns the failure wrapped in an error.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
