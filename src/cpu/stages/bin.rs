//! **bin**: sorts the shapes into the cells of the grid, within a cell by index.
//!
//! A shape lies on the level of its size, or, if it is long and thin and neither tilted nor alone, on one of its bands.
//! Which one is decided anew in every step from its AABB, so that a wall may turn. Nothing else depends on it.
//!
//! Reads aabbs and shapes (levels); writes cell_ends (after the stage, cell `c` holds
//! `cell_shapes[cell_ends[c - 1] .. cell_ends[c]]`) and cell_shapes. On the device five kernels: `bin_clear`,
//! `bin_count` (integer atomics, which commute), scan, `bin_place` (in any order) and `bin_sort` (by index, so that the
//! order of threads leaves no trace). A counting sort in order of the index gives the same here.

use std::ops::Range;

use glam::Vec2;

use crate::cpu::lanes::{
    Select, Simd, SimdBase, SimdCvtFloat, SimdCvtTruncate, SimdMask, WIDTH, columns, dispatch, f32x4, f32x8, i32x4,
    i32x8,
};
use crate::threads::{LIGHT, Threads};
use crate::types::{Aabb, Level, MAX_LEVELS, NONE, Params, Shape};

/// Column and row of a point on a level, before they are wrapped around the torus.
#[inline]
#[must_use]
pub fn cell_of(level: &Level, at: Vec2) -> (i32, i32) {
    let scaled = (at * Vec2::from(level.inv_cell)).clamp(Vec2::splat(-1e9), Vec2::splat(1e9));
    (floor(scaled.x), floor(scaled.y))
}

/// Of a level the columns and rows that a box reaches: left, bottom, right, top, as [`cell_of`] of its corners has them, but
/// at most once around the torus, or a long shape would meet the same cell again.
#[inline(always)]
#[must_use]
pub fn cells_between<S: Simd>(simd: S, level: &Level, low: Vec2, high: Vec2) -> [i32; 4] {
    let [x, y] = level.inv_cell;
    let scaled = f32x4::load_array(simd, [low.x, low.y, high.x, high.y]) * f32x4::load_array(simd, [x, y, x, y]);
    let scaled = scaled.max(-1e9).min(1e9);
    // As `floor` below, four at a time.
    let toward_zero = i32x4::truncate_from(scaled);
    let above = f32x4::float_from(toward_zero).simd_gt(scaled);
    let [left, bottom, right, top] = above.select(toward_zero - 1, toward_zero).to_array();
    [left, bottom, right.min(left + (1 << level.log2_width) - 1), top.min(bottom + (1 << level.log2_height) - 1)]
}

/// Largest integer not above `value`, which is within ±1e9. `f32::floor` is a call into the C library on plain x86-64.
#[inline]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within ±1e9")]
fn floor(value: f32) -> i32 {
    let toward_zero = value as i32;
    toward_zero - i32::from(toward_zero as f32 > value)
}

/// Index of a cell.
#[inline]
#[must_use]
pub fn cell_index(level: &Level, column: i32, row: i32) -> u32 {
    let column = column.cast_unsigned() & ((1 << level.log2_width) - 1);
    let row = row.cast_unsigned() & ((1 << level.log2_height) - 1);
    level.first_cell + (row << level.log2_width) + column
}

/// Level, row and column of a cell, the last two counted from the corner of a window, as whoever goes through its rows comes
/// by them. `corner` says where that is on a level.
#[inline(always)]
#[must_use]
pub fn place_in_window(params: &Params, cell: u32, corner: impl FnOnce(usize) -> [i32; 2]) -> [u32; 3] {
    let levels = &params.levels[..params.level_count as usize];
    let index = levels.partition_point(|level| level.first_cell <= cell).saturating_sub(1);
    let level = &levels[index];
    let (place, [left, bottom]) = (cell - level.first_cell, corner(index).map(i32::cast_unsigned));
    let column = (place & ((1 << level.log2_width) - 1)).wrapping_sub(left) & ((1 << level.log2_width) - 1);
    let row = (place >> level.log2_width).wrapping_sub(bottom) & ((1 << level.log2_height) - 1);
    #[allow(clippy::cast_possible_truncation, reason = "a handful of levels")]
    let index = index as u32;
    [index, row, column]
}

/// Cells `left ..= right` of a row lie side by side, but for a row that wraps around the torus: calls `visit(first, last)`
/// with one run of indices, or two.
#[inline(always)]
pub fn runs_of_row(level: &Level, left: i32, right: i32, row: i32, mut visit: impl FnMut(u32, u32)) {
    let first = cell_index(level, left, row);
    let last = cell_index(level, right, row);
    if first <= last {
        visit(first, last);
    } else {
        visit(first, cell_index(level, -1, row));
        visit(cell_index(level, 0, row), last);
    }
}

/// Middle of an AABB.
#[inline]
#[must_use]
pub fn middle(aabb: &Aabb) -> Vec2 {
    (Vec2::from(aabb.min) + Vec2::from(aabb.max)) * 0.5
}

/// Index of the level on which a shape of level `own` lies in this step: the first band that it fits, else its own.
#[inline]
#[must_use]
pub fn level_of(params: &Params, own: u32, aabb: &Aabb) -> u32 {
    let size = Vec2::from(aabb.max) - Vec2::from(aabb.min);
    for index in own + 1..=own + params.levels[own as usize].bands {
        // Strictly less, so that rounding the size up or down never lets a shape reach over its cell's half.
        let half = params.levels[index as usize].half_cell;
        if size.x < 2.0 * half[0] && size.y < 2.0 * half[1] {
            return index;
        }
    }
    own
}

