//! Sets the fingerprint of the sources: two builds with the same fingerprint build the same scenes.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    drystone_fingerprint::emit("DRYSTONE_SCENES_FINGERPRINT", &["src"], "../../Cargo.lock");
}
