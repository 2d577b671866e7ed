//! Connections: so many at a time, and none for long that says nothing, or takes nothing of what it is told.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Sleep;

use super::config::Limits;

/// When the system has no more room for connections, until it is asked again.
const PAUSE: Duration = Duration::from_millis(100);
/// Requests that are being answered when the service stops have so long.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Connections beyond the limit that are told so, at a time. Those beyond are closed.
const MOST_REFUSED: usize = 64;
/// For which one that is told so may take to ask.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// Largest head of a request, and least memory of a connection, bytes.
const MOST_HEAD: usize = 32 << 10;
/// Of what is on its way on a connection, bytes.
const BUFFER: usize = 64 << 10;

/// Asks the system for as many open files as it allows: every connection is one, and every log.
pub fn open_files(limits: &Limits) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let now = getrlimit(Resource::Nofile);
        let raised = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
        let most = if raised.is_ok() { now.maximum } else { now.current };
        // A log, a checkpoint that is written, and what else there is.
        let needed = u64::from(limits.connections) + 2 * limits.worlds as u64 + 64;
        if let Some(most) = most.filter(|most| *most < needed) {
            tracing::warn!(most, needed, "fewer files may be open than limits.connections and limits.worlds may need");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = limits;
}

/// Serves `app` until `stop` is true. Connections beyond the limit get `full` instead, which is to be quick.
pub async fn serve(listener: TcpListener, app: Router, full: Router, limits: &Limits, stop: watch::Receiver<bool>) {
    let patience = Duration::from_secs_f64(limits.idle_seconds);
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    let beyond = Arc::new(Semaphore::new(MOST_REFUSED));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(stop.clone()) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, say. Whoever waits goes on waiting.
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (place, app, patience) = if let Ok(place) = places.clone().try_acquire_owned() {
            (place, app.clone(), patience)
        } else {
            metrics::counter!("drystone_connections_refused_total").increment(1);
            let Ok(place) = beyond.clone().try_acquire_owned() else { continue };
            (place, full.clone(), patience.min(SHORT_PATIENCE))
        };
        // Answers are small, and somebody waits for each.
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(Counted::new(stream, patience, place), app, patience, stop.clone()));
    }
    drop(listener);
    // Once all places are free again.
    let _ = tokio::time::timeout(LAST_WORDS, places.acquire_many(limits.connections)).await;
}

/// Serves one until it ends. A client that breaks off is nobody's error.
async fn connection(stream: Counted, app: Router, patience: Duration, stop: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_header_size(MOST_HEAD).max_buf_size(BUFFER);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app)).with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stopped(stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // Without its sender the service has stopped as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A connection, which has its place as long as it is open, also when it has become a stream. It breaks when what is
/// written is not taken for a while.
struct Counted {
    stream: TcpStream,
    patience: Duration,
    /// Runs while nothing is taken.
    stuck: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Counted {
    fn new(stream: TcpStream, patience: Duration, place: OwnedSemaphorePermit) -> Self {
        metrics::gauge!("drystone_connections").increment(1.0);
        Self { stream, patience, stuck: None, _place: place }
    }

    /// What was tried, unless that waits for too long.
    fn patient<T>(
        &mut self,
        cx: &mut Context<'_>,
        attempt: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(outcome) = attempt(Pin::new(&mut self.stream), cx) {
            self.stuck = None;
            return Poll::Ready(outcome);
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stuck.as_mut().poll(cx).map(|()| {
            metrics::counter!("drystone_connections_stuck_total").increment(1);
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!("drystone_connections").decrement(1.0);
    }
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.patient(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.patient(cx, |stream, cx| stream.poll_write_vectored(cx, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
