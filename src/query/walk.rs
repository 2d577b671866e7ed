//! Traversal of the grid: the shapes that a ray or a region can meet. The GPU has the same functions in
//! `shaders/ray.wgsl`, `shaders/query.wgsl` and `shaders/region.wgsl`.
//!
//! **A region** visits the cells around its box, as [`pair`](crate::stages::pair) does, at most once around a torus.
//!
//! **A ray** goes through each level in slices, one cell thick, across the axis along which it passes more cells. From
//! slice to slice it moves by a cell or less, so each costs a few cells, and the first slice that begins behind the
//! nearest hit so far ends the walk. A ray that would visit as many cells as the level has tests all shapes of the
//! level instead, which are consecutive in memory, however often it winds around the torus. So does a ray that winds
//! around and whose hits are all wanted, each once.

use glam::Vec2;

use super::cast::{Met, cast_shape};
use super::item_of_hit;
use super::narrow::{is_near, is_placed, ray_shape, region_shape, sees};
use crate::constants::{RAY_SLACK, SLICE_CELLS};
use crate::stages::bin::{cell_index, cell_of, cells, cells_between, runs_of_row};
use crate::stages::pair::overlap;
use crate::types::{
    Aabb, FINDS_HITS, GEOMETRY_MASK, HALF_PLANE, HALF_PLANE_ROW, Hit, Level, NONE, Params, Pose, Ray, Region,
    SENSOR_SHAPE, SOLID_ONLY, ShapeData,
};

/// Tables that queries read: the world, and the grid for its present poses.
#[derive(Clone, Copy)]
pub struct QueryTables<'a> {
    pub params: &'a Params,
    pub shapes: &'a [ShapeData],
    pub vertices: &'a [[f32; 2]],
    pub poses: &'a [Pose],
    pub aabbs: &'a [Aabb],
    pub cell_ends: &'a [u32],
    pub cell_shapes: &'a [u32],
}

impl QueryTables<'_> {
    fn pose(&self, shape: u32) -> &Pose {
        &self.poses[self.shapes[shape as usize].body as usize]
    }

    /// Returns false if the body of a half plane is quarantined.
    fn has_half_plane(&self, plane: u32) -> bool {
        self.aabbs[plane as usize].min[0] == HALF_PLANE_ROW as f32
    }
}

/// Takes the shapes that a ray may hit.
trait RayVisitor {
    /// True if no shape may be visited twice.
    const IS_ONCE: bool;
    /// Returns the fraction of the ray up to which shapes are wanted.
    fn end(&self) -> f32;
    /// Takes the hit of a shape.
    fn take(&mut self, shape: u32, fraction: f32, normal: Vec2);
}

/// The nearest hit so far.
struct Nearest {
    fraction: f32,
    normal: Vec2,
    shape: u32,
}

impl RayVisitor for Nearest {
    const IS_ONCE: bool = false;

    fn end(&self) -> f32 {
        self.fraction
    }

    fn take(&mut self, shape: u32, fraction: f32, normal: Vec2) {
        if fraction < self.fraction || (fraction == self.fraction && shape < self.shape) {
            *self = Self { fraction, normal, shape };
        }
    }
}

/// All hits, as items of a region.
struct HitItems<'a>(&'a mut Vec<u32>);

impl RayVisitor for HitItems<'_> {
    const IS_ONCE: bool = true;

    fn end(&self) -> f32 {
        1.0
    }

    fn take(&mut self, shape: u32, fraction: f32, normal: Vec2) {
        self.0.extend(item_of_hit(shape, fraction, normal));
    }
}

/// Returns the first hit of a ray; among several shapes at the same fraction the one of lowest index. Adds the number
/// of shapes and cells tested to `effort`.
pub fn ray(tables: &QueryTables, ray: &Ray, effort: &mut u64) -> Hit {
    let mut nearest = Nearest { fraction: 1.0, normal: Vec2::ZERO, shape: NONE };
    visit_ray(tables, ray, &mut nearest, effort);
    hit(ray, nearest.fraction, nearest.normal, nearest.shape)
}

