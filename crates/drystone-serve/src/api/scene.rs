//! The scene that a world has become.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State as FromState};
use axum::response::Response;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::State;
use super::ask::{charging, held, read};
use super::asked::in_store;
use super::guard::{Caller, OwnWorld};
use crate::problem::Problem;
use crate::session::{Answer, Past, Read};
use crate::store::WORLD;
use drystone::Scene;
use drystone_scenes::file;

/// Schema of a scene, which is beside those of this crate.
struct SceneNow;

impl PartialSchema for SceneNow {
    fn schema() -> RefOr<Schema> {
        Ref::from_schema_name("Scene").into()
    }
}

impl ToSchema for SceneNow {}

/// Returns the world as a scene that starts where the world is now.
///
/// Bodies are in the order of `bodies`, where they are and as fast; joints have the lengths, speeds and targets that they
/// have come to; gravity is that of now. Broken joints and the pull of pointers are left out. Contacts are not part of a
/// scene, so a world that is made of it goes on much the same and not to the same bits: that takes a checkpoint.
#[utoipa::path(get, path = "/v1/worlds/{id}/scene", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, body = inline(SceneNow))))]
pub async fn scene(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    let (charge, growing) = charging(caller.clone(), 0);
    let past = Arc::new(Mutex::new(None));
    let own = past.clone();
    let hand_over = move |past: Past| *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(past);
    read(&state, &id, Read::Past(Box::new(hand_over), charge)).await?;
    let past: Option<Past> = past.lock().unwrap_or_else(PoisonError::into_inner).take();
    let past = past.ok_or_else(|| Problem::internal("a bug: the world gave no state"))?;
    let text = in_store(&state, &caller, move |store| {
        let (_, text) = store.read(&id, WORLD)?;
        // Parsing a large scene takes as long as reading it, and is done aside as well.
        Ok(first_scene(text).map_err(Problem::damaged).and_then(|first| {
            let scene = past.scene(&first).map_err(Problem::conflict)?;
            Ok(file::write_json(&scene))
        }))
    });
    let body = text.await??.into_bytes();
    Ok(held(Answer { status: 200, content_type: "application/json", body, again: false }, &growing))
}

/// Reads the scene of which a world was made.
fn first_scene(text: Vec<u8>) -> Result<Scene, String> {
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    file::parse(&text, "scene.json").map_err(|error| error.to_string())
}
