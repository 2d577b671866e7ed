//! Writes a [`Scene`] as text: keys in a fixed order, defaults left out, one body or joint per line.

use glam::{DVec2, Vec2};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::joint_records::{JointType, MotorRecord, SpringRecord};
use super::records::{
    BoxRecord, Capsule, FieldRecord, FilterRecord, HalfPlane, Link, PathRecord, PointField, Polygon, Round, Segment,
    ViewRecord,
};
use super::values::{Named, Pair, Place, TextLines, Word};
use drystone::low_level::scene::{ContactRule, MAX_VALUE, Units};
use drystone::low_level::types::join_position;
use drystone::{
    Body, Emitter, Field, Geometry, Joint, JointKind, Motor, NamedMaterial, Path, Scene, Settings, Shape, Spring,
    ViewBox,
};

/// Writes the scene as readable JSON. Deterministic; `parse` restores the same scene, to the last bit of every number.
/// Defaults are left out.
///
/// An invalid scene ([`Scene::check`]) is written too, but may not be readable: NaN and infinities, which JSON lacks,
/// become `null`.
#[must_use]
pub fn write_json(scene: &Scene) -> String {
    let mut entries = vec![
        format!("\"version\": {}", super::VERSION),
        format!("\"name\": {}", json(&scene.name)),
        format!("\"gravity\": {}", json(&Pair(scene.gravity))),
    ];
    if let Some(settings) = GivenSettings::of(scene) {
        entries.push(format!("\"settings\": {}", json(&settings)));
    }
    if let Some(view) = &scene.view {
        entries.push(format!("\"view\": {}", json(&Out(view))));
    }
    if !scene.materials.is_empty() {
        entries.push(json_lines("materials", &out(&scene.materials)));
    }
    if !scene.material_pairs.is_empty() {
        entries.push(json_lines("material_pairs", &out(&scene.material_pairs)));
    }
    entries.push(json_lines("bodies", &among(&scene.bodies, &scene.materials)));
    if !scene.joints.is_empty() {
        entries.push(json_lines("joints", &out(&scene.joints)));
    }
    if !scene.fields.is_empty() {
        entries.push(json_lines("fields", &out(&scene.fields)));
    }
    if !scene.emitters.is_empty() {
        entries.push(json_lines("emitters", &among(&scene.emitters, &scene.materials)));
    }
    if !scene.timeline.is_empty() {
        entries.push(json_lines("timeline", &out(&scene.timeline)));
    }
    if let Some(rule) = &scene.contact_rule {
        entries.push(format!("\"contact_rule\": {}", json(&lines(rule))));
    }
    format!("{{\n  {}\n}}\n", entries.join(",\n  "))
}

/// Writes materials as the JSON list that a scene file has, for texts with bodies that name them.
#[must_use]
pub fn write_materials(materials: &[NamedMaterial]) -> String {
    json(&out(materials))
}

/// Writes the scene as readable RON. Deterministic, with defaults left out. NaN and infinities are kept, and rejected
/// by [`Scene::check`].
#[must_use]
pub fn write_ron(scene: &Scene) -> String {
    let config = ron::ser::PrettyConfig::new().depth_limit(2).new_line("\n").struct_names(false);
    // Writing to a string fails only for types and names that RON lacks; none of these are used here.
    let written = super::ron_options().to_string_pretty(&Out(scene), config);
    debug_assert!(written.is_ok(), "{written:?}");
    let mut text = written.unwrap_or_default();
    text.push('\n');
    text
}

/// Writes a list, one element per line.
fn json_lines<T: Serialize>(key: &str, list: &[T]) -> String {
    let lines: Vec<String> = list.iter().map(|element| format!("\n    {}", json(element))).collect();
    let last_line = if lines.is_empty() { "" } else { "\n  " };
    format!("\"{key}\": [{}{last_line}]", lines.join(","))
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    // Neither writing to memory nor these types can fail.
    let written = value.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "{written:?}");
    String::from_utf8(bytes).unwrap_or_default()
}

/// Formatter that writes on one line, with spaces.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        writer.write_all(if first { b" " } else { b", " })
    }
    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
    fn end_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b" }")
    }
}

