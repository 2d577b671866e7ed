//! The joint tables of a world: slots that joints keep, their colours, and the pairs of bodies that they exclude from
//! collision.
//!
//! The colouring is done on the host, as the bodies of a joint do not change while it lives. As for contacts
//! ([`crate::stages::color`]), no two joints of a colour move the same body. But joints are solved in passes of their
//! own before the contacts: so contacts keep the low colours, the number of passes is the same, and contacts are solved
//! last, so that no joint pulls a body through a wall.
//!
//! A joint keeps its slot, its rows and its state when others are added or removed: colours are lists of slots, with
//! spare capacity at their ends. So adding a joint changes a few words of each table. It takes the free slot of lowest
//! index and goes to the end of its colour's list; when a joint is removed, the last one of its colour moves to its
//! position. So adding and removing a joint leaves the order of the others as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use glam::{DVec2, Vec2};

use super::compile::mass::MassProperties;
use super::joint_rows::{InitialPoses, JointEnds, build_joint};
use super::joint_trees::{JointTree, find_trees};
use super::{BodyType, Joint, JointKind, Scene, Settings, Units};
use crate::types::{
    self, DYNAMIC, JOINT_APART, JOINT_COLORS, JOINT_DISABLED, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_FRESH,
    JOINT_OVERFLOW, JOINT_TREES, JOINT_TYPE_SHIFT, JOINT_VACANT, JointRow, JointState, NONE, ROW_COUNT_MASK,
    ROW_MEASURE, WORLD_A, is_length, u32_from,
};

/// First of the ends of the colours in [`JointTable::starts`].
const ENDS: usize = JOINT_COLORS as usize;
/// First of the slots in [`JointTable::starts`].
const HEADER: usize = 2 * ENDS + 2;
/// First of the list of trees, and their number, in [`JointTable::starts`].
const TREES: usize = JOINT_TREES as usize;
/// Colour of joints of trees, which have none.
const IN_TREE: u32 = JOINT_COLORS;
/// Spare capacity of a colour's list, beside half of its length.
const INITIAL_CAPACITY: usize = 4;

/// The joints of a world, laid out for the solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointTable {
    /// Joints by slot: those of the scene by colour, within a colour in scene order; later ones in free slots.
    pub joints: Vec<types::JointData>,
    /// Rows of all joints. Those of one joint are consecutive, in the order in which they are solved.
    pub rows: Vec<JointRow>,
    /// Initial state of each joint.
    pub states: Vec<JointState>,
    /// Joints of each colour: `starts[starts[c]] .. starts[starts[JOINT_COLORS + c]]` are the slots of those of colour
    /// `c`, in the order in which the overflow is solved. Up to `starts[starts[c + 1]]` is spare capacity. Then the
    /// trees of hinges, which have no colour: `starts[JOINT_TREES]` is the start of a list of `starts[JOINT_TREES + 1]`
    /// starts of trees, and a tree is the row of its first body, the number of its bodies, and two words each
    /// ([`Tree`](crate::stages::solve_joints::tree::Tree)).
    pub starts: Vec<u32>,
    /// Pairs of bodies that do not collide.
    pub exclusions: PairExclusions,
    /// Names, by index.
    pub ids: Vec<Option<String>>,
    /// True if a joint can end its exclusion, by breaking or by command, so that
    /// [`crate::stages::pair::update_exclusions`] must run.
    pub may_part: bool,
    /// Slots of joints that are not measured yet ([`JOINT_FRESH`]). Used by the CPU.
    pub(crate) fresh: Vec<u32>,
    /// Slot of each joint, by index.
    places: Vec<u32>,
    /// Colour and position in `starts` of each joint, by slot.
    positions: Vec<[u32; 2]>,
    /// Colours of the joints of each body, as bits.
    taken: Vec<u32>,
    /// Indices without a joint; the lowest is reused first.
    free: BTreeSet<u32>,
    /// Anchor on A of motor joints without the offset, from its centre of mass, m; by slot.
    bases: BTreeMap<u32, Vec2>,
    /// Trees of hinges.
    trees: Vec<JointTree>,
    /// First rows of free runs of rows, by their length.
    free_rows: [Vec<u32>; ROW_COUNT_MASK as usize + 1],
}

