//! Checks of shapes and materials: ranges, convex polygons, and the bodies that a shape may be on.

use std::fmt::Arguments;

use glam::Vec2;

use super::{
    ANGLE, DENSITY, FRICTION, LENGTH, MAX_LENGTH, MAX_VALUE, MIN_LENGTH, OFFSET, RESTITUTION, Range, SceneError,
    VELOCITY, check_direction, show,
};
use crate::scene::{Body, BodyType, Geometry, Material, Shape};

const ROUNDING: Range = Range::new("a rounding radius", 0.0, MAX_LENGTH, "m");
pub(in crate::scene) const ROLLING: Range = Range::new("a rolling resistance", 0.0, MAX_VALUE, "");

type ShapeCheck = Result<(), SceneError>;

/// Checks a shape of this body.
pub(crate) fn check_shape(shape: &Shape, body: &Body, at: Arguments<'_>) -> ShapeCheck {
    check_geometry(&shape.geometry, at)?;
    if matches!(shape.geometry, Geometry::HalfPlane { .. }) && body.kind == BodyType::Dynamic {
        let path = format!("{at}.half_plane");
        return Err(SceneError::new(path, "is on a dynamic body", "a static or kinematic body"));
    }
    if matches!(shape.geometry, Geometry::Link { .. }) && body.kind == BodyType::Dynamic {
        let path = format!("{at}.link");
        return Err(SceneError::new(path, "is on a dynamic body", "a static or kinematic body"));
    }
    if shape.one_way && !matches!(shape.geometry, Geometry::Link { .. }) {
        return Err(SceneError::new(format!("{at}.one_way"), "is given to another shape than a link", "a link"));
    }
    if matches!(shape.geometry, Geometry::Particle { .. }) && body.shapes.len() > 1 {
        let problem = format!("is one of {} shapes of its body", body.shapes.len());
        return Err(SceneError::new(format!("{at}.particle"), problem, "a body of its own"));
    }
    OFFSET.check_pair(shape.offset, format_args!("{at}.offset"))?;
    ANGLE.check(shape.rotation, format_args!("{at}.rotation"))?;
    DENSITY.check(shape.density, format_args!("{at}.density"))?;
    check_material(&shape.material, at)
}

/// Checks an outline by itself.
pub(crate) fn check_geometry(geometry: &Geometry, at: Arguments<'_>) -> ShapeCheck {
    match geometry {
        Geometry::Circle { radius } => LENGTH.check(*radius, format_args!("{at}.circle.radius")),
        Geometry::Box { half, radius } => {
            LENGTH.check_pair(*half, format_args!("{at}.box.half"))?;
            ROUNDING.check(*radius, format_args!("{at}.box.radius"))
        }
        Geometry::Capsule { a, b, radius } => {
            LENGTH.check(*radius, format_args!("{at}.capsule.radius"))?;
            check_ends(*a, *b, format_args!("{at}.capsule"))
        }
        Geometry::Polygon { points, radius } => {
            check_polygon(points, format_args!("{at}.polygon.points"))?;
            ROUNDING.check(*radius, format_args!("{at}.polygon.radius"))
        }
        Geometry::Segment { a, b } => check_ends(*a, *b, format_args!("{at}.segment")),
        Geometry::Link { a, b, before, after } => {
            check_ends(*a, *b, format_args!("{at}.link"))?;
            for (key, from, to) in [("before", *before, Some(*a)), ("after", Some(*b), *after)] {
                if let (Some(from), Some(to)) = (from, to) {
                    check_ends(from, to, format_args!("{at}.link.{key}"))?;
                }
            }
            Ok(())
        }
        Geometry::HalfPlane { normal, offset } => {
            check_direction(*normal, format_args!("{at}.half_plane.normal"))?;
            OFFSET.check(*offset, format_args!("{at}.half_plane.offset"))
        }
        Geometry::Particle { radius } => LENGTH.check(*radius, format_args!("{at}.particle.radius")),
    }
}

