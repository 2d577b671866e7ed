//! Restart: repeats the building changes of the old world (built, changed and removed bodies, joints) in a new world of
//! the same scene, before its first step.

use std::collections::{HashMap, HashSet};

use super::super::edit::{Edit, Meaning, RecordedEdit, Stand, Tie};
use super::WorldRun;
use super::log::{LogEntry, taken_back};
use drystone::{BodyId, JointId};

/// Result of repeating the building changes.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    /// Numbers of built bodies, joints, changed bodies, removed bodies, changed joints and removed joints.
    pub counts: [usize; 6],
    /// Number of changes that could not be repeated.
    pub lost: usize,
    /// Ids in the new world of bodies of the old one.
    ids: HashMap<BodyId, BodyId>,
    /// Ids of the scene's bodies, by slot.
    start: Vec<Option<BodyId>>,
    /// First ids of bodies that were removed and restored in the old world, by their later ids.
    same: HashMap<BodyId, BodyId>,
    /// Bodies that the user added in the old world.
    made: HashSet<BodyId>,
    /// Ids in the new world of joints that were built in the old one.
    joints: HashMap<JointId, JointId>,
    /// First ids of joints that were replaced in the old world, by their later ids.
    same_joints: HashMap<JointId, JointId>,
    /// Joints that the user added in the old world.
    made_joints: HashSet<JointId>,
}

impl Rebuilt {
    /// Id in the new world of a body of the old one.
    pub fn id(&self, old: BodyId) -> Option<BodyId> {
        let old = self.same.get(&old).copied().unwrap_or(old);
        if self.made.contains(&old) {
            return self.ids.get(&old).copied();
        }
        // A body of the scene. Bodies of an emitter do not exist yet.
        self.start.get(old.index as usize).copied().flatten().filter(|id| *id == old)
    }

    /// Id in the new world of a joint of the old one, as it was first made there.
    pub fn joint(&self, old: JointId) -> Option<JointId> {
        let old = self.same_joints.get(&old).copied().unwrap_or(old);
        if self.made_joints.contains(&old) { self.joints.get(&old).copied() } else { Some(old) }
    }

