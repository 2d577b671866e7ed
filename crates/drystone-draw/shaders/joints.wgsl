// Joints, six marks each: a thin line from each body to its anchor, a connection between the anchors, a sign at each
// anchor, and a frame for an anchor in the world. Twin on the CPU: src/joints.rs.

//#import types
//#import pose
//#import math
//#import draw/view
//#import draw/palette
//#import draw/marks
//#import draw/anchors

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> joints: array<JointData>;
@group(0) @binding(3) var<storage, read> joint_states: array<JointState>;
@group(0) @binding(4) var<storage, read> joint_rows: array<JointRow>;

// Values of JointKind, from 0 (src/scene/joint.rs).
const DISTANCE_JOINT: u32 = 0u;
const SPRING_JOINT: u32 = 1u;
const REVOLUTE_JOINT: u32 = 2u;
const PRISMATIC_JOINT: u32 = 3u;
const WHEEL_JOINT: u32 = 4u;
const WELD_JOINT: u32 = 5u;
const MOTOR_JOINT: u32 = 6u;
const MOUSE_JOINT: u32 = 7u;
const VELOCITY_JOINT: u32 = 8u;
const GEAR_JOINT: u32 = 9u;
const PULLEY_JOINT: u32 = 10u;

const JOINT_MARKS: u32 = 6u;
const DISABLED_OPACITY: f32 = 0.35;
const ARM_OPACITY: f32 = 0.55;

