//! Where a run is: here, or away with a thread of its own. Worlds on the CPU are stepped there, so that the window answers
//! while a step takes its time; and whichever it is on, a world goes there for what takes long: back to a state that was
//! kept, to the other backend, to get a twin. What is asked of a world that is away waits until it is back, between two
//! steps; so a run is the same whatever else the window does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use glam::Vec2;

use super::cancel::Cancel;
use super::figures::Sample;
use super::run::{Entry, On, Run};
use super::watch::Moment;
use drystone::BodyId;
use drystone::Context;
use drystone::low_level::types::{Counters, GEOMETRY_MASK, NO_SHAPE, VACANT};
use drystone::{Scene, Settings};
use drystone::{World, WorldError};

/// Called when a run has come back.
#[derive(Clone)]
pub(crate) struct Wake(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Wake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wake")
    }
}

/// What is told of a run, also while it is away: as it was when it left.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub scene: Arc<Scene>,
    pub on: On,
    pub steps: u64,
    pub first: u64,
    pub furthest: u64,
    pub target: Option<u64>,
    /// m/s².
    pub gravity: Vec2,
    /// With the step that they are of.
    pub counters: Option<(u64, Counters)>,
    /// Slots, vacant ones among them.
    pub bodies: usize,
    /// Bodies that are there.
    pub there: usize,
    /// Shapes that are there.
    pub shapes: usize,
    pub joints: usize,
    /// Of the device.
    pub contact_capacity: Option<u32>,
    pub dispatches: Option<u32>,
    pub device_bytes: u64,
    /// Steps that dropped contacts.
    pub overflows: usize,
    /// Bytes of all states kept, and how many steps apart they are.
    pub kept: (u64, u64),
    /// Changes that were made to it.
    pub log: Arc<Vec<Entry>>,
}

impl Facts {
    fn of(run: &Run) -> Self {
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

    /// What a step changes of them.
    fn follow(&mut self, run: &Run) {
        self.steps = run.steps();
        self.furthest = run.furthest();
        self.target = run.target();
        self.counters = run.counters();
        self.overflows = run.world().overflowed_steps().len();
        self.kept = run.kept();
    }
}

/// What a worker is to do.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// Steps, so many at most, one at least; none begins after the budget is spent.
    Steps(u64, Duration),
    /// Goes back to this step, or as far back that steps lead there.
    GoBack(u64),
    /// Takes back the last change, and goes back to where it was made.
    Undo,
    /// Makes the change again that was undone last.
    Redo,
    /// The same world elsewhere or by other settings; with a twin if there was one.
    Carry { on: On, context: Context, settings: Box<Settings>, twin: bool, cancel: Cancel },
    /// The same world on the other backend, beside it.
    Twin { context: Context, cancel: Cancel },
}

/// Steps that were done.
#[derive(Debug)]
pub(crate) struct Stepped {
    pub steps: u64,
    /// How long they took.
    pub took: Duration,
    pub samples: Vec<Sample>,
    /// Watched bodies after each step.
    pub seen: Vec<(BodyId, Moment)>,
    pub result: Result<(), WorldError>,
}

/// A world to run beside another; `None`: it was cancelled.
pub(crate) type Twin = Result<Option<Box<Run>>, WorldError>;

/// What came of an order.
#[derive(Debug)]
pub(crate) enum Outcome {
    Steps(Stepped),
    WentBack(Result<(), WorldError>),
    /// Whether it was carried over and not cancelled; and its twin, if it was to have one.
    Carried(Result<bool, WorldError>, Option<Twin>),
    Twin(Twin),
}

#[derive(Debug)]
struct Worker {
    orders: Sender<(Run, Order)>,
    done: Receiver<(Run, Outcome)>,
}

/// A run, or the place to which it comes back.
#[derive(Debug)]
pub(crate) struct Seat {
    run: Option<Run>,
    facts: Facts,
    worker: Option<Worker>,
    /// Done here, as there is no thread to do it.
    done: Option<Outcome>,
}

impl Seat {
    pub fn new(run: Run) -> Self {
        Self { facts: Facts::of(&run), run: Some(run), worker: None, done: None }
    }

