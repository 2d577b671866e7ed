//! Creation of worlds.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::asked::MAX_NAME_LENGTH;
use super::content::{Content, read_aside};
use super::guard::Caller;
use super::worlds::status;
use super::{ApiState, key};
use crate::op::{RequestKey, read_json};
use crate::problem::Problem;
use crate::scheduler::CreationPermit;
use crate::session::{Answer, Handle, Read, ReservedBodies, SessionRequest, Shared, Status, WorldFacts, check_limits};
use crate::unix_seconds;
use drystone::Scene;
use drystone_scenes::catalogue::{self, CatalogueError};
use drystone_scenes::file;

/// New world: its scene and its name. The content of a scene file is accepted, too.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorld {
    /// Built-in scene with its parameters, such as `"large_pyramid:base=20"`, or a scene as in a scene file
    /// (`/api/scene.schema.json`).
    #[schema(schema_with = scene_schema)]
    scene: Box<RawValue>,
    /// Name for display. [default: name of the scene]
    name: Option<String>,
}

/// Returns the schema of a scene in a request: a string or a scene.
fn scene_schema() -> RefOr<Schema> {
    OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::String)).item(Ref::from_schema_name("Scene")).into()
}

/// Body of a request that creates a world.
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

/// Creates a world, which belongs to the owner of the token.
///
/// A client that disconnects meanwhile finds the world by a retry with the same `Idempotency-Key`; without a key it
/// may be in the list. The body is a scene (`/api/scene.schema.json`), or `{"scene": "large_pyramid:base=20"}`.
#[utoipa::path(post, path = "/v1/worlds", tag = "worlds", request_body = WorldBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 201, body = Status)))]
pub async fn create(
    FromState(state): FromState<ApiState>,
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
    // The task always ends with a result, unless it panics.
    let outcome = outcome.wait_for(Option::is_some).await.map_err(|_| bug())?.clone().ok_or_else(bug)?;
    Ok(created(&outcome?, &caller, again))
}

fn bug() -> Problem {
    Problem::internal("internal server error; see the log")
}

/// Creation in progress.
#[derive(Debug)]
pub struct Making {
    hash: u64,
    outcome: watch::Receiver<Option<CreationResult>>,
}

/// Created world, or the problem.
type CreationResult = Result<Arc<Handle>, Problem>;

/// Creations in progress, by owner and key.
pub type Creations = Mutex<HashMap<(String, String), Making>>;

enum Begun {
    /// The world was created before, by a request with the same key.
    There(Arc<Handle>),
    /// In progress; true if an earlier request with the same key has begun it.
    Making(watch::Receiver<Option<CreationResult>>, bool),
}

/// Begins to create a world in a separate task: if the client disconnects, the task continues, and a retry finds the
/// world by its key. Without a key the creation is cancelled as long as nothing has been written.
fn begin(state: &ApiState, caller: &Arc<Caller>, key: Option<RequestKey>, content: Content) -> Result<Begun, Problem> {
    // Held until the key is among them: of two requests with one key only one begins.
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
        let is_it =
            |facts: &WorldFacts| facts.owner == claim.0 && facts.key.as_ref().is_some_and(|k| k.name == key.name);
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
        CreationKey(state.creations.clone(), claim)
    });
    drop(creations);
    let (state, caller) = (state.clone(), caller.clone());
    tokio::spawn(async move {
        let made = make(&state, &caller, key, content, place, &done).await;
        if let Err(problem) = &made {
            tracing::debug!(status = problem.status, detail = problem.detail, "a world was not made");
        }
        // First the result, then the key: a request in between gets the result.
        done.send_replace(Some(made));
        drop(claim);
    });
    Ok(Begun::Making(outcome, false))
}

