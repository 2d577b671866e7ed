// restitution: src/stages/restitution.rs. Over sweep.wgsl.

fn each_constraint(slot: u32) {
    let restitution_mixed = constraints[slot].restitution;
    if restitution_mixed == 0.0 {
        return;
    }
    let a = constraints[slot].body_a;
    let b = constraints[slot].body_b;
    var v_a = states[a].velocity;
    var w_a = states[a].angular_velocity;
    var v_b = states[b].velocity;
    var w_b = states[b].angular_velocity;
    let normal = constraints[slot].normal;
    let flags = constraints[slot].flags;
    let count = flags & POINT_COUNT_MASK;
    var impulses = constraints[slot].impulses;
    var largest = constraints[slot].max_impulses;
    for (var end = 0u; end < count; end += 1u) {
        let point = constraints[slot].points[end];
        if point.relative_velocity > -params.restitution_threshold
            || select(largest.y, largest.x, end == 0u) == 0.0 {
            continue;
        }
        let velocity = dot((v_b + cross_scalar(w_b, point.r_b)) - (v_a + cross_scalar(w_a, point.r_a)), normal);
        let old = select(impulses.z, impulses.x, end == 0u);
        let wanted = -point.normal_mass * (velocity + restitution_mixed * point.relative_velocity);
        let new_impulse = max(old + wanted, 0.0);
        if end == 0u {
            impulses.x = new_impulse;
            largest.x = max(largest.x, new_impulse);
        } else {
            impulses.z = new_impulse;
            largest.y = max(largest.y, new_impulse);
        }
        let impulse = normal * (new_impulse - old);
        v_a -= impulse * constraints[slot].inv_mass_a;
        w_a -= constraints[slot].inv_inertia_a * cross_2d(point.r_a, impulse);
        v_b += impulse * constraints[slot].inv_mass_b;
        w_b += constraints[slot].inv_inertia_b * cross_2d(point.r_b, impulse);
    }
    constraints[slot].impulses = impulses;
    constraints[slot].max_impulses = largest;
    if (flags & FIXED_A) == 0u {
        states[a].velocity = v_a;
        states[a].angular_velocity = w_a;
    }
    if (flags & FIXED_B) == 0u {
        states[b].velocity = v_b;
        states[b].angular_velocity = w_b;
    }
}

@compute @workgroup_size(LANES)
fn restitution(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide(workgroup, workgroups, lane);
}

@compute @workgroup_size(TAIL_LANES)
fn restitution_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane);
}
