//! Texts that try to exhaust stack, memory or time.

use std::time::{Duration, Instant};

use drystone_rules::{MAX_TEXT_BYTES, RuleError, RuleProgram};
use proptest::prelude::*;

use crate::{Case, call, program};

/// Stack in which each text must be checked, bytes. That of a thread is usually 2 MiB.
const STACK: usize = 512 << 10;
/// Time in which a text must be checked, s. Usually it is less than 3 ms.
const SECONDS: u64 = 10;

/// Compiles and calls a rule on a small stack. Returns the error if the text is refused.
fn attempt(text: &str) -> Option<RuleError> {
    let text = text.to_owned();
    let thread = std::thread::Builder::new().stack_size(STACK);
    let run = move || {
        let start = Instant::now();
        let program = program(&text);
        let program = program.map(|program| call(&program, &Case::default()));
        assert!(start.elapsed() < Duration::from_secs(SECONDS), "too slow: {text}");
        program.err()
    };
    let error = thread.spawn(run).expect("a thread").join().expect("no panic");
    // The compiler has lost a value: never to happen.
    let lost = "this expression is not available in rules";
    assert!(!matches!(&error, Some(RuleError::Invalid { message, .. }) if message == lost), "{error:?}");
    error
}

/// Repeats `open` and `close` as often as 4 KiB allow, around a rule's statements.
fn fill(before: &str, open: &str, middle: &str, close: &str, after: &str) -> String {
    let rest = MAX_TEXT_BYTES - before.len() - middle.len() - after.len();
    let count = rest / (open.len() + close.len());
    format!("{before}{}{middle}{}{after}", open.repeat(count), close.repeat(count))
}

/// Message of the error without its position.
fn refusal(text: &str) -> String {
    assert!(text.len() <= MAX_TEXT_BYTES);
    let message = attempt(text).map(|error| error.to_string()).unwrap_or_default();
    message.split_once(": ").map(|(_, message)| message.to_owned()).unwrap_or(message)
}

const NESTED: &str = "too many nested brackets, blocks and branches, expected at most 24";
const OPERATORS: &str = "too many operators in one expression, expected at most 128";
const START: &str = "fn rule(c: Case) -> Case { var r = c; ";
const END: &str = " return r; }";

#[test]
fn deep_nesting_is_refused() {
    let inside = |open: &str, middle: &str, close: &str| fill(START, open, middle, close, END);
    let texts = [
        (inside("r.a = (((((((((((((((((((((((((((((", "", ""), NESTED),
        (inside("(", "", ""), NESTED),
        (inside("[", "", ""), NESTED),
        (inside("{", "", ""), NESTED),
        (inside("{", "", "}"), NESTED),
        (inside("r.k[", "0", "]"), NESTED),
        (inside("max(1.0,", "c.a", ")"), NESTED),
        (inside("vec2(", "c.a", ")"), NESTED),
        (inside("if c.a > 0.0 {", "", "}"), NESTED),
        (inside("switch c.n { default: {", "", "} }"), NESTED),
        (format!("{START}if c.a > 0.0 {{}} {}{END}", "else if c.a > 1.0 {}".repeat(180)), NESTED),
        (format!("{START}r.a = {}c.a;{END}", "-".repeat(4000)), OPERATORS),
        (format!("{START}r.a = {}c.a;{END}", "- ".repeat(2000)), OPERATORS),
        (format!("{START}let x = {}true;{END}", "!".repeat(4000)), OPERATORS),
        (format!("{START}r.k = {}c.k;{END}", "~".repeat(4000)), OPERATORS),
        (format!("{START}{}r = c;{END}", "*&".repeat(2000)), OPERATORS),
        (format!("{START}r.a = c.a{};{END}", "+c.a".repeat(1000)), OPERATORS),
        (format!("{START}r.k = 1u{};{END}", "<<1u".repeat(1000)), OPERATORS),
        (format!("{START}let x = true{};{END}", "&&true".repeat(600)), OPERATORS),
        (format!("{START}r.f = c.f{};{END}", ".xyzw".repeat(800)), OPERATORS),
        (format!("{START}r.a = c.f{};{END}", "[0]".repeat(1300)), OPERATORS),
        (format!("const X = 1{};{START}{END}", "+1".repeat(2000)), OPERATORS),
        (format!("fn f(x: {}f32{}) {{}}{START}{END}", "vec2<".repeat(400), ">".repeat(400)), OPERATORS),
        (format!("fn f(x: {}f32{}) {{}}{START}{END}", "array<".repeat(400), ",2>".repeat(400)), OPERATORS),
        ("/*".repeat(2000), "`/*` is not allowed: this comment has no end"),
        (format!("{}{}{START}{END}", "/*".repeat(900), "*/".repeat(900)), ""),
        (
            ")".repeat(4000),
            "expected global item (`struct`, `const`, `var`, `alias`, `fn`, `diagnostic`, `enable`, `requires`, `;`) or the end of the file, found \")\"",
        ),
    ];
    for (text, expected) in texts {
        let found = refusal(&text);
        assert_eq!(found, expected, "{text}");
    }
}

