//! Copies the solved impulses back to the manifolds; the fast form of [`crate::stages::store_impulses`], to the same
//! bits. It walks through the contacts instead of the constraints, shared among threads; [`prepare`](super::prepare)
//! explains the order.

use super::prepare::{BLOCK, PrepareScratch, cut};
use crate::cpu::blocks::Blocks;
use crate::cpu::{ConstraintSet, ContactTables};
use crate::stages::store_impulses::{ContactImpulses, store_impulses_of};
use crate::threads::{Cut, Rows, Threads};
use crate::types::{BodyState, COLOR_COUNT, Contact, Counters, Manifold, Params, Surface};

/// Writes the impulses and preloads of `manifolds`, and the rolling impulses of `contacts`.
pub fn store_impulses(
    threads: &Threads,
    params: &Params,
    solver: &ConstraintSet,
    counters: &Counters,
    states: &Rows<BodyState, 4>,
    current: &mut ContactTables,
    PrepareScratch { cuts, .. }: &mut PrepareScratch,
) {
    let ConstraintSet { slots, constraints, surfaces, .. } = solver;
    let ContactTables { contacts, manifolds, .. } = current;
    // One thread walks through all contacts from the start, without interruption.
    cuts.clear();
    let one = Threads::default();
    let threads = if threads.count() > 1 {
        cut(slots, counters, contacts.len(), cuts);
        threads
    } else {
        &one
    };
    let first_slots = std::array::from_fn(|color| counters.color_starts[color] as usize);
    threads.for_chunk_pairs(Cut { unit: BLOCK, least: BLOCK }, contacts, manifolds, |first, contacts, manifolds| {
        let mut next = cuts.get(first / BLOCK).copied().unwrap_or(first_slots);
        store_from(params, constraints, surfaces, counters, &mut next, states, contacts, manifolds);
    });
}

/// Writes the impulses of some contacts, whose constraints follow each other in each colour from slot `next` on.
pub(crate) fn store_from(
    params: &Params,
    constraints: &Blocks,
    surfaces: &Rows<Surface, 2>,
    counters: &Counters,
    next: &mut [usize; COLOR_COUNT as usize],
    states: &Rows<BodyState, 4>,
    contacts: &mut [Contact],
    manifolds: &mut [Manifold],
) {
    for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
        let Some(slot) = next.get_mut(contact.color as usize) else { continue };
        let color = contact.color as usize;
        let rank = *slot - counters.color_starts[color] as usize;
        let (block, lane) = constraints.places().place(color, rank);
        let Some(from) = constraints.get(block) else { continue };
        let rolling = (!surfaces.is_empty()).then(|| surfaces.get(*slot).rolling_impulse);
        *slot += 1;
        let impacts = constraints.impact_impulses(block, lane);
        let impulses = ContactImpulses::new(from.impulses(lane), impacts, rolling, from.inv_masses(lane));
        let state = |body: u32| states.get(body as usize);
        store_impulses_of(params, contact, manifold, impulses, state);
    }
}

/// Calls `keep(contact, impulses)` for each constraint, in the order of `slots`.
pub(crate) fn store_impulses_listed(
    slots: &[u32],
    counters: &Counters,
    constraints: &Blocks,
    surfaces: &Rows<Surface, 2>,
    mut keep: impl FnMut(usize, ContactImpulses),
) {
    for color in 0..COLOR_COUNT as usize {
        let [start, end] = [0, 1].map(|next| counters.color_starts[color + next] as usize);
        for (rank, &contact) in slots[start..end].iter().enumerate() {
            let (block, lane) = constraints.places().place(color, rank);
            let Some(from) = constraints.get(block) else { continue };
            let rolling = (!surfaces.is_empty()).then(|| surfaces.get(start + rank).rolling_impulse);
            let impacts = constraints.impact_impulses(block, lane);
            keep(contact as usize, ContactImpulses::new(from.impulses(lane), impacts, rolling, from.inv_masses(lane)));
        }
    }
}
