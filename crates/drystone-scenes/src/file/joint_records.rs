//! Joint records of scene files. One struct covers all types, since an object's keys come in any order and `type` need
//! not be the first; [`own_keys`] assigns keys to types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use super::values::{BodyRef, Element, Named, Pair, Word, given, given_object};
use drystone::low_level::scene::check::{MAX_ANGLE, MAX_HERTZ, MAX_LENGTH, MAX_NAME, MAX_VALUE, MIN_LENGTH};
use drystone::{JointKind, Motor, Spring};

/// Type of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointType {
    Distance,
    Spring,
    Revolute,
    Prismatic,
    Weld,
    Wheel,
    Motor,
    Mouse,
    Velocity,
    Gear,
    Pulley,
}

impl Word for JointType {
    const EXPECTED: &'static str =
        "distance, spring, revolute, prismatic, weld, wheel, motor, mouse, velocity, gear or pulley";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("distance", Self::Distance),
        ("spring", Self::Spring),
        ("revolute", Self::Revolute),
        ("prismatic", Self::Prismatic),
        ("weld", Self::Weld),
        ("wheel", Self::Wheel),
        ("motor", Self::Motor),
        ("mouse", Self::Mouse),
        ("velocity", Self::Velocity),
        ("gear", Self::Gear),
        ("pulley", Self::Pulley),
    ];
}

impl JointType {
    pub fn of(kind: &JointKind) -> Self {
        match kind {
            JointKind::Distance { .. } => Self::Distance,
            JointKind::Spring { .. } => Self::Spring,
            JointKind::Revolute { .. } => Self::Revolute,
            JointKind::Prismatic { .. } => Self::Prismatic,
            JointKind::Wheel { .. } => Self::Wheel,
            JointKind::Weld { .. } => Self::Weld,
            JointKind::Motor { .. } => Self::Motor,
            JointKind::Mouse { .. } => Self::Mouse,
            JointKind::Velocity { .. } => Self::Velocity,
            JointKind::Gear { .. } => Self::Gear,
            JointKind::Pulley { .. } => Self::Pulley,
        }
    }
}

/// Keys that every type may have.
pub const COMMON_KEYS: [&str; 10] =
    ["type", "id", "a", "b", "anchor_a", "anchor_b", "collide", "break_force", "break_torque", "enabled"];

/// Returns the keys that a joint of this type requires beyond the common ones, and those that are optional.
pub fn own_keys(kind: JointType) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        JointType::Distance => (&[], &["length", "limits", "motor", "hertz", "damping_ratio", "spring_range"]),
        JointType::Spring => (&["stiffness"], &["rest_length", "damping", "spring_range"]),
        JointType::Revolute => {
            (&[], &["reference_angle", "limits", "motor", "spring", "spring_range", "hertz", "damping_ratio"])
        }
        JointType::Prismatic => {
            (&["axis"], &["reference_angle", "limits", "motor", "spring", "spring_range", "hertz", "damping_ratio"])
        }
        JointType::Wheel => (&["axis"], &["limits", "motor", "spring", "spring_range", "hertz", "damping_ratio"]),
        JointType::Weld => {
            (&[], &["reference_angle", "angular_hertz", "angular_damping_ratio", "hertz", "damping_ratio"])
        }
        JointType::Motor => {
            (&[], &["linear_offset", "angular_offset", "max_force", "max_torque", "hertz", "damping_ratio"])
        }
        JointType::Mouse => (&["target"], &["max_force", "hertz", "damping_ratio"]),
        JointType::Velocity => (&[], &["axis", "velocity", "angular_velocity", "max_force", "max_torque"]),
        JointType::Gear => (&["ratio"], &["hertz", "damping_ratio"]),
        JointType::Pulley => (&["ground_a", "ground_b"], &["ratio", "length"]),
    }
}

