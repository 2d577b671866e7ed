//! Configuration of the service: a TOML file, overridden by environment variables, overridden by the command line.
//!
//! ```
//! use drystone_serve::config::Config;
//!
//! let environment = [("DRYSTONE_LIMITS_BODIES".to_owned(), "1000".to_owned())];
//! let config = Config::load(None, &environment)?;
//! assert_eq!(config.limits.bodies, 1000);
//! # Ok::<(), drystone_serve::ServeError>(())
//! ```

mod limits;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ServeError;
use super::store::BUCKET;
pub use limits::Limits;

/// Minimum length of a token, characters. Shorter ones can be guessed.
const MIN_TOKEN: usize = 16;
/// Owner of worlds created while the service has no tokens.
pub const ANYBODY: &str = "anybody";
/// Name of the token given by the environment (`DRYSTONE_TOKEN`).
pub const ENVIRONMENT: &str = "environment";
/// Divisor of `limits.memory_bytes` for a token without a share of its own, when there are several tokens.
const MEMORY_SHARES: usize = 4;
/// Prefix of the environment variables.
const PREFIX: &str = "DRYSTONE_";

/// Configuration of the service. Every key is optional.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address and port. Any address but a loopback one requires a token.
    pub listen: SocketAddr,
    /// A folder for the worlds, `s3://BUCKET/PREFIX`, or `memory`, which keeps nothing after the process ends.
    pub store: String,
    /// Access to the bucket.
    pub s3: S3,
    /// Tokens of clients. Without any, each client that reaches the address may do everything. SIGHUP reloads them
    /// from the file of `--config`.
    pub tokens: Vec<Token>,
    /// Other host names of the service, behind a proxy; they require a token. Loopback names are always accepted.
    pub hosts: Vec<String>,
    /// Worker threads for worlds on the CPU; 0: one per core, at least two. On a GPU there is always one.
    pub workers: usize,
    /// True if small worlds on a GPU share their dispatches. The results are the same.
    pub pools: bool,
    /// Seconds of computing after which a checkpoint of a world is written.
    pub checkpoint_seconds: f64,
    /// Seconds after which an idle world leaves memory. The next request brings it back.
    pub hibernate_seconds: f64,
    /// Seconds without a viewer after which a playing world pauses, unless its client says otherwise; 0: never.
    pub pause_unwatched_seconds: f64,
    /// Opens failed worlds again whose steps had ended the process.
    pub retry_failed: bool,
    /// Local folder for what a service with a bucket must know of the previous process. Empty: a folder in the
    /// system's directory for temporary files.
    pub local_state: String,
    /// Treatment of a world that was not written out before another build took over. `warn` replays its log with a
    /// warning, though the result may differ in bits; `refuse` opens the world as failed.
    pub other_build: String,
    /// Limits.
    pub limits: Limits,
    /// Log output.
    pub log: LogConfig,
}

/// Access to a bucket. Missing values come from the usual environment variables (`AWS_REGION`, `AWS_ACCESS_KEY_ID`,
/// `AWS_ENDPOINT_URL` and so on) or from the machine; keys and session token all from the same source.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3 {
    /// Address of an object store that is not Amazon's, such as `https://minio.example.org:9000`.
    pub endpoint: String,
    /// Region.
    pub region: String,
    /// Access key id.
    pub access_key_id: String,
    /// Secret access key.
    pub secret_access_key: Secret,
    /// Session token of temporary credentials.
    pub session_token: Secret,
    /// True if the bucket is part of the host name, as with Amazon; false if it is part of the path.
    pub virtual_host: bool,
    /// Seconds for which a failing request is retried.
    pub patience_seconds: f64,
    /// Takes the worlds over from a running service at the same place, which then ends. Otherwise this service does
    /// not start while the other lives; after a killed one it waits for one and a half `patience_seconds`.
    pub take_over: bool,
}

/// Secret text. `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

