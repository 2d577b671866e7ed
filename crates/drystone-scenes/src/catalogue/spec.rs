//! Parses specs, `name:key=value,key=value`, and reports errors in them.

use std::fmt::Write;

use super::{Entry, MAX_BODIES, Parameter, Values, search};

/// Error of building a scene from a spec.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// No scene has this name.
    #[error("there is no scene {name:?}{}", suggestion(.nearest))]
    UnknownScene {
        /// Requested name.
        name: String,
        /// Similar names, the best match first.
        nearest: Vec<&'static str>,
    },
    /// The scene is planned, but not implemented.
    #[error("scene {name} is not supported yet: it requires {waits_for}")]
    NotYet {
        /// Name of the scene.
        name: &'static str,
        /// Required feature.
        waits_for: &'static str,
    },
    /// A part is not of the form `key=value`.
    #[error("cannot read {part:?} in {spec:?}; expected name:key=value,key=value")]
    Syntax {
        /// The whole spec.
        spec: String,
        /// The invalid part.
        part: String,
    },
    /// The scene has no parameter of this name.
    #[error("scene {scene} has no parameter {parameter:?}{}", known(.parameters))]
    UnknownParameter {
        /// Name of the scene.
        scene: &'static str,
        /// Requested parameter.
        parameter: String,
        /// Parameters of the scene.
        parameters: &'static [Parameter],
    },
    /// The value is not a number.
    #[error("{parameter} is {value:?}; expected a number")]
    NotANumber {
        /// Name of the parameter.
        parameter: String,
        /// The given text.
        value: String,
    },
    /// The value is below the minimum, above the maximum, or NaN.
    #[error("{parameter} of scene {scene} is {value}; expected {min} to {max}")]
    OutOfRange {
        /// Name of the scene.
        scene: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The given value.
        value: f64,
        /// Minimum value.
        min: f64,
        /// Maximum value.
        max: f64,
    },
    /// The value is not whole, but the parameter is a count.
    #[error("{parameter} of scene {scene} is {value}; expected a whole number")]
    NotWhole {
        /// Name of the scene.
        scene: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The given value.
        value: f64,
    },
    /// A parameter is given twice.
    #[error("{parameter} of scene {scene} is given twice")]
    Duplicate {
        /// Name of the scene.
        scene: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
    },
    /// The requested number of bodies is above the maximum of the scene.
    #[error("scene {scene} cannot have {bodies} bodies; its maximum is {most}")]
    Size {
        /// Name of the scene.
        scene: &'static str,
        /// Requested number of bodies.
        bodies: u64,
        /// Maximum number of bodies.
        most: u64,
    },
    /// The scene would have more than [`MAX_BODIES`] bodies.
    #[error("scene {scene} would have {bodies} bodies with these parameters; the maximum is {MAX_BODIES}")]
    TooManyBodies {
        /// Name of the scene.
        scene: &'static str,
        /// Number of bodies that it would have.
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

/// Parameters in the order given.
type WrittenParameters<'a> = Vec<(&'a str, f64)>;

/// Splits a spec into name and parameters.
pub(super) fn parse(spec: &str) -> Result<(&str, WrittenParameters<'_>), CatalogueError> {
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

/// Returns the defaults overridden by the given values, all checked.
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

/// Returns the shortest spec: the entry's name and the parameters that differ from their defaults.
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
