//! The strip of tools at the left of the picture, the card of the tool or the selected body beside it, and the ghost of
//! the outline that is being drawn.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use egui::{Align2, Color32, Pos2, Rect, RichText, Stroke, vec2};
use glam::Vec2;

use super::super::action::{Action, KEYS};
use super::super::app::App;
use super::super::build::{Draft, MAX_CORNERS, Tool};
use super::super::camera_follow::Covered;
use super::super::drawing::split;
use super::super::joint::effective_mass;
use super::super::select::{BodyChange, SelectionRequest};
use super::{amount, count, plate};
use drystone::low_level::scene::MAX_POSITION;
use drystone::{Body, BodyType, Shape};
use drystone_draw::Camera;

/// Side of a tool button, points.
const SIDE: f32 = 28.0;
/// Left and top of the tools in the picture, points: below the captions of two worlds.
const CORNER: [f32; 2] = [8.0, 42.0];
/// Width of the card, points.
const CARD: f32 = 196.0;
/// Maximum length of a body's name, characters.
const MAX_NAME: usize = 60;
/// Width of names on the card, points.
const NAME: f32 = 76.0;

/// Height of a picture below which the tools begin at its top and the card is folded, points.
const LOW: f32 = 380.0;

/// Layout of the tools in even columns that leave the scale bar free.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ToolStrip {
    /// Distance from the top of the picture, points.
    top: f32,
    rows: usize,
    columns: usize,
}

impl ToolStrip {
    /// Makes the layout for a picture of this size, points, with `scale` pixels per point.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few buttons; pixels")]
    fn new(size: egui::Vec2, scale: f32) -> Self {
        let top = if size.y < LOW { CORNER[0] } else { CORNER[1] };
        let pixels = [size.x, size.y].map(|side| (side * scale).max(0.0) as u32);
        let room = size.y - top - 8.0 - drystone_draw::scale_bar_height(pixels) / scale.max(0.1);
        let total = Tool::ALL.len() + DEEDS.len();
        let most = (((room - FRAME) / (SIDE + 1.0)).max(0.0) as usize).clamp(2, total);
        let columns = total.div_ceil(most);
        Self { top, rows: total.div_ceil(columns), columns }
    }

    /// Width with its frame, points.
    #[allow(clippy::cast_precision_loss, reason = "a few columns")]
    fn width(self) -> f32 {
        self.columns as f32 * (SIDE + 1.0) - 1.0 + FRAME
    }
}

/// Margins and lines of the frame around the tools, both sides together, points.
const FRAME: f32 = 6.0;

/// Returns true for a picture in which an unfolded card would cover the scene.
fn is_small(size: egui::Vec2) -> bool {
    size.x < super::fold::NARROW - 200.0 || size.y < LOW
}

/// Button for a command, below the tools.
struct ToolButton {
    sign: &'static str,
    hint: &'static str,
    action: fn() -> Action,
}

const DEEDS: [ToolButton; 4] = [
    ToolButton {
        sign: "↩",
        hint: "undo the last change (Z): a built body goes, a removed one comes back, and time goes on; a push is undone by going \
               back to the step before it; after that, the opening of this scene is undone",
        action: || Action::Undo,
    },
    ToolButton { sign: "↪", hint: "make the undone change again (Y)", action: || Action::Redo },
    ToolButton {
        sign: "🗑", hint: "clear: remove all dynamic bodies (Z brings them back)", action: || Action::Clear
    },
    ToolButton {
        sign: "🗋",
        hint: "new: an empty scene with a ground, to build in (J saves it; Z brings this one back)",
        action: || Action::NewScene,
    },
];

