//! Who sweeps: group by group of islands, all threads together, or one.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{CpuWorld, Scratch};
use crate::crew::Crew;
use crate::groups;
use crate::scene::Compiled;
use crate::stages::color::{color, color_sort};
use crate::stages::integrate_positions::integrate_positions_in;
use crate::stages::integrate_velocities::integrate_velocities_in;
use crate::stages::project::project;
use crate::stages::restitution::restitution;
use crate::stages::solve::solve;
use crate::stages::warm_start::warm_start;
use crate::step::Stage;
use crate::threads::Threads;

impl CpuWorld {
    /// Who sweeps. Of little, one thread that has the rows to itself is through before others have taken a share.
    pub(super) fn sweepers(&self) -> Threads {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        let size = bodies.len() + self.counters.touching as usize + joints.count();
        // A pass over so little is short.
        if size < self.sweep_from { Threads::default() } else { self.threads.clone() }
    }

    /// Colours the contacts, runs the solver that comes `next` in the plan group by group if that is worth it, and returns
    /// where the plan goes on.
    pub(super) fn run_groups(&mut self, next: usize) -> Option<usize> {
        let solver = groups::solver(&self.plan, next)?;
        let sweepers = self.sweepers();
        let Self { threads, poses, states, accumulators, contacts, manifolds, counters, .. } = self;
        let Self { coloring, slots, groups, stage_ms, .. } = self;
        let compiled = &self.host.compiled;
        let start = Instant::now();
        color(&sweepers, &compiled.params, states, contacts, coloring, counters);
        // Groups are swept by all threads or not at all.
        let shared = sweepers.count() == threads.count();
        let found = shared && groups.find(threads, compiled, contacts, counters.touching);
        if !found {
            color_sort(&sweepers, coloring, slots, counters);
        }
        stage_ms[Stage::Color as usize].1 += 1e3 * start.elapsed().as_secs_f64();
        if !found {
            return Some(next);
        }
        let given = groups::Given { compiled, poses, states, accumulators };
        groups.run(threads, &self.plan[solver.clone()], given, contacts, manifolds, counters, stage_ms);
        Some(solver.end)
    }

    /// Runs the sweeps that come `next` in the plan with all threads together, and returns where the plan goes on.
    pub(super) fn run_crew(&mut self, next: usize) -> Option<usize> {
        let solver = groups::solver(&self.plan, next.checked_sub(1)?)?;
        let small = (self.counters.touching as usize) < self.crew_from;
        if self.threads.count() == 1 || self.host.compiled.joints.count() > 0 || small {
            return None;
        }
        self.crew_steps += 1;
        let ops = &self.plan[next..solver.end - 1];
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
        Some(solver.end - 1)
    }
}
