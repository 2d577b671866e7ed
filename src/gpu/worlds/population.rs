//! Adding and removing bodies and joints in one world of a batch ([`WorldEngine`]), and placing whole worlds in slots.

use super::MIN_CONTACTS;
use super::slots::{BatchSlots, SlotRef};
use super::world_host::{LastReadback, WorldHost};
use crate::gpu::capacity::Capacity;
use crate::gpu::engine::at_parity;
use crate::gpu::estimate_contacts;
use crate::gpu::memory::Features;
use crate::gpu::population::change_writes;
use crate::gpu::state;
use crate::host::{Host, PartCounts, Recorder, WorldEngine};
use crate::population::PopulationChange;
use crate::snapshot::Snapshot;
use crate::step::{Stage, plan};
use crate::world::WorldError;

/// Access to one world of a batch.
#[derive(Debug)]
pub(crate) struct One<'a> {
    pub(super) slots: &'a mut BatchSlots,
    pub(super) slot: usize,
    pub(super) world_host: &'a mut WorldHost,
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
        let contacts = (4 * shapes).next_multiple_of(MIN_CONTACTS).min(engine.most_contacts());
        if contacts > u64::from(engine.contact_capacity) {
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
        let has_joints = slots.plan.iter().any(|op| op.stage == Stage::PrepareJoints);
        let joints = has_joints || compiled.joints.count() > 0;
        let plan = plan(&compiled.settings, slots.engine.features.bounces, joints);
        if plan != slots.plan {
            slots.engine.follow(&plan);
            slots.plan = plan;
        }
        let mut writes = change_writes(compiled, change);
        let shapes = compiled.shapes.len();
        if shapes > world_host.listed {
            // The contact lists of new shapes start empty, as in a single world. Prefix sums run to the end of the
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
        let WorldHost { host, parity, .. } = &*self.world_host;
        let tables = self.slots.engine.tables(&host.compiled, self.slot, *parity)?;
        let snapshot = state::snapshot(host, tables);
        self.slots.poll()?;
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
        world_host.known = snapshot.step.checked_sub(1).map(|step| LastReadback::new(step, &snapshot.counters));
        // Another world may have caused tables to be replaced.
        self.slots.engine.place(&mut world_host.host.compiled.params);
        let writes = state::restored(&world_host.host.compiled, world_host.parity, snapshot);
        let gravity = self.slots.all[self.slot].bounds.map(|bounds| bounds.params.gravity);
        if gravity != Some(world_host.host.compiled.params.gravity) {
            self.slots.rebind(&SlotRef { slot: self.slot, world_host });
        }
        self.slots.engine.upload_writes(&writes, self.slot, recorder);
    }
}
