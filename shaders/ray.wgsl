// Rays through the grid, for query and region: src/query/narrow.rs and src/query/walk.rs function by function. The
// importer binds `params`, `shapes`, `vertices`, `poses`, `aabbs`, `cell_ends` and `cell_shapes`, and defines `take`,
// which returns the nearest hit of those so far, and `TAKES_ONCE`, which is true if no shape may be taken twice.

//#import types
//#import math
//#import pose
//#import constants
//#import grid
//#import cells
//#import outline

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

// Vertices of the difference of two polygons, for casts, and their number.
const MAX_DIFFERENCE: u32 = 2u * MAX_VERTICES;
var<private> sum: array<vec2<f32>, MAX_DIFFERENCE>;
var<private> sum_count: u32;

// ── narrow.rs ──

fn is_placed(pose: Pose) -> bool {
    return is_finite(pose.position.x) && is_finite(pose.position.y)
        && is_finite(pose.rotation.x) && is_finite(pose.rotation.y);
}

fn may_meet(ray: Ray, shape: u32) -> bool {
    let is_met = (ray.flags & SOLID_ONLY) == 0u || (shapes[shape].kind & SENSOR_SHAPE) == 0u;
    return is_met && shapes[shape].body != ray.ignore && sees(ray.category, ray.mask, ray.group, shape)
        && is_placed(poses[shapes[shape].body]);
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

fn from_middle(point: vec2<f32>, shape: u32, pose: Pose) -> vec2<f32> {
    return -(vector_from(point, pose) + rotate(pose.rotation, shapes[shape].offset));
}

fn ray_shape(ray: Ray, shape: u32, pose: Pose) -> RayHit {
    let turn = turn_of(shape, pose);
    let origin = inv_rotate(turn, from_middle(ray.origin, shape, pose));
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
    return ray_outline(shape, hull_count(shape), shapes[shape].radius, false, origin, delta);
}

fn corner_of(shape: u32, of_sum: bool, index: u32) -> vec2<f32> {
    if of_sum {
        return sum[index];
    }
    return hull_point(shape, index);
}

// Meets the outline of a shape, or `of_sum`, which is a constant in each call, that of its sum with a moving shape.
fn ray_outline(
    shape: u32, count: u32, radius: f32, of_sum: bool, origin: vec2<f32>, delta: vec2<f32>,
) -> RayHit {
    if count == 1u {
        return ray_corner(shape, corner_of(shape, of_sum, 0u), radius, origin, delta);
    }
    let sharp = radius == 0.0 && count > 2u;
    var entry = -1.0;
    var exit = 1.0;
    var face = 0u;
    var highest = -FAR;
    for (var index = 0u; index < count; index += 1u) {
        let point = corner_of(shape, of_sum, index);
        let edge = corner_of(shape, of_sum, select(0u, index + 1u, index + 1u < count)) - point;
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
    let first = corner_of(shape, of_sum, face);
    let next = select(0u, face + 1u, face + 1u < count);
    let edge = corner_of(shape, of_sum, next) - first;
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
            let arm = origin - corner_of(shape, of_sum, index);
            let squared = dot(arm, arm);
            if squared < least {
                corner = index;
                least = squared;
            }
        }
        return ray_corner(shape, corner_of(shape, of_sum, corner), radius, origin, delta);
    }
    if entry > exit {
        return no_hit();
    }
    let along = dot(tangent, origin + delta * entry - first);
    if sharp || (along >= 0.0 && along <= width) {
        return RayHit(entry, right_perp(tangent), shape);
    }
    let corner = corner_of(shape, of_sum, select(next, face, along < 0.0));
    return ray_corner(shape, corner, radius, origin, delta);
}

fn ray_corner(
    shape: u32, corner: vec2<f32>, radius: f32, origin: vec2<f32>, delta: vec2<f32>,
) -> RayHit {
    let arm = origin - corner;
    if dot(arm, arm) <= radius * radius {
        return inside(shape, delta);
    }
    let squared = dot(delta, delta);
    let towards = -dot(arm, delta);
    if towards <= 0.0 {
        return no_hit();
    }
    let nearest = towards / squared;
    let miss = cross_2d(arm, delta);
    let rest = radius * radius - miss * miss / squared;
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

// ── walk.rs ──

fn has_half_plane(plane: u32) -> bool {
    return aabbs[plane].min.x == f32(HALF_PLANE_ROW);
}

fn meet(ray: Ray, shape: u32, so_far: RayHit) -> RayHit {
    if !may_meet(ray, shape) {
        return so_far;
    }
    let hit = ray_shape(ray, shape, poses[shapes[shape].body]);
    if hit.shape == NONE {
        return so_far;
    }
    return take(hit, so_far);
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
    let around = 1u << select(log2_size.x, log2_size.y, upright);
    if slices >= cells / SLICE_CELLS || (TAKES_ONCE && slices > around) {
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

fn visit_ray(ray: Ray) -> RayHit {
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
    return nearest;
}
