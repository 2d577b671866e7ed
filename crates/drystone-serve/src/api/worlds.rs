//! Worlds: made, asked, changed, kept.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::content::{Content, Held, command_bytes, read_aside, reading_bytes};
use super::guard::{Caller, OwnWorld};
use super::{Path, State, key, parameters, room};
use crate::answers;
use crate::config::Config;
use crate::op::{CommandRecord, Key, Op, read_commands, read_json, read_list};
use crate::problem::Problem;
use crate::scheduler::Place;
use crate::session::{
    self, Answer, Facts, Format, Handle, QueryRecord, Read, Request, Reserved, Shared, Status, check_limits,
};
use crate::store::{Store, Tombstone, saved_name};
use crate::unix_seconds;
use drystone::Scene;
use drystone_scenes::catalogue::{self, CatalogueError};
use drystone_scenes::file;

type Parameters<T> = Result<Query<T>, QueryRejection>;
pub(super) type Answered = Result<Answer, Problem>;
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
    /// `next` of the part before, or the id of a world.
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

/// Place in a list of worlds, which stays where it is when the world there is deleted.
#[derive(Debug, PartialEq)]
struct Cursor {
    created: u64,
    id: String,
}

impl Cursor {
    fn of(handle: &Handle) -> Self {
        Self { created: handle.facts.created, id: handle.id.clone() }
    }

    /// Reads `next` of an answer.
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

/// All worlds of the token, or of all tokens for one with `admin`.
#[utoipa::path(get, path = "/v1/worlds", tag = "worlds", params(Page),
    responses((status = 200, body = Worlds)))]
