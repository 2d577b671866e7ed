// Draws every shape straight from the solver's buffers: an instance a shape (twice: fixed bodies first, so that they
// lie below), a quad of whole pixels around it, and the exact outline in the fragment shader.
// Twin on the CPU: src/draw/sprite.rs, function by function.

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> shapes: array<Shape>;

struct Sprite {
    @builtin(position) clip: vec4<f32>,
    // Pixels, y down.
    @location(0) @interpolate(flat) center: vec2<f32>,
    // Cosine and sine, counter-clockwise with y up.
    @location(1) @interpolate(flat) axis: vec2<f32>,
    // Pixels, at least half a one; a circle's radius twice.
    @location(2) @interpolate(flat) half: vec2<f32>,
    // Outline width in pixels, opacity, 1 for a circle, strength of the radius line or tick.
    @location(3) @interpolate(flat) pen: vec4<f32>,
    @location(4) @interpolate(flat) fill: vec3<f32>,
}

/// By its bits: a shader compiler may assume that there are no NaNs.
fn is_finite_row(row: vec4<f32>) -> bool {
    let exponents = bitcast<vec4<u32>>(row) & vec4<u32>(0x7f800000u);
    return all(exponents != vec4<u32>(0x7f800000u));
}

fn turn(q: vec2<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(q.x * v.x - q.y * v.y, q.y * v.x + q.x * v.y);
}

@vertex
fn shape_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> Sprite {
    var sprite: Sprite;
    // Behind the far plane: not drawn.
    sprite.clip = vec4<f32>(0.0, 0.0, 2.0, 1.0);
    let shape = shapes[instance % view.shape_count];
    let fixed_pass = instance < view.shape_count;
    if ((shape.kind & FIXED_SHAPE) != 0u) != fixed_pass || shape.body >= arrayLength(&poses) {
        return sprite;
    }
    let pose = poses[shape.body];
    let own = vec4<f32>(shape.offset, shape.rotation);
    let extent = vec4<f32>(shape.half, shape.radius, shape.bound);
    if !is_finite_row(vec4<f32>(pose.position, pose.rotation)) || !is_finite_row(own) || !is_finite_row(extent) {
        return sprite;
    }

    let scale = view.pixels_per_metre;
    // The camera first, the offset then: fewer digits are lost far from the origin.
    let place = ((pose.position - view.center) + turn(pose.rotation, shape.offset)) * scale;
    sprite.center = 0.5 * view.size + vec2<f32>(place.x, -place.y);
    sprite.axis = turn(pose.rotation, shape.rotation);
    let geometry = shape.kind & GEOMETRY_MASK;
    // What is neither circle nor box is drawn as the circle around it: it never vanishes.
    let round = geometry != BOX;
    var half = shape.half * scale;
    if round {
        half = vec2<f32>(select(shape.bound, shape.radius, geometry == CIRCLE) * scale);
    }
    // Zooms that overflow show nothing rather than something wrong.
    if !is_finite_row(vec4<f32>(sprite.center, half)) {
        return sprite;
    }
    half = max(half, vec2<f32>(0.0));
    // Dots: never thinner than a pixel, and paler instead. The square root of the covered share, since shapes that
    // tile a pixel are painted over each other: with the share itself a third of the background would shine through.
    let thick = max(half, vec2<f32>(0.5));
    let shown = (half.x / thick.x) * (half.y / thick.y);
    let thinnest = min(thick.x, thick.y);
    let outline = min(view.outline, 0.3 * thinnest);
    // What never turns needs no mark.
    let turns = (shape.kind & (FIXED_SHAPE | KINEMATIC_SHAPE)) != FIXED_SHAPE;
    let detail = select(0.0, clamp((thinnest - 4.0) / 6.0, 0.0, 1.0), turns);
    sprite.half = thick;
    sprite.pen = vec4<f32>(outline, sqrt(shown), select(0.0, 1.0, round), detail);
    sprite.fill = fill_color(shape.body, shape.kind);

    let a = abs(sprite.axis);
    var reach = thick;
    if !round {
        reach = vec2<f32>(a.x * thick.x + a.y * thick.y, a.y * thick.x + a.x * thick.y);
    }
    reach += 0.5 * outline + 1.0;
    let low = clamp(floor(sprite.center - reach), vec2<f32>(0.0), view.size);
    let high = clamp(ceil(sprite.center + reach), vec2<f32>(0.0), view.size);
    if low.x < high.x && low.y < high.y {
        sprite.clip = to_clip(vec2<f32>(select(low.x, high.x, (corner & 1u) != 0u),
                                        select(low.y, high.y, (corner & 2u) != 0u)));
    }
    return sprite;
}

@fragment
fn shape_fragment(sprite: Sprite) -> @location(0) vec4<f32> {
    let away = sprite.clip.xy - view.origin - sprite.center;
    // Turned back into the shape's own frame, y up.
    let q = sprite.axis;
    let p = vec2<f32>(q.x * away.x - q.y * away.y, -q.y * away.x - q.x * away.y);
    let pen = 0.5 * sprite.pen.x;
    var outer: f32;
    var inner: f32;
    var mark: f32;
    if sprite.pen.z > 0.5 {
        let r = length(p);
        outer = clamp(sprite.half.x + pen + 0.5 - r, 0.0, 1.0);
        inner = clamp(sprite.half.x - pen + 0.5 - r, 0.0, 1.0);
        // A radius: rotation shows.
        mark = cover(p.y, pen) * clamp(p.x + 0.5, 0.0, 1.0) * sprite.pen.w;
    } else {
        let d = abs(p);
        outer = cover(d.x, sprite.half.x + pen) * cover(d.y, sprite.half.y + pen);
        inner = cover(d.x, sprite.half.x - pen) * cover(d.y, sprite.half.y - pen);
        // A tick on the side that looked east.
        let length = min(0.4 * sprite.half.x, sprite.half.y);
        mark = cover(p.y, pen) * clamp(p.x - sprite.half.x + length + 0.5, 0.0, 1.0) * sprite.pen.w;
    }
    if outer <= 0.0 {
        discard;
    }
    let body = mix(sprite.fill, sprite.fill * view.tuning.z, mark * view.tuning.w);
    let color = mix(sprite.fill * view.tuning.z, body, inner / outer);
    return to_target(color, outer * sprite.pen.y);
}
