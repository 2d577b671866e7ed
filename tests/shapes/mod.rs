//! All shapes against each other: manifolds against a slow oracle, masses against sums over a raster, the GPU against
//! the CPU, and bodies at rest.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "poses are drawn in f64 and used in f32")]
#![allow(clippy::type_complexity, reason = "tables of cases")]

pub mod kit;
mod manifolds;
mod masses;
mod physics;
mod twins;
