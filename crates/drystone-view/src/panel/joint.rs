//! The card of the selected joint: its bodies, what it does at the moment, and fields that change its settings; and the
//! marks of joints under the pointer and selected.

use egui::{Align2, Pos2, RichText, Stroke, vec2};
use glam::Vec2;

use super::super::action::Action;
use super::super::app::App;
use super::super::drawing::split;
use super::super::joint::{JointReading, JointSelection, kind_words, measure, spring_constants, spring_swing};
use super::super::select::SelectionRequest;
use super::build::{NumberField, kind, number, row};
use super::{amount, plate};
use drystone::low_level::scene::check::has_spring;
use drystone::{Joint, JointId, JointKind, Motor, Spring};

const LENGTH: NumberField = kind(0.0..=1e5, 0.02, " m");
const OFFSET: NumberField = kind(-1e5..=1e5, 0.02, " m");
const STIFFNESS: NumberField = kind(0.0..=1e9, 0.5, " N/m");
const DAMPER: NumberField = kind(0.0..=1e9, 0.05, " N·s/m");
const HERTZ: NumberField = kind(0.01..=240.0, 0.02, " Hz");
const GEAR_RATIO: NumberField = kind(-1e3..=1e3, 0.01, "");
const MIN_GEAR_RATIO: f32 = 1e-3;
const PULLEY_RATIO: NumberField = kind(1e-3..=1e3, 0.01, "");
const RATIO: NumberField = kind(0.0..=100.0, 0.01, "");
const FORCE: NumberField = kind(0.0..=1e9, 0.5, " N");
const SIGNED_FORCE: NumberField = kind(-1e15..=1e15, 0.5, " N");
const TORQUE: NumberField = kind(0.0..=1e9, 0.5, " N·m");
const DEGREES: NumberField = kind(-3600.0..=3600.0, 0.5, "°");
const METRES_A_SECOND: NumberField = kind(-1e4..=1e4, 0.05, " m/s");
const TURNING: NumberField = kind(-1e4..=1e4, 0.05, " rad/s");

const HERTZ_HINT: &str = "how often the two bodies swing on it in a second";
const RATIO_HINT: &str = "0 swings for ever, 1 comes to rest without swinging";
const MOTOR_HINT: &str = "drives towards a speed with limited strength";
const LIMITS_HINT: &str = "keeps it between two positions";

/// Settings of a joint in fields, with the name of the first that the user has changed.
struct Fields<'a> {
    ui: &'a mut egui::Ui,
    changed: Option<&'static str>,
}

