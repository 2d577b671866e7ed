// solve_joints and relax_joints: src/stages/solve_joints.rs. One sweep of sequential impulses over the joints. Built on
// joint_sweep.wgsl. The sweep's flags tell the two apart.

//#import types
//#import math
//#import constants
//#import joint_sweep

// Velocities of the two bodies while a joint is solved.
struct Motion {
    v_a: vec2<f32>,
    w_a: f32,
    v_b: vec2<f32>,
    w_b: f32,
}

fn velocity_of(motion: Motion, stance: Stance) -> vec2<f32> {
    return (motion.v_b + cross_scalar(motion.w_b, stance.arm_b)) - (motion.v_a + cross_scalar(motion.w_a, stance.arm_a));
}

// Applies an impulse and an angular impulse to B, and the opposite ones to A.
fn pushed(motion: Motion, stance: Stance, impulse: vec2<f32>, spin: f32) -> Motion {
    return Motion(
        motion.v_a - impulse * stance.inv_mass_a,
        motion.w_a - stance.inv_inertia_a * (cross_2d(stance.arm_a, impulse) + spin),
        motion.v_b + impulse * stance.inv_mass_b,
        motion.w_b + stance.inv_inertia_b * (cross_2d(stance.arm_b, impulse) + spin),
    );
}

// Returns stiffness and `a` (see src/stages/solve_joints.rs) of a spring for the inverse mass `k`, if its coefficients
// are given for the inverse mass `stated`.
fn spring(row: u32, k: f32, stated: f32) -> vec2<f32> {
    var scale = 1.0;
    if (joint_rows[row].kind & ROW_BY_MASS) != 0u {
        scale = 0.0;
        if stated > 0.0 {
            scale = 1.0 / stated;
        }
    }
    var stiffness = joint_rows[row].softness[0] * scale;
    let damping = joint_rows[row].softness[1] * scale;
    var swing = stiffness * params.h * params.h * k;
    if swing > MAX_SWING {
        stiffness *= MAX_SWING / swing;
        swing = MAX_SWING;
    }
    var theta = 0.0;
    if swing > 0.25 {
        theta = 0.5 - 0.125 / swing;
    }
    return vec2<f32>(stiffness, params.h * (damping + theta * params.h * stiffness));
}

// Returns the accumulated impulse of a scalar row after this visit.
fn solve_row(row: u32, stance: Stance, motion: Motion, old: f32, use_bias: bool) -> f32 {
    let kind = joint_rows[row].kind;
    let geometry = kind & ROW_GEOMETRY;
    let role = kind & ROW_ROLE;
    let k = inverse_mass(stance, geometry);
    var mass = 0.0;
    if k > 0.0 {
        mass = 1.0 / k;
    }
    let sign = side(kind);
    var velocity = 0.0;
    if geometry == ROW_ANGLE {
        velocity = sign * (motion.w_b - motion.w_a);
    } else {
        velocity = sign * dot(velocity_of(motion, stance), direction(stance, geometry));
    }
    let goal = joint_rows[row].goal;
    let error = sign * (position(stance, geometry) - goal);
    let limit = role == ROW_LOWER || role == ROW_UPPER;
    var wanted = 0.0;
    if role == ROW_MOTOR {
        wanted = -mass * (velocity - goal);
    } else if role == ROW_SPRING {
        let soft = spring(row, k, k);
        wanted = -(params.h * soft.x * error + soft.y * velocity + old) / (1.0 + soft.y * k);
    } else if limit && error > 0.0 {
        wanted = -mass * (velocity + error / params.h);
    } else if use_bias {
        let softness = joint_rows[row].softness;
        wanted = -mass * softness[1] * (velocity + softness[0] * error) - softness[2] * old;
    } else {
        wanted = -mass * velocity;
    }
    let high = joint_rows[row].max_impulse;
    let low = select(-high, 0.0, limit);
    if (params.switches & ACCUMULATE) != 0u {
        return min(max(old + wanted, low), high);
    }
    return old + min(max(wanted, low), high);
}

