//! `drystone info`: what there is to run on, and what would be used.

use std::fmt::Write as _;

use drystone::gpu;

use super::backend::{self, About, Backend, Choice};
use super::console;
use super::failure::Failure;
use super::report::count;

/// List adapters and their limits, and say what would be used and why
#[derive(clap::Args, Debug)]
pub struct Options {}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(_: &Options) -> Result<(), Failure> {
    let mut text = format!("drystone {}\n\n", env!("CARGO_PKG_VERSION"));
    let adapters = gpu::adapters();
    for (index, adapter) in adapters.iter().enumerate() {
        describe(&mut text, index, adapter);
    }
    if adapters.is_empty() {
        text += "no adapter was found: neither a GPU nor a software adapter\n\n";
    }
    let threads = backend::default_threads();
    let _ = writeln!(text, "CPU: {}\n", count(threads as u64, "thread"));
    for (option, backend) in [("auto", Backend::Auto), ("gpu", Backend::Gpu), ("cpu", Backend::Cpu)] {
        let used = match backend::choose(backend) {
            Ok(Choice::Cpu { reason }) => About::cpu(threads, reason),
            Ok(Choice::Gpu { context, reason }) => About::gpu(&context, reason),
            Err(failure) => {
                let _ = writeln!(text, "--backend {option:<4}  {failure}");
                continue;
            }
        };
        // Only auto has a reason worth telling.
        let used = if backend == Backend::Auto { used.used() } else { used.line() };
        let _ = writeln!(text, "--backend {option:<4}  {used}");
    }
    console::print(&text)
}

fn describe(text: &mut String, index: usize, adapter: &wgpu::Adapter) {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let timestamps = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
    let kind = if gpu::is_software(&info) { "software, not a GPU" } else { backend::kind(info.device_type) };
    let _ = writeln!(text, "adapter {index}: {}", info.name);
    let rows = [
        ("type", kind.to_owned()),
        ("driver", format!("{} ({})", backend::driver(&info), info.backend)),
        ("largest buffer", format!("{} MiB", limits.max_buffer_size.min(limits.max_storage_buffer_binding_size) >> 20)),
        ("storage buffers", format!("{} a stage", limits.max_storage_buffers_per_shader_stage)),
        (
            "workgroups",
            format!(
                "{} threads, {} KiB of shared memory",
                limits.max_compute_invocations_per_workgroup,
                limits.max_compute_workgroup_storage_size >> 10
            ),
        ),
        ("subgroups", subgroups(&info)),
        ("timestamps", if timestamps { "yes" } else { "no: stages are not timed" }.to_owned()),
    ];
    for (label, value) in rows {
        let _ = writeln!(text, "  {label:<16} {value}");
    }
    text.push('\n');
}

fn subgroups(info: &wgpu::AdapterInfo) -> String {
    let (min, max) = (info.subgroup_min_size, info.subgroup_max_size);
    if min == max { format!("{min} threads") } else { format!("{min} to {max} threads") }
}
