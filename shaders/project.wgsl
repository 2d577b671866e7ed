// project: src/stages/project.rs. Over sweep.wgsl.

fn each_constraint(slot: u32) {
    let a = constraints[slot].body_a;
    let b = constraints[slot].body_b;
    var p_a = states[a].delta_position;
    var q_a = states[a].delta_rotation;
    var p_b = states[b].delta_position;
    var q_b = states[b].delta_rotation;
    let normal = constraints[slot].normal;
    let flags = constraints[slot].flags;
    let count = flags & POINT_COUNT_MASK;
    for (var end = 0u; end < count; end += 1u) {
        let point = constraints[slot].points[end];
        let r_a = rotate(q_a, point.r_a);
        let r_b = rotate(q_b, point.r_b);
        let moved = (p_b - p_a) + (turned(q_b, point.r_b) - turned(q_a, point.r_a));
        let separation = point.separation + dot(moved, normal);
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

@compute @workgroup_size(TAIL_LANES)
fn project_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane);
}
