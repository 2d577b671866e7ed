//! Finds the overlapping pairs from a neighbor list: the pairs that were near each other some steps ago (Verlet, Phys.
//! Rev. 159, 98 (1967)). It gives the same contacts in the same order as [`pair`](super::pair()), without the grid.
//!
//! To build the list, every AABB is grown by a margin, the motion of the shape in some steps, and all pairs of grown
//! boxes that overlap are listed. As long as each shape stays within its grown AABB no other pair can meet. When a
//! shape has left its margin, the grid is built and searched, and a new list is built from the same grid, if all shapes
//! are slow enough for it to last. The device searches its grid in every step.
//!
//! Bodies that fall or fly together stay together: all motion is measured relative to the motion of most shapes, the
//! median of a sample of the moving ones. This adds no error. Rounding is monotonic, so `a <= b` implies `a - d <= b -
//! d` as computed, and boxes that overlap do so in any frame.
//!
//! The order of contacts is that of the grid, though there is no grid: contacts are sorted by the cells in which
//! partners are now.
//!
//! The list holds nothing but the indices of partners. Most pairs met in the previous step, and their contacts are
//! continued from there: in a large world every table that is not read counts.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use glam::{Vec2, Vec4};

use super::{
    Box, FEW_KEYS, FoundPairs, PairTables, TooMany, ahead_of, emit_contact, gather, half_planes_of, kept_apart,
    lay_boxes, lend, order, reaches_of,
};
use crate::cancel::{ContactBudget, Tally};
use crate::cpu::stages::bin::shapes_of_levels;
use crate::cpu::stages::match_contacts::PreviousContacts;
use crate::cpu::{BodyTables, ContactTables, GridTables};
use crate::lanes::{Simd, SimdBase, SimdMask, dispatch, f32x4, mask32x4};
use crate::scene::{Compiled, JointTable, PairExclusions};
use crate::stages::bin::middle;
use crate::stages::bound::EMPTY;
use crate::stages::match_contacts::carried_on;
use crate::stages::pair::{looks_ahead, overlap};
use crate::threads::{HEAVY, LIGHT, Rows, Threads};
use crate::types::{
    Aabb, BodyMotion, BodyState, Contact, FIXED_SHAPE, Level, MAX_LEVELS, NONE, Params, Pose, ShapeData,
};

/// Steps for which a list should last.
const STEPS: f32 = 8.0;
/// Steps for which a list must last, or the grid alone is faster.
const MIN_STEPS: f32 = 2.5;
/// Smallest and largest margin, as a share of a cell. A larger margin makes lists last longer, and makes them longer.
const MIN_MARGIN: f32 = 0.03;
const MAX_MARGIN: f32 = 0.5;
/// Number of shapes in the sample that measures the motion of most.
const SAMPLE: usize = 31;
/// Steps without a list after a list that lasted for no step but its first.
const IDLE: u32 = 6;
/// Largest coordinate, as a multiple of the smallest margin, at which rounding is negligible beside that margin.
const MAX_DISTANCE: f32 = 1e6;

/// Rounding error of a sum, as a share of its terms, with room.
const FRAME_SLACK: f32 = 1e-6;

/// AABB that contains every other.
const EVERYWHERE: Aabb = Aabb { min: [f32::NEG_INFINITY; 2], max: [f32::INFINITY; 2] };

/// Neighbor list.
#[derive(Debug, Default)]
pub struct NeighborList {
    /// Grown AABBs; empty if there is no list.
    grown: Vec<Aabb>,
    /// Sample of the moving shapes, with their middles when the list was built; empty if motion is not measured
    /// relative to most.
    sample: Vec<(u32, Vec2)>,
    /// Partners of shape `i` are `list[starts[i] .. starts[i + 1]]`.
    starts: Vec<u32>,
    list: Vec<u32>,
    /// Cells of the shapes when the list was built: its order is valid for partners that are still in them. [`NONE`] if
    /// the cell says nothing about the order.
    cells: Vec<u32>,
    may_part: bool,
    /// Grown boxes in the order of their cells.
    in_cells: Vec<Box>,
    parts: Vec<FoundPairs>,
    /// Steps for which the list has been used, and steps until the next one may be built.
    age: u32,
    idle: u32,
    blind: bool,
}

