//! **sleep**: lets bodies that have been quiet for half a second fall asleep, by whole islands, and puts their contacts by.
//!
//! Reads bodies, contacts, manifolds, joints; reads and writes states, islands, the contacts put by (`sleeping`, by producer from
//! `sleeping_starts` on) and counters. One thread a body, contact, joint, shape; on the device `sleep_timer`,
//! `sleep_unite`, `sleep_unite_joints`, `sleep_block`, `sleep_block_joints`, `sleep_settle`, then, if the list changes,
//! `sleep_count`, scan, `sleep_gather`, `sleep_copy`.
//!
//! An island is what hangs together by contacts that touch and joints that hold, over dynamic bodies that are ready to
//! sleep. Its root is the lowest index among them: of two roots the larger always goes under the smaller, so it does not
//! matter who unites first. If anything awake that is not ready touches it (a body that moves, a platform, one that never
//! sleeps) it stays awake. Sensors neither join nor block. How quiet a body is, is Box2D's rule.
//!
//! Contacts between two that are both asleep, static bodies and kinematic ones at rest included, are not found again from
//! step to step. They lie in `sleeping`, with their impulses, until [`wake`](super::wake) puts them back.

use std::sync::atomic::{AtomicU32, Ordering};

use glam::Vec2;

use super::guard::is_moving;
use super::report::{find, produced};
use super::wake::holds;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, Body, BodyState, Contact, Counters, DYNAMIC, ISLAND_BLOCKED, Joint, JointState, KINEMATIC, Manifold,
    POINT_COUNT_MASK, Params, QUARANTINED, QUIET_MASK, QUIET_SHIFT, READY, STATIC, SleepingContact, VACANT,
};

/// Share of the speed by which a body was moved, also by being pushed out, that counts as motion. Box2D.
const MOVED_SHARE: f32 = 0.5;
/// Steps of quiet that a status has room for.
const MOST_QUIET: u32 = 0xffff;

/// The lists of contacts put by that come next. They are kept, so that a step need not ask for memory.
#[derive(Debug, Default)]
pub struct SleepScratch {
    starts: Vec<u32>,
    list: Vec<SleepingContact>,
}

/// Puts bodies to sleep.
pub fn sleep(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    joints: &[Joint],
    joint_states: &Rows<JointState, 2>,
    pair_starts: &[u32],
    contacts: &[Contact],
    manifolds: &[Manifold],
    states: &Rows<BodyState, 4>,
    islands: &mut [u32],
    island_flags: &mut [u32],
    sleeping_starts: &mut Vec<u32>,
    sleeping: &mut Vec<SleepingContact>,
    counters: &mut Counters,
    scratch: &mut SleepScratch,
) {
    let ready = sleep_timer(threads, params, bodies, states, counters);
    island_flags.fill(0);
    counters.wake_all = 0;
    if ready > 0 {
        for (index, island) in (0_u32..).zip(&mut *islands) {
            if states.get(index as usize).status & ASLEEP == 0 {
                *island = index;
            }
        }
        let status = |body: u32| states.get(body as usize).status;
        let touching =
            || contacts.iter().filter(|contact| contact.flags & POINT_COUNT_MASK != 0).map(|c| (c.body_a, c.body_b));
        let held = || {
            let tied = joints.iter().enumerate().filter(|&(index, joint)| holds(joint, &joint_states.get(index)));
            tied.map(|(_, joint)| (joint.body_a, joint.body_b))
        };
        for (a, b) in touching().chain(held()).filter(|&(a, b)| status(a) & status(b) & READY != 0) {
            unite(islands, a, b);
        }
        for (a, b) in touching().chain(held()) {
            for (sleepy, other) in [(a, b), (b, a)] {
                if status(sleepy) & READY != 0 && status(other) & (READY | ASLEEP | QUARANTINED) == 0 {
                    island_flags[root(islands, sleepy) as usize] |= ISLAND_BLOCKED;
                }
            }
        }
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
        put_by(states, pair_starts, contacts, manifolds, (sleeping_starts, sleeping), scratch);
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        let count = sleeping.len() as u32;
        counters.sleeping_contacts = count;
    }
}