pub async fn list(
    FromState(state): FromState<State>,
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

/// Returns the status of a world as a caller may see it.
fn status(handle: &Handle, caller: &Caller) -> Status {
    let owner = caller.sees_owners().then(|| handle.facts.owner.clone());
    Status { owner, ..handle.status() }
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

/// Makes a world, which belongs to the owner of the token.
///
/// A client that goes away meanwhile finds it again with the same `Idempotency-Key`; without one it may be in the list.
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
    let length = content.len();
    let read = move || key(&headers, uri.path(), &content).map(|key| (key, content));
    let (key, content) = read_aside(&caller, length, read).await??;
    let begun = begin(&state, &caller, key, content)?;
    let (mut outcome, again) = match begun {
        Begun::There(handle) => return Ok(created(&handle, &caller, true)),
        Begun::Making(outcome, again) => (outcome, again),
    };
    // The task ends with an outcome, unless there is a bug in it.
    let outcome = outcome.wait_for(Option::is_some).await.map_err(|_| bug())?.clone().ok_or_else(bug)?;
    Ok(created(&outcome?, &caller, again))
}

fn bug() -> Problem {
    Problem::internal("a bug; it is in the log")
}

/// A creation that is under way.
#[derive(Debug)]
pub struct Making {
    hash: u64,
    outcome: watch::Receiver<Option<Made>>,
}

/// The world of a creation, or why there is none.
type Made = Result<Arc<Handle>, Problem>;

/// Creations that are under way, by owner and key.
pub type Creations = Mutex<HashMap<(String, String), Making>>;

enum Begun {
    /// It was made before, by a request with the same key.
    There(Arc<Handle>),
    /// Under way; by a request with the same key before this one, if so.
    Making(watch::Receiver<Option<Made>>, bool),
}

/// Begins to make a world, in a task of its own: a client that goes away does not end it, and finds the world again by
/// its key. Without a key it is given up as long as nothing is written.
fn begin(state: &State, caller: &Arc<Caller>, key: Option<Key>, content: Content) -> Result<Begun, Problem> {
    // Held until the key is among them: of two requests with one key one begins.
    let mut creations = state.creations.lock().unwrap_or_else(PoisonError::into_inner);
    let claim = key.as_ref().map(|key| (caller.owner.clone(), key.name.clone()));
    if let (Some(key), Some(claim)) = (&key, &claim) {
        let other = || Problem::invalid("the key was used for another request").at("Idempotency-Key");
        if let Some(making) = creations.get(claim) {
            return if making.hash == key.hash {
                Ok(Begun::Making(making.outcome.clone(), true))
            } else {
                Err(other())
            };
        }
        let is_it = |facts: &Facts| facts.owner == claim.0 && facts.key.as_ref().is_some_and(|k| k.name == key.name);
        if let Some(handle) = state.scheduler.worlds().into_iter().find(|handle| is_it(&handle.facts)) {
            let is_same = handle.facts.key.as_ref().is_some_and(|made| made.hash == key.hash);
            return if is_same { Ok(Begun::There(handle)) } else { Err(other()) };
        }
    }
    if state.scheduler.draining.load(Ordering::SeqCst) {
        return Err(Problem::unavailable("the service is stopping"));
    }
    let place = state.scheduler.reserve(&caller.owner, caller.worlds)?;
    let (done, outcome) = watch::channel(None);
    let claim = claim.zip(key.as_ref()).map(|(claim, key)| {
        creations.insert(claim.clone(), Making { hash: key.hash, outcome: outcome.clone() });
        Claim(state.creations.clone(), claim)
    });
    drop(creations);
    let (state, caller) = (state.clone(), caller.clone());
    tokio::spawn(async move {
        let made = make(&state, &caller, key, content, place, &done).await;
        if let Err(problem) = &made {
            tracing::debug!(status = problem.status, detail = problem.detail, "a world was not made");
        }
        // First the outcome, then the key: one who asks in between gets the outcome.
        done.send_replace(Some(made));
        drop(claim);
    });
    Ok(Begun::Making(outcome, false))
}

/// Makes a world: it is on disk, in the list, and has had its first turn; or there is none.
async fn make(
    state: &State,
    caller: &Caller,
    key: Option<Key>,
    content: Content,
    place: Place,
    done: &watch::Sender<Option<Made>>,
) -> Made {
    // Reading a large scene takes a while and memory: few at a time, and one of a token.
    let own = caller.creating.acquire().await.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let permit = state.creating.clone().acquire_owned().await;
    let permit = permit.map_err(|_| Problem::unavailable("the service is stopping"))?;
    if done.receiver_count() == 0 {
        return Err(Problem::conflict("the client has gone"));
    }
    if state.scheduler.draining.load(Ordering::SeqCst) {
        return Err(Problem::unavailable("the service is stopping"));
    }
    let (shared, owner) = (state.scheduler.shared().clone(), caller.owner.clone());
    let stored = tokio::task::spawn_blocking(move || {
        let stored = store(&shared, &content, key, owner);
        drop(content);
        stored
    });
    let (id, facts, reserved) = stored.await.map_err(|_| bug())??;
    state.scheduler.add(&id, facts, place);
    // From here on the world itself is counted.
    drop(reserved);
    drop((permit, own));
    // It is there once it has had its first turn.
    if let Err(problem) = state.scheduler.ask(&id, |reply| Request::Read(Read::Ping, reply)).await {
        if problem.status < 500 {
            let _ = state.scheduler.ask(&id, |reply| Request::Delete(None, reply)).await;
        }
        return Err(problem);
    }
    state.scheduler.world(&id).ok_or_else(|| Problem::not_found("the world was deleted at once"))
}

/// A key that is in use, until dropped.
struct Claim(Arc<Creations>, (String, String));

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

fn created(handle: &Arc<Handle>, caller: &Caller, again: bool) -> Response {
    let mut answer = Answer::json(&status(handle, caller));
    (answer.status, answer.again) = (201, again);
    let mut response = answer.into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/worlds/{}", handle.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Reads the scene and writes it to the store. Its bodies are counted until the world is added.
fn store(
    shared: &Shared,
    content: &[u8],
    key: Option<Key>,
    owner: String,
) -> Result<(String, Facts, Reserved), Problem> {
    let text = std::str::from_utf8(content).map_err(|error| Problem::malformed(format!("not UTF-8: {error}")))?;
    let (scene, name) = read_scene(text, shared, &owner)?;
    let reserved = check_limits(&scene, shared, &owner)?;
    let name = match name {
        Some(name) if name.len() > LONGEST_NAME => {
            let detail = format!("the name is longer than {LONGEST_NAME} bytes");
            return Err(Problem::invalid(detail).at("name"));
        }
        Some(name) => name,
        None => scene.name.clone(),
    };
    let created = unix_seconds();
    let facts = Facts { name, created, key, owner, bodies: scene.most_bodies() };
    let text = file::write_json(&scene);
    let bytes = serde_json::to_vec(&facts).map_err(|error| Problem::internal(error.to_string()))?;
    let id = new_id();
    shared.store.create(&id, &bytes, text.as_bytes()).map_err(|error| Problem::of_store(&error))?;
    Ok((id, facts, reserved))
}

/// 64 random bits: not given out again.
pub fn new_id() -> String {
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
fn read_scene(text: &str, shared: &Shared, owner: &str) -> Result<(Scene, Option<String>), Problem> {
    /// Enough to see which of the two it is.
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        scene: Option<&'a RawValue>,
    }
    // An array would do for a struct, too.
    let is_object = text.trim_start().starts_with('{');
    let is_wrapped = match is_object.then(|| serde_json::from_str::<Peek>(text)) {
        Some(Ok(peek)) => peek.scene.is_some(),
        // Which of the two it was to become is not known.
        Some(Err(error)) if error.is_eof() || error.is_syntax() => return Err(Problem::no_json(&error)),
        Some(Err(_)) | None => false,
    };
    if !is_wrapped {
        return Ok((file::parse(text, "scene.json")?, None));
    }
    let NewWorld { scene, name } = read_json(text.as_bytes())?;
    if let Ok(spec) = serde_json::from_str::<String>(scene.get()) {
        let of_catalogue = |error: CatalogueError| match error {
            CatalogueError::TooManyBodies { .. } => Problem::limit(error.to_string()).at("scene"),
            CatalogueError::UnknownScene { .. } => {
                let error = error.to_string();
                let mark = if error.ends_with('?') { "" } else { ";" };
                Problem::invalid(format!("{error}{mark} GET /v1/scenes lists all of them")).at("scene")
            }
            error => Problem::invalid(error.to_string()).at("scene"),
        };
        let bodies = catalogue::check(&spec).map_err(of_catalogue)?;
        let most = shared.config.limits.bodies;
        if bodies > most as u64 {
            let detail = format!("the scene has {bodies} bodies; at most {most} in a world of this service");
            return Err(Problem::limit(detail).at("scene"));
        }
        // Before it takes memory. It is counted once it is there.
        drop(shared.reserve(owner, usize::try_from(bodies).unwrap_or(usize::MAX))?);
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
pub async fn show(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Answered {
    let missing = || Problem::not_found(format!("there is no world {id}"));
    let handle = state.scheduler.world(&id).ok_or_else(missing)?;
    Ok(Answer::json(&status(&handle, &caller)))
}

/// Forgets a world and all that is kept of it.
#[utoipa::path(delete, path = "/v1/worlds/{id}", tag = "worlds",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 204)))]
pub async fn delete(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    own: Result<OwnWorld, Problem>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
    let key = key(&headers, uri.path(), &[])?;
    let at = unix_seconds();
    let tombstone = key.clone().map(|key| Tombstone { key, caller: caller.owner.clone(), at });
    let deleted = match own {
        Ok(OwnWorld(id)) => state.scheduler.ask(&id, |reply| Request::Delete(tombstone, reply)).await,
        Err(problem) => Err(problem),
    };
    match (deleted, key) {
        // The first request with this key has done it, perhaps.
        (Err(problem), Some(key)) if problem.status == 404 && crate::store::is_id(&id) => {
            let tombstone = in_store(&state, &caller, move |store| store.tombstone(&id)).await?;
            match tombstone.filter(|tombstone| tombstone.key.name == key.name && tombstone.caller == caller.owner) {
                Some(tombstone) if tombstone.key == key => {
                    Ok(Answer { again: true, ..Answer::told(204, &Value::Null) })
                }
                Some(_) => Err(Problem::invalid("the key was used for another request").at("Idempotency-Key")),
                None => Err(problem),
            }
        }
        (deleted, _) => deleted,
    }
}

/// Reads a body: a large one where nobody is kept waiting by that, with memory set aside for it. That counts until the
/// content is dropped, which is given back for as long as what was read takes as much.
pub(super) async fn read_body<T: Send + 'static>(
    mut content: Content,
    read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Content), Problem> {
    content.charge(reading_bytes(content.len()))?;
    let (caller, length) = (content.caller().clone(), content.len());
    read_aside(&caller, length, move || Ok((read(&content)?, content))).await?
}

/// Does once for a key what is not in the log of a world; the answer is, before anybody has it. Goes on if the client goes.
async fn once(
    state: &State,
    id: &str,
    key: Option<Key>,
    work: impl Future<Output = Answered> + Send + 'static,
) -> Answered {
    let Some(key) = key else { return work.await };
    let missing = || Problem::not_found(format!("there is no world {id}"));
    let claim = state.scheduler.world(id).ok_or_else(missing)?.claim(&key)?;
    let (state, id) = (state.clone(), id.to_owned());
    let done = tokio::spawn(async move {
        let known = state.scheduler.ask(&id, |reply| Request::Recall(key.clone(), reply)).await?;
        if !known.is_unknown() {
            return Ok(known);
        }
        let answer = work.await?;
        let told = serde_json::from_slice(&answer.body).unwrap_or_default();
        let op = Op::Told { status: answer.status, answer: told };
        let kept = write(&state, &id, op, Some(key), None).await;
        drop(claim);
        kept.map_err(|problem| {
            let detail = format!("it was done, and its answer could not be kept: {}", problem.detail);
            Problem::away(detail)
        })
    });
    done.await.map_err(|_| Problem::internal("a bug; it is in the log"))?
}

async fn write(state: &State, id: &str, op: Op, key: Option<Key>, deadline: Option<Instant>) -> Answered {
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
        Ok((Op::Step { steps: self.steps }, check_steps(self.steps, self.timeout, state)?))
    }
}

/// Checks a number of steps and the seconds that they may take. Returns until when that is.
pub(super) fn check_steps(steps: u64, timeout: Option<f64>, state: &State) -> Result<Instant, Problem> {
    let limits = &state.config.limits;
    if !(1..=limits.steps).contains(&steps) {
        let detail = format!("steps is {steps}; expected 1 to {}", limits.steps);
        return Err(Problem::limit(detail).at("steps"));
    }
    let most = limits.step_seconds;
    let seconds = timeout.unwrap_or(most);
    if !(seconds > 0.0 && seconds <= most) {
        let detail = format!("timeout is {seconds}; expected a number above 0, up to {most}");
        return Err(Problem::invalid(detail).at("timeout"));
    }
    Ok(Instant::now() + Duration::from_secs_f64(seconds))
}

/// Steps a world, and answers when that is done.
///
/// Who goes away without an `Idempotency-Key` stops the steps; with one they are done.
#[utoipa::path(post, path = "/v1/worlds/{id}/step", tag = "run", request_body = Option<Step>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = Stepped)))]
pub async fn step(
    FromState(state): FromState<State>,
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let read = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read_or_empty::<Step>(body)?));
    let ((key, step), content) = read_body(content, read).await?;
    drop(content);
    let (op, deadline) = step.op(&state)?;
    write(&state, &id, op, key, Some(deadline)).await
}

/// A body that may be left out.
pub(super) fn read_or_empty<'de, T: Deserialize<'de>>(content: &'de [u8]) -> Result<T, Problem> {
    read_json(if content.is_empty() { b"{}" } else { content })
}

/// Commands, done one after the other.
#[derive(Debug, ToSchema)]
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
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let config = state.config.clone();
    let read = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read_commands(body, &config.limits)?));
    let ((key, commands), mut content) = read_body(content, read).await?;
    content.charge(command_bytes(commands.len()))?;
    // Its memory counts as long as the commands wait, also if the client goes.
    let done = tokio::spawn(async move {
        let answer = write(&state, &id, Op::Commands(commands), key, None).await;
        drop(content);
        answer
    });
    done.await.map_err(|_| Problem::internal("a bug; it is in the log"))?
}

