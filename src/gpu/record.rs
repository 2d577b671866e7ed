//! Records steps as dispatches: the kernels of each stage and their thread counts, and how the colours of a sweep, or
//! all sweeps of a small world, share dispatches.

use std::collections::BTreeMap;
use std::ops::Range;

use super::SCAN_BLOCK;
use super::context::is_software;
use super::engine::{Engine, KernelKey};
use super::thresholds::Thresholds;
use super::works::{StageWork, ThreadCount, stage_works};
use crate::scene::{Compiled, JointTable};
use crate::stages::color::split::max_splits;
use crate::step::{PlannedStage, Stage};
use crate::types::{
    COLOR_BLOCK, COLOR_COUNT, Counters, JOINT_COLORS, JOINT_OVERFLOW, MAX_OPS, OP_END, OP_INTEGRATE_POSITIONS,
    OP_INTEGRATE_VELOCITIES, OP_PROJECT, OP_PROJECT_JOINTS, OP_RESTITUTION, OP_SOLVE, OP_SOLVE_JOINTS, OP_WARM_START,
    OP_WARM_START_JOINTS, OVERFLOW_COLOR, OVERFLOW_CONTACTS, Params, SPLIT_DONE, Sweep,
};
use crate::world_error::WorldError;

/// Contacts that are split for each workgroup that merges shares.
const SPLITS_PER_MERGE: u32 = 16;
/// Lanes of a workgroup of `shares_merge`.
const MERGE_LANES: u32 = 256;
/// Maximum number of workgroups that merge shares.
const MAX_MERGES: u32 = 256;
/// Colours assumed to be wide before the first counters have arrived.
const BLIND_WIDE_COLORS: u32 = 12;
/// Minimum joints of a colour for a dispatch of its own.
const WIDE_JOINTS: u32 = 640;
/// Maximum number of new contacts that one workgroup colours quickly enough.
const FEW_UNCOLORED: u32 = 2048;
/// A step may have as many new contacts as one in this number of all, although the last had none: something exploded.
const BURST: u32 = 64;

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
    Wide {
        color: u32,
        threads: u32,
    },
    /// Contacts of the overflow that are split.
    Split {
        threads: u32,
    },
    Tail {
        first: u32,
        end: u32,
    },
}

/// Inputs that decide which kernels a step runs and over how many threads; for many worlds the maximum of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct DispatchBounds {
    pub params: Params,
    /// There are shapes other than sharp boxes and circles.
    pub hulls: bool,
    /// Some joint may stop excluding its pair of bodies from collision, by breaking or being disabled.
    pub may_part: bool,
}

impl DispatchBounds {
    pub fn of(compiled: &Compiled) -> Self {
        Self { params: compiled.params, hulls: compiled.hulls, may_part: compiled.joints.may_part }
    }

    /// Returns true if the lists of both have the same lengths.
    pub fn is_as_long_as(&self, other: &Self) -> bool {
        let lengths = |&Params { shape_count, cell_count, joint_count, color_blocks, .. }: &Params| {
            [shape_count, cell_count, joint_count, color_blocks]
        };
        lengths(&self.params) == lengths(&other.params)
    }

    /// Returns bounds that cover all of these worlds; `None` if there are none.
    pub fn of_all<'a>(mut all: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut bounds = *all.next()?;
        all.for_each(|other| bounds.cover(other));
        Some(bounds)
    }

    /// Extends the bounds to cover another world.
    pub fn cover(&mut self, other: &Self) {
        let Params { body_count, shape_count, cell_count, joint_count, color_blocks, .. } = other.params;
        self.params.body_count = self.params.body_count.max(body_count);
        self.params.shape_count = self.params.shape_count.max(shape_count);
        self.params.cell_count = self.params.cell_count.max(cell_count);
        self.params.joint_count = self.params.joint_count.max(joint_count);
        self.params.color_blocks = self.params.color_blocks.max(color_blocks);
        self.params.switches |= other.params.switches;
        self.hulls |= other.hulls;
        self.may_part |= other.may_part;
    }
}

/// Statistics of a past step by which the next ones are recorded. Outdated figures never change a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepStats {
    colors: [u32; COLOR_COUNT as usize],
    uncolored: u32,
    /// Number of pairs in a step that found more than fit; else 0.
    too_many: u32,
}

impl StepStats {
    pub fn of(counters: &Counters) -> Self {
        let is_full = counters.overflow_bits & OVERFLOW_CONTACTS != 0;
        let too_many = if is_full { counters.pairs_found } else { 0 };
        let mut load = Self { uncolored: counters.uncolored, too_many, ..Self::default() };
        for (color, size) in (0..).zip(&mut load.colors) {
            *size = counters.color_size(color);
        }
        load
    }

