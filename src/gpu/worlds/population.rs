//! Adding and removing bodies and joints in one world, alone or of a batch ([`WorldEngine`]), and placing whole worlds
//! in slots: uploads the decisions of the host to the device.

use super::MIN_CONTACTS;
use super::in_flight::SentPoses;
use super::slots::{BatchSlots, SlotRef};
use super::world_host::WorldHost;
use crate::gpu::capacity::Capacity;
use crate::gpu::engine::{Engine, at_parity};
use crate::gpu::estimate_contacts;
use crate::gpu::memory::Features;
use crate::gpu::state::{KeptRows, begun, read_snapshot, restored};
use crate::gpu::writes::Writes;
use crate::host::{Host, PartCounts, Recorder, WorldEngine};
use crate::initial_loads::InitialContacts;
use crate::population::PopulationChange;
use crate::scene::{Compiled, JointChange, JointTable};
use crate::snapshot::{Snapshot, first_islands};
use crate::step::{Stage, plan};
use crate::types::{JOINT_TREES, Params, VACANT};
use crate::world_error::WorldError;

/// Access to one world in its slot.
#[derive(Debug)]
pub(crate) struct One<'a> {
    pub(in crate::gpu) slots: &'a mut BatchSlots,
    pub(in crate::gpu) slot: usize,
    pub(in crate::gpu) world_host: &'a mut WorldHost,
}

impl BatchSlots {
    /// Puts a world into a slot, replacing any other, in state `now` or at its start. Its settings must run the stages
    /// of the batch, and the slot must have nothing in flight. Other worlds are unaffected. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is changed.
    pub fn insert(
        &mut self,
        slot: usize,
        world_host: &mut WorldHost,
        now: Option<&Snapshot>,
    ) -> Result<(), WorldError> {
        let compiled = &world_host.host.compiled;
        let mut encoder = self.engine.encoder();
        let contacts = u64::from(estimate_contacts(compiled, MIN_CONTACTS, MIN_CONTACTS));
        let grown = self.engine.grow_contacts(&mut encoder, contacts)?;
        self.engine.context.queue().submit([encoder.finish()]);
        if grown {
            self.bind();
        }
        // Includes the capacity for what its emitters will create.
        if self.engine.make_room(Capacity::of_many(compiled), Features::of(compiled), None)? {
            self.bind();
        }
        let all = PopulationChange::all(compiled);
        let now = now.cloned().unwrap_or_else(|| Snapshot::of_start(compiled));
        world_host.parity = self.engine.parity;
        self.all[slot].readbacks.clear();
        let mut one = One { slots: self, slot, world_host };
        one.make_room(None)?;
        one.follow(&all, None)?;
        one.clear_lists();
        // Bounds only ever grow above; this recomputes them without the replaced world.
        self.refresh();
        One { slots: self, slot, world_host }.restore(&now)
    }

    /// Applies the emitters of some worlds before their next step.
    pub(super) fn emit(&mut self, slot_refs: &mut [SlotRef]) -> Result<(), WorldError> {
        slot_refs.iter_mut().try_for_each(|slot_ref| self.one(slot_ref).emit_due(None))
    }

    pub(super) fn one<'a>(&'a mut self, slot_ref: &'a mut SlotRef) -> One<'a> {
        One { slots: self, slot: slot_ref.slot, world_host: slot_ref.world_host }
    }
}

