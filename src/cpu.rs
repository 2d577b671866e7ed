//! The CPU engine. It computes the same bits as the reference ([`crate::reference`]), eight rows at a time and on
//! several threads.
//!
//! Stages run one after the other in the order of the plan, each over the whole world ([`stages`]). The solver has
//! three schedules, of which one is chosen in each step ([`schedule`]): serial; by island batches, if there are many
//! islands, so that the rows of a batch stay in the cache and threads need not wait for each other at every colour; by
//! a worker team, for one large island. The search for contacts has two plans: the grid, or the neighbor list
//! (`neighbors.rs`).

pub mod blocks;
mod contact_hook;
mod islands;
pub mod joint_blocks;
mod neighbors;
mod population;
mod run;
pub mod schedule;
mod shares;
pub mod stages;
mod state;
mod team;
pub mod tree_blocks;
mod world_group;

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::cpu::blocks::Blocks;
use crate::cpu::contact_hook::ContactHook;
use crate::cpu::islands::IslandBatches;
use crate::cpu::joint_blocks::JointBlocks;
use crate::cpu::neighbors::SearchKind;
use crate::cpu::schedule::Schedule;
use crate::cpu::stages::color::ColorScratch;
use crate::cpu::stages::continuous::{CcdCandidates, ContinuousScratch};
use crate::cpu::stages::match_contacts::PreviousContacts;
use crate::cpu::stages::pair;
use crate::cpu::stages::pair::neighbor_list::NeighborList;
use crate::cpu::stages::prepare::PrepareScratch;
use crate::cpu::stages::restitution::ImpactRounds;
use crate::cpu::stages::sleep::{SleepScratch, update_archive};
use crate::cpu::stages::wake::WakeScratch;
use crate::cpu::team::TeamScratch;
pub(crate) use crate::cpu::world_group::WorldGroup;
pub use crate::host::Books;
use crate::host::{Host, WorldEngine};
use crate::scene::{Compiled, Scene};
use crate::snapshot::{first_islands, is_at_rest};
use crate::stages::color::split::Splits;
use crate::step::{PlannedStage, Stage, plan};
use crate::threads::{Rows, Threads};
use crate::types::{
    Aabb, Accumulator, BodyMotion, BodyState, Contact, Counters, EventData, FORCE_OVERFLOW, JointFrame, JointState,
    Manifold, Pose, SleepingContact, Surface, TreeRow,
};
use crate::world_error::WorldError;

/// Number of bodies, contacts and joints from which on several threads share a step: some hundred microseconds of work
/// for one thread. Waking the others takes tens.
const SHARE_FROM: usize = 4096;
/// Number of touching contacts from which on a worker team solves an island. In a smaller one a stage is shorter than
/// the time to tell the others that it is over, and to fetch what they have written.
const TEAM_FROM: usize = 4096;
/// Number of bodies, touching contacts and joints from which on several threads share a sweep at all.
const SWEEP_FROM: usize = 8192;

/// World on the CPU.
///
/// The result is the same to the last bit for any number of threads and on every CPU.
#[derive(Debug)]
pub struct CpuWorld {
    host: Host,
    plan: Vec<PlannedStage>,
    threads: Threads,
    times: StageTotals,
    step_events: Vec<EventData>,
    /// True after a step in which all bodies slept, with no command since: further steps change nothing.
    is_idle: bool,
    /// Runs idle steps as well. For tests.
    never_idle: bool,
    counters: Counters,

    bodies: BodyTables,
    grid: GridTables,
    /// Contacts of the previous step.
    previous: ContactTables,
    /// Contacts of this step.
    current: ContactTables,
    sleep: SleepTables,
    solver: ConstraintSet,
    joints: JointTables,

    kept: KeptTables,
    scheduling: Scheduling,
    scratch: StepScratch,
    contact_hook: ContactHook,
}

