//! Files that the window writes: pictures, movies, states and scenes, tables of measurements and graphs.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use glam::Vec2;

use super::app::App;
use super::drawing::ramp_of;
use super::figures::{Figures, StepQuality};
use drystone::World;
use drystone::low_level::step::Stage;
use drystone_draw::movie::{Movie, is_due};
use drystone_draw::{Camera, DrawInputs, Image, Offscreen, Style, Upload};
use drystone_scenes::file::write_json;
use drystone_scenes::time;

/// Longest side of a movie, px.
const MOVIE_SIDE: u32 = 960;

/// Time within which a second request replaces a file.
const CONFIRM: Duration = Duration::from_secs(15);
/// Ends of the names of files that the window writes.
const EXTENSIONS: [&str; 5] = ["png", "gif", "snap", "json", "csv"];

/// Movie that is being recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    movie: Movie<BufWriter<File>>,
    camera: Camera,
    style: Style,
    path: PathBuf,
    first_step: u64,
    last_step: u64,
    offscreen: Offscreen,
    upload: Upload,
}

impl App {
    /// Path of a new file in a folder, named after the scene and the step.
    fn free_path(&self, folder: &Path, extension: &str) -> Result<PathBuf, String> {
        let scene: String =
            self.run.scene().name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(40).collect();
        let scene = if scene.is_empty() { "scene".to_owned() } else { scene };
        let steps = self.run.steps();
        let first = folder.join(format!("drystone-{scene}-{steps}.{extension}"));
        let others = (2..1000).map(|n| folder.join(format!("drystone-{scene}-{steps}-{n}.{extension}")));
        let unused = std::iter::once(first.clone()).chain(others).find(|path| !path.exists());
        unused.ok_or_else(|| format!("{} and 998 more of this step are there already", whole(&first)))
    }

