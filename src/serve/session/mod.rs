//! A world from the first request to the last: its inbox, its turns, its log, its checkpoints.

mod live;
mod open;
mod read;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use utoipa::ToSchema;

use super::config::Config;
use super::device::Device;
use super::op::{CommandRecord, Key, Op, Record};
use super::problem::Problem;
use super::store::{Store, checkpoint_name, log_name, saved_name};
use super::stream::Frame;
use super::writer::{Job, Writer};
use crate::WorldError;
use crate::gpu::DeviceError;
use crate::types::VACANT;
use live::{Live, Memory, Outcome, Play};
use open::Opened;
pub use open::{check_limits, facts as open_facts};
pub use read::{Format, QueryRecord, Read};

/// Records after which a world is written out, however little it computed.
const MOST_RECORDS: usize = 4096;
/// Requests taken in a turn.
const MOST_TAKEN: usize = 256;
/// Turns in a row in which the device was lost, after which the world itself is to blame.
const MOST_STRIKES: u32 = 3;
/// A world that plays and has fallen this far behind, s, lets the time go.
const MOST_BEHIND: f64 = 0.25;
/// Until a device or a store is tried again.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a client gets.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// MIME type.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// Whether it was given before.
    pub again: bool,
}

impl Answer {
    /// JSON.
    pub fn json(value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status: 200, content_type: "application/json", body, again: false }
    }
}

/// To whom it goes.
pub type Reply = oneshot::Sender<Result<Answer, Problem>>;

/// What the API asks of a session.
pub enum Request {
    /// A change of state.
    Write {
        /// What.
        op: Op,
        /// With which it can be asked again.
        key: Option<Key>,
        /// Until when steps may take.
        deadline: Option<Instant>,
        /// To whom.
        reply: Reply,
    },
    /// Nothing changes.
    Read(Read, Reply),
    /// Keep the state under a name.
    Save(String, Reply),
    /// Go back to it.
    Restore(String, Reply),
    /// Forget the world.
    Delete(Reply),
}

impl Request {
    fn refuse(self, problem: Problem) {
        let (Self::Write { reply, .. }
        | Self::Read(_, reply)
        | Self::Save(_, reply)
        | Self::Restore(_, reply)
        | Self::Delete(reply)) = self;
        // Nobody may listen any more.
        let _ = reply.send(Err(problem));
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write { .. } => "Write",
            Self::Read(..) => "Read",
            Self::Save(..) => "Save",
            Self::Restore(..) => "Restore",
            Self::Delete(_) => "Delete",
        })
    }
}

/// What never changes of a world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// As the client or the scene calls it.
    pub name: String,
    /// Seconds since 1970.
    pub created: u64,
    /// The key of the request that made it.
    #[serde(default)]
    pub key: Option<Key>,
}

/// How a world is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Status {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `starting`, `paused`, `stepping`, `playing` or `failed`.
    pub state: &'static str,
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Seconds a step.
    pub dt: f32,
    /// Bodies in it.
    pub bodies: usize,
    /// Joints likewise.
    pub joints: usize,
    /// Steps that were asked for and are not done.
    pub steps_to_go: u64,
    /// While it plays, times real time; nothing if as fast as it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// `cpu` or `gpu`.
    pub backend: &'static str,
    /// Seconds since 1970.
    pub created: u64,
    /// Milliseconds that a step took lately.
    pub ms_per_step: f64,
    /// Bodies and joints added and removed by hand so far.
    pub alterations: usize,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What others hold of a world.
#[derive(Debug)]
pub struct Handle {
    /// Its id.
    pub id: String,
    /// What never changes.
    pub facts: Facts,
    inbox: Mutex<VecDeque<Request>>,
    closed: AtomicBool,
    status: Mutex<Status>,
    /// The newest frame.
    pub frames: watch::Sender<Option<Arc<Frame>>>,
    /// Streams, and the shortest time between two frames that one of them wants, in microseconds.
    wanted: Mutex<HashMap<u64, u64>>,
    /// Somebody waits for a frame, also if nothing has changed.
    pub fresh: AtomicBool,
    next_stream: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    fn new(id: &str, facts: Facts) -> Self {
        let status = Status {
            id: id.to_owned(),
            name: facts.name.clone(),
            state: "starting",
            created: facts.created,
            ..Status::default()
        };
        Self {
            id: id.to_owned(),
            facts,
            inbox: Mutex::default(),
            closed: AtomicBool::new(false),
            status: Mutex::new(status),
            frames: watch::Sender::new(None),
            wanted: Mutex::default(),
            fresh: AtomicBool::new(false),
            next_stream: AtomicU64::new(0),
        }
    }

