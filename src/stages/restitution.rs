//! **restitution**: applies bounces, once a step, after all sweeps. Box2D: `b2ApplyRestitutionTask`.
//!
//! Reads and writes constraints, rebounds and states (velocities). Visits the constraints in colour order. A point
//! bounces if its approach speed when the step began, before gravity, exceeded the threshold and it has taken an
//! impulse since.

use glam::Vec2;

use super::prepare::ContactConstraint;
use crate::math::{cross, cross_scalar};
use crate::types::{BOUNCES, BodyState, FIXED_A, FIXED_B, POINT_COUNT_MASK, Params};

/// Makes one sweep over all contacts.
pub fn restitution(params: &Params, constraints: &mut [ContactConstraint], states: &mut [BodyState]) {
    if params.switches & BOUNCES == 0 {
        return;
    }
    for constraint in constraints {
        let (a, b, flags) = (constraint.body_a as usize, constraint.body_b as usize, constraint.flags);
        let [state_a, state_b] = bounce_contact(params, constraint, states[a], states[b]);
        if flags & FIXED_A == 0 {
            states[a] = state_a;
        }
        if flags & FIXED_B == 0 {
            states[b] = state_b;
        }
    }
}

/// Applies the bounce of one contact, and returns the states of its bodies afterwards.
#[inline]
#[must_use]
pub fn bounce_contact(
    params: &Params,
    constraint: &mut ContactConstraint,
    state_a: BodyState,
    state_b: BodyState,
) -> [BodyState; 2] {
    let ContactConstraint { points, impulses, rebound, .. } = constraint;
    if rebound.restitution == 0.0 {
        return [state_a, state_b];
    }
    let (mut v_a, mut w_a) = (Vec2::from(state_a.velocity), state_a.angular_velocity);
    let (mut v_b, mut w_b) = (Vec2::from(state_b.velocity), state_b.angular_velocity);
    let normal = Vec2::from(constraint.normal);
    for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
        let speed = rebound.relative_velocities[end];
        if speed > -params.restitution_threshold || rebound.max_impulses[end] == 0.0 {
            continue;
        }
        let (r_a, r_b) = (Vec2::from(points[end].r_a), Vec2::from(points[end].r_b));
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        let old = impulses[2 * end];
        let wanted = -points[end].normal_mass * (velocity + rebound.restitution * speed);
        let new = (old + wanted).max(0.0);
        impulses[2 * end] = new;
        rebound.max_impulses[end] = rebound.max_impulses[end].max(new);
        let impulse = normal * (new - old);
        v_a -= impulse * constraint.inv_mass_a;
        w_a -= constraint.inv_inertia_a * cross(r_a, impulse);
        v_b += impulse * constraint.inv_mass_b;
        w_b += constraint.inv_inertia_b * cross(r_b, impulse);
    }
    [
        BodyState { velocity: v_a.into(), angular_velocity: w_a, ..state_a },
        BodyState { velocity: v_b.into(), angular_velocity: w_b, ..state_b },
    ]
}
