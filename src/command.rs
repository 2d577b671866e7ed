//! Commands between two steps: impulses, forces, velocities and positions of bodies; motors, limits and targets of
//! joints.
//!
//! Commands act at the start of the next step, in the order in which they were given.
//! [`World::command`](crate::World::command) neither waits for the GPU nor reads anything back. Points are in the
//! body's frame and positions are those of its origin, as in a [`Scene`](crate::Scene); forces and impulses are in
//! world axes.

mod builders;
mod joint;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use glam::{DVec2, Vec2};

pub use joint::JointCommand;

use crate::constants::MAX_LENGTH;
use crate::math::{is_finite, rotate, rotation};
use crate::population::{BodyId, JointId, Population, PopulationChange};
use crate::scene::{Compiled, MAX_ANGLE, MAX_POSITION, MAX_VALUE, SceneError};
use crate::types::{self, DYNAMIC, JOINT_VACANT, KINEMATIC, Pose, VACANT};

/// A command to a body.
///
/// ```
/// use drystone::{Body, Command, Scene, Shape, World};
///
/// let mut scene = Scene::new("push").gravity(0.0, 0.0);
/// let ball = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// world.command(ball, Command::impulse([1.0, 0.0]))?;
/// world.step()?;
/// assert!(world.body(ball)?.velocity().x > 1.0);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// An impulse. Dynamic bodies.
    Impulse {
        /// Impulse in world axes, N·s.
        impulse: Vec2,
        /// Point of the body at which it acts, in the body's frame, m. `None`: the centre of mass.
        point: Option<Vec2>,
    },
    /// An angular impulse, N·m·s. Dynamic bodies.
    AngularImpulse(f32),
    /// Sets the body's constant force, which acts in every step until it is changed. Dynamic bodies.
    Force {
        /// Force in world axes, N.
        force: Vec2,
        /// Point of the body at which it acts, in the body's frame, m; it moves along with the body. `None`: the centre
        /// of mass.
        point: Option<Vec2>,
    },
    /// Sets the body's constant torque, N·m. Dynamic bodies.
    Torque(f32),
    /// Sets the velocity of the centre of mass, m/s. Dynamic and kinematic bodies.
    Velocity(Vec2),
    /// Sets the angular velocity, rad/s. Dynamic and kinematic bodies.
    AngularVelocity(f32),
    /// Puts the body at another position at once; it keeps its velocity. Bodies that it now overlaps are pushed apart
    /// softly. The position and angle that [`World::body`](crate::World::body) returns move nothing: on the CPU not by
    /// a bit, on the GPU up to rounding. Where bodies sleep, teleporting a static or kinematic body wakes those
    /// that touched it and those that it meets.
    Teleport {
        /// Position of the body's origin, m.
        position: DVec2,
        /// Angle, rad, up to 100,000 either way.
        angle: f32,
    },
    /// Sets the velocity that brings the body to a position and angle in one step; bodies in its way are pushed. It
    /// keeps that velocity until another command, so give a target each step. Kinematic bodies.
    Target {
        /// Position of the body's origin, m.
        position: DVec2,
        /// Angle, rad, up to 100,000 either way; the body turns the shorter way.
        angle: f32,
    },
    /// Wakes the body, and with it its island, where bodies sleep ([`Settings::sleep`](crate::Settings::sleep)); every
    /// other command to a dynamic body does so too. A static or kinematic body wakes what touches it.
    Wake,
}

/// Error of a refused command. Nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// There is no such body.
    #[error("there is no body {body}; the world has {count} slots")]
    NoBody {
        /// Index given.
        body: usize,
        /// Slots of bodies in the world.
        count: usize,
    },
    /// The body was removed; another one may have its slot.
    #[error("there is no body {0}: it was removed or not added yet")]
    Gone(BodyId),
    /// A value is NaN or larger than [`MAX_VALUE`], a position further away than [`MAX_POSITION`], or an angle larger
    /// than [`MAX_ANGLE`].
    #[error("{what} is {value}; expected a number {limit}")]
    Value {
        /// Name of the value.
        what: &'static str,
        /// Value given.
        value: f32,
        /// Range that is allowed.
        limit: &'static str,
    },
    /// The body does not move in this way.
    #[error("body {body} is {found}; expected {expected}")]
    Kind {
        /// Index of the body.
        body: usize,
        /// Type of the body.
        found: &'static str,
        /// Type that the command needs.
        expected: &'static str,
    },
    /// There is no such joint, or no longer.
    #[error("there is no joint {0}")]
    NoJoint(JointId),
    /// A joint of this type does not take the command.
    #[error("joint {joint} is of type {found}; expected {expected}")]
    JointKind {
        /// Id of the joint.
        joint: JointId,
        /// Its type, as in a scene file.
        found: &'static str,
        /// Type that the command needs.
        expected: &'static str,
    },
    /// A value for a joint is out of range.
    #[error(transparent)]
    Joint(#[from] SceneError),
}

