//! Contact constraints of the CPU engine as structs of arrays: a block holds eight constraints of one colour, one per
//! SIMD lane, with the fields of [`Constraint`] and the values that the shaders derive from them.
//!
//! A sweep reads rows of eight numbers as they lie in memory, without transposing. Each colour begins with a new block;
//! unused lanes of a partly filled block move nothing. Constraints of the overflow that are not split
//! ([`Splits`](crate::stages::color::split::Splits)) are solved in order and have one block each.

use super::shares::Shares;
use crate::lanes::{self, Lanes, Select, Simd, SimdBase, VecLanes, WIDTH, f32x8, u32x8};
use crate::stages::prepare::{ConstraintPoint, ContactConstraint};
use crate::threads::{Cut, Threads};
use crate::types::{COLOR_COUNT, Constraint, Counters, FIXED_A, FIXED_B, OVERFLOW_COLOR, POINT_COUNT_MASK, Rebound};
use bytemuck::{Pod, Zeroable};

/// Granularity at which a colour is shared among threads. A block takes about 60 ns.
const CUT: Cut = Cut { unit: 8, least: 128 };

/// Eight constraints, one per lane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Block {
    /// Indices of bodies A, as [`Constraint::body_a`].
    pub body_a: [u32; WIDTH],
    /// Indices of bodies B, as [`Constraint::body_b`].
    pub body_b: [u32; WIDTH],
    /// Flags, as [`Constraint::flags`]; an unused lane has both bodies fixed and no point.
    pub flags: [u32; WIDTH],
    /// Normals, as [`Constraint::normal`].
    pub normal: VecLanes,
    /// Inverse masses of bodies A, as [`Constraint::inv_mass_a`].
    pub inv_mass_a: Lanes,
    /// Inverse inertias of bodies A, as [`Constraint::inv_inertia_a`].
    pub inv_inertia_a: Lanes,
    /// Inverse masses of bodies B, as [`Constraint::inv_mass_b`].
    pub inv_mass_b: Lanes,
    /// Inverse inertias of bodies B, as [`Constraint::inv_inertia_b`].
    pub inv_inertia_b: Lanes,
    /// Friction coefficients, as [`Constraint::friction`].
    pub friction: Lanes,
    /// Contact points. Missing points are zero and take no impulse.
    pub points: [Point; 2],
}

/// Contact point of each of eight constraints.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Point {
    /// Arms on A: [`ConstraintPoint::r_a`].
    pub r_a: VecLanes,
    /// Arms on B: [`ConstraintPoint::r_b`].
    pub r_b: VecLanes,
    /// Separations: [`ConstraintPoint::separation`].
    pub separation: Lanes,
    /// Masses along the normal: [`ConstraintPoint::normal_mass`].
    pub normal_mass: Lanes,
    /// Masses along the tangent: [`ConstraintPoint::tangent_mass`].
    pub tangent_mass: Lanes,
    /// Accumulated normal impulses, as in [`Constraint::impulses`].
    pub normal_impulse: Lanes,
    /// Accumulated friction impulses, as in [`Constraint::impulses`].
    pub tangent_impulse: Lanes,
    /// Measured separations, as in [`Constraint::measured`].
    pub measured: Lanes,
}

/// Restitution data of eight constraints. Only worlds in which something bounces have it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Bounce {
    /// Restitution coefficients, as [`Rebound::restitution`].
    pub restitution: Lanes,
    /// Sums of radii, as [`Rebound::radii`].
    pub radii: Lanes,
    /// Accelerations, as [`Rebound::acceleration`].
    pub acceleration: VecLanes,
    /// Vectors between centres, as [`Rebound::between`].
    pub between: VecLanes,
    /// Radii of A, as [`Rebound::radius_a`].
    pub radius_a: Lanes,
    /// Impulses of impacts, as [`Rebound::impulses`].
    pub impulses: [Lanes; 4],
}

/// Rows of eight numbers in a [`Block`]; the first three are integers.
const ROWS: usize = 10 + 2 * POINT_ROWS;
/// Rows of eight numbers in a [`Point`].
const POINT_ROWS: usize = 10;
/// Rows of eight numbers in a [`Bounce`].
const BOUNCE_ROWS: usize = 11;

