//! **recall**: finds the contact that every pair had in the step before.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts: until [`collide`](super::collide) has run,
//! `color` is the index of the contact in the step before, or stays [`NONE`](crate::types::NONE), and the colour it
//! had stands in `flags` with the rest of them ([`PAST_COLOR_SHIFT`]). One thread a contact. The list of the same
//! producer holds about four entries, so a search beats any table. The old contact has been fetched for that; so all
//! of it that matters is taken over here, and `collide` has no need of it. Its manifold is not copied: what is kept
//! would be read twice.

use crate::threads::{LIGHT, Threads};
use crate::types::{Contact, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK, RECYCLED, TOUCHED};

/// What stands in place of a colour that is none: the largest that fits above [`PAST_COLOR_SHIFT`].
const NO_PAST_COLOR: u32 = 0xff;
/// The flags that are below it and stay.
const KEPT_FLAGS: u32 = ((1 << PAST_COLOR_SHIFT) - 1) & !(RECYCLED | TOUCHED);

/// Looks up `contacts` in `previous`.
pub fn recall(threads: &Threads, previous_starts: &[u32], previous: &[Contact], contacts: &mut [Contact]) {
    threads.for_each(LIGHT, contacts, |_, contact| {
        let producer = contact.shape_a as usize;
        if producer + 1 < previous_starts.len() {
            let (start, end) = (previous_starts[producer], previous_starts[producer + 1]);
            let list = &previous[start as usize..end as usize];
            if let Some((index, old)) = (start..).zip(list).find(|(_, old)| old.shape_b == contact.shape_b) {
                let touched = old.flags & (POINT_COUNT_MASK | OVERLAPS) != 0;
                contact.flags = old.flags & KEPT_FLAGS
                    | if touched { TOUCHED } else { 0 }
                    | old.color.min(NO_PAST_COLOR) << PAST_COLOR_SHIFT;
                contact.color = index;
                contact.features = old.features;
                contact.rolling_impulse = old.rolling_impulse;
            }
        }
    });
}
