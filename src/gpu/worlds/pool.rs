//! Small worlds of different owners, which step by the same dispatches when they step at the same time. What the device has
//! of them lies in a pool; what the host has of each is with whoever has the world, who asks of it what can be asked of a
//! world alone ([`GpuWorld`]), and comes to the same bits: in a pool, in any place of it, beside anybody, or out of it.
//!
//! Worlds in pools are strict. One that has no room runs its step again, alone; one that comes to need more than a small
//! world may have is told to move out, and goes on as a world of its own. Others notice neither.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::LEAST_CONTACTS;
use super::member::Member;
use super::places::{Place, Places, Seat, step_alike};
use super::population::One;
use super::strict::Attempt;
use crate::command::Command;
use crate::event::Event;
use crate::gpu::clock::Clock;
use crate::gpu::room::Room;
use crate::gpu::{Context, DeviceError, GpuWorld, estimate_contacts};
pub use crate::host::Parts;
use crate::host::{Host, Rewound, WorldEngine, world_verbs};
use crate::population::{Journal, owner};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::{Compiled, Settings};
use crate::snapshot::Snapshot;
use crate::types::Pose;
use crate::world::WorldError;

/// Contacts up to which a world is small: so many at most have all their sweeps run by one workgroup, and every place of a
/// pool has room for as many as the busiest needs.
const MOST_CONTACTS: u64 = 2048;
/// Likewise bodies, shapes and joints, with all that its emitters make: four contacts a shape are reckoned with.
const MOST_PARTS: usize = 512;
/// Likewise events of a step, which all come back from the device with each.
const MOST_EVENTS: u32 = 256;
/// Events for which a place has room at first.
const FIRST_EVENTS: u32 = 32;
/// Places of a pool at first. There are twice as many each time that all are taken.
const FIRST_PLACES: usize = 4;
/// And at most: as many as have a turn together.
const MOST_PLACES: usize = 64;
/// Storage buffers that kernels for many worlds use.
const TABLES: u32 = 10;
/// What a layer costs however little is in it, in bodies and contacts: about a workgroup.
const LAYER: f64 = 64.0;

impl Parts {
    /// What there are in a world that began as `origin`, or what its emitters will make of that if it is more.
    fn of(compiled: &Compiled, origin: &Compiled) -> Self {
        let (now, first, more) = (Room::of(compiled), Room::of(origin), origin.script.most);
        Self {
            bodies: now.bodies.max(first.bodies + more.bodies),
            shapes: now.shapes.max(first.shapes + more.shapes),
            joints: now.joints.max(first.joints + more.joints),
        }
    }

    fn are_few(self) -> bool {
        self.bodies.max(self.shapes).max(self.joints) <= MOST_PARTS
    }

    fn and(self, more: Self) -> Self {
        Self { bodies: self.bodies + more.bodies, shapes: self.shapes + more.shapes, joints: self.joints + more.joints }
    }
}

/// So many leave a quarter of the room for the next step, as in a world alone.
fn are_few(contacts: u64) -> bool {
    contacts * 4 <= MOST_CONTACTS * 3
}

impl Member {
    fn parts(&self) -> Parts {
        Parts::of(&self.host.compiled, self.host.origin.as_deref().unwrap_or(&self.host.compiled))
    }

    /// What it has a part in a step of several worlds for: a layer, bodies, contacts.
    fn weight(&self) -> f64 {
        let contacts = self.known.map_or(0, |known| known.contacts);
        LAYER + self.host.compiled.bodies.len() as f64 + contacts as f64
    }

    pub(super) fn is_small(&self) -> bool {
        self.parts().are_few()
            && self.event_need <= MOST_EVENTS
            && self.known.is_none_or(|known| are_few(known.contacts))
    }
}

/// A small world that is to have a place.
#[derive(Debug)]
pub struct Newcomer {
    member: Member,
    /// As it is; none if it is at its start.
    now: Option<Snapshot>,
}

