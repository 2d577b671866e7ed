//! What may be asked of a world: as clients write it, as the log keeps it, and what it means.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use glam::Vec2;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::config::Limits;
use super::hosted::Hosted;
use super::problem::Problem;
use drystone::scene::Geometry;
use drystone::{Body, BodyId, Command, Joint, JointCommand, JointId};
use drystone_scenes::file;

/// Longest name of a pointer.
const MAX_POINTER: usize = 64;
/// Longest text of a joint or a shape on its own, bytes.
const MAX_PART: usize = 16 << 10;
/// Deepest nesting of JSON, as of serde_json where it builds values.
const MAX_DEPTH: usize = 127;
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
    /// The answer to a request with a key that was done elsewhere, such as in the store. Nothing else changes.
    Told {
        /// HTTP status.
        status: u16,
        /// Body, `null` for none.
        answer: Value,
    },
    /// Steps that are not done after all.
    Halt {
        /// Which request, counted from the first of the world.
        request: u64,
        /// Why.
        reason: String,
        /// The world is beyond a limit: the request is answered with that problem.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        limit: bool,
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

/// Says byte by byte whether it is a blank outside of strings.
fn blanks() -> impl FnMut(u8) -> bool {
    let (mut is_quoted, mut is_escaped) = (false, false);
    move |byte| {
        if is_quoted {
            is_quoted = byte != b'"' || is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            return false;
        }
        is_quoted = byte == b'"';
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    }
}

/// JSON without blanks outside of strings.
fn compact(raw: Box<RawValue>) -> Box<RawValue> {
    if !raw.get().bytes().any(blanks()) {
        return raw;
    }
    let mut bytes = String::from(Box::<str>::from(raw)).into_bytes();
    let mut is_blank = blanks();
    bytes.retain(|&byte| !is_blank(byte));
    // Still JSON: blanks between tokens mean nothing.
    let text = String::from_utf8(bytes).unwrap_or_default();
    RawValue::from_string(text).unwrap_or_default()
}

fn compacted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(compact)
}

/// List of parts of a scene, kept as text: as values they would take a hundred times as much memory.
#[derive(Clone, Debug)]
pub struct Parts {
    text: Box<RawValue>,
    count: usize,
    shapes: usize,
}

impl Parts {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of shapes of bodies.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.shapes
    }

    /// Number of bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.get().len()
    }

    fn text(&self) -> &str {
        self.text.get()
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { text: RawValue::from_string("[]".to_owned()).unwrap_or_default(), count: 0, shapes: 0 }
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = compacted(deserializer)?;
        let Measure { count, shapes } = serde_json::from_str(text.get()).map_err(|error| {
            let message = error.to_string();
            // The place is one in this text.
            de::Error::custom(message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message))
        })?;
        Ok(Self { text, count, shapes })
    }
}

/// Number of elements of a list, and of the elements of their lists `shapes`. Anything else is left to whoever reads them.
struct Measure {
    count: usize,
    shapes: usize,
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Measure;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an array of objects")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Measure, A::Error> {
                let mut measure = Measure { count: 0, shapes: 0 };
                while let Some(Shapes(shapes)) = list.next_element()? {
                    measure.count += 1;
                    measure.shapes += shapes;
                }
                Ok(measure)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Number of shapes of a body.
struct Shapes(usize);

impl<'de> Deserialize<'de> for Shapes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Body;
        impl<'de> Visitor<'de> for Body {
            type Value = Shapes;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut body: A) -> Result<Shapes, A::Error> {
                let mut count = 0;
                while let Some(key) = body.next_key::<Cow<'_, str>>()? {
                    if key == "shapes" {
                        count += body.next_value::<Count>()?.0;
                    } else {
                        body.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Shapes(count))
            }
        }
        deserializer.deserialize_map(Body)
    }
}

/// Number of elements of a list.
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// List of bodies or joints, kept as text. Each element was read once, so that all are of the right form.
#[derive(Clone, Debug)]
pub struct Refs<T> {
    text: Box<RawValue>,
    count: usize,
    of: PhantomData<T>,
}

