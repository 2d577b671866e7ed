// prepare_joints: src/stages/prepare_joints.rs. Computes the frame of every joint at the start of the step, and breaks
// overloaded joints.

//#import types
//#import math
//#import pose
//#import mass_scale
//#import constants
//#import rope

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> joints: array<JointData>;
@group(0) @binding(5) var<storage, read_write> joint_rows: array<JointRow>;
@group(0) @binding(6) var<storage, read_write> joint_states: array<JointState>;
@group(0) @binding(7) var<storage, read_write> joint_impulses: array<vec2<f32>>;
@group(0) @binding(8) var<storage, read_write> joint_frames: array<JointFrame>;

const TAU: f32 = 6.2831853072;

// Returns the inverse inertia that a joint sees of a body whose lever arm it pulls by `pull`.
fn stiffened(inv_inertia: f32, pull: f32) -> f32 {
    let least = 2.0 * params.h * pull;
    if least * inv_inertia > 1.0 {
        return 1.0 / least;
    }
    return inv_inertia;
}

// Returns the full turn next to an angle.
fn full_turn(angle: f32) -> f32 {
    return TAU * floor(angle / TAU + 0.5);
}

@compute @workgroup_size(LANES)
fn prepare_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.joint_count {
        return;
    }
    var joint = joints[index];
    let a = joint.body_a;
    let b = joint.body_b;
    let world = (joint.flags & WORLD_A) != 0u;
    var pose_a = default_pose();
    var inv_mass_a = 0.0;
    var inv_inertia_a = 0.0;
    if !world {
        pose_a = poses[a];
        let share_a = mass_share(states[a].status);
        inv_mass_a = bodies[a].inv_mass * share_a;
        inv_inertia_a = bodies[a].inv_inertia * share_a;
    }
    let share_b = mass_share(states[b].status);
    var inv_inertia_b = bodies[b].inv_inertia * share_b;
    let pose_b = poses[b];
    let r_a = rotate(pose_a.rotation, joint.anchor_a);
    let r_b = rotate(pose_b.rotation, joint.anchor_b);
    var between = vector_to(pose_a, pose_b) + (r_b - r_a);
    if world {
        between = vector_from(r_a, pose_b) + r_b;
    }
    var axis = rotate(pose_a.rotation, joint.axis);
    let first = joint.first_row;
    let end = first + (joint.flags & ROW_COUNT_MASK);
    let pulley = is_pulley(joint.flags);
    if pulley {
        let ground_b = vec2<f32>(joint_rows[first].goal_y, joint_rows[first].ground_y);
        axis = vector_from(joint.axis, pose_a) + r_a;
        between = vector_from(ground_b, pose_b) + r_b;
    }
    let turned = angle_of(inv_mul_rotation(pose_a.rotation, pose_b.rotation));
    let is_gear = ((joint.flags >> JOINT_TYPE_SHIFT) & 15u) == JOINT_GEAR;
    var turns = vec2<f32>(0.0);
    if is_gear {
        turns = vec2<f32>(angle_of(pose_a.rotation), angle_of(pose_b.rotation));
    }
    // A joint added to a running world takes the values that the scene did not give from the current poses.
    if (joint.flags & JOINT_FRESH) != 0u {
        joint.flags &= ~JOINT_FRESH;
        joint.reference_angle = turned;
        joints[index].flags = joint.flags;
        joints[index].reference_angle = turned;
        var size = length(between);
        if pulley {
            size = length(axis) + joint.ratio * size;
        }
        for (var row = first; row < end; row += 1u) {
            if (joint_rows[row].kind & ROW_MEASURE) != 0u {
                joint_rows[row].kind &= ~ROW_MEASURE;
                joint_rows[row].goal = max(size, MIN_LENGTH);
            }
        }
    }
    let last = joint_states[index].angle;
    var angle = turned - joint.reference_angle;
    if is_gear {
        var by = turns - joint_states[index].turns;
        by -= vec2<f32>(full_turn(by.x), full_turn(by.y));
        angle = select(last + (by.y - joint.ratio * by.x), 0.0, (joint_states[index].status & DISENGAGED) != 0u);
    } else {
        angle += full_turn(last - angle);
    }
    // A joint between sleeping bodies keeps its state and cannot break.
    let sleeps = (states[b].status & ASLEEP) != 0u && (world || (states[a].status & ASLEEP) != 0u);
    if !sleeps {
        joint_states[index].angle = angle;
        if is_gear {
            joint_states[index].turns = turns;
            joint_states[index].status &= ~DISENGAGED;
        }
    }

    // Sum of the impulses of the last substep.
    var impulse = vec2<f32>(0.0);
    var spin = 0.0;
    // The part whose direction does not turn with a body; none if the joint holds the angle.
    var tension = vec2<f32>(0.0);
    var swings = true;
    for (var row = first; row < end; row += 1u) {
        let kind = joint_rows[row].kind;
        let geometry = kind & ROW_GEOMETRY;
        let part = joint_impulses[row];
        let sign = select(1.0, -1.0, (kind & ROW_ROLE) == ROW_UPPER);
        if geometry == ROW_POINT {
            impulse += rotate(axis, part);
            tension += rotate(axis, part);
        } else if geometry == ROW_ANGLE {
            spin += sign * part.x;
            swings = swings && (kind & ROW_ROLE) != ROW_EQUALITY;
        } else {
            var along = vec2<f32>(0.0, 1.0);
            if geometry == ROW_AXIS {
                along = axis;
            } else if geometry == ROW_ACROSS {
                along = vec2<f32>(-axis.y, axis.x);
            } else if geometry == ROW_PULLEY {
                along = rope(between) * joint.ratio;
            } else if length(between) > 0.0 {
                along = between / length(between);
            }
            impulse += along * (sign * part.x);
            if geometry == ROW_ALONG || geometry == ROW_PULLEY {
                tension += along * (sign * part.x);
            }
        }
    }
    var tension_a = tension;
    if pulley {
        // Its row is an upper limit, whose impulse is counted positive.
        tension_a = rope(axis) * joint_impulses[first].x;
    }
    if sleeps {
        // A sleeping joint cannot break.
    } else if length(impulse) > joint.break_force * params.h || abs(spin) > joint.break_torque * params.h {
        joint_states[index].status |= BROKEN;
    }

    var flags = joint.flags;
    var gone = (joint.flags & JOINT_DISABLED) != 0u || (joint_states[index].status & BROKEN) != 0u
        || (states[b].status & QUARANTINED) != 0u;
    if !world {
        gone = gone || (states[a].status & QUARANTINED) != 0u;
    }
    if sleeps {
        flags &= ~ROW_COUNT_MASK;
    } else if gone {
        for (var row = first; row < end; row += 1u) {
            joint_impulses[row] = vec2<f32>(0.0);
        }
        flags &= ~ROW_COUNT_MASK;
        if is_gear {
            joint_states[index].status |= DISENGAGED;
        }
    } else if swings {
        inv_inertia_a = stiffened(inv_inertia_a, -dot(r_a, tension_a));
        inv_inertia_b = stiffened(inv_inertia_b, dot(r_b, tension));
    }
    joint_frames[index].body_a = a;
    joint_frames[index].body_b = b;
    joint_frames[index].first_row = first;
    joint_frames[index].flags = flags;
    joint_frames[index].r_a = r_a;
    joint_frames[index].r_b = r_b;
    joint_frames[index].between = between;
    joint_frames[index].axis = axis;
    joint_frames[index].inv_mass_a = inv_mass_a;
    joint_frames[index].inv_inertia_a = inv_inertia_a;
    joint_frames[index].inv_mass_b = bodies[b].inv_mass * share_b;
    joint_frames[index].inv_inertia_b = inv_inertia_b;
    joint_frames[index].angle = angle;
    joint_frames[index].ratio = joint.ratio;
}