/// How fast to play.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Times real time, 0.001 to 1000; or `"max"`, as fast as it goes. [default: 1]
    #[serde(default)]
    #[schema(schema_with = speed_schema)]
    pub speed: Speed,
    /// Seconds without a stream or a request about the world, after which it pauses, up to 1e9; 0: it plays on.
    /// [default: pause_unwatched_seconds]
    #[schema(minimum = 0)]
    pub unwatched: Option<f64>,
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
    pub fn op(&self, config: &Config) -> Result<Op, Problem> {
        let speed = match self.speed {
            Speed::Word(Most::Max) => None,
            Speed::Times(speed) if (0.001..=1000.0).contains(&speed) => Some(speed),
            Speed::Times(speed) => {
                let problem = Problem::invalid(format!("speed is {speed}")).at("speed");
                return Err(problem.expected("a number from 0.001 to 1000, or \"max\""));
            }
        };
        let seconds = self.unwatched.unwrap_or(config.pause_unwatched_seconds);
        if !(0.0..=1e9).contains(&seconds) {
            let problem = Problem::invalid(format!("unwatched is {seconds}")).at("unwatched");
            return Err(problem.expected("a number from 0 to 1e9"));
        }
        Ok(Op::Play { speed, unwatched: (seconds > 0.0).then_some(seconds) })
    }
}

