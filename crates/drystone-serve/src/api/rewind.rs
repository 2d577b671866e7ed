//! Steps back.

use axum::extract::State as FromState;
use serde::Deserialize;
use utoipa::ToSchema;

use super::State;
use super::asked::{Answered, Keyed, read_or_empty};
use super::guard::OwnWorld;
use super::run::check_steps;
use crate::answers;
use crate::session::Request;

/// Number of steps to go back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// Number of steps.
    #[serde(default = "super::run::one")]
    #[schema(minimum = 1)]
    steps: u64,
    /// Seconds it may take; then the world stays where it was. [default: limits.step_seconds]
    #[schema(exclusive_minimum = 0)]
    timeout: Option<f64>,
}

/// Puts a world back by a number of steps, to the same bits. It stands still then, and what came after is forgotten.
///
/// All that was asked of the world before its next step is there again. It is computed again from the checkpoint before,
/// so that the past reaches back to the older of the last two checkpoints, and not beyond the last `restore`; 422 names the
/// first step that is kept. There is a checkpoint every `checkpoint_seconds` of computing, when a world is put to disk, and
/// when the service stops. The world has to be paused (409).
#[utoipa::path(post, path = "/v1/worlds/{id}/rewind", tag = "keep", request_body = Option<Rewind>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Restored)))]
pub async fn rewind(FromState(state): FromState<State>, OwnWorld(id): OwnWorld, asked: Keyed) -> Answered {
    let (key, Rewind { steps, timeout }) = asked.read(read_or_empty).await?;
    let deadline = check_steps(steps, timeout, &state)?;
    state.scheduler.ask(&id, |reply| Request::Rewind(steps, (key, deadline), reply)).await
}
