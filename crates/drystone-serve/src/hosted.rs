//! World hosted by the service: a separate world, or a small one in a pool with shared dispatches
//! (`gpu/worlds/pool.rs`). Both have the same interface, and a session does not notice when its world moves between
//! them.

use std::sync::Arc;

use glam::Vec2;

use drystone::Event;
use drystone::Snapshot;
use drystone::low_level::gpu::pool::{PartCounts, Pool, PooledWorld};
use drystone::low_level::gpu::{DeviceError, GpuWorld};
use drystone::low_level::scene::Compiled;
use drystone::low_level::step::Stage;
use drystone::low_level::{Journal, pending_commands};
use drystone::{Answers, Query, QueryBounds};
use drystone::{Body, Joint};
use drystone::{BodyId, JointId, Property, Shape};
use drystone::{CancelToken, World, WorldError};
use drystone::{Command, CommandError, Explosion, JointCommand, Wind};

/// Calls the same method on either kind of world.
macro_rules! either {
    ($hosted:expr, $world:ident => $done:expr) => {
        match $hosted {
            Self::Own($world) => $done,
            Self::Pooled($world) => $done,
        }
    };
}

/// World of a session, separate or pooled. Its methods are those of [`World`] with the same names.
#[derive(Debug)]
pub(crate) enum Hosted {
    /// On the CPU, or on a GPU with tables and dispatches of its own.
    Own(World),
    /// In a pool.
    Pooled(PooledWorld),
}

impl From<GpuWorld> for Hosted {
    fn from(world: GpuWorld) -> Self {
        Self::Own(world.into())
    }
}

impl Hosted {
    /// Returns the pool of the world, if it is in one.
    pub fn pool(&self) -> Option<&Arc<Pool>> {
        match self {
            Self::Own(_) => None,
            Self::Pooled(world) => Some(world.pool()),
        }
    }

    /// Moves the world out of its pool, if it is in one.
    ///
    /// # Errors
    /// The world does not fit the device outside of the pool, or the device is lost; the world then stays in its
    /// pool.
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

    /// Moves the world out of its pool if `more` would make it too large for the pool.
    fn move_out_for(&mut self, more: PartCounts) -> Result<(), WorldError> {
        if matches!(self, Self::Pooled(world) if !world.holds(more)) {
            self.move_out()?;
        }
        Ok(())
    }

    /// Moves the world out of its pool if that has no room for the shapes that a body has more than now.
    fn move_out_for_shapes(&mut self, id: BodyId, shapes: &[Shape]) -> Result<(), WorldError> {
        // Other worlds may have many shapes to count.
        let Self::Pooled(world) = self else { return Ok(()) };
        let own = world.compiled().shapes.iter().filter(|shape| shape.body == id.index).count();
        self.move_out_for(PartCounts { shapes: shapes.len().saturating_sub(own), ..PartCounts::default() })
    }

    /// Returns an error if the world's device is lost.
    pub fn check_device(&self) -> Result<(), DeviceError> {
        match self {
            Self::Own(World::Cpu(_)) => Ok(()),
            Self::Own(World::Gpu(world)) => world.context().check(),
            Self::Pooled(world) => world.context().check(),
        }
    }

    /// Sets the largest number of contacts of a step.
    pub fn set_contact_limit(&mut self, limit: usize) {
        either!(self, world => world.set_contact_limit(limit));
    }

    /// Sets the token that cancels a step. A pooled world takes none: it is small and steps with others, and the
    /// token would only be checked after the step.
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

    /// Returns the time of each stage; nothing for a pooled world, where stages are not timed.
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

    /// Returns the number of commands for the next step.
    pub fn pending_commands(&self) -> usize {
        match self {
            Self::Own(world) => pending_commands(world),
            Self::Pooled(world) => world.pending_commands(),
        }
    }

    pub fn explode(&mut self, explosion: &Explosion) -> Result<usize, WorldError> {
        either!(self, world => world.explode(explosion))
    }

    pub fn apply_wind(&mut self, wind: &Wind) -> Result<usize, WorldError> {
        either!(self, world => world.apply_wind(wind))
    }

    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.move_out_for(PartCounts::of_bodies(bodies))?;
        either!(self, world => world.add_bodies(bodies))
    }

    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        either!(self, world => world.remove_bodies(ids))
    }

    pub fn replace_body(&mut self, id: BodyId, body: &Body) -> Result<(), WorldError> {
        self.move_out_for_shapes(id, &body.shapes)?;
        either!(self, world => world.replace_body(id, body))
    }

    pub fn set_shapes(&mut self, id: BodyId, shapes: &[Shape]) -> Result<(), WorldError> {
        self.move_out_for_shapes(id, shapes)?;
        either!(self, world => world.set_shapes(id, shapes))
    }

    pub fn set_all(&mut self, properties: &[(BodyId, Property)]) -> Result<(), WorldError> {
        either!(self, world => world.set_all(properties))
    }

    pub fn replace_joint(&mut self, id: JointId, joint: &Joint) -> Result<(), WorldError> {
        either!(self, world => world.replace_joint(id, joint))
    }

    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.move_out_for(PartCounts { joints: joints.len(), ..PartCounts::default() })?;
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