/// Rows of the joint tables that a change touched, for the engine to copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct JointChange {
    /// Slots of joints that were added or removed.
    pub places: BTreeSet<u32>,
    /// Rows of those joints.
    pub rows: BTreeSet<u32>,
    /// Changed words of [`JointTable::starts`] beside its header.
    pub order: BTreeSet<u32>,
    /// True if all of [`JointTable::starts`] is new.
    pub relaid: bool,
    /// Changed rows of [`PairExclusions::heads`].
    pub heads: BTreeSet<u32>,
    /// Changed rows of [`PairExclusions::links`].
    pub links: BTreeSet<u32>,
    /// Slots of joints that have other anchors; their states and rows stay.
    pub anchors: BTreeSet<u32>,
}

impl JointTable {
    /// Lays out the joints of a scene that was checked.
    pub(super) fn new(scene: &Scene, units: &Units, masses: &[MassProperties]) -> Self {
        let moves = |body: usize| scene.bodies[body].kind == BodyType::Dynamic;
        let mut table = Self { taken: vec![0; scene.bodies.len()], ..Self::default() };
        table.exclusions.heads = vec![[NONE, 0]; scene.bodies.len()];
        let ends = |joint: &Joint| [joint.a.filter(|&a| moves(a)), Some(joint.b).filter(|&b| moves(b))];
        let colors: Vec<u32> = scene.joints.iter().map(|joint| table.take_color(ends(joint))).collect();
        let mut order: Vec<usize> = (0..scene.joints.len()).collect();
        order.sort_by_key(|&index| (colors[index], index));
        let mut lists = vec![Vec::new(); ENDS];
        table.places = vec![0; scene.joints.len()];
        for (place, &index) in (0_u32..).zip(&order) {
            let joint = &scene.joints[index];
            let first_row = table.rows.len();
            let (mut laid, state) =
                build_joint(&scene.settings, units, joint, &ends_of(scene, masses, joint), &mut table.rows);
            laid.first_row = u32_from(first_row);
            laid.flags |= u32_from(table.rows.len() - first_row);
            laid.id = u32_from(index);
            table.joints.push(laid);
            table.states.push(state);
            table.places[index] = place;
            table.keep_base(place, joint, ends_of(scene, masses, joint).centers[0]);
            lists[colors[index] as usize].push(place);
        }
        table.positions = vec![[0; 2]; table.joints.len()];
        table.build_lists(&lists);
        table.exclusions.links = vec![[NONE; 2]; 2 * table.joints.len()];
        table.exclusions.before = vec![NONE; 2 * table.joints.len()];
        for index in 0..scene.joints.len() {
            let place = table.places[index];
            table.add_exclusion(place, &mut JointChange::default());
        }
        table.ids = scene.joints.iter().map(|joint| joint.id.clone()).collect();
        table.find_trees(masses, &mut JointChange::default());
        table
    }

    /// Returns the number of joints.
    #[must_use]
    pub fn count(&self) -> usize {
        self.joints.len() - self.free.len()
    }

    /// Returns the slot of the joint with this index, also of a removed one.
    pub(crate) fn place(&self, index: u32) -> Option<usize> {
        self.places.get(index as usize).map(|&place| place as usize)
    }

    /// Returns the number of slots after adding `more` joints.
    pub(crate) fn most(&self, more: usize) -> usize {
        self.joints.len() + more.saturating_sub(self.free.len())
    }

    /// Grows the tables to this number of bodies.
    pub(crate) fn resize_bodies(&mut self, bodies: usize, change: &mut JointChange) {
        change.heads.extend(u32_from(self.exclusions.heads.len())..u32_from(bodies));
        self.exclusions.heads.resize(bodies, [NONE, 0]);
        self.taken.resize(bodies, 0);
    }

