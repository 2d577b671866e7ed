// Occupied cells of the broadphase grid, all levels: a full-screen pass in which every pixel looks up its cell. The
// grid is a torus, so that distant cells of the plane share one entry of the table. A pixel therefore counts only
// shapes whose AABB centre lies in the cell it shows.

//#import types
//#import math
//#import grid
//#import cells
//#import draw/view

@group(0) @binding(1) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> cell_ends: array<u32>;
@group(0) @binding(3) var<storage, read> cell_shapes: array<u32>;
@group(0) @binding(4) var<storage, read> aabbs: array<Aabb>;

// Maximum number of shapes examined per cell.
const MAX_SEEN: u32 = 64u;
// Number of shapes at which a cell has its darkest colour.
const FULL_CELL: f32 = 8.0;

struct CellCorner {
    @builtin(position) clip: vec4<f32>,
}

@vertex
fn cell_vertex(@builtin(vertex_index) vertex: u32) -> CellCorner {
    let corner = corner_of(vertex);
    let unit = vec2<f32>(select(0.0, 1.0, (corner & 1u) != 0u), select(0.0, 1.0, (corner & 2u) != 0u));
    return CellCorner(to_clip(unit * view.size));
}

/// Returns the number of shapes of one grid level whose AABB centre lies in a cell.
fn shapes_in(level: u32, at: vec2<i32>) -> u32 {
    let index = cell_index(params.levels[level], at.x, at.y);
    if index >= arrayLength(&cell_ends) {
        return 0u;
    }
    let start = slots_before(index);
    let end = min(min(cell_ends[index], start + MAX_SEEN), arrayLength(&cell_shapes));
    var count = 0u;
    for (var slot = start; slot < end; slot += 1u) {
        let shape = cell_shapes[slot];
        if shape < arrayLength(&aabbs) && all(cell_of(params.levels[level], middle(aabbs[shape])) == at) {
            count += 1u;
        }
    }
    return count;
}

@fragment
fn cell_fragment(corner: CellCorner) -> @location(0) vec4<f32> {
    let from_middle = corner.clip.xy - view.origin - 0.5 * view.size;
    let at = view.center + vec2<f32>(from_middle.x, -from_middle.y) / view.pixels_per_metre;
    var alpha = 0.0;
    for (var level = 0u; level < min(params.level_count, 24u); level += 1u) {
        let size = view.pixels_per_metre / params.levels[level].inv_cell;
        // Cells a pixel or two wide would flicker.
        let strength = clamp((min(size.x, size.y) - 2.0) / 6.0, 0.0, 1.0);
        if strength <= 0.0 {
            continue;
        }
        let count = shapes_in(level, cell_of(params.levels[level], at));
        if count == 0u {
            continue;
        }
        let share = fract(at * params.levels[level].inv_cell);
        // Measured inside the cell: the neighbouring cell may be empty.
        let from_edge = min(share, 1.0 - share) * size - 0.5 * view.unit;
        let edge = max(cover(from_edge.x, 0.5 * view.unit), cover(from_edge.y, 0.5 * view.unit));
        let fill = 0.06 + 0.4 * min(f32(count), FULL_CELL) / FULL_CELL;
        let own = strength * max(fill, 0.75 * edge);
        alpha = own + alpha * (1.0 - own);
    }
    if alpha <= 0.0 {
        discard;
    }
    return to_target(view.cell.rgb, alpha);
}