/// Shapes of a step and their motion.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a> {
    /// Time step and grid.
    pub params: &'a Params,
    /// Shapes.
    pub shapes: &'a [ShapeData],
    /// AABB of each shape.
    pub aabbs: &'a [Aabb],
    /// Pose of each body.
    pub poses: &'a [Pose],
    /// State of each body.
    pub states: &'a Rows<BodyState, 4>,
}

impl Moving<'_> {
    /// Returns the motion of the middle of a shape in a step, m, and its rotation, rad.
    fn motion(&self, shape: usize) -> (Vec2, f32) {
        let (body, dt) = (self.shapes[shape].body as usize, self.params.dt);
        let BodyState { velocity, angular_velocity, .. } = self.states.get(body);
        let arm = middle(&self.aabbs[shape]) - Vec2::from(self.poses[body].position);
        ((Vec2::from(velocity) + angular_velocity * arm.perp()) * dt, angular_velocity * dt)
    }

    /// Returns the outward motion of each side of a shape's AABB in a step relative to `most`, in the layout of a
    /// [`Box`], m.
    fn out(&self, shape: usize, most: Vec2) -> Vec4 {
        let (moved, turned) = self.motion(shape);
        let (moved, aabb) = (moved - most, &self.aabbs[shape]);
        let reach = 0.5 * (Vec2::from(aabb.max) - Vec2::from(aabb.min)) * turned.abs();
        Vec4::new(-moved.x, -moved.y, moved.x, moved.y) + Vec4::new(reach.y, reach.x, reach.y, reach.x)
    }
}

impl NeighborList {
    /// Invalidates the list after edits or teleports.
    pub fn forget(&mut self) {
        self.grown.clear();
        self.sample.clear();
    }

    /// Disables invalidation (fault injection for tests).
    pub fn blind(&mut self) {
        self.blind = true;
    }

    /// Returns true if the list is still valid for the AABBs of a step. Then the grid is not needed, only the cell of
    /// each shape.
    #[must_use]
    pub fn is_valid(&self, threads: &Threads, compiled: &Compiled, bodies: &BodyTables, aabbs: &[Aabb]) -> bool {
        let Self { grown, sample, blind, .. } = self;
        if grown.len() != aabbs.len() || self.may_part != compiled.joints.may_part {
            return false;
        }
        let moved = moved_since(sample, |shape| middle(&aabbs[shape]));
        let within = AtomicBool::new(true);
        threads.for_ranges(LIGHT, aabbs.len(), |first, end| {
            if !are_within(&grown[first..end], &aabbs[first..end], moved) {
                within.store(false, Ordering::Relaxed);
            }
        });
        let within = within.into_inner() && (!bodies.look_ahead || self.looks_within(threads, compiled, bodies, aabbs));
        within || *blind
    }

    /// Returns true if the list contains every pair of a shape that looks ahead and a fixed one.
    ///
    /// Most shapes often move together, and then it is as if they stood still and fixed shapes came to meet them: so a
    /// fixed shape is extended against the motion of most, and a fast one by its motion beside that.
    fn looks_within(&self, threads: &Threads, compiled: &Compiled, bodies: &BodyTables, aabbs: &[Aabb]) -> bool {
        let Compiled { params, shapes, .. } = compiled;
        let moved = moved_since(&self.sample, |shape| middle(&aabbs[shape]));
        let motion = |shape: usize| Vec2::from(bodies.motions[shapes[shape].body as usize].moved);
        let most = median(self.sample.iter().map(|&(shape, _)| motion(shape as usize)));
        let within = AtomicBool::new(true);
        threads.for_ranges(LIGHT, aabbs.len(), |first, end| {
            let all_within = (first..end).all(|index| {
                let (shape, aabb, grown) = (&shapes[index], &aabbs[index], &self.grown[index]);
                let ahead = if shape.kind & FIXED_SHAPE != 0 {
                    -most
                } else if looks_ahead(params, &bodies.motions[shape.body as usize]) {
                    motion(index) - most
                } else {
                    return true;
                };
                let slack = FRAME_SLACK * (Vec2::from(aabb.min).abs() + Vec2::from(aabb.max).abs() + ahead.abs());
                let low = Vec2::from(aabb.min) + ahead.min(Vec2::ZERO) - slack - moved;
                let high = Vec2::from(aabb.max) + ahead.max(Vec2::ZERO) + slack - moved;
                !aabb.has_room() || low.cmpge(grown.min.into()).all() && high.cmple(grown.max.into()).all()
            });
            if !all_within {
                within.store(false, Ordering::Relaxed);
            }
        });
        within.into_inner()
    }