impl App {
    /// Shows the tools, the card and the ghost over the picture.
    pub(super) fn build_over(&mut self, ui: &egui::Ui, rect: Rect, scale: f32) {
        self.ghost(ui, rect, scale);
        let strip = ToolStrip::new(rect.size(), scale);
        let corner = rect.min + vec2(CORNER[0], strip.top);
        egui::Area::new(egui::Id::unique("tools")).fixed_pos(corner).show(ui.ctx(), |ui| {
            plain_frame(ui).show(ui, |ui| self.strip(ui, strip.rows));
        });
        let at = corner + vec2(strip.width() + 6.0, 0.0);
        if !self.has_card() {
            return;
        }
        let room = rect.height() - strip.top - 8.0;
        let is_small = is_small(rect.size());
        egui::Area::new(egui::Id::unique("card")).fixed_pos(at).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).inner_margin(8.0).show(ui, |ui| {
                if is_small && !self.card_head(ui) {
                    return;
                }
                let width = CARD.min(rect.right() - at.x - 24.0).max(120.0);
                ui.set_width(width);
                let most = (room - if is_small { 46.0 } else { 20.0 }).max(40.0);
                egui::ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, |ui| {
                    ui.set_width(width - 8.0);
                    match self.build.joint {
                        Some(_) => self.joint_card(ui),
                        None if self.shows_body() => self.body_card(ui),
                        None => self.tool_card(ui),
                    }
                });
            });
        });
    }

    /// Returns true if there is a card: of a building tool, a selected body or a selected joint.
    fn has_card(&self) -> bool {
        self.build.tool != Tool::Move || self.build.selection.is_some() || self.build.joint.is_some()
    }

    /// Returns true if the card is that of the selected body, and not that of a tool.
    fn shows_body(&self) -> bool {
        let has_drawn = self.build.selection.is_some() && self.build.draft == Draft::None;
        self.build.tool == Tool::Move || has_drawn
    }

    /// Notes the widths that tools, card and panel cover at the sides of the picture: the view is fitted between them.
    pub(super) fn cover(&mut self, rect: Rect, scale: f32) {
        self.fold.card = self.has_card();
        self.fold.card_is_open &= self.fold.card;
        self.fold.beside_card &= self.fold.card;
        let folded = is_small(rect.size()) && !self.fold.card_is_open;
        let strip = CORNER[0] + ToolStrip::new(rect.size(), scale).width() + 6.0;
        // A card does not move the view; F while it is there fits the view beside it.
        let card = if self.fold.beside_card && !folded { CARD + 24.0 } else { 0.0 };
        let over = self.width_over(rect.width());
        self.fold.covered = Covered { left: (strip + card) * scale, right: over * scale };
    }

    /// Shows the title of a card in a small window, with the button that unfolds it; returns true if it is unfolded.
    fn card_head(&mut self, ui: &mut egui::Ui) -> bool {
        let open = self.fold.card_is_open;
        let joint = self.build.joint.as_ref().map(|joint| super::joint::title(&joint.now, joint.id));
        let has_joint = joint.is_some();
        let name = joint.unwrap_or_else(|| match &self.build.selection {
            Some(selection) if self.shows_body() => title(&selection.now.body, selection.id.index),
            _ => self.build.tool.name().to_owned(),
        });
        ui.horizontal(|ui| {
            let (sign, hint) = if open { ("⏶", "fold this card") } else { ("⏷", "unfold this card") };
            if ui.small_button(sign).on_hover_text(hint).clicked() {
                self.fold.card_is_open = !open;
            }
            if !open {
                ui.label(RichText::new(name).strong());
                if !self.shows_body() && !has_joint {
                    self.draft_buttons(ui);
                }
            }
        });
        open
    }

    /// Shows the buttons of tools and commands, in columns of `rows`.
    fn strip(&mut self, ui: &mut egui::Ui, rows: usize) {
        ui.spacing_mut().item_spacing = vec2(1.0, 1.0);
        ui.horizontal_top(|ui| {
            let all = Tool::ALL.len() + DEEDS.len();
            for first in (0..all).step_by(rows) {
                ui.vertical(|ui| {
                    for index in first..(first + rows).min(all) {
                        match Tool::ALL.get(index) {
                            Some(&tool) => self.tool_button(ui, tool),
                            None => self.deed_button(ui, &DEEDS[index - Tool::ALL.len()]),
                        }
                    }
                });
            }
        });
    }

    fn tool_button(&mut self, ui: &mut egui::Ui, tool: Tool) {
        let chosen = self.build.tool == tool;
        let button = egui::Button::selectable(chosen, "").min_size(vec2(SIDE, SIDE));
        let response = ui.add(button);
        let color = if chosen { ui.visuals().strong_text_color() } else { ui.visuals().text_color() };
        icon(ui.painter(), response.rect, tool, color);
        let key =
            KEYS.iter().find(|key| (key.action)(super::Under { at: Vec2::ZERO, is_over: false }) == Action::Tool(tool));
        let key = key.map_or("", |key| key.shown);
        if response.on_hover_text(format!("{} ({key}): {}", tool.name(), tool.hint())).clicked() {
            self.ask_for(Action::Tool(tool));
        }
    }

    fn deed_button(&mut self, ui: &mut egui::Ui, deed: &ToolButton) {
        let response = ui.add(egui::Button::new("").frame(false).min_size(vec2(SIDE, SIDE)));
        let (font, color) = (egui::FontId::proportional(15.0), ui.visuals().text_color());
        ui.painter().text(response.rect.center(), Align2::CENTER_CENTER, deed.sign, font, color);
        if response.on_hover_text(deed.hint).clicked() {
            self.ask_for((deed.action)());
        }
    }

    /// Shows the instructions of the tool, and the properties of what it makes.
    fn tool_card(&mut self, ui: &mut egui::Ui) {
        let tool = self.build.tool;
        ui.label(RichText::new(tool.name()).strong());
        let hint = match &self.build.draft {
            Draft::Joint(_, end) => tool.next_hint(self.is_fixed(end.body)),
            Draft::Corners(_) => "click the first corner again, or Enter, to close it",
            _ => tool.hint(),
        };
        ui.label(RichText::new(hint).weak().small());
        let mut stock = self.build.stock;
        if !tool.is_joint() {
            kinds(ui, &mut stock.kind);
            row(ui, "density", "mass of a square metre", |ui| number(ui, "density", &mut stock.density, DENSITY));
            row(ui, "friction", FRICTION_HINT, |ui| number(ui, "friction", &mut stock.friction, FRICTION));
            row(ui, "restitution", RESTITUTION_HINT, |ui| number(ui, "bounce", &mut stock.restitution, RESTITUTION));
        }
        if tool == Tool::Spring {
            let hint = "how often the two bodies swing on it in a second";
            row(ui, "frequency", hint, |ui| number(ui, "hertz", &mut stock.hertz, HERTZ));
            let hint = "0 swings for ever, 1 comes to rest without swinging";
            row(ui, "damping", hint, |ui| number(ui, "damping", &mut stock.damping, DAMPING));
            let (mass, whose) = self.spring_mass();
            let [stiffness, damping] = stock.constants(mass).map(amount);
            let hint = "stiffness m (2π f)² and damping 2 ζ m (2π f) for the effective mass m of the two bodies";
            let text = format!("= {stiffness} N/m, {damping} N·s/m {whose}");
            ui.label(RichText::new(text).weak().small()).on_hover_text(hint);
        }
        if stock != self.build.stock {
            self.ask_for(Action::Stock(stock));
        }
        ui.horizontal(|ui| self.draft_buttons(ui));
    }

    /// Effective mass on which a new spring will swing, kg, with a text that says of what: the first body that was
    /// clicked and the one under the pointer.
    fn spring_mass(&self) -> (f32, String) {
        let compiled = self.run.here().map(|run| run.world().compiled());
        let inverse = |slot: usize| compiled.and_then(|all| all.bodies.get(slot)).map_or(0.0, |body| body.inv_mass);
        let first = match &self.build.draft {
            Draft::Joint(Tool::Spring, end) => end.body.map(|body| body.index as usize),
            _ => None,
        };
        let over = self.pointer.over.filter(|_| self.pointer.is_fresh).map(|over| over.body);
        let second = over.filter(|over| Some(*over) != first);
        let mass = effective_mass([first, second].map(|slot| slot.map_or(0.0, inverse)));
        if mass <= 0.0 {
            return (1.0, "for each kg of the bodies' effective mass".to_owned());
        }
        let ends: Vec<String> = [first, second].into_iter().flatten().map(|slot| self.body_name(Some(slot))).collect();
        (
            mass,
            if ends.len() == 2 {
                format!("for {}", ends.join(" and "))
            } else {
                format!("for {} on a fixed point", ends[0])
            },
        )
    }

    /// Shows the buttons that end the drawing in progress.
    fn draft_buttons(&mut self, ui: &mut egui::Ui) {
        let tool = self.build.tool;
        if self.build.draft != Draft::None {
            let enter = matches!(self.build.draft, Draft::Corners(_));
            if enter && ui.button("close").on_hover_text("close the polygon (Enter)").clicked() {
                self.ask_for(Action::Finish);
            }
            if ui.button("cancel").on_hover_text("Esc").clicked() {
                self.ask_for(Action::Tool(tool));
            }
        }
    }

    /// Shows the properties of the selected body, in fields that change them.
    fn body_card(&mut self, ui: &mut egui::Ui) {
        let step = self.run.steps();
        let Some(selection) = &self.build.selection else { return };
        let (body, slot) = (selection.now.body.clone(), selection.id.index);
        let (velocity, spin) = selection.motion(step);
        let center = self.run.here().and_then(|run| run.world().compiled().mass.get(slot as usize)).map(|m| m.center);
        let (position, angle) = selection.place(step, center.unwrap_or_default());
        let (mass, moves) = ([selection.density, selection.mass], body.kind == BodyType::Dynamic);
        let mut asked = None;
        let mut choice = None;
        let tool = self.build.tool;
        ui.push_id((slot, selection.id.generation), |ui| {
            ui.horizontal(|ui| {
                asked = name_field(ui, &body, slot);
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if ui.small_button("✖").on_hover_text("deselect (Esc)").clicked() {
                        choice = Some(Action::Select(SelectionRequest::Nothing));
                    }
                    if ui.small_button("🗑").on_hover_text("remove this body (Z undoes it)").clicked() {
                        choice = Some(Action::Remove(None));
                    }
                });
            });
            if tool != Tool::Move {
                let text = format!("{} tool: use it again for the next one, Esc puts it away", tool.name());
                ui.label(RichText::new(text).weak().small());
            }
            let mut kind = body.kind;
            kinds(ui, &mut kind);
            asked = asked.take().or((kind != body.kind).then_some(BodyChange::Kind(kind)));
            asked = asked.take().or(material(ui, &body, moves.then_some(mass)));
            asked = asked.take().or(place(ui, position, angle));
            if body.kind != BodyType::Static {
                asked = asked.take().or(motion(ui, velocity, spin));
            }
            if moves {
                asked = asked.take().or(locks(ui, &body));
            }
        });
        self.joints_of_body(ui);
        if let Some(action) = choice.or(asked.map(Action::Change)) {
            self.ask_for(action);
        }
    }

    /// Shows the outline that is being drawn, with its size and the bodies that it overlaps.
    fn ghost(&self, ui: &egui::Ui, rect: Rect, scale: f32) {
        let Some(pixel) = self.pointer.pixel.filter(|_| self.build.tool != Tool::Move) else { return };
        let cameras = split(&self.camera, self.worlds());
        let Some(camera) = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first()) else {
            return;
        };
        let painter = ui.painter_at(rect);
        let overlapped = self.build.overlap.bodies.as_ref();
        let color = if overlapped.is_some() { ui.visuals().error_fg_color } else { ui.visuals().hyperlink_color };
        let ghost = Ghost { painter: &painter, camera, scale, stroke: Stroke::new(1.5, color) };
        let to = camera.to_world(pixel);
        let mut text = match &self.build.draft {
            Draft::Drag(from) if self.build.tool == Tool::Box => {
                ghost.line(&[*from, Vec2::new(to.x, from.y), to, Vec2::new(from.x, to.y)], true);
                let size = (to - *from).abs();
                format!("{} × {} m", amount(size.x), amount(size.y))
            }
            Draft::Drag(from) => {
                let radius = from.distance(to);
                painter.circle_stroke(ghost.point(*from), radius / camera.metres_per_pixel / scale, ghost.stroke);
                ghost.line(&[*from, to], false);
                format!("radius {} m", amount(radius))
            }
            Draft::Corners(corners) => {
                let mut line = corners.clone();
                line.push(to);
                ghost.line(&line, line.len() > 2);
                for &corner in corners {
                    ghost.dot(corner);
                }
                format!("{} of {MAX_CORNERS}", count(corners.len() as u64, "corner"))
            }
            Draft::Joint(tool, end) => {
                ghost.line(&[end.at, to], false);
                ghost.dot(end.at);
                // A hinge and a weld have no length.
                if matches!(tool, Tool::Hinge | Tool::Weld) {
                    return;
                }
                format!("{} m", amount(end.at.distance(to)))
            }
            Draft::None => return,
        };
        if let Some(bodies) = overlapped {
            text = format!("{text}, overlaps {bodies}");
        }
        let at = Pos2::new(pixel.x / scale, pixel.y / scale) + vec2(14.0, -10.0);
        plate(&painter, ui, at, Align2::LEFT_BOTTOM, &text);
    }
}

