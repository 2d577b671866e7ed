//! `drystone lab`: measures the solver against laws of physics by means of `drystone_lab`, prints a table and writes
//! figures.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use drystone::Mode;
use drystone_lab::{LabBackend, LabSetup, Law, LawCheck, LawReport, LawValues, LawVerdict};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::backend::{self, Backend, BackendChoice, BackendInfo};
use super::failure::{Code, Failure};
use super::overrides::ModeName;
use super::report::{count, mode_name};
use super::{console, stop};

/// Measure the solver against laws of physics; exit code 1 if one is missed that is not known to be
#[derive(clap::Args, Debug)]
pub struct LabOptions {
    /// Names of laws, such as arch pendulum_large; all of them if none is given
    #[arg(value_name = "LAW")]
    laws: Vec<String>,
    /// List the laws with their sources; of named laws also the parameters
    #[arg(long)]
    list: bool,
    /// Measure only the laws that take no longer than a few seconds on the CPU
    #[arg(long)]
    quick: bool,
    /// Set a parameter of the laws that have it; what is expected follows
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, f64)>,
    /// Backend to measure
    #[arg(long, value_enum, default_value = "cpu")]
    backend: Backend,
    /// Solver to measure
    #[arg(long, value_enum, default_value = "soft")]
    mode: ModeName,
    /// Write laws.csv, laws.json and a figure of each law (.svg) to a folder, which is made if there is none
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Change the physics of each law as its entry says, but not what is expected: exit code 1 if one still holds
    #[arg(long)]
    disturbed: bool,
    /// No progress bar
    #[arg(long, short)]
    quiet: bool,
}

/// Parses a parameter with its value.
fn setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as gravity=1.62")?;
    let value: f64 = value.trim().parse().map_err(|_| format!("{value:?} is not a number"))?;
    Ok((name.trim().to_owned(), value))
}

/// Content of laws.json.
#[derive(Serialize)]
struct LabReport<'a> {
    #[serde(flatten)]
    about: &'a BackendInfo,
    version: &'static str,
    mode: &'static str,
    quick: bool,
    disturbed: bool,
    laws: &'a [LawReport],
}

/// Runs the command.
///
/// # Errors
/// A law that is missed; an unknown law or parameter, no GPU, files that cannot be written, Ctrl-C.
pub fn run(options: &LabOptions) -> Result<(), Failure> {
    let chosen = choose(options)?;
    if options.list {
        return console::print(&list(&chosen, !options.laws.is_empty()));
    }
    stop::install()?;
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder).map_err(|error| Failure::write(folder.display(), &error))?;
    }
    let (context, about) = match backend::choose(options.backend)? {
        BackendChoice::Cpu { reason } => (None, BackendInfo::cpu(1, reason)),
        BackendChoice::Gpu { context, reason } => {
            let about = BackendInfo::gpu(&context, reason);
            (Some(context), about)
        }
    };
    let mode = Mode::from(options.mode);
    let setup = LabSetup {
        backend: context.as_ref().map_or(LabBackend::Cpu, LabBackend::Gpu),
        mode,
        disturbed: options.disturbed,
        stopped: Some(stop::requested),
    };
    let bar = bar(chosen.len() as u64, !options.quiet);
    let mut reports = Vec::new();
    for (law, values) in &chosen {
        bar.set_message(law.name);
        let report = law.run(&setup, values);
        if stop::requested() {
            bar.finish_and_clear();
            console::note(&format!("error: stopped in {}; nothing was written", law.name));
            stop::exit_now(Code::Stopped);
        }
        reports.push(report);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let shown = LabReport {
        about: &about,
        version: env!("CARGO_PKG_VERSION"),
        mode: mode_name(mode),
        quick: options.quick,
        disturbed: options.disturbed,
        laws: &reports,
    };
    if let Some(folder) = &options.out {
        write(folder, &shown)?;
    }
    let detailed = !options.laws.is_empty();
    let mut text = format!("{}, mode {}\n\n", about.line(), mode_name(mode));
    text += &table(&chosen, &reports, detailed, options.disturbed);
    console::print(&text)?;
    conclude(&reports, options.disturbed)
}

