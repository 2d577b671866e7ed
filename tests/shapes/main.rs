//! Every shape against every other: manifolds against a slow oracle, masses against sums over a raster, the GPU against
//! the CPU, and what must stay at rest.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "poses are drawn in f64 and used in f32")]
#![allow(clippy::type_complexity, reason = "tables of cases")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each suite uses a part")]
mod common;

/// One test for each oracle and backend.
macro_rules! on_every_backend {
    ($($oracle:ident),+ $(,)?) => { $(
        mod $oracle {
            use crate::common::Backend;

            #[test]
            fn cpu_1_thread() {
                super::$oracle(Backend::Cpu1);
            }

            #[test]
            fn cpu_3_threads() {
                super::$oracle(Backend::Cpu3);
            }

            #[test]
            fn gpu() {
                super::$oracle(Backend::Gpu);
            }
        }
    )+ };
}

mod kit;
mod manifolds;
mod masses;
mod physics;
mod twins;
