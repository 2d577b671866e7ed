// Convex polygons of 1 to 8 vertices with a radius, for collide: src/stages/collide/hull.rs, function by function.

//#import types
//#import math
//#import constants
//#import outline

struct Edge {
    tangent: vec2<f32>,
    width: f32,
}

struct Lowest {
    vertex: u32,
    height: f32,
}

struct Best {
    separation: f32,
    face: u32,
    on_b: bool,
    // Faces along whose normals the hulls do not overlap by more than the slop, as bits: those of A, then those of B.
    near: u32,
}

fn hull_previous(shape: u32, index: u32) -> u32 {
    return select(index, hull_count(shape), index == 0u) - 1u;
}

fn hull_edge(shape: u32, index: u32) -> Edge {
    let edge = hull_point(shape, hull_next(shape, index)) - hull_point(shape, index);
    let width = length(edge);
    return Edge(edge / width, width);
}

fn hull_normal(shape: u32, index: u32) -> vec2<f32> {
    return right_perp(hull_edge(shape, index).tangent);
}

fn hull_faces(shape: u32) -> u32 {
    return select(hull_count(shape), 1u, is_link(shape));
}

fn hull_admits(shape: u32, normal: vec2<f32>) -> bool {
    if !is_link(shape) {
        return true;
    }
    let cosines = vertices[shapes[shape].first_vertex + 2u];
    let tangent = hull_edge(shape, 0u).tangent;
    let cosine = select(cosines.y, cosines.x, dot(normal, tangent) < 0.0);
    return dot(normal, right_perp(tangent)) >= cosine - LINK_SLACK;
}

fn hull_lowest(shape: u32, up: vec2<f32>) -> Lowest {
    var lowest = Lowest(0u, dot(up, hull_point(shape, 0u)));
    let count = hull_count(shape);
    for (var index = 1u; index < count; index += 1u) {
        let here = dot(up, hull_point(shape, index));
        if here < lowest.height {
            lowest = Lowest(index, here);
        }
    }
    return lowest;
}

fn hull_lowest_edge(shape: u32, up: vec2<f32>) -> u32 {
    let after = hull_lowest(shape, up).vertex;
    let before = hull_previous(shape, after);
    let better = dot(up, hull_normal(shape, before)) < dot(up, hull_normal(shape, after)) - EDGE_PREFERENCE;
    return select(after, before, better);
}

fn separate(
    hull: u32, other: u32, at: vec2<f32>, rel: vec2<f32>, on_b: bool, preference: f32, near: f32, best_so_far: Best,
) -> Best {
    var best = best_so_far;
    let count = hull_faces(hull);
    for (var face = 0u; face < count; face += 1u) {
        let normal = hull_normal(hull, face);
        let down = inv_rotate(rel, normal);
        if !hull_admits(other, -down) {
            continue;
        }
        let lowest = hull_lowest(other, down);
        let apart = dot(normal, at - hull_point(hull, face)) + lowest.height;
        if apart > near {
            best.near |= 1u << (face + select(0u, MAX_VERTICES, on_b));
        }
        if apart > best.separation + preference {
            best = Best(apart, face, on_b, best.near);
        }
    }
    return best;
}

fn hull_feature(corner: u32, vertex: u32, on_b: bool) -> u32 {
    return select(8u * corner + vertex, 8u * vertex + corner, on_b);
}

// Returns the overlap of two hulls that counts as none.
fn hull_slack(a: u32, b: u32) -> f32 {
    return min(params.linear_slop, 0.1 * min(shapes[a].bound, shapes[b].bound));
}