    /// Builds a new list from the grid of this step. Returns false, without a list, if it would not last or have more
    /// than `limit` pairs. Uses the memory of `contacts`.
    pub fn build(
        &mut self,
        threads: &Threads,
        moving: Moving,
        grid: &GridTables,
        joints: &JointTable,
        limit: usize,
        contacts: &mut Vec<Contact>,
    ) -> bool {
        let Moving { params, shapes, aabbs, .. } = moving;
        let GridTables { own_cells, cell_ends, cell_shapes, .. } = grid;
        let JointTable { exclusions, may_part, .. } = joints;
        if self.grown.len() == aabbs.len() && self.age < 2 {
            self.idle = IDLE;
        }
        self.idle = self.idle.saturating_sub(1);
        let margins = (self.idle == 0).then(|| self.grow_all(threads, moving)).flatten();
        let Some(margins) = margins else {
            self.grown.clear();
            return false;
        };
        self.age = 0;
        let Self { grown, starts, list, cells, in_cells, parts, .. } = self;
        lay_boxes(threads, grown, cell_shapes, in_cells);
        let mut reaches = reaches_of(params);
        for ([left_or_down, right_or_up], margin) in reaches.iter_mut().zip(margins) {
            *left_or_down += Vec2::new(margin.x, margin.y);
            *right_or_up += Vec2::new(margin.z, margin.w);
        }
        let world = PairTables {
            params,
            shapes,
            aabbs: grown,
            motions: &[],
            cell_ends,
            cell_shapes,
            own_cells,
            boxes: in_cells,
            exclusions,
            shapes_of_levels: shapes_of_levels(params, cell_ends),
            reaches,
            half_planes: false,
            joints: !*may_part,
            sleepers: Vec::new(),
            awake_levels: 0,
        };
        let listed = find(threads, shapes.len(), parts, limit, starts, contacts, |first, end, budget, part| {
            dispatch!(simd => world.search::<false, _>(simd, first, end, |_| true, budget, part));
        });
        if listed.is_err() || threads.is_cancelled() {
            self.grown.clear();
            self.idle = IDLE;
            return false;
        }
        cells.clear();
        cells.extend(own_cells.iter().map(|&cell| kept_cell(params, &world.shapes_of_levels, cell)));
        list.clear();
        list.extend(contacts.iter().map(|contact| contact.shape_b));
        // Half planes are tested in every step.
        params.planes().for_each(|plane| grown[plane as usize] = EVERYWHERE);
        self.may_part = *may_part;
        true
    }

    /// Grows the AABBs for shapes that keep their velocity. Returns the largest margin on each level (left, below,
    /// right, above), with more than any rounding error added. None if the list would not last long enough.
    fn grow_all(&mut self, threads: &Threads, moving: Moving) -> Option<[Vec4; MAX_LEVELS]> {
        let Moving { shapes, aabbs, .. } = moving;
        let moves = |&shape: &usize| shapes[shape].kind & FIXED_SHAPE == 0 && aabbs[shape].has_room();
        let places = SAMPLE.min(shapes.len());
        let some = (0..places).map(|place| place * shapes.len() / places).filter(moves);
        self.sample.clear();
        #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
        self.sample.extend(some.map(|shape| (shape as u32, middle(&aabbs[shape]))));
        let most = median(self.sample.iter().map(|&(shape, _)| moving.motion(shape as usize).0));
        let margins = self.grow(threads, moving, most);
        if margins.is_some() || most == Vec2::ZERO {
            return margins;
        }
        // If much stays behind, a list relative to the world may last.
        self.sample.clear();
        self.grow(threads, moving, Vec2::ZERO)
    }

