//! `drystone scenes`: lists, explains and exports the built-in scenes.

use std::fmt::Write as _;
use std::path::PathBuf;

use drystone_scenes::catalogue::{self, Entry, Parameter, Topic};
use drystone_scenes::file;

use super::console;
use super::failure::Failure;
use super::output::{self, Destination};
use super::report::{count, group};
use super::source;

/// List the built-in scenes, or show one with its parameters
#[derive(clap::Args, Debug)]
pub struct ScenesOptions {
    /// Name of a scene; with --write also with parameters, such as large_pyramid:base=50
    name: Option<String>,
    /// List only scenes whose name, summary or keywords contain all of these words, such as pendulum
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["name", "write"])]
    find: Option<String>,
    /// Write the scene to a file (.json or .ron)
    #[arg(long, value_name = "FILE", requires = "name")]
    write: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// An unknown scene, no match for the search, or a file that cannot be written.
pub fn run(options: &ScenesOptions) -> Result<(), Failure> {
    if let Some(words) = &options.find {
        let found = catalogue::search(words);
        if found.is_empty() {
            return Err(Failure::usage(format_args!("no scene matches {words:?}"))
                .hint("`drystone scenes` lists all scenes; shorter words match more"));
        }
        return console::print(&(table(&[(None, found)]) + USE));
    }
    let Some(spec) = &options.name else { return console::print(&(all() + USE)) };
    let base = spec.split(':').next().unwrap_or(spec).trim();
    let entry = catalogue::find(base).map_err(|error| source::unknown(&error))?;
    let Some(path) = &options.write else {
        if spec.contains(':') {
            source::load(spec)?;
        }
        return console::print(&details(entry));
    };
    let mut destination = Destination::open("--write", path, &["json", "ron"])?;
    let scene = source::load(spec)?.scene;
    let text = if destination.extension() == "ron" { file::write_ron(&scene) } else { file::write_json(&scene) };
    destination.fill(text.as_bytes())?;
    let files = output::publish(vec![destination])?;
    console::print(&format!("wrote {}: {}\n", files.join(", "), count(scene.most_parts().bodies as u64, "body")))
}

/// Last line of a list.
const USE: &str = "\n`drystone scenes NAME` explains one; `drystone run NAME:parameter=value` simulates it.\n";

/// Returns a table of groups of scenes, with a heading for each group of a topic.
fn table(groups: &[(Option<Topic>, Vec<&Entry>)]) -> String {
    let width = groups.iter().flat_map(|(_, entries)| entries).map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {:>6}  {}\n", "scene", "bodies", "summary, parameters");
    for (topic, entries) in groups {
        if let Some(topic) = topic {
            let _ = writeln!(text, "\n{}", topic.title());
        }
        for entry in entries {
            let _ = writeln!(text, "{:<width$}  {:>6}  {}", entry.name, bodies(entry), entry.summary);
            let parameters: Vec<String> =
                entry.parameters.iter().map(|p| format!("{}={}", p.name, number(p.default))).collect();
            if !parameters.is_empty() {
                let _ = writeln!(text, "{:width$}          {}", "", parameters.join(", "));
            }
        }
    }
    text
}

/// Returns all scenes by topic, and the names of those to come.
fn all() -> String {
    let groups: Vec<_> = catalogue::by_topic().into_iter().map(|(topic, entries)| (Some(topic), entries)).collect();
    let mut text = table(&groups);
    let waiting: Vec<&str> = catalogue::waiting().iter().map(|&(name, _)| name).collect();
    if !waiting.is_empty() {
        let _ = writeln!(text, "\nnot supported yet: {}", waiting.join(", "));
    }
    text
}

fn details(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n\n", entry.name, entry.summary);
    if !entry.parameters.is_empty() {
        let shown = |parameter: &Parameter| {
            let range = format!("{} to {}", number(parameter.min), number(parameter.max));
            let whole = if parameter.integer { ", whole" } else { "" };
            let unit = parameter.unit().unwrap_or_default();
            [parameter.name.to_owned(), number(parameter.default), format!("{range}{whole}"), unit.to_owned()]
        };
        let rows: Vec<([String; 4], String)> = entry.parameters.iter().map(|p| (shown(p), p.description())).collect();
        let header = ["parameter", "default", "range", "unit"];
        let widths: [usize; 4] = std::array::from_fn(|column| {
            let cells = rows.iter().map(|(cells, _)| cells[column].chars().count());
            cells.chain([header[column].len()]).max().unwrap_or(0)
        });
        let [a, b, c, d] = widths;
        let [name, default, range, unit] = header;
        let _ = writeln!(text, "  {name:<a$}  {default:<b$}  {range:<c$}  {unit:<d$}  meaning");
        for ([name, default, range, unit], meaning) in &rows {
            let _ = writeln!(text, "  {name:<a$}  {default:<b$}  {range:<c$}  {unit:<d$}  {meaning}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "  bodies  {} by default", bodies(entry));
    let _ = writeln!(text, "  steps   {} by default", group(entry.steps.into()));
    if let Some(gravity) = gravity(entry) {
        let _ = writeln!(text, "  gravity {gravity}");
    }
    let _ = writeln!(text, "  source  {}", entry.source);
    let example = entry.parameters.first().map_or(String::new(), |p| format!(":{}={}", p.name, number(p.default)));
    let _ = writeln!(text, "\n  drystone run {}{example}", entry.name);
    text
}

fn bodies(entry: &Entry) -> String {
    entry.body_count(&[]).map(group).unwrap_or_default()
}

/// Returns the gravity of a scene without a parameter for it.
fn gravity(entry: &Entry) -> Option<String> {
    if entry.parameters.iter().any(|parameter| parameter.name == "gravity") {
        return None;
    }
    let [x, y] = entry.gravity().to_array();
    Some(match (x == 0.0, y == 0.0) {
        (true, true) => "none".to_owned(),
        (true, false) if y < 0.0 => format!("{} m/s² downwards", -y),
        _ => format!("({x}, {y}) m/s²"),
    })
}

/// Formats a number as the shortest text that reads back as the same f32; defaults such as 25° in radians have no short
/// f64.
#[allow(clippy::cast_possible_truncation, reason = "for show")]
fn number(value: f64) -> String {
    (value as f32).to_string()
}
