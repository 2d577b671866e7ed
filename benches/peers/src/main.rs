//! Drystone and Box2D on the same scenes in one run: speed, with quality next to it.

mod box2d;
mod engine;
mod quality;
mod report;
mod side_by_side;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use drystone::scene::{Compiled, catalogue};
use drystone::{AdapterChoice, Context, Scene, state};
use serde::Serialize;

use engine::{Contender, Run, run};
use report::{Growth, GrowthSize, Machine, Row, Spread};
use side_by_side::Outcome;

/// Step the same scenes in Box2D and in Drystone, in turns, and report how long both take and what is left at the end.
#[derive(Debug, Parser)]
#[command(version)]
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown, reason = "independent switches; the help is plain text")]
struct Arguments {
    /// Catalogue scenes, with parameters if wanted: large_pyramid:base=50,many_pyramids:rows=3,columns=4
    #[arg(long, value_name = "A,B", default_value = "large_pyramid,many_pyramids,smash,tumbler")]
    scenes: String,
    /// Timed steps, after one that is not [default: each scene's own; 60 with --growth]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// How often everybody has a turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Drystone on the GPU takes part, on a software adapter if there is no other
    #[arg(long)]
    gpu: bool,
    /// Threads of the threaded contenders; 1 leaves them out [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    threads: Option<u32>,
    /// Show what each stage takes
    #[arg(long)]
    stages: bool,
    /// Instead of scenes: many_pyramids from 1,000 to 100,000 boxes, and how the time a box takes grows
    #[arg(long, conflicts_with = "scenes")]
    growth: bool,
    /// Instead of times: what comes out on either side (rest heights, joints' errors, tumbling), next to stated bounds
    #[arg(long, conflicts_with_all = ["scenes", "growth"])]
    quality: bool,
    /// Box2D without its continuous collision
    #[arg(long)]
    no_continuous: bool,
}

/// What `--json` writes.
#[derive(Serialize)]
struct Results {
    machine: Machine,
    rows: Vec<Row>,
    growth: Vec<Growth>,
    quality: Vec<Outcome>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let gpu = if arguments.gpu { Some(Context::new(AdapterChoice::Any)?) } else { None };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(32);
    let threads = arguments.threads.map_or(cores, |threads| threads as usize);
    let contenders = contenders(&arguments, threads, gpu.as_ref());

    let machine = Machine::here(gpu.as_ref());
    let mut results = Results { machine, rows: Vec::new(), growth: Vec::new(), quality: Vec::new() };
    println!("{}", results.machine.text());
    if arguments.quality {
        results.quality = side_by_side::compare()?;
        println!("{}", side_by_side::table(&results.quality));
    } else if arguments.growth {
        results.growth = growth(&contenders, arguments.steps.unwrap_or(60), arguments.repeats)?;
        println!("{}", report::growth_table(&results.growth, arguments.stages));
    } else {
        for spec in split(&arguments.scenes) {
            let scene = catalogue::build(&spec)?;
            let steps = match arguments.steps {
                Some(steps) => steps,
                None => catalogue::find(spec.split(':').next().unwrap_or(&spec))?.steps,
            };
            let rows = compare(&scene, &contenders, steps, arguments.repeats).with_context(|| scene.name.clone())?;
            println!("{}", report::table(&rows, arguments.stages));
            results.rows.extend(rows);
        }
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&results)?;
        std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// In the order of their turns: rivals next to each other.
fn contenders(arguments: &Arguments, threads: usize, gpu: Option<&Context>) -> Vec<Contender> {
    let box2d = |threads| Contender::Box2d(box2d::Options { threads, continuous: !arguments.no_continuous });
    let mut contenders = vec![box2d(1), Contender::Cpu(1)];
    if threads > 1 {
        contenders.extend([box2d(threads), Contender::Cpu(threads)]);
    }
    contenders.extend(gpu.cloned().map(Contender::Gpu));
    contenders
}

/// Specs separated by commas. A piece that is only `key=value` belongs to the spec before it.
fn split(specs: &str) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for piece in specs.split(',') {
        match split.last_mut() {
            Some(last) if piece.contains('=') && !piece.contains(':') => *last = format!("{last},{piece}"),
            _ => split.push(piece.to_owned()),
        }
    }
    split
}

