//! Vector and rotation arithmetic that Rust and WGSL share (`shaders/math.wgsl`): plain operations in a fixed order, so
//! that both sides agree and every CPU gives the same bits. No fused multiply-add, no library sine.

use glam::Vec2;

/// Returns the z component of the cross product of two vectors in the plane.
#[inline]
#[must_use]
pub fn cross(a: Vec2, b: Vec2) -> f32 {
    a.x * b.y - a.y * b.x
}

/// Angular velocity `s` × lever arm `v`: the velocity of the arm's end.
#[inline]
#[must_use]
pub fn cross_scalar(s: f32, v: Vec2) -> Vec2 {
    Vec2::new(-s * v.y, s * v.x)
}

/// Returns the vector turned by 90° clockwise: the tangent of a contact normal.
#[inline]
#[must_use]
pub fn right_perp(v: Vec2) -> Vec2 {
    Vec2::new(v.y, -v.x)
}

/// Turns `v` by the rotation `q` = (cos, sin).
#[inline]
#[must_use]
pub fn rotate(q: Vec2, v: Vec2) -> Vec2 {
    Vec2::new(q.x * v.x - q.y * v.y, q.y * v.x + q.x * v.y)
}

/// Turns `v` back by `q`.
#[inline]
#[must_use]
pub fn inv_rotate(q: Vec2, v: Vec2) -> Vec2 {
    Vec2::new(q.x * v.x + q.y * v.y, q.x * v.y - q.y * v.x)
}

/// Returns the displacement of `v` when turned by `q`: `(q − 1) v`. Small turns of long arms keep their digits, and a
/// body that does not turn contributes exactly zero.
#[inline]
#[must_use]
pub fn turned(q: Vec2, v: Vec2) -> Vec2 {
    let less = q.x - 1.0;
    Vec2::new(less * v.x - q.y * v.y, q.y * v.x + less * v.y)
}

/// Returns the time at which two discs touch, or are nearest, and true if they miss each other; `None` if they do not
/// approach. `between` is the vector between their centres, `radii` the sum of their radii.
#[inline]
#[must_use]
pub fn touch_time(between: Vec2, velocity: Vec2, radii: f32) -> Option<(f32, bool)> {
    let (speed_squared, closing) = (velocity.dot(velocity), between.dot(velocity));
    let discriminant = closing * closing - speed_squared * (between.dot(between) - radii * radii);
    let time = (-closing - larger(discriminant, 0.0).sqrt()) / speed_squared;
    (closing < 0.0).then_some((time, discriminant < 0.0))
}

/// Returns the rotation by `b`, then by `a`.
#[inline]
#[must_use]
pub fn mul_rotation(a: Vec2, b: Vec2) -> Vec2 {
    Vec2::new(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y)
}

/// Returns the rotation from `a` to `b`: `a⁻¹ b`.
#[inline]
#[must_use]
pub fn inv_mul_rotation(a: Vec2, b: Vec2) -> Vec2 {
    Vec2::new(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x)
}

/// Returns the rotation `q` after a turn by `angle`, rad: to 1e-6 rad up to a radian, to 0.01 rad up to four. With
/// `n/d` the tangent of half the angle (Padé), cosine and sine are `d² − n²` and `2 n d` over their norm: one root, as
/// for the first-order step (Box2D's `b2IntegrateRotation`), which turns by atan(angle). Angle 0 gives `q` back.
#[inline]
#[must_use]
pub fn integrate_rotation(q: Vec2, angle: f32) -> Vec2 {
    let half = 0.5 * angle;
    let square = half * half;
    let n = half * (1.0 - HALF_TANGENT[0] * square);
    let d = 1.0 - square * (HALF_TANGENT[1] - HALF_TANGENT[2] * square);
    let (cos, sin) = (d * d - n * n, 2.0 * n * d);
    let turned = Vec2::new(cos * q.x - sin * q.y, cos * q.y + sin * q.x);
    let length = (turned.x * turned.x + turned.y * turned.y).sqrt();
    if length > 0.0 { turned / length } else { Vec2::new(1.0, 0.0) }
}

/// Coefficients of the tangent in [`integrate_rotation`]: tan x = x (1 − 2/21 x²) / (1 − 3/7 x² + 1/105 x⁴).
pub(crate) const HALF_TANGENT: [f32; 3] = [2.0 / 21.0, 3.0 / 7.0, 1.0 / 105.0];

