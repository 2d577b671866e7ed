//! **continuous**: puts fast bodies back to where they would have jumped over something.
//!
//! Reads movers, states, poses, shapes, vertices, the grid of the step's start and which bodies joints
//! keep apart; writes the deltas of states. Runs before `finalize`, while poses are those of the start. Body by body, by
//! the first of its shapes. On the device `continuous_sweep`
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

use glam::Vec2;

use super::bin::{cells, cells_between, runs_of_row};
use super::pair::{kept_apart, may_meet};
pub(crate) use crate::constants::{CORE, STOP_SHARE, STOP_TOLERANCE, TOUCH};
use crate::constants::{STOP_EXTENT, STOP_THICKNESS, STOUT};
use crate::math::{inv_mul_rotation, is_finite, mul_rotation, rotate};
use crate::scene::Ties;
use crate::types::{
    BULLET_SHAPE, BULLETS, BodyState, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, KINEMATIC_SHAPE, MOVING_WALLS, Mover,
    NONE, Params, Pose, QUARANTINED, SENSOR_SHAPE, Shape,
};
pub(crate) use impact::from_segment;
use impact::overlap;
pub use impact::{Motion, Party, time_of_impact};
pub(crate) use impact::{gap, place};

/// Sweeps the fast bodies and puts those that must stop back. Returns how many stopped. Each shape is swept from `nudge`
/// away, in roundings of the lengths that its distance to another is made of: zero in a world that steps, else to learn what
/// rounding decides.
pub fn continuous(
    params: &Params,
    shapes: &[Shape],
    vertices: &[[f32; 2]],
    ties: &Ties,
    poses: &[Pose],
    states: &mut [BodyState],
    cell_ends: &[u32],
    cell_shapes: &[u32],
    movers: &[Mover],
    nudge: Vec2,
) -> u32 {
    let moving = params.switches & MOVING_WALLS != 0;
    let reach = if moving { continuous_reach(shapes, |body| states[body as usize], movers) } else { 0.0 };
    let mut stopped = 0;
    for bullets in [false, true] {
        if bullets && params.switches & BULLETS == 0 {
            continue;
        }
        let sweep = Sweep {
            params,
            shapes,
            vertices,
            ties,
            poses,
            states,
            cell_ends,
            cell_shapes,
            movers,
            reach: if bullets { 0.0 } else { reach },
            bullets,
            nudge,
        };
        // All are swept before any is put back.
        let stops: Vec<_> = (0..).zip(movers).map(|(shape, mover)| sweep.continuous_sweep(shape, mover)).collect();
        for (shape, stop) in shapes.iter().zip(stops) {
            if let Some((position, rotation)) = stop {
                let state = &mut states[shape.body as usize];
                (state.delta_position, state.delta_rotation) = (position.into(), rotation.into());
                stopped += 1;
            }
        }
    }
    stopped
}

/// Tables that a sweep reads.
struct Sweep<'a> {
    params: &'a Params,
    shapes: &'a [Shape],
    vertices: &'a [[f32; 2]],
    ties: &'a Ties,
    poses: &'a [Pose],
    states: &'a [BodyState],
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    movers: &'a [Mover],
    /// See [`continuous_reach`].
    reach: f32,
    /// Only bullets are swept, and only against dynamic bodies.
    bullets: bool,
    nudge: Vec2,
}

