//! Shapes of every kind, and deterministic pseudo-random numbers.

use drystone::Shape;
use glam::Vec2;

/// Xorshift generator.
pub struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f64) as usize).min(end - 1)
    }
}

/// Returns a regular polygon with a vertex on the +x axis.
pub fn regular(count: u16, radius: f32) -> Vec<Vec2> {
    (0..count)
        .map(|index| Vec2::from_angle(std::f32::consts::TAU * f32::from(index) / f32::from(count)) * radius)
        .collect()
}

/// Returns a polygon with rounded corners.
pub fn rounded(points: Vec<Vec2>, radius: f32) -> Shape {
    Shape::new(drystone::Geometry::Polygon { points, radius })
}

/// Returns one shape of every bounded kind, slender and stout, sharp and rounded, centred and not.
pub fn shapes() -> Vec<(&'static str, Shape)> {
    vec![
        ("circle", Shape::circle(0.4)),
        ("particle", Shape::particle(0.05)),
        ("box", Shape::half_box(0.5, 0.3)),
        ("slender box", Shape::half_box(1.5, 0.05)),
        ("rounded box", Shape::rounded_box(0.4, 0.2, 0.1)),
        ("capsule", Shape::capsule([-0.6, 0.0], [0.6, 0.0], 0.2)),
        ("tilted capsule", Shape::capsule([0.1, -0.2], [0.7, 0.5], 0.05)),
        ("segment", Shape::segment([-1.0, -0.2], [0.8, 0.3])),
        ("triangle", Shape::polygon([[-0.5, -0.4], [0.6, -0.3], [0.1, 0.7]])),
        ("sliver", Shape::polygon([[-1.0, 0.0], [1.0, -0.02], [1.2, 0.03]])),
        ("hexagon", Shape::polygon(regular(6, 0.5))),
        ("octagon", Shape::polygon(regular(8, 0.7)).offset(0.2, -0.3).rotation(0.4)),
        ("rounded triangle", rounded(regular(3, 0.4), 0.15)),
        ("large box", Shape::half_box(6.0, 2.0)),
    ]
}