impl Newcomer {
    /// A world that begins like this, if it can be in a pool on a device.
    #[must_use]
    pub fn at_start(context: &Context, compiled: &Compiled) -> Option<Self> {
        let limits = context.device().limits();
        let small = limits.max_storage_buffers_per_shader_stage >= TABLES
            && Parts::of(compiled, compiled).are_few()
            && u64::from(estimate_contacts(compiled, LEAST_CONTACTS, LEAST_CONTACTS)) <= MOST_CONTACTS;
        small.then(|| Self { member: Member::new(compiled.clone()), now: None })
    }

    /// A world that has been on its own, if it is small. Waits for the device.
    ///
    /// # Errors
    /// If that is lost.
    pub fn of(world: &mut GpuWorld) -> Result<Option<Self>, WorldError> {
        let Some(mut newcomer) = Self::at_start(world.context(), world.compiled()) else { return Ok(None) };
        let member = &mut newcomer.member;
        let now = world.snapshot()?;
        // With what the snapshot knows of the population.
        member.host.take_over(&world.host);
        if !member.is_small() || !are_few((now.contacts.len() + now.sleeping.len()) as u64) {
            return Ok(None);
        }
        member.host.take_reports(&mut world.host);
        newcomer.now = Some(now);
        Ok(Some(newcomer))
    }
}

/// Where small worlds are together on the device. Its memory is given back when the last of them has gone.
#[derive(Debug)]
pub struct Pool {
    /// Of one of them; the others' ask for the same stages.
    settings: Settings,
    places: Mutex<Places>,
    /// Seconds of a series of late, as bits.
    seconds: AtomicU64,
}

/// A small world, which shares its dispatches.
#[derive(Debug)]
pub struct PooledWorld {
    pool: Arc<Pool>,
    place: usize,
    member: Box<Member>,
}

/// How a step went.
#[derive(Debug)]
pub enum Outcome {
    /// It is done.
    Done,
    /// The world is as it was before it, and not small any more: it is to move out.
    Outgrown,
    /// The world is as it was before it, unless the device is lost.
    Failed(WorldError),
}

/// A step of several worlds, to be submitted.
#[derive(Debug)]
pub struct Recorded {
    /// None if none of them has anything to do.
    pub commands: Option<wgpu::CommandBuffer>,
    /// Worlds that take part in the dispatches.
    pub worlds: usize,
    /// Dispatches that they share.
    pub dispatches: u32,
    attempt: Attempt,
    /// What each has a part for.
    weights: Vec<f64>,
}

/// How a step of several worlds went.
#[derive(Debug)]
pub struct Ended {
    /// One a world.
    pub outcomes: Vec<Outcome>,
    /// For which the device was busy, if it can tell.
    pub seconds: Option<f64>,
    /// Dispatches that the worlds shared.
    pub dispatches: u32,
    /// What part of the time each world has to answer for.
    pub parts: Vec<f64>,
}

impl Ended {
    /// Nobody has done the step.
    #[must_use]
    pub fn of_nobody(worlds: usize, error: &WorldError) -> Self {
        let outcomes = (0..worlds).map(|_| Outcome::Failed(again(error))).collect();
        Self { outcomes, seconds: None, dispatches: 0, parts: vec![0.0; worlds] }
    }
}

/// The same error for another world.
#[must_use]
pub fn again(error: &WorldError) -> WorldError {
    match error {
        WorldError::Device(error) => error.clone().into(),
        error => WorldError::Kernel(error.to_string()),
    }
}

fn seats<'a>(worlds: &'a mut [&mut PooledWorld]) -> Vec<Seat<'a>> {
    worlds.iter_mut().map(|world| Seat { place: world.place, member: &mut world.member }).collect()
}

