//! What was added and removed by hand, written down: with it a snapshot can be continued in a world made anew.
//!
//! A snapshot holds the state of bodies, not what they are made of. That comes from the scene and its emitters, and for
//! what came by hand from here: the same changes, before the same steps, lead to the same tables. None of the steps is
//! run again.

use glam::Vec2;

use super::emission::{check_batches, check_turns};
use super::{BodyId, JointId, Population, PopulationError};
use crate::scene::{Body, Compiled, Joint, check_gravity};
use crate::snapshot::SnapshotError;
use crate::world::WorldError;

/// A change made by hand.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    /// [`World::add_bodies`](crate::World::add_bodies).
    AddBodies(Vec<Body>),
    /// [`World::remove_bodies`](crate::World::remove_bodies).
    RemoveBodies(Vec<BodyId>),
    /// [`World::replace_body`](crate::World::replace_body).
    ReplaceBody(BodyId, Box<Body>),
    /// [`World::add_joints`](crate::World::add_joints).
    AddJoints(Vec<Joint>),
    /// [`World::add_joints_between`](crate::World::add_joints_between).
    AddJointsBetween(Vec<(Option<BodyId>, BodyId, Joint)>),
    /// [`World::remove_joints`](crate::World::remove_joints).
    RemoveJoints(Vec<JointId>),
    /// Gravity from here on, m/s².
    Gravity(Vec2),
}

/// Every change by hand in its order, each with the number of steps that were done before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal(Vec<(u64, Alteration)>);

impl Journal {
    /// Puts a change behind the others. Only those that succeeded belong here.
    pub fn push(&mut self, steps: u64, alteration: Alteration) {
        self.0.push((steps, alteration));
    }

    /// All of them.
    #[must_use]
    pub fn entries(&self) -> &[(u64, Alteration)] {
        &self.0
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Population {
    /// From a world as its scene made it to one that has seen the journal and done `until` steps.
    ///
    /// # Errors
    /// If an entry is refused, or out of order; or there are too many batches of emitters.
    pub fn relive(&mut self, compiled: &mut Compiled, journal: &Journal, until: u64) -> Result<(), WorldError> {
        check_batches(compiled, until)?;
        let mut turns = 0;
        let mut done = 0;
        for (at, alteration) in &journal.0 {
            if *at < done || *at > until {
                let what = "as the step of a change by hand";
                #[allow(clippy::cast_possible_truncation, reason = "for the message")]
                return Err(SnapshotError { what, found: *at as usize, expected: until as usize }.into());
            }
            self.skip(compiled, done, *at, &mut turns)?;
            done = *at;
            self.alter(compiled, alteration, done)?;
        }
        self.skip(compiled, done, until, &mut turns)
    }

    fn alter(&mut self, compiled: &mut Compiled, alteration: &Alteration, steps: u64) -> Result<(), PopulationError> {
        match alteration {
            Alteration::AddBodies(bodies) => self.add(compiled, bodies, steps).map(drop),
            Alteration::RemoveBodies(ids) => self.remove(compiled, ids).map(drop),
            Alteration::ReplaceBody(id, body) => self.replace(compiled, *id, body, steps).map(drop),
            Alteration::AddJoints(joints) => self.add_joints(compiled, joints).map(drop),
            Alteration::AddJointsBetween(joints) => {
                let joints = self.between(compiled, joints)?;
                self.add_joints(compiled, &joints).map(drop)
            }
            Alteration::RemoveJoints(ids) => self.remove_joints(compiled, ids).map(drop),
            Alteration::Gravity(gravity) => {
                check_gravity(*gravity)?;
                compiled.params.gravity = (*gravity).into();
                Ok(())
            }
        }
    }

    /// Keeps the books of the steps `from .. to`.
    fn skip(&mut self, compiled: &mut Compiled, from: u64, to: u64, turns: &mut usize) -> Result<(), WorldError> {
        if from >= to {
            return Ok(());
        }
        while self.next < to {
            *turns += 1;
            check_turns(*turns)?;
            let step = self.next.max(from);
            if step > from {
                self.stepped();
            }
            self.retire(compiled, step);
            self.emit(compiled, step);
            self.stepped();
        }
        self.stepped();
        Ok(())
    }
}
