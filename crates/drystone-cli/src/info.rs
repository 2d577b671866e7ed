//! `drystone info`: lists adapters with their limits, the memory per body and contact, and the backend of each
//! `--backend` value.

use std::fmt::Write as _;

use drystone::low_level::gpu;
use drystone::low_level::gpu::memory::{self, Features};
use drystone::low_level::lanes;

use super::backend::{self, Backend, BackendChoice, BackendInfo};
use super::console;
use super::failure::Failure;
use super::report::{count, group, significant};

/// List adapters and their limits, and show which backend would be used and why
#[derive(clap::Args, Debug)]
pub struct InfoOptions {}

/// Runs the command.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(_: &InfoOptions) -> Result<(), Failure> {
    let mut text = format!("drystone {}\n\n", env!("CARGO_PKG_VERSION"));
    let adapters = gpu::adapters();
    for (index, adapter) in adapters.iter().enumerate() {
        describe(&mut text, index, adapter);
    }
    if adapters.is_empty() {
        text += "no adapter was found: neither a GPU nor a software adapter\n\n";
    }
    text += &memory_text();
    let threads = backend::default_threads();
    let _ = writeln!(text, "CPU: {}, {}\n", count(threads as u64, "thread"), lanes::instruction_set());
    for (option, backend) in [("auto", Backend::Auto), ("gpu", Backend::Gpu), ("cpu", Backend::Cpu)] {
        let used = match backend::choose(backend) {
            Ok(BackendChoice::Cpu { reason }) => BackendInfo::cpu(threads, reason),
            Ok(BackendChoice::Gpu { context, reason }) => BackendInfo::gpu(&context, reason),
            Err(failure) => {
                let _ = writeln!(text, "--backend {option:<4}  {failure}");
                continue;
            }
        };
        // The others are selected by name.
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
        ("largest world", largest_world(limits.max_buffer_size.min(limits.max_storage_buffer_binding_size))),
        ("storage buffers", format!("{} per stage", limits.max_storage_buffers_per_shader_stage)),
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

/// Returns the largest world that fits the largest buffer. All buffers together may still exceed the device's memory,
/// whose size no adapter reports.
fn largest_world(limit: u64) -> String {
    let [bodies, contacts] = memory::most(limit, Features::default()).map(group);
    format!("{bodies} bodies, {contacts} contacts, if the device memory is large enough")
}

/// Returns the device memory per body and contact.
fn memory_text() -> String {
    let mut text =
        "device memory of a world, in bytes per body (with one shape) and per contact of capacity:\n".to_owned();
    let sleep = Features { sleep: true, ..Features::default() };
    let strict = Features { sleep: true, strict: true, ..Features::default() };
    for (label, features) in [("default", Features::default()), ("--sleep", sleep), ("--sleep --strict", strict)] {
        let [body, contact] = memory::bytes_each(features).map(significant);
        let _ = writeln!(text, "  {label:<16} {body} and {contact}");
    }
    text.push('\n');
    text
}

fn subgroups(info: &wgpu::AdapterInfo) -> String {
    let (min, max) = (info.subgroup_min_size, info.subgroup_max_size);
    if min == max { format!("{min} threads") } else { format!("{min} to {max} threads") }
}