impl<T> Refs<T> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<T: for<'de> Deserialize<'de>> Refs<T> {
    /// Calls `each(index, element)` up to the first that is refused.
    ///
    /// # Errors
    /// That refusal.
    pub fn try_each(&self, mut each: impl FnMut(usize, T) -> Result<(), Problem>) -> Result<(), Problem> {
        let mut refusal = None;
        let mut deserializer = serde_json::Deserializer::from_str(self.text.get());
        let read = Each(
            |index, element: T| {
                each(index, element).map_err(|problem| {
                    refusal = Some(problem);
                    "refused"
                })
            },
            PhantomData,
        )
        .deserialize(&mut deserializer);
        match (refusal, read) {
            (Some(problem), _) => Err(problem),
            (None, Err(error)) => Err(Problem::internal(error.to_string())),
            (None, Ok(_)) => Ok(()),
        }
    }
}

impl<T> Serialize for Refs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de, T: Serialize + Deserialize<'de>> Deserialize<'de> for Refs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = vec![b'['];
        let write = |index, element: T| {
            if index > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, &element).map_err(|_| "cannot be written")
        };
        let count = Each(write, PhantomData).deserialize(deserializer)?;
        text.push(b']');
        let text = String::from_utf8(text).map_err(de::Error::custom)?;
        Ok(Self { text: RawValue::from_string(text).map_err(de::Error::custom)?, count, of: PhantomData })
    }
}

/// Gives each element of a list to a function while it is read. The number of them.
struct Each<F, T>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(usize, T) -> Result<(), &'static str>> DeserializeSeed<'de> for Each<F, T> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(usize, T) -> Result<(), &'static str>> Visitor<'de> for Each<F, T> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while let Some(element) = list.next_element()? {
            (self.0)(count, element).map_err(de::Error::custom)?;
            count += 1;
        }
        Ok(count)
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

/// Population and journal that commands bring a world at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brings {
    /// Bodies.
    pub bodies: usize,
    /// Joints.
    pub joints: usize,
    /// Shapes.
    pub shapes: usize,
    /// Bodies and joints added or removed by hand.
    pub alterations: usize,
    /// Bytes of the journal.
    pub bytes: usize,
}

/// Bytes that an entry of a journal takes beside what it holds, and so does an id in it.
pub const ENTRY_BYTES: usize = 64;
/// Bytes of an id in a journal, and around it.
pub const ID_BYTES: usize = 32;

impl Brings {
    /// Sums up some commands.
    #[must_use]
    pub fn of(commands: &[CommandRecord]) -> Self {
        commands.iter().map(Self::of_one).fold(Self::default(), Self::plus)
    }

    fn of_one(command: &CommandRecord) -> Self {
        let none = Self::default();
        match command {
            CommandRecord::Spawn { bodies, joints } => Self {
                bodies: bodies.len(),
                joints: joints.len(),
                shapes: bodies.shapes(),
                alterations: bodies.len() + joints.len(),
                bytes: 2 * ENTRY_BYTES + bodies.bytes() + joints.bytes() + 2 * ID_BYTES * bodies.len(),
            },
            CommandRecord::Join { joint, .. } => {
                let bytes = ENTRY_BYTES + 2 * ID_BYTES + joint.get().len();
                Self { joints: 1, alterations: 1, bytes, ..none }
            }
            CommandRecord::Mouse { body: Some(_), .. } => {
                Self { joints: 1, alterations: 1, bytes: 4 * ENTRY_BYTES, ..none }
            }
            CommandRecord::Remove { bodies } => {
                Self { alterations: 1, bytes: ENTRY_BYTES + ID_BYTES * bodies.len(), ..none }
            }
            CommandRecord::Unjoin { joints } => {
                Self { alterations: 1, bytes: ENTRY_BYTES + ID_BYTES * joints.len(), ..none }
            }
            _ => none,
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bodies: self.bodies + other.bodies,
            joints: self.joints + other.joints,
            shapes: self.shapes + other.shapes,
            alterations: self.alterations + other.alterations,
            bytes: self.bytes + other.bytes,
        }
    }