    /// Adds a joint that was checked. Returns its slot.
    pub(crate) fn add(
        &mut self,
        settings: &Settings,
        units: &Units,
        joint: &Joint,
        bodies: &[types::BodyData],
        masses: &[MassProperties],
        change: &mut JointChange,
    ) -> u32 {
        let (mut laid, state, rows) = lay_out(settings, units, joint, bodies, masses);
        let place = if let Some(index) = self.free.pop_first() {
            let place = self.places[index as usize];
            let before = self.joints[place as usize];
            (laid.id, laid.generation) = (before.id, before.generation);
            self.joints[place as usize] = laid;
            self.states[place as usize] = state;
            self.ids[index as usize].clone_from(&joint.id);
            place
        } else {
            // There are as many slots as indices, so the next of both is free.
            let place = u32_from(self.joints.len());
            laid.id = place;
            self.joints.push(laid);
            self.states.push(state);
            self.places.push(place);
            self.positions.push([0; 2]);
            self.exclusions.links.extend([[NONE; 2]; 2]);
            self.exclusions.before.extend([NONE; 2]);
            change.links.extend([2 * place, 2 * place + 1]);
            self.ids.push(joint.id.clone());
            place
        };
        self.insert(place, joint, &rows, masses, change);
        place
    }

    /// Gives a joint, whose row in [`Self::joints`] is new, its rows, its colour and its exclusion.
    fn insert(
        &mut self,
        place: u32,
        joint: &Joint,
        rows: &[JointRow],
        masses: &[MassProperties],
        change: &mut JointChange,
    ) {
        let (first, count) = (self.place_rows(rows), u32_from(rows.len()));
        change.rows.extend(first..first + count);
        let laid = &mut self.joints[place as usize];
        laid.first_row = first;
        laid.flags |= count;
        let laid = *laid;
        let color = self.take_color(laid.moving_ends().map(|body| body.map(|body| body as usize)));
        self.keep_base(place, joint, joint.a.map_or(Vec2::ZERO, |a| masses[a].center));
        self.append(place, color, change);
        self.add_exclusion(place, change);
        if laid.flags & JOINT_FRESH != 0 {
            self.fresh.push(place);
        }
        change.places.insert(place);
    }

    /// Replaces a joint by another that was checked; it keeps its slot and its index. A reference angle that is not
    /// given stays, if both are of one type, and so does a length that is not. Rows begin without impulses.
    pub(crate) fn replace(
        &mut self,
        place: u32,
        settings: &Settings,
        units: &Units,
        joint: &Joint,
        bodies: &[types::BodyData],
        masses: &[MassProperties],
        change: &mut JointChange,
    ) {
        let at = place as usize;
        let (before, state) = (self.joints[at], self.states[at]);
        let is_same = before.flags >> JOINT_TYPE_SHIFT == joint.kind.number();
        let before_rows = rows_of(&before);
        let length = self.rows[before_rows].iter().rev().find(|row| is_length(row.kind)).map(|row| row.goal);
        self.take_rows(place, change);
        let (mut laid, fresh, mut rows) = lay_out(settings, units, joint, bodies, masses);
        (laid.id, laid.generation) = (before.id, before.generation);
        let mut state = JointState { angle: state.angle, ..fresh };
        if is_same {
            if laid.flags & JOINT_FRESH != 0 && before.flags & JOINT_FRESH == 0 {
                laid.flags &= !JOINT_FRESH;
                laid.reference_angle = before.reference_angle;
            }
            for row in rows.iter_mut().filter(|row| is_length(row.kind) && row.kind & ROW_MEASURE != 0) {
                if let Some(length) = length {
                    (row.goal, row.kind) = (length, row.kind & !ROW_MEASURE);
                }
            }
            state.angle += before.reference_angle - laid.reference_angle;
        }
        self.joints[at] = laid;
        self.states[at] = state;
        self.ids[laid.id as usize].clone_from(&joint.id);
        self.insert(place, joint, &rows, masses, change);
    }