    /// Grows the AABBs relative to the motion `most` of a step; see [`Self::grow_all`].
    fn grow(&mut self, threads: &Threads, moving: Moving, most: Vec2) -> Option<[Vec4; MAX_LEVELS]> {
        let Moving { params, shapes, aabbs, .. } = moving;
        let cells = params.levels.map(|level| 2.0 * level.half_cell[0].min(level.half_cell[1]));
        let (lasts, largest) = (AtomicBool::new(true), [const { [const { AtomicU32::new(0) }; 4] }; MAX_LEVELS]);
        self.grown.resize(aabbs.len(), EMPTY);
        threads.for_chunks(LIGHT, &mut self.grown, |first, grown| {
            let mut margins = [Vec4::ZERO; MAX_LEVELS];
            for (shape, grown) in (first..).zip(grown) {
                if !aabbs[shape].has_room() {
                    *grown = EMPTY;
                    continue;
                }
                let level = shapes[shape].level as usize;
                let (least, most_margin) = (MIN_MARGIN * cells[level], MAX_MARGIN * cells[level]);
                let (now, out) = (Vec4::from(Box::new(&aabbs[shape]).0), moving.out(shape, most));
                if !out.is_finite()
                    || out.abs().max_element() * MIN_STEPS > most_margin
                    || now.abs().max_element() > MAX_DISTANCE * least
                    || !lasts.load(Ordering::Relaxed)
                {
                    lasts.store(false, Ordering::Relaxed);
                    return;
                }
                let margin = (out * STEPS).clamp(Vec4::ZERO, Vec4::splat(most_margin)) + least;
                margins[level] = margins[level].max(margin + least);
                let [left, bottom, right, top] = ((now - margin) * SIGNS).to_array();
                *grown = Aabb { min: [left, bottom], max: [right, top] };
            }
            for (largest, margin) in largest.iter().flatten().zip(margins.iter().flat_map(Vec4::as_ref)) {
                // Non-negative floats are ordered as their bits are.
                largest.fetch_max(margin.to_bits(), Ordering::Relaxed);
            }
        });
        let mut margins = largest.map(|sides| Vec4::from(sides.map(|margin| f32::from_bits(margin.into_inner()))));
        // Shapes of a level may lie on its bands as well.
        for own in 0..params.level_count as usize {
            let bands = params.levels[own].bands as usize;
            let margin = margins[own];
            margins[own..=own + bands].fill(margin);
        }
        lasts.into_inner().then_some(margins)
    }

    /// Fills `current` from the list. Given the contacts of the previous step (not if the list was
    /// built in this step), it also does the work of [`match_contacts`](crate::stages::match_contacts): pairs that met
    /// before are copied from there.
    ///
    /// # Errors
    /// If there are more than `limit`, as for [`pair`](super::pair()).
    pub fn pair(
        &mut self,
        threads: &Threads,
        compiled: &Compiled,
        bodies: &BodyTables,
        grid: &GridTables,
        past: Option<PreviousContacts>,
        current: &mut ContactTables,
        limit: usize,
    ) -> Result<(), TooMany> {
        let Compiled { params, shapes, joints, .. } = compiled;
        let GridTables { aabbs, own_cells, .. } = grid;
        let ContactTables { pair_starts, contacts, .. } = current;
        self.age = self.age.saturating_add(1);
        let Self { starts, list, cells, parts, may_part, .. } = self;
        let listed = Listed {
            params,
            shapes,
            aabbs,
            motions: if bodies.look_ahead { &bodies.motions } else { &[] },
            own_cells,
            cells,
            exclusions: &joints.exclusions,
            past,
            reaches: reaches_of(params),
            starts,
            list,
            may_part: *may_part,
        };
        find(threads, shapes.len(), parts, limit, pair_starts, contacts, |first, end, budget, part| {
            dispatch!(simd => listed.search(simd, first, end, budget, part));
        })
    }
}

/// Factors between the sides of an AABB and a [`Box`].
const SIGNS: Vec4 = Vec4::new(1.0, 1.0, -1.0, -1.0);

