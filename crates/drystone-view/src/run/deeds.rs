//! Changes as a user counts them: undone, made again, and made as a whole or not at all.

use super::super::edit::{Edit, Made, What};
use super::Run;
use drystone::BodyId;
use drystone::Snapshot;
use drystone::{Body, Joint};
use drystone::{World, WorldError};
use drystone_scenes::saved::Present;

/// Steps between two changes of gravity that are undone together: a slider gives one a frame.
const GRAVITY_IN_A_ROW: u64 = 30;

/// A change that was undone.
#[derive(Debug)]
pub(super) struct Undone {
    step: u64,
    /// It, and what came after it.
    changes: Vec<(u64, Edit)>,
    /// Last step that had been reached.
    furthest: u64,
}

impl Run {
    /// Takes back the last change that a user made: the world goes back to where it was made, and is sent there if no state
    /// of that step is kept. Returns that step, or `None` if there is nothing to take back.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn undo(&mut self) -> Result<Option<u64>, WorldError> {
        let Some((length, step)) = self.last_deed() else { return Ok(None) };
        self.undone.push(Undone { step, changes: self.log.split_off(length), furthest: self.furthest });
        self.redoes = false;
        self.past.retain(|kept| kept.done <= length && kept.step <= step);
        self.furthest = step;
        self.target = None;
        self.next = self.next.min(length);
        self.go_back(step)?;
        self.target = (step > self.steps()).then_some(step);
        if self.target.is_none() {
            self.catch_up();
        }
        Ok(Some(step))
    }

    /// The step of the last change that can be taken back.
    pub fn last_change(&self) -> Option<u64> {
        self.last_deed().map(|(_, step)| step)
    }

    /// Entries of the log before the last change that a user sees as one, and its step: letting go of a body and leading it
    /// belong to grabbing it, changes of gravity in a row to the first of them. What was done before a saved world was
    /// opened, or before the world came from elsewhere, stays.
    fn last_deed(&self) -> Option<(usize, u64)> {
        let done = &self.log[..self.next];
        let is_deed = |(_, edit): &(u64, Edit)| !matches!(edit, Edit::Part(_) | Edit::Joint(..) | Edit::Saved(_));
        let mut last = done.iter().rposition(is_deed)?;
        let known = self.past.first().filter(|kept| kept.step == self.first).map_or(0, |kept| kept.done);
        let is_gravity = |index: usize| matches!(done[index], (_, Edit::Gravity(_)));
        let joins = |index: usize| {
            is_gravity(index) && is_gravity(index - 1) && done[index].0 - done[index - 1].0 <= GRAVITY_IN_A_ROW
        };
        while last > known && joins(last) {
            last -= 1;
        }
        let step = done[last].0;
        (step > self.first || last >= known).then_some((last, step))
    }

    /// Makes the change again that was undone last: the world goes back, or on, to where it was made. Returns that step, or
    /// `None` if there is nothing to make again.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn redo(&mut self) -> Result<Option<u64>, WorldError> {
        let Some(Undone { step, changes, furthest }) = self.undone.pop() else { return Ok(None) };
        self.past.retain(|kept| kept.step <= step);
        if step < self.steps() {
            self.go_back(step)?;
        }
        self.log.extend(changes);
        self.furthest = furthest.max(step);
        self.target = (step > self.steps()).then_some(step);
        self.redoes = self.target.is_some();
        if self.target.is_none() {
            self.catch_up();
        }
        Ok(Some(step))
    }

    /// The last change that can be undone, in words.
    pub fn last_words(&self) -> Option<String> {
        let (length, _) = self.last_deed()?;
        self.log.get(length).map(|(_, edit)| edit.words())
    }

    /// Step of the change that was undone last, and the change in words.
    pub fn undone(&self) -> Option<(u64, String)> {
        let undone = self.undone.last()?;
        Some((undone.step, undone.changes.first()?.1.words()))
    }

    /// Changes the world by several calls: if one of them is refused, it is as it was.
    pub(super) fn attempt<T>(&mut self, change: impl FnOnce(&mut World) -> Result<T, String>) -> Result<T, String> {
        let text = |error: WorldError| error.to_string();
        let before = self.world.snapshot().map_err(text)?;
        let changed = change(&mut self.world);
        if changed.is_err() {
            self.roll_back(&before).map_err(text)?;
        }
        changed
    }

    fn roll_back(&mut self, before: &Snapshot) -> Result<(), WorldError> {
        let books = self.books(&self.scene, self.steps(), self.next)?;
        let mut world = self.open(books)?;
        world.restore(before)?;
        self.world = world;
        Ok(())
    }

    /// Description of a body as it is, and the joints that hold it; `None` if it is gone.
    ///
    /// # Errors
    /// Why it cannot be told, in words.
    pub fn present(&mut self, id: BodyId) -> Result<Option<Present>, String> {
        if self.world.body_id(id.index as usize) != Some(id) {
            return Ok(None);
        }
        let saved = self.save().map_err(|error| error.to_string())?;
        saved.present(id.index as usize).map_err(|error| error.to_string())
    }

    /// Puts a body in the place of another: with the joints, between bodies by their slots, that held the old one. Returns the
    /// change, for a world beside this one, and the id of the new body.
    ///
    /// # Errors
    /// Why not, in words; then nothing has changed.
    pub fn replace(&mut self, old: BodyId, body: Body, joints: &[Joint]) -> Result<(Edit, BodyId), String> {
        let step = self.steps();
        let (edits, new) = self.attempt(|world| {
            let mut edits = vec![Edit::Remove([old].into()), Edit::Add([body].into())];
            edits[0].apply(world)?;
            let Made::Bodies(ids) = edits[1].apply(world)? else { return Err("the body did not come".to_owned()) };
            let new = *ids.first().ok_or("the body did not come")?;
            let mut end = |slot: usize| {
                if slot == old.index as usize { Some(new) } else { world.body_id(slot) }
            };
            let mut ties = Vec::with_capacity(joints.len());
            for joint in joints {
                let a = joint.a.map(|slot| end(slot).ok_or("a body of a joint is gone")).transpose()?;
                ties.push((a, end(joint.b).ok_or("a body of a joint is gone")?, joint.clone()));
            }
            if !ties.is_empty() {
                let tie = Edit::Tie(ties.into());
                tie.apply(world)?;
                edits.push(tie);
            }
            Ok((edits, new))
        })?;
        let edit = Edit::Group(What::Body, edits.into());
        self.note(step, edit.clone());
        Ok((edit, new))
    }
}
