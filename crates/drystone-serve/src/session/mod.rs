//! Session of a world: its inbox, its time slices, its log and its checkpoints, from creation to deletion.
//!
//! A session is owned by the [`scheduler`](crate::scheduler), which gives it time slices. Other threads see its
//! [`Handle`]:
//!
//! ```
//! use drystone_serve::scheduler::Scheduler;
//!
//! fn list(scheduler: &Scheduler) {
//!     for world in scheduler.worlds() {
//!         println!("{}", world.id);
//!     }
//! }
//! ```

mod bodies;
mod give_up;
mod handle;
mod inbox;
mod keep;
mod keys;
mod live;
mod open;
mod read;
mod reopen;
mod request;
mod rest;
mod rewind;
mod series;
mod shared;
mod steps;
mod time_slice;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::answers::wide;
use super::lock;
use super::op::{LogRecord, Op, RequestKey};
use super::problem::Problem;
use super::store::{LogEnd, checkpoint_name};
use super::stream::StreamFrame;
pub use bodies::{BodyQuota, ReservedBodies};
use drystone::WorldError;
use drystone::low_level::gpu::DeviceError;
use drystone::low_level::types::VACANT;
pub use handle::{GiveUp, Handle, Status, WorldFacts};
use keys::Spill;
use live::{Live, Ring};
pub use live::{PastBody, PastState};
pub use open::{check_limits, check_work, facts as open_facts};
use read::Asking;
pub use read::{Charge, Format, QueryRecord, Read, RequestQueries};
pub use request::{Answer, ReplySender, SessionRequest};
use rewind::Rewinding;
use series::SeriesRecorder;
pub use series::SeriesRequest;
pub use shared::{NextWake, Poke, Shared};
use time_slice::SliceProgress;

/// Interval of retries after a failure of the device or the store.
const PATIENCE: Duration = Duration::from_secs(1);

enum Phase {
    /// Not in memory; to be opened at that time.
    Closed(Instant),
    /// Replays its log.
    Replaying(Box<Live>, VecDeque<LogRecord>),
    /// A step was cancelled or found too many contacts, and the state is unusable. The end of the request goes to
    /// the log, then the world is opened again.
    GivenUp(Box<Live>),
    /// Idle, and only on disk. Its newest events stay in memory.
    Asleep(Ring),
    /// In memory and up to date.
    Live(Box<Live>),
    /// Unusable. It can only be deleted.
    Failed(Problem),
}

/// Client that waits for steps.
#[derive(Debug)]
struct StepWaiter {
    reply: Option<ReplySender>,
    deadline: Option<Instant>,
    has_key: bool,
}

/// Record for the log, with the client to answer and its deadline. The session's own records have no client.
type LogBatchEntry = (LogRecord, Option<ReplySender>, Option<Instant>);
type LogBatch = Vec<LogBatchEntry>;
type WriteResult = Arc<Mutex<Option<io::Result<()>>>>;

/// Operation that the session waits for.
enum PendingWrite {
    /// Writing of log records.
    Log(LogBatch, WriteResult),
    /// Restoring of a named checkpoint.
    Restore(ReplySender, WriteResult, u64),
    /// Writing of the rewound state as a checkpoint.
    Rewind(ReplySender, WriteResult, u64),
    /// Deletion of the world.
    Delete(ReplySender, WriteResult),
}

