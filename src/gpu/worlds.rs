//! Many worlds on the GPU that are stepped by the same dispatches, with one layer of workgroups per world
//! ([`super::shader`], `batch.rs`).
//!
//! The tables of all worlds lie side by side in batch slots; the host-side state of a world is separate and may be
//! owned by someone else ([`pool`]), so that slots are only ever asked together with the worlds concerned.
//! [`GpuWorlds`] owns both.

mod member;
mod places;
pub mod pool;
mod population;
mod query;
mod state;
mod steps;
mod strict;

use super::Context;
use crate::cancel::CancelToken;
use crate::host::{Host, Untaken, WorldEngine};
use crate::population::owner;
use crate::query::{Answers, Query};
use crate::scene::Compiled;
use crate::snapshot::Snapshot;
use crate::world::WorldError;
use crate::worlds::BodyRows;
use member::Member;
use places::{Places, Seat, step_alike};
use population::One;

/// Maximum layers of a dispatch, and so of worlds.
const MOST_WORLDS: usize = 65_535;
/// Minimum contact capacity per world, and the unit by which it grows: worlds with a few bodies must cost little.
const LEAST_CONTACTS: u64 = 64;
/// Initial event capacity of a step, over all worlds.
const FIRST_EVENTS_OF_ALL: u32 = 1 << 20;

/// Batch of worlds on the GPU, with their host-side state.
#[derive(Debug)]
pub(crate) struct GpuWorlds {
    places: Places,
    /// Host-side state of each slot's world.
    members: Vec<Member>,
}

impl GpuWorlds {
    /// Creates a batch from scenes whose settings run the same stages.
    ///
    /// # Errors
    /// If the list is empty or too long, the settings differ in their stages, or the worlds do not fit the device.
    pub fn new(context: &Context, members: Vec<Compiled>) -> Result<Self, WorldError> {
        let mut members: Vec<_> = members.into_iter().map(Member::new).collect();
        let events = FIRST_EVENTS_OF_ALL / u32::try_from(members.len().max(1)).unwrap_or(u32::MAX);
        let places = Places::new(context, &mut members, 0, events)?;
        Ok(Self { places, members })
    }

    /// Returns the host-side state of a world. Panics, like all methods here, if there is no such world.
    pub fn host(&self, world: usize) -> &Host {
        &self.members[world].host
    }

    pub fn host_mut(&mut self, world: usize) -> &mut Host {
        &mut self.members[world].host
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn context(&self) -> &Context {
        self.places.context()
    }

    pub fn dispatches(&self) -> u32 {
        self.places.dispatches()
    }

    pub fn device_bytes(&self) -> u64 {
        self.places.device_bytes()
    }

    pub fn set_cancel_token(&mut self, token: &CancelToken) {
        self.members.iter_mut().for_each(|member| member.host.limits.set_token(token.clone()));
    }

    pub fn set_contact_limit(&mut self, limit: usize) {
        self.members.iter_mut().for_each(|member| member.host.limits.set_contacts(limit));
    }

    /// Advances some worlds, each named once, by one step with shared dispatches, without waiting for it unless several
    /// steps are already in flight. In strict mode, worlds that overflow repeat the step on their own until it fits; if
    /// that fails, no world has done the step.
    ///
    /// # Errors
    /// If the device is lost or does not allow a buffer as large as needed.
    pub fn step(&mut self, which: &[usize]) -> Result<(), WorldError> {
        which.iter().try_for_each(|&world| self.members[world].host.limits.check())?;
        self.places.make_way(|| which.iter().any(|&world| self.members[world].host.limits.check().is_err()))?;
        self.hear();
        let mut here: Vec<_> = self.members.iter_mut().map(Some).collect();
        let seat = |&place: &usize| Some(Seat { place, member: here[place].take()? });
        let stepped = self.places.step(which.iter().filter_map(seat).collect());
        self.hear();
        stepped
    }

    /// Processes what has arrived, without waiting.
    pub fn poll(&mut self) -> Result<(), WorldError> {
        self.places.poll()?;
        self.hear();
        Ok(())
    }

    /// Hands each world the results that have arrived for it.
    fn hear(&mut self) {
        for (place, member) in self.members.iter_mut().enumerate() {
            self.places.deliver_readbacks(place, member);
        }
    }

    /// Returns access to one world in its slot.
    pub fn one(&mut self, world: usize) -> One<'_> {
        One { places: &mut self.places, place: world, member: &mut self.members[world] }
    }

    /// Replaces one world by a new one at its start; other worlds are unaffected. Waits for the device.
    ///
    /// # Errors
    /// If its settings run other stages than those of the batch, or it does not fit the device; then nothing is
    /// changed.
    pub fn replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError> {
        if !step_alike(&compiled.settings, &self.members[world].host.compiled.settings) {
            return Err(WorldError::Many("its settings need other stages than those of the batch".to_owned()));
        }
        // Results in flight belong to the old world.
        self.context().wait()?;
        self.poll()?;
        let mut member = Member::new(compiled);
        member.host.limits.clone_from(&self.members[world].host.limits);
        self.places.settle(world, &mut member, None)?;
        self.members[world] = member;
        Ok(())
    }

    /// Answers a batch of queries about the current state of the worlds named. Waits for the device.
    ///
    /// # Errors
    /// The first query with a value out of range; or if the device is lost or the batch does not fit.
    pub fn query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
        let Self { places, members } = self;
        let body_of = |query: usize, shape: u32| {
            let host = &members[queries[query].0].host;
            owner(&host.compiled, host.population.as_ref(), shape)
        };
        let answers = places.query(queries, usize::MAX, body_of)?;
        self.hear();
        Ok(answers)
    }

    /// Returns how often a batch, or a part of one, found more than fitted and was repeated. For tests.
    pub fn query_repeats(&self) -> u64 {
        self.places.query_repeats()
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
            self.one(world).become_another(other)?;
        }
        self.places.make_room_for(which.iter().map(|(_, snapshot)| *snapshot))?;
        let mut encoder = self.places.encoder();
        for &(world, snapshot) in which {
            self.one(world).resume(snapshot, untaken, Some(&mut encoder));
        }
        self.context().queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Returns poses and velocities of all worlds, in one download. Waits for the device.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        let rows = self.places.bodies(&self.members)?;
        self.poll()?;
        Ok(rows)
    }

    /// Returns the hash of every world's state, in two downloads. Waits for the device.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        let rows = self.bodies()?;
        self.places.hashes(&self.members, &rows)
    }
}
