// finalize: src/stages/finalize.rs. Adds the motion of the step to the poses, and finds the mass of each body in
// the next.

//#import types
//#import math
//#import mass_scale
//#import constants

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> poses: array<Pose>;
@group(0) @binding(4) var<storage, read> accumulators: array<Accumulator>;

// Returns the same value, in a way that no compiler sees through: some take `(start + moved) - start` for `moved`.
fn opaque(value: vec2<f32>) -> vec2<f32> {
    let zero = params.body_count >> 31u;
    return bitcast<vec2<f32>>(bitcast<vec2<u32>>(value) ^ vec2<u32>(zero));
}

@compute @workgroup_size(LANES)
fn finalize(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.body_count || bodies[index].kind == STATIC {
        return;
    }
    if (states[index].status & (QUARANTINED | ASLEEP)) != 0u {
        return;
    }
    let turn = mul_rotation(states[index].delta_rotation, poses[index].rotation);
    let start = poses[index].position;
    let moved = states[index].delta_position + poses[index].low;
    let end = opaque(start + moved);
    poses[index].position = end;
    poses[index].low = moved - (end - start);
    poses[index].rotation = turn / length(turn);
    if params.mass_per_impulse > 0.0 && bodies[index].kind == DYNAMIC {
        let status = states[index].status;
        let asked = accumulators[index].asked_mass * bodies[index].inv_mass * mass_share(status);
        let kept = length(accumulators[index].velocity + states[index].velocity);
        let is_calm = kept <= CALM * params.h * length(params.gravity) * asked;
        states[index].status = next_status(status, asked - params.mass_per_impulse * kept, is_calm);
    }
}
