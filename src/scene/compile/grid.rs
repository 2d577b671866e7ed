//! The broadphase grid of a world: cell sizes from the sizes of the shapes, the level of each shape, and half planes,
//! which are in no cell.

use std::collections::BTreeSet;

use glam::Vec2;

use super::Compiled;
use crate::constants::{FEW_LONG, LONG};
use crate::stages::{
    bin::{level_of, middle},
    bound::bound_shape,
};
use crate::types::{self, Aabb, Level, Params, Pose, u32_from};

/// Number of sizes of square grid cells; each is four times as wide as the next smaller one.
const CELL_SIZES: usize = types::MAX_LEVELS / 3;

impl Compiled {
    /// Builds the grid for the present shapes; each gets a level.
    pub(crate) fn build_grid(&mut self) {
        let first = self.params.half_plane_count as usize;
        build_grid(&mut self.params, &mut self.shapes[first..], &self.vertices, &self.poses);
    }

    /// Sets the level of some shapes to the finest whose cells they fit. Returns false if a shape fits none.
    pub(crate) fn fit_levels(&mut self, shapes: &BTreeSet<u32>) -> bool {
        let Params { levels, level_count, aabb_margin, .. } = self.params;
        let mut all_fit = true;
        for &index in shapes {
            let shape = &mut self.shapes[index as usize];
            if shape.kind & types::GEOMETRY_MASK == types::HALF_PLANE {
                continue;
            }
            let mut own = 0;
            while own < level_count && 2.0 * levels[own as usize].half_cell[0] < reach(shape.bound, aabb_margin) {
                own += levels[own as usize].bands + 1;
            }
            all_fit &= own < level_count;
            shape.level = own.min(level_count.saturating_sub(1));
        }
        all_fit
    }

    /// Registers the half plane in this slot, which was added to the running world.
    pub(crate) fn add_plane(&mut self, place: u32) {
        let count = self.params.late_plane_count as usize;
        if let Some(row) = self.params.late_planes.as_flattened_mut().get_mut(count) {
            *row = place;
            self.params.late_plane_count += 1;
        }
    }

    /// Drops removed half planes from the list of those added to the running world.
    pub(crate) fn drop_planes(&mut self) {
        let kind = |place: u32| self.shapes[place as usize].kind & types::GEOMETRY_MASK;
        let late = self.params.planes().skip(self.params.half_plane_count as usize);
        let left: Vec<u32> = late.filter(|&place| kind(place) == types::HALF_PLANE).collect();
        self.params.late_planes = [[0; 4]; types::MAX_LATE_PLANES / 4];
        self.params.late_planes.as_flattened_mut()[..left.len()].copy_from_slice(&left);
        self.params.late_plane_count = u32_from(left.len());
    }
}

