// continuous: src/stages/continuous.rs. Stops fast bodies at the time of impact: continuous_reach, continuous_sweep,
// continuous_move.

//#import types
//#import math
//#import pose
//#import constants
//#import grid
//#import cells
//#import joined
//#import outline

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> vertices: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> poses: array<Pose>;
@group(0) @binding(4) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(5) var<storage, read> cell_ends: array<u32>;
@group(0) @binding(6) var<storage, read> cell_shapes: array<u32>;
@group(0) @binding(7) var<storage, read_write> ccd_bodies: array<CcdBody>;
@group(0) @binding(8) var<storage, read_write> counters: Counters;
@group(0) @binding(9) var<storage, read> partners: array<u32>;
@group(1) @binding(0) var<uniform> sweep: Sweep;

// Phases of `stop_time`.
const START: u32 = 0u;
const MIDDLE: u32 = 1u;
const ADVANCE_CORE: u32 = 2u;
const ADVANCE: u32 = 3u;

struct Motion {
    start: vec2<f32>,
    rotation: vec2<f32>,
    moved: vec2<f32>,
    turned: vec2<f32>,
}

fn partners_word(index: u32) -> u32 {
    return partners[index];
}

fn motion_of(base: u32, body: u32) -> Motion {
    return Motion(
        vector_to(poses[base], poses[body]), poses[body].rotation, states[body].delta_position, states[body].delta_rotation,
    );
}

fn turn_at(motion: Motion, time: f32) -> vec2<f32> {
    let turn = vec2<f32>(1.0 - time, 0.0) + motion.turned * time;
    return turn / length(turn);
}

fn chord_of(turned: vec2<f32>) -> f32 {
    return length(turned - vec2<f32>(1.0, 0.0));
}

fn rate_of(turned: vec2<f32>) -> f32 {
    return 2.0 * turned.y / max(1.0 + turned.x, 1e-6);
}

// A moving shape: `count` vertices with a radius, or a half plane; the core is a single vertex at the offset. It holds
// what `party_point` needs of the shape, so that the code that reads a shape is not compiled again at each call.
struct Party {
    shape: u32,
    count: u32,
    is_plane: bool,
    // False if the vertices are corners of a box.
    is_polygon: bool,
    first_vertex: u32,
    half: vec2<f32>,
    radius: f32,
    offset: vec2<f32>,
    rotation: vec2<f32>,
    motion: Motion,
}

fn party(shape: u32, motion: Motion) -> Party {
    let geometry = shapes[shape].kind & GEOMETRY_MASK;
    return Party(
        shape, hull_count(shape), geometry == HALF_PLANE, geometry == POLYGON, shapes[shape].first_vertex,
        select(vec2<f32>(0.0), shapes[shape].half, geometry == BOX), shapes[shape].radius, shapes[shape].offset,
        shapes[shape].rotation, motion,
    );
}

// As `hull_point` in outline.wgsl.
fn party_point(moving: Party, index: u32) -> vec2<f32> {
    if moving.is_polygon {
        return vertices[moving.first_vertex + index];
    }
    return box_corner(moving.half, index);
}

fn middle_of(whole: Party) -> Party {
    var sum = vec2<f32>(0.0);
    for (var index = 0u; index < whole.count; index += 1u) {
        sum += party_point(whole, index);
    }
    var core = whole;
    core.count = 1u;
    core.is_polygon = false;
    core.half = vec2<f32>(0.0);
    core.radius = 0.0;
    core.offset = whole.offset + rotate(whole.rotation, sum / f32(whole.count));
    return core;
}

fn arm_of(moving: Party) -> f32 {
    var arm = 0.0;
    for (var index = 0u; index < moving.count; index += 1u) {
        arm = max(arm, length(moving.offset + rotate(moving.rotation, party_point(moving, index))));
    }
    return arm;
}

struct Placed {
    at: vec2<f32>,
    rel: vec2<f32>,
    frame: vec2<f32>,
}

