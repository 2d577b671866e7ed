//! HTTP API: routes, access control, and the handlers that translate requests for the worlds.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use drystone_serve::api::{ApiState, router};
//! use drystone_serve::config::{Config, S3};
//! use drystone_serve::device::Device;
//! use drystone_serve::scheduler::Scheduler;
//! use drystone_serve::store::Store;
//!
//! let config = Arc::new(Config { store: "memory".to_owned(), ..Config::default() });
//! let store = Arc::new(Store::open(&config.store, &S3::default(), 0)?);
//! let scheduler = Scheduler::start(config.clone(), Device::cpu(1), store)?;
//! let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder().handle();
//! let state = ApiState::new(config, scheduler.clone(), recorder, ([127, 0, 0, 1], 8080).into());
//! let app: axum::Router = router(state); // For `axum::serve`.
//! # drop(app);
//! scheduler.stop(Duration::from_secs(60));
//! # Ok::<(), std::io::Error>(())
//! ```

mod ask;
mod asked;
mod content;
mod create;
mod description;
mod export;
mod guard;
mod guesses;
mod keep;
mod memory_budget;
mod rewind;
mod run;
mod scene;
mod scenes;
mod socket;
mod worlds;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, FromRequestParts, Query, State as FromState};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ServeError;
use super::config::Config;
use super::op::RequestKey;
use super::problem::Problem;
use super::scheduler::Scheduler;
use super::session::Answer;
use drystone::low_level::hash::Fnv;
use drystone_scenes::file::json_schema;
pub use guard::TokenChanges;
use guard::{Caller, Guard, MaybeCaller};

/// Longest `Idempotency-Key`, characters.
const MAX_KEY: usize = 128;
/// Number of worlds created at the same time.
const MAX_CREATING: usize = 2;
/// Largest number of times per second that the text of the metrics is rendered.
const MAX_FIGURES: u32 = 20;

/// State shared by all handlers.
#[derive(Clone, Debug)]
pub struct ApiState {
    /// Configuration.
    pub config: Arc<Config>,
    /// Scheduler of the worlds.
    pub scheduler: Arc<Scheduler>,
    /// True once the service is stopping.
    pub stopping: watch::Sender<bool>,
    recorder: metrics_exporter_prometheus::PrometheusHandle,
    guard: Arc<Guard>,
    sockets: Arc<Semaphore>,
    creating: Arc<Semaphore>,
    exporting: Arc<Semaphore>,
    creations: Arc<create::Creations>,
    pictures: Arc<scenes::ScenePictures>,
    figures: Arc<Mutex<MetricsText>>,
}

/// Rendered text of the metrics, with the number of renderings in the current second.
#[derive(Debug, Default)]
struct MetricsText {
    since: Option<Instant>,
    count: u32,
    text: Arc<str>,
}

