//! The CPU backend: the reference that the GPU is checked against, and the backend where there is no GPU.
//!
//! Stages run one after the other as the plan says, each over the whole world. Where islands are many, the solver runs
//! group by group of them instead, all its stages with one group and then with the next, to the same bits: what a group
//! needs stays in the cache, and threads need not wait for each other at every colour. One large island several threads
//! sweep together (`crew.rs`), to the same bits, too.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::blocks::Blocks;
use crate::command::{Command, CommandError, JointCommand, by_body, forget, rouse, wake_all, wake_left};
use crate::crew::{Crew, CrewScratch};
use crate::event;
use crate::groups::{self, Groups};
use crate::joint_blocks::JointBlocks;
use crate::population::{BodyId, Change, JointId, Journal, Population, ends, joint_id};
use crate::query::{self, Answers, Flat, Query, walk};
use crate::scene::{Body, Compiled, Joint, Joints, Scene};
use crate::snapshot::{Force, JointGoal, RowGoal, Snapshot, first_islands, is_at_rest, sleeping_islands};
use crate::stages::pair::near::{Moving, Near};
use crate::stages::recall::Past;
use crate::stages::{
    bin, bound::bound, bound::bound_and_find, collide::collide, color::ColorScratch, color::color, color::color_sort,
    command::command, continuous::ContinuousScratch, continuous::Walls, continuous::continuous, finalize::finalize,
    guard::guard, integrate_positions::integrate_positions, integrate_positions::integrate_positions_in,
    integrate_velocities::integrate_velocities, integrate_velocities::integrate_velocities_in, pair,
    prepare::PrepareScratch, prepare::prepare, prepare_joints, project::project, project_joints::project_joints,
    recall::recall, report::report, restitution::restitution, sleep::SleepScratch, sleep::sleep, solve::solve,
    solve::solve_batch, solve_joints, store_impulses::store_impulses, wake::WakeScratch, wake::wake,
    warm_start::warm_start, warm_start::warm_start_batch, warm_start_joints,
};
use crate::state::{JointReaction, joint_reactions, max_speed};
use crate::step::{Op, Stage, plan};
use crate::tables::Tables;
use crate::threads::{Rows, Threads};
use crate::types::{
    self, Aabb, Accumulator, BULLETS, BodyState, Contact, Counters, Event, FORCE_OVERFLOW, JointFrame, JointState,
    Manifold, Pose, SLEEP, SleepingContact, Surface,
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
    compiled: Compiled,
    plan: Vec<Op>,
    threads: Threads,
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

/// Tables as they are between two steps.
pub(crate) struct DrawTables<'a> {
    pub states: Vec<BodyState>,
    pub aabbs: &'a [Aabb],
    pub cell_ends: &'a [u32],
    pub cell_shapes: &'a [u32],
    pub contacts: &'a [Contact],
    pub manifolds: &'a [Manifold],
    pub sleeping: &'a [SleepingContact],
    pub islands: &'a [u32],
    pub joint_states: Vec<JointState>,
}

