//! What a bench finds: the file of `--json`, which other runs are compared with.

use std::fs;
use std::path::Path;

use drystone_bench::{Engine, Times};
use serde::{Deserialize, Serialize};

use super::super::backend::Adapter;
use super::super::failure::{Failure, reason};
use super::limit::{Limit, Speeds};
use super::quality::Quality;
use super::worlds::WorldsRow;

/// All of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Where and with what.
    pub machine: Machine,
    /// One a scene, size and backend.
    pub rows: Vec<Row>,
    /// What could not be run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Of many worlds at once, one a scene, number and backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worlds: Vec<WorldsRow>,
}

/// Where and with what it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Of the processor.
    pub cpu: String,
    /// Logical.
    pub cores: usize,
    /// Name and version.
    #[serde(default)]
    pub os: String,
    /// Mean number of runnable threads over the last minute, when the run began. Much above zero, other programs took
    /// part.
    #[serde(default)]
    pub load: Option<f64>,
    /// Seconds since 1970 when the run began.
    #[serde(default)]
    pub began: u64,
    /// Compiler of Drystone.
    #[serde(default)]
    pub rustc: String,
    /// Version and commit.
    #[serde(default)]
    pub drystone: String,
    /// Whether Drystone used AVX2 on the CPU.
    #[serde(default)]
    pub avx2: bool,
    /// Of the backend `gpu`, if it took part.
    #[serde(default)]
    pub adapter: Option<Adapter>,
    /// Other engines that took part, and their versions.
    #[serde(default)]
    pub peers: Vec<Engine>,
    /// How fast it copies and dispatches.
    #[serde(default)]
    pub speeds: Speeds,
}

/// A combination that was left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Skipped {
    /// Its spec.
    pub scene: String,
    /// Who could not.
    pub backend: String,
    /// In a line.
    pub reason: String,
}

/// One backend on one scene.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The scene's name: for one of the catalogue its spec, else its file's.
    pub scene: String,
    /// Bodies that were asked for by `--sizes`, else those that are free to move.
    #[serde(default)]
    pub size: u64,
    /// `gpu`, `cpu1`, `cpuN`, `box2d`, `box2dN` or `rapier`.
    pub backend: String,
    /// What the backend `gpu` ran on. A software adapter (`type` `cpu`) is no GPU.
    #[serde(default)]
    pub adapter: Option<Adapter>,
    /// Threads that stepped the world; none for `gpu`.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Version of another engine.
    #[serde(default)]
    pub peer: Option<String>,
    /// Of Drystone.
    #[serde(default)]
    pub version: String,
    /// Timed, after the first.
    #[serde(default)]
    pub steps: u32,
    /// s.
    #[serde(default)]
    pub dt: f32,
    /// A step.
    #[serde(default)]
    pub substeps: u32,
    /// `soft`, `baumgarte` or `projection`.
    #[serde(default)]
    pub mode: String,
    /// All kinds.
    #[serde(default)]
    pub bodies: usize,
    /// All kinds.
    #[serde(default)]
    pub shapes: usize,
    /// All kinds.
    #[serde(default)]
    pub joints: usize,
    /// Touching, after the last step; found anew for other engines.
    #[serde(default)]
    pub contacts: u32,
    /// Contacts of each colour in use. Own backends only.
    #[serde(default)]
    pub colors: Vec<u32>,
    /// Contacts that found no colour.
    #[serde(default)]
    pub overflow_contacts: u32,
    /// `gpu` only.
    #[serde(default)]
    pub dispatches_per_step: Option<u32>,
    /// Of all buffers on the device. `gpu` only.
    #[serde(default)]
    pub device_bytes: Option<u64>,
    /// Wall time: one sample a repeat, each the mean over its steps.
    pub ms_per_step: Spread,
    /// Processor time likewise, where one thread does all the work and the system tells.
    #[serde(default)]
    pub cpu_ms_per_step: Option<Spread>,
    /// By stage: on the CPU of the fastest repeat, on a device of a few more steps after the last repeat. Other engines
    /// use their own words.
    #[serde(default, with = "in_order")]
    pub stages_ms: Vec<(String, f64)>,
    /// The least that memory and dispatches allow. Own backends only.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// As in the reports of `drystone run`. Own backends only: other engines do not tell their impulses.
    #[serde(default)]
    pub metrics: Option<serde_json::Value>,
    /// At the end, measured by the same code for everybody.
    #[serde(default)]
    pub quality: Quality,
    /// Steps in which a buffer was too small. What did not fit was left out.
    #[serde(default)]
    pub overflowed_steps: u64,
    /// Bodies that held a NaN or an infinity.
    #[serde(default)]
    pub quarantined: u32,
    /// Whether all repeats ended with the same bits.
    #[serde(default)]
    pub repeats_exactly: bool,
    /// Of the last state, 16 hex digits.
    #[serde(default)]
    pub hash: String,
}

impl Row {
    /// For tables. A software adapter is never called a GPU.
    pub fn label(&self) -> String {
        label(&self.backend, self.adapter.as_ref(), self.threads)
    }

    /// The scene without its parameters.
    pub fn family(&self) -> &str {
        self.scene.split(':').next().unwrap_or(&self.scene)
    }
}

/// A backend for tables. A software adapter is never called a GPU.
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

/// How long a step took, ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    #[serde(default)]
    pub mean: f64,
    /// Middle; of an even number the mean of the two in the middle.
    pub median: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
    /// Median of the first steps, which are left out of everything else: they allocate, and compile shaders.
    #[serde(default)]
    pub first: f64,
    /// In the order of the repeats.
    #[serde(default)]
    pub samples: Vec<f64>,
}

impl Spread {
    /// Of at least one sample; else all zero.
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

    /// Of wall time, and of processor time if all of them have it.
    pub fn of_times(times: &[Times]) -> (Self, Option<Self>) {
        let pick = |pick: fn(&Times) -> f64| times.iter().map(pick).collect::<Vec<_>>();
        let wall = Self::of(&pick(|times| times.ms), &pick(|times| times.first_ms));
        let cpu: Option<Vec<f64>> = times.iter().map(|times| times.cpu_ms).collect();
        (wall, cpu.map(|cpu| Self::of(&cpu, &[])))
    }
}

/// Reads a file of `--json`.
///
/// # Errors
/// It cannot be read, or is something else.
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
            "{shown}: {} on {} has times that are none: expected 0 <= min <= median <= max",
            row.scene, row.backend
        ))),
        None => Ok(results),
    }
}

/// A JSON object that keeps its order.
pub mod in_order {
    use std::fmt;

    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    /// Writes it.
    pub fn serialize<S: Serializer>(pairs: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, f64)>, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(String, f64)>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
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
}
