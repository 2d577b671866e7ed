//! Records of timed commands, and their conversion to and from the model.

use std::collections::HashMap;

use glam::Vec2;
use schemars::JsonSchema;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize as DeriveSerialize};

use super::joint_records::MotorRecord;
use super::schema;
use super::values::{BodyRef, Element, JointPick, Pair, given, given_object};
use super::write::Out;
use drystone::low_level::scene::check::{MAX_ANGLE, MAX_LENGTH, MAX_VALUE};
use drystone::low_level::scene::{StartCondition, TimedAction, TimedCommand};
use drystone::{Body, Command, Joint, JointCommand, Motor, SceneError};

/// Action keys; a timed command has exactly one.
pub const ACTIONS: [&str; 14] = [
    "gravity",
    "force",
    "torque",
    "impulse",
    "angular_impulse",
    "velocity",
    "angular_velocity",
    "motor",
    "limits",
    "length",
    "target",
    "spring_target",
    "enabled",
    "remove",
];
/// Number of actions for bodies, after gravity.
const OF_BODIES: usize = 6;

/// A command that acts at a time or once a condition holds, at once or as a ramp. Exactly one of `gravity`, `force`,
/// `torque`, `impulse`, `angular_impulse`, `velocity`, `angular_velocity`, `motor`, `limits`, `length`, `target`,
/// `spring_target`, `enabled`, `remove`. Commands to a body or joint that is gone do nothing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename = "TimedCommand", default, deny_unknown_fields, expecting = "a timed command object")]
#[schemars(transform = schema::one_action)]
pub struct TimedCommandRecord {
    /// Time, s: the command acts before the step whose begin is nearest to it. With `when`: the earliest time. Left
    /// out: 0 with `when`, else required.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f64", range(min = 0, max = 1_000_000_000))]
    pub at: Option<f64>,
    /// Condition for which the command waits.
    #[serde(deserialize_with = "given_object")]
    #[schemars(with = "WhenRecord")]
    pub when: Option<WhenRecord>,
    /// Duration of a ramp, s: the value goes on a straight line from that of the latest command for the same thing, or
    /// of the scene, to the one given here; in each step it is that at the middle of the step. Not for impulses,
    /// `enabled` and `remove`.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub over: f64,
    /// Body: index or id. For `force`, `torque`, `impulse`, `angular_impulse`, `velocity` and `angular_velocity`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "BodyRef")]
    pub body: Option<BodyRef>,
    /// Joint: index or id. For `motor`, `limits`, `length`, `target`, `spring_target` and `enabled`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "JointPick")]
    pub joint: Option<JointPick>,
    /// Gravity, m/s².
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub gravity: Option<Pair>,
    /// Constant force on the body from then on, in world axes, N.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub force: Option<Pair>,
    /// Constant torque on the body from then on, N·m.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub torque: Option<f32>,
    /// Impulse on the body, in world axes, N·s.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub impulse: Option<Pair>,
    /// Angular impulse on the body, N·m·s.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub angular_impulse: Option<f32>,
    /// Point at which a force or an impulse acts, in the body's frame, m. Left out: the centre of mass.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "schema::offset")]
    pub point: Option<Pair>,
    /// Velocity of the body's centre of mass, m/s. Dynamic and kinematic bodies.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub velocity: Option<Pair>,
    /// Angular velocity of the body, rad/s. Dynamic and kinematic bodies.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_VALUE, max = MAX_VALUE))]
    pub angular_velocity: Option<f32>,
    /// Speed and strength of the joint's motor. The joint has one in the scene.
    #[serde(deserialize_with = "given_object")]
    #[schemars(with = "MotorRecord")]
    pub motor: Option<MotorRecord>,
    /// Lower and upper limit of the joint, m or rad. The joint has limits in the scene.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Pair")]
    pub limits: Option<Pair>,
    /// Length of a distance joint, or rest length of a spring, m.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = MAX_LENGTH))]
    pub length: Option<f32>,
    /// Target of a mouse joint in the world, m.
    #[serde(deserialize_with = "given")]
    #[schemars(schema_with = "schema::position")]
    pub target: Option<Pair>,
    /// Rest position of the spring of a hinge, slider or wheel, rad or m.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", range(min = -MAX_ANGLE, max = MAX_ANGLE))]
    pub spring_target: Option<f32>,
    /// False: the joint has no effect from then on.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub enabled: Option<bool>,
    /// Bodies and joints that are removed.
    #[serde(deserialize_with = "given_object")]
    #[schemars(with = "RemoveRecord")]
    pub remove: Option<RemoveRecord>,
}

