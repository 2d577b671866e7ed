//! Joints as they are written down: one struct for all types, as an object's keys come in any order and `type` need
//! not be the first; which of them belong to which type is told by [`own_keys`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use super::values::{BodyRef, Element, Named, Pair, Word, given, given_object};
use drystone::low_level::scene::check::{MAX_ANGLE, MAX_HERTZ, MAX_LENGTH, MAX_NAME, MAX_VALUE, MIN_LENGTH};
use drystone::{JointKind, Motor, Spring};

/// What a joint does.
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
}

impl Word for JointType {
    const EXPECTED: &'static str = "distance, spring, revolute, prismatic, weld, wheel, motor or mouse";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("distance", Self::Distance),
        ("spring", Self::Spring),
        ("revolute", Self::Revolute),
        ("prismatic", Self::Prismatic),
        ("weld", Self::Weld),
        ("wheel", Self::Wheel),
        ("motor", Self::Motor),
        ("mouse", Self::Mouse),
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
        }
    }
}

/// Keys that every type may have.
pub const COMMON_KEYS: [&str; 10] =
    ["type", "id", "a", "b", "anchor_a", "anchor_b", "collide", "break_force", "break_torque", "enabled"];

/// The other keys that a joint of this type must have, and those that it may have.
pub fn own_keys(kind: JointType) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        JointType::Distance => (&[], &["length", "limits", "motor", "hertz", "damping_ratio"]),
        JointType::Spring => (&["stiffness"], &["rest_length", "damping"]),
        JointType::Revolute => (&[], &["reference_angle", "limits", "motor", "spring", "hertz", "damping_ratio"]),
        JointType::Prismatic => {
            (&["axis"], &["reference_angle", "limits", "motor", "spring", "hertz", "damping_ratio"])
        }
        JointType::Wheel => (&["axis"], &["limits", "motor", "spring", "hertz", "damping_ratio"]),
        JointType::Weld => {
            (&[], &["reference_angle", "angular_hertz", "angular_damping_ratio", "hertz", "damping_ratio"])
        }
        JointType::Motor => {
            (&[], &["linear_offset", "angular_offset", "max_force", "max_torque", "hertz", "damping_ratio"])
        }
        JointType::Mouse => (&["target"], &["max_force", "hertz", "damping_ratio"]),
    }
}

