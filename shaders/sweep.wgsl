// Loops of a sweep over the contact constraints. Shared by warm_start, solve, restitution, project and fused, each of
// which defines `each_constraint`. A large colour has its own dispatch (`wide`); a run of small ones and the overflow
// share one workgroup (`tail`). Both visit the constraints of a colour in any order, since they share no dynamic body,
// and the colours in sequence, so that the result does not depend on which of the two runs.

//#import types
//#import math
//#import constants
//#import constraint

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> constraints: array<ConstraintTile>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> accumulators: array<Accumulator>;
// Read-only copy of counters.color_starts: the compiler then knows that all lanes read the same values, so that a loop
// over them may contain a barrier.
@group(0) @binding(4) var<storage, read> color_starts: array<u32>;
@group(0) @binding(5) var<storage, read_write> surfaces: array<Surface>;
@group(0) @binding(6) var<storage, read_write> rebounds: array<Rebound>;
@group(1) @binding(0) var<uniform> sweep: Sweep;

//#import hub

// Returns the approach speed from which on there is an impact at a point that carries this impulse, m/s.
fn impact_speed(impulse: f32) -> f32 {
    let gravity = abs(params.gravity);
    let free = max(params.restitution_threshold, params.impact_time * max(gravity.x, gravity.y));
    return select(free, max(params.pressing_threshold, free), impulse > 0.0);
}

// Visits only those contacts of the overflow that are split.
fn wide(workgroup: vec3<u32>, workgroups: vec3<u32>, lane: u32) {
    var end = color_starts[sweep.first_color + 1u];
    if sweep.first_color == OVERFLOW_COLOR {
        end = color_starts[OVERFLOW_COLOR] + color_starts[SPLIT_COUNT];
    }
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
// software adapter cuts a kernel at its first barrier, and compiles what comes before it twice. It also executes what
// an `if` leaves out, without effect; so the work on shares is outside of the loop over the colours. If
// `is_split_done`, the contacts that are split have been visited.
fn tail(lane: u32, all_lanes: u32, first_color: u32, end_color: u32, is_split_done: bool) {
    let split_count = color_starts[SPLIT_COUNT];
    let has_overflow = first_color <= OVERFLOW_COLOR && end_color > OVERFLOW_COLOR;
    let has_split = has_overflow && split_count > 0u && !is_split_done;
    // With contacts that are split: the colours before the overflow, those contacts, and everything else.
    let turns = select(1u, 3u, has_split);
    var color = first_color;
    for (var turn = 0u; turn < turns; turn += 1u) {
        let is_rest = is_split_done || turn == 2u;
        let stop = select(end_color, OVERFLOW_COLOR + turn, has_split && turn < 2u);
        color = select(color, OVERFLOW_COLOR, turn == 2u);
        loop {
            // Skips colours without constraints.
            while color < stop && color_starts[color] == color_starts[color + 1u] {
                color += 1u;
            }
            if color >= stop {
                break;
            }
            storageBarrier();
            // One lane solves the overflow, in order.
            let is_overflow = color == OVERFLOW_COLOR;
            let lanes = select(all_lanes, 1u, is_overflow);
            let begin = color_starts[color] + select(0u, split_count, is_overflow && is_rest);
            let end = select(color_starts[color + 1u], begin + split_count, is_overflow && turn == 1u);
            var slot = begin + lane;
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
        if has_split && turn < 2u {
            storageBarrier();
            if lane == 0u {
                if turn == 0u {
                    hand_out_all();
                } else {
                    merge_all();
                }
            }
        }
    }
}