/// A condition on the state between two steps. Exactly one of `speed_below` and `bodies`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename = "When", default, deny_unknown_fields, expecting = "a condition object")]
pub struct WhenRecord {
    /// All dynamic bodies are slower than this, m/s.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = MAX_VALUE))]
    pub speed_below: Option<f32>,
    /// Least number of bodies, of all types.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32")]
    pub bodies: Option<u32>,
}

/// Bodies and joints that are removed: by index, by id, or all ids with a beginning, such as `wall*`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename = "Remove", default, deny_unknown_fields, expecting = "a remove object")]
pub struct RemoveRecord {
    /// Bodies, with their joints.
    pub bodies: Vec<BodyRef>,
    /// Joints.
    pub joints: Vec<JointPick>,
}

impl Element for TimedCommandRecord {
    fn lack(&self) -> Option<String> {
        if self.at.is_none() && self.when.is_none() {
            return Some("neither `at` nor `when`, expected one of them".to_owned());
        }
        let none = self.actions() == [false; ACTIONS.len()];
        none.then(|| format!("no action, expected one of {}", ACTIONS.join(", ")))
    }
}

impl TimedCommandRecord {
    /// Returns true for each of [`ACTIONS`] that it has.
    fn actions(&self) -> [bool; ACTIONS.len()] {
        [
            self.gravity.is_some(),
            self.force.is_some(),
            self.torque.is_some(),
            self.impulse.is_some(),
            self.angular_impulse.is_some(),
            self.velocity.is_some(),
            self.angular_velocity.is_some(),
            self.motor.is_some(),
            self.limits.is_some(),
            self.length.is_some(),
            self.target.is_some(),
            self.spring_target.is_some(),
            self.enabled.is_some(),
            self.remove.is_some(),
        ]
    }
}

/// Converts the timeline of a scene with these bodies and joints.
pub fn timeline(
    records: &[TimedCommandRecord],
    bodies: &[Body],
    joints: &[Joint],
) -> Result<Vec<TimedCommand>, SceneError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let names = PartNames {
        bodies: NameList::new("body", "bodies", bodies.iter().map(|body| body.id.as_deref())),
        joints: NameList::new("joint", "joints", joints.iter().map(|joint| joint.id.as_deref())),
    };
    let command = |(index, record)| command(record, &names, &format!("timeline[{index}]"));
    records.iter().enumerate().map(command).collect()
}

struct PartNames<'a> {
    bodies: NameList<'a>,
    joints: NameList<'a>,
}

/// PartNames of the bodies or joints of a scene.
struct NameList<'a> {
    one: &'static str,
    all: &'static str,
    names: Vec<Option<&'a str>>,
    indices: HashMap<&'a str, usize>,
}

impl<'a> NameList<'a> {
    fn new(one: &'static str, all: &'static str, names: impl Iterator<Item = Option<&'a str>>) -> Self {
        let names: Vec<Option<&str>> = names.collect();
        let indices = names.iter().enumerate().filter_map(|(index, name)| Some(((*name)?, index))).collect();
        Self { one, all, names, indices }
    }

    fn find(&self, of: &BodyRef, at: &str) -> Result<usize, SceneError> {
        let found = match of {
            BodyRef::Index(index) => usize::try_from(*index).ok().filter(|&index| index < self.names.len()),
            BodyRef::Id(id) => self.indices.get(id.as_str()).copied(),
        };
        found.ok_or_else(|| {
            let problem = match of {
                BodyRef::Index(index) => format!("refers to {} {index} of {}", self.one, self.names.len()),
                BodyRef::Id(id) => format!("refers to {id:?}, which is no {}", self.one),
            };
            SceneError::new(at, problem, format!("the index or the id of a {}", self.one))
        })
    }

