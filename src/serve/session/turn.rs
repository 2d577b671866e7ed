//! A turn: what came is answered or sent to the log, then steps, then frames and checkpoints. Between the steps of one
//! world others may have theirs, so whoever runs turns asks for each of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::Live;
use super::{Broken, Hold, PATIENCE, Phase, Session, Wake};
use crate::WorldError;
use crate::gpu::pool::Pool;
use crate::serve::hosted::Hosted;
use crate::serve::op::Op;
use crate::serve::problem::Problem;
use crate::serve::queue::Expected;

/// How far a turn is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// A step is due.
    Due,
    /// No step is due, or none any more. What comes after steps is yet to be done; then the next turn is wanted.
    Stepped(Wake),
    /// Nothing more is done in it.
    Over(Wake),
}

impl Session {
    /// Begins a turn. With `draining` nothing new is begun. Steps are due then, or none; [`Self::finish`] ends it.
    pub fn begin(&mut self, draining: bool) {
        self.draining = draining;
        self.turn = match std::mem::replace(&mut self.phase, Phase::Closed(Instant::now())) {
            Phase::Closed(after) if Instant::now() < after => {
                self.phase = Phase::Closed(after);
                self.refuse_all(&self.away.clone().unwrap_or_else(|| Problem::device("no device can be had")));
                Turn::Over(Wake::At(after))
            }
            Phase::Closed(_) => Turn::Over(self.open()),
            Phase::Replaying(live, records) => self.replay(live, records),
            Phase::Failed(problem) => Turn::Over(self.failed(problem)),
            Phase::Live(live) if live.device != self.shared.device.generation() => {
                drop(live);
                Turn::Over(self.lost("another world noticed"))
            }
            Phase::Live(live) => self.with(live, |session, live| session.hear(live, draining)),
        };
    }

    /// Whether a step is due.
    #[must_use]
    pub fn is_due(&self) -> bool {
        matches!(self.turn, Turn::Due)
    }

    /// What the step that is due is a step of.
    pub(crate) fn world(&mut self) -> Option<&mut Hosted> {
        match (self.turn, &mut self.phase) {
            (Turn::Due, Phase::Live(live) | Phase::Replaying(live, _)) => Some(&mut live.world),
            _ => None,
        }
    }

    /// Learns how the step that was due went, and what it took. Another may be due then.
    pub fn stepped(&mut self, outcome: Result<(), WorldError>, took: Duration) {
        self.turn = match std::mem::replace(&mut self.phase, Phase::Closed(Instant::now())) {
            Phase::Replaying(live, records) => self.replayed(live, records, outcome),
            Phase::Live(live) => self.with(live, |session, live| session.after_step(live, outcome, took)),
            phase => {
                self.phase = phase;
                Turn::Over(Wake::Now)
            }
        };
    }

    /// Ends a turn: frames and checkpoints, then whoever waits is told. Returns when the next one is wanted.
    pub fn finish(&mut self) -> Wake {
        // Time was up.
        let wake = match self.turn {
            Turn::Due => Some(Wake::Now),
            Turn::Stepped(wake) => Some(wake),
            Turn::Over(_) => None,
        };
        self.turn = match (wake, std::mem::replace(&mut self.phase, Phase::Closed(Instant::now()))) {
            (Some(wake), Phase::Live(live)) => self.with(live, |session, live| session.show(live, wake)),
            (wake, phase) => {
                self.phase = phase;
                wake.map_or(self.turn, Turn::Over)
            }
        };
        self.publish();
        self.send();
        let Turn::Over(wake) = self.turn else { return Wake::Now };
        wake
    }

