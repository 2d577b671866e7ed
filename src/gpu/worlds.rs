//! Many worlds on the GPU that are stepped by the same dispatches, with one layer of workgroups per world
//! ([`super::shader`], `batch.rs`).
//!
//! The tables of all worlds lie side by side in batch slots; the host-side state of a world is separate and may
//! have another owner ([`pool`]), so functions of slots take the worlds that they concern as arguments.
//! [`GpuWorlds`] owns both. One world alone is a batch of one, whose kernels do without layers.

mod in_flight;
pub mod pool;
mod population;
mod query;
mod slots;
mod state;
mod steps;
mod strict;
mod world_host;

pub use strict::StepStart;

use std::sync::Arc;

use super::kernel::Kernels;
use super::{Context, INITIAL_EVENTS};
use crate::body_rows::BodyRows;
use crate::cancel::CancelToken;
use crate::host::{Host, Untaken, WorldEngine};
use crate::population::owner;
use crate::query::{Answers, Query};
use crate::scene::Compiled;
use crate::snapshot::Snapshot;
use crate::world_error::WorldError;
pub(super) use in_flight::{BodyCenters, PoseCopy, SentPoses};
use population::One;
pub(super) use slots::{BatchSlots, LOT_ALONE, MIN_CONTACTS_ALONE};
use slots::{SlotRef, StepKind};
pub(super) use steps::BatchLayers;
pub(super) use strict::Attempt;
use world_host::WorldHost;

/// Maximum layers of a dispatch, and so of worlds.
const MAX_WORLDS: usize = 65_535;
/// Minimum contact capacity per world, and the unit by which it grows: worlds with a few bodies must cost little.
const MIN_CONTACTS: u64 = 64;
/// Initial event capacity of a step, over all worlds.
const INITIAL_EVENTS_OF_ALL: u32 = 1 << 20;

/// Batch of worlds on the GPU, with their host-side state.
#[derive(Debug)]
pub(crate) struct GpuWorlds {
    pub(super) slots: BatchSlots,
    /// Host-side state of each slot's world.
    pub(super) world_hosts: Vec<WorldHost>,
}

impl GpuWorlds {
    /// Creates a batch from scenes whose settings run the same stages.
    ///
    /// # Errors
    /// If the list is empty or too long, the settings differ in their stages, or the worlds do not fit the device.
    pub fn new(context: &Context, worlds: Vec<Compiled>) -> Result<Self, WorldError> {
        let mut world_hosts: Vec<_> = worlds.into_iter().map(|world| WorldHost::new(Host::new(world))).collect();
        let events = INITIAL_EVENTS_OF_ALL / u32::try_from(world_hosts.len().max(1)).unwrap_or(u32::MAX);
        let slots = BatchSlots::new(context, context.kernels(true)?, &mut world_hosts, 0, None, events)?;
        Ok(Self { slots, world_hosts })
    }