impl Pool {
    /// A pool with one world.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn open(context: &Context, newcomer: &Newcomer) -> Result<PooledWorld, WorldError> {
        let mut members = [newcomer.member.clone()];
        let mut places = Places::new(context, &mut members, FIRST_PLACES - 1, FIRST_EVENTS)?;
        places.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        let [mut member] = members;
        if let Some(now) = &newcomer.now {
            One { places: &mut places, place: 0, member: &mut member }.restore(now)?;
        }
        let pool = Self {
            settings: member.host.compiled.settings,
            places: Mutex::new(places),
            seconds: AtomicU64::new(f64::INFINITY.to_bits()),
        };
        Ok(PooledWorld { pool: Arc::new(pool), place: 0, member: Box::new(member) })
    }

    /// One world more. None if it asks for other stages, or there is no place left.
    ///
    /// # Errors
    /// If it does not fit the device, beside those that there are; then nothing has changed.
    pub fn admit(self: &Arc<Self>, newcomer: &Newcomer) -> Result<Option<PooledWorld>, WorldError> {
        if !step_alike(&self.settings, &newcomer.member.host.compiled.settings) {
            return Ok(None);
        }
        let places = &mut *self.lock();
        let free = places.all.iter().position(|place| place.extent.is_none());
        let place = match free {
            Some(place) => place,
            None if places.all.len() >= MOST_PLACES => return Ok(None),
            None => {
                let place = places.all.len();
                places.add(place)?;
                place
            }
        };
        let mut member = Box::new(newcomer.member.clone());
        let settled = places.settle(place, &mut member, newcomer.now.as_ref());
        if settled.is_err() {
            places.all[place] = Place::default();
        }
        settled.map(|()| Some(PooledWorld { pool: self.clone(), place, member }))
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device it lives on.
    pub fn context(&self) -> Context {
        self.lock().context().clone()
    }

    /// Seconds that a step of those that took part took of late, all together; infinity before the first.
    pub fn seconds(&self) -> f64 {
        f64::from_bits(self.seconds.load(Ordering::Relaxed))
    }

    /// Learns what a step of those that took part took.
    pub fn took(&self, seconds: f64) {
        let before = self.seconds();
        // One that was held up says little of the next.
        let now = if before.is_finite() { 0.7 * before + 0.3 * seconds.min(2.0 * before) } else { seconds };
        self.seconds.store(now.to_bits(), Ordering::Relaxed);
    }

    /// Records a step of some of its worlds.
    ///
    /// # Errors
    /// If the device is lost; then all of them are.
    pub fn record_step(&self, worlds: &mut [&mut PooledWorld]) -> Result<Recorded, WorldError> {
        let places = &mut *self.lock();
        places.poll()?;
        let mut seats = seats(worlds);
        let mut attempt = Attempt::new(true);
        for seat in &mut seats {
            places.tell_news(seat.place, seat.member);
            let outcome = if let Err(error) = seat.member.host.limits.check() {
                Some(Outcome::Failed(error))
            } else if seat.member.rests() {
                seat.member.host.steps = seat.member.host.steps.saturating_add(1);
                Some(Outcome::Done)
            } else if !seat.member.is_small() {
                Some(Outcome::Outgrown)
            } else {
                match places.one(seat).emit_due(None) {
                    Ok(()) => None,
                    Err(error @ WorldError::Device(_)) => return Err(error),
                    // All is as it was.
                    Err(WorldError::TooLarge { .. }) => Some(Outcome::Outgrown),
                    Err(error) => Some(Outcome::Failed(error)),
                }
            };
            attempt.push(seat.member, outcome);
        }
        let commands = places.record_fitting(&mut seats, &mut attempt)?;
        let running = attempt.running();
        let weight = |(seat, running): (&Seat, &bool)| if *running { seat.member.weight() } else { 0.0 };
        let weights = seats.iter().zip(&running).map(weight).collect();
        let worlds = running.iter().filter(|running| **running).count();
        Ok(Recorded { commands, worlds, dispatches: attempt.dispatches, attempt, weights })
    }

    /// Ends a step once the device has done what was recorded, if it has. Those that had no room run it again, with more,
    /// and nobody beside them.
    pub fn end_recorded(
        &self,
        worlds: &mut [&mut PooledWorld],
        mut recorded: Recorded,
        ran: Result<(), DeviceError>,
    ) -> Ended {
        let places = &mut *self.lock();
        let attempt = &mut recorded.attempt;
        let ended = ran.map_err(WorldError::from).and_then(|()| places.run_until_all_fit(&mut seats(worlds), attempt));
        let outcome = |outcome: Option<Outcome>| match (outcome, &ended) {
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Outcome::Done,
            (None, Err(error)) => Outcome::Failed(again(error)),
        };
        let sum: f64 = recorded.weights.iter().sum();
        Ended {
            dispatches: recorded.attempt.dispatches,
            outcomes: recorded.attempt.outcomes.into_iter().map(outcome).collect(),
            seconds: places.clock.as_mut().and_then(Clock::take),
            parts: recorded.weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { 0.0 }).collect(),
        }
    }
}

