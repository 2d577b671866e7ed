//! Writing of a world to the store: log records, checkpoints, named checkpoints, and deletion.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::keys::RecordedAnswer;
use super::live::{Live, SessionMemory};
use super::{Answer, Broken, LogBatch, PATIENCE, PendingWrite, Poke, ReplySender, Session, WriteResult, lock};
use crate::answers::{Restored, Saved};
use crate::op::RequestKey;
use crate::problem::Problem;
use crate::store::{LogEnd, LogHead, Store, Tombstone, Trouble, checkpoint_name, keys_name, log_name, saved_name};
use crate::unix_seconds;
use crate::writer::{JobUrgency, WriteCallback, WriteJob};
use drystone::Snapshot;

/// Number of log records after which a checkpoint is due, independent of the computing time.
pub(super) const MAX_RECORDS: usize = 4096;
/// Number of log records after which a checkpoint is due in a store where each record is an object.
const MAX_PARTS: usize = 512;

/// Minimum bytes of a body in a snapshot.
const MIN_BODY_BYTES: usize = 64;

/// Returns the first part of a checkpoint file: two lines of JSON. Version 1 had only the second.
pub(super) fn first_part(head: &LogHead, memory: &[u8]) -> Vec<u8> {
    // Plain data, whose serialization cannot fail.
    let mut bytes = serde_json::to_vec(head).unwrap_or_default();
    bytes.push(b'\n');
    bytes.extend(memory);
    bytes
}

/// Parses the header and the memory in the first part of a checkpoint file; version 1 has no header.
///
/// # Errors
/// Describes the unreadable part.
pub(super) fn read_first_part(bytes: &[u8]) -> Result<(Option<LogHead>, SessionMemory), String> {
    let line = bytes.iter().position(|byte| *byte == b'\n');
    let (head, memory) = match line {
        Some(end) => (Some(&bytes[..end]), &bytes[end + 1..]),
        None => (None, bytes),
    };
    let head = head.map(serde_json::from_slice).transpose().map_err(|error| error.to_string())?;
    Ok((head, serde_json::from_slice(memory).map_err(|error| error.to_string())?))
}

/// Returns true for the name of a checkpoint that a client keeps to undo a change. These have a limit of their own: a
/// user's checkpoints leave room for them, and they for those.
fn is_of_undo(name: &str) -> bool {
    name.starts_with("undo-")
}

impl Session {
    /// Returns a slot for a job's result, and the callback that fills it and wakes the session.
    pub(super) fn slot(&self) -> (WriteResult, WriteCallback) {
        let slot: WriteResult = Arc::default();
        let (filled, id, pokes) = (slot.clone(), self.handle.id.clone(), self.shared.pokes.clone());
        let done = Box::new(move |outcome| {
            *lock(&filled) = Some(outcome);
            let _ = pokes.send(Poke::Turn(id));
        });
        (slot, done)
    }

    pub(super) fn log_batch(&mut self, batch: LogBatch) {
        let mut records = Vec::with_capacity(batch.len());
        for (record, ..) in &batch {
            // Plain data, whose serialization cannot fail.
            records.push(serde_json::to_vec(record).unwrap_or_default());
        }
        let (slot, done) = self.slot();
        self.hold = Some(PendingWrite::Log(batch, slot));
        match self.log.grow(&records) {
            Ok((rows, grown)) => {
                self.grown = Some(grown);
                let (id, end) = (self.handle.id.clone(), self.log.clone());
                self.shared.writer.give(WriteJob::Append { id, end, rows, done });
            }
            Err(error) => done(Err(error)),
        }
    }

    /// Returns the header of the next log. A log that is not in the store yet is reused, where checkpoints follow
    /// their logs.
    pub(super) fn next_head(&self, step: u64, restored: bool) -> LogHead {
        let store = &self.shared.store;
        let same = !self.log.is_begun() && !store.is_remote();
        LogHead {
            world: self.handle.id.clone(),
            log: self.log.number() + u64::from(!same),
            build: store.build().to_owned(),
            step,
            restored,
            rewound: false,
            before: self.log.last(),
        }
    }

