//! The CPU engine, for where there is no GPU. It equals the reference ([`crate::reference`]) to the last bit.
//!
//! Stages run one after the other as the plan says, each over the whole world, eight rows at a time and shared among threads
//! ([`stages`]). How the solver goes through them is chosen once a step ([`schedule`]): where islands are many, batch by batch
//! of them, all stages with one batch and then with the next, so that its rows stay in the cache and threads need not wait for
//! each other at every colour; one large island by all threads together. The search for contacts has a second plan, that of
//! the neighbor list (`neighbors.rs`).

pub mod blocks;
mod islands;
pub mod joint_blocks;
pub mod lanes;
mod neighbors;
mod population;
mod run;
pub mod schedule;
pub mod stages;
mod state;
mod team;

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::cpu::blocks::Blocks;
use crate::cpu::islands::Groups;
use crate::cpu::joint_blocks::JointBlocks;
use crate::cpu::neighbors::Search;
use crate::cpu::schedule::Schedule;
use crate::cpu::stages::color::ColorScratch;
use crate::cpu::stages::continuous::{ContinuousScratch, Walls};
use crate::cpu::stages::pair;
use crate::cpu::stages::pair::near::Near;
use crate::cpu::stages::prepare::PrepareScratch;
use crate::cpu::stages::sleep::{SleepScratch, put_by};
use crate::cpu::stages::wake::WakeScratch;
use crate::cpu::team::CrewScratch;
pub use crate::host::Books;
use crate::host::{Host, WorldEngine};
use crate::scene::{Compiled, Scene};
use crate::snapshot::{first_islands, is_at_rest};
use crate::step::{Op, Stage, plan};
use crate::threads::{Rows, Threads};
use crate::types::{
    Aabb, Accumulator, BodyState, Contact, Counters, Event, FORCE_OVERFLOW, JointFrame, JointState, Manifold, Pose,
    SleepingContact, Surface,
};
use crate::world::WorldError;

/// Bodies, contacts and joints of the smallest world whose steps several threads share: what one thread is at for some
/// hundred microseconds. To wake the others takes tens.
const SHARE_FROM: usize = 4096;
/// Touching contacts of the smallest island that they sweep together. In a smaller one a turn is shorter than what it takes
/// to tell the others that it is over, and to fetch what they have written.
const CREW_FROM: usize = 4096;
/// Bodies, touching contacts and joints from which on several threads share a sweep at all.
const SWEEP_FROM: usize = 8192;

/// A world on the CPU.
///
/// The result is the same to the last bit for any number of threads and on every CPU.
#[derive(Debug)]
pub struct CpuWorld {
    host: Host,
    plan: Vec<Op>,
    threads: Threads,
    /// Without those before a snapshot that it continues.
    measured_steps: u64,
    stage_ms: Vec<(Stage, f64)>,
    step_events: Vec<Event>,
    /// A step with nobody awake has run, and nothing was asked since: further ones change nothing.
    rests: bool,
    never_rests: bool,

    poses: Vec<Pose>,
    states: Rows<BodyState, 4>,
    accumulators: Rows<Accumulator, 2>,
    swings: Vec<f32>,
    aabbs: Vec<Aabb>,
    /// The cell of each shape.
    own_cells: Vec<u32>,
    cell_ends: Vec<u32>,
    cell_shapes: Vec<u32>,
    /// Plan of the search for contacts in the last step.
    search: Search,
    near: Near,
    shortcuts: Shortcuts,
    walls: Walls,
    pair_starts_previous: Vec<u32>,
    contacts_previous: Vec<Contact>,
    manifolds_previous: Vec<Manifold>,
    pair_starts: Vec<u32>,
    contacts: Vec<Contact>,
    manifolds: Vec<Manifold>,
    /// While a body sleeps, the root of its island. Empty, as the next three, where nothing sleeps.
    islands: Vec<u32>,
    island_flags: Vec<u32>,
    sleeping_starts: Vec<u32>,
    sleeping: Vec<SleepingContact>,
    coloring: ColorScratch,
    slots: Vec<AtomicU32>,
    constraints: Blocks,
    groups: Groups,
    /// Chosen in each step.
    schedule: Schedule,
    /// Bodies, contacts and joints from which on threads share a step, touching contacts from which on they sweep together,
    /// and steps in which they did; bodies, contacts and joints from which on they share a sweep at all.
    share_from: usize,
    crew_from: usize,
    sweep_from: usize,
    crew_steps: u64,
    surfaces: Rows<Surface, 2>,
    scratch: Scratch,
    joint_frames: Vec<JointFrame>,
    joint_blocks: JointBlocks,
    joint_states: Rows<JointState, 2>,
    joint_impulses: Rows<[f32; 2], 1>,
    counters: Counters,
}

