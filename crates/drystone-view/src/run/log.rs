//! Log of a world: what was done to it, in its order, each change at its step, with what it made and what it means.

use std::collections::{HashMap, HashSet};

use super::super::edit::{Deed, Edit, Made, Meaning, Stand};
use super::Run;
use drystone::low_level::population::{Alteration, joint_place};
use drystone::{Body, Joint};
use drystone::{BodyId, BodyTransform, JointId};
use drystone_scenes::saved::JointModel;

/// Joints that have been followed to one body at most before a joint is built: the places of more are not kept.
const MAX_STANDS: usize = 4096;

/// A change that was made.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Number of the change, its own in this world.
    pub number: u64,
    pub step: u64,
    pub deed: Deed,
    pub made: Made,
}

impl Entry {
    /// A change that was in a saved world.
    pub fn saved(step: u64, change: Alteration) -> Self {
        let deed = Deed::new(Edit::Saved(change.into()), Meaning::Play);
        Self { number: 0, step, deed, made: Made::default() }
    }

    /// Returns true for what a user made to stay: a restart makes it again.
    pub fn is_built(&self) -> bool {
        !matches!(self.deed.meaning, Meaning::Play)
    }

    /// Returns true unless it only moves bodies.
    pub fn changes_bodies(&self) -> bool {
        let is_push = matches!(self.deed.edit, Edit::Join(..) | Edit::Part(_) | Edit::Joint(..) | Edit::Command(_));
        match self.deed.meaning {
            Meaning::Play => !is_push,
            Meaning::Gravity => false,
            _ => true,
        }
    }

    /// Returns true for what a user sees as a change that can be taken back.
    pub fn is_deed(&self) -> bool {
        let is_part = matches!(self.deed.edit, Edit::Part(_) | Edit::Joint(..) | Edit::Saved(_));
        !is_part && !matches!(self.deed.meaning, Meaning::TakeBack(_) | Meaning::Place(_))
    }

    /// Edits of which the change is made.
    fn edits(&self) -> &[Edit] {
        match &self.deed.edit {
            Edit::Group(edits) => edits,
            edit => std::slice::from_ref(edit),
        }
    }

