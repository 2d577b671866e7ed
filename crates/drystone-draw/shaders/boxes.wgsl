// AABBs of shapes at their current poses (shaders/bound.wgsl of the solver computes them at the beginning of a step).
// Each is a quad of which only the edge is drawn.

//#import types
//#import pose
//#import math
//#import draw/view

@group(0) @binding(1) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(3) var<storage, read> poses: array<Pose>;
@group(0) @binding(4) var<storage, read> vertices: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> states: array<BodyState>;

struct Edge {
    @builtin(position) clip: vec4<f32>,
    // Corners of the box, px, y down.
    @location(0) @interpolate(flat) low: vec2<f32>,
    @location(1) @interpolate(flat) high: vec2<f32>,
    @location(2) @interpolate(flat) opacity: f32,
}

/// Returns the AABB relative to the camera, m. Inverted (low above high) for shapes without one: unused slots, half
/// planes, quarantined bodies.
fn box_of(index: u32) -> Aabb {
    let none = Aabb(vec2<f32>(1.0), vec2<f32>(-1.0));
    let shape = shapes[index];
    let kind = shape.kind & GEOMETRY_MASK;
    if kind == NO_SHAPE || kind == HALF_PLANE || shape.body >= min(arrayLength(&poses), arrayLength(&states)) {
        return none;
    }
    if (states[shape.body].status & QUARANTINED) != 0u {
        return none;
    }
    let pose = poses[shape.body];
    let center = vector_from(view.center, pose) + rotate(pose.rotation, shape.offset);
    let turn = mul_rotation(pose.rotation, shape.rotation);
    let rim = shape.radius + params.aabb_margin;
    if kind == POLYGON {
        var low = vec2<f32>(1e30);
        var high = vec2<f32>(-1e30);
        let count = (shape.kind >> VERTEX_COUNT_SHIFT) & 0xfu;
        for (var vertex = 0u; vertex < count; vertex += 1u) {
            let point = rotate(turn, vertices[min(shape.first_vertex + vertex, arrayLength(&vertices) - 1u)]);
            low = min(low, point);
            high = max(high, point);
        }
        return Aabb(center + low - rim, center + high + rim);
    }
    var reach = vec2<f32>(rim);
    if kind != CIRCLE {
        let spread = abs(turn);
        let half = shape.half;
        reach += vec2<f32>(spread.x * half.x + spread.y * half.y, spread.y * half.x + spread.x * half.y);
    }
    return Aabb(center - reach, center + reach);
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32) -> Edge {
    var edge: Edge;
    edge.clip = vec4<f32>(0.0, 0.0, 2.0, 1.0);
    let index = vertex / 6u;
    if index >= min(view.shape_count, arrayLength(&shapes)) {
        return edge;
    }
    let aabb = box_of(index);
    if aabb.min.x >= aabb.max.x || !is_finite_row(vec4<f32>(aabb.min, aabb.max)) {
        return edge;
    }
    let a = aabb.min * view.pixels_per_metre;
    let b = aabb.max * view.pixels_per_metre;
    edge.low = 0.5 * view.size + vec2<f32>(a.x, -b.y);
    edge.high = 0.5 * view.size + vec2<f32>(b.x, -a.y);
    if !is_finite_row(vec4<f32>(edge.low, edge.high)) {
        return edge;
    }
    // Boxes a few pixels wide would only add noise.
    let size = edge.high - edge.low;
    edge.opacity = 0.85 * clamp((max(size.x, size.y) - 2.0) / 6.0, 0.0, 1.0);
    let rim = view.unit + 1.0;
    let from_pixel = clamp(edge.low - rim, vec2<f32>(-8.0), view.size + 8.0);
    let to_pixel = clamp(edge.high + rim, vec2<f32>(-8.0), view.size + 8.0);
    if edge.opacity > 0.0 && from_pixel.x < to_pixel.x && from_pixel.y < to_pixel.y {
        let corner = corner_of(vertex);
        edge.clip = to_clip(vec2<f32>(select(from_pixel.x, to_pixel.x, (corner & 1u) != 0u),
                                      select(from_pixel.y, to_pixel.y, (corner & 2u) != 0u)));
    }
    return edge;
}

@fragment
fn box_fragment(edge: Edge) -> @location(0) vec4<f32> {
    let middle = 0.5 * (edge.low + edge.high);
    let half = 0.5 * (edge.high - edge.low);
    let p = abs(edge.clip.xy - view.origin - middle);
    let pen = 0.5 * view.unit;
    let outer = cover(p.x, half.x + pen) * cover(p.y, half.y + pen);
    let inner = cover(p.x, max(half.x - pen, 0.0)) * cover(p.y, max(half.y - pen, 0.0));
    let alpha = (outer - inner) * edge.opacity;
    if alpha <= 0.0 {
        discard;
    }
    return to_target(view.aabb.rgb, alpha);
}
