//! Handlers of named checkpoints: write, list, delete, restore.

use axum::extract::{Extension, State as FromState};
use axum::http::{HeaderMap, Uri};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

use super::asked::{HandlerResult, Keyed, MAX_NAME_LENGTH, in_store, read_or_empty, write};
use super::guard::{Caller, OwnWorld};
use super::{ApiState, PathParameters, key};
use crate::answers;
use crate::op::{Op, RequestKey, read_json};
use crate::problem::Problem;
use crate::session::{Answer, SessionRequest};
use crate::store::saved_name;

/// Executes work outside of the world's log once per key. The answer is logged before the client gets it. Continues
/// if the client disconnects.
async fn once(
    state: &ApiState,
    id: &str,
    key: Option<RequestKey>,
    work: impl Future<Output = HandlerResult> + Send + 'static,
) -> HandlerResult {
    let Some(key) = key else { return work.await };
    let claim = state.scheduler.existing(id)?.claim(&key)?;
    let (state, id) = (state.clone(), id.to_owned());
    let done = tokio::spawn(async move {
        let known = state.scheduler.ask(&id, |reply| SessionRequest::Recall(key.clone(), reply)).await?;
        if !known.is_unknown() {
            return Ok(known);
        }
        let answer = work.await?;
        let told = serde_json::from_slice(&answer.body).unwrap_or_default();
        let op = Op::Told { status: answer.status, answer: told };
        let kept = write(&state, &id, op, Some(key), None).await;
        drop(claim);
        kept.map_err(|problem| {
            let detail = format!("the request was executed, but its answer could not be stored: {}", problem.detail);
            Problem::away(detail)
        })
    });
    done.await.map_err(|_| Problem::internal("internal server error; see the log"))?
}

/// Name of a new checkpoint.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = Checkpoint)]
#[serde(deny_unknown_fields)]
pub struct CheckpointName {
    /// Name: lowercase letters, digits and hyphens, at most 64. [default: by the step]
    name: Option<String>,
}

fn check_name(name: &str) -> Result<(), Problem> {
    if crate::store::is_id(name) {
        return Ok(());
    }
    let problem = Problem::invalid(format!("{name:?} is not a valid name of a checkpoint")).at("name");
    Err(problem.expected(format!("lowercase letters, digits and hyphens, at most {MAX_NAME_LENGTH}")))
}

/// Saves the state of a world under a name.
///
/// A world has at most limits.checkpoints of them (422). Names that begin with `undo-` are for clients that undo
/// changes, such as the page: they have a limit of their own, of the same size, and a client deletes those that it does
/// not need any more.
#[utoipa::path(post, path = "/v1/worlds/{id}/checkpoint", tag = "keep", request_body = Option<CheckpointName>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = answers::Saved)))]
pub async fn checkpoint(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let (key, CheckpointName { name }) = asked.read(read_or_empty).await?;
    if let Some(name) = &name {
        check_name(name)?;
    }
    let (own, world) = (state.clone(), id.clone());
    let save = async move { own.scheduler.ask(&world, |reply| SessionRequest::Save(name, reply)).await };
    once(&state, &id, key, save).await
}

/// Lists the named checkpoints of a world.
#[utoipa::path(get, path = "/v1/worlds/{id}/checkpoints", tag = "keep", params(("id" = String, Path)),
    responses((status = 200, body = answers::Checkpoints)))]
pub async fn checkpoints(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> HandlerResult {
    state.scheduler.existing(&id)?;
    let listing = in_store(&state, &caller, move |store| store.list(&id)).await?;
    Ok(Answer::json(&answers::Checkpoints { checkpoints: listing.saved }))
}

/// Deletes a named checkpoint.
#[utoipa::path(delete, path = "/v1/worlds/{id}/checkpoints/{name}", tag = "keep",
    params(("id" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 204)))]
pub async fn forget(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    PathParameters((_, name)): PathParameters<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> HandlerResult {
    let key = key(&headers, uri.path(), &[])?;
    let missing = Problem::not_found(format!("there is no checkpoint {name:?} of a world {id}"));
    if state.scheduler.world(&id).is_none() {
        return Err(missing);
    }
    let (own, world) = (state.clone(), id.clone());
    let forget = async move {
        let forgotten = in_store(&own, &caller, move |store| {
            let found = store.list(&world)?.saved.contains(&name);
            if found {
                store.remove(&world, &saved_name(&name))?;
            }
            Ok(found)
        });
        if forgotten.await? { Ok(Answer::with_status(204, &Value::Null)) } else { Err(missing) }
    };
    once(&state, &id, key, forget).await
}

/// Name of the checkpoint to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Name of the checkpoint.
    name: String,
}

/// Restores a named checkpoint of a world. The world is paused afterwards.
#[utoipa::path(post, path = "/v1/worlds/{id}/restore", tag = "keep", request_body = Restore,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = answers::Restored)))]
pub async fn restore(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let (key, Restore { name }) = asked.read(|body: &[u8]| read_json::<Restore>(body)).await?;
    check_name(&name)?;
    state.scheduler.ask(&id, |reply| SessionRequest::Restore(name, key, reply)).await
}
