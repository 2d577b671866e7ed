//! **store_impulses**: hands the impulses back to the contacts, from where the next step recalls them.
//!
//! Reads constraints and surfaces; writes contacts. One thread a constraint; here one a contact, which
//! [`prepare`](super::prepare) explains.

use super::prepare::{BLOCK, cut};
use crate::threads::{Rows, Threads};
use crate::types::{Constraint, Contact, Counters, Surface};

/// Writes the impulses of `contacts`.
pub fn store_impulses(
    threads: &Threads,
    slots: &[u32],
    counters: &Counters,
    constraints: &[Constraint],
    surfaces: &Rows<Surface, 2>,
    contacts: &mut [Contact],
) {
    let cuts = cut(slots, counters, contacts.len());
    threads.for_chunks(contacts, BLOCK, |first, contacts| {
        let mut next = cuts[first / BLOCK];
        for contact in contacts {
            let Some(slot) = next.get_mut(contact.color as usize) else { continue };
            let Some(constraint) = constraints.get(*slot) else { continue };
            if !surfaces.is_empty() {
                contact.rolling_impulse = surfaces.get(*slot).rolling_impulse;
            }
            *slot += 1;
            for (end, point) in contact.points.iter_mut().enumerate() {
                point.normal_impulse = constraint.impulses[2 * end];
                point.tangent_impulse = constraint.impulses[2 * end + 1];
            }
        }
    });
}
