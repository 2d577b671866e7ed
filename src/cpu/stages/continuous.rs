//! Stops fast bodies at the time of impact, shared among threads; the fast form of [`crate::stages::continuous`], to
//! the same bits. If few shapes can stop bodies (ground, walls), these are tested one by one and the grid is not used.

mod candidates;

use std::sync::OnceLock;

use glam::Vec2;

use super::bin::cells_between;
use crate::cpu::{BodyTables, GridTables};
use crate::lanes::dispatch;
use crate::math::{inv_rotate, mul_rotation, rotate};
use crate::scene::{Compiled, PairExclusions};
use crate::stages::bin::{cells, runs_of_row};
use crate::stages::bound::level_bits;
use crate::stages::continuous::{
    CORE, STOP_SHARE, STOP_TOLERANCE, Size, Stop, SweepMotion, TOUCH, continuous_reach, from_segment, is_fast,
    may_stop, passage, stopped_at, time_of_stop,
};
use crate::threads::{HEAVY, Rows, Threads};
use crate::types::{
    BOX, BULLET_SHAPE, BULLETS, BodyState, CcdBody, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, MOVING_WALLS, NONE,
    POLYGON, Params, Pose, QUARANTINED, SENSOR_SHAPE, ShapeData, VERTEX_COUNT_SHIFT,
};

use super::bin::place_in_window;
pub use candidates::CcdCandidates;
use candidates::{CcdCandidate, MAX_CANDIDATES, Travel};

/// Tables that a sweep reads, and its mode.
struct SweepWorld<'a> {
    params: &'a Params,
    shapes: &'a [ShapeData],
    vertices: &'a [[f32; 2]],
    exclusions: &'a PairExclusions,
    poses: &'a [Pose],
    states: &'a Rows<BodyState, 4>,
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    ccd_bodies: &'a [CcdBody],
    /// All shapes that can stop a body, if they are few. Then the grid is not needed.
    candidates: Option<&'a [CcdCandidate]>,
    reach: f32,
    bullets: bool,
    /// Handle that tells whether the step is cancelled; then no further body is examined.
    threads: &'a Threads,
    /// Result of [`SweepWorld::levels`], computed for the first fast body.
    levels: OnceLock<u32>,
}

