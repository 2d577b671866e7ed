//! Does what was asked for.

use glam::Vec2;

use super::action::{Action, Needs};
use super::app::App;
use super::edit::Edit;
use super::panel::{other, speeds};
use super::run::On;
use super::seat::Seat;
use super::source::Source;
use crate::draw::Coloring;
use crate::scene::Settings;
use crate::world::WorldError;

impl App {
    /// Does what was asked for since the last frame. What is asked of a world in the middle of a step waits for its end,
    /// and what must come after that waits as well.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn act(&mut self) -> Result<(), WorldError> {
        let mut waiting = Vec::new();
        for action in std::mem::take(&mut self.queue) {
            let waits = match action.needs() {
                Needs::Nothing | Needs::Another => false,
                Needs::Turn => !waiting.is_empty(),
                // An explosion that has yet to learn where the bodies are comes before what follows it.
                Needs::World => !waiting.is_empty() || !self.is_settled() || self.pointer.stops_time(),
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
        self.queue = waiting;
        Ok(())
    }

    fn act_on(&mut self, action: Action) -> Result<(), WorldError> {
        match action {
            Action::Open(spec) => match Source::parse(&spec) {
                Ok(source) => self.try_open(source),
                Err(error) => self.say(error),
            },
            Action::Parameter(index, value) => {
                if let Source::Catalogue { entry, mut values } = self.source.clone()
                    && let Some(place) = values.get_mut(index)
                {
                    *place = value;
                    self.try_open(Source::Catalogue { entry, values });
                }
            }
            Action::Restart => {
                // With the settings and on the backend that were chosen while it ran.
                let settings = self.run.scene().settings;
                self.try_open(self.source.clone());
                if self.run.scene().settings != settings && self.run.steps() == 0 && self.is_settled() {
                    self.carry_over(self.run.on(), settings)?;
                }
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
            Action::On(on) => self.carry_over(on, self.run.scene().settings)?,
            Action::OtherBackend => self.carry_over(other(self.run.on()), self.run.scene().settings)?,
            Action::Settings(settings) => self.carry_over(self.run.on(), *settings)?,
            Action::Twin => self.toggle_twin()?,
            Action::FrameAll => self.frame_all(),
            Action::Gravity(gravity) => self.set_gravity(gravity),
            Action::Tilt(angle) => self.set_gravity(Vec2::from_angle(angle).rotate(self.facts().gravity)),
            Action::ResetGravity => self.set_gravity(self.run.scene().gravity),
            Action::Drop(at) => self.drop_bodies(at),
            Action::Shoot(at) => self.shoot(at),
            Action::Explode(at) => self.explode(at),
            Action::Remove => self.remove(),
            Action::Panel => self.prefs.panel = !self.prefs.panel,
            Action::Keys => self.show_keys = !self.show_keys,
            Action::Dark => self.prefs.dark = !self.prefs.dark,
            Action::NextColoring => {
                let all = Coloring::ALL;
                let at = all.iter().position(|&coloring| coloring == self.layers.coloring).unwrap_or(0);
                // The difference needs two worlds, and comes last.
                let count = if self.twin.is_some() { all.len() } else { all.len() - 1 };
                self.layers.coloring = all[(at + 1) % count];
                self.layers_to_prefs();
                self.say(format!("bodies by {}", self.layers.coloring.name().replace('_', " ")));
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
            Action::Record => self.toggle_recording(),
            Action::Csv => self.save_csv(),
            Action::Trace => self.save_trace(),
            Action::DropCount(count) => self.prefs.drop_count = count,
            Action::DropKind(kind) => self.prefs.drop = kind,
            Action::Quit => self.quit = true,
        }
        Ok(())
    }

    fn try_open(&mut self, source: Source) {
        if let Err(error) = self.open(source) {
            self.say(error);
        }
    }

    fn seek(&mut self, step: u64) -> Result<(), WorldError> {
        self.playing = false;
        self.owed = 0;
        self.release();
        let (first, furthest) = (self.facts().first, self.facts().furthest);
        if step < first {
            self.say(format!("what was before step {first} is another computation"));
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
        for seat in std::iter::once(&mut self.run).chain(&mut self.twin) {
            if let Some(run) = seat.here_mut() {
                run.seek(step)?;
            }
            seat.learn();
        }
        Ok(())
    }

    fn carry_over(&mut self, on: On, settings: Settings) -> Result<(), WorldError> {
        self.release();
        let before = self.run.on();
        let context = self.context.clone();
        let Some(run) = self.run.here_mut() else { return Ok(()) };
        let carried = run.carry_over(on, &context, settings);
        self.run.learn();
        match carried {
            Ok(()) => {}
            Err(WorldError::Device(error)) => return Err(WorldError::Device(error)),
            Err(error) => {
                self.say(format!("not changed: {error}"));
                return Ok(());
            }
        }
        if on != before {
            self.say(format!("on {} from step {}", self.backend_name(on), self.run.steps()));
        }
        if self.twin.is_some() {
            // Off, and on again beside the world as it is now.
            self.toggle_twin()?;
            self.toggle_twin()?;
        }
        Ok(())
    }

    fn toggle_twin(&mut self) -> Result<(), WorldError> {
        if self.twin.take().is_some() {
            if self.layers.coloring == Coloring::Difference {
                self.layers.coloring = Coloring::Body;
            }
            self.camera.metres_per_pixel *= 0.5;
            return Ok(());
        }
        self.release();
        let (beside, context) = (other(self.run.on()), self.context.clone());
        let Some(run) = self.run.here_mut() else { return Ok(()) };
        match run.twin(beside, &context) {
            Ok(twin) => {
                self.twin = Some(Seat::new(twin));
                self.layers.coloring = Coloring::Difference;
                // As much is seen of each as was seen of one.
                self.camera.metres_per_pixel *= 2.0;
            }
            Err(WorldError::Device(error)) => return Err(WorldError::Device(error)),
            Err(error) => self.say(format!("nothing beside it: {error}")),
        }
        Ok(())
    }

    fn set_gravity(&mut self, gravity: Vec2) {
        if gravity.is_finite()
            && let Err(error) = self.edit(&Edit::Gravity(gravity))
        {
            self.say(error);
        }
    }
}
