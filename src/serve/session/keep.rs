//! What is written: the log, checkpoints, and what clients keep under names.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::{Live, Memory};
use super::{Answer, Batch, Broken, Hold, PATIENCE, Poke, Reply, Session, Slot, lock};
use crate::serve::answers::Saved;
use crate::serve::problem::Problem;
use crate::serve::store::{Store, Trouble, checkpoint_name, log_name, saved_name};
use crate::serve::writer::{Done, Job};

/// Records after which a world is written out, however little it computed.
const MOST_RECORDS: usize = 4096;
/// Likewise in a store where each is an object.
const MOST_PARTS: usize = 512;

impl Session {
    /// A slot that is filled, and the world poked, when a job is done.
    pub(super) fn slot(&self) -> (Slot, Done) {
        let slot: Slot = Arc::default();
        let (filled, id, pokes) = (slot.clone(), self.handle.id.clone(), self.shared.pokes.clone());
        let done = Box::new(move |outcome| {
            *lock(&filled) = Some(outcome);
            let _ = pokes.send(Poke::Turn(id));
        });
        (slot, done)
    }

    pub(super) fn log_batch(&mut self, batch: Batch) {
        let mut records = Vec::with_capacity(batch.len());
        for (record, ..) in &batch {
            // Plain data: it can always be written.
            records.push(serde_json::to_vec(record).unwrap_or_default());
        }
        let (slot, done) = self.slot();
        self.hold = Some(Hold::Log(batch, slot));
        self.shared.writer.give(Job::Append { id: self.handle.id.clone(), log: self.log, records, done });
    }

    pub(super) fn checkpoint_if_due(&mut self, live: &mut Live, draining: bool) -> Result<(), Broken> {
        // Each is an object of its own there.
        let most_records = if self.shared.store.is_remote() { MOST_PARTS } else { MOST_RECORDS };
        let due = self.cost.as_secs_f64() >= self.shared.config.checkpoint_seconds || self.records >= most_records;
        let may = self.changed && self.writing.is_none() && Instant::now() >= self.next_try;
        if !(may && (due || draining)) {
            return Ok(());
        }
        let snapshot = live.world.save().map_err(|error| Broken::of_world(&error))?;
        let memory = serde_json::to_vec(&live.memory).unwrap_or_default();
        let (id, number, good) = (self.handle.id.clone(), self.log + 1, self.good);
        self.shared.store.close_log(&id, self.log);
        self.log = number;
        (self.cost, self.records, self.changed) = (Duration::ZERO, 0, false);
        let (slot, done) = self.slot();
        let work = move |store: &Store| {
            store.write(&id, &checkpoint_name(number), &memory, &snapshot)?;
            prune(store, &id, good);
            Ok(())
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done });
        self.writing = Some((slot, number));
        Ok(())
    }

    pub(super) fn learn_of_checkpoint(&mut self) {
        let Some((slot, number)) = self.writing.take() else { return };
        let outcome = lock(&slot).take();
        match outcome {
            None => self.writing = Some((slot, number)),
            Some(Ok(())) => {
                metrics::counter!("drystone_checkpoints_total").increment(1);
                self.good = number;
            }
            Some(Err(error)) => {
                metrics::counter!("drystone_checkpoint_failures_total").increment(1);
                tracing::warn!(world = self.handle.id, %error, "no checkpoint; the log goes on");
                if let Some(Trouble::Taken(_)) = Trouble::of(&error) {
                    self.taken = Some(Problem::of_store(&error));
                }
                self.changed = true;
                self.next_try = Instant::now() + PATIENCE;
            }
        }
    }

    /// Keeps the state under a name: the world stands, with nobody waiting for steps.
    pub(super) fn save(&mut self, live: &mut Live, name: Option<String>, reply: Reply) -> Result<(), Broken> {
        let name = name.unwrap_or_else(|| format!("step-{}", live.world.steps()));
        let snapshot = live.world.save().map_err(|error| Broken::of_world(&error))?;
        let memory = Memory { goals: VecDeque::new(), play: None, answers: VecDeque::new(), ..live.memory.clone() };
        let memory = serde_json::to_vec(&memory).unwrap_or_default();
        let (id, most) = (self.handle.id.clone(), self.shared.config.limits.checkpoints);
        let answer = Answer::json(&Saved { checkpoint: name.clone(), step: live.world.steps() });
        let too_many = io::ErrorKind::QuotaExceeded;
        let work = move |store: &Store| {
            let saved = store.list(&id)?.saved;
            if saved.len() >= most && !saved.contains(&name) {
                return Err(io::Error::new(too_many, format!("the world has {most} checkpoints already")));
            }
            store.write(&id, &saved_name(&name), &memory, &snapshot)
        };
        let done = move |outcome: io::Result<()>| {
            let _ = reply.send(match outcome {
                Ok(()) => Ok(answer),
                Err(error) if error.kind() == too_many => Err(Problem::limit(error.to_string())),
                Err(error) => Err(Problem::of_store(&error)),
            });
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done: Box::new(done) });
        Ok(())
    }

    /// Makes a checkpoint with a name the newest one. Once it is in place the world is opened anew.
    pub(super) fn restore(&mut self, live: &Live, name: &str, reply: Reply) {
        if live.memory.play.is_some() || !live.memory.goals.is_empty() {
            let _ = reply.send(Err(Problem::conflict("the world steps; pause it before it is restored")));
            return;
        }
        let (id, number, file, good) = (self.handle.id.clone(), self.log + 1, saved_name(name), self.good);
        let (answers, requests) = (live.memory.answers.clone(), live.memory.requests);
        let (slot, done) = self.slot();
        let work = move |store: &Store| {
            let (memory, snapshot) = store.read(&id, &file)?;
            let memory: Memory = serde_json::from_slice(&memory)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            // Who asks again after the restore is still known.
            let memory = Memory { requests, answers, ..memory };
            let memory = serde_json::to_vec(&memory).unwrap_or_default();
            store.write(&id, &checkpoint_name(number), &memory, &snapshot)?;
            prune(store, &id, good);
            Ok(())
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done });
        self.hold = Some(Hold::Restore(reply, slot, number));
    }

    pub(super) fn delete(&mut self, reply: Reply) {
        let (slot, done) = self.slot();
        let id = self.handle.id.clone();
        self.shared.writer.give(Job::Slow { work: Box::new(move |store| store.delete(&id)), done });
        self.hold = Some(Hold::Delete(reply, slot));
    }
}

/// What is older than the checkpoint before the newest one is not needed any more. What cannot be removed stays.
fn prune(store: &Store, id: &str, good: u64) {
    let Ok(listing) = store.list(id) else { return };
    let checkpoints = listing.checkpoints.into_iter().filter(|&number| number < good).map(checkpoint_name);
    let logs = listing.logs.into_iter().filter(|&number| number < good);
    for log in logs {
        store.close_log(id, log);
        let _ = store.remove(id, &log_name(log));
    }
    for name in checkpoints {
        let _ = store.remove(id, &name);
    }
}
