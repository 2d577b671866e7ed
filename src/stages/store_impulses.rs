//! **store_impulses**: hands the impulses back to the manifolds, from where the next step recalls them.
//!
//! Reads constraints and surfaces, and the colours of contacts; writes manifolds and, against rolling, contacts. One thread
//! a constraint; here one a contact, which [`prepare`](super::prepare) explains.

use super::prepare::{BLOCK, cut};
use crate::blocks::Blocks;
use crate::threads::{Rows, Threads};
use crate::types::{Contact, Counters, Manifold, Surface};

/// Writes the impulses of `manifolds`.
pub fn store_impulses(
    threads: &Threads,
    slots: &[u32],
    counters: &Counters,
    constraints: &Blocks,
    surfaces: &Rows<Surface, 2>,
    contacts: &mut [Contact],
    manifolds: &mut [Manifold],
) {
    let cuts = cut(slots, counters, contacts.len());
    threads.for_chunk_pairs(contacts, manifolds, BLOCK, |first, contacts, manifolds| {
        let mut next = cuts[first / BLOCK];
        for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
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
            for (point, impulses) in manifold.points.iter_mut().zip(impulses.chunks_exact(2)) {
                [point.normal_impulse, point.tangent_impulse] = [impulses[0], impulses[1]];
            }
        }
    });
}
