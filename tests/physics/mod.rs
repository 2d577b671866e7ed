//! Oracles: what mechanics, the solver's own equations and Box2D say must come out, on every backend.
//!
//! The CPU and the GPU backend are compared with each other elsewhere; that finds mistakes of one of them. This suite
//! finds those they share. Every oracle is a function of a backend; [`on_every_backend!`] makes the tests, so that a
//! failure reads `motion::ballistics::gpu`.
//!
//! Tolerances are argued where they stand: the error of the method, which is known, or the rounding of f32 (6·10⁻⁸ of
//! the value, half of it once per operation). Nothing is timed.

mod bodies;
mod fields;
mod friction;
mod impacts;
mod mass;
mod modes;
mod motion;
mod paths;
mod rest;
mod scenes;
mod softness;
