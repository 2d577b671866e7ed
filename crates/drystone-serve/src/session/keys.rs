//! Answers to requests with an `Idempotency-Key`. Each is kept for at least [`KEPT`] seconds.
//!
//! The newest answers are in the memory of the session, and therefore in its checkpoints. When there are many, the
//! older ones go to a file `keys-NUMBER` of the world: first its index (key hashes and positions), then the answers.
//! The file is durable before the checkpoint that omits them is written. So each answer is in at least one of the
//! two at any time, and identical if in both. A session in memory holds the hashes of its files, 8 bytes per key; an
//! answer is read from its file on demand.
//!
//! Times are wall clock times. A file is removed when its newest answer is older than twice [`KEPT`]: a clock that
//! jumps forward by less than a day drops no key early. After a jump backward keys are kept longer; a time in the
//! future counts as now.

use std::collections::{HashMap, VecDeque};
use std::io;

use serde::{Deserialize, Serialize};

use super::Answer;
use crate::op::RequestKey;
use crate::problem::Problem;
use crate::store::{Store, Trouble, keys_name};
use crate::unix_seconds;
use drystone::low_level::hash::Fnv;

/// Minimum time for which an answer is kept, s.
pub const KEPT: u64 = 24 * 3600;
/// Age at which an answer is dropped, s.
const DROPPED: u64 = 2 * KEPT;
/// Number of answers in memory above which older ones go to a file.
const MAX_RECENT: usize = 4096;
/// Bytes of answers in memory above which older ones go to a file.
const MAX_RECENT_BYTES: usize = 4 << 20;
/// Bytes of answers in memory above which a checkpoint is due immediately.
const URGENT_BYTES: usize = 2 * MAX_RECENT_BYTES;
/// Number of answers that stay in memory.
const KEPT_RECENT: usize = 1024;
/// Bytes of an index entry: hash, offset, length.
const ENTRY: usize = 20;

/// Answer that was given to a request with a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// Key of the request.
    pub key: RequestKey,
    /// HTTP status.
    pub status: u16,
    /// Body, JSON or empty.
    pub body: String,
    /// Time of the answer, seconds since 1970.
    #[serde(default)]
    pub at: u64,
}

impl RecordedAnswer {
    /// Returns the answer as it is repeated.
    #[must_use]
    pub fn again(&self) -> Answer {
        let content_type = match self.status {
            _ if self.body.is_empty() => "",
            400.. => "application/problem+json",
            _ => "application/json",
        };
        Answer { status: self.status, content_type, body: self.body.clone().into_bytes(), again: true }
    }
}

fn hash(name: &str) -> u64 {
    Fnv::START.bytes(name.as_bytes()).0
}

/// File of answers.
#[derive(Debug)]
struct File {
    number: u64,
    /// Time of its newest answer.
    newest: u64,
    /// Hashes of its keys, ascending.
    hashes: Vec<u64>,
}

/// Index of a world's answers: those in memory, which are stored in a [`Recent`], and those in files.
#[derive(Debug, Default)]
pub struct AnswerIndex {
    /// Number of the newest answer with a hash, counted from the first answer ever in memory.
    places: HashMap<u64, u64>,
    /// Number of the first answer in memory.
    first: u64,
    /// Bytes of the answers in memory.
    bytes: usize,
    files: Vec<File>,
    next_file: u64,
}

/// Answers in memory, the oldest first.
pub type Recent = VecDeque<RecordedAnswer>;

/// Older answers that are being written to a file.
#[derive(Debug)]
pub struct Spill {
    /// Number of the file.
    pub file: u64,
    /// Number of answers at the front of those in memory that leave it.
    pub count: usize,
    /// Index and answers, or None if all of them were too old to keep.
    pub parts: Option<(Vec<u8>, Vec<u8>)>,
    newest: u64,
    hashes: Vec<u64>,
}