/// Creates a world. On success it is on disk, in the list, and has had its first time slice; otherwise nothing
/// remains.
async fn make(
    state: &ApiState,
    caller: &Caller,
    key: Option<RequestKey>,
    content: Content,
    place: CreationPermit,
    done: &watch::Sender<Option<CreationResult>>,
) -> CreationResult {
    // Parsing a large scene takes time and memory: few at the same time, and one per token.
    let own = caller.creating.acquire().await.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let permit = state.creating.clone().acquire_owned().await;
    let permit = permit.map_err(|_| Problem::unavailable("the service is stopping"))?;
    if done.receiver_count() == 0 {
        return Err(Problem::conflict("the client has disconnected"));
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
    // The world is complete after its first time slice.
    if let Err(problem) = state.scheduler.ask(&id, |reply| SessionRequest::Read(Read::Ping, reply)).await {
        if problem.status < 500 {
            let _ = state.scheduler.ask(&id, |reply| SessionRequest::Delete(None, reply)).await;
        }
        return Err(problem);
    }
    state.scheduler.world(&id).ok_or_else(|| Problem::not_found("the world was deleted right after its creation"))
}

/// Key in use, until dropped.
struct CreationKey(Arc<Creations>, (String, String));

impl Drop for CreationKey {
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

/// Parses the scene and writes it to the store. Its bodies are counted until the world is added.
fn store(
    shared: &Shared,
    content: &[u8],
    key: Option<RequestKey>,
    owner: String,
) -> Result<(String, WorldFacts, ReservedBodies), Problem> {
    let text = std::str::from_utf8(content).map_err(|error| Problem::malformed(format!("not UTF-8: {error}")))?;
    let (scene, name) = read_scene(text, shared, &owner)?;
    let reserved = check_limits(&scene, shared, &owner)?;
    let name = match name {
        Some(name) if name.len() > MAX_NAME_LENGTH => {
            let detail = format!("the name is longer than {MAX_NAME_LENGTH} bytes");
            return Err(Problem::invalid(detail).at("name"));
        }
        Some(name) => name,
        None => scene.name.clone(),
    };
    let created = unix_seconds();
    let facts = WorldFacts { name, created, key, owner, bodies: scene.most_parts().bodies };
    let text = file::write_json(&scene);
    let bytes = serde_json::to_vec(&facts).map_err(|error| Problem::internal(error.to_string()))?;
    let id = new_id();
    shared.store.create(&id, &bytes, text.as_bytes()).map_err(|error| Problem::of_store(&error))?;
    Ok((id, facts, reserved))
}

/// Returns a new id of 64 random bits, which is practically unique.
pub fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    // Each hasher has a fresh random key from the operating system.
    let mut bits = RandomState::new().build_hasher().finish();
    let mut id = String::from("w");
    for _ in 0..13 {
        id.push(char::from(LETTERS[(bits & 31) as usize]));
        bits >>= 5;
    }
    id
}

/// Returns the problem of a spec that names no scene, or that sets its parameters to what they cannot be.
pub(super) fn problem_of_catalogue(error: &CatalogueError) -> Problem {
    match error {
        CatalogueError::TooManyBodies { .. } => Problem::limit(error.to_string()),
        CatalogueError::UnknownScene { .. } => {
            let error = error.to_string();
            let mark = if error.ends_with('?') { "" } else { ";" };
            Problem::invalid(format!("{error}{mark} GET /v1/scenes lists all of them"))
        }
        error => Problem::invalid(error.to_string()),
    }
}

/// Returns the scene of a body, and the name beside it.
fn read_scene(text: &str, shared: &Shared, owner: &str) -> Result<(Scene, Option<String>), Problem> {
    /// Key that distinguishes the two forms.
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        scene: Option<&'a RawValue>,
    }
    // An array would deserialize into a struct, too.
    let is_object = text.trim_start().starts_with('{');
    let is_wrapped = match is_object.then(|| serde_json::from_str::<Peek>(text)) {
        Some(Ok(peek)) => peek.scene.is_some(),
        // The intended form is unknown.
        Some(Err(error)) if error.is_eof() || error.is_syntax() => return Err(Problem::no_json(&error)),
        Some(Err(_)) | None => false,
    };
    if !is_wrapped {
        return Ok((file::parse(text, "scene.json")?, None));
    }
    let NewWorld { scene, name } = read_json(text.as_bytes())?;
    if let Ok(spec) = serde_json::from_str::<String>(scene.get()) {
        let of_catalogue = |error: CatalogueError| problem_of_catalogue(&error).at("scene");
        let bodies = catalogue::check(&spec).map_err(of_catalogue)?;
        let most = shared.config.limits.bodies;
        if bodies > most as u64 {
            let detail = format!("the scene has {bodies} bodies; at most {most} in a world of this service");
            return Err(Problem::limit(detail).at("scene"));
        }
        // Checked before it takes memory. It is counted after it is built.
        drop(shared.reserve(owner, usize::try_from(bodies).unwrap_or(usize::MAX))?);
        return Ok((catalogue::build(&spec).map_err(of_catalogue)?, name));
    }
    let scene = file::parse(scene.get(), "scene.json").map_err(|error| {
        // Line and column are relative to the scene.
        Problem { line: None, column: None, ..Problem::from(error) }.within("scene")
    })?;
    Ok((scene, name))
}
