//! Section of the panel for what is drawn: layers, arrow length, colouring, dark colours, comparison of backends.

use super::super::action::Action;
use super::super::app::App;
use super::{name, plain, slider};
use drystone_draw::{Coloring, Layers};

impl App {
    /// Shows the section.
    pub(super) fn layers_section(&mut self, ui: &mut egui::Ui) {
        let mut layers = self.layers;
        egui::Grid::new("layers").num_columns(3).spacing([10.0, 4.0]).show(ui, |ui| {
            for (index, layer) in Layers::NAMES.into_iter().enumerate() {
                if let Some(on) = layers.switch(layer) {
                    let mut now = *on;
                    if ui.checkbox(&mut now, Layers::plain(layer)).on_hover_text(meaning(layer)).changed() {
                        self.ask_for(Action::Layer(layer.to_owned(), Some(now)));
                    }
                }
                if index % 3 == 2 {
                    ui.end_row();
                }
            }
        });
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
    use super::*;

    #[test]
    fn every_layer_says_what_it_is() {
        for name in Layers::NAMES {
            assert!(!meaning(name).is_empty(), "{name}");
        }
    }
}
