// Loops of a sweep over the contact constraints. Shared by warm_start, solve, restitution, project and fused, each of
// which defines `each_constraint`. A large colour has its own dispatch (`wide`); a run of small ones and the overflow
// share one workgroup (`tail`). Both visit the constraints of a colour in any order, since they share no dynamic body,
// and the colours in sequence, so that the result does not depend on which of the two runs.

//#import types
//#import math
//#import constants

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> constraints: array<Constraint>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> accumulators: array<Accumulator>;
// Read-only copy of counters.color_starts: the compiler then knows that all lanes read the same values, so that a loop
// over them may contain a barrier.
@group(0) @binding(4) var<storage, read> color_starts: array<u32>;
@group(0) @binding(5) var<storage, read_write> surfaces: array<Surface>;
@group(0) @binding(6) var<storage, read_write> rebounds: array<Rebound>;
@group(1) @binding(0) var<uniform> sweep: Sweep;

// Returns the approach speed from which on there is an impact at a point that carries this impulse, m/s.
fn impact_speed(impulse: f32) -> f32 {
    let gravity = abs(params.gravity);
    let free = max(params.restitution_threshold, params.impact_time * max(gravity.x, gravity.y));
    return select(free, max(params.pressing_threshold, free), impulse > 0.0);
}

fn wide(workgroup: vec3<u32>, workgroups: vec3<u32>, lane: u32) {
    let end = color_starts[sweep.first_color + 1u];
    let stride = workgroups.x * workgroups.y * LANES;
    var slot = color_starts[sweep.first_color] + flat_index(workgroup, workgroups, LANES, lane);
    if slot < end {
        loop {
            each_constraint(slot);
            continuing {
                slot += stride;
                break if slot >= end;
            }
        }
    }
}

// Run by one workgroup with `all_lanes` lanes. Each colour begins with the barrier instead of ending with it: a
// software adapter cuts a kernel at its first barrier, and compiles what comes before it twice.
fn tail(lane: u32, all_lanes: u32, first_color: u32, end_color: u32) {
    var color = first_color;
    loop {
        // Skips colours without constraints.
        while color < end_color && color_starts[color] == color_starts[color + 1u] {
            color += 1u;
        }
        if color >= end_color {
            break;
        }
        storageBarrier();
        let end = color_starts[color + 1u];
        // One lane solves the overflow, in order.
        let lanes = select(all_lanes, 1u, color == OVERFLOW_COLOR);
        var slot = color_starts[color] + lane;
        if lane < lanes && slot < end {
            loop {
                each_constraint(slot);
                continuing {
                    slot += lanes;
                    break if slot >= end;
                }
            }
        }
        color += 1u;
    }
}