pub(super) fn check_material(material: &Material, at: Arguments<'_>) -> ShapeCheck {
    FRICTION.check(material.friction, format_args!("{at}.friction"))?;
    if let Some(kinetic) = material.kinetic_friction {
        check_kinetic_friction(kinetic, material.friction, format_args!("{at}.kinetic_friction"))?;
    }
    RESTITUTION.check(material.restitution, format_args!("{at}.restitution"))?;
    VELOCITY.check(material.tangent_speed, format_args!("{at}.tangent_speed"))?;
    ROLLING.check(material.rolling_resistance, format_args!("{at}.rolling_resistance"))
}

/// Checks a coefficient of friction while sliding beside the one at rest.
pub(crate) fn check_kinetic_friction(kinetic: f32, friction: f32, path: Arguments<'_>) -> ShapeCheck {
    FRICTION.check(kinetic, path)?;
    if kinetic > friction {
        let expected = format!("a coefficient from 0 to {}, which is friction", show(friction));
        return Err(SceneError::new(path.to_string(), format!("is {}", show(kinetic)), expected));
    }
    Ok(())
}

fn check_ends(a: Vec2, b: Vec2, path: Arguments<'_>) -> ShapeCheck {
    OFFSET.check_pair(a, format_args!("{path}.a"))?;
    OFFSET.check_pair(b, format_args!("{path}.b"))?;
    let length = a.distance(b);
    if length < MIN_LENGTH {
        let expected = format!("ends at least {MIN_LENGTH} m apart");
        return Err(SceneError::new(path.to_string(), format!("has ends {} m apart", show(length)), expected));
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation, reason = "for show")]
fn show_wide(value: f64) -> String {
    show(value as f32)
}

/// Checks that a polygon is convex and counter-clockwise, in f64, so that rounding does not decide.
fn check_polygon(points: &[Vec2], path: Arguments<'_>) -> ShapeCheck {
    const CONVEX: &str = "a convex polygon, counter-clockwise";
    let count = points.len();
    if !(3..=8).contains(&count) {
        return Err(SceneError::new(path.to_string(), format!("has {count} corners"), "3 to 8"));
    }
    for (index, point) in points.iter().enumerate() {
        OFFSET.check_pair(*point, format_args!("{path}[{index}]"))?;
    }
    let least = f64::from(MIN_LENGTH);
    let corner = |index: usize| points[index % count].as_dvec2();
    for index in 0..count {
        let (before, side) = ((index + count - 1) % count, corner(index).distance(corner(index + count - 1)));
        if side < least {
            let problem = format!("is {} m from corner {before}", show_wide(side));
            return Err(SceneError::new(
                format!("{path}[{index}]"),
                problem,
                format!("corners at least {MIN_LENGTH} m apart"),
            ));
        }
    }
    // Distance of a corner to the right of the line from the previous to the next corner: twice the area of the
    // triangle over its base.
    let out = |index: usize| {
        let (before, here, after) = (corner(index + count - 1), corner(index), corner(index + 1));
        let twice = (here - before).perp_dot(after - here);
        twice / (after - before).length().max(least)
    };
    let outs: Vec<f64> = (0..count).map(out).collect();
    if outs.iter().all(|out| out.abs() < least) {
        return Err(SceneError::new(path.to_string(), "has no area", "corners that are not on one line"));
    }
    if outs.iter().all(|out| *out <= 0.0) {
        return Err(SceneError::new(path.to_string(), "goes clockwise", "corners in counter-clockwise order"));
    }
    if let Some(index) = outs.iter().position(|out| *out <= 0.0) {
        return Err(SceneError::new(format!("{path}[{index}]"), "is a corner that does not turn left", CONVEX));
    }
    if let Some(index) = outs.iter().position(|out| *out < least) {
        let problem = format!("is {} m from the line through its neighbours", show_wide(outs[index]));
        let expected = format!("corners that stand out by at least {MIN_LENGTH} m");
        return Err(SceneError::new(format!("{path}[{index}]"), problem, expected));
    }
    // A star turns left at every corner too, but goes round twice.
    let side = |index: usize| corner(index + 1) - corner(index);
    let round: f64 = (0..count).map(|index| side(index).angle_to(side(index + 1))).sum();
    if round > 3.0 * std::f64::consts::PI {
        return Err(SceneError::new(path.to_string(), "crosses itself", CONVEX));
    }
    Ok(())
}
