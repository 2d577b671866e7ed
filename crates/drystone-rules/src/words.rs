//! Words of WGSL that a rule must not use or must not declare.

/// Reason for which variables outside functions are refused.
pub(crate) const GLOBAL_VARIABLE: &str = "a rule has no state, expected local variables";
const LOOP: &str = "loops could run without end";
const DIRECTIVE: &str = "a rule has no directives";
const POINTER: &str = "functions take and return values";
const TYPE: &str = "expected bool, i32, u32, f32 or vectors of them";
const MATRIX: &str = "a rule has no matrices, expected vectors";
const RESOURCE: &str = "a rule reads its argument only";
const THREADS: &str = "each call of a rule runs alone";
const FUNCTION: &str = "this built-in function is not available on the CPU";

const FORBIDDEN: &[(&str, &str)] = &[
    ("alias", "expected the type itself"),
    ("arrayLength", RESOURCE),
    ("atomic", THREADS),
    ("acceleration_structure", RESOURCE),
    ("binding_array", RESOURCE),
    ("const_assert", "a rule has no assertions"),
    ("continue", LOOP),
    ("continuing", LOOP),
    ("diagnostic", DIRECTIVE),
    ("discard", "a rule returns a value on all paths"),
    ("dot4I8Packed", FUNCTION),
    ("dot4U8Packed", FUNCTION),
    ("enable", DIRECTIVE),
    ("f16", TYPE),
    ("f64", TYPE),
    ("for", LOOP),
    ("frexp", FUNCTION),
    ("i16", TYPE),
    ("i64", TYPE),
    ("loop", LOOP),
    ("modf", FUNCTION),
    ("outerProduct", MATRIX),
    ("override", "expected `const`"),
    ("ptr", POINTER),
    ("quantizeToF16", FUNCTION),
    ("ray_query", RESOURCE),
    ("requires", DIRECTIVE),
    ("sampler", RESOURCE),
    ("sampler_comparison", RESOURCE),
    ("storageBarrier", THREADS),
    ("textureBarrier", THREADS),
    ("transpose", MATRIX),
    ("traceRay", RESOURCE),
    ("determinant", MATRIX),
    ("u16", TYPE),
    ("u64", TYPE),
    ("vec2h", TYPE),
    ("vec3h", TYPE),
    ("vec4h", TYPE),
    ("while", LOOP),
    ("workgroupBarrier", THREADS),
    ("workgroupUniformLoad", THREADS),
];

/// First parts of words that continue with a capital letter, a digit or an underscore.
const FORBIDDEN_FAMILIES: &[(&str, &str)] = &[
    ("atomic", THREADS),
    ("coop", THREADS),
    ("dpdx", THREADS),
    ("dpdy", THREADS),
    ("fwidth", THREADS),
    ("mat", MATRIX),
    ("pack", FUNCTION),
    ("quad", THREADS),
    ("rayQuery", RESOURCE),
    ("subgroup", THREADS),
    ("texture", RESOURCE),
    ("texture_", RESOURCE),
    ("unpack", FUNCTION),
];

/// Scalar and vector types of a rule.
const NUMBERS: &[&str] = &[
    "bool", "i32", "u32", "f32", "vec2", "vec3", "vec4", "vec2f", "vec3f", "vec4f", "vec2i", "vec3i", "vec4i", "vec2u",
    "vec3u", "vec4u",
];

/// Other names that WGSL declares: a rule that declared them would change the meaning of the code around it.
const DECLARED: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "array",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "countLeadingZeros",
    "countOneBits",
    "countTrailingZeros",
    "cross",
    "degrees",
    "distance",
    "dot",
    "exp",
    "exp2",
    "extractBits",
    "faceForward",
    "firstLeadingBit",
    "firstTrailingBit",
    "floor",
    "fma",
    "fract",
    "insertBits",
    "inverseSqrt",
    "isInf",
    "isNan",
    "ldexp",
    "length",
    "log",
    "log2",
    "max",
    "min",
    "mix",
    "normalize",
    "pow",
    "radians",
    "reflect",
    "refract",
    "reverseBits",
    "round",
    "saturate",
    "select",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "trunc",
    "function",
    "private",
    "storage",
    "uniform",
    "workgroup",
    "read",
    "write",
    "read_write",
    "RayDesc",
    "RayIntersection",
];

/// Returns the reason for which a rule must not use `word`.
pub(crate) fn forbidden(word: &str) -> Option<&'static str> {
    if let Some((_, reason)) = FORBIDDEN.iter().find(|(name, _)| *name == word) {
        return Some(reason);
    }
    let continues = |rest: &str| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_uppercase());
    FORBIDDEN_FAMILIES.iter().find_map(|(first, reason)| {
        let rest = word.strip_prefix(first)?;
        let is_member = match *first {
            "mat" | "pack" | "unpack" => rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('x'),
            "texture_" => true,
            "atomic" | "coop" | "quad" | "rayQuery" | "subgroup" | "texture" => !rest.is_empty() && continues(rest),
            _ => rest.is_empty() || rest == "Coarse" || rest == "Fine",
        };
        is_member.then_some(*reason)
    })
}

/// True for scalar and vector types.
pub(crate) fn is_number(word: &str) -> bool {
    NUMBERS.contains(&word)
}

/// True for names of types and functions that WGSL declares and a rule may use.
pub(crate) fn is_declared(word: &str) -> bool {
    is_number(word) || DECLARED.contains(&word)
}
