//! Every shape against every other: manifolds against a slow oracle, masses against sums over a raster, the GPU against
//! the CPU, and what must stay at rest.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each suite uses a part")]
mod common;

mod kit;
mod manifolds;