    /// Returns the indices of a list, in which an id that ends in `*` stands for all with that beginning.
    fn find_all(&self, list: &[BodyRef], at: &str) -> Result<Vec<usize>, SceneError> {
        let mut found = Vec::new();
        for (place, of) in list.iter().enumerate() {
            let at = format!("{at}[{place}]");
            let beginning = match of {
                BodyRef::Id(id) if !self.indices.contains_key(id.as_str()) => id.strip_suffix('*'),
                _ => None,
            };
            let Some(beginning) = beginning else {
                found.push(self.find(of, &at)?);
                continue;
            };
            let group =
                self.names.iter().enumerate().filter(|(_, name)| name.is_some_and(|n| n.starts_with(beginning)));
            let before = found.len();
            found.extend(group.map(|(index, _)| index));
            if found.len() == before {
                let problem = format!("stands for no {}", self.one);
                let expected = format!("the beginning of the id of some {}, and *", self.all);
                return Err(SceneError::new(at, problem, expected));
            }
        }
        Ok(found)
    }
}

fn command(record: &TimedCommandRecord, names: &PartNames<'_>, at: &str) -> Result<TimedCommand, SceneError> {
    let there = record.actions();
    let given: Vec<&str> = ACTIONS.iter().zip(there).filter(|(_, there)| *there).map(|(key, _)| *key).collect();
    let (&[key], Some(place)) = (&given[..], there.iter().position(|there| *there)) else {
        return Err(SceneError::new(at, format!("has {}", given.join(" and ")), "only one action in a command"));
    };
    let is_for_body = (1..=OF_BODIES).contains(&place);
    let is_for_joint = place > OF_BODIES && key != "remove";
    for (what, there, wanted) in [
        ("body", record.body.is_some(), is_for_body),
        ("joint", record.joint.is_some(), is_for_joint),
        ("point", record.point.is_some(), false),
    ] {
        let allowed = wanted || (what == "point" && matches!(key, "force" | "impulse"));
        if there && !allowed {
            return Err(SceneError::new(
                format!("{at}.{what}"),
                format!("is given with `{key}`"),
                format!("no `{what}`"),
            ));
        }
        if wanted && !there {
            return Err(SceneError::new(
                at,
                format!("has `{key}` and no `{what}`"),
                format!("the key `{what}` as well"),
            ));
        }
    }
    let when = record.when.as_ref().map(|when| condition(when, at)).transpose()?;
    let action = if let Some(remove) = &record.remove {
        let joints: Vec<BodyRef> = remove.joints.iter().map(|joint| joint.0.clone()).collect();
        TimedAction::Remove {
            bodies: names.bodies.find_all(&remove.bodies, &format!("{at}.remove.bodies"))?,
            joints: names.joints.find_all(&joints, &format!("{at}.remove.joints"))?,
        }
    } else if let Some(Pair(gravity)) = record.gravity {
        TimedAction::Gravity(gravity)
    } else if let Some(body) = &record.body {
        let body = names.bodies.find(body, &format!("{at}.body"))?;
        TimedAction::Body(body, body_command(record))
    } else if let Some(JointPick(joint)) = &record.joint {
        let joint = names.joints.find(joint, &format!("{at}.joint"))?;
        TimedAction::Joint(joint, joint_command(record))
    } else {
        // Found above.
        return Err(SceneError::new(at, "has no action", ACTIONS.join(", ")));
    };
    Ok(TimedCommand { when, at: record.at.unwrap_or_default(), over: record.over, action })
}

fn condition(record: &WhenRecord, at: &str) -> Result<StartCondition, SceneError> {
    match (record.speed_below, record.bodies) {
        (Some(speed), None) => Ok(StartCondition::SpeedBelow(speed)),
        (None, Some(count)) => Ok(StartCondition::Bodies(count)),
        (None, None) => Err(SceneError::new(format!("{at}.when"), "is empty", "`speed_below` or `bodies`")),
        (Some(_), Some(_)) => {
            Err(SceneError::new(format!("{at}.when"), "has `speed_below` and `bodies`", "only one of them"))
        }
    }
}

