//! The user interface around and over the picture: its colours, the layout of the bar and the panel, keys, the pointer
//! over the picture, and the texts on it. The parts of the panel are in the files beside this one.

mod build;
mod figures;
mod fold;
mod graphs;
mod joint;
mod keys;
mod layers;
mod scene;
mod solver;
#[cfg(test)]
mod texts;
mod transport;

use egui::{Align2, Color32, CornerRadius, RichText, Sense, Stroke};
use glam::Vec2;

use super::action::{Action, KEYS, Under, with_control};
use super::app::App;
use super::build::{Draft, Tool};
use super::drawing::split;
use super::watch::{Quantity, Track};
use drystone_draw::Coloring;

/// Width of the panel, points.
const WIDTH: f32 = 334.0;
/// Width of the panel's scroll bar, points.
const SCROLL_BAR: f32 = 9.0;
/// Width of the panel's content, points: without the scroll bar, the margins and the line at the left.
const ROOM: f32 = WIDTH - SCROLL_BAR - 17.0;
/// Wheel movement that zooms by a factor of e, points.
const WHEEL: f32 = 400.0;

/// Colours of the panel. The contrast of text with its background is at least 4.5 to 1.
fn visuals(dark: bool) -> egui::Visuals {
    let mut visuals = if dark { egui::Visuals::dark() } else { egui::Visuals::light() };
    let corner = CornerRadius::same(4);
    for widget in [
        &mut visuals.widgets.noninteractive,
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
        &mut visuals.widgets.open,
    ] {
        widget.corner_radius = corner;
    }
    let hex = Color32::from_rgb;
    let (panel, accent, edge) = if dark {
        (hex(0x1e, 0x22, 0x28), hex(0x4d, 0x8a, 0x90), hex(0x32, 0x38, 0x41))
    } else {
        (hex(0xfb, 0xfa, 0xf6), hex(0x3b, 0x7d, 0x84), hex(0xdd, 0xd9, 0xce))
    };
    let (text, hovered, error) = if dark {
        (Color32::from_gray(205), Color32::from_gray(50), hex(0xff, 0x7a, 0x70))
    } else {
        (Color32::from_gray(55), hex(0xea, 0xe8, 0xe2), hex(0xb4, 0x1c, 0x1c))
    };
    visuals.panel_fill = panel;
    visuals.window_fill = panel;
    // The title bar of a window has this colour.
    visuals.widgets.open.weak_bg_fill = panel;
    visuals.window_stroke = Stroke::new(1.0, edge);
    visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, edge);
    visuals.widgets.noninteractive.fg_stroke = Stroke::new(1.0, text);
    visuals.widgets.hovered.weak_bg_fill = hovered;
    visuals.selection.bg_fill = accent.gamma_multiply(if dark { 0.75 } else { 0.45 });
    visuals.selection.stroke = Stroke::new(1.0, if dark { Color32::WHITE } else { hex(0x16, 0x3c, 0x40) });
    visuals.hyperlink_color = accent;
    visuals.error_fg_color = error;
    visuals.slider_trailing_fill = true;
    visuals.weak_text_alpha = 0.75;
    visuals
}

/// Sets the colours and sizes of the panel.
pub(crate) fn apply_theme(ctx: &egui::Context, dark: bool) {
    ctx.all_styles_mut(|style| {
        style.spacing.scroll.floating_allocated_width = SCROLL_BAR;
        style.text_styles.insert(egui::TextStyle::Small, egui::FontId::proportional(11.0));
    });
    ctx.set_theme(if dark { egui::Theme::Dark } else { egui::Theme::Light });
    ctx.set_visuals(visuals(dark));
}

