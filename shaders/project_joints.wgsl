// project_joints: src/stages/project_joints.rs. Corrects joints by position alone. Built on joint_sweep.wgsl.

//#import types
//#import math
//#import constants
//#import joint_sweep

fn project_joint(joint: u32) {
    let a = joint_frames[joint].body_a;
    let b = joint_frames[joint].body_b;
    let flags = joint_frames[joint].flags;
    let first = joint_frames[joint].first_row;
    let end = first + (flags & ROW_COUNT_MASK);
    var p_a = vec2<f32>(0.0);
    var q_a = vec2<f32>(1.0, 0.0);
    if (flags & WORLD_A) == 0u {
        p_a = states[a].delta_position;
        q_a = states[a].delta_rotation;
    }
    var p_b = states[b].delta_position;
    var q_b = states[b].delta_rotation;
    for (var row = first; row < end; row += 1u) {
        let kind = joint_rows[row].kind;
        let geometry = kind & ROW_GEOMETRY;
        let role = kind & ROW_ROLE;
        let limit = role == ROW_LOWER || role == ROW_UPPER;
        if !limit && role != ROW_EQUALITY {
            continue;
        }
        let stance = stance_of(joint, p_a, q_a, p_b, q_b);
        var on_a = vec2<f32>(0.0);
        var on_b = vec2<f32>(0.0);
        var spin = 0.0;
        if geometry == ROW_POINT {
            let error = shortened(stance.between * params.projection_rate, params.max_correction);
            on_b = -solve_symmetric(inverse_point_mass(stance, stance.arm_a, stance.arm_b), error);
            on_a = on_b;
        } else {
            var error = side(kind) * (position(stance, geometry) - joint_rows[row].goal);
            if limit {
                error = min(error, 0.0);
            }
            let most = select(params.max_correction, MAX_ANGULAR_CORRECTION, geometry == ROW_ANGLE);
            let k = inverse_mass(stance, geometry);
            let wanted = min(max(params.projection_rate * error, -most), most);
            var size = 0.0;
            if k > 0.0 {
                size = -side(kind) * wanted / k;
            }
            if geometry == ROW_ANGLE {
                spin = size;
            } else {
                on_b = direction(stance, geometry) * size;
                on_a = push_on_a(stance, geometry, size, on_b);
            }
        }
        let turn_a = stance.inv_inertia_a * (cross_2d(stance.arm_a, on_a) + stance.ratio * spin);
        let turn_b = stance.inv_inertia_b * (cross_2d(stance.arm_b, on_b) + spin);
        p_a -= on_a * stance.inv_mass_a;
        q_a = integrate_rotation(q_a, -turn_a);
        p_b += on_b * stance.inv_mass_b;
        q_b = integrate_rotation(q_b, turn_b);
    }
    if (flags & JOINT_FIXED_A) == 0u {
        states[a].delta_position = p_a;
        states[a].delta_rotation = q_a;
    }
    if (flags & JOINT_FIXED_B) == 0u {
        states[b].delta_position = p_b;
        states[b].delta_rotation = q_b;
    }
}

// The hinges of a tree, those near the root first.
fn project_tree(tree: u32) {
    for (var body = joint_starts[tree + 1u]; body > 0u; body -= 1u) {
        let hinge = tree_hinge(tree, body - 1u);
        if hinge != NONE {
            project_joint(hinge & ~TREE_CHILD_A);
        }
    }
}

@compute @workgroup_size(LANES)
fn project_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide_joints(workgroup, workgroups, lane);
}

@compute @workgroup_size(LANES)
fn project_joints_tail(@builtin(local_invocation_index) lane: u32) {
    tail_joints(lane, LANES, sweep.first_color, sweep.end_color);
}

fn each_joint(joint: u32) {
    project_joint(joint);
}

fn each_tree(tree: u32) {
    project_tree(tree);
}
