//! Selects the backend of a world (`--backend`), opens the world on it, and describes it for users and reports.

use clap::ValueEnum;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, Scene, World, WorldError};
use serde::{Deserialize, Serialize};

use super::failure::{Code, Failure};
use super::report::count;

/// Reason shown for a backend that was named on the command line.
const AS_ASKED: &str = "as asked";

/// Value of `--backend`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Hardware GPU if available, else CPU
    #[default]
    Auto,
    /// GPU, or a software adapter, which is then named as such
    Gpu,
    /// CPU
    Cpu,
}

/// A world with a description of its backend.
pub struct OpenedWorld {
    /// World at its start.
    pub world: World,
    /// Description for users.
    pub about: BackendInfo,
}

/// Adapter as in reports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Adapter {
    /// Name given by the driver.
    pub name: String,
    /// `cpu` (a software adapter), `discrete`, `integrated`, `virtual`, or `none` for the CPU backend.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name and version of the driver.
    #[serde(default)]
    pub driver: String,
}

/// Description of the backend of a world.
#[derive(Clone, Debug, Serialize)]
pub struct BackendInfo {
    /// `gpu` or `cpu`.
    pub backend: &'static str,
    /// Adapter; `none` for the CPU.
    pub adapter: Adapter,
    /// Number of threads, for the CPU.
    pub threads: Option<usize>,
    /// Reason for this backend.
    #[serde(rename = "backend_reason")]
    pub reason: String,
}

impl BackendInfo {
    /// Describes the CPU backend.
    pub fn cpu(threads: usize, reason: String) -> Self {
        let adapter = Adapter { name: "none".to_owned(), kind: "none".to_owned(), driver: String::new() };
        Self { backend: "cpu", adapter, threads: Some(threads), reason }
    }

    /// Describes a GPU backend.
    pub fn gpu(context: &Context, reason: String) -> Self {
        let info = context.info();
        let adapter =
            Adapter { name: info.name.clone(), kind: kind(info.device_type).to_owned(), driver: driver(info) };
        Self { backend: "gpu", adapter, threads: None, reason }
    }

    /// Returns the backend and the reason for it.
    pub fn used(&self) -> String {
        format!("{}: {}", self.line(), self.reason)
    }

    /// Returns a short description. A software adapter is never called a GPU.
    pub fn line(&self) -> String {
        match (self.threads, self.adapter.kind.as_str()) {
            (Some(threads), _) => format!("{}, {}", self.backend, count(threads as u64, "thread")),
            (None, "cpu") => format!("software adapter {}, not a GPU", self.adapter.name),
            (None, kind) => format!("{}, {} ({kind})", self.backend, self.adapter.name),
        }
    }
}

/// Opens the world of a scene on the selected backend.
///
/// # Errors
/// An invalid scene; no usable GPU although one was required; threads that cannot be started.
pub fn open(scene: &Scene, backend: Backend, threads: Option<u32>) -> Result<OpenedWorld, Failure> {
    let threads = threads.map_or_else(default_threads, |n| n as usize);
    match choose(backend)? {
        BackendChoice::Cpu { reason } => on_cpu(scene, threads, reason),
        BackendChoice::Gpu { context, reason } => match GpuWorld::new(&context, scene) {
            Ok(world) => Ok(OpenedWorld { world: world.into(), about: BackendInfo::gpu(&context, reason) }),
            Err(error @ WorldError::Scene(_)) => Err(error.into()),
            Err(error) if backend == Backend::Auto => {
                on_cpu(scene, threads, format!("{} cannot run this: {error}", context.info().name))
            }
            Err(error) => Err(Failure::new(Code::NoGpu, format_args!("{}: {error}", context.info().name))),
        },
    }
}

fn on_cpu(scene: &Scene, threads: usize, reason: String) -> Result<OpenedWorld, Failure> {
    let world = CpuWorld::new(scene)?.with_threads(threads)?;
    Ok(OpenedWorld { world: world.into(), about: BackendInfo::cpu(threads, reason) })
}

/// Selected backend.
pub enum BackendChoice {
    /// CPU backend.
    Cpu {
        /// Reason for the selection.
        reason: String,
    },
    /// GPU backend.
    Gpu {
        /// Device.
        context: Context,
        /// Reason for the selection.
        reason: String,
    },
}

/// Selects the backend, independently of the scene.
///
/// # Errors
/// No usable GPU although one was required.
pub fn choose(backend: Backend) -> Result<BackendChoice, Failure> {
    match backend {
        Backend::Cpu => Ok(BackendChoice::Cpu { reason: AS_ASKED.to_owned() }),
        Backend::Gpu => match Context::new(AdapterChoice::Any) {
            Ok(context) => Ok(BackendChoice::Gpu { context, reason: AS_ASKED.to_owned() }),
            Err(error) => Err(Failure::new(Code::NoGpu, error).hint("`--backend cpu` needs no GPU")),
        },
        Backend::Auto => Ok(match Context::new(AdapterChoice::Hardware) {
            Ok(context) => BackendChoice::Gpu { context, reason: "hardware GPU found".to_owned() },
            Err(error) => BackendChoice::Cpu { reason: error.to_string() },
        }),
    }
}

/// Returns the number of logical cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the type of an adapter as in reports.
pub fn kind(kind: wgpu::DeviceType) -> &'static str {
    match kind {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    }
}

/// Returns name and version of the driver, as far as known.
pub fn driver(info: &wgpu::AdapterInfo) -> String {
    [&*info.driver, &*info.driver_info].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ")
}