    /// The run, if it is here.
    pub fn here(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// The run, if it is here. What is changed is told after [`Self::learn`].
    pub fn here_mut(&mut self) -> Option<&mut Run> {
        self.run.as_mut()
    }

    pub fn is_away(&self) -> bool {
        self.run.is_none()
    }

    /// Whether the run is away and not about to come back at once.
    pub fn is_still_away(&mut self) -> bool {
        if self.is_away()
            && let Some((run, outcome)) = self.worker.as_ref().and_then(|worker| worker.done.try_recv().ok())
        {
            self.run = Some(run);
            self.done = Some(outcome);
        }
        self.is_away()
    }

    /// Whether a step is under way on the device, of which the rest has yet to be given to it.
    pub fn is_mid_step(&self) -> bool {
        matches!(self.run.as_ref().map(Run::world), Some(World::Gpu(world)) if world.is_mid_step())
    }

    /// What is told of it.
    pub fn facts(&self) -> &Facts {
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

    /// Whether it is on its way to a step it was sent to.
    pub fn target(&self) -> Option<u64> {
        self.facts.target
    }

    /// Takes notice of what was done to the run.
    pub fn learn(&mut self) {
        if let Some(run) = &self.run {
            self.facts = Facts::of(run);
        }
    }

    /// Takes notice of steps.
    pub fn follow(&mut self) {
        if let Some(run) = &self.run {
            // Emitters make bodies as they please.
            if run.world().compiled().bodies.len() == self.facts.bodies && run.scene().emitters.is_empty() {
                self.facts.follow(run);
            } else {
                self.facts = Facts::of(run);
            }
        }
    }

    /// Sends the run away. It is here all the time if the system gives no thread.
    pub fn lend(&mut self, order: Order, wake: &Wake) {
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

    /// The run comes back, if it was away and is done, or if it is waited for so long; `None`: without end.
    pub fn take_back(&mut self, wait: Option<Duration>) -> Option<Outcome> {
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

    fn note(&mut self, outcome: &Outcome) {
        if matches!(outcome, Outcome::Steps(_)) {
            self.follow();
        } else {
            self.learn();
        }
    }

    /// Goes on with another device. The run is here.
    ///
    /// # Errors
    /// As [`Run::revive`].
    pub fn revive(&mut self, context: &Context) -> Result<(), WorldError> {
        if let Some(run) = &mut self.run {
            run.revive(context)?;
        }
        self.learn();
        Ok(())
    }
}

/// A thread that steps what it is given until nobody gives it anything any more.
fn start(wake: Wake) -> Option<Worker> {
    let (orders, taken) = channel::<(Run, Order)>();
    let (give, done) = channel();
    let work = move || {
        while let Ok((mut run, order)) = taken.recv() {
            let outcome = work(&mut run, order);
            // Another scene was opened meanwhile, or the window was closed.
            if give.send((run, outcome)).is_err() {
                return;
            }
            (wake.0)();
        }
    };
    std::thread::Builder::new().name("steps".to_owned()).spawn(work).ok()?;
    Some(Worker { orders, done })
}

/// A run must come back, whatever happens.
fn caught<T>(work: impl FnOnce() -> Result<T, WorldError>) -> Result<T, WorldError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(WorldError::Kernel("something went wrong that should not".to_owned())))
}

fn work(run: &mut Run, order: Order) -> Outcome {
    match order {
        Order::Steps(most, budget) => Outcome::Steps(step(run, most, budget)),
        Order::GoBack(step) => Outcome::WentBack(caught(|| run.seek(step))),
        Order::Undo => Outcome::WentBack(caught(|| run.undo()).map(drop)),
        Order::Redo => Outcome::WentBack(caught(|| run.redo()).map(drop)),
        Order::Carry { on, context, settings, twin, cancel } => {
            let carried = caught(|| run.carry_over(on, &context, *settings, &cancel));
            let twin = (twin && matches!(carried, Ok(true))).then(|| caught(|| twin_of(run, &context, &cancel)));
            Outcome::Carried(carried, twin)
        }
        Order::Twin { context, cancel } => Outcome::Twin(caught(|| twin_of(run, &context, &cancel))),
    }
}

/// The same world on the other backend.
fn twin_of(run: &mut Run, context: &Context, cancel: &Cancel) -> Twin {
    let on = run.on().other();
    Ok(run.twin(on, context, cancel)?.map(Box::new))
}

fn step(run: &mut Run, most: u64, budget: Duration) -> Stepped {
    let begin = Instant::now();
    let mut stepped = Stepped { steps: 0, took: Duration::ZERO, samples: Vec::new(), seen: Vec::new(), result: Ok(()) };
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
