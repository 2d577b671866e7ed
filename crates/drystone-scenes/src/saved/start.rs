//! Starts a changed scene from the state of a saved world: positions, velocities and impulses.

use std::collections::HashMap;

use glam::Vec2;

use super::present::Relived;
use super::{SavedWorld, SavedWorldError};
use drystone::low_level::math::rotate;
use drystone::low_level::population::joint_place;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{
    ASLEEP, Contact, DYNAMIC, GEOMETRY_MASK, JointData, KINEMATIC, Manifold, NO_SHAPE, QUIET_MASK, ROW_COUNT_MASK,
    ROW_MEASURE, ShapeData, SleepingContact, VACANT, VERTEX_COUNT_SHIFT, WOKEN, WORLD_A,
};
use drystone::{JointId, Snapshot, World};

/// Numbers of what a world has taken from a state, and what it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenState {
    /// Number of dynamic and kinematic bodies with positions and velocities of the state.
    pub bodies: usize,
    /// Number of contacts with impulses of the state.
    pub contacts: usize,
    /// Number of joints with impulses of the state.
    pub joints: usize,
    /// Bodies and joints of the scene that are not in the state, and those of the state that are not in the scene.
    pub unmatched: Vec<String>,
}

impl SavedWorld {
    /// Gives a world, as made from a scene and without a step, the positions, velocities and impulses of this saved
    /// world. Time begins at 0.
    ///
    /// Bodies and joints are matched by their names, those without a name by their index. Matched bodies have the same
    /// type. Dynamic bodies take position, angle and velocities; kinematic ones position and angle, unless they are on
    /// a path; static ones are where the scene has them. All bodies are awake. Contacts of shapes that have another
    /// outline or place on their body begin without impulses. Everything else is that of the scene: masses, materials,
    /// forces, motors, gravity and settings.
    ///
    /// With `partial`, bodies and joints of the scene that are not in the state start as the scene says, and those of
    /// the state that are not in the scene are left out.
    ///
    /// # Errors
    /// Without `partial`, all bodies and joints that do not match; the world has done a step, the sections are
    /// inconsistent, or the device is lost.
    pub fn start(&self, world: &mut World, partial: bool) -> Result<TakenState, SavedWorldError> {
        let Relived { compiled: old, snapshot: from, .. } = self.relive()?;
        let mut snapshot = world.snapshot()?;
        let new = world.compiled();
        let match_up = MatchUp::new(&old, new);
        let mut taken = TakenState { unmatched: match_up.unmatched.clone(), ..TakenState::default() };
        if !partial && !taken.unmatched.is_empty() {
            return Err(SavedWorldError::Unmatched(taken.unmatched.join("; ")));
        }
        for (index, slot) in match_up.bodies.iter().enumerate() {
            if let Some(slot) = *slot {
                taken.bodies += usize::from(take_body(&mut snapshot, index, new, &from, slot, &old));
            }
        }
        taken.contacts = take_contacts(&mut snapshot, new, &from, &match_up);
        for &(place, before) in &match_up.joints {
            snapshot.joint_states[place] = from.joint_states[before];
            let [rows, old_rows] = [(new, place), (&old, before)].map(|(compiled, place)| {
                let joint = &compiled.joints.joints[place];
                joint.first_row as usize..(joint.first_row + (joint.flags & ROW_COUNT_MASK)) as usize
            });
            snapshot.joint_impulses[rows].copy_from_slice(&from.joint_impulses[old_rows]);
            taken.joints += 1;
        }
        world.restore(&snapshot)?;
        Ok(taken)
    }
}

/// Copies a body's position and velocity. Returns true if it moves at all.
fn take_body(
    snapshot: &mut Snapshot,
    index: usize,
    new: &Compiled,
    from: &Snapshot,
    slot: usize,
    old: &Compiled,
) -> bool {
    let kind = new.bodies[index].kind;
    let is_led = new.paths.iter().any(|led| led.body as usize == index);
    if is_led || (kind != DYNAMIC && kind != KINEMATIC) {
        return false;
    }
    let mut pose = from.poses[slot];
    let (center, before) = (new.mass[index].center, old.mass[slot].center);
    if center != before {
        // The origin of the frame is where it was.
        let moved = rotate(pose.rotation.into(), center - before);
        pose.position = (Vec2::from(pose.position) + moved).into();
    }
    snapshot.poses[index] = pose;
    if kind == DYNAMIC {
        let state = from.states[slot];
        snapshot.states[index] = state;
        snapshot.states[index].status = state.status & !(ASLEEP | WOKEN | QUIET_MASK);
    }
    true
}

