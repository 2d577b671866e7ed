//! Does what was asked for.

use glam::Vec2;

use super::action::Action;
use super::app::App;
use super::edit::Edit;
use super::panel::{other, speeds};
use super::run::{On, Run};
use super::source::Source;
use crate::draw::Coloring;
use crate::scene::Settings;
use crate::world::WorldError;

impl App {
    /// Does all that was asked for since the last frame.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn act(&mut self) -> Result<(), WorldError> {
        for action in std::mem::take(&mut self.queue) {
            self.act_on(action)?;
        }
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
                if self.run.scene().settings != settings && self.run.steps() == 0 {
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
            Action::Tilt(angle) => self.set_gravity(Vec2::from_angle(angle).rotate(self.run.gravity())),
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
            Action::Measure => self.figures.measure(&mut self.run),
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
        if step < self.run.first() && self.run.first() > 0 {
            self.say(format!("what was before step {} is another computation", self.run.first()));
        }
        if let Some(since) = self.twin.as_ref().map(Run::first).filter(|&since| step < since) {
            self.say(format!("both have run side by side since step {since}"));
        }
        if let Some(twin) = &mut self.twin {
            let step = step.clamp(twin.first(), twin.furthest());
            twin.seek(step)?;
            // The second one catches up here: one world that lags would show differences that are not there.
            while twin.target().is_some() {
                twin.step()?;
            }
            self.run.seek(step)?;
            while self.run.target().is_some() {
                self.run.step()?;
            }
            return Ok(());
        }
        self.run.seek(step)
    }

    fn carry_over(&mut self, on: On, settings: Settings) -> Result<(), WorldError> {
        self.release();
        let before = self.run.on();
        match self.run.carry_over(on, &self.context, settings) {
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
        self.figures.rebase();
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
        match self.run.twin(other(self.run.on()), &self.context) {
            Ok(twin) => {
                self.twin = Some(twin);
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