/// Returns the selected laws with their parameters.
fn choose(options: &LabOptions) -> Result<Vec<(&'static Law, LawValues)>, Failure> {
    let named = |name: &String| drystone_lab::find(name).map_err(|error| unknown(&error));
    let mut laws = options.laws.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    if laws.is_empty() {
        laws = drystone_lab::all();
    }
    if options.quick {
        laws.retain(|law| law.quick.is_some());
        if laws.is_empty() {
            return Err(Failure::usage("none of these laws is quick").hint("leave --quick out"));
        }
    }
    // A parameter that none of several laws has is a mistake; of a single law, its own message says more.
    for (name, _) in &options.settings {
        if laws.len() > 1 && !laws.iter().any(|law| law.has(name)) {
            return Err(Failure::usage(format_args!("none of these laws has a parameter {name:?}"))
                .hint("`drystone lab --list LAW` lists those of a law"));
        }
    }
    let values = |law: &'static Law| {
        let mut given: Vec<(String, f64)> = Vec::new();
        if options.quick {
            given.extend(law.quick.unwrap_or_default().iter().map(|&(name, value)| (name.to_owned(), value)));
        }
        given.extend(options.settings.iter().filter(|(name, _)| laws.len() == 1 || law.has(name)).cloned());
        let own = if options.settings.is_empty() && options.quick { law.quick_values() } else { None };
        own.map_or_else(|| law.values(&given), Ok).map(|values| (law, values)).map_err(|error| unknown(&error))
    };
    laws.iter().map(|law| values(law)).collect()
}

fn unknown(error: &drystone_lab::LabError) -> Failure {
    Failure::usage(error).hint("`drystone lab --list` lists the laws, `drystone lab --list LAW` the parameters of one")
}

