//! The event loop of the window: it opens the window, passes events on, decides when a frame is due, runs the frame,
//! and recovers from a lost device.

mod follow;
mod measure;
mod paint;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use winit::application::ApplicationHandler;
use winit::dpi::{LogicalSize, PhysicalSize};
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

use measure::{FrameMeasurements, poke};
use paint::painter;

use super::action::Action;
use super::app::App;
use super::opening::Why;
use super::prefs::Prefs;
use super::run::On;
use super::screen::{Screen, ScreenTexture};
use super::script::WindowScript;
use super::source::SceneSource;
use super::thumbs::Thumbs;
use super::worker::WakeCallback;
use super::{ViewBackend, ViewError, WindowOptions, WindowScene};
use drystone::AdapterChoice;
use drystone::WorldError;
use drystone::low_level::gpu::{DeviceError, is_software};

/// Minimum size of the window, points.
const SMALLEST: [u32; 2] = [360, 300];
/// Time between two checks whether the device has finished its work.
const TICK: Duration = Duration::from_millis(3);
/// Time between two checks of the scene's file, and between two frames while nothing happens.
const IDLE: Duration = Duration::from_millis(250);
/// Length of a scripted frame, s.
const SCRIPTED: f64 = 1.0 / 60.0;
/// Number of devices that may be lost in a row.
const MAX_LOSSES: u32 = 3;

/// Opens a window and runs it until it is closed.
///
/// # Errors
/// See [`super::run`].
pub(super) fn run(options: WindowOptions) -> Result<(), ViewError> {
    let script = match &options.script {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| ViewError::Script(format!("{}: {error}", path.display())))?;
            Some(WindowScript::parse(&text).map_err(ViewError::Script)?)
        }
    };
    let event_loop = EventLoop::<Woken>::with_user_event().build();
    let event_loop = event_loop.map_err(|error| ViewError::display(&error))?;
    let prefs_path = if options.remember { Prefs::path() } else { None };
    let mut prefs = Prefs::load(prefs_path.as_deref());
    prefs.dark = options.dark.unwrap_or(prefs.dark);
    prefs.sleep = options.sleep;
    let mut handler = Handler {
        display: event_loop.owned_display_handle(),
        proxy: event_loop.create_proxy(),
        options,
        prefs_path,
        prefs,
        script,
        shown: None,
        failed: None,
    };
    let ended = event_loop.run_app(&mut handler);
    if let Some(shown) = &mut handler.shown {
        shown.app.leave();
    }
    if let (Some(shown), Some(path)) = (&handler.shown, &handler.prefs_path) {
        // Without it the next session begins with the old choices.
        let _ = shown.app.prefs.save(path);
    }
    match (handler.failed, ended) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(ViewError::display(&error)),
        (None, Ok(())) => Ok(()),
    }
}

/// Event from another thread.
#[derive(Clone, Copy, Debug)]
enum Woken {
    /// A worker thread is done.
    Back,
    /// A measurement moves the pointer, and takes the time until the next frame.
    Poke(Instant),
}

/// State of the event loop, with the window once it is open.
struct Handler {
    display: winit::event_loop::OwnedDisplayHandle,
    proxy: EventLoopProxy<Woken>,
    options: WindowOptions,
    prefs_path: Option<PathBuf>,
    prefs: Prefs,
    script: Option<WindowScript>,
    shown: Option<OpenWindow>,
    failed: Option<ViewError>,
}

