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

// Returns the velocity of a row that is neither an angle nor a point.
fn velocity_along(motion: Motion, stance: Stance, geometry: u32) -> f32 {
    let along = direction(stance, geometry);
    if geometry == ROW_PULLEY {
        let at_a = motion.v_a + cross_scalar(motion.w_a, stance.arm_a);
        let at_b = motion.v_b + cross_scalar(motion.w_b, stance.arm_b);
        return dot(at_a, rope(stance.axis)) + dot(at_b, along);
    }
    return dot(velocity_of(motion, stance), along);
}

// Applies an impulse and an angular impulse to B, and opposite ones to A, the angular one by the ratio.
fn pushed(motion: Motion, stance: Stance, on_a: vec2<f32>, on_b: vec2<f32>, spin: f32) -> Motion {
    return Motion(
        motion.v_a - on_a * stance.inv_mass_a,
        motion.w_a - stance.inv_inertia_a * (cross_2d(stance.arm_a, on_a) + stance.ratio * spin),
        motion.v_b + on_b * stance.inv_mass_b,
        motion.w_b + stance.inv_inertia_b * (cross_2d(stance.arm_b, on_b) + spin),
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
        velocity = sign * (motion.w_b - stance.ratio * motion.w_a);
    } else {
        velocity = sign * velocity_along(motion, stance, geometry);
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
    var low = -high;
    if limit {
        low = 0.0;
    } else if (kind & ROW_RANGED) != 0u {
        low = joint_rows[row].softness[2];
    }
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
    let role = joint_rows[row].kind & ROW_ROLE;
    if role == ROW_SPRING {
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
    } else if role == ROW_MOTOR {
        let goal = vec2<f32>(joint_rows[row].goal, joint_rows[row].goal_y);
        wanted = -solve_symmetric(k, velocity - rotate(stance.axis, goal));
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
    solve_at(joint, stance_now(joint), sweep_flags);
}

fn solve_at(joint: u32, stance: Stance, sweep_flags: u32) {
    let a = joint_frames[joint].body_a;
    let b = joint_frames[joint].body_b;
    let flags = joint_frames[joint].flags;
    let first = joint_frames[joint].first_row;
    let end = first + (flags & ROW_COUNT_MASK);
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
        if (sweep_flags & HELD) != 0u && (kind & ROW_ROLE) == ROW_EQUALITY {
            if (sweep_flags & FRESH) != 0u {
                joint_impulses[row] = vec2<f32>(0.0);
            }
            continue;
        }
        if (sweep_flags & HELD_ALONE) != 0u && (kind & ROW_ROLE) != ROW_EQUALITY {
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
            motion = pushed(motion, stance, next - old, next - old, 0.0);
            next = inv_rotate(stance.axis, next);
        } else {
            next.x = solve_row(row, stance, motion, old.x, use_bias);
            let size = side(kind) * (next.x - old.x);
            if geometry == ROW_ANGLE {
                motion = pushed(motion, stance, vec2<f32>(0.0), vec2<f32>(0.0), size);
            } else {
                let on_b = direction(stance, geometry) * size;
                motion = pushed(motion, stance, push_on_a(stance, geometry, size, on_b), on_b, 0.0);
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

// Trees of hinges, welds and sliders: src/stages/solve_joints/tree.rs.

// Adds the body's own mass to what its children add to it, and replaces the sum by its factors.
fn factor_tree_row(row: u32) {
    let mass = joint_trees[row].mass;
    let inv_inertia = joint_trees[row].inv_inertia;
    let at = point_of_reference(row);
    let m = joint_trees[row].matrix;
    let xw = m[2] + mass * at.y;
    let yw = m[4] - mass * at.x;
    let first = mass + m[0];
    let to_y = m[1] / first;
    let to_w = xw / first;
    let second = max(mass + (m[3] - to_y * m[1]), mass);
    let mixed = yw - to_y * xw;
    let across = mixed / second;
    let felt = ((m[5] + mass * dot(at, at)) - to_w * xw) - across * mixed;
    let third = inv_inertia / (1.0 + inv_inertia * max(felt, 0.0));
    joint_trees[row].matrix = array<f32, 6>(1.0 / first, to_y, to_w, 1.0 / second, across, third);
}

fn point_of_reference(row: u32) -> vec2<f32> {
    return vec2<f32>(joint_trees[row].at[0], joint_trees[row].at[1]);
}

// Adds the body's own mass to what its children add to it.
fn gather_tree_row(row: u32) {
    let mass = joint_trees[row].mass;
    let at = point_of_reference(row);
    let m = joint_trees[row].matrix;
    let turn = m[5] + (mass * dot(at, at) + 1.0 / joint_trees[row].inv_inertia);
    joint_trees[row].matrix =
        array<f32, 6>(mass + m[0], m[1], m[2] + mass * at.y, mass + m[3], m[4] - mass * at.x, turn);
}

// Returns a mass for a point of reference that is elsewhere by a vector.
fn seen_from(m: array<f32, 6>, by: vec2<f32>) -> array<f32, 6> {
    let of_x = m[0] * by.y - m[1] * by.x;
    let of_y = m[1] * by.y - m[3] * by.x;
    let turn = m[5] + 2.0 * (m[2] * by.y - m[4] * by.x) + (of_x * by.y - of_y * by.x);
    return array<f32, 6>(m[0], m[1], m[2] + of_x, m[3], m[4] + of_y, turn);
}

// Returns a mass times a velocity.
fn times(m: array<f32, 6>, v: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(
        m[0] * v.x + m[1] * v.y + m[2] * v.z,
        m[1] * v.x + m[3] * v.y + m[4] * v.z,
        m[2] * v.x + m[4] * v.y + m[5] * v.z,
    );
}

fn rest_of(row: u32) -> vec3<f32> {
    return vec3<f32>(joint_trees[row].rest[0], joint_trees[row].rest[1], joint_trees[row].rest[2]);
}

// Adds the mass that a child shows at a lever arm, with moments, and its push.
fn load_at(row: u32, shown: array<f32, 6>, push: vec3<f32>, arm: vec2<f32>) {
    if shown[0] + shown[3] > joint_trees[row].most {
        joint_trees[row].most = shown[0] + shown[3];
        refer_to(row, arm);
    }
    let added = seen_from(shown, point_of_reference(row) - arm);
    joint_trees[row].matrix[0] += added[0];
    joint_trees[row].matrix[1] += added[1];
    joint_trees[row].matrix[2] += added[2];
    joint_trees[row].matrix[3] += added[3];
    joint_trees[row].matrix[4] += added[4];
    joint_trees[row].matrix[5] += added[5];
    push_at(row, push.xy, arm);
    joint_trees[row].push[2] += push.z;
}

// Returns the change of velocity by a push, given the factors.
fn answer(row: u32, push: vec3<f32>) -> vec3<f32> {
    let m = joint_trees[row].matrix;
    let y_alone = push.y - m[1] * push.x;
    let turned = m[5] * ((push.z - m[2] * push.x) - m[4] * y_alone);
    let moved_y = m[3] * y_alone - m[4] * turned;
    let moved_x = (m[0] * push.x - m[1] * moved_y) - m[2] * turned;
    return vec3<f32>(moved_x, moved_y, turned);
}

fn push_of(row: u32) -> vec3<f32> {
    return vec3<f32>(joint_trees[row].push[0], joint_trees[row].push[1], joint_trees[row].push[2]);
}

fn push_at(row: u32, impulse: vec2<f32>, arm: vec2<f32>) {
    joint_trees[row].push[0] += impulse.x;
    joint_trees[row].push[1] += impulse.y;
    joint_trees[row].push[2] += cross_2d(arm - point_of_reference(row), impulse);
}

// Adds the mass that a child shows at a lever arm. The largest decides the point of reference.
fn load_row(row: u32, shown: vec3<f32>, arm: vec2<f32>) {
    if shown.x + shown.z > joint_trees[row].most {
        joint_trees[row].most = shown.x + shown.z;
        refer_to(row, arm);
    }
    let off = arm - point_of_reference(row);
    let of_x = off.x * shown.y - off.y * shown.x;
    let of_y = off.x * shown.z - off.y * shown.y;
    joint_trees[row].matrix[0] += shown.x;
    joint_trees[row].matrix[1] += shown.y;
    joint_trees[row].matrix[2] += of_x;
    joint_trees[row].matrix[3] += shown.z;
    joint_trees[row].matrix[4] += of_y;
    joint_trees[row].matrix[5] += off.x * of_y - off.y * of_x;
}

// Moves the point of reference.
fn refer_to(row: u32, at: vec2<f32>) {
    let by = at - point_of_reference(row);
    joint_trees[row].matrix = seen_from(joint_trees[row].matrix, by);
    let push = push_of(row);
    joint_trees[row].push[2] = push.z - cross_2d(by, push.xy);
    joint_trees[row].at = array<f32, 2>(at.x, at.y);
}

// Returns the velocity of a point at a lever arm, given that of the point of reference.
fn velocity_at(row: u32, moved: vec3<f32>, arm: vec2<f32>) -> vec2<f32> {
    let off = arm - point_of_reference(row);
    return vec2<f32>(moved.x - moved.z * off.y, moved.y + moved.z * off.x);
}

fn applied(matrix: vec3<f32>, v: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(matrix.x * v.x + matrix.y * v.y, matrix.y * v.x + matrix.z * v.y);
}

fn last_row(joint: u32) -> u32 {
    return joint_frames[joint].first_row + (joint_frames[joint].flags & ROW_COUNT_MASK) - 1u;
}

fn held_geometry(row: u32) -> u32 {
    return joint_rows[row].kind & (ROW_GEOMETRY | ROW_ROLE);
}

// Returns true for a slider: its last row does not hold a point.
fn is_slider(joint: u32) -> bool {
    return held_geometry(last_row(joint)) != (ROW_POINT | ROW_EQUALITY);
}

// Returns true if the last row but one holds the angle: that of a weld or a slider.
fn holds_angle(joint: u32) -> bool {
    return (joint_frames[joint].flags & ROW_COUNT_MASK) > 1u
        && held_geometry(last_row(joint) - 1u) == (ROW_ANGLE | ROW_EQUALITY);
}

// A joint of a tree as the elimination sees it: lever arms on the child and the parent, and 1 if the child is B, or
// -1 if it is A.
struct HingeArms {
    child: vec2<f32>,
    parent: vec2<f32>,
    side: f32,
}

fn hinge_arms(hinge: u32, stance: Stance) -> HingeArms {
    if (hinge & TREE_CHILD_A) != 0u {
        return HingeArms(stance.arm_a, stance.arm_b, -1.0);
    }
    return HingeArms(stance.arm_b, stance.arm_a, 1.0);
}

// Returns the lever arm of the child's point of reference on the parent.
fn on_parent(child: u32, hinge: HingeArms) -> vec2<f32> {
    return point_of_reference(child) + (hinge.parent - hinge.child);
}

// Returns the fastest pull by which a joint takes back what it has stretched; 0 without bias.
fn fastest_pull(motion: Motion, stance: Stance, use_bias: bool) -> f32 {
    if !use_bias {
        return 0.0;
    }
    let a = motion.w_a * motion.w_a * length(stance.arm_a);
    let b = motion.w_b * motion.w_b * length(stance.arm_b);
    return TREE_PULL * params.push_speed + params.h * (a + b);
}

// Returns the fastest turn by which a joint takes back what it has bent.
fn fastest_turn(pull: f32, stance: Stance) -> f32 {
    return pull / max(length(stance.arm_a) + length(stance.arm_b), MIN_LENGTH);
}

// Returns the velocity that a row has to make up for.
fn missing_in(row: u32, velocity: f32, stance: Stance, side: f32, most: f32) -> f32 {
    let bias = joint_rows[row].softness[0]
        * (position(stance, joint_rows[row].kind & ROW_GEOMETRY) - joint_rows[row].goal);
    return -((velocity + max(min(bias, most), -most)) * side);
}

// Returns the velocity of the anchor that a hinge or a weld has to make up for.
fn missing_at(row: u32, motion: Motion, stance: Stance, side: f32, most: f32) -> vec2<f32> {
    let bias = shortened(stance.between * joint_rows[row].softness[0], most);
    return -((velocity_of(motion, stance) + bias) * side);
}

// Returns the inverse of a symmetric matrix; 0 if it has none.
fn inverse_of(m: vec3<f32>) -> vec3<f32> {
    let determinant = m.x * m.z - m.y * m.y;
    if determinant > 0.0 {
        return vec3<f32>(m.z / determinant, -m.y / determinant, m.x / determinant);
    }
    return vec3<f32>(0.0);
}

fn inverse_at(row: u32) -> vec3<f32> {
    return vec3<f32>(joint_trees[row].inverse[0], joint_trees[row].inverse[1], joint_trees[row].inverse[2]);
}

// Shows the parent the mass of a body on a hinge.
fn show_hinge(own: u32, parent: u32, hinge: HingeArms, missing: vec2<f32>) {
    factor_tree_row(own);
    let arm = hinge.child - point_of_reference(own);
    let of_x = answer(own, vec3<f32>(1.0, 0.0, -arm.y));
    let of_y = answer(own, vec3<f32>(0.0, 1.0, arm.x));
    let xx = of_x.x - arm.y * of_x.z;
    let xy = of_y.x - arm.y * of_y.z;
    let yy = of_y.y + arm.x * of_y.z;
    let inverse = inverse_of(vec3<f32>(xx, xy, yy));
    let rest = missing - velocity_at(own, answer(own, push_of(own)), hinge.child);
    joint_trees[own].inverse = array<f32, 3>(inverse.x, inverse.y, inverse.z);
    joint_trees[own].rest = array<f32, 3>(rest.x, rest.y, 0.0);
    if parent != NONE {
        load_row(parent, inverse, hinge.parent);
        push_at(parent, -applied(inverse, rest), hinge.parent);
    }
}

// Shows the parent the mass of a body on a weld: all of it, and what its missing velocity and its children push.
fn show_weld(own: u32, parent: u32, hinge: HingeArms, missing: vec2<f32>, spin: f32) {
    gather_tree_row(own);
    let at = missing + cross_scalar(spin, point_of_reference(own) - hinge.child);
    joint_trees[own].rest = array<f32, 3>(at.x, at.y, spin);
    if parent != NONE {
        let m = joint_trees[own].matrix;
        load_at(parent, m, push_of(own) - times(m, vec3<f32>(at, spin)), on_parent(own, hinge));
    }
}

// Shows the parent the mass of a body on a slider: that across it, and against turning.
fn show_slider(own: u32, parent: u32, hinge: HingeArms, across: vec2<f32>, missing: f32, spin: f32) {
    factor_tree_row(own);
    let velocity = missing + dot(across, cross_scalar(spin, point_of_reference(own) - hinge.child));
    let pushed = answer(own, vec3<f32>(across, 0.0));
    let turned = answer(own, vec3<f32>(0.0, 0.0, 1.0));
    let mass = inverse_of(vec3<f32>(dot(across, pushed.xy), pushed.z, turned.z));
    let moved = answer(own, push_of(own));
    let rest = vec2<f32>(velocity - dot(across, moved.xy), spin - moved.z);
    joint_trees[own].inverse = array<f32, 3>(mass.x, mass.y, mass.z);
    joint_trees[own].rest = array<f32, 3>(rest.x, rest.y, 0.0);
    if parent != NONE {
        let by = across * mass.x;
        let shown = array<f32, 6>(
            across.x * by.x, across.x * by.y, across.x * mass.y, across.y * by.y, across.y * mass.y, mass.z,
        );
        let impulse = -applied(mass, rest);
        let push = vec3<f32>(across * impulse.x, impulse.y);
        load_at(parent, shown, push, on_parent(own, hinge));
    }
}

// Eliminates the bodies, from the leaves to the root.
fn eliminate_tree(tree: u32, use_bias: bool) {
    let first = joint_starts[tree];
    let count = joint_starts[tree + 1u];
    for (var body = 0u; body < count; body += 1u) {
        let own = first + body;
        let entry = tree_hinge(tree, body);
        if !is_held(entry) {
            factor_tree_row(own);
            continue;
        }
        let joint = entry & ~TREE_CHILD_A;
        let parent = tree_parent(tree, body);
        let stance = tree_stance(tree, body);
        let a = joint_frames[joint].body_a;
        let b = joint_frames[joint].body_b;
        var motion = Motion(vec2<f32>(0.0), 0.0, states[b].velocity, states[b].angular_velocity);
        if (joint_frames[joint].flags & WORLD_A) == 0u {
            motion.v_a = states[a].velocity;
            motion.w_a = states[a].angular_velocity;
        }
        let hinge = hinge_arms(entry, stance);
        let row = last_row(joint);
        let most = fastest_pull(motion, stance, use_bias);
        if !holds_angle(joint) {
            show_hinge(own, parent, hinge, missing_at(row, motion, stance, hinge.side, most));
            continue;
        }
        let spin = missing_in(row - 1u, motion.w_b - motion.w_a, stance, hinge.side, fastest_turn(most, stance));
        if is_slider(joint) {
            let across = direction(stance, ROW_ACROSS);
            let velocity = dot(velocity_of(motion, stance), across);
            show_slider(own, parent, hinge, across, missing_in(row, velocity, stance, hinge.side, most), spin);
        } else {
            show_weld(own, parent, hinge, missing_at(row, motion, stance, hinge.side, most), spin);
        }
    }
}

// Adds the impulse of the hinge to the parent to the push, and returns it.
fn pull_hinge(own: u32, parent: u32, hinge: HingeArms) -> vec2<f32> {
    var missing = rest_of(own).xy;
    if parent != NONE {
        missing += velocity_at(parent, push_of(parent), hinge.parent);
    }
    let impulse = applied(inverse_at(own), missing);
    push_at(own, impulse, hinge.child);
    return impulse;
}

// Replaces the push by the motion of a body that follows its parent. Returns impulse and angular impulse of the weld.
fn pull_weld(own: u32, parent: u32, hinge: HingeArms) -> vec3<f32> {
    var moved = rest_of(own);
    if parent != NONE {
        let push = push_of(parent);
        moved += vec3<f32>(velocity_at(parent, push, on_parent(own, hinge)), push.z);
    }
    let impulse = times(joint_trees[own].matrix, moved) - push_of(own);
    joint_trees[own].push = array<f32, 3>(moved.x, moved.y, moved.z);
    return vec3<f32>(impulse.xy, impulse.z + cross_2d(point_of_reference(own) - hinge.child, impulse.xy));
}

// Adds the impulse of the slider to the push. Returns it, across the slider, and its angular impulse.
fn pull_slider(own: u32, parent: u32, hinge: HingeArms, across: vec2<f32>) -> vec2<f32> {
    var missing = rest_of(own).xy;
    if parent != NONE {
        let push = push_of(parent);
        let moved = velocity_at(parent, push, on_parent(own, hinge));
        missing += vec2<f32>(dot(across, moved), push.z);
    }
    let size = applied(inverse_at(own), missing);
    let impulse = across * size.x;
    joint_trees[own].push[0] += impulse.x;
    joint_trees[own].push[1] += impulse.y;
    joint_trees[own].push[2] += size.y;
    return vec2<f32>(size.x, size.y + cross_2d(point_of_reference(own) - hinge.child, impulse));
}

// Gives each hinge its impulse and each body its velocity, from the root to the leaves.
fn distribute_tree(tree: u32) {
    let first = joint_starts[tree];
    for (var body = joint_starts[tree + 1u]; body > 0u; body -= 1u) {
        let own = first + body - 1u;
        let entry = tree_hinge(tree, body - 1u);
        let parent = tree_parent(tree, body - 1u);
        let moved = tree_body(tree, body - 1u);
        var welded = false;
        if entry != NONE {
            let joint = entry & ~TREE_CHILD_A;
            if is_held(entry) {
                let stance = tree_stance(tree, body - 1u);
                let hinge = hinge_arms(entry, stance);
                let row = last_row(joint);
                if !holds_angle(joint) {
                    joint_impulses[row] += inv_rotate(stance.axis, pull_hinge(own, parent, hinge) * hinge.side);
                } else if is_slider(joint) {
                    let size = pull_slider(own, parent, hinge, direction(stance, ROW_ACROSS));
                    joint_impulses[row - 1u].x += size.y * hinge.side;
                    joint_impulses[row].x += size.x * hinge.side;
                } else {
                    welded = true;
                    let size = pull_weld(own, parent, hinge);
                    joint_impulses[row - 1u].x += size.z * hinge.side;
                    joint_impulses[row] += inv_rotate(stance.axis, size.xy * hinge.side);
                }
            }
        }
        var change = push_of(own);
        if !welded {
            change = answer(own, change);
        }
        joint_trees[own].push = array<f32, 3>(change.x, change.y, change.z);
        if any(change != vec3<f32>(0.0)) {
            states[moved].velocity += velocity_at(own, change, vec2<f32>(0.0));
            states[moved].angular_velocity += change.z;
        }
    }
}

// Returns the index of a body of a tree.
fn tree_body(tree: u32, body: u32) -> u32 {
    let hinge = tree_hinge(tree, body);
    if hinge == NONE {
        return tree_parent(tree, body);
    }
    let joint = hinge & ~TREE_CHILD_A;
    return select(joint_frames[joint].body_b, joint_frames[joint].body_a, (hinge & TREE_CHILD_A) != 0u);
}

// Visits the hinges of a tree, those near the root first.
fn sweep_tree(tree: u32, sweep_flags: u32) {
    for (var body = joint_starts[tree + 1u]; body > 0u; body -= 1u) {
        let hinge = tree_hinge(tree, body - 1u);
        if is_held(hinge) {
            solve_at(hinge & ~TREE_CHILD_A, tree_stance(tree, body - 1u), sweep_flags);
        }
    }
}

// Returns true if a light body of the tree has a contact in this step.
fn tree_is_touched(tree: u32) -> bool {
    let first = joint_starts[tree];
    let count = joint_starts[tree + 1u];
    var heaviest = 0.0;
    for (var body = 0u; body < count; body += 1u) {
        heaviest = max(heaviest, joint_trees[first + body].mass);
    }
    for (var body = 0u; body < count; body += 1u) {
        if joint_trees[first + body].mass * TREE_RATIO < heaviest
            && accumulators[tree_body(tree, body)].asked_mass > UNTOUCHED {
            return true;
        }
    }
    return false;
}

fn solve_tree(tree: u32, sweep_flags: u32) {
    if tree_is_at_rest(tree) {
        return;
    }
    weigh_tree(tree);
    sweep_tree(tree, (sweep_flags & ~WITHDRAW) | HELD);
    if tree_is_touched(tree) {
        sweep_tree(tree, (sweep_flags & ~(WITHDRAW | DEPOSIT)) | HELD_ALONE);
    } else {
        eliminate_tree(tree, (sweep_flags & USE_BIAS) != 0u);
        distribute_tree(tree);
    }
    if (params.switches & WARM_START) != 0u && (sweep_flags & WITHDRAW) != 0u {
        add_up_tree(tree, -1.0);
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

fn each_tree(tree: u32) {
    solve_tree(tree, sweep.flags);
}
