//! Wakes sleeping islands and restores their archived contacts; the CPU engine's form of [`crate::stages::wake`], to
//! the same bits. It allocates no memory once its lists have grown to their full size.

use super::collect_events::find;
use crate::cpu::{ContactTables, SleepTables};
use crate::scene::Compiled;
use crate::stages::bound::level_bits;
use crate::stages::collect_events::produced;
use crate::stages::wake::{archived_by, wake_find, wake_joints};
use crate::threads::Rows;
use crate::types::{
    ASLEEP, BodyState, Contact, Counters, DYNAMIC, GEOMETRY_MASK, ISLAND_WAKE, JointState, NO_SHAPE, QUARANTINED,
    QUIET_MASK, RETURNED, SleepingContact, WAKE_ALL, WOKEN,
};

/// Lists that replace those of the previous step if a body wakes. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct WakeScratch(ContactTables);

/// Wakes islands, and sets [`Counters::again`] if a body woke.
pub fn wake(
    compiled: &Compiled,
    joint_states: &Rows<JointState, 2>,
    contacts: &[Contact],
    states: &Rows<BodyState, 4>,
    sleep: &mut SleepTables,
    previous: &mut ContactTables,
    counters: &mut Counters,
    scratch: &mut WakeScratch,
) {
    let Compiled { params, bodies, shapes, joints, .. } = compiled;
    let SleepTables { islands, island_flags, contacts: archived, .. } = sleep;
    let status = |body: u32| states.get(body as usize).status;
    wake_find(contacts, archived, counters, &status, islands, island_flags);
    wake_joints(&joints.joints, |joint| joint_states.get(joint), &status, islands, island_flags);
    counters.again = 0;
    for (index, body) in bodies.iter().enumerate() {
        let mut state = states.get(index);
        let sleeps = body.kind == DYNAMIC && state.status & ASLEEP != 0;
        let called = || island_flags.get(islands[index] as usize).is_some_and(|flags| flags & ISLAND_WAKE != 0);
        if state.status & WOKEN != 0 || (sleeps && (counters.wake_flags & WAKE_ALL != 0 || called())) {
            state.status &= !(ASLEEP | WOKEN | QUIET_MASK);
            states.set(index, state);
            counters.woken += 1;
            counters.again = 1;
        }
    }
    if counters.again == 0 {
        return;
    }
    counters.recycled = 0;
    let asleep = |body: u32| states.get(body as usize).status & ASLEEP != 0;
    for shape in shapes {
        let there = shape.kind & GEOMETRY_MASK != NO_SHAPE && states.get(shape.body as usize).status & QUARANTINED == 0;
        if there && !asleep(shape.body) {
            counters.awake_levels |= level_bits(params, shape);
        }
    }
    let returns = |contact: &Contact| !(asleep(contact.body_a) && asleep(contact.body_b));
    let returned = put_back(shapes.len(), sleep, previous, scratch, returns);
    counters.sleeping_contacts = counters.sleeping_contacts.wrapping_sub(returned);
}

/// Adds the archived contacts that return to the list of their producer, unless they are there already. Returns their
/// number.
fn put_back(
    shapes: usize,
    sleep: &mut SleepTables,
    previous: &mut ContactTables,
    WakeScratch(merged_tables): &mut WakeScratch,
    returns: impl Fn(&Contact) -> bool,
) -> u32 {
    let ContactTables { pair_starts: starts, contacts, manifolds } = &*previous;
    let ContactTables { pair_starts: merged_starts, contacts: merged, manifolds: merged_manifolds } = merged_tables;
    merged_starts.clear();
    merged.clear();
    merged_manifolds.clear();
    let mut returned = 0;
    for producer in 0..shapes {
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        merged_starts.push(merged.len() as u32);
        let before = produced(starts, contacts, producer);
        merged.extend_from_slice(before);
        merged_manifolds.extend_from_slice(produced(starts, manifolds, producer));
        let archived = &mut sleep.contacts[archived_by(&sleep.starts, producer)];
        let mut next = 0;
        for SleepingContact { contact, manifold } in archived.iter_mut().filter(|one| returns(&one.contact)) {
            returned += 1;
            if find(before, contact.shape_b, &mut next).is_none() {
                merged.push(*contact);
                merged_manifolds.push(*manifold);
            }
            contact.flags |= RETURNED;
        }
    }
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    merged_starts.push(merged.len() as u32);
    std::mem::swap(previous, merged_tables);
    returned
}
