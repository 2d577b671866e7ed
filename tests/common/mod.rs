//! Runs a test scene on every backend and compares measured values with theory.

use std::sync::OnceLock;

use drystone::low_level::state::{JointReaction, Metrics, ReportedBody, body_states, metrics};
use drystone::low_level::step::Stage;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, Scene, Snapshot, World};
use drystone_scenes::catalogue;

/// Generates one test for each oracle and backend.
macro_rules! on_every_backend {
    ($($oracle:ident),+ $(,)?) => { $(
        mod $oracle {
            use crate::common::Backend;

            #[test]
            fn cpu_1_thread() {
                super::$oracle(Backend::Cpu1);
            }

            #[test]
            fn cpu_3_threads() {
                super::$oracle(Backend::Cpu3);
            }

            #[test]
            fn gpu() {
                super::$oracle(Backend::Gpu);
            }
        }
    )+ };
}

/// Backend of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The CPU on one thread.
    Cpu1,
    /// The CPU on three threads: more than most test machines have cores, and not a power of two.
    Cpu3,
    /// The GPU, or any other adapter, such as a software one.
    Gpu,
}

impl Backend {
    /// Builds the scene. A missing adapter fails the test: a skipped test would look like a passed one.
    pub fn start(self, scene: &Scene) -> Sim {
        Sim { world: self.world(scene) }
    }

    /// Builds the world alone, without the helpers of [`Sim`].
    pub fn world(self, scene: &Scene) -> World {
        match self {
            Self::Cpu1 | Self::Cpu3 => self.cpu(scene).into(),
            Self::Gpu => Self::gpu(scene).into(),
        }
    }

    /// Builds the scene without one stage, for negative controls.
    pub fn start_without(self, scene: &Scene, stage: Stage) -> Sim {
        let world = match self {
            Self::Cpu1 | Self::Cpu3 => self.cpu(scene).without(stage).into(),
            Self::Gpu => Self::gpu(scene).without(stage).into(),
        };
        Sim { world }
    }

    fn cpu(self, scene: &Scene) -> CpuWorld {
        let world = CpuWorld::new(scene).expect("a valid scene");
        if self == Self::Cpu3 { world.with_threads(3).expect("threads") } else { world }
    }

    fn gpu(scene: &Scene) -> GpuWorld {
        // Shared by all tests of a process: a software adapter takes seconds to compile the kernels.
        static CONTEXT: OnceLock<Context> = OnceLock::new();
        let context = CONTEXT.get_or_init(|| {
            Context::new(AdapterChoice::Any)
                .expect("an adapter; a software one will do (on Debian: apt install mesa-vulkan-drivers)")
        });
        GpuWorld::new(context, scene).expect("a valid scene")
    }

    /// Builds a scene of the catalogue.
    pub fn build(self, spec: &str) -> Sim {
        self.start(&catalogue::build(spec).expect("a scene of the catalogue"))
    }
}

/// A running world; errors fail the test.
pub struct Sim {
    pub world: World,
}

impl Sim {
    /// Runs this many steps.
    pub fn advance(&mut self, steps: usize) -> &mut Self {
        for _ in 0..steps {
            self.world.step().expect("a step");
        }
        self
    }

    /// Returns the number of steps done.
    pub fn steps(&self) -> u64 {
        self.world.steps()
    }

    /// Returns the present state. Fails if contacts were dropped or bodies quarantined on the way to it.
    pub fn snapshot(&mut self) -> Snapshot {
        let snapshot = self.world.snapshot().expect("a snapshot");
        assert_eq!(self.world.overflowed_steps(), &[] as &[u64], "steps that dropped contacts");
        assert_eq!(snapshot.counters.quarantined, 0, "bodies taken out");
        snapshot
    }

    /// Returns all bodies in scene order, by their origins.
    pub fn bodies(&mut self) -> Vec<ReportedBody> {
        let snapshot = self.snapshot();
        body_states(self.world.compiled(), &snapshot)
    }

    /// Returns one body.
    pub fn body(&mut self, index: usize) -> ReportedBody {
        self.bodies().swap_remove(index)
    }

    /// Returns the world itself.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Returns the reactions of all joints, in scene order.
    pub fn joints(&mut self) -> Vec<JointReaction> {
        self.world.joint_reactions().expect("a snapshot")
    }

    /// Returns energies, momenta and penetration.
    pub fn metrics(&mut self) -> Metrics {
        let snapshot = self.snapshot();
        metrics(self.world.compiled(), &snapshot)
    }
}

/// Checks that a value is within `tolerance` of its expected value.
#[track_caller]
pub fn near(what: &str, got: impl Into<f64>, want: f64, tolerance: f64) {
    let got = got.into();
    assert!((got - want).abs() <= tolerance, "{what}: {got}, expected {want} ± {tolerance}");
}

/// Negative control of [`near`]: checks that a value is farther than `tolerance` away, so that the comparison can fail.
#[track_caller]
pub fn far(what: &str, got: impl Into<f64>, from: f64, tolerance: f64) {
    let got = got.into();
    assert!((got - from).abs() > tolerance, "{what}: {got}, expected to differ from {from} by more than {tolerance}");
}

/// Checks that a value is between two bounds.
#[track_caller]
pub fn between(what: &str, got: impl Into<f64>, low: f64, high: f64) {
    let got = got.into();
    assert!(low <= got && got <= high, "{what}: {got}, expected {low} to {high}");
}

/// Returns the largest distance that a body has moved, m.
pub fn moved(scene: &Scene, sim: &mut Sim) -> f64 {
    let start = scene.bodies.iter().map(|body| body.position);
    let now = sim.bodies();
    let apart = start.zip(&now).map(|(start, now)| (start.x - now.position[0]).hypot(start.y - now.position[1]));
    f64::from(apart.fold(0.0, f32::max))
}
