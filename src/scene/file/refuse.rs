//! Shapes and joints that the format knows and this release does not. They are checked all the same, so that a file
//! is told its own mistake first.

use glam::Vec2;

use super::records::{Capsule, GEOMETRIES, HalfPlane, JointRecord, Polygon, Segment, ShapeRecord};
use super::values::{BodyRef, JointType, Word};
use crate::scene::check::{ANGLE, FINITE, LENGTH, NOT_NEGATIVE, POSITION, Range};
use crate::scene::{Body, BodyType, SceneError};

pub const ROUNDING: Range = Range::new("a rounding radius", 0.0, 1e5, "m");
const CIRCLE_OR_BOX: &str = "circle or box, the shapes of this release";

type Check = Result<(), SceneError>;

/// A shape with two outlines is an error.
pub fn several_geometries(record: &ShapeRecord, at: &dyn Fn() -> String) -> Check {
    let there = record.geometries();
    if there.iter().filter(|there| **there).count() <= 1 {
        return Ok(());
    }
    let keys: Vec<&str> = GEOMETRIES.iter().zip(there).filter(|(_, there)| *there).map(|(key, _)| *key).collect();
    Err(SceneError::new(at(), format!("has {}", keys.join(" and ")), "only one of them in a shape"))
}

/// What is wrong with a shape that is neither a circle nor a box.
pub fn geometry(record: &ShapeRecord, fixed: bool, at: &dyn Fn() -> String) -> SceneError {
    let Some(position) = record.geometries().iter().position(|there| *there) else {
        return SceneError::new(at(), "has no outline", format!("one of {}", GEOMETRIES.join(", ")));
    };
    let key = GEOMETRIES[position];
    let path = format!("{}.{key}", at());
    let checked = if let Some(shape) = &record.capsule {
        capsule(shape, &path)
    } else if let Some(shape) = &record.polygon {
        polygon(shape, &path)
    } else if let Some(shape) = &record.segment {
        segment(shape, &path)
    } else if let Some(shape) = &record.half_plane {
        half_plane(shape, fixed, &path)
    } else if let Some(shape) = &record.particle {
        LENGTH.check(shape.radius, format_args!("{path}.radius"))
    } else {
        Ok(())
    };
    checked.err().unwrap_or_else(|| SceneError::new(path, "is not supported yet", CIRCLE_OR_BOX))
}

fn capsule(shape: &Capsule, path: &str) -> Check {
    LENGTH.check(shape.radius, format_args!("{path}.radius"))?;
    ends(shape.a.0, shape.b.0, path)
}

fn segment(shape: &Segment, path: &str) -> Check {
    ends(shape.a.0, shape.b.0, path)
}

fn ends(a: Vec2, b: Vec2, path: &str) -> Check {
    POSITION.check_pair(a, format_args!("{path}.a"))?;
    POSITION.check_pair(b, format_args!("{path}.b"))?;
    let length = a.distance(b);
    if length < LENGTH.min {
        return Err(SceneError::new(path, format!("has ends {length} m apart"), LENGTH.to_string()));
    }
    Ok(())
}

