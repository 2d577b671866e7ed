//! Trees of hinges, welds and sliders, solved exactly.
//!
//! Sweeps pass an impulse on by one joint a visit, and by the share that a light body has of the mass of a heavy one:
//! a ball of a thousand times the mass of the links of its chain stretches them. Where bodies that hinges connect
//! differ that much ([`TREE_RATIO`](crate::constants::TREE_RATIO)), their hinges are solved at once. The host lists
//! them as trees ([`crate::scene::JointTable`]): each body has one hinge towards the root, and only the root may have
//! one to a fixed body. Other hinges of the same bodies, which close loops, are swept. Where nothing else is said,
//! welds and sliders count as hinges.
//!
//! Wanted are the changes `δ` of velocities with which no anchor moves against its partner, beyond the share of
//! its error that is taken back: for each hinge `J_c δ_c − J_p δ_p = ρ`, where `c` is the body on the side of the
//! leaves, `p` the one on that of the root, and `ρ` the velocity that is missing. From the leaves to the root each body
//! is eliminated: with its hinge's `K = J_c M_c⁻¹ J_cᵀ` the parent's mass grows by `J_pᵀ K⁻¹ J_p`, what it feels of the
//! child. Then from the root to the leaves each hinge knows its impulse, `λ = K⁻¹ (ρ' + J_p δ_p)`. A mass is kept as
//! its factors `L D Lᵀ`, at the hinge of the child that adds most to it; a pivot is never smaller than that of the body
//! alone, which rounding could make it.
//!
//! On a weld a child follows its parent in all, `δ_c = ρ + J_p δ_p`: the parent's mass grows by the whole `M_c`, and
//! the impulse is `M_c δ_c` less what the children push. Nothing is divided. On a slider `J` is the velocity across it,
//! at the child's point of reference, and the spin.
//!
//! A body of a tree has the least of the inverse inertias that its hinges see
//! ([`stiffened`](crate::stages::prepare_joints::stiffened)), for all of them. Other rows of the hinges, limits and
//! motors, are visited before, one after the other.
//!
//! A contact sees the mass of one body, not of all that hangs on it. If it stops a light leg, the tree pushes the leg
//! on with the whole mass behind it, the contact stops that again, and its impulse grows until it throws the whole. So
//! while a light body of a tree touches something, its hinges are swept, those near the root first: a swept joint
//! gives way instead. What it has stretched is taken back slowly afterwards
//! ([`TREE_PULL`](crate::constants::TREE_PULL)).

mod row;

use glam::Vec2;

use self::row::HingeArms;
use super::{BodyPair, JointMotion, Stance, accumulate, rows_of, shortened, solve_joint};
use crate::constants::{FAR, MIN_LENGTH, TREE_PULL, TREE_RATIO, UNTOUCHED};
use crate::math::{inv_rotate, larger, smaller};
use crate::types::{
    Accumulator, BodyState, DEPOSIT, HELD, HELD_ALONE, JOINT_COLORS, JointFrame, JointRow, NONE, Params, ROW_ACROSS,
    ROW_ANGLE, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY, ROW_POINT, ROW_ROLE, TREE_CHILD_A, TreeRow, USE_BIAS,
    WARM_START, WITHDRAW, WORLD_A, u32_from,
};

/// Rows that a tree reads and writes, of either engine.
pub trait RowStore<T> {
    /// Returns a row.
    fn row(&self, index: usize) -> T;
    /// Replaces a row.
    fn put(&mut self, index: usize, row: T);
}

impl<T: Copy> RowStore<T> for [T] {
    fn row(&self, index: usize) -> T {
        self[index]
    }

    fn put(&mut self, index: usize, row: T) {
        self[index] = row;
    }
}

/// A tree of hinges, welds and sliders.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    /// Row of the first body, among those of all trees.
    first: usize,
    /// Bodies and their hinges ([`Tree::bodies`]).
    bodies: &'a [[u32; 2]],
}

/// Returns the trees in [`JointTable::starts`](crate::scene::JointTable::starts).
pub fn trees(joint_starts: &[u32]) -> impl Iterator<Item = Tree<'_>> {
    let header = 2 * JOINT_COLORS as usize;
    let (list, count) = if joint_starts.is_empty() { (0, 0) } else { (joint_starts[header], joint_starts[header + 1]) };
    joint_starts[list as usize..(list + count) as usize].iter().map(|&record| {
        let record = record as usize;
        let (first, count) = (joint_starts[record] as usize, joint_starts[record + 1] as usize);
        let words = &joint_starts[record + 2..record + 2 + 2 * count];
        Tree { first, bodies: words.as_chunks::<2>().0 }
    })
}

