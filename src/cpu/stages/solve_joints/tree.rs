//! Trees of hinges, eight of one form at a time: the fast form of [`crate::stages::solve_joints::tree`], to the same
//! bits. Each function here is the one of the same name there, on lanes.

use super::{MotionLanes, StanceLanes, StateLanes, accumulate, load, shortened, store, sweep_rows};
use crate::constants::{TREE_PULL, TREE_RATIO, UNTOUCHED};
use crate::cpu::joint_blocks::{JointBatch, JointBlock};
use crate::cpu::tree_blocks::{TreeBlock, TreeBlocks, TreeBody, TreeLanes};
use crate::lanes::{Lanes, Select, Simd, SimdBase, SimdMask, Vec2x8, VecLanes, cross, f32x8, inv_rotate, mask32x8};
use crate::threads::RowTable;
use crate::types::{Accumulator, BodyState, DEPOSIT, HELD, HELD_ALONE, Params, USE_BIAS, WARM_START, WITHDRAW};

/// Three numbers in each of eight lanes.
type Three<S> = [f32x8<S>; 3];

/// A sweep over eight trees.
struct TreeSweep<'a, S> {
    simd: S,
    block: &'a TreeBlock,
    bodies: &'a [TreeBody],
    lanes: &'a mut [TreeLanes],
    joints: JointBatch<'a>,
}

/// Adds the impulses of the hinges to the sums of their bodies.
#[inline(always)]
pub(super) fn warm_start<S: Simd>(
    simd: S,
    trees: &mut TreeBlocks,
    joints: JointBatch,
    impulses: impl RowTable<Item = VecLanes>,
    states: impl RowTable<Item = BodyState>,
    sums: impl RowTable<Item = Accumulator>,
) {
    let (blocks, bodies, lanes) = trees.parts();
    for block in blocks {
        TreeSweep { simd, block, bodies, lanes, joints }.add_up(1.0, impulses, states, sums);
    }
}

/// Solves all trees.
#[inline(always)]
pub(super) fn solve<S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    trees: &mut TreeBlocks,
    joints: JointBatch,
    impulses: impl RowTable<Item = VecLanes>,
    states: impl RowTable<Item = BodyState>,
    sums: impl RowTable<Item = Accumulator>,
) {
    let (blocks, bodies, lanes) = trees.parts();
    for block in blocks {
        let mut tree = TreeSweep { simd, block, bodies, lanes, joints };
        tree.take(states);
        tree.sweep_others(params, flags, impulses, states, sums);
        let touched = tree.touched(sums);
        if !touched.all_true() {
            tree.eliminate(params, flags, states);
            tree.distribute(impulses, touched);
        }
        if touched.any_true() {
            tree.sweep_held(params, flags, impulses, states, touched);
        }
        tree.put(states);
        if params.switches & WARM_START != 0 && flags & WITHDRAW != 0 {
            tree.add_up(-1.0, impulses, states, sums);
        }
    }
}

