//! What a run did: the JSON report of `--json`, and the summary a person reads.

use std::fmt::Write as _;
use std::time::Duration;

use drystone::low_level::state::{self, Metrics};
use drystone::low_level::types::{COLOR_COUNT, Counters, GEOMETRY_MASK, NO_SHAPE, OVERFLOW_COLOR, VACANT};
use drystone::{Mode, Snapshot, World};
use serde::{Serialize, Serializer};

use super::backend::About;

/// The report. Numbers that are not finite become `null`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Name of the scene.
    pub scene: String,
    /// What it ran on.
    #[serde(flatten)]
    pub backend: About,
    /// Of this program.
    pub version: &'static str,
    /// Simulated in this run.
    pub steps: u64,
    /// Done before, by the runs that this one goes on from.
    pub steps_before: u64,
    /// s.
    pub dt: f32,
    /// A step.
    pub substeps: u32,
    /// `soft`, `baumgarte` or `projection`.
    pub mode: &'static str,
    /// All kinds, after the last step.
    pub bodies: usize,
    /// All kinds, likewise.
    pub shapes: usize,
    /// All kinds, likewise.
    pub joints: usize,
    /// Dynamic ones, and kinematic ones that move, after the last step. Where bodies sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awake: Option<u32>,
    /// Dynamic ones, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asleep: Option<usize>,
    /// Touching, after the last step.
    pub contacts: u32,
    /// Contacts of each colour in use, in the order in which they are solved, without the overflow colour.
    pub colors: Vec<u32>,
    /// Contacts that found no colour.
    pub overflow_contacts: u32,
    /// GPU only.
    pub dispatches_per_step: Option<u32>,
    /// Wall-clock time.
    pub ms_per_step: Timing,
    /// Mean of each stage, ms per step; on the GPU over the last few steps.
    #[serde(serialize_with = "as_map")]
    pub stages_ms: Vec<(&'static str, f64)>,
    /// After the last step, and of the whole run.
    pub metrics: Measured,
    /// Buffers that were too small at times.
    pub overflows: Vec<Overflow>,
    /// Bodies that held a NaN or an infinity.
    pub quarantined: u32,
    /// s.
    pub simulated_seconds: f64,
    /// Stepping alone, without start-up, drawing and writing, s.
    pub wall_seconds: f64,
    /// Of the last state, 16 hex digits.
    pub hash: String,
}

/// What a run comes to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// After the last step.
    #[serde(flatten)]
    pub last: Metrics,
    /// The first time from which on, until the end, every body was slower than [`state::REST_SPEED`], s. `None` if there
    /// is none, or it was not measured.
    pub time_to_rest: Option<f64>,
}

/// A buffer that was too small.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Overflow {
    /// Which.
    pub buffer: &'static str,
    /// In how many steps. What did not fit was left out in them.
    pub steps: u64,
    /// The first of them, counted from 1.
    pub first_step: u64,
}

/// How long steps took.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Each step that counts, ms.
    counted: Vec<f32>,
    /// All steps.
    total: Duration,
    /// Steps that the world had done before.
    before: u64,
    /// The first step from which on it was at rest.
    rest_since: Option<u64>,
}

impl Times {
    /// Of a run that begins after so many steps.
    pub fn from_step(before: u64) -> Self {
        Self { before, ..Self::default() }
    }

    /// The fastest body's speed after this step of the world, m/s.
    pub fn note_speed(&mut self, step: u64, speed: f64) {
        // Written so that a NaN is no rest.
        if speed < state::REST_SPEED {
            self.rest_since.get_or_insert(step);
        } else {
            self.rest_since = None;
        }
    }

    /// Adds a step. One that does not count is only part of the total.
    pub fn add(&mut self, step: Duration, counts: bool) {
        self.total += step;
        if counts {
            self.counted.push(1e3 * step.as_secs_f32());
        }
    }
}

/// Wall-clock times of the steps, ms. All but `first` leave the first step out (it allocates, and compiles shaders),
/// unless there was no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Middle.
    pub median: Option<f64>,
    /// Shortest.
    pub min: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
    /// The first step.
    pub first: Option<f64>,
}

impl Timing {
    /// From the duration of each step, ms.
    pub fn of(steps: &[f32]) -> Self {
        let rest = if steps.len() > 1 { &steps[1..] } else { steps };
        let mut sorted: Vec<f64> = rest.iter().copied().map(f64::from).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        if n == 0 {
            return Self::default();
        }
        let mean = sorted.iter().sum::<f64>() / n as f64;
        Self {
            mean: Some(mean),
            median: Some(0.5 * (sorted[n / 2] + sorted[(n - 1) / 2])),
            min: Some(sorted[0]),
            max: Some(sorted[n - 1]),
            first: steps.first().copied().map(f64::from),
        }
    }
}

/// As scene files say it.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Soft => "soft",
        Mode::Baumgarte => "baumgarte",
        Mode::Projection => "projection",
    }
}