impl Block {
    /// Returns a block that moves nothing.
    #[must_use]
    pub fn neutral() -> Self {
        Self { flags: [FIXED_A | FIXED_B; WIDTH], ..Self::zeroed() }
    }

    /// Writes one lane.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, c: &ContactConstraint) {
        self.body_a[lane] = c.body_a;
        self.body_b[lane] = c.body_b;
        self.flags[lane] = c.flags;
        let point = |end: usize| {
            let p = &c.points[end];
            let row = [p.r_a[0], p.r_a[1], p.r_b[0], p.r_b[1], p.separation, p.normal_mass, p.tangent_mass];
            (row, [c.impulses[2 * end], c.impulses[2 * end + 1], c.measured[end]])
        };
        let head = [c.normal[0], c.normal[1], c.inv_mass_a, c.inv_inertia_a, c.inv_mass_b, c.inv_inertia_b, c.friction];
        let rows: &mut [[f32; WIDTH]; ROWS] = bytemuck::cast_mut(self);
        for (row, value) in rows[3..10].iter_mut().zip(head) {
            row[lane] = value;
        }
        for (end, rows) in rows[10..].chunks_exact_mut(POINT_ROWS).enumerate() {
            let (fixed, changing) = point(end);
            for (row, value) in rows.iter_mut().zip(fixed.into_iter().chain(changing)) {
                row[lane] = value;
            }
        }
    }

    /// Computes the effective masses of all points: [`ContactConstraint::find_masses`], with one division for eight
    /// lanes.
    #[inline(always)]
    pub fn find_masses<S: Simd>(&mut self, simd: S) {
        let normal = self.normal.on(simd);
        let inv = [&self.inv_mass_a, &self.inv_inertia_a, &self.inv_mass_b, &self.inv_inertia_b];
        let inv = inv.map(|lanes| lanes.on(simd));
        let tangent = lanes::right_perp(normal);
        let (counts, zero) = (u32x8::load_array(simd, self.flags) & POINT_COUNT_MASK, f32x8::splat(simd, 0.0));
        for (end, point) in (0..).zip(&mut self.points) {
            // A missing point takes no impulse.
            let there = counts.simd_gt(end);
            let (r_a, r_b) = (point.r_a.on(simd), point.r_b.on(simd));
            point.normal_mass.put(there.select(lanes::effective_mass(inv, r_a, r_b, normal), zero));
            point.tangent_mass.put(there.select(lanes::effective_mass(inv, r_a, r_b, tangent), zero));
        }
    }

    /// Reads one lane. The restitution data, which are in [`Bounce`], are 0.
    #[must_use]
    pub fn get(&self, lane: usize) -> ContactConstraint {
        let rows: &[[f32; WIDTH]; ROWS] = bytemuck::cast_ref(self);
        let at = |row: usize| rows[row][lane];
        let point = |end: usize| {
            let first = 10 + POINT_ROWS * end;
            let at = |row: usize| at(first + row);
            ConstraintPoint {
                r_a: [at(0), at(1)],
                r_b: [at(2), at(3)],
                separation: at(4),
                normal_mass: at(5),
                tangent_mass: at(6),
            }
        };
        ContactConstraint {
            body_a: self.body_a[lane],
            body_b: self.body_b[lane],
            flags: self.flags[lane],
            normal: [at(3), at(4)],
            inv_mass_a: at(5),
            inv_inertia_a: at(6),
            inv_mass_b: at(7),
            inv_inertia_b: at(8),
            friction: at(9),
            points: [point(0), point(1)],
            impulses: self.impulses(lane),
            measured: [at(19), at(29)],
            rebound: Rebound::default(),
        }
    }

    /// Returns the impulses of one lane, as [`Constraint::impulses`].
    #[inline(always)]
    #[must_use]
    pub fn impulses(&self, lane: usize) -> [f32; 4] {
        let rows: &[[f32; WIDTH]; ROWS] = bytemuck::cast_ref(self);
        [rows[17][lane], rows[18][lane], rows[27][lane], rows[28][lane]]
    }

    /// Returns the inverse masses of the bodies of one lane.
    #[inline(always)]
    #[must_use]
    pub fn inv_masses(&self, lane: usize) -> [f32; 2] {
        [self.inv_mass_a.0[lane], self.inv_mass_b.0[lane]]
    }
}

