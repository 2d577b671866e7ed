//! One suite, every backend: what a test needs to run a scene on any of them and to compare figures.

use std::sync::OnceLock;

use drystone::low_level::state::{JointReaction, Metrics, ReportedBody, body_states, metrics};
use drystone::low_level::step::Stage;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, Scene, Snapshot, World};
use drystone_scenes::catalogue;

/// One test for each oracle and backend.
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

/// Where a scene runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The reference, on one thread.
    Cpu1,
    /// The reference, on three: more than most test machines have cores, and no power of two.
    Cpu3,
    /// Whatever adapter there is, a software one too.
    Gpu,
}

impl Backend {
    /// The scene, ready to step. A missing adapter fails the test: a skipped test would look like a passed one.
    pub fn start(self, scene: &Scene) -> Sim {
        Sim { world: self.world(scene) }
    }

    /// The same without what suites measure.
    pub fn world(self, scene: &Scene) -> World {
        match self {
            Self::Cpu1 | Self::Cpu3 => self.cpu(scene).into(),
            Self::Gpu => Self::gpu(scene).into(),
        }
    }

    /// The scene with a stage left out, for negative controls.
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
        // The tests of a process share one: a software adapter takes seconds to compile the kernels.
        static CONTEXT: OnceLock<Context> = OnceLock::new();
        let context = CONTEXT.get_or_init(|| {
            Context::new(AdapterChoice::Any)
                .expect("an adapter; a software one will do (on Debian: apt install mesa-vulkan-drivers)")
        });
        GpuWorld::new(context, scene).expect("a valid scene")
    }

    /// A scene of the catalogue, ready to step.
    pub fn build(self, spec: &str) -> Sim {
        self.start(&catalogue::build(spec).expect("a scene of the catalogue"))
    }
}

/// A world that runs; errors fail the test.
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

    /// Steps done.
    pub fn steps(&self) -> u64 {
        self.world.steps()
    }

    /// The state now. No contact may have been dropped and no body taken out on the way to it.
    pub fn snapshot(&mut self) -> Snapshot {
        let snapshot = self.world.snapshot().expect("a snapshot");
        assert_eq!(self.world.overflowed_steps(), &[] as &[u64], "steps that dropped contacts");
        assert_eq!(snapshot.counters.quarantined, 0, "bodies taken out");
        snapshot
    }

    /// All bodies in scene order, by their origins.
    pub fn bodies(&mut self) -> Vec<ReportedBody> {
        let snapshot = self.snapshot();
        body_states(self.world.compiled(), &snapshot)
    }

    /// One of them.
    pub fn body(&mut self, index: usize) -> ReportedBody {
        self.bodies().swap_remove(index)
    }

    /// The world itself.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// What the joints do, in scene order.
    pub fn joints(&mut self) -> Vec<JointReaction> {
        self.world.joint_reactions().expect("a snapshot")
    }

    /// Energies, momenta, penetration.
    pub fn metrics(&mut self) -> Metrics {
        let snapshot = self.snapshot();
        metrics(self.world.compiled(), &snapshot)
    }
}

/// Within `tolerance` of what theory or a peer says.
#[track_caller]
pub fn near(what: &str, got: impl Into<f64>, want: f64, tolerance: f64) {
    let got = got.into();
    assert!((got - want).abs() <= tolerance, "{what}: {got}, expected {want} ± {tolerance}");
}

/// The negative control of [`near`]: further than `tolerance` away, so that the comparison can fail.
#[track_caller]
pub fn far(what: &str, got: impl Into<f64>, from: f64, tolerance: f64) {
    let got = got.into();
    assert!((got - from).abs() > tolerance, "{what}: {got}, expected to differ from {from} by more than {tolerance}");
}

/// Between two bounds.
#[track_caller]
pub fn between(what: &str, got: impl Into<f64>, low: f64, high: f64) {
    let got = got.into();
    assert!(low <= got && got <= high, "{what}: {got}, expected {low} to {high}");
}
