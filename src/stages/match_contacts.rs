//! **match_contacts**: finds the contact that every pair had in the previous step, for warm starting and for its
//! colour.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts: until [`collide`](super::collide) has run,
//! `color` is the index of the contact in the previous step, or [`NONE`](crate::types::NONE), and its colour is in the
//! upper bits of `flags` ([`PAST_COLOR_SHIFT`]). Visits one contact after the other. The list of the same producer
//! holds about four entries, so a linear search beats any table. All fields of the old contact that matter are copied
//! here, as the search has fetched it anyway, so that `collide` does not need it. Its manifold is not copied: one that
//! is kept would be read twice.
//!
//! The type of a body may have changed since that step. Then the contact keeps its impulses, and nothing else that
//! follows from the types: it has no colour, as those of a body that did not move are not distinct.

use crate::types::{
    Contact, FIXED_A, FIXED_B, HUB_A, HUB_B, INITIAL, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK, RECYCLED, SENSOR,
    SENSOR_B, TOUCHED,
};

/// Value in place of a missing colour: the largest that fits above [`PAST_COLOR_SHIFT`].
const NO_PAST_COLOR: u32 = 0xff;
/// Flags below the colour that are copied.
const KEPT_FLAGS: u32 = ((1 << PAST_COLOR_SHIFT) - 1) & !(RECYCLED | TOUCHED | INITIAL);
/// Flags that `pair` sets by the kinds of the two shapes.
const KIND_FLAGS: u32 = FIXED_A | FIXED_B | SENSOR | SENSOR_B;

/// Looks up every contact among those of the previous step.
pub fn match_contacts(pair_starts_previous: &[u32], contacts_previous: &[Contact], contacts: &mut [Contact]) {
    for contact in contacts {
        let producer = contact.shape_a as usize;
        // A new shape has no list.
        let Some(&[start, end]) = pair_starts_previous.get(producer..producer + 2) else { continue };
        for index in start..end {
            let old = &contacts_previous[index as usize];
            if old.shape_b == contact.shape_b {
                carry_over(contact, old, index);
                break;
            }
        }
    }
}

/// Sets the start values of a new contact whose pair was contact `old`, with this index, in the previous step.
#[inline(always)]
pub fn carry_over(contact: &mut Contact, old: &Contact, index: u32) {
    let kinds = contact.flags & KIND_FLAGS;
    let Contact { mut flags, color, features, rolling_impulse, .. } = carried_on(old, index);
    if flags & KIND_FLAGS != kinds {
        // A shape that is a sensor now, or no longer, begins to touch again.
        if (flags ^ kinds) & (SENSOR | SENSOR_B) != 0 {
            flags &= !TOUCHED;
        }
        flags = flags & !(KIND_FLAGS | HUB_A | HUB_B) | kinds | NO_PAST_COLOR << PAST_COLOR_SHIFT;
    }
    *contact = Contact { flags, color, features, rolling_impulse, ..*contact };
}

/// Returns the start values of a contact whose pair was contact `old`, with this index, in the previous step, while no
/// body changes its type.
#[inline(always)]
#[must_use]
pub fn carried_on(old: &Contact, index: u32) -> Contact {
    let did_touch = old.flags & (POINT_COUNT_MASK | OVERLAPS) != 0 && old.flags & INITIAL == 0;
    let touched = if did_touch { TOUCHED } else { 0 };
    let past_color = old.color.min(NO_PAST_COLOR) << PAST_COLOR_SHIFT;
    Contact { flags: old.flags & KEPT_FLAGS | touched | past_color, color: index, ..*old }
}
