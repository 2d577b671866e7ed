//! The reference engine: one world, stepped by the plain functions of [`crate::stages`] in the order of
//! [`step::plan`](crate::step::plan).
//!
//! It is slow, and defines the result of a step. The CPU engine ([`CpuWorld`](crate::CpuWorld)) equals it to the last
//! bit; a device is compared with it stage by stage. It has no ids, emitters or queries: bodies are added and removed
//! between two steps, in the engine that it is compared with ([`Reference::follow`]).

use glam::Vec2;

use crate::command::by_body;
use crate::initial_loads::initial_contacts;
use crate::scene::{Compiled, JointTable, Scene};
use crate::snapshot::first_islands;
use crate::stages::color::split::Splits;
use crate::stages::prepare::ContactConstraint;
use crate::stages::{
    bin, bound, collect_events, collide, color, command, continuous, finalize, integrate_positions,
    integrate_velocities, match_contacts, pair, prepare, prepare_joints, project, project_joints, quarantine,
    restitution, sleep, solve, solve_joints, store_impulses, wake, warm_start, warm_start_joints,
};
use crate::step::{PlannedStage, Stage, plan};
use crate::tables::Tables;
use crate::types::{
    Accumulator, BOUNCES, BodyMotion, CommandData, FORCE_OVERFLOW, JointFrame, Manifold, Rebound, RuleContact, SLEEP,
};
use crate::world_error::WorldError;

/// World of plain tables.
#[derive(Clone, Debug)]
pub struct Reference {
    compiled: Compiled,
    plan: Vec<PlannedStage>,
    commands: Vec<CommandData>,
    steps: u64,
    /// Tables between two stages, except constraints, rebounds and the constant tables of joints, which are derived
    /// from the fields beside it.
    tables: Tables,
    constraints: Vec<ContactConstraint>,
    /// Rows that the scene's rule has returned for the contacts of this step; empty without one.
    ruled: Vec<RuleContact>,
    splits: Splits,
    nudge: Vec2,
}

impl Reference {
    /// Creates a world from a scene.
    ///
    /// # Errors
    /// If the scene is not valid.
    pub fn new(scene: &Scene) -> Result<Self, WorldError> {
        Ok(Self::from_compiled(Compiled::new(scene)?))
    }

    /// Creates a world from compiled tables.
    #[must_use]
    pub fn from_compiled(compiled: Compiled) -> Self {
        let (bodies, shapes) = (compiled.bodies.len(), compiled.shapes.len());
        let islands = first_islands(&compiled);
        let tables = Tables {
            poses: compiled.poses.clone(),
            states: compiled.states.clone(),
            accumulators: vec![Accumulator::default(); bodies],
            motions: vec![BodyMotion::default(); bodies],
            aabbs: vec![bound::EMPTY; shapes],
            cell_ends: vec![0; compiled.params.cell_count as usize + 1],
            cell_shapes: vec![0; shapes],
            island_flags: vec![0; islands.len()],
            islands,
            joint_frames: vec![JointFrame::default(); compiled.joints.joints.len()],
            joint_states: compiled.joints.states.clone(),
            joint_impulses: vec![[0.0; 2]; compiled.joints.rows.len()],
            ..Tables::default()
        };
        Self {
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            commands: Vec::new(),
            steps: 0,
            tables,
            constraints: Vec::new(),
            ruled: Vec::new(),
            splits: Splits::default(),
            nudge: Vec2::ZERO,
            compiled,
        }
    }

    /// Takes over scene, plan, step number and commands from an engine in which bodies may have come and gone. The
    /// tables follow by [`Self::load`].
    pub fn follow(&mut self, compiled: &Compiled, plan: &[PlannedStage], steps: u64, commands: &[CommandData]) {
        self.compiled.clone_from(compiled);
        self.plan = plan.to_vec();
        self.steps = steps;
        self.commands = commands.to_vec();
    }

    /// Adds commands for the next step.
    pub fn command(&mut self, commands: &[CommandData]) {
        self.commands.extend_from_slice(commands);
    }

