//! Checks of a scene: the range of every value, and the values that go together. Errors name the place by its path in a
//! scene file.

pub(crate) mod joint;
pub(crate) mod material;
pub(crate) mod shape;

use std::collections::HashMap;
use std::fmt::{self, Arguments};

use glam::Vec2;

use super::compile::mass::{mass_properties, never_turns};
use super::emitter::most;
use super::timeline::check_timeline;
use super::{Body, BodyType, Emitter, Geometry, Joint, Path, Scene, Settings, ViewBox};
pub use crate::constants::{
    MAX_ANGLE, MAX_BODIES, MAX_DT, MAX_EMITTERS, MAX_HERTZ, MAX_ITERATIONS, MAX_JOINTS, MAX_LENGTH, MAX_NAME,
    MAX_OUTLINE_CORNERS, MAX_POSITION, MAX_SHAPES, MAX_SUBSTEPS, MAX_TIMED_COMMANDS, MAX_VALUE, MIN_DT, MIN_LENGTH,
    UNIT_TOLERANCE,
};
use crate::types::{self, MAX_FIELDS};
use joint::JointBodies;
pub use joint::has_spring;
use material::check_materials_of;

/// Error of a scene: the path of the value, what it is, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}; expected {expected}")]
pub struct SceneError {
    /// JSON path, such as `bodies[3].shapes[0].box.half[1]`.
    pub path: String,
    /// Problem found there, such as `is -1`.
    pub problem: String,
    /// Value that was expected.
    pub expected: String,
}

impl SceneError {
    /// Returns the error of a value: its path, the problem, and the expected value.
    pub fn new(path: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into(), expected: expected.into() }
    }

    /// Returns the error with `part` before its path.
    #[must_use]
    pub fn within(self, part: &str) -> Self {
        Self { path: format!("{part}.{}", self.path), ..self }
    }
}

/// Range of a number, with its name and unit for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    min: f32,
    max: f32,
    /// True if `min` itself is out of range.
    above: bool,
    /// Name of the quantity, for the message.
    what: &'static str,
    unit: &'static str,
}

impl Range {
    const fn new(what: &'static str, min: f32, max: f32, unit: &'static str) -> Self {
        Self { min, max, above: false, what, unit }
    }

    const fn above(what: &'static str, min: f32, max: f32, unit: &'static str) -> Self {
        Self { min, max, above: true, what, unit }
    }

    pub(crate) fn check(&self, value: f32, path: Arguments<'_>) -> Result<(), SceneError> {
        let low = if self.above { value > self.min } else { value >= self.min };
        if low && value <= self.max {
            return Ok(());
        }
        let problem = if value.is_nan() {
            "is not a number (NaN)".to_owned()
        } else if value.is_infinite() {
            "is infinite".to_owned()
        } else {
            format!("is {}", show(value))
        };
        Err(SceneError::new(path.to_string(), problem, self.to_string()))
    }

    pub(crate) fn check_pair(&self, value: Vec2, path: Arguments<'_>) -> Result<(), SceneError> {
        self.check(value.x, format_args!("{path}[0]"))?;
        self.check(value.y, format_args!("{path}[1]"))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.unit.is_empty() { "" } else { " " };
        match (self.above, self.max < f32::MAX) {
            (true, false) => write!(f, "{} above {}{gap}{}", self.what, show(self.min), self.unit),
            (true, true) => {
                write!(f, "{} above {}, at most {}{gap}{}", self.what, show(self.min), show(self.max), self.unit)
            }
            (_, false) => write!(f, "{} of at least {}{gap}{}", self.what, show(self.min), self.unit),
            (false, true) => write!(f, "{} from {} to {}{gap}{}", self.what, show(self.min), show(self.max), self.unit),
        }
    }
}

/// Returns the shortest form of a number: `0.0001` and `100000`, but `1e15`.
pub(crate) fn show(value: f32) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e7).contains(&size) { format!("{value}") } else { format!("{value:e}") }
}

