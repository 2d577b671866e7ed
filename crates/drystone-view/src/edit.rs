//! What a user does to a running world. Everything is an [`Edit`] at a step, so that the past can be played again to the
//! same bits, and a second world beside the first gets the same.

use std::sync::Arc;

use glam::Vec2;

use drystone::World;
use drystone::low_level::Alteration;
use drystone::{Body, Joint};
use drystone::{BodyId, JointId};
use drystone::{Command, JointCommand};

/// One change, made between two steps.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// New bodies.
    Add(Arc<[Body]>),
    /// Takes bodies out; those that are gone already are passed over.
    Remove(Arc<[BodyId]>),
    /// Ties a body to the hand.
    Join(BodyId, Box<Joint>),
    /// New joints, each between two bodies or between the world and a body.
    Tie(Arc<[(Option<BodyId>, BodyId, Joint)]>),
    /// Changes that are one for a user: all of them or none.
    Group(What, Arc<[Edit]>),
    /// Takes joints out; those that are gone already are passed over.
    Part(JointId),
    /// Asks something of a joint, if it is still there.
    Joint(JointId, JointCommand),
    /// Asks something of bodies; those that are gone already are passed over.
    Command(Arc<[(BodyId, Command)]>),
    /// Gravity from here on, m/s².
    Gravity(Vec2),
    /// A change in the journal of a saved world.
    Saved(Arc<Alteration>),
}

/// Meaning of changes that are one for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Another description of a body: it is taken out, and one as it shall be put in its place.
    Body,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Made {
    Nothing,
    Joint(JointId),
    Bodies(Vec<BodyId>),
}

impl Edit {
    /// The change without what is gone already; `None` where nothing is left of it.
    pub fn effective(self, world: &mut World) -> Option<Self> {
        match self {
            Self::Remove(ids) => {
                let there: Arc<[BodyId]> = ids.iter().copied().filter(|&id| is_there(world, id)).collect();
                (!there.is_empty()).then_some(Self::Remove(there))
            }
            Self::Part(id) | Self::Joint(id, _) if world.joint_id(id.index as usize) != Some(id) => None,
            edit => Some(edit),
        }
    }

    /// The change in a few words, as in "undone: 3 new bodies".
    pub fn words(&self) -> String {
        let count = |n: usize, one: &str, more: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {more}") };
        match self {
            Self::Add(bodies) => count(bodies.len(), "new body", "new bodies"),
            Self::Remove(ids) => format!("{} removed", count(ids.len(), "body", "bodies")),
            Self::Join(..) | Self::Part(_) | Self::Joint(..) => "a body pulled along".to_owned(),
            Self::Tie(joints) => count(joints.len(), "new joint", "new joints"),
            Self::Group(What::Body, _) => "a body changed".to_owned(),
            Self::Command(all) => format!("{} pushed", count(all.len(), "body", "bodies")),
            Self::Gravity(_) => "gravity changed".to_owned(),
            Self::Saved(_) => "a change".to_owned(),
        }
    }

    /// The change as the journal of a saved world has it; nothing where the state has it.
    pub fn alterations(&self) -> Vec<Alteration> {
        match self {
            Self::Group(_, edits) => edits.iter().flat_map(Self::alterations).collect(),
            edit => edit.alteration().into_iter().collect(),
        }
    }

    fn alteration(&self) -> Option<Alteration> {
        Some(match self {
            Self::Add(bodies) => Alteration::AddBodies(bodies.to_vec()),
            Self::Remove(ids) => Alteration::RemoveBodies(ids.to_vec()),
            Self::Join(body, joint) => Alteration::AddJointsBetween(vec![(None, *body, (**joint).clone())]),
            Self::Tie(joints) => Alteration::AddJointsBetween(joints.to_vec()),
            Self::Part(joint) => Alteration::RemoveJoints(vec![*joint]),
            Self::Gravity(gravity) => Alteration::Gravity(*gravity),
            Self::Saved(change) => (**change).clone(),
            Self::Joint(..) | Self::Command(_) | Self::Group(..) => return None,
        })
    }

    /// Gravity that it sets.
    pub fn gravity(&self) -> Option<Vec2> {
        match self {
            Self::Gravity(gravity) => Some(*gravity),
            Self::Saved(change) => match **change {
                Alteration::Gravity(gravity) => Some(gravity),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes the change.
    ///
    /// # Errors
    /// Why not, in words; then nothing has changed, but for the first of a group.
    pub fn apply(&self, world: &mut World) -> Result<Made, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        match self {
            Self::Add(bodies) => world.add_bodies(bodies).map(Made::Bodies).map_err(|e| text(&e)),
            Self::Remove(ids) => {
                let there: Vec<BodyId> = ids.iter().copied().filter(|&id| is_there(world, id)).collect();
                world.remove_bodies(&there).map(|()| Made::Nothing).map_err(|e| text(&e))
            }
            Self::Join(body, joint) => {
                let made = world.add_joints_between(&[(None, *body, (**joint).clone())]).map_err(|e| text(&e))?;
                Ok(made.first().map_or(Made::Nothing, |&id| Made::Joint(id)))
            }
            Self::Tie(joints) => world.add_joints_between(joints).map(|_| Made::Nothing).map_err(|e| text(&e)),
            Self::Group(_, edits) => {
                edits.iter().try_for_each(|edit| edit.apply(world).map(drop))?;
                Ok(Made::Nothing)
            }
            Self::Part(joint) => {
                if world.joint_id(joint.index as usize) == Some(*joint) {
                    world.remove_joints(&[*joint]).map_err(|e| text(&e))?;
                }
                Ok(Made::Nothing)
            }
            Self::Joint(id, command) => {
                if world.joint_id(id.index as usize) == Some(*id) {
                    world.command_joint(*id, *command).map_err(|e| text(&e))?;
                }
                Ok(Made::Nothing)
            }
            Self::Command(all) => {
                for &(id, command) in all.iter() {
                    if is_there(world, id) {
                        world.command(id, command).map_err(|e| text(&e))?;
                    }
                }
                Ok(Made::Nothing)
            }
            Self::Gravity(gravity) => {
                world.set_gravity(*gravity).map_err(|e| text(&e))?;
                Ok(Made::Nothing)
            }
            Self::Saved(change) => {
                match &**change {
                    Alteration::AddBodies(bodies) => world.add_bodies(bodies).map(drop),
                    Alteration::RemoveBodies(ids) => world.remove_bodies(ids),
                    Alteration::AddJoints(joints) => world.add_joints(joints).map(drop),
                    Alteration::AddJointsBetween(joints) => world.add_joints_between(joints).map(drop),
                    Alteration::RemoveJoints(ids) => world.remove_joints(ids),
                    Alteration::Gravity(gravity) => world.set_gravity(*gravity),
                }
                .map_err(|e| text(&e))?;
                Ok(Made::Nothing)
            }
        }
    }
}

fn is_there(world: &mut World, id: BodyId) -> bool {
    world.body_id(id.index as usize) == Some(id)
}
