//! **finalize**: adds the motion of the step to the poses.
//!
//! Reads bodies and states (deltas); writes poses. Visits one body after the other. The rotation is normalised, or it
//! would drift; the pose of a sleeping body keeps its bits.

use glam::Vec2;

use crate::math::mul_rotation;
use crate::types::{ASLEEP, BodyData, BodyState, Pose, QUARANTINED, STATIC};

/// Moves all poses.
pub fn finalize(bodies: &[BodyData], states: &[BodyState], poses: &mut [Pose]) {
    for ((body, state), pose) in bodies.iter().zip(states).zip(poses) {
        finalize_body(body, state, pose);
    }
}

/// Moves the pose of one body by its delta.
#[inline]
pub fn finalize_body(body: &BodyData, state: &BodyState, pose: &mut Pose) {
    if body.kind == STATIC || state.status & (QUARANTINED | ASLEEP) != 0 {
        return;
    }
    let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
    pose.position = (Vec2::from(pose.position) + Vec2::from(state.delta_position)).into();
    pose.rotation = (turn / turn.length()).into();
}