pub(crate) const LENGTH: Range = Range::new("a length", MIN_LENGTH, MAX_LENGTH, "m");
/// Coordinate of a point in the world.
pub(crate) const POSITION: Range = Range::new("a coordinate", -MAX_POSITION, MAX_POSITION, "m");
/// Coordinate of a point in the frame of a body or of an outline, or a way.
pub(crate) const OFFSET: Range = Range::new("a coordinate", -MAX_LENGTH, MAX_LENGTH, "m");
/// Largest rest of a 32-bit coordinate.
const LOW: Range = Range::new("a rest of a 32-bit coordinate", -1.0, 1.0, "m");
pub(crate) const ANGLE: Range = Range::new("an angle", -MAX_ANGLE, MAX_ANGLE, "rad");
pub(super) const FINITE: Range = Range::new("a number", -MAX_VALUE, MAX_VALUE, "");
const NOT_NEGATIVE: Range = Range::new("a number", 0.0, MAX_VALUE, "");
const ACCELERATION: Range = Range::new("an acceleration", -MAX_VALUE, MAX_VALUE, "m/s²");
pub(crate) const VELOCITY: Range = Range::new("a velocity", -MAX_VALUE, MAX_VALUE, "m/s");
pub(crate) const SPIN: Range = Range::new("an angular velocity", -MAX_VALUE, MAX_VALUE, "rad/s");
const FORCE: Range = Range::new("a force", -MAX_VALUE, MAX_VALUE, "N");
const TORQUE: Range = Range::new("a torque", -MAX_VALUE, MAX_VALUE, "N·m");
pub(super) const DAMPING: Range = Range::new("a damping rate", 0.0, MAX_VALUE, "1/s");
pub(super) const MASS: Range = Range::above("a mass", 0.0, f32::MAX, "kg");
pub(super) const INERTIA: Range = Range::above("a moment of inertia", 0.0, f32::MAX, "kg·m²");
pub(super) const SLEEP_SPEED: Range = Range::above("a speed", 0.0, MAX_VALUE, "m/s");
const DENSITY: Range = Range::above("a density", 0.0, f32::MAX, "kg/m²");
pub(super) const FRICTION: Range = Range::new("a coefficient of friction", 0.0, MAX_VALUE, "");
pub(super) const RESTITUTION: Range = Range::new("a restitution", 0.0, 1.0, "");
const STEP: Range = Range::new("a step above 0,", MIN_DT, MAX_DT, "s");
pub(crate) const SPAN: Range = Range::new("a time", 0.0, MAX_DT, "s");
const CORE: Range = Range::new("a distance", 0.0, MAX_LENGTH, "m");
const RATE: Range = Range::new("a rate", -MAX_ANGLE, MAX_ANGLE, "rad/s");
const SHARE: Range = Range::new("a share", 0.0, 1.0, "");
const SLOP: Range = Range::new("a penetration", 0.0, MAX_LENGTH, "m");
const THRESHOLD: Range = Range::new("a speed", 0.0, MAX_VALUE, "m/s");
const LIMIT_SPEED: Range = Range::above("a speed", 0.0, MAX_VALUE, "m/s");
const LIMIT_SPIN: Range = Range::above("an angular velocity", 0.0, MAX_VALUE, "rad/s");
const STIFFNESS: Range = Range::above("a frequency", 0.0, MAX_HERTZ, "Hz");
const DAMPING_RATIO: Range = Range::above("a damping ratio", 0.0, MAX_HERTZ, "");

/// Checks a gravity for a running world.
///
/// # Errors
/// The coordinate that is NaN or out of range.
pub(crate) fn check_gravity(gravity: Vec2) -> Result<(), SceneError> {
    ACCELERATION.check_pair(gravity, format_args!("gravity"))
}

