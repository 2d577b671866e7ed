//! Records of materials with names, of the pairs of these, and of the material of a shape.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Deserializer;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize as SerializeRecord};

use super::records::ShapeRecord;
use super::values::{BodyRef, Element, given, two};
use super::write::{ObjectKeys, Out};
use drystone::low_level::scene::check;
use drystone::low_level::types::MAX_MATERIALS;
use drystone::{Material, MaterialPair, NamedMaterial, SceneError};

/// A material with a name. Shapes of it have its values, unless they give their own.
#[derive(Debug, Deserialize, SerializeRecord, JsonSchema)]
#[serde(rename = "Material", default, deny_unknown_fields, expecting = "a material object")]
#[schemars(extend("required" = ["name"]))]
pub struct MaterialRecord {
    /// Name, unique among the materials.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = check::MAX_NAME))]
    pub name: String,
    /// Coulomb friction coefficient. Static friction if `kinetic_friction` is given.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub friction: f32,
    /// Coulomb friction coefficient while sliding, at most `friction`. Left out: the same as `friction`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub kinetic_friction: Option<f32>,
    /// Share of the approach speed that is returned.
    #[schemars(range(min = 0, max = 1))]
    pub restitution: f32,
    /// Speed of the surface along itself, as of a conveyor belt, m/s: positive moves bodies on top to the right.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub tangent_speed: f32,
    /// Torque against rolling, relative to normal force times radius; the larger of two counts.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub rolling_resistance: f32,
    /// Soft mode: stiffness of its contacts, Hz; the softer of two materials counts. Left out: that of the other
    /// material, or of the settings.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of these contacts; 1 is critical damping. Requires `contact_hertz`. Left out: that of
    /// the settings.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_damping_ratio: Option<f32>,
}

impl Default for MaterialRecord {
    fn default() -> Self {
        let Material { friction, kinetic_friction, restitution, tangent_speed, rolling_resistance, index: _ } =
            Material::default();
        Self {
            name: String::new(),
            friction,
            kinetic_friction,
            restitution,
            tangent_speed,
            rolling_resistance,
            contact_hertz: None,
            contact_damping_ratio: None,
        }
    }
}

impl Element for MaterialRecord {
    fn lack(&self) -> Option<String> {
        self.name.is_empty().then(|| "no name, expected one".to_owned())
    }
}

/// Friction, restitution and stiffness between two materials, in place of those by the mixing rules. Requires one of
/// the three.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "MaterialPair", deny_unknown_fields, expecting = "a pair object")]
#[schemars(extend("anyOf" = [{ "required": ["friction"] }, { "required": ["restitution"] }, { "required": ["contact_hertz"] }]))]
#[schemars(extend("dependentRequired" = { "kinetic_friction": ["friction"], "contact_damping_ratio": ["contact_hertz"] }))]
pub struct MaterialPairRecord {
    /// Names of the two materials, in any order; twice the same for a material with itself.
    pub materials: NamePair,
    /// Coulomb friction coefficient. Left out: mixed, while sliding too. Static friction if `kinetic_friction` is
    /// given.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub friction: Option<f32>,
    /// Coulomb friction coefficient while sliding, at most `friction`. Left out: the same as `friction`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub kinetic_friction: Option<f32>,
    /// Share of the approach speed that is returned. Left out: mixed.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", range(min = 0, max = 1))]
    pub restitution: Option<f32>,
    /// Soft mode: stiffness of their contacts, Hz. Left out: that of the softer material.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of these contacts; 1 is critical damping. Requires `contact_hertz`. Left out: that of
    /// the settings.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_damping_ratio: Option<f32>,
}

impl Element for MaterialPairRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

/// Two names.
#[derive(Debug)]
pub struct NamePair(pub [String; 2]);

impl<'de> Deserialize<'de> for NamePair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        two(deserializer, "names").map(Self)
    }
}

impl JsonSchema for NamePair {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NamePair".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "string", "minLength": 1 }
        })
    }
}

/// Material of a shape, by its name or its index among those of the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialRef(pub BodyRef);

impl<'de> Deserialize<'de> for MaterialRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyRef::expected(deserializer, "the name or the index of a material").map(Self)
    }
}

impl Serialize for MaterialRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            BodyRef::Index(index) => index.serialize(serializer),
            BodyRef::Id(name) => name.serialize(serializer),
        }
    }
}

impl JsonSchema for MaterialRef {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MaterialRef".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BodyRef::json_schema(generator)
    }
}

/// Converts materials; the check finds wrong values.
pub fn named(records: Vec<MaterialRecord>) -> Vec<NamedMaterial> {
    let each = (0_u8..=u8::MAX).zip(records).map(|(index, record)| {
        let MaterialRecord {
            name,
            friction,
            kinetic_friction,
            restitution,
            tangent_speed,
            rolling_resistance,
            contact_hertz,
            contact_damping_ratio,
        } = record;
        let index = Some(index);
        let material = Material { friction, kinetic_friction, restitution, tangent_speed, rolling_resistance, index };
        NamedMaterial { name, material, contact_hertz, contact_damping_ratio }
    });
    each.collect()
}

