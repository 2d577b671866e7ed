//! Threads that write: some logs, which must be quick, one checkpoints, which are large. Neither makes a world wait for
//! another's. A store behind a network logs by itself.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use super::store::Store;

pub use super::store::Done;

/// Threads that write logs, each those of some worlds: a disk takes several syncs in the time of one.
const LOG_THREADS: usize = 8;
/// Most appends that share one sync of each log.
const MOST_AT_ONCE: usize = 256;

/// What may take long.
type Work = Box<dyn FnOnce(&Store) -> io::Result<()> + Send>;

/// Records that belong together, and who wants to know.
type Records = (Vec<Vec<u8>>, Done);

/// Something to write.
pub enum Job {
    /// Records, behind those of a log.
    Append {
        /// Of which world.
        id: String,
        /// Number of the log.
        log: u64,
        /// What.
        records: Vec<Vec<u8>>,
        /// Called once it is durable, or not.
        done: Done,
    },
    /// Anything that may take long.
    Slow {
        /// What.
        work: Work,
        /// Called after it.
        done: Done,
    },
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append { id, log, .. } => write!(f, "Append({id}, {log})"),
            Self::Slow { .. } => f.write_str("Slow"),
        }
    }
}

/// All of them.
#[derive(Debug)]
pub struct Writer {
    store: Arc<Store>,
    quick: Vec<Sender<Job>>,
    slow: Sender<Job>,
}

impl Writer {
    /// Starts them. They end when the writer is dropped, after what they were given.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(store: &Arc<Store>) -> io::Result<(Self, Vec<JoinHandle<()>>)> {
        let spawn =
            |name: &str, work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let (slow, jobs) = mpsc::channel();
        let own = store.clone();
        let mut threads = vec![spawn("checkpoint", Box::new(move || run(&own, &jobs)))?];
        let mut quick = Vec::new();
        for number in 0..LOG_THREADS {
            let (sender, jobs) = mpsc::channel();
            let own = store.clone();
            threads.push(spawn(&format!("log-{number}"), Box::new(move || write_logs(&own, &jobs)))?);
            quick.push(sender);
        }
        Ok((Self { store: store.clone(), quick, slow }, threads))
    }

    /// Gives a job to its thread.
    pub fn give(&self, job: Job) {
        let job = match job {
            Job::Append { id, log, records, done } if self.store.is_remote() => {
                return self.store.append_later(&id, log, &records, counted(done));
            }
            job => job,
        };
        let to = match &job {
            // What is of one world stays in its order.
            Job::Append { id, .. } => {
                self.quick.get(crc32fast::hash(id.as_bytes()) as usize % LOG_THREADS).unwrap_or(&self.slow)
            }
            Job::Slow { .. } => &self.slow,
        };
        if let Err(mpsc::SendError(Job::Append { done, .. } | Job::Slow { done, .. })) = to.send(job) {
            done(Err(io::Error::other("the service is stopping")));
        }
    }
}

/// Says to the metrics how it went, and how long it took.
fn counted(done: Done) -> Done {
    let start = Instant::now();
    Box::new(move |outcome| {
        let name = if outcome.is_ok() { "drystone_log_appends_total" } else { "drystone_log_failures_total" };
        metrics::counter!(name).increment(1);
        metrics::histogram!("drystone_log_seconds").record(start.elapsed().as_secs_f64());
        done(outcome);
    })
}

fn run(store: &Store, jobs: &Receiver<Job>) {
    for job in jobs {
        if let Job::Slow { work, done } = job {
            done(work(store));
        }
    }
}

/// Appends all that has come, then syncs each log once.
fn write_logs(store: &Store, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let start = Instant::now();
        let rest = std::iter::from_fn(|| jobs.try_recv().ok()).take(MOST_AT_ONCE);
        let mut written: BTreeMap<(String, u64), Vec<Records>> = BTreeMap::new();
        for job in std::iter::once(first).chain(rest) {
            let Job::Append { id, log, records, done } = job else { continue };
            match store.append(&id, log, &records) {
                Ok(()) => written.entry((id, log)).or_default().push((records, done)),
                Err(error) => {
                    metrics::counter!("drystone_log_failures_total").increment(1);
                    done(Err(error));
                }
            }
        }
        for ((id, log), appended) in written {
            let synced = store.sync(&id, log);
            let count = appended.len() as u64;
            for (records, done) in appended.into_iter().rev() {
                match &synced {
                    Ok(()) => done(Ok(())),
                    Err(error) => {
                        store.take_back(&id, log, &records);
                        done(Err(io::Error::new(error.kind(), error.to_string())));
                    }
                }
            }
            let name = if synced.is_ok() { "drystone_log_appends_total" } else { "drystone_log_failures_total" };
            metrics::counter!(name).increment(count);
        }
        metrics::histogram!("drystone_log_seconds").record(start.elapsed().as_secs_f64());
    }
}
