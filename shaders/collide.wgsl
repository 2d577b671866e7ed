// collide: src/stages/collide.rs. Computes the manifold of every pair, or keeps the old one (recycling).

//#import types
//#import math
//#import pose
//#import constants
//#import disc
//#import outline
//#import hull

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read> motions: array<BodyMotion>;
@group(0) @binding(4) var<storage, read> manifolds_previous: array<Manifold>;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read_write> manifolds: array<Manifold>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
@group(0) @binding(8) var<storage, read> vertices: array<vec2<f32>>;

// Contact points of two shapes, relative to the centre of shape A.
struct Touch {
    normal: vec2<f32>,
    count: u32,
    points: array<vec2<f32>, 2>,
    separations: array<f32, 2>,
    features: array<u32, 2>,
    // The normal may lie between those of two faces.
    at_corner: bool,
    // The pair passes by a face, and has no points.
    passes: bool,
    // Faces along whose normals two hulls do not overlap by more than the slop, as bits.
    near: u32,
}

// Distance below which two shapes have contact points, in this search.
var<private> near_distance: f32;

// Motion of B relative to A in the rest of the step, and a bound on the motion of any point by rotation.
var<private> pair_moved: vec2<f32>;
var<private> pair_turned: f32;
// False if a sensor has to notice each other shape.
var<private> may_pass: bool;

// Takes over the old manifold and returns true, unless the pair moved too far.
fn recycle(index: u32, old: u32, flags: u32, a: u32, b: u32, on_plane: bool, extent: f32) -> bool {
    let q_a = poses[a].rotation;
    let q_b = poses[b].rotation;
    let cached_rotation_a = manifolds_previous[old].cached_rotation_a;
    let cached_rotation_b = manifolds_previous[old].cached_rotation_b;
    let cached_position = manifolds_previous[old].cached_position;
    let turn_a = inv_mul_rotation(cached_rotation_a, q_a);
    let turn_b = inv_mul_rotation(cached_rotation_b, q_b);
    let between = vector_to(poses[a], poses[b]);
    let moved = length(inv_rotate(select(q_a, q_b, on_plane), between) - cached_position);
    let turned = abs(inv_mul_rotation(turn_a, turn_b).y);
    let count = flags & POINT_COUNT_MASK;
    var tolerance = params.recycle_distance_apart;
    if count > 0u {
        tolerance = params.recycle_distance;
    }
    if turn_a.x <= RECYCLE_COS || turn_b.x <= RECYCLE_COS
        || moved + extent * turned >= tolerance {
        return false;
    }
    let normal = manifolds_previous[old].normal;
    for (var end = 0u; end < 2u; end += 1u) {
        var point = manifolds_previous[old].points[end];
        if end < count {
            let r_a = rotate(turn_a, point.anchor_a);
            let r_b = rotate(turn_b, point.anchor_b);
            let long_a = dot(point.anchor_a, point.anchor_a) > dot(point.anchor_b, point.anchor_b);
            let apart = select(between + r_b - r_a, between - r_a + r_b, long_a);
            point.separation = point.base_separation + dot(apart, normal);
        }
        manifolds[index].points[end] = point;
    }
    manifolds[index].normal = normal;
    manifolds[index].cached_rotation_a = cached_rotation_a;
    manifolds[index].cached_rotation_b = cached_rotation_b;
    manifolds[index].cached_position = cached_position;
    manifolds[index].preloads = manifolds_previous[old].preloads;
    manifolds[index].pad = array<u32, 2>(0u, 0u);
    return true;
}

fn empty_manifold() -> Touch {
    return Touch(
        vec2<f32>(0.0), 0u,
        array<vec2<f32>, 2>(vec2<f32>(0.0), vec2<f32>(0.0)), array<f32, 2>(0.0, 0.0), array<u32, 2>(0u, 0u),
        false, false, 0u,
    );
}

