//! [`Path`]: the way of a kinematic body.

use glam::{DVec2, Vec2};

use crate::math::rotation;

/// Path of a kinematic body: `position + amplitude · sin(rate · t + phase)` and `angle + turn · sin(rate · t + phase)`.
/// A function of the world's time `t` alone, so that the body is on its path after any number of steps, on either
/// backend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// Largest displacement to either side, m.
    pub amplitude: Vec2,
    /// Largest turn to either side, rad.
    pub turn: f32,
    /// Angular rate, rad/s.
    pub rate: f32,
    /// Phase at the start, rad.
    pub phase: f32,
}

impl Path {
    /// Returns origin, m, and angle, rad, of a body on this path after a number of steps of `dt` seconds.
    #[must_use]
    pub(crate) fn place(&self, position: DVec2, angle: f32, steps: u64, dt: f32) -> (DVec2, f32) {
        let swing = self.swing(steps, dt);
        (position + (self.amplitude * swing).as_dvec2(), angle + self.turn * swing)
    }

    /// Returns the sine after a number of steps of `dt` seconds.
    #[must_use]
    pub(crate) fn swing(&self, steps: u64, dt: f32) -> f32 {
        // In double precision up to the last full turn, so that hours of it lose no digits.
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        let angle = f64::from(self.rate) * f64::from(dt) * steps as f64 + f64::from(self.phase);
        let turns = angle / std::f64::consts::TAU;
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let within = ((turns - turns.round()) * std::f64::consts::TAU) as f32;
        rotation(within).y
    }
}
