//! Properties of bodies and shapes that change while a world runs.

use std::fmt;

use super::check::shape::ROLLING;
use super::check::{DAMPING, FINITE, FRICTION, INERTIA, MASS, RESTITUTION, SLEEP_SPEED, SceneError, VELOCITY};
use super::{BodyType, Filter};

/// A property of a body that changes while a world runs ([`World::set`](crate::World::set)). Position, angle and
/// velocity are set by a [`Command`](crate::Command), a motor or a target of a joint by a
/// [`JointCommand`](crate::JointCommand).
///
/// ```
/// use drystone::{Body, Property, Scene, Shape, ShapeProperty, World};
///
/// let mut scene = Scene::new("balloon");
/// let ball = scene.add(Body::dynamic(0.0, 1.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// world.set(ball, Property::GravityScale(-0.1))?;
/// world.set(ball, Property::Shape(0, ShapeProperty::Restitution(0.8)))?;
/// world.step()?;
/// assert!(world.body(ball)?.velocity().y > 0.0);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Property {
    /// Type. The body keeps its pose, its contacts and its joints, at which another dynamic body must be. It becomes
    /// static with its velocity lost, and kinematic or dynamic with the velocity that it has. Its centre of mass stays
    /// where it is; a body that was made kinematic has it at its origin, and becomes dynamic only if that of its shapes
    /// is there too. A path ends.
    Kind(BodyType),
    /// Mass while the body is dynamic, kg, above 0. The moment of inertia is scaled with it.
    Mass(f32),
    /// Moment of inertia about the centre of mass while the body is dynamic and turns, kg·m², above 0.
    Inertia(f32),
    /// True if the body never turns while it is dynamic; its angular velocity is lost.
    FixedRotation(bool),
    /// True for a bullet ([`Body::bullet`](crate::Body::bullet)) while the body is dynamic.
    Bullet(bool),
    /// True if the body may fall asleep, where bodies do.
    CanSleep(bool),
    /// Speed below which the body counts as at rest, m/s, above 0 ([`Body::sleep_speed`](crate::Body::sleep_speed)).
    SleepSpeed(f32),
    /// Factor on gravity.
    GravityScale(f32),
    /// Damping of the velocity, 1/s, at least 0.
    LinearDamping(f32),
    /// Damping of the angular velocity, 1/s, at least 0.
    AngularDamping(f32),
    /// Number of the user's ([`Body::user_data`](crate::Body::user_data)). Wakes nothing.
    UserData(u64),
    /// A property of one of the body's shapes, by its number in [`Body::shapes`](crate::Body::shapes), where half
    /// planes are counted first.
    Shape(usize, ShapeProperty),
    /// A property of all shapes of the body.
    Shapes(ShapeProperty),
}

/// A property of a shape that changes while a world runs ([`Property::Shape`]). Contacts have it from the next step on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShapeProperty {
    /// Coefficient of friction, at least 0. Only at rest, if the one while sliding differs; then at least that.
    Friction(f32),
    /// Coefficient of friction while sliding, from 0 to the one at rest.
    KineticFriction(f32),
    /// Restitution, 0 – 1.
    Restitution(f32),
    /// Speed of the surface along itself, m/s ([`Material::tangent_speed`](crate::Material::tangent_speed)).
    TangentSpeed(f32),
    /// Rolling resistance, at least 0 ([`Material::rolling_resistance`](crate::Material::rolling_resistance)).
    RollingResistance(f32),
    /// Filter: the shapes with which it collides. Contacts that it ends are gone in the next step.
    Filter(Filter),
}

impl Property {
    /// Returns the name of the property, as in a scene file.
    pub(crate) fn name(&self) -> PropertyName {
        match self {
            Self::Kind(_) => PropertyName(None, "type"),
            Self::Mass(_) => PropertyName(None, "mass"),
            Self::Inertia(_) => PropertyName(None, "inertia"),
            Self::FixedRotation(_) => PropertyName(None, "fixed_rotation"),
            Self::Bullet(_) => PropertyName(None, "bullet"),
            Self::CanSleep(_) => PropertyName(None, "can_sleep"),
            Self::SleepSpeed(_) => PropertyName(None, "sleep_speed"),
            Self::GravityScale(_) => PropertyName(None, "gravity_scale"),
            Self::LinearDamping(_) => PropertyName(None, "linear_damping"),
            Self::AngularDamping(_) => PropertyName(None, "angular_damping"),
            Self::UserData(_) => PropertyName(None, "user_data"),
            Self::Shape(number, property) => PropertyName(Some(*number), property.name()),
            Self::Shapes(property) => PropertyName(None, property.name()),
        }
    }

    /// Returns true if a world may need other stages or larger tables for it.
    pub(crate) fn may_need_room(&self, has_joints: bool) -> bool {
        match self {
            Self::Kind(_) | Self::Mass(_) => has_joints,
            Self::Shape(_, property) | Self::Shapes(property) => {
                !matches!(property, ShapeProperty::Friction(_) | ShapeProperty::Filter(_))
            }
            _ => false,
        }
    }

    /// Checks the value by itself.
    ///
    /// # Errors
    /// It is out of range.
    pub(crate) fn check(&self) -> Result<(), SceneError> {
        let name = self.name();
        match *self {
            Self::Kind(_) | Self::FixedRotation(_) | Self::Bullet(_) | Self::CanSleep(_) | Self::UserData(_) => Ok(()),
            Self::Mass(mass) => MASS.check(mass, format_args!("{name}")),
            Self::Inertia(inertia) => INERTIA.check(inertia, format_args!("{name}")),
            Self::SleepSpeed(speed) => SLEEP_SPEED.check(speed, format_args!("{name}")),
            Self::GravityScale(scale) => FINITE.check(scale, format_args!("{name}")),
            Self::LinearDamping(rate) | Self::AngularDamping(rate) => DAMPING.check(rate, format_args!("{name}")),
            Self::Shape(_, property) | Self::Shapes(property) => property.check(&name),
        }
    }
}

impl ShapeProperty {
    fn name(&self) -> &'static str {
        match self {
            Self::Friction(_) => "friction",
            Self::KineticFriction(_) => "kinetic_friction",
            Self::Restitution(_) => "restitution",
            Self::TangentSpeed(_) => "tangent_speed",
            Self::RollingResistance(_) => "rolling_resistance",
            Self::Filter(_) => "filter",
        }
    }

    fn check(&self, name: &PropertyName) -> Result<(), SceneError> {
        match *self {
            Self::Friction(friction) | Self::KineticFriction(friction) => {
                FRICTION.check(friction, format_args!("{name}"))
            }
            Self::Restitution(restitution) => RESTITUTION.check(restitution, format_args!("{name}")),
            Self::TangentSpeed(speed) => VELOCITY.check(speed, format_args!("{name}")),
            Self::RollingResistance(resistance) => ROLLING.check(resistance, format_args!("{name}")),
            Self::Filter(_) => Ok(()),
        }
    }
}

/// Path of a property in messages: `mass`, or `shapes[1].friction`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PropertyName(Option<usize>, &'static str);

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(shape) = self.0 {
            write!(f, "shapes[{shape}].")?;
        }
        f.write_str(self.1)
    }
}
