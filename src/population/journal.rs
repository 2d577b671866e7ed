//! [`Journal`]: the record of all changes made by hand, such as added bodies. With it, a newly made world continues
//! from a snapshot that was saved as bytes.
//!
//! A snapshot holds the state of bodies, not their shapes and masses. Those come from the scene and its emitters, and
//! for bodies that were added by hand from the journal: the same changes, before the same steps, give the same tables.
//! No step is run again.

use glam::Vec2;

use super::emission::{check_batches, check_turns};
use super::{BodyId, JointId, Population, PopulationError};
use crate::scene::{Body, Compiled, Joint, check_gravity};
use crate::snapshot::SnapshotError;
use crate::world::WorldError;

/// A change by hand.
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
    /// [`World::set_gravity`](crate::World::set_gravity), m/s².
    Gravity(Vec2),
}

/// All changes by hand in their order, each with the number of steps before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal(Vec<(u64, Alteration)>);

impl Journal {
    /// Appends a change. Only changes that succeeded belong here.
    pub fn push(&mut self, steps: u64, alteration: Alteration) {
        self.0.push((steps, alteration));
    }

    /// Returns all changes, each with the number of steps before it.
    #[must_use]
    pub fn entries(&self) -> &[(u64, Alteration)] {
        &self.0
    }

    /// Returns the number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Population {
    /// Brings the population of a newly made world to the one after all changes of the journal and `until` steps.
    ///
    /// # Errors
    /// An entry is refused or out of order; or there are too many batches of emitters.
    pub fn relive(&mut self, compiled: &mut Compiled, journal: &Journal, until: u64) -> Result<(), WorldError> {
        check_batches(compiled, until)?;
        let mut turns = 0;
        let mut done = 0;
        for (at, alteration) in &journal.0 {
            if *at < done || *at > until {
                let what = "step of a change by hand";
                #[allow(clippy::cast_possible_truncation, reason = "for the message")]
                return Err(SnapshotError { what, found: *at as usize, expected: until as usize }.into());
            }
            self.skip_steps(compiled, done, *at, &mut turns)?;
            done = *at;
            self.apply(compiled, alteration, done)?;
        }
        self.skip_steps(compiled, done, until, &mut turns)
    }

    fn apply(&mut self, compiled: &mut Compiled, alteration: &Alteration, steps: u64) -> Result<(), PopulationError> {
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

    /// Runs the emitters for the steps `from .. to`, without the steps themselves.
    fn skip_steps(&mut self, compiled: &mut Compiled, from: u64, to: u64, turns: &mut usize) -> Result<(), WorldError> {
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