/// Steps in which a stage was not run as its file has it, as what it comes to was known from steps before or is found in
/// a shorter way.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Shortcuts {
    /// Lists of near shapes that were made.
    pub lists: u64,
    /// Steps that found their pairs in one of an earlier step.
    pub listed: u64,
    /// Steps in which bodies were swept against few walls.
    pub walls: u64,
    /// Steps in which joints were looked at in their blocks.
    pub joints: u64,
}

/// What stages need only while they run. It is kept, so that a step need not ask for memory.
#[derive(Debug, Default)]
struct Scratch {
    pair: pair::PairScratch,
    prepare: PrepareScratch,
    crew: CrewScratch,
    wake: WakeScratch,
    report: Vec<Vec<Event>>,
    continuous: ContinuousScratch,
    sleep: SleepScratch,
}

/// Tables of a world between two steps, with the names of the map of a step.
#[derive(Debug)]
pub struct WorldTables<'a> {
    /// One a body.
    pub states: Vec<BodyState>,
    /// One a shape, of the last step.
    pub aabbs: &'a [Aabb],
    /// One a cell of the grid and one more.
    pub cell_ends: &'a [u32],
    /// One a shape.
    pub cell_shapes: &'a [u32],
    /// Contacts of the last step.
    pub contacts: &'a [Contact],
    /// One a contact.
    pub manifolds: &'a [Manifold],
    /// Contacts of bodies asleep.
    pub sleeping: &'a [SleepingContact],
    /// Roots of islands asleep, one a body; shorter where nothing sleeps.
    pub islands: &'a [u32],
    /// One a joint.
    pub joint_states: Vec<JointState>,
    /// Impulses of the last substep, one a row of a joint.
    pub joint_impulses: Vec<[f32; 2]>,
}

impl CpuWorld {
    /// A world as the scene describes it, on one thread.
    ///
    /// # Errors
    /// If the scene is not valid.
    pub fn new(scene: &Scene) -> Result<Self, WorldError> {
        Ok(Self::from_compiled(Compiled::new(scene)?))
    }

