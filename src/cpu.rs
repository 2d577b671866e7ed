//! The CPU backend: the reference that the GPU is checked against, and the backend where there is no GPU.
//!
//! Stages run one after the other as the plan says, each over the whole world. Where islands are many, the solver runs
//! group by group of them instead, all its stages with one group and then with the next, to the same bits: what a group
//! needs stays in the cache, and threads need not wait for each other at every colour. One large island several threads
//! sweep together (`crew.rs`), to the same bits, too.

mod population;
mod sharing;
mod shortcuts;
mod stages;
mod state;

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::blocks::Blocks;
use crate::cancel::{CancelToken, StepLimits};
use crate::crew::CrewScratch;
use crate::groups::Groups;
use crate::joint_blocks::JointBlocks;
use crate::population::Population;
use crate::scene::{Compiled, Scene};
use crate::snapshot::{first_islands, is_at_rest};
use crate::stages::color::ColorScratch;
use crate::stages::continuous::{ContinuousScratch, Walls};
use crate::stages::pair;
use crate::stages::pair::near::Near;
use crate::stages::prepare::PrepareScratch;
use crate::stages::sleep::{SleepScratch, put_by};
use crate::stages::wake::WakeScratch;
use crate::step::{Op, Stage, plan};
use crate::threads::{Rows, Threads};
use crate::types::{
    Aabb, Accumulator, BodyState, Contact, Counters, Event, FORCE_OVERFLOW, JointFrame, JointState, Manifold, Pose,
    SleepingContact, Surface,
};
use crate::world::WorldError;
use crate::{event, types};

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
    compiled: Compiled,
    plan: Vec<Op>,
    threads: Threads,
    limits: StepLimits,
    steps: u64,
    /// Without those before a snapshot that it continues.
    measured_steps: u64,
    stage_ms: Vec<(Stage, f64)>,
    commands: Vec<types::Command>,
    population: Option<Population>,
    /// The world as it began, if its scene makes bodies as it runs.
    origin: Option<Box<Compiled>>,
    events: Vec<event::Event>,
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
    /// They are those of this step's AABBs.
    has_cells: bool,
    cell_ends: Vec<u32>,
    cell_shapes: Vec<u32>,
    /// The two before are of an earlier step, as none has asked for them since.
    grid_is_old: bool,
    near: Near,
    has_list: bool,
    /// Who looks into the list looks up the contacts of the step before as well.
    recalls: bool,
    /// None if they are not to be taken.
    shortcuts: Option<Shortcuts>,
    walls: Walls,
    has_walls: bool,
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
    one_by_one: bool,
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
}

/// A world as bodies and joints came and went, without where they are.
#[derive(Clone, Debug)]
pub struct Books {
    /// The scene as it is laid out now.
    pub compiled: Compiled,
    /// Ids of bodies and joints; none before the first comes or goes.
    pub population: Option<Population>,
    /// The scene as it was laid out at the start, where it has changed since.
    pub origin: Option<Box<Compiled>>,
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
        let bodies = compiled.bodies.len();
        let limits = StepLimits::default();
        Self {
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            threads: Threads::default().watching(limits.latch()),
            limits,
            steps: 0,
            measured_steps: 0,
            stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into(),
            commands: Vec::new(),
            population: Population::of_script(&compiled),
            origin: (!compiled.script.is_empty()).then(|| Box::new(compiled.clone())),
            events: Vec::new(),
            step_events: Vec::new(),
            rests: false,
            never_rests: false,
            poses: compiled.poses.clone(),
            states: Rows::new(&compiled.states),
            accumulators: Rows::new(&vec![Accumulator::default(); bodies]),
            swings: vec![0.0; bodies],
            aabbs: vec![Aabb::default(); compiled.shapes.len()],
            own_cells: Vec::new(),
            has_cells: false,
            cell_ends: Vec::new(),
            cell_shapes: Vec::new(),
            grid_is_old: false,
            near: Near::default(),
            has_list: false,
            recalls: false,
            shortcuts: Some(Shortcuts::default()),
            walls: Walls::default(),
            has_walls: false,
            pair_starts_previous: Vec::new(),
            contacts_previous: Vec::new(),
            manifolds_previous: Vec::new(),
            pair_starts: Vec::new(),
            contacts: Vec::new(),
            manifolds: Vec::new(),
            islands: first_islands(&compiled),
            island_flags: vec![0; first_islands(&compiled).len()],
            sleeping_starts: Vec::new(),
            sleeping: Vec::new(),
            coloring: ColorScratch::default(),
            slots: Vec::new(),
            constraints: Blocks::default(),
            groups: Groups::default(),
            share_from: SHARE_FROM,
            crew_from: CREW_FROM,
            sweep_from: SWEEP_FROM,
            crew_steps: 0,
            surfaces: Rows::new(&[]),
            scratch: Scratch::default(),
            joint_frames: vec![JointFrame::default(); compiled.joints.joints.len()],
            joint_blocks: JointBlocks::default(),
            one_by_one: false,
            joint_states: Rows::new(&compiled.joints.states),
            joint_impulses: Rows::new(&vec![[0.0; 2]; compiled.joints.rows.len()]),
            counters: Counters::default(),
            compiled,
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
        self.threads = threads.watching(self.limits.latch());
        self
    }

