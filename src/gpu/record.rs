//! Records steps as dispatches: the kernels of each stage and their thread counts, and how the colours of a sweep, or
//! all sweeps of a small world, share dispatches.

use std::ops::Range;

use super::SCAN_BLOCK;
use super::context::is_software;
use super::engine::{Engine, KernelKey};
use crate::scene::{Compiled, JointTable};
use crate::step::{PlannedStage, Stage};
use crate::types::{
    BOUNCES, BULLETS, COLOR_BLOCK, COLOR_COUNT, Counters, JOINT_COLORS, JOINT_OVERFLOW, MAX_OPS, MOVING_WALLS,
    ONLY_BULLETS, OP_END, OP_INTEGRATE_POSITIONS, OP_INTEGRATE_VELOCITIES, OP_PROJECT, OP_PROJECT_JOINTS,
    OP_RESTITUTION, OP_SOLVE, OP_SOLVE_JOINTS, OP_WARM_START, OP_WARM_START_JOINTS, OVERFLOW_COLOR, Params, SLEEP,
    Sweep,
};
use crate::world_error::WorldError;

/// Maximum length of a list scanned by one workgroup; for longer lists three dispatches are faster.
const SCAN_ALONE: u32 = 1 << 15;
/// Minimum constraints of a colour for a dispatch of its own; smaller neighbouring colours share a workgroup.
const WIDE_COLOR: u32 = 640;
/// Colours assumed to be wide before the first counters have arrived.
const BLIND_WIDE_COLORS: u32 = 12;
/// Rounds of colouring over all contacts when many may be new; the remaining rounds run in one workgroup.
const WIDE_ROUNDS: u32 = 4;
/// Maximum number of new contacts that one workgroup colours quickly enough.
const FEW_UNCOLORED: u32 = 2048;

/// Maximum number of contacts, of bodies and of joints for which the fused kernel runs all sweeps in one workgroup.
/// Hardly any colour of such a world is wide, so that each sweep is one workgroup anyway, and the launches are saved.
const FEW: u32 = 2048;
/// Fused kernels, by number of lanes, without and with joints.
pub(super) const FUSED: [(u32, [&str; 2]); 3] = [
    (8, ["fused_narrow", "fused_joints_narrow"]),
    (64, ["fused", "fused_joints"]),
    (256, ["fused_wide", "fused_joints_wide"]),
];
/// Maximum size of the largest colour for which the narrowest fused kernel is used, on software adapters only. They
/// execute eight lanes at a time, idle ones included; no other single-workgroup kernel is faster there.
const NARROW_COLOR: u32 = 16;
/// Minimum size of the largest colour for which the widest fused kernel is used.
const MORE_LANES: u32 = 96;

/// Consecutive colours that one dispatch solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorRun {
    Wide { color: u32, threads: u32 },
    Tail { first: u32, end: u32 },
}

/// Inputs that decide which kernels a step runs and over how many threads; for many worlds the maximum of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct DispatchBounds {
    pub params: Params,
    /// There are shapes other than sharp boxes and circles.
    hulls: bool,
    /// Some joint may stop excluding its pair of bodies from collision, by breaking or being disabled.
    pub may_part: bool,
}

impl DispatchBounds {
    pub fn of(compiled: &Compiled) -> Self {
        Self { params: compiled.params, hulls: compiled.hulls, may_part: compiled.joints.may_part }
    }

    /// Returns true if the lists of both have the same lengths.
    pub fn is_as_long_as(&self, other: &Self) -> bool {
        let lengths = |Params { shape_count, cell_count, joint_count, color_blocks, .. }: Params| {
            [shape_count, cell_count, joint_count, color_blocks]
        };
        lengths(self.params) == lengths(other.params)
    }

    /// Returns bounds that cover two worlds.
    pub fn and(mut self, other: &Self) -> Self {
        let Params { body_count, shape_count, cell_count, joint_count, color_blocks, .. } = other.params;
        self.params.body_count = self.params.body_count.max(body_count);
        self.params.shape_count = self.params.shape_count.max(shape_count);
        self.params.cell_count = self.params.cell_count.max(cell_count);
        self.params.joint_count = self.params.joint_count.max(joint_count);
        self.params.color_blocks = self.params.color_blocks.max(color_blocks);
        self.params.switches |= other.params.switches;
        self.hulls |= other.hulls;
        self.may_part |= other.may_part;
        self
    }
}

