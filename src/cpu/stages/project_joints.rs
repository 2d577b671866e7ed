//! Corrects joints by position, with joints of one colour shared among threads; the fast form of
//! [`crate::stages::project_joints`], to the same bits.

use super::solve_joints::{for_joints, states_of};
use crate::scene::{Compiled, JointTable};
use crate::stages::project_joints::project_joint;
use crate::stages::solve_joints::rows_of;
use crate::threads::{Rows, Threads};
use crate::types::{BodyState, JOINT_FIXED_A, JOINT_FIXED_B, JointFrame};

/// Makes one sweep over all joints.
pub fn project_joints(
    threads: &Threads,
    compiled: &Compiled,
    joint_frames: &[JointFrame],
    states: &Rows<BodyState, 4>,
) {
    let Compiled { params, joints: JointTable { starts: joint_starts, rows: joint_rows, .. }, .. } = compiled;
    for_joints(threads, joint_starts, |index| {
        let frame = &joint_frames[index];
        let mut ends = states_of(frame, states);
        project_joint(params, frame, &joint_rows[rows_of(frame)], &mut ends);
        if frame.flags & JOINT_FIXED_A == 0 {
            states.set(frame.body_a as usize, ends[0]);
        }
        if frame.flags & JOINT_FIXED_B == 0 {
            states.set(frame.body_b as usize, ends[1]);
        }
    });
}
