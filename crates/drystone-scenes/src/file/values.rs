//! Value types of the scene file beyond plain numbers, strings and booleans: words, pairs, references to bodies,
//! limited lists.

use std::fmt;
use std::marker::PhantomData;

use glam::{DVec2, Vec2};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::schema;
use drystone::low_level::constants::MAX_SHORT_POSITION;
use drystone::low_level::scene::check;
use drystone::{BodyType, Mixing, Mode};

/// A value that is given as a word in the file.
pub trait Word: Copy + PartialEq + 'static {
    /// Description of valid words, for error messages.
    const EXPECTED: &'static str;
    /// The words and their values.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the word for this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Word for BodyType {
    const EXPECTED: &'static str = "static, kinematic or dynamic";
    const WORDS: &'static [(&'static str, Self)] =
        &[("static", Self::Static), ("kinematic", Self::Kinematic), ("dynamic", Self::Dynamic)];
}

impl Word for Mode {
    const EXPECTED: &'static str = "soft, baumgarte or projection";
    const WORDS: &'static [(&'static str, Self)] =
        &[("soft", Self::Soft), ("baumgarte", Self::Baumgarte), ("projection", Self::Projection)];
}

impl Word for Mixing {
    const EXPECTED: &'static str = "min, max, geometric, mean or product";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("min", Self::Min),
        ("max", Self::Max),
        ("geometric", Self::Geometric),
        ("mean", Self::Mean),
        ("product", Self::Product),
    ];
}

/// A [`Word`] in a file: a string in JSON, an identifier in RON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<T>(pub T);

impl<'de, T: Word> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor<T>(PhantomData<T>);
        impl<T: Word> Visitor<'_> for WordVisitor<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let found = T::WORDS.iter().find(|(word, _)| *word == text);
                found.map(|(_, value)| Named(*value)).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        // Not an enum, which JSON would also accept as `{"static": null}`.
        deserializer.deserialize_identifier(WordVisitor(PhantomData))
    }
}

impl<T: Word> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_variant("Word", 0, self.0.word())
    }
}

impl<T: Word> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::EXPECTED.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "type": "string", "enum": words })
    }
}

/// Two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair(pub Vec2);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        two(deserializer, "numbers").map(|[x, y]| Self(Vec2::new(x, y)))
    }
}

/// Reads an array of two elements; `what` they are is said in errors.
pub fn two<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    what: &'static str,
) -> Result<[T; 2], D::Error> {
    struct TwoVisitor<T>(&'static str, PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for TwoVisitor<T> {
        type Value = [T; 2];
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an array of two {}", self.0)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let first = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
            let second = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
            if seq.next_element::<IgnoredAny>()?.is_some() {
                let what = self.0;
                return Err(A::Error::custom(format!("more than two {what}, expected an array of two {what}")));
            }
            Ok([first, second])
        }
    }
    // `any`, so that RON's `(1, 2)` and `[1, 2]` are both accepted.
    deserializer.deserialize_any(TwoVisitor(what, PhantomData))
}

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_array().serialize(serializer)
    }
}

/// A position in the world, m: two numbers in double precision. A number up to [`MAX_SHORT_POSITION`] that is the
/// shortest text of a 32-bit float is that float, so that such positions are written shortly and read as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place(pub DVec2);

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[allow(clippy::cast_possible_truncation, reason = "rounded on purpose")]
        let meant = |value: f64| {
            let near = value as f32;
            let is_short = near.abs() <= MAX_SHORT_POSITION && near.to_string().parse() == Ok(value);
            if is_short { f64::from(near) } else { value }
        };
        two(deserializer, "numbers").map(|[x, y]| Self(DVec2::new(meant(x), meant(y))))
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let near = self.0.as_vec2();
        if near.as_dvec2() == self.0 && near.abs().max_element() <= MAX_SHORT_POSITION {
            near.to_array().serialize(serializer)
        } else {
            self.0.to_array().serialize(serializer)
        }
    }
}

impl JsonSchema for Pair {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pair".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::pair(-check::MAX_VALUE, check::MAX_VALUE)
    }
}

/// A body, by its index or its id.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyRef {
    Index(u64),
    Id(String),
}

impl<'de> Deserialize<'de> for BodyRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::expected(deserializer, "the index or the id of a body")
    }
}

impl BodyRef {
    /// Deserialises an index or a name; `what` is the description of both, for error messages.
    pub fn expected<'de, D: Deserializer<'de>>(deserializer: D, what: &'static str) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RefVisitor(what))
    }
}

