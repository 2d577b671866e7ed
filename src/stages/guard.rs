//! **guard**: takes bodies that hold a NaN or an infinity out of the simulation before they reach a neighbour, and
//! resets what a step accumulates.
//!
//! Reads and writes poses and states; writes accumulators. One thread a body. A body stays quarantined: it has no AABB,
//! does not move, and is counted.

use crate::math::is_finite;
use crate::threads::{Rows, Threads};
use crate::types::{Accumulator, BodyState, Pose, QUARANTINED};

/// Returns the bodies that were quarantined in this step.
pub fn guard(
    threads: &Threads,
    poses: &mut [Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) -> u32 {
    let quarantined = std::sync::atomic::AtomicU32::new(0);
    threads.for_each(poses, |index, pose| {
        let mut state = states.get(index);
        let finite = pose.position.iter().chain(&pose.rotation).chain(&state.velocity).all(|&v| is_finite(v))
            && is_finite(state.angular_velocity);
        if !finite && state.status & QUARANTINED == 0 {
            state.status |= QUARANTINED;
            quarantined.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
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
    quarantined.into_inner()
}
