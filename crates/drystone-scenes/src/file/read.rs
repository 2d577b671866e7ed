//! Parses text to records, and translates the parsers' errors to the terms of scene files.

use std::ops::Range;

use serde::Deserialize;
use serde_json::error::Category;

use super::error::FileErrorKind::{self, Structure, Syntax as Malformed, Value};
use super::path::{self, PathStep};
use super::records::SceneRecord;
use super::values;

/// Syntax of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Ron,
}

/// An error of reading, with its path and position.
pub struct Complaint {
    pub kind: FileErrorKind,
    pub path: Vec<PathStep>,
    pub span: Range<usize>,
    pub problem: String,
    pub expected: String,
}

/// Parses a record. An unsupported version is reported before any other error of the file.
pub fn record(text: &str, syntax: Syntax) -> Result<SceneRecord, Complaint> {
    let result = match syntax {
        Syntax::Json => json::<SceneRecord>(text),
        Syntax::Ron => ron(text),
    };
    result.map_err(|complaint| if complaint.kind == Malformed { complaint } else { version(text, syntax, complaint) })
}

fn version(text: &str, syntax: Syntax, complaint: Complaint) -> Complaint {
    #[derive(Deserialize)]
    #[serde(rename = "Scene")]
    struct Versioned {
        version: u32,
    }
    let read = match syntax {
        Syntax::Json => serde_json::from_str(text).ok(),
        Syntax::Ron => super::ron_options().from_str(text).ok(),
    };
    match read {
        Some(Versioned { version }) if version != super::VERSION => {
            let path = vec![PathStep::Key("version".to_owned())];
            Complaint {
                kind: Value,
                span: path::locate(text, syntax, &path),
                path,
                problem: format!("is {version}"),
                expected: format!("{}, the version this release reads", super::VERSION),
            }
        }
        _ => complaint,
    }
}

/// Parses a record from JSON.
pub fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Complaint> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let (error, path) = match values::object::<_, T>(tracked) {
        Ok(record) => match deserializer.end() {
            Ok(()) => return Ok(record),
            Err(error) => (error, Vec::new()),
        },
        Err(error) => (error, path::from_track(&track.path())),
    };
    let after = json_offset(text, error.line(), error.column());
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    Err(match error.classify() {
        Category::Data => data(text, Syntax::Json, message, path, after),
        Category::Syntax if message == "number out of range" && path.is_empty() => Complaint {
            kind: Structure,
            span: path::locate(text, Syntax::Json, &path),
            path,
            problem: "is a number".to_owned(),
            expected: "a scene object".to_owned(),
        },
        Category::Syntax if message == "number out of range" => Complaint {
            kind: Value,
            span: path::locate(text, Syntax::Json, &path),
            path,
            problem: "is too large".to_owned(),
            expected: "a number below 3.4e38".to_owned(),
        },
        category => {
            let start = if category == Category::Eof { text.trim_end().len() } else { after.saturating_sub(1) };
            let (problem, expected) = match message.strip_prefix("expected ") {
                Some("value") => ("syntax error", "a value"),
                Some(expected) => ("syntax error", expected),
                None => (message, "well-formed JSON"),
            };
            let problem = if category == Category::Eof { "ends too early" } else { problem };
            let expected = if category == Category::Eof {
                message.replace("EOF while parsing", "the rest of")
            } else {
                expected.to_owned()
            };
            Complaint {
                kind: Malformed,
                span: start..(start + 1).min(text.len()).max(start),
                path,
                problem: problem.to_owned(),
                expected,
            }
        }
    })
}

fn ron(text: &str) -> Result<SceneRecord, Complaint> {
    let broken = |error: ron::error::SpannedError, path| ron_complaint(text, &error, path);
    let options = super::ron_options();
    let mut deserializer =
        ron::Deserializer::from_str_with_options(text, &options).map_err(|error| broken(error, Vec::new()))?;
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    match values::object::<_, SceneRecord>(tracked) {
        Ok(record) => match deserializer.end() {
            Ok(()) => Ok(record),
            Err(error) => Err(broken(deserializer.span_error(error), Vec::new())),
        },
        Err(error) => Err(broken(deserializer.span_error(error), path::from_track(&track.path()))),
    }
}