impl Command {
    /// Checks the command against the world and appends its record for the next step. Returns the record.
    pub(crate) fn push(
        self,
        compiled: &Compiled,
        body: usize,
        commands: &mut Vec<types::CommandData>,
    ) -> Result<types::CommandData, CommandError> {
        let flat = self.flatten(compiled, body)?;
        commands.push(flat);
        Ok(flat)
    }

    /// Returns the record of the command for a step, checked against the world.
    fn flatten(self, compiled: &Compiled, body: usize) -> Result<types::CommandData, CommandError> {
        let count = compiled.bodies.len();
        let Some(target) = compiled.bodies.get(body).filter(|body| body.kind != VACANT) else {
            return Err(CommandError::NoBody { body, count });
        };
        self.check_kind(target.kind, body)?;
        self.check_values()?;
        let center = compiled.mass[body].center;
        let point = |point: Option<Vec2>| point.unwrap_or(center) - center;
        #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
        let body = body as u32;
        let place = |kind, position: DVec2, angle: f32| {
            let turn = rotation(angle);
            types::CommandData::place(kind, body, &Pose::new(position + rotate(turn, center).as_dvec2(), turn))
        };
        let (kind, (value, other)) = match self {
            Self::Impulse { impulse, point: at } => (types::COMMAND_IMPULSE, (impulse, point(at))),
            Self::AngularImpulse(impulse) => (types::COMMAND_ANGULAR_IMPULSE, (Vec2::new(impulse, 0.0), Vec2::ZERO)),
            Self::Force { force, point: at } => (types::COMMAND_FORCE, (force, point(at))),
            Self::Torque(torque) => (types::COMMAND_TORQUE, (Vec2::new(torque, 0.0), Vec2::ZERO)),
            Self::Velocity(velocity) => (types::COMMAND_VELOCITY, (velocity, Vec2::ZERO)),
            Self::AngularVelocity(speed) => (types::COMMAND_ANGULAR_VELOCITY, (Vec2::new(speed, 0.0), Vec2::ZERO)),
            Self::Teleport { position, angle } => return Ok(place(types::COMMAND_TELEPORT, position, angle)),
            Self::Target { position, angle } => return Ok(place(types::COMMAND_TARGET, position, angle)),
            Self::Wake => (types::COMMAND_WAKE, (Vec2::ZERO, Vec2::ZERO)),
        };
        Ok(types::CommandData { kind, body, value: value.into(), other: other.into(), ..types::CommandData::default() })
    }

    fn check_kind(self, kind: u32, body: usize) -> Result<(), CommandError> {
        let (fits, expected) = match self {
            Self::Impulse { .. } | Self::AngularImpulse(_) | Self::Force { .. } | Self::Torque(_) => {
                (kind == DYNAMIC, "dynamic")
            }
            Self::Velocity(_) | Self::AngularVelocity(_) => {
                (kind == DYNAMIC || kind == KINEMATIC, "dynamic or kinematic")
            }
            Self::Target { .. } => (kind == KINEMATIC, "kinematic"),
            Self::Teleport { .. } | Self::Wake => (true, "any"),
        };
        let found = match kind {
            DYNAMIC => "dynamic",
            KINEMATIC => "kinematic",
            _ => "static",
        };
        if fits { Ok(()) } else { Err(CommandError::Kind { body, found, expected }) }
    }

    fn check_values(self) -> Result<(), CommandError> {
        let within = |most: f32, limit, what, value: f32| {
            if value.abs() <= most { Ok(()) } else { Err(CommandError::Value { what, value, limit }) }
        };
        let number = |what, value| within(MAX_VALUE, "of at most 1e15 in size", what, value);
        let pair = |what, value: Vec2| number(what, value.x).and_then(|()| number(what, value.y));
        let near = |what, value: Vec2| {
            let place = |value| within(MAX_LENGTH, "within 100 km of the body's origin", what, value);
            place(value.x).and_then(|()| place(value.y))
        };
        match self {
            Self::Impulse { impulse, point } => {
                pair("the impulse", impulse)?;
                near("the point", point.unwrap_or_default())
            }
            Self::AngularImpulse(impulse) => number("the angular impulse", impulse),
            Self::Force { force, point } => {
                pair("the force", force)?;
                near("the point", point.unwrap_or_default())
            }
            Self::Torque(torque) => number("the torque", torque),
            Self::Velocity(velocity) => pair("the velocity", velocity),
            Self::AngularVelocity(speed) => number("the angular velocity", speed),
            Self::Wake => Ok(()),
            Self::Teleport { position, angle } | Self::Target { position, angle } => {
                for value in position.as_vec2().to_array() {
                    within(MAX_POSITION, "within 10,000 km of (0, 0)", "the position", value)?;
                }
                // The sine of a larger angle is noise, and in the end NaN.
                within(MAX_ANGLE, "within 100,000 rad of 0", "the angle", angle)
            }
        }
    }
}

