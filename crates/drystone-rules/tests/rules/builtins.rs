//! Each operator and built-in function against Rust.

use crate::{Case, assert_same, differs, rule};

type OfOne = fn(f32) -> f32;
type OfTwo = fn(f32, f32) -> f32;
type OfIntegers = fn(i128, i128) -> i128;

fn each<T: Copy, U: Copy>(values: [T; 4], apply: impl Fn(T) -> U) -> [U; 4] {
    values.map(apply)
}

fn pairs<T: Copy, U>(a: [T; 4], b: [T; 4], apply: impl Fn(T, T) -> U) -> [U; 4] {
    std::array::from_fn(|k| apply(a[k], b[k]))
}

#[test]
fn a_wrong_reference_is_noticed() {
    assert!(differs(&rule("r.f = cos(c.f);"), |c| c.f = each(c.f, f32::sin)));
    assert!(differs(&rule("r.i = c.i / c.j;"), |c| c.i = pairs(c.i, c.j, |a, b| a.checked_div(b).unwrap_or(0))));
    assert!(differs(&rule("r.f = c.f;"), |c| c.g[3] += 1.0));
}

#[test]
fn functions_of_a_float() {
    let functions: &[(&str, OfOne)] = &[
        ("abs", f32::abs),
        ("acos", f32::acos),
        ("acosh", f32::acosh),
        ("asin", f32::asin),
        ("asinh", f32::asinh),
        ("atan", f32::atan),
        ("atanh", f32::atanh),
        ("ceil", f32::ceil),
        ("cos", f32::cos),
        ("cosh", f32::cosh),
        ("degrees", f32::to_degrees),
        ("exp", f32::exp),
        ("exp2", f32::exp2),
        ("floor", f32::floor),
        ("fract", |x| x - x.floor()),
        ("inverseSqrt", |x| 1.0 / x.sqrt()),
        ("log", f32::ln),
        ("log2", f32::log2),
        ("radians", f32::to_radians),
        ("round", f32::round_ties_even),
        ("saturate", |x| x.max(0.0).min(1.0)),
        ("sign", |x| if x == 0.0 { 0.0 } else { x.signum() }),
        ("sin", f32::sin),
        ("sinh", f32::sinh),
        ("sqrt", f32::sqrt),
        ("tan", f32::tan),
        ("tanh", f32::tanh),
        ("trunc", f32::trunc),
        ("-", |x| -x),
    ];
    for (name, function) in functions {
        assert_same(&format!("r.f = {name}(c.f); r.a = {name}(c.a);"), |c| {
            (c.f, c.a) = (each(c.f, function), function(c.a));
        });
    }
}

#[test]
fn functions_of_two_and_three_floats() {
    let functions: &[(&str, OfTwo)] = &[
        ("c.f + c.g", |a, b| a + b),
        ("c.f - c.g", |a, b| a - b),
        ("c.f * c.g", |a, b| a * b),
        ("c.f / c.g", |a, b| a / b),
        ("c.f % c.g", |a, b| a % b),
        ("atan2(c.f, c.g)", f32::atan2),
        ("max(c.f, c.g)", f32::max),
        ("min(c.f, c.g)", f32::min),
        ("pow(c.f, c.g)", f32::powf),
        ("step(c.f, c.g)", |edge, x| if x >= edge { 1.0 } else { 0.0 }),
    ];
    for (text, function) in functions {
        assert_same(&format!("r.f = {text};"), |c| c.f = pairs(c.f, c.g, function));
    }
    let three = |c: &Case, apply: fn(f32, f32, f32) -> f32| std::array::from_fn(|k| apply(c.f[k], c.g[k], c.h[k]));
    assert_same("r.f = fma(c.f, c.g, c.h);", |c| c.f = three(c, f32::mul_add));
    assert_same("r.f = mix(c.f, c.g, c.h);", |c| c.f = three(c, |a, b, t| a * (1.0 - t) + b * t));
    assert_same("r.f = mix(c.f, c.g, c.a);", |c| c.f = pairs(c.f, c.g, |a, b| a * (1.0 - c.a) + b * c.a));
    assert_same("r.f = clamp(c.f, c.g, c.h);", |c| c.f = three(c, |a, low, high| a.max(low).min(high)));
    assert_same("r.f = smoothstep(vec4(0.25), vec4(2.0), c.f);", |c| {
        c.f = each(c.f, |x| {
            let t = if x > 0.25 { ((x - 0.25) / 1.75).min(1.0) } else { 0.0 };
            t * t * (3.0 - 2.0 * t)
        });
    });
    assert_same("r.a = ldexp(c.a, clamp(c.n, -99, 99));", |c| {
        c.a = (f64::from(c.a) * 2.0_f64.powi(c.n.clamp(-99, 99))) as f32;
    });
}

