//! **store_impulses**: hands the impulses back to the contacts, from where the next step recalls them.
//!
//! Reads constraints; writes contacts. One thread a constraint.

use crate::types::{Constraint, Contact};

/// Writes the impulses of `contacts`.
pub fn store_impulses(constraints: &[Constraint], contacts: &mut [Contact]) {
    for constraint in constraints {
        let points = &mut contacts[constraint.contact as usize].points;
        for (end, point) in points.iter_mut().enumerate() {
            point.normal_impulse = constraint.impulses[2 * end];
            point.tangent_impulse = constraint.impulses[2 * end + 1];
        }
    }
}
