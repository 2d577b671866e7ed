//! The bar at the bottom: run, step, speed, clock, slider over the steps, and facts about the running world.

use egui::{RichText, Slider};

use super::super::action::Action;
use super::super::app::App;
use super::count;

/// Speeds to choose from, simulated seconds per second.
pub(crate) const SPEEDS: [f64; 8] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// Minimum width of the slider over the steps, points.
const SCRUBBER: f32 = 90.0;
/// Width of the clock of steps and seconds, points.
const CLOCK: f32 = 134.0;
/// Width of the bar below which the clock and the slider have a line of their own, points.
const ONE_LINE: f32 = 480.0;

/// Hover text of the restart button.
const RESTART_HINT: &str = "restart (R): all bodies go back to where they began, also those that you built. Drops, shots and pushes \
                            are gone; removed bodies stay removed. Choose the scene in the list to open it without your changes";

impl App {
    /// Shows the bar.
    pub(super) fn transport(&mut self, ui: &mut egui::Ui) {
        ui.add_space(2.0);
        let is_narrow = ui.available_width() < ONE_LINE;
        ui.horizontal(|ui| {
            if is_narrow {
                ui.spacing_mut().item_spacing.x = 4.0;
            }
            self.step_buttons(ui);
            // From the right, so that the slider gets the width that is left.
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                self.window_buttons(ui, is_narrow);
                if !is_narrow {
                    self.facts_of_the_bar(ui);
                    self.clock(ui);
                    self.scrubber(ui);
                }
            });
        });
        if is_narrow {
            ui.horizontal(|ui| {
                self.clock(ui);
                self.scrubber(ui);
            });
        }
        ui.add_space(1.0);
    }

    /// Shows the buttons for restart, steps, run and speed.
    fn step_buttons(&mut self, ui: &mut egui::Ui) {
        let button = |ui: &mut egui::Ui, text: &str, hint: &str| {
            ui.add_sized([26.0, 22.0], egui::Button::new(text)).on_hover_text(hint).clicked()
        };
        if button(ui, "⏮", RESTART_HINT) {
            self.ask_for(Action::Restart);
        }
        if button(ui, "⏪", "one step back (left arrow)") {
            self.ask_for(Action::Back(1));
        }
        let (sign, hint) = if self.playing { ("⏸", "pause (Space)") } else { ("▶", "run (Space)") };
        if button(ui, sign, hint) {
            self.ask_for(Action::TogglePause);
        }
        if button(ui, "⏩", "one step (right arrow)") {
            self.ask_for(Action::Step(1));
        }
        egui::ComboBox::from_id_salt("speed").width(58.0).selected_text(speed_text(self.speed)).show_ui(ui, |ui| {
            for speed in SPEEDS {
                if ui.selectable_label(self.speed == speed, speed_text(speed)).clicked() {
                    self.ask_for(Action::Speed(speed));
                }
            }
        });
    }

    /// Shows the buttons of the keys, the panel and the camera, from the right.
    fn window_buttons(&mut self, ui: &mut egui::Ui, is_narrow: bool) {
        if ui.button("?").on_hover_text("keys (?)").clicked() {
            self.ask_for(Action::Keys);
        }
        let panel = match (is_narrow, self.shows_panel()) {
            (true, _) => "panel",
            (false, true) => "panel ⏵",
            (false, false) => "⏴ panel",
        };
        if ui.button(panel).on_hover_text("show or hide the panel (Tab)").clicked() {
            self.ask_for(Action::Panel);
        }
        if ui.button("fit").on_hover_text("frame everything, and follow it (F)").clicked() {
            self.ask_for(Action::FrameAll);
        }
    }

    /// Shows frames per second, number of bodies and backend, as far as the slider over the steps leaves room.
    fn facts_of_the_bar(&mut self, ui: &mut egui::Ui) {
        let wide = |least: f32, ui: &egui::Ui| ui.available_width() > least;
        let rate = if self.frame_ms > 0.0 { format!("{:.0} fps", 1e3 / self.frame_ms) } else { String::new() };
        if wide(SCRUBBER + 360.0, ui) {
            ui.add_sized([52.0, 18.0], egui::Label::new(RichText::new(rate).weak()));
        }
        let name = self.backend_name(self.run.on());
        let bodies = self.facts().there as u64;
        if wide(SCRUBBER + 320.0, ui) {
            ui.label(format!("{} on {name}", count(bodies, "body")));
            ui.separator();
        }
    }

    /// Shows the step and the simulated time.
    fn clock(&self, ui: &mut egui::Ui) {
        if ui.available_width() <= SCRUBBER + CLOCK + 2.0 {
            return;
        }
        #[allow(clippy::cast_precision_loss, reason = "a clock")]
        let time = self.run.steps() as f64 * self.dt();
        // Aligned left, so that it stands still while its numbers grow.
        let clock = format!("step {:<5} {time:.2} s", self.run.steps());
        let (rect, _) = ui.allocate_exact_size(egui::vec2(CLOCK, 18.0), egui::Sense::hover());
        let (ink, font) = (ui.visuals().text_color(), egui::FontId::monospace(11.0));
        ui.painter_at(rect).text(rect.left_center(), egui::Align2::LEFT_CENTER, clock, font, ink);
    }

    /// Shows the slider over the steps.
    fn scrubber(&mut self, ui: &mut egui::Ui) {
        let (first, last) = (self.facts().first, self.facts().furthest);
        let mut step = self.run.target().unwrap_or(self.run.steps());
        ui.spacing_mut().slider_width = (ui.available_width() - 12.0).max(40.0);
        let slider = Slider::new(&mut step, first..=last.max(first.saturating_add(1))).show_value(false);
        if ui
            .add(slider)
            .on_hover_text(
                "drag to any step: the world comes back exactly as it was. A change there discards the steps after it",
            )
            .changed()
        {
            self.ask_for(Action::Seek(step));
        }
    }
}

/// Text of a speed.
pub(crate) fn speed_text(speed: f64) -> String {
    format!("× {speed}")
}
