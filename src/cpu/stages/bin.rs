//! Sorts the shapes into the cells of the grid, eight at a time, shared among threads; the fast form of
//! [`crate::stages::bin`], to the same bits.

use std::ops::Range;

use glam::Vec2;

use crate::lanes::{
    Select, Simd, SimdBase, SimdCvtFloat, SimdCvtTruncate, SimdMask, WIDTH, columns, dispatch, f32x4, f32x8, i32x4,
    i32x8,
};
pub use crate::stages::bin::bin_place;
use crate::stages::bin::{cell_of_shape, range_of_cells};
use crate::threads::{LIGHT, Threads};
use crate::types::{Aabb, Level, MAX_LEVELS, NONE, Params, ShapeData};

/// Returns the columns and rows of a level that a box covers, as [`crate::stages::bin::cells_between`] does.
#[inline(always)]
#[must_use]
pub fn cells_between<S: Simd>(simd: S, level: &Level, low: Vec2, high: Vec2) -> [i32; 4] {
    let [x, y] = level.inv_cell;
    let scaled = f32x4::load_array(simd, [low.x, low.y, high.x, high.y]) * f32x4::load_array(simd, [x, y, x, y]);
    let scaled = scaled.max(-1e9).min(1e9);
    // Rounded down.
    let toward_zero = i32x4::truncate_from(scaled);
    let above = f32x4::float_from(toward_zero).simd_gt(scaled);
    let [left, bottom, right, top] = above.select(toward_zero - 1, toward_zero).to_array();
    [left, bottom, right.min(left + (1 << level.log2_width) - 1), top.min(bottom + (1 << level.log2_height) - 1)]
}

/// Returns level, row and column of a cell, in the order in which a search of a window visits them. Row and column are
/// relative to the lower left corner of the window, which `corner` returns for a level.
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

/// Finds the cell of each shape; [`NONE`] if it is in no cell.
pub fn bin_find(threads: &Threads, params: &Params, shapes: &[ShapeData], aabbs: &[Aabb], own: &mut Vec<u32>) {
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

/// Returns the cells of eight shapes: all at once if they lie on one level. The sides of the AABBs are given as columns
/// as well.
#[inline(always)]
#[must_use]
pub fn cells_of_eight<S: Simd>(
    params: &Params,
    shapes: &[ShapeData; WIDTH],
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
        // Rounded down.
        let toward_zero = i32x8::truncate_from(scaled);
        let above = f32x8::float_from(toward_zero).simd_gt(scaled);
        above.select(toward_zero - 1, toward_zero) & ((1 << log2) - 1)
    };
    let column = wrapped(left, right, level.inv_cell[0], level.log2_width);
    let row = wrapped(bottom, top, level.inv_cell[1], level.log2_height);
    let cells = (row << level.log2_width) + column + level.first_cell.cast_signed();
    bytemuck::cast(cells.to_array())
}

/// Returns the range of each level's shapes in `cell_shapes`.
#[must_use]
pub fn shapes_of_levels(params: &Params, cell_ends: &[u32]) -> [Range<u32>; MAX_LEVELS] {
    let mut shapes = [const { 0..0 }; MAX_LEVELS];
    for (shapes, level) in shapes.iter_mut().zip(&params.levels[..params.level_count as usize]) {
        let cells = 1 << (level.log2_width + level.log2_height);
        *shapes = range_of_cells(cell_ends, level.first_cell, level.first_cell + cells - 1);
    }
    shapes
}
