//! Arithmetic on eight constraints at a time: the functions of [`math`](crate::low_level::math) on SIMD lanes. Each
//! lane computes exactly the result of scalar code for its constraint, so that neither the grouping nor the width of
//! the processor's registers changes a bit.
//!
//! The instruction set is detected at run time: code over lanes is compiled twice on x86, for SSE2 and for AVX2, and
//! `dispatch!` selects one, for a batch of constraints at a time. (A version for AVX-512 was a twentieth slower on
//! eight lanes.) Nothing is fused: a product and a sum are two roundings everywhere.
//!
//! [`Lanes`] and [`VecLanes`] are in memory, `f32x8` and [`Vec2x8`] in registers. Functions over the latter are
//! `inline(always)`, or they would be compiled for the baseline instruction set.

use std::f32::consts::{FRAC_PI_2, PI};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};
pub use fearless_simd::prelude::*;
pub use fearless_simd::{f32x4, f32x8, i32x4, i32x8, mask32x4, mask32x8, u32x8};

use crate::math::{ANGLE_SERIES, HALF_TANGENT};

/// Number of lanes: constraints that are solved side by side.
pub const WIDTH: usize = 8;

/// Environment variable. `off` restricts the CPU engine to the baseline instruction set of its architecture: to measure
/// what AVX2 gains, and to check that it changes no result.
pub const SIMD_VARIABLE: &str = "DRYSTONE_SIMD";

/// Runs code over lanes, compiled for each instruction set; `simd` is the token that proves support.
#[cfg(target_arch = "x86_64")]
macro_rules! dispatch {
    ($simd:pat => $code:expr) => {{
        use fearless_simd::Simd as _;
        match $crate::lanes::processor() {
            $crate::lanes::Processor::Avx2(avx2) => avx2.vectorize(
                #[inline(always)]
                || {
                    let $simd = avx2;
                    $code
                },
            ),
            $crate::lanes::Processor::Sse2(sse2) => {
                let $simd = sse2;
                $code
            }
        }
    }};
}

/// Runs code over lanes; `simd` is the token that proves support.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! dispatch {
    ($simd:pat => $code:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::new(), $simd => $code)
    };
}

pub(crate) use dispatch;

/// Instruction set of code over lanes on x86-64, with the token that proves support.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub enum Processor {
    /// AVX2: eight numbers per instruction.
    Avx2(fearless_simd::Avx2),
    /// SSE2: four numbers per instruction, on every x86-64 processor.
    Sse2(fearless_simd::Sse2),
}

/// Returns the best instruction set that this processor supports and [`SIMD_VARIABLE`] allows.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(clippy::missing_panics_doc, reason = "every x86-64 has SSE2")]
pub fn processor() -> Processor {
    static PROCESSOR: std::sync::OnceLock<Processor> = std::sync::OnceLock::new();
    *PROCESSOR.get_or_init(|| {
        let off = std::env::var_os(SIMD_VARIABLE).is_some_and(|value| value == "off");
        let level = fearless_simd::Level::new();
        match level.as_avx2().filter(|_| !off) {
            Some(avx2) => Processor::Avx2(avx2),
            None => Processor::Sse2(level.as_sse2().expect("every x86-64 has SSE2")),
        }
    })
}

/// Returns the instruction set in use and its width, for reports.
#[must_use]
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return match processor() {
        Processor::Avx2(_) => "AVX2, 8 wide",
        Processor::Sse2(_) => "SSE2, 4 wide",
    };
    #[cfg(not(target_arch = "x86_64"))]
    if cfg!(target_arch = "aarch64") { "NEON, 4 wide" } else { "scalar" }
}

/// Eight numbers in memory.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Lanes(pub [f32; WIDTH]);

impl Lanes {
    /// Loads the numbers into registers.
    #[inline(always)]
    #[must_use]
    pub fn on<S: Simd>(&self, simd: S) -> f32x8<S> {
        f32x8::load_array_ref(simd, &self.0)
    }

    /// Stores the numbers.
    #[inline(always)]
    pub fn put<S: Simd>(&mut self, lanes: f32x8<S>) {
        lanes.store_array(&mut self.0);
    }
}

/// Eight plane vectors in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct VecLanes {
    /// x components.
    pub x: Lanes,
    /// y components.
    pub y: Lanes,
}

impl VecLanes {
    /// Loads the vectors into registers.
    #[inline(always)]
    #[must_use]
    pub fn on<S: Simd>(&self, simd: S) -> Vec2x8<S> {
        Vec2x8 { x: self.x.on(simd), y: self.y.on(simd) }
    }