fn check_view(view: &ViewBox) -> Result<(), SceneError> {
    POSITION.check_pair(view.min, format_args!("view.min"))?;
    POSITION.check_pair(view.max, format_args!("view.max"))?;
    for (axis, (low, high)) in [(view.min.x, view.max.x), (view.min.y, view.max.y)].into_iter().enumerate() {
        if high - low < MIN_LENGTH {
            let least = format!("at least {MIN_LENGTH} m more than view.min[{axis}], which is {}", show(low));
            return Err(SceneError::new(format!("view.max[{axis}]"), format!("is {}", show(high)), least));
        }
    }
    Ok(())
}

impl Scene {
    /// Checks every value against its range. Worlds do this before they start; the scene file does it too.
    ///
    /// Lengths are 1e-5 – 1e5 m, coordinates at most 1e5 m on each axis, angles at most 1e5 rad, frequencies and
    /// damping ratios at most 1e6; velocities, forces and the rest at most 1e15, so that squares stay finite. Mass and
    /// inertia of a dynamic body, and their inverses, must fit an `f32`: one of nothing but segments has to be given
    /// both. A static body's velocity is not used, nor a particle's angular velocity.
    /// A polygon goes round once, counter-clockwise, and each corner is at least 1e-5 m outside the line through its
    /// neighbours. Normals and axes have length 1, to 1e-5 (the scene file normalises others). Half planes are on
    /// static and kinematic bodies; a particle is alone on its body. A joint has at least one dynamic body, the world
    /// counting as static. A distance that limits or a motor leave free has a length only if it has hertz too.
    ///
    /// A view is at least 1e-5 m wide and high.
    ///
    /// Materials have names of their own, each pair of them is given once, with friction or restitution.
    ///
    /// Bodies and joints of an emitter are checked like those of the scene, among themselves. An emitter without end
    /// must remove what it made, and the most bodies that there can be at a time must be within the limits of a scene.
    ///
    /// # Errors
    /// The first value that is out of range, with its JSON path.
    pub fn check(&self) -> Result<(), SceneError> {
        check_name(&self.name, format_args!("name"), "a name")?;
        ACCELERATION.check_pair(self.gravity, format_args!("gravity"))?;
        check_settings(&self.settings)?;
        if let Some(view) = &self.view {
            check_view(view)?;
        }
        material::check(self)?;
        check_count("bodies", "bodies", self.bodies.len(), MAX_BODIES)?;
        check_count("fields", "fields", self.fields.len(), MAX_FIELDS)?;
        for (index, field) in self.fields.iter().enumerate() {
            let at = format_args!("fields[{index}].point").to_string();
            POSITION.check_pair(field.position, format_args!("{at}.position"))?;
            FORCE.check(field.force, format_args!("{at}.force"))?;
            ACCELERATION.check(field.acceleration, format_args!("{at}.acceleration"))?;
            CORE.check(field.core, format_args!("{at}.core"))?;
        }
        let mut ids = HashMap::new();
        let mut shapes = 0;
        for (index, body) in self.bodies.iter().enumerate() {
            check_id(body.id.as_deref(), "bodies", index, &mut ids)?;
            check_body(body, index)?;
            check_materials_of(body, index, self.materials.len())?;
            shapes += body.shapes.len();
            if shapes > MAX_SHAPES {
                let problem = format!("brings the number of shapes to {shapes}");
                return Err(SceneError::new(
                    format!("bodies[{index}].shapes"),
                    problem,
                    format!("at most {MAX_SHAPES} in a scene"),
                ));
            }
        }
        check_count("joints", "joints", self.joints.len(), MAX_JOINTS)?;
        check_joints(&self.joints, &self.bodies[..], "joints")?;
        check_emitters(self)?;
        check_timeline(self)
    }
}

/// Checks the number of entries of a list.
pub(crate) fn check_count(path: &str, what: &str, count: usize, most: usize) -> Result<(), SceneError> {
    if count <= most {
        return Ok(());
    }
    Err(SceneError::new(path, format!("has {count} {what}"), format!("at most {most}")))
}

