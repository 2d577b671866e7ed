//! Threads that write to the store: some append to logs, which must be quick, others write large files. No world
//! waits for the writes of another. A remote store appends on its own threads.
//!
//! The slow jobs of a world run in order, on [`SLOW_THREADS`] threads for all worlds. Named checkpoints use at most
//! [`SAVE_THREADS`] of these threads, and their bytes are limited, too ([`Writer::reserve`]).

use std::any::Any;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::lock;
use super::store::{LogEnd, Store, Trouble};

pub use super::store::WriteCallback;

/// Number of threads that append to logs, each for some of the worlds: a disk does several syncs in the time of one.
const LOG_THREADS: usize = 8;
/// Largest number of appends that share one sync per log.
const MAX_APPENDS: usize = 256;
/// Number of threads for all other writes.
const SLOW_THREADS: usize = 4;
/// Number of those threads that may write named checkpoints at the same time.
const SAVE_THREADS: usize = 2;

/// Work that may take long.
type SlowWork = Box<dyn FnOnce(&Store) -> io::Result<()> + Send>;

/// Job for a writer thread.
pub enum WriteJob {
    /// Records to append to a log.
    Append {
        /// Id of the world.
        id: String,
        /// Position of the records; the log is begun if necessary.
        end: LogEnd,
        /// Encoded records.
        rows: Vec<u8>,
        /// Called with the result, once it is known whether they are durable.
        done: WriteCallback,
    },
    /// Work that may take long.
    Slow {
        /// Id of the world. Jobs of one world are done in order.
        id: String,
        /// Urgency of the job.
        kind: JobUrgency,
        /// Work of the job.
        work: SlowWork,
        /// Called with the result.
        done: WriteCallback,
    },
}

/// Kind of a slow job, which determines its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobUrgency {
    /// The world, or space on the disk, waits for the job.
    World,
    /// A client requested a named checkpoint.
    Save,
}

impl fmt::Debug for WriteJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append { id, end, .. } => write!(f, "Append({id}, {})", end.number()),
            Self::Slow { id, kind, .. } => write!(f, "Slow({id}, {kind:?})"),
        }
    }
}

/// Slow job in the queue.
struct Slow {
    kind: JobUrgency,
    work: SlowWork,
    done: WriteCallback,
}

/// Slow jobs of all worlds.
#[derive(Default)]
struct SlowJobs {
    /// Waiting jobs of each world that has a waiting or running job, in order.
    waiting: HashMap<String, VecDeque<Slow>>,
    /// Worlds with waiting jobs and no running one, the longest waiting first.
    ready: VecDeque<String>,
    /// Number of running jobs for named checkpoints.
    saving: usize,
    /// True once no more jobs are accepted.
    closed: bool,
}

/// Queue between sessions and slow threads.
#[derive(Default)]
struct Queue {
    jobs: Mutex<SlowJobs>,
    changed: Condvar,
    /// Bytes of named checkpoints that wait to be written.
    bytes: Mutex<usize>,
}

/// Bytes that wait to be written, until dropped.
pub struct ReservedBytes {
    queue: Arc<Queue>,
    bytes: usize,
}

impl fmt::Debug for ReservedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reserved({})", self.bytes)
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        let mut bytes = lock(&self.queue.bytes);
        *bytes = bytes.saturating_sub(self.bytes);
    }
}

