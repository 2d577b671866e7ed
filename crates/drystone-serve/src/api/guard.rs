//! Access control: callers and their tokens, request rates, allowed hosts and origins, and the access log.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use axum::body::HttpBody;
use axum::extract::{Extension, FromRequestParts, MatchedPath, RawPathParams, Request, State as FromState};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, watch};

use super::ApiState;
use super::guesses::{Guesses, Quiet};
use super::memory_budget::{MemoryBudget, Pot};
use crate::ServeError;
use crate::config::{ANYBODY, Config, Token};
use crate::listen::{ConnectionInfo, network};
use crate::problem::Problem;
use crate::session::WorldFacts;

/// Prefix of a token in a WebSocket protocol name, as a browser cannot send a header there.
pub const BEARER_PROTOCOL: &str = "bearer.";
/// Prefix of a token as hexadecimal bytes, because not every token is a valid protocol name.
const BEARER_HEX: &str = "bearer-hex.";
/// Longest request id that a client may choose, bytes.
const MAX_REQUEST_ID: usize = 64;
/// Longest path in the log, bytes. The rest is cut.
const MAX_LOGGED_PATH: usize = 256;
/// Number of large request bodies of a token parsed at the same time.
const MAX_READING: usize = 2;
/// Number of large frames encoded at the same time for a token's streams.
const MAX_ENCODING: usize = 2;
/// Number of a token's requests to the store at the same time.
const MAX_LOOKUPS: usize = 8;
/// Number of a token's worlds created at the same time.
const MAX_CREATING: usize = 1;
/// Header with the id of a request.
const REQUEST_ID: &str = "x-request-id";

/// Access control of the service: callers, allowed hosts, rates.
#[derive(Debug)]
pub struct Guard {
    callers: RwLock<Vec<Arc<Caller>>>,
    /// Configuration with the current tokens.
    config: Mutex<Config>,
    /// Allowed host names. Empty: any name.
    hosts: Vec<String>,
    pot: Pot,
    guesses: Guesses,
    refusals: Quiet,
    /// Rate limit for log lines about requests without a token.
    strangers: Quiet,
    access: bool,
}

/// Client identified by a token, or any client if there are none; with its share of the limits.
#[derive(Debug)]
pub struct Caller {
    /// Name of the token.
    pub name: String,
    /// Owner of the worlds created by this caller.
    pub owner: String,
    /// Settings of the token. None if the service has no tokens.
    token: Option<Token>,
    /// Largest number of worlds.
    pub worlds: usize,
    /// Slots for streams.
    pub sockets: Arc<Semaphore>,
    sockets_most: usize,
    /// Memory for bodies and answers.
    pub memory_budget: MemoryBudget,
    memory: usize,
    /// Slots for large request bodies being parsed.
    pub reading: Arc<Semaphore>,
    /// Slots for large frames being encoded.
    pub encoding: Arc<Semaphore>,
    /// Slots for requests to the store.
    pub lookups: Arc<Semaphore>,
    /// Slots for worlds being created.
    pub creating: Semaphore,
    rate: f64,
    bucket: Mutex<RateBucket>,
    /// True once the token is removed.
    ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct RateBucket {
    left: f64,
    at: Instant,
}

/// Names of tokens that were added, removed or changed.
#[derive(Debug, Default, PartialEq)]
pub struct TokenChanges {
    /// New names.
    pub added: Vec<String>,
    /// Removed names.
    pub removed: Vec<String>,
    /// Names with another secret or other limits.
    pub changed: Vec<String>,
}

impl Caller {
    fn new(token: Option<&Token>, config: &Config, pot: &Pot) -> Arc<Self> {
        let limits = &config.limits;
        let worlds = token.map_or(limits.worlds, |token| config.worlds_of(token));
        let sockets = token.map_or(limits.sockets, |token| config.sockets_of(token));
        let rate = token.and_then(|token| token.rate).unwrap_or(limits.rate);
        let memory = token.map_or(limits.memory_bytes, |token| config.memory_of(token));
        Arc::new(Self {
            name: token.map_or(ANYBODY, |token| &token.name).to_owned(),
            owner: token.map_or(ANYBODY, Token::owner).to_owned(),
            token: token.cloned(),
            worlds,
            sockets_most: sockets,
            sockets: Arc::new(Semaphore::new(sockets.min(Semaphore::MAX_PERMITS))),
            memory_budget: MemoryBudget::new(pot, memory),
            memory,
            reading: Arc::new(Semaphore::new(MAX_READING)),
            encoding: Arc::new(Semaphore::new(MAX_ENCODING)),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            creating: Semaphore::new(MAX_CREATING),
            rate,
            bucket: Mutex::new(RateBucket { left: rate.max(1.0), at: Instant::now() }),
            ended: watch::Sender::new(false),
        })
    }

