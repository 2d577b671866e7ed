//! Reads `name:key=value,key=value` and says what is wrong with it.

use std::fmt::Write;

use super::{Entry, MAX_BODIES, Parameter, Values, search};

/// Why a scene was not built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// No scene of this name.
    #[error("there is no scene {name:?}{}", suggestion(.nearest))]
    UnknownScene {
        /// What was asked for.
        name: String,
        /// Names that look like it, the nearest first.
        nearest: Vec<&'static str>,
    },
    /// A planned scene.
    #[error("scene {name} is not supported yet: it waits for {waits_for}")]
    NotYet {
        /// Its name.
        name: &'static str,
        /// What has to be there first.
        waits_for: &'static str,
    },
    /// Not of the form `key=value`.
    #[error("cannot read {part:?} in {spec:?}; expected name:key=value,key=value")]
    Syntax {
        /// All of it.
        spec: String,
        /// The part that is wrong.
        part: String,
    },
    /// No parameter of this name.
    #[error("scene {scene} has no parameter {parameter:?}{}", known(.parameters))]
    UnknownParameter {
        /// The scene.
        scene: &'static str,
        /// What was asked for.
        parameter: String,
        /// Those there are.
        parameters: &'static [Parameter],
    },
    /// Not a number.
    #[error("{parameter} is {value:?}; expected a number")]
    NotANumber {
        /// The parameter.
        parameter: String,
        /// What was there.
        value: String,
    },
    /// Below the smallest value, above the largest, or NaN.
    #[error("{parameter} of scene {scene} is {value}; expected {min} to {max}")]
    OutOfRange {
        /// The scene.
        scene: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was there.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A fraction where a count belongs.
    #[error("{parameter} of scene {scene} is {value}; expected a whole number")]
    NotWhole {
        /// The scene.
        scene: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was there.
        value: f64,
    },
    /// One parameter, two values.
    #[error("{parameter} of scene {scene} is given twice")]
    Duplicate {
        /// The scene.
        scene: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// No parameters of the scene make so many bodies.
    #[error("scene {scene} cannot have {bodies} bodies; its sizes end at {most}")]
    Size {
        /// The scene.
        scene: &'static str,
        /// How many were wanted.
        bodies: u64,
        /// The largest size.
        most: u64,
    },
    /// Would not fit into memory.
    #[error("scene {scene} would have {bodies} bodies with these parameters; at most {MAX_BODIES} are built")]
    TooManyBodies {
        /// The scene.
        scene: &'static str,
        /// How many it would have.
        bodies: u64,
    },
}

impl CatalogueError {
    pub(super) fn unknown_scene(name: &str) -> Self {
        let nearest = search::nearest(name).into_iter().take(3).map(|entry| entry.name).collect();
        Self::UnknownScene { name: name.to_owned(), nearest }
    }
}

fn suggestion(nearest: &[&str]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

fn known(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "; it has none".to_owned();
    }
    let mut text = "; it has".to_owned();
    for (index, parameter) in parameters.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma} {}", parameter.name);
    }
    text
}

/// Parameters as they are written, in that order.
type Given<'a> = Vec<(&'a str, f64)>;

/// Name and parameters.
pub(super) fn parse(spec: &str) -> Result<(&str, Given<'_>), CatalogueError> {
    let Some((name, list)) = spec.split_once(':') else {
        return Ok((spec.trim(), Vec::new()));
    };
    let mut given = Vec::new();
    for part in list.split(',') {
        let wrong = || CatalogueError::Syntax { spec: spec.to_owned(), part: part.to_owned() };
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        let number: f64 = value
            .parse()
            .map_err(|_| CatalogueError::NotANumber { parameter: key.to_owned(), value: value.to_owned() })?;
        given.push((key, number));
    }
    Ok((name.trim(), given))
}

/// Defaults with what is given put over them, all checked.
pub(super) fn values(entry: &Entry, given: &[(&str, f64)]) -> Result<Values, CatalogueError> {
    let mut values: Vec<Option<f64>> = vec![None; entry.parameters.len()];
    for &(name, value) in given {
        let index =
            entry.parameters.iter().position(|p| p.name == name).ok_or_else(|| CatalogueError::UnknownParameter {
                scene: entry.name,
                parameter: name.to_owned(),
                parameters: entry.parameters,
            })?;
        let &Parameter { name: parameter, min, max, integer, .. } = &entry.parameters[index];
        let scene = entry.name;
        if values[index].is_some() {
            return Err(CatalogueError::Duplicate { scene, parameter });
        }
        if !(min..=max).contains(&value) {
            return Err(CatalogueError::OutOfRange { scene, parameter, value, min, max });
        }
        if integer && value.fract() != 0.0 {
            return Err(CatalogueError::NotWhole { scene, parameter, value });
        }
        values[index] = Some(value);
    }
    let values = values.iter().zip(entry.parameters).map(|(given, parameter)| given.unwrap_or(parameter.default));
    Ok(Values { parameters: entry.parameters, values: values.collect() })
}

/// The entry's name and the parameters that differ from their defaults.
pub(super) fn shortest(entry: &Entry, values: &Values) -> String {
    let mut spec = entry.name.to_owned();
    let mut mark = ':';
    for (parameter, &value) in values.parameters.iter().zip(&values.values) {
        #[allow(clippy::float_cmp, reason = "the default itself, not something near it")]
        let default = value == parameter.default;
        if !default {
            // Writing to a string cannot fail.
            let _ = write!(spec, "{mark}{}={value}", parameter.name);
            mark = ',';
        }
    }
    spec
}
