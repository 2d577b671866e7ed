//! **finalize**: adds the motion of the step to the poses, and finds the mass of each body in the next.
//!
//! Reads bodies, accumulators and states (deltas); writes poses and states (masses). Visits one body after the other.
//! The rotation is normalised, or it would drift; the pose of a sleeping body keeps its bits. What the sum of position
//! and motion loses by rounding is kept in [`Pose::low`].

use crate::mass_scale::next_status;
use crate::math::mul_rotation;
use crate::types::{ASLEEP, Accumulator, BodyData, BodyState, Params, Pose, QUARANTINED, STATIC};

/// Moves all poses, and finds the masses of the next step (`src/mass_scale.rs`).
pub fn finalize(
    params: &Params,
    bodies: &[BodyData],
    accumulators: &[Accumulator],
    states: &mut [BodyState],
    poses: &mut [Pose],
) {
    for (((body, sum), state), pose) in bodies.iter().zip(accumulators).zip(states).zip(poses) {
        finalize_body(body, state, pose);
        state.status = next_status(params, body, sum, state);
    }
}

/// Moves the pose of one body by its delta.
#[inline]
pub fn finalize_body(body: &BodyData, state: &BodyState, pose: &mut Pose) {
    if body.kind == STATIC || state.status & (QUARANTINED | ASLEEP) != 0 {
        return;
    }
    let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
    pose.move_by(state.delta_position.into());
    pose.rotation = (turn / turn.length()).into();
}
