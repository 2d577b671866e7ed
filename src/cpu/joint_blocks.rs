//! Joints of the CPU engine as structs of arrays: a block holds eight joints of one colour, one per SIMD lane, with the
//! fields of [`JointFrame`] and [`JointRow`].
//!
//! The joints of a block have the same kinds of rows in the same order, so that a sweep branches once for all of them.
//! Unused lanes of a partly filled block move nothing. Impulses are loaded from their table when the blocks are built,
//! and stored back after the last sweep. The overflow has no blocks: it is solved in order, joint by joint.

use std::f32::consts::TAU;
use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};

use crate::cpu::stages::solve_joints::tension;
use crate::cpu::tree_blocks::TreeBlocks;
use crate::lanes::{
    Lanes, Select, Simd, SimdBase, SimdFloat, SimdMask, Vec2x8, VecLanes, WIDTH, angle_of, columns, dispatch, f32x4,
    f32x8, inv_rotate, rotate, u32x8,
};
use crate::mass_scale::mass_share;
use crate::stages::solve_joints::rows_of;
use crate::stages::solve_joints::tree::{RowStore, Tree};
use crate::threads::{Alone, Cut, RowTable, Rows, Threads};
use crate::types::{
    BodyData, BodyState, JOINT_COLORS, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_OVERFLOW, JointData, JointFrame, JointRow,
    JointState, NONE, Pose, ROW_BY_MASS, ROW_COUNT_MASK, ROW_GEOMETRY, ROW_MOTOR, ROW_POINT, ROW_RANGED, ROW_ROLE,
    WORLD_A,
};

/// Granularity at which a colour is shared among threads. A block takes about 100 ns.
const CUT: Cut = Cut { unit: 8, least: 96 };
/// Number of colours whose joints may be solved in parallel.
const COLORS: usize = JOINT_OVERFLOW as usize;
/// Bits of [`JointRow::kind`] in which the joints of a block agree.
const KIND: u32 = ROW_GEOMETRY | ROW_ROLE | ROW_BY_MASS | ROW_RANGED;

impl<T: Pod, const W: usize> RowStore<T> for &Rows<T, W> {
    fn row(&self, index: usize) -> T {
        self.get(index)
    }

    fn put(&mut self, index: usize, row: T) {
        self.set(index, row);
    }
}

/// Eight joints, one per lane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct JointBlock {
    /// Indices of bodies A, as [`JointFrame::body_a`].
    pub body_a: [u32; WIDTH],
    /// Indices of bodies B, as [`JointFrame::body_b`].
    pub body_b: [u32; WIDTH],
    /// Indices of the first rows, as [`JointFrame::first_row`].
    pub first_row: [u32; WIDTH],
    /// Flags, as [`JointFrame::flags`]; an unused lane has both bodies fixed and the world as A.
    pub flags: [u32; WIDTH],
    /// Lever arms on A, as [`JointFrame::r_a`].
    pub r_a: VecLanes,
    /// Lever arms on B, as [`JointFrame::r_b`].
    pub r_b: VecLanes,
    /// Vectors between the anchors, as [`JointFrame::between`].
    pub between: VecLanes,
    /// Axes, as [`JointFrame::axis`].
    pub axis: VecLanes,
    /// Inverse masses of bodies A, as [`JointFrame::inv_mass_a`].
    pub inv_mass_a: Lanes,
    /// Inverse inertias of bodies A, as [`JointFrame::inv_inertia_a`].
    pub inv_inertia_a: Lanes,
    /// Inverse masses of bodies B, as [`JointFrame::inv_mass_b`].
    pub inv_mass_b: Lanes,
    /// Inverse inertias of bodies B, as [`JointFrame::inv_inertia_b`].
    pub inv_inertia_b: Lanes,
    /// Angles, as [`JointFrame::angle`].
    pub angle: Lanes,
    /// Ratios, as [`JointFrame::ratio`].
    pub ratio: Lanes,
    /// Indices of the joints; [`NONE`] for an unused lane.
    places: [u32; WIDTH],
    /// First row block, number of row blocks; the rest is unused.
    rows: [u32; WIDTH],
}

