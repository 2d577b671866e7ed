//! Computes the frames of the joints, with joints shared among threads; the fast form of
//! [`crate::stages::prepare_joints`], to the same bits.

use crate::cpu::{BodyTables, JointTables};
use crate::lanes::dispatch;
use crate::scene::{Compiled, JointTable};
use crate::stages::prepare_joints::{first_rows, prepare_joint};
use crate::threads::{HEAVY, Threads};
use crate::types::ROW_COUNT_MASK;

/// Fills the frames of `joint_tables`.
pub fn prepare_joints(threads: &Threads, compiled: &Compiled, tables: &BodyTables, joint_tables: &mut JointTables) {
    let Compiled { params, bodies, joints, .. } = compiled;
    let JointTable { joints, rows: joint_rows, .. } = joints;
    let BodyTables { poses, states, .. } = tables;
    let JointTables { frames, states: joint_states, impulses: joint_impulses, .. } = joint_tables;
    let status = |body: u32| states.get(body as usize).status;
    threads.for_chunks(HEAVY, frames, |first, frames| {
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
