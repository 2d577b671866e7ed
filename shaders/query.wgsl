// Queries between two steps: src/query.rs, with src/query/narrow.rs and src/query/walk.rs function by function. Runs
// after bound and bin, which build the grid for the present poses.

//#import types
//#import math
//#import constants
//#import grid
//#import cells
//#import outline

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
// One word per region and one more, then the shapes found. After the scan, region `i` has the items from word
// `region_items[i]` on, counted from the first item.
@group(0) @binding(11) var<storage, read_write> region_items: array<u32>;

struct QueryParams {
    // Number of rays or regions.
    count: u32,
    // Capacity for items.
    capacity: u32,
}

struct RayHit {
    fraction: f32,
    normal: vec2<f32>,
    // Shape that was hit, or NONE.
    shape: u32,
}

fn no_hit() -> RayHit {
    return RayHit(0.0, vec2<f32>(0.0), NONE);
}

// ── narrow.rs ──

fn is_placed(pose: Pose) -> bool {
    return is_finite(pose.position.x) && is_finite(pose.position.y)
        && is_finite(pose.rotation.x) && is_finite(pose.rotation.y);
}

fn sees(category: u32, mask: u32, group: i32, shape: u32) -> bool {
    if group == shapes[shape].group && group != 0 {
        return group > 0;
    }
    return (mask & shapes[shape].category) != 0u && (shapes[shape].mask & category) != 0u;
}

fn is_near(origin: vec2<f32>, delta: vec2<f32>, slack: f32, aabb: Aabb) -> bool {
    let low = aabb.min - slack;
    let high = aabb.max + slack;
    let end = origin + delta;
    if min(origin.x, end.x) > high.x || max(origin.x, end.x) < low.x {
        return false;
    }
    if min(origin.y, end.y) > high.y || max(origin.y, end.y) < low.y {
        return false;
    }
    let half = (high - low) * 0.5;
    let arm = origin - (low + high) * 0.5;
    return abs(cross_2d(delta, arm)) <= abs(delta.y) * half.x + abs(delta.x) * half.y;
}

fn turn_of(shape: u32, pose: Pose) -> vec2<f32> {
    return mul_rotation(pose.rotation, shapes[shape].rotation);
}

fn center_of(shape: u32, pose: Pose) -> vec2<f32> {
    return pose.position + rotate(pose.rotation, shapes[shape].offset);
}

fn ray_shape(ray: Ray, shape: u32, pose: Pose) -> RayHit {
    let turn = turn_of(shape, pose);
    let origin = inv_rotate(turn, ray.origin - center_of(shape, pose));
    let delta = inv_rotate(turn, ray.delta);
    var hit: RayHit;
    if (shapes[shape].kind & GEOMETRY_MASK) == HALF_PLANE {
        hit = ray_half_plane(shape, origin, delta);
    } else {
        hit = ray_hull(shape, origin, delta);
    }
    hit.normal = rotate(turn, hit.normal);
    return hit;
}

fn against(delta: vec2<f32>) -> vec2<f32> {
    let size = length(delta);
    if size > 0.0 {
        return -delta / size;
    }
    return vec2<f32>(0.0);
}

fn inside(shape: u32, delta: vec2<f32>) -> RayHit {
    return RayHit(0.0, against(delta), shape);
}

fn ray_half_plane(shape: u32, origin: vec2<f32>, delta: vec2<f32>) -> RayHit {
    if origin.y <= 0.0 {
        return inside(shape, delta);
    }
    if -delta.y < origin.y {
        return no_hit();
    }
    return RayHit(origin.y / -delta.y, vec2<f32>(0.0, 1.0), shape);
}

