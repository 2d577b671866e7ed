//! Mass, centre of mass and moment of inertia of a body, from the areas and densities of its shapes.

use super::shape::Outline;
use crate::math::rotation;
use crate::scene::{Body, BodyType, Geometry};
use glam::Vec2;

/// Mass, inertia and centre of one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MassProperties {
    /// Mass, kg; 0 for static and kinematic bodies.
    pub mass: f32,
    /// Moment of inertia about the centre of mass, kg·m²; 0 for static and kinematic bodies and for fixed rotation.
    pub inertia: f32,
    /// Centre of mass in the body's frame, m.
    pub center: Vec2,
}

/// Returns mass, inertia and centre of a body.
pub(in crate::scene) fn mass_properties(body: &Body) -> MassProperties {
    acting_mass(body, dynamic_mass(body))
}

/// Returns mass, inertia and centre of a body by its type. `full` are those that it has if it is dynamic and turns.
pub(super) fn acting_mass(body: &Body, full: MassProperties) -> MassProperties {
    match body.kind {
        // The velocity of a kinematic body is that of its origin, about which it turns.
        BodyType::Kinematic => MassProperties::default(),
        // Any point is right for a body that never moves; its middle keeps lever arms short.
        BodyType::Static => MassProperties { center: full.center, ..MassProperties::default() },
        BodyType::Dynamic if never_turns(body) => MassProperties { inertia: 0.0, ..full },
        BodyType::Dynamic => full,
    }
}

/// Returns mass, inertia and centre that a body has if it is dynamic and turns. Integrated in f64: compound bodies far
/// from their origin would lose digits in f32.
pub(crate) fn dynamic_mass(body: &Body) -> MassProperties {
    let (mut mass, mut moment, mut about_origin) = (0.0_f64, glam::DVec2::ZERO, 0.0_f64);
    for shape in &body.shapes {
        let (area, middle, own) = area_integrals(&shape.geometry);
        let density = f64::from(shape.density);
        let turn = rotation(shape.rotation).as_dvec2();
        let offset = shape.offset.as_dvec2() + turn.rotate(middle);
        mass += density * area;
        moment += density * area * offset;
        about_origin += density * (own + area * offset.length_squared());
    }
    let center = if mass > 0.0 { moment / mass } else { glam::DVec2::ZERO };
    let mut inertia = about_origin - mass * center.length_squared();
    if let Some(given) = body.mass {
        inertia = if mass > 0.0 { inertia * f64::from(given) / mass } else { 0.0 };
        mass = f64::from(given);
    }
    if let Some(given) = body.inertia {
        inertia = f64::from(given);
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    MassProperties { mass: mass as f32, inertia: inertia as f32, center: center.as_vec2() }
}

/// Returns true if the body never turns: it has fixed rotation, or is a particle.
pub(in crate::scene) fn never_turns(body: &Body) -> bool {
    body.fixed_rotation || body.shapes.iter().any(|shape| matches!(shape.geometry, Geometry::Particle { .. }))
}

/// Returns area, centre and second moment of area about that centre, of a shape about its own origin; m², m, m⁴.
fn area_integrals(geometry: &Geometry) -> (f64, glam::DVec2, f64) {
    // Parts: the polygon as signed triangles about the first point, a rectangle on each edge, a sector at each corner.
    let outline = Outline::of(geometry);
    let radius = f64::from(outline.radius);
    let points: Vec<glam::DVec2> = outline.points.iter().map(|point| point.as_dvec2()).collect();
    let (mut area, mut moment, mut about_origin) = (0.0, glam::DVec2::ZERO, 0.0);
    let mut add = |a: f64, center: glam::DVec2, own: f64| {
        area += a;
        moment += a * center;
        about_origin += own + a * center.length_squared();
    };
    let Some(&first) = points.first() else { return (0.0, glam::DVec2::ZERO, 0.0) };
    if let Geometry::Box { half, radius: 0.0 } = geometry {
        let half = half.as_dvec2();
        let area = 4.0 * half.x * half.y;
        return (area, glam::DVec2::ZERO, area * half.length_squared() / 3.0);
    }
    if points.len() == 1 {
        let disc = std::f64::consts::PI * radius * radius;
        return (disc, first, 0.5 * disc * radius * radius);
    }
    for pair in points.windows(2).skip(1) {
        let (u, v) = (pair[0] - first, pair[1] - first);
        let triangle = 0.5 * u.perp_dot(v);
        let center = (u + v) / 3.0;
        let about_first = triangle * (u.dot(u) + u.dot(v) + v.dot(v)) / 6.0;
        add(triangle, first + center, about_first - triangle * center.length_squared());
    }
    for (index, &from) in points.iter().enumerate() {
        let to = points[(index + 1) % points.len()];
        let next = points[(index + 2) % points.len()];
        let (edge, following) = (to - from, next - to);
        let length = edge.length();
        let outward = |edge: glam::DVec2| glam::DVec2::new(edge.y, -edge.x).normalize_or_zero();
        let strip = length * radius;
        add(
            strip,
            0.5 * (from + to) + 0.5 * radius * outward(edge),
            strip * (length * length + radius * radius) / 12.0,
        );
        let angle = edge.perp_dot(following).atan2(edge.dot(following)).rem_euclid(std::f64::consts::TAU);
        if angle > 0.0 && radius > 0.0 {
            let sector = 0.5 * angle * radius * radius;
            let reach = 2.0 * radius / 3.0 * (0.5 * angle).sin() / (0.5 * angle);
            let half_way = glam::DVec2::from_angle(0.5 * angle).rotate(outward(edge));
            let own = 0.5 * sector * radius * radius - sector * reach * reach;
            add(sector, to + reach * half_way, own);
        }
    }
    if area <= 0.0 {
        return (0.0, 0.5 * (first + points[points.len() - 1]), 0.0);
    }
    let center = moment / area;
    (area, center, about_origin - area * center.length_squared())
}
