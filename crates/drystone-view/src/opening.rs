//! Opens scenes in background threads: reading, building and laying out a large one takes seconds, during which the
//! scene before it can still be used. The newest request wins; an older one that is not done is cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::action::Needs;
use super::app::{App, BrokenFile};
use super::camera_follow::Fit;
use super::cancel::Cancel;
use super::pointer::Pointer;
use super::run::{LogEntry, On, Rebuilt, WorldRun};
use super::source::SceneSource;
use super::watch::WatchAgain;
use super::worker::WorkerHandle;
use drystone::Context;
use drystone::WorldError;
use drystone::low_level::gpu::DeviceError;
use drystone::{Scene, Settings};
use drystone_scenes::saved::SavedWorld;

/// Maximum number of threads that open scenes at a time, with those that are cancelled and have not noticed it. Each
/// may need as much memory as a world.
const MAX_JOBS: usize = 2;

/// Reason for which a scene is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The user asked for it.
    Asked,
    /// An empty scene to build in, which begins paused.
    New,
    /// Its file has changed.
    Changed,
    /// Restart of the scene, which keeps what was built.
    Restart,
    /// A parameter of the scene was changed.
    Parameter,
}

/// Scene that is being opened.
#[derive(Debug)]
pub(crate) struct Opening {
    pub source: SceneSource,
    why: Why,
    /// Settings that replace those of the scene.
    settings: Option<Settings>,
    /// Log of the world before, for a restart: its building changes are made again.
    built: Option<Arc<Vec<LogEntry>>>,
    /// Thread that opens it; `None` while [`MAX_JOBS`] others are at work.
    job: Option<OpeningThread>,
    /// True after a device was lost while it was opened.
    again: bool,
}

/// Thread that opens a scene. Dropping it cancels the thread, without waiting.
#[derive(Debug)]
struct OpeningThread {
    done: Receiver<Result<Option<OpenedScene>, Fault>>,
    on: On,
    cancel: Cancel,
}

impl Drop for OpeningThread {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Result of such a thread.
#[derive(Debug)]
struct OpenedScene {
    run: WorldRun,
    /// True if the window switched sleep on.
    overridden: bool,
    /// Bodies and joints that a restart built again.
    rebuilt: Option<Rebuilt>,
    /// Mark that the device is in use; dropped after the world that is on it.
    _busy: Option<AtWork>,
}

/// Error of such a thread.
#[derive(Debug)]
enum Fault {
    Scene(String),
    World(WorldError),
}

/// Number of threads that open scenes, and of those that use the device.
#[derive(Debug, Default)]
pub(crate) struct OpeningThreads {
    all: Arc<AtomicUsize>,
    on_device: Arc<AtomicUsize>,
}

impl OpeningThreads {
    /// Number of threads, with cancelled ones that have not ended.
    pub fn count(&self) -> usize {
        self.all.load(Ordering::SeqCst)
    }

    /// Returns true while a thread uses the device.
    pub fn are_on_device(&self) -> bool {
        self.on_device.load(Ordering::SeqCst) > 0
    }
}

/// Mark that increments a counter as long as it exists.
#[derive(Debug)]
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Work of a thread that opens a scene.
struct OpeningOrder {
    source: SceneSource,
    settings: Option<Settings>,
    built: Option<Arc<Vec<LogEntry>>>,
    /// True if bodies sleep also in scenes that do not enable it.
    sleep: bool,
    on: On,
    context: Context,
    threads: usize,
    cancel: Cancel,
    on_device: Arc<AtomicUsize>,
}

impl OpeningOrder {
    /// Makes the world, with what a restart builds again; `None` if it was cancelled.
    fn work(self) -> Result<Option<OpenedScene>, Fault> {
        let built = self.built.clone();
        let mut opened = self.begin()?;
        if let (Some(opened), Some(log)) = (&mut opened, built) {
            opened.rebuilt = Some(opened.run.rebuild(&log));
        }
        Ok(opened)
    }

    /// Makes the world from the scene or the file.
    fn begin(self) -> Result<Option<OpenedScene>, Fault> {
        if let Some(saved) = self.source.saved_world().map_err(Fault::Scene)? {
            return self.resume(&saved);
        }
        let mut scene: Scene = self.source.build().map_err(Fault::Scene)?;
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let overridden = self.settings.is_none() && self.sleep && !scene.settings.sleep;
        scene.settings.sleep |= overridden;
        scene.settings = self.settings.unwrap_or(scene.settings);
        let busy = (self.on == On::Gpu).then(|| AtWork::new(&self.on_device));
        // A closing window cancels first and checks the counter afterwards.
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let run = WorldRun::start(Arc::new(scene), self.on, &self.context, self.threads, &self.cancel);
        Ok(run.map_err(Fault::World)?.map(|run| OpenedScene { run, overridden, rebuilt: None, _busy: busy }))
    }