struct RefVisitor(&'static str);

impl Visitor<'_> for RefVisitor {
    type Value = BodyRef;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_u64<E: Error>(self, index: u64) -> Result<BodyRef, E> {
        Ok(BodyRef::Index(index))
    }
    fn visit_str<E: Error>(self, id: &str) -> Result<BodyRef, E> {
        Ok(BodyRef::Id(id.to_owned()))
    }
}

/// A joint, by its index or its id.
#[derive(Clone, Debug, PartialEq)]
pub struct JointPick(pub BodyRef);

impl<'de> Deserialize<'de> for JointPick {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BodyRef::expected(deserializer, "the index or the id of a joint").map(Self)
    }
}

impl JsonSchema for JointPick {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JointPick".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BodyRef::json_schema(generator)
    }
}

impl JsonSchema for BodyRef {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BodyRef".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "minLength": 1 }] })
    }
}

/// Deserialises an optional key that may be left out, but must not be `null`.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A text of several lines: a string, or a list of its lines.
#[derive(Clone, Debug, PartialEq)]
pub struct TextLines(pub String);

impl<'de> Deserialize<'de> for TextLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextLinesVisitor;
        impl<'de> Visitor<'de> for TextLinesVisitor {
            type Value = TextLines;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of its lines")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextLines(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut text = String::new();
                while let Some(line) = list.next_element::<String>()? {
                    text.push_str(&line);
                    text.push('\n');
                }
                Ok(TextLines(text))
            }
        }
        deserializer.deserialize_any(TextLinesVisitor)
    }
}

impl Serialize for TextLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.strip_suffix('\n') {
            Some(lines) => serializer.collect_seq(lines.split('\n')),
            None => serializer.serialize_str(&self.0),
        }
    }
}

impl JsonSchema for TextLines {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TextLines".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

/// Deserialises an object and nothing else: serde's own records would also accept `[1]` for `{ "radius": 1 }`.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(OnlyObjects(deserializer))
}

/// Deserialises an [`object`] that may be left out.
pub fn given_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    object(deserializer).map(Some)
}

struct OnlyObjects<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for OnlyObjects<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        struct MapVisitor<V>(V);
        impl<'de, V: Visitor<'de>> Visitor<'de> for MapVisitor<V> {
            type Value = V::Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.expecting(f)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
                self.0.visit_map(map)
            }
        }
        self.0.deserialize_struct(name, fields, MapVisitor(visitor))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// An element of a list that is rejected at once if it is empty: three bytes of `{}` would take a hundred times as many
/// in memory.
pub trait Element {
    /// Returns an error message if a required part is missing.
    fn lack(&self) -> Option<String>;
}

/// Deserialises a list of objects, and stops at `MOST` elements before memory runs out.
pub fn at_most<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Element,
{
    struct Object<T>(T);
    impl<'de, T: Deserialize<'de> + Element> Deserialize<'de> for Object<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let element: T = object(deserializer)?;
            element.lack().map_or(Ok(Self(element)), |lack| Err(D::Error::custom(lack)))
        }
    }
    struct ListVisitor<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de> + Element, const MOST: usize> Visitor<'de> for ListVisitor<T, MOST> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an array of at most {MOST} elements")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(Object(element)) = seq.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                list.push(element);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(ListVisitor::<T, MOST>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "at_most::<_, _, 2>")]
        list: Vec<Entry>,
    }

    #[derive(Deserialize)]
    struct Entry {
        full: bool,
    }

    impl Element for Entry {
        fn lack(&self) -> Option<String> {
            (!self.full).then(|| "nothing in it".to_owned())
        }
    }

    fn read(text: &str) -> Result<usize, String> {
        serde_json::from_str::<Holder>(text).map(|holder| holder.list.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_stop_at_their_limit() {
        assert_eq!(read(r#"{"list": [{"full": true}, {"full": true}]}"#), Ok(2));
        let error = read(r#"{"list": [{"full": true}, {"full": true}, {"full": true}, {"full": true}]}"#).unwrap_err();
        assert!(error.starts_with("invalid length 3, expected an array of at most 2 elements"), "{error}");
        assert!(read(r#"{"list": [{"full": false}]}"#).unwrap_err().starts_with("nothing in it"));
        assert!(read(r#"{"list": [[true]]}"#).unwrap_err().starts_with("invalid type: sequence"));
    }
}
