// command: src/stages/command.rs. Applies the user's commands, one thread per command. Commands to one body are
// adjacent, and the thread of the first executes all of them. Those to joints follow, in the same way, for
// command_joints.

//#import types
//#import math
//#import pose

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> commands: array<CommandData>;
@group(0) @binding(2) var<storage, read_write> bodies: array<BodyData>;
@group(0) @binding(3) var<storage, read_write> poses: array<Pose>;
@group(0) @binding(4) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(5) var<storage, read> islands: array<u32>;
@group(0) @binding(6) var<storage, read_write> island_flags: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
@group(0) @binding(8) var<storage, read_write> joints: array<JointData>;
@group(0) @binding(9) var<storage, read_write> joint_rows: array<JointRow>;
@group(0) @binding(10) var<storage, read_write> joint_states: array<JointState>;

fn obey(index: u32) {
    let body = commands[index].body;
    let value = commands[index].value;
    let other = commands[index].other;
    if (params.switches & SLEEP) != 0u {
        if commands[index].kind == COMMAND_WAKE_ALL {
            atomicOr(&counters.wake_flags, WAKE_ALL);
            return;
        }
        let status = states[body].status;
        let left = bodies[body].kind == VACANT && commands[index].kind == COMMAND_WAKE;
        let sleeps = bodies[body].kind == DYNAMIC && (status & ASLEEP) != 0u;
        let moves_fixed = bodies[body].kind != DYNAMIC && commands[index].kind == COMMAND_TELEPORT;
        let touched = commands[index].kind == COMMAND_WAKE && commands[index].row == WAKE_TOUCHED;
        if moves_fixed || touched {
            atomicOr(&counters.wake_flags, WAKE_MOVED);
        }
        let is_fixed = moves_fixed || (bodies[body].kind != DYNAMIC && commands[index].kind == COMMAND_WAKE);
        if sleeps || left || is_fixed {
            states[body].status = (status & ~(ASLEEP | QUIET_MASK)) | WOKEN;
            if (sleeps || left) && islands[body] < params.body_count {
                atomicOr(&island_flags[islands[body]], ISLAND_WAKE);
            }
        }
    }
    switch commands[index].kind {
        case COMMAND_IMPULSE: {
            let arm = rotate(poses[body].rotation, other);
            states[body].velocity += value * bodies[body].inv_mass;
            states[body].angular_velocity += bodies[body].inv_inertia * cross_2d(arm, value);
        }
        case COMMAND_ANGULAR_IMPULSE: {
            states[body].angular_velocity += bodies[body].inv_inertia * value.x;
        }
        case COMMAND_FORCE: {
            bodies[body].force = value;
            bodies[body].force_point = other;
        }
        case COMMAND_TORQUE: {
            bodies[body].torque = value.x;
        }
        case COMMAND_VELOCITY: {
            states[body].velocity = value;
        }
        case COMMAND_ANGULAR_VELOCITY: {
            states[body].angular_velocity = value.x;
        }
        case COMMAND_TELEPORT: {
            poses[body] = Pose(value, other, commands[index].low, vec2<f32>(0.0));
        }
        case COMMAND_TARGET: {
            let turn = inv_mul_rotation(poses[body].rotation, other);
            let there = Pose(value, other, commands[index].low, vec2<f32>(0.0));
            states[body].velocity = vector_to(poses[body], there) / params.dt;
            states[body].angular_velocity = angle_of(turn) / params.dt;
        }
        default: {
        }
    }
}

fn set_joint(index: u32) {
    let place = commands[index].body;
    let row = commands[index].row;
    let value = commands[index].value;
    switch commands[index].kind {
        case COMMAND_JOINT_GOAL: {
            joint_rows[row].goal = value.x;
            joint_rows[row].goal_y = value.y;
            joint_rows[row].kind &= ~ROW_MEASURE;
        }
        case COMMAND_JOINT_MOTOR: {
            joint_rows[row].goal = value.x;
            joint_rows[row].max_impulse = value.y;
        }
        case COMMAND_JOINT_ANCHOR: {
            joints[place].anchor_a = value;
        }
        case COMMAND_JOINT_REFERENCE: {
            joint_states[place].angle -= value.x - joints[place].reference_angle;
            joints[place].reference_angle = value.x;
        }
        case COMMAND_JOINT_ENABLE: {
            if value.x == 0.0 {
                joints[place].flags |= JOINT_DISABLED;
            } else {
                joints[place].flags &= ~JOINT_DISABLED;
            }
        }
        case COMMAND_JOINT_FIXED: {
            let fixed = select(0u, JOINT_FIXED_A, value.x != 0.0) | select(0u, JOINT_FIXED_B, value.y != 0.0);
            joints[place].flags = (joints[place].flags & ~(JOINT_FIXED_A | JOINT_FIXED_B)) | fixed;
        }
        default: {
        }
    }
}

fn is_for_joint(index: u32) -> bool {
    return commands[index].kind >= COMMAND_JOINT_GOAL;
}

fn same_target(a: u32, b: u32) -> bool {
    return commands[a].body == commands[b].body && commands[a].world == commands[b].world
        && is_for_joint(a) == is_for_joint(b);
}

// Selects the world of a batch. Without batches it does nothing (src/gpu/shader/batch.rs).
fn enter(world: u32) {
}

fn is_first(index: u32) -> bool {
    return index < arrayLength(&commands) && (index == 0u || !same_target(index - 1u, index));
}

@compute @workgroup_size(LANES)
fn command(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = flat_index(workgroup, workgroups, LANES, lane);
    if !is_first(first) || is_for_joint(first) {
        return;
    }
    enter(commands[first].world);
    for (var index = first; index < arrayLength(&commands) && same_target(index, first); index += 1u) {
        obey(index);
    }
}

@compute @workgroup_size(LANES)
fn command_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = flat_index(workgroup, workgroups, LANES, lane);
    if !is_first(first) || !is_for_joint(first) {
        return;
    }
    enter(commands[first].world);
    for (var index = first; index < arrayLength(&commands) && same_target(index, first); index += 1u) {
        set_joint(index);
    }
}