impl App {
    /// Runs the user interface of a frame. Actions of the user go into the queue.
    pub fn ui(&mut self, ui: &mut egui::Ui) {
        let width = ui.available_width();
        egui::Panel::bottom("transport").show(ui, |ui| self.transport(ui));
        self.wants = super::app::Wants::default();
        self.panel_beside(ui, width);
        let world = ui.available_rect_before_wrap();
        egui::CentralPanel::no_frame().show(ui, |ui| self.canvas(ui));
        self.panel_over(ui.ctx(), world);
        if self.show_keys {
            self.keys_window(ui.ctx(), world);
        }
        self.note_typing(ui.ctx());
    }

    /// Shows the sections of the panel.
    fn panel(&mut self, ui: &mut egui::Ui) {
        section(ui, "Scene", true, |ui| self.scene_section(ui));
        section(ui, "Tools", true, |ui| self.tools_section(ui));
        section(ui, "Layers", true, |ui| self.layers_section(ui));
        self.graphs_header(ui);
        section(ui, "Solver", false, |ui| self.solver_section(ui));
        section(ui, "Stage times", false, |ui| self.times_section(ui));
        section(ui, "Counters", false, |ui| self.counters_section(ui));
        section(ui, "Quality", false, |ui| self.quality_section(ui));
        section(ui, "Files", false, |ui| self.files_section(ui));
    }

    /// Queues an action.
    pub(super) fn ask_for(&mut self, action: Action) {
        self.queue.push(action);
    }

    /// Takes the keys of the window out of the input, before a widget with the focus gets them: Tab would move the
    /// focus, Space press a button. While a text field or a list is open, all keys are left to it.
    ///
    /// A key that acts at a place uses the pointer's place at the time of the key, also if the pointer has moved since
    /// the last frame. Over a window of the panel, such as the list of keys, there is no place, and such keys do
    /// nothing.
    pub fn take_keys(&mut self, input: &mut egui::RawInput, ctx: &egui::Context) {
        if self.typing {
            return;
        }
        let pixels_per_point = ctx.pixels_per_point();
        self.points_to_pixels = pixels_per_point;
        let covers = |at: egui::Pos2| ctx.layer_id_at(at).is_some_and(|layer| layer.order != egui::Order::Background);
        let mut covered = ctx.pointer_hover_pos().is_some_and(covers);
        let mut pixel = self.pointer.pixel;
        let mut asked = Vec::new();
        // Each press in a frame counts. Releases are taken out as well: widgets ignore a release without its press.
        input.events.retain(|event| {
            match event {
                egui::Event::PointerMoved(to) | egui::Event::PointerButton { pos: to, .. } => {
                    let moved = Vec2::new(to.x, to.y) * pixels_per_point;
                    covered = covers(*to);
                    pixel = Some(moved).filter(|&moved| !covered && self.is_over_the_world(moved));
                }
                egui::Event::PointerGone => (pixel, covered) = (None, false),
                _ => {}
            }
            let egui::Event::Key { key, pressed, modifiers, .. } = event else { return true };
            let control = (modifiers.ctrl || modifiers.command) && !modifiers.alt;
            if let Some(action) = with_control(*key, modifiers.shift).filter(|_| control) {
                asked.extend(pressed.then_some((action, false)));
                return false;
            }
            let plain = !modifiers.ctrl && !modifiers.command && !modifiers.alt;
            let Some(found) = KEYS.iter().find(|known| plain && known.code == *key) else { return true };
            let under =
                Under { at: pixel.map_or(self.camera.center, |pixel| self.world_at(pixel)), is_over: pixel.is_some() };
            asked.extend(pressed.then(|| ((found.action)(under), covered)));
            false
        });
        for (action, covered) in asked {
            if covered && action.has_place() {
                self.say("the pointer is not over the world: nothing was done");
            } else {
                self.queue.push(action);
            }
        }
    }

    /// Returns true if a pixel of the window is within the picture.
    #[allow(clippy::cast_precision_loss, reason = "pixels")]
    fn is_over_the_world(&self, pixel: Vec2) -> bool {
        let own = pixel - self.camera.origin;
        let [width, height] = self.camera.size.map(|side| side as f32);
        (0.0..width).contains(&own.x) && (0.0..height).contains(&own.y)
    }