// Returns the least separation of the points.
fn lowest(touch: Touch) -> f32 {
    var gap = FAR;
    if touch.count > 0u {
        gap = touch.separations[0];
    }
    if touch.count > 1u {
        gap = min(gap, touch.separations[1]);
    }
    return gap;
}

// Returns true if the points are on a face, or on one that is almost parallel to it. The two normals have this cosine.
fn is_on(touch: Touch, cosine: f32) -> bool {
    return !touch.at_corner && cosine > SAME_FACE;
}

// Returns true if the pair passes by a face with this normal from A to B, `gap` from it. Its points are `touch`, and
// `moved` is the motion of B relative to A.
fn passes_by(face: vec2<f32>, gap: f32, touch: Touch, moved: vec2<f32>, slack: f32) -> bool {
    if gap <= -slack || !may_pass {
        return false;
    }
    let cosine = dot(face, touch.normal);
    if is_on(touch, cosine) {
        return false;
    }
    let onto = -dot(moved, face);
    let closing = -dot(moved, touch.normal);
    let is_corner = lowest(touch) > -slack && abs(cosine) < PASSING_SHARE;
    let is_ahead = closing > PASSING_MOTION * slack && onto <= PASSING_SHARE * closing;
    return (is_ahead || is_corner) && gap + slack >= onto + pair_turned;
}

fn circles(radius_a: f32, radius_b: f32, d: vec2<f32>) -> Touch {
    var manifold = empty_manifold();
    let distance = length(d);
    let separation = distance - radius_a - radius_b;
    if separation > near_distance {
        return manifold;
    }
    manifold.normal = vec2<f32>(0.0, 1.0);
    if distance > 1e-12 {
        manifold.normal = d / distance;
    }
    manifold.count = 1u;
    manifold.points[0] = manifold.normal * (radius_a + 0.5 * separation);
    manifold.separations[0] = separation;
    return manifold;
}

// Returns the direction of a coordinate.
fn side_of(coordinate: f32) -> f32 {
    return select(1.0, -1.0, coordinate < 0.0);
}

// `moved`: the motion of the circle relative to the box.
fn box_circle(half: vec2<f32>, turn: vec2<f32>, radius: f32, d: vec2<f32>, moved: vec2<f32>) -> Touch {
    var manifold = empty_manifold();
    let center = inv_rotate(turn, d);
    let nearest = clamp(center, -half, half);
    let gap = center - nearest;
    let distance = length(gap);
    var normal = vec2<f32>(0.0);
    var surface = nearest;
    var separation = distance - radius;
    let slack = min(params.linear_slop, 0.1 * radius);
    if distance > FACE_PREFERENCE * slack {
        normal = gap / distance;
        manifold.at_corner = true;
    } else {
        let depth = half - abs(center);
        if depth.x < depth.y - ROUNDING * half.y {
            normal.x = side_of(center.x);
            surface.x = normal.x * half.x;
            separation = -depth.x - radius;
        } else {
            normal.y = side_of(center.y);
            surface.y = normal.y * half.y;
            separation = -depth.y - radius;
        }
    }
    if separation > near_distance {
        return manifold;
    }
    manifold.normal = rotate(turn, normal);
    manifold.count = 1u;
    manifold.points[0] = rotate(turn, surface + normal * (0.5 * separation));
    manifold.separations[0] = separation;
    let above = abs(center) - half - vec2<f32>(radius);
    let passes_x = passes_by(rotate(turn, vec2<f32>(side_of(center.x), 0.0)), above.x, manifold, moved, slack);
    let passes_y = passes_by(rotate(turn, vec2<f32>(0.0, side_of(center.y))), above.y, manifold, moved, slack);
    manifold.passes = passes_x || passes_y;
    return manifold;
}

fn vertex_of(corner: vec2<f32>) -> u32 {
    let right = corner.x > 0.0;
    if corner.y > 0.0 {
        return select(3u, 2u, right);
    }
    return select(0u, 1u, right);
}