/// Token of a client, with its rights and its share of the limits.
///
/// A world belongs to the owner of the token that created it. For other owners it does not exist (404), and
/// idempotency keys are separate per owner. Worlds created while there were no tokens belong to `anybody`, a name
/// that no token can have. Worlds whose owner has no token any more stay in the store. A token with `admin = true`
/// sees them all.
///
/// To change a token without a gap, give two tokens the same `owner`: add the second and send SIGHUP, move the
/// clients, remove the first and send SIGHUP again. Requests and streams of a removed token end immediately.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Name in logs and metrics, and owner of its worlds if `owner` is not set.
    pub name: String,
    /// Secret that clients send, at least 16 characters.
    pub token: Secret,
    /// Owner of the worlds created with the token; several tokens may share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Sees the worlds of all owners and has every right on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// Reads the figures of the whole service at `/metrics`, as `admin` does, without other rights: for Prometheus.
    /// Other tokens see only their own figures there, unless all tokens have one owner.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub metrics: bool,
    /// Number of worlds of its owner, up to `limits.worlds`. Default with several tokens: half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worlds: Option<usize>,
    /// Number of streams, up to `limits.sockets`. Default with several tokens: half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<usize>,
    /// Requests per second, in place of `limits.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Part of `limits.memory_bytes` for this token, at least `limits.bytes`. Default with several tokens: a
    /// quarter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<usize>,
}

impl Token {
    /// Creates a token with the limits of the service.
    #[must_use]
    pub fn new(name: &str, token: &str) -> Self {
        Self {
            name: name.to_owned(),
            token: Secret(token.to_owned()),
            owner: None,
            admin: false,
            metrics: false,
            worlds: None,
            sockets: None,
            rate: None,
            memory_bytes: None,
        }
    }

    /// Returns the owner of the worlds created with the token.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.owner.as_deref().unwrap_or(&self.name)
    }
}

/// Log output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// `text` or `json`.
    pub format: String,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// True for a line per request: its id, the token's name, method, path, status, seconds.
    pub access: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)),
            store: "drystone-worlds".to_owned(),
            s3: S3::default(),
            tokens: Vec::new(),
            hosts: Vec::new(),
            workers: 0,
            pools: true,
            checkpoint_seconds: 5.0,
            hibernate_seconds: 300.0,
            pause_unwatched_seconds: 0.0,
            retry_failed: false,
            local_state: String::new(),
            other_build: "warn".to_owned(),
            limits: Limits::default(),
            log: LogConfig::default(),
        }
    }
}

impl Default for S3 {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            region: String::new(),
            access_key_id: String::new(),
            secret_access_key: Secret::default(),
            session_token: Secret::default(),
            virtual_host: false,
            patience_seconds: 10.0,
            take_over: false,
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: "text".to_owned(), level: "info".to_owned(), access: true }
    }
}

impl Config {
    /// Reads a file, if given, and overrides it by environment variables: `DRYSTONE_LISTEN`,
    /// `DRYSTONE_LIMITS_BODIES` and so on. `DRYSTONE_TOKEN` adds a token named `environment`.
    ///
    /// # Errors
    /// The file cannot be read, or a key or value is wrong; the message says which and where. It shows no values, as
    /// they may be secret.
    pub fn load(file: Option<&Path>, environment: &[(String, String)]) -> Result<Self, ServeError> {
        let mut table = match file {
            None => toml::Table::new(),
            Some(path) => {
                let name = path.display();
                let text = std::fs::read_to_string(path).map_err(|error| {
                    ServeError::Config(format!("cannot read the configuration {name}: {}", error.kind()))
                })?;
                // Parsed once in the final type, so that errors have a line number.
                let checked: Result<Self, _> = toml::from_str(&text);
                checked.map_err(|error| ServeError::Config(format!("{name}: {}", explain(&error, &text))))?;
                toml::from_str(&text)
                    .map_err(|error| ServeError::Config(format!("{name}: {}", explain(&error, &text))))?
            }
        };
        let wrong = |name: &str, problem: &dyn std::fmt::Display| {
            ServeError::Config(format!("environment variable {name}: {problem}"))
        };
        let defaults = toml::Table::try_from(Self::default()).map_err(|error| ServeError::Config(error.to_string()))?;
        for (name, text) in environment {
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            if key == "TOKEN" {
                let token = Token::new(ENVIRONMENT, text.trim());
                let token = toml::Value::try_from(token).map_err(|error| wrong(name, &error))?;
                let tokens = table.entry("tokens").or_insert_with(|| toml::Value::Array(Vec::new()));
                tokens.as_array_mut().ok_or_else(|| wrong(name, &"`tokens` is not a list"))?.push(token);
                continue;
            }
            if let Some((section, key)) = find(&defaults, key) {
                let target = match section {
                    None => &mut table,
                    Some(section) => table
                        .entry(section)
                        .or_insert_with(|| toml::Value::Table(toml::Table::new()))
                        .as_table_mut()
                        .ok_or_else(|| wrong(name, &"the section is not a table"))?,
                };
                target.insert(key, value(text));
                let checked: Result<Self, _> = table.clone().try_into();
                checked.map_err(|error| wrong(name, &without_values(error.message())))?;
            }
        }
        table.try_into().map_err(|error: toml::de::Error| ServeError::Config(without_values(error.message())))
    }

