// project: src/stages/project.rs. Moves penetrating bodies apart by position alone. Built on sweep.wgsl.

//#import types
//#import math
//#import sweep

fn project_contact(slot: u32) {
    let a = constraints[slot].body_a;
    let b = constraints[slot].body_b;
    var p_a = states[a].delta_position;
    var q_a = states[a].delta_rotation;
    var p_b = states[b].delta_position;
    var q_b = states[b].delta_rotation;
    let normal = constraints[slot].normal;
    let flags = constraints[slot].flags;
    let count = flags & POINT_COUNT_MASK;
    let between = constraints[slot].r_b - constraints[slot].r_a[0];
    let start = constraints[slot].separations;
    for (var end = 0u; end < count; end += 1u) {
        let arm_on_a = constraints[slot].r_a[end];
        let arm_on_b = select(arm_on_a + between, constraints[slot].r_b, end == 0u);
        let r_a = rotate(q_a, arm_on_a);
        let r_b = rotate(q_b, arm_on_b);
        let moved = (p_b - p_a) + (turned(q_b, arm_on_b) - turned(q_a, arm_on_a));
        let separation = select(start.y, start.x, end == 0u) + dot(moved, normal);
        let depth = min(params.projection_rate * (separation + params.linear_slop), 0.0);
        let correction = max(depth, -params.max_correction);
        let arm_a = cross_2d(r_a, normal);
        let arm_b = cross_2d(r_b, normal);
        let k = constraints[slot].inv_mass_a + constraints[slot].inv_mass_b
            + constraints[slot].inv_inertia_a * arm_a * arm_a + constraints[slot].inv_inertia_b * arm_b * arm_b;
        var size = 0.0;
        if k > 0.0 {
            size = -correction / k;
        }
        let impulse = normal * size;
        p_a -= impulse * constraints[slot].inv_mass_a;
        q_a = integrate_rotation(q_a, -(constraints[slot].inv_inertia_a * cross_2d(r_a, impulse)));
        p_b += impulse * constraints[slot].inv_mass_b;
        q_b = integrate_rotation(q_b, constraints[slot].inv_inertia_b * cross_2d(r_b, impulse));
    }
    if (flags & FIXED_A) == 0u {
        states[a].delta_position = p_a;
        states[a].delta_rotation = q_a;
    }
    if (flags & FIXED_B) == 0u {
        states[b].delta_position = p_b;
        states[b].delta_rotation = q_b;
    }
}

@compute @workgroup_size(LANES)
fn project(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide(workgroup, workgroups, lane);
}

@compute @workgroup_size(LANES)
fn project_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane, LANES, sweep.first_color, sweep.end_color, (sweep.flags & SPLIT_DONE) != 0u);
}

fn each_constraint(slot: u32) {
    project_contact(slot);
}