impl WorldEngine for One<'_> {
    fn host(&self) -> &Host {
        &self.world_host.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.world_host.host
    }

    fn has_room_for(&self, more: PartCounts) -> bool {
        self.slots.engine.capacity.holds(Capacity::of(&self.world_host.host.compiled).with(more))
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let (engine, compiled) = (&mut self.slots.engine, &self.world_host.host.compiled);
        let shapes = u64::from(compiled.params.shape_count);
        let mut others = engine.make_room(Capacity::of(compiled), Features::of(compiled), recorder)?;
        // Enough for a pile of the shapes, as at the start, if the device allows it; if not, steps report the overflow.
        // A world alone grows when its contacts come.
        let contacts = (4 * shapes).next_multiple_of(MIN_CONTACTS).min(engine.most_contacts());
        if engine.kernels.are_for_many() && contacts > u64::from(engine.contact_capacity) {
            let mut encoder = engine.encoder();
            others |= engine.grow_contacts(&mut encoder, contacts).unwrap_or(false);
            engine.context.queue().submit([encoder.finish()]);
        }
        if others {
            self.slots.bind();
        }
        Ok(())
    }

    fn follow(&mut self, change: &PopulationChange, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let (slots, world_host) = (&mut *self.slots, &mut *self.world_host);
        // Another world may have caused tables to be replaced.
        slots.engine.place(&mut world_host.host.compiled.params);
        let compiled = &world_host.host.compiled;
        // A stage that one world needs runs for all.
        let (bounces, has_joints) = if slots.is_for_many() {
            (slots.engine.features.bounces, slots.plan.iter().any(|op| op.stage == Stage::PrepareJoints))
        } else {
            (compiled.bounces, false)
        };
        let plan = plan(&compiled.settings, bounces, has_joints || compiled.joints.count() > 0);
        if plan != slots.plan {
            slots.engine.follow(&plan);
            slots.plan = plan;
        }
        if !change.bodies.is_empty() || !change.moved.is_empty() {
            slots.query_stats.forget_bodies();
        }
        if !change.moved.is_empty() {
            // Poses of earlier steps are of another centre of mass.
            slots.all[self.slot].transforms = SentPoses::default();
        }
        let mut writes = change_writes(compiled, change);
        let shapes = compiled.shapes.len();
        if shapes > world_host.listed {
            // The contact lists of new shapes start empty. Prefix sums run to the end of the
            // longest list of any world; the entries beyond a shorter list are unused.
            for name in [at_parity("pair_starts", world_host.parity), "sleeping_starts"] {
                if slots.engine.stride(name) > 0 {
                    writes.push(name, 4 * (world_host.listed as u64 + 1), &vec![0_u32; shapes - world_host.listed]);
                }
            }
        }
        slots.engine.upload_writes(&writes, self.slot, recorder);
        (world_host.listed, world_host.host.asked) = (shapes, world_host.host.steps);
        slots.rebind(&SlotRef { slot: self.slot, world_host });
        slots.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.slots.engine.upload_writes(&self.slots.engine.cleared_lists(), self.slot, None);
    }

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        let (engine, WorldHost { host, parity, .. }) = (&self.slots.engine, &*self.world_host);
        let kept = KeptRows::of(&host.compiled, u64::from(engine.contact_capacity));
        let snapshot =
            read_snapshot(&engine.context, host.moment(), Some(&host.compiled.bodies), kept, |name, bytes| {
                let table = at_parity(name, *parity);
                (&engine.buffers[table], engine.offset(table, self.slot), bytes)
            })?;
        self.slots.poll()?;
        self.slots.deliver_readbacks(self.slot, self.world_host);
        Ok(snapshot)
    }

    fn finish_steps(&mut self) -> Result<(), WorldError> {
        self.slots.context().wait()?;
        self.slots.poll()?;
        self.slots.deliver_readbacks(self.slot, self.world_host);
        Ok(())
    }

    fn make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        self.slots.make_room_for([snapshot].into_iter())
    }

    fn put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>) {
        let world_host = &mut *self.world_host;
        // Uses the counters of the snapshot to size the next step; later steps have not happened.
        world_host.known = snapshot.step.checked_sub(1).map(|step| (step, snapshot.counters));
        self.slots.all[self.slot].transforms = SentPoses::default();
        // Another world may have caused tables to be replaced.
        self.slots.engine.place(&mut world_host.host.compiled.params);
        let writes = restored(&world_host.host.compiled, world_host.parity, snapshot);
        let params = self.slots.all[self.slot].bounds.map(|bounds| bounds.params);
        if params != Some(world_host.host.compiled.params) {
            self.slots.rebind(&SlotRef { slot: self.slot, world_host });
        }
        self.slots.engine.upload_writes(&writes, self.slot, recorder);
    }

    fn put_contacts(
        &mut self,
        initial: &InitialContacts,
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(), WorldError> {
        self.slots.make_room_for_contacts(initial.contacts.len() as u64, recorder.as_deref_mut())?;
        let writes = begun(self.world_host.parity, initial);
        self.slots.engine.upload_writes(&writes, self.slot, recorder);
        Ok(())
    }
}

/// Returns the buffer writes for a change of bodies, shapes and joints.
fn change_writes(compiled: &Compiled, change: &PopulationChange) -> Writes {
    let mut writes = Writes::default();
    if !change.bodies.is_empty() || !change.moved.is_empty() {
        writes.all("vertices", &compiled.vertices);
    }
    if !change.bodies.is_empty() && compiled.settings.sleep {
        // A removed body's slot keeps its island: the sleepers of that island have yet to be woken by the removal.
        let there = |&&body: &&u32| compiled.bodies[body as usize].kind != VACANT;
        let came = change.bodies.iter().filter(there).copied().collect();
        writes.some("islands", &first_islands(compiled), &came);
    }
    writes.some("bodies", &compiled.bodies, &change.bodies);
    writes.some("bodies", &compiled.bodies, &change.properties);
    writes.some("poses", &compiled.poses, &change.bodies);
    writes.some("states", &compiled.states, &change.bodies);
    writes.some("poses", &compiled.poses, &change.moved);
    writes.some("states", &compiled.states, &change.moved);
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
    writes.some("joints", joints, &change.anchors);
    writes.some("joint_states", states, &change.places);
    writes.some("joint_rows", rows, &change.rows);
    if !change.rows.is_empty() {
        writes.some("joint_impulses", &vec![[0.0_f32; 2]; rows.len()], &change.rows);
    }
    if change.relaid {
        writes.all("joint_starts", starts);
    } else if !change.places.is_empty() || !change.order.is_empty() {
        writes.all("joint_starts", &starts[..JOINT_TREES as usize + 2]);
        writes.some("joint_starts", starts, &change.order);
    }
    let Params { exclusion_heads, exclusion_links, .. } = compiled.params;
    writes.some_from("partners", 4 * u64::from(exclusion_heads), &exclusions.heads, &change.heads);
    writes.some_from("partners", 4 * u64::from(exclusion_links), &exclusions.links, &change.links);
}

impl Engine {
    /// Returns writes that empty the contact lists of all shapes, for shapes that the world does not have yet.
    fn cleared_lists(&self) -> Writes {
        let mut writes = Writes::default();
        for name in ["pair_starts_0", "pair_starts_1", "sleeping_starts"] {
            writes.all(name, &vec![0_u32; self.stride(name)]);
        }
        writes
    }
}
