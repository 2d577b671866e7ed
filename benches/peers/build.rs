//! Records the C flags, and refuses to build Box2D with assertions, which would distort the comparison.

fn main() {
    println!("cargo:rerun-if-env-changed=CFLAGS");
    println!("cargo:rerun-if-changed=build.rs");
    let flags = std::env::var("CFLAGS").unwrap_or_default();
    assert!(
        flags.contains("-DNDEBUG"),
        "Box2D would be built with its asserts on (CFLAGS is \"{flags}\"): build from within benches/peers, whose \
         .cargo/config.toml sets CFLAGS, or set CFLAGS=\"-DNDEBUG -O3\""
    );
    println!("cargo:rustc-env=PEERS_CFLAGS={flags}");
}
