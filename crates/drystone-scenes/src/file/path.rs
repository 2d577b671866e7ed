//! JSON paths, and the text position of the value at a path.
//!
//! Neither `serde_json` nor `ron` reports the position of a value that has been read. So after an error, and only then,
//! the text is parsed once more by a probe that follows the path and stops before the value; the parser's position is
//! then the value's. This needs no second parser, and works for both formats.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::one_line;
use super::read::{Syntax, json_offset, ron_offset};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    Key(String),
    Index(usize),
}

/// Converts a path tracked by serde.
pub fn from_track(path: &serde_path_to_error::Path) -> Vec<PathStep> {
    use serde_path_to_error::Segment;
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(PathStep::Index(*index)),
        Segment::Map { key } => Some(PathStep::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Parses a displayed path. Only for paths of the format's own keys, which contain no dots or brackets.
pub fn from_text(path: &str) -> Vec<PathStep> {
    path.split(['.', '['])
        .filter(|step| !step.is_empty())
        .map(|step| match step.strip_suffix(']').map(str::parse) {
            Some(Ok(index)) => PathStep::Index(index),
            _ => PathStep::Key(step.to_owned()),
        })
        .collect()
}

/// Formats a path, such as `bodies[3].shapes[0]`; keys that are not plain words are quoted.
pub fn show(path: &[PathStep]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            PathStep::Index(index) => shown.extend(["[", &index.to_string(), "]"]),
            PathStep::Key(key)
                if !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$') =>
            {
                if !shown.is_empty() {
                    shown.push('.');
                }
                shown.push_str(&one_line(key));
            }
            PathStep::Key(key) => shown.extend(["[", &one_line(&format!("{key:?}")), "]"]),
        }
    }
    shown
}

/// Returns the byte range of the value at `path`, or of the innermost enclosing value that exists.
pub fn locate(text: &str, syntax: Syntax, path: &[PathStep]) -> Range<usize> {
    for length in (1..=path.len()).rev() {
        if let Some(start) = find(text, syntax, &path[..length]) {
            return value_at(text, start, syntax);
        }
    }
    value_at(text, 0, syntax)
}

fn find(text: &str, syntax: Syntax, path: &[PathStep]) -> Option<usize> {
    let found = Cell::new(false);
    let probe = Probe { path, found: &found };
    let offset = match syntax {
        Syntax::Json => {
            let error = probe.deserialize(&mut serde_json::Deserializer::from_str(text)).err()?;
            json_offset(text, error.line(), error.column())
        }
        Syntax::Ron => {
            let error = super::ron_options().from_str_seed(text, probe).err()?;
            ron_offset(text, &error.span.end)
        }
    };
    found.get().then_some(offset)
}

#[derive(Clone, Copy)]
struct Probe<'a> {
    path: &'a [PathStep],
    found: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            self.found.set(true);
            return Err(D::Error::custom("here"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if let Some(PathStep::Index(index)) = self.path.first() {
            for _ in 0..*index {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(());
                }
            }
            seq.next_element_seed(Probe { path: &self.path[1..], ..self })?;
        }
        Err(A::Error::custom("no such element"))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if self.path.first() == Some(&PathStep::Key(key)) {
                map.next_value_seed(Probe { path: &self.path[1..], ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Err(A::Error::custom("no such key"))
    }
}

/// Returns the range from the first value after `from` (past blanks and comments) to the end of a number, word or
/// string; for a list or an object only the opening bracket, which is enough to point at.
pub fn value_at(text: &str, from: usize, syntax: Syntax) -> Range<usize> {
    let mut start = text.floor_char_boundary(from);
    loop {
        let rest = &text[start..];
        let blank = rest.len() - rest.trim_start().len();
        let comment = match syntax {
            Syntax::Ron if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            Syntax::Ron if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => 0,
        };
        if blank + comment == 0 {
            break;
        }
        start += blank.max(comment);
    }
    let rest = &text[start..];
    let mut characters = rest.char_indices();
    let end = match characters.next() {
        None => 0,
        Some((_, '"')) => {
            let mut escaped = false;
            let close = characters.find(|(_, character)| {
                let closes = *character == '"' && !escaped;
                escaped = *character == '\\' && !escaped;
                closes || *character == '\n'
            });
            close.map_or(rest.len(), |(at, character)| if character == '"' { at + 1 } else { at })
        }
        Some((_, first)) if "[{(,:]})".contains(first) => 1,
        Some(_) => {
            let ends = |character: char| character.is_whitespace() || ",:[]{}()\"".contains(character);
            characters.find(|(_, character)| ends(*character)).map_or(rest.len(), |(at, _)| at)
        }
    };
    start..start + end
}

/// Returns the byte range of `key`, which ends at `end` except for blanks and a colon.
pub fn key_before(text: &str, end: usize, key: &str) -> Range<usize> {
    let before = text[..text.floor_char_boundary(end)].trim_end_matches(|c: char| c.is_whitespace() || c == ':');
    for written in [format!("\"{key}\""), key.to_owned()] {
        if before.ends_with(&written) {
            return before.len() - written.len()..before.len();
        }
    }
    // The key is written with escapes: point at its end.
    before.len().saturating_sub(1)..before.len()
}
