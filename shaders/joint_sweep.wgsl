// Loops of a sweep over the joints, and the geometry of a joint. Shared by warm_start_joints, solve_joints,
// project_joints and fused, each of which defines `each_joint` and `each_tree`. As in sweep.wgsl, except that the host
// knows the number of joints of a colour. joint_starts is `JointTable::starts`: the start of the list of each colour,
// the end of each, the start and the number of the trees of hinges (src/stages/solve_joints/tree.rs), then the lists.

//#import types
//#import math
//#import constants
//#import rope

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> joint_frames: array<JointFrame>;
@group(0) @binding(2) var<storage, read> joint_rows: array<JointRow>;
@group(0) @binding(3) var<storage, read> joint_starts: array<u32>;
@group(0) @binding(4) var<storage, read_write> joint_impulses: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(6) var<storage, read_write> accumulators: array<Accumulator>;
@group(0) @binding(7) var<storage, read_write> joint_trees: array<TreeRow>;
@group(1) @binding(0) var<uniform> sweep: Sweep;

fn wide_joints(workgroup: vec3<u32>, workgroups: vec3<u32>, lane: u32) {
    let turn = joint_starts[sweep.first_color] + flat_index(workgroup, workgroups, LANES, lane);
    if turn < joint_starts[JOINT_COLORS + sweep.first_color] {
        each_joint(joint_starts[turn]);
    }
}

// Run by one workgroup with `all_lanes` lanes, as `tail` in sweep.wgsl. The colour after the last is that of the trees,
// each of which one lane solves.
fn tail_joints(lane: u32, all_lanes: u32, first_color: u32, end_color: u32) {
    for (var color = first_color; color < min(end_color, JOINT_COLORS); color += 1u) {
        let start = joint_starts[color];
        let end = joint_starts[JOINT_COLORS + color];
        if start < end {
            storageBarrier();
            // One lane solves the overflow, in order.
            let lanes = select(all_lanes, 1u, color == JOINT_OVERFLOW);
            if lane < lanes {
                for (var turn = start + lane; turn < end; turn += lanes) {
                    each_joint(joint_starts[turn]);
                }
            }
        }
    }
    let trees = joint_starts[JOINT_TREES + 1u];
    if end_color > JOINT_COLORS && trees > 0u {
        storageBarrier();
        for (var tree = lane; tree < trees; tree += all_lanes) {
            each_tree(joint_starts[joint_starts[JOINT_TREES] + tree]);
        }
    }
}

// Words of a body of the tree at `tree`: its hinge, with TREE_CHILD_A, and the row of its parent.
fn tree_hinge(tree: u32, body: u32) -> u32 {
    return joint_starts[tree + 2u + 2u * body];
}

fn tree_parent(tree: u32, body: u32) -> u32 {
    return joint_starts[tree + 3u + 2u * body];
}

// The hinge has rows to solve.
fn is_held(hinge: u32) -> bool {
    if hinge == NONE {
        return false;
    }
    return (joint_frames[hinge & ~TREE_CHILD_A].flags & ROW_COUNT_MASK) > 0u;
}

fn tree_is_at_rest(tree: u32) -> bool {
    let count = joint_starts[tree + 1u];
    for (var body = 0u; body < count; body += 1u) {
        if is_held(tree_hinge(tree, body)) {
            return false;
        }
    }
    return true;
}

// Sets mass and inertia of the bodies, from what their hinges see of them.
fn weigh_tree(tree: u32) {
    let first = joint_starts[tree];
    let count = joint_starts[tree + 1u];
    for (var row = first; row < first + count; row += 1u) {
        joint_trees[row].mass = 0.0;
        joint_trees[row].inv_inertia = FAR;
        for (var part = 0u; part < 6u; part += 1u) {
            joint_trees[row].matrix[part] = 0.0;
        }
        for (var part = 0u; part < 3u; part += 1u) {
            joint_trees[row].inverse[part] = 0.0;
            joint_trees[row].push[part] = 0.0;
        }
        joint_trees[row].rest[0] = 0.0;
        joint_trees[row].rest[1] = 0.0;
        joint_trees[row].at[0] = 0.0;
        joint_trees[row].at[1] = 0.0;
        joint_trees[row].most = 0.0;
    }
    for (var body = 0u; body < count; body += 1u) {
        let hinge = tree_hinge(tree, body);
        if hinge == NONE {
            continue;
        }
        let joint = hinge & ~TREE_CHILD_A;
        let parent = tree_parent(tree, body);
        let a = vec2<f32>(joint_frames[joint].inv_mass_a, joint_frames[joint].inv_inertia_a);
        let b = vec2<f32>(joint_frames[joint].inv_mass_b, joint_frames[joint].inv_inertia_b);
        let child_a = (hinge & TREE_CHILD_A) != 0u;
        see_body(first + body, select(b, a, child_a));
        if parent != NONE {
            see_body(parent, select(a, b, child_a));
        }
    }
}

