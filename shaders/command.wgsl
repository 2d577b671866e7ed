// command: src/stages/command.rs. One thread a command; commands of a body lie side by side, and the first does them all.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> commands: array<Command>;
@group(0) @binding(2) var<storage, read_write> bodies: array<Body>;
@group(0) @binding(3) var<storage, read_write> poses: array<Pose>;
@group(0) @binding(4) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(5) var<storage, read> islands: array<u32>;
@group(0) @binding(6) var<storage, read_write> island_flags: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;

fn obey(index: u32) {
    let body = commands[index].body;
    let value = commands[index].value;
    let other = commands[index].other;
    if (params.switches & SLEEP) != 0u {
        if commands[index].kind == COMMAND_WAKE_ALL {
            atomicStore(&counters.wake_all, 1u);
            return;
        }
        let status = states[body].status;
        let left = bodies[body].kind == VACANT && commands[index].kind == COMMAND_WAKE;
        if (bodies[body].kind == DYNAMIC && (status & ASLEEP) != 0u) || left {
            states[body].status = (status & ~(ASLEEP | QUIET_MASK)) | WOKEN;
            if islands[body] < params.body_count {
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
            poses[body].position = value;
            poses[body].rotation = other;
        }
        case COMMAND_TARGET: {
            let turn = inv_mul_rotation(poses[body].rotation, other);
            let angle = angle_of(turn);
            states[body].velocity = (value - poses[body].position) / params.dt;
            states[body].angular_velocity = tangent_of(angle * params.h / params.dt) / params.h;
        }
        default: {
        }
    }
}

@compute @workgroup_size(LANES)
fn command(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = flat_index(workgroup, workgroups, LANES, lane);
    let count = arrayLength(&commands);
    if first >= count || (first > 0u && commands[first - 1u].body == commands[first].body) {
        return;
    }
    for (var index = first; index < count && commands[index].body == commands[first].body; index += 1u) {
        obey(index);
    }
}
