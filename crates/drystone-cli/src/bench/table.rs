//! Result rows as a text table and as CSV.

use std::fmt::Write as _;

use super::super::report::{count, group, significant};
use super::row::{BenchRow, Results};

/// Explanation of the two columns about memory, printed below all tables.
const MEMORY: &str = "memory: ms to move a step's data at copy speed, with the cost of its dispatches; x memory: \
                      median over that, below 1 where data stay in caches\n";

/// Returns the table of one scene.
pub fn table(rows: &[BenchRow], with_stages: bool) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else { return text };
    let _ = writeln!(
        text,
        "{}: {}, {} after the first, dt {:.5} s, {}, {}",
        first.scene,
        count(first.bodies as u64, "body"),
        count(first.steps.into(), "step"),
        first.dt,
        count(first.substeps.into(), "substep"),
        count(first.ms_per_step.samples.len() as u64, "repeat")
    );
    let _ = writeln!(
        text,
        "{:<18}{:>9}{:>9}{:>8}{:>9} |{:>9}{:>9}{:>11} |{:>9}{:>9}{:>9}{:>9}{:>10}",
        "ms per step",
        "min",
        "median",
        "spread",
        "cpu",
        "memory",
        "x memory",
        "dispatches",
        "sink mm",
        "drift mm",
        "deep mm",
        "joint mm",
        "touching"
    );
    for row in rows {
        let ms = &row.ms_per_step;
        let spread =
            if ms.median > 0.0 { format!("{:.0}%", 1e2 * (ms.max - ms.min) / ms.median) } else { String::new() };
        let optional = |x: Option<f64>| x.map_or_else(String::new, significant);
        let mm = |x: Option<f64>| optional(x.map(|x| 1e3 * x));
        let limit = row.limit.as_ref();
        let quality = &row.quality;
        let _ = writeln!(
            text,
            "{:<18}{:>9}{:>9}{spread:>8}{:>9} |{:>9}{:>9}{:>11} |{:>9}{:>9}{:>9}{:>9}{:>10}",
            row.label(),
            significant(ms.min),
            significant(ms.median),
            optional(row.cpu_ms_per_step.as_ref().map(|cpu| cpu.median)),
            optional(limit.map(|limit| limit.ms)),
            optional(limit.and_then(|limit| times(limit.share))),
            row.dispatches_per_step.map_or_else(String::new, |n| n.to_string()),
            mm(quality.sink),
            mm(quality.drift),
            mm(quality.max_penetration),
            if row.joints > 0 { mm(quality.joint_error) } else { String::new() },
            group(quality.touching.into())
        );
    }
    for row in rows.iter().filter(|row| row.device_bytes.is_some() || row.overflowed_steps > 0) {
        let bytes = row.device_bytes.unwrap_or(0) as f64;
        let _ = write!(text, "{}: {} MB", row.label(), significant(bytes * 1e-6));
        let _ = write!(text, ", {} bytes per body", significant(bytes / row.bodies.max(1) as f64));
        if row.overflowed_steps > 0 {
            let _ = write!(text, "; a buffer overflowed in {}", count(row.overflowed_steps, "step"));
        }
        text.push('\n');
    }
    if with_stages {
        rows.iter().filter(|row| !row.stages_ms.is_empty()).for_each(|row| stages(&mut text, row));
    }
    text.push('\n');
    text
}

/// Returns the explanation of columns in use, to be printed below the last table.
pub fn legend(rows: &[BenchRow]) -> &'static str {
    if rows.iter().any(|row| row.limit.is_some()) { MEMORY } else { "" }
}

fn stages(text: &mut String, row: &BenchRow) {
    let _ = writeln!(text, "  {:<24}{:>9}{:>10}{:>10}", format!("{} by stage", row.label()), "ms", "MB", "x memory");
    for (stage, ms) in &row.stages_ms {
        let of = |list: &[(String, f64)]| list.iter().find(|(name, _)| name == stage).map(|&(_, value)| value);
        let bytes = row.limit.as_ref().and_then(|limit| of(&limit.stages_bytes));
        let share = row.limit.as_ref().and_then(|limit| of(&limit.stages_share));
        let _ = writeln!(
            text,
            "    {stage:<22}{:>9}{:>10}{:>10}",
            significant(*ms),
            bytes.map_or_else(String::new, |bytes| significant(bytes * 1e-6)),
            share.and_then(times).map_or_else(String::new, significant)
        );
    }
}

/// Converts the share of the memory limit in a time to how many times longer the time is.
fn times(share: f64) -> Option<f64> {
    (share > 0.0).then(|| share.recip())
}

/// Columns of [`csv`].
const COLUMNS: [&str; 26] = [
    "scene",
    "size",
    "backend",
    "threads",
    "adapter",
    "adapter_type",
    "bodies",
    "contacts",
    "steps",
    "substeps",
    "repeats",
    "ms_min",
    "ms_median",
    "ms_max",
    "ms_first",
    "cpu_ms_median",
    "limit_ms",
    "limit_share",
    "dispatches_per_step",
    "sink_m",
    "drift_m",
    "max_penetration_m",
    "mean_penetration_m",
    "joint_error_m",
    "moved_m",
    "max_speed_m_s",
];

/// Returns the rows as CSV (RFC 4180), with empty cells for unknown values.
pub fn csv(results: &Results) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in &results.rows {
        let optional = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        let (ms, quality, limit) = (&row.ms_per_step, &row.quality, row.limit.as_ref());
        let adapter = row.adapter.as_ref();
        let cells: [String; COLUMNS.len()] = [
            quoted(&row.scene),
            row.size.to_string(),
            row.backend.clone(),
            row.threads.map_or_else(String::new, |n| n.to_string()),
            quoted(adapter.map_or("", |adapter| &adapter.name)),
            adapter.map_or_else(String::new, |adapter| adapter.kind.clone()),
            row.bodies.to_string(),
            row.contacts.to_string(),
            row.steps.to_string(),
            row.substeps.to_string(),
            ms.samples.len().to_string(),
            ms.min.to_string(),
            ms.median.to_string(),
            ms.max.to_string(),
            ms.first.to_string(),
            optional(row.cpu_ms_per_step.as_ref().map(|cpu| cpu.median)),
            optional(limit.map(|limit| limit.ms)),
            optional(limit.map(|limit| limit.share)),
            row.dispatches_per_step.map_or_else(String::new, |n| n.to_string()),
            optional(quality.sink),
            optional(quality.drift),
            optional(quality.max_penetration),
            optional(quality.mean_penetration),
            optional(quality.joint_error),
            optional(quality.moved),
            optional(quality.max_speed),
        ];
        text += &(cells.join(",") + "\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn commas_are_quoted() {
        assert_eq!(quoted("large_pyramid"), "large_pyramid");
        assert_eq!(quoted("a:b=1,c=2"), "\"a:b=1,c=2\"");
        assert_eq!(quoted("say \"a\""), "\"say \"\"a\"\"\"");
    }
}
