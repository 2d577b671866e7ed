//! The queue of actions: each is carried out between two frames, as soon as the world it needs is ready.

use glam::Vec2;

use super::action::{Action, Needs};
use super::app::App;
use super::background_jobs::BackgroundJob;
use super::edit::Edit;
use super::opening::Why;
use super::panel::speeds;
use super::source::SceneSource;
use drystone::WorldError;
use drystone_draw::Coloring;

impl App {
    /// Carries out the actions of the last frame. An action on a world in the middle of a step waits for its end, and
    /// actions that must come after it wait as well.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn act(&mut self) -> Result<(), WorldError> {
        self.undoing &= self.background_job.is_some() || self.seeks();
        let mut waiting = Vec::new();
        for action in std::mem::take(&mut self.queue) {
            let Some(action) = self.take_up(action, &mut waiting) else { continue };
            let waits = match action.needs() {
                // A restart keeps built bodies, also those that wait in the queue.
                Needs::Another if action == Action::Restart => waiting.iter().any(Action::builds),
                Needs::Nothing | Needs::Another => false,
                Needs::Turn => !waiting.is_empty(),
                // An explosion that waits for the poses comes before the actions after it.
                // Until an undo has reached its step, the log has entries that the world has not done.
                Needs::World => !waiting.is_empty() || !self.is_settled() || self.pointer.stops_time() || self.undoing,
            };
            if waits {
                waiting.push(action);
                continue;
            }
            let before = self.opened;
            self.act_on(action)?;
            if self.opened != before {
                waiting.clear();
            }
        }
        // Actions queued by these actions come after those that wait.
        waiting.append(&mut self.queue);
        self.queue = waiting;
        Ok(())
    }

    /// Resolves an action to what it means now, although it may be done later; `None` if nothing is left to do. The
    /// newest action wins: one of the same kind that waits is dropped, one under way is cancelled.
    fn take_up(&self, action: Action, waiting: &mut Vec<Action>) -> Option<Action> {
        let (on, settings) = self.wanted(waiting);
        let action = match action {
            Action::On(on) => Action::Carry(on, Box::new(settings)),
            Action::OtherBackend => Action::Carry(on.other(), Box::new(settings)),
            Action::Settings(settings) => Action::Carry(on, settings),
            Action::Twin if matches!(self.background_job, Some(BackgroundJob::Twin(_))) => {
                self.background_job.as_ref()?.cancel();
                return None;
            }
            action => action,
        };
        match (&action, waiting.last()) {
            (Action::Carry(..), Some(Action::Carry(..))) | (Action::Seek(_), Some(Action::Seek(_))) => {
                waiting.pop();
            }
            _ => {}
        }
        if let (Action::Carry(..), Some(background_job @ BackgroundJob::Carry { .. })) = (&action, &self.background_job)
        {
            background_job.cancel();
        }
        Some(action)
    }

    #[allow(clippy::cast_precision_loss, reason = "a few notches")]
    fn act_on(&mut self, action: Action) -> Result<(), WorldError> {
        match action {
            Action::Open(spec) => match SceneSource::parse(&spec) {
                Ok(source) => self.open(source, Why::Asked, None)?,
                Err(error) => self.say(error),
            },
            Action::Parameter(index, value) => {
                if let SceneSource::Catalogue { entry, mut values } = self.wished().clone()
                    && let Some(place) = values.get_mut(index)
                {
                    *place = value;
                    self.open(SceneSource::Catalogue { entry, values }, Why::Parameter, None)?;
                }
            }
            Action::Restart => {
                // Keeps the settings and the backend that were chosen while it ran, and what was built.
                let settings = (self.opened > 0).then(|| self.wanted(&[]).1);
                self.open(self.source.clone(), Why::Restart, settings)?;
            }
            Action::TogglePause => {
                self.playing = !self.playing;
                self.owed = 0;
            }
            Action::Pause => self.playing = false,
            Action::Step(steps) => {
                self.playing = false;
                self.owed += steps;
            }
            Action::Back(steps) => {
                let to = self.run.target().unwrap_or(self.run.steps()).saturating_sub(steps);
                self.seek(to)?;
            }
            Action::Seek(step) => self.seek(step)?,
            Action::Speed(speed) => self.speed = speed,
            Action::Slower | Action::Faster => {
                let at = speeds().iter().position(|&speed| speed >= self.speed).unwrap_or(speeds().len() - 1);
                let to = if action == Action::Faster { (at + 1).min(speeds().len() - 1) } else { at.saturating_sub(1) };
                self.speed = speeds()[to];
                self.say(super::panel::speed_text(self.speed));
            }
            Action::Carry(on, settings) => self.carry_over(on, *settings)?,
            // `take_up` has made them to `Carry`.
            Action::On(_) | Action::OtherBackend | Action::Settings(_) => {}
            Action::Twin => self.toggle_twin()?,
            Action::FrameAll => self.frame_all(),
            Action::Gravity(gravity) => self.set_gravity(gravity),
            Action::Tilt(angle) => self.set_gravity(Vec2::from_angle(angle).rotate(self.facts().gravity)),
            Action::ResetGravity => self.set_gravity(self.run.scene().gravity),
            Action::Drop(at) => self.drop_bodies(at),
            Action::Shoot(at) => self.shoot(at),
            Action::Explode(at) => self.explode(at),
            Action::Remove(at) => self.remove(at)?,
            Action::Watch(at) => self.watch_at(at)?,
            Action::Unwatch(at) => self.unwatch(at),
            Action::SaveGraphs => self.save_graphs(),
            Action::SaveEnergies => self.save_energies(),
            Action::Undo => self.undo()?,
            Action::Panel => self.toggle_panel(),
            Action::Redo => self.redo()?,
            Action::Tool(tool) => self.take_tool(tool),
            Action::Stock(stock) => self.build.stock = stock,
            Action::Draw(outline) => self.draw_body(&outline),
            Action::Finish => self.finish(),
            Action::Pick(tool, at) => self.pick(tool, at)?,
            Action::Select(choice) => self.select(choice)?,
            Action::Change(change) => self.change(&change),
            Action::ChangeJoint(what, joint) => self.change_joint(what, &joint),
            Action::Clear => self.clear(),
            Action::NewScene => self.new_scene()?,
            Action::Keys => self.show_keys = !self.show_keys,
            Action::LeaveOff if self.show_keys => self.show_keys = false,
            Action::LeaveOff => self.leave_off(),
            Action::Halt => self.halt()?,
            Action::Dark => self.prefs.dark = !self.prefs.dark,
            Action::TextSize(notches) => self.set_text_size(self.prefs.zoom + 0.1 * notches as f32),
            Action::UsualTextSize => self.set_text_size(1.0),
            Action::NextColoring => {
                let all = Coloring::ALL;
                let at = all.iter().position(|&coloring| coloring == self.layers.coloring).unwrap_or(0);
                // The difference needs two worlds, and comes last.
                let count = if self.twin.is_some() { all.len() } else { all.len() - 1 };
                self.layers.coloring = all[(at + 1) % count];
                self.layers_to_prefs();
                self.say(format!("bodies by {}", self.layers.coloring.words()));
            }
            Action::Layer(name, on) => match self.layers.switch(&name) {
                Some(switch) => {
                    *switch = on.unwrap_or(!*switch);
                    let now = *switch;
                    if name == "contacts" && on.is_none() {
                        self.layers.normals = now;
                    }
                    self.layers_to_prefs();
                }
                None => self.say(format!("there is no layer {name:?}")),
            },
            Action::Coloring(name) => match Coloring::ALL.into_iter().find(|coloring| coloring.name() == name) {
                Some(coloring) => {
                    self.layers.coloring = coloring;
                    self.layers_to_prefs();
                }
                None => self.say(format!("there is no colouring {name:?}")),
            },
            Action::Measure => self.measure(),
            Action::SavePicture => self.save_picture(),
            Action::SaveState => self.save_state(),
            Action::SaveScene => self.save_scene(),
            Action::Record => self.toggle_recording(),
            Action::Csv => self.save_csv(),
            Action::Trace => self.save_trace(),
            Action::DropCount(count) => self.prefs.drop_count = count,
            Action::DropKind(kind) => self.prefs.drop = kind,
            Action::Quit => self.quit = true,
        }
        Ok(())
    }

    /// Sets the user's factor on the size of texts and panel.
    fn set_text_size(&mut self, factor: f32) {
        self.prefs.zoom = (factor * 10.0).round().clamp(5.0, 30.0) / 10.0;
        self.say(format!("text size {:.0} % · Ctrl + and Ctrl − change it, Ctrl 0 resets it", 100.0 * self.prefs.zoom));
    }

    fn set_gravity(&mut self, gravity: Vec2) {
        if gravity.is_finite()
            && let Err(error) = self.edit(&Edit::Gravity(gravity))
        {
            self.say(error);
        }
    }
}
