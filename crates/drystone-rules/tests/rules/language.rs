//! Statements, variables, functions and whole rules against Rust.

use crate::{Case, assert_same, call, cases, differs, program};
use drystone_rules::RuleProgram;
use proptest::prelude::*;

#[test]
fn branches_and_early_returns() {
    let text = "fn rule(c: Case) -> Case {
        var r = c;
        if c.n > 0 {
            if c.a > 1.0 { r.k = 1u; return r; }
            else if c.a > 0.5 { r.k = 2u; }
            else { { r.k = 3u; if c.a < 0.0 { return c; } } }
            r.n = 5;
        } else if c.n < -3 { r.k = 4u; return r; }
        r.u.x = 9u;
        return r;
    }";
    assert!(!differs(&program(text).unwrap(), |c| {
        if c.n > 0 {
            if c.a > 1.0 {
                c.k = 1;
                return;
            } else if c.a > 0.5 {
                c.k = 2;
            } else if c.a < 0.0 {
                return;
            } else {
                c.k = 3;
            }
            c.n = 5;
        } else if c.n < -3 {
            c.k = 4;
            return;
        }
        c.u[0] = 9;
    }));
}

#[test]
fn all_paths_return() {
    let text = "fn pick(n: i32) -> u32 {
        if n > 0 { return 1u; } else { if n < -5 { return 2u; } else { return 3u; } }
    }
    fn rule(c: Case) -> Case { var r = c; r.k = pick(c.n) * 10u + pick(c.i.x); return r; }";
    let pick = |n: i32| if n > 0 { 1 } else { 3 - u32::from(n < -5) };
    assert!(!differs(&program(text).unwrap(), |c| c.k = pick(c.n) * 10 + pick(c.i[0])));
}

#[test]
fn switches_do_not_fall_through() {
    assert_same(
        "switch c.n {
            case 1: { r.k = 10u; }
            case 2, 3: { r.k = 20u; if c.a > 0.0 { break; } r.k += 1u; }
            default: { r.k = 30u; }
            case -1: { r.k = 40u; return r; }
        }
        switch c.u.x { case 0u, default: { r.n = 1; } case 7u: {} }
        switch c.k { default: { } }
        r.w.x = 1u;",
        |c| {
            c.k = match c.n {
                1 => 10,
                2 | 3 => {
                    if c.a > 0.0 {
                        20
                    } else {
                        21
                    }
                }
                -1 => 40,
                _ => 30,
            };
            if c.n != -1 {
                c.n = if c.u[0] == 7 { c.n } else { 1 };
                c.w[0] = 1;
            }
        },
    );
}

#[test]
fn conditions_are_lazy() {
    let text = "fn is_up(x: f32) -> bool { return x > 0.0; }
    fn rule(c: Case) -> Case {
        var r = c;
        let is = (c.n > 0 && c.a > 0.0) || (is_up(c.f.x) && !is_up(c.f.y)) || c.k == 3u;
        if is { r.k = 1u; }
        return r;
    }";
    let is_up = |x: f32| x > 0.0;
    assert!(!differs(&program(text).unwrap(), |c| {
        if (c.n > 0 && c.a > 0.0) || (c.f[0] > 0.0 && !is_up(c.f[1])) || c.k == 3 {
            c.k = 1;
        }
    }));
}

#[test]
fn loads_see_the_value_of_their_time() {
    assert_same(
        "var x = c.a; let before = x; x = x + 1.0; let after = x; x = 7.0; r.f = vec4(before, after, x, 0.0);",
        |c| {
            c.f = [c.a, c.a + 1.0, 7.0, 0.0];
        },
    );
    assert_same("let old = r; r.f = c.g; r.g = old.f; r.f.y = r.g.x; r.f.z += r.f.y; r.n++; r.n -= 3;", |c| {
        let old = *c;
        c.f = [old.g[0], old.f[0], old.g[2] + old.f[0], old.g[3]];
        c.g = old.f;
        c.n = c.n.wrapping_sub(2);
    });
}

#[test]
fn structs_arrays_and_swizzles() {
    let text = "struct Own { list: array<f32, 3>, pair: Pair, is_set: bool, }
    const WEIGHTS = array<f32, 4>(1.0, 2.0, 3.0, 4.0);
    fn make(x: f32) -> Own { return Own(array<f32, 3>(x, x + 1.0, x + 2.0), Pair(x, vec2(x, -x)), x > 0.0); }
    fn rule(c: Case) -> Case {
        var r = c;
        var own = make(c.a);
        let copy = own;
        own.list[c.n] = 9.0;
        own.pair.second[c.k] = 8.0;
        own.pair.second = own.pair.second.yx;
        r.f = vec4(own.list[0], own.list[1], own.list[2], copy.list[c.n]);
        r.g = vec4(own.pair.second, WEIGHTS[c.n], c.h[c.k]);
        r.h = c.h.wwyx;
        r.k = u32(own.is_set);
        return r;
    }";
    let clamped = |index: i32, last: usize| usize::try_from(index).map_or(last, |index| index.min(last));
    assert!(!differs(&program(text).unwrap(), |c| {
        let mut list = [c.a, c.a + 1.0, c.a + 2.0];
        let copy = list;
        list[clamped(c.n, 2)] = 9.0;
        let mut second = [c.a, -c.a];
        second[(c.k as usize).min(1)] = 8.0;
        c.f = [list[0], list[1], list[2], copy[clamped(c.n, 2)]];
        c.g = [second[1], second[0], [1.0, 2.0, 3.0, 4.0][clamped(c.n, 3)], c.h[(c.k as usize).min(3)]];
        c.h = [c.h[3], c.h[3], c.h[1], c.h[0]];
        c.k = u32::from(c.a > 0.0);
    }));
}

