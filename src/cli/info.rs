//! `drystone info`: what there is to run on, and what would be used.

use std::fmt::Write as _;

use super::backend;
use super::console;
use super::failure::Failure;

/// List adapters and their limits, and say what would be used and why
#[derive(clap::Args, Debug)]
pub struct Options {}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(_: &Options) -> Result<(), Failure> {
    let instance = wgpu::Instance::default();
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.retain(|adapter| adapter.get_info().backend != wgpu::Backend::Noop);
    let mut text = format!("drystone {}\n\n", env!("CARGO_PKG_VERSION"));
    if adapters.is_empty() {
        text += "No GPU adapter was found.\n\n";
    }
    for (index, adapter) in adapters.iter().enumerate() {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let _ = writeln!(text, "adapter {index}: {}", info.name);
        let mut row = |label: &str, value: String| {
            let _ = writeln!(text, "  {label:<16} {value}");
        };
        row("type", backend::kind(info.device_type).to_owned());
        row("backend", info.backend.to_string());
        row("driver", backend::driver(&info));
        row("subgroups", format!("{} to {} threads", info.subgroup_min_size, info.subgroup_max_size));
        row("buffer", format!("at most {} MiB, {} MiB bound", limits.max_buffer_size >> 20, limits.max_storage_buffer_binding_size >> 20));
        row("storage buffers", format!("{} a stage", limits.max_storage_buffers_per_shader_stage));
        row("workgroup", format!("{} threads, {} KiB shared", limits.max_compute_invocations_per_workgroup, limits.max_compute_workgroup_storage_size >> 10));
        row("timestamps", if adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY) { "yes" } else { "no" }.to_owned());
        text.push('\n');
    }
    let _ = writeln!(text, "CPU: {}", super::report::count(backend::default_threads() as u64, "thread"));
    console::print(&text)
}
