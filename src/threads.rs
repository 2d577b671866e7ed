//! Loops shared among threads. A loop is cut into pieces, and the results never depend on the number of threads.

mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::cancel::Latch;

pub use rows::{Alone, AloneRow, Eight, Halves, RowHandle, RowTable, Rows};

/// Pieces per thread, at most: a few more than one, so that a thread that is done early takes another.
const PIECES: usize = 4;

/// Spins while waiting for other threads before the thread yields to the operating system: about ten microseconds.
const SPINS: u32 = 400;

/// Granularity of a loop. Handing a piece to another thread costs several microseconds, and tens if that thread has to
/// be woken; a piece that takes less is better run in place.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Alignment of pieces: they begin at multiples of this.
    pub unit: usize,
    /// Minimum number of elements of a piece, except the last; a multiple of `unit`.
    pub least: usize,
}

/// Granularity of loops with some ten nanoseconds per element.
pub const LIGHT: Cut = Cut { unit: 64, least: 1024 };
/// Granularity of loops with some hundred nanoseconds per element.
pub const HEAVY: Cut = Cut { unit: 64, least: 256 };

impl Cut {
    /// Returns the number of elements of a piece, if there is more than one piece.
    fn piece(self, len: usize, threads: usize) -> Option<usize> {
        let pieces = (len / self.least).min(PIECES * threads);
        (pieces > 1).then(|| len.div_ceil(self.unit).div_ceil(pieces) * self.unit)
    }
}

/// Elements after which a loop tests whether the step is cancelled: some milliseconds of work.
const STRIDE: usize = 1 << 14;

/// The operating system refused to start threads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} threads cannot be started: {reason}; ask for fewer")]
pub struct ThreadsError {
    /// Threads wanted.
    pub count: usize,
    /// Reason that the system gives.
    pub reason: String,
}

/// Handle to the threads that run a stage.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    pool: Option<Arc<rayon::ThreadPool>>,
    /// Latch that ends long loops early, if there is one: their results are then invalid.
    latch: Option<Arc<Latch>>,
}

impl Threads {
    /// Starts `count` threads; 0 and 1 mean the calling thread alone.
    ///
    /// # Errors
    /// If the operating system refuses to start them.
    pub fn new(count: usize) -> Result<Self, ThreadsError> {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = || build().map(Arc::new).map_err(|error| ThreadsError { count, reason: error.to_string() });
        Ok(Self { pool: if count <= 1 { None } else { Some(pool()?) }, latch: None })
    }

    /// Returns the same threads, with loops that end early when a step is cancelled.
    pub(crate) fn watching(&self, latch: &Arc<Latch>) -> Self {
        Self { pool: self.pool.clone(), latch: Some(latch.clone()) }
    }

    /// Returns the same threads, with loops that run to their end also when a step is cancelled.
    pub(crate) fn unwatched(&self) -> Self {
        Self { pool: self.pool.clone(), latch: None }
    }

    /// Returns the calling thread alone, with the same latch.
    pub(crate) fn alone(&self) -> Self {
        Self { pool: None, latch: self.latch.clone() }
    }

    /// Returns the latch that ends long loops early.
    pub(crate) fn latch(&self) -> Option<&Latch> {
        self.latch.as_deref()
    }

