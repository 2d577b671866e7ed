//! Takes bodies with a NaN or an infinity out of the simulation and initialises the per-body data of a step, with
//! bodies shared among threads; the fast form of [`crate::stages::quarantine`].

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::cpu::BodyTables;
use crate::scene::Compiled;
use crate::stages::pair::looks_ahead;
use crate::stages::quarantine::{quarantine_body, reset_counters};
use crate::threads::{LIGHT, Threads};
use crate::types::{Counters, DYNAMIC, SLEEP, WAKE_ALL};

/// Quarantines bodies, and counts those that are new.
pub fn quarantine(threads: &Threads, compiled: &Compiled, tables: &mut BodyTables, counters: &mut Counters) {
    let Compiled { params, bodies, .. } = compiled;
    let BodyTables { poses, states, accumulators, motions, look_ahead } = tables;
    reset_counters(params, counters);
    let quarantined = AtomicU32::new(0);
    let wake_all = AtomicU32::new(0);
    let is_any_fast = AtomicBool::new(false);
    threads.for_each_pair(LIGHT, poses, motions, |index, pose, motion| {
        let mut state = states.get(index);
        let outcome = quarantine_body(params, &bodies[index], pose, &mut state);
        states.set(index, state);
        accumulators.set(index, outcome.sum);
        *motion = outcome.motion;
        if looks_ahead(params, motion) && bodies[index].kind == DYNAMIC {
            is_any_fast.store(true, Ordering::Relaxed);
        }
        if outcome.is_new {
            quarantined.fetch_add(1, Ordering::Relaxed);
        }
        if outcome.wakes_all {
            wake_all.store(WAKE_ALL, Ordering::Relaxed);
        }
    });
    let is_any_fixed = params.fixed_levels != 0 || params.planes().next().is_some();
    *look_ahead = is_any_fixed && is_any_fast.into_inner();
    counters.quarantined = counters.quarantined.wrapping_add(quarantined.into_inner());
    if params.switches & SLEEP != 0 {
        counters.wake_flags |= wake_all.into_inner();
    }
}