impl<S: Simd> TreeSweep<'_, S> {
    /// Returns the hinges of a body to its parent, with the inertias of the tree.
    #[inline(always)]
    fn hinge(&self, at: usize) -> Option<JointBlock> {
        let body = &self.bodies[at];
        let joint = &self.joints.joints()[body.hinge?];
        let child = self.lanes[at].inv_inertia;
        let parent = body.parent.map_or_else(Lanes::default, |parent| self.lanes[parent].inv_inertia);
        Some(if body.is_a { joint.with_inertias(child, parent) } else { joint.with_inertias(parent, child) })
    }

    /// Adds `share` times the velocity changes due to the impulses of the hinges to the sums of their bodies.
    #[inline(always)]
    fn add_up(
        &self,
        share: f32,
        impulses: impl RowTable<Item = VecLanes>,
        states: impl RowTable<Item = BodyState>,
        sums: impl RowTable<Item = Accumulator>,
    ) {
        for at in self.block.bodies().rev() {
            let Some(hinge) = self.hinge(at) else { continue };
            let (rows, first) = self.joints.rows_of(&hinge);
            let stance = StanceLanes::new(self.simd, &hinge, StateLanes::new(&hinge, states));
            accumulate(self.simd, &hinge, rows, &|row| impulses.row(first + row), &stance, share, sums);
        }
    }

    /// Loads the velocities of the bodies.
    #[inline(always)]
    fn take(&mut self, states: impl RowTable<Item = BodyState>) {
        for at in self.block.bodies() {
            let indices = self.bodies[at].indices(self.joints.joints());
            let [x, y, spin, status] = states.eight(indices).columns(self.simd, 0);
            let body = &mut self.lanes[at];
            body.velocity.put(Vec2x8::new(x, y));
            body.spin.put(spin);
            body.status.put(status);
        }
    }

    /// Stores the velocities of the bodies.
    #[inline(always)]
    fn put(&self, states: impl RowTable<Item = BodyState>) {
        for at in self.block.bodies() {
            let (indices, body) = (self.bodies[at].indices(self.joints.joints()), &self.lanes[at]);
            let (velocity, spin) = (body.velocity.on(self.simd), body.spin.on(self.simd));
            let columns = [velocity.x, velocity.y, spin, body.status.on(self.simd)];
            states.eight(indices).set_columns(0, columns, |lane| self.block.uses(lane));
        }
    }

    /// Returns the velocities of both bodies of the hinges of a body.
    #[inline(always)]
    fn motion(&self, at: usize, hinge: &JointBlock, states: impl RowTable<Item = BodyState>) -> MotionLanes<S> {
        let TreeBody { parent, is_a, .. } = self.bodies[at];
        let velocity = |body: &TreeLanes| (body.velocity.on(self.simd), body.spin.on(self.simd));
        let (v, w) = velocity(&self.lanes[at]);
        let (v_parent, w_parent) = match parent {
            Some(parent) => velocity(&self.lanes[parent]),
            None => {
                let (motion, _) = StateLanes::new(hinge, states).motion(self.simd, hinge);
                if is_a { (motion.v_b, motion.w_b) } else { (motion.v_a, motion.w_a) }
            }
        };
        if is_a {
            MotionLanes { v_a: v, w_a: w, v_b: v_parent, w_b: w_parent }
        } else {
            MotionLanes { v_a: v_parent, w_a: w_parent, v_b: v, w_b: w }
        }
    }

    /// Visits the rows of the hinges that are not their points, from the root to the leaves.
    #[inline(always)]
    fn sweep_others(
        &mut self,
        params: &Params,
        flags: u32,
        impulses: impl RowTable<Item = VecLanes>,
        states: impl RowTable<Item = BodyState>,
        sums: impl RowTable<Item = Accumulator>,
    ) {
        let simd = self.simd;
        for at in self.block.bodies().rev() {
            let Some(hinge) = self.hinge(at) else { continue };
            let TreeBody { parent, is_a, .. } = self.bodies[at];
            let (rows, first) = self.joints.rows_of(&hinge);
            let row = |row: usize| impulses.row(first + row);
            let stance = StanceLanes::new(simd, &hinge, StateLanes::new(&hinge, states));
            if params.switches & WARM_START != 0 && flags & DEPOSIT != 0 {
                accumulate(simd, &hinge, rows, &row, &stance, 1.0, sums);
            }
            let mut motion = self.motion(at, &hinge, states);
            sweep_rows(simd, params, flags | HELD, &hinge, rows, &row, &stance, &mut motion);
            let a = (motion.v_a, motion.w_a, stance.arm_a);
            let b = (motion.v_b, motion.w_b, stance.arm_b);
            let [child, other] = if is_a { [a, b] } else { [b, a] };
            let body = &mut self.lanes[at];
            body.take_motion(child.0, child.1);
            body.child.put(child.2);
            body.parent.put(other.2);
            body.between.put(stance.between);
            body.axis.put(stance.axis);
            if let Some(parent) = parent {
                self.lanes[parent].take_motion(other.0, other.1);
            }
        }
    }

    /// Returns the lanes in which a light body of the tree has a contact in this step.
    #[inline(always)]
    fn touched(&self, sums: impl RowTable<Item = Accumulator>) -> mask32x8<S> {
        let simd = self.simd;
        let mass = |at: usize| self.lanes[at].mass.on(simd);
        let zero = f32x8::splat(simd, 0.0);
        let heaviest = self.block.bodies().fold(zero, |most, at| most.max(mass(at)));
        let mut touched = zero.simd_gt(zero);
        for at in self.block.bodies() {
            let [.., asked] = sums.eight(self.bodies[at].indices(self.joints.joints())).columns(simd, 0);
            let is_light = (mass(at) * TREE_RATIO).simd_lt(heaviest);
            touched |= is_light & asked.simd_gt(f32x8::splat(simd, UNTOUCHED));
        }
        touched
    }

    /// Visits the points of the hinges in some lanes, from the root to the leaves.
    #[inline(always)]
    fn sweep_held(
        &mut self,
        params: &Params,
        flags: u32,
        impulses: impl RowTable<Item = VecLanes>,
        states: impl RowTable<Item = BodyState>,
        which: mask32x8<S>,
    ) {
        let simd = self.simd;
        for at in self.block.bodies().rev() {
            let Some(hinge) = self.hinge(at) else { continue };
            let TreeBody { parent, is_a, .. } = self.bodies[at];
            let (rows, first) = self.joints.rows_of(&hinge);
            let point = impulses.row(first + rows.len() - 1);
            let before = load(simd, point);
            let stance = StanceLanes::new(simd, &hinge, StateLanes::new(&hinge, states));
            let mut motion = self.motion(at, &hinge, states);
            let row = |row: usize| impulses.row(first + row);
            sweep_rows(simd, params, flags | HELD_ALONE, &hinge, rows, &row, &stance, &mut motion);
            store(load(simd, point).where_else(which, before), point);
            let (a, b) = ((motion.v_a, motion.w_a), (motion.v_b, motion.w_b));
            let [child, other] = if is_a { [a, b] } else { [b, a] };
            self.lanes[at].take_motion_in(which, child);
            if let Some(parent) = parent {
                self.lanes[parent].take_motion_in(which, other);
            }
        }
    }

    /// Eliminates the bodies, from the leaves to the root.
    #[inline(always)]
    fn eliminate(&mut self, params: &Params, flags: u32, states: impl RowTable<Item = BodyState>) {
        let simd = self.simd;
        let zero = f32x8::splat(simd, 0.0);
        for at in self.block.bodies() {
            self.lanes[at].start(simd);
        }
        for at in self.block.bodies() {
            self.lanes[at].factor(simd);
            let Some(hinge) = self.hinge(at) else { continue };
            let TreeBody { parent: other, is_a, .. } = self.bodies[at];
            let (rows, _) = self.joints.rows_of(&hinge);
            let point = &rows[rows.len() - 1];
            let motion = self.motion(at, &hinge, states);
            let row = &mut self.lanes[at];
            let (child, parent) = (row.child.on(simd), row.parent.on(simd));
            let (arm_a, arm_b) = if is_a { (child, parent) } else { (parent, child) };
            let mut wanted = motion.between(arm_a, arm_b);
            if flags & USE_BIAS != 0 {
                let a = motion.w_a * motion.w_a * arm_a.length();
                let b = motion.w_b * motion.w_b * arm_b.length();
                let most = (a + b) * params.h + TREE_PULL * params.push_speed;
                wanted += shortened(row.between.on(simd) * point.softness[0].on(simd), most);
            }
            let arm = child - row.at.on(simd);
            let one = f32x8::splat(simd, 1.0);
            let (of_x, of_y) = (row.answer([one, zero, -arm.y]), row.answer([zero, one, arm.x]));
            let xx = of_x[0] - arm.y * of_x[2];
            let xy = of_y[0] - arm.y * of_y[2];
            let yy = of_y[1] + arm.x * of_y[2];
            let determinant = xx * yy - xy * xy;
            let is_regular = determinant.simd_gt(zero);
            let inverse = [yy, -xy, xx].map(|part| is_regular.select(part / determinant, zero));
            let pushed = row.velocity_at(row.answer(row.push(simd)), child);
            let rest = -(wanted * side(simd, is_a)) - pushed;
            put_three(&mut row.inverse, inverse);
            row.rest.put(rest);
            if let Some(other) = other {
                let row = &mut self.lanes[other];
                row.load(inverse, parent);
                row.push_at(-apply(inverse, rest), parent);
            }
        }
    }

    /// Gives each hinge its impulse and each body its velocity, from the root to the leaves, but not in some lanes.
    #[inline(always)]
    fn distribute(&mut self, impulses: impl RowTable<Item = VecLanes>, except: mask32x8<S>) {
        let simd = self.simd;
        let zero = f32x8::splat(simd, 0.0);
        for at in self.block.bodies().rev() {
            let TreeBody { hinge, parent, is_a, .. } = self.bodies[at];
            if let Some(hinge) = hinge {
                let (rows, first) = self.joints.rows_of(&self.joints.joints()[hinge]);
                let mut missing = self.lanes[at].rest.on(simd);
                if let Some(parent) = parent {
                    let other = &self.lanes[parent];
                    missing += other.velocity_at(other.push(simd), self.lanes[at].parent.on(simd));
                }
                let row = &mut self.lanes[at];
                let impulse = apply(three(simd, &row.inverse), missing);
                row.push_at(impulse, row.child.on(simd));
                let kept = inv_rotate(row.axis.on(simd), impulse * side(simd, is_a));
                let own = impulses.row(first + rows.len() - 1);
                let old = load(simd, own);
                store(old.where_else(except, old + kept), own);
            }
            let row = &mut self.lanes[at];
            let push = row.answer(row.push(simd));
            put_three(&mut row.push, push);
            let rests = push[0].simd_eq(zero) & push[1].simd_eq(zero) & push[2].simd_eq(zero);
            let (velocity, spin) = (row.velocity.on(simd), row.spin.on(simd));
            let moved = velocity + row.velocity_at(push, Vec2x8::zero(simd));
            let keeps = rests | except;
            row.take_motion(velocity.where_else(keeps, moved), keeps.select(spin, spin + push[2]));
        }
    }
}

