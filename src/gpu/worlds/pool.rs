//! Small worlds of different owners, which step by the same dispatches when they step at the same time. What the device has
//! of them lies in a pool; what the host has of each is with whoever has the world, who asks of it what can be asked of a
//! world alone ([`GpuWorld`]), and comes to the same bits: in a pool, in any place of it, beside anybody, or out of it.
//!
//! Worlds in pools are strict. One that has no room runs its step again, alone; one that comes to need more than a small
//! world may have is told to move out, and goes on as a world of its own. Others notice neither.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glam::Vec2;

use super::LEAST_CONTACTS;
use super::member::Member;
use super::places::{Place, Places, Seat, step_alike};
use super::population::One;
use super::steps::{Layers, Start, only, span};
use crate::command::{Command, CommandError, JointCommand};
use crate::event::Event;
use crate::gpu::clock::Clock;
use crate::gpu::population::Peopled;
use crate::gpu::room::Room;
use crate::gpu::{Context, DeviceError, GpuWorld, estimate_contacts};
use crate::population::{BodyId, Change, JointId, Journal, Population, joint_id, owner};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::{Body, Compiled, Joint, Settings, check_gravity};
use crate::snapshot::{Snapshot, SnapshotError};
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

/// A number of bodies, shapes and joints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Bodies.
    pub bodies: usize,
    /// Shapes, over all bodies.
    pub shapes: usize,
    /// Joints.
    pub joints: usize,
}

