//! Ledger of a world in a bucket: which objects count, and the number of the next part of its log. Pure data
//! structure without requests.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::{Deserialize, Serialize};

use super::{Trouble, log_name, log_number, unframe};

/// Writer of a part: a service process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LedgerOwner {
    /// Random id of the process.
    pub id: u64,
    /// Description for messages: the process and its machine.
    pub name: String,
}

/// Header of a part of a log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Head {
    /// Number of the log.
    pub log: u64,
    /// Number of the first part of that log.
    pub first: u64,
    /// Writer of the part.
    pub owner: LedgerOwner,
    /// Counter that makes the bytes of each part unique.
    pub nonce: u64,
    /// Set in a fence, the part by which a service claims the world: keys of the files that count from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Vec<String>>,
}

/// Part of a log, as read.
#[derive(Debug)]
pub struct LogPart {
    pub head: Head,
    pub size: u64,
    /// Records; emptied once the world is open.
    pub records: Vec<u8>,
    /// Description of the damage, if the part is unreadable.
    pub damage: Option<String>,
}

/// Version of a file: the same name may have been written several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Number of the writer's fence.
    pub term: u64,
    /// Number of files written before it in that term.
    pub sequence: u64,
    pub size: u64,
}

/// Ledger of a claimed world.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Number of this service's fence.
    pub term: u64,
    /// Number of the next part.
    pub next: u64,
    /// Number of files written in this term.
    pub written: u64,
    pub parts: BTreeMap<u64, LogPart>,
    pub files: BTreeMap<String, Version>,
    /// Files read ahead for the opening of the world.
    pub cache: HashMap<String, Vec<u8>>,
    /// Failure that forbids writing until the world is claimed again.
    pub trouble: Option<Trouble>,
}

/// Returns the key of a part.
pub fn part_key(number: u64) -> String {
    format!("log/{number:012}")
}

/// Returns the key of a file.
pub fn file_key(name: &str, version: Version) -> String {
    format!("{name}.{:012}.{:06}", version.term, version.sequence)
}

/// Returns the number of a part, given its key.
pub fn part_number(key: &str) -> Option<u64> {
    key.strip_prefix("log/")?.parse().ok()
}

/// Returns the name and version of a file, given its key.
pub fn file_of(key: &str, size: u64) -> Option<(&str, Version)> {
    let (rest, sequence) = key.rsplit_once('.')?;
    let (name, term) = rest.rsplit_once('.')?;
    Some((name, Version { term: term.parse().ok()?, sequence: sequence.parse().ok()?, size }))
}

/// Parses a part of a log; a damaged one is attributed to the log of the part before.
pub fn part(bytes: Vec<u8>, before: &Head) -> LogPart {
    let size = bytes.len() as u64;
    let read = unframe(bytes).and_then(|(_, head, records)| {
        let head: Head = serde_json::from_slice(&head).map_err(|error| error.to_string())?;
        Ok((head, records))
    });
    match read {
        Ok((head, records)) => LogPart { head, size, records, damage: None },
        Err(damage) => {
            let head = Head { fence: None, ..before.clone() };
            LogPart { head, size, records: Vec::new(), damage: Some(damage) }
        }
    }
}

impl Ledger {
    /// Builds the ledger from a world's objects and the parts of its log. Also returns the objects that do not
    /// count: files that came late from a previous owner.
    pub fn read(objects: &[(String, u64)], parts: BTreeMap<u64, LogPart>) -> (Self, Vec<String>) {
        let fence = parts.iter().rev().find_map(|(&number, part)| Some((number, part.head.fence.as_ref()?)));
        let mut files: BTreeMap<String, Version> = BTreeMap::new();
        let mut stray = Vec::new();
        for (key, size) in objects {
            let Some((name, version)) = file_of(key, *size) else { continue };
            let counts = fence.is_none_or(|(term, files)| version.term == term || files.contains(key));
            let best = files.get(name).copied();
            if !counts || best.is_some_and(|best| best > version) {
                stray.push(key.clone());
            } else if let Some(old) = files.insert(name.to_owned(), version) {
                stray.push(file_key(name, old));
            }
        }
        let next = parts.keys().next_back().map_or(1, |last| last + 1);
        (Self { next, parts, files, ..Self::default() }, stray)
    }