/// Returns the command to a body; one of its keys is given.
fn body_command(record: &TimedCommandRecord) -> Command {
    let point = record.point.map(|point| point.0);
    if let Some(Pair(force)) = record.force {
        Command::Force { force, point }
    } else if let Some(torque) = record.torque {
        Command::Torque(torque)
    } else if let Some(Pair(impulse)) = record.impulse {
        Command::Impulse { impulse, point }
    } else if let Some(impulse) = record.angular_impulse {
        Command::AngularImpulse(impulse)
    } else if let Some(Pair(velocity)) = record.velocity {
        Command::Velocity(velocity)
    } else {
        Command::AngularVelocity(record.angular_velocity.unwrap_or_default())
    }
}

/// Returns the command to a joint; one of its keys is given.
fn joint_command(record: &TimedCommandRecord) -> JointCommand {
    if let Some(motor) = record.motor {
        let Motor { speed, max } = motor.into();
        JointCommand::Motor { speed, max }
    } else if let Some(Pair(limits)) = record.limits {
        JointCommand::Limits(limits.to_array())
    } else if let Some(length) = record.length {
        JointCommand::Length(length)
    } else if let Some(Pair(target)) = record.target {
        JointCommand::Target(target)
    } else if let Some(target) = record.spring_target {
        JointCommand::SpringTarget(target)
    } else {
        JointCommand::Enable(record.enabled.unwrap_or_default())
    }
}

impl Serialize for Out<'_, TimedCommand> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TimedCommand { when, at, over, action } = self.0;
        let mut keys = serializer.serialize_struct("TimedCommand", 6)?;
        if when.is_none() || *at > 0.0 {
            keys.serialize_field("at", at)?;
        }
        if let Some(when) = when {
            keys.serialize_field("when", &Out(when))?;
        }
        if *over > 0.0 {
            keys.serialize_field("over", over)?;
        }
        let key = action.key();
        match action {
            TimedAction::Gravity(gravity) => keys.serialize_field(key, &Pair(*gravity))?,
            TimedAction::Body(body, command) => {
                keys.serialize_field("body", body)?;
                write_body_command(&mut keys, key, *command)?;
            }
            TimedAction::Joint(joint, command) => {
                keys.serialize_field("joint", joint)?;
                write_joint_command(&mut keys, key, *command)?;
            }
            TimedAction::Remove { bodies, joints } => {
                keys.serialize_field(key, &Removed { bodies, joints })?;
            }
        }
        keys.end()
    }
}

impl Serialize for Out<'_, StartCondition> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("When", 1)?;
        match self.0 {
            StartCondition::SpeedBelow(speed) => keys.serialize_field("speed_below", speed)?,
            StartCondition::Bodies(count) => keys.serialize_field("bodies", count)?,
        }
        keys.end()
    }
}

/// Bodies and joints by index.
#[derive(DeriveSerialize)]
#[serde(rename = "Remove")]
struct Removed<'a> {
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    bodies: &'a [usize],
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    joints: &'a [usize],
}

fn write_body_command<S: SerializeStruct>(keys: &mut S, key: &'static str, command: Command) -> Result<(), S::Error> {
    let (value, point) = match command {
        Command::Force { force: value, point } | Command::Impulse { impulse: value, point } => (value, point),
        Command::Velocity(velocity) => (velocity, None),
        Command::Torque(value) | Command::AngularImpulse(value) | Command::AngularVelocity(value) => {
            return keys.serialize_field(key, &value);
        }
        // Refused by the check; written in a form that is not read.
        Command::Teleport { .. } | Command::Target { .. } | Command::Wake => (Vec2::NAN, None),
    };
    keys.serialize_field(key, &Pair(value))?;
    point.map_or(Ok(()), |point| keys.serialize_field("point", &Pair(point)))
}

fn write_joint_command<S: SerializeStruct>(
    keys: &mut S,
    key: &'static str,
    command: JointCommand,
) -> Result<(), S::Error> {
    match command {
        JointCommand::Motor { speed, max } => keys.serialize_field(key, &MotorRecord { speed, max }),
        JointCommand::Limits(limits) => keys.serialize_field(key, &limits),
        JointCommand::Target(target) => keys.serialize_field(key, &Pair(target)),
        JointCommand::Length(value) | JointCommand::SpringTarget(value) => keys.serialize_field(key, &value),
        JointCommand::Enable(on) => keys.serialize_field(key, &on),
        // Refused by the check; written in a form that is not read.
        JointCommand::Offset { .. } | JointCommand::Velocity { .. } => keys.serialize_field(key, &f32::NAN),
    }
}