/// Copies the contacts between shapes that are as they were. Returns their number.
fn take_contacts(snapshot: &mut Snapshot, new: &Compiled, from: &Snapshot, match_up: &MatchUp) -> usize {
    let mut lists: Vec<Vec<(Contact, Manifold)>> = vec![Vec::new(); new.shapes.len()];
    let awake = from.contacts.iter().copied().zip(from.manifolds.iter().copied());
    let asleep = from.sleeping.iter().map(|&SleepingContact { contact, manifold }| (contact, manifold));
    let mut count = 0;
    for (contact, manifold) in awake.chain(asleep) {
        let find = |shape: u32| match_up.shapes.get(&shape).copied();
        let (Some(shape_a), Some(shape_b)) = (find(contact.shape_a), find(contact.shape_b)) else { continue };
        let body = |shape: u32| new.shapes[shape as usize].body;
        let list = &mut lists[shape_a as usize];
        // In the step in which bodies fall asleep their contacts are in both tables.
        if list.iter().any(|(other, _)| other.shape_b == shape_b) {
            continue;
        }
        let contact = Contact { shape_a, shape_b, body_a: body(shape_a), body_b: body(shape_b), ..contact };
        list.push((contact, manifold));
        count += 1;
    }
    if count > 0 {
        snapshot.pair_starts = vec![0];
        for list in lists {
            snapshot.contacts.extend(list.iter().map(|(contact, _)| *contact));
            snapshot.manifolds.extend(list.iter().map(|(_, manifold)| *manifold));
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            snapshot.pair_starts.push(snapshot.contacts.len() as u32);
        }
    }
    count
}

/// Bodies, shapes and joints of a new world and their counterparts in an old one.
#[derive(Default)]
struct MatchUp {
    /// Slot in the old world of each body of the new one.
    bodies: Vec<Option<usize>>,
    /// Shapes of the new world by those of the old one that have the same outline at the same place.
    shapes: HashMap<u32, u32>,
    /// Places of joints in the tables: in the new world, and in the old one.
    joints: Vec<(usize, usize)>,
    unmatched: Vec<String>,
}

impl MatchUp {
    fn new(old: &Compiled, new: &Compiled) -> Self {
        let mut this = Self::default();
        this.match_bodies(old, new);
        this.match_shapes(old, new);
        this.match_joints(old, new);
        this
    }

    fn match_bodies(&mut self, old: &Compiled, new: &Compiled) {
        let names: HashMap<&str, usize> =
            old.ids.iter().enumerate().filter_map(|(slot, name)| Some((name.as_deref()?, slot))).collect();
        let mut is_taken = vec![false; old.bodies.len()];
        for (index, (body, name)) in new.bodies.iter().zip(&new.ids).enumerate() {
            let at_index = || old.ids.get(index).filter(|name| name.is_none()).map(|_| index);
            let slot = name.as_deref().map_or_else(at_index, |name| names.get(name).copied());
            let slot = slot.filter(|&slot| old.bodies[slot].kind != VACANT);
            let what = label("body", name.as_deref(), index);
            match slot {
                None => self.unmatched.push(format!("{what} is not in the state")),
                Some(slot) if old.bodies[slot].kind != body.kind => {
                    is_taken[slot] = true;
                    self.unmatched.push(format!("{what} has another type in the state"));
                }
                Some(slot) => {
                    is_taken[slot] = true;
                    self.bodies.push(Some(slot));
                    continue;
                }
            }
            self.bodies.push(None);
        }
        let missing = (0..old.bodies.len()).filter(|&slot| !is_taken[slot] && old.bodies[slot].kind != VACANT);
        self.unmatched.extend(missing.map(|slot| {
            let what = label("body", old.ids[slot].as_deref(), slot);
            format!("{what} of the state is not in the scene")
        }));
    }