/// Fills `cell_ends` and `cell_shapes`; `own` is the cell of each shape, [`NONE`] if it is in no cell.
pub fn bin(
    threads: &Threads,
    params: &Params,
    shapes: &[Shape],
    aabbs: &[Aabb],
    own: &mut Vec<u32>,
    cell_ends: &mut Vec<u32>,
    cell_shapes: &mut Vec<u32>,
) {
    bin_find(threads, params, shapes, aabbs, own);
    bin_place(params, own, cell_ends, cell_shapes);
}

/// Which cell each shape is in.
pub fn bin_find(threads: &Threads, params: &Params, shapes: &[Shape], aabbs: &[Aabb], own: &mut Vec<u32>) {
    own.resize(aabbs.len(), NONE);
    threads.for_chunks(LIGHT, own, |first, own| {
        let range = first..first + own.len();
        let (shapes, aabbs) = (shapes[range.clone()].as_chunks(), aabbs[range].as_chunks());
        let (cells, rest) = own.as_chunks_mut();
        dispatch!(simd => for ((cells, shapes), aabbs) in cells.iter_mut().zip(shapes.0).zip(aabbs.0) {
            let row = |lane: usize| f32x4::load_array_ref(simd, bytemuck::cast_ref(&aabbs[lane]));
            let sides = columns([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]);
            *cells = cells_of_eight(params, shapes, aabbs, sides);
        });
        for ((cell, shape), aabb) in rest.iter_mut().zip(shapes.1).zip(aabbs.1) {
            *cell = cell_of_shape(params, shape, aabb);
        }
    });
}

/// The cell of a shape with this AABB.
#[inline(always)]
#[must_use]
pub fn cell_of_shape(params: &Params, shape: &Shape, aabb: &Aabb) -> u32 {
    if aabb.has_room() {
        let level = &params.levels[level_of(params, shape.level, aabb) as usize];
        let (column, row) = cell_of(level, middle(aabb));
        cell_index(level, column, row)
    } else {
        NONE
    }
}

/// The same of eight shapes, all at once if they lie on one level. The sides of the AABBs come as columns as well.
#[inline(always)]
#[must_use]
pub fn cells_of_eight<S: Simd>(
    params: &Params,
    shapes: &[Shape; WIDTH],
    aabbs: &[Aabb; WIDTH],
    [left, bottom, right, top]: [f32x8<S>; 4],
) -> [u32; WIDTH] {
    let own = shapes[0].level;
    let level = &params.levels[own as usize];
    let alike = level.bands == 0 && shapes.iter().all(|shape| shape.level == own) && left.simd_le(right).all_true();
    if !alike {
        let mut cells = [NONE; WIDTH];
        for ((cell, shape), aabb) in cells.iter_mut().zip(shapes).zip(aabbs) {
            *cell = cell_of_shape(params, shape, aabb);
        }
        return cells;
    }
    let wrapped = |low: f32x8<S>, high: f32x8<S>, inv_cell: f32, log2: u32| {
        let scaled = ((low + high) * 0.5 * inv_cell).max(-1e9).min(1e9);
        // As `floor`, eight at a time.
        let toward_zero = i32x8::truncate_from(scaled);
        let above = f32x8::float_from(toward_zero).simd_gt(scaled);
        above.select(toward_zero - 1, toward_zero) & ((1 << log2) - 1)
    };
    let column = wrapped(left, right, level.inv_cell[0], level.log2_width);
    let row = wrapped(bottom, top, level.inv_cell[1], level.log2_height);
    let cells = (row << level.log2_width) + column + level.first_cell.cast_signed();
    bytemuck::cast(cells.to_array())
}

/// Sorts the shapes by their cells.
pub fn bin_place(params: &Params, own: &[u32], cell_ends: &mut Vec<u32>, cell_shapes: &mut Vec<u32>) {
    cell_ends.clear();
    cell_ends.resize(params.cell_count as usize + 1, 0);
    for &cell in own.iter().filter(|&&cell| cell != NONE) {
        cell_ends[cell as usize] += 1;
    }
    // From how many there are in each cell to where it starts; placing moves that to where it ends.
    let mut start = 0;
    for end in cell_ends.iter_mut() {
        let count = *end;
        *end = start;
        start += count;
    }
    cell_shapes.clear();
    cell_shapes.resize(own.len(), 0);
    for (index, &cell) in (0..).zip(own).filter(|&(_, &cell)| cell != NONE) {
        let end = &mut cell_ends[cell as usize];
        cell_shapes[*end as usize] = index;
        *end += 1;
    }
}

/// Where the shapes of each level are in the table of shapes by cell.
#[must_use]
pub fn shapes_of_levels(params: &Params, cell_ends: &[u32]) -> [Range<u32>; MAX_LEVELS] {
    let mut shapes = [const { 0..0 }; MAX_LEVELS];
    for (shapes, level) in shapes.iter_mut().zip(&params.levels[..params.level_count as usize]) {
        let cells = 1 << (level.log2_width + level.log2_height);
        *shapes = range_of_cells(cell_ends, level.first_cell, level.first_cell + cells - 1);
    }
    shapes
}

/// Where the shapes of cells `first ..= last` of one row, which lie side by side, are in the table of shapes by cell.
#[inline]
#[must_use]
pub fn range_of_cells(cell_ends: &[u32], first: u32, last: u32) -> Range<u32> {
    let start = if first == 0 { 0 } else { cell_ends[first as usize - 1] };
    start..cell_ends[last as usize]
}

/// The shapes of cells `first ..= last` of one row.
#[inline]
#[must_use]
pub fn cells<'a>(cell_ends: &[u32], cell_shapes: &'a [u32], first: u32, last: u32) -> &'a [u32] {
    let Range { start, end } = range_of_cells(cell_ends, first, last);
    &cell_shapes[start as usize..end as usize]
}
