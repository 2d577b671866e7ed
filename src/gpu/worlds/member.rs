//! What the host knows of one of many worlds. It may be elsewhere while others step: what arrives for it meanwhile waits at
//! its place.

use crate::gpu::record::Load;
use crate::gpu::room::FoundContacts;
use crate::host::Host;
use crate::scene::Compiled;
use crate::snapshot::is_at_rest;
use crate::types::{self, Counters};

/// What the newest step of a world that has arrived had to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub step: u64,
    /// It began and ended with nobody awake.
    pub at_rest: bool,
    pub load: Load,
    /// Contacts that the world wants room for.
    pub contacts: u64,
    pub found: FoundContacts,
}

impl Known {
    pub fn new(step: u64, counters: &Counters) -> Self {
        let contacts = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        Self {
            step,
            at_rest: is_at_rest(counters),
            load: Load::of(counters),
            contacts,
            found: FoundContacts::new(counters),
        }
    }
}

/// What arrived of a step.
#[derive(Debug)]
pub(super) struct News {
    pub known: Known,
    /// It dropped contacts or events.
    pub overflowed: bool,
    /// Events that there were, and those that there was room for.
    pub event_count: u32,
    pub events: Vec<types::Event>,
}

/// Host-side state of one world in a batch.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub host: Host,
    /// Shapes that have a place in the lists of contacts.
    pub listed: usize,
    /// Parity of the tables that have the contacts of its last step.
    pub parity: usize,
    /// Room for events that a step is known to have lacked.
    pub event_need: u32,
    pub known: Option<Known>,
}

impl Member {
    pub fn new(compiled: Compiled) -> Self {
        let listed = compiled.shapes.len();
        Self { host: Host::new(compiled), listed, parity: 0, event_need: 0, known: None }
    }

    /// Returns true if a step is known to change nothing, as in a world alone: its count goes on, and nothing is recorded.
    pub fn rests(&self) -> bool {
        let known = self.known.is_some_and(|known| known.step >= self.host.asked && known.at_rest);
        known && self.host.is_idle()
    }

    /// Learns what has arrived.
    pub fn hear(&mut self, news: &mut Vec<News>) {
        for News { known, overflowed, event_count, events } in news.drain(..) {
            self.known = Some(known);
            if event_count as usize > events.len() {
                self.event_need = self.event_need.max(event_count);
            }
            if overflowed {
                self.host.overflowed.push(known.step);
            }
            self.host.hear(known.step, events);
        }
    }

    /// Returns (found, limit) if the step just done, with room for so many contacts, is known to have had more than the world
    /// may have.
    pub fn has_too_many(&self, capacity: u32) -> Option<(usize, usize)> {
        let known = self.known.filter(|known| Some(known.step) == self.host.steps.checked_sub(1))?;
        let limit = self.host.contact_limit();
        Some((known.found.too_many(limit, capacity)?, limit))
    }
}
