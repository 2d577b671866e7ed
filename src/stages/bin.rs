//! **bin**: sorts the shapes into the cells of the broad-phase grid, within a cell by index. The grid has a level for
//! each size of shapes, and each level wraps around like a torus.
//!
//! A shape lies on the level of its size. Some levels have bands: levels with long flat or narrow cells. A shape that
//! is long and thin and not tilted lies on the first band that it fits. The level is chosen again in every step from
//! the AABB, so that a wall may turn. Nothing else depends on it.
//!
//! Reads aabbs and shapes (levels); writes cell_ends (after the stage, cell `c` holds `cell_shapes[cell_ends[c - 1] ..
//! cell_ends[c]]`) and cell_shapes. The device runs five kernels: `bin_clear`, `bin_count` (integer atomics, which
//! commute), scan, `bin_place` (in any order) and `bin_sort` (by index, so that the order of threads leaves no trace).
//! Here a counting sort in order of the index gives the same result.

use std::ops::Range;

use glam::Vec2;

use crate::types::{Aabb, Level, NONE, Params, ShapeData};

/// Fills `cell_ends` and `cell_shapes`.
pub fn bin(
    params: &Params,
    shapes: &[ShapeData],
    aabbs: &[Aabb],
    cell_ends: &mut Vec<u32>,
    cell_shapes: &mut Vec<u32>,
) {
    let shape_cells: Vec<u32> =
        shapes.iter().zip(aabbs).map(|(shape, aabb)| cell_of_shape(params, shape, aabb)).collect();
    bin_place(params, &shape_cells, cell_ends, cell_shapes);
}

/// Sorts the shapes by cell, within a cell by index.
pub fn bin_place(params: &Params, shape_cells: &[u32], cell_ends: &mut Vec<u32>, cell_shapes: &mut Vec<u32>) {
    // bin_clear
    cell_ends.clear();
    cell_ends.resize(params.cell_count as usize + 1, 0);
    // bin_count
    for &cell in shape_cells.iter().filter(|&&cell| cell != NONE) {
        cell_ends[cell as usize] += 1;
    }
    // From the number of shapes per cell to the start of each cell. Placing a shape advances the start, which becomes
    // the end.
    let mut start = 0;
    for end in cell_ends.iter_mut() {
        let count = *end;
        *end = start;
        start += count;
    }
    // bin_place
    cell_shapes.clear();
    cell_shapes.resize(shape_cells.len(), 0);
    for (shape, &cell) in (0..).zip(shape_cells).filter(|&(_, &cell)| cell != NONE) {
        let end = &mut cell_ends[cell as usize];
        cell_shapes[*end as usize] = shape;
        *end += 1;
    }
}

/// Returns the cell of a shape with this AABB, or [`NONE`] for inverted boxes (half planes, quarantined bodies).
#[inline(always)]
#[must_use]
pub fn cell_of_shape(params: &Params, shape: &ShapeData, aabb: &Aabb) -> u32 {
    if aabb.has_room() {
        let level = &params.levels[level_of(params, shape.level, aabb) as usize];
        let (column, row) = cell_of(level, middle(aabb));
        cell_index(level, column, row)
    } else {
        NONE
    }
}

/// Returns the middle of an AABB.
#[inline]
#[must_use]
pub fn middle(aabb: &Aabb) -> Vec2 {
    (Vec2::from(aabb.min) + Vec2::from(aabb.max)) * 0.5
}

/// Returns the index of the level on which a shape of level `own` lies in this step: the first band that it fits, else
/// its own level.
#[inline]
#[must_use]
pub fn level_of(params: &Params, own: u32, aabb: &Aabb) -> u32 {
    let size = Vec2::from(aabb.max) - Vec2::from(aabb.min);
    for index in own + 1..=own + params.levels[own as usize].bands {
        // Strictly less, so that rounding the size up or down never lets a shape reach over half a cell.
        let half = params.levels[index as usize].half_cell;
        if size.x < 2.0 * half[0] && size.y < 2.0 * half[1] {
            return index;
        }
    }
    own
}

/// Returns column and row of a point on a level, before they are wrapped around the torus.
#[inline]
#[must_use]
pub fn cell_of(level: &Level, at: Vec2) -> (i32, i32) {
    let scaled = (at * Vec2::from(level.inv_cell)).clamp(Vec2::splat(-1e9), Vec2::splat(1e9));
    (floor(scaled.x), floor(scaled.y))
}

/// Returns the largest integer not above `value`, which is within ±1e9. `f32::floor` is a call into the C library on
/// plain x86-64.
#[inline]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within ±1e9")]
fn floor(value: f32) -> i32 {
    let toward_zero = value as i32;
    toward_zero - i32::from(toward_zero as f32 > value)
}

/// Returns the index of a cell, given its column and row before wrapping.
#[inline]
#[must_use]
pub fn cell_index(level: &Level, column: i32, row: i32) -> u32 {
    let column = column.cast_unsigned() & ((1 << level.log2_width) - 1);
    let row = row.cast_unsigned() & ((1 << level.log2_height) - 1);
    level.first_cell + (row << level.log2_width) + column
}

/// Returns the columns and rows of a level that a box covers (left, bottom, right, top): those of its corners, but at
/// most once around the torus, or a long shape would meet the same cell twice.
#[must_use]
pub fn cells_between(level: &Level, low: Vec2, high: Vec2) -> [i32; 4] {
    let ((left, bottom), (right, top)) = (cell_of(level, low), cell_of(level, high));
    [left, bottom, right.min(left + (1 << level.log2_width) - 1), top.min(bottom + (1 << level.log2_height) - 1)]
}

/// Calls `visit(first, last)` for the cells `left ..= right` of a row: one contiguous run, or two if the row wraps
/// around the torus.
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

/// Returns the range of cells `first ..= last` of one row in `cell_shapes`.
#[inline]
#[must_use]
pub fn range_of_cells(cell_ends: &[u32], first: u32, last: u32) -> Range<u32> {
    let start = if first == 0 { 0 } else { cell_ends[first as usize - 1] };
    start..cell_ends[last as usize]
}

/// Returns the shapes of cells `first ..= last` of one row.
#[inline]
#[must_use]
pub fn cells<'a>(cell_ends: &[u32], cell_shapes: &'a [u32], first: u32, last: u32) -> &'a [u32] {
    let Range { start, end } = range_of_cells(cell_ends, first, last);
    &cell_shapes[start as usize..end as usize]
}
