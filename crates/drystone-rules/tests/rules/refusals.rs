//! Refused texts and their messages.

use drystone_rules::{MAX_TEXT_BYTES, RuleError, RuleProgram};

use crate::program;

/// Texts, to which a rule is appended, and messages.
const REFUSED: &[(&str, &str)] = &[
    ("fn f() {\n  loop { break; }\n}", "line 2, column 3: `loop` is not allowed: loops could run without end"),
    (
        "fn f() { for (var k = 0; k < 3; k++) {} }",
        "line 1, column 10: `for` is not allowed: loops could run without end",
    ),
    ("fn f() { while true {} }", "line 1, column 10: `while` is not allowed: loops could run without end"),
    (
        "fn f() { switch 1 { default: { continue; } } }",
        "line 1, column 32: `continue` is not allowed: loops could run without end",
    ),
    ("var<private> x: f32;", "line 1, column 1: `var` is not allowed: a rule has no state, expected local variables"),
    ("var x: f32;", "line 1, column 1: `var` is not allowed: a rule has no state, expected local variables"),
    (
        "\n@group(0) @binding(0) var<storage> x: array<f32>;",
        "line 2, column 1: `@` is not allowed: a rule has no attributes and no entry points",
    ),
    (
        "fn f() { var<function> x = 1.0; }",
        "line 1, column 10: `var` is not allowed: a rule has no state, expected local variables",
    ),
    (
        "@compute @workgroup_size(1) fn main() {}",
        "line 1, column 1: `@` is not allowed: a rule has no attributes and no entry points",
    ),
    ("override x = 1.0;", "line 1, column 1: `override` is not allowed: expected `const`"),
    ("alias F = f32;", "line 1, column 1: `alias` is not allowed: expected the type itself"),
    ("const_assert true;", "line 1, column 1: `const_assert` is not allowed: a rule has no assertions"),
    ("enable f16;", "line 1, column 1: `enable` is not allowed: a rule has no directives"),
    ("requires pointer_composite_access;", "line 1, column 1: `requires` is not allowed: a rule has no directives"),
    (
        "diagnostic(off, derivative_uniformity);",
        "line 1, column 1: `diagnostic` is not allowed: a rule has no directives",
    ),
    ("fn f(x: ptr<function, f32>) {}", "line 1, column 9: `ptr` is not allowed: functions take and return values"),
    ("fn f(x: f16) {}", "line 1, column 9: `f16` is not allowed: expected bool, i32, u32, f32 or vectors of them"),
    ("fn f() { let x = 1.0h; }", "line 1, column 20: `0h` is not allowed: expected a number of 32 bits"),
    ("fn f() { let x = 1lu; }", "line 1, column 18: `1lu` is not allowed: expected a number of 32 bits"),
    ("fn f(x: mat2x2<f32>) {}", "line 1, column 9: `mat2x2` is not allowed: a rule has no matrices, expected vectors"),
    ("fn f(x: mat2x2f) {}", "line 1, column 9: `mat2x2f` is not allowed: a rule has no matrices, expected vectors"),
    ("fn f(x: texture_2d<f32>) {}", "line 1, column 9: `texture_2d` is not allowed: a rule reads its argument only"),
    ("fn f(x: sampler) {}", "line 1, column 9: `sampler` is not allowed: a rule reads its argument only"),
    (
        "fn f() { let x = textureLoad(1); }",
        "line 1, column 18: `textureLoad` is not allowed: a rule reads its argument only",
    ),
    ("fn f(x: atomic<u32>) {}", "line 1, column 9: `atomic` is not allowed: each call of a rule runs alone"),
    ("fn f() { atomicAdd(1); }", "line 1, column 10: `atomicAdd` is not allowed: each call of a rule runs alone"),
    (
        "fn f() { workgroupBarrier(); }",
        "line 1, column 10: `workgroupBarrier` is not allowed: each call of a rule runs alone",
    ),
    (
        "fn f(x: f32) -> f32 { return dpdx(x); }",
        "line 1, column 30: `dpdx` is not allowed: each call of a rule runs alone",
    ),
    (
        "fn f(x: f32) -> f32 { return fwidthFine(x); }",
        "line 1, column 30: `fwidthFine` is not allowed: each call of a rule runs alone",
    ),
    (
        "fn f(x: f32) -> f32 { return subgroupAdd(x); }",
        "line 1, column 30: `subgroupAdd` is not allowed: each call of a rule runs alone",
    ),
    (
        "fn f() { let x = quadSwapX(1.0); }",
        "line 1, column 18: `quadSwapX` is not allowed: each call of a rule runs alone",
    ),
    ("fn f() { var q: ray_query; }", "line 1, column 17: `ray_query` is not allowed: a rule reads its argument only"),
    ("fn f() { discard; }", "line 1, column 10: `discard` is not allowed: a rule returns a value on all paths"),
    (
        "fn f(x: f32) -> f32 { return modf(x).fract; }",
        "line 1, column 30: `modf` is not allowed: this built-in function is not available on the CPU",
    ),
    (
        "fn f(x: vec2<f32>) -> u32 { return pack2x16float(x); }",
        "line 1, column 36: `pack2x16float` is not allowed: this built-in function is not available on the CPU",
    ),
    (
        "fn f() { let grµ = 1; }",
        "line 1, column 16: `µ` is not allowed: expected letters, digits and signs of WGSL in ASCII; comments may have other letters",
    ),
    (
        "fn f() {} // a\u{2028}b",
        "line 1, column 15: `\\u{2028}` is not allowed: expected letters, digits and signs of WGSL in ASCII; comments may have other letters",
    ),
    ("fn f() {} /* open", "line 1, column 11: `/*` is not allowed: this comment has no end"),
    ("fn f() { let x = \"a\"; }", "line 1, column 18: `\"` is not allowed: WGSL does not have this sign"),
    (
        "fn halved(x: f32) -> f32 { return x; }",
        "line 1, column 4: `halved` is already defined by the solver, expected another name",
    ),
    ("const HALF = 1.0;", "line 1, column 7: `HALF` is already defined by the solver, expected another name"),
    ("struct Case { x: f32 }", "line 1, column 8: `Case` is already defined by the solver, expected another name"),
    (
        "fn max(a: f32, b: f32) -> f32 { return a; }",
        "line 1, column 4: `max` is already defined by WGSL, expected another name",
    ),
    ("const f32 = 1;", "line 1, column 7: `f32` is already defined by WGSL, expected another name"),
    ("fn f() {} fn f() {}", "line 1, column 14: redefinition of `f`"),
    (
        "fn f() { let x = array(1, 2); }",
        "line 1, column 18: `array` is not allowed: expected `array<T, N>` with a scalar or vector T and a number N",
    ),
    (
        "const N = 3; fn f() { var x: array<f32, N>; }",
        "line 1, column 30: `array` is not allowed: expected `array<T, N>` with a scalar or vector T and a number N",
    ),
    ("fn f() { var x: array<f32, 1000>; }", "line 1, column 28: too many elements of an array, expected at most 256"),
    (
        "struct A { x: f32 } struct B { a: A }",
        "line 1, column 35: `A` is not allowed: members are scalars, vectors, arrays or structs of the solver",
    ),
    ("fn f(x: f32) -> f32 { return f(x); }", "line 1, column 4: declaration of `f` is recursive"),
    ("fn f(x: f32) -> f32 {\n  return y;\n}", "line 2, column 10: no definition in scope for identifier: `y`"),
    ("fn f(x: f32) -> f32 {\n  return 1u;\n}", "line 2, column 10: expected to return `f32`"),
    ("fn f(x: f32) -> f32 { return x +; }", "line 1, column 33: expected expression, found \";\""),
    ("fn f(x: f32) -> f32 { }", "line 1, column 1: expected to return `f32`"),
    (
        "fn f(x: f32) -> f32 { return x + vec2(1i); }",
        "line 1, column 30: this operator does not take `vec2<f32>` and `vec2<i32>`, expected equal types that it is defined for",
    ),
    ("fn f(c: Case) -> f32 { return c.nothing; }", "line 1, column 33: invalid field accessor `nothing`"),
    ("fn f() { if 1.0 {} }", "line 1, column 13: expected a condition of type `bool`"),
    ("const X = 1 / 0;", "line 1, column 11: Division by zero"),
    ("fn f() { let x = array<f32, 2>(1.0, 2.0)[2]; }", "line 1, column 18: Cannot access at the index"),
    (
        "fn f() { let x = 1.0; x = 2.0; }",
        "line 1, column 23: invalid left-hand side of assignment; consider declaring `x` with `var` instead of `let`",
    ),
    (
        "fn f(x: f32) { x = 2.0; }",
        "line 1, column 16: invalid left-hand side of assignment; consider declaring `x` with `var` instead of `let`",
    ),
    (
        "fn f() { var x = 1.0; x = 1i; }",
        "line 1, column 23: automatic conversions cannot convert elements of `i32` to `f32`",
    ),
    ("fn g(x: i32) {} fn f() { g(1, 2); }", "line 1, column 26: expected 1 arguments of `g`, found 2"),
    ("fn f() { switch 1.5 { default: {} } }", "line 1, column 17: invalid `switch` selector"),
    ("fn f() { switch 1 { case 1: {} } }", "line 1, column 10: The `switch` is missing a `default` case"),
    (
        "fn f(x: vec3<f32>) { let y = cross(x, 1.0); }",
        "line 1, column 30: wrong type passed as argument #2 to `cross`; `cross` accepts the following types for argument #2: vec3<f32>",
    ),
    (
        "fn f(x: f32) -> f32 { return unknown(x); }",
        "line 1, column 30: no definition in scope for identifier: `unknown`",
    ),
    (
        "fn f() -> array<f32> {}",
        "line 1, column 11: `array` is not allowed: expected `array<T, N>` with a scalar or vector T and a number N",
    ),
    ("fn f() { _ = !1.0; }", "line 1, column 14: Cannot apply the unary op to the argument"),
    (
        "fn g(x: i32) -> i32 { return x; } fn f() { g(1); g(true); }",
        "line 1, column 52: expected `i32` as argument 1 of `g`",
    ),
    (
        "fn g(a: array<vec4f, 256>) {} fn f() { var x: array<vec4f, 256>; var y: array<vec4f, 256>; g(y); }",
        "line 1, column 66: too many values, expected at most 2048",
    ),
];

