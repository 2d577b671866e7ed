//! Reads and writes the journal of edits as JSON: bodies and joints that a user added, removed or changed at given
//! steps, in the format of scene files.
//!
//! ```json
//! { "version": 1, "changes": [
//!   { "step": 12, "add": [{ "type": "dynamic", "position": [0, 5], "shapes": [{ "circle": { "radius": 1 } }] }] },
//!   { "step": 15, "tie": [{ "b": "3.0", "joint": { "type": "mouse", "b": 0, "target": [1, 2] } }] },
//!   { "step": 19, "part": ["0.0"] }, { "step": 20, "remove": ["3.0"] }, { "step": 30, "gravity": [0, -5] } ] }
//! ```

use serde::Deserialize;

use super::error::FileError;
use super::joint_records::JointRecord;
use super::property_records::PropertyRecord;
use super::records::{BodyRecord, ShapeRecord};
use super::values::{Element, Pair, at_most, given};
use super::write::{Out, json};
use super::{convert, parse_json, too_large};
use drystone::low_level::scene::{MAX_BODIES, MAX_JOINTS, MAX_SHAPES};
use drystone::low_level::{Alteration, Journal};
use drystone::{BodyId, JointId};
use drystone::{Joint, Property, SceneError};

/// Version of the format.
const VERSION: u32 = 1;
/// Maximum number of edits: more than a user makes in years.
const MAX_CHANGES: usize = 1 << 22;

#[derive(Debug, Deserialize)]
#[serde(rename = "Journal", deny_unknown_fields, expecting = "a journal object")]
struct JournalRecord {
    version: u32,
    #[serde(deserialize_with = "at_most::<_, _, MAX_CHANGES>")]
    changes: Vec<ChangeRecord>,
}

/// An edit: the step and exactly one of the other keys.
#[derive(Debug, Deserialize)]
#[serde(rename = "Change", deny_unknown_fields, expecting = "a change object")]
struct ChangeRecord {
    step: u64,
    #[serde(default, deserialize_with = "bodies")]
    add: Option<Vec<BodyRecord>>,
    #[serde(default, deserialize_with = "given")]
    remove: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    replace: Option<ReplaceRecord>,
    #[serde(default, deserialize_with = "given")]
    set_shapes: Option<SetShapesRecord>,
    #[serde(default, deserialize_with = "properties")]
    set: Option<Vec<PropertyRecord>>,
    #[serde(default, deserialize_with = "joints")]
    join: Option<Vec<JointRecord>>,
    #[serde(default, deserialize_with = "ties")]
    tie: Option<Vec<TieRecord>>,
    #[serde(default, deserialize_with = "given")]
    replace_joint: Option<ReplaceJointRecord>,
    #[serde(default, deserialize_with = "given")]
    part: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    gravity: Option<Pair>,
}

impl Element for ChangeRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

/// Replaces a body, given by its id, by a new description.
#[derive(Debug, Deserialize)]
#[serde(rename = "Replace", deny_unknown_fields, expecting = "a replace object")]
struct ReplaceRecord {
    id: String,
    body: BodyRecord,
}

/// Replaces the shapes of a body, given by its id.
#[derive(Debug, Deserialize)]
#[serde(rename = "SetShapes", deny_unknown_fields, expecting = "a set_shapes object")]
struct SetShapesRecord {
    id: String,
    #[serde(deserialize_with = "at_most::<_, _, MAX_SHAPES>")]
    shapes: Vec<ShapeRecord>,
}

/// Replaces a joint, given by its id, by a new description. Its bodies stay.
#[derive(Debug, Deserialize)]
#[serde(rename = "ReplaceJoint", deny_unknown_fields, expecting = "a replace_joint object")]
struct ReplaceJointRecord {
    id: String,
    joint: JointRecord,
}

/// A joint between two bodies, or the world and a body, given by their ids.
#[derive(Debug, Deserialize)]
#[serde(rename = "Tie", deny_unknown_fields, expecting = "a tie object")]
struct TieRecord {
    #[serde(default, deserialize_with = "given")]
    a: Option<String>,
    b: String,
    joint: JointRecord,
}

impl Element for TieRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

fn bodies<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<BodyRecord>>, D::Error> {
    at_most::<_, _, MAX_BODIES>(deserializer).map(Some)
}

fn joints<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<JointRecord>>, D::Error> {
    at_most::<_, _, MAX_JOINTS>(deserializer).map(Some)
}

fn properties<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<PropertyRecord>>, D::Error> {
    at_most::<_, _, MAX_BODIES>(deserializer).map(Some)
}

