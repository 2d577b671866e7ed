//! Bodies and joints that come and go in one of many worlds, as they do in one alone ([`Peopled`]).

use super::{GpuWorlds, LEAST_CONTACTS, Member, step_alike};
use crate::gpu::engine::at_parity;
use crate::gpu::estimate_contacts;
use crate::gpu::memory::Features;
use crate::gpu::population::{Host, Peopled, told};
use crate::gpu::room::Room;
use crate::population::{BodyId, Change, JointId};
use crate::scene::{Body, Compiled, Joint};
use crate::snapshot::Snapshot;
use crate::step::{Stage, plan};
use crate::world::WorldError;

/// One of many.
#[derive(Debug)]
pub(super) struct One<'a> {
    worlds: &'a mut GpuWorlds,
    world: usize,
}

impl GpuWorlds {
    pub(super) fn one(&mut self, world: usize) -> One<'_> {
        One { worlds: self, world }
    }

    /// The same, remembered as it is now before anything comes or goes by hand.
    fn one_to_change(&mut self, world: usize) -> One<'_> {
        let member = &mut self.members[world];
        member.origin.get_or_insert_with(|| Box::new(member.compiled.clone()));
        self.one(world)
    }

    pub fn add_bodies(&mut self, world: usize, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.one_to_change(world).bring(bodies)
    }

    pub fn remove_bodies(&mut self, world: usize, ids: &[BodyId]) -> Result<(), WorldError> {
        self.one_to_change(world).send_away(ids)
    }

    pub fn add_joints(&mut self, world: usize, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        self.one_to_change(world).tie(joints)
    }

    pub fn add_joints_between(
        &mut self,
        world: usize,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.one_to_change(world).tie_between(joints)
    }

    pub fn remove_joints(&mut self, world: usize, ids: &[JointId]) -> Result<(), WorldError> {
        self.one_to_change(world).untie(ids)
    }

    pub fn body_id(&mut self, world: usize, index: usize) -> Option<BodyId> {
        self.one(world).body_in(index)
    }

    /// Puts another world in the place of one, at its start. The others notice nothing. Waits for the device.
    ///
    /// # Errors
    /// If its settings ask for other stages than those of the others, or it does not fit the device; then nothing is done.
    pub fn replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError> {
        if !step_alike(&compiled.settings, &self.members[world].compiled.settings) {
            return Err(WorldError::Many("its settings ask for other stages than those of the others".to_owned()));
        }
        // What is on its way is of the one that was there.
        self.engine.context.wait()?;
        self.poll()?;
        let mut encoder = self.engine.encoder();
        let contacts = u64::from(estimate_contacts(&compiled, LEAST_CONTACTS, LEAST_CONTACTS));
        if self.engine.grow_contacts(&mut encoder, contacts)? {
            self.bind();
        }
        self.engine.context.queue().submit([encoder.finish()]);
        let start = Snapshot::of_start(&compiled);
        let mut member = Member { parity: self.members[world].parity, ..Member::new(compiled) };
        self.engine.place(&mut member.compiled.params);
        let before = std::mem::replace(&mut self.members[world], member);
        if let Err(error) = self.one(world).make_room(None) {
            self.members[world] = before;
            return Err(error);
        }
        let all = Change::all(&self.members[world].compiled);
        self.one(world).follow(&all, None)?;
        self.one(world).clear_lists();
        // Nobody asks for less than did the one before.
        self.refresh();
        self.restore(&[(world, &start)])
    }

    /// Makes what the emitters of some worlds make before their next step.
    pub(super) fn emit(&mut self, which: &[usize]) -> Result<(), WorldError> {
        which.iter().try_for_each(|&world| self.one(world).emit_due(None))
    }
}

impl Peopled for One<'_> {
    fn host(&mut self) -> Host<'_> {
        let member = &mut self.worlds.members[self.world];
        Host {
            compiled: &mut member.compiled,
            population: &mut member.population,
            origin: member.origin.as_deref(),
            commands: &mut member.commands,
            steps: member.steps,
        }
    }

    fn room(&self) -> Room {
        self.worlds.engine.room
    }

    fn make_room(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let GpuWorlds { engine, members, .. } = &mut *self.worlds;
        let compiled = &members[self.world].compiled;
        let (need, features) = (Room::of(compiled), Features::of(compiled));
        let shapes = u64::from(compiled.params.shape_count);
        let mut others = engine.make_room(members.iter().map(|member| &member.compiled), need, features, recorded)?;
        // As at the start for a pile of the shapes, if the device has room for that; if not, steps say so.
        let contacts = (4 * shapes).next_multiple_of(LEAST_CONTACTS).min(engine.most_contacts());
        if contacts > u64::from(engine.contact_capacity) {
            let mut encoder = engine.encoder();
            others |= engine.grow_contacts(&mut encoder, contacts).unwrap_or(false);
            engine.context.queue().submit([encoder.finish()]);
        }
        if others {
            self.worlds.bind();
        }
        Ok(())
    }

    fn follow(&mut self, change: &Change, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let worlds = &mut *self.worlds;
        let compiled = &worlds.members[self.world].compiled;
        // What one of them needs is run for all.
        let has_joints = worlds.plan.iter().any(|op| op.stage == Stage::PrepareJoints);
        let joints = has_joints || compiled.joints.count() > 0;
        let plan = plan(&compiled.settings, worlds.engine.features.bounces, joints);
        if plan != worlds.plan {
            worlds.engine.follow(&plan);
            worlds.plan = plan;
        }
        let mut writes = told(compiled, change);
        let (listed, shapes) = (worlds.members[self.world].listed, compiled.shapes.len());
        if shapes > listed {
            // Their lists are empty, as in a world alone. Lists are summed up to where the longest of any world ends, and
            // what that leaves behind the end of this one means nothing.
            for name in [at_parity("pair_starts", worlds.members[self.world].parity), "sleeping_starts"] {
                if worlds.engine.stride(name) > 0 {
                    writes.push(name, 4 * (listed as u64 + 1), &vec![0_u32; shapes - listed]);
                }
            }
        }
        worlds.engine.tell(&writes, self.world, recorded);
        let member = &mut worlds.members[self.world];
        (member.listed, member.asked) = (shapes, member.steps);
        worlds.rebind(self.world);
        worlds.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.worlds.engine.tell(&self.worlds.engine.cleared_lists(), self.world, None);
    }
}