/// Counts how long each body has been quiet, and marks those that are ready. How many these are; those awake are counted.
fn sleep_timer(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    states: &Rows<BodyState, 4>,
    counters: &mut Counters,
) -> u32 {
    let overflowed = counters.overflow_bits != 0;
    let [all_ready, all_awake, any_slept] = [0, 0, 0].map(AtomicU32::new);
    threads.for_ranges(LIGHT, bodies.len(), |first, end| {
        let (mut ready, mut awake, mut slept) = (0_u32, 0_u32, 0_u32);
        for (index, body) in bodies[..end].iter().enumerate().skip(first) {
            let mut state = states.get(index);
            if state.status & (ASLEEP | QUARANTINED) != 0 || body.kind == VACANT {
                continue;
            }
            if body.kind != DYNAMIC {
                let rests = body.kind == STATIC || !is_moving(&state);
                if rests && !overflowed {
                    state.status |= ASLEEP;
                    states.set(index, state);
                    slept = 1;
                } else if body.kind == KINEMATIC {
                    awake += 1;
                }
                continue;
            }
            let quiet = if is_quiet(params, body, &state) { (state.status >> QUIET_SHIFT) + 1 } else { 0 };
            state.status = (state.status & !QUIET_MASK) | quiet.min(MOST_QUIET) << QUIET_SHIFT;
            if quiet >= params.sleep_steps && body.can_sleep != 0 && !overflowed {
                state.status |= READY;
                ready += 1;
            }
            states.set(index, state);
            awake += 1;
        }
        all_ready.fetch_add(ready, Ordering::Relaxed);
        all_awake.fetch_add(awake, Ordering::Relaxed);
        any_slept.fetch_or(slept, Ordering::Relaxed);
    });
    counters.awake = all_awake.into_inner();
    counters.slept = any_slept.into_inner();
    all_ready.into_inner()
}

/// Whether a body has neither speed nor was moved in this step.
#[inline]
fn is_quiet(params: &Params, body: &Body, state: &BodyState) -> bool {
    let speed = Vec2::from(state.velocity).length() + state.angular_velocity.abs() * body.extent;
    let moved = Vec2::from(state.delta_position).length() + state.delta_rotation[1].abs() * body.extent;
    // Written so that what is not a number is not quiet.
    speed < params.sleep_speed && MOVED_SHARE * moved < params.sleep_speed * params.dt
}

/// The root above a body.
fn root(islands: &mut [u32], body: u32) -> u32 {
    let mut at = body;
    while islands[at as usize] != at {
        let above = islands[islands[at as usize] as usize];
        islands[at as usize] = above;
        at = above;
    }
    at
}

/// Makes one island of two.
fn unite(islands: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(islands, a), root(islands, b));
    islands[a.max(b) as usize] = a.min(b);
}

/// Brings the list to the pairs that are both asleep now: those that still are, and those of this step.
pub(crate) fn put_by(
    states: &Rows<BodyState, 4>,
    pair_starts: &[u32],
    contacts: &[Contact],
    manifolds: &[Manifold],
    (sleeping_starts, sleeping): (&mut Vec<u32>, &mut Vec<SleepingContact>),
    SleepScratch { starts, list }: &mut SleepScratch,
) {
    let status = |body: u32| states.get(body as usize).status;
    let sleeps = |contact: &Contact| status(contact.body_a) & status(contact.body_b) & ASLEEP != 0;
    starts.clear();
    list.clear();
    for producer in 0..pair_starts.len().saturating_sub(1) {
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        starts.push(list.len() as u32);
        let now = produced(pair_starts, contacts, producer);
        let mut next = 0;
        let mut stays = |contact: &Contact| find(now, contact.shape_b, &mut next).is_none();
        let before = produced(sleeping_starts, sleeping, producer).iter();
        list.extend(before.filter(|put_by| sleeps(&put_by.contact) && stays(&put_by.contact)));
        let made = now.iter().zip(produced(pair_starts, manifolds, producer));
        let falls_asleep = made.filter(|(contact, _)| sleeps(contact));
        list.extend(falls_asleep.map(|(&contact, &manifold)| SleepingContact { contact, manifold }));
    }
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    starts.push(list.len() as u32);
    std::mem::swap(sleeping_starts, starts);
    std::mem::swap(sleeping, list);
}