/// Open window.
struct OpenWindow {
    // The surface must be dropped before the window.
    screen: Screen,
    painter: egui_wgpu::Renderer,
    egui: egui_winit::State,
    app: App,
    window: Arc<Window>,
    last_frame: Instant,
    /// Time from the frame before to this one for the panel, s.
    frame_seconds: f64,
    /// Time of the panel in a scripted window, s.
    clock: f64,
    /// Length of a scripted frame for the panel, s.
    scripted: f64,
    last_look: Instant,
    script: Option<WindowScript>,
    /// True if input of the display is heard; in a scripted window only if the script says so.
    hears: bool,
    waiting: Wait,
    /// Events that a script or a measurement made.
    made: Vec<egui::Event>,
    made_files: Vec<PathBuf>,
    pointer: egui::Pos2,
    scale: Option<f32>,
    shot: Option<PathBuf>,
    report: Option<PathBuf>,
    themed: Option<bool>,
    /// Present title of the window.
    title: String,
    /// Devices lost since the last good frame.
    losses: u32,
    /// Time at which the panel wants to be drawn again.
    repaint_at: Option<Instant>,
    /// Error between two frames, which the next frame handles.
    trouble: Option<WorldError>,
    measured: Option<FrameMeasurements>,
    /// Times of the pointer movements that the next frame shows.
    poked: Vec<Instant>,
}

/// Condition for which a script waits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wait {
    Nothing,
    Frames(u32),
    Steps(u64, u32),
    Settled(u32),
    /// A number of scenes have small pictures; fails after this time.
    Thumbs(usize, Instant),
    /// No scene is being opened; with `true` no thread is at work on a cancelled one either.
    Opened(bool, u32),
    /// A file exists; fails after this time.
    File(PathBuf, Instant),
}

/// Leaves the keys that change the size of texts to the window, which keeps that size.
fn take_zoom_keys(context: &egui::Context) {
    context.options_mut(|options| options.zoom_with_keyboard = false);
}

impl Handler {
    fn open(&mut self, event_loop: &ActiveEventLoop) -> Result<OpenWindow, ViewError> {
        let source = match &self.options.scene {
            WindowScene::Spec(spec) => SceneSource::parse(spec).map_err(ViewError::Scene)?,
            WindowScene::Given(scene) => SceneSource::Given(Arc::new((**scene).clone())),
        };
        let [width, height] = self.options.size.unwrap_or(self.prefs.size);
        let attributes = Window::default_attributes()
            .with_title("Drystone")
            .with_inner_size(LogicalSize::new(width, height))
            .with_min_inner_size(LogicalSize::new(SMALLEST[0], SMALLEST[1]));
        let window = event_loop.create_window(attributes).map_err(|error| ViewError::display(&error))?;
        let window = Arc::new(window);
        let scripted = self.script.is_some();
        let (screen, context) = Screen::new(&window, self.display.clone(), AdapterChoice::Any, scripted)?;
        let on = match self.options.backend {
            ViewBackend::Cpu => On::Cpu,
            ViewBackend::Auto if is_software(context.info()) => On::Cpu,
            ViewBackend::Gpu | ViewBackend::Auto => On::Gpu,
        };
        let egui_context = egui::Context::default();
        take_zoom_keys(&egui_context);
        let egui = egui_winit::State::new(
            egui_context,
            egui::ViewportId::ROOT,
            &window,
            None,
            None,
            usize::try_from(context.device().limits().max_texture_dimension_2d).ok(),
        );
        let painter = painter(&context, screen.format());
        let proxy = self.proxy.clone();
        let wake = WakeCallback(Arc::new(move || {
            // The event loop is gone if the window is closed.
            let _ = proxy.send_event(Woken::Back);
        }));
        let threads = self.options.threads.max(1);
        let mut app = App::new(context, screen.format(), source, on, threads, self.prefs.clone(), wake)?;
        app.playing = !self.options.paused;
        app.patient = scripted;
        if let Some(folder) = Thumbs::user_folder().filter(|_| self.prefs_path.is_some()) {
            app.thumbs.keep_in(folder);
        }
        if let Some(seconds) = self.options.measure {
            poke(self.proxy.clone(), seconds);
        }
        Ok(OpenWindow {
            screen,
            painter,
            egui,
            app,
            window,
            last_frame: Instant::now(),
            frame_seconds: 0.0,
            clock: 0.0,
            scripted: SCRIPTED,
            last_look: Instant::now(),
            script: self.script.take(),
            hears: !scripted,
            waiting: Wait::Frames(2),
            made: Vec::new(),
            made_files: Vec::new(),
            pointer: egui::Pos2::ZERO,
            scale: None,
            shot: None,
            report: None,
            themed: None,
            title: String::new(),
            losses: 0,
            repaint_at: None,
            trouble: None,
            measured: self.options.measure.map(FrameMeasurements::new),
            poked: Vec::new(),
        })
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, error: ViewError) {
        self.failed = Some(error);
        event_loop.exit();
    }
}