    /// Puts a request into the inbox.
    ///
    /// # Errors
    /// If it is full, or the world is gone.
    pub fn put(&self, request: Request, most: usize) -> Result<(), Problem> {
        let mut inbox = lock(&self.inbox);
        if self.closed.load(Ordering::SeqCst) {
            return Err(Problem::not_found(format!("there is no world {}", self.id)));
        }
        if inbox.len() >= most {
            metrics::counter!("drystone_inbox_full_total").increment(1);
            return Err(Problem::too_many(format!("{most} requests wait for this world already"), 1));
        }
        inbox.push_back(request);
        Ok(())
    }

    /// Whether something waits.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        !lock(&self.inbox).is_empty()
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Announces a stream that wants a frame so often. Give the number back to [`Self::leave`].
    pub fn join(&self, interval: Duration) -> u64 {
        let number = self.next_stream.fetch_add(1, Ordering::SeqCst);
        let interval = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        lock(&self.wanted).insert(number, interval);
        self.fresh.store(true, Ordering::SeqCst);
        number
    }

    /// The stream wants no more.
    pub fn leave(&self, number: u64) {
        lock(&self.wanted).remove(&number);
    }

    fn interval(&self) -> Option<Duration> {
        lock(&self.wanted).values().min().map(|&micros| Duration::from_micros(micros))
    }
}

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Limits and times.
    pub config: Arc<Config>,
    /// What worlds run on.
    pub device: Device,
    /// Where they are kept.
    pub store: Arc<Store>,
    /// Who writes.
    pub writer: Writer,
    /// Ids of worlds that should have a turn.
    pub pokes: std::sync::mpsc::Sender<Poke>,
}

/// A word to the scheduler.
#[derive(Debug)]
pub enum Poke {
    /// This world should have a turn.
    Turn(String),
    /// No more of them.
    End,
}