/// World with everything that belongs to it. The worker that runs its time slice owns it.
pub struct Session {
    handle: Arc<Handle>,
    shared: Arc<Shared>,
    phase: Phase,
    hold: Option<PendingWrite>,
    waiting: HashMap<u64, StepWaiter>,
    /// Records to be logged with the next batch, before its own.
    own: Vec<(Op, Option<RequestKey>, Option<ReplySender>)>,
    /// Answers that are sent at the end of the time slice, once the status shows their effect.
    outbox: Vec<(ReplySender, Result<Answer, Problem>)>,
    /// Frame of this time slice. Streams see it after the status, too.
    shown: Option<Arc<StreamFrame>>,
    /// Client that waits for the world to be open again after a restore.
    restored: Option<ReplySender>,
    /// Rewind in progress.
    rewinding: Option<Rewinding>,
    time_slice: SliceProgress,
    draining: bool,
    /// False for a time slice that only answers or ends something: it begins no step and opens nothing.
    pub may_take_long: bool,
    /// False for a time slice that answers, perhaps for long, and begins no step.
    pub may_step: bool,
    /// Position of the next log record.
    log: LogEnd,
    /// Position after the records that are being written.
    grown: Option<LogEnd>,
    good: u64,
    /// Set while a named checkpoint is being written.
    saving: Arc<AtomicBool>,
    writing: Option<(WriteResult, u64)>,
    /// Answers that leave memory with the checkpoint in progress.
    spilling: Option<Spill>,
    /// Answers whose file is durable.
    spilled: Option<Spill>,
    /// Queries in progress. The world does not step meanwhile.
    asking: Option<Asking>,
    /// Jobs that must end before the world is opened again: they change its files.
    settling: Vec<WriteResult>,
    /// Pending claim of the world in the store.
    taking: Option<WriteResult>,
    /// Reason why the world waits for the store.
    away: Option<Problem>,
    /// Set once another service has fenced the world.
    fenced: Option<Problem>,
    /// Set if the content of the store is in doubt: the world is to be opened again.
    doubtful: Option<Problem>,
    /// True if the first request in the inbox waits for a checkpoint.
    blocked: bool,
    next_try: Instant,
    cost: Duration,
    records: usize,
    changed: bool,
    failures: u32,
    anchor: Option<(Instant, u64)>,
    framed: Option<(Instant, u64)>,
    ms_per_step: f64,
    /// Reason why the last step was cancelled.
    given_up: Option<GiveUp>,
    /// Reason why the world stopped, until it steps again.
    stalled: Option<String>,
    /// Time since which the world has had nothing to do.
    idle_since: Option<Instant>,
    /// True while the world returns from disk; `ring` has its events.
    waking: bool,
    ring: Option<Ring>,
    /// Recorder of series, while clients ask for them.
    recorder: Option<SeriesRecorder>,
    /// Time since which the world has waited for memory.
    cramped: Option<Instant>,
    /// Reason why the world is not in memory, if there was no room.
    no_room: Option<String>,
    /// True if the world may have unfinished steps without a client: it is opened when there is memory.
    owes: bool,
    /// Number of bodies counted for this world among all and among those in memory.
    counted: usize,
    resident: usize,
}

impl Drop for Session {
    fn drop(&mut self) {
        let owner = &self.handle.facts.owner;
        self.shared.total.change(owner, self.counted, 0);
        self.shared.resident.change(owner, self.resident, 0);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.handle.id).finish_non_exhaustive()
    }
}