fn place(a: Party, b: Party, time: f32) -> Placed {
    let turn_a = mul_rotation(turn_at(a.motion, time), a.motion.rotation);
    let turn_b = mul_rotation(turn_at(b.motion, time), b.motion.rotation);
    let center_a = a.motion.start + a.motion.moved * time + rotate(turn_a, a.offset);
    let center_b = b.motion.start + b.motion.moved * time + rotate(turn_b, b.offset);
    let frame = mul_rotation(turn_b, b.rotation);
    return Placed(
        inv_rotate(frame, center_a - center_b), inv_mul_rotation(frame, mul_rotation(turn_a, a.rotation)), frame,
    );
}

fn from_segment(point: vec2<f32>, start: vec2<f32>, end: vec2<f32>) -> vec2<f32> {
    let edge = end - start;
    let to = point - start;
    let squared = dot(edge, edge);
    var share = 0.0;
    if squared > 0.0 {
        share = clamp(dot(to, edge) / squared, 0.0, 1.0);
    }
    return to - edge * share;
}

// Returns true if along the normal of a face of one of two shapes their cores are apart by `limit`, at both poses. One
// loop over the faces of A and then those of B; the way around a shape ends with the point where it began. So the code
// that reads points is compiled once. `gap_of` does the same.
fn a_face_parts(a: Party, b: Party, first: Placed, last: Placed, poses: u32, limit: f32) -> bool {
    for (var side = 0u; side < 2u; side += 1u) {
        var hull = a;
        var other = b;
        if side == 1u {
            hull = b;
            other = a;
        }
        var start = vec2<f32>(0.0);
        // A point has no face.
        for (var corner = 0u; hull.count > 1u && corner <= hull.count; corner += 1u) {
            let end = party_point(hull, select(corner, 0u, corner == hull.count));
            if corner > 0u {
                let normal = right_perp(end - start);
                var least = FAR;
                for (var pose = 0u; pose < poses; pose += 1u) {
                    var at = select(last.at, first.at, pose == 0u);
                    var rel = select(last.rel, first.rel, pose == 0u);
                    if side == 0u {
                        rel = vec2<f32>(rel.x, -rel.y);
                        at = rotate(rel, -at);
                    }
                    let up = inv_rotate(rel, normal);
                    var lowest = FAR;
                    for (var index = 0u; index < other.count; index += 1u) {
                        lowest = min(lowest, dot(up, party_point(other, index)));
                    }
                    least = min(least, dot(normal, at - start) + lowest);
                }
                if least >= limit * length(normal) {
                    return true;
                }
            }
            start = end;
        }
    }
    return false;
}

// Returns true if the cores of two shapes overlap.
fn cores_overlap(a: Party, b: Party, placed: Placed) -> bool {
    return !b.is_plane && a.count + b.count > 3u && !a_face_parts(a, b, placed, placed, 1u, 0.0);
}

// Returns true if a face of one shape keeps the two apart for the whole step, but for `slack`.
fn slides_past(a: Party, b: Party, slack: f32) -> bool {
    if b.is_plane || is_link(b.shape) {
        return false;
    }
    let apart = length(a.motion.start - b.motion.start) + length(a.motion.moved - b.motion.moved);
    let chord_a = chord_of(a.motion.turned);
    let chord_b = chord_of(b.motion.turned);
    if (arm_of(a) + apart) * (chord_a * chord_a + chord_b * chord_b) > slack {
        return false;
    }
    return a_face_parts(a, b, place(a, b, 0.0), place(a, b, 1.0), 2u, a.radius + b.radius - slack);
}

struct Gap {
    distance: f32,
    direction: vec2<f32>,
}

fn gap_of(a: Party, b: Party, placed: Placed) -> Gap {
    let radius = a.radius + b.radius;
    var lowest = FAR;
    var least = FAR;
    var nearest = vec2<f32>(0.0);
    var here = vec2<f32>(0.0);
    for (var of_a = 0u; of_a <= a.count; of_a += 1u) {
        let next = placed.at + rotate(placed.rel, party_point(a, select(of_a, 0u, of_a == a.count)));
        lowest = min(lowest, next.y);
        if of_a > 0u && !b.is_plane {
            var corner = vec2<f32>(0.0);
            for (var of_b = 0u; of_b <= b.count; of_b += 1u) {
                let next_corner = party_point(b, select(of_b, 0u, of_b == b.count));
                if of_b > 0u {
                    let to_edge = -from_segment(here, corner, next_corner);
                    let to_corner = from_segment(corner, here, next);
                    if dot(to_edge, to_edge) < least {
                        least = dot(to_edge, to_edge);
                        nearest = to_edge;
                    }
                    if dot(to_corner, to_corner) < least {
                        least = dot(to_corner, to_corner);
                        nearest = to_corner;
                    }
                }
                corner = next_corner;
            }
        }
        here = next;
    }
    if b.is_plane {
        return Gap(lowest - radius, vec2<f32>(0.0, -1.0));
    }
    let distance = sqrt(least);
    var direction = vec2<f32>(0.0, 1.0);
    if distance > 1e-12 {
        direction = nearest / distance;
    }
    return Gap(distance - radius, direction);
}

