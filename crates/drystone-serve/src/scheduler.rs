//! Scheduler: assigns time slices of the worker threads to worlds. A time slice goes to the owner whose worlds have
//! used the least time so far, and among these to the world that has used the least; idle worlds save nothing up. On
//! a GPU small worlds that are next share a time slice (time_slices.rs).
//!
//! With several workers, one is reserved for worlds whose recent time slices were all short; the others open new
//! worlds. While all others are held up by long time slices, it also takes small worlds without a record. From any
//! other world it takes only time slices that answer or end something (`Session::has_short_time_slice`): such a
//! time slice begins no step and opens nothing. A world that is to be deleted, whose step was cancelled, or whose
//! deadline has passed comes next on any worker, and its time slice is as short; the world's other work waits for a
//! time slice in the usual order. With one worker, as on a GPU, a long step delays all others; it can be cancelled
//! like any other (watch.rs).
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use drystone_serve::config::{Config, S3};
//! use drystone_serve::device::Device;
//! use drystone_serve::scheduler::Scheduler;
//! use drystone_serve::store::Store;
//!
//! let config = Arc::new(Config { store: "memory".to_owned(), ..Config::default() });
//! let store = Arc::new(Store::open(&config.store, &S3::default(), 0)?);
//! let scheduler = Scheduler::start(config, Device::cpu(1), store)?;
//! scheduler.load()?;
//! assert!(scheduler.worlds().is_empty());
//! assert!(scheduler.stop(Duration::from_secs(60)), "all threads end");
//! # Ok::<(), std::io::Error>(())
//! ```

mod permissions;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::config::Config;
use super::device::Device;
use super::problem::Problem;
use super::queue::{Account, Due, Expected, SliceHistory, choose};
use super::session::{
    Answer, BodyQuota, Handle, NextWake, Poke, Session, SessionRequest, Shared, WorldFacts, open_facts,
};
use super::store::{Store, Trouble, WORLD};
use super::suspects::{RiskyWork as Passed, Suspects};
use super::time_slices::{SliceMember, TIME_SLICE, run};
use super::watch::Watchdog;
use super::writer::Writer;
use permissions::Leave;

/// Age at which a time slice counts as holding up its worker.
const HELD_UP: Duration = Duration::from_secs(1);
/// Largest world without a record that the reserved worker takes while all others are held up, bodies.
const SMALL: usize = 2000;
/// Interval of retries of a store that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Number of threads that read the worlds of a store: of a folder, and of a bucket.
const READERS: [usize; 2] = [4, 16];

/// Registry of the worlds, and the threads that run them.
#[derive(Debug)]
pub struct Scheduler {
    shared: Arc<Shared>,
    state: Mutex<SchedulerState>,
    changed: Condvar,
    /// True while the service stops: nothing new is begun.
    pub draining: AtomicBool,
    ended: AtomicBool,
    /// True once all worlds of the store are known.
    is_listed: AtomicBool,
    /// Number of worlds that were in the store at the start and are not open yet.
    starting: AtomicUsize,
    workers: usize,
    watch: Arc<Watchdog>,
    suspects: Suspects,
    /// Message that names the service that has fenced this one.
    fenced: Mutex<Option<String>>,
    /// Signals that another service has fenced this one.
    pub evicted: tokio::sync::Notify,
    threads: Mutex<Vec<JoinHandle<()>>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct SchedulerState {
    worlds: HashMap<String, ScheduledWorld>,
    owners: Vec<OwnerAccount>,
    /// Minimum time of the owners whose worlds wait.
    least: f64,
    /// Number of suspect worlds in a time slice: one at most.
    suspects: usize,
    /// Owners of worlds that are being created.
    making: Vec<String>,
}

/// Computing time of an owner's worlds.
#[derive(Debug)]
struct OwnerAccount {
    name: String,
    had: f64,
    /// Minimum time of the owner's waiting worlds.
    least: f64,
}

impl SchedulerState {
    /// Returns the index of an owner, adding it if it is new.
    fn owner(&mut self, name: &str) -> usize {
        self.owners.iter().position(|owner| owner.name == name).unwrap_or_else(|| {
            self.owners.push(OwnerAccount { name: name.to_owned(), had: self.least, least: 0.0 });
            self.owners.len() - 1
        })
    }
}

/// Reservation for a world that is being created, until it is added or dropped.
#[derive(Debug)]
pub struct CreationPermit(Arc<Scheduler>, String);

impl Drop for CreationPermit {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let Some(at) = state.making.iter().position(|owner| *owner == self.1) {
            state.making.swap_remove(at);
        }
    }
}

