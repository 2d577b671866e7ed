//! `drystone validate`: compares the GPU with the CPU by means of `drystone_validate`, prints tables and writes the
//! report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use drystone::World;
use drystone::low_level::step::Stage;
use drystone_validate::{Difference, MetricReport, StageReport, ValidationReport, compare};
use serde::Serialize;

use super::backend::{self, Backend, BackendInfo};
use super::failure::{Code, Failure};
use super::number::whole;
use super::output::{self, Destination};
use super::overrides::Overrides;
use super::progress;
use super::report::{count, significant};
use super::source::{self, LoadedScene};
use super::{console, stop};

/// Maximum length of a printed value, in characters; the JSON report contains all of it.
const MAX_VALUE_LENGTH: usize = 400;

/// Compare the GPU with the CPU: every stage, single steps and the whole run; exit code 1 if they differ
#[derive(clap::Args, Debug)]
pub struct ValidateOptions {
    /// A scene file (JSON or RON), - for standard input, or a built-in scene such as large_pyramid:base=50
    #[arg(value_name = "SCENE")]
    scene: String,
    /// Number of steps to compare
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true,
        value_parser = whole::<u64>(1..=1_000_000))]
    steps: u64,
    #[command(flatten)]
    overrides: Overrides,
    /// Write a report (.json, or - for standard output; the tables then go to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// No progress bar and no tables
    #[arg(long, short)]
    quiet: bool,
    /// Skip a stage on the CPU (fault injection for tests)
    #[arg(long, value_name = "STAGE", hide = true, value_parser = stage)]
    leave_out: Option<Stage>,
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::named(name).ok_or_else(|| "unknown stage".to_owned())
}

/// JSON report.
#[derive(Serialize)]
struct ValidateReport<'a> {
    #[serde(flatten)]
    about: &'a BackendInfo,
    version: &'static str,
    passed: bool,
    first_failure: Option<&'static str>,
    #[serde(flatten)]
    report: &'a ValidationReport,
}

/// Runs the command.
///
/// # Errors
/// Backends that differ; invalid input, no GPU, files that cannot be written, Ctrl-C.
pub fn run(options: &ValidateOptions) -> Result<(), Failure> {
    let LoadedScene { mut scene, path, .. } = source::load(&options.scene)?;
    options.overrides.apply(&mut scene);
    stop::install()?;
    let json_on_stdout = options.json.as_deref() == Some(Path::new("-"));
    let mut file = match options.json.as_deref().filter(|_| !json_on_stdout) {
        Some(path) => Some(Destination::open("--json", path, &["json"])?),
        None => None,
    };
    output::check_distinct(&file.iter().collect::<Vec<_>>(), path.as_deref())?;

    let opened = backend::open(&scene, Backend::Gpu, None)?;
    let about = opened.about;
    let World::Gpu(gpu) = opened.world else {
        return Err(Failure::new(Code::NoGpu, "no GPU"));
    };
    let steps = options.steps;
    if !options.quiet {
        console::note(&format!("comparing {} on the CPU and on {}", count(steps, "step"), about.line()));
    }
    let bar = progress::bar(steps, !options.quiet);
    let settings = drystone_validate::ValidationOptions { steps, cpu_fault: options.leave_out };
    let report = compare(*gpu, &scene, settings, |step| {
        bar.set_position(step);
        if stop::requested() {
            bar.finish_and_clear();
            console::note(&format!("error: stopped: after step {step} of {steps}; nothing was written"));
            stop::exit_now(Code::Stopped);
        }
    });
    bar.finish_and_clear();
    let report = report?;

    let written = ValidateReport {
        about: &about,
        version: env!("CARGO_PKG_VERSION"),
        passed: report.passed(),
        first_failure: report.first_failure(),
        report: &report,
    };
    // Serialisation fails only for maps with non-string keys and failing `Serialize` implementations; a report has
    // neither.
    let json = serde_json::to_string_pretty(&written).unwrap_or_default() + "\n";
    if let Some(file) = &mut file {
        file.fill(json.as_bytes())?;
    }
    output::publish(file.into_iter().collect())?;
    if !options.quiet {
        let tables = tables(&report, &about);
        if json_on_stdout { console::note(tables.trim_end()) } else { console::print(&tables)? }
    }
    if json_on_stdout {
        console::print(&json)?;
    }
    conclude(&report)
}

/// Returns a failure with exit code 1, naming the first difference, if a tolerance was exceeded.
fn conclude(report: &ValidationReport) -> Result<(), Failure> {
    match (&report.first_difference, report.first_failure()) {
        (_, None) => Ok(()),
        (Some(Difference { step, stage, table, index, .. }), _) if *stage == "step" => Err(Failure::new(
            Code::Check,
            format_args!("the backends differ after step {}, first in {table}[{index}]", step + 1),
        )),
        (Some(Difference { step, stage, table, index, .. }), _) => Err(Failure::new(
            Code::Check,
            format_args!("the backends differ first in stage {stage} of step {}, in {table}[{index}]", step + 1),
        )),
        (None, Some(_)) => {
            let failed = report.metrics.iter().filter(|metric| !metric.passed).map(|metric| metric.metric);
            let failed: Vec<&str> = failed.collect();
            Err(Failure::new(Code::Check, format_args!("the backends differ in the whole run: {}", failed.join(", "))))
        }
    }
}