fn polygon(shape: &Polygon, path: &str) -> Check {
    let points = &shape.points;
    let path_of_points = format!("{path}.points");
    if !(3..=8).contains(&points.len()) {
        let problem = format!("has {} corners", points.len());
        return Err(SceneError::new(path_of_points, problem, "3 to 8"));
    }
    for (index, point) in points.iter().enumerate() {
        POSITION.check_pair(point.0, format_args!("{path_of_points}[{index}]"))?;
    }
    ROUNDING.check(shape.radius, format_args!("{path}.radius"))?;
    let corner = |index: usize| points[index % points.len()].0.as_dvec2();
    let turn = |index: usize| (corner(index + 1) - corner(index)).perp_dot(corner(index + 2) - corner(index + 1));
    let area: f64 = (0..points.len()).map(|index| 0.5 * corner(index).perp_dot(corner(index + 1))).sum();
    for index in 0..points.len() {
        let side = corner(index).distance(corner(index + 1));
        if side < f64::from(LENGTH.min) {
            let next = (index + 1) % points.len();
            let at = format!("{path_of_points}[{next}]");
            return Err(SceneError::new(at, format!("is {side} m from the corner before it"), LENGTH.to_string()));
        }
    }
    // The smallest area that sides of the least length can have.
    let smallest = 0.25 * f64::from(LENGTH.min) * f64::from(LENGTH.min);
    if area.abs() < smallest {
        let problem = format!("has an area of {} m²", area.abs());
        return Err(SceneError::new(path_of_points, problem, "corners that are not on one line"));
    }
    let left = (0..points.len()).filter(|index| turn(*index) > 0.0).count();
    if left == 0 {
        return Err(SceneError::new(path_of_points, "goes clockwise", "corners in counter-clockwise order"));
    }
    if let Some(index) = (0..points.len()).find(|index| turn(*index) <= 0.0) {
        let at = format!("{path_of_points}[{}]", (index + 1) % points.len());
        return Err(SceneError::new(at, "is a corner that does not turn left", "a convex polygon, counter-clockwise"));
    }
    // A star turns left at every corner too, but goes round twice.
    let round: f64 = (0..points.len())
        .map(|index| (corner(index + 1) - corner(index)).angle_to(corner(index + 2) - corner(index + 1)))
        .sum();
    if round > 3.0 * std::f64::consts::PI {
        return Err(SceneError::new(path_of_points, "crosses itself", "a convex polygon, counter-clockwise"));
    }
    Ok(())
}

fn half_plane(shape: &HalfPlane, fixed: bool, path: &str) -> Check {
    FINITE.check_pair(shape.normal.0, format_args!("{path}.normal"))?;
    direction(shape.normal.0, &format!("{path}.normal"))?;
    POSITION.check(shape.offset, format_args!("{path}.offset"))?;
    if fixed {
        return Ok(());
    }
    Err(SceneError::new(path, "is on a dynamic body", "a static or kinematic body"))
}

fn direction(axis: Vec2, path: &str) -> Check {
    if axis.length() >= 1e-6 {
        return Ok(());
    }
    Err(SceneError::new(path, format!("is [{}, {}], which has no direction", axis.x, axis.y), "a direction"))
}

/// Refuses the first joint: for its own mistake if it has one.
pub fn joints(records: &[JointRecord], bodies: &[Body]) -> Check {
    for (index, record) in records.iter().enumerate() {
        joint(record, bodies, &format!("joints[{index}]"))?;
    }
    if records.is_empty() {
        return Ok(());
    }
    Err(SceneError::new("joints", "are not supported yet", "no joints"))
}

fn joint(record: &JointRecord, bodies: &[Body], at: &str) -> Check {
    let a = body(&record.a, bodies, &format!("{at}.a"))?;
    let b = body(&record.b, bodies, &format!("{at}.b"))?;
    if a == b {
        return Err(SceneError::new(format!("{at}.b"), "is the same body as a", "another body"));
    }
    if bodies[a].kind != BodyType::Dynamic && bodies[b].kind != BodyType::Dynamic {
        return Err(SceneError::new(at, "joins two bodies that are not dynamic", "at least one dynamic body"));
    }
    keys(record, at)?;
    values(record, at)
}

fn body(reference: &BodyRef, bodies: &[Body], path: &str) -> Result<usize, SceneError> {
    match reference {
        BodyRef::Index(index) => {
            let found = usize::try_from(*index).ok().filter(|index| *index < bodies.len());
            found.ok_or_else(|| {
                let expected = match bodies.len() {
                    0 => "a body; the scene has none".to_owned(),
                    count => format!("an index from 0 to {}, or an id", count - 1),
                };
                SceneError::new(path, format!("is {index}, and there is no such body"), expected)
            })
        }
        BodyRef::Id(id) => bodies.iter().position(|body| body.id.as_deref() == Some(id)).ok_or_else(|| {
            let problem = format!("is {id:?}, and no body has this id");
            SceneError::new(path, problem, "the id of a body, or its index")
        }),
    }
}

