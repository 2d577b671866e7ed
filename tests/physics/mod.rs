//! Oracles: results required by mechanics, by the solver's own equations and by Box2D, on every backend.
//!
//! The CPU and the GPU backend are compared with each other elsewhere; that finds errors in one of them. This suite
//! finds errors that they share. Every oracle is a function of a backend; [`on_every_backend!`] generates the tests, so
//! that a failure reads `motion::ballistics::gpu`.
//!
//! Tolerances are justified where they are used: the known error of the method, or the rounding of f32 (6·10⁻⁸ of the
//! value, half of it once per operation). Nothing is timed.

mod bodies;
mod fields;
mod friction;
mod impacts;
mod initial_loads;
mod mass;
mod mass_scaling;
mod modes;
mod motion;
mod paths;
mod rest;
mod scales;
mod scenes;
mod softness;
mod tiles;
