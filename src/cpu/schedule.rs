//! Schedule of the solver: serial, by island batches or by a worker team. It is chosen in each step, after colouring.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::shares::Shares;
use super::{BodyTables, ConstraintSet, ContactTables, CpuWorld, Scheduling, islands};
use crate::cpu::stages::color::{color, color_sort};
use crate::cpu::stages::integrate_positions::integrate_positions_in;
use crate::cpu::stages::integrate_velocities::integrate_velocities_in;
use crate::cpu::stages::project::project;
use crate::cpu::stages::restitution::{ImpactRounds, ImpactTables, restitution};
use crate::cpu::stages::solve::solve;
use crate::cpu::stages::warm_start::warm_start;
use crate::cpu::team::WorkerTeam;
use crate::scene::Compiled;
use crate::step::{PlannedStage, Stage};
use crate::threads::Threads;
use crate::world_error::WorldError;

/// Order in which the sweeps of a step run. All give the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Stage by stage over the whole world; a colour may be shared among threads.
    #[default]
    Serial,
    /// All stages for some islands, then for the next ones; threads take whole batches.
    IslandBatches,
    /// Stage by stage, with all threads together and a barrier after every colour.
    WorkerTeam,
}

impl CpuWorld {
    /// Returns the schedule of the last step.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.scheduling.schedule
    }

    /// Returns the threads that share a sweep. In a small world one thread with exclusive access to the rows is done
    /// before others have claimed a share.
    pub(super) fn sweepers(&self) -> Threads {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        let size = bodies.len() + self.counters.touching as usize + joints.count();
        // A pass over a small world is short.
        if size < self.scheduling.sweep_from { Threads::default() } else { self.threads.clone() }
    }

    /// Colours the contacts (stage `first` of the plan), chooses the schedule and follows it. Returns the index of the
    /// next stage.
    ///
    /// # Errors
    /// If the step is cancelled.
    pub(super) fn color_and_solve(&mut self, first: usize) -> Result<usize, WorldError> {
        let Some(solver) = islands::solver(&self.plan, first + 1) else {
            // A stage was left out.
            self.run_timed(self.plan[first])?;
            return Ok(first + 1);
        };
        self.color_contacts();
        self.solve_colored(first, solver)
    }

    /// Colours the contacts, and splits the overflow.
    pub(super) fn color_contacts(&mut self) {
        let begin = self.times.begin();
        let sweepers = self.sweepers();
        let Self { bodies, current, counters, solver: ConstraintSet { splits, .. }, scratch, .. } = self;
        let params = &self.host.compiled.params;
        color(&sweepers, params, &bodies.states, &mut current.contacts, &mut scratch.coloring, counters);
        bodies.split_overflow(params, &mut current.contacts, counters, splits);
        self.times.add(Stage::Color, begin);
    }

    /// Chooses the schedule for the coloured contacts and follows it; stage `first` of the plan was the colouring, and
    /// `solver` are the stages of the solver. Returns the index of the next stage.
    ///
    /// # Errors
    /// If the step is cancelled.
    pub(super) fn solve_colored(&mut self, first: usize, solver: Range<usize>) -> Result<usize, WorldError> {
        let begin = self.times.begin();
        let sweepers = self.sweepers();
        let schedule = self.choose_schedule();
        self.scheduling.schedule = schedule;
        if schedule != Schedule::IslandBatches {
            color_sort(&sweepers, &mut self.scratch.coloring, &mut self.solver.slots, &self.counters);
        }
        self.times.add(Stage::Color, begin);
        match schedule {
            Schedule::Serial => Ok(first + 1),
            Schedule::IslandBatches => {
                let Self { threads, bodies, current, solver: ConstraintSet { splits, .. }, scheduling, .. } = self;
                let Self { counters, times, scratch, .. } = self;
                let compiled = &self.host.compiled;
                let BodyTables { poses, states, accumulators, .. } = bodies;
                let ContactTables { contacts, manifolds, .. } = current;
                let ruled = &scratch.prepare.ruled;
                let given = islands::SolverTables { compiled, poses, states, accumulators, ruled, splits };
                let ops = &self.plan[solver.clone()];
                scheduling.island_batches.run(threads, ops, given, contacts, manifolds, counters, times);
                self.bodies.drop_shares(&self.host.compiled.bodies);
                Ok(solver.end)
            }
            Schedule::WorkerTeam => {
                self.host.limits.check()?;
                self.run_timed(self.plan[solver.start])?;
                let plan = std::mem::take(&mut self.plan);
                self.run_team(&plan[solver.start + 1..solver.end - 1]);
                self.plan = plan;
                Ok(solver.end - 1)
            }
        }
    }

    /// Chooses the schedule for the coloured contacts.
    fn choose_schedule(&mut self) -> Schedule {
        let sweepers = self.sweepers().count();
        let Self { threads, current, counters, scheduling, .. } = self;
        let Scheduling { island_batches, team_from, .. } = scheduling;
        let compiled = &self.host.compiled;
        // Batches are solved by all threads or not at all.
        if sweepers == threads.count() && island_batches.find(threads, compiled, &current.contacts, counters.touching) {
            Schedule::IslandBatches
        } else if threads.count() > 1 && compiled.joints.count() == 0 && counters.touching as usize >= *team_from {
            Schedule::WorkerTeam
        } else {
            Schedule::Serial
        }
    }

    /// Runs the sweeps of a step on a team of all threads.
    fn run_team(&mut self, ops: &[PlannedStage]) {
        self.scheduling.team_steps += 1;
        let Self { threads, bodies, solver, counters, scratch, times, .. } = self;
        let BodyTables { poses, states, accumulators, .. } = bodies;
        let ConstraintSet { splits, constraints, surfaces, .. } = solver;
        let Compiled { params, bodies, .. } = &self.host.compiled;
        let shares = Shares { splits, hubs: splits.hubs(), states, accumulators };
        let team = WorkerTeam::new(threads, constraints, counters, shares, bodies.len(), ops.len(), &mut scratch.team);
        let rounds = ImpactRounds::default();
        let is_timed = times.is_on;
        let times = Mutex::new(times);
        team.run(|worker| {
            for op in ops {
                let begin = (is_timed && worker.is_first()).then(Instant::now);
                match op.stage {
                    Stage::WarmStart => warm_start(params, worker, &*states, &*accumulators, surfaces),
                    Stage::IntegrateVelocities => worker.for_bodies(|first, end| {
                        integrate_velocities_in(first, end, params, bodies, poses, &*states, &*accumulators);
                    }),
                    Stage::Solve | Stage::Relax => solve(params, op.flags, &*states, accumulators, worker, surfaces),
                    Stage::IntegratePositions => worker.for_bodies(|first, end| {
                        integrate_positions_in(first, end, params, bodies, &*states);
                    }),
                    Stage::Project => project(params, states, worker),
                    Stage::Restitution => {
                        let tables = ImpactTables { params, states, accumulators, surfaces };
                        restitution(tables, rounds.round(op.flags), worker);
                    }
                    _ => {}
                }
                if begin.is_some() {
                    times.lock().unwrap_or_else(PoisonError::into_inner).add(op.stage, begin);
                }
            }
        });
        team.keep(&mut scratch.team);
    }
}
