//! Stand-ins for the GPU worlds in a build without the feature `gpu`. They are empty enums: no value of them exists and
//! no code is compiled for them, so that types holding either backend have the same source in both builds.

use crate::body_rows::BodyRows;
use crate::body_view::{BodyTransform, BodyView};
use crate::cancel::CancelToken;
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::host::{Host, PartCounts, Recorder, WorldEngine};
use crate::initial_loads::InitialContacts;
use crate::population::{BodyId, Population, PopulationChange};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::Compiled;
use crate::snapshot::Snapshot;
use crate::step::Stage;
use crate::types::Pose;
use crate::world_error::WorldError;

/// Declares methods that can never be called.
macro_rules! absent {
    () => {};
    ($visible:vis $name:ident(&mut $this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*) => {
        $visible fn $name(&mut $this $(, $argument: $type)*) $(-> $result)? {
            $(let _ = $argument;)*
            match *$this {}
        }
        absent! { $($rest)* }
    };
    ($visible:vis $name:ident(&$this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*) => {
        $visible fn $name(&$this $(, $argument: $type)*) $(-> $result)? {
            $(let _ = $argument;)*
            match *$this {}
        }
        absent! { $($rest)* }
    };
}

/// Stand-in for a device.
#[derive(Debug)]
pub enum Context {}

impl Context {
    absent! {
        pub wait(&self) -> Result<(), DeviceError>;
    }
}

/// Stand-in for a world on a GPU; no value exists without the feature `gpu`.
#[derive(Debug)]
pub enum GpuWorld {}

#[allow(missing_docs, reason = "none of it can be called")]
impl GpuWorld {
    absent! {
        pub body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError>;
        pub compiled(&self) -> &Compiled;
        pub context(&self) -> &Context;
        pub dispatches(&self) -> u32;
        pub population(&self) -> Option<&Population>;
        pub query(&mut self, queries: &[Query]) -> Result<Answers, WorldError>;
        pub query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError>;
        pub read_poses(&mut self) -> Result<Vec<Pose>, WorldError>;
        pub set_cancel_token(&mut self, token: CancelToken);
        pub stage_ms(&self) -> (&[(Stage, f64)], u64);
        pub step(&mut self) -> Result<(), WorldError>;
        pub step_profiled(&mut self) -> Result<(), WorldError>;
        pub take_events(&mut self) -> Result<Vec<Event>, WorldError>;
        pub transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError>;
        pub transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError>;
    }
}

impl WorldEngine for GpuWorld {
    absent! {
        host(&self) -> &Host;
        host_mut(&mut self) -> &mut Host;
        has_room_for(&self, more: PartCounts) -> bool;
        is_limited(&self) -> bool;
        make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;
        follow(&mut self, change: &PopulationChange, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;
        clear_lists(&mut self);
        state(&mut self) -> Result<Snapshot, WorldError>;
        finish_steps(&mut self) -> Result<(), WorldError>;
        make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError>;
        put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>);
        put_contacts(&mut self, contacts: &InitialContacts, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;
    }
}

/// Stand-ins for a batch of worlds.
pub(crate) mod worlds {
    use super::{Answers, BodyRows, CancelToken, Compiled, Context, GpuWorld, Host, Query, Snapshot, WorldError};
    use crate::host::Untaken;

    /// Stand-in for many worlds on a GPU; no value exists without the feature `gpu`.
    #[derive(Debug)]
    pub enum GpuWorlds {}

    impl GpuWorlds {
        absent! {
            pub bodies(&mut self) -> Result<BodyRows, WorldError>;
            pub context(&self) -> &Context;
            pub device_bytes(&self) -> u64;
            pub dispatches(&self) -> u32;
            pub hashes(&mut self) -> Result<Vec<u64>, WorldError>;
            pub host(&self, world: usize) -> &Host;
            pub host_mut(&mut self, world: usize) -> &mut Host;
            pub len(&self) -> usize;
            pub one(&mut self, world: usize) -> GpuWorld;
            pub poll(&mut self) -> Result<(), WorldError>;
            pub query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError>;
            pub query_repeats(&self) -> u64;
            pub replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError>;
            pub restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError>;
            pub set_cancel_token(&mut self, token: &CancelToken);
            pub set_contact_limit(&mut self, limit: usize);
            pub step(&mut self, which: &[usize]) -> Result<(), WorldError>;
        }
    }
}
