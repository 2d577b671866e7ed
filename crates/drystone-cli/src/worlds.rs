//! `drystone run --worlds`: simulates many copies of a scene at once.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use drystone::BodyType;
use drystone::low_level::state::{self, ReportedBody};
use drystone::{Scene, Snapshot, WorldBatch, WorldError};
use drystone_scenes::random::mixed;
use glam::Vec2;
use serde::Serialize;

use super::backend::{self, Backend, BackendChoice, BackendInfo};
use super::failure::{Code, Failure};
use super::npz::Trace;
use super::number::whole;
use super::output::{self, Destination};
use super::report::{self, Timing, mode_name};
use super::run::{RunOptions, RunOutputs};
use super::{console, progress, stop, time};

/// Maximum number of worlds: the layers of a dispatch.
const MAX_WORLDS: u64 = 65_535;

/// Options for several worlds.
#[derive(Args, Debug)]
pub struct Many {
    /// Simulate N independent copies at once, each bitwise equal to a single run
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole::<u32>(1..=MAX_WORLDS),
        conflicts_with_all = ["picture", "movie", "save", "save_scene", "resume", "start_from", "rest", "csv"])]
    pub worlds: Option<u32>,
    /// Offset every dynamic body of every world but the first by a random vector of up to M metres in x and in y
    #[arg(long, value_name = "M", requires = "worlds", allow_negative_numbers = true, value_parser = nudge)]
    nudge: Option<f32>,
    /// Seed of --nudge [default: 0]
    #[arg(long, value_name = "S", requires = "nudge")]
    seed: Option<u64>,
}

fn nudge(text: &str) -> Result<f32, String> {
    let metres: f32 = text.parse().map_err(|_| "not a number".to_owned())?;
    if metres.is_finite() && metres >= 0.0 { Ok(metres) } else { Err("must be at least 0".to_owned()) }
}

impl Many {
    /// Returns the scene of each world. The random numbers of a body depend only on the seed, its world and its index,
    /// so that world 5 is the same among 10 and among 1,000.
    fn scenes(&self, scene: &Scene, worlds: u32) -> Vec<Scene> {
        let reach = self.nudge.unwrap_or(0.0);
        let seed = self.seed.unwrap_or(0);
        WorldBatch::vary(scene, worlds as usize, |world, scene| {
            if world == 0 || reach == 0.0 {
                return;
            }
            for (index, body) in scene.bodies.iter_mut().enumerate() {
                if body.kind == BodyType::Dynamic {
                    let random = mixed(mixed(mixed(seed) ^ world as u64) ^ index as u64);
                    body.position += reach * Vec2::new(share(random >> 40), share(random >> 16));
                }
            }
        })
    }
}

/// Converts the lowest 24 bits to a number from -1 to 1.
fn share(bits: u64) -> f32 {
    (bits & 0xff_ffff) as f32 / (1 << 23) as f32 - 1.0
}

/// Report of `--json` for many worlds.
#[derive(Debug, Serialize)]
struct WorldsReport {
    scene: String,
    #[serde(flatten)]
    backend: BackendInfo,
    version: &'static str,
    /// Number of worlds.
    worlds: usize,
    /// Value of `--nudge`, m.
    nudge: f32,
    seed: u64,
    /// Steps of each world.
    steps: u64,
    dt: f32,
    substeps: u32,
    mode: &'static str,
    /// Numbers of one world at its start.
    bodies: usize,
    shapes: usize,
    joints: usize,
    /// Dispatches per step, over all worlds, on a GPU.
    dispatches_per_step: Option<u32>,
    device_bytes: Option<u64>,
    /// Time per step of all worlds.
    ms_per_step: Timing,
    /// Worlds times steps per second, without the first step.
    world_steps_per_second: Option<f64>,
    simulated_seconds: f64,
    wall_seconds: f64,
    /// Worlds whose contact buffer overflowed.
    overflows: Vec<StepOverflow>,
    /// Hash of each world, 16 hex digits.
    hashes: Vec<String>,
}

/// Steps of a world that overflowed its contact buffer.
#[derive(Debug, Serialize)]
struct StepOverflow {
    world: usize,
    steps: u64,
    /// First of these steps, counted from 1.
    first_step: u64,
}

