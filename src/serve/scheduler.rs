//! Who runs when. Turns go to the world that had the least time so far; a world that was idle does not save up for later.
//! On a device small worlds that are next share a turn (turns.rs).

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
use super::queue::{Account, Due, Expected, choose};
use super::session::{Answer, Facts, Handle, Poke, Request, Session, Shared, Wake, open_facts};
use super::store::{Store, Trouble, WORLD};
use super::turns::{Member, TURN, run};
use super::writer::Writer;

/// Turns up to this are short: with several workers one takes no others, s.
const SHORT: f64 = 0.02;
/// What the first turn of a world takes, about, s a byte of its scene.
const OPENING: f64 = 2e-8;

/// Worlds, and the threads that run them.
#[derive(Debug)]
pub struct Scheduler {
    shared: Arc<Shared>,
    state: Mutex<State>,
    changed: Condvar,
    /// Nothing new is begun.
    pub draining: AtomicBool,
    ended: AtomicBool,
    /// Worlds that were in the store at the start and are not open yet.
    starting: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    writers: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    worlds: HashMap<String, Entry>,
    /// The least time of those that wait.
    least: f64,
    /// Owners of worlds that are being made.
    making: Vec<String>,
}

/// A place for a world that is being made, until it is there or dropped.
#[derive(Debug)]
pub struct Place(Arc<Scheduler>, String);

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let Some(at) = state.making.iter().position(|owner| *owner == self.1) {
            state.making.swap_remove(at);
        }
    }
}

#[derive(Debug)]
struct Entry {
    handle: Arc<Handle>,
    /// Away while it has its turn.
    session: Option<Box<Session>>,
    wake: Wake,
    /// Somebody asked while it had its turn.
    poked: bool,
    account: Account,
    /// Seconds of a turn of late.
    turn: f64,
    /// Not open yet since the start of the service.
    starting: bool,
}

/// Lets a world have its turn.
fn take(worlds: &mut HashMap<String, Entry>, (id, expected): (String, Expected)) -> Option<Member> {
    let entry = worlds.get_mut(&id)?;
    entry.poked = false;
    Some(Member::new(id, entry.session.take()?, expected))
}

impl Scheduler {
    /// Starts the threads, with the worlds that are in the store.
    ///
    /// # Errors
    /// The operating system's, or the store's.
    pub fn start(config: Arc<Config>, device: Device, store: Arc<Store>) -> io::Result<Arc<Self>> {
        let (writer, writers) = Writer::start(&store)?;
        let (pokes, poked) = mpsc::channel();
        let workers = match (device.backend(), config.workers) {
            ("gpu", _) => 1,
            (_, 0) => std::thread::available_parallelism().map_or(2, std::num::NonZero::get).max(2),
            (_, count) => count,
        };
        let shared = Arc::new(Shared { config, device, store, writer, pokes });
        let scheduler = Arc::new(Self {
            shared,
            state: Mutex::default(),
            changed: Condvar::new(),
            draining: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            starting: AtomicUsize::new(0),
            threads: Mutex::default(),
            writers: Mutex::new(writers),
        });
        for id in scheduler.shared.store.worlds()? {
            let read = scheduler.shared.store.read(&id, WORLD);
            let read = read.and_then(|(facts, scene)| Ok((open_facts(&facts)?, scene.len())));
            if let Some(Trouble::Away(detail)) = read.as_ref().err().and_then(Trouble::of) {
                return Err(io::Error::other(detail.clone()));
            }
            let (facts, bytes) = read.unwrap_or_else(|error| {
                tracing::error!(world = id, %error, "the world cannot be read");
                (Facts { name: String::new(), created: 0, key: None, owner: String::new() }, 0)
            });
            scheduler.starting.fetch_add(1, Ordering::SeqCst);
            scheduler.insert(&id, facts, bytes, true);
        }
        let mut threads = Vec::new();
        for number in 0..workers {
            let own = scheduler.clone();
            let only_short = workers > 1 && number == 0;
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            threads.push(thread.spawn(move || own.work(only_short))?);
        }
        let own = scheduler.clone();
        threads.push(std::thread::Builder::new().name("pokes".to_owned()).spawn(move || own.listen(&poked))?);
        scheduler.threads.lock().unwrap_or_else(PoisonError::into_inner).extend(threads);
        Ok(scheduler)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all sessions share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What worlds run on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Whether all worlds that were in the store are open, and nobody asked to stop.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.starting.load(Ordering::SeqCst) == 0 && !self.draining.load(Ordering::SeqCst)
    }

    /// All worlds, by id.
    #[must_use]
    pub fn worlds(&self) -> Vec<Arc<Handle>> {
        let mut handles: Vec<_> = self.lock().worlds.values().map(|entry| entry.handle.clone()).collect();
        handles.retain(|handle| !handle.is_gone());
        handles.sort_by(|a, b| (a.facts.created, &a.id).cmp(&(b.facts.created, &b.id)));
        handles
    }

    /// A world.
    #[must_use]
    pub fn world(&self, id: &str) -> Option<Arc<Handle>> {
        self.lock().worlds.get(id).map(|entry| entry.handle.clone()).filter(|handle| !handle.is_gone())
    }

    /// A place for a world, of which its owner may have so many.
    ///
    /// # Errors
    /// There are as many as may be.
    pub fn reserve(self: &Arc<Self>, owner: &str, own_most: usize) -> Result<Place, Problem> {
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
        Ok(Place(self.clone(), owner.to_owned()))
    }

    /// Adds a world that is in the store, with a scene of so many bytes.
    pub fn add(&self, id: &str, facts: Facts, bytes: usize, place: Place) {
        self.insert(id, facts, bytes, false);
        drop(place);
        self.changed.notify_all();
    }

