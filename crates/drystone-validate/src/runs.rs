//! Whole runs: compares metrics of both backends, with tolerances from the chaos that a rounding causes on the CPU.

use super::MetricReport;
use drystone::WorldError;
use drystone::low_level::cpu::CpuWorld;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::{Metrics, REST_SPEED, metrics};
use drystone::low_level::types::{DYNAMIC, FIXED_SHAPE};

/// Relative tolerance for a run that has come to rest.
const REST_TOLERANCE: f64 = 0.05;
/// Relative tolerance of time averages for a run that has not.
const TRANSIENT_TOLERANCE: f64 = 0.15;
/// Number of repetitions of a scene on the CPU, each from slightly moved positions, to estimate the scatter by chance.
pub(super) const NUDGED_RUNS: u32 = 8;
/// Displacement of bodies in these runs, m: about a rounding at ten metres from the origin.
const NUDGE: f32 = 1e-6;
/// Deviation, in standard deviations of these runs and the original, that chance does not exceed in 99 of 100 cases
/// (Student's t, 8 degrees of freedom).
const CHANCE: f64 = 3.355;
/// Tolerance of the ratio of ground impulse to weight.
const GROUND_TOLERANCE: f64 = 0.01;
/// Momentum that a closed system may gain, as a fraction of Σ m·|v|.
const MOMENTUM_TOLERANCE: f64 = 1e-4;

/// Returns the displacement of a body in a run: at least a rounding at its position, in directions that differ between
/// bodies and between runs (irrational turns).
pub(super) fn nudge(run: u32, body: u32, position: glam::Vec2) -> glam::Vec2 {
    let turned = glam::Vec2::from_angle(body as f32 * 2.399_963 + run as f32);
    NUDGE * (0.1 * position.length()).max(1.0) * turned
}

/// Runs the scene on the CPU with displaced bodies, in directions that differ between runs.
pub(super) fn nudged_runs(compiled: &Compiled, steps: usize) -> Result<Vec<Vec<Metrics>>, WorldError> {
    let run = |number: u32| {
        let away = |index: u32, position: glam::Vec2| nudge(number, index, position);
        let mut nudged = compiled.clone();
        for (index, (pose, body)) in (0..).zip(nudged.poses.iter_mut().zip(&compiled.bodies)) {
            if body.kind == DYNAMIC {
                let position = glam::Vec2::from(pose.position);
                pose.position = (position + away(index, position)).into();
            }
        }
        nudged.nudge_emitters(away);
        let mut world = CpuWorld::from_compiled(nudged);
        let mut measure = |_| {
            world.step()?;
            Ok(metrics(world.compiled(), &world.snapshot()))
        };
        (0..steps).map(&mut measure).collect()
    };
    (1..=NUDGED_RUNS).map(run).collect()
}

/// Period over which a metric is averaged.
#[derive(Clone, Copy)]
enum When {
    Always,
    AtTheEnd,
}

impl When {
    /// Returns the average of a metric over that period.
    fn of<'a>(self, run: impl DoubleEndedIterator<Item = &'a Metrics>, of: &dyn Fn(&Metrics) -> f64) -> f64 {
        let values: Vec<f64> = match self {
            Self::Always => run.map(of).collect(),
            Self::AtTheEnd => run.rev().take(1).map(of).collect(),
        };
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Returns the value of a metric and its tolerance by chance. Where a few boxes tumble over each other, a rounding
/// decides at which corner they meet and how long they stay: the CPU differs from itself, displaced by a micrometre, as
/// much as from the GPU. Runs that are not chaotic stay together, and then nothing is excused.
fn chance(
    history: &[(Metrics, Metrics)],
    nudged: &[Vec<Metrics>],
    when: When,
    of: &dyn Fn(&Metrics) -> f64,
) -> (f64, f64) {
    let mut values: Vec<f64> = nudged.iter().map(|run| when.of(run.iter(), of)).collect();
    values.push(when.of(history.iter().map(|(cpu, _)| cpu), of));
    spread(&values)
}

/// Returns the mean of several runs, and how far from it one more run may be by chance.
pub(super) fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // The GPU is one more sample, and the mean itself is uncertain.
    (mean, CHANCE * (variance * (1.0 + 1.0 / count)).sqrt())
}

