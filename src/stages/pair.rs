//! **pair**: the pairs of shapes whose AABBs overlap and that may touch, grouped by producer.
//!
//! Reads aabbs, shapes and the grid and what joints say; writes pair_starts (shape `i` produced contacts
//! `pair_starts[i] .. pair_starts[i + 1]`) and contacts: shapes, bodies, flags. One thread a shape; on
//! the device `pair_count`, scan, `pair_emit`.
//!
//! The producer is the shape on the finer level, or on one level the one of lower index (bands count as the level they
//! belong to): a rule that never changes for a pair, so that [`recall`](super::recall) finds last step's contact in the list of the same shape. The price is
//! that each shape looks at all of the up to nine cells around it instead of half of them.
//!
//! A level on which one shape lies, as the ground often does, needs no cells: whoever looks there looks at that one.
//!
//! Half planes are in no cell. Every dynamic shape looks at each of them, before the grid: scenes have a handful.
//!
//! Where bodies sleep (reads states and, in the counters, the levels with a shape that is awake), two that are both
//! [`ASLEEP`] make no pair, and a shape that is asleep looks for partners only where there may be one that is awake: on
//! the coarser levels that have any, and on its own if such a shape of higher index met it and marked it. So that this is
//! known the others look first; on the device `pair_count`, then `pair_count_asleep`. The producer of a pair stays the same.

use std::ops::Range;

use glam::Vec2;
use wide::f32x4;

use super::bin::{cell_index, cells_between, range_of_cells, shapes_of_levels};
use crate::scene::Ties;
use crate::threads::{HEAVY, Rows, Threads};
use crate::types::{
    ASLEEP, AWAKE_HALF_PLANE, Aabb, BROKEN, BodyState, Contact, FIXED_A, FIXED_B, FIXED_SHAPE, HALF_PLANE_ROW,
    JOINED_SHAPE, JOINT_APART, JOINT_DISABLED, Joint, JointState, MAX_LEVELS, NONE, Params, SENSOR, SENSOR_SHAPE,
    SLEEP, Shape,
};

/// A shape's row in [`World::sleepers`]: its body is asleep.
const SLEEPS: u8 = 1;
/// Likewise: a shape that is awake met it.
const MARKED: u8 = 2;

/// All that a search reads.
struct World<'a> {
    params: &'a Params,
    shapes: &'a [Shape],
    aabbs: &'a [Aabb],
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    ties: &'a Ties,
    shapes_of_levels: [Range<u32>; MAX_LEVELS],
    /// One a shape; empty where nothing sleeps.
    sleepers: Vec<u8>,
    awake_levels: u32,
}

/// What [`pair`] needs only while it runs. It is kept, so that a step need not ask for memory.
#[derive(Debug, Default)]
pub struct PairScratch {
    sleepers: Vec<u8>,
    parts: Vec<Part>,
    /// Of shapes asleep.
    late: Vec<Part>,
}

/// Fills `pair_starts` and `contacts`.
pub fn pair(
    threads: &Threads,
    params: &Params,
    shapes: &[Shape],
    aabbs: &[Aabb],
    cell_ends: &[u32],
    cell_shapes: &[u32],
    ties: &Ties,
    states: &Rows<BodyState, 4>,
    awake_levels: u32,
    pair_starts: &mut Vec<u32>,
    contacts: &mut Vec<Contact>,
    scratch: &mut PairScratch,
) {
    let PairScratch { sleepers: kept, parts, late } = scratch;
    let mut sleepers = std::mem::take(kept);
    sleepers.clear();
    if params.switches & SLEEP != 0 {
        sleepers.extend(
            shapes.iter().map(|shape| if states.get(shape.body as usize).status & ASLEEP == 0 { 0 } else { SLEEPS }),
        );
    }
    let shapes_of_levels = shapes_of_levels(params, cell_ends);
    let mut world =
        World { params, shapes, aabbs, cell_ends, cell_shapes, ties, shapes_of_levels, sleepers, awake_levels };
    if parts.is_empty() {
        parts.push(Part::default());
    }
    // What the first part finds is where it stays.
    exchange(&mut parts[0], pair_starts, contacts);
    let parts = threads.for_parts(HEAVY, shapes.len(), parts, |first, end, part| {
        if world.sleepers.is_empty() {
            world.search::<false>(first, end, |_| true, part);
        } else {
            world.search::<true>(first, end, |sleeper| sleeper == 0, part);
        }
    });
    if !world.sleepers.is_empty() {
        for part in &*parts {
            for &shape in &part.marked {
                world.sleepers[shape as usize] |= MARKED;
            }
        }
        // On the finest levels alone the marks say it all.
        let coarser = awake_levels >> params.levels[0].bands > 1;
        if coarser || parts.iter().any(|part| !part.marked.is_empty()) {
            let late = threads.for_parts(HEAVY, shapes.len(), late, |first, end, part| {
                world.search::<true>(first, end, |sleeper| sleeper != 0, part);
            });
            for (part, asleep) in parts.iter_mut().zip(late) {
                part.add(asleep);
            }
        }
    }
    if let [first, others @ ..] = parts {
        exchange(first, pair_starts, contacts);
        for part in others {
            contacts.extend_from_slice(&part.found);
            pair_starts.extend_from_slice(&part.counts);
        }
    }
    *kept = world.sleepers;
    // From how many each has to where they start.
    let mut end = 0;
    for start in &mut *pair_starts {
        let count = *start;
        *start = end;
        end += count;
    }
    pair_starts.push(end);
}