/// Checks a list of joints between these bodies. Returns their names, with their places.
fn check_joints<'a, B: JointBodies + ?Sized>(
    joints: &'a [Joint],
    bodies: &B,
    list: &str,
) -> Result<HashMap<&'a str, usize>, SceneError> {
    let mut ids = HashMap::new();
    for (index, joint) in joints.iter().enumerate() {
        check_id(joint.id.as_deref(), list, index, &mut ids)?;
        joint::check(joint, bodies, format_args!("{list}[{index}]"))?;
    }
    Ok(ids)
}

fn check_emitters(scene: &Scene) -> Result<(), SceneError> {
    check_count("emitters", "emitters", scene.emitters.len(), MAX_EMITTERS)?;
    for (index, emitter) in scene.emitters.iter().enumerate() {
        let at = format!("emitters[{index}]");
        check_emitter(emitter, &at)?;
        check_batch(emitter, scene.materials.len(), &at)?;
    }
    let most = most(&scene.emitters, true);
    let shapes: usize = scene.bodies.iter().map(|body| body.shapes.len()).sum();
    for (what, own, more, limit) in [
        ("bodies", scene.bodies.len(), most.bodies, MAX_BODIES),
        ("shapes", shapes, most.shapes, MAX_SHAPES),
        ("joints", scene.joints.len(), most.joints, MAX_JOINTS),
    ] {
        let sum = own.saturating_add(more);
        if sum > limit {
            let problem = format!("can bring the number of {what} to {sum}");
            return Err(SceneError::new("emitters", problem, format!("at most {limit} in a world")));
        }
    }
    Ok(())
}

/// Checks the times and counts of an emitter's batches.
fn check_emitter(emitter: &Emitter, at: &str) -> Result<(), SceneError> {
    for (key, value, needs_every) in [
        ("every", emitter.every, false),
        ("count", emitter.count, true),
        ("keep", emitter.keep, true),
        ("lifetime", emitter.lifetime, false),
    ] {
        if value == Some(0) {
            let expected = format!("a whole number from 1 to {}", u32::MAX);
            return Err(SceneError::new(format!("{at}.{key}"), "is 0", expected));
        }
        if needs_every && value.is_some() && emitter.every.is_none() {
            let problem = "has nothing to do, as there is only one batch";
            return Err(SceneError::new(format!("{at}.{key}"), problem, "`every` as well, or neither"));
        }
    }
    if emitter.max_batches().is_none() {
        let problem = "makes bodies without end";
        return Err(SceneError::new(format!("{at}.every"), problem, "`keep`, `lifetime` or `count` beside it"));
    }
    Ok(())
}

/// Checks the bodies and joints of a batch; `materials` is the number of materials with a name.
fn check_batch(emitter: &Emitter, materials: usize, at: &str) -> Result<(), SceneError> {
    if emitter.bodies.is_empty() {
        return Err(SceneError::new(format!("{at}.bodies"), "is empty or missing", "at least one body"));
    }
    let mut ids = HashMap::new();
    for (index, body) in emitter.bodies.iter().enumerate() {
        check_id(body.id.as_deref(), &format!("{at}.bodies"), index, &mut ids)?;
        let checked = check_body(body, index).and_then(|()| check_materials_of(body, index, materials));
        checked.map_err(|error| error.within(at))?;
        let plane = body.shapes.iter().position(|shape| matches!(shape.geometry, Geometry::HalfPlane { .. }));
        if let Some(number) = plane {
            let at = format!("{at}.bodies[{index}].shapes[{number}]");
            return Err(SceneError::new(at, "is a half plane", "a shape with an end, as bodies come and go"));
        }
    }
    check_joints(&emitter.joints, &emitter.bodies[..], &format!("{at}.joints")).map(drop)
}

/// Checks joints that are to be added to a running world; `taken` are the names of its joints.
pub(crate) fn check_new_joints<'a>(
    joints: &'a [Joint],
    bodies: &[types::BodyData],
    mut taken: impl Iterator<Item = &'a str>,
) -> Result<(), SceneError> {
    let ids = check_joints(joints, bodies, "joints")?;
    if let Some((&id, index)) = taken.find_map(|id| ids.get_key_value(id)) {
        let at = format!("joints[{index}].id");
        return Err(SceneError::new(at, format!("is {id:?}, as another joint's"), "an id of its own"));
    }
    Ok(())
}