impl ApiState {
    /// Creates the state of a service that listens on `local`.
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
            creating: Arc::new(Semaphore::new(MAX_CREATING)),
            exporting: Arc::new(Semaphore::new(1)),
            creations: Arc::default(),
            pictures: Arc::default(),
            figures: Arc::default(),
            stopping: watch::Sender::new(false),
            config,
            scheduler,
            recorder,
        }
    }

    /// Replaces the tokens by those of another configuration. Requests and streams of removed ones end.
    ///
    /// # Errors
    /// The tokens are inconsistent; the previous ones stay.
    pub fn change_tokens(&self, other: &Config) -> Result<TokenChanges, ServeError> {
        let changes = self.guard.change_tokens(other)?;
        self.scheduler.shared().several_tokens.store(self.guard.has_several(), Ordering::SeqCst);
        Ok(changes)
    }

    /// Returns the number of worlds that no token can see.
    #[must_use]
    pub fn lost_worlds(&self) -> usize {
        self.scheduler.worlds().iter().filter(|handle| self.guard.is_lost(&handle.facts)).count()
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Drystone",
        description = "Worlds of rigid bodies in 2D: create them from scenes, step, read, stream and save them. SI units, y up, \
                       angles in radians counter-clockwise. Errors are problem details (RFC 9457). Each request that changes \
                       state takes an `Idempotency-Key`: a retry with the same key gets the first answer. The key of a \
                       creation is known as long as its world exists; other keys are known for at least 24 hours, also \
                       across restarts, and up to limits.keys per world; beyond that new keys are refused with 429. A world \
                       belongs to the owner of the token that created it. For other owners it does not exist (404, and not \
                       in their lists), and their keys are separate; a token with `admin` sees the worlds of all owners. \
                       Without tokens every client sees all worlds. An `X-Request-Id` is accepted or generated; it is returned and logged."
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

fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(Doc::openapi())
        .routes(routes!(worlds::list, create::create))
        .routes(routes!(worlds::show, worlds::delete))
        .routes(routes!(run::step))
        .routes(routes!(run::commands))
        .routes(routes!(run::play))
        .routes(routes!(run::pause))
        .routes(routes!(ask::state))
        .routes(routes!(ask::bodies))
        .routes(routes!(scene::body))
        .routes(routes!(ask::joints))
        .routes(routes!(scene::scene))
        .routes(routes!(export::page))
        .routes(routes!(ask::metrics))
        .routes(routes!(ask::series))
        .routes(routes!(ask::events))
        .routes(routes!(ask::query))
        .routes(routes!(keep::checkpoints))
        .routes(routes!(keep::checkpoint))
        .routes(routes!(keep::forget))
        .routes(routes!(keep::restore))
        .routes(routes!(rewind::rewind))
        .routes(routes!(scenes::scenes))
        .routes(routes!(scenes::size))
        .routes(routes!(scenes::picture))
        .routes(routes!(socket::stream))
        .routes(routes!(live))
        .routes(routes!(ready))
        .routes(routes!(prometheus))
}

/// Returns the API description.
fn document() -> serde_json::Value {
    let (_, document) = routes().split_for_parts();
    description::complete(serde_json::to_value(document).unwrap_or_default())
}

/// Returns the routes of the service.
pub fn router(state: ApiState) -> Router {
    let (api, _) = routes().split_for_parts();
    let document: Arc<str> = document().to_string().into();
    let schema: Arc<str> = json_schema().into();
    let text = |text: Arc<str>| {
        move || async move { ([(header::CONTENT_TYPE, "application/json")], text.to_string()).into_response() }
    };
    Router::new()
        .merge(api)
        .route("/", axum::routing::get(async || page_file("text/html; charset=utf-8", PAGE)))
        .merge(page_files())
        .route("/api/openapi.json", axum::routing::get(text(document)))
        .route("/api/scene.schema.json", axum::routing::get(text(schema)))
        .fallback(async || Problem::not_found("not found: no such path; see /api/openapi.json"))
        .method_not_allowed_fallback(async || Problem::method())
        .layer(axum::middleware::from_fn_with_state(state.clone(), refuse_while_starting))
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(state)
}

/// Refuses requests about worlds until the list of worlds is complete: an existing world must not get a 404.
async fn refuse_while_starting(
    FromState(state): FromState<ApiState>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    if request.uri().path().starts_with("/v1/worlds") && !state.scheduler.is_listed() {
        return Problem::starting("the list of worlds is still being read").into_response();
    }
    next.run(request).await
}

/// Returns the routes for connections beyond the limit: health checks still work.
pub fn router_when_full(state: ApiState) -> Router {
    let most = state.config.limits.connections;
    let full = move || async move { Problem::unavailable(format!("{most} connections are already open")) };
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
    tracing::error!(panic = text, "a bug: a request was aborted");
    Problem::internal("internal server error; see the log").into_response()
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

/// Parameters in the path.
#[derive(Debug)]
struct PathParameters<T>(T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = axum::extract::Path::from_request_parts(parts, state).await;
        named.map(|axum::extract::Path(value)| Self(value)).map_err(|error| Problem::malformed(error.body_text()))
    }
}

