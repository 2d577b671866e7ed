//! Connections: limits on their number, and timeouts for clients that send nothing or do not read their answers.
//!
//! A connection is a stranger until a request on it has shown a token. Strangers have a smaller number of slots and
//! a few seconds; when their slots are taken, a new connection replaces the oldest. So a client with a token always
//! finds a slot, however many strangers there are.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, Sleep};

use super::config::Limits;

/// Pause after a failed `accept`, for example when no more files may be open.
const PAUSE: Duration = Duration::from_millis(100);
/// Time for requests in progress to be answered when the service stops.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Number of connections beyond the limit that get a 503. Further ones are closed.
const MAX_REFUSED: usize = 64;
/// Read deadline for a connection that is rejected with 503.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// Interval of the check whether the client of a request in progress is still connected.
const TICK: Duration = Duration::from_millis(100);
/// Largest head of a request, and minimum memory of a connection, bytes.
const MAX_HEAD: usize = 32 << 10;
/// Buffer of a connection, bytes.
const BUFFER: usize = 64 << 10;

/// Divisor of the slots of strangers: an address with a larger share of them loses its oldest first.
const CROWD: usize = 8;

/// Returns the network of a client: the IPv4 address, or the upper 64 bits of an IPv6 address.
#[must_use]
pub fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into()),
        ip @ IpAddr::V4(_) => ip,
    }
}

/// Raises the limit of open files to the system's maximum: each connection and each log is one.
pub fn open_files(limits: &Limits) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let now = getrlimit(Resource::Nofile);
        let raised = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
        let most = if raised.is_ok() { now.maximum } else { now.current };
        // A log, a checkpoint that is being written, and a reserve.
        let needed = u64::from(limits.connections) + 2 * limits.worlds as u64 + 64;
        if let Some(most) = most.filter(|most| *most < needed) {
            tracing::warn!(
                most,
                needed,
                "the limit of open files is below what limits.connections and limits.worlds may need"
            );
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = limits;
}

/// Connection, as requests on it find it among their extensions.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// Address of the client, or of the proxy before it.
    pub peer: SocketAddr,
    number: u64,
    /// Registry of the connection. None beyond the limit.
    lines: Option<Arc<Lines>>,
    /// Number of requests in progress.
    busy: AtomicUsize,
    is_known: AtomicBool,
    is_stream: AtomicBool,
    /// Signals that the slot has been given to another connection.
    evicted: Notify,
}

impl ConnectionInfo {
    /// Marks the connection as known after a request with a valid token. Returns false, and the connection stays a
    /// stranger, if there are `several` tokens and this one has half of all connections.
    pub fn know(&self, token: &str, several: bool) -> bool {
        if self.is_known.load(Ordering::Relaxed) {
            return true;
        }
        if let Some(lines) = &self.lines {
            let mut table = lines.lock();
            let count = table.known.values().filter(|name| *name == token).count();
            if several && count >= lines.max.div_ceil(2) {
                return false;
            }
            // An evicted connection has no slot to count.
            if table.places.contains_key(&self.number) {
                table.known.insert(self.number, token.to_owned());
            }
            table.strangers.remove(&self.number);
        }
        self.is_known.store(true, Ordering::Relaxed);
        true
    }

    /// Marks the connection as a stream, which may be slower than an answer.
    pub fn become_stream(&self) {
        self.is_stream.store(true, Ordering::Relaxed);
    }
}

/// Request in progress, counted until dropped.
struct Busy(Arc<ConnectionInfo>);

