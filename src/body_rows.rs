//! [`BodyRows`]: poses and velocities of a batch, read at once.

use crate::types::{BodyState, Pose};

/// Poses and velocities of the bodies of all worlds of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyRows {
    pub(crate) poses: Vec<Pose>,
    pub(crate) states: Vec<BodyState>,
    /// Rows from the first body of a world to that of the next.
    pub(crate) stride: usize,
    pub(crate) counts: Vec<usize>,
}

impl BodyRows {
    /// Returns the poses of the centres of mass of a world's bodies. Empty if there is no such world.
    #[must_use]
    pub fn poses(&self, world: usize) -> &[Pose] {
        self.of(&self.poses, world)
    }

    /// Returns the velocities and status of a world's bodies. Empty if there is no such world.
    #[must_use]
    pub fn states(&self, world: usize) -> &[BodyState] {
        self.of(&self.states, world)
    }

    /// Returns the poses of the bodies of every world: those of world `w` from `w * stride()` on. In a world with fewer
    /// bodies than others the last rows are padding.
    #[must_use]
    pub fn all_poses(&self) -> &[Pose] {
        &self.poses
    }

    /// Returns the velocities and status of the bodies of every world, laid out as [`Self::all_poses`].
    #[must_use]
    pub fn all_states(&self) -> &[BodyState] {
        &self.states
    }

    /// Returns the rows from the first body of a world to that of the next: the bodies of the largest world.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    fn of<'a, T>(&self, rows: &'a [T], world: usize) -> &'a [T] {
        let count = self.counts.get(world).copied().unwrap_or(0);
        rows.get(world * self.stride..).and_then(|rows| rows.get(..count)).unwrap_or(&[])
    }
}