fn exchange(part: &mut Part, pair_starts: &mut Vec<u32>, contacts: &mut Vec<Contact>) {
    std::mem::swap(&mut part.counts, pair_starts);
    std::mem::swap(&mut part.found, contacts);
}

/// A contact as it begins.
#[inline]
fn fresh(index: usize, shape_b: u32, producer: &Shape, partner: &Shape) -> Contact {
    let mut flags = if producer.kind & FIXED_SHAPE != 0 { FIXED_A } else { 0 }
        | if partner.kind & FIXED_SHAPE != 0 { FIXED_B } else { 0 };
    if (producer.kind | partner.kind) & SENSOR_SHAPE != 0 {
        flags |= SENSOR;
    }
    #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
    let shape_a = index as u32;
    let (body_a, body_b) = (producer.body, partner.body);
    Contact { shape_a, shape_b, body_a, body_b, flags, color: NONE, features: 0, rolling_impulse: 0.0 }
}

/// Whether two filters let shapes meet (Box2D's rule).
#[inline]
#[must_use]
pub fn may_meet(a: &Shape, b: &Shape) -> bool {
    if a.group == b.group && a.group != 0 {
        return a.group > 0;
    }
    a.mask & b.category != 0 && b.mask & a.category != 0
}

/// Lets the bodies of a joint touch that broke or is switched off, and keeps them apart else. One thread a joint, before
/// all others (`pair_tie`), in worlds where that can change.
pub fn tie(joints: &[Joint], joint_states: &Rows<JointState, 2>, links: &mut [[u32; 2]]) {
    for (place, joint) in joints.iter().enumerate().filter(|(_, joint)| joint.flags & JOINT_APART != 0) {
        let holds = joint.flags & JOINT_DISABLED == 0 && joint_states.get(place).status & BROKEN == 0;
        links[2 * place][0] = if holds { joint.body_b } else { NONE };
        links[2 * place + 1][0] = if holds { joint.body_a } else { NONE };
    }
}

/// Whether a joint keeps two shapes from touching.
#[inline]
#[must_use]
pub fn kept_apart(ties: &Ties, a: &Shape, b: &Shape) -> bool {
    a.kind & b.kind & JOINED_SHAPE != 0 && ties.keep_apart(a.body, b.body)
}

/// Whether two AABBs overlap.
#[inline]
#[must_use]
pub fn overlap(a: &Aabb, b: &Aabb) -> bool {
    Window::new(a).meets(b)
}

/// An AABB that many others are compared with: its high corner, and its low one with the signs changed. Others, with the
/// signs of their high corner changed, must not be above: one comparison of four numbers.
#[derive(Clone, Copy)]
struct Window(f32x4);

impl Window {
    #[inline(always)]
    fn new(aabb: &Aabb) -> Self {
        let ([left, bottom], [right, top]) = (aabb.min, aabb.max);
        Self(f32x4::from([right, top, -left, -bottom]))
    }

