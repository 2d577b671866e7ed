//! Execution of the stages on the CPU: hands each the tables that it reads and writes.

use std::ops::Range;

use super::neighbors::SearchKind;
use super::shares::{Shares, around_split};
use super::{BodyTables, ConstraintSet, CpuWorld, GridTables, JointTables};
use crate::command::by_body;
use crate::cpu::stages::bound::bound;
use crate::cpu::stages::collect_events::collect_events;
use crate::cpu::stages::collide::{collide, rule};
use crate::cpu::stages::color::{color, color_sort};
use crate::cpu::stages::command::command;
use crate::cpu::stages::continuous::continuous;
use crate::cpu::stages::finalize::finalize;
use crate::cpu::stages::integrate_positions::integrate_positions;
use crate::cpu::stages::integrate_velocities::integrate_velocities;
use crate::cpu::stages::match_contacts::match_contacts;
use crate::cpu::stages::pair::TooMany;
use crate::cpu::stages::prepare::prepare;
use crate::cpu::stages::project::project;
use crate::cpu::stages::project_joints::project_joints;
use crate::cpu::stages::quarantine::quarantine;
use crate::cpu::stages::restitution::{ImpactRounds, ImpactTables, restitution};
use crate::cpu::stages::sleep::sleep;
use crate::cpu::stages::solve::{solve, solve_batch};
use crate::cpu::stages::store_impulses::store_impulses;
use crate::cpu::stages::wake::wake;
use crate::cpu::stages::warm_start::{warm_start, warm_start_batch};
use crate::cpu::stages::{bin, pair, prepare_joints, solve_joints};
use crate::scene::{Compiled, JointTable};
use crate::stages::prepare_joints::measure;
use crate::step::{PlannedStage, Stage};
use crate::types::{self, SLEEP};
use crate::world_error::WorldError;

impl BodyTables {
    /// Measures the joints that were added since the last step.
    pub(super) fn measure_fresh(&self, Compiled { bodies, joints, .. }: &mut Compiled) {
        for joint in joints.fresh.drain(..) {
            measure(bodies, &self.poses, &mut joints.joints[joint as usize], &mut joints.rows);
        }
    }
}