impl AnswerIndex {
    /// Opens the index of a world's answers.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(store: &Store, id: &str, files: &[u64], recent: &mut Recent) -> io::Result<Self> {
        let mut keys = Self { next_file: files.last().map_or(1, |last| last + 1), ..Self::default() };
        let now = unix_seconds();
        for answered in &mut *recent {
            if answered.at == 0 {
                // Answers of a release that did not record their time.
                answered.at = now;
            }
            keys.count(answered);
        }
        for (number, answered) in (0..).zip(&*recent) {
            keys.places.insert(hash(&answered.key.name), number);
        }
        for &number in files {
            let name = keys_name(number);
            let (index, _) = store.read(id, &name)?;
            let damaged =
                || io::Error::new(io::ErrorKind::InvalidData, format!("{name} of world {id}: no index of keys"));
            let (newest, entries) = read_index(&index).ok_or_else(damaged)?;
            let hashes = entries.map(|entry| entry.hash).collect();
            keys.files.push(File { number, newest: newest.min(now), hashes });
        }
        Ok(keys)
    }

    fn count(&mut self, answered: &RecordedAnswer) {
        self.bytes += answered.body.len() + answered.key.name.len();
    }

    /// Adds an answer.
    pub fn push(&mut self, recent: &mut Recent, answered: RecordedAnswer) {
        self.count(&answered);
        self.places.insert(hash(&answered.key.name), self.first + recent.len() as u64);
        recent.push_back(answered);
    }

    /// Returns the answer to a request, if it is in memory.
    #[must_use]
    pub fn find<'a>(&self, recent: &'a Recent, name: &str) -> Option<&'a RecordedAnswer> {
        let number = self.places.get(&hash(name))?;
        let found = recent.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        // A later key may have the same hash.
        if found.key.name == name { Some(found) } else { recent.iter().rev().find(|other| other.key.name == name) }
    }

    /// Returns the numbers of the files that may contain the answer to a request, the newest first.
    #[must_use]
    pub fn files_with(&self, name: &str) -> Vec<u64> {
        let hash = hash(name);
        let with = self.files.iter().rev().filter(|file| file.hashes.binary_search(&hash).is_ok());
        with.map(|file| file.number).collect()
    }

    /// Returns the number of answers kept, without those that are too old.
    #[must_use]
    pub fn len(&self, recent: &Recent, now: u64) -> usize {
        let files = self.files.iter().filter(|file| file.newest + DROPPED > now);
        let old = recent.iter().take_while(|answered| answered.at + DROPPED <= now).count();
        files.map(|file| file.hashes.len()).sum::<usize>() + recent.len() - old
    }

    /// Returns the seconds until the first answers are dropped.
    #[must_use]
    pub fn seconds_to_drop(&self, recent: &Recent, now: u64) -> u64 {
        let files = self.files.iter().map(|file| file.newest);
        let times = files.chain(recent.front().map(|answered| answered.at)).map(|at| at.min(now) + DROPPED);
        times.min().unwrap_or(now).saturating_sub(now).max(1)
    }

    /// Returns true if the answers in memory are so large that a checkpoint should move them to a file soon.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.bytes > URGENT_BYTES
    }

    /// Returns true if the answers in memory are larger than allowed because checkpoints fail.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes > 8 * URGENT_BYTES
    }

    /// Selects the answers that should leave memory, if there are many.
    #[must_use]
    pub fn spill(&self, recent: &Recent, now: u64) -> Option<Spill> {
        if recent.len() <= MAX_RECENT && self.bytes <= MAX_RECENT_BYTES {
            return None;
        }
        let (mut count, mut bytes) = (0, self.bytes);
        for answered in recent {
            if recent.len() - count <= KEPT_RECENT && bytes <= MAX_RECENT_BYTES / 4 {
                break;
            }
            count += 1;
            bytes = bytes.saturating_sub(answered.body.len() + answered.key.name.len());
        }
        let kept = recent.iter().take(count).filter(|answered| answered.at + DROPPED > now);
        let mut spill = Spill { file: self.next_file, count, parts: None, newest: 0, hashes: Vec::new() };
        let (mut entries, mut bodies) = (Vec::new(), Vec::new());
        for answered in kept {
            let offset = bodies.len();
            // Plain data, whose serialization cannot fail.
            if serde_json::to_writer(&mut bodies, answered).is_ok() {
                entries.push((hash(&answered.key.name), offset as u64, (bodies.len() - offset) as u64));
                spill.newest = spill.newest.max(answered.at.min(now));
            }
        }
        if entries.is_empty() {
            return Some(spill);
        }
        entries.sort_unstable();
        let mut index = spill.newest.to_le_bytes().to_vec();
        for &(hash, offset, length) in &entries {
            index.extend(hash.to_le_bytes());
            index.extend(offset.to_le_bytes());
            index.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
        spill.hashes = entries.into_iter().map(|(hash, ..)| hash).collect();
        spill.parts = Some((index, bodies));
        Some(spill)
    }

    /// Removes answers from memory whose file is durable.
    pub fn spilled(&mut self, recent: &mut Recent, spill: Spill) {
        for answered in recent.drain(..spill.count.min(recent.len())) {
            self.bytes = self.bytes.saturating_sub(answered.body.len() + answered.key.name.len());
            if let Some(place) = self.places.get(&hash(&answered.key.name))
                && *place == self.first
            {
                self.places.remove(&hash(&answered.key.name));
            }
            self.first += 1;
        }
        self.next_file = self.next_file.max(spill.file + 1);
        if spill.parts.is_some() {
            self.files.push(File { number: spill.file, newest: spill.newest, hashes: spill.hashes });
        }
    }

    /// Drops the files whose answers are too old, and returns their numbers for removal.
    pub fn take_old(&mut self, now: u64) -> Vec<u64> {
        let mut old = Vec::new();
        self.files.retain_mut(|file| {
            // It was written by a clock that was ahead.
            file.newest = file.newest.min(now);
            let stays = file.newest + DROPPED > now;
            if !stays {
                old.push(file.number);
            }
            stays
        });
        old
    }
}

