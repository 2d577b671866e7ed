//! The terminal: results go to standard output, everything else to standard error.

use std::io::{self, Write};

use super::failure::{Code, Failure, reason};

/// Prints a result.
///
/// # Errors
/// Standard output cannot be written. A reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Write, format_args!("cannot write to standard output: {}", reason(&e))))
        }
        _ => Ok(()),
    }
}

/// Says something besides. A closed standard error is nobody's problem any more.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Warns.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}