    /// Stores the vectors.
    #[inline(always)]
    pub fn put<S: Simd>(&mut self, vectors: Vec2x8<S>) {
        self.x.put(vectors.x);
        self.y.put(vectors.y);
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::{__m256, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps};
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{__m256, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps};

    fearless_simd::kernel! {
        /// AVX2 form of [`super::transpose`].
        #[inline(always)]
        pub fn transpose(_avx2: Avx2, a: __m256, b: __m256, c: __m256, d: __m256) -> [__m256; 4] {
            let (low_ab, high_ab) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (low_cd, high_cd) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            [
                _mm256_shuffle_ps::<0x44>(low_ab, low_cd),
                _mm256_shuffle_ps::<0xee>(low_ab, low_cd),
                _mm256_shuffle_ps::<0x44>(high_ab, high_cd),
                _mm256_shuffle_ps::<0xee>(high_ab, high_cd),
            ]
        }
    }
}

/// Transposes two matrices of four by four, one in the lower halves and one in the upper.
#[inline(always)]
#[must_use]
pub fn transpose<S: Simd>([a, b, c, d]: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    let simd = a.simd;
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(avx2) = simd.level().as_avx2() {
        let to = |lanes: f32x8<S>| f32x8::load_array(avx2, lanes.to_array()).into();
        let [x, y, z, w] = x86::transpose(avx2, to(a), to(b), to(c), to(d));
        let from = |lanes| {
            let lanes: f32x8<_> = SimdInto::simd_into(lanes, avx2);
            f32x8::load_array(simd, lanes.to_array())
        };
        return [from(x), from(y), from(z), from(w)];
    }
    let half = |a: f32x4<S>, b: f32x4<S>, c: f32x4<S>, d: f32x4<S>| {
        let (low_ac, high_ac) = (a.zip_low(c), a.zip_high(c));
        let (low_bd, high_bd) = (b.zip_low(d), b.zip_high(d));
        [low_ac.zip_low(low_bd), low_ac.zip_high(low_bd), high_ac.zip_low(high_bd), high_ac.zip_high(high_bd)]
    };
    let ((a, a_4), (b, b_4), (c, c_4), (d, d_4)) = (a.split(), b.split(), c.split(), d.split());
    let [x, y, z, w] = half(a, b, c, d);
    let [x_4, y_4, z_4, w_4] = half(a_4, b_4, c_4, d_4);
    [x.combine(x_4), y.combine(y_4), z.combine(z_4), w.combine(w_4)]
}

/// Returns eight rows of four numbers as four columns, with a lane for each row.
#[inline(always)]
#[must_use]
pub fn columns<S: Simd>([a, b, c, d, e, f, g, h]: [f32x4<S>; WIDTH]) -> [f32x8<S>; 4] {
    transpose([a.combine(e), b.combine(f), c.combine(g), d.combine(h)])
}

/// Returns four columns as eight rows.
#[inline(always)]
#[must_use]
pub fn rows<S: Simd>(columns: [f32x8<S>; 4]) -> [f32x4<S>; WIDTH] {
    let [a, b, c, d] = transpose(columns);
    let ((a, e), (b, f), (c, g), (d, h)) = (a.split(), b.split(), c.split(), d.split());
    [a, b, c, d, e, f, g, h]
}

/// Eight 2D vectors in SIMD registers.
#[derive(Clone, Copy, Debug)]
pub struct Vec2x8<S: Simd> {
    /// x components.
    pub x: f32x8<S>,
    /// y components.
    pub y: f32x8<S>,
}

impl<S: Simd> Vec2x8<S> {
    /// Creates eight vectors from their components.
    #[inline(always)]
    #[must_use]
    pub fn new(x: f32x8<S>, y: f32x8<S>) -> Self {
        Self { x, y }
    }

    /// Returns eight zero vectors.
    #[inline(always)]
    #[must_use]
    pub fn zero(simd: S) -> Self {
        Self { x: f32x8::splat(simd, 0.0), y: f32x8::splat(simd, 0.0) }
    }

    /// Returns the scalar products.
    #[inline(always)]
    #[must_use]
    pub fn dot(self, other: Self) -> f32x8<S> {
        self.x * other.x + self.y * other.y
    }

    /// Returns the lengths.
    #[inline(always)]
    #[must_use]
    pub fn length(self) -> f32x8<S> {
        self.dot(self).sqrt()
    }

    /// Returns this vector in lanes in which `mask` is set, `other` elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn where_else(self, mask: mask32x8<S>, other: Self) -> Self {
        Self { x: mask.select(self.x, other.x), y: mask.select(self.y, other.y) }
    }
}

impl<S: Simd> Neg for Vec2x8<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { x: -self.x, y: -self.y }
    }
}

impl<S: Simd> Div<f32x8<S>> for Vec2x8<S> {
    type Output = Self;
    #[inline(always)]
    fn div(self, by: f32x8<S>) -> Self {
        Self { x: self.x / by, y: self.y / by }
    }
}

