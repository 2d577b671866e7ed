//! Output files that are complete or absent.
//!
//! A [`Destination`] is opened before the simulation starts, as a temporary file in the destination folder, so that a
//! wrong path is reported at once and not after an hour. The last operation is an atomic rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::failure::{Failure, reason};
use super::stop;

/// File that appears under its name once it is complete.
#[derive(Debug)]
pub struct Destination {
    /// Path as given by the user.
    pub shown: String,
    /// Option that named the file.
    pub option: &'static str,
    /// Final path, with symbolic links resolved.
    resolved: PathBuf,
    writer: BufWriter<File>,
    temporary: TempPath,
    // Declared after `temporary`, so that the file is deleted before it is unregistered.
    _remembered: Remembered,
}

impl Destination {
    /// Checks the name and opens a temporary file in the same folder.
    ///
    /// # Errors
    /// An extension that is not among `extensions` (lower case), a folder that does not exist or is not writable, or a
    /// destination that is a folder or a device.
    pub fn open(option: &'static str, path: &Path, extensions: &[&str]) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let refuse = |problem: String| Failure::usage(format_args!("{option} {shown}: {problem}"));
        if !extension(path).is_some_and(|e| extensions.contains(&e.as_str())) {
            let expected: Vec<String> = extensions.iter().map(|e| format!(".{e}")).collect();
            return Err(refuse(format!("the file name must end in {}", expected.join(" or "))));
        }
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            return Err(refuse("exists and is not a regular file".to_owned()));
        }
        let resolved = resolve(path).map_err(|e| refuse(format!("cannot use its folder: {}", reason(&e))))?;
        let (file, temporary) = temporary_in(folder(&resolved))
            .map_err(|e| refuse(format!("cannot create files in its folder: {}", reason(&e))))?
            .into_parts();
        let remembered = Remembered::new(&temporary);
        if let Some(existing) = existing {
            // A replaced file keeps its permissions. Best effort: some file systems have none.
            let _ = fs::set_permissions(&temporary, existing.permissions());
        }
        let writer = BufWriter::with_capacity(1 << 16, file);
        Ok(Self { shown, option, resolved, writer, temporary, _remembered: remembered })
    }

    /// Returns the extension in lower case.
    pub fn extension(&self) -> String {
        extension(&self.resolved).unwrap_or_default()
    }

    /// Creates an unnamed file on the same disk, deleted when closed.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn spool(&self) -> io::Result<File> {
        tempfile::tempfile_in(folder(&self.resolved))
    }

    /// Writes the whole content.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn fill(&mut self, content: &[u8]) -> Result<(), Failure> {
        self.write_all(content).map_err(|e| Failure::write(&self.shown, &e))
    }

    /// Returns true if `path` is this file.
    pub fn is(&self, path: &Path) -> bool {
        resolve(path).is_ok_and(|other| other == self.resolved)
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for Destination {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.writer.seek(position)
    }
}

/// Checks that no two options name the same file and that no output is the input.
///
/// # Errors
/// The first conflict.
pub fn check_distinct(destinations: &[&Destination], input: Option<&Path>) -> Result<(), Failure> {
    for (index, this) in destinations.iter().enumerate() {
        if let Some(other) = destinations[..index].iter().find(|other| other.resolved == this.resolved) {
            let (a, b, file) = (other.option, this.option, &this.shown);
            return Err(Failure::usage(format_args!("{a} and {b} name the same file, {file}")));
        }
        if input.is_some_and(|input| this.is(input)) {
            return Err(Failure::usage(format_args!("{} {}: is the scene itself", this.option, this.shown)));
        }
    }
    Ok(())
}

/// Renames complete files to their final names and returns those. All are flushed to disk before the first is renamed.
///
/// # Errors
/// If the disk is full or the folder was removed. Files that are not renamed by then do not appear.
pub fn publish(mut destinations: Vec<Destination>) -> Result<Vec<String>, Failure> {
    for destination in &mut destinations {
        let written = destination.writer.flush().and_then(|()| destination.writer.get_ref().sync_all());
        written.map_err(|e| Failure::write(&destination.shown, &e))?;
    }
    let mut names = Vec::with_capacity(destinations.len());
    for Destination { shown, resolved, writer, temporary, .. } in destinations {
        drop(writer);
        temporary.persist(&resolved).map_err(|e| Failure::write(&shown, &e.error))?;
        names.push(shown);
    }
    Ok(names)
}

/// Temporary file that is deleted even if the process exits early ([`stop::exit_now`]).
#[derive(Debug)]
struct Remembered(PathBuf);

impl Remembered {
    fn new(path: &Path) -> Self {
        stop::remember(path);
        Self(path.to_owned())
    }
}

impl Drop for Remembered {
    fn drop(&mut self) {
        stop::forget(&self.0);
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_lowercase())
}

/// Returns the canonical path of a file that may not exist yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    if let Ok(existing) = fs::canonicalize(path) {
        return Ok(existing);
    }
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    Ok(fs::canonicalize(folder)?.join(name))
}

/// Returns the folder of a resolved path.
fn folder(resolved: &Path) -> &Path {
    resolved.parent().unwrap_or(resolved)
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".drystone-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Permissions by the umask, as for any new file: temporary files are private by default, and would stay so
        // after the rename.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn appears_only_when_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.JSON");
        let mut destination = Destination::open("--json", &path, &["json"]).unwrap();
        destination.write_all(b"whole").unwrap();
        assert!(!path.exists());
        assert_eq!(publish(vec![destination]).unwrap(), [path.display().to_string()]);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["a.JSON"]);
    }

    #[test]
    fn dropped_leaves_nothing_and_keeps_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "old").unwrap();
        let mut destination = Destination::open("--json", &path, &["json"]).unwrap();
        destination.write_all(b"half").unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(destination);
        assert_eq!(names(folder.path()), ["a.json"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn refuses_what_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| Destination::open("--movie", &folder.path().join(name), &["gif"]);
        assert!(open("a.mp4").is_err());
        assert!(open("gif").is_err());
        assert!(open("missing/a.gif").is_err());
        fs::create_dir(folder.path().join("b.gif")).unwrap();
        assert!(open("b.gif").is_err());
        assert_eq!(names(folder.path()), ["b.gif"]);
    }

    #[test]
    fn one_file_one_option() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let roundabout = folder.path().join(".").join("a.json");
        let a = Destination::open("--json", &path, &["json"]).unwrap();
        let b = Destination::open("--state", &roundabout, &["json"]).unwrap();
        assert!(check_distinct(&[&a, &b], None).is_err());
        assert!(check_distinct(&[&a], Some(&path)).is_err());
        assert!(check_distinct(&[&a], None).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_and_keeps_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.json"), folder.path().join("link.json"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut destination = Destination::open("--json", &link, &["json"]).unwrap();
        destination.write_all(b"new").unwrap();
        publish(vec![destination]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
