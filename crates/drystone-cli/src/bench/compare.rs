//! `--compare`: finds regressions beyond the noise.
//!
//! Rows match if scene, size, backend, threads, steps and substeps are the same. The noise of a row is the range of its
//! repeats. A row is slower if its median exceeds the old one by more than half of both noises together: the two
//! ranges, centred at their medians, do not overlap. Both sides need at least three repeats for an estimate of the
//! noise. Processor time is compared if both have it, as other programs disturb it less.

use std::fmt::Write as _;

use super::super::console;
use super::super::failure::{Code, Failure};
use super::super::report::{count, significant};
use super::row::{BenchRow, Results, Spread};

/// Minimum number of repeats.
const ENOUGH: usize = 3;

/// Medians of a row, old and new.
#[derive(Debug, PartialEq)]
struct RowChange {
    /// Old median, ms.
    old: f64,
    /// New median, ms.
    new: f64,
    /// Largest difference explained by noise, ms.
    noise: f64,
}

impl RowChange {
    fn is_slower(&self) -> bool {
        self.new - self.old > self.noise
    }

    fn is_faster(&self) -> bool {
        self.old - self.new > self.noise
    }
}

/// Prints a line for each changed row, and fails if one is slower.
///
/// # Errors
/// A regression, no common rows, or too few repeats.
pub fn check(old: &Results, new: &Results) -> Result<(), Failure> {
    if old.machine.cpu != new.machine.cpu || name(old) != name(new) {
        console::warn("--compare: the old file was measured on another machine");
    }
    let (mut text, mut compared, mut slower) = (String::new(), 0, Vec::new());
    for row in &new.rows {
        let Some(before) = old.rows.iter().find(|before| same(before, row)) else { continue };
        let change = change(before, row)?;
        compared += 1;
        let (word, factor) = (if change.is_slower() { "slower" } else { "faster" }, change.new / change.old);
        if change.is_slower() || change.is_faster() {
            let [old, new, noise] = [change.old, change.new, change.noise].map(significant);
            let _ = writeln!(
                text,
                "{word}: {} of {} on {}: {old} -> {new} ms (x{}), noise {noise} ms",
                row.scene,
                row.size,
                row.label(),
                significant(factor)
            );
        }
        if change.is_slower() {
            slower.push(format!("{} on {}", row.scene, row.label()));
        }
    }
    if compared == 0 {
        return Err(Failure::usage("--compare: the two files have no row in common")
            .hint("rows match if they have the same scene, size, backend, threads, steps and substeps"));
    }
    let _ = writeln!(text, "compared {} with the old file: {} slower", count(compared, "row"), slower.len());
    console::print(&text)?;
    if slower.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Code::Check, format_args!("slower than before: {}", slower.join(", "))))
}

fn name(results: &Results) -> Option<&str> {
    results.machine.adapter.as_ref().map(|adapter| adapter.name.as_str())
}

fn same(a: &BenchRow, b: &BenchRow) -> bool {
    (&a.scene, a.size, &a.backend, a.threads, a.steps, a.substeps)
        == (&b.scene, b.size, &b.backend, b.threads, b.steps, b.substeps)
}

fn change(old: &BenchRow, new: &BenchRow) -> Result<RowChange, Failure> {
    let (before, after) = match (&old.cpu_ms_per_step, &new.cpu_ms_per_step) {
        (Some(old), Some(new)) => (old, new),
        _ => (&old.ms_per_step, &new.ms_per_step),
    };
    if let Some(few) = [before, after].into_iter().find(|spread| spread.samples.len() < ENOUGH) {
        let said = count(few.samples.len() as u64, "repeat");
        return Err(Failure::usage(format_args!(
            "--compare: {} on {} has {said}; {ENOUGH} are needed to estimate the noise",
            new.scene, new.backend
        )));
    }
    let range = |spread: &Spread| spread.max - spread.min;
    Ok(RowChange { old: before.median, new: after.median, noise: 0.5 * (range(before) + range(after)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(samples: &[f64]) -> BenchRow {
        let spread = Spread::of(samples, &[]);
        let text = serde_json::json!({ "scene": "a", "backend": "cpu1", "ms_per_step": spread });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn noise_is_no_regression_and_more_is() {
        let old = row(&[1.0, 1.1, 0.9]);
        let judged = |samples: &[f64]| change(&old, &row(samples)).unwrap();
        assert!(!judged(&[1.15, 1.05, 1.25]).is_slower(), "ranges meet");
        assert!(judged(&[1.25, 1.22, 1.28]).is_slower());
        assert!(judged(&[0.75, 0.72, 0.78]).is_faster());
        assert!(!judged(&[0.75, 0.72, 0.78]).is_slower());
        assert!(!judged(&[1.25, 0.9, 1.6]).is_slower(), "a noisy run proves less");
        assert!(change(&old, &row(&[9.0, 9.0])).is_err());
    }

    #[test]
    fn processor_time_is_compared_where_both_have_it() {
        let with_cpu =
            |wall: &[f64], cpu: &[f64]| BenchRow { cpu_ms_per_step: Some(Spread::of(cpu, &[])), ..row(wall) };
        let old = with_cpu(&[1.0; 3], &[1.0; 3]);
        assert!(!change(&old, &with_cpu(&[5.0; 3], &[1.0; 3])).unwrap().is_slower());
        assert!(change(&old, &with_cpu(&[1.0; 3], &[1.5; 3])).unwrap().is_slower());
        assert!(change(&old, &row(&[5.0; 3])).unwrap().is_slower());
    }
}