fn tables(report: &ValidationReport, about: &BackendInfo) -> String {
    let scene = if report.scene.is_empty() { "unnamed scene" } else { &report.scene };
    let mut text = format!("{scene}: {} on the CPU and on {}\n\n", count(report.steps, "step"), about.line());
    stages(&mut text, report);
    if !report.metrics.is_empty() {
        text.push('\n');
        metrics(&mut text, &report.metrics);
    }
    if let Some(difference) = &report.first_difference {
        let _ = writeln!(text, "\n  cpu  {}\n  gpu  {}", cut(&difference.cpu), cut(&difference.gpu));
    }
    let verdict = if report.passed() { "CPU and GPU agree" } else { "CPU and GPU differ" };
    let _ = writeln!(text, "\n{verdict}");
    text
}

/// Appends the table of stages. Differences are fractions of the tolerance.
fn stages(text: &mut String, report: &ValidationReport) {
    let _ = writeln!(text, "  {:<22} {:>6} {:>5}  {:>20}", "stage", "checks", "ties", "largest / allowed");
    let mut row = |name: &str, checks: u32, ties: u32, worst: f64| {
        let worst = if worst.is_finite() { significant(worst) } else { "not equal".to_owned() };
        let _ = writeln!(text, "  {name:<22} {checks:>6} {ties:>5}  {worst:>20}");
    };
    for StageReport { stage, checks, worst, ties } in &report.stages {
        row(stage, *checks, *ties, *worst);
    }
    // A step with a differing stage is not compared as a whole.
    let broken = report.first_difference.as_ref().is_some_and(|difference| difference.stage != "step");
    let steps = report.stepwise.len().saturating_sub(broken.into());
    if steps > 0 {
        row("one step", u32::try_from(steps).unwrap_or(u32::MAX), 0, report.one_step_worst);
    }
}

fn metrics(text: &mut String, metrics: &[MetricReport]) {
    let _ = writeln!(text, "  {:<34} {:>10} {:>10} {:>10}", "whole run", "cpu", "gpu", "allowed");
    for MetricReport { metric, cpu, gpu, tolerance, passed } in metrics {
        let [cpu, gpu, tolerance] = [*cpu, *gpu, *tolerance].map(significant);
        let verdict = if *passed { "" } else { "  differs" };
        let _ = writeln!(text, "  {metric:<34} {cpu:>10} {gpu:>10} {tolerance:>10}{verdict}");
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(MAX_VALUE_LENGTH) {
        Some((end, _)) => format!("{} …", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ValidationReport {
        ValidationReport {
            scene: "a".to_owned(),
            steps: 10,
            stepwise: vec![0],
            stages: vec![StageReport { stage: "solve", checks: 1, worst: 0.5, ties: 0 }],
            one_step_worst: 0.5,
            metrics: vec![MetricReport { metric: "sink", cpu: 1.0, gpu: 1.5, tolerance: 1.0, passed: true }],
            first_difference: None,
        }
    }

    fn differing(stage: &'static str) -> ValidationReport {
        let (cpu, gpu) = ("1".repeat(1000), "2".to_owned());
        let first = Difference { step: 2, stage, table: "poses", index: 7, cpu, gpu, error: 2.0, tolerance: 1.0 };
        ValidationReport { first_difference: Some(first), ..report() }
    }

    #[test]
    fn agreement_ends_well() {
        assert!(conclude(&report()).is_ok());
        let about = BackendInfo::cpu(1, String::new());
        let shown = tables(&report(), &about);
        assert!(shown.ends_with("CPU and GPU agree\n") && !shown.contains("differs"), "{shown}");
    }

    #[test]
    fn every_kind_of_difference_is_named() {
        let about = BackendInfo::cpu(1, String::new());
        let mut metric = report();
        metric.metrics[0].passed = false;
        for (report, says) in [
            (differing("solve"), "in stage solve of step 3, in poses[7]"),
            (differing("step"), "after step 3, first in poses[7]"),
            (metric, "in the whole run: sink"),
        ] {
            let failure = conclude(&report).unwrap_err();
            assert_eq!(failure.code, Code::Check);
            assert!(failure.to_string().contains(says), "{failure}");
            let shown = tables(&report, &about);
            assert!(shown.ends_with("CPU and GPU differ\n") && shown.lines().all(|line| line.len() < 500), "{shown}");
        }
    }

    #[test]
    fn a_step_with_a_broken_stage_is_not_compared() {
        let about = BackendInfo::cpu(1, String::new());
        assert!(!tables(&differing("solve"), &about).contains("one step"));
        assert!(tables(&differing("step"), &about).contains("one step"));
    }
}
