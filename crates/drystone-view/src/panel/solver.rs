//! Section of the panel for the backend and the settings of the solver. A change keeps the state of the world.

use egui::RichText;

use super::super::action::Action;
use super::super::app::App;
use super::super::run::On;
use super::{digits, name, plain, slider};
use drystone::low_level::constants::{
    DEFAULT_HERTZ_SHARE, DEFAULT_PRESSING_THRESHOLD, DEFAULT_PUSH_SPEED, DEFAULT_SLOP,
};
use drystone::low_level::scene::Units;
use drystone::{Mixing, Mode, Settings};

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
        settings_ui(ui, &mut settings, &self.facts().units);
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

/// Values of settings that follow the units of the scene or the length of a substep while they are not set.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ActingValues {
    /// m.
    slop: f32,
    /// m/s.
    push_speed: f32,
    /// m/s.
    restitution_threshold: f32,
    /// Hz.
    contact_hertz: f32,
}

impl ActingValues {
    #[allow(clippy::cast_precision_loss, reason = "at most 64")]
    fn of(settings: &Settings, units: &Units) -> Self {
        let substep = settings.dt / settings.substep_count() as f32;
        Self {
            slop: settings.slop.unwrap_or(DEFAULT_SLOP * units.length),
            push_speed: settings.push_speed.unwrap_or(DEFAULT_PUSH_SPEED * units.speed()),
            restitution_threshold: settings.restitution_threshold.unwrap_or(DEFAULT_PRESSING_THRESHOLD * units.speed()),
            contact_hertz: settings.contact_hertz.unwrap_or(DEFAULT_HERTZ_SHARE / substep),
        }
    }
}

/// Shows all settings; those that are not set, with the values that act in these units.
fn settings_ui(ui: &mut egui::Ui, settings: &mut Settings, units: &Units) {
    let acting = ActingValues::of(settings, units);
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
    let mut hertz = acting.contact_hertz;
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
        let mut speed = acting.push_speed;
        let handle = slider(&mut speed, 0.0..=20.0 * units.speed()).suffix(" m/s").custom_formatter(plain);
        if ui.add(handle).changed() {
            settings.push_speed = Some(speed);
        }
    });
    ui.horizontal(|ui| {
        label(ui, "slop", "penetration that is not corrected");
        let mut millimetres = acting.slop * 1e3;
        let handle = slider(&mut millimetres, 0.0..=50.0 * units.length).suffix(" mm").custom_formatter(plain);
        if ui.add(handle).changed() {
            settings.slop = Some(millimetres * 1e-3);
        }
    });
    ui.horizontal(|ui| {
        label(ui, "bounce above", "bodies that press on each other bounce from this speed on; once moved, all bodies");
        let mut speed = acting.restitution_threshold;
        let handle = slider(&mut speed, 0.0..=10.0 * units.speed()).suffix(" m/s").custom_formatter(plain);
        if ui.add(handle).changed() {
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
            (&mut settings.continuous, "continuous", "fast bodies stop at walls within a step"),
            (&mut settings.sleep, "sleep", "bodies at rest fall asleep, whole islands at a time"),
            (&mut settings.strict, "strict", "repeat a step in which a buffer was too small, with a larger one"),
        ];
        for (index, (on, name, hint)) in switches.into_iter().enumerate() {
            ui.checkbox(on, name).on_hover_text(hint);
            if index % 2 == 1 {
                ui.end_row();
            }
        }
    });
    for (mix, name, hint) in [
        (&mut settings.restitution_mix, "restitution", "which of two materials' restitutions counts"),
        (&mut settings.friction_mix, "friction", "how the frictions of two materials are mixed"),
    ] {
        let words = |mix: Mixing| match mix {
            Mixing::Min => "the smaller",
            Mixing::Max => "the larger",
            Mixing::Geometric => "√(ab)",
            Mixing::Mean => "the mean",
            Mixing::Product => "the product",
        };
        egui::ComboBox::new(format!("mix of {name}"), name)
            .selected_text(words(*mix))
            .show_ui(ui, |ui| {
                for choice in [Mixing::Min, Mixing::Max, Mixing::Geometric, Mixing::Mean, Mixing::Product] {
                    ui.selectable_value(mix, choice, words(choice));
                }
            })
            .response
            .on_hover_text(hint);
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::shown_texts;
    use super::*;
    use drystone::low_level::scene::Compiled;
    use drystone::{Body, Scene, Shape};

    /// Scene of one box of this half size, with its settings.
    fn box_of(half: f32) -> Scene {
        let mut scene = Scene::new("box");
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(half, half)));
        scene
    }

    /// Sliders of settings that are not set show the values with which the solver works, for any size of bodies.
    #[test]
    fn sliders_show_the_values_that_act() {
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * b.abs();
        for (half, is_usual) in [(0.5, true), (0.003, false), (40.0, false)] {
            let mut scene = box_of(half);
            for given in [None, Some(0.25)] {
                scene.settings.slop = given;
                let compiled = Compiled::new(&scene).unwrap();
                let (acting, params) = (ActingValues::of(&scene.settings, &compiled.units), &compiled.params);
                assert!(close(acting.slop, params.linear_slop), "{half}: {acting:?} {}", params.linear_slop);
                assert!(close(acting.push_speed, params.push_speed), "{half}: {acting:?} {}", params.push_speed);
                assert!(close(acting.restitution_threshold, params.pressing_threshold), "{half}: {acting:?}");
                // The control: values of metre-sized bodies are those of other sizes only where they were set.
                let of_metres = ActingValues::of(&scene.settings, &Units::default());
                assert_eq!(close(of_metres.slop, params.linear_slop), is_usual || given.is_some(), "{half}");
                assert_eq!(close(of_metres.push_speed, params.push_speed), is_usual, "{half}");
            }
        }
    }

    /// The texts beside the sliders are these values.
    #[test]
    fn texts_of_sliders_are_the_values_that_act() {
        let texts = |scene: &Scene| {
            let compiled = Compiled::new(scene).unwrap();
            let mut settings = scene.settings;
            let texts = shown_texts(egui::vec2(320.0, 900.0), |ui| settings_ui(ui, &mut settings, &compiled.units));
            assert_eq!(settings, scene.settings, "nothing is set by being shown");
            // A value and its unit are two texts.
            format!("|{}|", texts.join("|"))
        };
        let usual = texts(&box_of(0.5));
        for wanted in ["|slop|5| mm|", "|push speed|3| m/s|", "|bounce above|1| m/s|", "|contact stiffness|30| Hz|"] {
            assert!(usual.contains(wanted), "{wanted}: {usual}");
        }
        // Bodies of 6 mm: the unit is 1/128 m.
        let small = texts(&box_of(0.003));
        assert!(small.contains("|slop|0.03906| mm|"), "{small}");
        assert!(!small.contains("|slop|5|") && !small.contains("|push speed|3|"), "{small}");
        let mut quick = box_of(0.5);
        quick.settings.dt = 1.0 / 240.0;
        assert!(texts(&quick).contains("|contact stiffness|120| Hz|"), "{}", texts(&quick));
    }
}