impl CommandError {
    /// Checks values, each with its name, its range and the words for that.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub(crate) fn check_values<const N: usize>(
        values: [(&'static str, f32, RangeInclusive<f32>, &'static str); N],
    ) -> Result<(), Self> {
        let wrong = values.into_iter().find(|(_, value, range, _)| !is_finite(*value) || !range.contains(value));
        wrong.map_or(Ok(()), |(what, value, _, limit)| Err(Self::Value { what, value, limit }))
    }
}

/// Returns the slot of a body.
///
/// # Errors
/// The body does not exist or was removed.
pub(crate) fn slot_of(compiled: &Compiled, population: Option<&Population>, id: BodyId) -> Result<usize, CommandError> {
    let slot = id.index as usize;
    let Some(body) = compiled.bodies.get(slot) else {
        return Err(CommandError::NoBody { body: slot, count: compiled.bodies.len() });
    };
    let generation = population.map_or(0, |population| population.generation(slot));
    if body.kind == VACANT || generation != id.generation { Err(CommandError::Gone(id)) } else { Ok(slot) }
}

/// Wakes every body, where bodies sleep.
pub(crate) fn wake_all(compiled: &Compiled, commands: &mut Vec<types::CommandData>) {
    // Every command names a body, and a world without bodies has none to name.
    if compiled.settings.sleep && !compiled.bodies.is_empty() {
        commands.push(types::CommandData { kind: types::COMMAND_WAKE_ALL, ..types::CommandData::default() });
    }
}

/// Wakes bodies, where bodies sleep.
pub(crate) fn wake_bodies(
    compiled: &Compiled,
    bodies: impl IntoIterator<Item = u32>,
    commands: &mut Vec<types::CommandData>,
) {
    wake_with(compiled, bodies, 0, commands);
}

/// Wakes bodies, where bodies sleep, by commands with this row.
fn wake_with(
    compiled: &Compiled,
    bodies: impl IntoIterator<Item = u32>,
    row: u32,
    commands: &mut Vec<types::CommandData>,
) {
    if compiled.settings.sleep {
        let wake = |body| types::CommandData { kind: types::COMMAND_WAKE, body, row, ..types::CommandData::default() };
        commands.extend(bodies.into_iter().map(wake));
    }
}

/// Wakes the islands of removed bodies, what touched fixed ones, and the bodies of joints that were added or removed.
pub(crate) fn wake_affected(compiled: &Compiled, change: &PopulationChange, commands: &mut Vec<types::CommandData>) {
    let row = if change.fixed { types::WAKE_TOUCHED } else { 0 };
    wake_with(compiled, change.bodies.iter().chain(&change.woken).copied(), row, commands);
}

/// Sorts commands by body and then by joint; those of one body or joint stay in the order in which they were given.
pub(crate) fn by_body(commands: &mut [types::CommandData]) {
    // A stable sort would allocate. The order is kept in the field that later holds the world's index.
    for (order, command) in (0..).zip(&mut *commands) {
        command.world = order;
    }
    commands.sort_unstable_by_key(|command| (command.is_for_joint(), command.body, command.world));
    for command in commands {
        command.world = 0;
    }
}

/// Drops pending commands for a body whose description was replaced.
pub(crate) fn drop_commands_to(commands: &mut Vec<types::CommandData>, body: u32) {
    let wakes = |kind: u32| kind == types::COMMAND_WAKE || kind == types::COMMAND_WAKE_ALL;
    commands.retain(|command| command.is_for_joint() || command.body != body || wakes(command.kind));
}

/// Drops pending commands for joints, by slot, whose rows were replaced.
pub(crate) fn drop_commands_to_joints(commands: &mut Vec<types::CommandData>, places: &BTreeSet<u32>) {
    commands.retain(|command| !command.is_for_joint() || !places.contains(&command.body));
}

/// Drops pending commands for removed bodies and joints, except wake commands: what slept with them still wakes.
pub(crate) fn forget(commands: &mut Vec<types::CommandData>, compiled: &Compiled) {
    commands.retain(|command| {
        let place = command.body as usize;
        if command.kind == types::COMMAND_WAKE || command.kind == types::COMMAND_WAKE_ALL {
            true
        } else if command.is_for_joint() {
            compiled.joints.joints[place].flags & JOINT_VACANT == 0
        } else {
            compiled.bodies[place].kind != VACANT
        }
    });
}