    /// Returns true if the caller may see the world; to others the world does not exist.
    #[must_use]
    pub fn owns(&self, facts: &WorldFacts) -> bool {
        self.sees_all() || facts.owner == self.owner
    }

    /// Returns true if the caller may see all worlds: with `admin`, or without tokens.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.token.as_ref().is_none_or(|token| token.admin)
    }

    /// Returns true if the caller may see the owners of worlds.
    #[must_use]
    pub fn sees_owners(&self) -> bool {
        self.token.as_ref().is_some_and(|token| token.admin)
    }

    /// Returns true if the caller may read the figures of the whole service.
    #[must_use]
    pub fn sees_figures(&self) -> bool {
        self.token.as_ref().is_none_or(|token| token.admin || token.metrics)
    }

    /// Waits until the token is removed.
    pub async fn ended(&self) {
        // Cannot fail: the sender lives as long as this caller.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Returns true if a token of another configuration gives the same clients the same rights.
    fn is_still(&self, token: &Token) -> bool {
        let own = self.token.as_ref();
        own.is_some_and(|own| own.token == token.token && own.admin == token.admin && self.owner == token.owner())
    }

    /// Counts a request against the rate limit.
    ///
    /// # Errors
    /// The rate is exceeded: 429.
    pub fn take(&self) -> Result<(), Problem> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let most = self.rate.max(1.0);
        bucket.left = (bucket.left + self.rate * now.duration_since(bucket.at).as_secs_f64()).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            let wait = ((1.0 - bucket.left) / self.rate).ceil().clamp(1.0, 3600.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 3600")]
            return Err(Problem::too_many(format!("at most {} requests per second", self.rate), wait as u32));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

/// Id of the world in the path, which exists and which the caller may see.
#[derive(Debug)]
pub struct OwnWorld(pub String);

impl FromRequestParts<ApiState> for OwnWorld {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let named = RawPathParams::from_request_parts(parts, state).await;
        let named = named.map_err(|error| Problem::malformed(error.body_text()))?;
        let id = named.iter().find(|(name, _)| *name == "id").map(|(_, id)| id.to_owned()).unwrap_or_default();
        let caller = parts.extensions.get::<Arc<Caller>>();
        let world = state.scheduler.existing(&id)?;
        if caller.is_none_or(|caller| !caller.owns(&world.facts)) {
            // The message is the same as for a world that never existed.
            return Err(Problem::no_world(&id));
        }
        world.touch();
        Ok(Self(id))
    }
}

/// Refused request.
struct Refused {
    problem: Problem,
    /// True if the request had a wrong token.
    is_guess: bool,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { problem, is_guess: false }
    }
}

impl Guard {
    /// Creates the access control of a service that listens on `local`.
    pub fn new(config: &Config, local: SocketAddr) -> Self {
        let pot = Pot::new(config.limits.memory_bytes);
        let callers = if config.tokens.is_empty() {
            vec![Caller::new(None, config, &pot)]
        } else {
            config.tokens.iter().map(|token| Caller::new(Some(token), config, &pot)).collect()
        };
        // A page of another site whose host name resolves to this address must not reach a service without tokens
        // (DNS rebinding).
        let mut hosts = config.hosts.clone();
        if local.ip().is_loopback() {
            hosts.extend(["localhost".to_owned(), local.ip().to_string()]);
        }
        Self {
            callers: RwLock::new(callers),
            config: Mutex::new(config.clone()),
            hosts,
            pot,
            guesses: Guesses::default(),
            refusals: Quiet::default(),
            strangers: Quiet::default(),
            access: config.log.access,
        }
    }