@vertex
fn joint_vertex(@builtin(vertex_index) vertex: u32) -> Mark {
    let index = vertex / (6u * JOINT_MARKS);
    if index >= min(view.joint_count, arrayLength(&joints)) {
        return no_mark();
    }
    let joint = joints[index];
    let bodies = arrayLength(&poses);
    let broken = index < arrayLength(&joint_states) && (joint_states[index].status & BROKEN) != 0u;
    if (joint.flags & JOINT_VACANT) != 0u || broken || joint.body_a >= bodies || joint.body_b >= bodies {
        return no_mark();
    }
    let kind = (joint.flags >> JOINT_TYPE_SHIFT) & 15u;
    let in_world = (joint.flags & WORLD_A) != 0u;
    let pose_a = poses[joint.body_a];
    let pose_b = poses[joint.body_b];
    let anchors = joint_anchors(joint, pose_a, pose_b);
    let a = to_pixel(anchors.a);
    let b = to_pixel(anchors.b);
    let way = rotate(anchors.turn_a, joint.axis);
    let axis = vec2<f32>(way.x, -way.y);

    let unit = view.unit;
    let size = joint_sign_size();
    var color = vec4<f32>(view.joint.rgb, select(1.0, DISABLED_OPACITY, (joint.flags & JOINT_DISABLED) != 0u));
    // Where bodies are a few pixels wide, only the connection between the anchors is drawn.
    let detail = color.a * clamp((view.length - 2.0) / 6.0, 0.0, 1.0);
    let pen = min(0.8 * unit, 0.15 * view.length + 0.25);
    let sign_color = vec4<f32>(color.rgb, detail);
    let arm_color = vec4<f32>(color.rgb, detail * ARM_OPACITY);
    let slides = kind == PRISMATIC_JOINT || kind == WHEEL_JOINT;
    if kind == VELOCITY_JOINT {
        // It holds no distance: its anchor on A means nothing.
        let form = select(MARK_NONE, MARK_SQUARE, (vertex / 6u) % JOINT_MARKS == 4u);
        return make_mark(vertex, form, b, b + vec2<f32>(1.0, 1.0), 0.0, 0.9 * size, sign_color);
    }
    if kind == PULLEY_JOINT && joint.first_row < arrayLength(&joint_rows) {
        let row = joint_rows[joint.first_row];
        let over_a = to_pixel(joint.axis - view.center);
        let over_b = to_pixel(vec2<f32>(row.goal_y, row.ground_y) - view.center);
        return rope_mark(vertex, over_a, a, over_b, b, 1.4 * pen, color, size, sign_color);
    }
    switch (vertex / 6u) % JOINT_MARKS {
        case 0u: {
            let fixed_a = (joint.flags & JOINT_FIXED_A) != 0u;
            let form = select(MARK_LINE, MARK_NONE, fixed_a);
            return make_mark(vertex, form, to_pixel(vector_from(view.center, pose_a)), a, 0.5 * unit, 0.0, arm_color);
        }
        case 1u: {
            let form = select(MARK_LINE, MARK_NONE, (joint.flags & JOINT_FIXED_B) != 0u);
            return make_mark(vertex, form, to_pixel(vector_from(view.center, pose_b)), b, 0.5 * unit, 0.0, arm_color);
        }
        case 2u: {
            if slides {
                // The rail, a little longer than the distance to B.
                let travel = dot(b - a, axis);
                let over = max(0.35 * view.length, 2.0 * size);
                let start = a + axis * (min(travel, 0.0) - over);
                return make_mark(vertex, MARK_LINE, start, a + axis * (max(travel, 0.0) + over), pen, 0.0, color);
            }
            if kind == SPRING_JOINT {
                let wide = min(1.1 * size, 0.2 * length(b - a));
                return make_mark(vertex, MARK_ZIGZAG, a, b, pen, wide, color);
            }
            if kind == MOTOR_JOINT || kind == MOUSE_JOINT || kind == GEAR_JOINT {
                return make_mark(vertex, MARK_DASHES, a, b, pen, 0.0, color);
            }
            // For a hinge or a weld this line shows the position error.
            return make_mark(vertex, MARK_LINE, a, b, pen * select(1.0, 1.4, kind == DISTANCE_JOINT), 0.0, color);
        }
        case 3u: {
            if kind == REVOLUTE_JOINT {
                return make_mark(vertex, MARK_RING, a, b, 0.8 * unit, size, sign_color);
            }
            if kind == WELD_JOINT {
                return make_mark(vertex, MARK_SQUARE, a, a + axis, 0.0, 0.75 * size, sign_color);
            }
            if kind == MOTOR_JOINT {
                return make_mark(vertex, MARK_SQUARE, a, a + vec2<f32>(1.0, 1.0), 0.0, 0.9 * size, sign_color);
            }
            if kind == GEAR_JOINT {
                return make_mark(vertex, MARK_RING, a, a, 0.8 * unit, 1.2 * size, sign_color);
            }
            if kind == MOUSE_JOINT {
                return make_mark(vertex, MARK_CROSS, a, a, 0.8 * unit, 1.4 * size, sign_color);
            }
            return make_mark(vertex, MARK_DISC, a, a, 0.0, 0.55 * size, sign_color);
        }
        case 4u: {
            if kind == REVOLUTE_JOINT || kind == WELD_JOINT {
                return make_mark(vertex, MARK_DISC, b, b, 0.0, 0.35 * size, sign_color);
            }
            if kind == PRISMATIC_JOINT {
                return make_mark(vertex, MARK_FRAME, b, b + axis, 0.8 * unit, size, sign_color);
            }
            if kind == WHEEL_JOINT || kind == GEAR_JOINT {
                return make_mark(vertex, MARK_RING, b, b, 0.8 * unit, 1.2 * size, sign_color);
            }
            return make_mark(vertex, MARK_DISC, b, b, 0.0, 0.55 * size, sign_color);
        }
        default: {
            // An anchor in the world is drawn in a frame.
            let form = select(MARK_NONE, MARK_FRAME, in_world && kind != MOUSE_JOINT);
            return make_mark(vertex, form, a, a, 0.6 * unit, 1.6 * size, sign_color);
        }
    }
}

// The marks of a pulley: its rope, with rings at the ground points.
fn rope_mark(
    vertex: u32, over_a: vec2<f32>, a: vec2<f32>, over_b: vec2<f32>, b: vec2<f32>,
    pen: f32, color: vec4<f32>, size: f32, sign_color: vec4<f32>,
) -> Mark {
    switch (vertex / 6u) % JOINT_MARKS {
        case 0u: {
            return make_mark(vertex, MARK_LINE, over_a, a, pen, 0.0, color);
        }
        case 1u: {
            return make_mark(vertex, MARK_LINE, over_b, b, pen, 0.0, color);
        }
        case 2u: {
            return make_mark(vertex, MARK_LINE, over_a, over_b, pen, 0.0, color);
        }
        case 3u: {
            return make_mark(vertex, MARK_RING, over_a, over_a, 0.8 * view.unit, size, sign_color);
        }
        case 4u: {
            return make_mark(vertex, MARK_RING, over_b, over_b, 0.8 * view.unit, size, sign_color);
        }
        default: {
            return no_mark();
        }
    }
}
