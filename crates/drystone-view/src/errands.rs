//! What a world is sent away for, as it takes long for large ones: back in time, to the other backend or by other settings,
//! to get a twin. It is shown as it left until it is back, and what is asked of it waits.

use super::action::Action;
use super::app::App;
use super::cancel::Cancel;
use super::edit::Deed;
use super::run::{On, Run, Undoing};
use super::seat::{Order, Outcome, Seat, Twin};
use drystone::Settings;
use drystone::WorldError;
use drystone_draw::Coloring;

/// What worlds are away for.
#[derive(Debug)]
pub(crate) enum Errand {
    /// To a step of the past.
    Back(u64),
    Carry {
        from: On,
        on: On,
        settings: Box<Settings>,
        cancel: Cancel,
    },
    Twin(Cancel),
}

impl Errand {
    /// It is not wanted any more, and left off as soon as that can be. Going back is not: it is short, and of two worlds one
    /// would be there.
    pub fn cancel(&self) {
        match self {
            Self::Back(_) => {}
            Self::Carry { cancel, .. } | Self::Twin(cancel) => cancel.cancel(),
        }
    }
}

impl App {
    /// Backend and settings as they will be when all is done that was asked for, `waiting` as well.
    pub fn wanted(&self, waiting: &[Action]) -> (On, Settings) {
        let asked = waiting.iter().rev().find_map(|action| match action {
            Action::Carry(on, settings) => Some((*on, **settings)),
            _ => None,
        });
        let now = || match &self.errand {
            Some(Errand::Carry { on, settings, .. }) => (*on, **settings),
            _ if self.opened == 0 => (self.first_on, self.run.scene().settings),
            _ => (self.run.on(), self.run.scene().settings),
        };
        asked.unwrap_or_else(now)
    }

    /// What takes its time at the moment, in words.
    pub fn doing(&self) -> Option<String> {
        if let Some(opening) = &self.opening {
            return Some(format!("opening {} …  Esc cancels", opening.source.title()));
        }
        match &self.errand {
            Some(Errand::Carry { from, on, .. }) if from != on => {
                Some(format!("moving to {} …  Esc cancels", self.backend_name(*on)))
            }
            Some(Errand::Carry { .. }) => Some("changing settings …  Esc cancels".to_owned()),
            Some(Errand::Twin(_)) => {
                Some(format!("starting {} beside it …  Esc cancels", self.backend_name(self.run.on().other())))
            }
            Some(Errand::Back(step)) => Some(format!("going to step {step} …")),
            None => {
                let target = self.run.target()?;
                let stop = if self.twin.is_none() { "  Esc stops" } else { "" };
                Some(format!("going to step {target} …{stop}"))
            }
        }
    }

    /// Leaves off what takes its time, the newest first.
    pub(super) fn leave_off(&mut self) {
        if let Some(opening) = self.opening.take() {
            self.say(format!("opening {} cancelled", opening.source.title()));
        } else if let Some(errand) = &self.errand {
            errand.cancel();
        } else if self.run.target().is_some() && self.twin.is_none() {
            self.queue.push(Action::Halt);
        } else if !self.build.step_back() {
            self.fault = None;
        }
    }

    /// A world that was sent to a step stays where it is.
    pub(super) fn halt(&mut self) -> Result<(), WorldError> {
        let here = self.run.steps();
        if let Some(run) = self.run.here_mut() {
            run.seek(here)?;
        }
        self.run.learn();
        Ok(())
    }

    /// Uploads or puts by what worlds are drawn from while they are away.
    fn put_by(&mut self) {
        self.refresh();
        for seat in std::iter::once(&self.run).chain(&self.twin) {
            self.drawing.keep(&self.context, seat, &self.layers);
        }
    }

    /// Sends the first world away.
    fn send(&mut self, errand: Errand, order: Order) -> Result<(), WorldError> {
        self.put_by();
        self.errand = Some(errand);
        self.run.lend(order, &self.wake);
        self.sent()
    }

    fn sent(&mut self) -> Result<(), WorldError> {
        if self.patient { self.take_back(None) } else { Ok(()) }
    }

    pub(super) fn seek(&mut self, step: u64) -> Result<(), WorldError> {
        self.playing = false;
        self.owed = 0;
        self.release();
        let (first, furthest) = (self.facts().first, self.facts().furthest);
        if step < first {
            self.say(format!("history before step {first} is not available: settings or backend have changed since"));
        }
        let mut range = (first, furthest);
        if let Some(twin) = self.twin.as_ref().map(Seat::facts) {
            // Where both have been.
            range = (first.max(twin.first), furthest.min(twin.furthest));
            if step < range.0 {
                let since = range.0;
                self.say(format!("both have run side by side since step {since}"));
            }
        }
        let step = step.clamp(range.0.min(range.1), range.1);
        if step < self.run.steps() {
            self.put_by();
            self.errand = Some(Errand::Back(step));
        }
        for seat in std::iter::once(&mut self.run).chain(&mut self.twin) {
            if step < seat.steps() {
                seat.lend(Order::GoBack(step), &self.wake);
            } else if let Some(run) = seat.here_mut() {
                run.seek(step)?;
                seat.learn();
            }
        }
        self.sent()
    }