impl Bounce {
    /// Writes one lane.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, rebound: &Rebound) {
        let Rebound { restitution, radii, acceleration, between, radius_a, impulses, .. } = *rebound;
        let values = [restitution, radii, acceleration[0], acceleration[1], between[0], between[1], radius_a];
        let rows: &mut [[f32; WIDTH]; BOUNCE_ROWS] = bytemuck::cast_mut(self);
        for (row, value) in rows.iter_mut().zip(values.into_iter().chain(impulses)) {
            row[lane] = value;
        }
    }

    /// Reads one lane.
    #[must_use]
    pub fn get(&self, lane: usize) -> Rebound {
        let rows: &[[f32; WIDTH]; BOUNCE_ROWS] = bytemuck::cast_ref(self);
        let at = |row: usize| rows[row][lane];
        Rebound {
            restitution: at(0),
            radii: at(1),
            acceleration: [at(2), at(3)],
            between: [at(4), at(5)],
            radius_a: at(6),
            pad: 0,
            impulses: self.impulses(lane),
        }
    }

    /// Returns the impulses of one lane, as [`Rebound::impulses`].
    #[inline(always)]
    #[must_use]
    pub fn impulses(&self, lane: usize) -> [f32; 4] {
        let rows: &[[f32; WIDTH]; BOUNCE_ROWS] = bytemuck::cast_ref(self);
        [rows[7][lane], rows[8][lane], rows[9][lane], rows[10][lane]]
    }
}

/// Constraint blocks of a step.
#[derive(Clone, Debug)]
pub struct Blocks {
    all: Vec<Block>,
    /// Restitution data of each block; empty if nothing bounces.
    bounces: Vec<Bounce>,
    places: BlockPlaces,
    /// Groups that have blocks, as bits. Small worlds use a few, and make many sweeps.
    used: u64,
}

/// Places of constraints in the blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockPlaces {
    /// Blocks of group `g` are `starts[g] .. starts[g + 1]`.
    starts: [usize; GROUPS + 1],
    /// Number of constraints that are split.
    split: usize,
}

/// Number of groups of blocks: one a colour, and two for the overflow.
pub const GROUPS: usize = COLOR_COUNT as usize + 1;
/// Group of the constraints of the overflow that are split.
pub const SPLIT_GROUP: usize = OVERFLOW_COLOR as usize;
/// Group of the other constraints of the overflow, which are solved in order.
pub const ORDERED_GROUP: usize = SPLIT_GROUP + 1;

/// Returns the first group of a colour.
#[inline(always)]
fn group_of(color: usize) -> usize {
    color + usize::from(color > SPLIT_GROUP)
}

/// Returns the number of constraints in a block of a group.
#[inline(always)]
fn width(group: usize) -> usize {
    if group == ORDERED_GROUP { 1 } else { WIDTH }
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            bounces: Vec::new(),
            places: BlockPlaces { starts: [0; GROUPS + 1], split: 0 },
            used: 0,
        }
    }
}

/// Returns the indices of the bits that are set, in ascending order.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then_some(mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lowest
    })
}

impl Blocks {
    /// Allocates blocks for the number of constraints of each colour, of which `split` in the overflow are split, and
    /// clears those that will not be full.
    pub fn build(&mut self, counters: &Counters, split: usize, bounces: bool) {
        let mut end = 0;
        self.used = 0;
        let BlockPlaces { starts, split: kept } = &mut self.places;
        *kept = split;
        for (group, start) in starts[..GROUPS].iter_mut().enumerate() {
            *start = end;
            let size = group_size(counters, split, group);
            if size > 0 {
                self.used |= 1 << group;
                end += size.div_ceil(width(group));
            }
        }
        starts[GROUPS] = end;
        self.all.resize(end, Block::neutral());
        self.bounces.resize(if bounces { end } else { 0 }, Bounce::zeroed());
        for group in bits(self.used) {
            let (start, end) = (starts[group], starts[group + 1]);
            let is_ordered = group == ORDERED_GROUP;
            if is_ordered || !group_size(counters, split, group).is_multiple_of(WIDTH) {
                let whole = if is_ordered { start } else { end - 1 };
                self.all[whole..end].fill(Block::neutral());
                if bounces {
                    self.bounces[whole..end].fill(Bounce::zeroed());
                }
            }
        }
    }

