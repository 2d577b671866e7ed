//! **warm_start**: adds up, for every body, what the impulses kept from the step before do to its velocity.
//!
//! Reads constraints and surfaces; writes accumulators. By colour, one thread a constraint, a block of four on the CPU. The sum is applied in
//! [`integrate_velocities`](super::integrate_velocities). Later substeps need no such sweep, as the last
//! sweep of a substep leaves the sums behind ([`solve`](super::solve)).

use super::solve::{SurfaceLanes, accumulate};
use crate::blocks::Blocks;
use crate::threads::{Rows, Threads};
use crate::types::{Accumulator, Counters, Surface};

/// Fills `accumulators`.
pub fn warm_start(
    threads: &Threads,
    counters: &Counters,
    constraints: &mut Blocks,
    accumulators: &Rows<Accumulator, 2>,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.for_each(threads, counters, |slot, block, _| {
        accumulate(block, SurfaceLanes::load(slot, block, surfaces).as_ref(), accumulators);
    });
}
