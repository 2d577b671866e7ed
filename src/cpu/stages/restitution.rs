//! **restitution**: bounces, once a step, after all sweeps.
//!
//! Reads and writes constraints and states (velocities). By colour, one thread a constraint. A point bounces if it was
//! approached faster than the threshold when the step began, before gravity, and took an impulse since.

use glam::Vec2;

use crate::cpu::blocks::{Block, Bounce, Visit};
use crate::cpu::lanes::WIDTH;
use crate::math::{cross, cross_scalar};
use crate::threads::Rows;
use crate::types::{BodyState, FIXED_A, FIXED_B, POINT_COUNT_MASK, Params};

/// One sweep.
pub fn restitution(params: &Params, states: &Rows<BodyState, 4>, constraints: &mut impl Visit) {
    constraints.visit(|_, block, bounce| {
        let Some(bounce) = bounce else { return };
        for lane in 0..WIDTH {
            if bounce.restitution.0[lane] != 0.0 {
                visit(params, states, lane, block, bounce);
            }
        }
    });
}

fn visit(params: &Params, states: &Rows<BodyState, 4>, lane: usize, block: &mut Block, bounce: &mut Bounce) {
    let constraint = block.get(lane);
    let mut rebound = bounce.get(lane);
    let state_a = states.get(constraint.body_a as usize);
    let state_b = states.get(constraint.body_b as usize);
    let (mut v_a, mut w_a) = (Vec2::from(state_a.velocity), state_a.angular_velocity);
    let (mut v_b, mut w_b) = (Vec2::from(state_b.velocity), state_b.angular_velocity);
    let normal = Vec2::from(constraint.normal);
    for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
        let point = &constraint.points[end];
        let speed = rebound.relative_velocities[end];
        if speed > -params.restitution_threshold || rebound.max_impulses[end] == 0.0 {
            continue;
        }
        let (r_a, r_b) = (Vec2::from(point.r_a), Vec2::from(point.r_b));
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        let old = constraint.impulses[2 * end];
        let wanted = -point.normal_mass * (velocity + rebound.restitution * speed);
        let new = (old + wanted).max(0.0);
        block.set_normal_impulse(lane, end, new);
        rebound.max_impulses[end] = rebound.max_impulses[end].max(new);
        let impulse = normal * (new - old);
        v_a -= impulse * constraint.inv_mass_a;
        w_a -= constraint.inv_inertia_a * cross(r_a, impulse);
        v_b += impulse * constraint.inv_mass_b;
        w_b += constraint.inv_inertia_b * cross(r_b, impulse);
    }
    bounce.set(lane, &rebound);
    if constraint.flags & FIXED_A == 0 {
        let state = BodyState { velocity: v_a.into(), angular_velocity: w_a, ..state_a };
        states.set(constraint.body_a as usize, state);
    }
    if constraint.flags & FIXED_B == 0 {
        let state = BodyState { velocity: v_b.into(), angular_velocity: w_b, ..state_b };
        states.set(constraint.body_b as usize, state);
    }
}
