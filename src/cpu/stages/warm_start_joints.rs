//! **warm_start_joints**: adds up, for every body, what the impulses kept by its joints do to its velocity.
//!
//! Reads joint_frames, joint_rows, joint_starts, joint_impulses and states; writes accumulators. By joint colour, one
//! thread a joint, eight at a time on the CPU ([`lanes`](super::solve_joints::lanes)). Once a step where a relax sweep
//! turns the impulses with the rows ([`solve_joints`](super::solve_joints)), else once a substep.

use super::solve_joints::{Stance, accumulate, for_joints, states_of};
use crate::threads::{Rows, Threads};
use crate::types::{Accumulator, BodyState, JointFrame, JointRow};

/// Fills `accumulators`.
pub fn warm_start_joints(
    threads: &Threads,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    for_joints(threads, joint_starts, |index| {
        let frame = &joint_frames[index];
        let (state_a, state_b) = states_of(frame, states);
        let stance = Stance::new(frame, &state_a, &state_b);
        accumulate(frame, joint_rows, joint_impulses, &stance, 1.0, accumulators);
    });
}
