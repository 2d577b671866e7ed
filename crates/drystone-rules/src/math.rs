//! Operations for operators and built-in functions.

use naga::{BinaryOperator, MathFunction, ScalarKind};

use crate::code::Opcode;

/// Way in which a built-in function uses its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each component by itself.
    Lanes,
    /// All components together.
    Whole,
}

/// Returns the operation on floats, signed or unsigned integers.
fn by_kind(kind: ScalarKind, [float, signed, unsigned]: [Opcode; 3]) -> Opcode {
    match kind {
        ScalarKind::Float => float,
        ScalarKind::Sint => signed,
        _ => unsigned,
    }
}

/// Returns the operation of an operator on components of `kind`, and true if the sides must be swapped.
pub(crate) fn binary(operator: BinaryOperator, kind: ScalarKind) -> (Opcode, bool) {
    use BinaryOperator as B;
    let of = |float, signed, unsigned| by_kind(kind, [float, signed, unsigned]);
    let is_swapped = matches!(operator, B::Greater | B::GreaterEqual);
    let op = match operator {
        B::Add => of(Opcode::AddF, Opcode::AddI, Opcode::AddI),
        B::Subtract => of(Opcode::SubF, Opcode::SubI, Opcode::SubI),
        B::Multiply => of(Opcode::MulF, Opcode::MulI, Opcode::MulI),
        B::Divide => of(Opcode::DivF, Opcode::DivS, Opcode::DivU),
        B::Modulo => of(Opcode::RemF, Opcode::RemS, Opcode::RemU),
        B::Equal => of(Opcode::EqualF, Opcode::EqualI, Opcode::EqualI),
        B::NotEqual => of(Opcode::NotEqualF, Opcode::NotEqualI, Opcode::NotEqualI),
        B::Less | B::Greater => of(Opcode::LessF, Opcode::LessS, Opcode::LessU),
        B::LessEqual | B::GreaterEqual => of(Opcode::LessEqualF, Opcode::LessEqualS, Opcode::LessEqualU),
        B::And | B::LogicalAnd => Opcode::And,
        B::InclusiveOr | B::LogicalOr => Opcode::Or,
        B::ExclusiveOr => Opcode::Xor,
        B::ShiftLeft => Opcode::ShiftLeft,
        B::ShiftRight => of(Opcode::ShiftRightU, Opcode::ShiftRightS, Opcode::ShiftRightU),
    };
    (op, is_swapped)
}

/// Returns the operation that converts components; None if the bits stay.
pub(crate) fn conversion(from: ScalarKind, to: ScalarKind) -> Option<Opcode> {
    use ScalarKind::{Bool, Float, Sint, Uint};
    match (from, to) {
        (Float, Sint) => Some(Opcode::FloatToS),
        (Float, Uint) => Some(Opcode::FloatToU),
        (Float, Bool) => Some(Opcode::FloatToBool),
        (Sint, Float) => Some(Opcode::SToFloat),
        (Uint | Bool, Float) => Some(Opcode::UToFloat),
        (Sint | Uint, Bool) => Some(Opcode::IntToBool),
        _ => None,
    }
}

/// Returns the operation of a built-in function; None if rules do not have it.
pub(crate) fn function(function: MathFunction, kind: ScalarKind) -> Option<(Opcode, Form)> {
    use MathFunction as M;
    let whole = match function {
        M::Dot if kind == ScalarKind::Float => Opcode::DotF,
        M::Dot => Opcode::DotI,
        M::Cross => Opcode::Cross,
        M::Distance => Opcode::Distance,
        M::Length => Opcode::Length,
        M::Normalize => Opcode::Normalize,
        M::FaceForward => Opcode::FaceForward,
        M::Reflect => Opcode::Reflect,
        M::Refract => Opcode::Refract,
        M::InsertBits => Opcode::InsertBits,
        _ => return common(function, kind).or_else(|| float(function)).map(|op| (op, Form::Lanes)),
    };
    Some((whole, Form::Whole))
}

/// Operations on components that depend on their kind, and those on integers.
fn common(function: MathFunction, kind: ScalarKind) -> Option<Opcode> {
    use MathFunction as M;
    let of = |float, signed, unsigned| by_kind(kind, [float, signed, unsigned]);
    Some(match function {
        M::Abs => of(Opcode::AbsF, Opcode::AbsS, Opcode::Copy),
        M::Min => of(Opcode::MinF, Opcode::MinS, Opcode::MinU),
        M::Max => of(Opcode::MaxF, Opcode::MaxS, Opcode::MaxU),
        M::Clamp => of(Opcode::ClampF, Opcode::ClampS, Opcode::ClampU),
        M::Sign if kind != ScalarKind::Uint => of(Opcode::SignF, Opcode::SignS, Opcode::SignS),
        M::CountTrailingZeros => Opcode::TrailingZeros,
        M::CountLeadingZeros => Opcode::LeadingZeros,
        M::CountOneBits => Opcode::OneBits,
        M::ReverseBits => Opcode::ReverseBits,
        M::ExtractBits => of(Opcode::ExtractU, Opcode::ExtractS, Opcode::ExtractU),
        M::FirstTrailingBit => Opcode::FirstTrailingBit,
        M::FirstLeadingBit => of(Opcode::FirstLeadingBitU, Opcode::FirstLeadingBitS, Opcode::FirstLeadingBitU),
        _ => return None,
    })
}

/// Operations on components that are floats.
fn float(function: MathFunction) -> Option<Opcode> {
    use MathFunction as M;
    Some(match function {
        M::Saturate => Opcode::Saturate,
        M::Cos => Opcode::Cos,
        M::Cosh => Opcode::Cosh,
        M::Sin => Opcode::Sin,
        M::Sinh => Opcode::Sinh,
        M::Tan => Opcode::Tan,
        M::Tanh => Opcode::Tanh,
        M::Acos => Opcode::Acos,
        M::Asin => Opcode::Asin,
        M::Atan => Opcode::Atan,
        M::Atan2 => Opcode::Atan2,
        M::Asinh => Opcode::Asinh,
        M::Acosh => Opcode::Acosh,
        M::Atanh => Opcode::Atanh,
        M::Radians => Opcode::Radians,
        M::Degrees => Opcode::Degrees,
        M::Ceil => Opcode::Ceil,
        M::Floor => Opcode::Floor,
        M::Round => Opcode::Round,
        M::Fract => Opcode::Fract,
        M::Trunc => Opcode::Trunc,
        M::Ldexp => Opcode::Ldexp,
        M::Exp => Opcode::Exp,
        M::Exp2 => Opcode::Exp2,
        M::Log => Opcode::Log,
        M::Log2 => Opcode::Log2,
        M::Pow => Opcode::Pow,
        M::Fma => Opcode::Fma,
        M::Mix => Opcode::Mix,
        M::Step => Opcode::Step,
        M::SmoothStep => Opcode::SmoothStep,
        M::Sqrt => Opcode::Sqrt,
        M::InverseSqrt => Opcode::InverseSqrt,
        _ => return None,
    })
}