#[test]
fn each_refusal_names_place_and_reason() {
    for (text, message) in REFUSED {
        let text = format!("{text}\nfn rule(c: Case) -> Case {{ return c; }}");
        let error = program(&text).expect_err(&text);
        assert_eq!(error.to_string(), *message, "{text}");
        let position = error.position().expect("a position");
        assert!(message.starts_with(&format!("{position}: ")));
    }
    // Negative control: the rule alone is accepted.
    assert!(program("\nfn rule(c: Case) -> Case { return c; }").is_ok());
}

#[test]
fn words_like_refused_ones_are_accepted() {
    let names =
        ["material", "mat4", "packed", "quadratic", "atomic_mass", "texture", "forward", "looped", "pack", "dpdx_name"];
    for name in names {
        crate::rule(&format!("let {name} = c.a; r.a = {name};"));
    }
}

#[test]
fn comments_may_have_all_letters_and_words() {
    let program =
        program("// µ loop @ \"µ\"\nfn rule(c: Case) -> Case { /* while /* nested */ { ( */ return c; } // end");
    assert!(program.is_ok());
}

#[test]
fn functions_of_another_signature_are_refused() {
    let expected = "differs from the expected `fn rule(…: Case) -> Case`";
    for text in [
        "\nfn rule() {}",
        "\nfn rule(c: Case) {}",
        "\nfn rule(c: Case) -> f32 { return 1.0; }",
        "\nfn rule(c: Pair) -> Case { return Case(); }",
        "\nfn rule(c: Case, d: Case) -> Case { return c; }",
    ] {
        let error = program(text).expect_err(text);
        assert_eq!(error.to_string(), format!("line 2, column 1: function `rule` {expected}"));
    }
    for text in ["", "const rule = 1;", "struct rule { x: f32 }", "fn other(c: Case) -> Case { return c; }"] {
        let error = program(text).expect_err(text);
        assert_eq!(error.to_string(), "the text has no function `rule`, expected `fn rule(…: Case) -> Case`");
    }
    // Functions of the prelude are not those of the text.
    let prelude = format!("{}\nfn rule(c: Case) -> Case {{ return c; }}", crate::PRELUDE);
    let error = RuleProgram::new(&prelude, "", "rule", "Case").unwrap_err();
    assert!(matches!(error, RuleError::MissingFunction { .. }), "{error}");
}

