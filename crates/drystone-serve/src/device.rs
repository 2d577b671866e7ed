//! Device on which the worlds are stepped: the CPU or a GPU. A lost GPU is opened again, once for all worlds.
//!
//! ```
//! use drystone_serve::device::Device;
//!
//! assert_eq!(Device::cpu(2).backend(), "cpu");
//! ```

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::hosted::Hosted;
use drystone::Scene;
use drystone::low_level::gpu::is_software;
use drystone::low_level::gpu::pool::{Pool, PoolCandidate};
use drystone::low_level::scene::Compiled;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, World, WorldError};

/// Backend for all worlds of a service.
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
    /// Number of devices lost before this one.
    generation: u64,
    context: Context,
    /// Pools of small worlds on the device. The worlds in a pool keep it alive.
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

    /// Returns a slot for a small world in a pool of worlds that step together, or `None` if there is no room.
    fn pooled(&mut self, candidate: &PoolCandidate) -> Result<Option<Hosted>, WorldError> {
        // A world that does not fit into a pool, or a device without kernels for pools, may still work with a world
        // of its own.
        let unless_lost = |error| match error {
            error @ WorldError::Device(_) => Err(error),
            error => {
                tracing::warn!(%error, "a small world steps outside of a pool");
                Ok(None)
            }
        };
        self.pools.retain(|pool| pool.strong_count() > 0);
        for pool in self.pools.iter().filter_map(Weak::upgrade) {
            if let Some(world) = pool.admit(candidate).or_else(unless_lost)? {
                return Ok(Some(Hosted::Pooled(world)));
            }
        }
        let Some(world) = Pool::open(&self.context, candidate).map(Some).or_else(unless_lost)? else {
            return Ok(None);
        };
        self.pools.push(Arc::downgrade(world.pool()));
        Ok(Some(Hosted::Pooled(world)))
    }
}

impl Device {
    /// Creates the CPU backend with `threads` threads per world.
    #[must_use]
    pub fn cpu(threads: usize) -> Self {
        Self { threads, gpu: None }
    }

    /// Creates the GPU backend. `choice` selects the adapter after a device loss.
    #[must_use]
    pub fn gpu(context: Context, choice: AdapterChoice) -> Self {
        Self { threads: 1, gpu: Some(Gpu { choice, current: Mutex::new(Current::new(0, context)) }) }
    }

    /// Returns `gpu` or `cpu`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        if self.gpu.is_some() { "gpu" } else { "cpu" }
    }

    /// Describes the device in a few words. A software adapter is never called a GPU.
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

    /// Returns the number of devices lost so far.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.gpu.as_ref().map_or(0, |gpu| gpu.current().generation)
    }

    /// Opens another device in place of the lost one, unless another world has done so.
    ///
    /// # Errors
    /// No adapter is available.
    pub fn renew(&self, lost: u64) -> Result<(), String> {
        let Some(gpu) = &self.gpu else { return Ok(()) };
        let mut current = gpu.current();
        if current.generation == lost {
            let context = Context::new(gpu.choice).map_err(|error| error.to_string())?;
            *current = Current::new(lost + 1, context);
            metrics::counter!("drystone_devices_lost_total").increment(1);
            tracing::warn!(generation = current.generation, "opened another device");
        }
        Ok(())
    }

    /// Destroys the device as a driver failure would (fault injection for tests).
    #[doc(hidden)]
    pub fn destroy(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.current().context.device().destroy();
        }
    }

    /// Creates a world at its start and returns the generation of its device. On a GPU the world is strict, because
    /// a restored world must come to the same bits with buffers of any size. A small one joins a pool unless `apart`
    /// is set.
    ///
    /// # Errors
    /// The scene is invalid or does not fit the device.
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
            && let Some(candidate) = PoolCandidate::at_start(&context, &compiled)
            && let Some(world) = current.pooled(&candidate)?
        {
            return Ok((world, generation));
        }
        drop(current);
        Ok((GpuWorld::from_compiled(&context, compiled, None)?.with_clock().into(), generation))
    }

    /// Moves a small world that was opened apart into a pool. It continues to the same bits.
    ///
    /// # Errors
    /// The device is lost.
    pub(crate) fn join_others(&self, world: &mut Hosted, generation: u64) -> Result<(), WorldError> {
        let (Some(gpu), Hosted::Own(World::Gpu(own))) = (&self.gpu, &mut *world) else { return Ok(()) };
        let mut current = gpu.current();
        if current.generation == generation
            && let Some(candidate) = PoolCandidate::of(own)?
            && let Some(pooled) = current.pooled(&candidate)?
        {
            *world = pooled;
        }
        Ok(())
    }
}