    /// Notes at the end of a frame whether keys of the next one belong to a text field or an open list.
    fn note_typing(&mut self, ctx: &egui::Context) {
        self.typing = ctx.text_edit_focused() || egui::Popup::is_any_open(ctx);
    }

    /// Handles the pointer over the picture, and shows the texts and tools on it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
    fn canvas(&mut self, ui: &mut egui::Ui) {
        let rect = ui.available_rect_before_wrap();
        let scale = ui.ctx().pixels_per_point();
        self.on_screen(ui.ctx().native_pixels_per_point().unwrap_or(1.0));
        self.cover(rect, scale);
        let origin = Vec2::new((rect.left() * scale).round(), (rect.top() * scale).round());
        let size = [(rect.width() * scale).round().max(1.0) as u32, (rect.height() * scale).round().max(1.0) as u32];
        self.place(origin, size);
        let response = ui.allocate_rect(rect, Sense::click_and_drag());
        let pixel = |pos: egui::Pos2| Vec2::new(pos.x, pos.y) * scale;

        let shown = response.hover_pos().or(response.interact_pointer_pos().filter(|_| response.dragged()));
        self.pointer.pixel = shown.map(pixel);
        if let Some(pixel) = self.pointer.pixel {
            let (at, steps) = (self.world_at(pixel), self.run.steps());
            let dt = self.run.scene().settings.dt;
            let reach = self.reach(false);
            self.pointer.refresh(at, reach, steps, dt);
        }
        let primary = egui::PointerButton::Primary;
        if let Some(pos) = response.interact_pointer_pos() {
            let pressed = ui.input(|input| input.pointer.button_pressed(primary) && !input.modifiers.shift);
            if pressed && response.is_pointer_button_down_on() && self.build.tool != Tool::Move {
                self.begin_drawing(pixel(pos));
            } else if pressed && response.is_pointer_button_down_on() {
                self.press(pixel(pos), ui.input(egui::InputState::any_touches));
            }
            let moved = response.drag_delta() * scale;
            let moved = Vec2::new(moved.x, moved.y);
            let others = [egui::PointerButton::Secondary, egui::PointerButton::Middle];
            if others.iter().any(|&button| response.dragged_by(button)) {
                self.camera.pan(moved);
            } else if response.is_pointer_button_down_on() {
                self.drag(pixel(pos), moved);
            }
        }
        if ui.input(|input| input.pointer.button_released(primary)) {
            self.end_drawing();
            self.release();
        }
        if let Some(pos) = response.hover_pos() {
            let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = (-wheel / WHEEL).exp() / pinch;
            if factor != 1.0 {
                let runs = self.worlds();
                let closest = 1e-5;
                let to = (self.camera.metres_per_pixel * factor).clamp(closest, 1e4);
                let factor = to / self.camera.metres_per_pixel;
                // Both worlds are zoomed about the place under the pointer.
                let cameras = split(&self.camera, runs);
                let own = cameras.iter().rev().find(|camera| pixel(pos).x >= camera.origin.x).copied();
                let mut own = own.unwrap_or(self.camera);
                own.zoom(pixel(pos), factor);
                self.camera.metres_per_pixel = own.metres_per_pixel;
                self.camera.center = own.center;
            }
        }
        let cursor = if self.build.tool != Tool::Move && self.pointer.pixel.is_some() {
            Some((egui::CursorIcon::Crosshair, "Crosshair"))
        } else if self.pointer.holds() || self.pointer.pans() {
            Some((egui::CursorIcon::Grabbing, "Grabbing"))
        } else {
            self.pointer.can_hold().then_some((egui::CursorIcon::Grab, "Grab"))
        };
        self.cursor = cursor.map_or("", |(_, name)| name);
        if let Some((icon, _)) = cursor {
            ui.ctx().set_cursor_icon(icon);
        }
        self.over_the_world(ui, rect, scale);
        self.build_over(ui, rect, scale);
    }