    /// Text for a message; `None` if nothing was repeated.
    pub fn words(&self) -> Option<String> {
        let count = |n: usize, one: &str, more: &str, did: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}{did}")),
            n => Some(format!("{n} {more}{did}")),
        };
        let [built, joints, changed, removed, set, untied] = self.counts;
        let kept: Vec<String> = [count(built, "built body", "built bodies", ""), count(joints, "joint", "joints", "")]
            .into_iter()
            .chain([count(changed, "changed body", "changed bodies", "")])
            .chain([count(set, "changed joint", "changed joints", "")])
            .flatten()
            .collect();
        let gone = count(removed, "body stays", "bodies stay", " removed");
        let kept = (!kept.is_empty()).then(|| format!("{} kept", kept.join(", ")));
        let untied = count(untied, "joint stays", "joints stay", " removed");
        let lost = count(self.lost, "change", "changes", " could not be made again");
        let all: Vec<String> = [kept, gone, untied, lost].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl WorldRun {
    /// Repeats the building changes in the log of an old world of the same scene. This world must be at its start.
    pub fn rebuild(&mut self, log: &[LogEntry]) -> Rebuilt {
        if !log.iter().any(LogEntry::is_built) {
            return Rebuilt::default();
        }
        let taken = taken_back(log);
        let slots = self.world.compiled().bodies.len();
        let start = (0..slots).map(|slot| self.world.body_id(slot)).collect();
        let mut rebuilt = Rebuilt { start, ..Rebuilt::default() };
        for entry in log {
            rebuilt.made.extend(entry.made.bodies.iter().copied());
            for (was, now) in entry.deed.was.0.iter().zip(&entry.made.bodies) {
                let first = rebuilt.same.get(was).copied().unwrap_or(*was);
                rebuilt.same.insert(*now, first);
            }
            rebuilt.made_joints.extend(entry.made.joints.iter().copied());
            for (was, now) in entry.deed.was.1.iter().zip(&entry.made.joints) {
                let first = rebuilt.same_joints.get(was).copied().unwrap_or(*was);
                rebuilt.same_joints.insert(*now, first);
            }
        }
        let is_kept = |entry: &&LogEntry| !taken.contains(&entry.number);
        let used = used(log.iter().filter(is_kept), &rebuilt);
        let last_gravity =
            log.iter().rposition(|entry| matches!(entry.deed.meaning, Meaning::Gravity) && is_kept(&entry));
        let (mut changed, mut set) = (HashSet::new(), HashSet::new());
        for (index, entry) in log.iter().enumerate().filter(|(_, entry)| is_kept(entry)) {
            let done = match (&entry.deed.meaning, &entry.deed.edit) {
                (Meaning::Build, Edit::Add(_)) => self.build_again(entry, |_| true, &mut rebuilt),
                (Meaning::Play, Edit::Add(_)) => self.build_again(entry, |id| used.contains(&id), &mut rebuilt),
                (Meaning::Change(id, change, _), _) => match rebuilt.id(*id) {
                    Some(id) => {
                        changed.insert(id);
                        self.change(id, change).map(drop)
                    }
                    None => Ok(()),
                },
                (Meaning::Place(stand), _) => self.place_again(*stand, &rebuilt),
                (Meaning::Remove(_), Edit::Remove(ids)) => self.remove_again(ids, &mut rebuilt),
                (Meaning::Tie(stands), Edit::Tie(ties)) => {
                    self.tie_again(stands, ties, &entry.made.joints, &mut rebuilt)
                }
                (Meaning::Joint(change), _) => match rebuilt.joint(change.id) {
                    Some(id) => {
                        let id = self.resolve_joint(id);
                        set.insert(rebuilt.joint(change.id));
                        self.change_joint(id, change.what, &change.after).map(drop)
                    }
                    None => Ok(()),
                },
                (Meaning::Untie(taken), _) => match rebuilt.joint(taken.0) {
                    Some(id) => {
                        let id = self.resolve_joint(id);
                        rebuilt.counts[5] += 1;
                        self.remove_joint(id).map(drop)
                    }
                    None => Ok(()),
                },
                (Meaning::Gravity, edit) if Some(index) == last_gravity && edit.gravity() != Some(self.gravity()) => {
                    self.edit(edit).map(drop)
                }
                _ => Ok(()),
            };
            rebuilt.lost += usize::from(done.is_err());
        }
        let built: HashSet<BodyId> = rebuilt.ids.values().copied().collect();
        rebuilt.counts[4] = set.len();
        rebuilt.counts[2] = changed.iter().filter(|id| !built.contains(id)).count();
        rebuilt
    }

    /// Adds bodies again, those that are wanted.
    fn build_again(
        &mut self,
        entry: &LogEntry,
        is_wanted: impl Fn(BodyId) -> bool,
        rebuilt: &mut Rebuilt,
    ) -> Result<(), String> {
        let Edit::Add(bodies) = &entry.deed.edit else { return Ok(()) };
        let first = |id: &BodyId| rebuilt.same.get(id).copied().unwrap_or(*id);
        let wanted: Vec<_> =
            entry.made.bodies.iter().map(first).zip(bodies.iter()).filter(|(id, _)| is_wanted(*id)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let bodies = wanted.iter().map(|(_, body)| (*body).clone()).collect();
        let made = self.edit(RecordedEdit::new(Edit::Add(bodies), Meaning::Build))?;
        rebuilt.counts[0] += made.bodies.len();
        rebuilt.ids.extend(wanted.iter().map(|(id, _)| *id).zip(made.bodies));
        Ok(())
    }

    /// Places a body again.
    fn place_again(&mut self, stand: Stand, rebuilt: &Rebuilt) -> Result<(), String> {
        rebuilt.id(stand.body).map_or(Ok(()), |body| self.place(Stand { body, ..stand }))
    }

    /// Removes bodies again.
    fn remove_again(&mut self, ids: &[BodyId], rebuilt: &mut Rebuilt) -> Result<(), String> {
        let mut there: Vec<BodyId> = ids.iter().filter_map(|&id| rebuilt.id(id)).collect();
        there.retain(|&id| self.world.contains(id));
        if there.is_empty() {
            return Ok(());
        }
        let taken = self.taken(&there)?;
        let by_hand: HashSet<BodyId> = rebuilt.ids.values().copied().collect();
        let of_scene = there.iter().filter(|id| !by_hand.contains(id)).count();
        rebuilt.counts[3] += of_scene;
        rebuilt.counts[0] = rebuilt.counts[0].saturating_sub(there.len() - of_scene);
        self.edit(RecordedEdit::new(Edit::Remove(there.into()), Meaning::Remove(taken))).map(drop)
    }

    /// Makes joints again, with their bodies at the places where they were jointed.
    fn tie_again(
        &mut self,
        stands: &[Stand],
        ties: &[Tie],
        old: &[JointId],
        rebuilt: &mut Rebuilt,
    ) -> Result<(), String> {
        let end = |id: BodyId| rebuilt.id(id).ok_or("a body of a joint is gone");
        let mut new = Vec::with_capacity(ties.len());
        for (a, b, joint) in ties {
            new.push((a.map(end).transpose()?, end(*b)?, joint.clone()));
        }
        for stand in stands {
            self.place_again(*stand, rebuilt)?;
        }
        let made = self.edit(RecordedEdit::new(Edit::Tie(new.into()), Meaning::Tie([].into())))?;
        rebuilt.counts[1] += made.joints.len();
        let first = |id: &JointId| rebuilt.same_joints.get(id).copied().unwrap_or(*id);
        let pairs: Vec<_> = old.iter().map(first).zip(made.joints).collect();
        rebuilt.joints.extend(pairs);
        Ok(())
    }
}

/// Bodies with joints that were built or properties that were changed: a restart keeps them, also if they were dropped.
fn used<'a>(log: impl Iterator<Item = &'a LogEntry>, rebuilt: &Rebuilt) -> HashSet<BodyId> {
    let first = |id: BodyId| rebuilt.same.get(&id).copied().unwrap_or(id);
    let mut used = HashSet::new();
    for entry in log {
        match (&entry.deed.meaning, &entry.deed.edit) {
            (Meaning::Change(id, ..), _) => {
                used.insert(first(*id));
            }
            (Meaning::Tie(_), Edit::Tie(ties)) => {
                used.extend(ties.iter().flat_map(|(a, b, _)| a.iter().copied().chain([*b])).map(first));
            }
            _ => {}
        }
    }
    used
}
