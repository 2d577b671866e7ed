// Rays and casts of queries between two steps: src/query.rs, with src/query/narrow.rs, src/query/cast.rs and
// src/query/walk.rs function by function. Runs after bound and bin, which build the grid for the present poses.

//#import ray
//#import meeting

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> vertices: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> poses: array<Pose>;
@group(0) @binding(4) var<storage, read> aabbs: array<Aabb>;
@group(0) @binding(5) var<storage, read> cell_ends: array<u32>;
@group(0) @binding(6) var<storage, read> cell_shapes: array<u32>;
@group(0) @binding(7) var<uniform> query_params: QueryParams;
@group(0) @binding(8) var<storage, read> rays: array<Ray>;
@group(0) @binding(9) var<storage, read_write> ray_hits: array<Hit>;
@group(0) @binding(10) var<storage, read> regions: array<Region>;

const TAKES_ONCE: bool = false;

fn take(hit: RayHit, so_far: RayHit) -> RayHit {
    if hit.fraction > so_far.fraction || (hit.fraction == so_far.fraction && hit.shape >= so_far.shape) {
        return so_far;
    }
    return hit;
}

// ── cast.rs ──

struct Met {
    fraction: f32,
    normal: vec2<f32>,
    point: vec2<f32>,
    depth: f32,
    // Shape that was met, or NONE.
    shape: u32,
}

fn not_met() -> Met {
    return Met(0.0, vec2<f32>(0.0), vec2<f32>(0.0), 0.0, NONE);
}

fn cast_shape(ray: Ray, region: u32, shape: u32, pose: Pose) -> Met {
    let turn = turn_of(shape, pose);
    let between = from_middle(regions[region].center, shape, pose);
    let origin = inv_rotate(turn, between);
    let delta = inv_rotate(turn, ray.delta);
    // The moving shape at its own centre.
    let meeting = Meeting(region, shape, vec2<f32>(0.0), turn);
    var met: Met;
    if (shapes[shape].kind & GEOMETRY_MASK) == HALF_PLANE {
        met = cast_half_plane(meeting, origin, delta);
    } else {
        met = cast_hull(meeting, origin, delta);
    }
    met.normal = rotate(turn, met.normal);
    met.point = regions[region].center + (rotate(turn, met.point) - between);
    return met;
}

fn cast_half_plane(meeting: Meeting, origin: vec2<f32>, delta: vec2<f32>) -> Met {
    let up = vec2<f32>(0.0, 1.0);
    let lowest = lowest_along(meeting, up);
    let height = origin.y + lowest.y - regions[meeting.region].radius;
    if height <= 0.0 {
        return Met(0.0, up, vec2<f32>(origin.x + lowest.x, 0.0), -height, meeting.shape);
    }
    if -delta.y < height {
        return not_met();
    }
    let fraction = height / -delta.y;
    return Met(fraction, up, vec2<f32>(origin.x + lowest.x + delta.x * fraction, 0.0), 0.0, meeting.shape);
}

fn cast_hull(meeting: Meeting, origin: vec2<f32>, delta: vec2<f32>) -> Met {
    make_difference(meeting);
    let own_radius = shapes[meeting.shape].radius;
    let radii = own_radius + regions[meeting.region].radius;
    let out = way_out(radii, origin);
    var hit = RayHit(0.0, out.normal, meeting.shape);
    if !out.is_inside {
        hit = ray_outline(meeting.shape, sum_count, radii, true, origin, delta);
    }
    if hit.shape == NONE {
        return not_met();
    }
    let depth = select(0.0, out.depth, out.is_inside);
    let at = origin + delta * hit.fraction + hit.normal * depth;
    return Met(hit.fraction, hit.normal, nearest_on(meeting, at) + hit.normal * own_radius, depth, meeting.shape);
}

fn lowest_along(meeting: Meeting, up: vec2<f32>) -> vec2<f32> {
    var lowest = side_point(meeting, true, 0u);
    var height = dot(up, lowest);
    let count = side_count(meeting, true);
    for (var index = 1u; index < count; index += 1u) {
        let point = side_point(meeting, true, index);
        let here = dot(up, point);
        if here < height {
            lowest = point;
            height = here;
        }
    }
    return lowest;
}