/// Returns the number of rows that the trees need.
#[must_use]
pub fn row_count(joint_starts: &[u32]) -> usize {
    trees(joint_starts).map(|tree| tree.end()).max().unwrap_or(0)
}

impl<'a> Tree<'a> {
    fn end(&self) -> usize {
        self.first + self.bodies.len()
    }

    /// Adds the record of this tree to the table of a world in which its bodies, joints and rows have higher indices,
    /// by these numbers.
    pub fn copy_to(self, joint_starts: &mut Vec<u32>, first_body: u32, first_joint: u32, first_row: u32) {
        joint_starts.extend([u32_from(self.first) + first_row, u32_from(self.bodies.len())]);
        joint_starts.extend(self.bodies.iter().flat_map(|&[joint, other]| match (joint, other) {
            (NONE, body) => [NONE, body + first_body],
            (joint, NONE) => [joint + first_joint, NONE],
            (joint, parent) => [joint + first_joint, parent + first_row],
        }));
    }

    /// Returns for each body, children before parents, the hinge to its parent, with [`TREE_CHILD_A`], and the row of
    /// the parent, or [`NONE`] if that is fixed; for a root without such a hinge [`NONE`] and the body.
    #[must_use]
    pub fn bodies(self) -> &'a [[u32; 2]] {
        self.bodies
    }

    /// Returns the place of a row among the bodies of this tree.
    #[must_use]
    pub fn place(self, row: u32) -> u32 {
        row - u32_from(self.first)
    }

    /// Returns the hinges, those near the root first.
    pub fn joints(self) -> impl Iterator<Item = usize> + 'a {
        self.bodies.iter().rev().filter(|[joint, _]| *joint != NONE).map(|[joint, _]| (joint & !TREE_CHILD_A) as usize)
    }

    fn is_at_rest(&self, joint_frames: &[JointFrame]) -> bool {
        self.joints().all(|joint| rows_of(&joint_frames[joint]).is_empty())
    }

    /// Sets mass and inertia of the bodies, from what their hinges see of them.
    fn weigh(&self, joint_frames: &[JointFrame], rows: &mut [TreeRow]) {
        rows[self.first..self.end()].fill(TreeRow { inv_inertia: FAR, ..TreeRow::default() });
        for (&[joint, parent], own) in self.bodies.iter().zip(self.first..) {
            if joint == NONE {
                continue;
            }
            let frame = &joint_frames[(joint & !TREE_CHILD_A) as usize];
            let a = [frame.inv_mass_a, frame.inv_inertia_a];
            let b = [frame.inv_mass_b, frame.inv_inertia_b];
            let [of_child, of_parent] = if joint & TREE_CHILD_A != 0 { [a, b] } else { [b, a] };
            rows[own].see(of_child);
            if parent != NONE {
                rows[parent as usize].see(of_parent);
            }
        }
    }

    /// Returns the frame of the hinge of a body, with the inertias of the tree.
    fn frame(&self, joint_frames: &[JointFrame], rows: &[TreeRow], own: usize) -> JointFrame {
        let [joint, parent] = self.bodies[own - self.first];
        let mut frame = joint_frames[(joint & !TREE_CHILD_A) as usize];
        let child = rows[own].inv_inertia;
        let parent = if parent == NONE { 0.0 } else { rows[parent as usize].inv_inertia };
        [frame.inv_inertia_a, frame.inv_inertia_b] =
            if joint & TREE_CHILD_A != 0 { [child, parent] } else { [parent, child] };
        frame
    }

    /// Returns the rows of bodies that have a hinge with rows to solve, those near the root first.
    fn held(self, joint_frames: &'a [JointFrame]) -> impl DoubleEndedIterator<Item = usize> + 'a {
        let is_held =
            |joint: u32| joint != NONE && !rows_of(&joint_frames[(joint & !TREE_CHILD_A) as usize]).is_empty();
        (self.first..self.end()).rev().filter(move |own| is_held(self.bodies[own - self.first][0]))
    }

    /// Adds the impulses of the hinges to the sums of their bodies.
    pub fn warm_start(
        &self,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        impulses: &(impl RowStore<[f32; 2]> + ?Sized),
        states: &mut (impl RowStore<BodyState> + ?Sized),
        sums: &mut (impl RowStore<Accumulator> + ?Sized),
        rows: &mut [TreeRow],
    ) {
        if self.is_at_rest(joint_frames) {
            return;
        }
        self.weigh(joint_frames, rows);
        self.add_up(1.0, joint_frames, joint_rows, impulses, states, sums, rows);
    }

    /// Adds `share` times the velocity changes due to the impulses of the hinges to the sums of their bodies.
    fn add_up(
        &self,
        share: f32,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        impulses: &(impl RowStore<[f32; 2]> + ?Sized),
        states: &mut (impl RowStore<BodyState> + ?Sized),
        sums: &mut (impl RowStore<Accumulator> + ?Sized),
        rows: &[TreeRow],
    ) {
        for own in self.held(joint_frames) {
            let frame = self.frame(joint_frames, rows, own);
            let (parts, range) = own_impulses(&frame, impulses);
            let mut ends = BodyPair::of(&frame, states, sums);
            let stance = Stance::new(&frame, &ends.states[0], &ends.states[1]);
            accumulate(&frame, &joint_rows[range.clone()], &parts[..range.len()], &stance, share, &mut ends.sums);
            ends.put(&frame, states, sums);
        }
    }

    /// Solves the tree: a sweep over the other rows, then all hinges at once.
    pub fn solve(
        &self,
        params: &Params,
        flags: u32,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        impulses: &mut (impl RowStore<[f32; 2]> + ?Sized),
        states: &mut (impl RowStore<BodyState> + ?Sized),
        sums: &mut (impl RowStore<Accumulator> + ?Sized),
        rows: &mut [TreeRow],
    ) {
        if self.is_at_rest(joint_frames) {
            return;
        }
        self.weigh(joint_frames, rows);
        let others = flags & !WITHDRAW | HELD;
        self.sweep(params, others, joint_frames, joint_rows, impulses, states, sums, rows);
        if self.is_touched(joint_frames, sums, rows) {
            let held = flags & !(WITHDRAW | DEPOSIT) | HELD_ALONE;
            self.sweep(params, held, joint_frames, joint_rows, impulses, states, sums, rows);
        } else {
            self.eliminate(params, flags, joint_frames, joint_rows, states, rows);
            self.distribute(joint_frames, joint_rows, impulses, states, rows);
        }
        if params.switches & WARM_START != 0 && flags & WITHDRAW != 0 {
            self.add_up(-1.0, joint_frames, joint_rows, impulses, states, sums, rows);
        }
    }

    /// Visits the hinges, those near the root first.
    fn sweep(
        &self,
        params: &Params,
        flags: u32,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        impulses: &mut (impl RowStore<[f32; 2]> + ?Sized),
        states: &mut (impl RowStore<BodyState> + ?Sized),
        sums: &mut (impl RowStore<Accumulator> + ?Sized),
        rows: &[TreeRow],
    ) {
        for own in self.held(joint_frames) {
            let frame = self.frame(joint_frames, rows, own);
            let (mut parts, range) = own_impulses(&frame, impulses);
            let mut ends = BodyPair::of(&frame, states, sums);
            let (rules, own) = (&joint_rows[range.clone()], &mut parts[..range.len()]);
            solve_joint(params, flags, &frame, rules, own, &mut ends);
            for (part, row) in parts.into_iter().zip(range) {
                impulses.put(row, part);
            }
            ends.put(&frame, states, sums);
        }
    }

    /// Returns true if a light body of the tree has a contact in this step.
    fn is_touched(
        &self,
        joint_frames: &[JointFrame],
        sums: &(impl RowStore<Accumulator> + ?Sized),
        rows: &[TreeRow],
    ) -> bool {
        let own = self.first..self.end();
        let heaviest = rows[own.clone()].iter().fold(0.0, |most: f32, row| larger(most, row.mass));
        own.into_iter().any(|own| {
            let is_light = rows[own].mass * TREE_RATIO < heaviest;
            is_light && sums.row(self.body(joint_frames, own) as usize).asked_mass > UNTOUCHED
        })
    }

    /// Returns the index of the body of a row.
    fn body(&self, joint_frames: &[JointFrame], own: usize) -> u32 {
        let [joint, root] = self.bodies[own - self.first];
        if joint == NONE {
            return root;
        }
        let frame = &joint_frames[(joint & !TREE_CHILD_A) as usize];
        if joint & TREE_CHILD_A != 0 { frame.body_a } else { frame.body_b }
    }

    /// Eliminates the bodies, from the leaves to the root.
    fn eliminate(
        &self,
        params: &Params,
        flags: u32,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        states: &(impl RowStore<BodyState> + ?Sized),
        rows: &mut [TreeRow],
    ) {
        for (&[joint, parent], own) in self.bodies.iter().zip(self.first..) {
            let is_held = joint != NONE && !rows_of(&joint_frames[(joint & !TREE_CHILD_A) as usize]).is_empty();
            if !is_held {
                rows[own].factor();
                continue;
            }
            let frame = self.frame(joint_frames, rows, own);
            let [state_a, state_b] = states_of(&frame, states);
            let stance = Stance::new(&frame, &state_a, &state_b);
            let motion = JointMotion::of(&state_a, &state_b);
            let hinge = HingeArms::new(joint, &stance);
            let most = fastest_pull(params, &motion, &stance);
            let (row, parent) = child_and_parent(rows, own, parent);
            let missing = |row: &JointRow, velocity: f32, most: f32| {
                let geometry = row.kind & ROW_GEOMETRY;
                let biased = flags & USE_BIAS != 0;
                let bias = if biased { row.softness[0] * (stance.position(geometry) - row.goal) } else { 0.0 };
                -((velocity + larger(smaller(bias, most), -most)) * hinge.side)
            };
            let spin = motion.w_b - motion.w_a;
            match HingeRows::of(&frame, joint_rows) {
                HingeRows::Slider { angle, across } => {
                    let direction = stance.direction(ROW_ACROSS);
                    let velocity = missing(&joint_rows[across], motion.velocity(&stance).dot(direction), most);
                    let spin = missing(&joint_rows[angle], spin, fastest_turn(most, &stance));
                    row.show_slider(parent, &hinge, direction, [velocity, spin]);
                }
                HingeRows::Weld { angle, point } => {
                    let velocity = missing_at(flags, &joint_rows[point], &motion, &stance, &hinge, most);
                    let spin = missing(&joint_rows[angle], spin, fastest_turn(most, &stance));
                    row.show_weld(parent, &hinge, velocity, spin);
                }
                HingeRows::Hinge { point } => {
                    let velocity = missing_at(flags, &joint_rows[point], &motion, &stance, &hinge, most);
                    row.show_hinge(parent, &hinge, velocity);
                }
            }
        }
    }

    /// Gives each hinge its impulse and each body its velocity, from the root to the leaves.
    fn distribute(
        &self,
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        impulses: &mut (impl RowStore<[f32; 2]> + ?Sized),
        states: &mut (impl RowStore<BodyState> + ?Sized),
        rows: &mut [TreeRow],
    ) {
        for own in (self.first..self.end()).rev() {
            let [joint, parent] = self.bodies[own - self.first];
            let body = self.body(joint_frames, own);
            let mut is_weld = false;
            if joint != NONE {
                let frame = self.frame(joint_frames, rows, own);
                if !rows_of(&frame).is_empty() {
                    let [state_a, state_b] = states_of(&frame, states);
                    let stance = Stance::new(&frame, &state_a, &state_b);
                    let hinge = HingeArms::new(joint, &stance);
                    let (row, parent) = child_and_parent(rows, own, parent);
                    let mut add = |row: usize, size: Vec2| {
                        impulses.put(row, (Vec2::from(impulses.row(row)) + size).into());
                    };
                    match HingeRows::of(&frame, joint_rows) {
                        HingeRows::Slider { angle, across } => {
                            let [size, turn] = row.pull_slider(parent.as_deref(), &hinge, stance.direction(ROW_ACROSS));
                            add(angle, Vec2::new(turn * hinge.side, 0.0));
                            add(across, Vec2::new(size * hinge.side, 0.0));
                        }
                        HingeRows::Weld { angle, point } => {
                            is_weld = true;
                            let (impulse, turn) = row.pull_weld(parent.as_deref(), &hinge);
                            add(angle, Vec2::new(turn * hinge.side, 0.0));
                            add(point, inv_rotate(stance.axis, impulse * hinge.side));
                        }
                        HingeRows::Hinge { point } => {
                            let impulse = row.pull_hinge(parent.as_deref(), &hinge);
                            add(point, inv_rotate(stance.axis, impulse * hinge.side));
                        }
                    }
                }
            }
            let row = &mut rows[own];
            if !is_weld {
                row.push = row.answer(row.push);
            }
            if row.push != [0.0; 3] {
                let mut state = states.row(body as usize);
                state.velocity = (Vec2::from(state.velocity) + row.velocity_at(row.push, Vec2::ZERO)).into();
                state.angular_velocity += row.push[2];
                states.put(body as usize, state);
            }
        }
    }
}