/// Compares a whole run by averages over time and, if both worlds are at rest, by their final states.
pub(super) fn compare_metrics(
    compiled: &Compiled,
    history: &[(Metrics, Metrics)],
    nudged: impl FnOnce() -> Result<Vec<Vec<Metrics>>, WorldError>,
) -> Result<Vec<MetricReport>, WorldError> {
    type Row<'a> = (&'static str, When, &'a dyn Fn(&Metrics) -> f64, f64, f64);
    let mut rows = Vec::new();
    let mut check = |metric, cpu: f64, gpu: f64, tolerance: f64| rows.push(row(metric, cpu, gpu, tolerance));
    let Some((last_cpu, last_gpu)) = history.last() else { return Ok(rows) };
    let (first, _) = &history[0];
    // Differences below a fiftieth of the slop, or a hundredth of the energy scale of the run, are irrelevant.
    let length = f64::from(compiled.params.linear_slop) / 50.0;
    let most = |of: &dyn Fn(&Metrics) -> f64| {
        history.iter().flat_map(|(cpu, gpu)| [of(cpu), of(gpu)]).fold(0.0, |most: f64, value| most.max(value.abs()))
    };
    let fallen = most(&|m| m.potential_energy - first.potential_energy);
    let energy = 0.01 * most(&|m| m.kinetic_energy).max(fallen) + 1e-9;

    let change = |m: &Metrics| m.potential_energy - first.potential_energy;
    let depth = |m: &Metrics| m.mean_penetration;
    let (transient, always) = (TRANSIENT_TOLERANCE, When::Always);
    let mut by_chance: Vec<Row> = vec![("mean penetration, average", always, &depth, transient, length)];
    if !compiled.joints.joints.is_empty() || compiled.emits_joints() {
        // A hundredth of a degree is irrelevant, too.
        by_chance.push(("joint error, average", always, &|m| m.joint_error, transient, length));
        by_chance.push(("joint angle error, average", always, &|m| m.joint_angle_error, transient, 2e-4));
    }
    by_chance.push(("kinetic energy, average", always, &|m| m.kinetic_energy, transient, energy));
    by_chance.push(("potential energy, average change", always, &change, transient, energy));
    let rests = last_cpu.max_speed < REST_SPEED && last_gpu.max_speed < REST_SPEED;
    if rests {
        by_chance.push(("mean penetration at rest", When::AtTheEnd, &depth, REST_TOLERANCE, length / 10.0));
    }
    for &(metric, when, of, share, least) in &by_chance {
        let cpu = when.of(history.iter().map(|(cpu, _)| cpu), of);
        let gpu = when.of(history.iter().map(|(_, gpu)| gpu), of);
        check(metric, cpu, gpu, share * cpu.abs().max(gpu.abs()) + least);
    }
    if rests && let (Some(cpu), Some(gpu)) = (last_cpu.ground_impulse_ratio, last_gpu.ground_impulse_ratio) {
        check("ground impulse ratio at rest", cpu, gpu, GROUND_TOLERANCE);
    }
    let closed = compiled.params.gravity == [0.0; 2]
        && !compiled.emits()
        && !compiled.has_timeline()
        && compiled.shapes.iter().all(|shape| shape.kind & FIXED_SHAPE == 0)
        && compiled.bodies.iter().all(|body| body.force == [0.0; 2] && body.linear_damping == 0.0);
    if closed {
        let (mut start, mut scale) = ([0.0; 2], 0.0);
        for (index, body) in compiled.bodies.iter().enumerate().filter(|(_, body)| body.kind == DYNAMIC) {
            debug_assert!(body.inv_mass > 0.0);
            let mass = f64::from(compiled.mass[index].mass);
            let velocity = compiled.states[index].velocity.map(f64::from);
            start = [start[0] + mass * velocity[0], start[1] + mass * velocity[1]];
            scale += mass * velocity[0].hypot(velocity[1]);
        }
        for (metric, metrics) in [("momentum gained, CPU", last_cpu), ("momentum gained, GPU", last_gpu)] {
            let gained = (metrics.momentum[0] - start[0]).hypot(metrics.momentum[1] - start[1]);
            check(metric, 0.0, gained, MOMENTUM_TOLERANCE * scale.max(1e-6));
        }
    }
    let failed = |rows: &[MetricReport], metric: &str| rows.iter().position(|row| row.metric == metric && !row.passed);
    if by_chance.iter().any(|(metric, ..)| failed(&rows, metric).is_some()) {
        let nudged = nudged()?;
        for (metric, when, of, ..) in by_chance {
            if let Some(index) = failed(&rows, metric) {
                let (cpu, tolerance) = chance(history, &nudged, when, of);
                if tolerance > rows[index].tolerance {
                    rows[index] = row(metric, cpu, rows[index].gpu, tolerance);
                }
            }
        }
    }
    Ok(rows)
}

