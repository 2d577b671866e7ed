//! The bodies behind the indices that a step reports, as they were in that step: on a GPU a report arrives steps later,
//! when another body may have the slot.

use super::{BodyId, Population};
use crate::command::CommandError;
use crate::scene::Compiled;
use crate::types::{NONE, VACANT};

/// Generations of the bodies that own shapes, and slots that were given out again.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// Generation of the body of each shape; 0 beyond the end.
    shapes: Vec<u32>,
    /// Slots of bodies that were given out again, each with the steps done then, oldest first.
    reused_bodies: Vec<(u64, u32)>,
    /// Slots of shapes that were given out again, each with the steps done then and the body before, oldest first.
    reused_shapes: Vec<(u64, u32, BodyId)>,
}

impl Owners {
    /// Notes that a body has come to a slot that another one had.
    pub fn reuse_body(&mut self, steps: u64, slot: u32) {
        self.reused_bodies.push((steps, slot));
    }

    /// Notes that a shape of a body has come to a place, which a shape of the body in slot `before` had, if there was one.
    pub fn own_shape(&mut self, steps: u64, place: u32, before: Option<u32>, owner: BodyId) {
        if let Some(index) = before {
            let generation = self.generation(place);
            self.reused_shapes.push((steps, place, BodyId { index, generation }));
        }
        if owner.generation != self.generation(place) {
            let length = self.shapes.len().max(place as usize + 1);
            self.shapes.resize(length, 0);
            self.shapes[place as usize] = owner.generation;
        }
    }

    fn generation(&self, place: u32) -> u32 {
        self.shapes.get(place as usize).copied().unwrap_or(0)
    }
}

impl Population {
    /// Forgets what only reports of the step `step` and of earlier ones need.
    pub(crate) fn forget_owners(&mut self, step: u64) {
        self.owners.reused_bodies.retain(|&(steps, _)| steps > step);
        self.owners.reused_shapes.retain(|&(steps, ..)| steps > step);
    }

    fn owner_of_shape(&self, compiled: &Compiled, shape: u32, step: u64) -> Option<BodyId> {
        let later = self.owners.reused_shapes.iter().find(|&&(steps, place, _)| steps > step && place == shape);
        let now = || {
            let index = compiled.shapes.get(shape as usize)?.body;
            Some(BodyId { index, generation: self.owners.generation(shape) })
        };
        later.map(|&(.., before)| before).or_else(now)
    }

    fn body_in_step(&self, slot: u32, step: u64) -> Option<BodyId> {
        let now = *self.generations.get(slot as usize)?;
        let later = self.owners.reused_bodies.iter().filter(|&&(steps, body)| steps > step && body == slot).count();
        #[allow(clippy::cast_possible_truncation, reason = "generations wrap as u32")]
        Some(BodyId { index: slot, generation: now.wrapping_sub(later as u32) })
    }
}

/// Body that a shape belonged to in a step, also where it has gone since.
pub(crate) fn owner_of_shape(
    compiled: &Compiled,
    population: Option<&Population>,
    shape: u32,
    step: u64,
) -> Option<BodyId> {
    match population {
        Some(population) => population.owner_of_shape(compiled, shape, step),
        None => Some(BodyId { index: compiled.shapes.get(shape as usize)?.body, generation: 0 }),
    }
}

/// Body that a shape belongs to now.
pub(crate) fn owner(compiled: &Compiled, population: Option<&Population>, shape: u32) -> BodyId {
    let owner = owner_of_shape(compiled, population, shape, u64::MAX);
    owner.unwrap_or(BodyId { index: NONE, generation: 0 })
}

/// Body that was in a slot in a step, also where it has gone since; none for the world.
pub(crate) fn body_in_step(
    compiled: &Compiled,
    population: Option<&Population>,
    slot: u32,
    step: u64,
) -> Option<BodyId> {
    match population {
        Some(population) => population.body_in_step(slot, step),
        None => ((slot as usize) < compiled.bodies.len()).then_some(BodyId { index: slot, generation: 0 }),
    }
}

/// Slot of a body.
///
/// # Errors
/// If it is not there, or no longer.
pub(crate) fn slot_of(compiled: &Compiled, population: Option<&Population>, id: BodyId) -> Result<usize, CommandError> {
    let slot = id.index as usize;
    let Some(body) = compiled.bodies.get(slot) else {
        return Err(CommandError::NoBody { body: slot, count: compiled.bodies.len() });
    };
    let generation = population.map_or(0, |population| population.generations[slot]);
    if body.kind == VACANT || generation != id.generation { Err(CommandError::Gone(id)) } else { Ok(slot) }
}

/// Id of the body in a slot, if there is one.
pub(crate) fn body_of_slot(compiled: &Compiled, population: Option<&Population>, slot: usize) -> Option<BodyId> {
    match population {
        Some(population) => population.id(compiled, slot),
        // Before a body comes or goes all are the first in their slots.
        None => (slot < compiled.bodies.len()).then(|| slot.into()),
    }
}

/// Bodies that there are, by slot.
pub(crate) fn living<'a>(
    compiled: &'a Compiled,
    population: Option<&'a Population>,
) -> impl Iterator<Item = BodyId> + 'a {
    let there = (0_u32..).zip(&compiled.bodies).filter(|(_, body)| body.kind != VACANT);
    there.map(move |(index, _)| {
        let generation = population.map_or(0, |population| population.generations[index as usize]);
        BodyId { index, generation }
    })
}
