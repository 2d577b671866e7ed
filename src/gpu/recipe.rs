//! The steps of one world as data, for programs that run them without this library: tables with their first contents,
//! kernels after composition, and the dispatches of a step. Made without a device.
//!
//! Which kernels a step dispatches depends on capacities and on the counts of a past step. A [`StepRecipe`] therefore
//! lists the parts of each stage ([`StageWork`]) and the bounds by which a recorder chooses ([`RecipeRules`]).
//! [`StepRecipe::dispatches`] returns the choice of this library, with which another recorder can be compared.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;

use super::capacity::Capacity;
use super::engine::{KernelKey, at_parity, first_bodies, first_exclusions, first_joints, place, renamed, scan_lengths};
use super::kernel::{BindingKind, KernelError, Reflection, reflect, shader_of};
use super::memory::{Features, Group, Per, Sizes, TABLES, buffer_bytes};
use super::record::{
    self, ColorRun, Dispatch, DispatchBounds, FUSED, StepRecorder, StepStats, fused_size, joint_runs, program, scan,
};
use super::shader::{Composer, SHADERS};
use super::state::begun;
use super::thresholds::Thresholds;
use super::works::{StageWork, stage_works};
use super::worlds::{LOT_ALONE, MIN_CONTACTS_ALONE};
use super::{INITIAL_EVENTS, SCAN_BLOCK, estimate_contacts};
use crate::cancel::StepLimits;
use crate::command::{JointCommand, wake_all, wake_bodies};
use crate::initial_loads::initial_contacts;
use crate::population::JointId;
use crate::scene::timeline::TimelineEntry;
use crate::scene::{Compiled, ContactRule, TimedAction};
use crate::stages::color::split::max_splits;
use crate::step::{PlannedStage, plan};
use crate::types::{
    COLOR_BLOCK, COLOR_COUNT, CommandData, Constraint, Counters, OVERFLOW_COLOR, Params, SPLIT_DONE, SleepingContact,
    Sweep, TILE_LANES,
};

/// The steps of one world as data.
#[derive(Debug)]
pub struct StepRecipe {
    compiled: Compiled,
    sizes: Sizes,
    features: Features,
    bounds: DispatchBounds,
    plan: Vec<PlannedStage>,
    solver: Range<usize>,
    program: Vec<[u32; 4]>,
    joint_runs: Vec<ColorRun>,
    contents: Vec<RecipeContents>,
}

/// A table on the device: a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecipeTable {
    /// Name.
    pub name: &'static str,
    /// Size of a row, bytes.
    pub row: usize,
    /// Rows that do not depend on the contact capacity.
    pub rows: usize,
    /// Element of the contact tables for which there are more rows.
    pub per: Option<Per>,
    /// True if its rows are copied when the contact tables are replaced by larger ones.
    pub is_kept: bool,
}

/// First contents of a part of a table. The rest is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeContents {
    /// Name of the table.
    pub table: &'static str,
    /// Offset, bytes.
    pub offset: u64,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// A line of the plan with its parts. Sweeps over joints are resolved, as their colours are known.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeLine {
    /// Stage.
    pub stage: PlannedStage,
    /// Parts, in order.
    pub works: Vec<StageWork>,
    /// True for the lines that the fused kernel runs all at once, in a small world.
    pub is_fused: bool,
}

/// A kernel with the buffers that it binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeKernel {
    /// Name in dispatches: that of the entry point, or that of a scan and its list, as `scan_blocks/cells`.
    pub name: String,
    /// Entry point.
    pub entry: &'static str,
    /// Name of the module.
    pub shader: &'static str,
    /// Threads per workgroup.
    pub lanes: u32,
    /// True if it reads the uniform [`Sweep`] of group 1.
    pub uses_sweep: bool,
    /// Bindings of group 0.
    pub bindings: Vec<RecipeBinding>,
}

/// A binding of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeBinding {
    /// Index in the group.
    pub index: u32,
    /// Address space and access.
    pub kind: BindingKind,
    /// Names of the buffer in steps of parity 0 and 1. Parity alternates, and is 1 in the first step.
    pub buffers: [String; 2],
}

/// Kernels of a recipe, and the text of the modules that they are entry points of, by name.
#[derive(Clone, Debug, Default)]
pub struct RecipeKernels {
    /// Kernels.
    pub kernels: Vec<RecipeKernel>,
    /// WGSL of each module.
    pub shaders: BTreeMap<&'static str, String>,
}

/// Effects of a scene's timeline before one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecipeTimed {
    /// Number of steps done before.
    pub step: u64,
    /// New gravity, m/s².
    pub gravity: Option<[f32; 2]>,
    /// Commands, in order.
    pub commands: Vec<CommandData>,
}

