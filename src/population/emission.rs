//! Emitters at run time: the batches that they add and remove before each step ([`Emitter`]). These depend only on the
//! number of the step, so that a world on either backend, and one that continues from a snapshot, has the same bodies
//! in the same slots. The timeline acts before them (`timeline.rs`).

use std::collections::VecDeque;

use super::{BodyId, Population, PopulationChange};
use crate::scene::{Compiled, Emitter, Joint};

/// Batches that an emitter has added so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Emitted {
    /// Number of batches added.
    made: u64,
    /// Batches that will be removed, the oldest first.
    batches: VecDeque<EmittedBatch>,
}

#[derive(Clone, Debug)]
struct EmittedBatch {
    /// First step with the batch.
    born: u64,
    bodies: Vec<BodyId>,
}

impl Emitted {
    /// Returns the step before which a batch is added or removed next.
    fn next(&self, emitter: &Emitter) -> u64 {
        let comes = emitter.batch_step(self.made);
        let goes = self.batches.front().and_then(|batch| Some(batch.born + u64::from(emitter.lifetime?)));
        comes.into_iter().chain(goes).min().unwrap_or(u64::MAX)
    }
}

impl Population {
    /// Returns true if a batch is added or removed before the step with this number, or the timeline acts.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        step >= self.next
    }

    /// Returns the step before which a batch is added or removed or the timeline acts next; `u64::MAX` if there is
    /// none.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Removes the batches that are too old or one too many. Called before [`Self::emit`].
    pub(crate) fn retire(&mut self, compiled: &mut Compiled, step: u64) -> Option<PopulationChange> {
        let emitters = compiled.script.emitters.clone();
        let mut gone = Vec::new();
        for (emitter, emitted) in emitters.iter().zip(&mut self.emitted) {
            let comes = emitter.batch_step(emitted.made).is_some_and(|at| at <= step);
            while let Some(batch) = emitted.batches.front() {
                let is_old = emitter.lifetime.is_some_and(|steps| batch.born + u64::from(steps) <= step);
                let is_one_too_many = comes && emitter.keep.is_some_and(|most| emitted.batches.len() >= most as usize);
                if !is_old && !is_one_too_many {
                    break;
                }
                gone.extend(emitted.batches.pop_front().into_iter().flat_map(|batch| batch.bodies));
            }
        }
        // Some bodies may have been removed by hand.
        gone.retain(|&id| self.id(compiled, id.index as usize) == Some(id));
        (!gone.is_empty()).then(|| self.remove_checked(compiled, &gone))
    }

    /// Adds the batches that are due. Returns the changes by the bodies and by their joints.
    pub(crate) fn emit(&mut self, compiled: &mut Compiled, step: u64) -> [PopulationChange; 2] {
        let emitters = compiled.script.emitters.clone();
        let mut change = PopulationChange::default();
        let mut joints = Vec::new();
        let mut all = std::mem::take(&mut self.emitted);
        for (emitter, emitted) in emitters.iter().zip(&mut all) {
            let Some(born) = emitter.batch_step(emitted.made).filter(|&at| at <= step) else { continue };
            let bodies: Vec<BodyId> =
                emitter.bodies.iter().map(|body| self.insert(compiled, body, step, &mut change)).collect();
            let slot = |body: usize| bodies[body].index as usize;
            joints.extend(emitter.joints.iter().map(|joint| Joint {
                a: joint.a.map(slot),
                b: slot(joint.b),
                ..joint.clone()
            }));
            emitted.made += 1;
            if emitter.keep.is_some() || emitter.lifetime.is_some() {
                emitted.batches.push_back(EmittedBatch { born, bodies });
            }
        }
        self.emitted = all;
        self.next = self.next_emission(compiled);
        if !change.bodies.is_empty() {
            self.finish_adding(compiled, &mut change);
        }
        if joints.is_empty() {
            return [change, PopulationChange::default()];
        }
        let (_, tied) = self.insert_joints(compiled, &joints, false);
        [change, tied]
    }

    /// Returns the emitters with the batches that are left after `steps`, for a scene that starts there.
    #[must_use]
    pub fn emitters_left(&self, compiled: &Compiled, emitters: &[Emitter], steps: u64) -> Vec<Emitter> {
        debug_assert_eq!(compiled.script.emitters.len(), emitters.len());
        let left = |(emitter, emitted): (&Emitter, &Emitted)| {
            let start = emitter.batch_step(emitted.made)?.saturating_sub(steps);
            let made = u32::try_from(emitted.made).unwrap_or(u32::MAX);
            Some(Emitter {
                start: u32::try_from(start).ok()?,
                count: emitter.count.map(|count| count.saturating_sub(made).max(1)),
                ..emitter.clone()
            })
        };
        emitters.iter().zip(&self.emitted).filter_map(left).collect()
    }

    /// Returns true if bodies or joints were added by hand.
    pub(crate) fn by_hand(&self) -> bool {
        self.by_hand
    }

    pub(super) fn next_emission(&self, compiled: &Compiled) -> u64 {
        let pairs = compiled.script.emitters.iter().zip(&self.emitted);
        let next = pairs.map(|(emitter, emitted)| emitted.next(emitter)).min().unwrap_or(u64::MAX);
        next.min(self.next_timed(compiled))
    }
}
