//! Runs the instructions of a compiled rule.

use crate::code::{Code, Instruction, Op, Register};
use crate::numbers as f;

/// Largest number of registers of a rule. They are on the stack: 8 KiB.
pub(crate) const MAX_REGISTERS: usize = 2048;

/// Runs `code` on `value` and writes `result`. Bytes missing in `value` are 0.
pub(crate) fn call(code: &Code, value: &[u8], result: &mut [u8]) {
    match code.registers {
        0..=64 => call_in::<64>(code, value, result),
        65..=256 => call_in::<256>(code, value, result),
        _ => call_in::<MAX_REGISTERS>(code, value, result),
    }
}

fn call_in<const N: usize>(code: &Code, value: &[u8], result: &mut [u8]) {
    let mut registers = Registers([0; N]);
    for (register, constant) in registers.0.iter_mut().zip(&code.constants) {
        *register = *constant;
    }
    for field in &code.argument {
        let bytes = value.get(field.offset as usize..).unwrap_or_default();
        let words = bytes.chunks_exact(4).take(usize::from(field.words));
        for (register, word) in (field.register..).zip(words) {
            registers.set(register, u32::from_le_bytes(word.try_into().unwrap_or_default()));
        }
    }
    registers.run(&code.instructions);
    result.fill(0);
    for field in &code.result {
        let bytes = result.get_mut(field.offset as usize..).unwrap_or_default();
        let words = bytes.chunks_exact_mut(4).take(usize::from(field.words));
        for (register, word) in (field.register..).zip(words) {
            word.copy_from_slice(&registers.get(register).to_le_bytes());
        }
    }
}

/// Registers; N is a power of two. Indices wrap, so that none is out of bounds.
struct Registers<const N: usize>([u32; N]);

impl<const N: usize> Registers<N> {
    #[inline(always)]
    fn get(&self, register: Register) -> u32 {
        self.0[usize::from(register) & (N - 1)]
    }

    #[inline(always)]
    fn set(&mut self, register: Register, value: u32) {
        self.0[usize::from(register) & (N - 1)] = value;
    }

    #[inline(always)]
    fn float(&self, register: Register) -> f32 {
        f32::from_bits(self.get(register))
    }

    /// Offset of an element. It is less than the number of registers.
    #[inline(always)]
    fn offset(&self, register: Register) -> Register {
        (self.get(register) & 0xffff) as Register
    }

    fn run(&mut self, instructions: &[Instruction]) {
        let mut at = 0;
        while let Some(instruction) = instructions.get(at) {
            at += 1;
            let jumps = match instruction.op {
                Op::Jump => true,
                Op::JumpIfZero => self.get(instruction.a) == 0,
                Op::JumpIfEqual => self.get(instruction.a) == self.get(instruction.b),
                _ => {
                    self.step(instruction);
                    false
                }
            };
            if jumps {
                at = instruction.immediate as usize;
            }
        }
    }

    /// Runs an operation that is not a jump.
    #[inline(always)]
    fn step(&mut self, i: &Instruction) {
        match i.op {
            Op::AddF => self.floats2(i, |a, b| a + b),
            Op::SubF => self.floats2(i, |a, b| a - b),
            Op::MulF => self.floats2(i, |a, b| a * b),
            Op::DivF => self.floats2(i, |a, b| a / b),
            Op::RemF => self.floats2(i, |a, b| a % b),
            Op::NegF => self.floats1(i, |a| -a),
            Op::MinF => self.floats2(i, f32::min),
            Op::MaxF => self.floats2(i, f32::max),
            Op::ClampF => self.floats3(i, |a, low, high| a.max(low).min(high)),
            Op::AbsF => self.floats1(i, f32::abs),
            Op::Sqrt => self.floats1(i, f32::sqrt),
            Op::Fma => self.floats3(i, f32::mul_add),
            Op::Mix => self.floats3(i, |a, b, t| a * (1.0 - t) + b * t),
            Op::EqualF => self.compare_floats(i, |a, b| a == b),
            Op::NotEqualF => self.compare_floats(i, |a, b| a != b),
            Op::LessF => self.compare_floats(i, |a, b| a < b),
            Op::LessEqualF => self.compare_floats(i, |a, b| a <= b),
            Op::Select => self.words3(i, |reject, accept, condition| if condition == 0 { reject } else { accept }),
            Op::Copy | Op::Zero | Op::Splat | Op::Swizzle | Op::Index | Op::LoadAt | Op::StoreAt => self.moves(i),
            Op::DotF => self.set(i.target, self.dot(i.a, i.b, i.n).to_bits()),
            Op::Length => self.set(i.target, self.length(i.a, i.n).to_bits()),
            Op::Normalize => self.normalize(i),
            _ => self.rare(i),
        }
    }