fn ties<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<TieRecord>>, D::Error> {
    at_most::<_, _, MAX_JOINTS>(deserializer).map(Some)
}

/// Writes a journal as JSON, one edit per line. [`parse_journal`] restores it exactly, to the last bit.
pub(crate) fn write_journal(journal: &Journal) -> String {
    let changes: Vec<String> = journal
        .entries()
        .iter()
        .map(|(step, change)| format!("\n  {{ \"step\": {step}, {} }}", entry(change)))
        .collect();
    format!("{{ \"version\": {VERSION}, \"changes\": [{}\n] }}\n", changes.join(","))
}

fn entry(change: &Alteration) -> String {
    let list = |parts: Vec<String>| format!("[{}]", parts.join(", "));
    match change {
        Alteration::AddBodies(bodies) => {
            format!("\"add\": {}", list(bodies.iter().map(|body| json(&Out(body))).collect()))
        }
        Alteration::RemoveBodies(ids) => {
            format!("\"remove\": {}", list(ids.iter().map(|id| format!("\"{id}\"")).collect()))
        }
        Alteration::ReplaceBody(id, body) => {
            format!("\"replace\": {{ \"id\": \"{id}\", \"body\": {} }}", json(&Out(&**body)))
        }
        Alteration::SetShapes(id, shapes) => {
            let shapes = list(shapes.iter().map(|shape| json(&Out(shape))).collect());
            format!("\"set_shapes\": {{ \"id\": \"{id}\", \"shapes\": {shapes} }}")
        }
        Alteration::SetProperties(properties) => {
            let record = |&(id, property): &(BodyId, Property)| json(&PropertyRecord::new(id, property));
            format!("\"set\": {}", list(properties.iter().map(record).collect()))
        }
        Alteration::AddJoints(joints) => {
            format!("\"join\": {}", list(joints.iter().map(|joint| json(&Out(joint))).collect()))
        }
        Alteration::AddJointsBetween(ties) => {
            let tie = |(a, b, joint): &(Option<BodyId>, BodyId, Joint)| {
                let first = a.map_or(String::new(), |a| format!("\"a\": \"{a}\", "));
                // The body ids are separate keys.
                let joint = Joint { a: a.map(|_| 0), b: 0, ..joint.clone() };
                format!("{{ {first}\"b\": \"{b}\", \"joint\": {} }}", json(&Out(&joint)))
            };
            format!("\"tie\": {}", list(ties.iter().map(tie).collect()))
        }
        Alteration::ReplaceJoint(id, joint) => {
            format!("\"replace_joint\": {{ \"id\": \"{id}\", \"joint\": {} }}", json(&Out(&**joint)))
        }
        Alteration::RemoveJoints(ids) => {
            format!("\"part\": {}", list(ids.iter().map(|id| format!("\"{id}\"")).collect()))
        }
        Alteration::Gravity(gravity) => format!("\"gravity\": {}", json(&Pair(*gravity))),
    }
}

/// Parses the output of [`write_journal`]. Its values are checked by the world to which the journal is applied.
///
/// # Errors
/// The first invalid key or value, with its line.
pub(crate) fn parse_journal(text: &str, source_name: &str) -> Result<Journal, FileError> {
    if text.len() > super::MAX_FILE_BYTES {
        return Err(too_large(source_name, &format!("has {} bytes", text.len())));
    }
    parse_json(text, source_name, convert)
}

fn convert(record: JournalRecord) -> Result<Journal, SceneError> {
    if record.version != VERSION {
        let expected = format!("{VERSION}, the version this release reads");
        return Err(SceneError::new("version", format!("is {}", record.version), expected));
    }
    let mut journal = Journal::default();
    for (index, record) in record.changes.into_iter().enumerate() {
        let at = format!("changes[{index}]");
        journal.push(record.step, change(record, &at)?);
    }
    Ok(journal)
}

