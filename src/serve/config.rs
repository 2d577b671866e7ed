//! What the service is told: a TOML file, then the environment, then the command line, each over the one before.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ServeError;
use super::store::BUCKET;

/// Shorter tokens are refused, as they can be guessed.
const SHORTEST_TOKEN: usize = 16;
/// Before the names of environment variables.
const PREFIX: &str = "DRYSTONE_";

/// All that can be set. Every key may be left out.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address and port. Any but a loopback address demands a token.
    pub listen: SocketAddr,
    /// A folder for the worlds, `s3://BUCKET/PREFIX`, or `memory`, which forgets them at the end.
    pub store: String,
    /// How a bucket is reached.
    pub s3: S3,
    /// Who may come. Without any, whoever reaches the address.
    pub tokens: Vec<Token>,
    /// Names of other hosts by which the service is called, behind a proxy. Loopback names always count.
    pub hosts: Vec<String>,
    /// Workers that run worlds on the CPU; 0: one a core, at least two. On a GPU there is always one.
    pub workers: usize,
    /// Whether small worlds on a GPU share their dispatches. What they come to is the same.
    pub pools: bool,
    /// Seconds of computing after which a world is written out.
    pub checkpoint_seconds: f64,
    /// Limits.
    pub limits: Limits,
    /// What is said about it.
    pub log: Log,
}

/// How a bucket is reached. What is left out comes from the variables that other programs have for it (`AWS_REGION`,
/// `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL` and so on), or from the machine; keys and session token all from one place.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3 {
    /// Address of an object store that is not Amazon's, such as `https://minio.example.org:9000`.
    pub endpoint: String,
    /// Region.
    pub region: String,
    /// Who we are there.
    pub access_key_id: String,
    /// Proves it.
    pub secret_access_key: Secret,
    /// Of credentials that end.
    pub session_token: Secret,
    /// Whether the bucket is part of the host's name, as Amazon has it, or of the path.
    pub virtual_host: bool,
    /// Seconds for which a request is tried again before it is given up.
    pub patience_seconds: f64,
}

/// What must not be shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

/// Who may come, and how much of the service is theirs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// For the log. Worlds remember who made them by it.
    pub name: String,
    /// At least 16 characters.
    pub token: String,
    /// Worlds at a time that were made with it, if fewer than `limits.worlds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worlds: Option<usize>,
    /// Streams at a time, if fewer than `limits.sockets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<usize>,
    /// Requests a second, in place of `limits.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl Token {
    /// With the limits of the service.
    #[must_use]
    pub fn new(name: &str, token: &str) -> Self {
        Self { name: name.to_owned(), token: token.to_owned(), worlds: None, sockets: None, rate: None }
    }
}

/// What is refused beyond. Bodies, joints and steps: 422; bytes: 413; the others: 429.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Of a request.
    pub bytes: usize,
    /// Worlds at a time.
    pub worlds: usize,
    /// Of a world, those that come while it runs included.
    pub bodies: usize,
    /// Of a world.
    pub joints: usize,
    /// Of a request.
    pub steps: u64,
    /// Commands of a request.
    pub commands: usize,
    /// Queries of a request.
    pub queries: usize,
    /// Bodies and joints that are added or removed by hand in the life of a world, as its checkpoints remember each.
    pub alterations: usize,
    /// Checkpoints with a name, of a world.
    pub checkpoints: usize,
    /// Requests that wait for a world.
    pub inbox: usize,
    /// Streams at a time.
    pub sockets: usize,
    /// Connections at a time, streams included. One more is told 503.
    pub connections: u32,
    /// Seconds for which a connection may say nothing, not end the head of a request, or take nothing of an answer.
    pub idle_seconds: f64,
    /// Seconds that the body of a request may take to come.
    pub body_seconds: f64,
    /// Bodies of requests and answers that are on their way, together.
    pub memory_bytes: usize,
    /// Requests a second, of a token; messages of streams count.
    pub rate: f64,
    /// Seconds for which a request for steps may wait.
    pub step_seconds: f64,
    /// Events that a world keeps.
    pub events: usize,
    /// In the store; 0: as many as the disk holds.
    pub store_bytes: u64,
}

/// What is said about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// `text` or `json`.
    pub format: String,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
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
            limits: Limits::default(),
            log: Log::default(),
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
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            worlds: 256,
            bodies: 1_000_000,
            joints: 1_000_000,
            steps: 1_000_000,
            commands: 10_000,
            queries: 10_000,
            alterations: 100_000,
            checkpoints: 16,
            inbox: 64,
            sockets: 256,
            connections: 1024,
            idle_seconds: 30.0,
            body_seconds: 120.0,
            memory_bytes: 1 << 30,
            rate: 1000.0,
            step_seconds: 600.0,
            events: 10_000,
            store_bytes: 0,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: "text".to_owned(), level: "info".to_owned() }
    }
}