    pub(super) fn checkpoint_if_due(&mut self, live: &mut Live, draining: bool) -> Result<(), Broken> {
        // In a bucket each record is an object.
        let max_records = if self.shared.store.is_remote() { MAX_PARTS } else { MAX_RECORDS };
        let due = self.cost.as_secs_f64() >= self.shared.config.checkpoint_seconds
            || self.records >= max_records
            || live.has_urgent_answers();
        let may = self.changed && self.writing.is_none() && Instant::now() >= self.next_try;
        if !(may && (due || draining)) {
            return Ok(());
        }
        let snapshot = live.world.save().map_err(|error| Broken::of_world(&error))?;
        let (memory, spill, old) = live.remembered();
        let answers = spill.as_ref().and_then(|spill| Some((keys_name(spill.file), spill.parts.clone()?)));
        let head = self.next_head(live.world.steps(), false);
        let first = first_part(&head, &memory);
        let (id, number, before, good) = (self.handle.id.clone(), head.log, self.log.number(), self.good);
        let (slot, done) = self.slot();
        let end = match LogEnd::new(head) {
            Ok(end) => end,
            Err(error) => {
                tracing::error!(world = id, %error, "no checkpoint");
                return Ok(());
            }
        };
        if self.shared.store.is_remote() {
            self.shared.store.close_log(&id, before);
        }
        self.log = end.clone();
        (self.cost, self.records, self.changed) = (Duration::ZERO, 0, false);
        let own = id.clone();
        let work = move |store: &Store| {
            // Before the checkpoint, which does not contain them any more.
            if let Some((name, (index, bodies))) = answers {
                store.write(&own, &name, &index, &bodies)?;
            }
            // The log comes first: a checkpoint without its log counts as an error.
            store.begin(&own, &end)?;
            store.write(&own, &checkpoint_name(number), &first, &snapshot)?;
            prune(store, &own, good);
            for file in old {
                let _ = store.remove(&own, &keys_name(file));
            }
            Ok(())
        };
        self.shared.writer.give(WriteJob::Slow { id, kind: JobUrgency::World, work: Box::new(work), done });
        self.writing = Some((slot, number));
        self.spilling = spill;
        Ok(())
    }

    pub(super) fn poll_checkpoint(&mut self) {
        let Some((slot, number)) = self.writing.take() else { return };
        let outcome = lock(&slot).take();
        match outcome {
            None => self.writing = Some((slot, number)),
            Some(Ok(())) => {
                metrics::counter!("drystone_checkpoints_total").increment(1);
                self.good = number;
                self.spilled = self.spilling.take();
            }
            Some(Err(error)) => {
                self.spilling = None;
                metrics::counter!("drystone_checkpoint_failures_total").increment(1);
                tracing::warn!(world = self.handle.id, %error, "checkpoint failed; the log continues");
                match Trouble::of(&error) {
                    Some(Trouble::Taken(_)) => {
                        self.report_if_fenced(&error);
                        self.fenced = Some(Problem::of_store(&error));
                    }
                    // On a disk it is unknown whether the new log exists. A bucket is asked with the next record.
                    Some(Trouble::InDoubt(_)) if !self.shared.store.is_remote() => {
                        self.doubtful = Some(Problem::of_store(&error));
                    }
                    _ => {}
                }
                self.changed = true;
                self.next_try = Instant::now() + PATIENCE;
            }
        }
    }