    fn match_shapes(&mut self, old: &Compiled, new: &Compiled) {
        let [mut before, mut after] = [old, new].map(|compiled| {
            let mut shapes = vec![Vec::new(); compiled.bodies.len()];
            for (place, shape) in (0_u32..).zip(&compiled.shapes) {
                if shape.kind & GEOMETRY_MASK != NO_SHAPE {
                    shapes[shape.body as usize].push(place);
                }
            }
            shapes
        });
        for (index, slot) in self.bodies.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let pairs = std::mem::take(&mut before[slot]).into_iter().zip(std::mem::take(&mut after[index]));
            self.shapes.extend(pairs.filter(|&(before, after)| is_same_outline(old, before, new, after)));
        }
    }

    fn match_joints(&mut self, old: &Compiled, new: &Compiled) {
        let counts = [old, new].map(|compiled| compiled.joints.ids.len());
        let place = |compiled: &Compiled, index: usize| {
            // Joints that were added to a running world may have any generation.
            let joints = compiled.joints.joints.iter();
            let id = joints.map(|joint| JointId { index: joint.id, generation: joint.generation });
            id.filter(|id| id.index as usize == index).find_map(|id| joint_place(compiled, id))
        };
        let names: HashMap<&str, usize> =
            old.joints.ids.iter().enumerate().filter_map(|(index, name)| Some((name.as_deref()?, index))).collect();
        let mut is_taken = vec![false; counts[0]];
        for index in 0..counts[1] {
            let name = new.joints.ids[index].as_deref();
            let at_index = || old.joints.ids.get(index).filter(|name| name.is_none()).map(|_| index);
            let before = name.map_or_else(at_index, |name| names.get(name).copied());
            let what = label("joint", name, index);
            let Some(after) = place(new, index) else { continue };
            let Some((before, place_before)) = before.and_then(|before| Some((before, place(old, before)?))) else {
                self.unmatched.push(format!("{what} is not in the state"));
                continue;
            };
            is_taken[before] = true;
            if self.is_same_joint(old, place_before, new, after) {
                self.joints.push((after, place_before));
            } else {
                self.unmatched.push(format!("{what} has another type, other bodies or other features in the state"));
            }
        }
        let missing = (0..counts[0]).filter(|&index| !is_taken[index] && place(old, index).is_some());
        self.unmatched.extend(missing.map(|index| {
            let what = label("joint", old.joints.ids[index].as_deref(), index);
            format!("{what} of the state is not in the scene")
        }));
    }

    /// Returns true if two joints are between matched bodies and have the same rows.
    fn is_same_joint(&self, old: &Compiled, before: usize, new: &Compiled, after: usize) -> bool {
        let [a, b] = [(old, before), (new, after)].map(|(compiled, place)| &compiled.joints.joints[place]);
        let kinds = |compiled: &Compiled, joint: &JointData| -> Vec<u32> {
            let first = joint.first_row as usize;
            let rows = &compiled.joints.rows[first..first + (joint.flags & ROW_COUNT_MASK) as usize];
            rows.iter().map(|row| row.kind & !ROW_MEASURE).collect()
        };
        let is_matched = |old: u32, new: u32| self.bodies[new as usize] == Some(old as usize);
        let to_world = a.flags & WORLD_A;
        to_world == b.flags & WORLD_A
            && (to_world != 0 || is_matched(a.body_a, b.body_a))
            && is_matched(a.body_b, b.body_b)
            && kinds(old, a) == kinds(new, b)
    }
}

/// Returns true if two shapes have the same outline at the same place on their bodies, bit by bit.
fn is_same_outline(old: &Compiled, before: u32, new: &Compiled, after: u32) -> bool {
    const OUTLINE: u32 = GEOMETRY_MASK | 0xf << VERTEX_COUNT_SHIFT;
    let (a, b) = (&old.shapes[before as usize], &new.shapes[after as usize]);
    let numbers = |shape: &ShapeData| {
        let [[w, h], [x, y], [cos, sin]] = [shape.half, shape.offset, shape.rotation];
        [w, h, x, y, cos, sin, shape.radius].map(f32::to_bits)
    };
    let vertices = |compiled: &Compiled, shape: &ShapeData| {
        let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
        let first = shape.first_vertex as usize;
        compiled.vertices.get(first..first + count).map(<[_]>::to_vec).unwrap_or_default()
    };
    a.kind & OUTLINE == b.kind & OUTLINE && numbers(a) == numbers(b) && vertices(old, a) == vertices(new, b)
}

fn label(what: &str, name: Option<&str>, index: usize) -> String {
    name.map_or_else(|| format!("{what} {index}"), |name| format!("{what} {name:?}"))
}
