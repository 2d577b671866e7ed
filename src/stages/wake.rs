//! **wake**: wakes the sleeping islands that touch an awake body, and restores their archived contacts.
//!
//! Reads contacts as `collide` left them, joints, bodies; reads and writes states, island flags, and contacts_previous
//! and manifolds_previous with pair_starts_previous. To these it adds the contacts that [`sleep`](super::sleep)
//! archived, if the pair is no longer asleep. So a body that wakes finds manifolds and impulses as if it had never
//! slept, and events know what touched. In the archive they are marked ([`RETURNED`]): a fixed body that was moved is
//! asleep again at the end of the step, and their pair with it. The device runs `wake_find`, `wake_joints`,
//! `wake_bodies`, `wake_shapes`, `wake_count`, scan, `wake_gather`, `wake_copy`, of which all but the first three do
//! something only if a body woke.
//!
//! A body wakes if an awake body touches any body of its island (with contact points; not a sensor) or is joined to
//! it, if a command addressed it, or if one moved a fixed body that its island touched: that body is awake in this
//! step, and their contact archived. After this stage, `pair`, `match_contacts` and `collide` run again, so that the
//! impact of this very step is solved with all of them.

use super::bound::level_bits;
use super::collect_events::produced;
use crate::scene::Compiled;
use crate::tables::Tables;
use crate::types::{
    ASLEEP, BROKEN, Contact, Counters, DYNAMIC, FIXED_A, FIXED_B, GEOMETRY_MASK, ISLAND_WAKE, JOINT_DISABLED,
    JOINT_FIXED_A, JOINT_FIXED_B, JointData, JointState, NO_SHAPE, POINT_COUNT_MASK, QUARANTINED, QUIET_MASK, RETURNED,
    SleepingContact, WAKE_ALL, WAKE_MOVED, WOKEN, WORLD_A,
};

/// Wakes islands, and sets [`Counters::again`] if a body woke.
pub fn wake(compiled: &Compiled, tables: &mut Tables) {
    let Compiled { params, bodies, shapes, joints, .. } = compiled;
    let Tables { contacts, sleeping, states, joint_states, islands, island_flags, counters, .. } = tables;
    let status = |body: u32| states[body as usize].status;
    wake_find(contacts, sleeping, counters, &status, islands, island_flags);
    wake_joints(&joints.joints, |joint| joint_states[joint], &status, islands, island_flags);
    counters.again = 0;
    for (index, body) in bodies.iter().enumerate() {
        let state = &mut states[index];
        let sleeps = body.kind == DYNAMIC && state.status & ASLEEP != 0;
        let called = island_flags.get(islands[index] as usize).is_some_and(|flags| flags & ISLAND_WAKE != 0);
        if state.status & WOKEN != 0 || (sleeps && (counters.wake_flags & WAKE_ALL != 0 || called)) {
            state.status &= !(ASLEEP | WOKEN | QUIET_MASK);
            counters.woken += 1;
            counters.again = 1;
        }
    }
    if counters.again == 0 {
        return;
    }
    counters.recycled = 0;
    for shape in shapes.iter().filter(|shape| shape.kind & GEOMETRY_MASK != NO_SHAPE) {
        if states[shape.body as usize].status & (QUARANTINED | ASLEEP) == 0 {
            counters.awake_levels |= level_bits(params, shape);
        }
    }
    wake_gather(shapes.len(), tables);
}

/// Flags the islands that a contact wakes; also an archived one if a command moved a fixed body. `status` returns that
/// of a body.
pub(crate) fn wake_find(
    contacts: &[Contact],
    sleeping: &[SleepingContact],
    counters: &Counters,
    status: &impl Fn(u32) -> u32,
    islands: &[u32],
    island_flags: &mut [u32],
) {
    let archived = if counters.wake_flags & WAKE_MOVED != 0 { sleeping } else { &[] };
    let all = contacts.iter().chain(archived.iter().map(|archived| &archived.contact));
    for contact in all.filter(|contact| contact.flags & POINT_COUNT_MASK != 0) {
        let (a, b) = (contact.body_a, contact.body_b);
        if contact.flags & FIXED_B == 0 {
            wake_by(a, b, status, islands, island_flags);
        }
        if contact.flags & FIXED_A == 0 {
            wake_by(b, a, status, islands, island_flags);
        }
    }
}

/// Flags the islands that a joint wakes. `state` returns that of a joint, `status` that of a body.
pub(crate) fn wake_joints(
    joints: &[JointData],
    state: impl Fn(usize) -> JointState,
    status: &impl Fn(u32) -> u32,
    islands: &[u32],
    island_flags: &mut [u32],
) {
    for (_, joint) in joints.iter().enumerate().filter(|&(index, joint)| holds(joint, &state(index))) {
        if joint.flags & JOINT_FIXED_B == 0 {
            wake_by(joint.body_a, joint.body_b, status, islands, island_flags);
        }
        if joint.flags & JOINT_FIXED_A == 0 {
            wake_by(joint.body_b, joint.body_a, status, islands, island_flags);
        }
    }
}

/// Returns true if a joint connects two bodies.
#[must_use]
pub fn holds(joint: &JointData, state: &JointState) -> bool {
    joint.flags & (WORLD_A | JOINT_DISABLED) == 0 && state.status & BROKEN == 0
}

/// Flags the island of `sleeper`, which is dynamic, if it sleeps and `other` is awake.
fn wake_by(other: u32, sleeper: u32, status: &impl Fn(u32) -> u32, islands: &[u32], island_flags: &mut [u32]) {
    let is_awake = status(other) & (ASLEEP | QUARANTINED) == 0;
    if is_awake
        && status(sleeper) & ASLEEP != 0
        && let Some(flags) = island_flags.get_mut(islands[sleeper as usize] as usize)
    {
        *flags |= ISLAND_WAKE;
    }
}

/// Adds the archived contacts that return to the list of their producer, unless they are there already.
fn wake_gather(shapes: usize, tables: &mut Tables) {
    let Tables { states, sleeping_starts, sleeping, counters, .. } = tables;
    let Tables { pair_starts_previous, contacts_previous, manifolds_previous, .. } = tables;
    let asleep = |body: u32| states[body as usize].status & ASLEEP != 0;
    let starts = std::mem::take(pair_starts_previous);
    let (contacts, manifolds) = (std::mem::take(contacts_previous), std::mem::take(manifolds_previous));
    for producer in 0..shapes {
        pair_starts_previous.push(length(contacts_previous));
        let before = produced(&starts, &contacts, producer);
        contacts_previous.extend_from_slice(before);
        manifolds_previous.extend_from_slice(produced(&starts, &manifolds, producer));
        let archived = archived_by(sleeping_starts, producer);
        for SleepingContact { contact, manifold } in &mut sleeping[archived] {
            if asleep(contact.body_a) && asleep(contact.body_b) {
                continue;
            }
            counters.sleeping_contacts = counters.sleeping_contacts.wrapping_sub(1);
            if before.iter().all(|other| other.shape_b != contact.shape_b) {
                contacts_previous.push(*contact);
                manifolds_previous.push(*manifold);
            }
            contact.flags |= RETURNED;
        }
    }
    pair_starts_previous.push(length(contacts_previous));
}

/// Returns the range of the archived contacts of a producer; none for a new producer.
pub(crate) fn archived_by(starts: &[u32], producer: usize) -> std::ops::Range<usize> {
    match starts.get(producer..producer + 2) {
        Some(&[start, end]) => start as usize..end as usize,
        _ => 0..0,
    }
}

#[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
fn length(contacts: &[Contact]) -> u32 {
    contacts.len() as u32
}
