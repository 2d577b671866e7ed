//! Oracles: what mechanics, the solver's own equations and Box2D say must come out, on every backend.
//!
//! The CPU and the GPU backend are compared with each other elsewhere; that finds mistakes of one of them. This suite
//! finds those they share. Every oracle is a function of a backend; [`on_every_backend!`] makes the tests, so that a
//! failure reads `motion::ballistics::gpu`.
//!
//! Tolerances are argued where they stand: the error of the method, which is known, or the rounding of f32 (6·10⁻⁸ of
//! the value, half of it once per operation). Nothing is timed.

#[path = "../common/mod.rs"]
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

mod bodies;
mod friction;
mod impacts;
mod mass;
mod modes;
mod motion;
mod rest;
mod scenes;
