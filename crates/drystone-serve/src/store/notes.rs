//! Notes about worlds that were deleted by requests with keys, so that retries get the same answer.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::framing::{frame, unframe};
use super::{Store, checked, is_id};
use crate::op::RequestKey;

/// Largest number of notes about deleted worlds.
const MAX_NOTES: usize = 10_000;
/// Number of new notes after which old ones are removed.
const SWEEP: u64 = 256;
/// Age at which a note is removed, s: a day, and a second one for clocks that jump.
const NOTE_SECONDS: u64 = 2 * 24 * 3600;

/// Note about a world that was deleted by a request with a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Key of the request.
    pub key: RequestKey,
    /// Owner that asked.
    pub caller: String,
    /// Time of the deletion, seconds since 1970.
    pub at: u64,
}

impl Store {
    /// Writes the note for a world that is being deleted. Removes notes older than two days, and the oldest beyond
    /// 10,000.
    ///
    /// # Errors
    /// The place's error.
    pub fn bury(&self, id: &str, tombstone: &Tombstone) -> io::Result<()> {
        checked(id)?;
        let bytes = frame(&serde_json::to_vec(tombstone)?, &[])?;
        self.backend.write_note(id, bytes)?;
        if self.buried.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP) {
            // Notes that cannot be removed stay.
            let _ = self.sweep(tombstone.at);
        }
        Ok(())
    }

    fn sweep(&self, now: u64) -> io::Result<()> {
        let mut there = Vec::new();
        for id in self.backend.notes()?.into_iter().filter(|id| is_id(id)) {
            let note = self.tombstone(&id).ok().flatten();
            let (at, caller) = note.map_or((0, String::new()), |note| (note.at.min(now), note.caller));
            there.push(Note { at, caller, id });
        }
        for id in excess(there, now, MAX_NOTES) {
            self.backend.remove_note(&id)?;
        }
        Ok(())
    }

    /// Returns the note about a world, if it was deleted recently.
    ///
    /// # Errors
    /// The place's error; `InvalidData` if the note is damaged.
    pub fn tombstone(&self, id: &str) -> io::Result<Option<Tombstone>> {
        checked(id)?;
        let bytes = match self.backend.note(id) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |problem: String| io::Error::new(io::ErrorKind::InvalidData, format!("deleted/{id}: {problem}"));
        let (_, note, _) = unframe(bytes).map_err(damaged)?;
        serde_json::from_slice(&note).map(Some).map_err(|error| damaged(error.to_string()))
    }
}

/// Note of a deleted world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Note {
    at: u64,
    caller: String,
    id: String,
}

/// Returns the ids of the notes to remove: old ones, and beyond `most` the oldest of the callers that have the most.
fn excess(mut there: Vec<Note>, now: u64, most: usize) -> Vec<String> {
    there.sort_unstable();
    let (old, kept): (Vec<Note>, Vec<Note>) = there.into_iter().partition(|note| note.at + NOTE_SECONDS <= now);
    let mut gone: Vec<String> = old.into_iter().map(|note| note.id).collect();
    let mut too_many = kept.len().saturating_sub(most);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for note in &kept {
        *counts.entry(note.caller.clone()).or_default() += 1;
    }
    // Each caller keeps at most this many.
    let mut level = counts.values().copied().max().unwrap_or_default();
    while counts.values().map(|count| count.saturating_sub(level)).sum::<usize>() < too_many {
        level -= 1;
    }
    for note in kept {
        if let Some(count) = counts.get_mut(&note.caller)
            && *count > level
            && too_many > 0
        {
            *count -= 1;
            too_many -= 1;
            gone.push(note.id);
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_the_one_with_the_most_go_first() {
        let note = |at, caller: &str, id: &str| Note { at, caller: caller.to_owned(), id: id.to_owned() };
        let now = 10 * NOTE_SECONDS;
        let mut there = vec![note(now - 9, "few", "a"), note(1, "few", "old")];
        there.extend((0..6).map(|number| note(now - 6 + number, "many", &format!("m{number}"))));
        assert_eq!(excess(there.clone(), now, 10), ["old"]);
        assert_eq!(excess(there.clone(), now, 4), ["old", "m0", "m1", "m2"]);
        assert_eq!(excess(there, now, 1), ["old", "a", "m0", "m1", "m2", "m3", "m4"]);
    }
}