    /// Returns the latest fence's number and owner.
    pub fn owner(&self) -> Option<(u64, &LedgerOwner)> {
        let fences = self.parts.iter().rev().filter(|(_, part)| part.head.fence.is_some());
        fences.map(|(&number, part)| (number, &part.head.owner)).next()
    }

    /// Returns the keys of the files that count.
    pub fn file_keys(&self) -> Vec<String> {
        self.files.iter().map(|(name, &version)| file_key(name, version)).collect()
    }

    /// Returns the header of the next part.
    pub fn head(&self, log: u64, owner: &LedgerOwner, nonce: u64) -> Head {
        let same = self.parts.values().rev().find(|part| part.head.log == log);
        let first = same.map_or(self.next, |part| part.head.first);
        Head { log, first, owner: owner.clone(), nonce, fence: None }
    }

    /// Records that a part was written.
    pub fn wrote(&mut self, head: Head, size: u64) {
        if head.fence.is_some() {
            self.term = self.next;
        } else {
            // The world is open: its log is not read any more.
            self.cache.clear();
            for part in self.parts.values_mut() {
                part.records = Vec::new();
            }
        }
        self.parts.insert(self.next, LogPart { head, size, records: Vec::new(), damage: None });
        self.next += 1;
    }

    /// Returns the number of the current log.
    pub fn log(&self) -> u64 {
        self.parts.values().map(|part| part.head.log).max().unwrap_or(0)
    }

    /// Returns the file names, as a folder would have them.
    pub fn names(&self) -> Vec<String> {
        let mut logs: Vec<u64> = self.parts.values().map(|part| part.head.log).collect();
        logs.dedup();
        self.files.keys().cloned().chain(logs.into_iter().map(log_name)).collect()
    }

    /// Returns the bytes of a log, as a folder would have them.
    ///
    /// # Errors
    /// A part of the log is damaged or missing.
    pub fn log_bytes(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(log) = log_number(name) else { return Ok(None) };
        let parts: Vec<_> = self.parts.iter().filter(|(_, part)| part.head.log == log).collect();
        let Some(&(end, last)) = parts.last() else { return Err(io::ErrorKind::NotFound.into()) };
        let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {what}"));
        let mut bytes = Vec::new();
        for (expected, &(&number, part)) in (last.head.first..).zip(&parts) {
            if number != expected {
                return Err(damaged(format!("part {expected} is missing")));
            }
            if let Some(damage) = &part.damage {
                return Err(damaged(format!("part {number}: {damage}")));
            }
            bytes.extend(&part.records);
        }
        // The following log begins with the next number.
        if end + 1 != self.next && !self.parts.contains_key(&(end + 1)) {
            return Err(damaged(format!("part {} is missing", end + 1)));
        }
        Ok(Some(bytes))
    }

