// Lines, arrows and signs: a quad along the mark's line, with the exact outline in the fragment shader. All have a rim
// in the background colour, so that they are visible on any body. Marks of joints have a twin on the CPU: src/marks.rs.

//#import draw/view

struct Mark {
    @builtin(position) clip: vec4<f32>,
    // Start and end, px, y down.
    @location(0) @interpolate(flat) a: vec2<f32>,
    @location(1) @interpolate(flat) b: vec2<f32>,
    // With opacity.
    @location(2) @interpolate(flat) color: vec4<f32>,
    // Half width of the line and size of the sign, px.
    @location(3) @interpolate(flat) pen: vec2<f32>,
    @location(4) @interpolate(flat) form: u32,
}

const MARK_NONE: u32 = 0u;
const MARK_LINE: u32 = 1u;
// With a head at b; the sign's size is the head's size.
const MARK_ARROW: u32 = 2u;
const MARK_DASHES: u32 = 3u;
// As wide as the sign.
const MARK_ZIGZAG: u32 = 4u;
// With a head at each end.
const MARK_ARROWS: u32 = 5u;
// All following forms lie at a; b gives their upward direction.
const MARK_DISC: u32 = 6u;
const MARK_RING: u32 = 7u;
const MARK_SQUARE: u32 = 8u;
const MARK_FRAME: u32 = 9u;
const MARK_CROSS: u32 = 10u;

// Width of the rim, px, and its opacity (lower where bodies are so small that the rim would cover them).
const RIM: f32 = 1.0;
const RIM_OPACITY: f32 = 0.6;
const MIN_SPRING_TURNS: f32 = 3.0;
const MAX_SPRING_TURNS: f32 = 12.0;

fn no_mark() -> Mark {
    var mark: Mark;
    mark.clip = vec4<f32>(0.0, 0.0, 2.0, 1.0);
    return mark;
}

/// Returns the size of a joint's signs, px.
fn joint_sign_size() -> f32 {
    return clamp(0.16 * view.length, 2.0 * view.unit, 6.5 * view.unit);
}

/// Returns the number of turns of every spring. Depends on the zoom alone, so a stretched spring keeps its turns.
fn spring_turns() -> f32 {
    return clamp(round(view.length / (2.4 * joint_sign_size())), MIN_SPRING_TURNS, MAX_SPRING_TURNS);
}

/// Converts a point relative to the camera, m, to pixels.
fn to_pixel(from_camera: vec2<f32>) -> vec2<f32> {
    return 0.5 * view.size + vec2<f32>(from_camera.x, -from_camera.y) * view.pixels_per_metre;
}

/// Limits an arrow to half of the picture's height, px.
fn held_back(arrow: vec2<f32>) -> vec2<f32> {
    return arrow * min(1.0, 0.5 * view.size.y / max(length(arrow), 1e-6));
}

fn make_mark(
    vertex: u32,
    form: u32,
    a: vec2<f32>,
    b: vec2<f32>,
    half_width: f32,
    sign_size: f32,
    color: vec4<f32>,
) -> Mark {
    let is_square = form == MARK_SQUARE || form == MARK_FRAME;
    let reach = max(half_width, select(sign_size, 1.5 * sign_size, is_square)) + RIM + 1.0;
    let low = min(a, b) - reach;
    let high = max(a, b) + reach;
    if form == MARK_NONE || color.a <= 0.0 || !is_finite_row(vec4<f32>(a, b)) || !is_finite_row(vec4<f32>(reach))
        || any(high < vec2<f32>(0.0)) || any(low > view.size) {
        return no_mark();
    }
    var mark: Mark;
    mark.a = a;
    mark.b = b;
    mark.color = color;
    mark.pen = vec2<f32>(half_width, sign_size);
    mark.form = form;
    let length_along = length(b - a);
    var along = vec2<f32>(1.0, 0.0);
    if length_along > 0.0 {
        along = (b - a) / length_along;
    }
    let across = vec2<f32>(-along.y, along.x);
    let corner = corner_of(vertex);
    var place = a - along * reach;
    if (corner & 1u) != 0u {
        place = select(a, b, form < MARK_DISC) + along * reach;
    }
    place += across * select(-reach, reach, (corner & 2u) != 0u);
    mark.clip = to_clip(place);
    return mark;
}

