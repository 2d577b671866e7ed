//! Handle on a world that is either here or away with its worker thread. A world on the CPU is stepped by the worker,
//! so that the window responds during a long step; any world goes to the worker for long jobs: back to a kept state, to
//! the other backend, to be copied. Actions on a world that is away wait until it is back, between two steps, so that
//! its course does not depend on what else the window does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use glam::Vec2;

use super::cancel::Cancel;
use super::figures::Sample;
use super::run::{LogEntry, On, WorldRun};
use super::watch::WatchSample;
use drystone::BodyId;
use drystone::Context;
use drystone::low_level::scene::Units;
use drystone::low_level::types::{Counters, GEOMETRY_MASK, NO_SHAPE, VACANT};
use drystone::{Scene, Settings};
use drystone::{World, WorldError};

/// Callback for the end of a worker's job; it wakes the event loop.
#[derive(Clone)]
pub(crate) struct WakeCallback(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for WakeCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wake")
    }
}

/// Facts about a world, known also while it is away: then as it was when it left.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub scene: Arc<Scene>,
    pub on: On,
    pub steps: u64,
    pub first: u64,
    pub furthest: u64,
    pub target: Option<u64>,
    /// m/s².
    pub gravity: Vec2,
    /// Units that settings follow while they are not set.
    pub units: Units,
    /// Counters of the newest step that are known, with its number.
    pub counters: Option<(u64, Counters)>,
    /// Number of slots for bodies, with vacant ones.
    pub bodies: usize,
    /// Number of bodies.
    pub there: usize,
    /// Number of shapes.
    pub shapes: usize,
    pub joints: usize,
    /// Number of contacts for which the device has buffers; `None` on the CPU.
    pub contact_capacity: Option<u32>,
    /// Dispatches of a step on the device.
    pub dispatches: Option<u32>,
    pub device_bytes: u64,
    /// Number of steps that dropped contacts because a buffer was too small.
    pub overflows: usize,
    /// Bytes of all kept states, and steps between two of them.
    pub kept: (u64, u64),
    /// Log of the changes that were made to it.
    pub log: Arc<Vec<LogEntry>>,
}

impl RunFacts {
    fn of(run: &WorldRun) -> Self {
        let world = run.world();
        let compiled = world.compiled();
        let (contact_capacity, device_bytes) = match world {
            World::Cpu(_) => (None, 0),
            World::Gpu(world) => (Some(world.contact_capacity()), world.device_bytes()),
        };
        Self {
            scene: run.scene().clone(),
            on: run.on(),
            steps: run.steps(),
            first: run.first(),
            furthest: run.furthest(),
            target: run.target(),
            gravity: run.gravity(),
            units: compiled.units,
            counters: run.counters(),
            bodies: compiled.bodies.len(),
            there: compiled.bodies.iter().filter(|body| body.kind != VACANT).count(),
            shapes: compiled.shapes.iter().filter(|shape| shape.kind & GEOMETRY_MASK != NO_SHAPE).count(),
            joints: compiled.joints.count(),
            contact_capacity,
            dispatches: world.dispatches(),
            device_bytes,
            overflows: world.overflowed_steps().len(),
            kept: run.kept(),
            log: run.log().clone(),
        }
    }

    /// Updates the facts that a step changes.
    fn follow(&mut self, run: &WorldRun) {
        self.steps = run.steps();
        self.furthest = run.furthest();
        self.target = run.target();
        self.counters = run.counters();
        self.overflows = run.world().overflowed_steps().len();
        self.kept = run.kept();
    }
}

/// Job for a worker thread.
#[derive(Clone, Debug)]
pub(crate) enum WorkerOrder {
    /// Does up to this number of steps, at least one; none begins after this time.
    Steps(u64, Duration),
    /// Goes back to a step, or to the kept state before it.
    GoBack(u64),
    /// Undoes the last change by going back to its step.
    Undo,
    /// Makes the last undone change again.
    Redo,
    /// Moves the world to a backend and settings; with a copy on the other backend if there was one.
    Carry { on: On, context: Context, settings: Box<Settings>, twin: bool, cancel: Cancel },
    /// Makes a copy of the world on the other backend.
    Twin { context: Context, cancel: Cancel },
}