/// Which keys a joint may and must have.
fn keys(record: &JointRecord, at: &str) -> Check {
    let kind = record.kind.0;
    let (required, optional): (&[&str], &[&str]) = match kind {
        JointType::Distance => (&["length"], &["limits", "motor", "hertz", "damping_ratio"]),
        JointType::Spring => (&["rest_length", "stiffness"], &["damping"]),
        JointType::Revolute => (&[], &["limits", "motor", "hertz", "damping_ratio"]),
        JointType::Prismatic | JointType::Wheel => (&["axis"], &["limits", "motor", "hertz", "damping_ratio"]),
        JointType::Weld => (&[], &["hertz", "damping_ratio"]),
        JointType::Motor => {
            (&[], &["linear_offset", "angular_offset", "max_force", "max_torque", "hertz", "damping_ratio"])
        }
        JointType::Mouse => (&["target"], &["max_force", "hertz", "damping_ratio"]),
    };
    let there = [
        ("length", record.length.is_some()),
        ("rest_length", record.rest_length.is_some()),
        ("stiffness", record.stiffness.is_some()),
        ("damping", record.damping.is_some()),
        ("axis", record.axis.is_some()),
        ("limits", record.limits.is_some()),
        ("motor", record.motor.is_some()),
        ("hertz", record.hertz.is_some()),
        ("damping_ratio", record.damping_ratio.is_some()),
        ("linear_offset", record.linear_offset.is_some()),
        ("angular_offset", record.angular_offset.is_some()),
        ("max_force", record.max_force.is_some()),
        ("max_torque", record.max_torque.is_some()),
        ("target", record.target.is_some()),
    ];
    for (key, is_there) in there {
        if required.contains(&key) && !is_there {
            let problem = format!("has no `{key}`");
            return Err(SceneError::new(at, problem, format!("the key `{key}` in a {} joint", kind.word())));
        }
        if is_there && !required.contains(&key) && !optional.contains(&key) {
            let known: Vec<&str> = required.iter().chain(optional).copied().collect();
            let problem = format!("is no key of a {} joint", kind.word());
            return Err(SceneError::new(format!("{at}.{key}"), problem, known.join(", ")));
        }
    }
    Ok(())
}

fn values(record: &JointRecord, at: &str) -> Check {
    POSITION.check_pair(record.anchor_a.0, format_args!("{at}.anchor_a"))?;
    POSITION.check_pair(record.anchor_b.0, format_args!("{at}.anchor_b"))?;
    let numbers = [
        ("length", record.length, LENGTH),
        ("rest_length", record.rest_length, Range::new("a length", 0.0, 1e5, "m")),
        ("stiffness", record.stiffness, NOT_NEGATIVE),
        ("damping", record.damping, NOT_NEGATIVE),
        ("hertz", record.hertz, NOT_NEGATIVE),
        ("damping_ratio", record.damping_ratio, NOT_NEGATIVE),
        ("angular_offset", record.angular_offset, ANGLE),
        ("max_force", record.max_force, NOT_NEGATIVE),
        ("max_torque", record.max_torque, NOT_NEGATIVE),
    ];
    for (key, value, range) in numbers {
        if let Some(value) = value {
            range.check(value, format_args!("{at}.{key}"))?;
        }
    }
    for (key, value) in [("linear_offset", record.linear_offset), ("target", record.target)] {
        if let Some(value) = value {
            POSITION.check_pair(value.0, format_args!("{at}.{key}"))?;
        }
    }
    if let Some(axis) = record.axis {
        FINITE.check_pair(axis.0, format_args!("{at}.axis"))?;
        direction(axis.0, &format!("{at}.axis"))?;
    }
    if let Some(limits) = record.limits {
        let limit = if record.kind.0 == JointType::Distance { NOT_NEGATIVE } else { FINITE };
        limit.check_pair(limits.0, format_args!("{at}.limits"))?;
        if limits.0.x > limits.0.y {
            let problem = format!("is [{}, {}], upside down", limits.0.x, limits.0.y);
            return Err(SceneError::new(format!("{at}.limits"), problem, "the lower limit, then the upper"));
        }
    }
    if let Some(motor) = record.motor {
        FINITE.check(motor.speed, format_args!("{at}.motor.speed"))?;
        NOT_NEGATIVE.check(motor.max, format_args!("{at}.motor.max"))?;
    }
    Ok(())
}
