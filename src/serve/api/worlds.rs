//! Worlds: made, asked, changed, kept.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::content::{Content, Held};
use super::guard::Caller;
use super::{Path, State, key, parameters};
use crate::Scene;
use crate::scene::catalogue::{self, CatalogueError};
use crate::scene::file;
use crate::serve::answers;
use crate::serve::op::{CommandRecord, Op, read_commands, read_json};
use crate::serve::problem::Problem;
use crate::serve::session::{Answer, Facts, Format, Handle, QueryRecord, Read, Request, Shared, Status, check_limits};
use crate::serve::store::{Store, saved_name};

type Parameters<T> = Result<Query<T>, QueryRejection>;
type Answered = Result<Answer, Problem>;
/// For answers that may be large.
type AnsweredHeld = Result<Held, Problem>;

/// Longest name of a world, and of a checkpoint.
const LONGEST_NAME: usize = 64;

/// Which part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Most entries. [default: 100]
    limit: Option<usize>,
    /// The last id of the part before.
    after: Option<String>,
}

/// Worlds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Worlds {
    /// The oldest first.
    worlds: Vec<Status>,
    /// For `after`, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// All worlds.
#[utoipa::path(get, path = "/v1/worlds", tag = "worlds", params(Page),
    responses((status = 200, body = Worlds)))]
pub async fn list(FromState(state): FromState<State>, query: Parameters<Page>) -> Result<Response, Problem> {
    let page = parameters(query)?;
    let handles = state.scheduler.worlds();
    let first = match &page.after {
        None => 0,
        Some(after) => handles.iter().position(|handle| handle.id == *after).map_or(handles.len(), |at| at + 1),
    };
    let limit = page.limit.unwrap_or(100).clamp(1, 1000);
    let shown: Vec<Status> = handles.iter().skip(first).take(limit).map(|handle| handle.status()).collect();
    let more = first + shown.len() < handles.len();
    let next = shown.last().filter(|_| more).map(|status| status.id.clone());
    Ok(Answer::json(&Worlds { worlds: shown, next }).into_response())
}

/// What a world is made from: this, or a scene as it is in a scene file.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorld {
    /// A built-in scene with its parameters, such as `"large_pyramid:base=20"`, or a scene as in a scene file
    /// (`/api/scene.schema.json`).
    #[schema(schema_with = scene_schema)]
    scene: Box<RawValue>,
    /// For people. The scene's, if there is none.
    name: Option<String>,
}

/// A word, or a scene.
fn scene_schema() -> RefOr<Schema> {
    OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::String)).item(Ref::from_schema_name("Scene")).into()
}

/// What makes a world.
struct WorldBody;

impl PartialSchema for WorldBody {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new().item(Ref::from_schema_name("NewWorld")).item(Ref::from_schema_name("Scene")).into()
    }
}

impl ToSchema for WorldBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("NewWorld".to_owned(), NewWorld::schema()));
    }
}

