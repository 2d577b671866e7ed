//! Comparison of a measured value with the expected one.

use serde::Serialize;

/// A measured value beside the expected one and its bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LawCheck {
    /// Quantity.
    pub what: String,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// Expected value.
    pub expected: f64,
    /// Measured value.
    pub measured: f64,
    /// Smallest value that holds.
    pub low: f64,
    /// Largest value that holds.
    pub high: f64,
}

impl LawCheck {
    /// Creates a check of a value that may differ by `bound` to both sides.
    #[must_use]
    pub fn near(what: impl Into<String>, unit: &'static str, expected: f64, measured: f64, bound: f64) -> Self {
        Self { what: what.into(), unit, expected, measured, low: expected - bound, high: expected + bound }
    }

    /// Creates a check of a value that may differ by a share of the expected one.
    #[must_use]
    pub fn share(what: impl Into<String>, unit: &'static str, expected: f64, measured: f64, share: f64) -> Self {
        Self::near(what, unit, expected, measured, share * expected.abs())
    }

    /// Creates a check of a value within bounds of its own.
    #[must_use]
    pub fn between(
        what: impl Into<String>,
        unit: &'static str,
        expected: f64,
        measured: f64,
        [low, high]: [f64; 2],
    ) -> Self {
        Self { what: what.into(), unit, expected, measured, low, high }
    }

    /// Creates a check of a value that is 0 in theory, never negative, and may reach `high`.
    #[must_use]
    pub fn at_most(what: impl Into<String>, unit: &'static str, measured: f64, high: f64) -> Self {
        Self::between(what, unit, 0.0, measured, [f64::NEG_INFINITY, high])
    }

    /// Returns how far the value is off, in units of its bound: at most 1 if it holds, infinite if it is no number.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let off = self.measured - self.expected;
        let bound = if off < 0.0 { self.expected - self.low } else { self.high - self.expected };
        if off == 0.0 {
            return 0.0;
        }
        let deviation = off.abs() / bound;
        if deviation.is_nan() { f64::INFINITY } else { deviation }
    }

    /// Returns true if the value is within its bounds.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.low..=self.high).contains(&self.measured)
    }

    /// Returns the expected value as short text.
    #[must_use]
    pub fn expected_text(&self) -> String {
        short(self.expected)
    }

    /// Returns the measured value as short text.
    #[must_use]
    pub fn measured_text(&self) -> String {
        short(self.measured)
    }

    /// Returns the bound in words: `± 0.01`, `at most 0.01`, or both ends.
    #[must_use]
    pub fn bound(&self) -> String {
        let (below, above) = (self.expected - self.low, self.high - self.expected);
        if below.is_infinite() {
            return format!("≤ {}", short(self.high));
        }
        if (below - above).abs() <= 1e-6 * above.abs().max(below.abs()) {
            return format!("± {}", short(above));
        }
        format!("{} to {}", short(self.low), short(self.high))
    }
}

/// Formats a number with four significant digits.
#[must_use]
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few digits")]
    let digits = (3.0 - value.abs().log10().floor()).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_in_units_of_the_bound() {
        let check = LawCheck::near("speed", "m/s", 2.0, 2.05, 0.1);
        assert!((check.deviation() - 0.5).abs() < 1e-9 && check.holds());
        assert_eq!(check.bound(), "± 0.1");
        let off = LawCheck { measured: 1.7, ..check };
        assert!((off.deviation() - 3.0).abs() < 1e-9 && !off.holds());
        let lost = LawCheck { measured: f64::NAN, ..off };
        assert!(lost.deviation().is_infinite() && !lost.holds());
        let depth = LawCheck::at_most("depth", "m", -1.0, 0.005);
        assert!(depth.holds() && depth.deviation() == 0.0);
        assert_eq!(depth.bound(), "≤ 0.005");
        let uneven = LawCheck::between("energy", "", 1.0, 0.96, [0.95, 1.01]);
        assert!((uneven.deviation() - 0.8).abs() < 1e-9);
        assert_eq!(uneven.bound(), "0.95 to 1.01");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, 12.3456, 0.001_234_56, 1e-7, 123_456.0, -2.5].map(short);
        assert_eq!(shown, ["0", "1", "12.35", "0.001235", "1.000e-7", "123456", "-2.5"]);
    }
}
