//! Commands of clients to a world: their JSON form and the library commands they stand for.

use glam::Vec2;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};

use super::ids::{BodySelector, JointRef};
use super::lists::{PartList, Refs, compacted};
use drystone::{Command, Explosion, JointCommand, Wind};

/// Returns the schema of a list of bodies, defined beside the schema of scenes.
fn scene_bodies() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneBody")).into()
}

fn scene_body() -> RefOr<Schema> {
    Ref::from_schema_name("SceneBody").into()
}

fn scene_joints() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneJoint")).into()
}

/// Command to a world: an object whose only key is the command's name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CommandRecord {
    /// Applies an impulse to a dynamic body.
    Impulse {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Impulse, N·s.
        impulse: [f32; 2],
        /// Point of application, in the body's frame, m; default: the centre of mass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<[f32; 2]>,
    },
    /// Applies an angular impulse to a dynamic body.
    AngularImpulse {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Angular impulse, N·m·s.
        impulse: f32,
    },
    /// Sets the constant force on a dynamic body from now on.
    Force {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Force, N.
        force: [f32; 2],
        /// Point of application, in the body's frame, m, which moves with the body; default: the centre of mass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<[f32; 2]>,
    },
    /// Sets the constant torque on a dynamic body from now on.
    Torque {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Torque, N·m.
        torque: f32,
    },
    /// Sets the velocity of a dynamic or kinematic body.
    Velocity {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Velocity of its centre of mass, m/s.
        velocity: [f32; 2],
    },
    /// Sets the angular velocity of a dynamic or kinematic body.
    AngularVelocity {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Angular velocity, rad/s.
        angular_velocity: f32,
    },
    /// Moves a body to another pose immediately.
    Teleport {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Position of its origin, m.
        position: [f64; 2],
        /// Angle, rad.
        #[serde(default)]
        angle: f32,
    },
    /// Moves a kinematic body during the next step to a pose that it reaches at the end of the step.
    Target {
        /// Id, index or name of the body.
        body: BodySelector,
        /// Position of its origin, m.
        position: [f64; 2],
        /// Angle, rad.
        #[serde(default)]
        angle: f32,
    },
    /// Wakes a body and its island.
    Wake {
        /// Id, index or name of the body.
        body: BodySelector,
    },
    /// Wakes all bodies.
    WakeAll {},
    /// Sets gravity from the next step on and wakes all bodies. It stays until it is set again.
    Gravity {
        /// Gravity, m/s², each component from −1e15 to 1e15; default: that of the scene.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gravity: Option<[f32; 2]>,
    },
    /// Pushes bodies away from a point at the start of the next step: an impulse on each dynamic shape in reach. The
    /// answer has the number of impulses. At most 16 explosions and winds in a request.
    Explode {
        /// Centre, m.
        position: [f32; 2],
        /// Distance up to which shapes get the full impulse, m, from 0 to 100 km.
        #[serde(default = "default_radius")]
        radius: f32,
        /// Distance beyond the radius over which the impulse falls linearly to zero, m, from 0 to 100 km.
        #[serde(default = "default_falloff")]
        falloff: f32,
        /// Impulse for a metre of width that a shape turns towards the centre, N·s/m. Negative values pull.
        #[serde(default = "default_strength")]
        impulse_per_length: f32,
        /// Categories of shapes that are pushed, as bits; default: all.
        #[serde(default = "default_mask")]
        mask: u32,
    },
    /// Lets a wind press on dynamic bodies in the next step: drag and lift on each edge of their shapes. For more steps
    /// it is given before each. The answer has the number of impulses.
    Wind {
        /// Velocity of the air, m/s.
        velocity: [f32; 2],
        /// Density of the air, kg/m² of the plane, at least 0.
        #[serde(default = "default_density")]
        density: f32,
        /// Coefficient of drag, at least 0: 1 stops the air in front of a shape.
        #[serde(default = "default_wind_coefficient")]
        drag: f32,
        /// Coefficient of lift.
        #[serde(default = "default_wind_coefficient")]
        lift: f32,
        /// Categories of shapes that feel it, as bits; default: all.
        #[serde(default = "default_mask")]
        mask: u32,
        /// True if it wakes bodies that sleep; otherwise they feel none.
        #[serde(default)]
        wake: bool,
    },
    /// Adds bodies, written as in a scene file, and joints among them.
    Spawn {
        /// Bodies, written as in a scene.
        #[schema(schema_with = scene_bodies)]
        bodies: PartList,
        /// Joints, written as in a scene; `a` and `b` are among these bodies, by index or id.
        #[serde(default, skip_serializing_if = "PartList::is_empty")]
        #[schema(schema_with = scene_joints)]
        joints: PartList,
    },
    /// Removes bodies, and their joints with them.
    Remove {
        /// Ids, indices or names of the bodies.
        #[schema(value_type = Vec<BodySelector>)]
        bodies: Refs<BodySelector>,
    },
    /// Replaces the description of a body: position, velocity, shapes, material, mass, type or name. The body keeps its
    /// id; its joints are removed.
    Replace {
        /// Id, index or name of the body.
        body: BodySelector,
        /// New description, written as in a scene.
        #[serde(deserialize_with = "compacted")]
        #[schema(schema_with = scene_body)]
        with: Box<RawValue>,
    },
    /// Replaces the shapes of a body: adds some, removes some, or changes their outline, density or material. The body
    /// keeps its pose, velocity and joints. Mass, centre of mass and moment of inertia follow from the shapes, except
    /// those that were given for the body.
    SetShapes {
        /// Id, index or name of the body.
        body: BodySelector,
        /// All shapes of the body from now on, written as in a scene.
        #[schema(value_type = Vec<Object>)]
        shapes: PartList,
    },
    /// Sets properties of bodies, all or none. The bodies keep their poses, contacts and joints.
    Set {
        /// Ids, indices or names of the bodies.
        #[schema(value_type = Vec<BodySelector>)]
        bodies: Refs<BodySelector>,
        /// Properties by the names of a scene file: `type`, `mass`, `inertia`, `fixed_rotation`, `bullet`, `can_sleep`,
        /// `sleep_speed`, `gravity_scale`, `linear_damping`, `angular_damping`, `user_data`; and of all their shapes,
        /// or with `shape` of the one with this number, `friction`, `kinetic_friction`, `restitution`,
        /// `tangent_speed`, `rolling_resistance`, `filter`.
        #[serde(deserialize_with = "compacted")]
        #[schema(value_type = Object)]
        properties: Box<RawValue>,
    },
    /// Adds a joint, written as in a scene file without its bodies.
    Join {
        /// First body; default: the world.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a: Option<BodySelector>,
        /// Second body.
        b: BodySelector,
        /// Joint, written as in a scene without `a` and `b`.
        #[serde(deserialize_with = "compacted")]
        #[schema(value_type = Object)]
        joint: Box<RawValue>,
    },
    /// Replaces a joint: with a motor, limits, a spring, or another type. It keeps its id and its bodies.
    ReplaceJoint {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// New description, written as in a scene without `a` and `b`.
        #[serde(deserialize_with = "compacted")]
        #[schema(value_type = Object)]
        with: Box<RawValue>,
    },
    /// Removes joints.
    Unjoin {
        /// Ids, indices or names of the joints.
        #[schema(value_type = Vec<JointRef>)]
        joints: Refs<JointRef>,
    },
    /// Pulls a body with a pointer: the first command grabs it, later ones move the pointer.
    Mouse {
        /// Name of the pointer, chosen by the client.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pointer: String,
        /// Body to grab; ignored when the pointer moves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<BodySelector>,
        /// Point that is held, in the body's frame, m.
        #[serde(default)]
        point: [f32; 2],
        /// Target in the world to which that point is pulled, m.
        target: [f32; 2],
        /// Largest force, N.
        #[serde(default = "default_pull")]
        max_force: f32,
        /// Stiffness of the pull, Hz.
        #[serde(default = "default_hertz")]
        hertz: f32,
        /// Damping ratio of the pull; 1 is critical.
        #[serde(default = "default_damping")]
        damping_ratio: f32,
    },
    /// Releases the body that a pointer holds.
    Release {
        /// Name of the pointer.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pointer: String,
    },
    /// Sets the motor of a joint that has one.
    Motor {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Speed, m/s, or rad/s for a rotation.
        speed: f32,
        /// Largest force, N, or torque, N·m.
        max: f32,
    },
    /// Sets the limits of a joint that has limits.
    Limits {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Lower and upper limit, m or rad.
        limits: [f32; 2],
    },
    /// Sets the length of a distance joint or a spring.
    Length {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Length, m.
        length: f32,
    },
    /// Sets the offset of a motor joint.
    Offset {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Offset of B's anchor relative to A's, in A's frame, m.
        linear: [f32; 2],
        /// Angle of B relative to A, rad.
        #[serde(default)]
        angular: f32,
    },
    /// Sets the velocities to which a velocity joint drives. With an axis, the part of `linear` along it counts.
    JointVelocity {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Velocity of B's anchor relative to A, in A's frame, m/s.
        linear: [f32; 2],
        /// Angular velocity of B relative to A, rad/s.
        #[serde(default)]
        angular: f32,
    },
    /// Sets the rest position of the spring of a hinge, a slider or a wheel.
    SpringTarget {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// Rest position, rad or m.
        target: f32,
    },
    /// Enables or disables a joint.
    Enable {
        /// Id, index or name of the joint.
        joint: JointRef,
        /// True to enable it.
        enabled: bool,
    },
}

