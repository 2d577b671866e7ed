//! `--markdown`: writes tables of committed results between two marks of a Markdown file.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::console;
use super::super::failure::{Failure, reason};
use super::super::output::{self, Destination};
use super::super::report::{count, group, significant};
use super::crossover;
use super::row::{BenchRow, Results};

/// Marks around the results.
const MARKS: (&str, &str) =
    ("<!-- figures: written by .ci/figures from benches/results -->\n", "<!-- end of figures -->");

/// Replaces the text between the marks by tables of the given results.
///
/// # Errors
/// If a mark is missing, or the file cannot be read or written.
pub fn write(markdown: &Path, paths: &[PathBuf], files: &[Results]) -> Result<(), Failure> {
    let shown = markdown.display();
    let text =
        fs::read_to_string(markdown).map_err(|e| Failure::usage(format_args!("--markdown {shown}: {}", reason(&e))))?;
    let parts = text.split_once(MARKS.0).and_then(|(head, rest)| Some((head, rest.split_once(MARKS.1)?.1)));
    let Some((head, tail)) = parts else {
        return Err(Failure::usage(format_args!(
            "--markdown {shown}: expected a line {:?} and below it {:?}",
            MARKS.0.trim_end(),
            MARKS.1
        )));
    };
    let mut figures = String::new();
    for (path, results) in paths.iter().zip(files) {
        figures += &section(markdown, path, results);
    }
    let mut file = Destination::open("--markdown", markdown, &["md"])?;
    file.fill([head, MARKS.0, &figures, MARKS.1, tail].concat().as_bytes())?;
    let files = output::publish(vec![file])?;
    console::print(&format!("wrote {}\n", files.join(", ")))
}

/// Returns the section of one machine: a table of medians, with scenes and sizes as rows and backends as columns, and
/// the crossover sizes.
fn section(markdown: &Path, path: &Path, results: &Results) -> String {
    let machine = &results.machine;
    let adapter = match &machine.adapter {
        Some(adapter) if adapter.kind == "cpu" => format!("; {}, a software adapter and not a GPU", adapter.name),
        Some(adapter) => format!("; {}", adapter.name),
        None => String::new(),
    };
    let load = machine.load.map_or_else(String::new, |load| format!(", load {load:.1} when it began"));
    let mut text = format!("\n**{}, {} cores{adapter}**{load}. Median ms per step", machine.cpu, machine.cores);
    if let Some(row) = results.rows.first() {
        let repeats = count(row.ms_per_step.samples.len() as u64, "repeat");
        let _ = write!(text, " of {repeats} of {}", count(row.steps.into(), "step"));
    }
    text += "; in brackets the deepest overlap of shapes at the end, mm.\n\n";

    let mut columns: Vec<&BenchRow> = Vec::new();
    let mut cases: Vec<&BenchRow> = Vec::new();
    for row in &results.rows {
        if columns.iter().all(|column| column.backend != row.backend) {
            columns.push(row);
        }
        if cases.iter().all(|case| (&case.scene, case.size) != (&row.scene, row.size)) {
            cases.push(row);
        }
    }
    let heads: String = columns.iter().map(|row| format!(" {} |", row.label())).collect();
    let _ = writeln!(text, "| scene | bodies |{heads}\n|---|---:|{}", "---:|".repeat(columns.len()));
    for case in &cases {
        let _ = write!(text, "| {} | {} |", case.family(), group(case.bodies as u64));
        for column in &columns {
            let row = results
                .rows
                .iter()
                .find(|row| (&row.scene, row.size, &row.backend) == (&case.scene, case.size, &column.backend));
            let cell = row.map_or_else(String::new, |row| {
                let deep = row.quality.max_penetration.map(|deep| format!(" ({})", significant(1e3 * deep)));
                significant(row.ms_per_step.median) + &deep.unwrap_or_default()
            });
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    let mut families: Vec<&str> = cases.iter().map(|case| case.family()).collect();
    families.dedup();
    let sentences: Vec<String> =
        families.iter().flat_map(|family| crossover::sentences(&results.rows, family)).collect();
    if !sentences.is_empty() {
        let _ = write!(text, "\n{}.\n", sentences.join("; "));
    }
    let _ = write!(text, "\nDrystone {} ({})", machine.drystone, machine.rustc);
    for engine in &machine.peers {
        let _ = write!(text, ", {}", engine.version);
    }
    // Links are relative to the Markdown file if it is in a parent folder.
    let folder = markdown.parent().unwrap_or(Path::new(""));
    let shown = path.strip_prefix(folder).unwrap_or(path).display().to_string().replace('\\', "/");
    let _ = write!(text, ". All of it: [{shown}]({shown})");
    let picture = path.with_extension("png");
    if picture.is_file() {
        let shown = picture.strip_prefix(folder).unwrap_or(&picture).display().to_string().replace('\\', "/");
        let _ = write!(text, ", [drawn]({shown})");
    }
    text + ".\n\n"
}
