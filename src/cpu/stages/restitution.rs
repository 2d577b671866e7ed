//! Applies bounces, with constraints in blocks of eight shared among threads; the fast form of
//! [`crate::stages::restitution`], to the same bits.

use crate::cpu::blocks::Visit;
use crate::cpu::lanes::WIDTH;
use crate::stages::restitution::bounce_contact;
use crate::threads::Rows;
use crate::types::{BodyState, FIXED_A, FIXED_B, POINT_COUNT_MASK, Params};

/// Makes one sweep over all contacts.
pub fn restitution(params: &Params, states: &Rows<BodyState, 4>, constraints: &mut impl Visit) {
    constraints.visit(|_, block, bounce| {
        let Some(bounce) = bounce else { return };
        for lane in 0..WIDTH {
            if bounce.restitution.0[lane] == 0.0 {
                continue;
            }
            let mut constraint = block.get(lane);
            constraint.rebound = bounce.get(lane);
            let (a, b) = (constraint.body_a as usize, constraint.body_b as usize);
            let [state_a, state_b] = bounce_contact(params, &mut constraint, states.get(a), states.get(b));
            for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
                block.set_normal_impulse(lane, end, constraint.impulses[2 * end]);
            }
            bounce.set(lane, &constraint.rebound);
            if constraint.flags & FIXED_A == 0 {
                states.set(a, state_a);
            }
            if constraint.flags & FIXED_B == 0 {
                states.set(b, state_b);
            }
        }
    });
}
