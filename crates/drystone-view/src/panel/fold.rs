//! Places the panel beside the picture, or in a narrow window, when the user unfolds it, over the picture.

use egui::{Align2, Frame, Order, Sense};

use super::super::app::App;
use super::super::camera_follow::Covered;
use super::{ROOM, WIDTH};

/// Width of a window below which the panel is folded, points.
pub(super) const NARROW: f32 = 700.0;
/// Minimum width of a window that an unfolded panel leaves free, points: a press there still reaches the world.
const FREE: f32 = 20.0;
/// Width of the strip at the edge inside the panel by which it is made wider, points.
const EDGE: f32 = 7.0;
/// Maximum share of a window that the panel takes.
const MAX_SHARE: f32 = 0.6;

/// State of what folds: the panel in a narrow window, and the card in a small one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fold {
    /// Part of the picture that tools and panels cover.
    pub covered: Covered,
    /// True if there is a card beside the tools.
    pub card: bool,
    /// True if the card of a small window is unfolded.
    pub card_is_open: bool,
    /// True if the view was fitted beside the present card.
    pub beside_card: bool,
    /// True if the window is too narrow for the panel beside the picture.
    is_narrow: bool,
    /// True if the user has unfolded the panel in the narrow window. After the window was wide it is folded again.
    is_unfolded: bool,
    /// Width of the window, points.
    width: f32,
    /// Lower edge of the part of the panel's content that was in sight, points.
    pub seen_to: f32,
}

impl Fold {
    /// Takes up the width of the window, points.
    fn fit(&mut self, width: f32) {
        self.width = width;
        self.is_narrow = width < NARROW;
        self.is_unfolded &= self.is_narrow;
    }
}

/// Width of the panel, points, if the user wants this one in a window of a width.
fn panel_width(wanted: f32, window: f32) -> f32 {
    wanted.clamp(WIDTH, (window * MAX_SHARE).max(WIDTH))
}

impl App {
    /// Returns true if the panel is shown, beside the world or over it.
    pub(crate) fn shows_panel(&self) -> bool {
        if self.fold.is_narrow { self.fold.is_unfolded } else { self.prefs.panel }
    }

    /// Shows the panel or hides it. In a narrow window the choice for a wide one stays.
    pub(crate) fn toggle_panel(&mut self) {
        if self.fold.is_narrow {
            self.fold.is_unfolded = !self.fold.is_unfolded;
        } else {
            self.prefs.panel = !self.prefs.panel;
        }
    }

    /// Width that the panel takes from the world, points; 0 where it is hidden or lies over the world.
    pub(super) fn width_beside(&self) -> f32 {
        if self.prefs.panel && !self.fold.is_narrow {
            panel_width(self.prefs.panel_width, self.fold.width)
        } else {
            0.0
        }
    }

    /// Shows the panel beside the world, if it belongs there in a window of this width.
    pub(super) fn panel_beside(&mut self, ui: &mut egui::Ui, width: f32) {
        self.fold.fit(width);
        let width = self.width_beside();
        if width > 0.0 {
            let panel = egui::Panel::right("panel").resizable(false).exact_size(width);
            let right = ui.max_rect().right();
            let shown = panel.show(ui, |ui| self.scrolled_panel(ui, width - WIDTH + ROOM)).response.rect;
            self.edge(ui, egui::Rect::from_x_y_ranges(right - width..=right, shown.y_range()));
        }
    }

    /// Lets the user drag the left edge of the panel, which makes it wider.
    fn edge(&mut self, ui: &egui::Ui, panel: egui::Rect) {
        let edge = egui::Rect::from_x_y_ranges(panel.left()..=panel.left() + EDGE, panel.y_range());
        let response = ui.interact(edge, egui::Id::unique("edge of the panel"), Sense::drag());
        if response.hovered() || response.dragged() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
            let line = egui::Stroke::new(2.0, ui.visuals().hyperlink_color);
            ui.painter().vline(panel.left(), panel.y_range(), line);
        }
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            self.prefs.panel_width = panel_width(panel.right() - at.x, self.fold.width);
        }
    }

    /// Width of the panel over the world, points; 0 where it is not there.
    pub(super) fn width_over(&self, world: f32) -> f32 {
        if self.fold.is_narrow && self.fold.is_unfolded { WIDTH.min(world - FREE) } else { 0.0 }
    }

    /// Shows the panel over the right of the world, if the user has unfolded it in a narrow window.
    pub(super) fn panel_over(&mut self, ctx: &egui::Context, world: egui::Rect) {
        let width = self.width_over(world.width());
        if width <= 0.0 {
            return;
        }
        let area = egui::Area::new(egui::Id::unique("panel over the world"));
        // The panel takes all presses on it: one between two lines does not reach the world.
        let area = area.order(Order::Middle).sense(Sense::click_and_drag());
        area.anchor(Align2::LEFT_TOP, world.right_top().to_vec2() - egui::vec2(width, 0.0)).show(ctx, |ui| {
            let frame = Frame::side_top_panel(ui.style()).stroke(ui.visuals().window_stroke);
            frame.show(ui, |ui| {
                let margin = frame.total_margin().sum();
                let size = egui::vec2(width, world.height()) - margin;
                ui.set_min_size(size);
                ui.set_max_size(size);
                self.scrolled_panel(ui, size.x - super::SCROLL_BAR);
            });
        });
    }

    /// Shows the panel in a scroll area, with content of this width, points.
    ///
    /// Content that gets shorter leaves a blank at the end as long as the user does not scroll up: nothing moves under
    /// the pointer when a graph is switched off.
    fn scrolled_panel(&mut self, ui: &mut egui::Ui, room: f32) {
        let seen_to = self.fold.seen_to;
        let shown = egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            // Without the width of the scroll bar, so that text does not rewrap when the bar appears.
            ui.set_max_width(room);
            ui.add_space(4.0);
            self.panel(ui);
            ui.add_space(8.0);
            let blank = seen_to - ui.min_rect().height();
            if blank > 0.0 {
                ui.allocate_exact_size(egui::vec2(1.0, blank), Sense::hover());
            }
        });
        let offset = shown.state.clamped_offset().y;
        self.fold.seen_to = if offset > 0.0 { offset + shown.inner_rect.height() } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_is_never_wider_than_its_share() {
        assert_eq!(panel_width(100.0, 1280.0), WIDTH);
        assert_eq!(panel_width(500.0, 1280.0), 500.0);
        assert_eq!(panel_width(5000.0, 1280.0), 768.0);
        assert_eq!(panel_width(5000.0, 300.0), WIDTH);
    }

    #[test]
    fn a_narrow_window_folds_the_panel_each_time() {
        let mut fold = Fold::default();
        fold.fit(699.0);
        assert!(fold.is_narrow);
        fold.is_unfolded = true;
        fold.fit(360.0);
        assert!(fold.is_unfolded, "still narrow: the user's choice stays");
        fold.fit(700.0);
        assert!(!fold.is_narrow);
        fold.fit(699.0);
        assert!(fold.is_narrow && !fold.is_unfolded, "folded again");
    }
}