#[test]
fn long_texts_are_refused() {
    let text = format!("fn rule(c: Case) -> Case {{ return c; }}{}", " ".repeat(MAX_TEXT_BYTES));
    assert!(program(&text[..MAX_TEXT_BYTES]).is_ok());
    let error = program(&text[..=MAX_TEXT_BYTES]).unwrap_err();
    assert_eq!(error.to_string(), "the text has 4097 bytes, expected at most 4096");
}

#[test]
fn faults_of_the_prelude_are_not_those_of_the_text() {
    let text = "fn rule(c: Case) -> Case { return c; }";
    let case = "struct Case { x: f32 }\n";
    let message = |prelude: &str, text: &str| RuleProgram::new(prelude, text, "rule", "Case").unwrap_err().to_string();
    assert_eq!(
        message("struct Other { x: f32 }", &text.replace("Case", "Other")),
        "prelude, line 1, column 1: expected a struct `Case`"
    );
    let broken = format!("{case}fn f() -> f32 {{ return y; }}");
    assert_eq!(message(&broken, text), "prelude, line 2, column 24: no definition in scope for identifier: `y`");
    let looping = format!("{case}fn f() {{ loop {{ break; }} }}");
    assert_eq!(
        message(&looping, "fn rule(c: Case) -> Case { f(); return c; }"),
        "prelude, line 2, column 10: a loop is not available in rules"
    );
    // A loop that the rule does not call does not matter.
    assert!(RuleProgram::new(&looping, text, "rule", "Case").is_ok());
    let unsized_struct = message("struct Case { x: bool }", text);
    assert_eq!(
        unsized_struct,
        "prelude, line 1, column 1: the struct has members without layout, expected numbers and vectors"
    );
}