/// Statistics of a past step by which the next ones are recorded. Outdated figures never change a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepStats {
    colors: [u32; COLOR_COUNT as usize],
    uncolored: u32,
}

impl StepStats {
    pub fn of(counters: &Counters) -> Self {
        let mut load = Self { uncolored: counters.uncolored, ..Self::default() };
        for (color, size) in (0..).zip(&mut load.colors) {
            *size = counters.color_size(color);
        }
        load
    }

    fn contacts(&self) -> u32 {
        self.colors.iter().fold(0, |sum, &size| sum.saturating_add(size))
    }

    fn largest_color(&self) -> u32 {
        self.colors.iter().copied().max().unwrap_or(0)
    }

    /// Returns the maximum of two worlds' statistics.
    pub fn and(mut self, other: &Self) -> Self {
        self.uncolored = self.uncolored.max(other.uncolored);
        for (size, other) in self.colors.iter_mut().zip(other.colors) {
            *size = (*size).max(other);
        }
        self
    }
}

/// Returns the range of the plan that the fused kernel can run, and its program for `shaders/fused.wgsl`.
pub(super) fn program(plan: &[PlannedStage]) -> (Range<usize>, Vec<[u32; 4]>) {
    let line = |op: &PlannedStage| {
        let kind = match op.stage {
            Stage::WarmStart => OP_WARM_START,
            Stage::WarmStartJoints => OP_WARM_START_JOINTS,
            Stage::IntegrateVelocities => OP_INTEGRATE_VELOCITIES,
            Stage::SolveJoints | Stage::RelaxJoints => OP_SOLVE_JOINTS,
            Stage::Solve | Stage::Relax => OP_SOLVE,
            Stage::IntegratePositions => OP_INTEGRATE_POSITIONS,
            Stage::ProjectJoints => OP_PROJECT_JOINTS,
            Stage::Project => OP_PROJECT,
            Stage::Restitution => OP_RESTITUTION,
            _ => return None,
        };
        Some([kind, op.flags, 0, 0])
    };
    let first = plan.iter().position(|op| line(op).is_some()).unwrap_or(0);
    let mut lines: Vec<[u32; 4]> = plan[first..].iter().map_while(line).collect();
    // The program needs a line for the end.
    if lines.len() >= MAX_OPS as usize {
        lines.clear();
    }
    let sweeps = first..first + lines.len();
    lines.resize(MAX_OPS as usize, [OP_END, 0, 0, 0]);
    (sweeps, lines)
}

/// A dispatch of one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    /// Kernel.
    pub name: &'static str,
    /// Kernel and the list it scans, if it is a scan.
    pub key: KernelKey,
    pub threads: u32,
    pub sweep: Option<Sweep>,
}

impl Dispatch {
    /// A kernel with this many threads.
    pub fn new(name: &'static str, threads: u32) -> Self {
        Self { name, key: (name, ""), threads, sweep: None }
    }
}

/// Collects the dispatches of one or more stages.
#[derive(Debug)]
pub(super) struct StepRecorder<'a> {
    pub bounds: &'a DispatchBounds,
    pub known: Option<&'a StepStats>,
    /// Contact capacity.
    pub contacts: u32,
    pub joint_runs: &'a [ColorRun],
    /// Dispatches collected so far.
    pub works: Vec<Dispatch>,
}

