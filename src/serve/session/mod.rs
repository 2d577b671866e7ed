//! A world from the first request to the last: its inbox, its turns, its log, its checkpoints.

mod handle;
mod inbox;
mod keep;
mod live;
mod open;
mod read;
mod reopen;
mod steps;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::op::{Key, Op, Record};
use super::problem::Problem;
use super::store::checkpoint_name;
use super::stream::Frame;
use crate::WorldError;
use crate::gpu::DeviceError;
use crate::types::VACANT;
pub use handle::{Answer, Facts, Handle, Poke, Reply, Request, Shared, Status, Wake};
use live::Live;
pub use open::{check_limits, facts as open_facts};
pub use read::{Format, QueryRecord, Read};
use turn::Turn;

/// Until a device or a store is tried again.
const PATIENCE: Duration = Duration::from_secs(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Phase {
    /// Not in memory; tried again then.
    Closed(Instant),
    /// Goes through its log.
    Replaying(Box<Live>, VecDeque<Record>),
    /// As usual.
    Live(Box<Live>),
    /// Nothing can be done with it but to delete it.
    Failed(Problem),
}

/// Somebody who waits for steps.
struct Waiting {
    reply: Option<Reply>,
    deadline: Option<Instant>,
    has_key: bool,
}

/// Something of the session's own making, to be logged as what clients ask.
type Batch = Vec<(Record, Option<Reply>, Option<Instant>)>;
type Slot = Arc<Mutex<Option<io::Result<()>>>>;

/// What the session waits for before it goes on.
enum Hold {
    /// The log.
    Log(Batch, Slot),
    /// A checkpoint that is put in place.
    Restore(Reply, Slot, u64),
    /// The end.
    Delete(Reply, Slot),
}

/// A world and all that belongs to it. Whoever runs its turn owns it.
pub struct Session {
    handle: Arc<Handle>,
    shared: Arc<Shared>,
    phase: Phase,
    hold: Option<Hold>,
    waiting: HashMap<u64, Waiting>,
    /// To be logged with the next batch, before it.
    own: Vec<(Op, Option<Key>, Option<Reply>)>,
    /// What is told at the end of the turn, once the status shows it.
    outbox: Vec<(Reply, Result<Answer, Problem>)>,
    /// The frame of this turn, which streams see after that, too.
    shown: Option<Arc<Frame>>,
    /// Who waits for the world to come back after a restore.
    restored: Option<Reply>,
    turn: Turn,
    draining: bool,
    log: u64,
    good: u64,
    writing: Option<(Slot, u64)>,
    /// Jobs that have to end before the world is opened anew: they change its files.
    settling: Vec<Slot>,
    /// The store is asked for the world.
    taking: Option<Slot>,
    /// Why the world waits for the store.
    away: Option<Problem>,
    /// Another service has the world.
    taken: Option<Problem>,
    /// Something at the head of the inbox waits for a checkpoint.
    blocked: bool,
    next_try: Instant,
    cost: Duration,
    records: usize,
    changed: bool,
    strikes: u32,
    anchor: Option<(Instant, u64)>,
    framed: Option<(Instant, u64)>,
    ms_per_step: f64,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.handle.id).finish_non_exhaustive()
    }
}

impl Session {
    /// Of a world that is in the store. It is opened in its first turn.
    #[must_use]
    pub fn new(id: &str, facts: Facts, shared: Arc<Shared>) -> (Self, Arc<Handle>) {
        let handle = Arc::new(Handle::new(id, facts));
        let session = Self {
            handle: handle.clone(),
            shared,
            phase: Phase::Closed(Instant::now()),
            hold: None,
            waiting: HashMap::new(),
            own: Vec::new(),
            outbox: Vec::new(),
            shown: None,
            restored: None,
            turn: Turn::Over(Wake::Idle),
            draining: false,
            log: 0,
            good: 0,
            writing: None,
            settling: Vec::new(),
            taking: None,
            away: None,
            taken: None,
            blocked: false,
            next_try: Instant::now(),
            cost: Duration::ZERO,
            records: 0,
            changed: false,
            strikes: 0,
            anchor: None,
            framed: None,
            ms_per_step: 0.0,
        };
        (session, handle)
    }

    /// The handle that others have.
    #[must_use]
    pub fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Whoever hears of a change finds it in the status.
    fn send(&mut self) {
        for (reply, answer) in self.outbox.drain(..) {
            // Nobody may listen any more.
            let _ = reply.send(answer);
        }
        if let Some(frame) = self.shown.take() {
            self.handle.frames.send_replace(Some(frame));
        }
    }

    /// At the end of the turn.
    fn answer(&mut self, reply: Reply, answer: Result<Answer, Problem>) {
        self.outbox.push((reply, answer));
    }