struct IndexEntry {
    hash: u64,
    offset: usize,
    length: usize,
}

fn read_index(index: &[u8]) -> Option<(u64, impl Iterator<Item = IndexEntry>)> {
    let (newest, entries) = index.split_first_chunk::<8>()?;
    if !entries.len().is_multiple_of(ENTRY) {
        return None;
    }
    let entries = entries.chunks_exact(ENTRY).map(|entry| {
        let word = |from: usize, bytes: usize| {
            entry[from..from + bytes].iter().rev().fold(0_u64, |word, &byte| (word << 8) | u64::from(byte))
        };
        let place = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
        IndexEntry { hash: word(0, 8), offset: place(word(8, 8)), length: place(word(16, 4)) }
    });
    Some((u64::from_le_bytes(*newest), entries))
}

/// Reads the answer to a request from one of several files.
///
/// # Errors
/// The store's error; the key was used for another request; or no key matches although a hash does.
pub fn read(store: &Store, id: &str, files: &[u64], key: &RequestKey) -> Result<Answer, Problem> {
    for &file in files {
        let unread = |error: io::Error| match Trouble::of(&error) {
            Some(_) => Problem::of_store(&error),
            None => Problem::damaged(format!("the answer to this Idempotency-Key cannot be read: {error}")),
        };
        let (index, bodies) = store.read(id, &keys_name(file)).map_err(unread)?;
        let Some((_, entries)) = read_index(&index) else { continue };
        for entry in entries.filter(|entry| entry.hash == hash(&key.name)) {
            let body = bodies.get(entry.offset..entry.offset.saturating_add(entry.length)).unwrap_or_default();
            let answered: RecordedAnswer = serde_json::from_slice(body)
                .map_err(|error| unread(io::Error::new(io::ErrorKind::InvalidData, error.to_string())))?;
            if answered.key == *key {
                return Ok(answered.again());
            }
            if answered.key.name == key.name {
                return Err(differs());
            }
        }
    }
    Err(Problem::invalid("the key collides with another key of this world; use another").at("Idempotency-Key"))
}