fn ray_hull(shape: u32, origin: vec2<f32>, delta: vec2<f32>) -> RayHit {
    let count = hull_count(shape);
    let radius = shapes[shape].radius;
    if count == 1u {
        return ray_corner(shape, 0u, origin, delta);
    }
    let sharp = radius == 0.0 && count > 2u;
    var entry = -1.0;
    var exit = 1.0;
    var face = 0u;
    var highest = -FAR;
    for (var index = 0u; index < count; index += 1u) {
        let point = hull_point(shape, index);
        let edge = hull_point(shape, select(0u, index + 1u, index + 1u < count)) - point;
        let normal = right_perp(edge / length(edge));
        let height = dot(normal, origin - point) - radius;
        let rate = dot(normal, delta);
        if height > 0.0 {
            if -rate < height {
                return no_hit();
            }
            let fraction = height / -rate;
            if fraction > entry {
                entry = fraction;
                face = index;
            }
        } else {
            if rate > 0.0 && count > 2u {
                exit = min(height / -rate, exit);
            }
            if entry < 0.0 && height > highest {
                highest = height;
                face = index;
            }
        }
    }
    let first = hull_point(shape, face);
    let next = select(0u, face + 1u, face + 1u < count);
    let edge = hull_point(shape, next) - first;
    let width = length(edge);
    let tangent = edge / width;
    if entry < 0.0 {
        let along = dot(tangent, origin - first);
        if sharp || (along >= 0.0 && along <= width) {
            return inside(shape, delta);
        }
        var corner = 0u;
        var least = FAR;
        for (var index = 0u; index < count; index += 1u) {
            let arm = origin - hull_point(shape, index);
            let squared = dot(arm, arm);
            if squared < least {
                corner = index;
                least = squared;
            }
        }
        return ray_corner(shape, corner, origin, delta);
    }
    if entry > exit {
        return no_hit();
    }
    let along = dot(tangent, origin + delta * entry - first);
    if sharp || (along >= 0.0 && along <= width) {
        return RayHit(entry, right_perp(tangent), shape);
    }
    return ray_corner(shape, select(next, face, along < 0.0), origin, delta);
}

fn ray_corner(shape: u32, corner: u32, origin: vec2<f32>, delta: vec2<f32>) -> RayHit {
    let radius = shapes[shape].radius;
    let arm = origin - hull_point(shape, corner);
    if dot(arm, arm) <= radius * radius {
        return inside(shape, delta);
    }
    let squared = dot(delta, delta);
    let towards = -dot(arm, delta);
    if towards <= 0.0 {
        return no_hit();
    }
    let nearest = towards / squared;
    let miss = arm + delta * nearest;
    let rest = radius * radius - dot(miss, miss);
    if rest < 0.0 {
        return no_hit();
    }
    let fraction = max(nearest - sqrt(rest / squared), 0.0);
    if fraction > 1.0 {
        return no_hit();
    }
    let out = arm + delta * fraction;
    let size = length(out);
    if radius > 0.0 && size > 0.0 {
        return RayHit(fraction, out / size, shape);
    }
    return RayHit(fraction, against(delta), shape);
}

// Returns the AABB of a shape without a margin, as src/stages/bound.rs does. For a half plane: its surface.
fn bounds_of(shape: u32, pose: Pose) -> Aabb {
    let turn = turn_of(shape, pose);
    let center = center_of(shape, pose);
    let kind = shapes[shape].kind & GEOMETRY_MASK;
    if kind == HALF_PLANE {
        let normal = vec2<f32>(-turn.y, turn.x);
        return Aabb(vec2<f32>(f32(HALF_PLANE_ROW), dot(normal, center)), normal);
    }
    let radius = shapes[shape].radius;
    if kind == POLYGON {
        var low = vec2<f32>(FAR);
        var high = vec2<f32>(-FAR);
        let count = hull_count(shape);
        for (var index = 0u; index < count; index += 1u) {
            let point = rotate(turn, hull_point(shape, index));
            low = min(low, point);
            high = max(high, point);
        }
        return Aabb(center + low - radius, center + high + radius);
    }
    var reach = vec2<f32>(radius);
    if kind != CIRCLE {
        let half = shapes[shape].half;
        let spread = abs(turn);
        reach += vec2<f32>(spread.x * half.x + spread.y * half.y, spread.y * half.x + spread.x * half.y);
    }
    return Aabb(center - reach, center + reach);
}

// Region in the frame of a shape: its centre is at `at`; `turn` rotates the shape into the world.
struct Meeting {
    region: u32,
    shape: u32,
    at: vec2<f32>,
    turn: vec2<f32>,
}

fn side_count(meeting: Meeting, of_region: bool) -> u32 {
    if of_region {
        return regions[meeting.region].count;
    }
    return hull_count(meeting.shape);
}

fn side_point(meeting: Meeting, of_region: bool, index: u32) -> vec2<f32> {
    if of_region {
        return meeting.at + inv_rotate(meeting.turn, regions[meeting.region].points[index]);
    }
    return hull_point(meeting.shape, index);
}

