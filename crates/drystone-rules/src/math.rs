//! Operations for operators and built-in functions.

use naga::{BinaryOperator, MathFunction, ScalarKind};

use crate::code::Op;

/// Way in which a built-in function uses its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each component by itself.
    Lanes,
    /// All components together.
    Whole,
}

/// Returns the operation of an operator on components of `kind`, and true if the sides must be swapped.
pub(crate) fn binary(operator: BinaryOperator, kind: ScalarKind) -> (Op, bool) {
    use BinaryOperator as B;
    let of = |float: Op, signed: Op, unsigned: Op| match kind {
        ScalarKind::Float => float,
        ScalarKind::Sint => signed,
        _ => unsigned,
    };
    let is_swapped = matches!(operator, B::Greater | B::GreaterEqual);
    let op = match operator {
        B::Add => of(Op::AddF, Op::AddI, Op::AddI),
        B::Subtract => of(Op::SubF, Op::SubI, Op::SubI),
        B::Multiply => of(Op::MulF, Op::MulI, Op::MulI),
        B::Divide => of(Op::DivF, Op::DivS, Op::DivU),
        B::Modulo => of(Op::RemF, Op::RemS, Op::RemU),
        B::Equal => of(Op::EqualF, Op::EqualI, Op::EqualI),
        B::NotEqual => of(Op::NotEqualF, Op::NotEqualI, Op::NotEqualI),
        B::Less | B::Greater => of(Op::LessF, Op::LessS, Op::LessU),
        B::LessEqual | B::GreaterEqual => of(Op::LessEqualF, Op::LessEqualS, Op::LessEqualU),
        B::And | B::LogicalAnd => Op::And,
        B::InclusiveOr | B::LogicalOr => Op::Or,
        B::ExclusiveOr => Op::Xor,
        B::ShiftLeft => Op::ShiftLeft,
        B::ShiftRight => of(Op::ShiftRightU, Op::ShiftRightS, Op::ShiftRightU),
    };
    (op, is_swapped)
}

/// Returns the operation that converts components; None if the bits stay.
pub(crate) fn conversion(from: ScalarKind, to: ScalarKind) -> Option<Op> {
    use ScalarKind::{Bool, Float, Sint, Uint};
    match (from, to) {
        (Float, Sint) => Some(Op::FloatToS),
        (Float, Uint) => Some(Op::FloatToU),
        (Float, Bool) => Some(Op::FloatToBool),
        (Sint, Float) => Some(Op::SToFloat),
        (Uint | Bool, Float) => Some(Op::UToFloat),
        (Sint | Uint, Bool) => Some(Op::IntToBool),
        _ => None,
    }
}

/// Returns the operation of a built-in function; None if rules do not have it.
pub(crate) fn function(function: MathFunction, kind: ScalarKind) -> Option<(Op, Form)> {
    use MathFunction as M;
    let whole = match function {
        M::Dot if kind == ScalarKind::Float => Op::DotF,
        M::Dot => Op::DotI,
        M::Cross => Op::Cross,
        M::Distance => Op::Distance,
        M::Length => Op::Length,
        M::Normalize => Op::Normalize,
        M::FaceForward => Op::FaceForward,
        M::Reflect => Op::Reflect,
        M::Refract => Op::Refract,
        M::InsertBits => Op::InsertBits,
        _ => return common(function, kind).or_else(|| float(function)).map(|op| (op, Form::Lanes)),
    };
    Some((whole, Form::Whole))
}

/// Operations on components that depend on their kind, and those on integers.
fn common(function: MathFunction, kind: ScalarKind) -> Option<Op> {
    use MathFunction as M;
    let of = |float: Op, signed: Op, unsigned: Op| match kind {
        ScalarKind::Float => float,
        ScalarKind::Sint => signed,
        _ => unsigned,
    };
    Some(match function {
        M::Abs => of(Op::AbsF, Op::AbsS, Op::Copy),
        M::Min => of(Op::MinF, Op::MinS, Op::MinU),
        M::Max => of(Op::MaxF, Op::MaxS, Op::MaxU),
        M::Clamp => of(Op::ClampF, Op::ClampS, Op::ClampU),
        M::Sign if kind != ScalarKind::Uint => of(Op::SignF, Op::SignS, Op::SignS),
        M::CountTrailingZeros => Op::TrailingZeros,
        M::CountLeadingZeros => Op::LeadingZeros,
        M::CountOneBits => Op::OneBits,
        M::ReverseBits => Op::ReverseBits,
        M::ExtractBits => of(Op::ExtractU, Op::ExtractS, Op::ExtractU),
        M::FirstTrailingBit => Op::FirstTrailingBit,
        M::FirstLeadingBit => of(Op::FirstLeadingBitU, Op::FirstLeadingBitS, Op::FirstLeadingBitU),
        _ => return None,
    })
}

/// Operations on components that are floats.
fn float(function: MathFunction) -> Option<Op> {
    use MathFunction as M;
    Some(match function {
        M::Saturate => Op::Saturate,
        M::Cos => Op::Cos,
        M::Cosh => Op::Cosh,
        M::Sin => Op::Sin,
        M::Sinh => Op::Sinh,
        M::Tan => Op::Tan,
        M::Tanh => Op::Tanh,
        M::Acos => Op::Acos,
        M::Asin => Op::Asin,
        M::Atan => Op::Atan,
        M::Atan2 => Op::Atan2,
        M::Asinh => Op::Asinh,
        M::Acosh => Op::Acosh,
        M::Atanh => Op::Atanh,
        M::Radians => Op::Radians,
        M::Degrees => Op::Degrees,
        M::Ceil => Op::Ceil,
        M::Floor => Op::Floor,
        M::Round => Op::Round,
        M::Fract => Op::Fract,
        M::Trunc => Op::Trunc,
        M::Ldexp => Op::Ldexp,
        M::Exp => Op::Exp,
        M::Exp2 => Op::Exp2,
        M::Log => Op::Log,
        M::Log2 => Op::Log2,
        M::Pow => Op::Pow,
        M::Fma => Op::Fma,
        M::Mix => Op::Mix,
        M::Step => Op::Step,
        M::SmoothStep => Op::SmoothStep,
        M::Sqrt => Op::Sqrt,
        M::InverseSqrt => Op::InverseSqrt,
        _ => return None,
    })
}
