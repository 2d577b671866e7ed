//! Many worlds on the GPU, stepped by the same dispatches: one layer of workgroups for each ([`super::many`]).
//!
//! What the device has of them lies side by side in [`Places`]; what the host has of each is its [`Member`]. Places need
//! the members that they are asked about, and no others: who has a place can be in anybody's hands. [`GpuWorlds`] has all.

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

/// Layers that a dispatch may have.
const MOST_WORLDS: usize = 65_535;
/// Contacts that a world has room for at least, and by which that room grows: worlds of a few bodies shall cost little.
const LEAST_CONTACTS: u64 = 64;
/// Events of a step for which a world has room at first, all worlds together.
const FIRST_EVENTS_OF_ALL: u32 = 1 << 20;

/// Many worlds on the GPU, all of them here.
#[derive(Debug)]
pub(crate) struct GpuWorlds {
    places: Places,
    /// One a place.
    members: Vec<Member>,
}

impl GpuWorlds {
    /// Worlds that differ in anything but the stages of their steps.
    ///
    /// # Errors
    /// If there are none or too many, their settings ask for other stages, or they do not fit the device.
    pub fn new(context: &Context, members: Vec<Compiled>) -> Result<Self, WorldError> {
        let mut members: Vec<_> = members.into_iter().map(Member::new).collect();
        let events = FIRST_EVENTS_OF_ALL / u32::try_from(members.len().max(1)).unwrap_or(u32::MAX);
        let places = Places::new(context, &mut members, 0, events)?;
        Ok(Self { places, members })
    }

    /// Host of a world that there is, like all below.
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

    /// Advances some worlds by one step, each of which there is and is given once, without waiting for it unless several
    /// are on their way. All of them share the dispatches. In strict mode a world that had no room runs the step again,
    /// alone, until it has; if that cannot be, nobody has done the step.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
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

    /// Learns what arrived, without waiting.
    pub fn poll(&mut self) -> Result<(), WorldError> {
        self.places.poll()?;
        self.hear();
        Ok(())
    }

    /// Lets each hear what has arrived for it.
    fn hear(&mut self) {
        for (place, member) in self.members.iter_mut().enumerate() {
            self.places.tell_news(place, member);
        }
    }

    /// A world in its place.
    pub fn one(&mut self, world: usize) -> One<'_> {
        One { places: &mut self.places, place: world, member: &mut self.members[world] }
    }

    /// Puts another world in the place of one, at its start. The others notice nothing. Waits for the device.
    ///
    /// # Errors
    /// If its settings ask for other stages than those of the others, or it does not fit the device; then nothing is done.
    pub fn replace(&mut self, world: usize, compiled: Compiled) -> Result<(), WorldError> {
        if !step_alike(&compiled.settings, &self.members[world].host.compiled.settings) {
            return Err(WorldError::Many("its settings ask for other stages than those of the others".to_owned()));
        }
        // What is on its way is of the one that was there.
        self.context().wait()?;
        self.poll()?;
        let mut member = Member::new(compiled);
        member.host.limits.clone_from(&self.members[world].host.limits);
        self.places.settle(world, &mut member, None)?;
        self.members[world] = member;
        Ok(())
    }

    /// Answers a batch of queries, each about a world that there is, as the worlds are now. Waits for the device.
    ///
    /// # Errors
    /// The first query with a value out of range; if the device is lost or has no room for the batch.
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

    /// Times that a batch, or a part of one, found more than there was room for, and was run again. For tests.
    pub fn query_repeats(&self) -> u64 {
        self.places.query_repeats()
    }

    /// Lets worlds go on from snapshots, to the same bits. Waits for the device; the other worlds notice nothing.
    pub fn restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError> {
        // All are looked at before any is changed.
        let mut others = Vec::new();
        for &(world, snapshot) in which {
            others.extend(self.host(world).rewound(snapshot)?.map(|other| (world, other)));
        }
        self.context().wait()?;
        self.poll()?;
        // For these there was room before.
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

    /// Poses and velocities of all worlds, in one download. Waits for the device.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        let rows = self.places.bodies(&self.members)?;
        self.poll()?;
        Ok(rows)
    }

    /// The hash of every world's state, in two downloads. Waits for the device.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        let rows = self.bodies()?;
        self.places.hashes(&self.members, &rows)
    }
}