/// Makes a world.
///
/// The body is a scene (`/api/scene.schema.json`), or `{"scene": "large_pyramid:base=20"}`.
#[utoipa::path(post, path = "/v1/worlds", tag = "worlds", request_body = WorldBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 201, body = Status)))]
pub async fn create(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Result<Response, Problem> {
    let key = key(&headers, uri.path(), &content)?;
    let _claim = match &key {
        None => None,
        Some(key) => {
            let mut keys = state.keys.lock().unwrap_or_else(PoisonError::into_inner);
            if !keys.insert(key.name.clone()) {
                return Err(Problem::conflict("the first request with this key is still being worked on"));
            }
            drop(keys);
            let claim = Claim(state.clone(), key.name.clone());
            let made = state.scheduler.worlds().into_iter();
            let made = made.filter_map(|handle| handle.facts.key.clone().map(|key| (handle, key)));
            if let Some((handle, made)) = made.into_iter().find(|(_, made)| made.name == key.name) {
                if made.hash != key.hash {
                    return Err(Problem::invalid("the key was used for another request").at("Idempotency-Key"));
                }
                return Ok(created(&handle, true));
            }
            Some(claim)
        }
    };
    if state.scheduler.draining.load(std::sync::atomic::Ordering::SeqCst) {
        return Err(Problem::unavailable("the service is stopping"));
    }
    // Reading a large scene takes a while and memory: few at a time.
    let permit = state.creating.clone().acquire_owned().await;
    let permit = permit.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let place = state.scheduler.reserve(&caller.name, caller.worlds)?;
    let (shared, owner) = (state.scheduler.shared().clone(), caller.name.clone());
    let stored = tokio::task::spawn_blocking(move || {
        let stored = store(&shared, &content, key, owner);
        drop(content);
        stored
    });
    let (id, facts, bytes) = stored.await.map_err(|_| Problem::internal("a bug; it is in the log"))??;
    state.scheduler.add(&id, facts, bytes, place);
    drop(permit);
    // It is there once it has had its first turn.
    if let Err(problem) = state.scheduler.ask(&id, |reply| Request::Read(Read::Ping, reply)).await {
        if problem.status < 500 {
            let _ = state.scheduler.ask(&id, Request::Delete).await;
        }
        return Err(problem);
    }
    let handle = state.scheduler.world(&id).ok_or_else(|| Problem::not_found("the world was deleted at once"))?;
    Ok(created(&handle, false))
}

/// A key that is in use, until dropped.
struct Claim(State, String);

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

fn created(handle: &Arc<Handle>, again: bool) -> Response {
    let mut answer = Answer::json(&handle.status());
    (answer.status, answer.again) = (201, again);
    let mut response = answer.into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/worlds/{}", handle.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Reads the scene and writes it to the store. Also says how many bytes it takes there.
fn store(
    shared: &Shared,
    content: &[u8],
    key: Option<crate::serve::op::Key>,
    owner: String,
) -> Result<(String, Facts, usize), Problem> {
    let text = std::str::from_utf8(content).map_err(|error| Problem::malformed(format!("not UTF-8: {error}")))?;
    let (scene, name) = read_scene(text, shared)?;
    check_limits(&scene, shared)?;
    let name = match name {
        Some(name) if name.len() > LONGEST_NAME => {
            let detail = format!("the name is longer than {LONGEST_NAME} bytes");
            return Err(Problem::invalid(detail).at("name"));
        }
        Some(name) => name,
        None => scene.name.clone(),
    };
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let facts = Facts { name, created, key, owner };
    let text = file::write_json(&scene);
    let bytes = serde_json::to_vec(&facts).map_err(|error| Problem::internal(error.to_string()))?;
    let id = new_id();
    shared.store.create(&id, &bytes, text.as_bytes()).map_err(|error| Problem::of_store(&error))?;
    Ok((id, facts, text.len()))
}

/// 64 random bits: not given out again.
fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    // Keyed anew from the operating system's randomness by each.
    let mut bits = RandomState::new().build_hasher().finish();
    let mut id = String::from("w");
    for _ in 0..13 {
        id.push(char::from(LETTERS[(bits & 31) as usize]));
        bits >>= 5;
    }
    id
}

/// The scene that a body means, and the name beside it.
fn read_scene(text: &str, shared: &Shared) -> Result<(Scene, Option<String>), Problem> {
    /// Enough to see which of the two it is.
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        scene: Option<&'a RawValue>,
    }
    // An array would do for a struct, too.
    let is_object = text.trim_start().starts_with('{');
    let is_wrapped = is_object && serde_json::from_str::<Peek>(text).is_ok_and(|peek| peek.scene.is_some());
    if !is_wrapped {
        return Ok((file::parse(text, "scene.json")?, None));
    }
    let NewWorld { scene, name } = read_json(text.as_bytes())?;
    if let Ok(spec) = serde_json::from_str::<String>(scene.get()) {
        let of_catalogue = |error: CatalogueError| match error {
            CatalogueError::TooManyBodies { .. } => Problem::limit(error.to_string()).at("scene"),
            error => Problem::invalid(error.to_string()).at("scene"),
        };
        let bodies = catalogue::check(&spec).map_err(of_catalogue)?;
        let most = shared.config.limits.bodies;
        if bodies > most as u64 {
            let detail = format!("the scene has {bodies} bodies; at most {most} in a world of this service");
            return Err(Problem::limit(detail).at("scene"));
        }
        return Ok((catalogue::build(&spec).map_err(of_catalogue)?, name));
    }
    let scene = file::parse(scene.get(), "scene.json").map_err(|error| {
        // Line and column are counted from the beginning of the scene.
        Problem { line: None, column: None, ..Problem::from(error) }.within("scene")
    })?;
    Ok((scene, name))
}

/// A world.
#[utoipa::path(get, path = "/v1/worlds/{id}", tag = "worlds", params(("id" = String, Path)),
    responses((status = 200, body = Status)))]
pub async fn show(FromState(state): FromState<State>, Path(id): Path<String>) -> Answered {
    let missing = || Problem::not_found(format!("there is no world {id}"));
    Ok(Answer::json(&state.scheduler.world(&id).ok_or_else(missing)?.status()))
}