impl StepRecorder<'_> {
    /// Adds the dispatches of a stage, except [`Stage::Command`], which the owner of the tables dispatches.
    #[allow(clippy::too_many_lines, reason = "one arm a stage and its kernels")]
    pub fn stage(&mut self, op: PlannedStage) {
        let Params {
            body_count: bodies,
            shape_count: shapes,
            cell_count: cells,
            color_blocks,
            joint_count: joints,
            switches,
            ..
        } = self.bounds.params;
        let contacts = self.contacts;
        match op.stage {
            Stage::Command => {}
            Stage::Quarantine => self.dispatch("quarantine", bodies.max(1)),

            Stage::Bound => self.dispatch("bound", shapes),
            Stage::Bin => {
                self.dispatch("bin_clear", cells + 1);
                self.dispatch("bin_count", shapes);
                self.scan("cells", cells + 1);
                self.dispatch("bin_place", shapes);
                self.dispatch("bin_sort", shapes);
            }
            Stage::Pair => {
                if self.bounds.may_part {
                    self.dispatch("pair_exclude", joints);
                }
                self.dispatch("pair_count", shapes + 1);
                if switches & SLEEP != 0 {
                    self.dispatch("pair_count_asleep", shapes);
                }
                self.scan("pairs", shapes + 1);
                self.dispatch("pair_emit", shapes + 1);
            }

            Stage::MatchContacts => self.dispatch("match_contacts", contacts),
            Stage::Collide => {
                let kernel = if self.bounds.hulls { "collide" } else { "collide_sharp" };
                self.dispatch(kernel, contacts);
            }
            Stage::Wake => {
                self.dispatch("wake_find", contacts.max(1));
                self.dispatch("wake_joints", joints);
                self.dispatch("wake_bodies", bodies);
                self.dispatch("wake_shapes", shapes);
                self.dispatch("wake_count", shapes + 1);
                self.scan("merged", shapes + 1);
                self.dispatch("wake_gather", shapes);
                self.dispatch("wake_copy", contacts.max(shapes + 1));
            }
            Stage::CollectEvents => {
                self.dispatch("collect_events_count", shapes + joints + 1);
                self.scan("events", shapes + joints + 1);
                self.dispatch("collect_events_end", shapes);
                self.dispatch("collect_events_begin", shapes);
                self.dispatch("collect_events_joints", joints);
            }
            Stage::Color => {
                self.dispatch("color_inherit", contacts);
                let mut round = 1;
                if self.may_have_many_uncolored() {
                    while round <= WIDE_ROUNDS {
                        let sweep = Sweep { round, ..Sweep::default() };
                        self.dispatch_sweep("color_claim", sweep, contacts);
                        self.dispatch_sweep("color_commit", sweep, contacts);
                        round += 1;
                    }
                }
                self.dispatch_sweep("color_finish", Sweep { round, ..Sweep::default() }, 1);
                self.dispatch("color_count", color_blocks * COLOR_BLOCK);
                self.scan("colors", color_blocks * COLOR_COUNT);
                self.dispatch("color_place", color_blocks * COLOR_BLOCK);
            }
            Stage::Prepare => {
                self.dispatch("prepare", contacts);
                if switches & BOUNCES != 0 {
                    self.dispatch("prepare_rebounds", contacts);
                }
            }
            Stage::PrepareJoints => self.dispatch("prepare_joints", joints),

            Stage::WarmStart => self.sweep("warm_start", "warm_start_tail", op.flags),
            Stage::WarmStartJoints => {
                self.joint_sweep("warm_start_joints", "warm_start_joints_tail", op.flags);
            }
            Stage::IntegrateVelocities => self.dispatch("integrate_velocities", bodies),
            Stage::SolveJoints | Stage::RelaxJoints => {
                self.joint_sweep("solve_joints", "solve_joints_tail", op.flags);
            }
            Stage::Solve | Stage::Relax => self.sweep("solve", "solve_tail", op.flags),
            Stage::IntegratePositions => self.dispatch("integrate_positions", bodies),
            Stage::ProjectJoints => self.joint_sweep("project_joints", "project_joints_tail", op.flags),
            Stage::Project => self.sweep("project", "project_tail", op.flags),

            Stage::Restitution => self.sweep("restitution", "restitution_tail", 0),
            Stage::StoreImpulses => self.dispatch("store_impulses", contacts),
            Stage::Continuous => {
                if switches & MOVING_WALLS != 0 {
                    self.dispatch("continuous_reach", shapes);
                }
                self.dispatch_sweep("continuous_sweep", Sweep::default(), shapes);
                self.dispatch("continuous_move", shapes);
                if switches & BULLETS != 0 {
                    let sweep = Sweep { flags: ONLY_BULLETS, ..Sweep::default() };
                    self.dispatch_sweep("continuous_sweep", sweep, shapes);
                    self.dispatch("continuous_move", shapes);
                }
            }
            Stage::Finalize => self.dispatch("finalize", bodies),
            Stage::Sleep => {
                self.dispatch("sleep_timer", bodies.max(1));
                self.dispatch("sleep_unite", contacts);
                self.dispatch("sleep_unite_joints", joints);
                self.dispatch("sleep_block", contacts);
                self.dispatch("sleep_block_joints", joints);
                self.dispatch("sleep_settle", bodies);
                self.dispatch("sleep_count", shapes + 1);
                self.scan("merged", shapes + 1);
                self.dispatch("sleep_gather", shapes);
                self.dispatch("sleep_copy", contacts.max(shapes + 1));
            }
        }
    }

    /// Adds a sweep over the contacts, one colour after the other. Outdated counts may decide which colours get a
    /// dispatch of their own; the result is the same.
    fn sweep(&mut self, wide: &'static str, tail: &'static str, flags: u32) {
        self.sweep_runs(wide, tail, flags, &self.color_runs());
    }

    /// Adds a sweep over the joints, whose counts are known exactly.
    fn joint_sweep(&mut self, wide: &'static str, tail: &'static str, flags: u32) {
        self.sweep_runs(wide, tail, flags, self.joint_runs);
    }

    fn sweep_runs(&mut self, wide: &'static str, tail: &'static str, flags: u32, runs: &[ColorRun]) {
        for &run in runs {
            match run {
                ColorRun::Wide { color, threads } => {
                    let sweep = Sweep { first_color: color, end_color: color + 1, flags, round: 0 };
                    self.dispatch_sweep(wide, sweep, threads);
                }
                ColorRun::Tail { first, end } => {
                    let sweep = Sweep { first_color: first, end_color: end, flags, round: 0 };
                    self.dispatch_sweep(tail, sweep, 1);
                }
            }
        }
    }

    fn color_runs(&self) -> Vec<ColorRun> {
        let threads = |color: u32| match self.known {
            // Slightly more than last known; a wide kernel loops if that is too few.
            Some(load) => {
                let size = load.colors[color as usize];
                (size >= WIDE_COLOR).then_some(size.saturating_add(size / 16).min(self.contacts))
            }
            None => {
                let large = self.contacts / 4 >= WIDE_COLOR;
                let likely = color < BLIND_WIDE_COLORS || color >= COLOR_COUNT - 2;
                (large && likely).then_some(self.contacts / 4)
            }
        };
        let mut runs = Vec::new();
        for color in 0..COLOR_COUNT {
            match (if color == OVERFLOW_COLOR { None } else { threads(color) }, runs.last_mut()) {
                (Some(threads), _) => runs.push(ColorRun::Wide { color, threads }),
                (None, Some(ColorRun::Tail { end, .. })) => *end = color + 1,
                (None, _) => runs.push(ColorRun::Tail { first: color, end: color + 1 }),
            }
        }
        runs
    }

    fn may_have_many_uncolored(&self) -> bool {
        match self.known {
            Some(load) => load.uncolored > FEW_UNCOLORED,
            None => self.contacts > FEW_UNCOLORED,
        }
    }

    fn scan(&mut self, which: &'static str, length: u32) {
        self.works.extend(scan(which, length));
    }

    fn dispatch(&mut self, name: &'static str, threads: u32) {
        self.works.push(Dispatch::new(name, threads));
    }

    fn dispatch_sweep(&mut self, name: &'static str, sweep: Sweep, threads: u32) {
        self.works.push(Dispatch { sweep: Some(sweep), ..Dispatch::new(name, threads) });
    }
}

