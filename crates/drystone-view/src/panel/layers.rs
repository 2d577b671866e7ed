//! Section of the panel for what is drawn: layers, arrow length, colouring, dark colours, comparison of backends.

use super::super::action::Action;
use super::super::app::App;
use super::{name, plain, slider};
use drystone_draw::{Coloring, Layers};

impl App {
    /// Shows the section.
    pub(super) fn layers_section(&mut self, ui: &mut egui::Ui) {
        let layers = self.layers;
        if let Some((layer, on)) = switches_ui(ui, layers) {
            self.ask_for(Action::Layer(layer.to_owned(), Some(on)));
        }
        ui.horizontal(|ui| {
            let hint = "factor on the length of arrows; the picture shows how long a round value is";
            name(ui, "arrow length", 80.0, hint);
            let mut length = layers.arrow_scale;
            if ui
                .add(slider(&mut length, 0.1..=10.0).logarithmic(true).custom_formatter(plain))
                .on_hover_text(hint)
                .changed()
            {
                self.layers.arrow_scale = length;
            }
        });
        ui.horizontal(|ui| {
            ui.label("bodies by");
            let now = self.layers.coloring;
            egui::ComboBox::from_id_salt("coloring").selected_text(now.words()).show_ui(ui, |ui| {
                let with_twin = self.twin.is_some();
                for coloring in Coloring::ALL.into_iter().filter(|&c| c != Coloring::Difference || with_twin) {
                    let label = ui.selectable_label(coloring == now, coloring.words());
                    if label.on_hover_text(coloring_meaning(coloring)).clicked() {
                        self.ask_for(Action::Coloring(coloring.name().to_owned()));
                    }
                }
            });
            let mut dark = self.prefs.dark;
            if ui.checkbox(&mut dark, "dark").on_hover_text("light or dark (L)").changed() {
                self.ask_for(Action::Dark);
            }
        });
        let beside = self.backend_name(self.run.on().other());
        let mut twin = self.twin.is_some();
        let hint =
            "runs a copy of this world there, beside it, and colours bodies by their distance from their copies (T)";
        if ui.checkbox(&mut twin, format!("compare with the {beside}")).on_hover_text(hint).changed() {
            self.ask_for(Action::Twin);
        }
    }
}

/// Shows a switch for each layer, and returns the one that was changed with its new value.
fn switches_ui(ui: &mut egui::Ui, mut layers: Layers) -> Option<(&'static str, bool)> {
    let mut changed = None;
    egui::Grid::new("layers").num_columns(3).spacing([10.0, 4.0]).show(ui, |ui| {
        for (index, layer) in Layers::NAMES.into_iter().enumerate() {
            if let Some(on) = layers.switch(layer) {
                let mut now = *on;
                if ui.checkbox(&mut now, Layers::plain(layer)).on_hover_text(meaning(layer)).changed() {
                    changed = Some((layer, now));
                }
            }
            if index % 3 == 2 {
                ui.end_row();
            }
        }
    });
    changed
}

/// Hover text of a layer.
fn meaning(name: &str) -> &'static str {
    match name {
        "grid" => {
            "cells of the grid in which the solver looks for neighbours (broad phase), darker the more shapes they hold"
        }
        "shapes" => "fills the shapes",
        "outlines" => "edges of shapes, with a mark that shows how they turn",
        "sleep" => "dims sleeping bodies",
        "aabbs" => "upright boxes around shapes (AABBs): only where two overlap can shapes touch",
        "constraints" => {
            "a line from body to body over each contact that is solved (constraint); those of one colour are solved at the same time"
        }
        "joints" => "joints and their anchors",
        "contacts" => "points of contact (N)",
        "normals" => "directions in which contacts push",
        "impulses" => "normal impulses of the last substep, as arrows onto the bodies that they push, on a root scale",
        "friction" => {
            "friction impulses of the last substep, as arrows onto the bodies that they push, on a root scale"
        }
        "forces" => {
            "forces on bodies as arrows: of contacts, of joints at their anchors, and the weight; the picture says which colour is which"
        }
        "velocities" => "velocities of bodies, as arrows",
        _ => "",
    }
}

/// Hover text of a colouring.
fn coloring_meaning(coloring: Coloring) -> &'static str {
    match coloring {
        Coloring::Body => "each body has a colour of its own, along the scene",
        Coloring::Speed => "by speed of the centre of mass, on a logarithmic scale",
        Coloring::GraphColor => {
            "by the last graph colour of its contacts: colours are solved one after the other in a sweep"
        }
        Coloring::Sleep => "awake, quiet for a while, asleep",
        Coloring::Island => "by island: bodies connected by contacts and joints have one colour",
        Coloring::Difference => "by distance from the same body of the other world, on a logarithmic scale",
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::{hover_texts, without_meaning};
    use super::*;

    /// Each layer and each colouring has a meaning; that of a layer is shown under the pointer.
    #[test]
    fn layers_say_what_they_are() {
        let mut meanings: Vec<(&str, &str)> = Layers::NAMES.into_iter().map(|name| (name, meaning(name))).collect();
        assert_eq!(without_meaning(&meanings), Vec::<&str>::new());
        for name in Layers::NAMES {
            let shown = hover_texts(egui::vec2(420.0, 300.0), Layers::plain(name), |ui| {
                switches_ui(ui, Layers::default());
            });
            assert_eq!(shown, [meaning(name)], "{name}");
        }
        // The control: a layer that is not described is found.
        meanings.push(("heat", meaning("heat")));
        assert_eq!(without_meaning(&meanings), ["heat"]);
        let colorings: Vec<(&str, &str)> =
            Coloring::ALL.into_iter().map(|c| (c.words(), coloring_meaning(c))).collect();
        assert_eq!(without_meaning(&colorings), Vec::<&str>::new());
    }
}
