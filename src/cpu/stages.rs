//! One stage of a step on the CPU: which tables each of them is given.

use super::CpuWorld;
use crate::command::by_body;
use crate::scene::{Compiled, Joints};
use crate::stages::bound::{bound, bound_and_find};
use crate::stages::collide::collide;
use crate::stages::color::{color, color_sort};
use crate::stages::command::command;
use crate::stages::continuous::continuous;
use crate::stages::finalize::finalize;
use crate::stages::guard::guard;
use crate::stages::integrate_positions::integrate_positions;
use crate::stages::integrate_velocities::integrate_velocities;
use crate::stages::pair::TooMany;
use crate::stages::prepare::prepare;
use crate::stages::project::project;
use crate::stages::project_joints::project_joints;
use crate::stages::recall::{Past, recall};
use crate::stages::report::report;
use crate::stages::restitution::restitution;
use crate::stages::sleep::sleep;
use crate::stages::solve::{solve, solve_batch};
use crate::stages::store_impulses::store_impulses;
use crate::stages::wake::wake;
use crate::stages::warm_start::{warm_start, warm_start_batch};
use crate::stages::{bin, pair, prepare_joints, solve_joints, warm_start_joints};
use crate::step::{Op, Stage};
use crate::types::{self, Manifold, SLEEP};
use crate::world::WorldError;

impl CpuWorld {
    /// Runs one stage.
    ///
    /// # Errors
    /// [`WorldError::TooManyContacts`]: then the tables of this step's contacts are empty. [`WorldError::Cancelled`].
    pub fn run(&mut self, op: Op) -> Result<(), WorldError> {
        let limit = self.contact_limit();
        if op.stage == Stage::Command {
            self.host.compiled.lead_on(&mut self.host.commands, self.host.steps);
        }
        let sweepers = &self.sweepers();
        let Self { threads, poses, states, accumulators, swings, aabbs, own_cells, cell_ends, cell_shapes, .. } = self;
        let Self { pair_starts, pair_starts_previous, contacts, contacts_previous, .. } = self;
        let Self { manifolds, manifolds_previous, shortcuts, has_cells, recalls, .. } = self;
        let Self { coloring, slots, constraints, surfaces, scratch, counters, .. } = self;
        let Self { joint_frames, joint_blocks, joint_states, joint_impulses, one_by_one, .. } = self;
        let Self { islands, island_flags, sleeping_starts, sleeping, near, has_list, walls, has_walls, .. } = self;
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
                // After a search that was cut short some cells are those of an older grid, which may have had more.
                if threads.is_cancelled() {
                    return Err(WorldError::Cancelled);
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
                // Contacts that were put by may come back all at once.
                let free = limit.saturating_sub(sleeping.len());
                let found = if std::mem::take(has_list) {
                    let past = recalls.then_some(past);
                    near.pair(threads, params, shapes, aabbs, own_cells, ties, past, pair_starts, contacts, free)
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
                        free,
                        &mut scratch.pair,
                    )
                };
                if let Err(TooMany { found }) = found {
                    return Err(WorldError::TooManyContacts { found: found + sleeping.len(), limit });
                }
                manifolds.resize(contacts.len(), Manifold::default());
            }

            Stage::Recall if std::mem::take(recalls) => {}
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
        Ok(())
    }
}
