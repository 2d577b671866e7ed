// quarantine: src/stages/quarantine.rs. Takes bodies with a NaN or an infinity out of the simulation, and initialises
// the per-body data of a step. One thread per body. The first thread also resets the counters of the step, the others
// the colouring tables.

//#import types
//#import math
//#import pose
//#import constants

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> poses: array<Pose>;
@group(0) @binding(2) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> accumulators: array<Accumulator>;
@group(0) @binding(4) var<storage, read_write> color_masks: array<u32>;
@group(0) @binding(5) var<storage, read_write> color_claims: array<u32>;
@group(0) @binding(6) var<storage, read_write> counters: Counters;
@group(0) @binding(7) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(8) var<storage, read_write> motions: array<BodyMotion>;

fn motion_of(index: u32, state: BodyState) -> BodyMotion {
    let extent = bodies[index].extent;
    let speed = length(state.velocity) + abs(state.angular_velocity) * extent;
    let is_slow = speed * params.dt <= 0.5 * bodies[index].min_extent;
    let is_static = bodies[index].kind == STATIC;
    // Those that move further than they are wide are left to the continuous stage, and those that turn: they may meet a
    // wall with another side than they would now. A disc cannot.
    let turn = abs(state.angular_velocity) * extent;
    let goes_far = turn * params.dt > 0.5 * bodies[index].min_extent || speed * params.dt > 2.0 * extent;
    let is_swept = bodies[index].kind == DYNAMIC && !is_slow && bodies[index].min_extent != extent && goes_far;
    let still = is_static || (state.status & ASLEEP) != 0u;
    return BodyMotion(
        select(state.velocity * params.dt, vec2<f32>(0.0), still),
        select(state.angular_velocity * params.dt, 0.0, still),
        select(select(FAST, SWEPT, is_swept), select(extent, 0.0, is_static), is_slow),
    );
}

@compute @workgroup_size(LANES)
fn quarantine(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index == 0u {
        counters.pairs_found = 0u;
        counters.contacts = 0u;
        atomicStore(&counters.touching, 0u);
        atomicStore(&counters.recycled, 0u);
        atomicStore(&counters.overflow_bits, 0u);
        atomicStore(&counters.uncolored, 0u);
        atomicStore(&counters.rounds, 0u);
        atomicStore(&counters.continuous, 0u);
        if (params.switches & SLEEP) != 0u {
            atomicStore(&counters.again, 1u);
            counters.was_awake = atomicLoad(&counters.awake);
            atomicStore(&counters.woken, 0u);
            atomicStore(&counters.slept, 0u);
            atomicStore(&counters.awake_levels, 0u);
        }
    }
    if index >= params.body_count {
        return;
    }
    let pose = poses[index];
    var state = states[index];
    let pose_finite = is_finite(pose.position.x) && is_finite(pose.position.y)
        && is_finite(pose.rotation.x) && is_finite(pose.rotation.y)
        && is_finite(pose.low.x) && is_finite(pose.low.y);
    let finite = pose_finite
        && is_finite(state.velocity.x) && is_finite(state.velocity.y) && is_finite(state.angular_velocity);
    if !finite && (state.status & QUARANTINED) == 0u {
        state.status = state.status | QUARANTINED;
        atomicAdd(&counters.quarantined, 1u);
    }
    if (state.status & ASLEEP) != 0u {
        if (state.status & QUARANTINED) != 0u {
            state.status &= ~ASLEEP;
            atomicOr(&counters.wake_flags, WAKE_ALL);
        } else if bodies[index].kind == KINEMATIC
            && (state.velocity.x != 0.0 || state.velocity.y != 0.0 || state.angular_velocity != 0.0) {
            state.status = (state.status & ~ASLEEP) | WOKEN;
        }
    }
    if (state.status & QUARANTINED) != 0u {
        state.velocity = vec2<f32>(0.0);
        state.angular_velocity = 0.0;
        if !pose_finite {
            poses[index] = default_pose();
        }
    }
    state.delta_position = vec2<f32>(0.0);
    state.delta_rotation = vec2<f32>(1.0, 0.0);
    states[index] = state;
    accumulators[index] = Accumulator(-state.velocity, -state.angular_velocity, UNTOUCHED);
    motions[index] = motion_of(index, state);
    color_masks[index] = 0u;
    for (var slot = 0u; slot < CLAIM_SLOTS; slot += 1u) {
        color_claims[index * CLAIM_SLOTS + slot] = 0u;
    }
}
