//! What worlds run on. A lost GPU is taken anew, once for all worlds.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use crate::gpu::is_software;
use crate::scene::Scene;
use crate::{AdapterChoice, Context, CpuWorld, GpuWorld, World, WorldError};

/// A backend for all worlds of a service.
#[derive(Debug)]
pub struct Device {
    threads: usize,
    gpu: Option<Gpu>,
}

#[derive(Debug)]
struct Gpu {
    choice: AdapterChoice,
    /// Which device it is, counted from 0, and the device.
    current: Mutex<(u64, Context)>,
}

impl Device {
    /// The CPU; a world uses so many threads.
    #[must_use]
    pub fn cpu(threads: usize) -> Self {
        Self { threads, gpu: None }
    }

    /// An adapter, and how to find another when it is lost.
    #[must_use]
    pub fn gpu(context: Context, choice: AdapterChoice) -> Self {
        Self { threads: 1, gpu: Some(Gpu { choice, current: Mutex::new((0, context)) }) }
    }

    /// `gpu` or `cpu`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        if self.gpu.is_some() { "gpu" } else { "cpu" }
    }

    /// In a few words. A software adapter is never called a GPU.
    #[must_use]
    pub fn line(&self) -> String {
        let Some(gpu) = &self.gpu else { return "cpu".to_owned() };
        let current = gpu.current.lock().unwrap_or_else(PoisonError::into_inner);
        let info = current.1.info();
        let mut line = String::new();
        let software = if is_software(info) { "software adapter, not a GPU: " } else { "gpu: " };
        // Writing to a string cannot fail.
        let _ = write!(line, "{software}{}", info.name);
        line
    }

    /// Which device it is now: 0, and one more with each that was lost.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.gpu.as_ref().map_or(0, |gpu| gpu.current.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Takes another device in place of this one, unless that has happened.
    ///
    /// # Errors
    /// If there is none.
    pub fn renew(&self, lost: u64) -> Result<(), String> {
        let Some(gpu) = &self.gpu else { return Ok(()) };
        let mut current = gpu.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 == lost {
            let context = Context::new(gpu.choice).map_err(|error| error.to_string())?;
            *current = (lost + 1, context);
            metrics::counter!("drystone_devices_lost_total").increment(1);
            tracing::warn!(generation = current.0, "took another device");
        }
        Ok(())
    }

    /// For tests: as if the driver had given up.
    #[doc(hidden)]
    pub fn destroy(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.current.lock().unwrap_or_else(PoisonError::into_inner).1.device().destroy();
        }
    }

    /// A world at its start, and the device it is on. On a GPU it is strict, as a restored world must come to the same bits
    /// whatever room there was.
    ///
    /// # Errors
    /// The scene is not valid, or does not fit.
    pub fn world(&self, scene: &Scene) -> Result<(World, u64), WorldError> {
        let Some(gpu) = &self.gpu else {
            let world = CpuWorld::new(scene)?;
            let world = if self.threads > 1 { world.with_threads(self.threads)? } else { world };
            return Ok((world.into(), 0));
        };
        let (generation, context) = gpu.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut scene = scene.clone();
        scene.settings.strict = true;
        Ok((GpuWorld::new(&context, &scene)?.with_clock().into(), generation))
    }
}
