// wake: src/stages/wake.rs. Wakes sleeping islands that touch an awake body, and restores their contacts: wake_find,
// wake_joints, wake_bodies; then, if a body woke, wake_shapes, wake_count, scan, wake_gather, wake_copy.

//#import types
//#import math
//#import grid
//#import partners

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(2) var<storage, read_write> counters: Counters;
@group(0) @binding(3) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(4) var<storage, read> islands: array<u32>;
@group(0) @binding(5) var<storage, read_write> island_flags: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(7) var<storage, read> joints: array<JointData>;
@group(0) @binding(8) var<storage, read> joint_states: array<JointState>;
@group(0) @binding(9) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(10) var<storage, read_write> partners: array<u32>;
@group(0) @binding(11) var<storage, read_write> pair_starts_previous: array<u32>;
@group(0) @binding(12) var<storage, read_write> contacts_previous: array<Contact>;
@group(0) @binding(13) var<storage, read> sleeping_starts: array<u32>;
@group(0) @binding(14) var<storage, read_write> sleeping: array<SleepingContact>;
@group(0) @binding(15) var<storage, read_write> merged_starts: array<u32>;
@group(0) @binding(16) var<storage, read_write> manifolds: array<Manifold>;
@group(0) @binding(17) var<storage, read_write> manifolds_previous: array<Manifold>;

// Flags the island of `sleeper`, which is dynamic, if it sleeps and `other` is awake.
fn wake_by(other: u32, sleeper: u32) {
    let awake = (states[other].status & (ASLEEP | QUARANTINED)) == 0u;
    if awake && (states[sleeper].status & ASLEEP) != 0u && islands[sleeper] < params.body_count {
        atomicOr(&island_flags[islands[sleeper]], ISLAND_WAKE);
    }
}

fn wake_by_contact(contact: Contact) {
    if (contact.flags & POINT_COUNT_MASK) == 0u {
        return;
    }
    if (contact.flags & FIXED_B) == 0u {
        wake_by(contact.body_a, contact.body_b);
    }
    if (contact.flags & FIXED_A) == 0u {
        wake_by(contact.body_b, contact.body_a);
    }
}

// One thread per contact. If a command moved a fixed body, the archived contacts are shared among them.
@compute @workgroup_size(LANES)
fn wake_find(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index == 0u {
        // wake_bodies sets it if a body wakes.
        atomicStore(&counters.again, 0u);
    }
    if index < counters.contacts {
        wake_by_contact(contacts[index]);
    }
    if (atomicLoad(&counters.wake_flags) & WAKE_MOVED) != 0u {
        let lanes = workgroups.x * workgroups.y * LANES;
        for (var archived = index; archived < atomicLoad(&counters.sleeping_contacts); archived += lanes) {
            wake_by_contact(sleeping[archived].contact);
        }
    }
}

// One thread per joint.
@compute @workgroup_size(LANES)
fn wake_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.joint_count {
        return;
    }
    let flags = joints[index].flags;
    if (flags & (WORLD_A | JOINT_DISABLED)) != 0u || (joint_states[index].status & BROKEN) != 0u {
        return;
    }
    if (flags & JOINT_FIXED_B) == 0u {
        wake_by(joints[index].body_a, joints[index].body_b);
    }
    if (flags & JOINT_FIXED_A) == 0u {
        wake_by(joints[index].body_b, joints[index].body_a);
    }
}

// One thread per body.
@compute @workgroup_size(LANES)
fn wake_bodies(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.body_count {
        return;
    }
    let status = states[index].status;
    var wakes = (status & WOKEN) != 0u;
    if (status & ASLEEP) != 0u && bodies[index].kind == DYNAMIC {
        wakes = wakes || (atomicLoad(&counters.wake_flags) & WAKE_ALL) != 0u;
        if islands[index] < params.body_count {
            wakes = wakes || (atomicLoad(&island_flags[islands[index]]) & ISLAND_WAKE) != 0u;
        }
    }
    if wakes {
        states[index].status = status & ~(ASLEEP | WOKEN | QUIET_MASK);
        atomicAdd(&counters.woken, 1u);
        atomicStore(&counters.again, 1u);
    }
}

