//! **finalize**: adds the deltas to the poses.
//!
//! Reads bodies and states; writes poses. One thread a body. The rotation is normalised, or it would drift; who sleeps
//! does not move by a bit.

use glam::Vec2;

use crate::math::mul_rotation;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{ASLEEP, Body, BodyState, Pose, QUARANTINED, STATIC};

/// Moves the poses.
pub fn finalize(threads: &Threads, bodies: &[Body], states: &Rows<BodyState, 4>, poses: &mut [Pose]) {
    threads.for_each(LIGHT, poses, |index, pose| {
        let state = states.get(index);
        if state.status & (QUARANTINED | ASLEEP) != 0 || bodies[index].kind == STATIC {
            return;
        }
        pose.position = (Vec2::from(pose.position) + Vec2::from(state.delta_position)).into();
        let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
        pose.rotation = (turn / turn.length()).into();
    });
}
