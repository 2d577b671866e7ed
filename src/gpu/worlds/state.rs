//! Reads poses, velocities and state hashes of all worlds in a batch.

use super::slots::BatchSlots;
use super::world_host::WorldHost;
use crate::body_rows::BodyRows;
use crate::gpu::readback::{cast, download};
use crate::state::hash_of;
use crate::types::{BodyState, JointState, Pose};
use crate::world_error::WorldError;

impl BatchSlots {
    /// Returns poses and velocities of all worlds, in one download; `world_hosts` has one entry per slot. Waits for the
    /// device.
    pub fn bodies(&self, world_hosts: &[WorldHost]) -> Result<BodyRows, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * world_hosts.len() as u64);
        let parts = download(&self.engine.context, &[all("poses"), all("states")])?;
        let [stride, with_shares] = ["poses", "states"].map(|name| self.engine.stride(name));
        let (poses, mut states): (Vec<Pose>, Vec<BodyState>) = (cast(&parts[0]), cast(&parts[1]));
        if with_shares > stride {
            states = states.chunks(with_shares).flat_map(|rows| &rows[..stride]).copied().collect();
        }
        let counts = world_hosts.iter().map(|world_host| world_host.host.compiled.bodies.len()).collect();
        Ok(BodyRows { poses, states, stride, counts })
    }

    /// Returns the hash of every world's state, with one download besides that of the bodies. Waits for the device.
    pub fn hashes(&self, world_hosts: &[WorldHost], rows: &BodyRows) -> Result<Vec<u64>, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * world_hosts.len() as u64);
        let parts = download(&self.engine.context, &[all("joint_states"), all("joint_impulses")])?;
        let (states, impulses): (Vec<JointState>, Vec<[f32; 2]>) = (cast(&parts[0]), cast(&parts[1]));
        let strides = ["joint_states", "joint_impulses"].map(|name| self.engine.stride(name));
        let hash = |(world, world_host): (usize, &WorldHost)| {
            let joints = &world_host.host.compiled.joints;
            hash_of(
                rows.poses(world),
                rows.states(world),
                &states[world * strides[0]..][..joints.joints.len()],
                &impulses[world * strides[1]..][..joints.rows.len()],
            )
        };
        Ok(world_hosts.iter().enumerate().map(hash).collect())
    }
}