    /// Creates a batch of one, with kernels for a world alone. The contact capacity is estimated if `None`.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub(super) fn alone(
        context: &Context,
        kernels: Arc<Kernels>,
        host: Host,
        contacts: Option<u32>,
    ) -> Result<Self, WorldError> {
        let mut world_hosts = vec![WorldHost::new(host)];
        let slots = BatchSlots::new(context, kernels, &mut world_hosts, 0, contacts, INITIAL_EVENTS)?;
        Ok(Self { slots, world_hosts })
    }

    /// Returns the slots, and some worlds with theirs, each named once.
    pub(super) fn slots_and(&mut self, which: &[usize]) -> (&mut BatchSlots, Vec<SlotRef<'_>>) {
        let mut here: Vec<_> = self.world_hosts.iter_mut().map(Some).collect();
        let slot_ref = |&slot: &usize| Some(SlotRef { slot, world_host: here[slot].take()? });
        let slot_refs = which.iter().filter_map(slot_ref).collect();
        (&mut self.slots, slot_refs)
    }

    /// Returns the host-side state of a world. Panics, like all methods here, if there is no such world.
    pub fn host(&self, world: usize) -> &Host {
        &self.world_hosts[world].host
    }

    pub fn host_mut(&mut self, world: usize) -> &mut Host {
        &mut self.world_hosts[world].host
    }

    pub fn len(&self) -> usize {
        self.world_hosts.len()
    }

    pub fn context(&self) -> &Context {
        self.slots.context()
    }

    pub fn dispatches(&self) -> u32 {
        self.slots.dispatches()
    }

    pub fn device_bytes(&self) -> u64 {
        self.slots.device_bytes()
    }

    pub fn set_cancel_token(&mut self, token: &CancelToken) {
        self.world_hosts.iter_mut().for_each(|world_host| world_host.host.limits.set_token(token.clone()));
    }

    pub fn set_contact_limit(&mut self, limit: usize) {
        self.world_hosts.iter_mut().for_each(|world_host| world_host.host.limits.set_contacts(limit));
    }

    /// Advances some worlds, each named once, by one step with shared dispatches, without waiting for it unless several
    /// steps are already in flight. In strict mode, worlds that overflow repeat the step on their own until it fits; if
    /// that fails, no world has done the step.
    ///
    /// # Errors
    /// If the device is lost or does not allow a buffer as large as needed.
    pub fn step(&mut self, which: &[usize]) -> Result<(), WorldError> {
        self.make_way(which)?;
        let (slots, slot_refs) = self.slots_and(which);
        let stepped = slots.step(slot_refs);
        self.process_readbacks();
        stepped
    }

    /// Waits if necessary until a step of these worlds can be recorded.
    ///
    /// # Errors
    /// If the device is lost, or a world is cancelled.
    pub(super) fn make_way(&mut self, which: &[usize]) -> Result<(), WorldError> {
        let check = |&world: &usize| self.world_hosts[world].host.limits.check();
        which.iter().try_for_each(check)?;
        self.slots.make_way(|| which.iter().any(|world| check(world).is_err()))?;
        self.process_readbacks();
        Ok(())
    }

    /// Processes what has arrived, without waiting.
    pub fn poll(&mut self) -> Result<(), WorldError> {
        self.slots.poll()?;
        self.process_readbacks();
        Ok(())
    }

    /// Hands each world the results that have arrived for it.
    fn process_readbacks(&mut self) {
        for (slot, world_host) in self.world_hosts.iter_mut().enumerate() {
            self.slots.deliver_readbacks(slot, world_host);
        }
    }

    /// Returns access to one world in its slot.
    pub fn one(&mut self, world: usize) -> One<'_> {
        One { slots: &mut self.slots, slot: world, world_host: &mut self.world_hosts[world] }
    }

    /// Replaces one world by a new one at its start; other worlds are unaffected. Waits for the device.
    ///
    /// # Errors
    /// If it needs other stages than those of the batch, or does not fit the device; then nothing is changed.
    pub fn replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError> {
        if !StepKind::of(&self.world_hosts[world].host.compiled).is_of(&compiled) {
            let why = "it needs other stages than the batch: its settings or its contact rule differ";
            return Err(WorldError::Many(why.to_owned()));
        }
        // Results in flight belong to the old world.
        self.context().wait()?;
        self.poll()?;
        let mut world_host = WorldHost::new(Host::new(compiled));
        world_host.host.limits.clone_from(&self.world_hosts[world].host.limits);
        self.slots.insert(world, &mut world_host, None)?;
        self.world_hosts[world] = world_host;
        Ok(())
    }

    /// Answers a batch of queries about the current state of the worlds named. Waits for the device.
    ///
    /// # Errors
    /// The first query with a value out of range; or if the device is lost or the batch does not fit.
    pub fn query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
        let Self { slots, world_hosts } = self;
        let body_of = |query: usize, shape: u32| {
            let host = &world_hosts[queries[query].0].host;
            owner(&host.compiled, host.population.as_ref(), shape)
        };
        let contains = |world: usize, body| world_hosts[world].host.slot_of(body).is_ok();
        let answers = slots.query(queries, usize::MAX, contains, body_of)?;
        self.process_readbacks();
        Ok(answers)
    }

    /// Returns how often a batch, or a part of one, found more than fitted and was repeated. For tests.
    pub fn query_repeats(&self) -> u64 {
        self.slots.query_stats.repeats
    }

    /// Continues worlds from snapshots, bitwise. Waits for the device; other worlds are unaffected.
    pub fn restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError> {
        // All snapshots are checked before any world is changed.
        let mut others = Vec::new();
        for &(world, snapshot) in which {
            others.extend(self.host(world).rewound(snapshot)?.map(|other| (world, other)));
        }
        self.context().wait()?;
        self.poll()?;
        // Their earlier states have fitted before.
        for (world, other) in others {
            self.one(world).reset_to(other)?;
        }
        self.slots.make_room_for(which.iter().map(|(_, snapshot)| *snapshot))?;
        let mut encoder = self.slots.encoder();
        for &(world, snapshot) in which {
            self.one(world).resume(snapshot, untaken, Some(&mut encoder));
        }
        self.context().queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Returns poses and velocities of all worlds, in one download. Waits for the device.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        let rows = self.slots.bodies(&self.world_hosts)?;
        self.poll()?;
        Ok(rows)
    }

    /// Returns the hash of every world's state, in two downloads. Waits for the device.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        let rows = self.bodies()?;
        self.slots.hashes(&self.world_hosts, &rows)
    }
}
