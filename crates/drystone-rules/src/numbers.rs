//! Functions of WGSL that Rust does not have.

/// Converts to an integer as shaders do: clamped to the floats that the integer type can represent; NaN is 0.
#[expect(clippy::cast_possible_truncation)]
pub(crate) fn to_signed(value: f32) -> i32 {
    value.clamp(-2_147_483_648.0, 2_147_483_520.0) as i32
}

/// Converts to an unsigned integer: clamped to the floats that the integer type can represent; NaN is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn to_unsigned(value: f32) -> u32 {
    value.clamp(0.0, 4_294_967_040.0) as u32
}

/// Returns -1, 0 or 1. Rust's `signum` is never 0.
pub(crate) fn sign(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// Returns the value clamped to 0 … 1; 0 for NaN, as on most GPUs.
#[expect(clippy::manual_clamp)]
pub(crate) fn saturate(value: f32) -> f32 {
    value.max(0.0).min(1.0)
}

/// Returns a smooth transition from 0 at `low` to 1 at `high`.
pub(crate) fn smooth_step(low: f32, high: f32, value: f32) -> f32 {
    let t = saturate((value - low) / (high - low));
    t * t * (3.0 - 2.0 * t)
}

/// Returns `value * 2^exponent`, rounded once.
#[expect(clippy::cast_possible_truncation)]
pub(crate) fn ldexp(value: f32, exponent: i32) -> f32 {
    (f64::from(value) * 2.0_f64.powi(exponent.clamp(-400, 400))) as f32
}

/// Returns the index of the highest bit that is 1, or all bits if there is none.
pub(crate) fn first_leading_bit(value: u32) -> u32 {
    31_u32.wrapping_sub(value.leading_zeros())
}

/// Bounds of a bit field as WGSL clamps them: first bit and number of bits.
fn field(offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(32);
    (offset, count.min(32 - offset))
}

/// Returns `count` bits from `offset` on, zero-extended.
pub(crate) fn extract_unsigned(value: u32, offset: u32, count: u32) -> u32 {
    let (offset, count) = field(offset, count);
    if count == 0 { 0 } else { value << (32 - count - offset) >> (32 - count) }
}

/// Returns `count` bits from `offset` on, sign-extended.
pub(crate) fn extract_signed(value: u32, offset: u32, count: u32) -> u32 {
    let (offset, count) = field(offset, count);
    if count == 0 { 0 } else { ((value << (32 - count - offset)).cast_signed() >> (32 - count)).cast_unsigned() }
}

/// Replaces `count` bits of `value` from `offset` on by the lowest bits of `new`.
pub(crate) fn insert(value: u32, new: u32, offset: u32, count: u32) -> u32 {
    let (offset, count) = field(offset, count);
    if count == 0 {
        return value;
    }
    let mask = (u32::MAX >> (32 - count)) << offset;
    (value & !mask) | ((new << offset) & mask)
}
