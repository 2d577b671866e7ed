//! `drystone bench`: runs all backends, Box2D and Rapier on the same scenes, and measures the quality of the result
//! beside the speed.
//!
//! Every repeat runs each backend once from the start of the scene: A B C A B C …, so that slow changes of the machine
//! affect all of them. The first step is timed separately. The compared numbers are means over the steps of a repeat:
//! their minimum, median and spread over the repeats.

mod compare;
mod crossover;
mod engine;
mod figures;
mod heaps;
mod limit;
mod machine;
mod peers;
mod plot;
mod quality;
mod row;
mod table;
mod worlds;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use drystone::Scene;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state;
use drystone::low_level::types::{DYNAMIC, GEOMETRY_MASK, NO_SHAPE, VACANT};
use drystone_bench::PeerTimes;
use drystone_scenes::{catalogue, file};

use super::backend::{self, BackendChoice, BackendInfo, default_threads};
use super::failure::{Code, Failure};
use super::number::whole;
use super::output::{self, Destination};
use super::report::{RunMeasurements, colors, count, mode_name};
use super::{console, source, stop};
use engine::{BenchBackend, BenchRun, Engines};
use limit::Speeds;
use peers::Peers;
use row::{BenchRow, Results, Skipped, Spread};

/// Default scenes and their sizes.
const SCENES: &str = "large_pyramid,many_pyramids";
const SIZES: [u64; 3] = [100, 1_000, 10_000];
/// Maximum number of threads: Box2D's own limit, applied to all backends for a fair comparison.
const MAX_THREADS: usize = 32;

/// Compare speed and quality of all backends, Box2D and Rapier
#[derive(Args, Debug)]
pub struct BenchOptions {
    /// Built-in scenes, with optional parameters, or scene files [default: large_pyramid,many_pyramids]
    #[arg(long, value_name = "A,B", conflicts_with = "from")]
    scenes: Option<String>,
    /// Numbers of dynamic bodies, 1 to 20000000; the parameters of each scene are chosen to come close [default: the
    /// scenes as they are; 100,1000,10000 without --scenes]
    #[arg(long, value_name = "N,M", value_delimiter = ',', conflicts_with = "from",
          allow_negative_numbers = true, value_parser = whole::<u64>(1..=catalogue::MAX_BODIES))]
    sizes: Vec<u64>,
    /// Backends to run [default: all available]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_enum, conflicts_with = "from")]
    backends: Vec<BenchBackend>,
    /// Measure worlds per second instead: N copies of each scene at once, on Drystone's own backends
    #[arg(long, value_name = "N,M", value_delimiter = ',', conflicts_with_all = ["from", "csv", "plot", "compare"],
          allow_negative_numbers = true, value_parser = whole::<u32>(1..=65_535))]
    worlds: Vec<u32>,
    /// Measure heaps: how deep bodies overlap, how far they have moved and whether they rest, beside goals [default
    /// scenes: pyramids, stacks, mixed sizes, a chain, 18 in all; it takes some minutes]
    #[arg(long, conflicts_with_all = ["from", "worlds", "sizes", "plot", "compare", "stages"])]
    quality: bool,
    /// Timed steps, after a first step that is not timed [default: 100; with --quality as many as 20 s have]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=1_000_000))]
    steps: Option<u32>,
    /// Runs of each backend, in turns; their spread is the noise [default: 5; 1 with --quality]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=1000))]
    repeats: Option<u32>,
    /// Threads of cpuN and box2dN [default: all cores, at most 32]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=32))]
    threads: Option<u32>,
    /// Show the time of each stage
    #[arg(long)]
    stages: bool,
    /// Write all measurements (.json)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table (.csv)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Plot time against size (.png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Compare with an earlier --json file: exit code 1 if a row is slower by more than the noise of both
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Show, plot or compare --json files instead of measuring
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Write the results of the --from files between the two marks of this Markdown file
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "compare")]
    markdown: Option<PathBuf>,
    /// Program that runs box2d and rapier [default: $DRYSTONE_PEERS, peers beside drystone, or the build in
    /// benches/peers]
    #[arg(long, value_name = "PATH", conflicts_with = "from")]
    peers: Option<PathBuf>,
    /// Stop if the peers program reports no progress for this many seconds
    #[arg(long, value_name = "S", default_value_t = 120, allow_negative_numbers = true, value_parser = whole::<u32>(1..=86_400))]
    peers_timeout: u32,
}

