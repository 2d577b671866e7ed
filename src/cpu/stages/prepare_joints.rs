//! Computes the frames of the joints, with joints shared among threads; the fast form of
//! [`crate::stages::prepare_joints`], to the same bits.

use crate::cpu::lanes::dispatch;
use crate::stages::prepare_joints::{first_rows, prepare_joint};
use crate::threads::{HEAVY, Rows, Threads};
use crate::types::{Body, BodyState, Joint, JointFrame, JointRow, JointState, Params, Pose, ROW_COUNT_MASK};

/// Fills `joint_frames`.
pub fn prepare_joints(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    joints: &[Joint],
    joint_rows: &[JointRow],
    joint_states: &Rows<JointState, 2>,
    joint_impulses: &Rows<[f32; 2], 1>,
    joint_frames: &mut [JointFrame],
) {
    let status = |body: u32| states.get(body as usize).status;
    threads.for_chunks(HEAVY, joint_frames, |first, frames| {
        dispatch!(_ => for (offset, frame) in frames.iter_mut().enumerate() {
            let index = first + offset;
            let (joint, rows) = (&joints[index], first_rows(&joints[index]));
            let mut impulses = [[0.0; 2]; ROW_COUNT_MASK as usize];
            for (impulse, row) in impulses.iter_mut().zip(rows.clone()) {
                *impulse = joint_impulses.get(row);
            }
            let mut state = joint_states.get(index);
            let (rules, own) = (&joint_rows[rows.clone()], &mut impulses[..rows.len()]);
            *frame = prepare_joint(params, bodies, poses, status, joint, rules, own, &mut state);
            joint_states.set(index, state);
            // The impulses were cleared, or are unchanged.
            if frame.flags & ROW_COUNT_MASK == 0 {
                for (impulse, row) in impulses.into_iter().zip(rows) {
                    joint_impulses.set(row, impulse);
                }
            }
        });
    });
}