impl Fields<'_> {
    fn note(&mut self, is_changed: bool, what: &'static str) {
        if is_changed {
            self.changed = self.changed.or(Some(what));
        }
    }

    /// Shows a number.
    fn number(&mut self, text: &'static str, hint: &str, value: &mut f32, kind: NumberField) {
        self.number_of(text, text, hint, value, kind);
    }

    /// Shows a number under a text that other settings have too.
    fn number_of(&mut self, what: &'static str, text: &str, hint: &str, value: &mut f32, kind: NumberField) {
        let is_changed = row(self.ui, text, hint, |ui| number(ui, what, value, kind));
        self.note(is_changed, what);
    }

    /// Shows an angle in degrees.
    fn angle(&mut self, what: &'static str, text: &str, hint: &str, radians: &mut f32) {
        let mut degrees = radians.to_degrees();
        if row(self.ui, text, hint, |ui| number(ui, what, &mut degrees, DEGREES)) {
            *radians = degrees.to_radians();
            self.note(true, what);
        }
    }

    fn switch(&mut self, text: &'static str, hint: &str, on: &mut bool) {
        let is_changed = self.ui.checkbox(on, text).on_hover_text(hint).changed();
        self.note(is_changed, text);
    }

    /// Shows a switch for a setting that may be absent, which begins with a value.
    fn option<T>(&mut self, text: &'static str, hint: &str, value: &mut Option<T>, first: impl FnOnce() -> T) {
        let mut on = value.is_some();
        if self.ui.checkbox(&mut on, text).on_hover_text(hint).changed() {
            *value = on.then(first);
            self.note(true, text);
        }
    }

    fn motor(&mut self, motor: &mut Option<Motor>, turns: bool) {
        self.option("motor", MOTOR_HINT, motor, || Motor { speed: 1.0, max: 10.0 });
        if let Some(motor) = motor {
            let [speed, strength] = if turns { [TURNING, TORQUE] } else { [METRES_A_SECOND, FORCE] };
            self.number_of(
                "motor speed",
                "speed",
                "positive lengthens, or turns counter-clockwise",
                &mut motor.speed,
                speed,
            );
            self.number_of("motor strength", "strength", "largest force or torque", &mut motor.max, strength);
        }
    }

    fn lengths(&mut self, limits: &mut Option<[f32; 2]>, now: f32, field: fn() -> NumberField) {
        self.option("limits", LIMITS_HINT, limits, || [(now - 0.5).max(*field().range().start()), now + 0.5]);
        if let Some([low, high]) = limits {
            self.number_of("lower limit", "from", "", low, field());
            self.number_of("upper limit", "to", "", high, field());
            if low > high {
                std::mem::swap(low, high);
            }
        }
    }

    fn angles(&mut self, limits: &mut Option<[f32; 2]>, now: f32) {
        self.option("limits", LIMITS_HINT, limits, || [now.min(0.0) - 0.5, now.max(0.0) + 0.5]);
        if let Some([low, high]) = limits {
            self.angle("lower limit", "from", "", low);
            self.angle("upper limit", "to", "", high);
            if low > high {
                std::mem::swap(low, high);
            }
        }
    }

    fn spring(&mut self, spring: &mut Option<Spring>, turns: bool) {
        self.option("spring", "pulls softly to a position", spring, || Spring {
            hertz: 2.0,
            damping_ratio: 0.2,
            target: 0.0,
        });
        if let Some(spring) = spring {
            self.number_of("frequency of the spring", "frequency", HERTZ_HINT, &mut spring.hertz, HERTZ);
            self.number_of("damping of the spring", "damping", RATIO_HINT, &mut spring.damping_ratio, RATIO);
            if turns {
                self.angle("position of the spring", "position", "to which it pulls", &mut spring.target);
            } else {
                self.number_of("position of the spring", "position", "to which it pulls", &mut spring.target, OFFSET);
            }
        }
    }

    fn spring_range(&mut self, range: &mut Option<[f32; 2]>) {
        let hint = "smallest and largest force of the spring; a negative one pulls together";
        self.option("spring range", hint, range, || [-100.0, 100.0]);
        if let Some([low, high]) = range {
            self.number_of("smallest force", "from", "", low, SIGNED_FORCE);
            self.number_of("largest force", "to", "", high, SIGNED_FORCE);
            if low > high {
                std::mem::swap(low, high);
            }
        }
    }

    /// Shows the settings that joints of a type have, besides [`Self::common`].
    fn of_kind(&mut self, joint: &mut Joint, mass: f32, seen: Option<&JointReading>) {
        let (length, travel, angle) = seen.map_or((1.0, 0.0, 0.0), |seen| (seen.length(), seen.travel, seen.angle));
        match &mut joint.kind {
            JointKind::Distance { length: held, limits, motor } => {
                if let Some(held) = held {
                    self.number("length", "that it keeps", held, LENGTH);
                }
                self.lengths(limits, length, || LENGTH);
                self.motor(motor, false);
            }
            JointKind::Spring { rest_length, stiffness, damping } => {
                if let Some(rest) = rest_length {
                    self.number("rest length", "at which it does not pull", rest, LENGTH);
                }
                self.number("stiffness", "force for each metre of extension", stiffness, STIFFNESS);
                self.number("damping", "force for each m/s of extension", damping, DAMPER);
                if let Some([mut hertz, mut ratio]) = spring_swing(mass, *stiffness, *damping) {
                    let (before, hint) = ([hertz, ratio], format!("{HERTZ_HINT}; the stiffness is m (2π f)²"));
                    self.number_of("frequency", "= frequency", &hint, &mut hertz, HERTZ);
                    self.number_of("damping ratio", "= ratio", RATIO_HINT, &mut ratio, RATIO);
                    if [hertz, ratio] != before {
                        [*stiffness, *damping] = spring_constants(mass, hertz, ratio);
                    }
                    let text = format!("for the effective mass of its bodies, {} kg", amount(mass));
                    self.ui.label(RichText::new(text).weak().small());
                }
            }
            JointKind::Revolute { limits, motor, spring, .. } => {
                self.angles(limits, angle);
                self.motor(motor, true);
                self.spring(spring, true);
            }
            JointKind::Prismatic { limits, motor, spring, .. } => {
                self.lengths(limits, travel, || OFFSET);
                self.motor(motor, false);
                self.spring(spring, false);
            }
            JointKind::Wheel { limits, motor, spring, .. } => {
                self.lengths(limits, travel, || OFFSET);
                self.motor(motor, true);
                self.spring(spring, false);
            }
            JointKind::Weld { angular_hertz, angular_damping_ratio, .. } => {
                self.option("soft angle", "lets the angle give way", angular_hertz, || 5.0);
                if let Some(hertz) = angular_hertz {
                    self.number_of("frequency of the angle", "frequency", HERTZ_HINT, hertz, HERTZ);
                    let mut ratio = angular_damping_ratio.unwrap_or(2.0);
                    let before = ratio;
                    self.number_of("damping of the angle", "damping", RATIO_HINT, &mut ratio, RATIO);
                    if ratio != before {
                        *angular_damping_ratio = Some(ratio);
                    }
                }
            }
            JointKind::Motor { linear_offset, angular_offset, max_force, max_torque } => {
                self.number_of("offset", "offset x", "of B from A", &mut linear_offset.x, OFFSET);
                self.number_of("offset y", "offset y", "of B from A", &mut linear_offset.y, OFFSET);
                self.angle("angle", "angle", "of B against A", angular_offset);
                self.number_of("largest force", "force", "largest", max_force, FORCE);
                self.number_of("largest torque", "torque", "largest", max_torque, TORQUE);
            }
            JointKind::Velocity { axis, velocity, angular_velocity, max_force, max_torque } => {
                if let Some(axis) = axis {
                    let (mut speed, before) = (velocity.dot(*axis), velocity.dot(*axis));
                    self.number_of("speed", "speed", "of B against A, along the axis", &mut speed, METRES_A_SECOND);
                    if speed != before {
                        *velocity = *axis * speed;
                    }
                } else {
                    self.number_of("velocity", "velocity x", "of B against A", &mut velocity.x, METRES_A_SECOND);
                    self.number_of("velocity y", "velocity y", "of B against A", &mut velocity.y, METRES_A_SECOND);
                }
                self.number_of("spin", "spin", "of B against A", angular_velocity, TURNING);
                self.number_of("largest force", "force", "largest", max_force, FORCE);
                self.number_of("largest torque", "torque", "largest", max_torque, TORQUE);
            }
            JointKind::Gear { ratio } => {
                let hint = "turns of B for a turn of A; negative for wheels whose teeth meet";
                self.number("ratio", hint, ratio, GEAR_RATIO);
                *ratio = ratio.abs().max(MIN_GEAR_RATIO).copysign(*ratio);
            }
            JointKind::Pulley { ground_a, ground_b, ratio, length } => {
                self.number("ratio", "B is pulled with this times the force on A", ratio, PULLEY_RATIO);
                if let Some(length) = length {
                    self.number("length", "of the rope: A's side and the ratio times B's side", length, LENGTH);
                }
                let hint = "over which the rope goes";
                self.number_of("point of A", "point of A, x", hint, &mut ground_a.x, OFFSET);
                self.number_of("y of the point of A", "y", hint, &mut ground_a.y, OFFSET);
                self.number_of("point of B", "point of B, x", hint, &mut ground_b.x, OFFSET);
                self.number_of("y of the point of B", "y", hint, &mut ground_b.y, OFFSET);
            }
            JointKind::Mouse { max_force, .. } => {
                self.number_of("largest force", "force", "largest", max_force, FORCE);
            }
        }
    }

    /// Shows the settings that all joints have.
    fn common(&mut self, joint: &mut Joint, mass: f32) {
        if !matches!(
            joint.kind,
            JointKind::Spring { .. } | JointKind::Motor { .. } | JointKind::Velocity { .. } | JointKind::Pulley { .. }
        ) {
            let hint = "gives way as a spring of this frequency; without it the joint is as good as rigid";
            self.option("soft", hint, &mut joint.hertz, || 5.0);
            if let Some(hertz) = &mut joint.hertz {
                self.number_of("frequency", "frequency", HERTZ_HINT, hertz, HERTZ);
                let mut ratio = joint.damping_ratio.unwrap_or(2.0);
                let before = ratio;
                self.number_of("damping", "damping", RATIO_HINT, &mut ratio, RATIO);
                if ratio != before {
                    joint.damping_ratio = Some(ratio);
                }
                if mass > 0.0 {
                    let [stiffness, damping] = spring_constants(mass, *hertz, ratio);
                    let text = format!("= {} N/m, {} N·s/m", amount(stiffness), amount(damping));
                    self.ui.label(RichText::new(text).weak().small());
                }
            }
        }
        if has_spring(joint) {
            self.spring_range(&mut joint.spring_range);
        } else {
            joint.spring_range = None;
        }
        self.option("breaks by force", "breaks when it pulls with more", &mut joint.break_force, || 100.0);
        if let Some(force) = &mut joint.break_force {
            self.number_of("breaking force", "above", "", force, FORCE);
        }
        self.option("breaks by torque", "breaks when it turns with more", &mut joint.break_torque, || 100.0);
        if let Some(torque) = &mut joint.break_torque {
            self.number_of("breaking torque", "above", "", torque, TORQUE);
        }
        self.switch("bodies collide", "its two bodies collide with each other", &mut joint.collide);
        self.switch("on", "a joint that is off does not act", &mut joint.enabled);
    }
}

