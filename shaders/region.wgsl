// Regions of queries between two steps, and all hits of rays: src/query.rs, with src/query/narrow.rs and
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
@group(0) @binding(8) var<storage, read> regions: array<Region>;
// One word per region and one more, then the items found: shapes, or hits of RAY_ITEM_WORDS words each. After the scan,
// region `i` has the items from word `region_items[i]` on, counted from the first item.
@group(0) @binding(9) var<storage, read_write> region_items: array<u32>;

const TAKES_ONCE: bool = true;

// True if hits are written; the word of the first one; and their number so far.
var<private> emits: bool;
var<private> first_item: u32;
var<private> hit_count: u32;

fn take(hit: RayHit, so_far: RayHit) -> RayHit {
    keep_hit(hit);
    return so_far;
}

// ── narrow.rs ──

// Returns the AABB of a shape without a margin, as src/stages/bound.rs does. For a half plane: its surface.
fn bounds_of(shape: u32, pose: Pose) -> Aabb {
    let turn = turn_of(shape, pose);
    let center = pose.position + rotate(pose.rotation, shapes[shape].offset);
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
    let at = inv_rotate(turn, from_middle(regions[region].center, shape, pose));
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

// Selects the world of a batch. Without batches it does nothing (src/gpu/shader/batch.rs).
fn enter(world: u32) {
}

fn lies_in(region: u32, shape: u32) -> bool {
    return may_meet(path_of(region), shape) && region_shape(region, shape, poses[shapes[shape].body]);
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

fn keep_hit(hit: RayHit) {
    let item = first_item + RAY_ITEM_WORDS * hit_count;
    keep(hit.shape, emits, item);
    keep(bitcast<u32>(hit.fraction), emits, item + 1u);
    keep(bitcast<u32>(hit.normal.x), emits, item + 2u);
    keep(bitcast<u32>(hit.normal.y), emits, item + 3u);
    hit_count += 1u;
}

// Returns the number of words.
fn find_hits(region: u32, emit: bool, start: u32) -> u32 {
    emits = emit;
    first_item = start;
    hit_count = 0u;
    _ = visit_ray(path_of(region));
    return RAY_ITEM_WORDS * hit_count;
}

fn search(region: u32, emit: bool, start: u32) -> u32 {
    if (regions[region].flags & FINDS_HITS) != 0u {
        return find_hits(region, emit, start);
    }
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
fn region_count(
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
fn region_emit(
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