    /// Returns the bytes of `limits.memory_bytes` that a token may hold.
    #[must_use]
    pub fn memory_of(&self, token: &Token) -> usize {
        let limits = &self.limits;
        let share = if self.tokens.len() < 2 { limits.memory_bytes } else { limits.memory_bytes / MEMORY_SHARES };
        token.memory_bytes.unwrap_or_else(|| share.max(limits.bytes)).min(limits.memory_bytes)
    }

    /// Returns a token's default share of a limit: half of it if there are several tokens.
    fn share(&self, most: usize) -> usize {
        if self.tokens.len() < 2 { most } else { most.div_ceil(2) }
    }

    /// Returns the number of worlds that the token's owner may have.
    #[must_use]
    pub fn worlds_of(&self, token: &Token) -> usize {
        let most = self.limits.worlds;
        token.worlds.unwrap_or_else(|| self.share(most)).min(most)
    }

    /// Returns the number of streams that a token may have.
    #[must_use]
    pub fn sockets_of(&self, token: &Token) -> usize {
        let most = self.limits.sockets;
        token.sockets.unwrap_or_else(|| self.share(most)).min(most)
    }

    /// Returns this configuration with the tokens of another one.
    ///
    /// # Errors
    /// The tokens are inconsistent, or there are none while there are some now.
    pub fn with_tokens_of(&self, other: &Self) -> Result<Self, ServeError> {
        if other.tokens.is_empty() && !self.tokens.is_empty() {
            let detail = "the configuration has no tokens any more: to serve without tokens, restart the service";
            return Err(ServeError::Config(detail.to_owned()));
        }
        let changed = Self { tokens: other.tokens.clone(), ..self.clone() };
        changed.check()?;
        Ok(changed)
    }