impl SweepWorld<'_> {
    /// Updates `stop` if the shape `own` of a body has to stop at `other` earlier.
    fn meet(&self, size: &Size, base: &Pose, motion: &SweepMotion, own: u32, other: u32, stop: &mut Stop) {
        let (a, b) = (&self.shapes[own as usize], &self.shapes[other as usize]);
        if !may_stop(self.exclusions, self.bullets, a, b) {
            return;
        }
        let state = self.states.get(b.body as usize);
        if state.status & QUARANTINED != 0 {
            return;
        }
        let other_motion = SweepMotion::new(base, &self.poses[b.body as usize], &state);
        // Large flat shapes first: all bodies of a scene are inside the bounding circles of its walls.
        if far_apart(self.params, self.vertices, size, a, motion, b, &other_motion) || self.threads.is_cancelled() {
            return;
        }
        let (first, second) = ((own, a, motion), (other, b, &other_motion));
        let time = time_of_stop(self.params, self.vertices, size, first, second, Vec2::ZERO, stop.time);
        if time < stop.time {
            *stop = Stop { time, shape: other };
        }
    }

    /// Returns the levels with shapes that can stop a body, as bits: often not those of the small bodies.
    fn levels(&self) -> u32 {
        *self.levels.get_or_init(|| {
            let stops = |shape: &&ShapeData| self.bullets != (shape.kind & FIXED_SHAPE != 0);
            self.shapes.iter().filter(stops).fold(0, |levels, shape| levels | level_bits(self.params, shape))
        })
    }

    /// Finds the first stop of one shape among all others.
    fn sweep_shape(&self, size: &Size, base: &Pose, motion: &SweepMotion, own: u32, stop: &mut Stop) {
        let shape = &self.shapes[own as usize];
        if shape.kind & SENSOR_SHAPE != 0 || (self.bullets && shape.kind & BULLET_SHAPE == 0) {
            return;
        }
        if let Some(candidates) = self.candidates {
            let travel = Travel::new(self.params, size, base, motion, shape);
            let mut near = candidates.iter().filter(|wall| !wall.is_beyond(&travel)).peekable();
            if near.peek().is_some() {
                self.meet_candidates(near, size, base, motion, own, stop);
            }
        } else {
            self.meet_cells(size, base, motion, own, stop);
        }
        for plane in self.params.planes() {
            self.meet(size, base, motion, own, plane, stop);
        }
    }

    /// Tests the shapes of the grid cells that a shape passes.
    fn meet_cells(&self, size: &Size, base: &Pose, motion: &SweepMotion, own: u32, stop: &mut Stop) {
        let shape = &self.shapes[own as usize];
        let (low, high) = passage(self.params, size, base, motion, shape, self.reach, self.bullets);
        for (index, level) in self.params.levels[..self.params.level_count as usize].iter().enumerate() {
            if self.levels() >> index & 1 == 0 {
                continue;
            }
            let reach = Vec2::from(level.half_cell);
            let [left, bottom, right, top] = dispatch!(simd => cells_between(simd, level, low - reach, high + reach));
            for row in bottom..=top {
                runs_of_row(level, left, right, row, |first, last| {
                    for &other in cells(self.cell_ends, self.cell_shapes, first, last) {
                        self.meet(size, base, motion, own, other, stop);
                    }
                });
            }
        }
    }

    /// Tests the walls in the cells that a shape passes, in the order of the grid.
    fn meet_candidates<'a>(
        &self,
        candidates: impl Iterator<Item = &'a CcdCandidate>,
        size: &Size,
        base: &Pose,
        motion: &SweepMotion,
        own: u32,
        stop: &mut Stop,
    ) {
        let shape = &self.shapes[own as usize];
        let (low, high) = passage(self.params, size, base, motion, shape, self.reach, self.bullets);
        let (mut near, mut count) = ([[0; 4]; MAX_CANDIDATES], 0);
        for wall in candidates {
            let mut window = [0; 4];
            let [level, row, column] = place_in_window(self.params, wall.cell, |index| {
                let level = &self.params.levels[index];
                let reach = Vec2::from(level.half_cell);
                window = dispatch!(simd => cells_between(simd, level, low - reach, high + reach));
                [window[0], window[1]]
            });
            let [left, bottom, right, top] = window;
            if i64::from(column) <= i64::from(right) - i64::from(left)
                && i64::from(row) <= i64::from(top) - i64::from(bottom)
            {
                near[count] = [level, row, column, wall.shape];
                count += 1;
            }
        }
        near[..count].sort_unstable();
        for [.., other] in &near[..count] {
            self.meet(size, base, motion, own, *other, stop);
        }
    }

    /// Returns the deltas at which a body stops, if it stops.
    fn sweep_body(&self, first: u32, ccd_body: &CcdBody) -> Option<(Vec2, Vec2)> {
        if ccd_body.min_extent == f32::MAX {
            return None;
        }
        let index = self.shapes[first as usize].body as usize;
        let state = self.states.get(index);
        let pose = &self.poses[index];
        let motion = SweepMotion::new(pose, pose, &state);
        let is_fast = is_fast(ccd_body, &motion, self.shapes[first as usize].kind, self.reach);
        if !is_fast || state.status & QUARANTINED != 0 {
            return None;
        }
        let size = Size::new(self.params, ccd_body);
        let mut stop = Stop { time: 1.0, shape: 0 };
        let mut own = first;
        while own != NONE {
            self.sweep_shape(&size, pose, &motion, own, &mut stop);
            own = self.ccd_bodies[own as usize].next;
        }
        if stop.time >= 1.0 {
            return None;
        }
        let wall = &self.shapes[stop.shape as usize];
        let body = wall.body as usize;
        let other = SweepMotion::new(pose, &self.poses[body], &self.states.get(body));
        Some(stopped_at(&motion, stop.time, wall, &other))
    }
}

/// Returns the distance from a large flat shape to a point in its frame, m; for boxes, half planes, segments and
/// capsules.
fn distance_to(shape: &ShapeData, vertices: &[[f32; 2]], at: impl FnOnce() -> Vec2) -> Option<f32> {
    match shape.kind & GEOMETRY_MASK {
        BOX => Some((at().abs() - Vec2::from(shape.half)).max(Vec2::ZERO).length() - shape.radius),
        HALF_PLANE => Some(at().y),
        POLYGON if shape.kind >> VERTEX_COUNT_SHIFT & 0xf == 2 => {
            let &[start, end] = vertices[shape.first_vertex as usize..].first_chunk()?;
            Some(from_segment(at(), start.into(), end.into()).length() - shape.radius)
        }
        _ => None,
    }
}

