//! Oracles for joints: what mechanics and the equations of the solver say must come out, on every backend.
//!
//! As `tests/physics`: an oracle is a function of a backend, tolerances are argued where they stand, and what is
//! compared can also fail. Long runs are for the CPU alone; on a software adapter they would take minutes, and the
//! stages are compared with it elsewhere (`tests/twins.rs`).

mod alive;
mod crowds;
mod energies;
mod holding;
mod moving;
mod replay;
mod swinging;

use drystone::{Body, Scene, Shape};

/// A box of 1 m and 1 kg with an inertia of 1/6 kg·m².
fn block(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5).density(1.0))
}

/// A disc of 1 kg that does not turn: a point mass.
fn point(x: f32, y: f32) -> Body {
    let mut body = Body::dynamic(x, y).shape(Shape::circle(0.1));
    body.mass = Some(1.0);
    body.fixed_rotation = true;
    body
}

/// An empty world with gravity along −y, m/s².
fn world(gravity: f32) -> Scene {
    Scene::new("joints").gravity(0.0, -gravity)
}