impl Busy {
    fn new(line: &Arc<ConnectionInfo>) -> Self {
        line.busy.fetch_add(1, Ordering::Relaxed);
        Self(line.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Registry of the open connections.
#[derive(Debug)]
struct Lines {
    max: usize,
    max_strangers: usize,
    state: Mutex<LineTable>,
    /// Number of open connections.
    open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct LineTable {
    next: u64,
    /// Connections with a slot. An evicted one has none, though it may still be closing.
    places: HashMap<u64, Arc<ConnectionInfo>>,
    /// Connections that have not shown a token, by number: the oldest first.
    strangers: BTreeMap<u64, IpAddr>,
    /// Token names of the other connections.
    known: HashMap<u64, String>,
}

impl LineTable {
    /// Frees the slot of the oldest stranger, or, if an address has more than `crowd` of them, the oldest of the
    /// address with the most. Returns false if there is no stranger.
    fn evict(&mut self, crowd: usize) -> bool {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for ip in self.strangers.values() {
            *counts.entry(*ip).or_default() += 1;
        }
        let most = counts.values().max().copied().filter(|most| *most > crowd);
        let oldest = self.strangers.iter().find(|(_, ip)| most.is_none() || counts.get(ip).copied() == most);
        let Some(number) = oldest.map(|(number, _)| *number) else { return false };
        self.strangers.remove(&number);
        if let Some(line) = self.places.remove(&number) {
            line.evicted.notify_one();
        }
        metrics::counter!("drystone_strangers_evicted_total").increment(1);
        true
    }
}

impl Lines {
    fn new(limits: &Limits) -> Arc<Self> {
        let max = limits.connections as usize;
        let max_strangers = (limits.strangers as usize).min(max / 2).max(1);
        Arc::new(Self { max, max_strangers, state: Mutex::default(), open: watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, LineTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns a slot to a new connection, perhaps that of a stranger. None if all slots belong to clients with a
    /// token.
    fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<Arc<ConnectionInfo>> {
        let mut table = self.lock();
        if table.strangers.len() >= self.max_strangers {
            table.evict(self.max_strangers / CROWD);
        }
        if table.places.len() >= self.max && !table.evict(self.max_strangers / CROWD) {
            return None;
        }
        let number = table.next;
        table.next += 1;
        let line = Arc::new(ConnectionInfo { number, lines: Some(self.clone()), ..ConnectionInfo::beyond(peer) });
        table.places.insert(number, line.clone());
        table.strangers.insert(number, network(peer.ip()));
        drop(table);
        self.open.send_modify(|open| *open += 1);
        Some(line)
    }

    fn leave(&self, number: u64) {
        let mut table = self.lock();
        table.places.remove(&number);
        table.strangers.remove(&number);
        table.known.remove(&number);
        drop(table);
        self.open.send_modify(|open| *open -= 1);
    }
}

impl ConnectionInfo {
    /// Returns a connection without a slot.
    fn beyond(peer: SocketAddr) -> Self {
        Self {
            peer,
            number: 0,
            lines: None,
            busy: AtomicUsize::new(0),
            is_known: AtomicBool::new(false),
            is_stream: AtomicBool::new(false),
            evicted: Notify::new(),
        }
    }
}

/// Serves `app` until `stop` is true. Connections beyond the limit get `full` instead, which must answer quickly.
pub async fn serve(listener: TcpListener, app: Router, full: Router, limits: &Limits, stop: watch::Receiver<bool>) {
    let pace = ConnectionTimes {
        patience: Duration::from_secs_f64(limits.idle_seconds),
        stranger: Duration::from_secs_f64(limits.stranger_seconds),
        min_speed: limits.min_speed as f64,
    };
    let lines = Lines::new(limits);
    let beyond = Arc::new(Semaphore::new(MAX_REFUSED));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(stop.clone()) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // For example too many open files. Connections in the backlog keep waiting.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (line, permit, app, pace) = if let Some(line) = lines.admit(peer) {
            (line, None, app.clone(), pace)
        } else {
            metrics::counter!("drystone_connections_refused_total").increment(1);
            let Ok(permit) = beyond.clone().try_acquire_owned() else { continue };
            let patience = pace.patience.min(SHORT_PATIENCE);
            (Arc::new(ConnectionInfo::beyond(peer)), Some(permit), full.clone(), ConnectionTimes { patience, ..pace })
        };
        // Answers are small, and a client waits for each.
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(Counted::new(stream, pace, line, permit), app, stop.clone()));
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_WORDS, lines.open.subscribe().wait_for(|open| *open == 0)).await;
}

/// Timeouts of a connection.
#[derive(Clone, Copy, Debug)]
struct ConnectionTimes {
    /// Timeout for the head of a request, and for an answer of which nothing is read.
    patience: Duration,
    /// Timeout for the first request with a token.
    stranger: Duration,
    /// Minimum speed at which an answer is read, bytes per second.
    min_speed: f64,
}

/// Serves one connection until it ends. A client that disconnects is no error.
async fn connection(stream: Counted, app: Router, stop: watch::Receiver<bool>) {
    let (line, pace) = (stream.line.clone(), stream.pace);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(pace.patience).max_header_size(MAX_HEAD).max_buf_size(BUFFER);
    let (app, own) = (TowerToHyperService::new(app), line.clone());
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(own.clone());
        let (busy, answer) = (Busy::new(&own), app.call(request));
        async move {
            let answer = answer.await;
            drop(busy);
            answer
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = pin!(connection);
    let mut late = pin!(tokio::time::sleep(pace.stranger));
    let (mut is_late, mut is_timely) = (false, false);
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = line.evicted.notified() => return,
            () = late.as_mut(), if !is_timely => {
                // The connection may have become known since.
                if line.is_known.load(Ordering::Relaxed) {
                    is_timely = true;
                    continue;
                }
                if is_late || line.busy.load(Ordering::Relaxed) == 0 {
                    metrics::counter!("drystone_strangers_late_total").increment(1);
                    return;
                }
                // A request, for example for the page, may be in progress: it may finish.
                is_late = true;
                connection.as_mut().graceful_shutdown();
                late.as_mut().reset(Instant::now() + pace.patience);
            }
            () = stopped(stop.clone()) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
                return;
            }
        }
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // A dropped sender means that the service has stopped, too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Byte stream of a connection. It keeps the connection's slot while it is open, also as a WebSocket stream. It
/// fails when written data is not read, or is read too slowly, and when the client disconnects during a request.
struct Counted {
    stream: TcpStream,
    pace: ConnectionTimes,
    line: Arc<ConnectionInfo>,
    /// Time for which writing may wait before the connection fails. Bytes that the client reads earn it, up to
    /// `pace.patience`.
    credit: Duration,
    /// Time of the last update of `credit`.
    reckoned: Instant,
    /// Timer that runs while the client reads nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Timer of the checks while a request is in progress.
    tick: Option<Pin<Box<Sleep>>>,
    /// True if the client had closed its side at the last check.
    was_closed: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Counted {
    fn new(
        stream: TcpStream,
        pace: ConnectionTimes,
        line: Arc<ConnectionInfo>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        metrics::gauge!("drystone_connections").increment(1.0);
        let (credit, reckoned) = (pace.patience, Instant::now());
        Self { stream, pace, line, credit, reckoned, stuck: None, tick: None, was_closed: false, _permit: permit }
    }

    /// Updates `credit`: time spent stuck is subtracted, other time is added.
    fn reckon(&mut self, was_stuck: bool) {
        let now = Instant::now();
        let passed = now.duration_since(std::mem::replace(&mut self.reckoned, now));
        self.credit = if was_stuck { self.credit.saturating_sub(passed) } else { self.credit.saturating_add(passed) };
        self.credit = self.credit.min(self.pace.patience);
    }

    /// Attempts to write, and fails after waiting for too long.
    fn patient(
        &mut self,
        cx: &mut Context<'_>,
        attempt: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = attempt(Pin::new(&mut self.stream), cx) {
            let was_stuck = self.stuck.take().is_some();
            self.reckon(was_stuck);
            if let Ok(bytes @ 1..) = outcome {
                let earned = if self.line.is_stream.load(Ordering::Relaxed) {
                    self.pace.patience
                } else {
                    Duration::from_secs_f64(bytes as f64 / self.pace.min_speed)
                };
                self.credit = self.credit.saturating_add(earned).min(self.pace.patience);
            }
            return Poll::Ready(outcome);
        }
        if self.stuck.is_none() {
            self.reckon(false);
        }
        let credit = self.credit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(credit)));
        stuck.as_mut().poll(cx).map(|()| {
            metrics::counter!("drystone_connections_stuck_total").increment(1);
            Err(io::ErrorKind::TimedOut.into())
        })
    }

    /// Returns true if the client has disconnected while a request is in progress. hyper notices that only where it
    /// may read, not behind the bytes of a following request.
    fn has_gone(&mut self, cx: &mut Context<'_>) -> bool {
        if self.line.busy.load(Ordering::Relaxed) == 0 || self.line.is_stream.load(Ordering::Relaxed) {
            return false;
        }
        let tick = self.tick.get_or_insert_with(|| Box::pin(tokio::time::sleep(TICK)));
        while tick.as_mut().poll(cx).is_ready() {
            let ready = self.stream.ready(Interest::READABLE).now_or_never();
            let is_closed = ready.is_some_and(|ready| ready.map_or(true, Ready::is_read_closed));
            // Two checks in a row, so that quick requests just before the end are answered.
            if is_closed && self.was_closed {
                return true;
            }
            self.was_closed = is_closed;
            tick.as_mut().reset(Instant::now() + TICK);
        }
        false
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(lines) = &self.line.lines {
            lines.leave(self.line.number);
        }
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
        if self.has_gone(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_of_several_has_half_of_the_connections() {
        let lines = Lines::new(&Limits { connections: 4, ..Limits::default() });
        let peer = |port: u16| SocketAddr::from(([10, 0, 0, 1], port));
        // One after the other: strangers have two slots here.
        let first = lines.admit(peer(1)).unwrap();
        assert!(first.know("a", true) && first.know("a", true));
        let second = lines.admit(peer(2)).unwrap();
        assert!(second.know("a", true));
        let third = lines.admit(peer(3)).unwrap();
        assert!(!third.know("a", true), "it stays a stranger");
        assert!(third.know("b", true));
        let fourth = lines.admit(peer(4)).unwrap();
        assert!(!fourth.know("a", true) && fourth.know("a", false));
        lines.leave(first.number);
        lines.leave(second.number);
        assert_eq!(lines.lock().known.len(), 2);
        assert!(lines.admit(peer(5)).unwrap().know("a", true));
    }

    #[test]
    fn networks_of_addresses() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!((of("::ffff:10.0.0.1").as_str(), of("10.0.0.1").as_str()), ("10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn the_oldest_stranger_of_the_largest_crowd_goes() {
        let limits = Limits { connections: 6, strangers: 100, ..Limits::default() };
        let lines = Lines::new(&limits);
        let peer = |host: u8, port: u16| SocketAddr::from(([10, 0, 0, host], port));
        let first = lines.admit(peer(1, 1)).unwrap();
        let crowd: Vec<_> = (0..2).map(|port| lines.admit(peer(2, port)).unwrap()).collect();
        assert_eq!(lines.lock().strangers.len(), 3);
        let newcomer = lines.admit(peer(3, 1)).unwrap();
        let left: Vec<u64> = lines.lock().strangers.keys().copied().collect();
        assert_eq!(left, [first.number, crowd[1].number, newcomer.number], "not the oldest of all");
        assert!(crowd[0].evicted.notified().now_or_never().is_some());
        // Known connections keep their slots; strangers give theirs up.
        for line in [&first, &crowd[1], &newcomer] {
            assert!(line.know("a", false));
        }
        let more: Vec<_> = (0..3).map(|port| lines.admit(peer(4, port)).unwrap()).collect();
        for line in &more {
            assert!(line.know("a", false));
        }
        assert!(lines.admit(peer(5, 1)).is_none(), "full");
        lines.leave(first.number);
        let stranger = lines.admit(peer(5, 1)).unwrap();
        assert!(lines.admit(peer(6, 1)).is_some());
        assert!(stranger.evicted.notified().now_or_never().is_some());
    }
}
