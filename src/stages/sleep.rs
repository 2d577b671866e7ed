//! **sleep**: puts islands to sleep whose bodies have all been quiet for half a second, and archives their contacts.
//!
//! Reads bodies, contacts, manifolds, joints; reads and writes states, islands, the archived contacts (`sleeping`, by
//! producer from `sleeping_starts` on) and counters. The device runs `sleep_timer`, `sleep_unite`,
//! `sleep_unite_joints`, `sleep_block`, `sleep_block_joints`, `sleep_settle`, then, if the list changes, `sleep_count`,
//! scan, `sleep_gather`, `sleep_copy`.
//!
//! An island is a set of dynamic bodies ready to sleep that are connected by touching contacts and by joints. Its root
//! is the lowest index in it: union-find always puts the larger root under the smaller, so that the order of unions
//! does not matter. An island stays awake if it touches something awake that is not ready (a body that moves, a
//! platform, one that never sleeps). Sensors neither connect nor block. The measure of quiet is Box2D's.
//!
//! Contacts between two sleeping bodies (static bodies and kinematic ones at rest count as sleeping) are not searched
//! again in each step. They are archived in `sleeping`, with their impulses, until [`wake`](super::wake) restores them.

use glam::Vec2;

use super::collect_events::produced;
use super::quarantine::is_moving;
use super::wake::holds;
pub use crate::constants::MAX_QUIET;
use crate::constants::MOVED_SHARE;
use crate::scene::Compiled;
use crate::tables::Tables;
use crate::types::{
    ASLEEP, BodyData, BodyState, Contact, Counters, DYNAMIC, ISLAND_BLOCKED, JointData, JointState, KINEMATIC,
    Manifold, POINT_COUNT_MASK, Params, QUARANTINED, QUIET_MASK, QUIET_SHIFT, READY, RETURNED, STATIC, SleepingContact,
    VACANT,
};

/// Puts the islands that are ready to sleep, and archives their contacts.
pub fn sleep(compiled: &Compiled, tables: &mut Tables) {
    let Compiled { params, bodies, joints, .. } = compiled;
    let Tables { pair_starts, contacts, manifolds, states, joint_states, counters, .. } = tables;
    let Tables { islands, island_flags, sleeping_starts, sleeping, .. } = tables;
    // sleep_timer
    let overflowed = counters.overflow_bits != 0;
    (counters.awake, counters.slept, counters.wake_flags) = (0, 0, 0);
    let mut any_ready = false;
    for (body, state) in bodies.iter().zip(&mut *states) {
        let timed = sleep_timer(params, overflowed, body, state);
        counters.awake += u32::from(timed.is_awake);
        counters.slept |= u32::from(timed.falls_asleep);
        any_ready |= state.status & READY != 0;
    }
    island_flags.fill(0);
    if any_ready {
        let pairs = pairs(contacts, &joints.joints, |joint| joint_states[joint]);
        unite_all(pairs, &|body| states[body as usize].status, islands, island_flags);
        sleep_settle(states, islands, island_flags, counters);
    }
    if counters.slept != 0 || counters.woken != 0 {
        sleep_gather(states, pair_starts, contacts, manifolds, sleeping_starts, sleeping);
        counters.sleeping_contacts = length(sleeping);
    }
}

/// Result of [`sleep_timer`] for one body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    /// True if the body counts as awake.
    pub is_awake: bool,
    /// True if the body is not dynamic and falls asleep at once.
    pub falls_asleep: bool,
}

/// Updates the time for which a body has been quiet, and marks the body if it is ready to sleep.
#[inline]
pub fn sleep_timer(params: &Params, overflowed: bool, body: &BodyData, state: &mut BodyState) -> Timed {
    if state.status & (ASLEEP | QUARANTINED) != 0 || body.kind == VACANT {
        return Timed::default();
    }
    if body.kind != DYNAMIC {
        let rests = body.kind == STATIC || !is_moving(state);
        let falls_asleep = rests && !overflowed;
        if falls_asleep {
            state.status |= ASLEEP;
        }
        return Timed { is_awake: !falls_asleep && body.kind == KINEMATIC, falls_asleep };
    }
    let quiet = if is_quiet(params, body, state) { (state.status >> QUIET_SHIFT) + 1 } else { 0 };
    state.status = (state.status & !QUIET_MASK) | quiet.min(MAX_QUIET) << QUIET_SHIFT;
    if quiet >= params.sleep_steps && body.can_sleep != 0 && !overflowed {
        state.status |= READY;
    }
    Timed { is_awake: true, falls_asleep: false }
}

