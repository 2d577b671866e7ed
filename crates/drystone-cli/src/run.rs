//! `drystone run`: simulates a scene, prints a summary and writes reports, states, traces, pictures and saved worlds.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use drystone::low_level::state;
use drystone::{Snapshot, World, WorldError};
use drystone_draw::movie::{self, Movie};
use drystone_draw::{Camera, Framing};

use super::backend::{self, Backend};
use super::energy::EnergyWatch;
use super::failure::{Code, Failure};
use super::npz::{Trace, TraceArrays};
use super::number::{self, whole};
use super::output::{self, Destination};
use super::overrides::Overrides;
use super::picture::{Artist, PictureStyle};
use super::report::{self, RunReport, StepTimes};
use super::series::{self, CsvOption, CsvTable};
use super::snapshot::{self, Resumed, StartState};
use super::source::{self, LoadedScene};
use super::worlds::{self, Many};
use super::{console, progress, stop, time};

/// Default number of steps for scene files, that of Box2D's benchmarks.
const DEFAULT_STEPS: u64 = 500;
/// Maximum number of steps: half a year at 60 steps per second.
const MAX_STEPS: u64 = 1_000_000_000;
/// Usage line: clap's own would show the scene as optional in any case.
const USAGE: &str = "drystone run [OPTIONS] <SCENE>\n       drystone run [OPTIONS] --resume <FILE>";

/// Simulate a scene, print a summary and write the requested files
#[derive(Args, Debug)]
#[command(override_usage = USAGE)]
pub struct RunOptions {
    /// A scene file (JSON or RON), - for standard input, or a built-in scene such as large_pyramid:base=50; optional
    /// with --resume
    #[arg(value_name = "SCENE", required_unless_present = "resume")]
    scene: Option<String>,
    /// Backend; auto is a hardware GPU if available, else the CPU
    #[arg(long, value_enum, default_value_t)]
    pub(super) backend: Backend,
    /// Threads of the CPU backend [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=1024))]
    pub(super) threads: Option<u32>,
    /// Number of steps [default: that of the built-in scene, 500 for files]
    #[arg(long, value_name = "N", conflicts_with = "seconds", allow_negative_numbers = true,
        value_parser = whole::<u64>(0..=MAX_STEPS))]
    steps: Option<u64>,
    /// Simulated time in seconds, instead of --steps
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = seconds)]
    seconds: Option<f64>,
    #[command(flatten)]
    overrides: Overrides,
    /// Repeat steps that overflow a buffer, so that results never depend on buffer sizes
    #[arg(long)]
    strict: bool,
    /// Write a report (.json, or - for standard output; the summary then goes to standard error)
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the final state of all bodies (.json or .npz): position is the origin of the body's frame, velocity that
    /// of its centre of mass
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write the states over time, from the initial one (.npz, at most 16 GiB); positions and velocities as in --state
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Arrays of the trace, a list of position, angle, velocity, angular_velocity, asleep, mass, shapes; mass is that
    /// of each body with its moment of inertia, shapes their outlines [default: all but asleep]
    #[arg(long, value_name = "LIST", value_parser = TraceArrays::parse, requires = "trace")]
    pub(super) arrays: Option<TraceArrays>,
    /// Write a table over time, from the initial state: energies=FILE.csv (energies, momentum, penetration),
    /// contacts=FILE.csv (contact points with impulses and forces), joints=FILE.csv (reactions) or events=FILE.csv
    /// (every contact and sensor overlap that begins or ends, joints that break, bodies that fall asleep or wake);
    /// repeatable
    #[arg(long, value_name = "KIND=FILE", value_parser = series::parse)]
    csv: Vec<CsvOption>,
    /// Steps between two states of the trace and rows of --csv [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole::<u64>(1..=MAX_STEPS))]
    pub(super) every: Option<u64>,
    /// Draw the final state (.png)
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Draw the run at 25 frames per simulated second (.gif). Without --view and a view in the scene, the run is
    /// simulated twice, first to find the area to show
    #[arg(long, value_name = "FILE")]
    movie: Option<PathBuf>,
    /// Width and height of picture and movie in pixels, 16 to 4096 each
    #[arg(long, value_name = "WxH", default_value = "960x540", value_parser = number::picture_size)]
    size: (u32, u32),
    #[command(flatten)]
    look: PictureStyle,
    /// Save the world with everything needed to continue it bitwise (.snap)
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Write the final state as a scene file (.json)
    #[arg(long, value_name = "FILE")]
    save_scene: Option<PathBuf>,
    /// Continue a world written by --save or by the window, with the scene and settings in the file; --steps counts
    /// from there
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Start from the positions, velocities and impulses of a world written by --save, with everything else as in the
    /// scene: bodies and joints are matched by id, those without one by index; time begins at 0
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    start_from: Option<PathBuf>,
    /// With --start-from: bodies and joints that are only in the scene start as it says, those that are only in the
    /// state are left out
    #[arg(long, requires = "start_from")]
    partial: bool,
    /// Measure the time to rest on a GPU, too; slow, as the state is read back after every step
    #[arg(long)]
    rest: bool,
    /// Print only the hash of the final state on standard output; with =HEX also compare it: exit code 1 if it differs
    #[arg(long, value_name = "HEX", num_args = 0..=1, require_equals = true, value_parser = hash)]
    #[allow(clippy::option_option, reason = "clap's form of an option whose value may be left out")]
    pub(super) hash: Option<Option<u64>>,
    #[command(flatten)]
    pub(super) many: Many,
    /// Exit with code 0 even if bodies were lost to a NaN or an infinity, or the run diverged
    #[arg(long)]
    pub(super) allow_lost: bool,
    /// No progress bar and no summary
    #[arg(long, short)]
    pub(super) quiet: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if seconds.is_finite() && seconds > 0.0 { Ok(seconds) } else { Err("must be more than 0".to_owned()) }
}

