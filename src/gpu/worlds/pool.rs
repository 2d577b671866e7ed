//! Pool of small worlds with different owners (sessions of the service) that step by the same dispatches when they step
//! at the same time. The pool holds the device tables; each owner holds the host-side state and can do with the world
//! what it could with a [`GpuWorld`], with bitwise equal results: in any slot, beside any other worlds, or outside of
//! the pool.
//!
//! Pooled worlds are strict. A world that overflows repeats its step on its own; one that exceeds the size of a small
//! world is asked to move out, and continues as a world of its own. Other worlds are unaffected by either.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::MIN_CONTACTS;
use super::population::One;
use super::slots::{BatchSlot, BatchSlots, SlotRef, StepKind};
use super::strict::Attempt;
pub use super::world_host::StepOutcome;
use super::world_host::WorldHost;
use crate::command::Command;
use crate::event::Event;
use crate::explosion::Explosion;
use crate::gpu::capacity::Capacity;
use crate::gpu::clock::Clock;
use crate::gpu::{Context, DeviceError, GpuWorld, estimate_contacts};
use crate::host::{Host, Rewound, WorldEngine, world_verbs};
use crate::population::{Journal, owner};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::Compiled;
pub use crate::scene::PartCounts;
use crate::snapshot::Snapshot;
use crate::types::Pose;
use crate::wind::Wind;
use crate::world_error::WorldError;

/// Maximum contacts of a small world: up to that many, the fused kernel runs all its sweeps, and every slot has the
/// capacity of the busiest world.
const MAX_CONTACTS: u64 = 2048;
/// Maximum bodies, shapes or joints of a small world, including those its emitters will create; contacts are estimated
/// as four per shape.
const MAX_PARTS: usize = 512;
/// Maximum events per step of a small world; all of them are read back with every step.
const MAX_EVENTS: u32 = 256;
/// Initial event capacity of a slot.
const INITIAL_EVENTS: u32 = 32;
/// Initial number of slots; doubled whenever all are taken.
const INITIAL_SLOTS: usize = 4;
/// Maximum number of slots, and so of worlds in one dispatch.
const MAX_SLOTS: usize = 64;
/// Number of storage buffers that kernels for many worlds use.
const TABLES: u32 = 10;
/// Fixed cost of a layer, in bodies and contacts: about one workgroup.
const LAYER: f64 = 64.0;

impl PartCounts {
    /// Returns the present size of a world, or the size its emitters will give to its original scene if that is larger.
    fn of(compiled: &Compiled, origin: &Compiled) -> Self {
        let (now, first, more) = (Capacity::of(compiled), Capacity::of(origin), origin.script.most);
        Self {
            bodies: now.bodies.max(first.bodies + more.bodies),
            shapes: now.shapes.max(first.shapes + more.shapes),
            joints: now.joints.max(first.joints + more.joints),
        }
    }

    fn are_few(self) -> bool {
        self.bodies.max(self.shapes).max(self.joints) <= MAX_PARTS
    }

    fn and(self, more: Self) -> Self {
        Self { bodies: self.bodies + more.bodies, shapes: self.shapes + more.shapes, joints: self.joints + more.joints }
    }
}

/// Returns true if this many contacts leave a quarter of the capacity free for the next step, as a single world
/// requires.
fn are_few(contacts: u64) -> bool {
    contacts * 4 <= MAX_CONTACTS * 3
}

impl WorldHost {
    fn parts(&self) -> PartCounts {
        PartCounts::of(&self.host.compiled, self.host.origin.as_deref().unwrap_or(&self.host.compiled))
    }

    /// Returns the cost share of the world in a step of several: its layer, bodies and contacts.
    fn weight(&self) -> f64 {
        LAYER + self.host.compiled.bodies.len() as f64 + self.wanted_contacts() as f64
    }

    pub(super) fn is_small(&self) -> bool {
        self.parts().are_few() && self.event_need <= MAX_EVENTS && are_few(self.wanted_contacts())
    }
}

/// A small world that can be admitted to a pool.
#[derive(Debug)]
pub struct PoolCandidate {
    world_host: WorldHost,
    /// Its state; `None` if it is at its start.
    now: Option<Snapshot>,
}

