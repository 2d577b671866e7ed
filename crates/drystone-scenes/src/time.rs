//! Times of steps for tables and reports.
//!
//! ```
//! use drystone_scenes::time;
//!
//! assert_eq!([90, 7].map(|steps| time::after(steps, 1.0 / 60.0)), [1.5, 7.0 / 60.0]);
//! assert_eq!(time::after(3, 0.002), 0.006);
//! ```

/// Returns the time after a number of steps, s: steps divided by the rate where the length of a step is 1 / rate, so
/// that 90 steps of 1/60 s end at exactly 1.5 s and every time equals `n / 60` bit by bit. Otherwise steps times the
/// length as it is written, so that 3 steps of 0.002 s end at 0.006 s.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a time")]
pub fn after(steps: u64, dt: f32) -> f64 {
    let rate = (1.0 / f64::from(dt)).round();
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let is_whole = ((1.0 / rate) as f32).to_bits() == dt.to_bits();
    if is_whole { steps as f64 / rate } else { steps as f64 * dt.to_string().parse().unwrap_or(f64::from(dt)) }
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn times_are_whole_numbers_over_the_rate() {
        for rate in [50_u16, 60, 120, 240, 960] {
            for steps in [0_u64, 1, 7, 59, 90, 12_345] {
                assert_eq!(after(steps, 1.0 / f32::from(rate)), steps as f64 / f64::from(rate), "{steps} at {rate} Hz");
            }
        }
        assert_eq!(after(3, 0.002), 3.0 / 500.0);
        assert_eq!(after(2, 0.3), 0.6);
        // The control: the product with the f32 is another number.
        assert_ne!(90.0 * f64::from(1.0_f32 / 60.0), after(90, 1.0 / 60.0));
    }
}
