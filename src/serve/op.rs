//! What may be asked of a world: as clients write it, as the log keeps it, and what it means.

use std::fmt;

use glam::Vec2;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::hosted::Hosted;
use super::problem::Problem;
use crate::scene::file;
use crate::{Body, BodyId, Command, Joint, JointCommand, JointId};

/// Longest name of a pointer.
const MAX_POINTER: usize = 64;
/// Pointers that hold a body of a world at a time.
pub const MAX_POINTERS: usize = 64;

/// A change of a world, as the log keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Asked of bodies and joints, in this order.
    Commands(Vec<CommandRecord>),
    /// Steps to go.
    Step {
        /// How many.
        steps: u64,
    },
    /// Steps that are done. What is asked after somebody was told so comes after them, also when the log is gone through.
    Reached {
        /// Which request, counted from the first of the world.
        request: u64,
        /// What is told.
        answer: Value,
    },
    /// Steps that are not done after all.
    Halt {
        /// Which request, counted from the first of the world.
        request: u64,
        /// Why.
        reason: String,
    },
    /// Steps by itself.
    Play {
        /// Times real time; as fast as it goes if there is none.
        speed: Option<f64>,
    },
    /// No longer.
    Pause,
}

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Steps done before it.
    pub at: u64,
    /// What.
    pub op: Op,
    /// The key with which the client asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// The key of a request, and a hash of what was asked with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// As the client gave it.
    pub name: String,
    /// Of path and body.
    pub hash: u64,
}

/// A body: its id `"slot.generation"`, its name in the scene, or its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyRef {
    /// Whoever is there now.
    Slot(u32),
    /// An id or a name.
    Name(String),
}

/// A joint likewise: `"index.generation"`, its name, or its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JointRef(pub BodyRef);

/// Parts of a scene, whose schema is beside this one's.
fn scene_bodies() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneBody")).into()
}

fn scene_joints() -> RefOr<Schema> {
    ArrayBuilder::new().items(Ref::from_schema_name("SceneJoint")).into()
}

/// A string or a number.
fn reference_schema(of: &str) -> RefOr<Schema> {
    let word = ObjectBuilder::new().schema_type(Type::String).description(Some(format!("Id or name of a {of}")));
    let index = ObjectBuilder::new().schema_type(Type::Integer).description(Some(format!("Index of a {of}")));
    OneOfBuilder::new().item(word).item(index).into()
}

impl PartialSchema for BodyRef {
    fn schema() -> RefOr<Schema> {
        reference_schema("body")
    }
}

impl ToSchema for BodyRef {}

impl PartialSchema for JointRef {
    fn schema() -> RefOr<Schema> {
        reference_schema("joint")
    }
}

impl ToSchema for JointRef {}

impl Serialize for BodyRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Slot(slot) => serializer.serialize_u32(*slot),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for BodyRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = BodyRef;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an id such as \"12.0\", a name, or an index")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<BodyRef, E> {
                if text.len() > 256 {
                    return Err(E::custom("the name is longer than 256 bytes"));
                }
                Ok(BodyRef::Name(text.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<BodyRef, E> {
                u32::try_from(number).map(BodyRef::Slot).map_err(|_| E::custom("the index is above 4294967295"))
            }
        }
        deserializer.deserialize_any(Either)
    }
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
    /// Adds bodies, written as in a scene file, and joints among them.
    Spawn {
        /// As in a scene.
        #[schema(schema_with = scene_bodies)]
        bodies: Vec<Value>,
        /// As in a scene; `a` and `b` are among these bodies, by index or id.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schema(schema_with = scene_joints)]
        joints: Vec<Value>,
    },
    /// Removes bodies, and their joints with them.
    Remove {
        /// Which.
        bodies: Vec<BodyRef>,
    },
    /// Adds a joint, written as in a scene file but for its bodies.
    Join {
        /// The first body; the world if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a: Option<BodyRef>,
        /// The other.
        b: BodyRef,
        /// As in a scene, without `a` and `b`.
        #[schema(value_type = Object)]
        joint: Value,
    },
    /// Removes joints.
    Unjoin {
        /// Which.
        joints: Vec<JointRef>,
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

/// What a command on one body or joint means.
#[derive(Debug)]
pub enum Plain {
    /// Of a body.
    Body(BodyRef, Command),
    /// Of a joint.
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

/// Reads a number of commands.
///
/// # Errors
/// Which is wrong, and where.
pub fn read_commands(text: &[u8], most: usize) -> Result<Vec<CommandRecord>, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch {
        commands: Vec<CommandRecord>,
    }
    let batch: Batch = read_json(text)?;
    if batch.commands.is_empty() {
        return Err(Problem::invalid("there are no commands").at("commands").expected("at least one command"));
    }
    if batch.commands.len() > most {
        let detail = format!("there are {} commands; at most {most} in a request", batch.commands.len());
        return Err(Problem::limit(detail).at("commands"));
    }
    for (index, command) in batch.commands.iter().enumerate() {
        if let CommandRecord::Mouse { pointer, .. } | CommandRecord::Release { pointer } = command
            && pointer.len() > MAX_POINTER
        {
            return Err(Problem::invalid(format!("the name is longer than {MAX_POINTER} bytes"))
                .at(format!("commands[{index}].{}.pointer", command.word())));
        }
    }
    Ok(batch.commands)
}

/// Reads JSON, with the path of what is wrong.
///
/// # Errors
/// That.
pub fn read_json<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| Problem::from_json(&error))?;
    let end = deserializer.end();
    end.map_err(|error| Problem::malformed(format!("there is more after the JSON value: {error}")))?;
    Ok(value)
}