// Returns the point with coordinate `along` on the tangent axis and `across` on the other. Axis 0 is x.
fn on_axes(axis: u32, across: f32, along: f32) -> vec2<f32> {
    return select(vec2<f32>(along, across), vec2<f32>(across, along), axis == 0u);
}

fn boxes(
    half_a: vec2<f32>, half_b: vec2<f32>, turn_a: vec2<f32>, turn_b: vec2<f32>, d: vec2<f32>, b_first: bool,
) -> Touch {
    var manifold = empty_manifold();
    let between = inv_mul_rotation(turn_a, turn_b);
    let turn = abs(between);
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, d);
    let reach_b = vec2<f32>(turn.x * half_b.x + turn.y * half_b.y, turn.y * half_b.x + turn.x * half_b.y);
    let reach_a = vec2<f32>(turn.x * half_a.x + turn.y * half_a.y, turn.y * half_a.x + turn.x * half_a.y);
    let along_a = abs(d_a) - (half_a + reach_b);
    let along_b = abs(d_b) - (half_b + reach_a);

    let thinnest = min(min(half_a.x, half_a.y), min(half_b.x, half_b.y));
    let slack = min(params.linear_slop, 0.1 * thinnest);
    let preference = FACE_PREFERENCE * slack;
    // Ties go to the static or kinematic box, then to A.
    let first = select(along_a, along_b, b_first);
    let second = select(along_b, along_a, b_first);
    var best = first.x;
    var axis = 0u;
    var on_b = b_first;
    if first.y > best + preference {
        best = first.y;
        axis = 1u;
    }
    if second.x > best + preference {
        best = second.x;
        axis = 0u;
        on_b = !b_first;
    }
    if second.y > best + preference {
        best = second.y;
        axis = 1u;
        on_b = !b_first;
    }
    if best > near_distance {
        return manifold;
    }

    // From here on in the frame of the reference box; the other box is at `at`, rotated by `rel`. `across` is the
    // coordinate along the reference axis, `along` the one along the face.
    var half = half_a;
    var other = half_b;
    var turn_ref = turn_a;
    var at = d_a;
    var rel = between;
    if on_b {
        half = half_b;
        other = half_a;
        turn_ref = turn_b;
        at = -d_b;
        rel = vec2<f32>(between.x, -between.y);
    }
    let side = side_of(select(at.y, at.x, axis == 0u));
    let normal = on_axes(axis, side, 0.0);

    let facing = inv_rotate(rel, normal);
    let face = select(0u, 1u, abs(facing.y) > abs(facing.x));
    let face_side = select(1.0, -1.0, select(facing.y, facing.x, face == 0u) > 0.0);
    let face_half = select(other.y, other.x, face == 0u);
    let face_width = select(other.x, other.y, face == 0u);
    let corner_low = on_axes(face, face_side * face_half, -face_width);
    let corner_high = on_axes(face, face_side * face_half, face_width);
    var low = at + rotate(rel, corner_low);
    var high = at + rotate(rel, corner_high);
    var vertex_low = vertex_of(corner_low);
    var vertex_high = vertex_of(corner_high);
    if select(low.x, low.y, axis == 0u) > select(high.x, high.y, axis == 0u) {
        let end = low;
        low = high;
        high = end;
        let vertex_end = vertex_low;
        vertex_low = vertex_high;
        vertex_high = vertex_end;
    }

    let width = select(half.x, half.y, axis == 0u);
    let height = select(half.y, half.x, axis == 0u);
    let low_along = select(low.x, low.y, axis == 0u);
    let low_across = select(low.y, low.x, axis == 0u);
    let high_along = select(high.x, high.y, axis == 0u);
    let high_across = select(high.y, high.x, axis == 0u);
    let reaches = high_along >= -width && low_along <= width;
    let span = high_along - low_along;
    var nearest = 1e30;
    manifold.normal = rotate(turn_ref, select(normal, -normal, on_b));
    for (var end = 0u; end < 2u; end += 1u) {
        var along = select(high_along, low_along, end == 0u);
        var across = select(high_across, low_across, end == 0u);
        let limit = select(width, -width, end == 0u);
        let outside = select(along > limit, along < limit, end == 0u);
        if outside && span > 0.0 {
            let share = (limit - low_along) / span;
            along = limit;
            across = low_across + (high_across - low_across) * share;
        }
        let separation = side * across - height;
        if !reaches || separation > near_distance {
            continue;
        }
        nearest = min(nearest, separation);
        let corner = vertex_of(on_axes(axis, side, select(1.0, -1.0, end == 0u)));
        let incident = select(vertex_high, vertex_low, end == 0u);
        let point = rotate(turn_ref, on_axes(axis, across, along) - normal * (0.5 * separation));
        let index = manifold.count;
        manifold.points[index] = select(point, point + d, on_b);
        manifold.separations[index] = separation;
        manifold.features[index] = select(4u * corner + incident, 4u * incident + corner, on_b);
        manifold.count += 1u;
    }

    // Corner to corner, beside the reference face.
    if best > preference {
        for (var end = 0u; end < 2u; end += 1u) {
            let along = select(high_along, low_along, end == 0u);
            let across = select(high_across, low_across, end == 0u);
            let at_corner = on_axes(axis, side * height, clamp(along, -width, width));
            let gap = on_axes(axis, across, along) - at_corner;
            let distance = length(gap);
            if abs(along) <= width || distance > near_distance || distance + preference >= nearest {
                continue;
            }
            nearest = distance;
            let out = rotate(turn_ref, gap / distance);
            let middle = rotate(turn_ref, at_corner + gap * 0.5);
            let corner = vertex_of(on_axes(axis, side, select(-1.0, 1.0, along > 0.0)));
            let incident = select(vertex_high, vertex_low, end == 0u);
            manifold.normal = select(out, -out, on_b);
            manifold.at_corner = true;
            manifold.count = 1u;
            manifold.points[0] = select(middle, middle + d, on_b);
            manifold.separations[0] = distance;
            manifold.features[0] = select(4u * corner + incident, 4u * incident + corner, on_b);
        }
    }
    for (var face = 0u; face < 4u && !manifold.passes; face += 1u) {
        let of_b = face > 1u;
        let turn_face = select(turn_a, turn_b, of_b);
        let along = select(along_a, along_b, of_b);
        let sides = select(d_a, d_b, of_b);
        let is_x = (face & 1u) == 0u;
        let out = on_axes(face & 1u, side_of(select(sides.y, sides.x, is_x)), 0.0);
        let gap = select(along.y, along.x, is_x);
        manifold.passes = passes_by(rotate(turn_face, out), gap, manifold, pair_moved, slack);
    }
    return manifold;
}