impl PoolCandidate {
    /// Creates a newcomer from a scene, if it is small and the device supports pools.
    #[must_use]
    pub fn at_start(context: &Context, compiled: &Compiled) -> Option<Self> {
        let limits = context.device().limits();
        let small = limits.max_storage_buffers_per_shader_stage >= TABLES
            && PartCounts::of(compiled, compiled).are_few()
            && u64::from(estimate_contacts(compiled, MIN_CONTACTS, MIN_CONTACTS)) <= MAX_CONTACTS;
        small.then(|| Self { world_host: WorldHost::new(Host::new(compiled.clone())), now: None })
    }

    /// Creates a newcomer from a world of its own, if it is small. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn of(world: &mut GpuWorld) -> Result<Option<Self>, WorldError> {
        let Some(mut candidate) = Self::at_start(world.context(), world.compiled()) else { return Ok(None) };
        let world_host = &mut candidate.world_host;
        let now = world.snapshot()?;
        // Includes the population changes in the snapshot.
        world_host.host.take_over(world.host());
        if !world_host.is_small() || !are_few((now.contacts.len() + now.sleeping.len()) as u64) {
            return Ok(None);
        }
        world_host.host.take_reports(world.host_mut());
        candidate.now = Some(now);
        Ok(Some(candidate))
    }
}

/// Device tables of small worlds that step together. Freed when the last of them is dropped.
#[derive(Debug)]
pub struct Pool {
    /// Stages of all of them.
    kind: StepKind,
    slots: Mutex<BatchSlots>,
    /// Smoothed duration of a step, in seconds, as bits.
    seconds: AtomicU64,
}

/// A small world that shares its dispatches with others.
#[derive(Debug)]
pub struct PooledWorld {
    pool: Arc<Pool>,
    slot: usize,
    world_host: Box<WorldHost>,
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
pub struct BatchStepOutcome {
    /// Result of each world.
    pub outcomes: Vec<StepOutcome>,
    /// Device time in seconds, if the device supports timestamps.
    pub seconds: Option<f64>,
    /// Number of dispatches that the worlds shared.
    pub dispatches: u32,
    /// Fraction of the time attributed to each world.
    pub parts: Vec<f64>,
}

impl BatchStepOutcome {
    /// Returns the results of a step that failed for all worlds.
    #[must_use]
    pub fn all_failed(worlds: usize, error: &WorldError) -> Self {
        let outcomes = (0..worlds).map(|_| StepOutcome::Failed(copy_error(error))).collect();
        Self { outcomes, seconds: None, dispatches: 0, parts: vec![0.0; worlds] }
    }
}

/// Copies an error, for another world.
#[must_use]
pub fn copy_error(error: &WorldError) -> WorldError {
    match error {
        WorldError::Device(error) => error.clone().into(),
        error => WorldError::Kernel(error.to_string()),
    }
}

fn slot_refs<'a>(worlds: &'a mut [&mut PooledWorld]) -> Vec<SlotRef<'a>> {
    worlds.iter_mut().map(|world| SlotRef { slot: world.slot, world_host: &mut world.world_host }).collect()
}

impl Pool {
    /// Creates a pool with one world.
    ///
    /// # Errors
    /// If the world does not fit the device.
    pub fn open(context: &Context, candidate: &PoolCandidate) -> Result<PooledWorld, WorldError> {
        let mut world_hosts = [candidate.world_host.clone()];
        let (kernels, more) = (context.kernels(true)?, INITIAL_SLOTS - 1);
        let mut slots = BatchSlots::new(context, kernels, &mut world_hosts, more, None, INITIAL_EVENTS)?;
        slots.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        let [mut world_host] = world_hosts;
        if let Some(now) = &candidate.now {
            One { slots: &mut slots, slot: 0, world_host: &mut world_host }.restore(now)?;
        }
        let pool = Self {
            kind: StepKind::of(&world_host.host.compiled),
            slots: Mutex::new(slots),
            seconds: AtomicU64::new(f64::INFINITY.to_bits()),
        };
        Ok(PooledWorld { pool: Arc::new(pool), slot: 0, world_host: Box::new(world_host) })
    }