    /// Path of the file to write: as the user has given it, or a new name in the folder. A file that is there already
    /// is replaced only if the user asks for it a second time.
    ///
    /// # Errors
    /// The reason why nothing is written, in words.
    fn path_to_write(&mut self, extension: &str) -> Result<PathBuf, String> {
        let Some(wanted) = given_path(&self.save_path, &self.folder) else {
            return self.free_path(&self.folder, extension);
        };
        let is_folder = wanted.is_dir() || self.save_path.trim().ends_with(std::path::MAIN_SEPARATOR);
        let path = if is_folder { self.free_path(&wanted, extension)? } else { with_extension(&wanted, extension)? };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            return Err(format!("{} was not written: there is no folder {}", whole(&path), whole(folder)));
        }
        if path.is_dir() {
            return Err(format!("{} was not written: it is a folder", whole(&path)));
        }
        let is_confirmed = self.replaces.take().is_some_and(|(known, until)| known == path && Instant::now() < until);
        if path.exists() && !is_confirmed {
            let text = format!("{} is there already, and was not replaced: save once more to replace it", whole(&path));
            self.replaces = Some((path, Instant::now() + CONFIRM));
            return Err(text);
        }
        Ok(path)
    }

    /// Writes a file, and shows its path or the error.
    fn write(&mut self, extension: &str, content: Result<Vec<u8>, String>) {
        let path = match self.path_to_write(extension) {
            Ok(path) => path,
            Err(error) => return self.say(error),
        };
        let did = if path.exists() { "replaced" } else { "wrote" };
        let written = content.and_then(|bytes| fs::write(&path, bytes).map_err(|error| error.to_string()));
        match written {
            Ok(()) => self.say(format!("{did} {}", whole(&path))),
            Err(error) => self.say(format!("{} was not written: {error}", whole(&path))),
        }
    }

    /// Picture of the world as it is shown, without the panel.
    pub fn picture(&mut self) -> Result<Image, String> {
        let mut offscreen =
            Offscreen::new(self.context.device(), self.context.queue()).map_err(|error| error.to_string())?;
        let mut upload = Upload::new(self.context.device(), self.context.queue());
        let camera = Camera { origin: Vec2::ZERO, ..self.camera };
        let style = self.style();
        self.picture_with(&mut offscreen, &mut upload, &camera, &style)
    }

    fn picture_with(
        &self,
        offscreen: &mut Offscreen,
        upload: &mut Upload,
        camera: &Camera,
        style: &Style,
    ) -> Result<Image, String> {
        let Some(run) = self.run.here() else { return Err("the world is in the middle of a step".to_owned()) };
        // The same colours as in the window.
        let ramp = ramp_of(&run.scene().name);
        let picture = match run.world() {
            World::Gpu(world) => {
                offscreen.layered_picture(&colored(DrawInputs::of(world), ramp), camera, style, &self.layers)
            }
            World::Cpu(world) => {
                upload.refresh(world, self.layers.needs_tables()).map_err(|error| error.to_string())?;
                offscreen.layered_picture(&colored(upload.inputs(), ramp), camera, style, &self.layers)
            }
        };
        picture.map_err(|error| error.to_string())
    }

    /// Writes a picture of the world as PNG.
    pub fn save_picture(&mut self) {
        let png = self.picture().and_then(|image| image.to_png().map_err(|error| error.to_string()));
        self.write("png", png);
    }

    /// Writes the world with its scene, to be continued by this window or `drystone run --resume`.
    pub fn save_state(&mut self) {
        let Some(run) = self.run.here_mut() else { return };
        let saved = run.save().map_err(|error| error.to_string());
        self.write("snap", saved.and_then(|saved| saved.to_bytes().map_err(|error| error.to_string())));
    }

    /// Writes the present world as a scene file.
    pub fn save_scene(&mut self) {
        let Some(run) = self.run.here_mut() else { return };
        let saved = run.save().map_err(|error| error.to_string());
        let scene = saved.and_then(|saved| saved.to_scene().map_err(|error| error.to_string()));
        self.write("json", scene.map(|scene| write_json(&scene).into_bytes()));
    }

    /// Writes the measured steps as a table: a row per step, with the times of stages, ms, and counters.
    pub fn save_csv(&mut self) {
        let csv = csv(&self.figures);
        self.write("csv", Ok(csv.into_bytes()));
    }

    /// Writes the motion of graphed bodies as a table: a row per step.
    pub fn save_graphs(&mut self) {
        if self.watch.tracks.is_empty() {
            return self.say("no body is graphed: point at one and press W");
        }
        let csv = self.watch.csv();
        self.write("graphs.csv", Ok(csv.into_bytes()));
    }

    /// Writes the measured energies of the world as a table: a row per measurement.
    pub fn save_energies(&mut self) {
        let csv = energies(&self.figures, self.run.scene().settings.dt);
        self.write("energies.csv", Ok(csv.into_bytes()));
    }

    /// Writes the measured steps in the trace event format, for the tracing page of a browser.
    pub fn save_trace(&mut self) {
        let trace = trace(&self.figures);
        self.write("trace.json", Ok(trace.into_bytes()));
    }

    /// Begins to record a movie, or ends the one that is being recorded.
    pub fn toggle_recording(&mut self) {
        if let Some(recording) = self.recording.take() {
            let Recording { movie, path, first_step, last_step, .. } = recording;
            let dt = f64::from(self.run.scene().settings.dt);
            #[allow(clippy::cast_precision_loss, reason = "a movie's steps")]
            let end = (last_step.saturating_sub(first_step) + 1) as f64 * dt;
            match movie.finish(end) {
                Ok(_) => self.say(format!("wrote {}", whole(&path))),
                Err(error) => self.say(format!("{} was not written: {error}", whole(&path))),
            }
            return;
        }
        match self.begin_recording() {
            Ok(recording) => {
                self.say(format!("recording {} until G is pressed again", whole(&recording.path)));
                self.recording = Some(recording);
            }
            Err(error) => self.say(format!("no movie: {error}")),
        }
    }

    fn begin_recording(&mut self) -> Result<Recording, String> {
        let (device, queue) = (self.context.device(), self.context.queue());
        let mut offscreen = Offscreen::new(device, queue).map_err(|error| error.to_string())?;
        let mut upload = Upload::new(device, queue);
        let camera = movie_camera(&self.camera);
        let style = self.style();
        let first = self.picture_with(&mut offscreen, &mut upload, &camera, &style)?;
        let path = self.path_to_write("gif")?;
        let created = File::create(&path).map_err(|error| format!("{} was not written: {error}", whole(&path)));
        let file = BufWriter::new(created?);
        let movie = Movie::new(file, &first).map_err(|error| error.to_string())?;
        let step = self.run.steps();
        Ok(Recording { movie, camera, style, path, first_step: step, last_step: step, offscreen, upload })
    }

    /// Adds a picture to the movie after a step, if there is one and a picture is due.
    pub fn record_frame(&mut self) {
        let Some(mut recording) = self.recording.take() else { return };
        let dt = f64::from(self.run.scene().settings.dt);
        let step = self.run.steps();
        // After a step back the movie continues from there.
        if step <= recording.last_step {
            recording.first_step = step.saturating_sub(recording.last_step - recording.first_step + 1);
        }
        let now = step - recording.first_step.min(step);
        if is_due(now, dt) {
            let Recording { camera, style, .. } = recording;
            let image = self.picture_with(&mut recording.offscreen, &mut recording.upload, &camera, &style);
            #[allow(clippy::cast_precision_loss, reason = "a movie's steps")]
            let pushed =
                image.and_then(|image| recording.movie.push(now as f64 * dt, &image).map_err(|e| e.to_string()));
            if let Err(error) = pushed {
                self.say(format!("{} ended early: {error}", whole(&recording.path)));
                return;
            }
        }
        recording.last_step = step;
        self.recording = Some(recording);
    }
}