// Returns a manifold of one point with A and B exchanged; `d` is from the new A to the new B.
fn flip(manifold: Touch, d: vec2<f32>) -> Touch {
    var flipped = manifold;
    flipped.normal = -flipped.normal;
    flipped.points[0] = flipped.points[0] + d;
    return flipped;
}

// `hulls` is a constant in each call: if false, the code for hulls is left out.
fn manifold_of(a: u32, b: u32, turn_a: vec2<f32>, turn_b: vec2<f32>, d: vec2<f32>, hulls: bool) -> Touch {
    let kind_a = shapes[a].kind & GEOMETRY_MASK;
    let kind_b = shapes[b].kind & GEOMETRY_MASK;
    let b_first = (shapes[a].kind & FIXED_SHAPE) == 0u && (shapes[b].kind & FIXED_SHAPE) != 0u;
    let sharp_box_a = kind_a == BOX && shapes[a].radius == 0.0;
    let sharp_box_b = kind_b == BOX && shapes[b].radius == 0.0;
    if sharp_box_a && sharp_box_b {
        return boxes(shapes[a].half, shapes[b].half, turn_a, turn_b, d, b_first);
    }
    if kind_a == CIRCLE && kind_b == CIRCLE {
        return circles(shapes[a].radius, shapes[b].radius, d);
    }
    if sharp_box_a && kind_b == CIRCLE {
        return box_circle(shapes[a].half, turn_a, shapes[b].radius, d, pair_moved);
    }
    if !hulls || (kind_a == CIRCLE && sharp_box_b) {
        return flip(box_circle(shapes[b].half, turn_b, shapes[a].radius, -d, -pair_moved), d);
    }
    if kind_b == HALF_PLANE {
        return hull_half_plane(a, turn_a, vec2<f32>(-turn_b.y, turn_b.x), d);
    }
    if kind_b == CIRCLE {
        return hull_circle(a, turn_a, shapes[b].radius, d, pair_moved);
    }
    if kind_a == CIRCLE {
        return flip(hull_circle(b, turn_b, shapes[a].radius, -d, -pair_moved), d);
    }
    return hulls_in_motion(a, b, turn_a, turn_b, d, b_first);
}

