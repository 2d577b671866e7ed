//! Results of a run: the JSON report of `--json` and the printed summary.

use std::fmt::Write as _;
use std::time::Duration;

use drystone::low_level::constants::DEFAULT_DT;
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::color::split::max_splits;
use drystone::low_level::stages::integrate_velocities::max_spin;
use drystone::low_level::state::{self, Metrics};
use drystone::low_level::types::{COLOR_COUNT, Counters, DYNAMIC, GEOMETRY_MASK, NO_SHAPE, OVERFLOW_COLOR, VACANT};
use drystone::{Mode, Snapshot, World};
use serde::{Serialize, Serializer};

use super::backend::BackendInfo;
use super::energy::Divergence;
use super::time;

/// Largest number of contacts of hubs that are solved one after the other without a warning.
const MAX_ORDERED: u32 = 256;

/// Report of a run. Numbers that are not finite are written as `null`.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// Name of the scene.
    pub scene: String,
    /// Backend.
    #[serde(flatten)]
    pub backend: BackendInfo,
    /// Version of this program.
    pub version: &'static str,
    /// Number of steps in this run.
    pub steps: u64,
    /// Number of steps done by earlier runs that this one continues.
    pub steps_before: u64,
    /// Time step, s.
    pub dt: f32,
    /// Substeps per step.
    pub substeps: u32,
    /// Unit of length, m, which the distances and speeds of the solver follow.
    pub length_unit: f32,
    /// Length of a step that fits the sizes of the bodies and gravity, s.
    pub fitting_dt: f32,
    /// `soft`, `baumgarte` or `projection`.
    pub mode: &'static str,
    /// Number of bodies of all kinds, after the last step.
    pub bodies: usize,
    /// Number of shapes of all kinds, after the last step.
    pub shapes: usize,
    /// Number of joints of all kinds, after the last step.
    pub joints: usize,
    /// Number of awake dynamic bodies and moving kinematic bodies after the last step, if bodies may sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awake: Option<u32>,
    /// Number of sleeping dynamic bodies after the last step, if bodies may sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asleep: Option<usize>,
    /// Number of touching contacts after the last step.
    pub contacts: u32,
    /// Contacts of each colour in use, in solving order, without the overflow colour.
    pub colors: Vec<u32>,
    /// Number of contacts in the overflow colour.
    pub overflow_contacts: u32,
    /// Dispatches per step, on a GPU.
    pub dispatches_per_step: Option<u32>,
    /// Wall-clock time per step.
    pub ms_per_step: Timing,
    /// Mean time of each stage, ms per step; on a GPU over the last few steps.
    #[serde(serialize_with = "as_map")]
    pub stages_ms: Vec<(&'static str, f64)>,
    /// Metrics of the final state and of the whole run.
    pub metrics: RunMeasurements,
    /// Buffers that overflowed.
    pub overflows: Vec<BufferOverflow>,
    /// Number of bodies quarantined because of a NaN or an infinity.
    pub quarantined: u32,
    /// Number of bodies that the limits of speed and spin held back in the last step.
    pub at_limit: usize,
    /// First time at which bodies moved faster than the energy that the scene began with explains, if so: the run has
    /// diverged.
    pub diverged: Option<Divergence>,
    /// Simulated time, s.
    pub simulated_seconds: f64,
    /// Wall-clock time of the steps, without start-up, drawing and writing, s.
    pub wall_seconds: f64,
    /// Hash of the final state, 16 hex digits.
    pub hash: String,
}

/// Metrics of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RunMeasurements {
    /// Metrics of the final state.
    #[serde(flatten)]
    pub last: Metrics,
    /// First time after which every body stayed slower than the speed of rest until the end, s: 0.05 m/s for a length
    /// unit of 1 m. `None` if there is none, or it was not measured.
    pub time_to_rest: Option<f64>,
}

/// Buffer that overflowed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BufferOverflow {
    /// Name of the buffer.
    pub buffer: &'static str,
    /// Number of steps in which data did not fit and was dropped.
    pub steps: u64,
    /// First of these steps, counted from 1.
    pub first_step: u64,
}