/// Bodies and joints among them, as a scene file has them.
///
/// # Errors
/// What is wrong, with its path from here.
pub fn read_parts(bodies: &[Value], joints: &[Value]) -> Result<(Vec<Body>, Vec<Joint>), Problem> {
    let text = json!({ "version": 1, "bodies": bodies, "joints": joints }).to_string();
    let mut scene = file::parse(&text, "command.json").map_err(|error| {
        // Line and column are of a text that the client did not write.
        Problem { line: None, column: None, ..Problem::from(error) }
    })?;
    Ok((std::mem::take(&mut scene.bodies), std::mem::take(&mut scene.joints)))
}

/// A joint as a scene file has it, without its bodies.
///
/// # Errors
/// What is wrong, with its path from here.
pub fn read_joint(joint: &Value, to_world: bool) -> Result<Joint, Problem> {
    let Value::Object(keys) = joint else {
        return Err(Problem::invalid("the joint is no object").at("joint"));
    };
    if let Some(key) = ["a", "b"].into_iter().find(|key| keys.contains_key(*key)) {
        return Err(Problem::invalid("the bodies are given beside the joint").at(format!("joint.{key}")));
    }
    let mut keys = keys.clone();
    keys.insert("b".to_owned(), json!(1));
    if !to_world {
        keys.insert("a".to_owned(), json!(0));
    }
    let body = json!({ "shapes": [{ "circle": { "radius": 1 } }] });
    let (_, mut joints) = read_parts(&[body.clone(), body], &[Value::Object(keys)]).map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("joints[0]"));
        Problem { path: Some(format!("joint{}", path.unwrap_or_default())), ..problem }
    })?;
    joints.pop().ok_or_else(|| Problem::invalid("there is no joint").at("joint"))
}

/// `index.generation`.
fn read_id(text: &str) -> Option<(u32, u32)> {
    let (index, generation) = text.split_once('.')?;
    Some((index.parse().ok()?, generation.parse().ok()?))
}

/// Which body is meant.
///
/// # Errors
/// If there is none.
pub(crate) fn find_body(world: &mut Hosted, body: &BodyRef) -> Result<BodyId, Problem> {
    let missing = |what: String| Problem::invalid(format!("there is no body {what}"));
    match body {
        BodyRef::Slot(slot) => world.body_id(*slot as usize).ok_or_else(|| missing(slot.to_string())),
        BodyRef::Name(name) => {
            if let Some((index, generation)) = read_id(name)
                && let Some(id) = world.body_id(index as usize)
                && id.generation == generation
            {
                return Ok(id);
            }
            let place = world.compiled().ids.iter().position(|id| id.as_deref() == Some(name));
            place.and_then(|place| world.body_id(place)).ok_or_else(|| missing(format!("{name:?}")))
        }
    }
}

/// Which joint is meant.
///
/// # Errors
/// If there is none.
pub(crate) fn find_joint(world: &Hosted, joint: &JointRef) -> Result<JointId, Problem> {
    let missing = |what: String| Problem::invalid(format!("there is no joint {what}"));
    match &joint.0 {
        BodyRef::Slot(index) => world.joint_id(*index as usize).ok_or_else(|| missing(index.to_string())),
        BodyRef::Name(name) => {
            if let Some((index, generation)) = read_id(name)
                && let Some(id) = world.joint_id(index as usize)
                && id.generation == generation
            {
                return Ok(id);
            }
            let place = world.compiled().joints.ids.iter().position(|id| id.as_deref() == Some(name));
            place.and_then(|place| world.joint_id(place)).ok_or_else(|| missing(format!("{name:?}")))
        }
    }
}

/// As text.
///
/// # Errors
/// If it is none.
pub fn body_from_text(text: &str) -> Result<BodyId, String> {
    let (index, generation) = read_id(text).ok_or_else(|| format!("{text:?} is no id of a body"))?;
    Ok(BodyId { index, generation })
}

/// As text.
///
/// # Errors
/// If it is none.
pub fn joint_from_text(text: &str) -> Result<JointId, String> {
    let (index, generation) = read_id(text).ok_or_else(|| format!("{text:?} is no id of a joint"))?;
    Ok(JointId { index, generation })
}