/// Functions call0, call1, … that each have the body `each`, with `{next}` the name of the next one.
fn chain(count: usize, each: &str, last: &str) -> String {
    let functions =
        (0..count).map(|k| format!("fn call{k}() -> f32 {{{}}}", each.replace("next", &format!("call{}", k + 1))));
    format!("{}fn call{count}() -> f32 {{{last}}}{START} r.a = call0();{END}", functions.collect::<String>())
}

#[test]
fn long_calls_are_refused() {
    let calls = "too many nested calls, expected at most 16";
    let operations = "too many operations, those of called functions included, expected at most 10000";
    assert_eq!(refusal(&chain(14, "return next();", "return 1.0;")), "");
    assert_eq!(refusal(&chain(40, "return next();", "return 1.0;")), calls);
    assert_eq!(refusal(&chain(14, "return next() + next();", "return 1.0;")), operations);
    assert_eq!(refusal(&chain(7, "return next()+next()+next()+next()+next()+next();", "return 1.0;")), operations);
    // Copies count, too.
    let last = "var x = array<f32, 256>(); let y = x; return y[0];";
    assert_eq!(refusal(&chain(9, "return next() + next();", last)), operations);
    // Those of the prelude count where the text calls them.
    let prelude = chain(14, "return next() + next();", "return 1.0;");
    let prelude = format!("{}{}", crate::PRELUDE, prelude.split_once(START).expect("a rule").0);
    let text = format!("{START}\n  r.a = call0();{END}");
    let error = RuleProgram::new(&prelude, &text, "rule", "Case").unwrap_err().to_string();
    assert_eq!(error, format!("line 2, column 9: {operations}"));
    // Also where the rule does not call them.
    let uncalled = chain(14, "return next() + next();", "return 1.0;").replace("r.a = call0();", "");
    assert_eq!(refusal(&uncalled), operations);
    let many: String = (0..65).map(|k| format!("const A{k} = 1.0;")).collect();
    assert_eq!(refusal(&format!("{many}{START}{END}")), "too many declarations, expected at most 64");
}

#[test]
fn large_types_are_refused() {
    let values = "too many values, expected at most 2048";
    let large: String = (0..20).map(|k| format!("var a{k}: array<vec4<f32>, 256>; ")).collect();
    assert_eq!(refusal(&format!("{START}{large}{END}")), values);
    let members: String = (0..150).map(|k| format!("a{k}: array<vec4f, 256>,")).collect();
    assert_eq!(refusal(&format!("struct S {{ {members} }}{START} var s: S;{END}")), values);
    assert_eq!(refusal(&format!("struct S {{ {members} }} const X = S();{START} var s = X;{END}")), values);
    // Sizes that double with each declaration.
    let doubled: String = (0..40).map(|k| format!("struct S{}{{a:S{k},b:S{k}}}", k + 1)).collect();
    let text = format!("struct S0 {{ x: f32 }} {doubled}{START}{END}");
    assert_eq!(refusal(&text), "`S0` is not allowed: members are scalars, vectors, arrays or structs of the solver");
    let doubled: String = (0..40).map(|k| format!("const A{}=array(A{k},A{k});", k + 1)).collect();
    let expected = "`array` is not allowed: expected `array<T, N>` with a scalar or vector T and a number N";
    assert_eq!(refusal(&format!("const A0 = 1.0;{doubled}{START}{END}")), expected);
}

#[test]
fn full_texts_are_fast() {
    let start = Instant::now();
    for statement in ["r.a+=c.a;", "r.f*=c.g;", "let x=c.f;", "r.f[c.n]=1.0;", "r.a=sin(r.a);", "if c.a>0.0{r.n+=1;}"] {
        let statements: String = (0..MAX_TEXT_BYTES)
            .map(|k| statement.replace("let x", &format!("let x{k}")))
            .scan(START.len() + END.len(), |bytes, statement| {
                *bytes += statement.len();
                (*bytes <= MAX_TEXT_BYTES).then_some(statement)
            })
            .collect();
        assert_eq!(refusal(&format!("{START}{statements}{END}")), "", "{statement}");
    }
    assert!(start.elapsed() < Duration::from_secs(SECONDS));
}

