// Culling: selects the shapes inside the picture by counting, scanning and emitting their indices in order, fixed
// bodies first. The drawing order thus never depends on the order of threads. Also writes the arguments of indirect
// draws for tables whose counts only the device knows. src/programs.rs defines the order of the kernels.

//#import types
//#import pose
//#import math
//#import prefix_sum
//#import draw/view

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(4) var<storage, read_write> visible: array<u32>;
// Results of cull_count for cull_emit: two bits per shape, one word per lane.
@group(0) @binding(6) var<storage, read_write> found: array<u32>;
// Visible shapes of each block: fixed ones, then all others.
@group(0) @binding(7) var<storage, read_write> block_counts: array<u32>;
// Arguments of indirect draws, four words each: shapes, contacts, contacts of sleeping bodies.
@group(0) @binding(8) var<storage, read_write> draws: array<u32>;
@group(0) @binding(9) var<storage, read_write> counters: Counters;
@group(0) @binding(10) var<storage, read> contacts: array<Contact>;
@group(0) @binding(11) var<storage, read> sleeping: array<SleepingContact>;

// Adjacent shapes per lane.
const CULL_RUN: u32 = 4u;
// Upper bound on how far a quad's outline, line and rounding reach past its shape, px.
const CULL_RIM: f32 = 8.0;

/// Returns 1 for a visible fixed shape, 2 for a visible shape that is not fixed, else 0. Never returns 0 for a shape
/// that shape_vertex draws.
fn class_of(index: u32) -> u32 {
    if index >= view.shape_count {
        return 0u;
    }
    let kind = shapes[index].kind;
    let body = shapes[index].body;
    if (kind & GEOMETRY_MASK) == NO_SHAPE || body >= arrayLength(&poses) {
        return 0u;
    }
    let class_if_seen = select(2u, 1u, (kind & FIXED_SHAPE) != 0u);
    if (kind & GEOMETRY_MASK) == HALF_PLANE {
        return class_if_seen;
    }
    let pose = poses[body];
    let own = vec4<f32>(shapes[index].offset, shapes[index].bound, 0.0);
    if !is_finite_row(vec4<f32>(pose.position, pose.rotation)) || !is_finite_row(own) {
        return 0u;
    }
    let place = (vector_from(view.center, pose) + rotate(pose.rotation, shapes[index].offset)) * view.pixels_per_metre;
    let rim = CULL_RIM + 3.0 * view.unit + view.outline;
    let reach = 0.5 * view.size + shapes[index].bound * view.pixels_per_metre + rim;
    return select(0u, class_if_seen, all(abs(place) <= reach));
}

// One lane per four shapes.
@compute @workgroup_size(256)
fn cull_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let slot = block * SCAN_LANES + lane;
    var bits = 0u;
    // Fixed shapes are counted in the low half.
    var count = 0u;
    for (var turn = 0u; turn < CULL_RUN; turn += 1u) {
        let kind = class_of(slot * CULL_RUN + turn);
        bits |= kind << (2u * turn);
        count += (kind & 1u) | ((kind >> 1u) << 16u);
    }
    _ = scan_lanes(lane, count);
    if block < view.block_count {
        found[slot] = bits;
        if lane == 0u {
            block_counts[block] = sums[SCAN_LANES - 1u] & 0xffffu;
            block_counts[view.block_count + block] = sums[SCAN_LANES - 1u] >> 16u;
        }
    }
}

// One workgroup: computes the output offset of each block and the number of shapes drawn.
@compute @workgroup_size(256)
fn cull_scan(@builtin(local_invocation_index) lane: u32) {
    let length = 2u * view.block_count;
    let run = (length + SCAN_LANES - 1u) / SCAN_LANES;
    let first = min(lane * run, length);
    let end = min(first + run, length);
    var sum = 0u;
    for (var i = first; i < end; i += 1u) {
        sum += block_counts[i];
    }
    var start = scan_lanes(lane, sum);
    for (var i = first; i < end; i += 1u) {
        let count = block_counts[i];
        block_counts[i] = start;
        start += count;
    }
    if lane == 0u {
        draws[0] = 6u * sums[SCAN_LANES - 1u];
        draws[1] = 1u;
        draws[2] = 0u;
        draws[3] = 0u;
    }
}

@compute @workgroup_size(256)
fn cull_emit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let slot = block * SCAN_LANES + lane;
    var bits = 0u;
    if block < view.block_count {
        bits = found[slot];
    }
    let fixed_bits = countOneBits(bits & 0x55u);
    let moving_bits = countOneBits(bits & 0xaau);
    let before = scan_lanes(lane, fixed_bits | (moving_bits << 16u));
    if block >= view.block_count {
        return;
    }
    var fixed_at = block_counts[block] + (before & 0xffffu);
    var moving_at = block_counts[view.block_count + block] + (before >> 16u);
    for (var turn = 0u; turn < CULL_RUN; turn += 1u) {
        let kind = (bits >> (2u * turn)) & 3u;
        let index = slot * CULL_RUN + turn;
        if kind == 1u {
            visible[fixed_at] = index;
            fixed_at += 1u;
        } else if kind == 2u {
            visible[moving_at] = index;
            moving_at += 1u;
        }
    }
}

// One thread: writes the draw arguments of contacts, two points per contact for each part drawn.
@compute @workgroup_size(1)
fn cull_contacts() {
    let parts = (35u - countLeadingZeros(view.contact_parts)) / 4u;
    draws[4] = 12u * min(counters.contacts, arrayLength(&contacts));
    draws[5] = parts;
    draws[6] = 0u;
    draws[7] = 0u;
    draws[8] = 12u * min(atomicLoad(&counters.sleeping_contacts), arrayLength(&sleeping));
    draws[9] = parts;
    draws[10] = 0u;
    draws[11] = 0u;
}