fn bar(laws: u64, wanted: bool) -> ProgressBar {
    if !wanted || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(laws);
    // The template is valid; an invalid one would only change the appearance.
    match ProgressStyle::with_template("{bar:40} {pos}/{len} laws, {msg}, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Lists laws: name, quick or not, statement, source; with parameters if `detailed`.
fn list(chosen: &[(&'static Law, LawValues)], detailed: bool) -> String {
    let width = chosen.iter().map(|(law, _)| law.name.len()).max().unwrap_or(0);
    let (mut text, mut group) = (String::new(), "");
    for (law, values) in chosen {
        if law.group != group {
            group = law.group;
            let _ = writeln!(text, "{}{group}", if text.is_empty() { "" } else { "\n" });
        }
        let _ = writeln!(text, "  {:<width$}  {}", law.name, law.statement);
        let quick = if law.quick.is_some() { "" } else { "; not quick" };
        let _ = writeln!(text, "  {:<width$}  {}{quick}", "", law.source);
        if detailed {
            for parameter in law.all_parameters() {
                let value =
                    format!("{:.4}", values.get(parameter.name)).trim_end_matches('0').trim_end_matches('.').to_owned();
                let range = format!("{} to {}", parameter.min, parameter.max);
                let _ = writeln!(text, "    {:<14} {value:<12} {range:<16} {}", parameter.name, parameter.meaning);
            }
            let _ = writeln!(text, "    disturbed by: {}", law.disturbance.what);
        }
    }
    text += "\n`drystone lab LAW --set NAME=VALUE` measures one with other parameters; `--list LAW` lists them.\n";
    text
}

/// Returns the table of results: the check of each law that is farthest off, or all checks if `detailed`.
fn table(chosen: &[(&'static Law, LawValues)], reports: &[LawReport], detailed: bool, disturbed: bool) -> String {
    let mut text = format!(
        "{:<24} {:>12} {:>12}  {:<22} {:>7}  {}\n",
        "law", "expected", "measured", "bound", "time, s", "result"
    );
    for ((law, _), report) in chosen.iter().zip(reports) {
        let checks: Vec<&LawCheck> =
            if detailed { report.checks.iter().collect() } else { report.worst().into_iter().collect() };
        let result = verdict(report, disturbed);
        let first = |text: &mut String, cells: [String; 3]| {
            let [expected, measured, bound] = cells;
            let _ = writeln!(
                text,
                "{:<24} {expected:>12} {measured:>12}  {bound:<22} {:>7.2}  {result}",
                law.name, report.seconds
            );
        };
        match checks.split_first() {
            None => first(&mut text, [String::new(), String::new(), String::new()]),
            Some((check, rest)) => {
                first(&mut text, cells(check));
                let _ = writeln!(text, "    {}; {}", quantity(check), law.source);
                for check in rest {
                    let [expected, measured, bound] = cells(check);
                    let miss = if check.holds() { "" } else { "missed" };
                    let _ = writeln!(text, "{:<24} {expected:>12} {measured:>12}  {bound:<22} {:>7}  {miss}", "", "");
                    let _ = writeln!(text, "    {}", quantity(check));
                }
            }
        }
        if let Some(note) = &report.note {
            let _ = writeln!(text, "    {note}");
        }
    }
    text
}

fn cells(check: &LawCheck) -> [String; 3] {
    [check.expected_text(), check.measured_text(), check.bound()]
}

fn quantity(check: &LawCheck) -> String {
    if check.unit.is_empty() { check.what.clone() } else { format!("{}, {}", check.what, check.unit) }
}

fn verdict(report: &LawReport, disturbed: bool) -> &'static str {
    match report.verdict {
        LawVerdict::Held if disturbed => "HELD, though disturbed",
        LawVerdict::Missed if disturbed => "missed, as it must be",
        LawVerdict::Held => "held",
        LawVerdict::Missed => "MISSED",
        LawVerdict::KnownMiss => "missed, as known",
        LawVerdict::HeldUnexpectedly => "HELD, though listed as missed",
        LawVerdict::Failed => "FAILED",
    }
}

/// Returns a failure with exit code 1 if a law was missed unexpectedly, or held though it was disturbed.
fn conclude(reports: &[LawReport], disturbed: bool) -> Result<(), Failure> {
    let names = |which: &dyn Fn(&LawReport) -> bool| -> Vec<&str> {
        reports.iter().filter(|report| which(report)).map(|report| report.law).collect()
    };
    let number = |names: &[&str]| names.len();
    let [held, known] = [names(&LawReport::held), names(&|report| report.verdict == LawVerdict::KnownMiss)];
    let wrong = names(&|report| if disturbed { report.verdict != LawVerdict::Missed } else { report.fails() });
    let surprises = names(&|report| report.verdict == LawVerdict::HeldUnexpectedly);
    let seconds: f64 = reports.iter().map(|report| report.seconds).sum();
    if disturbed {
        console::print(&format!(
            "\n{} of {} missed when disturbed, in {seconds:.0} s\n",
            reports.len() - wrong.len(),
            count(reports.len() as u64, "law")
        ))?;
    } else {
        console::print(&format!(
            "\n{}: {} held, {} missed as known, {} missed, in {seconds:.0} s\n",
            count(reports.len() as u64, "law"),
            number(&held),
            number(&known),
            number(&wrong)
        ))?;
    }
    if !surprises.is_empty() {
        console::warn(&format!("held though listed as missed: {}", surprises.join(", ")));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let what = if disturbed { "held though disturbed" } else { "missed" };
    Err(Failure::new(Code::Check, format_args!("{what}: {}", wrong.join(", "))))
}

/// Writes tables and figures to a folder.
fn write(folder: &Path, report: &LabReport<'_>) -> Result<(), Failure> {
    let put = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| Failure::write(path.display(), &error))
    };
    // Serialisation fails only for maps with non-string keys and failing `Serialize` implementations; a report has
    // neither.
    put("laws.json", &(serde_json::to_string_pretty(report).unwrap_or_default() + "\n"))?;
    let mut csv = "law,group,source,quantity,unit,expected,measured,low,high,holds,verdict,seconds\n".to_owned();
    for law in report.laws {
        let verdict = serde_json::to_string(&law.verdict).unwrap_or_default();
        for check in &law.checks {
            let LawCheck { expected, measured, low, high, unit, .. } = check;
            let _ = writeln!(
                csv,
                "{},{},{},{},{unit},{expected},{measured},{low},{high},{},{verdict},{:.3}",
                law.law,
                law.group,
                quoted(law.source),
                quoted(&check.what),
                check.holds(),
                law.seconds
            );
        }
    }
    put("laws.csv", &csv)?;
    for law in report.laws.iter().filter(|law| !law.checks.is_empty()) {
        put(&format!("{}.svg", law.law), &law.figure.svg(law.statement))?;
    }
    Ok(())
}

/// Quotes a cell of a table in CSV.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_names_with_numbers() {
        assert_eq!(setting("gravity=1.62"), Ok(("gravity".to_owned(), 1.62)));
        assert_eq!(setting("gravity"), Err("expected NAME=VALUE, such as gravity=1.62".to_owned()));
        assert_eq!(setting("gravity=x"), Err("\"x\" is not a number".to_owned()));
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }
}