/// Tokens of which random texts are made.
const TOKENS: &[&str] = &[
    "fn",
    "rule",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "c",
    ":",
    "Case",
    "->",
    "var",
    "let",
    "const",
    "struct",
    "r",
    "=",
    ";",
    ".",
    ",",
    "a",
    "f",
    "x",
    "if",
    "else",
    "switch",
    "case",
    "default",
    "return",
    "break",
    "1",
    "0",
    "1.5",
    "2u",
    "-3i",
    "true",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "!",
    "~",
    "==",
    "!=",
    "<=",
    ">=",
    "<<",
    ">>",
    "&&",
    "||",
    "+=",
    "++",
    "--",
    "_",
    "f32",
    "i32",
    "u32",
    "bool",
    "vec2",
    "vec3<f32>",
    "vec4f",
    "array<f32, 2>",
    "max",
    "min",
    "abs",
    "dot",
    "select",
    "sin",
    "bitcast<u32>",
    "halved",
    "Pair",
    "HALF",
    "length",
    "first",
    "second",
    "xy",
    "1e38",
    "0x7fffffff",
    "4294967295u",
    "const_assert",
    "clamp",
    "mix",
    "all",
    "n",
    "k",
    "i",
    "u",
    "\n",
    "// x\n",
    "smoothstep",
    "extractBits",
    "normalize",
    "array<vec2<f32>, 3>",
    "ldexp",
    "insertBits",
    "cross",
    "g",
];

/// Expressions of a rule, valid for the most part.
fn expression() -> impl Strategy<Value = String> {
    let leaves =
        ["c.a", "c.f.x", "1.5", "0.0", "c.f[c.n]", "HALF", "f32(c.n)", "-c.a", "x", "bitcast<f32>(c.k)", "c.n"];
    let leaf = prop::sample::select(leaves.to_vec()).prop_map(str::to_owned);
    leaf.prop_recursive(6, 40, 3, |inner| {
        let operators = ["+", "-", "*", "/", "%", "&&", "<", "<<", "=="];
        let functions =
            ["sin", "max", "clamp", "mix", "pow", "halved", "f32", "dot", "vec2", "select", "length", "i32"];
        prop_oneof![
            (inner.clone(), prop::sample::select(operators.to_vec()), inner.clone())
                .prop_map(|(a, operator, b)| format!("({a} {operator} {b})")),
            (prop::sample::select(functions.to_vec()), prop::collection::vec(inner, 1..4))
                .prop_map(|(function, values)| format!("{function}({})", values.join(", "))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_tokens_do_no_harm(tokens in prop::collection::vec(prop::sample::select(TOKENS.to_vec()), 0..120)) {
        let soup = tokens.join(" ");
        attempt(&soup);
        attempt(&format!("{soup}\n{START}{END}"));
        attempt(&format!("{START}{soup}{END}"));
        attempt(&format!("{START} r.a = {soup};{END}"));
    }

    #[test]
    fn random_characters_do_no_harm(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<char>(), 0..100)) {
        attempt(&text);
        attempt(&format!("{START}{}{END}", bytes.into_iter().collect::<String>()));
    }

    #[test]
    fn random_expressions_do_no_harm(expressions in prop::collection::vec(expression(), 1..4)) {
        let assignments: String = expressions.iter().map(|value| format!("x = {value}; ")).collect();
        attempt(&format!("{START} var x = c.a; {assignments} r.a = x;{END}"));
        let branch = format!("if {} {{ {assignments} }}", expressions[0]);
        attempt(&format!("{START} var x = c.a; {branch} r.a = x;{END}"));
    }

    #[test]
    fn changed_rules_do_no_harm(
        cut in 0_usize..400,
        length in 0_usize..20,
        token in prop::sample::select(TOKENS.to_vec()),
    ) {
        let text = "struct Own { list: array<f32, 3>, k: u32 } const LOW = vec2(0.1, 0.2);
            fn own(x: f32) -> Own { return Own(array<f32, 3>(x, 1.0, -x), u32(x)); }
            fn rule(c: Case) -> Case {
                var r = c;
                var o = own(c.a);
                switch c.n { case 1, 2: { r.a = o.list[c.k]; } default: { r.f = vec4(LOW, LOW.yx); } }
                if c.a > 0.5 && c.k != 3u { return c; } else if c.n < -2 { r.n = c.n / (c.n - 1); }
                r.a += dot(c.f.xy, LOW) * halved(f32(c.k));
                return r;
            }";
        let end = (cut + length).min(text.len());
        attempt(&format!("{}{token}{}", &text[..cut], &text[end..]));
    }
}
