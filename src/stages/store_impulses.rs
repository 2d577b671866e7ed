//! **store_impulses**: hands the impulses back to the contacts, from where the next step recalls them.
//!
//! Reads constraints and surfaces; writes contacts. One thread a constraint.

use crate::threads::Rows;
use crate::types::{Constraint, Contact, Surface};

/// Writes the impulses of `contacts`.
pub fn store_impulses(constraints: &[Constraint], surfaces: &Rows<Surface, 2>, contacts: &mut [Contact]) {
    for (slot, constraint) in constraints.iter().enumerate() {
        let contact = &mut contacts[constraint.contact as usize];
        if !surfaces.is_empty() {
            contact.rolling_impulse = surfaces.get(slot).rolling_impulse;
        }
        for (end, point) in contact.points.iter_mut().enumerate() {
            point.normal_impulse = constraint.impulses[2 * end];
            point.tangent_impulse = constraint.impulses[2 * end + 1];
        }
    }
}