fn segment_distance(p: vec2<f32>, length_along: f32) -> f32 {
    return length(vec2<f32>(p.x - clamp(p.x, 0.0, length_along), p.y));
}

/// Returns the signed distance to the outline of an arrow from the origin along x, px, negative inside.
fn arrow_distance(p: vec2<f32>, length_along: f32, half_width: f32, size: f32) -> f32 {
    let head = min(size, length_along);
    let shaft = segment_distance(p, max(length_along - head, 0.0)) - half_width;
    // A triangular head, half as wide as long.
    let back = length_along - p.x;
    let side = (abs(p.y) - 0.5 * back) * 0.894;
    return min(shaft, max(side, back - head));
}

/// Returns the signed distance to the outline of a mark, px, negative inside. `p` is given along the line and across
/// it.
fn mark_distance(mark: Mark, p: vec2<f32>, length_along: f32) -> f32 {
    let half_width = mark.pen.x;
    let size = mark.pen.y;
    switch mark.form {
        case MARK_ARROW: {
            return arrow_distance(p, length_along, half_width, size);
        }
        case MARK_ARROWS: {
            let half = 0.5 * length_along;
            return arrow_distance(vec2<f32>(abs(p.x - half), p.y), half, half_width, size);
        }
        case MARK_DASHES: {
            let period = 8.0 * half_width;
            let middle = (floor(p.x / period) + 0.5) * period;
            let from_middle = abs(p.x - middle) - 0.25 * period;
            let dash = length(vec2<f32>(max(from_middle, 0.0), p.y)) - half_width;
            return max(dash, segment_distance(p, length_along) - half_width);
        }
        case MARK_ZIGZAG: {
            // A whole number of turns, with straight ends.
            let turns = spring_turns();
            let period = max(length_along - 2.0 * size, 0.1) / turns;
            let t = (p.x - size) / period;
            let inside = clamp(t, 0.0, turns);
            let wave = size * (abs(fract(inside + 0.25) - 0.5) * 4.0 - 1.0);
            let slope = 4.0 * size / period;
            var distance_to = abs(p.y - wave) * inverseSqrt(1.0 + slope * slope);
            if t <= 0.0 || t >= turns {
                distance_to = segment_distance(p, length_along);
            }
            return max(distance_to, segment_distance(p, length_along) - size) - half_width;
        }
        case MARK_DISC: {
            return length(p) - size;
        }
        case MARK_RING: {
            return abs(length(p) - size) - half_width;
        }
        case MARK_SQUARE: {
            return max(abs(p.x), abs(p.y)) - size;
        }
        case MARK_FRAME: {
            return abs(max(abs(p.x), abs(p.y)) - size) - half_width;
        }
        case MARK_CROSS: {
            let q = abs(p);
            let diagonal = abs(q.x - q.y) * 0.7071;
            return max(diagonal - half_width, (q.x + q.y) * 0.7071 - size);
        }
        default: {
            return segment_distance(p, length_along) - half_width;
        }
    }
}

@fragment
fn mark_fragment(mark: Mark) -> @location(0) vec4<f32> {
    let away = mark.clip.xy - view.origin - mark.a;
    let line = mark.b - mark.a;
    let length_along = length(line);
    var along = vec2<f32>(1.0, 0.0);
    if length_along > 0.0 {
        along = line / length_along;
    }
    let p = vec2<f32>(dot(away, along), along.x * away.y - along.y * away.x);
    let distance_to = mark_distance(mark, p, length_along);
    // A line thinner than a pixel is paler instead.
    let thin = select(min(2.0 * mark.pen.x, 1.0), 1.0, mark.form == MARK_DISC || mark.form == MARK_SQUARE);
    let core = clamp(0.5 - distance_to, 0.0, 1.0) * thin;
    let room = clamp(view.length / 24.0, 0.2, 1.0);
    let rim = clamp(0.5 + RIM - distance_to, 0.0, 1.0) * RIM_OPACITY * room * thin;
    let alpha = core + rim * (1.0 - core);
    if alpha <= 0.0 {
        discard;
    }
    return to_target(mix(view.background.rgb, mark.color.rgb, core / alpha), alpha * mark.color.a);
}