/// A tie between two bodies, or between a body and the world. Which keys it has depends on `type`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "Joint", deny_unknown_fields, expecting = "a joint object")]
#[schemars(transform = schema::keys_of_joints)]
pub struct JointRecord {
    /// distance: a rod, or a rope, piston or winch by limits and motor; spring: Hooke's; revolute: a hinge; prismatic:
    /// a slider that keeps its angle; wheel: a slider that turns; weld: holds place and angle; motor: drives `b` to a
    /// place and an angle against `a`, with limited force; mouse: pulls `b` towards a place in the world.
    #[serde(rename = "type")]
    pub kind: Named<JointType>,
    /// Name for reports; unique among the joints of the scene.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String", length(min = 1, max = MAX_NAME))]
    pub id: Option<String>,
    /// First body: index or id. Left out: the world. Not for mouse.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "BodyRef")]
    pub a: Option<BodyRef>,
    /// Second body: index or id.
    pub b: BodyRef,
    /// In the frame of `a` or the world, m. Not for mouse.
    #[serde(default)]
    #[schemars(schema_with = "schema::position")]
    pub anchor_a: Pair,
    /// In the frame of `b`, m.
    #[serde(default)]
    #[schemars(schema_with = "schema::position")]
    pub anchor_b: Pair,
    /// Whether the two bodies touch each other.
    #[serde(default)]
    pub collide: bool,
    /// Stiffness of what the joint holds, Hz. Left out: 60, which is rigid to the eye (mouse: 5). Not for spring; a
    /// distance that limits or a motor leave free is held only if this is given.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub hertz: Option<f32>,
    /// Damping of what the joint holds; 1 is critical. Left out: 2 (mouse: 0.7). Not for spring.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_HERTZ))]
    pub damping_ratio: Option<f32>,
    /// Breaks when it pulls or pushes harder than this, N.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_VALUE))]
    pub break_force: Option<f32>,
    /// Breaks when it turns harder than this, N·m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_VALUE))]
    pub break_torque: Option<f32>,
    /// A joint that is switched off does nothing.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// distance: m. Left out: as the scene starts.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = MIN_LENGTH, max = MAX_LENGTH))]
    pub length: Option<f32>,
    /// spring: m. Left out: as the scene starts.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_LENGTH))]
    pub rest_length: Option<f32>,
    /// spring: N/m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub stiffness: Option<f32>,
    /// spring: N·s/m. Left out: 0.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub damping: Option<f32>,
    /// prismatic, wheel: direction in the frame of `a` or the world; need not have length 1.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub axis: Option<Pair>,
    /// revolute, prismatic, weld: the angle of `b` against `a` that counts as 0, rad. Left out: as the scene starts.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_ANGLE, max = MAX_ANGLE))]
    pub reference_angle: Option<f32>,
    /// distance (shortest, longest), prismatic, wheel: m; revolute: rad. Lower, upper.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub limits: Option<Pair>,
    /// distance, prismatic: drives along; revolute, wheel: turns.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "MotorRecord")]
    pub motor: Option<MotorRecord>,
    /// revolute: pulls towards an angle; prismatic, wheel: towards a place on the axis.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "SpringRecord")]
    pub spring: Option<Box<SpringRecord>>,
    /// weld: stiffness of the angle, Hz. Left out: as `hertz`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub angular_hertz: Option<f32>,
    /// weld: damping of the angle. Left out: as `damping_ratio`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_HERTZ))]
    pub angular_damping_ratio: Option<f32>,
    /// motor: where `b`'s anchor should be against `a`'s, in the frame of `a`, m. Left out: `[0, 0]`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub linear_offset: Option<Pair>,
    /// motor: the angle `b` should have to `a`, rad. Left out: 0.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_ANGLE, max = MAX_ANGLE))]
    pub angular_offset: Option<f32>,
    /// motor, mouse: largest force, N. Left out: 1e15, which is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub max_force: Option<f32>,
    /// motor: largest torque, N·m. Left out: 1e15, which is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_VALUE))]
    pub max_torque: Option<f32>,
    /// mouse: where `b`'s anchor is pulled to, in the world, m.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub target: Option<Pair>,
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
    /// The keys of which not every type has each, in the order above, and whether they are given.
    pub fn given_keys(&self) -> [(&'static str, bool); 19] {
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
            ("angular_hertz", self.angular_hertz.is_some()),
            ("angular_damping_ratio", self.angular_damping_ratio.is_some()),
            ("linear_offset", self.linear_offset.is_some()),
            ("angular_offset", self.angular_offset.is_some()),
            ("max_force", self.max_force.is_some()),
            ("max_torque", self.max_torque.is_some()),
            ("target", self.target.is_some()),
            // Common, but a mouse joint has no first body.
            ("a", self.a.is_some()),
        ]
    }
}

/// Turns or drives a joint with what force it has.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Motor", deny_unknown_fields, expecting = "a motor object")]
pub struct MotorRecord {
    /// m/s, or rad/s where it turns. Positive lengthens, moves `b` along the axis, or turns `b` counter-clockwise.
    #[schemars(range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub speed: f32,
    /// Largest force, N, or torque, N·m.
    #[schemars(range(min = 0, max = MAX_VALUE))]
    pub max: f32,
}

/// Pulls a joint towards a position.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Spring", deny_unknown_fields, expecting = "a spring object")]
pub struct SpringRecord {
    /// Frequency at which the bodies would swing on it, Hz.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = MAX_HERTZ))]
    pub hertz: f32,
    /// 1 is critical.
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