#[derive(Debug)]
struct ScheduledWorld {
    handle: Arc<Handle>,
    /// Session; None during a time slice.
    session: Option<Box<Session>>,
    wake: NextWake,
    /// True if a request arrived during a time slice.
    poked: bool,
    account: Account,
    owner: usize,
    record: SliceHistory,
    /// Number of bodies when the record began.
    bodies: usize,
    /// True if the world may have ended the previous process.
    is_suspect: bool,
    /// True until the world is open for the first time since the start of the service.
    starting: bool,
}

/// Takes a world's session out for a time slice.
fn take(state: &mut SchedulerState, (id, expected): (String, Expected), leave: Leave) -> Option<SliceMember> {
    let entry = state.worlds.get_mut(&id)?;
    entry.poked = false;
    let mut session = entry.session.take()?;
    (session.may_take_long, session.may_step) = (leave.may_take_long, leave.may_step);
    state.suspects += usize::from(entry.is_suspect);
    Some(SliceMember::new(id, session, expected))
}

impl Scheduler {
    /// Starts the threads. [`Self::load`] then finds the worlds of the store.
    ///
    /// # Errors
    /// The operating system refuses a thread.
    pub fn start(config: Arc<Config>, device: Device, store: Arc<Store>) -> io::Result<Arc<Self>> {
        let (writer, writers) = Writer::start(&store)?;
        let (pokes, poked) = mpsc::channel();
        let fenced = Mutex::new(pokes.clone());
        store.when_taken(Box::new(move |detail| {
            let _ = fenced.lock().unwrap_or_else(PoisonError::into_inner).send(Poke::Taken(detail));
        }));
        let workers = match (device.backend(), config.workers) {
            ("gpu", _) => 1,
            (_, 0) => std::thread::available_parallelism().map_or(2, std::num::NonZero::get).max(2),
            (_, count) => count,
        };
        let suspects = Suspects::open(&config);
        let several = config.tokens.len() > 1;
        let shared = Arc::new(Shared {
            config,
            device,
            store,
            writer,
            pokes,
            total: Arc::default(),
            resident: BodyQuota::default(),
            taking: AtomicUsize::new(0),
            several_tokens: AtomicBool::new(several),
        });
        let scheduler = Arc::new(Self {
            shared,
            state: Mutex::default(),
            changed: Condvar::new(),
            draining: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            is_listed: AtomicBool::new(false),
            starting: AtomicUsize::new(0),
            workers,
            watch: Arc::default(),
            suspects,
            fenced: Mutex::default(),
            evicted: tokio::sync::Notify::new(),
            threads: Mutex::default(),
            writers: Mutex::new(writers),
        });
        let mut threads = Vec::new();
        for number in 0..workers {
            let own = scheduler.clone();
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            threads.push(thread.spawn(move || own.work(number))?);
        }
        let own = scheduler.clone();
        let watch = std::thread::Builder::new().name("watch".to_owned());
        threads.push(watch.spawn(move || own.watch.run(&own.draining))?);
        let own = scheduler.clone();
        threads.push(std::thread::Builder::new().name("pokes".to_owned()).spawn(move || own.listen(&poked))?);
        scheduler.threads.lock().unwrap_or_else(PoisonError::into_inner).extend(threads);
        Ok(scheduler)
    }