/// Returns 1 if the children are B, −1 if they are A.
#[inline(always)]
fn side<S: Simd>(simd: S, is_a: bool) -> f32x8<S> {
    f32x8::splat(simd, if is_a { -1.0 } else { 1.0 })
}

impl TreeLanes {
    /// Replaces the velocities of the bodies.
    #[inline(always)]
    fn take_motion<S: Simd>(&mut self, velocity: Vec2x8<S>, spin: f32x8<S>) {
        self.velocity.put(velocity);
        self.spin.put(spin);
    }

    /// Replaces the velocities of the bodies in some lanes.
    #[inline(always)]
    fn take_motion_in<S: Simd>(&mut self, which: mask32x8<S>, (velocity, spin): (Vec2x8<S>, f32x8<S>)) {
        let simd = spin.simd;
        let velocity = velocity.where_else(which, self.velocity.on(simd));
        self.take_motion(velocity, which.select(spin, self.spin.on(simd)));
    }

    /// Empties what the children add.
    #[inline(always)]
    fn start<S: Simd>(&mut self, simd: S) {
        let zero = f32x8::splat(simd, 0.0);
        put_three(&mut self.push, [zero; 3]);
        self.matrix.iter_mut().for_each(|lanes| lanes.put(zero));
        self.at.put(Vec2x8::zero(simd));
        self.most.put(zero);
    }

