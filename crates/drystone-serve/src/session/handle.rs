//! What others know of a world, and how they ask it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use utoipa::ToSchema;

use super::keys::differs;
use super::lock;
use super::request::{Reply, Request};
use crate::op::{Key, Op};
use crate::problem::Problem;
use crate::stream::Frame;
use drystone::CancelToken;

/// What never changes of a world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// As the client or the scene calls it.
    pub name: String,
    /// Seconds since 1970.
    pub created: u64,
    /// The key of the request that made it.
    #[serde(default)]
    pub key: Option<Key>,
    /// Owner of the token with which it was made.
    #[serde(default)]
    pub owner: String,
    /// Bodies that its scene may come to. 0 in stores of older versions.
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
    /// Seconds a step.
    pub dt: f32,
    /// Gravity, m/s².
    pub gravity: [f64; 2],
    /// Bodies in it.
    pub bodies: usize,
    /// Joints in it.
    pub joints: usize,
    /// Steps that were asked for and are not done.
    pub steps_to_go: u64,
    /// Multiple of real time while it plays; left out if as fast as it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// Seconds for which nobody had watched the world when it paused by itself (`play` with `unwatched`), until it steps
    /// again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unwatched: Option<f64>,
    /// `cpu` or `gpu`.
    pub backend: &'static str,
    /// Seconds since 1970.
    pub created: u64,
    /// Milliseconds that a step took lately.
    pub ms_per_step: f64,
    /// Bodies and joints added and removed by hand so far.
    pub alterations: usize,
    /// False while the world is on disk only: one that is idle is put there, and comes back with the next request.
    pub in_memory: bool,
    /// Owner of the token that made it. Told to tokens with `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owner: Option<String>,
    /// Problem that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Reason to give up a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The deadline of the request in front has passed.
    Deadline,
    /// The client has gone, and cannot ask again.
    Gone,
    /// A request to pause the world waits.
    Pause,
    /// A request to delete the world waits.
    Delete,
    /// The service is stopping.
    Draining,
}

/// A step in progress, for the thread that watches turns.
#[derive(Debug)]
pub(super) struct Stepping {
    /// The request in front, which is given back after the step.
    pub request: Option<u64>,
    pub reply: Option<Reply>,
    pub deadline: Option<Instant>,
    pub has_key: bool,
    /// The log is gone through: what was done before is done again, whoever waits.
    pub is_replay: bool,
    /// Since when there is a reason to give it up.
    pub seen: Option<(GiveUp, Instant)>,
    /// Why it was given up.
    pub given_up: Option<GiveUp>,
}

/// Time for which there is a reason to give up a step before that is done: a step that ends by itself meanwhile costs less
/// than to open the world anew.
const GRACE: Duration = Duration::from_millis(30);

/// What others hold of a world.
#[derive(Debug)]
pub struct Handle {
    /// Its id.
    pub id: String,
    /// What never changes.
    pub facts: Facts,
    pub(super) inbox: Mutex<VecDeque<Request>>,
    /// Whether the world was deleted.
    pub(super) closed: watch::Sender<bool>,
    pub(super) status: Mutex<Status>,
    /// The newest frame.
    pub frames: watch::Sender<Option<Arc<Frame>>>,
    /// Streams, and the shortest time between two frames that one of them wants, in microseconds.
    wanted: Mutex<HashMap<u64, u64>>,
    /// A command may have changed what a frame shows, without a step.
    pub fresh: AtomicBool,
    /// A stream has begun: it waits for a frame, also if nothing has changed.
    pub(super) joined: AtomicBool,
    next_stream: AtomicU64,
    /// Ends a step early.
    pub(super) token: CancelToken,
    pub(super) stepping: Mutex<Option<Stepping>>,
    /// Set while the world is in memory, has nothing to do, and is not watched.
    pub(super) is_idle: AtomicBool,
    /// Its memory is needed: an idle world is to be put to disk at once.
    pub(super) is_pressed: AtomicBool,
    /// Time of the last request, in milliseconds since the service began.
    pub(super) used: AtomicU64,
    /// Keys of requests that are being done outside of the session.
    claims: Mutex<HashMap<String, u64>>,
}

/// Key of a request that is being done outside of the session, until dropped.
#[derive(Debug)]
pub struct Claim(Arc<Handle>, String);

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&self.0.claims).remove(&self.1);
    }
}

