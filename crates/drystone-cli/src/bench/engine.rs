//! Backends of the benchmark, and a single run of one of them.

use std::path::Path;

use clap::ValueEnum;
use drystone::low_level::scene::Compiled;
use drystone::low_level::step::Stage;
use drystone::low_level::types::{BodyState, Pose};
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Context, Snapshot, World, WorldError};
use drystone_bench::{PeerJob, PeerTimes};
use drystone_web::traffic::{self, RowCounts};

use super::super::failure::{Code, Failure};
use super::super::stop;
use super::limit;
use super::peers::Peers;

/// Value of `--backends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchBackend {
    /// Drystone on a GPU, or on a software adapter, which is then named as such
    Gpu,
    /// Drystone on one thread
    #[value(name = "cpu1")]
    Cpu1,
    /// Drystone on --threads
    #[value(name = "cpuN")]
    CpuN,
    /// Box2D on one thread
    #[value(name = "box2d")]
    Box2d,
    /// Box2D on --threads
    #[value(name = "box2dN")]
    Box2dN,
    /// Rapier on one thread
    Rapier,
}

impl BenchBackend {
    /// All backends, in the order of their turns: rivals next to each other.
    pub const ALL: [Self; 6] = [Self::Box2d, Self::Cpu1, Self::Rapier, Self::Box2dN, Self::CpuN, Self::Gpu];

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu1 => "cpu1",
            Self::CpuN => "cpuN",
            Self::Box2d => "box2d",
            Self::Box2dN => "box2dN",
            Self::Rapier => "rapier",
        }
    }

    /// Returns the name of the engine in the peers program, if it runs there.
    pub fn peer(self) -> Option<&'static str> {
        match self {
            Self::Box2d | Self::Box2dN => Some("box2d"),
            Self::Rapier => Some("rapier"),
            Self::Gpu | Self::Cpu1 | Self::CpuN => None,
        }
    }

    /// Returns true if it uses `--threads`.
    pub fn is_threaded(self) -> bool {
        matches!(self, Self::CpuN | Self::Box2dN)
    }
}

/// Resources shared by all runs.
#[derive(Debug)]
pub struct Engines {
    /// Device of the backend `gpu`.
    pub context: Option<Context>,
    /// Program that runs other engines.
    pub peers: Option<Peers>,
    /// Threads of threaded backends.
    pub threads: u32,
}

/// A run from the start of the scene.
#[derive(Clone, Debug)]
pub struct BenchRun {
    /// Times of the steps.
    pub times: PeerTimes,
    /// Milliseconds per step of each stage. Empty if stages are not timed.
    pub stages_ms: Vec<(String, f64)>,
    /// Final state.
    pub end: Snapshot,
    /// Hash of the final state.
    pub hash: u64,
    /// Details that only Drystone's backends provide.
    pub own: Option<Own>,
    /// World at the end, if bodies were added or removed.
    pub compiled: Option<Compiled>,
}

impl BenchRun {
    fn new(times: PeerTimes, stages_ms: Vec<(String, f64)>, end: Snapshot, own: Option<Own>) -> Self {
        Self { times, stages_ms, hash: state::hash(&end), end, own, compiled: None }
    }

    /// Frees the memory of the final state.
    pub fn forget_end(&mut self) {
        self.end = Snapshot::default();
        self.compiled = None;
    }
}

/// Details that only Drystone's backends provide.
#[derive(Clone, Debug)]
pub struct Own {
    /// Bytes that each stage of a step must move.
    pub moved: Vec<(Stage, u64)>,
    /// Dispatches per step.
    pub dispatches: Option<u32>,
    /// Size of all buffers on the device, in bytes.
    pub device_bytes: Option<u64>,
    /// Number of steps that overflowed a buffer.
    pub overflowed_steps: u64,
}

/// Number of final steps that time their stages, after the steps that are timed and compared.
const PROFILED: u32 = 10;

impl Engines {
    /// Returns the number of threads of a backend.
    pub fn threads_of(&self, backend: BenchBackend) -> Option<u32> {
        match backend {
            BenchBackend::Gpu => None,
            _ if backend.is_threaded() => Some(self.threads),
            _ => Some(1),
        }
    }