impl BenchOptions {
    /// Returns the number of timed steps.
    fn steps(&self) -> u32 {
        self.steps.unwrap_or(if self.quality { heaps::STEPS - 1 } else { 100 })
    }

    /// Returns the number of runs of each backend.
    fn repeats(&self) -> u32 {
        self.repeats.unwrap_or(if self.quality { 1 } else { 5 })
    }
}

/// Scene at one size.
struct Case {
    spec: String,
    size: Option<u64>,
    /// Spec of the catalogue, or path of a file.
    source: String,
}

/// Runs the command.
///
/// Invalid usage or input; no adapter or peers program although one was required; a failing peers program; a
/// regression.
pub fn run(options: &BenchOptions) -> Result<(), Failure> {
    if !options.from.is_empty() {
        return show(options);
    }
    let old = options.compare.as_deref().map(row::read).transpose()?;
    let cases = cases(options)?;
    let load = machine::load();
    stop::install()?;
    let outputs = BenchOutputs::open(options)?;
    let (mut engines, backends) = contenders(options)?;
    let speeds = speeds(&engines, &backends)?;
    let engines_known = engines.peers.as_ref().map_or(&[][..], |peers| &peers.about.engines);
    let took_part = engines_known.iter().filter(|engine| backends.iter().any(|b| b.peer() == Some(&engine.name)));
    let machine = machine::here(engines.context.as_ref(), took_part.cloned().collect(), speeds, load);
    console::print(&format!("{}\n", machine::text(&machine)))?;

    let mut results = Results { machine, rows: Vec::new(), skipped: Vec::new(), worlds: Vec::new() };
    if !options.worlds.is_empty() {
        return many_worlds(options, &cases, &engines, &backends, outputs, results);
    }
    for (index, case) in cases.iter().enumerate() {
        let before = results.rows.len();
        measure(case, options, &mut engines, &backends, &mut results)?;
        if options.quality {
            console::print(&heaps::table(&results.rows[before..]))?;
            continue;
        }
        console::print(&table::table(&results.rows[before..], options.stages))?;
        if cases.get(index + 1).is_none_or(|next| next.spec != case.spec) {
            console::print(&crossover::text(&results.rows, case.spec.split(':').next().unwrap_or_default()))?;
        }
    }
    if results.rows.is_empty() {
        return Err(Failure::usage("no backend can run any of these scenes"));
    }
    if !options.quality {
        console::print(table::legend(&results.rows))?;
    }
    finish(outputs, &results)?;
    let differ: Vec<&BenchRow> = results.rows.iter().filter(|row| !row.repeats_exactly).collect();
    for row in &differ {
        console::warn(&format!("{} on {}: repeats end in different states", row.scene, row.label()));
    }
    if differ.iter().any(|row| row.peer.is_none()) {
        return Err(Failure::new(Code::Check, "a scene is not reproduced exactly"));
    }
    old.map_or(Ok(()), |old| compare::check(&old, &results))
}

