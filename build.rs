//! Notes what `drystone bench` says about itself: compiler and commit.

use std::path::Path;
use std::process::Command;

fn main() {
    // What changes the program. A commit that changes none of it does not show, and needs no new build.
    for path in ["build.rs", "src", "shaders", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    println!("cargo:rustc-env=DRYSTONE_RUSTC={}", output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".into()));
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
