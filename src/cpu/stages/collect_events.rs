//! Collects the events of a step, with shapes shared among threads; the fast form of [`crate::stages::collect_events`],
//! to the same events in the same order.

use crate::cpu::{BodyTables, ContactTables};
use crate::stages::collect_events::{begin_of, break_of, end_of, goes_on, produced, touches};
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{ASLEEP, BodyState, Contact, EventData, JointData, JointState, TOUCHED};

/// Fills `events`. `scratch` is kept from step to step.
pub fn collect_events(
    threads: &Threads,
    tables: &BodyTables,
    previous: &ContactTables,
    current: &ContactTables,
    joints: &[JointData],
    joint_states: &Rows<JointState, 2>,
    events: &mut Vec<EventData>,
    scratch: &mut Vec<Vec<EventData>>,
) {
    let BodyTables { poses, states, .. } = tables;
    let ContactTables { pair_starts, contacts, manifolds } = current;
    let shapes = pair_starts.len().saturating_sub(1);
    let parts = threads.for_parts(LIGHT, shapes, scratch, |first, end, found| {
        found.clear();
        for producer in first..end {
            let before = produced(&previous.pair_starts, &previous.contacts, producer);
            let now = produced(pair_starts, contacts, producer);
            // Lists are short, except those of a crowded shape.
            if (producer.is_multiple_of(64) || before.len() > 64) && threads.is_cancelled() {
                return;
            }
            let mut next = 0;
            let ceased = before.iter().filter(|contact| {
                touches(contact) && !is_among(now, contact, &mut next) && !sleeps_on(states, contact)
            });
            found.extend(ceased.map(end_of));
            let made = produced(pair_starts, manifolds, producer);
            let began = now.iter().zip(made).filter(|(now, _)| touches(now) && now.flags & TOUCHED == 0);
            found.extend(began.map(|(contact, manifold)| {
                let (a, b) = (contact.body_a as usize, contact.body_b as usize);
                begin_of([&poses[a], &poses[b]], [states.get(a), states.get(b)], contact, manifold)
            }));
        }
    });
    events.clear();
    for found in parts {
        events.extend_from_slice(found);
    }
    for (place, joint) in joints.iter().enumerate() {
        let mut state = joint_states.get(place);
        if let Some(event) = break_of(joint, &mut state) {
            joint_states.set(place, state);
            events.push(event);
        }
    }
}

/// Returns true if the pair is archived, as both sleep: it touches as before.
fn sleeps_on(states: &Rows<BodyState, 4>, contact: &Contact) -> bool {
    let status = |body: u32| states.get(body as usize).status;
    status(contact.body_a) & status(contact.body_b) & ASLEEP != 0
}

/// Finds the contact with a partner in a producer's list. It starts behind the last hit: lists mostly repeat their
/// order, and one may be long.
pub(super) fn find<'a>(list: &'a [Contact], shape_b: u32, next: &mut usize) -> Option<&'a Contact> {
    let is_same = |other: &Contact| other.shape_b == shape_b;
    let here = list.get(*next).is_some_and(is_same).then_some(*next);
    let place = here.or_else(|| list.iter().position(is_same))?;
    *next = place + 1;
    list.get(place)
}

/// Returns true if a pair touches in this list of its producer's contacts.
fn is_among(list: &[Contact], contact: &Contact, next: &mut usize) -> bool {
    find(list, contact.shape_b, next).is_some_and(|now| goes_on(contact, now))
}
