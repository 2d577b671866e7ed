//! Handle of a world: its inbox, its status and its streams, as seen from outside of its session.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use utoipa::ToSchema;

use super::keys::differs;
use super::lock;
use super::request::{ReplySender, SessionRequest};
use crate::op::{Op, RequestKey};
use crate::problem::Problem;
use crate::stream::StreamFrame;
use drystone::CancelToken;

/// Constant properties of a world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorldFacts {
    /// Name from the client or the scene.
    pub name: String,
    /// Time of creation, seconds since 1970.
    pub created: u64,
    /// Key of the request that created the world.
    #[serde(default)]
    pub key: Option<RequestKey>,
    /// Owner of the token that created the world.
    #[serde(default)]
    pub owner: String,
    /// Upper bound of its bodies according to the scene. 0 in stores of older versions.
    #[serde(default)]
    pub bodies: usize,
}

/// Status of a world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Status {
    /// Id of the world.
    pub id: String,
    /// Name of the world.
    pub name: String,
    /// `starting`, `paused`, `stepping`, `playing` or `failed`.
    pub state: &'static str,
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Length of a step, s.
    pub dt: f32,
    /// Gravity, m/s².
    pub gravity: [f64; 2],
    /// Number of bodies.
    pub bodies: usize,
    /// Number of joints.
    pub joints: usize,
    /// Number of requested steps that are not done.
    pub steps_to_go: u64,
    /// Speed as a multiple of real time while it plays; omitted if as fast as possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Set if the world paused because no client watched it (`play` with `unwatched`): the seconds without a viewer,
    /// until it steps again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unwatched: Option<f64>,
    /// `cpu` or `gpu`.
    pub backend: &'static str,
    /// Time of creation, seconds since 1970.
    pub created: u64,
    /// Recent milliseconds per step.
    pub ms_per_step: f64,
    /// Number of bodies and joints added and removed at run time so far.
    pub alterations: usize,
    /// False while the world is on disk only: an idle world is moved there, and the next request brings it back.
    pub in_memory: bool,
    /// Owner of the token that created the world. Only visible to tokens with `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owner: Option<String>,
    /// Reason why the world failed or stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Reason to cancel a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The deadline of the request in progress has passed.
    Deadline,
    /// The client has disconnected, and sent no key to retry with.
    Gone,
    /// A request to pause the world waits.
    Pause,
    /// A request to delete the world waits.
    Delete,
    /// The service is stopping.
    Draining,
}

/// Step in progress, as seen by the thread that watches time slices.
#[derive(Debug)]
pub(super) struct Stepping {
    /// Request in progress, returned to the session after the step.
    pub request: Option<u64>,
    pub reply: Option<ReplySender>,
    pub deadline: Option<Instant>,
    pub has_key: bool,
    /// True during a replay of the log: its steps are repeated regardless of waiting clients.
    pub is_replay: bool,
    /// Reason to cancel the step, and since when it exists.
    pub seen: Option<(GiveUp, Instant)>,
    /// Reason why the step was cancelled.
    pub given_up: Option<GiveUp>,
}

/// Time for which there must be a reason before a step is cancelled. If the step ends by itself within it, that
/// costs less than opening the world again.
const GRACE: Duration = Duration::from_millis(30);
/// Time that a stopping service gives a step before it is cancelled. A world whose step is cancelled loses the steps
/// that it has played since its last record in the log, and clients have time to leave meanwhile anyway.
const DRAIN_GRACE: Duration = Duration::from_secs(2);

/// Shared handle of a world.
#[derive(Debug)]
pub struct Handle {
    /// Id of the world.
    pub id: String,
    /// Constant properties.
    pub facts: WorldFacts,
    pub(super) inbox: Mutex<VecDeque<SessionRequest>>,
    /// True once the world was deleted.
    pub(super) closed: watch::Sender<bool>,
    pub(super) status: Mutex<Status>,
    /// Newest frame.
    pub frames: watch::Sender<Option<Arc<StreamFrame>>>,
    /// Streams, by number, with the shortest frame interval that each wants, µs.
    wanted: Mutex<HashMap<u64, u64>>,
    /// True if a command may have changed the content of a frame without a step.
    pub fresh: AtomicBool,
    /// True if a new stream waits for its first frame, even if nothing has changed.
    pub(super) joined: AtomicBool,
    next_stream: AtomicU64,
    /// Cancels a step.
    pub(super) token: CancelToken,
    pub(super) stepping: Mutex<Option<Stepping>>,
    /// Set while the world is in memory, has nothing to do, and is not watched.
    pub(super) is_idle: AtomicBool,
    /// Set if the idle world's memory is needed: it is written to disk immediately.
    pub(super) is_pressed: AtomicBool,
    /// Time of the last request, milliseconds since the service began.
    pub(super) used: AtomicU64,
    /// Keys of requests in progress outside of the session.
    claims: Mutex<HashMap<String, u64>>,
}

