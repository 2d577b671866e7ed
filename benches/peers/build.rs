//! Notes the versions that a report names, and refuses to build the peer with its asserts on.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=CFLAGS");
    for path in ["build.rs", "src", "Cargo.lock", "../../src", "../../shaders", "../../Cargo.toml"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let flags = std::env::var("CFLAGS").unwrap_or_default();
    assert!(
        flags.contains("-DNDEBUG"),
        "Box2D would be built with its asserts on (CFLAGS is \"{flags}\"): build from within benches/peers, whose \
         .cargo/config.toml sets CFLAGS, or set CFLAGS=\"-DNDEBUG -O3\""
    );
    println!("cargo:rustc-env=PEERS_CFLAGS={flags}");

    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    println!("cargo:rustc-env=PEERS_RUSTC={}", output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".into()));

    let manifest = std::fs::read_to_string("../../Cargo.toml").unwrap_or_default();
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = ")).unwrap_or("?").trim_matches('"');
    // Of the last build; a commit without a change of source does not show.
    let commit = output("git", &["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]);
    println!("cargo:rustc-env=PEERS_DRYSTONE={version} {}", commit.unwrap_or_default());
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
