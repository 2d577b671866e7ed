//! Reads bodies of a running world: [`BodyView`] and [`BodyTransform`]. Positions are those of the origin of the body's
//! frame, as in a scene and in [`Command::Teleport`], not of the centre of mass.

use glam::{DVec2, Vec2};

use crate::command::Command;
use crate::math::{cross_scalar, inv_rotate, rotate};
use crate::population::{BodyId, Population, living};
use crate::scene::{BodyType, Compiled, MassProperties};
use crate::types::{ASLEEP, BodyState, Pose, QUARANTINED, split_position};

/// A copy of a body's state between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyView {
    id: BodyId,
    kind: BodyType,
    pose: Pose,
    state: BodyState,
    mass: MassProperties,
    user_data: u64,
}

impl BodyView {
    /// Returns the view of a body that exists.
    pub(crate) fn new(compiled: &Compiled, id: BodyId, pose: Pose, state: BodyState) -> Self {
        let slot = id.index as usize;
        let kind = BodyType::of_number(compiled.bodies[slot].kind);
        Self { id, kind, pose, state, mass: compiled.mass[slot], user_data: compiled.user_data(slot) }
    }

    /// Returns the id of the body.
    #[must_use]
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// Returns the type of the body.
    #[must_use]
    pub fn kind(&self) -> BodyType {
        self.kind
    }

    /// Returns the origin of the body's frame, m: the position that a scene and [`Command::Teleport`] set, rounded to
    /// 32 bits.
    #[must_use]
    pub fn position(&self) -> Vec2 {
        self.position_f64().as_vec2()
    }

    /// Returns the origin of the body's frame, m, as exactly as the world has it: within 1 µm at 10,000 km.
    #[must_use]
    pub fn position_f64(&self) -> DVec2 {
        self.pose.origin(self.mass.center)
    }

    /// Returns the angle of the body, rad, in (−π, π].
    #[must_use]
    pub fn angle(&self) -> f32 {
        angle(self.pose.rotation.into())
    }

    /// Returns the cosine and sine of the body's angle.
    #[must_use]
    pub fn rotation(&self) -> Vec2 {
        self.pose.rotation.into()
    }

    /// Returns the centre of mass in the world, m.
    #[must_use]
    pub fn center(&self) -> Vec2 {
        self.pose.position.into()
    }

    /// Returns the centre of mass in the body's frame, m.
    #[must_use]
    pub fn local_center(&self) -> Vec2 {
        self.mass.center
    }

    /// Returns the velocity of the centre of mass, m/s: the one that [`Command::Velocity`] sets.
    #[must_use]
    pub fn velocity(&self) -> Vec2 {
        self.state.velocity.into()
    }

    /// Returns the angular velocity, rad/s.
    #[must_use]
    pub fn angular_velocity(&self) -> f32 {
        self.state.angular_velocity
    }

    /// Returns the velocity of the body's material at a point of the world, m/s.
    #[must_use]
    pub fn velocity_at(&self, point: impl Into<Vec2>) -> Vec2 {
        self.velocity() + cross_scalar(self.angular_velocity(), point.into() - self.center())
    }

    /// Returns the mass, kg; 0 for static and kinematic bodies.
    #[must_use]
    pub fn mass(&self) -> f32 {
        self.mass.mass
    }

    /// Returns the moment of inertia about the centre of mass, kg·m²; 0 for bodies that no torque turns.
    #[must_use]
    pub fn inertia(&self) -> f32 {
        self.mass.inertia
    }

    /// Returns the number of the user's: that of the scene or of [`Property::UserData`](crate::Property::UserData); 0
    /// by default.
    #[must_use]
    pub fn user_data(&self) -> u64 {
        self.user_data
    }

    /// Returns true unless the body is dynamic and sleeps ([`Settings::sleep`](crate::Settings::sleep)).
    #[must_use]
    pub fn is_awake(&self) -> bool {
        self.kind != BodyType::Dynamic || self.state.status & ASLEEP == 0
    }

    /// Returns true if a value of the body became NaN or infinite and it was taken out of the simulation.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.state.status & QUARANTINED != 0
    }

    /// Returns the position in the world, m, of a point of the body's frame.
    #[must_use]
    pub fn to_world(&self, point: impl Into<Vec2>) -> Vec2 {
        self.center() + rotate(self.rotation(), point.into() - self.mass.center)
    }

    /// Returns the position in the body's frame, m, of a point of the world: for anchors of joints and points of
    /// forces.
    #[must_use]
    pub fn to_local(&self, point: impl Into<Vec2>) -> Vec2 {
        inv_rotate(self.rotation(), point.into() - self.center()) + self.mass.center
    }

    /// Returns the present pose if a command puts the body exactly there.
    pub(crate) fn stays_by(&self, command: Command) -> Option<Pose> {
        match command {
            Command::Teleport { position, angle } => {
                let is_here = position == self.position_f64() || position == self.position().as_dvec2();
                (is_here && angle == self.angle()).then_some(self.pose)
            }
            _ => None,
        }
    }
}

/// Position and rotation of a body's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyTransform {
    /// Id of the body.
    pub id: BodyId,
    /// Position of the origin, m.
    pub position: Vec2,
    /// Vector from there to the origin, m: what a 32-bit position far from (0, 0) rounds away.
    pub position_low: Vec2,
    /// Cosine and sine of the angle.
    pub rotation: Vec2,
}

impl BodyTransform {
    pub(crate) fn new(id: BodyId, pose: Pose, center: Vec2) -> Self {
        let [position, position_low] = split_position(pose.origin(center));
        Self { id, position, position_low, rotation: pose.rotation.into() }
    }

    /// Returns the angle, rad, in (−π, π].
    #[must_use]
    pub fn angle(&self) -> f32 {
        angle(self.rotation)
    }

    /// Returns the position in the world, m, of a point of the body's frame.
    #[must_use]
    pub fn to_world(&self, point: impl Into<Vec2>) -> Vec2 {
        self.position + rotate(self.rotation, point.into())
    }
}

fn angle(rotation: Vec2) -> f32 {
    rotation.y.atan2(rotation.x)
}

/// Writes the transform of every body, by slot.
pub(crate) fn transforms_of(
    compiled: &Compiled,
    population: Option<&Population>,
    poses: &[Pose],
    out: &mut Vec<BodyTransform>,
) {
    out.clear();
    let place = |id: BodyId| {
        let slot = id.index as usize;
        BodyTransform::new(id, poses[slot], compiled.mass[slot].center)
    };
    out.extend(living(compiled, population).map(place));
}