/// Serialisation wrapper of a part of the model.
pub(super) struct Out<'a, T>(pub &'a T);

/// Serialisation wrapper of a part of the model with shapes, and the materials of the scene, which have names.
struct Among<'a, T>(&'a T, &'a [NamedMaterial]);

/// Wraps each element of a list.
fn out<T>(list: &[T]) -> Vec<Out<'_, T>> {
    list.iter().map(Out).collect()
}

/// Wraps each element of a list, with the materials of the scene.
fn among<'a, T>(list: &'a [T], materials: &'a [NamedMaterial]) -> Vec<Among<'a, T>> {
    list.iter().map(|part| Among(part, materials)).collect()
}

/// Bitwise equality, so that −0 does not count as the default 0.
trait Same {
    fn same(&self, other: &Self) -> bool;
}

impl Same for f32 {
    fn same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl Same for Vec2 {
    fn same(&self, other: &Self) -> bool {
        self.x.same(&other.x) && self.y.same(&other.y)
    }
}

impl Same for bool {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Writer for the keys of one object; omits those with default values.
pub(super) struct ObjectKeys<S>(pub S);

impl<S: SerializeStruct> ObjectKeys<S> {
    pub fn number(&mut self, key: &'static str, value: f32, default: f32) -> Result<(), S::Error> {
        if value.same(&default) { Ok(()) } else { self.0.serialize_field(key, &value) }
    }
    fn pair(&mut self, key: &'static str, value: Vec2, default: Vec2) -> Result<(), S::Error> {
        if value.same(&default) { Ok(()) } else { self.0.serialize_field(key, &Pair(value)) }
    }
    fn switch(&mut self, key: &'static str, value: bool, default: bool) -> Result<(), S::Error> {
        if value.same(&default) { Ok(()) } else { self.0.serialize_field(key, &value) }
    }
    fn word<T: Word>(&mut self, key: &'static str, value: T, default: T) -> Result<(), S::Error> {
        if value == default { Ok(()) } else { self.0.serialize_field(key, &Named(value)) }
    }
    pub fn given<T: Serialize>(&mut self, key: &'static str, value: Option<&T>) -> Result<(), S::Error> {
        value.map_or(Ok(()), |value| self.0.serialize_field(key, value))
    }
}

/// Settings of a scene and the length of a step that its file has if it says none, s.
struct GivenSettings<'a>(&'a Settings, f32);

impl<'a> GivenSettings<'a> {
    /// Returns the settings of a scene; `None` if all are at their defaults.
    fn of(scene: &'a Scene) -> Option<Self> {
        let (settings, dt) = (&scene.settings, Units::of(scene).fitting_dt());
        let default = Settings { dt, ..Settings::default() };
        let all_default = *settings == default
            && settings.baumgarte.same(&default.baumgarte)
            && settings.contact_damping_ratio.same(&default.contact_damping_ratio);
        (!all_default).then_some(Self(settings, dt))
    }
}

/// Returns the WGSL of a rule as a file has it.
fn lines(rule: &ContactRule) -> TextLines {
    TextLines(rule.wgsl().to_owned())
}

impl Serialize for Out<'_, Scene> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let scene = self.0;
        let mut keys = serializer.serialize_struct("Scene", 13)?;
        keys.serialize_field("version", &super::VERSION)?;
        keys.serialize_field("name", &scene.name)?;
        keys.serialize_field("gravity", &Pair(scene.gravity))?;
        if let Some(settings) = GivenSettings::of(scene) {
            keys.serialize_field("settings", &settings)?;
        }
        if let Some(view) = &scene.view {
            keys.serialize_field("view", &Out(view))?;
        }
        if !scene.materials.is_empty() {
            keys.serialize_field("materials", &out(&scene.materials))?;
        }
        if !scene.material_pairs.is_empty() {
            keys.serialize_field("material_pairs", &out(&scene.material_pairs))?;
        }
        keys.serialize_field("bodies", &among(&scene.bodies, &scene.materials))?;
        if !scene.joints.is_empty() {
            keys.serialize_field("joints", &out(&scene.joints))?;
        }
        if !scene.fields.is_empty() {
            keys.serialize_field("fields", &out(&scene.fields))?;
        }
        if !scene.emitters.is_empty() {
            keys.serialize_field("emitters", &among(&scene.emitters, &scene.materials))?;
        }
        if !scene.timeline.is_empty() {
            keys.serialize_field("timeline", &out(&scene.timeline))?;
        }
        if let Some(rule) = &scene.contact_rule {
            keys.serialize_field("contact_rule", &lines(rule))?;
        }
        keys.end()
    }
}

