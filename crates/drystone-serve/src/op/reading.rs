//! Parsing of request bodies: JSON with the path of the first mistake, commands, and parts of scenes.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::lists::{Each, PartList};
use super::{Additions, CommandRecord};
use crate::config::Limits;
use crate::problem::Problem;
use drystone::Geometry;
use drystone::{Body, Joint, NamedMaterial, Property, Shape};
use drystone_scenes::file::{self, parse_properties};

/// Most explosions and winds in a request.
const MAX_PUSHES: usize = 16;
/// Longest name of a pointer, bytes.
const MAX_POINTER: usize = 64;
/// Longest text of a single joint or shape, bytes.
const MAX_PART: usize = 16 << 10;
/// Deepest nesting of JSON, the same as serde_json's limit for values.
const MAX_DEPTH: usize = 127;

/// Parses a list of commands: `{"commands": [...]}`.
///
/// # Errors
/// The first mistake, with its path.
pub fn read_commands(text: &[u8], limits: &Limits) -> Result<Vec<CommandRecord>, Problem> {
    let commands: Vec<CommandRecord> = read_list(text, &["commands"], limits.commands)?;
    if commands.is_empty() {
        return Err(Problem::invalid("there are no commands").at("commands").expected("at least one command"));
    }
    let mut pushes = 0;
    for (index, command) in commands.iter().enumerate() {
        if let CommandRecord::Explode { .. } | CommandRecord::Wind { .. } = command {
            pushes += 1;
            if pushes > MAX_PUSHES {
                let detail = format!("more than {MAX_PUSHES} explosions and winds, each of which visits all shapes");
                return Err(Problem::limit(detail).at(format!("commands[{index}]")));
            }
        }
        if let CommandRecord::Mouse { pointer, .. } | CommandRecord::Release { pointer } = command
            && pointer.len() > MAX_POINTER
        {
            return Err(Problem::invalid(format!("the name is longer than {MAX_POINTER} bytes"))
                .at(format!("commands[{index}].{}.pointer", command.word())));
        }
        if let CommandRecord::Join { joint, .. } = command
            && joint.get().len() > MAX_PART
        {
            return Err(Problem::limit(format!("the joint has more than {MAX_PART} bytes"))
                .at(format!("commands[{index}].join.joint")));
        }
        let (count, most, of) = match command {
            CommandRecord::Remove { bodies } => (bodies.len(), limits.bodies, "bodies"),
            CommandRecord::Unjoin { joints } => (joints.len(), limits.joints, "joints"),
            _ => continue,
        };
        if count > most {
            let detail = format!("there are {count} {of}; at most {most} in a world of this service");
            return Err(Problem::limit(detail).at(format!("commands[{index}].{}.{of}", command.word())));
        }
    }
    // Refuses more than an empty world may have before the world itself is asked.
    Additions::of(&commands).check(&Additions::default(), limits)?;
    Ok(commands)
}

/// Parses an object whose only key is a list, and stops at the first element beyond `most`.
///
/// # Errors
/// The first mistake, with its path.
pub fn read_list<'de, T: Deserialize<'de>>(
    text: &'de [u8],
    key: &'static [&'static str; 1],
    most: usize,
) -> Result<Vec<T>, Problem> {
    let is_beyond = Cell::new(false);
    let read = read_with(text, OnlyList { key, most, is_beyond: &is_beyond, of: PhantomData });
    if is_beyond.get() {
        let [key] = key;
        let detail = format!("there are more than {most} {key}; at most {most} in a request (limits.{key})");
        return Err(Problem::limit(detail).at(*key));
    }
    read
}

/// Seed of [`read_list`].
struct OnlyList<'a, T> {
    key: &'static [&'static str; 1],
    most: usize,
    is_beyond: &'a Cell<bool>,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for OnlyList<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyList<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object with the key `{}`", self.key[0])
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
        let mut found = None;
        while map.next_key_seed(OnlyKey { key: self.key, is_there: found.is_some() })?.is_some() {
            let mut list = Vec::new();
            let push = |index, element| {
                if index == self.most {
                    self.is_beyond.set(true);
                    return Err("too many");
                }
                list.push(element);
                Ok(())
            };
            map.next_value_seed(Each(push, PhantomData))?;
            found = Some(list);
        }
        found.ok_or_else(|| de::Error::missing_field(self.key[0]))
    }
}

/// Key of an object with one key. Another key is refused while it is parsed, so that the path names it.
struct OnlyKey {
    key: &'static [&'static str; 1],
    is_there: bool,
}

impl<'de> DeserializeSeed<'de> for OnlyKey {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for OnlyKey {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the key `{}`", self.key[0])
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<(), E> {
        match name {
            name if name != self.key[0] => Err(E::unknown_field(name, self.key)),
            _ if self.is_there => Err(E::duplicate_field(self.key[0])),
            _ => Ok(()),
        }
    }
}

/// Parses JSON, with the path of a mistake.
///
/// # Errors
/// The first mistake.
pub fn read_json<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Problem> {
    read_with(text, PhantomData)
}

fn read_with<'de, S: DeserializeSeed<'de>>(text: &'de [u8], seed: S) -> Result<S::Value, Problem> {
    refuse_deep(text)?;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let value = seed
        .deserialize(tracked)
        .map_err(|error| Problem::from_json(&serde_path_to_error::Error::new(track.path(), error)))?;
    deserializer.end().map_err(|error| Problem::no_json(&error))?;
    Ok(value)
}

/// Refuses JSON nested deeper than a parser accepts: text that is only passed on would otherwise get through.
fn refuse_deep(text: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, &byte) in text.iter().enumerate() {
        if is_quoted {
            is_quoted = byte != b'"' || is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_quoted = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let line_start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
            let line = text[..at].split(|byte| *byte == b'\n').count();
            let column = at - line_start + 1;
            let detail = format!("invalid JSON: nested deeper than {MAX_DEPTH} at line {line}, column {column}");
            return Err(Problem { line: Some(line), column: Some(column), ..Problem::malformed(detail) });
        }
    }
    Ok(())
}

