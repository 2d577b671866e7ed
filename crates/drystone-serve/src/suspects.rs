//! Worlds suspected of having ended the process. A world that does so twice at the same step is not stepped again,
//! so that one scene cannot keep the service from starting.
//!
//! Before a worker steps worlds, it writes their ids and step numbers into its part of a small file, and clears that
//! part afterwards. The page cache outlives the process, so nothing is synced: a write takes less than a
//! microsecond. At the next start the worlds in these marks become suspects. Suspects step one at a time until each
//! has passed the marked step. A world during whose step the process ends again is opened as failed, and the others
//! are cleared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::store::{BUCKET, MEMORY};

/// Bytes of the file per worker: 64 worlds of a time slice, each with its id and step.
const PART_BYTES: usize = 8192;
/// Name of the file of marks, in the folder of the store.
const MARKS: &str = "running";
/// Name of the file of suspects, beside it.
const SUSPECTS: &str = "suspects";
/// Number of steps between two marks of a time slice. A suspect that is this many steps further has passed the mark.
pub const MARK_STEPS: u64 = 16;
/// Number of process ends during the same world's steps after which the world is failed.
const MAX_STEP_DEATHS: u32 = 2;
/// Number of process ends while the same world is opened after which it is failed. A process may be ended at its
/// start for other reasons.
const MAX_OPEN_DEATHS: u32 = 3;

/// Work that can crash or kill the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskyWork {
    /// Reading the checkpoint and the log.
    Open,
    /// A step, with the number of steps done before it.
    Step(u64),
}

/// Process ends that a world may have caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Suspicion {
    deaths: u32,
    place: RiskyWork,
}

impl Suspicion {
    fn is_enough(self) -> bool {
        let most = if self.place == RiskyWork::Open { MAX_OPEN_DEATHS } else { MAX_STEP_DEATHS };
        self.deaths >= most
    }
}

/// Content of the file of suspects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Notes {
    /// Version that wrote the file. Another version starts afresh, as its solver may differ.
    version: String,
    worlds: BTreeMap<String, Suspicion>,
}

/// Marks of running worlds, and the suspects.
#[derive(Debug, Default)]
pub struct Suspects {
    marks: Option<File>,
    file: Option<PathBuf>,
    notes: Mutex<Notes>,
}

impl Suspects {
    /// Reads the marks left by the previous process. If marks cannot be kept, the service runs without them.
    #[must_use]
    pub fn open(config: &Config) -> Self {
        let Some(folder) = folder(config) else { return Self::default() };
        Self::open_in(&folder, config.retry_failed).unwrap_or_else(|error| {
            tracing::warn!(folder = %folder.display(), %error, "a world that ends the process cannot be identified");
            Self::default()
        })
    }

    fn open_in(folder: &Path, retry: bool) -> io::Result<Self> {
        make_own(folder)?;
        let (marks, file) = (folder.join(MARKS), folder.join(SUSPECTS));
        let left = match fs::read(&marks) {
            Ok(bytes) => parse_marks(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let old = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Notes>(&bytes).ok());
        let version = env!("CARGO_PKG_VERSION");
        let old = old.filter(|notes| notes.version == version && !retry).unwrap_or_default();
        let notes = Notes { version: version.to_owned(), worlds: update_suspicions(old.worlds, left) };
        for (id, suspicion) in &notes.worlds {
            tracing::warn!(world = id, deaths = suspicion.deaths, "the process ended while this world was computed");
        }
        let suspects = Self {
            marks: Some(OpenOptions::new().create(true).truncate(true).write(true).open(marks)?),
            file: Some(file),
            notes: Mutex::new(notes),
        };
        suspects.keep(&suspects.lock())?;
        Ok(suspects)
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the suspects to their file: completely or not at all.
    fn keep(&self, notes: &Notes) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if notes.worlds.is_empty() {
            return match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let temporary = file.with_extension("tmp");
        fs::write(&temporary, serde_json::to_vec(notes)?)?;
        fs::rename(temporary, file)
    }

    /// Marks the worlds that a worker is about to compute.
    pub fn mark<'a>(&self, worker: usize, worlds: impl Iterator<Item = (&'a str, RiskyWork)>) {
        let Some(file) = &self.marks else { return };
        let mut text = String::with_capacity(96);
        for (id, place) in worlds {
            // Writing to a string cannot fail.
            let _ = match place {
                RiskyWork::Open => writeln!(text, "{id} open"),
                RiskyWork::Step(step) => writeln!(text, "{id} {step}"),
            };
        }
        text.truncate(PART_BYTES - 1);
        text.push('\n');
        put(file, worker, text.as_bytes());
    }

