//! Trees of hinges and welds, solved exactly.
//!
//! Sweeps pass an impulse on by one joint a visit, and by the share that a light body has of the mass of a heavy one:
//! a ball of a thousand times the mass of the links of its chain stretches them. Where bodies that hinges connect
//! differ that much ([`TREE_RATIO`](crate::constants::TREE_RATIO)), their hinges are solved at once. The host lists
//! them as trees ([`crate::scene::JointTable`]): each body has one hinge towards the root, and only the root may have
//! one to a fixed body. Other hinges of the same bodies, which close loops, are swept. Where nothing else is said, a
//! weld counts as a hinge.
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
//! the impulse is `M_c δ_c` less what the children push. Nothing is divided.
//!
//! A body of a tree has the least of the inverse inertias that its hinges see
//! ([`stiffened`](crate::stages::prepare_joints::stiffened)), for all of them. Other rows of the hinges, limits and
//! motors, are visited before, one after the other.

use glam::Vec2;

use super::{BodyPair, JointMotion, Stance, accumulate, rows_of, solve_joint};
use crate::constants::FAR;
use crate::math::{cross, cross_scalar, inv_rotate};
use crate::types::{
    Accumulator, BodyState, HELD, JOINT_COLORS, JointFrame, JointRow, NONE, Params, ROW_ANGLE, ROW_COUNT_MASK,
    ROW_EQUALITY, ROW_GEOMETRY, ROW_POINT, ROW_ROLE, TREE_CHILD_A, TreeRow, USE_BIAS, WARM_START, WITHDRAW, WORLD_A,
    u32_from,
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

/// A tree of hinges and welds.
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
        for own in self.held(joint_frames) {
            let frame = self.frame(joint_frames, rows, own);
            let (mut parts, range) = own_impulses(&frame, impulses);
            let mut ends = BodyPair::of(&frame, states, sums);
            let (rules, own) = (&joint_rows[range.clone()], &mut parts[..range.len()]);
            solve_joint(params, flags & !WITHDRAW | HELD, &frame, rules, own, &mut ends);
            for (part, row) in parts.into_iter().zip(range) {
                impulses.put(row, part);
            }
            ends.put(&frame, states, sums);
        }
        self.eliminate(flags, joint_frames, joint_rows, states, rows);
        self.distribute(joint_frames, joint_rows, impulses, states, rows);
        if params.switches & WARM_START != 0 && flags & WITHDRAW != 0 {
            self.add_up(-1.0, joint_frames, joint_rows, impulses, states, sums, rows);
        }
    }

    /// Eliminates the bodies, from the leaves to the root.
    fn eliminate(
        &self,
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
            let point = &joint_rows[point_of(&frame, joint_rows)];
            let mut wanted = motion.velocity(&stance);
            if flags & USE_BIAS != 0 {
                wanted += stance.between * point.softness[0];
            }
            if let Some(angle) = weld_of(&frame, joint_rows) {
                let angle = &joint_rows[angle];
                let mut spin = motion.w_b - motion.w_a;
                if flags & USE_BIAS != 0 {
                    spin += angle.softness[0] * (stance.position(ROW_ANGLE) - angle.goal);
                }
                rows[own].gather();
                let row = &mut rows[own];
                row.set_rest(-(wanted * hinge.side), -(spin * hinge.side), hinge.child);
                let row = *row;
                if parent != NONE {
                    rows[parent as usize].weld(&row, hinge.parent - hinge.child);
                }
                continue;
            }
            rows[own].factor();
            let row = &mut rows[own];
            let arm = hinge.child - Vec2::from(row.at);
            let (of_x, of_y) = (row.answer([1.0, 0.0, -arm.y]), row.answer([0.0, 1.0, arm.x]));
            let xx = of_x[0] - arm.y * of_x[2];
            let xy = of_y[0] - arm.y * of_y[2];
            let yy = of_y[1] + arm.x * of_y[2];
            let determinant = xx * yy - xy * xy;
            let inverse =
                if determinant > 0.0 { [yy / determinant, -xy / determinant, xx / determinant] } else { [0.0; 3] };
            let rest = -(wanted * hinge.side) - row.velocity_at(row.answer(row.push), hinge.child);
            (row.inverse, row.rest) = (inverse, [rest.x, rest.y, 0.0]);
            if parent != NONE {
                let parent = &mut rows[parent as usize];
                parent.load(inverse, hinge.parent);
                parent.push_at(-apply(inverse, rest), hinge.parent);
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
            let mut body = parent;
            let mut is_weld = false;
            if joint != NONE {
                let frame = self.frame(joint_frames, rows, own);
                body = if joint & TREE_CHILD_A != 0 { frame.body_a } else { frame.body_b };
                if !rows_of(&frame).is_empty() {
                    let [state_a, state_b] = states_of(&frame, states);
                    let stance = Stance::new(&frame, &state_a, &state_b);
                    let hinge = HingeArms::new(joint, &stance);
                    let parent = (parent != NONE).then(|| rows[parent as usize]);
                    let row = point_of(&frame, joint_rows);
                    let angle = weld_of(&frame, joint_rows);
                    is_weld = angle.is_some();
                    let impulse = match angle {
                        Some(angle) => {
                            let [x, y, turn] = rows[own].follow(parent.as_ref(), hinge.parent - hinge.child);
                            let turn = turn + cross(Vec2::from(rows[own].at) - hinge.child, Vec2::new(x, y));
                            let [old, _] = impulses.row(angle);
                            impulses.put(angle, [old + turn * hinge.side, 0.0]);
                            Vec2::new(x, y)
                        }
                        None => rows[own].pull(parent.as_ref(), &hinge),
                    };
                    let kept = inv_rotate(stance.axis, impulse * hinge.side);
                    impulses.put(row, (Vec2::from(impulses.row(row)) + kept).into());
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

/// A hinge as the elimination sees it.
struct HingeArms {
    /// Lever arm on the body on the side of the leaves, m.
    child: Vec2,
    /// Lever arm on the body on the side of the root, m.
    parent: Vec2,
    /// 1 if the child is B, −1 if it is A.
    side: f32,
}

impl HingeArms {
    fn new(joint: u32, stance: &Stance) -> Self {
        if joint & TREE_CHILD_A != 0 {
            Self { child: stance.arm_a, parent: stance.arm_b, side: -1.0 }
        } else {
            Self { child: stance.arm_b, parent: stance.arm_a, side: 1.0 }
        }
    }
}

impl TreeRow {
    /// Takes mass and inertia from what a hinge sees of the body.
    fn see(&mut self, [inv_mass, inv_inertia]: [f32; 2]) {
        self.mass = 1.0 / inv_mass;
        self.inv_inertia = self.inv_inertia.min(inv_inertia);
    }

    /// Adds the body's own mass to what its children add to it, and replaces the sum by its factors: the inverse pivots
    /// in the places of the diagonal.
    fn factor(&mut self) {
        let (mass, at) = (self.mass, Vec2::from(self.at));
        let [xx, xy, xw, yy, yw, ww] = self.matrix;
        let (xw, yw) = (xw + mass * at.y, yw - mass * at.x);
        let first = mass + xx;
        let (to_y, to_w) = (xy / first, xw / first);
        let second = (mass + (yy - to_y * xy)).max(mass);
        let mixed = yw - to_y * xw;
        let across = mixed / second;
        let felt = ((ww + mass * at.length_squared()) - to_w * xw) - across * mixed;
        // An infinite inertia has the inverse 0.
        let third = self.inv_inertia / (1.0 + self.inv_inertia * felt.max(0.0));
        self.matrix = [1.0 / first, to_y, to_w, 1.0 / second, across, third];
    }

    /// Adds the body's own mass to what its children add to it.
    fn gather(&mut self) {
        let (mass, at) = (self.mass, Vec2::from(self.at));
        let [xx, xy, xw, yy, yw, ww] = self.matrix;
        let turn = ww + (mass * at.length_squared() + 1.0 / self.inv_inertia);
        self.matrix = [mass + xx, xy, xw + mass * at.y, mass + yy, yw - mass * at.x, turn];
    }

    /// Sets the missing velocity of a weld, given that of the anchor, and the spin. Kept is that of the point of
    /// reference.
    fn set_rest(&mut self, wanted: Vec2, spin: f32, arm: Vec2) {
        let at = wanted + cross_scalar(spin, Vec2::from(self.at) - arm);
        self.rest = [at.x, at.y, spin];
    }

    /// Adds a child on a weld: all of its mass, and what its missing velocity and its children push. `offset` is from
    /// the child's centre of mass to that of this body, m.
    fn weld(&mut self, child: &Self, offset: Vec2) {
        let arm = Vec2::from(child.at) + offset;
        let [xx, _, _, yy, ..] = child.matrix;
        if xx + yy > self.most {
            self.most = xx + yy;
            self.refer_to(arm);
        }
        let added = seen_from(child.matrix, Vec2::from(self.at) - arm);
        self.matrix.iter_mut().zip(added).for_each(|(sum, part)| *sum += part);
        let [x, y, turn] = times(&child.matrix, child.rest);
        let [push_x, push_y, push_turn] = child.push;
        self.push_at(Vec2::new(push_x - x, push_y - y), arm);
        self.push[2] += push_turn - turn;
    }

    /// Lets a child on a weld move as its parent. Returns the impulse at its point of reference, N·s and N·m·s.
    fn follow(&mut self, parent: Option<&Self>, offset: Vec2) -> [f32; 3] {
        let [mut x, mut y, mut turn] = self.rest;
        if let Some(parent) = parent {
            let moved = parent.velocity_at(parent.push, Vec2::from(self.at) + offset);
            (x, y, turn) = (x + moved.x, y + moved.y, turn + parent.push[2]);
        }
        let [on_x, on_y, on_turn] = times(&self.matrix, [x, y, turn]);
        let [push_x, push_y, push_turn] = self.push;
        self.push = [x, y, turn];
        [on_x - push_x, on_y - push_y, on_turn - push_turn]
    }

    /// Returns the impulse of the hinge to the parent, N·s, and adds it to the push.
    fn pull(&mut self, parent: Option<&Self>, hinge: &HingeArms) -> Vec2 {
        let [x, y, _] = self.rest;
        let mut missing = Vec2::new(x, y);
        if let Some(parent) = parent {
            missing += parent.velocity_at(parent.push, hinge.parent);
        }
        let impulse = apply(self.inverse, missing);
        self.push_at(impulse, hinge.child);
        impulse
    }

    /// Returns the change of velocity by a push, given the factors. Both are those of the point of reference.
    fn answer(&self, [x, y, turn]: [f32; 3]) -> [f32; 3] {
        let [first, to_y, to_w, second, across, third] = self.matrix;
        let y_alone = y - to_y * x;
        let turned = third * ((turn - to_w * x) - across * y_alone);
        let moved_y = second * y_alone - across * turned;
        let moved_x = (first * x - to_y * moved_y) - to_w * turned;
        [moved_x, moved_y, turned]
    }

    /// Adds an impulse at a lever arm.
    fn push_at(&mut self, impulse: Vec2, arm: Vec2) {
        let turn = cross(arm - Vec2::from(self.at), impulse);
        self.push = [self.push[0] + impulse.x, self.push[1] + impulse.y, self.push[2] + turn];
    }

    /// Adds the mass that a child shows at a lever arm. The largest decides the point of reference: seen from another
    /// point, the small inertia of a light body about a heavy one would be the difference of large numbers.
    fn load(&mut self, [xx, xy, yy]: [f32; 3], arm: Vec2) {
        if xx + yy > self.most {
            self.most = xx + yy;
            self.refer_to(arm);
        }
        let arm = arm - Vec2::from(self.at);
        let (of_x, of_y) = (arm.x * xy - arm.y * xx, arm.x * yy - arm.y * xy);
        let matrix = &mut self.matrix;
        matrix[0] += xx;
        matrix[1] += xy;
        matrix[2] += of_x;
        matrix[3] += yy;
        matrix[4] += of_y;
        matrix[5] += arm.x * of_y - arm.y * of_x;
    }

    /// Moves the point of reference.
    fn refer_to(&mut self, at: Vec2) {
        let by = at - Vec2::from(self.at);
        self.matrix = seen_from(self.matrix, by);
        let [x, y, spin] = self.push;
        self.push = [x, y, spin - cross(by, Vec2::new(x, y))];
        self.at = at.into();
    }

    /// Returns the velocity of a point at a lever arm, given that of the point of reference.
    fn velocity_at(&self, [x, y, turn]: [f32; 3], arm: Vec2) -> Vec2 {
        let arm = arm - Vec2::from(self.at);
        Vec2::new(x - turn * arm.y, y + turn * arm.x)
    }
}

/// Returns a mass, as [`TreeRow::matrix`], for a point of reference that is elsewhere by a vector, m.
fn seen_from([xx, xy, xw, yy, yw, ww]: [f32; 6], by: Vec2) -> [f32; 6] {
    let (of_x, of_y) = (xx * by.y - xy * by.x, xy * by.y - yy * by.x);
    let turn = ww + 2.0 * (xw * by.y - yw * by.x) + (of_x * by.y - of_y * by.x);
    [xx, xy, xw + of_x, yy, yw + of_y, turn]
}

/// Returns a mass times a velocity.
fn times(&[xx, xy, xw, yy, yw, ww]: &[f32; 6], [x, y, turn]: [f32; 3]) -> [f32; 3] {
    [xx * x + xy * y + xw * turn, xy * x + yy * y + yw * turn, xw * x + yw * y + ww * turn]
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

/// Returns the row of a hinge that is its point.
fn point_of(frame: &JointFrame, joint_rows: &[JointRow]) -> usize {
    // It is the last (`scene::joint_rows`).
    let last = rows_of(frame).end - 1;
    debug_assert_eq!(joint_rows[last].kind & (ROW_GEOMETRY | ROW_ROLE), ROW_POINT | ROW_EQUALITY, "a hinge");
    last
}

/// Returns the row of a weld that holds the angle; none of a hinge.
fn weld_of(frame: &JointFrame, joint_rows: &[JointRow]) -> Option<usize> {
    // It is the first (`scene::joint_rows`).
    let first = rows_of(frame).start;
    is_weld(&joint_rows[first]).then_some(first)
}

/// Returns true if the first row of a joint of a tree shows that it is a weld.
#[must_use]
pub fn is_weld(first: &JointRow) -> bool {
    first.kind & (ROW_GEOMETRY | ROW_ROLE) == ROW_ANGLE | ROW_EQUALITY
}

/// Returns the states of both bodies. The world is a body at rest.
fn states_of(frame: &JointFrame, states: &(impl RowStore<BodyState> + ?Sized)) -> [BodyState; 2] {
    let world = frame.flags & WORLD_A != 0;
    let state_a = if world { BodyState::default() } else { states.row(frame.body_a as usize) };
    [state_a, states.row(frame.body_b as usize)]
}

/// Returns a symmetric matrix times a vector.
fn apply([xx, xy, yy]: [f32; 3], v: Vec2) -> Vec2 {
    Vec2::new(xx * v.x + xy * v.y, xy * v.x + yy * v.y)
}
