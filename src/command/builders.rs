//! Commands from arrays, pairs or vectors.

use glam::Vec2;

use super::Command;

impl Command {
    /// A sudden push at the centre of mass, N·s. Dynamic bodies.
    #[must_use]
    pub fn impulse(impulse: impl Into<Vec2>) -> Self {
        Self::Impulse { impulse: impulse.into(), point: None }
    }

    /// A sudden push, N·s, at a point of the body's frame, m. Dynamic bodies.
    #[must_use]
    pub fn impulse_at(impulse: impl Into<Vec2>, point: impl Into<Vec2>) -> Self {
        Self::Impulse { impulse: impulse.into(), point: Some(point.into()) }
    }

    /// The constant force on the centre of mass from now on, N, in place of the one before. Dynamic bodies.
    #[must_use]
    pub fn force(force: impl Into<Vec2>) -> Self {
        Self::Force { force: force.into(), point: None }
    }

    /// The constant force from now on, N, at a point that moves along with the body, in its frame, m. Dynamic bodies.
    #[must_use]
    pub fn force_at(force: impl Into<Vec2>, point: impl Into<Vec2>) -> Self {
        Self::Force { force: force.into(), point: Some(point.into()) }
    }

    /// The velocity of the centre of mass, m/s. Dynamic and kinematic bodies.
    #[must_use]
    pub fn velocity(velocity: impl Into<Vec2>) -> Self {
        Self::Velocity(velocity.into())
    }

    /// Puts the origin of the body elsewhere, m, and turns it, rad; it keeps its velocity.
    #[must_use]
    pub fn teleport(position: impl Into<Vec2>, angle: f32) -> Self {
        Self::Teleport { position: position.into(), angle }
    }

    /// Gives the body the velocity that brings its origin, m, and its angle, rad, there in one step. Kinematic bodies.
    #[must_use]
    pub fn target(position: impl Into<Vec2>, angle: f32) -> Self {
        Self::Target { position: position.into(), angle }
    }
}
