//! Section of the panel for the backend and the settings of the solver. A change keeps the state of the world.

use egui::RichText;

use super::super::action::Action;
use super::super::app::App;
use super::super::run::On;
use super::{digits, name, slider};
use drystone::low_level::constants::{DEFAULT_PUSH_SPEED, DEFAULT_RESTITUTION_THRESHOLD, DEFAULT_SLOP};
use drystone::{Mode, RestitutionMix, Settings};

impl App {
    /// Shows the section.
    pub(super) fn solver_section(&mut self, ui: &mut egui::Ui) {
        let (now, before) = self.wanted(&self.queue);
        ui.horizontal(|ui| {
            ui.label("runs on");
            for on in [On::Gpu, On::Cpu] {
                if ui.selectable_label(now == on, self.backend_name(on)).clicked() && now != on {
                    self.ask_for(Action::On(on));
                }
            }
        });
        ui.label(RichText::new(self.device_name()).weak().small());
        let id = ui.scope_id().with("settings");
        let mut settings = before;
        settings_ui(ui, &mut settings);
        if settings != before {
            // A drag gives many values; the last one counts.
            let busy = ui.ctx().egui_is_using_pointer();
            if busy {
                ui.data_mut(|data| data.insert_temp(id, WaitingSettings(Some(settings))));
            } else {
                self.ask_for(Action::Settings(Box::new(settings)));
            }
        } else if !ui.ctx().egui_is_using_pointer()
            && let Some(WaitingSettings(Some(settings))) = ui.data_mut(|data| data.remove_temp(id))
        {
            self.ask_for(Action::Settings(Box::new(settings)));
        }
        if self.overridden && settings.sleep {
            ui.label(RichText::new("sleep was switched on by the window").weak().small());
        }
    }
}

/// Settings of a drag that is not over.
#[derive(Clone, Default)]
struct WaitingSettings(Option<Settings>);

/// Shows all settings.
fn settings_ui(ui: &mut egui::Ui, settings: &mut Settings) {
    ui.horizontal(|ui| {
        for (mode, text) in [(Mode::Soft, "soft"), (Mode::Baumgarte, "baumgarte"), (Mode::Projection, "projection")] {
            ui.selectable_value(&mut settings.mode, mode, text);
        }
    });
    ui.spacing_mut().slider_width = 90.0;
    let label = |ui: &mut egui::Ui, text: &str, hint: &str| name(ui, text, 112.0, hint);
    let mut substeps = settings.substep_count();
    ui.horizontal(|ui| {
        label(ui, "substeps", "substeps of the solver per step");
        if ui.add(slider(&mut substeps, 1..=64).logarithmic(true)).changed() {
            settings.substeps = Some(substeps);
        }
    });
    let mut iterations = settings.iteration_count();
    ui.horizontal(|ui| {
        label(ui, "iterations", "sweeps over the constraints per substep");
        if ui.add(slider(&mut iterations, 1..=64).logarithmic(true)).changed() {
            settings.iterations = Some(iterations);
        }
    });
    let mut rate = 1.0 / settings.dt;
    ui.horizontal(|ui| {
        label(ui, "steps a second", "1/dt");
        if ui.add(slider(&mut rate, 10.0..=1000.0).logarithmic(true).custom_formatter(digits::<0>)).changed() {
            settings.dt = 1.0 / rate;
        }
    });
    ui.horizontal(|ui| {
        label(ui, "baumgarte", "share of the penetration that is removed in a substep");
        ui.add(slider(&mut settings.baumgarte, 0.0..=1.0).custom_formatter(digits::<2>));
    });
    let mut hertz = settings.contact_hertz.unwrap_or(30.0);
    ui.horizontal(|ui| {
        label(
            ui,
            "contact stiffness",
            "soft mode: less overlap under load, but tall stacks take longer to come to rest",
        );
        let slider = slider(&mut hertz, 5.0..=480.0).logarithmic(true).suffix(" Hz").custom_formatter(digits::<0>);
        if ui.add(slider).changed() {
            settings.contact_hertz = Some(hertz);
        }
    });
    ui.horizontal(|ui| {
        label(ui, "contact damping", "soft mode: 1 is critical damping; less lets stacks ring");
        let damping = slider(&mut settings.contact_damping_ratio, 0.5..=50.0);
        ui.add(damping.logarithmic(true).custom_formatter(digits::<1>));
    });
    ui.horizontal(|ui| {
        label(ui, "push speed", "soft mode: overlaps are pushed out no faster");
        let mut speed = settings.push_speed.unwrap_or(DEFAULT_PUSH_SPEED);
        if ui.add(slider(&mut speed, 0.0..=20.0).suffix(" m/s").custom_formatter(digits::<1>)).changed() {
            settings.push_speed = Some(speed);
        }
    });
    ui.horizontal(|ui| {
        label(ui, "slop", "penetration that is not corrected");
        let mut millimetres = settings.slop.unwrap_or(DEFAULT_SLOP) * 1e3;
        if ui.add(slider(&mut millimetres, 0.0..=50.0).suffix(" mm").custom_formatter(digits::<1>)).changed() {
            settings.slop = Some(millimetres * 1e-3);
        }
    });
    ui.horizontal(|ui| {
        label(ui, "bounce above", "slower impacts do not bounce");
        let mut speed = settings.restitution_threshold.unwrap_or(DEFAULT_RESTITUTION_THRESHOLD);
        if ui.add(slider(&mut speed, 0.0..=10.0).suffix(" m/s").custom_formatter(digits::<2>)).changed() {
            settings.restitution_threshold = Some(speed);
        }
    });
    egui::Grid::new("switches").num_columns(2).spacing([14.0, 4.0]).show(ui, |ui| {
        let switches = [
            (&mut settings.relax, "relax", "soft mode: one more sweep, without bias, after positions were integrated"),
            (&mut settings.warm_start, "warm start", "begin with the impulses of the step before"),
            (&mut settings.accumulate, "accumulate", "clamp the sum of impulses, not each"),
            (&mut settings.correct_position, "correct position", "push overlaps apart"),
            (&mut settings.recycle, "recycle", "keep the contact points of a pair that hardly moves"),
            (&mut settings.sleep, "sleep", "bodies at rest fall asleep, whole islands at a time"),
            (&mut settings.strict, "strict", "repeat a step in which a buffer was too small, with a larger one"),
        ];
        for (index, (on, name, hint)) in switches.into_iter().enumerate() {
            ui.checkbox(on, name).on_hover_text(hint);
            if index % 2 == 1 {
                ui.end_row();
            }
        }
        let mut largest = settings.restitution_mix == RestitutionMix::Max;
        if ui
            .checkbox(&mut largest, "larger restitution")
            .on_hover_text("two materials bounce by the larger of their restitutions; off: by the smaller")
            .changed()
        {
            settings.restitution_mix = if largest { RestitutionMix::Max } else { RestitutionMix::Min };
        }
    });
}