/// A joint between two bodies, or between a body and the world. The allowed keys depend on `type`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "Joint", deny_unknown_fields, expecting = "a joint object")]
#[schemars(transform = schema::keys_of_joints)]
pub struct JointRecord {
    /// distance: a rod, or with limits and motor a rope, piston or winch; spring: Hooke's law; revolute: a hinge;
    /// prismatic: a slider with fixed angle; wheel: a slider that can rotate; weld: fixes position and angle; motor:
    /// drives `b` to a position and an angle relative to `a` with limited force; mouse: pulls `b` towards a point in
    /// the world; velocity: drives `b` at a velocity relative to `a` with limited force, or is its friction; gear:
    /// keeps the turns of `a` and `b` in a ratio; pulley: a rope from `a` over two points of the world to `b`.
    #[serde(rename = "type")]
    pub kind: Named<JointType>,
    /// Name in reports; unique among the joints of the scene.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String", length(min = 1, max = MAX_NAME))]
    pub id: Option<String>,
    /// First body: index or id. Left out: the world. Not for mouse.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "BodyRef")]
    pub a: Option<BodyRef>,
    /// Second body: index or id.
    pub b: BodyRef,
    /// Anchor in the frame of `a` or in the world, m. Not for mouse.
    #[serde(default)]
    #[schemars(schema_with = "schema::position")]
    pub anchor_a: Pair,
    /// Anchor in the frame of `b`, m.
    #[serde(default)]
    #[schemars(schema_with = "schema::offset")]
    pub anchor_b: Pair,
    /// True if the two bodies may collide with each other.
    #[serde(default)]
    pub collide: bool,
    /// Stiffness of the joint's constraint, Hz. Left out: a quarter of the substep rate, 60 by default (mouse: 5). Not
    /// for spring, velocity and pulley; for a distance joint with limits or a motor, the length is held only if this is
    /// given.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub hertz: Option<f32>,
    /// Damping ratio of the joint's constraint; 1 is critical. Left out: 2 (mouse: 0.7). Not for spring, velocity and
    /// pulley.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_HERTZ))]
    pub damping_ratio: Option<f32>,
    /// Force above which the joint breaks, N.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_VALUE))]
    pub break_force: Option<f32>,
    /// Torque above which the joint breaks, N·m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_VALUE))]
    pub break_torque: Option<f32>,
    /// False: the joint has no effect.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// distance: length, m; pulley: longest sum of the distance from `ground_a` to `a` and `ratio` times that from
    /// `ground_b` to `b`, m. Left out: the initial value.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = MIN_LENGTH, max = MAX_LENGTH))]
    pub length: Option<f32>,
    /// spring: rest length, m. Left out: the initial distance.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_LENGTH))]
    pub rest_length: Option<f32>,
    /// spring: stiffness, N/m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub stiffness: Option<f32>,
    /// spring: damping, N·s/m. Left out: 0.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub damping: Option<f32>,
    /// prismatic, wheel: axis in the frame of `a` or in the world; need not have length 1. velocity: only the velocity
    /// along it is driven. Left out: both directions are, and the force is limited in all of them alike.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub axis: Option<Pair>,
    /// revolute, prismatic, weld: angle of `b` relative to `a` that counts as 0, rad. Left out: the initial angle.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_ANGLE, max = MAX_ANGLE))]
    pub reference_angle: Option<f32>,
    /// Lower and upper limit. distance (shortest, longest), prismatic, wheel: m; revolute: rad.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub limits: Option<Pair>,
    /// distance, prismatic: linear motor; revolute, wheel: rotary motor.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "MotorRecord")]
    pub motor: Option<MotorRecord>,
    /// revolute: spring towards an angle; prismatic, wheel: towards a position on the axis.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "SpringRecord")]
    pub spring: Option<Box<SpringRecord>>,
    /// distance with `hertz`, spring, and joints with `spring`: smallest and largest force of the spring, N, or torque,
    /// N·m; positive pushes apart, along the axis, or counter-clockwise. `[-1e15, 0]` only pulls. Left out: any force.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub spring_range: Option<Pair>,
    /// weld: stiffness of the angle, Hz. Left out: the same as `hertz`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub angular_hertz: Option<f32>,
    /// weld: damping ratio of the angle. Left out: the same as `damping_ratio`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_HERTZ))]
    pub angular_damping_ratio: Option<f32>,
    /// motor: target position of `b`'s anchor relative to `a`'s, in the frame of `a`, m. Left out: `[0, 0]`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::offset")]
    pub linear_offset: Option<Pair>,
    /// motor: target angle of `b` relative to `a`, rad. Left out: 0.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_ANGLE, max = MAX_ANGLE))]
    pub angular_offset: Option<f32>,
    /// velocity: target velocity of `b`'s anchor relative to `a`, in the frame of `a`, m/s. Left out: `[0, 0]`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub velocity: Option<Pair>,
    /// velocity: target angular velocity of `b` relative to `a`, rad/s. Left out: 0.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub angular_velocity: Option<f32>,
    /// motor, mouse, velocity: maximum force, N. Left out: 1e15, practically unlimited.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub max_force: Option<f32>,
    /// motor, velocity: maximum torque, N·m. Left out: 1e15, practically unlimited.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub max_torque: Option<f32>,
    /// mouse: target position of `b`'s anchor in the world, m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub target: Option<Pair>,
    /// gear: turns of `b` for a turn of `a`, 0.001 to 1000, or negative, as of wheels whose teeth meet; pulley: factor
    /// of the distance of `b`, 0.001 to 1000, so that the rope pulls `b` with this times the force. Left out: 1.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -1000, max = 1000))]
    pub ratio: Option<f32>,
    /// pulley: point of the world over which the rope goes to the anchor of `a`, m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub ground_a: Option<Pair>,
    /// pulley: point of the world over which the rope goes to the anchor of `b`, m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub ground_b: Option<Pair>,
}

