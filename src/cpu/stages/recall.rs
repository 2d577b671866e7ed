//! **recall**: finds the contact that every pair had in the step before.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts: until [`collide`](super::collide) has run,
//! `color` is the index of the contact in the step before, or stays [`NONE`], and the colour it
//! had stands in `flags` with the rest of them ([`PAST_COLOR_SHIFT`]). One thread a contact. The list of the same
//! producer holds about four entries, so a search beats any table. The old contact has been fetched for that; so all
//! of it that matters is taken over here, and `collide` has no need of it. Its manifold is not copied: what is kept
//! would be read twice. On the CPU [`pair`](super::pair::near) may have done it in passing.

use crate::threads::{LIGHT, Threads};
use crate::types::{Contact, NONE, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK, RECYCLED, TOUCHED};

/// What stands in place of a colour that is none: the largest that fits above [`PAST_COLOR_SHIFT`].
const NO_PAST_COLOR: u32 = 0xff;
/// The flags that are below it and stay.
const KEPT_FLAGS: u32 = ((1 << PAST_COLOR_SHIFT) - 1) & !(RECYCLED | TOUCHED);

/// Looks up `contacts` in the past.
pub fn recall(threads: &Threads, past: Past, contacts: &mut [Contact]) {
    threads.for_chunks(LIGHT, contacts, |_, contacts| {
        let (mut producer, mut next) = (NONE, 0);
        for contact in contacts {
            if contact.shape_a != producer {
                (producer, next) = (contact.shape_a, 0);
            }
            past.recall_from(contact, &mut next);
        }
    });
}

/// The contacts of the step before.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// Shape `i` produced `contacts[starts[i] .. starts[i + 1]]`.
    pub starts: &'a [u32],
    /// Grouped by producer.
    pub contacts: &'a [Contact],
}

impl<'a> Past<'a> {
    /// The contacts that a shape produced, and the index of the first.
    #[inline(always)]
    #[must_use]
    pub fn of(self, producer: usize) -> (u32, &'a [Contact]) {
        match self.starts.get(producer..producer + 2) {
            Some(&[start, end]) => (start, &self.contacts[start as usize..end as usize]),
            _ => (0, &[]),
        }
    }

    /// Looks up one contact.
    #[inline(always)]
    pub fn recall(self, contact: &mut Contact) {
        self.recall_from(contact, &mut 0);
    }

    /// Looks up one contact, first at the place behind the one before: they mostly come in the same order again, and a list
    /// may be long.
    #[inline(always)]
    fn recall_from(self, contact: &mut Contact, next: &mut usize) {
        let (start, list) = self.of(contact.shape_a as usize);
        let is_same = |old: &Contact| old.shape_b == contact.shape_b;
        let here = list.get(*next).is_some_and(is_same).then_some(*next);
        if let Some(index) = here.or_else(|| list.iter().position(is_same)) {
            *next = index + 1;
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            let old = carried_on(&list[index], start + index as u32);
            let Contact { flags, color, features, rolling_impulse, .. } = old;
            *contact = Contact { flags, color, features, rolling_impulse, ..*contact };
        }
    }
}

/// What becomes of a contact of the step before, `index` of its table, if the pair is there again.
#[inline(always)]
#[must_use]
pub fn carried_on(old: &Contact, index: u32) -> Contact {
    let touched = old.flags & (POINT_COUNT_MASK | OVERLAPS) != 0;
    let past_color = old.color.min(NO_PAST_COLOR) << PAST_COLOR_SHIFT;
    let flags = old.flags & KEPT_FLAGS | if touched { TOUCHED } else { 0 } | past_color;
    Contact { flags, color: index, ..*old }
}
