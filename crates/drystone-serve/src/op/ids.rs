//! References of clients to bodies and joints: ids, names or indices.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::hosted::Hosted;
use crate::problem::Problem;
use drystone::{BodyId, JointId};

/// Reference to a body: its id `"slot.generation"`, its name in the scene, or its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodySelector {
    /// Current body in the slot.
    Slot(u32),
    /// An id or a name.
    Name(String),
}

/// Reference to a joint: its id `"index.generation"`, its name in the scene, or its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JointRef(pub BodySelector);

/// Returns the schema of a reference: a string or a number.
fn reference_schema(of: &str) -> RefOr<Schema> {
    let word = ObjectBuilder::new().schema_type(Type::String).description(Some(format!("Id or name of a {of}")));
    let index = ObjectBuilder::new().schema_type(Type::Integer).description(Some(format!("Index of a {of}")));
    OneOfBuilder::new().item(word).item(index).into()
}

impl PartialSchema for BodySelector {
    fn schema() -> RefOr<Schema> {
        reference_schema("body")
    }
}

impl ToSchema for BodySelector {
    fn name() -> std::borrow::Cow<'static, str> {
        "BodyRef".into()
    }
}

impl PartialSchema for JointRef {
    fn schema() -> RefOr<Schema> {
        reference_schema("joint")
    }
}

impl ToSchema for JointRef {}

impl Serialize for BodySelector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Slot(slot) => serializer.serialize_u32(*slot),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for BodySelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = BodySelector;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an id such as \"12.0\", a name, or an index")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<BodySelector, E> {
                if text.len() > 256 {
                    return Err(E::custom("the name is longer than 256 bytes"));
                }
                Ok(BodySelector::Name(text.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<BodySelector, E> {
                u32::try_from(number).map(BodySelector::Slot).map_err(|_| E::custom("the index is above 4294967295"))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Parses `index.generation`.
fn read_id(text: &str) -> Option<(u32, u32)> {
    let (index, generation) = text.split_once('.')?;
    Some((index.parse().ok()?, generation.parse().ok()?))
}

/// Finds a body by its reference.
///
/// # Errors
/// No such body exists.
pub(crate) fn find_body(world: &mut Hosted, body: &BodySelector) -> Result<BodyId, Problem> {
    let missing = |what: String| Problem::invalid(format!("there is no body {what}"));
    match body {
        BodySelector::Slot(slot) => world.body_id(*slot as usize).ok_or_else(|| missing(slot.to_string())),
        BodySelector::Name(name) => {
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

/// Finds a joint by its reference.
///
/// # Errors
/// No such joint exists.
pub(crate) fn find_joint(world: &Hosted, joint: &JointRef) -> Result<JointId, Problem> {
    let missing = |what: String| Problem::invalid(format!("there is no joint {what}"));
    match &joint.0 {
        BodySelector::Slot(index) => world.joint_id(*index as usize).ok_or_else(|| missing(index.to_string())),
        BodySelector::Name(name) => {
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

/// Parses the id of a body.
///
/// # Errors
/// The text is not an id.
pub fn body_from_text(text: &str) -> Result<BodyId, String> {
    let (index, generation) = read_id(text).ok_or_else(|| format!("{text:?} is not the id of a body"))?;
    Ok(BodyId { index, generation })
}

/// Parses the id of a joint.
///
/// # Errors
/// The text is not an id.
pub fn joint_from_text(text: &str) -> Result<JointId, String> {
    let (index, generation) = read_id(text).ok_or_else(|| format!("{text:?} is not the id of a joint"))?;
    Ok(JointId { index, generation })
}
