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

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use glam::{Vec2, Vec4};

use super::{Box, Part, World, gather, half_planes_of, kept_apart, lay_boxes, lend, order, reaches_of};
use crate::lanes::{Simd, SimdBase, SimdMask, dispatch, f32x4, mask32x4};
use crate::scene::Ties;
use crate::stages::bin::shapes_of_levels;
use crate::stages::bound::EMPTY;
use crate::threads::{HEAVY, LIGHT, Threads};
use crate::types::{Aabb, Contact, FIXED_SHAPE, Level, MAX_LEVELS, NONE, Params, Shape};

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
/// Shapes up to which the list stays in caches. To read a longer one takes longer than to look into the grid.
const MOST_SHAPES: usize = 1 << 15;
/// Coordinates, as a multiple of the smallest margin, up to which rounding does not matter beside it.
const MOST_DISTANCE: f32 = 1e6;

/// Shapes that lie near each other.
#[derive(Debug, Default)]
pub struct Near {
    /// AABBs of this step, and of the one before.
    boxes: Vec<Box>,
    boxes_before: Vec<Box>,
    /// Grown AABBs; none if there is no list.
    grown: Vec<Aabb>,
    /// Some of the shapes that may move, with their middles when the list was made; none if it does not go with most.
    sample: Vec<(u32, Vec2)>,
    /// Partners of shape `i` are in `list[starts[i] .. starts[i + 1]]`, as contacts that begin.
    starts: Vec<u32>,
    list: Vec<Contact>,
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

impl Near {
    /// Shapes were changed, or are elsewhere all of a sudden.
    pub fn forget(&mut self) {
        self.boxes.clear();
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
        if aabbs.len() > MOST_SHAPES {
            self.forget();
            return false;
        }
        std::mem::swap(&mut self.boxes, &mut self.boxes_before);
        self.boxes.resize(aabbs.len(), Box::NOWHERE);
        let is_listed = self.is_listed() && self.may_part == may_part;
        let Self { boxes, grown, sample, blind, .. } = self;
        let moved = if is_listed { moved_since(sample, |shape| Box::of_shape(&aabbs[shape])) } else { Vec2::ZERO };
        let (left, blind) = (AtomicBool::new(!is_listed), *blind);
        threads.for_chunks(LIGHT, boxes, |first, boxes| {
            let aabbs = &aabbs[first..first + boxes.len()];
            for (to, aabb) in boxes.iter_mut().zip(aabbs) {
                *to = Box::of_shape(aabb);
            }
            if is_listed && !blind && !are_within(&grown[first..first + boxes.len()], boxes, moved) {
                left.store(true, Ordering::Relaxed);
            }
        });
        !left.into_inner()
    }

    fn is_listed(&self) -> bool {
        self.grown.len() == self.boxes.len()
    }

    /// Makes a new list from the grid of this step. Returns false if it would not last: then there is none.
    pub fn make(
        &mut self,
        threads: &Threads,
        params: &Params,
        shapes: &[Shape],
        (own_cells, cell_ends, cell_shapes): (&[u32], &[u32], &[u32]),
        ties: &Ties,
        may_part: bool,
    ) -> bool {
        if self.is_listed() && self.age < 2 {
            self.idle = IDLE;
        }
        self.idle = self.idle.saturating_sub(1);
        let margins = (self.idle == 0).then(|| self.grow_all(params, shapes)).flatten();
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
        find(threads, shapes.len(), parts, starts, list, |first, end, part| {
            dispatch!(simd => world.search::<false, _>(simd, first, end, |_| true, part));
        });
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
        self.may_part = may_part;
        true
    }

    /// Grows the AABBs for shapes that go on as they do. Returns how much at most on each level: left, below, right, above, and
    /// more than any rounding. None if that would not do for long enough.
    fn grow_all(&mut self, params: &Params, shapes: &[Shape]) -> Option<[Vec4; MAX_LEVELS]> {
        let Self { boxes, boxes_before, sample, .. } = self;
        if boxes.len() != shapes.len() || boxes_before.len() != boxes.len() {
            return None;
        }
        let some = (0..SAMPLE).map(|place| place * shapes.len() / SAMPLE);
        let some = some.filter(|&shape| shapes[shape].kind & FIXED_SHAPE == 0 && !boxes[shape].is_nowhere());
        sample.clear();
        #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
        sample.extend(some.map(|shape| (shape as u32, boxes[shape].middle())));
        // From there back to the step before.
        let most = -moved_since(sample, |shape| boxes_before[shape]);
        let margins = self.grow(params, shapes, most);
        if margins.is_some() || most == Vec2::ZERO {
            return margins;
        }
        // If there is much that stays behind, it may be better not to go with most.
        self.sample.clear();
        self.grow(params, shapes, Vec2::ZERO)
    }

    /// The same, if most move so far in a step.
    fn grow(&mut self, params: &Params, shapes: &[Shape], most: Vec2) -> Option<[Vec4; MAX_LEVELS]> {
        let Self { boxes, boxes_before, grown, .. } = self;
        let with_most = Vec4::new(most.x, most.y, -most.x, -most.y);
        let cells = params.levels.map(|level| 2.0 * level.half_cell[0].min(level.half_cell[1]));
        let mut margins = [Vec4::ZERO; MAX_LEVELS];
        grown.clear();
        for ((now, before), shape) in boxes.iter().zip(boxes_before).zip(shapes) {
            if now.is_nowhere() {
                grown.push(EMPTY);
                continue;
            }
            let (level, now, before) = (shape.level as usize, Vec4::from(now.0), Vec4::from(before.0));
            let (least, most) = (LEAST_MARGIN * cells[level], MOST_MARGIN * cells[level]);
            // Of each side how far it went outwards.
            let out = before + with_most - now;
            let lasts =
                out.abs().max_element() * LEAST_STEPS <= most && now.abs().max_element() <= MOST_DISTANCE * least;
            if !lasts {
                return None;
            }
            let margin = (out * STEPS).clamp(Vec4::ZERO, Vec4::splat(most)) + least;
            margins[level] = margins[level].max(margin + least);
            let [left, bottom, right, top] = ((now - margin) * Vec4::new(1.0, 1.0, -1.0, -1.0)).to_array();
            grown.push(Aabb { min: [left, bottom], max: [right, top] });
        }
        // Those of a level may lie on its bands as well.
        for own in 0..params.level_count as usize {
            let bands = params.levels[own].bands as usize;
            let margin = margins[own];
            margins[own..=own + bands].fill(margin);
        }
        Some(margins)
    }

