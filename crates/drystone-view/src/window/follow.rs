//! Plays a script in the window: reads one line after the other, waits for the condition that a line names, makes input
//! events, takes screenshots and writes reports.

use std::path::Path;

use winit::dpi::{PhysicalPosition, PhysicalSize};
use winit::event_loop::ActiveEventLoop;

use super::super::ViewError;
use super::super::action::Action;
use super::super::app::App;
use super::super::joint::kind_words;
use super::super::run::On;
use super::super::screen::read;
use super::super::script::{ScriptLine, change_setting};
use super::{OpenWindow, Wait};
use drystone::JointKind;
use drystone::WorldError;
use drystone::low_level::gpu::bytes_read_back;
use drystone::low_level::state;

/// Longest time that a script waits for a file, or for pictures of scenes.
const AWAIT: std::time::Duration = std::time::Duration::from_mins(1);
/// Maximum number of frames that a script waits for a condition.
const PATIENCE: u32 = 20_000;

/// Values of the selected body, as its card shows them.
fn selected(app: &App) -> Option<serde_json::Value> {
    let selection = app.build.selection.as_ref()?;
    let (body, step) = (&selection.now.body, app.run.steps());
    let (velocity, spin) = selection.motion(step);
    let material = body.shapes.first()?.material;
    Some(serde_json::json!({
        "index": selection.id.index, "name": body.id, "kind": format!("{:?}", body.kind), "mass": selection.mass,
        "density": selection.density, "friction": material.friction, "restitution": material.restitution,
        "velocity": [velocity.x, velocity.y], "spin": spin, "position": [body.position.x, body.position.y],
        "fixed_rotation": body.fixed_rotation, "joints": selection.now.joints.len(),
    }))
}

/// Values of the selected joint, as its card shows them.
fn selected_joint(app: &App) -> Option<serde_json::Value> {
    let selection = app.build.joint.as_ref()?;
    let joint = &selection.now;
    let spring = match joint.kind {
        JointKind::Spring { stiffness, damping, rest_length } => {
            serde_json::json!({ "stiffness": stiffness, "damping": damping, "rest_length": rest_length })
        }
        _ => serde_json::Value::Null,
    };
    let motor = match joint.kind {
        JointKind::Revolute { motor, .. }
        | JointKind::Prismatic { motor, .. }
        | JointKind::Distance { motor, .. }
        | JointKind::Wheel { motor, .. } => motor,
        _ => None,
    };
    Some(serde_json::json!({
        "index": selection.id.index, "kind": kind_words(joint), "names": selection.names, "mass": selection.mass,
        "spring": spring, "motor": motor.map(|motor| [motor.speed, motor.max]), "hertz": joint.hertz,
        "enabled": joint.enabled, "force": selection.seen.map(|seen| [seen.force.x, seen.force.y]),
        "length": selection.seen.map(|seen| seen.length()),
    }))
}

impl OpenWindow {
    /// Writes a texture as PNG.
    pub(super) fn take_shot(&mut self, path: &Path, texture: &wgpu::Texture) {
        if !self.screen.copies() {
            self.app.say("screenshots are not available: this surface cannot be read back");
            return;
        }
        let image = read(&self.app.context, texture);
        let written = image.and_then(|image| image.write_png(path).map_err(|error| error.to_string()));
        if let Err(error) = written {
            self.app.say(error);
        }
    }