    /// Removes a joint.
    pub(crate) fn remove(&mut self, place: u32, change: &mut JointChange) {
        let at = place as usize;
        let joint = self.joints[at];
        self.take_rows(place, change);
        self.joints[at] = types::JointData {
            flags: JOINT_VACANT | JOINT_DISABLED,
            id: joint.id,
            generation: joint.generation.wrapping_add(1),
            ratio: 1.0,
            ..types::JointData::default()
        };
        self.states[at] = JointState::default();
        self.ids[joint.id as usize] = None;
        self.free.insert(joint.id);
        change.places.insert(place);
    }

    /// Takes a joint out of its colour, and frees its rows and its exclusion.
    fn take_rows(&mut self, place: u32, change: &mut JointChange) {
        let joint = self.joints[place as usize];
        self.remove_exclusion(place, change);
        self.take_out(place, change);
        let rows = rows_of(&joint);
        change.rows.extend(u32_from(rows.start)..u32_from(rows.end));
        self.free_rows[rows.len()].push(joint.first_row);
        self.rows[rows].fill(JointRow::default());
        self.bases.remove(&place);
        self.fresh.retain(|&fresh| fresh != place);
    }

    /// Takes a joint out of the list of its colour.
    fn take_out(&mut self, place: u32, change: &mut JointChange) {
        let joint = self.joints[place as usize];
        let [color, turn] = self.positions[place as usize];
        if color == IN_TREE {
            return;
        }
        if color < JOINT_OVERFLOW {
            for body in joint.moving_ends().into_iter().flatten() {
                self.taken[body as usize] &= !(1 << color);
            }
        }
        let end = self.starts[ENDS + color as usize] - 1;
        self.starts[ENDS + color as usize] = end;
        let last = self.starts[end as usize];
        self.starts[turn as usize] = last;
        self.positions[last as usize][1] = turn;
        change.order.insert(turn);
    }

    /// Returns the order in which the joints are solved: [`Self::starts`], without the header of the trees if there are
    /// none, as it was before there were trees.
    pub(crate) fn order(&self) -> Vec<u32> {
        if self.starts.is_empty() || !self.trees.is_empty() {
            return self.starts.clone();
        }
        let former = 2 * ENDS;
        let moved = u32_from(HEADER - former);
        let ends = self.starts[..former].iter().map(|at| at - moved);
        ends.chain(self.starts[HEADER..self.starts[TREES] as usize].iter().copied()).collect()
    }

    /// Finds the trees of hinges again, if joints came or went.
    pub(crate) fn update_trees(&mut self, masses: &[MassProperties], change: &mut JointChange) {
        if !change.places.is_empty() {
            self.find_trees(masses, change);
        }
    }

    /// Sets which ends of a joint do not move, after the type of a body changed, and its colour by the ends that do.
    pub(crate) fn set_fixed_ends(&mut self, place: u32, bodies: &[types::BodyData], change: &mut JointChange) {
        let [color, _] = self.positions[place as usize];
        self.take_out(place, change);
        let joint = &mut self.joints[place as usize];
        let moves = |body: u32| bodies[body as usize].kind == DYNAMIC;
        for (body, flag, is_body) in
            [(joint.body_a, JOINT_FIXED_A, joint.flags & WORLD_A == 0), (joint.body_b, JOINT_FIXED_B, true)]
        {
            joint.flags = if is_body && moves(body) { joint.flags & !flag } else { joint.flags | flag };
        }
        if color != IN_TREE {
            let ends = joint.moving_ends().map(|body| body.map(|body| body as usize));
            let color = self.take_color(ends);
            self.append(place, color, change);
        }
    }

    /// Finds the trees of hinges: their hinges have no colour, all others have one.
    pub(crate) fn find_trees(&mut self, masses: &[MassProperties], change: &mut JointChange) {
        let trees = find_trees(&self.joints, &self.rows, masses);
        if trees == self.trees {
            return;
        }
        let held: BTreeSet<u32> = trees.iter().flat_map(JointTree::joints).collect();
        for place in 0..u32_from(self.joints.len()) {
            let joint = self.joints[place as usize];
            if joint.flags & JOINT_VACANT != 0 {
                continue;
            }
            let [color, _] = self.positions[place as usize];
            if held.contains(&place) {
                self.take_out(place, change);
                self.positions[place as usize] = [IN_TREE, 0];
            } else if color == IN_TREE {
                let color = self.take_color(joint.moving_ends().map(|body| body.map(|body| body as usize)));
                self.append(place, color, change);
            }
        }
        self.trees = trees;
        self.lay_out_again(change);
    }

