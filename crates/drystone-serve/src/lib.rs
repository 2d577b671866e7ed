//! HTTP service that creates, steps and stores worlds (`drystone serve`). It loses no change that it has
//! acknowledged.
//!
//! # Data flow
//!
//! ```text
//!  HTTP, WebSocket            workers: one with a GPU, else one per core    log threads       checkpoint threads
//!  ─────────────────          ──────────────────────────────────────       ─────────────     ─────────────────
//!  check, limit, parse  ──►   inbox of the world (bounded; full is 429)
//!                             time slice: read the inbox
//!                                   commands, steps ───────────────────►   append, fsync
//!                                   (the world waits meanwhile,         ◄── durable
//!                                    other worlds get time slices)
//!                                   apply ──► answer
//!                                   steps, for a few milliseconds
//!                                   newest frame ──► streams
//!                                   snapshot, at intervals ─────────────────────────────►   write, fsync, rename
//! ```
//!
//! A world belongs to the worker that runs its time slice ([`session`]); no other thread touches it. Requests wait
//! in the world's inbox. The [`scheduler`] gives the next time slice to the owner whose worlds have used the least
//! measured time so far, and among these to the world that has used the least. A time slice ends after a few
//! milliseconds or after one step, whichever is longer.
//!
//! With several workers, one of them takes only worlds whose measured time slices were short, so that any number of
//! huge worlds leaves a way through. Time slices that end something (a request to delete or pause a world, an
//! expired deadline) never wait for a step of another world. A step is cancelled midway when its deadline has
//! passed, its client has disconnected, the world is to be paused or deleted, or the service stops: the end of the
//! request goes to the log, and the world is opened again. On a GPU the cancellation happens between two batches of
//! a long step.
//!
//! On a GPU there is one worker, which owns the device. Small worlds that are next share a time slice: one step of
//! each in one submission, with one wait, and by the same dispatches where they run the same stages. A world is
//! charged its own work, and its part of the shared waiting time according to the device's timestamps.
//!
//! # Durability
//!
//! A change of state (commands, a number of steps, play, pause) is written to the world's log and synced before it
//! is applied, together with the number of steps done before it. It is therefore on disk before any client gets
//! its answer, and a change that could not be written has not happened. Single steps are not logged, because a world
//! reproduces them bit by bit. The completion of a request for steps is logged: later requests come after those
//! steps, regardless of other events.
//!
//! A checkpoint holds the snapshot of a world and begins a new log. Two checkpoints are kept with their logs, so
//! that one damaged file loses nothing. A world is restored from its newest intact checkpoint and the logs after it.
//! Bodies added at run time are not in a snapshot: the checkpoint carries a journal of them
//! ([`Journal`](drystone::low_level::Journal)).
//!
//! A log begins with a header that records how the previous log ended and which build writes this one. A missing or
//! truncated log is detected that way: the world is then `failed` and its message names the file ([`store`] lists
//! what cannot be detected). If a log of another build has to be replayed, a warning says so (`other_build`); an
//! orderly stop leaves nothing to replay. After a failed sync the content of the disk is in doubt: requests get a
//! 503, and the world is opened again from what can be read, which is first written to a new file.
//!
//! In a bucket of an object store each record is an object, and a world belongs to the service that opened it last
//! ([`store`]). A second service does not start while the first lives, unless configured to take over
//! (`s3.take_over`). A service that finds the bucket or one of its worlds claimed by another service ends, because
//! its answers may be stale. While the bucket is unreachable, it can be unknown whether a record was stored: the
//! world waits, requests get a 503, and the world continues from the bucket's content.
//!
//! Worlds on a GPU are strict ([`Settings::strict`](drystone::Settings::strict)), because replay must not depend on
//! the size of buffers. After a restart a world with unfinished requests for steps continues them. A playing world
//! continues from its last change or checkpoint, which may be some seconds back, and reaches the same states again.
//!
//! # Rewinding
//!
//! To rewind, a world is opened from the newest checkpoint before the wanted step and replays its log up to that
//! step. The result is written as its newest checkpoint, as a restore does; once that checkpoint's log exists the
//! rewind is done. Until then the store holds the world as it was. The checkpoint records that it was reached by
//! rewinding: the logs before it remain its history up to its step. So the world can be rewound further, as far back
//! as the last two checkpoints and their logs reach.
//!
//! # Owners and tokens
//!
//! A world belongs to the owner of the token that created it ([`config::Token`]). For other tokens it does not
//! exist, and idempotency keys are separate per owner. A token with `admin` sees all worlds; without tokens every
//! client does. SIGHUP reloads the tokens. Memory for requests and answers, streams and the request rate are divided
//! among the tokens. Connections that have not shown a token give way to newer ones. The log has a line for each
//! request, with its id and the token's name.
//!
//! # Limits
//!
//! The service limits the bodies, joints, contacts and work per step of each world, the bodies of all worlds, and
//! the bodies of the worlds in memory ([`config::Limits`]). A step with too many contacts is refused before they
//! take memory; the world stops and reports the reason. An idle world is written out and leaves memory, immediately
//! if another world needs the memory; the next request brings it back to the same bits. A playing world that no
//! client watches pauses after a time, if its client or the operator says so. The world that is about to be stepped
//! is noted on disk, in case the process ends during the step; a world that ends the process twice is failed at the
//! next start, and the others continue.
//!
//! # Start
//!
//! The port opens before the worlds are read: `/health/live` answers, and `/health/ready` says 503 until all worlds
//! are open. Requests for worlds get 503 until the list of worlds is complete, and afterwards until the world itself
//! is open. Among the worlds that wait to be opened, a requested one comes first.
//!
//! # Retried requests
//!
//! Each request that changes state takes an `Idempotency-Key` and is executed once for that key; a retry gets the
//! first answer. The key of a creation is known as long as its world exists, other keys for at least a day, also
//! across restarts and restores (`session/keys.rs`). A world keeps the answers of `limits.keys` requests. Beyond
//! that, new requests with a key are refused, and no answer is dropped early. The key of a deletion is known for a
//! day after it. If a request for a named checkpoint is interrupted before its answer is durable, a retry writes it
//! once more, with the same name if the client chose it.
//!
//! # Ids
//!
//! A world's id is never reused. A body is `"slot.generation"`, as [`BodyId`](drystone::BodyId): an id never comes
//! to mean a later body in the same slot. Names from the scene work as well.
//!
//! # Errors
//!
//! Errors are problem details (RFC 9457) with the JSON path of the mistake. 4xx: the request cannot succeed
//! unchanged. 429 and 503: retry later, `Retry-After` says when. 507: the store refused the change, and it has not
//! happened. 503 of the type `store-away`: it is unknown whether the change has happened; a retry with the same
//! idempotency key executes it once. A disk that fails to sync gives the same answer.