impl CpuWorld {
    /// Runs some of the stages of a step.
    ///
    /// # Errors
    /// If the step is cancelled, or there are too many contacts.
    pub(super) fn run_plan(&mut self, stages: Range<usize>) -> Result<(), WorldError> {
        let (mut next, mut has_collided) = (stages.start, false);
        while next < stages.end {
            let op = self.plan[next];
            self.host.limits.check()?;
            next = match op.stage {
                Stage::Bound if self.can_search_by_list(next) => self.search(next)?,
                Stage::Color => self.color_and_solve(next)?,
                Stage::Collide => {
                    self.run_timed(op)?;
                    // The second time it does nothing, unless bodies woke.
                    if !has_collided || self.counters.woken > 0 {
                        self.contact_hook.apply(&mut self.current.contacts, &mut self.current.manifolds);
                    }
                    has_collided = true;
                    next + 1
                }
                _ => {
                    self.run_timed(op)?;
                    next + 1
                }
            };
        }
        // The last stage may have been cut short.
        if self.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Runs one stage, or its shortcut.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub(super) fn run_timed(&mut self, op: PlannedStage) -> Result<(), WorldError> {
        let begin = self.times.begin();
        let is_done = match op.stage {
            Stage::PrepareJoints => self.prepare_joint_blocks(),
            Stage::Continuous => self.sweep_against_walls(),
            _ => false,
        };
        if !is_done {
            self.run(op)?;
        }
        self.times.add(op.stage, begin);
        Ok(())
    }

    /// Runs one stage.
    ///
    /// # Errors
    /// [`WorldError::TooManyContacts`]: then the tables of this step's contacts are empty. [`WorldError::Cancelled`].
    pub fn run(&mut self, op: PlannedStage) -> Result<(), WorldError> {
        match op.stage {
            Stage::Command | Stage::Quarantine => self.begin_bodies(op.stage),
            Stage::Bound | Stage::Bin | Stage::Pair | Stage::MatchContacts | Stage::Collide => {
                return self.find_contacts(op.stage);
            }
            Stage::Wake | Stage::CollectEvents => self.use_contacts(op.stage),
            Stage::Color | Stage::Prepare | Stage::PrepareJoints => self.lay_out(op.stage),
            Stage::WarmStart | Stage::Solve | Stage::Relax | Stage::Project | Stage::Restitution => {
                self.sweep_contacts(op);
            }
            Stage::WarmStartJoints | Stage::SolveJoints | Stage::RelaxJoints | Stage::ProjectJoints => {
                self.sweep_joints(op);
            }
            Stage::IntegrateVelocities | Stage::IntegratePositions => self.integrate(op.stage),
            Stage::StoreImpulses | Stage::Continuous | Stage::Finalize | Stage::Sleep => self.end_bodies(op.stage),
        }
        Ok(())
    }

    /// Returns the number of pairs that the first step finds; 0 if they are more than the default limit of a world.
    pub(crate) fn first_pairs(compiled: &Compiled) -> u32 {
        let mut world = Self::from_compiled(compiled.clone());
        world.begin_bodies(Stage::Quarantine);
        let search = [Stage::Bound, Stage::Bin, Stage::Pair];
        let _ = search.into_iter().try_for_each(|stage| world.find_contacts(stage));
        world.counters.pairs_found
    }

    /// Runs the stages before the search for contacts.
    fn begin_bodies(&mut self, stage: Stage) {
        let Self { threads, bodies: tables, sleep: sleepers, joints: joint_tables, counters, .. } = self;
        let (compiled, commands) = (&mut self.host.compiled, &mut self.host.commands);
        if stage == Stage::Quarantine {
            return quarantine(threads, compiled, tables, counters);
        }
        compiled.lead_on(commands, self.host.steps);
        by_body(commands);
        if commands.iter().any(types::CommandData::is_for_joint) {
            joint_tables.blocks.forget();
        }
        command(commands, compiled, tables, &joint_tables.states, sleepers, counters);
        commands.clear();
    }

    /// Runs a stage of the search for contacts. Where bodies sleep, the second search of a step does something only if
    /// one woke.
    fn find_contacts(&mut self, stage: Stage) -> Result<(), WorldError> {
        let Self { threads, bodies: tables, grid, previous, current, sleep: sleepers, .. } = self;
        let Self { joints: joint_tables, counters, scratch, .. } = self;
        let compiled = &mut self.host.compiled;
        if compiled.params.switches & SLEEP != 0
            && counters.again == 0
            && matches!(stage, Stage::Pair | Stage::MatchContacts | Stage::Collide)
        {
            return Ok(());
        }
        match stage {
            Stage::Bound => counters.awake_levels |= bound(threads, compiled, tables, &mut grid.aabbs),
            Stage::Bin => {
                let Compiled { params, shapes, .. } = &*compiled;
                let GridTables { aabbs, own_cells, cell_ends, cell_shapes } = grid;
                bin::bin_find(threads, params, shapes, aabbs, own_cells);
                // After a cancelled search some cells are those of an older grid, which may have had more.
                if threads.is_cancelled() {
                    return Err(WorldError::Cancelled);
                }
                bin::bin_place(params, own_cells, cell_ends, cell_shapes);
                self.kept.search = SearchKind::Grid;
            }
            Stage::Pair => {
                let JointTable { joints, exclusions, may_part, .. } = &mut compiled.joints;
                if *may_part {
                    crate::stages::pair::update_exclusions(
                        joints,
                        |place| joint_tables.states.get(place),
                        &mut exclusions.links,
                    );
                }
                let limit = self.host.limits.contacts(compiled.shapes.len());
                // Archived contacts may all come back at once.
                let archived = sleepers.contacts.len();
                let (levels, free) = (counters.awake_levels, limit.saturating_sub(archived));
                pair::pair(threads, compiled, tables, grid, levels, current, free, &mut scratch.pair)
                    .map_err(|TooMany { found }| WorldError::TooManyContacts { found: found + archived, limit })?;
                self.count_contacts();
            }
            Stage::MatchContacts => match_contacts(threads, previous.past(), &mut current.contacts),
            _ => {
                counters.recycled = collide(threads, compiled, tables, &previous.manifolds, current);
                rule(threads, compiled, &tables.states, current, &mut scratch.prepare.ruled);
            }
        }
        Ok(())
    }

    /// Runs the stages that follow from which pairs touch.
    fn use_contacts(&mut self, stage: Stage) {
        let Self { threads, bodies: tables, previous, current, sleep: sleepers, counters, scratch, .. } = self;
        let (compiled, joint_states) = (&self.host.compiled, &self.joints.states);
        if stage == Stage::Wake {
            let (contacts, states, scratch) = (&current.contacts, &tables.states, &mut scratch.wake);
            return wake(compiled, joint_states, contacts, states, sleepers, previous, counters, scratch);
        }
        let (joints, events, scratch) = (&compiled.joints.joints, &mut self.step_events, &mut scratch.collect_events);
        collect_events(threads, tables, previous, current, joints, joint_states, events, scratch);
    }

    /// Runs the stages that lay out constraints.
    fn lay_out(&mut self, stage: Stage) {
        let sweepers = &self.sweepers();
        let Self { threads, bodies: tables, current, solver, joints: joint_tables, counters, scratch, .. } = self;
        let compiled = &mut self.host.compiled;
        match stage {
            Stage::Color => {
                let (params, coloring) = (&compiled.params, &mut scratch.coloring);
                color(sweepers, params, &tables.states, &mut current.contacts, coloring, counters);
                color_sort(sweepers, coloring, &mut solver.slots, counters);
                tables.split_overflow(params, &mut current.contacts, counters, &mut solver.splits);
            }
            Stage::Prepare => {
                prepare(threads, compiled, &tables.states, current, counters, solver, &mut scratch.prepare);
            }
            _ => {
                tables.measure_fresh(compiled);
                prepare_joints::prepare_joints(threads, compiled, tables, joint_tables);
                let JointTable { joints, rows, starts, .. } = &compiled.joints;
                let JointTables { frames, blocks, impulses, .. } = joint_tables;
                blocks.build(starts, joints, frames, rows, impulses);
            }
        }
    }

    /// Runs a sweep over the contacts.
    fn sweep_contacts(&mut self, op: PlannedStage) {
        let sweepers = &self.sweepers();
        let Self { bodies: BodyTables { states, accumulators, .. }, solver, counters, .. } = self;
        let (params, ConstraintSet { splits, constraints, surfaces, rounds, .. }) =
            (&self.host.compiled.params, solver);
        let is_alone = sweepers.count() == 1;
        match op.stage {
            Stage::WarmStart if is_alone => {
                let accumulators = accumulators.alone();
                for (group, batch) in constraints.batches(counters) {
                    around_split(splits, group, &*states, accumulators, || {
                        warm_start_batch(params, batch, &*states, accumulators, surfaces);
                    });
                }
            }
            Stage::Solve | Stage::Relax if is_alone => {
                let states = states.alone();
                for (group, batch) in constraints.batches(counters) {
                    around_split(splits, group, states, &*accumulators, || {
                        solve_batch(params, op.flags, states, accumulators, batch, surfaces);
                    });
                }
            }
            _ => {
                let shares = Shares { splits, hubs: splits.hubs(), states, accumulators };
                let sweep = &mut constraints.by(sweepers, counters, shares);
                match op.stage {
                    Stage::WarmStart => warm_start(params, sweep, &*states, &*accumulators, surfaces),
                    Stage::Project => project(params, states, sweep),
                    Stage::Restitution => {
                        if op.flags == 0 {
                            *rounds = ImpactRounds::default();
                        }
                        if rounds.is_needed(op.flags) {
                            let tables = ImpactTables { params, states, accumulators, surfaces };
                            restitution(tables, rounds.round(op.flags), sweep);
                        }
                    }
                    _ => solve(params, op.flags, &*states, accumulators, sweep, surfaces),
                }
            }
        }
    }

    /// Runs a sweep over the joints.
    fn sweep_joints(&mut self, op: PlannedStage) {
        let sweepers = &self.sweepers();
        let Self { host, bodies: tables, joints: joint_tables, .. } = self;
        let compiled = &host.compiled;
        match op.stage {
            Stage::WarmStartJoints => {
                solve_joints::warm_start_joints(sweepers, &compiled.joints, joint_tables, tables);
            }
            Stage::ProjectJoints => project_joints(sweepers, compiled, &joint_tables.frames, &tables.states),
            _ => solve_joints::solve_joints(sweepers, compiled, op.flags, joint_tables, tables),
        }
    }

    /// Advances the bodies by one substep.
    fn integrate(&mut self, stage: Stage) {
        let sweepers = &self.sweepers();
        let BodyTables { poses, states, accumulators, .. } = &mut self.bodies;
        let Compiled { params, bodies, .. } = &self.host.compiled;
        if stage == Stage::IntegrateVelocities {
            integrate_velocities(sweepers, params, bodies, poses, states, accumulators);
        } else {
            integrate_positions(sweepers, params, bodies, states);
        }
    }

    /// Runs the stages after the solver.
    fn end_bodies(&mut self, stage: Stage) {
        if stage == Stage::Continuous {
            self.refresh_grid();
        }
        let Self { threads, bodies: tables, grid, current, sleep: sleepers, .. } = self;
        let Self { solver, joints: joint_tables, counters, scratch, .. } = self;
        let compiled = &self.host.compiled;
        match stage {
            Stage::StoreImpulses => {
                joint_tables.blocks.store(&joint_tables.impulses);
                joint_tables.blocks.release_impulses();
                store_impulses(
                    threads,
                    &compiled.params,
                    solver,
                    counters,
                    &tables.states,
                    current,
                    &mut scratch.prepare,
                );
                tables.drop_shares(&compiled.bodies);
            }
            Stage::Continuous => {
                let scratch = &mut scratch.continuous;
                counters.continuous = continuous(threads, compiled, tables, grid, None, scratch);
            }
            Stage::Finalize => {
                let BodyTables { poses, states, accumulators, .. } = tables;
                finalize(threads, &compiled.params, &compiled.bodies, accumulators, states, poses);
            }
            _ => {
                let (joint_states, states) = (&joint_tables.states, &tables.states);
                sleep(threads, compiled, joint_states, current, states, sleepers, counters, &mut scratch.sleep);
            }
        }
    }
}
