//! **integrate_velocities**: applies gravity, forces, fields and damping over one substep, then the warm-start
//! impulses. Box2D: `b2IntegrateVelocitiesTask` and `b2WarmStartContactsTask` in one pass.
//!
//! Reads bodies, poses (for forces at a point and fields); reads and writes states and accumulators. Visits one body
//! after the other. `v = v/(1 + h·c) + h (f/m + s·g + fields)`: the damping is implicit and stable for any coefficient.
//!
//! The sum of a body's contact impulses does not have to be formed again in each substep: since it was last applied, it
//! has changed by as much as the sweeps changed the velocity. So an accumulator holds the sum minus the velocity after
//! integration, and adding the velocity at the end of the substep gives the sum for the next one.
//! [`quarantine`](super::quarantine) initialises it with minus the velocity, [`warm_start`](super::warm_start) adds the
//! impulses of the previous step, and joints, whose directions turn, update their share themselves
//! ([`solve_joints`](super::solve_joints)).

use glam::Vec2;

pub use crate::constants::MAX_SUM;
use crate::mass_scale::mass_share;
use crate::math::{cross, larger, mul_rotation, rotate, smaller};
use crate::types::{
    ASLEEP, Accumulator, BodyData, BodyState, DYNAMIC, FieldData, Params, Pose, QUARANTINED, WARM_START,
};

/// Advances the velocities by one substep.
pub fn integrate_velocities(
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    states: &mut [BodyState],
    accumulators: &mut [Accumulator],
) {
    for (index, body) in bodies.iter().enumerate() {
        integrate_velocity(params, body, &poses[index], &mut states[index], &mut accumulators[index]);
    }
}

/// Advances the velocity of one body.
fn integrate_velocity(params: &Params, body: &BodyData, pose: &Pose, state: &mut BodyState, sum: &mut Accumulator) {
    if body.kind != DYNAMIC || state.status & (QUARANTINED | ASLEEP) != 0 {
        return;
    }
    let (before, spin_before) = (state.velocity, state.angular_velocity);
    let warm = params.switches & WARM_START != 0;
    let (mut kept_velocity, mut kept_spin) = (Vec2::ZERO, 0.0);
    if warm {
        kept_velocity.x = bounded(sum.velocity[0] + before[0], MAX_SUM);
        kept_velocity.y = bounded(sum.velocity[1] + before[1], MAX_SUM);
        kept_spin = bounded(sum.angular_velocity + spin_before, MAX_SUM);
    }
    let (push, spin) = pushed(params, body, pose, state);
    let mut velocity = Vec2::from(before) * (1.0 / (1.0 + params.h * body.linear_damping));
    let mut angular_velocity = spin_before * (1.0 / (1.0 + params.h * body.angular_damping));
    velocity = velocity + push + kept_velocity;
    angular_velocity = angular_velocity + spin + kept_spin;
    // Componentwise first, so that an infinite force gives a finite velocity.
    velocity = Vec2::new(bounded(velocity.x, params.max_speed), bounded(velocity.y, params.max_speed));
    let speed = velocity.length();
    if speed > params.max_speed {
        velocity *= params.max_speed / speed;
    }
    angular_velocity = bounded(angular_velocity, max_spin(params, body));
    state.velocity = velocity.into();
    state.angular_velocity = angular_velocity;
    if warm {
        sum.velocity = (kept_velocity - velocity).into();
        sum.angular_velocity = kept_spin - angular_velocity;
    }
}

/// Returns the largest angular speed of a body, rad/s. No contact of a disc depends on its angle.
#[inline]
#[must_use]
pub fn max_spin(params: &Params, body: &BodyData) -> f32 {
    if body.is_disc() { params.max_disc_spin } else { params.max_spin }
}

/// Returns the velocity change of a body by forces and fields in one substep: m/s and rad/s.
#[inline]
#[must_use]
pub fn pushed(params: &Params, body: &BodyData, pose: &Pose, state: &BodyState) -> (Vec2, f32) {
    let force = Vec2::from(body.force);
    let mut torque = body.torque;
    // Most bodies have no force, so that their rotation is not needed.
    if force != Vec2::ZERO {
        let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
        torque += cross(rotate(turn, body.force_point.into()), force);
    }
    let mut acceleration = Vec2::from(params.gravity) * body.gravity_scale + force * body.inv_mass;
    for field in &params.fields[..params.field_count as usize] {
        acceleration += pull(field, body, pose.vector_from(field.position.into()) + Vec2::from(state.delta_position));
    }
    // The weight is that of the true mass.
    let share = mass_share(state.status);
    (acceleration * params.h * share, params.h * body.inv_inertia * torque * share)
}

/// Returns the acceleration towards the point of a field, m/s². `away` is the vector from there to the body, m.
fn pull(field: &FieldData, body: &BodyData, away: Vec2) -> Vec2 {
    let distance = away.length();
    if distance > field.core {
        -away * ((field.acceleration + field.force * body.inv_mass) / distance)
    } else {
        Vec2::ZERO
    }
}

/// Returns `value` clamped to `-most ..= most`; `-most` for a NaN.
fn bounded(value: f32, most: f32) -> f32 {
    smaller(larger(value, -most), most)
}
