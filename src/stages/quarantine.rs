//! **quarantine**: takes bodies with a NaN or an infinity in their state out of the simulation, before it spreads to a
//! neighbour, and initialises the per-body data of a step.
//!
//! Reads bodies; reads and writes poses and states; writes accumulators, motions and the initial values of the
//! sleep counters. Visits one body after the other. A body stays quarantined: it has no AABB, does not move, and is
//! counted.
//!
//! The motion of a body, which [`pair`](super::pair) and [`collide`](super::collide) need, is that at its present
//! velocity ([`BodyMotion`]).
//!
//! If bodies may sleep: a kinematic body that was given a velocity wakes here. If a body that others may lean on is
//! quarantined, all bodies wake.

use glam::Vec2;

use crate::constants::{FAST, SWEPT, UNTOUCHED};
use crate::math::is_finite;
use crate::types::{
    ASLEEP, Accumulator, BodyData, BodyMotion, BodyState, Counters, DYNAMIC, KINEMATIC, Params, Pose, QUARANTINED,
    SLEEP, STATIC, WAKE_ALL, WOKEN,
};

/// Quarantines bodies, and counts those that are new.
pub fn quarantine(
    params: &Params,
    bodies: &[BodyData],
    poses: &mut [Pose],
    states: &mut [BodyState],
    accumulators: &mut [Accumulator],
    motions: &mut [BodyMotion],
    counters: &mut Counters,
) {
    reset_counters(params, counters);
    for (index, body) in bodies.iter().enumerate() {
        let outcome = quarantine_body(params, body, &mut poses[index], &mut states[index]);
        (accumulators[index], motions[index]) = (outcome.sum, outcome.motion);
        counters.quarantined = counters.quarantined.wrapping_add(outcome.is_new.into());
        if params.switches & SLEEP != 0 && outcome.wakes_all {
            counters.wake_flags |= WAKE_ALL;
        }
    }
}

/// Sets the sleep counters to their values at the start of a step.
pub fn reset_counters(params: &Params, counters: &mut Counters) {
    if params.switches & SLEEP != 0 {
        counters.again = 1;
        counters.was_awake = counters.awake;
        counters.woken = 0;
        counters.slept = 0;
        counters.awake_levels = 0;
    }
}

/// Result of [`quarantine_body`].
#[derive(Clone, Copy, Debug)]
pub struct QuarantineOutcome {
    /// Initial sum of the body's impulses: minus its velocity.
    pub sum: Accumulator,
    /// Motion of the body in the step.
    pub motion: BodyMotion,
    /// True if the body is quarantined from this step on.
    pub is_new: bool,
    /// True if sleeping bodies may have leaned on the body.
    pub wakes_all: bool,
}

/// Checks one body, and initialises its data for the step.
#[inline]
pub fn quarantine_body(params: &Params, body: &BodyData, pose: &mut Pose, state: &mut BodyState) -> QuarantineOutcome {
    let pose_finite = pose.position.iter().chain(&pose.rotation).chain(&pose.low).all(|&v| is_finite(v));
    let finite = pose_finite && state.velocity.iter().all(|&v| is_finite(v)) && is_finite(state.angular_velocity);
    let is_new = !finite && state.status & QUARANTINED == 0;
    if is_new {
        state.status |= QUARANTINED;
    }
    let mut wakes_all = false;
    if state.status & ASLEEP != 0 {
        if state.status & QUARANTINED != 0 {
            state.status &= !ASLEEP;
            wakes_all = true;
        } else if body.kind == KINEMATIC && is_moving(state) {
            state.status = (state.status & !ASLEEP) | WOKEN;
        }
    }
    if state.status & QUARANTINED != 0 {
        state.velocity = [0.0; 2];
        state.angular_velocity = 0.0;
        if !pose_finite {
            *pose = Pose::default();
        }
    }
    state.delta_position = [0.0; 2];
    state.delta_rotation = [1.0, 0.0];
    let [x, y] = state.velocity;
    let sum = Accumulator { velocity: [-x, -y], angular_velocity: -state.angular_velocity, asked_mass: UNTOUCHED };
    QuarantineOutcome { sum, motion: motion_of(params, body, state), is_new, wakes_all }
}

/// Returns the motion of a body. A body is slow if it moves less than half its thickness in a step.
#[inline]
fn motion_of(params: &Params, body: &BodyData, state: &BodyState) -> BodyMotion {
    let speed = Vec2::from(state.velocity).length() + state.angular_velocity.abs() * body.extent;
    let is_slow = speed * params.dt <= 0.5 * body.min_extent;
    // Those that move further than they are wide are left to the continuous stage, and those that turn: they may meet a
    // wall with another side than they would now. A disc cannot.
    let turn = state.angular_velocity.abs() * body.extent;
    let goes_far = turn * params.dt > 0.5 * body.min_extent || speed * params.dt > 2.0 * body.extent;
    let is_swept = body.kind == DYNAMIC && !is_slow && !body.is_disc() && goes_far;
    let extent = if is_swept {
        SWEPT
    } else if !is_slow {
        FAST
    } else if body.kind == STATIC {
        0.0
    } else {
        body.extent
    };
    if body.kind == STATIC || state.status & ASLEEP != 0 {
        return BodyMotion { extent, ..BodyMotion::default() };
    }
    let [x, y, turned] = [state.velocity[0], state.velocity[1], state.angular_velocity].map(|speed| speed * params.dt);
    BodyMotion { moved: [x, y], turned, extent }
}

/// Returns true if a body has any velocity.
#[inline]
#[must_use]
pub fn is_moving(state: &BodyState) -> bool {
    state.velocity != [0.0; 2] || state.angular_velocity != 0.0
}
