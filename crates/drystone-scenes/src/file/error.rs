//! Errors of scene files: kind, position in the text, JSON path, problem and expectation.

use std::fmt;
use std::ops::Range;

/// Kind of error, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileErrorKind {
    /// The file cannot be opened or read, or is not UTF-8.
    Io,
    /// More bytes than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    TooLarge,
    /// Not well-formed JSON or RON.
    Syntax,
    /// A key that is unknown, missing or given twice, or a value of the wrong type. The JSON Schema rejects these too.
    Structure,
    /// A value out of range, or inconsistent values.
    Value,
}

/// Position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Byte range of the offending part of `text`; may be empty. Always on character boundaries.
    pub span: Range<usize>,
    /// The whole text, for showing an excerpt.
    pub text: String,
}

impl TextPosition {
    pub(super) fn new(text: &str, span: Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            span: start..end,
            text: text.to_owned(),
        }
    }
}

/// Error of reading a scene file: name of the file, position, problem and expectation.
///
/// Displayed on one line: `tower.json:3:14: bodies[1].shapes[0].box.half[1]: is -1; expected a length from …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {}{problem}; expected {expected}", one_line(source_name), Colons(place.as_deref()), PathColon(path))]
pub struct FileError {
    /// Kind of error, for programs.
    pub kind: FileErrorKind,
    /// Name of the file, or description of the source.
    pub source_name: String,
    /// Position; `None` if the file could not be read at all, or is too large.
    pub place: Option<Box<TextPosition>>,
    /// JSON path, such as `bodies[3].shapes[0].box.half[1]`; empty for the whole file.
    pub path: String,
    /// Description of the invalid part, such as `is -1`.
    pub problem: String,
    /// Description of valid values.
    pub expected: String,
}

impl FileError {
    /// Returns an error at a place in the text.
    pub(super) fn at(
        source_name: &str,
        text: &str,
        kind: FileErrorKind,
        span: Range<usize>,
        path: String,
        problem: &str,
        expected: &str,
    ) -> Self {
        Self {
            kind,
            source_name: source_name.to_owned(),
            place: Some(Box::new(TextPosition::new(text, span))),
            path,
            problem: one_line(problem),
            expected: one_line(expected),
        }
    }
}

struct Colons<'a>(Option<&'a TextPosition>);

impl fmt::Display for Colons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |place| write!(f, ":{}:{}", place.line, place.column))
    }
}

struct PathColon<'a>(&'a str);

impl fmt::Display for PathColon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

/// Prepares text from a file, or its name, for display: escapes control characters, so that a file cannot control a
/// terminal, and truncates long text.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 300;
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == MOST {
            shown.push('…');
            break;
        }
        if character.is_control()
            || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