/// Returns the impulses of a hinge, and the range of its rows.
fn own_impulses(
    frame: &JointFrame,
    impulses: &(impl RowStore<[f32; 2]> + ?Sized),
) -> ([[f32; 2]; ROW_COUNT_MASK as usize], std::ops::Range<usize>) {
    let (mut parts, range) = ([[0.0; 2]; ROW_COUNT_MASK as usize], rows_of(frame));
    for (part, row) in parts.iter_mut().zip(range.clone()) {
        *part = impulses.row(row);
    }
    (parts, range)
}

/// Rows that a joint of a tree holds, by its kind.
#[derive(Clone, Copy, Debug)]
enum HingeRows {
    Hinge { point: usize },
    Weld { angle: usize, point: usize },
    Slider { angle: usize, across: usize },
}

impl HingeRows {
    /// Returns the rows of a joint. They are its last (`scene::joint_rows`).
    fn of(frame: &JointFrame, joint_rows: &[JointRow]) -> Self {
        let rows = rows_of(frame);
        let last = rows.end - 1;
        match holds_angle(&joint_rows[rows]) {
            false => Self::Hinge { point: last },
            true if is_rigid(&joint_rows[last], ROW_POINT) => Self::Weld { angle: last - 1, point: last },
            true => Self::Slider { angle: last - 1, across: last },
        }
    }
}