/// Measured times of a run.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    /// Duration of each timed step, ms.
    counted: Vec<f32>,
    /// Total duration of all steps.
    total: Duration,
    /// Number of steps done before this run.
    before: u64,
    /// First step of the present period of rest.
    rest_since: Option<u64>,
}

impl StepTimes {
    /// Creates empty times for a run that starts after `before` steps.
    pub fn from_step(before: u64) -> Self {
        Self { before, ..Self::default() }
    }

    /// Records the speed of the fastest body after a step of the world, and the speed below which a world rests, m/s.
    pub fn note_speed(&mut self, step: u64, speed: f64, rest: f64) {
        // This form treats a NaN as motion.
        if speed < rest {
            self.rest_since.get_or_insert(step);
        } else {
            self.rest_since = None;
        }
    }

    /// Adds the duration of a step; if `counts` is false, only to the total.
    pub fn add(&mut self, step: Duration, counts: bool) {
        self.total += step;
        if counts {
            self.counted.push(1e3 * step.as_secs_f32());
        }
    }
}

/// Wall-clock time per step, ms. All but `first` exclude the first step, which allocates and compiles shaders, unless
/// it is the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Minimum.
    pub min: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// Duration of the first step.
    pub first: Option<f64>,
}

impl Timing {
    /// Summarises the durations of all steps, ms.
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

/// Returns the name of a mode as in scene files.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Soft => "soft",
        Mode::Baumgarte => "baumgarte",
        Mode::Projection => "projection",
    }
}

/// Returns the contacts of each colour in use, without the overflow colour.
pub fn colors(counters: &Counters) -> Vec<u32> {
    let regular = (0..COLOR_COUNT).filter(|&color| color != OVERFLOW_COLOR);
    regular.map(|color| counters.color_size(color)).filter(|&size| size > 0).collect()
}

/// Returns the mean times of all stages that were run.
fn stages(world: &World) -> Vec<(&'static str, f64)> {
    world.stage_ms().into_iter().filter(|&(_, ms)| ms > 0.0).map(|(stage, ms)| (stage.name(), ms)).collect()
}

fn overflows(world: &World) -> Vec<BufferOverflow> {
    let steps = world.overflowed_steps();
    match steps.first() {
        Some(&first) => vec![BufferOverflow { buffer: "contacts", steps: steps.len() as u64, first_step: first + 1 }],
        None => Vec::new(),
    }
}

/// Returns the number of dynamic bodies at the largest speed or spin, to rounding.
fn at_limit(compiled: &Compiled, snapshot: &Snapshot) -> usize {
    let params = &compiled.params;
    let dynamic = compiled.bodies.iter().zip(&snapshot.states).filter(|(body, _)| body.kind == DYNAMIC);
    dynamic
        .filter(|(body, state)| {
            let ([x, y], spin) = (state.velocity, state.angular_velocity);
            x.hypot(y) >= 0.999 * params.max_speed || spin.abs() >= 0.999 * max_spin(params, body)
        })
        .count()
}

