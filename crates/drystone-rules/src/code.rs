//! Instructions of a compiled rule: a flat list that jumps forward only, so that its length bounds the time to run it.

/// Index of a register. All values are words of 32 bits; vectors, arrays and structs take consecutive registers.
pub(crate) type Register = u16;

/// Operation of an instruction. `n` is the number of components; F, S and U are floats, signed and unsigned integers,
/// I is both kinds of integers. Booleans are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    // Moves.
    Copy,
    Zero,
    Splat,
    Swizzle,
    // Offset of an element, in registers: `target = a + min(b, length - 1) * stride`.
    Index,
    // `target = registers[a + offset b]` and `registers[target + offset b] = a`.
    LoadAt,
    StoreAt,
    // Jumps to instruction `immediate`: always, if `a` is 0, if `a` equals `b`.
    Jump,
    JumpIfZero,
    JumpIfEqual,
    Select,
    // Unary.
    NegF,
    NegI,
    Complement,
    Not,
    // Binary.
    AddF,
    SubF,
    MulF,
    DivF,
    RemF,
    AddI,
    SubI,
    MulI,
    DivS,
    DivU,
    RemS,
    RemU,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRightS,
    ShiftRightU,
    EqualF,
    NotEqualF,
    LessF,
    LessEqualF,
    EqualI,
    NotEqualI,
    LessS,
    LessEqualS,
    LessU,
    LessEqualU,
    // Conversions; S and U have the same bits.
    FloatToS,
    FloatToU,
    SToFloat,
    UToFloat,
    FloatToBool,
    IntToBool,
    // Reductions and vector functions.
    All,
    Any,
    DotF,
    DotI,
    Length,
    Distance,
    Normalize,
    Cross,
    Reflect,
    Refract,
    FaceForward,
    // Comparisons.
    AbsF,
    AbsS,
    MinF,
    MinS,
    MinU,
    MaxF,
    MaxS,
    MaxU,
    ClampF,
    ClampS,
    ClampU,
    Saturate,
    SignF,
    SignS,
    Step,
    SmoothStep,
    Mix,
    Fma,
    // Functions of a number.
    Cos,
    Cosh,
    Sin,
    Sinh,
    Tan,
    Tanh,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Atan2,
    Radians,
    Degrees,
    Ceil,
    Floor,
    Round,
    Fract,
    Trunc,
    Ldexp,
    Exp,
    Exp2,
    Log,
    Log2,
    Pow,
    Sqrt,
    InverseSqrt,
    // Bits.
    TrailingZeros,
    LeadingZeros,
    OneBits,
    ReverseBits,
    ExtractS,
    ExtractU,
    InsertBits,
    FirstTrailingBit,
    FirstLeadingBitS,
    FirstLeadingBitU,
}

/// Instruction: writes `n` registers from `target` on, reads registers from `a`, `b` and `c` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub op: Opcode,
    pub n: u16,
    pub target: Register,
    pub a: Register,
    pub b: Register,
    pub c: Register,
    /// Destination of a jump, length and stride of an element, components of a swizzle.
    pub immediate: u32,
}

/// Registers that hold consecutive bytes of the argument or the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordSpan {
    /// First byte.
    pub offset: u32,
    /// First register.
    pub register: Register,
    /// Number of registers.
    pub words: u16,
}

/// Compiled function.
#[derive(Debug)]
pub(crate) struct RuleCode {
    pub instructions: Vec<Instruction>,
    /// Values of the first registers.
    pub constants: Vec<u32>,
    pub argument: Vec<WordSpan>,
    pub result: Vec<WordSpan>,
    /// Number of registers.
    pub registers: usize,
    /// Length of the struct, bytes.
    pub span: usize,
}