/// Lets a world step by itself.
#[utoipa::path(post, path = "/v1/worlds/{id}/play", tag = "run", request_body = Option<Play>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Played)))]
pub async fn play(
    FromState(state): FromState<State>,
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let config = state.config.clone();
    let read = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read_or_empty::<Play>(body)?.op(&config)?));
    let ((key, op), content) = read_body(content, read).await?;
    drop(content);
    write(&state, &id, op, key, None).await
}

/// Stops a world, also in the middle of steps that were asked for.
#[utoipa::path(post, path = "/v1/worlds/{id}/pause", tag = "run",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Played)))]
pub async fn pause(
    FromState(state): FromState<State>,
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let read = move |body: &[u8]| {
        read_or_empty::<Nothing>(body)?;
        key(&headers, uri.path(), body)
    };
    let (key, content) = read_body(content, read).await?;
    drop(content);
    write(&state, &id, Op::Pause, key, None).await
}

/// Takes nothing.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

async fn read(state: &State, id: &str, what: Read) -> Answered {
    state.scheduler.ask(id, |reply| Request::Read(what, reply)).await
}

/// Memory that is set aside while an answer grows.
type Growing = Arc<Mutex<Option<room::Reserved>>>;

/// Returns what sets memory of a token aside while an answer grows, but for the first `free` bytes, and where it is.
fn charging(caller: Arc<Caller>, free: usize) -> (session::Charge, Growing) {
    let held = Growing::default();
    let (own, mut all) = (held.clone(), 0_usize);
    let charge = move |bytes: usize| {
        let mut held = own.lock().unwrap_or_else(PoisonError::into_inner);
        all = all.saturating_add(bytes);
        let most = caller.room.pot_bytes();
        if all > most {
            let detail = format!("the answer takes about {all} bytes; at most {most} (limits.memory_bytes)");
            return Err(Problem::limit(detail));
        }
        match &mut *held {
            Some(permit) => permit.merge(caller.room.take(bytes)?),
            None if all > free => *held = Some(caller.room.take(all)?),
            None => {}
        }
        Ok(())
    };
    (Box::new(charge), held)
}

