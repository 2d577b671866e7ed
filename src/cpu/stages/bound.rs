//! Computes the AABBs of the shapes, eight at a time, shared among threads; the fast form of [`crate::stages::bound`],
//! to the same bits.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::constants::FAR_MARGIN;
use crate::cpu::stages::bin::cells_of_eight;
use crate::cpu::{BodyTables, GridTables};
use crate::lanes::{self, Select, Simd, SimdBase, SimdMask, Vec2x8, WIDTH, columns, dispatch, f32x4, f32x8, mask32x8};
use crate::scene::Compiled;
use crate::stages::bin::cell_of_shape;
use crate::stages::bound::{EMPTY, bound_shape, level_bits, margin_at};
use crate::threads::{LIGHT, Threads};
use crate::types::{
    ASLEEP, Aabb, BOX, CIRCLE, GEOMETRY_MASK, NO_SHAPE, NONE, POLYGON, Pose, QUARANTINED, SLEEP, ShapeData,
    VERTEX_COUNT_SHIFT,
};

/// Fills the AABBs, and `own_cells` with the cell of each shape as [`bin_find`](super::bin::bin_find) does. For worlds
/// without sleeping or quarantined bodies: states are not read.
pub fn bound_and_find(threads: &Threads, compiled: &Compiled, poses: &[Pose], grid: &mut GridTables) {
    let Compiled { params, shapes, vertices, .. } = compiled;
    let GridTables { aabbs, own_cells: own, .. } = grid;
    let one = |shape: &ShapeData, aabb: &mut Aabb, cell: &mut u32| {
        *aabb = match shape.kind & GEOMETRY_MASK {
            NO_SHAPE => EMPTY,
            _ => {
                let pose = &poses[shape.body as usize];
                bound_shape(shape, vertices, pose, margin_at(params, pose))
            }
        };
        *cell = cell_of_shape(params, shape, aabb);
    };
    own.resize(aabbs.len(), NONE);
    threads.for_chunk_pairs(LIGHT, aabbs, own, |first, aabbs, own| {
        let (shapes, rest) = shapes[first..first + aabbs.len()].as_chunks();
        let ((aabbs, last_aabbs), (own, last_own)) = (aabbs.as_chunks_mut(), own.as_chunks_mut());
        dispatch!(simd => for ((shapes, aabbs), own) in shapes.iter().zip(aabbs).zip(own) {
            if let Some(sides) = bound_eight(simd, shapes, vertices, poses, params.aabb_margin) {
                *aabbs = lanes::rows(sides).map(|row| bytemuck::cast(row.to_array()));
                *own = cells_of_eight(params, shapes, aabbs, sides);
            } else {
                shapes.iter().zip(aabbs).zip(own).for_each(|((shape, aabb), cell)| one(shape, aabb, cell));
            }
        });
        rest.iter().zip(last_aabbs).zip(last_own).for_each(|((shape, aabb), cell)| one(shape, aabb, cell));
    });
}

/// Returns the sides of the AABBs of eight shapes, or none if one of them is a half plane or no shape.
#[inline(always)]
fn bound_eight<S: Simd>(
    simd: S,
    shapes: &[ShapeData; WIDTH],
    vertices: &[[f32; 2]],
    poses: &[Pose],
    margin: f32,
) -> Option<[f32x8<S>; 4]> {
    let (mut circles, mut polygons) = (0, 0);
    for (lane, shape) in shapes.iter().enumerate() {
        match shape.kind & GEOMETRY_MASK {
            BOX => (),
            CIRCLE => circles |= 1 << lane,
            POLYGON => polygons |= 1 << lane,
            _ => return None,
        }
    }
    let quarter = |quarter: usize| {
        let row = |lane: usize| {
            let quarters: &[[f32; 4]; size_of::<ShapeData>() / 16] = bytemuck::cast_ref(&shapes[lane]);
            f32x4::load_array_ref(simd, &quarters[quarter])
        };
        columns([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)])
    };
    let pose = |lane: usize| {
        let halves: &[[f32; 4]; 2] = bytemuck::cast_ref(&poses[shapes[lane].body as usize]);
        f32x4::load_array_ref(simd, &halves[0])
    };
    let [x, y, cos, sin] = columns([pose(0), pose(1), pose(2), pose(3), pose(4), pose(5), pose(6), pose(7)]);
    let [half_x, half_y, radius, _] = quarter(0);
    let [offset_x, offset_y, own_cos, own_sin] = quarter(1);
    let rotation = Vec2x8::new(cos, sin);
    let center = Vec2x8::new(x, y) + lanes::rotate(rotation, Vec2x8::new(offset_x, offset_y));
    // Rotating a rotation means rotating its cosine and sine.
    let turn = lanes::rotate(rotation, Vec2x8::new(own_cos, own_sin));
    let (along, across) = (turn.x.abs(), turn.y.abs());
    let circles = mask32x8::from_bitmask(simd, circles);
    let half = Vec2x8::new(along * half_x + across * half_y, across * half_x + along * half_y);
    let reach = Vec2x8::new(circles.select(radius, half.x + radius), circles.select(radius, half.y + radius));
    let margin = Vec2x8::new(x.abs() * FAR_MARGIN + margin, y.abs() * FAR_MARGIN + margin);
    let reach = reach + margin;
    let (mut min, mut max) = (center - reach, center + reach);
    if polygons != 0 {
        let (low, high) = bound_vertices(simd, shapes, vertices, turn)?;
        let rim = Vec2x8::new(margin.x + radius, margin.y + radius);
        let polygons = mask32x8::from_bitmask(simd, polygons);
        let (low, high) = (center + low, center + high);
        min = (low - rim).where_else(polygons, min);
        max = (high + rim).where_else(polygons, max);
    }
    Some([min.x, min.y, max.x, max.y])
}