// One thread per shape: updates whether it is asleep, and the levels that have an awake shape.
@compute @workgroup_size(LANES)
fn wake_shapes(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count || atomicLoad(&counters.again) == 0u {
        return;
    }
    if index == 0u {
        atomicStore(&counters.recycled, 0u);
    }
    let status = states[shapes[index].body].status;
    if (status & ASLEEP) != 0u {
        partners[index * PARTNER_WORDS] = SHAPE_ASLEEP;
        return;
    }
    partners[index * PARTNER_WORDS] = 0u;
    if (shapes[index].kind & GEOMETRY_MASK) != NO_SHAPE && (status & QUARANTINED) == 0u {
        let bits = level_bits(shapes[index].kind, shapes[index].level);
        if (atomicLoad(&counters.awake_levels) & bits) != bits {
            atomicOr(&counters.awake_levels, bits);
        }
    }
}

fn returns(index: u32) -> bool {
    let a = sleeping[index].contact.body_a;
    let b = sleeping[index].contact.body_b;
    return (states[a].status & states[b].status & ASLEEP) == 0u;
}

// Returns true if the producer's list already has this contact.
fn is_there(producer: u32, partner: u32) -> bool {
    for (var index = pair_starts_previous[producer]; index < pair_starts_previous[producer + 1u]; index += 1u) {
        if contacts_previous[index].shape_b == partner {
            return true;
        }
    }
    return false;
}

// One thread per shape, and one more for the total. Marks the archived contacts that return.
@compute @workgroup_size(LANES)
fn wake_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer > params.shape_count {
        return;
    }
    var count = 0u;
    // If no body woke all lengths are 0, by which wake_gather knows.
    if producer < params.shape_count && atomicLoad(&counters.again) != 0u {
        let start = pair_starts_previous[producer];
        count = max(pair_starts_previous[producer + 1u], start) - start;
        var returned = 0u;
        for (var index = sleeping_starts[producer]; index < sleeping_starts[producer + 1u]; index += 1u) {
            var flags = sleeping[index].contact.flags & ~MARKED;
            if returns(index) {
                flags |= RETURNED;
                returned += 1u;
                if !is_there(producer, sleeping[index].contact.shape_b) {
                    flags |= MARKED;
                    count += 1u;
                }
            }
            sleeping[index].contact.flags = flags;
        }
        if returned > 0u {
            atomicSub(&counters.sleeping_contacts, returned);
        }
    }
    merged_starts[producer] = count;
}

// One thread per shape: builds the new list where pair will write when it runs again. Reads only marks and lengths, as
// there are no bindings left for the buffers from which they were computed.
@compute @workgroup_size(LANES)
fn wake_gather(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer >= params.shape_count {
        return;
    }
    let total = merged_starts[params.shape_count];
    if total == 0u || total > params.contact_capacity {
        return;
    }
    var next = merged_starts[producer];
    for (var index = pair_starts_previous[producer]; index < pair_starts_previous[producer + 1u]; index += 1u) {
        contacts[next] = contacts_previous[index];
        manifolds[next] = manifolds_previous[index];
        next += 1u;
    }
    for (var index = sleeping_starts[producer]; index < sleeping_starts[producer + 1u]; index += 1u) {
        let flags = sleeping[index].contact.flags;
        if (flags & MARKED) == 0u {
            continue;
        }
        sleeping[index].contact.flags = flags & ~MARKED;
        contacts[next] = sleeping[index].contact;
        contacts[next].flags = flags & ~(MARKED | RETURNED);
        manifolds[next] = sleeping[index].manifold;
        next += 1u;
    }
}

// One thread per contact or shape, whichever are more.
@compute @workgroup_size(LANES)
fn wake_copy(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    let total = merged_starts[params.shape_count];
    if atomicLoad(&counters.again) == 0u {
        return;
    }
    if total > params.contact_capacity {
        if index == 0u {
            atomicOr(&counters.overflow_bits, OVERFLOW_CONTACTS);
        }
        return;
    }
    if index < total {
        contacts_previous[index] = contacts[index];
        manifolds_previous[index] = manifolds[index];
    }
    if index <= params.shape_count {
        pair_starts_previous[index] = merged_starts[index];
    }
}