fn region_shape(region: u32, shape: u32, pose: Pose) -> bool {
    let half_plane = (shapes[shape].kind & GEOMETRY_MASK) == HALF_PLANE;
    if regions[region].count == 0u {
        let bounds = bounds_of(shape, pose);
        let own = Aabb(regions[region].points[0], regions[region].points[1]);
        if half_plane {
            let lowest = select(own.max, own.min, bounds.max > vec2<f32>(0.0));
            return bounds.max.x * lowest.x + bounds.max.y * lowest.y <= bounds.min.y;
        }
        return overlaps(own, bounds);
    }
    let turn = turn_of(shape, pose);
    let at = inv_rotate(turn, regions[region].center - center_of(shape, pose));
    let meeting = Meeting(region, shape, at, turn);
    if half_plane {
        for (var index = 0u; index < regions[region].count; index += 1u) {
            if side_point(meeting, true, index).y <= regions[region].radius {
                return true;
            }
        }
        return false;
    }
    let radius = shapes[shape].radius + regions[region].radius;
    let apart = max(gap(meeting, false), gap(meeting, true));
    if apart > radius {
        return false;
    }
    if apart <= 0.0 && apart > -FAR {
        return true;
    }
    return radius > 0.0 && (near(meeting, false, radius * radius) || near(meeting, true, radius * radius));
}

fn gap(meeting: Meeting, of_region: bool) -> f32 {
    var found = -FAR;
    let count = side_count(meeting, of_region);
    if count < 2u {
        return found;
    }
    let others = side_count(meeting, !of_region);
    for (var index = 0u; index < count; index += 1u) {
        let first = side_point(meeting, of_region, index);
        let next = side_point(meeting, of_region, select(0u, index + 1u, index + 1u < count));
        let edge = next - first;
        let tangent = edge / length(edge);
        let normal = right_perp(tangent);
        var height = FAR;
        var beyond = FAR;
        for (var other = 0u; other < others; other += 1u) {
            let point = side_point(meeting, !of_region, other);
            height = min(height, dot(normal, point - first));
            beyond = min(beyond, dot(tangent, point - next));
        }
        found = max(found, height);
        if count == 2u {
            found = max(found, beyond);
        }
    }
    return found;
}

fn near(meeting: Meeting, of_region: bool, limit: f32) -> bool {
    let count = side_count(meeting, of_region);
    let others = side_count(meeting, !of_region);
    for (var index = 0u; index < count; index += 1u) {
        let first = side_point(meeting, of_region, index);
        let edge = side_point(meeting, of_region, select(0u, index + 1u, index + 1u < count)) - first;
        let squared = dot(edge, edge);
        for (var other = 0u; other < others; other += 1u) {
            var arm = side_point(meeting, !of_region, other) - first;
            if squared > 0.0 {
                arm -= edge * clamp(dot(arm, edge) / squared, 0.0, 1.0);
            }
            if dot(arm, arm) <= limit {
                return true;
            }
        }
    }
    return false;
}

// ── walk.rs ──

fn has_half_plane(plane: u32) -> bool {
    return aabbs[plane].min.x == f32(HALF_PLANE_ROW);
}

fn meet(ray: Ray, shape: u32, so_far: RayHit) -> RayHit {
    if !sees(ray.category, ray.mask, ray.group, shape) {
        return so_far;
    }
    let pose = poses[shapes[shape].body];
    if !is_placed(pose) {
        return so_far;
    }
    let hit = ray_shape(ray, shape, pose);
    if hit.shape == NONE || hit.fraction > so_far.fraction
        || (hit.fraction == so_far.fraction && shape >= so_far.shape) {
        return so_far;
    }
    return hit;
}

fn meet_run(ray: Ray, slack: f32, run: Run, so_far: RayHit) -> RayHit {
    var nearest = so_far;
    for (var slot = run.slot; slot < run.end; slot += 1u) {
        let shape = cell_shapes[slot];
        if is_near(ray.origin, ray.delta * nearest.fraction, slack, aabbs[shape]) {
            nearest = meet(ray, shape, nearest);
        }
    }
    return nearest;
}

