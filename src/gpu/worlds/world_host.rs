//! Host-side state of one world in a batch. The world may be with its owner while others step: results that arrive in
//! the meantime wait in its slot.

use crate::gpu::capacity::FoundContacts;
use crate::gpu::record::StepStats;
use crate::host::Host;
use crate::scene::Compiled;
use crate::snapshot::is_at_rest;
use crate::types::{self, Counters};

/// Statistics of a world's latest step that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastReadback {
    pub step: u64,
    /// True if the step began and ended with all bodies asleep.
    pub at_rest: bool,
    pub load: StepStats,
    /// Contact capacity that the world needs.
    pub contacts: u64,
    pub found: FoundContacts,
}

impl LastReadback {
    pub fn new(step: u64, counters: &Counters) -> Self {
        let contacts = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        Self {
            step,
            at_rest: is_at_rest(counters),
            load: StepStats::of(counters),
            contacts,
            found: FoundContacts::new(counters),
        }
    }
}

/// Results of one step.
#[derive(Debug)]
pub(super) struct Readback {
    pub known: LastReadback,
    /// True if contacts or events were dropped.
    pub overflowed: bool,
    /// Number of events, of which `events` holds those that fitted.
    pub event_count: u32,
    pub events: Vec<types::EventData>,
}

/// Host-side state of one world in a batch.
#[derive(Clone, Debug)]
pub(super) struct WorldHost {
    pub host: Host,
    /// Number of shapes that the contact lists cover.
    pub listed: usize,
    /// Parity of the tables that hold the contacts of its last step.
    pub parity: usize,
    /// Event capacity that a past step has lacked.
    pub event_need: u32,
    pub known: Option<LastReadback>,
}

impl WorldHost {
    pub fn new(compiled: Compiled) -> Self {
        let listed = compiled.shapes.len();
        Self { host: Host::new(compiled), listed, parity: 0, event_need: 0, known: None }
    }

    /// Returns true if the next step is known to change nothing, as all bodies sleep and no command is pending; then it
    /// is counted but not recorded.
    pub fn is_idle(&self) -> bool {
        let known = self.known.is_some_and(|known| known.step >= self.host.asked && known.at_rest);
        known && self.host.is_idle()
    }

    /// Processes the results that have arrived.
    pub fn process_readbacks(&mut self, readbacks: &mut Vec<Readback>) {
        for Readback { known, overflowed, event_count, events } in readbacks.drain(..) {
            self.known = Some(known);
            if event_count as usize > events.len() {
                self.event_need = self.event_need.max(event_count);
            }
            if overflowed {
                self.host.overflowed.push(known.step);
            }
            self.host.process_readbacks(known.step, events);
        }
    }

    /// Returns `(found, limit)` if the last step, run with this contact capacity, is known to have exceeded the world's
    /// contact limit.
    pub fn has_too_many(&self, capacity: u32) -> Option<(usize, usize)> {
        let known = self.known.filter(|known| Some(known.step) == self.host.steps.checked_sub(1))?;
        let limit = self.host.contact_limit();
        Some((known.found.too_many(limit, capacity)?, limit))
    }
}