    /// True if nothing comes or goes.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.bodies + self.joints + self.alterations == 0
    }

    /// Checks what comes to a world that has `now` already.
    ///
    /// # Errors
    /// The first limit that is exceeded.
    pub fn check(&self, now: &Self, limits: &Limits) -> Result<(), Problem> {
        for (what, key, now, more, most) in [
            ("bodies", "bodies", now.bodies, self.bodies, limits.bodies),
            ("joints", "joints", now.joints, self.joints, limits.joints),
            ("shapes", "shapes", now.shapes, self.shapes, limits.shapes),
            (
                "bodies and joints added or removed by hand",
                "alterations",
                now.alterations,
                self.alterations,
                limits.alterations,
            ),
            ("bytes of bodies and joints added by hand", "journal_bytes", now.bytes, self.bytes, limits.journal_bytes),
        ] {
            if more > 0 && now + more > most {
                let detail = format!("the world would come to {} {what}; at most {most} (limits.{key})", now + more);
                return Err(Problem::limit(detail).at("commands"));
            }
        }
        Ok(())
    }
}

/// Reads a number of commands: `{"commands": [...]}`.
///
/// # Errors
/// Which is wrong, and where.
pub fn read_commands(text: &[u8], limits: &Limits) -> Result<Vec<CommandRecord>, Problem> {
    let commands: Vec<CommandRecord> = read_list(text, &["commands"], limits.commands)?;
    if commands.is_empty() {
        return Err(Problem::invalid("there are no commands").at("commands").expected("at least one command"));
    }
    for (index, command) in commands.iter().enumerate() {
        if let CommandRecord::Mouse { pointer, .. } | CommandRecord::Release { pointer } = command
            && pointer.len() > MAX_POINTER
        {
            return Err(Problem::invalid(format!("the name is longer than {MAX_POINTER} bytes"))
                .at(format!("commands[{index}].{}.pointer", command.word())));
        }
        if let CommandRecord::Join { joint, .. } = command
            && joint.get().len() > MAX_PART
        {
            return Err(Problem::limit(format!("the joint has more than {MAX_PART} bytes"))
                .at(format!("commands[{index}].join.joint")));
        }
        let (count, most, of) = match command {
            CommandRecord::Remove { bodies } => (bodies.len(), limits.bodies, "bodies"),
            CommandRecord::Unjoin { joints } => (joints.len(), limits.joints, "joints"),
            _ => continue,
        };
        if count > most {
            let detail = format!("there are {count} {of}; at most {most} in a world of this service");
            return Err(Problem::limit(detail).at(format!("commands[{index}].{}.{of}", command.word())));
        }
    }
    // More than an empty world may have is refused before a real one is asked.
    Brings::of(&commands).check(&Brings::default(), limits)?;
    Ok(commands)
}

/// Reads an object whose only key is a list, and stops at the first element beyond `most`.
///
/// # Errors
/// Which is wrong, and where.
pub fn read_list<'de, T: Deserialize<'de>>(
    text: &'de [u8],
    key: &'static [&'static str; 1],
    most: usize,
) -> Result<Vec<T>, Problem> {
    let is_beyond = Cell::new(false);
    let read = read_with(text, OnlyList { key, most, is_beyond: &is_beyond, of: PhantomData });
    if is_beyond.get() {
        let [key] = key;
        let detail = format!("there are more than {most} {key}; at most {most} in a request (limits.{key})");
        return Err(Problem::limit(detail).at(*key));
    }
    read
}

/// Seed of [`read_list`].
struct OnlyList<'a, T> {
    key: &'static [&'static str; 1],
    most: usize,
    is_beyond: &'a Cell<bool>,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for OnlyList<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyList<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object with the key `{}`", self.key[0])
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
        let mut found = None;
        while map.next_key_seed(OnlyKey { key: self.key, is_there: found.is_some() })?.is_some() {
            let mut list = Vec::new();
            let push = |index, element| {
                if index == self.most {
                    self.is_beyond.set(true);
                    return Err("too many");
                }
                list.push(element);
                Ok(())
            };
            map.next_value_seed(Each(push, PhantomData))?;
            found = Some(list);
        }
        found.ok_or_else(|| de::Error::missing_field(self.key[0]))
    }
}

/// The only key of an object. Another is refused as it is read, so that the path names it.
struct OnlyKey {
    key: &'static [&'static str; 1],
    is_there: bool,
}

