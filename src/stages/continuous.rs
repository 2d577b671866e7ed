//! **continuous**: stops fast bodies at the time of impact, before they tunnel through other shapes. Box2D:
//! `b2SolveContinuous`.
//!
//! Reads ccd_bodies, states, poses, shapes, vertices, the grid of the step's start and the pairs that joints exclude;
//! writes the deltas of states. Runs before `finalize`, while poses are those of the start of the step. Visits one body
//! after the other, by its first shape. The device runs `continuous_reach` if there are kinematic bodies (how far they
//! move), `continuous_sweep` (where each body stops) and `continuous_move` (writes the deltas); if there are bullets
//! the last two run once more, for stops of bullets at other dynamic bodies. Velocities do not change: the next step
//! finds the body just before the wall and creates a contact, which stops it or lets it bounce.
//!
//! A dynamic body is *fast* if some point of it moved more than half its thickness in this step
//! ([`CcdBody::min_extent`]); a slower one cannot pass the middle of anything in one step, and contacts push it back. A
//! fast body is swept against static and kinematic shapes; a bullet also against dynamic ones. Between start and end
//! both bodies move and turn at constant rates. A fast wall may still jump over a slow body, as in Box2D; not over a
//! bullet, which counts as fast also if its own motion plus the largest motion of any kinematic body exceeds the bound.
//! Applied to all bodies, that rule would sweep every body as soon as a drum turns anywhere.
//!
//! **Time of impact** by conservative advancement: the distance between two shapes and a bound on the speed at which it
//! can shrink until the step ends give a time before which they cannot touch; this repeats from there. The bound is
//! taken in the frame of the other body, so that a long wall that turns costs no more than what it does at the body's
//! place, and a half plane is a shape like any other. After `MAX_ADVANCES` the body stops at the time reached, which is
//! before the impact: it loses part of a step and never its side of the wall.
//!
//! Sensors stop nothing and are not stopped.
//!
//! **The core** is a disc of half the body's thickness about the shape's middle. A stout shape stops only if its core
//! would hit: otherwise it ends no deeper in the wall than a slow body could, and a box that slides along a floor of
//! tiles is not stopped at each of them. So does a shape of any form whose body has joints: a body that stops while
//! those that hang on it go on stretches its joints, whose springs then throw it. For a shape that touches the wall
//! already, and so has contacts, only the core is swept, so that resting and sliding shapes are not frozen. The core at
//! most halves its distance to the wall, if it began closer than its radius: the middle of the shape never passes. Both
//! ideas come from Box2D's `b2SolveContinuous`, which has a core of a quarter, and only for what touches already.
//!
//! **Sliding past.** If the two overlap along the normal of a face by no more than the slop, at the start and at the
//! end, they meet nowhere else: a body that slides over a row of boxes does not stop at the next side.
//!
//! **Moving walls.** A body that stops at a moving shape is carried along by it for the rest of the step; otherwise the
//! wall would pass over the body, or leave it behind without a contact. A body that is carried past another wall,
//! squeezed between the two, is left to contacts. Bullets are swept last, when the ends of all other motions are known;
//! two bullets that meet stop at the same time.

mod impact;

use glam::Vec2;

use super::bin::{cells, cells_between, runs_of_row};
use super::pair::{kept_apart, may_meet};
pub(crate) use crate::constants::{CORE, STOP_SHARE, STOP_TOLERANCE, TOUCH};
use crate::constants::{FAR_MARGIN, STOP_EXTENT, STOP_THICKNESS, STOUT};
use crate::math::{inv_mul_rotation, is_finite, mul_rotation, rotate};
use crate::scene::PairExclusions;
use crate::types::{
    BULLET_SHAPE, BULLETS, BodyState, CcdBody, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, JOINED_SHAPE, KINEMATIC_SHAPE,
    MOVING_WALLS, NONE, Params, Pose, QUARANTINED, SENSOR_SHAPE, ShapeData,
};
pub(crate) use impact::from_segment;
pub use impact::{Party, SweepMotion, time_of_impact};
pub(crate) use impact::{gap, overlap, place, slides_past};

