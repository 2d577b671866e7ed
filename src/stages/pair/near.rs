//! The same contacts in the same order as [`pair`](super::pair()) finds them, without the grid: looked for among the pairs
//! of a list, of all that lay near each other some steps ago (Verlet, Phys. Rev. 159, 98 (1967)).
//!
//! For the list every AABB is grown by a margin, what the shape moves in some steps, and all pairs of grown ones that
//! overlap are listed. As long as each shape stays within its grown AABB nobody else can meet. Once one has left it the
//! grid is made and searched as ever, and a new list is made of what it says, if everybody is slow enough for it to last.
//! The device looks into its grid in every step.
//!
//! The order of contacts is that of the grid, though that is not there: by the cells that partners are in now.

use std::sync::atomic::{AtomicBool, Ordering};

use glam::{Vec2, Vec4};

use super::{Box, Part, World, gather, half_planes_of, kept_apart, lay_boxes, lend};
use crate::lanes::{Simd, SimdBase, SimdMask, dispatch, f32x4, mask32x4};
use crate::scene::Ties;
use crate::stages::bin::{cells_between, place_in_window, shapes_of_levels};
use crate::stages::bound::EMPTY;
use crate::threads::{HEAVY, LIGHT, Threads};
use crate::types::{Aabb, Contact, Level, MAX_LEVELS, Params, Shape};