/// Returns the dispatches that replace the counts of a list by their prefix sums.
pub(super) fn scan(which: &'static str, length: u32) -> Vec<Dispatch> {
    let work = |key, name, threads| Dispatch { key: (key, which), ..Dispatch::new(name, threads) };
    if length <= SCAN_ALONE {
        return vec![work("scan_blocks", "scan_blocks", 1)];
    }
    let threads = length.div_ceil(SCAN_BLOCK) * COLOR_BLOCK;
    vec![
        work("scan_reduce", "scan_reduce", threads),
        work("scan_blocks of sums", "scan_blocks", 1),
        work("scan_apply", "scan_apply", threads),
    ]
}

impl Engine {
    /// Runs one line of the plan. In a small world the first sweep runs all sweeps, in the fused kernel.
    ///
    /// # Errors
    /// If a kernel does not compile.
    pub fn run_line(
        &mut self,
        pass: &mut wgpu::ComputePass,
        (index, op): (usize, PlannedStage),
        bounds: &DispatchBounds,
        known: Option<&StepStats>,
    ) -> Result<(), WorldError> {
        if !self.solver.contains(&index) {
            return self.run(pass, op, bounds, known);
        }
        match self.fused_kernel(bounds, known)? {
            Some(_) if index > self.solver.start => Ok(()),
            Some(kernel) => self.execute(pass, &Dispatch::new(kernel, 1)),
            None => self.run(pass, op, bounds, known),
        }
    }

    /// Runs one line of the plan without fusing it, so that it can be timed; counts the dispatches that it usually
    /// takes.
    ///
    /// # Errors
    /// If a kernel does not compile.
    pub fn run_apart(
        &mut self,
        pass: &mut wgpu::ComputePass,
        (index, op): (usize, PlannedStage),
        bounds: &DispatchBounds,
        known: Option<&StepStats>,
    ) -> Result<(), WorldError> {
        let before = self.dispatches;
        self.run(pass, op, bounds, known)?;
        if self.solver.contains(&index) && self.fused_kernel(bounds, known)?.is_some() {
            self.dispatches = before + u32::from(index == self.solver.start);
        }
        Ok(())
    }