/// Forgets a world and all that is kept of it.
#[utoipa::path(delete, path = "/v1/worlds/{id}", tag = "worlds", params(("id" = String, Path)),
    responses((status = 204)))]
pub async fn delete(FromState(state): FromState<State>, Path(id): Path<String>) -> Answered {
    state.scheduler.ask(&id, Request::Delete).await
}

async fn write(
    state: &State,
    id: &str,
    op: Op,
    key: Option<crate::serve::op::Key>,
    deadline: Option<Instant>,
) -> Answered {
    state.scheduler.ask(id, |reply| Request::Write { op, key, deadline, reply }).await
}

/// How far to step.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// How many.
    #[serde(default = "one")]
    #[schema(minimum = 1)]
    pub steps: u64,
    /// Seconds it may take; then it stops where it is, and says so.
    #[schema(exclusive_minimum = 0)]
    pub timeout: Option<f64>,
}

fn one() -> u64 {
    1
}

/// Steps done.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stepped {
    /// Steps done since the world began.
    step: u64,
    /// Simulated seconds likewise.
    time: f64,
    /// Steps of this request.
    steps: u64,
    /// Why it ended early.
    stopped: Option<String>,
}

impl Step {
    /// The change, and until when it may take.
    pub fn op(&self, state: &State) -> Result<(Op, Instant), Problem> {
        let limits = &state.config.limits;
        if !(1..=limits.steps).contains(&self.steps) {
            let detail = format!("steps is {}; expected 1 to {}", self.steps, limits.steps);
            return Err(Problem::limit(detail).at("steps"));
        }
        let most = limits.step_seconds;
        let seconds = self.timeout.unwrap_or(most);
        if !(seconds > 0.0 && seconds <= most) {
            let detail = format!("timeout is {seconds}; expected a number above 0, up to {most}");
            return Err(Problem::invalid(detail).at("timeout"));
        }
        Ok((Op::Step { steps: self.steps }, Instant::now() + Duration::from_secs_f64(seconds)))
    }
}

/// Steps a world, and answers when that is done.
///
/// Who goes away without an `Idempotency-Key` stops the steps; with one they are done.
#[utoipa::path(post, path = "/v1/worlds/{id}/step", tag = "run", request_body = Option<Step>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = Stepped)))]
pub async fn step(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let key = key(&headers, uri.path(), &content)?;
    let (op, deadline) = read_or_empty::<Step>(&content)?.op(&state)?;
    write(&state, &id, op, key, Some(deadline)).await
}

/// A body that may be left out.
fn read_or_empty<'de, T: Deserialize<'de>>(content: &'de [u8]) -> Result<T, Problem> {
    read_json(if content.is_empty() { b"{}" } else { content })
}

/// Commands, done one after the other.
#[derive(Debug, Deserialize, ToSchema)]
#[allow(dead_code, reason = "for the description; it is read by hand")]
pub struct Batch {
    /// At least one.
    commands: Vec<CommandRecord>,
}

/// What became of commands.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// Steps done before them.
    step: u64,
    /// One a command: `{}`, or ids of what it made.
    results: Vec<Value>,
}

/// Asks something of bodies and joints; it happens before the next step.
///
/// Answered when it is durable. Of a batch the commands before one that is refused are done; `applied` says how many.
#[utoipa::path(post, path = "/v1/worlds/{id}/commands", tag = "run", request_body = Batch,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = Done)))]
pub async fn commands(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let key = key(&headers, uri.path(), &content)?;
    let commands = read_commands(&content, state.config.limits.commands)?;
    write(&state, &id, Op::Commands(commands), key, None).await
}

/// How fast to play.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Times real time, 0.001 to 1000; or `"max"`, as fast as it goes. [default: 1]
    #[serde(default)]
    #[schema(schema_with = speed_schema)]
    pub speed: Speed,
}

/// A number or a word.
fn speed_schema() -> RefOr<Schema> {
    let times = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.001)).maximum(Some(1000.0));
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["max"]));
    OneOfBuilder::new().item(times).item(word).into()
}

/// Times real time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Speed {
    /// So many times.
    Times(f64),
    /// As fast as it goes.
    Word(Most),
}

/// `"max"`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Most {
    /// As fast as it goes.
    Max,
}

impl Default for Speed {
    fn default() -> Self {
        Self::Times(1.0)
    }
}

impl Play {
    /// The change.
    pub fn op(&self) -> Result<Op, Problem> {
        match self.speed {
            Speed::Word(Most::Max) => Ok(Op::Play { speed: None }),
            Speed::Times(speed) if (0.001..=1000.0).contains(&speed) => Ok(Op::Play { speed: Some(speed) }),
            Speed::Times(speed) => {
                let problem = Problem::invalid(format!("speed is {speed}")).at("speed");
                Err(problem.expected("a number from 0.001 to 1000, or \"max\""))
            }
        }
    }
}