/// Camera of a movie: the part of the world that the window shows, in the same size up to a longest side.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixels of a screen"
)]
fn movie_camera(camera: &Camera) -> Camera {
    let [width, height] = camera.size.map(|side| side as f32);
    let shrink = (width.max(height) / MOVIE_SIDE as f32).max(1.0);
    let size = [width, height].map(|side| ((side / shrink).round() as u32).max(16));
    Camera { origin: Vec2::ZERO, size, metres_per_pixel: camera.metres_per_pixel * shrink, ..*camera }
}

/// Path in the field for files to write; `None` if the field is empty. A path without a root begins at the folder, `~/`
/// at the home of the user.
fn given_path(text: &str, folder: &Path) -> Option<PathBuf> {
    let text = text.trim();
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let in_home = text.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest)));
    (!text.is_empty()).then(|| in_home.unwrap_or_else(|| folder.join(text)))
}

/// Path with the extension of a kind of file.
///
/// # Errors
/// If it has the extension of another kind.
fn with_extension(path: &Path, extension: &str) -> Result<PathBuf, String> {
    let last = extension.rsplit('.').next().unwrap_or(extension);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match path.extension().map(|given| given.to_string_lossy().to_lowercase()) {
        Some(given) if given == last => Ok(path.to_owned()),
        Some(given) if EXTENSIONS.contains(&given.as_str()) => Err(format!(
            "{} was not written: this file would be .{last}, and not .{given}: write a path with .{last} or without an end",
            whole(path)
        )),
        // A dot of its own, as in "run 1.5".
        _ => Ok(path.with_file_name(format!("{name}.{extension}"))),
    }
}

/// Whole path of a file, for messages.
fn whole(path: &Path) -> String {
    std::path::absolute(path).as_deref().unwrap_or(path).display().to_string()
}