struct Size {
    half: f32,
    goal: f32,
    tolerance: f32,
}

fn size_of_body(first: u32) -> Size {
    let extent = ccd_bodies[first].extent;
    let min_extent = ccd_bodies[first].min_extent;
    let least = extent * STOP_EXTENT;
    let goal = min(params.speculative_distance * STOP_SHARE, max(min_extent * STOP_THICKNESS, least));
    return Size(max(min_extent, least), goal, goal * STOP_TOLERANCE);
}

// Constants of the advancement for two motions.
struct Course {
    velocity: vec2<f32>,
    rate: f32,
    gain: f32,
    spin: f32,
}

fn course_of(a: Party, b: Party) -> Course {
    let velocity = a.motion.moved - b.motion.moved;
    let rate_a = rate_of(a.motion.turned);
    let rate_b = rate_of(b.motion.turned);
    let apart = length(a.motion.start - b.motion.start) + length(velocity);
    return Course(
        velocity, rate_b, 2.0 * abs(rate_b) * length(velocity) + rate_b * rate_b * apart,
        (abs(rate_a) + abs(rate_b)) * arm_of(a) + (abs(rate_b) - abs(b.motion.turned.y)) * apart,
    );
}

// `stop_time` and `time_of_impact` in one loop, so that the code that measures a gap is compiled once: it starts with
// the whole shape, measures from its middle, advances the core, and then the whole shape again.
fn stop_time(size: Size, whole: Party, b: Party, together: bool, limit: f32) -> f32 {
    var a = whole;
    var phase = START;
    var touches = false;
    var goal = size.goal;
    var tolerance = size.tolerance;
    var course = Course(vec2<f32>(0.0), 0.0, 0.0, 0.0);
    var sets_off = false;
    var time = 0.0;
    var advance = 0u;
    loop {
        if sets_off {
            course = course_of(a, b);
            sets_off = false;
        }
        let placed = place(a, b, time);
        let gap = gap_of(a, b, placed);
        if phase < ADVANCE_CORE {
            let inside = cores_overlap(a, b, placed);
            if phase == START {
                touches = inside || gap.distance <= goal + TOUCH * tolerance;
                if touches && together {
                    return limit;
                }
                let joined = (shapes[a.shape].kind & JOINED_SHAPE) != 0u;
                if touches || (!together && (joined || shapes[a.shape].bound <= size.half * STOUT)) {
                    a = middle_of(whole);
                    phase = MIDDLE;
                    continue;
                }
                phase = ADVANCE;
            } else {
                if gap.distance <= 0.0 || inside {
                    return limit;
                }
                a.radius = min(size.half * CORE, 0.5 * gap.distance);
                goal = 0.0;
                tolerance = min(size.tolerance, 0.1 * gap.distance);
                phase = ADVANCE_CORE;
            }
            sets_off = true;
            continue;
        }
        var ended = gap.distance <= goal + tolerance || advance >= MAX_ADVANCES;
        var misses = false;
        if !ended {
            let between = a.motion.start - b.motion.start + course.velocity * time;
            let approach = dot(rotate(placed.frame, gap.direction), course.velocity - cross_scalar(course.rate, between));
            let fastest = approach + course.spin + course.gain * (1.0 - time);
            time += (gap.distance - goal) / fastest;
            misses = fastest <= 0.0 || time >= limit;
            advance += 1u;
        }
        if misses {
            return limit;
        }
        if !ended {
            continue;
        }
        if phase == ADVANCE || touches || time >= limit {
            return time;
        }
        // The core would hit: find the impact of the whole shape.
        a = whole;
        goal = size.goal;
        tolerance = size.tolerance;
        sets_off = true;
        time = 0.0;
        advance = 0u;
        phase = ADVANCE;
    }
    return limit;
}