/// Measures many worlds at once (`--worlds`).
fn many_worlds(
    options: &BenchOptions,
    cases: &[Case],
    engines: &Engines,
    backends: &[BenchBackend],
    outputs: BenchOutputs,
    mut results: Results,
) -> Result<(), Failure> {
    for case in cases {
        let before = results.worlds.len();
        worlds::measure(case, options, engines, backends, &mut results)?;
        let label = |row: &worlds::WorldsRow| row::label(&row.backend, results.machine.adapter.as_ref(), row.threads);
        console::print(&worlds::table(&results.worlds[before..], label))?;
    }
    if results.worlds.is_empty() {
        return Err(Failure::usage("no backend can run any of these scenes"));
    }
    finish(outputs, &results)?;
    match results.worlds.iter().find(|row| !row.all_equal) {
        Some(row) => {
            let message = format!("{} on {}: copies of one world end in different states", row.scene, row.backend);
            Err(Failure::new(Code::Check, message))
        }
        None => Ok(()),
    }
}

/// Shows, plots or compares existing results (`--from`).
fn show(options: &BenchOptions) -> Result<(), Failure> {
    let old = options.compare.as_deref().map(row::read).transpose()?;
    let files = options.from.iter().map(|path| row::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &options.markdown {
        return figures::write(path, &options.from, &files);
    }
    let [results] = &files[..] else {
        return Err(Failure::usage("--from takes one file, except with --markdown"));
    };
    let outputs = BenchOutputs::open(options)?;
    console::print(&format!("{}\n", machine::text(&results.machine)))?;
    let mut rest = &results.rows[..];
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|row| row.scene == first.scene).count();
        let (family, now) = (first.family(), &rest[..same]);
        rest = &rest[same..];
        console::print(&table::table(now, options.stages))?;
        if rest.first().is_none_or(|next| next.family() != family) {
            console::print(&crossover::text(&results.rows, family))?;
        }
    }
    console::print(table::legend(&results.rows))?;
    for rows in results.worlds.chunk_by(|a, b| a.scene == b.scene) {
        let label = |row: &worlds::WorldsRow| row::label(&row.backend, results.machine.adapter.as_ref(), row.threads);
        console::print(&worlds::table(rows, label))?;
    }
    finish(outputs, results)?;
    old.map_or(Ok(()), |old| compare::check(&old, results))
}

/// Files written at the end.
struct BenchOutputs {
    json: Option<Destination>,
    csv: Option<Destination>,
    plot: Option<Destination>,
}

impl BenchOutputs {
    fn open(options: &BenchOptions) -> Result<Self, Failure> {
        let open = |option, path: &Option<PathBuf>, extension: &str| {
            path.as_deref().map(|path| Destination::open(option, path, &[extension])).transpose()
        };
        let this = Self {
            json: open("--json", &options.json, "json")?,
            csv: open("--csv", &options.csv, "csv")?,
            plot: open("--plot", &options.plot, "png")?,
        };
        let all: Vec<&Destination> = [&this.json, &this.csv, &this.plot].into_iter().flatten().collect();
        output::check_distinct(&all, None)?;
        Ok(this)
    }
}

fn finish(outputs: BenchOutputs, results: &Results) -> Result<(), Failure> {
    let BenchOutputs { json, csv, plot } = outputs;
    let mut destinations = Vec::new();
    if let Some(mut file) = json {
        // Serialisation fails only for maps with non-string keys and failing `Serialize` implementations; results have
        // neither.
        file.fill((serde_json::to_string_pretty(results).unwrap_or_default() + "\n").as_bytes())?;
        destinations.push(file);
    }
    if let Some(mut file) = csv {
        file.fill(table::csv(results).as_bytes())?;
        destinations.push(file);
    }
    if let Some(mut file) = plot {
        file.fill(&plot::png(results).map_err(|error| Failure::write(&file.shown, &error))?)?;
        destinations.push(file);
    }
    let files = output::publish(destinations)?;
    if files.is_empty() { Ok(()) } else { console::print(&format!("wrote {}\n", files.join(", "))) }
}

