//! One world, whichever backend steps it.

use drystone::scene::Compiled;
use drystone::{CpuWorld, Scene, Snapshot, WorldError};

/// CPU or GPU.
pub enum World {
    /// The reference.
    Cpu(CpuWorld),
}

impl World {
    /// On the CPU.
    ///
    /// # Errors
    /// The scene is not valid, or the threads cannot be started.
    pub fn cpu(scene: &Scene, threads: usize) -> Result<Self, WorldError> {
        CpuWorld::new(scene)?.with_threads(threads).map(Self::Cpu)
    }

    /// What it was made from.
    pub fn compiled(&self) -> &Compiled {
        match self {
            Self::Cpu(world) => world.compiled(),
        }
    }

    /// One step; returns when it is done.
    ///
    /// # Errors
    /// The device failed.
    #[allow(clippy::unnecessary_wraps, reason = "the GPU can fail")]
    pub fn step(&mut self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.step(),
        }
        Ok(())
    }

    /// The state between two steps.
    ///
    /// # Errors
    /// The device failed.
    #[allow(clippy::unnecessary_wraps, reason = "the GPU can fail")]
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        match self {
            Self::Cpu(world) => Ok(world.snapshot()),
        }
    }

    /// Milliseconds of each stage so far, all steps together.
    pub fn stage_ms(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Cpu(world) => world.stage_ms().iter().map(|&(stage, ms)| (stage.name(), ms)).collect(),
        }
    }

    /// GPU only.
    pub fn dispatches_per_step(&self) -> Option<u32> {
        match self {
            Self::Cpu(_) => None,
        }
    }
}
