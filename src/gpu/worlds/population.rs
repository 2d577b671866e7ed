//! Bodies and joints that come and go in one of many worlds, as they do in one alone ([`Peopled`]), and worlds that come.

use super::LEAST_CONTACTS;
use super::member::Member;
use super::places::{Places, Seat};
use crate::gpu::engine::at_parity;
use crate::gpu::estimate_contacts;
use crate::gpu::memory::Features;
use crate::gpu::population::{Host, Peopled, told};
use crate::gpu::room::Room;
use crate::population::Change;
use crate::snapshot::Snapshot;
use crate::step::{Stage, plan};
use crate::world::WorldError;

/// One of many.
#[derive(Debug)]
pub(super) struct One<'a> {
    pub places: &'a mut Places,
    pub place: usize,
    pub member: &'a mut Member,
}

impl Places {
    /// Puts a world into a place, whoever was there, as it is `now` or else at its start. The others notice nothing. It runs
    /// the stages that they do, and nothing of this place is on its way. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    pub fn settle(&mut self, place: usize, member: &mut Member, now: Option<&Snapshot>) -> Result<(), WorldError> {
        let compiled = &member.compiled;
        let mut encoder = self.engine.encoder();
        let contacts = u64::from(estimate_contacts(compiled, LEAST_CONTACTS, LEAST_CONTACTS));
        let grown = self.engine.grow_contacts(&mut encoder, contacts)?;
        self.engine.context.queue().submit([encoder.finish()]);
        if grown {
            self.bind();
        }
        // With what its emitters will make.
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
        // Nobody asks for less than did the one before.
        self.refresh();
        One { places: self, place, member }.restore(&now)
    }

    /// Makes what the emitters of some worlds make before their next step.
    pub(super) fn emit(&mut self, seats: &mut [Seat]) -> Result<(), WorldError> {
        seats.iter_mut().try_for_each(|seat| self.one(seat).emit_due(None))
    }

    pub(super) fn one<'a>(&'a mut self, seat: &'a mut Seat) -> One<'a> {
        One { places: self, place: seat.place, member: seat.member }
    }
}

impl Peopled for One<'_> {
    fn host(&mut self) -> Host<'_> {
        let member = &mut *self.member;
        Host {
            compiled: &mut member.compiled,
            population: &mut member.population,
            origin: member.origin.as_deref(),
            commands: &mut member.commands,
            steps: member.steps,
        }
    }

    fn room(&self) -> Room {
        self.places.engine.room
    }

    fn make_room(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let (engine, compiled) = (&mut self.places.engine, &self.member.compiled);
        let shapes = u64::from(compiled.params.shape_count);
        let mut others = engine.make_room(Room::of(compiled), Features::of(compiled), recorded)?;
        // As at the start for a pile of the shapes, if the device has room for that; if not, steps say so.
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

    fn follow(&mut self, change: &Change, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let (places, member) = (&mut *self.places, &mut *self.member);
        // Others may have had tables made since it last looked.
        places.engine.place(&mut member.compiled.params);
        let compiled = &member.compiled;
        // What one of them needs is run for all.
        let has_joints = places.plan.iter().any(|op| op.stage == Stage::PrepareJoints);
        let joints = has_joints || compiled.joints.count() > 0;
        let plan = plan(&compiled.settings, places.engine.features.bounces, joints);
        if plan != places.plan {
            places.engine.follow(&plan);
            places.plan = plan;
        }
        let mut writes = told(compiled, change);
        let shapes = compiled.shapes.len();
        if shapes > member.listed {
            // Their lists are empty, as in a world alone. Lists are summed up to where the longest of any world ends, and
            // what that leaves behind the end of this one means nothing.
            for name in [at_parity("pair_starts", member.parity), "sleeping_starts"] {
                if places.engine.stride(name) > 0 {
                    writes.push(name, 4 * (member.listed as u64 + 1), &vec![0_u32; shapes - member.listed]);
                }
            }
        }
        places.engine.tell(&writes, self.place, recorded);
        (member.listed, member.asked) = (shapes, member.steps);
        places.rebind(&Seat { place: self.place, member });
        places.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.places.engine.tell(&self.places.engine.cleared_lists(), self.place, None);
    }
}
