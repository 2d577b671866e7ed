//! Adds the motion of the step to the poses and finds the masses of the next, with bodies shared among threads; the
//! fast form of [`crate::stages::finalize`], to the same bits.

use crate::mass_scale::next_status;
use crate::stages::finalize::finalize_body;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{Accumulator, BodyData, BodyState, Params, Pose};

/// Moves all poses, and finds the masses of the next step.
pub fn finalize(
    threads: &Threads,
    params: &Params,
    bodies: &[BodyData],
    accumulators: &Rows<Accumulator, 2>,
    states: &Rows<BodyState, 4>,
    poses: &mut [Pose],
) {
    threads.for_each(LIGHT, poses, |index, pose| {
        let mut state = states.get(index);
        finalize_body(&bodies[index], &state, pose);
        if params.mass_per_impulse > 0.0 {
            let status = next_status(params, &bodies[index], &accumulators.get(index), &state);
            if status != state.status {
                state.status = status;
                states.set(index, state);
            }
        }
    });
}