/// Pen for lines over the picture, in world coordinates.
struct Ghost<'a> {
    painter: &'a egui::Painter,
    camera: &'a Camera,
    scale: f32,
    stroke: Stroke,
}

impl Ghost<'_> {
    fn point(&self, at: Vec2) -> Pos2 {
        let pixel = self.camera.to_pixel(at);
        Pos2::new(pixel.x / self.scale, pixel.y / self.scale)
    }

    fn line(&self, through: &[Vec2], closed: bool) {
        let points: Vec<Pos2> = through.iter().map(|&at| self.point(at)).collect();
        let shape =
            if closed { egui::Shape::closed_line(points, self.stroke) } else { egui::Shape::line(points, self.stroke) };
        self.painter.add(shape);
    }

    fn dot(&self, at: Vec2) {
        self.painter.circle_filled(self.point(at), 3.5, self.stroke.color);
    }
}

/// Kind of a number field: its range, its change per point of a drag, and its unit.
pub(super) struct NumberField {
    range: RangeInclusive<f32>,
    speed: f64,
    unit: &'static str,
}

impl NumberField {
    /// Range of its values.
    pub(super) fn range(&self) -> &RangeInclusive<f32> {
        &self.range
    }
}

pub(super) const fn kind(range: RangeInclusive<f32>, speed: f64, unit: &'static str) -> NumberField {
    NumberField { range, speed, unit }
}