impl ApplicationHandler<Woken> for Handler {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.shown.is_none() && self.failed.is_none() {
            match self.open(event_loop) {
                Ok(shown) => {
                    shown.window.request_redraw();
                    self.shown = Some(shown);
                }
                Err(error) => self.fail(event_loop, error),
            }
        }
    }

    fn user_event(&mut self, _: &ActiveEventLoop, event: Woken) {
        let Some(shown) = &mut self.shown else { return };
        if let Woken::Poke(sent) = event {
            shown.poke(sent);
        }
        shown.window.request_redraw();
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(shown) = &mut self.shown else { return };
        if shown.hears {
            let response = shown.egui.on_window_event(&shown.window, &event);
            if response.repaint {
                shown.window.request_redraw();
            }
        }
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => shown.resize(size),
            // A change of size on another screen is an event of its own.
            WindowEvent::ScaleFactorChanged { .. } => shown.resize(shown.window.inner_size()),
            WindowEvent::Moved(_) | WindowEvent::Occluded(false) => shown.window.request_redraw(),
            WindowEvent::DroppedFile(path) => shown.open_file(&path),
            WindowEvent::RedrawRequested => match shown.frame(event_loop) {
                Ok(()) => {
                    if shown.app.quit {
                        event_loop.exit();
                    }
                }
                Err(error) => self.fail(event_loop, error),
            },
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let Some(shown) = &mut self.shown else { return };
        shown.watch();
        let flow = match shown.next_frame() {
            None => {
                shown.window.request_redraw();
                ControlFlow::Poll
            }
            Some(at) => ControlFlow::WaitUntil(at),
        };
        event_loop.set_control_flow(flow);
    }
}

impl OpenWindow {
    fn resize(&mut self, size: PhysicalSize<u32>) {
        self.screen.resize(&self.app.context, [size.width, size.height]);
        if size.width > 0 && size.height > 0 {
            let logical = size.to_logical::<f64>(self.window.scale_factor());
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
            let points = [logical.width as u32, logical.height as u32];
            self.app.prefs.size = points;
        }
        self.window.request_redraw();
    }

    /// Time at which to draw the next frame or to check again; `None`: now.
    fn next_frame(&mut self) -> Option<Instant> {
        if self.script.is_some() {
            return None;
        }
        let now = Instant::now();
        // A window without a size draws nothing and is not paced by the display.
        if self.screen.is_hidden() {
            return if self.app.is_busy() { Some(now + TICK) } else { Some(now + IDLE) };
        }
        let idle = self.last_frame + IDLE;
        if now >= idle || self.repaint_at.is_some_and(|at| now >= at) {
            return None;
        }
        if !self.app.is_busy() {
            return Some(self.repaint_at.map_or(idle, |at| at.min(idle)));
        }
        if self.app.must_wait() {
            return Some(now + TICK);
        }
        // Without input there is no new picture in the middle of a step.
        if self.app.awaits_parts() && self.poked.is_empty() {
            match self.app.go_on() {
                Ok(()) if self.app.is_settled() => {}
                Ok(()) => return Some(now + TICK),
                Err(error) => self.trouble = Some(error),
            }
        }
        None
    }

    fn open_file(&mut self, path: &Path) {
        self.app.queue.push(Action::Open(path.display().to_string()));
    }

