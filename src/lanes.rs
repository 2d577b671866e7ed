//! Four constraints at a time: the same arithmetic as [`crate::math`], on lanes. Each lane does exactly what one
//! constraint alone would, so grouping never changes a bit.

use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};
pub use wide::f32x4;

/// Constraints that go through the solver side by side.
pub const WIDTH: usize = 4;

/// Four vectors in the plane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Vec2x4 {
    /// Four x.
    pub x: f32x4,
    /// Four y.
    pub y: f32x4,
}

impl Vec2x4 {
    /// From four x and four y.
    #[inline(always)]
    #[must_use]
    pub fn new(x: f32x4, y: f32x4) -> Self {
        Self { x, y }
    }

    /// Scalar product.
    #[inline(always)]
    #[must_use]
    pub fn dot(self, other: Self) -> f32x4 {
        self.x * other.x + self.y * other.y
    }
}

impl Add for Vec2x4 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

impl Sub for Vec2x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }
}

impl Mul<f32x4> for Vec2x4 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: f32x4) -> Self {
        Self { x: self.x * scale, y: self.y * scale }
    }
}

impl AddAssign for Vec2x4 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Vec2x4 {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// As [`crate::math::cross`].
#[inline(always)]
#[must_use]
pub fn cross(a: Vec2x4, b: Vec2x4) -> f32x4 {
    a.x * b.y - a.y * b.x
}

/// As [`crate::math::cross_scalar`].
#[inline(always)]
#[must_use]
pub fn cross_scalar(s: f32x4, v: Vec2x4) -> Vec2x4 {
    Vec2x4 { x: -(s * v.y), y: s * v.x }
}

/// As [`crate::math::right_perp`].
#[inline(always)]
#[must_use]
pub fn right_perp(v: Vec2x4) -> Vec2x4 {
    Vec2x4 { x: v.y, y: -v.x }
}

/// As [`crate::math::turned`].
#[inline(always)]
#[must_use]
pub fn turned(q: Vec2x4, v: Vec2x4) -> Vec2x4 {
    let less = q.x - f32x4::splat(1.0);
    Vec2x4 { x: less * v.x - q.y * v.y, y: q.y * v.x + less * v.y }
}
