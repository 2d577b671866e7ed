//! Handler of rewinding a world.

use axum::extract::State as FromState;
use serde::Deserialize;
use utoipa::ToSchema;

use super::ApiState;
use super::asked::{HandlerResult, Keyed, read_or_empty};
use super::guard::OwnWorld;
use super::run::check_steps;
use crate::answers;
use crate::session::SessionRequest;

/// Number of steps to rewind, and the time for it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// Number of steps.
    #[serde(default = "super::run::one")]
    #[schema(minimum = 1)]
    steps: u64,
    /// Seconds the rewind may take; afterwards it is cancelled and the world is unchanged. [default:
    /// limits.step_seconds]
    #[schema(exclusive_minimum = 0)]
    timeout: Option<f64>,
}

/// Rewinds a world by a number of steps, to the same bits. The world is paused afterwards, and later changes are
/// discarded.
///
/// All changes before the world's next step at that time are preserved. The state is recomputed from an earlier
/// checkpoint, so the history reaches back to the older of the last two checkpoints, and not beyond the last
/// `restore`; 422 names the earliest available step. Checkpoints are written every `checkpoint_seconds` of
/// computing, when a world leaves memory, and when the service stops. The world must be paused (409).
#[utoipa::path(post, path = "/v1/worlds/{id}/rewind", tag = "keep", request_body = Option<Rewind>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = answers::Restored)))]
pub async fn rewind(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let (key, Rewind { steps, timeout }) = asked.read(read_or_empty).await?;
    let deadline = check_steps(steps, timeout, &state)?;
    state.scheduler.ask(&id, |reply| SessionRequest::Rewind(steps, (key, deadline), reply)).await
}
