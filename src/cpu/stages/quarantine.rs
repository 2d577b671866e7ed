//! Takes bodies with a NaN or an infinity out of the simulation and initialises the per-body data of a step, with
//! bodies shared among threads; the fast form of [`crate::stages::quarantine`].

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cpu::BodyTables;
use crate::scene::Compiled;
use crate::stages::quarantine::{quarantine_body, reset_counters};
use crate::threads::{LIGHT, Threads};
use crate::types::{Counters, SLEEP};

/// Quarantines bodies, and counts those that are new.
pub fn quarantine(threads: &Threads, compiled: &Compiled, tables: &mut BodyTables, counters: &mut Counters) {
    let Compiled { params, bodies, .. } = compiled;
    let BodyTables { poses, states, accumulators, motion_extents } = tables;
    reset_counters(params, counters);
    let quarantined = AtomicU32::new(0);
    let wake_all = AtomicU32::new(0);
    threads.for_each_pair(LIGHT, poses, motion_extents, |index, pose, motion_extent| {
        let mut state = states.get(index);
        let outcome = quarantine_body(params, &bodies[index], pose, &mut state);
        states.set(index, state);
        accumulators.set(index, outcome.sum);
        *motion_extent = outcome.motion_extent;
        if outcome.is_new {
            quarantined.fetch_add(1, Ordering::Relaxed);
        }
        if outcome.wakes_all {
            wake_all.store(1, Ordering::Relaxed);
        }
    });
    counters.quarantined = counters.quarantined.wrapping_add(quarantined.into_inner());
    if params.switches & SLEEP != 0 {
        counters.wake_all |= wake_all.into_inner();
    }
}