    fn moves(&mut self, i: &Instruction) {
        match i.op {
            Op::Copy => (0..i.n).for_each(|k| self.set(i.target + k, self.get(i.a + k))),
            Op::Zero => (0..i.n).for_each(|k| self.set(i.target + k, 0)),
            Op::Splat => (0..i.n).for_each(|k| self.set(i.target + k, self.get(i.a))),
            Op::Swizzle => {
                for k in 0..i.n.min(4) {
                    let component = Register::from(i.immediate.to_le_bytes()[usize::from(k)]);
                    self.set(i.target + k, self.get(i.a + component));
                }
            }
            Op::Index => {
                let index = self.get(i.b).min(i.immediate & 0xffff);
                self.set(i.target, self.get(i.a) + index * (i.immediate >> 16));
            }
            Op::LoadAt => {
                let from = i.a.wrapping_add(self.offset(i.b));
                (0..i.n).for_each(|k| self.set(i.target + k, self.get(from.wrapping_add(k))));
            }
            _ => {
                let to = i.target.wrapping_add(self.offset(i.b));
                (0..i.n).for_each(|k| self.set(to.wrapping_add(k), self.get(i.a + k)));
            }
        }
    }

    #[inline(never)]
    fn rare(&mut self, i: &Instruction) {
        match i.op {
            Op::NegI => self.words1(i, u32::wrapping_neg),
            Op::Complement => self.words1(i, |a| !a),
            Op::Not => self.words1(i, |a| a ^ 1),
            Op::AddI => self.words2(i, u32::wrapping_add),
            Op::SubI => self.words2(i, u32::wrapping_sub),
            Op::MulI => self.words2(i, u32::wrapping_mul),
            Op::DivS => self.signed2(i, |a, b| if b == 0 { a } else { a.wrapping_div(b) }),
            Op::DivU => self.words2(i, |a, b| a.checked_div(b).unwrap_or(a)),
            Op::RemS => self.signed2(i, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
            Op::RemU => self.words2(i, |a, b| a.checked_rem(b).unwrap_or(0)),
            Op::And => self.words2(i, |a, b| a & b),
            Op::Or => self.words2(i, |a, b| a | b),
            Op::Xor => self.words2(i, |a, b| a ^ b),
            Op::ShiftLeft => self.words2(i, u32::wrapping_shl),
            Op::ShiftRightS => self.words2(i, |a, b| a.cast_signed().wrapping_shr(b).cast_unsigned()),
            Op::ShiftRightU => self.words2(i, u32::wrapping_shr),
            Op::EqualI => self.words2(i, |a, b| u32::from(a == b)),
            Op::NotEqualI => self.words2(i, |a, b| u32::from(a != b)),
            Op::LessS => self.words2(i, |a, b| u32::from(a.cast_signed() < b.cast_signed())),
            Op::LessEqualS => self.words2(i, |a, b| u32::from(a.cast_signed() <= b.cast_signed())),
            Op::LessU => self.words2(i, |a, b| u32::from(a < b)),
            Op::LessEqualU => self.words2(i, |a, b| u32::from(a <= b)),
            Op::FloatToS => self.words1(i, |a| f::to_signed(f32::from_bits(a)).cast_unsigned()),
            Op::FloatToU => self.words1(i, |a| f::to_unsigned(f32::from_bits(a))),
            Op::SToFloat => self.words1(i, |a| (a.cast_signed() as f32).to_bits()),
            Op::UToFloat => self.words1(i, |a| (a as f32).to_bits()),
            Op::FloatToBool => self.words1(i, |a| u32::from(f32::from_bits(a) != 0.0)),
            Op::IntToBool => self.words1(i, |a| u32::from(a != 0)),
            Op::AbsS => self.words1(i, |a| a.cast_signed().wrapping_abs().cast_unsigned()),
            Op::MinS => self.signed2(i, i32::min),
            Op::MinU => self.words2(i, u32::min),
            Op::MaxS => self.signed2(i, i32::max),
            Op::MaxU => self.words2(i, u32::max),
            Op::ClampS => self.words3(i, |a, low, high| {
                a.cast_signed().max(low.cast_signed()).min(high.cast_signed()).cast_unsigned()
            }),
            Op::ClampU => self.words3(i, |a, low, high| a.max(low).min(high)),
            Op::SignS => self.words1(i, |a| a.cast_signed().signum().cast_unsigned()),
            _ => self.vectors(i),
        }
    }

    fn vectors(&mut self, i: &Instruction) {
        match i.op {
            Op::All => self.set(i.target, (0..i.n).fold(1, |all, k| all & self.get(i.a + k))),
            Op::Any => self.set(i.target, (0..i.n).fold(0, |any, k| any | self.get(i.a + k))),
            Op::DotI => {
                let product = |k| self.get(i.a + k).wrapping_mul(self.get(i.b + k));
                self.set(i.target, (0..i.n).map(product).fold(0, u32::wrapping_add));
            }
            Op::Distance => self.distance(i),
            Op::Cross => self.cross(i),
            Op::Reflect => self.reflect(i),
            Op::Refract => self.refract(i),
            Op::FaceForward => {
                let is_behind = self.dot(i.b, i.c, i.n) < 0.0;
                self.floats1(i, |a| if is_behind { a } else { -a });
            }
            Op::Saturate
            | Op::SignF
            | Op::Step
            | Op::SmoothStep
            | Op::Radians
            | Op::Degrees
            | Op::Ceil
            | Op::Floor
            | Op::Round
            | Op::Fract
            | Op::Trunc
            | Op::Ldexp
            | Op::InverseSqrt => self.simple(i),
            Op::ExtractS
            | Op::ExtractU
            | Op::InsertBits
            | Op::TrailingZeros
            | Op::LeadingZeros
            | Op::OneBits
            | Op::ReverseBits
            | Op::FirstTrailingBit
            | Op::FirstLeadingBitS
            | Op::FirstLeadingBitU => self.bits(i),
            _ => self.transcendental(i),
        }
    }

    fn simple(&mut self, i: &Instruction) {
        match i.op {
            Op::Saturate => self.floats1(i, f::saturate),
            Op::SignF => self.floats1(i, f::sign),
            Op::Step => self.floats2(i, |edge, a| f32::from(u8::from(edge <= a))),
            Op::SmoothStep => self.floats3(i, f::smooth_step),
            Op::Radians => self.floats1(i, f32::to_radians),
            Op::Degrees => self.floats1(i, f32::to_degrees),
            Op::Ceil => self.floats1(i, f32::ceil),
            Op::Floor => self.floats1(i, f32::floor),
            Op::Round => self.floats1(i, f32::round_ties_even),
            Op::Fract => self.floats1(i, |a| a - a.floor()),
            Op::Trunc => self.floats1(i, f32::trunc),
            Op::Ldexp => self.words2(i, |a, b| f::ldexp(f32::from_bits(a), b.cast_signed()).to_bits()),
            _ => self.floats1(i, |a| 1.0 / a.sqrt()),
        }
    }

    fn transcendental(&mut self, i: &Instruction) {
        match i.op {
            Op::Cos => self.floats1(i, f32::cos),
            Op::Cosh => self.floats1(i, f32::cosh),
            Op::Sin => self.floats1(i, f32::sin),
            Op::Sinh => self.floats1(i, f32::sinh),
            Op::Tan => self.floats1(i, f32::tan),
            Op::Tanh => self.floats1(i, f32::tanh),
            Op::Acos => self.floats1(i, f32::acos),
            Op::Acosh => self.floats1(i, f32::acosh),
            Op::Asin => self.floats1(i, f32::asin),
            Op::Asinh => self.floats1(i, f32::asinh),
            Op::Atan => self.floats1(i, f32::atan),
            Op::Atanh => self.floats1(i, f32::atanh),
            Op::Atan2 => self.floats2(i, f32::atan2),
            Op::Exp => self.floats1(i, f32::exp),
            Op::Exp2 => self.floats1(i, f32::exp2),
            Op::Log => self.floats1(i, f32::ln),
            Op::Log2 => self.floats1(i, f32::log2),
            Op::Pow => self.floats2(i, f32::powf),
            // All others are in the functions above.
            _ => {}
        }
    }

    fn bits(&mut self, i: &Instruction) {
        match i.op {
            Op::TrailingZeros => self.words1(i, u32::trailing_zeros),
            Op::LeadingZeros => self.words1(i, u32::leading_zeros),
            Op::OneBits => self.words1(i, u32::count_ones),
            Op::ReverseBits => self.words1(i, u32::reverse_bits),
            Op::ExtractS => self.words3(i, f::extract_signed),
            Op::ExtractU => self.words3(i, f::extract_unsigned),
            Op::FirstTrailingBit => self.words1(i, |a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
            Op::FirstLeadingBitS => {
                self.words1(i, |a| f::first_leading_bit((a.cast_signed() ^ (a.cast_signed() >> 31)).cast_unsigned()));
            }
            Op::FirstLeadingBitU => self.words1(i, f::first_leading_bit),
            // Offset and number of bits follow each other at `c`.
            _ => {
                let (offset, count) = (self.get(i.c), self.get(i.c + 1));
                self.words2(i, |a, b| f::insert(a, b, offset, count));
            }
        }
    }

    #[inline(always)]
    fn words1(&mut self, i: &Instruction, apply: impl Fn(u32) -> u32) {
        (0..i.n).for_each(|k| self.set(i.target + k, apply(self.get(i.a + k))));
    }

    #[inline(always)]
    fn words2(&mut self, i: &Instruction, apply: impl Fn(u32, u32) -> u32) {
        (0..i.n).for_each(|k| self.set(i.target + k, apply(self.get(i.a + k), self.get(i.b + k))));
    }

    #[inline(always)]
    fn words3(&mut self, i: &Instruction, apply: impl Fn(u32, u32, u32) -> u32) {
        for k in 0..i.n {
            self.set(i.target + k, apply(self.get(i.a + k), self.get(i.b + k), self.get(i.c + k)));
        }
    }

    #[inline(always)]
    fn signed2(&mut self, i: &Instruction, apply: impl Fn(i32, i32) -> i32) {
        self.words2(i, |a, b| apply(a.cast_signed(), b.cast_signed()).cast_unsigned());
    }

    #[inline(always)]
    fn floats1(&mut self, i: &Instruction, apply: impl Fn(f32) -> f32) {
        self.words1(i, |a| apply(f32::from_bits(a)).to_bits());
    }

    #[inline(always)]
    fn floats2(&mut self, i: &Instruction, apply: impl Fn(f32, f32) -> f32) {
        self.words2(i, |a, b| apply(f32::from_bits(a), f32::from_bits(b)).to_bits());
    }

    #[inline(always)]
    fn floats3(&mut self, i: &Instruction, apply: impl Fn(f32, f32, f32) -> f32) {
        self.words3(i, |a, b, c| apply(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits());
    }

    #[inline(always)]
    fn compare_floats(&mut self, i: &Instruction, apply: impl Fn(f32, f32) -> bool) {
        self.words2(i, |a, b| u32::from(apply(f32::from_bits(a), f32::from_bits(b))));
    }

    fn dot(&self, a: Register, b: Register, n: u16) -> f32 {
        (1..n).fold(self.float(a) * self.float(b), |sum, k| sum + self.float(a + k) * self.float(b + k))
    }

    fn length(&self, a: Register, n: u16) -> f32 {
        if n == 1 { self.float(a).abs() } else { self.dot(a, a, n).sqrt() }
    }

    fn normalize(&mut self, i: &Instruction) {
        let length = self.length(i.a, i.n);
        self.floats1(i, |a| a / length);
    }

    fn distance(&mut self, i: &Instruction) {
        let difference = |k| self.float(i.a + k) - self.float(i.b + k);
        let squares = (1..i.n).fold(difference(0) * difference(0), |sum, k| sum + difference(k) * difference(k));
        let distance = if i.n == 1 { difference(0).abs() } else { squares.sqrt() };
        self.set(i.target, distance.to_bits());
    }

    fn cross(&mut self, i: &Instruction) {
        let product = |j, k| self.float(i.a + j) * self.float(i.b + k) - self.float(i.a + k) * self.float(i.b + j);
        let cross: [f32; 3] = [product(1, 2), product(2, 0), product(0, 1)];
        for (k, component) in (0..).zip(cross) {
            self.set(i.target + k, component.to_bits());
        }
    }

    fn reflect(&mut self, i: &Instruction) {
        let dot = self.dot(i.b, i.a, i.n);
        self.floats2(i, |a, normal| a - 2.0 * dot * normal);
    }

    fn refract(&mut self, i: &Instruction) {
        let (dot, ratio) = (self.dot(i.b, i.a, i.n), self.float(i.c));
        let k = 1.0 - ratio * ratio * (1.0 - dot * dot);
        self.floats2(i, |a, normal| if k < 0.0 { 0.0 } else { ratio * a - (ratio * dot + k.sqrt()) * normal });
    }
}