/// Key of a request in progress outside of the session, until dropped.
#[derive(Debug)]
pub struct KeyClaim(Arc<Handle>, String);

impl Drop for KeyClaim {
    fn drop(&mut self) {
        lock(&self.0.claims).remove(&self.1);
    }
}

impl Handle {
    pub(super) fn new(id: &str, facts: WorldFacts) -> Self {
        let status = Status {
            id: id.to_owned(),
            name: facts.name.clone(),
            state: "starting",
            created: facts.created,
            ..Status::default()
        };
        Self {
            id: id.to_owned(),
            facts,
            inbox: Mutex::default(),
            closed: watch::Sender::new(false),
            status: Mutex::new(status),
            frames: watch::Sender::new(None),
            wanted: Mutex::default(),
            fresh: AtomicBool::new(false),
            joined: AtomicBool::new(false),
            next_stream: AtomicU64::new(0),
            token: CancelToken::default(),
            stepping: Mutex::default(),
            is_idle: AtomicBool::new(false),
            is_pressed: AtomicBool::new(false),
            used: AtomicU64::new(now_ms()),
            claims: Mutex::default(),
        }
    }

    /// Cancels the step in progress if its result is no longer wanted.
    pub fn give_up_if_unwanted(&self, now: Instant, draining: bool) {
        let mut stepping = lock(&self.stepping);
        let Some(step) = stepping.as_mut().filter(|step| step.given_up.is_none()) else { return };
        let reason = self.reason(step, now, draining);
        step.seen = match (reason, step.seen) {
            (None, _) => None,
            (Some(reason), Some((_, since))) => Some((reason, since)),
            (Some(reason), None) => Some((reason, now)),
        };
        if let Some((reason, since)) = step.seen
            && now.saturating_duration_since(since) >= if draining { DRAIN_GRACE } else { GRACE }
        {
            step.given_up = Some(reason);
            self.token.cancel();
            metrics::counter!("drystone_steps_given_up_total").increment(1);
        }
    }