fn hash(text: &str) -> Result<u64, String> {
    if text.len() != 16 {
        return Err("expected 16 hex digits".to_owned());
    }
    u64::from_str_radix(text, 16).map_err(|_| "expected 16 hex digits".to_owned())
}

impl RunOptions {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates, then is refused")]
    fn step_count(&self, dt: f32, suggested: Option<u64>) -> Result<u64, Failure> {
        let steps = match self.seconds {
            Some(seconds) => (seconds / f64::from(dt)).round() as u64,
            None => self.steps.or(suggested).unwrap_or(DEFAULT_STEPS),
        };
        if steps > MAX_STEPS {
            let most = report::group(MAX_STEPS);
            return Err(Failure::usage(format_args!("--seconds: {steps} steps exceed the limit of {most}")));
        }
        Ok(steps)
    }
}

/// Runs the command.
///
/// # Errors
/// Invalid input, no backend, a failed simulation, files that cannot be written, Ctrl-C.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let json_on_stdout = options.json.as_deref() == Some(Path::new("-"));
    if json_on_stdout && options.hash.is_some() {
        return Err(Failure::usage("--json - and --hash both use standard output")
            .hint("the report of --json contains the hash"));
    }
    if options.every.is_some() && options.trace.is_none() && options.csv.is_empty() {
        return Err(Failure::usage("--every requires --trace or --csv"));
    }
    if options.look.is_chosen() && options.picture.is_none() && options.movie.is_none() {
        return Err(Failure::usage(
            "--dark, --layers, --coloring, --arrows, --no-joints and --view require --picture or --movie",
        )
        .hint("add --picture FILE.png"));
    }
    let resumed = match options.resume.as_deref() {
        None => None,
        Some(path) => Some((Resumed::read(path)?, path)),
    };
    let LoadedScene { mut scene, path, steps: suggested } = match (&options.scene, &resumed) {
        (Some(scene), _) => source::load(scene)?,
        (None, Some((resumed, path))) => LoadedScene { scene: resumed.scene(path)?, path: None, steps: None },
        // Guaranteed by clap.
        (None, None) => return Err(Failure::usage("SCENE or --resume FILE is required")),
    };
    let started = options.start_from.as_deref().map(StartState::read).transpose()?;
    options.overrides.apply(&mut scene);
    scene.settings.strict |= options.strict;
    if options.csv.iter().any(CsvOption::is_of_events) && !scene.settings.events {
        if resumed.is_some() {
            return Err(Failure::usage("--csv events: the saved world reports no events")
                .hint("save it from a scene with `\"events\": true` in its settings"));
        }
        scene.settings.events = true;
    }
    let steps = options.step_count(scene.settings.dt, suggested)?;

    if let Some(worlds) = options.many.worlds {
        return worlds::run(options, &scene, worlds, steps, path.as_deref());
    }
    if let Some((resumed, path)) = &resumed {
        resumed.check(&scene, path)?;
    }
    let journal = resumed.as_ref().map(|(resumed, _)| resumed.journal()).unwrap_or_default();

    stop::install()?;
    let outputs = RunOutputs::open(options, json_on_stdout, path.as_deref())?;
    let open = || -> Result<backend::OpenedWorld, Failure> {
        let mut opened = backend::open(&scene, options.backend, options.threads)?;
        if let Some((resumed, path)) = &resumed {
            resumed.resume(&mut opened.world, path)?;
        }
        if let Some(started) = &started {
            started.start(&mut opened.world, options.partial, options.quiet)?;
        }
        Ok(opened)
    };
    let mut opened = open()?;
    let draws = outputs.movie.is_some() || outputs.picture.is_some();
    let mut framing = draws.then(|| first_framing(options, &mut opened.world)).transpose()?;
    if let Some(framing) = framing.as_mut().filter(|framing| outputs.movie.is_some() && !framing.is_given()) {
        // Only one world is in memory at a time.
        drop(opened);
        frame_run(framing, &mut open()?.world, steps, !options.quiet)?;
        opened = open()?;
    }
    if options.threads.is_some() && opened.about.threads.is_none() {
        console::warn("--threads has no effect: it sets the threads of the CPU backend");
    }
    if !options.quiet {
        console::note(&format!("running on {}", opened.about.used()));
    }
    let camera = framing.as_ref().map(Framing::camera);
    let movie = outputs.movie.zip(camera);
    let filmed = movie.is_some();
    let mut recorder = RunRecorder::new(outputs.trace, outputs.series, movie, options, &mut opened.world, steps)?;
    // Stage times are only used by the report.
    let profiled = if options.json.is_some() { profiled_steps(&opened.world, steps) } else { 0 };
    let mut times = StepTimes::from_step(opened.world.steps());
    let rest = f64::from(opened.world.compiled().params.sleep_speed);
    let watches = options.rest || matches!(opened.world, World::Cpu(_));
    let first = opened.world.snapshot()?;
    let mut energy = EnergyWatch::new(opened.world.compiled(), &first);
    drop(first);
    let mut each = |world: &mut World, times: &mut StepTimes, step| {
        if let Some(energy) = energy.as_mut().filter(|_| step > 0) {
            energy.measure(world, step == steps).map_err(|error| failed(step, error))?;
        }
        if watches {
            let speed = world.max_speed().map_err(|error| failed(step, error))?;
            times.note_speed(world.steps(), speed, rest);
        }
        recorder.record(world, step)
    };
    each(&mut opened.world, &mut times, 0)?;
    simulate(&mut opened.world, steps, profiled, &mut times, &mut each, !options.quiet)?;

    let snapshot = opened.world.snapshot()?;
    let mut report = RunReport::new(&opened.about, &opened.world, &snapshot, &times);
    report.diverged = energy.as_ref().and_then(EnergyWatch::found);
    let (mut destinations, mut artist) = recorder.finish(&snapshot)?;
    if let Some(mut state) = outputs.state {
        write_state(&mut state, &opened.world, &snapshot)?;
        destinations.push(state);
    }
    if let (Some(mut file), Some(framing)) = (outputs.picture, framing) {
        // With a movie, both show the same area.
        let later = || framing.camera_later(opened.world.compiled(), &snapshot.poses);
        let camera = if filmed { framing.camera() } else { later() };
        artist.write(&mut file, &opened.world, &snapshot, &camera)?;
        destinations.push(file);
    }
    if let Some(mut file) = outputs.save {
        file.fill(&snapshot::bytes(&scene, &journal, &mut opened.world)?)?;
        destinations.push(file);
    }
    if let Some(mut file) = outputs.save_scene {
        let now = snapshot::scene_now(&scene, &journal, &mut opened.world)?;
        file.fill(drystone_scenes::file::write_json(&now).as_bytes())?;
        destinations.push(file);
    }
    if let Some(mut json) = outputs.json {
        json.fill(report.to_json().as_bytes())?;
        destinations.push(json);
    }
    stop::check("no file was written")?;
    let files = output::publish(destinations)?;

    for warning in report.warnings() {
        console::warn(&warning);
    }
    let results_on_stdout = json_on_stdout || options.hash.is_some();
    if !options.quiet {
        let mut summary = report.summary();
        if !files.is_empty() {
            summary += &report::row("wrote", &files.join(", "));
        }
        if results_on_stdout { console::note(summary.trim_end()) } else { console::print(&summary)? }
    }
    if json_on_stdout {
        console::print(&report.to_json())?;
    }
    check_hash(options, &report)?;
    check_lost(options, &report)
}