    /// Clears the marks of a worker.
    pub fn clear(&self, worker: usize) {
        if let Some(file) = &self.marks {
            put(file, worker, b"\n");
        }
    }

    /// Clears all marks before an orderly end of the process.
    pub fn close(&self) {
        if let Some(file) = &self.marks {
            let _ = file.set_len(0);
        }
    }

    /// Returns true while the world may have ended the previous process.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.lock().worlds.contains_key(id)
    }

    /// Returns the reason why a world must not be opened, if it ended the process too often.
    #[must_use]
    pub fn verdict(&self, id: &str) -> Option<String> {
        let suspicion = self.lock().worlds.get(id).copied().filter(|suspicion| suspicion.is_enough())?;
        let deaths = suspicion.deaths;
        let what = match suspicion.place {
            RiskyWork::Open => "was opened".to_owned(),
            RiskyWork::Step(step) => format!("computed a step (about step {})", step + 1),
        };
        Some(format!(
            "the process ended {deaths} times while this world {what}: delete the world, or start the service once with \
             retry_failed = true to try it again"
        ))
    }

    /// Clears a suspect if `place` is past the work during which the process ended. Returns true if the world is no
    /// suspect any more.
    pub fn passed(&self, id: &str, place: RiskyWork) -> bool {
        let mut notes = self.lock();
        let Some(suspicion) = notes.worlds.get(id) else { return true };
        let passed = match (suspicion.place, place) {
            (RiskyWork::Open, RiskyWork::Step(_)) => true,
            (RiskyWork::Step(before), RiskyWork::Step(now)) => now >= before + MARK_STEPS,
            (_, RiskyWork::Open) => false,
        };
        if passed {
            notes.worlds.remove(id);
            self.store_or_warn(&notes);
        }
        passed
    }

    /// Forgets a deleted world.
    pub fn forget(&self, id: &str) {
        let mut notes = self.lock();
        if notes.worlds.remove(id).is_some() {
            self.store_or_warn(&notes);
        }
    }

    fn store_or_warn(&self, notes: &Notes) {
        if let Err(error) = self.keep(notes) {
            tracing::warn!(%error, "the list of suspects was not written");
        }
    }
}

/// Writes to the part of a worker. A missing mark only means that a world is not identified.
fn put(file: &File, worker: usize, bytes: &[u8]) {
    let at = (worker * PART_BYTES) as u64;
    if let Err(error) = write_at(file, bytes, at) {
        tracing::debug!(%error, "a mark was not written");
    }
}

/// Returns the folder of the marks. None for a store in memory, which ends with the process.
fn folder(config: &Config) -> Option<PathBuf> {
    if config.store == MEMORY {
        return None;
    }
    if !config.local_state.is_empty() {
        return Some(PathBuf::from(&config.local_state));
    }
    if !config.store.starts_with(BUCKET) {
        return Some(PathBuf::from(&config.store));
    }
    // One name per bucket and user, in a folder that may be open to all users.
    let user = std::env::var("USER").unwrap_or_default();
    let name = format!("{:08x}", crc32fast::hash(format!("{} {user}", config.store).as_bytes()));
    Some(std::env::temp_dir().join(format!("drystone-{name}")))
}

/// Creates a folder, unless it exists. One that belongs to another user is refused: it could lead anywhere.
fn make_own(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, here) = (fs::symlink_metadata(folder)?, rustix::process::geteuid().as_raw());
        if folder.starts_with(std::env::temp_dir()) && (owner.uid() != here || !owner.is_dir()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder belongs to another user"));
        }
    }
    Ok(())
}

