//! Finds the pairs of shapes whose AABBs overlap, comparing eight boxes at a time, with shapes shared among threads;
//! the fast form of [`crate::stages::pair`], to the same pairs in the same order. If boxes moved little, a neighbor
//! list replaces the grid ([`neighbor_list`]).
//!
//! A level with few shapes, as those of ground and walls often are, needs no cells: a search there tests all of them.

pub mod neighbor_list;

pub use crate::cancel::TooMany;

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

use super::bin::{cells_between, place_in_window, shapes_of_levels};
use crate::cancel::{ContactBudget, Tally};
use crate::cpu::{BodyTables, ContactTables, GridTables};
use crate::lanes::{Simd, SimdBase, SimdMask, dispatch, f32x4, f32x8};
use crate::scene::{Compiled, PairExclusions};
use crate::stages::bin::{range_of_cells, runs_of_row};
use crate::stages::pair::{
    emit_contact, has_fixed, kept_apart, look_ahead, may_meet, overlap, produces, reaches, search_box,
};
use crate::threads::{HEAVY, LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, AWAKE_HALF_PLANE, Aabb, BodyMotion, BodyState, Contact, FIXED_SHAPE, MAX_LEVELS, Params, SLEEP, ShapeData,
};

/// Value in [`PairTables::sleepers`]: the shape's body is asleep.
const SLEEPS: u8 = 1;
/// Value in [`PairTables::sleepers`]: an awake shape met this one.
const MARKED: u8 = 2;

/// Tables that a search reads.
struct PairTables<'a> {
    params: &'a Params,
    shapes: &'a [ShapeData],
    aabbs: &'a [Aabb],
    /// Motion of each body; empty if no shape looks ahead.
    motions: &'a [BodyMotion],
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    own_cells: &'a [u32],
    /// Boxes in the order of `cell_shapes`, and some padding.
    boxes: &'a [Box],
    exclusions: &'a PairExclusions,
    shapes_of_levels: [Range<u32>; MAX_LEVELS],
    /// Reach of the shapes of each level ([`reaches_of`]).
    reaches: [[Vec2; 2]; MAX_LEVELS],
    /// True if half planes are searched; true if joints may exclude pairs.
    half_planes: bool,
    joints: bool,
    /// Sleep state of each shape; empty if sleeping is off.
    sleepers: Vec<u8>,
    awake_levels: u32,
}

/// Memory of [`pair`]. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct PairScratch {
    boxes: Vec<Box>,
    sleepers: Vec<u8>,
    parts: Vec<FoundPairs>,
    /// Results of the search for sleeping shapes.
    late: Vec<FoundPairs>,
}

/// Fills the contacts of `current`, and where those of each producer start.
///
/// # Errors
/// If there are more than `limit`; then the tables are empty. Contacts are counted while they are found, so that no
/// more memory than that is needed. If the step is cancelled meanwhile, the tables are invalid.
pub fn pair(
    threads: &Threads,
    compiled: &Compiled,
    bodies: &BodyTables,
    grid: &GridTables,
    awake_levels: u32,
    current: &mut ContactTables,
    limit: usize,
    scratch: &mut PairScratch,
) -> Result<(), TooMany> {
    let Compiled { params, shapes, joints, .. } = compiled;
    let BodyTables { states, motions, look_ahead, .. } = bodies;
    let GridTables { aabbs, own_cells, cell_ends, cell_shapes } = grid;
    let ContactTables { pair_starts, contacts, .. } = current;
    let PairScratch { boxes, sleepers: kept, parts, late } = scratch;
    lay_boxes(threads, aabbs, cell_shapes, boxes);
    let sleepers = find_sleepers(params, shapes, states, std::mem::take(kept));
    let shapes_of_levels = shapes_of_levels(params, cell_ends);
    let mut world = PairTables {
        params,
        shapes,
        aabbs,
        motions: if *look_ahead { motions } else { &[] },
        cell_ends,
        cell_shapes,
        own_cells,
        boxes,
        exclusions: &joints.exclusions,
        shapes_of_levels,
        reaches: reaches_of(params),
        half_planes: true,
        joints: true,
        sleepers,
        awake_levels,
    };
    lend(parts, pair_starts, contacts);
    let budget = ContactBudget::new(threads.latch(), limit);
    let parts = threads.for_parts(HEAVY, shapes.len(), parts, |first, end, part| {
        dispatch!(simd => if world.sleepers.is_empty() {
            world.search::<false, _>(simd, first, end, |_| true, &budget, part);
        } else {
            world.search::<true, _>(simd, first, end, |sleeper| sleeper == 0, &budget, part);
        });
    });
    let mut outcome = budget.outcome();
    if !world.sleepers.is_empty() && outcome.is_ok() {
        outcome = world.search_sleepers(threads, limit, parts, late);
    }
    let outcome = gather(parts, outcome, pair_starts, contacts);
    *kept = world.sleepers;
    outcome
}

