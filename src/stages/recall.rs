//! **recall**: every contact that was there in the step before takes over its manifold, impulses and colour.
//!
//! Reads contacts_previous and pair_starts_previous; writes contacts. One thread a contact. The list of the same
//! producer holds about four entries, so a search beats any table.

use crate::threads::Threads;
use crate::types::{Contact, ContactPoint};

/// Fills in `contacts` from `previous`.
pub fn recall(threads: &Threads, previous_starts: &[u32], previous: &[Contact], contacts: &mut [Contact]) {
    threads.for_each(contacts, |_, contact| {
        let producer = contact.shape_a as usize;
        if producer + 1 < previous_starts.len() {
            let list = &previous[previous_starts[producer] as usize..previous_starts[producer + 1] as usize];
            if let Some(old) = list.iter().find(|old| old.shape_b == contact.shape_b) {
                *contact = *old;
                return;
            }
        }
        contact.normal = [0.0; 2];
        contact.cached_rotation_a = [0.0; 2];
        contact.cached_rotation_b = [0.0; 2];
        contact.cached_position = [0.0; 2];
        contact.features = [0; 2];
        contact.points = [ContactPoint::default(); 2];
    });
}
