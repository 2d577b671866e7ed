//! The state of a window, without the window: a scene that runs, the camera, what is drawn, and what was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use glam::Vec2;

use super::action::Action;
use super::drawing::{Drawing, split};
use super::export::Recording;
use super::figures::Figures;
use super::inspect::Inspector;
use super::pointer::Pointer;
use super::prefs::Prefs;
use super::run::{On, Run};
use super::source::Source;
use crate::draw::{Camera, Coloring, DrawError, Layers, Style};
use crate::gpu::{Context, is_software};
use crate::scene::Scene;
use crate::world::{World, WorldError};

/// Steps a frame at most, when the world has fallen behind: after that it runs slower than time, and not otherwise.
const MOST_STEPS: u32 = 8;
/// A frame stops stepping after this long; one step is always done.
const STEP_BUDGET: Duration = Duration::from_millis(24);
/// Steps on the device that are not done yet, at most. More would only make the window answer later.
const MOST_IN_FLIGHT: u64 = 2;
/// One in so many steps is measured on the GPU, for which it is waited for.
const PROFILE_EVERY: u64 = 24;
/// Steps from one measurement of the quality to the next.
const QUALITY_EVERY: u64 = 30;
/// How long a message stays.
const NOTE: Duration = Duration::from_secs(6);

/// All that a window shows and does.
#[derive(Debug)]
pub(crate) struct App {
    pub context: Context,
    format: wgpu::TextureFormat,
    pub drawing: Drawing,
    pub inspector: Inspector,
    pub threads: usize,
    pub source: Source,
    pub run: Run,
    /// The same scene on the other backend, beside the first.
    pub twin: Option<Run>,
    pub camera: Camera,
    pub layers: Layers,
    pub prefs: Prefs,
    pub playing: bool,
    /// Simulated seconds a second.
    pub speed: f64,
    /// Simulated seconds that are due.
    due: f64,
    /// Steps to be done whether it runs or not.
    pub owed: u64,
    pub pointer: Pointer,
    pub figures: Figures,
    pub recording: Option<Recording>,
    pub show_keys: bool,
    pub search: String,
    /// Whether the panel wants stage times, and quality.
    pub wants: Wants,
    pub quit: bool,
    pub queue: Vec<Action>,
    note: Option<(String, Instant)>,
    /// Frames drawn.
    pub frames: u64,
    /// ms from frame to frame, averaged.
    pub frame_ms: f64,
    submitted: Arc<AtomicU64>,
    /// ns that the device took for a step of late, with the pictures between.
    device_ns: Arc<AtomicU64>,
    sent: u64,
    /// Where files go.
    pub folder: PathBuf,
    fit: Fit,
    /// What the scene said of sleep before the window switched it on.
    pub overridden: bool,
}

/// What is worth measuring: what somebody looks at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    pub stages: bool,
    pub quality: bool,
}

/// Whether the camera has yet to be put where it sees the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Done,
    Wanted,
}

