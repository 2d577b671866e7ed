//! Undo and redo of changes, and changes that are made as a whole or not at all.
//!
//! A change at an earlier step is undone at the present step: a new body is removed, a removed one comes back where it
//! was, a property gets its old value. A change that cannot be reverted so, such as a push, takes the world back to the
//! step before it. A change at the present step is undone by restoring the state before it, to the same bits.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::edit::{BuiltParts, Edit, Meaning, RecordedEdit, RemovedBodies, Stand, Tie};
use super::super::select::BodyChange;
use super::WorldRun;
use super::log::{LogEntry, taken_back};
use drystone::Body;
use drystone::{BodyId, JointId};
use drystone::{World, WorldError};
use drystone_scenes::saved::Present;

/// Maximum number of steps between two changes of gravity that are undone together: a slider makes one per frame.
const GRAVITY_IN_A_ROW: u64 = 30;
/// Maximum number of bodies removed together whose descriptions are kept; more come back only by going back in time.
const MAX_TAKEN: usize = 20_000;

/// Change that was undone.
#[derive(Debug)]
pub(super) enum Undone {
    /// By going back in time.
    Rewound {
        step: u64,
        /// The change, and those after it.
        changes: Vec<LogEntry>,
        /// Last step that was reached before.
        furthest: u64,
    },
    /// At the step of the undo: the change, or several in a row.
    Now(Vec<LogEntry>),
}

impl Undone {
    /// The change, with those after it or in a row with it.
    pub(super) fn changes(&self) -> &[LogEntry] {
        let (Self::Rewound { changes, .. } | Self::Now(changes)) = self;
        changes
    }

    /// Short text about the change.
    fn words(&self) -> Option<String> {
        self.changes().first().map(|entry| entry.deed.words())
    }
}

/// Way in which the last change is undone or repeated, with its text.
#[derive(Debug)]
pub(crate) enum Undoing {
    /// The world has to go to a step.
    Rewind(u64, String),
    /// Done already, by this change.
    Now(RecordedEdit, String),
}

/// Role of a change in undo and redo.
#[derive(Clone, Debug, Default)]
pub(super) struct Role {
    /// Numbers of the changes that it undoes.
    takes_back: Option<Arc<[u64]>>,
    /// True if it repeats an undone change.
    again: bool,
}

impl Role {
    /// Makes a change with this role.
    pub(super) fn deed(&self, edit: Edit, meaning: Meaning) -> RecordedEdit {
        let meaning = self.takes_back.clone().map_or(meaning, Meaning::TakeBack);
        RecordedEdit { again: self.again, ..RecordedEdit::new(edit, meaning) }
    }
}

impl WorldRun {
    /// Undoes the last change of the user by going back in time: the world goes to its step, or is sent there from the
    /// kept state before it. Returns that step, or `None` if there is nothing to undo.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn undo(&mut self) -> Result<Option<u64>, WorldError> {
        let Some((length, step)) = self.last_deed().filter(|&(index, step)| self.can_rewind(index, step)) else {
            return Ok(None);
        };
        let changes = Arc::make_mut(&mut self.log).split_off(length);
        self.undone.push(Undone::Rewound { step, changes, furthest: self.furthest });
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

    /// Number and step of the last change that can be undone.
    pub fn last_change(&self) -> Option<(u64, u64)> {
        let (index, step) = self.last_deed()?;
        Some((self.log[index].number, step))
    }

    /// Index in the log and step of the last change as the user counts them: moving and releasing a body belong to
    /// grabbing it, changes of gravity in a row to the first of them.
    fn last_deed(&self) -> Option<(usize, u64)> {
        let done = &self.log[..self.next];
        let taken = taken_back(done);
        let is_deed = |entry: &LogEntry| entry.is_deed() && !taken.contains(&entry.number);
        let mut last = done.iter().rposition(is_deed)?;
        let is_gravity = |index: usize| matches!(done[index].deed.meaning, Meaning::Gravity) && is_deed(&done[index]);
        let joins = |index: usize| {
            is_gravity(index) && is_gravity(index - 1) && done[index].step - done[index - 1].step <= GRAVITY_IN_A_ROW
        };
        while last > 0 && joins(last) {
            last -= 1;
        }
        Some((last, done[last].step))
    }

    /// Returns true if the world can go back to before a change. It cannot go back to before it was opened from a file
    /// or came from another backend.
    fn can_rewind(&self, index: usize, step: u64) -> bool {
        let known = self.past.first().filter(|kept| kept.step == self.first).map_or(0, |kept| kept.done);
        step > self.first || (step == self.first && index >= known)
    }

    /// Returns true if the world can go back to before its last change.
    pub fn rewinds(&self) -> bool {
        self.last_deed().is_some_and(|(index, step)| self.can_rewind(index, step))
    }