fn ray_level(ray: Ray, level: u32, so_far: RayHit) -> RayHit {
    var nearest = so_far;
    let spread = abs(ray.origin) + abs(ray.delta);
    let slack = RAY_SLACK * max(spread.x, spread.y);
    let grid = params.levels[level];
    let reach = grid.half_cell + slack;
    let end = ray.origin + ray.delta * nearest.fraction;
    let low = cell_of(grid, min(ray.origin, end) - reach);
    let high = cell_of(grid, max(ray.origin, end) + reach);
    let steps = abs(ray.delta) * grid.inv_cell;
    let upright = steps.y >= steps.x;
    let first = select(low.x, low.y, upright);
    let last = select(high.x, high.y, upright);
    let slices = u32(last - first) + 1u;
    let log2_size = vec2<u32>(grid.log2_width, grid.log2_height);
    let cells = 1u << (log2_size.x + log2_size.y);
    if slices >= cells / SLICE_CELLS {
        return meet_run(ray, slack, run_of_level(level), nearest);
    }

    let start = select(ray.origin.x, ray.origin.y, upright);
    let rate = select(ray.delta.x, ray.delta.y, upright);
    let along = select(reach.x, reach.y, upright);
    let half = grid.half_cell;
    let thickness = 2.0 * select(half.x, half.y, upright);
    var inverse = 0.0;
    if rate != 0.0 {
        inverse = 1.0 / rate;
    }
    for (var step = 0i; step < i32(slices); step += 1i) {
        let slice = select(last - step, first + step, rate >= 0.0);
        let near_side = f32(slice) * thickness - along;
        let far_side = f32(slice) * thickness + thickness + along;
        let a = (near_side - start) * inverse;
        let b = (far_side - start) * inverse;
        let enter = max(min(a, b), 0.0);
        let leave = min(max(a, b), nearest.fraction);
        if enter > nearest.fraction {
            break;
        }
        let here = ray.origin + ray.delta * enter;
        let there = ray.origin + ray.delta * leave;
        let left = cell_of(grid, min(here, there) - reach);
        let right = min(cell_of(grid, max(here, there) + reach), left + (vec2<i32>(1i) << log2_size) - 1i);
        if upright {
            let range = CellRange(left, right);
            let run = run_of_row(level, range, slice);
            nearest = meet_run(ray, slack, run, nearest);
            if run.wraps {
                nearest = meet_run(ray, slack, rest_of_row(level, range, slice), nearest);
            }
        } else {
            for (var line = left.y; line <= right.y; line += 1i) {
                let cell = cell_index(grid, slice, line);
                nearest = meet_run(ray, slack, run_of_cells(cell, cell), nearest);
            }
        }
    }
    return nearest;
}

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
    var nearest = RayHit(1.0, vec2<f32>(0.0), NONE);
    for (var turn = 0u; turn < plane_count(); turn += 1u) {
        let plane = plane_at(turn);
        if has_half_plane(plane) {
            nearest = meet(ray, plane, nearest);
        }
    }
    for (var level = 0u; level < params.level_count; level += 1u) {
        nearest = ray_level(ray, level, nearest);
    }
    let point = ray.origin + ray.delta * nearest.fraction;
    ray_hits[index] = Hit(point, nearest.normal, nearest.fraction, nearest.shape, vec2<u32>(0u));
}

fn lies_in(region: u32, shape: u32) -> bool {
    if !sees(regions[region].category, regions[region].mask, regions[region].group, shape) {
        return false;
    }
    let pose = poses[shapes[shape].body];
    return is_placed(pose) && region_shape(region, shape, pose);
}

// Counts the shapes of a run that the region reaches. With `emit`, writes them from item `start` on, if they fit.
fn visit(region: u32, bounds: Aabb, run: Run, emit: bool, start: u32) -> u32 {
    var count = 0u;
    for (var slot = run.slot; slot < run.end; slot += 1u) {
        let shape = cell_shapes[slot];
        if overlaps(bounds, aabbs[shape]) && lies_in(region, shape) {
            keep(shape, emit, start + count);
            count += 1u;
        }
    }
    return count;
}

fn keep(shape: u32, emit: bool, item: u32) {
    if emit && item < query_params.capacity {
        region_items[query_params.count + 1u + item] = shape;
    }
}

fn search(region: u32, emit: bool, start: u32) -> u32 {
    var count = 0u;
    for (var turn = 0u; turn < plane_count(); turn += 1u) {
        let plane = plane_at(turn);
        if has_half_plane(plane) && lies_in(region, plane) {
            keep(plane, emit, start + count);
            count += 1u;
        }
    }
    let bounds = Aabb(regions[region].min, regions[region].max);
    for (var level = 0u; level < params.level_count; level += 1u) {
        let range = cells_around(level, bounds.min, bounds.max);
        for (var row = range.low.y; row <= range.high.y; row += 1i) {
            let run = run_of_row(level, range, row);
            count += visit(region, bounds, run, emit, start + count);
            if run.wraps {
                count += visit(region, bounds, rest_of_row(level, range, row), emit, start + count);
            }
        }
    }
    return count;
}

// One thread per region, and one more for the total.
@compute @workgroup_size(LANES)
fn query_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index > query_params.count {
        return;
    }
    var count = 0u;
    if index < query_params.count {
        enter(regions[index].world);
        count = search(index, false, 0u);
    }
    region_items[index] = count;
}

// One thread per region. In any order: the host sorts each list.
@compute @workgroup_size(LANES)
fn query_emit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= query_params.count {
        return;
    }
    let start = region_items[index];
    if region_items[index + 1u] > start {
        enter(regions[index].world);
        _ = search(index, true, start);
    }
}