const DENSITY: NumberField = kind(1e-3..=1e6, 0.05, " kg/m²");
const MASS: NumberField = kind(1e-6..=1e9, 0.05, " kg");
const FRICTION: NumberField = kind(0.0..=10.0, 0.01, "");
const RESTITUTION: NumberField = kind(0.0..=1.0, 0.01, "");
const GRAVITY: NumberField = kind(-10.0..=10.0, 0.02, " ×");
const PLACE: NumberField = kind(-MAX_POSITION..=MAX_POSITION, 0.02, " m");
const ANGLE: NumberField = kind(-360.0..=360.0, 0.5, "°");
const SPEED: NumberField = kind(-1e4..=1e4, 0.05, " m/s");
const SPIN: NumberField = kind(-1e4..=1e4, 0.05, " rad/s");
const HERTZ: NumberField = kind(0.01..=60.0, 0.02, " Hz");
const DAMPING: NumberField = kind(0.0..=10.0, 0.01, "");
const FRICTION_HINT: &str = "Coulomb's coefficient: 0 is ice, 1 is rubber";
const RESTITUTION_HINT: &str = "share of its speed with which it bounces back, 0 to 1";

/// Seconds for which the reason is shown why a typed number was not taken.
const REFUSAL_SECONDS: f64 = 10.0;