    /// Description of a body that this change gave.
    fn description(&self, id: BodyId) -> Option<Body> {
        let mut made = self.made.bodies.iter();
        self.edits().iter().find_map(|edit| match edit {
            Edit::Add(bodies) => bodies.iter().find(|_| made.next() == Some(&id)).cloned(),
            Edit::Replace(of, body) if *of == id => Some((**body).clone()),
            Edit::Saved(change) => match &**change {
                Alteration::ReplaceBody(of, body) if *of == id => Some((**body).clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Description of a joint that this change made, between bodies by their slots.
    fn joint(&self, id: JointId) -> Option<Joint> {
        let mut made = self.made.joints.iter();
        let slot = |id: BodyId| id.index as usize;
        self.edits().iter().find_map(|edit| match edit {
            Edit::Join(body, joint) => {
                (made.next() == Some(&id)).then(|| Joint { b: slot(*body), ..(**joint).clone() })
            }
            Edit::Tie(ties) => {
                let tie = ties.iter().find(|_| made.next() == Some(&id));
                tie.map(|(a, b, joint)| Joint { a: a.map(slot), b: slot(*b), ..joint.clone() })
            }
            _ => None,
        })
    }
}

/// Numbers of changes that others took back.
pub(super) fn taken_back(log: &[Entry]) -> HashSet<u64> {
    let numbers = log.iter().filter_map(|entry| match &entry.deed.meaning {
        Meaning::TakeBack(numbers) => Some(numbers.iter().copied()),
        _ => None,
    });
    numbers.flatten().collect()
}

impl Run {
    /// The body that stands for one that was taken out and brought back.
    pub fn resolve(&self, id: BodyId) -> BodyId {
        self.log[..self.next].iter().fold(id, |id, entry| {
            let at = entry.deed.was.0.iter().position(|was| *was == id);
            at.and_then(|at| entry.made.bodies.get(at)).copied().unwrap_or(id)
        })
    }

    /// The joint that stands for one that was replaced.
    pub(super) fn resolve_joint(&self, id: JointId) -> JointId {
        self.log[..self.next].iter().fold(id, |id, entry| {
            let at = entry.deed.was.1.iter().position(|was| *was == id);
            at.and_then(|at| entry.made.joints.get(at)).copied().unwrap_or(id)
        })
    }

    /// Description of a body as it came, or as it was changed last; `None` where only the journal of a saved world or an
    /// emitter knows it.
    pub(super) fn description(&self, id: BodyId) -> Option<Body> {
        let told = self.log[..self.next].iter().rev().find_map(|entry| entry.description(id));
        let of_scene = || self.scene.bodies.get(id.index as usize).filter(|_| id.generation == 0).cloned();
        told.or_else(of_scene)
    }

    /// Joints that hold one of these bodies, by slots, as they came; `None` if one of them is not known here.
    pub(super) fn joints_of(&self, slots: &HashSet<u32>) -> Option<Vec<JointModel>> {
        let mut found = Vec::new();
        for index in 0..self.world.compiled().joints.ids.len() {
            let Some(id) = self.world.joint_id(index) else { continue };
            let Some(laid) = self.laid(id) else { continue };
            if !laid.into_iter().flatten().any(|slot| slots.contains(&slot)) {
                continue;
            }
            let told = self.log[..self.next].iter().rev().find_map(|entry| {
                let by_hand = matches!(entry.deed.edit, Edit::Join(..));
                Some((entry.joint(id)?, by_hand))
            });
            let of_scene = || Some((self.scene.joints.get(index).filter(|_| id.generation == 0)?.clone(), false));
            let (joint, by_hand) = told.or_else(of_scene)?;
            found.push((id, joint, by_hand));
        }
        Some(found)
    }

    /// Slots of the bodies of a joint; none for the world.
    pub(super) fn laid(&self, id: JointId) -> Option<[Option<u32>; 2]> {
        let compiled = self.world.compiled();
        let joint = compiled.joints.joints.get(joint_place(compiled, id)?)?;
        Some([(joint.flags & drystone::low_level::types::WORLD_A == 0).then_some(joint.body_a), Some(joint.body_b)])
    }

    /// Places of the bodies that hang together with some of them by joints, those among them; none before the first step.
    pub fn stands(&mut self, of: &[BodyId]) -> Result<Vec<Stand>, String> {
        if self.steps() == self.first_step() {
            return Ok(Vec::new());
        }
        let mut neighbours: HashMap<u32, Vec<u32>> = HashMap::new();
        for index in 0..self.world.compiled().joints.ids.len() {
            if let Some([Some(a), Some(b)]) = self.world.joint_id(index).and_then(|id| self.laid(id)) {
                neighbours.entry(a).or_default().push(b);
                neighbours.entry(b).or_default().push(a);
            }
        }
        let compiled = self.world.compiled();
        let moves = |slot: &u32| compiled.bodies[*slot as usize].kind == drystone::low_level::types::DYNAMIC;
        let mut open: Vec<u32> = of.iter().map(|id| id.index).filter(moves).collect();
        let mut seen: HashSet<u32> = open.iter().copied().collect();
        while let Some(slot) = open.pop() {
            let next = neighbours.get(&slot).into_iter().flatten().copied();
            for slot in next.filter(moves) {
                if seen.len() < MAX_STANDS && seen.insert(slot) {
                    open.push(slot);
                }
            }
        }
        let mut places = Vec::new();
        self.world.transforms(&mut places).map_err(|error| error.to_string())?;
        let stands = places.iter().filter(|place| seen.contains(&place.id.index));
        let stand = |place: &BodyTransform| Stand { body: place.id, position: place.position, angle: place.angle() };
        Ok(stands.map(stand).collect())
    }
}
