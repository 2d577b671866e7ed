//! Requests to a world, and answers.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::Read;
use crate::op::{Key, Op};
use crate::problem::Problem;
use crate::store::Tombstone;

/// Answer to a client.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// MIME type.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// True if it was given before.
    pub again: bool,
}

impl Answer {
    /// JSON.
    pub fn json(value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status: 200, content_type: "application/json", body, again: false }
    }
}

impl Answer {
    /// JSON with a status; `null` is an answer without a body.
    #[must_use]
    pub fn told(status: u16, value: &Value) -> Self {
        if value.is_null() {
            return Self { status, content_type: "", body: Vec::new(), again: false };
        }
        Self { status, ..Self::json(value) }
    }

    /// No answer: nothing is known of the key.
    pub(super) fn unknown() -> Self {
        Self { status: 0, content_type: "", body: Vec::new(), again: false }
    }

    /// True if nothing is known of the key that was asked about.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.status == 0
    }
}

/// To whom it goes.
pub type Reply = oneshot::Sender<Result<Answer, Problem>>;

/// Request of the API to a session.
pub enum Request {
    /// A change of state.
    Write {
        /// The change.
        op: Op,
        /// With which it can be asked again.
        key: Option<Key>,
        /// Until when steps may take.
        deadline: Option<Instant>,
        /// To whom.
        reply: Reply,
    },
    /// A question, which changes nothing.
    Read(Read, Reply),
    /// Keep the state under a name; else under one made of the step.
    Save(Option<String>, Reply),
    /// Go back to it.
    Restore(String, Option<Key>, Reply),
    /// Go back so many steps, until then at most.
    Rewind(u64, (Option<Key>, Instant), Reply),
    /// Forget the world; what is left tells who asked with a key.
    Delete(Option<Tombstone>, Reply),
    /// The answer to the request with this key, if it was given; else [`Answer::is_unknown`].
    Recall(Key, Reply),
}

impl Request {
    /// True for a request that is answered, or goes to the log, at once whatever the world is like.
    pub(super) fn is_short(&self) -> bool {
        match self {
            Self::Write { op, .. } => !matches!(op, Op::Commands(_)),
            Self::Delete(..) | Self::Recall(..) => true,
            Self::Read(what, _) => matches!(what, Read::Ping),
            Self::Save(..) | Self::Restore(..) | Self::Rewind(..) => false,
        }
    }

    pub(super) fn refuse(self, problem: Problem) {
        let (Self::Write { reply, .. }
        | Self::Read(_, reply)
        | Self::Save(_, reply)
        | Self::Restore(_, _, reply)
        | Self::Rewind(_, _, reply)
        | Self::Delete(_, reply)
        | Self::Recall(_, reply)) = self;
        // The client may have gone.
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
            Self::Rewind(..) => "Rewind",
            Self::Delete(..) => "Delete",
            Self::Recall(..) => "Recall",
        })
    }
}
