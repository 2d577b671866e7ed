//! Lists in commands, kept as JSON text: as values they would take a hundred times as much memory.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// Returns a function that tells for each byte in order whether it is a blank outside of strings.
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

/// Returns JSON without blanks outside of strings.
fn compact(raw: Box<RawValue>) -> Box<RawValue> {
    if !raw.get().bytes().any(blanks()) {
        return raw;
    }
    let mut bytes = String::from(Box::<str>::from(raw)).into_bytes();
    let mut is_blank = blanks();
    bytes.retain(|&byte| !is_blank(byte));
    // The text is still JSON: blanks between tokens have no meaning.
    let text = String::from_utf8(bytes).unwrap_or_default();
    RawValue::from_string(text).unwrap_or_default()
}

pub(super) fn compacted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(compact)
}

/// List of scene bodies or joints, kept as text: as values they would take a hundred times as much memory.
#[derive(Clone, Debug)]
pub struct PartList {
    text: Box<RawValue>,
    count: usize,
    shapes: usize,
}

impl PartList {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of shapes of all bodies.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.shapes
    }

    /// Returns the number of bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.get().len()
    }

    pub(super) fn text(&self) -> &str {
        self.text.get()
    }
}

impl Default for PartList {
    fn default() -> Self {
        Self { text: RawValue::from_string("[]".to_owned()).unwrap_or_default(), count: 0, shapes: 0 }
    }
}

impl Serialize for PartList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PartList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = compacted(deserializer)?;
        let Measure { count, shapes } = serde_json::from_str(text.get()).map_err(|error| {
            let message = error.to_string();
            // The position refers to this text, not to the request.
            de::Error::custom(message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message))
        })?;
        Ok(Self { text, count, shapes })
    }
}

/// Number of elements of a list, and of the elements of their `shapes` lists. Other content is checked by later
/// readers.
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

/// Returns the number of shapes of a body that is written as in a scene; 0 if it is not one.
pub(super) fn shapes_of(body: &RawValue) -> usize {
    serde_json::from_str(body.get()).map_or(0, |Shapes(count)| count)
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
                        count += body.next_value::<ListLength>()?.0;
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
struct ListLength(usize);

impl<'de> Deserialize<'de> for ListLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = ListLength;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ListLength, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(ListLength(count))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// List of references to bodies or joints, kept as text. Each element was parsed once, so all are well formed.
#[derive(Clone, Debug)]
pub struct Refs<T> {
    text: Box<RawValue>,
    count: usize,
    of: PhantomData<T>,
}

impl<T> Refs<T> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<T: for<'de> Deserialize<'de>> Refs<T> {
    /// Calls `each(index, element)` for each element until one is refused.
    ///
    /// # Errors
    /// The first refusal.
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

/// Deserializer that passes each element of a list to a function and returns their number.
pub(super) struct Each<F, T>(pub F, pub PhantomData<T>);

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
