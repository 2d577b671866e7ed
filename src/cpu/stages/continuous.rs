//! **continuous**: puts fast bodies back to where they would have jumped over something.
//!
//! Reads movers, states, poses, shapes, vertices, the grid of the step's start and, behind the partners, which bodies joints
//! keep apart; writes movers, and the deltas of states. Runs before `finalize`, while poses are those of the start. One thread a
//! shape, the first of a body for all of them. On the device `continuous_sweep`
//! (where each body stops) and `continuous_move` (the deltas end there); before them, where there are kinematic bodies,
//! `continuous_reach` (how far they move: one workgroup); after them, where there are bullets, both again (where those
//! stop at other dynamic bodies). Velocities stay: the next step finds the body just before the wall, makes a contact of
//! it, and that stops it or lets it bounce.
//!
//! A dynamic body is *fast* if in this step some point of it moved more than half its thickness
//! ([`Mover::min_extent`]); what is slower cannot get past the middle of anything in one step, and contacts push it
//! back. A fast body is swept against static and kinematic shapes; a bullet also against dynamic ones. Between start
//! and end both bodies move and turn evenly. A slow body may still be jumped over by a fast wall, as in Box2D; a bullet
//! is not: it is fast also where its own motion and the largest of any kinematic body's are together. That all bodies were
//! would have each look around wherever a drum turns.
//!
//! **Time of impact** by conservative advancement: from the distance between two shapes and a bound on how fast it can
//! shrink until the step ends follows a time before which they cannot touch; from there again. The bound is taken in the
//! frame of the other body, so that a long wall that turns costs no more than what it does at the body's place, and a
//! half plane is a shape like any other. After `MAX_ADVANCES` the body stops at the time reached, which is before the
//! impact: it loses part of a step and never its side of the wall.
//!
//! Sensors stop nothing and are not stopped.
//!
//! **The core** is a disc of half the body's thickness about the shape's middle. A stout shape stops only if its core
//! would hit: else it ends no deeper in the wall than a slow body could, and a box that slides along a floor of tiles is
//! not stopped at each of them. A shape that touches the wall already has contacts, and only its core is swept, so that
//! what rests or slides is not frozen. The core halves its distance to the wall at most, if it began closer than its
//! radius: its middle never passes. Box2D's `b2SolveContinuous`, from which both ideas come, has a core of a quarter
//! for the second only.
//!
//! **Walls that move.** A body that stops at a moving shape is carried along by it for the rest of the step, or the wall
//! would pass over the body, or leave it behind without a contact. That it is carried past another wall, squeezed between
//! the two, is left to contacts. Bullets come last, when it is known how far the others get; two bullets stop at the same
//! time, where they met.

mod impact;
mod walls;

use std::sync::OnceLock;

use glam::Vec2;

use super::bin::{cells, cells_between, place_in_window, runs_of_row};
use super::bound::level_bits;
use super::pair::{kept_apart, may_meet};
use crate::cpu::lanes::dispatch;
use crate::math::{inv_mul_rotation, inv_rotate, is_finite, mul_rotation, rotate};
use crate::scene::Ties;
use crate::threads::{HEAVY, Rows, Threads};
use crate::types::{
    BOX, BULLET_SHAPE, BULLETS, BodyState, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, KINEMATIC_SHAPE, MOVING_WALLS,
    Mover, NONE, POLYGON, Params, Pose, QUARANTINED, SENSOR_SHAPE, Shape, VERTEX_COUNT_SHIFT,
};
pub use impact::{Motion, Party, time_of_impact};
use impact::{from_segment, gap, overlap, place};
pub use walls::Walls;
use walls::{MOST_WALLS, Travel, Wall};