/// Parses bodies and the joints among them, as in a scene file, whose shapes may name these materials.
///
/// # Errors
/// The first mistake, with its path relative to the command.
pub fn read_parts(
    bodies: &PartList,
    joints: &PartList,
    materials: &[NamedMaterial],
) -> Result<(Vec<Body>, Vec<Joint>), Problem> {
    parse_parts(bodies.text(), joints.text(), materials)
}

fn parse_parts(bodies: &str, joints: &str, materials: &[NamedMaterial]) -> Result<(Vec<Body>, Vec<Joint>), Problem> {
    let materials = file::write_materials(materials);
    let text = format!("{{\"version\":1,\"materials\":{materials},\"bodies\":{bodies},\"joints\":{joints}}}");
    let mut scene = file::parse(&text, "command.json").map_err(|error| {
        // Line and column would refer to text that the client did not write.
        Problem { line: None, column: None, ..Problem::from(error) }
    })?;
    Ok((std::mem::take(&mut scene.bodies), std::mem::take(&mut scene.joints)))
}

/// Parses a body as in a scene file, whose shapes may name these materials.
///
/// # Errors
/// The first mistake, with its path relative to the command.
pub fn read_body(body: &RawValue, materials: &[NamedMaterial]) -> Result<Body, Problem> {
    let (mut bodies, _) = parse_parts(&format!("[{}]", body.get()), "[]", materials).map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("bodies[0]"));
        Problem { path: Some(format!("with{}", path.unwrap_or_default())), ..problem }
    })?;
    bodies.pop().ok_or_else(|| Problem::invalid("there is no body").at("with"))
}

/// Parses the shapes of a body as in a scene file, which may name these materials.
///
/// # Errors
/// The first mistake, with its path relative to the command.
pub fn read_shapes(shapes: &PartList, materials: &[NamedMaterial]) -> Result<Vec<Shape>, Problem> {
    if shapes.is_empty() {
        return Err(Problem::invalid("there are no shapes").at("shapes").expected("at least one shape"));
    }
    let body = format!("[{{\"type\":\"static\",\"shapes\":{}}}]", shapes.text());
    let (bodies, _) = parse_parts(&body, "[]", materials).map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("bodies[0].")).map(str::to_owned);
        Problem { path, ..problem }
    })?;
    Ok(bodies.into_iter().flat_map(|body| body.shapes).collect())
}

/// Parses a shape as in a scene file.
///
/// # Errors
/// The first mistake, with its path relative to the shape.
pub fn read_shape(shape: &RawValue) -> Result<Geometry, Problem> {
    if shape.get().len() > MAX_PART {
        return Err(Problem::limit(format!("the shape has more than {MAX_PART} bytes")));
    }
    let (bodies, _) = parse_parts(&format!("[{{\"shapes\":[{}]}}]", shape.get()), "[]", &[]).map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("bodies[0].shapes[0]"));
        Problem {
            path: path.filter(|path| !path.is_empty()).map(|path| path.trim_start_matches('.').to_owned()),
            ..problem
        }
    })?;
    let shape = bodies.into_iter().flat_map(|body| body.shapes).next();
    shape.map(|shape| shape.geometry).ok_or_else(|| Problem::invalid("there is no shape"))
}

/// Parses properties of a body.
///
/// # Errors
/// The first mistake, with its path relative to the command.
pub fn read_properties(properties: &RawValue) -> Result<Vec<Property>, Problem> {
    if properties.get().len() > MAX_PART {
        return Err(Problem::limit(format!("the properties have more than {MAX_PART} bytes")).at("properties"));
    }
    parse_properties(properties.get(), "properties.json").map_err(|error| {
        let dot = if error.path.is_empty() { "" } else { "." };
        Problem::invalid(error.problem).at(format!("properties{dot}{}", error.path)).expected(error.expected)
    })
}

/// Parses a joint as in a scene file, without its bodies.
///
/// # Errors
/// The first mistake, with its path relative to the command.
pub fn read_joint(joint: &RawValue, to_world: bool) -> Result<Joint, Problem> {
    /// Presence of the keys for bodies.
    #[derive(Deserialize)]
    struct Ends {
        #[serde(default)]
        a: Presence,
        #[serde(default)]
        b: Presence,
    }
    #[derive(Default)]
    struct Presence(bool);
    impl<'de> Deserialize<'de> for Presence {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            IgnoredAny::deserialize(deserializer).map(|_| Self(true))
        }
    }
    let text = joint.get();
    let Some(rest) = text.strip_prefix('{') else {
        return Err(Problem::invalid("the joint is not an object").at("joint"));
    };
    if let Ok(Ends { a, b }) = serde_json::from_str(text)
        && let Some((key, _)) = [("a", a), ("b", b)].iter().find(|(_, there)| there.0)
    {
        return Err(Problem::invalid("the bodies belong beside the joint, not into it").at(format!("joint.{key}")));
    }
    let ends = if to_world { "\"b\":1" } else { "\"a\":0,\"b\":1" };
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let body = "{\"shapes\":[{\"circle\":{\"radius\":1}}]}";
    let parsed = parse_parts(&format!("[{body},{body}]"), &format!("[{{{ends}{comma}{rest}]"), &[]);
    let (_, mut joints) = parsed.map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("joints[0]"));
        Problem { path: Some(format!("joint{}", path.unwrap_or_default())), ..problem }
    })?;
    joints.pop().ok_or_else(|| Problem::invalid("there is no joint").at("joint"))
}
