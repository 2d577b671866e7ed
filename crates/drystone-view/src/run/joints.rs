//! Changes and removals of single joints, with undo, redo and restart.

use std::sync::Arc;

use super::super::edit::{ChangedJoint, Edit, Meaning, RecordedEdit, Tie};
use super::WorldRun;
use super::deeds::{Role, Undone};
use drystone::{Joint, JointId};
use drystone_scenes::saved::Present;

impl WorldRun {
    /// Returns true if a joint exists.
    fn has_joint(&self, id: JointId) -> bool {
        self.world.joint_id(id.index as usize) == Some(id)
    }

    /// Present id of a joint, which may have been replaced; also where the world has gone back to before that.
    pub fn joint_now(&self, id: JointId) -> JointId {
        let mut id = self.resolve_joint(id);
        let undone = self.undone.last().map_or(&[][..], Undone::changes);
        let later = || undone.iter().chain(&self.log[self.next..]);
        while !self.has_joint(id) {
            let before = later().find_map(|entry| {
                let at = entry.made.joints.iter().position(|made| *made == id)?;
                entry.deed.was.1.get(at).copied().filter(|was| *was != id)
            });
            let Some(before) = before else { break };
            id = before;
        }
        id
    }

    /// Present description of a joint, with the slots of its bodies; `None` if it is gone or broken.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn joint(&mut self, id: JointId) -> Result<Option<Joint>, String> {
        let Some([_, Some(slot)]) = self.laid(id).filter(|_| self.has_joint(id)) else { return Ok(None) };
        let Some(body) = self.world.body_id(slot as usize) else { return Ok(None) };
        let Some(Present { joints, .. }) = self.present(body)? else { return Ok(None) };
        Ok(joints.into_iter().find(|(other, _)| *other == id).map(|(_, joint)| joint))
    }

    /// A joint with the ids of its bodies.
    fn tie_of(&mut self, joint: Joint) -> Result<Tie, String> {
        let gone = || "a body of the joint is gone".to_owned();
        let a = joint.a.map(|slot| self.world.body_id(slot).ok_or_else(gone)).transpose()?;
        Ok((a, self.world.body_id(joint.b).ok_or_else(gone)?, joint))
    }

    /// Gives a joint other settings between the same bodies. Returns the change, to be made in a copy of the world as
    /// well; `None` if nothing differs.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub fn change_joint(
        &mut self,
        id: JointId,
        what: &'static str,
        to: &Joint,
    ) -> Result<Option<RecordedEdit>, String> {
        self.change_joint_as(id, what, to, &Role::default())
    }

    /// Changes a joint, as a change with a role.
    pub(super) fn change_joint_as(
        &mut self,
        id: JointId,
        what: &'static str,
        to: &Joint,
        role: &Role,
    ) -> Result<Option<RecordedEdit>, String> {
        let before = self.joint(id)?.ok_or("the joint is gone")?;
        let new = Joint { a: before.a, b: before.b, ..to.clone() };
        if new == before {
            return Ok(None);
        }
        let tie = self.tie_of(new.clone())?;
        let change = ChangedJoint { id, what, before, after: new };
        let edit = Edit::Group([Edit::Untie([id].into()), Edit::Tie([tie].into())].into());
        let deed = role.deed(edit, Meaning::Joint(Arc::new(change)));
        self.do_deed(RecordedEdit { was: Arc::new((Vec::new(), vec![id])), ..deed }).map(Some)
    }

    /// Removes a joint. Returns the change, to be made in a copy of the world as well.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub fn remove_joint(&mut self, id: JointId) -> Result<RecordedEdit, String> {
        self.remove_joint_as(id, &Role::default())
    }

    /// Removes a joint, as a change with a role.
    pub(super) fn remove_joint_as(&mut self, id: JointId, role: &Role) -> Result<RecordedEdit, String> {
        let joint = self.joint(id)?.ok_or("the joint is gone")?;
        let tie = self.tie_of(joint)?;
        self.do_deed(role.deed(Edit::Untie([id].into()), Meaning::Untie(Arc::new((id, tie)))))
    }

    /// Restores a removed joint, if its bodies still exist.
    pub(super) fn bring_joint(&mut self, id: JointId, tie: &Tie, role: &Role) -> Result<RecordedEdit, String> {
        let (a, b, joint) = tie;
        let (a, b) = (a.map(|a| self.resolve(a)), self.resolve(*b));
        if a.into_iter().chain([b]).any(|body| !self.world.contains(body)) {
            return Err("a body of the joint is gone".to_owned());
        }
        let edit = Edit::Tie([(a, b, joint.clone())].into());
        let deed = role.deed(edit, Meaning::Play);
        self.do_deed(RecordedEdit { was: Arc::new((Vec::new(), vec![id])), ..deed })
    }
}
