//! **guard**: takes bodies that hold a NaN or an infinity out of the simulation before they reach a neighbour, and
//! resets what a step accumulates.
//!
//! Reads bodies; reads and writes poses and states; writes accumulators, swings and what the counters of sleeping start
//! with. One thread a body. A body stays quarantined: it has no AABB, does not move, and is counted.
//!
//! A swing is what [`collide`](super::collide) asks of a body for each of its contacts: how far it reaches from its
//! centre of mass, m; 0 if it is static; less if it is too fast for a manifold to be kept.
//!
//! Where bodies sleep, a kinematic one that was given a velocity wakes here; if a body is taken out that others may lean
//! on in their sleep, all wake.

use std::sync::atomic::{AtomicU32, Ordering};

use glam::Vec2;

use crate::math::is_finite;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, Accumulator, Body, BodyState, Counters, KINEMATIC, Params, Pose, QUARANTINED, SLEEP, STATIC, WOKEN,
};

/// A swing below 0.
const FAST: f32 = -1.0;

/// Counts the bodies that were quarantined in this step.
pub fn guard(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &mut [Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    swings: &mut [f32],
    counters: &mut Counters,
) {
    let quarantined = AtomicU32::new(0);
    let wake_all = AtomicU32::new(0);
    threads.for_each_pair(LIGHT, poses, swings, |index, pose, swing| {
        let mut state = states.get(index);
        let finite = pose.position.iter().chain(&pose.rotation).chain(&state.velocity).all(|&v| is_finite(v))
            && is_finite(state.angular_velocity);
        if !finite && state.status & QUARANTINED == 0 {
            state.status |= QUARANTINED;
            quarantined.fetch_add(1, Ordering::Relaxed);
        }
        if state.status & ASLEEP != 0 {
            if state.status & QUARANTINED != 0 {
                state.status &= !ASLEEP;
                wake_all.store(1, Ordering::Relaxed);
            } else if bodies[index].kind == KINEMATIC && is_moving(&state) {
                state.status = (state.status & !ASLEEP) | WOKEN;
            }
        }
        if state.status & QUARANTINED != 0 {
            state.velocity = [0.0; 2];
            state.angular_velocity = 0.0;
            if !pose.position.iter().chain(&pose.rotation).all(|&v| is_finite(v)) {
                *pose = Pose::default();
            }
        }
        state.delta_position = [0.0; 2];
        state.delta_rotation = [1.0, 0.0];
        states.set(index, state);
        let [x, y] = state.velocity;
        let sum = Accumulator { velocity: [-x, -y], angular_velocity: -state.angular_velocity, pad: 0 };
        accumulators.set(index, sum);
        *swing = swing_of(params, &bodies[index], &state);
    });
    counters.quarantined = counters.quarantined.wrapping_add(quarantined.into_inner());
    if params.switches & SLEEP != 0 {
        counters.again = 1;
        counters.was_awake = counters.awake;
        counters.woken = 0;
        counters.slept = 0;
        counters.awake_levels = 0;
        counters.wake_all |= wake_all.into_inner();
    }
}

/// A body that moves less than half its thickness in a step is slow.
#[inline]
fn swing_of(params: &Params, body: &Body, state: &BodyState) -> f32 {
    let speed = Vec2::from(state.velocity).length() + state.angular_velocity.abs() * body.extent;
    let is_slow = speed * params.dt <= 0.5 * body.min_extent;
    if !is_slow {
        FAST
    } else if body.kind == STATIC {
        0.0
    } else {
        body.extent
    }
}

/// Whether a body has any velocity at all.
#[inline]
#[must_use]
pub fn is_moving(state: &BodyState) -> bool {
    state.velocity != [0.0; 2] || state.angular_velocity != 0.0
}
