//! Why a command ends early, in words for a person and as an exit code for a script.

use std::fmt::{self, Display};
use std::io::{self, Write};

use drystone::WorldError;
use drystone_scenes::file::{FileError, Place};
use miette::{LabeledSpan, MietteHandlerOpts, NamedSource};

/// Longer lines of a scene file, in bytes, are not printed.
const LONGEST_LINE: usize = 160;
/// Longer remarks, in characters, stand below the lines they are about.
const LONGEST_LABEL: usize = 60;

/// Exit codes beyond those of the contract (0 done, 1 a check failed, 2 bad usage or input, 3 no GPU) follow
/// `sysexits.h`, which scripts already know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A check failed, or the simulation could not go on.
    Check = 1,
    /// The command line or the scene is wrong.
    Usage = 2,
    /// No usable GPU though one was demanded.
    NoGpu = 3,
    /// A bug (`EX_SOFTWARE`).
    Bug = 70,
    /// A file could not be written although it could be opened (`EX_IOERR`).
    Write = 74,
    /// Stopped by Ctrl-C or SIGTERM, as shells report it.
    Stopped = 130,
}

/// What went wrong.
#[derive(Debug)]
pub struct Failure {
    /// For the shell.
    pub code: Code,
    text: Text,
    hint: Option<String>,
}

#[derive(Debug)]
enum Text {
    /// One line.
    Line(String),
    /// With the place in the scene file.
    Report(miette::Report),
}

impl Failure {
    /// A failure in one line, no capital, no full stop.
    pub fn new(code: Code, message: impl Display) -> Self {
        Self { code, text: Text::Line(message.to_string()), hint: None }
    }

    /// Bad usage or input.
    pub fn usage(message: impl Display) -> Self {
        Self::new(Code::Usage, message)
    }

    /// A file failed while it was written.
    pub fn write(path: impl Display, error: &dyn Display) -> Self {
        Self::new(Code::Write, format_args!("cannot write {path}: {}", reason(error)))
    }

    /// Adds what was going on.
    #[must_use]
    pub fn context(mut self, what: impl Display) -> Self {
        self.text = Text::Line(format!("{what}: {self}"));
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it to standard error. A closed standard error is nobody's problem any more.
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

/// The place in the file, if it can be shown: lines of a screen's width, and nothing that steers a terminal.
fn picture(error: FileError) -> Option<miette::Report> {
    let FileError { source_name, place, path, problem, expected, .. } = error;
    let Place { line, span, text, .. } = *place?;
    let shown = text.lines().skip(line.saturating_sub(2)).take(3);
    if shown.into_iter().any(|line| line.len() > LONGEST_LINE || line.chars().any(|c| c.is_control() && c != '\t')) {
        return None;
    }
    let message = if path.is_empty() { problem } else { format!("{path}: {problem}") };
    let expected = format!("expected {expected}");
    let report = if expected.chars().count() <= LONGEST_LABEL {
        miette::miette!(labels = vec![LabeledSpan::at(span, expected)], "{message}")
    } else {
        miette::miette!(labels = vec![LabeledSpan::underline(span)], help = expected, "{message}")
    };
    Some(report.with_source_code(NamedSource::new(source_name, text)))
}

/// How failures with a place in a file look.
pub fn install_theme() {
    // Fails only if one is installed already.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(MietteHandlerOpts::new().terminal_links(false).context_lines(1).build())
    }));
}

/// An I/O error without the code that Rust appends, which tells a person nothing.
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