impl Serialize for Out<'_, ViewBox> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ViewBox { min, max } = *self.0;
        ViewRecord { min: Pair(min), max: Pair(max) }.serialize(serializer)
    }
}

impl Serialize for Out<'_, Field> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Field { position, force, acceleration, core } = *self.0;
        FieldRecord { point: PointField { position: Pair(position), force, acceleration, core } }.serialize(serializer)
    }
}

impl Serialize for Among<'_, Emitter> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Emitter { bodies, joints, start, every, count, keep, lifetime } = self.0;
        let mut keys = ObjectKeys(serializer.serialize_struct("Emitter", 7)?);
        keys.given("start", Some(start).filter(|&&start| start > 0))?;
        keys.given("every", every.as_ref())?;
        keys.given("count", count.as_ref())?;
        keys.given("keep", keep.as_ref())?;
        keys.given("lifetime", lifetime.as_ref())?;
        keys.0.serialize_field("bodies", &among(bodies, self.1))?;
        if !joints.is_empty() {
            keys.0.serialize_field("joints", &out(joints))?;
        }
        keys.0.end()
    }
}

impl Serialize for GivenSettings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (s, d) = (self.0, Settings::default());
        let mut keys = ObjectKeys(serializer.serialize_struct("Settings", 21)?);
        keys.number("dt", s.dt, self.1)?;
        keys.given("substeps", s.substeps.as_ref())?;
        keys.given("iterations", s.iterations.as_ref())?;
        keys.given("length_unit", s.length_unit.as_ref())?;
        keys.word("mode", s.mode, d.mode)?;
        keys.switch("relax", s.relax, d.relax)?;
        keys.switch("warm_start", s.warm_start, d.warm_start)?;
        keys.switch("initial_loads", s.initial_loads, d.initial_loads)?;
        keys.switch("mass_scaling", s.mass_scaling, d.mass_scaling)?;
        keys.switch("accumulate", s.accumulate, d.accumulate)?;
        keys.number("baumgarte", s.baumgarte, d.baumgarte)?;
        keys.given("contact_hertz", s.contact_hertz.as_ref())?;
        keys.number("contact_damping_ratio", s.contact_damping_ratio, d.contact_damping_ratio)?;
        keys.given("push_speed", s.push_speed.as_ref())?;
        keys.given("slop", s.slop.as_ref())?;
        keys.switch("correct_position", s.correct_position, d.correct_position)?;
        keys.switch("recycle", s.recycle, d.recycle)?;
        keys.switch("continuous", s.continuous, d.continuous)?;
        keys.given("restitution_threshold", s.restitution_threshold.as_ref())?;
        keys.word("restitution_mix", s.restitution_mix, d.restitution_mix)?;
        keys.word("friction_mix", s.friction_mix, d.friction_mix)?;
        keys.given("max_speed", s.max_speed.as_ref())?;
        keys.given("max_spin", s.max_spin.as_ref())?;
        keys.switch("strict", s.strict, d.strict)?;
        keys.switch("events", s.events, d.events)?;
        keys.switch("sleep", s.sleep, d.sleep)?;
        keys.0.end()
    }
}

/// Materials are written by their index, and all values that are not the default are written.
impl Serialize for Out<'_, Body> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Among(self.0, &[]).serialize(serializer)
    }
}