impl Session {
    /// Creates the session of a stored world, which is opened in the first time slice.
    #[must_use]
    pub fn new(id: &str, facts: WorldFacts, shared: Arc<Shared>) -> (Self, Arc<Handle>) {
        let handle = Arc::new(Handle::new(id, facts));
        let counted = handle.facts.bodies;
        shared.total.change(&handle.facts.owner, 0, counted);
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
            rewinding: None,
            time_slice: SliceProgress::Over(NextWake::Idle),
            draining: false,
            may_take_long: true,
            may_step: true,
            log: LogEnd::default(),
            grown: None,
            good: 0,
            saving: Arc::default(),
            writing: None,
            spilling: None,
            spilled: None,
            asking: None,
            settling: Vec::new(),
            taking: None,
            away: None,
            fenced: None,
            doubtful: None,
            blocked: false,
            next_try: Instant::now(),
            cost: Duration::ZERO,
            records: 0,
            changed: false,
            failures: 0,
            anchor: None,
            framed: None,
            ms_per_step: 0.0,
            given_up: None,
            stalled: None,
            idle_since: None,
            waking: false,
            ring: None,
            recorder: None,
            cramped: None,
            no_room: None,
            owes: false,
            counted,
            resident: 0,
        };
        (session, handle)
    }

    /// Returns the shared handle.
    #[must_use]
    pub fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Sends the answers, then the frame, after the status has been updated.
    fn send(&mut self) {
        for (reply, answer) in self.outbox.drain(..) {
            // The client may have disconnected.
            let _ = reply.send(answer);
        }
        if let Some(frame) = self.shown.take() {
            self.handle.frames.send_replace(Some(frame));
        }
    }

    /// Queues an answer for the end of the time slice.
    fn answer(&mut self, reply: ReplySender, answer: Result<Answer, Problem>) {
        self.outbox.push((reply, answer));
    }

    /// Fails a world before it is opened.
    pub fn fail_unopened(&mut self, why: String) {
        tracing::error!(world = self.handle.id, why, "the world will not be opened");
        self.phase = Phase::Failed(Problem::limit(why));
        self.publish();
    }

    /// Returns the number of bodies as far as known.
    fn weight(&self) -> usize {
        lock(&self.handle.status).bodies.max(self.handle.facts.bodies)
    }

    /// Fails the world after a panic in its time slice.
    pub fn fail_after_panic(&mut self, what: &str) {
        let _ = self.leave_step();
        let problem = Problem::internal(what.to_owned());
        self.refuse_waiting(&problem);
        self.refuse_restored(&problem);
        self.phase = Phase::Failed(problem);
        self.time_slice = SliceProgress::Over(NextWake::Now);
    }

    /// Returns true if nothing is left to be written.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let open = !matches!(self.phase, Phase::Live(_)) || (!self.changed && self.own.is_empty());
        open && self.hold.is_none() && self.writing.is_none()
    }

    /// Continues after the awaited operation, if it is done.
    fn poll_hold(
        &mut self,
        live: &mut Live,
        hold: PendingWrite,
        draining: bool,
    ) -> Result<Option<PendingWrite>, Broken> {
        match hold {
            PendingWrite::Log(batch, slot) => {
                let Some(outcome) = lock(&slot).take() else { return Ok(Some(PendingWrite::Log(batch, slot))) };
                let grown = self.grown.take();
                match outcome {
                    Ok(()) => {
                        self.log = grown.unwrap_or_else(|| self.log.clone());
                        self.records += batch.len();
                        self.changed = true;
                        let mut batch = batch.into_iter();
                        while let Some((record, reply, deadline)) = batch.next() {
                            if let Err(broken) = self.apply(live, record, reply, deadline) {
                                // The record is in the log, so it takes effect when the world is open again.
                                self.refuse_batch(batch, &broken);
                                return Err(broken);
                            }
                        }
                    }
                    Err(error) => {
                        let problem = Problem::of_store(&error);
                        for (record, reply, _) in batch {
                            let is_own = matches!(record.op, Op::Reached { .. }) || reply.is_none();
                            if is_own && !draining {
                                // The session's own record: it is retried.
                                self.own.push((record.op, record.key, reply));
                            } else if let Some(reply) = reply {
                                self.answer(reply, Err(problem.clone()));
                            }
                        }
                        self.handle_store_error(&error)?;
                        self.next_try = Instant::now() + PATIENCE;
                    }
                }
            }
            PendingWrite::Restore(reply, slot, number) => {
                let Some(outcome) = lock(&slot).take() else {
                    return Ok(Some(PendingWrite::Restore(reply, slot, number)));
                };
                match outcome {
                    Ok(()) => {
                        self.refuse_waiting(&Problem::conflict("the world was restored to another state"));
                        self.restored = Some(reply);
                        // Events of the state that is being left.
                        self.ring = None;
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
                        self.handle_store_error(&error)?;
                        // Without its log the checkpoint does not count, but takes space.
                        self.shared.store.prune(&self.handle.id, &[checkpoint_name(number)]);
                    }
                }
            }
            PendingWrite::Rewind(reply, slot, number) => {
                let Some(outcome) = lock(&slot).take() else {
                    return Ok(Some(PendingWrite::Rewind(reply, slot, number)));
                };
                self.ring = Some(live.take_ring());
                // The store decides whether the rewind has happened.
                self.phase = Phase::Closed(Instant::now());
                if let Err(error) = outcome {
                    self.answer(reply, Err(Problem::of_store(&error)));
                    self.handle_store_error(&error)?;
                    self.shared.store.prune(&self.handle.id, &[checkpoint_name(number)]);
                } else {
                    self.restored = Some(reply);
                }
                return Err(Broken::Reopen);
            }
            PendingWrite::Delete(reply, slot) => {
                let Some(outcome) = lock(&slot).take() else { return Ok(Some(PendingWrite::Delete(reply, slot))) };
                match outcome {
                    Ok(()) => {
                        self.close(reply);
                        return Err(Broken::Gone);
                    }
                    Err(error) => {
                        self.answer(reply, Err(Problem::of_store(&error)));
                        self.handle_store_error(&error)?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Answers the remaining requests of a batch after the time slice broke off.
    fn refuse_batch(&mut self, batch: impl IntoIterator<Item = LogBatchEntry>, broken: &Broken) {
        let problem = match broken {
            Broken::Device(detail) => Problem::device(detail.clone()),
            _ => Problem::unavailable("the world is being reopened: retry"),
        };
        self.outbox.extend(batch.into_iter().filter_map(|(_, reply, _)| Some((reply?, Err(problem.clone())))));
    }

    /// Answers the request to restore or rewind the world with a problem.
    fn refuse_restored(&mut self, problem: &Problem) {
        self.refuse_rewind(problem);
        if let Some(reply) = self.restored.take() {
            self.answer(reply, Err(problem.clone()));
        }
    }

    fn publish(&mut self) {
        let is_kept = match &self.phase {
            Phase::Live(_) | Phase::Replaying(..) | Phase::GivenUp(_) => true,
            // It is reopened immediately with the same memory.
            Phase::Closed(after) => self.taking.is_some() || (self.resident > 0 && *after <= Instant::now()),
            Phase::Asleep(_) | Phase::Failed(_) => self.taking.is_some(),
        };
        self.show_status();
        let weight = self.weight();
        let resident = if is_kept { weight } else { 0 };
        let owner = &self.handle.facts.owner;
        self.shared.total.change(owner, self.counted, weight);
        self.shared.resident.change(owner, self.resident, resident);
        (self.counted, self.resident) = (weight, resident);
    }

    /// Updates the status of a world that is about to step.
    fn show_state(&self) {
        if let Phase::Live(live) = &self.phase {
            let mut status = lock(&self.handle.status);
            status.state = if live.memory.play.is_some() { "playing" } else { "stepping" };
            status.steps_to_go = live.memory.goals.iter().map(|goal| goal.remaining).sum();
        }
    }

    fn show_status(&self) {
        let mut status = lock(&self.handle.status);
        status.backend = self.shared.device.backend();
        status.ms_per_step = self.ms_per_step;
        status.in_memory = matches!(self.phase, Phase::Live(_) | Phase::Replaying(..));
        match &self.phase {
            Phase::Closed(_) | Phase::GivenUp(_) => {
                if self.rewinding.is_some() {
                    status.state = "stepping";
                } else if !self.waking {
                    status.state = "starting";
                }
                status.problem = self.away.as_ref().map(|problem| problem.detail.clone());
            }
            Phase::Asleep(_) => {
                status.state = "paused";
                status.problem.clone_from(if self.no_room.is_some() { &self.no_room } else { &self.stalled });
            }
            Phase::Failed(problem) => {
                status.state = "failed";
                status.problem = Some(problem.detail.clone());
            }
            // The status stays as it was until the rewind is done.
            Phase::Replaying(..) if self.rewinding.is_some() => status.state = "stepping",
            Phase::Live(_) if matches!(self.hold, Some(PendingWrite::Rewind(..))) => status.state = "stepping",
            Phase::Replaying(live, _) | Phase::Live(live) => {
                status.state = match &self.phase {
                    Phase::Replaying(..) if self.waking => status.state,
                    Phase::Replaying(..) => "starting",
                    _ if live.memory.play.is_some() => "playing",
                    _ if !live.memory.goals.is_empty() => "stepping",
                    _ => "paused",
                };
                status.step = live.world.steps();
                status.time = live.time();
                status.dt = live.world.compiled().settings.dt;
                status.gravity = wide(live.world.compiled().params.gravity);
                (status.bodies, status.joints) = population(live);
                status.steps_to_go = live.memory.goals.iter().map(|goal| goal.remaining).sum();
                status.speed = live.memory.play.and_then(|play| play.speed);
                status.unwatched = live.memory.unwatched;
                status.alterations = live.memory.journal.len();
                status.problem.clone_from(&self.stalled);
            }
        }
    }
}

/// Reason why a time slice ended early.
enum Broken {
    /// The device is lost.
    Device(String),
    /// The world is to be opened again.
    Reopen,
    /// The world was deleted.
    Gone,
    /// A step was cancelled.
    GivenUp,
    /// The world is idle, and its state is on disk.
    Sleep,
}

impl Broken {
    fn of(error: &DeviceError) -> Self {
        Self::Device(error.to_string())
    }

    fn of_world(error: &WorldError) -> Self {
        Self::Device(error.to_string())
    }
}

/// Returns the numbers of bodies and joints.
fn population(live: &Live) -> (usize, usize) {
    let compiled = live.world.compiled();
    (compiled.bodies.iter().filter(|body| body.kind != VACANT).count(), compiled.joints.count())
}