/// Returns [`SLEEPS`] for each shape that sleeps, else 0; nothing where bodies do not sleep. Uses the memory of
/// `sleepers`.
fn find_sleepers(params: &Params, shapes: &[ShapeData], states: &Rows<BodyState, 4>, mut sleepers: Vec<u8>) -> Vec<u8> {
    sleepers.clear();
    if params.switches & SLEEP != 0 {
        sleepers.extend(
            shapes.iter().map(|shape| if states.get(shape.body as usize).status & ASLEEP == 0 { 0 } else { SLEEPS }),
        );
    }
    sleepers
}

/// Lends the tables to the first part, so that its results need not be copied.
fn lend(parts: &mut Vec<FoundPairs>, pair_starts: &mut Vec<u32>, contacts: &mut Vec<Contact>) {
    if parts.is_empty() {
        parts.push(FoundPairs::default());
    }
    exchange(&mut parts[0], pair_starts, contacts);
}

/// Concatenates the results of the parts, of which the first has the memory of `contacts`. If there were too many
/// contacts, frees all memory.
fn gather(
    parts: &mut [FoundPairs],
    outcome: Result<(), TooMany>,
    pair_starts: &mut Vec<u32>,
    contacts: &mut Vec<Contact>,
) -> Result<(), TooMany> {
    if outcome.is_err() {
        parts.iter_mut().for_each(FoundPairs::free);
        (*pair_starts, *contacts) = (Vec::new(), Vec::new());
        return outcome;
    }
    if let [first, others @ ..] = parts {
        exchange(first, pair_starts, contacts);
        for part in others {
            contacts.extend_from_slice(&part.found);
            pair_starts.extend_from_slice(&part.counts);
        }
    }
    // From counts to starts.
    let mut end = 0;
    for start in &mut *pair_starts {
        let count = *start;
        *start = end;
        end += count;
    }
    pair_starts.push(end);
    outcome
}

/// Returns how far the shapes of each level reach from their middle, to the lower left and to the upper right: half a
/// cell, m.
fn reaches_of(params: &Params) -> [[Vec2; 2]; MAX_LEVELS] {
    params.levels.map(|level| [level.half_cell.into(); 2])
}

/// Fills `boxes` with the AABBs in the order of cells, so that those of a row are contiguous.
fn lay_boxes(threads: &Threads, aabbs: &[Aabb], cell_shapes: &[u32], boxes: &mut Vec<Box>) {
    boxes.resize(cell_shapes.len() + 7, Box::NOWHERE);
    let (there, behind) = boxes.split_at_mut(cell_shapes.len());
    threads.for_each(LIGHT, there, |place, to| *to = Box::new(&aabbs[cell_shapes[place] as usize]));
    behind.fill(Box::NOWHERE);
}

fn exchange(part: &mut FoundPairs, pair_starts: &mut Vec<u32>, contacts: &mut Vec<Contact>) {
    std::mem::swap(&mut part.counts, pair_starts);
    std::mem::swap(&mut part.found, contacts);
}

/// AABB prepared for comparison: the lower corner, and the negated upper one.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Box([f32; 4]);

impl Box {
    /// Box that overlaps nothing.
    const NOWHERE: Self = Self([f32::INFINITY; 4]);

    fn new(aabb: &Aabb) -> Self {
        let ([left, bottom], [right, top]) = (aabb.min, aabb.max);
        Self([left, bottom, -right, -top])
    }

    /// Returns the bounds that no side of an overlapping box exceeds.
    #[inline(always)]
    fn window<S: Simd>(self, simd: S) -> f32x4<S> {
        let [left, bottom, minus_right, minus_top] = self.0;
        -f32x4::load_array(simd, [minus_right, minus_top, left, bottom])
    }
}

