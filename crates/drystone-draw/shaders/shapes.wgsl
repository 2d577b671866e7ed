// Draws the shapes selected by cull.wgsl, directly from the solver's buffers: six vertices per shape, a quad of whole
// pixels around it, and the exact outline in the fragment shader. Shapes smaller than a pixel get the few pixels they
// can touch, each with the share that they cover, so that nothing flickers as they shrink. Twin on the CPU:
// src/sprite.rs, function by function.

//#import types
//#import pose
//#import draw/view
//#import draw/palette

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(3) var<storage, read> vertices: array<vec2<f32>>;
// Indices of visible shapes, fixed bodies first, so that they lie below.
@group(0) @binding(4) var<storage, read> visible: array<u32>;
// Colours of bodies, where they do not come from the palette.
@group(0) @binding(5) var<storage, read> tints: array<u32>;
// All bodies, or fewer where none has a colour of its own.
@group(0) @binding(6) var<storage, read> bodies: array<BodyData>;

// Half width of a shape without thickness of its own, px.
const LINE: f32 = 0.75;

// Forms: methods of measuring the distance to an outline.
const FORM_BOX: u32 = 0u;
const FORM_CIRCLE: u32 = 1u;
const FORM_HULL: u32 = 2u;
const FORM_HALF_PLANE: u32 = 3u;

struct Sprite {
    @builtin(position) clip: vec4<f32>,
    // Position, px, y down.
    @location(0) @interpolate(flat) center: vec2<f32>,
    // Cosine and sine of the rotation, counter-clockwise with y up.
    @location(1) @interpolate(flat) axis: vec2<f32>,
    // Half widths, px, at least half a pixel. A circle's radius twice; for a hull its rounding radius twice.
    @location(2) @interpolate(flat) half: vec2<f32>,
    // Outline width in pixels, opacity, strength of the radius line or tick.
    @location(3) @interpolate(flat) pen: vec3<f32>,
    @location(4) @interpolate(flat) fill: vec3<f32>,
    // Form, index of the shape.
    @location(5) @interpolate(flat) form: vec2<u32>,
    @location(6) @interpolate(flat) line: vec3<f32>,
}

fn turn(q: vec2<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(q.x * v.x - q.y * v.y, q.y * v.x + q.x * v.y);
}

fn hull_count(shape: u32) -> u32 {
    let kind = shapes[shape].kind;
    return select((kind >> VERTEX_COUNT_SHIFT) & 0xfu, 4u, (kind & GEOMETRY_MASK) == BOX);
}

/// Returns a vertex of a hull's core, px, y up.
fn hull_point(shape: u32, index: u32) -> vec2<f32> {
    if (shapes[shape].kind & GEOMETRY_MASK) == BOX {
        let half = shapes[shape].half;
        let corner = vec2<f32>(select(-half.x, half.x, index == 1u || index == 2u), select(-half.y, half.y, index > 1u));
        return corner * view.pixels_per_metre;
    }
    return vertices[shapes[shape].first_vertex + index] * view.pixels_per_metre;
}

/// Returns the signed distance from a point to the edge of a hull's core, px, negative inside.
fn hull_distance(shape: u32, p: vec2<f32>) -> f32 {
    let count = hull_count(shape);
    var squared = 1e30;
    var inside = count > 2u;
    for (var index = 0u; index < count; index += 1u) {
        let start = hull_point(shape, index);
        let edge = hull_point(shape, select(0u, index + 1u, index + 1u < count)) - start;
        let away = p - start;
        let share = clamp(dot(away, edge) / max(dot(edge, edge), 1e-20), 0.0, 1.0);
        let gap = away - edge * share;
        squared = min(squared, dot(gap, gap));
        inside = inside && edge.x * away.y - edge.y * away.x >= 0.0;
    }
    return select(sqrt(squared), -sqrt(squared), inside);
}

