//! Handlers of the built-in scenes: their list and their pictures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State as FromState;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::Semaphore;
use utoipa::IntoParams;

use super::asked::{HandlerResult, Parameters};
use super::create::problem_of_catalogue;
use super::{ApiState, PathParameters, parameters};
use crate::answers;
use crate::problem::Problem;
use crate::session::Answer;
use drystone_draw::thumbnail;
use drystone_scenes::catalogue::{self, Entry, THUMBNAIL_BODIES};

/// Size of a picture, px.
const SIZE: [u32; 2] = [144, 96];
/// Number to be increased when pictures change for a reason that no fingerprint covers.
const EDITION: u32 = 1;

/// Lists the built-in scenes, with their parameters.
#[utoipa::path(get, path = "/v1/scenes", tag = "scenes",
    responses((status = 200, body = answers::Scenes)))]
pub async fn scenes() -> HandlerResult {
    let parameter = |p: &catalogue::Parameter| answers::SceneParameter {
        name: p.name,
        default: p.default,
        min: p.min,
        max: p.max,
        integer: p.integer,
        logarithmic: p.is_logarithmic(),
        meaning: p.meaning,
    };
    let entry = |entry: &Entry| answers::SceneEntry {
        name: entry.name,
        group: entry.topic.title(),
        summary: entry.summary,
        keywords: entry.keywords(),
        source: entry.source,
        steps: entry.steps,
        bodies: entry.body_count(&[]).ok(),
        gravity: entry.gravity().to_array(),
        parameters: entry.parameters.iter().map(parameter).collect(),
    };
    let groups = catalogue::Topic::ALL.into_iter().map(catalogue::Topic::title).collect();
    Ok(Answer::json(&answers::Scenes { groups, scenes: catalogue::entries().iter().map(entry).collect() }))
}

/// Returns the number of bodies that a built-in scene has with given parameters, without building it.
#[utoipa::path(get, path = "/v1/scenes/{scene}/size", tag = "scenes",
    params(("scene" = String, Path, description = "Name, or name with parameters: `large_pyramid:base=20`")),
    responses((status = 200, body = answers::SceneSize)))]
pub async fn size(
    FromState(state): FromState<ApiState>,
    PathParameters(scene): PathParameters<String>,
) -> HandlerResult {
    let bodies = catalogue::check(&scene).map_err(|error| problem_of_catalogue(&error))?;
    Ok(Answer::json(&answers::SceneSize { bodies, most: state.config.limits.bodies as u64 }))
}

/// PNG files of a scene, light and dark.
type ScenePngs = Arc<[Vec<u8>; 2]>;

/// Pictures of the built-in scenes. Each is drawn at its first request, one at a time, and kept in memory: about 10 kB.
#[derive(Debug)]
pub(super) struct ScenePictures {
    drawn: Mutex<HashMap<&'static str, ScenePngs>>,
    drawing: Arc<Semaphore>,
}

impl Default for ScenePictures {
    fn default() -> Self {
        Self { drawn: Mutex::default(), drawing: Arc::new(Semaphore::new(1)) }
    }
}

impl ScenePictures {
    /// Returns the pictures of a scene if they have been drawn.
    fn get(&self, name: &str) -> Option<ScenePngs> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Draws the pictures of a scene, unless another request has done so meanwhile.
    async fn draw(self: Arc<Self>, entry: &'static Entry) -> Result<ScenePngs, Problem> {
        let permit = self.drawing.clone().acquire_owned().await;
        let permit = permit.map_err(|_| Problem::unavailable("the service is stopping"))?;
        // Finished also if the client disconnects: the next request gets it.
        let drawn = tokio::task::spawn_blocking(move || {
            let picture = self.get(entry.name).or_else(|| {
                let picture = Arc::new(files(entry)?);
                self.drawn.lock().unwrap_or_else(PoisonError::into_inner).insert(entry.name, picture.clone());
                Some(picture)
            });
            drop(permit);
            picture
        });
        let drawn = drawn.await.map_err(|_| Problem::internal("internal server error; see the log"))?;
        drawn.ok_or_else(|| Problem::not_found(format!("{} cannot be drawn", entry.name)))
    }
}

/// Draws a scene in light and in dark colours.
fn files(entry: &Entry) -> Option<[Vec<u8>; 2]> {
    let [light, dark] = thumbnail(&entry.build_small(THUMBNAIL_BODIES).ok()?, SIZE, &|| false)?;
    Some([light.to_png().ok()?, dark.to_png().ok()?])
}

/// Colours of a picture.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct PictureColors {
    /// Dark colours. [default: false]
    #[serde(default)]
    dark: bool,
}

/// Returns a small picture of a built-in scene shortly after its start: a PNG of 144 × 96 pixels.
///
/// It is the same for all clients and changes only with the version of the service: `ETag` and `Cache-Control` say so.
#[utoipa::path(get, path = "/v1/scenes/{name}/picture", tag = "scenes",
    params(("name" = String, Path, description = "Name of the scene, without parameters"), PictureColors,
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of a picture that the client has")),
    responses((status = 200, description = "Picture", content((Vec<u8> = "image/png"))), (status = 304, description = "The client has it")))]
pub async fn picture(
    FromState(state): FromState<ApiState>,
    PathParameters(name): PathParameters<String>,
    headers: HeaderMap,
    query: Parameters<PictureColors>,
) -> Result<Response, Problem> {
    let dark = parameters(query)?.dark;
    let entry = catalogue::find(&name).map_err(|error| Problem::not_found(error.to_string()))?;
    let version = (env!("CARGO_PKG_VERSION"), drystone::FINGERPRINT, drystone_scenes::FINGERPRINT);
    let tag = format!("\"{EDITION}-{}-{}-{}-{}\"", version.0, version.1, version.2, u8::from(dark));
    let about = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "private, max-age=86400".to_owned())];
    let has_it = |value: &str| {
        value.split(',').any(|one| matches!(one.trim().trim_start_matches("W/"), one if one == tag || one == "*"))
    };
    if headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).is_some_and(has_it) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    let picture = match state.pictures.get(entry.name) {
        Some(picture) => picture,
        None => state.pictures.clone().draw(entry).await?,
    };
    let bytes = picture[usize::from(dark)].clone();
    Ok((about, [(header::CONTENT_TYPE, "image/png")], bytes).into_response())
}