#[test]
fn matrices_of_arrays_in_the_argument_keep_their_layout() {
    let prelude =
        "struct Inner { x: f32, v: vec3<f32>, } struct Outer { n: u32, list: array<Inner, 2>, last: vec2<i32> }";
    let text = "fn rule(o: Outer) -> Outer {
        var r = o;
        r.list[o.n].v.z = 5.0;
        r.list[0] = o.list[1];
        r.last = -o.last;
        return r;
    }";
    let program = RuleProgram::new(prelude, text, "rule", "Outer").unwrap();
    // Word offsets: n 0, list 4 with stride 8 (x 0, v 4), last 20; span 24.
    assert_eq!(program.size(), 96);
    let words: Vec<u32> = (0..24).collect();
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut result = vec![1; 96];
    program.call(&value, &mut result);
    let found: Vec<u32> = result.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let mut expected = [0; 24];
    expected[4] = 12;
    expected[8..11].copy_from_slice(&[16, 17, 18]);
    expected[12] = 12;
    expected[16..19].copy_from_slice(&[16, 17, 18]);
    expected[10] = 18;
    expected[20..22].copy_from_slice(&[20_u32.wrapping_neg(), 21_u32.wrapping_neg()]);
    // Element 0 was changed, then overwritten.
    assert_eq!(found, expected);
}

#[test]
fn functions_of_the_prelude_and_pointers_to_locals() {
    let prelude = format!("{}\nfn add(to: ptr<function, f32>, x: f32) {{ *to += halved(x); }}", crate::PRELUDE);
    let text = "fn rule(c: Case) -> Case {
        var r = c;
        var sum = 1.0;
        add(&sum, c.a);
        add(&sum, c.f.x);
        let p = &r.g;
        (*p).y = sum;
        r.a = sum;
        return r;
    }";
    let program = RuleProgram::new(&prelude, text, "rule", "Case").unwrap();
    assert!(!differs(&program, |c| {
        c.a = 1.0 + c.a * 0.5 + c.f[0] * 0.5;
        c.g[1] = c.a;
    }));
}

type Change = fn(&mut Case);

/// Rules as users write them, and the same in Rust.
const RULES: &[(&str, Change)] = &[
    (
        "// Stribeck friction.
        fn friction(speed: f32, low: f32, high: f32) -> f32 { return low + (high - low) * exp(-abs(speed) / 0.2); }
        fn rule(c: Case) -> Case {
            var r = c;
            r.a = friction(c.a, 0.3, 0.6) * halved(c.f.x);
            if c.k == 2u || c.n == 3 { r.f.y = clamp(0.9 - 0.1 * c.f.y, 0.0, 1.0); }
            return r;
        }",
        |c| {
            c.a = (0.3 + (0.6_f32 - 0.3) * (-c.a.abs() / 0.2).exp()) * (c.f[0] * 0.5);
            if c.k == 2 || c.n == 3 {
                c.f[1] = (0.9 - 0.1 * c.f[1]).max(0.0).min(1.0);
            }
        },
    ),
    (
        "/* One-way platform: contacts from below do not count. */
        const UP = vec2(0.0, 1.0);
        fn rule(c: Case) -> Case {
            if dot(c.f.xy, UP) < 0.5 && c.n != 0 { return c; }
            var r = c;
            let slip = c.g.xy - dot(c.g.xy, UP) * UP;
            r.g = vec4(slip, length(slip), 0.0);
            r.h = select(-c.h, c.h * 2.0, slip.x > 0.0);
            return r;
        }",
        |c| {
            if c.f[0] * 0.0 + c.f[1] * 1.0 < 0.5 && c.n != 0 {
                return;
            }
            let dot = c.g[0] * 0.0 + c.g[1] * 1.0;
            let slip = [c.g[0] - dot * 0.0, c.g[1] - dot];
            c.g = [slip[0], slip[1], (slip[0] * slip[0] + slip[1] * slip[1]).sqrt(), 0.0];
            c.h = c.h.map(|x| if slip[0] > 0.0 { x * 2.0 } else { -x });
        },
    ),
    (
        "fn hash(x: u32) -> u32 { var h = x; h ^= h >> 16u; h *= 0x7feb352du; h ^= h >> 15u; return h; }
        fn rule(c: Case) -> Case {
            var r = c;
            r.k = hash(c.k);
            r.a = f32(r.k >> 8u) / 16777216.0;
            if r.a < 0.25 { r.n = c.n % 5; }
            return r;
        }",
        |c| {
            let h = (c.k ^ (c.k >> 16)).wrapping_mul(0x7feb_352d);
            c.k = h ^ (h >> 15);
            c.a = (c.k >> 8) as f32 / 16_777_216.0;
            if c.a < 0.25 {
                c.n %= 5;
            }
        },
    ),
];

#[test]
fn rules_equal_the_same_in_rust() {
    for (text, change) in RULES {
        let program = program(text).unwrap();
        assert!(!differs(&program, change), "{text}");
        // Negative control: another rule is not the same.
        for (_, other) in RULES.iter().filter(|(other, _)| other != text) {
            assert!(differs(&program, other), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn calls_accept_any_length(value in prop::collection::vec(any::<u8>(), 0..200), length in 0_usize..200) {
        let program = crate::rule("r.a = c.a + 1.0; r.f = c.g;");
        let mut result = vec![7; length];
        program.call(&value, &mut result);
        prop_assert!(result.iter().skip(program.size()).all(|byte| *byte == 0));
    }

    #[test]
    fn clones_and_threads_agree(case in cases()) {
        let first = program(RULES[0].0).unwrap();
        let second = first.clone();
        let other = std::thread::spawn(move || call(&second, &case)).join().unwrap();
        prop_assert!(call(&first, &case).is_same(&other));
    }
}
