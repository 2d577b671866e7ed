//! Handler that exports a world as a web page.

use std::sync::Arc;

use axum::extract::{Extension, State as FromState};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use drystone::Scene;
use drystone_web::{WebError, WebPage, content_security_policy};

use super::ApiState;
use super::content::ReservedAnswer;
use super::guard::{Caller, OwnWorld};
use super::scene::present;
use crate::problem::Problem;
use crate::session::Answer;

/// Largest sum of bodies, shapes and joints of a world that is exported. An export of that size takes some seconds.
const MAX_ROWS: usize = 200_000;
/// Memory for the export of a body, a shape or a joint: its rows in the tables, their copy for the page, the packed
/// data and the text, bytes.
const ROW_BYTES: usize = 3 << 10;
/// Memory for the export of an empty world: kernels, and the text of the page, bytes.
const BASE_BYTES: usize = 8 << 20;

/// Returns the world as a web page that starts in its current state and runs on the visitor's GPU.
///
/// The page is one HTML file without network, as `drystone export --web` writes it: for a browser with WebGPU. It
/// starts from what `scene` returns, so contacts begin without impulses; the world in the service stays as it is, and
/// the page does not know the service. Worlds whose scene a page cannot run, and worlds with more than 200,000 bodies,
/// shapes and joints together, are refused with 422.
#[utoipa::path(get, path = "/v1/worlds/{id}/page", tag = "ask", params(("id" = String, Path)),
    responses((status = 200, description = "Page", content((String = "text/html")))))]
pub async fn page(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    OwnWorld(id): OwnWorld,
) -> Result<Response, Problem> {
    let (scene, growing) = present(&state, &caller, id, |scene| scene).await?;
    let shapes: usize = scene.bodies.iter().map(|body| body.shapes.len()).sum();
    let rows = scene.bodies.len() + shapes + scene.joints.len();
    if rows > MAX_ROWS {
        let detail = format!(
            "the world has {rows} bodies, shapes and joints; at most {MAX_ROWS} in a page: save its scene, and view it \
             with `drystone view`"
        );
        return Err(Problem::limit(detail));
    }
    let reserved = caller.memory_budget.take_large(BASE_BYTES + rows * ROW_BYTES)?;
    // One at a time, and the other requests of the token do not wait for it.
    let permit = state.exporting.clone().acquire_owned().await;
    let permit = permit.map_err(|_| Problem::unavailable("the service is stopping"))?;
    let made = tokio::task::spawn_blocking(move || {
        let html = export(scene);
        // The memory stays reserved until the page is made, even if the client disconnects.
        drop((permit, growing));
        html.map(|html| (html, reserved))
    });
    let (html, reserved) = made.await.map_err(|_| Problem::internal("internal server error; see the log"))??;
    let answer =
        Answer { status: 200, content_type: "text/html; charset=utf-8", body: html.into_bytes(), again: false };
    let mut response = ReservedAnswer(answer, reserved).into_response();
    // A browser that opens it directly runs nothing but the program of pages.
    let policy = HeaderValue::from_str(&content_security_policy());
    response.headers_mut().extend(policy.map(|policy| (header::CONTENT_SECURITY_POLICY, policy)));
    Ok(response)
}

/// Exports a scene.
fn export(mut scene: Scene) -> Result<String, Problem> {
    // Checked by the service, whose limits are others than those of a page.
    scene.settings.strict = false;
    match WebPage::new(&scene) {
        Ok(page) => Ok(page.html().to_owned()),
        Err(error @ (WebError::Unsupported { .. } | WebError::World(_))) => Err(Problem::invalid(error.to_string())),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            Err(Problem::internal("internal server error; see the log"))
        }
    }
}