    fn insert(&self, id: &str, facts: Facts, bytes: usize, starting: bool) {
        let (session, handle) = Session::new(id, facts, self.shared.clone());
        let mut state = self.lock();
        let entry = Entry {
            handle,
            session: Some(Box::new(session)),
            wake: Wake::Now,
            poked: false,
            account: Account::new(state.least),
            turn: bytes as f64 * OPENING,
            starting,
        };
        state.worlds.insert(id.to_owned(), entry);
        metrics::gauge!("drystone_worlds").set(state.worlds.len() as f64);
    }

    /// Asks a world.
    ///
    /// # Errors
    /// If it is not there, too many requests wait, or the service is stopping.
    pub async fn ask(
        &self,
        id: &str,
        request: impl FnOnce(super::session::Reply) -> Request,
    ) -> Result<Answer, Problem> {
        let missing = || Problem::not_found(format!("there is no world {id}"));
        let handle = self.world(id).ok_or_else(missing)?;
        let (reply, answer) = tokio::sync::oneshot::channel();
        handle.put(request(reply), self.shared.config.limits.inbox)?;
        self.poke(id);
        match answer.await {
            Ok(answer) => answer,
            Err(_) if self.draining.load(Ordering::SeqCst) => Err(Problem::unavailable("the service is stopping")),
            Err(_) => Err(Problem::internal("the request was dropped")),
        }
    }

    /// A world should have a turn.
    pub fn poke(&self, id: &str) {
        let mut state = self.lock();
        let least = state.least;
        if let Some(entry) = state.worlds.get_mut(id) {
            entry.poked = true;
            if entry.session.is_some() && entry.wake != Wake::Now {
                entry.wake = Wake::Now;
                // Who was idle does not come with savings.
                entry.account.had = entry.account.had.max(least);
            }
            self.changed.notify_all();
        }
    }

    fn listen(&self, pokes: &Receiver<Poke>) {
        for poke in pokes {
            match poke {
                Poke::Turn(id) => self.poke(&id),
                Poke::End => return,
            }
        }
    }

    fn work(&self, only_short: bool) {
        while let Some(mut members) = self.next(only_short) {
            let start = Instant::now();
            run(&mut members, self.draining.load(Ordering::SeqCst));
            metrics::histogram!("drystone_turn_seconds").record(start.elapsed().as_secs_f64());
            self.give_back(members);
        }
    }

    /// The worlds whose turn it is: one, or on a device perhaps several; waits for one. None at the end.
    fn next(&self, only_short: bool) -> Option<Vec<Member>> {
        let together = self.shared.device.backend() == "gpu";
        let mut state = self.lock();
        loop {
            if self.ended.load(Ordering::SeqCst) {
                return None;
            }
            let now = Instant::now();
            let mut due: Vec<Due<&String>> = Vec::new();
            let mut soonest: Option<Instant> = None;
            for (id, entry) in &state.worlds {
                let Some(session) = &entry.session else { continue };
                if only_short && entry.turn > SHORT {
                    continue;
                }
                match entry.wake {
                    Wake::At(at) if at > now => soonest = Some(soonest.map_or(at, |soonest| soonest.min(at))),
                    Wake::Now | Wake::At(_) => {
                        let expected = if together { session.expected() } else { Expected::Anything };
                        let series = session.pool().map(|pool| (Arc::as_ptr(pool).addr(), pool.seconds()));
                        due.push(Due { id, account: entry.account, expected, series });
                    }
                    Wake::Idle | Wake::Gone => {}
                }
            }
            let chosen = choose(&mut due, together, TURN);
            if let Some(first) = chosen.first() {
                let least = first.account.had;
                let chosen: Vec<_> = chosen.iter().map(|due| (due.id.clone(), due.expected)).collect();
                state.least = state.least.max(least);
                return Some(chosen.into_iter().filter_map(|next| take(&mut state.worlds, next)).collect());
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

    fn give_back(&self, members: Vec<Member>) {
        let mut state = self.lock();
        for Member { id, session, expected, wake, took, steps, .. } in members {
            let wake = wake.unwrap_or(Wake::Now);
            if wake == Wake::Gone {
                state.worlds.remove(&id);
                metrics::gauge!("drystone_worlds").set(state.worlds.len() as f64);
            } else if let Some(entry) = state.worlds.get_mut(&id) {
                if entry.starting && session.handle().status().state != "starting" {
                    entry.starting = false;
                    self.starting.fetch_sub(1, Ordering::SeqCst);
                }
                entry.account.charge(took, expected, steps);
                entry.account.alone = session.is_suspect();
                entry.turn = 0.7 * entry.turn + 0.3 * took;
                entry.wake = if entry.poked { Wake::Now } else { wake };
                entry.session = Some(session);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Begins to stop: every world gets a turn, in which nothing new is begun.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let ids: Vec<String> = self.lock().worlds.keys().cloned().collect();
        for id in ids {
            self.poke(&id);
        }
    }

    /// Writes out all worlds and ends the threads, within `most`. Returns whether all was written; if not, the logs
    /// have it.
    #[must_use]
    pub fn stop(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        self.drain();
        let mut whole = true;
        loop {
            let settled = {
                let state = self.lock();
                let settled = |entry: &Entry| entry.session.as_ref().is_some_and(|session| session.is_settled());
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
            // Who waits for a store that was full is asked again.
            self.drain();
        }
        self.ended.store(true, Ordering::SeqCst);
        self.changed.notify_all();
        let _ = self.shared.pokes.send(Poke::End);
        if whole {
            let threads: Vec<_> = self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
            for thread in threads {
                whole &= thread.join().is_ok();
            }
        }
        // The writers end with the process: what they had to write is written, or the log has it.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        whole
    }
}
