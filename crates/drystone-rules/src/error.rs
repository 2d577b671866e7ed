//! Reasons for which a text is refused.

use std::fmt;

/// Position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the line, from 1.
    pub line: u32,
    /// Number of the character in its line, from 1.
    pub column: u32,
}

impl Position {
    /// Position of the byte `offset` of `text`; the end of the text if the offset is beyond.
    pub(crate) fn at(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
        Self { line: count(before.matches('\n').count()), column: count(before[start..].chars().count()) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// Reason for which a text is refused. Positions refer to the user's text, without the prelude.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text has more than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) bytes.
    #[error("the text has {bytes} bytes, expected at most {}", crate::MAX_TEXT_BYTES)]
    TooLong {
        /// Length of the text, bytes.
        bytes: usize,
    },
    /// The text contains a word or a character that rules do not have.
    #[error("{position}: `{found}` is not allowed: {reason}")]
    Forbidden {
        /// Position of the word.
        position: Position,
        /// The word or character, escaped if it is not printable.
        found: String,
        /// Reason, with the remedy if there is one.
        reason: &'static str,
    },
    /// The text exceeds a limit that bounds the time and memory to compile or to run it.
    #[error("{position}: too many {measure}, expected at most {limit}")]
    TooComplex {
        /// Position at which the limit is exceeded.
        position: Position,
        /// Name of the limited quantity.
        measure: &'static str,
        /// Largest allowed number.
        limit: usize,
    },
    /// The text declares a name that WGSL or the prelude has already.
    #[error("{position}: `{name}` is already defined by {owner}, expected another name")]
    NameTaken {
        /// Position of the name.
        position: Position,
        /// The name.
        name: String,
        /// "WGSL" or "the solver".
        owner: &'static str,
    },
    /// The text is not valid WGSL, or uses a part of WGSL that rules do not have.
    #[error("{position}: {message}")]
    Invalid {
        /// Position of the first faulty character.
        position: Position,
        /// Description of the fault.
        message: String,
    },
    /// The text does not declare the function.
    #[error("the text has no function `{function}`, expected `fn {function}(…: {structure}) -> {structure}`")]
    MissingFunction {
        /// Name of the function.
        function: String,
        /// Name of the struct that the function takes and returns.
        structure: String,
    },
    /// The function has another argument or result.
    #[error(
        "{position}: function `{function}` differs from the expected `fn {function}(…: {structure}) -> {structure}`"
    )]
    Signature {
        /// Position of the function.
        position: Position,
        /// Name of the function.
        function: String,
        /// Name of the struct that the function must take and return.
        structure: String,
    },
    /// The prelude is at fault: not valid WGSL, without the struct, or with functions that the CPU cannot run.
    #[error("prelude, {position}: {message}")]
    Prelude {
        /// Position in the prelude.
        position: Position,
        /// Description of the fault.
        message: String,
    },
}

impl RuleError {
    /// Returns the position in the user's text, for errors that have one.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Forbidden { position, .. }
            | Self::TooComplex { position, .. }
            | Self::NameTaken { position, .. }
            | Self::Invalid { position, .. }
            | Self::Signature { position, .. } => Some(*position),
            Self::TooLong { .. } | Self::MissingFunction { .. } | Self::Prelude { .. } => None,
        }
    }
}
