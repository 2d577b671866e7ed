//! Errors as clients get them: problem details (RFC 9457).
//!
//! ```
//! use drystone_serve::problem::Problem;
//!
//! let problem = Problem::not_found("there is no body 7").at("commands[0].body");
//! assert_eq!(problem.status, 404);
//! assert_eq!(problem.path.as_deref(), Some("commands[0].body"));
//! ```

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::store::Trouble;
use drystone::SceneError;
use drystone::{CommandError, PopulationError, WorldError};
use drystone_scenes::file::{FileError, FileErrorKind};

/// Longest message or path that may quote the request, bytes.
const MAX_QUOTED: usize = 300;

/// A problem, as `application/problem+json`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:drystone:` and a word for the kind of problem, for programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of all problems of this kind.
    pub title: &'static str,
    /// HTTP status.
    pub status: u16,
    /// Description of this instance.
    pub detail: String,
    /// JSON path of the mistake in the body, such as `bodies[3].shapes[0].box.half[1]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Line of the body, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in that line, in characters, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Number of commands of the batch that were executed before the refused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<usize>,
    /// Seconds after which a retry may succeed; also in the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

impl Problem {
    fn new(status: u16, word: &str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:drystone:{word}"),
            title,
            status,
            detail: detail.into(),
            path: None,
            expected: None,
            line: None,
            column: None,
            applied: None,
            retry_after: None,
        }
    }

    /// 400: invalid JSON, or a header or parameter that cannot be parsed.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(400, "malformed", "Malformed request", detail)
    }

    /// 401: missing or wrong token.
    #[must_use]
    pub fn unauthorized() -> Self {
        let detail = "expected the header `Authorization: Bearer TOKEN` with a token of this service";
        Self::new(401, "unauthorized", "Unauthorized", detail)
    }

    /// 403: the Host or Origin is not allowed.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(403, "forbidden", "Forbidden", detail)
    }

    /// 404: no such resource.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(404, "not-found", "Not found", detail)
    }

    /// 404: no such world, or it belongs to another owner.
    #[must_use]
    pub fn no_world(id: &str) -> Self {
        Self::not_found(format!("there is no world {id}"))
    }

    /// 405: no such method at this path.
    #[must_use]
    pub fn method() -> Self {
        Self::new(405, "method", "Method not allowed", "method not allowed at this path; see /api/openapi.json")
    }

    /// 408: the body of the request arrived too slowly.
    pub fn too_slow(detail: impl Into<String>) -> Self {
        Self::new(408, "too-slow", "Request timeout", detail)
    }

    /// 409: not possible in the world's current state.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, "conflict", "Conflict with the state of the world", detail)
    }

    /// 409: the first request with this key is still in progress. A later retry gets its answer.
    #[must_use]
    pub fn busy() -> Self {
        Self::new(
            409,
            "busy",
            "Request in progress",
            "the first request with this key is still in progress; retry later",
        )
        .retry(1)
    }

    /// 413: the body is too large.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(413, "too-large", "Request too large", detail)
    }

    /// 415: the body is not declared as JSON.
    #[must_use]
    pub fn media_type() -> Self {
        let detail = "expected the header `Content-Type: application/json`";
        Self::new(415, "media-type", "Unsupported media type", detail)
    }

    /// 422: well-formed, but invalid.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(422, "invalid", "Invalid value", detail)
    }

    /// 422: beyond a limit of this service.
    pub fn limit(detail: impl Into<String>) -> Self {
        Self::new(422, "limit", "Limit of this service exceeded", detail)
    }

    /// 429: too many requests, worlds or bodies for now.
    pub fn too_many(detail: impl Into<String>, seconds: u32) -> Self {
        Self::new(429, "too-many", "Too many requests", detail).retry(seconds)
    }

    /// 500: a bug of the service.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(500, "internal", "Internal server error", detail)
    }

    /// 500: the stored files of a world are damaged.
    pub fn damaged(detail: impl Into<String>) -> Self {
        Self::new(500, "damaged", "Stored world damaged", detail)
    }

    /// 500: the log was written by another build, and this one is configured not to replay it.
    pub fn other_build(detail: impl Into<String>) -> Self {
        Self::new(500, "other-build", "The world was written by another build", detail)
    }

    /// 503: the device was lost, and the world is being restored.
    pub fn device(detail: impl Into<String>) -> Self {
        Self::new(503, "device", "Device lost; the world is being restored", detail).retry(1)
    }

    /// 503: the service is starting or stopping.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(503, "unavailable", "Service unavailable", detail).retry(2)
    }

    /// 503: the list of the stored worlds is not complete yet.
    pub fn starting(detail: impl Into<String>) -> Self {
        Self::new(503, "starting", "The service is starting", detail).retry(1)
    }

    /// 507, or 503 if it is unknown whether the change was stored.
    #[must_use]
    pub fn of_store(error: &std::io::Error) -> Self {
        match Trouble::of(error) {
            Some(Trouble::Away(detail)) => Self::away(detail),
            Some(doubt @ Trouble::InDoubt(_)) => {
                Self::away(format!("{doubt}: retry, with the same Idempotency-Key if the request had one"))
            }
            _ => Self::store(error.to_string()),
        }
    }

    /// 503: the store cannot be reached over the network.
    pub fn away(detail: impl Into<String>) -> Self {
        Self::new(503, "store-away", "Store unreachable", detail).retry(5)
    }

    /// 507: the store refused the change, and nothing has happened.
    pub fn store(detail: impl Into<String>) -> Self {
        Self::new(507, "store", "The store refused the change; it has not happened", detail).retry(5)
    }

    /// Adds the path of the mistake in the body.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.path = (!path.is_empty()).then_some(path);
        self
    }

    /// Adds the expected value.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds the number of executed commands of a batch.
    #[must_use]
    pub fn after(mut self, applied: usize) -> Self {
        self.applied = Some(applied);
        self
    }

    fn retry(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Prefixes the path with that of the part of the body it belongs to.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.path = match self.path.take() {
            Some(path) if path.starts_with('[') => Some(format!("{prefix}{path}")),
            Some(path) => Some(format!("{prefix}.{path}")),
            None => Some(prefix.to_owned()),
        };
        self
    }

    /// 400: invalid JSON, with line and column; or the input ended too early.
    #[must_use]
    pub fn no_json(error: &serde_json::Error) -> Self {
        let message = message_of(error);
        let message = if error.is_eof() { "end of input" } else { &message };
        let (line, column) = (error.line(), error.column());
        let problem = Self::malformed(format!("invalid JSON: {message} at line {line}, column {column}"));
        Self { line: Some(line), column: Some(column), ..problem }
    }

    /// Converts a JSON error: 400 for invalid JSON, else 422 with the path.
    #[must_use]
    pub fn from_json(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = shortened(error.path().to_string());
        let inner = error.inner();
        let message = message_of(inner);
        // A number out of range is found by the parser, though it is an error of the value.
        let is_value = inner.is_data() || message == "number out of range";
        let mut problem = if is_value { Self::invalid(message) } else { Self::no_json(inner) };
        if inner.line() > 0 {
            (problem.line, problem.column) = (Some(inner.line()), Some(inner.column()));
        }
        problem.at(if path == "." { String::new() } else { path })
    }
}