    /// Takes back the last change, in both worlds: where they are, or with their time. Where nothing was changed since the
    /// scene was opened, the world that was there before comes back.
    pub(super) fn undo(&mut self) -> Result<(), WorldError> {
        self.release();
        let last = |seat: &Seat| seat.here().and_then(Run::last_change);
        let change = last(&self.run);
        if change.is_some() && self.twin.as_ref().is_some_and(|twin| last(twin) != change) {
            self.say("this change was made before both ran side by side: T ends that");
            return Ok(());
        }
        let here = self.run.steps();
        let both_rewind = self.twin.as_ref().is_none_or(|twin| twin.here().is_some_and(Run::rewinds));
        match self.run.here_mut().and_then(Run::take_back) {
            Some(Undoing::Now(deed, words)) => {
                self.run.learn();
                self.follow_deed(deed);
                self.say(format!("undone: {words} · the time goes on from here · Y makes it again"));
                Ok(())
            }
            Some(Undoing::Rewind(..)) if !both_rewind => {
                self.say("this change was made before both ran side by side: T ends that");
                Ok(())
            }
            Some(Undoing::Rewind(step, words)) => {
                let back = if step == here { String::new() } else { format!(" · back at step {step}") };
                self.say(format!("undone: {words}{back} · Y makes it again"));
                self.rewind(step, &Order::Undo)
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

    /// Makes the change again that was undone last, in both worlds, or goes back to the world from which Z led away.
    pub(super) fn redo(&mut self) -> Result<(), WorldError> {
        self.release();
        match self.run.here_mut().and_then(Run::make_again) {
            Some(Ok(Undoing::Now(deed, words))) => {
                self.run.learn();
                self.follow_deed(deed);
                self.say(format!("made again: {words}"));
                Ok(())
            }
            Some(Ok(Undoing::Rewind(step, words))) => {
                let undone = |seat: &Seat| seat.here().and_then(Run::undone_at);
                if self.twin.as_ref().is_some_and(|twin| undone(twin) != Some(step)) {
                    self.say("this change was undone before both ran side by side: T ends that");
                    return Ok(());
                }
                self.say(format!("made again: {words} · at step {step}"));
                self.rewind(step, &Order::Redo)
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

    /// Sends both worlds to the step of a change.
    fn rewind(&mut self, step: u64, order: &Order) -> Result<(), WorldError> {
        self.playing = false;
        self.owed = 0;
        self.put_by();
        self.errand = Some(Errand::Back(step));
        self.undoing = true;
        for seat in std::iter::once(&mut self.run).chain(&mut self.twin) {
            seat.lend(order.clone(), &self.wake);
        }
        self.sent()
    }

    /// Does in the world beside the first what was done there.
    pub(super) fn follow_deed(&mut self, deed: Deed) {
        let Some(other) = &mut self.twin else { return };
        let done = other.here_mut().map(|run| run.edit(deed));
        other.learn();
        if let Some(Err(error)) = done {
            self.say(format!("not done in the world beside it: {error}"));
        }
    }

    pub(super) fn carry_over(&mut self, on: On, settings: Settings) -> Result<(), WorldError> {
        let from = self.run.on();
        if on == from && settings == self.run.scene().settings {
            return Ok(());
        }
        self.release();
        let (settings, cancel, context) = (Box::new(settings), Cancel::default(), self.context.clone());
        let twin = self.twin.is_some();
        let order = Order::Carry { on, context, settings: settings.clone(), twin, cancel: cancel.clone() };
        self.send(Errand::Carry { from, on, settings, cancel }, order)
    }

    pub(super) fn toggle_twin(&mut self) -> Result<(), WorldError> {
        if self.twin.is_some() {
            self.drop_twin();
            return Ok(());
        }
        self.release();
        let (context, cancel) = (self.context.clone(), Cancel::default());
        self.send(Errand::Twin(cancel.clone()), Order::Twin { context, cancel })
    }

    /// There is one world again.
    pub(super) fn drop_twin(&mut self) {
        if self.twin.take().is_some() {
            // As much is seen of it as was seen of each.
            self.zoom_along(0.5);
        }
        if self.layers.coloring == Coloring::Difference {
            self.layers.coloring = Coloring::Body;
        }
    }

    /// A world is back, the first one or the one beside it.
    ///
    /// # Errors
    /// If the device is lost, or a step was refused.
    pub(super) fn arrived(&mut self, outcome: Outcome) -> Result<(), WorldError> {
        match outcome {
            Outcome::Steps(stepped) => self.stepped(stepped),
            Outcome::WentBack(result) => result,
            Outcome::Carried(carried, twin) => self.carried(carried, twin),
            Outcome::Twin(twin) => {
                if self.seat_twin(twin)? {
                    self.layers.coloring = Coloring::Difference;
                    // As much is seen of each as was seen of one.
                    self.zoom_along(2.0);
                }
                Ok(())
            }
        }
    }

    fn carried(&mut self, carried: Result<bool, WorldError>, twin: Option<Twin>) -> Result<(), WorldError> {
        let from = match &self.errand {
            Some(Errand::Carry { from, .. }) => *from,
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
        // The one beside it is of other settings.
        if let Some(twin) = twin
            && !self.seat_twin(twin)?
        {
            self.drop_twin();
        }
        Ok(())
    }

    /// Puts a world beside the first; whether there is one.
    fn seat_twin(&mut self, twin: Twin) -> Result<bool, WorldError> {
        match twin {
            Ok(Some(twin)) => {
                self.twin = Some(Seat::new(*twin));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(WorldError::Device(error)) => Err(WorldError::Device(error)),
            Err(error) => {
                self.say(format!("nothing beside it: {error}"));
                Ok(false)
            }
        }
    }
}
