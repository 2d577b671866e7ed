//! State of a window, apart from the window itself: the running world, the camera, the layers that are drawn, and the
//! queue of actions that the user has asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::action::Action;
use super::background_jobs::BackgroundJob;
use super::build::Build;
use super::camera_follow::{CameraFollow, Fit};
use super::cancel::Cancel;
use super::drawing::Drawing;
use super::export::Recording;
use super::figures::Figures;
use super::frame_pacing::FramePacing;
use super::inspect::Inspector;
use super::joint::{JointSelection, PointedJoints};
use super::left::LeftWorlds;
use super::opening::{Opening, OpeningThreads, Why};
use super::panel::Fold;
use super::pointer::Pointer;
use super::prefs::Prefs;
use super::run::{On, WorldRun};
use super::source::SceneSource;
use super::thumbs::Thumbs;
use super::watch::WatchedBodies;
use super::worker::{RunFacts, WakeCallback, WorkerHandle};
use drystone::Context;
use drystone::Scene;
use drystone::WorldError;
use drystone::low_level::gpu::is_software;
use drystone_draw::{Camera, Coloring, DrawError, Layers, Style};

/// Time for which a message is shown.
const NOTE: Duration = Duration::from_secs(6);
/// Longest time that a closing window waits for its work on the device.
const LEAVE: Duration = Duration::from_secs(20);

/// State of a window.
#[derive(Debug)]
pub(crate) struct App {
    pub context: Context,
    pub drawing: Drawing,
    pub inspector: Inspector,
    /// Joint under the pointer.
    pub joints: PointedJoints,
    pub threads: usize,
    pub source: SceneSource,
    pub run: WorkerHandle,
    /// Copy of the world on the other backend, shown beside it for comparison.
    pub twin: Option<WorkerHandle>,
    /// Scene that is being opened; it replaces the running one when it is ready.
    pub opening: Option<Opening>,
    /// Threads that open scenes.
    pub jobs: OpeningThreads,
    /// Worlds that were left for other scenes, kept for undo.
    pub left: LeftWorlds,
    /// Reason why the first scene could not be opened; the window then closes.
    pub failed: Option<String>,
    /// Backend for the first scene.
    pub first_on: On,
    /// Long job for which the worlds are away with worker threads.
    pub background_job: Option<BackgroundJob>,
    /// True while an undo takes the world to the step before the change.
    pub undoing: bool,
    /// Callback that wakes the event loop when a worker thread is done.
    pub wake: WakeCallback,
    /// Waits for worlds within a frame, as scripts do: the frame in which something happens then does not depend on
    /// speed.
    pub patient: bool,
    pub frame_pacing: FramePacing,
    pub camera: Camera,
    /// Pixels of a point of the screen that the window is on.
    pub pixels_per_point: f32,
    /// Pixels of a point of the panel: that of the screen times the zoom of the panel.
    pub points_to_pixels: f32,
    pub layers: Layers,
    pub prefs: Prefs,
    pub playing: bool,
    /// Simulated seconds per second.
    pub speed: f64,
    /// Steps still to do for step commands, also while paused.
    pub owed: u64,
    pub pointer: Pointer,
    /// Active tool, drawing in progress and selected body.
    pub build: Build,
    pub figures: Figures,
    pub watch: WatchedBodies,
    pub recording: Option<Recording>,
    pub show_keys: bool,
    pub fold: Fold,
    /// Shape of the pointer over the world.
    pub cursor: &'static str,
    /// True if keys belong to a text field or an open list of the panel.
    pub typing: bool,
    pub search: String,
    /// Text in the field for the path of a file to open.
    pub path: String,
    /// Text in the field for the path of files to write; empty for names of their own.
    pub save_path: String,
    /// File that is there already, and the time until which saving it again replaces it.
    pub replaces: Option<(PathBuf, Instant)>,
    pub thumbs: Thumbs,
    /// Measurements that the open sections of the panel show.
    pub wants: Wants,
    pub quit: bool,
    pub queue: Vec<Action>,
    /// Scenes opened so far.
    pub opened: u64,
    note: Option<ShownMessage>,
    /// File that cannot be opened, until it is corrected or another scene is opened.
    pub fault: Option<BrokenFile>,
    /// Frames drawn.
    pub frames: u64,
    /// Frames drawn while a scene was being opened or a world was away for a long job.
    pub meanwhile: u64,
    /// Running mean of the time from frame to frame, ms.
    pub frame_ms: f64,
    /// Folder for the files that the window writes.
    pub folder: PathBuf,
    pub fit: Fit,
    pub camera_follow: CameraFollow,
    /// True if the window switched sleep on in a scene that does not enable it.
    pub overridden: bool,
}