/// Returns the message of an error without its position.
fn message_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    shortened(message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message).to_owned())
}

/// Cuts long text, which may quote the request.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_QUOTED {
        text.truncate(text.floor_char_boundary(MAX_QUOTED));
        text.push('…');
    }
    text
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let detail = if error.path.is_empty() { error.problem } else { format!("{} {}", error.path, error.problem) };
        let mut problem = match error.kind {
            FileErrorKind::Syntax | FileErrorKind::Io => Self::malformed(detail),
            FileErrorKind::TooLarge => Self::too_large(detail),
            FileErrorKind::Structure | FileErrorKind::Value => Self::invalid(detail),
        };
        if let Some(place) = error.place {
            (problem.line, problem.column) = (Some(place.line), Some(place.column));
        }
        problem.at(error.path).expected(error.expected)
    }
}

impl From<SceneError> for Problem {
    fn from(error: SceneError) -> Self {
        Self::invalid(format!("{} {}", error.path, error.problem)).at(error.path).expected(error.expected)
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Joint(error) => Self::from(error),
            error => Self::invalid(error.to_string()),
        }
    }
}

impl From<WorldError> for Problem {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::Scene(error) | WorldError::Population(PopulationError::Value(error)) => Self::from(error),
            WorldError::Device(error) => Self::device(error.to_string()),
            error @ (WorldError::TooLarge { .. }
            | WorldError::TooManyContacts { .. }
            | WorldError::TooManyFound { .. }) => Self::limit(error.to_string()),
            error @ (WorldError::Kernel(_) | WorldError::Threads(_)) => Self::internal(error.to_string()),
            error => Self::invalid(error.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
