//! Errors that end a command, with a message for users and an exit code for scripts.

use std::fmt::{self, Display};
use std::io::{self, Write};

use drystone::WorldError;
use drystone_scenes::file::{FileError, TextPosition};
use miette::{LabeledSpan, MietteHandlerOpts, NamedSource};

/// Maximum length of lines of a scene file that are printed, in bytes.
const MAX_LINE: usize = 160;
/// Maximum length of a remark beside a line, in characters; longer ones are printed below.
const MAX_LABEL: usize = 60;

/// Exit codes. Those below 70 are documented (0 success, 1 a check failed, 2 invalid usage or input, 3 no GPU); the
/// others follow `sysexits.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A check or the simulation failed.
    Check = 1,
    /// Invalid command line or scene.
    Usage = 2,
    /// No usable GPU although one was required.
    NoGpu = 3,
    /// Internal error (`EX_SOFTWARE`).
    Bug = 70,
    /// A file that could be opened could not be written (`EX_IOERR`).
    Write = 74,
    /// Interrupted by Ctrl-C or SIGTERM, as shells report it.
    Stopped = 130,
}

/// Error that ends a command.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: Code,
    text: Text,
    hint: Option<String>,
}

/// Message of a failure.
#[derive(Debug)]
enum Text {
    /// A single line.
    Line(String),
    /// Message with an excerpt of the scene file.
    Report(miette::Report),
}

impl Failure {
    /// Creates a failure with a one-line message, without capital letter or full stop.
    pub fn new(code: Code, message: impl Display) -> Self {
        Self { code, text: Text::Line(message.to_string()), hint: None }
    }

    /// Creates a failure for invalid usage or input.
    pub fn usage(message: impl Display) -> Self {
        Self::new(Code::Usage, message)
    }

    /// Creates a failure for a file that could not be written.
    pub fn write(path: impl Display, error: &dyn Display) -> Self {
        Self::new(Code::Write, format_args!("cannot write {path}: {}", reason(error)))
    }

    /// Prefixes the message with its context.
    #[must_use]
    pub fn context(mut self, what: impl Display) -> Self {
        self.text = Text::Line(format!("{what}: {self}"));
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the message to standard error; errors are ignored, as a closed standard error cannot be reported.
    pub fn print(&self) {
        let mut stderr = io::stderr().lock();
        let _ = match &self.text {
            Text::Line(line) => writeln!(stderr, "error: {line}"),
            Text::Report(report) => writeln!(stderr, "{}", format!("{report:?}").trim_end()),
        };
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, " hint: {hint}");
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Text::Line(line) => f.write_str(line),
            Text::Report(report) => Display::fmt(report, f),
        }
    }
}

impl From<WorldError> for Failure {
    fn from(error: WorldError) -> Self {
        let code = if matches!(error, WorldError::Scene(_)) { Code::Usage } else { Code::Check };
        Self::new(code, error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let line = error.to_string();
        match picture(error) {
            Some(report) => Self { code: Code::Usage, text: Text::Report(report), hint: None },
            None => Self::usage(line),
        }
    }
}

/// Returns the message with an excerpt of the file, if it can be shown: no lines wider than a screen, and no control
/// characters, which could manipulate the terminal.
fn picture(error: FileError) -> Option<miette::Report> {
    let FileError { source_name, place, path, problem, expected, .. } = error;
    let TextPosition { line, span, text, .. } = *place?;
    let shown = text.lines().skip(line.saturating_sub(2)).take(3);
    if shown.into_iter().any(|line| line.len() > MAX_LINE || line.chars().any(|c| c.is_control() && c != '\t')) {
        return None;
    }
    let message = if path.is_empty() { problem } else { format!("{path}: {problem}") };
    let expected = format!("expected {expected}");
    let report = if expected.chars().count() <= MAX_LABEL {
        miette::miette!(labels = vec![LabeledSpan::at(span, expected)], "{message}")
    } else {
        miette::miette!(labels = vec![LabeledSpan::underline(span)], help = expected, "{message}")
    };
    Some(report.with_source_code(NamedSource::new(source_name, text)))
}

/// Sets the layout of messages with file excerpts.
pub fn install_theme() {
    // Fails only if a layout is installed already.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(MietteHandlerOpts::new().terminal_links(false).context_lines(1).build())
    }));
}

/// Returns the message of an I/O error without the error number that Rust appends.
pub fn reason(error: &dyn Display) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_drops_the_error_number() {
        let error = io::Error::from_raw_os_error(2);
        let shown = reason(&error);
        assert!(!shown.contains("os error") && !shown.is_empty(), "{shown}");
        assert_eq!(reason(&io::Error::other("disk on fire")), "disk on fire");
    }
}
