//! Adding and removing bodies and joints in one world of a batch ([`WorldEngine`]), and placing whole worlds in slots.

use super::LEAST_CONTACTS;
use super::member::{Known, Member};
use super::places::{Places, Seat};
use crate::gpu::engine::at_parity;
use crate::gpu::estimate_contacts;
use crate::gpu::memory::Features;
use crate::gpu::population::change_writes;
use crate::gpu::room::Room;
use crate::gpu::state;
use crate::host::{Host, Parts, Recorder, WorldEngine};
use crate::population::Change;
use crate::snapshot::Snapshot;
use crate::step::{Stage, plan};
use crate::world::WorldError;

/// Access to one world of a batch.
#[derive(Debug)]
pub(crate) struct One<'a> {
    pub(super) places: &'a mut Places,
    pub(super) place: usize,
    pub(super) member: &'a mut Member,
}

impl Places {
    /// Puts a world into a slot, replacing any other, in state `now` or at its start. Its settings must run the stages
    /// of the batch, and the slot must have nothing in flight. Other worlds are unaffected. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is changed.
    pub fn settle(&mut self, place: usize, member: &mut Member, now: Option<&Snapshot>) -> Result<(), WorldError> {
        let compiled = &member.host.compiled;
        let mut encoder = self.engine.encoder();
        let contacts = u64::from(estimate_contacts(compiled, LEAST_CONTACTS, LEAST_CONTACTS));
        let grown = self.engine.grow_contacts(&mut encoder, contacts)?;
        self.engine.context.queue().submit([encoder.finish()]);
        if grown {
            self.bind();
        }
        // Includes the capacity for what its emitters will create.
        if self.engine.make_room(Room::of_many(compiled), Features::of(compiled), None)? {
            self.bind();
        }
        let all = Change::all(compiled);
        let now = now.cloned().unwrap_or_else(|| Snapshot::of_start(compiled));
        member.parity = self.engine.parity;
        self.all[place].news.clear();
        let mut one = One { places: self, place, member };
        one.make_room(None)?;
        one.follow(&all, None)?;
        one.clear_lists();
        // Bounds only ever grow above; this recomputes them without the replaced world.
        self.refresh();
        One { places: self, place, member }.restore(&now)
    }

    /// Applies the emitters of some worlds before their next step.
    pub(super) fn emit(&mut self, seats: &mut [Seat]) -> Result<(), WorldError> {
        seats.iter_mut().try_for_each(|seat| self.one(seat).emit_due(None))
    }

    pub(super) fn one<'a>(&'a mut self, seat: &'a mut Seat) -> One<'a> {
        One { places: self, place: seat.place, member: seat.member }
    }
}

impl WorldEngine for One<'_> {
    fn host(&self) -> &Host {
        &self.member.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.member.host
    }

    fn has_room_for(&self, more: Parts) -> bool {
        self.places.engine.room.holds(Room::of(&self.member.host.compiled).with(more))
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let (engine, compiled) = (&mut self.places.engine, &self.member.host.compiled);
        let shapes = u64::from(compiled.params.shape_count);
        let mut others = engine.make_room(Room::of(compiled), Features::of(compiled), recorder)?;
        // Enough for a pile of the shapes, as at the start, if the device allows it; if not, steps report the overflow.
        let contacts = (4 * shapes).next_multiple_of(LEAST_CONTACTS).min(engine.most_contacts());
        if contacts > u64::from(engine.contact_capacity) {
            let mut encoder = engine.encoder();
            others |= engine.grow_contacts(&mut encoder, contacts).unwrap_or(false);
            engine.context.queue().submit([encoder.finish()]);
        }
        if others {
            self.places.bind();
        }
        Ok(())
    }

    fn follow(&mut self, change: &Change, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let (places, member) = (&mut *self.places, &mut *self.member);
        // Another world may have caused tables to be replaced.
        places.engine.place(&mut member.host.compiled.params);
        let compiled = &member.host.compiled;
        // A stage that one world needs runs for all.
        let has_joints = places.plan.iter().any(|op| op.stage == Stage::PrepareJoints);
        let joints = has_joints || compiled.joints.count() > 0;
        let plan = plan(&compiled.settings, places.engine.features.bounces, joints);
        if plan != places.plan {
            places.engine.follow(&plan);
            places.plan = plan;
        }
        let mut writes = change_writes(compiled, change);
        let shapes = compiled.shapes.len();
        if shapes > member.listed {
            // The contact lists of new shapes start empty, as in a single world. Prefix sums run to the end of the
            // longest list of any world; the entries beyond a shorter list are unused.
            for name in [at_parity("pair_starts", member.parity), "sleeping_starts"] {
                if places.engine.stride(name) > 0 {
                    writes.push(name, 4 * (member.listed as u64 + 1), &vec![0_u32; shapes - member.listed]);
                }
            }
        }
        places.engine.tell(&writes, self.place, recorder);
        (member.listed, member.host.asked) = (shapes, member.host.steps);
        places.rebind(&Seat { place: self.place, member });
        places.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.places.engine.tell(&self.places.engine.cleared_lists(), self.place, None);
    }

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        let Member { host, parity, .. } = &*self.member;
        let tables = self.places.engine.tables(&host.compiled, self.place, *parity)?;
        let snapshot = state::snapshot(host, tables);
        self.places.poll()?;
        Ok(snapshot)
    }

    fn settle(&mut self) -> Result<(), WorldError> {
        self.places.context().wait()?;
        self.places.poll()?;
        self.places.deliver_readbacks(self.place, self.member);
        Ok(())
    }

    fn make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        self.places.make_room_for([snapshot].into_iter())
    }

    fn put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>) {
        let member = &mut *self.member;
        // Uses the counters of the snapshot to size the next step; later steps have not happened.
        member.known = snapshot.step.checked_sub(1).map(|step| Known::new(step, &snapshot.counters));
        // Another world may have caused tables to be replaced.
        self.places.engine.place(&mut member.host.compiled.params);
        let writes = state::restored(&member.host.compiled, member.parity, snapshot);
        let gravity = self.places.all[self.place].extent.map(|extent| extent.params.gravity);
        if gravity != Some(member.host.compiled.params.gravity) {
            self.places.rebind(&Seat { place: self.place, member });
        }
        self.places.engine.tell(&writes, self.place, recorder);
    }
}