    /// Shows messages and facts over the picture.
    fn over_the_world(&mut self, ui: &egui::Ui, rect: egui::Rect, scale: f32) {
        let ink = ui.visuals().text_color();
        let painter = ui.painter_at(rect);
        if let Some(twin) = &self.twin {
            let cameras = split(&self.camera, 2);
            for (camera, run) in cameras.iter().zip([&self.run, twin]) {
                let left = camera.origin.x / scale;
                let text = format!("{}  step {}", self.backend_name(run.on()), run.steps());
                let at = egui::pos2(left + 12.0, rect.top() + 10.0);
                plate(&painter, ui, at, Align2::LEFT_TOP, &text);
            }
            let middle = cameras[1].origin.x / scale;
            painter.vline(middle, rect.y_range(), Stroke::new(1.0, ink.gamma_multiply(0.5)));
        }
        self.watched_rings(&painter, scale);
        self.joint_marks(&painter, ui, scale);
        self.band(&painter, ui, scale);
        if let Some(text) = self.note() {
            plate(&painter, ui, rect.center_top() + egui::vec2(0.0, 12.0), Align2::CENTER_TOP, text);
        }
        if let Some(fault) = self.fault.as_ref().filter(|_| !self.shows_panel()) {
            let below = if self.note().is_some() { 52.0 } else { 12.0 };
            let at = rect.center_top() + egui::vec2(0.0, below);
            plate_in(&painter, ui, at, Align2::CENTER_TOP, &fault.text, ui.visuals().error_fg_color);
        }
        if self.camera_follow.blank {
            plate(&painter, ui, rect.center(), Align2::CENTER_CENTER, "nothing in view: F");
        }
        if self.recording.is_some() {
            let at = rect.right_top() + egui::vec2(-14.0, 14.0);
            painter.circle_filled(at, 5.0, Color32::from_rgb(0xc8, 0x3c, 0x32));
        }
        if let Some(text) = self.doing() {
            plate(&painter, ui, rect.center_bottom() - egui::vec2(0.0, 40.0), Align2::CENTER_BOTTOM, &text);
        }
        if self.joint_plate(&painter, ui, rect, scale) {
            return;
        }
        let Some((over, pixel)) = self.pointer.told().filter(|_| self.build.draft == Draft::None) else { return };
        let about = &self.pointer.about;
        let mut lines = vec![match &about.name {
            Some(name) => format!("{name}  (body {})", over.body),
            None => format!("body {}", over.body),
        }];
        match about.kind {
            drystone::low_level::types::DYNAMIC => {
                lines.push(format!("{} kg", amount(about.mass)));
                lines.push(place_of(&over.pose));
                let doing = if over.asleep { ", asleep" } else { "" };
                lines.push(format!("{} m/s, {} rad/s{doing}", amount(over.velocity.length()), amount(over.spin)));
                #[allow(clippy::cast_possible_truncation, reason = "shown with three digits")]
                let [kinetic, potential] = about.energies.map(|energy| amount(energy as f32));
                lines.push(format!("kinetic {kinetic} J, potential {potential} J"));
                if let Some(track) = self.watch.of(over.body) {
                    lines.extend(pushed(track));
                }
                if over.asleep {
                    lines.push("contacts are not solved until it wakes".to_owned());
                } else {
                    let points = if over.points == 1 { "point" } else { "points" };
                    let contacts = if over.touching == 1 { "contact" } else { "contacts" };
                    lines.push(format!("{} {contacts}, {} {points}", over.touching, over.points));
                    let colors: Vec<String> =
                        (0..32).filter(|color| over.colors >> color & 1 == 1).map(|color| color.to_string()).collect();
                    let by_color = self.layers.coloring == Coloring::GraphColor || self.layers.constraints;
                    if by_color && !colors.is_empty() {
                        lines.push(format!("graph colours {}", colors.join(" ")));
                    }
                }
            }
            drystone::low_level::types::KINEMATIC => {
                lines.push("kinematic".to_owned());
                lines.push(place_of(&over.pose));
                lines.push(format!("{} m/s, {} rad/s", amount(over.velocity.length()), amount(over.spin)));
            }
            _ => lines.push("static".to_owned()),
        }
        let near = egui::pos2(pixel.x / scale, pixel.y / scale) + egui::vec2(16.0, 18.0);
        // Beside the pointer, on the side where there is room.
        let flip = near.x + 220.0 > rect.right();
        let up = near.y + 130.0 > rect.bottom();
        let at = near - egui::vec2(if flip { 32.0 } else { 0.0 }, if up { 30.0 } else { 0.0 });
        let align = match (flip, up) {
            (false, false) => Align2::LEFT_TOP,
            (true, false) => Align2::RIGHT_TOP,
            (false, true) => Align2::LEFT_BOTTOM,
            (true, true) => Align2::RIGHT_BOTTOM,
        };
        plate(&painter, ui, at, align, &lines.join("\n"));
    }

