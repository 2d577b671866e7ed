// Impacts of a contact, for restitution and solve, on sweep.wgsl. Twin: `impact` of src/stages/restitution.rs.

//#import types
//#import math
//#import constants
//#import sweep

// Lever arms of both points of a contact, on A and on B, m.
struct Arms {
    a_0: vec2<f32>,
    b_0: vec2<f32>,
    a_1: vec2<f32>,
    b_1: vec2<f32>,
}

fn point_velocity(v_a: vec2<f32>, w_a: f32, v_b: vec2<f32>, w_b: f32, r_a: vec2<f32>, r_b: vec2<f32>) -> vec2<f32> {
    return (v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a));
}

// Changes the normal velocities of the points of a contact by `wanted`, with friction for the whole impulse. Returns
// the impulses: normal and tangent of point 0, then of point 1.
fn impact(slot: u32, row: Constraint, normal: vec2<f32>, arms: Arms, wanted: vec2<f32>) -> vec4<f32> {
    let a = row.body_a;
    let b = row.body_b;
    let count = row.flags & POINT_COUNT_MASK;
    let start_v_a = states[a].velocity;
    let start_w_a = states[a].angular_velocity;
    let start_v_b = states[b].velocity;
    let start_w_b = states[b].angular_velocity;
    var v_a = start_v_a;
    var w_a = start_w_a;
    var v_b = start_v_b;
    var w_b = start_w_b;
    let inv = row.inv;
    let mass_0 = effective_mass(inv, arms.a_0, arms.b_0, normal);
    let mass_1 = select(0.0, effective_mass(inv, arms.a_1, arms.b_1, normal), count > 1u);
    var impulse_0 = wanted.x * mass_0;
    var impulse_1 = wanted.y * mass_1;
    if wanted.x != 0.0 && wanted.y != 0.0 {
        let coupling = inv.x
            + inv.z
            + inv.y * cross_2d(arms.a_0, normal) * cross_2d(arms.a_1, normal)
            + inv.w * cross_2d(arms.b_0, normal) * cross_2d(arms.b_1, normal);
        let share_0 = coupling * mass_0;
        let share_1 = coupling * mass_1;
        let determinant = 1.0 - share_0 * share_1;
        if determinant < MIN_DETERMINANT {
            let change = 0.25 * (wanted.x + wanted.y);
            impulse_0 = change * mass_0;
            impulse_1 = change * mass_1;
        } else {
            let both_0 = (impulse_0 - share_0 * impulse_1) / determinant;
            let both_1 = (impulse_1 - share_1 * impulse_0) / determinant;
            if both_0 >= 0.0 && both_1 >= 0.0 {
                impulse_0 = both_0;
                impulse_1 = both_1;
            } else if wanted.x >= wanted.y {
                impulse_1 = 0.0;
            } else {
                impulse_0 = 0.0;
            }
        }
    }
    if impulse_0 == 0.0 && impulse_1 == 0.0 {
        return vec4<f32>(0.0);
    }
    let push_0 = normal * impulse_0;
    v_a -= push_0 * inv.x;
    w_a -= inv.y * cross_2d(arms.a_0, push_0);
    v_b += push_0 * inv.z;
    w_b += inv.w * cross_2d(arms.b_0, push_0);
    let push_1 = normal * impulse_1;
    v_a -= push_1 * inv.x;
    w_a -= inv.y * cross_2d(arms.a_1, push_1);
    v_b += push_1 * inv.z;
    w_b += inv.w * cross_2d(arms.b_1, push_1);

    var impulses = vec4<f32>(impulse_0, 0.0, impulse_1, 0.0);
    let tangent = right_perp(normal);
    let friction = row.friction;
    var kinetic = friction;
    var belt = 0.0;
    if (params.switches & SURFACES) != 0u {
        kinetic = surfaces[slot].kinetic_friction;
        belt = surfaces[slot].tangent_speed;
    }
    // Both points, as a loop of known length is unrolled: with a loop of another length in them, the kernels for large
    // and for small colours rounded differently on a software adapter.
    for (var end = 0u; end < 2u; end += 1u) {
        let r_a = select(arms.a_1, arms.a_0, end == 0u);
        let r_b = select(arms.b_1, arms.b_0, end == 0u);
        let impulse = select(impulse_1, impulse_0, end == 0u);
        let slip = dot(point_velocity(v_a, w_a, v_b, w_b, r_a, r_b), tangent) - belt;
        let held = -(effective_mass(inv, r_a, r_b, tangent) * slip);
        let slides = abs(held) > friction_limit(friction, impulse);
        let most = friction_limit(select(friction, kinetic, slides), impulse);
        let tangent_impulse = max(min(held, most), -most);
        if end == 0u {
            impulses.y = tangent_impulse;
        } else {
            impulses.w = tangent_impulse;
        }
        let drag = tangent * tangent_impulse;
        v_a -= drag * inv.x;
        w_a -= inv.y * cross_2d(r_a, drag);
        v_b += drag * inv.z;
        w_b += inv.w * cross_2d(r_b, drag);
    }
    // The accumulators do not count the change as an impulse of the sweeps.
    if (row.flags & FIXED_A) == 0u {
        states[a].velocity = v_a;
        states[a].angular_velocity = w_a;
        accumulators[a].velocity -= v_a - start_v_a;
        accumulators[a].angular_velocity -= w_a - start_w_a;
    }
    if (row.flags & FIXED_B) == 0u {
        states[b].velocity = v_b;
        states[b].angular_velocity = w_b;
        accumulators[b].velocity -= v_b - start_v_b;
        accumulators[b].angular_velocity -= w_b - start_w_b;
    }
    return impulses;
}