/// `ids` are those of the list so far, with their places.
fn check_id<'a>(
    id: Option<&'a str>,
    list: &str,
    index: usize,
    ids: &mut HashMap<&'a str, usize>,
) -> Result<(), SceneError> {
    let Some(id) = id else { return Ok(()) };
    let at = || format!("{list}[{index}].id");
    if id.is_empty() {
        return Err(SceneError::new(at(), "is empty", "a name, or no id at all"));
    }
    check_name(id, format_args!("{list}[{index}].id"), "an id")?;
    match ids.insert(id, index) {
        Some(first) => Err(SceneError::new(at(), format!("is {id:?}, as {list}[{first}].id is"), "an id of its own")),
        None => Ok(()),
    }
}

fn check_name(name: &str, path: Arguments<'_>, what: &str) -> Result<(), SceneError> {
    if name.len() <= MAX_NAME {
        return Ok(());
    }
    let problem = format!("is {} bytes long", name.len());
    Err(SceneError::new(path.to_string(), problem, format!("{what} of at most {MAX_NAME} bytes")))
}

fn check_settings(settings: &Settings) -> Result<(), SceneError> {
    STEP.check(settings.dt, format_args!("settings.dt"))?;
    let counts = [("substeps", settings.substeps, MAX_SUBSTEPS), ("iterations", settings.iterations, MAX_ITERATIONS)];
    for (key, given, most) in counts {
        if let Some(count) = given
            && !(1..=most).contains(&count)
        {
            let expected = format!("a whole number from 1 to {most}");
            return Err(SceneError::new(format!("settings.{key}"), format!("is {count}"), expected));
        }
    }
    SHARE.check(settings.baumgarte, format_args!("settings.baumgarte"))?;
    for (key, range, given) in [
        ("length_unit", LENGTH, settings.length_unit),
        ("slop", SLOP, settings.slop),
        ("contact_hertz", STIFFNESS, settings.contact_hertz),
        ("push_speed", THRESHOLD, settings.push_speed),
        ("restitution_threshold", THRESHOLD, settings.restitution_threshold),
        ("max_speed", LIMIT_SPEED, settings.max_speed),
        ("max_spin", LIMIT_SPIN, settings.max_spin),
    ] {
        if let Some(value) = given {
            range.check(value, format_args!("settings.{key}"))?;
        }
    }
    DAMPING_RATIO.check(settings.contact_damping_ratio, format_args!("settings.contact_damping_ratio"))
}

impl Body {
    /// Checks every value of the body against its range, as the body with this index of a scene.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self, index: usize) -> Result<(), SceneError> {
        check_body(self, index)
    }
}

fn check_body(body: &Body, index: usize) -> Result<(), SceneError> {
    let at = format_args!("bodies[{index}]").to_string();
    POSITION.check_pair(body.position, format_args!("{at}.position"))?;
    LOW.check_pair(body.position_low, format_args!("{at}.position_low"))?;
    ANGLE.check(body.angle, format_args!("{at}.angle"))?;
    VELOCITY.check_pair(body.velocity, format_args!("{at}.velocity"))?;
    SPIN.check(body.angular_velocity, format_args!("{at}.angular_velocity"))?;
    FINITE.check(body.gravity_scale, format_args!("{at}.gravity_scale"))?;
    DAMPING.check(body.linear_damping, format_args!("{at}.linear_damping"))?;
    DAMPING.check(body.angular_damping, format_args!("{at}.angular_damping"))?;
    if let Some(speed) = body.sleep_speed {
        SLEEP_SPEED.check(speed, format_args!("{at}.sleep_speed"))?;
    }
    FORCE.check_pair(body.force, format_args!("{at}.force"))?;
    if let Some(point) = body.force_point {
        OFFSET.check_pair(point, format_args!("{at}.force_point"))?;
    }
    TORQUE.check(body.torque, format_args!("{at}.torque"))?;
    if let Some(mass) = body.mass {
        MASS.check(mass, format_args!("{at}.mass"))?;
    }
    if let Some(inertia) = body.inertia {
        INERTIA.check(inertia, format_args!("{at}.inertia"))?;
    }
    if let Some(path) = &body.path {
        check_path(body, path, &at)?;
    }
    if body.shapes.is_empty() {
        return Err(SceneError::new(format!("{at}.shapes"), "is empty or missing", "at least one shape"));
    }
    for (number, shape) in body.shapes.iter().enumerate() {
        shape::check_shape(shape, body, format_args!("{at}.shapes[{number}]"))?;
    }
    if body.kind == BodyType::Dynamic { check_mass(body, &at) } else { Ok(()) }
}

