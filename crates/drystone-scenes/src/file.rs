//! The scene file, version 1: JSON, or the same data model in RON.
//!
//! ```
//! let text = r#"{ "version": 1, "bodies": [
//!     { "type": "static", "shapes": [ { "box": { "half": [50, 1] }, "offset": [0, -1] } ] },
//!     { "id": "a", "position": [0, 0.5], "shapes": [ { "box": { "half": [0.5, 0.5] } } ] } ] }"#;
//! let scene = drystone_scenes::file::parse(text, "two boxes.json")?;
//! assert_eq!(scene.bodies[1].id.as_deref(), Some("a"));
//!
//! let error = drystone_scenes::file::parse(&text.replace("[0.5, 0.5]", "[0.5, -1]"), "two boxes.json").unwrap_err();
//! assert_eq!(error.path, "bodies[1].shapes[0].box.half[1]");
//! assert_eq!(
//!     error.to_string(),
//!     "two boxes.json:3:77: bodies[1].shapes[0].box.half[1]: is -1; expected a length from 1e-5 to 100000 m"
//! );
//! # Ok::<(), drystone_scenes::file::FileError>(())
//! ```
//!
//! `schema/scene-v1.schema.json` ([`json_schema`]) lists every key with its meaning, unit, range and default.
//! Reading is strict, and returns a whole scene or an error. Errors are: unknown keys, keys given twice, `null`,
//! comments (in JSON), NaN and infinities, and keys that belong to another type of joint. Normals and axes need not
//! have length 1: they are normalised.
//!
//! Limits: [`MAX_FILE_BYTES`], [`MAX_BODIES`](drystone::low_level::scene::MAX_BODIES),
//! [`MAX_SHAPES`](drystone::low_level::scene::MAX_SHAPES), [`MAX_JOINTS`](drystone::low_level::scene::MAX_JOINTS), and
//! those of [`Scene::check`](drystone::Scene::check).

mod convert;
mod error;
mod joint_records;
mod journal;
mod material_records;
mod path;
mod property_records;
mod read;
mod records;
mod schema;
mod timeline_records;
mod values;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use drystone::{Scene, SceneError};
pub use error::{FileError, FileErrorKind, TextPosition};
pub(crate) use journal::{parse_journal, write_journal};
pub use property_records::parse_properties;
use read::{Complaint, Syntax};
pub use schema::json_schema;
pub use write::{write_json, write_materials, write_ron};

/// Version of the format.
pub const VERSION: u32 = 1;

/// Maximum size of a file, 256 MiB: enough for two million boxes. Reading a million (100 MB) takes about 2 s and 1 GB
/// of memory; the worst file found takes 3 GB. Services should set smaller limits.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// Parses a scene from `text`. Errors cite `source_name`: the name of the file, or a description of the source.
///
/// A name that ends in `.json` or `.ron` selects the format. Otherwise, text that starts with `{`, `[` or `"` is JSON,
/// and other text RON.
///
/// # Errors
/// The first error found: syntax, then types and keys, then values ([`Scene::check`]). Always with line and column, and
/// with the JSON path unless the text as a whole is invalid.
pub fn parse(text: &str, source_name: &str) -> Result<Scene, FileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(too_large(source_name, &format!("has {} bytes", text.len())));
    }
    if text.starts_with('\u{feff}') {
        let expected = "UTF-8 without one";
        let problem = "starts with a byte order mark";
        return Err(FileError::at(source_name, text, FileErrorKind::Syntax, 0..3, String::new(), problem, expected));
    }
    if text.trim().is_empty() {
        let expected = "a scene, in JSON or RON";
        return Err(FileError::at(source_name, text, FileErrorKind::Syntax, 0..0, String::new(), "is empty", expected));
    }
    let syntax = syntax_of(text, source_name);
    converted(text, source_name, syntax, read::record(text, syntax), convert::scene)
}

/// Reads a scene from a file.
///
/// # Errors
/// The file cannot be read, is too large, or is not UTF-8; and those of [`parse`].
pub fn read(path: &Path) -> Result<Scene, FileError> {
    let source_name = path.display().to_string();
    let unreadable = |problem: String, expected: &str| FileError {
        kind: FileErrorKind::Io,
        source_name: source_name.clone(),
        place: None,
        path: String::new(),
        problem,
        expected: expected.to_owned(),
    };
    let cannot = |error: std::io::Error| unreadable(format!("cannot be read: {error}"), "a scene file");
    let file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    // One byte above the limit, so that reading devices and pipes, which have no length, ends too.
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(too_large(&source_name, "is larger"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
        unreadable(format!("is not UTF-8 at byte {valid}, in line {line}"), "text in UTF-8")
    })?;
    parse(&text, &source_name)
}

/// Parses JSON into a record and converts it.
///
/// # Errors
/// The first error of the text or of the conversion, with its place.
fn parse_json<R: serde::de::DeserializeOwned, T>(
    text: &str,
    source_name: &str,
    convert: impl FnOnce(R) -> Result<T, SceneError>,
) -> Result<T, FileError> {
    converted(text, source_name, Syntax::Json, read::json(text), convert)
}

/// Converts a record that was read from a text.
///
/// # Errors
/// That of reading or of the conversion, with its place.
fn converted<R, T>(
    text: &str,
    source_name: &str,
    syntax: Syntax,
    record: Result<R, Complaint>,
    convert: impl FnOnce(R) -> Result<T, SceneError>,
) -> Result<T, FileError> {
    let fail = |kind, span, path, problem: &str, expected: &str| {
        FileError::at(source_name, text, kind, span, path, problem, expected)
    };
    let record = record.map_err(|complaint| {
        fail(complaint.kind, complaint.span, path::show(&complaint.path), &complaint.problem, &complaint.expected)
    })?;
    convert(record).map_err(|error| {
        let span = path::locate(text, syntax, &path::from_text(&error.path));
        fail(FileErrorKind::Value, span, error.path, &error.problem, &error.expected)
    })
}

fn too_large(source_name: &str, problem: &str) -> FileError {
    FileError {
        kind: FileErrorKind::TooLarge,
        source_name: source_name.to_owned(),
        place: None,
        path: String::new(),
        problem: problem.to_owned(),
        expected: format!("at most {MAX_FILE_BYTES} bytes"),
    }
}

fn syntax_of(text: &str, source_name: &str) -> Syntax {
    let extension = Path::new(source_name).extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("json") => Syntax::Json,
        Some("ron") => Syntax::Ron,
        _ if text.trim_start().starts_with(['{', '[', '"']) => Syntax::Json,
        _ => Syntax::Ron,
    }
}

/// Returns the RON options of scene files: no extensions. `Some(…)` never appears, since optional keys are left out.
fn ron_options() -> ron::Options {
    ron::Options::default()
}