/// Checks that no body was lost and the run did not diverge, unless that is allowed.
fn check_lost(options: &RunOptions, report: &RunReport) -> Result<(), Failure> {
    match failed_physics(report.quarantined, report.diverged.is_some()) {
        Some(problem) if !options.allow_lost => {
            Err(Failure::new(Code::Check, problem).hint("with --allow-lost the exit code is 0"))
        }
        _ => Ok(()),
    }
}

/// Describes why the result of a run is not physics.
fn failed_physics(lost: u32, diverged: bool) -> Option<String> {
    match lost {
        0 => diverged.then(|| "the run diverged".to_owned()),
        lost => Some(format!("{} lost to a NaN or an infinity", report::count(lost.into(), "body"))),
    }
}

fn check_hash(options: &RunOptions, report: &RunReport) -> Result<(), Failure> {
    let Some(expected) = options.hash else { return Ok(()) };
    console::print(&format!("{}\n", report.hash))?;
    match expected.map(|hash| format!("{hash:016x}")) {
        Some(expected) if expected != report.hash => {
            Err(Failure::new(Code::Check, format_args!("the hash is {}, not {expected}", report.hash)))
        }
        _ => Ok(()),
    }
}

/// Files written at the end or during the run.
pub(super) struct RunOutputs {
    pub json: Option<Destination>,
    pub state: Option<Destination>,
    pub trace: Option<Destination>,
    series: Vec<CsvTable>,
    picture: Option<Destination>,
    movie: Option<Destination>,
    save: Option<Destination>,
    save_scene: Option<Destination>,
}