fn yes() -> bool {
    true
}

impl Element for JointRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

impl JointRecord {
    /// Returns the keys that only some types have, in the order above, and true for those that are given.
    pub fn given_keys(&self) -> [(&'static str, bool); 25] {
        [
            ("hertz", self.hertz.is_some()),
            ("damping_ratio", self.damping_ratio.is_some()),
            ("length", self.length.is_some()),
            ("rest_length", self.rest_length.is_some()),
            ("stiffness", self.stiffness.is_some()),
            ("damping", self.damping.is_some()),
            ("axis", self.axis.is_some()),
            ("reference_angle", self.reference_angle.is_some()),
            ("limits", self.limits.is_some()),
            ("motor", self.motor.is_some()),
            ("spring", self.spring.is_some()),
            ("spring_range", self.spring_range.is_some()),
            ("angular_hertz", self.angular_hertz.is_some()),
            ("angular_damping_ratio", self.angular_damping_ratio.is_some()),
            ("linear_offset", self.linear_offset.is_some()),
            ("angular_offset", self.angular_offset.is_some()),
            ("velocity", self.velocity.is_some()),
            ("angular_velocity", self.angular_velocity.is_some()),
            ("max_force", self.max_force.is_some()),
            ("max_torque", self.max_torque.is_some()),
            ("target", self.target.is_some()),
            ("ratio", self.ratio.is_some()),
            ("ground_a", self.ground_a.is_some()),
            ("ground_b", self.ground_b.is_some()),
            // Common to all types but mouse, which has no first body.
            ("a", self.a.is_some()),
        ]
    }
}

/// Drives a joint with limited force or torque.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Motor", deny_unknown_fields, expecting = "a motor object")]
pub struct MotorRecord {
    /// Speed, m/s or rad/s. Positive lengthens, moves `b` along the axis, or turns `b` counter-clockwise.
    #[schemars(range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub speed: f32,
    /// Maximum force, N, or torque, N·m.
    #[schemars(range(min = 0, max = MAX_VALUE))]
    pub max: f32,
}

/// Pulls a joint towards a position.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Spring", deny_unknown_fields, expecting = "a spring object")]
pub struct SpringRecord {
    /// Natural frequency of the bodies on the spring, Hz.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub hertz: f32,
    /// Damping ratio; 1 is critical.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_HERTZ))]
    pub damping_ratio: f32,
    /// Rest position: m along the axis, or rad.
    #[serde(default)]
    #[schemars(range(min = -MAX_LENGTH, max = MAX_LENGTH))]
    pub target: f32,
}

impl From<Motor> for MotorRecord {
    fn from(Motor { speed, max }: Motor) -> Self {
        Self { speed, max }
    }
}

impl From<MotorRecord> for Motor {
    fn from(MotorRecord { speed, max }: MotorRecord) -> Self {
        Self { speed, max }
    }
}

impl From<Spring> for SpringRecord {
    fn from(Spring { hertz, damping_ratio, target }: Spring) -> Self {
        Self { hertz, damping_ratio, target }
    }
}

impl From<SpringRecord> for Spring {
    fn from(SpringRecord { hertz, damping_ratio, target }: SpringRecord) -> Self {
        Self { hertz, damping_ratio, target }
    }
}
