//! Adding and removing bodies and joints in a single GPU world: uploads the host's decisions to the device.

use super::GpuWorld;
use super::capacity::Capacity;
use super::engine::Engine;
use super::memory::Features;
use super::record::joint_runs;
use super::state;
use super::transforms::Sent;
use super::writes::Writes;
use crate::host::{Host, PartCounts, Recorder, WorldEngine};
use crate::population::PopulationChange;
use crate::scene::{Compiled, JointChange, JointTable};
use crate::snapshot::{Snapshot, first_islands};
use crate::step::plan;
use crate::types::{JOINT_TREES, Params, VACANT};
use crate::world::WorldError;

impl WorldEngine for GpuWorld {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn has_room_for(&self, more: PartCounts) -> bool {
        self.engine.capacity.holds(Capacity::of(&self.host.compiled).with(more))
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let features = Features::of(&self.host.compiled);
        if self.engine.make_room(Capacity::of(&self.host.compiled), features, recorder)? {
            self.engine.place(&mut self.host.compiled.params);
        }
        Ok(())
    }

    fn follow(&mut self, change: &PopulationChange, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        self.host.asked = self.host.steps;
        let Compiled { settings, bounces, joints, .. } = &self.host.compiled;
        let plan = plan(settings, *bounces, joints.count() > 0);
        if plan != self.plan {
            self.engine.follow(&plan);
            self.plan = plan;
        }
        if !change.bodies.is_empty() {
            self.query_stats.forget_bodies();
        }
        if !change.joints.places.is_empty() {
            self.engine.joint_runs = joint_runs([&self.host.compiled.joints]);
        }
        self.engine.upload_writes(&change_writes(&self.host.compiled, change), 0, recorder);
        // Most changes leave the constants as they are.
        if !self.engine.is_bound_for(&self.host.compiled.params) {
            self.bind();
        }
        self.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.engine.upload_writes(&self.engine.cleared_lists(), 0, None);
    }

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        let tables = self.tables()?;
        self.poll()?;
        Ok(state::snapshot(&self.host, tables))
    }

    fn finish_steps(&mut self) -> Result<(), WorldError> {
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
        // Uses the counters of the snapshot to size the next step; later steps have not happened.
        self.known = snapshot.step.checked_sub(1).map(|step| (step, snapshot.counters));
        if !self.engine.is_bound_for(&self.host.compiled.params) {
            self.bind();
        }
        let writes = state::restored(&self.host.compiled, self.engine.parity, snapshot);
        self.engine.upload_writes(&writes, 0, recorder);
    }
}

impl GpuWorld {
    /// Applies the scene's emitters that are due before the next step: adds new bodies and removes expired ones, at the
    /// end of the caller's encoder if given.
    ///
    /// # Errors
    /// If the result does not fit the device; then nothing is changed.
    pub fn emit(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.emit_due(recorded)
    }
}

/// Returns the buffer writes for a change of bodies, shapes and joints.
pub(super) fn change_writes(compiled: &Compiled, change: &PopulationChange) -> Writes {
    let mut writes = Writes::default();
    if !change.bodies.is_empty() {
        writes.all("vertices", &compiled.vertices);
        if compiled.settings.sleep {
            // A removed body's slot keeps its island: the sleepers of that island have yet to be woken by the removal.
            let there = |&&body: &&u32| compiled.bodies[body as usize].kind != VACANT;
            let came = change.bodies.iter().filter(there).copied().collect();
            writes.some("islands", &first_islands(compiled), &came);
        }
    }
    writes.some("bodies", &compiled.bodies, &change.bodies);
    writes.some("poses", &compiled.poses, &change.bodies);
    writes.some("states", &compiled.states, &change.bodies);
    writes.some("ccd_bodies", &compiled.ccd_bodies, &change.shapes);
    if change.grid {
        writes.all("shapes", &compiled.shapes);
    } else {
        writes.some("shapes", &compiled.shapes, &change.shapes);
    }
    add_joint_writes(compiled, &change.joints, &mut writes);
    writes
}

/// Adds the writes of changed joints. Impulses, angles and goals of other joints are newer on the device and stay as
/// they are.
fn add_joint_writes(compiled: &Compiled, change: &JointChange, writes: &mut Writes) {
    let JointTable { joints, rows, states, starts, exclusions, .. } = &compiled.joints;
    writes.some("joints", joints, &change.places);
    writes.some("joint_states", states, &change.places);
    writes.some("joint_rows", rows, &change.rows);
    if !change.rows.is_empty() {
        writes.some("joint_impulses", &vec![[0.0_f32; 2]; rows.len()], &change.rows);
    }
    if change.relaid {
        writes.all("joint_starts", starts);
    } else if !change.places.is_empty() {
        writes.all("joint_starts", &starts[..JOINT_TREES as usize + 2]);
        writes.some("joint_starts", starts, &change.order);
    }
    let Params { exclusion_heads, exclusion_links, .. } = compiled.params;
    writes.some_from("partners", 4 * u64::from(exclusion_heads), &exclusions.heads, &change.heads);
    writes.some_from("partners", 4 * u64::from(exclusion_links), &exclusions.links, &change.links);
}

impl Engine {
    /// Returns writes that empty the contact lists of all shapes, for shapes that the world does not have yet.
    pub fn cleared_lists(&self) -> Writes {
        let mut writes = Writes::default();
        for name in ["pair_starts_0", "pair_starts_1", "sleeping_starts"] {
            writes.all(name, &vec![0_u32; self.stride(name)]);
        }
        writes
    }
}
