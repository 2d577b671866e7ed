//! Time slice of a session: incoming requests are answered or logged, then steps are done, then frames and
//! checkpoints. Other worlds may step between the steps of this one, so the caller asks for each step.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::handle::{GiveUp, Stepping};
use super::live::Live;
use super::{Broken, LogBatch, NextWake, PATIENCE, PendingWrite, Phase, Session, lock};
use crate::hosted::Hosted;
use crate::op::Op;
use crate::problem::Problem;
use crate::queue::Expected;
use drystone::WorldError;
use drystone::low_level::gpu::pool::Pool;

/// Progress of a time slice.
#[derive(Clone, Copy, Debug)]
pub(super) enum SliceProgress {
    /// A step is due.
    Due,
    /// No further step is due. Frames and checkpoints are still to be done; then the next time slice is wanted.
    Stepped(NextWake),
    /// Complete; the next time slice is wanted then.
    Over(NextWake),
}

impl Session {
    /// Begins a time slice. With `draining` nothing new is begun. Steps may be due afterwards; [`Self::finish`] ends
    /// it.
    pub fn begin(&mut self, draining: bool) {
        self.draining = draining;
        if self.handle.has_requests() {
            self.idle_since = None;
            self.handle.is_pressed.store(false, Ordering::SeqCst);
        }
        self.handle.is_idle.store(false, Ordering::SeqCst);
        self.handle.refuse_claimed_deletes();
        self.time_slice = match std::mem::replace(&mut self.phase, Phase::Closed(Instant::now())) {
            phase if !matches!(phase, Phase::Live(_) | Phase::Failed(_)) && self.is_deleting() => {
                // Its memory is freed immediately.
                drop(phase);
                SliceProgress::Over(self.delete_closed())
            }
            Phase::GivenUp(live) => self.after_given_up(live, draining),
            // The world's requests have changed since the time slice was assigned.
            phase @ (Phase::Asleep(_) | Phase::Replaying(..)) if !self.may_take_long => {
                self.phase = phase;
                SliceProgress::Over(NextWake::Now)
            }
            Phase::Asleep(ring) => SliceProgress::Over(self.wake_if_needed(ring, draining)),
            Phase::Closed(_) if draining => {
                let problem = Problem::unavailable("the service is stopping");
                self.refuse_restored(&problem);
                self.refuse_waiting(&problem);
                self.refuse_all(&problem);
                SliceProgress::Over(NextWake::Idle)
            }
            Phase::Closed(after) if Instant::now() < after => {
                self.phase = Phase::Closed(after);
                self.refuse_all(&self.away.clone().unwrap_or_else(|| Problem::device("no device is available")));
                SliceProgress::Over(NextWake::At(after))
            }
            Phase::Closed(after) if !self.may_take_long => {
                self.phase = Phase::Closed(after);
                SliceProgress::Over(NextWake::Now)
            }
            Phase::Closed(_) => SliceProgress::Over(self.open()),
            Phase::Replaying(live, records) => self.replay(live, records),
            Phase::Failed(problem) => SliceProgress::Over(self.failed(problem)),
            Phase::Live(live) if live.device != self.shared.device.generation() => {
                drop(live);
                SliceProgress::Over(self.lost("another world lost it"))
            }
            Phase::Live(live) => self.with(live, |session, live| session.before_steps(live, draining)),
        };
        if self.is_due() && !(self.may_take_long && self.may_step) {
            self.time_slice = SliceProgress::Over(NextWake::Now);
        }
        if self.is_due() {
            // The step may take long, and the status is not updated until after it.
            self.show_state();
        }
    }

    /// Returns true if a step is due.
    #[must_use]
    pub fn is_due(&self) -> bool {
        matches!(self.time_slice, SliceProgress::Due)
    }

