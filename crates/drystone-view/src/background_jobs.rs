//! Long jobs that a worker thread does with a world: going back in time, moving to another backend or other settings,
//! making a copy to compare with. The world is drawn as it was when the job began until it is back; actions on it wait.

use super::action::Action;
use super::app::App;
use super::build::plain;
use super::cancel::Cancel;
use super::edit::RecordedEdit;
use super::run::{On, Undoing, WorldRun};
use super::worker::{Twin, WorkerHandle, WorkerOrder, WorkerOutcome};
use drystone::Settings;
use drystone::WorldError;
use drystone_draw::Coloring;

/// Long job of the worker threads.
#[derive(Debug)]
pub(crate) enum BackgroundJob {
    /// Going back to a step.
    Back(u64),
    /// Moving to a backend or to other settings.
    Carry { from: On, on: On, settings: Box<Settings>, cancel: Cancel },
    /// Making a copy on the other backend.
    Twin(Cancel),
}

impl BackgroundJob {
    /// Cancels the job at its next checkpoint. Going back is not cancelled: it is short, and of two worlds only one
    /// might have got there.
    pub fn cancel(&self) {
        match self {
            Self::Back(_) => {}
            Self::Carry { cancel, .. } | Self::Twin(cancel) => cancel.cancel(),
        }
    }
}

impl App {
    /// Backend and settings after all jobs and waiting actions.
    pub fn wanted(&self, waiting: &[Action]) -> (On, Settings) {
        let asked = waiting.iter().rev().find_map(|action| match action {
            Action::Carry(on, settings) => Some((*on, **settings)),
            _ => None,
        });
        let now = || match &self.background_job {
            Some(BackgroundJob::Carry { on, settings, .. }) => (*on, **settings),
            _ if self.opened == 0 => (self.first_on, self.run.scene().settings),
            _ => (self.run.on(), self.run.scene().settings),
        };
        asked.unwrap_or_else(now)
    }

    /// Text about the job or seek in progress, with the key that cancels it.
    pub fn doing(&self) -> Option<String> {
        if let Some(opening) = &self.opening {
            return Some(format!("opening {} …  Esc cancels", opening.source.title()));
        }
        match &self.background_job {
            Some(BackgroundJob::Carry { from, on, .. }) if from != on => {
                Some(format!("moving to {} …  Esc cancels", self.backend_name(*on)))
            }
            Some(BackgroundJob::Carry { .. }) => Some("changing settings …  Esc cancels".to_owned()),
            Some(BackgroundJob::Twin(_)) => {
                Some(format!("starting a copy on the {} …  Esc cancels", self.backend_name(self.run.on().other())))
            }
            Some(BackgroundJob::Back(step)) => Some(format!("going to step {step} …")),
            None => {
                let target = self.run.target()?;
                let stop = if self.twin.is_none() { "  Esc stops" } else { "" };
                Some(format!("going to step {target} …{stop}"))
            }
        }
    }

    /// Cancels the newest thing in progress: an opening, a job, a seek, a drawing; else hides the error of a file.
    pub(super) fn leave_off(&mut self) {
        if let Some(opening) = self.opening.take() {
            self.say(format!("opening {} cancelled", opening.source.title()));
        } else if let Some(background_job) = &self.background_job {
            background_job.cancel();
        } else if self.run.target().is_some() && self.twin.is_none() {
            self.queue.push(Action::Halt);
        } else if !self.build.step_back() {
            self.fault = None;
        }
    }

    /// Ends a seek: the world stays at the step that it has reached.
    pub(super) fn halt(&mut self) -> Result<(), WorldError> {
        let here = self.run.steps();
        if let Some(run) = self.run.here_mut() {
            run.seek(here)?;
        }
        self.run.learn();
        Ok(())
    }

    /// Uploads or copies the state from which worlds are drawn while they are away.
    fn put_by(&mut self) {
        self.refresh();
        for worker in std::iter::once(&self.run).chain(&self.twin) {
            self.drawing.keep(&self.context, worker, &self.layers);
        }
    }

    /// Hands the first world to a worker thread for a job.
    fn send(&mut self, background_job: BackgroundJob, order: WorkerOrder) -> Result<(), WorldError> {
        self.put_by();
        self.background_job = Some(background_job);
        self.run.lend(order, &self.wake);
        self.sent()
    }

    /// Waits for the worlds that were handed out, if this window waits for everything.
    fn sent(&mut self) -> Result<(), WorldError> {
        if self.patient { self.take_back(None) } else { Ok(()) }
    }