    /// Writes a named checkpoint. The caller makes sure that no request for steps waits. One runs at a time.
    pub(super) fn save(&mut self, live: &mut Live, name: Option<String>, reply: ReplySender) -> Result<(), Broken> {
        if self.saving.load(Ordering::SeqCst) {
            let detail = "a checkpoint of this world is still being written";
            let _ = reply.send(Err(Problem::too_many(detail, 1)));
            return Ok(());
        }
        let most_bytes = self.shared.config.limits.memory_bytes;
        let full = || Problem::too_many("too many bytes of checkpoints wait to be written (limits.memory_bytes)", 1);
        // Before the snapshot is created, which takes its memory.
        let bodies = live.world.compiled().bodies.len();
        let Some(rough) = self.shared.writer.reserve(bodies * MIN_BODY_BYTES, most_bytes) else {
            let _ = reply.send(Err(full()));
            return Ok(());
        };
        let name = name.unwrap_or_else(|| format!("step-{}", live.world.steps()));
        let snapshot = match live.world.save() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let _ = reply.send(Err(Problem::device(error.to_string())));
                return Err(Broken::of_world(&error));
            }
        };
        let memory = SessionMemory {
            goals: VecDeque::new(),
            play: None,
            unwatched: None,
            answers: VecDeque::new(),
            ..live.memory.clone()
        };
        let head = LogHead { before: None, ..self.next_head(live.world.steps(), false) };
        let first = first_part(&head, &serde_json::to_vec(&memory).unwrap_or_default());
        drop((memory, rough));
        let Some(reserved) = self.shared.writer.reserve(first.len() + snapshot.len(), most_bytes) else {
            let _ = reply.send(Err(full()));
            return Ok(());
        };
        let (id, most) = (self.handle.id.clone(), self.shared.config.limits.checkpoints);
        let answer = Answer::json(&Saved { checkpoint: name.clone(), step: live.world.steps() });
        let too_many = io::ErrorKind::QuotaExceeded;
        let own = id.clone();
        let work = move |store: &Store| {
            let saved = store.list(&own)?.saved;
            let same_kind = saved.iter().filter(|other| is_of_undo(other) == is_of_undo(&name)).count();
            if same_kind >= most && !saved.contains(&name) {
                return Err(io::Error::new(too_many, format!("the world has {most} checkpoints already")));
            }
            store.write(&own, &saved_name(&name), &first, &snapshot)
        };
        let saving = self.saving.clone();
        saving.store(true, Ordering::SeqCst);
        let done = move |outcome: io::Result<()>| {
            drop(reserved);
            saving.store(false, Ordering::SeqCst);
            let _ = reply.send(match outcome {
                Ok(()) => Ok(answer),
                Err(error) if error.kind() == too_many => Err(Problem::limit(error.to_string())),
                Err(error) => Err(Problem::of_store(&error)),
            });
        };
        self.shared.writer.give(WriteJob::Slow {
            id,
            kind: JobUrgency::Save,
            work: Box::new(work),
            done: Box::new(done),
        });
        Ok(())
    }

    /// Makes a named checkpoint the newest one. The world is then opened again. The answer to a request with a key
    /// is in the checkpoint: either both are durable or neither is.
    pub(super) fn restore(&mut self, live: &Live, name: &str, key: Option<RequestKey>, reply: ReplySender) {
        if live.memory.play.is_some() || !live.memory.goals.is_empty() {
            let _ = reply.send(Err(Problem::conflict("the world is stepping; pause it before you restore it")));
            return;
        }
        let (id, file, good) = (self.handle.id.clone(), saved_name(name), self.good);
        let head = self.next_head(live.world.steps(), true);
        let (number, own) = (head.log, id.clone());
        let (mut answers, requests) = (live.memory.answers.clone(), live.memory.requests);
        let (slot, done) = self.slot();
        let work = move |store: &Store| {
            let (first, snapshot) = store.read(&own, &file)?;
            let (_, memory) = read_first_part(&first).map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{file} of world {own}: {error}"))
            })?;
            // A retry after the restore must still find its answer.
            if let Some(key) = key {
                let step = Snapshot::step_of(&snapshot)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                let body = serde_json::to_string(&Restored { step }).unwrap_or_default();
                answers.push_back(RecordedAnswer { key, status: 200, body, at: unix_seconds() });
            }
            let memory = SessionMemory { requests, answers, ..memory };
            store.write(
                &own,
                &checkpoint_name(number),
                &first_part(&head, &serde_json::to_vec(&memory).unwrap_or_default()),
                &snapshot,
            )?;
            // Here the checkpoint comes first: with its log the restore takes effect.
            store.begin(&own, &LogEnd::new(head)?)?;
            prune(store, &own, good);
            Ok(())
        };
        self.shared.writer.give(WriteJob::Slow { id, kind: JobUrgency::World, work: Box::new(work), done });
        self.hold = Some(PendingWrite::Restore(reply, slot, number));
    }

    pub(super) fn delete(&mut self, tombstone: Option<Tombstone>, reply: ReplySender) {
        let (slot, done) = self.slot();
        let id = self.handle.id.clone();
        let own = id.clone();
        let work = move |store: &Store| {
            // First, so that no world is removed without a trace of its deletion.
            if let Some(tombstone) = tombstone {
                match store.bury(&own, &tombstone) {
                    // A full store is no reason to keep what is to be deleted.
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                        tracing::warn!(world = own, %error, "a retried request to delete the world will not be recognized");
                    }
                    outcome => outcome?,
                }
            }
            store.delete(&own)
        };
        self.shared.writer.give(WriteJob::Slow { id, kind: JobUrgency::World, work: Box::new(work), done });
        self.hold = Some(PendingWrite::Delete(reply, slot));
    }
}

/// Removes logs and checkpoints older than checkpoint `good`.
pub(super) fn prune(store: &Store, id: &str, good: u64) {
    let Ok(listing) = store.list(id) else { return };
    let logs: Vec<u64> = listing.logs.into_iter().filter(|&number| number < good).collect();
    let checkpoints = listing.checkpoints.into_iter().filter(|&number| number < good);
    for &log in &logs {
        store.close_log(id, log);
    }
    let names: Vec<String> = logs.into_iter().map(log_name).chain(checkpoints.map(checkpoint_name)).collect();
    store.prune(id, &names);
}