    /// Shows the error of a file that cannot be opened.
    fn fault_note(&self, ui: &mut egui::Ui) {
        if let Some(fault) = &self.fault {
            ui.label(RichText::new(&fault.text).color(ui.visuals().error_fg_color));
            ui.label(RichText::new("reloads when the file is corrected; Esc hides this").weak().small());
        }
    }

    /// Shows a band between a held body and the pointer; while the world is paused, with a hint how to let the body
    /// follow.
    fn band(&self, painter: &egui::Painter, ui: &egui::Ui, scale: f32) {
        let held = self.pointer.held_at().or(self.pointer.pressed_at());
        let (Some(held), Some(pixel)) = (held, self.pointer.pixel) else { return };
        let cameras = split(&self.camera, self.worlds());
        let Some(camera) = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first()) else {
            return;
        };
        let point = |pixel: Vec2| egui::pos2(pixel.x / scale, pixel.y / scale);
        let (from, to) = (point(camera.to_pixel(held)), point(pixel));
        let accent = ui.visuals().hyperlink_color;
        painter.line_segment([from, to], Stroke::new(2.0, accent));
        painter.circle_filled(from, 3.5, accent);
        painter.circle_filled(to, 3.5, accent);
        if !self.playing && self.owed == 0 && !self.seeks() {
            plate(
                painter,
                ui,
                to + egui::vec2(0.0, -14.0),
                Align2::CENTER_BOTTOM,
                "paused: Space runs, and the body follows",
            );
        }
    }
}

/// Text with the place and the angle of a body.
fn place_of(pose: &drystone::low_level::types::Pose) -> String {
    let [x, y] = pose.position.map(amount);
    let degrees = pose.rotation[1].atan2(pose.rotation[0]).to_degrees();
    format!("at {x}, {y} m, {}°", amount(if degrees.abs() < 0.05 { 0.0 } else { degrees }))
}

/// Text with the acceleration and the net force of a graphed body, if the last two steps are known.
#[allow(clippy::cast_possible_truncation, reason = "shown with three digits")]
fn pushed(track: &Track) -> Option<String> {
    let [acceleration, force] = [Quantity::Acceleration, Quantity::Force].map(|quantity| track.now(quantity));
    Some(format!("{} m/s², net force {} N", amount(acceleration? as f32), amount(force? as f32)))
}

/// Shows text on a plate, so that it can be read over any picture.
fn plate(painter: &egui::Painter, ui: &egui::Ui, at: egui::Pos2, align: Align2, text: &str) {
    plate_in(painter, ui, at, align, text, ui.visuals().strong_text_color());
}