    /// Runs a scene once: `1 + steps` steps, and a few more to time the stages. The inner error is the reason why the
    /// backend cannot run it.
    ///
    /// # Errors
    /// Errors that end the benchmark: a lost device, a failing peers program, Ctrl-C.
    pub fn run(
        &mut self,
        backend: BenchBackend,
        compiled: &Compiled,
        file: &Path,
        steps: u32,
        with_stages: bool,
    ) -> Result<Result<BenchRun, String>, Failure> {
        let threads = self.threads_of(backend).unwrap_or(1);
        match (backend, backend.peer(), &self.context, &mut self.peers) {
            (BenchBackend::Gpu, _, Some(context), _) => on_gpu(context, compiled, steps, with_stages),
            (_, Some(engine), _, Some(peers)) => {
                let job = PeerJob { scene: file.to_owned(), engine: engine.to_owned(), threads, steps };
                let ran = peers.run(job, compiled.bodies.len())?;
                let end = |bodies: &[[f32; 7]]| snapshot(bodies, u64::from(steps) + 1);
                Ok(ran.map(|ran| BenchRun::new(ran.times, ran.stages_ms, end(&ran.bodies), None)))
            }
            (BenchBackend::Cpu1 | BenchBackend::CpuN, ..) => {
                let world = CpuWorld::from_compiled(compiled.clone()).with_threads(threads as usize)?;
                Ok(Ok(on_cpu(world, steps, with_stages)?))
            }
            // Backends are only selected if their resources exist.
            (backend, ..) => unreachable!("no engine for {}", backend.name()),
        }
    }
}

fn snapshot(bodies: &[[f32; 7]], step: u64) -> Snapshot {
    let mut end = Snapshot { step, ..Snapshot::default() };
    for &[x, y, cosine, sine, u, v, angular_velocity] in bodies {
        end.poses.push(Pose { position: [x, y], rotation: [cosine, sine], ..Pose::default() });
        end.states.push(BodyState { velocity: [u, v], angular_velocity, ..BodyState::default() });
    }
    end
}

fn on_cpu(mut world: CpuWorld, steps: u32, with_stages: bool) -> Result<BenchRun, Failure> {
    let times = PeerTimes::of(steps, world.threads(), |watch, _| {
        watch.time(|| world.step())?;
        stop::check("no file was written")
    })?;
    let end = world.snapshot();
    let counts = RowCounts::new(world.compiled(), world.counters());
    let moved = traffic::bytes(world.plan(), &counts);
    let own = Own { moved, dispatches: None, device_bytes: None, overflowed_steps: 0 };
    let compiled = world.compiled().emits().then(|| world.compiled().clone());
    if with_stages {
        (0..PROFILED).try_for_each(|_| world.step_profiled())?;
    }
    let stages = world.stage_ms().iter().map(|&(stage, ms)| (stage, ms / f64::from(PROFILED)));
    Ok(BenchRun { compiled, ..BenchRun::new(times, named(stages), end, Some(own)) })
}

/// Runs on a device, which works asynchronously, so that only all steps together can be timed.
fn on_gpu(
    context: &Context,
    compiled: &Compiled,
    steps: u32,
    with_stages: bool,
) -> Result<Result<BenchRun, String>, Failure> {
    let mut world = match GpuWorld::from_compiled(context, compiled.clone(), None) {
        Ok(world) => World::from(world),
        Err(error @ WorldError::TooLarge { .. }) => return Ok(Err(error.to_string())),
        Err(error) => return Err(Failure::new(Code::Check, error)),
    };
    let mut several = |count: u32| {
        let start = std::time::Instant::now();
        for _ in 0..count {
            world.step()?;
            stop::check("no file was written")?;
        }
        world.wait()?;
        Ok::<_, Failure>(1e3 * start.elapsed().as_secs_f64())
    };
    let first_ms = several(1)?;
    limit::warm_up(context)?;
    let ms = several(steps)? / f64::from(steps.max(1));
    let end = world.snapshot()?;
    let counts = RowCounts::new(world.compiled(), &end.counters);
    let grown = compiled.emits().then(|| world.compiled().clone());
    let (dispatches, overflowed) = (world.dispatches(), world.overflowed_steps().len() as u64);
    if with_stages {
        (0..PROFILED).try_for_each(|_| world.step_profiled())?;
    }
    let World::Gpu(gpu) = &world else { unreachable!("created as a GPU world") };
    let own = Own {
        moved: traffic::bytes(gpu.plan(), &counts),
        dispatches,
        device_bytes: Some(gpu.device_bytes()),
        overflowed_steps: overflowed,
    };
    let stages_ms = named(world.stage_ms().into_iter());
    let run = BenchRun::new(PeerTimes { first_ms, ms, cpu_ms: None }, stages_ms, end, Some(own));
    Ok(Ok(BenchRun { compiled: grown, ..run }))
}

fn named(stages: impl Iterator<Item = (Stage, f64)>) -> Vec<(String, f64)> {
    stages.filter(|&(_, ms)| ms > 0.0).map(|(stage, ms)| (stage.name().to_owned(), ms)).collect()
}