fn hull_hull(
    a: u32, b: u32, turn_a: vec2<f32>, turn_b: vec2<f32>, d: vec2<f32>, b_first: bool,
) -> Touch {
    var manifold = empty_manifold();
    let between = inv_mul_rotation(turn_a, turn_b);
    let back = vec2<f32>(between.x, -between.y);
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, -d);
    let radius = shapes[a].radius + shapes[b].radius;
    let slack = hull_slack(a, b);
    let preference = FACE_PREFERENCE * slack;
    if is_behind(a, d_a) || is_behind(b, d_b) {
        return manifold;
    }
    var best = Best(-FAR, 0u, is_link(b), 0u);
    for (var turn = 0u; turn < 2u; turn += 1u) {
        let of_b = b_first == (turn == 0u);
        best = separate(
            select(a, b, of_b), select(b, a, of_b), select(d_a, d_b, of_b), select(between, back, of_b), of_b,
            preference, radius - slack, best,
        );
    }
    if best.separation - radius > near_distance {
        return manifold;
    }
    manifold.near = best.near;

    // From here on in the frame of the reference hull; the other hull is at `at`, rotated by `rel`.
    let on_b = best.on_b;
    let hull = select(a, b, on_b);
    let other = select(b, a, on_b);
    let turn_ref = select(turn_a, turn_b, on_b);
    let at = select(d_a, d_b, on_b);
    let rel = select(between, back, on_b);
    let shift = select(vec2<f32>(0.0), d, on_b);
    let low_corner = best.face;
    let high_corner = hull_next(hull, low_corner);
    let start = hull_point(hull, low_corner);
    let edge = hull_edge(hull, low_corner);
    let normal = right_perp(edge.tangent);

    let up = inv_rotate(rel, normal);
    let first = hull_lowest_edge(other, up);
    var low_vertex = hull_next(other, first);
    var high_vertex = first;
    let low = at + rotate(rel, hull_point(other, low_vertex)) - start;
    let high = at + rotate(rel, hull_point(other, high_vertex)) - start;
    // x along the face, y across.
    var low_end = vec2<f32>(dot(low, edge.tangent), dot(low, normal));
    var high_end = vec2<f32>(dot(high, edge.tangent), dot(high, normal));
    if low_end.x > high_end.x {
        let end = low_end;
        low_end = high_end;
        high_end = end;
        let vertex = low_vertex;
        low_vertex = high_vertex;
        high_vertex = vertex;
    }

    let radii = shapes[hull].radius - shapes[other].radius;
    manifold.normal = rotate(turn_ref, select(normal, -normal, on_b));
    var nearest = FAR;
    let span = high_end.x - low_end.x;
    let reaches = high_end.x >= 0.0 && low_end.x <= edge.width;
    for (var end = 0u; end < 2u && reaches; end += 1u) {
        var clipped = select(high_end, low_end, end == 0u);
        let limit = select(edge.width, 0.0, end == 0u);
        let outside = select(clipped.x > limit, clipped.x < limit, end == 0u);
        if outside && span > 0.0 {
            let share = (limit - low_end.x) / span;
            clipped = vec2<f32>(limit, low_end.y + (high_end.y - low_end.y) * share);
        }
        nearest = min(nearest, clipped.y);
        let gap = clipped.y - radius;
        if gap > near_distance {
            continue;
        }
        let core = start + edge.tangent * clipped.x;
        let slot = manifold.count;
        manifold.points[slot] = rotate(turn_ref, core + normal * (0.5 * (radii + clipped.y))) + shift;
        manifold.separations[slot] = gap;
        manifold.features[slot] = hull_feature(
            select(high_corner, low_corner, end == 0u), select(high_vertex, low_vertex, end == 0u), on_b,
        );
        manifold.count += 1u;
    }
    if nearest <= best.separation + preference {
        return manifold;
    }

    if best.separation < -ROUNDING * (shapes[a].bound + shapes[b].bound) {
        if !reaches && !is_link(a) && !is_link(b) {
            // The preferred face is not the best one, and the deepest vertex lies beside it; far beside it, if an edge
            // continues almost where the face ends. Then the other end of that edge is as deep, and near.
            var deepest = hull_lowest(other, up).vertex;
            var depth = best.separation;
            let near = select(low_end, high_end, high_end.x < 0.0);
            if near.y <= depth + preference {
                deepest = select(low_vertex, high_vertex, high_end.x < 0.0);
                depth = near.y;
            }
            let point = at + rotate(rel, hull_point(other, deepest));
            let core = point - normal * depth;
            manifold.points[0] = rotate(turn_ref, core + normal * (0.5 * (radii + depth))) + shift;
            manifold.separations[0] = depth - radius;
            manifold.features[0] = hull_feature(low_corner, deepest, on_b);
            manifold.count = 1u;
        }
        return manifold;
    }

    // Apart, and nearest at two vertices.
    var corner = 0u;
    var vertex = 0u;
    var gap = vec2<f32>(0.0);
    var least = FAR;
    let other_count = hull_count(other);
    let count = hull_count(hull);
    for (var of_other = 0u; of_other < other_count; of_other += 1u) {
        let point = at + rotate(rel, hull_point(other, of_other));
        for (var of_hull = 0u; of_hull < count; of_hull += 1u) {
            let here = point - hull_point(hull, of_hull);
            let squared = dot(here, here);
            if squared < least {
                corner = of_hull;
                vertex = of_other;
                gap = here;
                least = squared;
            }
        }
    }
    let distance = sqrt(least);
    if distance + preference >= nearest {
        return manifold;
    }
    if distance - radius > near_distance {
        manifold.count = 0u;
        return manifold;
    }
    let is_own = hull_admits(hull, gap / distance) && hull_admits(other, inv_rotate(rel, -gap / distance));
    if distance > preference && !is_own {
        return manifold;
    }
    var towards = normal;
    var across = distance;
    if distance > preference {
        towards = gap / distance;
    } else {
        if count == 2u && other_count == 2u {
            let apart = rotate(rel, hull_edge(other, vertex).tangent) - hull_edge(hull, corner).tangent;
            let between_ends = length(apart);
            if between_ends > MIN_CORNER_ANGLE {
                towards = apart / between_ends;
            }
        }
        across = dot(gap, towards);
    }
    manifold.normal = rotate(turn_ref, select(towards, -towards, on_b));
    manifold.at_corner = true;
    manifold.count = 1u;
    let core = hull_point(hull, corner);
    manifold.points[0] = rotate(turn_ref, core + towards * (0.5 * (radii + across))) + shift;
    manifold.separations[0] = across - radius;
    manifold.features[0] = hull_feature(corner, vertex, on_b);
    return manifold;
}