impl App {
    /// Opens a scene, not drawn yet.
    ///
    /// # Errors
    /// If it is not valid or does not fit.
    pub fn new(
        context: Context,
        format: wgpu::TextureFormat,
        source: Source,
        on: On,
        threads: usize,
        prefs: Prefs,
    ) -> Result<Self, String> {
        let scene = source.build()?;
        let (scene, overridden) = with_sleep(scene, &prefs);
        let run = Run::start(Arc::new(scene), on, &context, threads).map_err(|error| error.to_string())?;
        let mut app = Self {
            drawing: Drawing::new(&context, format),
            inspector: Inspector::new(context.device()),
            context,
            format,
            threads,
            source,
            run,
            twin: None,
            camera: Camera::default(),
            layers: Layers::default(),
            prefs,
            playing: true,
            speed: 1.0,
            due: 0.0,
            owed: 0,
            pointer: Pointer::default(),
            figures: Figures::default(),
            recording: None,
            show_keys: false,
            search: String::new(),
            wants: Wants::default(),
            quit: false,
            queue: Vec::new(),
            note: None,
            frames: 0,
            frame_ms: 0.0,
            submitted: Arc::default(),
            device_ns: Arc::default(),
            sent: 0,
            folder: PathBuf::from("."),
            fit: Fit::Wanted,
            overridden,
        };
        app.layers_from_prefs();
        app.remember_scene();
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

    fn remember_scene(&mut self) {
        let spec = self.source.spec();
        self.prefs.recent.retain(|known| *known != spec);
        self.prefs.recent.insert(0, spec);
        self.prefs.recent.truncate(8);
    }

    /// Colours of the world.
    pub fn style(&self) -> Style {
        if self.prefs.dark { Style::dark() } else { Style::light() }
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
    pub fn runs(&self) -> Vec<&Run> {
        std::iter::once(&self.run).chain(&self.twin).collect()
    }

    /// Whether something moves, so that frames must go on.
    pub fn is_busy(&self) -> bool {
        self.playing
            || self.owed > 0
            || self.run.target().is_some()
            || self.pointer.is_busy()
            || self.recording.is_some()
    }

    /// Starts another scene, or the same anew.
    ///
    /// # Errors
    /// If it is not valid or does not fit; then all is as it was.
    pub fn open(&mut self, source: Source) -> Result<(), String> {
        let scene = source.build()?;
        let (scene, overridden) = with_sleep(scene, &self.prefs);
        let same = source.spec() == self.source.spec();
        let run = Run::start(Arc::new(scene), self.run.on(), &self.context, self.threads).map_err(|e| e.to_string())?;
        self.run = run;
        self.overridden = overridden;
        self.source = source;
        self.twin = None;
        if self.layers.coloring == Coloring::Difference {
            self.layers.coloring = Coloring::Body;
        }
        self.pointer = Pointer::default();
        self.figures.clear();
        self.owed = 0;
        self.due = 0.0;
        if !same {
            self.fit = Fit::Wanted;
            self.remember_scene();
        }
        Ok(())
    }

    /// The part of the window that shows the world, px.
    pub fn place(&mut self, origin: Vec2, size: [u32; 2]) {
        let size = [size[0].max(1), size[1].max(1)];
        if self.fit == Fit::Done && self.camera.size != size {
            // What was in the middle stays there, as large as it was.
            self.camera.size = size;
        }
        if self.fit == Fit::Wanted {
            let compiled = self.run.world().compiled();
            let (poses, shapes) = compiled.with_what_comes(&compiled.poses);
            let part = split(&Camera { size, ..Camera::default() }, self.runs().len())[0].size;
            self.camera = Camera { size, ..Camera::fit_scene(&poses, &shapes, part) };
            self.fit = Fit::Done;
        }
        self.camera.origin = origin;
    }

    /// A place in the world under a pixel, whichever of two worlds it is in.
    pub fn world_at(&self, pixel: Vec2) -> Vec2 {
        let cameras = split(&self.camera, self.runs().len());
        let over = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first());
        over.map_or(Vec2::ZERO, |camera| camera.to_world(pixel))
    }

    /// Frames the world as it is: on the GPU as soon as its poses have arrived.
    pub fn frame_all(&mut self) {
        match self.run.world() {
            World::Cpu(world) => {
                let poses = world.poses().to_vec();
                self.look_at(&poses);
            }
            World::Gpu(world) => {
                let device = self.context.device();
                let poses = world.draw_inputs().poses;
                let mut encoder =
                    device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame all") });
                let bytes = world.compiled().poses.len() as u64 * size_of::<crate::types::Pose>() as u64;
                if bytes > 0 {
                    let arrival = crate::gpu::Arrival::send(device, &mut encoder, poses, bytes, None);
                    self.context.note_sent(1, bytes);
                    self.context.queue().submit([encoder.finish()]);
                    self.pointer.poses = Some(arrival);
                }
            }
        }
    }

    /// Puts the camera where it sees bodies at these poses.
    pub fn look_at(&mut self, poses: &[crate::types::Pose]) {
        let shapes = &self.run.world().compiled().shapes;
        let part = split(&self.camera, self.runs().len())[0].size;
        let Camera { center, metres_per_pixel, .. } = Camera::fit_scene(poses, shapes, part);
        self.camera = Camera { center, metres_per_pixel, ..self.camera };
    }

    /// Lets time pass: real seconds since the last frame. Steps are always as long as the scene says; a slow frame makes
    /// fewer of them.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn advance(&mut self, seconds: f64) -> Result<(), WorldError> {
        self.context.poll(wgpu::PollType::Poll)?;
        let begin = Instant::now();
        let dt = f64::from(self.run.world().compiled().settings.dt);
        let mut steps = self.owed;
        if self.playing {
            self.due = (self.due + seconds * self.speed).min(dt * f64::from(MOST_STEPS));
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MOST_STEPS")]
            let due = (self.due / dt + 1e-6).floor() as u64;
            steps += due;
        }
        if let Some(target) = self.run.target() {
            steps = steps.max(target - self.run.steps().min(target));
        }
        let mut done = 0;
        let most = if self.in_flight() < MOST_IN_FLIGHT { self.most_steps() } else { 0 };
        while done < steps.min(most) && (done == 0 || begin.elapsed() < STEP_BUDGET) {
            self.one_step()?;
            done += 1;
        }
        let owed = done.min(self.owed);
        self.owed -= owed;
        #[allow(clippy::cast_precision_loss, reason = "a few steps")]
        let used = (done - owed) as f64 * dt;
        self.due = (self.due - used).max(0.0);
        // What could not be done in time is let go of: the world runs slower, not otherwise.
        self.due = self.due.min(dt * 1.999);
        if done > 0 {
            self.note_submission(done);
        }
        if self.wants.quality && Figures::measures_itself(&self.run) && self.run.steps().is_multiple_of(QUALITY_EVERY) {
            self.figures.measure(&mut self.run);
        }
        self.figures.poll();
        Ok(())
    }

