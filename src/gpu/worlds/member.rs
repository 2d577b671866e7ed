//! What the host knows of one of many worlds. It may be elsewhere while others step: what arrives for it meanwhile waits at
//! its place.

use crate::cancel::StepLimits;
use crate::command::{Command, CommandError, JointCommand, rouse, wake_all};
use crate::event;
use crate::gpu::record::Load;
use crate::gpu::room::FoundContacts;
use crate::population::{BodyId, JointId, Population, ends, slot_of};
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

/// One of the worlds.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub compiled: Compiled,
    pub limits: StepLimits,
    /// Who came and went, once somebody did.
    pub population: Option<Population>,
    /// As it began, once somebody came or went, or if its scene makes bodies as it runs.
    pub origin: Option<Box<Compiled>>,
    /// Shapes that have a place in the lists of contacts.
    pub listed: usize,
    /// Steps recorded.
    pub steps: u64,
    /// Parity of the tables that have the contacts of its last step.
    pub parity: usize,
    pub commands: Vec<types::Command>,
    /// Those that have arrived and nobody has taken.
    pub events: Vec<event::Event>,
    /// Room for them that a step is known to have lacked.
    pub event_need: u32,
    /// Steps known to have overflowed.
    pub overflowed: Vec<u64>,
    pub known: Option<Known>,
    /// The first step that knows of all that was asked so far.
    pub asked: u64,
}

impl Member {
    pub fn new(compiled: Compiled) -> Self {
        Self {
            population: Population::of_script(&compiled),
            origin: (!compiled.script.is_empty()).then(|| Box::new(compiled.clone())),
            listed: compiled.shapes.len(),
            limits: StepLimits::default(),
            compiled,
            steps: 0,
            parity: 0,
            commands: Vec::new(),
            events: Vec::new(),
            event_need: 0,
            overflowed: Vec::new(),
            known: None,
            asked: 0,
        }
    }

    /// Whether a step is known to change nothing, as in a world alone: its count goes on, and nothing is recorded.
    pub fn rests(&self) -> bool {
        let emits = self.population.as_ref().is_some_and(|population| population.is_due(self.steps));
        let asked = !self.commands.is_empty() || !self.compiled.paths.is_empty() || emits;
        let known = self.known.is_some_and(|known| known.step >= self.asked && known.at_rest);
        self.compiled.settings.sleep && !asked && known
    }

    /// Learns what has arrived.
    pub fn hear(&mut self, news: &mut Vec<News>) {
        for News { known, overflowed, event_count, events } in news.drain(..) {
            self.known = Some(known);
            if event_count as usize > events.len() {
                self.event_need = self.event_need.max(event_count);
            }
            if overflowed {
                self.overflowed.push(known.step);
            }
            let population = self.population.as_ref();
            let told = events.iter().map(|event| event::Event::new(&self.compiled, population, known.step, event));
            self.events.extend(told);
            if let Some(population) = &mut self.population {
                population.forget_owners(known.step);
            }
        }
    }

    /// Returns (found, limit) if the step just done, with room for so many contacts, is known to have had more than the world
    /// may have.
    pub fn has_too_many(&self, capacity: u32) -> Option<(usize, usize)> {
        let known = self.known.filter(|known| Some(known.step) == self.steps.checked_sub(1))?;
        let limit = self.contact_limit();
        Some((known.found.too_many(limit, capacity)?, limit))
    }

    pub fn contact_limit(&self) -> usize {
        self.limits.contacts(self.compiled.shapes.len())
    }

    pub fn command(&mut self, body: BodyId, command: Command) -> Result<(), CommandError> {
        let body = slot_of(&self.compiled, self.population.as_ref(), body)?;
        let flat = command.push(&self.compiled, body, &mut self.commands)?;
        self.asked = self.steps;
        // The device's bodies learn it with the step; this copy is for snapshots.
        flat.mirror(&mut self.compiled.bodies[body]);
        Ok(())
    }

    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let Self { compiled, commands, asked, steps, .. } = self;
        let records = command.flatten(compiled, joint)?;
        *asked = *steps;
        compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        commands.extend(records);
        let ends = compiled.joints.place(joint.index).map(|place| ends(&compiled.joints.joints[place]));
        rouse(compiled, ends.into_iter().flatten(), commands);
        Ok(())
    }

    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
        self.asked = self.steps;
    }
}