/// Time spent in the stages of profiled steps.
#[derive(Debug)]
struct StageTotals {
    /// True during a profiled step. Other steps do not ask for the time: that takes a quarter of a small world's step.
    is_on: bool,
    /// Number of profiled steps.
    steps: u64,
    /// Milliseconds of each stage.
    stage_ms: Vec<(Stage, f64)>,
}

impl StageTotals {
    /// Returns the time at which a stage begins, in a profiled step.
    fn begin(&self) -> Option<Instant> {
        self.is_on.then(Instant::now)
    }

    /// Adds the time since a stage began.
    fn add(&mut self, stage: Stage, begin: Option<Instant>) {
        if let Some(begin) = begin {
            self.stage_ms[stage as usize].1 += 1e3 * begin.elapsed().as_secs_f64();
        }
    }

    /// Adds the time since `begin` to the stages, in proportion to what all threads have spent on each, ns.
    fn share_out(&mut self, begin: Option<Instant>, spent: [u64; Stage::ALL.len()]) {
        let Some(begin) = begin else { return };
        let share = 1e3 * begin.elapsed().as_secs_f64() / spent.iter().sum::<u64>().max(1) as f64;
        for ((_, ms), spent) in self.stage_ms.iter_mut().zip(spent) {
            *ms += spent as f64 * share;
        }
    }
}

/// Per-body tables that change in a step.
#[derive(Debug)]
pub struct BodyTables {
    /// Pose of each centre of mass.
    pub poses: Vec<Pose>,
    /// Velocity, delta and status of each body.
    pub states: Rows<BodyState, 4>,
    /// Sum of the impulses of each body, for warm starting.
    pub accumulators: Rows<Accumulator, 2>,
    /// Motion of each body in the step.
    pub motions: Vec<BodyMotion>,
    /// True if a dynamic body moves so far in this step that it looks ahead for fixed shapes.
    pub look_ahead: bool,
}

/// Broad phase: AABBs and the uniform grid.
#[derive(Debug)]
pub struct GridTables {
    /// AABB of each shape.
    pub aabbs: Vec<Aabb>,
    /// Cell of each shape.
    pub own_cells: Vec<u32>,
    /// End of each cell in `cell_shapes`.
    pub cell_ends: Vec<u32>,
    /// Shapes, sorted by cell.
    pub cell_shapes: Vec<u32>,
}

/// Contacts of one step, grouped by producer.
#[derive(Debug, Default)]
pub struct ContactTables {
    /// Shape `i` produced the contacts `pair_starts[i] .. pair_starts[i + 1]`.
    pub pair_starts: Vec<u32>,
    /// Contacts.
    pub contacts: Vec<Contact>,
    /// Manifold of each contact.
    pub manifolds: Vec<Manifold>,
}

impl ContactTables {
    /// Returns the contacts as the next step sees them.
    fn past(&self) -> PreviousContacts<'_> {
        PreviousContacts { starts: &self.pair_starts, contacts: &self.contacts }
    }
}

/// Sleeping islands and their archived contacts. All tables are empty if sleeping is off.
#[derive(Debug)]
pub struct SleepTables {
    /// Root of the island of each sleeping body.
    pub islands: Vec<u32>,
    /// Flags of each island, at its root.
    pub island_flags: Vec<u32>,
    /// Shape `i` produced the archived contacts `starts[i] .. starts[i + 1]`.
    pub starts: Vec<u32>,
    /// Archived contacts, with their manifolds.
    pub contacts: Vec<SleepingContact>,
}

/// Contact constraints of a step.
#[derive(Debug, Default)]
pub struct ConstraintSet {
    /// Contact of each constraint, in colour order.
    pub slots: Vec<AtomicU32>,
    /// Shares of hubs.
    pub splits: Splits,
    /// Constraints in blocks of eight.
    pub constraints: Blocks,
    /// Materials with more than friction and restitution; empty if there are none.
    pub surfaces: Rows<Surface, 2>,
    /// Rounds of impacts, where no island or team has its own.
    pub rounds: ImpactRounds,
}