fn first_of(meeting: Meeting, of_region: bool, sign: f32) -> u32 {
    var first = 0u;
    var best = side_point(meeting, of_region, 0u) * sign;
    let count = side_count(meeting, of_region);
    for (var index = 1u; index < count; index += 1u) {
        let here = side_point(meeting, of_region, index) * sign;
        if here.y < best.y || (here.y == best.y && here.x < best.x) {
            first = index;
            best = here;
        }
    }
    return first;
}

fn make_difference(meeting: Meeting) {
    let own_points = side_count(meeting, false);
    let other_points = side_count(meeting, true);
    let first = first_of(meeting, false, 1.0);
    let other_first = first_of(meeting, true, -1.0);
    let count = select(0u, own_points, own_points > 1u);
    let other_count = select(0u, other_points, other_points > 1u);
    var index = 0u;
    var other = 0u;
    sum_count = 0u;
    for (var turn = 0u; turn < MAX_DIFFERENCE; turn += 1u) {
        if !(index < count || other < other_count || sum_count == 0u) {
            break;
        }
        let at = side_point(meeting, false, (first + index) % own_points);
        let other_at = -side_point(meeting, true, (other_first + other) % other_points);
        sum[sum_count] = at + other_at;
        sum_count += 1u;
        if count + other_count == 0u {
            break;
        }
        let edge = side_point(meeting, false, (first + index + 1u) % own_points) - at;
        let other_edge = -side_point(meeting, true, (other_first + other + 1u) % other_points) - other_at;
        let turns = cross_2d(edge, other_edge);
        let along = dot(edge, other_edge);
        let are_parallel = along > 0.0 && abs(turns) <= PARALLEL * along;
        let takes_own = index < count && (other == other_count || are_parallel || turns > 0.0);
        let takes_other = other < other_count && (index == count || are_parallel || turns <= 0.0);
        index += select(0u, 1u, takes_own);
        other += select(0u, 1u, takes_other);
    }
}

struct WayOut {
    is_inside: bool,
    normal: vec2<f32>,
    depth: f32,
}

fn way_out(radius: f32, origin: vec2<f32>) -> WayOut {
    var nearest = vec2<f32>(0.0);
    var least = FAR;
    var normal = vec2<f32>(0.0, 1.0);
    var highest = -FAR;
    for (var index = 0u; index < sum_count; index += 1u) {
        let arm = origin - sum[index];
        if dot(arm, arm) < least {
            nearest = arm;
            least = dot(arm, arm);
        }
        if sum_count > 1u {
            let edge = sum[select(0u, index + 1u, index + 1u < sum_count)] - sum[index];
            let size = length(edge);
            let tangent = edge / size;
            let height = dot(right_perp(tangent), arm);
            if height > highest {
                normal = right_perp(tangent);
                highest = height;
            }
            let along = dot(tangent, arm);
            if along >= 0.0 && along <= size && height >= 0.0 && height * height < least {
                nearest = right_perp(tangent) * height;
                least = height * height;
            }
        }
    }
    if sum_count > 2u && highest <= 0.0 {
        return WayOut(true, normal, radius - highest);
    }
    let distance = sqrt(least);
    if distance > radius || radius == 0.0 {
        return WayOut(false, normal, 0.0);
    }
    return WayOut(true, select(normal, nearest / distance, distance > 0.0), radius - distance);
}

fn share_along(arm: vec2<f32>, edge: vec2<f32>) -> f32 {
    let squared = dot(edge, edge);
    if squared > 0.0 {
        return clamp(dot(arm, edge) / squared, 0.0, 1.0);
    }
    return 0.0;
}

