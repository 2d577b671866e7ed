//! Requests from the API to a session, and the answers.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::Read;
use crate::op::{Op, RequestKey};
use crate::problem::Problem;
use crate::store::Tombstone;

/// Answer to a client.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// MIME type.
    pub content_type: &'static str,
    /// Body.
    pub body: Vec<u8>,
    /// True if the answer is repeated for a retried request.
    pub again: bool,
}

impl Answer {
    /// Returns a JSON answer with status 200.
    pub fn json(value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status: 200, content_type: "application/json", body, again: false }
    }
}

impl Answer {
    /// Returns a JSON answer with a status; `null` means an empty body.
    #[must_use]
    pub fn with_status(status: u16, value: &Value) -> Self {
        if value.is_null() {
            return Self { status, content_type: "", body: Vec::new(), again: false };
        }
        Self { status, ..Self::json(value) }
    }

    /// Returns the marker for a key without an answer.
    pub(super) fn unknown() -> Self {
        Self { status: 0, content_type: "", body: Vec::new(), again: false }
    }

    /// Returns true for the marker of a key without an answer.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.status == 0
    }
}

/// Channel for the answer.
pub type ReplySender = oneshot::Sender<Result<Answer, Problem>>;

/// Request of the API to a session.
pub enum SessionRequest {
    /// Change of the world's state.
    Write {
        /// Change of the world's state.
        op: Op,
        /// Idempotency key.
        key: Option<RequestKey>,
        /// Deadline of a request for steps.
        deadline: Option<Instant>,
        /// Channel for the answer.
        reply: ReplySender,
    },
    /// Read-only request.
    Read(Read, ReplySender),
    /// Write a named checkpoint; default name: by the step.
    Save(Option<String>, ReplySender),
    /// Restore a named checkpoint.
    Restore(String, Option<RequestKey>, ReplySender),
    /// Rewind by a number of steps before the deadline.
    Rewind(u64, (Option<RequestKey>, Instant), ReplySender),
    /// Delete the world; the tombstone answers retries with its key.
    Delete(Option<Tombstone>, ReplySender),
    /// Look up the answer to the request with this key; [`Answer::is_unknown`] if there is none.
    Recall(RequestKey, ReplySender),
}

impl SessionRequest {
    /// Returns true for a request that can be answered or logged without delay in any state of the world.
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
        // The client may have disconnected.
        let _ = reply.send(Err(problem));
    }
}

impl fmt::Debug for SessionRequest {
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
