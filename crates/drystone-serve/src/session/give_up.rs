//! Steps that are given up in the middle: the state is of no use then. What ends the request for them goes to the log, whoever
//! waits is told, and the world is opened anew from its checkpoint and log. A request to delete a world waits for no step,
//! and not until the world is open.

use std::time::Instant;

use super::handle::GiveUp;
use super::live::Live;
use super::turn::Turn;
use super::{Batch, Broken, Hold, Phase, Request, Session, Wake, lock};
use crate::op::{Op, Record};
use crate::problem::Problem;

impl Session {
    /// Notes what ends the requests for which a step was given up. Without that the world would step again at once.
    pub(super) fn end_given_up(&mut self, live: &Live) -> Broken {
        let reason = self.given_up.take();
        tracing::info!(world = self.handle.id, step = live.world.steps(), ?reason, "a step was given up");
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

    /// Has the end of the requests logged and told, then closes the world, which is opened anew.
    pub(super) fn after_given_up(&mut self, mut live: Box<Live>, draining: bool) -> Turn {
        if draining {
            // The steps go on after the restart.
            let problem = Problem::unavailable("the service is stopping; the steps go on when it is back");
            self.refuse_waiting(&problem);
            self.refuse_all(&Problem::unavailable("the service is stopping"));
            return Turn::Over(Wake::Idle);
        }
        match self.hold.take().map(|hold| self.held(&mut live, hold, draining)) {
            None | Some(Ok(None)) => {}
            Some(Ok(hold @ Some(_))) => {
                self.hold = hold;
                self.phase = Phase::GivenUp(live);
                return Turn::Over(Wake::Idle);
            }
            // The store is in trouble, and the session knows what to do.
            Some(Err(_)) => return Turn::Over(Wake::Now),
        }
        if self.own.is_empty() {
            self.ring = Some(live.take_ring());
            self.phase = Phase::Closed(Instant::now());
            return Turn::Over(Wake::Now);
        }
        let wake = if Instant::now() < self.next_try {
            let problem = Problem::unavailable(
                "a step was given up, and the store does not take the end of its request for now: ask again",
            );
            self.refuse_goals(&problem);
            self.refuse_all(&problem);
            Wake::At(self.next_try)
        } else {
            let at = live.world.steps();
            let batch: Batch =
                self.own.drain(..).map(|(op, key, reply)| (Record { at, op, key }, reply, None)).collect();
            self.log_batch(batch);
            Wake::Idle
        };
        self.phase = Phase::GivenUp(live);
        Turn::Over(wake)
    }

    /// True if the world is to be deleted, or is being deleted.
    pub(super) fn is_deleting(&self) -> bool {
        matches!(self.hold, Some(Hold::Delete(..))) || self.handle.has_delete()
    }

    /// Deletes a world that is not in memory.
    pub(super) fn delete_closed(&mut self) -> Wake {
        match self.hold.take() {
            Some(Hold::Delete(reply, slot)) => {
                let outcome = lock(&slot).take();
                match outcome {
                    None => self.hold = Some(Hold::Delete(reply, slot)),
                    Some(Ok(())) => {
                        self.close(reply);
                        return Wake::Gone;
                    }
                    Some(Err(error)) => {
                        self.tell_if_taken(&error);
                        self.answer(reply, Err(Problem::of_store(&error)));
                        return Wake::Now;
                    }
                }
                return Wake::Idle;
            }
            hold => self.hold = hold,
        }
        let deleted = Problem::conflict("the world is being deleted");
        self.refuse_restored(&deleted);
        self.refuse_waiting(&deleted);
        self.learn_of_checkpoint();
        self.settling.retain(|slot| lock(slot).is_none());
        if let Some(Hold::Restore(reply, slot, _) | Hold::Rewind(reply, slot, _)) = self.hold.take() {
            self.answer(reply, Err(Problem::conflict("the world is being deleted")));
            self.settling.push(slot);
        }
        if !self.settling.is_empty() || self.writing.is_some() {
            // Poked when that is done.
            return Wake::Idle;
        }
        match self.handle.take_delete() {
            Some(Request::Delete(tombstone, reply)) => {
                self.delete(tombstone, reply);
                Wake::Idle
            }
            _ => Wake::Now,
        }
    }
}

/// Reasons that clients are told.
pub(super) const DEADLINE: &str = "the deadline has passed";
pub(super) const GONE: &str = "the client has gone";
pub(super) const PAUSED: &str = "the world was paused";
