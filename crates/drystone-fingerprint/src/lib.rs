//! Fingerprint of a crate's sources, for its build script: two builds with the same hash step a world to the same bits.
//!
//! ```no_run
//! // In build.rs. The sources then read the hash by `env!("MY_FINGERPRINT")`.
//! drystone_fingerprint::emit("MY_FINGERPRINT", &["src"], "Cargo.lock");
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// Prints Cargo directives that set the environment variable `name` to the hash of the compiler, the target and all
/// files in `folders` of the package (16 hexadecimal digits), and that rerun the build script when one of the files
/// changes.
///
/// The workspace's `Cargo.lock`, `lock`, is hashed too if it exists: it names the versions of libraries. A library that
/// is built as a dependency has none.
pub fn emit(name: &str, folders: &[&str], lock: &str) {
    let mut files = Vec::new();
    for folder in folders {
        println!("cargo:rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
    }
    if Path::new(lock).exists() {
        println!("cargo:rerun-if-changed={lock}");
        files.push(PathBuf::from(lock));
    }
    files.sort();
    let mut hash = FingerprintHasher(0xcbf2_9ce4_8422_2325);
    hash.add(compiler().as_bytes());
    hash.add(std::env::var("TARGET").unwrap_or_default().as_bytes());
    for file in files {
        hash.add(file.to_string_lossy().replace('\\', "/").as_bytes());
        hash.add(&fs::read(&file).unwrap_or_default());
    }
    println!("cargo:rustc-env={name}={:016x}", hash.0);
}

/// Returns the compiler's version line, or `unknown`.
#[must_use]
pub fn compiler() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = std::process::Command::new(rustc).arg("--version").output().ok();
    let told = output.filter(|output| output.status.success());
    told.map_or_else(|| "unknown".into(), |told| String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// FNV-1a hash.
struct FingerprintHasher(u64);

impl FingerprintHasher {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
