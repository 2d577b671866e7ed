//! Crossover sizes, from which the GPU is faster than other backends, and the cost per body as worlds grow.

use std::fmt::Write as _;

use super::super::report::{group, significant};
use super::row::BenchRow;

/// Sizes at which one backend is faster than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// All measured sizes.
    Always,
    /// Sizes from about this one on, with the time at which the two lines meet, ms.
    From(f64, f64),
    /// None, as it is slower at the largest size.
    NotYet,
}

/// Returns the medians of one backend as (size, ms), both above 0, by increasing size.
pub fn line(rows: &[BenchRow], family: &str, backend: &str) -> Vec<(f64, f64)> {
    let of = |row: &&BenchRow| row.family() == family && row.backend == backend && row.ms_per_step.median > 0.0;
    let mut line: Vec<(f64, f64)> =
        rows.iter().filter(of).map(|row| (row.size.max(1) as f64, row.ms_per_step.median)).collect();
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    line.dedup_by(|a, b| a.0 == b.0);
    line
}

/// Returns where `mine` becomes faster than `theirs` and stays so, by linear interpolation of logarithms between sizes.
/// `None` below two common sizes.
pub fn find(mine: &[(f64, f64)], theirs: &[(f64, f64)]) -> Option<Crossover> {
    let common: Vec<(f64, f64, f64)> = mine
        .iter()
        .filter_map(|&(size, ms)| Some((size, ms, theirs.iter().find(|their| their.0 == size)?.1)))
        .collect();
    if common.len() < 2 {
        return None;
    }
    // Logarithm of the time ratio; positive if slower.
    let behind = |&(_, mine, theirs): &(f64, f64, f64)| (mine / theirs).ln();
    let Some(last) = common.iter().rposition(|point| behind(point) >= 0.0) else { return Some(Crossover::Always) };
    let Some(next) = common.get(last + 1) else { return Some(Crossover::NotYet) };
    let from = &common[last];
    let way = behind(from) / (behind(from) - behind(next));
    let between = |a: f64, b: f64| (a.ln() + way * (b.ln() - a.ln())).exp();
    Some(Crossover::From(between(from.0, next.0), between(from.1, next.1)))
}

/// Returns one row per backend of a scene family, in the order of the rows.
pub fn backends<'a>(rows: &'a [BenchRow], family: &str) -> Vec<&'a BenchRow> {
    let mut found: Vec<&BenchRow> = Vec::new();
    for row in rows.iter().filter(|row| row.family() == family) {
        if found.iter().all(|other| other.backend != row.backend) {
            found.push(row);
        }
    }
    found
}

/// Returns sentences about one family of scenes: from which size the GPU is faster than each other backend.
pub fn sentences(rows: &[BenchRow], family: &str) -> Vec<String> {
    let backends = backends(rows, family);
    let Some(gpu) = backends.iter().find(|row| row.backend == "gpu") else { return Vec::new() };
    let mine = line(rows, family, "gpu");
    let label = gpu.label();
    let [first, last] = [mine.first(), mine.last()].map(|at| whole(at.map_or(0.0, |at| at.0)));
    let (mut sentences, mut always, mut not_yet) = (Vec::new(), Vec::new(), Vec::new());
    for rival in backends.iter().filter(|row| row.backend != "gpu") {
        match find(&mine, &line(rows, family, &rival.backend)) {
            Some(Crossover::Always) => always.push(rival.label()),
            Some(Crossover::From(size, _)) => {
                let (rival, size) = (rival.label(), round(size));
                sentences.push(format!("{family}: {label} is faster than {rival} from about {size} bodies on"));
            }
            Some(Crossover::NotYet) => not_yet.push(rival.label()),
            None => {}
        }
    }
    if !always.is_empty() {
        let always = always.join(", ");
        sentences.push(format!("{family}: {label} is faster than {always} at every size, from {first} bodies"));
    }
    if !not_yet.is_empty() {
        sentences.push(format!("{family}: {label} stays slower than {} up to {last} bodies", not_yet.join(", ")));
    }
    sentences
}

/// Returns these sentences, and the cost per body by size if there are several sizes.
pub fn text(rows: &[BenchRow], family: &str) -> String {
    let mut text: String = sentences(rows, family).iter().map(|sentence| format!("{sentence}\n")).collect();
    for row in backends(rows, family) {
        let line = line(rows, family, &row.backend);
        // The actual number of bodies: scenes only approximate the requested size, and small ones differ by up to a
        // tenth.
        let bodies = |size: f64| {
            let same = |other: &&BenchRow| other.family() == family && other.size.max(1) as f64 == size;
            rows.iter().find(same).map_or(size, |row| row.bodies.max(1) as f64)
        };
        let costs: Vec<f64> = line.iter().map(|&(size, ms)| 1e3 * ms / bodies(size)).collect();
        if costs.len() < 2 {
            continue;
        }
        let _ = write!(text, "{family}: {}, us per body and step:", row.label());
        for ((size, _), cost) in line.iter().zip(&costs) {
            let _ = write!(text, " {} at {},", significant(*cost), whole(*size));
        }
        let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let last = costs[costs.len() - 1];
        let _ = writeln!(text, " last over best {}", significant(last / best));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are positive and far below 2^53")]
fn whole(size: f64) -> String {
    group(size.round() as u64)
}

/// Rounds a size to two digits, as more are not significant.
pub fn round(size: f64) -> String {
    let step = 10_f64.powf((size.max(1.0).log10().floor() - 1.0).max(0.0));
    whole((size / step).round() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cross_where_their_logarithms_do() {
        // 1 ms at any size against 0.001 ms per body: they meet at 1000 bodies.
        let flat = [(100.0, 1.0), (10_000.0, 1.0)];
        let steep = [(100.0, 0.1), (10_000.0, 10.0)];
        let Some(Crossover::From(size, ms)) = find(&flat, &steep) else { panic!() };
        assert!((size - 1000.0).abs() < 1e-6 && (ms - 1.0).abs() < 1e-9, "{size} {ms}");
        assert_eq!(find(&steep, &flat), Some(Crossover::NotYet));
        assert_eq!(find(&flat, &[(100.0, 2.0), (10_000.0, 3.0)]), Some(Crossover::Always));
        assert_eq!(find(&flat, &[(100.0, 2.0), (200.0, 3.0)]), None, "one common size");
        // Slower again at a larger size: only the last crossing counts.
        let wavy = [(1.0, 2.0), (10.0, 0.5), (100.0, 2.0), (1000.0, 0.5)];
        let one = [(1.0, 1.0), (10.0, 1.0), (100.0, 1.0), (1000.0, 1.0)];
        assert!(matches!(find(&wavy, &one), Some(Crossover::From(size, _)) if (100.0..1000.0).contains(&size)));
    }

    #[test]
    fn two_digits() {
        assert_eq!(round(12_345.0), "12,000");
        assert_eq!(round(7.4), "7");
        assert_eq!(round(987_654.0), "990,000");
    }
}
