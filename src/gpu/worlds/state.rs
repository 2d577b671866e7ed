//! What many worlds are, for the host to see and to go on from.

use super::{GpuWorlds, Known, Member};
use crate::gpu::population::Peopled;
use crate::gpu::readback::{cast, download};
use crate::gpu::state;
use crate::snapshot::Snapshot;
use crate::state::hash_of;
use crate::types::{BodyState, JointState, Pose};
use crate::world::WorldError;
use crate::worlds::BodyRows;

impl GpuWorlds {
    /// The state of a world between two steps. Waits for the device.
    pub fn snapshot(&mut self, world: usize) -> Result<Snapshot, WorldError> {
        let Member { compiled, population, steps, parity, commands, .. } = &self.members[world];
        let tables = self.engine.tables(compiled, world, *parity)?;
        let snapshot = state::snapshot(compiled, population.as_ref(), *steps, commands, tables);
        self.poll()?;
        Ok(snapshot)
    }

    /// Lets worlds go on from snapshots, to the same bits. Waits for the device; the other worlds notice nothing.
    pub fn restore(&mut self, which: &[(usize, &Snapshot)]) -> Result<(), WorldError> {
        // All are looked at before any is changed.
        let mut others = Vec::new();
        for &(world, snapshot) in which {
            others.extend(self.one(world).rewound(snapshot)?.map(|other| (world, other)));
        }
        self.engine.context.wait()?;
        self.poll()?;
        // For these there was room before.
        for (world, (compiled, population)) in others {
            self.one(world).become_another(compiled, population)?;
        }
        let mut encoder = self.engine.encoder();
        let wanted = which.iter().map(|(_, snapshot)| snapshot.contacts.len() + snapshot.sleeping.len()).max();
        if self.engine.grow_contacts(&mut encoder, wanted.unwrap_or(0) as u64)? {
            self.bind();
        }
        for &(world, snapshot) in which {
            self.put(world, snapshot, &mut encoder);
        }
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Records what takes a world to where a snapshot was taken, of which there is room for all.
    fn put(&mut self, world: usize, snapshot: &Snapshot, encoder: &mut wgpu::CommandEncoder) {
        let member = &mut self.members[world];
        member.steps = snapshot.step;
        member.overflowed.retain(|&step| step < snapshot.step);
        if let Some(population) = &mut member.population {
            population.restore(&member.compiled, &snapshot.vacated);
        }
        for (body, force) in member.compiled.bodies.iter_mut().zip(&snapshot.forces) {
            force.put(body);
        }
        snapshot.put_goals(&mut member.compiled.joints);
        member.commands.clone_from(&snapshot.commands);
        // The next step shall have room for what the last one had; what came later did not happen.
        member.known = snapshot.step.checked_sub(1).map(|step| Known::new(step, &snapshot.counters));
        member.asked = snapshot.step;
        let writes = state::restored(&member.compiled, member.parity, snapshot);
        self.engine.tell(&writes, world, Some(encoder));
    }

    /// Poses and velocities of all worlds, in one download. Waits for the device.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * self.len() as u64);
        let parts = download(&self.engine.context, &[all("poses"), all("states")])?;
        let stride = self.engine.stride("poses");
        let (poses, states): (Vec<Pose>, Vec<BodyState>) = (cast(&parts[0]), cast(&parts[1]));
        self.poll()?;
        let counts = self.members.iter().map(|member| member.compiled.bodies.len()).collect();
        Ok(BodyRows { poses, states, stride, counts })
    }

    /// The hash of every world's state, in one download. Waits for the device.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        let rows = self.bodies()?;
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * self.len() as u64);
        let parts = download(&self.engine.context, &[all("joint_states"), all("joint_impulses")])?;
        let (states, impulses): (Vec<JointState>, Vec<[f32; 2]>) = (cast(&parts[0]), cast(&parts[1]));
        let strides = ["joint_states", "joint_impulses"].map(|name| self.engine.stride(name));
        let hash = |(world, member): (usize, &Member)| {
            let joints = &member.compiled.joints;
            hash_of(
                rows.poses(world),
                rows.states(world),
                &states[world * strides[0]..][..joints.joints.len()],
                &impulses[world * strides[1]..][..joints.rows.len()],
            )
        };
        Ok(self.members.iter().enumerate().map(hash).collect())
    }
}