/// Returns the type that the format expects where the parser found another one.
fn ron_expected(code: &ron::Error, path: &[PathStep]) -> Option<String> {
    use ron::Error as E;
    Some(match code {
        E::ExpectedFloat => "a number".to_owned(),
        E::ExpectedInteger | E::IntegerOutOfBounds | E::InvalidIntegerDigit { .. } => {
            // ron does not report the expected type; the format has one signed key.
            plain(if path.last() == Some(&PathStep::Key("group".to_owned())) { "i32" } else { "u32" })
        }
        E::ExpectedBoolean => "true or false".to_owned(),
        E::ExpectedString => "a string".to_owned(),
        E::ExpectedArray => "an array, [ … ]".to_owned(),
        E::ExpectedIdentifier => "a word without quotes".to_owned(),
        E::ExpectedStructLike | E::ExpectedNamedStructLike("") => "an object, (key: value, …)".to_owned(),
        E::ExpectedNamedStructLike(name) => format!("a {name} object, (key: value, …)"),
        E::ExpectedDifferentStructName { expected, .. } => format!("{expected}(…), or (…) without a name"),
        _ => return None,
    })
}

fn ron_complaint(text: &str, error: &ron::error::SpannedError, path: Vec<PathStep>) -> Complaint {
    use ron::Error as E;
    let after = ron_offset(text, &error.span.end);
    let at_path = |path: Vec<PathStep>, problem: String, expected: String| Complaint {
        kind: Structure,
        span: path::locate(text, Syntax::Ron, &path),
        path,
        problem,
        expected,
    };
    if let Some(expected) = ron_expected(&error.code, &path) {
        let span = path::locate(text, Syntax::Ron, &path);
        let there = if text[span.clone()].is_empty() { "nothing" } else { &text[span.clone()] };
        return at_path(path, format!("is {there}"), expected);
    }
    match &error.code {
        E::Message(message) => data(text, Syntax::Ron, message, path, after),
        E::InvalidValueForType { expected, found } => {
            at_path(path, format!("is {}", plain_value(found)), plain(expected))
        }
        E::ExpectedDifferentLength { expected, found } => {
            at_path(path, format!("has {found} elements"), plain(expected))
        }
        E::MissingStructField { field, .. } => {
            data(text, Syntax::Ron, &format!("missing field `{field}`"), path, after)
        }
        E::DuplicateStructField { field, .. } => {
            data(text, Syntax::Ron, &format!("duplicate field `{field}`"), path, after)
        }
        E::NoSuchStructField { expected, found, .. } => {
            let known: Vec<String> = expected.iter().map(|key| format!("`{key}`")).collect();
            let message = format!("unknown field `{found}`, expected {}", known.join(", "));
            data(text, Syntax::Ron, &message, path, after)
        }
        code => {
            let message = code.to_string();
            let early = after >= text.trim_end().len();
            let (problem, expected) = match message.strip_prefix("Expected ") {
                Some(expected) => ("syntax error".to_owned(), expected.to_owned()),
                None => (message.chars().flat_map(char::to_lowercase).collect(), "well-formed RON".to_owned()),
            };
            let problem = if early { "ends too early".to_owned() } else { problem };
            let span = if early { text.trim_end().len()..text.len() } else { path::value_at(text, after, Syntax::Ron) };
            Complaint { kind: Malformed, span, path, problem, expected }
        }
    }
}

/// Translates an error of serde, which both parsers pass on as text.
fn data(text: &str, syntax: Syntax, message: &str, mut path: Vec<PathStep>, after: usize) -> Complaint {
    let quoted = |prefix: &str| message.strip_prefix(prefix)?.split_once('`').map(|(key, _)| key.to_owned());
    if let Some(key) = quoted("unknown field `").or_else(|| quoted("duplicate field `")) {
        // A user's key may contain a quote; the tracked path has the whole key.
        let key = match path.last() {
            Some(PathStep::Key(last)) if last.starts_with(&key) => last.clone(),
            _ => {
                path.push(PathStep::Key(key.clone()));
                key
            }
        };
        let span = path::key_before(text, after, &key);
        let problem: String;
        let (problem, expected) = if message.starts_with("unknown") {
            let known = message.rsplit_once(", expected ").map_or("no key at all", |(_, known)| known);
            match meant(&key, known) {
                Some(meant) => {
                    problem = format!("is an unknown key (did you mean `{meant}`?)");
                    (problem.as_str(), known.replace('`', ""))
                }
                None => ("is an unknown key", known.replace('`', "")),
            }
        } else {
            ("is given twice", "each key once".to_owned())
        };
        return Complaint { kind: Structure, path, span, problem: problem.to_owned(), expected };
    }
    if let Some(key) = quoted("missing field `") {
        let span = path::locate(text, syntax, &path);
        let problem = format!("has no `{key}`");
        return Complaint { kind: Structure, path, span, problem, expected: format!("the key `{key}`") };
    }
    let span = path::locate(text, syntax, &path);
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, "something else"));
    let problem = if let Some(found) = found.strip_prefix("invalid type: ").or(found.strip_prefix("invalid value: ")) {
        format!("is {}", plain_value(found))
    } else if let Some(length) = found.strip_prefix("invalid length ") {
        format!("has {length} elements")
    } else {
        format!("has {found}")
    };
    Complaint { kind: Structure, path, span, problem, expected: plain(expected) }
}

