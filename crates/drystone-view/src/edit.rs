//! Changes to a running world. Each is an [`Edit`] at a step, so that the past can be replayed to the same bits and a
//! copy of the world can get the same change.

use std::sync::Arc;

use glam::Vec2;

use super::select::BodyChange;
use drystone::World;
use drystone::low_level::population::Alteration;
use drystone::{Body, Joint};
use drystone::{BodyId, JointId};
use drystone::{Command, JointCommand};

/// Change of a world, made between two steps.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Adds bodies.
    Add(Arc<[Body]>),
    /// Removes bodies, except those that are gone already.
    Remove(Arc<[BodyId]>),
    /// Adds the mouse joint that pulls a grabbed body.
    Join(BodyId, Box<Joint>),
    /// Adds joints, each between two bodies or between the world and a body.
    Tie(Arc<[(Option<BodyId>, BodyId, Joint)]>),
    /// Replaces the description of a body, which keeps its id; its joints are removed.
    Replace(BodyId, Arc<Body>),
    /// Changes made together: all of them or none.
    Group(Arc<[Edit]>),
    /// Removes the mouse joint of a grabbed body, if it is still there.
    Part(JointId),
    /// Removes joints, except those that are gone already.
    Untie(Arc<[JointId]>),
    /// Gives a command to a joint, if it is still there.
    Joint(JointId, JointCommand),
    /// Gives commands to bodies, except those that are gone already.
    Command(Arc<[(BodyId, Command)]>),
    /// Sets gravity, m/s².
    Gravity(Vec2),
    /// Makes a change from the journal of a saved world.
    Saved(Arc<Alteration>),
}

/// Joint between bodies by their ids, or between the world and a body.
pub(crate) type Tie = (Option<BodyId>, BodyId, Joint);

/// Removed bodies, as they were, and the joints that held them.
#[derive(Debug)]
pub(crate) struct RemovedBodies {
    pub ids: Vec<BodyId>,
    pub bodies: Vec<Body>,
    pub joints: Vec<(JointId, Tie)>,
}

/// Body with its origin, m, and its angle, rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stand {
    pub body: BodyId,
    pub position: Vec2,
    pub angle: f32,
}

/// Change of the settings of a joint.
#[derive(Clone, Debug)]
pub(crate) struct ChangedJoint {
    pub id: JointId,
    /// Name of the setting.
    pub what: &'static str,
    /// Descriptions before and after, with the slots of the bodies.
    pub before: Joint,
    pub after: Joint,
}

/// Kind of a change, which decides how undo reverts it and whether a restart keeps it.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Bodies are dropped, shot, pushed or pulled. A restart leaves it out.
    Play,
    /// Bodies are built.
    Build,
    /// A property of a body is changed; with its description from before.
    Change(BodyId, BodyChange, Arc<Body>),
    /// A restart puts a body where it began; this is no change of the user.
    Place(Stand),
    /// Bodies are removed; with their descriptions, unless there are too many.
    Remove(Option<Arc<RemovedBodies>>),
    /// Settings of a joint are changed.
    Joint(Arc<ChangedJoint>),
    /// A joint is removed; with its description.
    Untie(Arc<(JointId, Tie)>),
    /// Joints are built; with the places of all jointed bodies, if the world had run.
    Tie(Arc<[Stand]>),
    /// Gravity is set.
    Gravity,
    /// A change is undone, or several in a row, by their numbers.
    TakeBack(Arc<[u64]>),
}

/// Change with its kind, as the log keeps it.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEdit {
    pub edit: Edit,
    pub meaning: Meaning,
    /// True if it makes an undone change again.
    pub again: bool,
    /// Ids that its bodies and joints had before they were undone, which later entries of the log may name.
    pub was: Arc<(Vec<BodyId>, Vec<JointId>)>,
}

impl RecordedEdit {
    pub fn new(edit: Edit, meaning: Meaning) -> Self {
        Self { edit, meaning, again: false, was: Arc::default() }
    }

    /// Short text, as in "undone: 3 new bodies".
    pub fn words(&self) -> String {
        match &self.meaning {
            Meaning::Change(_, change, _) => change.words(),
            Meaning::Joint(change) => format!("{} of a joint changed", change.what),
            _ => self.edit.words(),
        }
    }
}

impl From<&Edit> for RecordedEdit {
    fn from(edit: &Edit) -> Self {
        let meaning = match edit {
            Edit::Gravity(_) => Meaning::Gravity,
            _ => Meaning::Play,
        };
        Self::new(edit.clone(), meaning)
    }
}

/// Bodies and joints that a change added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BuiltParts {
    pub bodies: Vec<BodyId>,
    pub joints: Vec<JointId>,
}

impl BuiltParts {
    fn bodies(bodies: Vec<BodyId>) -> Self {
        Self { bodies, joints: Vec::new() }
    }

    fn joints(joints: Vec<JointId>) -> Self {
        Self { bodies: Vec::new(), joints }
    }
}

impl Edit {
    /// Leaves out bodies and joints that are gone already; returns `None` if nothing is left.
    pub fn effective(self, world: &mut World) -> Option<Self> {
        match self {
            Self::Remove(ids) => {
                let there: Arc<[BodyId]> = ids.iter().copied().filter(|&id| world.contains(id)).collect();
                (!there.is_empty()).then_some(Self::Remove(there))
            }
            Self::Untie(ids) => {
                let is_there = |id: &JointId| world.joint_id(id.index as usize) == Some(*id);
                let there: Arc<[JointId]> = ids.iter().copied().filter(is_there).collect();
                (!there.is_empty()).then_some(Self::Untie(there))
            }
            Self::Part(id) | Self::Joint(id, _) if world.joint_id(id.index as usize) != Some(id) => None,
            edit => Some(edit),
        }
    }