/// Lets a world step by itself.
#[utoipa::path(post, path = "/v1/worlds/{id}/play", tag = "run", request_body = Option<Play>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Played)))]
pub async fn play(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let key = key(&headers, uri.path(), &content)?;
    write(&state, &id, read_or_empty::<Play>(&content)?.op()?, key, None).await
}

/// Stops a world, also in the middle of steps that were asked for.
#[utoipa::path(post, path = "/v1/worlds/{id}/pause", tag = "run",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Played)))]
pub async fn pause(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let key = key(&headers, uri.path(), &content)?;
    read_or_empty::<Nothing>(&content)?;
    write(&state, &id, Op::Pause, key, None).await
}

/// Takes nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

async fn read(state: &State, id: &str, what: Read) -> Answered {
    state.scheduler.ask(id, |reply| Request::Read(what, reply)).await
}

/// An answer of about so many bytes a body. Memory is set aside for it until the client has it.
async fn read_large(state: &State, id: &str, each: usize, what: Read) -> AnsweredHeld {
    let bodies = state.scheduler.world(id).map_or(0, |handle| handle.status().bodies);
    let room = state.room.take(bodies * each)?;
    Ok(Held(read(state, id, what).await?, room))
}

/// How to write a state.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// `json`, `binary` (a full frame, as in a stream) or `npz`. Else by the header `Accept`.
    #[param(value_type = Option<String>)]
    format: Option<Format>,
}

/// Where every body is.
#[utoipa::path(get, path = "/v1/worlds/{id}/state", tag = "ask", params(("id" = String, Path), Written),
    responses((status = 200, content(
        (answers::State = "application/json"), (Vec<u8> = "application/octet-stream"), (Vec<u8> = "application/x-npz")))))]
pub async fn state(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    headers: HeaderMap,
    query: Parameters<Written>,
) -> AnsweredHeld {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let by_accept = if accept.contains("application/x-npz") {
        Format::Npz
    } else if accept.contains("application/octet-stream") {
        Format::Binary
    } else {
        Format::Json
    };
    let format = parameters(query)?.format.unwrap_or(by_accept);
    let each = if format == Format::Json { 320 } else { 48 };
    read_large(&state, &id, each, Read::State(format)).await
}

/// What every body is and looks like.
#[utoipa::path(get, path = "/v1/worlds/{id}/bodies", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::Bodies)))]
pub async fn bodies(FromState(state): FromState<State>, Path(id): Path<String>) -> AnsweredHeld {
    read_large(&state, &id, 512, Read::Bodies).await
}

/// Energy, momentum, penetration and the like, and the time of each stage.
#[utoipa::path(get, path = "/v1/worlds/{id}/metrics", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::Metrics)))]
pub async fn metrics(FromState(state): FromState<State>, Path(id): Path<String>) -> Answered {
    read(&state, &id, Read::Metrics).await
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Number of the first: `next` of the answer before. [default: 0]
    from: Option<u64>,
    /// Most events. [default: 1000]
    limit: Option<usize>,
}

/// What happened: contacts that began and ended, sensors, joints that broke. Of scenes with `settings.events`.
///
/// A world keeps the newest; `missed` says how many are gone. They are not kept over a restart.
#[utoipa::path(get, path = "/v1/worlds/{id}/events", tag = "ask", params(("id" = String, Path), Since),
    responses((status = 200, body = answers::Events)))]
pub async fn events(
    FromState(state): FromState<State>,
    Path(id): Path<String>,
    query: Parameters<Since>,
) -> AnsweredHeld {
    let since = parameters(query)?;
    let most = since.limit.unwrap_or(1000).clamp(1, 100_000);
    let room = state.room.take(most.min(state.config.limits.events) * 256)?;
    Ok(Held(read(&state, &id, Read::Events { from: since.from.unwrap_or(0), most }).await?, room))
}

/// Questions, answered in one go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// At least one.
    queries: Vec<QueryRecord>,
}

/// Rays, points, boxes and shapes against the world as it is now.
#[utoipa::path(post, path = "/v1/worlds/{id}/query", tag = "ask", request_body = Questions,
    params(("id" = String, Path)),
    responses((status = 200, body = answers::Answers)))]
