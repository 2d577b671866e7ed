//! Rows of a body: its constant properties, its pose, its velocities and status bits, and its impulse sums.

use bytemuck::{Pod, Zeroable};
use glam::{DVec2, Vec2};

use super::NONE;

/// [`BodyData::kind`]: the body never moves.
pub const STATIC: u32 = 0;
/// [`BodyData::kind`]: the body moves by its velocity alone.
pub const KINEMATIC: u32 = 1;
/// [`BodyData::kind`]: the body moves by forces and impulses.
pub const DYNAMIC: u32 = 2;
/// [`BodyData::kind`]: a vacant slot.
pub const VACANT: u32 = 3;
/// [`BodyState::status`]: the body held a NaN or an infinity and was taken out of the simulation.
pub const QUARANTINED: u32 = 1;
/// [`BodyState::status`]: the body does not move and needs no contact with others that do not: a dynamic body that
/// sleeps, or a static body or a kinematic one at rest. Only with [`SLEEP`](super::SLEEP).
pub const ASLEEP: u32 = 2;
/// [`BodyState::status`]: woken since the last `wake`, by a command or by its own velocity.
pub const WOKEN: u32 = 4;
/// [`BodyState::status`]: quiet for long enough to fall asleep. Only while `sleep` runs.
pub const READY: u32 = 8;
/// [`BodyState::status`]: first bit of the code of the body's mass factor (`src/mass_scale.rs`).
pub const MASS_SHIFT: u32 = 5;
/// [`BodyState::status`]: mask of the code of the mass factor.
pub const MASS_MASK: u32 = 0xffe0;
/// [`BodyState::status`]: first bit of the number of steps for which the body has been quiet, at most 65,535.
pub const QUIET_SHIFT: u32 = 16;
/// [`BodyState::status`]: mask of the number of quiet steps.
pub const QUIET_MASK: u32 = 0xffff_0000;
/// Flag of an island, at its root: the island wakes.
pub const ISLAND_WAKE: u32 = 1;
/// Flag of an island, at its root: a body that touches it is awake, so it cannot fall asleep.
pub const ISLAND_BLOCKED: u32 = 2;

/// Properties of a body that stay while it moves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BodyData {
    /// Inverse mass, 1/kg; 0 for static and kinematic bodies.
    pub inv_mass: f32,
    /// Inverse moment of inertia about the centre of mass, 1/(kg·m²); 0 for static and kinematic bodies and for fixed
    /// rotation.
    pub inv_inertia: f32,
    /// Damping of the velocity, 1/s.
    pub linear_damping: f32,
    /// Damping of the angular velocity, 1/s.
    pub angular_damping: f32,
    /// Constant force in world axes, N.
    pub force: [f32; 2],
    /// Point on the body at which the force acts, relative to its centre of mass, m.
    pub force_point: [f32; 2],
    /// Constant torque, N·m.
    pub torque: f32,
    /// Factor on gravity.
    pub gravity_scale: f32,
    /// Distance from the centre of mass to the farthest point of its shapes, m. Sensors and half planes do not count.
    pub extent: f32,
    /// Distance from the centre of mass to the nearest surface, or the thinnest shape's half width, m. Sensors and half
    /// planes do not count.
    pub min_extent: f32,
    /// [`STATIC`], [`KINEMATIC`], [`DYNAMIC`] or [`VACANT`].
    pub kind: u32,
    /// 1 if the body may fall asleep, else 0.
    pub can_sleep: u32,
    /// Number that the colour follows in pictures, plus 1; 0 for the index of the body. The solver does not read it.
    pub color: u32,
    /// Speed below which the body is quiet, m/s; 0 for [`Params::sleep_speed`](super::Params::sleep_speed).
    pub sleep_speed: f32,
}

impl BodyData {
    /// Returns true for a disc about its centre of mass: its surface is everywhere as far away, at any angle.
    #[inline]
    #[must_use]
    pub fn is_disc(&self) -> bool {
        self.extent == self.min_extent
    }
}

/// Continuous collision data of a shape, beside its [`ShapeData`](super::ShapeData). The row of a body's first shape
/// holds those of the body.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CcdBody {
    /// Copy of [`BodyData::extent`], m; 0 where this is not the first shape of its body.
    pub extent: f32,
    /// Copy of [`BodyData::min_extent`], m; `f32::MAX` where the body is not dynamic, or this not its first shape.
    pub min_extent: f32,
    /// Index of the next shape of the body, or [`NONE`](super::NONE).
    pub next: u32,
    /// In row 0, the largest motion of a kinematic body in this step, m, as the bits of a float.
    pub reach: u32,
    /// Motion after which the body stops, as [`BodyState::delta_position`], m.
    pub stop_position: [f32; 2],
    /// Rotation at which the body stops, as [`BodyState::delta_rotation`]; zero if the body does not stop.
    pub stop_rotation: [f32; 2],
}

impl Default for CcdBody {
    fn default() -> Self {
        Self {
            extent: 0.0,
            min_extent: f32::MAX,
            next: NONE,
            reach: 0,
            stop_position: [0.0; 2],
            stop_rotation: [0.0; 2],
        }
    }
}