/// Returns an answer with the memory that was set aside for it, until the client has it.
fn held(answer: Answer, growing: &Growing) -> Response {
    let permit = growing.lock().unwrap_or_else(PoisonError::into_inner).take();
    match permit {
        Some(permit) => Held(answer, permit).into_response(),
        None => answer.into_response(),
    }
}

/// Asks for an answer that may be large. The world sets memory aside for it before it is made.
async fn read_large(
    state: &State,
    caller: Arc<Caller>,
    id: &str,
    what: impl FnOnce(session::Charge) -> Read,
) -> Result<Response, Problem> {
    let (charge, growing) = charging(caller, 0);
    let answer = read(state, id, what(charge)).await?;
    Ok(held(answer, &growing))
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
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    headers: HeaderMap,
    query: Parameters<Written>,
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

/// What every body is and looks like.
#[utoipa::path(get, path = "/v1/worlds/{id}/bodies", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::Bodies)))]
pub async fn bodies(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    read_large(&state, caller, &id, Read::Bodies).await
}

/// Kind, bodies and anchors of every joint.
///
/// Anchors are in the frames of the bodies, so that a client that follows the stream knows where they are without asking
/// again. Broken joints are in the list until they are removed. Commands to a joint show after the next step.
#[utoipa::path(get, path = "/v1/worlds/{id}/joints", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::Joints)))]
pub async fn joints(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    read_large(&state, caller, &id, Read::Joints).await
}

/// Energy, momentum, penetration and the like, and the time of each stage.
#[utoipa::path(get, path = "/v1/worlds/{id}/metrics", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = answers::Metrics)))]
pub async fn metrics(FromState(state): FromState<State>, OwnWorld(id): OwnWorld) -> Answered {
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
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    query: Parameters<Since>,
) -> AnsweredHeld {
    let since = parameters(query)?;
    let most = since.limit.unwrap_or(1000).clamp(1, 100_000);
    let room = caller.room.take(most.min(state.config.limits.events) * 256)?;
    Ok(Held(read(&state, &id, Read::Events { from: since.from.unwrap_or(0), most }).await?, room))
}

/// Questions, answered in one go.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the description; it is read by hand")]
pub struct Questions {
    /// At least one.
    queries: Vec<QueryRecord>,
}

/// Rays, points, boxes and shapes against the world as it is now.
///
/// All queries of a request see the same state; the world stands still until they are answered. Together they may find
/// `limits.found` shapes and take `limits.query_seconds` of computing.
#[utoipa::path(post, path = "/v1/worlds/{id}/query", tag = "ask", request_body = Questions,
    params(("id" = String, Path)),
    responses((status = 200, body = answers::Answers)))]
