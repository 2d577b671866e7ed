//! Area, centre and moment of inertia against sums over a fine raster of points.

use drystone::low_level::scene::Compiled;
use drystone::{Body, Geometry, Scene, Shape};
use glam::DVec2;

use crate::shapes::kit::{regular, rounded, shapes};

/// Returns the distance from a point to the core of a shape (0 inside), in its own frame.
fn core_distance(points: &[DVec2], at: DVec2) -> f64 {
    let count = points.len();
    let edges = || (0..count).map(|index| (points[index], points[(index + 1) % count]));
    if count > 2 && edges().all(|(from, to)| (to - from).perp_dot(at - from) >= 0.0) {
        return 0.0;
    }
    edges()
        .map(|(from, to)| {
            let edge = to - from;
            let share = if count > 1 { ((at - from).dot(edge) / edge.length_squared()).clamp(0.0, 1.0) } else { 0.0 };
            (at - from - edge * share).length()
        })
        .fold(f64::INFINITY, f64::min)
}

fn outline(geometry: &Geometry) -> (Vec<DVec2>, f64) {
    match geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } => (vec![DVec2::ZERO], f64::from(*radius)),
        Geometry::Box { half, radius } => {
            let half = half.as_dvec2();
            let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
            (corners.map(|c: [f64; 2]| half * DVec2::from(c)).into(), f64::from(*radius))
        }
        Geometry::Capsule { a, b, radius } => (vec![a.as_dvec2(), b.as_dvec2()], f64::from(*radius)),
        Geometry::Polygon { points, radius } => {
            (points.iter().map(|point| point.as_dvec2()).collect(), f64::from(*radius))
        }
        Geometry::Segment { .. } | Geometry::Link { .. } | Geometry::HalfPlane { .. } => panic!("has no area"),
    }
}

/// Returns mass, centre and inertia of a shape of density 1 about its own origin, from 1500 × 1500 points.
fn raster(geometry: &Geometry) -> (f64, DVec2, f64) {
    const COUNT: u32 = 1500;
    let (points, radius) = outline(geometry);
    let low = points.iter().copied().fold(DVec2::INFINITY, DVec2::min) - radius;
    let high = points.iter().copied().fold(DVec2::NEG_INFINITY, DVec2::max) + radius;
    let cell = (high - low) / f64::from(COUNT);
    let (mut count, mut first, mut second) = (0.0, DVec2::ZERO, 0.0);
    for row in 0..COUNT {
        for column in 0..COUNT {
            let at = low + cell * (DVec2::new(f64::from(column), f64::from(row)) + 0.5);
            if core_distance(&points, at) <= radius {
                count += 1.0;
                first += at;
                second += at.length_squared();
            }
        }
    }
    let area = cell.x * cell.y;
    let (mass, center) = (count * area, first / count);
    (mass, center, second * area - mass * center.length_squared())
}

#[test]
fn mass_properties_are_those_of_the_outline() {
    let mut all = shapes();
    all.push(("rounded pentagon beside its origin", {
        let points = regular(5, 0.4).into_iter().map(|point| point + glam::Vec2::new(2.0, -1.0)).collect();
        rounded(points, 0.2)
    }));
    for (name, shape) in all {
        if matches!(shape.geometry, Geometry::Segment { .. }) {
            continue;
        }
        let (mass, center, inertia) = raster(&shape.geometry);
        let mut scene = Scene::new(name);
        scene.add(Body::dynamic(0.0, 0.0).shape(shape.clone()));
        let found = Compiled::new(&scene).expect("valid").mass[0];
        // The rim of the raster is right to a point here and there: 4 · 1500 of 1500² points, most of them cancelling.
        let tolerance = 1e-3;
        let share = f64::from(found.mass) / mass;
        assert!((share - 1.0).abs() < tolerance, "{name}: mass {}, raster {mass}", found.mass);
        let turned = DVec2::from_angle(f64::from(shape.rotation)).rotate(center) + shape.offset.as_dvec2();
        let off = (found.center.as_dvec2() - turned).length();
        assert!(off < tolerance, "{name}: centre {}, raster {turned}", found.center);
        if matches!(shape.geometry, Geometry::Particle { .. }) {
            assert_eq!(found.inertia, 0.0, "{name} turns");
            continue;
        }
        let share = f64::from(found.inertia) / inertia;
        assert!((share - 1.0).abs() < 2.0 * tolerance, "{name}: inertia {}, raster {inertia}", found.inertia);
    }
}

/// Tests the raster itself, and that rounding is included.
#[test]
fn the_raster_is_accurate() {
    let (mass, center, inertia) = raster(&Shape::half_box(0.5, 0.25).geometry);
    assert!((mass - 0.5).abs() < 1e-9 && center.length() < 1e-9 && (inertia - 0.5 * 1.25 / 12.0).abs() < 1e-6);
    let (sharp, ..) = raster(&Shape::rounded_box(0.5, 0.25, 1e-9).geometry);
    let (round, ..) = raster(&Shape::rounded_box(0.5, 0.25, 0.05).geometry);
    let want = 0.5 + 3.0 * 0.05 + std::f64::consts::PI * 0.05 * 0.05;
    assert!((round - want).abs() < 1e-3 && (round - sharp).abs() > 0.1, "{round}, expected {want}");
}
