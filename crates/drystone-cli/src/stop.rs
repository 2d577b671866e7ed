//! Handling of Ctrl-C and SIGTERM: the first signal stops after the current step, the second exits at once. Neither
//! leaves temporary files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::failure::{Code, Failure};

static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// Temporary files to delete on an immediate exit.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Installs the signal handler.
///
/// # Errors
/// If the system refuses.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if REQUESTS.fetch_add(1, Ordering::SeqCst) > 0 {
            exit_now(Code::Stopped);
        }
    })
    .map_err(|error| Failure::new(Code::Bug, format_args!("cannot listen for Ctrl-C: {error}")))
}

/// Returns true if a signal was received.
pub fn requested() -> bool {
    REQUESTS.load(Ordering::Relaxed) > 0
}

/// Fails if a signal was received.
///
/// # Errors
/// A failure with [`Code::Stopped`] after a signal.
pub fn check(what: &str) -> Result<(), Failure> {
    if requested() { Err(Failure::new(Code::Stopped, format_args!("stopped: {what}"))) } else { Ok(()) }
}

/// Registers a temporary file for deletion.
pub fn remember(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// Unregisters a file that was deleted or renamed to its final name.
pub fn forget(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).retain(|p| p != path);
}

/// Exits without unwinding, after deleting the temporary files.
pub fn exit_now(code: Code) -> ! {
    // The panicking thread itself may hold the lock, so this must not wait for it.
    if let Ok(paths) = TEMPORARY.try_lock() {
        for path in paths.iter() {
            let _ = std::fs::remove_file(path);
        }
    }
    std::process::exit(code as i32)
}