    /// Checks the configuration for consistency.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn check(&self) -> Result<(), ServeError> {
        let refuse = |what: String| Err(ServeError::Config(what));
        if self.tokens.is_empty() && !self.listen.ip().is_loopback() {
            return refuse(format!(
                "{} is not a loopback address: set a token (DRYSTONE_TOKEN, or [[tokens]] in the configuration), or \
                 listen on 127.0.0.1",
                self.listen.ip()
            ));
        }
        if self.tokens.is_empty() && !self.hosts.is_empty() {
            return refuse(format!(
                "hosts has {:?}, so clients reach the service through a proxy: set a token (DRYSTONE_TOKEN, or \
                 [[tokens]] in the configuration), or leave `hosts` empty",
                self.hosts[0]
            ));
        }
        self.check_tokens()?;
        for (key, number, least) in [
            ("checkpoint_seconds", self.checkpoint_seconds, 0.01),
            ("hibernate_seconds", self.hibernate_seconds, 0.01),
            ("pause_unwatched_seconds", self.pause_unwatched_seconds, 0.0),
            ("limits.turn_seconds", self.limits.turn_seconds, 0.01),
            ("s3.patience_seconds", self.s3.patience_seconds, 0.1),
            ("limits.rate", self.limits.rate, 0.1),
            ("limits.step_seconds", self.limits.step_seconds, 0.01),
            ("limits.query_seconds", self.limits.query_seconds, 0.01),
            ("limits.idle_seconds", self.limits.idle_seconds, 0.1),
            ("limits.body_seconds", self.limits.body_seconds, 0.1),
            ("limits.stranger_seconds", self.limits.stranger_seconds, 0.1),
        ] {
            if !(number >= least && number <= 1e9) {
                return refuse(format!("{key} is {number}; expected a number from {least} to 1e9"));
            }
        }
        if self.store.is_empty() {
            return refuse("store is empty; expected a folder, `s3://BUCKET/PREFIX`, or `memory`".to_owned());
        }
        if self.limits.connections == 0 {
            return refuse("limits.connections is 0; expected at least 1".to_owned());
        }
        if self.limits.contacts == 0 || self.limits.step_work == 0 {
            return refuse("limits.contacts and limits.step_work are at least 1".to_owned());
        }
        for (key, number) in
            [("limits.total_bodies", self.limits.total_bodies), ("limits.resident_bodies", self.limits.resident_bodies)]
        {
            if number < self.limits.bodies {
                let least = self.limits.bodies;
                return refuse(format!("{key} is {number}; expected at least limits.bodies, {least}"));
            }
        }
        for (key, number) in [("limits.goals", self.limits.goals), ("limits.keys", self.limits.keys)] {
            if number == 0 {
                return refuse(format!("{key} is 0; expected at least 1"));
            }
        }
        if self.limits.strangers == 0 {
            return refuse("limits.strangers is 0; expected at least 1".to_owned());
        }
        if self.limits.min_speed == 0 {
            return refuse("limits.min_speed is 0; expected at least 1".to_owned());
        }
        if self.limits.memory_bytes < self.limits.bytes {
            return refuse(format!(
                "limits.memory_bytes is {}; expected at least limits.bytes, {}",
                self.limits.memory_bytes, self.limits.bytes
            ));
        }
        self.check_s3()?;
        if self.workers > 1024 {
            return refuse(format!("workers is {}; expected at most 1024", self.workers));
        }
        if !matches!(self.other_build.as_str(), "warn" | "refuse") {
            return refuse(format!("other_build is {:?}; expected \"warn\" or \"refuse\"", self.other_build));
        }
        if !matches!(self.log.format.as_str(), "text" | "json") {
            return refuse(format!("log.format is {:?}; expected \"text\" or \"json\"", self.log.format));
        }
        if self.level().is_none() {
            return refuse(format!(
                "log.level is {:?}; expected \"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
                self.log.level
            ));
        }
        Ok(())
    }

    fn check_tokens(&self) -> Result<(), ServeError> {
        let refuse = |what: String| Err(ServeError::Config(what));
        for (index, token) in self.tokens.iter().enumerate() {
            let name = &token.name;
            if name.is_empty() || token.owner().is_empty() {
                return refuse(format!("token {} has an empty name or owner", index + 1));
            }
            if token.token.0.len() < MIN_TOKEN {
                return refuse(format!("token {name:?} is shorter than {MIN_TOKEN} characters"));
            }
            if name == ANYBODY || token.owner() == ANYBODY {
                return refuse(format!("token {name:?}: {ANYBODY:?} is reserved for a service without tokens"));
            }
            if let Some(other) = self.tokens[..index].iter().find(|other| other.name == *name) {
                let hint = if other.name == ENVIRONMENT { " (that of DRYSTONE_TOKEN)" } else { "" };
                return refuse(format!("two tokens have the name {name:?}{hint}"));
            }
            if let Some(other) = self.tokens[..index].iter().find(|other| other.token == token.token) {
                return refuse(format!("the tokens {:?} and {name:?} are the same", other.name));
            }
            if let Some(rate) = token.rate.filter(|rate| !(*rate >= 0.1 && *rate <= 1e9)) {
                return refuse(format!("the rate of token {name:?} is {rate}; expected 0.1 to 1e9"));
            }
            if let Some(bytes) = token.memory_bytes.filter(|bytes| *bytes < self.limits.bytes) {
                return refuse(format!(
                    "memory_bytes of token {name:?} is {bytes}; expected at least limits.bytes, {}",
                    self.limits.bytes
                ));
            }
        }
        Ok(())
    }

    fn check_s3(&self) -> Result<(), ServeError> {
        let refuse = |what: &str| Err(ServeError::Config(what.to_owned()));
        let s3 = &self.s3;
        if s3.access_key_id.is_empty() != s3.secret_access_key.0.is_empty() {
            return refuse("s3.access_key_id and s3.secret_access_key belong together: set both or neither");
        }
        if s3.access_key_id.is_empty() && !s3.session_token.0.is_empty() {
            return refuse("s3.session_token needs keys: set s3.access_key_id and s3.secret_access_key, too");
        }
        if !(s3.endpoint.is_empty() || s3.endpoint.starts_with("https://") || s3.endpoint.starts_with("http://")) {
            return refuse(
                "s3.endpoint is not an address; expected https://HOST or, in a trusted network, http://HOST",
            );
        }
        let Some(place) = self.store.strip_prefix(BUCKET) else { return Ok(()) };
        if place.split('/').next().is_none_or(str::is_empty) {
            return refuse("store names no bucket; expected s3://BUCKET/PREFIX");
        }
        if !cfg!(feature = "s3") {
            return refuse("store is a bucket, and this drystone was built without the feature `s3`");
        }
        Ok(())
    }

    /// Returns the configuration as TOML, without secrets.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut shown = self.clone();
        shown.tokens.clear();
        (shown.s3.secret_access_key, shown.s3.session_token) = Default::default();
        toml::to_string(&shown).unwrap_or_default()
    }

    /// Returns the log level, or `None` if the text is not one.
    #[must_use]
    pub fn level(&self) -> Option<tracing::Level> {
        self.log.level.parse().ok()
    }
}