/// Radius of the core, as a share of the body's half thickness. More, and bodies in contact lock up; less, and they
/// sink deeper before they are stopped.
const CORE: f32 = 0.5;
/// Shapes that reach further than this many half thicknesses from their middle stop also where only an end would pass. A
/// square is stout; a capsule twice as long as wide is not: with an end between two segments of a wall, each would push it
/// against the other instead of back.
const STOUT: f32 = 1.5;
/// Distance at which a body stops, as a share of the speculative distance: near enough for a contact in the next step.
const STOP_SHARE: f32 = 0.25;
/// The same as a share of the half thickness, for small bodies.
const STOP_THICKNESS: f32 = 0.1;
/// The same as a share of the extent, for bodies without thickness.
const STOP_EXTENT: f32 = 1e-3;
/// An impact is found to this share of the distance at which a body stops.
const STOP_TOLERANCE: f32 = 0.01;
/// A shape touches a wall that is nearer than where it would stop, by this many tolerances: one is how far off it may have
/// stopped, the rest is for roundings since then. With one alone they would decide whether what has just been stopped is
/// stopped again, before it has moved, or goes on.
const TOUCH: f32 = 2.0;

/// What of a body's size matters here.
struct Size {
    half: f32,
    target: f32,
    tolerance: f32,
}

fn size_of_body(params: &Params, mover: &Mover) -> Size {
    let least = mover.extent * STOP_EXTENT;
    let target = (params.speculative_distance * STOP_SHARE).min((mover.min_extent * STOP_THICKNESS).max(least));
    Size { half: mover.min_extent.max(least), target, tolerance: target * STOP_TOLERANCE }
}

/// When the shape `a` of a fast body must stop at `b`, or `limit` if not before. `together`: both are bullets.
fn stop_time(size: &Size, a: &Party, b: &Party, together: bool, limit: f32) -> f32 {
    let placed = place(a, b, 0.0);
    let touches = overlap(a, b, &placed) || gap(a, b, &placed).0 <= size.target + TOUCH * size.tolerance;
    if touches && together {
        return limit;
    }
    if touches || (!together && a.hull.bound <= size.half * STOUT) {
        let mut core = a.middle();
        let placed = place(&core, b, 0.0);
        let (height, _) = gap(&core, b, &placed);
        if height <= 0.0 || overlap(&core, b, &placed) {
            // It is inside. Contacts have to get it out.
            return limit;
        }
        core.hull.radius = (size.half * CORE).min(0.5 * height);
        let time = time_of_impact(&core, b, 0.0, size.tolerance.min(0.1 * height), limit);
        if touches || time >= limit {
            return time;
        }
    }
    time_of_impact(a, b, size.target, size.tolerance, limit)
}

/// The first stop of a body, and what it stops at.
struct Stop {
    time: f32,
    shape: u32,
}

/// All that a sweep reads.
struct World<'a> {
    params: &'a Params,
    shapes: &'a [Shape],
    vertices: &'a [[f32; 2]],
    ties: &'a Ties,
    poses: &'a [Pose],
    states: &'a Rows<BodyState, 4>,
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    movers: &'a [Mover],
    /// All that may stop a body, if that is known. Then the grid is not asked.
    walls: Option<&'a [Wall]>,
    reach: f32,
    bullets: bool,
    /// See [`ContinuousScratch::nudge`].
    nudge: Vec2,
    /// Tells if the step is given up: then no further body is examined.
    threads: &'a Threads,
    /// See [`World::levels`]; found by the first body that is fast.
    levels: OnceLock<u32>,
}