/// Returns the first hit of a ray by testing every shape, without the grid.
pub fn ray_brute(tables: &QueryTables, ray: &Ray) -> Hit {
    let mut nearest = Nearest { fraction: 1.0, normal: Vec2::ZERO, shape: NONE };
    visit_brute(tables, ray, &mut nearest);
    hit(ray, nearest.fraction, nearest.normal, nearest.shape)
}

fn visit_ray(tables: &QueryTables, ray: &Ray, visitor: &mut impl RayVisitor, effort: &mut u64) {
    for plane in tables.params.planes().filter(|&plane| tables.has_half_plane(plane)) {
        *effort += 1;
        meet(tables, ray, plane, visitor);
    }
    for level in &tables.params.levels[..tables.params.level_count as usize] {
        ray_level(tables, ray, level, visitor, effort);
    }
}

fn visit_brute(tables: &QueryTables, ray: &Ray, visitor: &mut impl RayVisitor) {
    for shape in (0..tables.params.shape_count).filter(|&shape| is_there(tables, shape)) {
        meet(tables, ray, shape, visitor);
    }
}

fn hit(ray: &Ray, fraction: f32, normal: Vec2, shape: u32) -> Hit {
    let point = Vec2::from(ray.origin) + Vec2::from(ray.delta) * fraction;
    Hit { point: point.into(), normal: normal.into(), fraction, shape, depth: 0.0, pad: 0 }
}

/// Returns false if the body of a shape is quarantined.
fn is_there(tables: &QueryTables, shape: u32) -> bool {
    let aabb = &tables.aabbs[shape as usize];
    let plane = tables.shapes[shape as usize].kind & GEOMETRY_MASK == HALF_PLANE;
    aabb.has_room() || (plane && tables.has_half_plane(shape))
}

/// Returns true if a ray may meet a shape: by its filter, and as its body has a place in the world.
fn may_meet(tables: &QueryTables, ray: &Ray, shape: u32) -> bool {
    let there = &tables.shapes[shape as usize];
    let is_met = ray.flags & SOLID_ONLY == 0 || there.kind & SENSOR_SHAPE == 0;
    is_met
        && there.body != ray.ignore
        && sees(ray.category, ray.mask, ray.group, there)
        && is_placed(tables.pose(shape))
}

fn meet(tables: &QueryTables, ray: &Ray, shape: u32, visitor: &mut impl RayVisitor) {
    if !may_meet(tables, ray, shape) {
        return;
    }
    let there = &tables.shapes[shape as usize];
    if let Some((fraction, normal)) = ray_shape(ray, there, tables.vertices, tables.pose(shape)) {
        visitor.take(shape, fraction, normal);
    }
}

/// Tests the ray against the shapes of cells `first ..= last`.
fn meet_cells(
    tables: &QueryTables,
    ray: &Ray,
    slack: f32,
    [first, last]: [u32; 2],
    visitor: &mut impl RayVisitor,
    effort: &mut u64,
) {
    let shapes = cells(tables.cell_ends, tables.cell_shapes, first, last);
    *effort += 1 + shapes.len() as u64;
    for &shape in shapes {
        if is_near(ray, visitor.end(), slack, &tables.aabbs[shape as usize]) {
            meet(tables, ray, shape, visitor);
        }
    }
}