    /// Undoes the last change at the present step, if it was made earlier and can be reverted; else returns the step to
    /// which the world has to go. Returns `None` if there is nothing to undo.
    pub fn take_back(&mut self) -> Option<Undoing> {
        let (index, step) = self.last_deed()?;
        let words = self.log[index].deed.words();
        let can_rewind = self.can_rewind(index, step);
        if (step != self.steps() || !can_rewind)
            && let Some(Ok(deed)) = self.take_back_now(index)
        {
            return Some(Undoing::Now(deed, words));
        }
        can_rewind.then_some(Undoing::Rewind(step, words))
    }

    /// Reverts a change at the present step; returns `None` if that is not possible.
    fn take_back_now(&mut self, index: usize) -> Option<Result<RecordedEdit, String>> {
        let entry = self.log[index].clone();
        let numbers = match entry.deed.meaning {
            Meaning::Gravity => self.gravity_row(index),
            _ => [entry.number].into(),
        };
        let role = Role { takes_back: Some(numbers), again: false };
        match &entry.deed.meaning {
            Meaning::Play | Meaning::Build if matches!(entry.deed.edit, Edit::Add(_)) => {
                let ids: Vec<BodyId> = entry.made.bodies.iter().map(|&id| self.resolve(id)).collect();
                if !ids.iter().any(|&id| self.world.contains(id)) {
                    return None;
                }
                Some(self.do_deed(role.deed(Edit::Remove(ids.into()), Meaning::Play)))
            }
            Meaning::Remove(Some(taken)) => Some(self.bring(taken, &role)),
            Meaning::Tie(_) => {
                let ids: Vec<JointId> = entry.made.joints.iter().map(|&id| self.resolve_joint(id)).collect();
                let is_there = |id: &JointId| self.world.joint_id(id.index as usize) == Some(*id);
                ids.iter().any(is_there).then(|| self.do_deed(role.deed(Edit::Untie(ids.into()), Meaning::Play)))
            }
            Meaning::Change(id, change, before) if change.is_property() => {
                let id = self.resolve(*id);
                let made = self.change_as(id, &BodyChange::Like(before.clone()), &role);
                made.map(|made| made.ok_or_else(|| "nothing differs".to_owned())).map_or_else(|e| Some(Err(e)), Some)
            }
            Meaning::Joint(change) => {
                let id = self.resolve_joint(change.id);
                let made = self.change_joint_as(id, change.what, &change.before, &role);
                Some(made.and_then(|made| made.ok_or_else(|| "nothing differs".to_owned())))
            }
            Meaning::Untie(taken) => Some(self.bring_joint(taken.0, &taken.1, &role)),
            Meaning::Gravity => {
                let gravity = self.gravity_after(index);
                Some(self.do_deed(role.deed(Edit::Gravity(gravity), Meaning::Play)))
            }
            _ => None,
        }
    }

    /// Numbers of the changes of gravity in a row from an index of the log.
    fn gravity_row(&self, first: usize) -> Arc<[u64]> {
        let is_gravity = |entry: &&LogEntry| matches!(entry.deed.meaning, Meaning::Gravity);
        self.log[first..self.next].iter().take_while(is_gravity).map(|entry| entry.number).collect()
    }