impl Places {
    /// Makes so many places more, all empty.
    fn add(&mut self, more: usize) -> Result<(), WorldError> {
        let count = self.all.len() + more;
        if self.engine.grow_worlds(u32::try_from(count).unwrap_or(u32::MAX))? {
            self.all.resize_with(count, Place::default);
            self.bind();
        }
        Ok(())
    }
}

impl Drop for PooledWorld {
    /// Its place is free.
    fn drop(&mut self) {
        let places = &mut *self.pool.lock();
        places.all[self.place] = Place::default();
        places.turn = None;
    }
}

impl PooledWorld {
    world_verbs!();

    fn host(&self) -> &Host {
        &self.member.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.member.host
    }

    /// None: poses are on the device.
    #[allow(clippy::unused_self, reason = "as of the other worlds")]
    fn stays_by(&self, _slot: usize, _command: Command) -> Option<Pose> {
        None
    }

    /// Does something with the world in its place.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T {
        what(&mut One { places: &mut self.pool.lock(), place: self.place, member: &mut self.member })
    }

    /// Where it is.
    #[must_use]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The device it lives on.
    #[must_use]
    pub fn context(&self) -> Context {
        self.pool.context()
    }

    /// Whether it is still small with so much more.
    #[must_use]
    pub fn holds(&self, more: Parts) -> bool {
        self.member.parts().and(more).are_few()
    }

    /// The same world out of the pool, on its own. This one is to be dropped then. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device, or that is lost; then nothing has changed.
    pub fn move_out(&mut self) -> Result<GpuWorld, WorldError> {
        let (snapshot, context) = (self.snapshot()?, self.context());
        let member = &mut *self.member;
        let mut world = GpuWorld::from_compiled(&context, member.host.compiled.clone(), None)?;
        world.host.take_over(&member.host);
        world.restore(&snapshot)?;
        world.host.take_reports(&mut member.host);
        Ok(world.with_clock())
    }

    /// Events since this was last called, if the scene wants them.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.member.host.events)
    }

    /// As [`World::query_within`](crate::World::query_within).
    ///
    /// # Errors
    /// As there.
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        let count = bounds.batch(queries.len(), self.member.host.compiled.shapes.len());
        let queries: Vec<_> = queries[..count].iter().map(|query| (self.place, query.clone())).collect();
        let Host { compiled, population, .. } = &self.member.host;
        self.pool.lock().query(&queries, bounds.found, |_, shape| owner(compiled, population.as_ref(), shape))
    }

    /// The state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.with_engine(|engine| engine.snapshot())
    }

    /// As [`World::load_with`](crate::World::load_with). False, and nothing has changed, if the world is not small then.
    ///
    /// # Errors
    /// As there.
    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<bool, WorldError> {
        let host = &self.member.host;
        let relived = if journal.is_empty() { None } else { Some(host.relived_from(bytes, journal)?) };
        let compiled = relived.as_ref().map_or(&host.compiled, Rewound::compiled);
        let snapshot = Snapshot::from_bytes(bytes, compiled.fingerprint())?;
        let contacts = snapshot.contacts.len() + snapshot.sleeping.len();
        if !Parts::of(compiled, &host.compiled).are_few() || !are_few(contacts as u64) {
            return Ok(false);
        }
        self.with_engine(|engine| {
            relived.map_or(Ok(()), |relived| engine.become_another(relived))?;
            engine.restore(&snapshot)
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