    /// Adds a world. Returns `None` if its settings run other stages or all slots are taken.
    ///
    /// # Errors
    /// If it does not fit the device beside the others; then nothing is changed.
    pub fn admit(self: &Arc<Self>, candidate: &PoolCandidate) -> Result<Option<PooledWorld>, WorldError> {
        if !self.kind.is_of(&candidate.world_host.host.compiled) {
            return Ok(None);
        }
        let slots = &mut *self.lock();
        let free = slots.all.iter().position(|slot| slot.bounds.is_none());
        let slot = match free {
            Some(slot) => slot,
            None if slots.all.len() >= MAX_SLOTS => return Ok(None),
            None => {
                let slot = slots.all.len();
                slots.add(slot)?;
                slot
            }
        };
        let mut world_host = Box::new(candidate.world_host.clone());
        let inserted = slots.insert(slot, &mut world_host, candidate.now.as_ref());
        if inserted.is_err() {
            slots.all[slot] = BatchSlot::default();
        }
        inserted.map(|()| Some(PooledWorld { pool: self.clone(), slot, world_host }))
    }

    fn lock(&self) -> MutexGuard<'_, BatchSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn record_duration(&self, seconds: f64) {
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
        let slots = &mut *self.lock();
        slots.poll()?;
        let mut slot_refs = slot_refs(worlds);
        let mut attempt = Attempt::in_pool();
        for slot_ref in &mut slot_refs {
            slots.deliver_readbacks(slot_ref.slot, slot_ref.world_host);
            let outcome = if let Err(error) = slot_ref.world_host.host.limits.check() {
                Some(StepOutcome::Failed(error.into()))
            } else if let Err(error) = slots.one(slot_ref).begin_timed() {
                Some(StepOutcome::Failed(error))
            } else if slot_ref.world_host.is_idle() {
                slot_ref.world_host.host.steps = slot_ref.world_host.host.steps.saturating_add(1);
                Some(StepOutcome::Done)
            } else if !slot_ref.world_host.is_small() {
                Some(StepOutcome::Outgrown)
            } else {
                match slots.one(slot_ref).emit_due(None) {
                    Ok(()) => None,
                    Err(error @ WorldError::Device(_)) => return Err(error),
                    // Nothing was changed.
                    Err(WorldError::TooLarge { .. }) => Some(StepOutcome::Outgrown),
                    Err(error) => Some(StepOutcome::Failed(error)),
                }
            };
            attempt.push(slot_ref.world_host, outcome);
        }
        let commands = slots.record_fitting(&mut slot_refs, &mut attempt)?;
        let running = attempt.running();
        let weight = |(slot_ref, running): (&SlotRef, &bool)| if *running { slot_ref.world_host.weight() } else { 0.0 };
        let weights = slot_refs.iter().zip(&running).map(weight).collect();
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
    ) -> BatchStepOutcome {
        let slots = &mut *self.lock();
        let attempt = &mut recorded.attempt;
        let ended =
            ran.map_err(WorldError::from).and_then(|()| slots.run_until_all_fit(&mut slot_refs(worlds), attempt));
        let outcome = |outcome: Option<StepOutcome>| match (outcome, &ended) {
            (Some(outcome), _) => outcome,
            (None, Ok(())) => StepOutcome::Done,
            (None, Err(error)) => StepOutcome::Failed(copy_error(error)),
        };
        let sum: f64 = recorded.weights.iter().sum();
        BatchStepOutcome {
            dispatches: recorded.attempt.dispatches,
            outcomes: recorded.attempt.outcomes.into_iter().map(outcome).collect(),
            seconds: slots.clock.as_mut().and_then(Clock::take),
            parts: recorded.weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { 0.0 }).collect(),
        }
    }
}

impl BatchSlots {
    /// Adds empty slots.
    fn add(&mut self, more: usize) -> Result<(), WorldError> {
        let count = self.all.len() + more;
        if self.engine.grow_worlds(u32::try_from(count).unwrap_or(u32::MAX))? {
            self.all.resize_with(count, BatchSlot::default);
            self.bind();
        }
        Ok(())
    }
}

impl Drop for PooledWorld {
    /// Frees the slot.
    fn drop(&mut self) {
        let slots = &mut *self.pool.lock();
        slots.all[self.slot] = BatchSlot::default();
        slots.batch_step = None;
    }
}

impl PooledWorld {
    world_verbs!();