    fn reason(&self, step: &Stepping, now: Instant, draining: bool) -> Option<GiveUp> {
        if draining {
            return Some(GiveUp::Draining);
        }
        let mut pause = false;
        for request in lock(&self.inbox).iter() {
            match request {
                SessionRequest::Delete(..) => return Some(GiveUp::Delete),
                SessionRequest::Write { op: Op::Pause, .. } => pause = true,
                _ => {}
            }
        }
        if step.is_replay {
            return None;
        }
        if pause {
            return Some(GiveUp::Pause);
        }
        if step.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(GiveUp::Deadline);
        }
        let gone = !step.has_key && step.reply.as_ref().is_some_and(oneshot::Sender::is_closed);
        gone.then_some(GiveUp::Gone)
    }

    /// Returns true if a request to delete the world waits, with a key that is free.
    pub(super) fn has_delete(&self) -> bool {
        lock(&self.inbox).iter().any(|request| match request {
            SessionRequest::Delete(tombstone, _) => {
                tombstone.as_ref().is_none_or(|tombstone| self.check_claim(&tombstone.key).is_ok())
            }
            _ => false,
        })
    }

    /// Returns true if the first waiting request can be answered or logged without delay in any state of the world.
    pub(super) fn has_short_request(&self) -> bool {
        lock(&self.inbox).front().is_some_and(SessionRequest::is_short)
    }

    /// Takes the request to delete the world out of the inbox, ahead of earlier requests.
    pub(super) fn take_delete(&self) -> Option<SessionRequest> {
        let mut inbox = lock(&self.inbox);
        let place = inbox.iter().position(|request| matches!(request, SessionRequest::Delete(..)))?;
        inbox.remove(place)
    }

    /// Refuses waiting requests for steps whose deadline has passed. Returns the next deadline.
    pub(super) fn refuse_overdue(&self, now: Instant, problem: &Problem) -> Option<Instant> {
        let (mut refused, mut soonest) = (Vec::new(), None);
        lock(&self.inbox).retain_mut(|request| {
            let SessionRequest::Write { deadline: Some(deadline), reply, .. } = request else { return true };
            if *deadline > now {
                soonest = Some(soonest.map_or(*deadline, |soonest: Instant| soonest.min(*deadline)));
                return true;
            }
            // A sender can only be moved out of a reference if another value takes its place.
            refused.push(std::mem::replace(reply, oneshot::channel().0));
            false
        });
        for reply in refused {
            let _ = reply.send(Err(problem.clone()));
        }
        soonest
    }

    /// Returns the last use and the number of bodies of an idle world that could be written to disk.
    #[must_use]
    pub fn idle_since(&self) -> Option<(u64, usize)> {
        let idle = self.is_idle.load(Ordering::SeqCst) && !self.is_pressed.load(Ordering::SeqCst);
        idle.then(|| (self.used.load(Ordering::SeqCst), lock(&self.status).bodies.max(self.facts.bodies)))
    }

    /// Has the idle world written to disk in its next time slice.
    pub fn press(&self) {
        self.is_pressed.store(true, Ordering::SeqCst);
    }

    /// Claims a key for a request that is executed outside of the session.
    ///
    /// # Errors
    /// The key is already claimed.
    pub fn claim(self: &Arc<Self>, key: &RequestKey) -> Result<KeyClaim, Problem> {
        let mut claims = lock(&self.claims);
        check_claims(&claims, key)?;
        claims.insert(key.name.clone(), key.hash);
        drop(claims);
        Ok(KeyClaim(self.clone(), key.name.clone()))
    }

    /// Checks that a key is free.
    ///
    /// # Errors
    /// The key is claimed.
    pub(super) fn check_claim(&self, key: &RequestKey) -> Result<(), Problem> {
        check_claims(&lock(&self.claims), key)
    }

    /// Refuses requests to delete the world with a claimed key.
    pub(super) fn refuse_claimed_deletes(&self) {
        let mut refused = Vec::new();
        lock(&self.inbox).retain_mut(|request| {
            let SessionRequest::Delete(Some(tombstone), reply) = request else { return true };
            let Err(problem) = self.check_claim(&tombstone.key) else { return true };
            // A sender can only be moved out of a reference if another value takes its place.
            refused.push((std::mem::replace(reply, oneshot::channel().0), problem));
            false
        });
        for (reply, problem) in refused {
            let _ = reply.send(Err(problem));
        }
    }

    /// Puts a request into the inbox.
    ///
    /// # Errors
    /// The inbox is full, or the world is deleted.
    pub fn put(&self, request: SessionRequest, most: usize) -> Result<(), Problem> {
        let mut inbox = lock(&self.inbox);
        if self.is_gone() {
            return Err(Problem::no_world(&self.id));
        }
        if inbox.len() >= most {
            metrics::counter!("drystone_inbox_full_total").increment(1);
            return Err(Problem::too_many(format!("{most} requests already wait for this world"), 1));
        }
        inbox.push_back(request);
        self.touch();
        Ok(())
    }

    /// Notes a use of the world.
    pub fn touch(&self) {
        self.used.store(now_ms(), Ordering::SeqCst);
    }

    /// Returns true if a stream shows the world, or a request or the end of a stream came within the last `seconds`.
    pub(super) fn is_watched_within(&self, seconds: f64) -> bool {
        let since = now_ms().saturating_sub(self.used.load(Ordering::SeqCst));
        (since as f64) < 1e3 * seconds || !lock(&self.wanted).is_empty()
    }

    /// Returns true if the world was deleted.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        *self.closed.borrow()
    }

    /// Waits until the world is deleted.
    pub async fn gone(&self) {
        // Cannot fail: the sender lives as long as this handle.
        let _ = self.closed.subscribe().wait_for(|gone| *gone).await;
    }

    /// Returns true if requests wait.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        !lock(&self.inbox).is_empty()
    }

    /// Returns the current status.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Returns the state and the number of bodies, as in the status.
    #[must_use]
    pub fn state_and_bodies(&self) -> (&'static str, usize) {
        let status = lock(&self.status);
        (status.state, status.bodies)
    }

    /// Registers a stream with its frame interval. Returns its number for [`Self::leave`].
    pub fn join(&self, interval: Duration) -> u64 {
        let number = self.next_stream.fetch_add(1, Ordering::SeqCst);
        let interval = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        lock(&self.wanted).insert(number, interval);
        self.joined.store(true, Ordering::SeqCst);
        number
    }

    /// Removes a stream.
    pub fn leave(&self, number: u64) {
        // Before the removal, so that the world counts as watched without a gap.
        self.touch();
        lock(&self.wanted).remove(&number);
    }

    pub(super) fn interval(&self) -> Option<Duration> {
        lock(&self.wanted).values().min().map(|&micros| Duration::from_micros(micros))
    }
}

/// Returns milliseconds since the service began.
fn now_ms() -> u64 {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let since = BEGAN.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX)
}

fn check_claims(claims: &HashMap<String, u64>, key: &RequestKey) -> Result<(), Problem> {
    match claims.get(&key.name) {
        None => Ok(()),
        Some(hash) if *hash == key.hash => Err(Problem::busy()),
        Some(_) => Err(differs()),
    }
}