/// Coefficients of the series of [`angle_of`], the highest power first.
pub(crate) const ANGLE_SERIES: [f32; 8] = [
    0.002_866_225_7,
    -0.016_165_737,
    0.042_909_61,
    -0.075_289_64,
    0.106_562_64,
    -0.142_089,
    0.199_935_51,
    -0.333_331_45,
];

/// Returns the angle of a rotation (cos, sin), −π … π, to 1e-6 rad (Abramowitz and Stegun 4.4.49).
#[inline]
#[must_use]
pub fn angle_of(q: Vec2) -> f32 {
    let (x, y) = (q.x.abs(), q.y.abs());
    let (small, large) = (x.min(y), x.max(y));
    if large <= 0.0 {
        return 0.0;
    }
    let t = small / large;
    let t2 = t * t;
    let mut series = ANGLE_SERIES[0];
    for term in &ANGLE_SERIES[1..] {
        series = series * t2 + term;
    }
    let mut angle = t + t * (t2 * series);
    if y > x {
        angle = std::f32::consts::FRAC_PI_2 - angle;
    }
    if q.x < 0.0 {
        angle = std::f32::consts::PI - angle;
    }
    if q.y < 0.0 { -angle } else { angle }
}

/// Returns cosine and sine of an angle in rad, from our own series in f64, so that scenes start from the same bits
/// everywhere.
#[must_use]
pub fn rotation(angle: f32) -> Vec2 {
    use std::f64::consts::FRAC_PI_2;
    let angle = f64::from(angle);
    let quarter = (angle / FRAC_PI_2).round();
    let x = angle - quarter * FRAC_PI_2;
    let x2 = x * x;
    // Taylor to x¹⁵ and x¹⁴: below 1e-13 for |x| ≤ π/4.
    let mut sin = 0.0;
    for n in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sin = x2 / (n * (n - 1.0)) * (1.0 - sin);
    }
    let sin = x * (1.0 - sin);
    let mut cos = 0.0;
    for n in [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0] {
        cos = x2 / (n * (n - 1.0)) * (1.0 - cos);
    }
    let cos = 1.0 - cos;
    #[allow(clippy::cast_possible_truncation, reason = "an f32 angle has few quarters worth telling apart")]
    let (c, s) = match (quarter as i64).rem_euclid(4) {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    Vec2::new(c as f32, s as f32)
}

/// Returns `value` clamped to `low ..= high`. A zero keeps its sign, which `max` and `min` leave to the CPU.
#[inline]
#[must_use]
pub fn clamped(value: f32, low: f32, high: f32) -> f32 {
    let value = if value < low { low } else { value };
    if value > high { high } else { value }
}

/// Returns `a` if it is larger, else `b`; also `b` for two zeros or a NaN, where `max` leaves the result to the CPU.
#[inline]
#[must_use]
pub fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Returns `a` if it is smaller, else `b`; also `b` for two zeros or a NaN, where `min` leaves the result to the CPU.
#[inline]
#[must_use]
pub fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns false for NaN and infinities (by the bits: shading languages may assume that there are none).
#[inline]
#[must_use]
pub fn is_finite(v: f32) -> bool {
    v.to_bits() & 0x7f80_0000 != 0x7f80_0000
}

/// Returns the effective mass of a contact point along `direction`, kg; 0 if neither body moves. `inv` is 1/mass and
/// 1/inertia of A, then of B.
#[inline(always)]
#[must_use]
pub fn effective_mass(inv: [f32; 4], r_a: Vec2, r_b: Vec2, direction: Vec2) -> f32 {
    let k = inverse_mass_at(inv, r_a, r_b, direction);
    if k > 0.0 { 1.0 / k } else { 0.0 }
}

/// Returns the inverse of the effective mass of two bodies at a point, 1/kg; 0 if both are fixed.
#[inline(always)]
#[must_use]
pub fn inverse_mass_at(inv: [f32; 4], r_a: Vec2, r_b: Vec2, direction: Vec2) -> f32 {
    let (arm_a, arm_b) = (cross(r_a, direction), cross(r_b, direction));
    inv[0] + inv[2] + inv[1] * arm_a * arm_a + inv[3] * arm_b * arm_b
}
