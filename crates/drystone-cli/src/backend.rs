//! Which backend to run on, and why.

use clap::ValueEnum;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{AdapterChoice, Context, Scene, World, WorldError};
use serde::{Deserialize, Serialize};

use super::failure::{Code, Failure};
use super::report::count;

/// Why a backend that was named runs.
const AS_ASKED: &str = "as asked";

/// `--backend`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Hardware GPU if there is one, else CPU
    #[default]
    Auto,
    /// GPU; takes a software adapter too, and says so
    Gpu,
    /// CPU
    Cpu,
}

/// A world, and what it runs on.
pub struct Opened {
    /// At its start.
    pub world: World,
    /// For the user.
    pub about: About,
}

/// What a backend runs on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Adapter {
    /// As its driver calls it.
    pub name: String,
    /// `cpu` (a software adapter), `discrete`, `integrated`, `virtual`, or `none` for the CPU backend.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name and version.
    #[serde(default)]
    pub driver: String,
}

/// What a world runs on.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// `gpu` or `cpu`.
    pub backend: &'static str,
    /// Its adapter.
    pub adapter: Adapter,
    /// CPU only.
    pub threads: Option<usize>,
    /// Why this one.
    #[serde(rename = "backend_reason")]
    pub reason: String,
}

impl About {
    /// The CPU.
    pub fn cpu(threads: usize, reason: String) -> Self {
        let adapter = Adapter { name: "none".to_owned(), kind: "none".to_owned(), driver: String::new() };
        Self { backend: "cpu", adapter, threads: Some(threads), reason }
    }

    /// A device.
    pub fn gpu(context: &Context, reason: String) -> Self {
        let info = context.info();
        let adapter =
            Adapter { name: info.name.clone(), kind: kind(info.device_type).to_owned(), driver: driver(info) };
        Self { backend: "gpu", adapter, threads: None, reason }
    }

    /// What runs, and why.
    pub fn used(&self) -> String {
        format!("{}: {}", self.line(), self.reason)
    }

    /// In a few words. A software adapter is never called a GPU.
    pub fn line(&self) -> String {
        match (self.threads, self.adapter.kind.as_str()) {
            (Some(threads), _) => format!("{}, {}", self.backend, count(threads as u64, "thread")),
            (None, "cpu") => format!("software adapter {}, not a GPU", self.adapter.name),
            (None, kind) => format!("{}, {} ({kind})", self.backend, self.adapter.name),
        }
    }
}

/// Makes the world.
///
/// # Errors
/// The scene is wrong; no usable GPU though one was demanded; no threads.
pub fn open(scene: &Scene, backend: Backend, threads: Option<u32>) -> Result<Opened, Failure> {
    let threads = threads.map_or_else(default_threads, |n| n as usize);
    match choose(backend)? {
        Choice::Cpu { reason } => on_cpu(scene, threads, reason),
        Choice::Gpu { context, reason } => match GpuWorld::new(&context, scene) {
            Ok(world) => Ok(Opened { world: world.into(), about: About::gpu(&context, reason) }),
            Err(error @ WorldError::Scene(_)) => Err(error.into()),
            Err(error) if backend == Backend::Auto => {
                on_cpu(scene, threads, format!("{} cannot run this: {error}", context.info().name))
            }
            Err(error) => Err(Failure::new(Code::NoGpu, format_args!("{}: {error}", context.info().name))),
        },
    }
}

fn on_cpu(scene: &Scene, threads: usize, reason: String) -> Result<Opened, Failure> {
    let world = CpuWorld::new(scene)?.with_threads(threads)?;
    Ok(Opened { world: world.into(), about: About::cpu(threads, reason) })
}

/// What to run on.
pub enum Choice {
    /// The CPU.
    Cpu {
        /// Why.
        reason: String,
    },
    /// An adapter.
    Gpu {
        /// Its device.
        context: Context,
        /// Why.
        reason: String,
    },
}

/// Decides, whatever the scene.
///
/// # Errors
/// No usable GPU though one was demanded.
pub fn choose(backend: Backend) -> Result<Choice, Failure> {
    match backend {
        Backend::Cpu => Ok(Choice::Cpu { reason: AS_ASKED.to_owned() }),
        Backend::Gpu => match Context::new(AdapterChoice::Any) {
            Ok(context) => Ok(Choice::Gpu { context, reason: AS_ASKED.to_owned() }),
            Err(error) => Err(Failure::new(Code::NoGpu, error).hint("`--backend cpu` needs none")),
        },
        Backend::Auto => Ok(match Context::new(AdapterChoice::Hardware) {
            Ok(context) => Choice::Gpu { context, reason: "a hardware GPU is there".to_owned() },
            Err(error) => Choice::Cpu { reason: error.to_string() },
        }),
    }
}

/// All cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// As in reports.
pub fn kind(kind: wgpu::DeviceType) -> &'static str {
    match kind {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "cpu",
        wgpu::DeviceType::Other => "other",
    }
}

/// Name and version, as far as the driver tells.
pub fn driver(info: &wgpu::AdapterInfo) -> String {
    [&*info.driver, &*info.driver_info].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ")
}
