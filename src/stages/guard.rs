//! **guard**: takes bodies that hold a NaN or an infinity out of the simulation before they reach a neighbour, and
//! resets what a step accumulates.
//!
//! Reads bodies (kind); reads and writes poses and states; writes accumulators and what the counters of sleeping start
//! with. One thread a body. A body stays quarantined: it has no AABB, does not move, and is counted.
//!
//! Where bodies sleep, a kinematic one that was given a velocity wakes here; if a body is taken out that others may lean
//! on in their sleep, all wake.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::math::is_finite;
use crate::threads::{Rows, Threads};
use crate::types::{
    ASLEEP, Accumulator, Body, BodyState, Counters, KINEMATIC, Params, Pose, QUARANTINED, SLEEP, WOKEN,
};

/// Counts the bodies that were quarantined in this step.
pub fn guard(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &mut [Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    counters: &mut Counters,
) {
    let quarantined = AtomicU32::new(0);
    let wake_all = AtomicU32::new(0);
    threads.for_each(poses, |index, pose| {
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

/// Whether a body has any velocity at all.
#[inline]
#[must_use]
pub fn is_moving(state: &BodyState) -> bool {
    state.velocity != [0.0; 2] || state.angular_velocity != 0.0
}