fn ray_level<V: RayVisitor>(tables: &QueryTables, ray: &Ray, level: &Level, visitor: &mut V, effort: &mut u64) {
    let from = Vec2::from(ray.origin);
    let delta = Vec2::from(ray.delta);
    let slack = RAY_SLACK * (from.abs() + delta.abs()).max_element();
    // Shapes of this level reach at most half a cell from their middle.
    let reach = Vec2::from(level.half_cell) + slack;
    let inv_cell = Vec2::from(level.inv_cell);
    let end = from + delta * visitor.end();
    let low = cell_of(level, from.min(end) - reach);
    let high = cell_of(level, from.max(end) + reach);
    let steps = delta.abs() * inv_cell;
    let upright = steps.y >= steps.x;
    let (first, last) = if upright { (low.1, high.1) } else { (low.0, high.0) };
    let slices = (last - first).cast_unsigned() + 1;
    let cells = 1_u32 << (level.log2_width + level.log2_height);
    let around = 1_u32 << if upright { level.log2_height } else { level.log2_width };
    if slices >= cells / SLICE_CELLS || (V::IS_ONCE && slices > around) {
        let all = [level.first_cell, level.first_cell + cells - 1];
        meet_cells(tables, ray, slack, all, visitor, effort);
        return;
    }

    let along = |v: Vec2| if upright { v.y } else { v.x };
    let rate = along(delta);
    let inverse = if rate == 0.0 { 0.0 } else { 1.0 / rate };
    let thickness = 2.0 * along(level.half_cell.into());
    for step in 0..slices.cast_signed() {
        let slice = if rate >= 0.0 { first + step } else { last - step };
        // The part of the ray within reach of this slice, from `enter` to `leave`.
        let near_side = slice as f32 * thickness - along(reach);
        let far_side = slice as f32 * thickness + thickness + along(reach);
        let a = (near_side - along(from)) * inverse;
        let b = (far_side - along(from)) * inverse;
        let enter = a.min(b).max(0.0);
        let leave = a.max(b).min(visitor.end());
        if enter > visitor.end() {
            break;
        }
        let (at, to) = (from + delta * enter, from + delta * leave);
        let low = cell_of(level, at.min(to) - reach);
        let high = cell_of(level, at.max(to) + reach);
        if upright {
            let right = high.0.min(low.0 + (1 << level.log2_width) - 1);
            runs_of_row(level, low.0, right, slice, |first, last| {
                meet_cells(tables, ray, slack, [first, last], visitor, effort);
            });
        } else {
            let top = high.1.min(low.1 + (1 << level.log2_height) - 1);
            for line in low.1..=top {
                let cell = cell_index(level, slice, line);
                meet_cells(tables, ray, slack, [cell, cell], visitor, effort);
            }
        }
    }
}

/// Returns the first shape that a moving region meets; among several at the same fraction the one of lowest index. Adds
/// the number of shapes and cells tested to `effort`.
pub fn cast(tables: &QueryTables, region: &Region, effort: &mut u64) -> Hit {
    let ray = &path_of(region);
    let QueryTables { params, aabbs, cell_ends, cell_shapes, .. } = *tables;
    let mut first = FirstMet::default();
    for plane in params.planes().filter(|&plane| tables.has_half_plane(plane)) {
        *effort += 1;
        first.meet(tables, ray, region, plane);
    }
    let (min, max, delta) = (Vec2::from(region.min), Vec2::from(region.max), Vec2::from(ray.delta));
    let bounds = Aabb { min: min.min(min + delta).into(), max: max.max(max + delta).into() };
    let reach = reach_of(ray, region);
    for level in &params.levels[..params.level_count as usize] {
        let half = Vec2::from(level.half_cell);
        let (low, high) = (Vec2::from(bounds.min) - half, Vec2::from(bounds.max) + half);
        let [left, bottom, right, top] = cells_between(level, low, high);
        for row in bottom..=top {
            runs_of_row(level, left, right, row, |start, end| {
                let shapes = cells(cell_ends, cell_shapes, start, end);
                *effort += 1 + shapes.len() as u64;
                for &shape in shapes {
                    let aabb = &aabbs[shape as usize];
                    if overlap(&bounds, aabb) && is_near(ray, first.met.fraction, reach, aabb) {
                        first.meet(tables, ray, region, shape);
                    }
                }
            });
        }
    }
    first.hit()
}

/// Returns the hit of a cast by testing every shape, without the grid.
pub fn cast_brute(tables: &QueryTables, region: &Region) -> Hit {
    let ray = &path_of(region);
    let mut first = FirstMet::default();
    for shape in (0..tables.params.shape_count).filter(|&shape| is_there(tables, shape)) {
        first.meet(tables, ray, region, shape);
    }
    first.hit()
}

