//! What makes a scene valid: the range of every value, and what this release does not do yet.

use std::collections::HashMap;
use std::fmt::{self, Arguments};

use glam::Vec2;

use super::compile::{mass_properties, never_turns};
use super::{Body, BodyType, Geometry, Scene, Settings, Shape};

/// Shortest length (radius, half width), m. Contacts are resolved to a few millimetres; less is noise.
pub const MIN_LENGTH: f32 = 1e-4;
/// Longest length, m.
pub const MAX_LENGTH: f32 = 1e5;
/// Largest coordinate of a position or an offset, m. At this distance an f32 still resolves 8 mm.
pub const MAX_POSITION: f32 = 1e5;
/// Largest angle, rad. At this size an f32 still resolves 0.008 rad.
pub const MAX_ANGLE: f32 = 1e5;
/// Largest velocity, force and everything else that only has to be finite; its square still fits an f32.
pub const MAX_VALUE: f32 = 1e15;
/// Shortest step, s. A 64th of it and its inverse still fit an f32 with room to square.
pub const MIN_DT: f32 = 1e-9;
/// Longest step, s.
pub const MAX_DT: f32 = 1e3;
/// Most substeps a step.
pub const MAX_SUBSTEPS: u32 = 64;
/// Most sweeps a substep.
pub const MAX_ITERATIONS: u32 = 64;
/// Most bodies in a scene.
pub const MAX_BODIES: usize = 4_000_000;
/// Most shapes in a scene, over all bodies.
pub const MAX_SHAPES: usize = 8_000_000;
/// Longest name of a scene or id of a body, in bytes.
pub const MAX_NAME: usize = 256;

/// What is wrong with a scene, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}; expected {expected}")]
pub struct SceneError {
    /// JSON path, such as `bodies[3].shapes[0].box.half[1]`.
    pub path: String,
    /// What is there, such as `is -1`.
    pub problem: String,
    /// What should be there.
    pub expected: String,
}

impl SceneError {
    pub(super) fn new(path: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into(), expected: expected.into() }
    }
}

/// The values a number may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub min: f32,
    pub max: f32,
    /// Whether `min` itself is out.
    pub above: bool,
    /// What the number is, for the message.
    pub what: &'static str,
    pub unit: &'static str,
}

impl Range {
    pub const fn new(what: &'static str, min: f32, max: f32, unit: &'static str) -> Self {
        Self { min, max, above: false, what, unit }
    }

    const fn above(what: &'static str, min: f32, unit: &'static str) -> Self {
        Self { min, max: f32::MAX, above: true, what, unit }
    }

    pub fn check(&self, value: f32, path: Arguments<'_>) -> Result<(), SceneError> {
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

    pub fn check_pair(&self, value: Vec2, path: Arguments<'_>) -> Result<(), SceneError> {
        self.check(value.x, format_args!("{path}[0]"))?;
        self.check(value.y, format_args!("{path}[1]"))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.unit.is_empty() { "" } else { " " };
        match (self.above, self.max < f32::MAX) {
            (true, false) => write!(f, "{} above {}{gap}{}", self.what, show(self.min), self.unit),
            (_, false) => write!(f, "{} of at least {}{gap}{}", self.what, show(self.min), self.unit),
            _ => write!(f, "{} from {} to {}{gap}{}", self.what, show(self.min), show(self.max), self.unit),
        }
    }
}

/// As short as it can be told: `0.0001` and `100000`, but `1e15`.
fn show(value: f32) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e7).contains(&size) { format!("{value}") } else { format!("{value:e}") }
}

