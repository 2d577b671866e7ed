// project: src/stages/project.rs. Moves penetrating bodies apart by position alone. Built on sweep.wgsl.

//#import types
//#import math
//#import sweep

fn project_contact(slot: u32) {
    let row = constraint_at(slot);
    let a = row.body_a;
    let b = row.body_b;
    var p_a = states[a].delta_position;
    var q_a = states[a].delta_rotation;
    var p_b = states[b].delta_position;
    var q_b = states[b].delta_rotation;
    let normal = row.normal;
    let count = row.flags & POINT_COUNT_MASK;
    let between = row.r_b - row.r_a_0;
    let start = row.separations;
    for (var end = 0u; end < count; end += 1u) {
        let arm_on_a = select(row.r_a_1, row.r_a_0, end == 0u);
        let arm_on_b = select(arm_on_a + between, row.r_b, end == 0u);
        let turn_a = turn_of_arm(row.flags & ROUND_A, q_a);
        let turn_b = turn_of_arm(row.flags & ROUND_B, q_b);
        let r_a = rotate(turn_a, arm_on_a);
        let r_b = rotate(turn_b, arm_on_b);
        let moved = (p_b - p_a) + (turned(turn_b, arm_on_b) - turned(turn_a, arm_on_a));
        let separation = select(start.y, start.x, end == 0u) + dot(moved, normal);
        let depth = min(params.projection_rate * (separation + params.linear_slop), 0.0);
        let correction = max(depth, -params.max_correction);
        let arm_a = cross_2d(r_a, normal);
        let arm_b = cross_2d(r_b, normal);
        let k = row.inv.x + row.inv.z
            + row.inv.y * arm_a * arm_a + row.inv.w * arm_b * arm_b;
        var size = 0.0;
        if k > 0.0 {
            size = -correction / k;
        }
        let impulse = normal * size;
        p_a -= impulse * row.inv.x;
        q_a = integrate_rotation(q_a, -(row.inv.y * cross_2d(r_a, impulse)));
        p_b += impulse * row.inv.z;
        q_b = integrate_rotation(q_b, row.inv.w * cross_2d(r_b, impulse));
    }
    if (row.flags & FIXED_A) == 0u {
        states[a].delta_position = p_a;
        states[a].delta_rotation = q_a;
    }
    if (row.flags & FIXED_B) == 0u {
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
