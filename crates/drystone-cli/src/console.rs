//! Terminal output: results go to standard output, everything else to standard error.

use std::io::{self, Write};

use super::failure::{Code, Failure, reason};

/// Prints a result to standard output.
///
/// # Errors
/// If standard output cannot be written, except when its reader has closed it (`| head`).
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Write, format_args!("cannot write to standard output: {}", reason(&e))))
        }
        _ => Ok(()),
    }
}

/// Prints a message to standard error; errors are ignored, as a closed standard error cannot be reported.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}
