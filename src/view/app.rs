//! The state of a window, without the window: a scene that runs, the camera, what is drawn, and what was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use glam::Vec2;

use super::action::Action;
use super::drawing::{Drawing, split};
use super::export::Recording;
use super::figures::{Figures, Sample};
use super::inspect::Inspector;
use super::pointer::Pointer;
use super::prefs::Prefs;
use super::run::{On, Run};
use super::seat::{Facts, Order, Outcome, Seat, Wake};
use super::source::Source;
use crate::draw::{Camera, Coloring, DrawError, Layers, Style};
use crate::gpu::{Arrival, Context, is_software};
use crate::scene::Scene;
use crate::types::Pose;
use crate::world::{World, WorldError};

/// Steps a frame at most, when the world has fallen behind: after that it runs slower than time, and not otherwise.
const MOST_STEPS: u32 = 8;
/// A frame stops stepping after this long; one step is always done.
const STEP_BUDGET: Duration = Duration::from_millis(24);
/// Steps on the device that are not done yet, at most. More would only make the window answer later.
const MOST_IN_FLIGHT: u64 = 2;
/// A step on the device that takes longer than this is given to it in parts, ms.
const LONG: f64 = 40.0;
/// What a part takes at least, and at most, ms. Between them it is what a picture takes: half of the time is for each.
const PART: [f64; 2] = [24.0, 120.0];
/// What a step may take on a software adapter before one was measured, ms a body.
const GUESS: f64 = 0.01;
/// One in so many steps is measured on the device while somebody looks at the times.
const PROFILE_EVERY: u64 = 4;
/// And while nobody does.
const PROBE_EVERY: u64 = 24;
/// A world of which a frame's steps take less is waited for: the frame then shows them.
const QUICK: Duration = Duration::from_millis(5);
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
    pub run: Seat,
    /// The same scene on the other backend, beside the first.
    pub twin: Option<Seat>,
    /// Steps that the device still has to be given, to come to where the world on the CPU is or what was due.
    follow: u64,
    /// Whether those on the CPU are to be followed.
    paired: bool,
    /// Told when a world has come back.
    wake: Wake,
    /// Waits for all steps within a frame, as scripts do: what happens in which frame then does not depend on speed.
    pub patient: bool,
    /// What a frame's steps on the CPU took of late.
    took: Duration,
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
    /// Scenes opened so far.
    pub opened: u64,
    note: Option<(String, Instant)>,
    /// Frames drawn.
    pub frames: u64,
    /// ms that it takes until a picture is on the screen, averaged; without what the device does before it.
    picture_ms: f64,
    /// ms that the device is expected to take for the part of a step that it was given last.
    part_ms: f64,
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

