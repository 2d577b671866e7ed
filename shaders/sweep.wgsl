// How a sweep visits constraints, shared by warm_start, solve, restitution and project, each of which defines
// `each_constraint`. A large colour has a dispatch of its own (`wide`); a run of small ones and the overflow share one
// workgroup (`tail`). Both visit a colour's constraints in any order, since they share no dynamic body, and the colours
// in theirs, so that it does not matter which of the two runs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> constraints: array<Constraint>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> accumulators: array<Accumulator>;
@group(0) @binding(4) var<storage, read_write> counters: Counters;
@group(1) @binding(0) var<uniform> sweep: Sweep;

const TAIL_LANES: u32 = 256u;

fn wide(workgroup: vec3<u32>, workgroups: vec3<u32>, lane: u32) {
    let end = counters.color_starts[sweep.first_color + 1u];
    let stride = workgroups.x * workgroups.y * LANES;
    var slot = counters.color_starts[sweep.first_color] + flat_index(workgroup, workgroups, LANES, lane);
    for (; slot < end; slot += stride) {
        each_constraint(slot);
    }
}

var<workgroup> color_range: vec2<u32>;

fn tail(lane: u32) {
    for (var color = sweep.first_color; color < sweep.end_color; color += 1u) {
        if lane == 0u {
            color_range = vec2<u32>(counters.color_starts[color], counters.color_starts[color + 1u]);
        }
        let range = workgroupUniformLoad(&color_range);
        if range.x < range.y {
            if color == OVERFLOW_COLOR {
                if lane == 0u {
                    for (var slot = range.x; slot < range.y; slot += 1u) {
                        each_constraint(slot);
                    }
                }
            } else {
                for (var slot = range.x + lane; slot < range.y; slot += TAIL_LANES) {
                    each_constraint(slot);
                }
            }
            storageBarrier();
        }
    }
}