    #[inline(always)]
    fn meets(self, other: &Aabb) -> bool {
        const SIGNS: [u32; 4] = [0, 0, 1 << 31, 1 << 31];
        let other: f32x4 = bytemuck::cast(*other);
        (other ^ bytemuck::cast::<_, f32x4>(SIGNS)).simd_le(self.0).to_bitmask() == 0xf
    }
}

/// Whether an AABB reaches the surface of a half plane, both with their margins. Axis-aligned planes round the same
/// everywhere; a tilted one may be a tie between a device that fuses products and one that does not.
#[inline]
#[must_use]
pub fn reaches(aabb: &Aabb, plane: &Aabb) -> bool {
    let normal = plane.max;
    let lowest = [
        if normal[0] > 0.0 { aabb.min[0] } else { aabb.max[0] },
        if normal[1] > 0.0 { aabb.min[1] } else { aabb.max[1] },
    ];
    // The row of a quarantined one says something else.
    plane.min[0] == HALF_PLANE_ROW as f32 && normal[0] * lowest[0] + normal[1] * lowest[1] <= plane.min[1]
}

/// What a search over a range of shapes found.
#[derive(Debug, Default)]
struct Part {
    /// Pairs of each shape of the range; none for those that were left out.
    counts: Vec<u32>,
    /// In order of the producers.
    found: Vec<Contact>,
    /// Shapes asleep that a shape awake met, which they are the producers of.
    marked: Vec<u32>,
    /// Of the shapes that are looked at, and a list that is being made.
    rows: Vec<Row>,
    merged: Vec<Contact>,
}

impl Part {
    /// Adds what was found of the shapes that were left out before, each in its place.
    fn add(&mut self, other: &Self) {
        if other.found.is_empty() {
            return;
        }
        self.merged.clear();
        self.merged.reserve(self.found.len() + other.found.len());
        let (mut own, mut others) = (&self.found[..], &other.found[..]);
        for (count, &more) in self.counts.iter_mut().zip(&other.counts) {
            for (list, count) in [(&mut own, *count), (&mut others, more)] {
                let (head, rest) = list.split_at(count as usize);
                self.merged.extend_from_slice(head);
                *list = rest;
            }
            *count += more;
        }
        std::mem::swap(&mut self.found, &mut self.merged);
    }
}

/// Shapes whose cells are looked up at once: in a large world the rows around a shape lie far apart, and the processor
/// waits for several at a time if nothing is done with them in between.
const BATCH: usize = 16;

/// Cells that lie side by side: where their shapes are in the table.
#[derive(Debug)]
struct Row {
    shapes: Range<u32>,
    /// On a level of the shape that looks.
    own_level: bool,
}

