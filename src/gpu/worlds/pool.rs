//! Pool of small worlds with different owners (sessions of the service) that step by the same dispatches when they step
//! at the same time. The pool holds the device tables; each owner holds the host-side state and can do with the world
//! what it could with a [`GpuWorld`], with bitwise equal results: in any slot, beside any other worlds, or outside of
//! the pool.
//!
//! Pooled worlds are strict. A world that overflows repeats its step on its own; one that exceeds the size of a small
//! world is asked to move out, and continues as a world of its own. Other worlds are unaffected by either.

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

/// Maximum contacts of a small world: up to that many, the fused kernel runs all its sweeps, and every slot has the
/// capacity of the busiest world.
const MOST_CONTACTS: u64 = 2048;
/// Maximum bodies, shapes or joints of a small world, including those its emitters will create; contacts are estimated
/// as four per shape.
const MOST_PARTS: usize = 512;
/// Maximum events per step of a small world; all of them are read back with every step.
const MOST_EVENTS: u32 = 256;
/// Initial event capacity of a slot.
const FIRST_EVENTS: u32 = 32;
/// Initial number of slots; doubled whenever all are taken.
const FIRST_PLACES: usize = 4;
/// Maximum number of slots, and so of worlds in one dispatch.
const MOST_PLACES: usize = 64;
/// Number of storage buffers that kernels for many worlds use.
const TABLES: u32 = 10;
/// Fixed cost of a layer, in bodies and contacts: about one workgroup.
const LAYER: f64 = 64.0;

impl Parts {
    /// Returns the present size of a world, or the size its emitters will give to its original scene if that is larger.
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

/// Returns true if this many contacts leave a quarter of the capacity free for the next step, as a single world
/// requires.
fn are_few(contacts: u64) -> bool {
    contacts * 4 <= MOST_CONTACTS * 3
}

impl Member {
    fn parts(&self) -> Parts {
        Parts::of(&self.host.compiled, self.host.origin.as_deref().unwrap_or(&self.host.compiled))
    }

    /// Returns the cost share of the world in a step of several: its layer, bodies and contacts.
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

/// A small world that can be admitted to a pool.
#[derive(Debug)]
pub struct Newcomer {
    member: Member,
    /// Its state; `None` if it is at its start.
    now: Option<Snapshot>,
}

impl Newcomer {
    /// Creates a newcomer from a scene, if it is small and the device supports pools.
    #[must_use]
    pub fn at_start(context: &Context, compiled: &Compiled) -> Option<Self> {
        let limits = context.device().limits();
        let small = limits.max_storage_buffers_per_shader_stage >= TABLES
            && Parts::of(compiled, compiled).are_few()
            && u64::from(estimate_contacts(compiled, LEAST_CONTACTS, LEAST_CONTACTS)) <= MOST_CONTACTS;
        small.then(|| Self { member: Member::new(compiled.clone()), now: None })
    }

    /// Creates a newcomer from a world of its own, if it is small. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn of(world: &mut GpuWorld) -> Result<Option<Self>, WorldError> {
        let Some(mut newcomer) = Self::at_start(world.context(), world.compiled()) else { return Ok(None) };
        let member = &mut newcomer.member;
        let now = world.snapshot()?;
        // Includes the population changes in the snapshot.
        member.host.take_over(&world.host);
        if !member.is_small() || !are_few((now.contacts.len() + now.sleeping.len()) as u64) {
            return Ok(None);
        }
        member.host.take_reports(&mut world.host);
        newcomer.now = Some(now);
        Ok(Some(newcomer))
    }
}

/// Device tables of small worlds that step together. Freed when the last of them is dropped.
#[derive(Debug)]
pub struct Pool {
    /// Settings of one of them; those of the others run the same stages.
    settings: Settings,
    places: Mutex<Places>,
    /// Smoothed duration of a step, in seconds, as bits.
    seconds: AtomicU64,
}

/// A small world that shares its dispatches with others.
#[derive(Debug)]
pub struct PooledWorld {
    pool: Arc<Pool>,
    place: usize,
    member: Box<Member>,
}

/// Result of a world's step.
#[derive(Debug)]
pub enum Outcome {
    /// The step is done.
    Done,
    /// The step was undone, as the world is no longer small: it must move out.
    Outgrown,
    /// The step was undone, unless the device is lost.
    Failed(WorldError),
}

/// A recorded step of several worlds, to be submitted.
#[derive(Debug)]
pub struct Recorded {
    /// Command buffer; `None` if no world has anything to do.
    pub commands: Option<wgpu::CommandBuffer>,
    /// Number of worlds in the dispatches.
    pub worlds: usize,
    /// Number of dispatches that they share.
    pub dispatches: u32,
    attempt: Attempt,
    /// Cost share of each world.
    weights: Vec<f64>,
}

/// Results of a step of several worlds.
#[derive(Debug)]
pub struct Ended {
    /// Result of each world.
    pub outcomes: Vec<Outcome>,
    /// Device time in seconds, if the device supports timestamps.
    pub seconds: Option<f64>,
    /// Number of dispatches that the worlds shared.
    pub dispatches: u32,
    /// Fraction of the time attributed to each world.
    pub parts: Vec<f64>,
}

impl Ended {
    /// Returns the results of a step that failed for all worlds.
    #[must_use]
    pub fn of_nobody(worlds: usize, error: &WorldError) -> Self {
        let outcomes = (0..worlds).map(|_| Outcome::Failed(again(error))).collect();
        Self { outcomes, seconds: None, dispatches: 0, parts: vec![0.0; worlds] }
    }
}

/// Copies an error, for another world.
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
    /// Creates a pool with one world.
    ///
    /// # Errors
    /// If the world does not fit the device.
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

