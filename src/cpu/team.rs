//! Worker team: several threads go through all sweeps of a step together, with a barrier after each colour (as in
//! Box2D's `b2SolverStage`).
//!
//! A sweep over one large island visits a dozen colours, each of which must be done before the next begins: a hundred
//! stages a step, of some microseconds each. Handing every one of them to a thread pool costs as much as the work. So
//! every worker gets the whole solver once. In each stage (a colour of a sweep, a pass over the bodies) the workers
//! claim block after block (a range of constraints or bodies), each first those that it had in the stages before, which
//! are in its cache, and continue when all blocks are done. A worker that the operating system does not run leaves its
//! blocks to the others, so that no stage waits for it.
//!
//! Which worker claims a block leaves no trace in the result, as the blocks of a stage share no dynamic body.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cpu::blocks::{Blocks, ContactBatch, ORDERED_GROUP, SPLIT_GROUP, Visit};
use crate::cpu::shares::Shares;
use crate::threads::{Pause, Threads, emptied};
use crate::types::Counters;

/// Minimum number of constraint blocks ([`ContactBatch::blocks`]) in a work block: about a microsecond of work, ten
/// times the cost of claiming it.
const MIN_BLOCKS: usize = 16;
/// Minimum number of bodies in a work block.
const MIN_BODIES: usize = 64;
/// Work blocks per worker, at most, so that a worker that is done early claims another.
const BLOCKS_PER_WORKER: usize = 4;

/// State that the workers share.
#[derive(Debug)]
pub struct WorkerTeam<'a> {
    threads: &'a Threads,
    /// Number of workers.
    count: usize,
    lists: TeamLists<'a>,
    shares: Shares<'a>,
    /// Set when a worker panicked: it will never be done.
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct TeamLists<'a> {
    /// Work blocks of all colours.
    work_blocks: Vec<TeamBlock<Mutex<ContactBatch<'a>>>>,
    /// End of each group in the list, without groups that have no blocks.
    ends: Vec<usize>,
    /// Index in `ends` of the contacts that are split, if there are any.
    split: Option<usize>,
    /// Work before and after the contacts that are split.
    hubs: TeamBlock<()>,
    /// Work blocks over the bodies: first and end.
    bodies: Vec<TeamBlock<(usize, usize)>>,
    /// Number of blocks done, for each stage.
    done: Vec<AtomicU32>,
}

/// Memory of a team's lists. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct TeamScratch(TeamLists<'static>);

/// Work that one worker claims at a time.
#[derive(Debug, Default)]
struct TeamBlock<T> {
    /// Last stage index in which a worker claimed this block.
    claimed: AtomicU32,
    work: T,
}

/// Thread of the team, and its progress.
#[derive(Debug)]
pub struct Worker<'c, 'a> {
    team: &'c WorkerTeam<'a>,
    index: usize,
    stage: u32,
}

impl<'a> WorkerTeam<'a> {
    /// Creates a team of all `threads` for `passes` passes, each over the constraints or over the bodies. Takes the
    /// lists of `scratch`, until [`Self::keep`].
    pub fn new(
        threads: &'a Threads,
        constraints: &'a mut Blocks,
        counters: &Counters,
        shares: Shares<'a>,
        bodies: usize,
        passes: usize,
        scratch: &mut TeamScratch,
    ) -> Self {
        let count_of_threads = threads.count();
        let TeamScratch(TeamLists { work_blocks, mut ends, bodies: mut body_blocks, mut done, .. }) =
            std::mem::take(scratch);
        let (mut work_blocks, mut split) = (emptied(work_blocks), None);
        ends.clear();
        for (group, mut batch) in constraints.batches(counters) {
            let count = batch.blocks.len();
            // One worker solves what must be solved in order.
            let len = if group == ORDERED_GROUP { count } else { block_len(count, MIN_BLOCKS, count_of_threads) };
            while !batch.blocks.is_empty() {
                let work = Mutex::new(batch.take_first(len));
                work_blocks.push(TeamBlock { claimed: AtomicU32::new(0), work });
            }
            if group == SPLIT_GROUP {
                split = Some(ends.len());
            }
            ends.push(work_blocks.len());
        }
        let len = block_len(bodies, MIN_BODIES, count_of_threads);
        body_blocks.clear();
        body_blocks.extend(
            (0..bodies)
                .step_by(len)
                .map(|first| TeamBlock { claimed: AtomicU32::new(0), work: (first, bodies.min(first + len)) }),
        );
        done.clear();
        done.resize_with(passes * (ends.len().max(1) + 2) + 1, || AtomicU32::new(0));
        let lists = TeamLists { work_blocks, ends, split, hubs: TeamBlock::default(), bodies: body_blocks, done };
        Self { threads, count: count_of_threads, lists, shares, broken: AtomicBool::new(false) }
    }