/// Returns true if a body is slow and has hardly moved in this step.
#[inline]
fn is_quiet(params: &Params, body: &BodyData, state: &BodyState) -> bool {
    let speed = Vec2::from(state.velocity).length() + state.angular_velocity.abs() * body.extent;
    let moved = Vec2::from(state.delta_position).length() + state.delta_rotation[1].abs() * body.extent;
    let limit = if body.sleep_speed > 0.0 { body.sleep_speed } else { params.sleep_speed };
    // Written so that a NaN is not quiet.
    speed < limit && MOVED_SHARE * moved < limit * params.dt
}

/// Returns the connected pairs of bodies: by a touching contact, or by a joint that holds. `state` returns the state of
/// a joint by index.
pub(crate) fn pairs<'a>(
    contacts: &'a [Contact],
    joints: &'a [JointData],
    state: impl Fn(usize) -> JointState + Clone + 'a,
) -> impl Iterator<Item = (u32, u32)> + Clone + 'a {
    let touching = contacts.iter().filter(|contact| contact.flags & POINT_COUNT_MASK != 0);
    let held = joints.iter().enumerate().filter(move |&(index, joint)| holds(joint, &state(index)));
    let touching = touching.map(|contact| (contact.body_a, contact.body_b));
    touching.chain(held.map(|(_, joint)| (joint.body_a, joint.body_b)))
}

/// Builds islands of the bodies that are ready, and blocks islands that touch an awake body which is not
/// (`sleep_unite`, `sleep_block`). `status` returns that of a body.
pub(crate) fn unite_all(
    pairs: impl Iterator<Item = (u32, u32)> + Clone,
    status: &impl Fn(u32) -> u32,
    islands: &mut [u32],
    island_flags: &mut [u32],
) {
    for (index, island) in (0..).zip(&mut *islands) {
        if status(index) & ASLEEP == 0 {
            *island = index;
        }
    }
    for (a, b) in pairs.clone() {
        if status(a) & status(b) & READY != 0 {
            unite(islands, a, b);
        }
    }
    for (a, b) in pairs {
        for (sleepy, other) in [(a, b), (b, a)] {
            if status(sleepy) & READY != 0 && status(other) & (READY | ASLEEP | QUARANTINED) == 0 {
                island_flags[root(islands, sleepy) as usize] |= ISLAND_BLOCKED;
            }
        }
    }
}

/// Puts the bodies of unblocked islands to sleep.
fn sleep_settle(states: &mut [BodyState], islands: &mut [u32], island_flags: &[u32], counters: &mut Counters) {
    for body in 0..states.len() {
        if states[body].status & READY == 0 {
            continue;
        }
        states[body].status &= !READY;
        #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
        let root = root(islands, body as u32);
        if island_flags[root as usize] & ISLAND_BLOCKED == 0 {
            islands[body] = root;
            states[body] = BodyState { status: states[body].status | ASLEEP, ..BodyState::default() };
            counters.slept = 1;
            counters.awake -= 1;
        }
    }
}

/// Returns the root of a body's island.
pub fn root(islands: &mut [u32], body: u32) -> u32 {
    let mut at = body;
    while islands[at as usize] != at {
        let above = islands[islands[at as usize] as usize];
        islands[at as usize] = above;
        at = above;
    }
    at
}

/// Merges the islands of two bodies.
fn unite(islands: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(islands, a), root(islands, b));
    islands[a.max(b) as usize] = a.min(b);
}

/// Updates the archive to the pairs that are asleep now: archived ones that still are, and those of this step.
fn sleep_gather(
    states: &[BodyState],
    pair_starts: &[u32],
    contacts: &[Contact],
    manifolds: &[Manifold],
    sleeping_starts: &mut Vec<u32>,
    sleeping: &mut Vec<SleepingContact>,
) {
    let asleep = |body: u32| states[body as usize].status & ASLEEP != 0;
    let (old_starts, old) = (std::mem::take(sleeping_starts), std::mem::take(sleeping));
    for producer in 0..pair_starts.len().saturating_sub(1) {
        sleeping_starts.push(length(sleeping));
        let now = produced(pair_starts, contacts, producer);
        for archived in produced(&old_starts, &old, producer) {
            let is_new = now.iter().any(|contact| contact.shape_b == archived.contact.shape_b);
            let has_returned = archived.contact.flags & RETURNED != 0;
            if asleep(archived.contact.body_a) && asleep(archived.contact.body_b) && !is_new && !has_returned {
                sleeping.push(*archived);
            }
        }
        for (&contact, &manifold) in now.iter().zip(produced(pair_starts, manifolds, producer)) {
            if asleep(contact.body_a) && asleep(contact.body_b) {
                sleeping.push(SleepingContact { contact, manifold });
            }
        }
    }
    sleeping_starts.push(length(sleeping));
}

#[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
fn length(sleeping: &[SleepingContact]) -> u32 {
    sleeping.len() as u32
}
