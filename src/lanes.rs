//! Four constraints at a time: the same arithmetic as [`crate::math`], on lanes. Each lane does exactly what one
//! constraint alone would, so grouping never changes a bit.

use std::f32::consts::{FRAC_PI_2, PI};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};
pub use wide::f32x4;

use crate::math::ANGLE_SERIES;

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

    /// Lengths.
    #[inline(always)]
    #[must_use]
    pub fn length(self) -> f32x4 {
        self.dot(self).sqrt()
    }

    /// This where `mask` is all ones, `other` where it is 0.
    #[inline(always)]
    #[must_use]
    pub fn where_else(self, mask: f32x4, other: Self) -> Self {
        Self { x: mask.bitselect(self.x, other.x), y: mask.bitselect(self.y, other.y) }
    }
}

impl Neg for Vec2x4 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { x: -self.x, y: -self.y }
    }
}

impl Div<f32x4> for Vec2x4 {
    type Output = Self;
    #[inline(always)]
    fn div(self, by: f32x4) -> Self {
        Self { x: self.x / by, y: self.y / by }
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

/// As [`crate::math::rotate`].
#[inline(always)]
#[must_use]
pub fn rotate(q: Vec2x4, v: Vec2x4) -> Vec2x4 {
    Vec2x4 { x: q.x * v.x - q.y * v.y, y: q.y * v.x + q.x * v.y }
}

/// As [`crate::math::inv_rotate`], and as [`crate::math::inv_mul_rotation`], which is the same arithmetic.
#[inline(always)]
#[must_use]
pub fn inv_rotate(q: Vec2x4, v: Vec2x4) -> Vec2x4 {
    Vec2x4 { x: q.x * v.x + q.y * v.y, y: q.x * v.y - q.y * v.x }
}

/// As [`crate::math::clamped`].
#[inline(always)]
#[must_use]
pub fn clamped(value: f32x4, low: f32x4, high: f32x4) -> f32x4 {
    let value = value.simd_lt(low).bitselect(low, value);
    value.simd_gt(high).bitselect(high, value)
}

/// As [`crate::math::effective_mass`].
#[inline(always)]
#[must_use]
pub fn effective_mass(inv: [f32x4; 4], r_a: Vec2x4, r_b: Vec2x4, direction: Vec2x4) -> f32x4 {
    let (zero, one) = (f32x4::splat(0.0), f32x4::splat(1.0));
    let (arm_a, arm_b) = (cross(r_a, direction), cross(r_b, direction));
    let k = inv[0] + inv[2] + inv[1] * arm_a * arm_a + inv[3] * arm_b * arm_b;
    k.simd_gt(zero).bitselect(one / k, zero)
}

/// As [`crate::math::angle_of`].
#[inline(always)]
#[must_use]
pub fn angle_of(q: Vec2x4) -> f32x4 {
    let zero = f32x4::splat(0.0);
    let (x, y) = (q.x.abs(), q.y.abs());
    let (small, large) = (x.fast_min(y), x.fast_max(y));
    let t = small / large;
    let t2 = t * t;
    let mut series = f32x4::splat(ANGLE_SERIES[0]);
    for &term in &ANGLE_SERIES[1..] {
        series = series * t2 + f32x4::splat(term);
    }
    let mut angle = t + t * (t2 * series);
    angle = y.simd_gt(x).bitselect(f32x4::splat(FRAC_PI_2) - angle, angle);
    angle = q.x.simd_lt(zero).bitselect(f32x4::splat(PI) - angle, angle);
    angle = q.y.simd_lt(zero).bitselect(-angle, angle);
    large.simd_le(zero).bitselect(zero, angle)
}
