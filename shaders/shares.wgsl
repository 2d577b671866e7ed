// shares: src/stages/color/split.rs. Before and after a sweep over the contacts that are split: shares get the state
// of their body, then the body moves by the mean of its shares.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(2) var<storage, read_write> accumulators: array<Accumulator>;
@group(0) @binding(3) var<storage, read> color_starts: array<u32>;

//#import hub

// One thread per share.
@compute @workgroup_size(LANES)
fn shares_hand_out(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = workgroups.x * workgroups.y * LANES;
    let count = color_starts[SHARE_COUNT];
    for (var share = flat_index(workgroup, workgroups, LANES, lane); share < count; share += stride) {
        hand_out(share);
    }
}

const MERGE_LANES: u32 = 256u;
var<workgroup> parts: array<ShareSum, MERGE_LANES>;

// One workgroup per hub. Each lane sums up one chunk, and the first lane adds the chunks in order.
@compute @workgroup_size(MERGE_LANES)
fn shares_merge(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = workgroups.x * workgroups.y;
    for (var hub = workgroup.y * workgroups.x + workgroup.x; hub < color_starts[HUB_COUNT]; hub += stride) {
        let body = color_starts[HUB_WORDS + 3u * hub];
        let first = color_starts[HUB_WORDS + 3u * hub + 1u];
        let end = first + color_starts[HUB_WORDS + 3u * hub + 2u];
        var sum = zero_sum();
        for (var begin = first; begin < end; begin += MERGE_LANES * SHARE_CHUNK) {
            let own = min(begin + lane * SHARE_CHUNK, end);
            parts[lane] = sum_shares(body, own, min(own + SHARE_CHUNK, end));
            workgroupBarrier();
            if lane == 0u {
                for (var part = 0u; part < MERGE_LANES && begin + part * SHARE_CHUNK < end; part += 1u) {
                    sum = added(sum, parts[part]);
                }
            }
            workgroupBarrier();
        }
        if lane == 0u {
            move_hub(body, sum, f32(end - first));
        }
    }
}
