//! Wind: drag and lift on the shapes of dynamic bodies, as impulses for the next step.
//!
//! Each edge of a shape that faces the wind feels the pressure `½ ρ u²` on the width that it turns towards it, where
//! `u` is the velocity of the air relative to the edge: drag along `u`, and lift across it, away from the side to which
//! the edge is tilted, in proportion to the sine of the tilt. So a sail pulls, a plate flutters, and a body that moves
//! with the wind feels nothing. The velocity is taken at two points of an edge, those of Gauss's rule, so that the air
//! slows a spinning plate down. Box2D (`b2Shape_ApplyWind`) takes that of the shape's middle, and lets the coefficient
//! of drag scale it.

use glam::Vec2;

use crate::command::{Command, CommandError};
use crate::math::{cross, cross_scalar, mul_rotation, rotate};
use crate::query::narrow::pushable_shapes;
use crate::scene::{Compiled, MAX_VALUE};
use crate::stages::collide::hull::Hull;
use crate::types::{ASLEEP, BodyState, Pose, ShapeData};

/// Points of an edge at which the air is measured, as shares of its length; each stands for half of it.
const GAUSS: [f32; 2] = [0.211_324_87, 0.788_675_1];

/// A wind: velocity and density of the air, and how shapes resist it
/// ([`World::apply_wind`](crate::World::apply_wind)).
///
/// ```
/// use drystone::{Body, Scene, Shape, Wind, World};
///
/// let mut scene = Scene::new("leaf").gravity(0.0, 0.0);
/// let leaf = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.05, 0.005).density(0.1)));
/// let mut world = World::new(&scene)?;
/// for _ in 0..600 {
///     world.apply_wind(&Wind { velocity: (3.0, 0.0).into(), ..Wind::default() })?;
///     world.step()?;
/// }
/// assert!((world.body(leaf)?.velocity().x - 3.0).abs() < 0.3);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wind {
    /// Velocity of the air, m/s.
    pub velocity: Vec2,
    /// Density of the air, kg/m² of the plane, at least 0: that in kg/m³ times the depth of the bodies, m.
    pub density: f32,
    /// Coefficient of drag, at least 0: 1 stops the air in front of a shape.
    pub drag: f32,
    /// Coefficient of lift.
    pub lift: f32,
    /// Categories of shapes that feel it, as bits.
    pub mask: u32,
    /// True if it wakes bodies that sleep; otherwise they feel none.
    pub wake: bool,
}

impl Default for Wind {
    /// Returns still air of 1.225 kg/m², with drag 1 and lift 1, that wakes no body.
    fn default() -> Self {
        Self { velocity: Vec2::ZERO, density: 1.225, drag: 1.0, lift: 1.0, mask: u32::MAX, wake: false }
    }
}

/// Sum over the shapes of a body.
#[derive(Clone, Copy, Debug, Default)]
struct WindForce {
    /// Force, N.
    force: Vec2,
    /// Torque about the centre of mass, N·m.
    torque: f32,
}

impl WindForce {
    fn add(&mut self, force: Vec2, arm: Vec2) {
        self.force += force;
        self.torque += cross(arm, force);
    }
}