    fn one_step(&mut self) -> Result<(), WorldError> {
        let on_cpu = self.run.on() == On::Cpu;
        let profiled = self.wants.stages
            && !on_cpu
            && self.context.has_timestamps()
            && self.run.steps().is_multiple_of(PROFILE_EVERY);
        self.run.step_measured(profiled)?;
        if self.wants.stages && (profiled || on_cpu) {
            self.figures.note(&self.run);
        }
        if let Some(twin) = &mut self.twin {
            twin.step()?;
        }
        self.pointer.stepped(&mut self.run, &mut self.twin);
        self.record_frame();
        Ok(())
    }

    fn in_flight(&self) -> u64 {
        self.sent - self.submitted.load(Ordering::Acquire).min(self.sent)
    }

    /// Steps that the device is expected to do within the time of a frame, at least one. The window waits for what it was
    /// given before it can show anything.
    fn most_steps(&self) -> u64 {
        let each = self.device_ns.load(Ordering::Acquire).max(1);
        (u64::try_from(STEP_BUDGET.as_nanos()).unwrap_or(u64::MAX) / each).max(1)
    }

    /// Marks where the device is, and learns how long it takes.
    fn note_submission(&mut self, steps: u64) {
        if self.run.on() == On::Cpu && self.twin.is_none() {
            return;
        }
        self.sent += 1;
        let (mark, reached, each, begin) = (self.sent, self.submitted.clone(), self.device_ns.clone(), Instant::now());
        self.context.queue().on_submitted_work_done(move || {
            reached.fetch_max(mark, Ordering::AcqRel);
            each.store(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX) / steps.max(1), Ordering::Release);
        });
    }

    /// Prepares the pictures of this frame.
    ///
    /// # Errors
    /// As [`Drawing::prepare`].
    pub fn prepare(&mut self, encoder: &mut wgpu::CommandEncoder, scale: f32) -> Result<(), DrawError> {
        let mut layers = self.layers;
        layers.line_scale = scale;
        layers.highlight = self.pointer.highlighted();
        let mut style = self.style();
        style.outline *= scale.max(1.0);
        let camera = self.camera;
        let runs: Vec<&Run> = std::iter::once(&self.run).chain(&self.twin).collect();
        self.drawing.prepare(&self.context, encoder, &runs, &camera, &style, &layers)
    }

    /// Goes on after a device was lost: a world on the CPU as it is, one that was on the device from its start to where it
    /// was.
    ///
    /// # Errors
    /// If the new device cannot hold it.
    pub fn revive(&mut self, context: Context, format: wgpu::TextureFormat) -> Result<(), WorldError> {
        self.context = context;
        self.format = format;
        self.drawing = Drawing::new(&self.context, format);
        self.inspector = Inspector::new(self.context.device());
        self.pointer = Pointer::default();
        self.twin = None;
        self.recording = None;
        self.submitted = Arc::default();
        self.device_ns = Arc::default();
        self.sent = 0;
        self.figures.rebase();
        self.run.revive(&self.context)
    }
}

/// A scene as the window runs it: bodies sleep unless the user wants otherwise. Whether that changed it.
fn with_sleep(mut scene: Scene, prefs: &Prefs) -> (Scene, bool) {
    let changed = prefs.sleep && !scene.settings.sleep;
    scene.settings.sleep |= prefs.sleep;
    (scene, changed)
}
