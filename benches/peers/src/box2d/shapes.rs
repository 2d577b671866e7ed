//! Converts shapes to Box2D.

use anyhow::{Result, bail, ensure};
use boxdd::{Body, Capsule, ChainSegment, Circle, Filter, Polygon, Segment, ShapeDef, SurfaceMaterial, Transform};
use drystone::{Geometry, Shape};

use super::vector;

/// Half extents of the box that replaces a half plane, m.
pub const HALF_PLANE: f32 = 1_000.0;

/// Adds a shape to a body.
pub fn add(body: &mut Body<'_>, shape: &Shape) -> Result<()> {
    let material = &shape.material;
    if material.kinetic_friction.is_some_and(|kinetic| kinetic < material.friction) {
        bail!("Box2D has one coefficient of friction, not another for sliding (`kinetic_friction`)");
    }
    // Box2D has the same sign convention: surfaces move clockwise around their shape, and the speeds of two add up.
    let surface = SurfaceMaterial::new()
        .with_friction(material.friction)?
        .with_restitution(material.restitution)?
        .with_rolling_resistance(material.rolling_resistance)?
        .with_tangent_speed(material.tangent_speed)?;
    let filter = Filter {
        category_bits: shape.filter.category.into(),
        mask_bits: shape.filter.mask.into(),
        group_index: shape.filter.group,
    };
    let definition =
        ShapeDef::builder().material(surface).density(shape.density).filter(filter).sensor(shape.sensor).build()?;
    let at = Transform::from_pos_angle(vector(shape.offset.into()), shape.rotation)?;
    let point = |point: [f32; 2]| at.transform_point(vector(point));
    match shape.geometry {
        // A particle is a circle on a body with locked rotation.
        Geometry::Circle { radius } | Geometry::Particle { radius } => {
            body.create_circle(&definition, &Circle::new(at.position(), radius)?)?;
        }
        Geometry::Box { half, radius: 0.0 } => {
            body.create_polygon(&definition, &Polygon::offset_box_polygon(half.x, half.y, at)?)?;
        }
        Geometry::Box { half, radius } => {
            body.create_polygon(&definition, &Polygon::offset_rounded_box_polygon(half.x, half.y, radius, at)?)?;
        }
        Geometry::Capsule { a, b, radius } => {
            body.create_capsule(&definition, &Capsule::new(point(a.into()), point(b.into()), radius)?)?;
        }
        Geometry::Polygon { ref points, radius } => {
            let corners = points.iter().map(|&corner| vector(corner.into()));
            let polygon = Polygon::offset_from_points(corners, radius, at)?;
            // Box2D's convex hull drops corners that protrude by less than a slop.
            ensure!(polygon.count() == points.len(), "Box2D leaves out corners of a polygon of {}", points.len());
            body.create_polygon(&definition, &polygon)?;
        }
        Geometry::Segment { a, b } => {
            body.create_segment(&definition, &Segment::new(point(a.into()), point(b.into()))?)?;
        }
        // A link always has neighbours there; at the end of a chain the next one goes straight on.
        Geometry::Link { a, b, before, after } => {
            ensure!(!shape.one_way, "Box2D passes one-way platforms by a callback only (`one_way`)");
            let before = point(before.unwrap_or(2.0 * a - b).into());
            let after = point(after.unwrap_or(2.0 * b - a).into());
            let link = ChainSegment::new(before, point(a.into()), point(b.into()), after)?;
            body.create_chain_segment(&definition, &link)?;
        }
        // A box is solid below its surface, which a segment would not be.
        Geometry::HalfPlane { normal, offset } => {
            let middle = point((normal * (offset - HALF_PLANE)).into());
            let turn = shape.rotation + normal.y.atan2(normal.x) - std::f32::consts::FRAC_PI_2;
            let at = Transform::from_pos_angle(middle, turn)?;
            body.create_polygon(&definition, &Polygon::offset_box_polygon(HALF_PLANE, HALF_PLANE, at)?)?;
        }
    }
    Ok(())
}

/// Returns true if Box2D computes the same mass as Drystone. For a rounded polygon it moves the corners outwards
/// instead.
pub fn has_exact_mass(shape: &Shape) -> bool {
    match shape.geometry {
        Geometry::Box { radius, .. } | Geometry::Polygon { radius, .. } => radius == 0.0,
        _ => true,
    }
}
