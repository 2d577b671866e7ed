//! Scenes are opened by threads: reading, building and laying out a large one takes its time, and the one before it stays,
//! to be used meanwhile. The newest wish wins: what was wished before is cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::action::Needs;
use super::app::{App, BrokenFile};
use super::cancel::Cancel;
use super::pointer::Pointer;
use super::run::{Entry, On, Rebuilt, Run};
use super::seat::Seat;
use super::sight::Fit;
use super::source::Source;
use drystone::Context;
use drystone::WorldError;
use drystone::low_level::gpu::DeviceError;
use drystone::{Scene, Settings};
use drystone_scenes::saved::SavedWorld;

/// Threads that open scenes at a time, those among them that are cancelled and have yet to notice. Each may need as much
/// memory as a world.
const MOST_JOBS: usize = 2;

/// Why a scene is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Asked,
    /// Its file has changed.
    Changed,
    /// The scene begins anew, and what was built stays.
    Restart,
    /// A value of it was changed.
    Parameter,
}

/// A scene that is about to be opened.
#[derive(Debug)]
pub(crate) struct Opening {
    pub source: Source,
    why: Why,
    /// Those that it is to have, whatever the scene says.
    settings: Option<Settings>,
    /// Changes of the world before, of which the built ones are made again.
    built: Option<Arc<Vec<Entry>>>,
    /// `None`: there are threads enough.
    job: Option<Job>,
    /// Whether a device was lost over it.
    again: bool,
}

/// A thread at work on it. Nobody waits for one that is let go of.
#[derive(Debug)]
struct Job {
    done: Receiver<Result<Option<Opened>, Fault>>,
    on: On,
    cancel: Cancel,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[derive(Debug)]
struct Opened {
    run: Run,
    /// Whether sleep was switched on by the window.
    overridden: bool,
    /// Bodies and joints that were built again.
    rebuilt: Option<Rebuilt>,
    /// On the device; goes after what is on it.
    _busy: Option<AtWork>,
}

#[derive(Debug)]
enum Fault {
    Scene(String),
    World(WorldError),
}

/// Threads at work.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: Arc<AtomicUsize>,
    on_device: Arc<AtomicUsize>,
}

impl Jobs {
    /// How many there are, those among them that are cancelled.
    pub fn count(&self) -> usize {
        self.all.load(Ordering::SeqCst)
    }

    pub fn are_on_device(&self) -> bool {
        self.on_device.load(Ordering::SeqCst) > 0
    }
}

/// Counted among those at work, as long as it is there.
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

/// What a thread is told.
struct Order {
    source: Source,
    settings: Option<Settings>,
    built: Option<Arc<Vec<Entry>>>,
    /// Bodies sleep also in scenes that do not ask for it.
    sleep: bool,
    on: On,
    context: Context,
    threads: usize,
    cancel: Cancel,
    on_device: Arc<AtomicUsize>,
}

impl Order {
    fn work(self) -> Result<Option<Opened>, Fault> {
        let built = self.built.clone();
        let mut opened = self.begin()?;
        if let (Some(opened), Some(log)) = (&mut opened, built) {
            opened.rebuilt = Some(opened.run.rebuild(&log));
        }
        Ok(opened)
    }

    /// Makes the world as its scene, or its file, has it.
    fn begin(self) -> Result<Option<Opened>, Fault> {
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
        // Who leaves cancels first and then looks who is busy.
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let run = Run::start(Arc::new(scene), self.on, &self.context, self.threads, &self.cancel);
        Ok(run.map_err(Fault::World)?.map(|run| Opened { run, overridden, rebuilt: None, _busy: busy }))
    }

    /// Goes on with a saved world, by its own settings unless others are wanted.
    fn resume(self, saved: &SavedWorld) -> Result<Option<Opened>, Fault> {
        let busy = (self.on == On::Gpu).then(|| AtWork::new(&self.on_device));
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let run = Run::resume(saved, self.on, &self.context, self.threads, &self.cancel).map_err(Fault::World)?;
        let Some(mut run) = run else { return Ok(None) };
        if let Some(settings) = self.settings.filter(|settings| *settings != saved.scene.settings) {
            let carried = run.carry_over(self.on, &self.context, settings, &self.cancel).map_err(Fault::World)?;
            if !carried {
                return Ok(None);
            }
        }
        Ok(Some(Opened { run, overridden: false, rebuilt: None, _busy: busy }))
    }
}