    /// A turn went wrong in a way that should not be.
    pub fn broke(&mut self, what: &str) {
        let problem = Problem::internal(what.to_owned());
        self.refuse_waiting(&problem);
        if let Some(reply) = self.restored.take() {
            self.answer(reply, Err(problem.clone()));
        }
        self.phase = Phase::Failed(problem);
        self.turn = Turn::Over(Wake::Now);
    }

    /// Whether nothing is left to be written.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let open = !matches!(self.phase, Phase::Live(_)) || (!self.changed && self.own.is_empty());
        open && self.hold.is_none() && self.writing.is_none()
    }

    /// Goes on with what the session waited for, if it has come.
    fn held(&mut self, live: &mut Live, hold: Hold, draining: bool) -> Result<Option<Hold>, Broken> {
        match hold {
            Hold::Log(batch, slot) => {
                let Some(outcome) = lock(&slot).take() else { return Ok(Some(Hold::Log(batch, slot))) };
                match outcome {
                    Ok(()) => {
                        self.records += batch.len();
                        self.changed = true;
                        for (record, reply, deadline) in batch {
                            self.apply(live, record, reply, deadline)?;
                        }
                    }
                    Err(error) => {
                        let problem = Problem::of_store(&error);
                        for (record, reply, _) in batch {
                            let is_own = matches!(record.op, Op::Reached { .. }) || reply.is_none();
                            if is_own && !draining {
                                // Of our own making: it is tried again.
                                self.own.push((record.op, record.key, reply));
                            } else if let Some(reply) = reply {
                                self.answer(reply, Err(problem.clone()));
                            }
                        }
                        self.doubt(&error)?;
                        self.next_try = Instant::now() + PATIENCE;
                    }
                }
            }
            Hold::Restore(reply, slot, number) => {
                let Some(outcome) = lock(&slot).take() else { return Ok(Some(Hold::Restore(reply, slot, number))) };
                match outcome {
                    Ok(()) => {
                        self.refuse_waiting(&Problem::conflict("the world was restored to another state"));
                        self.restored = Some(reply);
                        self.phase = Phase::Closed(Instant::now());
                        return Err(Broken::Reopen);
                    }
                    Err(error) => {
                        let problem = match error.kind() {
                            io::ErrorKind::NotFound => Problem::not_found("there is no checkpoint of this name"),
                            io::ErrorKind::InvalidData => Problem::damaged(error.to_string()),
                            _ => Problem::of_store(&error),
                        };
                        self.answer(reply, Err(problem));
                        self.doubt(&error)?;
                        // Should its file be there after all, it would be taken for the newest.
                        let _ = self.shared.store.remove(&self.handle.id, &checkpoint_name(number));
                    }
                }
            }
            Hold::Delete(reply, slot) => {
                let Some(outcome) = lock(&slot).take() else { return Ok(Some(Hold::Delete(reply, slot))) };
                match outcome {
                    Ok(()) => {
                        self.close(reply);
                        return Err(Broken::Gone);
                    }
                    Err(error) => self.answer(reply, Err(Problem::of_store(&error))),
                }
            }
        }
        Ok(None)
    }

    fn publish(&self) {
        let mut status = lock(&self.handle.status);
        status.backend = self.shared.device.backend();
        status.ms_per_step = self.ms_per_step;
        match &self.phase {
            Phase::Closed(_) => {
                status.state = "starting";
                status.problem = self.away.as_ref().map(|problem| problem.detail.clone());
            }
            Phase::Failed(problem) => {
                status.state = "failed";
                status.problem = Some(problem.detail.clone());
            }
            Phase::Replaying(live, _) | Phase::Live(live) => {
                status.state = match &self.phase {
                    Phase::Replaying(..) => "starting",
                    _ if live.memory.play.is_some() => "playing",
                    _ if !live.memory.goals.is_empty() => "stepping",
                    _ => "paused",
                };
                status.step = live.world.steps();
                status.time = live.time();
                status.dt = live.world.compiled().settings.dt;
                (status.bodies, status.joints) = population(live);
                status.steps_to_go = live.memory.goals.iter().map(|goal| goal.remaining).sum();
                status.speed = live.memory.play.and_then(|play| play.speed);
                status.alterations = live.memory.journal.len();
                status.problem = None;
            }
        }
    }
}

/// Why a turn ended early.
enum Broken {
    /// The device is lost.
    Device(String),
    /// The world is to be opened anew.
    Reopen,
    /// It was deleted.
    Gone,
}

impl Broken {
    fn of(error: &DeviceError) -> Self {
        Self::Device(error.to_string())
    }

    fn of_world(error: &WorldError) -> Self {
        Self::Device(error.to_string())
    }
}

/// Bodies and joints that there are.
fn population(live: &Live) -> (usize, usize) {
    let compiled = live.world.compiled();
    (compiled.bodies.iter().filter(|body| body.kind != VACANT).count(), compiled.joints.count())
}
