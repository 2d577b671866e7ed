// sleep: src/stages/sleep.rs. Puts quiet islands to sleep, and archives their contacts: sleep_timer, sleep_unite,
// sleep_unite_joints, sleep_block, sleep_block_joints, sleep_settle; then, if the archive changes, sleep_count, scan,
// sleep_gather, sleep_copy.

//#import types
//#import math
//#import constants
//#import union_find

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read_write> counters: Counters;
@group(0) @binding(3) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> islands: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> island_flags: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read> joints: array<JointData>;
@group(0) @binding(7) var<storage, read> joint_states: array<JointState>;
@group(0) @binding(8) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(9) var<storage, read> pair_starts: array<u32>;
// Buffer of the new archive before it is copied: pair has no more use for it in this step.
@group(0) @binding(10) var<storage, read_write> contacts_previous: array<Contact>;
@group(0) @binding(11) var<storage, read_write> sleeping_starts: array<u32>;
@group(0) @binding(12) var<storage, read_write> sleeping: array<SleepingContact>;
@group(0) @binding(13) var<storage, read_write> merged_starts: array<u32>;
@group(0) @binding(14) var<storage, read> manifolds: array<Manifold>;
@group(0) @binding(15) var<storage, read_write> manifolds_previous: array<Manifold>;

// One thread per body.
@compute @workgroup_size(LANES)
fn sleep_timer(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index == 0u {
        atomicStore(&counters.awake, 0u);
        atomicStore(&counters.wake_flags, 0u);
    }
    if index >= params.body_count {
        return;
    }
    atomicStore(&island_flags[index], 0u);
    let state = states[index];
    if (state.status & ASLEEP) != 0u {
        return;
    }
    atomicStore(&islands[index], index);
    let kind = bodies[index].kind;
    if (state.status & QUARANTINED) != 0u || kind == VACANT {
        return;
    }
    if kind != DYNAMIC {
        let moves = state.velocity.x != 0.0 || state.velocity.y != 0.0 || state.angular_velocity != 0.0;
        if (kind == STATIC || !moves) && atomicLoad(&counters.overflow_bits) == 0u {
            states[index].status = state.status | ASLEEP;
            atomicStore(&counters.slept, 1u);
        }
        return;
    }
    let extent = bodies[index].extent;
    let speed = length(state.velocity) + abs(state.angular_velocity) * extent;
    let moved = length(state.delta_position) + abs(state.delta_rotation.y) * extent;
    var limit = bodies[index].sleep_speed;
    if !(limit > 0.0) {
        limit = params.sleep_speed;
    }
    var quiet = 0u;
    if speed < limit && MOVED_SHARE * moved < limit * params.dt {
        quiet = (state.status >> QUIET_SHIFT) + 1u;
    }
    var status = (state.status & ~QUIET_MASK) | (min(quiet, MAX_QUIET) << QUIET_SHIFT);
    if quiet >= params.sleep_steps && bodies[index].can_sleep != 0u && atomicLoad(&counters.overflow_bits) == 0u {
        status |= READY;
    }
    states[index].status = status;
}

// Table of the islands for union_find.wgsl.
fn parent_of(body: u32) -> u32 {
    return atomicLoad(&islands[body]);
}

fn lower_parent(body: u32, parent: u32) {
    atomicMin(&islands[body], parent);
}

fn adopt(root: u32, parent: u32) -> bool {
    return atomicCompareExchangeWeak(&islands[root], root, parent).exchanged;
}

fn are_ready(a: u32, b: u32) -> bool {
    return (states[a].status & states[b].status & READY) != 0u;
}

fn block(body: u32, other: u32) {
    if (states[body].status & READY) != 0u && (states[other].status & (READY | ASLEEP | QUARANTINED)) == 0u {
        atomicOr(&island_flags[root_of(body)], ISLAND_BLOCKED);
    }
}

fn touches(index: u32) -> bool {
    return index < counters.contacts && (contacts[index].flags & POINT_COUNT_MASK) != 0u;
}

fn holds(index: u32) -> bool {
    return index < params.joint_count && (joints[index].flags & (WORLD_A | JOINT_DISABLED)) == 0u
        && (joint_states[index].status & BROKEN) == 0u;
}

// One thread per contact.
@compute @workgroup_size(LANES)
fn sleep_unite(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if touches(index) && are_ready(contacts[index].body_a, contacts[index].body_b) {
        unite(contacts[index].body_a, contacts[index].body_b);
    }
}

// One thread per joint.
@compute @workgroup_size(LANES)
fn sleep_unite_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if holds(index) && are_ready(joints[index].body_a, joints[index].body_b) {
        unite(joints[index].body_a, joints[index].body_b);
    }
}

// One thread per contact.
@compute @workgroup_size(LANES)
fn sleep_block(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if touches(index) {
        block(contacts[index].body_a, contacts[index].body_b);
        block(contacts[index].body_b, contacts[index].body_a);
    }
}