@vertex
fn shape_vertex(@builtin(vertex_index) vertex: u32) -> Sprite {
    let corner = corner_of(vertex);
    var sprite: Sprite;
    // Behind the far plane: clipped.
    sprite.clip = vec4<f32>(0.0, 0.0, 2.0, 1.0);
    let index = visible[vertex / 6u];
    let shape = shapes[index];
    if shape.body >= arrayLength(&poses) {
        return sprite;
    }
    let pose = poses[shape.body];
    let own = vec4<f32>(shape.offset, shape.rotation);
    let extent = vec4<f32>(shape.half, shape.radius, shape.bound);
    if !is_finite_row(vec4<f32>(pose.position, pose.rotation)) || !is_finite_row(own) || !is_finite_row(extent) {
        return sprite;
    }

    let scale = view.pixels_per_metre;
    // The camera is subtracted before the offset is added: keeps float precision far from the origin.
    let place = (vector_from(view.center, pose) + turn(pose.rotation, shape.offset)) * scale;
    sprite.center = 0.5 * view.size + vec2<f32>(place.x, -place.y);
    sprite.axis = turn(pose.rotation, shape.rotation);
    let geometry = shape.kind & GEOMETRY_MASK;
    let rounded = geometry == POLYGON || (geometry == BOX && shape.radius > 0.0);
    var form = FORM_CIRCLE;
    if geometry == HALF_PLANE {
        form = FORM_HALF_PLANE;
    } else if rounded && shape.bound * scale >= 1.0 {
        // A shape smaller than a pixel is a dot.
        form = FORM_HULL;
    } else if geometry == BOX && !rounded {
        form = FORM_BOX;
    }
    sprite.form = vec2<u32>(form, index);
    var half = vec2<f32>(shape.radius * scale);
    if form == FORM_BOX {
        half = shape.half * scale;
    } else if form == FORM_CIRCLE && geometry != CIRCLE {
        half = vec2<f32>(shape.bound * scale);
    }
    // A zoom that overflows draws nothing instead of something wrong.
    if !is_finite_row(vec4<f32>(sprite.center, half)) {
        return sprite;
    }
    half = max(half, vec2<f32>(0.0));
    // Dots are never thinner than a pixel, and paler instead. The opacity is the square root of the covered share,
    // since shapes that tile a pixel are painted over each other: with the share itself a third of the background would
    // shine through.
    var thick = max(half, vec2<f32>(0.5));
    var shown = (half.x / thick.x) * (half.y / thick.y);
    var thinnest = min(thick.x, thick.y);
    if form == FORM_HULL {
        // A polygon has an area, a line needs a width.
        thick = max(half, vec2<f32>(select(LINE, 0.0, hull_count(index) > 2u)));
        shown = 1.0;
        thinnest = max(thick.x - hull_distance(index, vec2<f32>(0.0)), 0.5);
    } else if form == FORM_HALF_PLANE {
        shown = 1.0;
        thinnest = 1e3;
    }
    let chosen = shape.body == view.highlight;
    let outline = select(min(view.outline, 0.3 * thinnest), max(view.outline, 3.0 * view.unit), chosen);
    // A shape that never turns needs no mark.
    let moves = (shape.kind & (FIXED_SHAPE | KINEMATIC_SHAPE)) != FIXED_SHAPE && form != FORM_HALF_PLANE;
    let turns = moves && (shape.kind & UPRIGHT_SHAPE) == 0u;
    let detail = select(0.0, clamp((thinnest - 4.0) / 6.0, 0.0, 1.0), turns);
    sprite.half = thick;
    sprite.pen = vec3<f32>(outline, sqrt(shown), detail);
    var color = 0u;
    if shape.body < arrayLength(&bodies) {
        color = bodies[shape.body].color;
    }
    sprite.fill = fill_color(color_index(shape.body, color), shape.kind);
    if view.tinted != 0u && (shape.kind & FIXED_SHAPE) == 0u && shape.body < arrayLength(&tints) {
        sprite.fill = unpack4x8unorm(tints[shape.body]).rgb;
    }
    // Wires have no fill from which a shaded line would stand out.
    sprite.line = sprite.fill * select(1.0, view.tuning.z, view.fill_opacity > 0.0);
    if chosen {
        sprite.line = view.accent.rgb;
    }

    let a = abs(sprite.axis);
    // Distance from the centre within which a pixel can be covered. Kept tight, since for shapes smaller than a pixel
    // the cost is the number of pixels.
    let full = thick + (0.5 * outline + 0.51);
    var reach = full;
    if form == FORM_BOX {
        reach = vec2<f32>(a.x * full.x + a.y * full.y, a.y * full.x + a.x * full.y);
    } else if form == FORM_HULL {
        reach = vec2<f32>(shape.bound * scale + LINE + 0.5 * outline + 1.0);
    }
    var low = clamp(ceil(sprite.center - reach - 0.5), vec2<f32>(0.0), view.size);
    var high = clamp(floor(sprite.center + reach + 0.5), vec2<f32>(0.0), view.size);
    if form == FORM_HALF_PLANE {
        low = vec2<f32>(0.0);
        high = view.size;
    }
    if low.x < high.x && low.y < high.y {
        sprite.clip = to_clip(vec2<f32>(select(low.x, high.x, (corner & 1u) != 0u),
                                        select(low.y, high.y, (corner & 2u) != 0u)));
    }
    return sprite;
}

@fragment
fn shape_fragment(sprite: Sprite) -> @location(0) vec4<f32> {
    let away = sprite.clip.xy - view.origin - sprite.center;
    // Rotated back into the shape's own frame, y up.
    let q = sprite.axis;
    let p = vec2<f32>(q.x * away.x - q.y * away.y, -q.y * away.x - q.x * away.y);
    let pen = 0.5 * sprite.pen.x;
    var outer: f32;
    var inner: f32;
    var mark: f32;
    if sprite.form.x == FORM_BOX {
        let d = abs(p);
        outer = cover(d.x, sprite.half.x + pen) * cover(d.y, sprite.half.y + pen);
        inner = cover(d.x, sprite.half.x - pen) * cover(d.y, sprite.half.y - pen);
        // A tick on the side that faced +x at rotation zero.
        let length = min(0.4 * sprite.half.x, sprite.half.y);
        mark = cover(p.y, pen) * clamp(p.x - sprite.half.x + length + 0.5, 0.0, 1.0) * sprite.pen.z;
    } else {
        var r = length(p);
        if sprite.form.x == FORM_HULL {
            r = hull_distance(sprite.form.y, p);
        } else if sprite.form.x == FORM_HALF_PLANE {
            r = p.y + sprite.half.x;
        }
        outer = clamp(sprite.half.x + pen + 0.5 - r, 0.0, 1.0);
        inner = clamp(sprite.half.x - pen + 0.5 - r, 0.0, 1.0);
        // A radius line, which shows the rotation.
        mark = cover(p.y, pen) * clamp(p.x + 0.5, 0.0, 1.0) * sprite.pen.z;
    }
    if outer <= 0.0 {
        discard;
    }
    let body = mix(sprite.fill, sprite.line, mark * view.tuning.w);
    let color = mix(sprite.line, body, inner / outer);
    // A wire is drawn as its line and its mark only.
    let solid = mix(1.0 - (1.0 - mark) * inner / outer, 1.0, view.fill_opacity);
    return to_target(color, outer * sprite.pen.y * solid);
}
