//! Corrects penetration by position, with constraints in blocks of eight shared among threads; the fast form of
//! [`crate::stages::project`], to the same bits.

use crate::cpu::blocks::Visit;
use crate::lanes::WIDTH;
use crate::stages::project::project_contact;
use crate::threads::Rows;
use crate::types::{BodyState, FIXED_A, FIXED_B, Params};

/// Makes one sweep over all contacts.
pub fn project(params: &Params, states: &Rows<BodyState, 4>, constraints: &mut impl Visit) {
    constraints.visit(|_, block, _| {
        for lane in 0..WIDTH {
            let constraint = block.get(lane);
            let (a, b) = (constraint.body_a as usize, constraint.body_b as usize);
            let [state_a, state_b] = project_contact(params, &constraint, states.get(a), states.get(b));
            if constraint.flags & FIXED_A == 0 {
                states.set(a, state_a);
            }
            if constraint.flags & FIXED_B == 0 {
                states.set(b, state_b);
            }
        }
    });
}