/// Returns the worlds named by marks.
fn parse_marks(bytes: &[u8]) -> BTreeMap<String, RiskyWork> {
    let mut worlds = BTreeMap::new();
    for part in bytes.chunks(PART_BYTES) {
        let text = String::from_utf8_lossy(part);
        for line in text.split('\n').take_while(|line| !line.is_empty()) {
            let Some((id, place)) = line.split_once(' ') else { continue };
            let place = if place == "open" { Some(RiskyWork::Open) } else { place.parse().ok().map(RiskyWork::Step) };
            if let Some(place) = place.filter(|_| super::store::is_id(id)) {
                worlds.insert(id.to_owned(), place);
            }
        }
    }
    worlds
}

/// Returns the suspects after the process has ended while `left` were being computed. An earlier suspect was the
/// only one in its time slice, so the other worlds that ran beside it are not to blame.
fn update_suspicions(
    mut suspects: BTreeMap<String, Suspicion>,
    left: BTreeMap<String, RiskyWork>,
) -> BTreeMap<String, Suspicion> {
    let known = left.keys().any(|id| suspects.contains_key(id));
    for (id, place) in left {
        match suspects.get_mut(&id) {
            Some(suspicion) => *suspicion = Suspicion { deaths: suspicion.deaths + 1, place },
            None if known => {}
            None => {
                suspects.insert(id, Suspicion { deaths: 1, place });
            }
        }
    }
    suspects
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, at).map(|_| ())
}

#[cfg(not(any(unix, windows)))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> Suspects {
        Suspects::open_in(folder, false).unwrap()
    }

    #[test]
    fn a_world_that_ends_the_process_twice_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let suspects = open(folder.path());
        // Two workers, two worlds: the process ends.
        suspects.mark(0, [("good", RiskyWork::Step(7))].into_iter());
        suspects.mark(1, [("bad", RiskyWork::Step(3))].into_iter());
        let suspects = open(folder.path());
        assert!(suspects.has("good") && suspects.has("bad") && suspects.verdict("bad").is_none());
        // Each is tried alone; worlds that run beside it are not to blame.
        suspects.mark(0, [("good", RiskyWork::Step(20))].into_iter());
        assert!(!suspects.passed("good", RiskyWork::Step(22)), "not far enough");
        assert!(suspects.passed("good", RiskyWork::Step(7 + MARK_STEPS)));
        suspects.mark(0, [("other", RiskyWork::Step(90))].into_iter());
        suspects.mark(1, [("bad", RiskyWork::Step(3))].into_iter());
        let suspects = open(folder.path());
        assert!(!suspects.has("other") && !suspects.has("good"));
        let verdict = suspects.verdict("bad").unwrap();
        assert!(verdict.contains("2 times") && verdict.contains("retry_failed"), "{verdict}");
        // The verdict stays until the world is deleted or deliberately retried.
        assert!(open(folder.path()).verdict("bad").is_some());
        assert!(Suspects::open_in(folder.path(), true).unwrap().verdict("bad").is_none());
    }

    #[test]
    fn a_process_that_ends_in_order_leaves_no_suspects() {
        let folder = tempfile::tempdir().unwrap();
        let suspects = open(folder.path());
        suspects.mark(3, [("one", RiskyWork::Open), ("two", RiskyWork::Step(1))].into_iter());
        suspects.clear(3);
        suspects.mark(5, [("three", RiskyWork::Open)].into_iter());
        suspects.close();
        let suspects = open(folder.path());
        assert!(!suspects.has("one") && !suspects.has("two") && !suspects.has("three"));
        // Negative control.
        suspects.mark(3, [("one", RiskyWork::Open), ("two", RiskyWork::Step(1))].into_iter());
        let suspects = open(folder.path());
        assert!(suspects.has("one") && suspects.has("two"));
        assert!(suspects.passed("one", RiskyWork::Step(0)), "it is open");
        assert!(!suspects.passed("two", RiskyWork::Open));
    }

    #[test]
    fn strange_marks_are_overlooked() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in [&b"\xff\xfe\n"[..], b"no-step\n\n", b"../../x 7\n\n", b"id seven\n\n", b""] {
            fs::write(folder.path().join(MARKS), bytes).unwrap();
            fs::write(folder.path().join(SUSPECTS), bytes).unwrap();
            assert!(open(folder.path()).lock().worlds.is_empty(), "{bytes:?}");
        }
    }
}