impl Queue {
    fn push(&self, id: String, slow: Slow) -> Result<(), Slow> {
        let mut jobs = lock(&self.jobs);
        if jobs.closed {
            return Err(slow);
        }
        match jobs.waiting.get_mut(&id) {
            Some(waiting) => waiting.push_back(slow),
            None => {
                jobs.waiting.insert(id.clone(), VecDeque::from([slow]));
                jobs.ready.push_back(id);
            }
        }
        drop(jobs);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for the next job. None at the end.
    fn next(&self) -> Option<(String, Slow)> {
        let mut jobs = lock(&self.jobs);
        loop {
            let SlowJobs { waiting, ready, saving, .. } = &mut *jobs;
            let may = |id: &String| {
                let first = waiting.get(id).and_then(VecDeque::front);
                first.is_some_and(|slow| slow.kind == JobUrgency::World || *saving < SAVE_THREADS)
            };
            let place = ready.iter().position(may);
            let next = place.and_then(|place| ready.remove(place)).and_then(|id| {
                let slow = waiting.get_mut(&id)?.pop_front()?;
                Some((id, slow))
            });
            if let Some((id, slow)) = next {
                *saving += usize::from(slow.kind == JobUrgency::Save);
                return Some((id, slow));
            }
            if jobs.closed && jobs.waiting.is_empty() {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a job has ended: the world's next one may begin.
    fn ended(&self, id: String, kind: JobUrgency) {
        let mut jobs = lock(&self.jobs);
        jobs.saving -= usize::from(kind == JobUrgency::Save);
        if jobs.waiting.get(&id).is_some_and(|waiting| !waiting.is_empty()) {
            jobs.ready.push_back(id);
        } else {
            jobs.waiting.remove(&id);
        }
        drop(jobs);
        self.changed.notify_all();
    }

    fn close(&self) {
        lock(&self.jobs).closed = true;
        self.changed.notify_all();
    }
}

/// Handle of the writer threads.
pub struct Writer {
    store: Arc<Store>,
    quick: Vec<Sender<WriteJob>>,
    slow: Arc<Queue>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.slow.close();
    }
}

impl Writer {
    /// Starts the threads. They end after their last job once the writer is dropped.
    ///
    /// # Errors
    /// The operating system refuses a thread.
    pub fn start(store: &Arc<Store>) -> io::Result<(Self, Vec<JoinHandle<()>>)> {
        let spawn = |name: String, work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name).spawn(work);
        let (mut threads, slow) = (Vec::new(), Arc::new(Queue::default()));
        for number in 0..SLOW_THREADS {
            let (own, queue) = (store.clone(), slow.clone());
            threads.push(spawn(format!("checkpoint-{number}"), Box::new(move || run(&own, &queue)))?);
        }
        let mut quick = Vec::new();
        for number in 0..LOG_THREADS {
            let (sender, jobs) = mpsc::channel();
            let own = store.clone();
            threads.push(spawn(format!("log-{number}"), Box::new(move || write_logs(&own, &jobs)))?);
            quick.push(sender);
        }
        Ok((Self { store: store.clone(), quick, slow }, threads))
    }

    /// Passes a job to its thread.
    pub fn give(&self, job: WriteJob) {
        let stopping = || Err(io::Error::other("the service is stopping"));
        match job {
            WriteJob::Append { id, end, rows, done } if self.store.is_remote() => {
                self.store.append_later(&id, &end, rows, counted(done));
            }
            WriteJob::Append { id, end, rows, done } => {
                // Records of a world keep their order.
                let thread = self.quick.get(crc32fast::hash(id.as_bytes()) as usize % LOG_THREADS);
                let Some(thread) = thread else { return done(stopping()) };
                if let Err(mpsc::SendError(WriteJob::Append { done, .. } | WriteJob::Slow { done, .. })) =
                    thread.send(WriteJob::Append { id, end, rows, done })
                {
                    done(stopping());
                }
            }
            WriteJob::Slow { id, kind, work, done } => {
                if let Err(slow) = self.slow.push(id, Slow { kind, work, done }) {
                    (slow.done)(stopping());
                }
            }
        }
    }

    /// Reserves bytes to be written for a client, out of `most` for all. A larger amount is accepted while nothing
    /// else waits. None if there is no room.
    #[must_use]
    pub fn reserve(&self, bytes: usize, most: usize) -> Option<ReservedBytes> {
        let mut waiting = lock(&self.slow.bytes);
        if *waiting > 0 && waiting.saturating_add(bytes) > most {
            return None;
        }
        *waiting = waiting.saturating_add(bytes);
        drop(waiting);
        Some(ReservedBytes { queue: self.slow.clone(), bytes })
    }
}

/// Wraps a callback to count the result and the duration in the metrics.
fn counted(done: WriteCallback) -> WriteCallback {
    let start = Instant::now();
    Box::new(move |outcome| {
        let name = if outcome.is_ok() { "drystone_log_appends_total" } else { "drystone_log_failures_total" };
        metrics::counter!(name).increment(1);
        metrics::histogram!("drystone_log_seconds").record(start.elapsed().as_secs_f64());
        done(outcome);
    })
}

/// Runs work that may panic. The panic hook has then logged it.
fn guarded(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        metrics::counter!("drystone_writer_panics_total").increment(1);
        // It is unknown how much of the job was done.
        Err(Trouble::InDoubt(format!("a bug in the service: {}", panic_message(&*panic))).into())
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it is in the log")
}

fn tell(done: WriteCallback, outcome: io::Result<()>) {
    let _ = guarded(|| {
        done(outcome);
        Ok(())
    });
}

fn run(store: &Store, queue: &Queue) {
    while let Some((id, Slow { kind, work, done })) = queue.next() {
        tell(done, guarded(|| work(store)));
        queue.ended(id, kind);
    }
}

/// Appends all waiting records, then syncs each log once.
fn write_logs(store: &Store, jobs: &Receiver<WriteJob>) {
    while let Ok(first) = jobs.recv() {
        let start = Instant::now();
        let rest = std::iter::from_fn(|| jobs.try_recv().ok()).take(MAX_APPENDS);
        let mut written: BTreeMap<(String, u64), Vec<WriteCallback>> = BTreeMap::new();
        for job in std::iter::once(first).chain(rest) {
            let WriteJob::Append { id, end, rows, done } = job else { continue };
            match guarded(|| store.append(&id, &end, &rows)) {
                Ok(()) => written.entry((id, end.number())).or_default().push(done),
                Err(error) => {
                    metrics::counter!("drystone_log_failures_total").increment(1);
                    tell(done, Err(error));
                }
            }
        }
        for ((id, log), appended) in written {
            let synced = guarded(|| store.sync(&id, log));
            let name = if synced.is_ok() { "drystone_log_appends_total" } else { "drystone_log_failures_total" };
            metrics::counter!(name).increment(appended.len() as u64);
            for done in appended {
                let outcome = synced.as_ref().map(|&()| ()).map_err(again);
                tell(done, outcome);
            }
        }
        metrics::histogram!("drystone_log_seconds").record(start.elapsed().as_secs_f64());
    }
}

/// Returns a copy of an error.
fn again(error: &io::Error) -> io::Error {
    match Trouble::of(error) {
        Some(trouble) => trouble.clone().into(),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::S3;

    fn writer() -> Writer {
        let store = Arc::new(Store::open("memory", &S3::default(), 0).unwrap());
        Writer::start(&store).unwrap().0
    }

    fn slow(
        writer: &Writer,
        id: &str,
        kind: JobUrgency,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Receiver<io::Result<()>> {
        let (told, outcome) = mpsc::channel();
        let done: WriteCallback = Box::new(move |outcome| told.send(outcome).unwrap());
        writer.give(WriteJob::Slow { id: id.to_owned(), kind, work: Box::new(move |_| work()), done });
        outcome
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn saves_leave_a_way_for_others_and_keep_their_order() {
        let writer = writer();
        let order = Arc::new(Mutex::new(Vec::new()));
        let (gate, gates) = (Arc::new(Mutex::new(())), 8);
        let shut = lock(&gate);
        let mut saves = Vec::new();
        for world in 0..gates {
            let gate = gate.clone();
            saves.push(slow(&writer, &format!("w{world}"), JobUrgency::Save, move || {
                drop(lock(&gate));
                Ok(())
            }));
        }
        for number in 0..3 {
            let order = order.clone();
            saves.push(slow(&writer, "w0", JobUrgency::Save, move || {
                lock(&order).push(number);
                Ok(())
            }));
        }
        // Jobs of other worlds run while all saves wait for the gate.
        for world in 0..4 {
            let outcome = slow(&writer, &format!("other{world}"), JobUrgency::World, || Ok(()));
            outcome.recv_timeout(SOON).expect("it does not wait for saves").unwrap();
        }
        assert!(lock(&order).is_empty(), "the first one of this world waits");
        drop(shut);
        for outcome in saves {
            outcome.recv_timeout(SOON).unwrap().unwrap();
        }
        assert_eq!(*lock(&order), [0, 1, 2]);
    }

    #[test]
    fn a_panic_ends_its_job_and_no_other() {
        let writer = writer();
        for _ in 0..2 * SLOW_THREADS {
            let outcome = slow(&writer, "w", JobUrgency::World, || panic!("on purpose"));
            let error = outcome.recv_timeout(SOON).expect("it is reported").unwrap_err();
            assert!(matches!(Trouble::of(&error), Some(Trouble::InDoubt(text)) if text.contains("on purpose")));
        }
        // A panic of a callback ends no other job either.
        let done: WriteCallback = Box::new(|_| panic!("on purpose, too"));
        writer.give(WriteJob::Slow { id: "w".to_owned(), kind: JobUrgency::World, work: Box::new(|_| Ok(())), done });
        assert!(slow(&writer, "w", JobUrgency::World, || Ok(())).recv_timeout(SOON).expect("it goes on").is_ok());
    }

    #[test]
    fn bytes_that_wait_are_bounded() {
        let writer = writer();
        let large = writer.reserve(1000, 100).expect("alone");
        assert!(writer.reserve(1, 100).is_none());
        drop(large);
        let first = writer.reserve(60, 100).unwrap();
        assert!(writer.reserve(60, 100).is_none() && writer.reserve(40, 100).is_some());
        drop(first);
        assert!(writer.reserve(60, 100).is_some());
    }
}