fn as_map<S: Serializer>(pairs: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

impl RunReport {
    /// Creates the report of a run.
    pub fn new(about: &BackendInfo, world: &World, snapshot: &Snapshot, times: &StepTimes) -> Self {
        let compiled = world.compiled();
        let counters = &snapshot.counters;
        let dt = compiled.params.dt;
        let steps = snapshot.step - times.before;
        Self {
            scene: compiled.name.clone(),
            backend: about.clone(),
            version: env!("CARGO_PKG_VERSION"),
            steps,
            steps_before: times.before,
            dt: compiled.params.dt,
            substeps: compiled.settings.substep_count(),
            length_unit: compiled.units.length,
            fitting_dt: compiled.units.fitting_dt(),
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
            metrics: RunMeasurements {
                last: state::metrics(compiled, snapshot),
                // Without a step nothing is known of the motion that follows.
                time_to_rest: times.rest_since.filter(|_| steps > 0).map(|step| time::after(step, dt)),
            },
            overflows: overflows(world),
            quarantined: counters.quarantined,
            diverged: None,
            at_limit: at_limit(compiled, snapshot),
            simulated_seconds: time::after(steps, dt),
            wall_seconds: times.total.as_secs_f64(),
            hash: format!("{:016x}", state::hash(snapshot)),
        }
    }

    /// Returns the report as indented JSON, with a final line break.
    pub fn to_json(&self) -> String {
        // Serialisation fails only for maps with non-string keys and failing `Serialize` implementations; a report has
        // neither.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the summary for users.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let mut row = |label: &str, value: String| text += &row(label, &value);
        row("backend", self.backend.line());
        row("solver", format!("{}, {}", self.mode, count(self.substeps.into(), "substep")));
        if self.length_unit.to_bits() != 1.0_f32.to_bits() {
            row(
                "length unit",
                format!("{}, which distances and speeds of the solver follow", si(f64::from(self.length_unit), "m")),
            );
        }
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

    /// Returns warnings about dropped contacts, uncolored contacts and quarantined bodies.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for BufferOverflow { buffer, steps, first_step } in &self.overflows {
            let (steps, first) = (count(*steps, "step"), group(*first_step));
            warnings.push(format!(
                "the {buffer} buffer overflowed in {steps}, first in step {first}; the excess was dropped \
                 (--strict repeats such steps)"
            ));
        }
        if self.ordered_contacts() > MAX_ORDERED {
            let contacts = count(self.ordered_contacts().into(), "contact");
            warnings.push(format!("{contacts} of hubs in the last step solved one after the other, which is slow"));
        }
        if self.fitting_dt < DEFAULT_DT && self.dt >= 2.0 * self.fitting_dt {
            let [now, fits] = [self.dt, self.fitting_dt].map(|dt| significant(1e3 * f64::from(dt)));
            warnings.push(format!(
                "steps of {now} ms are too long for bodies of about {} under this gravity, contacts are soft for their \
                 size: steps of {fits} ms fit (`dt` left out of a scene file)",
                si(f64::from(self.length_unit), "m")
            ));
        }
        if self.at_limit > 0 {
            let bodies = count(self.at_limit as u64, "body");
            warnings.push(format!(
                "{bodies} at the limit of speed or spin in the last step (settings `max_speed` and `max_spin`)"
            ));
        }
        if let Some(Divergence { time, kinetic, explained }) = self.diverged {
            let [kinetic, explained] = [kinetic, explained].map(|energy| si(energy, "J"));
            warnings.push(format!(
                "the run diverged: after {} s bodies had a kinetic energy of {kinetic}, of which what they began with, gravity and \
                 springs explain {explained}",
                significant(time)
            ));
        }
        if self.quarantined > 0 {
            let bodies = count(self.quarantined.into(), "body");
            warnings.push(format!("{bodies} quarantined because of a NaN or an infinity"));
        }
        warnings
    }

    /// Returns the number of contacts of hubs that were solved in order.
    fn ordered_contacts(&self) -> u32 {
        let shapes = u32::try_from(self.shapes).unwrap_or(u32::MAX);
        self.overflow_contacts.saturating_sub(max_splits(shapes))
    }

    fn contact_line(&self) -> String {
        let colors = count(self.colors.len() as u64, "colour");
        let left = match self.overflow_contacts {
            0 => String::new(),
            left => format!(", {} of hubs", group(left.into())),
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

/// Returns a line of the summary.
pub fn row(label: &str, value: &str) -> String {
    format!("  {label:<12} {value}\n")
}

/// Formats a number with its noun: `1 step`, `5,050 bodies`.
pub fn count(n: u64, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{} {}", group(n), if n == 1 { noun } else { &plural })
}

/// Formats a number with a comma between groups of three digits.
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

/// Formats three significant digits, without exponent where readable.
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

/// Formats a quantity with a unit prefix: `1.23 MJ`.
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
            let mut times = StepTimes::from_step(7);
            (7..).zip(speeds).for_each(|(step, &speed)| times.note_speed(step, speed, 0.05));
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
