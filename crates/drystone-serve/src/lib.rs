//! The service: scenes in, worlds stepped, states out, nothing acknowledged lost. `drystone serve`.
//!
//! # Who does what
//!
//! ```text
//!  HTTP, WebSocket            workers: one with a GPU, else one a core      log threads       checkpoint threads
//!  ─────────────────          ──────────────────────────────────────       ─────────────     ─────────────────
//!  check, limit, parse  ──►   inbox of the world (bounded; full is 429)
//!                             turn: read what came
//!                                   commands, steps ───────────────────►   append, fsync
//!                                   (the world stands still meanwhile,  ◄── durable
//!                                    others take their turns)
//!                                   apply ──► answer
//!                                   steps, for some milliseconds
//!                                   newest frame ──► streams
//!                                   snapshot, now and then ─────────────────────────────►   write, fsync, rename
//! ```
//!
//! A world is owned by whoever runs its turn ([`session`]); nobody else touches it. Requests wait in its inbox. The
//! [`scheduler`] gives the next turn to the token whose worlds had the least time so far, measured, and of these to the
//! world that had the least. A turn ends after a few milliseconds or one step, whichever is longer. With several workers
//! one of them takes only worlds whose turns were short when they were measured, so that any number of huge ones leaves a
//! way through, and turns that end something: a request to delete or pause a world, or a deadline, waits for no step of
//! another. A step is given up in the middle once its deadline has passed, its client has gone, or the world is to be
//! paused or deleted or the service to stop: what ends the request goes to the log, and the world is opened anew. On a GPU
//! that is between two batches of a long step. There is one worker there, which owns the device, and
//! small worlds that are next have their turn together: a step of each in one submission, with one wait, and by the same
//! dispatches where they run the same stages. A world is charged its own work and, of the time for which all wait, its part
//! by what the device's timestamps say.
//!
//! # What is durable when
//!
//! A change of state (commands, a number of steps, play, pause) is written to the world's log and synced before it is
//! applied, with the number of steps done before it. So it is on disk before anybody hears of it, and what could not
//! be written has not happened. Steps are not written, as a world comes to the same bits again, but that those that
//! were asked for are done is: what is asked next comes after them, whatever happens in between. A checkpoint holds the
//! snapshot of a world and begins a new log; two are kept with their logs, so that one damaged file loses nothing. A
//! world is restored from the newest checkpoint that is whole, and what its logs say. Bodies added by hand are not in
//! a snapshot: the checkpoint carries a journal of them ([`Journal`](drystone::low_level::Journal)).
//!
//! A log begins with a head that says how the log before ended, and which build writes it. What is missing or short is
//! noticed that way: the world is `failed` then and names the file ([`store`] says what cannot be noticed). Where a log of
//! another build has to be gone through, a warning says so (`other_build`); an orderly stop leaves nothing to go through.
//! A sync that fails leaves in doubt what is on the disk: requests get a 503, and the world is opened anew from what can
//! be read, which is written to a new file first.
//!
//! In a bucket of an object store records are objects of their own, and a world is with the service that opened it last
//! ([`store`]). A second service does not start while the first lives, unless it is to take over (`s3.take_over`). A service
//! that finds the bucket or one of its worlds with another ends, as what it answers may be old. While the bucket cannot be reached it is not always known whether a record is there: the world stands
//! still, requests get a 503, and it goes on from what the bucket has.
//!
//! Worlds on a GPU are strict ([`Settings::strict`](drystone::Settings::strict)), as replay may not depend on the size of
//! buffers. After a restart a world that was asked for steps goes on with them; one that plays goes on from the last
//! change or checkpoint, which may be some seconds back, and comes to the same again.
//!
//! # Steps back
//!
//! A world that is to go back by some steps is opened from the newest checkpoint before the wanted step, goes through its log
//! up to there, and is written as its newest checkpoint, as where it is restored; with the log of that it has gone back. Until
//! then the store has it as it was. The checkpoint says that it was reached by going back: the logs before it are still its
//! past, up to its step, so that it can go back further, as far as the two last checkpoints and their logs reach.
//!
//! # Owners and tokens
//!
//! A world belongs to the owner of the token that made it ([`config::Token`]): for other tokens it is not there, and keys of
//! theirs are others. A token with `admin` has all worlds; without tokens everybody has. Tokens are read again at SIGHUP.
//! Memory for requests and answers, streams and the rate of requests are shared out by token; connections that have not
//! shown one yield to those that come after them. The log has a line for each request, with its id and the token's name.
//!
//! # What is bounded
//!
//! Bodies, joints, contacts and the work of a step of each world, bodies of all worlds, and bodies of the worlds in memory
//! ([`config::Limits`]). A step with too many contacts is refused before they take memory; the world stands and says why. A
//! world that is idle is written out and leaves memory, at once if another needs it, and comes back to the same bits with
//! the next request. One that plays and that nobody watches pauses after a time, if its client or the operator says so. Should the process end in a step all the same, it has written down which world it was about to step;
//! one that ends it twice is failed at the next start, and the others go on.
//!
//! # Start
//!
//! The port is open before the worlds are read: `/health/live` answers, `/health/ready` says 503 until all worlds are open,
//! and requests for worlds get 503 until all of them are known, then as each is open. Of worlds that wait to be opened one
//! that is asked for comes first.
//!
//! # Asked again
//!
//! Whatever changes state takes an `Idempotency-Key`, and is done once for it: asked again it is answered as the first time.
//! The key of a creation is known as long as its world, others for a day at least, also over restarts and after a restore
//! (`session/keys.rs`). A world keeps the answers of `limits.keys` requests; beyond that new ones with a key are refused, and
//! none is forgotten before its time. The key with which a world was deleted is known for a day after it. A checkpoint with a
//! name that was cut off before its answer was durable is written once more, with the same name if that was given.
//!
//! # Names of things
//!
//! A world has an id that is never given out again. A body is `"slot.generation"`, as [`BodyId`](drystone::BodyId): it
//! never means a newcomer. Scenes' own names work as well.
//!
//! # Errors
//!
//! Problem details (RFC 9457) with the JSON path of what is wrong. 4xx: as it is, it will not work. 429 and 503: later,
//! `Retry-After` says when. 507: the store did not take it, and it has not happened. 503 of the type `store-away`: whether
//! it has happened is not known; asked again with the same idempotency key it is done once. That is so for a disk that
//! fails to sync, too.