    /// Short text, as in "undone: 3 new bodies".
    pub fn words(&self) -> String {
        let count = |n: usize, one: &str, more: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {more}") };
        match self {
            Self::Add(bodies) => count(bodies.len(), "new body", "new bodies"),
            Self::Remove(ids) => format!("{} removed", count(ids.len(), "body", "bodies")),
            Self::Join(..) | Self::Part(_) | Self::Joint(..) => "a body pulled along".to_owned(),
            Self::Tie(joints) => count(joints.len(), "new joint", "new joints"),
            Self::Untie(joints) => format!("{} removed", count(joints.len(), "joint", "joints")),
            Self::Replace(..) | Self::Group(_) => "a body changed".to_owned(),
            Self::Command(all) => format!("{} pushed", count(all.len(), "body", "bodies")),
            Self::Gravity(_) => "gravity changed".to_owned(),
            Self::Saved(_) => "a change".to_owned(),
        }
    }

    /// Entries for the journal of a saved world; none for changes that are part of the saved state.
    pub fn alterations(&self) -> Vec<Alteration> {
        match self {
            Self::Group(edits) => edits.iter().flat_map(Self::alterations).collect(),
            edit => edit.alteration().into_iter().collect(),
        }
    }

    fn alteration(&self) -> Option<Alteration> {
        Some(match self {
            Self::Add(bodies) => Alteration::AddBodies(bodies.to_vec()),
            Self::Remove(ids) => Alteration::RemoveBodies(ids.to_vec()),
            Self::Join(body, joint) => Alteration::AddJointsBetween(vec![(None, *body, (**joint).clone())]),
            Self::Tie(joints) => Alteration::AddJointsBetween(joints.to_vec()),
            Self::Replace(id, body) => Alteration::ReplaceBody(*id, Box::new((**body).clone())),
            Self::Part(joint) => Alteration::RemoveJoints(vec![*joint]),
            Self::Untie(joints) => Alteration::RemoveJoints(joints.to_vec()),
            Self::Gravity(gravity) => Alteration::Gravity(*gravity),
            Self::Saved(change) => (**change).clone(),
            Self::Joint(..) | Self::Command(_) | Self::Group(_) => return None,
        })
    }

    /// Gravity that the change sets, m/s².
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
    /// The reason, in words. Nothing has changed then, except by the first changes of a group.
    #[allow(clippy::too_many_lines, reason = "one arm a kind of change")]
    pub fn apply(&self, world: &mut World) -> Result<BuiltParts, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        match self {
            Self::Add(bodies) => world.add_bodies(bodies).map(BuiltParts::bodies).map_err(|e| text(&e)),
            Self::Remove(ids) => {
                let there: Vec<BodyId> = ids.iter().copied().filter(|&id| world.contains(id)).collect();
                world.remove_bodies(&there).map(|()| BuiltParts::default()).map_err(|e| text(&e))
            }
            Self::Replace(id, body) => {
                world.replace_body(*id, body).map(|()| BuiltParts::default()).map_err(|e| text(&e))
            }
            Self::Join(body, joint) => {
                let tie = (None, *body, (**joint).clone());
                world.add_joints_between(&[tie]).map(BuiltParts::joints).map_err(|e| text(&e))
            }
            Self::Tie(joints) => world.add_joints_between(joints).map(BuiltParts::joints).map_err(|e| text(&e)),
            Self::Group(edits) => {
                let mut all = BuiltParts::default();
                for edit in edits.iter() {
                    let made = edit.apply(world)?;
                    all.bodies.extend(made.bodies);
                    all.joints.extend(made.joints);
                }
                Ok(all)
            }
            Self::Untie(joints) => {
                let is_there = |id: &JointId| world.joint_id(id.index as usize) == Some(*id);
                let there: Vec<JointId> = joints.iter().copied().filter(is_there).collect();
                world.remove_joints(&there).map(|()| BuiltParts::default()).map_err(|e| text(&e))
            }
            Self::Part(joint) => {
                if world.joint_id(joint.index as usize) == Some(*joint) {
                    world.remove_joints(&[*joint]).map_err(|e| text(&e))?;
                }
                Ok(BuiltParts::default())
            }
            Self::Joint(id, command) => {
                if world.joint_id(id.index as usize) == Some(*id) {
                    world.command_joint(*id, *command).map_err(|e| text(&e))?;
                }
                Ok(BuiltParts::default())
            }
            Self::Command(all) => {
                for &(id, command) in all.iter() {
                    if world.contains(id) {
                        world.command(id, command).map_err(|e| text(&e))?;
                    }
                }
                Ok(BuiltParts::default())
            }
            Self::Gravity(gravity) => {
                world.set_gravity(*gravity).map_err(|e| text(&e))?;
                Ok(BuiltParts::default())
            }
            Self::Saved(change) => {
                match &**change {
                    Alteration::AddBodies(bodies) => world.add_bodies(bodies).map(drop),
                    Alteration::RemoveBodies(ids) => world.remove_bodies(ids),
                    Alteration::ReplaceBody(id, body) => world.replace_body(*id, body),
                    Alteration::SetShapes(id, shapes) => world.set_shapes(*id, shapes),
                    Alteration::SetProperties(properties) => world.set_all(properties),
                    Alteration::AddJoints(joints) => world.add_joints(joints).map(drop),
                    Alteration::AddJointsBetween(joints) => world.add_joints_between(joints).map(drop),
                    Alteration::ReplaceJoint(id, joint) => world.replace_joint(*id, joint),
                    Alteration::RemoveJoints(ids) => world.remove_joints(ids),
                    Alteration::Gravity(gravity) => world.set_gravity(*gravity),
                }
                .map_err(|e| text(&e))?;
                Ok(BuiltParts::default())
            }
        }
    }
}
