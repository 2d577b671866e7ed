//! The contenders, and how one run of one of them is timed.

use std::time::Instant;

use anyhow::Result;
use drystone::{Context, CpuWorld, GpuWorld, Scene, Snapshot};

use crate::box2d::{self, Box2d};

/// Who steps the scene.
#[derive(Clone, Debug)]
pub enum Contender {
    /// Box2D, the one to compare with.
    Box2d(box2d::Options),
    /// Drystone on this many threads.
    Cpu(usize),
    /// Drystone on a GPU, or what passes for one.
    Gpu(Context),
}

impl Contender {
    /// As reports name it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Box2d(options) if options.threads == 1 => "box2d",
            Self::Box2d(_) => "box2dN",
            Self::Cpu(1) => "cpu1",
            Self::Cpu(_) => "cpuN",
            Self::Gpu(_) => "gpu",
        }
    }

    /// Threads that step the world.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self {
            Self::Box2d(options) => options.threads,
            Self::Cpu(threads) => *threads,
            Self::Gpu(_) => 1,
        }
    }

    /// Whom it is compared with: Box2D on as many threads.
    #[must_use]
    pub fn rival(&self) -> Option<&'static str> {
        match self {
            Self::Box2d(_) => None,
            Self::Cpu(threads) if *threads > 1 => Some("box2dN"),
            Self::Cpu(_) | Self::Gpu(_) => Some("box2d"),
        }
    }
}

/// One run from the start of the scene.
#[derive(Clone, Debug)]
pub struct Run {
    /// Mean over the steps after the first, ms of wall time.
    pub ms: f64,
    /// Likewise of the processor, where one thread does all the work and the system tells.
    pub cpu_ms: Option<f64>,
    /// The first step, ms of wall time.
    pub first_ms: f64,
    /// ms a step by stage, over the steps after the first. Empty for the GPU.
    pub stages: Vec<(&'static str, f64)>,
    /// The end.
    pub end: Snapshot,
}

impl Run {
    /// Processor time where it is known, else wall time; ms a step.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.cpu_ms.unwrap_or(self.ms)
    }
}

/// Builds the scene for a contender and steps it, `1 + steps` times.
///
/// # Errors
/// If the contender cannot do the scene.
pub fn run(contender: &Contender, scene: &Scene, steps: u32) -> Result<Run> {
    match contender {
        Contender::Box2d(options) => run_box2d(Box2d::new(scene, *options)?, options.threads, steps),
        Contender::Cpu(threads) => Ok(run_cpu(CpuWorld::new(scene)?.with_threads(*threads)?, steps)),
        Contender::Gpu(context) => run_gpu(GpuWorld::new(context, scene)?, steps),
    }
}

fn run_box2d(mut world: Box2d, threads: usize, steps: u32) -> Result<Run> {
    let mut watch = Watch::default();
    world.push()?;
    watch.time(|| world.step())?;
    let first_ms = watch.wall_ms;
    watch = Watch::default();
    for _ in 0..steps {
        world.push()?;
        watch.time(|| world.step())?;
        world.note_profile()?;
    }
    let stages = world.stage_ms().iter().map(|&(name, ms)| (name, ms / f64::from(steps))).collect();
    Ok(watch.into_run(threads, steps, first_ms, stages, world.snapshot()?))
}

fn run_cpu(mut world: CpuWorld, steps: u32) -> Run {
    let mut watch = Watch::default();
    watch.time(|| world.step());
    let first_ms = watch.wall_ms;
    let first_stages = world.stage_ms().to_vec();
    watch = Watch::default();
    for _ in 0..steps {
        watch.time(|| world.step());
    }
    let stages = world.stage_ms().iter().zip(first_stages);
    let stages = stages.map(|(&(stage, ms), (_, first))| (stage.name(), (ms - first) / f64::from(steps))).collect();
    watch.into_run(world.threads(), steps, first_ms, stages, world.snapshot())
}

/// A GPU works on while the next step is recorded, so only the whole run can be timed.
fn run_gpu(mut world: GpuWorld, steps: u32) -> Result<Run> {
    let context = world.context().clone();
    let mut watch = Watch::default();
    watch.time(|| -> Result<()> {
        world.step()?;
        Ok(context.wait()?)
    })?;
    let first_ms = watch.wall_ms;
    watch = Watch::default();
    watch.time(|| -> Result<()> {
        for _ in 0..steps {
            world.step()?;
        }
        Ok(context.wait()?)
    })?;
    let end = world.snapshot()?;
    Ok(Run { cpu_ms: None, ..watch.into_run(1, steps, first_ms, Vec::new(), end) })
}

/// Sums of wall time and of the calling thread's processor time.
#[derive(Clone, Copy, Default)]
struct Watch {
    wall_ms: f64,
    cpu_ms: Option<f64>,
}

impl Watch {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), thread_ms());
        let result = work();
        self.wall_ms += 1e3 * wall.elapsed().as_secs_f64();
        if let (Some(before), Some(after)) = (cpu, thread_ms()) {
            *self.cpu_ms.get_or_insert(0.0) += after - before;
        }
        result
    }

    fn into_run(
        self,
        threads: usize,
        steps: u32,
        first_ms: f64,
        stages: Vec<(&'static str, f64)>,
        end: Snapshot,
    ) -> Run {
        let steps = f64::from(steps);
        let cpu_ms = if threads == 1 { self.cpu_ms.map(|ms| ms / steps) } else { None };
        Run { ms: self.wall_ms / steps, cpu_ms, first_ms, stages, end }
    }
}

/// Processor time of the calling thread, ms.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps, reason = "other systems do not tell")]
#[allow(clippy::cast_precision_loss, reason = "nanoseconds since the thread began, far below 2^53")]
fn thread_ms() -> Option<f64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(1e3 * now.tv_sec as f64 + 1e-6 * now.tv_nsec as f64)
}

#[cfg(not(target_os = "linux"))]
fn thread_ms() -> Option<f64> {
    None
}