impl Handle {
    pub(super) fn new(id: &str, facts: Facts) -> Self {
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

    /// Gives up the step in progress if nobody wants its result any more.
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
            && now.saturating_duration_since(since) >= GRACE
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
                Request::Delete(..) => return Some(GiveUp::Delete),
                Request::Write { op: Op::Pause, .. } => pause = true,
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

    /// True if a request to delete the world waits, with a key that is free.
    pub(super) fn has_delete(&self) -> bool {
        lock(&self.inbox).iter().any(|request| match request {
            Request::Delete(tombstone, _) => {
                tombstone.as_ref().is_none_or(|tombstone| self.check_claim(&tombstone.key).is_ok())
            }
            _ => false,
        })
    }

    /// True if the first request that waits is answered, or goes to the log, at once whatever the world is like.
    pub(super) fn has_short_request(&self) -> bool {
        lock(&self.inbox).front().is_some_and(Request::is_short)
    }

    /// Takes the request to delete the world out of the inbox, whatever came before it.
    pub(super) fn take_delete(&self) -> Option<Request> {
        let mut inbox = lock(&self.inbox);
        let place = inbox.iter().position(|request| matches!(request, Request::Delete(..)))?;
        inbox.remove(place)
    }

    /// Refuses requests for steps that wait in the inbox and whose deadline has passed. Returns the next deadline.
    pub(super) fn refuse_overdue(&self, now: Instant, problem: &Problem) -> Option<Instant> {
        let (mut refused, mut soonest) = (Vec::new(), None);
        lock(&self.inbox).retain_mut(|request| {
            let Request::Write { deadline: Some(deadline), reply, .. } = request else { return true };
            if *deadline > now {
                soonest = Some(soonest.map_or(*deadline, |soonest: Instant| soonest.min(*deadline)));
                return true;
            }
            // A sender can only be taken out of a place that is left behind.
            refused.push(std::mem::replace(reply, oneshot::channel().0));
            false
        });
        for reply in refused {
            let _ = reply.send(Err(problem.clone()));
        }
        soonest
    }

    /// Bodies of an idle world that could be put to disk, and when it was last asked.
    #[must_use]
    pub fn idle_since(&self) -> Option<(u64, usize)> {
        let idle = self.is_idle.load(Ordering::SeqCst) && !self.is_pressed.load(Ordering::SeqCst);
        idle.then(|| (self.used.load(Ordering::SeqCst), lock(&self.status).bodies.max(self.facts.bodies)))
    }

    /// Has an idle world be put to disk in its next turn.
    pub fn press(&self) {
        self.is_pressed.store(true, Ordering::SeqCst);
    }

    /// Claims a key for a request that is done outside of the session.
    ///
    /// # Errors
    /// The key is claimed already.
    pub fn claim(self: &Arc<Self>, key: &Key) -> Result<Claim, Problem> {
        let mut claims = lock(&self.claims);
        check_claims(&claims, key)?;
        claims.insert(key.name.clone(), key.hash);
        drop(claims);
        Ok(Claim(self.clone(), key.name.clone()))
    }

    /// Checks that a key is free.
    ///
    /// # Errors
    /// The key is claimed.
    pub(super) fn check_claim(&self, key: &Key) -> Result<(), Problem> {
        check_claims(&lock(&self.claims), key)
    }

    /// Refuses requests to delete the world with a key that is claimed.
    pub(super) fn refuse_claimed_deletes(&self) {
        let mut refused = Vec::new();
        lock(&self.inbox).retain_mut(|request| {
            let Request::Delete(Some(tombstone), reply) = request else { return true };
            let Err(problem) = self.check_claim(&tombstone.key) else { return true };
            // A sender can only be taken out of a place that is left behind.
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
    /// If it is full, or the world is gone.
    pub fn put(&self, request: Request, most: usize) -> Result<(), Problem> {
        let mut inbox = lock(&self.inbox);
        if self.is_gone() {
            return Err(Problem::no_world(&self.id));
        }
        if inbox.len() >= most {
            metrics::counter!("drystone_inbox_full_total").increment(1);
            return Err(Problem::too_many(format!("{most} requests wait for this world already"), 1));
        }
        inbox.push_back(request);
        self.touch();
        Ok(())
    }

    /// Notes that somebody asks for the world.
    pub fn touch(&self) {
        self.used.store(now_ms(), Ordering::SeqCst);
    }

    /// True if a stream shows the world, or did so within the last seconds, or a request came within them.
    pub(super) fn is_watched_within(&self, seconds: f64) -> bool {
        let since = now_ms().saturating_sub(self.used.load(Ordering::SeqCst));
        (since as f64) < 1e3 * seconds || !lock(&self.wanted).is_empty()
    }

    /// Whether the world was deleted: nothing knows of it any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        *self.closed.borrow()
    }

    /// Waits until the world is deleted.
    pub async fn gone(&self) {
        // It sends as long as this is there.
        let _ = self.closed.subscribe().wait_for(|gone| *gone).await;
    }

    /// Whether something waits.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        !lock(&self.inbox).is_empty()
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// State and number of bodies, as in the status.
    #[must_use]
    pub fn state_and_bodies(&self) -> (&'static str, usize) {
        let status = lock(&self.status);
        (status.state, status.bodies)
    }

    /// Announces a stream that wants a frame so often. Give the number back to [`Self::leave`].
    pub fn join(&self, interval: Duration) -> u64 {
        let number = self.next_stream.fetch_add(1, Ordering::SeqCst);
        let interval = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        lock(&self.wanted).insert(number, interval);
        self.joined.store(true, Ordering::SeqCst);
        number
    }

    /// The stream wants no more.
    pub fn leave(&self, number: u64) {
        // First, so that it counts as watched in between.
        self.touch();
        lock(&self.wanted).remove(&number);
    }

    pub(super) fn interval(&self) -> Option<Duration> {
        lock(&self.wanted).values().min().map(|&micros| Duration::from_micros(micros))
    }
}

/// Milliseconds since the service began.
fn now_ms() -> u64 {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let since = BEGAN.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX)
}

fn check_claims(claims: &HashMap<String, u64>, key: &Key) -> Result<(), Problem> {
    match claims.get(&key.name) {
        None => Ok(()),
        Some(hash) if *hash == key.hash => Err(Problem::busy()),
        Some(_) => Err(differs()),
    }
}