/// Returns a position, m, as a sum of two 32-bit vectors: the rounded one, and the rest.
#[must_use]
pub fn split_position(position: DVec2) -> [Vec2; 2] {
    let near = position.as_vec2();
    [near, (position - near.as_dvec2()).as_vec2()]
}

/// Returns the position, m, whose parts these are ([`split_position`]).
#[must_use]
pub fn join_position([near, low]: [Vec2; 2]) -> DVec2 {
    near.as_dvec2() + low.as_dvec2()
}

/// Position and rotation of a body.
///
/// The position is a sum of two floats a coordinate, about 48 bits: slow bodies move however far from (0, 0) they are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Pose {
    /// Centre of mass, rounded, m.
    pub position: [f32; 2],
    /// Cosine and sine of the angle.
    pub rotation: [f32; 2],
    /// Vector from the rounded centre of mass to the centre of mass, m.
    pub low: [f32; 2],
    /// Zero.
    pub pad: [f32; 2],
}

impl Default for Pose {
    fn default() -> Self {
        Self { position: [0.0; 2], rotation: [1.0, 0.0], low: [0.0; 2], pad: [0.0; 2] }
    }
}

impl Pose {
    /// Returns the pose with its centre of mass at this position, m, and this cosine and sine of the angle.
    #[must_use]
    pub fn new(position: DVec2, rotation: Vec2) -> Self {
        let [near, low] = split_position(position);
        Self { position: near.into(), rotation: rotation.into(), low: low.into(), pad: [0.0; 2] }
    }

    /// Returns the bytes by which a world knows a pose: those that poses had before they had a low part, if it is zero.
    pub(crate) fn known_bytes(&self) -> &[u8] {
        let bytes = bytemuck::bytes_of(self);
        if self.low == [0.0; 2] { &bytes[..16] } else { bytes }
    }

    /// Returns the centre of mass, m.
    #[must_use]
    pub fn center(&self) -> DVec2 {
        join_position([self.position, self.low].map(Vec2::from))
    }

    /// Returns the origin of the body's frame, m, in which its centre of mass is at `center`.
    #[must_use]
    pub fn origin(&self, center: Vec2) -> DVec2 {
        self.center() - Vec2::from(self.rotation).rotate(center).as_dvec2()
    }

    /// Returns the vector from the centre of mass of this body to that of the other, m.
    #[inline(always)]
    #[must_use]
    pub fn vector_to(&self, other: &Self) -> Vec2 {
        (Vec2::from(other.position) - Vec2::from(self.position)) + (Vec2::from(other.low) - Vec2::from(self.low))
    }

    /// Returns the vector from a point of the world to the centre of mass, m.
    #[inline(always)]
    #[must_use]
    pub fn vector_from(&self, point: Vec2) -> Vec2 {
        (Vec2::from(self.position) - point) + Vec2::from(self.low)
    }

    /// Moves the centre of mass, m.
    #[inline(always)]
    pub fn move_by(&mut self, moved: Vec2) {
        let (start, moved) = (Vec2::from(self.position), moved + Vec2::from(self.low));
        let end = start + moved;
        (self.position, self.low) = (end.into(), (moved - (end - start)).into());
    }
}

/// Velocities of a body, and its motion since the step began.
///
/// The deltas are kept apart from the [`Pose`] so that small motions far from the origin are not rounded away.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct BodyState {
    /// Velocity of the centre of mass, m/s.
    pub velocity: [f32; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
    /// Status bits: [`QUARANTINED`], [`ASLEEP`], …; from bit [`QUIET_SHIFT`] on the number of quiet steps.
    pub status: u32,
    /// Motion of the centre of mass since the step began, m.
    pub delta_position: [f32; 2],
    /// Turn since the step began, as cosine and sine.
    pub delta_rotation: [f32; 2],
}

impl Default for BodyState {
    fn default() -> Self {
        Self {
            velocity: [0.0; 2],
            angular_velocity: 0.0,
            status: 0,
            delta_position: [0.0; 2],
            delta_rotation: [1.0, 0.0],
        }
    }
}

/// Motion of a body that the search for contacts expects in a step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BodyMotion {
    /// Motion of the centre of mass at the velocity of the step's start, m.
    pub moved: [f32; 2],
    /// Turn at the angular velocity of the step's start, rad.
    pub turned: f32,
    /// Distance of the farthest point from the centre of mass, m; 0 for a static body; negative if the body is too fast
    /// for its manifolds to be kept ([`FAST`](crate::constants::FAST), [`SWEPT`](crate::constants::SWEPT)).
    pub extent: f32,
}

/// Change of a body's velocity by the impulses of its contacts and joints; added at the start of the next substep.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Accumulator {
    /// Change of the velocity, m/s.
    pub velocity: [f32; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
    /// Largest mass that the load of one contact asks for, kg (`src/mass_scale.rs`); negative
    /// ([`UNTOUCHED`](crate::constants::UNTOUCHED)) without a contact.
    pub asked_mass: f32,
}
