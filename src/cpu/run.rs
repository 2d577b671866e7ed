//! Execution of one stage on the CPU: hands each stage the tables that it reads and writes.

use super::neighbors::SearchKind;
use super::{BodyTables, ConstraintSet, CpuWorld, GridTables, JointTables};
use crate::command::by_body;
use crate::cpu::stages::bound::bound;
use crate::cpu::stages::collect_events::collect_events;
use crate::cpu::stages::collide::collide;
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
use crate::cpu::stages::restitution::restitution;
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
use crate::world::WorldError;

impl CpuWorld {
    /// Runs one stage.
    ///
    /// # Errors
    /// [`WorldError::TooManyContacts`]: then the tables of this step's contacts are empty. [`WorldError::Cancelled`].
    pub fn run(&mut self, op: PlannedStage) -> Result<(), WorldError> {
        let limit = self.contact_limit();
        match op.stage {
            Stage::Command => self.host.compiled.lead_on(&mut self.host.commands, self.host.steps),
            Stage::Continuous => self.refresh_grid(),
            _ => {}
        }
        let sweepers = &self.sweepers();
        let Self { threads, bodies: tables, grid, previous, current, sleep: sleepers, .. } = self;
        let Self { solver, joints: joint_tables, counters, scratch, .. } = self;
        let (compiled, commands) = (&mut self.host.compiled, &mut self.host.commands);
        if compiled.params.switches & SLEEP != 0
            && counters.again == 0
            && matches!(op.stage, Stage::Pair | Stage::MatchContacts | Stage::Collide)
        {
            return Ok(());
        }
        match op.stage {
            Stage::Command => {
                by_body(commands);
                if commands.iter().any(types::CommandData::is_for_joint) {
                    joint_tables.blocks.forget();
                }
                command(commands, compiled, tables, &joint_tables.states, sleepers, counters);
                commands.clear();
            }
            Stage::Quarantine => quarantine(threads, compiled, tables, counters),

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
                // Archived contacts may all come back at once.
                let archived = sleepers.contacts.len();
                let (levels, free) = (counters.awake_levels, limit.saturating_sub(archived));
                pair::pair(threads, compiled, &tables.states, grid, levels, current, free, &mut scratch.pair)
                    .map_err(|TooMany { found }| WorldError::TooManyContacts { found: found + archived, limit })?;
                self.count_contacts();
            }

            Stage::MatchContacts => match_contacts(threads, previous.past(), &mut current.contacts),
            Stage::Collide => counters.recycled = collide(threads, compiled, tables, &previous.manifolds, current),
            Stage::Wake => {
                let (contacts, scratch) = (&current.contacts, &mut scratch.wake);
                let (joint_states, states) = (&joint_tables.states, &tables.states);
                wake(compiled, joint_states, contacts, states, sleepers, previous, counters, scratch);
            }
            Stage::CollectEvents => {
                let (joints, events) = (&compiled.joints.joints, &mut self.step_events);
                let joint_states = &joint_tables.states;
                collect_events(
                    threads,
                    tables,
                    previous,
                    current,
                    joints,
                    joint_states,
                    events,
                    &mut scratch.collect_events,
                );
            }
            Stage::Color => {
                let (params, coloring) = (&compiled.params, &mut scratch.coloring);
                color(sweepers, params, &tables.states, &mut current.contacts, coloring, counters);
                color_sort(sweepers, coloring, &mut solver.slots, counters);
            }
            Stage::Prepare => {
                prepare(threads, compiled, &tables.states, current, counters, solver, &mut scratch.prepare);
            }
            Stage::PrepareJoints => {
                let Compiled { bodies, joints, .. } = &mut *compiled;
                for joint in joints.fresh.drain(..) {
                    measure(bodies, &tables.poses, &mut joints.joints[joint as usize], &mut joints.rows);
                }
                prepare_joints::prepare_joints(threads, compiled, tables, joint_tables);
                let JointTable { joints, rows, starts, .. } = &compiled.joints;
                let JointTables { frames, blocks, impulses, .. } = joint_tables;
                blocks.build(starts, joints, frames, rows, impulses);
            }

            Stage::WarmStart if sweepers.count() == 1 => {
                let accumulators = tables.accumulators.alone();
                for (_, batch) in solver.constraints.batches(counters) {
                    warm_start_batch(batch, accumulators, &solver.surfaces);
                }
            }
            Stage::WarmStart => {
                let ConstraintSet { constraints, surfaces, .. } = solver;
                warm_start(&mut constraints.by(sweepers, counters), &tables.accumulators, surfaces);
            }
            Stage::WarmStartJoints => {
                solve_joints::warm_start_joints(sweepers, &compiled.joints, joint_tables, tables);
            }
            Stage::IntegrateVelocities => {
                let BodyTables { poses, states, accumulators, .. } = tables;
                integrate_velocities(sweepers, &compiled.params, &compiled.bodies, poses, states, accumulators);
            }
            Stage::SolveJoints | Stage::RelaxJoints => {
                solve_joints::solve_joints(sweepers, compiled, op.flags, joint_tables, tables);
            }
            Stage::Solve | Stage::Relax if sweepers.count() == 1 => {
                let states = tables.states.alone();
                for (_, batch) in solver.constraints.batches(counters) {
                    solve_batch(&compiled.params, op.flags, states, batch, &solver.surfaces);
                }
            }
            Stage::Solve | Stage::Relax => {
                let ConstraintSet { constraints, surfaces, .. } = solver;
                let constraints = &mut constraints.by(sweepers, counters);
                solve(&compiled.params, op.flags, &tables.states, constraints, surfaces);
            }
            Stage::IntegratePositions => {
                integrate_positions(sweepers, &compiled.params, &compiled.bodies, &mut tables.states);
            }
            Stage::ProjectJoints => project_joints(sweepers, compiled, &joint_tables.frames, &tables.states),
            Stage::Project => {
                project(&compiled.params, &tables.states, &mut solver.constraints.by(sweepers, counters));
            }

            Stage::Restitution => {
                restitution(&compiled.params, &tables.states, &mut solver.constraints.by(sweepers, counters));
            }
            Stage::StoreImpulses => {
                joint_tables.blocks.store(&joint_tables.impulses);
                joint_tables.blocks.release_impulses();
                store_impulses(threads, solver, counters, current, &mut scratch.prepare);
            }
            Stage::Continuous => {
                let scratch = &mut scratch.continuous;
                counters.continuous = continuous(threads, compiled, tables, grid, None, scratch);
            }
            Stage::Finalize => finalize(threads, &compiled.bodies, &tables.states, &mut tables.poses),
            Stage::Sleep => {
                let (joint_states, states) = (&joint_tables.states, &tables.states);
                sleep(threads, compiled, joint_states, current, states, sleepers, counters, &mut scratch.sleep);
            }
        }
        Ok(())
    }
}
