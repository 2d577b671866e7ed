//! The state of a window, without the window: a scene that runs, the camera, what is drawn, and what was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::action::Action;
use super::build::Build;
use super::cancel::Cancel;
use super::drawing::Drawing;
use super::errands::Errand;
use super::export::Recording;
use super::figures::Figures;
use super::inspect::Inspector;
use super::left::LeftWorlds;
use super::opening::{Jobs, Opening, Why};
use super::pace::Pace;
use super::panel::Fold;
use super::pointer::Pointer;
use super::prefs::Prefs;
use super::run::{On, Run};
use super::seat::{Facts, Seat, Wake};
use super::sight::{Fit, Sight};
use super::source::Source;
use super::thumbs::Thumbs;
use super::watch::Watch;
use drystone::Context;
use drystone::Scene;
use drystone::WorldError;
use drystone::low_level::gpu::is_software;
use drystone_draw::{Camera, Coloring, DrawError, Layers, Style};

/// How long a message stays.
const NOTE: Duration = Duration::from_secs(6);
/// How long a window that is closed waits for what it has begun on the device.
const LEAVE: Duration = Duration::from_secs(20);

/// All that a window shows and does.
#[derive(Debug)]
pub(crate) struct App {
    pub context: Context,
    pub drawing: Drawing,
    pub inspector: Inspector,
    pub threads: usize,
    pub source: Source,
    pub run: Seat,
    /// The same scene on the other backend, beside the first.
    pub twin: Option<Seat>,
    /// A scene that takes the place of the one that runs as soon as it is there.
    pub opening: Option<Opening>,
    /// Threads that open scenes.
    pub jobs: Jobs,
    /// Worlds that were left for other scenes, and can be gone back to.
    pub left: LeftWorlds,
    /// Why the first scene could not be opened: there is nothing to show.
    pub failed: Option<String>,
    /// Where the first scene is to run.
    pub first_on: On,
    /// What worlds are away for, if that takes long.
    pub errand: Option<Errand>,
    /// A change is being undone: the world is on its way to the step before it.
    pub undoing: bool,
    /// Told when a world has come back.
    pub wake: Wake,
    /// Waits for worlds within a frame, as scripts do: what happens in which frame then does not depend on speed.
    pub patient: bool,
    pub pace: Pace,
    pub camera: Camera,
    /// Of the screen that it is on.
    pub pixels_per_point: f32,
    /// Pixels of a point of the panel: that of the screen times the zoom of the panel.
    pub points_to_pixels: f32,
    pub layers: Layers,
    pub prefs: Prefs,
    pub playing: bool,
    /// Simulated seconds a second.
    pub speed: f64,
    /// Steps to be done whether it runs or not.
    pub owed: u64,
    pub pointer: Pointer,
    /// The tool in the hand, and the body that is selected.
    pub build: Build,
    pub figures: Figures,
    pub watch: Watch,
    pub recording: Option<Recording>,
    pub show_keys: bool,
    pub fold: Fold,
    /// Shape of the pointer over the world.
    pub cursor: &'static str,
    /// Whether keys went to a field of the panel.
    pub typing: bool,
    pub search: String,
    pub thumbs: Thumbs,
    /// Whether the panel wants stage times, and quality.
    pub wants: Wants,
    pub quit: bool,
    pub queue: Vec<Action>,
    /// Scenes opened so far.
    pub opened: u64,
    note: Option<(String, Instant)>,
    /// A file that cannot be opened, until it can be or another scene is.
    pub fault: Option<BrokenFile>,
    /// Frames drawn.
    pub frames: u64,
    /// Those that were drawn while a world was made.
    pub meanwhile: u64,
    /// ms from frame to frame, averaged.
    pub frame_ms: f64,
    /// Where files go.
    pub folder: PathBuf,
    pub fit: Fit,
    pub sight: Sight,
    /// What the scene said of sleep before the window switched it on.
    pub overridden: bool,
}

/// A file that cannot be opened.
#[derive(Clone, Debug)]
pub(crate) struct BrokenFile {
    /// Watched, and opened as soon as it is right.
    pub source: Source,
    /// The mistake, with its line.
    pub text: String,
}

/// What is worth measuring: what somebody looks at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub stages: bool,
    pub quality: bool,
}

