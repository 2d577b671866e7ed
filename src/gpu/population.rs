//! Bodies and joints that come and go in a world with buffers of its own: what the host decided reaches the device.

use super::GpuWorld;
use super::engine::Engine;
use super::memory::Features;
use super::record::joint_runs;
use super::room::Room;
use super::state;
use super::transforms::Sent;
use super::writes::Writes;
use crate::host::{Host, Parts, Recorder, WorldEngine};
use crate::population::Change;
use crate::scene::{Compiled, JointChange, Joints};
use crate::snapshot::{Snapshot, first_islands};
use crate::step::plan;
use crate::types::{JOINT_COLORS, Params, VACANT};
use crate::world::WorldError;

impl WorldEngine for GpuWorld {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn has_room_for(&self, more: Parts) -> bool {
        self.engine.room.holds(Room::of(&self.host.compiled).with(more))
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let features = Features::of(&self.host.compiled);
        if self.engine.make_room(Room::of(&self.host.compiled), features, recorder)? {
            self.engine.place(&mut self.host.compiled.params);
        }
        Ok(())
    }

    fn follow(&mut self, change: &Change, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        self.host.asked = self.host.steps;
        let Compiled { settings, bounces, joints, .. } = &self.host.compiled;
        let plan = plan(settings, *bounces, joints.count() > 0);
        if plan != self.plan {
            self.engine.follow(&plan);
            self.plan = plan;
        }
        if !change.bodies.is_empty() {
            self.query_load.forget_bodies();
        }
        if !change.joints.places.is_empty() {
            self.engine.joint_runs = joint_runs([&self.host.compiled.joints]);
        }
        self.engine.tell(&told(&self.host.compiled, change), 0, recorder);
        // Most of the time nothing but a few words has changed.
        if !self.engine.is_bound_for(&self.host.compiled.params) {
            self.bind();
        }
        self.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.engine.tell(&self.engine.cleared_lists(), 0, None);
    }

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        let tables = self.tables()?;
        self.poll()?;
        Ok(state::snapshot(&self.host, tables))
    }

    fn settle(&mut self) -> Result<(), WorldError> {
        self.engine.context.wait()?;
        self.poll()
    }

    fn make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        if self.engine.grow_contacts(&mut encoder, snapshot.contacts.len() as u64 + snapshot.sleeping.len() as u64)? {
            self.bind_contacts();
        }
        self.submit(encoder)
    }

    fn put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>) {
        self.transforms = Sent::default();
        // The next step shall have room for what the last one had; what came later did not happen.
        self.known = snapshot.step.checked_sub(1).map(|step| (step, snapshot.counters));
        if !self.engine.is_bound_for(&self.host.compiled.params) {
            self.bind();
        }
        let writes = state::restored(&self.host.compiled, self.engine.parity, snapshot);
        self.engine.tell(&writes, 0, recorder);
    }
}

impl GpuWorld {
    /// Makes what the scene's emitters make before the next step, and lets go of what they let go of, at the end of the
    /// caller's encoder if there is one.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    pub fn emit(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.emit_due(recorded)
    }
}

/// What the device is to know of what came or went.
pub(super) fn told(compiled: &Compiled, change: &Change) -> Writes {
    let mut writes = Writes::default();
    if !change.bodies.is_empty() {
        writes.all("vertices", &compiled.vertices);
        if compiled.settings.sleep {
            // Who slept in a slot that was left has yet to be woken by it.
            let there = |&&body: &&u32| compiled.bodies[body as usize].kind != VACANT;
            let came = change.bodies.iter().filter(there).copied().collect();
            writes.some("islands", &first_islands(compiled), &came);
        }
    }
    writes.some("bodies", &compiled.bodies, &change.bodies);
    writes.some("poses", &compiled.poses, &change.bodies);
    writes.some("states", &compiled.states, &change.bodies);
    writes.some("movers", &compiled.movers, &change.shapes);
    if change.grid {
        writes.all("shapes", &compiled.shapes);
    } else {
        writes.some("shapes", &compiled.shapes, &change.shapes);
    }
    told_of_joints(compiled, &change.joints, &mut writes);
    writes
}

/// What the device knows better of other joints, their impulses, angles and goals, stays where it is.
fn told_of_joints(compiled: &Compiled, change: &JointChange, writes: &mut Writes) {
    let Joints { joints, rows, states, starts, ties, .. } = &compiled.joints;
    writes.some("joints", joints, &change.places);
    writes.some("joint_states", states, &change.places);
    writes.some("joint_rows", rows, &change.rows);
    if !change.rows.is_empty() {
        writes.some("joint_impulses", &vec![[0.0_f32; 2]; rows.len()], &change.rows);
    }
    if change.relaid {
        writes.all("joint_starts", starts);
    } else if !change.places.is_empty() {
        writes.all("joint_starts", &starts[..2 * JOINT_COLORS as usize]);
        writes.some("joint_starts", starts, &change.order);
    }
    let Params { tie_heads, tie_links, .. } = compiled.params;
    writes.some_from("partners", 4 * u64::from(tie_heads), &ties.heads, &change.heads);
    writes.some_from("partners", 4 * u64::from(tie_links), &ties.links, &change.links);
}

impl Engine {
    /// Of shapes that a world has not got yet, the lists of contacts are empty.
    pub fn cleared_lists(&self) -> Writes {
        let mut writes = Writes::default();
        for name in ["pair_starts_0", "pair_starts_1", "sleeping_starts"] {
            writes.all(name, &vec![0_u32; self.stride(name)]);
        }
        writes
    }
}
