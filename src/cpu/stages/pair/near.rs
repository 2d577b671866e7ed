//! The same contacts in the same order as [`pair`](super::pair()) finds them, without the grid: looked for among the pairs
//! of a list, of all that lay near each other some steps ago (Verlet, Phys. Rev. 159, 98 (1967)).
//!
//! For the list every AABB is grown by a margin, what the shape moves in some steps, and all pairs of grown ones that
//! overlap are listed. As long as each shape stays within its grown AABB nobody else can meet. Once one has left it the
//! grid is made and searched as ever, and a new list is made of what it says, if everybody is slow enough for it to last.
//! The device looks into its grid in every step.
//!
//! What falls or flies together stays together: all that is measured from where most are, the median of a sample of the
//! moving shapes. No error comes in by that. Rounding keeps order, so if `a <= b` then `a - d <= b - d` as computed, and boxes
//! that meet do so wherever they are measured from.
//!
//! The order of contacts is that of the grid, though that is not there: by the cells that partners are in now.
//!
//! The list says whom a shape may meet, and no more. Most pairs met in the step before, and their contacts go on from there:
//! in a large world every table that is not read counts.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use glam::{Vec2, Vec4};

use super::{
    Box, Part, TooMany, World, emit_contact, gather, half_planes_of, kept_apart, lay_boxes, lend, order, reaches_of,
};
use crate::cancel::{ContactBudget, Tally};
use crate::cpu::lanes::{Simd, SimdBase, SimdMask, dispatch, f32x4, mask32x4};
use crate::cpu::stages::bin::shapes_of_levels;
use crate::cpu::stages::recall::Past;
use crate::scene::Ties;
use crate::stages::bin::middle;
use crate::stages::bound::EMPTY;
use crate::stages::recall::carried_on;
use crate::threads::{HEAVY, LIGHT, Rows, Threads};
use crate::types::{Aabb, BodyState, Contact, FIXED_SHAPE, Level, MAX_LEVELS, NONE, Params, Pose, Shape};

/// Steps for which a list should do.
const STEPS: f32 = 8.0;
/// Steps for which it must do, or the grid alone is quicker.
const LEAST_STEPS: f32 = 2.5;
/// Smallest and largest margin, as a share of a cell: the larger, the longer lists last, and the longer they are.
const LEAST_MARGIN: f32 = 0.03;
const MOST_MARGIN: f32 = 0.5;
/// Shapes in the sample that says where most are.
const SAMPLE: usize = 31;
/// Steps without a list after one that did for no step but its first.
const IDLE: u32 = 6;
/// Coordinates, as a multiple of the smallest margin, up to which rounding does not matter beside it.
const MOST_DISTANCE: f32 = 1e6;

/// What every AABB is in.
const EVERYWHERE: Aabb = Aabb { min: [f32::NEG_INFINITY; 2], max: [f32::INFINITY; 2] };

/// Shapes that lie near each other.
#[derive(Debug, Default)]
pub struct Near {
    /// Grown AABBs; none if there is no list.
    grown: Vec<Aabb>,
    /// Some of the shapes that may move, with their middles when the list was made; none if it does not go with most.
    sample: Vec<(u32, Vec2)>,
    /// Partners of shape `i` are `list[starts[i] .. starts[i + 1]]`.
    starts: Vec<u32>,
    list: Vec<u32>,
    /// Cells when it was made: its order is right among shapes that are in those. [`NONE`] where that says nothing.
    cells: Vec<u32>,
    may_part: bool,
    /// Grown ones in the order of their cells.
    in_cells: Vec<Box>,
    parts: Vec<Part>,
    /// Steps for which the list has done, and steps until the next one may be made.
    age: u32,
    idle: u32,
    blind: bool,
}

/// Where the shapes of a step are, and how they move.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a> {
    /// How long a step is, and how large the cells of the grid.
    pub params: &'a Params,
    /// One a shape.
    pub shapes: &'a [Shape],
    /// One a shape.
    pub aabbs: &'a [Aabb],
    /// One a body.
    pub poses: &'a [Pose],
    /// One a body.
    pub states: &'a Rows<BodyState, 4>,
}

