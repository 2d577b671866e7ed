//! The fast `finalize`: bodies shared among threads, each as [`crate::stages::finalize`] says.

use crate::stages::finalize::finalize_body;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{Body, BodyState, Pose};

/// Moves the poses.
pub fn finalize(threads: &Threads, bodies: &[Body], states: &Rows<BodyState, 4>, poses: &mut [Pose]) {
    threads.for_each(LIGHT, poses, |index, pose| finalize_body(&bodies[index], &states.get(index), pose));
}