    /// Returns the lists to `scratch`.
    pub fn keep(self, scratch: &mut TeamScratch) {
        let TeamLists { work_blocks, ends, bodies, done, .. } = self.lists;
        *scratch =
            TeamScratch(TeamLists { work_blocks: emptied(work_blocks), ends, bodies, done, ..TeamLists::default() });
    }

    /// Calls `work` on every thread, with its worker. It must make the same passes on all. Threads that come late find
    /// the blocks claimed.
    pub fn run(&self, work: impl Fn(&mut Worker<'_, 'a>) + Sync) {
        self.threads.for_tasks(self.count, |index, _| work(&mut Worker { team: self, index, stage: 0 }));
    }
}

/// Returns the number of elements of a work block.
fn block_len(count: usize, least: usize, threads: usize) -> usize {
    count.div_ceil((count / least).clamp(1, BLOCKS_PER_WORKER * threads)).max(1)
}

impl Worker<'_, '_> {
    /// Returns true for the first worker, which does what only one may do.
    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// Makes a pass over the bodies: calls `each(first, end)` for ranges that make up all of them.
    pub fn for_bodies(&mut self, each: impl Fn(usize, usize)) {
        let team = self.team;
        self.run_stage(&team.lists.bodies, |&(first, end)| each(first, end));
    }

    /// Claims blocks of one stage while there are any, and returns when all are done.
    fn run_stage<T>(&mut self, work_blocks: &[TeamBlock<T>], work: impl Fn(&T)) {
        let WorkerTeam { threads, count, lists: TeamLists { done, .. }, broken, .. } = self.team;
        // Once a worker has seen that the step is cancelled all do, and none waits for the others.
        if threads.is_cancelled() {
            return;
        }
        let done = &done[self.stage as usize];
        self.stage += 1;
        // All blocks once, starting with the worker's own.
        let (before, own) = work_blocks.split_at(self.index * work_blocks.len() / count);
        for work_block in own.iter().chain(before) {
            if work_block.claimed.load(Ordering::Relaxed) < self.stage
                && work_block.claimed.fetch_max(self.stage, Ordering::Relaxed) < self.stage
            {
                let watch = PanicSignal(broken);
                work(&work_block.work);
                std::mem::forget(watch);
                done.fetch_add(1, Ordering::Release);
            }
        }
        let mut pause = Pause::default();
        while (done.load(Ordering::Acquire) as usize) < work_blocks.len()
            && !broken.load(Ordering::Relaxed)
            && !(pause.is_long() && threads.is_cancelled())
        {
            pause.go_on();
        }
    }
}

/// Sets the flag when it is dropped, that is if its thread panics.
struct PanicSignal<'a>(&'a AtomicBool);

