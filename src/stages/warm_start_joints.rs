//! **warm_start_joints**: sums up, for every body, the velocity change due to the impulses stored in its joints.
//!
//! Reads joint_frames, joint_rows, joint_starts, joint_impulses and states; writes accumulators. Visits the joints in
//! the order of joint colours. Runs once a step if a relax sweep turns the impulses with the rows
//! ([`solve_joints`](super::solve_joints)), else once a substep.

use super::solve_joints::tree::{row_count, trees};
use super::solve_joints::{BodyPair, Stance, accumulate, in_order, rows_of};
use crate::types::{Accumulator, BodyState, JointFrame, JointRow, TreeRow};

/// Adds the joint impulses to `accumulators`.
pub fn warm_start_joints(
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    joint_impulses: &[[f32; 2]],
    states: &mut [BodyState],
    accumulators: &mut [Accumulator],
) {
    for joint in in_order(joint_starts) {
        let frame = &joint_frames[joint];
        let mut ends = BodyPair::of(frame, states, accumulators);
        let stance = Stance::new(frame, &ends.states[0], &ends.states[1]);
        let rows = rows_of(frame);
        accumulate(frame, &joint_rows[rows.clone()], &joint_impulses[rows], &stance, 1.0, &mut ends.sums);
        ends.put(frame, states, accumulators);
    }
    let mut rows = vec![TreeRow::default(); row_count(joint_starts)];
    for tree in trees(joint_starts) {
        tree.warm_start(joint_frames, joint_rows, joint_impulses, states, accumulators, &mut rows);
    }
}