/// Reason why the typed number of a field was not taken, with the time of the input, s.
#[derive(Clone, Debug)]
struct Refusal(String, f64);

/// Id of the refusal in the row that is being shown.
fn refusal_in_row() -> egui::Id {
    egui::Id::unique("refusal in row")
}

/// Id of the refusal that was shown last, with the number of the pass.
fn refusal_shown() -> egui::Id {
    egui::Id::unique("refusal shown")
}

/// Reason that the card shows why a typed number was not taken.
pub(crate) fn refusal(ctx: &egui::Context) -> Option<String> {
    let (pass, text) = ctx.data(|data| data.get_temp::<(u64, String)>(refusal_shown()))?;
    (pass + 2 > ctx.cumulative_pass_nr()).then_some(text)
}

/// Writes a bound of a number field.
fn bound(value: f32) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e5).contains(&size) {
        super::plain(f64::from(value), 0..=6)
    } else {
        format!("{value:e}")
    }
}

/// Reads the text of a number field.
///
/// # Errors
/// The reason why a body cannot have this value.
#[allow(clippy::cast_possible_truncation, reason = "a number that the user has typed")]
fn typed_number(text: &str, range: &RangeInclusive<f32>, unit: &str) -> Result<f32, String> {
    let expected = format!("{} to {}{unit}", bound(*range.start()), bound(*range.end()));
    match super::parsed(text) {
        None => Err(format!("not changed: “{}” is not a number; expected {expected}", text.trim())),
        Some(value) if !range.contains(&(value as f32)) => {
            Err(format!("not changed: {} is out of range; expected {expected}", super::plain(value, 0..=6)))
        }
        Some(value) => Ok(value as f32),
    }
}