impl<S: Simd> Add for Vec2x8<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

impl<S: Simd> Sub for Vec2x8<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }
}

impl<S: Simd> Mul<f32x8<S>> for Vec2x8<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: f32x8<S>) -> Self {
        Self { x: self.x * scale, y: self.y * scale }
    }
}

impl<S: Simd> AddAssign for Vec2x8<S> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<S: Simd> SubAssign for Vec2x8<S> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// [`crate::math::cross`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn cross<S: Simd>(a: Vec2x8<S>, b: Vec2x8<S>) -> f32x8<S> {
    a.x * b.y - a.y * b.x
}

/// [`crate::math::cross_scalar`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn cross_scalar<S: Simd>(s: f32x8<S>, v: Vec2x8<S>) -> Vec2x8<S> {
    Vec2x8 { x: -(s * v.y), y: s * v.x }
}

/// [`crate::math::right_perp`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn right_perp<S: Simd>(v: Vec2x8<S>) -> Vec2x8<S> {
    Vec2x8 { x: v.y, y: -v.x }
}

/// [`crate::math::turned`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn turned<S: Simd>(q: Vec2x8<S>, v: Vec2x8<S>) -> Vec2x8<S> {
    let less = q.x - 1.0;
    Vec2x8 { x: less * v.x - q.y * v.y, y: q.y * v.x + less * v.y }
}

/// [`crate::math::rotate`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn rotate<S: Simd>(q: Vec2x8<S>, v: Vec2x8<S>) -> Vec2x8<S> {
    Vec2x8 { x: q.x * v.x - q.y * v.y, y: q.y * v.x + q.x * v.y }
}

/// [`crate::math::inv_rotate`] on eight lanes, and [`crate::math::inv_mul_rotation`], which is the same arithmetic.
#[inline(always)]
#[must_use]
pub fn inv_rotate<S: Simd>(q: Vec2x8<S>, v: Vec2x8<S>) -> Vec2x8<S> {
    Vec2x8 { x: q.x * v.x + q.y * v.y, y: q.x * v.y - q.y * v.x }
}

/// [`crate::math::clamped`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn clamped<S: Simd>(value: f32x8<S>, low: f32x8<S>, high: f32x8<S>) -> f32x8<S> {
    let value = value.simd_lt(low).select(low, value);
    value.simd_gt(high).select(high, value)
}

/// Returns the inverse of positive numbers, 0 for others.
#[inline(always)]
#[must_use]
pub fn inverse<S: Simd>(simd: S, k: f32x8<S>) -> f32x8<S> {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    k.simd_gt(zero).select(one / k, zero)
}

/// [`crate::math::effective_mass`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn effective_mass<S: Simd>(inv: [f32x8<S>; 4], r_a: Vec2x8<S>, r_b: Vec2x8<S>, direction: Vec2x8<S>) -> f32x8<S> {
    let simd = direction.x.simd;
    let (arm_a, arm_b) = (cross(r_a, direction), cross(r_b, direction));
    let k = inv[0] + inv[2] + inv[1] * arm_a * arm_a + inv[3] * arm_b * arm_b;
    inverse(simd, k)
}

/// [`crate::math::integrate_rotation`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn integrate_rotation<S: Simd>(q: Vec2x8<S>, angle: f32x8<S>) -> Vec2x8<S> {
    let simd = angle.simd;
    let half = angle * 0.5;
    let square = half * half;
    let one = f32x8::splat(simd, 1.0);
    let n = half * (one - square * HALF_TANGENT[0]);
    let d = one - square * (f32x8::splat(simd, HALF_TANGENT[1]) - square * HALF_TANGENT[2]);
    let (cos, sin) = (d * d - n * n, n * 2.0 * d);
    let turned = Vec2x8 { x: cos * q.x - sin * q.y, y: cos * q.y + sin * q.x };
    let length = turned.length();
    let zero = f32x8::splat(simd, 0.0);
    (turned / length).where_else(length.simd_gt(zero), Vec2x8 { x: one, y: zero })
}