    /// Replaces the tokens by those of another configuration. Requests and streams of removed ones end.
    ///
    /// # Errors
    /// The tokens are inconsistent; the previous ones stay.
    pub fn change_tokens(&self, other: &Config) -> Result<TokenChanges, ServeError> {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        let next = config.with_tokens_of(other)?;
        let mut callers = self.callers.write().unwrap_or_else(PoisonError::into_inner);
        let mut changes = TokenChanges::default();
        let mut made = Vec::new();
        for token in &next.tokens {
            let before = callers.iter().find(|caller| caller.token.as_ref().is_some_and(|own| own.name == token.name));
            let as_it_was = |caller: &&Arc<Caller>| caller.token.as_ref() == Some(token);
            match before {
                None => changes.added.push(token.name.clone()),
                Some(caller) if !as_it_was(&caller) => changes.changed.push(token.name.clone()),
                Some(_) => {}
            }
            // A token without changes keeps its account of reserved memory and slots.
            let shares = (next.memory_of(token), next.worlds_of(token), next.sockets_of(token));
            let has_them = |caller: &&Arc<Caller>| (caller.memory, caller.worlds, caller.sockets_most) == shares;
            let kept = before.filter(as_it_was).filter(has_them);
            made.push(kept.cloned().unwrap_or_else(|| Caller::new(Some(token), &next, &self.pot)));
        }
        for caller in callers.iter() {
            if !next.tokens.iter().any(|token| token.name == caller.name) {
                changes.removed.push(caller.name.clone());
            }
            if !next.tokens.iter().any(|token| caller.is_still(token)) {
                caller.ended.send_replace(true);
            }
        }
        *callers = made;
        *config = next;
        Ok(changes)
    }

    /// Returns true if there are several tokens: each limit is then divided among them.
    pub fn has_several(&self) -> bool {
        self.callers.read().unwrap_or_else(PoisonError::into_inner).len() > 1
    }

    /// Returns true for a world that no token can see.
    pub fn is_lost(&self, facts: &WorldFacts) -> bool {
        !self.callers.read().unwrap_or_else(PoisonError::into_inner).iter().any(|caller| caller.owns(facts))
    }

    /// Returns the owners that have a token.
    pub fn owners(&self) -> Vec<String> {
        let callers = self.callers.read().unwrap_or_else(PoisonError::into_inner);
        let mut owners: Vec<_> = callers.iter().map(|caller| caller.owner.clone()).collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Finds the caller by the token in the headers.
    fn find_caller(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Refused> {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let protocols = headers.get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
        let protocol = protocols.and_then(|list| list.split(',').map(str::trim).find_map(token_of));
        let given = bearer.map(|token| token.as_bytes().to_vec()).or(protocol).unwrap_or_default();
        // All tokens are compared, each in constant time.
        let mut who = None;
        for caller in self.callers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let Some(token) = &caller.token else { return Ok(caller.clone()) };
            if bool::from(token.token.0.as_bytes().ct_eq(&given)) {
                who = Some(caller.clone());
            }
        }
        let is_guess = !given.is_empty() || headers.get(header::AUTHORIZATION).is_some_and(|value| !value.is_empty());
        who.ok_or_else(|| Refused { problem: Problem::unauthorized(), is_guess })
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
            let detail = "forbidden: Host not allowed; add the host name to `hosts`, or use the service's address";
            Err(Problem::forbidden(detail))
        }
    }

    /// Refuses requests of pages from other sites (no CORS), even where these could not read the answer.
    fn check_origin(headers: &HeaderMap, path: &str) -> Result<(), Problem> {
        let refused =
            || Problem::forbidden("forbidden: Origin not allowed; only the service's own page may send requests");
        let Some(origin) = headers.get(header::ORIGIN) else {
            // Browsers omit the origin of read requests, and send this header instead.
            let word = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
            let is_link = path == "/" && word("sec-fetch-mode") == Some("navigate");
            return match word("sec-fetch-site") {
                None | Some("same-origin" | "none") => Ok(()),
                Some(_) if is_link && word("sec-fetch-dest").is_none_or(|dest| dest == "document") => Ok(()),
                Some(_) => Err(refused()),
            };
        };
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let origin = origin.to_str().unwrap_or_default();
        let site = origin.split_once("://").map_or("", |(_, site)| site);
        if !site.is_empty() && site.eq_ignore_ascii_case(host) { Ok(()) } else { Err(refused()) }
    }