impl Moving<'_> {
    /// How far the middle of a shape moves in a step, m, and by what angle it turns, rad.
    fn motion(&self, shape: usize) -> (Vec2, f32) {
        let (body, dt) = (self.shapes[shape].body as usize, self.params.dt);
        let BodyState { velocity, angular_velocity, .. } = self.states.get(body);
        let arm = middle(&self.aabbs[shape]) - Vec2::from(self.poses[body].position);
        ((Vec2::from(velocity) + angular_velocity * arm.perp()) * dt, angular_velocity * dt)
    }

    /// How far each side of a shape's AABB goes outwards in a step, as a [`Box`] has them, if most move so far, m.
    fn out(&self, shape: usize, most: Vec2) -> Vec4 {
        let (moved, turned) = self.motion(shape);
        let (moved, aabb) = (moved - most, &self.aabbs[shape]);
        let reach = 0.5 * (Vec2::from(aabb.max) - Vec2::from(aabb.min)) * turned.abs();
        Vec4::new(-moved.x, -moved.y, moved.x, moved.y) + Vec4::new(reach.y, reach.x, reach.y, reach.x)
    }
}

impl Near {
    /// Shapes were changed, or are elsewhere all of a sudden.
    pub fn forget(&mut self) {
        self.grown.clear();
        self.sample.clear();
    }

    /// From now on a list does for good, which is wrong. For tests.
    pub fn blind(&mut self) {
        self.blind = true;
    }

    /// Takes the AABBs of a step, and returns whether the list still does. Then the grid is not needed, only the cell
    /// that each shape is in.
    pub fn look(&mut self, threads: &Threads, aabbs: &[Aabb], may_part: bool) -> bool {
        let Self { grown, sample, blind, .. } = self;
        if grown.len() != aabbs.len() || self.may_part != may_part {
            return false;
        }
        let moved = moved_since(sample, |shape| middle(&aabbs[shape]));
        let within = AtomicBool::new(true);
        threads.for_ranges(LIGHT, aabbs.len(), |first, end| {
            if !are_within(&grown[first..end], &aabbs[first..end], moved) {
                within.store(false, Ordering::Relaxed);
            }
        });
        within.into_inner() || *blind
    }