// Takes mass and inertia of a body from what a hinge sees of it.
fn see_body(row: u32, seen: vec2<f32>) {
    joint_trees[row].mass = 1.0 / seen.x;
    joint_trees[row].inv_inertia = min(joint_trees[row].inv_inertia, seen.y);
}

// The stance of a body's hinge, with the inertias of the tree.
fn tree_stance(tree: u32, body: u32) -> Stance {
    let hinge = tree_hinge(tree, body);
    var stance = stance_now(hinge & ~TREE_CHILD_A);
    let child = joint_trees[joint_starts[tree] + body].inv_inertia;
    let parent_row = tree_parent(tree, body);
    var parent = 0.0;
    if parent_row != NONE {
        parent = joint_trees[parent_row].inv_inertia;
    }
    let child_a = (hinge & TREE_CHILD_A) != 0u;
    stance.inv_inertia_a = select(parent, child, child_a);
    stance.inv_inertia_b = select(child, parent, child_a);
    return stance;
}

// Adds `share` times the velocity changes due to the impulses of the hinges to the sums of their bodies.
fn add_up_tree(tree: u32, share: f32) {
    for (var body = joint_starts[tree + 1u]; body > 0u; body -= 1u) {
        let hinge = tree_hinge(tree, body - 1u);
        if is_held(hinge) {
            accumulate(hinge & ~TREE_CHILD_A, tree_stance(tree, body - 1u), share);
        }
    }
}

// Geometry of a joint at the current positions of its bodies (src/stages/solve_joints.rs).
struct Stance {
    arm_a: vec2<f32>,
    arm_b: vec2<f32>,
    between: vec2<f32>,
    axis: vec2<f32>,
    angle: f32,
    turn_a: vec2<f32>,
    turn_b: vec2<f32>,
    ratio: f32,
    inv_mass_a: f32,
    inv_inertia_a: f32,
    inv_mass_b: f32,
    inv_inertia_b: f32,
}

fn stance_of(joint: u32, p_a: vec2<f32>, q_a: vec2<f32>, p_b: vec2<f32>, q_b: vec2<f32>) -> Stance {
    let r_a = joint_frames[joint].r_a;
    let r_b = joint_frames[joint].r_b;
    var between = joint_frames[joint].between + ((p_b - p_a) + (turned(q_b, r_b) - turned(q_a, r_a)));
    var arm_a = rotate(q_a, r_a) + between;
    var axis = rotate(q_a, joint_frames[joint].axis);
    if is_pulley(joint_frames[joint].flags) {
        arm_a = rotate(q_a, r_a);
        between = joint_frames[joint].between + (p_b + turned(q_b, r_b));
        axis = joint_frames[joint].axis + (p_a + turned(q_a, r_a));
    }
    return Stance(
        arm_a,
        rotate(q_b, r_b),
        between,
        axis,
        joint_frames[joint].angle,
        q_a,
        q_b,
        joint_frames[joint].ratio,
        joint_frames[joint].inv_mass_a,
        joint_frames[joint].inv_inertia_a,
        joint_frames[joint].inv_mass_b,
        joint_frames[joint].inv_inertia_b,
    );
}

// Computes the geometry from the motion of the bodies since the step began. The world never moves.
fn stance_now(joint: u32) -> Stance {
    let a = joint_frames[joint].body_a;
    let b = joint_frames[joint].body_b;
    var p_a = vec2<f32>(0.0);
    var q_a = vec2<f32>(1.0, 0.0);
    if (joint_frames[joint].flags & WORLD_A) == 0u {
        p_a = states[a].delta_position;
        q_a = states[a].delta_rotation;
    }
    return stance_of(joint, p_a, q_a, states[b].delta_position, states[b].delta_rotation);
}

fn direction(stance: Stance, geometry: u32) -> vec2<f32> {
    if geometry == ROW_AXIS {
        return stance.axis;
    }
    if geometry == ROW_ACROSS {
        return vec2<f32>(-stance.axis.y, stance.axis.x);
    }
    if geometry == ROW_PULLEY {
        return rope(stance.between) * stance.ratio;
    }
    let size = length(stance.between);
    if size > 0.0 {
        return stance.between / size;
    }
    return vec2<f32>(0.0, 1.0);
}

// Returns the impulse whose opposite acts on A where a row pushes B by `size` with the impulse `on_b`.
fn push_on_a(stance: Stance, geometry: u32, size: f32, on_b: vec2<f32>) -> vec2<f32> {
    if geometry == ROW_PULLEY {
        return rope(stance.axis) * -size;
    }
    return on_b;
}

