//! Bodies and answers: whole, in time, and within the memory that there is for those on their way.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::State;
use crate::serve::problem::Problem;
use crate::serve::session::Answer;

/// Memory is set aside in steps of so many bytes while a body comes.
const STEP: usize = 64 << 10;
/// An answer goes out in parts of so many bytes.
const PART: usize = 64 << 10;

/// Memory for bodies and answers that are on their way.
#[derive(Debug)]
pub struct Room {
    kib: Arc<Semaphore>,
    all: u32,
}

impl Room {
    /// So many bytes.
    pub fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).max(1);
        Self { kib: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Sets some aside. What is larger than all of it takes all of it.
    ///
    /// # Errors
    /// If there is not as much now.
    pub fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).clamp(1, self.all);
        self.kib.clone().try_acquire_many_owned(kib).map_err(|_| {
            metrics::counter!("drystone_memory_full_total").increment(1);
            Problem::too_many("bodies and answers on their way fill the memory for them (limits.memory_bytes)", 1)
        })
    }
}

/// The body of a request. Its memory counts until it is dropped.
#[derive(Debug)]
pub struct Content(Bytes, #[allow(dead_code, reason = "given back when dropped")] Option<OwnedSemaphorePermit>);

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl FromRequest<State> for Content {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &State) -> Result<Self, Problem> {
        let limits = &state.config.limits;
        let too_large = || Problem::too_large("the body is larger than limits.bytes allows");
        if announced(request.headers()).is_some_and(|bytes| bytes > limits.bytes) {
            return Err(too_large());
        }
        let end = tokio::time::Instant::now() + Duration::from_secs_f64(limits.body_seconds);
        let mut parts = request.into_body().into_data_stream();
        let (mut bytes, mut set_aside, mut permit) = (Vec::new(), 0, None::<OwnedSemaphorePermit>);
        loop {
            let part = tokio::time::timeout_at(end, parts.next()).await.map_err(|_| {
                let detail = format!("the body did not come within {} s (limits.body_seconds)", limits.body_seconds);
                Problem::too_slow(detail)
            })?;
            let Some(part) = part else { break };
            let part = part.map_err(|error| Problem::malformed(format!("the body broke off: {error}")))?;
            let length = bytes.len() + part.len();
            if length > limits.bytes {
                return Err(too_large());
            }
            if length > set_aside {
                let more = (length - set_aside).next_multiple_of(STEP);
                let taken = state.room.take(more)?;
                match &mut permit {
                    Some(permit) => permit.merge(taken),
                    None => permit = Some(taken),
                }
                set_aside += more;
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Self(bytes.into(), permit))
    }
}

/// A large answer, and the memory set aside for it until it is sent.
#[derive(Debug)]
pub struct Held(pub Answer, pub OwnedSemaphorePermit);

impl IntoResponse for Held {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back() {
        let room = Room::new(10 << 10);
        let first = room.take(6 << 10).unwrap();
        assert_eq!(room.take(6 << 10).unwrap_err().status, 429);
        let second = room.take(4 << 10).unwrap();
        drop(first);
        assert!(room.take(6 << 10).is_ok());
        drop(second);
        // More than there is at all: alone.
        let all = room.take(1 << 30).unwrap();
        assert!(room.take(1).is_err());
        drop(all);
        assert!(room.take(1).is_ok());
    }
}
