//! Who may come in, and how often.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::State;
use crate::serve::config::{Config, Limits, Token};
use crate::serve::problem::Problem;

/// Before the token, where a browser cannot send a header.
pub const BEARER_PROTOCOL: &str = "bearer.";
/// Likewise before its bytes in hexadecimal, as not every token is a name of a protocol.
const BEARER_HEX: &str = "bearer-hex.";

/// Tokens, hosts, rates.
#[derive(Debug)]
pub struct Guard {
    callers: Vec<Arc<Caller>>,
    /// By which the service may be called. Empty: by any name.
    hosts: Vec<String>,
}

/// Who has a token, or anybody if there are none; and how much of the service is theirs.
#[derive(Debug)]
pub struct Caller {
    /// Of the token.
    pub name: String,
    token: Option<String>,
    /// Worlds at a time.
    pub worlds: usize,
    /// Places for streams.
    pub sockets: Arc<Semaphore>,
    rate: f64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Caller {
    fn new(token: Option<&Token>, limits: &Limits) -> Arc<Self> {
        let worlds = token.and_then(|token| token.worlds).unwrap_or(usize::MAX).min(limits.worlds);
        let sockets = token.and_then(|token| token.sockets).unwrap_or(usize::MAX).min(limits.sockets);
        let rate = token.and_then(|token| token.rate).unwrap_or(limits.rate);
        Arc::new(Self {
            name: token.map_or_else(|| "anybody".to_owned(), |token| token.name.clone()),
            token: token.map(|token| token.token.clone()),
            worlds,
            sockets: Arc::new(Semaphore::new(sockets.min(Semaphore::MAX_PERMITS))),
            rate,
            bucket: Mutex::new(Bucket { left: rate.max(1.0), at: Instant::now() }),
        })
    }

    /// Counts a request.
    ///
    /// # Errors
    /// If there were too many lately.
    pub fn take(&self) -> Result<(), Problem> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let most = self.rate.max(1.0);
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
}

impl Guard {
    /// For a service that listens on `local`.
    pub fn new(config: &Config, local: SocketAddr) -> Self {
        let limits = &config.limits;
        let callers = if config.tokens.is_empty() {
            vec![Caller::new(None, limits)]
        } else {
            config.tokens.iter().map(|token| Caller::new(Some(token), limits)).collect()
        };
        // A page of another site that makes its name point here must not reach a service without a token.
        let mut hosts = config.hosts.clone();
        if local.ip().is_loopback() {
            hosts.extend(["localhost".to_owned(), local.ip().to_string()]);
        }
        Self { callers, hosts }
    }

    /// Who it is.
    fn who(&self, headers: &HeaderMap) -> Result<&Arc<Caller>, Problem> {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let protocols = headers.get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
        let protocol = protocols.and_then(|list| list.split(',').map(str::trim).find_map(token_of));
        let given = bearer.map(|token| token.as_bytes().to_vec()).or(protocol).unwrap_or_default();
        // All are compared, each in a time that does not tell how much of it is right.
        let mut who = None;
        for caller in &self.callers {
            let Some(token) = &caller.token else { return Ok(caller) };
            if bool::from(token.as_bytes().ct_eq(&given)) {
                who = Some(caller);
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

    /// Who asks, if that matters for what is asked.
    fn check(&self, request: &Request) -> Result<Option<Arc<Caller>>, Problem> {
        let (headers, path) = (request.headers(), request.uri().path());
        // For whoever watches the process, by whatever name.
        if path.starts_with("/health/") {
            return Ok(None);
        }
        self.check_host(headers)?;
        Self::check_origin(headers)?;
        // The page and the description hold no secrets; the page asks for a token.
        if path == "/" || path.starts_with("/api/") {
            return Ok(None);
        }
        let who = self.who(headers)?;
        who.take()?;
        let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0")
            || headers.contains_key(header::TRANSFER_ENCODING);
        if request.method() == Method::POST && has_body && !is_json(headers) {
            return Err(Problem::media_type());
        }
        Ok(Some(who.clone()))
    }
}

/// The token in the name of a protocol.
fn token_of(protocol: &str) -> Option<Vec<u8>> {
    if let Some(token) = protocol.strip_prefix(BEARER_PROTOCOL) {
        return Some(token.as_bytes().to_vec());
    }
    let digits = protocol.strip_prefix(BEARER_HEX)?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(16 * digit(*pair.first()?)? + digit(*pair.get(1)?)?).ok();
    digits.chunks(2).map(byte).collect()
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
pub async fn guard(FromState(state): FromState<State>, mut request: Request, next: Next) -> Response {
    let start = Instant::now();
    // A client may make up any word, and every one would be counted for ever.
    let known = [Method::GET, Method::POST, Method::DELETE, Method::HEAD, Method::PUT, Method::PATCH, Method::OPTIONS];
    let method = known.iter().find(|known| *known == request.method()).map_or("other", Method::as_str).to_owned();
    let place = request.extensions().get::<MatchedPath>().map_or_else(|| "none".to_owned(), |m| m.as_str().to_owned());
    let path = request.uri().path().to_owned();
    let mut response = match state.guard.check(&request) {
        Ok(caller) => {
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
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

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn guard(tokens: &[&str]) -> Guard {
        let tokens = tokens.iter().map(|token| Token::new(token, token)).collect();
        Guard::new(&Config { tokens, ..Config::default() }, "127.0.0.1:7878".parse().unwrap())
    }

    #[test]
    fn tokens() {
        let guard = guard(&["first-long-token-1", "other-long-token-2"]);
        let who = |pairs: &[(&'static str, &'static str)]| guard.who(&headers(pairs)).ok().map(|who| who.name.clone());
        assert_eq!(who(&[("authorization", "Bearer other-long-token-2")]).as_deref(), Some("other-long-token-2"));
        let list = &[("sec-websocket-protocol", "drystone.v1, bearer.first-long-token-1")];
        assert_eq!(who(list).as_deref(), Some("first-long-token-1"));
        let hexadecimal = &[("sec-websocket-protocol", "drystone.v1, bearer-hex.6f746865722d6c6f6e672d746f6b656e2d32")];
        assert_eq!(who(hexadecimal).as_deref(), Some("other-long-token-2"));
        for wrong in ["bearer-hex.", "bearer-hex.6f7", "bearer-hex.zz", "bearer-hex.ä", "bearer."] {
            let value = HeaderValue::from_str(wrong).unwrap();
            let headers: HeaderMap = [(header::SEC_WEBSOCKET_PROTOCOL, value)].into_iter().collect();
            assert!(guard.who(&headers).is_err(), "{wrong}");
        }
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
    fn rates_and_places_are_each_ones_own() {
        let limits = Limits { rate: 5.0, ..Limits::default() };
        let (some, other) = (Caller::new(None, &limits), Caller::new(None, &limits));
        let passed = (0..20).filter(|_| some.take().is_ok()).count();
        assert!((5..=6).contains(&passed), "{passed}");
        assert!(other.take().is_ok());
        assert_eq!(some.take().unwrap_err().retry_after, Some(1));
        let token = Token { worlds: Some(3), sockets: Some(1_000_000), ..Token::new("a", "b") };
        let caller = Caller::new(Some(&token), &limits);
        assert_eq!((caller.worlds, caller.sockets.available_permits()), (3, limits.sockets));
    }
}