/// Shows a number that can be dragged or typed; returns true when the user has set another value. A typed number out of
/// its range changes nothing: the row says so.
pub(super) fn number(ui: &mut egui::Ui, key: &str, value: &mut f32, kind: NumberField) -> bool {
    let NumberField { range, speed, unit } = kind;
    let id = ui.scope_id().with(key);
    let mut now = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or(*value);
    let format = if *range.start() > 0.0 { super::positive } else { super::decimals };
    let (shown, typed) = (RefCell::new(None::<String>), RefCell::new(None::<String>));
    let drag = egui::DragValue::new(&mut now)
        .range(range.clone())
        .clamp_existing_to_range(false)
        .speed(speed)
        .max_decimals(3)
        .custom_formatter(|value, digits| {
            let text = format(value, digits);
            shown.borrow_mut().get_or_insert_with(|| text.clone());
            text
        })
        .custom_parser(|text| {
            typed.borrow_mut().get_or_insert_with(|| text.to_owned());
            super::parsed(text)
        })
        .suffix(unit)
        .update_while_editing(false);
    let response = ui.add(drag);
    let (time, note) = (ui.input(|input| input.time), id.with("refusal"));
    let mut is_left_alone = false;
    if response.gained_focus() || response.dragged() {
        ui.data_mut(|data| data.remove::<Refusal>(note));
    }
    // The text of the field when it was left.
    if let Some(text) = typed.take() {
        // The digits that are not shown stay.
        is_left_alone = shown.take().is_some_and(|shown| shown == text.trim());
        match typed_number(&text, &range, unit) {
            Err(reason) if !is_left_alone => {
                is_left_alone = true;
                ui.data_mut(|data| data.insert_temp(note, Refusal(reason, time)));
            }
            _ => ui.data_mut(|data| data.remove::<Refusal>(note)),
        }
    }
    if let Some(Refusal(reason, since)) = ui.data(|data| data.get_temp::<Refusal>(note)) {
        if time < since + REFUSAL_SECONDS {
            ui.data_mut(|data| data.insert_temp(refusal_in_row(), reason));
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(since + REFUSAL_SECONDS - time));
        } else {
            ui.data_mut(|data| data.remove::<Refusal>(note));
        }
    }
    if is_left_alone {
        ui.data_mut(|data| data.remove::<f32>(id));
        return false;
    }
    if response.changed() {
        // The arrow keys stop at the bounds, as a drag does.
        now = now.clamp(*range.start(), *range.end());
        ui.data_mut(|data| data.insert_temp(id, now));
    }
    // During a drag nothing is changed: the last value counts.
    let settled = response.drag_stopped() || (response.changed() && !response.dragged());
    let new = if settled { ui.data_mut(|data| data.remove_temp::<f32>(id)) } else { None };
    let Some(new) = new.filter(|new| new != value) else { return false };
    *value = new;
    true
}

/// Shows a row of the card: a name, and a field beside it; below them the reason why a typed number was not taken.
pub(super) fn row<T>(ui: &mut egui::Ui, text: &str, hint: &str, content: impl FnOnce(&mut egui::Ui) -> T) -> T {
    let shown = ui.horizontal(|ui| {
        super::name(ui, text, NAME, hint);
        content(ui)
    });
    if let Some(reason) = ui.data_mut(|data| data.remove_temp::<String>(refusal_in_row())) {
        ui.label(RichText::new(&reason).small().color(ui.visuals().error_fg_color));
        let pass = ui.ctx().cumulative_pass_nr();
        ui.data_mut(|data| data.insert_temp(refusal_shown(), (pass, format!("{text}: {reason}"))));
    }
    shown.inner
}

/// Shows a row with a number; returns the change when the user has set another value.
fn field(
    ui: &mut egui::Ui,
    text: &str,
    hint: &str,
    value: f32,
    kind: NumberField,
    change: fn(f32) -> BodyChange,
) -> Option<BodyChange> {
    let mut new = value;
    row(ui, text, hint, |ui| number(ui, text, &mut new, kind)).then(|| change(new))
}

/// Shows two rows with a number each; returns the change when the user has set another value in one of them.
fn pair(
    ui: &mut egui::Ui,
    texts: [&str; 2],
    value: Vec2,
    kinds: [NumberField; 2],
    change: fn(Vec2) -> BodyChange,
) -> Option<BodyChange> {
    let mut new = value;
    let [first, second] = kinds;
    let mut changed = row(ui, texts[0], "", |ui| number(ui, texts[0], &mut new.x, first));
    changed |= row(ui, texts[1], "", |ui| number(ui, texts[1], &mut new.y, second));
    changed.then(|| change(new))
}

/// Shows the choice of a body's type.
fn kinds(ui: &mut egui::Ui, kind: &mut BodyType) {
    ui.horizontal(|ui| {
        for (value, text, hint) in [
            (BodyType::Dynamic, "dynamic", "moved by forces and impulses"),
            (BodyType::Static, "static", "never moves"),
            (BodyType::Kinematic, "kinematic", "moves by its velocity alone; nothing stops it"),
        ] {
            if ui.selectable_label(*kind == value, text).on_hover_text(hint).clicked() {
                *kind = value;
            }
        }
    });
}

