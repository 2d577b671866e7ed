//! Finds every contact's predecessor in the previous step, with contacts shared among threads; the fast form of
//! [`crate::stages::match_contacts`], to the same bits. Each search starts where the one before ended. With the
//! neighbor list, [`neighbor_list`](super::pair::neighbor_list) does this while it finds the pairs.

use crate::stages::match_contacts::carry_over;
use crate::threads::{LIGHT, Threads};
use crate::types::{Contact, NONE};

/// Looks up all contacts among those of the previous step.
pub fn match_contacts(threads: &Threads, past: PreviousContacts, contacts: &mut [Contact]) {
    threads.for_chunks(LIGHT, contacts, |_, contacts| {
        let (mut producer, mut next) = (NONE, 0);
        for contact in contacts {
            if contact.shape_a != producer {
                (producer, next) = (contact.shape_a, 0);
            }
            past.match_contact_from(contact, &mut next);
        }
    });
}

/// Contacts of the previous step.
#[derive(Clone, Copy, Debug)]
pub struct PreviousContacts<'a> {
    /// Shape `i` produced `contacts[starts[i] .. starts[i + 1]]`.
    pub starts: &'a [u32],
    /// Contacts, grouped by producer.
    pub contacts: &'a [Contact],
}

impl<'a> PreviousContacts<'a> {
    /// Returns the contacts that a shape produced, and the index of the first.
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
    pub fn match_contacts(self, contact: &mut Contact) {
        self.match_contact_from(contact, &mut 0);
    }

    /// Looks up one contact, starting behind the last hit: the order mostly repeats, and a list may be long.
    #[inline(always)]
    fn match_contact_from(self, contact: &mut Contact, next: &mut usize) {
        let (start, list) = self.of(contact.shape_a as usize);
        let is_same = |old: &Contact| old.shape_b == contact.shape_b;
        let here = list.get(*next).is_some_and(is_same).then_some(*next);
        if let Some(index) = here.or_else(|| list.iter().position(is_same)) {
            *next = index + 1;
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            carry_over(contact, &list[index], start + index as u32);
        }
    }
}
