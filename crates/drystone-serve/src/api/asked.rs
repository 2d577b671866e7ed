//! Parts common to many requests: idempotency keys, and parsing of bodies without blocking other requests.

use std::io;
use std::time::Instant;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, Query, Request};
use axum::http::{HeaderMap, Uri};
use serde::de::DeserializeOwned;

use super::content::{Content, ReservedAnswer, read_aside, reading_bytes};
use super::guard::Caller;
use super::{ApiState, key};
use crate::op::{Op, RequestKey, read_json};
use crate::problem::Problem;
use crate::session::{self, Answer};
use crate::store::Store;

/// Query parameters of a request, or the reason why they cannot be parsed.
pub(super) type Parameters<T> = Result<Query<T>, QueryRejection>;
/// Result of a handler.
pub(super) type HandlerResult = Result<Answer, Problem>;
/// Result of a handler with a large answer.
pub(super) type AnsweredHeld = Result<ReservedAnswer, Problem>;

/// Longest name of a world or a checkpoint, bytes.
pub(super) const MAX_NAME_LENGTH: usize = 64;

/// Request with a body and an optional idempotency key.
#[derive(Debug)]
pub(super) struct Keyed {
    uri: Uri,
    headers: HeaderMap,
    content: Content,
}

impl FromRequest<ApiState> for Keyed {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let (uri, headers) = (request.uri().clone(), request.headers().clone());
        Ok(Self { uri, headers, content: Content::from_request(request, state).await? })
    }
}

impl Keyed {
    /// Returns the key and the parsed body, and releases the body's memory.
    ///
    /// # Errors
    /// The key or the body is invalid, or there is no memory to parse it.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(Option<RequestKey>, T), Problem> {
        self.read_and_keep(read).await.map(|(key, value, _)| (key, value))
    }

    /// Returns the key, the parsed body, and the content, which keeps its memory reserved until it is dropped.
    ///
    /// # Errors
    /// The key or the body is invalid, or there is no memory to parse it.
    pub async fn read_and_keep<T: Send + 'static>(
        self,
        read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(Option<RequestKey>, T, Content), Problem> {
        let Self { uri, headers, content } = self;
        let both = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read(body)?));
        let ((key, value), content) = read_body(content, both).await?;
        Ok((key, value, content))
    }
}

/// Parses a body, a large one on a thread that may block, with memory reserved for it. The returned content keeps
/// the reservation for as long as the parsed value needs as much.
pub(super) async fn read_body<T: Send + 'static>(
    mut content: Content,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Content), Problem> {
    content.charge(reading_bytes(content.len()))?;
    let (caller, length) = (content.caller().clone(), content.len());
    read_aside(&caller, length, move || Ok((read(&content)?, content))).await?
}

pub(super) async fn write(
    state: &ApiState,
    id: &str,
    op: Op,
    key: Option<RequestKey>,
    deadline: Option<Instant>,
) -> HandlerResult {
    state.scheduler.ask(id, |reply| session::SessionRequest::Write { op, key, deadline, reply }).await
}

/// Parses a body that may be empty.
pub(super) fn read_or_empty<T: DeserializeOwned>(content: &[u8]) -> Result<T, Problem> {
    read_json(if content.is_empty() { b"{}" } else { content })
}

/// Runs a request to the store, which may take a while, on a thread that may block.
pub(super) async fn in_store<T: Send + 'static>(
    state: &ApiState,
    caller: &Caller,
    what: impl FnOnce(&Store) -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let own = caller.lookups.clone().acquire_owned().await;
    let own = own.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let shared = state.scheduler.shared().clone();
    let done = tokio::task::spawn_blocking(move || {
        let found = what(&shared.store);
        drop(own);
        found
    })
    .await;
    done.map_err(|_| Problem::internal("internal server error; see the log"))?
        .map_err(|error| Problem::of_store(&error))
}
