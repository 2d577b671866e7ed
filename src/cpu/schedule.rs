//! Schedule of the solver: chosen once a step, when its contacts have their colours.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{CpuWorld, Scratch, islands};
use crate::cpu::stages::color::{color, color_sort};
use crate::cpu::stages::integrate_positions::integrate_positions_in;
use crate::cpu::stages::integrate_velocities::integrate_velocities_in;
use crate::cpu::stages::project::project;
use crate::cpu::stages::restitution::restitution;
use crate::cpu::stages::solve::solve;
use crate::cpu::stages::warm_start::warm_start;
use crate::cpu::team::Crew;
use crate::scene::Compiled;
use crate::step::{Op, Stage};
use crate::threads::Threads;
use crate::world::WorldError;

/// Order in which the sweeps of a step are run. All give the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Stage by stage, each over the whole world; a colour may be shared among threads.
    #[default]
    Serial,
    /// Through all stages with some islands, then with the next ones; threads take whole batches.
    IslandBatches,
    /// Stage by stage, by all threads together, which wait for each other at the end of every colour.
    WorkerTeam,
}

impl CpuWorld {
    /// Returns the schedule of the last step.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Returns the threads that share a sweep. Of little, one thread that has the rows to itself is through before others
    /// have taken a share.
    pub(super) fn sweepers(&self) -> Threads {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        let size = bodies.len() + self.counters.touching as usize + joints.count();
        // A pass over so little is short.
        if size < self.sweep_from { Threads::default() } else { self.threads.clone() }
    }

    /// Colours the contacts, which comes `first` in the plan, chooses the schedule and follows it. Returns where the plan
    /// goes on.
    ///
    /// # Errors
    /// If the step is given up.
    pub(super) fn color_and_solve(&mut self, first: usize) -> Result<usize, WorldError> {
        let Some(solver) = islands::solver(&self.plan, first + 1) else {
            // A stage was left out.
            self.run_timed(self.plan[first])?;
            return Ok(first + 1);
        };
        let start = Instant::now();
        let sweepers = self.sweepers();
        let Self { states, contacts, counters, coloring, .. } = self;
        let compiled = &self.host.compiled;
        color(&sweepers, &compiled.params, states, contacts, coloring, counters);
        self.schedule = self.choose_schedule();
        if self.schedule != Schedule::IslandBatches {
            color_sort(&sweepers, &mut self.coloring, &mut self.slots, &self.counters);
        }
        self.spend(Stage::Color, start);
        match self.schedule {
            Schedule::Serial => Ok(first + 1),
            Schedule::IslandBatches => {
                let Self { threads, poses, states, accumulators, contacts, manifolds, .. } = self;
                let Self { groups, counters, stage_ms, .. } = self;
                let compiled = &self.host.compiled;
                let given = islands::Given { compiled, poses, states, accumulators };
                groups.run(threads, &self.plan[solver.clone()], given, contacts, manifolds, counters, stage_ms);
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

    /// Chooses how the contacts that have their colours are solved.
    fn choose_schedule(&mut self) -> Schedule {
        let sweepers = self.sweepers().count();
        let Self { threads, contacts, counters, groups, .. } = self;
        let compiled = &self.host.compiled;
        // Batches are swept by all threads or not at all.
        if sweepers == threads.count() && groups.find(threads, compiled, contacts, counters.touching) {
            Schedule::IslandBatches
        } else if threads.count() > 1 && compiled.joints.count() == 0 && counters.touching as usize >= self.crew_from {
            Schedule::WorkerTeam
        } else {
            Schedule::Serial
        }
    }

    /// Runs sweeps with all threads together.
    fn run_team(&mut self, ops: &[Op]) {
        self.crew_steps += 1;
        let Self { threads, poses, states, accumulators, constraints, surfaces, counters, .. } = self;
        let Self { scratch: Scratch { crew: scratch, .. }, stage_ms, .. } = self;
        let Compiled { params, bodies, .. } = &self.host.compiled;
        let crew = Crew::new(threads, constraints, counters, bodies.len(), ops.len(), scratch);
        let spent = Mutex::new(stage_ms);
        crew.run(|hand| {
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
    }
}