    /// Returns true if the step is cancelled: for loops outside this module.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.latch().is_some_and(Latch::is_cancelled)
    }

    /// Calls `each(first, end)` for ranges that make up `first .. end`, and skips the rest once the step is cancelled.
    fn for_strides(&self, cut: Cut, first: usize, end: usize, mut each: impl FnMut(usize, usize)) {
        let stride = if self.latch.is_some() { STRIDE.next_multiple_of(cut.unit) } else { usize::MAX };
        let mut first = first;
        loop {
            let next = end.min(first.saturating_add(stride));
            each(first, next);
            if next == end || self.is_cancelled() {
                return;
            }
            first = next;
        }
    }

    /// [`Self::for_strides`] over a piece that begins at index `first`.
    fn for_chunk_strides<T>(&self, cut: Cut, first: usize, piece: &mut [T], mut each: impl FnMut(usize, &mut [T])) {
        self.for_strides(cut, 0, piece.len(), |begin, end| each(first + begin, &mut piece[begin..end]));
    }

    /// [`Self::for_chunk_strides`] over pieces of two arrays.
    fn for_pair_strides<T, U>(
        &self,
        cut: Cut,
        first: usize,
        piece: &mut [T],
        other: &mut [U],
        mut each: impl FnMut(usize, &mut [T], &mut [U]),
    ) {
        self.for_strides(cut, 0, piece.len(), |begin, end| {
            each(first + begin, &mut piece[begin..end], &mut other[begin..end]);
        });
    }

    /// Returns the thread pool, if there are threads besides the calling one.
    pub(crate) fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.pool.as_deref()
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs `work` on one of the threads, and keeps the others awake until it is done. Call this around many loops:
    /// otherwise the caller would sleep and wake in each of them, and so would the threads that share them, which takes
    /// longer than most loops.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(|| StandbyHelpers::new(pool.current_num_threads() - 1).during(work)),
            None => work(),
        }
    }

    fn piece(&self, cut: Cut, len: usize) -> Option<(&rayon::ThreadPool, usize)> {
        let pool = self.pool.as_deref()?;
        Some((pool, cut.piece(len, pool.current_num_threads())?))
    }

    /// Calls `each(index, element)` for every element of `out`.
    pub fn for_each<T: Send>(&self, cut: Cut, out: &mut [T], each: impl Fn(usize, &mut T) + Sync) {
        self.for_chunks(cut, out, |first, chunk| {
            for (offset, element) in chunk.iter_mut().enumerate() {
                each(first + offset, element);
            }
        });
    }

    /// [`Self::for_each`] over two arrays of one length.
    pub fn for_each_pair<T: Send, U: Send>(
        &self,
        cut: Cut,
        out: &mut [T],
        other: &mut [U],
        each: impl Fn(usize, &mut T, &mut U) + Sync,
    ) {
        self.for_chunk_pairs(cut, out, other, |first, chunk, others| {
            for (offset, (element, other)) in chunk.iter_mut().zip(others).enumerate() {
                each(first + offset, element, other);
            }
        });
    }

    /// Calls `each(first index, piece)` for consecutive pieces of `out`.
    pub fn for_chunks<T: Send>(&self, cut: Cut, out: &mut [T], each: impl Fn(usize, &mut [T]) + Sync) {
        match self.piece(cut, out.len()) {
            Some((pool, piece)) => pool.install(|| {
                let pieces = out.par_chunks_mut(piece).enumerate();
                pieces.for_each(|(index, part)| self.for_chunk_strides(cut, index * piece, part, &each));
            }),
            None => self.for_chunk_strides(cut, 0, out, each),
        }
    }

    /// [`Self::for_chunks`] over two arrays of one length.
    pub fn for_chunk_pairs<T: Send, U: Send>(
        &self,
        cut: Cut,
        out: &mut [T],
        other: &mut [U],
        each: impl Fn(usize, &mut [T], &mut [U]) + Sync,
    ) {
        match self.piece(cut, out.len()) {
            Some((pool, piece)) => pool.install(|| {
                let parts = out.par_chunks_mut(piece).zip(other.par_chunks_mut(piece)).enumerate();
                parts.for_each(|(index, (part, other))| self.for_pair_strides(cut, index * piece, part, other, &each));
            }),
            None => self.for_pair_strides(cut, 0, out, other, each),
        }
    }

    /// Calls `each(task, thread)` for every task below `count`. `thread` is below [`Self::count`], and no two tasks
    /// have the same one at the same time.
    pub fn for_tasks(&self, count: usize, each: impl Fn(usize, usize) + Sync) {
        match &self.pool {
            Some(pool) if count > 1 => pool.install(|| {
                let thread = || rayon::current_thread_index().unwrap_or(0);
                (0..count).into_par_iter().with_max_len(1).for_each(|task| each(task, thread()));
            }),
            _ => (0..count).for_each(|task| each(task, 0)),
        }
    }

    /// Calls `each(first, end)` for consecutive ranges of `0 .. len`.
    pub fn for_ranges(&self, cut: Cut, len: usize, each: impl Fn(usize, usize) + Sync) {
        match self.piece(cut, len) {
            Some((pool, piece)) => pool.install(|| {
                let ranges = (0..len.div_ceil(piece)).into_par_iter();
                ranges.for_each(|index| {
                    self.for_strides(cut, index * piece, ((index + 1) * piece).min(len), &each);
                });
            }),
            None => self.for_strides(cut, 0, len, each),
        }
    }

    /// [`Self::for_ranges`] with a separate result (a part) for each range. Returns the parts that were used, in order.
    /// Parts are kept from call to call, with their memory: `each` clears its own first.
    pub fn for_parts<'a, P: Default + Send>(
        &self,
        cut: Cut,
        len: usize,
        parts: &'a mut Vec<P>,
        each: impl Fn(usize, usize, &mut P) + Sync,
    ) -> &'a mut [P] {
        let shared = self.piece(cut, len);
        let parts = first_parts(parts, shared.map_or(1, |(_, piece)| len.div_ceil(piece)));
        match shared {
            Some((pool, piece)) => pool.install(|| {
                let ranges = parts.par_iter_mut().enumerate();
                ranges.for_each(|(index, part)| each(index * piece, ((index + 1) * piece).min(len), part));
            }),
            None => each(0, len, &mut parts[0]),
        }
        parts
    }

    /// [`Self::for_chunk_pairs`] with a part for each piece, as in [`Self::for_parts`].
    pub fn for_chunk_parts<'a, T: Send, U: Send, P: Default + Send>(
        &self,
        cut: Cut,
        out: &mut [T],
        other: &mut [U],
        parts: &'a mut Vec<P>,
        each: impl Fn(usize, &mut [T], &mut [U], &mut P) + Sync,
    ) -> &'a mut [P] {
        let shared = self.piece(cut, out.len());
        let parts = first_parts(parts, shared.map_or(1, |(_, piece)| out.len().div_ceil(piece)));
        match shared {
            Some((pool, piece)) => pool.install(|| {
                let pieces =
                    out.par_chunks_mut(piece).zip(other.par_chunks_mut(piece)).zip(parts.par_iter_mut()).enumerate();
                pieces.for_each(|(index, ((own, other), part))| each(index * piece, own, other, part));
            }),
            None => each(0, out, other, &mut parts[0]),
        }
        parts
    }

    /// [`Self::for_ranges`] that returns the results of `each`, in order.
    pub fn map_ranges<T: Send>(&self, cut: Cut, len: usize, each: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
        match self.piece(cut, len) {
            Some((pool, piece)) => pool.install(|| {
                (0..len.div_ceil(piece))
                    .into_par_iter()
                    .map(|index| each(index * piece, ((index + 1) * piece).min(len)))
                    .collect()
            }),
            None => vec![each(0, len)],
        }
    }
}