#![allow(unused_qualifications, reason = "generated by utoipa from its attributes")]
#![allow(clippy::result_large_err, reason = "a problem is an answer, created at most once per request")]

pub mod answers;
pub mod api;
pub mod config;
pub mod device;
mod figures;
mod hosted;
mod listen;
pub mod op;
pub mod problem;
mod queue;
pub mod scheduler;
pub mod session;
pub mod store;
pub mod stream;
mod suspects;
mod time_slices;
mod watch;
mod writer;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use config::Config;
pub use device::Device;
pub use tracing::Level;

use scheduler::Scheduler;
use store::Store;

/// Returns the log subscriber with the service's format.
pub fn log_builder() -> tracing_subscriber::fmt::SubscriberBuilder {
    tracing_subscriber::fmt().with_target(false)
}

/// Reads the configuration again, for its tokens.
pub type Reload = Box<dyn Fn() -> Result<Config, ServeError> + Send + Sync>;

/// Logs a panic as a bug, for the panic hook; the service continues.
pub fn log_bug(message: &str, place: &str) {
    tracing::error!(message, place, "a bug in drystone {}; please report this line", env!("CARGO_PKG_VERSION"));
}

/// Longest time from the stop signal to the end of the process.
const MAX_DRAIN: Duration = Duration::from_secs(25);

/// Interval at which histograms are summed up.
const UPKEEP: Duration = Duration::from_secs(5);

/// Polling interval until the list of worlds is complete.
const LISTED_TICK: Duration = Duration::from_millis(100);

/// Reason why the service could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration is inconsistent.
    #[error("{0}")]
    Config(String),
    /// The store cannot be used.
    #[error("store {place}: {source}")]
    Store {
        /// Folder or bucket.
        place: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address and port.
        address: SocketAddr,
        /// Cause.
        source: std::io::Error,
    },
    /// Another service writes to the store.
    #[error("another service has taken the store over: {0}")]
    Taken(String),
    /// The operating system refused something.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Locks a mutex, including one poisoned by a panic: a bug in one world does not end the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the system clock's seconds since 1970.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Serves until SIGTERM or Ctrl-C. Calls `announce` with the address once the port is open. SIGHUP reloads the
