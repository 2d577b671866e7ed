//! Worlds on a GPU where the crate is built without the feature `gpu`: there are none, and no code for them. What holds
//! one of two backends is the same text for both builds, and the compiler leaves out its other arm.

use crate::body_view::{BodyTransform, BodyView};
use crate::cancel::CancelToken;
use crate::command::{Command, CommandError, JointCommand};
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::population::{BodyId, JointId, Journal, Population};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::{Body, Compiled, Joint};
use crate::snapshot::Snapshot;
use crate::step::Stage;
use crate::types::Pose;
use crate::world::WorldError;
use crate::worlds::BodyRows;

/// Methods that are never called.
macro_rules! absent {
    () => {};
    ($name:ident(&mut $this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*) => {
        pub fn $name(&mut $this $(, $argument: $type)*) $(-> $result)? {
            $(let _ = $argument;)*
            match *$this {}
        }
        absent! { $($rest)* }
    };
    ($name:ident(&$this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*) => {
        pub fn $name(&$this $(, $argument: $type)*) $(-> $result)? {
            $(let _ = $argument;)*
            match *$this {}
        }
        absent! { $($rest)* }
    };
}

/// A device.
#[derive(Debug)]
pub enum Context {}

impl Context {
    absent! {
        wait(&self) -> Result<(), DeviceError>;
    }
}

/// A world on a GPU: there is none in a build without the feature `gpu`.
#[derive(Debug)]
pub enum GpuWorld {}

#[allow(missing_docs, reason = "none of it can be called")]
impl GpuWorld {
    absent! {
        add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError>;
        add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError>;
        add_joints_between(&mut self, joints: &[(Option<BodyId>, BodyId, Joint)]) -> Result<Vec<JointId>, WorldError>;
        body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError>;
        body_id(&mut self, index: usize) -> Option<BodyId>;
        command(&mut self, body: impl Into<BodyId>, command: Command) -> Result<(), CommandError>;
        command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError>;
        command_slot(&mut self, slot: usize, command: Command) -> Result<(), CommandError>;
        compiled(&self) -> &Compiled;
        contact_limit(&self) -> usize;
        context(&self) -> &Context;
        dispatches(&self) -> u32;
        overflowed_steps(&self) -> &[u64];
        population(&self) -> Option<&Population>;
        query(&mut self, queries: &[Query]) -> Result<Answers, WorldError>;
        query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError>;
        read_poses(&mut self) -> Result<Vec<Pose>, WorldError>;
        relive(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError>;
        remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError>;
        remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError>;
        restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError>;
        set_cancel_token(&mut self, token: CancelToken);
        set_contact_limit(&mut self, limit: usize);
        set_gravity(&mut self, gravity: [f32; 2]);
        snapshot(&mut self) -> Result<Snapshot, WorldError>;
        stage_ms(&self) -> (&[(Stage, f64)], u64);
        step(&mut self) -> Result<(), WorldError>;
        step_profiled(&mut self) -> Result<(), WorldError>;
        steps(&self) -> u64;
        take_events(&mut self) -> Result<Vec<Event>, WorldError>;
        transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError>;
        transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError>;
        wake_all(&mut self);
    }
}

/// Many worlds.
pub(crate) mod worlds {
    use super::{
        Answers, Body, BodyId, BodyRows, CancelToken, Command, CommandError, Compiled, Context, Event, Joint,
        JointCommand, JointId, Query, Snapshot, WorldError,
    };

    /// Many worlds on a GPU: there are none in a build without the feature `gpu`.
    #[derive(Debug)]
    pub enum GpuWorlds {}

    impl GpuWorlds {
        absent! {
            add_bodies(&mut self, world: usize, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError>;
            add_joints(&mut self, world: usize, joints: &[Joint]) -> Result<Vec<JointId>, WorldError>;
            add_joints_between(&mut self, world: usize, joints: &[(Option<BodyId>, BodyId, Joint)])
                -> Result<Vec<JointId>, WorldError>;
            bodies(&mut self) -> Result<BodyRows, WorldError>;
            body_id(&mut self, world: usize, index: usize) -> Option<BodyId>;
            command(&mut self, world: usize, body: BodyId, command: Command) -> Result<(), CommandError>;
            command_joint(&mut self, world: usize, joint: JointId, command: JointCommand) -> Result<(), CommandError>;
            compiled(&self, world: usize) -> Option<&Compiled>;
            contact_limit(&self, world: usize) -> usize;
            context(&self) -> &Context;
            device_bytes(&self) -> u64;
            dispatches(&self) -> u32;
            hashes(&mut self) -> Result<Vec<u64>, WorldError>;
            len(&self) -> usize;
            overflowed_steps(&self, world: usize) -> &[u64];
            query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError>;
            query_repeats(&self) -> u64;
            remove_bodies(&mut self, world: usize, ids: &[BodyId]) -> Result<(), WorldError>;
            remove_joints(&mut self, world: usize, ids: &[JointId]) -> Result<(), WorldError>;
            replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError>;
            restore(&mut self, which: &[(usize, &Snapshot)]) -> Result<(), WorldError>;
            set_cancel_token(&mut self, token: &CancelToken);
            set_contact_limit(&mut self, limit: usize);
            snapshot(&mut self, world: usize) -> Result<Snapshot, WorldError>;
            step(&mut self, which: &[usize]) -> Result<(), WorldError>;
            steps(&self, world: usize) -> u64;
            take_events(&mut self, world: usize) -> Result<Vec<Event>, WorldError>;
            wake_all(&mut self, world: usize);
        }
    }
}