/// [`crate::math::angle_of`] on eight lanes.
#[inline(always)]
#[must_use]
pub fn angle_of<S: Simd>(q: Vec2x8<S>) -> f32x8<S> {
    let simd = q.x.simd;
    let zero = f32x8::splat(simd, 0.0);
    let (x, y) = (q.x.abs(), q.y.abs());
    let (small, large) = (x.min(y), x.max(y));
    let t = small / large;
    let t2 = t * t;
    let mut series = f32x8::splat(simd, ANGLE_SERIES[0]);
    for &term in &ANGLE_SERIES[1..] {
        series = series * t2 + term;
    }
    let mut angle = t + t * (t2 * series);
    angle = y.simd_gt(x).select(f32x8::splat(simd, FRAC_PI_2) - angle, angle);
    angle = q.x.simd_lt(zero).select(f32x8::splat(simd, PI) - angle, angle);
    angle = q.y.simd_lt(zero).select(-angle, angle);
    large.simd_le(zero).select(zero, angle)
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use crate::math;

    const NUMBERS: [f32; WIDTH] = [0.0, -0.0, 1.5, -2.25, 3e-39, -7e8, f32::MAX, 0.1];

    /// Returns the numbers in another order.
    fn shuffled(factor: usize, first: usize) -> [f32; WIDTH] {
        std::array::from_fn(|at| NUMBERS[(factor * at + first) % WIDTH])
    }

    /// Transposes matrices in which row `r` of matrix `m` is `100 m + 10 r + column`.
    fn transposed<S: Simd>(simd: S) -> [[f32; WIDTH]; 4] {
        let row = |row: usize| f32x8::from_fn(simd, |at| (100 * (at / 4) + 10 * row + at % 4) as f32);
        transpose([row(0), row(1), row(2), row(3)]).map(SimdBase::to_array)
    }

    fn bits(vectors: &[Vec2], numbers: &[f32]) -> Vec<u32> {
        let vectors = vectors.iter().flat_map(|v| [v.x, v.y]);
        vectors.chain(numbers.iter().copied()).map(f32::to_bits).collect()
    }

    /// Returns the results of the lane functions, lane by lane.
    fn computed<S: Simd>(simd: S) -> [Vec<u32>; WIDTH] {
        let load = |factor, first| f32x8::load_array(simd, shuffled(factor, first));
        let (a, b) = (Vec2x8::new(load(1, 0), load(1, 3)), Vec2x8::new(load(7, 7), load(5, 0)));
        let inv = [load(3, 2), load(1, 5), load(3, 1), load(5, 6)].map(SimdBase::abs);
        let vectors = [
            a + b,
            a - b,
            -a,
            a * b.x,
            rotate(a, b),
            inv_rotate(a, b),
            turned(a, b),
            right_perp(a),
            cross_scalar(b.y, a),
            integrate_rotation(a, b.x),
        ];
        let numbers = [
            a.dot(b),
            cross(a, b),
            clamped(a.x, -inv[0], inv[0]),
            angle_of(a),
            effective_mass(inv, a, b, right_perp(b)),
        ];
        let vectors = vectors.map(|v| (v.x.to_array(), v.y.to_array()));
        let numbers = numbers.map(SimdBase::to_array);
        std::array::from_fn(|lane| {
            bits(&vectors.map(|(x, y)| Vec2::new(x[lane], y[lane])), &numbers.map(|numbers| numbers[lane]))
        })
    }

    /// Returns the results of [`math`](crate::low_level::math) for one lane.
    fn expected(lane: usize) -> Vec<u32> {
        let load = |factor, first| shuffled(factor, first)[lane];
        let (a, b) = (Vec2::new(load(1, 0), load(1, 3)), Vec2::new(load(7, 7), load(5, 0)));
        let inv = [load(3, 2), load(1, 5), load(3, 1), load(5, 6)].map(f32::abs);
        bits(
            &[
                a + b,
                a - b,
                -a,
                a * b.x,
                math::rotate(a, b),
                math::inv_rotate(a, b),
                math::turned(a, b),
                math::right_perp(a),
                math::cross_scalar(b.y, a),
                math::integrate_rotation(a, b.x),
            ],
            &[
                a.dot(b),
                math::cross(a, b),
                math::clamped(a.x, -inv[0], inv[0]),
                math::angle_of(a),
                math::effective_mass(inv, a, b, math::right_perp(b)),
            ],
        )
    }

    #[test]
    fn matrices_are_transposed() {
        let expected: [[f32; WIDTH]; 4] =
            std::array::from_fn(|column| std::array::from_fn(|at| (100 * (at / 4) + 10 * (at % 4) + column) as f32));
        assert_eq!(dispatch!(simd => transposed(simd)), expected);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(transposed(fearless_simd::Level::new().as_sse2().unwrap()), expected);
    }

    #[test]
    fn each_lane_has_the_bits_of_one_alone() {
        let widest = dispatch!(simd => computed(simd));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(computed(fearless_simd::Level::new().as_sse2().unwrap()), widest);
        for (lane, computed) in widest.iter().enumerate() {
            // All NaNs count as equal.
            let same = |&(&a, &b): &(&u32, &u32)| a == b || (f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan());
            let expected = expected(lane);
            assert!(computed.iter().zip(&expected).all(|pair| same(&pair)), "{computed:x?}, {expected:x?}");
            // Negative control: another lane has other results.
            let other = &widest[(lane + 1) % WIDTH];
            assert!(!other.iter().zip(&expected).all(|pair| same(&pair)));
        }
    }
}