    /// Writes the state of the window and its worlds as JSON, for tests.
    pub(super) fn write_report(&mut self, path: &Path) -> Result<(), WorldError> {
        let sent = bytes_read_back(&self.app.context);
        self.app.settle()?;
        let mut snapshots = Vec::new();
        for worker in std::iter::once(&mut self.app.run).chain(&mut self.app.twin) {
            if let Some(run) = worker.here_mut() {
                snapshots.push(run.world_mut().snapshot()?);
            }
        }
        let Some(snapshot) = snapshots.first() else { return Ok(()) };
        let twin = snapshots.get(1).map(|snapshot| format!("{:016x}", state::hash(snapshot)));
        let app = &self.app;
        let facts = app.facts();
        let mut report = serde_json::json!({
            "scene": app.run.scene().name, "backend": if app.run.on() == On::Cpu { "cpu" } else { "gpu" },
            "step": app.run.steps(), "furthest": facts.furthest, "hash": format!("{:016x}", state::hash(snapshot)),
            "bodies": facts.bodies, "there": facts.there, "joints": facts.joints,
            "positions": snapshot.poses.iter().map(|pose| pose.position).take(64).collect::<Vec<_>>(),
            "sent_by_steps": sent[0], "sent_otherwise": sent[1], "frames": app.frames, "playing": app.playing,
            "note": app.note(), "panel": app.shows_panel(), "keys": app.show_keys, "thumbs": app.thumbs.count(),
            "cursor": app.cursor, "typing": app.typing, "search": app.search, "layers": app.prefs.layers, "fault": app.fault.as_ref().map(|fault| &fault.text), "shapes": facts.shapes, "size": self.screen.size(), "camera": {
                "center": [app.camera.center.x, app.camera.center.y], "metres_per_pixel": app.camera.metres_per_pixel,
                "origin": [app.camera.origin.x, app.camera.origin.y], "size": app.camera.size,
            },
            "gravity": [facts.gravity.x, facts.gravity.y], "twin": twin,
            "over": app.pointer.over.map(|over| over.body), "sleep": app.run.scene().settings.sleep,
            "substeps": app.run.scene().settings.substep_count(), "kept_bytes": facts.kept.0, "speed": app.speed,
            "samples": app.figures.samples.len(), "opening": app.opening.as_ref().map(|opening| opening.source.spec()),
            "follows": app.camera_follow.follows, "blank": app.camera_follow.blank, "meanwhile": app.meanwhile, "scale": self.egui.egui_ctx().pixels_per_point(),
        });
        let watched: Vec<_> = app.watch.tracks.iter().map(|track| (&track.name, track.moments.len())).collect();
        report["told"] = app.pointer.told().map(|(over, _)| over.body).into();
        report["thumbs_kept"] = app.thumbs.kept().into();
        let [left, right] = [app.fold.covered.left, app.fold.covered.right];
        report["covered"] = serde_json::json!({ "left": left, "right": right, "card": app.fold.card });
        report["overlaps"] = serde_json::json!(app.build.overlap.bodies);
        report["tool"] = app.build.tool.name().into();
        report["selected"] = serde_json::json!(selected(app));
        report["selected_joint"] = serde_json::json!(selected_joint(app));
        report["told_joint"] = serde_json::json!(app.told_joint().map(|(over, _)| app.joint_lines(over)));
        report["panel_width"] = app.prefs.panel_width.into();
        report["panel_seen_to"] = app.fold.seen_to.into();
        report["refusal"] = super::super::panel::refusal(self.egui.egui_ctx()).into();
        report["save_path"] = app.save_path.as_str().into();
        report["path"] = app.path.as_str().into();
        report["drop_size"] = app.drop_size().into();
        report["watched"] = serde_json::json!(watched);
        if let Err(error) = std::fs::write(path, report.to_string()) {
            self.app.say(error.to_string());
        }
        Ok(())
    }

