//! Bodies of requests and answers: received completely, in time, and within the memory for bodies in transit.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::ApiState;
use super::guard::Caller;
use super::memory_budget::{MAX_SMALL, MemoryBudget, ReservedMemory, charge};
use crate::op::CommandRecord;
use crate::problem::Problem;
use crate::session::Answer;

/// Memory is reserved in steps of this many bytes while a body arrives.
const STEP: usize = MAX_SMALL;
/// An answer is sent in parts of this many bytes.
const PART: usize = 64 << 10;
/// Bodies and messages up to this many bytes are parsed on the thread that received them, in about 40 µs. Longer
/// ones are parsed elsewhere, so that no other request of that thread has to wait.
pub const MAX_INLINE: usize = 4 << 10;
/// Memory for parsing a body or a message, as a multiple of its length: a copy without blanks, and one for the log.
const READING_FACTOR: usize = 2;
/// Number of long bodies and messages parsed at the same time.
static READING: Semaphore = Semaphore::const_new(4);

/// Returns the memory to reserve for parsing a text of that length, in addition to the text.
pub fn reading_bytes(length: usize) -> usize {
    if length > MAX_INLINE { length.saturating_mul(READING_FACTOR) } else { 0 }
}

/// Returns the memory to reserve for parsed commands.
pub fn command_bytes(count: usize) -> usize {
    count.saturating_mul(size_of::<CommandRecord>())
}

/// Parses a text: a long one on a thread that may block, a few at a time.
///
/// # Errors
/// The service is stopping, or the parser panicked.
pub async fn read_aside<T: Send + 'static>(
    caller: &Caller,
    length: usize,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    if length <= MAX_INLINE {
        return Ok(read());
    }
    // A token uses only part of the slots.
    let own =
        caller.reading.clone().acquire_owned().await.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let time_slice = READING.acquire().await.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let reading = tokio::task::spawn_blocking(move || {
        let value = read();
        drop((time_slice, own));
        value
    });
    reading.await.map_err(|_| Problem::internal("internal server error; see the log"))
}

/// Body of a request. It keeps its memory reserved: drop it once it is parsed.
#[derive(Debug)]
pub struct Content {
    bytes: Bytes,
    reserved: Option<ReservedMemory>,
    caller: Arc<Caller>,
}

impl Content {
    /// Reserves memory until the body is dropped. One body never needs more than the token may hold.
    ///
    /// # Errors
    /// The memory is in use at the moment: 429.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Problem> {
        charge(&self.caller.memory_budget, &mut self.reserved, bytes)
    }

    /// Returns the caller of the request.
    #[must_use]
    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reserves memory for a body that has grown. A body that outgrows the memory for small ones is moved out of it.
fn grow(
    memory_budget: &MemoryBudget,
    reserved: &mut Option<ReservedMemory>,
    from: usize,
    to: usize,
) -> Result<(), Problem> {
    match reserved {
        Some(reserved) if from > MAX_SMALL => reserved.merge(memory_budget.take_large(to - from)?),
        _ => *reserved = Some(memory_budget.take(to)?),
    }
    Ok(())
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl FromRequest<ApiState> for Content {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let limits = &state.config.limits;
        let caller = request.extensions().get::<Arc<Caller>>().cloned();
        let caller = caller.ok_or_else(|| Problem::internal("the request has no caller"))?;
        let too_large = || Problem::too_large("the body is larger than limits.bytes allows");
        if announced(request.headers()).is_some_and(|bytes| bytes > limits.bytes) {
            return Err(too_large());
        }
        let end = tokio::time::Instant::now() + Duration::from_secs_f64(limits.body_seconds);
        let mut parts = request.into_body().into_data_stream();
        let (mut bytes, mut set_aside, mut reserved) = (Vec::new(), 0, None);
        loop {
            let part = tokio::time::timeout_at(end, parts.next()).await.map_err(|_| {
                let detail = format!("the body did not arrive within {} s (limits.body_seconds)", limits.body_seconds);
                Problem::too_slow(detail)
            })?;
            let Some(part) = part else { break };
            let part = part.map_err(|error| Problem::malformed(format!("the body is incomplete: {error}")))?;
            let length = bytes.len() + part.len();
            if length > limits.bytes {
                return Err(too_large());
            }
            if length > set_aside {
                let needed = length.next_multiple_of(STEP);
                grow(&caller.memory_budget, &mut reserved, set_aside, needed)?;
                set_aside = needed;
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Self { bytes: bytes.into(), reserved, caller })
    }
}

/// Large answer, with the memory reserved for it until it is sent.
#[derive(Debug)]
pub struct ReservedAnswer(pub Answer, pub ReservedMemory);

impl IntoResponse for ReservedAnswer {
    fn into_response(self) -> Response {
        let Self(mut answer, permit) = self;
        let bytes = Bytes::from(std::mem::take(&mut answer.body));
        let length = bytes.len();
        let parts = stream::unfold((bytes, permit), |(mut bytes, permit)| async move {
            let part = bytes.split_to(bytes.len().min(PART));
            (!part.is_empty()).then_some((Ok::<_, Infallible>(part), (bytes, permit)))
        });
        let mut response = answer.into_response();
        *response.body_mut() = Body::from_stream(parts);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response
    }
}