/// Returns true if a large flat shape is so far away that the first advance would reach the end of the step: most
/// bodies in a drum are near none of its walls, but inside the bounding circles of all. The reference and the device do
/// without this test.
fn far_apart(
    params: &Params,
    vertices: &[[f32; 2]],
    size: &Size,
    a: &ShapeData,
    motion_a: &SweepMotion,
    b: &ShapeData,
    motion_b: &SweepMotion,
) -> bool {
    let offset = Vec2::from(a.offset);
    let between = motion_a.start - motion_b.start;
    let at = || {
        let center = between + rotate(motion_a.rotation, offset) - rotate(motion_b.rotation, b.offset.into());
        inv_rotate(mul_rotation(motion_b.rotation, b.rotation.into()), center)
    };
    let Some(away) = distance_to(b, vertices, at) else { return false };
    // An upper bound on the stop distance, and on the distance of a point from the centre.
    let least = params.speculative_distance * STOP_SHARE * (1.0 + TOUCH * STOP_TOLERANCE);
    let gap = away - a.bound - size.half * CORE - least;
    // An upper bound on the approach speed in [`time_of_impact`].
    let velocity = (motion_a.moved - motion_b.moved).length();
    let ((rate_a, _), (rate_b, _)) = (motion_a.rates(), motion_b.rates());
    let (rate_a, rate_b) = (rate_a.abs(), rate_b.abs());
    let apart = between.length() + velocity;
    let fastest = velocity
        + 2.0 * rate_b * (apart + velocity)
        + rate_b * rate_b * apart
        + (rate_a + rate_b) * (offset.length() + a.bound);
    // A margin, so that rounding never decides.
    gap > 1.01 * fastest + 1e-3 * (between.length() + a.bound)
}

/// Memory of a sweep. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct ContinuousScratch {
    /// Bodies that stop, and their deltas.
    stops: Vec<Vec<(usize, (Vec2, Vec2))>>,
}

/// Sweeps the fast bodies and moves those that must stop back to their stop. With
/// `candidates` only bullets need it. Returns the number of stops.
#[must_use]
pub fn continuous(
    threads: &Threads,
    compiled: &Compiled,
    tables: &BodyTables,
    grid: &GridTables,
    candidates: Option<&CcdCandidates>,
    scratch: &mut ContinuousScratch,
) -> u32 {
    let Compiled { params, shapes, vertices, ccd_bodies, joints, .. } = compiled;
    let BodyTables { poses, states, .. } = tables;
    let GridTables { cell_ends, cell_shapes, .. } = grid;
    let reach = if params.switches & MOVING_WALLS == 0 {
        0.0
    } else {
        continuous_reach(shapes, |body| states.get(body as usize), ccd_bodies)
    };
    let world = SweepWorld {
        params,
        shapes,
        vertices,
        exclusions: &joints.exclusions,
        poses,
        states,
        cell_ends,
        cell_shapes,
        ccd_bodies,
        candidates: candidates.map(|candidates| &candidates.now[..]),
        reach,
        bullets: false,
        threads,
        levels: OnceLock::new(),
    };
    let mut stopped = continuous_sweep(threads, &world, scratch);
    if params.switches & BULLETS != 0 {
        let world = SweepWorld { bullets: true, candidates: None, reach: 0.0, levels: OnceLock::new(), ..world };
        stopped += continuous_sweep(threads, &world, scratch);
    }
    stopped
}

/// Finds the stop of each body, and then moves the bodies there.
fn continuous_sweep(threads: &Threads, world: &SweepWorld, scratch: &mut ContinuousScratch) -> u32 {
    let parts = threads.for_parts(HEAVY, world.shapes.len(), &mut scratch.stops, |first, end, stops| {
        stops.clear();
        for (shape, ccd_body) in world.ccd_bodies[..end].iter().enumerate().skip(first) {
            if shape.is_multiple_of(64) && threads.is_cancelled() {
                return;
            }
            #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
            if let Some(stop) = world.sweep_body(shape as u32, ccd_body) {
                stops.push((world.shapes[shape].body as usize, stop));
            }
        }
    });
    let mut stopped = 0;
    for &(body, (position, rotation)) in parts.iter().flatten() {
        let state = world.states.get(body);
        let (delta_position, delta_rotation) = (position.into(), rotation.into());
        world.states.set(body, BodyState { delta_position, delta_rotation, ..state });
        stopped += 1;
    }
    stopped
}

#[cfg(test)]
mod tests;
