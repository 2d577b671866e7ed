//! HTTP: what may come in, and what it means to the worlds.

mod content;
mod description;
mod guard;
mod socket;
mod worlds;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, State as FromState};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::config::Config;
use super::op::Key;
use super::problem::Problem;
use super::scheduler::Scheduler;
use super::session::Answer;
use crate::scene::file::json_schema;
use crate::state::Fnv;
use content::Room;
use guard::Guard;

/// Longest `Idempotency-Key`.
const LONGEST_KEY: usize = 128;
/// Worlds that are read and made at the same time.
const MOST_CREATING: usize = 2;

/// What every handler has.
#[derive(Clone, Debug)]
pub struct State {
    /// Limits and so on.
    pub config: Arc<Config>,
    /// The worlds.
    pub scheduler: Arc<Scheduler>,
    /// True once the service stops.
    pub stopping: watch::Sender<bool>,
    recorder: metrics_exporter_prometheus::PrometheusHandle,
    guard: Arc<Guard>,
    sockets: Arc<Semaphore>,
    creating: Arc<Semaphore>,
    room: Arc<Room>,
    /// Keys of requests for worlds that are being made, and their number.
    keys: Arc<Mutex<HashSet<String>>>,
}

impl State {
    /// For a service that listens on `local`.
    #[must_use]
    pub fn new(
        config: Arc<Config>,
        scheduler: Arc<Scheduler>,
        recorder: metrics_exporter_prometheus::PrometheusHandle,
        local: SocketAddr,
    ) -> Self {
        Self {
            guard: Arc::new(Guard::new(&config, local)),
            sockets: Arc::new(Semaphore::new(config.limits.sockets)),
            creating: Arc::new(Semaphore::new(MOST_CREATING)),
            room: Arc::new(Room::new(config.limits.memory_bytes)),
            keys: Arc::default(),
            stopping: watch::Sender::new(false),
            config,
            scheduler,
            recorder,
        }
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Drystone",
        description = "Worlds of rigid bodies in 2D: made from scenes, stepped, asked, watched, kept. SI units, y up, \
                       angles in radians counter-clockwise. Errors are problem details (RFC 9457). Whatever changes \
                       state takes an `Idempotency-Key`: asked again with the same key it is done once."
    ),
    components(schemas(Problem)),
    modifiers(&Secured),
    security((), ("token" = []))
)]
struct Doc;

struct Secured;

impl utoipa::Modify for Secured {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(Doc::openapi())
        .routes(routes!(worlds::list, worlds::create))
        .routes(routes!(worlds::show, worlds::delete))
        .routes(routes!(worlds::step))
        .routes(routes!(worlds::commands))
        .routes(routes!(worlds::play))
        .routes(routes!(worlds::pause))
        .routes(routes!(worlds::state))
        .routes(routes!(worlds::bodies))
        .routes(routes!(worlds::metrics))
        .routes(routes!(worlds::events))
        .routes(routes!(worlds::query))
        .routes(routes!(worlds::checkpoints))
        .routes(routes!(worlds::checkpoint))
        .routes(routes!(worlds::forget))
        .routes(routes!(worlds::restore))
        .routes(routes!(worlds::scenes))
        .routes(routes!(socket::stream))
        .routes(routes!(live))
        .routes(routes!(ready))
        .routes(routes!(prometheus))
}

/// The description of the API.
fn document() -> serde_json::Value {
    let (_, document) = routes().split_for_parts();
    description::complete(serde_json::to_value(document).unwrap_or_default())
}

/// All of it.
pub fn router(state: State) -> Router {
    let (api, _) = routes().split_for_parts();
    let document: Arc<str> = document().to_string().into();
    let schema: Arc<str> = json_schema().into();
    let text = |text: Arc<str>| {
        move || async move { ([(header::CONTENT_TYPE, "application/json")], text.to_string()).into_response() }
    };
    Router::new()
        .merge(api)
        .route("/", axum::routing::get(page))
        .route("/api/openapi.json", axum::routing::get(text(document)))
        .route("/api/scene.schema.json", axum::routing::get(text(schema)))
        .fallback(async || Problem::not_found("there is nothing at this address; see /api/openapi.json"))
        .method_not_allowed_fallback(async || Problem::method())
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(state)
}

/// What a connection beyond the limit gets: whoever watches the process still sees that it is well.
pub fn router_when_full(state: State) -> Router {
    let most = state.config.limits.connections;
    let full = move || async move { Problem::unavailable(format!("{most} connections are open already")) };
    Router::new()
        .route("/health/live", axum::routing::get(live))
        .route("/health/ready", axum::routing::get(ready))
        .fallback(full)
        .with_state(state)
}

#[allow(clippy::needless_pass_by_value, reason = "as the layer wants it")]
fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    tracing::error!(panic = text, "a bug: a request was given up");
    Problem::internal("a bug; it is in the log").into_response()
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let mut response = (status, self.body).into_response();
        let headers = response.headers_mut();
        if self.content_type.is_empty() {
            headers.remove(header::CONTENT_TYPE);
        } else {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        if self.again {
            headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

/// What the address names.
#[derive(Debug)]
struct Path<T>(T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = axum::extract::Path::from_request_parts(parts, state).await;
        named.map(|axum::extract::Path(value)| Self(value)).map_err(|error| Problem::malformed(error.body_text()))
    }
}

/// The parameters of a request.
///
/// # Errors
/// One is unknown or cannot be read.
fn parameters<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(value)| value).map_err(|rejection| Problem::malformed(rejection.body_text()))
}

/// With which the client can ask again.
///
/// # Errors
/// It is too long, or has characters that are not visible.
fn key(headers: &HeaderMap, path: &str, body: &[u8]) -> Result<Option<Key>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let name = value.to_str().ok().filter(|name| (1..=LONGEST_KEY).contains(&name.len()));
    let wrong = || Problem::malformed(format!("Idempotency-Key: expected 1 to {LONGEST_KEY} visible characters"));
    Ok(Some(make_key(name.ok_or_else(wrong)?, path, body)))
}

fn make_key(name: &str, path: &str, body: &[u8]) -> Key {
    Key { name: name.to_owned(), hash: Fnv::START.bytes(path.as_bytes()).bytes(&[0]).bytes(body).0 }
}

/// Whether the process answers.
#[utoipa::path(get, path = "/health/live", tag = "service", responses((status = 200, description = "It does")))]
async fn live() -> Response {
    axum_json(200, &json!({ "live": true }))
}

/// Whether all worlds are open and the service is not stopping.
#[utoipa::path(get, path = "/health/ready", tag = "service",
    responses((status = 200, description = "Ready")))]
async fn ready(FromState(state): FromState<State>) -> Response {
    if state.scheduler.is_ready() {
        axum_json(
            200,
            &json!({
                "ready": true,
                "version": env!("CARGO_PKG_VERSION"),
                "device": state.scheduler.device().line(),
                "store_bytes": state.scheduler.shared().store.used(),
            }),
        )
    } else {
        Problem::unavailable("worlds are being restored, or the service is stopping").into_response()
    }
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "service", responses((status = 200, description = "Text", body = String)))]
async fn prometheus(FromState(state): FromState<State>) -> Response {
    metrics::gauge!("drystone_store_bytes").set(state.scheduler.shared().store.used() as f64);
    state.recorder.run_upkeep();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], state.recorder.render()).into_response()
}

async fn page() -> Response {
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                  img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let mut response = Html(include_str!("page.html")).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

fn axum_json(status: u16, value: &serde_json::Value) -> Response {
    let mut answer = Answer::json(value);
    answer.status = status;
    answer.into_response()
}
