//! Handlers of read-only requests: state, bodies, joints, metrics, events and queries.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State as FromState};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::asked::{AnsweredHeld, HandlerResult, Parameters, read_body};
use super::content::{Content, ReservedAnswer};
use super::guard::{Caller, OwnWorld};
use super::{ApiState, memory_budget, parameters};
use crate::answers;
use crate::op::{BodySelector, read_list};
use crate::problem::Problem;
use crate::session::{self, Answer, Format, QueryRecord, Read, SeriesRequest, SessionRequest};

pub(super) async fn read(state: &ApiState, id: &str, what: Read) -> HandlerResult {
    state.scheduler.ask(id, |reply| SessionRequest::Read(what, reply)).await
}

/// Memory reserved for a growing answer.
pub(super) type Growing = Arc<Mutex<Option<memory_budget::ReservedMemory>>>;

/// Returns a function that reserves the token's memory for a growing answer beyond the first `free` bytes, and the
/// reservation itself.
pub(super) fn charging(caller: Arc<Caller>, free: usize) -> (session::Charge, Growing) {
    let held = Growing::default();
    let (own, mut all) = (held.clone(), 0_usize);
    let charge = move |bytes: usize| {
        let mut held = own.lock().unwrap_or_else(PoisonError::into_inner);
        all = all.saturating_add(bytes);
        let most = caller.memory_budget.pot_bytes();
        if all > most {
            let detail = format!("the answer takes about {all} bytes; at most {most} (limits.memory_bytes)");
            return Err(Problem::limit(detail));
        }
        match &mut *held {
            Some(permit) => permit.merge(caller.memory_budget.take(bytes)?),
            None if all > free => *held = Some(caller.memory_budget.take(all)?),
            None => {}
        }
        Ok(())
    };
    (Box::new(charge), held)
}

/// Returns a response that keeps the reserved memory until the client has read it.
pub(super) fn with_reserved(answer: Answer, growing: &Growing) -> Response {
    let permit = growing.lock().unwrap_or_else(PoisonError::into_inner).take();
    match permit {
        Some(permit) => ReservedAnswer(answer, permit).into_response(),
        None => answer.into_response(),
    }
}

/// Requests an answer that may be large. The session reserves memory before it creates the answer.
async fn read_large(
    state: &ApiState,
    caller: Arc<Caller>,
    id: &str,
    what: impl FnOnce(session::Charge) -> Read,
) -> Result<Response, Problem> {
    let (charge, growing) = charging(caller, 0);
    let answer = read(state, id, what(charge)).await?;
    Ok(with_reserved(answer, &growing))
}

/// Format of a state.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct StateFormat {
    /// `json`, `binary` (a full frame, as in a stream) or `npz`. [default: by the header `Accept`]
    #[param(value_type = Option<String>)]
    format: Option<Format>,
}

/// Returns position and velocity of every body.
#[utoipa::path(get, path = "/v1/worlds/{id}/state", tag = "ask", params(("id" = String, Path), StateFormat),
    responses((status = 200, content(
        (answers::StateAnswer = "application/json"), (Vec<u8> = "application/octet-stream"), (Vec<u8> = "application/x-npz")))))]
pub async fn state(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    headers: HeaderMap,
    query: Parameters<StateFormat>,
) -> Result<Response, Problem> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let by_accept = if accept.contains("application/x-npz") {
        Format::Npz
    } else if accept.contains("application/octet-stream") {
        Format::Binary
    } else {
        Format::Json
    };
    let format = parameters(query)?.format.unwrap_or(by_accept);
    read_large(&state, caller, &id, |charge| Read::State(format, charge)).await
}

/// Returns type, mass and shapes of every body.
#[utoipa::path(get, path = "/v1/worlds/{id}/bodies", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::BodiesAnswer)))]
pub async fn bodies(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    read_large(&state, caller, &id, Read::Bodies).await
}

/// Returns kind, bodies and anchors of every joint.
///
/// Anchors are in the frames of the bodies, so a client that follows the stream knows their positions without
/// another request. Broken joints are listed until they are removed. Commands to a joint take effect in the list
/// after the next step.
#[utoipa::path(get, path = "/v1/worlds/{id}/joints", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::JointsAnswer)))]
pub async fn joints(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    read_large(&state, caller, &id, Read::Joints).await
}

