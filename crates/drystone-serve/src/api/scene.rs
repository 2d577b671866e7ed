//! Handler that returns a world's current state as a scene.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State as FromState};
use axum::response::Response;
use serde_json::Value;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::ask::{Growing, charging, read, with_reserved};
use super::asked::in_store;
use super::guard::{Caller, OwnWorld};
use super::{ApiState, PathParameters};
use crate::answers::{BodyDetailsAnswer, BodyJoint};
use crate::op::BodySelector;
use crate::problem::Problem;
use crate::session::{Answer, PastBody, PastState, Read};
use crate::store::WORLD;
use drystone::{BodyId, Joint, JointId, NamedMaterial, Scene};
use drystone_scenes::file;
use drystone_scenes::saved::Present;

/// Reference to the schema of a scene, which is defined elsewhere.
struct SceneNow;

impl PartialSchema for SceneNow {
    fn schema() -> RefOr<Schema> {
        Ref::from_schema_name("Scene").into()
    }
}

impl ToSchema for SceneNow {}

/// Returns the world as a scene that starts in its current state.
///
/// Bodies are in the order of `bodies`, with their current poses and velocities; joints have their current lengths,
/// speeds and targets; gravity is the current one. Broken joints and pointers are omitted. Contacts are not part of
/// a scene, so a world created from it behaves similarly but not bit by bit the same; use a checkpoint for that.
#[utoipa::path(get, path = "/v1/worlds/{id}/scene", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = inline(SceneNow))))]
pub async fn scene(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    let (text, growing) = present(&state, &caller, id, |scene| file::write_json(&scene)).await?;
    let body = text.into_bytes();
    Ok(with_reserved(Answer { status: 200, content_type: "application/json", body, again: false }, &growing))
}

/// Returns what a function makes of the scene that a world has become, and the memory reserved for it. The function
/// runs on a thread that may block.
pub(super) async fn present<T: Send + 'static>(
    state: &ApiState,
    caller: &Arc<Caller>,
    id: String,
    make: impl FnOnce(Scene) -> T + Send + 'static,
) -> Result<(T, Growing), Problem> {
    let (charge, growing) = charging(caller.clone(), 0);
    let past = Arc::new(Mutex::new(None));
    let own = past.clone();
    let hand_over = move |past: PastState| *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(past);
    read(state, &id, Read::Past(Box::new(hand_over), charge)).await?;
    let past: Option<PastState> = past.lock().unwrap_or_else(PoisonError::into_inner).take();
    let past = past.ok_or_else(|| Problem::internal("the session returned no state"))?;
    let made = in_store(state, caller, move |store| {
        let (_, text) = store.read(&id, WORLD)?;
        // Parsing a large scene takes as long as reading it, and also happens on a thread that may block.
        let first = first_scene(text).map_err(Problem::damaged);
        Ok(first.and_then(|first| past.scene(&first).map_err(Problem::conflict)).map(make))
    });
    Ok((made.await??, growing))
}

/// Returns a body in its current state, written as in a scene, with its joints.
///
/// `replace` takes the body, and `join` the joints: to change something that no command changes, replace the body with
/// other numbers and add its joints again, or remove a joint and add it again. Joints that are broken, and pointers,
/// are omitted.
#[utoipa::path(get, path = "/v1/worlds/{id}/bodies/{body}", tag = "ask",
    params(("id" = String, Path), ("body" = String, Path, description = "Id or name of the body, or its slot")),
    responses((status = 200, body = BodyDetailsAnswer)))]
pub async fn body(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
    PathParameters((_, body)): PathParameters<(String, String)>,
) -> Result<Response, Problem> {
    let (charge, growing) = charging(caller.clone(), 0);
    let past = Arc::new(Mutex::new(None));
    let own = past.clone();
    let hand_over = move |past: PastBody| *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(past);
    let selector = body.parse().map_or_else(|_| BodySelector::Name(body.clone()), BodySelector::Slot);
    read(&state, &id, Read::Body(selector, Box::new(hand_over), charge)).await?;
    let past: Option<PastBody> = past.lock().unwrap_or_else(PoisonError::into_inner).take();
    let past = past.ok_or_else(|| Problem::internal("the session returned no state"))?;
    let details = in_store(&state, &caller, move |store| {
        let (_, text) = store.read(&id, WORLD)?;
        Ok(first_scene(text).map_err(Problem::damaged).and_then(|first| {
            let (step, own, ids) = (past.step, past.id, past.ids.clone());
            let present = past.present(&first).map_err(Problem::conflict)?;
            let present = present.ok_or_else(|| Problem::not_found(format!("there is no body {own}")))?;
            Ok(details(present, step, own, &ids, first.materials))
        }))
    });
    let answer = Answer::json(&details.await??);
    Ok(with_reserved(answer, &growing))
}

/// Returns a body with its joints, written as in a scene.
fn details(
    present: Present,
    step: u64,
    id: BodyId,
    ids: &[Option<BodyId>],
    materials: Vec<NamedMaterial>,
) -> BodyDetailsAnswer {
    let name = |slot: usize| ids.get(slot).copied().flatten().map(|id| id.to_string());
    let (joint_ids, joints): (Vec<JointId>, Vec<Joint>) = present.joints.into_iter().unzip();
    let ends: Vec<(Option<usize>, usize)> = joints.iter().map(|joint| (joint.a, joint.b)).collect();
    let scene = Scene { materials, bodies: vec![present.body], joints, ..Scene::default() };
    // The text is written by this service, and has one body and these joints.
    let mut scene: Value = serde_json::from_str(&file::write_json(&scene)).unwrap_or_default();
    let body = scene["bodies"][0].take();
    let mut joint = |place: usize| {
        let mut joint = scene["joints"][place].take();
        if let Some(keys) = joint.as_object_mut() {
            keys.retain(|key, _| key != "a" && key != "b");
        }
        joint
    };
    let joints = joint_ids.iter().zip(ends).enumerate().filter_map(|(place, (id, (a, b)))| {
        Some(BodyJoint { id: id.to_string(), a: a.and_then(name), b: name(b)?, joint: joint(place) })
    });
    let joints = joints.collect();
    BodyDetailsAnswer { step, id: id.to_string(), body, joints }
}

/// Parses the scene from which a world was created.
fn first_scene(text: Vec<u8>) -> Result<Scene, String> {
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    file::parse(&text, "scene.json").map_err(|error| error.to_string())
}