pub async fn query(FromState(state): FromState<State>, Path(id): Path<String>, content: Content) -> Answered {
    let Questions { queries } = read_json(&content)?;
    let most = state.config.limits.queries;
    if queries.len() > most {
        let detail = format!("there are {} queries; at most {most} in a request", queries.len());
        return Err(Problem::limit(detail).at("queries"));
    }
    let queries: Result<Vec<_>, Problem> =
        queries.iter().enumerate().map(|(index, query)| query.query(index)).collect();
    read(&state, &id, Read::Query(queries?)).await
}

/// Which checkpoint.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Small letters, digits and hyphens, at most 64. [default: by the step]
    name: Option<String>,
}

fn check_name(name: &str) -> Result<(), Problem> {
    if crate::serve::store::is_id(name) {
        return Ok(());
    }
    let problem = Problem::invalid(format!("{name:?} is no name of a checkpoint")).at("name");
    Err(problem.expected(format!("small letters, digits and hyphens, at most {LONGEST_NAME}")))
}

/// Keeps the state of a world under a name.
#[utoipa::path(post, path = "/v1/worlds/{id}/checkpoint", tag = "keep", request_body = Option<Checkpoint>,
    params(("id" = String, Path)),
    responses((status = 200, body = answers::Saved)))]
pub async fn checkpoint(FromState(state): FromState<State>, Path(id): Path<String>, content: Content) -> Answered {
    let Checkpoint { name } = read_or_empty(&content)?;
    if let Some(name) = &name {
        check_name(name)?;
    }
    state.scheduler.ask(&id, |reply| Request::Save(name, reply)).await
}

/// Checkpoints with names.
#[utoipa::path(get, path = "/v1/worlds/{id}/checkpoints", tag = "keep", params(("id" = String, Path)),
    responses((status = 200, body = answers::Checkpoints)))]
pub async fn checkpoints(FromState(state): FromState<State>, Path(id): Path<String>) -> Answered {
    let missing = || Problem::not_found(format!("there is no world {id}"));
    state.scheduler.world(&id).ok_or_else(missing)?;
    let listing = in_store(&state, move |store| store.list(&id)).await?;
    Ok(Answer::json(&answers::Checkpoints { checkpoints: listing.saved }))
}

/// Asks the store, which may take a while, where nobody is kept waiting by that.
async fn in_store<T: Send + 'static>(
    state: &State,
    what: impl FnOnce(&Store) -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let shared = state.scheduler.shared().clone();
    let done = tokio::task::spawn_blocking(move || what(&shared.store)).await;
    done.map_err(|_| Problem::internal("a bug; it is in the log"))?.map_err(|error| Problem::of_store(&error))
}

/// Forgets a checkpoint.
#[utoipa::path(delete, path = "/v1/worlds/{id}/checkpoints/{name}", tag = "keep",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204)))]
pub async fn forget(
    FromState(state): FromState<State>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let missing = Problem::not_found(format!("there is no checkpoint {name:?} of a world {id}"));
    if state.scheduler.world(&id).is_none() {
        return Err(missing);
    }
    let forgotten = in_store(&state, move |store| {
        let found = store.list(&id)?.saved.contains(&name);
        if found {
            store.remove(&id, &saved_name(&name))?;
        }
        Ok(found)
    });
    if forgotten.await? { Ok(axum::http::StatusCode::NO_CONTENT.into_response()) } else { Err(missing) }
}

/// To which checkpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Its name.
    name: String,
}

/// Puts a world back to a checkpoint with a name. It stands still then.
#[utoipa::path(post, path = "/v1/worlds/{id}/restore", tag = "keep", request_body = Restore,
    params(("id" = String, Path)),
    responses((status = 200, body = answers::Restored)))]
pub async fn restore(FromState(state): FromState<State>, Path(id): Path<String>, content: Content) -> Answered {
    let Restore { name } = read_json(&content)?;
    check_name(&name)?;
    state.scheduler.ask(&id, |reply| Request::Restore(name, reply)).await
}

/// The built-in scenes, with their parameters.
#[utoipa::path(get, path = "/v1/scenes", tag = "scenes",
    responses((status = 200, body = answers::Scenes)))]
pub async fn scenes() -> Answered {
    let parameter = |p: &catalogue::Parameter| answers::SceneParameter {
        name: p.name,
        default: p.default,
        min: p.min,
        max: p.max,
        integer: p.integer,
        meaning: p.meaning,
    };
    let entry = |entry: &catalogue::Entry| answers::SceneEntry {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        steps: entry.steps,
        bodies: entry.body_count(&[]).ok(),
        parameters: entry.parameters.iter().map(parameter).collect(),
    };
    Ok(Answer::json(&answers::Scenes { scenes: catalogue::entries().iter().map(entry).collect() }))
}