/// Returns the cases to run, all checked before the first takes time.
fn cases(options: &BenchOptions) -> Result<Vec<Case>, Failure> {
    let sizes = match (&options.scenes, &options.sizes[..]) {
        (None, []) if !options.quality => &SIZES[..],
        (_, sizes) => sizes,
    };
    let mut cases = Vec::new();
    let default = if options.quality { heaps::scenes() } else { SCENES.to_owned() };
    for spec in split(options.scenes.as_deref().unwrap_or(&default)) {
        if sizes.is_empty() {
            // Loaded now only to report mistakes early; loaded again when it is run.
            source::load(&spec)?;
            cases.push(Case { source: spec.clone(), spec, size: None });
            continue;
        }
        let (name, given) = spec.split_once(':').map_or((spec.as_str(), None), |(name, given)| (name, Some(given)));
        let entry = catalogue::find(name.trim()).map_err(|error| source::unknown(&error))?;
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let usage = |error: catalogue::CatalogueError| Failure::usage(error);
            let Some(sized) = entry.sized(size).map_err(usage)? else {
                return Err(Failure::usage(format_args!("--sizes: scene {name} has only one size")));
            };
            let sized = sized.iter().map(|(name, value)| format!("{name}={value}"));
            let all: Vec<String> = given.map(str::to_owned).into_iter().chain(sized).collect();
            let source = format!("{name}:{}", all.join(","));
            // Checking a small instance finds invalid parameters at little cost.
            catalogue::check(&source).map_err(usage)?;
            cases.push(Case { spec: spec.clone(), size: Some(size), source });
        }
    }
    Ok(cases)
}

/// Splits specs at commas. A piece that is only `key=value` belongs to the spec before it.
fn split(specs: &str) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for piece in specs.split(',') {
        match split.last_mut() {
            Some(last) if piece.contains('=') && !piece.contains(':') => *last = format!("{last},{piece}"),
            _ => split.push(piece.trim().to_owned()),
        }
    }
    split
}

/// Selects and starts the requested backends, or all available ones.
fn contenders(options: &BenchOptions) -> Result<(Engines, Vec<BenchBackend>), Failure> {
    let asked = |backend: BenchBackend| options.backends.contains(&backend);
    if let Some(peer) = options.backends.iter().find(|backend| backend.peer().is_some() && !options.worlds.is_empty()) {
        return Err(Failure::usage(format_args!("--worlds: {} runs one world at a time", peer.name())));
    }
    let any = options.backends.is_empty();
    let threads = options.threads.map_or_else(|| default_threads().min(MAX_THREADS), |threads| threads as usize);
    let context = match (any || asked(BenchBackend::Gpu)).then(|| backend::choose(backend::Backend::Gpu)) {
        Some(Ok(BackendChoice::Gpu { context, .. })) => Some(context),
        Some(Err(failure)) if !any => return Err(failure),
        _ => None,
    };
    let wants_peers = options.backends.iter().find_map(|backend| backend.peer());
    let peers = match ((any && options.worlds.is_empty()) || wants_peers.is_some())
        .then(|| peers::find(options.peers.as_deref()))
        .transpose()?
        .flatten()
    {
        Some(path) => Some(Peers::start(&path, Duration::from_secs(options.peers_timeout.into()))?),
        None => match wants_peers {
            Some(engine) => return Err(peers::missing(engine)),
            None => {
                if any && options.worlds.is_empty() {
                    console::note(&peers::left_out());
                }
                None
            }
        },
    };
    let needs = |backend: BenchBackend| if backend.is_threaded() { threads } else { 1 };
    let known = |backend: BenchBackend| match (backend.peer(), &peers) {
        (Some(name), Some(peers)) => {
            let engine = peers.about.engines.iter().find(|engine| engine.name == name);
            engine.is_some_and(|engine| needs(backend) <= engine.most_threads as usize)
        }
        (Some(_), None) => false,
        (None, _) => backend != BenchBackend::Gpu || context.is_some(),
    };
    if let Some(unknown) = options.backends.iter().find(|&&backend| !known(backend)) {
        let (name, threads) = (unknown.name(), count(needs(*unknown) as u64, "thread"));
        return Err(Failure::usage(format_args!("the peers program does not run {name} on {threads}")));
    }
    let wanted = |backend: &BenchBackend| {
        if any { known(*backend) && (threads > 1 || !backend.is_threaded()) } else { asked(*backend) }
    };
    let backends = BenchBackend::ALL.into_iter().filter(wanted).collect();
    let threads = u32::try_from(threads).unwrap_or(1);
    Ok((Engines { context, peers, threads }, backends))
}

