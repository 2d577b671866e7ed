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

use glam::Vec2;

use super::{BodyPair, JointMotion, Stance, accumulate, rows_of, solve_joint};
use crate::constants::FAR;
use crate::math::{cross, cross_scalar, inv_rotate};
use crate::types::{
    Accumulator, BodyState, HELD, JOINT_COLORS, JointFrame, JointRow, NONE, Params, ROW_ACROSS, ROW_ANGLE,
    ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY, ROW_POINT, ROW_ROLE, TREE_CHILD_A, TreeRow, USE_BIAS, WARM_START,
    WITHDRAW, WORLD_A, u32_from,
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
            let (row, parent) = child_and_parent(rows, own, parent);
            let missing = |row: &JointRow, velocity: f32| {
                let geometry = row.kind & ROW_GEOMETRY;
                let biased = flags & USE_BIAS != 0;
                let bias = if biased { row.softness[0] * (stance.position(geometry) - row.goal) } else { 0.0 };
                -((velocity + bias) * hinge.side)
            };
            let spin = motion.w_b - motion.w_a;
            match HingeRows::of(&frame, joint_rows) {
                HingeRows::Slider { angle, across } => {
                    let direction = stance.direction(ROW_ACROSS);
                    let velocity = missing(&joint_rows[across], motion.velocity(&stance).dot(direction));
                    row.show_slider(parent, &hinge, direction, [velocity, missing(&joint_rows[angle], spin)]);
                }
                HingeRows::Weld { angle, point } => {
                    let velocity = missing_at(flags, &joint_rows[point], &motion, &stance, &hinge);
                    row.show_weld(parent, &hinge, velocity, missing(&joint_rows[angle], spin));
                }
                HingeRows::Hinge { point } => {
                    row.show_hinge(parent, &hinge, missing_at(flags, &joint_rows[point], &motion, &stance, &hinge));
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
            let mut body = parent;
            let mut is_weld = false;
            if joint != NONE {
                let frame = self.frame(joint_frames, rows, own);
                body = if joint & TREE_CHILD_A != 0 { frame.body_a } else { frame.body_b };
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

    /// Returns the lever arm of the child's point of reference on the parent, m.
    fn on_parent(&self, child: &TreeRow) -> Vec2 {
        Vec2::from(child.at) + (self.parent - self.child)
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

    /// Shows the parent the mass of a body on a hinge, with the missing velocity of the anchor.
    fn show_hinge(&mut self, parent: Option<&mut Self>, hinge: &HingeArms, missing: Vec2) {
        self.factor();
        let arm = hinge.child - Vec2::from(self.at);
        let (of_x, of_y) = (self.answer([1.0, 0.0, -arm.y]), self.answer([0.0, 1.0, arm.x]));
        let xx = of_x[0] - arm.y * of_x[2];
        let xy = of_y[0] - arm.y * of_y[2];
        let yy = of_y[1] + arm.x * of_y[2];
        self.inverse = inverse_of([xx, xy, yy]);
        let rest = missing - self.velocity_at(self.answer(self.push), hinge.child);
        self.rest = [rest.x, rest.y, 0.0];
        if let Some(parent) = parent {
            parent.load(self.inverse, hinge.parent);
            parent.push_at(-apply(self.inverse, rest), hinge.parent);
        }
    }

    /// Shows the parent the mass of a body on a weld: all of it, and what its missing velocity and its children push.
    fn show_weld(&mut self, parent: Option<&mut Self>, hinge: &HingeArms, missing: Vec2, spin: f32) {
        self.gather();
        let at = missing + cross_scalar(spin, Vec2::from(self.at) - hinge.child);
        self.rest = [at.x, at.y, spin];
        if let Some(parent) = parent {
            let ([x, y, turn], push) = (times(&self.matrix, self.rest), self.push);
            let push = [push[0] - x, push[1] - y, push[2] - turn];
            parent.load_at(self.matrix, push, hinge.on_parent(self));
        }
    }

    /// Shows the parent the mass of a body on a slider: that across it, and against turning.
    fn show_slider(&mut self, parent: Option<&mut Self>, hinge: &HingeArms, across: Vec2, missing: [f32; 2]) {
        self.factor();
        let [velocity, spin] = missing;
        let velocity = velocity + across.dot(cross_scalar(spin, Vec2::from(self.at) - hinge.child));
        let (pushed, turned) = (self.answer([across.x, across.y, 0.0]), self.answer([0.0, 0.0, 1.0]));
        let mass = inverse_of([across.dot(Vec2::new(pushed[0], pushed[1])), pushed[2], turned[2]]);
        let [x, y, turn] = self.answer(self.push);
        let rest = Vec2::new(velocity - across.dot(Vec2::new(x, y)), spin - turn);
        (self.inverse, self.rest) = (mass, [rest.x, rest.y, 0.0]);
        if let Some(parent) = parent {
            let [both, mixed, turning] = mass;
            let by = across * both;
            let shown =
                [across.x * by.x, across.x * by.y, across.x * mixed, across.y * by.y, across.y * mixed, turning];
            let impulse = -apply(mass, rest);
            let push = [across.x * impulse.x, across.y * impulse.x, impulse.y];
            parent.load_at(shown, push, hinge.on_parent(self));
        }
    }

    /// Adds the impulse of the hinge to the parent to the push, and returns it, N·s.
    fn pull_hinge(&mut self, parent: Option<&Self>, hinge: &HingeArms) -> Vec2 {
        let [x, y, _] = self.rest;
        let mut missing = Vec2::new(x, y);
        if let Some(parent) = parent {
            missing += parent.velocity_at(parent.push, hinge.parent);
        }
        let impulse = apply(self.inverse, missing);
        self.push_at(impulse, hinge.child);
        impulse
    }

    /// Replaces the push by the motion of a body that follows its parent. Returns impulse and angular impulse of the
    /// weld, N·s and N·m·s.
    fn pull_weld(&mut self, parent: Option<&Self>, hinge: &HingeArms) -> (Vec2, f32) {
        let [mut x, mut y, mut turn] = self.rest;
        if let Some(parent) = parent {
            let moved = parent.velocity_at(parent.push, hinge.on_parent(self));
            (x, y, turn) = (x + moved.x, y + moved.y, turn + parent.push[2]);
        }
        let [on_x, on_y, on_turn] = times(&self.matrix, [x, y, turn]);
        let [push_x, push_y, push_turn] = self.push;
        self.push = [x, y, turn];
        let impulse = Vec2::new(on_x - push_x, on_y - push_y);
        (impulse, (on_turn - push_turn) + cross(Vec2::from(self.at) - hinge.child, impulse))
    }

    /// Adds the impulse of the slider to the push. Returns it, across the slider, N·s, and its angular impulse, N·m·s.
    fn pull_slider(&mut self, parent: Option<&Self>, hinge: &HingeArms, across: Vec2) -> [f32; 2] {
        let [x, y, _] = self.rest;
        let mut missing = Vec2::new(x, y);
        if let Some(parent) = parent {
            let moved = parent.velocity_at(parent.push, hinge.on_parent(self));
            missing += Vec2::new(across.dot(moved), parent.push[2]);
        }
        let size = apply(self.inverse, missing);
        let impulse = across * size.x;
        let [push_x, push_y, push_turn] = self.push;
        self.push = [push_x + impulse.x, push_y + impulse.y, push_turn + size.y];
        [size.x, size.y + cross(Vec2::from(self.at) - hinge.child, impulse)]
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

    /// Adds the mass that a child shows at a lever arm, with moments, and its push.
    fn load_at(&mut self, shown: [f32; 6], [x, y, turn]: [f32; 3], arm: Vec2) {
        let [xx, _, _, yy, ..] = shown;
        if xx + yy > self.most {
            self.most = xx + yy;
            self.refer_to(arm);
        }
        let added = seen_from(shown, Vec2::from(self.at) - arm);
        self.matrix.iter_mut().zip(added).for_each(|(sum, part)| *sum += part);
        self.push_at(Vec2::new(x, y), arm);
        self.push[2] += turn;
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

/// Returns the velocity of the anchor that a hinge or a weld has to make up for, m/s.
fn missing_at(flags: u32, point: &JointRow, motion: &JointMotion, stance: &Stance, hinge: &HingeArms) -> Vec2 {
    let mut wanted = motion.velocity(stance);
    if flags & USE_BIAS != 0 {
        wanted += stance.between * point.softness[0];
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

/// Returns the inverse of a symmetric matrix; 0 if it has none.
fn inverse_of([xx, xy, yy]: [f32; 3]) -> [f32; 3] {
    let determinant = xx * yy - xy * xy;
    if determinant > 0.0 { [yy / determinant, -xy / determinant, xx / determinant] } else { [0.0; 3] }
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