/// Returns true for the rows of a rigid hinge: the last holds a point, and none holds the angle.
#[must_use]
pub fn is_hinge(rows: &[JointRow]) -> bool {
    rows.last().is_some_and(|row| is_rigid(row, ROW_POINT)) && !rows.iter().any(|row| is_rigid(row, ROW_ANGLE))
}

/// Returns true for the rows of a rigid weld or slider: the last two hold the angle, and a point or the place across an
/// axis.
#[must_use]
pub fn holds_angle(rows: &[JointRow]) -> bool {
    let [.., angle, place] = rows else { return false };
    is_rigid(angle, ROW_ANGLE) && (is_rigid(place, ROW_POINT) || is_rigid(place, ROW_ACROSS))
}

fn is_rigid(row: &JointRow, geometry: u32) -> bool {
    row.kind & (ROW_GEOMETRY | ROW_ROLE) == geometry | ROW_EQUALITY
}

/// Returns the fastest pull by which a joint takes back what it has stretched, m/s: more where its bodies turn, as
/// their anchors move along tangents.
fn fastest_pull(params: &Params, motion: &JointMotion, stance: &Stance) -> f32 {
    let (a, b) = (motion.w_a * motion.w_a * stance.arm_a.length(), motion.w_b * motion.w_b * stance.arm_b.length());
    TREE_PULL * params.push_speed + params.h * (a + b)
}

