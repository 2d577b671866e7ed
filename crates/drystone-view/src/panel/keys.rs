//! The window with the list of keys and the uses of the pointer.

use egui::{Align2, RichText};

use super::super::action::{KEYS, KeyBinding, POINTER, WITH_CONTROL};
use super::super::app::App;

/// Width of the list in one column and in two, points.
const WIDTHS: [f32; 2] = [330.0, 660.0];
/// Space between the list and the edges of the window, with the list's title and margins, points.
const AROUND: egui::Vec2 = egui::vec2(44.0, 84.0);

impl App {
    /// Shows the list within the part of the window that shows the world. It scrolls where it is higher than that.
    pub(super) fn keys_window(&mut self, ctx: &egui::Context, world: egui::Rect) {
        let mut open = true;
        let middle = world.center() - ctx.content_rect().center();
        let room = (world.size() - AROUND).max(egui::vec2(120.0, 60.0));
        let is_wide = room.x >= WIDTHS[1];
        let width = WIDTHS[usize::from(is_wide)].min(room.x);
        egui::Window::new("Keys")
            .open(&mut open)
            .collapsible(false)
            .resizable(false)
            .frame(egui::Frame::window(&ctx.global_style()).inner_margin(if is_wide { 12.0 } else { 8.0 }))
            .anchor(Align2::CENTER_CENTER, middle)
            .show(ctx, |ui| {
                ui.set_width(width);
                egui::ScrollArea::vertical().min_scrolled_height(room.y).max_height(room.y).show(ui, |ui| {
                    if !is_wide {
                        column(ui, &KEYS, true);
                        return;
                    }
                    let (left, right) = KEYS.split_at(KEYS.len().div_ceil(2) + 4);
                    ui.columns(2, |columns| {
                        column(&mut columns[0], left, false);
                        column(&mut columns[1], right, true);
                    });
                });
            });
        self.show_keys &= open;
    }
}

/// Shows keys with their meanings, and with `pointer` the uses of the pointer after them.
fn column(ui: &mut egui::Ui, keys: &[KeyBinding], pointer: bool) {
    let id = keys.first().map_or("", |key| key.shown);
    egui::Grid::new(id).num_columns(2).spacing([10.0, 5.0]).show(ui, |ui| {
        for key in keys {
            ui.label(RichText::new(key.shown).strong().monospace());
            ui.label(key.meaning);
            ui.end_row();
        }
        for (what, meaning) in WITH_CONTROL.into_iter().filter(|_| pointer) {
            ui.label(RichText::new(what).strong().monospace());
            ui.label(meaning);
            ui.end_row();
        }
        for (what, meaning) in POINTER.into_iter().filter(|_| pointer) {
            ui.label(RichText::new(what).italics());
            ui.label(meaning);
            ui.end_row();
        }
    });
}
