//! Device selection and error reporting: picks an adapter, shares compiled kernels, and turns lost devices and
//! validation errors into results instead of panics.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::kernel::Kernels;
pub use crate::device_error::DeviceError;

/// Maximum storage buffers per kernel to request from the device. One world needs 8, except the fused kernel with
/// joints (`shaders/fused.wgsl`), which needs 12 and is only used where available.
const MAX_TABLES: u32 = 15;

/// Pauses of a thread that waits for the device and checks for cancellation.
const MIN_PAUSE: Duration = Duration::from_micros(10);
const MAX_PAUSE: Duration = Duration::from_millis(10);
/// Longest wait for a software adapter when a world is dropped.
const SETTLING: Duration = Duration::from_secs(1);

/// Work submitted up to some moment ([`Context::submitted_work`]).
#[derive(Clone, Debug)]
pub(crate) struct SubmittedWork(Arc<AtomicBool>);

impl SubmittedWork {
    fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Acceptable kinds of adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterChoice {
    /// A hardware GPU.
    Hardware,
    /// A hardware GPU if there is one, else a software adapter.
    Any,
    /// A software adapter such as lavapipe.
    Software,
}

/// No adapter of the wanted kind, or no device from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// No adapter of the requested kind.
    #[error("no {wanted} adapter; found: {found}")]
    NoAdapter {
        /// Kind of adapter.
        wanted: &'static str,
        /// The adapters there are.
        found: String,
    },
    /// The adapter provides no device.
    #[error("adapter {adapter} provides no device: {reason}")]
    NoDevice {
        /// Name of the adapter.
        adapter: String,
        /// Error message of the adapter.
        reason: String,
    },
}

/// A device and its queue. Cheap to clone; clones share the compiled kernels.
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

struct ContextInner {
    info: wgpu::AdapterInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
    error: Arc<Mutex<Option<DeviceError>>>,
    /// Held while wgpu callbacks run.
    polling: Mutex<()>,
    /// Kernels for one world, and for many.
    kernels: [Mutex<Option<Arc<Kernels>>>; 2],
    /// Bytes read back to the host so far: counters and events of steps, and everything else.
    read_back: [AtomicU64; 2],
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("adapter", &self.inner.info.name).finish_non_exhaustive()
    }
}

/// Returns true if an adapter computes on the CPU. Such an adapter is never called a GPU.
#[must_use]
pub fn is_software(info: &wgpu::AdapterInfo) -> bool {
    info.device_type == wgpu::DeviceType::Cpu
}

fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::PRIMARY;
    // In a debug build wgpu looks up the source line of each statement of each shader.
    descriptor.flags.remove(wgpu::InstanceFlags::DEBUG);
    wgpu::Instance::new(descriptor)
}

/// Returns all adapters of this machine.
#[must_use]
pub fn adapters() -> Vec<wgpu::Adapter> {
    pollster::block_on(instance().enumerate_adapters(wgpu::Backends::PRIMARY))
        .into_iter()
        .filter(|adapter| adapter.get_info().backend != wgpu::Backend::Noop)
        .collect()
}

/// Returns the best acceptable adapter: discrete before integrated before virtual before software.
fn pick(mut found: Vec<wgpu::Adapter>, choice: AdapterChoice) -> Result<wgpu::Adapter, ContextError> {
    let rank = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    found.sort_by_key(rank);
    let wanted = |adapter: &wgpu::Adapter| match choice {
        AdapterChoice::Any => true,
        AdapterChoice::Hardware => !is_software(&adapter.get_info()),
        AdapterChoice::Software => is_software(&adapter.get_info()),
    };
    let Some(index) = found.iter().position(wanted) else {
        let names: Vec<String> = found
            .iter()
            .map(wgpu::Adapter::get_info)
            .map(|info| format!("{} ({})", info.name, if is_software(&info) { "software" } else { "hardware" }))
            .collect();
        return Err(ContextError::NoAdapter {
            wanted: match choice {
                AdapterChoice::Hardware => "hardware GPU",
                AdapterChoice::Any => "Vulkan, Metal or DirectX 12",
                AdapterChoice::Software => "software",
            },
            found: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
        });
    };
    Ok(found.swap_remove(index))
}

/// Returns the bytes read back to the host through this context so far: counters and events of steps, which are a few
/// hundred bytes per step for a world of any size, and everything else (snapshots, answers to queries). Drawing adds to
/// neither.
#[must_use]
pub fn bytes_read_back(context: &Context) -> [u64; 2] {
    [0, 1].map(|kind| context.inner.read_back[kind].load(Ordering::Relaxed))
}

