// solve and relax: src/stages/solve.rs. Over sweep.wgsl and contact.wgsl; `sweep.flags` tells them apart.

const GAP: f32 = 1e-3;

fn each_constraint(slot: u32) {
    let a = constraints[slot].body_a;
    let b = constraints[slot].body_b;
    let state_a = states[a];
    let state_b = states[b];
    var v_a = state_a.velocity;
    var w_a = state_a.angular_velocity;
    var v_b = state_b.velocity;
    var w_b = state_b.angular_velocity;
    let m_a = constraints[slot].inv_mass_a;
    let i_a = constraints[slot].inv_inertia_a;
    let m_b = constraints[slot].inv_mass_b;
    let i_b = constraints[slot].inv_inertia_b;
    let flags = constraints[slot].flags;
    let count = flags & POINT_COUNT_MASK;
    let normal = constraints[slot].normal;
    let tangent = right_perp(normal);
    let moved = state_b.delta_position - state_a.delta_position;
    let softness = select(params.contact_softness, params.fixed_softness, (flags & (FIXED_A | FIXED_B)) != 0u);
    let friction = constraints[slot].friction;
    var impulses = constraints[slot].impulses;
    if (sweep.flags & FRESH) != 0u {
        impulses = vec4<f32>(0.0);
    }
    var largest = vec2<f32>(0.0);
    if (params.switches & BOUNCES) != 0u {
        largest = constraints[slot].max_impulses.xy;
    }

    for (var end = 0u; end < count; end += 1u) {
        let point = constraints[slot].points[end];
        let separation = point.separation + dot(
            moved + (turned(state_b.delta_rotation, point.r_b) - turned(state_a.delta_rotation, point.r_a)), normal);
        var bias = 0.0;
        var mass_scale = 1.0;
        var impulse_scale = 0.0;
        if separation > GAP * params.linear_slop {
            bias = separation / params.h;
        } else if (sweep.flags & USE_BIAS) != 0u {
            let depth = min(separation + softness.w, 0.0);
            mass_scale = softness.y;
            impulse_scale = softness.z;
            bias = max(mass_scale * softness.x * depth, -params.push_speed);
        }
        let velocity = dot((v_b + cross_scalar(w_b, point.r_b)) - (v_a + cross_scalar(w_a, point.r_a)), normal);
        let old = select(impulses.z, impulses.x, end == 0u);
        let wanted = -point.normal_mass * (mass_scale * velocity + bias) - impulse_scale * old;
        var new_impulse = max(old + wanted, 0.0);
        if (params.switches & ACCUMULATE) == 0u {
            new_impulse = old + max(wanted, 0.0);
        }
        if end == 0u {
            impulses.x = new_impulse;
            largest.x = max(largest.x, new_impulse);
        } else {
            impulses.z = new_impulse;
            largest.y = max(largest.y, new_impulse);
        }
        let impulse = normal * (new_impulse - old);
        v_a -= impulse * m_a;
        w_a -= i_a * cross_2d(point.r_a, impulse);
        v_b += impulse * m_b;
        w_b += i_b * cross_2d(point.r_b, impulse);
    }

    if (sweep.flags & USE_FRICTION) != 0u {
        for (var end = 0u; end < count; end += 1u) {
            let point = constraints[slot].points[end];
            let velocity = dot((v_b + cross_scalar(w_b, point.r_b)) - (v_a + cross_scalar(w_a, point.r_a)), tangent);
            let most = friction * select(impulses.z, impulses.x, end == 0u);
            let old = select(impulses.w, impulses.y, end == 0u);
            let new_impulse = max(min(old - point.tangent_mass * velocity, most), -most);
            if end == 0u {
                impulses.y = new_impulse;
            } else {
                impulses.w = new_impulse;
            }
            let impulse = tangent * (new_impulse - old);
            v_a -= impulse * m_a;
            w_a -= i_a * cross_2d(point.r_a, impulse);
            v_b += impulse * m_b;
            w_b += i_b * cross_2d(point.r_b, impulse);
        }
    }

    constraints[slot].impulses = impulses;
    if (params.switches & BOUNCES) != 0u {
        constraints[slot].max_impulses = vec4<f32>(largest, 0.0, 0.0);
    }
    if (flags & FIXED_A) == 0u {
        states[a].velocity = v_a;
        states[a].angular_velocity = w_a;
    }
    if (flags & FIXED_B) == 0u {
        states[b].velocity = v_b;
        states[b].angular_velocity = w_b;
    }
    if (sweep.flags & LAST_SWEEP) != 0u && (params.switches & WARM_START) != 0u {
        accumulate(slot);
    }
}

@compute @workgroup_size(LANES)
fn solve(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide(workgroup, workgroups, lane);
}

@compute @workgroup_size(TAIL_LANES)
fn solve_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane);
}
