// restitution: src/stages/restitution.rs. Impacts, before the velocities of each substep are integrated, in several
// rounds. Built on sweep.wgsl.

//#import types
//#import math
//#import constants
//#import sweep
//#import impact

// Returns the speed after an impact, for which Newton's law holds at the surface.
fn rebound_speed(restitution: f32, approach: f32, acceleration: f32, separation: f32) -> f32 {
    let kept = restitution * restitution;
    return sqrt(max(kept * (approach * approach) + 2.0 * (1.0 - kept) * (acceleration * separation), 0.0));
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
    let row = constraint_at(slot);
    let a = row.body_a;
    let b = row.body_b;
    let count = row.flags & POINT_COUNT_MASK;
    var normal = row.normal;
    var r_a_0 = row.r_a_0;
    var r_b_0 = row.r_b;
    let r_a_1 = row.r_a_1;
    let r_b_1 = r_a_1 + (r_b_0 - r_a_0);
    let v_a = states[a].velocity;
    let w_a = states[a].angular_velocity;
    let v_b = states[b].velocity;
    let w_b = states[b].angular_velocity;
    let threshold = -impact_speed(0.0);
    var velocity_0 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_0, r_b_0), normal);
    let velocity_1 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_1, r_b_1), normal);
    if !((count > 0u && velocity_0 < threshold) || (count > 1u && velocity_1 < threshold)) {
        return;
    }
    let moved = states[b].delta_position - states[a].delta_position;
    var separations = row.separations;
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
            set_geometry(slot, normal, separations, vec4<f32>(r_a_0, r_a_1), r_b_0);
        }
        velocity_0 = dot(point_velocity(v_a, w_a, v_b, w_b, r_a_0, r_b_0), normal);
    }

    let acceleration = dot(rebounds[slot].acceleration, normal);
    let turn_a = turn_of_arm(row.flags & ROUND_A, states[a].delta_rotation);
    let turn_b = turn_of_arm(row.flags & ROUND_B, states[b].delta_rotation);
    let separation_0 = separations.x + dot(moved + (turned(turn_b, r_b_0) - turned(turn_a, r_a_0)), normal);
    let separation_1 = separations.y + dot(moved + (turned(turn_b, r_b_1) - turned(turn_a, r_a_1)), normal);
    let closes_0 = separation_0 + params.h * (velocity_0 + params.h * acceleration) < 0.0;
    let closes_1 = separation_1 + params.h * (velocity_1 + params.h * acceleration) < 0.0;
    // Wanted changes of the normal velocities; 0 for a point without an impact.
    var wanted = vec2<f32>(0.0);
    if count > 0u && velocity_0 < -impact_speed(row.impulses.x) && closes_0 {
        let approach = velocity_0 + 0.5 * params.h * acceleration;
        wanted.x = max(rebound_speed(restitution_mixed, approach, acceleration, separation_0) - approach, 0.0);
    }
    if count > 1u && velocity_1 < -impact_speed(row.impulses.z) && closes_1 {
        let approach = velocity_1 + 0.5 * params.h * acceleration;
        wanted.y = max(rebound_speed(restitution_mixed, approach, acceleration, separation_1) - approach, 0.0);
    }
    rebounds[slot].impulses += impact(slot, row, normal, Arms(r_a_0, r_b_0, r_a_1, r_b_1), wanted);
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
    tail(lane, LANES, sweep.first_color, sweep.end_color, (sweep.flags & SPLIT_DONE) != 0u);
}

fn each_constraint(slot: u32) {
    bounce_contact(slot);
}
