//! What is drawn.

use super::super::action::Action;
use super::super::app::App;
use crate::draw::{Coloring, Layers};

impl App {
    pub(super) fn layers_section(&mut self, ui: &mut egui::Ui) {
        let mut layers = self.layers;
        egui::Grid::new("layers").num_columns(3).spacing([10.0, 4.0]).show(ui, |ui| {
            for (index, name) in Layers::NAMES.into_iter().enumerate() {
                if let Some(on) = layers.switch(name) {
                    let mut now = *on;
                    if ui.checkbox(&mut now, name).on_hover_text(meaning(name)).changed() {
                        self.ask_for(Action::Layer(name.to_owned(), Some(now)));
                    }
                }
                if index % 3 == 2 {
                    ui.end_row();
                }
            }
        });
        ui.horizontal(|ui| {
            ui.label("bodies by");
            let now = self.layers.coloring;
            egui::ComboBox::from_id_salt("coloring").selected_text(now.words()).show_ui(ui, |ui| {
                let with_twin = self.twin.is_some();
                for coloring in Coloring::ALL.into_iter().filter(|&c| c != Coloring::Difference || with_twin) {
                    if ui.selectable_label(coloring == now, coloring.words()).clicked() {
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
        let hint = "the same scene on both, side by side, coloured by how far they are apart (T)";
        if ui.checkbox(&mut twin, format!("{beside} beside it")).on_hover_text(hint).changed() {
            self.ask_for(Action::Twin);
        }
    }
}

fn meaning(name: &str) -> &'static str {
    match name {
        "grid" => "cells of the broadphase that hold shapes, darker the more they hold",
        "shapes" => "the insides of shapes",
        "outlines" => "their edges, and what shows how they turn",
        "sleep" => "bodies asleep are dimmed",
        "aabbs" => "boxes around shapes",
        "constraints" => "a line over each contact, in its graph colour",
        "joints" => "joints and their anchors",
        "contacts" => "points of contact (N)",
        "normals" => "their normals",
        "impulses" => "normal impulses of the last substep",
        "friction" => "friction impulses likewise",
        _ => "",
    }
}