/// When a session wants its next turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wake {
    /// As soon as may be.
    Now,
    /// Then.
    At(Instant),
    /// When somebody asks.
    Idle,
    /// Never: the world is gone.
    Gone,
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
    /// What is told once the status shows it.
    outbox: Vec<(Reply, Result<Answer, Problem>)>,
    /// Who waits for the world to come back after a restore.
    restored: Option<Reply>,
    log: u64,
    good: u64,
    writing: Option<(Slot, u64)>,
    /// Jobs that have to end before the world is opened anew: they change its files.
    settling: Vec<Slot>,
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
            restored: None,
            log: 0,
            good: 0,
            writing: None,
            settling: Vec::new(),
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

    /// Runs for about `budget`: one step at least, if there is one to do. With `draining` nothing new is begun.
    pub fn turn(&mut self, budget: Duration, draining: bool) -> Wake {
        let end = Instant::now() + budget;
        let wake = match std::mem::replace(&mut self.phase, Phase::Closed(Instant::now())) {
            Phase::Closed(after) if Instant::now() < after => {
                self.phase = Phase::Closed(after);
                self.refuse_all(&Problem::device("no device can be had"));
                Wake::At(after)
            }
            Phase::Closed(_) => self.open(),
            Phase::Replaying(live, records) => self.replay(live, records, end),
            Phase::Failed(problem) => self.failed(problem),
            Phase::Live(live) if live.device != self.shared.device.generation() => {
                drop(live);
                self.lost("another world noticed")
            }
            Phase::Live(mut live) => {
                let wake = self.live(&mut live, end, draining);
                // Unless the turn decided otherwise.
                match wake {
                    Ok(wake) => {
                        self.phase = Phase::Live(live);
                        wake
                    }
                    Err(Broken::Gone) => Wake::Gone,
                    Err(Broken::Reopen) => Wake::Now,
                    Err(Broken::Device(error)) => {
                        self.strikes += 1;
                        if live.device == self.shared.device.generation()
                            && let Err(problem) = self.shared.device.renew(live.device)
                        {
                            tracing::error!(world = self.handle.id, problem, "no device");
                            drop(live);
                            let _ = self.lost(&error);
                            self.phase = Phase::Closed(Instant::now() + PATIENCE);
                            return Wake::At(Instant::now() + PATIENCE);
                        }
                        drop(live);
                        self.lost(&error)
                    }
                }
            }
        };
        self.publish();
        self.send();
        wake
    }

    /// Whoever hears of a change finds it in the status.
    fn send(&mut self) {
        for (reply, answer) in self.outbox.drain(..) {
            // Nobody may listen any more.
            let _ = reply.send(answer);
        }
    }

    /// A turn went wrong in a way that should not be.
    pub fn broke(&mut self, what: &str) {
        let problem = Problem::internal(what.to_owned());
        self.refuse_waiting(&problem);
        if let Some(reply) = self.restored.take() {
            let _ = reply.send(Err(problem.clone()));
        }
        self.phase = Phase::Failed(problem);
        self.publish();
        self.send();
    }

    /// Whether nothing is left to be written.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let open = !matches!(self.phase, Phase::Live(_)) || (!self.changed && self.own.is_empty());
        open && self.hold.is_none() && self.writing.is_none()
    }

    fn open(&mut self) -> Wake {
        self.learn_of_checkpoint();
        self.settling.retain(|slot| lock(slot).is_none());
        if !self.settling.is_empty() || self.writing.is_some() {
            return Wake::Idle;
        }
        match open::open(&self.shared, &self.handle.id) {
            Ok(Opened { live, records, log, good }) => {
                (self.log, self.good) = (log, good);
                (self.cost, self.records, self.changed) = (Duration::ZERO, records.len(), !records.is_empty());
                (self.anchor, self.framed) = (None, None);
                self.phase = Phase::Replaying(live, records);
                Wake::Now
            }
            Err(open::OpenError::Device(error, generation)) => {
                self.strikes += 1;
                if self.strikes >= MOST_STRIKES {
                    return self.fail(Problem::limit(format!("the device is lost whenever the world runs: {error}")));
                }
                let renewed = self.shared.device.renew(generation);
                let after = Instant::now() + if renewed.is_ok() { Duration::ZERO } else { PATIENCE };
                self.phase = Phase::Closed(after);
                Wake::At(after)
            }
            Err(open::OpenError::Problem(problem)) => self.fail(*problem),
        }
    }

    fn fail(&mut self, problem: Problem) -> Wake {
        tracing::error!(world = self.handle.id, detail = problem.detail, "the world cannot be used");
        if let Some(reply) = self.restored.take() {
            let _ = reply.send(Err(problem.clone()));
        }
        self.refuse_waiting(&problem);
        self.phase = Phase::Failed(problem);
        Wake::Now
    }

    /// Goes through what the log says, as it went before.
    fn replay(&mut self, mut live: Box<Live>, mut records: VecDeque<Record>, end: Instant) -> Wake {
        loop {
            let steps = live.world.steps();
            match records.front() {
                None => {
                    self.phase = Phase::Live(live);
                    if let Some(reply) = self.restored.take() {
                        self.outbox.push((reply, Ok(Answer::json(&json!({ "step": steps })))));
                    }
                    return Wake::Now;
                }
                Some(record) if record.at <= steps => {
                    let Some(record) = records.pop_front() else { continue };
                    if self.apply(&mut live, record, None, None).is_err() {
                        return self.lost("while the log was gone through");
                    }
                }
                Some(_) => {
                    if let Err(error) = live.step() {
                        if let WorldError::Device(error) = error {
                            let _ = self.shared.device.renew(live.device);
                            self.strikes += 1;
                            if self.strikes >= MOST_STRIKES {
                                let detail = format!("the device is lost whenever the world runs: {error}");
                                return self.fail(Problem::limit(detail));
                            }
                            return self.lost(&error.to_string());
                        }
                        return self.fail(Problem::from(error));
                    }
                    self.done_step(&mut live);
                }
            }
            if Instant::now() >= end {
                self.phase = Phase::Replaying(live, records);
                return Wake::Now;
            }
        }
    }

    /// The device is gone, and the world's state with it. Who waits should ask again.
    fn lost(&mut self, why: &str) -> Wake {
        tracing::warn!(world = self.handle.id, why, "the device was lost, the world is restored");
        if self.strikes >= MOST_STRIKES {
            return self.fail(Problem::limit(format!("the device is lost whenever the world runs: {why}")));
        }
        let problem = Problem::device(why.to_owned());
        self.refuse_waiting(&problem);
        match self.hold.take() {
            Some(Hold::Restore(reply, slot, _)) => {
                let _ = reply.send(Err(problem));
                self.settling.push(slot);
            }
            Some(hold @ Hold::Delete(..)) => {
                self.hold = Some(hold);
                self.phase = Phase::Failed(problem);
                return Wake::Now;
            }
            _ => {}
        }
        self.phase = Phase::Closed(Instant::now());
        Wake::Now
    }

    fn refuse_waiting(&mut self, problem: &Problem) {
        self.refuse_goals(problem);
        // What a world that is gone had come to is come to again.
        for reply in self.own.drain(..).filter_map(|(_, _, reply)| reply) {
            let _ = reply.send(Err(problem.clone()));
        }
        self.hold = match self.hold.take() {
            Some(Hold::Log(batch, slot)) => {
                for reply in batch.into_iter().filter_map(|(_, reply, _)| reply) {
                    let _ = reply.send(Err(problem.clone()));
                }
                // It will be there or not; nobody was told.
                self.settling.push(slot);
                None
            }
            hold => hold,
        };
    }

    fn refuse_goals(&mut self, problem: &Problem) {
        for reply in self.waiting.drain().filter_map(|(_, waiting)| waiting.reply) {
            let _ = reply.send(Err(problem.clone()));
        }
    }

    fn refuse_all(&mut self, problem: &Problem) {
        let requests: Vec<Request> = lock(&self.handle.inbox).drain(..).collect();
        for request in requests {
            request.refuse(problem.clone());
        }
    }

    /// Only deleting works.
    fn failed(&mut self, problem: Problem) -> Wake {
        if let Some(Hold::Delete(reply, slot)) = self.hold.take() {
            match lock(&slot).take() {
                None => {}
                Some(Ok(())) => {
                    self.close(reply);
                    return Wake::Gone;
                }
                Some(Err(error)) => {
                    let _ = reply.send(Err(Problem::store(error.to_string())));
                    self.phase = Phase::Failed(problem);
                    return Wake::Idle;
                }
            }
            self.hold = Some(Hold::Delete(reply, slot));
            self.phase = Phase::Failed(problem);
            return Wake::Idle;
        }
        let requests: Vec<Request> = lock(&self.handle.inbox).drain(..).collect();
        for request in requests {
            match request {
                Request::Delete(reply) if self.hold.is_none() => self.delete(reply),
                request => request.refuse(problem.clone()),
            }
        }
        self.phase = Phase::Failed(problem);
        Wake::Idle
    }

    fn close(&mut self, reply: Reply) {
        self.handle.closed.store(true, Ordering::SeqCst);
        let gone = Problem::not_found(format!("there is no world {} any more", self.handle.id));
        self.refuse_waiting(&gone);
        self.refuse_all(&gone);
        let _ = reply.send(Ok(Answer { status: 204, content_type: "", body: Vec::new(), again: false }));
    }

    /// A slot that is filled, and the world poked, when a job is done.
    fn slot(&self) -> (Slot, super::writer::Done) {
        let slot: Slot = Arc::default();
        let (filled, id, pokes) = (slot.clone(), self.handle.id.clone(), self.shared.pokes.clone());
        let done = Box::new(move |outcome| {
            *lock(&filled) = Some(outcome);
            let _ = pokes.send(Poke::Turn(id));
        });
        (slot, done)
    }

    fn delete(&mut self, reply: Reply) {
        let (slot, done) = self.slot();
        let id = self.handle.id.clone();
        self.shared.writer.give(Job::Slow { work: Box::new(move |store| store.delete(&id)), done });
        self.hold = Some(Hold::Delete(reply, slot));
    }

    fn live(&mut self, live: &mut Live, end: Instant, draining: bool) -> Result<Wake, Broken> {
        self.learn_of_checkpoint();
        if let Some(hold) = self.hold.take()
            && let Some(hold) = self.held(live, hold, draining)?
        {
            self.hold = Some(hold);
            self.frame(live)?;
            return Ok(Wake::Idle);
        }
        if !self.outbox.is_empty() {
            // Nobody waits for a step to hear of what is done.
            return Ok(Wake::Now);
        }
        let batch = self.receive(live, draining)?;
        if !batch.is_empty() {
            self.log_batch(batch);
            self.frame(live)?;
            return Ok(Wake::Idle);
        }
        if self.hold.is_some() {
            return Ok(Wake::Idle);
        }
        let wake = if draining {
            // What they asked for is in the log, and goes on after the restart.
            self.refuse_goals(&Problem::unavailable("the service is stopping; the steps go on when it is back"));
            Wake::Idle
        } else {
            self.steps(live, end)?
        };
        let framed = self.frame(live)?;
        if !self.own.is_empty() {
            // Before a checkpoint, which would not know of it.
            return Ok(if Instant::now() < self.next_try { Wake::At(self.next_try) } else { Wake::Now });
        }
        self.checkpoint_if_due(live, draining)?;
        if !self.blocked && self.handle.has_requests() {
            return Ok(Wake::Now);
        }
        Ok(match (wake, framed) {
            (Wake::At(a), Some(b)) => Wake::At(a.min(b)),
            (Wake::Idle, Some(at)) => Wake::At(at),
            (wake, _) => wake,
        })
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
                        let problem = Problem::store(error.to_string());
                        for (record, reply, _) in batch {
                            let is_own = matches!(record.op, Op::Reached { .. }) || reply.is_none();
                            if is_own && !draining {
                                // Of our own making: it is tried again.
                                self.own.push((record.op, record.key, reply));
                            } else if let Some(reply) = reply {
                                let _ = reply.send(Err(problem.clone()));
                            }
                        }
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
                        // Should its file be there after all, it would be taken for the newest.
                        let _ = self.shared.store.remove(&self.handle.id, &checkpoint_name(number));
                        let problem = match error.kind() {
                            io::ErrorKind::NotFound => Problem::not_found("there is no checkpoint of this name"),
                            io::ErrorKind::InvalidData => Problem::damaged(error.to_string()),
                            _ => Problem::store(error.to_string()),
                        };
                        let _ = reply.send(Err(problem));
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
                    Err(error) => {
                        let _ = reply.send(Err(Problem::store(error.to_string())));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Reads the inbox: answers what can be answered now, and gives back what has to be logged first.
    fn receive(&mut self, live: &mut Live, draining: bool) -> Result<Batch, Broken> {
        let mut batch: Batch = Vec::new();
        let at = live.world.steps();
        self.blocked = false;
        if Instant::now() >= self.next_try {
            batch.extend(self.own.drain(..).map(|(op, key, reply)| (Record { at, op, key }, reply, None)));
        }
        for _ in 0..MOST_TAKEN {
            let Some(request) = lock(&self.handle.inbox).pop_front() else { break };
            match request {
                Request::Write { op, key, deadline, reply } => {
                    if draining {
                        let _ = reply.send(Err(Problem::unavailable("the service is stopping")));
                        continue;
                    }
                    // Done just now, and nobody waits for it since a restart.
                    let same =
                        batch.iter_mut().find(|(record, to, _)| to.is_none() && key.is_some() && record.key == key);
                    if let Some((_, to, _)) = same {
                        *to = Some(reply);
                        continue;
                    }
                    let Some(reply) = self.join(live, key.as_ref(), deadline, reply) else { continue };
                    match self.admit(live, &op, key.as_ref(), &batch) {
                        Ok(None) => batch.push((Record { at, op, key }, Some(reply), deadline)),
                        Ok(Some(answer)) => {
                            let _ = reply.send(answer);
                        }
                        Err(problem) => {
                            let _ = reply.send(Err(problem));
                        }
                    }
                }
                Request::Read(what, reply) => {
                    if reply.is_closed() {
                        continue;
                    }
                    match read::answer(live, what) {
                        Err(WorldError::Device(error)) => {
                            let _ = reply.send(Err(Problem::device(error.to_string())));
                            return Err(Broken::of(&error));
                        }
                        Err(error) => {
                            let _ = reply.send(Err(Problem::from(error)));
                        }
                        Ok(answer) => {
                            let _ = reply.send(answer);
                        }
                    }
                }
                special if !batch.is_empty() || (self.writing.is_some() && !matches!(special, Request::Save(..))) => {
                    // In its turn, after what came before it.
                    lock(&self.handle.inbox).push_front(special);
                    self.blocked = batch.is_empty();
                    break;
                }
                Request::Save(name, reply) => self.save(live, name, reply)?,
                Request::Restore(name, reply) => {
                    self.restore(live, &name, reply);
                    break;
                }
                Request::Delete(reply) => {
                    self.delete(reply);
                    break;
                }
            }
        }
        Ok(batch)
    }

    /// Who asks again for steps that nobody waits for any more, after a restart perhaps, waits for those.
    fn join(&mut self, live: &Live, key: Option<&Key>, deadline: Option<Instant>, reply: Reply) -> Option<Reply> {
        let same = live.memory.goals.iter().find(|goal| key.is_some() && goal.key.as_ref() == key);
        let Some(goal) = same else { return Some(reply) };
        let waiting = self.waiting.entry(goal.request);
        let waiting = waiting.or_insert(Waiting { reply: None, deadline: None, has_key: true });
        if waiting.reply.as_ref().is_some_and(|reply| !reply.is_closed()) {
            return Some(reply);
        }
        (waiting.reply, waiting.deadline) = (Some(reply), deadline);
        None
    }

    /// Whether a change may be logged: beyond this point its outcome depends on the world alone. Or its answer, if it was
    /// given before.
    fn admit(
        &self,
        live: &Live,
        op: &Op,
        key: Option<&Key>,
        batch: &Batch,
    ) -> Result<Option<Result<Answer, Problem>>, Problem> {
        if let Some(key) = key {
            let differs = || Problem::invalid("the key was used for another request").at("Idempotency-Key");
            if let Some(answered) = live.answered(key) {
                if answered.key.hash != key.hash {
                    return Err(differs());
                }
                let content_type = if answered.status >= 400 { "application/problem+json" } else { "application/json" };
                let (status, body) = (answered.status, answered.body.clone().into_bytes());
                return Ok(Some(Ok(Answer { status, content_type, body, again: true })));
            }
            let asked = live.memory.goals.iter().filter_map(|goal| goal.key.as_ref());
            let asked = asked.chain(batch.iter().filter_map(|(record, ..)| record.key.as_ref()));
            if let Some(same) = asked.into_iter().find(|asked| asked.name == key.name) {
                let busy = Problem::conflict("the first request with this key is still being worked on");
                return Err(if same.hash == key.hash { busy } else { differs() });
            }
        }
        let limits = &self.shared.config.limits;
        match op {
            Op::Step { .. } if live.memory.play.is_some() => {
                Err(Problem::conflict("the world plays; pause it before asking for steps"))
            }
            Op::Play { .. } if !live.memory.goals.is_empty() => {
                Err(Problem::conflict("the world has steps to do; wait for them, or pause it"))
            }
            Op::Commands(commands) => {
                let (bodies, joints, alterations) = brings(commands);
                let waiting = batch.iter().filter_map(|(record, ..)| match &record.op {
                    Op::Commands(commands) => Some(brings(commands)),
                    _ => None,
                });
                let before = waiting.fold((0, 0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2));
                if bodies + joints + alterations == 0 {
                    return Ok(None);
                }
                let (now_bodies, now_joints) = population(live);
                for (what, now, more, most) in [
                    ("bodies", now_bodies, before.0 + bodies, limits.bodies),
                    ("joints", now_joints, before.1 + joints, limits.joints),
                    (
                        "bodies and joints added or removed by hand",
                        live.memory.journal.len(),
                        before.2 + alterations,
                        limits.alterations,
                    ),
                ] {
                    if more > 0 && now + more > most {
                        let detail = format!("the world would come to {} {what}; at most {most}", now + more);
                        return Err(Problem::limit(detail).at("commands"));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn log_batch(&mut self, batch: Batch) {
        let mut records = Vec::with_capacity(batch.len());
        for (record, ..) in &batch {
            // Plain data: it can always be written.
            records.push(serde_json::to_vec(record).unwrap_or_default());
        }
        let (slot, done) = self.slot();
        self.hold = Some(Hold::Log(batch, slot));
        self.shared.writer.give(Job::Append { id: self.handle.id.clone(), log: self.log, records, done });
    }

    /// Does what is in the log.
    fn apply(
        &mut self,
        live: &mut Live,
        record: Record,
        reply: Option<Reply>,
        deadline: Option<Instant>,
    ) -> Result<(), Broken> {
        let Record { op, key, .. } = record;
        let outcome: Outcome = match op {
            Op::Commands(commands) => live.command(&commands),
            Op::Step { steps } => {
                let has_key = key.is_some();
                let request = live.ask_steps(steps, key);
                self.waiting.insert(request, Waiting { reply, deadline, has_key });
                return Ok(());
            }
            Op::Reached { request, answer } => {
                // When the log is gone through it was noticed, and is in the log already.
                self.own.retain(|(op, ..)| !matches!(op, Op::Reached { request: own, .. } if *own == request));
                Ok(answer)
            }
            Op::Halt { request, reason } => {
                if let Some((request, answer)) = live.halt(request, &reason) {
                    self.tell(request, &answer);
                }
                Ok(Value::Null)
            }
            Op::Play { speed } => {
                live.memory.play = Some(Play { speed });
                self.anchor = None;
                Ok(json!({ "step": live.world.steps(), "playing": true, "speed": speed }))
            }
            Op::Pause => {
                live.memory.play = None;
                let requests: Vec<u64> = live.memory.goals.iter().map(|goal| goal.request).collect();
                for request in requests {
                    if let Some((request, answer)) = live.halt(request, "the world was paused") {
                        self.tell(request, &answer);
                    }
                }
                Ok(json!({ "step": live.world.steps(), "playing": false }))
            }
        };
        if let Err(problem) = &outcome
            && problem.status == 503
        {
            if let Some(reply) = reply {
                let _ = reply.send(Err(problem.clone()));
            }
            return Err(Broken::Device(problem.detail.clone()));
        }
        live.remember(key, &outcome);
        self.handle.fresh.store(true, Ordering::SeqCst);
        if let Some(reply) = reply {
            self.outbox.push((reply, outcome.map(|body| Answer::json(&body))));
        }
        Ok(())
    }

    /// Tells who waits for steps that they were ended.
    fn tell(&mut self, request: u64, answer: &Value) {
        if let Some(reply) = self.waiting.remove(&request).and_then(|waiting| waiting.reply) {
            self.outbox.push((reply, Ok(Answer::json(answer))));
        }
    }

    fn done_step(&mut self, live: &mut Live) {
        self.changed = true;
        if let Some((goal, answer)) = live.stepped() {
            let request = goal.request;
            let reply = self.waiting.remove(&request).and_then(|waiting| waiting.reply);
            self.own.push((Op::Reached { request, answer }, goal.key, reply));
        }
    }

    /// Steps that were asked for, or that are due.
    fn steps(&mut self, live: &mut Live, end: Instant) -> Result<Wake, Broken> {
        loop {
            let now = Instant::now();
            if let Some(goal) = live.memory.goals.front() {
                if let Some(waiting) = self.waiting.get(&goal.request) {
                    let late = waiting.deadline.is_some_and(|deadline| now >= deadline);
                    let gone = !waiting.has_key && waiting.reply.as_ref().is_some_and(oneshot::Sender::is_closed);
                    if late || gone {
                        let reason = if late { "the deadline has passed" } else { "the client has gone" };
                        if self.own.is_empty() {
                            let halt = Op::Halt { request: goal.request, reason: reason.to_owned() };
                            self.own.push((halt, None, None));
                        }
                        // Not before the log can be tried again.
                        return Ok(if now < self.next_try { Wake::At(self.next_try) } else { Wake::Now });
                    }
                }
            } else if let Some(play) = live.memory.play {
                if let Some(at) = self.due(live, play, now) {
                    return Ok(Wake::At(at));
                }
            } else {
                return Ok(Wake::Idle);
            }
            match live.step() {
                Ok(()) => {}
                Err(WorldError::Device(error)) => return Err(Broken::of(&error)),
                Err(error) => {
                    // The world is as it was before the step, and cannot go on.
                    let reason = error.to_string();
                    tracing::warn!(world = self.handle.id, reason, "the world cannot go on");
                    let halts = live.memory.goals.iter();
                    let halts = halts.map(|goal| Op::Halt { request: goal.request, reason: reason.clone() });
                    self.own.extend(halts.chain([Op::Pause]).map(|op| (op, None, None)));
                    return Ok(Wake::Now);
                }
            }
            let took = now.elapsed();
            self.strikes = 0;
            self.cost += took;
            self.ms_per_step = 0.9 * self.ms_per_step + 0.1 * 1e3 * took.as_secs_f64();
            metrics::counter!("drystone_steps_total").increment(1);
            self.done_step(live);
            if !self.own.is_empty() || Instant::now() >= end {
                return Ok(Wake::Now);
            }
        }
    }

    /// When the next step of a world that plays is due, if not now.
    fn due(&mut self, live: &Live, play: Play, now: Instant) -> Option<Instant> {
        let speed = play.speed?;
        let steps = live.world.steps();
        let (since, first) = *self.anchor.get_or_insert((now, steps));
        let dt = f64::from(live.world.compiled().settings.dt) / speed;
        let at = since + Duration::try_from_secs_f64((steps + 1 - first) as f64 * dt).unwrap_or(Duration::MAX / 4);
        if at > now {
            return Some(at);
        }
        if (now - at).as_secs_f64() > MOST_BEHIND.max(dt) {
            self.anchor = Some((now, steps));
        }
        None
    }

    /// Takes a frame if a stream wants one. Returns when it wants the next, if something has changed by then.
    fn frame(&mut self, live: &mut Live) -> Result<Option<Instant>, Broken> {
        let Some(interval) = self.handle.interval() else { return Ok(None) };
        let fresh = self.handle.fresh.load(Ordering::SeqCst);
        let (now, steps) = (Instant::now(), live.world.steps());
        if let Some((at, step)) = self.framed {
            if step == steps && !fresh {
                return Ok(None);
            }
            let next = at + interval.mul_f64(0.9);
            if next > now && !(fresh && step == steps) {
                return Ok(Some(next));
            }
        }
        self.handle.fresh.store(false, Ordering::SeqCst);
        let frame = match Frame::take(&mut live.world) {
            Ok(frame) => frame,
            Err(WorldError::Device(error)) => return Err(Broken::of(&error)),
            Err(_) => return Ok(None),
        };
        self.framed = Some((now, steps));
        metrics::counter!("drystone_frames_total").increment(1);
        self.handle.frames.send_replace(Some(Arc::new(frame)));
        Ok(None)
    }

    fn checkpoint_if_due(&mut self, live: &mut Live, draining: bool) -> Result<(), Broken> {
        let due = self.cost.as_secs_f64() >= self.shared.config.checkpoint_seconds || self.records >= MOST_RECORDS;
        let may = self.changed && self.writing.is_none() && Instant::now() >= self.next_try;
        if !(may && (due || draining)) {
            return Ok(());
        }
        let snapshot = live.world.save().map_err(|error| Broken::of_world(&error))?;
        let memory = serde_json::to_vec(&live.memory).unwrap_or_default();
        let (id, number, good) = (self.handle.id.clone(), self.log + 1, self.good);
        self.shared.store.close_log(&id, self.log);
        self.log = number;
        (self.cost, self.records, self.changed) = (Duration::ZERO, 0, false);
        let (slot, done) = self.slot();
        let work = move |store: &Store| {
            store.write(&id, &checkpoint_name(number), &memory, &snapshot)?;
            prune(store, &id, good);
            Ok(())
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done });
        self.writing = Some((slot, number));
        Ok(())
    }

    fn learn_of_checkpoint(&mut self) {
        let Some((slot, number)) = self.writing.take() else { return };
        let outcome = lock(&slot).take();
        match outcome {
            None => self.writing = Some((slot, number)),
            Some(Ok(())) => {
                metrics::counter!("drystone_checkpoints_total").increment(1);
                self.good = number;
            }
            Some(Err(error)) => {
                metrics::counter!("drystone_checkpoint_failures_total").increment(1);
                tracing::warn!(world = self.handle.id, %error, "no checkpoint; the log goes on");
                self.changed = true;
                self.next_try = Instant::now() + PATIENCE;
            }
        }
    }

    /// Keeps the state under a name: the world stands, with nobody waiting for steps.
    fn save(&mut self, live: &mut Live, name: String, reply: Reply) -> Result<(), Broken> {
        let snapshot = live.world.save().map_err(|error| Broken::of_world(&error))?;
        let memory = Memory { goals: VecDeque::new(), play: None, answers: VecDeque::new(), ..live.memory.clone() };
        let memory = serde_json::to_vec(&memory).unwrap_or_default();
        let (id, most) = (self.handle.id.clone(), self.shared.config.limits.checkpoints);
        let answer = Answer::json(&json!({ "checkpoint": name, "step": live.world.steps() }));
        let too_many = io::ErrorKind::QuotaExceeded;
        let work = move |store: &Store| {
            let saved = store.list(&id)?.saved;
            if saved.len() >= most && !saved.contains(&name) {
                return Err(io::Error::new(too_many, format!("the world has {most} checkpoints already")));
            }
            store.write(&id, &saved_name(&name), &memory, &snapshot)
        };
        let done = move |outcome: io::Result<()>| {
            let _ = reply.send(match outcome {
                Ok(()) => Ok(answer),
                Err(error) if error.kind() == too_many => Err(Problem::limit(error.to_string())),
                Err(error) => Err(Problem::store(error.to_string())),
            });
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done: Box::new(done) });
        Ok(())
    }

    /// Makes a checkpoint with a name the newest one. Once it is in place the world is opened anew.
    fn restore(&mut self, live: &Live, name: &str, reply: Reply) {
        if live.memory.play.is_some() || !live.memory.goals.is_empty() {
            let _ = reply.send(Err(Problem::conflict("the world steps; pause it before it is restored")));
            return;
        }
        let (id, number, file, good) = (self.handle.id.clone(), self.log + 1, saved_name(name), self.good);
        let (answers, requests) = (live.memory.answers.clone(), live.memory.requests);
        let (slot, done) = self.slot();
        let work = move |store: &Store| {
            let (memory, snapshot) = store.read(&id, &file)?;
            let memory: Memory = serde_json::from_slice(&memory)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            // Who asks again after the restore is still known.
            let memory = Memory { requests, answers, ..memory };
            let memory = serde_json::to_vec(&memory).unwrap_or_default();
            store.write(&id, &checkpoint_name(number), &memory, &snapshot)?;
            prune(store, &id, good);
            Ok(())
        };
        self.shared.writer.give(Job::Slow { work: Box::new(work), done });
        self.hold = Some(Hold::Restore(reply, slot, number));
    }

    fn publish(&self) {
        let mut status = lock(&self.handle.status);
        status.backend = self.shared.device.backend();
        status.ms_per_step = self.ms_per_step;
        match &self.phase {
            Phase::Closed(_) => status.state = "starting",
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

/// What is older than the checkpoint before the newest one is not needed any more. What cannot be removed stays.
fn prune(store: &Store, id: &str, good: u64) {
    let Ok(listing) = store.list(id) else { return };
    let checkpoints = listing.checkpoints.into_iter().filter(|&number| number < good).map(checkpoint_name);
    let logs = listing.logs.into_iter().filter(|&number| number < good);
    for log in logs {
        store.close_log(id, log);
        let _ = store.remove(id, &log_name(log));
    }
    for name in checkpoints {
        let _ = store.remove(id, &name);
    }
}

/// Bodies and joints that there are.
fn population(live: &Live) -> (usize, usize) {
    let compiled = live.world.compiled();
    (compiled.bodies.iter().filter(|body| body.kind != VACANT).count(), compiled.joints.count())
}

/// Bodies, joints and entries of the journal that commands bring at most.
fn brings(commands: &[CommandRecord]) -> (usize, usize, usize) {
    commands.iter().fold((0, 0, 0), |(b, j, a), command| match command {
        CommandRecord::Spawn { bodies, joints } => {
            (b + bodies.len(), j + joints.len(), a + bodies.len() + joints.len())
        }
        CommandRecord::Join { .. } | CommandRecord::Mouse { body: Some(_), .. } => (b, j + 1, a + 1),
        CommandRecord::Remove { .. } | CommandRecord::Unjoin { .. } => (b, j, a + 1),
        _ => (b, j, a),
    })
}