    /// Reopens the scene's file if it has changed.
    fn watch(&mut self) {
        if self.last_look.elapsed() < IDLE {
            return;
        }
        self.last_look = Instant::now();
        // A scene chosen by the user comes first. The running scene stays until the file is valid again.
        if self.app.opening.is_some() {
            return;
        }
        let fault = self.app.fault.as_mut();
        let mended = fault.and_then(|fault| fault.source.has_changed().then(|| fault.source.clone()));
        let source = mended.or_else(|| self.app.source.has_changed().then(|| self.app.source.clone()));
        if let Some(source) = source {
            if let Err(error) = self.app.open(source, Why::Changed, None) {
                self.trouble = Some(error);
            }
            self.window.request_redraw();
        }
    }

    /// Runs one frame, and recovers from its errors.
    fn frame(&mut self, event_loop: &ActiveEventLoop) -> Result<(), ViewError> {
        let now = Instant::now();
        let real = now.duration_since(self.last_frame).as_secs_f64();
        self.last_frame = now;
        self.app.frame_ms += (1e3 * real - self.app.frame_ms) * if self.app.frames < 8 { 0.5 } else { 0.05 };
        self.app.frames += 1;
        self.frame_seconds = real;
        if self.script.is_some() {
            self.follow_script(event_loop)?;
            self.app.frame_ms = 1e3 * SCRIPTED;
            self.frame_seconds = self.scripted;
            self.clock += self.scripted;
        }
        let title = self.app.window_title();
        if self.title != title {
            self.window.set_title(&title);
            self.title = title;
        }
        let seconds = if self.script.is_some() { SCRIPTED } else { real.min(0.25) };
        let worked = self.work(seconds);
        if let Some(why) = self.app.failed.take() {
            return Err(ViewError::Scene(why));
        }
        match worked {
            Ok(()) => {
                self.losses = 0;
                Ok(())
            }
            Err(WorldError::Device(DeviceError::Lost(why))) => self.recover(&why),
            Err(error) => {
                // The world stays as it is; a step that fails again reports it again.
                self.app.stop();
                self.app.say(format!("stopped: {error}"));
                if self.app.context.check().is_err() { self.recover(&error.to_string()) } else { Ok(()) }
            }
        }
    }

    /// Runs one frame: finished work, actions, answers, steps, input and picture.
    fn work(&mut self, seconds: f64) -> Result<(), WorldError> {
        self.trouble.take().map_or(Ok(()), Err)?;
        self.app.go_on()?;
        self.app.act()?;
        self.app.look()?;
        self.app.look_at_watched()?;
        self.app.advance(seconds)?;
        self.app.tell_discarded();
        let target = match self.screen.next(&self.app.context) {
            ScreenTexture::Ready(target) => target,
            ScreenTexture::Skip => {
                // Keys and clicks count although nothing is drawn.
                let mut output = self.hear();
                self.free_textures(&mut output.textures_delta);
                return Ok(self.app.context.check()?);
            }
            ScreenTexture::Lost => {
                if let Err(error) = self.screen.new_surface(&self.window, &self.app.context) {
                    self.app.say(error.to_string());
                }
                return Ok(self.app.context.check()?);
            }
        };
        self.paint(target)?;
        Ok(self.app.context.check()?)
    }

    /// Continues with a new device after the old one was lost.
    fn recover(&mut self, why: &str) -> Result<(), ViewError> {
        self.losses += 1;
        if self.losses > MAX_LOSSES {
            return Err(ViewError::World(WorldError::Device(DeviceError::Lost(why.to_owned()))));
        }
        let context = self.screen.new_device()?;
        self.painter = painter(&context, self.screen.format());
        // The glyphs were on the lost device; a new context sends them again.
        let fresh = egui::Context::default();
        take_zoom_keys(&fresh);
        self.egui = egui_winit::State::new(
            fresh,
            egui::ViewportId::ROOT,
            &self.window,
            None,
            None,
            usize::try_from(context.device().limits().max_texture_dimension_2d).ok(),
        );
        self.themed = None;
        self.app.revive(context, self.screen.format())?;
        self.app.say(format!("the device was lost ({why}); continuing on a new one"));
        Ok(())
    }
}
