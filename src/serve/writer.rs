//! Two threads that write: one logs, which must be quick, one checkpoints, which are large. Neither makes a world wait
//! for another's.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use super::store::Store;

/// Most appends that share one sync of each log.
const MOST_AT_ONCE: usize = 256;

/// What to do with the outcome.
pub type Done = Box<dyn FnOnce(io::Result<()>) + Send>;

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

/// The two threads.
#[derive(Debug)]
pub struct Writer {
    quick: Sender<Job>,
    slow: Sender<Job>,
}

impl Writer {
    /// Starts them. They end when the writer is dropped, after what they were given.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(store: &Arc<Store>) -> io::Result<(Self, [JoinHandle<()>; 2])> {
        let (quick, quick_jobs) = mpsc::channel();
        let (slow, slow_jobs) = mpsc::channel();
        let spawn =
            |name: &str, work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let (of_log, of_slow) = (store.clone(), store.clone());
        let threads = [
            spawn("log", Box::new(move || write_logs(&of_log, &quick_jobs)))?,
            spawn("checkpoint", Box::new(move || run(&of_slow, &slow_jobs)))?,
        ];
        Ok((Self { quick, slow }, threads))
    }

    /// Gives a job to its thread.
    pub fn give(&self, job: Job) {
        let to = if matches!(job, Job::Append { .. }) { &self.quick } else { &self.slow };
        if let Err(mpsc::SendError(Job::Append { done, .. } | Job::Slow { done, .. })) = to.send(job) {
            done(Err(io::Error::other("the service is stopping")));
        }
    }
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