/// Sweeps the fast bodies and moves those that must stop back to their stop. Returns the number of stops. Each shape
/// starts `nudge` away from its place, in units of the rounding error of its distance to another shape: zero in a
/// normal step, else to test what rounding decides.
pub fn continuous(
    params: &Params,
    shapes: &[ShapeData],
    vertices: &[[f32; 2]],
    exclusions: &PairExclusions,
    poses: &[Pose],
    states: &mut [BodyState],
    cell_ends: &[u32],
    cell_shapes: &[u32],
    ccd_bodies: &[CcdBody],
    nudge: Vec2,
) -> u32 {
    let moving = params.switches & MOVING_WALLS != 0;
    let reach = if moving { continuous_reach(shapes, |body| states[body as usize], ccd_bodies) } else { 0.0 };
    let mut stopped = 0;
    for bullets in [false, true] {
        if bullets && params.switches & BULLETS == 0 {
            continue;
        }
        let sweep = SweepTables {
            params,
            shapes,
            vertices,
            exclusions,
            poses,
            states,
            cell_ends,
            cell_shapes,
            ccd_bodies,
            reach: if bullets { 0.0 } else { reach },
            bullets,
            nudge,
        };
        // All are swept before any is moved back.
        let stops: Vec<_> =
            (0..).zip(ccd_bodies).map(|(shape, ccd_body)| sweep.continuous_sweep(shape, ccd_body)).collect();
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

/// Tables that a sweep reads, and its mode.
struct SweepTables<'a> {
    params: &'a Params,
    shapes: &'a [ShapeData],
    vertices: &'a [[f32; 2]],
    exclusions: &'a PairExclusions,
    poses: &'a [Pose],
    states: &'a [BodyState],
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    ccd_bodies: &'a [CcdBody],
    /// Largest motion of a kinematic body, m ([`continuous_reach`]).
    reach: f32,
    /// True if only bullets are swept, and only against dynamic bodies.
    bullets: bool,
    nudge: Vec2,
}

impl SweepTables<'_> {
    /// Returns the deltas at which a body stops, if the shape is the first of its body and the body stops.
    fn continuous_sweep(&self, first: u32, ccd_body: &CcdBody) -> Option<(Vec2, Vec2)> {
        let Self { params, shapes, poses, states, .. } = *self;
        let (body, kind) = (shapes[first as usize].body as usize, shapes[first as usize].kind);
        let base = &poses[body];
        let motion = SweepMotion::new(base, base, &states[body]);
        if !is_fast(ccd_body, &motion, kind, self.reach) || states[body].status & QUARANTINED != 0 {
            return None;
        }
        let size = Size::new(params, ccd_body);
        let mut stop = Stop { time: 1.0, shape: 0 };
        let mut own = first;
        while own != NONE {
            self.sweep_shape(&size, base, &motion, own, &mut stop);
            own = self.ccd_bodies[own as usize].next;
        }
        let wall = &shapes[stop.shape as usize];
        let other = SweepMotion::new(base, &poses[wall.body as usize], &states[wall.body as usize]);
        (stop.time < 1.0).then(|| stopped_at(&motion, stop.time, wall, &other))
    }

    /// Finds the first stop of one shape among all others.
    fn sweep_shape(&self, size: &Size, base: &Pose, motion: &SweepMotion, own: u32, stop: &mut Stop) {
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

    /// Updates `stop` if the shape `own` of a body has to stop at `other` earlier.
    fn meet(&self, size: &Size, base: &Pose, motion: &SweepMotion, own: u32, other: u32, stop: &mut Stop) {
        let (a, b) = (&self.shapes[own as usize], &self.shapes[other as usize]);
        let state = &self.states[b.body as usize];
        if !may_stop(self.exclusions, self.bullets, a, b) || state.status & QUARANTINED != 0 {
            return;
        }
        let other_motion = SweepMotion::new(base, &self.poses[b.body as usize], state);
        let (first, second) = ((own, a, motion), (other, b, &other_motion));
        let time = time_of_stop(self.params, self.vertices, size, first, second, self.nudge, stop.time);
        if time < stop.time {
            *stop = Stop { time, shape: other };
        }
    }
}

/// First stop of a body, as a share of the step, and the shape at which it stops.
pub(crate) struct Stop {
    pub time: f32,
    pub shape: u32,
}

/// Lengths that a sweep of a body depends on, m.
pub(crate) struct Size {
    /// Half the thickness of the body.
    pub half: f32,
    /// Distance at which the body stops, and its tolerance.
    pub target: f32,
    pub tolerance: f32,
}

impl Size {
    pub fn new(params: &Params, ccd_body: &CcdBody) -> Self {
        let least = ccd_body.extent * STOP_EXTENT;
        let target = (params.speculative_distance * STOP_SHARE).min((ccd_body.min_extent * STOP_THICKNESS).max(least));
        Self { half: ccd_body.min_extent.max(least), target, tolerance: target * STOP_TOLERANCE }
    }
}

/// Returns true for the first shape of a dynamic body that moves more than half its thickness. The motion of a bullet
/// counts `reach` more.
pub(crate) fn is_fast(ccd_body: &CcdBody, motion: &SweepMotion, kind: u32, reach: f32) -> bool {
    if ccd_body.min_extent == f32::MAX {
        return false;
    }
    let mut moved = motion.moved.length() + motion.chord() * ccd_body.extent;
    if kind & BULLET_SHAPE != 0 {
        moved += reach;
    }
    is_finite(moved) && moved > 0.5 * ccd_body.min_extent
}

/// Returns true if a shape of a swept body can stop at another shape at all.
pub(crate) fn may_stop(exclusions: &PairExclusions, bullets: bool, a: &ShapeData, b: &ShapeData) -> bool {
    a.body != b.body
        && bullets == (b.kind & FIXED_SHAPE == 0)
        && (a.kind | b.kind) & SENSOR_SHAPE == 0
        && may_meet(a, b)
        && !kept_apart(exclusions, a, b)
}

/// Returns the time at which shape `a` with index `own` must stop at shape `b` with index `other`, as a share of the
/// step; `limit` if not before.
pub(crate) fn time_of_stop(
    params: &Params,
    vertices: &[[f32; 2]],
    size: &Size,
    (own, a, motion): (u32, &ShapeData, &SweepMotion),
    (other, b, other_motion): (u32, &ShapeData, &SweepMotion),
    nudge: Vec2,
    limit: f32,
) -> f32 {
    if b.kind & GEOMETRY_MASK != HALF_PLANE && !circles_meet(size, a, motion, b, other_motion) {
        return limit;
    }
    let first = Party::new(a, vertices, nudged(nudge, motion, a, b, other_motion));
    let second = Party::new(b, vertices, *other_motion);
    if is_behind(&first, &second) {
        return limit;
    }
    let together = a.kind & b.kind & BULLET_SHAPE != 0;
    if !together {
        if slides_past(&first, &second, params.linear_slop.min(0.1 * size.half)) {
            return limit;
        }
        return stop_time(size, &first, &second, together, a.kind & JOINED_SHAPE != 0, limit);
    }
    // Two bullets have to agree, so both compute the same time of impact.
    let target = (params.speculative_distance * STOP_SHARE).min(a.bound.min(b.bound) * STOP_THICKNESS);
    let size = Size { target, tolerance: target * STOP_TOLERANCE, ..*size };
    let (first, second) = if other < own { (second, first) } else { (first, second) };
    stop_time(&size, &first, &second, together, false, limit)
}

/// Returns true if `a` starts behind the link of a chain `b`, so that it passes.
fn is_behind(a: &Party, b: &Party) -> bool {
    b.hull.link.is_some() && b.hull.is_behind(place(a, b, 0.0).at)
}

/// Returns a motion that starts `nudge` rounding errors away.
fn nudged(nudge: Vec2, motion: &SweepMotion, a: &ShapeData, b: &ShapeData, other: &SweepMotion) -> SweepMotion {
    if nudge == Vec2::ZERO {
        return *motion;
    }
    let lengths = (motion.start - other.start).length() + motion.moved.length() + other.moved.length();
    let lengths = lengths + Vec2::from(a.offset).length() + Vec2::from(b.offset).length() + a.bound + b.bound;
    SweepMotion { start: motion.start + nudge * (lengths * f32::EPSILON), ..*motion }
}

/// Returns the time at which the shape `a` of a fast body must stop at `b`, or `limit` if not before. `together`: both
/// are bullets. `is_joined`: the body has joints.
pub(crate) fn stop_time(size: &Size, a: &Party, b: &Party, together: bool, is_joined: bool, limit: f32) -> f32 {
    let placed = place(a, b, 0.0);
    let touches = overlap(a, b, &placed) || gap(a, b, &placed).0 <= size.target + TOUCH * size.tolerance;
    if touches && together {
        return limit;
    }
    if touches || (!together && (is_joined || a.hull.bound <= size.half * STOUT)) {
        let mut core = a.middle();
        let placed = place(&core, b, 0.0);
        let (height, _) = gap(&core, b, &placed);
        if height <= 0.0 || overlap(&core, b, &placed) {
            // The middle is inside. Contacts have to push the body out.
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

/// Returns true if the bounding circles of two shapes come near each other.
fn circles_meet(size: &Size, a: &ShapeData, motion_a: &SweepMotion, b: &ShapeData, motion_b: &SweepMotion) -> bool {
    let (offset_a, offset_b) = (Vec2::from(a.offset), Vec2::from(b.offset));
    let start = rotate(motion_a.rotation, offset_a) - motion_b.start - rotate(motion_b.rotation, offset_b);
    let end = motion_a.moved + rotate(mul_rotation(motion_a.turned, motion_a.rotation), offset_a)
        - motion_b.start
        - motion_b.moved
        - rotate(mul_rotation(motion_b.turned, motion_b.rotation), offset_b);
    let swing = offset_a.length() * motion_a.chord() + offset_b.length() * motion_b.chord();
    let reach = a.bound + b.bound + swing + size.target;
    let nearest = from_segment(Vec2::ZERO, start, end);
    // A margin, so that rounding never decides.
    nearest.dot(nearest) <= reach * reach * 1.001
}

/// Returns the box in which a shape may meet something: lower and upper corner, m.
pub(crate) fn passage(
    params: &Params,
    size: &Size,
    base: &Pose,
    motion: &SweepMotion,
    shape: &ShapeData,
    reach: f32,
    bullets: bool,
) -> (Vec2, Vec2) {
    let (base, offset) = (Vec2::from(base.position), Vec2::from(shape.offset));
    let start = base + rotate(motion.rotation, offset);
    let end = base + motion.moved + rotate(mul_rotation(motion.turned, motion.rotation), offset);
    // In between the shape may swing out of the box of start and end. Other shapes may have moved as well.
    let mut rim = shape.bound + offset.length() * motion.chord() + size.target + reach;
    if bullets {
        rim += params.max_speed * params.dt;
    }
    let rim = rim + start.abs().max(end.abs()) * FAR_MARGIN;
    (start.min(end) - rim, start.max(end) + rim)
}

/// Returns the deltas of a body that stops at the shape `wall`, whose body has the motion `other`.
pub(crate) fn stopped_at(motion: &SweepMotion, time: f32, wall: &ShapeData, other: &SweepMotion) -> (Vec2, Vec2) {
    let (position, turn) = (motion.moved * time, motion.turn(time));
    if wall.kind & BULLET_SHAPE != 0 {
        return (position, turn);
    }
    // Carried along by the wall for the rest of the step.
    let rest = inv_mul_rotation(other.turn(time), other.turned);
    let arm = position - other.start - other.moved * time;
    (other.start + other.moved + rotate(rest, arm), mul_rotation(rest, turn))
}

/// Returns the largest motion of any point of a kinematic body in this step, half planes aside, m.
pub(crate) fn continuous_reach(shapes: &[ShapeData], state: impl Fn(u32) -> BodyState, ccd_bodies: &[CcdBody]) -> f32 {
    let mut reach = 0.0_f32;
    for (shape, ccd_body) in shapes.iter().zip(ccd_bodies).filter(|(shape, _)| shape.kind & KINEMATIC_SHAPE != 0) {
        let state = state(shape.body);
        let chord = (Vec2::from(state.delta_rotation) - Vec2::new(1.0, 0.0)).length();
        let moved = Vec2::from(state.delta_position).length() + chord * ccd_body.extent;
        if is_finite(moved) && moved > reach {
            reach = moved;
        }
    }
    reach
}