/// Row of each of eight joints.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct RowBlock {
    /// Goals, as [`JointRow::goal`].
    pub goal: Lanes,
    /// Largest impulses, as [`JointRow::max_impulse`].
    pub max_impulse: Lanes,
    /// Softness coefficients, as [`JointRow::softness`]. A motor at a point has none: its first are
    /// [`JointRow::goal_y`].
    pub softness: [Lanes; 3],
    /// Kind of the row, as [`JointRow::kind`] without the bits that only the host uses.
    pub kind: u32,
    pad: [u32; WIDTH - 1],
}

/// [`JointFrame`] as groups of four numbers. The first four groups are the first sixteen rows of a [`JointBlock`]; the
/// last holds two more rows.
type FrameHalves = [[f32; 4]; 5];
/// [`JointRow`] as groups of four numbers.
type RowHalves = [[f32; 4]; 2];

/// Frame of an unused lane.
const NEUTRAL_FRAME: JointFrame = JointFrame {
    body_a: 0,
    body_b: 0,
    first_row: 0,
    flags: JOINT_FIXED_A | JOINT_FIXED_B | WORLD_A,
    r_a: [0.0; 2],
    r_b: [0.0; 2],
    between: [0.0; 2],
    axis: [0.0; 2],
    inv_mass_a: 0.0,
    inv_inertia_a: 0.0,
    inv_mass_b: 0.0,
    inv_inertia_b: 0.0,
    angle: 0.0,
    ratio: 1.0,
    pad: [0; 2],
};

/// [`JointData`], [`BodyData`] or [`Pose`] as groups of four numbers.
type JointHalves = [[f32; 4]; 4];
type BodyHalves = [[f32; 4]; 4];
type PoseHalves = [[f32; 4]; 2];

/// Returns one half of eight rows, as columns.
#[inline(always)]
fn half_of<S: Simd, const H: usize>(simd: S, rows: [&[[f32; 4]; H]; WIDTH], half: usize) -> [f32x8<S>; 4] {
    let [a, b, c, d, e, f, g, h] = rows;
    let row = |row: &[[f32; 4]; H]| f32x4::load_array(simd, row[half]);
    columns([row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)])
}

/// Returns position, rotation and low part of eight poses.
#[inline(always)]
fn columns_of_poses<S: Simd>(simd: S, poses: [&PoseHalves; WIDTH]) -> [Vec2x8<S>; 3] {
    let [x, y, cos, sin] = half_of(simd, poses, 0);
    let [low_x, low_y, ..] = half_of(simd, poses, 1);
    [Vec2x8::new(x, y), Vec2x8::new(cos, sin), Vec2x8::new(low_x, low_y)]
}