impl Wind {
    /// # Errors
    /// The first value that is out of range.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        const SIZE: &str = "of at most 1e15 in size";
        const POSITIVE: &str = "from 0 to 1e15";
        CommandError::check_values([
            ("the velocity of the wind", self.velocity.x, -MAX_VALUE..=MAX_VALUE, SIZE),
            ("the velocity of the wind", self.velocity.y, -MAX_VALUE..=MAX_VALUE, SIZE),
            ("the density of the air", self.density, 0.0..=MAX_VALUE, POSITIVE),
            ("the drag", self.drag, 0.0..=MAX_VALUE, POSITIVE),
            ("the lift", self.lift, -MAX_VALUE..=MAX_VALUE, SIZE),
        ])
    }

    /// Returns the impulses of one step on the bodies of a world in this state, in the order of the bodies.
    pub(crate) fn pushes(&self, compiled: &Compiled, poses: &[Pose], states: &[BodyState]) -> Vec<(usize, Command)> {
        let mut sums = vec![WindForce::default(); compiled.bodies.len()];
        for (shape, pose) in pushable_shapes(compiled, poses, self.mask) {
            let body = shape.body as usize;
            if self.wake || states[body].status & ASLEEP == 0 {
                self.press(shape, &compiled.vertices, pose, &states[body], &mut sums[body]);
            }
        }
        let dt = compiled.params.dt;
        let mut pushes = Vec::new();
        for (body, sum) in sums.into_iter().enumerate() {
            let (of, state) = (&compiled.bodies[body], &states[body]);
            let against = (self.velocity - Vec2::from(state.velocity)).length();
            let impulse = sum.force * (dt * share(sum.force.length() * dt * of.inv_mass, against));
            if impulse != Vec2::ZERO && impulse.is_finite() {
                pushes.push((body, Command::Impulse { impulse, point: None }));
            }
            let against = against + state.angular_velocity.abs() * of.extent;
            let spin = sum.torque * (dt * share(sum.torque.abs() * dt * of.inv_inertia * of.extent, against));
            if spin != 0.0 && spin.is_finite() && of.inv_inertia > 0.0 {
                pushes.push((body, Command::AngularImpulse(spin)));
            }
        }
        pushes
    }

    /// Adds the force on a shape.
    fn press(&self, shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose, state: &BodyState, to: &mut WindForce) {
        let hull = Hull::new(shape, vertices);
        let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
        let center = rotate(pose.rotation.into(), shape.offset.into());
        let arm = |point: Vec2| center + rotate(turn, point);
        let points = &hull.points[..hull.count];
        #[allow(clippy::cast_precision_loss, reason = "at most 8")]
        let middle = arm(points.iter().sum::<Vec2>() / hull.count as f32);
        if hull.radius > 0.0 {
            // The rounding is as wide from all sides.
            let (air, pressure) = self.air(state, middle);
            to.add(air * (pressure * self.drag * 2.0 * hull.radius), middle);
        }
        for (index, &point) in points.iter().enumerate() {
            let (from, end) = (arm(point), arm(points[hull.next(index)]));
            let edge = end - from;
            let normal = -edge.perp().normalize_or_zero();
            for along in GAUSS {
                let at = from + edge * along;
                let (air, pressure) = self.air(state, at);
                let width = 0.5 * cross(edge, air);
                // Edges run counter-clockwise: those with the wind on their right face it.
                if width > 0.0 {
                    let across = cross_scalar(cross(normal, air), air);
                    let force = (air * self.drag + across * self.lift) * (pressure * width);
                    to.add(force, at + normal * hull.radius);
                }
            }
        }
    }

    /// Returns the direction of the air relative to a point of a body, and its pressure, N/m.
    fn air(&self, state: &BodyState, arm: Vec2) -> (Vec2, f32) {
        let velocity = Vec2::from(state.velocity) + cross_scalar(state.angular_velocity, arm);
        let air = self.velocity - velocity;
        (air.normalize_or_zero(), 0.5 * self.density * air.length_squared())
    }
}

/// Returns the share of a gain of speed that a body takes: in a storm a light one takes on the speed of the air within
/// a step, and no more.
fn share(gained: f32, against: f32) -> f32 {
    if gained > against { against / gained } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(Wind::default().check().is_ok());
        for (wrong, what) in [
            (Wind { velocity: Vec2::new(0.0, f32::NAN), ..Wind::default() }, "the velocity of the wind"),
            (Wind { density: -1.0, ..Wind::default() }, "the density of the air"),
            (Wind { drag: -0.1, ..Wind::default() }, "the drag"),
            (Wind { lift: f32::INFINITY, ..Wind::default() }, "the lift"),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }
}