/// Returns energy, momentum, penetration and similar figures, and the time of each stage.
#[utoipa::path(get, path = "/v1/worlds/{id}/metrics", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::MetricsAnswer)))]
pub async fn metrics(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld) -> HandlerResult {
    read(&state, &id, Read::Metrics).await
}

/// Range and body of series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct SeriesRange {
    /// First wanted step. [default: 0]
    from: Option<u64>,
    /// Id, name or slot of a body whose motion is wanted, too.
    #[param(value_type = Option<String>)]
    body: Option<String>,
}

/// Returns energies of the world, and the motion of a body, after each step since the recording began.
///
/// The first request begins to record, and its answer has the present step alone; 10 seconds after the last request
/// the recording ends. It keeps the last 4096 steps, of up to 8 bodies. Ask for `from` the last step that you have:
/// that row may have changed, by commands or a rewind. Steps that were not recorded have no row. On a GPU a recorded
/// world waits for the device in each step.
#[utoipa::path(get, path = "/v1/worlds/{id}/series", tag = "ask", params(("id" = String, Path), SeriesRange),
    responses((status = 200, body = answers::SeriesAnswer)))]
pub async fn series(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    query: Parameters<SeriesRange>,
) -> Result<Response, Problem> {
    let range = parameters(query)?;
    // A slot is a number, everything else an id or a name.
    let body = range.body.map(|text| text.parse().map_or_else(|_| BodySelector::Name(text), BodySelector::Slot));
    let from = range.from.unwrap_or(0);
    read_large(&state, caller, &id, |charge| Read::Series(SeriesRequest { from, body, charge })).await
}

/// Range of events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Number of the first event: `next` of the previous answer. [default: 0]
    from: Option<u64>,
    /// Maximum number of events. [default: 1000]
    limit: Option<usize>,
}

/// Returns events: contacts that began and ended, sensors, joints that broke. Requires `settings.events` in the
/// scene.
///
/// A world keeps the newest events; `missed` counts the dropped ones. They are lost when the service restarts.
#[utoipa::path(get, path = "/v1/worlds/{id}/events", tag = "ask", params(("id" = String, Path), Since),
    responses((status = 200, body = answers::Events)))]
pub async fn events(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    query: Parameters<Since>,
) -> AnsweredHeld {
    let since = parameters(query)?;
    let most = since.limit.unwrap_or(1000).clamp(1, 100_000);
    let memory_budget = caller.memory_budget.take(most.min(state.config.limits.events) * 256)?;
    Ok(ReservedAnswer(read(&state, &id, Read::Events { from: since.from.unwrap_or(0), most }).await?, memory_budget))
}

/// Queries of a request.
#[derive(Debug, ToSchema)]
#[schema(as = Questions)]
#[allow(dead_code, reason = "for the API description only; the body is parsed as a list")]
pub struct QueriesRequest {
    /// Queries, at least one.
    queries: Vec<QueryRecord>,
}

/// Runs queries against the current state of the world: rays, casts of shapes, and the shapes at a point, in a box or
/// under a shape.
///
/// All queries of a request see the same state; the world does not step until they are answered. Together they may
/// find `limits.found` shapes and take `limits.query_seconds` of computing.
#[utoipa::path(post, path = "/v1/worlds/{id}/query", tag = "ask", request_body = QueriesRequest,
    params(("id" = String, Path)),
    responses((status = 200, body = answers::QueryAnswers)))]
pub async fn query(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    content: Content,
) -> Result<Response, Problem> {
    let most = state.config.limits.queries;
    let questions = move |body: &[u8]| -> Result<Vec<_>, Problem> {
        let records: Vec<QueryRecord> = read_list(body, &["queries"], most)?;
        records.iter().enumerate().map(|(index, query)| query.query(index)).collect()
    };
    let (queries, content) = read_body(content, questions).await?;
    // Memory for the answer is reserved as it grows, once it is no longer small.
    let (charge, growing) = charging(caller, memory_budget::MAX_SMALL);
    let answer = read(&state, &id, Read::Query(session::RequestQueries { queries, charge })).await?;
    drop(content);
    Ok(with_reserved(answer, &growing))
}
