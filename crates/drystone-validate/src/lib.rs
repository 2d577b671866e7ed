//! Validation of the GPU against the CPU at three levels: every stage on the same input, one step from the same state,
//! and the metrics of a whole run. Integer results and decisions must be bitwise equal; floating-point results may
//! differ by rounding, as shader compilers may fuse and reassociate operations.
//!
//! ```no_run
//! use drystone::{AdapterChoice, Body, Context, Scene, Shape};
//! use drystone_validate::{ValidationOptions, validate};
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let context = Context::new(AdapterChoice::Any)?;
//! let report = validate(&context, &scene, ValidationOptions::default(), |_steps| ())?;
//! assert!(report.passed(), "{:?}", report.first_failure());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod roundings;
mod runs;
mod tables;
mod ties;

use serde::Serialize;

use drystone::Context;
use drystone::Scene;
use drystone::Snapshot;
use drystone::WorldError;
use drystone::low_level::cpu::CpuWorld;
use drystone::low_level::gpu::GpuWorld;
use drystone::low_level::reference::Reference;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::metrics;
use drystone::low_level::step::Stage;
use drystone::low_level::types::DYNAMIC;
use runs::{NUDGED_RUNS, compare_metrics, nudge, nudged_runs, spread};
use tables::{compare_tables, distance};
use ties::{settle_gap_ties, settle_recycle_ties, stops_by_rounding};

/// Relative tolerance of one stage, as a fraction of 1 or of the value if that is larger: a hundred roundings.
const STAGE_TOLERANCE: f64 = 1e-5;
/// Tolerance of a body's velocity after one step, m/s; the tolerance of its position is the resulting distance per
/// step. This is more than rounding: a contact that changes from separated to touching within a step uses another
/// formula.
const STEP_VELOCITY_TOLERANCE: f64 = 1e-2;
/// Fraction of contacts, or of bodies after one step, that may differ because a decision was a tie: one in a thousand.
const TIES: f64 = 1e-3;

/// Options of a validation.
#[derive(Clone, Copy, Debug)]
pub struct ValidationOptions {
    /// Number of steps to run.
    pub steps: u64,
    /// Stage that the CPU skips (fault injection for tests).
    #[doc(hidden)]
    pub cpu_fault: Option<Stage>,
}

impl Default for ValidationOptions {
    fn default() -> Self {
        Self { steps: 300, cpu_fault: None }
    }
}

/// Location at which the backends differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Number of steps done before.
    pub step: u64,
    /// Name of the stage, or "step" for a whole step.
    pub stage: &'static str,
    /// Name of the table.
    pub table: &'static str,
    /// Index of the element.
    pub index: usize,
    /// Value on the CPU.
    pub cpu: String,
    /// Value on the GPU.
    pub gpu: String,
    /// Difference; infinite for integers.
    pub error: f64,
    /// Tolerance.
    pub tolerance: f64,
}

/// Result of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// Name of the stage.
    pub stage: &'static str,
    /// Number of comparisons.
    pub checks: u32,
    /// Largest difference as a fraction of the tolerance; above 1 the stage failed.
    pub worst: f64,
    /// Number of decisions that were ties.
    pub ties: u32,
}

/// Comparison of one metric of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricReport {
    /// Name of the metric.
    pub metric: &'static str,
    /// Value on the CPU.
    pub cpu: f64,
    /// Value on the GPU.
    pub gpu: f64,
    /// Tolerance.
    pub tolerance: f64,
    /// True if the difference is within the tolerance.
    pub passed: bool,
}

/// Result of a validation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ValidationReport {
    /// Name of the scene.
    pub scene: String,
    /// Number of steps.
    pub steps: u64,
    /// Steps at which every stage was compared.
    pub stepwise: Vec<u64>,
    /// Results by stage, in execution order.
    pub stages: Vec<StageReport>,
    /// Largest difference of a body after one step, as a fraction of the tolerance.
    pub one_step_worst: f64,
    /// Metrics of the whole run.
    pub metrics: Vec<MetricReport>,
    /// First location at which a stage or a step differs.
    pub first_difference: Option<Difference>,
}

impl ValidationReport {
    /// Returns true if everything is within tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.first_difference.is_none() && self.metrics.iter().all(|metric| metric.passed)
    }

    /// Returns the name of the first differing stage, `step` or `metrics`; `None` if all passed.
    #[must_use]
    pub fn first_failure(&self) -> Option<&'static str> {
        match &self.first_difference {
            Some(difference) => Some(difference.stage),
            None => self.metrics.iter().any(|metric| !metric.passed).then_some("metrics"),
        }
    }
}