    /// Sends all worlds to a step that all of them can reach, and pauses.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn seek(&mut self, step: u64) -> Result<(), WorldError> {
        self.playing = false;
        self.owed = 0;
        self.release();
        let (first, furthest) = (self.facts().first, self.facts().furthest);
        if step < first {
            self.say(format!("history before step {first} is not available: settings or backend have changed since"));
        }
        let mut range = (first, furthest);
        if let Some(twin) = self.twin.as_ref().map(WorkerHandle::facts) {
            // The steps that both have done.
            range = (first.max(twin.first), furthest.min(twin.furthest));
            if step < range.0 {
                let since = range.0;
                self.say(format!("the comparison began at step {since}: both worlds go back no further"));
            }
        }
        let step = step.clamp(range.0.min(range.1), range.1);
        if step < self.run.steps() {
            self.put_by();
            self.background_job = Some(BackgroundJob::Back(step));
        }
        for worker in std::iter::once(&mut self.run).chain(&mut self.twin) {
            if step < worker.steps() {
                worker.lend(WorkerOrder::GoBack(step), &self.wake);
            } else if let Some(run) = worker.here_mut() {
                run.seek(step)?;
                worker.learn();
            }
        }
        self.sent()
    }

    /// Undoes the last change in both worlds: at their present step, or by going back to the step of the change.
    /// Without a change since the scene was opened, the world before it comes back.
    pub(super) fn undo(&mut self) -> Result<(), WorldError> {
        self.release();
        let last = |worker: &WorkerHandle| worker.here().and_then(WorldRun::last_change);
        let change = last(&self.run);
        if change.is_some() && self.twin.as_ref().is_some_and(|twin| last(twin) != change) {
            self.say("this change was made before the comparison began: T ends it");
            return Ok(());
        }
        let here = self.run.steps();
        let both_rewind = self.twin.as_ref().is_none_or(|twin| twin.here().is_some_and(WorldRun::rewinds));
        match self.run.here_mut().and_then(WorldRun::take_back) {
            Some(Undoing::Now(deed, words)) => {
                self.follow_deed(deed);
                self.say(format!("undone: {words} · the time goes on from here · Y makes it again"));
                Ok(())
            }
            Some(Undoing::Rewind(..)) if !both_rewind => {
                self.say("this change was made before the comparison began: T ends it");
                Ok(())
            }
            Some(Undoing::Rewind(step, words)) => {
                let back = if step == here { String::new() } else { format!(" · back at step {step}") };
                self.say(format!("undone: {words}{back} · Y makes it again"));
                self.rewind(step, &WorkerOrder::Undo)
            }
            None if change.is_some() => {
                self.say("this change cannot be undone: settings or backend have changed since");
                Ok(())
            }
            None if self.bring_back_world() => Ok(()),
            None => {
                self.say("there is nothing to undo");
                Ok(())
            }
        }
    }

    /// Makes the last undone change again in both worlds, or returns to the world that an undo left.
    pub(super) fn redo(&mut self) -> Result<(), WorldError> {
        self.release();
        match self.run.here_mut().and_then(WorldRun::make_again) {
            Some(Ok(Undoing::Now(deed, words))) => {
                self.follow_deed(deed);
                self.say(format!("made again: {words}"));
                Ok(())
            }
            Some(Ok(Undoing::Rewind(step, words))) => {
                let undone = |worker: &WorkerHandle| worker.here().and_then(WorldRun::undone_at);
                if self.twin.as_ref().is_some_and(|twin| undone(twin) != Some(step)) {
                    self.say("this change was undone before the comparison began: T ends it");
                    return Ok(());
                }
                self.say(format!("made again: {words} · at step {step}"));
                self.rewind(step, &WorkerOrder::Redo)
            }
            Some(Err(error)) => {
                self.say(format!("not made again: {error}"));
                Ok(())
            }
            None if self.leave_again() => Ok(()),
            None => {
                self.say("there is nothing to make again");
                Ok(())
            }
        }
    }

    /// Sends both worlds to the step of an undone or repeated change.
    fn rewind(&mut self, step: u64, order: &WorkerOrder) -> Result<(), WorldError> {
        self.playing = false;
        self.owed = 0;
        self.put_by();
        self.background_job = Some(BackgroundJob::Back(step));
        self.undoing = true;
        for worker in std::iter::once(&mut self.run).chain(&mut self.twin) {
            worker.lend(order.clone(), &self.wake);
        }
        self.sent()
    }

    /// Follows a new change of the first world, after which what was left cannot be brought back.
    pub(super) fn follow_new_deed(&mut self, deed: RecordedEdit) {
        self.left.forget_after();
        self.follow_deed(deed);
    }

    /// Follows a change of the selected body or joint, or says why it was not made. Returns true if it was.
    pub(super) fn follow_result(&mut self, made: Result<Option<RecordedEdit>, String>) -> bool {
        match made {
            Ok(Some(deed)) => {
                self.follow_new_deed(deed);
                return true;
            }
            Ok(None) => {}
            Err(error) => self.say(format!("not changed: {}", plain(&error))),
        }
        false
    }

    /// Learns the result of a change of the first world, and makes it in its copy as well.
    fn follow_deed(&mut self, deed: RecordedEdit) {
        self.run.learn();
        let Some(other) = &mut self.twin else { return };
        let done = other.here_mut().map(|run| run.edit(deed));
        other.learn();
        if let Some(Err(error)) = done {
            self.say(format!("not done in the copy: {error}"));
        }
    }

    /// Begins to move the world to a backend and to settings, unless it has both.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn carry_over(&mut self, on: On, settings: Settings) -> Result<(), WorldError> {
        let from = self.run.on();
        if on == from && settings == self.run.scene().settings {
            return Ok(());
        }
        self.release();
        let (settings, cancel, context) = (Box::new(settings), Cancel::default(), self.context.clone());
        let twin = self.twin.is_some();
        let order = WorkerOrder::Carry { on, context, settings: settings.clone(), twin, cancel: cancel.clone() };
        self.send(BackgroundJob::Carry { from, on, settings, cancel }, order)
    }

    /// Begins or ends the comparison with a copy on the other backend.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn toggle_twin(&mut self) -> Result<(), WorldError> {
        if self.twin.is_some() {
            self.drop_twin();
            return Ok(());
        }
        self.release();
        let (context, cancel) = (self.context.clone(), Cancel::default());
        self.send(BackgroundJob::Twin(cancel.clone()), WorkerOrder::Twin { context, cancel })
    }

    /// Ends the comparison: drops the copy.
    pub(super) fn drop_twin(&mut self) {
        if self.twin.take().is_some() {
            // The extent that was seen of each world fills the whole picture.
            self.zoom_along(0.5);
        }
        if self.layers.coloring == Coloring::Difference {
            self.layers.coloring = Coloring::Body;
        }
    }

    /// Takes over the result of a worker thread, of the first world or its copy.
    ///
    /// # Errors
    /// If the device is lost, or a step failed.
    pub(super) fn arrived(&mut self, outcome: WorkerOutcome) -> Result<(), WorldError> {
        match outcome {
            WorkerOutcome::Steps(stepped) => self.stepped(stepped),
            WorkerOutcome::WentBack(result) => result,
            WorkerOutcome::Carried(carried, twin) => self.carried(carried, twin),
            WorkerOutcome::Twin(twin) => {
                if self.seat_twin(twin)? {
                    self.layers.coloring = Coloring::Difference;
                    // The extent that was seen of one world fits into half of the picture.
                    self.zoom_along(2.0);
                }
                Ok(())
            }
        }
    }

    /// Takes over the result of a move to another backend or settings.
    fn carried(&mut self, carried: Result<bool, WorldError>, twin: Option<Twin>) -> Result<(), WorldError> {
        let from = match &self.background_job {
            Some(BackgroundJob::Carry { from, .. }) => *from,
            _ => self.run.on(),
        };
        match carried {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(WorldError::Device(error)) => return Err(WorldError::Device(error)),
            Err(error) => {
                self.say(format!("not changed: {error}"));
                return Ok(());
            }
        }
        if self.run.on() != from {
            self.say(format!("on {} from step {}", self.backend_name(self.run.on()), self.run.steps()));
        }
        // The old copy has other settings.
        if let Some(twin) = twin
            && !self.seat_twin(twin)?
        {
            self.drop_twin();
        }
        Ok(())
    }

    /// Shows a copy beside the first world; returns false if there is none.
    fn seat_twin(&mut self, twin: Twin) -> Result<bool, WorldError> {
        match twin {
            Ok(Some(twin)) => {
                self.twin = Some(WorkerHandle::new(*twin));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(WorldError::Device(error)) => Err(WorldError::Device(error)),
            Err(error) => {
                self.say(format!("no copy to compare with: {error}"));
                Ok(false)
            }
        }
    }
}