/// A world as bodies and joints came and went, without where they are.
#[cfg(feature = "view")]
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub compiled: Compiled,
    pub population: Option<Population>,
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
        Self {
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            threads: Threads::default(),
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
        self.threads = threads.clone();
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

    /// The same world that visits its joints one by one, as [`crate::stages`] defines it, not eight at a time. For tests.
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

    /// Advances the world by one step.
    ///
    /// It asks for no memory once its tables have the size that they need; bodies that come and go ask for some. Where
    /// several threads share a step, the queue by which they are handed it asks for a little every 63 steps.
    pub fn step(&mut self) {
        self.emit();
        let asked = !self.commands.is_empty() || !self.compiled.paths.is_empty();
        if self.rests && !asked && !self.never_rests {
            self.steps = self.steps.saturating_add(1);
            self.measured_steps = self.measured_steps.saturating_add(1);
            return;
        }
        // A small step is over before others are awake.
        let size = self.states.len() + self.contacts.len() + self.compiled.joints.count();
        let threads = std::mem::take(&mut self.threads);
        self.begin_step();
        if threads.count() > 1 && size >= self.share_from {
            self.threads = threads.clone();
            threads.enter(|| self.run_plan());
        } else {
            self.run_plan();
            self.threads = threads;
        }
        let step = self.steps;
        let made = self.step_events.drain(..).map(|event| event::Event::new(&self.compiled, step, &event));
        self.events.extend(made);
        self.measured_steps = self.measured_steps.saturating_add(1);
        self.rests = !asked && self.compiled.settings.sleep && is_at_rest(&self.counters);
        self.make_room();
        self.end_step();
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

    /// Who sweeps. Of little, one thread that has the rows to itself is through before others have taken a share.
    fn sweepers(&self) -> Threads {
        let Compiled { bodies, joints, .. } = &self.compiled;
        let size = bodies.len() + self.counters.touching as usize + joints.count();
        if size < self.sweep_from { Threads::default() } else { self.threads.clone() }
    }

    /// Colours the contacts, runs the solver that comes `next` in the plan group by group if that is worth it, and returns
    /// where the plan goes on.
    fn run_groups(&mut self, next: usize) -> Option<usize> {
        let solver = groups::solver(&self.plan, next)?;
        let sweepers = self.sweepers();
        let Self { threads, compiled, poses, states, accumulators, contacts, manifolds, counters, .. } = self;
        let Self { coloring, slots, groups, stage_ms, .. } = self;
        let start = Instant::now();
        color(&sweepers, &compiled.params, states, contacts, coloring, counters);
        // Groups are swept by all threads or not at all.
        let shared = sweepers.count() == threads.count();
        let found = shared && groups.find(threads, compiled, contacts, counters.touching);
        if !found {
            color_sort(&sweepers, coloring, slots, counters);
        }
        stage_ms[Stage::Color as usize].1 += 1e3 * start.elapsed().as_secs_f64();
        if !found {
            return Some(next);
        }
        let given = groups::Given { compiled, poses, states, accumulators };
        groups.run(threads, &self.plan[solver.clone()], given, contacts, manifolds, counters, stage_ms);
        Some(solver.end)
    }

    /// Runs the sweeps that come `next` in the plan with all threads together, and returns where the plan goes on.
    fn run_crew(&mut self, next: usize) -> Option<usize> {
        let solver = groups::solver(&self.plan, next.checked_sub(1)?)?;
        let small = (self.counters.touching as usize) < self.crew_from;
        if self.threads.count() == 1 || self.compiled.joints.count() > 0 || small {
            return None;
        }
        self.crew_steps += 1;
        let ops = &self.plan[next..solver.end - 1];
        let Self { threads, compiled, poses, states, accumulators, constraints, surfaces, counters, .. } = self;
        let Self { scratch: Scratch { crew: scratch, .. }, stage_ms, .. } = self;
        let Compiled { params, bodies, .. } = &*compiled;
        let crew = Crew::new(threads.count(), constraints, counters, bodies.len(), ops.len(), scratch);
        let spent = Mutex::new(stage_ms);
        crew.run(threads, |hand| {
            for op in ops {
                let start = Instant::now();
                match op.stage {
                    Stage::WarmStart => warm_start(hand, &*accumulators, surfaces),
                    Stage::IntegrateVelocities => hand.for_bodies(|first, end| {
                        integrate_velocities_in(first, end, params, bodies, poses, &*states, &*accumulators);
                    }),
                    Stage::Solve | Stage::Relax => solve(params, op.flags, &*states, hand, surfaces),
                    Stage::IntegratePositions => hand.for_bodies(|first, end| {
                        integrate_positions_in(first, end, params, bodies, &*states);
                    }),
                    Stage::Project => project(params, states, hand),
                    Stage::Restitution => restitution(params, states, hand),
                    _ => {}
                }
                if hand.leads() {
                    let mut spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
                    spent[op.stage as usize].1 += 1e3 * start.elapsed().as_secs_f64();
                }
            }
        });
        crew.keep(scratch);
        Some(solver.end - 1)
    }

    /// Before a stage: whether it may look into the list of those that lay near each other, or at few walls, instead of into
    /// the grid.
    fn look_for_list(&mut self, op: Op) {
        let Self { threads, aabbs, own_cells, cell_ends, cell_shapes, near, has_list, walls, has_walls, .. } = self;
        let Self { poses, states, contacts, recalls, .. } = self;
        let Compiled { params, shapes, vertices, joints, .. } = &self.compiled;
        let Joints { ties, may_part, .. } = joints;
        // Where bodies sleep there is a shorter way yet.
        let Some(shortcuts) = self.shortcuts.as_mut().filter(|_| params.switches & SLEEP == 0) else { return };
        match op.stage {
            Stage::Bin => {
                *has_list = near.look(threads, aabbs, *may_part);
                shortcuts.listed += u64::from(*has_list);
            }
            Stage::Pair if !*has_list => {
                let grid = (&own_cells[..], &cell_ends[..], &cell_shapes[..]);
                let moving = Moving { shapes, aabbs, poses, states, dt: params.dt };
                *has_list = near.make(threads, params, moving, grid, ties, *may_part, contacts);
                shortcuts.lists += u64::from(*has_list);
            }
            // A list of an earlier step: since then no shape has become another.
            Stage::Pair => *recalls = self.plan.iter().any(|op| op.stage == Stage::Recall),
            Stage::Continuous => {
                let bullets = params.switches & BULLETS != 0;
                *has_walls = walls.take(shapes, vertices, own_cells, poses, states);
                shortcuts.walls += u64::from(*has_walls);
                if bullets || !*has_walls {
                    self.renew_grid();
                }
            }
            _ => {}
        }
    }

    /// Looks how joints stand eight at a time, where none can break or sleep.
    fn run_joints(&mut self, op: Op) -> bool {
        let Self { threads, poses, joint_blocks, joint_states, counters, .. } = self;
        let Compiled { params, bodies, joints, .. } = &self.compiled;
        let Joints { joints, starts, fresh, .. } = joints;
        let Some(shortcuts) = &mut self.shortcuts else { return false };
        let steady = fresh.is_empty() && counters.quarantined == 0 && params.switches & SLEEP == 0;
        let stand = op.stage == Stage::PrepareJoints
            && steady
            && !self.one_by_one
            && self.plan.iter().all(|op| op.stage != Stage::ProjectJoints)
            && joint_blocks.stand(threads, starts, joints, bodies, poses, joint_states);
        shortcuts.joints += u64::from(stand);
        stand
    }

    /// Makes the grid of this step, if there is only an older one.
    fn renew_grid(&mut self) {
        if std::mem::take(&mut self.grid_is_old) {
            bin::bin_place(&self.compiled.params, &self.own_cells, &mut self.cell_ends, &mut self.cell_shapes);
        }
    }

    fn run_plan(&mut self) {
        let mut next = 0;
        while let Some(&op) = self.plan.get(next) {
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
                self.run(op);
            }
            self.stage_ms[op.stage as usize].1 += 1e3 * start.elapsed().as_secs_f64();
            if op.stage == Stage::Prepare {
                next = self.run_crew(next).unwrap_or(next);
            }
        }
    }

    /// Ends a step, of which the stages were run one by one.
    pub(crate) fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if let Some(population) = &mut self.population {
            population.stepped();
        }
    }

    /// Sweeps fast bodies from this far away: see [`ContinuousScratch::nudge`].
    pub(crate) fn nudge_sweeps(&mut self, roundings: glam::Vec2) {
        self.scratch.continuous.nudge = roundings;
    }

    /// Only keeps the books of a step: which bodies come and go.
    pub(crate) fn skip_step(&mut self) {
        self.emit();
        self.commands.clear();
        self.end_step();
    }

    /// Makes what the scene's emitters make before this step, and lets go of what they let go of.
    pub(crate) fn emit(&mut self) {
        let Some(mut population) = self.population.take_if(|population| population.is_due(self.steps)) else { return };
        if let Some(change) = population.retire(&mut self.compiled, self.steps) {
            self.let_go(&change);
        }
        let [came, tied] = population.emit(&mut self.compiled, self.steps);
        self.population = Some(population);
        self.welcome(&came);
        wake_left(&self.compiled, &tied, &mut self.commands);
        self.follow(&tied);
    }

    /// Wakes every body at the start of the next step, where bodies sleep.
    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
    }

    /// Adds bodies to the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; or more than 16 half planes beside those of the scene.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let (ids, change) = population.add(&mut self.compiled, bodies, self.steps)?;
        self.welcome(&change);
        Ok(ids)
    }

    fn welcome(&mut self, change: &Change) {
        self.follow(change);
        for &body in change.bodies.iter().filter(|_| self.compiled.settings.sleep) {
            self.islands[body as usize] = body;
        }
    }

    /// Remembers how it is now, before anything comes or goes by hand, so that a snapshot from before can be gone back to.
    pub(crate) fn keep_origin(&mut self) {
        self.origin.get_or_insert_with(|| Box::new(self.compiled.clone()));
    }

    /// Removes bodies and their joints from the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let change = population.remove(&mut self.compiled, ids)?;
        self.let_go(&change);
        Ok(())
    }

    fn let_go(&mut self, change: &Change) {
        forget(&mut self.commands, &self.compiled);
        wake_left(&self.compiled, change, &mut self.commands);
        self.follow(change);
    }

    /// Adds joints to the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene.
    pub fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let (ids, change) = population.add_joints(&mut self.compiled, joints)?;
        wake_left(&self.compiled, &change, &mut self.commands);
        self.follow(&change);
        Ok(ids)
    }

    /// As [`Self::add_joints`], of bodies by their ids: `None` is the world. What the joints say of their bodies is not
    /// looked at.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::add_joints`].
    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let joints = population.between(&self.compiled, joints)?;
        self.add_joints(&joints)
    }

    /// Removes joints from the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let change = population.remove_joints(&mut self.compiled, ids)?;
        self.let_go(&change);
        Ok(())
    }

    /// The joint with an index, if there is one.
    #[must_use]
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.compiled, index)
    }

    /// Asks something of a joint; it happens at the start of the next step.
    ///
    /// # Errors
    /// If there is no such joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let records = command.flatten(&self.compiled, joint)?;
        self.compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        self.commands.extend(records);
        let ends = self.compiled.joints.place(joint.index).map(|place| ends(&self.compiled.joints.joints[place]));
        rouse(&self.compiled, ends.into_iter().flatten(), &mut self.commands);
        Ok(())
    }

    /// What a world knows without having stepped.
    #[cfg(feature = "view")]
    pub(crate) fn into_books(self) -> Books {
        Books { compiled: self.compiled, population: self.population, origin: self.origin }
    }

    /// A world in which bodies and joints have come and gone. It waits for a snapshot to continue from.
    #[cfg(feature = "view")]
    pub(crate) fn from_books(books: Books) -> Self {
        let Books { compiled, population, origin } = books;
        Self { population, origin, ..Self::from_compiled(compiled) }
    }

    /// Which bodies and joints came and went.
    #[cfg(feature = "view")]
    pub(crate) fn population(&self) -> Option<&Population> {
        self.population.as_ref()
    }

    /// Contacts of the last step and how they touch.
    #[cfg(feature = "view")]
    pub(crate) fn contacts(&self) -> (&[Contact], &[Manifold]) {
        (&self.contacts, &self.manifolds)
    }

    /// Its velocity and status.
    #[cfg(feature = "view")]
    pub(crate) fn body_state(&self, body: usize) -> Option<BodyState> {
        (body < self.compiled.bodies.len()).then(|| self.states.get(body))
    }

    /// Gravity from the next step on, m/s². Who sleeps wakes.
    #[cfg(feature = "view")]
    pub(crate) fn set_gravity(&mut self, gravity: [f32; 2]) {
        if self.compiled.params.gravity != gravity {
            self.compiled.params.gravity = gravity;
            self.rests = false;
            self.wake_all();
        }
    }

    /// What happened since this was last asked, if the scene wants events.
    pub fn take_events(&mut self) -> Vec<event::Event> {
        // A copy, so that the next step has the memory.
        self.events.drain(..).collect()
    }

    /// The body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        self.population.get_or_insert_with(|| Population::new(&self.compiled)).id(&self.compiled, index)
    }

    /// What is known from steps before says nothing of the next.
    fn forget(&mut self) {
        self.groups.forget();
        self.near.forget();
        self.walls.forget();
        self.joint_blocks.forget();
        (self.has_cells, self.has_list, self.has_walls, self.recalls) = (false, false, false, false);
    }

    /// Brings the tables to the bodies that there are now.
    fn follow(&mut self, change: &Change) {
        self.forget();
        let Compiled { bodies, poses, states, shapes, .. } = &self.compiled;
        self.plan = plan(&self.compiled.settings, self.compiled.bounces, self.compiled.joints.count() > 0);
        self.rests = false;
        self.poses.resize(bodies.len(), Pose::default());
        if self.compiled.settings.sleep {
            #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
            let new = self.islands.len() as u32..bodies.len() as u32;
            self.islands.extend(new);
            self.island_flags.resize(bodies.len(), 0);
        }
        self.states.resize(bodies.len());
        self.accumulators.resize(bodies.len());
        self.swings.resize(bodies.len(), 0.0);
        self.aabbs.resize(shapes.len(), Aabb::default());
        for &index in &change.bodies {
            self.poses[index as usize] = poses[index as usize];
            self.states.set(index as usize, states[index as usize]);
        }
        let Joints { joints, rows, states, .. } = &self.compiled.joints;
        self.joint_frames.resize(joints.len(), JointFrame::default());
        self.joint_states.resize(joints.len());
        self.joint_impulses.resize(rows.len());
        change.joints.places.iter().for_each(|&at| self.joint_states.set(at as usize, states[at as usize]));
        change.joints.rows.iter().for_each(|&row| self.joint_impulses.set(row as usize, [0.0; 2]));
        // Shapes that were not there produced nothing.
        if let Some(&end) = self.pair_starts.last() {
            self.pair_starts.resize(shapes.len() + 1, end);
        }
    }

    /// Asks something of a body; it happens at the start of the next step.
    ///
    /// # Errors
    /// If there is no such body, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, body: usize, command: Command) -> Result<(), CommandError> {
        command.push(&self.compiled, body, &mut self.commands)?;
        Ok(())
    }

    /// Answers a batch of queries about the world as it is now ([`crate::query`]).
    ///
    /// # Errors
    /// The first query with a value out of range.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.answer(queries, false)
    }

    /// The same answers without the grid, by looking at every shape for every query: what the others are checked against.
    ///
    /// # Errors
    /// As [`Self::query`].
    #[doc(hidden)]
    pub fn query_brute(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.answer(queries, true)
    }

    fn answer(&mut self, queries: &[Query], brute: bool) -> Result<Answers, WorldError> {
        let flat = Flat::new(queries)?;
        // The tables are those of the step's start, and each step makes its own.
        for stage in [Stage::Bound, Stage::Bin] {
            self.run(Op { stage, flags: 0 });
        }
        let Compiled { params, shapes, vertices, .. } = &self.compiled;
        let Self { poses, aabbs, cell_ends, cell_shapes, .. } = self;
        let tables = walk::Tables { params, shapes, vertices, poses, aabbs, cell_ends, cell_shapes };
        Ok(query::answer(&self.threads, &tables, &flat, brute))
    }

    /// Yesterday's contacts become those to recall from.
    pub(crate) fn begin_step(&mut self) {
        std::mem::swap(&mut self.contacts, &mut self.contacts_previous);
        std::mem::swap(&mut self.manifolds, &mut self.manifolds_previous);
        std::mem::swap(&mut self.pair_starts, &mut self.pair_starts_previous);
    }

    /// Runs one stage.
    pub(crate) fn run(&mut self, op: Op) {
        if op.stage == Stage::Command {
            self.compiled.lead_on(&mut self.commands, self.steps);
        }
        let sweepers = &self.sweepers();
        let Self { threads, poses, states, accumulators, swings, aabbs, own_cells, cell_ends, cell_shapes, .. } = self;
        let Self { pair_starts, pair_starts_previous, contacts, contacts_previous, .. } = self;
        let Self { manifolds, manifolds_previous, shortcuts, has_cells, recalls, .. } = self;
        let Self { coloring, slots, constraints, surfaces, scratch, counters, .. } = self;
        let Self { joint_frames, joint_blocks, joint_states, joint_impulses, one_by_one, .. } = self;
        let Self { islands, island_flags, sleeping_starts, sleeping, near, has_list, walls, has_walls, .. } = self;
        let Compiled { params, bodies, shapes, vertices, movers, joints, .. } = &mut self.compiled;
        let Joints { joints, rows, starts, ties, may_part, fresh, .. } = joints;
        if params.switches & SLEEP != 0
            && counters.again == 0
            && matches!(op.stage, Stage::Pair | Stage::Recall | Stage::Collide)
        {
            return;
        }
        match op.stage {
            Stage::Command => {
                by_body(&mut self.commands);
                if self.commands.iter().any(types::Command::is_for_joint) {
                    joint_blocks.forget();
                }
                command(
                    params,
                    &self.commands,
                    bodies,
                    poses,
                    states,
                    islands,
                    island_flags,
                    counters,
                    joints,
                    rows,
                    joint_states,
                );
                self.commands.clear();
            }
            Stage::Guard => guard(threads, params, bodies, poses, states, accumulators, swings, counters),

            Stage::Bound => {
                if shortcuts.is_some() && counters.quarantined == 0 && params.switches & SLEEP == 0 {
                    bound_and_find(threads, params, shapes, vertices, poses, aabbs, own_cells);
                    *has_cells = true;
                } else {
                    counters.awake_levels |= bound(threads, params, shapes, vertices, poses, states, aabbs);
                }
            }
            Stage::Bin => {
                if !std::mem::take(has_cells) {
                    bin::bin_find(threads, params, shapes, aabbs, own_cells);
                }
                self.grid_is_old = *has_list;
                if !*has_list {
                    bin::bin_place(params, own_cells, cell_ends, cell_shapes);
                }
            }
            Stage::Pair => {
                if *may_part {
                    pair::tie(joints, joint_states, &mut ties.links);
                }
                if std::mem::take(has_list) {
                    let past = Past { starts: pair_starts_previous, contacts: contacts_previous };
                    let past = recalls.then_some(past);
                    near.pair(threads, params, shapes, aabbs, own_cells, ties, past, pair_starts, contacts);
                } else {
                    pair::pair(
                        threads,
                        params,
                        shapes,
                        aabbs,
                        (own_cells, cell_ends, cell_shapes),
                        ties,
                        states,
                        counters.awake_levels,
                        pair_starts,
                        contacts,
                        &mut scratch.pair,
                    );
                }
                manifolds.resize(contacts.len(), Manifold::default());
            }

            Stage::Recall if std::mem::take(recalls) => {}
            Stage::Recall => recall(threads, pair_starts_previous, contacts_previous, contacts),
            Stage::Collide => {
                counters.recycled =
                    collide(threads, params, shapes, vertices, poses, swings, manifolds_previous, contacts, manifolds);
            }
            Stage::Wake => wake(
                params,
                bodies,
                shapes,
                joints,
                joint_states,
                contacts,
                states,
                islands,
                island_flags,
                (sleeping_starts, sleeping),
                (pair_starts_previous, contacts_previous, manifolds_previous),
                counters,
                &mut scratch.wake,
            ),
            Stage::Report => report(
                threads,
                poses,
                states,
                pair_starts_previous,
                contacts_previous,
                pair_starts,
                contacts,
                manifolds,
                joints,
                joint_states,
                &mut self.step_events,
                &mut scratch.report,
            ),
            Stage::Color => {
                color(sweepers, params, states, contacts, coloring, counters);
                color_sort(sweepers, coloring, slots, counters);
            }
            Stage::Prepare => {
                prepare(
                    threads,
                    params,
                    bodies,
                    shapes,
                    states,
                    contacts,
                    manifolds,
                    slots,
                    counters,
                    constraints,
                    surfaces,
                    &mut scratch.prepare,
                );
            }
            Stage::PrepareJoints => {
                prepare_joints::measure(fresh, bodies, poses, joints, rows);
                prepare_joints::prepare_joints(
                    threads,
                    params,
                    bodies,
                    poses,
                    states,
                    joints,
                    rows,
                    joint_states,
                    joint_impulses,
                    joint_frames,
                );
                joint_blocks.lay(starts, joints, joint_frames, rows, joint_impulses);
            }

            Stage::WarmStart if sweepers.count() == 1 => {
                let accumulators = accumulators.alone();
                for batch in constraints.batches(counters) {
                    warm_start_batch(batch, accumulators, surfaces);
                }
            }
            Stage::WarmStart => warm_start(&mut constraints.by(sweepers, counters), &*accumulators, surfaces),
            Stage::WarmStartJoints if *one_by_one => warm_start_joints::warm_start_joints(
                sweepers,
                starts,
                joint_frames,
                rows,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::WarmStartJoints => solve_joints::lanes::warm_start_joints(
                sweepers,
                starts,
                joint_frames,
                rows,
                joint_blocks,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::IntegrateVelocities => {
                integrate_velocities(sweepers, params, bodies, poses, states, accumulators);
            }
            Stage::SolveJoints | Stage::RelaxJoints if *one_by_one => solve_joints::solve_joints(
                sweepers,
                params,
                op.flags,
                starts,
                joint_frames,
                rows,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::SolveJoints | Stage::RelaxJoints => solve_joints::lanes::solve_joints(
                sweepers,
                params,
                op.flags,
                starts,
                joint_frames,
                rows,
                joint_blocks,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::Solve | Stage::Relax if sweepers.count() == 1 => {
                let states = states.alone();
                for batch in constraints.batches(counters) {
                    solve_batch(params, op.flags, states, batch, surfaces);
                }
            }
            Stage::Solve | Stage::Relax => {
                solve(params, op.flags, &*states, &mut constraints.by(sweepers, counters), surfaces);
            }
            Stage::IntegratePositions => integrate_positions(sweepers, params, bodies, states),
            Stage::ProjectJoints => project_joints(sweepers, params, starts, joint_frames, rows, states),
            Stage::Project => project(params, states, &mut constraints.by(sweepers, counters)),

            Stage::Restitution => restitution(params, states, &mut constraints.by(sweepers, counters)),
            Stage::StoreImpulses => {
                if !*one_by_one {
                    joint_blocks.store(joint_impulses);
                    joint_blocks.let_go();
                }
                let scratch = &mut scratch.prepare;
                store_impulses(threads, slots, counters, constraints, surfaces, contacts, manifolds, scratch);
            }
            Stage::Continuous => {
                let grid = (&cell_ends[..], &cell_shapes[..]);
                let walls = std::mem::take(has_walls).then_some(&*walls);
                let scratch = &mut scratch.continuous;
                counters.continuous =
                    continuous(threads, params, shapes, vertices, ties, poses, states, grid, walls, movers, scratch);
            }
            Stage::Finalize => finalize(threads, bodies, states, poses),
            Stage::Sleep => sleep(
                threads,
                params,
                bodies,
                joints,
                joint_states,
                pair_starts,
                contacts,
                manifolds,
                states,
                islands,
                island_flags,
                sleeping_starts,
                sleeping,
                counters,
                &mut scratch.sleep,
            ),
        }
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        if op.stage == Stage::Pair {
            counters.pairs_found = contacts.len() as u32;
            counters.contacts = contacts.len() as u32;
        }
    }

    /// The stages of a step.
    #[must_use]
    pub fn plan(&self) -> &[Op] {
        &self.plan
    }

    /// What the world was made from.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Steps done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Makes this the world as it is after so many steps, for bodies on paths.
    pub(crate) fn set_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// Threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Steps that [`Self::stage_ms`] is about.
    pub(crate) fn measured_steps(&self) -> u64 {
        self.measured_steps
    }

    /// Speed of the fastest dynamic body, m/s.
    #[must_use]
    pub fn max_speed(&self) -> f64 {
        max_speed(&self.compiled, (0..self.compiled.bodies.len()).map(|body| self.states.get(body)))
    }

    /// Milliseconds spent in each stage so far.
    #[must_use]
    pub fn stage_ms(&self) -> &[(Stage, f64)] {
        &self.stage_ms
    }

    /// One a body, of its centre of mass.
    #[must_use]
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// One a body.
    pub fn states(&self) -> impl Iterator<Item = BodyState> + '_ {
        (0..self.compiled.bodies.len()).map(|body| self.states.get(body))
    }

    /// What layers are drawn from ([`crate::draw::Upload`]).
    pub(crate) fn draw_tables(&self) -> DrawTables<'_> {
        DrawTables {
            states: self.states.to_vec(),
            aabbs: &self.aabbs,
            cell_ends: &self.cell_ends,
            cell_shapes: &self.cell_shapes,
            contacts: &self.contacts,
            manifolds: &self.manifolds,
            sleeping: &self.sleeping,
            islands: &self.islands,
            joint_states: self.joint_states.to_vec(),
        }
    }

    /// Counts of the last step.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The state between two steps.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            step: self.steps,
            poses: self.poses.clone(),
            states: self.states.to_vec(),
            pair_starts: self.pair_starts.clone(),
            contacts: self.contacts.clone(),
            manifolds: self.manifolds.clone(),
            islands: sleeping_islands(&self.compiled, &self.states.to_vec(), &self.islands, self.population.as_ref()),
            sleeping_starts: self.sleeping_starts.clone(),
            sleeping: self.sleeping.clone(),
            counters: self.counters,
            forces: self.compiled.bodies.iter().map(Force::of).collect(),
            commands: self.commands.clone(),
            population: Population::history(self.population.as_ref()),
            vacated: Population::vacated(self.population.as_ref()).to_vec(),
            joint_states: self.joint_states.to_vec(),
            joint_goals: self.compiled.joints.joints.iter().map(JointGoal::of).collect(),
            row_goals: self.compiled.joints.rows.iter().map(RowGoal::of).collect(),
            joint_impulses: self.joint_impulses.to_vec(),
        }
    }

    /// What the joints do, in the order of their indices.
    #[must_use]
    pub fn joint_reactions(&self) -> Vec<JointReaction> {
        joint_reactions(&self.compiled, &self.snapshot())
    }

    /// Lets a world that has done no step see the changes of a journal, up to a step.
    pub(crate) fn relive(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError> {
        let mut compiled = self.compiled.clone();
        let mut population = Population::new(&compiled);
        population.relive(&mut compiled, journal, until)?;
        self.compiled = compiled;
        self.population = Some(population);
        self.follow(&Change::default());
        Ok(())
    }

    /// Continues from a snapshot, to the same bits.
    ///
    /// # Errors
    /// If the snapshot is of another world; then nothing has changed.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let rewound = Population::rewind(self.origin.as_deref(), &self.compiled, self.population.as_ref(), snapshot)?;
        if let Some((compiled, population)) = rewound {
            snapshot.check(&compiled, Some(&population))?;
            self.compiled = compiled;
            self.population = Some(population);
            self.follow(&Change::default());
        } else {
            snapshot.check(&self.compiled, self.population.as_ref())?;
        }
        if let Some(population) = &mut self.population {
            population.restore(&self.compiled, &snapshot.vacated);
        }
        self.steps = snapshot.step;
        self.forget();
        self.poses.clone_from(&snapshot.poses);
        self.states = Rows::new(&snapshot.states);
        self.pair_starts.clone_from(&snapshot.pair_starts);
        self.contacts.clone_from(&snapshot.contacts);
        self.manifolds.clone_from(&snapshot.manifolds);
        self.rests = false;
        self.islands.clone_from(&snapshot.islands);
        self.sleeping_starts.clone_from(&snapshot.sleeping_starts);
        self.sleeping.clone_from(&snapshot.sleeping);
        self.counters = snapshot.counters;
        for (body, force) in self.compiled.bodies.iter_mut().zip(&snapshot.forces) {
            force.put(body);
        }
        self.commands.clone_from(&snapshot.commands);
        snapshot.put_goals(&mut self.compiled.joints);
        self.joint_states = Rows::new(&snapshot.joint_states);
        self.joint_impulses = Rows::new(&snapshot.joint_impulses);
        Ok(())
    }

    /// Every table as it stands, for comparing stage by stage.
    pub(crate) fn tables(&self) -> Tables {
        let (constraints, rebounds) = self.constraints.to_vec(&self.counters);
        Tables {
            poses: self.poses.clone(),
            states: self.states.to_vec(),
            accumulators: self.accumulators.to_vec(),
            swings: self.swings.clone(),
            aabbs: self.aabbs.clone(),
            cell_ends: self.cell_ends.clone(),
            cell_shapes: self.cell_shapes.clone(),
            pair_starts_previous: self.pair_starts_previous.clone(),
            contacts_previous: self.contacts_previous.clone(),
            manifolds_previous: self.manifolds_previous.clone(),
            pair_starts: self.pair_starts.clone(),
            contacts: self.contacts.clone(),
            manifolds: self.manifolds.clone(),
            islands: self.islands.clone(),
            island_flags: self.island_flags.clone(),
            sleeping_starts: self.sleeping_starts.clone(),
            sleeping: self.sleeping.clone(),
            events: self.step_events.clone(),
            slots: self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).collect(),
            constraints,
            rebounds,
            surfaces: self.surfaces.to_vec(),
            joints: self.compiled.joints.joints.clone(),
            joint_rows: self.compiled.joints.rows.clone(),
            joint_frames: self.joint_frames(),
            joint_states: self.joint_states.to_vec(),
            joint_impulses: self.joint_impulses(),
            counters: self.counters,
        }
    }

    /// One a joint, also while blocks hold them. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn joint_frames(&self) -> Vec<JointFrame> {
        let mut frames = self.joint_frames.clone();
        self.joint_blocks.frames(&mut frames);
        frames
    }

    /// One a row of the joints, also while blocks hold them.
    fn joint_impulses(&self) -> Vec<[f32; 2]> {
        self.joint_blocks.store(&self.joint_impulses);
        self.joint_impulses.to_vec()
    }

    /// Takes over every table.
    pub(crate) fn load(&mut self, tables: &Tables) {
        self.forget();
        self.poses.clone_from(&tables.poses);
        self.states = Rows::new(&tables.states);
        self.accumulators = Rows::new(&tables.accumulators);
        self.swings.clone_from(&tables.swings);
        self.aabbs.clone_from(&tables.aabbs);
        self.cell_ends.clone_from(&tables.cell_ends);
        self.cell_shapes.clone_from(&tables.cell_shapes);
        self.grid_is_old = false;
        self.pair_starts_previous.clone_from(&tables.pair_starts_previous);
        self.contacts_previous.clone_from(&tables.contacts_previous);
        self.manifolds_previous.clone_from(&tables.manifolds_previous);
        self.pair_starts.clone_from(&tables.pair_starts);
        self.contacts.clone_from(&tables.contacts);
        self.manifolds.clone_from(&tables.manifolds);
        self.islands.clone_from(&tables.islands);
        self.island_flags.clone_from(&tables.island_flags);
        self.sleeping_starts.clone_from(&tables.sleeping_starts);
        self.sleeping.clone_from(&tables.sleeping);
        self.slots = tables.slots.iter().copied().map(AtomicU32::new).collect();
        self.constraints.load(&tables.counters, &tables.constraints, &tables.rebounds);
        self.surfaces = Rows::new(&tables.surfaces);
        self.compiled.joints.joints.clone_from(&tables.joints);
        self.compiled.joints.rows.clone_from(&tables.joint_rows);
        self.compiled.joints.refresh();
        self.joint_frames.clone_from(&tables.joint_frames);
        let Joints { joints, starts, rows, .. } = &self.compiled.joints;
        self.joint_states = Rows::new(&tables.joint_states);
        self.joint_impulses = Rows::new(&tables.joint_impulses);
        self.joint_blocks.lay(starts, joints, &self.joint_frames, rows, &self.joint_impulses);
        self.counters = tables.counters;
    }
}