impl Serialize for Among<'_, Body> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (b, d) = (self.0, Body::default());
        let mut keys = ObjectKeys(serializer.serialize_struct("Body", 21)?);
        keys.given("id", b.id.as_ref())?;
        keys.0.serialize_field("type", &Named(b.kind))?;
        let place = join_position([b.position, b.position_low]);
        if place != DVec2::ZERO {
            keys.0.serialize_field("position", &Place(place))?;
        }
        keys.number("angle", b.angle, d.angle)?;
        keys.pair("velocity", b.velocity, d.velocity)?;
        keys.number("angular_velocity", b.angular_velocity, d.angular_velocity)?;
        keys.number("gravity_scale", b.gravity_scale, d.gravity_scale)?;
        keys.number("linear_damping", b.linear_damping, d.linear_damping)?;
        keys.number("angular_damping", b.angular_damping, d.angular_damping)?;
        keys.switch("fixed_rotation", b.fixed_rotation, d.fixed_rotation)?;
        keys.switch("bullet", b.bullet, d.bullet)?;
        keys.switch("can_sleep", b.can_sleep, d.can_sleep)?;
        keys.given("sleep_speed", b.sleep_speed.as_ref())?;
        keys.pair("force", b.force, d.force)?;
        keys.given("force_point", b.force_point.map(Pair).as_ref())?;
        keys.number("torque", b.torque, d.torque)?;
        keys.given("mass", b.mass.as_ref())?;
        keys.given("inertia", b.inertia.as_ref())?;
        let path = b.path.map(|Path { amplitude, turn, rate, phase }| PathRecord {
            amplitude: Pair(amplitude),
            turn,
            rate,
            phase,
        });
        keys.given("path", path.as_ref())?;
        keys.given("color_index", b.color_index.as_ref())?;
        keys.given("user_data", Some(&b.user_data).filter(|number| **number != d.user_data))?;
        keys.0.serialize_field("shapes", &among(&b.shapes, self.1))?;
        keys.0.end()
    }
}

impl Serialize for Out<'_, Shape> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Among(self.0, &[]).serialize(serializer)
    }
}

impl Serialize for Among<'_, Shape> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let s = self.0;
        let d = Shape::new(s.geometry.clone());
        let mut keys = ObjectKeys(serializer.serialize_struct("Shape", 12)?);
        match &s.geometry {
            &Geometry::Circle { radius } => keys.0.serialize_field("circle", &Round { radius })?,
            &Geometry::Box { half, radius } => {
                keys.0.serialize_field("box", &BoxRecord { half: Pair(half), radius })?;
            }
            &Geometry::Capsule { a, b, radius } => {
                keys.0.serialize_field("capsule", &Capsule { a: Pair(a), b: Pair(b), radius })?;
            }
            Geometry::Polygon { points, radius } => {
                let points = points.iter().copied().map(Pair).collect();
                keys.0.serialize_field("polygon", &Polygon { points, radius: *radius })?;
            }
            &Geometry::Segment { a, b } => {
                keys.0.serialize_field("segment", &Segment { a: Pair(a), b: Pair(b) })?;
            }
            &Geometry::Link { a, b, before, after } => {
                let link = Link { a: Pair(a), b: Pair(b), before: before.map(Pair), after: after.map(Pair) };
                keys.0.serialize_field("link", &link)?;
            }
            &Geometry::HalfPlane { normal, offset } => {
                keys.0.serialize_field("half_plane", &HalfPlane { normal: Pair(normal), offset })?;
            }
            &Geometry::Particle { radius } => keys.0.serialize_field("particle", &Round { radius })?,
        }
        keys.pair("offset", s.offset, d.offset)?;
        keys.number("rotation", s.rotation, d.rotation)?;
        keys.number("density", s.density, d.density)?;
        keys.material(&s.material, self.1)?;
        if s.filter != d.filter {
            let drystone::Filter { category, mask, group } = s.filter;
            keys.0.serialize_field("filter", &FilterRecord { category, mask, group })?;
        }
        keys.switch("sensor", s.sensor, d.sensor)?;
        keys.switch("one_way", s.one_way, d.one_way)?;
        keys.0.end()
    }
}