/// Returns the problem of a key that was first used for another request.
pub fn differs() -> Problem {
    Problem::invalid("the key was used for another request").at("Idempotency-Key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::S3;

    fn answered(number: u64, bytes: usize, at: u64) -> RecordedAnswer {
        let key = RequestKey { name: format!("key {number}"), hash: number };
        RecordedAnswer { key, status: 200, body: format!("\"{}\"", "x".repeat(bytes)), at }
    }

    /// Writes as a session does, without the checkpoint in between.
    fn write(store: &Store, keys: &mut AnswerIndex, recent: &mut Recent, now: u64) {
        let Some(spill) = keys.spill(recent, now) else { return };
        if let Some((index, bodies)) = &spill.parts {
            store.write("w1", &keys_name(spill.file), index, bodies).unwrap();
        }
        keys.spilled(recent, spill);
    }

    fn knows(store: &Store, keys: &AnswerIndex, recent: &Recent, number: u64) -> bool {
        let key = answered(number, 0, 0).key;
        if let Some(found) = keys.find(recent, &key.name) {
            return found.key == key;
        }
        let files = keys.files_with(&key.name);
        !files.is_empty() && read(store, "w1", &files, &key).unwrap().again
    }

    #[test]
    fn no_key_is_forgotten_for_a_day() {
        let store = Store::open("memory", &S3::default(), 0).unwrap();
        store.create("w1", b"", b"").unwrap();
        let (mut keys, mut recent) = (AnswerIndex { next_file: 1, ..AnswerIndex::default() }, Recent::new());
        let start = 1_000_000;
        for number in 0..20_000 {
            keys.push(&mut recent, answered(number, 10, start + number));
            if number % 700 == 0 {
                write(&store, &mut keys, &mut recent, start + number);
            }
        }
        assert!(recent.len() <= MAX_RECENT + 700 && !keys.files.is_empty());
        let now = start + 20_000;
        assert_eq!(keys.len(&recent, now), 20_000);
        for number in (0..20_000).step_by(371) {
            assert!(knows(&store, &keys, &recent, number), "{number}");
        }
        assert!(!knows(&store, &keys, &recent, 20_000));
        // The reopened index gives the same answers.
        let files = store.list("w1").unwrap().keys;
        let mut opened = AnswerIndex::open(&store, "w1", &files, &mut recent).unwrap();
        for number in (0..20_000).step_by(371) {
            assert!(knows(&store, &opened, &recent, number), "{number}");
        }
        assert_eq!(opened.next_file, keys.next_file);
        // The clock jumps forward by almost a day when the keys are almost a day old.
        assert!(keys.take_old(now + 2 * KEPT - 20_001).is_empty());
        let old = keys.take_old(now + 2 * KEPT);
        assert_eq!(old.len(), files.len());
        assert_eq!(keys.len(&recent, now + 3 * KEPT), 0);
        // Opened with the real clock, these answers are from 1970.
        assert_eq!(opened.take_old(super::unix_seconds()).len(), files.len());
    }

    #[test]
    fn large_answers_leave_memory_and_are_found() {
        let store = Store::open("memory", &S3::default(), 0).unwrap();
        store.create("w1", b"", b"").unwrap();
        let (mut keys, mut recent) = (AnswerIndex { next_file: 1, ..AnswerIndex::default() }, Recent::new());
        for number in 0..12 {
            keys.push(&mut recent, answered(number, 1 << 20, 100));
            write(&store, &mut keys, &mut recent, 100);
            assert!(keys.bytes <= 5 << 20 && !keys.is_urgent());
        }
        assert!((0..12).all(|number| knows(&store, &keys, &recent, number)));
        let other = RequestKey { hash: 99, ..answered(0, 0, 0).key };
        let files = keys.files_with(&other.name);
        assert_eq!(read(&store, "w1", &files, &other).unwrap_err().status, 422);
    }

    #[test]
    fn a_clock_that_was_ahead_keeps_no_key_for_ever() {
        let (mut keys, mut recent) = (AnswerIndex { next_file: 1, ..AnswerIndex::default() }, Recent::new());
        let future = 9_000_000;
        for number in 0..=MAX_RECENT as u64 {
            keys.push(&mut recent, answered(number, 1, future));
        }
        let spill = keys.spill(&recent, future).unwrap();
        keys.spilled(&mut recent, spill);
        assert!(keys.take_old(1_000_000).is_empty());
        assert_eq!(keys.seconds_to_drop(&recent, 1_000_000), DROPPED);
        assert_eq!(keys.take_old(1_000_000 + DROPPED).len(), 1);
    }
}