/// Result of steps on the CPU.
#[derive(Debug)]
pub(crate) struct StepsDone {
    pub steps: u64,
    /// Time that they took.
    pub took: Duration,
    pub samples: Vec<Sample>,
    /// Graphed bodies after each step.
    pub seen: Vec<(BodyId, WatchSample)>,
    pub result: Result<(), WorldError>,
}

/// Copy of a world on the other backend; `None`: it was cancelled.
pub(crate) type Twin = Result<Option<Box<WorldRun>>, WorldError>;

/// Result of a job.
#[derive(Debug)]
pub(crate) enum WorkerOutcome {
    Steps(StepsDone),
    WentBack(Result<(), WorldError>),
    /// True if the world was moved, false if that was cancelled; and its copy, if it was to have one.
    Carried(Result<bool, WorldError>, Option<Twin>),
    Twin(Twin),
}

/// Channels to a worker thread.
#[derive(Debug)]
struct WorkerThread {
    orders: Sender<(WorldRun, WorkerOrder)>,
    done: Receiver<(WorldRun, WorkerOutcome)>,
}

/// Handle on a world that is here or away with its worker thread.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    run: Option<WorldRun>,
    facts: RunFacts,
    worker: Option<WorkerThread>,
    /// Result that is still to be taken: of a job done without a thread, or found by [`Self::is_still_away`].
    done: Option<WorkerOutcome>,
}

impl WorkerHandle {
    pub fn new(run: WorldRun) -> Self {
        Self { facts: RunFacts::of(&run), run: Some(run), worker: None, done: None }
    }

    /// The world, unless it is away.
    pub fn here(&self) -> Option<&WorldRun> {
        self.run.as_ref()
    }

    /// The world, unless it is away. After changes, [`Self::learn`] updates the facts.
    pub fn here_mut(&mut self) -> Option<&mut WorldRun> {
        self.run.as_mut()
    }

    /// Returns true while the worker has the world.
    pub fn is_away(&self) -> bool {
        self.run.is_none()
    }

    /// Returns true while the worker has the world, after taking it back if the worker is done.
    pub fn is_still_away(&mut self) -> bool {
        if self.is_away()
            && let Some((run, outcome)) = self.worker.as_ref().and_then(|worker| worker.done.try_recv().ok())
        {
            self.run = Some(run);
            self.done = Some(outcome);
        }
        self.is_away()
    }

    /// Returns true in the middle of a step that is submitted to the device in parts.
    pub fn is_mid_step(&self) -> bool {
        matches!(self.run.as_ref().map(WorldRun::world), Some(World::Gpu(world)) if world.is_mid_step())
    }

    /// Facts about the world, of now or of when it left.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    pub fn on(&self) -> On {
        self.facts.on
    }

    pub fn steps(&self) -> u64 {
        self.facts.steps
    }

    pub fn scene(&self) -> &Arc<Scene> {
        &self.facts.scene
    }

    /// Step to which the world is on its way.
    pub fn target(&self) -> Option<u64> {
        self.facts.target
    }

    /// Updates all facts after changes to the world.
    pub fn learn(&mut self) {
        if let Some(run) = &self.run {
            self.facts = RunFacts::of(run);
        }
    }

    /// Updates the facts after steps.
    pub fn follow(&mut self) {
        if let Some(run) = &self.run {
            // Emitters and timed commands add and remove bodies in any step; changes of the past are replayed, as pulls
            // of the pointer are.
            let compiled = run.world().compiled();
            let is_same = compiled.bodies.len() == self.facts.bodies && compiled.joints.count() == self.facts.joints;
            let is_scripted = !run.scene().emitters.is_empty() || !run.scene().timeline.is_empty();
            if is_same && !is_scripted {
                self.facts.follow(run);
            } else {
                self.facts = RunFacts::of(run);
            }
        }
    }

    /// Hands the world to the worker for a job. If the system gives no thread, the job is done here.
    pub fn lend(&mut self, order: WorkerOrder, wake: &WakeCallback) {
        let Some(mut run) = self.run.take() else { return };
        if self.worker.is_none() {
            self.worker = start(wake.clone());
        }
        let mut order = order;
        if let Some(worker) = &self.worker {
            let Err(refused) = worker.orders.send((run, order)) else { return };
            (run, order) = refused.0;
            self.worker = None;
        }
        self.done = Some(work(&mut run, order));
        self.run = Some(run);
    }

    /// Takes the world back from the worker, waiting up to this time (`None`: without limit); returns the result of its
    /// job.
    pub fn take_back(&mut self, wait: Option<Duration>) -> Option<WorkerOutcome> {
        if let Some(done) = self.done.take() {
            self.note(&done);
            return Some(done);
        }
        if !self.is_away() {
            return None;
        }
        let worker = self.worker.as_ref()?;
        let back = match wait {
            None => worker.done.recv().ok(),
            Some(most) => worker.done.recv_timeout(most).ok(),
        };
        let (run, outcome) = back?;
        self.run = Some(run);
        self.note(&outcome);
        Some(outcome)
    }

    /// Updates the facts after a job.
    fn note(&mut self, outcome: &WorkerOutcome) {
        if matches!(outcome, WorkerOutcome::Steps(_)) {
            self.follow();
        } else {
            self.learn();
        }
    }

    /// Continues on a new device. The world must be here.
    ///
    /// # Errors
    /// As [`WorldRun::revive`].
    pub fn revive(&mut self, context: &Context) -> Result<(), WorldError> {
        if let Some(run) = &mut self.run {
            run.revive(context)?;
        }
        self.learn();
        Ok(())
    }
}

