// Arrows of forces other than contact forces: the weight of each dynamic body at its centre of mass, and each joint's
// force on its bodies at the anchors. Same scale as the contact forces of contacts.wgsl.

//#import types
//#import pose
//#import math
//#import rope
//#import draw/view
//#import draw/marks
//#import draw/anchors

@group(0) @binding(1) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read> states: array<BodyState>;
@group(0) @binding(4) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(5) var<storage, read> joints: array<JointData>;
@group(0) @binding(6) var<storage, read> joint_states: array<JointState>;
@group(0) @binding(7) var<storage, read> joint_rows: array<JointRow>;
@group(0) @binding(8) var<storage, read> joint_impulses: array<vec2<f32>>;

// Opacity of arrows of sleeping bodies, as in contacts.wgsl.
const ASLEEP_OPACITY: f32 = 0.45;

/// Makes an arrow from a point, px, for the impulse of one substep, N·s.
fn force_mark(vertex: u32, at: vec2<f32>, impulse: vec2<f32>, asleep: bool, color: vec3<f32>) -> Mark {
    let far = held_back(vec2<f32>(impulse.x, -impulse.y) * view.force_arrow);
    // Arrows fade out where bodies are a few pixels wide.
    let shown = clamp((view.length - 1.5) / 6.0, 0.0, 1.0) * select(1.0, ASLEEP_OPACITY, asleep);
    let head = clamp(0.2 * view.length, 2.5 * view.unit, 6.0 * view.unit);
    let form = select(MARK_NONE, MARK_ARROW, dot(far, far) > 1.0);
    return make_mark(vertex, form, at, at + far, 0.9 * view.unit, head, vec4<f32>(color, shown));
}

@vertex
fn weight_vertex(@builtin(vertex_index) vertex: u32) -> Mark {
    let index = vertex / 6u;
    let count = min(arrayLength(&bodies), min(arrayLength(&poses), arrayLength(&states)));
    if index >= min(view.body_count, count) || bodies[index].kind != DYNAMIC || bodies[index].inv_mass <= 0.0 {
        return no_mark();
    }
    let status = states[index].status;
    if (status & QUARANTINED) != 0u {
        return no_mark();
    }
    let impulse = params.gravity * (bodies[index].gravity_scale / bodies[index].inv_mass * params.h);
    let at = to_pixel(vector_from(view.center, poses[index]));
    return force_mark(vertex, at, impulse, (status & ASLEEP) != 0u, view.weight.rgb);
}

/// Returns the impulse of a joint on its body B in the last substep: `total` of src/stages/solve_joints.rs.
fn joint_impulse(joint: JointData, axis: vec2<f32>, between: vec2<f32>) -> vec2<f32> {
    var along = vec2<f32>(0.0, 1.0);
    if dot(between, between) > 0.0 {
        along = normalize(between);
    }
    var impulse = vec2<f32>(0.0);
    let end = min(joint.first_row + (joint.flags & ROW_COUNT_MASK), min(arrayLength(&joint_rows), arrayLength(&joint_impulses)));
    for (var row = joint.first_row; row < end; row += 1u) {
        let kind = joint_rows[row].kind;
        let geometry = kind & ROW_GEOMETRY;
        let part = joint_impulses[row];
        let size = part.x * select(1.0, -1.0, (kind & ROW_ROLE) == ROW_UPPER);
        if geometry == ROW_POINT {
            impulse += rotate(axis, part);
        } else if geometry == ROW_AXIS {
            impulse += axis * size;
        } else if geometry == ROW_ACROSS {
            impulse += vec2<f32>(-axis.y, axis.x) * size;
        } else if geometry == ROW_ALONG {
            impulse += along * size;
        }
    }
    return impulse;
}

/// Returns the impulse of a pulley on one of its bodies: along its side of the rope.
fn rope_impulse(joint: JointData, anchors: Anchors, on_b: bool) -> vec2<f32> {
    let row = joint.first_row;
    if row >= min(arrayLength(&joint_rows), arrayLength(&joint_impulses)) {
        return vec2<f32>(0.0);
    }
    let ground_b = vec2<f32>(joint_rows[row].goal_y, joint_rows[row].ground_y);
    let line = select(anchors.a - (joint.axis - view.center), anchors.b - (ground_b - view.center), on_b);
    if dot(line, line) > 0.0 {
        return normalize(line) * -(joint_impulses[row].x * select(1.0, joint.ratio, on_b));
    }
    return vec2<f32>(0.0);
}

@vertex
fn pull_vertex(@builtin(vertex_index) vertex: u32) -> Mark {
    let index = vertex / 12u;
    if index >= min(view.joint_count, min(arrayLength(&joints), arrayLength(&joint_states))) {
        return no_mark();
    }
    let joint = joints[index];
    let count = min(arrayLength(&poses), arrayLength(&states));
    let acts = (joint.flags & (JOINT_VACANT | JOINT_DISABLED)) == 0u && (joint_states[index].status & BROKEN) == 0u;
    if !acts || joint.body_a >= count || joint.body_b >= count {
        return no_mark();
    }
    let anchors = joint_anchors(joint, poses[joint.body_a], poses[joint.body_b]);
    let on_b = (vertex / 6u) % 2u == 1u;
    // No arrow on a body that cannot move.
    let in_world = (joint.flags & WORLD_A) != 0u;
    if (joint.flags & select(JOINT_FIXED_A, JOINT_FIXED_B, on_b)) != 0u || (in_world && !on_b) {
        return no_mark();
    }
    let of_joint = joint_impulse(joint, rotate(anchors.turn_a, joint.axis), anchors.b - anchors.a);
    var impulse = select(-of_joint, of_joint, on_b);
    if is_pulley(joint.flags) {
        impulse = rope_impulse(joint, anchors, on_b);
    }
    let body = select(joint.body_a, joint.body_b, on_b);
    let asleep = (states[body].status & ASLEEP) != 0u;
    let at = to_pixel(select(anchors.a, anchors.b, on_b));
    return force_mark(vertex, at, impulse, asleep, view.joint_force.rgb);
}
