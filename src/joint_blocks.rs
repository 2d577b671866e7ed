//! The joints of the CPU backend: the same as [`JointFrame`] and [`JointRow`] say, eight of a colour side by side, a lane
//! each.
//!
//! Those of a block are alike: they have the same rows in the same order, so that a sweep decides once for all of them
//! what a row does. A block that is not full has lanes that move nothing. Impulses are fetched from their table when blocks
//! are laid, and handed back after the last sweep. The overflow is not here: it is solved in order, one by one.

use bytemuck::{Pod, Zeroable};

use crate::lanes::{Lanes, VecLanes, WIDTH};
use crate::stages::solve_joints::rows_of;
use crate::threads::{Alone, Cut, Rows, Threads};
use crate::types::{
    JOINT_COLORS, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_OVERFLOW, JointFrame, JointRow, NONE, ROW_BY_MASS, ROW_GEOMETRY,
    ROW_ROLE, WORLD_A,
};

/// How a colour is shared. A block takes about 100 ns.
const CUT: Cut = Cut { unit: 8, least: 96 };
/// Colours whose joints may be solved at the same time.
const COLORS: usize = JOINT_OVERFLOW as usize;
/// The part of [`JointRow::kind`] in which the joints of a block agree.
const KIND: u32 = ROW_GEOMETRY | ROW_ROLE | ROW_BY_MASS;

/// Eight joints.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct JointBlock {
    /// As [`JointFrame::body_a`].
    pub body_a: [u32; WIDTH],
    /// As [`JointFrame::body_b`].
    pub body_b: [u32; WIDTH],
    /// As [`JointFrame::flags`]; of a lane that is not in use, both bodies fixed and A the world.
    pub flags: [u32; WIDTH],
    /// Where the rows begin, how many there are, and nothing.
    rows: [u32; WIDTH],
    /// As [`JointFrame::r_a`].
    pub r_a: VecLanes,
    /// As [`JointFrame::r_b`].
    pub r_b: VecLanes,
    /// As [`JointFrame::between`].
    pub between: VecLanes,
    /// As [`JointFrame::axis`].
    pub axis: VecLanes,
    /// As [`JointFrame::inv_mass_a`].
    pub inv_mass_a: Lanes,
    /// As [`JointFrame::inv_inertia_a`].
    pub inv_inertia_a: Lanes,
    /// As [`JointFrame::inv_mass_b`].
    pub inv_mass_b: Lanes,
    /// As [`JointFrame::inv_inertia_b`].
    pub inv_inertia_b: Lanes,
    /// As [`JointFrame::angle`].
    pub angle: Lanes,
}

/// One row of each of eight joints.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct RowBlock {
    /// Where their impulses are; [`NONE`] of a lane that is not in use.
    pub impulses: [u32; WIDTH],
    /// As [`JointRow::kind`], without what only concerns the host.
    pub kind: u32,
    pad: [u32; WIDTH - 1],
    /// As [`JointRow::goal`].
    pub goal: Lanes,
    /// As [`JointRow::max_impulse`].
    pub max_impulse: Lanes,
    /// As [`JointRow::softness`].
    pub softness: [Lanes; 3],
}

/// Rows of eight numbers in a [`JointBlock`], of which the first four are integers.
const BLOCK_ROWS: usize = 17;
/// Likewise in a [`RowBlock`], of which the first two are.
const ROW_ROWS: usize = 7;

impl JointBlock {
    fn neutral(first_row: usize, rows: usize) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "rows are counted in u32")]
        let rows = [first_row as u32, rows as u32, 0, 0, 0, 0, 0, 0];
        Self { flags: [JOINT_FIXED_A | JOINT_FIXED_B | WORLD_A; WIDTH], rows, ..Self::zeroed() }
    }

    fn set(&mut self, lane: usize, frame: &JointFrame) {
        (self.body_a[lane], self.body_b[lane], self.flags[lane]) = (frame.body_a, frame.body_b, frame.flags);
        let JointFrame { r_a, r_b, between, axis, inv_mass_a, inv_inertia_a, inv_mass_b, inv_inertia_b, .. } = *frame;
        let pairs = [r_a, r_b, between, axis];
        let masses = [inv_mass_a, inv_inertia_a, inv_mass_b, inv_inertia_b, frame.angle];
        let rows: &mut [[f32; WIDTH]; BLOCK_ROWS] = bytemuck::cast_mut(self);
        for (row, value) in rows[4..].iter_mut().zip(pairs.into_iter().flatten().chain(masses)) {
            row[lane] = value;
        }
    }

    /// Where in the blocks the rows are.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.rows[0] as usize..(self.rows[0] + self.rows[1]) as usize
    }
}

impl RowBlock {
    fn neutral(kind: u32) -> Self {
        Self { impulses: [NONE; WIDTH], kind, ..Self::zeroed() }
    }

