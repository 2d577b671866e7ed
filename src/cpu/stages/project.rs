//! **project**: moves penetrating bodies apart by position alone (projection mode; naphy's `post_solve`, Box2D 2's NGS).
//!
//! Reads constraints; reads and writes states (deltas). By colour, one thread a constraint. Velocities are untouched,
//! so no energy is added.

use glam::Vec2;

use crate::cpu::blocks::{Lane, Visit};
use crate::cpu::lanes::WIDTH;
use crate::math::{cross, integrate_rotation, rotate, turned};
use crate::threads::Rows;
use crate::types::{BodyState, FIXED_A, FIXED_B, POINT_COUNT_MASK, Params};

/// One sweep.
pub fn project(params: &Params, states: &Rows<BodyState, 4>, constraints: &mut impl Visit) {
    constraints.visit(|_, block, _| {
        for lane in 0..WIDTH {
            visit(params, states, &block.get(lane));
        }
    });
}

fn visit(params: &Params, states: &Rows<BodyState, 4>, constraint: &Lane) {
    let mut state_a = states.get(constraint.body_a as usize);
    let mut state_b = states.get(constraint.body_b as usize);
    let (mut p_a, mut q_a) = (Vec2::from(state_a.delta_position), Vec2::from(state_a.delta_rotation));
    let (mut p_b, mut q_b) = (Vec2::from(state_b.delta_position), Vec2::from(state_b.delta_rotation));
    let normal = Vec2::from(constraint.normal);
    for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
        let point = &constraint.points[end];
        let (r_a, r_b) = (rotate(q_a, point.r_a.into()), rotate(q_b, point.r_b.into()));
        let moved = (p_b - p_a) + (turned(q_b, point.r_b.into()) - turned(q_a, point.r_a.into()));
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
    if constraint.flags & FIXED_A == 0 {
        state_a.delta_position = p_a.into();
        state_a.delta_rotation = q_a.into();
        states.set(constraint.body_a as usize, state_a);
    }
    if constraint.flags & FIXED_B == 0 {
        state_b.delta_position = p_b.into();
        state_b.delta_rotation = q_b.into();
        states.set(constraint.body_b as usize, state_b);
    }
}