pub(super) const LENGTH: Range = Range::new("a length", MIN_LENGTH, MAX_LENGTH, "m");
pub(super) const POSITION: Range = Range::new("a coordinate", -MAX_POSITION, MAX_POSITION, "m");
pub(super) const ANGLE: Range = Range::new("an angle", -MAX_ANGLE, MAX_ANGLE, "rad");
pub(super) const FINITE: Range = Range::new("a number", -MAX_VALUE, MAX_VALUE, "");
pub(super) const NOT_NEGATIVE: Range = Range::new("a number", 0.0, MAX_VALUE, "");
const ACCELERATION: Range = Range::new("an acceleration", -MAX_VALUE, MAX_VALUE, "m/s²");
const VELOCITY: Range = Range::new("a velocity", -MAX_VALUE, MAX_VALUE, "m/s");
const SPIN: Range = Range::new("an angular velocity", -MAX_VALUE, MAX_VALUE, "rad/s");
const FORCE: Range = Range::new("a force", -MAX_VALUE, MAX_VALUE, "N");
const TORQUE: Range = Range::new("a torque", -MAX_VALUE, MAX_VALUE, "N·m");
const DAMPING: Range = Range::new("a damping rate", 0.0, MAX_VALUE, "1/s");
const MASS: Range = Range::above("a mass", 0.0, "kg");
const INERTIA: Range = Range::above("a moment of inertia", 0.0, "kg·m²");
const DENSITY: Range = Range::above("a density", 0.0, "kg/m²");
pub(super) const FRICTION: Range = Range::new("a coefficient of friction", 0.0, MAX_VALUE, "");
const RESTITUTION: Range = Range::new("a restitution", 0.0, 1.0, "");
const STEP: Range = Range::new("a step above 0,", MIN_DT, MAX_DT, "s");
const SHARE: Range = Range::new("a share", 0.0, 1.0, "");
const SLOP: Range = Range::new("a penetration", 0.0, MAX_LENGTH, "m");
const THRESHOLD: Range = Range::new("a speed", 0.0, MAX_VALUE, "m/s");