    #[inline(always)]
    fn push<S: Simd>(&self, simd: S) -> Three<S> {
        three(simd, &self.push)
    }

    #[inline(always)]
    fn matrix<S: Simd>(&self, simd: S) -> [f32x8<S>; 6] {
        let [a, b, c, d, e, f] = &self.matrix;
        [a.on(simd), b.on(simd), c.on(simd), d.on(simd), e.on(simd), f.on(simd)]
    }

    #[inline(always)]
    fn put_matrix<S: Simd>(&mut self, matrix: [f32x8<S>; 6]) {
        self.matrix.iter_mut().zip(matrix).for_each(|(lanes, value)| lanes.put(value));
    }

    #[inline(always)]
    fn factor<S: Simd>(&mut self, simd: S) {
        let zero = f32x8::splat(simd, 0.0);
        let one = f32x8::splat(simd, 1.0);
        let (mass, at, inv_inertia) = (self.mass.on(simd), self.at.on(simd), self.inv_inertia.on(simd));
        let [xx, xy, xw, yy, yw, ww] = self.matrix(simd);
        let (xw, yw) = (xw + mass * at.y, yw - mass * at.x);
        let first = mass + xx;
        let (to_y, to_w) = (xy / first, xw / first);
        let second = mass + (yy - to_y * xy);
        let second = second.simd_gt(mass).select(second, mass);
        let mixed = yw - to_y * xw;
        let across = mixed / second;
        let felt = ((ww + mass * at.dot(at)) - to_w * xw) - across * mixed;
        let felt = felt.simd_gt(zero).select(felt, zero);
        let third = inv_inertia / (one + inv_inertia * felt);
        self.put_matrix([one / first, to_y, to_w, one / second, across, third]);
    }