/// Runs the command for many worlds.
///
/// # Errors
/// Those of [`super::run::run`].
pub fn run(options: &RunOptions, scene: &Scene, worlds: u32, steps: u64, input: Option<&Path>) -> Result<(), Failure> {
    let json_on_stdout = options.json.as_deref() == Some(Path::new("-"));
    stop::install()?;
    let outputs = RunOutputs::open(options, json_on_stdout, input)?;
    let scenes = options.many.scenes(scene, worlds);
    let (mut opened, about) = open(&scenes, options.backend, options.threads)?;
    if options.threads.is_some() && about.threads.is_none() {
        console::warn("--threads has no effect: it sets the threads of the CPU backend");
    }
    if !options.quiet {
        console::note(&format!("running {} on {}", report::count(worlds.into(), "world"), about.used()));
    }
    let every = options.every.unwrap_or(1);
    let slots = opened.compiled(0).map_or(0, drystone::low_level::scene::Compiled::most_slots);
    let shape = [u64::from(worlds), slots as u64];
    let mut trace = outputs
        .trace
        .map(|to| Trace::new(to, &shape, steps / every + 1, options.arrays.unwrap_or_default()))
        .transpose()?;

    let (mut times, mut total) = (Vec::new(), Duration::ZERO);
    let bar = progress::bar(steps, !options.quiet);
    for step in 0..=steps {
        if step > 0 {
            let started = Instant::now();
            let stepped = opened.step().and_then(|()| opened.wait());
            stepped.map_err(|error| Failure::from(error).context(format_args!("step {step} failed")))?;
            total += started.elapsed();
            times.push(1e3 * started.elapsed().as_secs_f32());
            bar.inc(1);
        }
        if let Some(trace) = trace.as_mut().filter(|_| step.is_multiple_of(every)) {
            if let Some(compiled) = opened.compiled(0) {
                trace.describe(compiled, step);
            }
            trace.push(step, time::after(step, scene.settings.dt), &bodies(&mut opened, slots)?)?;
        }
        if stop::requested() {
            bar.finish_and_clear();
            stop::check(&format!("after step {step} of {steps}; no file was written"))?;
        }
    }
    bar.finish_and_clear();

    let report = report(&about, &mut opened, options, steps, &times, total)?;
    let mut destinations: Vec<Destination> = trace.map(Trace::finish).transpose()?.into_iter().collect();
    if let Some(mut to) = outputs.state {
        write_state(&mut to, &bodies(&mut opened, slots)?, &shape, scene.settings.sleep)?;
        destinations.push(to);
    }
    let json = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
    if let Some(mut to) = outputs.json {
        to.fill(json.as_bytes())?;
        destinations.push(to);
    }
    stop::check("no file was written")?;
    let files = output::publish(destinations)?;

    if let Some(first) = report.overflows.first() {
        console::warn(&format!(
            "{} overflowed the contact buffer, first world {} in step {}; the excess was dropped \
             (--strict repeats such steps)",
            report::count(report.overflows.len() as u64, "world"),
            first.world,
            report::group(first.first_step)
        ));
    }
    if !options.quiet {
        let mut summary = report.summary();
        if !files.is_empty() {
            summary += &report::row("wrote", &files.join(", "));
        }
        if json_on_stdout || options.hash.is_some() {
            console::note(summary.trim_end());
        } else {
            console::print(&summary)?;
        }
    }
    if json_on_stdout {
        console::print(&json)?;
    }
    check_hashes(options, &report)
}

/// Prints the hash of each world for `--hash`; if a value is given, compares each with it.
fn check_hashes(options: &RunOptions, report: &WorldsReport) -> Result<(), Failure> {
    let Some(expected) = options.hash else { return Ok(()) };
    console::print(&report.hashes.iter().map(|hash| format!("{hash}\n")).collect::<String>())?;
    let Some(expected) = expected.map(|hash| format!("{hash:016x}")) else { return Ok(()) };
    match report.hashes.iter().enumerate().find(|(_, hash)| **hash != expected) {
        Some((world, hash)) => {
            Err(Failure::new(Code::Check, format_args!("the hash of world {world} is {hash}, not {expected}")))
        }
        None => Ok(()),
    }
}

fn open(scenes: &[Scene], backend: Backend, threads: Option<u32>) -> Result<(WorldBatch, BackendInfo), Failure> {
    let threads = threads.map_or_else(backend::default_threads, |n| n as usize);
    let on_cpu = |reason| Ok((WorldBatch::on_cpu(scenes, threads)?, BackendInfo::cpu(threads, reason)));
    match backend::choose(backend)? {
        BackendChoice::Cpu { reason } => on_cpu(reason),
        BackendChoice::Gpu { context, reason } => match WorldBatch::on_gpu(&context, scenes) {
            Ok(worlds) => Ok((worlds, BackendInfo::gpu(&context, reason))),
            Err(error @ WorldError::Scene(_)) => Err(error.into()),
            Err(error) if backend == Backend::Auto => {
                on_cpu(format!("{} cannot run this: {error}", context.info().name))
            }
            Err(error) => Err(Failure::new(Code::NoGpu, format_args!("{}: {error}", context.info().name))),
        },
    }
}

/// Returns the slots of all worlds, the same number for each.
fn bodies(worlds: &mut WorldBatch, slots: usize) -> Result<Vec<Option<ReportedBody>>, Failure> {
    let rows = worlds.bodies()?;
    let mut all = Vec::with_capacity(worlds.count() * slots);
    for world in 0..worlds.count() {
        let Some(compiled) = worlds.compiled(world) else { continue };
        let (poses, states) = (rows.poses(world).to_vec(), rows.states(world).to_vec());
        all.extend(state::body_slots(compiled, &Snapshot { poses, states, ..Snapshot::default() }));
        all.resize((world + 1) * slots, None);
    }
    Ok(all)
}

