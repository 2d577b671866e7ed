//! Scenes for the [`drystone`] solver: the scene file in JSON or RON ([`file`](mod@file)), the built-in scenes
//! ([`catalogue`]), and saved worlds ([`saved`]).
//!
//! ```
//! let scene = drystone_scenes::catalogue::build("large_pyramid:base=10")?;
//! let text = drystone_scenes::file::write_json(&scene);
//! assert_eq!(drystone_scenes::file::parse(&text, "large_pyramid.json")?.bodies.len(), scene.bodies.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod catalogue;
pub mod file;
#[cfg(feature = "npz")]
pub mod npz;
pub mod random;
pub mod saved;
pub mod time;

/// Hash of the compiler, the target and the sources of this library, 16 hexadecimal digits: two builds with the same
/// hash build the same scenes.
pub const FINGERPRINT: &str = env!("DRYSTONE_SCENES_FINGERPRINT");

pub use saved::{SavedWorld, SavedWorldError};
