//! The JSON Schema of the scene file, generated from the records that read it.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::joint_records::{self, JointType};
use super::records::SceneRecord;
use super::values::Word;
use drystone::low_level::scene::check::{MAX_LENGTH, MAX_OUTLINE_CORNERS, MAX_POSITION, MIN_LENGTH};

/// Returns the schema as pretty JSON with a newline at the end; shipped as `schema/scene-v1.schema.json`.
///
/// It describes a scene file key by key. Rules that involve more than one value (a clockwise polygon, a duplicate id,
/// an overflowing mass) are checked only by [`parse`](super::parse).
#[must_use]
pub fn json_schema() -> String {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<SceneRecord>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "Drystone scene, version 1".into());
    }
    tidy(&mut schema);
    let mut text = format!("{schema:#}");
    text.push('\n');
    text
}

/// Writes every number as the shortest with the same `f32` value (0.6, not 0.6000000238418579), replaces number formats
/// by ranges, and drops `null` defaults, which exist only in Rust.
fn tidy(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(tidy),
        Value::Object(map) => {
            let ends = match map.remove("format").as_ref().and_then(Value::as_str) {
                Some("uint32") => Some((i64::from(u32::MIN), i64::from(u32::MAX))),
                Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
                _ => None,
            };
            if let Some((min, max)) = ends {
                map.entry("minimum").or_insert_with(|| min.into());
                map.entry("maximum").or_insert_with(|| max.into());
            }
            if map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Number(number) => {
            #[allow(clippy::cast_possible_truncation, reason = "it was one")]
            let Some(short) = number.as_f64().filter(|_| number.is_f64()).map(|wide| wide as f32) else { return };
            if let Ok(parsed) = serde_json::from_str(&format!("{short:?}")) {
                *value = parsed;
            }
        }
        _ => {}
    }
}

/// Returns the schema of two numbers in a range.
pub fn pair(min: f32, max: f32) -> Schema {
    json_schema!({
        "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "number", "minimum": min, "maximum": max }
    })
}

/// Returns the schema of a point in the world, m.
pub fn position(_: &mut SchemaGenerator) -> Schema {
    pair(-MAX_POSITION, MAX_POSITION)
}

/// Returns the schema of a point in a frame, or of a way, m.
pub fn offset(_: &mut SchemaGenerator) -> Schema {
    pair(-MAX_LENGTH, MAX_LENGTH)
}

/// Returns the schema of two lengths, m.
pub fn lengths(_: &mut SchemaGenerator) -> Schema {
    pair(MIN_LENGTH, MAX_LENGTH)
}

/// Returns the schema of a polygon's vertices, m.
pub fn corners(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "minItems": 3, "maxItems": 8, "items": offset(generator) })
}

/// Returns the schema of an outline's corners, m.
pub fn outline(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "minItems": 3, "maxItems": MAX_OUTLINE_CORNERS, "items": offset(generator)
    })
}

/// Returns the schema of the heights of a height field, m.
pub fn heights(_: &mut SchemaGenerator) -> Schema {
    let height = serde_json::json!({ "type": "number", "minimum": -MAX_LENGTH, "maximum": MAX_LENGTH });
    json_schema!({ "type": "array", "minItems": 2, "items": height })
}

/// Adds the rule that exactly one geometry is present.
pub fn one_geometry(schema: &mut Schema) {
    let each = super::records::GEOMETRIES.map(|key| serde_json::json!({ "required": [key] }));
    schema.insert("oneOf".to_owned(), each.to_vec().into());
}

/// Adds the rules that a timed command has exactly one action, and a time or a condition.
pub fn one_action(schema: &mut Schema) {
    let each = super::timeline_records::ACTIONS.map(|key| serde_json::json!({ "required": [key] }));
    schema.insert("oneOf".to_owned(), each.to_vec().into());
    let start = ["at", "when"].map(|key| serde_json::json!({ "required": [key] }));
    schema.insert("anyOf".to_owned(), start.to_vec().into());
}

/// Adds the keys that each type of joint requires and allows.
pub fn keys_of_joints(schema: &mut Schema) {
    let each = JointType::WORDS.iter().map(|(word, kind)| {
        let (required, optional) = joint_records::own_keys(*kind);
        let mut keys: Vec<&str> = [joint_records::COMMON_KEYS.as_slice(), required, optional].concat();
        keys.retain(|key| *kind != JointType::Mouse || *key != "a");
        let mut one = serde_json::json!({
            "properties": { "type": { "const": word } }, "propertyNames": { "enum": keys }
        });
        if !required.is_empty() {
            one["required"] = required.into();
        }
        one
    });
    let each: Vec<Value> = each.collect();
    schema.insert("anyOf".to_owned(), each.into());
}