/// Shows text of a colour on a plate.
fn plate_in(painter: &egui::Painter, ui: &egui::Ui, at: egui::Pos2, align: Align2, text: &str, color: Color32) {
    let font = egui::TextStyle::Body.resolve(ui.style());
    // Errors of files can be long.
    let most = (painter.clip_rect().width() - 40.0).max(60.0);
    let galley = painter.layout(text.to_owned(), font, color, most);
    let rect = within(align.anchor_size(at, galley.size() + egui::vec2(16.0, 10.0)), painter.clip_rect());
    painter.rect(
        rect,
        CornerRadius::same(5),
        ui.visuals().panel_fill.gamma_multiply(0.94),
        ui.visuals().window_stroke,
        egui::StrokeKind::Inside,
    );
    painter.galley(rect.min + egui::vec2(8.0, 5.0), galley, ui.visuals().text_color());
}

/// Moves a rectangle into another one, at least its left upper corner.
fn within(rect: egui::Rect, room: egui::Rect) -> egui::Rect {
    let [x, y] = [rect.min.x.min(room.right() - rect.width()), rect.min.y.min(room.bottom() - rect.height())];
    egui::Rect::from_min_size(egui::pos2(x.max(room.left()), y.max(room.top())), rect.size())
}

/// Shows a section of the panel, which can be folded.
fn section(ui: &mut egui::Ui, title: &str, open: bool, content: impl FnOnce(&mut egui::Ui)) {
    egui::CollapsingHeader::new(RichText::new(title).strong()).default_open(open).show(ui, |ui| {
        content(ui);
        ui.add_space(2.0);
    });
}

/// Writes a number with two or three significant digits.
pub(crate) fn amount(value: f32) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e5).contains(&size) {
        let digits: usize = if size >= 100.0 {
            0
        } else if size >= 10.0 {
            1
        } else if size >= 1.0 {
            2
        } else if size >= 0.01 {
            3
        } else {
            5
        };
        format!("{value:.digits$}")
    } else {
        format!("{value:.1e}")
    }
}

/// Writes a number with its noun: `1 body`, `12,345 bodies`.
pub(super) fn count(n: u64, noun: &str) -> String {
    let plural = noun.strip_suffix('y').map_or_else(|| format!("{noun}s"), |stem| format!("{stem}ies"));
    format!("{} {}", group(n), if n == 1 { noun } else { &plural })
}

/// Writes a number with thousands separators: `12,345`.
pub(super) fn group(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Shows the name of a field, in a column of this width, points.
pub(super) fn name(ui: &mut egui::Ui, text: &str, width: f32, hint: &str) {
    let (rect, response) = ui.allocate_exact_size(egui::vec2(width, 18.0), Sense::hover());
    let font = egui::TextStyle::Body.resolve(ui.style());
    ui.painter_at(rect).text(rect.left_center(), Align2::LEFT_CENTER, text, font, ui.visuals().text_color());
    if !hint.is_empty() {
        response.on_hover_text(hint);
    }
}

/// Makes a slider that does not change a value outside its range unless the user moves it.
pub(super) fn slider<N: egui::emath::Numeric>(value: &mut N, range: std::ops::RangeInclusive<N>) -> egui::Slider<'_> {
    egui::Slider::new(value, range).clamping(egui::SliderClamping::Edits).custom_parser(parsed)
}

/// Parses a number with a decimal point or a decimal comma.
pub(super) fn parsed(text: &str) -> Option<f64> {
    let digits = text.trim().trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').trim_end();
    digits.replace(',', ".").replace('−', "-").parse().ok()
}

/// Writes a number with some decimals, and one that rounds to zero without a sign.
fn decimals(value: f64, digits: std::ops::RangeInclusive<usize>) -> String {
    let text = egui::emath::format_with_decimals_in_range(value, digits);
    if text.contains(|c: char| ('1'..='9').contains(&c)) { text } else { text.trim_start_matches('-').to_owned() }
}

/// Writes a quantity that is never zero with some decimals, and a small one with as many as it needs.
fn positive(value: f64, digits: std::ops::RangeInclusive<usize>) -> String {
    if value.abs() < 0.1 { plain(value, digits) } else { decimals(value, digits) }
}