/// Starts a worker thread. It ends when its handle is dropped.
fn start(wake: WakeCallback) -> Option<WorkerThread> {
    let (orders, taken) = channel::<(WorldRun, WorkerOrder)>();
    let (give, done) = channel();
    let work = move || {
        while let Ok((mut run, order)) = taken.recv() {
            let outcome = work(&mut run, order);
            // The handle is gone: another scene was opened, or the window was closed.
            if give.send((run, outcome)).is_err() {
                return;
            }
            (wake.0)();
        }
    };
    std::thread::Builder::new().name("steps".to_owned()).spawn(work).ok()?;
    Some(WorkerThread { orders, done })
}

/// Runs a job and turns a panic into an error, so that the world always comes back.
fn caught<T>(work: impl FnOnce() -> Result<T, WorldError>) -> Result<T, WorldError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(WorldError::Kernel("internal error: a worker thread panicked".to_owned())))
}

/// Does a job.
fn work(run: &mut WorldRun, order: WorkerOrder) -> WorkerOutcome {
    match order {
        WorkerOrder::Steps(most, budget) => WorkerOutcome::Steps(step(run, most, budget)),
        WorkerOrder::GoBack(step) => WorkerOutcome::WentBack(caught(|| run.seek(step))),
        WorkerOrder::Undo => WorkerOutcome::WentBack(caught(|| run.undo()).map(drop)),
        WorkerOrder::Redo => WorkerOutcome::WentBack(caught(|| run.redo()).map(drop)),
        WorkerOrder::Carry { on, context, settings, twin, cancel } => {
            let carried = caught(|| run.carry_over(on, &context, *settings, &cancel));
            let twin = (twin && matches!(carried, Ok(true))).then(|| caught(|| twin_of(run, &context, &cancel)));
            WorkerOutcome::Carried(carried, twin)
        }
        WorkerOrder::Twin { context, cancel } => WorkerOutcome::Twin(caught(|| twin_of(run, &context, &cancel))),
    }
}

/// Makes a copy of a world on the other backend.
fn twin_of(run: &mut WorldRun, context: &Context, cancel: &Cancel) -> Twin {
    let on = run.on().other();
    Ok(run.twin(on, context, cancel)?.map(Box::new))
}

/// Does up to `most` steps within a time.
fn step(run: &mut WorldRun, most: u64, budget: Duration) -> StepsDone {
    let begin = Instant::now();
    let mut stepped =
        StepsDone { steps: 0, took: Duration::ZERO, samples: Vec::new(), seen: Vec::new(), result: Ok(()) };
    while stepped.steps < most && (stepped.steps == 0 || begin.elapsed() < budget) {
        let before = run.stage_totals();
        stepped.result = caught(|| run.step());
        if stepped.result.is_err() {
            break;
        }
        stepped.steps += 1;
        stepped.samples.extend(Sample::since(&before, run));
        stepped.seen.extend(run.seen());
    }
    stepped.took = begin.elapsed();
    stepped
}