    /// Shifts the anchors of the joints of a body, whose centre of mass has moved by `shift` in its frame, m.
    pub(crate) fn shift_anchors(&mut self, body: u32, shift: Vec2, change: &mut JointChange) {
        if shift == Vec2::ZERO {
            return;
        }
        for place in self.of_bodies(&BTreeSet::from([body])) {
            let joint = &mut self.joints[place as usize];
            if joint.body_b == body {
                joint.anchor_b = (Vec2::from(joint.anchor_b) - shift).into();
            }
            if joint.body_a == body && joint.flags & WORLD_A == 0 {
                joint.anchor_a = (Vec2::from(joint.anchor_a) - shift).into();
                self.bases.entry(place).and_modify(|base| *base -= shift);
            }
            change.anchors.insert(place);
        }
    }

    /// Returns the number of trees of hinges.
    pub(crate) fn tree_count(&self) -> usize {
        self.trees.len()
    }

    /// Recomputes the list of unmeasured joints and whether exclusions may have ended, after a snapshot set the joints'
    /// flags.
    pub(crate) fn refresh(&mut self) {
        let fresh = (0_u32..).zip(&self.joints).filter(|(_, joint)| joint.flags & JOINT_FRESH != 0);
        self.fresh = fresh.map(|(place, _)| place).collect();
        self.may_part |= self.joints.iter().zip(self.exclusions.links.chunks_exact(2)).any(|(joint, links)| {
            joint.flags & JOINT_APART != 0 && (links[0][0] == NONE) != (joint.flags & JOINT_DISABLED != 0)
        });
    }

    fn keep_base(&mut self, place: u32, joint: &Joint, center: Vec2) {
        if matches!(joint.kind, JointKind::Motor { .. }) {
            self.bases.insert(place, joint.anchor_a - center);
        }
    }

    /// Returns the anchor on A of a motor joint without the offset, from its centre of mass, m.
    #[must_use]
    pub fn base(&self, place: u32) -> Vec2 {
        self.bases.get(&place).copied().unwrap_or_default()
    }

    /// Takes the lowest colour that is free at the dynamic bodies of a joint.
    fn take_color(&mut self, ends: [Option<usize>; 2]) -> u32 {
        let ends = ends.into_iter().flatten();
        let free = !ends.clone().fold(0, |mask, body| mask | self.taken[body]);
        let color = free.trailing_zeros().min(JOINT_OVERFLOW);
        ends.for_each(|body| self.taken[body] |= 1 << color);
        color
    }

    fn place_rows(&mut self, rows: &[JointRow]) -> u32 {
        if let Some(first) = self.free_rows[rows.len()].pop() {
            self.rows[first as usize..][..rows.len()].copy_from_slice(rows);
            return first;
        }
        let first = u32_from(self.rows.len());
        self.rows.extend_from_slice(rows);
        first
    }

    /// Moves a joint, given by its slot, to the overflow colour, whose joints are solved one after the other: a program
    /// that writes other bodies into the joint does not have to color it again.
    pub fn move_to_overflow(&mut self, place: usize) {
        let (place, mut change) = (u32_from(place), JointChange::default());
        self.take_out(place, &mut change);
        self.append(place, JOINT_OVERFLOW, &mut change);
    }

    /// Appends a joint to the list of its colour.
    fn append(&mut self, place: u32, color: u32, change: &mut JointChange) {
        let color = color as usize;
        let room = |starts: &[u32]| if color + 1 < ENDS { starts[color + 1] } else { starts[TREES] };
        if self.starts.is_empty() || self.starts[ENDS + color] == room(&self.starts) {
            self.lay_out_again(change);
        }
        let turn = self.starts[ENDS + color];
        self.starts[turn as usize] = place;
        self.starts[ENDS + color] = turn + 1;
        self.positions[place as usize] = [u32_from(color), turn];
        change.order.insert(turn);
    }

