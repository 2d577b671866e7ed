//! A world of the service: on its own, or a small one that shares its dispatches with others (`gpu/worlds/pool.rs`). Whoever
//! has one cannot tell, and does not notice when it moves.

use std::sync::Arc;

use glam::Vec2;

use drystone::Event;
use drystone::Snapshot;
use drystone::low_level::Journal;
use drystone::low_level::gpu::pool::{Parts, Pool, PooledWorld};
use drystone::low_level::gpu::{DeviceError, GpuWorld};
use drystone::low_level::scene::Compiled;
use drystone::low_level::step::Stage;
use drystone::{Answers, Query, QueryBounds};
use drystone::{Body, Joint};
use drystone::{BodyId, JointId};
use drystone::{CancelToken, World, WorldError};
use drystone::{Command, CommandError, JointCommand};

/// Does the same to a world, wherever it is.
macro_rules! either {
    ($hosted:expr, $world:ident => $done:expr) => {
        match $hosted {
            Self::Own($world) => $done,
            Self::Pooled($world) => $done,
        }
    };
}

/// See the module. What it does is what [`World`] does under the same name.
#[derive(Debug)]
pub(crate) enum Hosted {
    /// With tables and dispatches of its own, or on the CPU.
    Own(World),
    /// Beside others.
    Pooled(PooledWorld),
}

impl From<GpuWorld> for Hosted {
    fn from(world: GpuWorld) -> Self {
        Self::Own(world.into())
    }
}

impl Hosted {
    /// The pool that it is in.
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        match self {
            Self::Own(_) => None,
            Self::Pooled(world) => Some(world.pool()),
        }
    }

    /// Out of its pool, if it is in one.
    ///
    /// # Errors
    /// If it does not fit the device on its own, or that is lost; then it is where it was.
    pub fn move_out(&mut self) -> Result<&mut World, WorldError> {
        if let Self::Pooled(world) = self {
            *self = world.move_out()?.into();
            metrics::counter!("drystone_worlds_outgrown_total").increment(1);
        }
        match self {
            Self::Own(world) => Ok(world),
            Self::Pooled(_) => Err(WorldError::Many("the world is still in its pool".to_owned())),
        }
    }

    /// Out of its pool, if it would not be small with so much more.
    fn move_out_for(&mut self, more: Parts) -> Result<(), WorldError> {
        if matches!(self, Self::Pooled(world) if !world.holds(more)) {
            self.move_out()?;
        }
        Ok(())
    }

    /// Whether the device that it is on works.
    pub fn check_device(&self) -> Result<(), DeviceError> {
        match self {
            Self::Own(World::Cpu(_)) => Ok(()),
            Self::Own(World::Gpu(world)) => world.context().check(),
            Self::Pooled(world) => world.context().check(),
        }
    }

    /// Sets how many contacts a step may have.
    pub fn set_contact_limit(&mut self, limit: usize) {
        either!(self, world => world.set_contact_limit(limit));
    }

    /// Sets the token that gives up a step. A world in a pool is small and steps with others, so it has none: a token would
    /// be heard after the step only.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        if let Self::Own(world) = self {
            world.set_cancel_token(token);
        }
    }

    /// True on a GPU.
    pub fn is_on_device(&self) -> bool {
        !matches!(self, Self::Own(World::Cpu(_)))
    }

    pub fn compiled(&self) -> &Compiled {
        either!(self, world => world.compiled())
    }

    pub fn steps(&self) -> u64 {
        either!(self, world => world.steps())
    }

    pub fn overflowed_steps(&self) -> &[u64] {
        either!(self, world => world.overflowed_steps())
    }

    /// Nothing of a world in a pool: stages are not timed there.
    pub fn stage_ms(&self) -> Vec<(Stage, f64)> {
        match self {
            Self::Own(world) => world.stage_ms(),
            Self::Pooled(_) => Vec::new(),
        }
    }

    pub fn command(&mut self, body: BodyId, command: Command) -> Result<(), CommandError> {
        either!(self, world => world.command(body, command))
    }

    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        either!(self, world => world.command_joint(joint, command))
    }

    pub fn wake_all(&mut self) {
        either!(self, world => world.wake_all());
    }

    pub fn set_gravity(&mut self, gravity: Vec2) -> Result<(), WorldError> {
        either!(self, world => world.set_gravity(gravity))
    }

    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.move_out_for(Parts::of_bodies(bodies))?;
        either!(self, world => world.add_bodies(bodies))
    }

    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        either!(self, world => world.remove_bodies(ids))
    }

    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.move_out_for(Parts { joints: joints.len(), ..Parts::default() })?;
        either!(self, world => world.add_joints_between(joints))
    }

    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        either!(self, world => world.remove_joints(ids))
    }

    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        either!(self, world => world.joint_id(index))
    }

    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        either!(self, world => world.body_id(index))
    }

    pub fn take_events(&mut self) -> Result<Vec<Event>, WorldError> {
        match self {
            Self::Own(world) => world.take_events(),
            Self::Pooled(world) => Ok(world.take_events()),
        }
    }

    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        either!(self, world => world.query_within(queries, bounds))
    }

    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        either!(self, world => world.snapshot())
    }

    pub fn save(&mut self) -> Result<Vec<u8>, WorldError> {
        Ok(self.snapshot()?.to_bytes(self.compiled().fingerprint()))
    }

    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<(), WorldError> {
        if let Self::Pooled(world) = self
            && world.load_with(bytes, journal)?
        {
            return Ok(());
        }
        self.move_out()?.load_with(bytes, journal)
    }
}