    /// Plays lines of the script until one needs a frame.
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
                        || self.app.background_job.is_some()
                        || self.app.seeks()
                        || !self.app.is_settled()
                        || self.app.pointer.awaits()
                        || self.app.watch.is_busy()
                        || !self.app.queue.is_empty();
                    if busy {
                        *patience = patience.saturating_sub(1);
                        if *patience == 0 {
                            return Err(ViewError::Script("it never settled".to_owned()));
                        }
                        return Ok(());
                    }
                }
                Wait::Opened(all, patience) => {
                    if self.app.opening.is_some() || (*all && self.app.jobs.count() > 0) {
                        *patience = patience.saturating_sub(1);
                        if *patience == 0 {
                            return Err(ViewError::Script("it was never opened".to_owned()));
                        }
                        return Ok(());
                    }
                }
                Wait::Thumbs(count, end) => {
                    if self.app.thumbs.count() < *count {
                        if std::time::Instant::now() > *end {
                            return Err(ViewError::Script(format!("there were never {count} pictures")));
                        }
                        return Ok(());
                    }
                }
                Wait::File(path, end) => {
                    if !path.exists() {
                        if std::time::Instant::now() > *end {
                            return Err(ViewError::Script(format!("{} never came", path.display())));
                        }
                        return Ok(());
                    }
                }
                Wait::Nothing | Wait::Frames(_) => {}
            }
            self.waiting = Wait::Nothing;
            let Some(line) = self.script.as_mut().and_then(|script| script.lines.pop_front()) else {
                event_loop.exit();
                // No more lines until the window is closed.
                self.waiting = Wait::Frames(u32::MAX);
                return Ok(());
            };
            self.follow(line, event_loop)?;
        }
    }

    /// Plays one line.
    fn follow(&mut self, line: ScriptLine, event_loop: &ActiveEventLoop) -> Result<(), ViewError> {
        let modifiers = egui::Modifiers::NONE;
        let scale = self.scale.unwrap_or(1.0) * self.egui.egui_ctx().zoom_factor();
        match line {
            ScriptLine::Act(action) => self.app.queue.push(action),
            ScriptLine::Frames(frames) => self.waiting = Wait::Frames(frames),
            ScriptLine::Run(steps) => self.waiting = Wait::Steps(self.app.run.steps() + steps, PATIENCE),
            ScriptLine::Settle => {
                // Actions of the lines before are done first.
                self.waiting = Wait::Settled(PATIENCE);
            }
            ScriptLine::Thumbs(count) => self.waiting = Wait::Thumbs(count, std::time::Instant::now() + AWAIT),
            ScriptLine::Opened(all) => self.waiting = Wait::Opened(all, PATIENCE),
            ScriptLine::Move([x, y]) => {
                self.pointer = egui::pos2(x / scale, y / scale);
                self.made.push(egui::Event::PointerMoved(self.pointer));
            }
            ScriptLine::Button(pressed, button) => {
                self.made.push(egui::Event::PointerButton { pos: self.pointer, button, pressed, modifiers });
            }
            ScriptLine::Touch(phase, [x, y]) => self.touch(phase, egui::pos2(x / scale, y / scale)),
            ScriptLine::Wheel(lines) => self.made.push(egui::Event::MouseWheel {
                unit: egui::MouseWheelUnit::Line,
                delta: egui::vec2(0.0, lines),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Wheel,
                modifiers,
            }),
            ScriptLine::Key(key) => {
                for pressed in [true, false] {
                    self.made.push(egui::Event::Key { key, physical_key: None, pressed, repeat: false, modifiers });
                }
            }
            ScriptLine::Text(text) => self.made.push(egui::Event::Text(text)),
            ScriptLine::DropFile(path) => self.made_files.push(path),
            ScriptLine::Size([width, height]) => {
                // Some systems resize at once and send no event.
                let size = PhysicalSize::new(width, height);
                if let Some(size) = self.window.request_inner_size(size) {
                    self.resize(size);
                }
            }
            ScriptLine::Place([x, y]) => self.window.set_outer_position(PhysicalPosition::new(x, y)),
            ScriptLine::Scale(to) => {
                self.scale = Some(to.clamp(0.5, 4.0));
                self.app.pointer.pixel = None;
            }
            ScriptLine::Minimize => self.screen.resize(&self.app.context, [0, 0]),
            ScriptLine::LoseSurface => {
                if let Err(error) = self.screen.new_surface(&self.window, &self.app.context) {
                    return Err(ViewError::Script(error.to_string()));
                }
            }
            ScriptLine::LoseDevice => self.app.context.device().destroy(),
            ScriptLine::Close => event_loop.exit(),
            ScriptLine::Shot(path) => self.shot = Some(path),
            ScriptLine::Report(path) => self.report = Some(path),
            ScriptLine::Prefs(path) => {
                self.app.prefs.save(&path).map_err(|error| ViewError::Script(error.to_string()))?;
            }
            ScriptLine::Folder(path) => self.app.folder = path,
            ScriptLine::Rewrite(from, to) => {
                let failed = |error: std::io::Error| ViewError::Script(format!("{}: {error}", to.display()));
                let text = std::fs::read(&from).map_err(failed)?;
                std::fs::write(&to, text).map_err(failed)?;
                // The time stamps of a file system may be coarse.
                let later = std::time::SystemTime::now() + super::IDLE;
                let file = std::fs::File::options().write(true).open(&to).map_err(failed)?;
                file.set_modified(later).map_err(failed)?;
                // The check for changes is due at once.
                self.last_look = self.last_look.checked_sub(super::IDLE).unwrap_or(self.last_look);
            }
            ScriptLine::FrameTime(seconds) => self.scripted = seconds.clamp(1e-3, 10.0),
            ScriptLine::Live(on) => self.app.patient = !on,
            ScriptLine::Hear(on) => self.hears = on,
            ScriptLine::Await(path) => self.waiting = Wait::File(path, std::time::Instant::now() + AWAIT),
            ScriptLine::Setting(change) => {
                let mut settings = self.app.run.scene().settings;
                change_setting(&mut settings, &change).map_err(ViewError::Script)?;
                self.app.queue.push(Action::Settings(Box::new(settings)));
            }
        }
        Ok(())
    }

    /// Makes the events of a finger, with the pointer events that winit's input adds to them.
    fn touch(&mut self, phase: egui::TouchPhase, pos: egui::Pos2) {
        let (device_id, id) = (egui::TouchDeviceId(0), egui::TouchId::from(0_u64));
        self.made.push(egui::Event::Touch { device_id, id, phase, pos, force: None });
        let button = |pressed| egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        match phase {
            egui::TouchPhase::Start => self.made.extend([egui::Event::PointerMoved(pos), button(true)]),
            egui::TouchPhase::Move => self.made.push(egui::Event::PointerMoved(pos)),
            egui::TouchPhase::End => self.made.extend([button(false), egui::Event::PointerGone]),
            egui::TouchPhase::Cancel => self.made.push(egui::Event::PointerGone),
        }
    }
}