/// Per-joint tables that change in a step.
#[derive(Debug)]
pub struct JointTables {
    /// Frame of each joint.
    pub frames: Vec<JointFrame>,
    /// Frames, rows and impulses in blocks of eight.
    pub blocks: JointBlocks,
    /// State of each joint.
    pub states: Rows<JointState, 2>,
    /// Impulse of each joint row.
    pub impulses: Rows<[f32; 2], 1>,
    /// Bodies of trees of hinges while they are solved.
    pub trees: Vec<TreeRow>,
}

/// Tables kept from step to step while they are valid (`neighbors.rs`).
#[derive(Debug, Default)]
struct KeptTables {
    /// Plan of the search for contacts in the last step.
    search: SearchKind,
    neighbor_list: NeighborList,
    ccd_candidates: CcdCandidates,
    shortcuts: Shortcuts,
}

/// Schedule of the solver, and the sizes by which it is chosen.
#[derive(Debug)]
struct Scheduling {
    island_batches: IslandBatches,
    /// Schedule of the last step.
    schedule: Schedule,
    /// Number of bodies, contacts and joints from which on threads share a step.
    share_from: usize,
    /// Number of touching contacts from which on a worker team solves them.
    team_from: usize,
    /// Number of bodies, touching contacts and joints from which on threads share a sweep.
    sweep_from: usize,
    /// Number of steps that a worker team solved.
    team_steps: u64,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            island_batches: IslandBatches::default(),
            schedule: Schedule::default(),
            share_from: SHARE_FROM,
            team_from: TEAM_FROM,
            sweep_from: SWEEP_FROM,
            team_steps: 0,
        }
    }
}

/// Numbers of steps in which a stage used tables of earlier steps or another shortcut (`neighbors.rs`).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Shortcuts {
    /// Neighbor lists that were built.
    pub lists: u64,
    /// Steps that found their pairs in a list of an earlier step.
    pub listed: u64,
    /// Steps in which bodies were swept against a few walls.
    pub ccd_candidates: u64,
    /// Steps in which joint frames were computed in blocks.
    pub joints: u64,
}

/// Step that has begun.
#[derive(Clone, Copy, Debug)]
struct BegunStep {
    /// True if commands or paths act in it.
    asked: bool,
    /// Counters of the step before.
    before: Counters,
}

/// Memory of the stages while they run. Kept to avoid allocation.
#[derive(Debug, Default)]
struct StepScratch {
    coloring: ColorScratch,
    pair: pair::PairScratch,
    prepare: PrepareScratch,
    team: TeamScratch,
    wake: WakeScratch,
    collect_events: Vec<Vec<EventData>>,
    continuous: ContinuousScratch,
    sleep: SleepScratch,
}

/// Tables of a world between two steps, named as in the map of a step.
#[derive(Debug)]
pub struct WorldTables<'a> {
    /// State of each body.
    pub states: Vec<BodyState>,
    /// AABB of each shape, of the last step.
    pub aabbs: &'a [Aabb],
    /// End of each grid cell in `cell_shapes`, and one more.
    pub cell_ends: &'a [u32],
    /// Shapes, sorted by cell.
    pub cell_shapes: &'a [u32],
    /// Contacts of the last step.
    pub contacts: &'a [Contact],
    /// Manifold of each contact.
    pub manifolds: &'a [Manifold],
    /// Archived contacts of sleeping bodies.
    pub sleeping: &'a [SleepingContact],
    /// Island root of each sleeping body; shorter if sleeping is off.
    pub islands: &'a [u32],
    /// State of each joint.
    pub joint_states: Vec<JointState>,
    /// Impulses of each joint row after the last substep.
    pub joint_impulses: Vec<[f32; 2]>,
}

impl CpuWorld {
    /// Creates a world from a scene, on one thread.
    ///
    /// # Errors
    /// If the scene is not valid.
    pub fn new(scene: &Scene) -> Result<Self, WorldError> {
        Ok(Self::from_compiled(Compiled::new(scene)?))
    }

