//! The changes of a world's population that checkpoints record, and their form as a journal of the library.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::SessionMemory;
use super::commands::{between, grabbing};
use crate::op::{
    ENTRY_BYTES, ID_BYTES, PartList, body_from_text, joint_from_text, read_body, read_joint, read_parts,
    read_properties, read_shapes,
};
use crate::problem::Problem;
use drystone::low_level::population::{Alteration, Journal};
use drystone::{BodyId, NamedMaterial};

/// Change of the population, as recorded in checkpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayEntry {
    pub(super) at: u64,
    pub(super) what: ReplayedChange,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReplayedChange {
    Spawn { bodies: PartList, joints: PartList, ids: Vec<String> },
    Remove { bodies: Vec<String> },
    Replace { body: String, with: Box<RawValue> },
    SetShapes { body: String, shapes: PartList },
    Set { bodies: Vec<String>, properties: Box<RawValue> },
    Join { a: Option<String>, b: String, joint: Box<RawValue> },
    ReplaceJoint { joint: String, with: Box<RawValue>, is_to_world: bool },
    Grab { body: String, point: [f32; 2], target: [f32; 2], max_force: f32, hertz: f32, damping_ratio: f32 },
    Unjoin { joints: Vec<String> },
}

impl ReplayEntry {
    /// Returns the approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match &self.what {
                ReplayedChange::Spawn { bodies, joints, ids } => bodies.bytes() + joints.bytes() + ID_BYTES * ids.len(),
                ReplayedChange::Remove { bodies: ids } | ReplayedChange::Unjoin { joints: ids } => ID_BYTES * ids.len(),
                ReplayedChange::Set { bodies, properties } => ID_BYTES * bodies.len() + properties.get().len(),
                ReplayedChange::Replace { with, .. } | ReplayedChange::ReplaceJoint { with, .. } => {
                    ID_BYTES + with.get().len()
                }
                ReplayedChange::SetShapes { shapes, .. } => ID_BYTES + shapes.bytes(),
                ReplayedChange::Join { joint, .. } => 2 * ID_BYTES + joint.get().len(),
                ReplayedChange::Grab { .. } => 3 * ENTRY_BYTES,
            }
    }
}

/// Converts the journal of a world with these materials to the library's form.
pub(super) fn journal(memory: &SessionMemory, materials: &[NamedMaterial]) -> Result<Journal, String> {
    let detail = |problem: Problem| problem.detail;
    let mut journal = Journal::default();
    if let Some(gravity) = memory.gravity {
        // Only the last value counts, and no table depends on its time.
        journal.push(0, Alteration::Gravity(gravity.into()));
    }
    for ReplayEntry { at, what } in &memory.journal {
        match what {
            ReplayedChange::Spawn { bodies, joints, ids } => {
                let (bodies, ties) = read_parts(bodies, joints, materials).map_err(detail)?;
                let ids: Result<Vec<BodyId>, String> = ids.iter().map(|id| body_from_text(id)).collect();
                let ids = ids?;
                journal.push(*at, Alteration::AddBodies(bodies));
                if !ties.is_empty() {
                    let ties = ties.into_iter().filter_map(|joint| between(&ids, joint)).collect();
                    journal.push(*at, Alteration::AddJointsBetween(ties));
                }
            }
            ReplayedChange::Remove { bodies } => {
                let ids: Result<_, String> = bodies.iter().map(|id| body_from_text(id)).collect();
                journal.push(*at, Alteration::RemoveBodies(ids?));
            }
            ReplayedChange::Replace { body, with } => {
                let built = Box::new(read_body(with, materials).map_err(detail)?);
                journal.push(*at, Alteration::ReplaceBody(body_from_text(body)?, built));
            }
            ReplayedChange::SetShapes { body, shapes } => {
                let built = read_shapes(shapes, materials).map_err(detail)?;
                journal.push(*at, Alteration::SetShapes(body_from_text(body)?, built));
            }
            ReplayedChange::Set { bodies, properties } => {
                let built = read_properties(properties).map_err(detail)?;
                let ids: Result<Vec<BodyId>, String> = bodies.iter().map(|id| body_from_text(id)).collect();
                let of_body = |id| built.iter().map(move |&property| (id, property));
                journal.push(*at, Alteration::SetProperties(ids?.into_iter().flat_map(of_body).collect()));
            }
            ReplayedChange::ReplaceJoint { joint, with, is_to_world } => {
                let built = Box::new(read_joint(with, *is_to_world).map_err(detail)?);
                journal.push(*at, Alteration::ReplaceJoint(joint_from_text(joint)?, built));
            }
            ReplayedChange::Join { a, b, joint } => {
                let a = a.as_deref().map(body_from_text).transpose()?;
                let joint = read_joint(joint, a.is_none()).map_err(detail)?;
                journal.push(*at, Alteration::AddJointsBetween(vec![(a, body_from_text(b)?, joint)]));
            }
            ReplayedChange::Grab { body, point, target, max_force, hertz, damping_ratio } => {
                let joint = grabbing(*point, *target, *max_force, *hertz, *damping_ratio);
                journal.push(*at, Alteration::AddJointsBetween(vec![(None, body_from_text(body)?, joint)]));
            }
            ReplayedChange::Unjoin { joints } => {
                let ids: Result<_, String> = joints.iter().map(|id| joint_from_text(id)).collect();
                journal.push(*at, Alteration::RemoveJoints(ids?));
            }
        }
    }
    Ok(journal)
}
