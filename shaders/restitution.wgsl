// restitution: src/stages/restitution.rs. Impacts, before the velocities of each substep are integrated, in several
// rounds. Built on sweep.wgsl.

//#import types
//#import math
//#import constants
//#import sweep

fn point_velocity(v_a: vec2<f32>, w_a: f32, v_b: vec2<f32>, w_b: f32, r_a: vec2<f32>, r_b: vec2<f32>) -> vec2<f32> {
    return (v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a));
}

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
    let flags = constraints[slot].flags;
    let count = flags & POINT_COUNT_MASK;
    var normal = constraints[slot].normal;
    var r_a_0 = constraints[slot].r_a[0];
    var r_b_0 = constraints[slot].r_b;
    let r_a_1 = constraints[slot].r_a[1];
    let r_b_1 = r_a_1 + (r_b_0 - r_a_0);
    let start_v_a = states[a].velocity;
    let start_w_a = states[a].angular_velocity;
    let start_v_b = states[b].velocity;
    let start_w_b = states[b].angular_velocity;
    var v_a = start_v_a;
    var w_a = start_w_a;
    var v_b = start_v_b;
    var w_b = start_w_b;
    let threshold = -impact_speed();
    var velocity_0 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_0, r_b_0), normal);
    let velocity_1 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_1, r_b_1), normal);
    if !((count > 0u && velocity_0 < threshold) || (count > 1u && velocity_1 < threshold)) {
        return;
    }
    let moved = states[b].delta_position - states[a].delta_position;
    var separations = constraints[slot].separations;
    let radii = rebounds[slot].radii;
    if radii > 0.0 {
        // Two discs: normal, arms and separation of the time at which they touch.
        let start = rebounds[slot].between;
        let between = start + moved;
        let velocity = v_b - v_a;
        let speed_squared = dot(velocity, velocity);
        let closing = dot(between, velocity);
        let discriminant = closing * closing - speed_squared * (dot(between, between) - radii * radii);
        if closing >= 0.0 || discriminant < 0.0 {
            return;
        }
        let time = (-closing - sqrt(discriminant)) / speed_squared;
        let touch = between + velocity * max(min(time, params.h), -params.dt);
        let distance = length(touch);
        if distance > 0.5 * radii {
            let radius_a = rebounds[slot].radius_a;
            normal = touch / distance;
            r_a_0 = normal * radius_a;
            r_b_0 = normal * (radius_a - radii);
            separations.x = dot(start, normal) - radii;
            constraints[slot].normal = normal;
            constraints[slot].r_a[0] = r_a_0;
            constraints[slot].r_b = r_b_0;
            constraints[slot].separations = separations;
        }
        velocity_0 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_0, r_b_0), normal);
    }

    let acceleration = dot(rebounds[slot].acceleration, normal);
    let turn_a = states[a].delta_rotation;
    let turn_b = states[b].delta_rotation;
    let separation_0 = separations.x + dot(moved + (turned(turn_b, r_b_0) - turned(turn_a, r_a_0)), normal);
    let separation_1 = separations.y + dot(moved + (turned(turn_b, r_b_1) - turned(turn_a, r_a_1)), normal);
    let closes_0 = separation_0 + params.h * (velocity_0 + params.h * acceleration) < 0.0;
    let closes_1 = separation_1 + params.h * (velocity_1 + params.h * acceleration) < 0.0;
    // Wanted changes of the normal velocities; 0 for a point without an impact.
    var wanted_0 = 0.0;
    var wanted_1 = 0.0;
    if count > 0u && velocity_0 < threshold && closes_0 {
        wanted_0 = max(-(1.0 + restitution_mixed) * (velocity_0 + 0.5 * params.h * acceleration), 0.0);
    }
    if count > 1u && velocity_1 < threshold && closes_1 {
        wanted_1 = max(-(1.0 + restitution_mixed) * (velocity_1 + 0.5 * params.h * acceleration), 0.0);
    }
    let inv = vec4<f32>(
        constraints[slot].inv_mass_a,
        constraints[slot].inv_inertia_a,
        constraints[slot].inv_mass_b,
        constraints[slot].inv_inertia_b,
    );
    let mass_0 = effective_mass(inv, r_a_0, r_b_0, normal);
    let mass_1 = select(0.0, effective_mass(inv, r_a_1, r_b_1, normal), count > 1u);
    var impulse_0 = wanted_0 * mass_0;
    var impulse_1 = wanted_1 * mass_1;
    if wanted_0 != 0.0 && wanted_1 != 0.0 {
        let coupling = inv.x
            + inv.z
            + inv.y * cross_2d(r_a_0, normal) * cross_2d(r_a_1, normal)
            + inv.w * cross_2d(r_b_0, normal) * cross_2d(r_b_1, normal);
        let share_0 = coupling * mass_0;
        let share_1 = coupling * mass_1;
        let determinant = 1.0 - share_0 * share_1;
        if determinant < MIN_DETERMINANT {
            let change = 0.25 * (wanted_0 + wanted_1);
            impulse_0 = change * mass_0;
            impulse_1 = change * mass_1;
        } else {
            let both_0 = (impulse_0 - share_0 * impulse_1) / determinant;
            let both_1 = (impulse_1 - share_1 * impulse_0) / determinant;
            if both_0 >= 0.0 && both_1 >= 0.0 {
                impulse_0 = both_0;
                impulse_1 = both_1;
            } else if wanted_0 >= wanted_1 {
                impulse_1 = 0.0;
            } else {
                impulse_0 = 0.0;
            }
        }
    }
    if impulse_0 == 0.0 && impulse_1 == 0.0 {
        return;
    }
    let push_0 = normal * impulse_0;
    v_a -= push_0 * inv.x;
    w_a -= inv.y * cross_2d(r_a_0, push_0);
    v_b += push_0 * inv.z;
    w_b += inv.w * cross_2d(r_b_0, push_0);
    let push_1 = normal * impulse_1;
    v_a -= push_1 * inv.x;
    w_a -= inv.y * cross_2d(r_a_1, push_1);
    v_b += push_1 * inv.z;
    w_b += inv.w * cross_2d(r_b_1, push_1);

    var impacts = rebounds[slot].impulses + vec4<f32>(impulse_0, 0.0, impulse_1, 0.0);
    let tangent = right_perp(normal);
    let friction = constraints[slot].friction;
    var kinetic = friction;
    var belt = 0.0;
    if (params.switches & SURFACES) != 0u {
        kinetic = surfaces[slot].kinetic_friction;
        belt = surfaces[slot].tangent_speed;
    }
    for (var end = 0u; end < count; end += 1u) {
        let r_a = select(r_a_1, r_a_0, end == 0u);
        let r_b = select(r_b_1, r_b_0, end == 0u);
        let impulse = select(impulse_1, impulse_0, end == 0u);
        let slip = dot(point_velocity(v_a, w_a, v_b, w_b, r_a, r_b), tangent) - belt;
        let held = -(effective_mass(inv, r_a, r_b, tangent) * slip);
        let most = select(friction, kinetic, abs(held) > friction * impulse) * impulse;
        let tangent_impulse = max(min(held, most), -most);
        if end == 0u {
            impacts.y += tangent_impulse;
        } else {
            impacts.w += tangent_impulse;
        }
        let drag = tangent * tangent_impulse;
        v_a -= drag * inv.x;
        w_a -= inv.y * cross_2d(r_a, drag);
        v_b += drag * inv.z;
        w_b += inv.w * cross_2d(r_b, drag);
    }
    rebounds[slot].impulses = impacts;
    // The accumulators do not count the change as an impulse of the sweeps.
    if (flags & FIXED_A) == 0u {
        states[a].velocity = v_a;
        states[a].angular_velocity = w_a;
        accumulators[a].velocity -= v_a - start_v_a;
        accumulators[a].angular_velocity -= w_a - start_w_a;
    }
    if (flags & FIXED_B) == 0u {
        states[b].velocity = v_b;
        states[b].angular_velocity = w_b;
        accumulators[b].velocity -= v_b - start_v_b;
        accumulators[b].angular_velocity -= w_b - start_w_b;
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