impl RunOutputs {
    pub fn open(options: &RunOptions, json_on_stdout: bool, input: Option<&Path>) -> Result<Self, Failure> {
        let open = |option, path: &Option<PathBuf>, extensions: &[&str]| {
            path.as_deref().map(|path| Destination::open(option, path, extensions)).transpose()
        };
        let this = Self {
            json: if json_on_stdout { None } else { open("--json", &options.json, &["json"])? },
            state: open("--state", &options.state, &["json", "npz"])?,
            trace: open("--trace", &options.trace, &["npz"])?,
            series: options.csv.iter().map(CsvTable::open).collect::<Result<_, _>>()?,
            picture: open("--picture", &options.picture, &["png"])?,
            movie: open("--movie", &options.movie, &["gif"])?,
            save: open("--save", &options.save, &["snap"])?,
            save_scene: open("--save-scene", &options.save_scene, &["json"])?,
        };
        let all = [&this.json, &this.state, &this.trace, &this.picture, &this.movie, &this.save, &this.save_scene];
        let series = this.series.iter().map(CsvTable::destination);
        let all: Vec<&Destination> = all.into_iter().flatten().chain(series).collect();
        output::check_distinct(&all, input)?;
        Ok(this)
    }
}

fn first_framing(options: &RunOptions, world: &mut World) -> Result<Framing, Failure> {
    let first = world.snapshot()?;
    Ok(options.look.framing(world.compiled(), &first.poses, options.size))
}