    /// Returns the places of the constraints.
    #[inline(always)]
    #[must_use]
    pub fn places(&self) -> &BlockPlaces {
        &self.places
    }

    /// Writes a colour's constraint number `rank`.
    #[inline(always)]
    pub fn set(&mut self, color: usize, rank: usize, constraint: &ContactConstraint) {
        let (block, lane) = self.places.place(color, rank);
        self.all[block].set(lane, constraint);
        if let Some(bounce) = self.bounces.get_mut(block) {
            bounce.set(lane, &constraint.rebound);
        }
    }

    /// Returns a block, if it exists.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, block: usize) -> Option<&Block> {
        self.all.get(block)
    }

    /// Returns the impulses of the impacts of a block's lane, if its world bounces.
    #[inline(always)]
    #[must_use]
    pub fn impact_impulses(&self, block: usize, lane: usize) -> Option<[f32; 4]> {
        self.bounces.get(block).map(|bounce| bounce.impulses(lane))
    }

    /// Returns all blocks, and their restitution data.
    pub fn parts(&mut self) -> (&mut [Block], &mut [Bounce]) {
        (&mut self.all, &mut self.bounces)
    }

    /// Returns a sweep over the blocks that shares each colour among threads.
    pub fn by<'a>(&'a mut self, threads: &'a Threads, counters: &'a Counters, shares: Shares<'a>) -> ContactSweep<'a> {
        ContactSweep { blocks: self, threads, counters, shares }
    }

    /// Replaces the constraints by these, which are in colour order.
    pub(crate) fn load(&mut self, counters: &Counters, split: usize, constraints: &[Constraint], rebounds: &[Rebound]) {
        self.build(counters, split, !rebounds.is_empty());
        for color in 0..COLOR_COUNT {
            let first = counters.color_starts[color as usize] as usize;
            for rank in 0..counters.color_size(color) as usize {
                let Some(constraint) = constraints.get(first + rank) else { return };
                let rebound = rebounds.get(first + rank).copied().unwrap_or_default();
                self.set(color as usize, rank, &ContactConstraint::from_device(constraint, rebound));
            }
        }
    }

    /// Returns the constraints in colour order, and their restitution data.
    pub(crate) fn to_vec(&self, counters: &Counters) -> (Vec<Constraint>, Vec<Rebound>) {
        let (mut constraints, mut rebounds) = (Vec::new(), Vec::new());
        for color in 0..COLOR_COUNT {
            for rank in 0..counters.color_size(color) as usize {
                let (block, lane) = self.places.place(color as usize, rank);
                let Some(from) = self.all.get(block) else { break };
                constraints.push(from.get(lane).constraint());
                rebounds.extend(self.bounces.get(block).map(|bounce| bounce.get(lane)));
            }
        }
        (constraints, rebounds)
    }
}

impl BlockPlaces {
    /// Returns the block of a colour's constraint number `rank`, and its lane.
    #[inline(always)]
    #[must_use]
    pub fn place(&self, color: usize, rank: usize) -> (usize, usize) {
        if color == SPLIT_GROUP && rank >= self.split {
            return (self.starts[ORDERED_GROUP] + rank - self.split, 0);
        }
        (self.starts[group_of(color)] + rank / WIDTH, rank % WIDTH)
    }

    /// Returns the blocks of a colour.
    #[inline(always)]
    #[must_use]
    pub fn of_color(&self, color: usize) -> std::ops::Range<usize> {
        self.starts[group_of(color)]..self.starts[group_of(color + 1)]
    }

    /// Returns the number of a colour's constraint that is the first of a block.
    #[inline(always)]
    #[must_use]
    pub fn first_rank(&self, color: usize, block: usize) -> usize {
        if color == SPLIT_GROUP && block >= self.starts[ORDERED_GROUP] {
            return self.split + (block - self.starts[ORDERED_GROUP]);
        }
        (block - self.starts[group_of(color)]) * WIDTH
    }
}

/// Returns the number of constraints of a group.
fn group_size(counters: &Counters, split: usize, group: usize) -> usize {
    let size = |color: usize| (counters.color_starts[color + 1] - counters.color_starts[color]) as usize;
    match group {
        SPLIT_GROUP => split,
        ORDERED_GROUP => size(SPLIT_GROUP) - split,
        _ => size(group - usize::from(group > SPLIT_GROUP)),
    }
}

