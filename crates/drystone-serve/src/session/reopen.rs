//! Reopening of a world from the store, after a start or the loss of a device or the store; failing a world;
//! refusals of its waiting requests.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::keep::MAX_RECORDS;
use super::live::Live;
use super::open::{self, CheckpointedWorld};
use super::time_slice::SliceProgress;
use super::{
    Answer, Broken, NextWake, PATIENCE, PendingWrite, Phase, Poke, ReplySender, Session, SessionRequest, lock,
};
use crate::answers::Restored;
use crate::op::LogRecord;
use crate::problem::Problem;
use crate::store::Trouble;
use drystone::WorldError;

/// Number of device losses in a row, all in time slices of the world, after which the world itself is to blame.
pub(super) const MAX_FAILURES: u32 = 3;
/// Largest number of worlds claimed at the same time in a store behind a network.
const MAX_TAKING: usize = 16;
/// Time of uninterrupted replay, after which other worlds get time slices.
const BREATH: Duration = Duration::from_millis(4);

impl Session {
    pub(super) fn open(&mut self) -> NextWake {
        self.poll_checkpoint();
        self.doubtful = None;
        // The index of answers is read again.
        self.spilled = None;
        self.settling.retain(|slot| lock(slot).is_none());
        if !self.settling.is_empty() || self.writing.is_some() {
            return NextWake::Idle;
        }
        if let Err(wake) = self.make_room() {
            return wake;
        }
        match self.take() {
            Some(Ok(())) => self.away = None,
            Some(Err(error)) if matches!(Trouble::of(&error), Some(Trouble::Taken(_))) => {
                self.report_if_fenced(&error);
                return self.fail(Problem::of_store(&error));
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                return self.fail(Problem::damaged("the store does not have the world any more"));
            }
            Some(Err(error)) => return self.wait_for_store(Problem::of_store(&error)),
            None if self.taking.is_none() => return NextWake::At(Instant::now() + BREATH),
            None => return NextWake::Idle,
        }
        let apart = self.is_suspect() || !self.shared.config.pools;
        match open::open(&self.shared, &self.handle.id, apart, self.rewind_target()) {
            Ok(CheckpointedWorld { mut live, records, log, good, needless, others }) => {
                self.note_needless(needless);
                let most = open::contact_limit(live.world.compiled(), &self.shared.config.limits);
                live.world.set_contact_limit(most);
                live.world.set_cancel_token(self.handle.token.clone());
                if let Some(ring) = self.ring.take() {
                    live.put_ring(ring);
                }
                (self.log, self.grown, self.good) = (log, None, good);
                (self.cost, self.records, self.changed) = (Duration::ZERO, records.len(), !records.is_empty());
                if others {
                    // A checkpoint is due, from which on the replayed state counts.
                    self.records = MAX_RECORDS;
                }
                (self.anchor, self.framed) = (None, None);
                self.phase = Phase::Replaying(live, records);
                NextWake::Now
            }
            Err(open::OpenError::Device(error, generation)) => {
                self.failures += 1;
                if self.failures >= MAX_FAILURES {
                    return self.fail(Problem::limit(format!("the device is lost each time the world runs: {error}")));
                }
                let renewed = self.shared.device.renew(generation);
                let after = Instant::now() + if renewed.is_ok() { Duration::ZERO } else { PATIENCE };
                self.phase = Phase::Closed(after);
                NextWake::At(after)
            }
            Err(open::OpenError::Away(problem)) => self.wait_for_store(*problem),
            Err(open::OpenError::Problem(problem)) if self.rewinding.is_some() => self.give_up_rewind(&problem),
            Err(open::OpenError::Problem(problem)) => self.fail(*problem),
        }
    }

    /// Claims the world in a store behind a network. None while that is in progress.
    fn take(&mut self) -> Option<io::Result<()>> {
        if !self.shared.store.is_remote() {
            return Some(Ok(()));
        }
        let Some(slot) = self.taking.take() else {
            // More at a time would be too much for the bucket, and for the memory that their files take.
            let more = |count: usize| (count < MAX_TAKING).then_some(count + 1);
            self.shared.taking.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok()?;
            let (slot, done) = self.slot();
            self.taking = Some(slot);
            let shared = self.shared.clone();
            let counted = move |outcome| {
                shared.taking.fetch_sub(1, Ordering::SeqCst);
                done(outcome);
            };
            self.shared.store.take(&self.handle.id, Box::new(counted));
            return None;
        };
        let outcome = lock(&slot).take();
        if outcome.is_none() {
            self.taking = Some(slot);
        }
        outcome
    }