/// Describes an error in a file with its position, without the line itself: it may contain a token.
fn explain(error: &toml::de::Error, text: &str) -> String {
    let message = without_values(error.message());
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return message };
    let (line, column) = (before.matches('\n').count(), before.chars().rev().take_while(|c| *c != '\n').count() + 1);
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let key = text.lines().nth(line).and_then(|text| text.split_once('=')).map(|(key, _)| key.trim());
    let key = key.filter(|key| !key.is_empty() && key.chars().all(is_bare));
    let key = key.map(|key| format!(" ({key})")).unwrap_or_default();
    format!("line {}, column {column}{key}: {message}", line + 1)
}

/// Removes the given values from an error message, as they may be secret. Expected values and key names stay.
fn without_values(message: &str) -> String {
    let message = message.trim_end();
    if message.starts_with("unknown field") || message.starts_with("missing field") {
        return message.to_owned();
    }
    let cut = |prefix: &str| {
        let rest = message.strip_prefix(prefix)?;
        let (given, expected) = rest.rsplit_once(", expected ").unwrap_or((rest, "another"));
        let kind = given.split(['"', '`', '\'']).next().unwrap_or_default().trim_end();
        Some(format!("{prefix}{kind}, expected {expected}"))
    };
    if let Some(shown) = cut("invalid type: ").or_else(|| cut("invalid value: ")) {
        return shown;
    }
    // Removes text between quotes of any kind, except marks of the language such as `=`.
    let (mut shown, mut rest) = (String::new(), message);
    while let Some(start) = rest.find(['"', '`']) {
        let quote = rest[start..].chars().next().unwrap_or('"');
        let (before, inside) = rest.split_at(start + 1);
        shown.push_str(before);
        let Some(end) = inside.rfind(quote).filter(|_| quote == '"').or_else(|| inside.find(quote)) else {
            return shown + "…";
        };
        shown.push_str(if end <= 2 { &inside[..end] } else { "…" });
        shown.push(quote);
        rest = &inside[end + 1..];
    }
    shown + rest
}

/// Finds the key of an environment variable: `LIMITS_BODIES` is `bodies` in `limits`.
fn find(defaults: &toml::Table, name: &str) -> Option<(Option<String>, String)> {
    for (key, value) in defaults {
        let upper = key.to_uppercase();
        if upper == name && !value.is_table() {
            return Some((None, key.clone()));
        }
        if let (Some(table), Some(rest)) = (value.as_table(), name.strip_prefix(&format!("{upper}_")))
            && let Some(inner) = table.keys().find(|inner| inner.to_uppercase() == rest)
        {
            return Some((Some(key.clone()), inner.clone()));
        }
    }
    None
}

/// Parses a number or a list; returns other text as a string.
fn value(text: &str) -> toml::Value {
    let as_toml: Option<toml::Table> = toml::from_str(&format!("v = {text}")).ok();
    as_toml.and_then(|mut table| table.remove("v")).unwrap_or_else(|| toml::Value::String(text.to_owned()))
}
