//! Who may come in, and how often.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use super::State;
use crate::serve::config::Config;
use crate::serve::problem::Problem;

/// Before the token, where a browser cannot send a header.
pub const BEARER_PROTOCOL: &str = "bearer.";

/// Tokens, hosts, rates.
#[derive(Debug)]
pub struct Guard {
    tokens: Vec<(String, String)>,
    /// By which the service may be called. Empty: by any name.
    hosts: Vec<String>,
    rate: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Guard {
    /// For a service that listens on `local`.
    pub fn new(config: &Config, local: SocketAddr) -> Self {
        let tokens = config.tokens.iter().map(|token| (token.name.clone(), token.token.clone())).collect();
        // A page of another site that makes its name point here must not reach a service without a token.
        let mut hosts = config.hosts.clone();
        if local.ip().is_loopback() {
            hosts.extend(["localhost".to_owned(), local.ip().to_string()]);
        }
        Self { tokens, hosts, rate: config.limits.rate, buckets: Mutex::default() }
    }

    /// Who it is.
    fn who(&self, headers: &HeaderMap) -> Result<String, Problem> {
        if self.tokens.is_empty() {
            return Ok("anybody".to_owned());
        }
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let protocols = headers.get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
        let protocol =
            protocols.and_then(|list| list.split(',').find_map(|part| part.trim().strip_prefix(BEARER_PROTOCOL)));
        let given = bearer.or(protocol).unwrap_or_default();
        // All are compared, each in a time that does not tell how much of it is right.
        let mut who = None;
        for (name, token) in &self.tokens {
            if bool::from(token.as_bytes().ct_eq(given.as_bytes())) {
                who = Some(name.clone());
            }
        }
        who.ok_or_else(Problem::unauthorized)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let Some(host) = host.map(name_of) else {
            return Err(Problem::malformed("expected one Host header"));
        };
        let known = |name: &String| name.eq_ignore_ascii_case(host);
        let is_loopback = || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if self.hosts.is_empty() || self.hosts.iter().any(known) || is_loopback() {
            Ok(())
        } else {
            let detail = "the service is not called by this host name; add it to `hosts`, or call it by its address";
            Err(Problem::forbidden(detail))
        }
    }

    /// CORS is closed: pages of other sites are not served, also not blindly.
    fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let origin = origin.to_str().unwrap_or_default();
        let site = origin.split_once("://").map_or("", |(_, site)| site);
        if !site.is_empty() && site.eq_ignore_ascii_case(host) {
            Ok(())
        } else {
            Err(Problem::forbidden("requests from pages of other sites are not allowed"))
        }
    }

    fn take(&self, who: &str) -> Result<(), Problem> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let most = self.rate.max(1.0);
        let bucket = buckets.entry(who.to_owned()).or_insert(Bucket { left: most, at: now });
        bucket.left = (bucket.left + self.rate * now.duration_since(bucket.at).as_secs_f64()).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            let wait = ((1.0 - bucket.left) / self.rate).ceil().clamp(1.0, 3600.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 3600")]
            return Err(Problem::too_many(format!("at most {} requests a second", self.rate), wait as u32));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    fn check(&self, request: &Request) -> Result<(), Problem> {
        let (headers, path) = (request.headers(), request.uri().path());
        // For whoever watches the process, by whatever name.
        if path.starts_with("/health/") {
            return Ok(());
        }
        self.check_host(headers)?;
        Self::check_origin(headers)?;
        // The page and the description hold no secrets; the page asks for a token.
        if path == "/" || path.starts_with("/api/") {
            return Ok(());
        }
        let who = self.who(headers)?;
        self.take(&who)?;
        let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0")
            || headers.contains_key(header::TRANSFER_ENCODING);
        if request.method() == Method::POST && has_body && !is_json(headers) {
            return Err(Problem::media_type());
        }
        Ok(())
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Without the port.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Checks a request, counts it, and tells browsers what not to do with the answer.
pub async fn guard(FromState(state): FromState<State>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = request.method().clone();
    let place = request.extensions().get::<MatchedPath>().map_or_else(|| "none".to_owned(), |m| m.as_str().to_owned());
    let path = request.uri().path().to_owned();
    let mut response = match state.guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
    let method = method.as_str().to_owned();
    metrics::counter!("drystone_requests_total", "method" => method.clone(), "path" => place.clone(),
        "status" => status.to_string())
    .increment(1);
    metrics::histogram!("drystone_request_seconds", "path" => place).record(seconds);
    if status >= 500 {
        tracing::warn!(method, path, status, seconds, "request");
    } else {
        tracing::debug!(method, path, status, seconds, "request");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::config::Token;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn guard(tokens: &[&str]) -> Guard {
        let tokens = tokens.iter().map(|t| Token { name: (*t).to_owned(), token: (*t).to_owned() }).collect();
        Guard::new(&Config { tokens, ..Config::default() }, "127.0.0.1:7878".parse().unwrap())
    }

    #[test]
    fn tokens() {
        let guard = guard(&["first-long-token-1", "other-long-token-2"]);
        let who = |pairs: &[(&'static str, &'static str)]| guard.who(&headers(pairs)).ok();
        assert_eq!(who(&[("authorization", "Bearer other-long-token-2")]).as_deref(), Some("other-long-token-2"));
        let list = &[("sec-websocket-protocol", "drystone.v1, bearer.first-long-token-1")];
        assert_eq!(who(list).as_deref(), Some("first-long-token-1"));
        for wrong in ["", "Bearer ", "Bearer first-long-token", "Bearer first-long-token-12", "Basic x"] {
            assert_eq!(who(&[("authorization", wrong)]), None, "{wrong}");
        }
    }

    #[test]
    fn hosts_and_origins() {
        let guard = guard(&[]);
        for host in ["127.0.0.1:7878", "localhost", "LOCALHOST:1", "[::1]:7878", "127.0.0.2"] {
            assert!(guard.check_host(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in ["evil.example", "evil.example:7878", "10.0.0.1", ""] {
            assert!(guard.check_host(&headers(&[("host", host)])).is_err(), "{host}");
        }
        let origin = |origin| Guard::check_origin(&headers(&[("host", "localhost:7878"), ("origin", origin)]));
        assert!(origin("http://localhost:7878").is_ok());
        for wrong in ["http://localhost:7879", "https://evil.example", "null", "", "http://"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates() {
        let mut guard = guard(&[]);
        guard.rate = 5.0;
        let passed = (0..20).filter(|_| guard.take("a").is_ok()).count();
        assert!((5..=6).contains(&passed), "{passed}");
        assert!(guard.take("b").is_ok());
        assert_eq!(guard.take("a").unwrap_err().retry_after, Some(1));
    }
}
