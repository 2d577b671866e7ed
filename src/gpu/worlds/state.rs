//! What many worlds are, for the host to see and to go on from.

use super::member::{Known, Member};
use super::places::Places;
use super::population::One;
use crate::gpu::population::Peopled;
use crate::gpu::readback::{cast, download};
use crate::gpu::state;
use crate::snapshot::Snapshot;
use crate::state::hash_of;
use crate::types::{BodyState, JointState, Pose};
use crate::world::WorldError;
use crate::worlds::BodyRows;

impl One<'_> {
    /// The state between two steps. Waits for the device.
    pub fn snapshot(&self) -> Result<Snapshot, WorldError> {
        if self.member.limits.has_given_up() {
            return Err(WorldError::Cancelled);
        }
        let Member { compiled, population, steps, parity, commands, .. } = &*self.member;
        let tables = self.places.engine.tables(compiled, self.place, *parity)?;
        Ok(state::snapshot(compiled, population.as_ref(), *steps, commands, tables))
    }

    /// Goes on from a snapshot, to the same bits. Waits for the device.
    ///
    /// # Errors
    /// If it is of another world, or the device is lost; then nothing has changed.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let other = self.rewound(snapshot)?;
        self.places.context().wait()?;
        self.places.poll()?;
        self.places.tell_news(self.place, self.member);
        if let Some((compiled, population)) = other {
            self.become_another(compiled, population)?;
        }
        let mut encoder = self.places.encoder();
        self.places.make_room_for([snapshot].into_iter(), &mut encoder)?;
        self.put(snapshot, &mut encoder);
        self.places.context().queue().submit([encoder.finish()]);
        self.places.poll()
    }

    /// Records what takes the world to where a snapshot was taken, of which there is room for all.
    pub fn put(&mut self, snapshot: &Snapshot, encoder: &mut wgpu::CommandEncoder) {
        let member = &mut *self.member;
        if member.limits.has_given_up() {
            member.events.retain(|event| event.step < snapshot.step);
        }
        member.limits.revive();
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
        self.places.engine.tell(&writes, self.place, Some(encoder));
    }
}

impl Places {
    /// Poses and velocities of all worlds, in one download: `members` has one a place. Waits for the device.
    pub fn bodies(&self, members: &[Member]) -> Result<BodyRows, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * members.len() as u64);
        let parts = download(&self.engine.context, &[all("poses"), all("states")])?;
        let stride = self.engine.stride("poses");
        let (poses, states): (Vec<Pose>, Vec<BodyState>) = (cast(&parts[0]), cast(&parts[1]));
        let counts = members.iter().map(|member| member.compiled.bodies.len()).collect();
        Ok(BodyRows { poses, states, stride, counts })
    }

    /// The hash of every world's state, in one download beside that of their bodies. Waits for the device.
    pub fn hashes(&self, members: &[Member], rows: &BodyRows) -> Result<Vec<u64>, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * members.len() as u64);
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
        Ok(members.iter().enumerate().map(hash).collect())
    }
}