    /// Resumes a saved world, with its own settings unless others are given.
    fn resume(self, saved: &SavedWorld) -> Result<Option<OpenedScene>, Fault> {
        let busy = (self.on == On::Gpu).then(|| AtWork::new(&self.on_device));
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let run = WorldRun::resume(saved, self.on, &self.context, self.threads, &self.cancel).map_err(Fault::World)?;
        let Some(mut run) = run else { return Ok(None) };
        if let Some(settings) = self.settings.filter(|settings| *settings != saved.scene.settings) {
            let carried = run.carry_over(self.on, &self.context, settings, &self.cancel).map_err(Fault::World)?;
            if !carried {
                return Ok(None);
            }
        }
        Ok(Some(OpenedScene { run, overridden: false, rebuilt: None, _busy: busy }))
    }
}

/// Returns true for a scene of the catalogue with other values of its parameters, or the same.
fn same_catalogue_scene(new: &SceneSource, old: &SceneSource) -> bool {
    match (new, old) {
        (SceneSource::Catalogue { entry, .. }, SceneSource::Catalogue { entry: other, .. }) => entry.name == other.name,
        _ => false,
    }
}

impl App {
    /// Opens a scene, in place of any that is being opened: a scripted window waits for it, any other shows it when it
    /// is ready. `settings` replace those of the scene.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn open(&mut self, source: SceneSource, why: Why, settings: Option<Settings>) -> Result<(), WorldError> {
        self.begin_to_open(source, why, settings);
        if self.patient { self.look_at_opening() } else { Ok(()) }
    }

    /// Begins to open a scene, in place of any that is being opened.
    pub(super) fn begin_to_open(&mut self, source: SceneSource, why: Why, settings: Option<Settings>) {
        if why != Why::Changed {
            // The file that cannot be opened is of no interest any more.
            self.fault = None;
        }
        let built = (why == Why::Restart).then(|| self.facts().log.clone());
        self.opening = Some(Opening { source, why, settings, built, job: None, again: false });
        self.start_job();
    }

    /// Source of the scene that the user chose last, although it may not be open yet.
    pub fn wished(&self) -> &SceneSource {
        self.opening.as_ref().map_or(&self.source, |opening| &opening.source)
    }

