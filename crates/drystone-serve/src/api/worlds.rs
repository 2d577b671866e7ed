//! Handlers that list, show and delete worlds.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Extension, State as FromState};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::asked::{HandlerResult, Parameters, in_store};
use super::guard::{Caller, OwnWorld};
use super::{ApiState, PathParameters, key, parameters};
use crate::problem::Problem;
use crate::session::{Answer, Handle, SessionRequest, Status};
use crate::store::Tombstone;
use crate::unix_seconds;

/// Range of the list of worlds.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Maximum number of entries. [default: 100]
    limit: Option<usize>,
    /// `next` of the previous answer, or the id of a world.
    after: Option<String>,
}

/// Part of the list of worlds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Worlds {
    /// Worlds, the oldest first.
    worlds: Vec<Status>,
    /// Value of `after` for the next part, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Position in the list of worlds, which stays valid when the world there is deleted.
#[derive(Debug, PartialEq)]
struct Cursor {
    created: u64,
    id: String,
}

impl Cursor {
    fn of(handle: &Handle) -> Self {
        Self { created: handle.facts.created, id: handle.id.clone() }
    }

    /// Parses the `next` of an answer.
    fn read(text: &str) -> Option<Self> {
        let (created, id) = text.split_once('.')?;
        let created = created.parse().ok()?;
        crate::store::is_id(id).then(|| Self { created, id: id.to_owned() })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created, self.id)
    }
}

/// Lists all worlds of the token's owner, or of all owners for a token with `admin`.
#[utoipa::path(get, path = "/v1/worlds", tag = "worlds", params(Page),
    responses((status = 200, body = Worlds)))]
pub async fn list(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    query: Parameters<Page>,
) -> Result<Response, Problem> {
    let page = parameters(query)?;
    let mut handles = state.scheduler.worlds();
    handles.retain(|handle| caller.owns(&handle.facts));
    let first = match &page.after {
        None => 0,
        Some(after) => {
            let by_id = || handles.iter().find(|handle| handle.id == *after).map(|handle| Cursor::of(handle));
            let wrong = || {
                let detail = format!("after is {after:?}; expected `next` of an answer, or the id of a world");
                Problem::malformed(detail).at("after")
            };
            let after = Cursor::read(after).or_else(by_id).ok_or_else(wrong)?;
            handles.partition_point(|h| (h.facts.created, &h.id) <= (after.created, &after.id))
        }
    };
    let limit = page.limit.unwrap_or(100).clamp(1, 1000);
    let (rest, worlds) = (&handles[first..], |handle: &Arc<Handle>| status(handle, &caller));
    let shown = &rest[..limit.min(rest.len())];
    let next = shown.last().filter(|_| shown.len() < rest.len()).map(|handle| Cursor::of(handle).to_string());
    Ok(Answer::json(&Worlds { worlds: shown.iter().map(worlds).collect(), next }).into_response())
}

/// Returns the status of a world as the caller may see it.
pub(super) fn status(handle: &Handle, caller: &Caller) -> Status {
    let owner = caller.sees_owners().then(|| handle.facts.owner.clone());
    Status { owner, ..handle.status() }
}

/// Returns the status of a world.
#[utoipa::path(get, path = "/v1/worlds/{id}", tag = "worlds", params(("id" = String, Path)),
    responses((status = 200, body = Status)))]
pub async fn show(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> HandlerResult {
    let handle = state.scheduler.existing(&id)?;
    Ok(Answer::json(&status(&handle, &caller)))
}

/// Deletes a world with all its checkpoints.
#[utoipa::path(delete, path = "/v1/worlds/{id}", tag = "worlds",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 204)))]
pub async fn delete(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    own: Result<OwnWorld, Problem>,
    PathParameters(id): PathParameters<String>,
    uri: Uri,
    headers: HeaderMap,
) -> HandlerResult {
    let key = key(&headers, uri.path(), &[])?;
    let at = unix_seconds();
    let tombstone = key.clone().map(|key| Tombstone { key, caller: caller.owner.clone(), at });
    let deleted = match own {
        Ok(OwnWorld(id)) => state.scheduler.ask(&id, |reply| SessionRequest::Delete(tombstone, reply)).await,
        Err(problem) => Err(problem),
    };
    match (deleted, key) {
        // An earlier request with this key may have deleted the world.
        (Err(problem), Some(key)) if problem.status == 404 && crate::store::is_id(&id) => {
            let tombstone = in_store(&state, &caller, move |store| store.tombstone(&id)).await?;
            match tombstone.filter(|tombstone| tombstone.key.name == key.name && tombstone.caller == caller.owner) {
                Some(tombstone) if tombstone.key == key => {
                    Ok(Answer { again: true, ..Answer::with_status(204, &Value::Null) })
                }
                Some(_) => Err(Problem::invalid("the key was used for another request").at("Idempotency-Key")),
                None => Err(problem),
            }
        }
        (deleted, _) => deleted,
    }
}
