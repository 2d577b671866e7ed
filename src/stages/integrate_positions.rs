//! **integrate_positions**: moves every body by its velocity over one substep. Box2D: `b2IntegratePositionsTask`.
//!
//! Reads bodies; reads and writes states (position and rotation since the start of the step). Visits one body after the
//! other. Semi-implicit Euler: the new velocity moves the body.

use glam::Vec2;

use crate::math::integrate_rotation;
use crate::types::{ASLEEP, BodyData, BodyState, Params, STATIC};

/// Advances the deltas by one substep.
pub fn integrate_positions(params: &Params, bodies: &[BodyData], states: &mut [BodyState]) {
    for (body, state) in bodies.iter().zip(states) {
        integrate_position(params, body, state);
    }
}

/// Advances the deltas of one body.
fn integrate_position(params: &Params, body: &BodyData, state: &mut BodyState) {
    if body.kind == STATIC || state.status & ASLEEP != 0 {
        return;
    }
    let moved = Vec2::from(state.velocity) * params.h;
    state.delta_position = (Vec2::from(state.delta_position) + moved).into();
    let turned = params.h * state.angular_velocity;
    state.delta_rotation = integrate_rotation(state.delta_rotation.into(), turned).into();
}