impl JointBlock {
    fn empty(first_row: usize, rows: usize) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "rows are counted in u32")]
        let rows = [first_row as u32, rows as u32, 0, 0, 0, 0, 0, 0];
        Self { places: [NONE; WIDTH], rows, ..Self::zeroed() }
    }

    /// Creates a block of joints, at most eight, with the kinds of the rows of one, after other row blocks.
    pub fn of(places: impl Iterator<Item = u32>, rules: &[JointRow], rows: &mut Vec<RowBlock>) -> Self {
        let mut block = Self::empty(rows.len(), rules.len());
        rows.extend(rules.iter().map(|rule| RowBlock::empty(rule.kind & KIND)));
        block.places.iter_mut().zip(places).for_each(|(lane, place)| *lane = place);
        block
    }

    /// Copies the frames of the block's joints.
    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, joint_frames: &[JointFrame]) {
        let frame = |lane: usize| -> &FrameHalves {
            bytemuck::cast_ref(match self.places[lane] {
                NONE => &NEUTRAL_FRAME,
                place => &joint_frames[place as usize],
            })
        };
        let frames = [frame(0), frame(1), frame(2), frame(3), frame(4), frame(5), frame(6), frame(7)];
        let half = |half: usize| half_of(simd, frames, half);
        let [angle, ratio, ..] = half(4);
        let rows: &mut [Lanes; BLOCK_ROWS] = bytemuck::cast_mut(self);
        // One by one: a list of columns would go through memory.
        for (first, rows) in rows[..16].as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let [a, b, c, d] = half(first);
            rows[0].put(a);
            rows[1].put(b);
            rows[2].put(c);
            rows[3].put(d);
        }
        self.angle.put(angle);
        self.ratio.put(ratio);
    }

    /// Computes the frames of the block's joints from the poses, as
    /// [`frame_of`](crate::stages::prepare_joints::frame_of) does for one.
    #[inline(always)]
    fn update_frames<S: Simd>(
        &mut self,
        simd: S,
        joints: &[JointData],
        bodies: &[BodyData],
        poses: &[Pose],
        states: &Rows<BodyState, 4>,
        joint_states: &Rows<JointState, 2>,
        h: f32,
        rules: &[RowBlock],
        impulses: &Rows<VecLanes, 8>,
    ) {
        let (no_joint, no_body, no_pose) = (JointData::default(), BodyData::default(), Pose::default());
        let Self { places, body_a, body_b, flags, .. } = self;
        let in_world: [bool; WIDTH] = flags.map(|flags| flags & WORLD_A != 0);
        let joint = |lane: usize| -> &JointHalves {
            bytemuck::cast_ref(if places[lane] == NONE { &no_joint } else { &joints[places[lane] as usize] })
        };
        let body = |index: Option<u32>| -> &BodyHalves {
            bytemuck::cast_ref(index.map_or(&no_body, |index| &bodies[index as usize]))
        };
        let pose = |index: Option<u32>| -> &PoseHalves {
            bytemuck::cast_ref(index.map_or(&no_pose, |index| &poses[index as usize]))
        };
        let a = |lane: usize| (!in_world[lane]).then_some(body_a[lane]);
        let b = |lane: usize| (places[lane] != NONE).then_some(body_b[lane]);
        let joints = [joint(0), joint(1), joint(2), joint(3), joint(4), joint(5), joint(6), joint(7)];
        let bodies_a = [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| body(a(lane)));
        let bodies_b = [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| body(b(lane)));

        let [at_a, turn_a, low_a] = columns_of_poses(simd, [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| pose(a(lane))));
        let [at_b, turn_b, low_b] = columns_of_poses(simd, [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| pose(b(lane))));
        let [anchor_a_x, anchor_a_y, anchor_b_x, anchor_b_y] = half_of(simd, joints, 1);
        let (r_a, r_b) =
            (rotate(turn_a, Vec2x8::new(anchor_a_x, anchor_a_y)), rotate(turn_b, Vec2x8::new(anchor_b_x, anchor_b_y)));
        let world = (u32x8::load_array_ref(simd, &self.flags) & WORLD_A).simd_eq(WORLD_A);
        let between = (((at_b - r_a) + low_b) + r_b).where_else(world, ((at_b - at_a) + (low_b - low_a)) + (r_b - r_a));
        let [axis_x, axis_y, reference, _] = half_of(simd, joints, 2);
        let axis = rotate(turn_a, Vec2x8::new(axis_x, axis_y));
        let angle = angle_of(inv_rotate(turn_a, turn_b)) - reference;
        let last = places.map(|place| if place == NONE { 0.0 } else { joint_states.get(place as usize).angle });
        let turns = ((f32x8::load_array(simd, last) - angle) / TAU + 0.5).floor();
        let angle = angle + turns * TAU;
        let share_a = f32x8::load_array(simd, mass_shares([0, 1, 2, 3, 4, 5, 6, 7].map(a), states));
        let share_b = f32x8::load_array(simd, mass_shares([0, 1, 2, 3, 4, 5, 6, 7].map(b), states));
        let [inv_mass_a, inv_inertia_a, ..] = half_of(simd, bodies_a, 0).map(|column| column * share_a);
        let [inv_mass_b, inv_inertia_b, ..] = half_of(simd, bodies_b, 0).map(|column| column * share_b);
        let first = self.rows().start;
        let pull = tension(simd, rules, &|row| impulses.row(first + row), axis, between);
        let inv_inertia_a = stiffened(h, inv_inertia_a, (-r_a).dot(pull));
        let inv_inertia_b = stiffened(h, inv_inertia_b, r_b.dot(pull));

        self.r_a.put(r_a);
        self.r_b.put(r_b);
        self.between.put(between);
        self.axis.put(axis);
        self.inv_mass_a.put(inv_mass_a);
        self.inv_inertia_a.put(inv_inertia_a);
        self.inv_mass_b.put(inv_mass_b);
        self.inv_inertia_b.put(inv_inertia_b);
        self.angle.put(angle);
        for (place, angle) in self.places.into_iter().zip(self.angle.0).filter(|(place, _)| *place != NONE) {
            let state = joint_states.get(place as usize);
            joint_states.set(place as usize, JointState { angle, ..state });
        }
    }

    /// Returns the frames of the block's joints, with their indices.
    fn frames(&self) -> impl Iterator<Item = (usize, JointFrame)> {
        let at = |lanes: &VecLanes, lane: usize| [lanes.x.0[lane], lanes.y.0[lane]];
        let frame = move |lane: usize| JointFrame {
            body_a: self.body_a[lane],
            body_b: self.body_b[lane],
            first_row: self.first_row[lane],
            flags: self.flags[lane],
            r_a: at(&self.r_a, lane),
            r_b: at(&self.r_b, lane),
            between: at(&self.between, lane),
            axis: at(&self.axis, lane),
            inv_mass_a: self.inv_mass_a.0[lane],
            inv_inertia_a: self.inv_inertia_a.0[lane],
            inv_mass_b: self.inv_mass_b.0[lane],
            inv_inertia_b: self.inv_inertia_b.0[lane],
            angle: self.angle.0[lane],
            ratio: self.ratio.0[lane],
            pad: [0; 2],
        };
        (0..WIDTH).filter(|&lane| self.places[lane] != NONE).map(move |lane| (self.places[lane] as usize, frame(lane)))
    }

    /// Returns the block with other inverse inertias.
    #[inline(always)]
    #[must_use]
    pub fn with_inertias(&self, inv_inertia_a: Lanes, inv_inertia_b: Lanes) -> Self {
        Self { inv_inertia_a, inv_inertia_b, ..*self }
    }

    /// Returns the range of the block's rows among the row blocks.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.rows[0] as usize..(self.rows[0] + self.rows[1]) as usize
    }

    /// Returns the lanes in use, each with the index of its row number `row` in the table.
    fn joint_rows(&self, row: usize) -> impl Iterator<Item = (usize, usize)> {
        let lanes = self.places.into_iter().zip(self.first_row).enumerate();
        lanes.filter(|(_, (place, _))| *place != NONE).map(move |(lane, (_, first))| (lane, first as usize + row))
    }
}

