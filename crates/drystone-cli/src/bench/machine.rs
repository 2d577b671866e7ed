//! Description of the machine and software of a benchmark.

use std::time::{SystemTime, UNIX_EPOCH};

use drystone::Context;
use drystone::low_level::lanes;
use drystone_bench::PeerEngine;

use super::super::backend::{BackendInfo, default_threads};
use super::limit::Speeds;
use super::row::Machine;

/// Returns the description of this machine.
pub fn here(gpu: Option<&Context>, peers: Vec<PeerEngine>, speeds: Speeds, load: Option<f64>) -> Machine {
    let cpu = sysinfo::System::new().ok().and_then(|mut system| {
        system.refresh_cpu_all();
        Some(system.cpus().first()?.brand().trim().to_owned())
    });
    Machine {
        cpu: cpu.filter(|name| !name.is_empty()).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: default_threads(),
        os: sysinfo::System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned()),
        load,
        began: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        rustc: env!("DRYSTONE_RUSTC").to_owned(),
        drystone: format!("{} {}", env!("CARGO_PKG_VERSION"), env!("DRYSTONE_COMMIT")),
        avx2: lanes::instruction_set().starts_with("AVX2"),
        adapter: gpu.map(|context| BackendInfo::gpu(context, String::new()).adapter),
        peers,
        speeds,
    }
}

/// Returns the mean number of runnable threads over the last minute.
pub fn load() -> Option<f64> {
    sysinfo::System::load_average().ok().map(|load| load.one)
}

/// Returns the description as text for users.
pub fn text(machine: &Machine) -> String {
    let load = machine.load.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.1}"));
    let avx2 = if machine.avx2 { ", AVX2, 8 wide" } else { "" };
    let mut text = format!(
        "{}, {} cores, {}; load {load} when it began\ndrystone {} ({}{avx2})\n",
        machine.cpu, machine.cores, machine.os, machine.drystone, machine.rustc
    );
    if let Some(adapter) = &machine.adapter {
        let what = if adapter.kind == "cpu" { "software adapter, not a GPU" } else { "GPU" };
        text += &format!("{what}: {} ({}, {})\n", adapter.name, adapter.kind, adapter.driver);
    }
    for engine in &machine.peers {
        text += &format!("{}: {}\n", engine.name, engine.version);
    }
    text + &machine.speeds.text()
}
