//! One stage of a step on the CPU: which tables each of them is given.

use super::CpuWorld;
use super::neighbors::Search;
use crate::command::by_body;
use crate::cpu::stages::bound::bound;
use crate::cpu::stages::collide::collide;
use crate::cpu::stages::color::{color, color_sort};
use crate::cpu::stages::command::command;
use crate::cpu::stages::continuous::continuous;
use crate::cpu::stages::finalize::finalize;
use crate::cpu::stages::guard::guard;
use crate::cpu::stages::integrate_positions::integrate_positions;
use crate::cpu::stages::integrate_velocities::integrate_velocities;
use crate::cpu::stages::pair::TooMany;
use crate::cpu::stages::prepare::prepare;
use crate::cpu::stages::project::project;
use crate::cpu::stages::project_joints::project_joints;
use crate::cpu::stages::recall::{Past, recall};
use crate::cpu::stages::report::report;
use crate::cpu::stages::restitution::restitution;
use crate::cpu::stages::sleep::sleep;
use crate::cpu::stages::solve::{solve, solve_batch};
use crate::cpu::stages::store_impulses::store_impulses;
use crate::cpu::stages::wake::wake;
use crate::cpu::stages::warm_start::{warm_start, warm_start_batch};
use crate::cpu::stages::{bin, pair, prepare_joints, solve_joints};
use crate::scene::{Compiled, Joints};
use crate::stages::prepare_joints::measure;
use crate::step::{Op, Stage};
use crate::types::{self, SLEEP};
use crate::world::WorldError;

impl CpuWorld {
    /// Runs one stage.
    ///
    /// # Errors
    /// [`WorldError::TooManyContacts`]: then the tables of this step's contacts are empty. [`WorldError::Cancelled`].
    pub fn run(&mut self, op: Op) -> Result<(), WorldError> {
        let limit = self.contact_limit();
        match op.stage {
            Stage::Command => self.host.compiled.lead_on(&mut self.host.commands, self.host.steps),
            Stage::Continuous => self.renew_grid(),
            _ => {}
        }
        let sweepers = &self.sweepers();
        let Self { threads, poses, states, accumulators, swings, aabbs, own_cells, cell_ends, cell_shapes, .. } = self;
        let Self { pair_starts, pair_starts_previous, contacts, contacts_previous, .. } = self;
        let Self { manifolds, manifolds_previous, .. } = self;
        let Self { coloring, slots, constraints, surfaces, scratch, counters, .. } = self;
        let Self { joint_frames, joint_blocks, joint_states, joint_impulses, .. } = self;
        let Self { islands, island_flags, sleeping_starts, sleeping, .. } = self;
        let Compiled { params, bodies, shapes, vertices, movers, joints, .. } = &mut self.host.compiled;
        let Joints { joints, rows, starts, ties, may_part, fresh, .. } = joints;
        if params.switches & SLEEP != 0
            && counters.again == 0
            && matches!(op.stage, Stage::Pair | Stage::Recall | Stage::Collide)
        {
            return Ok(());
        }
        let past = Past { starts: pair_starts_previous, contacts: contacts_previous };
        match op.stage {
            Stage::Command => {
                by_body(&mut self.host.commands);
                if self.host.commands.iter().any(types::Command::is_for_joint) {
                    joint_blocks.forget();
                }
                command(
                    params,
                    &self.host.commands,
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
                self.host.commands.clear();
            }
            Stage::Guard => guard(threads, params, bodies, poses, states, accumulators, swings, counters),

            Stage::Bound => {
                counters.awake_levels |= bound(threads, params, shapes, vertices, poses, states, aabbs);
            }
            Stage::Bin => {
                bin::bin_find(threads, params, shapes, aabbs, own_cells);
                // After a search that was cut short some cells are those of an older grid, which may have had more.
                if threads.is_cancelled() {
                    return Err(WorldError::Cancelled);
                }
                bin::bin_place(params, own_cells, cell_ends, cell_shapes);
                self.search = Search::Grid;
            }
            Stage::Pair => {
                if *may_part {
                    crate::stages::pair::tie(joints, |place| joint_states.get(place), &mut ties.links);
                }
                // Contacts that were put by may come back all at once.
                let free = limit.saturating_sub(sleeping.len());
                let grid = (&own_cells[..], &cell_ends[..], &cell_shapes[..]);
                let (levels, scratch) = (counters.awake_levels, &mut scratch.pair);
                pair::pair(
                    threads,
                    params,
                    shapes,
                    aabbs,
                    grid,
                    ties,
                    states,
                    levels,
                    pair_starts,
                    contacts,
                    free,
                    scratch,
                )
                .map_err(|TooMany { found }| WorldError::TooManyContacts { found: found + sleeping.len(), limit })?;
                self.keep_count();
            }

            Stage::Recall => recall(threads, past, contacts),
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
                for joint in fresh.drain(..) {
                    measure(bodies, poses, &mut joints[joint as usize], rows);
                }
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
            Stage::WarmStartJoints => solve_joints::warm_start_joints(
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
            Stage::SolveJoints | Stage::RelaxJoints => solve_joints::solve_joints(
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
                joint_blocks.store(joint_impulses);
                joint_blocks.let_go();
                let scratch = &mut scratch.prepare;
                store_impulses(threads, slots, counters, constraints, surfaces, contacts, manifolds, scratch);
            }
            Stage::Continuous => {
                let grid = (&cell_ends[..], &cell_shapes[..]);
                let scratch = &mut scratch.continuous;
                counters.continuous =
                    continuous(threads, params, shapes, vertices, ties, poses, states, grid, None, movers, scratch);
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
        Ok(())
    }
}