    /// Creates a world from compiled tables.
    #[must_use]
    pub fn from_compiled(compiled: Compiled) -> Self {
        Self::from_host(Host::new(compiled))
    }

    fn from_host(host: Host) -> Self {
        let compiled = &host.compiled;
        let bodies = compiled.bodies.len();
        Self {
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            threads: Threads::default().watching(host.limits.latch()),
            times: StageTotals { is_on: false, steps: 0, stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into() },
            step_events: Vec::new(),
            is_idle: false,
            never_idle: false,
            counters: Counters::default(),
            bodies: BodyTables {
                poses: compiled.poses.clone(),
                states: Rows::new(&compiled.states),
                accumulators: Rows::new(&vec![Accumulator::default(); bodies]),
                motions: vec![BodyMotion::default(); bodies],
                look_ahead: false,
            },
            grid: GridTables {
                aabbs: vec![Aabb::default(); compiled.shapes.len()],
                own_cells: Vec::new(),
                cell_ends: Vec::new(),
                cell_shapes: Vec::new(),
            },
            previous: ContactTables::default(),
            current: ContactTables::default(),
            sleep: SleepTables {
                islands: first_islands(compiled),
                island_flags: vec![0; first_islands(compiled).len()],
                starts: Vec::new(),
                contacts: Vec::new(),
            },
            solver: ConstraintSet::default(),
            joints: JointTables {
                frames: vec![JointFrame::default(); compiled.joints.joints.len()],
                blocks: JointBlocks::default(),
                states: Rows::new(&compiled.joints.states),
                impulses: Rows::new(&vec![[0.0; 2]; compiled.joints.rows.len()]),
                trees: Vec::new(),
            },
            kept: KeptTables::default(),
            scheduling: Scheduling::default(),
            contact_hook: ContactHook::default(),
            scratch: StepScratch::default(),
            host,
        }
    }

    /// Uses `count` threads. The result does not change.
    ///
    /// # Errors
    /// If the operating system refuses to start them.
    pub fn with_threads(self, count: usize) -> Result<Self, WorldError> {
        Ok(self.with_threads_of(&Threads::new(count)?))
    }

