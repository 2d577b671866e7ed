//! Which backend to run on, and why.

use clap::ValueEnum;
use drystone::Scene;
use serde::Serialize;

use super::engine::World;
use super::failure::{Code, Failure};
use super::report::count;

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
#[derive(Clone, Debug, Serialize)]
pub struct Adapter {
    /// As its driver calls it.
    pub name: String,
    /// `cpu` (a software adapter), `discrete`, `integrated`, `virtual`, or `none` for the CPU backend.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Name and version.
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
    /// In a few words.
    pub fn line(&self) -> String {
        match (self.threads, self.adapter.kind) {
            (Some(threads), _) => format!("{}, {}", self.backend, count(threads as u64, "thread")),
            (None, "cpu") => format!("{}, software adapter {}, not a GPU", self.backend, self.adapter.name),
            (None, kind) => format!("{}, {} ({kind})", self.backend, self.adapter.name),
        }
    }
}

/// Makes the world.
///
/// # Errors
/// The scene is wrong; no usable GPU though one was demanded.
pub fn open(scene: &Scene, backend: Backend, threads: Option<u32>) -> Result<Opened, Failure> {
    let reason = match backend {
        Backend::Cpu => "as asked",
        Backend::Auto => "this version has no GPU backend",
        Backend::Gpu => return Err(Failure::new(Code::NoGpu, "this version has no GPU backend")),
    };
    let threads = threads.map_or_else(default_threads, |n| n as usize);
    let world = World::cpu(scene, threads)?;
    let adapter = Adapter { name: "none".to_owned(), kind: "none", driver: String::new() };
    let about = About { backend: "cpu", adapter, threads: Some(threads), reason: reason.to_owned() };
    Ok(Opened { world, about })
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
