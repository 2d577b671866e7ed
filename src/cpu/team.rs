//! Several threads go through all sweeps of a step together.
//!
//! A sweep over one large island visits a dozen colours, each of which must be done before the next begins: a hundred
//! turns a step, of some microseconds each. Handing every one of them to a pool of threads costs as much as the work. So
//! everybody is handed the whole solver once. In each turn (a colour of a sweep, a pass over the bodies) whoever is there takes
//! piece after piece, first those that it had in the turns before, which are in its cache, and goes on when all pieces are
//! done. Nobody needs to arrive: a thread that the system does not run leaves its pieces to the others.
//!
//! Which thread takes a piece leaves no trace in the result, as the pieces of a turn share no body that moves.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cpu::blocks::{Batch, Blocks, Visit};
use crate::threads::{Pause, Threads, emptied};
use crate::types::{COLOR_COUNT, Counters, OVERFLOW_COLOR};

/// Blocks of a piece, at least: about a microsecond of work, ten times what taking it costs.
const LEAST_BLOCKS: usize = 16;
/// Bodies likewise.
const LEAST_BODIES: usize = 64;
/// Pieces a thread, at most, so that who is done first takes another.
const PIECES: usize = 4;

/// What the threads share.
#[derive(Debug)]
pub struct Crew<'a> {
    threads: &'a Threads,
    /// Number of threads.
    count: usize,
    lists: Lists<'a>,
    /// Somebody panicked, and will never be done.
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct Lists<'a> {
    /// All colours, cut into pieces.
    pieces: Vec<Piece<Mutex<Batch<'a>>>>,
    /// Where those of each colour end.
    ends: [usize; COLOR_COUNT as usize],
    /// First and end of ranges of bodies.
    bodies: Vec<Piece<(usize, usize)>>,
    /// Pieces that are done, of each turn.
    done: Vec<AtomicU32>,
}