#[test]
fn functions_of_vectors() {
    fn dot<const N: usize>(a: [f32; N], b: [f32; N]) -> f32 {
        (1..N).fold(a[0] * b[0], |sum, k| sum + a[k] * b[k])
    }
    assert_same("r.a = dot(c.f, c.g);", |c| c.a = dot(c.f, c.g));
    assert_same("r.a = dot(c.f.xy, c.g.zw);", |c| c.a = c.f[0] * c.g[2] + c.f[1] * c.g[3]);
    assert_same("r.n = dot(c.i, c.j);", |c| {
        c.n = c.i.iter().zip(&c.j).fold(0, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
    });
    assert_same("r.a = length(c.f) + length(c.a);", |c| c.a = dot(c.f, c.f).sqrt() + c.a.abs());
    assert_same("r.a = distance(c.f, c.g) + distance(c.a, c.f.x);", |c| {
        let difference = pairs(c.f, c.g, |a, b| a - b);
        c.a = dot(difference, difference).sqrt() + (c.a - c.f[0]).abs();
    });
    assert_same("r.f = normalize(c.f);", |c| c.f = each(c.f, |x| x / dot(c.f, c.f).sqrt()));
    assert_same("r.f = vec4(cross(c.f.xyz, c.g.xyz), 1.0);", |c| {
        let ([x, y, z, _], [u, v, w, _]) = (c.f, c.g);
        c.f = [y * w - z * v, z * u - x * w, x * v - y * u, 1.0];
    });
    assert_same("r.f = reflect(c.f, c.g);", |c| c.f = pairs(c.f, c.g, |a, n| a - 2.0 * dot(c.g, c.f) * n));
    assert_same("r.f = faceForward(c.f, c.g, c.h);", |c| {
        let is_behind = dot(c.g, c.h) < 0.0;
        c.f = each(c.f, |x| if is_behind { x } else { -x });
    });
    assert_same("r.f = refract(c.f, c.g, c.a);", |c| {
        let dot = dot(c.g, c.f);
        let k = 1.0 - c.a * c.a * (1.0 - dot * dot);
        c.f = pairs(c.f, c.g, |a, n| if k < 0.0 { 0.0 } else { c.a * a - (c.a * dot + k.sqrt()) * n });
    });
}

#[test]
fn integers_wrap_and_division_by_zero_is_defined() {
    let signed: &[(&str, OfIntegers)] = &[
        ("c.i + c.j", |a, b| a + b),
        ("c.i - c.j", |a, b| a - b),
        ("c.i * c.j", |a, b| a * b),
        ("c.i / c.j", |a, b| if b == 0 { a } else { a / b }),
        ("c.i % c.j", |a, b| if b == 0 { 0 } else { a % b }),
        ("min(c.i, c.j)", i128::min),
        ("max(c.i, c.j)", i128::max),
        ("abs(c.i)", |a, _| a.abs()),
        ("-c.i", |a, _| -a),
        ("~c.i", |a, _| !a),
        ("sign(c.i)", |a, _| a.signum()),
        ("clamp(c.i, vec4(-5), vec4(7))", |a, _| a.clamp(-5, 7)),
        ("c.i & c.j", |a, b| a & b),
        ("c.i | c.j", |a, b| a | b),
        ("c.i ^ c.j", |a, b| a ^ b),
    ];
    for (text, function) in signed {
        // Only the lowest 32 bits stay.
        assert_same(&format!("r.i = {text};"), |c| {
            c.i = pairs(c.i, c.j, |a, b| function(i128::from(a), i128::from(b)) as i32);
        });
        if !text.starts_with(['-', 's']) && !text.contains("-5") {
            let text = text.replace("c.i", "c.u").replace("c.j", "c.w");
            assert_same(&format!("r.u = {text};"), |c| {
                c.u = pairs(c.u, c.w, |a, b| function(i128::from(a), i128::from(b)) as u32);
            });
        }
    }
    assert_same("r.i = c.i << c.u; r.j = c.i >> c.u; r.w = c.w >> c.u;", |c| {
        let shift = |k: usize| c.u[k] % 32;
        (c.i, c.j, c.w) = (
            std::array::from_fn(|k| (i64::from(c.i[k]) << shift(k)) as i32),
            std::array::from_fn(|k| (i64::from(c.i[k]) >> shift(k)) as i32),
            std::array::from_fn(|k| (u64::from(c.w[k]) >> shift(k)) as u32),
        );
    });
}

#[test]
fn bits() {
    let position = |bit: Option<u32>| bit.unwrap_or(u32::MAX);
    assert_same("r.u = countOneBits(c.u); r.i = countLeadingZeros(c.i); r.w = countTrailingZeros(c.w);", |c| {
        c.u = each(c.u, u32::count_ones);
        c.i = each(c.i, |x| x.leading_zeros().cast_signed());
        c.w = each(c.w, u32::trailing_zeros);
    });
    assert_same("r.u = reverseBits(c.u); r.w = firstLeadingBit(c.w); r.i = firstTrailingBit(c.i);", |c| {
        c.u = each(c.u, u32::reverse_bits);
        c.w = each(c.w, |x| position((0..32).rev().find(|bit| x >> bit & 1 == 1)));
        c.i = each(c.i, |x| position((0..32).find(|bit| x >> bit & 1 == 1)).cast_signed());
    });
    assert_same("r.i = firstLeadingBit(c.i);", |c| {
        let differs = |x: i32, bit: u32| (x >> bit & 1 == 1) != (x < 0);
        c.i = each(c.i, |x| position((0..32).rev().find(|bit| differs(x, *bit))).cast_signed());
    });
    let field = |offset: u32, count: u32| {
        let first = offset.min(32);
        (first, count.min(32 - first))
    };
    assert_same("r.u = extractBits(c.u, c.w.x, c.w.y); r.i = extractBits(c.i, c.w.x, c.w.y);", |c| {
        let (first, count) = field(c.w[0], c.w[1]);
        let unsigned = |x: u32| (u64::from(x) >> first) & ((1 << count) - 1);
        c.u = each(c.u, |x| unsigned(x) as u32);
        c.i = each(c.i, |x| {
            let value = unsigned(x.cast_unsigned()) as i64;
            if count > 0 && value >> (count - 1) == 1 { (value - (1 << count)) as i32 } else { value as i32 }
        });
    });
    assert_same("r.u = insertBits(c.u, c.w, c.k, c.u.x);", |c| {
        let (first, count) = field(c.k, c.u[0]);
        let mask = (((1_u64 << count) - 1) << first) as u32;
        c.u = pairs(c.u, c.w, |x, new| x & !mask | ((u64::from(new) << first) as u32) & mask);
    });
}

#[test]
fn comparisons_and_selections() {
    let count = |of: [bool; 4]| of.iter().zip([1, 2, 4, 8]).map(|(is, bit)| u32::from(*is) * bit).sum::<u32>();
    for (kind, a, b) in [("floats", "c.f", "c.g"), ("signed", "c.i", "c.j"), ("unsigned", "c.u", "c.w")] {
        for operator in ["==", "!=", "<", "<=", ">", ">="] {
            fn compare<T: PartialOrd + Copy>(operator: &str, a: T, b: T) -> bool {
                match operator {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            let text = format!("r.k = dot(vec4<u32>({a} {operator} {b}), vec4(1u, 2u, 4u, 8u));");
            assert_same(&text, |c| {
                c.k = count(match kind {
                    "floats" => pairs(c.f, c.g, |a, b| compare(operator, a, b)),
                    "signed" => pairs(c.i, c.j, |a, b| compare(operator, a, b)),
                    _ => pairs(c.u, c.w, |a, b| compare(operator, a, b)),
                });
            });
        }
    }
    assert_same("r.f = select(c.f, c.g, c.f < c.g); r.g = select(c.f, c.g, c.n > 0);", |c| {
        (c.f, c.g) = (pairs(c.f, c.g, |a, b| if a < b { b } else { a }), if c.n > 0 { c.g } else { c.f });
    });
    assert_same("r.k = u32(all(c.f < c.g)) + 2u * u32(any(c.f < c.g)) + 4u * u32(!(c.n > 0 && c.a > 0.0));", |c| {
        let less = pairs(c.f, c.g, |a, b| a < b);
        let is_both = c.n > 0 && c.a > 0.0;
        c.k = u32::from(less == [true; 4]) + 2 * u32::from(less != [false; 4]) + 4 * u32::from(!is_both);
    });
}

#[test]
fn conversions() {
    assert_same("r.i = vec4<i32>(c.f); r.u = vec4<u32>(c.f); r.f = vec4<f32>(c.j); r.g = vec4<f32>(c.w);", |c| {
        // Clamped to floats that the integers can represent.
        let clamped = |x: f32, low: f32, high: f32| if x.is_nan() { 0 } else { x.max(low).min(high) as i64 };
        c.i = each(c.f, |x| clamped(x, -2_147_483_648.0, 2_147_483_520.0) as i32);
        c.u = each(c.f, |x| clamped(x, 0.0, 4_294_967_040.0) as u32);
        c.f = each(c.j, |x| x as f32);
        c.g = each(c.w, |x| x as f32);
    });
    assert_same("r.u = bitcast<vec4<u32>>(c.f); r.f = bitcast<vec4<f32>>(c.i); r.i = vec4<i32>(c.w);", |c| {
        (c.u, c.f, c.i) = (each(c.f, f32::to_bits), each(c.i, |x| f32::from_bits(x as u32)), each(c.w, |x| x as i32));
    });
    assert_same("r.k = u32(bool(c.n)) + u32(bool(c.a)); r.a = f32(c.n > 0);", |c| {
        c.k = u32::from(c.n != 0) + u32::from(c.a != 0.0);
        c.a = f32::from(u8::from(c.n > 0));
    });
}
