//! Joints that are added to, replaced in and removed from a running world.

use std::collections::HashSet;

use super::{BodyId, JointId, Population, PopulationChange, PopulationError, ends, joint_place};
use crate::scene::{Compiled, Joint, MAX_JOINTS, SceneError, check_new_joints};
use crate::types::{self, JOINED_SHAPE, JOINT_APART, ROW_COUNT_MASK, WORLD_A};

impl Population {
    /// Adds joints, all or none.
    pub(crate) fn add_joints(
        &mut self,
        compiled: &mut Compiled,
        joints: &[Joint],
    ) -> Result<(Vec<JointId>, PopulationChange), PopulationError> {
        let named = joints.iter().any(|joint| joint.id.is_some());
        let taken = compiled.joints.ids.iter().filter(|_| named).flatten().map(String::as_str);
        check_new_joints(joints, &compiled.bodies, taken)?;
        // The slots that the scene's emitters may need stay free.
        let most = compiled.joints.most(joints.len()) + compiled.script.most.joints;
        if most > MAX_JOINTS {
            let problem = format!("bring the number of joints to {most}");
            return Err(SceneError::new("joints", problem, format!("at most {MAX_JOINTS} in a world")).into());
        }
        self.by_hand = true;
        Ok(self.insert_joints(compiled, joints, true))
    }

    /// Returns the joints with the slots of the bodies given by id, in place of those in the joints.
    pub(crate) fn between(
        &self,
        compiled: &Compiled,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<Joint>, PopulationError> {
        let slot = |id: BodyId| {
            let is_there = self.id(compiled, id.index as usize) == Some(id);
            if is_there { Ok(id.index as usize) } else { Err(PopulationError::Gone(id)) }
        };
        let resolve = |(a, b, joint): &(Option<BodyId>, BodyId, Joint)| {
            Ok(Joint { a: a.map(slot).transpose()?, b: slot(*b)?, ..joint.clone() })
        };
        joints.iter().map(resolve).collect()
    }

    /// Adds joints that were checked.
    pub(super) fn insert_joints(
        &mut self,
        compiled: &mut Compiled,
        joints: &[Joint],
        by_hand: bool,
    ) -> (Vec<JointId>, PopulationChange) {
        let mut change = PopulationChange::default();
        let mut ids = Vec::with_capacity(joints.len());
        for joint in joints {
            let place = compiled.joints.add(
                &compiled.settings,
                &compiled.units,
                joint,
                &compiled.bodies,
                &compiled.mass,
                &mut change.joints,
            );
            let laid = &compiled.joints.joints[place as usize];
            let rows = laid.first_row as usize..(laid.first_row + (laid.flags & ROW_COUNT_MASK)) as usize;
            self.history = self.history.bytes(bytemuck::bytes_of(laid)).bytes(&place.to_le_bytes());
            self.history = self.history.bytes(bytemuck::cast_slice(&compiled.joints.rows[rows]));
            let id = JointId { index: laid.id, generation: laid.generation };
            if let Some(models) = &mut self.models {
                models.joints.push((id, joint.clone(), by_hand));
            }
            ids.push(id);
            self.finish_joint(compiled, place, &mut change);
        }
        compiled.joints.update_trees(&compiled.mass, &mut change.joints);
        compiled.refresh_switches();
        (ids, change)
    }

    /// Lists the bodies of a new joint as woken, and marks their shapes if they do not touch.
    fn finish_joint(&self, compiled: &mut Compiled, place: u32, change: &mut PopulationChange) {
        let laid = &compiled.joints.joints[place as usize];
        change.woken.extend(ends(laid));
        if laid.flags & JOINT_APART != 0 {
            for body in [laid.body_a, laid.body_b] {
                for &shape in &self.shapes[body as usize] {
                    compiled.shapes[shape as usize].kind |= JOINED_SHAPE;
                    change.shapes.insert(shape);
                }
            }
        }
    }

    /// Replaces a joint, which keeps its id and its bodies. Those in `joint` are ignored.
    pub(crate) fn replace_joint(
        &mut self,
        compiled: &mut Compiled,
        id: JointId,
        joint: &Joint,
    ) -> Result<PopulationChange, PopulationError> {
        let at = joint_place(compiled, id).ok_or(PopulationError::NoJoint(id))?;
        let place = types::u32_from(at);
        let before = compiled.joints.joints[at];
        let a = (before.flags & WORLD_A == 0).then_some(before.body_a as usize);
        let joint = Joint { a, b: before.body_b as usize, ..joint.clone() };
        let names = compiled.joints.ids.iter().enumerate().filter(|(index, _)| *index != id.index as usize);
        let taken = names.filter_map(|(_, name)| name.as_deref());
        check_new_joints(std::slice::from_ref(&joint), &compiled.bodies, taken)?;
        let mut change = PopulationChange::default();
        let Compiled { settings, units, bodies, mass, joints, .. } = &mut *compiled;
        joints.replace(place, settings, units, &joint, bodies, mass, &mut change.joints);
        self.finish_joint(compiled, place, &mut change);
        // Marked, so that the history differs from that of an addition.
        self.history = self.history.bytes(b"replace joint").bytes(format!("{id} {joint:?}").as_bytes());
        if let Some(models) = &mut self.models {
            let own = models.joints.iter_mut().filter(|(other, ..)| *other == id);
            own.for_each(|(_, description, _)| description.clone_from(&joint));
        }
        self.by_hand = true;
        compiled.joints.update_trees(&compiled.mass, &mut change.joints);
        compiled.refresh_switches();
        Ok(change)
    }

    /// Removes joints, all or none.
    pub(crate) fn remove_joints(
        &mut self,
        compiled: &mut Compiled,
        ids: &[JointId],
    ) -> Result<PopulationChange, PopulationError> {
        let mut seen = HashSet::new();
        let mut places = Vec::with_capacity(ids.len());
        for &id in ids {
            places.push(joint_place(compiled, id).ok_or(PopulationError::NoJoint(id))?);
            if !seen.insert(id) {
                return Err(PopulationError::JointTwice(id));
            }
        }
        let mut change = PopulationChange::default();
        for place in places {
            #[allow(clippy::cast_possible_truncation, reason = "joints are counted in u32")]
            let place = place as u32;
            // Marked, so that the history differs from that of a removed body.
            self.history = self.history.bytes(b"joint").bytes(&place.to_le_bytes());
            change.woken.extend(ends(&compiled.joints.joints[place as usize]));
            compiled.joints.remove(place, &mut change.joints);
        }
        compiled.joints.update_trees(&compiled.mass, &mut change.joints);
        Ok(change)
    }
}
