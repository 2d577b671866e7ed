//! **warm_start**: adds up, for every body, what the impulses kept from the step before do to its velocity.
//!
//! Reads constraints and surfaces; writes accumulators. By colour, one thread a constraint. The sum is applied in
//! [`integrate_velocities`](super::integrate_velocities). Later substeps need no such sweep, as the last
//! sweep of a substep leaves the sums behind ([`solve`](super::solve)).

use super::solve::{Lanes, for_groups};
use crate::threads::{Rows, Threads};
use crate::types::{Accumulator, Constraint, Counters, Surface};

/// Fills `accumulators`.
pub fn warm_start(
    threads: &Threads,
    counters: &Counters,
    constraints: &mut [Constraint],
    accumulators: &Rows<Accumulator, 2>,
    surfaces: &Rows<Surface, 2>,
) {
    for_groups(threads, counters, constraints, |slot, group| {
        Lanes::load(slot, group, surfaces).accumulate(accumulators);
    });
}