/// Returns the shares that true masses are of scaled ones; 1 for the world and unused lanes.
#[inline(always)]
fn mass_shares(bodies: [Option<u32>; WIDTH], states: &Rows<BodyState, 4>) -> [f32; WIDTH] {
    const STATUS: usize = offset_of!(BodyState, status);
    let status = |body: u32| bytemuck::cast::<u64, [u32; 2]>(states.word(body as usize, STATUS / 8))[STATUS % 8 / 4];
    bodies.map(|body| body.map_or(1.0, |body| mass_share(status(body))))
}

/// As [`stiffened`](crate::stages::prepare_joints::stiffened), for eight joints.
#[inline(always)]
fn stiffened<S: Simd>(h: f32, inv_inertia: f32x8<S>, pull: f32x8<S>) -> f32x8<S> {
    let one = f32x8::splat(pull.simd, 1.0);
    let least = pull * f32x8::splat(pull.simd, 2.0 * h);
    let light = (least * inv_inertia).simd_gt(1.0);
    // Hardly any is: without the branch all would wait for a division.
    if light.any_true() { light.select(one / least, inv_inertia) } else { inv_inertia }
}

/// Rows of eight numbers in a [`JointBlock`].
const BLOCK_ROWS: usize = 20;

impl RowBlock {
    fn empty(kind: u32) -> Self {
        Self { kind, ..Self::zeroed() }
    }

