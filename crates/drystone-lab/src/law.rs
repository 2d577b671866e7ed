//! A law: name, source, parameters, measurement, disturbance, and what is known to be missed.

use std::time::Instant;

use drystone::{Mode, Scene};
use serde::Serialize;

use crate::check::LawCheck;
use crate::figure::LawFigure;
use crate::known::KNOWN;
use crate::world::{Lab, LabError, LabSetup};

/// Factor on the deviation of a known miss up to which it is still that miss.
const MAX_DRIFT: f64 = 1.25;

/// Parameter of a law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LawParameter {
    /// Name.
    pub name: &'static str,
    /// Default value.
    pub default: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// True if only whole numbers are valid.
    pub whole: bool,
    /// Meaning, with unit.
    pub meaning: &'static str,
}

impl LawParameter {
    pub(crate) const fn new(name: &'static str, default: f64, range: [f64; 2], meaning: &'static str) -> Self {
        Self { name, default, min: range[0], max: range[1], whole: false, meaning }
    }

    pub(crate) const fn count(name: &'static str, default: f64, range: [f64; 2], meaning: &'static str) -> Self {
        Self { whole: true, ..Self::new(name, default, range, meaning) }
    }

    fn range(&self) -> String {
        let number = if self.whole { "a whole number" } else { "a number" };
        format!("{number} from {} to {}", self.min, self.max)
    }
}

/// Parameters of every law; one that lists a parameter of this name has another default.
const SHARED: [LawParameter; 2] = [
    LawParameter::new("dt", 1.0 / 60.0, [1e-5, 1.0], "length of a step, s"),
    LawParameter::count("substeps", 0.0, [0.0, 64.0], "substeps a step; 0: the solver's default"),
];

/// Values of the parameters of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct LawValues {
    values: Vec<(&'static str, f64)>,
    given: bool,
}

impl LawValues {
    /// Returns a value; NaN if the law has no such parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> f64 {
        self.values.iter().find(|(own, _)| *own == name).map_or(f64::NAN, |(_, value)| *value)
    }

    /// Returns names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.values.iter().copied()
    }
}

/// A change of the scene that the expected value does not know.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// Description.
    pub what: &'static str,
    /// Changes the scene.
    pub apply: fn(&mut Scene),
}

/// A law that a mode is known to miss, at its default and its quick parameters.
#[derive(Clone, Copy, Debug)]
pub struct KnownMiss {
    /// Name of the law.
    pub law: &'static str,
    /// Mode of the solver.
    pub mode: Mode,
    /// Largest deviation, in units of the bound.
    pub deviation: f64,
    /// Reason, with figures.
    pub why: &'static str,
}

/// A law of physics and its measurement.
#[derive(Debug)]
pub struct Law {
    /// Name on the command line.
    pub name: &'static str,
    /// Group.
    pub group: &'static str,
    /// Statement in one line.
    pub statement: &'static str,
    /// Paper or textbook, with the year.
    pub source: &'static str,
    /// Parameters of its own.
    pub parameters: &'static [LawParameter],
    /// Parameters of the quick run; `None` if the law takes too long for it.
    pub quick: Option<&'static [(&'static str, f64)]>,
    /// Change of the physics by which the law must be missed.
    pub disturbance: Disturbance,
    pub(crate) measure: fn(&Lab<'_>, &LawValues) -> Result<LawFindings, LabError>,
}

/// Checks and figure of a law.
#[derive(Clone, Debug, Default)]
pub struct LawFindings {
    /// Comparisons, the first the most important.
    pub checks: Vec<LawCheck>,
    /// Figure.
    pub figure: LawFigure,
}

/// Result of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LawVerdict {
    /// All checks are within their bounds.
    Held,
    /// A check is out of its bounds.
    Missed,
    /// A check is out of its bounds by as much as is known.
    KnownMiss,
    /// All checks hold, though a miss is listed.
    HeldUnexpectedly,
    /// The law could not be measured.
    Failed,
}

/// Result of a law with its checks and figure.
#[derive(Clone, Debug, Serialize)]
pub struct LawReport {
    /// Name of the law.
    pub law: &'static str,
    /// Group of the law.
    pub group: &'static str,
    /// Statement of the law.
    pub statement: &'static str,
    /// Source of the law.
    pub source: &'static str,
    /// Values of the parameters.
    pub parameters: Vec<(&'static str, f64)>,
    /// Comparisons.
    pub checks: Vec<LawCheck>,
    /// Result.
    pub verdict: LawVerdict,
    /// Reason of a known miss, or the error of a law that failed.
    pub note: Option<String>,
    /// Time taken, s.
    pub seconds: f64,
    /// Figure.
    #[serde(skip)]
    pub figure: LawFigure,
}

impl LawReport {
    /// Returns true if all checks hold.
    #[must_use]
    pub fn held(&self) -> bool {
        matches!(self.verdict, LawVerdict::Held | LawVerdict::HeldUnexpectedly)
    }

    /// Returns true if the law was missed, and not by as much as is known.
    #[must_use]
    pub fn fails(&self) -> bool {
        matches!(self.verdict, LawVerdict::Missed | LawVerdict::Failed)
    }