    /// Finds the caller of a request, if the path requires one.
    fn check(&self, request: &Request) -> Result<Option<Arc<Caller>>, Refused> {
        let (headers, path) = (request.headers(), request.uri().path());
        let is_local = self.check_host(headers).and_then(|()| Self::check_origin(headers, path));
        if path.starts_with("/health/") {
            // Health checks work with any host name. A token gives access to details.
            return match (is_local, self.find_caller(headers)) {
                (Ok(()), Ok(caller)) => Ok(Some(caller)),
                (_, Err(refused)) if refused.is_guess => Err(refused),
                _ => Ok(None),
            };
        }
        is_local?;
        // The page and the API description hold no secrets; the page asks for a token.
        if path == "/" || path.starts_with("/page/") || path.starts_with("/api/") {
            return Ok(None);
        }
        let caller = self.find_caller(headers)?;
        let several = self.has_several();
        if let Some(line) = request.extensions().get::<Arc<ConnectionInfo>>()
            && !line.know(&caller.name, several)
        {
            let detail = "this token already has half of all connections (limits.connections)";
            return Err(Problem::too_many(detail, 1).into());
        }
        caller.take()?;
        let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0")
            || headers.contains_key(header::TRANSFER_ENCODING);
        if request.method() == Method::POST && has_body && !is_json(headers) {
            return Err(Problem::media_type().into());
        }
        Ok(Some(caller))
    }
}

/// Returns the token in a protocol name.
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

/// Returns a host name without its port.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Data of a request for the log and the metrics.
struct Noted {
    id: String,
    /// Id of the trace of the request (`traceparent`).
    trace: Option<String>,
    method: String,
    /// Pattern of the path, for the metrics.
    route: String,
    path: String,
    peer: Option<SocketAddr>,
    start: Instant,
}

impl Noted {
    fn of(request: &Request) -> Self {
        // A client may invent methods, and each would be a metric label forever.
        let known =
            [Method::GET, Method::POST, Method::DELETE, Method::HEAD, Method::PUT, Method::PATCH, Method::OPTIONS];
        let method = known.iter().find(|known| *known == request.method()).map_or("other", Method::as_str);
        let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
        let word = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        let is_id = |id: &&str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
        };
        Self {
            id: word(REQUEST_ID).filter(is_id).map_or_else(super::create::new_id, str::to_owned),
            trace: word("traceparent").and_then(trace_of),
            method: method.to_owned(),
            route: route.to_owned(),
            path: cut(request.uri().path()),
            peer: request.extensions().get::<Arc<ConnectionInfo>>().map(|line| line.peer),
            start: Instant::now(),
        }
    }

    /// Counts an answered request, and writes a log line.
    fn write(&self, guard: &Guard, caller: Option<&Caller>, response: &Response, detail: Option<&str>) {
        let Self { id, method, path, .. } = self;
        let status = response.status().as_u16();
        let seconds = self.start.elapsed().as_secs_f64();
        metrics::counter!("drystone_requests_total", "method" => method.clone(), "path" => self.route.clone(),
            "status" => status.to_string())
        .increment(1);
        metrics::histogram!("drystone_request_seconds", "path" => self.route.clone()).record(seconds);
        if let Some(caller) = caller {
            metrics::counter!("drystone_token_requests_total", "token" => caller.name.clone(),
                "status" => format!("{}xx", status / 100))
            .increment(1);
        }
        let token = caller.map_or("-", |caller| caller.name.as_str());
        let trace = self.trace.as_deref();
        let length = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let bytes = response.body().size_hint().exact().or_else(|| length?.parse().ok());
        if matches!(status, 401 | 403) {
            if let Some(unsaid) = guard.refusals.admit() {
                let peer = self.peer.map(tracing::field::display);
                tracing::warn!(target: "access", id, trace, peer, token, method, path, status, detail, seconds,
                    unsaid = (unsaid > 0).then_some(unsaid), "refused");
            }
        } else if status >= 500 && !path.starts_with("/health/") {
            tracing::warn!(target: "access", id, trace, token, method, path, status, bytes, seconds, "request");
        } else if guard.access && !path.starts_with("/health/") && caller.is_some() {
            tracing::info!(target: "access", id, trace, token, method, path, status, bytes, seconds, "request");
        } else if guard.access
            && !path.starts_with("/health/")
            && let Some(unsaid) = guard.strangers.admit()
        {
            tracing::info!(target: "access", id, trace, token, method, path, status, bytes, seconds,
                unsaid = (unsaid > 0).then_some(unsaid), "request");
        } else {
            tracing::debug!(target: "access", id, trace, token, method, path, status, bytes, seconds, "request");
        }
    }
}