/// Writes a number with at most four significant digits and no trailing zeros.
pub(super) fn plain(value: f64, _: std::ops::RangeInclusive<usize>) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{value:.2e}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 7")]
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 7.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Writes a number with `N` decimals.
pub(super) fn digits<const N: usize>(value: f64, _: std::ops::RangeInclusive<usize>) -> String {
    format!("{value:.N$}")
}

/// Speeds that can be chosen.
pub(crate) fn speeds() -> &'static [f64] {
    &transport::SPEEDS
}

pub(crate) use build::refusal;
pub(crate) use fold::Fold;
pub(crate) use transport::speed_text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 7, 1000, 1_234_567].map(group), ["0", "7", "1,000", "1,234,567"]);
        let written = [0.0, 1.0, 12.345, 1234.5, 0.0123, 8e-4, 1e-7, 1e9].map(amount);
        assert_eq!(
            [(0, "joint"), (1, "body"), (2_000, "body")].map(|(n, noun)| count(n, noun)),
            ["0 joints", "1 body", "2,000 bodies"]
        );
        assert_eq!(written, ["0", "1.00", "12.3", "1234", "0.012", "0.00080", "1.0e-7", "1.0e9"]);
        let written = [-0.000_1, -0.04, 1.5, -2.0].map(|n| decimals(n, 1..=3));
        assert_eq!(written, ["0.000", "-0.04", "1.5", "-2.0"]);
        let read = ["2,5", " 2.5 kg", "-3", "−3", "1e3", "abc", "", "1,2,3"].map(parsed);
        assert_eq!(read, [Some(2.5), Some(2.5), Some(-3.0), Some(-3.0), Some(1e3), None, None, None]);
        let written = [1.0, 0.25, 0.0008, 2e-6].map(|n| positive(n, 2..=3));
        assert_eq!(written, ["1.00", "0.25", "0.0008", "2.00e-6"]);
        let written = [0.0, 1.0, 0.436_332_312, 12.5, 1200.0, 0.000_5, 123_456.0, -0.25, 1e-9].map(|n| plain(n, 0..=6));
        assert_eq!(written, ["0", "1", "0.4363", "12.5", "1200", "0.0005", "123456", "-0.25", "1.00e-9"]);
    }

    /// Luminance of a colour, by the Web Content Accessibility Guidelines 2.2.
    fn luminance(color: Color32) -> f64 {
        let linear = |byte: u8| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
    }

    fn contrast(text: Color32, on: Color32) -> f64 {
        let [text, on] = [luminance(on.blend(text)), luminance(on)];
        (text.max(on) + 0.05) / (text.min(on) + 0.05)
    }

    /// All text has enough contrast with its background, light and dark, selected and under the pointer.
    #[test]
    fn text_stands_out_from_what_is_behind_it() {
        for dark in [false, true] {
            let visuals = visuals(dark);
            let panel = visuals.panel_fill;
            let selected = panel.blend(visuals.selection.bg_fill);
            let hovered = panel.blend(visuals.widgets.hovered.weak_bg_fill);
            let button = panel.blend(visuals.widgets.inactive.weak_bg_fill);
            for (what, text, on) in [
                ("text", visuals.text_color(), panel),
                ("weak text", visuals.weak_text_color(), panel),
                ("strong text", visuals.strong_text_color(), panel),
                ("mistake", visuals.error_fg_color, panel),
                ("chosen", visuals.selection.stroke.color, selected),
                ("hovered", visuals.widgets.hovered.text_color(), hovered),
                ("weak text, hovered", visuals.weak_text_color(), hovered),
                ("strong text, hovered", visuals.strong_text_color(), hovered),
                ("button", visuals.widgets.inactive.text_color(), button),
            ] {
                let found = contrast(text, on);
                assert!(found >= 4.5, "{what}, dark {dark}: {found:.2}");
            }
            // Egui's own weak text on the selection colour has too little.
            assert!(!dark || contrast(egui::Visuals::dark().weak_text_color(), selected) < 4.5);
        }
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 0.01);
    }
}