fn default_radius() -> f32 {
    Explosion::default().radius
}

fn default_falloff() -> f32 {
    Explosion::default().falloff
}

fn default_strength() -> f32 {
    Explosion::default().impulse_per_length
}

fn default_density() -> f32 {
    Wind::default().density
}

fn default_wind_coefficient() -> f32 {
    Wind::default().drag
}

fn default_mask() -> u32 {
    u32::MAX
}

fn default_pull() -> f32 {
    1e4
}

fn default_hertz() -> f32 {
    4.0
}

fn default_damping() -> f32 {
    1.0
}

/// Library command on one body or joint.
#[derive(Debug)]
pub enum Plain {
    /// Command on a body.
    Body(BodySelector, Command),
    /// Command on a joint.
    Joint(JointRef, JointCommand),
}

impl CommandRecord {
    /// Returns the command's name in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Impulse { .. } => "impulse",
            Self::AngularImpulse { .. } => "angular_impulse",
            Self::Force { .. } => "force",
            Self::Torque { .. } => "torque",
            Self::Velocity { .. } => "velocity",
            Self::AngularVelocity { .. } => "angular_velocity",
            Self::Teleport { .. } => "teleport",
            Self::Target { .. } => "target",
            Self::Wake { .. } => "wake",
            Self::WakeAll {} => "wake_all",
            Self::Gravity { .. } => "gravity",
            Self::Explode { .. } => "explode",
            Self::Wind { .. } => "wind",
            Self::Spawn { .. } => "spawn",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::SetShapes { .. } => "set_shapes",
            Self::Set { .. } => "set",
            Self::Join { .. } => "join",
            Self::ReplaceJoint { .. } => "replace_joint",
            Self::Unjoin { .. } => "unjoin",
            Self::Mouse { .. } => "mouse",
            Self::Release { .. } => "release",
            Self::Motor { .. } => "motor",
            Self::Limits { .. } => "limits",
            Self::Length { .. } => "length",
            Self::Offset { .. } => "offset",
            Self::JointVelocity { .. } => "joint_velocity",
            Self::SpringTarget { .. } => "spring_target",
            Self::Enable { .. } => "enable",
        }
    }

    /// Returns the library command, or `None` for a command that changes the population.
    #[must_use]
    pub fn plain(&self) -> Option<Plain> {
        let point = |point: &Option<[f32; 2]>| point.map(Vec2::from);
        let body = |body: &BodySelector, command| Some(Plain::Body(body.clone(), command));
        let joint = |joint: &JointRef, command| Some(Plain::Joint(joint.clone(), command));
        match self {
            Self::Impulse { body: of, impulse, point: at } => {
                body(of, Command::Impulse { impulse: (*impulse).into(), point: point(at) })
            }
            Self::AngularImpulse { body: of, impulse } => body(of, Command::AngularImpulse(*impulse)),
            Self::Force { body: of, force, point: at } => {
                body(of, Command::Force { force: (*force).into(), point: point(at) })
            }
            Self::Torque { body: of, torque } => body(of, Command::Torque(*torque)),
            Self::Velocity { body: of, velocity } => body(of, Command::Velocity((*velocity).into())),
            Self::AngularVelocity { body: of, angular_velocity } => {
                body(of, Command::AngularVelocity(*angular_velocity))
            }
            Self::Teleport { body: of, position, angle } => {
                body(of, Command::Teleport { position: (*position).into(), angle: *angle })
            }
            Self::Target { body: of, position, angle } => {
                body(of, Command::Target { position: (*position).into(), angle: *angle })
            }
            Self::Wake { body: of } => body(of, Command::Wake),
            Self::Motor { joint: of, speed, max } => joint(of, JointCommand::Motor { speed: *speed, max: *max }),
            Self::Limits { joint: of, limits } => joint(of, JointCommand::Limits(*limits)),
            Self::Length { joint: of, length } => joint(of, JointCommand::Length(*length)),
            Self::Offset { joint: of, linear, angular } => {
                joint(of, JointCommand::Offset { linear: (*linear).into(), angular: *angular })
            }
            Self::JointVelocity { joint: of, linear, angular } => {
                joint(of, JointCommand::Velocity { linear: (*linear).into(), angular: *angular })
            }
            Self::SpringTarget { joint: of, target } => joint(of, JointCommand::SpringTarget(*target)),
            Self::Enable { joint: of, enabled } => joint(of, JointCommand::Enable(*enabled)),
            _ => None,
        }
    }
}