    /// Copies the rows of the block's joints. Returns false if one is of another kind now.
    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, rules: [&JointRow; WIDTH], used: [bool; WIDTH]) -> bool {
        let halves = rules.map(bytemuck::cast_ref::<JointRow, RowHalves>);
        let half = |half: usize| half_of(simd, halves, half);
        let ([_, goal, max_impulse, goal_y], [s_0, s_1, s_2, _]) = (half(0), half(1));
        self.goal.put(goal);
        self.max_impulse.put(max_impulse);
        let is_drive = self.kind & (ROW_GEOMETRY | ROW_ROLE) == ROW_POINT | ROW_MOTOR;
        self.softness[0].put(if is_drive { goal_y } else { s_0 });
        self.softness[1].put(s_1);
        self.softness[2].put(s_2);
        rules.iter().zip(used).all(|(rule, used)| !used || rule.kind & KIND == self.kind)
    }
}

/// Joints of a step that have rows to solve.
#[derive(Debug, Default)]
pub struct JointBlocks {
    blocks: Vec<JointBlock>,
    rows: Vec<RowBlock>,
    /// Impulses of each row block.
    impulses: Rows<VecLanes, 8>,
    /// Blocks of colour `c` are `starts[c] .. starts[c + 1]`.
    starts: [usize; COLORS + 1],
    /// Blocks of the current colour with lanes left, while the layout is computed: kinds of the rows, block, next lane.
    open: Vec<(u128, usize, usize)>,
    /// Order of the joints for which the layout was computed, and the number of rows of each.
    order: Vec<u32>,
    row_counts: Vec<u8>,
    /// Trees of hinges; their blocks are those from the last start on. Most worlds have none.
    trees: Box<TreeBlocks>,
    /// True while the current impulses are here and not in the table.
    holds_impulses: bool,
    /// True if the impulses here equal those of the table.
    knows_impulses: bool,
    /// True if all joints are here, with all their rows, and none can break or is a gear or a pulley.
    is_whole: bool,
    /// True while the current frames are here and not in the table.
    holds_frames: bool,
}

/// Returns the kinds of a joint's rows as one number: joints with equal numbers can share a block.
pub(super) fn likeness(rules: &[JointRow]) -> u128 {
    rules.iter().fold(1, |likeness, rule| likeness << 16 | u128::from(rule.kind & KIND))
}

/// Returns the number of rows of a joint.
fn row_count(frame: &JointFrame) -> u8 {
    #[allow(clippy::cast_possible_truncation, reason = "a joint has a handful")]
    let count = (frame.flags & ROW_COUNT_MASK) as u8;
    count
}

impl JointBlocks {
    /// Builds the blocks from the joint frames, rows and impulses.
    pub fn build(
        &mut self,
        joint_starts: &[u32],
        joints: &[JointData],
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        joint_impulses: &Rows<[f32; 2], 1>,
    ) {
        let row_counts = joint_frames.iter().map(row_count);
        // Nearly always the layout is that of the previous step, and only the frames have changed.
        let known = self.order == joint_starts
            && self.row_counts.iter().copied().eq(row_counts.clone())
            && self.fill(joint_frames, joint_rows);
        if !known {
            self.order.clear();
            self.order.extend_from_slice(joint_starts);
            self.row_counts.clear();
            self.row_counts.extend(row_counts);
            self.lay_out(joint_starts, joint_frames, joint_rows);
            self.fill(joint_frames, joint_rows);
        }
        for block in &self.blocks {
            for (row, at) in block.rows().enumerate() {
                let mut lanes = VecLanes::default();
                for (lane, from) in block.joint_rows(row) {
                    [lanes.x.0[lane], lanes.y.0[lane]] = joint_impulses.get(from);
                }
                self.impulses.set(at, lanes);
            }
        }
        self.holds_impulses = true;
        self.holds_frames = false;
        let lanes = self.blocks.iter().flat_map(|block| block.places).filter(|&place| place != NONE).count();
        let lasts = |joint: &JointData| joint.break_force == f32::MAX && joint.break_torque == f32::MAX;
        let is_plain = |joint: &JointData| lasts(joint) && !joint.is_gear() && !joint.is_pulley();
        self.is_whole = lanes == joint_frames.len() && joints.iter().all(is_plain);
        self.weigh();
    }