    /// Whether the device was lost while it was this world's, and nothing has shown since that it is not to blame. Others
    /// shall not suffer with it.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.strikes > 0
    }

    /// With whom the world steps by the same dispatches.
    #[must_use]
    pub(crate) fn pool(&self) -> Option<&Arc<Pool>> {
        match &self.phase {
            Phase::Live(live) | Phase::Replaying(live, _) => live.world.pool(),
            Phase::Closed(_) | Phase::Failed(_) => None,
        }
    }

    /// What the next turn will be, as far as one can tell.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let live = match &self.phase {
            Phase::Closed(_) => return Expected::Anything,
            Phase::Failed(_) => return Expected::Rest,
            Phase::Replaying(..) => return Expected::Step,
            Phase::Live(live) => live,
        };
        let steps = match &self.hold {
            // What was asked for is in the log, or will soon be.
            Some(Hold::Log(batch, _)) => batch.iter().all(|(record, ..)| matches!(record.op, Op::Step { .. })),
            Some(_) => false,
            None => {
                let wanted = live.memory.play.is_some() || !live.memory.goals.is_empty();
                wanted && self.own.is_empty() && self.outbox.is_empty() && !self.handle.has_requests()
            }
        };
        if steps { Expected::Step } else { Expected::Rest }
    }

    /// Does something with the world, which stays unless that decides otherwise.
    fn with(&mut self, mut live: Box<Live>, what: impl FnOnce(&mut Self, &mut Live) -> Result<Turn, Broken>) -> Turn {
        match what(self, &mut live) {
            Ok(turn) => {
                self.phase = Phase::Live(live);
                turn
            }
            Err(Broken::Gone) => Turn::Over(Wake::Gone),
            Err(Broken::Reopen) => Turn::Over(Wake::Now),
            Err(Broken::Device(error)) => {
                self.strikes += 1;
                let generation = live.device;
                drop(live);
                if generation == self.shared.device.generation()
                    && let Err(problem) = self.shared.device.renew(generation)
                {
                    tracing::error!(world = self.handle.id, problem, "no device");
                    let _ = self.lost(&error);
                    let after = Instant::now() + PATIENCE;
                    self.phase = Phase::Closed(after);
                    return Turn::Over(Wake::At(after));
                }
                Turn::Over(self.lost(&error))
            }
        }
    }

    /// What comes before steps.
    fn hear(&mut self, live: &mut Live, draining: bool) -> Result<Turn, Broken> {
        self.learn_of_checkpoint();
        if let Some(problem) = self.taken.take() {
            self.fail(problem);
            return Err(Broken::Reopen);
        }
        if let Some(hold) = self.hold.take()
            && let Some(hold) = self.held(live, hold, draining)?
        {
            self.hold = Some(hold);
            self.frame(live)?;
            return Ok(Turn::Over(Wake::Idle));
        }
        if !self.outbox.is_empty() {
            // Nobody waits for a step to hear of what is done.
            return Ok(Turn::Over(Wake::Now));
        }
        let batch = self.receive(live, draining)?;
        if !batch.is_empty() {
            self.log_batch(batch);
            self.frame(live)?;
            return Ok(Turn::Over(Wake::Idle));
        }
        if self.hold.is_some() {
            return Ok(Turn::Over(Wake::Idle));
        }
        if draining {
            // What they asked for is in the log, and goes on after the restart.
            self.refuse_goals(&Problem::unavailable("the service is stopping; the steps go on when it is back"));
            return Ok(Turn::Stepped(Wake::Idle));
        }
        Ok(self.next_step(live))
    }

    /// What comes after steps.
    fn show(&mut self, live: &mut Live, wake: Wake) -> Result<Turn, Broken> {
        let framed = self.frame(live)?;
        if !self.own.is_empty() {
            // Before a checkpoint, which would not know of it.
            let wake = if Instant::now() < self.next_try { Wake::At(self.next_try) } else { Wake::Now };
            return Ok(Turn::Over(wake));
        }
        self.checkpoint_if_due(live, self.draining)?;
        if !self.blocked && self.handle.has_requests() {
            return Ok(Turn::Over(Wake::Now));
        }
        Ok(Turn::Over(match (wake, framed) {
            (Wake::At(a), Some(b)) => Wake::At(a.min(b)),
            (Wake::Idle, Some(at)) => Wake::At(at),
            (wake, _) => wake,
        }))
    }
}
