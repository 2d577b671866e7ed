//! Hibernation: idle worlds are written to disk, and the next request brings them back to the same bits.
//!
//! Preserved are the state, answers to requests with keys, names of pointers, the journal (all in the checkpoint),
//! and the newest events (in memory). The status stays as it was, except for `in_memory`.

use std::time::{Duration, Instant};

use super::bodies::NoRoom;
use super::live::{Live, Ring};
use super::time_slice::SliceProgress;
use super::{Broken, NextWake, Phase, Poke, Session};
use crate::problem::Problem;
use std::sync::atomic::Ordering;

/// Retry interval of a world that waits for memory.
const RETRY: Duration = Duration::from_millis(20);
/// Time for which a world waits for memory before its clients get an answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Returns true if the world has nothing to do and no stream shows it.
    pub(super) fn is_idle(&self, live: &Live) -> bool {
        let stands = live.memory.goals.is_empty() && live.memory.play.is_none();
        let told = self.own.is_empty() && self.outbox.is_empty() && self.hold.is_none() && self.asking.is_none();
        stands && told && !self.handle.has_requests() && self.handle.interval().is_none()
    }

    /// Handles an idle world: it waits, is written out if it has changed, then leaves memory.
    pub(super) fn rest(&mut self, live: &mut Live) -> Result<SliceProgress, Broken> {
        let now = Instant::now();
        let hibernate = Duration::from_secs_f64(self.shared.config.hibernate_seconds);
        let due = *self.idle_since.get_or_insert(now) + hibernate;
        if now < due && !self.handle.is_pressed.load(Ordering::SeqCst) {
            self.handle.is_idle.store(true, Ordering::SeqCst);
            return Ok(SliceProgress::Over(NextWake::At(due)));
        }
        if self.changed && self.writing.is_none() {
            self.checkpoint_if_due(live, true)?;
        }
        if self.writing.is_some() {
            // The checkpoint wakes the session when it is done.
            return Ok(SliceProgress::Over(NextWake::Idle));
        }
        if self.changed {
            // The store accepts no checkpoint at the moment.
            return Ok(SliceProgress::Over(NextWake::At(self.next_try.max(now + RETRY))));
        }
        Err(Broken::Sleep)
    }

    /// Opens a world that is on disk if it has requests, streams or unfinished steps.
    pub(super) fn wake_if_needed(&mut self, ring: Ring, draining: bool) -> NextWake {
        if draining {
            self.refuse_all(&Problem::unavailable("the service is stopping"));
        }
        if draining || !(self.owes || self.handle.has_requests() || self.handle.interval().is_some()) {
            self.phase = Phase::Asleep(ring);
            return NextWake::Idle;
        }
        self.ring = Some(ring);
        self.waking = !self.owes;
        self.open()
    }

    /// Counts the world among those in memory. If there is no room, idle worlds are asked to leave, and this one
    /// waits.
    pub(super) fn make_room(&mut self) -> Result<(), NextWake> {
        if self.resident > 0 {
            return Ok(());
        }
        let (weight, most) = (self.weight(), self.shared.config.limits.resident_bodies);
        let (owner, own_most) = (&self.handle.facts.owner, self.shared.share(most));
        let NoRoom { there, most, is_own } = match self.shared.resident.reserve(owner, weight, most, own_most) {
            Ok(()) => {
                self.resident = weight;
                (self.cramped, self.no_room) = (None, None);
                return Ok(());
            }
            Err(no_room) => no_room,
        };
        let now = Instant::now();
        let owner = is_own.then(|| owner.clone());
        let _ = self.shared.pokes.send(Poke::Press((there + weight).saturating_sub(most), owner));
        // A retry for unfinished steps has no client that waits.
        let is_alone = self.owes && !self.handle.has_requests();
        if !is_alone && *self.cramped.get_or_insert(now) + PATIENCE > now {
            return Err(NextWake::At(now + RETRY));
        }
        self.cramped = None;
        let (of, part) = if is_own { (" of this token", "half of ") } else { ("", "") };
        let detail = format!(
            "the worlds{of} in memory have {there} bodies, and this one has {weight}; at most {most} \
             ({part}limits.resident_bodies), and none of them is idle: pause or delete one"
        );
        let problem = Problem::too_many(detail, 5);
        self.refuse_restored(&problem);
        self.refuse_waiting(&problem);
        self.refuse_all(&problem);
        self.no_room = Some(problem.detail);
        // A hibernated world was idle. Any other may play, or have unfinished steps.
        self.owes |= !self.waking;
        self.waking = false;
        self.phase = Phase::Asleep(self.ring.take().unwrap_or_default());
        Err(if self.owes { NextWake::At(now + PATIENCE) } else { NextWake::Idle })
    }
}
