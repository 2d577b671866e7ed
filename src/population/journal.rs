//! [`Journal`]: the record of all changes made by hand, such as added bodies. With it, a newly made world continues
//! from a snapshot that was saved as bytes.
//!
//! A snapshot holds the state of bodies, not their shapes and masses. Those come from the scene and its emitters, and
//! for bodies that were added by hand from the journal: the same changes, before the same steps, give the same tables.
//! No step is run again.

use glam::Vec2;

use super::{BodyId, JointId};
use crate::scene::{Body, Joint, Property, Shape};

/// A change by hand.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    /// [`World::add_bodies`](crate::World::add_bodies).
    AddBodies(Vec<Body>),
    /// [`World::remove_bodies`](crate::World::remove_bodies).
    RemoveBodies(Vec<BodyId>),
    /// [`World::replace_body`](crate::World::replace_body).
    ReplaceBody(BodyId, Box<Body>),
    /// [`World::set_all`](crate::World::set_all).
    SetProperties(Vec<(BodyId, Property)>),
    /// [`World::set_shapes`](crate::World::set_shapes).
    SetShapes(BodyId, Vec<Shape>),
    /// [`World::add_joints`](crate::World::add_joints).
    AddJoints(Vec<Joint>),
    /// [`World::add_joints_between`](crate::World::add_joints_between).
    AddJointsBetween(Vec<(Option<BodyId>, BodyId, Joint)>),
    /// [`World::replace_joint`](crate::World::replace_joint).
    ReplaceJoint(JointId, Box<Joint>),
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
