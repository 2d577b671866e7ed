// warm_start: src/stages/warm_start.rs. Sums up, for every body, the velocity change due to the contact impulses of the
// previous step. Built on sweep.wgsl.

//#import types
//#import math
//#import mass_scale
//#import sweep

fn warm_start_contact(slot: u32) {
    let row = constraint_at(slot);
    let normal = row.normal;
    let tangent = right_perp(normal);
    let impulses = row.impulses;
    let impulse_0 = normal * impulses.x + tangent * impulses.y;
    let impulse_1 = normal * impulses.z + tangent * impulses.w;
    let impulse = impulse_0 + impulse_1;
    let r_a_0 = row.r_a_0;
    let r_a_1 = row.r_a_1;
    var rolling = 0.0;
    if (params.switches & SURFACES) != 0u {
        rolling = surfaces[slot].rolling_impulse;
    }
    var masses = vec2<f32>(0.0);
    if params.mass_per_impulse > 0.0 && row.inv.x > 0.0 && row.inv.z > 0.0 {
        let wanted = params.mass_per_impulse * (impulses.x + impulses.z);
        let own = 1.0 / row.inv.xz;
        masses = vec2<f32>(wanted);
        // Few contacts press so hard that the limits of the masses matter.
        if wanted > SCALED_SPREAD * own.y {
            let floor_a = SCALED_FLOOR * mass_share(states[row.body_a].status) * own.x;
            masses.x = min(wanted, max(floor_a, SCALED_SPREAD * own.y));
        }
        if wanted > SCALED_SPREAD * own.x {
            let floor_b = SCALED_FLOOR * mass_share(states[row.body_b].status) * own.y;
            masses.y = min(wanted, max(floor_b, SCALED_SPREAD * own.x));
        }
    }
    if (row.flags & FIXED_A) == 0u {
        let a = row.body_a;
        let spin = cross_2d(r_a_0, impulse_0) + cross_2d(r_a_1, impulse_1) + rolling;
        accumulators[a].velocity -= impulse * row.inv.x;
        accumulators[a].angular_velocity -= row.inv.y * spin;
        accumulators[a].asked_mass = max(accumulators[a].asked_mass, masses.x);
    }
    if (row.flags & FIXED_B) == 0u {
        let b = row.body_b;
        let r_b_0 = row.r_b;
        let r_b_1 = r_a_1 + (r_b_0 - r_a_0);
        let spin = cross_2d(r_b_0, impulse_0) + cross_2d(r_b_1, impulse_1) + rolling;
        accumulators[b].velocity += impulse * row.inv.z;
        accumulators[b].angular_velocity += row.inv.w * spin;
        accumulators[b].asked_mass = max(accumulators[b].asked_mass, masses.y);
    }
}

@compute @workgroup_size(LANES)
fn warm_start(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide(workgroup, workgroups, lane);
}

@compute @workgroup_size(LANES)
fn warm_start_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane, LANES, sweep.first_color, sweep.end_color, (sweep.flags & SPLIT_DONE) != 0u);
}

fn each_constraint(slot: u32) {
    warm_start_contact(slot);
}
