//! Worlds on a GPU where the crate is built without the feature `gpu`: there are none, and no code for them. What holds
//! one of two backends is the same text for both builds, and the compiler leaves out its other arm.

use crate::body_view::{BodyTransform, BodyView};
use crate::cancel::CancelToken;
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::host::{Host, Parts, Recorder, WorldEngine};
use crate::population::{BodyId, Change, Population};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::Compiled;
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
        body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError>;
        context(&self) -> &Context;
        dispatches(&self) -> u32;
        population(&self) -> Option<&Population>;
        query(&mut self, queries: &[Query]) -> Result<Answers, WorldError>;
        query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError>;
        read_poses(&mut self) -> Result<Vec<Pose>, WorldError>;
        set_cancel_token(&mut self, token: CancelToken);
        stage_ms(&self) -> (&[(Stage, f64)], u64);
        step(&mut self) -> Result<(), WorldError>;
        step_profiled(&mut self) -> Result<(), WorldError>;
        take_events(&mut self) -> Result<Vec<Event>, WorldError>;
        transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError>;
        transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError>;
    }
}

/// Methods of the seam that are never called.
macro_rules! absent_engine {
    ($($name:ident(&$($mut:ident)? $this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => { $(
        fn $name(&$($mut)? $this $(, $argument: $type)*) $(-> $result)? {
            $(let _ = $argument;)*
            match *$this {}
        }
    )* };
}

impl WorldEngine for GpuWorld {
    absent_engine! {
        host(&self) -> &Host;
        host_mut(&mut self) -> &mut Host;
        has_room_for(&self, more: Parts) -> bool;
        is_limited(&self) -> bool;
        make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;
        follow(&mut self, change: &Change, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;
        clear_lists(&mut self);
        state(&mut self) -> Result<Snapshot, WorldError>;
        settle(&mut self) -> Result<(), WorldError>;
        make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError>;
        put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>);
    }
}

/// Many worlds.
pub(crate) mod worlds {
    use super::{Answers, BodyRows, CancelToken, Compiled, Context, GpuWorld, Host, Query, Snapshot, WorldError};
    use crate::host::Untaken;

    /// Many worlds on a GPU: there are none in a build without the feature `gpu`.
    #[derive(Debug)]
    pub enum GpuWorlds {}

    impl GpuWorlds {
        absent! {
            bodies(&mut self) -> Result<BodyRows, WorldError>;
            context(&self) -> &Context;
            device_bytes(&self) -> u64;
            dispatches(&self) -> u32;
            hashes(&mut self) -> Result<Vec<u64>, WorldError>;
            host(&self, world: usize) -> &Host;
            host_mut(&mut self, world: usize) -> &mut Host;
            len(&self) -> usize;
            one(&mut self, world: usize) -> GpuWorld;
            poll(&mut self) -> Result<(), WorldError>;
            query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError>;
            query_repeats(&self) -> u64;
            replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError>;
            restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError>;
            set_cancel_token(&mut self, token: &CancelToken);
            set_contact_limit(&mut self, limit: usize);
            step(&mut self, which: &[usize]) -> Result<(), WorldError>;
        }
    }
}