    fn host(&self) -> &Host {
        &self.world_host.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.world_host.host
    }

    /// Returns `None`: poses are on the device.
    #[allow(clippy::unused_self, reason = "as of the other worlds")]
    fn stays_by(&self, _slot: usize, _command: Command) -> Option<Pose> {
        None
    }

    /// Calls a function on the world in its slot.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T {
        what(&mut One { slots: &mut self.pool.lock(), slot: self.slot, world_host: &mut self.world_host })
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
    pub fn holds(&self, more: PartCounts) -> bool {
        self.world_host.parts().and(more).are_few()
    }

    /// Creates a world of its own that continues this one, which must then be dropped. Waits for the device.
    ///
    /// # Errors
    /// If it does not fit the device, or the device is lost; then nothing is changed.
    pub fn move_out(&mut self) -> Result<GpuWorld, WorldError> {
        let (snapshot, context) = (self.snapshot()?, self.context());
        let world_host = &mut *self.world_host;
        let mut world = GpuWorld::from_compiled(&context, world_host.host.compiled.clone(), None)?;
        world.host_mut().take_over(&world_host.host);
        world.restore(&snapshot)?;
        world.host_mut().take_reports(&mut world_host.host);
        Ok(world.with_clock())
    }

    /// Returns the events since the last call, if the scene wants them.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.world_host.host.events)
    }

    /// Answers a batch of queries within bounds, as [`World::query_within`](crate::World::query_within) does.
    ///
    /// # Errors
    /// Those of [`World::query_within`](crate::World::query_within).
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        let count = bounds.batch(queries.len(), self.world_host.host.compiled.shapes.len());
        let queries: Vec<_> = queries[..count].iter().map(|query| (self.slot, query.clone())).collect();
        let host = &self.world_host.host;
        let contains = |_, body| host.slot_of(body).is_ok();
        let body_of = |_, shape| owner(&host.compiled, host.population.as_ref(), shape);
        self.pool.lock().query(&queries, bounds.found, contains, body_of)
    }

    /// Returns the state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.with_engine(|engine| engine.snapshot())
    }

    /// Returns the number of commands for the next step ([`pending_commands`](crate::low_level::pending_commands)).
    #[must_use]
    pub fn pending_commands(&self) -> usize {
        self.world_host.host.commands.len()
    }

    /// Pushes bodies away from a point, as [`World::explode`](crate::World::explode) does. Waits for the device.
    ///
    /// # Errors
    /// If a value is out of range or the device is lost.
    pub fn explode(&mut self, explosion: &Explosion) -> Result<usize, WorldError> {
        explosion.check()?;
        let snapshot = self.snapshot()?;
        let host = &mut self.world_host.host;
        Ok(host.push(&explosion.pushes(&host.compiled, &snapshot.poses))?)
    }

    /// Lets a wind press on bodies in the next step, as [`World::apply_wind`](crate::World::apply_wind) does. Waits for
    /// the device.
    ///
    /// # Errors
    /// If a value is out of range or the device is lost.
    pub fn apply_wind(&mut self, wind: &Wind) -> Result<usize, WorldError> {
        wind.check()?;
        let snapshot = self.snapshot()?;
        let host = &mut self.world_host.host;
        Ok(host.push(&wind.pushes(&host.compiled, &snapshot.poses, &snapshot.states))?)
    }

    /// Loads a saved state, as [`World::load_with`](crate::World::load_with) does. Returns false, and changes nothing,
    /// if the world would not be small.
    ///
    /// # Errors
    /// Those of [`World::load_with`](crate::World::load_with).
    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<bool, WorldError> {
        let host = &self.world_host.host;
        let replayed = if journal.is_empty() { None } else { Some(host.replay_journal(bytes, journal)?) };
        let compiled = replayed.as_ref().map_or(&host.compiled, Rewound::compiled);
        let snapshot = Snapshot::from_bytes(bytes, compiled.fingerprint())?;
        let contacts = snapshot.contacts.len() + snapshot.sleeping.len();
        if !PartCounts::of(compiled, &host.compiled).are_few() || !are_few(contacts as u64) {
            return Ok(false);
        }
        self.with_engine(|engine| {
            replayed.map_or(Ok(()), |replayed| engine.reset_to(replayed))?;
            engine.restore(&snapshot)
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
