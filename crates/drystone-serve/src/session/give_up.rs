//! Cancelled steps. Their state is unusable, so the end of the request for them goes to the log, waiting clients get
//! an answer, and the world is opened again from its checkpoint and log. A request to delete a world waits neither
//! for a step nor for the world to be open.

use std::time::Instant;

use super::handle::GiveUp;
use super::live::Live;
use super::time_slice::SliceProgress;
use super::{Broken, LogBatch, NextWake, PendingWrite, Phase, Session, SessionRequest, lock};
use crate::op::{LogRecord, Op};
use crate::problem::Problem;

impl Session {
    /// Queues log records that end the requests for the cancelled step. Without them the world would step again
    /// immediately.
    pub(super) fn end_given_up(&mut self, live: &Live) -> Broken {
        let reason = self.given_up.take();
        tracing::info!(world = self.handle.id, step = live.world.steps(), ?reason, "a step was cancelled");
        let halt = |request, reason: &str| (Op::Halt { request, reason: reason.to_owned(), limit: false }, None, None);
        let front = live.memory.goals.front().map(|goal| goal.request);
        match reason {
            Some(GiveUp::Deadline) => self.own.extend(front.map(|front| halt(front, DEADLINE))),
            Some(GiveUp::Gone) => self.own.extend(front.map(|front| halt(front, GONE))),
            Some(GiveUp::Pause) => {
                let goals = live.memory.goals.iter();
                self.own.extend(goals.map(|goal| halt(goal.request, PAUSED)));
                // The request itself is answered once the world is open again.
                self.own.push((Op::Pause, None, None));
            }
            Some(GiveUp::Delete | GiveUp::Draining) | None => {}
        }
        Broken::GivenUp
    }

    /// Logs and answers the end of the requests, then closes the world, which is opened again.
    pub(super) fn after_given_up(&mut self, mut live: Box<Live>, draining: bool) -> SliceProgress {
        if draining {
            // The steps continue after the restart.
            let problem = Problem::unavailable("the service is stopping; the steps continue after the restart");
            self.refuse_waiting(&problem);
            self.refuse_all(&Problem::unavailable("the service is stopping"));
            return SliceProgress::Over(NextWake::Idle);
        }
        match self.hold.take().map(|hold| self.poll_hold(&mut live, hold, draining)) {
            None | Some(Ok(None)) => {}
            Some(Ok(hold @ Some(_))) => {
                self.hold = hold;
                self.phase = Phase::GivenUp(live);
                return SliceProgress::Over(NextWake::Idle);
            }
            // The store failed, and the session has already reacted to that.
            Some(Err(_)) => return SliceProgress::Over(NextWake::Now),
        }
        if self.own.is_empty() {
            self.ring = Some(live.take_ring());
            self.phase = Phase::Closed(Instant::now());
            return SliceProgress::Over(NextWake::Now);
        }
        let wake = if Instant::now() < self.next_try {
            let problem = Problem::unavailable(
                "a step was cancelled, and the store cannot record the end of its request at the moment: retry",
            );
            self.refuse_goals(&problem);
            self.refuse_all(&problem);
            NextWake::At(self.next_try)
        } else {
            let at = live.world.steps();
            let batch: LogBatch =
                self.own.drain(..).map(|(op, key, reply)| (LogRecord { at, op, key }, reply, None)).collect();
            self.log_batch(batch);
            NextWake::Idle
        };
        self.phase = Phase::GivenUp(live);
        SliceProgress::Over(wake)
    }

    /// Returns true if the world is being deleted, or a request to delete it waits.
    pub(super) fn is_deleting(&self) -> bool {
        matches!(self.hold, Some(PendingWrite::Delete(..))) || self.handle.has_delete()
    }

    /// Deletes a world that is not in memory.
    pub(super) fn delete_closed(&mut self) -> NextWake {
        match self.hold.take() {
            Some(PendingWrite::Delete(reply, slot)) => {
                let outcome = lock(&slot).take();
                match outcome {
                    None => self.hold = Some(PendingWrite::Delete(reply, slot)),
                    Some(Ok(())) => {
                        self.close(reply);
                        return NextWake::Gone;
                    }
                    Some(Err(error)) => {
                        self.report_if_fenced(&error);
                        self.answer(reply, Err(Problem::of_store(&error)));
                        return NextWake::Now;
                    }
                }
                return NextWake::Idle;
            }
            hold => self.hold = hold,
        }
        let deleted = Problem::conflict("the world is being deleted");
        self.refuse_restored(&deleted);
        self.refuse_waiting(&deleted);
        self.poll_checkpoint();
        self.settling.retain(|slot| lock(slot).is_none());
        if let Some(PendingWrite::Restore(reply, slot, _) | PendingWrite::Rewind(reply, slot, _)) = self.hold.take() {
            self.answer(reply, Err(Problem::conflict("the world is being deleted")));
            self.settling.push(slot);
        }
        if !self.settling.is_empty() || self.writing.is_some() {
            // The running jobs wake the session when they are done.
            return NextWake::Idle;
        }
        match self.handle.take_delete() {
            Some(SessionRequest::Delete(tombstone, reply)) => {
                self.delete(tombstone, reply);
                NextWake::Idle
            }
            _ => NextWake::Now,
        }
    }
}

/// Reasons for a cancelled request, as clients get them.
pub(super) const DEADLINE: &str = "the deadline has passed";
pub(super) const GONE: &str = "the client has disconnected";
pub(super) const PAUSED: &str = "the world was paused";