    /// A world from arrays that are already laid out.
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
            measured_steps: 0,
            stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into(),
            step_events: Vec::new(),
            rests: false,
            never_rests: false,
            poses: compiled.poses.clone(),
            states: Rows::new(&compiled.states),
            accumulators: Rows::new(&vec![Accumulator::default(); bodies]),
            swings: vec![0.0; bodies],
            aabbs: vec![Aabb::default(); compiled.shapes.len()],
            own_cells: Vec::new(),
            cell_ends: Vec::new(),
            cell_shapes: Vec::new(),
            search: Search::Grid,
            near: Near::default(),
            shortcuts: Shortcuts::default(),
            walls: Walls::default(),
            pair_starts_previous: Vec::new(),
            contacts_previous: Vec::new(),
            manifolds_previous: Vec::new(),
            pair_starts: Vec::new(),
            contacts: Vec::new(),
            manifolds: Vec::new(),
            islands: first_islands(compiled),
            island_flags: vec![0; first_islands(compiled).len()],
            sleeping_starts: Vec::new(),
            sleeping: Vec::new(),
            coloring: ColorScratch::default(),
            slots: Vec::new(),
            constraints: Blocks::default(),
            groups: Groups::default(),
            schedule: Schedule::default(),
            share_from: SHARE_FROM,
            crew_from: CREW_FROM,
            sweep_from: SWEEP_FROM,
            crew_steps: 0,
            surfaces: Rows::new(&[]),
            scratch: Scratch::default(),
            joint_frames: vec![JointFrame::default(); compiled.joints.joints.len()],
            joint_blocks: JointBlocks::default(),
            joint_states: Rows::new(&compiled.joints.states),
            joint_impulses: Rows::new(&vec![[0.0; 2]; compiled.joints.rows.len()]),
            counters: Counters::default(),
            host,
        }
    }

    /// The same world on `count` threads. The result does not change.
    ///
    /// # Errors
    /// If the operating system refuses to start them.
    pub fn with_threads(self, count: usize) -> Result<Self, WorldError> {
        Ok(self.with_threads_of(&Threads::new(count)?))
    }

    /// The same world on threads that others have as well. The result does not change. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_threads_of(mut self, threads: &Threads) -> Self {
        self.threads = threads.watching(self.host.limits.latch());
        self
    }

    /// Puts every contact into the overflow path, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.host.compiled.params.switches |= FORCE_OVERFLOW;
        self
    }

    /// The same world with groups of about so many contacts and bodies, which are solved one by one; with 0 the solver runs
    /// as the plan says. The result does not change. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_groups_of(mut self, size: u32) -> Self {
        self.groups = Groups::of(size);
        self
    }

    /// The same with groups that cut islands, which is wrong. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_blind_groups_of(mut self, size: u32) -> Self {
        self.groups = Groups::of(size).blind();
        self
    }

    /// The same world whose threads, if there are several, share a step from so many bodies, contacts and joints on, and
    /// sweep together from so many contacts on. The result does not change. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sharing_from(mut self, size: usize) -> Self {
        (self.share_from, self.crew_from, self.sweep_from) = (size, size, size);
        self
    }

    /// Steps in which several threads swept together.
    #[doc(hidden)]
    #[must_use]
    pub fn crew_steps(&self) -> u64 {
        self.crew_steps
    }

    /// Groups in which the last step was solved; 0 if it was solved as a whole.
    #[doc(hidden)]
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups.count()
    }

    /// The same world with a stage left out of every step. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        self.plan.retain(|op| op.stage != stage);
        self
    }

    /// The same world that runs every step, also where all sleep and none changes anything. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.never_rests = true;
        self
    }

    /// The same world with a list of near shapes that is never made anew, which is wrong. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_blind_list(mut self) -> Self {
        self.near.blind();
        self
    }

    /// How often the ways around stages were taken.
    #[doc(hidden)]
    #[must_use]
    pub fn shortcuts(&self) -> Shortcuts {
        self.shortcuts
    }

    /// Sets the token by which another thread may end a step early.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.host.limits.set_token(token);
        self.threads = self.threads.watching(self.host.limits.latch());
    }

    /// The same world with the token and the limit of contacts of another.
    pub(crate) fn with_limits_of(mut self, other: &Self) -> Self {
        self.host.limits.clone_from(&other.host.limits);
        self.threads = self.threads.watching(self.host.limits.latch());
        self
    }

    /// Returns whether a step was given up, and no snapshot was loaded since: then the tables are those of half a step.
    pub(crate) fn has_given_up(&self) -> bool {
        self.host.limits.has_given_up()
    }

    /// Advances the world by one step.
    ///
    /// It asks for no memory once its tables have the size that they need; bodies that come and go ask for some. Where
    /// several threads share a step, the queue by which they are handed it asks for a little every 63 steps.
    ///
    /// # Errors
    /// [`WorldError::Cancelled`] if its token was cancelled before or during the step, and of every step after that until the
    /// world continues from a snapshot ([`Self::restore`]): until then its tables are those of half a step.
    /// [`WorldError::TooManyContacts`] if there are more contacts than the world may have: then it is as before the step, but
    /// for commands, which are done.
    pub fn step(&mut self) -> Result<(), WorldError> {
        self.host.limits.check()?;
        self.emit_due(None)?;
        let asked = !self.host.commands.is_empty() || !self.host.compiled.paths.is_empty();
        if self.rests && !asked && !self.never_rests {
            self.host.steps = self.host.steps.saturating_add(1);
            self.measured_steps = self.measured_steps.saturating_add(1);
            return Ok(());
        }
        // A small step is over before others are awake.
        let size = self.states.len() + self.contacts.len() + self.host.compiled.joints.count();
        let (before, threads) = (self.counters, self.threads.clone());
        self.begin_step();
        let ran = if threads.count() == 1 {
            self.run_plan()
        } else if size >= self.share_from {
            threads.enter(|| self.run_plan())
        } else {
            self.threads = threads.alone();
            let ran = self.run_plan();
            self.threads = threads;
            ran
        };
        if let Err(error) = ran {
            self.rests = false;
            self.step_events.clear();
            if matches!(error, WorldError::TooManyContacts { .. }) {
                self.take_back(&before);
            }
            return Err(error);
        }
        self.host.hear(self.host.steps, self.step_events.drain(..));
        self.measured_steps = self.measured_steps.saturating_add(1);
        self.rests = !asked && self.host.compiled.settings.sleep && is_at_rest(&self.counters);
        self.make_room();
        self.end_step();
        Ok(())
    }

    /// Makes the world what it was before a step that found too many contacts, but for commands, which are done. Who was woken
    /// by a touch stays awake.
    fn take_back(&mut self, before: &Counters) {
        self.begin_step();
        // Knowledge of the tables of this step does not hold any more.
        self.forget();
        (self.pair_starts_previous, self.contacts_previous, self.manifolds_previous) = Default::default();
        let Counters { quarantined, wake_all, woken, .. } = self.counters;
        self.counters = Counters { quarantined, wake_all, ..*before };
        if woken > 0 {
            // Their contacts are among those of the step before again.
            self.counters.awake = self.counters.awake.wrapping_add(woken);
            let Self { states, pair_starts, contacts, manifolds, sleeping_starts, sleeping, scratch, .. } = self;
            let lists = (sleeping_starts, sleeping);
            put_by(states, pair_starts, contacts, manifolds, lists, &mut scratch.sleep);
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            let count = self.sleeping.len() as u32;
            self.counters.sleeping_contacts = count;
        }
    }

    /// Steps take turns with two tables each of contacts and manifolds. Both have their memory from the first step on, or the
    /// second one would wait for it: the system hands out a large world's pages one by one.
    fn make_room(&mut self) {
        fn match_room<T: Clone + Default>(table: &Vec<T>, other: &mut Vec<T>) {
            if other.capacity() < table.capacity() {
                let len = other.len();
                other.reserve_exact(table.capacity() - len);
                // Only what was written to is there.
                other.resize(table.len().max(len), T::default());
                other.truncate(len);
            }
        }
        match_room(&self.pair_starts, &mut self.pair_starts_previous);
        match_room(&self.contacts, &mut self.contacts_previous);
        match_room(&self.manifolds, &mut self.manifolds_previous);
    }

    /// Runs the stages of a step.
    ///
    /// # Errors
    /// If the step is given up, or there are too many contacts.
    fn run_plan(&mut self) -> Result<(), WorldError> {
        let mut next = 0;
        while let Some(&op) = self.plan.get(next) {
            self.host.limits.check()?;
            next = match op.stage {
                Stage::Bound if self.can_search_by_list(next) => self.search(next)?,
                Stage::Color => self.color_and_solve(next)?,
                _ => {
                    self.run_timed(op)?;
                    next + 1
                }
            };
        }
        // The last stage may have been cut short.
        if self.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Runs one stage, on a shorter way if there is one.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    fn run_timed(&mut self, op: Op) -> Result<(), WorldError> {
        let start = Instant::now();
        let is_done = match op.stage {
            Stage::PrepareJoints => self.prepare_joint_blocks(),
            Stage::Continuous => self.sweep_against_walls(),
            _ => false,
        };
        if !is_done {
            self.run(op)?;
        }
        self.spend(op.stage, start);
        Ok(())
    }

    /// Adds the time since `start` to that of a stage.
    fn spend(&mut self, stage: Stage, start: Instant) {
        self.stage_ms[stage as usize].1 += 1e3 * start.elapsed().as_secs_f64();
    }

    /// Ends a step, of which the stages were run one by one.
    pub fn end_step(&mut self) {
        self.host.end_step();
    }

    /// Begins a step: swaps the current and previous contact buffers.
    pub fn begin_step(&mut self) {
        std::mem::swap(&mut self.contacts, &mut self.contacts_previous);
        std::mem::swap(&mut self.manifolds, &mut self.manifolds_previous);
        std::mem::swap(&mut self.pair_starts, &mut self.pair_starts_previous);
    }
}
