//! Follows a script: one line after the other, each in its frame; takes screenshots and reports.

use std::path::Path;

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;

use super::super::ViewError;
use super::super::action::Action;
use super::super::run::On;
use super::super::screen::read;
use super::super::script::{Line, change_setting};
use super::{Shown, Wait};
use crate::state;
use crate::world::WorldError;

/// Frames that a script waits for something at most.
const PATIENCE: u32 = 20_000;

impl Shown {
    pub(super) fn take_shot(&mut self, path: &Path, texture: &wgpu::Texture) {
        if !self.screen.copies() {
            self.app.say("this surface cannot be read");
            return;
        }
        let image = read(&self.app.context, texture);
        let written = image.and_then(|image| image.write_png(path).map_err(|error| error.to_string()));
        if let Err(error) = written {
            self.app.say(error);
        }
    }

    /// What a test wants to know.
    pub(super) fn write_report(&mut self, path: &Path) -> Result<(), WorldError> {
        let sent = self.app.context.bytes_sent();
        let snapshot = self.app.run.world_mut().snapshot()?;
        let twin = match &mut self.app.twin {
            Some(twin) => Some(format!("{:016x}", state::hash(&twin.world_mut().snapshot()?))),
            None => None,
        };
        let app = &self.app;
        let report = serde_json::json!({
            "scene": app.run.scene().name, "backend": if app.run.on() == On::Cpu { "cpu" } else { "gpu" },
            "step": app.run.steps(), "furthest": app.run.furthest(), "hash": format!("{:016x}", state::hash(&snapshot)),
            "bodies": app.run.world().compiled().bodies.len(),
            "there": app.run.world().compiled().bodies.iter().filter(|body| body.kind != crate::types::VACANT).count(),
            "joints": app.run.world().compiled().joints.count(),
            "positions": snapshot.poses.iter().map(|pose| pose.position).take(64).collect::<Vec<_>>(),
            "sent_by_steps": sent[0], "sent_otherwise": sent[1], "frames": app.frames, "playing": app.playing,
            "note": app.note(), "size": self.screen.size(), "camera": {
                "center": [app.camera.center.x, app.camera.center.y], "metres_per_pixel": app.camera.metres_per_pixel,
                "origin": [app.camera.origin.x, app.camera.origin.y], "size": app.camera.size,
            },
            "gravity": [app.run.gravity().x, app.run.gravity().y], "twin": twin,
            "over": app.pointer.over.map(|over| over.body), "sleep": app.run.scene().settings.sleep,
            "substeps": app.run.scene().settings.substep_count(), "kept_bytes": app.run.kept().0,
        });
        if let Err(error) = std::fs::write(path, report.to_string()) {
            self.app.say(error.to_string());
        }
        Ok(())
    }

    /// Does lines of the script until one takes a frame.
    pub(super) fn follow_script(&mut self, event_loop: &ActiveEventLoop) -> Result<(), ViewError> {
        loop {
            match &mut self.waiting {
                Wait::Frames(left) if *left > 0 => {
                    *left -= 1;
                    return Ok(());
                }
                Wait::Steps(until, patience) => {
                    if self.app.run.steps() < *until {
                        *patience = patience.saturating_sub(1);
                        if *patience == 0 {
                            return Err(ViewError::Script(format!("step {until} was never reached")));
                        }
                        return Ok(());
                    }
                }
                Wait::Settled(patience) => {
                    let busy = self.app.owed > 0
                        || self.app.run.target().is_some()
                        || self.app.pointer.awaits()
                        || !self.app.queue.is_empty();
                    if busy {
                        *patience = patience.saturating_sub(1);
                        if *patience == 0 {
                            return Err(ViewError::Script("it never settled".to_owned()));
                        }
                        return Ok(());
                    }
                }
                Wait::Nothing | Wait::Frames(_) => {}
            }
            self.waiting = Wait::Nothing;
            let Some(line) = self.script.as_mut().and_then(|script| script.lines.pop_front()) else {
                event_loop.exit();
                // Nothing more happens until the window is gone.
                self.waiting = Wait::Frames(u32::MAX);
                return Ok(());
            };
            self.follow(line, event_loop)?;
        }
    }

    fn follow(&mut self, line: Line, event_loop: &ActiveEventLoop) -> Result<(), ViewError> {
        let modifiers = egui::Modifiers::NONE;
        let scale = self.scale.unwrap_or(1.0);
        match line {
            Line::Act(action) => self.app.queue.push(action),
            Line::Frames(frames) => self.waiting = Wait::Frames(frames),
            Line::Run(steps) => self.waiting = Wait::Steps(self.app.run.steps() + steps, PATIENCE),
            Line::Settle => {
                // What was just asked for is done first.
                self.waiting = Wait::Settled(PATIENCE);
            }
            Line::Move([x, y]) => {
                self.pointer = egui::pos2(x / scale, y / scale);
                self.made.push(egui::Event::PointerMoved(self.pointer));
            }
            Line::Button(pressed, button) => {
                self.made.push(egui::Event::PointerButton { pos: self.pointer, button, pressed, modifiers });
            }
            Line::Wheel(lines) => self.made.push(egui::Event::MouseWheel {
                unit: egui::MouseWheelUnit::Line,
                delta: egui::vec2(0.0, lines),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Wheel,
                modifiers,
            }),
            Line::Key(key) => {
                for pressed in [true, false] {
                    self.made.push(egui::Event::Key { key, physical_key: None, pressed, repeat: false, modifiers });
                }
            }
            Line::Text(text) => self.made.push(egui::Event::Text(text)),
            Line::DropFile(path) => self.made_files.push(path),
            Line::Size([width, height]) => {
                // Without a window manager the system follows; if it does not, the window is told all the same.
                let size = PhysicalSize::new(width, height);
                if let Some(size) = self.window.request_inner_size(size) {
                    self.resize(size);
                }
            }
            Line::Scale(to) => {
                self.scale = Some(to.clamp(0.5, 4.0));
                self.app.pointer.pixel = None;
            }
            Line::Minimize => self.screen.resize(&self.app.context, [0, 0]),
            Line::LoseSurface => {
                if let Err(error) = self.screen.new_surface(&self.window, &self.app.context) {
                    return Err(ViewError::Script(error.to_string()));
                }
            }
            Line::LoseDevice => self.app.context.device().destroy(),
            Line::Close => event_loop.exit(),
            Line::Shot(path) => self.shot = Some(path),
            Line::Report(path) => self.report = Some(path),
            Line::Prefs(path) => {
                self.app.prefs.save(&path).map_err(|error| ViewError::Script(error.to_string()))?;
            }
            Line::Folder(path) => self.app.folder = path,
            Line::Setting(change) => {
                let mut settings = self.app.run.scene().settings;
                change_setting(&mut settings, &change).map_err(ViewError::Script)?;
                self.app.queue.push(Action::Settings(Box::new(settings)));
            }
        }
        Ok(())
    }
}