@compute @workgroup_size(LANES)
fn collide(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    collide_contact(flat_index(workgroup, workgroups, LANES, lane), true);
}

// For worlds that have only circles and boxes with sharp corners: the rest would cost registers, and on a software
// adapter time.
@compute @workgroup_size(LANES)
fn collide_sharp(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    collide_contact(flat_index(workgroup, workgroups, LANES, lane), false);
}

// Returns the motion in the step of B relative to A; if one is static or kinematic, at the centre of the other.
fn motion_of_pair(flags: u32, a: u32, b: u32, between: vec2<f32>) -> vec2<f32> {
    var turning = select(0.0, motions[a].turned, (flags & FIXED_A) != 0u);
    turning = select(turning, motions[b].turned, (flags & FIXED_B) != 0u);
    return motions[b].moved - motions[a].moved - cross_scalar(turning, between);
}

// Returns the distance of the farthest point of a shape from its body's centre of mass; 0 for a disc about it.
fn swing(shape: u32) -> f32 {
    return select(length(shapes[shape].offset) + shapes[shape].bound, 0.0, is_centred_disc(shape));
}

// Gives two discs that approach each other the normal of the time at which they touch if they move as at the start of
// the step, or are nearest: in this step, or in the one before if they were apart.
fn turn_discs(touch: Touch, a: u32, b: u32, between: vec2<f32>, moved: vec2<f32>, was_apart: bool) -> Touch {
    var turned = touch;
    if touch.count == 0u || !is_centred_disc(a) || !is_centred_disc(b) {
        return turned;
    }
    let radius_a = shapes[a].radius;
    let radii = radius_a + shapes[b].radius;
    let squared = dot(moved, moved);
    let closing = dot(between, moved);
    let least = GAP * params.linear_slop;
    if (touch.separations[0] <= 0.0 && !was_apart) || closing >= 0.0 || squared <= least * least {
        return turned;
    }
    let discriminant = closing * closing - squared * (dot(between, between) - radii * radii);
    let time = (-closing - sqrt(max(discriminant, 0.0))) / squared;
    let then = between + moved * max(min(time, 1.0), -1.0);
    let distance = length(then);
    if distance > 0.5 * radii {
        turned.normal = then / distance;
        let separation = dot(between, turned.normal) - radii;
        turned.points[0] = turned.normal * (radius_a + 0.5 * separation);
        turned.separations[0] = separation;
    }
    return turned;
}

