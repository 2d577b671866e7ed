//! Puts quiet islands to sleep and archives their contacts; the fast form of [`crate::stages::sleep`], to the same
//! bits. Timers are shared among threads. It allocates no memory once its lists have grown to their full size.

use std::sync::atomic::{AtomicU32, Ordering};

use super::collect_events::find;
use crate::cpu::{ContactTables, SleepTables};
use crate::scene::Compiled;
use crate::stages::collect_events::produced;
use crate::stages::sleep::{pairs, root, unite_all};
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, BodyData, BodyState, Contact, Counters, ISLAND_BLOCKED, JointState, Params, READY, RETURNED,
    SleepingContact,
};

/// Next archive of contacts. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct SleepScratch {
    starts: Vec<u32>,
    list: Vec<SleepingContact>,
}

/// Puts the islands that are ready to sleep, and archives their contacts.
pub fn sleep(
    threads: &Threads,
    compiled: &Compiled,
    joint_states: &Rows<JointState, 2>,
    current: &ContactTables,
    states: &Rows<BodyState, 4>,
    tables: &mut SleepTables,
    counters: &mut Counters,
    scratch: &mut SleepScratch,
) {
    let Compiled { params, bodies, joints, .. } = compiled;
    let SleepTables { islands, island_flags, .. } = tables;
    let ready = sleep_timer(threads, params, bodies, states, counters);
    island_flags.fill(0);
    counters.wake_flags = 0;
    if ready > 0 {
        let pairs = pairs(&current.contacts, &joints.joints, |joint| joint_states.get(joint));
        unite_all(pairs, &|body| states.get(body as usize).status, islands, island_flags);
        for index in 0..states.len() {
            #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
            let body = index as u32;
            let mut state = states.get(index);
            if state.status & READY == 0 {
                continue;
            }
            state.status &= !READY;
            let root = root(islands, body);
            if island_flags[root as usize] & ISLAND_BLOCKED == 0 {
                islands[index] = root;
                state = BodyState { status: state.status | ASLEEP, ..BodyState::default() };
                counters.slept = 1;
                counters.awake -= 1;
            }
            states.set(index, state);
        }
    }
    if counters.slept != 0 || counters.woken != 0 {
        update_archive(states, current, tables, scratch);
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        let count = tables.contacts.len() as u32;
        counters.sleeping_contacts = count;
    }
}

/// Updates the time for which each body has been quiet, and marks bodies that are ready to sleep. Returns the number of
/// marked bodies, and counts those awake.
fn sleep_timer(
    threads: &Threads,
    params: &Params,
    bodies: &[BodyData],
    states: &Rows<BodyState, 4>,
    counters: &mut Counters,
) -> u32 {
    let overflowed = counters.overflow_bits != 0;
    let [all_ready, all_awake, any_slept] = [0, 0, 0].map(AtomicU32::new);
    threads.for_ranges(LIGHT, bodies.len(), |first, end| {
        let (mut ready, mut awake, mut slept) = (0_u32, 0_u32, 0_u32);
        for (index, body) in bodies[..end].iter().enumerate().skip(first) {
            let before = states.get(index);
            let mut state = before;
            let timed = crate::stages::sleep::sleep_timer(params, overflowed, body, &mut state);
            if state.status != before.status {
                states.set(index, state);
            }
            ready += u32::from(state.status & READY != 0);
            awake += u32::from(timed.is_awake);
            slept |= u32::from(timed.falls_asleep);
        }
        all_ready.fetch_add(ready, Ordering::Relaxed);
        all_awake.fetch_add(awake, Ordering::Relaxed);
        any_slept.fetch_or(slept, Ordering::Relaxed);
    });
    counters.awake = all_awake.into_inner();
    counters.slept = any_slept.into_inner();
    all_ready.into_inner()
}

/// Updates the archive to the pairs that are asleep now: archived ones that still are, and those of this step.
pub(crate) fn update_archive(
    states: &Rows<BodyState, 4>,
    current: &ContactTables,
    tables: &mut SleepTables,
    SleepScratch { starts, list }: &mut SleepScratch,
) {
    let ContactTables { pair_starts, contacts, manifolds } = current;
    let SleepTables { starts: archive_starts, contacts: archive, .. } = tables;
    let status = |body: u32| states.get(body as usize).status;
    let sleeps = |contact: &Contact| status(contact.body_a) & status(contact.body_b) & ASLEEP != 0;
    starts.clear();
    list.clear();
    for producer in 0..pair_starts.len().saturating_sub(1) {
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        starts.push(list.len() as u32);
        let now = produced(pair_starts, contacts, producer);
        let mut next = 0;
        let mut stays =
            |contact: &Contact| contact.flags & RETURNED == 0 && find(now, contact.shape_b, &mut next).is_none();
        let before = produced(archive_starts, archive, producer).iter();
        list.extend(before.filter(|archived| sleeps(&archived.contact) && stays(&archived.contact)));
        let made = now.iter().zip(produced(pair_starts, manifolds, producer));
        let falls_asleep = made.filter(|(contact, _)| sleeps(contact));
        list.extend(falls_asleep.map(|(&contact, &manifold)| SleepingContact { contact, manifold }));
    }
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    starts.push(list.len() as u32);
    std::mem::swap(archive_starts, starts);
    std::mem::swap(archive, list);
}
