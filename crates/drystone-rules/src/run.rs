//! Runs the instructions of a compiled rule.

use crate::code::{Instruction, Opcode, Register, RuleCode};
use crate::numbers as f;

/// Largest number of registers of a rule. They are on the stack: 8 KiB.
pub(crate) const MAX_REGISTERS: usize = 2048;

/// Runs `code` on `value` and writes `result`. Bytes missing in `value` are 0.
pub(crate) fn call(code: &RuleCode, value: &[u8], result: &mut [u8]) {
    match code.registers {
        0..=64 => call_in::<64>(code, value, result),
        65..=256 => call_in::<256>(code, value, result),
        _ => call_in::<MAX_REGISTERS>(code, value, result),
    }
}

fn call_in<const N: usize>(code: &RuleCode, value: &[u8], result: &mut [u8]) {
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
                Opcode::Jump => true,
                Opcode::JumpIfZero => self.get(instruction.a) == 0,
                Opcode::JumpIfEqual => self.get(instruction.a) == self.get(instruction.b),
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
            Opcode::AddF => self.floats2(i, |a, b| a + b),
            Opcode::SubF => self.floats2(i, |a, b| a - b),
            Opcode::MulF => self.floats2(i, |a, b| a * b),
            Opcode::DivF => self.floats2(i, |a, b| a / b),
            Opcode::RemF => self.floats2(i, |a, b| a % b),
            Opcode::NegF => self.floats1(i, |a| -a),
            Opcode::MinF => self.floats2(i, f32::min),
            Opcode::MaxF => self.floats2(i, f32::max),
            Opcode::ClampF => self.floats3(i, |a, low, high| a.max(low).min(high)),
            Opcode::AbsF => self.floats1(i, f32::abs),
            Opcode::Sqrt => self.floats1(i, f32::sqrt),
            Opcode::Fma => self.floats3(i, f32::mul_add),
            Opcode::Mix => self.floats3(i, |a, b, t| a * (1.0 - t) + b * t),
            Opcode::EqualF => self.compare_floats(i, |a, b| a == b),
            Opcode::NotEqualF => self.compare_floats(i, |a, b| a != b),
            Opcode::LessF => self.compare_floats(i, |a, b| a < b),
            Opcode::LessEqualF => self.compare_floats(i, |a, b| a <= b),
            Opcode::Select => self.words3(i, |reject, accept, condition| if condition == 0 { reject } else { accept }),
            Opcode::Copy
            | Opcode::Zero
            | Opcode::Splat
            | Opcode::Swizzle
            | Opcode::Index
            | Opcode::LoadAt
            | Opcode::StoreAt => self.moves(i),
            Opcode::DotF => self.set(i.target, self.dot(i.a, i.b, i.n).to_bits()),
            Opcode::Length => self.set(i.target, self.length(i.a, i.n).to_bits()),
            Opcode::Normalize => self.normalize(i),
            _ => self.rare(i),
        }
    }

    fn moves(&mut self, i: &Instruction) {
        match i.op {
            Opcode::Copy => (0..i.n).for_each(|k| self.set(i.target + k, self.get(i.a + k))),
            Opcode::Zero => (0..i.n).for_each(|k| self.set(i.target + k, 0)),
            Opcode::Splat => (0..i.n).for_each(|k| self.set(i.target + k, self.get(i.a))),
            Opcode::Swizzle => {
                for k in 0..i.n.min(4) {
                    let component = Register::from(i.immediate.to_le_bytes()[usize::from(k)]);
                    self.set(i.target + k, self.get(i.a + component));
                }
            }
            Opcode::Index => {
                let index = self.get(i.b).min(i.immediate & 0xffff);
                self.set(i.target, self.get(i.a) + index * (i.immediate >> 16));
            }
            Opcode::LoadAt => {
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
            Opcode::NegI => self.words1(i, u32::wrapping_neg),
            Opcode::Complement => self.words1(i, |a| !a),
            Opcode::Not => self.words1(i, |a| a ^ 1),
            Opcode::AddI => self.words2(i, u32::wrapping_add),
            Opcode::SubI => self.words2(i, u32::wrapping_sub),
            Opcode::MulI => self.words2(i, u32::wrapping_mul),
            Opcode::DivS => self.signed2(i, |a, b| if b == 0 { a } else { a.wrapping_div(b) }),
            Opcode::DivU => self.words2(i, |a, b| a.checked_div(b).unwrap_or(a)),
            Opcode::RemS => self.signed2(i, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
            Opcode::RemU => self.words2(i, |a, b| a.checked_rem(b).unwrap_or(0)),
            Opcode::And => self.words2(i, |a, b| a & b),
            Opcode::Or => self.words2(i, |a, b| a | b),
            Opcode::Xor => self.words2(i, |a, b| a ^ b),
            Opcode::ShiftLeft => self.words2(i, u32::wrapping_shl),
            Opcode::ShiftRightS => self.words2(i, |a, b| a.cast_signed().wrapping_shr(b).cast_unsigned()),
            Opcode::ShiftRightU => self.words2(i, u32::wrapping_shr),
            Opcode::EqualI => self.words2(i, |a, b| u32::from(a == b)),
            Opcode::NotEqualI => self.words2(i, |a, b| u32::from(a != b)),
            Opcode::LessS => self.words2(i, |a, b| u32::from(a.cast_signed() < b.cast_signed())),
            Opcode::LessEqualS => self.words2(i, |a, b| u32::from(a.cast_signed() <= b.cast_signed())),
            Opcode::LessU => self.words2(i, |a, b| u32::from(a < b)),
            Opcode::LessEqualU => self.words2(i, |a, b| u32::from(a <= b)),
            Opcode::FloatToS => self.words1(i, |a| f::to_signed(f32::from_bits(a)).cast_unsigned()),
            Opcode::FloatToU => self.words1(i, |a| f::to_unsigned(f32::from_bits(a))),
            Opcode::SToFloat => self.words1(i, |a| (a.cast_signed() as f32).to_bits()),
            Opcode::UToFloat => self.words1(i, |a| (a as f32).to_bits()),
            Opcode::FloatToBool => self.words1(i, |a| u32::from(f32::from_bits(a) != 0.0)),
            Opcode::IntToBool => self.words1(i, |a| u32::from(a != 0)),
            Opcode::AbsS => self.words1(i, |a| a.cast_signed().wrapping_abs().cast_unsigned()),
            Opcode::MinS => self.signed2(i, i32::min),
            Opcode::MinU => self.words2(i, u32::min),
            Opcode::MaxS => self.signed2(i, i32::max),
            Opcode::MaxU => self.words2(i, u32::max),
            Opcode::ClampS => self.words3(i, |a, low, high| {
                a.cast_signed().max(low.cast_signed()).min(high.cast_signed()).cast_unsigned()
            }),
            Opcode::ClampU => self.words3(i, |a, low, high| a.max(low).min(high)),
            Opcode::SignS => self.words1(i, |a| a.cast_signed().signum().cast_unsigned()),
            _ => self.vectors(i),
        }
    }

    fn vectors(&mut self, i: &Instruction) {
        match i.op {
            Opcode::All => self.set(i.target, (0..i.n).fold(1, |all, k| all & self.get(i.a + k))),
            Opcode::Any => self.set(i.target, (0..i.n).fold(0, |any, k| any | self.get(i.a + k))),
            Opcode::DotI => {
                let product = |k| self.get(i.a + k).wrapping_mul(self.get(i.b + k));
                self.set(i.target, (0..i.n).map(product).fold(0, u32::wrapping_add));
            }
            Opcode::Distance => self.distance(i),
            Opcode::Cross => self.cross(i),
            Opcode::Reflect => self.reflect(i),
            Opcode::Refract => self.refract(i),
            Opcode::FaceForward => {
                let is_behind = self.dot(i.b, i.c, i.n) < 0.0;
                self.floats1(i, |a| if is_behind { a } else { -a });
            }
            Opcode::Saturate
            | Opcode::SignF
            | Opcode::Step
            | Opcode::SmoothStep
            | Opcode::Radians
            | Opcode::Degrees
            | Opcode::Ceil
            | Opcode::Floor
            | Opcode::Round
            | Opcode::Fract
            | Opcode::Trunc
            | Opcode::Ldexp
            | Opcode::InverseSqrt => self.simple(i),
            Opcode::ExtractS
            | Opcode::ExtractU
            | Opcode::InsertBits
            | Opcode::TrailingZeros
            | Opcode::LeadingZeros
            | Opcode::OneBits
            | Opcode::ReverseBits
            | Opcode::FirstTrailingBit
            | Opcode::FirstLeadingBitS
            | Opcode::FirstLeadingBitU => self.bits(i),
            _ => self.transcendental(i),
        }
    }

    fn simple(&mut self, i: &Instruction) {
        match i.op {
            Opcode::Saturate => self.floats1(i, f::saturate),
            Opcode::SignF => self.floats1(i, f::sign),
            Opcode::Step => self.floats2(i, |edge, a| f32::from(u8::from(edge <= a))),
            Opcode::SmoothStep => self.floats3(i, f::smooth_step),
            Opcode::Radians => self.floats1(i, f32::to_radians),
            Opcode::Degrees => self.floats1(i, f32::to_degrees),
            Opcode::Ceil => self.floats1(i, f32::ceil),
            Opcode::Floor => self.floats1(i, f32::floor),
            Opcode::Round => self.floats1(i, f32::round_ties_even),
            Opcode::Fract => self.floats1(i, |a| a - a.floor()),
            Opcode::Trunc => self.floats1(i, f32::trunc),
            Opcode::Ldexp => self.words2(i, |a, b| f::ldexp(f32::from_bits(a), b.cast_signed()).to_bits()),
            _ => self.floats1(i, |a| 1.0 / a.sqrt()),
        }
    }

    fn transcendental(&mut self, i: &Instruction) {
        match i.op {
            Opcode::Cos => self.floats1(i, f32::cos),
            Opcode::Cosh => self.floats1(i, f32::cosh),
            Opcode::Sin => self.floats1(i, f32::sin),
            Opcode::Sinh => self.floats1(i, f32::sinh),
            Opcode::Tan => self.floats1(i, f32::tan),
            Opcode::Tanh => self.floats1(i, f32::tanh),
            Opcode::Acos => self.floats1(i, f32::acos),
            Opcode::Acosh => self.floats1(i, f32::acosh),
            Opcode::Asin => self.floats1(i, f32::asin),
            Opcode::Asinh => self.floats1(i, f32::asinh),
            Opcode::Atan => self.floats1(i, f32::atan),
            Opcode::Atanh => self.floats1(i, f32::atanh),
            Opcode::Atan2 => self.floats2(i, f32::atan2),
            Opcode::Exp => self.floats1(i, f32::exp),
            Opcode::Exp2 => self.floats1(i, f32::exp2),
            Opcode::Log => self.floats1(i, f32::ln),
            Opcode::Log2 => self.floats1(i, f32::log2),
            Opcode::Pow => self.floats2(i, f32::powf),
            // All others are in the functions above.
            _ => {}
        }
    }

    fn bits(&mut self, i: &Instruction) {
        match i.op {
            Opcode::TrailingZeros => self.words1(i, u32::trailing_zeros),
            Opcode::LeadingZeros => self.words1(i, u32::leading_zeros),
            Opcode::OneBits => self.words1(i, u32::count_ones),
            Opcode::ReverseBits => self.words1(i, u32::reverse_bits),
            Opcode::ExtractS => self.words3(i, f::extract_signed),
            Opcode::ExtractU => self.words3(i, f::extract_unsigned),
            Opcode::FirstTrailingBit => self.words1(i, |a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
            Opcode::FirstLeadingBitS => {
                self.words1(i, |a| f::first_leading_bit((a.cast_signed() ^ (a.cast_signed() >> 31)).cast_unsigned()));
            }
            Opcode::FirstLeadingBitU => self.words1(i, f::first_leading_bit),
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