/// Returns the query parameters of a request.
///
/// # Errors
/// A parameter is unknown or cannot be parsed.
fn parameters<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(value)| value).map_err(|rejection| Problem::malformed(rejection.body_text()))
}

/// Returns the idempotency key of a request.
///
/// # Errors
/// The key is empty or too long, or has invisible characters.
fn key(headers: &HeaderMap, path: &str, body: &[u8]) -> Result<Option<RequestKey>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let name = value.to_str().ok().filter(|name| (1..=MAX_KEY).contains(&name.len()));
    let wrong = || Problem::malformed(format!("Idempotency-Key: expected 1 to {MAX_KEY} visible characters"));
    Ok(Some(make_key(name.ok_or_else(wrong)?, path, body)))
}

fn make_key(name: &str, path: &str, body: &[u8]) -> RequestKey {
    RequestKey { name: name.to_owned(), hash: Fnv::START.bytes(path.as_bytes()).bytes(&[0]).bytes(body).0 }
}

/// Returns 200 while the process answers.
#[utoipa::path(get, path = "/health/live", tag = "service", responses((status = 200, description = "Alive")))]
async fn live() -> Response {
    axum_json(200, &json!({ "live": true }))
}

/// Returns 200 if all worlds are open and the service is not stopping; with a token also details.
#[utoipa::path(get, path = "/health/ready", tag = "service",
    responses((status = 200, description = "Ready")))]
async fn ready(FromState(state): FromState<ApiState>, caller: MaybeCaller) -> Response {
    if let Some(mut hindrance) = state.scheduler.hindrance() {
        if caller.is_none() {
            // Details require a token.
            hindrance.truncate(hindrance.find([':', ';']).unwrap_or(hindrance.len()));
        }
        return Problem::unavailable(hindrance).into_response();
    }
    let mut told = json!({ "ready": true });
    if caller.is_some() {
        told["version"] = env!("CARGO_PKG_VERSION").into();
        told["device"] = state.scheduler.device().line().into();
        told["store_bytes"] = state.scheduler.shared().store.used().into();
    }
    axum_json(200, &told)
}

/// Returns metrics for Prometheus: of the whole service for tokens with `metrics` or `admin`, and for all tokens if
/// all have one owner; other tokens get their own figures.
#[utoipa::path(get, path = "/metrics", tag = "service", responses((status = 200, description = "Text", body = String)))]
async fn prometheus(FromState(state): FromState<ApiState>, caller: MaybeCaller) -> Response {
    let text = {
        // One at a time, because the text is the same for each.
        let mut figures = state.figures.lock().unwrap_or_else(PoisonError::into_inner);
        if figures.since.is_none_or(|since| since.elapsed() >= Duration::from_secs(1)) {
            (figures.since, figures.count) = (Some(Instant::now()), 0);
        }
        figures.count = figures.count.saturating_add(1);
        if figures.count <= MAX_FIGURES {
            figures.text = figures_of(&state).into();
        }
        figures.text.clone()
    };
    let is_one_of_several = |caller: &Caller| !caller.sees_figures() && state.guard.owners().len() > 1;
    let text = match caller.filter(|Extension(caller)| is_one_of_several(caller)) {
        Some(Extension(caller)) => own_figures(&text, &caller),
        None => text.to_string(),
    };
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// Returns the lines of the metrics that concern a caller.
fn own_figures(text: &str, caller: &Caller) -> String {
    let of = |label: &str, name: &str| ['{', ','].map(|before| format!("{before}{label}=\"{}\"", escaped(name)));
    let own = [of("token", &caller.name), of("owner", &caller.owner)].concat();
    let lines: Vec<&str> = text.lines().filter(|line| own.iter().any(|own| line.contains(own.as_str()))).collect();
    let name = |line: &str| line.split('{').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = lines.iter().map(|line| name(line)).collect();
    names.dedup();
    let mut own = String::new();
    for name in names {
        // HELP and TYPE lines of the metric.
        let about = |line: &&str| line.starts_with("# ") && line.split(' ').nth(2) == Some(name.as_str());
        let of_name = lines
            .iter()
            .copied()
            .filter(|line| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('{')));
        for line in text.lines().filter(about).chain(of_name) {
            own.extend([line, "\n"]);
        }
    }
    own
}

