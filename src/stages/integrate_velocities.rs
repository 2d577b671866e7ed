//! **integrate_velocities**: gravity, forces and damping over one substep, then the warm-start impulses.
//!
//! Reads bodies, poses (for forces at a point); reads and writes states and accumulators. One thread a body.
//! `v = v/(1 + h·c) + h (f/m + s·g)`, and what fields do: the damping is implicit and stable for any coefficient.

use glam::Vec2;

use crate::math::{cross, mul_rotation, rotate};
use crate::threads::{Rows, Threads};
use crate::types::{Accumulator, Body, BodyState, DYNAMIC, Field, Params, Pose, QUARANTINED};

/// Advances the velocities by one substep.
pub fn integrate_velocities(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &mut [Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    threads.for_each(poses, |index, pose| {
        let body = &bodies[index];
        let mut state = states.get(index);
        if body.kind != DYNAMIC || state.status & QUARANTINED != 0 {
            return;
        }
        let kept = accumulators.get(index);
        let turn = mul_rotation(state.delta_rotation.into(), pose.rotation.into());
        let arm = rotate(turn, body.force_point.into());
        let force = Vec2::from(body.force);
        let torque = body.torque + cross(arm, force);
        let mut acceleration = Vec2::from(params.gravity) * body.gravity_scale + force * body.inv_mass;
        for field in &params.fields[..params.field_count as usize] {
            acceleration += pull(field, body, Vec2::from(pose.position) + Vec2::from(state.delta_position));
        }
        let push = acceleration * params.h;
        let spin = params.h * body.inv_inertia * torque;
        let mut velocity = Vec2::from(state.velocity) * (1.0 / (1.0 + params.h * body.linear_damping));
        let mut angular_velocity = state.angular_velocity * (1.0 / (1.0 + params.h * body.angular_damping));
        velocity = velocity + push + Vec2::from(kept.velocity);
        angular_velocity = angular_velocity + spin + kept.angular_velocity;
        // First by component, so that an infinite force ends up finite.
        velocity = velocity.clamp(Vec2::splat(-params.max_speed), Vec2::splat(params.max_speed));
        let speed = velocity.length();
        if speed > params.max_speed {
            velocity *= params.max_speed / speed;
        }
        angular_velocity = angular_velocity.clamp(-params.max_spin, params.max_spin);
        state.velocity = velocity.into();
        state.angular_velocity = angular_velocity;
        states.set(index, state);
        accumulators.set(index, Accumulator::default());
    });
}

/// The acceleration towards the point of a field, m/s².
fn pull(field: &Field, body: &Body, position: Vec2) -> Vec2 {
    let way = Vec2::from(field.position) - position;
    let distance = way.length();
    if distance > field.core {
        way * ((field.acceleration + field.force * body.inv_mass) / distance)
    } else {
        Vec2::ZERO
    }
}
