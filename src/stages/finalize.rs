//! **finalize**: adds the deltas to the poses.
//!
//! Reads bodies and states; writes poses. Body by body. The rotation is normalised, or it would drift; a sleeping body
//! does not move by a bit.

use glam::Vec2;

use crate::math::mul_rotation;
use crate::types::{ASLEEP, Body, BodyState, Pose, QUARANTINED, STATIC};

/// Moves the poses.
pub fn finalize(bodies: &[Body], states: &[BodyState], poses: &mut [Pose]) {
    for ((body, state), pose) in bodies.iter().zip(states).zip(poses) {
        finalize_body(body, state, pose);
    }
}

/// Moves the pose of one body.
#[inline]
pub fn finalize_body(body: &Body, state: &BodyState, pose: &mut Pose) {
    if body.kind == STATIC || state.status & (QUARANTINED | ASLEEP) != 0 {
        return;
    }
    let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
    pose.position = (Vec2::from(pose.position) + Vec2::from(state.delta_position)).into();
    pose.rotation = (turn / turn.length()).into();
}
