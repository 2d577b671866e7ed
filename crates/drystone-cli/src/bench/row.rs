//! Results of a benchmark: the content of a `--json` file.

use std::fs;
use std::path::Path;

use drystone_bench::{PeerEngine, PeerTimes};
use serde::{Deserialize, Serialize};

use super::super::backend::Adapter;
use super::super::failure::{Failure, reason};
use super::limit::{Limit, Speeds};
use super::quality::Quality;
use super::worlds::WorldsRow;

/// All results of a benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Machine and software.
    pub machine: Machine,
    /// Rows, by scene, size and backend.
    pub rows: Vec<BenchRow>,
    /// Combinations that could not be run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Results with many worlds at once: one row per scene, number of worlds and backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worlds: Vec<WorldsRow>,
}

/// Machine and software of a benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// Number of logical cores.
    pub cores: usize,
    /// Name and version of the operating system.
    #[serde(default)]
    pub os: String,
    /// Mean number of runnable threads over the minute before the start. If it is much above zero, other programs were
    /// running.
    #[serde(default)]
    pub load: Option<f64>,
    /// Start of the benchmark, in seconds since 1970.
    #[serde(default)]
    pub began: u64,
    /// Version of the compiler.
    #[serde(default)]
    pub rustc: String,
    /// Version and commit of Drystone.
    #[serde(default)]
    pub drystone: String,
    /// True if Drystone used AVX2 on the CPU.
    #[serde(default)]
    pub avx2: bool,
    /// Adapter of the backend `gpu`, if it was run.
    #[serde(default)]
    pub adapter: Option<Adapter>,
    /// Other engines that were run, with their versions.
    #[serde(default)]
    pub peers: Vec<PeerEngine>,
    /// Copy speed and dispatch cost.
    #[serde(default)]
    pub speeds: Speeds,
}

/// Combination that could not be run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Skipped {
    /// Spec of the scene.
    pub scene: String,
    /// Name of the backend.
    pub backend: String,
    /// Reason, in one line.
    pub reason: String,
}

/// Result of one backend on one scene.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchRow {
    /// Name of the scene: its spec in the catalogue, or the name in its file.
    pub scene: String,
    /// Number of bodies requested by `--sizes`, else the number of dynamic bodies.
    #[serde(default)]
    pub size: u64,
    /// `gpu`, `cpu1`, `cpuN`, `box2d`, `box2dN` or `rapier`.
    pub backend: String,
    /// Adapter of the backend `gpu`. A software adapter (`type` is `cpu`) is not a GPU.
    #[serde(default)]
    pub adapter: Option<Adapter>,
    /// Threads that stepped the world; none for `gpu`.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Version of another engine.
    #[serde(default)]
    pub peer: Option<String>,
    /// Version of Drystone.
    #[serde(default)]
    pub version: String,
    /// Number of timed steps, after the first.
    #[serde(default)]
    pub steps: u32,
    /// Time step, s.
    #[serde(default)]
    pub dt: f32,
    /// Substeps per step.
    #[serde(default)]
    pub substeps: u32,
    /// `soft`, `baumgarte` or `projection`.
    #[serde(default)]
    pub mode: String,
    /// Number of bodies of all kinds.
    #[serde(default)]
    pub bodies: usize,
    /// Number of shapes of all kinds.
    #[serde(default)]
    pub shapes: usize,
    /// Number of joints of all kinds.
    #[serde(default)]
    pub joints: usize,
    /// Number of touching contacts after the last step; for other engines as found by Drystone.
    #[serde(default)]
    pub contacts: u32,
    /// Contacts of each colour in use. Drystone's backends only.
    #[serde(default)]
    pub colors: Vec<u32>,
    /// Number of contacts in the overflow colour.
    #[serde(default)]
    pub overflow_contacts: u32,
    /// Dispatches per step. `gpu` only.
    #[serde(default)]
    pub dispatches_per_step: Option<u32>,
    /// Size of all buffers on the device, in bytes. `gpu` only.
    #[serde(default)]
    pub device_bytes: Option<u64>,
    /// Wall-clock time per step, with one sample per repeat, the mean of its steps.
    pub ms_per_step: Spread,
    /// Processor time per step, with one sample per repeat, if one thread does all the work and the system reports it.
    #[serde(default)]
    pub cpu_ms_per_step: Option<Spread>,
    /// Milliseconds per step by stage: on the CPU from the fastest repeat, on a device from a few more steps after the
    /// last repeat. Other engines use their own stage names.
    #[serde(default, with = "in_order")]
    pub stages_ms: Vec<(String, f64)>,
    /// Minimum time by memory traffic and dispatches. Drystone's backends only.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Metrics as in the reports of `drystone run`. Drystone's backends only, as other engines do not report their
    /// impulses.
    #[serde(default)]
    pub metrics: Option<serde_json::Value>,
    /// Quality of the final state, measured by the same code for every engine.
    #[serde(default)]
    pub quality: Quality,
    /// Number of steps in which a buffer overflowed and the excess was dropped.
    #[serde(default)]
    pub overflowed_steps: u64,
    /// Number of bodies quarantined because of a NaN or an infinity.
    #[serde(default)]
    pub quarantined: u32,
    /// True if all repeats ended in bitwise equal states.
    #[serde(default)]
    pub repeats_exactly: bool,
    /// Hash of the final state, 16 hex digits.
    #[serde(default)]
    pub hash: String,
}