/// AABB prepared to be compared with two boxes at a time: its upper corner and its negated lower one, twice. All sides
/// of an overlapping [`Box`] are at or below these.
#[derive(Clone, Copy)]
struct Window<S: Simd>(f32x8<S>);

impl<S: Simd> Window<S> {
    #[inline(always)]
    fn new(simd: S, aabb: &Aabb) -> Self {
        Self(f32x8::block_splat(Box::new(aabb).window(simd)))
    }

    /// Calls `visit(place)` for each box in a range that overlaps. There must be seven more behind the last.
    #[inline(always)]
    fn for_each_met(self, boxes: &[Box], range: Range<u32>, mut visit: impl FnMut(u32)) {
        for first in range.clone().step_by(8) {
            let Some(eight) = boxes[first as usize..].first_chunk() else { return };
            let mut met = self.meets(eight);
            if range.end - first < 8 {
                met &= (1 << (4 * (range.end - first))) - 1;
            }
            while met != 0 {
                visit(first + met.trailing_zeros() / 4);
                met &= met - 1;
            }
        }
    }

    /// Returns the overlapping ones of eight boxes: bit `4 i` for box `i`.
    #[inline(always)]
    fn meets(self, boxes: &[Box; 8]) -> u32 {
        let boxes: &[[f32; 8]; 4] = bytemuck::cast_ref(boxes);
        #[allow(clippy::cast_possible_truncation, reason = "eight bits")]
        let below = |two: usize| f32x8::load_array_ref(self.0.simd, &boxes[two]).simd_le(self.0).to_bitmask() as u32;
        let below = below(0) | below(1) << 8 | below(2) << 16 | below(3) << 24;
        // All four comparisons of a box.
        let two = below & below >> 1;
        two & two >> 2 & 0x1111_1111
    }
}

/// Results of a search over a range of shapes.
#[derive(Debug, Default)]
struct FoundPairs {
    /// Number of pairs of each shape of the range; 0 for shapes that were skipped.
    counts: Vec<u32>,
    /// Contacts, in the order of their producers.
    found: Vec<Contact>,
    /// Sleeping shapes that an awake shape met and that are the producers of these pairs.
    marked: Vec<u32>,
    /// Grid rows of the shapes that are examined, and the buffer of [`FoundPairs::add`].
    rows: Vec<CellRow>,
    merged: Vec<Contact>,
    /// Sort keys of a shape's contacts.
    keys: Vec<u64>,
}

impl FoundPairs {
    /// Clears the results and frees their memory.
    fn free(&mut self) {
        (self.counts, self.found, self.marked, self.merged) = Default::default();
    }

