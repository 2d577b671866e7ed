// Grid cells of AABBs (twin: src/stages/bin.rs), and masks of grid levels, one bit per level (src/stages/bound.rs).

//#import types

fn cell_of(level: Level, at: vec2<f32>) -> vec2<i32> {
    return vec2<i32>(floor(clamp(at * level.inv_cell, vec2<f32>(-1e9), vec2<f32>(1e9))));
}

fn cell_index(level: Level, column: i32, row: i32) -> u32 {
    let x = u32(column) & ((1u << level.log2_width) - 1u);
    let y = u32(row) & ((1u << level.log2_height) - 1u);
    return level.first_cell + (y << level.log2_width) + x;
}

fn level_of(own: u32, aabb: Aabb) -> u32 {
    let size = aabb.max - aabb.min;
    let last = own + params.levels[own].bands;
    for (var index = own + 1u; index <= last; index += 1u) {
        let half = params.levels[index].half_cell;
        if size.x < 2.0 * half.x && size.y < 2.0 * half.y {
            return index;
        }
    }
    return own;
}

fn middle(aabb: Aabb) -> vec2<f32> {
    return (aabb.min + aabb.max) * 0.5;
}

fn overlaps(a: Aabb, b: Aabb) -> bool {
    return a.min.x <= b.max.x && b.min.x <= a.max.x && a.min.y <= b.max.y && b.min.y <= a.max.y;
}

fn level_bits(kind: u32, own: u32) -> u32 {
    if (kind & GEOMETRY_MASK) == HALF_PLANE {
        return AWAKE_HALF_PLANE;
    }
    return ((2u << params.levels[own].bands) - 1u) << own;
}

// Half planes are in no cell. Those of the scene are the first shapes; later ones may have any index.
fn plane_count() -> u32 {
    return params.half_plane_count + params.late_plane_count;
}

fn plane_at(turn: u32) -> u32 {
    if turn < params.half_plane_count {
        return turn;
    }
    let late = turn - params.half_plane_count;
    return params.late_planes[late / 4u][late % 4u];
}