/// Chooses the sizes of the cells, sets every shape's level, and sizes the tori.
///
/// The finest cell is twice the 95th-percentile bound, so that most shapes share one level and find their neighbours in
/// 3 × 3 cells; each coarser one is four times as wide, the last as wide as the largest shape needs. If many long
/// shapes lie flat, or stand upright, their level is followed by a band of cells that are as long but thinner.
///
/// The initial poses only affect speed. A shape is found in every pose: one that fits no band is put in the square
/// cells.
fn build_grid(params: &mut Params, shapes: &mut [types::ShapeData], vertices: &[[f32; 2]], poses: &[Pose]) {
    params.cell_count = 0;
    params.level_count = 0;
    let margin = params.aabb_margin;
    // Half planes are in no cell.
    let there =
        |shape: &types::ShapeData| !matches!(shape.kind & types::GEOMETRY_MASK, types::NO_SHAPE | types::HALF_PLANE);
    let mut bounds: Vec<f32> = shapes.iter().filter(|shape| there(shape)).map(|shape| shape.bound).collect();
    if bounds.is_empty() {
        return;
    }
    bounds.sort_unstable_by(f32::total_cmp);
    let largest = bounds[bounds.len() - 1];
    let typical = bounds[(bounds.len() - 1) * 95 / 100];
    let reach = |bound: f32| reach(bound, margin);
    let mut cells = [reach(typical); CELL_SIZES];
    for size in 1..cells.len() {
        cells[size] = cells[size - 1] * 4.0;
    }
    cells[CELL_SIZES - 1] = cells[CELL_SIZES - 1].max(reach(largest));
    // Shapes by size of cell.
    let mut sorted = [const { Vec::new() }; CELL_SIZES];
    for (index, shape) in shapes.iter().enumerate().filter(|(_, shape)| there(shape)) {
        let size = cells.iter().position(|&cell| reach(shape.bound) <= cell).unwrap_or(CELL_SIZES - 1);
        sorted[size].push(index);
    }

    let mut levels = Vec::new();
    for (size, members) in sorted.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let own = levels.len();
        let aabbs: Vec<Aabb> = members
            .iter()
            .map(|&index| {
                bound_shape(&shapes[index], vertices, &poses[shapes[index].body as usize], Vec2::splat(margin))
            })
            .collect();
        for &index in members {
            shapes[index].level = u32_from(own);
        }
        let long = cells[size];
        let thinner = &cells[..size];
        levels.push(level(Vec2::splat(long)));
        let sizes = || aabbs.iter().map(|aabb| Vec2::from(aabb.max) - Vec2::from(aabb.min));
        let flat = sizes().filter(|size| size.y * LONG <= size.x).map(|size| size.y);
        let upright = sizes().filter(|size| size.x * LONG <= size.y).map(|size| size.x);
        levels.extend(band(thinner, flat).map(|low| level(Vec2::new(long, low))));
        levels.extend(band(thinner, upright).map(|narrow| level(Vec2::new(narrow, long))));
        levels[own].bands = u32_from(levels.len() - own - 1);
        params.levels[own..levels.len()].copy_from_slice(&levels[own..]);

        let mut places = vec![Vec::new(); levels.len() - own];
        for aabb in &aabbs {
            // Any shape may turn out of its band, so the square cells are sized for all.
            places[0].push(middle(aabb));
            let lies_on = level_of(params, u32_from(own), aabb) as usize - own;
            if lies_on > 0 {
                places[lies_on].push(middle(aabb));
            }
        }
        for (level, places) in levels[own..].iter_mut().zip(&places) {
            size_torus(level, places);
            level.first_cell = params.cell_count;
            params.cell_count += 1 << (level.log2_width + level.log2_height);
        }
    }
    params.level_count = u32_from(levels.len());
    params.levels[..levels.len()].copy_from_slice(&levels);
}

/// Returns the width of a cell that a shape of this bound fits, m: a thousandth more than needed, so that rounding
/// never makes a shape reach beyond its neighbour cell.
fn reach(bound: f32, margin: f32) -> f32 {
    2.0 * (bound + margin) * 1.001
}

/// Returns a level with cells of this size, m.
fn level(cell: Vec2) -> Level {
    Level { inv_cell: (1.0 / cell).into(), half_cell: (0.5 * cell).into(), ..Level::default() }
}

/// Returns the thickness of a band's cells for long shapes of these thicknesses, m: the smallest of `thinner`
/// (ascending) that three in four of them fit. `None` if the shapes are few.
fn band(thinner: &[f32], thicknesses: impl Iterator<Item = f32>) -> Option<f32> {
    let widest = *thinner.last()?;
    let mut thin: Vec<f32> = thicknesses.filter(|&thickness| thickness < widest).collect();
    if thin.len() <= FEW_LONG {
        return None;
    }
    thin.sort_unstable_by(f32::total_cmp);
    let most = thin[(thin.len() - 1) * 3 / 4];
    thinner.iter().copied().find(|&cell| most < cell)
}

/// Sizes a level's torus to about the aspect ratio of the area of its shapes, and one or two cells a shape.
fn size_torus(level: &mut Level, places: &[Vec2]) {
    let (mut min, mut max) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
    for &at in places {
        min = min.min(at);
        max = max.max(at);
    }
    let span = if places.is_empty() { Vec2::ZERO } else { (max - min) * Vec2::from(level.inv_cell) + 2.0 };
    let log2 = |cells_across: f32| {
        let mut log2 = 2_u32;
        #[allow(clippy::cast_precision_loss, reason = "a small power of two")]
        while log2 < 12 && ((1_u32 << log2) as f32) < cells_across {
            log2 += 1;
        }
        log2
    };
    let (mut width, mut height) = (log2(span.x), log2(span.y));
    // At most four cells a shape: sparse scenes wrap sooner instead of clearing empty cells.
    let most = (places.len() as u64).max(4) * 4;
    while (1_u64 << (width + height)) > most && width + height > 4 {
        if width >= height { width -= 1 } else { height -= 1 }
    }
    (level.log2_width, level.log2_height) = (width, height);
}