// Returns the accumulated impulse of a point row after this visit.
fn solve_point(row: u32, stance: Stance, motion: Motion, old: vec2<f32>, use_bias: bool) -> vec2<f32> {
    let k = inverse_point_mass(stance, stance.arm_a, stance.arm_b);
    let velocity = velocity_of(motion, stance);
    var wanted = vec2<f32>(0.0);
    if (joint_rows[row].kind & ROW_ROLE) == ROW_SPRING {
        let met = inverse_point_mass(stance, stance.arm_a - stance.between, stance.arm_b);
        let mean = 0.5 * (met.x + met.z);
        let soft = spring(row, 0.5 * (k.x + k.z), mean);
        var shape = vec3<f32>(0.0);
        if mean > 0.0 {
            shape = met * (1.0 / mean);
        }
        let kept = vec2<f32>(shape.x * old.x + shape.y * old.y, shape.y * old.x + shape.z * old.y);
        let damped = shape + k * soft.y;
        wanted = -solve_symmetric(damped, stance.between * (params.h * soft.x) + velocity * soft.y + kept);
    } else if use_bias {
        let softness = joint_rows[row].softness;
        wanted = -solve_symmetric(k, velocity + stance.between * softness[0]) * softness[1] - old * softness[2];
    } else {
        wanted = -solve_symmetric(k, velocity);
    }
    let most = joint_rows[row].max_impulse;
    if (params.switches & ACCUMULATE) != 0u {
        return shortened(old + wanted, most);
    }
    return old + shortened(wanted, most);
}

fn solve_joint(joint: u32, sweep_flags: u32) {
    let a = joint_frames[joint].body_a;
    let b = joint_frames[joint].body_b;
    let flags = joint_frames[joint].flags;
    let first = joint_frames[joint].first_row;
    let end = first + (flags & ROW_COUNT_MASK);
    let stance = stance_now(joint);
    let warm = (params.switches & WARM_START) != 0u;
    let use_bias = (sweep_flags & USE_BIAS) != 0u;
    if warm && (sweep_flags & DEPOSIT) != 0u {
        accumulate(joint, stance, 1.0);
    }
    var motion = Motion(vec2<f32>(0.0), 0.0, states[b].velocity, states[b].angular_velocity);
    if (flags & WORLD_A) == 0u {
        motion.v_a = states[a].velocity;
        motion.w_a = states[a].angular_velocity;
    }
    for (var row = first; row < end; row += 1u) {
        let kind = joint_rows[row].kind;
        if (kind & ROW_ROLE) == ROW_SPRING && !use_bias {
            continue;
        }
        var old = joint_impulses[row];
        if (sweep_flags & FRESH) != 0u {
            old = vec2<f32>(0.0);
        }
        let geometry = kind & ROW_GEOMETRY;
        var next = vec2<f32>(0.0);
        if geometry == ROW_POINT {
            old = rotate(stance.axis, old);
            next = solve_point(row, stance, motion, old, use_bias);
            motion = pushed(motion, stance, next - old, 0.0);
            next = inv_rotate(stance.axis, next);
        } else {
            next.x = solve_row(row, stance, motion, old.x, use_bias);
            let size = side(kind) * (next.x - old.x);
            if geometry == ROW_ANGLE {
                motion = pushed(motion, stance, vec2<f32>(0.0), size);
            } else {
                motion = pushed(motion, stance, direction(stance, geometry) * size, 0.0);
            }
        }
        joint_impulses[row] = next;
    }
    if (flags & JOINT_FIXED_A) == 0u {
        states[a].velocity = motion.v_a;
        states[a].angular_velocity = motion.w_a;
    }
    if (flags & JOINT_FIXED_B) == 0u {
        states[b].velocity = motion.v_b;
        states[b].angular_velocity = motion.w_b;
    }
    if warm && (sweep_flags & WITHDRAW) != 0u {
        accumulate(joint, stance, -1.0);
    }
}

@compute @workgroup_size(LANES)
fn solve_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide_joints(workgroup, workgroups, lane);
}

@compute @workgroup_size(LANES)
fn solve_joints_tail(@builtin(local_invocation_index) lane: u32) {
    tail_joints(lane, LANES, sweep.first_color, sweep.end_color);
}

fn each_joint(joint: u32) {
    solve_joint(joint, sweep.flags);
}