impl App {
    /// Opens a scene, in place of any that was about to be opened: at once if it is waited for, else as soon as it is there.
    /// With `settings` it has those, else its own.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn open(&mut self, source: Source, why: Why, settings: Option<Settings>) -> Result<(), WorldError> {
        self.begin_to_open(source, why, settings);
        if self.patient { self.look_at_opening() } else { Ok(()) }
    }

    pub(super) fn begin_to_open(&mut self, source: Source, why: Why, settings: Option<Settings>) {
        let built = (why == Why::Restart).then(|| self.facts().log.clone());
        self.opening = Some(Opening { source, why, settings, built, job: None, again: false });
        self.start_job();
    }

    /// What is opened, or about to be: what the user wishes.
    pub fn wished(&self) -> &Source {
        self.opening.as_ref().map_or(&self.source, |opening| &opening.source)
    }

    fn start_job(&mut self) {
        let on = self.wanted(&self.queue).0;
        let Some(opening) = self.opening.as_mut().filter(|opening| opening.job.is_none()) else { return };
        if self.jobs.count() >= MOST_JOBS {
            return;
        }
        let cancel = Cancel::default();
        let order = Order {
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
        opening.job = Some(Job { done, on, cancel });
        let (at_work, wake) = (AtWork::new(&self.jobs.all), self.wake.clone());
        let refused = give.clone();
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| order.work()));
            let wrong = || Err(Fault::Scene("something went wrong that should not".to_owned()));
            // Nobody listens any more if it was cancelled.
            let _ = give.send(made.unwrap_or_else(|_| wrong()));
            drop(at_work);
            (wake.0)();
        };
        if let Err(error) = std::thread::Builder::new().name("opens".to_owned()).spawn(work) {
            let _ = refused.send(Err(Fault::Scene(format!("no thread to open it: {error}"))));
        }
    }

    /// Takes over a scene that is there; waits for it if everything is waited for.
    ///
    /// # Errors
    /// If the device was lost over it.
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
            // A device that is lost says so only once it has nothing left to do; then this is begun again on another.
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
                if matches!(opening.source, Source::File { .. }) {
                    // It stays until the file is right.
                    self.fault = Some(BrokenFile { source: opening.source, text: why });
                } else {
                    self.say(why);
                }
            }
        }
        Ok(())
    }

    /// Another scene takes the place of the one that ran.
    fn move_in(&mut self, opening: Opening, opened: Opened) {
        let Opening { source, why, settings, .. } = opening;
        let same = self.opened > 0 && source.spec() == self.source.spec();
        self.opened += 1;
        self.drop_twin();
        if let Some(errand) = self.errand.take() {
            errand.cancel();
        }
        let before = std::mem::replace(&mut self.run, Seat::new(opened.run));
        let selected = self.build.selection.as_ref().map(|selection| selection.id);
        let brings_back = self.opened > 1 && why != Why::Restart && self.leave_world(before, why == Why::Parameter);
        if settings.is_none() {
            self.overridden = opened.overridden;
        }
        self.source = source;
        self.fault = None;
        self.pace = self.pace.of_another_world();
        self.pointer = Pointer::default();
        self.build.of_another_world();
        self.figures.clear();
        self.watch_again(same, opened.rebuilt.as_ref());
        self.owed = 0;
        // What was asked of the world before is void.
        self.queue.retain(|action| action.needs() != Needs::World);
        if !same || self.sight.follows {
            self.fit = Fit::Wanted;
        }
        if !same {
            self.remember_scene();
        }
        if let Some(rebuilt) = opened.rebuilt {
            if let Some(id) = selected.and_then(|id| rebuilt.id(id)) {
                self.select_body(id);
            }
            if let Some(words) = rebuilt.words() {
                self.say(format!("restarted: {words} · the scene's name in the list opens it without them"));
            }
        } else if brings_back && why == Why::Changed {
            self.say("the file has changed: reloaded · Z brings the world before it back");
        } else if why == Why::Changed {
            self.say("the file has changed: reloaded");
        } else if brings_back {
            self.say(format!("opened {} · Z brings the world before it back", self.source.title()));
        }
    }

    /// Begins anew what a lost device was to be used for; not a second time, as that may be why it was lost.
    pub(super) fn open_on_another_device(&mut self) {
        let job = self.opening.as_ref().and_then(|opening| opening.job.as_ref());
        if job.is_some_and(|job| job.on == On::Cpu) {
            return;
        }
        let Some(opening) = self.opening.take() else { return };
        if opening.again {
            return self.say(format!("{}: not opened, as the device was lost over it twice", opening.source.spec()));
        }
        self.opening = Some(Opening { job: None, again: true, ..opening });
        self.start_job();
    }
}