impl<'de> DeserializeSeed<'de> for OnlyKey {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for OnlyKey {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the key `{}`", self.key[0])
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<(), E> {
        match name {
            name if name != self.key[0] => Err(E::unknown_field(name, self.key)),
            _ if self.is_there => Err(E::duplicate_field(self.key[0])),
            _ => Ok(()),
        }
    }
}

/// Reads JSON, with the path of what is wrong.
///
/// # Errors
/// The first mistake.
pub fn read_json<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Problem> {
    read_with(text, PhantomData)
}

fn read_with<'de, S: DeserializeSeed<'de>>(text: &'de [u8], seed: S) -> Result<S::Value, Problem> {
    refuse_deep(text)?;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let value = seed
        .deserialize(tracked)
        .map_err(|error| Problem::from_json(&serde_path_to_error::Error::new(track.path(), error)))?;
    deserializer.end().map_err(|error| Problem::no_json(&error))?;
    Ok(value)
}

/// Refuses JSON that is nested deeper than a parser goes, as text that is only passed on would get through.
fn refuse_deep(text: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, &byte) in text.iter().enumerate() {
        if is_quoted {
            is_quoted = byte != b'"' || is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_quoted = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let line_start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
            let line = text[..at].split(|byte| *byte == b'\n').count();
            let column = at - line_start + 1;
            let detail = format!("invalid JSON: nested deeper than {MAX_DEPTH} at line {line}, column {column}");
            return Err(Problem { line: Some(line), column: Some(column), ..Problem::malformed(detail) });
        }
    }
    Ok(())
}

/// Bodies and joints among them, as a scene file has them.
///
/// # Errors
/// What is wrong, with its path from here.
pub fn read_parts(bodies: &Parts, joints: &Parts) -> Result<(Vec<Body>, Vec<Joint>), Problem> {
    parse_parts(bodies.text(), joints.text())
}

fn parse_parts(bodies: &str, joints: &str) -> Result<(Vec<Body>, Vec<Joint>), Problem> {
    let text = format!("{{\"version\":1,\"bodies\":{bodies},\"joints\":{joints}}}");
    let mut scene = file::parse(&text, "command.json").map_err(|error| {
        // Line and column are of a text that the client did not write.
        Problem { line: None, column: None, ..Problem::from(error) }
    })?;
    Ok((std::mem::take(&mut scene.bodies), std::mem::take(&mut scene.joints)))
}

/// Reads a shape as a scene file has it.
///
/// # Errors
/// The first mistake, with its path from here.
pub fn read_shape(shape: &RawValue) -> Result<Geometry, Problem> {
    if shape.get().len() > MAX_PART {
        return Err(Problem::limit(format!("the shape has more than {MAX_PART} bytes")));
    }
    let (bodies, _) = parse_parts(&format!("[{{\"shapes\":[{}]}}]", shape.get()), "[]").map_err(|problem| {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix("bodies[0].shapes[0]"));
        Problem {
            path: path.filter(|path| !path.is_empty()).map(|path| path.trim_start_matches('.').to_owned()),
            ..problem
        }
    })?;
    let shape = bodies.into_iter().flat_map(|body| body.shapes).next();
    shape.map(|shape| shape.geometry).ok_or_else(|| Problem::invalid("there is no shape"))
}