/// Returns the fastest turn by which a joint takes back what it has bent, rad/s.
fn fastest_turn(pull: f32, stance: &Stance) -> f32 {
    pull / larger(stance.arm_a.length() + stance.arm_b.length(), MIN_LENGTH)
}

/// Returns the velocity of the anchor that a hinge or a weld has to make up for, m/s.
fn missing_at(
    flags: u32,
    point: &JointRow,
    motion: &JointMotion,
    stance: &Stance,
    hinge: &HingeArms,
    most: f32,
) -> Vec2 {
    let mut wanted = motion.velocity(stance);
    if flags & USE_BIAS != 0 {
        wanted += shortened(stance.between * point.softness[0], most);
    }
    -(wanted * hinge.side)
}

/// Returns the rows of a body and of its parent, which comes later.
fn child_and_parent(rows: &mut [TreeRow], own: usize, parent: u32) -> (&mut TreeRow, Option<&mut TreeRow>) {
    if parent == NONE {
        return (&mut rows[own], None);
    }
    let (children, parents) = rows.split_at_mut(parent as usize);
    (&mut children[own], parents.first_mut())
}

/// Returns the states of both bodies. The world is a body at rest.
fn states_of(frame: &JointFrame, states: &(impl RowStore<BodyState> + ?Sized)) -> [BodyState; 2] {
    let world = frame.flags & WORLD_A != 0;
    let state_a = if world { BodyState::default() } else { states.row(frame.body_a as usize) };
    [state_a, states.row(frame.body_b as usize)]
}
