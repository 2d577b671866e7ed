// The uniform of camera and style, shared by all shaders of this crate. src/view.rs fills it and documents the fields.
// Twins on the CPU: cover and stroke in src/sprite.rs.

struct View {
    center: vec2<f32>,
    pixels_per_metre: f32,
    outline: f32,
    size: vec2<f32>,
    origin: vec2<f32>,
    shape_count: u32,
    body_count: u32,
    linear_target: u32,
    pad_1: u32,
    background: vec4<f32>,
    grid: vec4<f32>,
    grid_steps: vec4<f32>,
    grid_strength: vec4<f32>,
    fixed_fill: vec4<f32>,
    kinematic_fill: vec4<f32>,
    ink: vec4<f32>,
    tuning: vec4<f32>,
    bar: vec4<f32>,
    label: vec4<f32>,
    ramp: array<vec4<f32>, 8>,
    fill_opacity: f32,
    highlight: u32,
    tinted: u32,
    dim: u32,
    unit: f32,
    length: f32,
    arrow: f32,
    contact_parts: u32,
    scale_low: f32,
    scale_per_octave: f32,
    block_count: u32,
    joint_count: u32,
    ramp_bodies: u32,
    velocity_arrow: f32,
    force_arrow: f32,
    pad_0: u32,
    contact: vec4<f32>,
    normal: vec4<f32>,
    impulse: vec4<f32>,
    friction: vec4<f32>,
    joint: vec4<f32>,
    aabb: vec4<f32>,
    cell: vec4<f32>,
    accent: vec4<f32>,
    velocity: vec4<f32>,
    force: vec4<f32>,
    joint_force: vec4<f32>,
    weight: vec4<f32>,
    scale_ramp: array<vec4<f32>, 8>,
}

@group(0) @binding(0) var<uniform> view: View;

/// Returns the covered share of a pixel at `distance` from the middle of a stripe of half width `half`: a box filter.
fn cover(distance: f32, half: f32) -> f32 {
    return clamp(min(distance + 0.5, half) - max(distance - 0.5, -half), 0.0, 1.0);
}

/// Converts pixels of this picture, y down, to clip space.
fn to_clip(pixel: vec2<f32>) -> vec4<f32> {
    let unit = pixel / view.size * 2.0 - 1.0;
    return vec4<f32>(unit.x, -unit.y, 0.0, 1.0);
}

/// Returns the output colour of a fragment. Colours are sRGB-encoded and blended so, as browsers do; a target that
/// encodes by itself needs them linear.
fn to_target(color: vec3<f32>, alpha: f32) -> vec4<f32> {
    let linear = select(pow((color + 0.055) / 1.055, vec3<f32>(2.4)), color / 12.92, color <= vec3<f32>(0.04045));
    return vec4<f32>(select(color, linear, view.linear_target != 0u), alpha);
}

/// Returns the corner, 0 … 3, of a quad for each of its six vertices (two triangles).
fn corner_of(vertex: u32) -> u32 {
    let turn = vertex % 6u;
    return select(turn, select(2u, select(1u, 3u, turn == 5u), turn > 3u), turn > 2u);
}

/// Returns true if all components are finite. Tests the bits: a shader compiler may assume that there are no NaNs.
fn is_finite_row(row: vec4<f32>) -> bool {
    let exponents = bitcast<vec4<u32>>(row) & vec4<u32>(0x7f800000u);
    return all(exponents != vec4<u32>(0x7f800000u));
}