/// Adds bytes that a client read back itself to [`bytes_read_back`]: kind 0 for counters of steps, 1 for everything
/// else.
pub fn note_read_back(context: &Context, kind: usize, bytes: u64) {
    context.inner.read_back[kind].fetch_add(bytes, Ordering::Relaxed);
}

impl Context {
    /// Creates a device on the best adapter of the requested kind: discrete before integrated before virtual before
    /// software.
    ///
    /// # Errors
    /// If no adapter fits (the error lists those found), or the adapter provides no device.
    pub fn new(choice: AdapterChoice) -> Result<Self, ContextError> {
        Self::from_adapter(&pick(adapters(), choice)?)
    }

    /// Creates a device on the best adapter of the requested kind that can present to a surface of this instance, so
    /// that worlds are drawn on the device that steps them and nothing is copied in between.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn for_surface(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface<'_>,
        choice: AdapterChoice,
    ) -> Result<(Self, wgpu::Adapter), ContextError> {
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let draws = |adapter: &wgpu::Adapter| {
            adapter.get_info().backend != wgpu::Backend::Noop && adapter.is_surface_supported(surface)
        };
        let adapter = pick(found.into_iter().filter(draws).collect(), choice)?;
        Ok((Self::from_adapter(&adapter)?, adapter))
    }

    /// Creates a device on this adapter, with the largest buffers it allows.
    ///
    /// # Errors
    /// If the adapter provides no device.
    pub fn from_adapter(adapter: &wgpu::Adapter) -> Result<Self, ContextError> {
        let info = adapter.get_info();
        let most = adapter.limits();
        // The default limits, including 8 storage buffers per stage, are available everywhere; only sizes are raised.
        // Kernels for many worlds use two storage buffers more, the fused kernel with joints four.
        let limits = wgpu::Limits {
            max_storage_buffers_per_shader_stage: most.max_storage_buffers_per_shader_stage.clamp(8, MAX_TABLES),
            max_buffer_size: most.max_buffer_size,
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            max_texture_dimension_2d: most.max_texture_dimension_2d,
            ..wgpu::Limits::default()
        };
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("drystone"),
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: limits,
            ..wgpu::DeviceDescriptor::default()
        });
        let (device, queue) = pollster::block_on(request)
            .map_err(|error| ContextError::NoDevice { adapter: info.name.clone(), reason: error.to_string() })?;
        let context = Self::from_device(info, device, queue);
        let error = context.inner.error.clone();
        context.inner.device.on_uncaptured_error(Arc::new(move |uncaptured: wgpu::Error| {
            let fresh = match uncaptured {
                wgpu::Error::OutOfMemory { source } => DeviceError::OutOfMemory(source.to_string()),
                wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                    DeviceError::Validation(description)
                }
            };
            remember(&error, fresh);
        }));
        Ok(context)
    }

    /// Wraps a user's own device. It should have its own handler for uncaptured errors: wgpu's default handler panics.
    #[must_use]
    pub fn from_device(info: wgpu::AdapterInfo, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let error = Arc::new(Mutex::new(None));
        let lost = error.clone();
        device.set_device_lost_callback(move |reason, message| {
            remember(&lost, DeviceError::Lost(format!("{reason:?} {message}").trim().to_owned()));
        });
        Self {
            inner: Arc::new(ContextInner {
                info,
                device,
                queue,
                error,
                polling: Mutex::default(),
                kernels: Default::default(),
                read_back: Default::default(),
            }),
        }
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// Returns the queue of the device.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// Creates a buffer with contents. wgpu's own helper panics on a device that was just lost; here the buffer is then
    /// unusable, and the next wait reports the loss.
    pub(crate) fn buffer_with(&self, label: &'static str, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let size = (contents.len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: size > 0 };
        let buffer = self.inner.device.create_buffer(&descriptor);
        if size > 0 {
            if let Ok(mut mapped) = buffer.get_mapped_range_mut(..) {
                mapped.slice(..contents.len()).copy_from_slice(contents);
            }
            buffer.unmap();
        }
        buffer
    }

    /// Returns name, type and driver of the adapter.
    #[must_use]
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.inner.info
    }

    /// Returns true if the device supports timestamps.
    #[must_use]
    pub(crate) fn has_timestamps(&self) -> bool {
        self.inner.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Returns the first error since the context was created, if any. A lost device takes precedence.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> Result<(), DeviceError> {
        if matches!(self.first_error(), Some(DeviceError::Validation(_) | DeviceError::OutOfMemory(_))) {
            // A device that was just lost refuses calls, and reports the loss only once it has no work left.
            let how = wgpu::PollType::Wait { submission_index: None, timeout: Some(SETTLING) };
            let _ = catch_unwind(AssertUnwindSafe(|| self.inner.device.poll(how)));
        }
        self.first_error().map_or(Ok(()), Err)
    }

    fn first_error(&self) -> Option<DeviceError> {
        self.inner.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the device has done all submitted work.
    ///
    /// # Errors
    /// If the device is lost or has rejected a command.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.poll(wgpu::PollType::wait_indefinitely())
    }

    /// Marks the work that has been submitted so far.
    pub(crate) fn submitted_work(&self) -> SubmittedWork {
        let is_done = Arc::new(AtomicBool::new(false));
        let mark = is_done.clone();
        self.queue().on_submitted_work_done(move || mark.store(true, Ordering::Release));
        SubmittedWork(is_done)
    }

    /// Waits for submitted work until `gives_up` returns true; the work then still runs to its end on the device.
    /// Returns true if it was done.
    ///
    /// Polls, with pauses in proportion to the time waited: a wait of wgpu 30 that ends by a timeout panics if another
    /// thread submits work at that moment, and the readbacks of the caller are lost.
    ///
    /// # Errors
    /// If the device is lost or has rejected a command.
    pub(crate) fn wait_unless(&self, work: &SubmittedWork, gives_up: impl Fn() -> bool) -> Result<bool, DeviceError> {
        let start = Instant::now();
        loop {
            if gives_up() {
                return Ok(false);
            }
            self.poll(wgpu::PollType::Poll)?;
            if work.is_done() {
                return Ok(true);
            }
            std::thread::sleep((start.elapsed() / 16).clamp(MIN_PAUSE, MAX_PAUSE));
        }
    }

    /// Waits for submitted work of a software adapter, a second at most, when a world is dropped. Left alone, the
    /// driver (lavapipe) may still compile or compute when the process ends, is torn down under its own threads, and
    /// aborts.
    pub(crate) fn settle(&self) {
        // Another thread that polls waits too. A lost device has no work, and wgpu may panic over it.
        if is_software(&self.inner.info)
            && self.check().is_ok()
            && let Ok(_turn) = self.inner.polling.try_lock()
        {
            let how = wgpu::PollType::Wait { submission_index: None, timeout: Some(SETTLING) };
            let _ = catch_unwind(AssertUnwindSafe(|| self.inner.device.poll(how)));
        }
    }

    /// Calls `wgpu::Device::poll` and returns errors as a result.
    ///
    /// # Errors
    /// If the device is lost or has rejected a command.
    pub fn poll(&self, how: wgpu::PollType) -> Result<(), DeviceError> {
        self.poll_for(how).map(|_| ())
    }

    /// Calls `wgpu::Device::poll`. Returns false if its timeout elapsed first.
    fn poll_for(&self, how: wgpu::PollType) -> Result<bool, DeviceError> {
        // wgpu passes the callbacks of completed work to whichever thread polls. Another thread may hold the callbacks
        // of the caller's steps and not have run them yet, so a waiting caller takes the lock first; a non-waiting poll
        // skips it.
        let waits = !matches!(how, wgpu::PollType::Poll);
        let _turn = match self.inner.polling.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) if waits => self.inner.polling.lock().unwrap_or_else(PoisonError::into_inner),
            Err(TryLockError::WouldBlock) => return self.check().map(|()| true),
        };
        // wgpu 30 panics here if the driver reports a loss at this moment. The device is lost either way and wgpu holds
        // no lock at this point, so the panic is converted to that error.
        let polled = catch_unwind(AssertUnwindSafe(|| self.inner.device.poll(how)));
        self.check()?;
        match polled {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(wgpu::PollError::Timeout)) => Ok(false),
            Ok(Err(error)) => Err(DeviceError::Lost(error.to_string())),
            Err(_) => {
                remember(&self.inner.error, DeviceError::Lost("the driver failed".to_owned()));
                self.check().map(|()| true)
            }
        }
    }

    /// Returns the kernels for one world or for many; each is compiled on first use.
    pub(crate) fn kernels(&self, many: bool) -> Result<Arc<Kernels>, super::kernel::KernelError> {
        let mut slot = self.inner.kernels[usize::from(many)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernels) = &*slot {
            return Ok(kernels.clone());
        }
        let kernels = Arc::new(Kernels::new(&self.inner.device, &[], many)?);
        *slot = Some(kernels.clone());
        Ok(kernels)
    }
}

/// Stores the first error; a lost device replaces other errors.
fn remember(slot: &Mutex<Option<DeviceError>>, error: DeviceError) {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.is_none() || (matches!(error, DeviceError::Lost(_)) && !matches!(*slot, Some(DeviceError::Lost(_)))) {
        *slot = Some(error);
    }
}