    /// Returns the check that is farthest off in units of its bound.
    #[must_use]
    pub fn worst(&self) -> Option<&LawCheck> {
        self.checks.iter().max_by(|a, b| a.deviation().total_cmp(&b.deviation()))
    }
}

impl Law {
    /// Returns all parameters, also those that every law has.
    #[must_use]
    pub fn all_parameters(&self) -> Vec<LawParameter> {
        let own = |shared: &&LawParameter| self.parameters.iter().all(|parameter| parameter.name != shared.name);
        self.parameters.iter().chain(SHARED.iter().filter(own)).copied().collect()
    }

    /// Returns true if the law has this parameter.
    #[must_use]
    pub fn has(&self, parameter: &str) -> bool {
        self.all_parameters().iter().any(|own| own.name == parameter)
    }

    /// Returns the default values with some replaced.
    ///
    /// # Errors
    /// An unknown name, with a suggestion, or a value out of range.
    pub fn values(&self, given: &[(String, f64)]) -> Result<LawValues, LabError> {
        let parameters = self.all_parameters();
        let mut values: Vec<(&'static str, f64)> = parameters.iter().map(|own| (own.name, own.default)).collect();
        for (name, value) in given {
            let Some(index) = parameters.iter().position(|own| own.name == name) else {
                let nearest = nearest(name, parameters.iter().map(|own| own.name));
                return Err(LabError::UnknownParameter { law: self.name, name: name.clone(), nearest });
            };
            let own = parameters[index];
            let valid = (own.min..=own.max).contains(value) && (!own.whole || value.fract() == 0.0);
            if !valid {
                let range = own.range();
                return Err(LabError::OutOfRange { law: self.name, parameter: own.name, value: *value, range });
            }
            values[index].1 = *value;
        }
        Ok(LawValues { values, given: !given.is_empty() })
    }

    /// Returns the values of the quick run; `None` if the law has none.
    #[must_use]
    pub fn quick_values(&self) -> Option<LawValues> {
        let given: Vec<(String, f64)> = self.quick?.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let values = self.values(&given).ok()?;
        Some(LawValues { given: false, ..values })
    }

    /// Measures the law.
    #[must_use]
    pub fn run(&self, setup: &LabSetup<'_>, values: &LawValues) -> LawReport {
        let start = Instant::now();
        let found = (self.measure)(&Lab::new(*setup, self.disturbance, values), values);
        let seconds = start.elapsed().as_secs_f64();
        let known = KNOWN.iter().find(|miss| (miss.law, miss.mode) == (self.name, setup.mode));
        let known = known.filter(|_| !values.given && !setup.disturbed);
        let (found, verdict, note) = match found {
            Err(error) => (LawFindings::default(), LawVerdict::Failed, Some(error.to_string())),
            Ok(found) => {
                let (verdict, note) = verdict(&found.checks, known);
                (found, verdict, note)
            }
        };
        LawReport {
            law: self.name,
            group: self.group,
            statement: self.statement,
            source: self.source,
            parameters: values.iter().collect(),
            checks: found.checks,
            verdict,
            note,
            seconds,
            figure: found.figure,
        }
    }
}

fn verdict(checks: &[LawCheck], known: Option<&KnownMiss>) -> (LawVerdict, Option<String>) {
    let held = !checks.is_empty() && checks.iter().all(LawCheck::holds);
    let worst = checks.iter().map(LawCheck::deviation).fold(0.0, f64::max);
    match (held, known) {
        (true, None) => (LawVerdict::Held, None),
        (true, Some(miss)) => (LawVerdict::HeldUnexpectedly, Some(format!("listed as missed: {}", miss.why))),
        (false, Some(miss)) if worst <= MAX_DRIFT * miss.deviation => {
            (LawVerdict::KnownMiss, Some(miss.why.to_owned()))
        }
        (false, Some(miss)) => {
            let off = format!("{worst:.3} bounds off, known are {}: {}", miss.deviation, miss.why);
            (LawVerdict::Missed, Some(off))
        }
        (false, None) => (LawVerdict::Missed, None),
    }
}

/// Returns the name that is most like a given one, if one is.
pub(crate) fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let scored = names.map(|own| (strsim::jaro_winkler(name, own), own));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, own)| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_know_what_is_missed() {
        let check = |measured| [LawCheck::near("speed", "m/s", 1.0, measured, 0.1)];
        let miss = KnownMiss { law: "speed", mode: Mode::Soft, deviation: 3.0, why: "1.3 m/s" };
        assert_eq!(verdict(&check(1.05), None).0, LawVerdict::Held);
        assert_eq!(verdict(&check(1.3), None).0, LawVerdict::Missed);
        assert_eq!(verdict(&check(1.3), Some(&miss)).0, LawVerdict::KnownMiss);
        assert_eq!(verdict(&check(1.5), Some(&miss)).0, LawVerdict::Missed);
        assert_eq!(verdict(&check(1.0), Some(&miss)).0, LawVerdict::HeldUnexpectedly);
        assert_eq!(verdict(&check(f64::NAN), Some(&miss)).0, LawVerdict::Missed);
        assert_eq!(verdict(&[], None).0, LawVerdict::Missed, "nothing measured");
    }
}