/// Shows the fields of a joint; returns the joint as the user has changed it, with the name of the setting.
fn settings_ui(
    ui: &mut egui::Ui,
    joint: &Joint,
    mass: f32,
    seen: Option<&JointReading>,
) -> Option<(&'static str, Joint)> {
    let mut new = joint.clone();
    let mut fields = Fields { ui, changed: None };
    fields.of_kind(&mut new, mass, seen);
    fields.common(&mut new, mass);
    fields.changed.map(|what| (what, new))
}

/// Shows a link in the colour of strong text, as the accent has too little contrast for letters.
fn link(ui: &mut egui::Ui, text: RichText) -> egui::Response {
    let color = ui.visuals().strong_text_color();
    ui.link(text.underline().color(color))
}

/// Title of a joint: its name, or its type and index.
pub(super) fn title(joint: &Joint, id: JointId) -> String {
    joint.id.clone().unwrap_or_else(|| format!("{} {}", kind_words(joint), id.index))
}

impl App {
    /// Shows the settings of the selected joint, in fields that change them.
    pub(super) fn joint_card(&mut self, ui: &mut egui::Ui) {
        let Some(selection) = &self.build.joint else { return };
        let JointSelection { id, now, bodies, names, mass, seen, .. } = selection;
        let (mut asked, mut choice) = (None, None);
        ui.push_id(("joint", id.index, id.generation), |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(title(now, *id)).strong());
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if ui.small_button("✖").on_hover_text("deselect (Esc)").clicked() {
                        choice = Some(Action::Select(SelectionRequest::Nothing));
                    }
                    if ui.small_button("🗑").on_hover_text("remove this joint (Delete; Z undoes it)").clicked() {
                        choice = Some(Action::Remove(None));
                    }
                });
            });
            let kind = kind_words(now);
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                ui.label(format!("{kind} between"));
                for (at, (body, name)) in bodies.iter().zip(names).enumerate() {
                    if at == 1 {
                        ui.label("and");
                    }
                    match body {
                        Some(body) => {
                            if link(ui, RichText::new(name)).on_hover_text("select this body").clicked() {
                                choice = Some(Action::Select(SelectionRequest::Body(*body)));
                            }
                        }
                        None => _ = ui.label(name),
                    }
                }
            });
            if let Some(seen) = seen {
                let force = format!("force {} N, torque {} N·m", amount(seen.force.length()), amount(seen.torque));
                ui.label(RichText::new(measure(kind, seen)).small());
                ui.label(RichText::new(force).small()).on_hover_text("on the second body, in the last substep");
            }
            asked = settings_ui(ui, now, *mass, seen.as_ref());
        });
        if let Some(action) = choice.or(asked.map(|(what, joint)| Action::ChangeJoint(what, Box::new(joint)))) {
            self.ask_for(action);
        }
    }

    /// Shows links to the joints of the selected body.
    pub(super) fn joints_of_body(&mut self, ui: &mut egui::Ui) {
        /// Maximum number of links.
        const MOST: usize = 12;
        let Some(selection) = &self.build.selection else { return };
        let (joints, own) = (&selection.now.joints, selection.id.index as usize);
        if joints.is_empty() {
            return;
        }
        let mut choice = None;
        ui.label(RichText::new(format!("held by {}", super::count(joints.len() as u64, "joint"))).weak().small());
        for (id, joint) in joints.iter().take(MOST) {
            let other = if joint.b == own { joint.a } else { Some(joint.b) };
            let text = format!("{} to {}", kind_words(joint), self.body_name(other));
            if link(ui, RichText::new(text).small()).on_hover_text("select this joint").clicked() {
                choice = Some(Action::Select(SelectionRequest::Joint(*id)));
            }
        }
        if joints.len() > MOST {
            ui.label(RichText::new(format!("and {} more", joints.len() - MOST)).weak().small());
        }
        if let Some(action) = choice {
            self.ask_for(action);
        }
    }

    /// Shows marks on the joint under the pointer and the selected one.
    pub(super) fn joint_marks(&self, painter: &egui::Painter, ui: &egui::Ui, scale: f32) {
        let Some(camera) = split(&self.camera, self.worlds()).first().copied() else { return };
        let selected = self.build.joint.as_ref().and_then(|selection| selection.seen.as_ref());
        let hovered = self.told_joint().and_then(|(over, _)| over.reading.as_ref());
        let color = ui.visuals().hyperlink_color;
        for (reading, width) in selected.map(|reading| (reading, 3.0)).into_iter().chain(hovered.map(|r| (r, 1.5))) {
            let to_pos = |at: Vec2| {
                let pixel: Vec2 = camera.to_pixel(at);
                Pos2::new(pixel.x / scale, pixel.y / scale)
            };
            let [a, b] = reading.anchors.map(to_pos);
            let over = reading.ground_points.into_iter().flatten().map(to_pos);
            let line = std::iter::once(a).chain(over).chain([b]).collect();
            painter.line(line, Stroke::new(width, color.gamma_multiply(0.7)));
            for at in [a, b] {
                painter.circle_stroke(at, 9.0, Stroke::new(width, color));
            }
        }
    }

    /// Shows facts about the joint under the pointer; returns false if there is none.
    pub(super) fn joint_plate(&self, painter: &egui::Painter, ui: &egui::Ui, rect: egui::Rect, scale: f32) -> bool {
        let Some((over, pixel)) = self.told_joint() else { return false };
        let lines = self.joint_lines(over);
        if lines.is_empty() {
            return false;
        }
        let near = Pos2::new(pixel.x / scale, pixel.y / scale);
        let (flip, up) = (near.x + 250.0 > rect.right(), near.y + 130.0 > rect.bottom());
        let at = near + vec2(if flip { -16.0 } else { 16.0 }, if up { -12.0 } else { 18.0 });
        let align = match (flip, up) {
            (false, false) => Align2::LEFT_TOP,
            (true, false) => Align2::RIGHT_TOP,
            (false, true) => Align2::LEFT_BOTTOM,
            (true, true) => Align2::RIGHT_BOTTOM,
        };
        plate(painter, ui, at, align, &lines.join("\n"));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::{hover_texts, shown_texts};
    use super::*;

    const SIZE: egui::Vec2 = vec2(260.0, 700.0);

    fn texts(joint: &Joint, mass: f32) -> Vec<String> {
        shown_texts(SIZE, |ui| _ = settings_ui(ui, joint, mass, None))
    }

    /// The card of a spring shows stiffness and damping in N/m and N·s/m, and the frequency that follows: 3 kg on
    /// 473.741 N/m swing at 2 Hz.
    #[test]
    fn a_spring_has_both_kinds_of_constants() {
        let spring = Joint::to_world(JointKind::spring(473.741, 18.85), 0);
        let shown = texts(&spring, 3.0);
        for wanted in
            ["stiffness", "damping", "= frequency", "= ratio", "473.741", " N/m", "18.85", " N·s/m", "2.00", " Hz"]
        {
            assert!(shown.iter().any(|text| text == wanted), "{wanted}: {shown:?}");
        }
        // Without a mass there is no frequency.
        assert!(!texts(&spring, 0.0).iter().any(|text| text.contains("Hz")));
    }

    /// Each type has its own settings, and switches for those that are absent.
    #[test]
    fn each_type_has_its_settings() {
        let motor = Some(Motor { speed: 2.5, max: 40.0 });
        let hinge = JointKind::Revolute { reference_angle: None, limits: Some([0.0, 1.0]), motor, spring: None };
        let shown = texts(&Joint::to_world(hinge, 0), 1.0);
        for wanted in
            ["limits", "from", "to", "57.296", "motor", "2.50", " rad/s", "40.0", " N·m", "spring", "soft", "on"]
        {
            assert!(shown.iter().any(|text| text == wanted), "{wanted}: {shown:?}");
        }
        assert!(!shown.iter().any(|text| text == "position"), "without a spring there is no position: {shown:?}");
        let shown = texts(&Joint::to_world(JointKind::rope(2.0), 0), 1.0);
        assert!(shown.contains(&"2.00".to_owned()), "{shown:?}");
        assert!(!shown.contains(&"length".to_owned()), "a rope has no length of its own: {shown:?}");
        let hover = hover_texts(SIZE, "bodies collide", |ui| {
            settings_ui(ui, &Joint::to_world(JointKind::rod(), 0), 1.0, None);
        });
        assert_eq!(hover, ["its two bodies collide with each other"]);
    }
}
