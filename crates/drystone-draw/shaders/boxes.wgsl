// The boxes around shapes, as the step began: a quad each, of which the edge is drawn.

//#import types
//#import draw/view

@group(0) @binding(1) var<storage, read> aabbs: array<Aabb>;

struct Edge {
    @builtin(position) clip: vec4<f32>,
    // Pixels, y down.
    @location(0) @interpolate(flat) low: vec2<f32>,
    @location(1) @interpolate(flat) high: vec2<f32>,
    @location(2) @interpolate(flat) opacity: f32,
}

@vertex
fn box_vertex(@builtin(vertex_index) vertex: u32) -> Edge {
    var edge: Edge;
    edge.clip = vec4<f32>(0.0, 0.0, 2.0, 1.0);
    let index = vertex / 6u;
    if index >= min(view.shape_count, arrayLength(&aabbs)) {
        return edge;
    }
    let aabb = aabbs[index];
    // Nothing, a half plane, or before the first step.
    if aabb.min.x >= aabb.max.x || !is_finite_row(vec4<f32>(aabb.min, aabb.max)) {
        return edge;
    }
    let a = (aabb.min - view.center) * view.pixels_per_metre;
    let b = (aabb.max - view.center) * view.pixels_per_metre;
    edge.low = 0.5 * view.size + vec2<f32>(a.x, -b.y);
    edge.high = 0.5 * view.size + vec2<f32>(b.x, -a.y);
    if !is_finite_row(vec4<f32>(edge.low, edge.high)) {
        return edge;
    }
    // Of a few pixels there is nothing to see but noise.
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