/// Runs a world to its end and extends the visible area to all bodies on the way.
fn frame_run(framing: &mut Framing, world: &mut World, steps: u64, wants_bar: bool) -> Result<(), Failure> {
    let dt = f64::from(world.compiled().params.dt);
    let bar = progress::bar(steps, wants_bar);
    for step in 1..=steps {
        world.step().and_then(|()| world.wait()).map_err(|error| failed(step, error))?;
        if movie::is_due(step, dt) || step == steps {
            let snapshot = world.snapshot()?;
            framing.add(world.compiled(), &snapshot.poses);
        }
        bar.inc(1);
        if stop::requested() {
            bar.finish_and_clear();
            stop::check(&format!("after step {step} of {steps} of the run before the movie; no file was written"))?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Returns the number of final steps whose stages are timed: on the CPU all, as asking the clock takes a microsecond.
/// On a device it slows steps down, and a profiled step cannot be repeated, which strict mode may need.
fn profiled_steps(world: &World, steps: u64) -> u64 {
    match world {
        World::Cpu(_) => steps,
        World::Gpu(world) if !world.compiled().settings.strict => (steps / 2).min(10),
        World::Gpu(_) => 0,
    }
}

/// Steps the world, and profiles the last `profiled` steps. Records the durations of all steps, on a device without
/// those. Calls `each` after every step.
fn simulate(
    world: &mut World,
    steps: u64,
    profiled: u64,
    times: &mut StepTimes,
    each: &mut impl FnMut(&mut World, &mut StepTimes, u64) -> Result<(), Failure>,
    wants_bar: bool,
) -> Result<(), Failure> {
    let bar = progress::bar(steps, wants_bar);
    for step in 1..=steps {
        let started = Instant::now();
        if step > steps - profiled {
            world.step_profiled().map_err(|error| failed(step, error))?;
            times.add(started.elapsed(), matches!(world, World::Cpu(_)));
        } else {
            // Waits, so that the measured time is that of this step.
            world.step().and_then(|()| world.wait()).map_err(|error| failed(step, error))?;
            times.add(started.elapsed(), true);
        }
        each(world, times, step)?;
        bar.inc(1);
        if stop::requested() {
            bar.finish_and_clear();
            stop::check(&format!("after step {step} of {steps}; no file was written"))?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn failed(step: u64, error: WorldError) -> Failure {
    Failure::from(error).context(format_args!("step {step} failed"))
}

/// Output during the run: trace, tables and movie.
struct RunRecorder {
    trace: Option<Trace>,
    series: Vec<CsvTable>,
    every: u64,
    movie: Option<(Movie<Destination>, Camera, String)>,
    artist: Artist,
    dt: f64,
    /// Number of steps done before this run.
    before: u64,
}

impl RunRecorder {
    fn new(
        trace: Option<Destination>,
        series: Vec<CsvTable>,
        movie: Option<(Destination, Camera)>,
        options: &RunOptions,
        world: &mut World,
        steps: u64,
    ) -> Result<Self, Failure> {
        let every = options.every.unwrap_or(1);
        let bodies = world.compiled().most_slots();
        let mut this = Self {
            trace: trace
                .map(|to| Trace::new(to, &[bodies as u64], steps / every + 1, options.arrays.unwrap_or_default()))
                .transpose()?,
            series,
            every,
            movie: None,
            artist: Artist::new(&options.look, world)?,
            dt: f64::from(world.compiled().params.dt),
            before: world.steps(),
        };
        // One camera for all frames, so that only bodies move.
        if let Some((destination, camera)) = movie {
            let first = world.snapshot()?;
            let image = this.artist.draw(world, &first, &camera)?;
            let shown = destination.shown.clone();
            let movie = Movie::new(destination, &image).map_err(|error| Failure::write(&shown, &error))?;
            this.movie = Some((movie, camera, shown));
        }
        Ok(this)
    }

    /// Records the state after `step` steps of this run; 0 is the initial state. A trace contains the time of the
    /// world, a movie starts at 0.
    fn record(&mut self, world: &mut World, step: u64) -> Result<(), Failure> {
        let due = step.is_multiple_of(self.every);
        let trace = self.trace.as_mut().filter(|_| due);
        for table in self.series.iter_mut().filter(|table| table.is_of_events()) {
            table.push_events(world)?;
        }
        let series = if due { &mut self.series[..] } else { &mut [] };
        let wants_state = series.iter().any(|table| !table.is_of_events());
        let movie = self.movie.as_mut().filter(|_| movie::is_due(step, self.dt));
        if trace.is_none() && !wants_state && movie.is_none() {
            return Ok(());
        }
        let snapshot = world.snapshot()?;
        for table in series {
            table.push(world.compiled(), &snapshot)?;
        }
        if let Some(trace) = trace {
            let step = self.before + step;
            trace.describe(world.compiled(), snapshot.population);
            trace.push(
                step,
                time::after(step, world.compiled().params.dt),
                &state::body_slots(world.compiled(), &snapshot),
            )?;
        }
        if let Some((movie, camera, shown)) = movie {
            let image = self.artist.draw(world, &snapshot, camera)?;
            movie.push(step as f64 * self.dt, &image).map_err(|error| Failure::write(shown, &error))?;
        }
        Ok(())
    }

    fn finish(self, last: &Snapshot) -> Result<(Vec<Destination>, Artist), Failure> {
        let end = (last.step - self.before) as f64 * self.dt;
        let trace = self.trace.map(Trace::finish).transpose()?;
        let finish = |(movie, _, shown): (Movie<Destination>, Camera, String)| {
            movie.finish(end).map_err(|error| Failure::write(&shown, &error))
        };
        let movie = self.movie.map(finish).transpose()?;
        let series = self.series.into_iter().map(CsvTable::finish);
        Ok((trace.into_iter().chain(movie).chain(series).collect(), self.artist))
    }
}

fn write_state(state: &mut Destination, world: &World, snapshot: &Snapshot) -> Result<(), Failure> {
    let slots = state::body_slots(world.compiled(), snapshot);
    let written = if state.extension() == "npz" {
        drystone_scenes::npz::write_state(&mut *state, &slots, world.compiled().settings.sleep)
    } else {
        let bodies: Vec<_> = slots.into_iter().flatten().collect();
        serde_json::to_writer(&mut *state, &bodies).map_err(io::Error::from)
    };
    written.map_err(|e| Failure::write(&state.shown, &e))
}

#[cfg(test)]
mod tests {
    use super::failed_physics;

    #[test]
    fn lost_bodies_and_divergence_fail_a_run() {
        assert_eq!(failed_physics(0, false), None);
        assert_eq!(failed_physics(0, true).as_deref(), Some("the run diverged"));
        assert_eq!(failed_physics(2, true).as_deref(), Some("2 bodies lost to a NaN or an infinity"));
    }
}
