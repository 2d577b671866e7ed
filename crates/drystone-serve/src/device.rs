//! What worlds run on. A lost GPU is taken anew, once for all worlds.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::hosted::Hosted;
use drystone::Scene;
use drystone::low_level::gpu::is_software;
use drystone::low_level::gpu::pool::{Newcomer, Pool};
use drystone::low_level::scene::Compiled;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, World, WorldError};

/// A backend for all worlds of a service.
#[derive(Debug)]
pub struct Device {
    threads: usize,
    gpu: Option<Gpu>,
}

#[derive(Debug)]
struct Gpu {
    choice: AdapterChoice,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    /// Which device it is, counted from 0.
    generation: u64,
    context: Context,
    /// Where small worlds are together on it. Who is in a pool keeps it.
    pools: Vec<Weak<Pool>>,
}

impl Gpu {
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn new(generation: u64, context: Context) -> Self {
        Self { generation, context, pools: Vec::new() }
    }

    /// A place for a small world beside others that step alike. None if there is no room for it.
    fn pooled(&mut self, newcomer: &Newcomer) -> Result<Option<Hosted>, WorldError> {
        // One that does not fit beside others, or a device that cannot run kernels of many worlds, may do alone.
        let unless_lost = |error| match error {
            error @ WorldError::Device(_) => Err(error),
            error => {
                tracing::warn!(%error, "a small world steps on its own");
                Ok(None)
            }
        };
        self.pools.retain(|pool| pool.strong_count() > 0);
        for pool in self.pools.iter().filter_map(Weak::upgrade) {
            if let Some(world) = pool.admit(newcomer).or_else(unless_lost)? {
                return Ok(Some(Hosted::Pooled(world)));
            }
        }
        let Some(world) = Pool::open(&self.context, newcomer).map(Some).or_else(unless_lost)? else {
            return Ok(None);
        };
        self.pools.push(Arc::downgrade(world.pool()));
        Ok(Some(Hosted::Pooled(world)))
    }
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
        Self { threads: 1, gpu: Some(Gpu { choice, current: Mutex::new(Current::new(0, context)) }) }
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
        let current = gpu.current();
        let info = current.context.info();
        let mut line = String::new();
        let software = if is_software(info) { "software adapter, not a GPU: " } else { "gpu: " };
        // Writing to a string cannot fail.
        let _ = write!(line, "{software}{}", info.name);
        line
    }

    /// Which device it is now: 0, and one more with each that was lost.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.gpu.as_ref().map_or(0, |gpu| gpu.current().generation)
    }

    /// Takes another device in place of this one, unless that has happened.
    ///
    /// # Errors
    /// If there is none.
    pub fn renew(&self, lost: u64) -> Result<(), String> {
        let Some(gpu) = &self.gpu else { return Ok(()) };
        let mut current = gpu.current();
        if current.generation == lost {
            let context = Context::new(gpu.choice).map_err(|error| error.to_string())?;
            *current = Current::new(lost + 1, context);
            metrics::counter!("drystone_devices_lost_total").increment(1);
            tracing::warn!(generation = current.generation, "took another device");
        }
        Ok(())
    }

    /// For tests: as if the driver had given up.
    #[doc(hidden)]
    pub fn destroy(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.current().context.device().destroy();
        }
    }

    /// A world at its start, and the device it is on. On a GPU it is strict, as a restored world must come to the same bits
    /// whatever room there was, and beside others if it is small, unless it is to be `apart`.
    ///
    /// # Errors
    /// The scene is not valid, or does not fit.
    pub(crate) fn world(&self, scene: &Scene, apart: bool) -> Result<(Hosted, u64), WorldError> {
        let Some(gpu) = &self.gpu else {
            let world = CpuWorld::new(scene)?;
            let world = if self.threads > 1 { world.with_threads(self.threads)? } else { world };
            return Ok((Hosted::Own(world.into()), 0));
        };
        let mut scene = scene.clone();
        scene.settings.strict = true;
        let compiled = Compiled::new(&scene)?;
        let mut current = gpu.current();
        let (generation, context) = (current.generation, current.context.clone());
        if !apart
            && let Some(newcomer) = Newcomer::at_start(&context, &compiled)
            && let Some(world) = current.pooled(&newcomer)?
        {
            return Ok((world, generation));
        }
        drop(current);
        Ok((GpuWorld::from_compiled(&context, compiled, None)?.with_clock().into(), generation))
    }

    /// Lets a world that was opened apart from others be beside them, if it is small: it goes on to the same bits.
    ///
    /// # Errors
    /// If the device is lost.
    pub(crate) fn join_others(&self, world: &mut Hosted, generation: u64) -> Result<(), WorldError> {
        let (Some(gpu), Hosted::Own(World::Gpu(own))) = (&self.gpu, &mut *world) else { return Ok(()) };
        let mut current = gpu.current();
        if current.generation == generation
            && let Some(newcomer) = Newcomer::of(own)?
            && let Some(pooled) = current.pooled(&newcomer)?
        {
            *world = pooled;
        }
        Ok(())
    }
}
