//! Properties of bodies by the names that they have in a scene file: in a journal an object with the id of the body and
//! one property, from users an object with properties of one body.

use drystone::{BodyId, BodyType, Filter, Property, SceneError, ShapeProperty};
use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::parse_json;
use super::records::FilterRecord;
use super::values::{Element, Named, given, given_object};

/// A property of a body, or with `shape` of one of its shapes; without, those of shapes are of all of them.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename = "Property", deny_unknown_fields, expecting = "a property object")]
pub(super) struct PropertyRecord {
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    shape: Option<usize>,
    #[serde(rename = "type", default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    kind: Option<Named<BodyType>>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    mass: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    inertia: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    fixed_rotation: Option<bool>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    bullet: Option<bool>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    can_sleep: Option<bool>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    sleep_speed: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    gravity_scale: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    linear_damping: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    angular_damping: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    user_data: Option<u64>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    friction: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    kinetic_friction: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    restitution: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    tangent_speed: Option<f32>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    rolling_resistance: Option<f32>,
    #[serde(default, deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    filter: Option<FilterRecord>,
}

impl Element for PropertyRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

impl PropertyRecord {
    /// Returns the record of a property.
    pub fn new(id: BodyId, property: Property) -> Self {
        let mut record = Self { id: Some(id.to_string()), ..Self::default() };
        match property {
            Property::Kind(kind) => record.kind = Some(Named(kind)),
            Property::Mass(mass) => record.mass = Some(mass),
            Property::Inertia(inertia) => record.inertia = Some(inertia),
            Property::FixedRotation(is_fixed) => record.fixed_rotation = Some(is_fixed),
            Property::Bullet(is_bullet) => record.bullet = Some(is_bullet),
            Property::CanSleep(can_sleep) => record.can_sleep = Some(can_sleep),
            Property::SleepSpeed(speed) => record.sleep_speed = Some(speed),
            Property::GravityScale(scale) => record.gravity_scale = Some(scale),
            Property::LinearDamping(rate) => record.linear_damping = Some(rate),
            Property::AngularDamping(rate) => record.angular_damping = Some(rate),
            Property::UserData(number) => record.user_data = Some(number),
            Property::Shape(shape, property) => {
                record.shape = Some(shape);
                record.set_shape(property);
            }
            Property::Shapes(property) => record.set_shape(property),
        }
        record
    }

    fn set_shape(&mut self, property: ShapeProperty) {
        match property {
            ShapeProperty::Friction(friction) => self.friction = Some(friction),
            ShapeProperty::KineticFriction(friction) => self.kinetic_friction = Some(friction),
            ShapeProperty::Restitution(restitution) => self.restitution = Some(restitution),
            ShapeProperty::TangentSpeed(speed) => self.tangent_speed = Some(speed),
            ShapeProperty::RollingResistance(resistance) => self.rolling_resistance = Some(resistance),
            ShapeProperty::Filter(Filter { category, mask, group }) => {
                self.filter = Some(FilterRecord { category, mask, group });
            }
        }
    }

    /// Returns the properties, those of the body first.
    ///
    /// # Errors
    /// A shape is given, and there is a property of the body, or none at all.
    pub fn properties(&self, at: &str) -> Result<Vec<Property>, SceneError> {
        let of_body = [
            self.kind.map(|kind| Property::Kind(kind.0)),
            self.mass.map(Property::Mass),
            self.inertia.map(Property::Inertia),
            self.fixed_rotation.map(Property::FixedRotation),
            self.bullet.map(Property::Bullet),
            self.can_sleep.map(Property::CanSleep),
            self.sleep_speed.map(Property::SleepSpeed),
            self.gravity_scale.map(Property::GravityScale),
            self.linear_damping.map(Property::LinearDamping),
            self.angular_damping.map(Property::AngularDamping),
            self.user_data.map(Property::UserData),
        ];
        let filter = self.filter.as_ref().map(|record| {
            let FilterRecord { category, mask, group } = *record;
            ShapeProperty::Filter(Filter { category, mask, group })
        });
        let of_shape = [
            self.friction.map(ShapeProperty::Friction),
            self.kinetic_friction.map(ShapeProperty::KineticFriction),
            self.restitution.map(ShapeProperty::Restitution),
            self.tangent_speed.map(ShapeProperty::TangentSpeed),
            self.rolling_resistance.map(ShapeProperty::RollingResistance),
            filter,
        ];
        let of_shape = of_shape.into_iter().flatten().map(|property| match self.shape {
            Some(shape) => Property::Shape(shape, property),
            None => Property::Shapes(property),
        });
        let all: Vec<Property> = of_body.into_iter().flatten().chain(of_shape).collect();
        if self.shape.is_some() && all.iter().any(|property| !matches!(property, Property::Shape(..))) {
            return Err(SceneError::new(place(at, "shape"), "is given beside a property of the body", "no shape"));
        }
        Ok(all)
    }

    /// Returns the only property.
    ///
    /// # Errors
    /// There is none, or more than one; those of [`Self::properties`].
    pub fn property(&self, at: &str) -> Result<Property, SceneError> {
        match self.properties(at)?[..] {
            [property] => Ok(property),
            ref all => Err(SceneError::new(at, format!("has {} properties", all.len()), "one, such as gravity_scale")),
        }
    }
}

fn place(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

/// Parses properties of a body: a JSON object such as `{ "type": "kinematic", "friction": 0.2 }`, by the names of scene
/// files. Those of shapes are of all its shapes, or with `"shape"` of the one with this number.
///
/// # Errors
/// The first invalid key or value, with its line, or there is no property. Values out of range are found by the world.
pub fn parse_properties(text: &str, source_name: &str) -> Result<Vec<Property>, FileError> {
    parse_json(text, source_name, |record: PropertyRecord| match record.properties("") {
        _ if record.id.is_some() => Err(SceneError::new("id", "is no property", "the body beside its properties")),
        Ok(all) if all.is_empty() => Err(SceneError::new("", "has no property", "at least one, such as gravity_scale")),
        read => read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_of_users_are_read() {
        let read = |text: &str| parse_properties(text, "properties.json");
        let (slow, slick) = (Property::LinearDamping(2.0), ShapeProperty::Friction(0.25));
        let all = read(r#"{ "friction": 0.25, "linear_damping": 2, "type": "kinematic" }"#).unwrap();
        assert_eq!(all, [Property::Kind(BodyType::Kinematic), slow, Property::Shapes(slick)]);
        assert_eq!(read(r#"{ "shape": 3, "friction": 0.25 }"#).unwrap(), [Property::Shape(3, slick)]);
        for (text, expected) in [
            ("{}", "properties.json:1:1: has no property; expected at least one, such as gravity_scale"),
            (r#"{ "shape": 1 }"#, "properties.json:1:1: has no property; expected at least one, such as gravity_scale"),
            (
                r#"{ "shape": 1, "mass": 2 }"#,
                "properties.json:1:12: shape: is given beside a property of the body; expected no shape",
            ),
            (
                r#"{ "id": "0.0", "mass": 2 }"#,
                "properties.json:1:9: id: is no property; expected the body beside its properties",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
        }
        for text in ["[]", "", "{\"mass\":", r#"{ "mass": "heavy" }"#, r#"{ "colour": 1 }"#, r#"{ "mass": null }"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