/// Message to the user.
#[derive(Debug)]
struct ShownMessage {
    text: String,
    since: Instant,
    /// Frame in which it was said.
    frame: u64,
}

/// Scene file that cannot be opened.
#[derive(Clone, Debug)]
pub(crate) struct BrokenFile {
    /// The file; it is watched, and opened as soon as it is valid.
    pub source: SceneSource,
    /// The error, with its line.
    pub text: String,
}

/// Measurements that are shown at the moment; others are left out or made seldom.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub stages: bool,
    pub quality: bool,
}

impl App {
    /// Makes the state of a window, with an empty world, and begins to open its first scene.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn new(
        context: Context,
        format: wgpu::TextureFormat,
        source: SceneSource,
        on: On,
        threads: usize,
        prefs: Prefs,
        wake: WakeCallback,
    ) -> Result<Self, WorldError> {
        let nothing = WorldRun::start(Arc::new(Scene::new("")), On::Cpu, &context, 1, &Cancel::default())?;
        let nothing = nothing.ok_or_else(|| WorldError::Kernel("there is no world".to_owned()))?;
        let mut app = Self {
            drawing: Drawing::new(&context, format),
            inspector: Inspector::new(context.device())?,
            joints: PointedJoints::default(),
            context,
            threads,
            source: source.clone(),
            run: WorkerHandle::new(nothing),
            twin: None,
            opening: None,
            jobs: OpeningThreads::default(),
            left: LeftWorlds::default(),
            failed: None,
            first_on: on,
            background_job: None,
            undoing: false,
            wake,
            patient: false,
            frame_pacing: FramePacing::default(),
            camera: Camera::default(),
            pixels_per_point: 1.0,
            points_to_pixels: 1.0,
            layers: Layers::default(),
            prefs,
            playing: true,
            speed: 1.0,
            owed: 0,
            pointer: Pointer::default(),
            build: Build::default(),
            figures: Figures::default(),
            watch: WatchedBodies::default(),
            recording: None,
            show_keys: false,
            fold: Fold::default(),
            cursor: "",
            typing: false,
            search: String::new(),
            path: String::new(),
            save_path: String::new(),
            replaces: None,
            thumbs: Thumbs::default(),
            wants: Wants::default(),
            quit: false,
            queue: Vec::new(),
            opened: 0,
            note: None,
            fault: None,
            frames: 0,
            meanwhile: 0,
            frame_ms: 0.0,
            folder: PathBuf::from("."),
            fit: Fit::Done,
            camera_follow: CameraFollow::default(),
            overridden: false,
        };
        app.layers_from_prefs();
        app.begin_to_open(source, Why::Asked, None);
        Ok(app)
    }

    fn layers_from_prefs(&mut self) {
        for name in Layers::NAMES {
            if let Some(switch) = self.layers.switch(name) {
                *switch = self.prefs.layers.iter().any(|on| on == name);
            }
        }
        let coloring = Coloring::ALL.into_iter().find(|coloring| coloring.name() == self.prefs.coloring);
        self.layers.coloring = coloring.filter(|&coloring| coloring != Coloring::Difference).unwrap_or_default();
    }

    /// Copies layers and colouring to the remembered choices.
    pub fn layers_to_prefs(&mut self) {
        let mut layers = self.layers;
        self.prefs.layers = Layers::NAMES
            .into_iter()
            .filter(|name| layers.switch(name).is_some_and(|on| *on))
            .map(str::to_owned)
            .collect();
        if self.layers.coloring != Coloring::Difference {
            self.layers.coloring.name().clone_into(&mut self.prefs.coloring);
        }
    }

    /// Puts the scene first in the list of recent scenes.
    pub fn remember_scene(&mut self) {
        // A scene given by the caller cannot be opened by name.
        if matches!(self.source, SceneSource::Given(_)) {
            return;
        }
        let spec = self.source.spec();
        self.prefs.recent.retain(|known| *known != spec);
        self.prefs.recent.insert(0, spec);
        self.prefs.recent.truncate(8);
    }

    /// Colours of the picture.
    pub fn style(&self) -> Style {
        if self.prefs.dark { Style::dark() } else { Style::light() }
    }

    /// Title of the window.
    pub fn window_title(&self) -> String {
        if self.opened == 0 { "Drystone".to_owned() } else { format!("{} – Drystone", self.source.title()) }
    }

    /// Shows a message to the user for a few seconds.
    pub fn say(&mut self, text: impl Into<String>) {
        self.note = Some(ShownMessage { text: text.into(), since: Instant::now(), frame: self.frames });
    }

    /// Ends the message, which is about a world that is shown no longer.
    pub fn forget_note(&mut self) {
        self.note = None;
    }

    /// Says that a change has discarded later steps, after what was said about the change in this frame.
    pub fn tell_discarded(&mut self) {
        let Some(step) = self.run.here_mut().and_then(WorldRun::take_discarded) else { return };
        let text = format!("steps after {step} are discarded");
        match self.note.take().filter(|note| note.frame == self.frames) {
            Some(note) => self.say(format!("{} · {text}", note.text)),
            None => self.say(format!("{text}: the world was changed there")),
        }
    }

    /// Message shown now.
    pub fn note(&self) -> Option<&str> {
        self.note.as_ref().filter(|note| note.since.elapsed() < NOTE).map(|note| note.text.as_str())
    }

    /// Kind and name of the device. A software adapter is never called a GPU.
    pub fn device_name(&self) -> String {
        let info = self.context.info();
        let kind = if is_software(info) { "software adapter" } else { "GPU" };
        format!("{kind} {}", info.name)
    }

    /// Name of a backend on this device.
    pub fn backend_name(&self, on: On) -> &'static str {
        match on {
            On::Cpu => "CPU",
            On::Gpu if is_software(self.context.info()) => "software adapter",
            On::Gpu => "GPU",
        }
    }

    /// Handles of the worlds that are shown: one or two.
    pub fn workers(&self) -> Vec<&WorkerHandle> {
        std::iter::once(&self.run).chain(&self.twin).collect()
    }

    /// Number of worlds that are shown, 1 or 2.
    pub fn worlds(&self) -> usize {
        1 + usize::from(self.twin.is_some())
    }

    /// Returns true if no world is away or in the middle of a step, and all are at the same step: only then may they be
    /// queried or changed.
    pub fn is_settled(&self) -> bool {
        let between = |worker: &WorkerHandle| !worker.is_away() && !worker.is_mid_step();
        self.frame_pacing.follow == 0
            && between(&self.run)
            && self.twin.as_ref().is_none_or(|twin| between(twin) && !self.seeks() && twin.steps() == self.run.steps())
    }

    /// Returns true while a world is on its way to a step it was sent to.
    pub fn seeks(&self) -> bool {
        self.workers().iter().any(|worker| worker.target().is_some())
    }

    /// Returns true if something moves, so that frames must follow one another.
    pub fn is_busy(&self) -> bool {
        self.playing
            || self.owed > 0
            || self.seeks()
            || !self.is_settled()
            || self.pointer.is_busy()
            || self.watch.is_busy()
            || self.joints.is_busy()
            || self.build.joint.as_ref().is_some_and(JointSelection::is_busy)
            || self.camera_follow.moves()
            || self.recording.is_some()
    }

    /// Length of a step, s.
    pub fn dt(&self) -> f64 {
        f64::from(self.run.scene().settings.dt)
    }

    /// Measures the quality of the first world at its present step.
    pub fn measure(&mut self) {
        if let Some(run) = self.run.here_mut() {
            self.figures.measure(run);
        }
    }

    /// Uploads the present state of worlds on the CPU, to be drawn.
    pub fn refresh(&mut self) {
        let workers: Vec<&WorkerHandle> = std::iter::once(&self.run).chain(&self.twin).collect();
        if let Err(error) = self.drawing.refresh(&workers, self.layers.needs_tables()) {
            self.say(error.to_string());
        }
    }

    /// Prepares the pictures of this frame.
    ///
    /// # Errors
    /// As [`Drawing::prepare`].
    pub fn prepare(&mut self, encoder: &mut wgpu::CommandEncoder, scale: f32) -> Result<(), DrawError> {
        let mut layers = self.layers;
        layers.line_scale = scale;
        // The selected body stays highlighted at any place of the pointer.
        let selected = self.build.selection.as_ref().map(|selection| selection.id.index);
        let has_joint = self.build.joint.is_some() || self.told_joint().is_some();
        layers.highlight = selected.or_else(|| self.pointer.highlighted().filter(|_| !has_joint));
        let style = self.style();
        let camera = self.camera;
        if self.is_settled() {
            self.refresh();
            self.drawing.release();
        }
        let workers: Vec<&WorkerHandle> = std::iter::once(&self.run).chain(&self.twin).collect();
        self.drawing.prepare(&self.context, encoder, &workers, &camera, &style, &layers)
    }

    /// Facts about the first world, known also while it is away.
    pub fn facts(&self) -> &RunFacts {
        self.run.facts()
    }

    /// Pauses after an error, and ends a comparison: the two worlds may be at different steps.
    pub fn stop(&mut self) {
        self.playing = false;
        self.owed = 0;
        self.frame_pacing.follow = 0;
        self.drop_twin();
    }

    /// Continues on a new device after the old one was lost. A world on the CPU stays as it is; one on the device is
    /// stepped again from its start to where it was. A scene that was being opened is begun again.
    ///
    /// # Errors
    /// If the world does not fit the new device.
    pub fn revive(&mut self, context: Context, format: wgpu::TextureFormat) -> Result<(), WorldError> {
        // A job on a lost device fails soon.
        if let Some(background_job) = self.background_job.take() {
            background_job.cancel();
            let _ = self.run.take_back(None);
        }
        self.context = context;
        self.thumbs.forget_textures();
        self.drawing = Drawing::new(&self.context, format);
        self.inspector = Inspector::new(self.context.device())?;
        self.pointer = Pointer::default();
        self.joints = PointedJoints::default();
        self.build.of_another_world();
        self.watch.lose_device();
        self.camera_follow.forget();
        self.twin = None;
        self.recording = None;
        self.frame_pacing = self.frame_pacing.of_another_world();
        self.left.revive(&self.context);
        self.open_on_another_device();
        self.run.revive(&self.context)
    }

    /// Ends all work on the device before the window closes: a driver that is unloaded while a thread uses it crashes.
    pub fn leave(&mut self) {
        let end = Instant::now() + LEAVE;
        self.opening = None;
        if let Some(background_job) = self.background_job.take() {
            background_job.cancel();
            for worker in std::iter::once(&mut self.run).chain(&mut self.twin) {
                let _ = worker.take_back(Some(end.saturating_duration_since(Instant::now())));
            }
        }
        while self.jobs.are_on_device() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