fn change(record: ChangeRecord, at: &str) -> Result<Alteration, SceneError> {
    let ChangeRecord { step: _, add, remove, replace, set_shapes, set, join, tie, replace_joint, part, gravity } =
        record;
    let body = |text: &str, at: String| {
        id(text).map(|[index, generation]| BodyId { index, generation }).ok_or_else(|| no_id(at, text))
    };
    let joint = |text: &str, at: String| {
        id(text).map(|[index, generation]| JointId { index, generation }).ok_or_else(|| no_id(at, text))
    };
    let mut all = Vec::new();
    if let Some(records) = add {
        let bodies = convert::all_bodies(records, &[]).map_err(|error| {
            let path = error.path.replacen("bodies", "add", 1);
            SceneError { path: format!("{at}.{path}"), ..error }
        })?;
        all.push(Alteration::AddBodies(bodies));
    }
    if let Some(ids) = remove {
        let ids = ids.iter().enumerate().map(|(index, text)| body(text, format!("{at}.remove[{index}]")));
        all.push(Alteration::RemoveBodies(ids.collect::<Result<_, _>>()?));
    }
    if let Some(ReplaceRecord { id, body: record }) = replace {
        let at = format!("{at}.replace");
        let id = body(&id, format!("{at}.id"))?;
        let bodies = convert::all_bodies(vec![record], &[]).map_err(|error| {
            let path = error.path.replacen("bodies[0]", "body", 1);
            SceneError { path: format!("{at}.{path}"), ..error }
        })?;
        all.extend(bodies.into_iter().next().map(|body| Alteration::ReplaceBody(id, Box::new(body))));
    }
    if let Some(SetShapesRecord { id, shapes }) = set_shapes {
        let at = format!("{at}.set_shapes");
        let id = body(&id, format!("{at}.id"))?;
        all.push(Alteration::SetShapes(id, convert::shapes(shapes, &[], &at)?));
    }
    if let Some(records) = set {
        let properties = records.iter().enumerate().map(|(index, record)| {
            let at = format!("{at}.set[{index}]");
            let text = record.id.as_deref().unwrap_or_default();
            Ok((body(text, format!("{at}.id"))?, record.property(&at)?))
        });
        all.push(Alteration::SetProperties(properties.collect::<Result<_, _>>()?));
    }
    if let Some(records) = join {
        let joints = records.into_iter().enumerate();
        let joints = joints.map(|(index, record)| convert::joint_by_index(record, &|| format!("{at}.join[{index}]")));
        all.push(Alteration::AddJoints(joints.collect::<Result<_, _>>()?));
    }
    if let Some(records) = tie {
        let ties = records.into_iter().enumerate().map(|(index, TieRecord { a, b, joint })| {
            let at = format!("{at}.tie[{index}]");
            let a = a.map(|a| body(&a, format!("{at}.a"))).transpose()?;
            let b = body(&b, format!("{at}.b"))?;
            Ok((a, b, convert::joint_by_index(joint, &|| format!("{at}.joint"))?))
        });
        all.push(Alteration::AddJointsBetween(ties.collect::<Result<_, _>>()?));
    }
    if let Some(ReplaceJointRecord { id, joint: record }) = replace_joint {
        let at = format!("{at}.replace_joint");
        let id = joint(&id, format!("{at}.id"))?;
        let made = convert::joint_by_index(record, &|| format!("{at}.joint"))?;
        all.push(Alteration::ReplaceJoint(id, Box::new(made)));
    }
    if let Some(ids) = part {
        let ids = ids.iter().enumerate().map(|(index, text)| joint(text, format!("{at}.part[{index}]")));
        all.push(Alteration::RemoveJoints(ids.collect::<Result<_, _>>()?));
    }
    if let Some(gravity) = gravity {
        all.push(Alteration::Gravity(gravity.0));
    }
    match (all.pop(), all.is_empty()) {
        (Some(change), true) => Ok(change),
        (found, _) => {
            let problem = format!("has {} changes", all.len() + usize::from(found.is_some()));
            Err(SceneError::new(
                at,
                problem,
                "one of add, remove, replace, set_shapes, set, join, tie, replace_joint, part and gravity",
            ))
        }
    }
}

fn no_id(at: String, text: &str) -> SceneError {
    SceneError::new(at, format!("is {text:?}"), "an index and a generation, such as \"3.0\"")
}