/// Inputs of a picture in which the colour ramp spans at most a number of bodies.
fn colored(inputs: DrawInputs<'_>, ramp: u32) -> DrawInputs<'_> {
    DrawInputs { ramp_bodies: inputs.ramp_bodies.min(ramp), ..inputs }
}

/// Table of the measured steps.
fn csv(figures: &Figures) -> String {
    let mut text = String::from("step,total_ms");
    for stage in Stage::ALL {
        text += &format!(",{}_ms", stage.name());
    }
    text += ",pairs,contacts,touching,recycled,rounds,uncolored,awake,quarantined,overflow_bits\n";
    for sample in &figures.samples {
        text += &format!("{},{:.4}", sample.step, sample.total());
        for ms in sample.stages {
            text += &format!(",{ms:.4}");
        }
        let c = sample.counters.unwrap_or_default();
        text += &format!(
            ",{},{},{},{},{},{},{},{},{}\n",
            c.pairs_found,
            c.contacts,
            c.touching,
            c.recycled,
            c.rounds,
            c.uncolored,
            c.awake,
            c.quarantined,
            c.overflow_bits
        );
    }
    text
}

/// Table of the measured energies, with the names of `drystone run --csv energies`.
fn energies(figures: &Figures, dt: f32) -> String {
    let mut text = String::from(
        "step,time_s,kinetic_energy_J,potential_energy_J,elastic_energy_J,total_energy_J,max_penetration_m\n",
    );
    for StepQuality { step, metrics: m } in &figures.qualities {
        let energies = [m.kinetic_energy, m.potential_energy, m.elastic_energy, m.total_energy];
        // A zero has no sign.
        let [kinetic, potential, elastic, total] = energies.map(|energy| energy + 0.0);
        let (time, overlap) = (time::after(*step, dt), m.max_penetration);
        text += &format!("{step},{time},{kinetic},{potential},{elastic},{total},{overlap}\n");
    }
    text
}

/// Trace of the measured steps, as complete events one after the other: the time of a stage in a step is the sum of its
/// parts.
fn trace(figures: &Figures) -> String {
    let mut events = Vec::new();
    let mut at = 0.0;
    for sample in &figures.samples {
        let begin = at;
        for (stage, &ms) in Stage::ALL.iter().zip(&sample.stages).filter(|(_, ms)| **ms > 0.0) {
            let us = 1e3 * f64::from(ms);
            events.push(serde_json::json!({
                "name": stage.name(), "cat": "stage", "ph": "X", "ts": at, "dur": us, "pid": 1, "tid": 2,
            }));
            at += us;
        }
        events.push(serde_json::json!({
            "name": format!("step {}", sample.step), "cat": "step", "ph": "X", "ts": begin, "dur": at - begin,
            "pid": 1, "tid": 1,
        }));
    }
    serde_json::json!({ "traceEvents": events, "displayTimeUnit": "ms" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::figures::Sample;
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        for step in 1..=3 {
            let mut stages = [0.0; Stage::ALL.len()];
            stages[Stage::Solve as usize] = 0.5;
            stages[Stage::Pair as usize] = 0.25;
            figures.samples.push_back(Sample { step, stages, counters: None });
        }
        figures
    }

    #[test]
    fn a_table_has_a_row_a_step_and_a_column_a_stage() {
        let csv = csv(&figures());
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.len() == 2 + Stage::ALL.len() + 9));
        let solve = rows[0].iter().position(|name| *name == "solve_ms").unwrap();
        assert_eq!((rows[2][0], rows[2][1], rows[2][solve]), ("2", "0.7500", "0.5000"));
    }

    /// A path gets the end of the kind of file, unless it has it; that of another kind is refused.
    #[test]
    fn paths_end_with_their_kind() {
        let folder = Path::new("/here");
        assert_eq!(given_path("  ", folder), None);
        assert_eq!(given_path(" a/b.png ", folder), Some(PathBuf::from("/here/a/b.png")));
        assert_eq!(given_path("/tmp/b", folder), Some(PathBuf::from("/tmp/b")));
        let path = |text: &str, extension: &str| with_extension(Path::new(text), extension);
        assert_eq!(path("/a/b", "graphs.csv"), Ok(PathBuf::from("/a/b.graphs.csv")));
        assert_eq!(path("/a/b.csv", "graphs.csv"), Ok(PathBuf::from("/a/b.csv")));
        assert_eq!(path("/a/run 1.5", "png"), Ok(PathBuf::from("/a/run 1.5.png")));
        assert_eq!(path("/a/b.PNG", "png"), Ok(PathBuf::from("/a/b.PNG")));
        let refused = path("/a/b.json", "png").unwrap_err();
        assert!(refused.contains("would be .png, and not .json"), "{refused}");
    }

    #[test]
    fn movies_are_as_large_as_the_window_shows_the_world() {
        let of = |size| movie_camera(&Camera::new(Vec2::ONE, 9.0, size));
        assert_eq!([[946, 687], [2226, 1372], [10, 5]].map(|size| of(size).size), [[946, 687], [960, 592], [16, 16]]);
        let wide = |camera: &Camera| f64::from(camera.metres_per_pixel) * f64::from(camera.size[0]);
        let shown = Camera::new(Vec2::ONE, 9.0, [2226, 1372]);
        assert!((wide(&of(shown.size)) / wide(&shown) - 1.0).abs() < 1e-3, "the same part of the world");
    }

    #[test]
    fn a_trace_is_one_event_after_the_other() {
        let trace: serde_json::Value = serde_json::from_str(&trace(&figures())).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 9);
        let steps: Vec<(f64, f64)> = events
            .iter()
            .filter(|event| event["cat"] == "step")
            .map(|event| (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap()))
            .collect();
        assert_eq!(steps, [(0.0, 750.0), (750.0, 750.0), (1500.0, 750.0)]);
    }
}