impl Drop for PanicSignal<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Visit for Worker<'_, '_> {
    fn visit_batches(&mut self, each: impl Fn(ContactBatch) + Sync) {
        let TeamLists { work_blocks, ends, split, hubs, .. } = &self.team.lists;
        let (shares, hubs) = (&self.team.shares, std::slice::from_ref(hubs));
        let mut first = 0;
        for (group, &end) in ends.iter().enumerate() {
            let color = &work_blocks[first..end];
            first = end;
            if *split == Some(group) {
                self.run_stage(hubs, |()| shares.hand_out());
            }
            self.run_stage(color, |batch| {
                let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
                let ContactBatch { slot, width, blocks, bounces } = &mut *batch;
                each(ContactBatch { slot: *slot, width: *width, blocks, bounces });
            });
            if *split == Some(group) {
                self.run_stage(hubs, |()| shares.merge());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::{Shares, TeamScratch, WorkerTeam};
    use crate::cpu::blocks::{Blocks, Visit as _};
    use crate::stages::color::split::Splits;
    use crate::threads::{Rows, Threads};
    use crate::types::{COLOR_COUNT, Counters, OVERFLOW_COLOR};

    const BODIES: usize = 1_000;
    const PASSES: usize = 12;

    /// Constraints of several colours: several blocks, less than one block, an overflow.
    fn constraints() -> (Blocks, Counters) {
        let mut counters = Counters::default();
        let mut end = 0;
        for color in 0..COLOR_COUNT {
            counters.color_starts[color as usize] = end;
            end += match color {
                0 => 1_001,
                3 => 700,
                7 => 3,
                OVERFLOW_COLOR => 41,
                _ => 0,
            };
        }
        counters.color_starts[COLOR_COUNT as usize] = end;
        let mut constraints = Blocks::default();
        constraints.build(&counters, 0, false);
        (constraints, counters)
    }

    /// Makes passes over constraints and bodies; calls `visited(pass, colour or none, index)`.
    fn run(threads: usize, visited: impl Fn(usize, Option<u32>, usize) + Sync) {
        let (mut constraints, counters) = constraints();
        let threads = Threads::new(threads).unwrap();
        let mut scratch = TeamScratch::default();
        let (splits, states, accumulators) = (Splits::default(), Rows::default(), Rows::default());
        let shares = Shares { splits: &splits, hubs: &[], states: &states, accumulators: &accumulators };
        let team = WorkerTeam::new(&threads, &mut constraints, &counters, shares, BODIES, PASSES, &mut scratch);
        let color_of =
            |slot: usize| (0..COLOR_COUNT).rfind(|&color| counters.color_starts[color as usize] as usize <= slot);
        team.run(|worker| {
            for pass in 0..PASSES {
                if pass % 3 == 0 {
                    worker.for_bodies(|first, end| (first..end).for_each(|body| visited(pass, None, body)));
                } else {
                    worker.visit(|slot, _, bounce| {
                        assert!(bounce.is_none());
                        visited(pass, color_of(slot), slot);
                    });
                }
            }
        });
    }

    #[test]
    fn each_pass_visits_everything_once() {
        for threads in [1, 2, 5] {
            let visits: Vec<_> = (0..PASSES * 2_000).map(|_| AtomicU32::new(0)).collect();
            run(threads, |pass, _, index| {
                visits[pass * 2_000 + index].fetch_add(1, Ordering::Relaxed);
            });
            for (pass, visits) in visits.chunks(2_000).enumerate() {
                let visits: Vec<_> = visits.iter().map(|visits| visits.load(Ordering::Relaxed)).collect();
                assert!(visits.iter().all(|&visits| visits <= 1), "pass {pass} on {threads} threads");
                // Blocks of eight, except the overflow.
                let expected = if pass % 3 == 0 { BODIES } else { 126 + 88 + 1 + 41 };
                assert_eq!(visits.iter().sum::<u32>() as usize, expected, "pass {pass} on {threads} threads");
            }
        }
    }

    /// Counts visits that came while one of an earlier colour or pass was still running.
    fn too_early(ended: bool) -> u32 {
        let order = |pass: usize, color: Option<u32>| pass * 40 + color.map_or(0, |color| color as usize);
        let under_way: Vec<_> = (0..PASSES * 40).map(|_| AtomicU32::new(0)).collect();
        let early = AtomicU32::new(0);
        run(3, |pass, color, index| {
            let now = order(pass, color);
            if under_way[..now].iter().any(|count| count.load(Ordering::SeqCst) > 0) {
                early.fetch_add(1, Ordering::SeqCst);
            }
            under_way[now].fetch_add(1, Ordering::SeqCst);
            if index % 97 == 0 {
                std::thread::sleep(Duration::from_micros(300));
            }
            if ended {
                under_way[now].fetch_sub(1, Ordering::SeqCst);
            }
        });
        early.into_inner()
    }

    #[test]
    fn no_stage_begins_before_all_workers_are_done() {
        assert_eq!(too_early(true), 0);
        // Negative control: a visit that never ends is seen to be running.
        assert!(too_early(false) > 0);
    }

    /// Without the flag the others would wait for ever for the worker that panicked.
    #[test]
    fn a_panic_ends_the_step() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(3, |pass, _, index| assert!(pass < 5 || index < 300, "as asked"));
        }));
        assert!(outcome.is_err());
    }
}