/// Runs a scene on both backends and compares them. Calls `progress` with the number of steps done.
///
/// # Errors
/// If the scene is not valid or the device fails. Differences are not errors; they are in the report.
pub fn validate(
    context: &Context,
    scene: &Scene,
    options: ValidationOptions,
    progress: impl FnMut(u64),
) -> Result<ValidationReport, WorldError> {
    compare(GpuWorld::new(context, scene)?, scene, options, progress)
}

/// Compares an existing GPU world with the CPU, like [`validate`].
///
/// # Errors
/// Those of [`validate`].
pub fn compare(
    mut gpu: GpuWorld,
    scene: &Scene,
    options: ValidationOptions,
    mut progress: impl FnMut(u64),
) -> Result<ValidationReport, WorldError> {
    let compiled = Compiled::new(scene)?;
    let mut reference = CpuWorld::from_compiled(compiled.clone());
    // One CPU world adds and removes bodies; the reference compares stage by stage.
    let mut host = CpuWorld::from_compiled(compiled.clone());
    let mut twin = Reference::from_compiled(compiled.clone());
    let mut report = ValidationReport {
        scene: scene.name.clone(),
        steps: options.steps,
        stepwise: Vec::new(),
        stages: Vec::new(),
        one_step_worst: 0.0,
        metrics: Vec::new(),
        first_difference: None,
    };
    let mut history = Vec::new();
    let every = (options.steps / 10).max(1);
    for step in 0..options.steps {
        let sampled = step < 4 || step % every == every - 1;
        if sampled {
            report.stepwise.push(step);
            let before = gpu.snapshot()?;
            step_by_stages(&mut gpu, (&mut host, &mut twin), &mut report, step, options)?;
            if report.first_difference.is_some() {
                return Ok(report);
            }
            let mut once = CpuWorld::from_compiled(compiled.clone());
            once.restore(&before)?;
            once.step()?;
            compare_step(&once, &before, &mut gpu, &mut report, step)?;
            if report.first_difference.is_some() {
                return Ok(report);
            }
        } else {
            gpu.step()?;
            host.skip_step();
        }
        reference.step()?;
        // Every step, as an impact overlaps for a step or two only, and a sparse sample might miss it on one side.
        let (cpu, gpu) = (reference.snapshot(), gpu.snapshot()?);
        let there = reference.compiled();
        history.push((metrics(there, &cpu), metrics(there, &gpu)));
        if step + 1 == options.steps {
            report.metrics = compare_metrics(&compiled, &history, || nudged_runs(&compiled, history.len()))?;
            report.metrics.push(MetricReport {
                metric: "quarantined",
                cpu: f64::from(cpu.counters.quarantined),
                gpu: f64::from(gpu.counters.quarantined),
                tolerance: 0.0,
                passed: cpu.counters.quarantined == gpu.counters.quarantined,
            });
        }
        progress(step + 1);
    }
    Ok(report)
}

/// Runs one step of the GPU, and each of its stages on the reference with the same input.
fn step_by_stages(
    gpu: &mut GpuWorld,
    (host, twin): (&mut CpuWorld, &mut Reference),
    report: &mut ValidationReport,
    step: u64,
    options: ValidationOptions,
) -> Result<(), WorldError> {
    gpu.emit(None)?;
    gpu.begin_step();
    host.emit();
    twin.follow(host.compiled(), host.plan(), gpu.steps(), &host.snapshot().commands);
    let mut before = gpu.tables()?;
    for op in gpu.plan().to_vec() {
        gpu.run_stage(op)?;
        let after = gpu.tables()?;
        twin.load(&before);
        if options.cpu_fault != Some(op.stage) {
            twin.run(op);
        }
        let mut expected = twin.tables();
        let ties = settle_gap_ties(op, twin.compiled().params.linear_slop, &mut before, &expected, &after)
            + settle_recycle_ties(op, twin.compiled(), &mut before, &expected, &after);
        if ties > 0 && options.cpu_fault != Some(op.stage) {
            twin.load(&before);
            twin.run(op);
            expected = twin.tables();
        }
        let faulty = options.cpu_fault == Some(op.stage);
        let stops = if faulty { Vec::new() } else { stops_by_rounding(op, twin, &before, &expected, &after) };
        let mut outcome = compare_tables(op, twin.compiled(), &stops, &expected, &after);
        outcome.ties += ties;
        let row = match report.stages.iter().position(|row| row.stage == op.stage.name()) {
            Some(index) => &mut report.stages[index],
            None => {
                report.stages.push(StageReport { stage: op.stage.name(), checks: 0, worst: 0.0, ties: 0 });
                let last = report.stages.len() - 1;
                &mut report.stages[last]
            }
        };
        row.checks += 1;
        row.worst = row.worst.max(outcome.worst);
        row.ties += outcome.ties;
        if let Some(mut difference) = outcome.first {
            difference.step = step;
            report.first_difference = Some(difference);
            break;
        }
        before = after;
    }
    gpu.end_step();
    host.skip_step();
    Ok(())
}

