//! What the service is told: a TOML file, then the environment, then the command line, each over the one before.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ServeError;

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
    /// A folder for the worlds, or `memory`, which forgets them at the end.
    pub store: String,
    /// Who may come. Without any, whoever reaches the address.
    pub tokens: Vec<Token>,
    /// Names of other hosts by which the service is called, behind a proxy. Loopback names always count.
    pub hosts: Vec<String>,
    /// Workers that run worlds on the CPU; 0: one a core, at least two. On a GPU there is always one.
    pub workers: usize,
    /// Seconds of computing after which a world is written out.
    pub checkpoint_seconds: f64,
    /// Limits.
    pub limits: Limits,
    /// What is said about it.
    pub log: Log,
}

/// Who may come.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// For the log.
    pub name: String,
    /// At least 16 characters.
    pub token: String,
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
    /// Requests a second, of a token.
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
            tokens: Vec::new(),
            hosts: Vec::new(),
            workers: 0,
            checkpoint_seconds: 5.0,
            limits: Limits::default(),
            log: Log::default(),
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
                let token = Token { name: "environment".to_owned(), token: text.trim().to_owned() };
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
        for (key, number, least) in [
            ("checkpoint_seconds", self.checkpoint_seconds, 0.01),
            ("limits.rate", self.limits.rate, 0.1),
            ("limits.step_seconds", self.limits.step_seconds, 0.01),
        ] {
            if !(number >= least && number <= 1e9) {
                return refuse(format!("{key} is {number}; expected a number from {least} to 1e9"));
            }
        }
        if self.store.is_empty() {
            return refuse("store is empty; expected a folder, or `memory`".to_owned());
        }
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

    /// As a file has it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
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
        config.tokens = vec![Token { name: "a".to_owned(), token: "short".to_owned() }];
        assert!(config.check().is_err());
        config.tokens[0].token = "long enough to be a token".to_owned();
        assert!(config.check().is_ok());
        assert!(Config::default().check().is_ok());
    }
}