/// Returns a cell of a shape if its pairs stay in order while it lasts, else [`NONE`]: a window that wraps around the
/// torus starts in another cell once the shape has moved.
fn kept_cell(params: &Params, shapes_of_levels: &[Range<u32>; MAX_LEVELS], cell: u32) -> u32 {
    let levels = &params.levels[..params.level_count as usize];
    let stays = |level: &Level, shapes: &Range<u32>| {
        shapes.len() < 2 || level.bands == 0 && level.log2_width.min(level.log2_height) >= 3
    };
    let level = levels.partition_point(|level| level.first_cell <= cell).saturating_sub(1);
    if cell != NONE && stays(&levels[level], &shapes_of_levels[level]) { cell } else { NONE }
}

/// Returns the motion of most shapes of a sample since it was taken. Any value is correct; lists last longest with a
/// good one.
fn moved_since(sample: &[(u32, Vec2)], now: impl Fn(usize) -> Vec2) -> Vec2 {
    median(sample.iter().map(|&(shape, before)| now(shape as usize) - before))
}

/// Returns the median of at most [`SAMPLE`] motions, axis by axis; zero if it is not finite.
fn median(motions: impl Iterator<Item = Vec2>) -> Vec2 {
    let mut axes = [[0; SAMPLE]; 2];
    let mut count = 0;
    for motion in motions.take(SAMPLE) {
        (axes[0][count], axes[1][count]) = (sort_key(motion.x), sort_key(motion.y));
        count += 1;
    }
    if count == 0 {
        return Vec2::ZERO;
    }
    let [x, y] = axes.each_mut().map(|axis| from_sort_key(*axis[..count].select_nth_unstable(count / 2).1));
    let moved = Vec2::new(x, y);
    if moved.is_finite() { moved } else { Vec2::ZERO }
}

/// Returns an integer for a number, in the order of [`f32::total_cmp`]: integers are sorted faster.
fn sort_key(number: f32) -> i32 {
    let bits = number.to_bits().cast_signed();
    // All bits but the sign are flipped below zero.
    bits ^ ((bits >> 31) & i32::MAX)
}

/// Returns the number of a [`sort_key`].
fn from_sort_key(key: i32) -> f32 {
    f32::from_bits((key ^ ((key >> 31) & i32::MAX)).cast_unsigned())
}

/// Finds the pairs of `shapes` shapes; `search` finds those of a range.
fn find(
    threads: &Threads,
    shapes: usize,
    parts: &mut Vec<FoundPairs>,
    limit: usize,
    starts: &mut Vec<u32>,
    found: &mut Vec<Contact>,
    search: impl Fn(usize, usize, &ContactBudget, &mut FoundPairs) + Sync,
) -> Result<(), TooMany> {
    lend(parts, starts, found);
    let budget = ContactBudget::new(threads.latch(), limit);
    let parts = threads.for_parts(HEAVY, shapes, parts, |first, end, part| search(first, end, &budget, part));
    gather(parts, budget.outcome(), starts, found)
}

/// Returns true if each AABB is inside the grown one at the same index, after `moved` is subtracted.
fn are_within(grown: &[Aabb], aabbs: &[Aabb], moved: Vec2) -> bool {
    dispatch!(simd => {
        let moved = f32x4::load_array(simd, [moved.x, moved.y, -moved.x, -moved.y]);
        let mut within = mask32x4::splat(simd, true);
        for (grown, now) in grown.iter().zip(aabbs) {
            within &= sides(simd, grown).simd_le(sides(simd, now) - moved);
        }
        within.all_true()
    })
}

/// Returns the sides of an AABB in the layout of a [`Box`].
#[inline(always)]
fn sides<S: Simd>(simd: S, aabb: &Aabb) -> f32x4<S> {
    f32x4::load_array_ref(simd, bytemuck::cast_ref(aabb)) * f32x4::load_array(simd, SIGNS.to_array())
}

/// Tables that a search reads.
struct Listed<'a> {
    params: &'a Params,
    shapes: &'a [ShapeData],
    aabbs: &'a [Aabb],
    /// Motion of each body; empty if no shape looks ahead.
    motions: &'a [BodyMotion],
    own_cells: &'a [u32],
    cells: &'a [u32],
    exclusions: &'a PairExclusions,
    past: Option<PreviousContacts<'a>>,
    reaches: [[Vec2; 2]; MAX_LEVELS],
    starts: &'a [u32],
    list: &'a [u32],
    /// True if joints may have changed the pairs they exclude since the list was built.
    may_part: bool,
}