fn row(metric: &'static str, cpu: f64, gpu: f64, tolerance: f64) -> MetricReport {
    // This form makes a NaN fail.
    let passed = (cpu - gpu).abs() <= tolerance;
    MetricReport { metric, cpu, gpu, tolerance, passed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::{Body, Joint, JointKind, Scene, Shape};

    /// Returns true if the average penetrations of two runs agree, given displaced runs whose depths are these
    /// multiples of the CPU's.
    fn agrees(cpu: impl Fn(u32) -> f64, gpu: impl Fn(u32) -> f64, nudged: [f64; 8]) -> bool {
        let mut scene = Scene::new("one box");
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
        let compiled = Compiled::new(&scene).expect("a scene");
        let moving = |mean_penetration| Metrics { mean_penetration, max_speed: 1.0, ..Metrics::default() };
        let history: Vec<_> = (0..300).map(|step| (moving(cpu(step)), moving(gpu(step)))).collect();
        let rows = compare_metrics(&compiled, &history, || {
            let run = |share| (0..300).map(|step| moving(share * cpu(step))).collect();
            Ok(nudged.into_iter().map(run).collect())
        })
        .expect("rows");
        rows.iter().find(|row| row.metric == "mean penetration, average").expect("the row").passed
    }

    /// Joints that separate on one side are detected, by length and by angle, if there are joints.
    #[test]
    fn errors_of_joints_are_compared() {
        let mut scene = Scene::new("a hinge");
        let body = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
        let jointless = Compiled::new(&scene).expect("a scene");
        scene.join(Joint::to_world(JointKind::hinge(), body));
        let compiled = Compiled::new(&scene).expect("a scene");
        let failed = |compiled: &Compiled, gpu: [f64; 2]| -> Vec<&'static str> {
            let of = |[joint_error, joint_angle_error]: [f64; 2]| Metrics {
                joint_error,
                joint_angle_error,
                max_speed: 1.0,
                ..Metrics::default()
            };
            let history = vec![(of([0.01, 0.01]), of(gpu)); 300];
            let rows = compare_metrics(compiled, &history, || Ok(Vec::new())).expect("rows");
            rows.into_iter().filter(|row| !row.passed).map(|row| row.metric).collect()
        };
        assert!(failed(&compiled, [0.0105, 0.0105]).is_empty());
        assert_eq!(failed(&compiled, [0.02, 0.01]), ["joint error, average"]);
        assert_eq!(failed(&compiled, [0.01, 0.02]), ["joint angle error, average"]);
        assert_eq!(failed(&compiled, [f64::NAN, 0.01]), ["joint error, average"]);
        assert!(failed(&jointless, [0.02, 0.02]).is_empty());
    }

    #[test]
    fn chance_excuses_what_the_cpu_does_itself_and_nothing_else() {
        let alike = [1.0, 1.0001, 0.9999, 1.0, 1.0001, 1.0, 0.9999, 1.0];
        let chaotic = [1.3, 0.6, 1.1, 1.2, 0.7, 0.9, 1.4, 0.8];
        assert!(agrees(|_| 0.001, |_| 0.0011, alike));
        assert!(!agrees(|_| 0.001, |_| 0.0013, alike));
        assert!(agrees(|_| 0.001, |_| 0.0013, chaotic));
        assert!(!agrees(|_| 0.001, |_| 0.0025, chaotic));
        assert!(!agrees(|_| 0.001, |_| f64::NAN, chaotic));
    }

    /// Energies and the final penetration are excused by chance, too: far from the origin, where positions are coarse,
    /// the way a body falls is chance.
    #[test]
    fn chance_excuses_energies_and_ends_likewise() {
        let mut scene = Scene::new("one box");
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
        let compiled = Compiled::new(&scene).expect("a scene");
        let verdict = |metric: &str, gpu: f64, nudged: [f64; 8], of: &dyn Fn(f64) -> Metrics| {
            // Only the final state differs.
            let run = |value: f64| (0..300).map(move |step| of(if step < 299 { 1.0 } else { value }));
            let still = |value: f64| (0..300).map(move |_| of(value));
            let ends = metric == "mean penetration at rest";
            let history: Vec<_> =
                if ends { run(1.0).zip(run(gpu)).collect() } else { still(1.0).zip(still(gpu)).collect() };
            let nudged = || {
                let of_one = |value| if ends { run(value).collect() } else { still(value).collect() };
                Ok(nudged.into_iter().map(of_one).collect())
            };
            let rows = compare_metrics(&compiled, &history, nudged).expect("rows");
            rows.iter().find(|row| row.metric == metric).expect("the row").passed
        };
        let moving = |kinetic_energy| Metrics { kinetic_energy, max_speed: 1.0, ..Metrics::default() };
        let resting = |mean_penetration| Metrics { mean_penetration, ..Metrics::default() };
        let (alike, chaotic) =
            ([1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99], [1.3, 0.6, 1.1, 1.2, 0.7, 0.9, 1.4, 0.8]);
        let energy = |gpu, nudged| verdict("kinetic energy, average", gpu, nudged, &moving);
        assert!(energy(1.1, alike) && !energy(1.4, alike));
        assert!(energy(1.4, chaotic) && !energy(3.0, chaotic) && !energy(f64::NAN, chaotic));
        let depth = |gpu, nudged| verdict("mean penetration at rest", gpu, nudged, &resting);
        assert!(depth(1.04, alike) && !depth(1.4, alike));
        assert!(depth(1.4, chaotic) && !depth(3.0, chaotic) && !depth(f64::NAN, chaotic));
    }

    #[test]
    fn nudged_runs_are_other_runs() {
        let depths = |far: f32| -> Vec<f64> {
            let mut scene = Scene::new("two boxes").gravity(0.0, -10.0);
            scene.add(Body::fixed(far, far - 0.5).shape(Shape::half_box(5.0, 0.5)));
            scene.add(Body::dynamic(far, far + 0.5).shape(Shape::half_box(0.5, 0.5)));
            scene.add(Body::dynamic(far, far + 1.5).shape(Shape::half_box(0.5, 0.5)));
            // With loads at the start nothing moves.
            scene.settings.initial_loads = false;
            let runs = nudged_runs(&Compiled::new(&scene).expect("a scene"), 60).expect("steps");
            runs.iter().map(|run| run[59].mean_penetration).collect()
        };
        // Far from the origin a micrometre rounds to the same position; the displacement must grow with it.
        for far in [0.0, 9e4] {
            let last = depths(far);
            assert!(last.windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits()), "{far}: {last:?}");
        }
        let last = depths(0.0);
        assert!(last.iter().all(|depth| (depth / last[0] - 1.0).abs() < 0.05), "{last:?}");
    }
}