struct Stop {
    time: f32,
    shape: u32,
}

fn may_meet(a: u32, b: u32) -> bool {
    let group_a = shapes[a].group;
    if group_a == shapes[b].group && group_a != 0 {
        return group_a > 0;
    }
    return (shapes[a].mask & shapes[b].category) != 0u && (shapes[b].mask & shapes[a].category) != 0u;
}

fn circles_meet(size: Size, a: u32, motion_a: Motion, b: u32, motion_b: Motion) -> bool {
    let offset_a = shapes[a].offset;
    let offset_b = shapes[b].offset;
    let start = rotate(motion_a.rotation, offset_a) - motion_b.start - rotate(motion_b.rotation, offset_b);
    let end = motion_a.moved + rotate(mul_rotation(motion_a.turned, motion_a.rotation), offset_a)
        - motion_b.start - motion_b.moved - rotate(mul_rotation(motion_b.turned, motion_b.rotation), offset_b);
    let swing = length(offset_a) * chord_of(motion_a.turned) + length(offset_b) * chord_of(motion_b.turned);
    let reach = shapes[a].bound + shapes[b].bound + swing + size.goal;
    let nearest = from_segment(vec2<f32>(0.0), start, end);
    return dot(nearest, nearest) <= reach * reach * 1.001;
}

// Returns the earlier of `so_far` and the stop of the shape `own` at `other`.
fn meet(size: Size, base: u32, motion: Motion, own: u32, other: u32, bullets: bool, so_far: Stop) -> Stop {
    let kind_a = shapes[own].kind;
    let kind_b = shapes[other].kind;
    let body = shapes[other].body;
    if shapes[own].body == body || bullets == ((kind_b & FIXED_SHAPE) != 0u) {
        return so_far;
    }
    if ((kind_a | kind_b) & SENSOR_SHAPE) != 0u {
        return so_far;
    }
    if (kind_a & kind_b & JOINED_SHAPE) != 0u && are_joined(shapes[own].body, body) {
        return so_far;
    }
    if !may_meet(own, other) || (states[body].status & QUARANTINED) != 0u {
        return so_far;
    }
    let other_motion = motion_of(base, body);
    if (kind_b & GEOMETRY_MASK) != HALF_PLANE && !circles_meet(size, own, motion, other, other_motion) {
        return so_far;
    }
    let together = (kind_a & kind_b & BULLET_SHAPE) != 0u;
    var first = party(own, motion);
    var second = party(other, other_motion);
    if is_link(other) && is_behind(other, place(first, second, 0.0).at) {
        return so_far;
    }
    var sizes = size;
    if together {
        let smaller = min(shapes[own].bound, shapes[other].bound);
        sizes.goal = min(params.speculative_distance * STOP_SHARE, smaller * STOP_THICKNESS);
        sizes.tolerance = sizes.goal * STOP_TOLERANCE;
        if other < own {
            let swap = first;
            first = second;
            second = swap;
        }
    }
    if !together && slides_past(first, second, min(params.linear_slop, 0.1 * size.half)) {
        return so_far;
    }
    let time = stop_time(sizes, first, second, together, so_far.time);
    if time < so_far.time {
        return Stop(time, other);
    }
    return so_far;
}