impl BenchRow {
    /// Returns the name in tables. A software adapter is never called a GPU.
    pub fn label(&self) -> String {
        label(&self.backend, self.adapter.as_ref(), self.threads)
    }

    /// Returns the name of the scene without its parameters.
    pub fn family(&self) -> &str {
        self.scene.split(':').next().unwrap_or(&self.scene)
    }
}

/// Returns the name of a backend in tables. A software adapter is never called a GPU.
pub fn label(backend: &str, adapter: Option<&Adapter>, threads: Option<u32>) -> String {
    match (backend, adapter) {
        ("gpu", Some(adapter)) if adapter.kind == "cpu" => "software adapter".to_owned(),
        ("gpu", _) => "GPU".to_owned(),
        (backend, _) => match (backend.strip_suffix('N'), threads) {
            (Some(name), Some(threads)) => format!("{name} x{threads}"),
            _ => backend.to_owned(),
        },
    }
}

/// Times per step over several repeats, ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    #[serde(default)]
    pub mean: f64,
    /// Median; for an even number of samples the mean of the middle two.
    pub median: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Median of the first steps, which are excluded from everything else, as they allocate and compile shaders.
    #[serde(default)]
    pub first: f64,
    /// Samples in the order of the repeats.
    #[serde(default)]
    pub samples: Vec<f64>,
}

impl Spread {
    /// Summarises samples; all zero if there are none.
    pub fn of(samples: &[f64], first: &[f64]) -> Self {
        let middle = |samples: &[f64]| {
            let mut sorted = samples.to_vec();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            if n == 0 { 0.0 } else { 0.5 * (sorted[n / 2] + sorted[(n - 1) / 2]) }
        };
        if samples.is_empty() {
            return Self::default();
        }
        Self {
            mean: samples.iter().sum::<f64>() / samples.len() as f64,
            median: middle(samples),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(0.0, f64::max),
            first: middle(first),
            samples: samples.to_vec(),
        }
    }

    /// Summarises wall-clock times, and processor times if all repeats have them.
    pub fn of_times(times: &[PeerTimes]) -> (Self, Option<Self>) {
        let pick = |pick: fn(&PeerTimes) -> f64| times.iter().map(pick).collect::<Vec<_>>();
        let wall = Self::of(&pick(|times| times.ms), &pick(|times| times.first_ms));
        let cpu: Option<Vec<f64>> = times.iter().map(|times| times.cpu_ms).collect();
        (wall, cpu.map(|cpu| Self::of(&cpu, &[])))
    }
}

/// Reads a `--json` file.
///
/// # Errors
/// If the file cannot be read or has other content.
pub fn read(path: &Path) -> Result<Results, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|e| Failure::usage(format_args!("{shown}: {}", reason(&e))))?;
    let results: Results = serde_json::from_str(&text)
        .map_err(|e| Failure::usage(format_args!("{shown}: not a file of `drystone bench --json`: {e}")))?;
    let wrong = results.rows.iter().find(|row| {
        let Spread { median, min, max, .. } = row.ms_per_step;
        !(0.0 <= min && min <= median && median <= max && max.is_finite())
    });
    match wrong {
        Some(row) => Err(Failure::usage(format_args!(
            "{shown}: {} on {} has invalid times: expected 0 <= min <= median <= max",
            row.scene, row.backend
        ))),
        None => Ok(results),
    }
}

/// Serialisation of numbers by stage as a JSON object that keeps its order.
pub mod in_order {
    use std::fmt;

    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    use drystone::low_level::step::Stage;

    /// Writes the pairs.
    pub fn serialize<S: Serializer>(pairs: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
    }

    /// Reads the pairs.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, f64)>, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(String, f64)>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, number)) = map.next_entry::<String, f64>()? {
                    // Files of earlier versions have former names of stages.
                    let name = Stage::named(&name).map_or(name, |stage| stage.name().to_owned());
                    pairs.push((name, number));
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_keeps_the_order_of_its_samples() {
        let odd = Spread::of(&[3.0, 1.0, 2.0], &[9.0]);
        assert_eq!((odd.min, odd.median, odd.max, odd.mean, odd.first), (1.0, 2.0, 3.0, 2.0, 9.0));
        assert_eq!(odd.samples, [3.0, 1.0, 2.0]);
        assert_eq!(Spread::of(&[4.0, 1.0], &[]).median, 2.5);
        assert_eq!(Spread::of(&[], &[]), Spread::default());
    }

    /// Files of earlier versions name three stages otherwise; other engines have words of their own.
    #[test]
    fn former_names_of_stages_are_read() {
        let spread = Spread::of(&[1.0], &[]);
        let spread = serde_json::to_string(&spread).unwrap();
        // As text: a value would sort the stages.
        let text = format!(
            r#"{{ "scene": "a", "backend": "cpu1", "ms_per_step": {spread},
                  "stages_ms": {{ "guard": 1.0, "recall": 2.0, "report": 3.0, "solve": 4.0, "pairs": 5.0 }} }}"#
        );
        let row: BenchRow = serde_json::from_str(&text).unwrap();
        let names: Vec<_> = row.stages_ms.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["quarantine", "match_contacts", "collect_events", "solve", "pairs"]);
        let written = serde_json::to_value(&row).unwrap();
        assert_eq!(written["stages_ms"]["match_contacts"], 2.0);
        assert!(written["stages_ms"].get("recall").is_none());
    }
}