/// A dispatch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeDispatch {
    /// Name of the kernel ([`RecipeKernel::name`]).
    pub kernel: String,
    /// Number of threads.
    pub threads: u32,
    /// Parameters, if the kernel has any.
    pub sweep: Option<Sweep>,
}

impl StepRecipe {
    /// Makes the recipe of a world at its start. Strict mode is left out: a step that overflows keeps the contacts that
    /// fit.
    #[must_use]
    pub fn new(mut compiled: Compiled) -> Self {
        compiled.settings.strict = false;
        let is_switch = |entry: &TimelineEntry| matches!(entry.action, TimedAction::Joint(_, JointCommand::Enable(_)));
        compiled.joints.may_part |= compiled.script.timeline.entries().iter().any(is_switch);
        let capacity = Capacity::first(&compiled);
        let features = Features::of(&compiled);
        let initial = initial_contacts(&compiled);
        let least = initial.as_ref().map_or(0, |initial| u32::try_from(initial.contacts.len()).unwrap_or(u32::MAX));
        let contacts = estimate_contacts(&compiled, MIN_CONTACTS_ALONE, LOT_ALONE).max(least);
        let sizes = Sizes::new(capacity, contacts, if features.events { INITIAL_EVENTS } else { 0 });
        place(&sizes, &mut compiled.params);
        let plan = plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0);
        let (solver, program) = program(&plan);
        let contents = |(table, offset, bytes): (_, _, &[u8])| RecipeContents { table, offset, bytes: bytes.to_vec() };
        let first = first_bodies(&compiled).into_iter().chain(first_joints(&compiled));
        let mut all: Vec<_> = first.map(|(table, bytes)| contents((table, 0, &bytes))).collect();
        all.extend(first_exclusions(&compiled, &sizes).map(|(offset, bytes)| contents(("partners", offset, bytes))));
        if let Some(initial) = &initial {
            all.extend(begun(0, initial).iter().map(contents));
        }
        all.retain(|part| !part.bytes.is_empty());
        Self {
            bounds: DispatchBounds::of(&compiled),
            joint_runs: joint_runs([&compiled.joints]),
            contents: all,
            compiled,
            sizes,
            features,
            plan,
            solver,
            program,
        }
    }

    /// Returns the world's tables on the host, with the constants that the kernels read.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Returns the first contact capacity.
    #[must_use]
    pub fn contact_capacity(&self) -> u32 {
        self.compiled.params.contact_capacity
    }

    /// Returns all tables of the world. Those that it does not have are there, without rows: kernels bind them.
    #[must_use]
    pub fn tables(&self) -> Vec<RecipeTable> {
        const KEPT: [&str; 5] = ["contacts_0", "contacts_1", "manifolds_0", "manifolds_1", "sleeping"];
        let without = Sizes { contacts: 0, ..self.sizes };
        let table = |table: &super::memory::DeviceTable| {
            let has_more = self.sizes.rows_of(table, self.features) > without.rows_of(table, self.features);
            RecipeTable {
                name: table.name,
                row: table.bytes,
                rows: without.rows_of(table, self.features),
                per: (table.group() == Group::Contacts && has_more).then_some(table.per),
                is_kept: KEPT.contains(&table.name),
            }
        };
        TABLES.iter().map(table).collect()
    }

    /// Returns the first contents of the tables.
    #[must_use]
    pub fn contents(&self) -> &[RecipeContents] {
        &self.contents
    }

    /// Returns the uniform buffers at the first contact capacity.
    #[must_use]
    pub fn uniforms(&self) -> Vec<(&'static str, Vec<u8>)> {
        let scans = scan_lengths(&self.compiled.params);
        let scans = scans.into_iter().map(|(name, words)| (name, bytemuck::bytes_of(&words).to_vec()));
        let params = bytemuck::bytes_of(&self.compiled.params).to_vec();
        let program = bytemuck::cast_slice(&self.program).to_vec();
        [("params", params), ("program", program)].into_iter().chain(scans).collect()
    }

    /// Returns the lines of the plan, in order.
    #[must_use]
    pub fn lines(&self) -> Vec<RecipeLine> {
        let line = |(index, &stage): (usize, &PlannedStage)| {
            let works = stage_works(stage, &self.bounds).into_iter().flat_map(|work| self.resolved(work)).collect();
            RecipeLine { stage, works, is_fused: self.solver.contains(&index) }
        };
        self.plan.iter().enumerate().map(line).collect()
    }

    /// Returns the dispatches of a sweep over joints, and all other parts as they are.
    fn resolved(&self, work: StageWork) -> Vec<StageWork> {
        if !matches!(work, StageWork::JointSweep { .. }) {
            return vec![work];
        }
        let mut recorder = self.recorder(None, 0, false);
        recorder.work(work);
        let kernel = |&Dispatch { name, threads, sweep, .. }: &Dispatch| StageWork::Kernel {
            name,
            threads: threads.into(),
            sweep,
        };
        recorder.works.iter().map(kernel).collect()
    }

    fn recorder<'a>(&'a self, known: Option<&'a StepStats>, contacts: u32, is_software: bool) -> StepRecorder<'a> {
        StepRecorder {
            bounds: &self.bounds,
            known,
            contacts,
            joint_runs: &self.joint_runs,
            thresholds: Thresholds::of(is_software),
            works: Vec::new(),
        }
    }

    /// Returns the names of the fused kernels, from the narrowest, by their number of lanes. A world with slots for
    /// joints and no joint has those without joints, which bind fewer tables.
    #[must_use]
    pub fn fused(&self) -> Vec<(u32, &'static str)> {
        let has_joints = usize::from(self.compiled.joints.count() > 0);
        FUSED.iter().map(|&(lanes, names)| (lanes, names[has_joints])).collect()
    }

    /// Composes all kernels that a step may dispatch.
    ///
    /// # Errors
    /// If a shader is not valid.
    pub fn kernels(&self) -> Result<RecipeKernels, KernelError> {
        let mut keys: Vec<KernelKey> = vec![("command", "")];
        if self.bounds.params.joint_count > 0 {
            keys.push(("command_joints", ""));
        }
        for line in self.lines() {
            for work in line.works {
                keys.extend(keys_of(work));
            }
        }
        keys.extend(self.fused().iter().map(|&(_, name)| (name, "")));
        let mut all = RecipeKernels::default();
        let mut points: BTreeMap<&'static str, Vec<(String, Reflection)>> = BTreeMap::new();
        for key in keys {
            let name = name_of(key);
            if all.kernels.iter().any(|kernel| kernel.name == name) {
                continue;
            }
            let entry = if key.0 == SUMS { "scan_blocks" } else { key.0 };
            let missing = || KernelError::Missing { name: entry };
            let shader = SHADERS[shader_of(entry).ok_or_else(missing)?].name;
            if !points.contains_key(shader) {
                let rule = self.compiled.contact_rule.as_ref().map(ContactRule::wgsl);
                let composed = Composer::SOLVER.with_rule(rule).compose(shader)?;
                points.insert(shader, reflect(&composed)?);
                all.shaders.insert(shader, composed.text().to_owned());
            }
            let (_, point) = points[shader].iter().find(|(point, _)| point == entry).ok_or_else(missing)?;
            let binding = |binding: &super::kernel::Binding| RecipeBinding {
                index: binding.index,
                kind: binding.kind,
                buffers: [0, 1].map(|parity| at_parity(renamed(&binding.name, key), parity).to_owned()),
            };
            all.kernels.push(RecipeKernel {
                name,
                entry,
                shader,
                lanes: point.workgroup_size,
                uses_sweep: point.uses_sweep,
                bindings: point.bindings.iter().map(binding).collect(),
            });
        }
        Ok(all)
    }

    /// Returns the dispatches of a step without commands that is recorded with this contact capacity, knowing the
    /// counters of a past step.
    #[must_use]
    pub fn dispatches(
        &self,
        known: Option<&Counters>,
        contact_capacity: u32,
        is_software: bool,
        can_fuse: bool,
    ) -> Vec<RecipeDispatch> {
        let known = known.map(StepStats::of);
        let mut bounds = self.bounds;
        place(&Sizes { contacts: contact_capacity as usize, ..self.sizes }, &mut bounds.params);
        let fused = fused_size(&bounds, contact_capacity, known.as_ref(), is_software);
        let fused = fused.filter(|_| can_fuse && !self.solver.is_empty()).map(|size| self.fused()[size].1);
        let mut recorder =
            StepRecorder { bounds: &bounds, ..self.recorder(known.as_ref(), contact_capacity, is_software) };
        for (index, &op) in self.plan.iter().enumerate() {
            match fused {
                Some(kernel) if index == self.solver.start => recorder.works.push(Dispatch::new(kernel, 1)),
                Some(_) if self.solver.contains(&index) => {}
                _ => recorder.stage(op),
            }
        }
        let works = recorder.works.into_iter().filter(|work| work.threads > 0);
        let dispatch = |Dispatch { key, threads, sweep, .. }| RecipeDispatch { kernel: name_of(key), threads, sweep };
        works.map(dispatch).collect()
    }

    /// Returns the commands by which kinematic bodies follow their paths in the step after `steps` steps.
    #[must_use]
    pub fn path_commands(&self, steps: u64) -> Vec<CommandData> {
        let mut commands = Vec::new();
        self.compiled.lead_on(&mut commands, steps);
        commands
    }

    /// Returns the entry of the scene's timeline, by its index, that depends on the state of the world or changes more
    /// than commands can, with the reason; `None` if [`Self::timed_commands`] has the whole timeline.
    #[must_use]
    pub fn unlisted_entry(&self) -> Option<(usize, &'static str)> {
        self.compiled.script.timeline.entries().iter().enumerate().find_map(|(index, entry)| {
            let reason = match (&entry.action, entry.when) {
                (_, Some(_)) => "waits for a condition",
                (TimedAction::Remove { .. }, None) => "removes bodies or joints",
                _ => return None,
            };
            Some((index, reason))
        })
    }

    /// Returns the effects of the scene's timeline before the first steps, up to a number of steps and of commands.
    #[must_use]
    pub fn timed_commands(&self, steps: u64, most: usize) -> Vec<RecipeTimed> {
        let timeline = self.compiled.script.timeline.clone();
        if timeline.is_empty() {
            return Vec::new();
        }
        let mut compiled = self.compiled.clone();
        let starts = timeline.first_starts();
        let (mut all, mut step, mut count) = (Vec::new(), timeline.next(&starts, 0), 0);
        while step < steps && count < most {
            let mut timed = RecipeTimed { step, ..RecipeTimed::default() };
            let (mut bodies, mut joints) = (Vec::new(), Vec::new());
            // Commands that a body or a joint does not take are dropped, as in a world.
            for action in timeline.actions(&starts, step) {
                match action {
                    TimedAction::Gravity(gravity) => {
                        let is_new = compiled.change_gravity(gravity.into());
                        timed.gravity = is_new.then(|| gravity.into()).or(timed.gravity);
                    }
                    TimedAction::Body(index, command) if index < compiled.bodies.len() => {
                        let _ = command.push(&compiled, index, &mut bodies);
                    }
                    TimedAction::Joint(index, command) => {
                        let id = JointId { index: u32::try_from(index).unwrap_or(u32::MAX), generation: 0 };
                        if let Ok(records) = command.flatten(&compiled, id) {
                            joints.extend(records);
                            let place = compiled.joints.place(id.index);
                            let ends = place.map(|place| compiled.joints.joints[place].moving_ends());
                            wake_bodies(&compiled, ends.into_iter().flatten().flatten(), &mut joints);
                        }
                    }
                    TimedAction::Body(..) | TimedAction::Remove { .. } => {}
                }
            }
            timed.commands = [bodies, joints].concat();
            if timed.gravity.is_some() {
                wake_all(&compiled, &mut timed.commands);
            }
            count += timed.commands.len() + 1;
            all.push(timed);
            step = timeline.next(&starts, step + 1);
        }
        all
    }

    /// Returns the bounds by which kernels and capacities are chosen, with their names.
    #[must_use]
    pub fn rules(&self, is_software: bool) -> RecipeRules {
        let Params { shape_count, body_count, joint_count, .. } = self.compiled.params;
        let count = |n: usize| n as u64;
        let mut rules = record::rules(is_software);
        rules.extend([
            ("scan_block", u64::from(SCAN_BLOCK)),
            ("color_block", u64::from(COLOR_BLOCK)),
            ("tile_lanes", u64::from(TILE_LANES)),
            ("color_count", u64::from(COLOR_COUNT)),
            ("overflow_color", u64::from(OVERFLOW_COLOR)),
            ("split_done", u64::from(SPLIT_DONE)),
            ("max_splits", u64::from(max_splits(shape_count))),
            ("body_count", u64::from(body_count)),
            ("joint_count", u64::from(joint_count)),
            ("min_buffer", buffer_bytes(0)),
            ("max_contacts", count(StepLimits::default().contacts(shape_count as usize))),
            ("contact_lot", LOT_ALONE),
            ("contact_row", count(size_of::<Constraint>().max(size_of::<SleepingContact>()))),
            ("gravity_offset", count(offset_of!(Params, gravity))),
            ("contact_capacity_offset", count(offset_of!(Params, contact_capacity))),
            ("color_blocks_offset", count(offset_of!(Params, color_blocks))),
        ]);
        rules
    }
}

