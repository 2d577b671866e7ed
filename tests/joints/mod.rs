//! Oracles for joints: results required by mechanics and by the solver's equations, on every backend.
//!
//! As in `tests/physics`: an oracle is a function of a backend, tolerances are justified where they are used, and
//! comparisons have negative controls. Long runs are for the CPU alone; on a software adapter they would take minutes,
//! and `tests/twins.rs` compares the stages with it.

mod alive;
mod crowds;
mod driven;
mod energies;
mod gears;
mod heavy;
mod holding;
mod moving;
mod pulleys;
mod replay;
mod swinging;
mod touching;
mod welded;

use drystone::{Body, Scene, Shape};

/// Returns a box of 1 m and 1 kg with an inertia of 1/6 kg·m².
fn block(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5).density(1.0))
}

/// Returns a disc of 1 kg with fixed rotation: a point mass.
fn point(x: f32, y: f32) -> Body {
    let mut body = Body::dynamic(x, y).shape(Shape::circle(0.1));
    body.mass = Some(1.0);
    body.fixed_rotation = true;
    body
}

/// Returns an empty world with gravity along −y, m/s².
fn world(gravity: f32) -> Scene {
    Scene::new("joints").gravity(0.0, -gravity)
}