/// Returns the way of the centre of a cast, or the ray whose hits a region finds.
fn path_of(region: &Region) -> Ray {
    let Region { center: origin, delta, category, mask, group, world, ignore, flags, .. } = *region;
    Ray { origin, delta, category, mask, group, world, ignore, flags, pad: [0; 2] }
}

/// Returns the distance from its centre within which a moving shape stays, with slack for all rounding.
fn reach_of(ray: &Ray, region: &Region) -> f32 {
    let points = region.points[..region.count as usize].iter();
    let far = points.map(|&point| Vec2::from(point).length()).fold(0.0, f32::max);
    let spread = Vec2::from(ray.origin).abs() + Vec2::from(ray.delta).abs();
    far + region.radius + RAY_SLACK * spread.max_element()
}

/// The first shape that a cast met so far.
struct FirstMet {
    met: Met,
    shape: u32,
}

impl Default for FirstMet {
    fn default() -> Self {
        Self { met: Met { fraction: 1.0, ..Met::default() }, shape: NONE }
    }
}

impl FirstMet {
    fn meet(&mut self, tables: &QueryTables, ray: &Ray, region: &Region, shape: u32) {
        if !may_meet(tables, ray, shape) {
            return;
        }
        let there = &tables.shapes[shape as usize];
        let Some(met) = cast_shape(ray, region, there, tables.vertices, tables.pose(shape)) else { return };
        let is_deeper = met.fraction == 0.0 && self.met.fraction == 0.0 && met.depth > self.met.depth;
        let is_first = met.fraction < self.met.fraction
            || is_deeper
            || (met.fraction == self.met.fraction && met.depth == self.met.depth && shape < self.shape);
        if is_first {
            *self = Self { met, shape };
        }
    }

    fn hit(&self) -> Hit {
        let Met { fraction, normal, point, depth } = self.met;
        Hit { point: point.into(), normal: normal.into(), fraction, shape: self.shape, depth, pad: 0 }
    }
}

/// Appends the indices of the shapes that a region reaches, or the hits of its ray. Adds the number of shapes and cells
/// tested to `effort`.
pub fn region(tables: &QueryTables, region: &Region, found: &mut Vec<u32>, effort: &mut u64) {
    if region.flags & FINDS_HITS != 0 {
        visit_ray(tables, &path_of(region), &mut HitItems(found), effort);
        return;
    }
    let start = found.len();
    let QueryTables { params, aabbs, cell_ends, cell_shapes, .. } = *tables;
    for plane in params.planes().filter(|&plane| tables.has_half_plane(plane)) {
        *effort += 1;
        if lies_in(tables, region, plane) {
            found.push(plane);
        }
    }
    let bounds = Aabb { min: region.min, max: region.max };
    for level in &params.levels[..params.level_count as usize] {
        let reach = Vec2::from(level.half_cell);
        let (low, high) = (Vec2::from(bounds.min) - reach, Vec2::from(bounds.max) + reach);
        let [left, bottom, right, top] = cells_between(level, low, high);
        for row in bottom..=top {
            runs_of_row(level, left, right, row, |first, last| {
                let shapes = cells(cell_ends, cell_shapes, first, last);
                *effort += 1 + shapes.len() as u64;
                for &shape in shapes {
                    if overlap(&bounds, &aabbs[shape as usize]) && lies_in(tables, region, shape) {
                        found.push(shape);
                    }
                }
            });
        }
    }
    found[start..].sort_unstable();
}

/// Appends what [`region`] appends by testing every shape, without the grid.
pub fn region_brute(tables: &QueryTables, region: &Region, found: &mut Vec<u32>) {
    if region.flags & FINDS_HITS != 0 {
        visit_brute(tables, &path_of(region), &mut HitItems(found));
        return;
    }
    found.extend(
        (0..tables.params.shape_count).filter(|&shape| is_there(tables, shape) && lies_in(tables, region, shape)),
    );
}

fn lies_in(tables: &QueryTables, region: &Region, shape: u32) -> bool {
    may_meet(tables, &path_of(region), shape)
        && region_shape(region, &tables.shapes[shape as usize], tables.vertices, tables.pose(shape))
}
