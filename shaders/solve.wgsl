// solve and relax: src/stages/solve.rs. One sweep of sequential impulses over the contacts. Built on sweep.wgsl. The
// sweep's flags tell the two apart.

//#import types
//#import math
//#import mass_scale
//#import constants
//#import sweep
//#import impact

// Stops a contact that was found ahead at the surface, in the sweep in which it would pass it.
fn land_contact(slot: u32, row: Constraint, sweep_flags: u32) {
    let a = row.body_a;
    let b = row.body_b;
    let count = row.flags & POINT_COUNT_MASK;
    let normal = row.normal;
    let arms = arms_of(row);
    var measured = row.measured;
    if (sweep_flags & MEASURED) == 0u {
        measured = separations_now(row, arms);
        set_measured(slot, measured);
    }
    let velocity = vec2<f32>(
        dot(point_velocity(states[a].velocity, states[a].angular_velocity, states[b].velocity,
            states[b].angular_velocity, arms.a_0, arms.b_0), normal),
        dot(point_velocity(states[a].velocity, states[a].angular_velocity, states[b].velocity,
            states[b].angular_velocity, arms.a_1, arms.b_1), normal),
    );
    let gap = select(vec2<f32>(0.0), measured, measured > vec2<f32>(GAP * params.linear_slop));
    var wanted = max(-(velocity + gap / params.h), vec2<f32>(0.0));
    // A fast approach is left to the next impacts, which give it its rebound.
    let leaves = (sweep_flags & LEAVE_IMPACTS) != 0u && (params.switches & BOUNCES) != 0u;
    if leaves && rebounds[slot].restitution != 0.0 {
        wanted = select(wanted, vec2<f32>(0.0), velocity < vec2<f32>(-impact_speed(0.0)));
    }
    if count < 2u {
        wanted.y = 0.0;
    }
    if any(wanted != vec2<f32>(0.0)) {
        set_impulses(slot, row.impulses + impact(slot, row, normal, arms, wanted));
    }
}

// Returns the lever arms of both points, which have the same vector from the arm on A to the arm on B. A is on the
// finer grid level, so that the arm on B is the longer one and loses no precision.
fn arms_of(row: Constraint) -> Arms {
    let two = (row.flags & POINT_COUNT_MASK) > 1u;
    let b_1 = select(vec2<f32>(0.0), row.r_a_1 + (row.r_b - row.r_a_0), two);
    return Arms(row.r_a_0, row.r_b, row.r_a_1, b_1);
}

// Returns the separations of the points after the motion of the bodies so far.
fn separations_now(row: Constraint, arms: Arms) -> vec2<f32> {
    let moved = states[row.body_b].delta_position - states[row.body_a].delta_position;
    let turn_a = turn_of_arm(row.flags & ROUND_A, states[row.body_a].delta_rotation);
    let turn_b = turn_of_arm(row.flags & ROUND_B, states[row.body_b].delta_rotation);
    return vec2<f32>(
        row.separations.x + dot(moved + (turned(turn_b, arms.b_0) - turned(turn_a, arms.a_0)), row.normal),
        row.separations.y + dot(moved + (turned(turn_b, arms.b_1) - turned(turn_a, arms.a_1)), row.normal),
    );
}