/// Renders the text of the metrics.
fn figures_of(state: &ApiState) -> String {
    let scheduler = &state.scheduler;
    let worlds = scheduler.worlds();
    let (mut failed, mut starting) = (0_u32, 0_u32);
    for world in &worlds {
        match world.status().state {
            "failed" => failed += 1,
            "starting" => starting += 1,
            _ => {}
        }
    }
    metrics::gauge!("drystone_worlds_failed").set(failed);
    metrics::gauge!("drystone_worlds_starting").set(starting);
    metrics::gauge!("drystone_ready").set(if scheduler.is_ready() { 1.0 } else { 0.0 });
    metrics::gauge!("drystone_turn_longest_seconds").set(scheduler.longest_time_slice().as_secs_f64());
    metrics::gauge!("drystone_store_bytes").set(scheduler.shared().store.used() as f64);
    metrics::gauge!("drystone_store_limit_bytes").set(state.config.limits.store_bytes as f64);
    if let Some(bytes) = resident_bytes() {
        metrics::gauge!("drystone_process_resident_bytes").set(bytes as f64);
    }
    for owner in state.guard.owners() {
        let count = worlds.iter().filter(|handle| handle.facts.owner == owner).count();
        metrics::gauge!("drystone_owner_worlds", "owner" => owner).set(count as f64);
    }
    state.recorder.run_upkeep();
    state.recorder.render()
}

/// Escapes the value of a label as the exporter does.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the resident memory of the process, where the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

/// Page at `/`. Its style and scripts are separate files, so that the content security policy can forbid inline
/// scripts.
const PAGE: &str = include_str!("page/page.html");
/// Files of the page below `/page/`, with their MIME types.
const PAGE_FILES: [(&str, &str, &str); 14] = [
    ("/page/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page/service.js", "text/javascript; charset=utf-8", include_str!("page/service.js")),
    ("/page/view.js", "text/javascript; charset=utf-8", include_str!("page/view.js")),
    ("/page/framing.js", "text/javascript; charset=utf-8", include_str!("page/framing.js")),
    ("/page/draw.js", "text/javascript; charset=utf-8", include_str!("page/draw.js")),
    ("/page/gravity.js", "text/javascript; charset=utf-8", include_str!("page/gravity.js")),
    ("/page/outline.js", "text/javascript; charset=utf-8", include_str!("page/outline.js")),
    ("/page/edit.js", "text/javascript; charset=utf-8", include_str!("page/edit.js")),
    ("/page/restart.js", "text/javascript; charset=utf-8", include_str!("page/restart.js")),
    ("/page/card.js", "text/javascript; charset=utf-8", include_str!("page/card.js")),
    ("/page/joints.js", "text/javascript; charset=utf-8", include_str!("page/joints.js")),
    ("/page/graphs.js", "text/javascript; charset=utf-8", include_str!("page/graphs.js")),
    ("/page/scenes.js", "text/javascript; charset=utf-8", include_str!("page/scenes.js")),
    ("/page/act.js", "text/javascript; charset=utf-8", include_str!("page/act.js")),
];

/// Content security policy of the page. An exported page opens in a `blob:` URL, which is under it as well.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let [script, style] = drystone_web::policy_hashes();
    format!(
        "default-src 'none'; script-src 'self' {script}; style-src 'self' {style}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

fn page_files() -> Router<ApiState> {
    PAGE_FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, axum::routing::get(async move || page_file(kind, text)))
    })
}

fn page_file(kind: &'static str, text: &'static str) -> Response {
    // Page and scripts of different versions do not fit together: browsers must check for new ones each time.
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

fn axum_json(status: u16, value: &serde_json::Value) -> Response {
    let mut answer = Answer::json(value);
    answer.status = status;
    answer.into_response()
}