    /// Puts every contact into the overflow path, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.compiled.params.switches |= FORCE_OVERFLOW;
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

    /// The same world that visits its joints one by one, as [`stages`](crate::low_level::stages) defines it, not eight at a time. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_joints_one_by_one(mut self) -> Self {
        self.one_by_one = true;
        self
    }

    /// The same world that takes none of the ways around a stage: no list of near shapes, no few walls, no joints that are
    /// looked at where they lie. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_shortcuts(mut self) -> Self {
        self.shortcuts = None;
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
        self.shortcuts.unwrap_or_default()
    }

    /// Sets the token by which another thread may end a step early.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.limits.set_token(token);
        self.threads = self.threads.watching(self.limits.latch());
    }

    /// Sets how many contacts a step may have, those of sleeping bodies included. Without it the limit is 1,048,576, or 32 a
    /// shape if that is more.
    pub fn set_contact_limit(&mut self, limit: usize) {
        self.limits.set_contacts(limit);
    }

    /// Contacts that a step may have.
    #[must_use]
    pub fn contact_limit(&self) -> usize {
        self.limits.contacts(self.compiled.shapes.len())
    }

    /// The same world with the token and the limit of contacts of another.
    pub(crate) fn with_limits_of(mut self, other: &Self) -> Self {
        self.limits.clone_from(&other.limits);
        self.threads = self.threads.watching(self.limits.latch());
        self
    }

    /// Returns whether a step was given up, and no snapshot was loaded since: then the tables are those of half a step.
    pub(crate) fn has_given_up(&self) -> bool {
        self.limits.has_given_up()
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
        self.limits.check()?;
        self.emit();
        let asked = !self.commands.is_empty() || !self.compiled.paths.is_empty();
        if self.rests && !asked && !self.never_rests {
            self.steps = self.steps.saturating_add(1);
            self.measured_steps = self.measured_steps.saturating_add(1);
            return Ok(());
        }
        // A small step is over before others are awake.
        let size = self.states.len() + self.contacts.len() + self.compiled.joints.count();
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
        let step = self.steps;
        let population = self.population.as_ref();
        let made = self.step_events.drain(..).map(|event| event::Event::new(&self.compiled, population, step, &event));
        self.events.extend(made);
        if let Some(population) = &mut self.population {
            population.forget_owners(step);
        }
        self.measured_steps = self.measured_steps.saturating_add(1);
        self.rests = !asked && self.compiled.settings.sleep && is_at_rest(&self.counters);
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
            self.limits.check()?;
            next += 1;
            if op.stage == Stage::Color
                && let Some(end) = self.run_groups(next)
            {
                next = end;
                continue;
            }
            let start = Instant::now();
            self.look_for_list(op);
            if !self.run_joints(op) {
                self.run(op)?;
            }
            self.stage_ms[op.stage as usize].1 += 1e3 * start.elapsed().as_secs_f64();
            if op.stage == Stage::Prepare {
                next = self.run_crew(next).unwrap_or(next);
            }
        }
        // The last stage may have been cut short.
        if self.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Ends a step, of which the stages were run one by one.
    pub fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if let Some(population) = &mut self.population {
            population.stepped();
        }
    }

    /// Sweeps fast bodies from this far away: see `ContinuousScratch::nudge`.
    pub fn nudge_sweeps(&mut self, roundings: glam::Vec2) {
        self.scratch.continuous.nudge = roundings;
    }

    /// Yesterday's contacts become those to recall from.
    pub(crate) fn begin_step(&mut self) {
        std::mem::swap(&mut self.contacts, &mut self.contacts_previous);
        std::mem::swap(&mut self.manifolds, &mut self.manifolds_previous);
        std::mem::swap(&mut self.pair_starts, &mut self.pair_starts_previous);
    }
}