    /// Inserts the results for shapes that were skipped before, each at its place.
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

/// Number of shapes whose cells are looked up at once: in a large world the rows around a shape are far apart in
/// memory, and the processor overlaps several cache misses if nothing depends on them in between.
const BATCH: usize = 16;

/// Number of shapes on a level up to which all are tested, without a search of cells: as many as one comparison takes.
const FEW: usize = 8;

/// Number of shapes of a row between two tests whether the search must end.
const STRETCH: u32 = 1024;

/// Adjacent cells of a row: the range of their shapes in the table.
#[derive(Debug)]
struct CellRow {
    shapes: Range<u32>,
    /// True if fixed shapes lie on its level.
    has_fixed: bool,
    /// True on a level of the searching shape.
    own_level: bool,
    /// True if this is a whole level: its shapes are not in the order in which a search of the cells would find them.
    whole: bool,
}

/// Returns the box in which a shape looks for fixed shapes. `motions` is empty if no shape looks ahead.
#[inline(always)]
fn ahead_of(params: &Params, motions: &[BodyMotion], shape: &ShapeData, aabb: &Aabb) -> Aabb {
    match motions.get(shape.body as usize) {
        Some(motion) => look_ahead(params, shape, motion, aabb),
        None => *aabb,
    }
}

/// Finds the pairs of a shape with half planes.
fn half_planes_of(
    params: &Params,
    shapes: &[ShapeData],
    aabbs: &[Aabb],
    ahead: &Aabb,
    exclusions: &PairExclusions,
    index: usize,
    wanted: impl Fn(u32) -> bool,
    found: &mut Vec<Contact>,
) {
    for plane in params.planes().filter(|&plane| wanted(plane)) {
        let (shape, partner) = (&shapes[index], &shapes[plane as usize]);
        if shape.body != partner.body
            && reaches(ahead, &aabbs[plane as usize])
            && may_meet(shape, partner)
            && !kept_apart(exclusions, shape, partner)
        {
            found.push(emit_contact(shapes, index, plane as usize));
        }
    }
}

/// Outcome of a meeting of two shapes whose boxes overlap.
enum Meeting {
    Nothing,
    /// An awake shape has met a sleeping one, whose pairs are searched later.
    Mark,
    Pair,
}

impl PairTables<'_> {
    /// Finds the pairs of the shapes in a range whose value in `sleepers` is `wanted`.
    #[inline(always)]
    fn search<const SLEEPY: bool, S: Simd>(
        &self,
        simd: S,
        first: usize,
        end: usize,
        wanted: impl Fn(u8) -> bool,
        budget: &ContactBudget,
        part: &mut FoundPairs,
    ) {
        let mut tally = Tally::new(budget);
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
                    self.rows_of::<SLEEPY, _>(simd, index, &mut batch);
                }
                *end = batch.len();
            }
            let mut start = 0;
            for (&end, index) in ends.iter().zip(indices) {
                let before = part.found.len();
                if (!SLEEPY || wanted(self.sleepers[index]))
                    && !self.pairs_of::<SLEEPY, _>(simd, index, &batch[start..end], &mut tally, part)
                {
                    part.rows = batch;
                    return;
                }
                start = end;
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                part.counts.push((part.found.len() - before) as u32);
            }
        }
        part.rows = batch;
        tally.tell(part.found.len() + part.marked.len());
    }

    /// Returns the box in which a shape looks for fixed shapes.
    #[inline(always)]
    fn ahead(&self, index: usize) -> Aabb {
        ahead_of(self.params, self.motions, &self.shapes[index], &self.aabbs[index])
    }

    fn half_planes_of<const SLEEPY: bool>(&self, index: usize, ahead: &Aabb, asleep: bool, found: &mut Vec<Contact>) {
        if asleep && self.awake_levels & AWAKE_HALF_PLANE == 0 {
            return;
        }
        let wanted = |plane| !(SLEEPY && asleep && self.sleepers[plane as usize] != 0);
        half_planes_of(self.params, self.shapes, self.aabbs, ahead, self.exclusions, index, wanted, found);
    }

    /// Collects the rows of cells in which a shape looks for partners.
    #[inline(always)]
    fn rows_of<const SLEEPY: bool, S: Simd>(&self, simd: S, index: usize, rows: &mut Vec<CellRow>) {
        let Self { params, shapes, aabbs, cell_ends, .. } = *self;
        let shape = &shapes[index];
        let last_own = shape.level + params.levels[shape.level as usize].bands;
        let (asleep, is_marked) = self.sleep_of::<SLEEPY>(index);
        if !aabbs[index].has_room() {
            return;
        }
        let ahead = self.ahead(index);
        for level_index in shape.level..params.level_count {
            let level = &params.levels[level_index as usize];
            let own_level = level_index <= last_own;
            let has_fixed = has_fixed(params, level_index);
            if asleep && (self.awake_levels >> level_index & 1 == 0 || (own_level && !is_marked)) {
                continue;
            }
            // Often the ground and the walls are the only shapes on their level.
            let there = &self.shapes_of_levels[level_index as usize];
            if there.len() <= FEW {
                let row = || CellRow { shapes: there.clone(), has_fixed, own_level, whole: true };
                rows.extend((!there.is_empty()).then(row));
                continue;
            }
            let mut row_of = |first, last| {
                let shapes = range_of_cells(cell_ends, first, last);
                if !shapes.is_empty() {
                    rows.push(CellRow { shapes, has_fixed, own_level, whole: false });
                }
            };
            let [left, bottom, right, top] = window_of(
                simd,
                params,
                &self.reaches,
                level_index as usize,
                search_box(params, level_index, &aabbs[index], &ahead),
            );
            for row in bottom..=top {
                runs_of_row(level, left, right, row, &mut row_of);
            }
        }
    }

    /// Searches for the sleeping shapes that awake ones have met, and adds the pairs to `parts`. `late` is memory for
    /// it.
    ///
    /// # Errors
    /// If there are more pairs than `limit`.
    fn search_sleepers(
        &mut self,
        threads: &Threads,
        limit: usize,
        parts: &mut [FoundPairs],
        late: &mut Vec<FoundPairs>,
    ) -> Result<(), TooMany> {
        for part in &*parts {
            for &shape in &part.marked {
                self.sleepers[shape as usize] |= MARKED;
            }
        }
        // On the finest levels the marks tell all.
        let coarser = self.awake_levels >> self.params.levels[0].bands > 1;
        if !coarser && parts.iter().all(|part| part.marked.is_empty()) {
            return Ok(());
        }
        // This search counts marked shapes; the first counted marks only to bound their number.
        let found: usize = parts.iter().map(|part| part.found.len()).sum();
        let budget = ContactBudget::new(threads.latch(), limit.saturating_sub(found));
        let world = &*self;
        let late = threads.for_parts(HEAVY, world.shapes.len(), late, |first, end, part| {
            dispatch!(simd => world.search::<true, _>(simd, first, end, |sleeper| sleeper != 0, &budget, part));
        });
        let outcome = budget.outcome().map_err(|more| TooMany { found: found + more.found });
        if outcome.is_ok() && budget.goes_on() {
            for (part, asleep) in parts.iter_mut().zip(late) {
                part.add(asleep);
            }
        } else {
            late.iter_mut().for_each(FoundPairs::free);
        }
        outcome
    }

    fn kept_apart(&self, shape: &ShapeData, partner: &ShapeData) -> bool {
        self.joints && kept_apart(self.exclusions, shape, partner)
    }

    /// Returns true if a shape sleeps, and true if an awake shape met it.
    fn sleep_of<const SLEEPY: bool>(&self, index: usize) -> (bool, bool) {
        let asleep = SLEEPY && self.sleepers[index] != 0;
        (asleep, asleep && self.sleepers[index] & MARKED != 0)
    }

    /// Returns what becomes of a shape and another one that its box overlaps.
    #[inline(always)]
    fn meeting<const SLEEPY: bool>(&self, index: usize, asleep: bool, other: usize, row: &CellRow) -> Meeting {
        let is_producer = match (row.own_level, row.has_fixed) {
            (false, _) => true,
            (true, false) => index < other,
            (true, true) => produces(self.shapes, index, other),
        };
        let mut is_mark = false;
        if SLEEPY {
            let other_sleeps = self.sleepers[other] != 0;
            if asleep && other_sleeps {
                return Meeting::Nothing;
            }
            is_mark = !is_producer && other != index && other_sleeps;
        }
        if !is_producer && !is_mark {
            return Meeting::Nothing;
        }
        let (shape, partner) = (&self.shapes[index], &self.shapes[other]);
        let meet = shape.body != partner.body && may_meet(shape, partner) && !self.kept_apart(shape, partner);
        match (meet, is_mark) {
            (false, _) => Meeting::Nothing,
            (true, true) => Meeting::Mark,
            (true, false) => Meeting::Pair,
        }
    }

    /// Finds the pairs of a shape. Returns false if the search must end.
    #[inline(always)]
    fn pairs_of<const SLEEPY: bool, S: Simd>(
        &self,
        simd: S,
        index: usize,
        rows: &[CellRow],
        tally: &mut Tally,
        part: &mut FoundPairs,
    ) -> bool {
        let Self { params, shapes, aabbs, cell_shapes, boxes, .. } = *self;
        let shape = &shapes[index];
        let last_own = shape.level + params.levels[shape.level as usize].bands;
        let (asleep, is_marked) = self.sleep_of::<SLEEPY>(index);
        if asleep && !is_marked && self.awake_levels >> last_own <= 1 {
            // Every awake shape would have marked it, half planes included.
            return true;
        }
        let aabb = aabbs[index];
        if !aabb.has_room() {
            return true;
        }
        let ahead = self.ahead(index);
        let is_fast = ahead != aabb;
        let windows = [aabb, ahead].map(|near| Window::new(simd, &near));
        let FoundPairs { found, marked, keys, .. } = part;
        if self.half_planes {
            self.half_planes_of::<SLEEPY>(index, &ahead, asleep, found);
        }
        for row in rows {
            let CellRow { shapes: there, has_fixed, whole, .. } = row;
            let looks_ahead = is_fast && *has_fixed;
            let window = windows[usize::from(looks_ahead)];
            let before = found.len();
            // Many may lie in one row, and all of them may overlap.
            let mut first = there.start;
            loop {
                let end = if there.end - first > STRETCH { first + STRETCH } else { there.end };
                window.for_each_met(boxes, first..end, |place| {
                    let other = cell_shapes[place as usize];
                    let is_far = || !overlap(&aabb, &aabbs[other as usize]);
                    if looks_ahead && shapes[other as usize].kind & FIXED_SHAPE == 0 && is_far() {
                        return;
                    }
                    match self.meeting::<SLEEPY>(index, asleep, other as usize, row) {
                        Meeting::Nothing => {}
                        Meeting::Mark => marked.push(other),
                        Meeting::Pair => found.push(emit_contact(shapes, index, other as usize)),
                    }
                });
                if end == there.end {
                    break;
                }
                if !tally.goes_on(found.len() + marked.len()) {
                    return false;
                }
                first = end;
            }
            if *whole && found.len() - before > 1 {
                order(simd, params, &self.reaches, self.own_cells, [&aabb, &ahead], &mut found[before..], keys);
            }
        }
        tally.goes_on(found.len() + marked.len())
    }
}