/// Where bodies are.
#[derive(Debug)]
pub(crate) enum Poses {
    Here(Vec<Pose>),
    /// From the device.
    Coming(Arrival),
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
        wake: Wake,
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
            run: Seat::new(run),
            twin: None,
            follow: 0,
            paired: false,
            wake,
            patient: false,
            took: Duration::ZERO,
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
            opened: 0,
            note: None,
            frames: 0,
            picture_ms: 0.0,
            part_ms: 0.0,
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
        self.follow == 0
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
            || self.recording.is_some()
    }

    /// Whether nothing new can be shown before a world comes back or the device has done what it was given. Looks whether
    /// that has happened.
    pub fn must_wait(&mut self) -> bool {
        // What went wrong is found by the next frame.
        let _ = self.context.poll(wgpu::PollType::Poll);
        let away = self.run.is_still_away() || self.twin.as_mut().is_some_and(Seat::is_still_away);
        if away && self.follow == 0 {
            return true;
        }
        self.follow > 0 && self.in_flight() > 0
    }

    /// Whether the device has done what it was given of a step, and awaits the rest.
    pub fn awaits_parts(&self) -> bool {
        self.follow > 0 && self.seats().iter().any(|seat| seat.is_mid_step()) && self.in_flight() == 0
    }

    /// The world on the device, or the one on the CPU.
    fn seat_on(&mut self, on: On) -> Option<&mut Seat> {
        std::iter::once(&mut self.run).chain(&mut self.twin).find(|seat| seat.on() == on)
    }

    /// Length of a step, s.
    pub fn dt(&self) -> f64 {
        f64::from(self.run.scene().settings.dt)
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
        self.opened += 1;
        self.run = Seat::new(run);
        self.overridden = overridden;
        self.source = source;
        self.twin = None;
        self.follow = 0;
        self.paired = false;
        self.took = Duration::ZERO;
        self.device_ns = Arc::default();
        self.submitted = Arc::default();
        self.sent = 0;
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
        if self.fit == Fit::Wanted
            && let Some(run) = self.run.here()
        {
            let compiled = run.world().compiled();
            let (poses, shapes) = compiled.with_what_comes(&compiled.poses);
            let part = split(&Camera { size, ..Camera::default() }, self.worlds())[0].size;
            self.camera = Camera { size, ..Camera::fit_scene(&poses, &shapes, part) };
            self.fit = Fit::Done;
        }
        self.camera.origin = origin;
    }

    /// A place in the world under a pixel, whichever of two worlds it is in.
    pub fn world_at(&self, pixel: Vec2) -> Vec2 {
        let cameras = split(&self.camera, self.worlds());
        let over = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first());
        over.map_or(Vec2::ZERO, |camera| camera.to_world(pixel))
    }

    /// Frames the world as it is: on the GPU as soon as its poses have arrived.
    pub fn frame_all(&mut self) {
        match self.poses() {
            Some(Poses::Here(poses)) => self.look_at(&poses),
            Some(Poses::Coming(arrival)) => self.pointer.poses = Some(arrival),
            None => {}
        }
    }

    /// Where the bodies are: at once, or on their way from the device.
    pub fn poses(&self) -> Option<Poses> {
        let world = self.run.here()?.world();
        let World::Gpu(of) = world else {
            return Some(Poses::Here(if let World::Cpu(world) = world { world.poses().to_vec() } else { Vec::new() }));
        };
        let bytes = of.compiled().poses.len() as u64 * size_of::<Pose>() as u64;
        if bytes == 0 {
            return Some(Poses::Here(Vec::new()));
        }
        let device = self.context.device();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("poses") });
        let arrival = Arrival::send(device, &mut encoder, of.draw_inputs().poses, bytes, None);
        self.context.note_sent(1, bytes);
        self.context.queue().submit([encoder.finish()]);
        Some(Poses::Coming(arrival))
    }

    /// Puts the camera where it sees bodies at these poses.
    pub fn look_at(&mut self, poses: &[Pose]) {
        let Some(run) = self.run.here() else { return };
        let shapes = &run.world().compiled().shapes;
        let part = split(&self.camera, self.worlds())[0].size;
        let Camera { center, metres_per_pixel, .. } = Camera::fit_scene(poses, shapes, part);
        self.camera = Camera { center, metres_per_pixel, ..self.camera };
    }

    /// Takes back worlds that have come back, and gives the device what it has yet to be given of steps under way.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn go_on(&mut self) -> Result<(), WorldError> {
        self.context.poll(wgpu::PollType::Poll)?;
        self.take_back(Some(Duration::ZERO))?;
        self.give_device()?;
        self.take_times();
        Ok(())
    }

    /// Waits until all worlds are between two steps.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub fn settle(&mut self) -> Result<(), WorldError> {
        self.take_back(None)?;
        while self.follow > 0 {
            self.context.wait()?;
            let before = (self.follow, self.sent);
            self.give_device()?;
            if before == (self.follow, self.sent) {
                break;
            }
        }
        self.take_times();
        Ok(())
    }

    /// Lets time pass: real seconds since the last frame. Steps are always as long as the scene says; a slow frame makes
    /// fewer of them.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn advance(&mut self, seconds: f64) -> Result<(), WorldError> {
        let dt = self.dt();
        if self.playing {
            self.due = (self.due + seconds * self.speed).min(dt * f64::from(MOST_STEPS));
        }
        // A world that has yet to be looked at stays until it was, and one of which something is about to be known.
        if self.is_settled() && self.fit == Fit::Done && !self.pointer.stops_time() {
            self.begin(dt)?;
        } else if self.twin.is_some() && self.seeks() {
            self.seek_on();
        }
        // What could not be done in time is let go of: the world runs slower, not otherwise.
        self.due = self.due.min(dt * 1.999);
        if self.patient {
            self.settle()?;
        } else {
            self.give_device()?;
            if self.took < QUICK {
                self.take_back(Some(QUICK))?;
                self.give_device()?;
            }
        }
        if self.is_settled()
            && self.wants.quality
            && Figures::measures_itself(self.run.facts().bodies)
            && self.figures.is_due(self.run.steps())
        {
            self.measure();
        }
        self.figures.poll();
        Ok(())
    }

    /// Measures the quality of the world as it is.
    pub fn measure(&mut self) {
        if let Some(run) = self.run.here_mut() {
            self.figures.measure(run);
        }
    }

    /// Begins the steps that are due, all worlds being settled.
    fn begin(&mut self, dt: f64) -> Result<(), WorldError> {
        let mut due = 0;
        if self.playing {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MOST_STEPS")]
            let whole = (self.due / dt + 1e-6).floor() as u64;
            due = whole;
        }
        let mut steps = self.owed + due;
        if let Some(target) = self.run.target() {
            steps = steps.max(target - self.run.steps().min(target));
        }
        // A movie sees every step.
        if self.recording.is_some() {
            steps = steps.min(1);
        }
        self.paired = self.twin.is_some();
        let on_device = self.seat_on(On::Cpu).is_none();
        if on_device {
            steps = steps.min(if self.in_flight() < MOST_IN_FLIGHT { self.most_steps() } else { 0 });
        }
        if steps == 0 {
            return Ok(());
        }
        #[allow(clippy::cast_precision_loss, reason = "a few steps")]
        let used = steps.saturating_sub(self.owed).min(due) as f64 * dt;
        self.due = (self.due - used).max(0.0);
        if on_device {
            self.follow = steps;
            self.give_device()
        } else {
            self.refresh();
            self.lend(steps);
            Ok(())
        }
    }

    /// Sends two worlds on, each to where it was sent.
    fn seek_on(&mut self) {
        self.paired = false;
        let left = |seat: &Seat| seat.target().map(|target| target.saturating_sub(seat.steps()));
        if let Some(steps) = self.seat_on(On::Cpu).filter(|seat| !seat.is_away()).and_then(|seat| left(seat)) {
            self.lend(steps);
        }
        if self.follow == 0
            && let Some(steps) = self.seat_on(On::Gpu).and_then(|seat| left(seat))
        {
            self.follow = steps;
        }
    }

    /// Sends the world on the CPU away to be stepped.
    fn lend(&mut self, steps: u64) {
        let wake = self.wake.clone();
        let order = Order { steps, budget: STEP_BUDGET };
        if let Some(seat) = self.seat_on(On::Cpu) {
            seat.lend(order, &wake);
        }
    }

    /// The world on the CPU, if it is back within this time; `None`: however long that takes.
    fn take_back(&mut self, wait: Option<Duration>) -> Result<(), WorldError> {
        let Some(Outcome { steps, took, samples, result }) =
            self.seat_on(On::Cpu).and_then(|seat| seat.take_back(wait))
        else {
            return Ok(());
        };
        self.took = took;
        if self.paired {
            self.follow += steps;
        }
        if self.run.on() == On::Cpu {
            for sample in samples {
                self.figures.note(sample);
            }
            self.done(steps);
            self.record_frame();
        }
        result
    }

    /// So many steps of the first world are done.
    fn done(&mut self, steps: u64) {
        self.owed = self.owed.saturating_sub(steps);
    }

    /// Gives the device steps, or a part of one, as long as it has not too much to do already.
    fn give_device(&mut self) -> Result<(), WorldError> {
        let (begin, mut given) = (Instant::now(), 0);
        let leads = self.run.on() == On::Gpu;
        while self.follow > 0 {
            let step_ms = self.step_ms();
            let wants = self.wants.stages && leads;
            let Some(seat) = self.seat_on(On::Gpu) else { break };
            let mid_step = seat.is_mid_step();
            let parts = if step_ms > LONG && !self.patient {
                (step_ms / self.picture_ms.clamp(PART[0], PART[1])).ceil()
            } else {
                1.0
            };
            let in_parts = mid_step || parts > 1.0;
            let room = if in_parts { self.in_flight() == 0 } else { self.in_flight() < MOST_IN_FLIGHT };
            // Several whole steps are counted as one.
            if (in_parts && given > 0) || (given == 0 && !room) {
                break;
            }
            if in_parts && !mid_step {
                let of = if leads { &self.run } else { self.twin.as_ref().unwrap_or(&self.run) };
                self.drawing.keep(&self.context, of, &self.layers);
            }
            let Some(seat) = self.seat_on(On::Gpu) else { break };
            let Some(run) = seat.here_mut() else { break };
            let complete = if in_parts {
                run.step_part(1.0 / parts)?
            } else {
                let every = if wants { PROFILE_EVERY } else { PROBE_EVERY };
                let measured = run.steps().is_multiple_of(every);
                run.step_measured(measured)?;
                true
            };
            if complete {
                seat.follow();
                self.follow -= 1;
                if leads {
                    self.done(1);
                    self.record_frame();
                }
            }
            given += 1;
            if in_parts {
                self.part_ms = step_ms / parts;
                self.note_submission(None);
                return Ok(());
            }
            if begin.elapsed() > STEP_BUDGET {
                break;
            }
        }
        if given > 0 {
            self.note_submission(Some(given));
        }
        Ok(())
    }

    /// A picture was shown, this long after it was begun.
    pub fn painted(&mut self, took: Duration) {
        let before = if self.seats().iter().any(|seat| seat.is_mid_step()) { self.part_ms } else { 0.0 };
        self.picture_ms += 0.2 * ((1e3 * took.as_secs_f64() - before).max(0.0) - self.picture_ms);
    }

    /// What the device takes for a step, ms, as far as that is known.
    #[allow(clippy::cast_precision_loss, reason = "a time")]
    fn step_ms(&mut self) -> f64 {
        if is_software(self.context.info()) {
            let Some(seat) = self.seat_on(On::Gpu) else { return 0.0 };
            let bodies = seat.facts().bodies;
            let measured = match seat.here().map(Run::world) {
                Some(World::Gpu(world)) => world.measured_ms(),
                _ => None,
            };
            return measured.unwrap_or(bodies as f64 * GUESS);
        }
        self.device_ns.load(Ordering::Acquire) as f64 * 1e-6
    }

    /// Takes over how long stages took on the device.
    fn take_times(&mut self) {
        let leads = self.run.on() == On::Gpu;
        let Some(seat) = self.seat_on(On::Gpu) else { return };
        seat.follow();
        let counters = seat.facts().counters;
        let Some(run) = seat.here_mut() else { return };
        let all = run.take_times();
        for times in &all {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns of a step")]
            let ns = times.ops.iter().map(|(_, ms)| 1e6 * ms).sum::<f64>() as u64;
            self.device_ns.store(ns, Ordering::Release);
            let of_step = counters.filter(|(step, _)| step + 1 == times.step).map(|(_, counters)| counters);
            if leads && let Some(sample) = Sample::new(times.step, times.stages(), of_step.or(counters.map(|c| c.1))) {
                self.figures.note(sample);
            }
        }
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

    /// Marks where the device is, and learns how long it takes for so many steps.
    fn note_submission(&mut self, steps: Option<u64>) {
        self.sent += 1;
        let (mark, reached, each, begin) = (self.sent, self.submitted.clone(), self.device_ns.clone(), Instant::now());
        self.context.queue().on_submitted_work_done(move || {
            reached.fetch_max(mark, Ordering::AcqRel);
            if let Some(steps) = steps {
                let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                each.store(ns / steps.max(1), Ordering::Release);
            }
        });
    }

    /// Uploads what a world on the CPU has come to.
    fn refresh(&mut self) {
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
        layers.highlight = self.pointer.highlighted();
        let style = self.style();
        let camera = self.camera;
        if self.is_settled() {
            self.refresh();
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
        self.follow = 0;
        if self.twin.take().is_some() {
            self.camera.metres_per_pixel *= 0.5;
        }
        if self.layers.coloring == Coloring::Difference {
            self.layers.coloring = Coloring::Body;
        }
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
        self.follow = 0;
        self.paired = false;
        self.recording = None;
        self.submitted = Arc::default();
        self.device_ns = Arc::default();
        self.sent = 0;
        self.run.revive(&self.context)
    }
}

/// A scene as the window runs it: bodies sleep unless the user wants otherwise. Whether that changed it.
fn with_sleep(mut scene: Scene, prefs: &Prefs) -> (Scene, bool) {
    let changed = prefs.sleep && !scene.settings.sleep;
    scene.settings.sleep |= prefs.sleep;
    (scene, changed)
}
