//! `drystone bench --worlds`: measures worlds per second for several numbers of simultaneous worlds.

use std::fmt::Write as _;
use std::time::Instant;

use drystone::{Scene, WorldBatch, WorldError};
use serde::{Deserialize, Serialize};

use super::super::failure::{Code, Failure};
use super::super::report::{count, group, significant};
use super::super::{console, source, stop};
use super::engine::{BenchBackend, Engines};
use super::row::{Results, Skipped, Spread};
use super::{BenchOptions, Case};

/// Result of one backend with a number of copies of a scene.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorldsRow {
    /// Name of the scene ([`super::row::BenchRow::scene`]).
    pub scene: String,
    /// Number of worlds.
    pub worlds: u32,
    /// Bodies of one world.
    pub bodies: usize,
    /// `gpu`, `cpu1` or `cpuN`. The adapter of `gpu` is stated in the machine's description.
    pub backend: String,
    /// Threads that stepped the worlds; none for `gpu`.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Number of timed steps, after the first.
    pub steps: u32,
    /// Time per step of all worlds together.
    pub ms_per_step: Spread,
    /// Worlds times steps per second, from the median.
    pub world_steps_per_second: f64,
    /// Size of all buffers on the device, in bytes. `gpu` only.
    #[serde(default)]
    pub device_bytes: Option<u64>,
    /// Dispatches per step, over all worlds. `gpu` only.
    #[serde(default)]
    pub dispatches_per_step: Option<u32>,
    /// True if all worlds of all repeats, which are copies, ended in bitwise equal states.
    pub all_equal: bool,
}

/// Measurements with one number of worlds.
#[derive(Default)]
struct WorldsTimes {
    ms: Vec<f64>,
    first: Vec<f64>,
    hashes: Vec<u64>,
    device_bytes: Option<u64>,
    dispatches: Option<u32>,
}

/// Runs all backends in turns with each number of worlds.
///
/// # Errors
/// If the device is lost, or after Ctrl-C.
pub fn measure(
    case: &Case,
    options: &BenchOptions,
    engines: &Engines,
    backends: &[BenchBackend],
    results: &mut Results,
) -> Result<(), Failure> {
    let mut scene = source::load(&case.source)?.scene;
    if scene.name.is_empty() {
        scene.name.clone_from(&case.source);
    }
    let mut counts = options.worlds.clone();
    counts.sort_unstable();
    counts.dedup();
    let turns: Vec<(BenchBackend, u32)> =
        backends.iter().flat_map(|&backend| counts.iter().map(move |&worlds| (backend, worlds))).collect();
    let mut times: Vec<Option<WorldsTimes>> = turns.iter().map(|_| Some(WorldsTimes::default())).collect();
    for _ in 0..options.repeats() {
        for (&(backend, worlds), all) in turns.iter().zip(&mut times) {
            let Some(times) = all else { continue };
            stop::check("no file was written")?;
            if let Err(reason) = run(backend, engines, &scene, worlds, options.steps(), times)? {
                let (backend, scene) = (backend.name().to_owned(), scene.name.clone());
                console::note(&format!(
                    "{backend}: left out for {} of {scene}: {reason}",
                    count(worlds.into(), "world")
                ));
                results.skipped.push(Skipped { scene, backend, reason });
                *all = None;
            }
        }
    }
    for ((backend, worlds), times) in turns.into_iter().zip(times) {
        let Some(WorldsTimes { ms, first, hashes, device_bytes, dispatches }) = times else { continue };
        let ms_per_step = Spread::of(&ms, &first);
        results.worlds.push(WorldsRow {
            scene: scene.name.clone(),
            worlds,
            bodies: scene.bodies.len(),
            backend: backend.name().to_owned(),
            threads: engines.threads_of(backend),
            steps: options.steps(),
            world_steps_per_second: 1e3 * f64::from(worlds) / ms_per_step.median,
            ms_per_step,
            device_bytes,
            dispatches_per_step: dispatches,
            all_equal: hashes.iter().all(|hash| *hash == hashes[0]),
        });
    }
    Ok(())
}