impl World<'_> {
    /// Looks whether the shape `own` of a body has to stop at `other` before `stop`.
    fn meet(&self, size: &Size, base: Vec2, motion: &Motion, own: u32, other: u32, stop: &mut Stop) {
        let (a, b) = (&self.shapes[own as usize], &self.shapes[other as usize]);
        if a.body == b.body || self.bullets == (b.kind & FIXED_SHAPE != 0) {
            return;
        }
        if (a.kind | b.kind) & SENSOR_SHAPE != 0 || !may_meet(a, b) || kept_apart(self.ties, a, b) {
            return;
        }
        let state = self.states.get(b.body as usize);
        if state.status & QUARANTINED != 0 {
            return;
        }
        let other_motion = Motion::new(base, &self.poses[b.body as usize], &state);
        // First what is said of large flat shapes: all of a scene are within the discs about its walls.
        if far_apart(self.params, self.vertices, size, a, motion, b, &other_motion) || self.threads.is_cancelled() {
            return;
        }
        if b.kind & GEOMETRY_MASK != HALF_PLANE && !circles_meet(size, a, motion, b, &other_motion) {
            return;
        }
        let first = Party::new(a, self.vertices, self.nudged(motion, a, b, &other_motion));
        let second = Party::new(b, self.vertices, other_motion);
        let together = a.kind & b.kind & BULLET_SHAPE != 0;
        // Bullets have to agree, so both ask the same question.
        let time = if together {
            let target = (self.params.speculative_distance * STOP_SHARE).min(a.bound.min(b.bound) * STOP_THICKNESS);
            let size = Size { target, tolerance: target * STOP_TOLERANCE, ..*size };
            let (first, second) = if other < own { (second, first) } else { (first, second) };
            stop_time(&size, &first, &second, together, stop.time)
        } else {
            stop_time(size, &first, &second, together, stop.time)
        };
        if time < stop.time {
            *stop = Stop { time, shape: other };
        }
    }

    /// A motion as it is, unless the sweep is nudged.
    fn nudged(&self, motion: &Motion, a: &Shape, b: &Shape, other: &Motion) -> Motion {
        if self.nudge == Vec2::ZERO {
            return *motion;
        }
        let lengths = (motion.start - other.start).length() + motion.moved.length() + other.moved.length();
        let lengths = lengths + Vec2::from(a.offset).length() + Vec2::from(b.offset).length() + a.bound + b.bound;
        Motion { start: motion.start + self.nudge * (lengths * f32::EPSILON), ..*motion }
    }

    /// The levels on which something may stop a body, as bits: often none of those where the small bodies are.
    fn levels(&self) -> u32 {
        *self.levels.get_or_init(|| {
            let stops = |shape: &&Shape| self.bullets != (shape.kind & FIXED_SHAPE != 0);
            self.shapes.iter().filter(stops).fold(0, |levels, shape| levels | level_bits(self.params, shape))
        })
    }

    /// The first stop of a shape among all others.
    fn sweep_shape(&self, size: &Size, base: Vec2, motion: &Motion, own: u32, stop: &mut Stop) {
        let shape = &self.shapes[own as usize];
        if shape.kind & SENSOR_SHAPE != 0 || (self.bullets && shape.kind & BULLET_SHAPE == 0) {
            return;
        }
        if let Some(walls) = self.walls {
            let travel = Travel::new(self.params, size, base, motion, shape);
            let mut near = walls.iter().filter(|wall| !wall.is_beyond(&travel)).peekable();
            if near.peek().is_some() {
                self.meet_walls(near, size, base, motion, own, stop);
            }
        } else {
            self.meet_cells(size, base, motion, own, stop);
        }
        for plane in self.params.planes() {
            self.meet(size, base, motion, own, plane, stop);
        }
    }

    /// The box in which a shape may meet something.
    fn passage(&self, size: &Size, base: Vec2, motion: &Motion, shape: &Shape) -> (Vec2, Vec2) {
        let offset = Vec2::from(shape.offset);
        let start = base + rotate(motion.rotation, offset);
        let end = base + motion.moved + rotate(mul_rotation(motion.turned, motion.rotation), offset);
        // Between the two it may swing out of their box. What it meets may have moved as well.
        let mut rim = shape.bound + offset.length() * motion.chord() + size.target + self.reach;
        if self.bullets {
            rim += self.params.max_speed * self.params.dt;
        }
        (start.min(end) - rim, start.max(end) + rim)
    }

    /// Looks at what lies in the grid where a shape passes.
    fn meet_cells(&self, size: &Size, base: Vec2, motion: &Motion, own: u32, stop: &mut Stop) {
        let (low, high) = self.passage(size, base, motion, &self.shapes[own as usize]);
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

    /// Looks at those of the walls that lie there, in the order in which the grid has them.
    fn meet_walls<'a>(
        &self,
        walls: impl Iterator<Item = &'a Wall>,
        size: &Size,
        base: Vec2,
        motion: &Motion,
        own: u32,
        stop: &mut Stop,
    ) {
        let (low, high) = self.passage(size, base, motion, &self.shapes[own as usize]);
        let (mut near, mut count) = ([[0; 4]; MOST_WALLS], 0);
        for wall in walls {
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

    /// Where a body stops: its deltas there.
    fn sweep_body(&self, first: u32, mover: &Mover) -> Option<(Vec2, Vec2)> {
        if mover.min_extent == f32::MAX {
            return None;
        }
        let index = self.shapes[first as usize].body as usize;
        let state = self.states.get(index);
        let pose = &self.poses[index];
        let base = Vec2::from(pose.position);
        let motion = Motion::new(base, pose, &state);
        let mut moved = motion.moved.length() + motion.chord() * mover.extent;
        if self.shapes[first as usize].kind & BULLET_SHAPE != 0 {
            moved += self.reach;
        }
        if moved.partial_cmp(&(0.5 * mover.min_extent)) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        if !is_finite(moved) || state.status & QUARANTINED != 0 {
            return None;
        }
        let size = size_of_body(self.params, mover);
        let mut stop = Stop { time: 1.0, shape: 0 };
        let mut own = first;
        while own != NONE {
            self.sweep_shape(&size, base, &motion, own, &mut stop);
            own = self.movers[own as usize].next;
        }
        if stop.time >= 1.0 {
            return None;
        }
        let (position, turn) = (motion.moved * stop.time, motion.turn(stop.time));
        let wall = &self.shapes[stop.shape as usize];
        if wall.kind & BULLET_SHAPE != 0 {
            return Some((position, turn));
        }
        // Carried along from there on.
        let body = wall.body as usize;
        let other = Motion::new(base, &self.poses[body], &self.states.get(body));
        let rest = inv_mul_rotation(other.turn(stop.time), other.turned);
        let arm = position - other.start - other.moved * stop.time;
        Some((other.start + other.moved + rotate(rest, arm), mul_rotation(rest, turn)))
    }
}

/// Whether the discs about two shapes come near each other.
fn circles_meet(size: &Size, a: &Shape, motion_a: &Motion, b: &Shape, motion_b: &Motion) -> bool {
    let (offset_a, offset_b) = (Vec2::from(a.offset), Vec2::from(b.offset));
    let start = rotate(motion_a.rotation, offset_a) - motion_b.start - rotate(motion_b.rotation, offset_b);
    let end = motion_a.moved + rotate(mul_rotation(motion_a.turned, motion_a.rotation), offset_a)
        - motion_b.start
        - motion_b.moved
        - rotate(mul_rotation(motion_b.turned, motion_b.rotation), offset_b);
    let swing = offset_a.length() * motion_a.chord() + offset_b.length() * motion_b.chord();
    let reach = a.bound + b.bound + swing + size.target;
    let nearest = from_segment(Vec2::ZERO, start, end);
    // A little more than needed, so that rounding never matters.
    nearest.dot(nearest) <= reach * reach * 1.001
}

/// Distance from a point in the frame of a large flat shape to it, m: of a box, a half plane, a segment or a capsule.
fn distance_to(shape: &Shape, vertices: &[[f32; 2]], at: impl FnOnce() -> Vec2) -> Option<f32> {
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

/// Whether a large flat shape is so far away that the first advance would reach the end of the step: most bodies in a drum
/// are near none of its walls, but within the discs about all of them. The device does without.
fn far_apart(
    params: &Params,
    vertices: &[[f32; 2]],
    size: &Size,
    a: &Shape,
    motion_a: &Motion,
    b: &Shape,
    motion_b: &Motion,
) -> bool {
    let offset = Vec2::from(a.offset);
    let between = motion_a.start - motion_b.start;
    let at = || {
        let center = between + rotate(motion_a.rotation, offset) - rotate(motion_b.rotation, b.offset.into());
        inv_rotate(mul_rotation(motion_b.rotation, b.rotation.into()), center)
    };
    let Some(away) = distance_to(b, vertices, at) else { return false };
    // No larger gap is asked of any core, and none of its points is further out.
    let least = params.speculative_distance * STOP_SHARE * (1.0 + TOUCH * STOP_TOLERANCE);
    let gap = away - a.bound - size.half * CORE - least;
    // At most the fastest approach in [`time_of_impact`].
    let velocity = (motion_a.moved - motion_b.moved).length();
    let ((rate_a, _), (rate_b, _)) = (motion_a.rates(), motion_b.rates());
    let (rate_a, rate_b) = (rate_a.abs(), rate_b.abs());
    let apart = between.length() + velocity;
    let fastest = velocity
        + 2.0 * rate_b * (apart + velocity)
        + rate_b * rate_b * apart
        + (rate_a + rate_b) * (offset.length() + a.bound);
    // A little more than needed, so that rounding never matters.
    gap > 1.01 * fastest + 1e-3 * (between.length() + a.bound)
}

/// What is kept from step to step.
#[derive(Debug, Default)]
pub struct ContinuousScratch {
    /// Bodies that stop, and where.
    stops: Vec<Vec<(usize, (Vec2, Vec2))>>,
    /// Each shape is swept from this far away, in roundings of the lengths that its distance to another is made of: to
    /// learn what rounding decides. Zero in a world that steps.
    pub(crate) nudge: Vec2,
}

/// Sweeps the fast bodies and puts those that must stop back. `grid` is `cell_ends` and `cell_shapes`; of `walls` only bullets
/// need it. Returns how many stopped.
#[must_use]
pub fn continuous(
    threads: &Threads,
    params: &Params,
    shapes: &[Shape],
    vertices: &[[f32; 2]],
    ties: &Ties,
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    (cell_ends, cell_shapes): (&[u32], &[u32]),
    walls: Option<&Walls>,
    movers: &[Mover],
    scratch: &mut ContinuousScratch,
) -> u32 {
    let reach = if params.switches & MOVING_WALLS == 0 { 0.0 } else { continuous_reach(shapes, states, movers) };
    let world = World {
        params,
        shapes,
        vertices,
        ties,
        poses,
        states,
        cell_ends,
        cell_shapes,
        movers,
        walls: walls.map(|walls| &walls.now[..]),
        reach,
        bullets: false,
        nudge: scratch.nudge,
        threads,
        levels: OnceLock::new(),
    };
    let mut stopped = continuous_sweep(threads, &world, scratch);
    if params.switches & BULLETS != 0 {
        let world = World { bullets: true, walls: None, reach: 0.0, levels: OnceLock::new(), ..world };
        stopped += continuous_sweep(threads, &world, scratch);
    }
    stopped
}

/// Finds where each body stops, and then puts it there.
fn continuous_sweep(threads: &Threads, world: &World, scratch: &mut ContinuousScratch) -> u32 {
    let parts = threads.for_parts(HEAVY, world.shapes.len(), &mut scratch.stops, |first, end, stops| {
        stops.clear();
        for (shape, mover) in world.movers[..end].iter().enumerate().skip(first) {
            if shape.is_multiple_of(64) && threads.is_cancelled() {
                return;
            }
            #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
            if let Some(stop) = world.sweep_body(shape as u32, mover) {
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

/// How far any point of a kinematic body moves in this step, half planes aside, m.
fn continuous_reach(shapes: &[Shape], states: &Rows<BodyState, 4>, movers: &[Mover]) -> f32 {
    let mut reach = 0.0_f32;
    for (shape, mover) in shapes.iter().zip(movers).filter(|(shape, _)| shape.kind & KINEMATIC_SHAPE != 0) {
        let state = states.get(shape.body as usize);
        let chord = (Vec2::from(state.delta_rotation) - Vec2::new(1.0, 0.0)).length();
        let moved = Vec2::from(state.delta_position).length() + chord * mover.extent;
        if is_finite(moved) && moved > reach {
            reach = moved;
        }
    }
    reach
}

#[cfg(test)]
mod tests;