/// Converts pairs of materials; the check finds wrong values.
pub fn pairs(records: Vec<MaterialPairRecord>) -> Vec<MaterialPair> {
    let pair = |record: MaterialPairRecord| {
        let MaterialPairRecord { materials: NamePair(materials), friction, kinetic_friction, restitution, .. } = record;
        let (contact_hertz, contact_damping_ratio) = (record.contact_hertz, record.contact_damping_ratio);
        MaterialPair { materials, friction, kinetic_friction, restitution, contact_hertz, contact_damping_ratio }
    };
    records.into_iter().map(pair).collect()
}

/// Returns the material of a shape: values that it gives itself, else those of the material that it names. A friction
/// of its own comes without the kinetic friction of that material.
///
/// # Errors
/// There is no material with the name, or the index is too large for any scene.
pub fn of_shape(
    record: &ShapeRecord,
    materials: &[NamedMaterial],
    at: &dyn Fn() -> String,
) -> Result<Material, SceneError> {
    let base = match &record.material {
        None => Material::default(),
        Some(MaterialRef(BodyRef::Id(name))) => {
            let found = materials.iter().find(|material| material.name == *name).ok_or_else(|| {
                let problem = format!("is {name:?}, and no material has this name");
                SceneError::new(format!("{}.material", at()), problem, "the name of a material, or its index")
            })?;
            found.material
        }
        Some(MaterialRef(BodyRef::Index(index))) => {
            let place = usize::try_from(*index).ok().filter(|&place| place < MAX_MATERIALS);
            let index = place.and_then(|place| u8::try_from(place).ok()).ok_or_else(|| {
                let expected = format!("the name of a material, or its index, below {MAX_MATERIALS}");
                SceneError::new(format!("{}.material", at()), format!("is {index}"), expected)
            })?;
            let found = materials.get(usize::from(index));
            found.map_or(Material { index: Some(index), ..Material::default() }, |found| found.material)
        }
    };
    let of_base = if record.friction.is_some() { None } else { base.kinetic_friction };
    Ok(Material {
        friction: record.friction.unwrap_or(base.friction),
        kinetic_friction: record.kinetic_friction.or(of_base),
        restitution: record.restitution.unwrap_or(base.restitution),
        tangent_speed: record.tangent_speed.unwrap_or(base.tangent_speed),
        rolling_resistance: record.rolling_resistance.unwrap_or(base.rolling_resistance),
        index: base.index,
    })
}

impl Serialize for Out<'_, NamedMaterial> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let NamedMaterial { name, material, contact_hertz, contact_damping_ratio } = self.0;
        let mut keys = ObjectKeys(serializer.serialize_struct("Material", 8)?);
        keys.0.serialize_field("name", name)?;
        keys.surface(material, &Material::default())?;
        keys.given("contact_hertz", contact_hertz.as_ref())?;
        keys.given("contact_damping_ratio", contact_damping_ratio.as_ref())?;
        keys.0.end()
    }
}

impl Serialize for Out<'_, MaterialPair> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MaterialPair { materials, friction, kinetic_friction, restitution, contact_hertz, contact_damping_ratio } =
            self.0;
        let mut keys = ObjectKeys(serializer.serialize_struct("MaterialPair", 6)?);
        keys.0.serialize_field("materials", materials)?;
        keys.given("friction", friction.as_ref())?;
        keys.given("kinetic_friction", kinetic_friction.as_ref())?;
        keys.given("restitution", restitution.as_ref())?;
        keys.given("contact_hertz", contact_hertz.as_ref())?;
        keys.given("contact_damping_ratio", contact_damping_ratio.as_ref())?;
        keys.0.end()
    }
}

impl<S: SerializeStruct> ObjectKeys<S> {
    /// Writes the material of a shape: its name among `materials`, or its index where these are not known, and the
    /// values that differ from those of the material with this name.
    pub fn material(&mut self, material: &Material, materials: &[NamedMaterial]) -> Result<(), S::Error> {
        let Some(index) = material.index else { return self.surface(material, &Material::default()) };
        let found = materials.get(usize::from(index));
        let reference = found.map_or(BodyRef::Index(index.into()), |found| BodyRef::Id(found.name.clone()));
        self.0.serialize_field("material", &MaterialRef(reference))?;
        self.surface(material, &found.map_or_else(Material::default, |found| found.material))
    }

    /// Writes the values of a material that differ from others. Both coefficients of friction go together.
    fn surface(&mut self, material: &Material, base: &Material) -> Result<(), S::Error> {
        let bits = |material: &Material| (material.friction.to_bits(), material.kinetic_friction.map(f32::to_bits));
        if material.kinetic_friction.is_none() && base.kinetic_friction.is_none() {
            self.number("friction", material.friction, base.friction)?;
        } else if bits(material) != bits(base) {
            self.0.serialize_field("friction", &material.friction)?;
            self.given("kinetic_friction", material.kinetic_friction.as_ref())?;
        }
        self.number("restitution", material.restitution, base.restitution)?;
        self.number("tangent_speed", material.tangent_speed, base.tangent_speed)?;
        self.number("rolling_resistance", material.rolling_resistance, base.rolling_resistance)
    }
}