    /// Keeps the world out of memory, and answers its requests with the problem, until the store can be reached.
    pub(super) fn wait_for_store(&mut self, problem: Problem) -> NextWake {
        if self.away.is_none() {
            tracing::warn!(
                world = self.handle.id,
                detail = problem.detail,
                "the store cannot be reached; the world waits"
            );
        }
        self.refuse_restored(&problem);
        self.refuse_waiting(&problem);
        self.refuse_all(&problem);
        self.away = Some(problem);
        let after = Instant::now() + PATIENCE;
        self.phase = Phase::Closed(after);
        NextWake::At(after)
    }

    /// Reacts to a store error of an open world: the world is reopened, or failed, or goes on.
    pub(super) fn handle_store_error(&mut self, error: &io::Error) -> Result<(), Broken> {
        match Trouble::of(error) {
            Some(Trouble::Taken(_)) => {
                self.report_if_fenced(error);
                self.fail(Problem::of_store(error));
                Err(Broken::Reopen)
            }
            // The content of the store decides what has happened.
            Some(Trouble::InDoubt(_) | Trouble::Away(_)) => {
                self.wait_for_store(Problem::of_store(error));
                Err(Broken::Reopen)
            }
            None => Ok(()),
        }
    }

    /// Reports that another service has fenced the world, if that is the error: this service must end.
    pub(super) fn report_if_fenced(&self, error: &io::Error) {
        if let Some(Trouble::Taken(detail)) = Trouble::of(error) {
            let _ = self.shared.pokes.send(Poke::Taken(detail.clone()));
        }
    }

    /// Replays log records up to the next step.
    pub(super) fn replay(&mut self, mut live: Box<Live>, mut records: VecDeque<LogRecord>) -> SliceProgress {
        if let Some(problem) = self.overdue_rewind() {
            self.ring = Some(live.take_ring());
            return SliceProgress::Over(self.give_up_rewind(&problem));
        }
        let (steps, end) = (live.world.steps(), Instant::now() + BREATH);
        while let Some(record) = records.pop_front() {
            let is_due = record.at > steps;
            if is_due || Instant::now() >= end {
                records.push_front(record);
                self.phase = Phase::Replaying(live, records);
                return if is_due { SliceProgress::Due } else { SliceProgress::Over(NextWake::Now) };
            }
            if self.apply(&mut live, record, None, None).is_err() {
                return SliceProgress::Over(self.lost("during the replay of the log"));
            }
        }
        if let Some(rewinding) = self.rewinding.take() {
            return self.end_rewind(live, rewinding);
        }
        live.end_replay();
        self.phase = Phase::Live(live);
        (self.waking, self.owes) = (false, false);
        if let Some(reply) = self.restored.take() {
            self.answer(reply, Ok(Answer::json(&Restored { step: steps })));
        }
        SliceProgress::Over(NextWake::Now)
    }

    /// Handles the result of a replayed step.
    pub(super) fn replayed(
        &mut self,
        mut live: Box<Live>,
        records: VecDeque<LogRecord>,
        outcome: Result<(), WorldError>,
    ) -> SliceProgress {
        match outcome.and_then(|()| live.collect_events()) {
            Ok(()) => {
                self.stalled = None;
                self.done_step(&mut live);
                self.replay(live, records)
            }
            Err(WorldError::Device(error)) => {
                let _ = self.shared.device.renew(live.device);
                self.failures += 1;
                if self.failures >= MAX_FAILURES {
                    let detail = format!("the device is lost each time the world runs: {error}");
                    return SliceProgress::Over(self.fail(Problem::limit(detail)));
                }
                SliceProgress::Over(self.lost(&error.to_string()))
            }
            // The service stops, or the world is to be deleted.
            Err(WorldError::Cancelled) => SliceProgress::Over(NextWake::Now),
            Err(error) if self.rewinding.is_some() => {
                self.ring = Some(live.take_ring());
                SliceProgress::Over(self.give_up_rewind(&Problem::from(error)))
            }
            Err(WorldError::TooManyContacts { found, limit }) => {
                let key = open::contact_key(limit, &self.shared.config.limits);
                let detail = format!(
                    "the log has steps with {found} contacts or more, and at most {limit} are allowed \
                     now: raise {key} and restart the service, or delete the world"
                );
                SliceProgress::Over(self.fail(Problem::limit(detail)))
            }
            Err(error) => SliceProgress::Over(self.fail(Problem::from(error))),
        }
    }