// As `hull_hull`, and none if the pair passes by one of the near faces.
fn hulls_in_motion(
    a: u32, b: u32, turn_a: vec2<f32>, turn_b: vec2<f32>, d: vec2<f32>, b_first: bool,
) -> Touch {
    var manifold = hull_hull(a, b, turn_a, turn_b, d, b_first);
    if !may_pass || manifold.count == 0u || is_link(a) || is_link(b) {
        return manifold;
    }
    let slack = hull_slack(a, b);
    var faces = manifold.near;
    while faces != 0u && !manifold.passes {
        let bit = countTrailingZeros(faces);
        faces &= faces - 1u;
        let on_b = bit >= MAX_VERTICES;
        let face = bit % MAX_VERTICES;
        let hull = select(a, b, on_b);
        let other = select(b, a, on_b);
        let turn = select(turn_a, turn_b, on_b);
        let normal = hull_normal(hull, face);
        let world = rotate(turn, normal);
        let out = select(world, -world, on_b);
        if is_on(manifold, dot(out, manifold.normal)) {
            continue;
        }
        let height = hull_lowest(other, inv_rotate(select(turn_b, turn_a, on_b), world)).height;
        let gap = dot(normal, inv_rotate(turn, select(d, -d, on_b)) - hull_point(hull, face)) + height;
        manifold.passes =
            passes_by(out, gap - (shapes[hull].radius + shapes[other].radius), manifold, pair_moved, slack);
    }
    return manifold;
}

// `moved`: the motion of the disc relative to the hull.
fn hull_circle(hull: u32, turn: vec2<f32>, radius: f32, d: vec2<f32>, moved: vec2<f32>) -> Touch {
    var manifold = empty_manifold();
    let center = inv_rotate(turn, d);
    let slack = min(params.linear_slop, 0.1 * radius);
    if is_behind(hull, center) {
        return manifold;
    }
    let count = hull_count(hull);
    let faces = hull_faces(hull);
    var face = 0u;
    var height = -FAR;
    let least = ROUNDING * (abs(center.x) + abs(center.y));
    for (var index = 0u; index < faces; index += 1u) {
        let here = dot(hull_normal(hull, index), center - hull_point(hull, index));
        if here > height + least {
            face = index;
            height = here;
        }
    }
    let edge = hull_edge(hull, face);
    let along = dot(edge.tangent, center - hull_point(hull, face));
    var normal = right_perp(edge.tangent);
    var distance = height;
    // Beside the highest face the nearest point is a vertex. A centre inside is always above it.
    let over = select(0.0, LINK_OVERLAP * radius, is_link(hull));
    if along < -over || along > edge.width + over {
        var gap = vec2<f32>(0.0);
        var least = FAR;
        for (var index = 0u; index < count; index += 1u) {
            let here = center - hull_point(hull, index);
            let squared = dot(here, here);
            if squared < least {
                gap = here;
                least = squared;
            }
        }
        distance = sqrt(least);
        if distance > FACE_PREFERENCE * slack {
            normal = gap / distance;
            manifold.at_corner = true;
        }
        if !hull_admits(hull, normal) {
            return manifold;
        }
    }
    let apart = distance - shapes[hull].radius - radius;
    if apart > near_distance {
        return manifold;
    }
    let surface = center - normal * distance;
    manifold.normal = rotate(turn, normal);
    manifold.count = 1u;
    manifold.points[0] = rotate(turn, surface + normal * (shapes[hull].radius + 0.5 * apart));
    manifold.separations[0] = apart;
    for (var index = 0u; index < count && !is_link(hull) && !manifold.passes; index += 1u) {
        let side = hull_normal(hull, index);
        let above = dot(side, center - hull_point(hull, index)) - shapes[hull].radius - radius;
        manifold.passes = passes_by(rotate(turn, side), above, manifold, moved, slack);
    }
    return manifold;
}

fn hull_half_plane(hull: u32, turn: vec2<f32>, normal: vec2<f32>, d: vec2<f32>) -> Touch {
    var manifold = empty_manifold();
    let up = inv_rotate(turn, normal);
    let height = -dot(normal, d) - shapes[hull].radius;
    let count = hull_count(hull);
    manifold.normal = -normal;
    var vertex = 0u;
    if count > 1u {
        vertex = hull_lowest_edge(hull, up);
    }
    for (var end = 0u; end < min(count, 2u); end += 1u) {
        let point = hull_point(hull, vertex);
        let apart = height + dot(up, point);
        if apart <= near_distance {
            let slot = manifold.count;
            manifold.points[slot] = rotate(turn, point) - normal * (shapes[hull].radius + 0.5 * apart);
            manifold.separations[slot] = apart;
            manifold.features[slot] = 8u * vertex;
            manifold.count += 1u;
        }
        vertex = hull_next(hull, vertex);
    }
    return manifold;
}