// Each field is read once, at the top, and each result written once, at the end: the sweeps are bound by memory, and on
// a software adapter every word counts. A missing second point is all zero and takes no impulse.
fn solve_contact(slot: u32, row: Constraint, flags_of_sweep: u32) {
    var sweep_flags = flags_of_sweep;
    // Contacts without restitution have no impacts: their approach ends in this sweep. A world of a batch may have no
    // other contacts.
    if (sweep_flags & LEAVE_IMPACTS) != 0u {
        if (params.switches & BOUNCES) == 0u || rebounds[slot].restitution == 0.0 {
            sweep_flags &= ~LEAVE_IMPACTS;
        }
    }
    let a = row.body_a;
    let b = row.body_b;
    let flags = row.flags;
    let normal = row.normal;
    let m_a = row.inv.x;
    let i_a = row.inv.y;
    let m_b = row.inv.z;
    let i_b = row.inv.w;
    let arms = arms_of(row);
    let two = (flags & POINT_COUNT_MASK) > 1u;
    let inv = vec4<f32>(m_a, i_a, m_b, i_b);
    // Points 0 and 1 in the order of this sweep's visits: see `visits` of src/stages/solve.rs.
    let swap = (sweep_flags & USE_BIAS) != 0u;
    let r_a_0 = select(arms.a_0, arms.a_1, swap);
    let r_b_0 = select(arms.b_0, arms.b_1, swap);
    let r_a_1 = select(arms.a_1, arms.a_0, swap);
    let r_b_1 = select(arms.b_1, arms.b_0, swap);
    let exists = select(vec2<bool>(true, two), vec2<bool>(two, true), swap);
    let mass_0 = select(0.0, effective_mass(inv, r_a_0, r_b_0, normal), exists.x);
    let mass_1 = select(0.0, effective_mass(inv, r_a_1, r_b_1, normal), exists.y);
    var v_a = states[a].velocity;
    var w_a = states[a].angular_velocity;
    var v_b = states[b].velocity;
    var w_b = states[b].angular_velocity;
    var separation = row.measured;
    if (sweep_flags & MEASURED) == 0u {
        separation = separations_now(row, arms);
        set_measured(slot, separation);
    }
    separation = select(separation, separation.yx, swap);
    let is_fixed = (flags & (FIXED_A | FIXED_B)) != 0u;
    var softness = select(params.contact_softness, params.fixed_softness, is_fixed);
    if (params.switches & MATERIAL_SPRINGS) != 0u {
        let kind = (flags & SPRING_MASK) >> SPRING_SHIFT;
        softness = select(softness, params.springs[2u * kind + select(0u, 1u, is_fixed)], kind != 0u);
    }
    if swap && !is_fixed {
        softness = damped(softness, params.h, states[a].status, states[b].status);
    }
    let fastest = select(params.push_speed, FAR, (flags & LOADED) != 0u);
    let fresh = (sweep_flags & FRESH) != 0u;
    var impulses = select(row.impulses, vec4<f32>(0.0), fresh);
    impulses = select(impulses, impulses.zwxy, swap);

    let old_0 = impulses.x;
    let velocity_0 = dot((v_b + cross_scalar(w_b, r_b_0)) - (v_a + cross_scalar(w_a, r_a_0)), normal);
    let new_0 = normal_impulse(separation.x, velocity_0, mass_0, old_0, softness, fastest, sweep_flags);
    let push_0 = normal * (new_0 - old_0);
    v_a -= push_0 * m_a;
    w_a -= i_a * cross_2d(r_a_0, push_0);
    v_b += push_0 * m_b;
    w_b += i_b * cross_2d(r_b_0, push_0);

    let old_1 = impulses.z;
    let velocity_1 = dot((v_b + cross_scalar(w_b, r_b_1)) - (v_a + cross_scalar(w_a, r_a_1)), normal);
    let new_1 = normal_impulse(separation.y, velocity_1, mass_1, old_1, softness, fastest, sweep_flags);
    let push_1 = normal * (new_1 - old_1);
    v_a -= push_1 * m_a;
    w_a -= i_a * cross_2d(r_a_1, push_1);
    v_b += push_1 * m_b;
    w_b += i_b * cross_2d(r_b_1, push_1);

    impulses.x = new_0;
    impulses.z = new_1;

    if (sweep_flags & USE_FRICTION) != 0u {
        let tangent = right_perp(normal);
        let friction = row.friction;
        var kinetic = friction;
        var speed = 0.0;
        if (params.switches & SURFACES) != 0u {
            let surface = surfaces[slot];
            kinetic = surface.kinetic_friction;
            speed = surface.tangent_speed;
            let most = surface.rolling_resistance * (new_0 + new_1);
            let old = select(surface.rolling_impulse, 0.0, fresh);
            let mass = select(0.0, 1.0 / (i_a + i_b), i_a + i_b > 0.0);
            let rolling = max(min(old - mass * (w_b - w_a), most), -most);
            w_a -= i_a * (rolling - old);
            w_b += i_b * (rolling - old);
            surfaces[slot].rolling_impulse = rolling;
        }
        let tangent_mass_0 = select(0.0, effective_mass(inv, r_a_0, r_b_0, tangent), exists.x);
        let tangent_mass_1 = select(0.0, effective_mass(inv, r_a_1, r_b_1, tangent), exists.y);

        let held_0 = impulses.y;
        let slip_0 = dot((v_b + cross_scalar(w_b, r_b_0)) - (v_a + cross_scalar(w_a, r_a_0)), tangent) - speed;
        let most_0 = friction_limit(friction, new_0);
        let wanted_0 = held_0 - tangent_mass_0 * slip_0;
        var hold_0 = max(min(wanted_0, most_0), -most_0);
        let drag_0 = tangent * (hold_0 - held_0);
        v_a -= drag_0 * m_a;
        w_a -= i_a * cross_2d(r_a_0, drag_0);
        v_b += drag_0 * m_b;
        w_b += i_b * cross_2d(r_b_0, drag_0);

        let held_1 = impulses.w;
        let slip_1 = dot((v_b + cross_scalar(w_b, r_b_1)) - (v_a + cross_scalar(w_a, r_a_1)), tangent) - speed;
        let most_1 = friction_limit(friction, new_1);
        let wanted_1 = held_1 - tangent_mass_1 * slip_1;
        var hold_1 = max(min(wanted_1, most_1), -most_1);
        let drag_1 = tangent * (hold_1 - held_1);
        v_a -= drag_1 * m_a;
        w_a -= i_a * cross_2d(r_a_1, drag_1);
        v_b += drag_1 * m_b;
        w_b += i_b * cross_2d(r_b_1, drag_1);

        if (params.switches & KINETIC_FRICTION) != 0u && abs(wanted_0) >= most_0 + tangent_mass_0 * params.stick_speed
            && abs(wanted_1) >= most_1 + tangent_mass_1 * params.stick_speed {
            let drag_most_0 = friction_limit(kinetic, new_0);
            let sliding_0 = max(min(hold_0, drag_most_0), -drag_most_0);
            let less_0 = tangent * (sliding_0 - hold_0);
            v_a -= less_0 * m_a;
            w_a -= i_a * cross_2d(r_a_0, less_0);
            v_b += less_0 * m_b;
            w_b += i_b * cross_2d(r_b_0, less_0);
            hold_0 = sliding_0;
            let drag_most_1 = friction_limit(kinetic, new_1);
            let sliding_1 = max(min(hold_1, drag_most_1), -drag_most_1);
            let less_1 = tangent * (sliding_1 - hold_1);
            v_a -= less_1 * m_a;
            w_a -= i_a * cross_2d(r_a_1, less_1);
            v_b += less_1 * m_b;
            w_b += i_b * cross_2d(r_b_1, less_1);
            hold_1 = sliding_1;
        }

        impulses.y = hold_0;
        impulses.w = hold_1;
    } else if fresh && (params.switches & SURFACES) != 0u {
        surfaces[slot].rolling_impulse = 0.0;
    }
    set_impulses(slot, select(impulses, impulses.zwxy, swap));

    if (flags & FIXED_A) == 0u {
        states[a].velocity = v_a;
        states[a].angular_velocity = w_a;
    }
    if (flags & FIXED_B) == 0u {
        states[b].velocity = v_b;
        states[b].angular_velocity = w_b;
    }
}

