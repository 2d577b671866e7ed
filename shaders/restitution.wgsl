// restitution: src/stages/restitution.rs. Applies bounces, once a step, after all sweeps. Built on sweep.wgsl.

//#import types
//#import math
//#import sweep

fn bounce_contact(slot: u32) {
    // In a batch of worlds some may have no material that bounces.
    if (params.switches & BOUNCES) == 0u {
        return;
    }
    let restitution_mixed = rebounds[slot].restitution;
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
    var largest = rebounds[slot].max_impulses;
    let speeds = rebounds[slot].relative_velocities;
    let inv = vec4<f32>(
        constraints[slot].inv_mass_a,
        constraints[slot].inv_inertia_a,
        constraints[slot].inv_mass_b,
        constraints[slot].inv_inertia_b,
    );
    let between = constraints[slot].r_b - constraints[slot].r_a[0];
    for (var end = 0u; end < count; end += 1u) {
        let speed = select(speeds.y, speeds.x, end == 0u);
        if speed > -params.restitution_threshold || select(largest.y, largest.x, end == 0u) == 0.0 {
            continue;
        }
        let r_a = constraints[slot].r_a[end];
        let r_b = select(r_a + between, constraints[slot].r_b, end == 0u);
        let velocity = dot((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a)), normal);
        let old = select(impulses.z, impulses.x, end == 0u);
        let wanted = -effective_mass(inv, r_a, r_b, normal) * (velocity + restitution_mixed * speed);
        let new_impulse = max(old + wanted, 0.0);
        if end == 0u {
            impulses.x = new_impulse;
            largest.x = max(largest.x, new_impulse);
        } else {
            impulses.z = new_impulse;
            largest.y = max(largest.y, new_impulse);
        }
        let impulse = normal * (new_impulse - old);
        v_a -= impulse * inv.x;
        w_a -= inv.y * cross_2d(r_a, impulse);
        v_b += impulse * inv.z;
        w_b += inv.w * cross_2d(r_b, impulse);
    }
    constraints[slot].impulses = impulses;
    rebounds[slot].max_impulses = largest;
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

@compute @workgroup_size(LANES)
fn restitution_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane, LANES, sweep.first_color, sweep.end_color);
}

fn each_constraint(slot: u32) {
    bounce_contact(slot);
}