/// Contacts of each colour in use, without the overflow colour.
pub fn colors(counters: &Counters) -> Vec<u32> {
    let regular = (0..COLOR_COUNT).filter(|&color| color != OVERFLOW_COLOR);
    regular.map(|color| counters.color_size(color)).filter(|&size| size > 0).collect()
}

/// Stages that the settings leave out are left out.
fn stages(world: &World) -> Vec<(&'static str, f64)> {
    world.stage_ms().into_iter().filter(|&(_, ms)| ms > 0.0).map(|(stage, ms)| (stage.name(), ms)).collect()
}

fn overflows(world: &World) -> Vec<Overflow> {
    let steps = world.overflowed_steps();
    match steps.first() {
        Some(&first) => vec![Overflow { buffer: "contacts", steps: steps.len() as u64, first_step: first + 1 }],
        None => Vec::new(),
    }
}

fn as_map<S: Serializer>(pairs: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

impl Report {
    /// Of a run whose steps took this long.
    pub fn new(about: &About, world: &World, snapshot: &Snapshot, times: &Times) -> Self {
        let compiled = world.compiled();
        let counters = &snapshot.counters;
        let dt = f64::from(compiled.params.dt);
        let steps = snapshot.step - times.before;
        Self {
            scene: compiled.name.clone(),
            backend: about.clone(),
            version: env!("CARGO_PKG_VERSION"),
            steps,
            steps_before: times.before,
            dt: compiled.params.dt,
            substeps: compiled.settings.substep_count(),
            mode: mode_name(compiled.settings.mode),
            bodies: compiled.bodies.iter().filter(|body| body.kind != VACANT).count(),
            shapes: compiled.shapes.iter().filter(|shape| shape.kind & GEOMETRY_MASK != NO_SHAPE).count(),
            joints: compiled.joints.count(),
            awake: compiled.settings.sleep.then_some(counters.awake),
            asleep: compiled
                .settings
                .sleep
                .then(|| (0..compiled.bodies.len()).filter(|&body| state::is_asleep(compiled, snapshot, body)).count()),
            contacts: counters.touching,
            colors: colors(counters),
            overflow_contacts: counters.color_size(OVERFLOW_COLOR),
            dispatches_per_step: world.dispatches(),
            ms_per_step: Timing::of(&times.counted),
            stages_ms: stages(world),
            metrics: Measured {
                last: state::metrics(compiled, snapshot),
                time_to_rest: times.rest_since.map(|step| step as f64 * dt),
            },
            overflows: overflows(world),
            quarantined: counters.quarantined,
            simulated_seconds: steps as f64 * dt,
            wall_seconds: times.total.as_secs_f64(),
            hash: format!("{:016x}", state::hash(snapshot)),
        }
    }

    /// Pretty-printed, with a final line break.
    pub fn to_json(&self) -> String {
        // Only maps with odd keys and failing `Serialize`s can fail; a report has neither.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// For a person.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let mut row = |label: &str, value: String| text += &row(label, &value);
        row("backend", self.backend.line());
        row("solver", format!("{}, {}", self.mode, count(self.substeps.into(), "substep")));
        row("bodies", format!("{} with {}", group(self.bodies as u64), count(self.shapes as u64, "shape")));
        if let (Some(awake), Some(asleep)) = (self.awake, self.asleep) {
            row("asleep", format!("{}, {} awake", group(asleep as u64), group(awake.into())));
        }
        row("contacts", self.contact_line());
        row("simulated", self.time_line());
        if let Timing { mean: Some(mean), median: Some(median), min: Some(min), max: Some(max), first: Some(first) } =
            self.ms_per_step
        {
            let [mean, median, min, max, first] = [mean, median, min, max, first].map(significant);
            row("ms per step", format!("mean {mean}, median {median}, min {min}, max {max}; the first took {first}"));
        }
        let metrics = &self.metrics.last;
        let [deepest, mean] = [metrics.max_penetration, metrics.mean_penetration].map(|m| significant(1e3 * m));
        row("penetration", format!("at most {deepest} mm, mean {mean} mm"));
        let energies = [metrics.kinetic_energy, metrics.potential_energy, metrics.elastic_energy, metrics.total_energy];
        let [kinetic, potential, elastic, total] = energies.map(|energy| si(energy, "J"));
        row("energy", format!("kinetic {kinetic}, potential {potential}, elastic {elastic}, total {total}"));
        row("fastest", si(metrics.max_speed, "m/s"));
        if let Some(time) = self.metrics.time_to_rest {
            row("at rest", format!("from {} s on", significant(time)));
        }
        if self.joints > 0 {
            let [length, angle] = [metrics.joint_error * 1e3, metrics.joint_angle_error].map(significant);
            row("joints", format!("{}, at most {length} mm and {angle} rad off", group(self.joints as u64)));
        }
        row("hash", self.hash.clone());
        format!("{}\n{text}", if self.scene.is_empty() { "unnamed scene" } else { &self.scene })
    }

    /// What a user must not overlook.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for Overflow { buffer, steps, first_step } in &self.overflows {
            let (steps, first) = (count(*steps, "step"), group(*first_step));
            warnings.push(format!(
                "the {buffer} buffer was too small in {steps}, first in step {first}; what did not fit was left out \
                 (--strict repeats such steps)"
            ));
        }
        if self.overflow_contacts > 0 {
            let contacts = count(self.overflow_contacts.into(), "contact");
            warnings.push(format!("{contacts} without a colour in the last step: solved one after the other, slowly"));
        }
        if self.quarantined > 0 {
            let bodies = count(self.quarantined.into(), "body");
            warnings.push(format!("{bodies} taken out of the simulation: NaN or infinity"));
        }
        warnings
    }

    fn contact_line(&self) -> String {
        let colors = count(self.colors.len() as u64, "colour");
        let left = match self.overflow_contacts {
            0 => String::new(),
            left => format!(", {} beyond them solved one after the other", group(left.into())),
        };
        format!("{} touching, in {colors}{left}", group(self.contacts.into()))
    }

    fn time_line(&self) -> String {
        let (steps, wall) = (count(self.steps, "step"), self.wall_seconds);
        let each = significant(1e3 * f64::from(self.dt));
        let mut line = if self.steps_before > 0 {
            format!("after {} before, ", count(self.steps_before, "step"))
        } else {
            String::new()
        };
        let _ =
            write!(line, "{} s, {steps} of {each} ms, in {} s", significant(self.simulated_seconds), significant(wall));
        if self.steps > 0 && wall > 0.0 {
            let _ = write!(line, " ({} × real time)", significant(self.simulated_seconds / wall));
        }
        line
    }
}