/// Way to visit all constraint blocks, colour by colour.
pub trait Visit {
    /// Visits all blocks, batch by batch and colour by colour. Blocks of one colour share no dynamic body and may be
    /// visited in parallel; so may those of the overflow that are split, between handing out and
    /// merging the shares; its others are visited in order.
    fn visit_batches(&mut self, each: impl Fn(ContactBatch) + Sync);

    /// Visits all blocks one by one, each with the slot of its first constraint.
    fn visit(&mut self, each: impl Fn(usize, &mut Block, Option<&mut Bounce>) + Sync) {
        self.visit_batches(|batch| {
            for (slot, block, bounce) in batch.blocks() {
                each(slot, block, bounce);
            }
        });
    }
}

/// Adjacent blocks of one colour.
#[derive(Debug)]
pub struct ContactBatch<'a> {
    /// Slot of the first constraint.
    pub slot: usize,
    /// Number of constraints in a block.
    pub width: usize,
    /// Blocks of the batch.
    pub blocks: &'a mut [Block],
    /// Restitution data of each block; empty if nothing bounces.
    pub bounces: &'a mut [Bounce],
}

impl<'a> ContactBatch<'a> {
    /// Splits off the first blocks, at most `count`.
    #[must_use]
    pub fn take_first(&mut self, count: usize) -> Self {
        let count = count.min(self.blocks.len());
        let first = ContactBatch {
            slot: self.slot,
            width: self.width,
            blocks: self.blocks.split_off_mut(..count).unwrap_or_default(),
            bounces: self.bounces.split_off_mut(..count.min(self.bounces.len())).unwrap_or_default(),
        };
        self.slot += count * self.width;
        first
    }

    /// Returns each block with the slot of its first constraint, and its restitution data.
    #[inline(always)]
    pub fn blocks(self) -> impl Iterator<Item = (usize, &'a mut Block, Option<&'a mut Bounce>)> {
        let Self { slot, width, blocks, bounces } = self;
        let mut bounces = bounces.iter_mut();
        blocks.iter_mut().enumerate().map(move |(index, block)| (slot + index * width, block, bounces.next()))
    }
}

impl Blocks {
    /// Returns the batch of each group that has blocks, in ascending order of the colours.
    #[inline]
    pub fn batches<'a>(&'a mut self, counters: &Counters) -> impl Iterator<Item = (usize, ContactBatch<'a>)> {
        let Self { all, bounces, places: BlockPlaces { starts, split }, used } = self;
        let (mut all, mut bounces) = (&mut all[..], &mut bounces[..]);
        bits(*used).map(move |group| {
            let count = starts[group + 1] - starts[group];
            let bounce_count = count.min(bounces.len());
            let color = group - usize::from(group > SPLIT_GROUP);
            let batch = ContactBatch {
                slot: counters.color_starts[color] as usize + if group == ORDERED_GROUP { *split } else { 0 },
                width: width(group),
                blocks: all.split_off_mut(..count).unwrap_or_default(),
                bounces: bounces.split_off_mut(..bounce_count).unwrap_or_default(),
            };
            (group, batch)
        })
    }
}

/// All blocks, and the threads that share each colour.
#[derive(Debug)]
pub struct ContactSweep<'a> {
    blocks: &'a mut Blocks,
    threads: &'a Threads,
    counters: &'a Counters,
    shares: Shares<'a>,
}

impl Visit for ContactSweep<'_> {
    fn visit_batches(&mut self, each: impl Fn(ContactBatch) + Sync) {
        let alone = Threads::default();
        for (group, batch) in self.blocks.batches(self.counters) {
            let ContactBatch { slot, width, blocks, bounces } = batch;
            let threads = if group == ORDERED_GROUP { &alone } else { self.threads };
            if group == SPLIT_GROUP {
                self.shares.hand_out();
            }
            if bounces.is_empty() {
                threads.for_chunks(CUT, blocks, |start, blocks| {
                    each(ContactBatch { slot: slot + start * width, width, blocks, bounces: &mut [] });
                });
            } else {
                threads.for_chunk_pairs(CUT, blocks, bounces, |start, blocks, bounces| {
                    each(ContactBatch { slot: slot + start * width, width, blocks, bounces });
                });
            }
            if group == SPLIT_GROUP {
                self.shares.merge();
            }
        }
    }
}