    /// Returns the slots of the joints of a colour.
    pub(crate) fn of_color(&self, color: usize) -> &[u32] {
        if self.starts.is_empty() {
            return &[];
        }
        &self.starts[self.starts[color] as usize..self.starts[ENDS + color] as usize]
    }

    /// Lays out the lists again, with new spare capacity and the present trees.
    fn lay_out_again(&mut self, change: &mut JointChange) {
        let lists: Vec<Vec<u32>> = (0..ENDS).map(|color| self.of_color(color).to_vec()).collect();
        self.build_lists(&lists);
        change.relaid = true;
    }

    /// Rebuilds the lists, each with spare capacity for half its length and a few more.
    fn build_lists(&mut self, lists: &[Vec<u32>]) {
        self.starts = vec![0; HEADER];
        for (color, list) in lists.iter().enumerate() {
            let first = self.starts.len();
            self.starts[color] = u32_from(first);
            self.starts[ENDS + color] = u32_from(first + list.len());
            for (turn, &place) in (first..).zip(list) {
                self.positions[place as usize] = [u32_from(color), u32_from(turn)];
            }
            self.starts.extend_from_slice(list);
            self.starts.resize(first + list.len() + list.len() / 2 + INITIAL_CAPACITY, 0);
        }
        let first = self.starts.len();
        self.starts[TREES] = u32_from(first);
        self.starts[TREES + 1] = u32_from(self.trees.len());
        self.starts.resize(first + self.trees.len(), 0);
        let mut row = 0;
        for (at, tree) in (first..).zip(&self.trees) {
            self.starts[at] = u32_from(self.starts.len());
            self.starts.extend([row, u32_from(tree.bodies.len())]);
            for &[joint, parent] in &tree.bodies {
                let is_row = joint != NONE && parent != NONE;
                self.starts.extend([joint, if is_row { row + parent } else { parent }]);
            }
            row += u32_from(tree.bodies.len());
        }
    }

    /// Adds the pair exclusion of a joint, if it has one.
    fn add_exclusion(&mut self, place: u32, change: &mut JointChange) {
        let joint = &self.joints[place as usize];
        if joint.flags & JOINT_APART == 0 {
            return;
        }
        self.may_part |= joint.break_force < f32::MAX || joint.break_torque < f32::MAX;
        let holds = joint.flags & JOINT_DISABLED == 0;
        for (link, own, other) in [(2 * place, joint.body_a, joint.body_b), (2 * place + 1, joint.body_b, joint.body_a)]
        {
            let [first, count] = self.exclusions.heads[own as usize];
            self.exclusions.links[link as usize] = [if holds { other } else { NONE }, first];
            self.exclusions.before[link as usize] = NONE;
            if first != NONE {
                self.exclusions.before[first as usize] = link;
            }
            self.exclusions.heads[own as usize] = [link, count + 1];
            change.heads.insert(own);
            change.links.insert(link);
        }
    }

    fn remove_exclusion(&mut self, place: u32, change: &mut JointChange) {
        let joint = &self.joints[place as usize];
        if joint.flags & JOINT_APART == 0 {
            return;
        }
        for (link, own) in [(2 * place, joint.body_a), (2 * place + 1, joint.body_b)] {
            let next = self.exclusions.links[link as usize][1];
            let before = self.exclusions.before[link as usize];
            let head = &mut self.exclusions.heads[own as usize];
            head[1] -= 1;
            if before == NONE {
                head[0] = next;
            } else {
                self.exclusions.links[before as usize][1] = next;
                change.links.insert(before);
            }
            if next != NONE {
                self.exclusions.before[next as usize] = before;
            }
            self.exclusions.links[link as usize] = [NONE; 2];
            change.heads.insert(own);
            change.links.insert(link);
        }
    }

    /// Returns the joints of these bodies, by slot.
    pub(crate) fn of_bodies(&self, bodies: &BTreeSet<u32>) -> Vec<u32> {
        let tied = |joint: &types::JointData| {
            joint.flags & JOINT_VACANT == 0
                && (bodies.contains(&joint.body_b) || (joint.flags & WORLD_A == 0 && bodies.contains(&joint.body_a)))
        };
        (0_u32..).zip(&self.joints).filter(|(_, joint)| tied(joint)).map(|(place, _)| place).collect()
    }
}