/// A line of the summary.
pub fn row(label: &str, value: &str) -> String {
    format!("  {label:<12} {value}\n")
}

/// `1 step`, `5,050 bodies`.
pub fn count(n: u64, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{} {}", group(n), if n == 1 { noun } else { &plural })
}

/// Digits in groups of three.
pub fn group(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits, without exponent where that is readable.
pub fn significant(x: f64) -> String {
    let size = x.abs();
    match size {
        _ if !x.is_finite() => "not finite".to_owned(),
        0.0 => "0".to_owned(),
        _ if !(1e-4..1e6).contains(&size) => format!("{x:.2e}"),
        _ if size >= 99.95 => format!("{x:.0}"),
        _ if size >= 9.995 => format!("{x:.1}"),
        _ if size >= 0.9995 => format!("{x:.2}"),
        _ if size >= 0.099_95 => format!("{x:.3}"),
        _ if size >= 0.009_995 => format!("{x:.4}"),
        _ => format!("{x:.5}"),
    }
}

/// With a prefix of the unit: `1.23 MJ`.
fn si(x: f64, unit: &str) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| x.abs() >= 0.9995 * scale).unwrap_or((1.0, ""));
    format!("{} {prefix}{unit}", significant(x / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_leaves_the_first_step_out() {
        let timing = Timing::of(&[100.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(timing.first, Some(100.0));
        assert_eq!(timing.max, Some(4.0));
        assert_eq!(timing.min, Some(1.0));
        assert!((timing.mean.unwrap() - 2.5).abs() < 1e-9);
        assert!((timing.median.unwrap() - 2.5).abs() < 1e-9);
        assert_eq!(Timing::of(&[7.0]).mean, Some(7.0), "a single step is all there is");
        assert_eq!(Timing::of(&[]), Timing::default());
    }

    #[test]
    fn rest_begins_after_the_last_time_that_something_moved() {
        let rest = |speeds: &[f64]| {
            let mut times = Times::from_step(7);
            (7..).zip(speeds).for_each(|(step, &speed)| times.note_speed(step, speed));
            times.rest_since
        };
        assert_eq!(rest(&[0.0, 1.0, 0.049, 0.02]), Some(9));
        assert_eq!(rest(&[0.0, 0.0]), Some(7));
        assert_eq!(rest(&[0.0, 0.0, 0.05]), None);
        assert_eq!(rest(&[0.0, f64::NAN, 0.0]), Some(9));
        assert_eq!(rest(&[]), None);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(group(5050), "5,050");
        assert_eq!(group(999), "999");
        assert_eq!(group(1_234_567), "1,234,567");
        assert_eq!(count(1, "step"), "1 step");
        assert_eq!(count(2, "body"), "2 bodies");
        assert_eq!(significant(0.0), "0");
        assert_eq!(significant(12.345), "12.3");
        assert_eq!(significant(-0.012_345), "-0.0123");
        assert_eq!(significant(99.99), "100");
        assert_eq!(significant(1.5e-7), "1.50e-7");
        assert_eq!(significant(f64::NAN), "not finite");
        assert_eq!(si(1_234_000.0, "J"), "1.23 MJ");
        assert_eq!(si(0.004_5, "m/s"), "4.50 mm/s");
        assert_eq!(si(0.0, "J"), "0 J");
    }
}
