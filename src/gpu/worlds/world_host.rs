//! Host-side state of one world in a batch. The world may be with its owner while others step: results that arrive in
//! the meantime wait in its slot.

use crate::gpu::capacity::too_many_contacts;
use crate::host::Host;
use crate::snapshot::is_at_rest;
use crate::types::{self, Counters};
use crate::world_error::WorldError;

/// Result of a world's step.
#[derive(Debug)]
pub enum StepOutcome {
    /// The step is done.
    Done,
    /// The step was undone, as the world is no longer small: it must move out.
    Outgrown,
    /// The step was undone, unless the device is lost.
    Failed(WorldError),
}

/// Results of one step.
#[derive(Debug)]
pub(in crate::gpu) struct Readback {
    pub step: u64,
    pub counters: Counters,
    /// True if contacts or events were dropped.
    pub overflowed: bool,
    /// Number of events, of which `events` holds those that fitted.
    pub event_count: u32,
    pub events: Vec<types::EventData>,
}

/// Host-side state of one world in a batch.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct WorldHost {
    pub host: Host,
    /// Number of shapes that the contact lists cover.
    pub listed: usize,
    /// Parity of the tables that hold the contacts of its last step.
    pub parity: usize,
    /// Event capacity that a past step has lacked.
    pub event_need: u32,
    /// Latest counters that have arrived, and their step.
    pub known: Option<(u64, Counters)>,
    /// Steps are recorded also while all bodies sleep. For tests.
    pub never_rests: bool,
}

impl WorldHost {
    pub fn new(host: Host) -> Self {
        let listed = host.compiled.shapes.len();
        Self { host, listed, parity: 0, event_need: 0, known: None, never_rests: false }
    }

    /// Returns true if the next step is known to change nothing, as all bodies sleep, no command is pending, and a step
    /// that included the latest command has arrived; then it is counted but not recorded.
    pub fn is_idle(&self) -> bool {
        let known = self.known.is_some_and(|(step, counters)| step >= self.host.asked && is_at_rest(&counters));
        known && !self.never_rests && self.host.is_idle()
    }

    /// Returns the contact capacity that the next step needs, as far as known: all archived contacts may return in one
    /// step.
    pub fn wanted_contacts(&self) -> u64 {
        self.known.map_or(0, |(_, counters)| u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts))
    }

    /// Processes the results that have arrived.
    pub fn process_readbacks(&mut self, readbacks: &mut Vec<Readback>) {
        for Readback { step, counters, overflowed, event_count, events } in readbacks.drain(..) {
            self.known = Some((step, counters));
            if event_count as usize > events.len() {
                self.event_need = self.event_need.max(event_count);
            }
            if overflowed {
                self.host.overflowed.push(step);
            }
            self.host.process_readbacks(step, events);
        }
    }

    /// Returns `(found, limit)` if the last step, run with this contact capacity, is known to have exceeded the world's
    /// contact limit.
    pub fn has_too_many(&self, capacity: u32) -> Option<(usize, usize)> {
        let (_, counters) = self.known.filter(|&(step, _)| Some(step) == self.host.steps.checked_sub(1))?;
        let limit = self.host.contact_limit();
        Some((too_many_contacts(&counters, limit, capacity)?, limit))
    }
}