    /// Makes a new list from the grid of this step. Returns false if it would not last, or have more than `limit` pairs: then
    /// there is none. The memory of `contacts` is made use of.
    pub fn make(
        &mut self,
        threads: &Threads,
        moving: Moving,
        (own_cells, cell_ends, cell_shapes): (&[u32], &[u32], &[u32]),
        ties: &Ties,
        may_part: bool,
        limit: usize,
        contacts: &mut Vec<Contact>,
    ) -> bool {
        let Moving { params, shapes, aabbs, .. } = moving;
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
        let world = World {
            params,
            shapes,
            aabbs: grown,
            cell_ends,
            cell_shapes,
            own_cells,
            boxes: in_cells,
            ties,
            shapes_of_levels: shapes_of_levels(params, cell_ends),
            reaches,
            half_planes: false,
            joints: !may_part,
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
        // A window that goes around the torus begins elsewhere once the shape has moved.
        let stays = |level: &Level, shapes: &Range<u32>| {
            shapes.len() < 2 || level.bands == 0 && level.log2_width.min(level.log2_height) >= 3
        };
        let levels = &params.levels[..params.level_count as usize];
        let cell_is_kept = |&cell: &u32| {
            let level = levels.partition_point(|level| level.first_cell <= cell).saturating_sub(1);
            if cell != NONE && stays(&levels[level], &world.shapes_of_levels[level]) { cell } else { NONE }
        };
        cells.clear();
        cells.extend(own_cells.iter().map(cell_is_kept));
        list.clear();
        list.extend(contacts.iter().map(|contact| contact.shape_b));
        // Half planes are looked at in every step, wherever they are.
        params.planes().for_each(|plane| grown[plane as usize] = EVERYWHERE);
        self.may_part = may_part;
        true
    }

    /// Grows the AABBs for shapes that go on as they do. Returns how much at most on each level: left, below, right, above, and
    /// more than any rounding. None if that would not do for long enough.
    fn grow_all(&mut self, threads: &Threads, moving: Moving) -> Option<[Vec4; MAX_LEVELS]> {
        let Moving { shapes, aabbs, .. } = moving;
        let moves = |&shape: &usize| shapes[shape].kind & FIXED_SHAPE == 0 && aabbs[shape].has_room();
        let some = (0..SAMPLE).map(|place| place * shapes.len() / SAMPLE).filter(moves);
        self.sample.clear();
        #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
        self.sample.extend(some.map(|shape| (shape as u32, middle(&aabbs[shape]))));
        let most = median(self.sample.iter().map(|&(shape, _)| moving.motion(shape as usize).0));
        let margins = self.grow(threads, moving, most);
        if margins.is_some() || most == Vec2::ZERO {
            return margins;
        }
        // If there is much that stays behind, it may be better not to go with most.
        self.sample.clear();
        self.grow(threads, moving, Vec2::ZERO)
    }

    /// The same, if most move so far in a step.
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
                let (least, most_margin) = (LEAST_MARGIN * cells[level], MOST_MARGIN * cells[level]);
                let (now, out) = (Vec4::from(Box::new(&aabbs[shape]).0), moving.out(shape, most));
                if !out.is_finite()
                    || out.abs().max_element() * LEAST_STEPS > most_margin
                    || now.abs().max_element() > MOST_DISTANCE * least
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
                // Numbers that are not negative are ordered as their bits are.
                largest.fetch_max(margin.to_bits(), Ordering::Relaxed);
            }
        });
        let mut margins = largest.map(|sides| Vec4::from(sides.map(|margin| f32::from_bits(margin.into_inner()))));
        // Those of a level may lie on its bands as well.
        for own in 0..params.level_count as usize {
            let bands = params.levels[own].bands as usize;
            let margin = margins[own];
            margins[own..=own + bands].fill(margin);
        }
        lasts.into_inner().then_some(margins)
    }

    /// Fills `pair_starts` and `contacts` from the list. Given the contacts of the step before, which a list that was made in
    /// this step has none of, it does what [`recall`](crate::stages::recall) does as well: whoever met again is copied from
    /// there.
    ///
    /// # Errors
    /// If there are more than `limit`, as of [`pair`](super::pair()).
    pub fn pair(
        &mut self,
        threads: &Threads,
        params: &Params,
        shapes: &[Shape],
        aabbs: &[Aabb],
        own_cells: &[u32],
        ties: &Ties,
        past: Option<Past>,
        pair_starts: &mut Vec<u32>,
        contacts: &mut Vec<Contact>,
        limit: usize,
    ) -> Result<(), TooMany> {
        self.age = self.age.saturating_add(1);
        let Self { starts, list, cells, parts, may_part, .. } = self;
        let listed = Listed {
            params,
            shapes,
            aabbs,
            own_cells,
            cells,
            ties,
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

/// From an AABB to a [`Box`], and back.
const SIGNS: Vec4 = Vec4::new(1.0, 1.0, -1.0, -1.0);

/// How far most of a sample have moved since it was taken. Any answer is right; lists last longest with a good one.
fn moved_since(sample: &[(u32, Vec2)], now: impl Fn(usize) -> Vec2) -> Vec2 {
    median(sample.iter().map(|&(shape, before)| now(shape as usize) - before))
}

/// The median of some motions, at most [`SAMPLE`], axis by axis; none if it is not finite.
fn median(motions: impl Iterator<Item = Vec2>) -> Vec2 {
    let mut moved = [Vec2::ZERO; SAMPLE];
    let count = moved.iter_mut().zip(motions).map(|(moved, motion)| *moved = motion).count();
    if count == 0 {
        return Vec2::ZERO;
    }
    let mut along = |axis: usize| {
        let by_axis = |a: &Vec2, b: &Vec2| a[axis].total_cmp(&b[axis]);
        moved[..count].select_nth_unstable_by(count / 2, by_axis).1[axis]
    };
    let moved = Vec2::new(along(0), along(1));
    if moved.is_finite() { moved } else { Vec2::ZERO }
}

/// Pairs of so many shapes, by parts that `search` finds.
fn find(
    threads: &Threads,
    shapes: usize,
    parts: &mut Vec<Part>,
    limit: usize,
    starts: &mut Vec<u32>,
    found: &mut Vec<Contact>,
    search: impl Fn(usize, usize, &ContactBudget, &mut Part) + Sync,
) -> Result<(), TooMany> {
    lend(parts, starts, found);
    let budget = ContactBudget::new(threads.latch(), limit);
    let parts = threads.for_parts(HEAVY, shapes, parts, |first, end, part| search(first, end, &budget, part));
    gather(parts, budget.outcome(), starts, found)
}

/// Whether each AABB is within the one beside it, measured from what has moved so far.
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

/// The sides of an AABB as a [`Box`] has them.
#[inline(always)]
fn sides<S: Simd>(simd: S, aabb: &Aabb) -> f32x4<S> {
    f32x4::load_array_ref(simd, bytemuck::cast_ref(aabb)) * f32x4::load_array(simd, SIGNS.to_array())
}

/// All that is read.
struct Listed<'a> {
    params: &'a Params,
    shapes: &'a [Shape],
    aabbs: &'a [Aabb],
    own_cells: &'a [u32],
    cells: &'a [u32],
    ties: &'a Ties,
    past: Option<Past<'a>>,
    reaches: [[Vec2; 2]; MAX_LEVELS],
    starts: &'a [u32],
    list: &'a [u32],
    /// Whom joints keep apart may have changed since.
    may_part: bool,
}

impl Listed<'_> {
    /// The pairs of the shapes in a range.
    #[inline(always)]
    fn search<S: Simd>(&self, simd: S, first: usize, end: usize, budget: &ContactBudget, part: &mut Part) {
        let mut tally = Tally::new(budget);
        let Self { params, shapes, aabbs, own_cells, ties, past, starts, list, ref reaches, .. } = *self;
        let Part { counts, found, keys, .. } = part;
        counts.clear();
        found.clear();
        counts.reserve(end - first + 1);
        found.reserve(4 * (end - first));
        let has_planes = params.planes().next().is_some();
        for index in first..end {
            let (before, aabb) = (found.len(), &aabbs[index]);
            if has_planes && aabb.has_room() {
                half_planes_of(params, shapes, aabbs, ties, index, |_| true, found);
                if let Some(past) = past {
                    found[before..].iter_mut().for_each(|contact| past.recall(contact));
                }
            }
            let on_planes = found.len();
            let (start, olds) = past.map_or((0, &[][..]), |past| past.of(index));
            // They mostly come in the same order again.
            let mut next = 0;
            let window = Box::new(aabb).window(simd);
            for &partner in &list[starts[index] as usize..starts[index + 1] as usize] {
                let other = partner as usize;
                if !sides(simd, &aabbs[other]).simd_le(window).all_true()
                    || self.may_part && kept_apart(ties, &shapes[index], &shapes[other])
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
                order(simd, params, reaches, own_cells, aabb, &mut found[on_planes..], keys);
            }
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            counts.push((found.len() - before) as u32);
            if !tally.goes_on(found.len()) {
                return;
            }
        }
        tally.tell(found.len());
    }

    /// Whether contacts of a shape are as the list has them: then all partners are where they were.
    #[inline(always)]
    fn are_ordered(&self, contacts: &[Contact]) -> bool {
        let stays = |contact: &Contact| {
            let partner = contact.shape_b as usize;
            self.own_cells[partner] == self.cells[partner]
        };
        contacts.iter().all(stays)
    }
}