/// Bounds by which a recorder chooses kernels and capacities, by name.
pub type RecipeRules = BTreeMap<&'static str, u64>;

/// Key of the scan of the sums of blocks.
const SUMS: &str = "scan_blocks of sums";

/// Returns the name of a kernel with its list.
fn name_of((name, list): KernelKey) -> String {
    if list.is_empty() { name.to_owned() } else { format!("{name}/{list}") }
}

/// Returns all kernels that a part of a stage may dispatch.
fn keys_of(work: StageWork) -> Vec<KernelKey> {
    match work {
        StageWork::Kernel { name, .. } => vec![(name, "")],
        StageWork::Scan { list, .. } => {
            let scans = [0, u32::MAX].into_iter().flat_map(|length| scan(list, length, Thresholds::of(false)));
            scans.map(|work| work.key).collect()
        }
        StageWork::ColorRounds => vec![("color_claim", ""), ("color_commit", ""), ("color_finish", "")],
        StageWork::ContactSweep { wide, tail, .. } => {
            vec![(wide, ""), (tail, ""), ("shares_hand_out", ""), ("shares_merge", "")]
        }
        StageWork::JointSweep { wide, tail, .. } => vec![(wide, ""), (tail, "")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuWorld;
    use crate::scene::samples;
    use crate::{AdapterChoice, Context};

    /// The dispatches of a recipe are those that a world records, as many in each of the first steps; and a recipe of
    /// another capacity has others.
    #[test]
    fn recipes_dispatch_as_worlds_do() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let is_software = crate::gpu::is_software(context.info());
        for scene in [samples::pyramid(5), samples::pyramid(60), samples::cards(), samples::rods()] {
            let recipe = StepRecipe::new(Compiled::new(&scene).unwrap());
            let mut world = GpuWorld::new(&context, &scene).unwrap();
            assert_eq!(recipe.contact_capacity(), world.contact_capacity(), "{}", scene.name);
            let mut known: Option<Counters> = None;
            for step in 0..4 {
                let expected = recipe.dispatches(known.as_ref(), world.contact_capacity(), is_software, true);
                world.step().unwrap();
                assert_eq!(expected.len(), world.dispatches() as usize, "{} step {step}", scene.name);
                known = Some(world.snapshot().unwrap().counters);
            }
            let kernels = recipe.kernels().unwrap().kernels;
            let dispatches = recipe.dispatches(None, 1 << 20, false, false);
            for dispatch in &dispatches {
                assert!(kernels.iter().any(|kernel| kernel.name == dispatch.kernel), "{}", dispatch.kernel);
            }
            let few = recipe.dispatches(None, 256, false, false);
            assert!(few.len() < dispatches.len(), "a million contacts have wide colours");
        }
    }

    /// Tables have the sizes of those of a world, and all that is bound is a table, a uniform or the commands.
    #[test]
    fn recipes_have_all_that_is_bound() {
        for scene in [samples::pyramid(5), samples::rods()] {
            let recipe = StepRecipe::new(Compiled::new(&scene).unwrap());
            let (tables, uniforms) = (recipe.tables(), recipe.uniforms());
            let mut found = 0;
            for kernel in recipe.kernels().unwrap().kernels {
                let tables_bound =
                    kernel.bindings.iter().filter(|binding| binding.kind != BindingKind::Uniform).count();
                let is_fused = kernel.name.starts_with("fused");
                assert!(tables_bound <= 8 || is_fused, "{}: more storage buffers than any browser has", kernel.name);
                for binding in kernel.bindings {
                    for name in &binding.buffers {
                        let is_uniform = uniforms.iter().any(|(uniform, _)| uniform == name);
                        let is_table = name == "commands" || tables.iter().any(|table| table.name == name);
                        assert!(if binding.kind == BindingKind::Uniform { is_uniform } else { is_table }, "{name}");
                        found += 1;
                    }
                }
            }
            assert!(found > 300, "{found}");
            for (table, laid) in TABLES.iter().zip(&tables) {
                let more = match laid.per {
                    Some(Per::Contact) => recipe.sizes.contacts,
                    Some(Per::ContactTile) => recipe.sizes.contacts.div_ceil(TILE_LANES as usize),
                    Some(Per::BlockColor) => recipe.sizes.color_blocks() * COLOR_COUNT as usize,
                    Some(Per::BlockColorSum) => {
                        (recipe.sizes.color_blocks() * COLOR_COUNT as usize).div_ceil(SCAN_BLOCK as usize)
                    }
                    Some(_) => panic!("{} grows by an unknown element", table.name),
                    None => 0,
                };
                assert_eq!(recipe.sizes.rows_of(table, recipe.features), laid.rows + more, "{}", table.name);
            }
        }
    }
}
