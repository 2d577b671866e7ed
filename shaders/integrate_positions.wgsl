// integrate_positions: src/stages/integrate_positions.rs. Moves every body by its velocity over one substep.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;

fn integrate_position(index: u32) {
    if bodies[index].kind == STATIC {
        return;
    }
    let state = states[index];
    if (state.status & ASLEEP) != 0u {
        return;
    }
    states[index].delta_position = state.delta_position + state.velocity * params.h;
    states[index].delta_rotation = integrate_rotation(state.delta_rotation, params.h * state.angular_velocity);
}

@compute @workgroup_size(LANES)
fn integrate_positions(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index < params.body_count {
        integrate_position(index);
    }
}
