//! **project**: moves penetrating bodies apart by position alone (projection mode; `post_solve` in naphy's *Physics
//! simulation in 2D space*, nonlinear Gauss-Seidel (NGS) in Box2D 2).
//!
//! Reads constraints; reads and writes states (deltas). Visits the constraints in colour order. Velocities are not
//! changed, so no energy is added.

use glam::Vec2;

use super::color::split::Splits;
use super::prepare::{ContactConstraint, turn_of_arm};
use crate::math::{cross, integrate_rotation, rotate, turned};
use crate::types::{Accumulator, BodyState, FIXED_A, FIXED_B, POINT_COUNT_MASK, Params, ROUND_A, ROUND_B};

/// Makes one sweep over all contacts.
pub fn project(
    params: &Params,
    splits: &Splits,
    constraints: &[ContactConstraint],
    states: &mut Vec<BodyState>,
    accumulators: &mut Vec<Accumulator>,
) {
    splits.sweep(constraints.len(), states, accumulators, |slot, states, _| {
        let constraint = &constraints[slot];
        let (a, b) = (constraint.body_a as usize, constraint.body_b as usize);
        let [state_a, state_b] = project_contact(params, constraint, states[a], states[b]);
        if constraint.flags & FIXED_A == 0 {
            states[a] = state_a;
        }
        if constraint.flags & FIXED_B == 0 {
            states[b] = state_b;
        }
    });
}

/// Moves the bodies of one contact apart, and returns their states afterwards.
#[inline]
#[must_use]
pub fn project_contact(
    params: &Params,
    constraint: &ContactConstraint,
    state_a: BodyState,
    state_b: BodyState,
) -> [BodyState; 2] {
    let (mut p_a, mut q_a) = (Vec2::from(state_a.delta_position), Vec2::from(state_a.delta_rotation));
    let (mut p_b, mut q_b) = (Vec2::from(state_b.delta_position), Vec2::from(state_b.delta_rotation));
    let normal = Vec2::from(constraint.normal);
    for point in &constraint.points[..(constraint.flags & POINT_COUNT_MASK) as usize] {
        let turn_a = turn_of_arm(constraint.flags & ROUND_A, q_a);
        let turn_b = turn_of_arm(constraint.flags & ROUND_B, q_b);
        let (r_a, r_b) = (rotate(turn_a, point.r_a.into()), rotate(turn_b, point.r_b.into()));
        let moved = (p_b - p_a) + (turned(turn_b, point.r_b.into()) - turned(turn_a, point.r_a.into()));
        let separation = point.separation + moved.dot(normal);
        let depth = (params.projection_rate * (separation + params.linear_slop)).min(0.0);
        let correction = depth.max(-params.max_correction);
        let (arm_a, arm_b) = (cross(r_a, normal), cross(r_b, normal));
        let k = constraint.inv_mass_a
            + constraint.inv_mass_b
            + constraint.inv_inertia_a * arm_a * arm_a
            + constraint.inv_inertia_b * arm_b * arm_b;
        let size = if k > 0.0 { -correction / k } else { 0.0 };
        let impulse = normal * size;
        p_a -= impulse * constraint.inv_mass_a;
        q_a = integrate_rotation(q_a, -(constraint.inv_inertia_a * cross(r_a, impulse)));
        p_b += impulse * constraint.inv_mass_b;
        q_b = integrate_rotation(q_b, constraint.inv_inertia_b * cross(r_b, impulse));
    }
    [
        BodyState { delta_position: p_a.into(), delta_rotation: q_a.into(), ..state_a },
        BodyState { delta_position: p_b.into(), delta_rotation: q_b.into(), ..state_b },
    ]
}