/// Measures the copy speed and dispatch cost of the machine, for the backends in use.
fn speeds(engines: &Engines, backends: &[BenchBackend]) -> Result<Speeds, Failure> {
    let mut speeds = Speeds::default();
    for &backend in backends {
        let name = backend.name().to_owned();
        match backend {
            BenchBackend::Cpu1 => speeds.copy_gb_s.push((name, limit::copy_on_cpu(1))),
            BenchBackend::CpuN => speeds.copy_gb_s.push((name, limit::copy_on_cpu(engines.threads as usize))),
            BenchBackend::Gpu => {
                let Some(context) = &engines.context else { continue };
                let (copy, dispatch) = limit::measure_device(context)?;
                speeds.copy_gb_s.push((name, copy));
                speeds.dispatch_us = Some(dispatch);
            }
            BenchBackend::Box2d | BenchBackend::Box2dN | BenchBackend::Rapier => {}
        }
    }
    Ok(speeds)
}

/// Runs all backends on one case in turns, and appends their rows.
fn measure(
    case: &Case,
    options: &BenchOptions,
    engines: &mut Engines,
    backends: &[BenchBackend],
    results: &mut Results,
) -> Result<(), Failure> {
    let mut scene = source::load(&case.source)?.scene;
    if scene.name.is_empty() {
        scene.name.clone_from(&case.source);
    }
    let compiled = Compiled::new(&scene).map_err(Failure::usage)?;
    let file = backends.iter().any(|backend| backend.peer().is_some()).then(|| scene_file(&scene)).transpose()?;
    let path = file.as_deref().unwrap_or(std::path::Path::new(""));

    let mut runs: Vec<Vec<BenchRun>> = vec![Vec::new(); backends.len()];
    let mut out = vec![false; backends.len()];
    for repeat in 1..=options.repeats() {
        for (index, &backend) in backends.iter().enumerate().filter(|&(index, _)| !out[index]).collect::<Vec<_>>() {
            stop::check("no file was written")?;
            let is_last = repeat == options.repeats();
            match engines.run(backend, &compiled, path, options.steps(), is_last && !options.quality)? {
                Ok(run) => {
                    // Only the final state of the last repeat is needed, and the hashes of the others.
                    if let Some(last) = runs[index].last_mut() {
                        last.forget_end();
                    }
                    runs[index].push(run);
                }
                Err(reason) => {
                    console::note(&format!("{}: left out of {}: {reason}", backend.name(), scene.name));
                    let scene = scene.name.clone();
                    results.skipped.push(Skipped { scene, backend: backend.name().to_owned(), reason });
                    (out[index], runs[index]) = (true, Vec::new());
                }
            }
        }
    }
    for (&backend, runs) in backends.iter().zip(&runs) {
        if let Some(last) = runs.last() {
            results.rows.push(summarize(case, &scene, &compiled, engines, backend, runs, last, results)?);
        }
    }
    Ok(())
}

/// Writes a scene to a temporary file, for the peers program.
fn scene_file(scene: &Scene) -> Result<tempfile::TempPath, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::write("a temporary scene file", error);
    let mut file = tempfile::Builder::new()
        .prefix("drystone-bench-")
        .suffix(".json")
        .tempfile()
        .map_err(|error| failed(&error))?;
    std::io::Write::write_all(&mut file, file::write_json(scene).as_bytes()).map_err(|error| failed(&error))?;
    Ok(file.into_temp_path())
}

