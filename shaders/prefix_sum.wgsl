// Prefix sum over the lanes of a workgroup (Hillis and Steele), for scan and for the culling of pictures. A workgroup
// has SCAN_LANES lanes.

const SCAN_LANES: u32 = 256u;
// Sums saturate at this value: 100,000 shapes at one point have more pairs than a u32 counts, and a count that wrapped
// would look like a small one. Normal values are far below it.
const SCAN_MAX: u32 = 0x7fffffffu;

var<workgroup> sums: array<u32, SCAN_LANES>;

fn scan_add(a: u32, b: u32) -> u32 {
    return min(a + b, SCAN_MAX);
}

// Returns the exclusive prefix sum over the lanes of a workgroup, and leaves the total in `sums[SCAN_LANES - 1]`.
fn scan_lanes(lane: u32, value: u32) -> u32 {
    sums[lane] = value;
    workgroupBarrier();
    for (var offset = 1u; offset < SCAN_LANES; offset = offset << 1u) {
        var left = 0u;
        if lane >= offset {
            left = sums[lane - offset];
        }
        workgroupBarrier();
        sums[lane] = scan_add(sums[lane], left);
        workgroupBarrier();
    }
    return select(sums[max(lane, 1u) - 1u], 0u, lane == 0u);
}