    /// Updates the frames in the blocks from the poses, if all joints are here as in the previous step: the result of
    /// [`prepare_joints`](crate::stages::prepare_joints::prepare_joints) and [`build`](Self::build), without the table
    /// between. Returns false, and does nothing, elsewhere. No joint may sleep, and no body be quarantined.
    pub fn update_frames(
        &mut self,
        threads: &Threads,
        joint_starts: &[u32],
        joints: &[JointData],
        bodies: &[BodyData],
        poses: &[Pose],
        states: &Rows<BodyState, 4>,
        joint_states: &Rows<JointState, 2>,
        h: f32,
    ) -> bool {
        if !self.is_whole || !self.knows_impulses || self.order != joint_starts {
            return false;
        }
        let Self { blocks, rows, impulses, .. } = self;
        threads.for_chunks(CUT, blocks, |_, blocks| {
            dispatch!(simd => for block in blocks {
                let rules = &rows[block.rows()];
                block.update_frames(simd, joints, bodies, poses, states, joint_states, h, rules, impulses);
            });
        });
        (self.holds_impulses, self.holds_frames) = (true, true);
        self.weigh();
        true
    }

    /// Sets masses and inertias of the bodies of trees.
    fn weigh(&mut self) {
        if !self.trees.is_empty() {
            dispatch!(simd => self.trees.weigh(simd, &self.blocks));
        }
    }

    /// Invalidates the blocks after tables of impulses, joints or rows have changed.
    pub fn forget(&mut self) {
        (self.is_whole, self.knows_impulses) = (false, false);
        // A cancelled step may have left both here.
        (self.holds_impulses, self.holds_frames) = (false, false);
    }

    /// Copies the frames to their table, if the current ones are here.
    pub fn frames(&self, joint_frames: &mut [JointFrame]) {
        let blocks = if self.holds_frames { &self.blocks[..] } else { &[] };
        for (place, frame) in blocks.iter().flat_map(JointBlock::frames) {
            joint_frames[place] = frame;
        }
    }

    /// Assigns each joint a block and a lane.
    fn lay_out(&mut self, joint_starts: &[u32], joint_frames: &[JointFrame], joint_rows: &[JointRow]) {
        let Self { blocks, rows, impulses, starts, open, trees, .. } = self;
        blocks.clear();
        rows.clear();
        for (color, start) in (0..COLORS).zip(starts.iter_mut()) {
            *start = blocks.len();
            open.clear();
            for &place in of_color(joint_starts, color) {
                let range = rows_of(&joint_frames[place as usize]);
                if range.is_empty() {
                    continue;
                }
                let rules = &joint_rows[range];
                let wanted = likeness(rules);
                let entry = open.iter().position(|&(likeness, ..)| likeness == wanted).unwrap_or_else(|| {
                    open.push((wanted, blocks.len(), 0));
                    blocks.push(JointBlock::of([].into_iter(), rules, rows));
                    open.len() - 1
                });
                let (_, block, lane) = open[entry];
                blocks[block].places[lane] = place;
                if lane + 1 == WIDTH {
                    open.swap_remove(entry);
                } else {
                    open[entry].2 = lane + 1;
                }
            }
        }
        starts[COLORS] = blocks.len();
        trees.lay_out(joint_starts, joint_frames, joint_rows, blocks, rows);
        impulses.resize(rows.len());
    }