    #[inline(always)]
    fn answer<S: Simd>(&self, [x, y, turn]: Three<S>) -> Three<S> {
        let [first, to_y, to_w, second, across, third] = self.matrix(x.simd);
        let y_alone = y - to_y * x;
        let turned = third * ((turn - to_w * x) - across * y_alone);
        let moved_y = second * y_alone - across * turned;
        let moved_x = (first * x - to_y * moved_y) - to_w * turned;
        [moved_x, moved_y, turned]
    }

    #[inline(always)]
    fn push_at<S: Simd>(&mut self, impulse: Vec2x8<S>, arm: Vec2x8<S>) {
        let simd = arm.x.simd;
        let turn = cross(arm - self.at.on(simd), impulse);
        let [x, y, spin] = self.push(simd);
        put_three(&mut self.push, [x + impulse.x, y + impulse.y, spin + turn]);
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, [xx, xy, yy]: Three<S>, arm: Vec2x8<S>) {
        let simd = xx.simd;
        let (size, most) = (xx + yy, self.most.on(simd));
        let is_largest = size.simd_gt(most);
        if is_largest.any_true() {
            self.most.put(is_largest.select(size, most));
            self.refer_to(arm, is_largest);
        }
        let arm = arm - self.at.on(simd);
        let (of_x, of_y) = (arm.x * xy - arm.y * xx, arm.x * yy - arm.y * xy);
        let turn = arm.x * of_y - arm.y * of_x;
        let [m_0, m_1, m_2, m_3, m_4, m_5] = self.matrix(simd);
        self.put_matrix([m_0 + xx, m_1 + xy, m_2 + of_x, m_3 + yy, m_4 + of_y, m_5 + turn]);
    }

    /// Moves the points of reference in some lanes.
    #[inline(always)]
    fn refer_to<S: Simd>(&mut self, at: Vec2x8<S>, which: mask32x8<S>) {
        let simd = at.x.simd;
        let two = f32x8::splat(simd, 2.0);
        let (old, [x, y, spin]) = (self.at.on(simd), self.push(simd));
        let by = at - old;
        let [xx, xy, xw, yy, yw, ww] = self.matrix(simd);
        let (of_x, of_y) = (xx * by.y - xy * by.x, xy * by.y - yy * by.x);
        let turn = ww + two * (xw * by.y - yw * by.x) + (of_x * by.y - of_y * by.x);
        let seen = |new, old| which.select(new, old);
        self.put_matrix([xx, xy, seen(xw + of_x, xw), yy, seen(yw + of_y, yw), seen(turn, ww)]);
        put_three(&mut self.push, [x, y, seen(spin - cross(by, Vec2x8::new(x, y)), spin)]);
        self.at.put(at.where_else(which, old));
    }

    #[inline(always)]
    fn velocity_at<S: Simd>(&self, [x, y, turn]: Three<S>, arm: Vec2x8<S>) -> Vec2x8<S> {
        let arm = arm - self.at.on(x.simd);
        Vec2x8::new(x - turn * arm.y, y + turn * arm.x)
    }
}

#[inline(always)]
fn three<S: Simd>(simd: S, [a, b, c]: &[Lanes; 3]) -> Three<S> {
    [a.on(simd), b.on(simd), c.on(simd)]
}

#[inline(always)]
fn put_three<S: Simd>(lanes: &mut [Lanes; 3], [a, b, c]: Three<S>) {
    lanes[0].put(a);
    lanes[1].put(b);
    lanes[2].put(c);
}

/// Returns symmetric matrices times vectors.
#[inline(always)]
fn apply<S: Simd>([xx, xy, yy]: Three<S>, v: Vec2x8<S>) -> Vec2x8<S> {
    Vec2x8::new(xx * v.x + xy * v.y, xy * v.x + yy * v.y)
}