    pub(super) fn fail(&mut self, problem: Problem) -> NextWake {
        self.waking = false;
        tracing::error!(world = self.handle.id, detail = problem.detail, "the world cannot be used");
        self.refuse_restored(&problem);
        self.refuse_waiting(&problem);
        self.owes = false;
        self.phase = Phase::Failed(problem);
        NextWake::Now
    }

    /// Restores the world after the loss of the device. Waiting clients get a 503, and retry.
    pub(super) fn lost(&mut self, why: &str) -> NextWake {
        tracing::warn!(world = self.handle.id, why, "the device was lost; restoring the world");
        if self.failures >= MAX_FAILURES {
            return self.fail(Problem::limit(format!("the device is lost each time the world runs: {why}")));
        }
        let problem = Problem::device(why.to_owned());
        self.refuse_rewind(&problem);
        self.refuse_waiting(&problem);
        match self.hold.take() {
            Some(PendingWrite::Restore(reply, slot, _) | PendingWrite::Rewind(reply, slot, _)) => {
                self.answer(reply, Err(problem));
                self.settling.push(slot);
            }
            Some(hold @ PendingWrite::Delete(..)) => {
                self.hold = Some(hold);
                self.phase = Phase::Failed(problem);
                return NextWake::Now;
            }
            _ => {}
        }
        self.phase = Phase::Closed(Instant::now());
        NextWake::Now
    }

    /// Answers the requests of a failed world: only deletion works.
    pub(super) fn failed(&mut self, problem: Problem) -> NextWake {
        if let Some(PendingWrite::Delete(reply, slot)) = self.hold.take() {
            match lock(&slot).take() {
                None => {}
                Some(Ok(())) => {
                    self.close(reply);
                    return NextWake::Gone;
                }
                Some(Err(error)) => {
                    self.answer(reply, Err(Problem::of_store(&error)));
                    self.phase = Phase::Failed(problem);
                    return NextWake::Idle;
                }
            }
            self.hold = Some(PendingWrite::Delete(reply, slot));
            self.phase = Phase::Failed(problem);
            return NextWake::Idle;
        }
        let requests: Vec<SessionRequest> = lock(&self.handle.inbox).drain(..).collect();
        for request in requests {
            match request {
                SessionRequest::Delete(tombstone, reply) if self.hold.is_none() => self.delete(tombstone, reply),
                request => request.refuse(problem.clone()),
            }
        }
        self.phase = Phase::Failed(problem);
        NextWake::Idle
    }

    pub(super) fn close(&mut self, reply: ReplySender) {
        self.handle.closed.send_replace(true);
        let gone = Problem::not_found(format!("there is no world {} any more", self.handle.id));
        self.refuse_waiting(&gone);
        self.refuse_all(&gone);
        self.answer(reply, Ok(Answer { status: 204, content_type: "", body: Vec::new(), again: false }));
    }

    pub(super) fn refuse_waiting(&mut self, problem: &Problem) {
        self.refuse_goals(problem);
        if let Some(asking) = self.asking.take() {
            self.outbox.push((asking.into_reply(), Err(problem.clone())));
        }
        // A dropped state is computed again.
        let own = self.own.drain(..).filter_map(|(_, _, reply)| reply);
        self.outbox.extend(own.map(|reply| (reply, Err(problem.clone()))));
        self.hold = match self.hold.take() {
            Some(PendingWrite::Log(batch, slot)) => {
                let replies = batch.into_iter().filter_map(|(_, reply, _)| reply);
                self.outbox.extend(replies.map(|reply| (reply, Err(problem.clone()))));
                // The records may be stored or not; no client has an answer.
                self.settling.push(slot);
                None
            }
            hold => hold,
        };
    }

    pub(super) fn refuse_goals(&mut self, problem: &Problem) {
        let replies = self.waiting.drain().filter_map(|(_, waiting)| waiting.reply);
        self.outbox.extend(replies.map(|reply| (reply, Err(problem.clone()))));
    }

    pub(super) fn refuse_all(&mut self, problem: &Problem) {
        let requests: Vec<SessionRequest> = lock(&self.handle.inbox).drain(..).collect();
        for request in requests {
            request.refuse(problem.clone());
        }
    }
}