/// Everybody in turns, `repeats` times.
fn compare(scene: &Scene, contenders: &[Contender], steps: u32, repeats: u32) -> Result<Vec<Row>> {
    let compiled = Compiled::new(scene)?;
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); contenders.len()];
    for _ in 0..repeats {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            runs.push(run(contender, scene, steps)?);
        }
    }
    let mut rows = Vec::new();
    for (contender, mine) in contenders.iter().zip(&runs) {
        let ends: Vec<u64> = mine.iter().map(|run| state::hash(&run.end)).collect();
        ensure!(ends.iter().all(|end| *end == ends[0]), "{}: two runs end differently", contender.name());
        let rival = contender.rival().and_then(|to| Some((to, contenders.iter().position(|c| c.name() == to)?)));
        let fastest = mine.iter().min_by(|a, b| a.ms.total_cmp(&b.ms)).context("no runs")?;
        let cpu: Option<Vec<f64>> = mine.iter().map(|run| run.cpu_ms).collect();
        rows.push(Row {
            scene: scene.name.clone(),
            backend: contender.name(),
            threads: contender.threads(),
            bodies: compiled.bodies.len(),
            shapes: compiled.shapes.len(),
            steps,
            dt: scene.settings.dt,
            substeps: scene.settings.substep_count(),
            ms_per_step: Spread::of(mine.iter().map(|run| run.ms).collect()).context("no runs")?,
            cpu_ms_per_step: cpu.and_then(Spread::of),
            first_step_ms: Spread::of(mine.iter().map(|run| run.first_ms).collect()).context("no runs")?,
            ratio: rival.and_then(|(to, index)| report::ratio(to, mine, &runs[index])),
            stages_ms: fastest.stages.clone(),
            quality: quality::measure(&compiled, &fastest.end)?,
        });
    }
    Ok(rows)
}

/// Rows and columns of pyramids of 55 boxes: about 1,000, 3,300, 10,000, 32,000 and 100,000 boxes.
const GROWTH: [(u32, u32); 5] = [(3, 6), (6, 10), (13, 14), (24, 24), (42, 43)];

/// Everybody on every size in turns, so that a change of load or clock meets all sizes alike.
fn growth(contenders: &[Contender], steps: u32, repeats: u32) -> Result<Vec<Growth>> {
    let scenes: Vec<Scene> = GROWTH
        .iter()
        .map(|(rows, columns)| catalogue::build(&format!("many_pyramids:rows={rows},columns={columns}")))
        .collect::<Result<_, _>>()?;
    // The fastest repeat, by contender and size.
    let mut best: Vec<Vec<Option<Run>>> = vec![vec![None; scenes.len()]; contenders.len()];
    for _ in 0..repeats {
        for (size, scene) in scenes.iter().enumerate() {
            for (contender, best) in contenders.iter().zip(&mut best) {
                let run = run(contender, scene, steps)?;
                if best[size].as_ref().is_none_or(|best| run.time() < best.time()) {
                    best[size] = Some(run);
                }
            }
        }
    }
    let mut growths = Vec::new();
    for (contender, best) in contenders.iter().zip(best) {
        let best: Vec<Run> = best.into_iter().flatten().collect();
        let sizes: Vec<GrowthSize> = scenes
            .iter()
            .zip(&best)
            .map(|(scene, run)| {
                let boxes = scene.bodies.len() - 1;
                #[allow(clippy::cast_precision_loss, reason = "at most 100,000")]
                let share = |ms: f64| 1e3 * ms / boxes as f64;
                GrowthSize {
                    scene: scene.name.clone(),
                    boxes,
                    us_per_box: share(run.time()),
                    stages_us_per_box: run.stages.iter().map(|&(stage, ms)| (stage, share(ms))).collect(),
                }
            })
            .collect();
        let costs = Spread::of(sizes.iter().map(|size| size.us_per_box).collect()).context("no sizes")?;
        growths.push(Growth {
            backend: contender.name(),
            cpu_time: best.iter().all(|run| run.cpu_ms.is_some()),
            factor: costs.samples[costs.samples.len() - 1] / costs.samples[0],
            worst_factor: costs.max / costs.min,
            sizes,
        });
    }
    Ok(growths)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parameters_stay_with_their_scene() {
        let specs = split("large_pyramid:base=50,many_pyramids:rows=3,columns=4,smash");
        assert_eq!(specs, ["large_pyramid:base=50", "many_pyramids:rows=3,columns=4", "smash"]);
    }
}