#![allow(unused_qualifications, reason = "what utoipa makes of its attributes")]
#![allow(clippy::result_large_err, reason = "a problem is an answer, made once a request at most")]

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
mod turns;
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

/// Where the log is set up.
pub fn log_builder() -> tracing_subscriber::fmt::SubscriberBuilder {
    tracing_subscriber::fmt().with_target(false)
}

/// Reads the configuration anew, for its tokens.
pub type Reload = Box<dyn Fn() -> Result<Config, ServeError> + Send + Sync>;

/// For the hook of panics: a bug is logged, and does not end the service.
pub fn log_bug(message: &str, place: &str) {
    tracing::error!(message, place, "a bug in drystone {}; please report this line", env!("CARGO_PKG_VERSION"));
}

/// From the signal to the end of the process, at most.
const MOST_DRAIN: Duration = Duration::from_secs(25);

/// Between two times at which figures are added up.
const UPKEEP: Duration = Duration::from_secs(5);

/// Interval at which the list of worlds is looked at until it is whole.
const LISTED_TICK: Duration = Duration::from_millis(100);

/// Why the service could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration does not fit together.
    #[error("{0}")]
    Config(String),
    /// The store cannot be used.
    #[error("store {place}: {source}")]
    Store {
        /// Where.
        place: String,
        /// Why.
        source: std::io::Error,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Another service writes to the store.
    #[error("another service has taken the store over: {0}")]
    Taken(String),
    /// The operating system refused something.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Locks a mutex, also one whose last user panicked: a bug in one world does not end the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since 1970, by the clock of the system.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Serves until SIGTERM or Ctrl-C. `announce` is called with the address once it listens. SIGHUP takes the tokens of the
/// configuration that `reload` reads, if it is there.
///
/// # Errors
/// If it cannot start.
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
    let whole = scheduler.stop(MOST_DRAIN);
    tracing::info!(whole, seconds = stopping.elapsed().as_secs_f64(), "stopped");
    // Requests that still wait hear nothing any more.
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
    let state = api::State::new(config.clone(), scheduler.clone(), recorder, local);
    let stopping = state.stopping.clone();
    let stop = stopping.subscribe();
    if config.tokens.len() > 1 && config.tokens.iter().any(|token| token.name == config::ENVIRONMENT) {
        tracing::warn!("DRYSTONE_TOKEN is one more token beside those of the configuration");
    }
    if let Some(reload) = reload {
        tokio::spawn(change_tokens(state.clone(), reload));
    }
    tokio::spawn(warn_of_lost_worlds(state.clone()));
    let (app, full) = (api::router(state.clone()), api::router_when_full(state));
    // The port is open: whoever asks before all worlds are known is told to come again.
    scheduler.load()?;
    announce(local);
    tracing::info!(address = %local, store = %config.store, device = %scheduler.device().line(), "listening");
    let signalled = scheduler.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = wait_for_signal() => tracing::info!("asked to stop"),
            () = signalled.evicted.notified() => {}
        }
        signalled.draining.store(true, Ordering::SeqCst);
        signalled.drain();
        // Connections end after the answer they wait for, streams at once; long steps end early.
        let _ = stopping.send(true);
    });
    listen::serve(listener, app, full, &config.limits, stop).await;
    Ok(())
}

/// Histograms keep every value until somebody adds them up, and perhaps nobody asks for the metrics.
async fn keep_figures_small(recorder: metrics_exporter_prometheus::PrometheusHandle) {
    let mut tick = tokio::time::interval(UPKEEP);
    loop {
        tick.tick().await;
        recorder.run_upkeep();
    }
}

/// Warns of worlds that no token sees, once all worlds are known.
async fn warn_of_lost_worlds(state: api::State) {
    let mut tick = tokio::time::interval(LISTED_TICK);
    while !state.scheduler.is_listed() {
        tick.tick().await;
    }
    let lost = state.lost_worlds();
    if lost > 0 {
        tracing::warn!(worlds = lost, "worlds of owners that have no token; one with `admin = true` sees them");
    }
}

/// Takes the tokens of the configuration with each SIGHUP.
async fn change_tokens(state: api::State, reload: Reload) {
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
                    tracing::info!(?added, ?removed, ?changed, "tokens were read again");
                }
                Err(error) => tracing::error!(%error, "tokens were not read again; those from before stay"),
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