impl Config {
    /// Reads a file, if one is given, and puts variables of the environment over it: `DRYSTONE_LISTEN`,
    /// `DRYSTONE_LIMITS_BODIES` and so on, and `DRYSTONE_TOKEN` for one token.
    ///
    /// # Errors
    /// The file cannot be read, or a key or value is wrong: which, and where.
    pub fn load(file: Option<&Path>, environment: &[(String, String)]) -> Result<Self, ServeError> {
        let mut table = match file {
            None => toml::Table::new(),
            Some(path) => {
                let name = path.display();
                let text =
                    std::fs::read_to_string(path).map_err(|error| ServeError::Config(format!("{name}: {error}")))?;
                // Once as it is, so that errors have their line.
                let checked: Result<Self, _> = toml::from_str(&text);
                checked.map_err(|error| ServeError::Config(format!("{name}: {}", error.to_string().trim_end())))?;
                toml::from_str(&text).map_err(|error| ServeError::Config(format!("{name}: {error}")))?
            }
        };
        let wrong = |name: &str, problem: &dyn std::fmt::Display| {
            ServeError::Config(format!("environment variable {name}: {problem}"))
        };
        let defaults = toml::Table::try_from(Self::default()).map_err(|error| ServeError::Config(error.to_string()))?;
        for (name, text) in environment {
            let Some(key) = name.strip_prefix(PREFIX) else { continue };
            if key == "TOKEN" {
                let token = Token::new("environment", text.trim());
                let token = toml::Value::try_from(token).map_err(|error| wrong(name, &error))?;
                table.insert("tokens".to_owned(), toml::Value::Array(vec![token]));
                continue;
            }
            if let Some((section, key)) = find(&defaults, key) {
                let target = match section {
                    None => &mut table,
                    Some(section) => table
                        .entry(section)
                        .or_insert_with(|| toml::Value::Table(toml::Table::new()))
                        .as_table_mut()
                        .ok_or_else(|| wrong(name, &"the section is no table"))?,
                };
                target.insert(key, value(text));
                let checked: Result<Self, _> = table.clone().try_into();
                checked.map_err(|error| wrong(name, &error.to_string().trim_end()))?;
            }
        }
        table.try_into().map_err(|error| ServeError::Config(error.to_string()))
    }