    /// Starts the thread for the scene that is to be opened, unless too many are at work.
    fn start_job(&mut self) {
        let on = self.wanted(&self.queue).0;
        let Some(opening) = self.opening.as_mut().filter(|opening| opening.job.is_none()) else { return };
        if self.jobs.count() >= MAX_JOBS {
            return;
        }
        let cancel = Cancel::default();
        let order = OpeningOrder {
            source: opening.source.clone(),
            settings: opening.settings,
            built: opening.built.clone(),
            sleep: self.prefs.sleep,
            on,
            context: self.context.clone(),
            threads: self.threads,
            cancel: cancel.clone(),
            on_device: self.jobs.on_device.clone(),
        };
        let (give, done) = channel();
        opening.job = Some(OpeningThread { done, on, cancel });
        let (at_work, wake) = (AtWork::new(&self.jobs.all), self.wake.clone());
        let refused = give.clone();
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| order.work()));
            let wrong = || Err(Fault::Scene("internal error: the thread that opened the scene panicked".to_owned()));
            // The receiver is gone if it was cancelled.
            let _ = give.send(made.unwrap_or_else(|_| wrong()));
            drop(at_work);
            (wake.0)();
        };
        if let Err(error) = std::thread::Builder::new().name("opens".to_owned()).spawn(work) {
            let _ = refused.send(Err(Fault::Scene(format!("the system gave no thread to open the scene: {error}"))));
        }
    }

    /// Shows a scene that is ready; in a scripted window waits for it.
    ///
    /// # Errors
    /// If the device was lost while it was opened.
    pub(super) fn look_at_opening(&mut self) -> Result<(), WorldError> {
        self.start_job();
        let Some(job) = self.opening.as_ref().and_then(|opening| opening.job.as_ref()) else { return Ok(()) };
        let made =
            if self.patient { job.done.recv().map_err(|_| TryRecvError::Disconnected) } else { job.done.try_recv() };
        let made = match made {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return Ok(()),
            Err(TryRecvError::Disconnected) => Ok(None),
        };
        if matches!(made, Err(Fault::World(WorldError::Device(_)))) {
            // The loss is reported only after the work before it has ended; the scene is then opened again on a new
            // device.
            if let Err(lost @ DeviceError::Lost(_)) = self.context.wait() {
                return Err(lost.into());
            }
        }
        let Some(opening) = self.opening.take() else { return Ok(()) };
        match made {
            Ok(Some(opened)) => self.move_in(opening, opened),
            Ok(None) => {}
            Err(fault) => {
                let why = match fault {
                    Fault::Scene(why) => why,
                    Fault::World(error) => format!("{}: {error}", opening.source.spec()),
                };
                if self.opened == 0 {
                    self.failed = Some(why.clone());
                }
                if matches!(opening.source, SceneSource::File { .. }) {
                    // Shown until the file is valid.
                    self.fault = Some(BrokenFile { source: opening.source, text: why });
                } else {
                    self.say(why);
                }
            }
        }
        Ok(())
    }

    /// Replaces the running world by a scene that has been opened.
    fn move_in(&mut self, opening: Opening, opened: OpenedScene) {
        let Opening { source, why, settings, .. } = opening;
        let same = self.opened > 0 && source.spec() == self.source.spec();
        self.opened += 1;
        self.drop_twin();
        if let Some(background_job) = self.background_job.take() {
            background_job.cancel();
        }
        let before = std::mem::replace(&mut self.run, WorkerHandle::new(opened.run));
        // The message is about the world before.
        self.forget_note();
        let is_parameter = same_catalogue_scene(&source, &self.source) && why == Why::Parameter;
        let old_log = is_parameter.then(|| before.facts().log.clone());
        let selected = self.build.selection.as_ref().map(|selection| selection.id);
        let joint = self.build.joint.as_ref().map(|selection| selection.id);
        let brings_back = self.opened > 1 && why != Why::Restart && self.leave_world(before, why == Why::Parameter);
        if settings.is_none() {
            self.overridden = opened.overridden;
        }
        self.source = source;
        self.fault = None;
        self.frame_pacing = self.frame_pacing.of_another_world();
        self.pointer = Pointer::default();
        self.joints = super::joint::PointedJoints::default();
        self.build.of_another_world();
        self.figures.clear();
        let other = old_log.map_or(WatchAgain::Nothing, WatchAgain::OtherValues);
        let lost = self.watch_again(&if same { WatchAgain::Same(opened.rebuilt.as_ref()) } else { other });
        self.owed = 0;
        self.playing &= why != Why::New;
        // Actions on the world before are dropped.
        self.queue.retain(|action| action.needs() != Needs::World);
        if !same || self.camera_follow.follows {
            self.fit = Fit::Wanted;
        }
        if !same {
            self.remember_scene();
        }
        if let Some(rebuilt) = opened.rebuilt {
            if let Some(id) = selected.and_then(|id| rebuilt.id(id)) {
                self.select_body(id);
            }
            let joint = joint.and_then(|id| rebuilt.joint(id));
            if let Some(id) = joint.and_then(|id| self.run.here().map(|run| run.resolve_joint(id))) {
                self.select_joint(id);
            }
            if let Some(words) = rebuilt.words() {
                self.say(format!("restarted: {words} · choose the scene in the list to open it without them"));
            }
        } else if why == Why::New {
            let back = if brings_back { " · Z brings the world before it back" } else { "" };
            self.say(format!("new scene, paused: build, then Space runs it{back}"));
        } else if brings_back && why == Why::Changed {
            self.say("the file has changed: reloaded · Z brings the world before it back");
        } else if why == Why::Changed {
            self.say("the file has changed: reloaded");
        } else if brings_back {
            self.say(format!("opened {} · Z brings the world before it back", self.source.title()));
        }
        self.tell_lost_graphs(&lost);
    }

    /// Opens a scene again for which a lost device was used; not a second time, as the scene may be why it was lost.
    pub(super) fn open_on_another_device(&mut self) {
        let job = self.opening.as_ref().and_then(|opening| opening.job.as_ref());
        if job.is_some_and(|job| job.on == On::Cpu) {
            return;
        }
        let Some(opening) = self.opening.take() else { return };
        if opening.again {
            return self
                .say(format!("{}: not opened, as the device was lost twice while opening it", opening.source.spec()));
        }
        self.opening = Some(Opening { job: None, again: true, ..opening });
        self.start_job();
    }
}
