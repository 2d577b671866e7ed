//! Notes what `drystone bench` says about itself: compiler and commit. Also a hash of what worlds come to their bits by, for
//! the logs of the service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    // What changes the program. A commit that changes none of it does not show, and needs no new build.
    for path in ["build.rs", "src", "shaders", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={path}");
    }
    if Path::new("Cargo.lock").exists() {
        println!("cargo:rerun-if-changed=Cargo.lock");
    }
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let compiler = output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=DRYSTONE_RUSTC={compiler}");
    println!("cargo:rustc-env=DRYSTONE_SOLVER={:016x}", solver(&compiler));
    // Not that of a repository around an unpacked archive.
    let commit = if Path::new(".git").exists() {
        output("git", &["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"])
    } else {
        None
    };
    println!("cargo:rustc-env=DRYSTONE_COMMIT={}", commit.unwrap_or_else(|| "without a commit".into()));
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Hash of compiler, target and all sources but those that no step depends on.
fn solver(compiler: &str) -> u64 {
    let mut files = Vec::new();
    for folder in ["src", "shaders"] {
        collect(Path::new(folder), &mut files);
    }
    // Also the versions of libraries. A library that is built by others has none of its own.
    files.push(PathBuf::from("Cargo.lock"));
    files.sort();
    let target = std::env::var("TARGET").unwrap_or_default();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            // FNV-1a.
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(compiler.as_bytes());
    add(target.as_bytes());
    for file in files {
        add(file.to_string_lossy().replace('\\', "/").as_bytes());
        add(&fs::read(&file).unwrap_or_default());
    }
    hash
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let apart = ["src/serve", "src/cli", "src/view", "src/draw", "src/movie"];
    if apart.iter().any(|apart| folder == Path::new(apart)) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