    /// Adds a world. Returns `None` if its settings run other stages or all slots are taken.
    ///
    /// # Errors
    /// If it does not fit the device beside the others; then nothing is changed.
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

    /// Returns the device of the pool.
    pub fn context(&self) -> Context {
        self.lock().context().clone()
    }

    /// Returns the smoothed duration of recent steps, over all worlds that took part, in seconds; infinity before the
    /// first.
    pub fn seconds(&self) -> f64 {
        f64::from_bits(self.seconds.load(Ordering::Relaxed))
    }

    /// Records the duration of a step, in seconds.
    pub fn took(&self, seconds: f64) {
        let before = self.seconds();
        // Clamped to twice the average: a delayed step says little about the next.
        let now = if before.is_finite() { 0.7 * before + 0.3 * seconds.min(2.0 * before) } else { seconds };
        self.seconds.store(now.to_bits(), Ordering::Relaxed);
    }

    /// Records a step of some of its worlds.
    ///
    /// # Errors
    /// If the device is lost, for all of them.
    pub fn record_step(&self, worlds: &mut [&mut PooledWorld]) -> Result<Recorded, WorldError> {
        let places = &mut *self.lock();
        places.poll()?;
        let mut seats = seats(worlds);
        let mut attempt = Attempt::new(true);
        for seat in &mut seats {
            places.deliver_readbacks(seat.place, seat.member);
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
                    // Nothing was changed.
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

    /// Ends a recorded step after the device has run it, or failed to. Worlds that overflowed repeat it with larger
    /// buffers, without the others.
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
    /// Adds empty slots.
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
    /// Frees the slot.
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

    /// Returns `None`: poses are on the device.
    #[allow(clippy::unused_self, reason = "as of the other worlds")]
    fn stays_by(&self, _slot: usize, _command: Command) -> Option<Pose> {
        None
    }

    /// Calls a function on the world in its slot.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T {
        what(&mut One { places: &mut self.pool.lock(), place: self.place, member: &mut self.member })
    }

    /// Returns the pool of the world.
    #[must_use]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Returns the device of the world.
    #[must_use]
    pub fn context(&self) -> Context {
        self.pool.context()
    }

    /// Returns true if the world stays small after these additions.
    #[must_use]
    pub fn holds(&self, more: Parts) -> bool {
        self.member.parts().and(more).are_few()
    }

    /// Creates a world of its own that continues this one, which must then be dropped. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device, or the device is lost; then nothing is changed.
    pub fn move_out(&mut self) -> Result<GpuWorld, WorldError> {
        let (snapshot, context) = (self.snapshot()?, self.context());
        let member = &mut *self.member;
        let mut world = GpuWorld::from_compiled(&context, member.host.compiled.clone(), None)?;
        world.host.take_over(&member.host);
        world.restore(&snapshot)?;
        world.host.take_reports(&mut member.host);
        Ok(world.with_clock())
    }

    /// Returns the events since the last call, if the scene wants them.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.member.host.events)
    }

    /// Answers a batch of queries within bounds, as [`World::query_within`](crate::World::query_within) does.
    ///
    /// # Errors
    /// Those of [`World::query_within`](crate::World::query_within).
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        let count = bounds.batch(queries.len(), self.member.host.compiled.shapes.len());
        let queries: Vec<_> = queries[..count].iter().map(|query| (self.place, query.clone())).collect();
        let Host { compiled, population, .. } = &self.member.host;
        self.pool.lock().query(&queries, bounds.found, |_, shape| owner(compiled, population.as_ref(), shape))
    }

    /// Returns the state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.with_engine(|engine| engine.snapshot())
    }

    /// Loads a saved state, as [`World::load_with`](crate::World::load_with) does. Returns false, and changes nothing,
    /// if the world would not be small.
    ///
    /// # Errors
    /// Those of [`World::load_with`](crate::World::load_with).
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
