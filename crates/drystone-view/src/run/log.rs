//! Log of a world: its changes in their order, each with its step, its kind, and the bodies and joints that it added;
//! and searches in it for descriptions and present ids.

use std::collections::{HashMap, HashSet};

use super::super::edit::{BuiltParts, Edit, Meaning, RecordedEdit, Stand};
use super::WorldRun;
use drystone::low_level::population::{Alteration, joint_place};
use drystone::{Body, Joint, Shape};
use drystone::{BodyId, BodyTransform, JointId};
use drystone_scenes::saved::JointModel;

/// Maximum number of connected bodies whose places are kept when a joint is built.
const MAX_STANDS: usize = 4096;

/// Change that was made.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    /// Number of the change, unique in this world.
    pub number: u64,
    pub step: u64,
    pub deed: RecordedEdit,
    pub made: BuiltParts,
}

impl LogEntry {
    /// Entry for a change in the journal of a saved world.
    pub fn saved(step: u64, change: Alteration) -> Self {
        let deed = RecordedEdit::new(Edit::Saved(change.into()), Meaning::Play);
        Self { number: 0, step, deed, made: BuiltParts::default() }
    }

    /// Returns true for building changes, which a restart keeps.
    pub fn is_built(&self) -> bool {
        !matches!(self.deed.meaning, Meaning::Play)
    }

    /// Returns true unless the change only moves bodies.
    pub fn changes_bodies(&self) -> bool {
        let is_push = matches!(self.deed.edit, Edit::Join(..) | Edit::Part(_) | Edit::Joint(..) | Edit::Command(_));
        match self.deed.meaning {
            Meaning::Play => !is_push,
            Meaning::Gravity => false,
            _ => true,
        }
    }

    /// Returns true for changes that the user can undo.
    pub fn is_deed(&self) -> bool {
        let is_part = matches!(self.deed.edit, Edit::Part(_) | Edit::Joint(..) | Edit::Saved(_));
        !is_part && !matches!(self.deed.meaning, Meaning::TakeBack(_) | Meaning::Place(_))
    }

    /// Edits that make up the change.
    fn edits(&self) -> &[Edit] {
        match &self.deed.edit {
            Edit::Group(edits) => edits,
            edit => std::slice::from_ref(edit),
        }
    }

    /// Description that this change gave to a body.
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

    /// Shapes that this change gave to a body that was there.
    fn shapes(&self, id: BodyId) -> Option<Vec<Shape>> {
        self.edits().iter().find_map(|edit| match edit {
            Edit::Saved(change) => match &**change {
                Alteration::SetShapes(of, shapes) if *of == id => Some(shapes.clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Description of a joint that this change added, with the slots of its bodies.
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

/// Numbers of changes that were undone by later entries.
pub(super) fn taken_back(log: &[LogEntry]) -> HashSet<u64> {
    let numbers = log.iter().filter_map(|entry| match &entry.deed.meaning {
        Meaning::TakeBack(numbers) => Some(numbers.iter().copied()),
        _ => None,
    });
    numbers.flatten().collect()
}

impl WorldRun {
    /// Present id of a body, which may have been removed and restored.
    pub fn resolve(&self, id: BodyId) -> BodyId {
        self.log[..self.next].iter().fold(id, |id, entry| {
            let at = entry.deed.was.0.iter().position(|was| *was == id);
            at.and_then(|at| entry.made.bodies.get(at)).copied().unwrap_or(id)
        })
    }

    /// Present id of a joint, which may have been replaced.
    pub fn resolve_joint(&self, id: JointId) -> JointId {
        self.log[..self.next].iter().fold(id, |id, entry| {
            let at = entry.deed.was.1.iter().position(|was| *was == id);
            at.and_then(|at| entry.made.joints.get(at)).copied().unwrap_or(id)
        })
    }

    /// Description with which a body was added or last changed; `None` if it comes from the journal of a saved world or
    /// an emitter.
    pub(super) fn description(&self, id: BodyId) -> Option<Body> {
        let entries = || self.log[..self.next].iter().enumerate().rev();
        let told = entries().find_map(|(at, entry)| Some((at, entry.description(id)?)));
        let of_scene = || self.scene.bodies.get(id.index as usize).filter(|_| id.generation == 0).cloned();
        let (since, mut body) = told.map_or_else(|| Some((0, of_scene()?)), Some)?;
        let mut later = entries().take_while(|(at, _)| *at >= since);
        if let Some(shapes) = later.find_map(|(_, entry)| entry.shapes(id)) {
            body.shapes = shapes;
        }
        Some(body)
    }

    /// Joints at the bodies in these slots, as they were added; `None` if the log does not know one of them.
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

    /// Slots of the bodies of a joint, `None` for the world.
    pub(super) fn laid(&self, id: JointId) -> Option<[Option<u32>; 2]> {
        let compiled = self.world.compiled();
        let joint = compiled.joints.joints.get(joint_place(compiled, id)?)?;
        Some([(joint.flags & drystone::low_level::types::WORLD_A == 0).then_some(joint.body_a), Some(joint.body_b)])
    }

    /// Places of bodies and of all bodies connected to them by joints; none before the first step.
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