/// Returns the first `count` parts; creates missing ones.
fn first_parts<P: Default>(parts: &mut Vec<P>, count: usize) -> &mut [P] {
    if parts.len() < count {
        parts.resize_with(count, P::default);
    }
    &mut parts[..count]
}

/// Keeps helper threads awake while one thread leads, so that they run the tasks it shares out.
#[derive(Debug)]
struct StandbyHelpers {
    helpers: usize,
    arrived: AtomicUsize,
    done: AtomicBool,
}

impl StandbyHelpers {
    fn new(helpers: usize) -> Self {
        Self { helpers, arrived: AtomicUsize::new(0), done: AtomicBool::new(false) }
    }

    fn during<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.beside(self.helpers, work)
    }

    /// Runs `work`, and offers the waiting loop to other threads `offers` times. These offers are older than any task
    /// that `work` shares out, and threads steal the oldest first: so the leading thread never runs the waiting loop
    /// before `work` is done.
    fn beside<R: Send>(&self, offers: usize, work: impl FnOnce() -> R + Send) -> R {
        if offers == 0 {
            let _end = EndSignal(&self.done);
            return work();
        }
        rayon::join(|| self.beside(offers - 1, work), || self.keep()).0
    }

    fn keep(&self) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
        let (mut gathered, mut pause) = (false, Pause::default());
        while !self.done.load(Ordering::Acquire) {
            // A helper that looks for work before all have arrived would find their offers, and take those as well.
            gathered |= pause.is_long() || self.arrived.load(Ordering::Relaxed) == self.helpers;
            if gathered && rayon::yield_now() == Some(rayon::Yield::Executed) {
                pause = Pause::default();
            } else {
                pause.go_on();
            }
        }
    }
}

