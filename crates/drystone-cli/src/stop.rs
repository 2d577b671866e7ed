//! Ctrl-C and SIGTERM: the first stops after the current step, the second exits at once. Neither leaves a temporary
//! file behind.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::failure::{Code, Failure};

static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// What to delete when there is no time to unwind.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Installs the handler. Without it the signals end the process as usual, so a failure is only reported.
///
/// # Errors
/// The system refuses.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if REQUESTS.fetch_add(1, Ordering::SeqCst) > 0 {
            exit_now(Code::Stopped);
        }
    })
    .map_err(|error| Failure::new(Code::Bug, format_args!("cannot listen for Ctrl-C: {error}")))
}

/// Whether the user wants to stop.
pub fn requested() -> bool {
    REQUESTS.load(Ordering::Relaxed) > 0
}

/// Fails if the user wants to stop.
///
/// # Errors
/// See above.
pub fn check(what: &str) -> Result<(), Failure> {
    if requested() { Err(Failure::new(Code::Stopped, format_args!("stopped: {what}"))) } else { Ok(()) }
}

/// Remembers a temporary file.
pub fn remember(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// Forgets it, once it is deleted or has become the real one.
pub fn forget(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).retain(|p| p != path);
}

/// Exits without unwinding, but deletes the temporary files.
pub fn exit_now(code: Code) -> ! {
    // Whoever holds the lock may be the very thread that is panicking: do not wait for it.
    if let Ok(paths) = TEMPORARY.try_lock() {
        for path in paths.iter() {
            let _ = std::fs::remove_file(path);
        }
    }
    std::process::exit(code as i32)
}