pub async fn query(
    FromState(state): FromState<State>,
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
    // Memory for the answer is set aside as it grows, once it is not small.
    let (charge, growing) = charging(caller, room::MAX_SMALL);
    let answer = read(&state, &id, Read::Query(session::Questions { queries, charge })).await?;
    drop(content);
    Ok(held(answer, &growing))
}

/// Which checkpoint.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Small letters, digits and hyphens, at most 64. [default: by the step]
    name: Option<String>,
}

fn check_name(name: &str) -> Result<(), Problem> {
    if crate::store::is_id(name) {
        return Ok(());
    }
    let problem = Problem::invalid(format!("{name:?} is no name of a checkpoint")).at("name");
    Err(problem.expected(format!("small letters, digits and hyphens, at most {LONGEST_NAME}")))
}

/// Keeps the state of a world under a name.
#[utoipa::path(post, path = "/v1/worlds/{id}/checkpoint", tag = "keep", request_body = Option<Checkpoint>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Saved)))]
pub async fn checkpoint(
    FromState(state): FromState<State>,
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let read = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read_or_empty::<Checkpoint>(body)?));
    let ((key, Checkpoint { name }), content) = read_body(content, read).await?;
    drop(content);
    if let Some(name) = &name {
        check_name(name)?;
    }
    let (own, world) = (state.clone(), id.clone());
    let save = async move { own.scheduler.ask(&world, |reply| Request::Save(name, reply)).await };
    once(&state, &id, key, save).await
}

/// Checkpoints with names.
#[utoipa::path(get, path = "/v1/worlds/{id}/checkpoints", tag = "keep", params(("id" = String, Path)),
    responses((status = 200, body = answers::Checkpoints)))]
pub async fn checkpoints(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Answered {
    let missing = || Problem::not_found(format!("there is no world {id}"));
    state.scheduler.world(&id).ok_or_else(missing)?;
    let listing = in_store(&state, &caller, move |store| store.list(&id)).await?;
    Ok(Answer::json(&answers::Checkpoints { checkpoints: listing.saved }))
}

/// Asks the store, which may take a while, where nobody is kept waiting by that.
async fn in_store<T: Send + 'static>(
    state: &State,
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
    done.map_err(|_| Problem::internal("a bug; it is in the log"))?.map_err(|error| Problem::of_store(&error))
}

/// Forgets a checkpoint.
#[utoipa::path(delete, path = "/v1/worlds/{id}/checkpoints/{name}", tag = "keep",
    params(("id" = String, Path), ("name" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 204)))]
pub async fn forget(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    Path((_, name)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Answered {
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
        if forgotten.await? { Ok(Answer::told(204, &Value::Null)) } else { Err(missing) }
    };
    once(&state, &id, key, forget).await
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
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "To ask again, once")),
    responses((status = 200, body = answers::Restored)))]
pub async fn restore(
    FromState(state): FromState<State>,
    OwnWorld(id): OwnWorld,
    uri: Uri,
    headers: HeaderMap,
    content: Content,
) -> Answered {
    let read = move |body: &[u8]| Ok((key(&headers, uri.path(), body)?, read_json::<Restore>(body)?));
    let ((key, Restore { name }), content) = read_body(content, read).await?;
    drop(content);
    check_name(&name)?;
    state.scheduler.ask(&id, |reply| Request::Restore(name, key, reply)).await
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
