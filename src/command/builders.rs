//! Constructors of [`Command`] that take arrays, pairs or vectors.

use glam::{DVec2, Vec2};

use super::Command;

impl Command {
    /// Returns an impulse at the centre of mass, N·s. Dynamic bodies.
    #[must_use]
    pub fn impulse(impulse: impl Into<Vec2>) -> Self {
        Self::Impulse { impulse: impulse.into(), point: None }
    }

    /// Returns an impulse, N·s, at a point of the body's frame, m. Dynamic bodies.
    #[must_use]
    pub fn impulse_at(impulse: impl Into<Vec2>, point: impl Into<Vec2>) -> Self {
        Self::Impulse { impulse: impulse.into(), point: Some(point.into()) }
    }

    /// Returns a command that sets the constant force on the centre of mass, N. Dynamic bodies.
    #[must_use]
    pub fn force(force: impl Into<Vec2>) -> Self {
        Self::Force { force: force.into(), point: None }
    }

    /// Returns a command that sets the constant force, N, at a point that moves along with the body, in its frame, m.
    /// Dynamic bodies.
    #[must_use]
    pub fn force_at(force: impl Into<Vec2>, point: impl Into<Vec2>) -> Self {
        Self::Force { force: force.into(), point: Some(point.into()) }
    }

    /// Returns a command that sets the velocity of the centre of mass, m/s. Dynamic and kinematic bodies.
    #[must_use]
    pub fn velocity(velocity: impl Into<Vec2>) -> Self {
        Self::Velocity(velocity.into())
    }

    /// Returns a command that sets the position of the body's origin, m, and its angle, rad. The body keeps its
    /// velocity.
    #[must_use]
    pub fn teleport(position: impl Into<DVec2>, angle: f32) -> Self {
        Self::Teleport { position: position.into(), angle }
    }

    /// Returns a command that sets the velocity that brings the body's origin, m, and its angle, rad, there in one
    /// step. Kinematic bodies.
    #[must_use]
    pub fn target(position: impl Into<DVec2>, angle: f32) -> Self {
        Self::Target { position: position.into(), angle }
    }
}