fn nearest_on(meeting: Meeting, at: vec2<f32>) -> vec2<f32> {
    let count = side_count(meeting, false);
    let others = side_count(meeting, true);
    var nearest = side_point(meeting, false, 0u);
    var least = FAR;
    for (var index = 0u; index < count; index += 1u) {
        let start = side_point(meeting, false, index);
        let edge = side_point(meeting, false, select(0u, index + 1u, index + 1u < count)) - start;
        for (var other = 0u; other < others; other += 1u) {
            let point = at + side_point(meeting, true, other);
            let here = start + edge * share_along(point - start, edge);
            let arm = point - here;
            if dot(arm, arm) < least {
                nearest = here;
                least = dot(arm, arm);
            }
        }
    }
    for (var other = 0u; other < others; other += 1u) {
        let start = side_point(meeting, true, other);
        let edge = side_point(meeting, true, select(0u, other + 1u, other + 1u < others)) - start;
        for (var index = 0u; index < count; index += 1u) {
            let point = side_point(meeting, false, index);
            let from_start = point - at - start;
            let arm = from_start - edge * share_along(from_start, edge);
            if dot(arm, arm) < least {
                nearest = point;
                least = dot(arm, arm);
            }
        }
    }
    return nearest;
}

// ── walk.rs ──

// Selects the world of a batch. Without batches it does nothing (src/gpu/shader/batch.rs).
fn enter(world: u32) {
}

// One thread per ray.
@compute @workgroup_size(LANES)
fn query_ray(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= query_params.count {
        return;
    }
    let ray = rays[index];
    enter(ray.world);
    let nearest = visit_ray(ray);
    let point = ray.origin + ray.delta * nearest.fraction;
    ray_hits[index] = Hit(point, nearest.normal, nearest.fraction, nearest.shape, 0.0, 0u);
}

fn reach_of(ray: Ray, region: u32) -> f32 {
    var far = 0.0;
    for (var index = 0u; index < regions[region].count; index += 1u) {
        far = max(far, length(regions[region].points[index]));
    }
    let spread = abs(ray.origin) + abs(ray.delta);
    return far + regions[region].radius + RAY_SLACK * max(spread.x, spread.y);
}

fn meet_first(ray: Ray, region: u32, shape: u32, first: Met) -> Met {
    if !may_meet(ray, shape) {
        return first;
    }
    let met = cast_shape(ray, region, shape, poses[shapes[shape].body]);
    if met.shape == NONE {
        return first;
    }
    let is_deeper = met.fraction == 0.0 && first.fraction == 0.0 && met.depth > first.depth;
    let is_lower = met.fraction == first.fraction && met.depth == first.depth && shape < first.shape;
    if met.fraction < first.fraction || is_deeper || is_lower {
        return met;
    }
    return first;
}

fn cast_run(ray: Ray, region: u32, bounds: Aabb, reach: f32, run: Run, so_far: Met) -> Met {
    var first = so_far;
    for (var slot = run.slot; slot < run.end; slot += 1u) {
        let shape = cell_shapes[slot];
        let aabb = aabbs[shape];
        if overlaps(bounds, aabb) && is_near(ray.origin, ray.delta * first.fraction, reach, aabb) {
            first = meet_first(ray, region, shape, first);
        }
    }
    return first;
}

// One thread per cast.
@compute @workgroup_size(LANES)
fn query_cast(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= query_params.count {
        return;
    }
    enter(regions[index].world);
    let ray = path_of(index);
    var first = not_met();
    first.fraction = 1.0;
    for (var turn = 0u; turn < plane_count(); turn += 1u) {
        let plane = plane_at(turn);
        if has_half_plane(plane) {
            first = meet_first(ray, index, plane, first);
        }
    }
    let low = regions[index].min;
    let high = regions[index].max;
    let bounds = Aabb(min(low, low + ray.delta), max(high, high + ray.delta));
    let reach = reach_of(ray, index);
    for (var level = 0u; level < params.level_count; level += 1u) {
        let range = cells_around(level, bounds.min, bounds.max);
        for (var row = range.low.y; row <= range.high.y; row += 1i) {
            let run = run_of_row(level, range, row);
            first = cast_run(ray, index, bounds, reach, run, first);
            if run.wraps {
                first = cast_run(ray, index, bounds, reach, rest_of_row(level, range, row), first);
            }
        }
    }
    ray_hits[index] = Hit(first.point, first.normal, first.fraction, first.shape, first.depth, 0u);
}