    /// Lanes in use, and their rows in the table.
    fn joint_rows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.impulses.into_iter().enumerate().filter(|&(_, at)| at != NONE).map(|(lane, at)| (lane, at as usize))
    }

    fn set(&mut self, lane: usize, index: usize, rule: &JointRow) {
        #[allow(clippy::cast_possible_truncation, reason = "rows are counted in u32")]
        let index = index as u32;
        self.impulses[lane] = index;
        let [s_0, s_1, s_2] = rule.softness;
        let rows: &mut [[f32; WIDTH]; ROW_ROWS] = bytemuck::cast_mut(self);
        for (row, value) in rows[2..].iter_mut().zip([rule.goal, rule.max_impulse, s_0, s_1, s_2]) {
            row[lane] = value;
        }
    }
}

/// All joints of a step that do something.
#[derive(Debug, Default)]
pub struct JointBlocks {
    blocks: Vec<JointBlock>,
    rows: Vec<RowBlock>,
    /// One a row block.
    impulses: Rows<VecLanes, 8>,
    /// Blocks of colour `c` are `starts[c] .. starts[c + 1]`.
    starts: [usize; COLORS + 1],
    /// Blocks of the colour that is being laid out and have lanes left: which rows they have, which block, which lane.
    open: Vec<(u128, usize, usize)>,
}

/// Which rows a joint has, as one number: joints of equal ones can share a block.
fn likeness(rules: &[JointRow]) -> u128 {
    rules.iter().fold(1, |likeness, rule| likeness << 16 | u128::from(rule.kind & KIND))
}

impl JointBlocks {
    /// Takes the joints over as they stand.
    pub fn lay(
        &mut self,
        joint_starts: &[u32],
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        joint_impulses: &Rows<[f32; 2], 1>,
    ) {
        let Self { blocks, rows, impulses, starts, open } = self;
        blocks.clear();
        rows.clear();
        for (color, start) in (0..COLORS).zip(starts.iter_mut()) {
            *start = blocks.len();
            open.clear();
            for &place in of_color(joint_starts, color) {
                let frame = &joint_frames[place as usize];
                let range = rows_of(frame);
                if range.is_empty() {
                    continue;
                }
                let rules = &joint_rows[range.clone()];
                let wanted = likeness(rules);
                let entry = open.iter().position(|&(likeness, ..)| likeness == wanted).unwrap_or_else(|| {
                    open.push((wanted, blocks.len(), 0));
                    blocks.push(JointBlock::neutral(rows.len(), rules.len()));
                    rows.extend(rules.iter().map(|rule| RowBlock::neutral(rule.kind & KIND)));
                    open.len() - 1
                });
                let (_, block, lane) = open[entry];
                blocks[block].set(lane, frame);
                for ((row, index), rule) in rows[blocks[block].rows()].iter_mut().zip(range).zip(rules) {
                    row.set(lane, index, rule);
                }
                if lane + 1 == WIDTH {
                    open.swap_remove(entry);
                } else {
                    open[entry].2 = lane + 1;
                }
            }
        }
        starts[COLORS] = blocks.len();
        impulses.resize(rows.len());
        for (index, row) in rows.iter().enumerate() {
            let mut lanes = VecLanes::default();
            for (lane, at) in row.joint_rows() {
                [lanes.x.0[lane], lanes.y.0[lane]] = joint_impulses.get(at);
            }
            impulses.set(index, lanes);
        }
    }

    /// Hands the impulses back.
    pub fn store(&self, joint_impulses: &Rows<[f32; 2], 1>) {
        for (index, row) in self.rows.iter().enumerate() {
            let lanes = self.impulses.get(index);
            for (lane, at) in row.joint_rows() {
                joint_impulses.set(at, [lanes.x.0[lane], lanes.y.0[lane]]);
            }
        }
    }

    /// Forgets all joints: from now on their impulses are those of the table.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.rows.clear();
        self.starts = [0; COLORS + 1];
    }

    /// Visits the blocks colour by colour, run by run. Those of one colour share no dynamic body and may be visited at the
    /// same time.
    pub fn for_each_run(&self, threads: &Threads, each: impl Fn(Run, &Rows<VecLanes, 8>) + Sync) {
        for ends in self.starts.windows(2) {
            let blocks = &self.blocks[ends[0]..ends[1]];
            threads.for_ranges(CUT, blocks.len(), |first, end| {
                each(Run { blocks: &blocks[first..end], rows: &self.rows }, &self.impulses);
            });
        }
    }

    /// All blocks, one colour after the other, and their impulses, for one thread.
    pub fn alone(&mut self) -> (Run<'_>, Alone<'_, VecLanes, 4>) {
        (Run { blocks: &self.blocks, rows: &self.rows }, self.impulses.alone())
    }
}

/// Blocks of one colour that lie side by side.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    blocks: &'a [JointBlock],
    rows: &'a [RowBlock],
}

impl<'a> Run<'a> {
    /// Each block with its rows, and which they are.
    #[inline(always)]
    pub fn blocks(self) -> impl Iterator<Item = (&'a JointBlock, &'a [RowBlock], usize)> {
        self.blocks.iter().map(move |block| (block, &self.rows[block.rows()], block.rows().start))
    }
}

/// Places of the joints of a colour.
#[must_use]
pub fn of_color(joint_starts: &[u32], color: usize) -> &[u32] {
    if joint_starts.is_empty() {
        return &[];
    }
    &joint_starts[joint_starts[color] as usize..joint_starts[JOINT_COLORS as usize + color] as usize]
}