/// tokens through `reload`, if given.
///
/// # Errors
/// The configuration is wrong, or the store, the address or a thread cannot be opened.
pub fn run(
    config: Config,
    device: Device,
    reload: Option<Reload>,
    announce: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    config.check()?;
    listen::open_files(&config.limits);
    let worlds = |of: &str| metrics_exporter_prometheus::Matcher::Full(format!("drystone_{of}_worlds"));
    let counts = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new()
        .set_buckets(&[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
        .and_then(|builder| builder.set_buckets_for_metric(worlds("batch"), &counts))
        .and_then(|builder| builder.set_buckets_for_metric(worlds("series"), &counts))
        .map_err(|error| ServeError::Config(error.to_string()))?
        .install_recorder()
        .map_err(|error| ServeError::Config(error.to_string()))?;
    figures::begin();
    let mut store = Store::open(&config.store, &config.s3, config.limits.store_bytes)
        .map_err(|source| ServeError::Store { place: config.store.clone(), source })?;
    store.set_backend(device.backend());
    let store = Arc::new(store);
    let config = Arc::new(config);
    let scheduler = Scheduler::start(config.clone(), device, store)?;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let outcome = runtime.block_on(serve(&config, &scheduler, recorder, reload, announce));
    let stopping = Instant::now();
    tracing::info!("writing checkpoints");
    let whole = scheduler.stop(MAX_DRAIN);
    tracing::info!(whole, seconds = stopping.elapsed().as_secs_f64(), "stopped");
    // Requests that still wait get no answer any more.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome?;
    scheduler.evicted_by().map_or(Ok(()), |detail| Err(ServeError::Taken(detail)))
}

async fn serve(
    config: &Arc<Config>,
    scheduler: &Arc<Scheduler>,
    recorder: metrics_exporter_prometheus::PrometheusHandle,
    reload: Option<Reload>,
    announce: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let address = config.listen;
    let refused = |source| ServeError::Listen { address, source };
    let listener = tokio::net::TcpListener::bind(address).await.map_err(refused)?;
    let local = listener.local_addr().map_err(refused)?;
    tokio::spawn(keep_figures_small(recorder.clone()));
    let state = api::ApiState::new(config.clone(), scheduler.clone(), recorder, local);
    let stopping = state.stopping.clone();
    let stop = stopping.subscribe();
    if config.tokens.len() > 1 && config.tokens.iter().any(|token| token.name == config::ENVIRONMENT) {
        tracing::warn!("DRYSTONE_TOKEN adds a token to those of the configuration");
    }
    if let Some(reload) = reload {
        tokio::spawn(change_tokens(state.clone(), reload));
    }
    tokio::spawn(warn_of_lost_worlds(state.clone()));
    let (app, full) = (api::router(state.clone()), api::router_when_full(state));
    // The port is open: clients that ask before all worlds are known get a 503 with `Retry-After`.
    scheduler.load()?;
    announce(local);
    tracing::info!(address = %local, store = %config.store, device = %scheduler.device().line(), "listening");
    let signalled = scheduler.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = wait_for_signal() => tracing::info!("received a stop signal"),
            () = signalled.evicted.notified() => {}
        }
        signalled.draining.store(true, Ordering::SeqCst);
        signalled.drain();
        // Connections end after the answer in progress, streams immediately; long steps are cancelled.
        let _ = stopping.send(true);
    });
    listen::serve(listener, app, full, &config.limits, stop).await;
    Ok(())
}

/// Sums up histograms, which otherwise keep every value until the metrics are requested.
async fn keep_figures_small(recorder: metrics_exporter_prometheus::PrometheusHandle) {
    let mut tick = tokio::time::interval(UPKEEP);
    loop {
        tick.tick().await;
        recorder.run_upkeep();
    }
}

/// Warns of worlds that no token can see, once all worlds are known.
async fn warn_of_lost_worlds(state: api::ApiState) {
    let mut tick = tokio::time::interval(LISTED_TICK);
    while !state.scheduler.is_listed() {
        tick.tick().await;
    }
    let lost = state.lost_worlds();
    if lost > 0 {
        tracing::warn!(worlds = lost, "worlds whose owners have no token; a token with `admin = true` sees them");
    }
}

/// Reloads the tokens of the configuration at each SIGHUP.
async fn change_tokens(state: api::ApiState, reload: Reload) {
    #[cfg(unix)]
    {
        let Ok(mut hangup) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) else { return };
        let reload = Arc::new(reload);
        while hangup.recv().await.is_some() {
            let own = reload.clone();
            let read = tokio::task::spawn_blocking(move || own())
                .await
                .unwrap_or_else(|error| Err(ServeError::System(std::io::Error::other(error))));
            match read.and_then(|config| state.change_tokens(&config)) {
                Ok(api::TokenChanges { added, removed, changed }) => {
                    tracing::info!(?added, ?removed, ?changed, "tokens reloaded");
                }
                Err(error) => tracing::error!(%error, "tokens not reloaded; the previous ones stay valid"),
            }
        }
    }
    #[cfg(not(unix))]
    drop((state, reload));
}

async fn wait_for_signal() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminated) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
            let _ = interrupted.await;
            return;
        };
        tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        }
    }
    #[cfg(not(unix))]
    {
        let _ = interrupted.await;
    }
}
