//! GPU against CPU, three ways: every stage on the same input, one step from the same state, and the whole run by its
//! metrics. What agrees bit for bit must; what is arithmetic may differ by rounding, since shading languages may fuse
//! and reassociate.

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

/// Share of 1 or of the value, whichever is larger, by which one arithmetic stage may differ: a hundred roundings.
const STAGE_TOLERANCE: f64 = 1e-5;
/// How far the velocity of a body may be off after one step, m/s. Its position may be off by what that makes in a step.
/// This is more than rounding: a contact that changes from gap to touch within a step takes another formula.
const STEP_VELOCITY_TOLERANCE: f64 = 1e-2;
/// Contacts, or bodies after one step, that may differ because a decision was a tie: one in a thousand.
const TIES: f64 = 1e-3;

/// What to compare.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps to run.
    pub steps: u64,
    /// A stage that the CPU leaves out, for tests of this very module.
    #[doc(hidden)]
    pub cpu_fault: Option<Stage>,
}

impl Default for Options {
    fn default() -> Self {
        Self { steps: 300, cpu_fault: None }
    }
}

/// A place where the backends disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Steps done before.
    pub step: u64,
    /// The stage, or "step" for a whole one.
    pub stage: &'static str,
    /// The array.
    pub table: &'static str,
    /// The element.
    pub index: usize,
    /// The CPU's value.
    pub cpu: String,
    /// The GPU's value.
    pub gpu: String,
    /// How far they are apart; infinite for integers.
    pub error: f64,
    /// How far they may be.
    pub tolerance: f64,
}

/// How one stage did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// Which.
    pub stage: &'static str,
    /// How often it was compared.
    pub checks: u32,
    /// Largest difference as a share of the tolerance; above 1 it failed.
    pub worst: f64,
    /// Decisions that were ties.
    pub ties: u32,
}

/// One metric of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricReport {
    /// Which.
    pub metric: &'static str,
    /// The CPU's value.
    pub cpu: f64,
    /// The GPU's value.
    pub gpu: f64,
    /// How far they may be apart.
    pub tolerance: f64,
    /// Whether they are not.
    pub passed: bool,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Name of the scene.
    pub scene: String,
    /// Steps run.
    pub steps: u64,
    /// Steps at which every stage was compared.
    pub stepwise: Vec<u64>,
    /// Stage by stage, in the order in which they run.
    pub stages: Vec<StageReport>,
    /// Largest difference of a body after one step, as a share of the tolerance.
    pub one_step_worst: f64,
    /// The whole run.
    pub metrics: Vec<MetricReport>,
    /// The first place where a stage or a step differs.
    pub first_difference: Option<Difference>,
}

impl Report {
    /// Whether nothing is out of tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.first_difference.is_none() && self.metrics.iter().all(|metric| metric.passed)
    }

    /// The name of the first stage that differs, or `step` or `metrics`.
    #[must_use]
    pub fn first_failure(&self) -> Option<&'static str> {
        match &self.first_difference {
            Some(difference) => Some(difference.stage),
            None => self.metrics.iter().any(|metric| !metric.passed).then_some("metrics"),
        }
    }
}

/// Runs `scene` on both backends and compares. `progress` is told the steps done.
///
/// # Errors
/// If the scene is not valid or the device fails. A disagreement is no error; it is in the report.
pub fn validate(
    context: &Context,
    scene: &Scene,
    options: Options,
    progress: impl FnMut(u64),
) -> Result<Report, WorldError> {
    compare(GpuWorld::new(context, scene)?, scene, options, progress)
}

/// As [`validate`], with a GPU world made by the caller.
///
/// # Errors
/// As [`validate`].
pub fn compare(
    mut gpu: GpuWorld,
    scene: &Scene,
    options: Options,
    mut progress: impl FnMut(u64),
) -> Result<Report, WorldError> {
    let compiled = Compiled::new(scene)?;
    let mut reference = CpuWorld::from_compiled(compiled.clone());
    // Bodies come and go in one world, and another is compared stage by stage.
    let mut host = CpuWorld::from_compiled(compiled.clone());
    let mut twin = Reference::from_compiled(compiled.clone());
    let mut report = Report {
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
        // Every step, not now and then: an impact overlaps for a step or two, and whether a sparse sample meets it is
        // chance.
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

/// Makes one step of the GPU, each stage beside the reference's on the same input.
fn step_by_stages(
    gpu: &mut GpuWorld,
    (host, twin): (&mut CpuWorld, &mut Reference),
    report: &mut Report,
    step: u64,
    options: Options,
) -> Result<(), WorldError> {
    gpu.emit(None)?;
    gpu.begin_step();
    host.emit();
    twin.follow(host.compiled(), host.plan(), gpu.steps(), &host.snapshot().commands);
    let mut before = gpu.tables()?;
    for op in gpu.plan().to_vec() {
        gpu.run_alone(op)?;
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

/// Bodies after one step from the same state, `before`.
fn compare_step(
    cpu: &CpuWorld,
    before: &Snapshot,
    gpu: &mut GpuWorld,
    report: &mut Report,
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
    // One decision that falls otherwise is felt by many where bodies are pressed against each other: a pair more, which
    // need not even touch, and new contacts are coloured and visited in another order. How many those are the CPU tells,
    // from the same state but for a rounding.
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

/// How far each body is off after one step, as a share of the tolerance.
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

    /// A pile that falls, stepped once by both backends; the CPU's copy under another gravity.
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
        // Another gravity makes another world, which takes no snapshot of this one.
        before.lineage = Lineage::default();
        gpu.step().expect("a step");
        let mut cpu = CpuWorld::new(&scene.gravity(0.0, gravity)).expect("a world");
        cpu.restore(&before).expect("the snapshot");
        cpu.step().expect("a step");
        let mut report = Report::default();
        compare_step(&cpu, &before, &mut gpu, &mut report, 0).expect("a comparison");
        report.first_difference.map(|difference| difference.stage)
    }

    #[test]
    fn one_step_is_the_same_step() {
        assert_eq!(one_step(-10.0), None);
        // Negative control: many bodies are off, and a nudge does not explain it.
        assert_eq!(one_step(-13.0), Some("step"));
    }
}