impl Serialize for Out<'_, Joint> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let j = self.0;
        let mut keys = ObjectKeys(serializer.serialize_struct("Joint", 24)?);
        keys.given("id", j.id.as_ref())?;
        keys.0.serialize_field("type", &Named(JointType::of(&j.kind)))?;
        keys.given("a", j.a.as_ref())?;
        keys.0.serialize_field("b", &j.b)?;
        keys.pair("anchor_a", j.anchor_a, Vec2::ZERO)?;
        keys.pair("anchor_b", j.anchor_b, Vec2::ZERO)?;
        keys.switch("collide", j.collide, false)?;
        keys.kind(&j.kind)?;
        keys.given("hertz", j.hertz.as_ref())?;
        keys.given("damping_ratio", j.damping_ratio.as_ref())?;
        keys.given("break_force", j.break_force.as_ref())?;
        keys.given("break_torque", j.break_torque.as_ref())?;
        keys.given("spring_range", j.spring_range.as_ref())?;
        keys.switch("enabled", j.enabled, true)?;
        keys.0.end()
    }
}

impl<S: SerializeStruct> ObjectKeys<S> {
    /// Writes the keys of one type of joint.
    fn kind(&mut self, kind: &JointKind) -> Result<(), S::Error> {
        match kind {
            JointKind::Distance { length, limits, motor } => {
                self.given("length", length.as_ref())?;
                self.given("limits", limits.as_ref())?;
                self.motor(*motor)
            }
            JointKind::Spring { rest_length, stiffness, damping } => {
                self.given("rest_length", rest_length.as_ref())?;
                self.0.serialize_field("stiffness", stiffness)?;
                self.number("damping", *damping, 0.0)
            }
            JointKind::Revolute { reference_angle, limits, motor, spring } => {
                self.given("reference_angle", reference_angle.as_ref())?;
                self.given("limits", limits.as_ref())?;
                self.motor(*motor)?;
                self.spring(*spring)
            }
            JointKind::Prismatic { axis, reference_angle, limits, motor, spring } => {
                self.0.serialize_field("axis", &Pair(*axis))?;
                self.given("reference_angle", reference_angle.as_ref())?;
                self.given("limits", limits.as_ref())?;
                self.motor(*motor)?;
                self.spring(*spring)
            }
            JointKind::Wheel { axis, limits, motor, spring } => {
                self.0.serialize_field("axis", &Pair(*axis))?;
                self.given("limits", limits.as_ref())?;
                self.motor(*motor)?;
                self.spring(*spring)
            }
            JointKind::Weld { reference_angle, angular_hertz, angular_damping_ratio } => {
                self.given("reference_angle", reference_angle.as_ref())?;
                self.given("angular_hertz", angular_hertz.as_ref())?;
                self.given("angular_damping_ratio", angular_damping_ratio.as_ref())
            }
            JointKind::Motor { linear_offset, angular_offset, max_force, max_torque } => {
                self.pair("linear_offset", *linear_offset, Vec2::ZERO)?;
                self.number("angular_offset", *angular_offset, 0.0)?;
                self.number("max_force", *max_force, MAX_VALUE)?;
                self.number("max_torque", *max_torque, MAX_VALUE)
            }
            JointKind::Velocity { axis, velocity, angular_velocity, max_force, max_torque } => {
                self.given("axis", axis.map(Pair).as_ref())?;
                self.pair("velocity", *velocity, Vec2::ZERO)?;
                self.number("angular_velocity", *angular_velocity, 0.0)?;
                self.number("max_force", *max_force, MAX_VALUE)?;
                self.number("max_torque", *max_torque, MAX_VALUE)
            }
            JointKind::Gear { ratio } => self.0.serialize_field("ratio", ratio),
            JointKind::Pulley { ground_a, ground_b, ratio, length } => {
                self.0.serialize_field("ground_a", &Pair(*ground_a))?;
                self.0.serialize_field("ground_b", &Pair(*ground_b))?;
                self.number("ratio", *ratio, 1.0)?;
                self.given("length", length.as_ref())
            }
            JointKind::Mouse { target, max_force } => {
                self.0.serialize_field("target", &Pair(*target))?;
                self.number("max_force", *max_force, MAX_VALUE)
            }
        }
    }

    fn motor(&mut self, motor: Option<Motor>) -> Result<(), S::Error> {
        self.given("motor", motor.map(MotorRecord::from).as_ref())
    }

    fn spring(&mut self, spring: Option<Spring>) -> Result<(), S::Error> {
        self.given("spring", spring.map(SpringRecord::from).as_ref())
    }
}