    /// Leaves a stage out of every step. For tests.
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        self.plan.retain(|op| op.stage != stage);
        self
    }

    /// Puts every contact into the overflow, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.compiled.params.switches |= FORCE_OVERFLOW;
        self
    }

    /// Sets the offset from which fast bodies are swept: see [`continuous::continuous`].
    pub fn nudge_sweeps(&mut self, roundings: Vec2) {
        self.nudge = roundings;
    }

    /// Returns the compiled scene.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Returns the number of steps done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Advances the world by one step.
    pub fn step(&mut self) {
        self.begin_step();
        for op in self.plan.clone() {
            self.run(op);
        }
        self.end_step();
    }

    /// Begins a step: swaps the current and previous contact buffers. The first begins with the contacts of the start.
    pub fn begin_step(&mut self) {
        if self.steps == 0
            && self.tables.pair_starts.is_empty()
            && let Some(initial) = initial_contacts(&self.compiled)
        {
            self.tables.pair_starts = initial.pair_starts;
            self.tables.contacts = initial.contacts;
            self.tables.manifolds = initial.manifolds;
            self.tables.states = initial.states;
        }
        let Tables { contacts, contacts_previous, manifolds, manifolds_previous, .. } = &mut self.tables;
        std::mem::swap(contacts, contacts_previous);
        std::mem::swap(manifolds, manifolds_previous);
        std::mem::swap(&mut self.tables.pair_starts, &mut self.tables.pair_starts_previous);
    }

    /// Ends a step.
    pub fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
    }

    /// Runs one stage.
    #[allow(clippy::too_many_lines, reason = "one line a stage and its tables")]
    pub fn run(&mut self, op: PlannedStage) {
        if op.stage == Stage::Command {
            self.compiled.lead_on(&mut self.commands, self.steps);
        }
        let Self { compiled, commands, tables, constraints, ruled, splits, nudge, .. } = self;
        let Compiled { params, bodies, shapes, vertices, ccd_bodies, joints, .. } = &mut *compiled;
        let JointTable { joints, rows: joint_rows, starts: joint_starts, exclusions, may_part, fresh, .. } = joints;
        let Tables { poses, states, accumulators, motions, aabbs, cell_ends, cell_shapes, .. } = tables;
        let Tables { pair_starts_previous, contacts_previous, .. } = tables;
        let Tables { contacts, manifolds, slots, surfaces, counters, .. } = tables;
        let Tables { joint_frames, joint_states, joint_impulses, .. } = tables;
        // Contacts are searched a second time only if a body woke.
        let is_found = params.switches & SLEEP != 0 && counters.again == 0;
        if is_found && matches!(op.stage, Stage::Pair | Stage::MatchContacts | Stage::Collide) {
            return;
        }
        match op.stage {
            Stage::Command => {
                by_body(commands);
                command::command(commands, compiled, tables);
                commands.clear();
            }
            Stage::Quarantine => {
                quarantine::quarantine(params, bodies, poses, states, accumulators, motions, counters);
            }
            Stage::Bound => {
                counters.awake_levels |= bound::bound(params, shapes, vertices, poses, states, aabbs);
            }
            Stage::Bin => bin::bin(params, shapes, aabbs, cell_ends, cell_shapes),
            Stage::Pair => {
                if *may_part {
                    pair::update_exclusions(joints, |joint| joint_states[joint], &mut exclusions.links);
                }
                pair::pair(compiled, tables);
                let Tables { contacts, manifolds, counters, .. } = tables;
                manifolds.resize(contacts.len(), Manifold::default());
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                let count = contacts.len() as u32;
                (counters.pairs_found, counters.contacts) = (count, count);
            }
            Stage::MatchContacts => match_contacts::match_contacts(pair_starts_previous, contacts_previous, contacts),
            Stage::Collide => {
                tables.counters.recycled = collide::collide(compiled, tables);
                collide::rule::rule(compiled, tables, ruled);
            }
            Stage::Wake => wake::wake(compiled, tables),
            Stage::CollectEvents => collect_events::collect_events(&compiled.joints.joints, tables),
            Stage::Color => {
                color::color(params, states, contacts, slots, counters);
                splits.split(params, contacts, counters);
                splits.mark_hubs(contacts);
            }
            Stage::Prepare => {
                prepare::prepare(
                    params,
                    bodies,
                    shapes,
                    states,
                    contacts,
                    manifolds,
                    slots,
                    splits,
                    ruled,
                    constraints,
                    surfaces,
                );
            }
            Stage::PrepareJoints => {
                fresh.clear();
                prepare_joints::prepare_joints(
                    params,
                    bodies,
                    poses,
                    states,
                    joints,
                    joint_rows,
                    joint_states,
                    joint_impulses,
                    joint_frames,
                );
            }

            Stage::WarmStart => warm_start::warm_start(params, splits, constraints, surfaces, states, accumulators),
            Stage::WarmStartJoints => warm_start_joints::warm_start_joints(
                joint_starts,
                joint_frames,
                joint_rows,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::IntegrateVelocities => {
                integrate_velocities::integrate_velocities(params, bodies, poses, states, accumulators);
            }
            Stage::SolveJoints | Stage::RelaxJoints => solve_joints::solve_joints(
                params,
                op.flags,
                joint_starts,
                joint_frames,
                joint_rows,
                joint_impulses,
                states,
                accumulators,
            ),
            Stage::Solve | Stage::Relax => {
                solve::solve(params, op.flags, splits, constraints, surfaces, states, accumulators);
            }
            Stage::IntegratePositions => integrate_positions::integrate_positions(params, bodies, states),
            Stage::ProjectJoints => {
                project_joints::project_joints(params, joint_starts, joint_frames, joint_rows, states);
            }
            Stage::Project => project::project(params, splits, constraints, states, accumulators),

            Stage::Restitution => restitution::restitution(params, splits, constraints, surfaces, states, accumulators),
            Stage::StoreImpulses => {
                store_impulses::store_impulses(params, slots, constraints, surfaces, states, contacts, manifolds);
            }
            Stage::Continuous => {
                counters.continuous = continuous::continuous(
                    params,
                    shapes,
                    vertices,
                    exclusions,
                    poses,
                    states,
                    cell_ends,
                    cell_shapes,
                    ccd_bodies,
                    *nudge,
                );
            }
            Stage::Finalize => finalize::finalize(params, bodies, accumulators, states, poses),
            Stage::Sleep => sleep::sleep(compiled, tables),
        }
    }

    /// Returns a copy of all tables.
    #[must_use]
    pub fn tables(&self) -> Tables {
        let mut tables = self.tables.clone();
        tables.constraints = self.constraints.iter().map(ContactConstraint::constraint).collect();
        if self.compiled.params.switches & BOUNCES != 0 {
            tables.rebounds = self.constraints.iter().map(|constraint| constraint.rebound).collect();
        }
        tables.joints.clone_from(&self.compiled.joints.joints);
        tables.joint_rows.clone_from(&self.compiled.joints.rows);
        tables
    }

    /// Replaces all tables. Constraints that come from a device have their second arm on B up to a rounding error.
    pub fn load(&mut self, tables: &Tables) {
        let rebounds = tables.rebounds.iter().copied().chain(std::iter::repeat(Rebound::default()));
        let constraints = tables.constraints.iter().zip(rebounds);
        self.constraints = constraints.map(|(row, rebound)| ContactConstraint::from_device(row, rebound)).collect();
        self.compiled.joints.joints.clone_from(&tables.joints);
        self.compiled.joints.rows.clone_from(&tables.joint_rows);
        self.compiled.joints.refresh();
        self.splits.split(&self.compiled.params, &tables.contacts, &tables.counters);
        self.tables = Tables {
            constraints: Vec::new(),
            rebounds: Vec::new(),
            joints: Vec::new(),
            joint_rows: Vec::new(),
            ..tables.clone()
        };
    }
}