/// Waiting loop of a thread: it spins, and after a while yields.
#[derive(Debug, Default)]
pub(crate) struct Pause(u32);

impl Pause {
    /// Waits for a moment. After a long pause it yields to the operating system.
    pub fn go_on(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.is_long() {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }

    /// Returns true if the pause has lasted so long that the thread should yield.
    pub fn is_long(&self) -> bool {
        self.0 >= SPINS
    }
}

/// Sets the flag when the work ends, also by a panic.
struct EndSignal<'a>(&'a AtomicBool);

impl Drop for EndSignal<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns an empty list with the memory of another list of another lifetime: the standard library collects in place.
/// If it ever ceases to, this allocates like any new list.
pub(crate) fn emptied<T, U>(mut list: Vec<T>) -> Vec<U> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::time::Duration;

    use super::{Cut, Threads, emptied};

    /// Helpers arrive while one thread leads, all of them, and leave when it is done, also after a panic.
    #[test]
    fn others_watch_while_one_leads() {
        for count in [1, 2, 3, 5] {
            let threads = Threads::new(count).unwrap();
            let seen = Mutex::new(HashSet::new());
            // Until all threads have taken a task: each waits for the others, or for long enough.
            let each = |_: usize, thread: usize| {
                seen.lock().unwrap().insert(thread);
                for _ in 0..5_000 {
                    if seen.lock().unwrap().len() == count {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            assert_eq!(
                threads.enter(|| {
                    threads.for_tasks(count, each);
                    threads.enter(|| 17)
                }),
                17
            );
            assert_eq!(seen.lock().unwrap().len(), count, "of {count} threads");
            let broken = catch_unwind(AssertUnwindSafe(|| threads.enter(|| panic!("as asked"))));
            assert!(broken.is_err());
            assert_eq!(threads.enter(|| 3), 3, "after a panic");
        }
    }

    #[test]
    fn an_emptied_list_keeps_its_memory() {
        let word = String::from("a");
        let mut list: Vec<&str> = Vec::with_capacity(100);
        list.push(&word);
        let (at, capacity) = (list.as_ptr().addr(), list.capacity());
        let again: Vec<&'static str> = emptied(list);
        assert!(again.is_empty());
        assert_eq!((again.as_ptr().addr(), again.capacity()), (at, capacity));
    }

    /// Each element is in one piece, pieces are aligned, and only the last may be too small.
    #[test]
    fn loops_are_cut_where_they_may_be() {
        let threads = Threads::new(3).unwrap();
        let mut shared = 0;
        for cut in [Cut { unit: 1, least: 1 }, Cut { unit: 8, least: 24 }, Cut { unit: 64, least: 64 }] {
            for len in (0..300).chain([1_000, 4_097]) {
                let mut pieces = threads.map_ranges(cut, len, |first, end| (first, end));
                shared += usize::from(pieces.len() > 1);
                assert_eq!(pieces.iter().map(|&(first, end)| end - first).sum::<usize>(), len);
                assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0), "{pieces:?}");
                assert!(pieces.iter().all(|(first, _)| first % cut.unit == 0), "{cut:?}, {pieces:?}");
                pieces.pop();
                assert!(pieces.iter().all(|(first, end)| end - first >= cut.least), "{cut:?}, {pieces:?}");
                let mut visits = vec![0; len];
                threads.for_each(cut, &mut visits, |index, visit| *visit += index + 1);
                assert!(visits.iter().enumerate().all(|(index, &visit)| visit == index + 1));
            }
        }
        assert!(shared > 100, "hardly any loop was shared");
        assert_eq!(threads.map_ranges(Cut { unit: 64, least: 64 }, 127, |first, end| (first, end)), [(0, 127)]);
    }
}
