//! Tests of rules: results against Rust, refused texts, hostile texts.

// References compute in more bits, of which the lowest count; clamping to NaN must not panic.
#![expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss, clippy::manual_clamp)]

mod builtins;
mod hostile;
mod language;
mod refusals;

use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut};
use drystone_rules::{RuleError, RuleProgram};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Declarations that rules of these tests may use.
const PRELUDE: &str = "
struct Case {
    f: vec4<f32>,
    g: vec4<f32>,
    h: vec4<f32>,
    i: vec4<i32>,
    j: vec4<i32>,
    u: vec4<u32>,
    w: vec4<u32>,
    a: f32,
    n: i32,
    k: u32,
}
struct Pair { first: f32, second: vec2<f32> }
const HALF = 0.5;
fn halved(value: f32) -> f32 { return value * HALF; }
";

/// Argument and result of a rule of these tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Case {
    f: [f32; 4],
    g: [f32; 4],
    h: [f32; 4],
    i: [i32; 4],
    j: [i32; 4],
    u: [u32; 4],
    w: [u32; 4],
    a: f32,
    n: i32,
    k: u32,
    gap: u32,
}

impl Case {
    /// True if all bits are equal, with any NaN equal to any other.
    fn is_same(&self, other: &Self) -> bool {
        let is_same = |a: &f32, b: &f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let floats = |case: &Self| [case.f.as_slice(), &case.g, &case.h, &[case.a]].concat();
        let others = |case: &Self| (case.i, case.j, case.u, case.w, case.n, case.k);
        floats(self).iter().zip(&floats(other)).all(|(a, b)| is_same(a, b)) && others(self) == others(other)
    }
}

fn program(text: &str) -> Result<RuleProgram, RuleError> {
    RuleProgram::new(PRELUDE, text, "rule", "Case")
}

/// Compiles a rule that changes the copy `r` of its argument `c` by `statements`.
fn rule(statements: &str) -> RuleProgram {
    let text = format!("fn rule(c: Case) -> Case {{ var r = c; {statements} return r; }}");
    program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn call(program: &RuleProgram, case: &Case) -> Case {
    let mut result = Case { gap: 7, ..Case::default() };
    program.call(bytes_of(case), bytes_of_mut(&mut result));
    assert_eq!(result.gap, 0, "gaps are cleared");
    result
}

/// True if `program` changes some case in another way than `change` does.
fn differs(program: &RuleProgram, change: impl Fn(&mut Case)) -> bool {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    let cases = CASES.get_or_init(|| {
        let mut runner = TestRunner::deterministic();
        (0..500).map(|_| cases().new_tree(&mut runner).expect("a case").current()).collect()
    });
    cases.iter().any(|case| {
        let mut expected = *case;
        change(&mut expected);
        let found = call(program, case);
        let differs = !found.is_same(&expected);
        if differs {
            println!("{case:?}\nfound    {found:?}\nexpected {expected:?}");
        }
        differs
    })
}

fn assert_same(statements: &str, change: impl Fn(&mut Case)) {
    assert!(!differs(&rule(statements), change), "{statements}");
}

fn float() -> impl Strategy<Value = f32> {
    let special = [0.0, -0.0, 0.5, 1.5, 2.5, -1.5, 3e9, -3e9, 1e-40, f32::INFINITY, f32::NAN, 33.0];
    prop_oneof![
        6 => -8.0_f32..8.0,
        2 => 0.0_f32..1.0,
        1 => proptest::num::f32::ANY,
        1 => prop::sample::select(special.to_vec()),
    ]
}

fn int() -> impl Strategy<Value = i32> {
    let special = [0, 1, -1, i32::MIN, i32::MAX, 31, 32, 33];
    prop_oneof![any::<i32>(), -9..9, prop::sample::select(special.to_vec())]
}

fn cases() -> impl Strategy<Value = Case> {
    let floats = || prop::array::uniform4(float());
    let ints = || prop::array::uniform4(int());
    let parts = (floats(), floats(), floats(), ints(), ints(), ints(), ints(), float(), int(), int());
    parts.prop_map(|(f, g, h, i, j, u, w, a, n, k)| {
        let [u, w] = [u, w].map(|of| of.map(i32::cast_unsigned));
        Case { f, g, h, i, j, u, w, a, n, k: k.cast_unsigned(), gap: 0 }
    })
}