    /// Fills `pair_starts` and `contacts` from the list.
    pub fn pair(
        &mut self,
        threads: &Threads,
        params: &Params,
        shapes: &[Shape],
        aabbs: &[Aabb],
        own_cells: &[u32],
        ties: &Ties,
        pair_starts: &mut Vec<u32>,
        contacts: &mut Vec<Contact>,
    ) {
        self.age = self.age.saturating_add(1);
        let Self { boxes, starts, list, cells, parts, may_part, .. } = self;
        let listed = Listed {
            params,
            shapes,
            aabbs,
            own_cells,
            cells,
            ties,
            reaches: reaches_of(params),
            boxes,
            starts,
            list,
            may_part: *may_part,
        };
        find(threads, shapes.len(), parts, pair_starts, contacts, |first, end, part| {
            dispatch!(simd => listed.search(simd, first, end, part));
        });
    }
}

/// How far most of a sample have moved since it was taken. Any answer is right; lists last longest with a good one.
fn moved_since(sample: &[(u32, Vec2)], now: impl Fn(usize) -> Box) -> Vec2 {
    let median = |axis: usize| {
        let mut moved = [0.0; SAMPLE];
        let moved = &mut moved[..sample.len()];
        for (moved, &(shape, before)) in moved.iter_mut().zip(sample) {
            *moved = (now(shape as usize).middle() - before)[axis];
        }
        match moved.len() {
            0 => 0.0,
            len => *moved.select_nth_unstable_by(len / 2, f32::total_cmp).1,
        }
    };
    let moved = Vec2::new(median(0), median(1));
    if moved.is_finite() { moved } else { Vec2::ZERO }
}

/// Pairs of so many shapes, by parts that `search` finds.
fn find(
    threads: &Threads,
    shapes: usize,
    parts: &mut Vec<Part>,
    starts: &mut Vec<u32>,
    found: &mut Vec<Contact>,
    search: impl Fn(usize, usize, &mut Part) + Sync,
) {
    lend(parts, starts, found);
    gather(threads.for_parts(HEAVY, shapes, parts, search), starts, found);
}

/// Whether each box is within the AABB beside it, measured from what has moved so far.
fn are_within(grown: &[Aabb], boxes: &[Box], moved: Vec2) -> bool {
    dispatch!(simd => {
        let moved = f32x4::load_array(simd, [moved.x, moved.y, -moved.x, -moved.y]);
        let mut within = mask32x4::splat(simd, true);
        for (grown, now) in grown.iter().zip(boxes) {
            let (grown, now) = (f32x4::load_array(simd, Box::new(grown).0), f32x4::load_array(simd, now.0));
            within &= grown.simd_le(now - moved);
        }
        within.all_true()
    })
}

/// All that is read.
struct Listed<'a> {
    params: &'a Params,
    shapes: &'a [Shape],
    aabbs: &'a [Aabb],
    own_cells: &'a [u32],
    cells: &'a [u32],
    ties: &'a Ties,
    reaches: [[Vec2; 2]; MAX_LEVELS],
    boxes: &'a [Box],
    starts: &'a [u32],
    list: &'a [Contact],
    /// Whom joints keep apart may have changed since.
    may_part: bool,
}

impl Listed<'_> {
    /// The pairs of the shapes in a range.
    #[inline(always)]
    fn search<S: Simd>(&self, simd: S, first: usize, end: usize, part: &mut Part) {
        let Self { params, shapes, aabbs, own_cells, ties, boxes, starts, list, ref reaches, .. } = *self;
        let Part { counts, found, keys, .. } = part;
        counts.clear();
        found.clear();
        counts.reserve(end - first + 1);
        found.reserve(4 * (end - first));
        let has_planes = params.planes().next().is_some();
        for index in first..end {
            let before = found.len();
            let now = boxes[index];
            if has_planes && !now.is_nowhere() {
                half_planes_of(params, shapes, aabbs, ties, index, |_| true, found);
            }
            let on_planes = found.len();
            let window = now.window(simd);
            for some in list[starts[index] as usize..starts[index + 1] as usize].chunks(32) {
                let mut met = 0_u32;
                for (place, contact) in some.iter().enumerate() {
                    let partner = f32x4::load_array(simd, boxes[contact.shape_b as usize].0);
                    met |= u32::from(partner.simd_le(window).all_true()) << place;
                }
                if met.count_ones() as usize == some.len() && !self.may_part {
                    found.extend_from_slice(some);
                    continue;
                }
                while met != 0 {
                    let contact = some[met.trailing_zeros() as usize];
                    met &= met - 1;
                    if !self.may_part || !kept_apart(ties, &shapes[index], &shapes[contact.shape_b as usize]) {
                        found.push(contact);
                    }
                }
            }
            if found.len() - on_planes > 1 && !self.are_ordered(&found[on_planes..]) {
                order(simd, params, reaches, own_cells, &aabbs[index], &mut found[on_planes..], keys);
            }
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            counts.push((found.len() - before) as u32);
        }
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