/// Keys of other engines and formats, with the equivalent keys of this format.
const OTHER_WORDS: [(&str, &str); 27] = [
    ("kind", "type"),
    ("body_type", "type"),
    ("joint_type", "type"),
    ("pos", "position"),
    ("center", "position"),
    ("translation", "position"),
    ("rotation", "angle"),
    ("angle", "rotation"),
    ("vel", "velocity"),
    ("linear_velocity", "velocity"),
    ("omega", "angular_velocity"),
    ("spin", "angular_velocity"),
    ("bounce", "restitution"),
    ("bounciness", "restitution"),
    ("elasticity", "restitution"),
    ("mu", "friction"),
    ("fixtures", "shapes"),
    ("colliders", "shapes"),
    ("shape", "shapes"),
    ("constraints", "joints"),
    ("disc", "circle"),
    ("rectangle", "box"),
    ("vertices", "points"),
    ("half_extents", "half"),
    ("half_size", "half"),
    ("body_a", "a"),
    ("body_b", "b"),
];

/// Returns the known key that an unknown one was probably meant to be: a synonym, or a likely misspelling.
fn meant<'a>(key: &str, known: &'a str) -> Option<&'a str> {
    // Each is quoted; the text in between varies.
    let known = || known.split('`').skip(1).step_by(2);
    let written = key.to_lowercase().replace('-', "_");
    let plain = |key: &str| key.replace('_', "");
    let other =
        OTHER_WORDS.iter().filter(|(word, _)| *word == written).find_map(|(_, own)| known().find(|key| key == own));
    let close = || {
        let scored = known().map(|own| (strsim::damerau_levenshtein(&plain(&written), &plain(own)), own));
        let (distance, own) = scored.min_by_key(|&(distance, _)| distance)?;
        // Short words are similar to almost any other short word.
        let allowed = match plain(own).chars().count() {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        };
        (distance <= allowed).then_some(own)
    };
    other.or_else(close)
}

/// Translates serde's description of a value to plain words.
fn plain_value(found: &str) -> String {
    // The shorter ones are serde's, the longer ones ron's.
    for kind in ["integer `", "floating point `", "boolean `", "the floating point number `"] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.trim_end_matches('`').to_owned();
        }
    }
    match found {
        "map" | "a map" => "an object".to_owned(),
        "sequence" | "a sequence" => "an array".to_owned(),
        "unit value" | "a unit value" => "empty".to_owned(),
        other => {
            let string = other.strip_prefix("string ").or_else(|| other.strip_prefix("the string "));
            string.unwrap_or(other).to_owned()
        }
    }
}

/// Translates the names of Rust types to plain words.
fn plain(expected: &str) -> String {
    match expected {
        "f32" => "a number".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "i32" => format!("a whole number from {} to {}", i32::MIN, i32::MAX),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "an array".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the byte offset after the `column`-th byte of a line, from `serde_json`'s line and column.
pub fn json_offset(text: &str, line: usize, column: usize) -> usize {
    (line_start(text, line) + column).min(text.len())
}

/// Returns the byte offset for `ron`'s line and column, both from 1, the column in characters.
pub fn ron_offset(text: &str, position: &ron::error::Position) -> usize {
    let start = line_start(text, position.line);
    let rest = &text[start..];
    start + rest.char_indices().nth(position.col.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

/// Returns the byte offset of the start of a line, counted from 1.
fn line_start(text: &str, line: usize) -> usize {
    match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(newline, _)| newline + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn misspellings_and_synonyms_are_recognised() {
        let known = "one of `id`, `type`, `position`, `angular_velocity`, `fixed_rotation`, `shapes`, `a`, `b`";
        for (key, expected) in [
            ("kind", Some("type")),
            ("Type", Some("type")),
            ("tpye", Some("type")),
            ("positon", Some("position")),
            ("angularVelocity", Some("angular_velocity")),
            ("shape", Some("shapes")),
            ("body_a", Some("a")),
            ("c", None),
            ("mass_of_it", None),
            ("restitution", None),
            ("mu", None),
        ] {
            assert_eq!(meant(key, known), expected, "{key}");
        }
        assert_eq!(meant("x", "no key at all"), None);
    }
}