    /// Returns true if the next time slice opens the world.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Closed(_) | Phase::Asleep(_) | Phase::Replaying(..))
    }

    /// Returns true if the world waits for memory without a waiting client.
    #[must_use]
    pub fn is_cramped(&self) -> bool {
        matches!(self.phase, Phase::Asleep(_))
    }

    /// Returns the number of steps done, of a world in memory.
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        match &self.phase {
            Phase::Live(live) | Phase::Replaying(live, _) | Phase::GivenUp(live) => Some(live.world.steps()),
            Phase::Closed(_) | Phase::Asleep(_) | Phase::Failed(_) => None,
        }
    }

    /// Announces the step that begins to the thread that watches time slices.
    pub fn enter_step(&mut self) {
        let (request, is_replay) = match &self.phase {
            Phase::Live(live) => (live.memory.goals.front().map(|goal| goal.request), false),
            _ => (None, true),
        };
        if let Phase::Live(live) | Phase::Replaying(live, _) = &mut self.phase {
            // The world may have left its pool since.
            live.world.set_cancel_token(self.handle.token.clone());
        }
        let waiting = request.and_then(|request| self.waiting.get_mut(&request));
        let (reply, deadline, has_key) = match waiting {
            Some(waiting) => (waiting.reply.take(), waiting.deadline, waiting.has_key),
            None => (None, None, false),
        };
        let mut stepping = lock(&self.handle.stepping);
        self.handle.token.reset();
        *stepping = Some(Stepping { request, reply, deadline, has_key, is_replay, seen: None, given_up: None });
    }

    /// Takes back the client lent by [`Self::enter_step`]. Returns the reason if the step was cancelled.
    pub(super) fn leave_step(&mut self) -> Option<GiveUp> {
        let mut stepping = lock(&self.handle.stepping);
        let Stepping { request, reply, given_up, .. } = stepping.take()?;
        self.handle.token.reset();
        drop(stepping);
        if let Some(waiting) = request.and_then(|request| self.waiting.get_mut(&request)) {
            waiting.reply = reply;
        }
        given_up
    }

    /// Returns the world whose step is due.
    pub(crate) fn world(&mut self) -> Option<&mut Hosted> {
        match (self.time_slice, &mut self.phase) {
            (SliceProgress::Due, Phase::Live(live) | Phase::Replaying(live, _)) => Some(&mut live.world),
            _ => None,
        }
    }

    /// Handles the result and the duration of the due step. Another step may be due afterwards.
    pub fn stepped(&mut self, outcome: Result<(), WorldError>, took: Duration) {
        self.given_up = self.leave_step();
        self.time_slice = match std::mem::replace(&mut self.phase, Phase::Closed(Instant::now())) {
            Phase::Replaying(live, records) => self.replayed(live, records, outcome),
            Phase::Live(live) => self.with(live, |session, live| session.after_step(live, outcome, took)),
            phase => {
                self.phase = phase;
                SliceProgress::Over(NextWake::Now)
            }
        };
    }

    /// Ends a time slice: frames and checkpoints, then answers. Returns the time at which the next one is wanted.
    pub fn finish(&mut self) -> NextWake {
        let _ = self.leave_step();
        // The time slice was over before the steps were.
        let wake = match self.time_slice {
            SliceProgress::Due => Some(NextWake::Now),
            SliceProgress::Stepped(wake) => Some(wake),
            SliceProgress::Over(_) => None,
        };
        self.time_slice = match (wake, std::mem::replace(&mut self.phase, Phase::Closed(Instant::now()))) {
            (Some(wake), Phase::Live(live)) => self.with(live, |session, live| session.show(live, wake)),
            (wake, phase) => {
                self.phase = phase;
                wake.map_or(self.time_slice, SliceProgress::Over)
            }
        };
        self.publish();
        self.send();
        let SliceProgress::Over(wake) = self.time_slice else { return NextWake::Now };
        wake
    }

    /// Returns true if the world is suspected of causing a device loss. It is scheduled alone until cleared.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.failures > 0
    }

    /// Returns the pool in which the world steps.
    #[must_use]
    pub(crate) fn pool(&self) -> Option<&Arc<Pool>> {
        match &self.phase {
            Phase::Live(live) | Phase::Replaying(live, _) => live.world.pool(),
            Phase::Closed(_) | Phase::Asleep(_) | Phase::GivenUp(_) | Phase::Failed(_) => None,
        }
    }

    /// Returns the expected content of the next time slice.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let live = match &self.phase {
            Phase::Closed(_) | Phase::Asleep(_) => return Expected::Anything,
            Phase::Failed(_) | Phase::GivenUp(_) => return Expected::Rest,
            Phase::Replaying(..) => return Expected::Step,
            Phase::Live(live) => live,
        };
        let steps = match &self.hold {
            // The requested steps are in the log, or will soon be.
            Some(PendingWrite::Log(batch, _)) => batch.iter().all(|(record, ..)| matches!(record.op, Op::Step { .. })),
            Some(_) => false,
            None => {
                let wanted = live.memory.play.is_some() || !live.memory.goals.is_empty();
                let is_free = self.own.is_empty() && self.outbox.is_empty() && self.asking.is_none();
                wanted && is_free && !self.handle.has_requests()
            }
        };
        if steps { Expected::Step } else { Expected::Rest }
    }

    /// Returns true if the next time slice can answer or end something without a step and without opening the world.
    /// False if such a time slice could do nothing.
    #[must_use]
    pub fn has_short_time_slice(&self, now: Instant) -> bool {
        let live = match &self.phase {
            Phase::Failed(_) | Phase::GivenUp(_) => return true,
            Phase::Closed(after) if now < *after => return true,
            Phase::Closed(_) | Phase::Asleep(_) | Phase::Replaying(..) => return self.is_deleting(),
            Phase::Live(live) => live,
        };
        match &self.hold {
            Some(PendingWrite::Log(batch, _)) => !batch.iter().any(|(record, ..)| matches!(record.op, Op::Commands(_))),
            Some(PendingWrite::Restore(..) | PendingWrite::Rewind(..) | PendingWrite::Delete(..)) => true,
            None if self.handle.has_delete() => true,
            None if self.asking.is_some() => false,
            None => {
                let has_own = !self.own.is_empty() && now >= self.next_try;
                has_own || self.handle.has_short_request() || self.is_overdue(live, now)
            }
        }
    }

    /// Returns true if the next time slice precedes those of other worlds: the world is to be deleted, its step was
    /// cancelled, or the deadline of a request for steps has passed.
    #[must_use]
    pub fn is_urgent(&self, now: Instant) -> bool {
        match &self.phase {
            Phase::GivenUp(_) => true,
            Phase::Live(live) => self.has_short_time_slice(now) && (self.is_deleting() || self.is_overdue(live, now)),
            Phase::Closed(_) | Phase::Asleep(_) | Phase::Replaying(..) | Phase::Failed(_) => self.is_deleting(),
        }
    }

    /// Returns the next deadline of the requests for steps.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let Phase::Live(live) = &self.phase else { return None };
        let goals = live.memory.goals.iter();
        goals.filter_map(|goal| self.waiting.get(&goal.request)?.deadline).min()
    }

    /// Runs a function on the world, and changes the phase according to its result.
    fn with(
        &mut self,
        mut live: Box<Live>,
        what: impl FnOnce(&mut Self, &mut Live) -> Result<SliceProgress, Broken>,
    ) -> SliceProgress {
        match what(self, &mut live) {
            Ok(time_slice) => {
                self.phase = Phase::Live(live);
                time_slice
            }
            Err(Broken::Gone) => SliceProgress::Over(NextWake::Gone),
            Err(Broken::GivenUp) => {
                self.phase = Phase::GivenUp(live);
                SliceProgress::Over(NextWake::Now)
            }
            Err(Broken::Sleep) => {
                self.phase = Phase::Asleep(live.take_ring());
                self.idle_since = None;
                self.recorder = None;
                self.handle.frames.send_replace(None);
                metrics::counter!("drystone_worlds_put_to_disk_total").increment(1);
                SliceProgress::Over(NextWake::Idle)
            }
            Err(Broken::Reopen) => SliceProgress::Over(NextWake::Now),
            Err(Broken::Device(error)) => {
                self.failures += 1;
                let generation = live.device;
                drop(live);
                if generation == self.shared.device.generation()
                    && let Err(problem) = self.shared.device.renew(generation)
                {
                    tracing::error!(world = self.handle.id, problem, "no device");
                    let _ = self.lost(&error);
                    let after = Instant::now() + PATIENCE;
                    self.phase = Phase::Closed(after);
                    return SliceProgress::Over(NextWake::At(after));
                }
                SliceProgress::Over(self.lost(&error))
            }
        }
    }

    /// Runs the part of a time slice before its steps.
    fn before_steps(&mut self, live: &mut Live, draining: bool) -> Result<SliceProgress, Broken> {
        self.poll_checkpoint();
        if let Some(problem) = self.fenced.take() {
            self.fail(problem);
            return Err(Broken::Reopen);
        }
        if let Some(problem) = self.doubtful.take() {
            self.wait_for_store(problem);
            return Err(Broken::Reopen);
        }
        if let Some(hold) = self.hold.take()
            && let Some(hold) = self.poll_hold(live, hold, draining)?
        {
            let wake = if matches!(hold, PendingWrite::Delete(..)) { self.refuse_overdue() } else { NextWake::Idle };
            self.hold = Some(hold);
            self.frame(live)?;
            return Ok(SliceProgress::Over(wake));
        }
        if !self.outbox.is_empty() {
            // Finished requests are answered before further steps.
            return Ok(SliceProgress::Over(NextWake::Now));
        }
        if let Some(time_slice) = self.accept_delete(live) {
            return Ok(time_slice);
        }
        let mut batch = LogBatch::new();
        if let Err(broken) = self.receive(live, draining, &mut batch) {
            self.refuse_batch(batch, &broken);
            return Err(broken);
        }
        if !batch.is_empty() {
            self.log_batch(batch);
            self.frame(live)?;
            return Ok(SliceProgress::Over(NextWake::Idle));
        }
        if self.hold.is_some() {
            return Ok(SliceProgress::Over(NextWake::Idle));
        }
        if self.handle.has_delete() {
            // The request arrived meanwhile.
            return Ok(SliceProgress::Over(NextWake::Now));
        }
        if self.asking.is_some() {
            // Queries refer to the current state: no step until they are answered.
            self.end_overdue(live);
            self.frame(live)?;
            return Ok(SliceProgress::Over(NextWake::Now));
        }
        if draining {
            // The requests are in the log, and continue after the restart.
            self.refuse_goals(&Problem::unavailable("the service is stopping; the steps continue after the restart"));
            return Ok(SliceProgress::Stepped(NextWake::Idle));
        }
        Ok(self.next_step(live))
    }

    /// Runs the part of a time slice after its steps.
    fn show(&mut self, live: &mut Live, wake: NextWake) -> Result<SliceProgress, Broken> {
        let framed = self.frame(live)?;
        let has_requests = !self.blocked && self.handle.has_requests();
        if !self.own.is_empty() {
            // Before a checkpoint, which would not contain them. Read-only requests do not wait for the log.
            let waits = Instant::now() < self.next_try && !has_requests;
            return Ok(SliceProgress::Over(if waits { NextWake::At(self.next_try) } else { NextWake::Now }));
        }
        if !self.may_take_long {
            // A checkpoint of a large world takes long: a later time slice does it.
            return Ok(SliceProgress::Over(NextWake::Now));
        }
        self.checkpoint_if_due(live, self.draining)?;
        if has_requests {
            return Ok(SliceProgress::Over(NextWake::Now));
        }
        Ok(SliceProgress::Over(match (wake, framed) {
            (NextWake::At(a), Some(b)) => NextWake::At(a.min(b)),
            (NextWake::Idle, Some(at)) => NextWake::At(at),
            (NextWake::Idle, None) if !self.draining && self.is_idle(live) => return self.rest(live),
            (wake, _) => {
                self.idle_since = None;
                wake
            }
        }))
    }
}