fn check_path(body: &Body, path: &Path, at: &str) -> Result<(), SceneError> {
    if body.kind != BodyType::Kinematic {
        let problem = "is given to a body that is not kinematic";
        return Err(SceneError::new(format!("{at}.path"), problem, "a path of a kinematic body"));
    }
    OFFSET.check_pair(path.amplitude, format_args!("{at}.path.amplitude"))?;
    ANGLE.check(path.turn, format_args!("{at}.path.turn"))?;
    RATE.check(path.rate, format_args!("{at}.path.rate"))?;
    ANGLE.check(path.phase, format_args!("{at}.path.phase"))?;
    // Both ends of the path are positions.
    for end in [body.position - path.amplitude, body.position + path.amplitude] {
        POSITION.check_pair(end, format_args!("{at}.path.amplitude"))?;
    }
    for end in [body.angle - path.turn, body.angle + path.turn] {
        ANGLE.check(end, format_args!("{at}.path.turn"))?;
    }
    if body.velocity != Vec2::ZERO || body.angular_velocity != 0.0 {
        let problem = "is given beside a velocity";
        return Err(SceneError::new(format!("{at}.path"), problem, "one of them: the path gives the velocity"));
    }
    Ok(())
}

/// A density and a size can both be in range and their product not: 1e30 kg/m² on a box of 100 km overflows.
fn check_mass(body: &Body, at: &str) -> Result<(), SceneError> {
    let fits = |x: f32| x > 0.0 && x.is_normal() && (1.0 / x).is_normal();
    let found = mass_properties(body);
    let is_flat = body.shapes.iter().all(|shape| matches!(shape.geometry, Geometry::Segment { .. }));
    let (problem, key, is_given, of_flat, of_others) = if !fits(found.mass) {
        (
            format!("comes to a mass of {} kg", show(found.mass)),
            ".mass",
            body.mass.is_some(),
            "`mass`, as segments have none of their own",
            "sizes and densities that give a mass from 1.2e-38 to 8.5e37 kg",
        )
    } else if !never_turns(body) && !fits(found.inertia) {
        (
            format!("comes to a moment of inertia of {} kg·m²", show(found.inertia)),
            ".inertia",
            body.inertia.is_some(),
            "`inertia`, as segments have none of their own, or fixed_rotation",
            "sizes, offsets and densities that give one from 1.2e-38 to 8.5e37 kg·m², or fixed_rotation",
        )
    } else {
        return Ok(());
    };
    let key = if is_given { key } else { "" };
    let expected = if is_flat && !is_given { of_flat } else { of_others };
    Err(SceneError::new(format!("{at}{key}"), problem, expected))
}

/// Checks that a normal or an axis has length 1.
fn check_direction(direction: Vec2, path: Arguments<'_>) -> Result<(), SceneError> {
    FINITE.check_pair(direction, path)?;
    let length = direction.as_dvec2().length();
    if length < 1e-6 {
        let problem = format!("is [{}, {}], which has no direction", direction.x, direction.y);
        return Err(SceneError::new(path.to_string(), problem, "a direction"));
    }
    if (length - 1.0).abs() > f64::from(UNIT_TOLERANCE) {
        return Err(SceneError::new(path.to_string(), format!("has length {length}"), "a direction of length 1"));
    }
    Ok(())
}