impl Parts {
    /// Bodies with their shapes, without joints.
    #[must_use]
    pub fn of_bodies(bodies: &[Body]) -> Self {
        Self { bodies: bodies.len(), shapes: bodies.iter().map(|body| body.shapes.len()).sum(), joints: 0 }
    }

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
        Parts::of(&self.compiled, self.origin.as_deref().unwrap_or(&self.compiled))
    }

    /// What it has a part in a step of several worlds for: a layer, bodies, contacts.
    fn weight(&self) -> f64 {
        let contacts = self.known.map_or(0, |known| known.contacts);
        LAYER + self.compiled.bodies.len() as f64 + contacts as f64
    }

    fn is_small(&self) -> bool {
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
        member.population.clone_from(&world.population);
        member.origin.clone_from(&world.origin);
        member.limits.clone_from(&world.limits);
        let now = world.snapshot()?;
        if !member.is_small() || !are_few((now.contacts.len() + now.sleeping.len()) as u64) {
            return Ok(None);
        }
        member.events = std::mem::take(&mut world.events);
        member.overflowed.clone_from(&world.overflowed);
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
    /// One a world, of those of which it is known.
    outcomes: Vec<Option<Outcome>>,
    starts: Vec<Start>,
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

impl Recorded {
    fn running(&self) -> Vec<bool> {
        self.outcomes.iter().map(Option::is_none).collect()
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
            settings: member.compiled.settings,
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
        if !step_alike(&self.settings, &newcomer.member.compiled.settings) {
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
        let mut recorded = Recorded {
            commands: None,
            worlds: 0,
            dispatches: 0,
            outcomes: Vec::new(),
            starts: Vec::new(),
            weights: Vec::new(),
        };
        for seat in &mut seats {
            places.tell_news(seat.place, seat.member);
            let outcome = if let Err(error) = seat.member.limits.check() {
                Some(Outcome::Failed(error))
            } else if seat.member.rests() {
                seat.member.steps = seat.member.steps.saturating_add(1);
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
            recorded.outcomes.push(outcome);
            recorded.starts.push(seat.member.start());
        }
        places.record_fitting(&mut seats, &mut recorded)?;
        let weight =
            |(seat, outcome): (&Seat, &Option<Outcome>)| if outcome.is_none() { seat.member.weight() } else { 0.0 };
        recorded.weights = seats.iter().zip(&recorded.outcomes).map(weight).collect();
        recorded.worlds = recorded.running().iter().filter(|running| **running).count();
        Ok(recorded)
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
        let ended =
            ran.map_err(WorldError::from).and_then(|()| places.run_until_all_fit(&mut seats(worlds), &mut recorded));
        let outcome = |outcome: Option<Outcome>| match (outcome, &ended) {
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Outcome::Done,
            (None, Err(error)) => Outcome::Failed(again(error)),
        };
        let sum: f64 = recorded.weights.iter().sum();
        Ended {
            outcomes: recorded.outcomes.into_iter().map(outcome).collect(),
            seconds: places.clock.as_mut().and_then(Clock::take),
            dispatches: recorded.dispatches,
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

    /// Records a step of those that have yet to do it. One for which there cannot be room is to move out.
    fn record_fitting(&mut self, seats: &mut [Seat], recorded: &mut Recorded) -> Result<(), WorldError> {
        let mut encoder = self.encoder();
        let mut running = recorded.running();
        while running.contains(&true) {
            match self.grow(&mut encoder, &only(seats, &running)) {
                Ok(()) => break,
                Err(error @ WorldError::TooLarge { .. }) => {
                    let (contacts, events) = (u64::from(self.engine.contact_capacity), self.engine.event_capacity);
                    let mut found = false;
                    for (seat, outcome) in seats.iter().zip(&mut recorded.outcomes) {
                        let wanted = seat.member.known.map_or(0, |known| known.contacts);
                        if outcome.is_none() && (4 * wanted >= 3 * contacts || seat.member.event_need > events) {
                            (*outcome, found) = (Some(Outcome::Outgrown), true);
                        }
                    }
                    if !found {
                        return Err(error);
                    }
                    running = recorded.running();
                }
                Err(error) => return Err(error),
            }
        }
        recorded.commands = None;
        if !running.contains(&true) {
            return Ok(());
        }
        let mut those = only(seats, &running);
        self.back_up(&mut encoder, &span(&those), |pair| pair);
        let layers = Layers::of(&those);
        self.record_layers(&mut encoder, &mut those, &layers)?;
        recorded.commands = Some(encoder.finish());
        recorded.dispatches += self.engine.dispatches;
        Ok(())
    }

    fn run_until_all_fit(&mut self, seats: &mut [Seat], recorded: &mut Recorded) -> Result<(), WorldError> {
        loop {
            self.poll()?;
            let mut lacked = recorded.running();
            for ((seat, outcome), lacked) in seats.iter_mut().zip(&mut recorded.outcomes).zip(&mut lacked) {
                if *lacked {
                    self.tell_news(seat.place, seat.member);
                    let too_many = seat.member.has_too_many(self.engine.contact_capacity);
                    *lacked = seat.member.lacked_room() || too_many.is_some();
                    if let Some((found, limit)) = too_many {
                        *outcome = Some(Outcome::Failed(WorldError::TooManyContacts { found, limit }));
                    } else if !*lacked {
                        *outcome = Some(Outcome::Done);
                    }
                }
            }
            if !lacked.contains(&true) {
                return Ok(());
            }
            self.go_back(seats, &recorded.starts, &lacked);
            for (((seat, start), outcome), _) in seats
                .iter_mut()
                .zip(&recorded.starts)
                .zip(&mut recorded.outcomes)
                .zip(lacked)
                .filter(|(_, lacked)| *lacked)
            {
                if outcome.is_some() {
                    seat.member.known = start.known();
                } else if !seat.member.is_small() {
                    *outcome = Some(Outcome::Outgrown);
                }
            }
            self.record_fitting(seats, recorded)?;
            let Some(commands) = recorded.commands.take() else { return Ok(()) };
            self.engine.context.queue().submit([commands]);
            self.engine.context.wait()?;
        }
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
    /// Does something with the world in its place.
    fn here<T>(&mut self, what: impl FnOnce(&mut One) -> T) -> T {
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
        let mut world = GpuWorld::from_compiled(&context, member.compiled.clone(), None)?;
        world.population.clone_from(&member.population);
        world.origin.clone_from(&member.origin);
        world.limits.clone_from(&member.limits);
        world.restore(&snapshot)?;
        world.events = std::mem::take(&mut member.events);
        world.overflowed.clone_from(&member.overflowed);
        Ok(world.with_clock())
    }

    /// The scene as it is laid out now.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.member.compiled
    }

    /// Steps done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.member.steps
    }

    /// As [`GpuWorld::set_contact_limit`].
    pub fn set_contact_limit(&mut self, limit: usize) {
        self.member.limits.set_contacts(limit);
    }

    /// As [`GpuWorld::overflowed_steps`].
    #[must_use]
    pub fn overflowed_steps(&self) -> &[u64] {
        &self.member.overflowed
    }

    /// As [`GpuWorld::command`].
    ///
    /// # Errors
    /// As there.
    pub fn command(&mut self, body: impl Into<BodyId>, command: Command) -> Result<(), CommandError> {
        self.member.command(body.into(), command)
    }

    /// As [`GpuWorld::command_joint`].
    ///
    /// # Errors
    /// As there.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        self.member.command_joint(joint, command)
    }

    /// Wakes all bodies in the next step.
    pub fn wake_all(&mut self) {
        self.member.wake_all();
    }

    /// Sets gravity from the next step on, m/s², and wakes all bodies, unless it is the same. Other worlds of the pool keep
    /// theirs.
    ///
    /// # Errors
    /// A coordinate is not a number, or out of the range of a scene; or the device is lost.
    pub fn set_gravity(&mut self, gravity: Vec2) -> Result<(), WorldError> {
        check_gravity(gravity)?;
        if self.member.compiled.change_gravity(gravity.into()) {
            self.here(|one| one.follow(&Change::default(), None))?;
            self.member.wake_all();
        }
        Ok(())
    }

    /// As [`GpuWorld::add_bodies`]. What is added leaves the world small ([`Self::holds`]).
    ///
    /// # Errors
    /// As there.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.here(|one| one.bring(bodies))
    }

    /// As [`GpuWorld::remove_bodies`].
    ///
    /// # Errors
    /// As there.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        self.here(|one| one.send_away(ids))
    }

    /// As [`GpuWorld::add_joints_between`]. What is added leaves the world small ([`Self::holds`]).
    ///
    /// # Errors
    /// As there.
    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.here(|one| one.tie_between(joints))
    }

    /// As [`GpuWorld::remove_joints`].
    ///
    /// # Errors
    /// As there.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        self.here(|one| one.untie(ids))
    }

    /// Id of the joint at a place, if there is one.
    #[must_use]
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.member.compiled, index)
    }

    /// Id of the body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        self.here(|one| one.body_in(index))
    }

    /// Events since this was last called, if the scene wants them.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.member.events)
    }

    /// As [`World::query_within`](crate::World::query_within).
    ///
    /// # Errors
    /// As there.
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        let count = bounds.batch(queries.len(), self.member.compiled.shapes.len());
        let queries: Vec<_> = queries[..count].iter().map(|query| (self.place, query.clone())).collect();
        let (compiled, population) = (&self.member.compiled, self.member.population.as_ref());
        self.pool.lock().query(&queries, bounds.found, |_, shape| owner(compiled, population, shape))
    }

    /// The state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.here(|one| one.snapshot())
    }

    /// As [`World::load_with`](crate::World::load_with). False, and nothing has changed, if the world is not small then.
    ///
    /// # Errors
    /// As there.
    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<bool, WorldError> {
        let mut compiled = self.member.compiled.clone();
        let mut relived = None;
        if !journal.is_empty() {
            if self.steps() > 0 {
                #[allow(clippy::cast_possible_truncation, reason = "for the message")]
                let found = self.steps() as usize;
                return Err(SnapshotError { what: "steps done before it", found, expected: 0 }.into());
            }
            let mut population = Population::new(&compiled);
            population.relive(&mut compiled, journal, Snapshot::step_of(bytes)?)?;
            relived = Some(population);
        }
        let snapshot = Snapshot::from_bytes(bytes, compiled.fingerprint())?;
        let contacts = snapshot.contacts.len() + snapshot.sleeping.len();
        if !Parts::of(&compiled, &self.member.compiled).are_few() || !are_few(contacts as u64) {
            return Ok(false);
        }
        self.here(|one| {
            if let Some(population) = relived {
                one.become_another(compiled, population)?;
            }
            one.restore(&snapshot)
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
