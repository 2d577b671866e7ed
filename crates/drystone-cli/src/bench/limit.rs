//! Roofline of a step: the minimum time for its memory traffic at the machine's copy speed, plus the overhead of its
//! dispatches.
//!
//! **Bytes** are those of [`drystone_web::traffic`], a lower bound.
//!
//! **Copy speed** counts bytes read and bytes written, for buffers larger than the caches, best of several rounds: on a
//! device by a compute shader that copies 16 bytes per thread, on the CPU by as many threads as the backend has.
//!
//! **Dispatch cost** is the mean over a thousand dispatches in one pass that all access the same word, so that each has
//! to wait for the one before.
//!
//! `limit = bytes / copy speed + dispatches · dispatch cost`; the share is the limit divided by the median. It exceeds
//! 1 if the data fit into caches, which are faster than memory.

use std::time::{Duration, Instant};

use drystone::low_level::step::Stage;
use drystone::{Context, WorldError};
use drystone_web::traffic::SPEED_KERNELS;
use serde::{Deserialize, Serialize};

use super::super::report::significant;
use super::row::in_order;

/// Measured speeds of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Speeds {
    /// Copy speed, GB/s, by backend.
    #[serde(default, with = "in_order")]
    pub copy_gb_s: Vec<(String, f64)>,
    /// Cost of a dispatch of the backend `gpu`, µs.
    #[serde(default)]
    pub dispatch_us: Option<f64>,
}

impl Speeds {
    /// Returns the copy speed of a backend, GB/s.
    pub fn copy(&self, backend: &str) -> Option<f64> {
        self.copy_gb_s.iter().find(|(name, _)| name == backend).map(|&(_, speed)| speed)
    }

    /// Returns the speeds as text for users.
    pub fn text(&self) -> String {
        if self.copy_gb_s.is_empty() {
            return String::new();
        }
        let speeds: Vec<String> =
            self.copy_gb_s.iter().map(|(name, speed)| format!("{name} {} GB/s", significant(*speed))).collect();
        let dispatch = self
            .dispatch_us
            .map_or_else(String::new, |us| format!("; an empty dispatch of backend gpu takes {} µs", significant(us)));
        format!("copies (read and written): {}{dispatch}\n", speeds.join(", "))
    }
}

/// Limit of one row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Limit {
    /// Bytes that a step must move.
    pub bytes: u64,
    /// Minimum time of a step, ms.
    pub ms: f64,
    /// Limit divided by the median of the row. 1 is as fast as memory; caches can be faster.
    pub share: f64,
    /// Bytes by stage.
    #[serde(with = "in_order")]
    pub stages_bytes: Vec<(String, f64)>,
    /// Fraction of the copy speed that each timed stage reaches.
    #[serde(with = "in_order")]
    pub stages_share: Vec<(String, f64)>,
}

/// Returns the limit of a backend with these measured times.
pub fn limit(
    moved: &[(Stage, u64)],
    dispatches: Option<u32>,
    median: f64,
    stages_ms: &[(String, f64)],
    copy_gb_s: f64,
    dispatch_us: Option<f64>,
) -> Limit {
    let ms_of = |bytes: u64| bytes as f64 / (copy_gb_s * 1e6);
    let bytes = moved.iter().map(|(_, bytes)| bytes).sum();
    let ms = ms_of(bytes) + f64::from(dispatches.unwrap_or(0)) * dispatch_us.unwrap_or(0.0) * 1e-3;
    let timed = |stage: Stage| stages_ms.iter().find(|(name, _)| name == stage.name()).map(|&(_, ms)| ms);
    Limit {
        bytes,
        ms,
        share: if median > 0.0 { ms / median } else { 0.0 },
        stages_bytes: moved.iter().map(|&(stage, bytes)| (stage.name().to_owned(), bytes as f64)).collect(),
        stages_share: moved
            .iter()
            .filter_map(|&(stage, bytes)| {
                let took = timed(stage).filter(|&ms| ms > 0.0)?;
                Some((stage.name().to_owned(), ms_of(bytes) / took))
            })
            .collect(),
    }
}

/// Size of the copied buffers on hardware devices, in bytes; larger than caches.
const COPIED: usize = 256 << 20;
/// Size of the copied buffers in main memory, which is shared with other programs, in bytes.
const COPIED_BY_CPU: usize = 64 << 20;
/// Rounds, of which the fastest counts.
const ROUNDS: u32 = 5;