/// Combines the repeats of a backend into a row.
fn summarize(
    case: &Case,
    scene: &Scene,
    compiled: &Compiled,
    engines: &Engines,
    backend: BenchBackend,
    runs: &[BenchRun],
    last: &BenchRun,
    results: &Results,
) -> Result<BenchRow, Failure> {
    let times: Vec<PeerTimes> = runs.iter().map(|run| run.times).collect();
    let (ms_per_step, cpu_ms_per_step) = Spread::of_times(&times);
    // Only the last run of our own backends timed its stages.
    let fastest = runs.iter().min_by(|a, b| a.times.ms.total_cmp(&b.times.ms)).unwrap_or(last);
    let stages_ms = if last.own.is_some() { &last.stages_ms } else { &fastest.stages_ms }.clone();
    // If bodies were added or removed, the world as it is at the end.
    let compiled = last.compiled.as_ref().unwrap_or(compiled);
    let quality = quality::measure(compiled, &last.end)?;
    let counters = &last.end.counters;
    let speeds = &results.machine.speeds;
    let own = last.own.as_ref();
    let limit = own.zip(speeds.copy(backend.name())).map(|(own, copy)| {
        let dispatch = speeds.dispatch_us.filter(|_| own.dispatches.is_some());
        limit::limit(&own.moved, own.dispatches, ms_per_step.median, &stages_ms, copy, dispatch)
    });
    let adapter = match (backend, &engines.context) {
        (BenchBackend::Gpu, Some(context)) => Some(BackendInfo::gpu(context, String::new()).adapter),
        (BenchBackend::Cpu1 | BenchBackend::CpuN, _) => Some(BackendInfo::cpu(1, String::new()).adapter),
        _ => None,
    };
    let peers = engines.peers.as_ref().map_or(&[][..], |peers| &peers.about.engines);
    let metrics = RunMeasurements { last: state::metrics(compiled, &last.end), time_to_rest: None };
    let moving = compiled.bodies.iter().filter(|body| body.kind == DYNAMIC).count() as u64;
    Ok(BenchRow {
        scene: scene.name.clone(),
        size: case.size.unwrap_or(moving),
        backend: backend.name().to_owned(),
        adapter,
        threads: engines.threads_of(backend),
        peer: peers.iter().find(|engine| Some(engine.name.as_str()) == backend.peer()).map(|e| e.version.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        steps: u32::try_from(last.end.step.saturating_sub(1)).unwrap_or(u32::MAX),
        dt: compiled.params.dt,
        substeps: compiled.settings.substep_count(),
        mode: mode_name(compiled.settings.mode).to_owned(),
        bodies: compiled.bodies.iter().filter(|body| body.kind != VACANT).count(),
        shapes: compiled.shapes.iter().filter(|shape| shape.kind & GEOMETRY_MASK != NO_SHAPE).count(),
        joints: compiled.joints.count(),
        contacts: if own.is_some() { counters.touching } else { quality.touching },
        colors: if own.is_some() { colors(counters) } else { Vec::new() },
        overflow_contacts: counters.color_size(drystone::low_level::types::OVERFLOW_COLOR),
        dispatches_per_step: own.and_then(|own| own.dispatches),
        device_bytes: own.and_then(|own| own.device_bytes),
        ms_per_step,
        cpu_ms_per_step,
        stages_ms,
        limit,
        metrics: own.and_then(|_| serde_json::to_value(metrics).ok()),
        quality,
        overflowed_steps: own.map_or(0, |own| own.overflowed_steps),
        quarantined: counters.quarantined,
        repeats_exactly: runs.iter().all(|run| run.hash == last.hash),
        hash: format!("{:016x}", last.hash),
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn parameters_stay_with_their_scene() {
        let specs = split("large_pyramid:base=50,many_pyramids:rows=3,columns=4, smash");
        assert_eq!(specs, ["large_pyramid:base=50", "many_pyramids:rows=3,columns=4", "smash"]);
    }
}