/// Shows density and mass of a dynamic body, friction, restitution and the factor on gravity.
fn material(ui: &mut egui::Ui, body: &Body, mass: Option<[f32; 2]>) -> Option<BodyChange> {
    let first = body.shapes.first()?;
    let differ = |of: fn(&Shape) -> f32| body.shapes.iter().any(|shape| of(shape) != of(first));
    let hint = |hint: &str, of: fn(&Shape) -> f32| {
        if differ(of) {
            format!("{hint}; the shapes differ: this is the value of the first one, a change sets all")
        } else {
            hint.to_owned()
        }
    };
    let mut asked = None;
    let mut ask = |text: &str, hint: &str, value: f32, kind: NumberField, change: fn(f32) -> BodyChange| {
        asked = asked.take().or(field(ui, text, hint, value, kind, change));
    };
    if let Some([density, mass]) = mass {
        let of_density = "mass of a square metre; the mass follows it";
        ask("density", &hint(of_density, |s| s.density), density, DENSITY, BodyChange::Density);
        ask("mass", "mass of the whole body; the density follows it", mass, MASS, BodyChange::Mass);
    }
    let of = |shape: &Shape| shape.material.friction;
    ask("friction", &hint(FRICTION_HINT, of), of(first), FRICTION, BodyChange::Friction);
    let of = |shape: &Shape| shape.material.restitution;
    ask("restitution", &hint(RESTITUTION_HINT, of), of(first), RESTITUTION, BodyChange::Restitution);
    if mass.is_some() {
        ask("gravity", "factor on gravity", body.gravity_scale, GRAVITY, BodyChange::GravityScale);
    }
    asked
}

/// Shows the place and the angle.
fn place(ui: &mut egui::Ui, position: Vec2, angle: f32) -> Option<BodyChange> {
    let at = pair(ui, ["x", "y"], position, [PLACE, PLACE], BodyChange::Position);
    let turn = |degrees: f32| BodyChange::Angle(degrees.to_radians());
    at.or(field(ui, "angle", "counter-clockwise", angle.to_degrees(), ANGLE, turn))
}

/// Shows the velocities.
fn motion(ui: &mut egui::Ui, velocity: Vec2, spin: f32) -> Option<BodyChange> {
    let speed = pair(ui, ["velocity x", "velocity y"], velocity, [SPEED, SPEED], BodyChange::Velocity);
    speed.or(field(ui, "spin", "angular velocity, counter-clockwise", spin, SPIN, BodyChange::Spin))
}

/// Shows the switches of a dynamic body.
fn locks(ui: &mut egui::Ui, body: &Body) -> Option<BodyChange> {
    let mut asked = None;
    let mut switch = |ui: &mut egui::Ui, on: bool, text: &str, hint: &str, change: fn(bool) -> BodyChange| {
        let mut now = on;
        if ui.checkbox(&mut now, text).on_hover_text(hint).changed() {
            asked = Some(change(now));
        }
    };
    ui.horizontal_wrapped(|ui| {
        switch(ui, body.fixed_rotation, "no rotation", "it never turns", BodyChange::FixedRotation);
        switch(ui, body.bullet, "bullet", "swept against moving bodies too, when fast", BodyChange::Bullet);
        switch(ui, body.can_sleep, "may sleep", "falls asleep when at rest", BodyChange::CanSleep);
    });
    asked
}

/// Shows the name of a body, or its index, in a field that changes it when it is left.
fn name_field(ui: &mut egui::Ui, body: &Body, slot: u32) -> Option<BodyChange> {
    let id = ui.scope_id().with("name");
    let known = body.id.clone().unwrap_or_default();
    let mut text = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_else(|| known.clone());
    let field = egui::TextEdit::singleline(&mut text)
        .hint_text(format!("body {slot}"))
        .char_limit(MAX_NAME)
        .font(egui::TextStyle::Button)
        .desired_width(CARD - 70.0);
    let response = ui.add(field).on_hover_text("name of this body: for graphs, tables and the file that J saves");
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, text));
        return None;
    }
    ui.data_mut(|data| data.remove::<String>(id));
    if !response.lost_focus() {
        return None;
    }
    let cancelled = ui.input(|input| input.key_pressed(egui::Key::Escape));
    let name = text.trim();
    (name != known && !cancelled).then(|| BodyChange::Name((!name.is_empty()).then(|| name.to_owned())))
}

/// Short name of a body.
fn title(body: &Body, slot: u32) -> String {
    match &body.id {
        Some(name) if name.chars().count() > 14 => format!("{}…", name.chars().take(13).collect::<String>()),
        Some(name) => name.clone(),
        None => format!("body {slot}"),
    }
}

/// Frame of the tools.
fn plain_frame(ui: &egui::Ui) -> egui::Frame {
    egui::Frame::popup(ui.style()).inner_margin(2.0).shadow(egui::Shadow::NONE)
}