// One thread per joint.
@compute @workgroup_size(LANES)
fn sleep_block_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if holds(index) {
        block(joints[index].body_a, joints[index].body_b);
        block(joints[index].body_b, joints[index].body_a);
    }
}

// One thread per body.
@compute @workgroup_size(LANES)
fn sleep_settle(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.body_count {
        return;
    }
    let status = states[index].status;
    let kind = bodies[index].kind;
    if (status & READY) != 0u {
        let root = root_of(index);
        if (atomicLoad(&island_flags[root]) & ISLAND_BLOCKED) == 0u {
            atomicStore(&islands[index], root);
            let asleep = (status & ~READY) | ASLEEP;
            states[index] = BodyState(vec2<f32>(0.0), 0.0, asleep, vec2<f32>(0.0), vec2<f32>(1.0, 0.0));
            atomicStore(&counters.slept, 1u);
            return;
        }
        states[index].status = status & ~READY;
    }
    if (kind == DYNAMIC || kind == KINEMATIC) && (status & (ASLEEP | QUARANTINED)) == 0u {
        atomicAdd(&counters.awake, 1u);
    }
}

fn changes() -> bool {
    return atomicLoad(&counters.slept) != 0u || atomicLoad(&counters.woken) != 0u;
}

fn both_sleep(a: u32, b: u32) -> bool {
    return (states[a].status & states[b].status & ASLEEP) != 0u;
}

// Returns true if an archived contact stays in the archive: the pair still sleeps, and was neither restored nor
// found again.
fn stays(producer: u32, index: u32) -> bool {
    if !both_sleep(sleeping[index].contact.body_a, sleeping[index].contact.body_b) {
        return false;
    }
    if (sleeping[index].contact.flags & RETURNED) != 0u {
        return false;
    }
    for (var now = pair_starts[producer]; now < pair_starts[producer + 1u]; now += 1u) {
        if contacts[now].shape_b == sleeping[index].contact.shape_b {
            return false;
        }
    }
    return true;
}

// One thread per shape, and one more for the total. Marks the contacts of the new archive.
@compute @workgroup_size(LANES)
fn sleep_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer > params.shape_count {
        return;
    }
    var count = 0u;
    // If nothing changes all lengths are 0, by which sleep_gather knows.
    if producer < params.shape_count && changes() {
        for (var index = sleeping_starts[producer]; index < sleeping_starts[producer + 1u]; index += 1u) {
            let mark = select(0u, MARKED, stays(producer, index));
            sleeping[index].contact.flags = (sleeping[index].contact.flags & ~MARKED) | mark;
            count += select(0u, 1u, mark != 0u);
        }
        for (var index = pair_starts[producer]; index < pair_starts[producer + 1u]; index += 1u) {
            let mark = select(0u, MARKED, both_sleep(contacts[index].body_a, contacts[index].body_b));
            contacts[index].flags = (contacts[index].flags & ~MARKED) | mark;
            count += select(0u, 1u, mark != 0u);
        }
    }
    merged_starts[producer] = count;
}

// One thread per shape. There is always space: after an overflow no body falls asleep. Reads only marks and lengths, as
// there are no bindings left for the buffers from which they were computed.
@compute @workgroup_size(LANES)
fn sleep_gather(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer >= params.shape_count || merged_starts[params.shape_count] == 0u {
        return;
    }
    var next = merged_starts[producer];
    for (var index = sleeping_starts[producer]; index < sleeping_starts[producer + 1u]; index += 1u) {
        let flags = sleeping[index].contact.flags;
        if (flags & MARKED) == 0u {
            continue;
        }
        sleeping[index].contact.flags = flags & ~MARKED;
        if next < params.contact_capacity {
            contacts_previous[next] = sleeping[index].contact;
            manifolds_previous[next] = sleeping[index].manifold;
            next += 1u;
        }
    }
    for (var index = pair_starts[producer]; index < pair_starts[producer + 1u]; index += 1u) {
        let flags = contacts[index].flags;
        if (flags & MARKED) == 0u {
            continue;
        }
        contacts[index].flags = flags & ~MARKED;
        if next < params.contact_capacity {
            contacts_previous[next] = contacts[index];
            manifolds_previous[next] = manifolds[index];
            next += 1u;
        }
    }
}

// One thread per contact or shape, whichever are more.
@compute @workgroup_size(LANES)
fn sleep_copy(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if !changes() {
        return;
    }
    let total = min(merged_starts[params.shape_count], params.contact_capacity);
    if index < total {
        sleeping[index].contact = contacts_previous[index];
        sleeping[index].manifold = manifolds_previous[index];
    }
    if index <= params.shape_count {
        sleeping_starts[index] = min(merged_starts[index], params.contact_capacity);
    }
    if index == params.shape_count {
        atomicStore(&counters.sleeping_contacts, total);
    }
}
