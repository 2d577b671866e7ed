//! **recall**: finds the contact that every pair had in the step before.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts: until [`collide`](super::collide) takes over what
//! is there, `color` is the index of the contact in the step before, or stays [`NONE`](crate::types::NONE). One thread a
//! contact. The list of the same producer holds about four entries, so a search beats any table. Nothing is copied here:
//! what is kept would be read twice.

use crate::threads::Threads;
use crate::types::Contact;

/// Looks up `contacts` in `previous`.
pub fn recall(threads: &Threads, previous_starts: &[u32], previous: &[Contact], contacts: &mut [Contact]) {
    threads.for_each(contacts, |_, contact| {
        let producer = contact.shape_a as usize;
        if producer + 1 < previous_starts.len() {
            let (start, end) = (previous_starts[producer], previous_starts[producer + 1]);
            let mut list = start..end;
            if let Some(old) = list.find(|&old| previous[old as usize].shape_b == contact.shape_b) {
                contact.color = old;
            }
        }
    });
}