impl Sweep<'_> {
    /// Returns the deltas of the body of a shape where it stops, if the shape is its first and it stops.
    fn continuous_sweep(&self, first: u32, mover: &Mover) -> Option<(Vec2, Vec2)> {
        let Self { params, shapes, poses, states, .. } = *self;
        let (body, kind) = (shapes[first as usize].body as usize, shapes[first as usize].kind);
        let base = Vec2::from(poses[body].position);
        let motion = Motion::new(base, &poses[body], &states[body]);
        if !is_fast(mover, &motion, kind, self.reach) || states[body].status & QUARANTINED != 0 {
            return None;
        }
        let size = Size::new(params, mover);
        let mut stop = Stop { time: 1.0, shape: 0 };
        let mut own = first;
        while own != NONE {
            self.sweep_shape(&size, base, &motion, own, &mut stop);
            own = self.movers[own as usize].next;
        }
        let wall = &shapes[stop.shape as usize];
        let other = Motion::new(base, &poses[wall.body as usize], &states[wall.body as usize]);
        (stop.time < 1.0).then(|| stopped_at(&motion, stop.time, wall, &other))
    }

    /// Looks for the first stop of a shape among all others.
    fn sweep_shape(&self, size: &Size, base: Vec2, motion: &Motion, own: u32, stop: &mut Stop) {
        let Self { params, shapes, cell_ends, cell_shapes, .. } = *self;
        let shape = &shapes[own as usize];
        if shape.kind & SENSOR_SHAPE != 0 || (self.bullets && shape.kind & BULLET_SHAPE == 0) {
            return;
        }
        let (low, high) = passage(params, size, base, motion, shape, self.reach, self.bullets);
        for level in &params.levels[..params.level_count as usize] {
            let half = Vec2::from(level.half_cell);
            let [left, bottom, right, top] = cells_between(level, low - half, high + half);
            for row in bottom..=top {
                runs_of_row(level, left, right, row, |first, last| {
                    for &other in cells(cell_ends, cell_shapes, first, last) {
                        self.meet(size, base, motion, own, other, stop);
                    }
                });
            }
        }
        for plane in params.planes() {
            self.meet(size, base, motion, own, plane, stop);
        }
    }

    /// Looks whether the shape `own` of a body has to stop at `other` before `stop`.
    fn meet(&self, size: &Size, base: Vec2, motion: &Motion, own: u32, other: u32, stop: &mut Stop) {
        let (a, b) = (&self.shapes[own as usize], &self.shapes[other as usize]);
        let state = &self.states[b.body as usize];
        if !may_stop(self.ties, self.bullets, a, b) || state.status & QUARANTINED != 0 {
            return;
        }
        let other_motion = Motion::new(base, &self.poses[b.body as usize], state);
        let (first, second) = ((own, a, motion), (other, b, &other_motion));
        let time = time_of_stop(self.params, self.vertices, size, first, second, self.nudge, stop.time);
        if time < stop.time {
            *stop = Stop { time, shape: other };
        }
    }
}

/// First stop of a body, as a share of the step, and the shape that it stops at.
pub(crate) struct Stop {
    pub time: f32,
    pub shape: u32,
}

/// Lengths by which a body is swept, m.
pub(crate) struct Size {
    /// Half the thickness.
    pub half: f32,
    /// Distance at which the body stops, and how exactly.
    pub target: f32,
    pub tolerance: f32,
}

impl Size {
    pub fn new(params: &Params, mover: &Mover) -> Self {
        let least = mover.extent * STOP_EXTENT;
        let target = (params.speculative_distance * STOP_SHARE).min((mover.min_extent * STOP_THICKNESS).max(least));
        Self { half: mover.min_extent.max(least), target, tolerance: target * STOP_TOLERANCE }
    }
}

/// Returns true for the first shape of a dynamic body that moves more than half its thickness, a bullet's also by `reach`.
pub(crate) fn is_fast(mover: &Mover, motion: &Motion, kind: u32, reach: f32) -> bool {
    if mover.min_extent == f32::MAX {
        return false;
    }
    let mut moved = motion.moved.length() + motion.chord() * mover.extent;
    if kind & BULLET_SHAPE != 0 {
        moved += reach;
    }
    is_finite(moved) && moved > 0.5 * mover.min_extent
}

/// Returns true if a shape of a swept body may stop at another at all.
pub(crate) fn may_stop(ties: &Ties, bullets: bool, a: &Shape, b: &Shape) -> bool {
    a.body != b.body
        && bullets == (b.kind & FIXED_SHAPE == 0)
        && (a.kind | b.kind) & SENSOR_SHAPE == 0
        && may_meet(a, b)
        && !kept_apart(ties, a, b)
}