/// Pair exclusions: bodies that do not collide because a joint connects them. A linked list for each body, so that
/// joints can be added and removed. A joint that is broken or switched off excludes nothing
/// ([`crate::stages::pair::update_exclusions`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairExclusions {
    /// Index of the first link of each body, or [`NONE`], and the number of its links.
    pub heads: Vec<[u32; 2]>,
    /// Two links a joint slot, the first in the list of its body A: the other body, or [`NONE`] while the joint
    /// excludes nothing; and the next link of the same body, or [`NONE`].
    pub links: Vec<[u32; 2]>,
    /// Previous link of each link. Not on the device.
    before: Vec<u32>,
}

impl PairExclusions {
    /// Returns true if a joint excludes the pair of bodies from collision.
    #[inline]
    #[must_use]
    pub fn keep_apart(&self, a: u32, b: u32) -> bool {
        // The shorter list: a ground may have many joints where a plank has two.
        let ([first_a, count_a], [first_b, count_b]) = (self.heads[a as usize], self.heads[b as usize]);
        let (mut link, other) = if count_a <= count_b { (first_a, b) } else { (first_b, a) };
        while link != NONE {
            let [to, next] = self.links[link as usize];
            if to == other {
                return true;
            }
            link = next;
        }
        false
    }
}

/// Returns a joint between bodies of a running world, its state and its rows.
fn lay_out(
    settings: &Settings,
    units: &Units,
    joint: &Joint,
    bodies: &[types::BodyData],
    masses: &[MassProperties],
) -> (types::JointData, JointState, Vec<JointRow>) {
    let moves = |body: usize| bodies[body].kind == DYNAMIC;
    let ends = JointEnds {
        moves: [joint.a.is_some_and(moves), moves(joint.b)],
        centers: [joint.a.map_or(Vec2::ZERO, |a| masses[a].center), masses[joint.b].center],
        start: None,
    };
    let mut rows = Vec::new();
    let (laid, state) = build_joint(settings, units, joint, &ends, &mut rows);
    (laid, state, rows)
}

/// Returns the rows of a joint.
fn rows_of(joint: &types::JointData) -> Range<usize> {
    let first = joint.first_row as usize;
    first..first + (joint.flags & ROW_COUNT_MASK) as usize
}

/// Returns the distance of two places, m.
pub(super) fn distance(a: DVec2, b: DVec2) -> f32 {
    (b - a).as_vec2().length()
}

/// Returns the length of the rope of a pulley with its ends at these places, m.
pub(super) fn rope_length(ends: [DVec2; 2], [ground_a, ground_b]: [Vec2; 2], ratio: f32) -> f32 {
    distance(ends[0], ground_a.into()) + ratio * distance(ends[1], ground_b.into())
}

fn ends_of(scene: &Scene, masses: &[MassProperties], joint: &Joint) -> JointEnds {
    let moves = |body: usize| scene.bodies[body].kind == BodyType::Dynamic;
    let place = |body: Option<usize>, anchor: Vec2| match body {
        Some(body) => scene.bodies[body].place_of(anchor),
        None => anchor.into(),
    };
    let [at_a, at_b] = [place(joint.a, joint.anchor_on_a()), place(Some(joint.b), joint.anchor_b)];
    let distance = match joint.kind {
        JointKind::Pulley { ground_a, ground_b, ratio, .. } => rope_length([at_a, at_b], [ground_a, ground_b], ratio),
        _ => distance(at_a, at_b),
    };
    let angle = |body: Option<usize>| body.map_or(0.0, |body| scene.bodies[body].angle);
    JointEnds {
        moves: [joint.a.is_some_and(moves), moves(joint.b)],
        centers: [joint.a.map_or(Vec2::ZERO, |a| masses[a].center), masses[joint.b].center],
        start: Some(InitialPoses { distance, turned: angle(Some(joint.b)) - angle(joint.a) }),
    }
}