    /// Uses threads that others share. The result does not change. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_threads_of(mut self, threads: &Threads) -> Self {
        self.threads = threads.watching(self.host.limits.latch());
        self
    }

    /// Puts every contact into the overflow, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.host.compiled.params.switches |= FORCE_OVERFLOW;
        self
    }

    /// Sets the size of full island batches, in contacts and bodies; 0 disables batches. The result does not change.
    /// For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_island_batches_of(mut self, size: u32) -> Self {
        self.scheduling.island_batches = IslandBatches::of(size);
        self
    }

    /// Uses island batches that cut islands (fault injection for tests).
    #[doc(hidden)]
    #[must_use]
    pub fn with_blind_island_batches_of(mut self, size: u32) -> Self {
        self.scheduling.island_batches = IslandBatches::of(size).blind();
        self
    }

    /// Sets the number of bodies, contacts and joints from which on several threads share a step, and the number of
    /// contacts from which on they are a worker team. The result does not change. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sharing_from(mut self, size: usize) -> Self {
        let Scheduling { share_from, team_from, sweep_from, .. } = &mut self.scheduling;
        (*share_from, *team_from, *sweep_from) = (size, size, size);
        self
    }

    /// Returns the number of steps that a worker team solved.
    #[doc(hidden)]
    #[must_use]
    pub fn team_steps(&self) -> u64 {
        self.scheduling.team_steps
    }

    /// Returns the number of island batches in the last step; 0 if it was solved as a whole.
    #[doc(hidden)]
    #[must_use]
    pub fn island_batch_count(&self) -> usize {
        self.scheduling.island_batches.count()
    }

    /// Calls the program about each contact that touches, before it wakes, tells or pushes anything: false lets its
    /// shapes pass through each other in this step. The rows name shapes and bodies by index, and have the normal and
    /// the points. Contacts come in their order in the tables, on one thread, once in a step, or twice where bodies
    /// wake; sensors and sleeping bodies have none. A step repeats to the same bits if the hook depends on the rows
    /// alone. Fast bodies still stop at all that they meet ([`Settings::continuous`](crate::Settings::continuous)).
    ///
    /// A device has no hooks: there, [`Filter`](crate::Filter), [`Shape::one_way`](crate::Shape::one_way) and
    /// [`MaterialPair`](crate::MaterialPair) are rules as data.
    ///
    /// ```
    /// use drystone::low_level::CpuWorld;
    /// use drystone::{Body, Scene, Shape, World};
    ///
    /// let mut scene = Scene::new("ghosts").gravity(0.0, -10.0);
    /// scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    /// let [ball, ghost] = [0.0, 3.0].map(|x| scene.add(Body::dynamic(x, 0.5).shape(Shape::circle(0.5))));
    /// let hook = move |contact: &drystone::low_level::types::Contact, _: &_| {
    ///     ![contact.body_a, contact.body_b].contains(&(ghost as u32))
    /// };
    /// let mut world = World::from(CpuWorld::new(&scene)?.with_contact_hook(hook));
    /// for _ in 0..30 {
    ///     world.step()?;
    /// }
    /// assert!(world.body(ball)?.position().y > 0.49 && world.body(ghost)?.position().y < -0.5);
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    #[must_use]
    pub fn with_contact_hook(mut self, hook: impl FnMut(&Contact, &Manifold) -> bool + Send + Sync + 'static) -> Self {
        self.contact_hook = ContactHook::new(hook);
        self
    }

    /// Leaves a stage out of every step. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        self.plan.retain(|op| op.stage != stage);
        self
    }

    /// Runs every step, also while all bodies sleep and nothing changes. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.never_idle = true;
        self
    }

    /// Uses a neighbor list that is never invalidated (fault injection for tests).
    #[doc(hidden)]
    #[must_use]
    pub fn with_blind_list(mut self) -> Self {
        self.kept.neighbor_list.blind();
        self
    }

    /// Returns how often shortcuts were taken.
    #[doc(hidden)]
    #[must_use]
    pub fn shortcuts(&self) -> Shortcuts {
        self.kept.shortcuts
    }

    /// Sets the token by which another thread can cancel a step.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.host.limits.set_token(token);
        self.threads = self.threads.watching(self.host.limits.latch());
    }

    /// Uses the token and the contact limit of another world.
    pub(crate) fn with_limits_of(mut self, other: &Self) -> Self {
        self.host.limits.clone_from(&other.host.limits);
        self.threads = self.threads.watching(self.host.limits.latch());
        self
    }

    /// Returns true if a step was cancelled and no snapshot was loaded since: then the tables are those of half a step.
    pub(crate) fn has_given_up(&self) -> bool {
        self.host.limits.has_given_up()
    }

    /// Returns the number of bodies, contacts and joints, by which it is decided whether threads share a step.
    pub(crate) fn size(&self) -> usize {
        self.bodies.states.len() + self.current.contacts.len() + self.host.compiled.joints.count()
    }

    /// Advances the world by one step.
    ///
    /// It allocates no memory once its tables have their size; only bodies that come and go need some. If several
    /// threads share a step, their task queue allocates a little every 63 steps.
    ///
    /// # Errors
    /// [`WorldError::Cancelled`] if the token was cancelled before or during the step, and for every step after that
    /// until the world continues from a snapshot ([`Self::restore`]): until then its tables are those of half a step.
    /// [`WorldError::TooManyContacts`] if there are more contacts than the limit: then the world is as before the step,
    /// except that commands have been executed.
    pub fn step(&mut self) -> Result<(), WorldError> {
        let size = self.size();
        let Some(begun) = self.begin()? else { return Ok(()) };
        // A small step is over before other threads are awake.
        let threads = self.threads.clone();
        let all = 0..self.plan.len();
        let ran = if threads.count() == 1 {
            self.run_plan(all)
        } else if size >= self.scheduling.share_from {
            threads.enter(|| self.run_plan(all))
        } else {
            self.threads = threads.alone();
            let ran = self.run_plan(all);
            self.threads = threads;
            ran
        };
        self.finish(&begun, ran)
    }

    /// Begins a step: additions that are due, and the swap of the contact tables. Returns `None` if the step changes
    /// nothing and is over.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    fn begin(&mut self) -> Result<Option<BegunStep>, WorldError> {
        self.host.limits.check()?;
        self.begin_timed()?;
        self.emit_due(None)?;
        let asked = !self.host.commands.is_empty() || !self.host.compiled.paths.is_empty();
        if self.is_idle && !asked && !self.never_idle {
            self.host.steps = self.host.steps.saturating_add(1);
            return Ok(None);
        }
        let before = self.counters;
        self.begin_step();
        Ok(Some(BegunStep { asked, before }))
    }

    /// Ends a step after its last stage, or after the error that ended it.
    ///
    /// # Errors
    /// That of the stages.
    fn finish(&mut self, begun: &BegunStep, ran: Result<(), WorldError>) -> Result<(), WorldError> {
        if let Err(error) = ran {
            self.is_idle = false;
            self.step_events.clear();
            if matches!(error, WorldError::TooManyContacts { .. }) {
                self.restore_before(&begun.before);
            }
            return Err(error);
        }
        self.host.process_readbacks(self.host.steps, self.step_events.drain(..));
        self.is_idle = !begun.asked && self.host.compiled.settings.sleep && is_at_rest(&self.counters);
        self.match_capacities();
        self.end_step();
        Ok(())
    }

    /// Advances the world by one step and adds the time of every stage to [`Self::stage_ms`].
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        self.times.is_on = true;
        let stepped = self.step();
        self.times.is_on = false;
        self.times.steps = self.times.steps.saturating_add(u64::from(stepped.is_ok()));
        stepped
    }

    /// Restores the state before a step that found too many contacts, except that its commands stay executed and bodies
    /// woken by a touch stay awake.
    fn restore_before(&mut self, before: &Counters) {
        self.begin_step();
        // Tables kept from earlier steps are no longer valid.
        self.forget();
        self.previous = ContactTables::default();
        let Counters { quarantined, wake_flags, woken, .. } = self.counters;
        self.counters = Counters { quarantined, wake_flags, ..*before };
        if woken > 0 {
            // Their contacts are among those of the previous step again.
            self.counters.awake = self.counters.awake.wrapping_add(woken);
            update_archive(&self.bodies.states, &self.current, &mut self.sleep, &mut self.scratch.sleep);
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            let count = self.sleep.contacts.len() as u32;
            self.counters.sleeping_contacts = count;
        }
    }

    /// Gives the previous contact buffers the capacity of the current ones, as the two are swapped in each step.
    /// Without this the second buffer would grow in a later step, and a large world would wait for the system to map
    /// its pages one by one.
    fn match_capacities(&mut self) {
        fn match_room<T: Clone + Default>(table: &Vec<T>, other: &mut Vec<T>) {
            if other.capacity() < table.capacity() {
                let len = other.len();
                other.reserve_exact(table.capacity() - len);
                // Only pages that were written are mapped.
                other.resize(table.len().max(len), T::default());
                other.truncate(len);
            }
        }
        match_room(&self.current.pair_starts, &mut self.previous.pair_starts);
        match_room(&self.current.contacts, &mut self.previous.contacts);
        match_room(&self.current.manifolds, &mut self.previous.manifolds);
    }

    /// Ends a step whose stages were run one by one.
    pub fn end_step(&mut self) {
        self.host.end_step();
    }

    /// Begins a step: swaps the current and previous contact buffers.
    pub fn begin_step(&mut self) {
        std::mem::swap(&mut self.current, &mut self.previous);
    }
}
