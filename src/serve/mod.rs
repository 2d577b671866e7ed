//! The service: scenes in, worlds stepped, states out, nothing acknowledged lost. `drystone serve`.
//!
//! # Who does what
//!
//! ```text
//!  HTTP, WebSocket            workers: one with a GPU, else one a core      log threads       checkpoint thread
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
//! [`scheduler`] gives the next turn to the world that had the least time so far, measured, and a turn ends after a
//! few milliseconds or one step, whichever is longer. With several workers one of them takes only worlds whose turns
//! are short, so that any number of huge ones leaves a way through. On a GPU there is one worker, which owns the device, and
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
//! a snapshot: the checkpoint carries a journal of them ([`Journal`](crate::Journal)).
//!
//! In a bucket of an object store records are objects of their own, and a world is with the service that opened it last
//! ([`store`]). While the bucket cannot be reached it is not always known whether a record is there: the world stands
//! still, requests get a 503, and it goes on from what the bucket has.
//!
//! Worlds on a GPU are strict ([`Settings::strict`](crate::Settings::strict)), as replay may not depend on the size of
//! buffers. After a restart a world that was asked for steps goes on with them; one that plays goes on from the last
//! change or checkpoint, which may be some seconds back, and comes to the same again.
//!
//! # Names of things
//!
//! A world has an id that is never given out again. A body is `"slot.generation"`, as [`BodyId`](crate::BodyId): it
//! never means a newcomer. Scenes' own names work as well.
//!
//! # Errors
//!
//! Problem details (RFC 9457) with the JSON path of what is wrong. 4xx: as it is, it will not work. 429 and 503: later,
//! `Retry-After` says when. 507: the store did not take it, and it has not happened. 503 of the type `store-away`: whether
//! it has happened is not known; asked again with the same idempotency key it is done once.

pub mod answers;
pub mod api;
pub mod config;
pub mod device;
mod hosted;
mod listen;
pub mod op;
pub mod problem;
mod queue;
pub mod scheduler;
pub mod session;
pub mod store;
pub mod stream;
mod turns;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub use config::Config;
pub use device::Device;
pub use tracing::Level;

use scheduler::Scheduler;
use store::Store;

/// Where the log is set up.
pub fn log_builder() -> tracing_subscriber::fmt::SubscriberBuilder {
    tracing_subscriber::fmt().with_target(false)
}

/// For the hook of panics: a bug is logged, and does not end the service.
pub fn log_bug(message: &str, place: &str) {
    tracing::error!(message, place, "a bug in drystone {}; please report this line", env!("CARGO_PKG_VERSION"));
}

/// From the signal to the end of the process, at most.
const MOST_DRAIN: Duration = Duration::from_secs(25);

/// Between two times at which figures are added up.
const UPKEEP: Duration = Duration::from_secs(5);

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
    /// The operating system refused something.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Serves until SIGTERM or Ctrl-C. `announce` is called with the address once it listens.
///
/// # Errors
/// If it cannot start.
pub fn run(config: Config, device: Device, announce: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
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
    let store = Arc::new(
        Store::open(&config.store, &config.s3, config.limits.store_bytes)
            .map_err(|source| ServeError::Store { place: config.store.clone(), source })?,
    );
    let config = Arc::new(config);
    let scheduler = Scheduler::start(config.clone(), device, store)?;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let outcome = runtime.block_on(serve(&config, &scheduler, recorder, announce));
    let stopping = Instant::now();
    tracing::info!("writing checkpoints");
    let whole = scheduler.stop(MOST_DRAIN);
    tracing::info!(whole, seconds = stopping.elapsed().as_secs_f64(), "stopped");
    // Requests that still wait hear nothing any more.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve(
    config: &Arc<Config>,
    scheduler: &Arc<Scheduler>,
    recorder: metrics_exporter_prometheus::PrometheusHandle,
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
    let (app, full) = (api::router(state.clone()), api::router_when_full(state));
    announce(local);
    tracing::info!(address = %local, store = %config.store, device = %scheduler.device().line(), "listening");
    let signalled = scheduler.clone();
    tokio::spawn(async move {
        wait_for_signal().await;
        tracing::info!("asked to stop");
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