    /// Repeats the last undone change at the present step, if it was undone without going back in time; else returns
    /// the step to which the world has to go. Returns `None` if there is nothing to repeat.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn make_again(&mut self) -> Option<Result<Undoing, String>> {
        let words = self.undone.last()?.words()?;
        let entries = match self.undone.last()? {
            Undone::Rewound { step, .. } => return Some(Ok(Undoing::Rewind(*step, words))),
            Undone::Now(entries) => entries.clone(),
        };
        let made = self.make_again_now(&entries);
        if made.is_err() {
            self.undone.clear();
        }
        Some(made.map(|deed| Undoing::Now(deed, words)))
    }

    /// Repeats a change at the present step.
    fn make_again_now(&mut self, entries: &[LogEntry]) -> Result<RecordedEdit, String> {
        let role = Role { takes_back: None, again: true };
        let Some(entry) = entries.last() else { return Err("there is nothing to make again".to_owned()) };
        let RecordedEdit { edit, meaning, .. } = &entry.deed;
        let was = Arc::new((entry.made.bodies.clone(), entry.made.joints.clone()));
        match (meaning, edit) {
            (Meaning::Change(id, change, _), _) => {
                let id = self.resolve(*id);
                self.change_as(id, change, &role)?.ok_or_else(|| "nothing differs".to_owned())
            }
            (Meaning::Remove(_), Edit::Remove(ids)) => {
                let ids: Vec<BodyId> = ids.iter().map(|&id| self.resolve(id)).collect();
                let taken = self.taken(&ids)?;
                self.do_deed(role.deed(Edit::Remove(ids.into()), Meaning::Remove(taken)))
            }
            (Meaning::Joint(change), _) => {
                let id = self.resolve_joint(change.id);
                let made = self.change_joint_as(id, change.what, &change.after, &role)?;
                made.ok_or_else(|| "nothing differs".to_owned())
            }
            (Meaning::Untie(taken), _) => self.remove_joint_as(self.resolve_joint(taken.0), &role),
            (_, Edit::Tie(ties)) => {
                let ties: Vec<Tie> = ties
                    .iter()
                    .map(|(a, b, joint)| (a.map(|a| self.resolve(a)), self.resolve(*b), joint.clone()))
                    .collect();
                let edit = Edit::Tie(ties.into());
                self.do_deed(RecordedEdit { was, ..role.deed(edit, meaning.clone()) })
            }
            _ => self.do_deed(RecordedEdit { was, ..role.deed(edit.clone(), meaning.clone()) }),
        }
    }

    /// Makes a change and returns it, to be made in a copy of the world as well.
    pub(super) fn do_deed(&mut self, deed: RecordedEdit) -> Result<RecordedEdit, String> {
        let before = self.numbered;
        self.edit(deed.clone())?;
        if self.numbered == before { Err("nothing is left of it".to_owned()) } else { Ok(deed) }
    }

    /// Repeats the last change that was undone by going back in time: the world goes to its step. Returns that step, or
    /// `None` if there is nothing to repeat.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn redo(&mut self) -> Result<Option<u64>, WorldError> {
        let Some(Undone::Rewound { step, changes, furthest }) = self.undone.pop() else { return Ok(None) };
        self.past.retain(|kept| kept.step <= step);
        if step < self.steps() {
            self.go_back(step)?;
        }
        Arc::make_mut(&mut self.log).extend(changes);
        self.furthest = furthest.max(step);
        self.target = (step > self.steps()).then_some(step);
        self.redoes = self.target.is_some();
        if self.target.is_none() {
            self.catch_up();
        }
        Ok(Some(step))
    }

    /// Step to which a redo would take the world.
    pub fn undone_at(&self) -> Option<u64> {
        match self.undone.last()? {
            Undone::Rewound { step, .. } => Some(*step),
            Undone::Now(_) => None,
        }
    }

    /// Drops the undone changes after another change.
    pub fn forget_undone(&mut self) {
        self.undone.clear();
    }

    /// Changes the world by several calls, and restores it if one of them fails.
    pub(super) fn attempt<T>(&mut self, change: impl FnOnce(&mut World) -> Result<T, String>) -> Result<T, String> {
        let text = |error: WorldError| error.to_string();
        let before = self.world.snapshot().map_err(text)?;
        let changed = change(&mut self.world);
        if changed.is_err() {
            self.world.restore(&before).map_err(text)?;
        }
        changed
    }

    /// Present description of a body, with the joints that hold it; `None` if it is gone.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn present(&mut self, id: BodyId) -> Result<Option<Present>, String> {
        if !self.world.contains(id) {
            return Ok(None);
        }
        let slot = id.index as usize;
        if let (Some(model), Some(joints)) = (self.description(id), self.joints_of(&HashSet::from([id.index]))) {
            let found = Present::of(&mut self.world, &[(slot, model)], &joints);
            return Ok(found.map_err(|error| error.to_string())?.pop());
        }
        // It comes from an emitter or a saved world: the description is found by saving the world.
        let saved = self.save().map_err(|error| error.to_string())?;
        saved.present(slot).map_err(|error| error.to_string())
    }

    /// Present descriptions of bodies and their joints, to restore them after a removal. `None`: there are too many, or
    /// the log does not know all of them.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn taken(&mut self, ids: &[BodyId]) -> Result<Option<Arc<RemovedBodies>>, String> {
        if ids.len() > MAX_TAKEN {
            return Ok(None);
        }
        let mut there = ids.to_vec();
        there.retain(|&id| self.world.contains(id));
        let models: Option<Vec<(usize, Body)>> =
            there.iter().map(|&id| Some((id.index as usize, self.description(id)?))).collect();
        let slots: HashSet<u32> = there.iter().map(|id| id.index).collect();
        let (Some(models), Some(joints)) = (models, self.joints_of(&slots)) else { return Ok(None) };
        let found = Present::of(&mut self.world, &models, &joints).map_err(|error| error.to_string())?;
        let mut seen = HashSet::new();
        let (mut bodies, mut joints) = (Vec::with_capacity(found.len()), Vec::new());
        for Present { body, joints: own } in found {
            bodies.push(body);
            for (id, joint) in own.into_iter().filter(|(id, _)| seen.insert(*id)) {
                let mut end = |slot: usize| self.world.body_id(slot);
                let (a, b) = (joint.a.map(&mut end), end(joint.b));
                if let (Some(b), true) = (b, a != Some(None)) {
                    joints.push((id, (a.flatten(), b, joint)));
                }
            }
        }
        Ok(Some(Arc::new(RemovedBodies { ids: there, bodies, joints })))
    }

    /// Restores removed bodies, with joints whose other body still exists.
    fn bring(&mut self, taken: &RemovedBodies, role: &Role) -> Result<RecordedEdit, String> {
        let step = self.steps();
        let others: Vec<[Option<BodyId>; 2]> =
            taken.joints.iter().map(|(_, (a, b, _))| [a.map(|a| self.resolve(a)), Some(self.resolve(*b))]).collect();
        let (edits, made, was) = self.attempt(|world| {
            let mut edits = vec![Edit::Add(taken.bodies.clone().into())];
            let mut made = edits[0].apply(world)?;
            let new = made.bodies.clone();
            let end = |of: BodyId, now: BodyId| match taken.ids.iter().position(|id| *id == of) {
                Some(at) => new.get(at).copied(),
                None => world.contains(now).then_some(now),
            };
            let (mut ties, mut was) = (Vec::new(), Vec::new());
            for ((id, (a, b, joint)), now) in taken.joints.iter().zip(&others) {
                let first = a.map(|a| end(a, now[0].unwrap_or(a)));
                let (Some(second), true) = (end(*b, now[1].unwrap_or(*b)), first != Some(None)) else { continue };
                ties.push((first.flatten(), second, joint.clone()));
                was.push(*id);
            }
            if !ties.is_empty() {
                let tie = Edit::Tie(ties.into());
                made.joints = tie.apply(world)?.joints;
                edits.push(tie);
            }
            Ok((edits, made, was))
        })?;
        let deed = role.deed(Edit::Group(edits.into()), Meaning::Play);
        let deed = RecordedEdit { was: Arc::new((taken.ids.clone(), was)), ..deed };
        self.note(step, deed.clone(), made);
        Ok(deed)
    }

    /// Changes a body. Returns the change, to be made in a copy of the world as well; `None` if nothing differs.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub fn change(&mut self, id: BodyId, change: &BodyChange) -> Result<Option<RecordedEdit>, String> {
        self.change_as(id, change, &Role::default())
    }

    /// Changes a body, as a change with a role.
    fn change_as(&mut self, id: BodyId, change: &BodyChange, role: &Role) -> Result<Option<RecordedEdit>, String> {
        let Present { body, joints } = self.present(id)?.ok_or("the body is gone")?;
        let meaning = Meaning::Change(id, change.clone(), Arc::new(body.clone()));
        if let Some(command) = change.command() {
            let edit = Edit::Command([(id, command)].into());
            return self.do_deed(role.deed(edit, meaning)).map(Some);
        }
        let mut new = body.clone();
        change.apply(&mut new);
        if new == body {
            return Ok(None);
        }
        new.check(0).map_err(|error| error.to_string())?;
        self.replace(id, new, joints, role.deed(Edit::Group(Arc::default()), meaning)).map(Some)
    }

    /// Places a body, unless it is there already.
    pub(super) fn place(&mut self, stand: Stand) -> Result<(), String> {
        let Present { mut body, joints } = self.present(stand.body)?.ok_or("the body is gone")?;
        if body.position == stand.position && body.angle == stand.angle {
            return Ok(());
        }
        (body.position, body.angle) = (stand.position, stand.angle);
        let deed = RecordedEdit::new(Edit::Group(Arc::default()), Meaning::Place(stand));
        self.replace(stand.body, body, joints, deed).map(drop)
    }

    /// Replaces the description of a body, and makes its joints again, which are given with the slots of their bodies.
    fn replace(
        &mut self,
        id: BodyId,
        body: Body,
        joints: Vec<(JointId, drystone::Joint)>,
        deed: RecordedEdit,
    ) -> Result<RecordedEdit, String> {
        let step = self.steps();
        let was = joints.iter().map(|(id, _)| *id).collect();
        let (edits, made) = self.attempt(|world| {
            let mut edits = vec![Edit::Replace(id, Arc::new(body))];
            edits[0].apply(world)?;
            let mut ties = Vec::with_capacity(joints.len());
            for (_, joint) in joints {
                let a = joint.a.map(|slot| world.body_id(slot).ok_or("a body of a joint is gone")).transpose()?;
                ties.push((a, world.body_id(joint.b).ok_or("a body of a joint is gone")?, joint));
            }
            let mut made = BuiltParts::default();
            if !ties.is_empty() {
                let tie = Edit::Tie(ties.into());
                made = tie.apply(world)?;
                edits.push(tie);
            }
            Ok((edits, made))
        })?;
        let deed = RecordedEdit { edit: Edit::Group(edits.into()), was: Arc::new((Vec::new(), was)), ..deed };
        self.note(step, deed.clone(), made);
        Ok(deed)
    }
}