fn sweep_shape(size: Size, base: u32, motion: Motion, own: u32, bullets: bool, so_far: Stop) -> Stop {
    var stop = so_far;
    if (shapes[own].kind & SENSOR_SHAPE) != 0u || (bullets && (shapes[own].kind & BULLET_SHAPE) == 0u) {
        return stop;
    }
    let offset = shapes[own].offset;
    let center = poses[base].position;
    let start = center + rotate(motion.rotation, offset);
    let end = center + motion.moved + rotate(mul_rotation(motion.turned, motion.rotation), offset);
    var reach = shapes[own].bound + length(offset) * chord_of(motion.turned) + size.goal
        + bitcast<f32>(atomicLoad(&ccd_bodies[0].reach));
    if bullets {
        reach += params.max_speed * params.dt;
    }
    let rim = reach + max(abs(start), abs(end)) * FAR_MARGIN;
    let low_end = min(start, end) - rim;
    let high_end = max(start, end) + rim;
    // After the levels come the half planes, as one more row of cells.
    for (var level = 0u; level <= params.level_count; level += 1u) {
        let is_grid = level < params.level_count;
        var range = CellRange(vec2<i32>(0), vec2<i32>(0));
        if is_grid {
            range = cells_around(level, low_end, high_end);
        }
        for (var row = range.low.y; row <= range.high.y; row += 1) {
            var run = Run(0u, plane_count(), false);
            if is_grid {
                run = without_crowd(run_of_row(level, range, row));
            }
            loop {
                if run.slot >= run.end {
                    if !run.wraps {
                        break;
                    }
                    run = without_crowd(rest_of_row(level, range, row));
                    continue;
                }
                var other = 0u;
                if is_grid {
                    other = cell_shapes[run.slot];
                } else {
                    other = plane_at(run.slot);
                }
                stop = meet(size, base, motion, own, other, bullets, stop);
                run.slot += 1u;
            }
        }
    }
    return stop;
}

// One thread per shape: the largest motion of a kinematic body. Non-negative floats sort as their bits do.
@compute @workgroup_size(LANES)
fn continuous_reach(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count || (shapes[index].kind & KINEMATIC_SHAPE) == 0u {
        return;
    }
    let body = shapes[index].body;
    let moved = length(states[body].delta_position) + chord_of(states[body].delta_rotation) * ccd_bodies[index].extent;
    if is_finite(moved) {
        atomicMax(&ccd_bodies[0].reach, bitcast<u32>(moved));
    }
}

// One thread per shape; the first shape of a body acts.
@compute @workgroup_size(LANES)
fn continuous_sweep(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    let half = 0.5 * ccd_bodies[index].min_extent;
    if half > FAR {
        return;
    }
    let body = shapes[index].body;
    var moved = length(states[body].delta_position) + chord_of(states[body].delta_rotation) * ccd_bodies[index].extent;
    if (shapes[index].kind & BULLET_SHAPE) != 0u {
        moved += bitcast<f32>(atomicLoad(&ccd_bodies[0].reach));
    }
    // Negated, so that a NaN counts as not fast.
    if !(moved > half) {
        return;
    }
    if !is_finite(moved) || (states[body].status & QUARANTINED) != 0u {
        return;
    }
    let motion = motion_of(body, body);
    let size = size_of_body(index);
    let bullets = (sweep.flags & ONLY_BULLETS) != 0u;
    var stop = Stop(1.0, 0u);
    var own = index;
    while own != NONE {
        stop = sweep_shape(size, body, motion, own, bullets, stop);
        own = ccd_bodies[own].next;
    }
    if !(stop.time < 1.0) {
        return;
    }
    let position = motion.moved * stop.time;
    let turn = turn_at(motion, stop.time);
    if (shapes[stop.shape].kind & BULLET_SHAPE) != 0u {
        ccd_bodies[index].stop_position = position;
        ccd_bodies[index].stop_rotation = turn;
        return;
    }
    let other = motion_of(body, shapes[stop.shape].body);
    let rest = inv_mul_rotation(turn_at(other, stop.time), other.turned);
    let arm = position - other.start - other.moved * stop.time;
    ccd_bodies[index].stop_position = other.start + other.moved + rotate(rest, arm);
    ccd_bodies[index].stop_rotation = mul_rotation(rest, turn);
}

// One thread per shape; the first shape of a body acts.
@compute @workgroup_size(LANES)
fn continuous_move(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    if index == 0u {
        atomicStore(&ccd_bodies[0].reach, 0u);
    }
    let rotation = ccd_bodies[index].stop_rotation;
    if rotation.x == 0.0 && rotation.y == 0.0 {
        return;
    }
    let body = shapes[index].body;
    states[body].delta_position = ccd_bodies[index].stop_position;
    states[body].delta_rotation = rotation;
    ccd_bodies[index].stop_rotation = vec2<f32>(0.0);
    atomicAdd(&counters.continuous, 1u);
}