fn position(stance: Stance, geometry: u32) -> f32 {
    if geometry == ROW_ANGLE {
        if stance.ratio == 1.0 {
            return stance.angle + angle_of(inv_mul_rotation(stance.turn_a, stance.turn_b));
        }
        return stance.angle + (angle_of(stance.turn_b) - stance.ratio * angle_of(stance.turn_a));
    }
    if geometry == ROW_ALONG {
        return length(stance.between);
    }
    if geometry == ROW_PULLEY {
        return length(stance.axis) + stance.ratio * length(stance.between);
    }
    return dot(stance.between, direction(stance, geometry));
}

fn side(kind: u32) -> f32 {
    return select(1.0, -1.0, (kind & ROW_ROLE) == ROW_UPPER);
}

fn inverse_mass(stance: Stance, geometry: u32) -> f32 {
    if geometry == ROW_ANGLE {
        return stance.inv_inertia_a * (stance.ratio * stance.ratio) + stance.inv_inertia_b;
    }
    let along = direction(stance, geometry);
    if geometry == ROW_PULLEY {
        let at_a = rope(stance.axis);
        let arm_a = cross_2d(stance.arm_a, at_a);
        let arm_b = cross_2d(stance.arm_b, along);
        let masses = stance.inv_mass_a * dot(at_a, at_a) + stance.inv_mass_b * dot(along, along);
        return masses + stance.inv_inertia_a * arm_a * arm_a + stance.inv_inertia_b * arm_b * arm_b;
    }
    let arm_a = cross_2d(stance.arm_a, along);
    let arm_b = cross_2d(stance.arm_b, along);
    return stance.inv_mass_a + stance.inv_mass_b
        + stance.inv_inertia_a * arm_a * arm_a + stance.inv_inertia_b * arm_b * arm_b;
}

// Inverse effective mass matrix of a point: xx, xy, yy of a symmetric matrix.
fn inverse_point_mass(stance: Stance, r_a: vec2<f32>, r_b: vec2<f32>) -> vec3<f32> {
    let both = stance.inv_mass_a + stance.inv_mass_b;
    return vec3<f32>(
        both + stance.inv_inertia_a * r_a.y * r_a.y + stance.inv_inertia_b * r_b.y * r_b.y,
        -stance.inv_inertia_a * r_a.x * r_a.y - stance.inv_inertia_b * r_b.x * r_b.y,
        both + stance.inv_inertia_a * r_a.x * r_a.x + stance.inv_inertia_b * r_b.x * r_b.x,
    );
}

fn solve_symmetric(k: vec3<f32>, b: vec2<f32>) -> vec2<f32> {
    let determinant = k.x * k.z - k.y * k.y;
    if determinant > 0.0 {
        return vec2<f32>(k.z * b.x - k.y * b.y, k.x * b.y - k.y * b.x) / determinant;
    }
    return vec2<f32>(0.0);
}

fn shortened(v: vec2<f32>, most: f32) -> vec2<f32> {
    let size = length(v);
    if size > most {
        return v * (most / size);
    }
    return v;
}

// Adds `share` times the velocity changes due to a joint's impulses to the sums of its bodies.
fn accumulate(joint: u32, stance: Stance, share: f32) {
    let flags = joint_frames[joint].flags;
    let first = joint_frames[joint].first_row;
    let end = first + (flags & ROW_COUNT_MASK);
    var impulse = vec2<f32>(0.0);
    var spin = 0.0;
    for (var row = first; row < end; row += 1u) {
        let kind = joint_rows[row].kind;
        let geometry = kind & ROW_GEOMETRY;
        let part = joint_impulses[row];
        if geometry == ROW_POINT {
            impulse += rotate(stance.axis, part);
        } else if geometry == ROW_ANGLE {
            spin += side(kind) * part.x;
        } else {
            impulse += direction(stance, geometry) * (side(kind) * part.x);
        }
    }
    var on_a = impulse;
    if first < end {
        on_a = push_on_a(
            stance, joint_rows[first].kind & ROW_GEOMETRY, side(joint_rows[first].kind) * joint_impulses[first].x, impulse,
        );
    }
    on_a *= share;
    impulse *= share;
    spin *= share;
    if (flags & JOINT_FIXED_A) == 0u {
        let a = joint_frames[joint].body_a;
        accumulators[a].velocity -= on_a * stance.inv_mass_a;
        accumulators[a].angular_velocity -=
            stance.inv_inertia_a * (cross_2d(stance.arm_a, on_a) + stance.ratio * spin);
    }
    if (flags & JOINT_FIXED_B) == 0u {
        let b = joint_frames[joint].body_b;
        accumulators[b].velocity += impulse * stance.inv_mass_b;
        accumulators[b].angular_velocity += stance.inv_inertia_b * (cross_2d(stance.arm_b, impulse) + spin);
    }
}