impl Scene {
    /// Checks every value against its range. Worlds do this before they start; the scene file does it too.
    ///
    /// Lengths are 1e-4 – 1e5 m, coordinates at most 1e5 m on each axis, angles at most 1e5 rad; velocities, forces and
    /// the rest at most 1e15, so that squares stay finite. Mass and inertia of a dynamic body, and their inverses, must
    /// fit an `f32`. [`Body::bullet`] is not supported yet. A static body's velocity is not used.
    ///
    /// # Errors
    /// The first value that is out of range, with its JSON path.
    pub fn check(&self) -> Result<(), SceneError> {
        check_name(&self.name, format_args!("name"), "a name")?;
        ACCELERATION.check_pair(self.gravity, format_args!("gravity"))?;
        check_settings(&self.settings)?;
        if self.bodies.len() > MAX_BODIES {
            let problem = format!("has {} bodies", self.bodies.len());
            return Err(SceneError::new("bodies", problem, format!("at most {MAX_BODIES}")));
        }
        let mut ids: HashMap<&str, usize> = HashMap::new();
        let mut shapes = 0;
        for (index, body) in self.bodies.iter().enumerate() {
            if let Some(id) = &body.id {
                if id.is_empty() {
                    return Err(SceneError::new(format!("bodies[{index}].id"), "is empty", "a name, or no id at all"));
                }
                check_name(id, format_args!("bodies[{index}].id"), "an id")?;
                if let Some(first) = ids.insert(id, index) {
                    let problem = format!("is {id:?}, as bodies[{first}].id is");
                    return Err(SceneError::new(format!("bodies[{index}].id"), problem, "an id of its own"));
                }
            }
            check_body(body, index)?;
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
        Ok(())
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
    SLOP.check(settings.slop, format_args!("settings.slop"))?;
    THRESHOLD.check(settings.restitution_threshold, format_args!("settings.restitution_threshold"))
}

fn check_body(body: &Body, index: usize) -> Result<(), SceneError> {
    let at = format_args!("bodies[{index}]").to_string();
    POSITION.check_pair(body.position, format_args!("{at}.position"))?;
    ANGLE.check(body.angle, format_args!("{at}.angle"))?;
    VELOCITY.check_pair(body.velocity, format_args!("{at}.velocity"))?;
    SPIN.check(body.angular_velocity, format_args!("{at}.angular_velocity"))?;
    FINITE.check(body.gravity_scale, format_args!("{at}.gravity_scale"))?;
    DAMPING.check(body.linear_damping, format_args!("{at}.linear_damping"))?;
    DAMPING.check(body.angular_damping, format_args!("{at}.angular_damping"))?;
    if body.bullet {
        return Err(SceneError::new(format!("{at}.bullet"), "is true, which is not supported yet", "false"));
    }
    FORCE.check_pair(body.force, format_args!("{at}.force"))?;
    if let Some(point) = body.force_point {
        POSITION.check_pair(point, format_args!("{at}.force_point"))?;
    }
    TORQUE.check(body.torque, format_args!("{at}.torque"))?;
    if let Some(mass) = body.mass {
        MASS.check(mass, format_args!("{at}.mass"))?;
    }
    if let Some(inertia) = body.inertia {
        INERTIA.check(inertia, format_args!("{at}.inertia"))?;
    }
    if body.shapes.is_empty() {
        return Err(SceneError::new(format!("{at}.shapes"), "is empty or missing", "at least one shape"));
    }
    for (number, shape) in body.shapes.iter().enumerate() {
        check_shape(shape, format_args!("{at}.shapes[{number}]"))?;
    }
    if body.kind == BodyType::Dynamic { check_mass(body, &at) } else { Ok(()) }
}

fn check_shape(shape: &Shape, at: Arguments<'_>) -> Result<(), SceneError> {
    match &shape.geometry {
        Geometry::Circle { radius } => LENGTH.check(*radius, format_args!("{at}.circle.radius"))?,
        Geometry::Particle { radius } => LENGTH.check(*radius, format_args!("{at}.particle.radius"))?,
        Geometry::Box { half, radius } => {
            LENGTH.check_pair(*half, format_args!("{at}.box.half"))?;
            NOT_NEGATIVE.check(*radius, format_args!("{at}.box.radius"))?;
        }
        Geometry::Capsule { a, b, radius } => {
            LENGTH.check(*radius, format_args!("{at}.capsule.radius"))?;
            LENGTH.check(a.distance(*b), format_args!("{at}.capsule"))?;
        }
        Geometry::Segment { a, b } => LENGTH.check(a.distance(*b), format_args!("{at}.segment"))?,
        Geometry::Polygon { points, radius } => {
            if !(3..=8).contains(&points.len()) {
                let problem = format!("has {} corners", points.len());
                return Err(SceneError::new(format!("{at}.polygon.points"), problem, "3 to 8"));
            }
            NOT_NEGATIVE.check(*radius, format_args!("{at}.polygon.radius"))?;
            for index in 0..points.len() {
                POSITION.check_pair(points[index], format_args!("{at}.polygon.points[{index}]"))?;
                let side = points[index].distance(points[(index + 1) % points.len()]);
                LENGTH.check(side, format_args!("{at}.polygon.points[{index}]"))?;
            }
        }
        Geometry::HalfPlane { normal, offset } => {
            FINITE.check_pair(*normal, format_args!("{at}.half_plane.normal"))?;
            POSITION.check(*offset, format_args!("{at}.half_plane.offset"))?;
        }
    }
    POSITION.check_pair(shape.offset, format_args!("{at}.offset"))?;
    ANGLE.check(shape.rotation, format_args!("{at}.rotation"))?;
    DENSITY.check(shape.density, format_args!("{at}.density"))?;
    FRICTION.check(shape.material.friction, format_args!("{at}.friction"))?;
    RESTITUTION.check(shape.material.restitution, format_args!("{at}.restitution"))
}

/// A density and a size can both be in range and their product not: 1e30 kg/m² on a box of 100 km overflows.
fn check_mass(body: &Body, at: &str) -> Result<(), SceneError> {
    let fits = |x: f32| x > 0.0 && x.is_normal() && (1.0 / x).is_normal();
    let found = mass_properties(body);
    if !fits(found.mass) {
        let key = if body.mass.is_some() { ".mass" } else { "" };
        return Err(SceneError::new(
            format!("{at}{key}"),
            format!("comes to a mass of {} kg", show(found.mass)),
            "sizes and densities that give a mass from 1.2e-38 to 8.5e37 kg",
        ));
    }
    if !never_turns(body) && !fits(found.inertia) {
        let key = if body.inertia.is_some() { ".inertia" } else { "" };
        return Err(SceneError::new(
            format!("{at}{key}"),
            format!("comes to a moment of inertia of {} kg·m²", show(found.inertia)),
            "sizes, offsets and densities that give one from 1.2e-38 to 8.5e37 kg·m², or fixed_rotation",
        ));
    }
    Ok(())
}