fn write_state(
    to: &mut Destination,
    slots: &[Option<ReportedBody>],
    shape: &[u64; 2],
    sleep: bool,
) -> Result<(), Failure> {
    let written = if to.extension() == "npz" {
        drystone_scenes::npz::write_states(&mut *to, slots, shape, sleep)
    } else {
        let worlds = slots.chunks(usize::try_from(shape[1]).unwrap_or(usize::MAX).max(1));
        let worlds: Vec<Vec<_>> = worlds.map(|world| world.iter().flatten().collect()).collect();
        serde_json::to_writer(&mut *to, &worlds).map_err(io::Error::from)
    };
    written.map_err(|error| Failure::write(&to.shown, &error))
}

fn report(
    about: &BackendInfo,
    worlds: &mut WorldBatch,
    options: &RunOptions,
    steps: u64,
    times: &[f32],
    total: Duration,
) -> Result<WorldsReport, Failure> {
    let overflow = |world| {
        let steps = worlds.overflowed_steps(world);
        steps.first().map(|&first| StepOverflow { world, steps: steps.len() as u64, first_step: first + 1 })
    };
    let overflows = (0..worlds.count()).filter_map(overflow).collect();
    let hashes = worlds.hashes()?.iter().map(|hash| format!("{hash:016x}")).collect();
    let Some(first) = worlds.compiled(0) else { return Err(Failure::new(Code::Bug, "no worlds")) };
    let timing = Timing::of(times);
    Ok(WorldsReport {
        scene: first.name.clone(),
        backend: about.clone(),
        version: env!("CARGO_PKG_VERSION"),
        worlds: worlds.count(),
        nudge: options.many.nudge.unwrap_or(0.0),
        seed: options.many.seed.unwrap_or(0),
        steps,
        dt: first.params.dt,
        substeps: first.settings.substep_count(),
        mode: mode_name(first.settings.mode),
        bodies: first.bodies.len(),
        shapes: first.shapes.len(),
        joints: first.joints.count(),
        dispatches_per_step: worlds.dispatches(),
        device_bytes: worlds.device_bytes(),
        ms_per_step: timing,
        world_steps_per_second: timing.mean.map(|ms| 1e3 * worlds.count() as f64 / ms),
        simulated_seconds: time::after(steps, first.params.dt),
        wall_seconds: total.as_secs_f64(),
        overflows,
        hashes,
    })
}

impl WorldsReport {
    /// Returns the summary for users.
    fn summary(&self) -> String {
        let mut text = String::new();
        let mut row = |label: &str, value: String| text += &report::row(label, &value);
        row("backend", self.backend.line());
        row("solver", format!("{}, {}", self.mode, report::count(self.substeps.into(), "substep")));
        let bodies = report::count(self.bodies as u64, "body");
        row("worlds", format!("{} of {bodies} each", report::group(self.worlds as u64)));
        let wall = report::significant(self.wall_seconds);
        row("simulated", format!("{} each, in {wall} s", report::count(self.steps, "step")));
        if let Timing { median: Some(median), min: Some(min), first: Some(first), .. } = self.ms_per_step {
            let [median, min, first] = [median, min, first].map(report::significant);
            row("ms per step", format!("median {median}, min {min}, for all worlds; the first took {first}"));
        }
        if let Some(speed) = self.world_steps_per_second {
            row("speed", format!("{} worlds × steps per second", report::significant(speed)));
        }
        let distinct: std::collections::HashSet<&String> = self.hashes.iter().collect();
        row("hashes", format!("{} distinct; that of world 0 is {}", distinct.len(), self.hashes[0]));
        format!("{}\n{text}", if self.scene.is_empty() { "unnamed scene" } else { &self.scene })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_the_same_among_few_and_many() {
        let scene = drystone_scenes::catalogue::build("vertical_stack").unwrap();
        let many = Many { worlds: None, nudge: Some(0.01), seed: Some(7) };
        let (few, lots) = (many.scenes(&scene, 3), many.scenes(&scene, 9));
        assert_eq!(few[..], lots[..3]);
        assert_eq!(few[0], scene, "the first is as it was");
        assert_ne!(few[1], few[2]);
        let moved = lots.iter().flat_map(|world| world.bodies.iter().zip(&scene.bodies));
        let largest = moved.map(|(a, b)| (a.position - b.position).length()).fold(0.0, f32::max);
        assert!(largest > 0.008 && largest < 0.0142, "{largest}");
        let other = Many { seed: Some(8), ..many };
        assert_ne!(other.scenes(&scene, 2)[1], few[1], "the seed matters");
    }
}