impl Listed<'_> {
    /// Finds the pairs of the shapes in a range.
    #[inline(always)]
    fn search<S: Simd>(&self, simd: S, first: usize, end: usize, budget: &ContactBudget, part: &mut FoundPairs) {
        let mut tally = Tally::new(budget);
        let Self { params, shapes, aabbs, motions, own_cells, exclusions, past, starts, list, ref reaches, .. } = *self;
        let FoundPairs { counts, found, keys, .. } = part;
        counts.clear();
        found.clear();
        counts.reserve(end - first + 1);
        found.reserve(4 * (end - first));
        keys.reserve(FEW_KEYS);
        let has_planes = params.planes().next().is_some();
        for index in first..end {
            let (before, aabb) = (found.len(), &aabbs[index]);
            let ahead = &ahead_of(params, motions, &shapes[index], aabb);
            let is_fast = ahead != aabb;
            if has_planes && aabb.has_room() {
                half_planes_of(params, shapes, aabbs, ahead, exclusions, index, |_| true, found);
                if let Some(past) = past {
                    found[before..].iter_mut().for_each(|contact| past.match_contacts(contact));
                }
            }
            let on_planes = found.len();
            let (start, olds) = past.map_or((0, &[][..]), |past| past.of(index));
            // The order mostly repeats.
            let mut next = 0;
            let window = Box::new(ahead).window(simd);
            for &partner in &list[starts[index] as usize..starts[index + 1] as usize] {
                let other = partner as usize;
                if !sides(simd, &aabbs[other]).simd_le(window).all_true()
                    || is_fast && shapes[other].kind & FIXED_SHAPE == 0 && !overlap(aabb, &aabbs[other])
                    || self.may_part && kept_apart(exclusions, &shapes[index], &shapes[other])
                {
                    continue;
                }
                let is_same = |old: &Contact| old.shape_b == partner;
                if !olds.get(next).is_some_and(is_same) {
                    next = olds.iter().position(is_same).unwrap_or(olds.len());
                }
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                let contact = match olds.get(next) {
                    Some(old) => carried_on(old, start + next as u32),
                    None => emit_contact(shapes, index, other),
                };
                found.push(contact);
                next += 1;
            }
            if found.len() - on_planes > 1 && !self.are_ordered(&found[on_planes..]) {
                order(simd, params, reaches, own_cells, [aabb, ahead], &mut found[on_planes..], keys);
            }
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            counts.push((found.len() - before) as u32);
            if !tally.goes_on(found.len()) {
                return;
            }
        }
        tally.tell(found.len());
    }

    /// Returns true if a shape's contacts are in order: if all partners are in the cells of the list.
    #[inline(always)]
    fn are_ordered(&self, contacts: &[Contact]) -> bool {
        let stays = |contact: &Contact| {
            let partner = contact.shape_b as usize;
            self.own_cells[partner] == self.cells[partner]
        };
        contacts.iter().all(stays)
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::{SAMPLE, from_sort_key, median, sort_key};

    /// The middle of the sorted numbers, axis by axis.
    #[test]
    fn the_median_is_in_the_middle() {
        let numbers = [3.5, -0.0, 0.0, -1e-40, f32::MAX, -2.25, f32::MIN_POSITIVE, 7.0, -1e9, 0.5];
        for count in 1..=SAMPLE {
            let motion = |at: usize| Vec2::new(numbers[7 * at % 10], numbers[(3 * at + 1) % 10]);
            let motions = || (0..count).map(motion);
            let middle = |axis: usize| {
                let mut all: Vec<f32> = motions().map(|motion| motion[axis]).collect();
                all.sort_by(f32::total_cmp);
                all[count / 2].to_bits()
            };
            let found = median(motions());
            assert_eq!([found.x.to_bits(), found.y.to_bits()], [middle(0), middle(1)], "of {count}");
        }
        assert!(numbers.iter().all(|&number| from_sort_key(sort_key(number)).to_bits() == number.to_bits()));
        assert_eq!(median(std::iter::empty()), Vec2::ZERO);
        assert_eq!(median([Vec2::new(f32::NAN, 1.0)].into_iter()), Vec2::ZERO);
    }
}