/// Returns the lower and upper corners of the rotated vertices of eight shapes; inverted corners for shapes without
/// vertices. None if a polygon has less than two.
#[inline(always)]
fn bound_vertices<S: Simd>(
    simd: S,
    shapes: &[ShapeData; WIDTH],
    vertices: &[[f32; 2]],
    turn: Vec2x8<S>,
) -> Option<(Vec2x8<S>, Vec2x8<S>)> {
    let (mut firsts, mut lasts, mut most) = ([0; WIDTH], [0; WIDTH], 0);
    for (lane, shape) in shapes.iter().enumerate().filter(|(_, shape)| shape.kind & GEOMETRY_MASK == POLYGON) {
        let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
        firsts[lane] = shape.first_vertex as usize;
        lasts[lane] = firsts[lane] + count.checked_sub(2)?;
        most = most.max(count);
    }
    let splat = |value| Vec2x8::new(f32x8::splat(simd, value), f32x8::splat(simd, value));
    let (mut low, mut high) = (splat(1e30), splat(-1e30));
    for first in (0..most).step_by(2) {
        // Two vertices of each shape; beyond the end, its last two again.
        let two = |lane: usize| {
            let place = (firsts[lane] + first).min(lasts[lane]);
            let [a, b] = *vertices[place..].first_chunk()?;
            Some(f32x4::load_array(simd, [a[0], a[1], b[0], b[1]]))
        };
        let rows = [two(0)?, two(1)?, two(2)?, two(3)?, two(4)?, two(5)?, two(6)?, two(7)?];
        let [x, y, next_x, next_y] = columns(rows);
        for vertex in [Vec2x8::new(x, y), Vec2x8::new(next_x, next_y)] {
            let point = lanes::rotate(turn, vertex);
            low = Vec2x8::new(low.x.min(point.x), low.y.min(point.y));
            high = Vec2x8::new(high.x.max(point.x), high.y.max(point.y));
        }
    }
    Some((low, high))
}

/// Fills `aabbs`, and returns the grid levels that have an awake shape ([`level_bits`]); 0 if sleeping is off.
pub fn bound(threads: &Threads, compiled: &Compiled, tables: &BodyTables, aabbs: &mut [Aabb]) -> u32 {
    let Compiled { params, shapes, vertices, .. } = compiled;
    let BodyTables { poses, states, .. } = tables;
    let awake_levels = AtomicU32::new(0);
    threads.for_each(LIGHT, aabbs, |index, aabb| {
        let shape = &shapes[index];
        let body = shape.body as usize;
        let status = states.get(body).status;
        if shape.kind & GEOMETRY_MASK == NO_SHAPE || status & QUARANTINED != 0 {
            *aabb = EMPTY;
            return;
        }
        if params.switches & SLEEP != 0 && status & ASLEEP == 0 {
            let bits = level_bits(params, shape);
            if awake_levels.load(Ordering::Relaxed) & bits != bits {
                awake_levels.fetch_or(bits, Ordering::Relaxed);
            }
        }
        *aabb = bound_shape(shape, vertices, &poses[body], margin_at(params, &poses[body]));
    });
    awake_levels.into_inner()
}