/// Parses the index and the generation of an id, such as `3.0`.
fn id(text: &str) -> Option<[u32; 2]> {
    let (index, generation) = text.split_once('.')?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some([number(index)?, number(generation)?])
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use drystone::{Body, BodyType, Filter, JointKind, Shape, ShapeProperty};

    fn journal() -> Journal {
        let body = BodyId { index: 3, generation: 1 };
        let mouse = JointKind::Mouse { target: Vec2::new(0.1, -0.2), max_force: 3.5 };
        let mut journal = Journal::default();
        let ball = Body::dynamic(0.1, 1.0 / 3.0).id("ball").shape(Shape::circle(0.5));
        journal.push(
            0,
            Alteration::AddBodies(vec![ball.clone(), Body::fixed(0.0, -0.0).shape(Shape::half_box(1.0, 2.0))]),
        );
        journal.push(7, Alteration::AddJointsBetween(vec![(None, body, Joint::to_world(mouse, 0).soft(5.0, 1.0))]));
        let hinge = Joint::new(JointKind::hinge(), 0, 0).anchors(Vec2::X, Vec2::Y);
        journal.push(
            7,
            Alteration::AddJointsBetween(vec![(Some(body), BodyId { index: 1, generation: 0 }, hinge.clone())]),
        );
        journal.push(8, Alteration::AddJoints(vec![Joint { a: Some(1), b: 2, ..hinge }]));
        journal.push(9, Alteration::RemoveJoints(vec![JointId { index: 0, generation: 2 }]));
        let driven = Joint::new(JointKind::hinge().motor(2.0, 5.0), 0, 0);
        journal.push(9, Alteration::ReplaceJoint(JointId { index: 1, generation: 0 }, Box::new(driven)));
        let heavy = Body::fixed(0.5, -0.0).id("anvil").shape(Shape::circle(0.25).density(7.5));
        journal.push(9, Alteration::ReplaceBody(body, Box::new(heavy)));
        let shapes = vec![Shape::circle(0.25).offset(0.1, -0.0), Shape::polygon([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])];
        journal.push(9, Alteration::SetShapes(body, shapes));
        let filter = Filter { category: 4, mask: 0xffff_0000, group: -2 };
        let properties = [
            Property::Kind(BodyType::Kinematic),
            Property::Mass(0.1),
            Property::Inertia(1.0 / 3.0),
            Property::FixedRotation(false),
            Property::Bullet(true),
            Property::CanSleep(false),
            Property::SleepSpeed(0.2),
            Property::GravityScale(-0.0),
            Property::LinearDamping(0.7),
            Property::AngularDamping(1e-7),
            Property::Shape(1, ShapeProperty::Friction(0.3)),
            Property::Shapes(ShapeProperty::KineticFriction(0.2)),
            Property::Shape(0, ShapeProperty::Restitution(1.0)),
            Property::Shapes(ShapeProperty::TangentSpeed(-2.5)),
            Property::Shapes(ShapeProperty::RollingResistance(0.05)),
            Property::Shape(2, ShapeProperty::Filter(filter)),
        ];
        let other = BodyId { index: 7, generation: 0 };
        journal.push(9, Alteration::SetProperties(properties.map(|property| (other, property)).to_vec()));
        journal.push(u64::MAX, Alteration::RemoveBodies(vec![body]));
        journal.push(u64::MAX, Alteration::Gravity(Vec2::new(-0.0, -9.81)));
        journal
    }

    #[test]
    fn a_journal_survives_writing_and_reading() {
        for journal in [journal(), Journal::default()] {
            let text = write_journal(&journal);
            let read = parse_journal(&text, "changes").unwrap();
            assert_eq!(read, journal, "{text}");
            assert_eq!(write_journal(&read), text);
        }
    }

    #[test]
    fn errors_name_their_line() {
        let text = write_journal(&journal());
        for (from, to, expected) in [
            (
                "\"version\": 1",
                "\"version\": 2",
                "changes:1:14: version: is 2; expected 1, the version this release reads",
            ),
            ("\"radius\"", "\"radios\"", "changes:2:"),
            (
                "\"part\": [\"0.2\"]",
                "\"part\": [\"0\"]",
                "changes[4].part[0]: is \"0\"; expected an index and a generation",
            ),
            ("\"part\": [\"0.2\"]", "\"part\": [\"+0.2\"]", "changes[4].part[0]: is \"+0.2\""),
            (
                "\"mass\": 0.1",
                "\"mass\": 0.1, \"bullet\": true",
                "changes[8].set[1]: has 2 properties; expected one, such as gravity_scale",
            ),
            ("\"mass\": 0.1", "\"mass\": 0.1, \"shape\": 0", "changes[8].set[1].shape: is given beside a property"),
            ("\"mass\": 0.1", "\"weight\": 0.1", "is an unknown key"),
            ("\"gravity\"", "\"remove\": [], \"gravity\"", "changes[10]: has 2 changes; expected one of add"),
            ("\"part\": [\"0.2\"]", "\"part\": [\"0.2\"], \"fly\": 1", "is an unknown key"),
            (", \"part\": [\"0.2\"]", "", "changes[4]: has 0 changes"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            let error = parse_journal(&changed, "changes").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