    fn contacts(&self) -> u32 {
        self.colors.iter().fold(0, |sum: u32, &size| sum.saturating_add(size)).max(self.too_many)
    }

    fn largest_color(&self) -> u32 {
        self.colors.iter().copied().max().unwrap_or(0)
    }

    /// Returns the maximum of two worlds' statistics.
    pub fn and(mut self, other: &Self) -> Self {
        self.uncolored = self.uncolored.max(other.uncolored);
        self.too_many = self.too_many.max(other.too_many);
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
    pub thresholds: Thresholds,
    /// Dispatches collected so far.
    pub works: Vec<Dispatch>,
}

impl StepRecorder<'_> {
    /// Adds the dispatches of a stage.
    pub fn stage(&mut self, op: PlannedStage) {
        for work in stage_works(op, self.bounds) {
            self.work(work);
        }
    }

    /// Adds the dispatches of a part of a stage.
    pub fn work(&mut self, work: StageWork) {
        let count = |count: ThreadCount| count.at(self.contacts, self.bounds.params.color_blocks);
        match work {
            StageWork::Kernel { name, threads, sweep } => {
                self.works.push(Dispatch { sweep, ..Dispatch::new(name, count(threads)) });
            }
            StageWork::Scan { list, length } => {
                self.works.extend(scan(list, count(length), self.thresholds));
            }
            StageWork::ColorRounds => self.color_rounds(),
            StageWork::ContactSweep { wide, tail, flags } => self.sweep(wide, tail, flags),
            StageWork::JointSweep { wide, tail, flags } => self.joint_sweep(wide, tail, flags),
        }
    }

    fn color_rounds(&mut self) {
        let (mut round, mut left) = (1, self.uncolored());
        let threads = left.saturating_add(left / 16).min(self.contacts);
        while left > FEW_UNCOLORED {
            let sweep = Sweep { round, ..Sweep::default() };
            self.dispatch_sweep("color_claim", sweep, threads);
            self.dispatch_sweep("color_commit", sweep, threads);
            // Most rounds colour more than half of the contacts that are left.
            (round, left) = (round + 1, left / 2);
        }
        self.dispatch_sweep("color_finish", Sweep { round, ..Sweep::default() }, 1);
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
        let is_split = runs.iter().any(|run| matches!(run, ColorRun::Split { .. }));
        for &run in runs {
            match run {
                ColorRun::Split { threads } => {
                    let sweep = Sweep { first_color: OVERFLOW_COLOR, end_color: OVERFLOW_COLOR + 1, flags, round: 0 };
                    self.dispatch("shares_hand_out", 2 * threads);
                    self.dispatch_sweep(wide, sweep, threads);
                    self.dispatch("shares_merge", (threads / SPLITS_PER_MERGE + 1).min(MAX_MERGES) * MERGE_LANES);
                }
                ColorRun::Wide { color, threads } => {
                    let sweep = Sweep { first_color: color, end_color: color + 1, flags, round: 0 };
                    self.dispatch_sweep(wide, sweep, threads);
                }
                ColorRun::Tail { first, end } => {
                    let flags = if is_split { flags | SPLIT_DONE } else { flags };
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
                (size >= self.thresholds.wide_color).then_some(size.saturating_add(size / 16).min(self.contacts))
            }
            None => {
                let large = self.contacts / 4 >= self.thresholds.wide_color;
                let likely = color < BLIND_WIDE_COLORS || color >= COLOR_COUNT - 2;
                (large && likely).then_some(self.contacts / 4)
            }
        };
        let mut runs = Vec::new();
        for color in 0..COLOR_COUNT {
            if color == OVERFLOW_COLOR
                && let Some(threads) = self.split_threads()
            {
                runs.push(ColorRun::Split { threads });
            }
            match (if color == OVERFLOW_COLOR { None } else { threads(color) }, runs.last_mut()) {
                (Some(threads), _) => runs.push(ColorRun::Wide { color, threads }),
                (None, Some(ColorRun::Tail { end, .. })) => *end = color + 1,
                (None, _) => runs.push(ColorRun::Tail { first: color, end: color + 1 }),
            }
        }
        runs
    }

    /// Returns the number of threads for the contacts that are split, or `None` if one lane solves them as fast.
    fn split_threads(&self) -> Option<u32> {
        let most = max_splits(self.bounds.params.shape_count);
        let known = match self.known {
            Some(load) => load.colors[OVERFLOW_COLOR as usize],
            // Most worlds have no hub; a first step in order of one that has takes long, though.
            None => self.contacts / 8,
        };
        let count = known.min(most);
        (count >= self.thresholds.wide_split).then_some(count.saturating_add(count / 16).min(most))
    }

    /// Returns the number of contacts that may have no colour.
    fn uncolored(&self) -> u32 {
        self.known.map_or(self.contacts, |load| load.uncolored.max(load.contacts() / BURST)).min(self.contacts)
    }

    fn dispatch(&mut self, name: &'static str, threads: u32) {
        self.works.push(Dispatch::new(name, threads));
    }

    fn dispatch_sweep(&mut self, name: &'static str, sweep: Sweep, threads: u32) {
        self.works.push(Dispatch { sweep: Some(sweep), ..Dispatch::new(name, threads) });
    }
}

/// Returns the bounds by which kernels are chosen, with their names: those of hardware, or of software adapters.
pub(super) fn rules(is_software: bool) -> BTreeMap<&'static str, u64> {
    let common = [
        ("splits_per_merge", SPLITS_PER_MERGE),
        ("merge_lanes", MERGE_LANES),
        ("max_merges", MAX_MERGES),
        ("blind_wide_colors", BLIND_WIDE_COLORS),
        ("few_uncolored", FEW_UNCOLORED),
        ("burst", BURST),
        ("narrow_color", NARROW_COLOR),
        ("more_lanes", MORE_LANES),
    ];
    let own = Thresholds::of(is_software).named();
    common.into_iter().chain(own).map(|(name, bound)| (name, u64::from(bound))).collect()
}