/// Compares the bodies after one step from the same state, `before`.
fn compare_step(
    cpu: &CpuWorld,
    before: &Snapshot,
    gpu: &mut GpuWorld,
    report: &mut ValidationReport,
    step: u64,
) -> Result<(), WorldError> {
    let (once, gpu) = (cpu.snapshot(), gpu.snapshot()?);
    let shares = step_shares(cpu.compiled().params.dt, &once, &gpu);
    let off = |shares: &[f64]| shares.iter().filter(|&&share| share > 1.0).count() as f64;
    let close = shares.iter().copied().filter(|&share| share <= 1.0).fold(0.0, f64::max);
    report.one_step_worst = report.one_step_worst.max(close);
    if off(&shares) <= (shares.len() as f64 * TIES).max(1.0) {
        return Ok(());
    }
    // In a dense pile, one decision that differs affects many bodies: an additional pair, even without touching,
    // changes the colours and order of new contacts. The CPU shows how many: it is run from the same state, changed by
    // a rounding.
    let mut nudged = Vec::new();
    for run in 1..=NUDGED_RUNS {
        let mut from = before.clone();
        let bodies = &cpu.compiled().bodies;
        for (index, (pose, _)) in (0..).zip(from.poses.iter_mut().zip(bodies)).filter(|(_, (_, b))| b.kind == DYNAMIC) {
            let position = glam::Vec2::from(pose.position);
            pose.position = (position + nudge(run, index, position)).into();
        }
        let mut world = CpuWorld::from_compiled(cpu.compiled().clone());
        world.restore(&from)?;
        world.step()?;
        nudged.push(off(&step_shares(cpu.compiled().params.dt, &once, &world.snapshot())));
    }
    let (mean, chance) = spread(&nudged);
    if off(&shares) > mean + chance
        && let Some(index) = shares.iter().position(|&share| share > 1.0)
    {
        report.one_step_worst = shares[index];
        report.first_difference = Some(Difference {
            step,
            stage: "step",
            table: "bodies",
            index,
            cpu: format!("{:?} {:?}", once.poses[index], once.states[index]),
            gpu: format!("{:?} {:?}", gpu.poses[index], gpu.states[index]),
            error: shares[index],
            tolerance: 1.0,
        });
    }
    Ok(())
}

/// Returns the difference of each body after one step, as a fraction of the tolerance.
fn step_shares(dt: f32, one: &Snapshot, other: &Snapshot) -> Vec<f64> {
    let rows = |snapshot: &Snapshot, index: usize| {
        let (pose, state) = (&snapshot.poses[index], &snapshot.states[index]);
        ([pose.position, pose.rotation].concat(), state.velocity)
    };
    let share = |index| {
        let ((place, velocity), (other_place, other_velocity)) = (rows(one, index), rows(other, index));
        let far = distance(&place, &other_place) / (STEP_VELOCITY_TOLERANCE * f64::from(dt));
        far.max(distance(&velocity, &other_velocity) / STEP_VELOCITY_TOLERANCE)
    };
    (0..one.poses.len().min(other.poses.len())).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::AdapterChoice;
    use drystone::low_level::snapshot::Lineage;
    use drystone::{Body, Shape};

    /// Steps a falling pile once on both backends, with another gravity on the CPU if given.
    fn one_step(gravity: f32) -> Option<&'static str> {
        let mut scene = Scene::new("boxes").gravity(0.0, -10.0);
        scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(50.0, 0.5)));
        for index in 0..40_u8 {
            scene.add(Body::dynamic(f32::from(index % 8), 3.5 + f32::from(index / 8)).shape(Shape::half_box(0.5, 0.5)));
        }
        let context = Context::new(AdapterChoice::Any).expect("an adapter");
        let mut gpu = GpuWorld::new(&context, &scene).expect("a world");
        (0..10).for_each(|_| gpu.step().expect("a step"));
        let mut before = gpu.snapshot().expect("a snapshot");
        // Another gravity makes another world, which would reject the snapshot.
        before.lineage = Lineage::default();
        gpu.step().expect("a step");
        let mut cpu = CpuWorld::new(&scene.gravity(0.0, gravity)).expect("a world");
        cpu.restore(&before).expect("the snapshot");
        cpu.step().expect("a step");
        let mut report = ValidationReport::default();
        compare_step(&cpu, &before, &mut gpu, &mut report, 0).expect("a comparison");
        report.first_difference.map(|difference| difference.stage)
    }

    #[test]
    fn one_step_is_the_same_step() {
        assert_eq!(one_step(-10.0), None);
        // Negative control: many bodies differ, and a nudge does not explain it.
        assert_eq!(one_step(-13.0), Some("step"));
    }
}