    /// Starts a thread that finds the worlds of the store. Each world is opened once it is found.
    ///
    /// # Errors
    /// The operating system refuses the thread.
    pub fn load(self: &Arc<Self>) -> io::Result<()> {
        let own = self.clone();
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(move || own.find_worlds())?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn find_worlds(&self) {
        let store = &self.shared.store;
        let Some(ids) = self.retry_store("the worlds cannot be listed", || store.worlds()) else { return };
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..READERS[usize::from(store.is_remote())].min(ids.len()) {
                scope.spawn(|| {
                    while let Some(id) = ids.get(next.fetch_add(1, Ordering::SeqCst)) {
                        self.find_world(id);
                    }
                });
            }
        });
        if !self.draining.load(Ordering::SeqCst) {
            self.is_listed.store(true, Ordering::SeqCst);
            tracing::info!(worlds = ids.len(), "all worlds of the store are known");
        }
    }

    fn find_world(&self, id: &str) {
        let read = self.retry_store("a world cannot be read", || match self.shared.store.read(id, WORLD) {
            Ok((facts, _)) => Ok(open_facts(&facts)),
            Err(error) if matches!(Trouble::of(&error), Some(Trouble::Away(_))) => Err(error),
            Err(error) => Ok(Err(error)),
        });
        let Some(read) = read else { return };
        let facts = read.unwrap_or_else(|error| {
            tracing::error!(world = id, %error, "the world cannot be read");
            WorldFacts { name: String::new(), created: 0, key: None, owner: String::new(), bodies: 0 }
        });
        self.starting.fetch_add(1, Ordering::SeqCst);
        self.insert(id, facts, true);
        self.changed.notify_all();
    }

    /// Retries a request to the store until it succeeds. None if the service stops first.
    fn retry_store<T>(&self, what: &str, mut ask: impl FnMut() -> io::Result<T>) -> Option<T> {
        let mut is_told = false;
        while !self.draining.load(Ordering::SeqCst) {
            match ask() {
                Ok(answer) => return Some(answer),
                Err(error) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::error!(%error, what, "the store does not answer; retrying");
                    }
                    std::thread::sleep(PATIENCE);
                }
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state that all sessions share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the device of the worlds.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Returns true once all worlds of the store are known, open or not.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.is_listed.load(Ordering::SeqCst)
    }

    /// Returns the reason why the service is not ready, if there is one.
    #[must_use]
    pub fn hindrance(&self) -> Option<String> {
        if let Some(fenced) = self.evicted_by() {
            return Some(format!("another service has taken the store over: {fenced}"));
        }
        if self.draining.load(Ordering::SeqCst) {
            return Some("the service is stopping".to_owned());
        }
        let starting = self.starting.load(Ordering::SeqCst);
        if !self.is_listed() || starting > 0 {
            return Some(format!("worlds are being restored: {starting} are not open yet"));
        }
        let (most, time_slice) = (self.shared.config.limits.turn_seconds, self.watch.longest()?.as_secs_f64());
        (time_slice > most)
            .then(|| format!("a time slice has taken {time_slice:.1} s so far; limits.turn_seconds is {most}"))
    }

    /// Returns the age of the oldest time slice in progress; 0 if there is none.
    #[must_use]
    pub fn longest_time_slice(&self) -> Duration {
        self.watch.longest().unwrap_or_default()
    }

    /// Returns true if all worlds of the store are open and nothing hinders the service.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.hindrance().is_none()
    }

    /// Returns the message that names the service that has fenced this one.
    #[must_use]
    pub fn evicted_by(&self) -> Option<String> {
        self.fenced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns all worlds in the order of their creation.
    #[must_use]
    pub fn worlds(&self) -> Vec<Arc<Handle>> {
        let mut handles: Vec<_> = self.lock().worlds.values().map(|entry| entry.handle.clone()).collect();
        handles.retain(|handle| !handle.is_gone());
        handles.sort_by(|a, b| (a.facts.created, &a.id).cmp(&(b.facts.created, &b.id)));
        handles
    }

    /// Returns a world, if it exists.
    #[must_use]
    pub fn world(&self, id: &str) -> Option<Arc<Handle>> {
        self.lock().worlds.get(id).map(|entry| entry.handle.clone()).filter(|handle| !handle.is_gone())
    }

    /// Returns a world, or the 404.
    ///
    /// # Errors
    /// The world does not exist.
    pub fn existing(&self, id: &str) -> Result<Arc<Handle>, Problem> {
        self.world(id).ok_or_else(|| Problem::no_world(id))
    }

    /// Reserves a slot for a world, of which the owner may have `own_most`.
    ///
    /// # Errors
    /// The owner, or the service, has as many worlds as allowed.
    pub fn reserve(self: &Arc<Self>, owner: &str, own_most: usize) -> Result<CreationPermit, Problem> {
        let mut state = self.lock();
        let there = state.worlds.values().filter(|entry| !entry.handle.is_gone());
        let (mut all, mut own) = (state.making.len(), state.making.iter().filter(|by| *by == owner).count());
        for entry in there {
            all += 1;
            own += usize::from(entry.handle.facts.owner == owner);
        }
        let most = self.shared.config.limits.worlds;
        if all >= most {
            return Err(Problem::too_many(format!("there are {most} worlds already; delete one"), 60));
        }
        if own >= own_most {
            let detail = format!("there are {own_most} worlds of this token already; delete one");
            return Err(Problem::too_many(detail, 60));
        }
        state.making.push(owner.to_owned());
        Ok(CreationPermit(self.clone(), owner.to_owned()))
    }

    /// Adds a world that has been written to the store.
    pub fn add(&self, id: &str, facts: WorldFacts, place: CreationPermit) {
        self.insert(id, facts, false);
        drop(place);
        self.changed.notify_all();
    }

    fn insert(&self, id: &str, facts: WorldFacts, starting: bool) {
        let (owner, bodies) = (facts.owner.clone(), facts.bodies);
        let (mut session, handle) = Session::new(id, facts, self.shared.clone());
        if let Some(verdict) = self.suspects.verdict(id) {
            session.fail_unopened(verdict);
        }
        let mut state = self.lock();
        let owner = state.owner(&owner);
        let entry = ScheduledWorld {
            handle,
            session: Some(Box::new(session)),
            wake: NextWake::Now,
            poked: false,
            account: Account::new(state.owners[owner].least),
            owner,
            record: SliceHistory::default(),
            bodies,
            is_suspect: self.suspects.has(id),
            starting,
        };
        state.worlds.insert(id.to_owned(), entry);
        metrics::gauge!("drystone_worlds").set(state.worlds.len() as f64);
    }

    /// Sends a request to a world and waits for the answer.
    ///
    /// # Errors
    /// The world does not exist, its inbox is full, or the service is stopping.
    pub async fn ask(
        &self,
        id: &str,
        request: impl FnOnce(super::session::ReplySender) -> SessionRequest,
    ) -> Result<Answer, Problem> {
        let handle = self.existing(id)?;
        let (reply, answer) = tokio::sync::oneshot::channel();
        handle.put(request(reply), self.shared.config.limits.inbox)?;
        self.poke(id);
        match answer.await {
            Ok(answer) => answer,
            Err(_) if self.draining.load(Ordering::SeqCst) => Err(Problem::unavailable("the service is stopping")),
            Err(_) => Err(Problem::internal("the request was dropped")),
        }
    }

    /// Requests a time slice for a world.
    pub fn poke(&self, id: &str) {
        let mut state = self.lock();
        let SchedulerState { worlds, owners, least, .. } = &mut *state;
        if let Some(entry) = worlds.get_mut(id) {
            entry.poked = true;
            let owner = &mut owners[entry.owner];
            if entry.starting {
                // Among the worlds that are being opened, a requested one comes first.
                entry.account.had = entry.account.had.min(owner.least - 1e-6);
            } else if entry.session.is_some() && entry.wake != NextWake::Now {
                // An idle world keeps no credit.
                entry.account.had = entry.account.had.max(owner.least);
                owner.had = owner.had.max(*least);
            }
            if entry.session.is_some() {
                entry.wake = NextWake::Now;
            }
            self.changed.notify_all();
        }
    }

    fn listen(&self, pokes: &Receiver<Poke>) {
        for poke in pokes {
            match poke {
                Poke::Turn(id) => self.poke(&id),
                Poke::Press(bodies, owner) => self.press(bodies, owner.as_deref()),
                Poke::Taken(detail) => {
                    let mut fenced = self.fenced.lock().unwrap_or_else(PoisonError::into_inner);
                    if fenced.is_none() {
                        tracing::error!(detail, "another service has taken the store over: this service stops");
                        *fenced = Some(detail);
                        self.evicted.notify_one();
                    }
                }
                Poke::End => return,
            }
        }
    }

    /// Has idle worlds written to disk that have `bodies` bodies together, the longest unused first; only worlds of
    /// `owner` if one is given.
    fn press(&self, bodies: usize, owner: Option<&str>) {
        let idle = |entry: &ScheduledWorld| {
            let is_meant = owner.is_none_or(|owner| entry.handle.facts.owner == owner);
            let idle = entry.handle.idle_since().filter(|_| is_meant);
            idle.map(|(used, bodies)| (used, bodies, entry.handle.clone()))
        };
        let mut idle: Vec<_> = self.lock().worlds.values().filter_map(idle).collect();
        idle.sort_by_key(|(used, ..)| *used);
        let mut freed = 0;
        for (_, has, handle) in idle {
            if freed >= bodies {
                break;
            }
            freed += has;
            handle.press();
            self.poke(&handle.id);
        }
    }

    fn work(&self, worker: usize) {
        let only_short = self.workers > 1 && worker == 0;
        while let Some(mut members) = self.next(only_short) {
            let start = Instant::now();
            let number = self.watch.begin(members.iter().map(|member| member.session.handle().clone()).collect());
            run(&mut members, self.draining.load(Ordering::SeqCst), &self.suspects, worker);
            self.watch.end(number);
            metrics::histogram!("drystone_turn_seconds").record(start.elapsed().as_secs_f64());
            self.give_back(members);
        }
    }

    /// Returns true if the reserved worker takes a world. `is_held_up` says that all other workers are in long time
    /// slices.
    fn suits(entry: &ScheduledWorld, session: &Session, is_held_up: bool) -> bool {
        Self::is_harmless(entry, is_held_up) || (!session.is_opening() && entry.record.is_short(session.expected()))
    }

    /// Returns true if the reserved worker may also step the world. A record of short answers says nothing about
    /// steps.
    fn may_step(entry: &ScheduledWorld, is_held_up: bool) -> bool {
        Self::is_harmless(entry, is_held_up) || entry.record.is_short(Expected::Step)
    }

    /// Returns true for a small world without a record while all other workers are held up.
    fn is_harmless(entry: &ScheduledWorld, is_held_up: bool) -> bool {
        is_held_up && entry.record.is_clean() && (1..=SMALL).contains(&entry.bodies)
    }

    /// Waits for the next worlds due: one, or on a device perhaps several. None when the scheduler ends.
    fn next(&self, only_short: bool) -> Option<Vec<SliceMember>> {
        let together = self.shared.device.backend() == "gpu";
        let mut state = self.lock();
        loop {
            if self.ended.load(Ordering::SeqCst) {
                return None;
            }
            let now = Instant::now();
            let is_held_up = only_short && self.watch.count_older(HELD_UP) + 1 >= self.workers;
            let mut due: Vec<Due<&String>> = Vec::new();
            let mut soonest: Option<Instant> = None;
            for (id, entry) in &state.worlds {
                let Some(session) = &entry.session else { continue };
                match entry.wake {
                    NextWake::At(at) if at > now => soonest = Some(soonest.map_or(at, |soonest| soonest.min(at))),
                    NextWake::Now | NextWake::At(_) => {
                        let is_urgent = session.is_urgent(now);
                        if entry.is_suspect && state.suspects > 0 && !is_urgent {
                            // Waits until the other suspect is back, or its own deadline.
                            if let Some(at) = session.deadline().filter(|at| *at > now) {
                                soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
                            }
                            continue;
                        }
                        if only_short
                            && !Self::suits(entry, session, is_held_up)
                            && !is_urgent
                            && !session.has_short_time_slice(now)
                        {
                            // Looks again when the others may be held up, or at the deadline.
                            let later = session
                                .deadline()
                                .filter(|at| *at > now)
                                .map_or(now + HELD_UP, |at| at.min(now + HELD_UP));
                            soonest = Some(soonest.map_or(later, |soonest| soonest.min(later)));
                            continue;
                        }
                        let expected = if together { session.expected() } else { Expected::Anything };
                        let series = session.pool().map(|pool| (Arc::as_ptr(pool).addr(), pool.seconds()));
                        let (owner, account) = if is_urgent {
                            (f64::NEG_INFINITY, entry.account.first())
                        } else {
                            (state.owners[entry.owner].had, entry.account)
                        };
                        due.push(Due { id, owner, account, expected, series });
                    }
                    NextWake::Idle | NextWake::Gone => {}
                }
            }
            let chosen = choose(&mut due, together, TIME_SLICE);
            if let Some(first) = chosen.first() {
                let (least, of_owner) = (first.owner, first.account.had);
                let chosen: Vec<_> = chosen.iter().map(|due| (due.id.clone(), due.expected)).collect();
                state.least = state.least.max(least);
                if let Some(owner) = state.worlds.get(&chosen[0].0).map(|entry| entry.owner) {
                    let owner = &mut state.owners[owner];
                    owner.least = owner.least.max(of_owner);
                }
                let mut members = Vec::with_capacity(chosen.len());
                for (id, expected) in chosen {
                    let Some(entry) = state.worlds.get(&id) else { continue };
                    let Some(session) = entry.session.as_deref() else { continue };
                    let by_record = Leave {
                        may_take_long: Self::suits(entry, session, is_held_up),
                        may_step: Self::may_step(entry, is_held_up),
                    };
                    let leave = Leave::new(only_short, session.is_urgent(now), by_record);
                    members.extend(take(&mut state, (id, expected), leave));
                }
                return Some(members);
            }
            state = match soonest {
                Some(at) => {
                    let wait = self.changed.wait_timeout(state, at.saturating_duration_since(now));
                    wait.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn give_back(&self, members: Vec<SliceMember>) {
        let mut state = self.lock();
        let SchedulerState { worlds, owners, suspects, .. } = &mut *state;
        for SliceMember { id, session, expected, is_opening, wake, took, steps, .. } in members {
            let wake = wake.unwrap_or(NextWake::Now);
            let Some(entry) = worlds.get_mut(&id) else { continue };
            if entry.is_suspect {
                *suspects = suspects.saturating_sub(1);
                let passed = session.steps().filter(|_| !session.is_opening());
                entry.is_suspect = wake != NextWake::Gone
                    && !passed.is_some_and(|steps| self.suspects.passed(&id, Passed::Step(steps)));
            }
            owners[entry.owner].had += took;
            if wake == NextWake::Gone {
                self.suspects.forget(&id);
                if entry.starting {
                    self.starting.fetch_sub(1, Ordering::SeqCst);
                }
                worlds.remove(&id);
                metrics::gauge!("drystone_worlds").set(worlds.len() as f64);
                continue;
            }
            let (shown, bodies) = session.handle().state_and_bodies();
            if entry.starting && (shown != "starting" || session.is_cramped()) {
                entry.starting = false;
                self.starting.fetch_sub(1, Ordering::SeqCst);
            }
            if bodies > entry.bodies + entry.bodies / 2 + 64 {
                // Its old record no longer applies.
                (entry.bodies, entry.record) = (bodies, SliceHistory::default());
            }
            if !is_opening {
                entry.record.note(took, steps);
            }
            let micros = Duration::try_from_secs_f64(took).unwrap_or_default().as_micros();
            metrics::counter!("drystone_owner_compute_microseconds_total", "owner" => entry.handle.facts.owner.clone())
                .increment(u64::try_from(micros).unwrap_or(u64::MAX));
            entry.account.charge(took, expected, steps);
            entry.account.alone = session.is_suspect() || entry.is_suspect;
            entry.wake = if entry.poked { NextWake::Now } else { wake };
            entry.session = Some(session);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Begins the stop: each world gets a time slice in which nothing new is begun.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let ids: Vec<String> = self.lock().worlds.keys().cloned().collect();
        for id in ids {
            self.poke(&id);
        }
    }

    /// Writes out all worlds and ends the threads, within `most`. Returns true if everything was written; if not,
    /// the logs have it.
    #[must_use]
    pub fn stop(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        self.drain();
        let mut whole = true;
        loop {
            let settled = {
                let state = self.lock();
                let settled =
                    |entry: &ScheduledWorld| entry.session.as_ref().is_some_and(|session| session.is_settled());
                state.worlds.values().all(settled)
            };
            if settled {
                break;
            }
            if Instant::now() >= end {
                whole = false;
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            // Worlds that wait for a full store are retried.
            self.drain();
        }
        self.ended.store(true, Ordering::SeqCst);
        // A time slice still in progress is not to blame for the end.
        self.suspects.close();
        self.watch.stop();
        self.changed.notify_all();
        let _ = self.shared.pokes.send(Poke::End);
        if whole {
            let threads: Vec<_> = self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
            for thread in threads {
                whole &= thread.join().is_ok();
            }
        }
        // The writer threads end with the process: their data is written, or is in the log.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.shared.store.leave();
        whole
    }
}