/// Returns the dispatches that replace the counts of a list by their prefix sums.
pub(super) fn scan(which: &'static str, length: u32, thresholds: Thresholds) -> Vec<Dispatch> {
    let work = |key, name, threads| Dispatch { key: (key, which), ..Dispatch::new(name, threads) };
    if length <= thresholds.scan_alone {
        return vec![work("scan_blocks", "scan_blocks", 1)];
    }
    let threads = length.div_ceil(SCAN_BLOCK) * COLOR_BLOCK;
    vec![
        work("scan_reduce", "scan_reduce", threads),
        work("scan_blocks of sums", "scan_blocks", 1),
        work("scan_apply", "scan_apply", threads),
    ]
}

/// Returns the index in [`FUSED`] of the kernel that runs all sweeps of a small world fastest, or `None` if a dispatch
/// for each is faster.
pub(super) fn fused_size(
    bounds: &DispatchBounds,
    contact_capacity: u32,
    known: Option<&StepStats>,
    is_software: bool,
) -> Option<usize> {
    let Params { body_count, joint_count, .. } = bounds.params;
    let thresholds = Thresholds::of(is_software);
    // The capacity holds 1.5 times the first contacts, and four per shape.
    let contacts = known.map_or(contact_capacity / 2, StepStats::contacts);
    let largest = known.map_or(contacts / BLIND_WIDE_COLORS, StepStats::largest_color);
    // One lane of the fused kernel would solve them. On lavapipe, which ends all loops of a kernel after some ten
    // thousand iterations together, it would not even come to their end.
    let has_hubs = known.is_some_and(|load| load.colors[OVERFLOW_COLOR as usize] >= thresholds.wide_split);
    if contacts.max(body_count).max(joint_count) > thresholds.fused || has_hubs {
        None
    } else if is_software {
        (largest <= NARROW_COLOR).then_some(0)
    } else {
        // Where bodies hardly touch, the passes over all bodies dominate.
        Some(1 + usize::from(largest.max(body_count / 8) > MORE_LANES))
    }
}

impl Engine {
    /// Returns the bounds by which kernels are chosen.
    pub fn thresholds(&self) -> Thresholds {
        Thresholds::of(is_software(self.context.info()))
    }

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
        let usual = fused_size(bounds, self.contact_capacity, known, is_software(self.context.info()));
        let forced = self.forced_lanes.map(|forced| FUSED.iter().position(|&(lanes, _)| lanes == forced));
        let Some(size) = forced.unwrap_or(usual).filter(|_| !self.solver.is_empty()) else { return Ok(None) };
        let kernel = FUSED[size].1[usize::from(bounds.params.joint_count > 0)];
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
        let mut recorder = StepRecorder {
            bounds,
            known,
            contacts: self.contact_capacity,
            joint_runs: &joint_runs,
            thresholds: self.thresholds(),
            works: Vec::new(),
        };
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
            thresholds: self.thresholds(),
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
            _ if size >= WIDE_JOINTS && color < JOINT_OVERFLOW => runs.push(ColorRun::Wide { color, threads: size }),
            Some(ColorRun::Tail { end, .. }) => *end = color + 1,
            _ => runs.push(ColorRun::Tail { first: color, end: color + 1 }),
        }
    }
    runs
}
