// scan: replaces values by their exclusive prefix sum. Short arrays take one workgroup of scan_blocks. Long ones take
// three dispatches, reduce then scan (Merrill and Grimshaw); not decoupled look-back, which would need forward progress
// between workgroups that WGSL does not guarantee.
//
// A block is SCAN_BLOCK values: scan_reduce sums each into block_sums, scan_blocks scans those, scan_apply scans the
// values inside each block and adds the block's start.

//#import prefix_sum

const SCAN_BLOCK: u32 = 1024u;

struct ScanParams {
    length: u32,
}

@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> block_sums: array<u32>;
@group(0) @binding(2) var<uniform> scan_params: ScanParams;

@compute @workgroup_size(256)
fn scan_reduce(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let first = block * SCAN_BLOCK + lane * 4u;
    var sum = 0u;
    for (var i = first; i < min(first + 4u, scan_params.length); i += 1u) {
        sum = scan_add(sum, values[i]);
    }
    _ = scan_lanes(lane, sum);
    let blocks = (scan_params.length + SCAN_BLOCK - 1u) / SCAN_BLOCK;
    if lane == 0u && block < blocks {
        block_sums[block] = sums[SCAN_LANES - 1u];
    }
}

// One workgroup. Each lane takes a range of consecutive values.
@compute @workgroup_size(256)
fn scan_blocks(@builtin(local_invocation_index) lane: u32) {
    let run = (scan_params.length + SCAN_LANES - 1u) / SCAN_LANES;
    let first = min(lane * run, scan_params.length);
    let end = min(first + run, scan_params.length);
    var sum = 0u;
    for (var i = first; i < end; i += 1u) {
        sum = scan_add(sum, values[i]);
    }
    var start = scan_lanes(lane, sum);
    for (var i = first; i < end; i += 1u) {
        let value = values[i];
        values[i] = start;
        start = scan_add(start, value);
    }
}

@compute @workgroup_size(256)
fn scan_apply(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let blocks = (scan_params.length + SCAN_BLOCK - 1u) / SCAN_BLOCK;
    let first = min(block * SCAN_BLOCK + lane * 4u, scan_params.length);
    let end = min(first + 4u, scan_params.length);
    var sum = 0u;
    for (var i = first; i < end; i += 1u) {
        sum = scan_add(sum, values[i]);
    }
    var start = scan_add(scan_lanes(lane, sum), block_sums[min(block, blocks - 1u)]);
    for (var i = first; i < end; i += 1u) {
        let value = values[i];
        values[i] = start;
        start = scan_add(start, value);
    }
}
