//! Handler that returns a world's current state as a scene.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State as FromState};
use axum::response::Response;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::ApiState;
use super::ask::{charging, read, with_reserved};
use super::asked::in_store;
use super::guard::{Caller, OwnWorld};
use crate::problem::Problem;
use crate::session::{Answer, PastState, Read};
use crate::store::WORLD;
use drystone::Scene;
use drystone_scenes::file;

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
    let (charge, growing) = charging(caller.clone(), 0);
    let past = Arc::new(Mutex::new(None));
    let own = past.clone();
    let hand_over = move |past: PastState| *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(past);
    read(&state, &id, Read::Past(Box::new(hand_over), charge)).await?;
    let past: Option<PastState> = past.lock().unwrap_or_else(PoisonError::into_inner).take();
    let past = past.ok_or_else(|| Problem::internal("the session returned no state"))?;
    let text = in_store(&state, &caller, move |store| {
        let (_, text) = store.read(&id, WORLD)?;
        // Parsing a large scene takes as long as reading it, and also happens on a thread that may block.
        Ok(first_scene(text).map_err(Problem::damaged).and_then(|first| {
            let scene = past.scene(&first).map_err(Problem::conflict)?;
            Ok(file::write_json(&scene))
        }))
    });
    let body = text.await??.into_bytes();
    Ok(with_reserved(Answer { status: 200, content_type: "application/json", body, again: false }, &growing))
}

/// Parses the scene from which a world was created.
fn first_scene(text: Vec<u8>) -> Result<Scene, String> {
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    file::parse(&text, "scene.json").map_err(|error| error.to_string())
}
