//! **recall**: finds the contact that every pair had in the step before.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts: until [`collide`](super::collide) has run,
//! `color` is the index of the contact in the step before, or stays [`NONE`](crate::types::NONE), and the colour it
//! had stands in `flags` with the rest of them ([`PAST_COLOR_SHIFT`]). Contact by contact. The list of the same
//! producer holds about four entries, so a search beats any table. The old contact has been fetched for that; so all
//! of it that matters is taken over here, and `collide` has no need of it. Its manifold is not copied: what is kept
//! would be read twice.

use crate::types::{Contact, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK, RECYCLED, TOUCHED};

/// Mark in place of a colour that is none: the largest that fits above [`PAST_COLOR_SHIFT`].
const NO_PAST_COLOR: u32 = 0xff;
/// The flags that are below it and stay.
const KEPT_FLAGS: u32 = ((1 << PAST_COLOR_SHIFT) - 1) & !(RECYCLED | TOUCHED);

/// Looks up `contacts` in those of the step before.
pub fn recall(pair_starts_previous: &[u32], contacts_previous: &[Contact], contacts: &mut [Contact]) {
    for contact in contacts {
        let producer = contact.shape_a as usize;
        // A shape that has just come has no list.
        let Some(&[start, end]) = pair_starts_previous.get(producer..producer + 2) else { continue };
        for index in start..end {
            let old = &contacts_previous[index as usize];
            if old.shape_b == contact.shape_b {
                let Contact { flags, color, features, rolling_impulse, .. } = carried_on(old, index);
                *contact = Contact { flags, color, features, rolling_impulse, ..*contact };
                break;
            }
        }
    }
}

/// Returns what becomes of a contact of the step before, `index` of its table, if the pair is there again.
#[inline(always)]
#[must_use]
pub fn carried_on(old: &Contact, index: u32) -> Contact {
    let touched = if old.flags & (POINT_COUNT_MASK | OVERLAPS) != 0 { TOUCHED } else { 0 };
    let past_color = old.color.min(NO_PAST_COLOR) << PAST_COLOR_SHIFT;
    Contact { flags: old.flags & KEPT_FLAGS | touched | past_color, color: index, ..*old }
}