impl World<'_> {
    /// The pairs of the shapes in a range whose row in `sleepers` is `wanted`.
    fn search<const SLEEPY: bool>(&self, first: usize, end: usize, wanted: impl Fn(u8) -> bool, part: &mut Part) {
        part.counts.clear();
        part.found.clear();
        part.marked.clear();
        part.counts.reserve(end - first + 1);
        if !SLEEPY {
            part.found.reserve(4 * (end - first));
        }
        let mut batch = std::mem::take(&mut part.rows);
        for first in (first..end).step_by(BATCH) {
            let indices = first..end.min(first + BATCH);
            let mut ends = [0; BATCH];
            batch.clear();
            for (end, index) in ends.iter_mut().zip(indices.clone()) {
                if !SLEEPY || wanted(self.sleepers[index]) {
                    self.rows_of::<SLEEPY>(index, &mut batch);
                }
                *end = batch.len();
            }
            let mut start = 0;
            for (&end, index) in ends.iter().zip(indices) {
                let before = part.found.len();
                if !SLEEPY || wanted(self.sleepers[index]) {
                    self.pairs_of::<SLEEPY>(index, &batch[start..end], part);
                }
                start = end;
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                part.counts.push((part.found.len() - before) as u32);
            }
        }
        part.rows = batch;
    }

    fn half_planes_of<const SLEEPY: bool>(&self, index: usize, asleep: bool, found: &mut Vec<Contact>) {
        let shape = &self.shapes[index];
        if shape.kind & FIXED_SHAPE != 0 || (asleep && self.awake_levels & AWAKE_HALF_PLANE == 0) {
            return;
        }
        for plane in self.params.planes() {
            let partner = &self.shapes[plane as usize];
            if SLEEPY && asleep && self.sleepers[plane as usize] != 0 {
                continue;
            }
            if reaches(&self.aabbs[index], &self.aabbs[plane as usize])
                && may_meet(shape, partner)
                && !kept_apart(self.ties, shape, partner)
            {
                found.push(fresh(index, plane, shape, partner));
            }
        }
    }

    /// The rows of cells where a shape looks for partners.
    fn rows_of<const SLEEPY: bool>(&self, index: usize, rows: &mut Vec<Row>) {
        let Self { params, shapes, aabbs, cell_ends, .. } = *self;
        let shape = &shapes[index];
        let last_own = shape.level + params.levels[shape.level as usize].bands;
        let (asleep, is_marked) = self.sleep_of::<SLEEPY>(index);
        let aabb = aabbs[index];
        if aabb.min[0] > aabb.max[0] {
            return;
        }
        for level_index in shape.level..params.level_count {
            let level = &params.levels[level_index as usize];
            let own_level = level_index <= last_own;
            if asleep && (self.awake_levels >> level_index & 1 == 0 || (own_level && !is_marked)) {
                continue;
            }
            // The ground often is alone on its level: it is looked at wherever it lies.
            let there = &self.shapes_of_levels[level_index as usize];
            if there.len() < 2 {
                rows.extend((!there.is_empty()).then(|| Row { shapes: there.clone(), own_level }));
                continue;
            }
            let mut row_of = |first, last| {
                let shapes = range_of_cells(cell_ends, first, last);
                if !shapes.is_empty() {
                    rows.push(Row { shapes, own_level });
                }
            };
            // Shapes of this level reach at most half a cell from their middle.
            let reach = Vec2::from(level.half_cell);
            let [left, bottom, right, top] =
                cells_between(level, Vec2::from(aabb.min) - reach, Vec2::from(aabb.max) + reach);
            for row in bottom..=top {
                // The cells of a row lie side by side.
                let first = cell_index(level, left, row);
                let last = cell_index(level, right, row);
                if first <= last {
                    row_of(first, last);
                } else {
                    row_of(first, cell_index(level, -1, row));
                    row_of(cell_index(level, 0, row), last);
                }
            }
        }
    }

    /// Whether a shape sleeps, and whether one that is awake met it.
    fn sleep_of<const SLEEPY: bool>(&self, index: usize) -> (bool, bool) {
        let asleep = SLEEPY && self.sleepers[index] != 0;
        (asleep, asleep && self.sleepers[index] & MARKED != 0)
    }

    fn pairs_of<const SLEEPY: bool>(&self, index: usize, rows: &[Row], part: &mut Part) {
        let Self { params, shapes, aabbs, cell_shapes, ties, .. } = *self;
        let shape = &shapes[index];
        let last_own = shape.level + params.levels[shape.level as usize].bands;
        let (asleep, is_marked) = self.sleep_of::<SLEEPY>(index);
        if asleep && !is_marked && self.awake_levels >> last_own <= 1 {
            // Nobody is awake who would not have marked it, no half plane either.
            return;
        }
        let aabb = aabbs[index];
        if aabb.min[0] > aabb.max[0] {
            return;
        }
        let window = Window::new(&aabb);
        let Part { found, marked, .. } = part;
        self.half_planes_of::<SLEEPY>(index, asleep, found);
        for Row { shapes: there, own_level } in rows {
            for &other in &cell_shapes[there.start as usize..there.end as usize] {
                let other_index = other as usize;
                if SLEEPY {
                    let other_sleeps = self.sleepers[other_index] != 0;
                    if asleep && other_sleeps {
                        continue;
                    }
                    if *own_level && other_index < index {
                        if other_sleeps && window.meets(&aabbs[other_index]) {
                            marked.push(other);
                        }
                        continue;
                    }
                }
                #[allow(clippy::needless_bitwise_bool, reason = "one branch instead of two")]
                if (*own_level & (other_index <= index)) | !window.meets(&aabbs[other_index]) {
                    continue;
                }
                let partner = &shapes[other_index];
                if shape.body == partner.body
                    || shape.kind & partner.kind & FIXED_SHAPE != 0
                    || !may_meet(shape, partner)
                {
                    continue;
                }
                if kept_apart(ties, shape, partner) {
                    continue;
                }
                found.push(fresh(index, other, shape, partner));
            }
        }
    }
}
