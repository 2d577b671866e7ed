//! **store_impulses**: hands the impulses back to the contacts, from where the next step recalls them.
//!
//! Reads constraints and surfaces; writes contacts. One thread a constraint; here one a contact, which
//! [`prepare`](super::prepare) explains.

use super::prepare::{BLOCK, cut};
use crate::blocks::Blocks;
use crate::threads::{Rows, Threads};
use crate::types::{Contact, Counters, Surface};

/// Writes the impulses of `contacts`.
pub fn store_impulses(
    threads: &Threads,
    slots: &[u32],
    counters: &Counters,
    constraints: &Blocks,
    surfaces: &Rows<Surface, 2>,
    contacts: &mut [Contact],
) {
    let cuts = cut(slots, counters, contacts.len());
    threads.for_chunks(contacts, BLOCK, |first, contacts| {
        let mut next = cuts[first / BLOCK];
        for contact in contacts {
            let Some(slot) = next.get_mut(contact.color as usize) else { continue };
            let color = contact.color as usize;
            let rank = *slot - counters.color_starts[color] as usize;
            let (block, lane) = constraints.place(color, rank);
            let Some(block) = constraints.get(block) else { continue };
            if !surfaces.is_empty() {
                contact.rolling_impulse = surfaces.get(*slot).rolling_impulse;
            }
            *slot += 1;
            let impulses = block.impulses(lane);
            for (point, impulses) in contact.points.iter_mut().zip(impulses.chunks_exact(2)) {
                [point.normal_impulse, point.tangent_impulse] = [impulses[0], impulses[1]];
            }
        }
    });
}