/// Runs one repeat. The inner error is the reason why the backend cannot run it.
fn run(
    backend: BenchBackend,
    engines: &Engines,
    scene: &Scene,
    worlds: u32,
    steps: u32,
    times: &mut WorldsTimes,
) -> Result<Result<(), String>, Failure> {
    let scenes = WorldBatch::vary(scene, worlds as usize, |_, _| {});
    let made = match (backend, &engines.context) {
        (BenchBackend::Gpu, Some(context)) => WorldBatch::on_gpu(context, &scenes),
        (BenchBackend::Cpu1 | BenchBackend::CpuN, _) => {
            WorldBatch::on_cpu(&scenes, engines.threads_of(backend).unwrap_or(1) as usize)
        }
        _ => return Ok(Err("other engines run one world at a time".to_owned())),
    };
    let mut all = match made {
        Ok(all) => all,
        Err(error @ (WorldError::TooLarge { .. } | WorldError::Many(_) | WorldError::Kernel(_))) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(Failure::new(Code::Check, error)),
    };
    // A device works asynchronously, so that only all steps together can be timed.
    let mut several = |count: u32| {
        let start = Instant::now();
        for _ in 0..count {
            all.step()?;
            stop::check("no file was written")?;
        }
        all.wait()?;
        Ok::<_, Failure>(1e3 * start.elapsed().as_secs_f64())
    };
    times.first.push(several(1)?);
    times.ms.push(several(steps)? / f64::from(steps.max(1)));
    times.hashes.extend(all.hashes()?);
    (times.device_bytes, times.dispatches) = (all.device_bytes(), all.dispatches());
    Ok(Ok(()))
}

/// Returns the table of one scene: backends as rows, numbers of worlds as columns.
pub fn table(rows: &[WorldsRow], label: impl Fn(&WorldsRow) -> String) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else { return text };
    let mut counts: Vec<u32> = rows.iter().map(|row| row.worlds).collect();
    counts.sort_unstable();
    counts.dedup();
    let _ = writeln!(
        text,
        "{}: worlds of {}, {} after the first, {}",
        first.scene,
        count(first.bodies as u64, "body"),
        count(first.steps.into(), "step"),
        count(first.ms_per_step.samples.len() as u64, "repeat")
    );
    let heads: String = counts.iter().map(|&worlds| format!("{:>14}", count(worlds.into(), "world"))).collect();
    let _ = writeln!(text, "{:<26}{heads}", "worlds × steps per second");
    let mut backends: Vec<&WorldsRow> = Vec::new();
    for row in rows {
        if backends.iter().all(|other| other.backend != row.backend) {
            backends.push(row);
        }
    }
    for row in backends {
        let of = |worlds: u32| rows.iter().find(|other| other.backend == row.backend && other.worlds == worlds);
        let line = |text: &mut String, label: &str, cell: &dyn Fn(&WorldsRow) -> String| {
            let cells: String =
                counts.iter().map(|&worlds| format!("{:>14}", of(worlds).map_or_else(String::new, cell))).collect();
            let _ = writeln!(text, "{label:<26}{cells}");
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "worlds a second")]
        let speed = |row: &WorldsRow| group(row.world_steps_per_second.round() as u64);
        line(&mut text, &label(row), &speed);
        line(&mut text, "  ms per step of all", &|row| significant(row.ms_per_step.median));
        if row.device_bytes.is_some() {
            let kilobytes = |row: &WorldsRow| {
                let bytes = row.device_bytes.unwrap_or(0) as f64 / f64::from(row.worlds);
                significant(1e-3 * bytes)
            };
            line(&mut text, "  kB per world", &kilobytes);
        }
    }
    text.push('\n');
    text
}