/// Measures the copy speed of this many threads, GB/s, counting reads and writes.
pub fn copy_on_cpu(threads: usize) -> f64 {
    let from = vec![1_u8; COPIED_BY_CPU];
    let mut to = vec![0_u8; COPIED_BY_CPU];
    let share = COPIED_BY_CPU.div_ceil(threads.max(1));
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for (from, to) in from.chunks(share).zip(to.chunks_mut(share)) {
                scope.spawn(|| to.copy_from_slice(from));
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    std::hint::black_box(&to);
    2.0 * COPIED_BY_CPU as f64 / best * 1e-9
}

/// Dispatches in the timed pass.
const EMPTY: u32 = 1000;

/// Time for which a device works before it is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Keeps a hardware device busy until it has left the clocks of its rest: otherwise short runs take twice as long and
/// more.
///
/// # Errors
/// If the device is lost or has rejected a command.
pub fn warm_up(context: &Context) -> Result<(), WorldError> {
    if drystone::low_level::gpu::is_software(context.info()) {
        return Ok(());
    }
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        measure_device(context)?;
    }
    Ok(())
}

/// Measures the copy speed of a device, GB/s, and the cost of a dispatch, µs.
///
/// # Errors
/// If the device is lost or has rejected a command.
pub fn measure_device(context: &Context) -> Result<(f64, f64), WorldError> {
    let device = context.device();
    let limits = device.limits();
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let software = drystone::low_level::gpu::is_software(context.info());
    let wanted = if software { COPIED_BY_CPU } else { COPIED } as u64;
    let bytes = wanted.min(most) / 4096 * 4096;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let buffer = |label, size| {
        device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
    };
    let (source, target) = (buffer("source", bytes), buffer("target", bytes));
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("limit"),
        source: wgpu::ShaderSource::Wgsl(SPEED_KERNELS.into()),
    });
    let pipeline = |name: &str| {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    };
    let timed = |name: &str, source: &wgpu::Buffer, target: &wgpu::Buffer, groups: u64, dispatches: u32| {
        let pipeline = pipeline(name);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("limit"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: source.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: target.as_entire_binding() },
            ],
        });
        #[allow(clippy::cast_possible_truncation, reason = "a share of a buffer's limit")]
        let groups = groups as u32;
        let (x, y) = (groups.min(65_535), groups.div_ceil(65_535));
        let mut best = f64::INFINITY;
        // The first round may include compiling and clearing.
        for round in 0..=ROUNDS {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("limit") });
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&pipeline);
                pass.set_bind_group(0, &group, &[]);
                (0..dispatches).for_each(|_| pass.dispatch_workgroups(x, y, 1));
            }
            let recorded = encoder.finish();
            let start = Instant::now();
            context.queue().submit([recorded]);
            context.wait()?;
            if round > 0 {
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        Ok::<_, WorldError>(best / f64::from(dispatches))
    };
    // Enough copies to make the submission cost negligible.
    let copies = if software { 2 } else { 16 };
    let copy = timed("copy", &source, &target, bytes / (16 * 256), copies)?;
    // New buffers contain zeros.
    let small = buffer("small", 256);
    let touch = timed("touch", &source, &small, 1, EMPTY)?;
    Ok((2.0 * bytes as f64 / copy * 1e-9, touch * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_adds_memory_and_dispatches() {
        let moved = [(Stage::Solve, 3_000_000), (Stage::Quarantine, 1_000_000)];
        let stages = [("solve".to_owned(), 0.6)];
        let limit = limit(&moved, Some(100), 8.0, &stages, 10.0, Some(5.0));
        assert_eq!(limit.bytes, 4_000_000);
        assert!((limit.ms - (0.4 + 0.5)).abs() < 1e-12, "{limit:?}");
        assert!((limit.share - 0.9 / 8.0).abs() < 1e-12);
        assert_eq!(limit.stages_share.len(), 1, "the guard stage was not timed");
        assert!((limit.stages_share[0].1 - 0.5).abs() < 1e-12);
    }

    #[test]
    fn copying_takes_time() {
        let speed = copy_on_cpu(1);
        assert!((0.05..1e4).contains(&speed), "{speed} GB/s");
    }
}
