//! Rows of the shape table: outline, position on the body, material and filter of one shape of a scene.

use glam::Vec2;

use crate::math::{self, rotation};
use crate::scene::{Geometry, Shape};
use crate::types::{self, u32_from};

pub(crate) fn flatten_shape(shape: &Shape, center: Vec2, vertices: &mut Vec<[f32; 2]>) -> types::ShapeData {
    let turn = rotation(shape.rotation);
    let material = &shape.material;
    let mut flat = types::ShapeData {
        offset: (shape.offset - center).into(),
        rotation: turn.into(),
        friction: material.friction,
        kinetic_friction: material.kinetic_friction.unwrap_or(material.friction),
        restitution: material.restitution,
        tangent_speed: material.tangent_speed,
        rolling_resistance: material.rolling_resistance,
        category: shape.filter.category,
        mask: shape.filter.mask,
        group: shape.filter.group,
        ..types::ShapeData::default()
    };
    match &shape.geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } => {
            flat.kind = types::CIRCLE;
            flat.radius = *radius;
            flat.bound = *radius;
        }
        Geometry::Box { half, radius } => {
            flat.kind = types::BOX;
            flat.half = (*half).into();
            flat.radius = *radius;
            flat.bound = half.length() + radius;
        }
        Geometry::HalfPlane { normal, offset } => {
            // The y axis is the normal, the centre the point of the surface nearest to the shape's origin.
            let axis = Vec2::new(normal.y, -normal.x);
            flat.kind = types::HALF_PLANE;
            flat.rotation = math::mul_rotation(turn, axis).into();
            flat.offset = (shape.offset - center + math::rotate(turn, *normal * *offset)).into();
        }
        Geometry::Capsule { .. } | Geometry::Segment { .. } | Geometry::Link { .. } | Geometry::Polygon { .. } => {
            let outline = Outline::of(&shape.geometry);
            // Vertices are from the middle of their bounding box, so that the bound is tight and no digits are lost.
            let (low, high) = outline
                .points
                .iter()
                .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), &point| (low.min(point), high.max(point)));
            let middle = 0.5 * (low + high);
            flat.kind = types::POLYGON | u32_from(outline.points.len()) << types::VERTEX_COUNT_SHIFT;
            flat.first_vertex = u32_from(vertices.len());
            flat.offset = (shape.offset - center + math::rotate(turn, middle)).into();
            flat.radius = outline.radius;
            let reach = outline.points.iter().map(|&point| (point - middle).length()).fold(0.0, f32::max);
            flat.bound = reach + outline.radius;
            vertices.extend(outline.points.iter().map(|&point| <[f32; 2]>::from(point - middle)));
            if let Geometry::Link { a, b, before, after } = shape.geometry {
                flat.kind |= types::LINK_SHAPE | if shape.one_way { types::ONE_WAY_SHAPE } else { 0 };
                vertices.push([before.map(|before| [before, a, b]), after.map(|after| [a, b, after])].map(own_angle));
            }
        }
    }
    flat.kind |= material.index.map_or(0, |index| (u32::from(index) + 1) << types::MATERIAL_SHIFT);
    flat
}

/// Returns the cosine of the angle from the normal of a link up to which contacts at its end are its own: half the turn
/// to the left of the corner with its neighbor; none at a turn to the right. A free end has all on its side.
fn own_angle(corner: Option<[Vec2; 3]>) -> f32 {
    let Some(points) = corner else { return 0.0 };
    let [from, middle, to] = points.map(Vec2::as_dvec2);
    let (before, after) = ((middle - from).normalize_or_zero(), (to - middle).normalize_or_zero());
    if before.perp_dot(after) <= 0.0 && before.dot(after) > 0.0 || before.perp_dot(after) < 0.0 {
        return 1.0;
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let cosine = (0.5 * (1.0 + before.dot(after))).max(0.0).sqrt() as f32;
    cosine
}

/// Outline of a shape: the corners of a convex polygon, counter-clockwise, and a radius around it. One point is a disc,
/// two are a capsule.
pub(crate) struct Outline {
    pub points: Vec<Vec2>,
    pub radius: f32,
}

impl Outline {
    /// Returns the outline of a geometry; without points for a half plane.
    pub fn of(geometry: &Geometry) -> Self {
        let (points, radius) = match geometry {
            Geometry::Circle { radius } | Geometry::Particle { radius } => (vec![Vec2::ZERO], *radius),
            Geometry::Box { half, radius } => {
                let corner = |x: f32, y: f32| Vec2::new(x * half.x, y * half.y);
                (vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)], *radius)
            }
            Geometry::Capsule { a, b, radius } => (vec![*a, *b], *radius),
            Geometry::Segment { a, b } | Geometry::Link { a, b, .. } => (vec![*a, *b], 0.0),
            Geometry::Polygon { points, radius } => (points.clone(), *radius),
            Geometry::HalfPlane { .. } => (Vec::new(), 0.0),
        };
        Self { points, radius }
    }
}

/// Returns half the smallest width of a shape, m, which decides whether a fast body can tunnel through it.
pub(super) fn thickness(geometry: &Geometry) -> f32 {
    match geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } | Geometry::Capsule { radius, .. } => *radius,
        Geometry::Box { half, radius } => half.min_element() + radius,
        Geometry::Segment { .. } | Geometry::Link { .. } => 0.0,
        Geometry::HalfPlane { .. } => f32::INFINITY,
        Geometry::Polygon { points, radius } => {
            // Width across each edge; the smallest is that of the polygon.
            let width = (0..points.len()).map(|edge| {
                let (from, to) = (points[edge], points[(edge + 1) % points.len()]);
                let normal = Vec2::new(to.y - from.y, from.x - to.x).normalize_or_zero();
                points.iter().map(|&point| (from - point).dot(normal)).fold(0.0, f32::max)
            });
            0.5 * width.fold(f32::INFINITY, f32::min) + radius
        }
    }
}
