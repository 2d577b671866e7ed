// Arithmetic that Rust and WGSL share (twin: src/math.rs).

fn cross_2d(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return a.x * b.y - a.y * b.x;
}

fn cross_scalar(s: f32, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(-s * v.y, s * v.x);
}

fn right_perp(v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(v.y, -v.x);
}

fn rotate(q: vec2<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(q.x * v.x - q.y * v.y, q.y * v.x + q.x * v.y);
}

fn inv_rotate(q: vec2<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(q.x * v.x + q.y * v.y, q.x * v.y - q.y * v.x);
}

fn turned(q: vec2<f32>, v: vec2<f32>) -> vec2<f32> {
    let less = q.x - 1.0;
    return vec2<f32>(less * v.x - q.y * v.y, q.y * v.x + less * v.y);
}

fn mul_rotation(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y);
}

fn inv_mul_rotation(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x);
}

// Turns by the exact angle: cosine and sine from the tangent `n/d` of half of it.
fn integrate_rotation(q: vec2<f32>, angle: f32) -> vec2<f32> {
    let half = 0.5 * angle;
    let square = half * half;
    let n = half * (1.0 - 0.0952381 * square);
    let d = 1.0 - square * (0.42857143 - 0.00952381 * square);
    let c = d * d - n * n;
    let s = 2.0 * n * d;
    let turned = vec2<f32>(c * q.x - s * q.y, c * q.y + s * q.x);
    let length = sqrt(turned.x * turned.x + turned.y * turned.y);
    if length > 0.0 {
        return turned / length;
    }
    return vec2<f32>(1.0, 0.0);
}

fn angle_of(q: vec2<f32>) -> f32 {
    let x = abs(q.x);
    let y = abs(q.y);
    let small = min(x, y);
    let large = max(x, y);
    if large <= 0.0 {
        return 0.0;
    }
    let t = small / large;
    let t2 = t * t;
    var series = 0.0028662257;
    series = series * t2 - 0.016165737;
    series = series * t2 + 0.04290961;
    series = series * t2 - 0.07528964;
    series = series * t2 + 0.10656264;
    series = series * t2 - 0.142089;
    series = series * t2 + 0.19993551;
    series = series * t2 - 0.33333145;
    var angle = t + t * (t2 * series);
    if y > x {
        angle = 1.5707964 - angle;
    }
    if q.x < 0.0 {
        angle = 3.1415927 - angle;
    }
    return select(angle, -angle, q.y < 0.0);
}

// Returns the inverse of the effective mass of a contact point along `direction`. `inv` is 1/mass and 1/inertia of A,
// then of B.
fn inverse_mass_at(inv: vec4<f32>, r_a: vec2<f32>, r_b: vec2<f32>, direction: vec2<f32>) -> f32 {
    let arm_a = cross_2d(r_a, direction);
    let arm_b = cross_2d(r_b, direction);
    return inv.x + inv.z + inv.y * arm_a * arm_a + inv.w * arm_b * arm_b;
}

// Returns the effective mass of a contact point along `direction`; 0 if both bodies are fixed.
fn effective_mass(inv: vec4<f32>, r_a: vec2<f32>, r_b: vec2<f32>, direction: vec2<f32>) -> f32 {
    let k = inverse_mass_at(inv, r_a, r_b, direction);
    if k > 0.0 {
        return 1.0 / k;
    }
    return 0.0;
}

fn is_finite(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u;
}

// Returns the number of contacts that a world with this many shapes can split (src/stages/color/split.rs).
fn max_splits(shapes: u32) -> u32 {
    return select(min(2u * shapes, MAX_SPLITS), 0u, shapes < MIN_SPLIT_SHAPES);
}

// Returns the index of this thread in the whole dispatch, which has two dimensions if one would exceed the limit.
fn flat_index(workgroup: vec3<u32>, workgroups: vec3<u32>, lanes: u32, lane: u32) -> u32 {
    return (workgroup.y * workgroups.x + workgroup.x) * lanes + lane;
}