fn collide_contact(index: u32, hulls: bool) {
    if index >= counters.contacts {
        return;
    }
    if (params.switches & SLEEP) != 0u && atomicLoad(&counters.again) == 0u {
        return;
    }
    let a = contacts[index].body_a;
    let b = contacts[index].body_b;
    let shape_a = contacts[index].shape_a;
    let shape_b = contacts[index].shape_b;
    // Result of match_contacts: the index of the contact in the previous step.
    let old = contacts[index].color;
    let past_flags = contacts[index].flags;
    let flags = past_flags & ((1u << PAST_COLOR_SHIFT) - 1u);
    var color = past_flags >> PAST_COLOR_SHIFT;
    if old == NONE || color >= COLOR_COUNT {
        color = NONE;
    }
    let on_plane = shape_b < params.half_plane_count;
    // The normal of a disc turns as soon as the pair moves.
    let is_round =
        (shapes[shape_a].kind & GEOMETRY_MASK) == CIRCLE || (shapes[shape_b].kind & GEOMETRY_MASK) == CIRCLE;
    if (params.switches & RECYCLE) != 0u && (flags & (CACHED | SENSOR | IMPACT)) == CACHED && !is_round {
        let motion_extent_a = motions[a].extent;
        let motion_extent_b = motions[b].extent;
        if motion_extent_a >= 0.0 && motion_extent_b >= 0.0 {
            if recycle(index, old, flags, a, b, on_plane, max(motion_extent_a, select(motion_extent_b, 0.0, on_plane))) {
                contacts[index].flags = flags | RECYCLED;
                contacts[index].color = color;
                atomicAdd(&counters.recycled, 1u);
                return;
            }
        }
    }

    let q_a = poses[a].rotation;
    let q_b = poses[b].rotation;
    let between = vector_to(poses[a], poses[b]);
    let offset_a = shapes[shape_a].offset;
    let offset_b = shapes[shape_b].offset;
    let center_a = rotate(q_a, offset_a);
    let center_b = rotate(q_b, offset_b);
    let tile_a = dot(offset_a, offset_a) > dot(offset_b, offset_b);
    let d = select(between + center_b - center_a, between - center_a + center_b, tile_a);
    let turn_a = mul_rotation(q_a, shapes[shape_a].rotation);
    let turn_b = mul_rotation(q_b, shapes[shape_b].rotation);
    let old_count = flags & POINT_COUNT_MASK;
    let was_apart = old_count == 0u || (flags & IMPACT) != 0u;
    let is_swept = motions[a].extent == SWEPT || motions[b].extent == SWEPT;
    var may_land = was_apart && (flags & SENSOR) == 0u && (flags & (FIXED_A | FIXED_B)) != 0u && !is_swept;
    let is_one_way = hulls && ((shapes[shape_a].kind | shapes[shape_b].kind) & ONE_WAY_SHAPE) != 0u;
    let moved = motion_of_pair(flags, a, b, between);
    may_pass = (flags & SENSOR) == 0u;
    pair_turned = abs(motions[a].turned) * swing(shape_a) + abs(motions[b].turned) * swing(shape_b);
    var manifold = empty_manifold();
    var ahead = vec2<f32>(0.0);
    var lands = false;
    var normal_now = vec2<f32>(0.0);
    // Where they are now; how far apart, if they are not near; and where they meet. One loop, so that the search is
    // compiled once.
    near_distance = params.speculative_distance;
    for (var look = 0u; look < 3u; look += 1u) {
        pair_moved = moved - ahead;
        var met = manifold_of(shape_a, shape_b, turn_a, turn_b, d + ahead, hulls);
        if met.passes {
            met = empty_manifold();
            met.passes = true;
        }
        if look == 0u && is_one_way && old_count == 0u && lowest(met) < -params.linear_slop {
            met = empty_manifold();
            may_land = false;
        }
        let closing = -dot(moved, met.normal);
        let gap = lowest(met);
        if look == 0u {
            manifold = met;
            normal_now = met.normal;
            lands = met.count > 0u && may_land && gap > 0.0 && closing > params.speculative_distance;
            if met.count > 0u || met.passes || !may_land || !(length(moved) > params.speculative_distance) {
                break;
            }
            near_distance = length(moved) + params.speculative_distance;
        } else if look == 1u {
            near_distance = params.speculative_distance;
            if met.count == 0u || gap - closing > params.speculative_distance {
                break;
            }
            manifold = met;
            ahead = moved * min(gap / closing, 1.0);
        } else {
            lands = met.count > 0u;
            let are_round =
                (shapes[shape_a].kind & GEOMETRY_MASK) == CIRCLE && (shapes[shape_b].kind & GEOMETRY_MASK) == CIRCLE;
            if !lands {
                manifold = empty_manifold();
                manifold.normal = normal_now;
            } else if are_round {
                // The impact of two discs finds its normal from where they are now.
                ahead = vec2<f32>(0.0);
            } else {
                manifold = met;
            }
        }
    }
    var overlaps = 0u;
    if (flags & SENSOR) != 0u {
        if (manifold.count > 0u && manifold.separations[0] <= 0.0)
            || (manifold.count > 1u && manifold.separations[1] <= 0.0) {
            overlaps = OVERLAPS;
        }
        manifold = empty_manifold();
    }
    manifold = turn_discs(manifold, shape_a, shape_b, between, motions[b].moved - motions[a].moved, was_apart);

    // Points with the same feature keep their impulses, except those of impacts, and a pair that still touches its
    // preload.
    let kept_count = select(0u, old_count, (flags & IMPACT) == 0u && !lands);
    var old_impulses = vec4<f32>(0.0);
    var old_preloads = vec2<f32>(0.0);
    if kept_count > 0u {
        old_impulses = vec4<f32>(
            manifolds_previous[old].points[0].normal_impulse, manifolds_previous[old].points[0].tangent_impulse,
            manifolds_previous[old].points[1].normal_impulse, manifolds_previous[old].points[1].tangent_impulse,
        );
    }
    if old_count > 0u && manifold.count > 0u {
        old_preloads = manifolds_previous[old].preloads;
    }
    let old_features = contacts[index].features;
    manifolds[index].normal = manifold.normal;
    manifolds[index].cached_rotation_a = q_a;
    manifolds[index].cached_rotation_b = q_b;
    manifolds[index].cached_position = inv_rotate(select(q_a, q_b, on_plane), between);
    manifolds[index].pad = array<u32, 2>(0u, 0u);
    var preloads = vec2<f32>(select(old_preloads.x, 0.5 * (old_preloads.x + old_preloads.y), old_count > 1u));
    var features = 0u;
    for (var point = 0u; point < 2u; point += 1u) {
        var fresh = ContactPoint(vec2<f32>(0.0), vec2<f32>(0.0), 0.0, 0.0, 0.0, 0.0);
        if point < manifold.count {
            let feature = manifold.features[point];
            features |= feature << (16u * point);
            fresh.anchor_a = center_a + manifold.points[point];
            fresh.anchor_b = fresh.anchor_a - (between + ahead);
            fresh.base_separation = manifold.separations[point];
            fresh.separation = manifold.separations[point] - dot(ahead, manifold.normal);
            if kept_count > 0u && (old_features & 0xffffu) == feature {
                fresh.normal_impulse = old_impulses.x;
                fresh.tangent_impulse = old_impulses.y;
            }
            if kept_count > 1u && (old_features >> 16u) == feature {
                fresh.normal_impulse = old_impulses.z;
                fresh.tangent_impulse = old_impulses.w;
            }
            if old_count > 0u && (old_features & 0xffffu) == feature {
                preloads[point] = old_preloads.x;
            }
            if old_count > 1u && (old_features >> 16u) == feature {
                preloads[point] = old_preloads.y;
            }
        }
        manifolds[index].points[point] = fresh;
    }
    manifolds[index].preloads = preloads;
    // A pair that passes by is not kept: the next step may find points.
    contacts[index].flags = (flags & (FIXED_A | FIXED_B | HUB_A | HUB_B | SENSOR | SENSOR_B | TOUCHED))
        | manifold.count | overlaps | select(CACHED, 0u, manifold.passes) | select(0u, IMPACT, lands);
    contacts[index].color = select(color, NONE, manifold.count == 0u);
    contacts[index].features = features;
    if manifold.count == 0u || old_count == 0u {
        contacts[index].rolling_impulse = 0.0;
    }
}