/// Steps for which a list should do.
const STEPS: f32 = 8.0;
/// Steps for which it must do, or the grid alone is quicker.
const LEAST_STEPS: f32 = 2.5;
/// Smallest and largest margin, as a share of a cell: the larger, the longer lists last, and the longer they are.
const LEAST_MARGIN: f32 = 0.05;
const MOST_MARGIN: f32 = 0.5;
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
    /// Partners of shape `i` are in `list[starts[i] .. starts[i + 1]]`, as contacts that begin.
    starts: Vec<u32>,
    list: Vec<Contact>,
    /// Cells when it was made; whether its order is right as long as shapes are in those.
    cells: Vec<u32>,
    ordered: bool,
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
        let (grown, is_listed) = (&self.grown, self.is_listed() && self.may_part == may_part);
        let (left, blind) = (AtomicBool::new(!is_listed), self.blind);
        threads.for_chunks(LIGHT, &mut self.boxes, |first, boxes| {
            let aabbs = &aabbs[first..first + boxes.len()];
            for (to, aabb) in boxes.iter_mut().zip(aabbs) {
                *to = Box::of_shape(aabb);
            }
            if is_listed && !blind && !are_within(&grown[first..first + boxes.len()], boxes) {
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
        let margins = (self.idle == 0).then(|| self.grow(params, shapes)).flatten();
        let Some(margins) = margins else {
            self.grown.clear();
            return false;
        };
        self.age = 0;
        let Self { grown, starts, list, cells, in_cells, parts, .. } = self;
        lay_boxes(threads, grown, cell_shapes, in_cells);
        let mut reaches = params.levels.map(|level| Vec2::from(level.half_cell));
        // Twice, so that no rounding matters.
        reaches.iter_mut().zip(margins).for_each(|(reach, margin)| *reach += 2.0 * margin);
        let world = World {
            params,
            shapes,
            aabbs: grown,
            cell_ends,
            cell_shapes,
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
        cells.clear();
        cells.extend_from_slice(own_cells);
        // A window that goes around the torus begins elsewhere once the shape has moved.
        let wide = |level: &Level| level.bands == 0 && level.log2_width.min(level.log2_height) >= 3;
        self.ordered = params.levels[..params.level_count as usize].iter().all(wide);
        self.may_part = may_part;
        true
    }

    /// Grows the AABBs. Returns the largest margin of each level, or none if they would not do for long enough.
    fn grow(&mut self, params: &Params, shapes: &[Shape]) -> Option<[f32; MAX_LEVELS]> {
        let Self { boxes, boxes_before, grown, .. } = self;
        if boxes.len() != shapes.len() || boxes_before.len() != boxes.len() {
            return None;
        }
        let cells = params.levels.map(|level| 2.0 * level.half_cell[0].min(level.half_cell[1]));
        let mut margins = [0.0_f32; MAX_LEVELS];
        grown.clear();
        for ((now, before), shape) in boxes.iter().zip(boxes_before).zip(shapes) {
            if now.is_nowhere() {
                grown.push(EMPTY);
                continue;
            }
            let (level, now, before) = (shape.level as usize, Vec4::from(now.0), Vec4::from(before.0));
            let (least, most) = (LEAST_MARGIN * cells[level], MOST_MARGIN * cells[level]);
            // Of each side how far it went outwards.
            let out = before - now;
            let lasts =
                out.abs().max_element() * LEAST_STEPS <= most && now.abs().max_element() <= MOST_DISTANCE * least;
            if !lasts {
                return None;
            }
            let margin = (out * STEPS).clamp(Vec4::ZERO, Vec4::splat(most)) + least;
            margins[level] = margins[level].max(margin.max_element());
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
        let Self { boxes, starts, list, cells, parts, ordered, may_part, .. } = self;
        let listed = Listed {
            params,
            shapes,
            aabbs,
            own_cells,
            cells,
            ties,
            boxes,
            starts,
            list,
            ordered: *ordered,
            may_part: *may_part,
        };
        find(threads, shapes.len(), parts, pair_starts, contacts, |first, end, part| {
            dispatch!(simd => listed.search(simd, first, end, part));
        });
    }
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

/// Whether each box is within the AABB beside it.
fn are_within(grown: &[Aabb], boxes: &[Box]) -> bool {
    dispatch!(simd => {
        let mut within = mask32x4::splat(simd, true);
        for (grown, now) in grown.iter().zip(boxes) {
            let (grown, now) = (f32x4::load_array(simd, Box::new(grown).0), f32x4::load_array(simd, now.0));
            within &= grown.simd_le(now);
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
    boxes: &'a [Box],
    starts: &'a [u32],
    list: &'a [Contact],
    ordered: bool,
    /// Whom joints keep apart may have changed since.
    may_part: bool,
}

impl Listed<'_> {
    /// The pairs of the shapes in a range.
    #[inline(always)]
    fn search<S: Simd>(&self, simd: S, first: usize, end: usize, part: &mut Part) {
        let Self { params, shapes, aabbs, ties, boxes, starts, list, .. } = *self;
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
                self.order(simd, index, &mut found[on_planes..], keys);
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
        self.ordered && contacts.iter().all(stays)
    }

    /// Brings contacts of a shape into the order in which it would find them in the grid: by level, then by row and column
    /// from the corner of its window, and in a cell by index.
    #[inline(always)]
    fn order<S: Simd>(&self, simd: S, index: usize, contacts: &mut [Contact], keys: &mut Vec<u64>) {
        let Self { params, aabbs, own_cells, .. } = *self;
        let aabb = &aabbs[index];
        let (mut known, mut corner) = (usize::MAX, [0; 2]);
        keys.clear();
        for contact in &*contacts {
            let [level, row, column] = place_in_window(params, own_cells[contact.shape_b as usize], |index| {
                if index != known {
                    let level = &params.levels[index];
                    let reach = Vec2::from(level.half_cell);
                    let (low, high) = (Vec2::from(aabb.min) - reach, Vec2::from(aabb.max) + reach);
                    let [left, bottom, ..] = cells_between(simd, level, low, high);
                    (known, corner) = (index, [left, bottom]);
                }
                corner
            });
            // Rows and columns are below 4,096.
            keys.push(u64::from(level << 24 | row << 12 | column) << 32 | u64::from(contact.shape_b));
        }
        // Hardly ever many, and mostly in order.
        for end in 1..keys.len() {
            let mut place = end;
            while place > 0 && keys[place - 1] > keys[place] {
                keys.swap(place - 1, place);
                contacts.swap(place - 1, place);
                place -= 1;
            }
        }
    }
}