/// A joint as a scene file has it, without its bodies.
///
/// # Errors
/// What is wrong, with its path from here.
pub fn read_joint(joint: &RawValue, to_world: bool) -> Result<Joint, Problem> {
    /// Presence of the bodies.
    #[derive(Deserialize)]
    struct Ends {
        #[serde(default)]
        a: Presence,
        #[serde(default)]
        b: Presence,
    }
    #[derive(Default)]
    struct Presence(bool);
    impl<'de> Deserialize<'de> for Presence {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            IgnoredAny::deserialize(deserializer).map(|_| Self(true))
        }
    }
    let text = joint.get();
    let Some(rest) = text.strip_prefix('{') else {
        return Err(Problem::invalid("the joint is no object").at("joint"));
    };
    if let Ok(Ends { a, b }) = serde_json::from_str(text)
        && let Some((key, _)) = [("a", a), ("b", b)].iter().find(|(_, there)| there.0)
    {
        return Err(Problem::invalid("the bodies are given beside the joint").at(format!("joint.{key}")));
    }
    let ends = if to_world { "\"b\":1" } else { "\"a\":0,\"b\":1" };
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let body = "{\"shapes\":[{\"circle\":{\"radius\":1}}]}";
    let parsed = parse_parts(&format!("[{body},{body}]"), &format!("[{{{ends}{comma}{rest}]"));
    let (_, mut joints) = parsed.map_err(|problem| {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Result<Vec<CommandRecord>, Problem> {
        read_commands(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn parts_are_kept_as_text_without_blanks() {
        let text =
            r#" {"commands": [ {"spawn": {"bodies": [ {"id": "a \\\" b", "shapes": [ 1, 2 ]}, {"shapes": []} ]}} ]}"#;
        let read = commands(text).unwrap();
        let CommandRecord::Spawn { bodies, joints } = &read[0] else { panic!("{read:?}") };
        assert_eq!((bodies.len(), bodies.shapes(), joints.len()), (2, 2, 0));
        assert_eq!(bodies.text(), r#"[{"id":"a \\\" b","shapes":[1,2]},{"shapes":[]}]"#);
        // As it was always written.
        let written = serde_json::to_string(&read[0]).unwrap();
        assert_eq!(written, format!(r#"{{"spawn":{{"bodies":{}}}}}"#, bodies.text()));
        let again: CommandRecord = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), written);
    }

    #[test]
    fn places_in_lists_are_told() {
        for (text, path) in [
            (r#"{"commands":[{"wake_all":{}},{"spawn":{"bodies":{}}}]}"#, "commands[1].spawn.bodies"),
            (r#"{"commands":[{"remove":{"bodies":[1,"a",-1]}}]}"#, "commands[0].remove.bodies[2]"),
            (r#"{"commands":[{"spawn":{"bodies":[],"more":1}}]}"#, "commands[0].spawn.more"),
            (r#"{"commands":7}"#, "commands"),
            (r#"{"commands":[],"commands":[]}"#, "commands"),
        ] {
            let problem = commands(text).unwrap_err();
            assert_eq!((problem.status, problem.path.as_deref()), (422, Some(path)), "{text}: {problem:?}");
        }
        assert!(commands("{}").unwrap_err().detail.contains("missing field `commands`"));
        assert!(commands("[[]]").unwrap_err().detail.contains("object with the key `commands`"));
    }

    #[test]
    fn lists_of_bodies_read_back() {
        let read = commands(r#"{"commands":[{"remove":{"bodies":[ 3, "1.0" , "a"]}}]}"#).unwrap();
        let CommandRecord::Remove { bodies } = &read[0] else { panic!("{read:?}") };
        let mut seen = Vec::new();
        bodies
            .try_each(|place, body| {
                seen.push((place, body));
                if place == 1 { Err(Problem::invalid("no")) } else { Ok(()) }
            })
            .unwrap_err();
        assert_eq!(seen, [(0, BodyRef::Slot(3)), (1, BodyRef::Name("1.0".to_owned()))]);
        assert_eq!(bodies.len(), 3);
    }

    #[test]
    fn joints_have_their_bodies_beside_them() {
        let joint = |text: &str| read_joint(&RawValue::from_string(text.to_owned()).unwrap(), false);
        assert!(joint(r#"{"type":"weld"}"#).is_ok());
        for (text, path) in [
            (r#"{"type":"weld","a":null}"#, "joint.a"),
            (r#"{"b":1}"#, "joint.b"),
            ("[]", "joint"),
            ("{}", "joint"),
            (r#"{"type":"weld","x":1}"#, "joint.x"),
        ] {
            assert_eq!(joint(text).unwrap_err().path.as_deref(), Some(path), "{text}");
        }
    }

    #[test]
    fn a_list_is_not_read_beyond_its_end() {
        let limits = Limits { commands: 2, ..Limits::default() };
        let text = format!(r#"{{"commands":[{}"#, r#"{"wake_all":{}},"#.repeat(3));
        let problem = read_commands(text.as_bytes(), &limits).unwrap_err();
        assert_eq!((problem.status, problem.path.as_deref()), (422, Some("commands")), "{problem:?}");
        assert!(problem.detail.contains("limits.commands"));
    }
}