// Returns the accumulated normal impulse of a point after this visit.
fn normal_impulse(
    separation: f32,
    velocity: f32,
    mass: f32,
    old: f32,
    softness: vec4<f32>,
    fastest: f32,
    sweep_flags: u32,
) -> f32 {
    var bias = 0.0;
    var mass_scale = 1.0;
    var impulse_scale = 0.0;
    if separation > GAP * params.linear_slop {
        bias = separation / params.h;
    } else if (sweep_flags & USE_BIAS) != 0u {
        let depth = min(separation + softness.w, 0.0);
        mass_scale = softness.y;
        impulse_scale = softness.z;
        bias = max(mass_scale * softness.x * depth, -fastest);
    }
    // A fast approach is left to the next impacts, which give it its rebound.
    if (sweep_flags & LEAVE_IMPACTS) != 0u && velocity < -impact_speed(old) {
        return old;
    }
    let wanted = -mass * (mass_scale * velocity + bias) - impulse_scale * old;
    if (params.switches & ACCUMULATE) == 0u {
        return old + max(wanted, 0.0);
    }
    return max(old + wanted, 0.0);
}

fn sweep_contact(slot: u32, sweep_flags: u32) {
    let row = constraint_at(slot);
    if (row.flags & IMPACT) == 0u {
        solve_contact(slot, row, sweep_flags);
    } else {
        land_contact(slot, row, sweep_flags);
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

@compute @workgroup_size(LANES)
fn solve_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane, LANES, sweep.first_color, sweep.end_color, (sweep.flags & SPLIT_DONE) != 0u);
}

fn each_constraint(slot: u32) {
    sweep_contact(slot, sweep.flags);
}
