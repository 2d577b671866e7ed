//! Lookup of the body that a slot or a shape belonged to in an earlier step. Events of a GPU arrive some steps later,
//! when another body may have the slot.

use super::{BodyId, Population};
use crate::scene::Compiled;
use crate::types::{NONE, VACANT};

/// Generations of the bodies that own shapes, and the recent reuses of slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// Generation of the body of each shape; 0 beyond the end.
    shapes: Vec<u32>,
    /// Slots of bodies that were reused, each with the number of steps then, oldest first.
    reused_bodies: Vec<(u64, u32)>,
    /// Slots of shapes that were reused, each with the number of steps then and the body before, oldest first.
    reused_shapes: Vec<(u64, u32, BodyId)>,
}

impl Owners {
    /// Records that a slot of another body was reused.
    pub fn reuse_body(&mut self, steps: u64, slot: u32) {
        self.reused_bodies.push((steps, slot));
    }

    /// Records the owner of a shape. `before` is the slot of the body whose shape had this slot before, if any.
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
    /// Drops records that only events of step `step` and earlier ones need.
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

/// Returns the body to which a shape belonged in a step, also if it was removed since.
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

/// Returns the body to which a shape belongs now.
pub(crate) fn owner(compiled: &Compiled, population: Option<&Population>, shape: u32) -> BodyId {
    let owner = owner_of_shape(compiled, population, shape, u64::MAX);
    owner.unwrap_or(BodyId { index: NONE, generation: 0 })
}

/// Returns the body that had a slot in a step, also if it was removed since; `None` for the world.
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

/// Returns the id of the body in a slot, if there is one.
pub(crate) fn body_of_slot(compiled: &Compiled, population: Option<&Population>, slot: usize) -> Option<BodyId> {
    match population {
        Some(population) => population.id(compiled, slot),
        // Without a population all bodies are the first in their slots.
        None => (slot < compiled.bodies.len()).then(|| slot.into()),
    }
}

/// Returns the ids of all bodies, by slot.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Scene, Shape};

    /// Late events find their bodies: the lookup alone, without the timing of a device.
    #[test]
    fn slots_that_were_given_out_again_are_known_by_step() {
        let mut scene = Scene::new("slots");
        let hammer = scene.add(Body::dynamic(0.0, 6.0).shape(Shape::half_box(0.2, 0.5)));
        let mut compiled = Compiled::new(&scene).unwrap();
        let mut population = Population::new(&compiled);
        let ball = Body::dynamic(4.0, 0.5).shape(Shape::circle(0.5));
        let old = BodyId::from(hammer);
        population.remove(&mut compiled, &[old]).unwrap();
        population.stepped();
        let (ids, _) = population.add(&mut compiled, &[ball], 5).unwrap();
        let (new, shape) = (ids[0], 0);
        for (step, expected) in [(0, old), (4, old), (5, new), (9, new)] {
            assert_eq!(owner_of_shape(&compiled, Some(&population), shape, step), Some(expected), "step {step}");
            assert_eq!(body_in_step(&compiled, Some(&population), 0, step), Some(expected), "step {step}");
        }
        population.forget_owners(4);
        assert_eq!(body_in_step(&compiled, Some(&population), 0, 4), Some(old), "still needed for that step");
        population.forget_owners(5);
        assert_eq!(body_in_step(&compiled, Some(&population), 0, 4), Some(new), "forgotten");
    }
}