    /// Copies frames and rows into their lanes. Returns false if a row is of another kind than the layout assumes.
    fn fill(&mut self, joint_frames: &[JointFrame], joint_rows: &[JointRow]) -> bool {
        let Self { blocks, rows, .. } = self;
        let neutral = JointRow::default();
        dispatch!(simd => blocks.iter_mut().all(
            #[inline(always)]
            |block| {
                block.fill(simd, joint_frames);
                let used = block.places.map(|place| place != NONE);
                let first = block.first_row;
                rows[block.rows()].iter_mut().enumerate().all(
                    #[inline(always)]
                    |(index, row)| {
                        let rule = |lane: usize| {
                            if used[lane] { &joint_rows[first[lane] as usize + index] } else { &neutral }
                        };
                        let rules = [rule(0), rule(1), rule(2), rule(3), rule(4), rule(5), rule(6), rule(7)];
                        row.fill(simd, rules, used)
                    },
                )
            },
        ))
    }

    /// Copies the impulses to their table, if the current ones are here.
    pub fn store(&self, joint_impulses: &Rows<[f32; 2], 1>) {
        let blocks = if self.holds_impulses { &self.blocks[..] } else { &[] };
        for block in blocks {
            for (row, at) in block.rows().enumerate() {
                let lanes = self.impulses.get(at);
                for (lane, to) in block.joint_rows(row) {
                    joint_impulses.set(to, [lanes.x.0[lane], lanes.y.0[lane]]);
                }
            }
        }
    }

    /// Marks the table as the place of the current impulses.
    pub fn release_impulses(&mut self) {
        (self.holds_impulses, self.knows_impulses) = (false, self.holds_impulses);
    }

    /// Visits the blocks colour by colour, run by run. Those of one colour share no dynamic body and may be visited in
    /// parallel.
    pub fn for_each_run(&self, threads: &Threads, each: impl Fn(JointBatch, &Rows<VecLanes, 8>) + Sync) {
        for ends in self.starts.windows(2) {
            let blocks = &self.blocks[ends[0]..ends[1]];
            if blocks.is_empty() {
                continue;
            }
            threads.for_ranges(CUT, blocks.len(), |first, end| {
                each(JointBatch { blocks: &blocks[first..end], rows: &self.rows }, &self.impulses);
            });
        }
    }

    /// Returns all blocks, one colour after the other, and their impulses, for a single thread.
    pub fn alone(&mut self) -> (JointBatch<'_>, Alone<'_, VecLanes, 4>) {
        (JointBatch { blocks: &self.blocks[..self.starts[COLORS]], rows: &self.rows }, self.impulses.alone())
    }

    /// Returns the trees and all blocks with their impulses, for a single thread.
    pub fn trees(&mut self) -> (&mut TreeBlocks, JointBatch<'_>, Alone<'_, VecLanes, 4>) {
        (&mut self.trees, JointBatch { blocks: &self.blocks, rows: &self.rows }, self.impulses.alone())
    }

    /// Returns the trees that are solved alone.
    pub fn lone_trees<'a>(&'a self, joint_starts: &'a [u32]) -> impl Iterator<Item = Tree<'a>> {
        self.trees.alone(joint_starts)
    }
}

/// Adjacent blocks of one colour.
#[derive(Clone, Copy, Debug)]
pub struct JointBatch<'a> {
    blocks: &'a [JointBlock],
    rows: &'a [RowBlock],
}

impl<'a> JointBatch<'a> {
    /// Returns the blocks.
    #[inline(always)]
    #[must_use]
    pub fn joints(self) -> &'a [JointBlock] {
        self.blocks
    }

    /// Returns the rows of a block, and the index of the first.
    #[inline(always)]
    #[must_use]
    pub fn rows_of(self, block: &JointBlock) -> (&'a [RowBlock], usize) {
        (&self.rows[block.rows()], block.rows().start)
    }

    /// Returns each block with its rows, and the index of the first.
    #[inline(always)]
    pub fn blocks(self) -> impl Iterator<Item = (&'a JointBlock, &'a [RowBlock], usize)> {
        self.blocks.iter().map(move |block| (block, &self.rows[block.rows()], block.rows().start))
    }
}

/// Returns the indices of the joints of a colour.
#[must_use]
pub fn of_color(joint_starts: &[u32], color: usize) -> &[u32] {
    if joint_starts.is_empty() {
        return &[];
    }
    &joint_starts[joint_starts[color] as usize..joint_starts[JOINT_COLORS as usize + color] as usize]
}
