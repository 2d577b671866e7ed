//! Commands: as clients write them, and what they ask of the world.

use glam::Vec2;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};

use super::ids::{BodyRef, JointRef};
use super::lists::{Parts, Refs, compacted};
use drystone::{Command, JointCommand};

/// Parts of a scene, whose schema is beside this one's.
fn scene_bodies() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneBody")).into()
}

fn scene_joints() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneJoint")).into()
}

/// Something asked of a world. One key says what.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CommandRecord {
    /// A sudden push of a dynamic body.
    Impulse {
        /// Which.
        body: BodyRef,
        /// N·s.
        impulse: [f32; 2],
        /// Where it acts, a point of the body, m; its centre of mass if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<[f32; 2]>,
    },
    /// A sudden turn of a dynamic body.
    AngularImpulse {
        /// Which.
        body: BodyRef,
        /// N·m·s.
        impulse: f32,
    },
    /// The constant force of a dynamic body from now on.
    Force {
        /// Which.
        body: BodyRef,
        /// N.
        force: [f32; 2],
        /// Where it acts, a point of the body that moves along, m; its centre of mass if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<[f32; 2]>,
    },
    /// The constant torque of a dynamic body from now on.
    Torque {
        /// Which.
        body: BodyRef,
        /// N·m.
        torque: f32,
    },
    /// Of a dynamic or kinematic body.
    Velocity {
        /// Which.
        body: BodyRef,
        /// m/s.
        velocity: [f32; 2],
    },
    /// Likewise.
    AngularVelocity {
        /// Which.
        body: BodyRef,
        /// rad/s.
        angular_velocity: f32,
    },
    /// Puts a body elsewhere, at once.
    Teleport {
        /// Which.
        body: BodyRef,
        /// Of its origin, m.
        position: [f32; 2],
        /// rad.
        #[serde(default)]
        angle: f32,
    },
    /// Where a kinematic body shall be after one step.
    Target {
        /// Which.
        body: BodyRef,
        /// Of its origin, m.
        position: [f32; 2],
        /// rad.
        #[serde(default)]
        angle: f32,
    },
    /// Wakes a body and its island.
    Wake {
        /// Which.
        body: BodyRef,
    },
    /// Wakes all.
    WakeAll {},
    /// Sets gravity from the next step on, and wakes all. It stays until it is set again.
    Gravity {
        /// m/s², each from −1e15 to 1e15; that of the scene if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gravity: Option<[f32; 2]>,
    },
    /// Adds bodies, written as in a scene file, and joints among them.
    Spawn {
        /// As in a scene.
        #[schema(schema_with = scene_bodies)]
        bodies: Parts,
        /// As in a scene; `a` and `b` are among these bodies, by index or id.
        #[serde(default, skip_serializing_if = "Parts::is_empty")]
        #[schema(schema_with = scene_joints)]
        joints: Parts,
    },
    /// Removes bodies, and their joints with them.
    Remove {
        /// Which.
        #[schema(value_type = Vec<BodyRef>)]
        bodies: Refs<BodyRef>,
    },
    /// Adds a joint, written as in a scene file but for its bodies.
    Join {
        /// The first body; the world if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a: Option<BodyRef>,
        /// The other.
        b: BodyRef,
        /// As in a scene, without `a` and `b`.
        #[serde(deserialize_with = "compacted")]
        #[schema(value_type = Object)]
        joint: Box<RawValue>,
    },
    /// Removes joints.
    Unjoin {
        /// Which.
        #[schema(value_type = Vec<JointRef>)]
        joints: Refs<JointRef>,
    },
    /// Pulls a body with a pointer: the first grabs it, later ones move the pointer.
    Mouse {
        /// Name of the pointer, chosen by the client.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pointer: String,
        /// Needed to grab, ignored later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<BodyRef>,
        /// Where the body is held, in its frame, m.
        #[serde(default)]
        point: [f32; 2],
        /// Where to, in the world, m.
        target: [f32; 2],
        /// N.
        #[serde(default = "default_pull")]
        max_force: f32,
        /// How stiff, Hz.
        #[serde(default = "default_hertz")]
        hertz: f32,
        /// 1 is critical.
        #[serde(default = "default_damping")]
        damping_ratio: f32,
    },
    /// Lets go of what a pointer holds.
    Release {
        /// Its name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pointer: String,
    },
    /// The motor of a joint that has one.
    Motor {
        /// Which.
        joint: JointRef,
        /// m/s, or rad/s where it turns.
        speed: f32,
        /// Largest force, N, or torque, N·m.
        max: f32,
    },
    /// The limits of a joint that has some.
    Limits {
        /// Which.
        joint: JointRef,
        /// m or rad.
        limits: [f32; 2],
    },
    /// The length of a rod or a spring.
    Length {
        /// Which.
        joint: JointRef,
        /// m.
        length: f32,
    },
    /// The offset of a motor joint.
    Offset {
        /// Which.
        joint: JointRef,
        /// Of B's anchor against A's, in A's frame, m.
        linear: [f32; 2],
        /// rad.
        #[serde(default)]
        angular: f32,
    },
    /// The rest position of the spring of a hinge, a slider or a wheel.
    SpringTarget {
        /// Which.
        joint: JointRef,
        /// rad or m.
        target: f32,
    },
    /// Switches a joint on or off.
    Enable {
        /// Which.
        joint: JointRef,
        /// On.
        enabled: bool,
    },
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

/// Meaning of a command on one body or joint.
#[derive(Debug)]
pub enum Plain {
    /// Command on a body.
    Body(BodyRef, Command),
    /// Command on a joint.
    Joint(JointRef, JointCommand),
}

impl CommandRecord {
    /// The word for it.
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
            Self::Spawn { .. } => "spawn",
            Self::Remove { .. } => "remove",
            Self::Join { .. } => "join",
            Self::Unjoin { .. } => "unjoin",
            Self::Mouse { .. } => "mouse",
            Self::Release { .. } => "release",
            Self::Motor { .. } => "motor",
            Self::Limits { .. } => "limits",
            Self::Length { .. } => "length",
            Self::Offset { .. } => "offset",
            Self::SpringTarget { .. } => "spring_target",
            Self::Enable { .. } => "enable",
        }
    }

    /// If it changes no population.
    #[must_use]
    pub fn plain(&self) -> Option<Plain> {
        let point = |point: &Option<[f32; 2]>| point.map(Vec2::from);
        let body = |body: &BodyRef, command| Some(Plain::Body(body.clone(), command));
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
            Self::SpringTarget { joint: of, target } => joint(of, JointCommand::SpringTarget(*target)),
            Self::Enable { joint: of, enabled } => joint(of, JointCommand::Enable(*enabled)),
            _ => None,
        }
    }
}