/// Sorts the contacts of a shape into the order in which a search of the grid finds them: by level, then by row and
/// column from the corner of its window, and within a cell by index.
#[inline(always)]
fn order<S: Simd>(
    simd: S,
    params: &Params,
    reaches: &[[Vec2; 2]; MAX_LEVELS],
    own_cells: &[u32],
    [own, ahead]: [&Aabb; 2],
    contacts: &mut [Contact],
    keys: &mut Vec<u64>,
) {
    let (mut known, mut corner) = (usize::MAX, [0; 2]);
    keys.clear();
    for contact in &*contacts {
        let [level, row, column] = place_in_window(params, own_cells[contact.shape_b as usize], |index| {
            if index != known {
                #[allow(clippy::cast_possible_truncation, reason = "a handful of levels")]
                let near = search_box(params, index as u32, own, ahead);
                let [left, bottom, ..] = window_of(simd, params, reaches, index, near);
                (known, corner) = (index, [left, bottom]);
            }
            corner
        });
        // Rows and columns are below 4,096.
        keys.push(u64::from(level << 24 | row << 12 | column) << 32 | u64::from(contact.shape_b));
    }
    // Mostly sorted already, and hardly ever many.
    if keys.len() > FEW_KEYS {
        if !keys.is_sorted() {
            sort_both(keys, contacts);
        }
        return;
    }
    for end in 1..keys.len() {
        let mut place = end;
        while place > 0 && keys[place - 1] > keys[place] {
            keys.swap(place - 1, place);
            contacts.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Number of contacts up to which insertion sort is used, though it may take as many steps as there are pairs of them.
const FEW_KEYS: usize = 64;

/// Sorts distinct keys, and contacts along with them, by a heap sort, which needs no memory.
fn sort_both(keys: &mut [u64], contacts: &mut [Contact]) {
    fn sink(keys: &mut [u64], contacts: &mut [Contact], mut place: usize) {
        while 2 * place + 1 < keys.len() {
            let left = 2 * place + 1;
            let larger = if keys.get(left + 1).is_some_and(|&right| right > keys[left]) { left + 1 } else { left };
            if keys[place] >= keys[larger] {
                return;
            }
            keys.swap(place, larger);
            contacts.swap(place, larger);
            place = larger;
        }
    }
    (0..keys.len() / 2).rev().for_each(|place| sink(keys, contacts, place));
    for end in (1..keys.len()).rev() {
        keys.swap(0, end);
        contacts.swap(0, end);
        sink(&mut keys[..end], &mut contacts[..end], 0);
    }
}

/// Returns the columns and rows of a level in which shapes may lie that reach an AABB: left, bottom, right, top.
#[inline(always)]
fn window_of<S: Simd>(
    simd: S,
    params: &Params,
    reaches: &[[Vec2; 2]; MAX_LEVELS],
    level: usize,
    aabb: &Aabb,
) -> [i32; 4] {
    let [left_or_down, right_or_up] = reaches[level];
    // A shape to the left reaches to the right.
    let (low, high) = (Vec2::from(aabb.min) - right_or_up, Vec2::from(aabb.max) + left_or_down);
    cells_between(simd, &params.levels[level], low, high)
}