/// Returns when shape `a` with index `own` must stop at shape `b` with index `other`, or `limit` if not before.
pub(crate) fn time_of_stop(
    params: &Params,
    vertices: &[[f32; 2]],
    size: &Size,
    (own, a, motion): (u32, &Shape, &Motion),
    (other, b, other_motion): (u32, &Shape, &Motion),
    nudge: Vec2,
    limit: f32,
) -> f32 {
    if b.kind & GEOMETRY_MASK != HALF_PLANE && !circles_meet(size, a, motion, b, other_motion) {
        return limit;
    }
    let first = Party::new(a, vertices, nudged(nudge, motion, a, b, other_motion));
    let second = Party::new(b, vertices, *other_motion);
    let together = a.kind & b.kind & BULLET_SHAPE != 0;
    if !together {
        return stop_time(size, &first, &second, together, limit);
    }
    // Bullets have to agree, so both ask the same question.
    let target = (params.speculative_distance * STOP_SHARE).min(a.bound.min(b.bound) * STOP_THICKNESS);
    let size = Size { target, tolerance: target * STOP_TOLERANCE, ..*size };
    let (first, second) = if other < own { (second, first) } else { (first, second) };
    stop_time(&size, &first, &second, together, limit)
}

/// Returns a motion that starts `nudge` away.
fn nudged(nudge: Vec2, motion: &Motion, a: &Shape, b: &Shape, other: &Motion) -> Motion {
    if nudge == Vec2::ZERO {
        return *motion;
    }
    let lengths = (motion.start - other.start).length() + motion.moved.length() + other.moved.length();
    let lengths = lengths + Vec2::from(a.offset).length() + Vec2::from(b.offset).length() + a.bound + b.bound;
    Motion { start: motion.start + nudge * (lengths * f32::EPSILON), ..*motion }
}

/// Returns when the shape `a` of a fast body must stop at `b`, or `limit` if not before. `together`: both are bullets.
pub(crate) fn stop_time(size: &Size, a: &Party, b: &Party, together: bool, limit: f32) -> f32 {
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

/// Returns true if the discs about two shapes come near each other.
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

/// Returns the box in which a shape may meet something: low and high corner.
pub(crate) fn passage(
    params: &Params,
    size: &Size,
    base: Vec2,
    motion: &Motion,
    shape: &Shape,
    reach: f32,
    bullets: bool,
) -> (Vec2, Vec2) {
    let offset = Vec2::from(shape.offset);
    let start = base + rotate(motion.rotation, offset);
    let end = base + motion.moved + rotate(mul_rotation(motion.turned, motion.rotation), offset);
    // Between the two it may swing out of their box. What it meets may have moved as well.
    let mut rim = shape.bound + offset.length() * motion.chord() + size.target + reach;
    if bullets {
        rim += params.max_speed * params.dt;
    }
    (start.min(end) - rim, start.max(end) + rim)
}

/// Returns the deltas of a body that stops at a shape of a body with the motion `other`.
pub(crate) fn stopped_at(motion: &Motion, time: f32, wall: &Shape, other: &Motion) -> (Vec2, Vec2) {
    let (position, turn) = (motion.moved * time, motion.turn(time));
    if wall.kind & BULLET_SHAPE != 0 {
        return (position, turn);
    }
    // Carried along from there on.
    let rest = inv_mul_rotation(other.turn(time), other.turned);
    let arm = position - other.start - other.moved * time;
    (other.start + other.moved + rotate(rest, arm), mul_rotation(rest, turn))
}

/// Returns how far any point of a kinematic body moves in this step, half planes aside, m.
pub(crate) fn continuous_reach(shapes: &[Shape], state: impl Fn(u32) -> BodyState, movers: &[Mover]) -> f32 {
    let mut reach = 0.0_f32;
    for (shape, mover) in shapes.iter().zip(movers).filter(|(shape, _)| shape.kind & KINEMATIC_SHAPE != 0) {
        let state = state(shape.body);
        let chord = (Vec2::from(state.delta_rotation) - Vec2::new(1.0, 0.0)).length();
        let moved = Vec2::from(state.delta_position).length() + chord * mover.extent;
        if is_finite(moved) && moved > reach {
            reach = moved;
        }
    }
    reach
}
