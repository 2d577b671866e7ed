//! Structs that Rust and WGSL share, byte for byte (`shaders/types.wgsl`): the rows of the tables that the stages of a
//! step read and write.
//!
//! Every struct is made of 16-byte rows, so that a row is one `vec4` load on the device and no padding is left to
//! chance. `tests/layout.rs` parses the WGSL and compares names, sizes and offsets with these definitions: change
//! one side alone and it fails.
//!
//! SI units, y up, angles counter-clockwise. World frames are centre-of-mass frames: a [`Pose`] places a body's centre
//! of mass, and [`Shape::offset`] is relative to it.

mod body;
mod command;
mod constraint;
mod contact;
mod counters;
mod event;
mod grid;
mod joint;
mod params;
mod query;
mod rule;
mod shape;
mod sweep;

pub use body::*;
pub use command::*;
pub use constraint::*;
pub use contact::*;
pub use counters::*;
pub use event::*;
pub use grid::*;
pub use joint::*;
pub use params::*;
pub use query::*;
pub use rule::*;
pub use shape::*;
pub use sweep::*;

/// The index that means none: no cell, no colour, no contact.
pub const NONE: u32 = u32::MAX;

/// Returns a count or an index as the tables hold it; the largest number if it does not fit.
pub(crate) fn u32_from(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