impl App {
    /// Begins to open a scene.
    ///
    /// # Errors
    /// If there can be no world at all.
    pub fn new(
        context: Context,
        format: wgpu::TextureFormat,
        source: Source,
        on: On,
        threads: usize,
        prefs: Prefs,
        wake: Wake,
    ) -> Result<Self, WorldError> {
        let nothing = Run::start(Arc::new(Scene::new("")), On::Cpu, &context, 1, &Cancel::default())?;
        let nothing = nothing.ok_or_else(|| WorldError::Kernel("there is no world".to_owned()))?;
        let mut app = Self {
            drawing: Drawing::new(&context, format),
            inspector: Inspector::new(context.device())?,
            context,
            threads,
            source: source.clone(),
            run: Seat::new(nothing),
            twin: None,
            opening: None,
            jobs: Jobs::default(),
            left: LeftWorlds::default(),
            failed: None,
            first_on: on,
            errand: None,
            undoing: false,
            wake,
            patient: false,
            pace: Pace::default(),
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
            watch: Watch::default(),
            recording: None,
            show_keys: false,
            fold: Fold::default(),
            cursor: "",
            typing: false,
            search: String::new(),
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
            sight: Sight::default(),
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

    /// Keeps what is on among the remembered choices.
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

    pub fn remember_scene(&mut self) {
        // Only what can be opened by its name.
        if matches!(self.source, Source::Given(_)) {
            return;
        }
        let spec = self.source.spec();
        self.prefs.recent.retain(|known| *known != spec);
        self.prefs.recent.insert(0, spec);
        self.prefs.recent.truncate(8);
    }

    /// Colours of the world.
    pub fn style(&self) -> Style {
        if self.prefs.dark { Style::dark() } else { Style::light() }
    }

    /// Title of the window.
    pub fn window_title(&self) -> String {
        if self.opened == 0 { "Drystone".to_owned() } else { format!("{} – Drystone", self.source.title()) }
    }

    /// Says something to the user for a while.
    pub fn say(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), Instant::now()));
    }

    /// What is to be said now.
    pub fn note(&self) -> Option<&str> {
        self.note.as_ref().filter(|(_, since)| since.elapsed() < NOTE).map(|(text, _)| text.as_str())
    }

    /// What the device is, in words. A software adapter is never called a GPU.
    pub fn device_name(&self) -> String {
        let info = self.context.info();
        let kind = if is_software(info) { "software adapter" } else { "GPU" };
        format!("{kind} {}", info.name)
    }

    /// What the first world runs on.
    pub fn backend_name(&self, on: On) -> &'static str {
        match on {
            On::Cpu => "CPU",
            On::Gpu if is_software(self.context.info()) => "software adapter",
            On::Gpu => "GPU",
        }
    }

    /// All worlds that are shown.
    pub fn seats(&self) -> Vec<&Seat> {
        std::iter::once(&self.run).chain(&self.twin).collect()
    }

    /// How many.
    pub fn worlds(&self) -> usize {
        1 + usize::from(self.twin.is_some())
    }

    /// Whether all worlds are here, between two steps and at the same one: only then may anything be asked of them.
    pub fn is_settled(&self) -> bool {
        let between = |seat: &Seat| !seat.is_away() && !seat.is_mid_step();
        self.pace.follow == 0
            && between(&self.run)
            && self.twin.as_ref().is_none_or(|twin| between(twin) && !self.seeks() && twin.steps() == self.run.steps())
    }

    /// Whether a world is on its way to a step it was sent to.
    pub fn seeks(&self) -> bool {
        self.seats().iter().any(|seat| seat.target().is_some())
    }

    /// Whether something moves, so that frames must go on.
    pub fn is_busy(&self) -> bool {
        self.playing
            || self.owed > 0
            || self.seeks()
            || !self.is_settled()
            || self.pointer.is_busy()
            || self.watch.is_busy()
            || self.sight.moves()
            || self.recording.is_some()
    }

    /// Length of a step, s.
    pub fn dt(&self) -> f64 {
        f64::from(self.run.scene().settings.dt)
    }

    /// Measures the quality of the world as it is.
    pub fn measure(&mut self) {
        if let Some(run) = self.run.here_mut() {
            self.figures.measure(run);
        }
    }

    /// Uploads what a world on the CPU has come to.
    pub fn refresh(&mut self) {
        let seats: Vec<&Seat> = std::iter::once(&self.run).chain(&self.twin).collect();
        if let Err(error) = self.drawing.refresh(&seats, self.layers.needs_tables()) {
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
        // The selected body stays set off, wherever the pointer is.
        let selected = self.build.selection.as_ref().map(|selection| selection.id.index);
        layers.highlight = selected.or_else(|| self.pointer.highlighted());
        let style = self.style();
        let camera = self.camera;
        if self.is_settled() {
            self.refresh();
            self.drawing.release();
        }
        let seats: Vec<&Seat> = std::iter::once(&self.run).chain(&self.twin).collect();
        self.drawing.prepare(&self.context, encoder, &seats, &camera, &style, &layers)
    }

    /// What is told of the first world.
    pub fn facts(&self) -> &Facts {
        self.run.facts()
    }

    /// Stops where it is, after something went wrong; two worlds may have parted then.
    pub fn stop(&mut self) {
        self.playing = false;
        self.owed = 0;
        self.pace.follow = 0;
        self.drop_twin();
    }

    /// Goes on after a device was lost: a world on the CPU as it is, one that was on the device from its start to where it
    /// was. A scene that was about to be opened is begun again.
    ///
    /// # Errors
    /// If the new device cannot hold it.
    pub fn revive(&mut self, context: Context, format: wgpu::TextureFormat) -> Result<(), WorldError> {
        // What it was away for ends soon, as the device is lost.
        if let Some(errand) = self.errand.take() {
            errand.cancel();
            let _ = self.run.take_back(None);
        }
        self.context = context;
        self.thumbs.forget_textures();
        self.drawing = Drawing::new(&self.context, format);
        self.inspector = Inspector::new(self.context.device())?;
        self.pointer = Pointer::default();
        self.build.of_another_world();
        self.watch.lose_device();
        self.sight.forget();
        self.twin = None;
        self.recording = None;
        self.pace = self.pace.of_another_world();
        self.left.revive(&self.context);
        self.open_on_another_device();
        self.run.revive(&self.context)
    }

    /// The window is closed. Nothing is at work on the device any more when this returns: a driver that is unloaded
    /// meanwhile would fall over it.
    pub fn leave(&mut self) {
        let end = Instant::now() + LEAVE;
        self.opening = None;
        if let Some(errand) = self.errand.take() {
            errand.cancel();
            for seat in std::iter::once(&mut self.run).chain(&mut self.twin) {
                let _ = seat.take_back(Some(end.saturating_duration_since(Instant::now())));
            }
        }
        while self.jobs.are_on_device() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