/// Draws the icon of a tool.
fn icon(painter: &egui::Painter, rect: Rect, tool: Tool, color: Color32) {
    let (middle, pen) = (rect.center(), Stroke::new(1.6, color));
    let at = |x: f32, y: f32| middle + vec2(x, y);
    let line = |points: &[[f32; 2]]| {
        let points = points.iter().map(|&[x, y]| at(x, y)).collect();
        painter.add(egui::Shape::line(points, pen));
    };
    let dot = |x: f32, y: f32| {
        painter.circle_filled(at(x, y), 2.2, color);
    };
    match tool {
        Tool::Move => {
            let arrow =
                [[-4.0, -7.0], [-4.0, 6.0], [-0.6, 3.0], [2.0, 7.5], [3.8, 6.5], [1.6, 2.2], [5.5, 2.0], [-4.0, -7.0]];
            line(&arrow);
        }
        Tool::Box => {
            painter.rect_stroke(Rect::from_center_size(middle, vec2(14.0, 11.0)), 0.0, pen, egui::StrokeKind::Middle);
        }
        Tool::Circle => {
            painter.circle_stroke(middle, 6.5, pen);
        }
        Tool::Polygon => line(&[[0.0, -7.0], [7.0, -1.5], [4.2, 6.5], [-4.2, 6.5], [-7.0, -1.5], [0.0, -7.0]]),
        Tool::Hinge => {
            line(&[[-7.0, 6.0], [0.0, -2.0], [7.0, 6.0]]);
            painter.circle_filled(at(0.0, -3.0), 3.4, color);
        }
        Tool::Spring => {
            let zigzag =
                [[-8.0, 0.0], [-5.0, 0.0], [-3.5, -5.0], [-1.0, 5.0], [1.5, -5.0], [4.0, 5.0], [5.0, 0.0], [8.0, 0.0]];
            line(&zigzag);
        }
        Tool::Rod => {
            line(&[[-6.0, 6.0], [6.0, -6.0]]);
            dot(-6.0, 6.0);
            dot(6.0, -6.0);
        }
        Tool::Weld => {
            line(&[[-7.0, 0.0], [7.0, 0.0]]);
            line(&[[-4.0, -5.0], [4.0, 5.0]]);
            line(&[[-4.0, 5.0], [4.0, -5.0]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers out of their range and texts that are none are refused with what was expected; a decimal comma is read.
    #[test]
    fn typed_numbers_are_taken_or_refused() {
        assert_eq!(typed_number("2,5 kg", MASS.range(), " kg"), Ok(2.5));
        assert_eq!(typed_number("1e-6", MASS.range(), " kg"), Ok(1e-6), "the bound itself");
        let refused = |text: &str, field: &NumberField| typed_number(text, field.range(), field.unit).unwrap_err();
        assert_eq!(refused("0", &MASS), "not changed: 0 is out of range; expected 1e-6 to 1e9 kg");
        assert_eq!(refused("-3", &MASS), "not changed: -3 is out of range; expected 1e-6 to 1e9 kg");
        assert_eq!(refused("1.5", &RESTITUTION), "not changed: 1.5 is out of range; expected 0 to 1");
        assert_eq!(refused("heavy", &DENSITY), "not changed: “heavy” is not a number; expected 0.001 to 1e6 kg/m²");
        assert_eq!(refused("720", &ANGLE), "not changed: 720 is out of range; expected -360 to 360°");
    }

    /// In pictures of any size the columns of tools differ by at most one button, and the scale bar is free.
    #[test]
    fn tools_are_even_and_leave_the_scale_bar_free() {
        let total = Tool::ALL.len() + DEEDS.len();
        for (width, height) in [(640.0, 366.0), (360.0, 234.0), (360.0, 600.0), (946.0, 686.0), (2226.0, 1406.0)] {
            for scale in [1.0, 2.0] {
                let strip = ToolStrip::new(vec2(width, height), scale);
                assert!(strip.rows * strip.columns >= total && strip.rows * strip.columns < total + strip.columns);
                #[allow(clippy::cast_precision_loss, reason = "a few rows")]
                let bottom = strip.top + strip.rows as f32 * (SIDE + 1.0) + FRAME;
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
                let bar = drystone_draw::scale_bar_height([width, height].map(|side| (side * scale) as u32)) / scale;
                assert!(bar > 0.0 && bottom <= height - bar, "{width} × {height}: {bottom}");
                assert!(strip.width() < 0.3 * width, "{width} × {height}: {}", strip.width());
            }
        }
        assert_eq!(ToolStrip::new(vec2(946.0, 686.0), 1.0).columns, 1);
        assert_eq!(ToolStrip::new(vec2(640.0, 366.0), 1.0).columns, 2);
        assert!(is_small(vec2(360.0, 234.0)) && is_small(vec2(640.0, 366.0)) && !is_small(vec2(946.0, 686.0)));
    }
}