/// Cuts a long path for the log.
fn cut(path: &str) -> String {
    let Some((end, _)) = path.char_indices().find(|(at, letter)| at + letter.len_utf8() > MAX_LOGGED_PATH) else {
        return path.to_owned();
    };
    format!("{}…", &path[..end])
}

/// Returns the trace id of a `traceparent` (W3C Trace Context).
fn trace_of(parent: &str) -> Option<String> {
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (version.len() == 2 && trace.len() == 32 && is_hex(version) && is_hex(trace)).then(|| trace.to_owned())
}

/// Checks a request, counts it, and adds security headers to the answer.
pub async fn guard(FromState(state): FromState<ApiState>, mut request: Request, next: Next) -> Response {
    let noted = Noted::of(&request);
    let (mut caller, mut detail) = (None, None);
    let mut response = match state.guard.check(&request) {
        Ok(who) => {
            caller.clone_from(&who);
            if let Some(who) = who {
                request.extensions_mut().insert(who.clone());
                tokio::select! {
                    response = next.run(request) => response,
                    () = who.ended() => Problem::unauthorized().into_response(),
                }
            } else {
                next.run(request).await
            }
        }
        Err(Refused { mut problem, is_guess }) => {
            detail = Some(if is_guess { "a wrong token".to_owned() } else { problem.detail.clone() });
            if is_guess && let Err(busy) = state.guard.guesses.wait(noted.peer.map(|peer| network(peer.ip()))).await {
                problem = busy;
            }
            let mut response = problem.into_response();
            if is_guess {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(&noted.id) {
        headers.insert(REQUEST_ID, id);
    }
    noted.write(&state.guard, caller.as_deref(), &response, detail.as_deref());
    response
}

/// Caller of a request, where there may be none.
pub type MaybeCaller = Option<Extension<Arc<Caller>>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;

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
        let who = |pairs: &[(&'static str, &'static str)]| {
            guard.find_caller(&headers(pairs)).ok().map(|who| who.name.clone())
        };
        for scheme in ["bearer", "BEARER", "Bearer "] {
            let value = HeaderValue::from_str(&format!("{scheme} other-long-token-2")).unwrap();
            let headers = [(header::AUTHORIZATION, value)].into_iter().collect();
            assert!(guard.find_caller(&headers).is_ok(), "{scheme}");
        }
        assert_eq!(who(&[("authorization", "Bearer other-long-token-2")]).as_deref(), Some("other-long-token-2"));
        let list = &[("sec-websocket-protocol", "drystone.v1, bearer.first-long-token-1")];
        assert_eq!(who(list).as_deref(), Some("first-long-token-1"));
        let hexadecimal = &[("sec-websocket-protocol", "drystone.v1, bearer-hex.6f746865722d6c6f6e672d746f6b656e2d32")];
        assert_eq!(who(hexadecimal).as_deref(), Some("other-long-token-2"));
        for wrong in ["bearer-hex.", "bearer-hex.6f7", "bearer-hex.zz", "bearer-hex.ä", "bearer."] {
            let value = HeaderValue::from_str(wrong).unwrap();
            let headers: HeaderMap = [(header::SEC_WEBSOCKET_PROTOCOL, value)].into_iter().collect();
            assert!(guard.find_caller(&headers).is_err(), "{wrong}");
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
        let origin = |origin| Guard::check_origin(&headers(&[("host", "localhost:7878"), ("origin", origin)]), "/");
        assert!(origin("http://localhost:7878").is_ok());
        for wrong in ["http://localhost:7879", "https://evil.example", "null", "", "http://"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
        let fetched = |site, mode, path| {
            Guard::check_origin(&headers(&[("sec-fetch-site", site), ("sec-fetch-mode", mode)]), path).is_ok()
        };
        assert!(fetched("same-origin", "cors", "/v1/worlds") && fetched("none", "navigate", "/v1/worlds"));
        assert!(fetched("cross-site", "navigate", "/"), "a link to the page");
        for wrong in ["cross-site", "same-site", ""] {
            assert!(!fetched(wrong, "no-cors", "/v1/worlds") && !fetched(wrong, "navigate", "/v1/worlds"), "{wrong}");
            assert!(!fetched(wrong, "no-cors", "/"), "{wrong}");
        }
    }

    #[test]
    fn traces() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_of(&format!("00-{trace}-00f067aa0ba902b7-01")).as_deref(), Some(trace));
        for wrong in ["", "00", "00-x", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"] {
            assert_eq!(trace_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tokens_are_changed() {
        let facts =
            |owner: &str| WorldFacts { name: String::new(), created: 0, key: None, owner: owner.to_owned(), bodies: 0 };
        let token = |name: &str, secret: &str| Token::new(name, secret);
        let with = |tokens: &[Token]| Config { tokens: tokens.to_vec(), ..Config::default() };
        let (old, other) = (token("old", "first-long-token-1"), token("other", "other-long-token-2"));
        let guard = Guard::new(&with(&[old.clone(), other.clone()]), "127.0.0.1:7878".parse().unwrap());
        let who = |secret: &str| {
            let value = HeaderValue::from_str(&format!("Bearer {secret}")).unwrap();
            guard.find_caller(&[(header::AUTHORIZATION, value)].into_iter().collect()).ok()
        };
        let (first, second) = (who("first-long-token-1").unwrap(), who("other-long-token-2").unwrap());
        assert!(first.owns(&facts("old")) && !first.owns(&facts("other")) && guard.is_lost(&facts("anybody")));
        // Another token of the same owner; then without the first.
        let new = Token { owner: Some("old".to_owned()), ..token("new", "third-long-token-3") };
        let changes = guard.change_tokens(&with(&[old, other.clone(), new.clone()])).unwrap();
        assert_eq!(changes, TokenChanges { added: vec!["new".to_owned()], ..TokenChanges::default() });
        assert!(Arc::ptr_eq(&first, &who("first-long-token-1").unwrap()));
        let changes = guard.change_tokens(&with(&[other.clone(), new.clone()])).unwrap();
        assert_eq!(changes, TokenChanges { removed: vec!["old".to_owned()], ..TokenChanges::default() });
        assert!(*first.ended.borrow() && !*second.ended.borrow() && who("first-long-token-1").is_none());
        assert!(who("third-long-token-3").unwrap().owns(&facts("old")));
        // Inconsistent tokens change nothing.
        assert!(guard.change_tokens(&with(&[other.clone(), other.clone()])).is_err());
        assert!(guard.change_tokens(&with(&[])).is_err());
        assert!(Arc::ptr_eq(&second, &who("other-long-token-2").unwrap()));
        // A changed limit ends nothing; a changed secret does, and so does a removed right.
        let slower = Token { rate: Some(5.0), ..other };
        let changes = guard.change_tokens(&with(&[slower.clone(), new.clone()])).unwrap();
        assert_eq!(changes, TokenChanges { changed: vec!["other".to_owned()], ..TokenChanges::default() });
        assert!(!*second.ended.borrow());
        let admin = Token { admin: true, ..new.clone() };
        guard.change_tokens(&with(&[slower.clone(), admin])).unwrap();
        let powerful = who("third-long-token-3").unwrap();
        assert!(powerful.owns(&facts("anybody")) && powerful.sees_owners() && !guard.is_lost(&facts("x")));
        guard.change_tokens(&with(&[slower, new])).unwrap();
        assert!(*powerful.ended.borrow());
    }

    #[test]
    fn rates_and_places_are_each_ones_own() {
        let limits = Limits { rate: 5.0, ..Limits::default() };
        let (config, pot) = (Config { limits: limits.clone(), ..Config::default() }, Pot::new(1 << 20));
        let (some, other) = (Caller::new(None, &config, &pot), Caller::new(None, &config, &pot));
        let passed = (0..20).filter(|_| some.take().is_ok()).count();
        assert!((5..=6).contains(&passed), "{passed}");
        assert!(other.take().is_ok());
        assert_eq!(some.take().unwrap_err().retry_after, Some(1));
        let token = Token { worlds: Some(3), sockets: Some(1_000_000), ..Token::new("a", "b") };
        let caller = Caller::new(Some(&token), &config, &pot);
        assert_eq!((caller.worlds, caller.sockets.available_permits()), (3, limits.sockets));
    }
}
