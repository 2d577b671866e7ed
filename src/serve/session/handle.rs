//! What others know of a world, and how they ask it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use utoipa::ToSchema;

use super::{Read, lock};
use crate::serve::config::Config;
use crate::serve::device::Device;
use crate::serve::op::{Key, Op};
use crate::serve::problem::Problem;
use crate::serve::store::Store;
use crate::serve::stream::Frame;
use crate::serve::writer::Writer;

/// What a client gets.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// MIME type.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// Whether it was given before.
    pub again: bool,
}

impl Answer {
    /// JSON.
    pub fn json(value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status: 200, content_type: "application/json", body, again: false }
    }
}

/// To whom it goes.
pub type Reply = oneshot::Sender<Result<Answer, Problem>>;

/// What the API asks of a session.
pub enum Request {
    /// A change of state.
    Write {
        /// What.
        op: Op,
        /// With which it can be asked again.
        key: Option<Key>,
        /// Until when steps may take.
        deadline: Option<Instant>,
        /// To whom.
        reply: Reply,
    },
    /// Nothing changes.
    Read(Read, Reply),
    /// Keep the state under a name; else under one made of the step.
    Save(Option<String>, Reply),
    /// Go back to it.
    Restore(String, Reply),
    /// Forget the world.
    Delete(Reply),
}

impl Request {
    pub(super) fn refuse(self, problem: Problem) {
        let (Self::Write { reply, .. }
        | Self::Read(_, reply)
        | Self::Save(_, reply)
        | Self::Restore(_, reply)
        | Self::Delete(reply)) = self;
        // Nobody may listen any more.
        let _ = reply.send(Err(problem));
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write { .. } => "Write",
            Self::Read(..) => "Read",
            Self::Save(..) => "Save",
            Self::Restore(..) => "Restore",
            Self::Delete(_) => "Delete",
        })
    }
}

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
    /// Name of the token with which it was made.
    #[serde(default)]
    pub owner: String,
}

/// How a world is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Status {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `starting`, `paused`, `stepping`, `playing` or `failed`.
    pub state: &'static str,
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Seconds a step.
    pub dt: f32,
    /// Bodies in it.
    pub bodies: usize,
    /// Joints likewise.
    pub joints: usize,
    /// Steps that were asked for and are not done.
    pub steps_to_go: u64,
    /// While it plays, times real time; nothing if as fast as it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// `cpu` or `gpu`.
    pub backend: &'static str,
    /// Seconds since 1970.
    pub created: u64,
    /// Milliseconds that a step took lately.
    pub ms_per_step: f64,
    /// Bodies and joints added and removed by hand so far.
    pub alterations: usize,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

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
        }
    }

    /// Puts a request into the inbox.
    ///
    /// # Errors
    /// If it is full, or the world is gone.
    pub fn put(&self, request: Request, most: usize) -> Result<(), Problem> {
        let mut inbox = lock(&self.inbox);
        if self.is_gone() {
            return Err(Problem::not_found(format!("there is no world {}", self.id)));
        }
        if inbox.len() >= most {
            metrics::counter!("drystone_inbox_full_total").increment(1);
            return Err(Problem::too_many(format!("{most} requests wait for this world already"), 1));
        }
        inbox.push_back(request);
        Ok(())
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
        lock(&self.wanted).remove(&number);
    }

    pub(super) fn interval(&self) -> Option<Duration> {
        lock(&self.wanted).values().min().map(|&micros| Duration::from_micros(micros))
    }
}

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Limits and times.
    pub config: Arc<Config>,
    /// What worlds run on.
    pub device: Device,
    /// Where they are kept.
    pub store: Arc<Store>,
    /// Who writes.
    pub writer: Writer,
    /// Ids of worlds that should have a turn.
    pub pokes: std::sync::mpsc::Sender<Poke>,
}

/// A word to the scheduler.
#[derive(Debug)]
pub enum Poke {
    /// This world should have a turn.
    Turn(String),
    /// No more of them.
    End,
}

/// When a session wants its next turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wake {
    /// As soon as may be.
    Now,
    /// Then.
    At(Instant),
    /// When somebody asks.
    Idle,
    /// Never: the world is gone.
    Gone,
}