    /// Whether it fits together.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), ServeError> {
        let refuse = |what: String| Err(ServeError::Config(what));
        if self.tokens.is_empty() && !self.listen.ip().is_loopback() {
            return refuse(format!(
                "{} is no loopback address: give a token (DRYSTONE_TOKEN, or [[tokens]] in the configuration), or \
                 listen on 127.0.0.1",
                self.listen.ip()
            ));
        }
        if let Some(token) = self.tokens.iter().find(|token| token.token.len() < SHORTEST_TOKEN) {
            return refuse(format!("token {:?} is shorter than {SHORTEST_TOKEN} characters", token.name));
        }
        for (index, token) in self.tokens.iter().enumerate() {
            if self.tokens[..index].iter().any(|other| other.name == token.name) {
                return refuse(format!("two tokens have the name {:?}", token.name));
            }
            if let Some(rate) = token.rate.filter(|rate| !(*rate >= 0.1 && *rate <= 1e9)) {
                return refuse(format!("the rate of token {:?} is {rate}; expected 0.1 to 1e9", token.name));
            }
        }
        for (key, number, least) in [
            ("checkpoint_seconds", self.checkpoint_seconds, 0.01),
            ("s3.patience_seconds", self.s3.patience_seconds, 0.1),
            ("limits.rate", self.limits.rate, 0.1),
            ("limits.step_seconds", self.limits.step_seconds, 0.01),
            ("limits.idle_seconds", self.limits.idle_seconds, 0.1),
            ("limits.body_seconds", self.limits.body_seconds, 0.1),
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

    fn check_s3(&self) -> Result<(), ServeError> {
        let refuse = |what: &str| Err(ServeError::Config(what.to_owned()));
        let s3 = &self.s3;
        if s3.access_key_id.is_empty() != s3.secret_access_key.0.is_empty() {
            return refuse("s3.access_key_id and s3.secret_access_key go together: give both, or none");
        }
        if s3.access_key_id.is_empty() && !s3.session_token.0.is_empty() {
            return refuse("s3.session_token belongs to keys: give s3.access_key_id and s3.secret_access_key, too");
        }
        if !(s3.endpoint.is_empty() || s3.endpoint.starts_with("https://") || s3.endpoint.starts_with("http://")) {
            return refuse("s3.endpoint is no address; expected https://HOST or, where nobody listens, http://HOST");
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

    /// As a file has it, without what is secret.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut shown = self.clone();
        shown.tokens.clear();
        (shown.s3.secret_access_key, shown.s3.session_token) = Default::default();
        toml::to_string(&shown).unwrap_or_default()
    }

    /// Of the log.
    #[must_use]
    pub fn level(&self) -> Option<tracing::Level> {
        self.log.level.parse().ok()
    }
}

/// `LIMITS_BODIES` is `bodies` in `limits`.
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

/// A number or a list, if it reads as one; else the text itself.
fn value(text: &str) -> toml::Value {
    let as_toml: Option<toml::Table> = toml::from_str(&format!("v = {text}")).ok();
    as_toml.and_then(|mut table| table.remove("v")).unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        std::fs::write(&path, text).unwrap();
        let environment: Vec<_> = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Config::load(Some(&path), &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn environment_over_file_over_defaults() {
        let text = "store = 'memory'\n[limits]\nbodies = 5\nworlds = 6\n";
        let config =
            load(text, &[("DRYSTONE_LIMITS_BODIES", "7"), ("DRYSTONE_STORE", "/srv/x"), ("HOME", "/")]).unwrap();
        assert_eq!((config.limits.bodies, config.limits.worlds), (7, 6));
        assert_eq!((config.store.as_str(), config.limits.rate), ("/srv/x", Limits::default().rate));
        let config = load("", &[("DRYSTONE_TOKEN", "0123456789abcdef")]).unwrap();
        assert_eq!(config.tokens[0].token, "0123456789abcdef");
    }

    #[test]
    fn the_example_has_every_key_with_its_default() {
        let text = include_str!("../../deploy/drystone.toml");
        assert_eq!(load(text, &[]).unwrap(), Config::default());
        let written: toml::Table = toml::from_str(text).unwrap();
        let all = toml::Table::try_from(Config::default()).unwrap();
        for (key, value) in all.iter().filter(|(key, _)| *key != "tokens") {
            let there = written.get(key).unwrap_or_else(|| panic!("{key} is missing"));
            for inner in value.as_table().into_iter().flatten() {
                assert!(there.get(inner.0).is_some(), "{key}.{} is missing", inner.0);
            }
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let text = "[s3]\naccess_key_id = 'me'\nendpoint = 'https://s3.example.org'\n";
        let variables = [("DRYSTONE_S3_SECRET_ACCESS_KEY", "quite secret"), ("DRYSTONE_TOKEN", "quite secret token")];
        let config = load(text, &variables).unwrap();
        assert_eq!(config.s3.secret_access_key.0, "quite secret");
        config.check().unwrap();
        for shown in [config.to_toml(), format!("{:?}", config.s3)] {
            assert!(shown.contains("s3.example.org") && !shown.contains("quite"), "{shown}");
        }
    }

    #[test]
    fn a_bucket_has_a_name_and_keys_come_in_pairs() {
        let with = |place: &str| Config { store: place.to_owned(), ..Config::default() };
        assert_eq!(with("s3://worlds/here").check().is_ok(), cfg!(feature = "s3"));
        for wrong in ["s3://", "s3:///here", ""] {
            assert!(with(wrong).check().is_err(), "{wrong}");
        }
        let s3 = S3 { access_key_id: "me".to_owned(), ..S3::default() };
        assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("secret_access_key"));
        let s3 = S3 { session_token: Secret("of whom?".to_owned()), ..S3::default() };
        assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("session_token"));
        let s3 = S3 { endpoint: "minio:9000".to_owned(), ..S3::default() };
        assert!(Config { s3, ..Config::default() }.check().unwrap_err().to_string().contains("endpoint"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = load("listen = 'here'\n", &[]).unwrap_err();
        assert!(error.contains("serve.toml") && error.contains("line 1"), "{error}");
        assert!(load("limit = 1\n", &[]).unwrap_err().contains("unknown field `limit`"));
        let error = load("", &[("DRYSTONE_LIMITS_BODIES", "many")]).unwrap_err();
        assert!(error.contains("DRYSTONE_LIMITS_BODIES"), "{error}");
    }

    #[test]
    fn elsewhere_a_token_is_demanded() {
        let mut config = Config { listen: "0.0.0.0:80".parse().unwrap(), ..Config::default() };
        assert!(config.check().unwrap_err().to_string().contains("token"));
        config.tokens = vec![Token::new("a", "short")];
        assert!(config.check().is_err());
        config.tokens[0].token = "long enough to be a token".to_owned();
        assert!(config.check().is_ok());
        config.tokens.push(Token::new("a", "another one of the same name"));
        assert!(config.check().unwrap_err().to_string().contains("two tokens"));
        assert!(Config::default().check().is_ok());
    }
}
