//! Adds the motion of the step to the poses, with bodies shared among threads; the fast form of
//! [`crate::stages::finalize`], to the same bits.

use crate::stages::finalize::finalize_body;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{BodyData, BodyState, Pose};

/// Moves all poses.
pub fn finalize(threads: &Threads, bodies: &[BodyData], states: &Rows<BodyState, 4>, poses: &mut [Pose]) {
    threads.for_each(LIGHT, poses, |index, pose| finalize_body(&bodies[index], &states.get(index), pose));
}
