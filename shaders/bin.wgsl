// bin: src/stages/bin.rs. Sorts the shapes into the cells of the broad-phase grid: bin_clear, bin_count, scan,
// bin_place, bin_sort.

//#import types
//#import constants
//#import math
//#import grid

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> aabbs: array<Aabb>;
@group(0) @binding(3) var<storage, read_write> cell_ends: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> shape_cells: array<u32>;
@group(0) @binding(5) var<storage, read_write> cell_unsorted: array<u32>;
@group(0) @binding(6) var<storage, read_write> cell_shapes: array<u32>;

// One thread per cell, and one more for the total.
@compute @workgroup_size(LANES)
fn bin_clear(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index <= params.cell_count {
        atomicStore(&cell_ends[index], 0u);
    }
}

// One thread per shape.
@compute @workgroup_size(LANES)
fn bin_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    let aabb = aabbs[index];
    if aabb.min.x > aabb.max.x {
        shape_cells[index] = NONE;
        return;
    }
    let level = params.levels[level_of(shapes[index].level, aabb)];
    let at = cell_of(level, middle(aabb));
    let cell = cell_index(level, at.x, at.y);
    shape_cells[index] = cell;
    atomicAdd(&cell_ends[cell], 1u);
}

// One thread per shape. Afterwards cell_ends holds the end of each cell.
@compute @workgroup_size(LANES)
fn bin_place(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    let cell = shape_cells[index];
    if cell == NONE {
        return;
    }
    cell_unsorted[atomicAdd(&cell_ends[cell], 1u)] = index;
}

// One thread per placed shape: its rank among those of its cell. A cell of k shapes costs each of them k reads, but
// never one thread k². A crowded cell stays in any order: no search for pairs reads it, and queries sort their results.
@compute @workgroup_size(LANES)
fn bin_sort(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= atomicLoad(&cell_ends[params.cell_count]) {
        return;
    }
    let shape = cell_unsorted[index];
    let cell = shape_cells[shape];
    var start = 0u;
    if cell > 0u {
        start = atomicLoad(&cell_ends[cell - 1u]);
    }
    let end = atomicLoad(&cell_ends[cell]);
    if end - start > CROWD {
        cell_shapes[index] = shape;
        return;
    }
    var rank = 0u;
    for (var slot = start; slot < end; slot += 1u) {
        if cell_unsorted[slot] < shape {
            rank += 1u;
        }
    }
    cell_shapes[start + rank] = shape;
}