/// The lists of a crew, without what is in them: they are kept, so that a step need not ask for memory.
#[derive(Debug, Default)]
pub struct CrewScratch(Lists<'static>);

/// What one thread takes at a time.
#[derive(Debug)]
struct Piece<T> {
    /// The last turn in which somebody took it.
    taken: AtomicU32,
    what: T,
}

/// One of the threads.
#[derive(Debug)]
pub struct Hand<'c, 'a> {
    crew: &'c Crew<'a>,
    index: usize,
    turn: u32,
}

impl<'a> Crew<'a> {
    /// For so many threads that go through so many `passes`, each over the constraints or over the bodies. Takes the lists
    /// of `scratch`, until [`Self::keep`].
    pub fn new(
        threads: &'a Threads,
        constraints: &'a mut Blocks,
        counters: &Counters,
        bodies: usize,
        passes: usize,
        scratch: &mut CrewScratch,
    ) -> Self {
        let count_of_threads = threads.count();
        let CrewScratch(Lists { pieces, bodies: mut body_pieces, mut done, .. }) = std::mem::take(scratch);
        let (mut pieces, mut ends) = (emptied(pieces), [0; COLOR_COUNT as usize]);
        let mut colors = 0;
        for ((color, mut batch), end) in constraints.batches(counters).enumerate().zip(&mut ends) {
            let count = batch.blocks.len();
            colors += usize::from(count > 0);
            // The overflow is solved in order.
            let piece =
                if color == OVERFLOW_COLOR as usize { count } else { size(count, LEAST_BLOCKS, count_of_threads) };
            while !batch.blocks.is_empty() {
                let what = Mutex::new(batch.take_first(piece));
                pieces.push(Piece { taken: AtomicU32::new(0), what });
            }
            *end = pieces.len();
        }
        let piece = size(bodies, LEAST_BODIES, count_of_threads);
        body_pieces.clear();
        body_pieces.extend(
            (0..bodies)
                .step_by(piece)
                .map(|first| Piece { taken: AtomicU32::new(0), what: (first, bodies.min(first + piece)) }),
        );
        done.clear();
        done.resize_with(passes * colors.max(1) + 1, || AtomicU32::new(0));
        let lists = Lists { pieces, ends, bodies: body_pieces, done };
        Self { threads, count: count_of_threads, lists, broken: AtomicBool::new(false) }
    }

    /// Gives the lists back.
    pub fn keep(self, scratch: &mut CrewScratch) {
        let Lists { pieces, bodies, done, .. } = self.lists;
        *scratch = CrewScratch(Lists { pieces: emptied(pieces), bodies, done, ..Lists::default() });
    }

    /// Calls `work` on every thread, with its hand; it must make the same passes everywhere. Those that come late
    /// find the pieces taken.
    pub fn run(&self, work: impl Fn(&mut Hand<'_, 'a>) + Sync) {
        self.threads.for_tasks(self.count, |index, _| work(&mut Hand { crew: self, index, turn: 0 }));
    }
}

/// Elements of a piece.
fn size(count: usize, least: usize, threads: usize) -> usize {
    count.div_ceil((count / least).clamp(1, PIECES * threads)).max(1)
}

impl Hand<'_, '_> {
    /// Whether this is the first of the hands: for what only one is to do.
    pub fn leads(&self) -> bool {
        self.index == 0
    }

    /// Passes over the bodies: `each(first, end)` for ranges that make up all of them.
    pub fn for_bodies(&mut self, each: impl Fn(usize, usize)) {
        let crew = self.crew;
        self.take_turns(&crew.lists.bodies, |&(first, end)| each(first, end));
    }

    /// Takes pieces while there are any, and returns when all are done.
    fn take_turns<T>(&mut self, pieces: &[Piece<T>], work: impl Fn(&T)) {
        let Crew { threads, count, lists: Lists { done, .. }, broken } = self.crew;
        // Once a thread has seen that the step is given up all do, and nobody waits for the others.
        if threads.is_cancelled() {
            return;
        }
        let done = &done[self.turn as usize];
        self.turn += 1;
        // From its own on, once around.
        let (before, own) = pieces.split_at(self.index * pieces.len() / count);
        for piece in own.iter().chain(before) {
            if piece.taken.load(Ordering::Relaxed) < self.turn
                && piece.taken.fetch_max(self.turn, Ordering::Relaxed) < self.turn
            {
                let watch = Watch(broken);
                work(&piece.what);
                std::mem::forget(watch);
                done.fetch_add(1, Ordering::Release);
            }
        }
        let mut pause = Pause::default();
        while (done.load(Ordering::Acquire) as usize) < pieces.len()
            && !broken.load(Ordering::Relaxed)
            && !(pause.is_long() && threads.is_cancelled())
        {
            pause.go_on();
        }
    }
}

/// Says so if its thread panics.
struct Watch<'a>(&'a AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Visit for Hand<'_, '_> {
    fn visit_batches(&mut self, each: impl Fn(Batch) + Sync) {
        let Lists { pieces, ends, .. } = &self.crew.lists;
        let mut first = 0;
        for &end in ends {
            let color = &pieces[first..end];
            first = end;
            if color.is_empty() {
                continue;
            }
            self.take_turns(color, |part| {
                let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                let Batch { slot, width, blocks, bounces } = &mut *part;
                each(Batch { slot: *slot, width: *width, blocks, bounces });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::{Crew, CrewScratch};
    use crate::cpu::blocks::{Blocks, Visit as _};
    use crate::threads::Threads;
    use crate::types::{COLOR_COUNT, Counters, OVERFLOW_COLOR};

    const BODIES: usize = 1_000;
    const PASSES: usize = 12;

    /// Some colours of several pieces, one of less than a block, an overflow.
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
        constraints.lay(&counters, false);
        (constraints, counters)
    }

    /// Passes in turns over constraints and bodies; `visited(pass, colour or none, what)`.
    fn run(threads: usize, visited: impl Fn(usize, Option<u32>, usize) + Sync) {
        let (mut constraints, counters) = constraints();
        let threads = Threads::new(threads).unwrap();
        let mut scratch = CrewScratch::default();
        let crew = Crew::new(&threads, &mut constraints, &counters, BODIES, PASSES, &mut scratch);
        let color_of =
            |slot: usize| (0..COLOR_COUNT).rfind(|&color| counters.color_starts[color as usize] as usize <= slot);
        crew.run(|hand| {
            for pass in 0..PASSES {
                if pass % 3 == 0 {
                    hand.for_bodies(|first, end| (first..end).for_each(|body| visited(pass, None, body)));
                } else {
                    hand.visit(|slot, _, bounce| {
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
            run(threads, |pass, _, what| {
                visits[pass * 2_000 + what].fetch_add(1, Ordering::Relaxed);
            });
            for (pass, visits) in visits.chunks(2_000).enumerate() {
                let visits: Vec<_> = visits.iter().map(|visits| visits.load(Ordering::Relaxed)).collect();
                assert!(visits.iter().all(|&visits| visits <= 1), "pass {pass} on {threads} threads");
                // Blocks of eight, but for the overflow.
                let expected = if pass % 3 == 0 { BODIES } else { 126 + 88 + 1 + 41 };
                assert_eq!(visits.iter().sum::<u32>() as usize, expected, "pass {pass} on {threads} threads");
            }
        }
    }

    /// Visits that came while one of an earlier colour or pass was still under way.
    fn too_early(ended: bool) -> u32 {
        let order = |pass: usize, color: Option<u32>| pass * 40 + color.map_or(0, |color| color as usize);
        let under_way: Vec<_> = (0..PASSES * 40).map(|_| AtomicU32::new(0)).collect();
        let early = AtomicU32::new(0);
        run(3, |pass, color, what| {
            let now = order(pass, color);
            if under_way[..now].iter().any(|count| count.load(Ordering::SeqCst) > 0) {
                early.fetch_add(1, Ordering::SeqCst);
            }
            under_way[now].fetch_add(1, Ordering::SeqCst);
            if what % 97 == 0 {
                std::thread::sleep(Duration::from_micros(300));
            }
            if ended {
                under_way[now].fetch_sub(1, Ordering::SeqCst);
            }
        });
        early.into_inner()
    }

    #[test]
    fn nobody_goes_on_before_all_are_done() {
        assert_eq!(too_early(true), 0);
        // Negative control: what never ends is seen to be under way.
        assert!(too_early(false) > 0);
    }

    /// Who waits for one that panicked would wait for ever.
    #[test]
    fn a_panic_ends_the_step() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(3, |pass, _, what| assert!(pass < 5 || what < 300, "as asked"));
        }));
        assert!(outcome.is_err());
    }
}