    /// Returns the fused kernel to use, if it is faster by counts that may be outdated; the result is the same.
    fn fused_kernel(
        &self,
        bounds: &DispatchBounds,
        known: Option<&StepStats>,
    ) -> Result<Option<&'static str>, WorldError> {
        let Params { body_count, joint_count, .. } = bounds.params;
        // The capacity holds 1.5 times the first contacts, and four per shape.
        let contacts = known.map_or(self.contact_capacity / 2, StepStats::contacts);
        let largest = known.map_or(contacts / BLIND_WIDE_COLORS, StepStats::largest_color);
        let software = is_software(self.context.info());
        let usual = if contacts.max(body_count).max(joint_count) > FEW {
            None
        } else if software {
            (largest <= NARROW_COLOR).then_some(0)
        } else {
            // Where bodies hardly touch, the passes over all bodies dominate.
            Some(1 + usize::from(largest.max(body_count / 8) > MORE_LANES))
        };
        let forced = self.forced_lanes.map(|forced| FUSED.iter().position(|&(lanes, _)| lanes == forced));
        let Some(size) = forced.unwrap_or(usual).filter(|_| !self.solver.is_empty()) else { return Ok(None) };
        let kernel = FUSED[size].1[usize::from(joint_count > 0)];
        Ok(self.kernels.fits(kernel)?.then_some(kernel))
    }

    /// Runs one stage.
    ///
    /// # Errors
    /// If a kernel does not compile.
    pub fn run(
        &mut self,
        pass: &mut wgpu::ComputePass,
        op: PlannedStage,
        bounds: &DispatchBounds,
        known: Option<&StepStats>,
    ) -> Result<(), WorldError> {
        let joint_runs = std::mem::take(&mut self.joint_runs);
        let mut recorder =
            StepRecorder { bounds, known, contacts: self.contact_capacity, joint_runs: &joint_runs, works: Vec::new() };
        recorder.stage(op);
        let works = recorder.works;
        self.joint_runs = joint_runs;
        works.iter().try_for_each(|work| self.execute(pass, work))
    }

    /// Compiles the kernels that the first step of this plan dispatches, in parallel. Kernels that only later steps
    /// need are compiled then.
    ///
    /// # Errors
    /// If a kernel does not compile.
    pub fn compile(&self, plan: &[PlannedStage], bounds: &DispatchBounds) -> Result<(), WorldError> {
        let mut recorder = StepRecorder {
            bounds,
            known: None,
            contacts: self.contact_capacity,
            joint_runs: &self.joint_runs,
            works: Vec::new(),
        };
        let fused_kernel = self.fused_kernel(bounds, None)?;
        for (index, &op) in plan.iter().enumerate() {
            if fused_kernel.is_none() || !self.solver.contains(&index) {
                recorder.stage(op);
            }
        }
        let works = recorder.works.iter().filter(|work| work.threads > 0);
        Ok(self.kernels.prepare(works.map(|work| work.name).chain(fused_kernel))?)
    }
}

/// Returns the dispatches of a sweep over joints, by their colours. Colours that are empty in all worlds are skipped.
pub(super) fn joint_runs<'a>(worlds: impl IntoIterator<Item = &'a JointTable>) -> Vec<ColorRun> {
    let mut runs: Vec<ColorRun> = Vec::new();
    // The trees follow the colours.
    let mut sizes = [0_u32; JOINT_COLORS as usize + 1];
    for joints in worlds {
        for (color, size) in sizes.iter_mut().enumerate() {
            let own = if color < JOINT_COLORS as usize { joints.of_color(color).len() } else { joints.tree_count() };
            *size = (*size).max(u32::try_from(own).unwrap_or(u32::MAX));
        }
    }
    for (color, size) in (0..).zip(sizes) {
        match runs.last_mut() {
            _ if size == 0 => {}
            _ if size >= WIDE_COLOR && color < JOINT_OVERFLOW => runs.push(ColorRun::Wide { color, threads: size }),
            Some(ColorRun::Tail { end, .. }) => *end = color + 1,
            _ => runs.push(ColorRun::Tail { first: color, end: color + 1 }),
        }
    }
    runs
}