    /// Returns the parts of a log that may be removed. The fence is not among them: it lists the files that count.
    pub fn parts_of(&self, log: u64) -> Vec<u64> {
        let parts = self.parts.iter().filter(|(number, part)| part.head.log == log && **number != self.term);
        parts.map(|(&number, _)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{WORLD, checkpoint_name, frame};

    fn owner(id: u64) -> LedgerOwner {
        LedgerOwner { id, name: format!("process {id}") }
    }

    /// World in a bucket: parts of its log, and files.
    #[derive(Default)]
    struct World(BTreeMap<u64, Vec<u8>>, Vec<(String, u64)>);

    impl World {
        fn take(&mut self, id: u64) -> Ledger {
            let mut parts = BTreeMap::new();
            let mut before = Head { log: 0, first: 1, owner: owner(0), nonce: 0, fence: None };
            for (&number, bytes) in &self.0 {
                let part = part(bytes.clone(), &before);
                before = part.head.clone();
                parts.insert(number, part);
            }
            let (mut ledger, _) = Ledger::read(&self.1, parts);
            let fence = Some(ledger.file_keys());
            let head = Head { fence, ..ledger.head(ledger.log(), &owner(id), 0) };
            self.put(&mut ledger, head, b"").unwrap();
            ledger
        }

        fn put(&mut self, ledger: &mut Ledger, head: Head, records: &[u8]) -> Result<(), ()> {
            if self.0.contains_key(&ledger.next) {
                return Err(());
            }
            self.0.insert(ledger.next, frame(&serde_json::to_vec(&head).unwrap(), records).unwrap());
            ledger.wrote(head, 1);
            Ok(())
        }

        fn append(&mut self, ledger: &mut Ledger, id: u64, log: u64, records: &[u8]) -> Result<(), ()> {
            let head = ledger.head(log, &owner(id), 0);
            self.put(ledger, head, records)
        }

        fn checkpoint(&mut self, ledger: &mut Ledger, number: u64) {
            ledger.written += 1;
            let version = Version { term: ledger.term, sequence: ledger.written, size: 1 };
            self.1.push((file_key(&checkpoint_name(number), version), 1));
            ledger.files.insert(checkpoint_name(number), version);
        }
    }

    #[test]
    fn keys_read_back() {
        let version = Version { term: 12, sequence: 3, size: 9 };
        assert_eq!(file_of(&file_key("saved-a-1", version), 9), Some(("saved-a-1", version)));
        assert_eq!(part_number(&part_key(77)), Some(77));
        for key in [WORLD, "log/x", "saved-a", "saved-a.1", "saved-a.x.y"] {
            assert!(file_of(key, 0).is_none() && part_number(key).is_none(), "{key}");
        }
    }

    #[test]
    fn who_comes_later_goes_on_and_the_other_cannot() {
        let mut world = World::default();
        let mut first = world.take(1);
        world.append(&mut first, 1, 0, b"a").unwrap();
        let mut second = world.take(2);
        assert_eq!(second.log_bytes("log-00000000").unwrap().unwrap(), b"a");
        assert!(world.append(&mut first, 1, 0, b"lost").is_err(), "it would not be read");
        assert!(world.append(&mut first, 1, 5, b"lost").is_err(), "nor in another log");
        world.append(&mut second, 2, 0, b"b").unwrap();
        let third = world.take(3);
        assert_eq!(third.log_bytes("log-00000000").unwrap().unwrap(), b"ab");
        assert_eq!(third.owner(), Some((5, &owner(3))));
    }

    #[test]
    fn a_file_that_comes_late_does_not_count() {
        let mut world = World::default();
        let mut first = world.take(1);
        world.checkpoint(&mut first, 1);
        let second = world.take(2);
        assert!(second.files.contains_key(&checkpoint_name(1)), "what was there does");
        world.checkpoint(&mut first, 2);
        let third = world.take(3);
        assert_eq!(third.files.len(), 1);
        assert_eq!(Ledger::read(&world.1, third.parts).1.len(), 1, "it is to be removed");
    }

    #[test]
    fn the_newest_of_a_name_counts() {
        let mut world = World::default();
        let mut first = world.take(1);
        world.checkpoint(&mut first, 1);
        world.checkpoint(&mut first, 1);
        let mut second = world.take(2);
        assert_eq!(second.files[&checkpoint_name(1)], Version { term: 1, sequence: 2, size: 1 });
        world.checkpoint(&mut second, 1);
        assert_eq!(world.take(3).files[&checkpoint_name(1)].term, 2);
    }

    #[test]
    fn what_is_missing_or_damaged_is_noticed() {
        let mut world = World::default();
        let mut first = world.take(1);
        for record in [b"a", b"b", b"c"] {
            world.append(&mut first, 1, 4, record).unwrap();
        }
        world.append(&mut first, 1, 5, b"d").unwrap();
        let whole = world.0.clone();
        assert_eq!(world.take(2).log_bytes("log-00000004").unwrap().unwrap(), b"abc");
        for number in 2..=4 {
            for damage in [true, false] {
                world.0 = whole.clone();
                if damage {
                    world.0.get_mut(&number).unwrap()[20] ^= 1;
                } else {
                    world.0.remove(&number);
                }
                let ledger = world.take(2);
                let kind = ledger.log_bytes("log-00000004").map_err(|error| error.kind());
                assert_eq!(kind, Err(io::ErrorKind::InvalidData), "part {number}, {damage}");
            }
        }
    }

    #[test]
    fn what_is_forgotten_is_not_needed() {
        let mut world = World::default();
        let mut first = world.take(1);
        world.append(&mut first, 1, 0, b"a").unwrap();
        world.append(&mut first, 1, 1, b"b").unwrap();
        assert_eq!((first.parts_of(0), first.parts_of(1)), (vec![2], vec![3]), "the first part says what counts");
        for number in first.parts_of(0) {
            world.0.remove(&number);
        }
        let second = world.take(2);
        assert_eq!(second.log_bytes("log-00000001").unwrap().unwrap(), b"b");
    }
}
