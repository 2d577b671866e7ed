//! Notes what `drystone bench` says about itself: compiler and commit.

use std::path::Path;
use std::process::Command;

fn main() {
    // Sources of the program. A commit that changes none of them does not show, and needs no new build.
    for path in ["build.rs", "src", "Cargo.toml", "..", "../../src", "../../shaders", "../../Cargo.lock"] {
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rustc-env=DRYSTONE_RUSTC={}", drystone_fingerprint::compiler());
    // Not that of a repository around an unpacked archive.
    let commit = if Path::new("../../.git").exists() { commit() } else { None };
    println!("cargo:rustc-env=DRYSTONE_COMMIT={}", commit.unwrap_or_else(|| "without a commit".into()));
}

fn commit() -> Option<String> {
    let arguments = ["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"];
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
